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
    """For each row and each place in `before`, count the rows of its run before that place with a
    lower level.

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
        digit = ((level >> (BITS_OF_STEP * step)) & (2**BITS_OF_STEP - 1)).astype(np.uint8)
        ordered = np.empty_like(digit)
        ordered[at] = digit
        runs = [x.copy() for x in (at, first, last, *places)] if step else []
        for value in np.flatnonzero(np.bincount(digit)):
            rows = np.flatnonzero(digit == value)
            lower, start = _so_far(ordered < value), first[rows]
            lower_above = lower[start]
            for count, place in zip(counts, places, strict=True):
                count[rows] += lower[place[rows]] - lower_above
            if step:
                same = _so_far(ordered == value)
                begins = start + lower[last[rows]] - lower_above
                for run, place in zip(runs, (at, first, last, *places), strict=True):
                    run[rows] = begins + same[place[rows]] - same[start]
        if step:
            at, first, last, *places = runs
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
    """Count, per row, the rows of a lower level in its query: all, tied ones, and ones with a
    higher score.

    `rows` has the fields ``query``, one value per query, ``tied``, one value per group of ties, and
    ``level``, null for rows that are in no pair. The rows of a query are ordered by falling score.
    """
    every = rows.struct.unnest()
    here = every["level"].is_not_null()
    some = every.filter(here) if every["level"].has_nulls() else every
    (first, last), (begins, ends) = (_runs(some[name].to_numpy()) for name in ("query", "tied"))
    level = some["level"].to_numpy().astype(np.int64)
    lower, above, to_end = lower_before(level, first, last, last, begins, ends)
    found = pl.DataFrame({"unequal": lower, "tied": to_end - above, "inverted": above})
    if len(some) < len(every):
        at = (here.cum_sum() - 1).cast(pl.get_index_type())  # nulls for rows that are in no pair
        found = found[pl.select(pl.when(here).then(at)).to_series()]
    return found.cast(pl.Float64).to_struct(rows.name)


def greater_before(rows: pl.Series) -> pl.Series:
    """Count, per row, the rows of its query with a smaller ``order`` and a greater ``value``, a
    whole number from 0.

    `rows` has the fields ``query``, ``order`` and ``value``; a row without a value counts nowhere
    and gets 0.
    """
    every = rows.struct.unnest().with_row_index("row")
    some = every.filter(pl.col("value").is_not_null()).sort("query", "order")
    first, last = _runs(some["query"].to_numpy())
    value = some["value"].to_numpy().astype(np.int64)
    (before,) = lower_before(value.max(initial=0) - value, first, last, np.arange(len(value)))
    found = np.zeros(len(every))
    found[some["row"].to_numpy()] = before
    return pl.Series(rows.name, found)


def starts_of(runs: NDArray[Any]) -> NDArray[np.int64]:
    """Where each run of equal numbers starts."""
    return np.flatnonzero(
        np.concatenate([np.ones(len(runs[:1]), dtype=bool), runs[1:] != runs[:-1]])
    )


def _runs(of: NDArray[np.generic]) -> tuple[Places, Places]:
    """Where each row's run of equal values begins, and where it ends."""
    starts = starts_of(of)
    sizes = np.diff(starts, append=len(of))
    return np.repeat(starts, sizes), np.repeat(starts + sizes, sizes)
