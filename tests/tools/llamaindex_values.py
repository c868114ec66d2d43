"""The values that LlamaIndex prints for every query of a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from llama_index.core.evaluation.retrieval.metrics import MRR, NDCG, AveragePrecision, HitRate, Precision, Recall

from tests.tools.lists import every, lists

NAMES = {
    "hit_rate": HitRate, "reciprocal_rank": MRR, "precision": Precision, "recall": Recall,
    "average_precision": AveragePrecision, "ndcg": NDCG,
}  # fmt: skip
CALLS = every([*NAMES])


def values(
    table: dict[Any, list[Any]], calls: Sequence[Any] = CALLS
) -> Iterator[tuple[Any, str, dict[str, Any], float]]:
    """It refuses queries for which nothing is relevant or nothing was retrieved."""
    for query, rows in table.items():
        for name, options in calls:
            retrieved, relevant = lists(rows, options.get("k"))
            if retrieved and relevant:
                yield query, name, options, NAMES[name]().compute(retrieved_ids=retrieved, expected_ids=relevant).score
