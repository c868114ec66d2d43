"""What a file holds, and the readers of TREC text and of tables with named columns; rows are
checked while they are read.
"""

from __future__ import annotations

import glob
import shlex
from collections.abc import Callable, Collection, Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeAlias, cast

import polars as pl

from .._shapes.lists import from_lists, message
from .._table.columns import failed
from .._table.roles import USUAL_NAMES
from .._table.table import refuse_same_name
from ..errors import Code, InvalidData, MissingColumn, RankframeError
from .sources import BROKEN, Content, can_be_read_again, damaged, first_fault, is_empty
from .writable import Writer, first_of, refuse_repeated

DType: TypeAlias = pl.DataType | type[pl.DataType]
PROBLEM, NUMBER = (
    "__problem",
    "__number",
)  # the fault of a row (null: none), and the number of the row

OF_FILES = ("query_id", "doc_id", "score", "label")
OTHER_NAMES = {name: (name, *USUAL_NAMES[name.removesuffix("_id")]) for name in OF_FILES}
OTHER_NAMES["label"] += ("score",)


class Layout(NamedTuple):
    """A line of TREC text, the places of its columns, the columns that other files need, and the
    function that reads them.
    """

    line: str
    places: Mapping[str, int]
    needed: tuple[str, ...]
    reader: str

    @property
    def of_run(self) -> bool:
        """Whether the file is to hold a run."""
        return self.reader == "read_run"


OF_RUN = {"query_id": 0, "doc_id": 2, "score": 4, "run": 5}
OF_QRELS = {"query_id": 0, "iteration": 1, "doc_id": 2, "label": 3}
RUN = Layout(
    "query_id Q0 doc_id rank score tag", OF_RUN, ("query_id", "doc_id", "score"), "read_run"
)
QRELS = Layout(
    "query_id iteration doc_id label", OF_QRELS, ("query_id", "doc_id", "label"), "read_qrels"
)

PREFERENCES = Layout(
    "query_id judgment_group judgment_subgroup doc_id label",
    {"query_id": 0, "judgment_group": 1, "judgment_subgroup": 2, "doc_id": 3, "label": 4},
    *QRELS[2:],
)


class Header(NamedTuple):
    """The columns that identify a tool's table, with our names for them."""

    tool: Literal["beir", "quepid"]
    columns: Mapping[str, str]


OF_QUEPID = {"Query Text": "query_id", "Doc ID": "doc_id", "Doc Position": "rank"}
HEADERS = (
    Header("beir", {"query-id": "query_id", "corpus-id": "doc_id", "score": "label"}),
    Header("quepid", {"query": "query_id", "docid": "doc_id", "rating": "label"}),
    Header("quepid", {"query": "query_id", "doc_id": "doc_id", "rating": "label"}),
    Header("quepid", {**OF_QUEPID, "Rating": "label"}),  # the export Detailed
    Header("quepid", {**OF_QUEPID, "Snapshot Name": "run"}),
    Header(
        "quepid",
        {"Query Text": "query_id", "Score": "score", "Date Last Scored": "Date Last Scored"},
    ),  # General
)


def header_of(columns: Collection[str], layout: Layout, tool: str | None = None) -> Header | None:
    """The tool's table that has these columns; BEIR's for a run only if `tool` names it, since
    BEIR's files are judgments.
    """
    tools = (tool,) if tool else ("quepid",) if layout.of_run else ("beir", "quepid")
    return next((x for x in HEADERS if x.columns.keys() <= {*columns} and x.tool in tools), None)


