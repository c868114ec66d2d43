"""The values that recmetrics prints for every query of a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from recmetrics import metrics

from tests.tools.lists import CUTOFFS, every, lists

CALLS = every(["precision", "recall", "average_precision"], CUTOFFS)


def values(
    table: dict[Any, list[Any]], calls: Sequence[Any] = CALLS
) -> Iterator[tuple[Any, str, dict[str, Any], float]]:
    """Lists are cut before they are passed, but for mark; precision of an empty list and recall of no item divide by 0."""
    for query, rows in table.items():
        for name, options in calls:
            retrieved, relevant = lists(rows, None if name == "average_precision" else options.get("k"))
            if name == "average_precision":
                yield query, name, options, float(metrics.mark([relevant], [retrieved], **options))
            elif name == "precision" and retrieved:
                yield query, name, options, float(metrics.recommender_precision([retrieved], [relevant]))
            elif name == "recall" and relevant:
                yield query, name, options, float(metrics.recommender_recall([retrieved], [relevant]))
