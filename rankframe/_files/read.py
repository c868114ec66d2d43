"""The rows of a file of any format, checked while they are read."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Literal, NamedTuple, TypeAlias, get_args

import polars as pl

from .._table.roles import USUAL_NAMES
from ..errors import InvalidData, InvalidOption, MissingColumn
from .unreadable import BROKEN, as_invalid_data, delimiter, refuse_unreadable

__all__ = ["COMPRESSED", "QRELS", "RUN", "DType", "Format", "Layout", "Rows", "Source", "rows", "spelled"]

Source: TypeAlias = str | os.PathLike[str] | IO[bytes] | IO[str]
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

PROBLEM, NUMBER = "__problem", "__number"  # the fault of a row (null: none), and the number of the row


class Layout(NamedTuple):
    """The fields of a line of TREC text (None: left out), and the columns that other files must have."""

    fields: tuple[str | None, ...]
    line: str
    needed: tuple[str, ...]
    reader: str


RUN = Layout(
    ("query_id", None, "doc_id", None, "score", "run"),
    "query_id Q0 doc_id rank score tag",
    ("query_id", "doc_id", "score"),
    "read_run",
)
QRELS = Layout(
    ("query_id", "iteration", "doc_id", "label"),
    "query_id iteration doc_id label",
    ("query_id", "doc_id", "label"),
    "read_qrels",
)


@dataclass(frozen=True)
class Rows:
    """The rows of a file. Rows read from text have the columns NUMBER and PROBLEM, the fault of the row or null."""

    name: str
    content: Content
    kind: Format
    table: pl.LazyFrame
    text: Mapping[str, DType]  # the columns read from text, and their dtypes
    stored: Collection[str]  # the columns by their names in the file

    def read(self, *, once: Sequence[str] = (), only: Container[str] | None = None) -> pl.DataFrame:
        """The rows, or InvalidData; no two rows may have the same values in the columns `once`, as far as they exist.

        With `only`, the other columns are not read, and hold nothing.
        """
        with as_invalid_data(self.name, self.content, self.kind):
            table = self.table
            if only is not None:
                own = (*self.text, *once, PROBLEM, NUMBER)
                unread = [name for name in table.collect_schema() if name not in only and name not in own]
                table = table.with_columns(pl.lit(None).alias(name) for name in unread)
            frame = table.collect()
        if self.text:
            problems = frame.get_column(PROBLEM).drop_nulls()
            if not problems.is_empty():
                others = f" (the first of {len(problems):,} malformed lines)" if len(problems) > 1 else ""
                raise InvalidData(problems[0] + others)
        plain = [name for name in once if name in frame.columns and not frame.schema[name].is_nested()]
        if plain and frame.select(plain).hash_rows().n_unique() < frame.height:
            self.refuse_repeated(frame, plain)
        return frame.drop(PROBLEM, NUMBER, strict=False)

    def refuse_repeated(self, frame: pl.DataFrame, once: Sequence[str]) -> None:
        """Refuse two rows with the same values, and name their lines."""
        numbered = frame if NUMBER in frame.columns else frame.with_row_index(NUMBER, 1)
        again = numbered.filter(~pl.struct(once).is_first_distinct())
        if again.is_empty():
            return
        values = again.row(0, named=True)
        first = numbered.filter(pl.col(name).eq_missing(pl.lit(values[name])) for name in once)[NUMBER][0]
        unit = "line" if self.kind == "trec" else "row"
        same = " and ".join(f"{name} {values[name]!r}" for name in once)
        others = f" (the first of {again.height:,} such {unit}s)" if again.height > 1 else ""
        raise InvalidData(
            f"{self.name}, {unit} {values[NUMBER]}: {same} stand on {unit} {first} too; keep one of them{others}"
        )

    def scan(self) -> pl.LazyFrame:
        """The rows as a plan. Every column read from text includes the check, so that a projection cannot drop it."""
        if not self.text:
            return self.table
        refuse_unreadable(self.name, self.content, self.kind)
        failure = pl.col(PROBLEM).cast(pl.Int8)  # this cast always fails, and its error shows the value, the message
        checked = (
            pl.when(pl.col(PROBLEM).is_null()).then(column).otherwise(failure.cast(dtype)).alias(column)
            for column, dtype in self.text.items()
        )
        return self.table.with_columns(checked).drop(PROBLEM, NUMBER)


def rows(
    source: Source,
    layout: Layout,
    *,
    format: Format | None = None,
    columns: Mapping[str, str] | None = None,
    must: Container[str] = (),
    label_dtype: DType = pl.Int64,
    comments: bool = True,
    say: Say = "{}={!r}".format,
) -> Rows:
    """The rows of a file of any format; `say` writes an option with its value for the advice of errors.

    A column that `columns` renames to one of `must` has to exist, even if the usual name does. With `comments`, lines of
    TREC text that start with # are skipped.
    """
    columns = renaming(columns)
    name, content = named_content(source, layout)
    suffixes = [suffix.lower() for suffix in Path(name).suffixes if suffix.lower() not in COMPRESSED]
    kind = format or FORMATS.get(suffixes[-1] if suffixes else "", "trec")
    if kind not in get_args(Format):
        raise InvalidOption(f"unknown format {kind!r}. Say one of {', '.join(get_args(Format))}")
    if kind != "parquet" and not isinstance(content, bytes) and Path(content).is_dir():
        raise InvalidOption(
            f"{name!r} is a folder; name a file in it, or read all of them: "
            f"pl.concat([rf.{layout.reader}(path) for path in pathlib.Path({name!r}).iterdir()])"
        )
    numeric = {"score": pl.Float64(), "label": of_labels(label_dtype)}
    with as_invalid_data(name, content, kind):
        if kind == "trec":
            return from_lines(content, name, layout, numeric, say, comments=comments)
        return from_table(content, name, layout, numeric, kind, columns, must, say)


def renaming(columns: Mapping[str, str] | None) -> Mapping[str, str]:
    """New names of columns, each given once."""
    if columns is None:
        return {}
    if not isinstance(columns, Mapping) or not all(isinstance(x, str) for pair in columns.items() for x in pair):
        raise InvalidOption(f"columns={columns!r}: write a dictionary of new names, as columns={{'qid': 'query_id'}}")
    names = list(columns.values())
    if twice := [name for name in names if names.count(name) > 1]:
        raise InvalidOption(f"columns={columns!r}: two columns would be named {twice[0]!r}; rename one of them")
    return columns


def of_labels(dtype: DType) -> DType:
    """A type that labels can be read as."""
    is_type = isinstance(dtype, pl.DataType) or (isinstance(dtype, type) and issubclass(dtype, pl.DataType))
    if not is_type or not (dtype.is_integer() or dtype.is_float() or dtype == pl.String):
        raise InvalidOption(
            f"label_dtype={dtype!r}: write a type of whole numbers or floats, as pl.Int64 or pl.Float64, or pl.String to keep "
            "labels as they are written"
        )
    return dtype


def named_content(source: Source, layout: Layout) -> tuple[str, Content]:
    """The name of a source, and its path or bytes."""
    if isinstance(source, (str, os.PathLike)):
        path = os.fsdecode(source)
        if not os.path.exists(path):
            refuse_path(path, layout)
        name = spelled(path)
        return name, path if name == path else Path(path).read_bytes()  # Polars opens only names in UTF-8
    name = spelled(str(getattr(source, "name", "the input")))
    if not hasattr(source, "read"):
        raise InvalidOption(f"{no_source(source, layout)}. {layout.reader} reads a path, or an open file")
    try:
        data = source.read()
    except UnicodeDecodeError as error:
        raise InvalidData(
            f"{name}: {error.object[error.start : error.end]!r} is no {error.encoding}; open it in its encoding"
        ) from error
    except BROKEN as error:
        raise InvalidData(
            f"{name}: the compressed data are damaged or end early ({error}); fetch or write it anew"
        ) from error
    return name, data.encode() if isinstance(data, str) else bytes(data)


def refuse_path(path: str, layout: Layout) -> None:
    """Refuse a pattern, or a text in place of a path; other missing files raise Polars' error."""
    if "\n" in path:
        raise InvalidOption(f"{path[:40]!r}... is text, not a path; write rf.{layout.reader}(io.StringIO(text))")
    if "://" not in path and re.search(r"[*?\[]", path):
        raise InvalidOption(
            f"there is no file {path!r}, and a pattern names several; read each: "
            f"pl.concat([rf.{layout.reader}(path) for path in glob.glob({path!r})])"
        )


