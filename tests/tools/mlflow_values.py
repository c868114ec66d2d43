"""The values that MLflow's evaluation of retrievers prints for every query of a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd
from mlflow.metrics import ndcg_at_k, precision_at_k, recall_at_k

from tests.tools.lists import every, lists

NAMES = {"precision": precision_at_k, "recall": recall_at_k, "ndcg": ndcg_at_k}
CALLS = every([*NAMES])
K = 3
"""The cutoff where none is given, retriever_k."""


def values(
    table: dict[Any, list[Any]], calls: Sequence[Any] = CALLS
) -> Iterator[tuple[Any, str, dict[str, Any], float]]:
    """Recall and nDCG are 1, not 0, where nothing is relevant and nothing was retrieved."""
    asked = {query: two for query, rows in table.items() if any(two := lists(rows))}
    retrieved = pd.Series([two.retrieved for two in asked.values()])
    relevant = pd.Series([two.relevant for two in asked.values()])
    for name, options in calls:
        found = NAMES[name](options.get("k", K)).eval_fn(retrieved, relevant)
        for query, value in zip(asked, found.scores, strict=True):
            yield query, name, options, float(value)
