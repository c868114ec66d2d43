"""Words that NumPy computes from arrays: columns of the rows of queries, which stand one after the
other in rank order.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import polars as pl

from .._support.floats import Booleans, Floats, Integers, NDArray, np
from .._support.sorts import in_order, sorted_in_groups

Axis = Literal["label", "rank", ""]
"""Whether the values of a column are labels of the table, or ranks, by which values are looked
up."""


@dataclass(frozen=True)
class Runs:
    """Rows of queries, one query after the other.

    Attributes
    ----------
    starts
        The first row of each query.
    rows
        The number of rows.
    """

    starts: Integers
    rows: int

    @cached_property
    def number(self) -> NDArray[np.uint32]:
        """The number of each row's query."""
        return run_of_rows(self.starts, self.rows)

    @cached_property
    def first_row(self) -> Integers:
        """The first row of each row's query."""
        return self.starts.take(self.number)

    @cached_property
    def place(self) -> Integers:
        """The place of each row in its query, from 1 on."""
        return np.arange(1, self.rows + 1) - self.first_row

    @cached_property
    def sizes(self) -> Integers:
        """The number of rows of each query."""
        return np.diff(self.starts, append=self.rows)

    @cached_property
    def longest(self) -> int:
        """The most rows of a query."""
        return int(self.sizes.max(initial=0))

    @cached_property
    def of_two(self) -> Integers:
        """The queries that have two rows, where none has more."""
        return np.flatnonzero(self.sizes == 2)

    def totals(self, x: NDArray[Any], add: np.ufunc) -> Floats:
        """The sum of `x` over each query, or another total of it."""
        if self.longest > 2:
            found: Floats = add.reduceat(x, self.starts, dtype=np.float64)
            return found
        if self.rows == len(self.starts):
            return x.astype(np.float64, copy=False)
        # a fifth of the time of reduceat
        total = x.take(self.starts).astype(np.float64, copy=False)
        if len(self.of_two):
            second = x.take(self.starts.take(self.of_two) + 1)
            total[self.of_two] = add(total.take(self.of_two), second)
        return total


def run_of_rows(starts: Integers, rows: int) -> NDArray[np.uint32]:
    """The number of each row's run, of runs that start at different rows, the first at row 0."""
    run = np.zeros(rows, dtype=np.uint32)
    run[starts[1:]] = 1
    return np.cumsum(run, out=run)


@dataclass(frozen=True)
class Word:
    """A column that a function computes from others.

    Attributes
    ----------
    function
        Takes the rows and the arrays of the columns.
    of
        The names of the columns.
    nothing
        What stands for null in their arrays.
    axis
        What the values are.
    """

    function: Callable[..., NDArray[Any]]
    of: tuple[str, ...] = ()
    nothing: float = 0.0
    axis: Axis = ""


def numbers(column: pl.Series, nothing: float) -> NDArray[Any]:
    """The values of a column of numbers or truths, with a value for null."""
    if column.dtype == pl.Boolean and not math.isnan(nothing):
        return (column.fill_null(bool(nothing)) if column.has_nulls() else column).to_numpy()
    column = column if column.dtype == pl.Float64 else column.cast(pl.Float64)
    return (column.fill_null(nothing) if column.has_nulls() else column).to_numpy()


# --------------------------------------------------------------------------------------------------
# ---------- words


def places(runs: Runs) -> Integers:
    """The place of each row in its query, from 1 on."""
    return runs.place


def falling_labels(runs: Runs, label: NDArray[Any]) -> NDArray[Any]:
    """The labels of each query from the largest down; of whole numbers, in the type in which they
    come.
    """
    if runs.longest <= 1:
        return label
    if label.dtype.kind == "f":  # none is negative, so that their bits rise as they do
        bits = label.view(np.uint64)
        return label.take(sorted_in_groups(runs.number, bits.max(initial=0) - bits))
    top = int(label.max(initial=0))
    bits_of_label = top.bit_length()
    dtype = np.uint32 if len(runs.starts) << bits_of_label <= 2**32 else np.uint64
    key = np.left_shift(runs.number, bits_of_label, dtype=dtype)
    key |= np.subtract(top, label, dtype=np.int64).astype(dtype)
    key = in_order(key)  # the numbers of queries stay where they are
    key &= dtype((1 << bits_of_label) - 1)
    return np.subtract(top, key, dtype=np.int64)


def count_so_far(runs: Runs, here: Booleans) -> Floats:
    """The number of true rows of the query down to each row."""
    if runs.longest <= 1:
        return here.astype(np.float64)
    count = np.cumsum(here, dtype=np.int64)
    before = count.take(runs.starts) - here.take(runs.starts)
    return (count - before.take(runs.number)).astype(np.float64)


def sum_of_query(runs: Runs, x: Floats) -> Floats:
    """The sum over the query, on each of its rows."""
    return runs.totals(x, np.add).take(runs.number)


def product_before(runs: Runs, x: Floats) -> Floats:
    """The product over the rows of the query above each row, in steps that double: 1 at the top."""
    if runs.longest <= 1:
        return np.ones(runs.rows)
    product = np.ones(runs.rows)
    product[1:] = x[:-1]
    product[runs.starts] = 1.0
    step, longest = 1, runs.longest
    while step < longest:
        above = np.where(runs.place[step:] > step, product[:-step], 1.0)
        product[step:] *= above
        step *= 2
    return product