def no_source(given: object, layout: Layout) -> str:
    """Why something cannot be a source, and what to write instead."""
    kind = type(given).__name__
    if isinstance(given, (bytes, bytearray, memoryview)):
        return f"{kind} is the content of a file; write rf.{layout.reader}(io.BytesIO(content))"
    if isinstance(given, Mapping):
        value = layout.needed[-1]
        return (
            f"a {kind} is no file; write pl.DataFrame([(query, doc, {value}) for query, docs in given.items() for doc, "
            f"{value} in docs.items()], schema={list(layout.needed)}, orient='row')"
        )
    if hasattr(given, "columns"):
        return f"a {kind} is a table already; rank it as it is: rf.rank(table)"
    if isinstance(given, Iterable):
        return f"a {kind} may hold several files; read each: pl.concat([rf.{layout.reader}(path) for path in paths])"
    return f"{given!r} is no file"


def from_lines(
    content: Content, name: str, layout: Layout, numeric: Mapping[str, DType], say: Say, *, comments: bool
) -> Rows:
    """TREC text: fields separated by white space as C defines it, as in trec_eval; an id may hold a no-break space."""
    fields = pl.col("fields")
    n_fields, n = fields.list.len(), len(layout.fields)
    lines = (
        pl.scan_lines(content, name="line", row_index_name=NUMBER, row_index_offset=1, glob=False)
        .with_columns(fields=pl.col("line").str.strip_prefix("\ufeff").str.extract_all(r"[^ \t\r\x0b\x0c]+"))
        .filter(n_fields > 0)
    )
    if comments:
        lines = lines.filter(fields.list.first().str.starts_with("#").not_())
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
    return Rows(name, content, "trec", lines.select(NUMBER, **values, **{PROBLEM: problem}), dtypes, tuple(text))


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
        return Rows(name, content, kind, pl.LazyFrame(schema=schema), {}, tuple(columns))
    table = scan_table(content, kind, [*OTHER_NAMES, *(old for old, new in columns.items() if new in OTHER_NAMES)])
    stored = [column for column in table.collect_schema().names() if column != NUMBER]
    if kind in ("csv", "tsv"):
        refuse_twice(name, content, kind, stored, [*OTHER_NAMES, *columns])
    for old, new in columns.items():
        if new in must and old not in stored:
            raise MissingColumn(f"no column {old!r} for {new} in {name}; it has {', '.join(stored)}")
    renames = {old: new for old, new in columns.items() if old in stored}
    table = table.drop(set(renames.values()) & set(stored) - set(renames)).rename(renames)
    found = [renames.get(column, column) for column in stored]
    if lacking := [column for column in layout.needed if column not in found]:
        raise MissingColumn(missing(name, lacking, stored, say))
    if kind in ("ndjson", "parquet"):
        return Rows(name, content, kind, table, {}, stored)
    text = {column: pl.col(column) for column in OTHER_NAMES if column in found}
    values, misread = numbers(text, numeric)
    problem = pl.format("{}, row {}: {}", pl.lit(name), NUMBER, pl.coalesce(pl.lit(None, pl.String), *misread))
    dtypes = {column: numeric.get(column, pl.String()) for column in text}
    return Rows(name, content, kind, table.with_columns(**values, **{PROBLEM: problem}), dtypes, stored)


