"""The values that LightGBM prints for every query of a table: a booster of no trees over the scores as initial ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import lightgbm
import numpy as np

NAMES = {"ndcg": "ndcg", "average_precision": "map"}
CUTOFFS = (1, 2, 3, 5, 10, 30, 100)
CALLS: list[tuple[str, dict[str, Any]]] = [
    *((name, {"k": k}) for name in NAMES for k in CUTOFFS),
    *(("ndcg", {"gain": "linear", "k": k}) for k in CUTOFFS),
]


def values(
    table: dict[Any, list[Any]], calls: Sequence[Any] = CALLS
) -> Iterator[tuple[Any, str, dict[str, Any], float]]:
    """One booster for every gain asked for, as the gain is an option of the booster."""
    for linear in (False, True):
        of_gain = [(name, options) for name, options in calls if ("gain" in options) == linear]
        if of_gain:
            yield from evaluated(table, of_gain, {"label_gain": list(range(31))} if linear else {})


def evaluated(table: dict[Any, list[Any]], calls: Sequence[Any], gain: dict[str, Any]) -> Iterator[Any]:
    cutoffs, names = {options["k"] for _, options in calls}, {NAMES[name] for name, _ in calls}
    asked = {"objective": "lambdarank", "eval_at": sorted(cutoffs), "metric": sorted(names), **gain}
    quiet = {"verbose": -1, "num_threads": 1, "feature_pre_filter": False}
    for query, rows in table.items():
        data = lightgbm.Dataset(
            np.zeros((len(rows), 1)),
            label=[row[2] for row in rows],
            init_score=[row[1] for row in rows],
            group=[len(rows)],
            params=quiet,
        )
        found = {result[1]: result[2] for result in lightgbm.Booster({**asked, **quiet}, data).eval_train()}
        for name, options in calls:
            yield query, name, options, float(found[f"{NAMES[name]}@{options['k']}"])
