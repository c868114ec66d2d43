"""Convert tables with one row per query and lists of documents into the long table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import polars as pl

from .._support.forks import use_polars
from .._support.methods import called_by_users
from .._table.columns import failing
from .._table.run_and_judgments import usual_runs
from ..errors import Code, InvalidData, InvalidOption
from .list_columns import DOC, PLACE, ROW, Documents, ListColumn, Repeated, missing

if TYPE_CHECKING:
    import pandas as pd

F = TypeVar("F", "pl.DataFrame", "pl.LazyFrame", "pd.DataFrame")


@called_by_users
def from_lists(
    frame: F,
    query: str | Sequence[str] | None = "query_id",
    retrieved: str = "retrieved",
    relevant: str | None = "relevant",
    scores: str | None = None,
    labels: str | None = None,
    *,
    carry: Sequence[str] = (),
    repeated: Repeated = "error",
) -> F:
    """The long table of a frame with one row per query and lists of documents.

    MLflow, ragas, LlamaIndex, Haystack, deepeval and Spark hold rankings as such lists.

    Parameters
    ----------
    frame
        A Polars DataFrame or LazyFrame, or a pandas DataFrame whose cells are lists, tuples, sets, arrays or
        dictionaries ``{document: number}``.
    query
        The column, or columns, that identify a query; ``None`` numbers the rows from 0.
    retrieved
        The column with the list of retrieved documents, best first. The elements may be structs (dicts) with a
        field ``id``, ``doc_id`` or the like for the document, and ``score`` or the like for its score.
    relevant
        The column with the list of relevant documents, or with a single document. The elements may be structs, whose
        field ``label`` or the like is the label. ``None`` if there is no such column; then `labels`, if given, are
        the labels of the retrieved documents.
    scores
        The column with the scores of the retrieved documents, one for each; or the field of their structs.
        Default: 1 / rank, which keeps the order of the list.
    labels
        The column with the labels of the relevant documents, one for each; or the field of their structs.
        Default: 1 for each.
    carry
        Columns of the query to repeat on each of its rows, such as slices for ``summarize(by=...)``.
    repeated
        A document that a list holds twice is an ``"error"`` (default); ``"first"`` keeps its first place.

    Returns
    -------
    A frame of the caller's kind with the query (named ``query_id``; several columns keep their names), the columns of
    `carry`, ``doc_id``, ``score`` (null for a relevant document that was not retrieved) and ``label`` (null for a
    retrieved document that is not among the relevant ones; no such column if both `relevant` and `labels` are None).
    Default scores are Float64, default labels Int64. Queries come in the order of the frame, each with its retrieved
    documents in the order of the list, then with the others. A query whose lists are empty or null has one row, without
    a document, so that it counts.

    Raises
    ------
    MissingColumn, InvalidOption
        If a column is missing, or two columns of the result have the same name.
    InvalidData
        If a column does not hold lists; if two lists of a query differ in length; if a list repeats a document, or
        holds null or NaN; if two rows have the same query. For a LazyFrame, Polars raises errors in the rows as
        ``InvalidOperationError`` when it is collected.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({"query_id": ["a", "b"], "retrieved": [["x", "y"], ["z"]], "relevant": [["y", "w"], ["z"]]})
    >>> rf.from_lists(df).rows()
    [('a', 'x', 1.0, None), ('a', 'y', 0.5, 1), ('a', 'w', None, 1), ('b', 'z', 1.0, 1)]
    >>> rf.from_lists(df).rank.evaluate("rr", "recall").rows()
    [('a', 0.5, 0.5), ('b', 1.0, 1.0)]
    """
    use_polars()
    keys = (query,) if isinstance(query, str) else tuple(query or ())
    names: Names = Names(
        keys, (carry,) if isinstance(carry, str) else tuple(carry), retrieved, relevant, scores, labels
    )
    if isinstance(frame, pl.LazyFrame):
        lists = Lists.of(frame.collect_schema(), names)
        rows = lists.rows(frame)
        return lists.long(rows.filter(failing(list(lists.faults(repeated))).is_null()), repeated)
    if isinstance(frame, pl.DataFrame):
        return _eager(frame, Lists.of(frame.schema, names), repeated)
    if type(frame).__module__.partition(".")[0] == "pandas" and hasattr(frame, "columns"):
        from .._rankers.pandas_tables import as_pandas
        from .pandas_lists import crossed

        crossing = crossed(frame, (*names.query, *names.carry), names.lists)
        return as_pandas(_eager(crossing, Lists.of(crossing.schema, names), repeated))
    raise InvalidData(
        f"{type(frame).__name__} is no frame of lists; give a DataFrame of Polars or pandas, as pl.DataFrame(rows) of rows "
        "that are dictionaries, or a LazyFrame"
    )


class Names(NamedTuple):
    """The columns that a call names."""

    query: tuple[str, ...]
    carry: tuple[str, ...]
    retrieved: str
    relevant: str | None
    scores: str | None
    labels: str | None

    @property
    def lists(self) -> dict[str, str | None]:
        """The columns of lists, by their role."""
        return {"retrieved": self.retrieved, "relevant": self.relevant, "scores": self.scores, "labels": self.labels}


def _eager(frame: pl.DataFrame, lists: Lists, repeated: Repeated) -> pl.DataFrame:
    rows = lists.rows(frame.lazy()).collect()
    faults = [pl.when(holds).then(message) for holds, message in lists.faults(repeated)]
    found = rows.select(pl.coalesce(*faults, pl.lit(None, pl.String))).to_series().drop_nulls()
    if len(found):
        more = f" (and {len(found) - 1:,} more rows have a fault)" if len(found) > 1 else ""
        raise InvalidData(str(found[0]), more)
    return lists.long(rows.lazy(), repeated).collect()


@dataclass(frozen=True)
class Lists:
    """The columns of a frame with one row per query.

    Attributes
    ----------
    query
        The columns that identify a query, and their names in the result; none if rows are numbered.
    carry
        Columns to repeat on each row of a query.
    retrieved, relevant
        The documents; ``relevant`` is None if labels belong to the retrieved documents, or are missing.
    """

    query: Mapping[str, str]
    carry: tuple[str, ...]
    retrieved: Documents
    relevant: Documents | None
    schema: pl.Schema

    @classmethod
    def of(cls, schema: pl.Schema, names: Names) -> Lists:
        """Check the names and types of the columns."""
        for role, given in (("query", names.query), ("carry", names.carry)):
            for name in given:
                if name not in schema:
                    raise missing(schema, name, role)
        scores, labels = {"scores": names.scores}, {"labels": names.labels}
        own = scores if names.relevant is not None else scores | labels
        of_run = Documents.of(schema, "retrieved", names.retrieved, own)
        truth = None if names.relevant is None else Documents.of(schema, "relevant", names.relevant, labels)
        if truth is not None:
            dtype = _one_type(of_run.ids, truth.ids)
            of_run, truth = of_run.cast(dtype), truth.cast(dtype)
        queries = dict(zip(names.query, ["query_id"] if len(names.query) == 1 else names.query, strict=True))
        lists = cls(queries, names.carry, of_run, truth, schema)
        columns = lists.columns
        if twice := [name for name in columns if columns.count(name) > 1]:
            raise InvalidOption(f"two columns of the result are named {twice[0]!r}; rename one of the frame")
        return lists

    @property
    def columns(self) -> list[str]:
        """The columns of the result."""
        labelled = self.relevant is not None or "labels" in self.retrieved.numbers
        return [
            *(self.query.values() or ["query_id"]),
            *self.carry,
            "doc_id",
            "score",
            *(["label"] if labelled else []),
        ]

    @property
    def parts(self) -> list[Documents]:
        """The columns of documents."""
        return [self.retrieved, *([] if self.relevant is None else [self.relevant])]

    def rows(self, frame: pl.LazyFrame) -> pl.LazyFrame:
        """The rows with their number, and the lists under the plan's names."""
        query = [pl.col(name).alias(new) for name, new in self.query.items()]
        lists = [column for part in self.parts for column in part.columns]
        rows = frame.select(*query, *self.carry, *lists).with_row_index(ROW)
        return rows if query else rows.with_columns(pl.col(ROW).cast(pl.Int64).alias("query_id"))

    def faults(self, repeated: Repeated) -> Iterator[tuple[pl.Expr, pl.Expr]]:
        """The faults that a row may have, each with its message."""
        query = pl.lit("")
        if self.query:
            of_text = [
                x for name, new in self.query.items() for x in (pl.lit(", "), _text(pl.col(new), self.schema[name]))
            ]
            query = pl.concat_str(*of_text[1:])
            names = pl.struct(*self.query.values())
            usual = usual_runs(self.schema.names(), [*self.query])
            query_of_run = ", ".join([repr(usual[0]) if usual else "...", *map(repr, self.query)])
            advice = f" has several rows; name the column that tells them apart, as query=[{query_of_run}]"
            yield names.is_duplicated(), pl.concat_str(pl.lit("query "), query, pl.lit(advice))
        else:
            query = _text(pl.col("query_id"), pl.Int64())
        for part in self.parts:
            yield from part.normalized.faults(query, repeated)

    def long(self, rows: pl.LazyFrame, repeated: Repeated) -> pl.LazyFrame:
        """The long table of normalized rows."""
        retrieved = self.retrieved.normalized.long(rows, repeated)
        score = pl.col("#scores") if "scores" in self.retrieved.numbers else 1 / pl.col(PLACE)
        label = [pl.col("#labels").alias("label")] * ("labels" in self.retrieved.numbers)
        table = retrieved.select(ROW, PLACE, pl.col(DOC).alias("doc_id"), score.alias("score"), *label)
        if self.relevant is not None:
            relevant = self.relevant.normalized.long(rows, repeated)
            label = [pl.col("#labels") if "labels" in self.relevant.numbers else pl.lit(1, pl.Int64)]
            judged = relevant.select(ROW, pl.col(DOC).alias("doc_id"), label[0].alias("label"))
            table = table.join(judged, on=[ROW, "doc_id"], how="full", coalesce=True, maintain_order="left_right")
        # a query whose lists are empty keeps a row
        own = [name for name in self.columns if name not in ("doc_id", "score", "label")]
        of_query = rows.select(ROW, *own)
        table = of_query.join(table, on=ROW, how="left", maintain_order="left_right")
        return table.select(self.columns)


def _text(x: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    """The text of a query's id in a message."""
    if dtype.is_nested() or dtype == pl.Object:
        return pl.lit("...")
    text = x.cast(pl.String)
    return pl.coalesce(pl.format("'{}'", text) if dtype == pl.String else text, pl.lit("null"))


def _one_type(run: ListColumn, truth: ListColumn) -> pl.DataType:
    """The common type of the ids of both columns."""
    one, other = (pl.String() if x.inner in (pl.Categorical, pl.Enum) else x.inner for x in (run, truth))
    if one == other or other == pl.Null:
        return one
    if one == pl.Null:
        return other
    if one.is_integer() and other.is_integer():
        return pl.Int64()
    text = f"df.with_columns(pl.col({run.name!r}, {truth.name!r}).cast(pl.List(pl.String)))"
    raise InvalidData(
        f"column {run.name!r} holds lists of {run.inner} and column {truth.name!r} of {truth.inner}; write ids of one type",
        Code(text, "", phrase=", as in {}"),
    )
