"""The row of one table that has the key of a row of another one, found by sorting hashes."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from .._support.floats import Booleans, NDArray, np
from .._support.sorts import tied_with, with_places

ROW = "#row"
OTHER = "#other"


def may_be_matched(one: pl.DataFrame, keys: Sequence[str]) -> bool:
    """Whether keys that are equal have equal hashes, whatever their types: whole numbers and
    texts have.
    """
    types = [one.schema[name] for name in keys]
    return all(dtype.is_integer() or dtype == pl.String for dtype in types)


def matches(one: pl.DataFrame, other: pl.DataFrame) -> pl.Series | None:
    """For each row of `one`, the equal row of `other`, null if it has none; None if either table
    has a row twice.

    Both tables have the same columns. Nulls are equal.
    """
    n_rows = one.height
    hashes = [_hashes(one), _hashes(other)]
    codes, place = with_places(np.concatenate(hashes))
    again = np.zeros(len(codes), dtype=bool)  # the code above has the same leading bits
    again[1:] = codes[1:] == codes[:-1]
    upper, lower = _pairs(again, place)
    of_both = (upper < n_rows) & (lower >= n_rows)  # places rise where codes are equal
    upper, lower = upper[of_both], lower[of_both]
    unclear = np.zeros(len(codes), dtype=bool)
    unclear[place[tied_with(again)]] = True
    unclear[upper] = False
    unclear[lower] = False
    match = np.full(n_rows, other.height, dtype=np.uint32)
    match[upper] = lower - np.uint32(n_rows)
    differs = _differs(one, other, match)
    unclear[np.flatnonzero(differs)] = True
    unclear[match[differs].astype(np.int64) + n_rows] = True
    match[differs] = other.height
    if unclear.any() and not _match_unclear(one, other, unclear, match):
        return None
    return _with_nulls(match, match < other.height)


def _pairs(
    again: Booleans, place: NDArray[np.uint32]
) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """The places of two rows whose code no third row has."""
    is_lower = again.copy()
    is_lower[1:] &= ~again[:-1]
    is_lower[:-1] &= ~again[1:]
    is_upper = np.zeros(len(again), dtype=bool)
    is_upper[:-1] = is_lower[1:]
    return place[is_upper], place[is_lower]


def _hashes(table: pl.DataFrame) -> NDArray[np.uint64]:
    """The hash of each row."""
    hashes: NDArray[np.uint64] = table.select(pl.struct(pl.all()).hash()).to_series().to_numpy()
    return hashes


def _differs(one: pl.DataFrame, other: pl.DataFrame, match: NDArray[np.uint32]) -> Booleans:
    """The rows whose match is another key, with the same leading bits of its hash."""
    is_matched = match < other.height
    of_other = _with_nulls(match, is_matched)
    differs = np.zeros(one.height, dtype=bool)
    for name in one.columns:
        differs |= one[name].ne_missing(other[name].gather(of_other)).to_numpy()
    differs &= is_matched
    return differs


def _match_unclear(
    one: pl.DataFrame, other: pl.DataFrame, unclear: Booleans, match: NDArray[np.uint32]
) -> bool:
    """Match the rows that their codes leave unclear, into `match`; False if a row repeats."""
    of_one = one.with_row_index(ROW).filter(pl.Series(unclear[: one.height]))
    of_other = other.with_row_index(OTHER).filter(pl.Series(unclear[one.height :]))
    if of_one.drop(ROW).is_duplicated().any() or of_other.drop(OTHER).is_duplicated().any():
        return False
    pairs = of_one.join(of_other, on=one.columns, nulls_equal=True)
    match[pairs[ROW].to_numpy()] = pairs[OTHER].to_numpy()
    return True


def _with_nulls(match: NDArray[np.uint32], is_matched: Booleans) -> pl.Series:
    """The rows of the other table, null where there is none."""
    rows = pl.Series(match)
    if is_matched.all():
        return rows
    return pl.select(pl.when(pl.Series(is_matched)).then(rows)).to_series()