class FileFormat(NamedTuple):
    """A format: its name, its reader and writer, and how files are known to have it.

    Attributes
    ----------
    read
        The rows of a `SourceFile`; a reader of tables also takes the name of the tool that wrote
        the table.
    suffixes
        The endings of files.
    known
        Whether a file without a known ending has the format, by its start; None if only the name
        tells.
    write
        The writer of judgments, with its checks.
    scan
        The columns of a table in a file; those of the given names are not parsed.
    content
        What files are: text made of lines, other text, or binary.
    separator, objects
        Of text: what separates the fields of a line; whether each line is an object of JSON.
    """

    name: str
    read: Callable[..., FileRows]
    suffixes: tuple[str, ...] = ()
    known: Callable[[Start], bool] | None = None
    write: Writer | None = None
    scan: Callable[[SourceFile, list[str]], pl.LazyFrame] | None = None
    content: Literal["lines", "text", "binary"] = "lines"
    separator: str = ""
    objects: bool = False


class Start(NamedTuple):
    """The start of a file: its name, its first lines that are not blank, and what it is to hold."""

    suffix: str
    lines: Sequence[str]
    layout: Layout


@dataclass(frozen=True)
class SourceFile:
    """A file to read.

    Attributes
    ----------
    name, content
        The name of the source, and its path or bytes.
    layout
        What the file is to hold.
    numeric
        The types of the columns with numbers.
    columns
        New names of columns; a column that gets one of the names `must` has to exist.
    """

    name: str
    content: Content
    format: FileFormat
    layout: Layout
    numeric: Mapping[str, DType] = field(default_factory=dict)
    columns: Mapping[str, str] = field(default_factory=dict)
    must: Container[str] = ()

    @contextmanager
    def as_invalid_data(self) -> Iterator[None]:
        """Turn errors of reading into InvalidData that names the file and, where it can be found,
        the line.
        """
        try:
            yield
        except OSError as error:
            if type(error) is not OSError or error.errno or not can_be_read_again(self.content):
                raise  # the file is missing, or cannot be opened
            raise InvalidData(f"{self.name}: {damaged(str(error).splitlines()[0])}") from error
        except pl.exceptions.PolarsError as error:
            fault = (
                failed(error) if isinstance(error, pl.exceptions.InvalidOperationError) else None
            )
            found = (
                None if fault is None else f": {fault[1]}"
            )  # a row of lists that is refused when the plan runs
            if (
                found is None
                and self.format.content != "binary"
                and can_be_read_again(self.content)
            ):
                try:
                    found = first_fault(self.content, objects=self.format.objects)
                except BROKEN as broken:
                    found = f": {damaged(broken)}"
            raise InvalidData(f"{self.name}{found or ': ' + str(error).splitlines()[0]}") from error


@dataclass(frozen=True)
class FileRows:
    """The rows of a file. Those read from text also have NUMBER and PROBLEM, the fault of the row
    or null.
    """

    file: SourceFile
    table: pl.LazyFrame
    stored: Collection[str]  # the columns' names in the file
    text: Mapping[str, DType] = field(
        default_factory=dict
    )  # the columns read from text, and their dtypes
    unit: str = "row"

    def read(self, *, once: Sequence[str] = (), only: Container[str] | None = None) -> pl.DataFrame:
        """Read the rows, or raise InvalidData; `once` lists columns (if present) whose values
        together must be unique.

        With `only`, the other columns are not read, and are null.
        """
        with self.file.as_invalid_data():
            table = self.table
            if only is not None:
                own = (*self.text, *once, PROBLEM, NUMBER)
                unread = [
                    name for name in table.collect_schema() if name not in only and name not in own
                ]
                table = table.with_columns(pl.lit(None).alias(name) for name in unread)
            looked_at = pl.col(*self.text, PROBLEM) if only is None else pl.exclude(NUMBER)
            frame = self._without_blank(table, looked_at).collect()
        if self.text and len(problems := frame.get_column(PROBLEM).drop_nulls()):
            raise InvalidData(problems[0] + first_of(len(problems), "malformed line"))
        plain = [
            name for name in once if name in frame.columns and not frame.schema[name].is_nested()
        ]
        if plain:
            numbered = frame if NUMBER in frame.columns else frame.with_row_index(NUMBER, 1)
            refuse_repeated(numbered, plain, NUMBER, self.unit, f"{self.file.name}, ")
        return frame.drop(PROBLEM, NUMBER, strict=False)

    def scan(self) -> pl.LazyFrame:
        """The rows as a plan. Each column read from text carries the check, so that no projection
        can drop it.
        """
        if not self.text:
            return self.table
        if can_be_read_again(
            self.file.content
        ):  # a plan's error for bytes that are no text would not name the file
            with self.file.as_invalid_data():
                pl.scan_lines(self.file.content, glob=False).select(
                    pl.col("line").null_count()
                ).collect()
        failure = pl.col(PROBLEM).cast(
            pl.Int8
        )  # this cast always fails, and its error shows the message
        fine = pl.when(pl.col(PROBLEM).is_null())
        checked = (
            fine.then(x).otherwise(failure.cast(dtype)).alias(x) for x, dtype in self.text.items()
        )
        rows = self._without_blank(self.table, pl.col(*self.text, PROBLEM))
        return rows.with_columns(checked).drop(PROBLEM, NUMBER)

    def _without_blank(self, table: pl.LazyFrame, columns: pl.Expr) -> pl.LazyFrame:
        """The rows of CSV with a value in any of the columns: a blank line has none, nor have
        separators alone.
        """
        given = pl.any_horizontal(columns.is_not_null())
        return table.filter(given) if self.file.format.separator and self.text else table


