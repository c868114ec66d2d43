"""Convert pandas columns of lists, whose cells are Python objects, to Polars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import polars as pl

from .._lift.pandas_columns import cross, cross_lists, in_lists, text_of
from .._table.table import refuse_same_name
from ..errors import InvalidData

NUMBER = {"retrieved": "score", "relevant": "label"}
"""The struct field for the values of a dictionary."""


def crossed(frame: pd.DataFrame, columns: Sequence[str], roles: Mapping[str, str]) -> pl.DataFrame:
    """Convert the frame to Polars: `columns` as they are, lists by their `roles`; all other columns
    become null.
    """
    found: dict[str, pl.Series] = {}
    for place, label in enumerate(frame.columns):
        name, column = text_of(label), frame.iloc[:, place]
        if name in roles or name in columns:
            refuse_same_name(name, [*map(text_of, frame.columns)].count(name))
        if name in roles:
            found[name] = _lists(column, name, roles[name])
        else:
            found[name] = (
                cross(column, name)
                if name in columns
                else pl.Series(name, [None] * len(frame), pl.Null)
            )
    return pl.DataFrame([x.alias(name) for name, x in found.items()])


def _lists(column: pd.Series[Any], name: str, role: str) -> pl.Series:
    """A column of lists, sets, arrays or dictionaries."""
    if column.dtype.kind != "O":
        return cross(column, name)
    cells = [_items(cell, NUMBER.get(role, "value")) for cell in column.to_list()]
    unordered = next(
        (i for i, cell in enumerate(cells) if isinstance(cell, (set, frozenset))), None
    )
    if unordered is not None and role != "relevant":
        raise InvalidData(
            f"column {name!r} holds a set at df.iloc[{unordered}], which has no order; give a list"
        )
    elements = [x for cell in cells if isinstance(cell, (list, tuple)) for x in cell]
    if any(isinstance(x, Mapping) for x in elements):
        return _structs(cells, elements, name)
    column = pd.Series(cells, dtype=object)
    lists = cross_lists(column, name)
    return cross(column, name) if lists is None else lists


def _items(cell: object, number: str) -> object:
    """Convert a dictionary to a list of dictionaries, and an array to a list; return other cells
    unchanged.
    """
    if isinstance(cell, Mapping):
        return [{"id": doc, number: x} for doc, x in cell.items()]
    return cell.tolist() if isinstance(cell, np.ndarray) else cell


def _structs(cells: Sequence[Any], elements: Sequence[Any], name: str) -> pl.Series:
    """Lists of dictionaries as lists of structs."""
    other = next((x for x in elements if not isinstance(x, Mapping)), None)
    if other is not None or not all(
        cell is None or isinstance(cell, (list, tuple)) or pd.isna(cell) for cell in cells
    ):
        raise InvalidData(
            f"column {name!r} holds lists of dictionaries and other things; make dictionaries "
            "of all"
        )
    fields = dict.fromkeys(str(field) for x in elements for field in x)
    columns = [
        cross(pd.Series([x.get(field) for x in elements], dtype=object), field) for field in fields
    ]
    lengths = [len(cell) if isinstance(cell, (list, tuple)) else None for cell in cells]
    return in_lists(pl.DataFrame(columns).to_struct(name), lengths)
