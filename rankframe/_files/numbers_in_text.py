"""Parse numbers from text exactly, and describe text that is not a number."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from .formats import DType


def numbers(text: Mapping[str, pl.Expr], numeric: Mapping[str, DType]) -> tuple[dict[str, pl.Expr], list[pl.Expr]]:
    """The columns with numbers parsed from text, and for each numeric column the fault of its text, or null."""
    values = {column: number(raw, numeric[column]) if column in numeric else raw for column, raw in text.items()}
    if "label" in values and numeric["label"].is_float():
        values["label"] = pl.when(values["label"].is_finite()).then(values["label"])
    return values, [
        pl.format(
            f"{column} '{{}}' is not a {{}}",
            pl.when(values[column].is_null()).then(text[column]),
            kind_of(text[column], numeric[column], column),
        )
        for column in text
        if column in numeric
    ]


def kind_of(text: pl.Expr, dtype: DType, column: str) -> pl.Expr:
    """The expected form of a text that is not a number of the type."""
    if not dtype.is_integer():
        infinite = text.cast(pl.Float64, strict=False).is_infinite()
        return pl.when(infinite).then(pl.lit("finite number")).otherwise(pl.lit("number"))
    if column != "label":
        return pl.lit("whole number")
    value = text.cast(pl.Float64, strict=False)
    return (
        pl.when(value.is_finite() & (value == value.floor()))
        .then(pl.lit(f"number that {dtype} holds exactly (label_dtype=pl.Float64 rounds it)"))
        .otherwise(pl.lit("whole number (label_dtype=pl.Float64 keeps fractions)"))
    )


def number(text: pl.Expr, dtype: DType) -> pl.Expr:
    """The number that a text represents; null if it is not a number, NaN, or beyond the type's range."""
    if dtype == pl.String:
        return text
    value = text.cast(pl.Float64, strict=False).fill_nan(None)
    if dtype.is_float():
        return value.cast(dtype)
    exact = value.abs() < 2**53  # larger floats stand for several whole numbers
    whole = pl.when(exact & (value == value.floor())).then(value).cast(dtype, strict=False)  # such as 2.0 or 2e3
    return pl.coalesce(text.cast(dtype, strict=False), whole)
