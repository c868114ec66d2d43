"""Joins in which null is a key as any other, and which keep the order of the rows on the left."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import polars as pl

Rows = TypeVar("Rows", pl.DataFrame, pl.LazyFrame)


def left_joined(rows: Rows, others: Rows, on: Sequence[str]) -> Rows:
    """The rows with the columns of the row of `others` that has their key; nulls where none has."""
    return rows.join(others, on=on, how="left", nulls_equal=True, maintain_order="left")


def rows_with_keys(rows: pl.DataFrame, keys: pl.DataFrame) -> pl.DataFrame:
    """The rows whose key is a row of `keys`."""
    on = keys.columns
    return rows.join(keys, on=on, how="semi", nulls_equal=True, maintain_order="left")
