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
    pandas = sys.modules.get("pandas")
    if pandas:
        kinds[pandas.DataFrame] = "pandas DataFrame"
    return kinds


def stacked(own: object, setup: Setup, runs: Runs) -> Any:
    """Concatenate the runs' tables, of which one is the ranker's own.

    The result has their common columns, and one that names the run.
    """
    _refuse_other_kinds(own, runs.tables)
    _refuse_without_own(own, runs.tables)
    if RUN_OF_TABLE in {*setup.roles.names} - {*setup.roles.query}:
        says = f"column {RUN_OF_TABLE!r} would name the run of each row, and has another part"
        raise InvalidOption(f"{says}; give that column another name")
    if isinstance(own, (pl.DataFrame, pl.LazyFrame)):
        return _stacked_in_polars(runs.tables)
    tables = runs.tables.items()
    named = [table.assign(**{RUN_OF_TABLE: str(name)}) for name, table in tables]
    return sys.modules["pandas"].concat(named, join="inner")


def _refuse_other_kinds(own: object, tables: Mapping[str, Any]) -> None:
    """Refuse a table of a run that is of another kind than the ranker's own."""
    kinds = _kinds()
    kind = next((kind for kind in kinds if isinstance(own, kind)), None)
    for name, table in tables.items():
        if kind is not None and isinstance(table, kind):
            continue
        of_rank = _name_of_kind(own)
        says = f"each of runs is a table of Polars or pandas, like that of .rank, a {of_rank}"
        raise InvalidOption(f"{says}; {name!r} is a {_name_of_kind(table)}")


def _name_of_kind(table: object) -> str:
    return _kinds().get(type(table), type(table).__name__)


def _refuse_without_own(own: object, tables: Mapping[str, Any]) -> None:
    """Refuse tables of which none is the ranker's own."""
    if any(table is own for table in tables.values()):
        return
    names = ", ".join(map(repr, tables)) or "nothing"
    says = f"runs are the tables of {names}, and the table of .rank is none of them"
    code = "df_a.rank.compare('ndcg@10', runs={'a': df_a, 'b': df_b})"
    raise InvalidOption(says, "; begin with one of them", Code(code, phrase=", as {}"))


def _stacked_in_polars(tables: Mapping[str, Any]) -> pl.DataFrame | pl.LazyFrame:
    schemas = {name: table.collect_schema() for name, table in tables.items()}
    first, *others = schemas
    in_others = [column for column in schemas[first] if all(column in schemas[x] for x in others)]
    shared = [column for column in in_others if column != RUN_OF_TABLE]
    for column in shared:
        for other in others:
            _refuse_other_sort(column, schemas, first, other)
    named = []
    for name, table in tables.items():
        run = pl.lit(str(name)).alias(RUN_OF_TABLE)
        named.append(table.select(*shared, run))
    result: pl.DataFrame | pl.LazyFrame = pl.concat(named, how="vertical_relaxed")
    return result


def _refuse_other_sort(
    column: str, schemas: Mapping[str, pl.Schema], first: str, other: str
) -> None:
    """Refuse a column whose values in two tables cannot be compared."""
    dtype = schemas[first][column]
    other_dtype = schemas[other][column]
    if pl.Null in (dtype, other_dtype) or _sort_of(dtype) == _sort_of(other_dtype):
        return
    holds = f"{dtype} in the table of {first!r} and {other_dtype} in the table of {other!r}"
    advice = "cast one of them to the type of the other"
    raise InvalidData(f"column {column!r} holds {holds}; {advice}")


def _sort_of(dtype: pl.DataType) -> object:
    """The sort of a type; types of the same sort have comparable values."""
    if dtype.is_numeric() or dtype == pl.Boolean:
        return "numbers"
    return "text" if is_text(dtype) else dtype.base_type()


def in_polars(given: object) -> object:
    """Convert a pandas frame or Series to Polars, and return anything else unchanged.

    Columns that Polars cannot hold are left out.
    """
    if type(given).__module__.partition(".")[0] != "pandas":
        return given
    import pandas as pd  # imported late, to keep other calls fast

    from .pandas_columns import cross, cross_lists, text_of

    if isinstance(given, pd.Series):
        return cross(given, "items")
    if not isinstance(given, pd.DataFrame):
        return given
    levels = [name for name in given.index.names if name is not None]
    hidden = [name for name in levels if name not in given.columns]
    frame = given.reset_index(hidden) if hidden else given
    columns = []
    for place, label in enumerate(frame.columns):
        name = text_of(label)
        column = frame.iloc[:, place]
        with suppress(InvalidData):
            lists = cross_lists(column, name)
            values = cross(column, name) if lists is None else lists
            columns.append(values.alias(name))
    return pl.DataFrame(columns)
