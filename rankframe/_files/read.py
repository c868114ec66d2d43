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
PROBLEM = "__problem"
"""The column with the fault of a row, or null."""
NUMBER = "__number"
"""The column with the number of the row."""

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
    if tool is not None:
        tools: tuple[str, ...] = (tool,)
    elif layout.of_run:
        tools = ("quepid",)
    else:
        tools = ("beir", "quepid")
    there = {*columns}
    for header in HEADERS:
        if header.tool in tools and header.columns.keys() <= there:
            return header
    return None


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
            is_plain = type(error) is OSError and not error.errno
            if not is_plain or not can_be_read_again(self.content):
                raise  # the file is missing, or cannot be opened
            first_line = str(error).splitlines()[0]
            raise InvalidData(f"{self.name}: {damaged(first_line)}") from error
        except pl.exceptions.PolarsError as error:
            raise InvalidData(f"{self.name}{self._fault_of(error)}") from error

    def _fault_of(self, error: pl.exceptions.PolarsError) -> str:
        """What is wrong, after the file's name: the row, the line, or the words of Polars."""
        if isinstance(error, pl.exceptions.InvalidOperationError):
            # A row of lists is refused when the plan runs, with a message of ours.
            of_plan = failed(error)
            if of_plan is not None:
                return f": {of_plan[1]}"
        if self.format.content != "binary" and can_be_read_again(self.content):
            try:
                fault = first_fault(self.content, objects=self.format.objects)
            except BROKEN as broken:
                fault = f": {damaged(broken)}"
            if fault:
                return fault
        first_line = str(error).splitlines()[0]
        return f": {first_line}"


@dataclass(frozen=True)
class FileRows:
    """The rows of a file. Those read from text also have NUMBER and PROBLEM, the fault of the row
    or null.
    """

    file: SourceFile
    table: pl.LazyFrame
    stored: Collection[str]  # the columns' names in the file
    # the columns read from text, and their dtypes
    text: Mapping[str, DType] = field(default_factory=dict)
    unit: str = "row"

    def read(self, *, once: Sequence[str] = (), only: Container[str] | None = None) -> pl.DataFrame:
        """Read the rows, or raise InvalidData; `once` lists columns (if present) whose values
        together must be unique.

        With `only`, the other columns are not read, and are null.
        """
        with self.file.as_invalid_data():
            frame = self._collected(once, only)
        self._refuse_malformed(frame)
        keys = [name for name in once if name in frame.columns]
        plain = [name for name in keys if not frame.schema[name].is_nested()]
        if plain:
            has_number = NUMBER in frame.columns
            numbered = frame if has_number else frame.with_row_index(NUMBER, 1)
            place = f"{self.file.name}, "
            refuse_repeated(numbered, plain, NUMBER, self.unit, place)
        return frame.drop(PROBLEM, NUMBER, strict=False)

    def _collected(self, once: Sequence[str], only: Container[str] | None) -> pl.DataFrame:
        """The rows of the file, with null in the columns that are not read."""
        if only is None:
            looked_at = pl.col(*self.text, PROBLEM)
            return self._without_blank(self.table, looked_at).collect()
        own = (*self.text, *once, PROBLEM, NUMBER)
        columns = self.table.collect_schema().names()
        unread = [name for name in columns if name not in only and name not in own]
        table = self.table.with_columns(pl.lit(None).alias(name) for name in unread)
        return self._without_blank(table, pl.exclude(NUMBER)).collect()

    def _refuse_malformed(self, frame: pl.DataFrame) -> None:
        """Refuse rows of text with a fault, and show the first one."""
        if not self.text:
            return
        problems = frame.get_column(PROBLEM).drop_nulls()
        if len(problems):
            others = first_of(len(problems), "malformed line")
            raise InvalidData(problems[0] + others)

    def scan(self) -> pl.LazyFrame:
        """The rows as a plan. Each column read from text carries the check, so that no projection
        can drop it.
        """
        if not self.text:
            return self.table
        content = self.file.content
        if can_be_read_again(content):
            # A plan's error for bytes that are no text would not name the file.
            with self.file.as_invalid_data():
                n_null = pl.col("line").null_count()
                pl.scan_lines(content, glob=False).select(n_null).collect()
        is_fine = pl.col(PROBLEM).is_null()
        # This cast always fails, and its error shows the message.
        failure = pl.col(PROBLEM).cast(pl.Int8)
        checked = []
        for column, dtype in self.text.items():
            value = pl.when(is_fine).then(column).otherwise(failure.cast(dtype))
            checked.append(value.alias(column))
        looked_at = pl.col(*self.text, PROBLEM)
        rows = self._without_blank(self.table, looked_at)
        return rows.with_columns(checked).drop(PROBLEM, NUMBER)

    def _without_blank(self, table: pl.LazyFrame, columns: pl.Expr) -> pl.LazyFrame:
        """The rows of CSV with a value in any of the columns: a blank line has none, nor have
        separators alone.
        """
        if not self.file.format.separator or not self.text:
            return table
        has_value = pl.any_horizontal(columns.is_not_null())
        return table.filter(has_value)


