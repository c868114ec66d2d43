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
    for names in (
        [file.stem for file in bare],
        [file.name for file in files],
        [str(file) for file in files],
    ):
        if len(set(names)) == len(names):
            return names
    same = [str(file) for file in files]
    twice = next(path for path in same if same.count(path) > 1)
    raise InvalidOption(f"{twice} is given twice; give each run once")


def read_together(found: Sequence[FileRows], *, of_runs: bool) -> pl.DataFrame:
    """The rows of all files; a query of a run, or a judgment of a document, may occur in one file
    only.
    """
    table = _concat(found, [rows.read() for rows in found], of_runs=of_runs)
    key = KEY_OF_RUNS if of_runs else KEY_OF_JUDGMENTS
    there = [name for name in key if name in table.columns]
    rows = (
        table if of_runs else table.drop_nulls("doc_id")
    )  # rows of queries without judgments have no document
    places = rows.select(*there, FILE).unique(maintain_order=True)
    again = places.filter(pl.struct(there).is_duplicated())
    if not again.is_empty():
        first = again.row(0, named=True)
        same = again.filter(pl.col(name).eq_missing(pl.lit(first[name])) for name in there)
        one, other = (found[file].file.name for file in same[FILE][:2])
        what = (
            "query {query_id!r} of run {run!r}"
            if of_runs
            else "document {doc_id!r} of query {query_id!r}"
        )
        raise InvalidData(
            f"{what.format(**first)} stands in {one} and in {other}; keep one of them"
        )
    return table.drop(FILE)


def scan_together(found: Sequence[FileRows], *, of_runs: bool) -> pl.LazyFrame:
    """The rows of all files, read when the plan runs."""
    return _concat(found, [rows.scan() for rows in found], of_runs=of_runs).drop(FILE)


def _concat(found: Sequence[FileRows], tables: Sequence[F], *, of_runs: bool) -> F:
    """Concatenate the tables, with the number of each row's file, and for runs its name."""
    names = run_names([rows.file.name for rows in found]) if of_runs else [None] * len(found)
    schemas = [table.lazy().collect_schema() for table in tables]
    columns = dict.fromkeys(name for schema in schemas for name in schema)
    unlike = [
        name for name in columns if len({schema[name] for schema in schemas if name in schema}) > 1
    ]
    ids = [name for name in unlike if name in ("query_id", "doc_id")]
    parts = []
    for number, (table, schema, name) in enumerate(zip(tables, schemas, names, strict=True)):
        run = (
            pl.col("run").cast(pl.String).fill_null(pl.lit(name))
            if "run" in schema
            else pl.lit(name)
        )
        text = [pl.col(column).cast(pl.String) for column in ids if column in schema]
        named = {} if name is None else {"run": run}
        parts.append(table.with_columns(*text, **named, **{FILE: pl.lit(number, pl.UInt32)}))
    try:
        table = pl.concat(parts, how="diagonal_relaxed")
        table.lazy().collect_schema()
    except pl.exceptions.PolarsError as error:
        raise InvalidData(
            f"columns of unlike types, {unlike}: {str(error).splitlines()[0]}"
        ) from error
    return table
