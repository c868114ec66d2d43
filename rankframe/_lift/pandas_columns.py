"""Convert columns of pandas to Polars."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import Any
from uuid import UUID

import numpy as np
import pandas as pd
import polars as pl
from pandas.api.types import infer_dtype

from .._support.polars_versions import exploded
from ..errors import InvalidData, shown

MASKED = (pd.arrays.IntegerArray, pd.arrays.FloatingArray, pd.arrays.BooleanArray)
"""Arrays of numbers with a mask of those that are missing."""

TIMES = ("datetime", "datetime64", "timedelta", "timedelta64")
OF_ONE_TYPE = ("integer", "floating", "boolean", "decimal", "date", "bytes")
"""Kinds of objects, as pandas names them, that Polars converts."""


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
        row = next(i for i, value in enumerate(column) if _has_half_character(value))
        value = column.iloc[row]
        advice = "spell it out, as text.encode('utf-8', 'backslashreplace').decode('utf-8') does"
        raise InvalidData(
            f"column {name!r} holds {value!r} at df.iloc[{row}], with half of a "
            f"character (a lone surrogate), which UTF-8 cannot write; {advice}"
        ) from None


def _has_half_character(value: Any) -> bool:
    """Whether a text, or one in a list, has a character that UTF-8 cannot encode."""
    texts = [value] if isinstance(value, str) else value
    return _is_list(texts) and any(text_of(text) != str(text) for text in texts)


def _is_list(value: object) -> bool:
    return isinstance(value, (list, tuple, set, frozenset, np.ndarray))


def _cross(column: pd.Series[Any], name: str) -> pl.Series:
    dtype: Any = column.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        codes = pl.Series(column.cat.codes.to_numpy())
        places = codes.cast(pl.UInt32, strict=False)  # -1, for missing, has no UInt32
        return _cross(dtype.categories.to_series(), name).gather(places)
    if isinstance(dtype, pd.SparseDtype):
        return _cross(pd.Series(np.asarray(column)), name)
    if isinstance(dtype, pd.ArrowDtype) or getattr(dtype, "storage", "").startswith("pyarrow"):
        values = pl.Series(name, column.array.__arrow_array__())
        return values.fill_nan(None) if values.dtype.is_float() else values
    if isinstance(dtype, pd.StringDtype) or dtype.kind == "O":
        return _cross_objects(column.to_numpy(dtype=object), name)
    if isinstance(column.array, MASKED):
        numbers = column.to_numpy(dtype.numpy_dtype, na_value=0)
        values = pl.Series(name, numbers, nan_to_null=True)
        missing = column.isna().to_numpy()
        return values.set(pl.Series(missing), None) if missing.any() else values
    if isinstance(dtype, pd.DatetimeTZDtype):
        return _cross(column.dt.tz_convert(None), name)
    if dtype.kind in "mM":
        unit = "ms" if dtype.str.endswith("[s]") else dtype.str[4:-1]
        return pl.Series(name, column.dt.as_unit(unit).to_numpy())
    if dtype.kind in "biuf" and dtype.itemsize <= 8:
        return pl.Series(name, column.to_numpy(), nan_to_null=True)
    advice = f"cast it, as {_cast(name)} does"
    if dtype.kind == "c":
        advice = f"make real numbers of it, as numpy.real(df[{name!r}]) does"
    says = f"column {name!r} holds {dtype}, a type that rankframe does not read"
    raise InvalidData(f"{says}; {advice}")


def cross_lists(column: pd.Series[Any], name: str) -> pl.Series | None:
    """Convert a column of lists, tuples, sets or arrays; None if it holds anything else."""
    values = [] if column.dtype.kind != "O" else column.to_list()
    there = [*map(_is_list, values)]
    if not any(there):
        return None
    others = column[[not is_list for is_list in there]]
    if not others.isna().all():
        return None
    lists = [list(value) for value, is_list in zip(values, there, strict=True) if is_list]
    lengths = [
        len(value) if is_list else None for value, is_list in zip(values, there, strict=True)
    ]
    elements = pd.Series([*chain.from_iterable(lists)], dtype=object)
    with _refusing_half_characters(column, name):
        try:
            return in_lists(_cross(elements, name), lengths)
        except InvalidData:
            says = f"column {name!r} holds lists of several types; make them all text"
            raise InvalidData(says) from None


def in_lists(elements: pl.Series, lengths: Sequence[int | None]) -> pl.Series:
    """The elements cut into lists of these lengths; ``None`` for a list that is missing."""
    rows = pl.DataFrame({"length": pl.Series(lengths, dtype=pl.Int64)}).with_row_index("row")
    length = pl.col("length")
    repeated = pl.col("row").repeat_by(length.fill_null(0))
    of_rows = rows.select(exploded(repeated)).drop_nulls()
    elements_of_rows = of_rows.with_columns(elements.alias("lists"))
    lists = elements_of_rows.group_by("row", maintain_order=True).agg("lists")
    joined = rows.join(lists, on="row", how="left", maintain_order="left")
    empty = pl.lit([], pl.List(elements.dtype))
    filled = pl.when(length == 0).then(empty).otherwise("lists")
    return joined.select(filled.alias(elements.name)).to_series()


def _cross_objects(values: np.ndarray[Any, Any], name: str) -> pl.Series:
    """Convert Python objects of one kind, usually texts."""
    try:
        texts = pl.Series(name, values, dtype=pl.String)
        return texts if texts.null_count() < len(texts) else texts.cast(pl.Null)
    except (TypeError, pl.exceptions.ComputeError):
        missing = pd.isna(values)
    there = values[~missing]
    values = values.copy()
    values[missing] = None
    kind = infer_dtype(there)
    if kind == "empty":
        return pl.Series(name, [None] * len(values), dtype=pl.Null)
    if kind == "string":
        return pl.Series(name, values.tolist(), dtype=pl.String)
    if kind in TIMES:
        return _cross(pd.Series(values).infer_objects(), name)
    if all(isinstance(value, UUID) for value in there):  # sorted as text
        ids = [None if value is None else str(value) for value in values]
        return pl.Series(name, ids)
    if kind == "mixed-integer-float":
        return pl.Series(name, values.tolist(), dtype=pl.Float64)
    if kind in OF_ONE_TYPE:
        return pl.Series(name, values.tolist())
    first = {type(value).__name__: value for value in there[::-1]}
    kinds = " and ".join(f"{kind} ({shown(first[kind])})" for kind in sorted(first))
    numbers = f"df.assign(**{{{name!r}: pd.to_numeric(df[{name!r}], errors='coerce')}})"
    raise InvalidData(
        f"column {name!r} holds objects of type {kinds}; make text of all, as "
        f"{_cast(name)} does, or numbers, and of the rest missing values, as {numbers} does"
    )


def _cast(name: str) -> str:
    return f"df.astype({{{name!r}: str}})"
