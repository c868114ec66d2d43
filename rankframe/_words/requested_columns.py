"""What formulas ask of a table's rows, written down so that a plan computes each thing once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain

import polars as pl

from .._table.table import Fault

__all__ = [
    "FIRST_ROW",
    "POSITION",
    "QUERY",
    "SCORE",
    "STARTS",
    "Labels",
    "Wanted",
    "at_first_tied",
    "at_last_tied",
    "is_by_row",
]

QUERY = pl.col("#query")
"""The number of a row's query: from one query to the next it rises by 1."""

POSITION = pl.col("#position")
"""A row's place in its query: the ranks, then the documents that were not retrieved."""

SCORE = pl.col("#score")
"""A document's score; null for one that was not retrieved."""

STARTS = (POSITION == 1) | SCORE.ne_missing(SCORE.shift(1))
"""Where a group of tied documents starts; those that were not retrieved are one."""

FIRST_ROW = (POSITION == 1).arg_true().gather(QUERY - QUERY.first())
"""The number of the row at which a row's query starts."""


def at_first_tied(x: pl.Expr) -> pl.Expr:
    """`x` at the first of each group of tied documents."""
    return pl.when(STARTS).then(x).forward_fill()


def at_last_tied(x: pl.Expr) -> pl.Expr:
    """`x` at the last of each group of tied documents."""
    return pl.when(STARTS.shift(-1, fill_value=True)).then(x).backward_fill()


@dataclass(frozen=True)
class Labels:
    """The labels of a table, what adds nothing as 0.

    Attributes
    ----------
    top
        The largest, where all are whole numbers below 256: then there is little that a function of them can give.
    find
        All different ones in rising order, where they are others.
    """

    top: int | None
    find: Callable[[], Sequence[float]]

    def all(self) -> Sequence[float]:
        """All labels that the table may have, in rising order."""
        return self.find() if self.top is None else self.whole.to_list()

    @property
    def whole(self) -> pl.Series:
        """The whole numbers up to the top."""
        return pl.int_range((self.top or 0) + 1, eager=True).cast(pl.Float64)


