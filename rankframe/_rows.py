"""The rows of a file of any format: what is wrong with them is found while they are read."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Container, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Literal, NamedTuple, TypeAlias, get_args

import polars as pl

from ._roles import USUAL_NAMES
from .errors import InvalidData, InvalidOption, MissingColumn

__all__ = ["COMPRESSED", "QRELS", "RUN", "DType", "Format", "Layout", "Source", "rows", "spelled"]

Source: TypeAlias = str | Path | IO[bytes] | IO[str]
Content: TypeAlias = str | Path | bytes
DType: TypeAlias = pl.DataType | type[pl.DataType]
Say: TypeAlias = Callable[[str, Any], str]
Format: TypeAlias = Literal["trec", "csv", "tsv", "ndjson", "parquet"]

FORMATS: dict[str, Format] = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".ndjson": "ndjson",
    ".jsonl": "ndjson",
    ".parquet": "parquet",
    ".pq": "parquet",
}
COMPRESSED = (".gz", ".zst", ".zlib")

OTHER_NAMES = {
    "query_id": USUAL_NAMES["query"],
    "doc_id": USUAL_NAMES["doc"],
    "score": USUAL_NAMES["score"],
    "label": (*USUAL_NAMES["label"], "score"),
}

PROBLEM, NUMBER = "__problem", "__number"  # what is wrong with a row (null: nothing), and which it is


class Layout(NamedTuple):
    """The fields of a line of TREC text (None: left out), and the columns that other files must have."""

    fields: tuple[str | None, ...]
    line: str
    needed: tuple[str, ...]


RUN = Layout(
    ("query_id", None, "doc_id", None, "score", "run"),
    "query_id Q0 doc_id rank score tag",
    ("query_id", "doc_id", "score"),
)
QRELS = Layout(
    ("query_id", "iteration", "doc_id", "label"),
    "query_id iteration doc_id label",
    ("query_id", "doc_id", "label"),
)


@dataclass(frozen=True)
class Rows:
    """The rows of a file. Those read from text have the column PROBLEM: what is wrong with a row, or null."""

    name: str
    table: pl.LazyFrame
    text: Mapping[str, DType]  # the columns read from text, and what they become
    stored: Collection[str]  # the columns under the names that the file gives them

    def read(self) -> pl.DataFrame:
        """The rows, or InvalidData."""
        with errors_of_polars(self.name):
            frame = self.table.collect()
        if not self.text:
            return frame
        problems = frame.get_column(PROBLEM).drop_nulls()
        if not problems.is_empty():
            others = f" (the first of {len(problems):,} malformed lines)" if len(problems) > 1 else ""
            raise InvalidData(problems[0] + others)
        return frame.drop(PROBLEM)

    def scan(self) -> pl.LazyFrame:
        """The rows as a plan. Every column read from text has the check in it, whatever else is dropped."""
        if not self.text:
            return self.table
        failure = pl.col(PROBLEM).cast(pl.Int8)  # a cast that cannot succeed shows the value: the message
        checked = (
            pl.when(pl.col(PROBLEM).is_null()).then(column).otherwise(failure.cast(dtype)).alias(column)
            for column, dtype in self.text.items()
        )
        return self.table.with_columns(checked).drop(PROBLEM)


def rows(
    source: Source,
    layout: Layout,
    *,
    format: Format | None = None,
    columns: Mapping[str, str] | None = None,
    must: Container[str] = (),
    label_dtype: DType = pl.Int64,
    say: Say = "{}={!r}".format,
) -> Rows:
    """The rows of a file of any format; `say` words an option and its value where an error proposes one.

    Of `columns`, those that become one of `must` have to be there, even where the usual name is.
    """
    content: Content
    if isinstance(source, (str, Path)):
        name = spelled(str(source))
        content = source if name == str(source) else Path(source).read_bytes()  # Polars opens names of UTF-8 only
    else:
        name, data = spelled(str(getattr(source, "name", "the input"))), source.read()
        content = data.encode() if isinstance(data, str) else data
    suffixes = [suffix.lower() for suffix in Path(name).suffixes if suffix.lower() not in COMPRESSED]
    kind = format or FORMATS.get(suffixes[-1] if suffixes else "", "trec")
    if kind not in get_args(Format):
        raise InvalidOption(f"unknown format {kind!r}. Say one of {', '.join(get_args(Format))}")
    numeric = {"score": pl.Float64(), "label": label_dtype}
    with errors_of_polars(name):
        if kind == "trec":
            return from_lines(content, name, layout, numeric, say)
        return from_table(content, name, layout, numeric, kind, columns or {}, must, say)


def from_lines(content: Content, name: str, layout: Layout, numeric: Mapping[str, DType], say: Say) -> Rows:
    """TREC text: fields parted by what C calls space, as in trec_eval; an id may hold a no-break space."""
    fields = pl.col("fields")
    n_fields, n = fields.list.len(), len(layout.fields)
    lines = (
        pl.scan_lines(content, name="line", row_index_name=NUMBER, row_index_offset=1, glob=False)
        .with_columns(fields=pl.col("line").str.strip_prefix("\ufeff").str.extract_all(r"[^ \t\r\x0b\x0c]+"))
        .filter(n_fields > 0, fields.list.first().str.starts_with("#").not_())
    )
    text = {field: fields.list.get(i, null_on_oob=True) for i, field in enumerate(layout.fields) if field}
    values, misread = numbers(text, numeric)
    miscounted = pl.format("{} fields instead of {}", pl.when(n_fields != n).then(n_fields), pl.lit(n))
    problem = pl.format(
        "{}, line {}: {} in '{}'. Write '{}', or say {} if it is a table",
        pl.lit(name),
        NUMBER,
        pl.coalesce(miscounted, *misread),
        pl.col("line").str.head(200),
        pl.lit(layout.line),
        pl.lit(say("format", "csv")),
    )
    dtypes = {field: numeric.get(field, pl.String()) for field in text}
    return Rows(name, lines.select(**values, **{PROBLEM: problem}), dtypes, tuple(text))


def from_table(
    content: Content,
    name: str,
    layout: Layout,
    numeric: Mapping[str, DType],
    kind: Format,
    columns: Mapping[str, str],
    must: Container[str],
    say: Say,
) -> Rows:
    """A file with named columns. CSV has no types: ids stay text, scores and labels must be numbers."""
    if kind != "parquet" and is_empty(content):
        schema = {column: numeric.get(column, pl.String()) for column in layout.needed}
        return Rows(name, pl.LazyFrame(schema=schema), {}, tuple(columns))
    table = scan_table(content, kind, [*OTHER_NAMES, *(old for old, new in columns.items() if new in OTHER_NAMES)])
    stored = [column for column in table.collect_schema().names() if column != NUMBER]
    for old, new in columns.items():
        if new in must and old not in stored:
            raise MissingColumn(f"no column {old!r} for {new} in {name}; it has {', '.join(stored)}")
    renames = {old: new for old, new in columns.items() if old in stored}
    table = table.drop(set(renames.values()) & set(stored) - set(renames)).rename(renames)
    found = [renames.get(column, column) for column in stored]
    if lacking := [column for column in layout.needed if column not in found]:
        raise MissingColumn(missing(name, lacking, stored, say))
    if kind in ("ndjson", "parquet"):
        return Rows(name, table, {}, stored)
    text = {column: pl.col(column) for column in OTHER_NAMES if column in found}
    values, misread = numbers(text, numeric)
    problem = pl.format("{}, row {}: {}", pl.lit(name), NUMBER, pl.coalesce(pl.lit(None, pl.String), *misread))
    dtypes = {column: numeric.get(column, pl.String()) for column in text}
    return Rows(name, table.with_columns(**values, **{PROBLEM: problem}).drop(NUMBER), dtypes, stored)


def scan_table(content: Content, kind: Format, text: list[str]) -> pl.LazyFrame:
    """The table as stored; from CSV the columns of `text` as text, and NUMBER, the number of the row."""
    if kind == "parquet":
        return pl.scan_parquet(content, glob=False)
    if kind == "ndjson":
        # From the first rows alone a type may be wrong, or a column missing.
        return pl.scan_ndjson(content, infer_schema_length=None)
    return pl.scan_csv(
        content,
        separator="," if kind == "csv" else "\t",
        schema_overrides=dict.fromkeys(text, pl.String),
        infer_schema_length=10_000,
        row_index_name=NUMBER,
        row_index_offset=1,
        glob=False,
    )


def is_empty(content: Content) -> bool:
    """Whether a source has no bytes at all."""
    if isinstance(content, bytes):
        return not content
    return Path(content).is_file() and not Path(content).stat().st_size


def missing(name: str, lacking: list[str], found: list[str], say: Say) -> str:
    """What to write when columns are missing: new names for those that look meant, else how to give them."""
    said = f"no column {', '.join(map(repr, lacking))} in {name}; it has {', '.join(found)}"
    plain = {column.lower().replace("-", "_"): column for column in reversed(found)}
    meant = {plain[other]: new for new in lacking for other in (new, *OTHER_NAMES[new]) if other in plain}
    if len(meant) == len(lacking):
        return f"{said}. Say {say('columns', meant)}"
    known = {new: old for old, new in meant.items()}
    named = say("columns", {known.get(new, f"its {new.removesuffix('_id')} column"): new for new in lacking})
    return f"{said}. Say {named}, or {say('format', 'trec')} if it is TREC text"


def spelled(name: str) -> str:
    """The name of a file as text that can be printed and put into a table; bytes that are no UTF-8 become a mark."""
    return os.fsencode(name).decode(errors="replace")


def numbers(text: Mapping[str, pl.Expr], numeric: Mapping[str, DType]) -> tuple[dict[str, pl.Expr], list[pl.Expr]]:
    """The columns with numbers made of text, and for each of these what is wrong with the text, or null."""
    values = {column: number(raw, numeric[column]) if column in numeric else raw for column, raw in text.items()}
    kinds = {
        column: "whole number (label_dtype=pl.Float64 keeps fractions)" if dtype.is_integer() else "number"
        for column, dtype in numeric.items()
    }
    return values, [
        pl.format(f"{column} '{{}}' is not a {kinds[column]}", pl.when(values[column].is_null()).then(text[column]))
        for column in text
        if column in numeric
    ]


def number(text: pl.Expr, dtype: DType) -> pl.Expr:
    """The number that a text says, null where it says none that the type holds."""
    value = text.cast(pl.Float64, strict=False)
    if not dtype.is_integer():
        return value.cast(dtype)
    whole = value.cast(dtype, strict=False)
    return pl.when(whole == value).then(whole)


@contextmanager
def errors_of_polars(name: str) -> Iterator[None]:
    """What Polars cannot read is invalid data; a missing file stays the OSError that it is."""
    try:
        yield
    except pl.exceptions.PolarsError as error:
        raise InvalidData(f"{name}: {str(error).partition(chr(10))[0]}") from error
