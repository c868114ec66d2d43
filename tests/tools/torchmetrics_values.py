"""The values that TorchMetrics prints for every query of a table, by its functional form."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torchmetrics.functional import retrieval

NAMES: dict[str, Callable[..., torch.Tensor]] = {
    "average_precision": retrieval.retrieval_average_precision,
    "auc": retrieval.retrieval_auroc,
    "fall_out": retrieval.retrieval_fall_out,
    "hit_rate": retrieval.retrieval_hit_rate,
    "ndcg": retrieval.retrieval_normalized_dcg,
    "precision": retrieval.retrieval_precision,
    "recall": retrieval.retrieval_recall,
    "reciprocal_rank": retrieval.retrieval_reciprocal_rank,
    "r_precision": retrieval.retrieval_r_precision,
}
CUTOFFS: list[dict[str, Any]] = [{}, *({"k": k} for k in (1, 2, 5, 30))]
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("r_precision", {}),
    ("auc", {}),
    *(("auc", {"ties": "undefined", **cut}) for cut in CUTOFFS if cut),  # which of the tied are in the top k
    *((name, cut) for name in NAMES if name not in ("auc", "r_precision") for cut in CUTOFFS),
    *(("precision", {"over": "min(k,n)", **cut}) for cut in CUTOFFS),
]


def values(
    table: dict[Any, list[Any]], calls: Sequence[Any] = CALLS
) -> Iterator[tuple[Any, str, dict[str, Any], float]]:
    for query, rows in table.items():
        scores = torch.tensor([row[1] for row in rows], dtype=torch.float64)
        labels = torch.tensor([row[2] for row in rows])
        labels = labels.long() if all(label == int(label) for label in labels.tolist()) else labels
        for name, options in calls:
            asked = {"top_k": options["k"]} if "k" in options else {}
            if "over" in options:
                asked["adaptive_k"] = True
            yield query, name, options, float(NAMES[name](scores, labels, **asked))
