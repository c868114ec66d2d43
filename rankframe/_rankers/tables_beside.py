"""Tables beside the ranker's own, of pandas or Polars."""

from __future__ import annotations

from contextlib import suppress

import polars as pl

from ..errors import InvalidData


def in_polars(given: object) -> object:
    """Convert a pandas frame or Series to Polars, without columns that cannot be; return anything else unchanged."""
    if type(given).__module__.partition(".")[0] != "pandas":
        return given
    import pandas as pd  # imported late, to keep other calls fast

    from .pandas_columns import cross, cross_lists, text_of

    if isinstance(given, pd.Series):
        return cross(given, "items")
    if not isinstance(given, pd.DataFrame):
        return given
    named = [name for name in given.index.names if name is not None and name not in given.columns]
    frame = given.reset_index(named) if named else given
    columns = []
    for place, label in enumerate(frame.columns):
        name, column = text_of(label), frame.iloc[:, place]
        with suppress(InvalidData):
            lists = cross_lists(column, name)
            columns.append((cross(column, name) if lists is None else lists).alias(name))
    return pl.DataFrame(columns)
