"""Rank order: the rows of whole queries sorted by query and score."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import or_
from typing import Any, NamedTuple

import polars as pl

from .._support import sorts
from .._support.floats import Booleans, Floats, NDArray, np
from .._support.polars_versions import exploded
from .._support.sorts import (
    Codes,
    falling,
    in_groups,
    in_order,
    rising,
    sorted_in_groups,
    tied_with,
    with_places,
)
from .._table.columns import Columns
from .._table.setup import Setup
from .._words.in_arrays import run_of_rows
from .._words.pairs import starts_of
from ..errors import InvalidOption, on, option

IDS_PER_ROW = 4
"""The largest range of whole query ids, in ids for each row, for which a lookup table is used."""

FEW_IDS = 2**14
"""A range of whole query ids for which it is used by a table of any size."""

OF_QUERY = 0x9E3779B97F4A7C15
"""The factor of a query's number in the hash of query and value: 2^64 over the golden ratio, as in
Fibonacci hashing."""

LOOKED_UP_LABELS = 256
"""The most different labels whose functions are looked up; whole ones are below this number."""

FEW_ROWS = 2**11
"""The most rows whose texts are numbered in Python."""

FLAGS_PER_ROW = 8
"""The most flags, for each row, by which values of queries are told apart."""

FEW_FLAGS = 2**14
"""Flags that a table of any size may have besides."""

WIDE = (pl.Int128, pl.UInt128)
"""Types of numbers that NumPy lacks."""

ROWS_OF_SAMPLE = 2**10
"""The first rows, which show whether the rows of a query may stand together."""


@dataclass(frozen=True)
class RankOrder:
    """The rows of a frame query by query, in the order in which queries first appear, each from its
    best row down.

    Attributes
    ----------
    number
        The number of each row's query; none if these are some of the frame's queries.
    first
        The first row of each query.
    ends
        The number of rows of the queries before each query; last, the number of all rows.
    row
        The rows in this order.
    score
        The score of each row of the frame, as policies read it; null for a document that was not
        retrieved.
    """

    number: NDArray[np.integer[Any]]
    first: pl.Series
    ends: NDArray[np.int64]
    row: NDArray[np.uint32]
    score: pl.Series

    @cached_property
    def complete(self) -> bool:
        """Whether every document has a score."""
        return not self.score.has_nulls()

    def between(self, start: int, end: int) -> RankOrder:
        """The order of the queries from number `start` to before number `end`."""
        before, last = self.ends[start], self.ends[end]
        ends = self.ends[start : end + 1] - before
        none = self.number[:0]
        return RankOrder(none, self.first[start:end], ends, self.row[before:last], self.score)

    @property
    def position(self) -> NDArray[np.int64]:
        """The position of each row of the frame in its query, from 1 on."""
        position = np.empty(len(self.row), dtype=np.int64)
        position[self.row] = np.arange(1, len(self.row) + 1)
        position -= self.ends.take(self.number)
        return position

    def queries_with(self, row: NDArray[np.bool_]) -> pl.Series:
        """Whether each query has one of the rows that a mask of the frame's rows names."""
        found = np.zeros(len(self.first), dtype=np.bool_)
        found[self.number[row]] = True
        return pl.Series(found)

    def rows(self) -> pl.DataFrame:
        """The rows: number of query and row of the frame, from 0 on, position, from 1 on, and
        score.
        """
        query, number = run_of_rows(self.ends[:-1], len(self.row)), pl.Series("#row", self.row)
        position = pl.Series("#position", np.arange(len(query)) + (1 - self.ends).take(query))
        return pl.DataFrame(
            [pl.Series("#query", query).set_sorted(), number, position, self.score[number]]
        )


class Queries(NamedTuple):
    """The queries of a frame's rows, in order of first appearance.

    Attributes
    ----------
    number
        The query's number of each row.
    first
        The first row of each query.
    """

    number: NDArray[np.integer[Any]]
    first: NDArray[np.uint32]


@dataclass(frozen=True)
class KeptOrders:
    """The rank orders that a call makes of small frames, those of up to so many rows."""

    rows: int
    orders: list[tuple[pl.DataFrame, Setup, RankOrder]]

    def of(self, frame: pl.DataFrame, setup: Setup) -> RankOrder | None:
        """The order of a frame under a setup, if it was kept."""
        return next(
            (order for of, ranked, order in self.orders if of is frame and ranked == setup), None
        )


_kept: ContextVar[KeptOrders | None] = ContextVar("kept", default=None)


@contextmanager
def keeping_orders(rows: int) -> Iterator[KeptOrders]:
    """Inside, the rank orders of frames of up to so many rows are kept, for a look at the same rows
    afterwards.
    """
    token = _kept.set(found := KeptOrders(rows, []))
    try:
        yield found
    finally:
        _kept.reset(token)