def scan_table(content: Content, kind: Format, text: list[str]) -> pl.LazyFrame:
    """The table as stored; for CSV the columns of `text` as text, with NUMBER, the number of the row."""
    if kind == "parquet":
        return pl.scan_parquet(content, glob=False)
    if kind == "ndjson":
        # The first rows alone may suggest a wrong type, or lack a column.
        return pl.scan_ndjson(content, infer_schema_length=None)
    return pl.scan_csv(
        content,
        separator=delimiter(kind),
        schema_overrides=dict.fromkeys(text, pl.String),
        infer_schema_length=10_000,
        row_index_name=NUMBER,
        row_index_offset=1,
        glob=False,
    )


def refuse_twice(name: str, content: Content, kind: Format, stored: Sequence[str], roles: Iterable[str]) -> None:
    """Refuse a header that names a needed column twice."""
    renamed = [column for column in roles if f"{column}_duplicated_0" in stored]  # Polars' name of the second one
    if renamed:
        header = pl.scan_csv(content, separator=delimiter(kind), has_header=False, infer_schema=False, glob=False)
        names = header.head(1).collect().row(0)
        for column in renamed:
            if names.count(column) > 1:
                raise InvalidData(
                    f"{name}: {names.count(column)} columns are named {column!r}; give each a name of its own"
                )


