"""The formats of files with runs and judgments: the names, headers and first characters that identify them."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Mapping
from itertools import islice
from pathlib import Path
from typing import IO, Literal, NamedTuple, TypeAlias

import polars as pl

from .._table.roles import USUAL_NAMES
from ..errors import InvalidOption

Source: TypeAlias = str | os.PathLike[str] | IO[bytes] | IO[str]
Content: TypeAlias = str | Path | bytes
DType: TypeAlias = pl.DataType | type[pl.DataType]
Say: TypeAlias = Callable[[str, object], str]
Format: TypeAlias = Literal["trec", "csv", "tsv", "ndjson", "parquet", "ipc", "beir", "quepid", "rank_eval", "mteb"]
Table: TypeAlias = Literal["csv", "tsv", "ndjson", "parquet", "ipc"]

SUFFIXES: dict[str, Table] = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".ndjson": "ndjson",
    ".jsonl": "ndjson",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "ipc",
    ".feather": "ipc",
    ".ipc": "ipc",
}
BINARY: Collection[Table] = ("parquet", "ipc")
"""The binary formats."""

CONVERTED = {
    **dict.fromkeys((".pkl", ".pickle"), "pd.read_pickle({}).to_parquet({})"),
    **dict.fromkeys((".xlsx", ".xls", ".ods"), "pl.read_excel({}).write_parquet({})"),
    ".avro": "pl.read_avro({}).write_parquet({})",
    ".orc": "pd.read_orc({}).to_parquet({})",
}
"""The endings of unsupported formats, each with the code that converts such a file."""
COMPRESSED = (".gz", ".zst", ".zlib")

OTHER_NAMES = {
    "query_id": USUAL_NAMES["query"],
    "doc_id": USUAL_NAMES["doc"],
    "score": USUAL_NAMES["score"],
    "label": (*USUAL_NAMES["label"], "score"),
}


class Layout(NamedTuple):
    """The fields of a line of TREC text (None: skipped), the columns that other files need, and the kind of file.

    Advice for a missing column also names the columns `told`, if the file seems to have them.
    """

    fields: tuple[str | None, ...]
    line: str
    needed: tuple[str, ...]
    reader: str
    holds: str
    told: tuple[str, ...] = ()


RUN = Layout(
    ("query_id", None, "doc_id", None, "score", "run"),
    "query_id Q0 doc_id rank score tag",
    ("query_id", "doc_id", "score"),
    "read_run",
    "a run",
)
QRELS = Layout(
    ("query_id", "iteration", "doc_id", "label"),
    "query_id iteration doc_id label",
    ("query_id", "doc_id", "label"),
    "read_qrels",
    "judgments",
)


class Header(NamedTuple):
    """The columns that identify a tool's table, with our names for them; its content, and the advice if columns are missing."""

    tool: Literal["beir", "quepid"]
    columns: Mapping[str, str]
    holds: str
    instead: str


JUDGMENTS = "give it as the judgments, as to read_qrels"

HEADERS = (
    Header("beir", {"query-id": "query_id", "corpus-id": "doc_id", "score": "label"}, "BEIR's judgments", JUDGMENTS),
    Header(
        "quepid", {"query": "query_id", "docid": "doc_id", "rating": "label"}, "Quepid's ratings (Basic)", JUDGMENTS
    ),
    Header(
        "quepid", {"query": "query_id", "doc_id": "doc_id", "rating": "label"}, "Quepid's ratings (Basic)", JUDGMENTS
    ),
    Header(
        "quepid",
        {"Query Text": "query_id", "Doc ID": "doc_id", "Doc Position": "rank", "Rating": "label"},
        "Quepid's rated results (Detailed)",
        JUDGMENTS,
    ),
    Header(
        "quepid",
        {"Query Text": "query_id", "Doc ID": "doc_id", "Doc Position": "rank", "Snapshot Name": "run"},
        "a snapshot of Quepid",
        "give it as the run, as to read_run",
    ),
    Header(
        "quepid",
        {"Query Text": "query_id", "Score": "score", "Date Last Scored": "Date Last Scored"},
        "Quepid's scores of queries (General)",
        "export the case as Basic, Detailed or Snapshot",
    ),
)


def header_of(columns: Collection[str], layout: Layout, tool: str | None = None) -> Header | None:
    """The tool's table that has these columns; BEIR's for a run only if `tool` names it, since BEIR's files are judgments."""
    return next(
        (
            header
            for header in HEADERS
            if header.columns.keys() <= {*columns}
            and (tool == header.tool or (tool is None and not (layout.reader == "read_run" and header.tool == "beir")))
        ),
        None,
    )


def suffix_of(name: str) -> str:
    """The last ending of a file's name in lower case, ignoring that of a compression."""
    suffixes = [suffix.lower() for suffix in Path(name).suffixes if suffix.lower() not in COMPRESSED]
    return suffixes[-1] if suffixes else ""


def beir_folder(path: object) -> bool:
    """Whether the path is a folder of BEIR, with judgments in its folder ``qrels``."""
    return isinstance(path, (str, os.PathLike)) and os.path.isdir(os.path.join(os.fsdecode(path), "qrels"))


def look(start: str, name: str, layout: Layout) -> Format | Literal["json"]:
    """The format of a file without a known ending, by its first lines: JSON, a tool's table, or else TREC text."""
    lines = list(islice(filter(None, (line.strip(" \t\r") for line in start.split("\n"))), 2))
    if not lines:
        return "trec"
    if suffix_of(name) == ".json" or re.match(r'\{\s*("(?:[^"\\]|\\.)*"\s*(:|$)|\}|$)', lines[0]):
        # One JSON object never has } at the end of a line and { at the start of the next.
        rows = len(lines) == 2 and lines[0].endswith("}") and lines[1].startswith("{")
        return "ndjson" if rows else "json"
    header = header_of(lines[0].split("\t" if "\t" in lines[0] else ","), layout)
    return "trec" if header is None or (header.tool == "beir") != ("\t" in lines[0]) else header.tool


def spelled(name: str) -> str:
    """The name of a file as printable text; bytes that are not UTF-8 become a replacement mark."""
    try:
        return os.fsencode(name).decode(errors="replace")
    except UnicodeEncodeError:
        raise InvalidOption(f"{name!r} names no file: it holds half of a character (a lone surrogate)") from None
