"""The values that PT-Ranking prints for every query of a table, by its functions for many cutoffs, which its evaluation calls."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from ptranking.metric import adhoc_metric

CUTOFFS = [1, 2, 3, 5, 10, 30]
NAMES = {
    "precision": adhoc_metric.torch_precision_at_ks,
    "average_precision": adhoc_metric.torch_ap_at_ks,
    "ndcg": adhoc_metric.torch_nDCG_at_ks,
    "nerr": adhoc_metric.torch_nerr_at_ks,
}
CALLS: list[tuple[str, dict[str, Any]]] = [(name, {"k": k}) for name in NAMES for k in CUTOFFS]


def values(
    table: dict[Any, list[Any]], calls: Sequence[Any] = CALLS
) -> Iterator[tuple[Any, str, dict[str, Any], float]]:
    for query, rows in table.items():
        scores = torch.tensor([row[1] for row in rows])
        labels = torch.tensor([row[2] for row in rows], dtype=torch.float32)
        ranked = labels[torch.sort(scores, descending=True).indices][None]
        ideal = torch.sort(labels, descending=True).values[None]
        for name, options in calls:
            lists = [ranked] if name == "precision" else [ranked, ideal]
            found = NAMES[name](*lists, ks=CUTOFFS)
            yield query, name, options, float(found[0, CUTOFFS.index(options["k"])])
