"""Compatibility: Clarke, Vtyurina and Smucker 2021."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from tests.metrics.oracles.query import Query, is_judged, ratio


def compatibility(
    q: Query, k: int | str | None = None, *, p: float = 0.95, normalize: bool = True, by_score: bool = False
) -> float:
    """Rank-biased overlap with the ideal ranking that is nearest: by falling label, tied labels as ranked.

    ``k="longest"`` stops where both lists have ended; ``by_score`` breaks ties of the ideal by score, a document
    that was not retrieved counting as scored 0, and then by the rows' order.
    """
    ranking = [row[0] for row in q.ranking]
    wanted = [row for row in q.rows if is_judged(row) and row[2] > 0]
    if by_score:
        wanted.sort(key=lambda row: row[1] or 0.0, reverse=True)
    ideal = [row[0] for row in sorted(wanted, key=lambda row: -row[2])]
    # Far enough that the weights below add nothing that a float could hold.
    depth = {None: math.ceil(-18 / math.log10(p)), "longest": max(len(ranking), len(ideal))}.get(k, k)

    def overlap(one: Sequence[Any], other: Sequence[Any]) -> float:
        both, seen, total = 0, set(), 0.0
        for i in range(int(depth)):
            for items in (one, other):
                if i < len(items):
                    both += items[i] in seen
                    seen.add(items[i])
            total += p**i * both / (i + 1)
        return total

    if normalize:
        return ratio(overlap(ranking, ideal), overlap(ideal, ideal) if ideal else 0.0)
    return overlap(ranking, ideal) / math.fsum(p**i for i in range(int(depth)))


ORACLES: dict[str, Callable[..., float | None]] = {oracle.__name__: oracle for oracle in (compatibility,)}
