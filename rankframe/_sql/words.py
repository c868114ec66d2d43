"""The words of formulas as windows over the rows of a query, for columns and sums in SQL."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

import polars as pl

from .._words.rows import PairCounts, Rows, name_of
from .._words.sorted_rows import POSITION, SortedRows
from ..errors import RankframeError

Dialect: TypeAlias = Literal[
    "bigquery",
    "clickhouse",
    "databricks",
    "duckdb",
    "mysql",
    "oracle",
    "postgres",
    "redshift",
    "snowflake",
    "spark",
    "sqlite",
    "trino",
    "tsql",
]

TIED = ["#query", "#score"]
"""The key of a group of tied documents."""


GIVEN = pl.col("#given")
"""The label of the table, also of a document that a policy leaves out."""

NO_SQL: dict[str, str] = {
    "subtopic": "subtopics",
    "subtopic_weight": "subtopics",
    "cost": "costs of documents",
    "category": "categories",
    "group": "groups",
    "features": "features",
    "base": "another ranking",
    "interactions": "past interactions",
    "items": "a catalog",
    "stratum": "strata of judgments",
    "inclusion": "chances of being judged",
    "propensity": "clicks",
    "estimate": "clicks",
    "clip": "clicks",
    "memory_limit": "how a frame runs",
    "grouped": "how a frame runs",
}
"""The options of `on` that have no SQL, with what they are about."""


class NoSql(RankframeError):
    """Raised where a formula, or a part of it, has no SQL; the reason is a clause."""


class WindowRows(SortedRows):
    """The rows of all queries, each word a window `over` the query, in the order of positions."""

    def gathered(self, values: pl.Series, places: pl.Expr, known_by: bytes) -> pl.Expr:
        raise NoSql("it reads a second table")

    def mapped(self, function: Callable[[pl.DataFrame], pl.Series], **columns: pl.Expr) -> pl.Expr:
        raise NoSql(f"{name_of(function)} is computed in Python")

    def pairs(self, label: pl.Expr, among: pl.Expr) -> PairCounts:
        raise NoSql("it compares all pairs of documents")

    def column(self, x: pl.Expr, known_by: bytes = b"") -> pl.Expr:
        if known_by:
            raise NoSql("it reads a second table")
        return super().column(x)

    def along(self, x: pl.Expr) -> pl.Expr:
        return self.needed.column(x.over(self.needed.key, order_by=POSITION))

    def next_to(self, x: pl.Expr, step: Literal[1, -1], end: float) -> pl.Expr:
        return self.along(self.once(x).shift(step, fill_value=end))

    def first_tied(self, x: pl.Expr) -> pl.Expr:
        return self.needed.column(x.first().over(TIED, order_by=POSITION))

    def last_tied(self, x: pl.Expr) -> pl.Expr:
        return self.needed.column(x.last().over(TIED, order_by=POSITION))

    @property
    def has_labels(self) -> pl.Expr:
        return self.whole(GIVEN.is_not_null().cast(pl.Float64)) > 0

    @property
    def tied_from(self) -> pl.Expr:
        return self.first_tied(POSITION)

    @property
    def tied_to(self) -> pl.Expr:
        return self.last_tied(POSITION)

    @property
    def place(self) -> pl.Expr:
        return POSITION

    def product_before(self, x: pl.Expr) -> pl.Expr:
        return Rows.product_before(self, x)

    def falling(self, label: pl.Expr) -> pl.Expr:
        return Rows.falling(self, label)

    def whole(self, x: pl.Expr) -> pl.Expr:
        return self.needed.of_query(x, "sum")

    def count(self, rows: pl.Expr) -> pl.Expr:
        return self.whole(rows.cast(pl.Float64))

    def count_so_far(self, rows: pl.Expr, *, of_all: bool = False) -> pl.Expr:
        return self.along(rows.cast(pl.Float64).cum_sum())
