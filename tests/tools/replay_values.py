"""The values that RePlay prints for every query of a table, of pandas frames."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd
from replay.metrics import MAP, MRR, NDCG, HitRate, PerUser, Precision, Recall, RocAuc

from tests.tools.lists import ANY, CUTOFFS, every, lists

NAMES = {
    "hit_rate": HitRate, "reciprocal_rank": MRR, "precision": Precision, "recall": Recall, "average_precision": MAP,
    "ndcg": NDCG, "auc": RocAuc,
}  # fmt: skip
CALLS = every([*NAMES], CUTOFFS[1:])


def values(
    table: dict[Any, list[Any]], calls: Sequence[Any] = CALLS
) -> Iterator[tuple[Any, str, dict[str, Any], float]]:
    """Users without a relevant item are left out."""
    rated = [(query, doc, score) for query, rows in table.items() for doc, score, _ in rows if score is not None]
    found = pd.DataFrame(rated, columns=["query_id", "item_id", "rating"])
    relevant = [(query, doc) for query, rows in table.items() for doc in lists(rows, least=ANY).relevant]
    wanted = pd.DataFrame(relevant, columns=["query_id", "item_id"])
    for name, options in calls:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            of_users = NAMES[name](options["k"], mode=PerUser())(found, wanted)
        for query, value in next(iter(of_users.values())).items():
            yield query, name, options, float(value)
