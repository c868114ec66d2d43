"""Functions of Polars that look at several rows of a query, as windows of SQL."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias

from sqlglot import exp

from .functions import SMALLEST_LOGARITHM, Arguments
from .trees import Sql, Tree, as_double, case, filled, flag, is_null, literal, there
from .words import NoSql


@dataclass(frozen=True)
class Window:
    """The rows that a function looks at.

    Attributes
    ----------
    partition
        The columns that these rows share.
    order
        The key by which they stand.
    running
        Whether a function looks at those from the first to the present row alone.
    """

    partition: Sequence[Tree]
    order: Tree | None
    running: bool = False

    def over(self, function: Tree) -> Tree:
        """The function over the rows."""
        if not self.running or self.order is None:
            return self._of(function, [], None)
        first = {"start": "UNBOUNDED", "start_side": "PRECEDING"}
        frame = exp.WindowSpec(kind="ROWS", **first, end="CURRENT ROW")
        return self._of(function, self._own_order, frame)

    def in_order(self, function: Tree, *keys: Tree) -> Tree:
        """The function over the rows by the `keys`, and among equals in their own order."""
        return self._of(function, [*keys, *self._own_order], None)

    @property
    def _own_order(self) -> list[Tree]:
        return [] if self.order is None else [exp.Ordered(this=self.order)]

    def _of(self, function: Tree, order: Sequence[Tree], frame: Tree | None) -> Tree:
        by = exp.Order(expressions=order) if order else None
        partition = [*self.partition]
        window = exp.Window(this=function, partition_by=partition, order=by, spec=frame)
        return window.copy()

    def has(self, condition: Tree) -> Tree:
        """Whether the condition holds on one of the rows."""
        return self.over(exp.Max(this=flag(condition))).eq(1)

    def nan(self, x: Sql) -> Tree | None:
        """Whether one of the rows is NaN."""
        return None if x.nan is None else self.has(x.nan)


OfRows: TypeAlias = Callable[[Window, Arguments], Sql]


def _running(read: OfRows) -> OfRows:
    """The same function of the rows from the first to the present one."""
    return lambda window, given: read(replace(window, running=True), given)


def _where_there(tree: Tree, x: Sql) -> Tree:
    """A running value is null on the row of a null, as in Polars."""
    if not x.may_be_null:
        return tree
    return case((there(x.tree), tree), otherwise=None)


def _total(window: Window, given: Arguments) -> Sql:
    x = given.first
    tree = window.over(exp.Sum(this=x.as_float.tree))
    if window.running:
        tree = _where_there(tree, x)
    elif x.may_be_null:
        tree = filled(tree, 0)
    null = window.running and x.null
    return Sql(tree, null=null, nan=window.nan(x), low=min(x.low, 0.0))


def _extreme(function: type[exp.AggFunc], window: Window, given: Arguments) -> Sql:
    x = given.first
    tree = window.over(function(this=x.tree))
    if window.running:
        tree = _where_there(tree, x)
    return replace(x, tree=tree, nan=None)


def _product(window: Window, given: Arguments) -> Sql:
    """EXP(SUM(LN(x))), with zeros and signs counted by themselves."""
    x = given.first
    size = exp.Abs(this=x.tree) if x.low < 0 else x.tree
    size_but_0 = case((x.tree.neq(0), size), otherwise=None)
    logarithm = window.over(exp.Sum(this=exp.Ln(this=size_but_0)))
    logarithm = filled(logarithm, 0)
    least = literal(SMALLEST_LOGARITHM).tree
    within_floats = case((logarithm < least, least), otherwise=logarithm)
    tree: Tree = exp.Exp(this=within_floats)
    if x.low < 0:
        n_negative = window.over(exp.Sum(this=flag(x.tree < 0)))
        half = n_negative * literal(0.5).tree
        is_odd = half.neq(exp.Floor(this=half))
        tree = case((is_odd, exp.Neg(this=tree)), otherwise=tree)
    has_zero = window.has(x.tree.eq(0))
    tree = case((has_zero, 0), otherwise=tree)
    low = 0.0 if x.low >= 0 else -math.inf
    return Sql(_where_there(tree, x), null=x.null, nan=window.nan(x), low=low)


def _shifted(window: Window, given: Arguments) -> Sql:
    """The value of a row above or below, or the second constant beyond the last row.

    Not all dialects take that constant as an argument of LAG.
    """
    x = given.first
    _, step, *constants = given.values
    tree = _moved(window, x.tree, step)
    nan = None
    if x.nan is not None:
        moved_flag = _moved(window, flag(x.nan), step)
        nan = filled(moved_flag, 0).eq(1)
    if not constants:
        return Sql(tree, nan=nan)
    end = literal(constants[0]).as_float
    is_beyond = is_null(_moved(window, exp.convert(1), step))
    tree = case((is_beyond, end.tree), otherwise=tree) if x.may_be_null else filled(tree, end.tree)
    return Sql(tree, null=x.null, nan=nan, low=min(x.low, end.low))


def _moved(window: Window, tree: Tree, step: float) -> Tree:
    """The value of the row `step` rows above, or below if it is negative.

    The cast lets it be null in ClickHouse, where it would be 0 beyond the last row.
    """
    function = exp.Lag if step > 0 else exp.Lead
    n_rows = exp.convert(abs(int(step)))
    return window.in_order(function(this=as_double(tree), offset=n_rows))


def _ranked(window: Window, given: Arguments) -> Sql:
    x = given.first
    options = given.options["options"]
    method = options["method"]
    functions = {
        "Ordinal": exp.RowNumber(),
        "Dense": exp.Anonymous(this="DENSE_RANK"),
        "Min": exp.Anonymous(this="RANK"),
    }
    if method not in functions:
        raise NoSql(f"ranks of the kind {method!r} are not known")
    keys = [exp.Ordered(this=x.tree, desc=options["descending"])]
    if x.null:
        nulls_last = exp.Ordered(this=flag(is_null(x.tree)))
        keys.insert(0, nulls_last)
    rows = window if method == "Ordinal" else replace(window, order=None)
    tree = rows.in_order(functions[method], *keys)
    return Sql(_where_there(tree, x), null=x.null, low=1.0, exact=True)


def _first(window: Window, given: Arguments) -> Sql:
    return _at_end(window, given.first, last=False)


def _last(window: Window, given: Arguments) -> Sql:
    return _at_end(window, given.first, last=True)


def _at_end(window: Window, x: Sql, *, last: bool) -> Sql:
    """The value of the first row, or of the last one, which is the first from below.

    MariaDB gives LAST_VALUE of another partition.
    """
    by = exp.Ordered(this=window.order, desc=last)
    rows = replace(window, order=None)
    tree = rows.in_order(exp.FirstValue(this=x.tree), by)
    nan = None
    if x.nan is not None:
        first_flag = exp.FirstValue(this=flag(x.nan))
        nan = rows.in_order(first_flag, by).eq(1)
    return replace(x, tree=tree, nan=nan)


def _count(window: Window, given: Arguments) -> Sql:
    tree = window.over(exp.Count(this=given.first.tree))
    return Sql(tree, null=False, low=0.0, exact=True)


def _mean(window: Window, given: Arguments) -> Sql:
    x = given.first
    tree = window.over(exp.Avg(this=x.as_float.tree))
    return Sql(tree, nan=window.nan(x), low=x.low)


WINDOWS: Mapping[str, OfRows] = {
    "AggCount": _count,
    "AggFirst": _first,
    "AggLast": _last,
    "AggMax": partial(_extreme, exp.Max),
    "AggMean": _mean,
    "AggMin": partial(_extreme, exp.Min),
    "AggSum": _total,
    "CumCount": _running(_count),
    "CumMax": _running(partial(_extreme, exp.Max)),
    "CumMin": _running(partial(_extreme, exp.Min)),
    "CumProd": _running(_product),
    "CumSum": _running(_total),
    "Rank": _ranked,
    "Shift": _shifted,
    "ShiftAndFill": _shifted,
}
"""The functions that look at several rows of a query, by their names in Polars."""
