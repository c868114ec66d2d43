"""Counts of the pairs of a query's documents that two scores tie, or order differently."""

from __future__ import annotations

from typing import Any, NamedTuple

import polars as pl

from .._support.floats import Booleans, Integers, NDArray, np
from .._support.sorts import sorted_in_groups
from .pairs import LONGEST, inverted_above, starts_of

FIELDS = ("tied", "other_tied", "both_tied", "discordant")


class Groups(NamedTuple):
    """The rows of one ranking, query by query from the best down, in groups of tied rows.

    Attributes
    ----------
    row
        The rows in this order.
    is_first
        Whether each of them is the first of its group.
    number
        The number of each one's group; the next group has the next number.
    place
        The number of each one's group in its query.
    """

    row: NDArray[np.integer[Any]]
    is_first: Booleans
    number: Integers
    place: NDArray[np.integer[Any]]

    @property
    def n_others(self) -> Integers:
        """How many further rows the group of each has."""
        return np.bincount(self.number)[self.number] - 1

    @property
    def has_ties(self) -> bool:
        """Whether a group has two rows."""
        return not bool(self.is_first.all())


def counts_of_pairs(rows: pl.Series) -> pl.Series:
    """Count, per row, the pairs that it is in: those tied by either score, by both, and those that
    the scores order differently. A pair is shared out between its two rows.

    `rows` has the fields ``query``, ``rank`` and ``score``, ``other_rank`` and ``other_score``; a
    row without a score is in no pair.
    """
    every = rows.struct.unnest()
    is_scored = every["score"].is_not_null()
    scored = every.filter(is_scored) if every["score"].has_nulls() else every
    query = scored["query"].to_numpy()
    own = _groups(query, scored["rank"], scored["score"])
    other = _groups(query, scored["other_rank"], scored["other_score"])
    group = _by_row(own, own.number)
    other_group = _by_row(other, other.number)
    counts = {
        "tied": _by_row(own, own.n_others) / 2,
        "other_tied": _by_row(other, other.n_others) / 2,
        "both_tied": np.zeros(scored.height),
        "discordant": np.zeros(scored.height),
    }
    if own.has_ties and other.has_ties:
        counts["both_tied"] = _n_equal(group, other_group) / 2
    level = _by_row(other, other.place)[own.row]
    counts["discordant"][own.row] = inverted_above(level, query[own.row], own.number)
    found = pl.DataFrame(counts)
    if scored.height < every.height:
        place = (is_scored.cum_sum() - 1).cast(pl.get_index_type())
        found = found[pl.select(pl.when(is_scored).then(place)).to_series()]
    return found.to_struct(rows.name)


def _groups(query: NDArray[np.integer[Any]], rank: pl.Series, score: pl.Series) -> Groups:
    """The rows by query and rank, in groups of equal scores."""
    row = _by_rank(query, rank.to_numpy())
    in_order = score.to_numpy()[row]
    starts = starts_of(query[row])
    is_first = np.ones(len(row), dtype=bool)
    is_first[1:] = in_order[1:] != in_order[:-1]
    is_first[starts] = True
    number = np.cumsum(is_first) - 1
    sizes = np.diff(starts, append=len(row))
    place = number - np.repeat(number[starts], sizes)
    if sizes.max(initial=0) <= LONGEST:
        place = place.astype(np.uint16)  # several times faster to compare
    return Groups(row, is_first, number, place)


def _by_rank(query: NDArray[np.integer[Any]], rank: NDArray[Any]) -> NDArray[np.integer[Any]]:
    """The rows by query and rank."""
    sizes = np.bincount(query)
    if (rank > sizes[query]).any():  # some ranks are those of rows that are not here
        return sorted_in_groups(query, rank.astype(np.uint64))
    starts = np.cumsum(sizes) - sizes
    row = np.empty(len(query), dtype=np.uint32)
    row[starts[query] + rank - 1] = np.arange(len(query), dtype=np.uint32)
    return row


def _by_row(groups: Groups, values: NDArray[Any]) -> NDArray[Any]:
    """Values in the order of a ranking, in that of the rows."""
    found = np.empty_like(values)
    found[groups.row] = values
    return found


def _n_equal(group: Integers, other_group: Integers) -> Integers:
    """How many further rows each row shares both groups with."""
    pairs = group * (other_group.max(initial=0) + 1) + other_group
    _, number, size = np.unique(pairs, return_inverse=True, return_counts=True)
    return size[number] - 1
