"""The columns and sums that formulas need, each computed once per plan."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import polars as pl

from .._table.columns import Fault
from ..errors import InvalidOption

QUERY = pl.col("#query")
"""The number of a row's query; the next query has the next number."""

POSITION = pl.col("#position")
"""A row's place in its query; documents that were not retrieved come last."""

SCORE = pl.col("#score")
"""A document's score; null for one that was not retrieved."""

STARTS = (POSITION == 1) | SCORE.ne_missing(SCORE.shift(1))
"""Where a group of tied documents starts; documents that were not retrieved form one group."""

FIRST_ROW = (POSITION == 1).arg_true().gather(QUERY - QUERY.first())
"""The number of the row at which a row's query starts."""

LARGEST_LABEL = pl.col("#largest")
"""The largest label of the whole table."""

LABEL_REFUSED = "label"
"""The kind of a refusal that names the label found."""


def at_first_tied(x: pl.Expr) -> pl.Expr:
    """`x` at the first of each group of tied documents."""
    return pl.when(STARTS).then(x).forward_fill()


def at_last_tied(x: pl.Expr) -> pl.Expr:
    """`x` at the last of each group of tied documents."""
    return pl.when(STARTS.shift(-1, fill_value=True)).then(x).backward_fill()


def roots(of: Iterable[pl.Expr]) -> set[str]:
    """The columns that expressions read."""
    return {name for x in of for name in x.meta.root_names()}


