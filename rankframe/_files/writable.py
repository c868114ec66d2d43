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
    further: Mapping[str, str | None] = MappingProxyType(
        {}
    )  # other columns that it can hold, with their defaults
    whole: bool = True  # whether labels must be whole numbers
    keeps_empty: bool = False  # whether the format can hold a query without documents


def writable(
    frame: WritableFrame, names: Mapping[str, str], writer: Writer, fixed: Mapping[str, str | None]
) -> pl.DataFrame:
    """The rows that a file holds, after all checks.

    `names` are the frame's names of the roles, and `fixed` constant columns; None: as in the frame.
    """
    number = "score" if "score" in names else "label"
    name, given = names[number], {x: value for x, value in fixed.items() if value is not None}
    table = as_polars(frame, names, [x for x in writer.further if x not in given])
    constant = {x: value for x, value in {**writer.further, **given}.items() if value is not None}
    table = table.with_columns(
        **{x: pl.lit(value) for x, value in constant.items() if x not in table.columns}
    )
    table = table.with_columns(cs.by_name("iteration", require_all=False).fill_null("0"))
    dtype, values = table.schema[number], pl.col(number)
    if not (dtype.is_numeric() or dtype in (pl.Boolean, pl.Null)):
        raise InvalidData(
            f"column {name!r} holds {dtype}, and a {number} is a number; make numbers of it"
        )
    if not dtype.is_integer():
        table = table.with_columns(values.cast(pl.Float64 if dtype.is_float() else pl.Int64))
    kept = table.filter(values.is_not_null() & pl.col("doc_id").is_not_null())
    if number == "score":
        refuse(
            table,
            values.is_nan(),
            "score",
            name,
            "is no number; write null for a document that was not retrieved",
        )
    else:
        finite = "is no finite number; write one, or null for a document that nobody judged"
        refuse(kept, ~values.cast(pl.Float64).is_finite(), "label", name, finite)
        if writer.whole:
            cut = (
                "is no whole number, and readers of this format would cut it off; scale the "
                "labels, as by 10, and round them"
            )
            refuse(kept, values.cast(pl.Int64, strict=False).ne_missing(values), "label", name, cut)
            kept = kept.with_columns(values.cast(pl.Int64))
    own = [x for x in writer.further if x in table.columns]
    for column in (*own, "query_id", "doc_id"):
        refuse_ids(
            kept,
            column,
            names.get(column, column),
            writer.query if column == "query_id" else writer.doc,
        )
    refuse_repeated(kept, ["query_id", "doc_id", *own], ROW)
    rest = table.join(kept, on="query_id", how="anti", maintain_order="left").drop_nulls("query_id")
    rest = rest.unique("query_id", keep="first", maintain_order=True)
    if writer.keeps_empty:
        refuse_ids(rest, "query_id", names["query_id"], writer.query)
        empty = rest.with_columns(
            doc_id=pl.lit(None, pl.String), label=pl.lit(None, kept.schema["label"])
        )
        return pl.concat([kept, empty.select(kept.columns)]).sort(ROW)
    if len(rest):
        done, queries = (
            "retrieved" if number == "score" else "judged",
            ", ".join(map(repr, rest["query_id"].head(3))),
        )
        warn(f"nothing was {done} for {len(rest):,} queries, which the file cannot hold: {queries}")
    return kept


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
    roles = {
        **names,
        **{name: name for name in further if name in schema and name not in names.values()},
    }
    columns = table.select(**{role: pl.col(name) for role, name in roles.items()}).collect()
    ids = [role for role in roles if role not in ("score", "label")]
    for role in ids:
        dtype = columns.schema[role]
        if not (dtype.is_integer() or dtype in (pl.String, pl.Categorical, pl.Enum, pl.Null)):
            raise InvalidData(
                f"column {roles[role]!r} holds {dtype}; write ids as text or whole numbers"
            )
    return columns.with_columns(pl.col(ids).cast(pl.String)).with_row_index(ROW)


def refuse_ids(table: pl.DataFrame, column: str, name: str, unfit: tuple[Unfit, ...]) -> None:
    """Refuse ids that a file cannot hold, and name the first such row."""
    refuse(
        table,
        pl.col(column).is_null() | (pl.col(column) == ""),
        column,
        name,
        "names nothing; write an id there",
    )
    for pattern, problem in unfit:
        refuse(table, pl.col(column).str.contains(pattern), column, name, problem)


def refuse(table: pl.DataFrame, wrong: pl.Expr, column: str, name: str, problem: str) -> None:
    """Refuse a table with rows that are `wrong`, and name the first one."""
    found = table.filter(wrong).select(ROW, column)
    if not found.is_empty():
        row, value = found.row(0)
        others = first_of(found.height, "such row")
        raise InvalidData(f"column {name!r}, row {row}: {value!r} {problem}{others}")


def refuse_repeated(
    table: pl.DataFrame, key: Sequence[str], number: str, unit: str = "row", file: str = ""
) -> None:
    """Refuse two rows with the same values, and name their numbers."""
    if table.select(key).hash_rows().n_unique() == table.height:  # faster than to look for them
        return
    again = table.filter(~pl.struct(key).is_first_distinct())
    for values in again.head(1).iter_rows(named=True):
        first = table.filter(pl.col(name).eq_missing(pl.lit(values[name])) for name in key)[number][
            0
        ]
        same = " and ".join(f"{name} {values[name]!r}" for name in key)
        row, more = f"{file}{unit} {values[number]}", first_of(again.height, f"such {unit}")
        raise InvalidData(f"{row}: {same} also appear on {unit} {first}; keep one of them{more}")


def first_of(n: int, unit: str) -> str:
    """The end of a message on the first of several faults."""
    return f" (the first of {n:,} {unit}s)" if n > 1 else ""


# texts


def _lines(table: pl.DataFrame, file: IO[bytes]) -> None:
    """Lines of TREC text."""
    table.write_csv(file, include_header=False, separator=" ", quote_style="never")


def _run(table: pl.DataFrame, file: IO[bytes]) -> None:
    first, rank = (
        pl.col(ROW).min().over("query_id"),
        pl.int_range(1, pl.len() + 1).over("query_id").alias("rank"),
    )
    table = table.sort(first, "score", "doc_id", descending=[False, True, True])
    score = pl.col("score").cast(pl.String)
    _lines(table.select("query_id", pl.lit("Q0").alias("q0"), "doc_id", rank, score, "run"), file)


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
    for (query,), part in table.partition_by("query_id", maintain_order=True, as_dict=True).items():
        rows = part.drop_nulls("doc_id").select("index", "doc_id", "label").iter_rows()
        ratings = [{"_index": index, "_id": doc, "rating": label} for index, doc, label in rows]
        file.write(
            f"{mark}\n{json.dumps({'id': query, 'ratings': ratings}, ensure_ascii=False)}".encode()
        )
        mark = ","
    file.write(b"\n]}\n" if mark == "," else b'{"requests": []}\n')


RUN = Writer((BLANK, COMMENT), (BLANK,), _run, {"run": "rankframe"})
TREC = Writer((BLANK, COMMENT), (BLANK,), _qrels, {"iteration": "0"})
BEIR = Writer((BREAK,), (BREAK,), _beir)
QUEPID = Writer((PADDED,), (PADDED,), _quepid, whole=False, keeps_empty=True)
RANK_EVAL = Writer((), (), _rank_eval, {"index": None}, keeps_empty=True)
