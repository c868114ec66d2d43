"""Turn a frame into a table that a file can hold, with checked ids and numbers, and write judgments in each format."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import IO, TYPE_CHECKING, NamedTuple, TypeAlias, cast

import polars as pl

from .._support.arrow_stream import ArrowStream, from_stream
from ..errors import InvalidData, MissingColumn, did_you_mean, warn

if TYPE_CHECKING:
    import pandas as pd

Frame: TypeAlias = pl.DataFrame | pl.LazyFrame | ArrowStream
"""A LazyFrame, or a table with the Arrow PyCapsule interface, as DataFrames of Polars and pandas have it."""

ROW = "#row"
WHITE = r"[\s\x1c-\x1f]"
"""White space of Python's str.split, which includes more characters than C's."""


class Unfit(NamedTuple):
    """A pattern that an id must not match in a file, and the message if it does."""

    pattern: str
    problem: str


BLANK = Unfit(WHITE, "holds white space, which separates fields there; replace it")
COMMENT = Unfit(
    '^(#|\ufeff|[{]["}])',
    "starts as a comment, a byte-order mark or JSON does, and readers take it for one; put a letter before it",
)
BREAK = Unfit(r"[\t\r\n]", "holds a tab or a line break, which ends fields or lines there; replace it")
PADDED = Unfit(
    rf"^{WHITE}|{WHITE}$|[\r\n]", "starts or ends with white space, or holds a line break, which Quepid removes; do so"
)


def as_polars(frame: Frame, roles: Mapping[str, str], further: tuple[str, ...]) -> pl.DataFrame:
    """The columns of the roles and those of `further` that exist, ids as text; ROW is the number of the row."""
    if isinstance(frame, pl.LazyFrame):
        there = frame.collect_schema().names()
    elif isinstance(frame, pl.DataFrame):
        there = frame.columns
    elif type(frame).__module__.partition(".")[0] == "pandas" and hasattr(frame, "columns"):
        there = [str(name) for name in cast("pd.DataFrame", frame).columns]
    elif (streamed := from_stream(frame)) is not None:
        frame, there = streamed, streamed.columns
    else:
        raise InvalidData(f"{type(frame).__name__} is no frame; give a DataFrame of Polars or pandas, or a LazyFrame")
    for name in roles.values():
        if name not in there:
            known = ", ".join(there) or "no columns"
            raise MissingColumn(f"no column {name!r}; the frame has {known}.{did_you_mean(name, there)}")
    roles = {**roles, **{name: name for name in further if name in there and name not in roles.values()}}
    if isinstance(frame, (pl.LazyFrame, pl.DataFrame)):
        table = frame.lazy().select(**{role: pl.col(name) for role, name in roles.items()}).collect()
    else:
        from .._shapes.pandas_lists import crossed

        table = crossed(cast("pd.DataFrame", frame), [*roles.values()], {}).select(
            **{role: pl.col(name) for role, name in roles.items()}
        )
    ids = [role for role in roles if role not in ("score", "label")]
    for role in ids:
        dtype = table.schema[role]
        if not (dtype.is_integer() or dtype in (pl.String, pl.Categorical, pl.Enum, pl.Null)):
            raise InvalidData(f"column {roles[role]!r} holds {dtype}; write ids as text or whole numbers")
    return table.with_columns(pl.col(ids).cast(pl.String)).with_row_index(ROW)


def numbered(table: pl.DataFrame, column: str, name: str) -> pl.DataFrame:
    """Cast a column of numbers to Float64 or whole numbers; refuse other types."""
    dtype = table.schema[column]
    if not (dtype.is_numeric() or dtype in (pl.Boolean, pl.Null)):
        raise InvalidData(f"column {name!r} holds {dtype}, and a {column} is a number; make numbers of it")
    if dtype.is_float():
        table = table.with_columns(pl.col(column).cast(pl.Float64))
    elif dtype in (pl.Boolean, pl.Null):
        table = table.with_columns(pl.col(column).cast(pl.Int64))
    if column == "score" and dtype.is_float():
        nan = "is no number; write null for a document that was not retrieved"
        refuse(table, pl.col("score").is_nan(), "score", name, nan)
    return table


def whole_labels(table: pl.DataFrame, name: str) -> pl.DataFrame:
    """The table with labels as whole numbers."""
    if table.schema["label"].is_integer():
        return table
    part = "is no whole number, and readers of this format would cut it off; scale the labels, as by 10, and round them"
    refuse(table, pl.col("label").cast(pl.Int64, strict=False).ne_missing(pl.col("label")), "label", name, part)
    return table.with_columns(pl.col("label").cast(pl.Int64))


def refuse_ids(table: pl.DataFrame, column: str, name: str, unfit: tuple[Unfit, ...]) -> None:
    """Refuse ids that a file cannot hold, and name the first such row."""
    refuse(table, pl.col(column).is_null() | (pl.col(column) == ""), column, name, "names nothing; write an id there")
    for pattern, problem in unfit:
        refuse(table, pl.col(column).str.contains(pattern), column, name, problem)


def refuse(table: pl.DataFrame, wrong: pl.Expr, column: str, name: str, problem: str) -> None:
    """Refuse a table with rows that are `wrong`, and name the first one."""
    found = table.filter(wrong).select(ROW, column)
    if not found.is_empty():
        row, value = found.row(0)
        others = f" (the first of {found.height:,} such rows)" if found.height > 1 else ""
        raise InvalidData(f"column {name!r}, row {row}: {value!r} {problem}{others}")


def refuse_repeated(table: pl.DataFrame, key: list[str]) -> None:
    """Refuse a document that occurs twice in a query."""
    again = table.filter(pl.struct(key).is_duplicated())
    if not again.is_empty():
        first = again.row(0, named=True)
        same = again.filter(pl.col(name) == first[name] for name in key)[ROW]
        raise InvalidData(
            f"rows {same[0]} and {same[1]} both have document {first['doc_id']!r} of query {first['query_id']!r}; keep one of them"
        )


def tell_lost(table: pl.DataFrame, kept: pl.DataFrame, done: str) -> None:
    """Warn of queries that the file leaves out."""
    lost = (
        table.join(kept, on="query_id", how="anti", maintain_order="left")["query_id"]
        .drop_nulls()
        .unique(maintain_order=True)
    )
    if len(lost):
        names = ", ".join(map(repr, lost.head(3)))
        warn(f"nothing was {done} for {len(lost):,} queries, which the file cannot hold: {names}")


# formats of judgments


class Writer(NamedTuple):
    """A format of judgments: the checks of its ids and labels, and the function that writes a table."""

    query: tuple[Unfit, ...]
    doc: tuple[Unfit, ...]
    write: Callable[[pl.DataFrame, IO[bytes]], object]
    whole: bool = True  # whether labels must be whole numbers
    keeps_empty: bool = False  # whether the format can hold a query without documents
    further: tuple[str, ...] = ()  # columns of the frame that the format can hold, too


def _trec(table: pl.DataFrame, file: IO[bytes]) -> None:
    iteration = pl.col("iteration") if "iteration" in table.columns else pl.lit("0").alias("iteration")
    lines = table.select("query_id", iteration, "doc_id", "label")
    lines.write_csv(file, include_header=False, separator=" ", quote_style="never")


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
    for (query,), part in table.partition_by("query_id", maintain_order=True, as_dict=True).items():
        rows = part.drop_nulls("doc_id").select("index", "doc_id", "label").iter_rows()
        ratings = [{"_index": index, "_id": doc, "rating": label} for index, doc, label in rows]
        file.write(f"{mark}\n{json.dumps({'id': query, 'ratings': ratings}, ensure_ascii=False)}".encode())
        mark = ","
    file.write(b"\n]}\n" if mark == "," else b'{"requests": []}\n')


TREC = Writer((BLANK, COMMENT), (BLANK,), _trec, further=("iteration",))
BEIR = Writer((BREAK,), (BREAK,), _beir)
QUEPID = Writer((PADDED,), (PADDED,), _quepid, whole=False, keeps_empty=True)
RANK_EVAL = Writer((), (), _rank_eval, keeps_empty=True, further=("index",))
