"""Read several files of runs or of judgments as one table; a column names the run of each row."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

import polars as pl

from ..errors import InvalidData, InvalidOption
from .read import FileRows
from .sources import COMPRESSED

F = TypeVar("F", pl.DataFrame, pl.LazyFrame)
FILE = "#file"

KEY_OF_RUNS = ("run", "query_id", "subset", "split")
KEY_OF_JUDGMENTS = ("query_id", "doc_id", "iteration", "index", "subset", "split")
"""The columns (if present) whose values together may occur in one file only."""


def run_names(paths: Sequence[str]) -> list[str]:
    """The runs' names: the files' stems, or their names or paths if shorter ones are not unique."""
    files = [Path(path) for path in paths]
    bare = [file.with_suffix("") if file.suffix.lower() in COMPRESSED else file for file in files]
    stems = [file.stem for file in bare]
    whole_names = [file.name for file in files]
    whole_paths = [str(file) for file in files]
    for names in (stems, whole_names, whole_paths):
        if len(set(names)) == len(names):
            return names
    twice = next(path for path in whole_paths if whole_paths.count(path) > 1)
    raise InvalidOption(f"{twice} is given twice; give each run once")


def read_together(files: Sequence[FileRows], *, of_runs: bool) -> pl.DataFrame:
    """The rows of all files; a query of a run, or a judgment of a document, may occur in one file
    only.
    """
    tables = [rows.read() for rows in files]
    table = _concat(files, tables, of_runs=of_runs)
    key = KEY_OF_RUNS if of_runs else KEY_OF_JUDGMENTS
    there = [name for name in key if name in table.columns]
    # Rows of queries without judgments have no document.
    rows = table if of_runs else table.drop_nulls("doc_id")
    places = rows.select(*there, FILE).unique(maintain_order=True)
    is_again = pl.struct(there).is_duplicated()
    again = places.filter(is_again)
    if not again.is_empty():
        first = again.row(0, named=True)
        same_key = [pl.col(name).eq_missing(pl.lit(first[name])) for name in there]
        numbers = again.filter(same_key)[FILE]
        one = files[numbers[0]].file.name
        other = files[numbers[1]].file.name
        if of_runs:
            what = f"query {first['query_id']!r} of run {first['run']!r}"
        else:
            what = f"document {first['doc_id']!r} of query {first['query_id']!r}"
        raise InvalidData(f"{what} stands in {one} and in {other}; keep one of them")
    return table.drop(FILE)


def scan_together(files: Sequence[FileRows], *, of_runs: bool) -> pl.LazyFrame:
    """The rows of all files, read when the plan runs."""
    plans = [rows.scan() for rows in files]
    return _concat(files, plans, of_runs=of_runs).drop(FILE)


def _concat(files: Sequence[FileRows], tables: Sequence[F], *, of_runs: bool) -> F:
    """Concatenate the tables, with the number of each row's file, and for runs its name."""
    names = run_names([rows.file.name for rows in files]) if of_runs else None
    schemas = [table.lazy().collect_schema() for table in tables]
    unlike = _unlike(schemas)
    ids = [name for name in unlike if name in ("query_id", "doc_id")]
    parts = []
    for number, (table, schema) in enumerate(zip(tables, schemas, strict=True)):
        columns = [pl.col(column).cast(pl.String) for column in ids if column in schema]
        if names is not None:
            run = pl.lit(names[number])
            if "run" in schema:
                run = pl.col("run").cast(pl.String).fill_null(run)
            columns.append(run.alias("run"))
        file = pl.lit(number, pl.UInt32).alias(FILE)
        parts.append(table.with_columns(*columns, file))
    try:
        table = pl.concat(parts, how="diagonal_relaxed")
        table.lazy().collect_schema()
    except pl.exceptions.PolarsError as error:
        first_line = str(error).splitlines()[0]
        raise InvalidData(f"columns of unlike types, {unlike}: {first_line}") from error
    return table


def _unlike(schemas: Sequence[pl.Schema]) -> list[str]:
    """The columns that have several types."""
    dtypes: dict[str, set[pl.DataType]] = {}
    for schema in schemas:
        for name, dtype in schema.items():
            dtypes.setdefault(name, set()).add(dtype)
    return [name for name, of_column in dtypes.items() if len(of_column) > 1]
