"""Turn a frame into a table that a file can hold, with checked ids and numbers, and write judgments
in each format.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import IO, NamedTuple, TypeAlias

import polars as pl
import polars.selectors as cs

from .._shapes.lists import missing, table_of
from .._support.arrow_stream import ArrowStream
from ..errors import InvalidData, warn

WritableFrame: TypeAlias = pl.DataFrame | pl.LazyFrame | ArrowStream
"""A LazyFrame, or a table with the Arrow PyCapsule interface, as DataFrames of Polars and pandas
have it."""

ROW = "#row"
WHITE = r"[\s\x1c-\x1f]"
"""White space of Python's str.split, which includes more characters than C's."""


class Unfit(NamedTuple):
    """A pattern that an id must not match in a file, and the message if it does."""

    pattern: str
    problem: str


BLANK = Unfit(WHITE, "holds white space, which separates fields there; replace it")
OF_COMMENTS = (
    "starts as a comment, a byte-order mark or JSON does, and readers take it for one; put a "
    "letter before it"
)
COMMENT = Unfit('^(#|\ufeff|[{]["}])', OF_COMMENTS)
BREAK = Unfit(
    r"[\t\r\n]", "holds a tab or a line break, which ends fields or lines there; replace it"
)
OF_WHITE = "starts or ends with white space, or holds a line break, which Quepid removes; do so"
PADDED = Unfit(rf"^{WHITE}|{WHITE}$|[\r\n]", OF_WHITE)


class Writer(NamedTuple):
    """A format: the checks of its ids and numbers, and the function that writes a table."""

    query: tuple[Unfit, ...]
    doc: tuple[Unfit, ...]
    write: Callable[[pl.DataFrame, IO[bytes]], object]
    # other columns that it can hold, with their defaults
    further: Mapping[str, str | None] = MappingProxyType({})
    # whether labels must be whole numbers
    whole: bool = True
    # whether the format can hold a query without documents
    keeps_empty: bool = False


def writable(
    frame: WritableFrame, names: Mapping[str, str], writer: Writer, fixed: Mapping[str, str | None]
) -> pl.DataFrame:
    """The rows that a file holds, after all checks.

    `names` are the frame's names of the roles, and `fixed` constant columns; None: as in the frame.
    """
    number = "score" if "score" in names else "label"
    table = _with_constants(frame, names, writer, fixed)
    table = _as_numbers(table, number, names[number])
    is_row = pl.col(number).is_not_null() & pl.col("doc_id").is_not_null()
    rows = table.filter(is_row)
    if number == "score":
        advice = "is no number; write null for a document that was not retrieved"
        refuse(table, pl.col("score").is_nan(), "score", names["score"], advice)
    else:
        _refuse_labels(rows, names["label"], whole=writer.whole)
        if writer.whole:
            rows = rows.with_columns(pl.col("label").cast(pl.Int64))
    further = [x for x in writer.further if x in table.columns]
    for column in (*further, "query_id", "doc_id"):
        unfit = writer.query if column == "query_id" else writer.doc
        refuse_ids(rows, column, names.get(column, column), unfit)
    refuse_repeated(rows, ["query_id", "doc_id", *further], ROW)
    others = table.join(rows, on="query_id", how="anti", maintain_order="left")
    others = others.drop_nulls("query_id")
    others = others.unique("query_id", keep="first", maintain_order=True)
    if writer.keeps_empty:
        refuse_ids(others, "query_id", names["query_id"], writer.query)
        no_doc = pl.lit(None, pl.String)
        no_label = pl.lit(None, rows.schema["label"])
        empty = others.with_columns(doc_id=no_doc, label=no_label).select(rows.columns)
        return pl.concat([rows, empty]).sort(ROW)
    if len(others):
        done = "retrieved" if number == "score" else "judged"
        queries = ", ".join(map(repr, others["query_id"].head(3)))
        n = len(others)
        warn(f"nothing was {done} for {n:,} queries, which the file cannot hold: {queries}")
    return rows


def _with_constants(
    frame: WritableFrame, names: Mapping[str, str], writer: Writer, fixed: Mapping[str, str | None]
) -> pl.DataFrame:
    """The columns of the frame, those that are the same in all rows, and the defaults of others."""
    given = {name: value for name, value in fixed.items() if value is not None}
    further = [name for name in writer.further if name not in given]
    table = as_polars(frame, names, further)
    constants = {}
    for name, value in {**writer.further, **given}.items():
        if value is not None and name not in table.columns:
            constants[name] = pl.lit(value)
    table = table.with_columns(**constants)
    iteration = cs.by_name("iteration", require_all=False)
    return table.with_columns(iteration.fill_null("0"))


def _as_numbers(table: pl.DataFrame, number: str, name: str) -> pl.DataFrame:
    """The table with its numbers as whole ones or floats of Polars; `name` is the frame's name."""
    dtype = table.schema[number]
    if not (dtype.is_numeric() or dtype in (pl.Boolean, pl.Null)):
        raise InvalidData(
            f"column {name!r} holds {dtype}, and a {number} is a number; make numbers of it"
        )
    if dtype.is_integer():
        return table
    kind = pl.Float64 if dtype.is_float() else pl.Int64
    return table.with_columns(pl.col(number).cast(kind))


