"""Columns of whole queries, from which the words of two rankings and of subtopics are made."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import polars as pl

from .sorted_rows import Needed


class WithinQueries:
    """Words over rows of which each query has several."""

    needed: Needed

    def _within(
        self, x: pl.Expr, *by: str | pl.Expr, order_by: pl.Expr | Sequence[pl.Expr] | None = None
    ) -> pl.Expr:
        """`x`, computed once for the rows of each query, or of those that `by` groups there."""
        return self.needed.column(x.over(*self.needed.key, *by, order_by=order_by))

    def _mapped(
        self, function: Callable[[pl.Series], pl.Series], rows: pl.Expr, key: str
    ) -> pl.Expr:
        """The floats that a function gives for the rows of all queries; `key` identifies it."""
        values = rows.map_batches(function, return_dtype=pl.Float64, is_elementwise=False)
        return self.needed.column(values, key.encode() + rows.meta.serialize())
