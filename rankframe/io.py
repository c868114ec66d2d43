"""Reading runs and judgments: TREC text, Parquet, CSV, TSV and NDJSON, and the example table."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import IO, Any, Literal, NamedTuple, TypeAlias, get_args

import polars as pl

from ._table import USUAL_NAMES
from .errors import InvalidData, InvalidOption, MissingColumn

__all__ = ["load_example", "read_qrels", "read_run", "scan_qrels", "scan_run"]

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


def read_run(source: Source, *, format: Format | None = None, columns: Mapping[str, str] | None = None) -> pl.DataFrame:
    r"""What a system returned: one row per query and document, with its score.

    The file's name says what it holds: ``.parquet``, ``.csv``, ``.tsv``, ``.ndjson`` or ``.jsonl``; any other
    name means TREC text. Text may be compressed (``.gz``, ``.zst``).

    A line of TREC text has six fields, ``query_id Q0 doc_id rank score tag``, parted by spaces or tabs. Q0
    and rank are ignored, as in trec_eval: the score alone makes the order. Blank lines, lines that start with
    ``#``, a byte-order mark and Windows line ends are passed over. trec_eval also ignores what follows the
    tag; here that is an error, since most often it comes from a space inside an id, which moves the score. A
    score of ``nan`` is read as NaN, and refused when the table is evaluated.

    Parameters
    ----------
    source
        A path, or an open file (its format is TREC text unless said).
    format
        ``"trec"``, ``"csv"``, ``"tsv"``, ``"ndjson"`` or ``"parquet"``, whatever the name says.
    columns
        New names for the columns of a file that names them: ``{"qid": "query_id"}``. A column that
        already has the new name is left out.

    Returns
    -------
    pl.DataFrame
        From TREC text ``query_id``, ``doc_id`` (String), ``score`` (Float64), ``run`` (String: the tag). From
        other files all their columns. From CSV and TSV ids are String (``007`` stays ``007``) and scores
        Float64, an empty one null, as one that a row lacks; the other formats hold types of their own, which stay.

    Raises
    ------
    InvalidData
        A malformed line, with its number and what to write instead.
    MissingColumn
        A file with named columns that lacks ``query_id``, ``doc_id`` or ``score``.

    Examples
    --------
    >>> import io, rankframe as rf
    >>> rf.read_run(io.StringIO("q1 Q0 d1 1 2.5 mine\nq1 Q0 d2 2 2 mine")).rows()
    [('q1', 'd1', 2.5, 'mine'), ('q1', 'd2', 2.0, 'mine')]
    """
    return rows(source, RUN, format=format, columns=columns).read()


def read_qrels(
    source: Source,
    *,
    format: Format | None = None,
    columns: Mapping[str, str] | None = None,
    label_dtype: DType = pl.Int64,
) -> pl.DataFrame:
    r"""What the judges said: one row per query and document, with its label.

    As :func:`read_run`, but the four fields of TREC text are ``query_id iteration doc_id label``.

    Parameters
    ----------
    source
        A path, or an open file (its format is TREC text unless said).
    format
        ``"trec"``, ``"csv"``, ``"tsv"``, ``"ndjson"`` or ``"parquet"``, whatever the name says.
    columns
        New names for the columns of a file that names them: ``{"relevance": "label"}``. A column that already
        has the new name is left out.
    label_dtype
        The type of a label read from text. The default, Int64, refuses a label of 1.5 (trec_eval makes it 1);
        ``pl.Float64`` keeps it.

    Returns
    -------
    pl.DataFrame
        From TREC text ``query_id``, ``iteration``, ``doc_id`` (String), ``label``. From other files all their
        columns.

    Raises
    ------
    InvalidData
        A malformed line, with its number and what to write instead.
    MissingColumn
        A file with named columns that lacks ``query_id``, ``doc_id`` or ``label``.

    Examples
    --------
    >>> import io, rankframe as rf
    >>> rf.read_qrels(io.StringIO("q1 0 d1 2\nq1 0 d3 0")).rows()
    [('q1', '0', 'd1', 2), ('q1', '0', 'd3', 0)]
    """
    return rows(source, QRELS, format=format, columns=columns, label_dtype=label_dtype).read()


def scan_run(source: Source, *, format: Format | None = None, columns: Mapping[str, str] | None = None) -> pl.LazyFrame:
    """:func:`read_run` as a lazy table: the file is read when the plan runs.

    A malformed line is then an error of Polars (``InvalidOperationError``) that says the same, from any plan
    that reads a column of that line, also where a filter would have dropped it.

    Examples
    --------
    >>> import io, rankframe as rf
    >>> rf.scan_run(io.StringIO("q1 Q0 d1 1 2.5 mine")).select("doc_id", "score").collect().rows()
    [('d1', 2.5)]
    """
    return rows(source, RUN, format=format, columns=columns).scan()


def scan_qrels(
    source: Source,
    *,
    format: Format | None = None,
    columns: Mapping[str, str] | None = None,
    label_dtype: DType = pl.Int64,
) -> pl.LazyFrame:
    """:func:`read_qrels` as a lazy table: the file is read when the plan runs.

    Examples
    --------
    >>> import io, rankframe as rf
    >>> rf.scan_qrels(io.StringIO("q1 0 d1 2")).select("doc_id", "label").collect().rows()
    [('d1', 2)]
    """
    return rows(source, QRELS, format=format, columns=columns, label_dtype=label_dtype).scan()


def load_example() -> pl.DataFrame:
    """A small real judged table: handwritten digits, searched with handwritten digits.

    120 images are queries and 1,077 others the documents; three scorers return 50 documents each, and the
    first 30 of each scorer were judged, as in TREC's pools. So some returned documents are unjudged, and some
    judged ones were not returned by the scorer you look at: what the two kinds of null say.

    Returns
    -------
    pl.DataFrame
        10,742 rows: ``query_id``, ``doc_id``, ``digit`` (in the query's image), ``doc_digit`` (in the
        document's, null where no judge looked), ``score`` (cosine of the pixels), ``score_pca`` (negative
        distance in six principal components), ``score_forest`` (a random forest's probability, with many
        ties), ``label`` (2: the same digit, 1: the digit that looks most like it, 0: another one, null: not
        judged). A score is null where its scorer did not return the document.

    Examples
    --------
    >>> import rankframe as rf
    >>> rf.load_example().columns
    ['query_id', 'doc_id', 'digit', 'doc_digit', 'score', 'score_pca', 'score_forest', 'label']
    """
    return pl.read_parquet(files("rankframe").joinpath("data", "digits.parquet").read_bytes())


@dataclass(frozen=True)
class Rows:
    """The rows of a file. Those read from text have the column PROBLEM: what is wrong with a row, or null."""

    name: str
    table: pl.LazyFrame
    text: Mapping[str, DType]  # the columns read from text, and what they become

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
        name, content = str(source), source
    else:
        name, data = str(getattr(source, "name", "the input")), source.read()
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
    return Rows(name, lines.select(**values, **{PROBLEM: problem}), dtypes)


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
        return Rows(name, pl.LazyFrame(schema=schema), {})
    table = scan_table(content, kind, [*OTHER_NAMES, *(old for old, new in columns.items() if new in OTHER_NAMES)])
    found = [column for column in table.collect_schema().names() if column != NUMBER]
    for old, new in columns.items():
        if new in must and old not in found:
            raise MissingColumn(f"no column {old!r} for {new} in {name}; it has {', '.join(found)}")
    renames = {old: new for old, new in columns.items() if old in found}
    table = table.drop(set(renames.values()) & set(found) - set(renames)).rename(renames)
    found = [renames.get(column, column) for column in found]
    if lacking := [column for column in layout.needed if column not in found]:
        raise MissingColumn(missing(name, lacking, found, say))
    if kind in ("ndjson", "parquet"):
        return Rows(name, table, {})
    text = {column: pl.col(column) for column in OTHER_NAMES if column in found}
    values, misread = numbers(text, numeric)
    problem = pl.format("{}, row {}: {}", pl.lit(name), NUMBER, pl.coalesce(pl.lit(None, pl.String), *misread))
    dtypes = {column: numeric.get(column, pl.String()) for column in text}
    return Rows(name, table.with_columns(**values, **{PROBLEM: problem}).drop(NUMBER), dtypes)


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
    named = say("columns", {"its name": lacking[0]})
    return f"{said}. Say {named}, or {say('format', 'trec')} if it is TREC text"


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
