"""Frames that callers give: side tables of pandas or Polars, and tables of several runs."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import polars as pl

from .._table.roles import is_text
from .._table.runs import RUN_OF_TABLE, Runs
from .._table.setup import Setup
from ..errors import Code, InvalidData, InvalidOption


def _kinds() -> dict[type, str]:
    """The types of tables that can be concatenated; pandas' only if it is imported."""
    kinds: dict[type, str] = {pl.DataFrame: "Polars DataFrame", pl.LazyFrame: "LazyFrame"}
    return kinds | (
        {sys.modules["pandas"].DataFrame: "pandas DataFrame"} if sys.modules.get("pandas") else {}
    )


def stacked(own: object, setup: Setup, runs: Runs) -> Any:
    """Concatenate the runs' tables, one of which is the ranker's own: their common columns, and the
    run.
    """
    kinds = _kinds()
    kind = next((kind for kind in kinds if isinstance(own, kind)), None)
    for name, table in runs.tables.items():
        if kind is None or not isinstance(table, kind):
            kind_of_rank, given = (kinds.get(type(x), type(x).__name__) for x in (own, table))
            says = (
                f"each of runs is a table of Polars or pandas, like that of .rank, a {kind_of_rank}"
            )
            raise InvalidOption(f"{says}; {name!r} is a {given}")
    if not any(table is own for table in runs.tables.values()):
        says = (
            f"runs are the tables of {', '.join(map(repr, runs.tables)) or 'nothing'}, and the "
            "table of .rank is "
        )
        example = Code(
            "df_a.rank.compare('ndcg@10', runs={'a': df_a, 'b': df_b})", phrase=", as {}"
        )
        raise InvalidOption(says, "none of them; begin with one of them", example)
    if RUN_OF_TABLE in {*setup.roles.names} - {*setup.roles.query}:
        says = f"column {RUN_OF_TABLE!r} would name the run of each row, and has another part"
        raise InvalidOption(f"{says}; give that column another name")
    if kind not in (pl.DataFrame, pl.LazyFrame):
        named = [table.assign(**{RUN_OF_TABLE: str(name)}) for name, table in runs.tables.items()]
        return sys.modules["pandas"].concat(named, join="inner")
    return _of_polars(runs.tables)


def _of_polars(tables: Mapping[str, Any]) -> pl.DataFrame | pl.LazyFrame:
    schemas = {name: table.collect_schema() for name, table in tables.items()}
    first, *others = schemas
    shared = [
        x
        for x in schemas[first]
        if x != RUN_OF_TABLE and all(x in schemas[name] for name in others)
    ]
    for column in shared:
        for name in others:
            dtype, other = schemas[first][column], schemas[name][column]
            if pl.Null not in (dtype, other) and _sort_of(dtype) != _sort_of(other):
                differ = f"{dtype} in the table of {first!r} and {other} in the table of {name!r}"
                raise InvalidData(
                    f"column {column!r} holds {differ}; cast one of them to the type of the other"
                )
    named = (
        table.select(*shared, pl.lit(str(name)).alias(RUN_OF_TABLE))
        for name, table in tables.items()
    )
    result: pl.DataFrame | pl.LazyFrame = pl.concat(named, how="vertical_relaxed")
    return result


def _sort_of(dtype: pl.DataType) -> object:
    """The sort of a type; types of the same sort have comparable values."""
    if dtype.is_numeric() or dtype == pl.Boolean:
        return "numbers"
    return "text" if is_text(dtype) else dtype.base_type()


def in_polars(given: object) -> object:
    """Convert a pandas frame or Series to Polars, without columns that cannot be; return anything
    else unchanged.
    """
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