def _refuse_labels(rows: pl.DataFrame, name: str, *, whole: bool) -> None:
    """Refuse labels that are infinite, or that have a fraction if they must be whole."""
    label = pl.col("label")
    is_finite = label.cast(pl.Float64).is_finite()
    finite = "is no finite number; write one, or null for a document that nobody judged"
    refuse(rows, ~is_finite, "label", name, finite)
    if whole:
        cut = (
            "is no whole number, and readers of this format would cut it off; scale the labels, "
            "as by 10, and round them"
        )
        has_fraction = label.cast(pl.Int64, strict=False).ne_missing(label)
        refuse(rows, has_fraction, "label", name, cut)


def as_polars(
    frame: WritableFrame, names: Mapping[str, str], further: Sequence[str]
) -> pl.DataFrame:
    """The columns of the roles and those of `further` that exist, ids as text; ROW is the number of
    the row.
    """
    table = table_of(frame, {*names.values(), *further}, "frame")
    schema = table.collect_schema()
    for name in names.values():
        if name not in schema:
            raise missing(schema, name)
    named = names.values()
    others = {name: name for name in further if name in schema and name not in named}
    roles = {**names, **others}
    columns = {role: pl.col(name) for role, name in roles.items()}
    rows = table.select(**columns).collect()
    ids = [role for role in roles if role not in ("score", "label")]
    for role in ids:
        dtype = rows.schema[role]
        if not (dtype.is_integer() or dtype in (pl.String, pl.Categorical, pl.Enum, pl.Null)):
            raise InvalidData(
                f"column {roles[role]!r} holds {dtype}; write ids as text or whole numbers"
            )
    as_text = pl.col(ids).cast(pl.String)
    return rows.with_columns(as_text).with_row_index(ROW)


def refuse_ids(table: pl.DataFrame, column: str, name: str, unfit: tuple[Unfit, ...]) -> None:
    """Refuse ids that a file cannot hold, and name the first such row."""
    value = pl.col(column)
    is_empty = value.is_null() | (value == "")
    refuse(table, is_empty, column, name, "names nothing; write an id there")
    for pattern, problem in unfit:
        refuse(table, value.str.contains(pattern), column, name, problem)


def refuse(table: pl.DataFrame, wrong: pl.Expr, column: str, name: str, problem: str) -> None:
    """Refuse a table with rows that are `wrong`, and name the first one."""
    refused = table.filter(wrong).select(ROW, column)
    if not refused.is_empty():
        row, value = refused.row(0)
        others = first_of(refused.height, "such row")
        raise InvalidData(f"column {name!r}, row {row}: {value!r} {problem}{others}")


