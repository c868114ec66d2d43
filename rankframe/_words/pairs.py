"""Counts of pairs in the wrong order, for rank correlations and pairwise accuracies."""

from __future__ import annotations

from typing import Any, TypeAlias

import polars as pl

from .._support.floats import NDArray, np

Places: TypeAlias = "NDArray[np.integer[Any]]"
Counts: TypeAlias = "NDArray[np.int32]"

BITS_OF_STEP = 4
"""The number of binary digits of a level used in one step."""


def lower_before(level: Places, first: Places, last: Places, *before: Places) -> list[Counts]:
    """The number of rows of a lower level in a row's run before a place.

    There is one count for each row and each place in `before`.

    Runs are contiguous; `first` and `last` (exclusive) delimit a row's run, and places lie between
    them. Levels are whole numbers from 0 on.

    Two levels differ first in one digit. For each digit, from the highest, rows are counted among
    the rows of their run with the same higher digits; then the rows of a run are sorted by the
    digit, stably, which splits the run.
    """
    counts = [np.zeros(len(level), dtype=np.int32) for _ in before]
    at: Places = np.arange(len(level))
    places = list(before)
    for step in reversed(range(-(-int(level.max(initial=0)).bit_length() // BITS_OF_STEP))):
        digit = (level >> (BITS_OF_STEP * step)) & (2**BITS_OF_STEP - 1)
        digit = digit.astype(np.uint8)
        ordered = np.empty_like(digit)
        ordered[at] = digit
        moved = [x.copy() for x in (at, first, last, *places)] if step else []
        for value in np.flatnonzero(np.bincount(digit)):
            rows = np.flatnonzero(digit == value)
            start = first[rows]
            lower = _so_far(ordered < value)
            lower_above = lower[start]
            for count, place in zip(counts, places, strict=True):
                count[rows] += lower[place[rows]] - lower_above
            if step:
                same = _so_far(ordered == value)
                begins = start + lower[last[rows]] - lower_above
                for new, old in zip(moved, (at, first, last, *places), strict=True):
                    new[rows] = begins + same[old[rows]] - same[start]
        if step:
            at, first, last, *places = moved
    return counts


def _so_far(rows: NDArray[np.bool_]) -> Counts:
    """The number of rows before each place."""
    counts = np.zeros(len(rows) + 1, dtype=np.int32)
    np.cumsum(rows, out=counts[1:])
    return counts


LONGEST = 1_000
"""The most rows of a run that are compared each with each, which is faster than by digits."""


def inverted_above(
    level: NDArray[np.integer[Any]], run: NDArray[Any], group: NDArray[np.integer[Any]]
) -> Counts:
    """For each row, count the rows above it in its run, and in another group, that have a greater
    level.

    The rows of a run are contiguous, and so are those of a group, of which a run may have several.
    """
    first, last = _runs(run)
    begins, _ = _runs(group)
    if (last - first).max(initial=0) > LONGEST:
        greatest = level.max(initial=0)
        return lower_before(greatest - level, first, last, begins)[0]
    at = np.arange(len(level))
    n_above = (at - first).astype(np.uint16)
    n_above_in_group = (at - begins).astype(np.uint16)
    has_groups = n_above_in_group.any()
    counts = np.zeros(len(level), dtype=np.uint16)
    for distance in range(1, int(n_above.max(initial=0)) + 1):
        is_inverted = level[:-distance] > level[distance:]
        is_inverted &= n_above[distance:] >= distance
        if has_groups:
            is_inverted &= n_above_in_group[distance:] < distance
        counts[distance:] += is_inverted
    return counts.astype(np.int32)


def lower_labelled(rows: pl.Series) -> pl.Series:
    """The number of rows of a lower level in each row's query.

    There are three: of all, of tied ones and of ones with a higher score.

    `rows` has the fields ``query``, one value per query, ``tied``, one value per group of ties, and
    ``level``, null for rows that are in no pair. The rows of a query are ordered by falling score.
    """
    every = rows.struct.unnest()
    in_pair = every["level"].is_not_null()
    labelled = every.filter(in_pair) if every["level"].has_nulls() else every
    first, last = _runs(labelled["query"].to_numpy())
    begins, ends = _runs(labelled["tied"].to_numpy())
    level = labelled["level"].to_numpy().astype(np.int64)
    unequal, inverted, to_end = lower_before(level, first, last, last, begins, ends)
    tied = to_end - inverted
    counts = pl.DataFrame({"unequal": unequal, "tied": tied, "inverted": inverted})
    if len(labelled) < len(every):
        number = (in_pair.cum_sum() - 1).cast(pl.get_index_type())
        at = pl.when(in_pair).then(number)  # nulls for rows that are in no pair
        counts = counts[pl.select(at).to_series()]
    return counts.cast(pl.Float64).to_struct(rows.name)


def greater_before(rows: pl.Series) -> pl.Series:
    """The number of rows of each row's query with a smaller ``order`` and a greater ``value``.

    Values are whole numbers from 0 on.

    `rows` has the fields ``query``, ``order`` and ``value``; a row without a value counts nowhere
    and gets 0.
    """
    every = rows.struct.unnest().with_row_index("row")
    has_value = pl.col("value").is_not_null()
    valued = every.filter(has_value).sort("query", "order")
    first, last = _runs(valued["query"].to_numpy())
    value = valued["value"].to_numpy().astype(np.int64)
    level = value.max(initial=0) - value
    (n_greater,) = lower_before(level, first, last, np.arange(len(value)))
    counts = np.zeros(len(every))
    counts[valued["row"].to_numpy()] = n_greater
    return pl.Series(rows.name, counts)


def starts_of(runs: NDArray[Any]) -> NDArray[np.int64]:
    """Where each run of equal numbers starts."""
    is_first = np.ones(len(runs[:1]), dtype=bool)
    changes = runs[1:] != runs[:-1]
    return np.flatnonzero(np.concatenate([is_first, changes]))


def _runs(values: NDArray[np.generic]) -> tuple[Places, Places]:
    """Where each row's run of equal values begins, and where it ends."""
    starts = starts_of(values)
    sizes = np.diff(starts, append=len(values))
    begins = np.repeat(starts, sizes)
    ends = np.repeat(starts + sizes, sizes)
    return begins, ends
