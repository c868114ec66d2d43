"""The values that RecTools prints for every query of a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd
from rectools.metrics import MAP, MRR, NDCG, F1Beta, HitRate, Precision, Recall

from tests.tools.lists import ANY, CUTOFFS, every, lists

NAMES = {
    "hit_rate": HitRate, "reciprocal_rank": MRR, "precision": Precision, "recall": Recall, "average_precision": MAP,
    "f1": F1Beta, "ndcg": NDCG,
}  # fmt: skip
CALLS = every([*NAMES], CUTOFFS[1:])


def values(
    table: dict[Any, list[Any]], calls: Sequence[Any] = CALLS
) -> Iterator[tuple[Any, str, dict[str, Any], float]]:
    """Users without a relevant item are left out."""
    pairs = {query: lists(rows, least=ANY) for query, rows in table.items()}
    ranked = [(query, doc, rank) for query, two in pairs.items() for rank, doc in enumerate(two.retrieved, 1)]
    found = pd.DataFrame(ranked, columns=["user_id", "item_id", "rank"]).astype({"rank": int})
    relevant = [(query, doc) for query, two in pairs.items() for doc in two.relevant]
    wanted = pd.DataFrame(relevant, columns=["user_id", "item_id"])
    for name, options in calls:
        for query, value in NAMES[name](k=options["k"]).calc_per_user(found, wanted).items():
            yield query, name, options, float(value)
