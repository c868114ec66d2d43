"""The quotients of a formula: only where one of them is 0 / 0 does NaN stand for a query that has
nothing to measure.
"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

AGGREGATIONS = ("sum", "max", "min", "mean", "median", "first", "last")
"""What makes one number of the rows of a query."""


def undefined(value: pl.Expr) -> pl.Expr:
    """Whether a value is NaN though no quotient that it is made of is 0 / 0."""
    nothing = [(numerator == 0) & (divisor == 0) for numerator, divisor in quotients(value)]
    return value.is_nan() & ~pl.any_horizontal(pl.lit(False), *nothing)


def quotients(value: pl.Expr) -> Iterator[tuple[pl.Expr, pl.Expr]]:
    """Numerator and divisor of each quotient of a query's numbers.

    Those of single rows, inside of a sum, do not count.
    """
    parts = value.meta.pop()
    if len(parts) == 1 and any(value.meta.eq(getattr(parts[0], name)()) for name in AGGREGATIONS):
        return
    if len(parts) == 2:
        divisor, numerator = parts
        if value.meta.eq(numerator / divisor):
            yield numerator, divisor
    for part in parts:
        yield from quotients(part)
