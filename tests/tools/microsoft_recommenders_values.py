"""The values that Microsoft's Recommenders prints for every query of a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd
from recommenders.evaluation.python_evaluation import map_at_k, ndcg_at_k, precision_at_k, recall_at_k

from tests.tools.lists import ANY, every, lists

NAMES = {"precision": precision_at_k, "recall": recall_at_k, "average_precision": map_at_k, "ndcg": ndcg_at_k}
CALLS = every([*NAMES])


def values(
    table: dict[Any, list[Any]], calls: Sequence[Any] = CALLS
) -> Iterator[tuple[Any, str, dict[str, Any], float]]:
    """One user at a time, as it gives no other values than means; users without a relevant item are left out."""
    for query, rows in table.items():
        retrieved, relevant = lists(rows, least=ANY)
        if not retrieved or not relevant:
            continue
        found = pd.DataFrame(
            {"userID": query, "itemID": retrieved, "prediction": [-float(x) for x in range(len(retrieved))]}
        )
        wanted = pd.DataFrame({"userID": query, "itemID": relevant, "rating": 1.0})
        for name, options in calls:
            yield query, name, options, float(NAMES[name](wanted, found, **options))