def keep(frame: pl.DataFrame, setup: Setup, order: RankOrder) -> None:
    """Keep the rank order of a small frame, where orders are kept."""
    kept = _kept.get()
    if kept is not None and frame.height <= kept.rows:
        kept.orders.append((frame, setup, order))


def in_rank_order(frame: pl.DataFrame, table: Columns) -> RankOrder:
    score = column_of(frame, table.score).alias("#score")
    number, first = numbered(frame[list(table.setup.roles.query)])
    row, again = in_groups(number, _from_the_top(score))
    ends = np.zeros(len(first) + 1, dtype=np.int64)
    np.cumsum(np.bincount(number, minlength=len(first)), out=ends[1:])
    if again.any():
        _put_ties_in_order(row, again, frame, table)
    return RankOrder(number, pl.Series(first), ends, row, score)


def refuse_shared_ranks(setup: Setup, what: str) -> None:
    """Refuse a tie rule that gives tied documents one rank where an order is needed."""
    if setup.policies.tie_rule.shares:
        says = (
            f" gives tied documents one rank, and {what} needs an order; set another rule, as in "
        )
        raise InvalidOption(option(ties=setup.policies.ties), says, on(ties="doc_desc"))


def column_of(frame: pl.DataFrame, x: pl.Expr) -> pl.Series:
    """The values of an expression; of a mere column without a plan."""
    return frame[x.meta.output_name()] if x.meta.is_column() else frame.select_seq(x).to_series()


def numbered(ids: pl.DataFrame) -> Queries:
    """Number the different rows of `ids` by first appearance."""
    if ids.height <= FEW_ROWS and ids.dtypes == [pl.String]:
        return _one_by_one(ids.to_series())
    value = _whole_ids(ids)
    if value is not None:
        rises = not (value[1:] < value[:-1]).any()
        starts = starts_of(value) if rises else None
    elif any(x.is_nested() for x in ids.dtypes):
        return _by_group(ids)
    else:
        starts = starts_of_runs(ids)
    if starts is not None:
        return Queries(run_of_rows(starts, ids.height), starts.astype(np.uint32))
    if value is not None:
        return _by_value(value)
    found = _by_hash(ids)
    # ids may differ although their hashes are the same
    first_like = pl.Series(found.first.take(found.number))
    return found if ids[first_like].equals(ids) else _by_group(ids)


def _one_by_one(ids: pl.Series) -> Queries:
    """Number ids in Python, which takes as long for a few thousand as one call of Polars."""
    numbers: dict[str | None, int] = {}
    number = np.array(
        [numbers.setdefault(value, len(numbers)) for value in ids.to_list()], dtype=np.int64
    )
    first = np.diff(np.maximum.accumulate(number), prepend=-1).nonzero()[0]
    return Queries(number, first.astype(np.uint32))


MOST_RUNS = 3 / 4
"""The most runs of rows of one query, for each row, for which it may pay to look whether each query
has one."""

Starts = Callable[[int, int], "NDArray[np.int64]"]


def starts_of_runs(
    ids: pl.DataFrame, over: Callable[[Starts], Sequence[NDArray[np.int64]]] | None = None
) -> NDArray[np.int64] | None:
    """Where the rows of each query start, if they stand together; else None. `over` runs a function
    over slices of the rows.
    """

    def starts(start: int, end: int) -> NDArray[np.int64]:
        """The rows that differ from the row above them, and row 0."""
        above = max(start - 1, 0)
        changes = reduce(
            or_, (column[above + 1 : end].ne_missing(column[above : end - 1]) for column in ids)
        )
        rows = changes.arg_true().to_numpy().astype(np.int64) + above + 1
        return rows if start else np.concatenate([[0], rows])

    some = ids.head(ROWS_OF_SAMPLE)
    found = starts(0, some.height)
    if len(found) > MOST_RUNS * some.height or len(found) > _n_unique(some):
        return None
    if some.height == ids.height:
        return found
    found = starts(0, ids.height) if over is None else np.concatenate(over(starts))
    return None if _n_unique(ids[pl.Series(found, dtype=pl.UInt32)]) < len(found) else found


def _n_unique(ids: pl.DataFrame) -> int:
    return ids.n_unique() if ids.width > 1 else ids.to_series().n_unique()