def refuse_repeated(
    table: pl.DataFrame, key: Sequence[str], number: str, unit: str = "row", file: str = ""
) -> None:
    """Refuse two rows with the same values, and name their numbers."""
    n_distinct = table.select(key).hash_rows().n_unique()
    if n_distinct == table.height:  # faster than to look for them
        return
    is_first = pl.struct(key).is_first_distinct()
    repeated = table.filter(~is_first)
    for values in repeated.head(1).iter_rows(named=True):
        same_key = [pl.col(name).eq_missing(pl.lit(values[name])) for name in key]
        first = table.filter(same_key)[number][0]
        same = " and ".join(f"{name} {values[name]!r}" for name in key)
        row = f"{file}{unit} {values[number]}"
        more = first_of(repeated.height, f"such {unit}")
        raise InvalidData(f"{row}: {same} also appear on {unit} {first}; keep one of them{more}")


def first_of(n: int, unit: str) -> str:
    """The end of a message on the first of several faults."""
    return f" (the first of {n:,} {unit}s)" if n > 1 else ""


# texts


def _lines(table: pl.DataFrame, file: IO[bytes]) -> None:
    """Lines of TREC text."""
    table.write_csv(file, include_header=False, separator=" ", quote_style="never")


def _run(table: pl.DataFrame, file: IO[bytes]) -> None:
    first = pl.col(ROW).min().over("query_id")
    rank = pl.int_range(1, pl.len() + 1).over("query_id")
    score = pl.col("score").cast(pl.String)
    q0 = pl.lit("Q0").alias("q0")
    table = table.sort(first, "score", "doc_id", descending=[False, True, True])
    lines = table.select("query_id", q0, "doc_id", rank.alias("rank"), score, "run")
    _lines(lines, file)


def _qrels(table: pl.DataFrame, file: IO[bytes]) -> None:
    _lines(table.select("query_id", "iteration", "doc_id", "label"), file)


def _beir(table: pl.DataFrame, file: IO[bytes]) -> None:
    names = {"query_id": "query-id", "doc_id": "corpus-id", "label": "score"}
    table.select(*names).rename(names).write_csv(file, separator="\t")


def _quepid(table: pl.DataFrame, file: IO[bytes]) -> None:
    names = {"query_id": "query", "doc_id": "docid", "label": "rating"}
    # Quepid's exports put a space before a spreadsheet's formula, and its import removes it.
    safe = pl.col("query_id", "doc_id").str.replace("^([-=+@])", " ${1}")
    table.with_columns(safe).select(*names).rename(names).write_csv(file)


def _rank_eval(table: pl.DataFrame, file: IO[bytes]) -> None:
    mark = '{"requests": ['
    parts = table.partition_by("query_id", maintain_order=True, as_dict=True)
    for (query,), part in parts.items():
        rows = part.drop_nulls("doc_id").select("index", "doc_id", "label")
        ratings = []
        for index, doc, label in rows.iter_rows():
            ratings.append({"_index": index, "_id": doc, "rating": label})
        request = json.dumps({"id": query, "ratings": ratings}, ensure_ascii=False)
        file.write(f"{mark}\n{request}".encode())
        mark = ","
    file.write(b"\n]}\n" if mark == "," else b'{"requests": []}\n')


RUN = Writer((BLANK, COMMENT), (BLANK,), _run, {"run": "rankframe"})
TREC = Writer((BLANK, COMMENT), (BLANK,), _qrels, {"iteration": "0"})
BEIR = Writer((BREAK,), (BREAK,), _beir)
QUEPID = Writer((PADDED,), (PADDED,), _quepid, whole=False, keeps_empty=True)
RANK_EVAL = Writer((), (), _rank_eval, {"index": None}, keeps_empty=True)
