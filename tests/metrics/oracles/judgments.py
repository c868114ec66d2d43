"""Judged documents, and numbers of documents."""

from __future__ import annotations

from collections.abc import Callable

from tests.metrics.oracles.query import Query, is_judged, ratio


def judged(q: Query, k: int | None = None) -> float:
    """The share of judged documents among the retrieved ones; a shorter ranking is divided by its length."""
    shown = q.ranking[:k]
    return ratio(sum(map(is_judged, shown)), len(shown))


def pairwise_accuracy(q: Query, k: int | None = None) -> float | None:
    """Of the pairs of a relevant and another retrieved document, the share that has the relevant one above."""
    flags = [q.is_relevant(row) for row in q.ranking[:k]]
    pairs = sum(flags) * (len(flags) - sum(flags))
    if not any(flags):
        return 0.0
    if not pairs:
        return None
    return sum(sum(not other for other in flags[i:]) for i, relevant in enumerate(flags) if relevant) / pairs


def inferred_ap(q: Query) -> float:
    """Yilmaz and Aslam 2006 as trec_eval has it; a negative label is in the pool but not judged."""
    epsilon, total = 0.00001, 0.0
    for rank in q.relevant_ranks:
        above = q.ranking[: rank - 1]
        relevant = sum(q.is_relevant(row) for row in above)
        others = sum(q.is_nonrelevant(row) for row in above)
        pooled = sum(row[2] is not None for row in above)
        if not above:
            total += 1
            continue
        below_this = pooled / len(above) * (relevant + epsilon) / (relevant + others + 2 * epsilon)
        total += 1 / rank + len(above) / rank * below_this
    return ratio(total, q.R)


def num_retrieved(q: Query) -> float:
    return q.n


def num_relevant(q: Query) -> float:
    return q.R


ORACLES: dict[str, Callable[..., float | None]] = {
    oracle.__name__: oracle
    for oracle in (
        judged,
        pairwise_accuracy,
        inferred_ap,
        num_retrieved,
        num_relevant,
    )
}
