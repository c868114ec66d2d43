"""The rows of one query in rank order, and the operations on them that `Ranking` is built from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Literal, NamedTuple, Protocol, TypeAlias

import polars as pl

Cut: TypeAlias = int | pl.Expr | None
"""A rank down to which a sum goes; None for all."""

Factor: TypeAlias = pl.Expr | None

Answer: TypeAlias = Literal["query", "rank", "document"]
"""The form of a total: one number per query, the running total at each rank, or the term of each
document."""


def zero_unless(condition: pl.Expr, x: pl.Expr | float) -> pl.Expr:
    """`x` where the condition holds, 0.0 elsewhere."""
    return pl.when(condition).then(x).otherwise(0.0)


def quotient(x: pl.Expr, n: pl.Expr) -> pl.Expr:
    """`x` / `n`, null where `n` is not above 0."""
    return pl.when(n > 0).then(x / n)


class PairCounts(NamedTuple):
    """The number of pairs of a query's documents with different labels.

    They are all, tied ones and those in the wrong order.
    """

    unequal: pl.Expr
    tied: pl.Expr
    inverted: pl.Expr


class Rows(Protocol):
    """The rows of one query in rank order, as expressions.

    Documents that were not retrieved come last.

    If formulas use gains only, rows with label 0 are dropped before most columns are computed.
    `count`, `count_so_far` with `of_all`, and the ends of groups of tied documents are those of all
    rows.
    """

    #: Position from 1 on, null for a document that was not retrieved.
    rank: pl.Expr
    #: The label of the table, as a float.
    raw: pl.Expr
    #: The label, 0 for a document that nobody judged.
    label: pl.Expr
    answer: Answer = "query"

    #: Whether a document of the query has a label, be it negative; without one, nobody judged the
    #: query.
    @property
    def has_labels(self) -> pl.Expr: ...

    #: The number of the row among the remaining rows of its query, from 1 on, as a float.
    @property
    def place(self) -> pl.Expr: ...

    #: The place among all rows of the first row with the same score, as a float.
    @property
    def tied_from(self) -> pl.Expr: ...

    #: The place among all rows of the last row with the same score, as a float.
    @property
    def tied_to(self) -> pl.Expr: ...

    #: The largest label of all queries, at least 0.
    @property
    def largest_label_of_table(self) -> pl.Expr: ...

    #: `x`, an expression over the table's columns, on rows in rank order; `known_by` identifies
    #: one that calls Python.
    def column(self, x: pl.Expr, known_by: bytes = b"") -> pl.Expr: ...

    #: The value at each row's place, from 0 on; null for null. `known_by` identifies the values.
    def gathered(self, values: pl.Series, places: pl.Expr, known_by: bytes) -> pl.Expr: ...

    #: The floats that a function gives for the rows of whole queries: `columns`, and `query`, a
    #: number for each query.
    def mapped(
        self, function: Callable[[pl.DataFrame], pl.Series], **columns: pl.Expr
    ) -> pl.Expr: ...

    #: `x` on every row, where `x` is one number for all.
    def each(self, x: pl.Expr) -> pl.Expr: ...

    def once(self, x: pl.Expr) -> pl.Expr:
        """`x`, computed once even if it is used several times."""
        return x

    #: An expression `x` that looks up or down the rows, applied within each query.
    def along(self, x: pl.Expr) -> pl.Expr: ...

    #: `x` of the row above (1) or below (-1), and `end` where the query has no such row.
    def next_to(self, x: pl.Expr, step: Literal[1, -1], end: float) -> pl.Expr: ...

    #: `x` of the first row with the same score.
    def first_tied(self, x: pl.Expr) -> pl.Expr: ...

    #: `x` of the last row with the same score.
    def last_tied(self, x: pl.Expr) -> pl.Expr: ...

    #: The sum of `x` over the query.
    def whole(self, x: pl.Expr) -> pl.Expr: ...

    #: The largest `x` of the query.
    def largest(self, x: pl.Expr) -> pl.Expr: ...

    #: The sum of `x`, which is 0 below rank `k`, in the form of the answer; a divisor is always a
    #: sum per query.
    def total(self, x: pl.Expr, k: Cut, *, divisor: bool) -> pl.Expr: ...

    #: The number of all rows for which `rows` is true.
    def count(self, rows: pl.Expr) -> pl.Expr: ...

    #: The number of rows down to each row for which `rows` is true, `of_all` rows or of the
    #: remaining ones.
    def count_so_far(self, rows: pl.Expr, *, of_all: bool = False) -> pl.Expr: ...

    #: The pairs of rows with different labels, for rows where `among` is true.
    def pairs(self, label: pl.Expr, among: pl.Expr) -> PairCounts: ...

    #: Fail with `message` where `bad` holds for a row; it names the label found, if the fault is
    #: one `of_label`.
    def refuse(self, bad: pl.Expr, message: str, *, of_label: bool = True) -> None: ...

    #: Fail with `message` where `bad`, which is made of sums, holds for a query.
    def refuse_value(self, bad: pl.Expr, message: str) -> None: ...
    def within(self, x: pl.Expr, query: Sequence[str]) -> pl.Expr:
        """`x`, over the table's columns, computed within each query if it aggregates."""
        return x

    def so_far(self, x: pl.Expr) -> pl.Expr:
        """The sum of `x`, which has no null, down to each row."""
        return self.along(x.cum_sum())

    def product_before(self, x: pl.Expr) -> pl.Expr:
        """The product of `x` over the rows above each row; 1 at the top."""
        return self.next_to(self.along(x.cum_prod()), 1, 1.0)

    def falling(self, label: pl.Expr) -> pl.Expr:
        """The labels of each query from the largest down."""
        return self.along(label.sort(descending=True))

    def exponential(self, label: pl.Expr) -> pl.Expr:
        """2^label - 1, cut off at label 900 so that no sum overflows.

        `refuse` reports labels from there on.
        """
        return 2.0 ** label.clip(upper_bound=900) - 1


def on_rows(function: Callable[[pl.DataFrame], pl.Series], rows: pl.Series) -> pl.Series:
    """The floats that a function gives for rows, the fields of a struct."""
    return function(rows.struct.unnest()).cast(pl.Float64)


def name_of(function: Callable[[pl.DataFrame], pl.Series]) -> str:
    """The key of a function of rows: its name, and the options that are set."""
    if not isinstance(function, partial):
        return function.__name__
    options = function.keywords.items()
    given = {name: x for name, x in options if isinstance(x, (str, float, int))}
    return f"{function.func.__name__} {given}"