@dataclass
class Needed:
    """The columns, sums, values and refusals that formulas need of a table's rows, each once.

    Attributes
    ----------
    key
        The columns that name a query.
    gains_only
        Whether rows whose label is 0, negative or null add nothing and are dropped before sums.
    source, early, late
        Columns in order of computation: before ranking, on all rows in rank order, and on rows left after
        the drop.
    sums, maxima
        Expressions whose sum, or maximum, is taken per query.
    values
        The value of each call by its text, made of these.
    """

    key: list[str]
    gains_only: bool = False
    source: dict[str, pl.Expr] = field(default_factory=dict)
    early: dict[str, pl.Expr] = field(default_factory=dict)
    late: list[dict[str, pl.Expr]] = field(default_factory=list)
    sums: dict[str, pl.Expr] = field(default_factory=dict)
    maxima: dict[str, pl.Expr] = field(default_factory=dict)
    refused: dict[str, Fault] = field(default_factory=dict)
    values: dict[str, pl.Expr] = field(default_factory=dict)
    _names: dict[tuple[str, bytes], str] = field(default_factory=dict)
    same: set[str] = field(default_factory=set)
    _of_queries: dict[str, tuple[Literal["sum", "max"], pl.Expr]] = field(default_factory=dict)

    def from_table(self, x: pl.Expr, known_by: bytes = b"") -> pl.Expr:
        """A column of the table, computed before rows are ranked; `known_by` identifies one that calls Python."""
        return self._once("source", x, self.source, known_by)

    def before_drop(self, x: pl.Expr) -> pl.Expr:
        """A column that needs every row of the query."""
        return self._once("early", x, self.early) if self.gains_only else self.column(x)

    def column(self, x: pl.Expr, known_by: bytes = b"") -> pl.Expr:
        """A column of rows left after the drop; `known_by` identifies an expression that calls Python."""
        roots = set(x.meta.root_names())
        layer = max((i + 1 for i, columns in enumerate(self.late) if roots & columns.keys()), default=0)
        if layer == len(self.late):
            self.late.append({})
        return self._once("late", x, self.late[layer], known_by)

    def same_for_query(self, column: pl.Expr) -> pl.Expr:
        """Note that the column has one value on all rows of a query."""
        self.same.add(column.meta.output_name())
        return column

    def of_query(self, x: pl.Expr, how: Literal["sum", "max"]) -> pl.Expr:
        """The sum or the maximum of `x` over the query: on its rows, or once where no row needs it (see `settle`)."""
        column = self.same_for_query(self.column(getattr(x, how)().over(self.key)))
        self._of_queries[column.meta.output_name()] = how, x
        return column

    def sum(self, x: pl.Expr) -> pl.Expr:
        """The sum of `x` per query."""
        return self._once("sum", x, self.sums)

    def max(self, x: pl.Expr) -> pl.Expr:
        """The largest `x` per query."""
        return self._once("max", x, self.maxima)

    def refuse(self, bad: pl.Expr, message: str, *, of_label: bool = True) -> None:
        """Fail with `message` where `bad` holds; it names the label found, if the fault is one `of_label`."""
        kind = f"{LABEL_REFUSED if of_label else 'document'} {len(self.refused)}"
        self.refused.setdefault(message, Fault(kind, "", bad, message))

    def settle(self) -> None:
        """Refuse values that are not one number per query; take sums per query unless a row needs them."""
        for text, value in self.values.items():
            if not self._has_one_value(value):
                says = f"{text}: its formula gives {value}, which is no one number for a query"
                raise InvalidOption(f"{says}; add up what each document is worth, as in r.total(x, k) or r.whole(x)")
        rows = [*self.sums.values(), *self.maxima.values(), *(x for columns in self.late for x in columns.values())]
        for name in self._of_queries.keys() - roots([*rows, *self._bad]):
            how, x = self._of_queries[name]
            (self.sums if how == "sum" else self.maxima)[name] = x
            for columns in self.late:
                columns.pop(name, None)
        self._leave_out_unused()

    def _leave_out_unused(self) -> None:
        """Leave out columns and sums of which neither a value nor a refusal is made."""
        used = roots([*self.values.values(), *self._bad])
        for columns in (self.sums, self.maxima, *reversed(self.late), self.early, self.source):
            for name in columns.keys() - used:
                del columns[name]
            used |= roots(columns.values())

    @property
    def _bad(self) -> list[pl.Expr]:
        """The flags of refused rows."""
        return [fault.rows for fault in self.refused.values()]

    def reads(self, column: pl.Expr) -> bool:
        """Whether a column, a sum or a refusal is made of `column`."""
        return column.meta.output_name() in self._read

    @cached_property
    def _read(self) -> set[str]:
        columns = [self.source, self.early, *self.late, self.sums, self.maxima, self.values]
        return roots([*self._bad, *(x for named in columns for x in named.values())])

    @cached_property
    def constant(self) -> list[str]:
        """The columns used by values that are constant within a query."""
        return sorted(roots(self.values.values()) - self.sums.keys() - self.maxima.keys())

    @cached_property
    def flags(self) -> dict[str, pl.Expr]:
        """A column per refusal: the refused label, null on all other rows."""
        return {fault.column: pl.when(fault.rows).then(pl.col("#label")) for fault in self.refused.values()}

    def _has_one_value(self, x: pl.Expr) -> bool:
        """Whether `x` has one value per query, or may have."""
        ones = (self.same, self.sums, self.maxima)
        made_of = [name for name in x.meta.root_names() if not any(name in names for names in ones)]
        columns = {name: layer[name] for name in made_of for layer in self.late if name in layer}
        return is_by_row(x) is not False and all(x in columns and self._has_one_value(columns[x]) for x in made_of)

    def compute(self, rows: pl.LazyFrame) -> pl.LazyFrame:
        """The rows with the late columns."""
        for columns in self.late:
            rows = rows.with_columns_seq(**columns)
        return rows

    def _once(self, kind: str, x: pl.Expr, into: dict[str, pl.Expr], known_by: bytes = b"") -> pl.Expr:
        key = kind, known_by or x.meta.serialize()
        if key not in self._names:
            self._names[key] = f"#{len(self._names)}"
            into[self._names[key]] = x
        return pl.col(self._names[key])


def is_by_row(x: pl.Expr) -> bool | None:
    """Whether `x` is computed row by row; None if it cannot be known."""
    try:
        meta = x.meta
        if meta.is_column():
            return True
        if not meta.is_row_separable():
            return False
        parts = [is_by_row(part) for part in meta.pop()]
        return None if None in parts and False not in parts else all(parts)
    except pl.exceptions.ColumnNotFoundError:  # a Python function, or a field of a struct
        return None
