"""The values that RecBole prints for every query of a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch

from tests.tools.lists import ANY, every, lists

np.float = float  # type: ignore[attr-defined] # its name for float, which NumPy dropped in 1.24

from recbole.evaluator.metrics import MAP, MRR, NDCG, Hit, Precision, Recall  # noqa: E402

NAMES = {
    "hit_rate": Hit, "reciprocal_rank": MRR, "precision": Precision, "recall": Recall, "average_precision": MAP,
    "ndcg": NDCG,
}  # fmt: skip
CALLS = every([*NAMES])
K = 10
"""The cutoff where none is given, topk."""


def values(
    table: dict[Any, list[Any]], calls: Sequence[Any] = CALLS
) -> Iterator[tuple[Any, str, dict[str, Any], float]]:
    """It ranks all items there are: below the list stand items that are not relevant. Users have a relevant item."""
    asked = {query: two for query, rows in table.items() if (two := lists(rows, least=ANY)).relevant}
    for name, options in calls:
        k = options.get("k", K)
        rows = []
        for two in asked.values():
            hits = [int(doc in two.relevant) for doc in two.retrieved[:k]]
            rows.append([*hits, *[0] * (k - len(hits)), len(two.relevant)])
        metric = NAMES[name]({"topk": [k], "metric_decimal_place": 4})
        positive, number = metric.used_info({"rec.topk": torch.tensor(rows)})
        takes_number = name in ("recall", "average_precision", "ndcg")
        found = metric.metric_info(positive, number) if takes_number else metric.metric_info(positive)
        for query, of_user in zip(asked, found, strict=True):
            yield query, name, options, float(of_user[k - 1])