def repeats_may_be(value: pl.Series, number: NDArray[np.integer[Any]]) -> bool:
    """Whether a query may hold a value twice: False if the codes of query and value all differ."""
    whole = _whole_numbers(value)
    if whole is None:
        return _has_equal(_hashes_in_queries(value, number))
    low, high = int(whole.min()), int(whole.max())
    room = high - low + 1
    codes = room * (int(number.max()) + 1)
    if codes > np.iinfo(np.int64).max:
        return _has_equal(_hashes_in_queries(value, number))
    code = number.astype(np.int64)
    code *= room
    code += whole
    code -= low
    if codes > FLAGS_PER_ROW * len(code) + FEW_FLAGS:
        return _has_equal(code.view(np.uint64))
    seen = np.zeros(codes, dtype=bool)
    seen[code] = True
    return int(np.count_nonzero(seen)) < len(code)


def _hashes_in_queries(value: pl.Series, number: NDArray[np.integer[Any]]) -> Codes:
    """Hashes of query and value."""
    hashes = number.astype(np.uint64)
    hashes *= np.uint64(OF_QUERY)
    hashes += value.hash().to_numpy()
    return hashes


def _has_equal(codes: Codes) -> bool:
    """Whether two of the codes are equal; they may be overwritten."""
    codes = in_order(codes)
    return bool((codes[1:] == codes[:-1]).any())


def _put_ties_in_order(
    row: NDArray[np.uint32], again: Booleans, frame: pl.DataFrame, table: Columns
) -> None:
    """Sort the rows that are not told apart from the row above them by the full keys, one after the
    other.
    """
    tied = tied_with(again)
    group = np.cumsum(~again, dtype=np.uint32)[tied]
    tied_rows = row[tied]
    keys = table.order()
    columns = {column for key, _ in keys for column in key.meta.root_names()}
    rows = frame.select(columns)[pl.Series(tied_rows)]
    place = np.arange(len(tied_rows))
    for key, falls in keys:
        same = group[1:] == group[:-1]
        below = _below(column_of(rows, key), falls).take(place)
        if (same & (below[1:] != below[:-1])).any():
            order = sorted_in_groups(group, below)
            place = place.take(order)
            below = below.take(order)
            changes = (group[1:] != group[:-1]) | (below[1:] != below[:-1])
            group = np.cumsum(np.concatenate([[True], changes]), dtype=np.uint32)
    row[tied] = tied_rows[place]


def _below(key: pl.Series, falls: bool) -> NDArray[np.uint64]:
    """Whole numbers that rise in the order of a sort key, from 0 on, null last; equal values share
    one.
    """
    there = key.is_not_null().to_numpy() if key.has_nulls() else None
    physical = key.to_physical()
    if physical.dtype in WIDE or not (physical.dtype.is_integer() or physical.dtype.is_float()):
        return _places(key, falls)
    value = physical.fill_null(0).to_numpy()
    below = falling(value) if falls else rising(value)
    if there is None:
        return below
    most = int(below.max())
    if most == np.iinfo(np.uint64).max:  # no number is left for null
        return _places(key, falls)
    below[~there] = most + 1
    return below


def _places(key: pl.Series, falls: bool) -> NDArray[np.uint64]:
    """The places of a key's values among the different ones, in its order, null last."""
    rows = key.alias("#key").to_frame().with_row_index("#row")
    rows = rows.sort("#key", descending=falls, nulls_last=True, multithreaded=False)
    value = rows["#key"]
    changes = value[1:].ne_missing(value[:-1]).to_numpy()
    place = np.empty(len(key), dtype=np.uint64)
    place[rows["#row"].to_numpy()] = np.concatenate([[0], np.cumsum(changes)])
    return place


def _whole_ids(ids: pl.DataFrame) -> NDArray[np.int64] | None:
    """Ids that are whole numbers in a narrow range, moved to start near 0, of several columns as
    one; None for others.
    """
    room_of_code = 1 << (sorts.CODE_BITS - ids.height.bit_length())  # beside the row number
    room = min(max(IDS_PER_ROW * ids.height, FEW_IDS), room_of_code)
    found, different = np.zeros(1, dtype=np.int64), 1
    for column in ids:
        value = _whole_numbers(column)
        if value is None:
            return None
        low, high = int(value.min()), int(value.max())
        if low < 0 or high >= room:
            value, high = value - low, high - low
        different *= high + 1
        if different > room:
            return None
        found = value if ids.width == 1 else found * (high + 1) + value
    return found


def _whole_numbers(column: pl.Series) -> NDArray[np.int64] | None:
    """The values of a column of whole numbers; None for others."""
    dtype = column.dtype
    if dtype == pl.String:
        return None
    if not dtype.is_integer():
        column = column.to_physical()
        dtype = column.dtype
    if not dtype.is_integer():
        return None
    if dtype != pl.Int64:
        column = column.cast(pl.Int64, strict=False)
    return None if column.has_nulls() or column.is_empty() else column.to_numpy()