def from_lines(file: SourceFile) -> FileRows:
    """TREC text: fields separated by C's white space, as in trec_eval; an id may hold a no-break
    space.
    """
    layout, fields, n = file.layout, pl.col("fields"), len(file.layout.line.split())
    n_fields = fields.list.len()
    lines = pl.scan_lines(
        file.content, name="line", row_index_name=NUMBER, row_index_offset=1, glob=False
    )
    parts = pl.col("line").str.strip_prefix("\ufeff").str.extract_all(r"[^ \t\r\x0b\x0c]+")
    lines = lines.with_columns(fields=parts).filter(n_fields > 0)
    lines = lines.filter(fields.list.first().str.starts_with("#").not_())  # comments
    text = {name: fields.list.get(i, null_on_oob=True) for name, i in layout.places.items()}
    values, misread = numbers(text, file.numeric)
    unit = pl.when(n_fields == 1).then(pl.lit("field")).otherwise(pl.lit("fields"))
    fits = n_fields == n
    # words may follow the tag; an id with a blank moves the score into its place, or a word into
    # the rank's
    if layout.of_run:
        rank, tag = (fields.list.get(i, null_on_oob=True) for i in (3, 5))
        is_moved = ~rank.str.contains(r"^\d+$") | tag.cast(pl.Float64, strict=False).is_not_null()
        fits |= (n_fields > n) & ~is_moved
    miscounted = pl.format("{} {} instead of {}", pl.when(~fits).then(n_fields), unit, pl.lit(n))
    advice = f"'. Write '{layout.line}', or name the format of a table"
    fault, shown = pl.coalesce(miscounted, *misread), pl.col("line").str.head(200)
    problem = message(f"{file.name}, line ", pl.col(NUMBER), ": ", fault, " in '", shown, advice)
    dtypes = {name: file.numeric.get(name, pl.String()) for name in text}
    return FileRows(
        file, lines.select(NUMBER, **values, **{PROBLEM: problem}), tuple(text), dtypes, "line"
    )


