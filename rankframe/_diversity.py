"""Novelty and diversity: what a ranking says of a query's subtopics, each worth less every time it is met again.

A table has one row for each query, document and subtopic. A document's gain is the sum over its subtopics of
(1 - alpha)^n, where n documents above it have met the subtopic, so it is a window over query and subtopic, and every
metric of it a grouped sum. Only the best possible ranking is a loop: at each rank the document that adds most is
taken, in all queries at once.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl

__all__ = ["best_gains", "novelty"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

QUERY, SUBTOPIC, RANK = "#query", "#subtopic", "#rank"


def novelty(alpha: float) -> pl.Expr:
    """What the relevant rows of retrieved documents add, each to the gain of its document."""
    met_above = pl.int_range(pl.len(), dtype=pl.Int64).over(QUERY, SUBTOPIC, order_by=RANK)
    return (1 - alpha) ** met_above.cast(pl.Float64)


def best_gains(relevant: pl.DataFrame, alpha: float, k: int) -> pl.DataFrame:
    """The gain at the ranks 1 to `k` of the greedy ranking: one row per query and rank, while gains last.

    `relevant` has a row for each query, document and subtopic that are relevant: ``#query`` and ``#subtopic`` as
    numbers from 0 on (subtopics per query), and ``#doc``, a number by which of equal documents the larger is taken.
    """
    if relevant.is_empty():
        return pl.DataFrame(schema={QUERY: pl.Int64, RANK: pl.Int32, "gain": pl.Float64})
    # Documents that meet the same subtopics, a number with a bit for each, stand in one pile, the largest on top.
    bits = (2.0 ** pl.col(SUBTOPIC)).sum().cast(pl.Int64).alias("#bits")  # exact up to 53 subtopics
    documents = relevant.group_by(QUERY, "#doc").agg(bits).sort(QUERY, "#bits", "#doc", descending=True)
    query_of_doc, bits_of_doc, docs = (documents[name].to_numpy() for name in (QUERY, "#bits", "#doc"))
    top = np.flatnonzero(starts(query_of_doc) | starts(bits_of_doc))
    bottom = np.r_[top[1:], len(docs)]
    names, query = np.unique(query_of_doc[top], return_inverse=True)
    subtopics = np.arange(int(np.max(relevant[SUBTOPIC].to_numpy())) + 1)
    meets = (bits_of_doc[top][:, None] >> subtopics) % 2 == 1
    left = np.ones((len(names), len(subtopics)))
    ranks: list[pl.DataFrame] = []
    for rank in range(1, k + 1):
        gain = _gain(meets, left, query)
        first = np.flatnonzero(starts(query))
        here = query[first]
        most = np.zeros(len(names))
        most[here] = np.maximum.reduceat(gain, first)
        largest = np.where(gain == most[query], docs[top], -1)
        taken = np.flatnonzero(
            largest == np.repeat(np.maximum.reduceat(largest, first), np.diff(np.r_[first, len(query)]))
        )
        ranks.append(pl.DataFrame({QUERY: names[here], "gain": most[here]}).with_columns(pl.lit(rank).alias(RANK)))
        left[query[taken]] *= np.where(meets[taken], 1 - alpha, 1.0)
        top[taken] += 1
        keep = top < bottom
        if not keep.all():
            meets, query, top, bottom = meets[keep], query[keep], top[keep], bottom[keep]
        if not len(query):
            break
    return pl.concat(ranks)


def starts(x: Integers) -> npt.NDArray[np.bool_]:
    """Where a run of equal values starts."""
    first = np.ones(len(x), dtype=np.bool_)
    first[1:] = x[1:] != x[:-1]
    return first


def _gain(meets: npt.NDArray[np.bool_], left: Floats, query: Integers) -> Floats:
    """What each pile would add; subtopics are added up one after the other, so that equal sets add equal sums."""
    gain = np.zeros(len(query))
    for subtopic in range(meets.shape[1]):
        gain += np.where(meets[:, subtopic], left[query, subtopic], 0.0)
    return gain
