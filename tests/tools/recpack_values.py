"""The values that RecPack prints for every query of a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from recpack import metrics
from scipy.sparse import csr_matrix

from tests.tools.lists import CUTOFFS, every, lists

NAMES = {
    "hits": metrics.HitK, "reciprocal_rank": metrics.ReciprocalRankK, "precision": metrics.PrecisionK,
    "recall": metrics.RecallK, "dcg": metrics.DCGK, "ndcg": metrics.NDCGK,
}  # fmt: skip
CALLS = every([*NAMES], CUTOFFS[1:])


def values(
    table: dict[Any, list[Any]], calls: Sequence[Any] = CALLS
) -> Iterator[tuple[Any, str, dict[str, Any], float]]:
    """Users without a relevant item are left out; items with a score of 0 are not recommended, so that 1 is the least."""
    items = {doc: at for at, doc in enumerate(dict.fromkeys(row[0] for rows in table.values() for row in rows))}
    users = {query: two for query, rows in table.items() if (two := lists(rows)).relevant}
    wanted = [(user, items[doc], 1.0) for user, two in enumerate(users.values()) for doc in two.relevant]
    scored = [
        (user, items[doc], float(len(two.retrieved) - at))
        for user, two in enumerate(users.values())
        for at, doc in enumerate(two.retrieved)
    ]
    if not scored:
        return
    shape = len(users), len(items)
    true, found = (
        csr_matrix(([x for *_, x in rows], ([u for u, *_ in rows], [i for _, i, _ in rows])), shape)
        for rows in (wanted, scored)
    )
    for name, options in calls:
        metric = NAMES[name](options["k"])
        metric.calculate(true, found)
        for query, value in zip(users, metric.scores_.sum(axis=1).A1, strict=True):
            yield query, name, options, float(value)