def from_lines(file: SourceFile) -> FileRows:
    """TREC text: fields separated by C's white space, as in trec_eval; an id may hold a no-break
    space.
    """
    layout = file.layout
    fields = pl.col("fields")
    lines = _fields_of_lines(file, fields)
    texts = {}
    for name, i in layout.places.items():
        texts[name] = fields.list.get(i, null_on_oob=True)
    values, misread = numbers(texts, file.numeric)
    miscounted = _miscounted(layout, fields)
    fault = pl.coalesce(miscounted, *misread)
    line = pl.col("line").str.head(200)
    advice = f"'. Write '{layout.line}', or name the format of a table"
    place = f"{file.name}, line "
    problem = message(place, pl.col(NUMBER), ": ", fault, " in '", line, advice)
    rows = lines.select(NUMBER, **values, **{PROBLEM: problem})
    dtypes = {name: file.numeric.get(name, pl.String()) for name in texts}
    return FileRows(file, rows, tuple(texts), dtypes, "line")


def _fields_of_lines(file: SourceFile, fields: pl.Expr) -> pl.LazyFrame:
    """The lines with their numbers and fields, without blank ones and comments."""
    lines = pl.scan_lines(
        file.content, name="line", row_index_name=NUMBER, row_index_offset=1, glob=False
    )
    text = pl.col("line").str.strip_prefix("\ufeff")
    parts = text.str.extract_all(r"[^ \t\r\x0b\x0c]+")
    is_blank = fields.list.len() == 0
    is_comment = fields.list.first().str.starts_with("#")
    given = lines.with_columns(fields=parts).filter(~is_blank)
    return given.filter(~is_comment)


def _miscounted(layout: Layout, fields: pl.Expr) -> pl.Expr:
    """The fault of a line with another number of fields than the layout, or null."""
    n_needed = len(layout.line.split())
    n_fields = fields.list.len()
    fits = n_fields == n_needed
    if layout.of_run:
        # Words may follow the tag. An id with a blank moves the score into the tag's place, or a
        # word into the rank's.
        rank = fields.list.get(3, null_on_oob=True)
        tag = fields.list.get(5, null_on_oob=True)
        is_no_rank = ~rank.str.contains(r"^\d+$")
        is_number = tag.cast(pl.Float64, strict=False).is_not_null()
        is_moved = is_no_rank | is_number
        fits |= (n_fields > n_needed) & ~is_moved
    unit = pl.when(n_fields == 1).then(pl.lit("field")).otherwise(pl.lit("fields"))
    n_wrong = pl.when(~fits).then(n_fields)
    return pl.format("{} {} instead of {}", n_wrong, unit, pl.lit(n_needed))


class Names(NamedTuple):
    """The columns of a table under their new names.

    Attributes
    ----------
    renames
        New names by those in the file.
    columns
        All columns, by their new names.
    lacking
        The columns that the layout needs and the table has not.
    tool, of_header
        The tool whose header the table has, or None, and our names of the header's columns.
    """

    renames: dict[str, str]
    columns: list[str]
    lacking: list[str]
    tool: str | None
    of_header: Collection[str]