def from_table(file: SourceFile, tool: str | None = None) -> FileRows:
    """A file with named columns. CSV has no types: ids stay text, scores and labels must be
    numbers.
    """
    layout, is_text, scan = (
        file.layout,
        file.format.content != "binary",
        cast("Any", file.format.scan),
    )
    schema = (
        {}
        if is_text and is_empty(file.content)
        else scan(file, [*OTHER_NAMES, *file.columns]).collect_schema()
    )
    stored = [column for column in schema if column != NUMBER]
    if is_text and not stored:
        needed = {column: file.numeric.get(column, pl.String()) for column in layout.needed}
        return FileRows(file, pl.LazyFrame(schema=needed), tuple(file.columns))
    for old, new in file.columns.items():
        if new in file.must and old not in stored:
            raise MissingColumn(
                f"no column {old!r} for {new} in {file.name}; it has {', '.join(stored)}"
            )
    renames = {old: new for old, new in file.columns.items() if old in stored}
    lacking = [
        column for column in layout.needed if column not in {renames.get(x, x) for x in stored}
    ]
    header = header_of(stored, layout, tool) if lacking or tool else None
    names = {} if header is None else header.columns
    renames = {old: new for old, new in names.items() if new not in renames.values()} | renames
    found = [renames.get(column, column) for column in stored]
    if header is not None:
        lacking = [
            x for x in layout.needed if x not in (*found, "score" if "rank" in found else "")
        ]
        if lacking:
            raise MissingColumn(
                f"{file.name}, a table of {header.tool}, has no {' and no '.join(lacking)}"
            )
    text = dict.fromkeys([*OTHER_NAMES, *names.values()])
    if file.format.separator:
        refuse_twice(file, stored, [*OTHER_NAMES, *renames])
    table = scan(file, [*text, *(old for old, new in renames.items() if new in text)])
    table = renamed(table, renames, stored)
    if lacking:
        lists = of_lists(table, file) if "doc_id" not in found else None
        if lists is None:
            raise missing(file, lacking, stored)
        return FileRows(file, lists, stored)
    dtypes: dict[str, DType] = {}
    if file.format.separator:
        raw = {column: pl.col(column) for column in text if column in found}
        if header is not None and header.tool == "quepid":  # Quepid puts a space before formulas
            ids = pl.col("query_id", "doc_id")
            table = table.with_columns(ids.str.replace("^ ([-=+@])", "${1}"))
        values, misread = numbers(raw, file.numeric)
        faults = pl.coalesce(pl.lit(None, pl.String), *misread)
        problem = message(f"{file.name}, row ", pl.col(NUMBER), ": ", faults)
        table = table.with_columns(**values, **{PROBLEM: problem})
        dtypes = {column: file.numeric.get(column, pl.String()) for column in raw}
    if header is not None and "rank" in found and "score" not in found:
        table = table.with_columns(score=1 / pl.col("rank"))
        dtypes |= {"score": pl.Float64()} if dtypes else {}
    return FileRows(file, table, stored, dtypes)


def renamed(
    table: pl.LazyFrame, renames: Mapping[str, str], stored: Collection[str]
) -> pl.LazyFrame:
    """The table with its columns renamed; a column that already has a new name is left out."""
    return table.drop({*renames.values()} & {*stored} - {*renames}).rename(renames)


def of_lists(table: pl.LazyFrame, file: SourceFile) -> pl.LazyFrame | None:
    """The long table of rows with lists of documents; None if there are none."""
    columns, of_run = table.collect_schema().names(), file.layout.of_run
    if ("retrieved" if of_run else "relevant") not in columns or "query_id" not in columns:
        return None
    if not of_run:
        table = table.drop("retrieved", "scores", strict=False).with_columns(
            retrieved=pl.lit([], pl.List(pl.Null))
        )
    schema = table.collect_schema()
    relevant, scores, labels = (
        role if role in schema else None for role in ("relevant", "scores", "labels")
    )
    carry = [
        column
        for column in schema
        if column not in ("query_id", "retrieved", relevant, scores, labels)
    ]
    try:
        long = from_lists(table, relevant=relevant, scores=scores, labels=labels, carry=carry)
    except RankframeError as error:
        raise type(error)(f"{file.name}: ", *error.parts) from error
    return long if of_run else long.drop("score")


def scan_parquet(file: SourceFile, text: list[str]) -> pl.LazyFrame:
    """A Parquet file."""
    return pl.scan_parquet(file.content, glob=False)


def scan_ipc(file: SourceFile, text: list[str]) -> pl.LazyFrame:
    """An Arrow file."""
    return pl.scan_ipc(file.content, glob=False)


