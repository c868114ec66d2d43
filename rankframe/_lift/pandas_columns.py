"""Convert columns of pandas to Polars."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from uuid import UUID

import numpy as np
import pandas as pd
import polars as pl
from pandas.api.types import infer_dtype

from .._support.polars_versions import exploded
from ..errors import InvalidData, shown


def text_of(label: object) -> str:
    """The text of a column's label, in characters that Polars holds."""
    return str(label).encode(errors="backslashreplace").decode()


def cross(column: pd.Series[Any], name: str) -> pl.Series:
    """Convert a column to Polars, copied only where needed; missing values become null."""
    with _refusing_half_characters(column, name):
        return _cross(column, name)


@contextmanager
def _refusing_half_characters(column: pd.Series[Any], name: str) -> Iterator[None]:
    """Refuse a row with half of a character (a lone surrogate), which UTF-8 cannot encode."""
    try:
        yield
    except UnicodeEncodeError:
        texts = ([value] if isinstance(value, str) else value for value in column)
        lists = ((i, values) for i, values in enumerate(texts) if _is_list(values))
        row = next(i for i, values in lists if any(text_of(x) != str(x) for x in values))
        raise InvalidData(
            f"column {name!r} holds {column.iloc[row]!r} at df.iloc[{row}], with half of a "
            "character (a lone surrogate), which "
            "UTF-8 cannot write; spell it out, as text.encode('utf-8', "
            "'backslashreplace').decode('utf-8') does"
        ) from None


def _is_list(value: object) -> bool:
    return isinstance(value, (list, tuple, set, frozenset, np.ndarray))


def _cross(column: pd.Series[Any], name: str) -> pl.Series:
    dtype: Any = column.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        codes = pl.Series(column.cat.codes.to_numpy()).cast(
            pl.UInt32, strict=False
        )  # -1, for missing, has no UInt32
        return _cross(dtype.categories.to_series(), name).gather(codes)
    if isinstance(dtype, pd.SparseDtype):
        return _cross(pd.Series(np.asarray(column)), name)
    if isinstance(dtype, pd.ArrowDtype) or getattr(dtype, "storage", "").startswith("pyarrow"):
        values = pl.Series(name, column.array.__arrow_array__())
        return values.fill_nan(None) if values.dtype.is_float() else values
    if isinstance(dtype, pd.StringDtype) or dtype.kind == "O":
        return _cross_objects(column.to_numpy(dtype=object), name)
    if isinstance(
        column.array, (pd.arrays.IntegerArray, pd.arrays.FloatingArray, pd.arrays.BooleanArray)
    ):
        values = pl.Series(name, column.to_numpy(dtype.numpy_dtype, na_value=0), nan_to_null=True)
        missing = column.isna().to_numpy()
        return values.set(pl.Series(missing), None) if missing.any() else values
    if isinstance(dtype, pd.DatetimeTZDtype):
        return _cross(column.dt.tz_convert(None), name)
    if dtype.kind in "mM":
        return pl.Series(
            name,
            column.dt.as_unit("ms" if dtype.str.endswith("[s]") else dtype.str[4:-1]).to_numpy(),
        )
    if dtype.kind in "biuf" and dtype.itemsize <= 8:
        return pl.Series(name, column.to_numpy(), nan_to_null=True)
    advice = (
        f"make real numbers of it, as numpy.real(df[{name!r}]) does" if dtype.kind == "c" else None
    )
    advice = advice or f"cast it, as {_cast(name)} does"
    raise InvalidData(
        f"column {name!r} holds {dtype}, a type that rankframe does not read; {advice}"
    )


def cross_lists(column: pd.Series[Any], name: str) -> pl.Series | None:
    """Convert a column of lists, tuples, sets or arrays; None if it holds anything else."""
    values = [] if column.dtype.kind != "O" else column.to_list()
    there = [*map(_is_list, values)]
    if not any(there) or not column[[not is_list for is_list in there]].isna().all():
        return None
    lists = [list(value) if is_list else None for value, is_list in zip(values, there, strict=True)]
    elements = pd.Series([x for each in lists for x in each or ()], dtype=object)
    with _refusing_half_characters(column, name):
        try:
            return in_lists(
                _cross(elements, name), [None if each is None else len(each) for each in lists]
            )
        except InvalidData:
            raise InvalidData(
                f"column {name!r} holds lists of several types; make them all text"
            ) from None


def in_lists(elements: pl.Series, lengths: Sequence[int | None]) -> pl.Series:
    """The elements cut into lists of these lengths; ``None`` for a list that is missing."""
    rows = pl.DataFrame({"length": pl.Series(lengths, dtype=pl.Int64)}).with_row_index("row")
    of_rows = rows.select(
        exploded(pl.col("row").repeat_by(pl.col("length").fill_null(0)))
    ).drop_nulls()
    lists = (
        of_rows.with_columns(elements.alias("lists"))
        .group_by("row", maintain_order=True)
        .agg("lists")
    )
    joined = rows.join(lists, on="row", how="left", maintain_order="left")
    empty = pl.lit([], pl.List(elements.dtype))
    filled = pl.when(pl.col("length") == 0).then(empty).otherwise("lists").alias(elements.name)
    return joined.select(filled).to_series()


def _cross_objects(values: np.ndarray[Any, Any], name: str) -> pl.Series:
    """Convert Python objects of one kind, usually texts."""
    try:
        texts = pl.Series(name, values, dtype=pl.String)
        return texts if texts.null_count() < len(texts) else texts.cast(pl.Null)
    except (TypeError, pl.exceptions.ComputeError):
        missing = pd.isna(values)
    there, values = values[~missing], values.copy()
    values[missing] = None
    kind = infer_dtype(there)
    if kind == "empty":
        return pl.Series(name, [None] * len(values), dtype=pl.Null)
    if kind == "string":
        return pl.Series(name, values.tolist(), dtype=pl.String)
    if kind in ("datetime", "datetime64", "timedelta", "timedelta64"):
        return _cross(pd.Series(values).infer_objects(), name)
    if all(isinstance(value, UUID) for value in there):  # sorted as text
        return pl.Series(name, [None if value is None else str(value) for value in values])
    if kind not in (
        "integer",
        "floating",
        "mixed-integer-float",
        "boolean",
        "decimal",
        "date",
        "bytes",
    ):
        first = {type(value).__name__: value for value in there[::-1]}
        kinds = " and ".join(f"{kind} ({shown(first[kind])})" for kind in sorted(first))
        numbers = f"df.assign(**{{{name!r}: pd.to_numeric(df[{name!r}], errors='coerce')}})"
        raise InvalidData(
            f"column {name!r} holds objects of type {kinds}; make text of all, as "
            f"{_cast(name)} does, or numbers, and of the "
            f"rest missing values, as {numbers} does"
        )
    return pl.Series(
        name, values.tolist(), dtype=pl.Float64 if kind == "mixed-integer-float" else None
    )


def _cast(name: str) -> str:
    return f"df.astype({{{name!r}: str}})"