def _by_value(value: NDArray[np.int64]) -> Queries:
    """Number queries by a lookup table over the range of whole ids."""
    rows = len(value)
    first = np.full(int(value.max()) + 1, rows, dtype=np.uint32)
    first[value[::-1]] = np.arange(rows - 1, -1, -1, dtype=np.uint32)  # the last write stays
    seen = np.flatnonzero(first < rows)
    place, in_order = _by_appearance(first[seen], rows)
    first[seen] = place
    return Queries(first.take(value), in_order)


def _by_hash(ids: pl.DataFrame) -> Queries:
    """Number queries by the leading bits of their hashes."""
    bits = np.uint64(ids.height.bit_length())
    codes, row = with_places(hash_of(ids) >> bits)
    starts = starts_of(codes)
    place, first = _by_appearance(row[starts], ids.height)
    number = np.empty(ids.height, dtype=np.uint32)
    number[row] = np.repeat(place, np.diff(starts, append=ids.height))
    return Queries(number, first)


def hash_of(ids: pl.DataFrame) -> NDArray[np.uint64]:
    """The hash of each row."""
    hashes: NDArray[np.uint64] = (
        ids.hash_rows() if ids.width > 1 else ids.to_series().hash()
    ).to_numpy()
    return hashes


def _by_group(ids: pl.DataFrame) -> Queries:
    """Number queries by group_by."""
    grouped = (
        ids.lazy()
        .with_row_index("#row")
        .group_by(ids.columns, maintain_order=True)
        .agg("#row")
        .collect()
    )
    row, sizes = grouped["#row"], grouped["#row"].list.len().to_numpy()
    number = np.empty(ids.height, dtype=np.uint32)
    number[exploded(row).to_numpy()] = np.repeat(np.arange(len(row), dtype=np.uint32), sizes)
    return Queries(number, row.list.first().to_numpy())


def _by_appearance(
    first: NDArray[np.uint32], height: int
) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """The place of each of these rows in ascending order, and the rows in that order; a flag per
    row is cheaper than a sort.
    """
    seen = np.zeros(height, dtype=bool)
    seen[first] = True
    return np.cumsum(seen, dtype=np.uint32)[first] - np.uint32(1), np.flatnonzero(seen).astype(
        np.uint32
    )


def _from_the_top(score: pl.Series) -> NDArray[np.uint64]:
    """Whole numbers from 0 on that rise from the highest score to the lowest, then null.

    Scores that 64-bit floats cannot tell apart share one, and so do null and negative infinity.
    """
    score = score.cast(pl.Float64)
    score = score.fill_null(-math.inf) if score.has_nulls() else score
    return falling(score.to_numpy())


def labels_of(label: pl.Series) -> tuple[NDArray[Any], Floats]:
    """The labels, 0 for negative ones and null; of few different ones their places among these, and
    these, rising from 0; none for many.
    """
    none = np.zeros(0)
    if label.dtype in WIDE or not (label.dtype.is_integer() or label.dtype.is_float()):
        label = label.cast(pl.Float64)
    whole = label.dtype.is_integer() or not (label - label.floor() != 0).any()
    label = label.fill_null(0) if label.has_nulls() else label
    labels = np.maximum(label.to_numpy(), 0)
    top = labels.max(initial=0)
    if whole:
        few = top < LOOKED_UP_LABELS
        return (labels.astype(np.uint8), np.arange(top + 1.0)) if few else (labels, none)
    labels = labels.astype(np.float64) + 0.0  # turns -0.0 into 0.0
    levels = np.unique(np.append(labels[:ROWS_OF_SAMPLE], 0.0))
    if len(levels) > LOOKED_UP_LABELS // 2:
        return labels, none
    code = np.searchsorted(levels, labels)
    other = labels[levels.take(code, mode="clip") != labels]
    if len(other):
        levels = np.union1d(levels, other)
        code = np.searchsorted(levels, labels)
    few = len(levels) <= LOOKED_UP_LABELS
    return (code.astype(np.uint8), levels) if few else (labels, none)


class RowsWithGain(NamedTuple):
    """The places of rows with a label above 0, and of the first row of each query; and at which of
    these places each query starts.
    """

    place: NDArray[np.int64]
    starts: NDArray[np.int64]


def with_gain(label: NDArray[Any], starts: NDArray[np.int64]) -> RowsWithGain:
    """The rows that formulas of gains look at."""
    is_first = np.zeros(len(label), dtype=bool)
    is_first[starts] = True
    place = np.flatnonzero((label > 0) | is_first)
    return RowsWithGain(place, np.flatnonzero(is_first.take(place)))