def from_table(file: SourceFile, tool: str | None = None) -> FileRows:
    """A file with named columns. CSV has no types: ids stay text, scores and labels must be
    numbers.
    """
    layout = file.layout
    is_text = file.format.content != "binary"
    stored = _stored_columns(file)
    if is_text and not stored:
        needed = {column: file.numeric.get(column, pl.String()) for column in layout.needed}
        no_rows = pl.LazyFrame(schema=needed)
        return FileRows(file, no_rows, tuple(file.columns))
    names = _names(file, stored, tool)
    texts = [*OTHER_NAMES, *names.of_header]
    if file.format.separator:
        refuse_twice(file, stored, [*OTHER_NAMES, *names.renames])
    unparsed = [old for old, new in names.renames.items() if new in texts]
    scan = cast("Any", file.format.scan)
    table = scan(file, [*dict.fromkeys(texts), *unparsed])
    table = renamed(table, names.renames, stored)
    if names.lacking:
        lists = None if "doc_id" in names.columns else of_lists(table, file)
        if lists is None:
            raise missing(file, names.lacking, stored)
        return FileRows(file, lists, stored)
    dtypes: dict[str, DType] = {}
    if file.format.separator:
        columns = [column for column in dict.fromkeys(texts) if column in names.columns]
        table = _with_parsed(table, file, columns, is_quepid=names.tool == "quepid")
        dtypes = {column: file.numeric.get(column, pl.String()) for column in columns}
    has_rank = "rank" in names.columns and "score" not in names.columns
    if names.tool is not None and has_rank:
        table = table.with_columns(score=1 / pl.col("rank"))
        if dtypes:
            dtypes["score"] = pl.Float64()
    return FileRows(file, table, stored, dtypes)


def _stored_columns(file: SourceFile) -> list[str]:
    """The names of the columns in a file, none if it is empty text."""
    if file.format.content != "binary" and is_empty(file.content):
        return []
    scan = cast("Any", file.format.scan)
    table = scan(file, [*OTHER_NAMES, *file.columns])
    return [column for column in table.collect_schema() if column != NUMBER]


def _names(file: SourceFile, stored: list[str], tool: str | None) -> Names:
    """The new names of a table's columns: those that the user gave, then those of a header."""
    needed = file.layout.needed
    for old, new in file.columns.items():
        if new in file.must and old not in stored:
            raise MissingColumn(
                f"no column {old!r} for {new} in {file.name}; it has {', '.join(stored)}"
            )
    renames = {old: new for old, new in file.columns.items() if old in stored}
    columns = [renames.get(column, column) for column in stored]
    lacking = [column for column in needed if column not in columns]
    header = header_of(stored, file.layout, tool) if lacking or tool else None
    if header is None:
        return Names(renames, columns, lacking, None, ())
    by_header = {old: new for old, new in header.columns.items() if new not in renames.values()}
    renames = by_header | renames
    columns = [renames.get(column, column) for column in stored]
    # A score is made from the rank.
    there = {*columns, "score"} if "rank" in columns else {*columns}
    lacking = [column for column in needed if column not in there]
    if lacking:
        absent = " and no ".join(lacking)
        raise MissingColumn(f"{file.name}, a table of {header.tool}, has no {absent}")
    return Names(renames, columns, lacking, header.tool, header.columns.values())


def _with_parsed(
    table: pl.LazyFrame, file: SourceFile, columns: Sequence[str], *, is_quepid: bool
) -> pl.LazyFrame:
    """The table with its text parsed, and PROBLEM, the fault of a row or null."""
    if is_quepid:
        # Quepid puts a space before formulas.
        ids = pl.col("query_id", "doc_id")
        table = table.with_columns(ids.str.replace("^ ([-=+@])", "${1}"))
    texts = {column: pl.col(column) for column in columns}
    values, misread = numbers(texts, file.numeric)
    fault = pl.coalesce(pl.lit(None, pl.String), *misread)
    problem = message(f"{file.name}, row ", pl.col(NUMBER), ": ", fault)
    return table.with_columns(**values, **{PROBLEM: problem})


def renamed(
    table: pl.LazyFrame, renames: Mapping[str, str], stored: Collection[str]
) -> pl.LazyFrame:
    """The table with its columns renamed; a column that already has a new name is left out."""
    new_names = {*renames.values()}
    staying = {*stored} - {*renames}
    return table.drop(new_names & staying).rename(renames)


