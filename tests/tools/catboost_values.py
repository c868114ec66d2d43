"""The values that CatBoost prints for every query of a table, by `catboost.utils.eval_metric`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from catboost.utils import eval_metric

NAMES = {
    "dcg": "DCG",
    "ndcg": "NDCG",
    "average_precision": "MAP",
    "reciprocal_rank": "MRR",
    "precision": "PrecisionAt",
    "recall": "RecallAt",
    "err": "ERR",
    "pfound": "PFound",
    "mean_label": "QueryAverage",
    "auc": "QueryAUC",
    "ordered_pairs": "QueryAUC:type=Ranking",
}
CUTOFFS: list[dict[str, Any]] = [{}, *({"k": k} for k in (1, 2, 5, 30))]
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("auc", {}),
    ("ordered_pairs", {}),
    *((name, cut) for name in NAMES if name not in ("auc", "ordered_pairs", "mean_label") for cut in CUTOFFS),
    *(("mean_label", cut) for cut in CUTOFFS if cut),
    *(("pfound", {"decay": 0.5, **cut}) for cut in CUTOFFS),
    *((name, {"gain": "exponential", **cut}) for name in ("dcg", "ndcg") for cut in CUTOFFS),
    *((name, {"discount": "position", **cut}) for name in ("dcg", "ndcg") for cut in CUTOFFS),
    ("average_precision", {"relevant": (">", 1.5), "k": 3}),
]


def spell(name: str, options: dict[str, Any]) -> str:
    written = {"gain": "type=Exp", "discount": "denominator=Position", "k": f"top={options.get('k')}"}
    written |= {"decay": f"decay={options.get('decay')}", "relevant": f"border={options.get('relevant', '..')[1]}"}
    parameters = ";".join(written[option] for option in options)
    return NAMES[name] + (f":{parameters}" if parameters else "")


def values(
    table: dict[Any, list[Any]], calls: Sequence[Any] = CALLS
) -> Iterator[tuple[Any, str, dict[str, Any], float]]:
    for query, rows in table.items():
        labels, scores = [row[2] for row in rows], [row[1] for row in rows]
        for name, options in calls:
            (found,) = eval_metric(labels, scores, spell(name, options), group_id=[0] * len(rows))
            yield query, name, options, float(found)
