"""The values that Haystack prints for every query of a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from haystack import Document
from haystack.components.evaluators import (
    DocumentMAPEvaluator,
    DocumentMRREvaluator,
    DocumentNDCGEvaluator,
    DocumentRecallEvaluator,
)

from tests.tools.lists import every, lists

NAMES = {
    "hit_rate": DocumentRecallEvaluator(mode="single_hit"),
    "recall": DocumentRecallEvaluator(mode="multi_hit"),
    "reciprocal_rank": DocumentMRREvaluator(),
    "average_precision": DocumentMAPEvaluator(),
    "ndcg": DocumentNDCGEvaluator(),
}
CALLS = every([*NAMES])


def values(
    table: dict[Any, list[Any]], calls: Sequence[Any] = CALLS
) -> Iterator[tuple[Any, str, dict[str, Any], float]]:
    for name, options in calls:
        retrieved = [
            [Document(content=doc) for doc in lists(rows, options.get("k")).retrieved] for rows in table.values()
        ]
        of_graded = [[row for row in rows if row[2] is not None and row[2] > 0] for rows in table.values()]
        if name != "ndcg":
            of_graded = [[row for row in rows if row[2] >= 1] for rows in of_graded]
        relevant = [[Document(content=doc, score=label) for doc, _, label in rows] for rows in of_graded]
        found = NAMES[name].run(ground_truth_documents=relevant, retrieved_documents=retrieved)
        for query, value in zip(table, found["individual_scores"], strict=True):
            yield query, name, options, float(value)