def is_empty(content: Content) -> bool:
    """Whether a source has no bytes at all."""
    if isinstance(content, bytes):
        return not content
    return Path(content).is_file() and not Path(content).stat().st_size


def missing(name: str, lacking: list[str], found: list[str], say: Say) -> str:
    """The advice for missing columns: new names for the likely ones, else how to name columns."""
    said = f"no column {', '.join(map(repr, lacking))} in {name}; it has {', '.join(found)}"
    plain = {column.lower().replace("-", "_"): column for column in reversed(found)}
    meant = {plain[other]: new for new in lacking for other in (new, *OTHER_NAMES[new]) if other in plain}
    if len(meant) == len(lacking):
        return f"{said}. Say {say('columns', meant)}"
    known = {new: old for old, new in meant.items()}
    named = say("columns", {known.get(new, f"its {new.removesuffix('_id')} column"): new for new in lacking})
    return f"{said}. Say {named}, or {say('format', 'trec')} if it is TREC text"


def spelled(name: str) -> str:
    """The name of a file as printable text; bytes that are not UTF-8 become a replacement mark."""
    return os.fsencode(name).decode(errors="replace")


def numbers(text: Mapping[str, pl.Expr], numeric: Mapping[str, DType]) -> tuple[dict[str, pl.Expr], list[pl.Expr]]:
    """The columns with numbers parsed from text, and for each of these the fault of the text, or null."""
    values = {column: number(raw, numeric[column]) if column in numeric else raw for column, raw in text.items()}
    return values, [
        pl.format(
            f"{column} '{{}}' is not a {{}}",
            pl.when(values[column].is_null()).then(text[column]),
            kind_of(text[column], numeric[column]),
        )
        for column in text
        if column in numeric
    ]


def kind_of(text: pl.Expr, dtype: DType) -> pl.Expr:
    """The expected form of a text that is not a number of the type."""
    if not dtype.is_integer():
        return pl.lit("number")
    value = text.cast(pl.Float64, strict=False)
    return (
        pl.when(value.is_finite() & (value == value.floor()))
        .then(pl.lit(f"number that {dtype} holds exactly (label_dtype=pl.Float64 rounds it)"))
        .otherwise(pl.lit("whole number (label_dtype=pl.Float64 keeps fractions)"))
    )


def number(text: pl.Expr, dtype: DType) -> pl.Expr:
    """The number that a text represents; null if it is none, or beyond the type."""
    if dtype == pl.String:
        return text
    value = text.cast(pl.Float64, strict=False)
    if dtype.is_float():
        return value.cast(dtype)
    exact = value.abs() < 2**53  # beyond, a float stands for several whole numbers
    whole = pl.when(exact & (value == value.floor())).then(value).cast(dtype, strict=False)  # such as 2.0 or 2e3
    return pl.coalesce(text.cast(dtype, strict=False), whole)