def of_lists(table: pl.LazyFrame, file: SourceFile) -> pl.LazyFrame | None:
    """The long table of rows with lists of documents; None if there are none."""
    of_run = file.layout.of_run
    columns = table.collect_schema().names()
    list_column = "retrieved" if of_run else "relevant"
    if list_column not in columns or "query_id" not in columns:
        return None
    if not of_run:
        no_documents = pl.lit([], pl.List(pl.Null))
        table = table.drop("retrieved", "scores", strict=False)
        table = table.with_columns(retrieved=no_documents)
    schema = table.collect_schema()
    roles = ("relevant", "scores", "labels")
    lists: Any = {role: role if role in schema else None for role in roles}
    of_query = ("query_id", "retrieved", *lists.values())
    carry = [column for column in schema if column not in of_query]
    try:
        long = from_lists(table, **lists, carry=carry)
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
    source = file.content if plain else glob.escape(str(file.content))
    return pl.scan_ndjson(source, infer_schema_length=None)


def scan_csv(file: SourceFile, text: list[str]) -> pl.LazyFrame:
    """CSV or TSV, with NUMBER, the number of the row."""
    number: Any = {"row_index_name": NUMBER, "row_index_offset": 1}
    as_text = dict.fromkeys(text, pl.String)
    types: Any = {"schema_overrides": as_text, "infer_schema_length": 10_000}
    separator = file.format.separator
    return pl.scan_csv(file.content, separator=separator, **types, **number, glob=False)


def refuse_twice(file: SourceFile, stored: Sequence[str], roles: Sequence[str]) -> None:
    """Refuse a header that names a needed column twice."""
    # Polars renames the second column of a name so.
    again = [column for column in roles if f"{column}_duplicated_0" in stored]
    if not again:
        return
    options: dict[str, Any] = {"has_header": False, "infer_schema": False, "glob": False}
    lines = pl.scan_csv(file.content, separator=file.format.separator, **options)
    header = lines.head(1).collect().row(0)
    for column in again:
        refuse_same_name(column, header.count(column), f"{file.name}: ")


def missing(file: SourceFile, lacking: list[str], stored: list[str]) -> MissingColumn:
    """The error for missing columns, with the names of those that are likely meant."""
    by_plain_name = {}
    for column in reversed(stored):
        by_plain_name[column.lower().replace("-", "_")] = column
    meant = {}
    for new in lacking:
        short = new.removesuffix("_id")
        likely = [by_plain_name[x] for x in OTHER_NAMES[new] if x in by_plain_name]
        old = likely[0] if likely else f"its {short} column"
        meant[old] = new
    options = []
    for old, new in meant.items():
        short = new.removesuffix("_id")
        options.append(f"--{short} {shlex.quote(old)}")
    command = " ".join(options)
    code = Code(f"columns={meant}", command=command, phrase=". Say {}")
    names = ", ".join(map(repr, lacking))
    there = ", ".join(stored)
    return MissingColumn(f"no column {names} in {file.name}; it has {there}", code)


# numbers in text


def numbers(
    text: Mapping[str, pl.Expr], numeric: Mapping[str, DType]
) -> tuple[dict[str, pl.Expr], list[pl.Expr]]:
    """The columns with numbers parsed from text, and for each numeric column the fault of its text,
    or null.
    """
    values = {}
    for column, raw in text.items():
        values[column] = number(raw, numeric[column]) if column in numeric else raw
    if "label" in values and numeric["label"].is_float():
        label = values["label"]
        values["label"] = pl.when(label.is_finite()).then(label)
    faults = []
    for column in filter(numeric.__contains__, text):
        given = pl.when(values[column].is_null()).then(text[column])
        kind = kind_of(numeric[column], column)
        fault = f"{column} '{{}}' is not a {kind}"
        faults.append(pl.format(fault, given))
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
    is_exact = value.abs() < 2**53  # larger floats stand for several whole numbers
    is_whole = value == value.floor()  # such as 2.0 or 2e3
    whole = pl.when(is_exact & is_whole).then(value)
    as_written = text.cast(dtype, strict=False)
    return pl.coalesce(as_written, whole.cast(dtype, strict=False))