@dataclass
class Wanted:
    """The columns, sums and refusals that formulas have asked of a table's rows, each once.

    Attributes
    ----------
    key
        The columns that name a query.
    gains_only
        Whether rows with label 0, negative or missing add nothing, so that they are left out before sums.
    labels
        The labels of the table; None where nobody knows.
    whole_table
        Whether a value depends on rows of other queries.
    """

    key: list[str]
    gains_only: bool = False
    labels: Labels | None = None
    source: dict[str, pl.Expr] = field(default_factory=dict)
    early: dict[str, pl.Expr] = field(default_factory=dict)
    late: list[dict[str, pl.Expr]] = field(default_factory=list)
    sums: dict[str, pl.Expr] = field(default_factory=dict)
    largest: dict[str, pl.Expr] = field(default_factory=dict)
    refused: dict[str, Fault] = field(default_factory=dict)
    whole_table: bool = False
    names: dict[tuple[str, bytes], str] = field(default_factory=dict)
    by_rank: dict[str, str] = field(default_factory=dict)
    wholes: dict[str, pl.Expr] = field(default_factory=dict)
    of_queries: set[str] = field(default_factory=set)

    @property
    def top(self) -> int | None:
        """The largest label of a table with few, all of them whole numbers."""
        return None if self.labels is None else self.labels.top

    def over(self, x: pl.Expr) -> pl.Expr:
        """`x` inside each query, whose rows stand in rank order, one query after the other."""
        return x.over(self.key, mapping_strategy="explode")  # which needs no look-up of where each row goes

    def from_table(self, x: pl.Expr) -> pl.Expr:
        """A column made of the table's own columns, before rows are ranked."""
        return self._once("source", x, self.source)

    def before_drop(self, x: pl.Expr) -> pl.Expr:
        """A column that needs every row of the query."""
        return self._once("early", x, self.early)

    def column(self, x: pl.Expr, known_by: bytes = b"") -> pl.Expr:
        """A column of the rows that are added up; what calls Python has to be told apart by `known_by`."""
        roots = set(x.meta.root_names())
        layer = max((i + 1 for i, columns in enumerate(self.late) if roots & columns.keys()), default=0)
        if layer == len(self.late):
            self.late.append({})
        return self._once("late", x, self.late[layer], known_by)

    def of_query(self, column: pl.Expr) -> pl.Expr:
        """The column, which has one value on all rows of a query."""
        self.of_queries.add(column.meta.output_name())
        return column

    def has_one_value(self, x: pl.Expr) -> bool:
        """Whether `x` has one value for a query, as far as anybody can tell."""
        made_of = set(x.meta.root_names()) - self.of_queries - self.sums.keys() - self.largest.keys()
        columns = {name: column for layer in self.late for name, column in layer.items()}
        return is_by_row(x) is not False and all(
            name in columns and self.has_one_value(columns[name]) for name in made_of
        )

    def of_rank(self, x: pl.Expr, rank: pl.Expr) -> pl.Expr:
        """`x` as a column that can be looked up by the rank, if it depends on nothing else."""
        name = rank.meta.output_name()
        if x.meta.is_column() or x.meta.root_names() != [name] or not is_by_row(x):
            return x
        column = self.column(x)
        self.by_rank[column.meta.output_name()] = name
        return column

    def whole(self, x: pl.Expr) -> pl.Expr:
        """The sum of `x` over the query, a column of the rows, or of the grouped result alone once that is settled."""
        column = self.of_query(self.column(x.sum().over(self.key)))
        self.wholes[column.meta.output_name()] = x
        return column

    def settle(self) -> None:
        """Add up with the other sums what no row asks for."""
        rows = [*self.sums.values(), *self.largest.values(), *(x for columns in self.late for x in columns.values())]
        rows += [fault.rows for fault in self.refused.values()]
        asked = {name for x in rows for name in x.meta.root_names()}
        for name in self.wholes.keys() - asked:
            self.sums[name] = self.wholes[name]
            for columns in self.late:
                columns.pop(name, None)

    def sum(self, x: pl.Expr) -> pl.Expr:
        """The sum of `x` per query, a column of the grouped result."""
        return self._once("sum", x, self.sums)

    def max(self, x: pl.Expr) -> pl.Expr:
        """The largest `x` per query, a column of the grouped result."""
        return self._once("max", x, self.largest)

    def greater_before(
        self,
        order: pl.Expr,
        value: pl.Expr,
        bits: int,
        among: pl.Expr = pl.lit(True),  # noqa: B008
    ) -> pl.Expr:
        """How many rows of the query, `among` those given, with a greater `value` stand before each by `order`.

        Values are whole numbers of `bits` binary digits. Two of them differ first in one digit, where the greater one
        has a 1; so for each digit, count the ones before each zero among the values that agree so far.
        """
        counts = []
        for bit in range(bits):
            prefix, digit = value // 2 ** (bit + 1), (value // 2**bit) % 2
            ones = pl.when(among).then(digit).otherwise(0)
            ones_before = self.column(ones.cum_sum().over(*self.key, prefix, order_by=order))
            counts.append(pl.when(digit == 0).then(ones_before).otherwise(0))
        return pl.sum_horizontal(pl.lit(0), *counts).cast(pl.Float64)

    def refuse(self, bad: pl.Expr, message: str) -> None:
        """Fail with `message` where `bad` holds."""
        self.refused.setdefault(message, Fault(f"option {len(self.refused)}", "", bad, message))

    def looks_at_all(self, values: Iterable[pl.Expr]) -> bool:
        """Whether rows that add nothing are looked at, for the sake of these values or of what they are made of."""
        made_of = [*values, *self.sums.values(), *self.largest.values(), *chain(*(x.values() for x in self.late))]
        return not self.gains_only or any(self.early.keys() & set(x.meta.root_names()) for x in made_of)

    def with_columns(self, rows: pl.LazyFrame, last: int | None = None) -> pl.LazyFrame:
        """The rows with the columns that formulas asked for; if the `last` rank is said, by look-up where that is less."""
        looked_up = {} if last is None else self._looked_up(last)
        for columns in self.late:
            rows = rows.with_columns(**{name: looked_up.get(name, x) for name, x in columns.items()})
        return rows

    def _looked_up(self, last: int) -> dict[str, pl.Expr]:
        """The columns that depend on the rank alone, each from a table of the ranks."""
        ranks = pl.int_range(1, last + 1, eager=True).cast(pl.Float64)
        table = pl.DataFrame(dict.fromkeys(self.by_rank.values(), ranks))
        columns = {name: x for columns in self.late for name, x in columns.items() if name in self.by_rank}
        found = table.select(**columns)
        return {name: pl.lit(found[name]).gather(pl.col(self.by_rank[name]).cast(pl.UInt32) - 1) for name in columns}

    def _once(self, kind: str, x: pl.Expr, into: dict[str, pl.Expr], known_by: bytes = b"") -> pl.Expr:
        key = kind, known_by or x.meta.serialize()
        if key not in self.names:
            self.names[key] = f"#{len(self.names)}"
            into[self.names[key]] = x
        return pl.col(self.names[key])


def is_by_row(x: pl.Expr) -> bool | None:
    """Whether `x` is computed row by row; None where nobody can tell."""
    try:
        if x.meta.is_column() or not x.meta.is_row_separable():
            return x.meta.is_column()
        parts = [is_by_row(part) for part in x.meta.pop()]
        return None if None in parts and False not in parts else all(parts)
    except pl.exceptions.ColumnNotFoundError:  # a function of Python's, or a field of a struct
        return None
