"""Duels between the documents of a query: which of two stands above the other in more of the rankings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Places = NDArray[np.float32]

PAIRS = 4_000_000
"""The number of pairs compared at a time."""

DRAWN = 1e-12
"""The share of all weights up to which a difference between votes is one of rounding."""


def duels_won(place: Places, query: NDArray[np.int64], weights: Sequence[float] | None) -> NDArray[np.float64]:
    """The number of duels that each document wins against the others of its query, plus half a duel for each draw.

    `place` has a row per document and a column per ranking, which votes for the document of lower place. Queries are
    compared in blocks of similar size, padded to the largest with documents that draw every duel.
    """
    import numpy as np

    by_query = np.argsort(query, kind="stable")
    _, starts, sizes = np.unique(query[by_query], return_index=True, return_counts=True)
    by_size = np.argsort(sizes, kind="stable")
    starts, sizes = starts[by_size], sizes[by_size]
    won = np.zeros(len(place))
    for some in _blocks(sizes):
        most = int(sizes[some][-1])
        slots = np.arange(most)
        held = slots < sizes[some][:, None]
        rows = by_query[np.where(held, starts[some][:, None] + slots, 0)]
        places = np.where(held[..., None], place[rows], np.float32(np.nan))
        step = max(1, PAIRS // (most * len(rows)))
        parts = [_won(places[:, first : first + step], places, weights) for first in range(0, most, step)]
        of_none = (most - sizes[some][:, None] + 1) / 2  # the draws against the padding and against itself
        won[rows[held]] = (np.concatenate(parts, axis=1) - of_none)[held]
    return won


def _won(left: Places, right: Places, weights: Sequence[float] | None) -> NDArray[np.float64]:
    """The duels that documents of each query win against all of that query."""
    import numpy as np

    votes = np.zeros((*left.shape[:2], right.shape[1]), dtype=np.int32 if weights is None else np.float64)
    for ranking in range(left.shape[2]):
        own, other = left[:, :, None, ranking], right[:, None, :, ranking]
        vote = (own < other).view(np.int8) - (own > other).view(np.int8)
        votes += vote if weights is None else weights[ranking] * vote
    least = 0.0 if weights is None else DRAWN * sum(map(abs, weights))
    won: NDArray[np.float64] = ((votes > least).sum(axis=2) + (votes >= -least).sum(axis=2)) / 2
    return won


def _blocks(sizes: NDArray[np.int64]) -> Iterator[slice]:
    """Slices of queries, which are sorted by size, with at most `PAIRS` pairs; a query with more is one by itself."""
    import numpy as np

    start = 0
    while start < len(sizes):
        pairs = np.arange(1, len(sizes) - start + 1) * sizes[start:] ** 2
        stop = start + max(1, int(np.searchsorted(pairs, PAIRS, side="right")))
        yield slice(start, stop)
        start = stop
