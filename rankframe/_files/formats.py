"""The formats of files, one row each, and how the format of a file is found."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Mapping
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Literal, TypeAlias

import polars as pl

from ..errors import InvalidData, InvalidOption
from . import json_rows, read, writable
from .read import DType, FileFormat, FileRows, Layout, SourceFile, Start, from_table
from .sources import (
    FileSource,
    beir_folder,
    can_be_read_again,
    named_content,
    refuse_endless_line,
    spelled,
    start_of,
    suffix_of,
)

FormatName: TypeAlias = Literal[
    "trec", "csv", "tsv", "ndjson", "parquet", "ipc", "beir", "quepid", "rank_eval", "mteb",
    "prefs",
]  # fmt: skip
"""The formats that a user names, each of which has a row in `FORMATS`."""


def from_tool(file: SourceFile, *, tool: str, usual: str) -> FileRows:
    """A table with the header of a tool, stored as the file's ending says, or as the `usual`
    format.
    """
    name = SUFFIXES.get(suffix_of(file.name), usual)
    stored = FORMATS[name]
    return stored.read(replace(file, format=stored), tool)


def from_preferences(file: SourceFile) -> FileRows:
    """Judgments of preferences, as lines of text."""
    if file.layout.of_run:
        raise InvalidOption(f"{file.name}: files of the format prefs hold judgments, and no run")
    return read.from_lines(replace(file, layout=read.PREFERENCES))


def has_header(start: Start, tool: str, separator: str) -> bool:
    """Whether a file starts with the header of a tool."""
    columns = start.lines[0].split(separator)
    header = read.header_of(columns, start.layout)
    return header is not None and header.tool == tool


def is_json(start: Start) -> bool:
    """Whether a file starts as an object of JSON, or is named so."""
    object_or_end = r'\{\s*("(?:[^"\\]|\\.)*"\s*(:|$)|\}|$)'
    return start.suffix == ".json" or re.match(object_or_end, start.lines[0]) is not None


def is_json_lines(start: Start) -> bool:
    """Whether a file starts with two objects; one object never has } at the end of a line and { at
    the start of the next.
    """
    first, *others = start.lines
    if not is_json(start) or not first.endswith("}"):
        return False
    return "".join(others).startswith("{")


def of_tool(tool: str, usual: str, separator: str, writer: writable.Writer) -> FileFormat:
    """The row of a tool's tables, which are usually of the format `usual`."""
    known = partial(has_header, tool=tool, separator=separator)
    reader = partial(from_tool, tool=tool, usual=usual)
    return FileFormat(tool, reader, known=known, write=writer)


def of_json(
    name: str, kind: Callable[[json_rows.JsonText], FileRows], **options: Any
) -> FileFormat:
    """The row of a JSON object of one kind."""
    reader = partial(json_rows.from_object, read=kind)
    return FileFormat(name, reader, content="text", **options)


OF_ARROW = (".arrow", ".feather", ".ipc")
NDJSON = FileFormat(
    "ndjson", from_table, (".ndjson", ".jsonl"), is_json_lines, scan=read.scan_ndjson, objects=True
)
ROWS = (
    FileFormat("trec", read.from_lines, write=writable.TREC),
    FileFormat("prefs", from_preferences),
    FileFormat("csv", from_table, (".csv",), scan=read.scan_csv, separator=","),
    FileFormat("tsv", from_table, (".tsv",), scan=read.scan_csv, separator="\t"),
    NDJSON,
    FileFormat(
        "parquet", from_table, (".parquet", ".pq"), scan=read.scan_parquet, content="binary"
    ),
    FileFormat("ipc", from_table, OF_ARROW, scan=read.scan_ipc, content="binary"),
    FileFormat(
        "json", json_rows.from_json, known=is_json, scan=json_rows.scan_json, content="text"
    ),
    of_json("rank_eval", json_rows.rank_eval, write=writable.RANK_EVAL),
    of_json("mteb", json_rows.dictionary),
    of_tool("beir", "tsv", "\t", writable.BEIR),
    of_tool("quepid", "csv", ",", writable.QUEPID),
)
FORMATS = {row.name: row for row in ROWS}
"""All formats; of those that are known by their start, the first one that fits counts."""

SUFFIXES = {suffix: row.name for row in FORMATS.values() for suffix in row.suffixes}
BINARY = [row.name for row in FORMATS.values() if row.content == "binary"]


def rows(
    source: FileSource,
    layout: Layout,
    *,
    format: FormatName | None = None,
    columns: Mapping[str, str] | None = None,
    must: Container[str] = (),
    label_dtype: DType = pl.Int64,
) -> FileRows:
    """The rows of a file of any format; for the options see `SourceFile`.

    A column that `columns` renames to one of `must` has to exist, even if a column has the default
    name.
    """
    _refuse_label_dtype(label_dtype)
    if format in (None, "beir") and not layout.of_run and beir_folder(source):
        path, queries = of_beir(Path(source), layout)  # type: ignore[arg-type]
        judgments = rows(
            path, layout, format="beir", columns=columns, must=must, label_dtype=label_dtype
        )
        table = judgments.table.join(queries, on="query_id", how="left", maintain_order="left")
        return replace(judgments, table=table)
    name, content = named_content(source, layout.reader)
    suffix = suffix_of(name)
    row = FORMATS[format or SUFFIXES.get(suffix, "trec")]
    if row.content != "binary" and not isinstance(content, bytes) and Path(content).is_dir():
        raise InvalidOption(
            f"{name!r} is a folder, and none of BEIR's judgments; name a file in it"
        )
    numeric: dict[str, DType] = {"score": pl.Float64(), "label": label_dtype, "rank": pl.Int64()}
    file = SourceFile(name, content, row, layout, numeric, columns or {}, must)
    with file.as_invalid_data():
        if format is None and suffix not in SUFFIXES and can_be_read_again(content):
            start = start_of(content)
            row = recognised(start, suffix, layout)
            file = replace(file, format=row)
    with file.as_invalid_data():
        if file.format.content == "lines":
            refuse_endless_line(name, content)
        return file.format.read(file)


def _refuse_label_dtype(dtype: DType) -> None:
    """Refuse a type of labels that is none of Polars' numbers and texts."""
    kind = dtype if isinstance(dtype, type) else type(dtype)
    is_dtype = issubclass(kind, pl.DataType)
    if not is_dtype or not (dtype.is_integer() or dtype.is_float() or dtype == pl.String):
        raise InvalidOption(
            f"label_dtype={dtype!r}: write a type of whole numbers or floats, or pl.String"
        )


def recognised(start: str, suffix: str, layout: Layout) -> FileFormat:
    """The format of a file without a known ending, by its first lines: TREC text if it is no
    other.
    """
    stripped = (line.strip(" \t\r") for line in start.split("\n"))
    lines = list(islice(filter(None, stripped), 2))
    if lines:
        of_file = Start(suffix, lines, layout)
        for row in FORMATS.values():
            if row.known is not None and row.known(of_file):
                return row
    return FORMATS["trec"]


def of_beir(folder: Path, layout: Layout) -> tuple[Path, pl.LazyFrame]:
    """The path of the judgments in a folder of BEIR (of several splits, ``test``), and the texts of
    the queries.
    """
    paths = sorted((folder / "qrels").glob("*.tsv"))
    splits = {path.stem: path for path in paths}
    split = "test" if len(splits) > 1 else next(iter(splits), "test")
    if split not in splits:
        known = ", ".join(splits) or "no split"
        place = spelled(str(folder / "qrels"))
        raise InvalidOption(f"{place} has {known}, and no test.tsv; name one of its files")
    texts = folder / "queries.jsonl"
    schema = {"_id": pl.String(), "text": pl.String()}
    table = pl.DataFrame(schema=schema)
    if texts.is_file():
        file = SourceFile(spelled(str(texts)), texts, NDJSON, layout)
        with file.as_invalid_data():
            table = pl.read_ndjson(texts.read_bytes(), schema=schema)
        again = table.filter(pl.col("_id").is_duplicated())
        if not again.is_empty():
            raise InvalidData(
                f"{file.name}: several queries have the _id {again[0, 0]!r}; keep one of them"
            )
    queries = table.lazy().rename({"_id": "query_id", "text": "query_text"})
    return splits[split], queries
