"""The values that Cornac prints for every query of a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from cornac import metrics

from tests.tools.lists import every, lists

NAMES = {
    "hit_rate": metrics.HitRatio, "precision": metrics.Precision, "recall": metrics.Recall, "f1": metrics.FMeasure,
    "ndcg": metrics.NDCG,
}  # fmt: skip
CALLS = [*every([*NAMES]), ("reciprocal_rank", {}), ("average_precision", {})]


def values(
    table: dict[Any, list[Any]], calls: Sequence[Any] = CALLS
) -> Iterator[tuple[Any, str, dict[str, Any], float]]:
    """Every item is scored: lists are never short. Users without a relevant item are left out, and RR without a hit."""
    for query, rows in table.items():
        retrieved, relevant = lists(rows)
        if not retrieved or not relevant:
            continue
        best, wanted = np.array(retrieved), np.array(relevant)
        scores = {doc: score for doc, score, _ in rows if score is not None}
        for name, options in calls:
            if name == "average_precision":
                if set(retrieved) & set(relevant):
                    items, of = np.array([*scores]), np.array([*scores.values()])
                    yield query, name, options, float(metrics.MAP().compute(items, of, wanted))
            elif name == "reciprocal_rank":
                if set(retrieved) & set(relevant):
                    yield query, name, options, float(metrics.MRR().compute(gt_pos=wanted, pd_rank=best))
            else:
                yield (
                    query,
                    name,
                    options,
                    float(NAMES[name](options.get("k", -1)).compute(gt_pos=wanted, pd_rank=best)),
                )
