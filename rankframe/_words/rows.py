"""What the words of a ranking are made of: the rows of one query in rank order, and few things to do with them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Literal, NamedTuple, TypeAlias

import polars as pl

__all__ = ["Answer", "Pairs", "Rows"]

Answer: TypeAlias = Literal["query", "rank", "document"]
"""What a total is: one number per query, the total down to each rank, or what each document adds to it."""


class Pairs(NamedTuple):
    """How many pairs of a query's documents there are whose labels differ, per query: all, tied, and in the wrong order."""

    unequal: pl.Expr
    tied: pl.Expr
    inverted: pl.Expr


class Rows(ABC):
    """The rows of one query in rank order, as expressions; documents that were not retrieved come last.

    Where formulas look at gains only, rows with label 0 are dropped before most columns are computed. `count`,
    `so_far_of_all` and the ends of tied documents are those of all rows.
    """

    #: Position from 1 on, null for a document that was not retrieved.
    rank: pl.Expr
    #: The label as it came, as a float.
    raw: pl.Expr
    #: The label, 0 for a document that nobody judged.
    label: pl.Expr
    answer: Answer = "query"

    @property
    @abstractmethod
    def place(self) -> pl.Expr:
        """The number of the row among the rows of its query that are left, from 1 on, as a float."""

    @property
    @abstractmethod
    def tied_from(self) -> pl.Expr:
        """The place among all rows of the first row with the same score, as a float."""

    @property
    @abstractmethod
    def tied_to(self) -> pl.Expr:
        """The place among all rows of the last row with the same score, as a float."""

    @property
    @abstractmethod
    def largest_label_of_table(self) -> pl.Expr:
        """The largest label of all queries, at least 0."""

    @abstractmethod
    def column(self, x: pl.Expr) -> pl.Expr:
        """An expression over the table's own columns, for the rows in rank order."""

    @abstractmethod
    def each(self, x: pl.Expr) -> pl.Expr:
        """`x` on every row, where `x` is one number for all."""

    def once(self, x: pl.Expr) -> pl.Expr:
        """`x`, computed once however often it is named."""
        return x

    @abstractmethod
    def along(self, x: pl.Expr) -> pl.Expr:
        """`x`, which looks up or down the rows and has as many, within each query."""

    @abstractmethod
    def next_to(self, x: pl.Expr, step: Literal[1, -1], end: float) -> pl.Expr:
        """`x` of the row above (1) or below (-1), and `end` where the query has no such row."""

    @abstractmethod
    def first_tied(self, x: pl.Expr) -> pl.Expr:
        """`x` of the first row with the same score."""

    @abstractmethod
    def last_tied(self, x: pl.Expr) -> pl.Expr:
        """`x` of the last row with the same score."""

    @abstractmethod
    def whole(self, x: pl.Expr) -> pl.Expr:
        """The sum of `x` over the query."""

    @abstractmethod
    def largest(self, x: pl.Expr) -> pl.Expr:
        """The largest `x` of the query."""

    @abstractmethod
    def total(self, x: pl.Expr, *, divisor: bool) -> pl.Expr:
        """The sum of `x` over the query as the answer that is asked for; a divisor is a sum for each document, too."""

    @abstractmethod
    def count(self, rows: pl.Expr) -> pl.Expr:
        """How many of all rows are among `rows`."""

    @abstractmethod
    def count_so_far(self, rows: pl.Expr, *, of_all: bool = False) -> pl.Expr:
        """How many rows down to each row are among `rows`; `of_all` rows, or of those that are left."""

    @abstractmethod
    def pairs(self, label: pl.Expr, among: pl.Expr) -> Pairs:
        """The pairs of rows, `among` those given, with different labels."""

    @abstractmethod
    def refuse(self, bad: pl.Expr, message: str) -> None:
        """Fail with `message` where `bad` holds for a row."""

    def so_far(self, x: pl.Expr) -> pl.Expr:
        """The sum of `x`, which has no null, down to each row."""
        return self.along(x.cum_sum())

    def falling(self, label: pl.Expr) -> pl.Expr:
        """The labels of each query from the largest down."""
        return self.along(label.sort(descending=True))

    def exponential(self, label: pl.Expr) -> pl.Expr:
        """2^label - 1; labels from 900 on, which `refuse` reports, overflow no sum."""
        return 2.0 ** label.clip(upper_bound=900) - 1