def scan_ndjson(file: SourceFile, text: list[str]) -> pl.LazyFrame:
    """JSON lines. All rows decide the schema: the first ones may suggest a wrong type, or lack a
    column.
    """
    plain = isinstance(file.content, bytes) or not can_be_read_again(file.content)
    return pl.scan_ndjson(
        file.content if plain else glob.escape(str(file.content)), infer_schema_length=None
    )


def scan_csv(file: SourceFile, text: list[str]) -> pl.LazyFrame:
    """CSV or TSV, with NUMBER, the number of the row."""
    number: Any = {"row_index_name": NUMBER, "row_index_offset": 1}
    types: Any = {"schema_overrides": dict.fromkeys(text, pl.String), "infer_schema_length": 10_000}
    return pl.scan_csv(file.content, separator=file.format.separator, **types, **number, glob=False)


def refuse_twice(file: SourceFile, stored: Sequence[str], roles: Sequence[str]) -> None:
    """Refuse a header that names a needed column twice."""
    renamed = [
        column for column in roles if f"{column}_duplicated_0" in stored
    ]  # Polars renames the second one so
    if renamed:
        options: dict[str, Any] = {"has_header": False, "infer_schema": False, "glob": False}
        header = (
            pl.scan_csv(file.content, separator=file.format.separator, **options)
            .head(1)
            .collect()
            .row(0)
        )
        for column in renamed:
            refuse_same_name(column, header.count(column), f"{file.name}: ")


def missing(file: SourceFile, lacking: list[str], stored: list[str]) -> MissingColumn:
    """The error for missing columns, with the names of those that are likely meant."""
    plain = {column.lower().replace("-", "_"): column for column in reversed(stored)}
    there = {new: next((plain[x] for x in OTHER_NAMES[new] if x in plain), None) for new in lacking}
    meant = {name or f"its {new.removesuffix('_id')} column": new for new, name in there.items()}
    names = ", ".join(map(repr, lacking))
    options = " ".join(
        f"--{new.removesuffix('_id')} {shlex.quote(old)}" for old, new in meant.items()
    )
    code = Code(f"columns={meant}", command=options, phrase=". Say {}")
    return MissingColumn(f"no column {names} in {file.name}; it has {', '.join(stored)}", code)


# numbers in text


def numbers(
    text: Mapping[str, pl.Expr], numeric: Mapping[str, DType]
) -> tuple[dict[str, pl.Expr], list[pl.Expr]]:
    """The columns with numbers parsed from text, and for each numeric column the fault of its text,
    or null.
    """
    values = {
        column: number(raw, numeric[column]) if column in numeric else raw
        for column, raw in text.items()
    }
    if "label" in values and numeric["label"].is_float():
        values["label"] = pl.when(values["label"].is_finite()).then(values["label"])
    faults = []
    for column in filter(numeric.__contains__, text):
        given = pl.when(values[column].is_null()).then(text[column])
        faults.append(
            pl.format(f"{column} '{{}}' is not a {kind_of(numeric[column], column)}", given)
        )
    return values, faults


def kind_of(dtype: DType, column: str) -> str:
    """The numbers that a column holds."""
    if column != "label":
        return "whole number" if dtype.is_integer() else "number"
    whole = f"whole number that {dtype} holds exactly (label_dtype=pl.Float64 reads others)"
    return whole if dtype.is_integer() else "finite number"


def number(text: pl.Expr, dtype: DType) -> pl.Expr:
    """The number that a text represents; null if it is not a number, NaN, or beyond the type's
    range.
    """
    if dtype == pl.String:
        return text
    value = text.cast(pl.Float64, strict=False).fill_nan(None)
    if dtype.is_float():
        return value.cast(dtype)
    exact = value.abs() < 2**53  # larger floats stand for several whole numbers
    whole = (
        pl.when(exact & (value == value.floor())).then(value).cast(dtype, strict=False)
    )  # such as 2.0 or 2e3
    return pl.coalesce(text.cast(dtype, strict=False), whole)
