"""The values that XGBoost prints for every query of a table: a booster of no trees over the scores as base margin."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import xgboost

NAMES = {"ndcg": "ndcg", "average_precision": "map", "precision": "pre"}
CUTOFFS: list[dict[str, Any]] = [{}, *({"k": k} for k in (1, 2, 3, 5, 10, 100))]
CALLS: list[tuple[str, dict[str, Any]]] = [
    *((name, cut) for name in NAMES for cut in CUTOFFS),
    *((name, {"no_relevant": 0.0, **cut}) for name in ("ndcg", "average_precision") for cut in CUTOFFS),
    *(("ndcg", {"gain": "linear", **cut}) for cut in CUTOFFS),
]


def spell(name: str, options: dict[str, Any]) -> str:
    return NAMES[name] + (f"@{options['k']}" if "k" in options else "") + ("-" if "no_relevant" in options else "")


def values(
    table: dict[Any, list[Any]], calls: Sequence[Any] = CALLS
) -> Iterator[tuple[Any, str, dict[str, Any], float]]:
    """One booster for every gain asked for, as the gain is an option of the booster."""
    for linear in (False, True):
        of_gain = [(name, options) for name, options in calls if ("gain" in options) == linear]
        if of_gain:
            yield from evaluated(table, of_gain, {"ndcg_exp_gain": not linear})


def evaluated(table: dict[Any, list[Any]], calls: Sequence[Any], gain: dict[str, Any]) -> Iterator[Any]:
    asked = {"objective": "rank:ndcg", "eval_metric": [spell(*call) for call in calls], "nthread": 1, **gain}
    for query, rows in table.items():
        data = xgboost.DMatrix(
            np.zeros((len(rows), 1)),
            label=[row[2] for row in rows],
            base_margin=[row[1] for row in rows],
            group=[len(rows)],
        )
        booster = xgboost.Booster({"base_score": 0.0, **asked}, [data])
        printed = dict(entry.rsplit(":", 1) for entry in booster.eval(data, "q").split("\t")[1:])
        for name, options in calls:
            yield query, name, options, float(printed["q-" + spell(name, options)])
