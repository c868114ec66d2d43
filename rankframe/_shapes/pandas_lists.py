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
    names = [text_of(label) for label in frame.columns]
    series: dict[str, pl.Series] = {}
    for place, name in enumerate(names):
        column = frame.iloc[:, place]
        if name in roles or name in columns:
            refuse_same_name(name, names.count(name))
        if name in roles:
            series[name] = _lists(column, name, roles[name])
        elif name in columns:
            series[name] = cross(column, name)
        else:
            series[name] = pl.Series(name, [None] * len(frame), pl.Null)
    return pl.DataFrame([column.alias(name) for name, column in series.items()])


def _lists(column: pd.Series[Any], name: str, role: str) -> pl.Series:
    """A column of lists, sets, arrays or dictionaries."""
    if column.dtype.kind != "O":
        return cross(column, name)
    number = NUMBER.get(role, "value")
    cells = [_items(cell, number) for cell in column.to_list()]
    if role != "relevant":
        _refuse_sets(cells, name)
    elements = [x for cell in cells if isinstance(cell, (list, tuple)) for x in cell]
    if any(isinstance(x, Mapping) for x in elements):
        return _structs(cells, elements, name)
    column = pd.Series(cells, dtype=object)
    lists = cross_lists(column, name)
    return cross(column, name) if lists is None else lists


def _refuse_sets(cells: Sequence[object], name: str) -> None:
    """Refuse sets of retrieved documents, or of their scores."""
    for place, cell in enumerate(cells):
        if isinstance(cell, (set, frozenset)):
            raise InvalidData(
                f"column {name!r} holds a set at df.iloc[{place}], which has no order; give a list"
            )


def _items(cell: object, number: str) -> object:
    """Convert a dictionary to a list of dictionaries, and an array to a list; return other cells
    unchanged.
    """
    if isinstance(cell, Mapping):
        return [{"id": doc, number: x} for doc, x in cell.items()]
    return cell.tolist() if isinstance(cell, np.ndarray) else cell


def _structs(cells: Sequence[Any], elements: Sequence[Any], name: str) -> pl.Series:
    """Lists of dictionaries as lists of structs."""
    is_list = [isinstance(cell, (list, tuple)) for cell in cells]
    others = [cell for cell, of_cell in zip(cells, is_list, strict=True) if not of_cell]
    fits = all(isinstance(x, Mapping) for x in elements)
    if not fits or not all(cell is None or pd.isna(cell) for cell in others):
        raise InvalidData(
            f"column {name!r} holds lists of dictionaries and other things; make dictionaries of "
            "all"
        )
    fields = dict.fromkeys(str(field) for x in elements for field in x)
    columns = []
    for field in fields:
        values = [x.get(field) for x in elements]
        columns.append(cross(pd.Series(values, dtype=object), field))
    lengths = [len(cell) if of_cell else None for cell, of_cell in zip(cells, is_list, strict=True)]
    structs = pl.DataFrame(columns).to_struct(name)
    return in_lists(structs, lengths)
