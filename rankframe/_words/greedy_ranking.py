"""The greedy ranking of documents by novelty: at each rank the one that adds most, in all queries at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

ONE = 2.0**40
"""The gain of a subtopic that was not met yet; gains are whole numbers, so that sums are equal in any order."""


def greedy_ranks(rows: pl.Series, alpha: float, k: int | None) -> pl.Series:
    """The rank of each row's document, at most `k`, in its query's greedy ranking; null where it has none.

    The rows are structs of ``query``, ``doc``, ``subtopic`` and ``relevant``. A subtopic that n documents have met is
    worth (1 - alpha)^n to the next one; of equal documents the one with the larger id is taken.
    """
    import numpy as np  # imported late, to keep other calls fast

    every = rows.struct.unnest()
    pairs = every.with_row_index("row").filter("relevant").sort("query", "doc", descending=[False, True])
    if pairs.is_empty():
        return pl.Series([None] * len(every), dtype=pl.Float64)
    numbers = pairs.select(
        pl.col("query").rle_id(), pl.struct("query", "doc").rle_id().alias("doc"), pl.col("subtopic").rank("dense")
    )
    query, doc, name = (numbers[column].cast(pl.Int64).to_numpy() for column in ("query", "doc", "subtopic"))
    subtopics, subtopic = np.unique(query * (name.max() + 1) + name, return_inverse=True)
    start = np.flatnonzero(_changes(doc))
    ranks = np.zeros(len(start))
    query, left, size = query[start], np.arange(len(start)), np.diff(np.r_[start, len(doc)])
    met, worth = np.zeros(len(subtopics), dtype=np.int64), np.full(len(subtopics), int(ONE))
    rank = 0
    while len(left) and (k is None or rank < k):
        rank += 1
        gain = np.add.reduceat(worth[subtopic], np.cumsum(size) - size)
        first = np.flatnonzero(_changes(query))
        most = np.repeat(np.maximum.reduceat(gain, first), np.diff(np.r_[first, len(query)]))
        best = np.flatnonzero(gain == most)
        taken = best[_changes(query[best])]
        ranks[left[taken]] = rank
        stays = np.ones(len(left), dtype=np.bool_)
        stays[taken] = False
        pair_stays = np.repeat(stays, size)
        now = subtopic[~pair_stays]  # no duplicates, as each query takes one document
        met[now] += 1
        worth[now] = np.rint((1 - alpha) ** met[now] * ONE)
        subtopic, query, left, size = subtopic[pair_stays], query[stays], left[stays], size[stays]
    result = np.zeros(len(every))
    result[pairs["row"].to_numpy()] = ranks[doc]
    return pl.Series(result).replace(0.0, None)


def _changes(x: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """True where a run of equal values starts."""
    import numpy as np

    first = np.ones(len(x), dtype=np.bool_)
    first[1:] = x[1:] != x[:-1]
    return first
