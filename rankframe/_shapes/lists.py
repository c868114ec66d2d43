"""Tables with one row per query and lists of documents: their checks, and the long table of
them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

import polars as pl

from .._plan.per_query import collect
from .._support.arrow_stream import from_stream
from .._support.methods import called_by_users
from .._support.polars_versions import exploded
from .._support.threads import use_polars
from .._table.columns import failing
from .._table.roles import USUAL_NAMES
from .._table.setup import Setup
from ..errors import InvalidData, InvalidOption, MissingColumn, did_you_mean, shown

if TYPE_CHECKING:
    import pandas as pd

F = TypeVar("F", "pl.DataFrame", "pl.LazyFrame", "pd.DataFrame")
Repeated: TypeAlias = Literal["error", "first"]

DOC_FIELDS = (*USUAL_NAMES["doc"], "id", "_id", "doc_uri")
NUMBER_FIELDS = {"scores": (*USUAL_NAMES["score"], "_score"), "labels": USUAL_NAMES["label"]}
"""The usual names of the fields of structs."""

PARTS = {"retrieved": ("scores",), "relevant": ("labels",)}
ONE_PART = {"retrieved": ("scores", "labels")}
"""The roles of documents, each with that of their numbers; without relevant documents, labels are
of the retrieved ones."""

ROW, PLACE = "#row", "#place"
"""The plan's columns for the number of a query's row, and the place of a document in its list."""


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
        A Polars DataFrame or LazyFrame, a table with the Arrow PyCapsule interface, or a pandas
        DataFrame whose cells are lists, tuples, sets, arrays or dictionaries ``{document:
        number}``.
    query
        The column, or columns, that identify a query; ``None`` numbers the rows from 0.
    retrieved
        The column with the list of retrieved documents, best first. The elements may be structs
        (dicts) with a field ``id``, ``doc_id``, ``doc_uri`` or the like for the document, and
        ``score`` or the like for its score.
    relevant
        The column with the list of relevant documents, or with a single document. The elements may
        be structs, whose field ``label`` or the like is the label. ``None`` if there is no such
        column; then `labels`, if given, are the labels of the retrieved documents.
    scores
        The column with the scores of the retrieved documents, one for each; or the field of their
        structs. Default: 1 / rank, which keeps the order of the list.
    labels
        The column with the labels of the relevant documents, one for each; or the field of their
        structs. Default: 1 for each.
    carry
        Columns of the query to repeat on each of its rows, such as slices for
        ``summarize(by=...)``.
    repeated
        A document that a list holds twice is an ``"error"`` (default); ``"first"`` keeps its first
        place.

    Returns
    -------
    A frame of the caller's kind with the query (named ``query_id``; several columns keep their
    names), the columns of `carry`, ``doc_id``, ``score`` (null for a relevant document that was not
    retrieved) and ``label`` (null for a retrieved document that is not among the relevant ones; no
    such column if both `relevant` and `labels` are None). Default scores are Float64, default
    labels Int64. Queries come in the order of the frame, each with its retrieved documents in the
    order of the list, then with the others. A query whose lists are empty or null has one row,
    without a document or a label; as nobody judged it, it has no value.

    Raises
    ------
    MissingColumn, InvalidOption
        If a column is missing, or two columns of the result have the same name.
    InvalidData
        If a column does not hold lists; if two lists of a query differ in length; if a list repeats
        a document, or holds null or NaN; if two rows have the same query. For a LazyFrame, Polars
        raises errors in the rows as ``InvalidOperationError`` when it is collected.

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
    queries: tuple[str, ...] = (query,) if isinstance(query, str) else tuple(query or ())
    carried: tuple[str, ...] = (carry,) if isinstance(carry, str) else tuple(carry)
    roles = {"retrieved": retrieved, "relevant": relevant, "scores": scores, "labels": labels}
    given: Any = frame
    if is_pandas(given):
        from .._lift.pandas_tables import as_pandas
        from .pandas_lists import crossed

        table = crossed(given, (*queries, *carried), roles).lazy()
    else:
        table = table_of(given, (), "frame")
    lists: QueryLists = QueryLists.of(table.collect_schema(), queries, carried, roles)
    rows = lists.rows(table).filter(failing([*lists.faults(repeated)]).is_null())
    if isinstance(given, pl.LazyFrame):
        return lists.long(rows, repeated)  # type: ignore[return-value]
    long = lists.long(collect(rows, table.collect(), Setup()).lazy(), repeated).collect()
    return as_pandas(long) if is_pandas(given) else long  # type: ignore[return-value]


@dataclass(frozen=True)
class ListColumn:
    """A column of lists, or of `single` values.

    Attributes
    ----------
    name
        The column of the frame.
    role
        The name of its lists as a column of the plan, with a ``#`` before it.
    given
        The lists as an expression over the frame.
    inner
        The type of their elements.
    """

    name: str
    role: str
    given: pl.Expr
    inner: pl.DataType
    single: bool = False

    @classmethod
    def of(cls, schema: pl.Schema, name: str, role: str, *, single: bool = False) -> ListColumn:
        """Check that a column holds lists, or, if allowed, `single` values."""
        if name not in schema:
            more = (
                f"; name the column of the {role} ones by {role}='its name'" if name == role else ""
            )
            more += (
                ", or say relevant=None if the judgments are in another table"
                if role == "relevant"
                else ""
            )
            raise missing(schema, name, more)
        dtype, column = schema[name], pl.col(name)
        if isinstance(dtype, (pl.List, pl.Array)):
            lists = column.arr.to_list() if isinstance(dtype, pl.Array) else column
            return cls(name, role, lists, dtype.inner)  # type: ignore[arg-type]
        if not (single or dtype == pl.Null):
            raise InvalidData(f"column {name!r} for {role} holds {dtype}, not lists")
        return cls(
            name,
            role,
            pl.when(column.is_not_null()).then(pl.concat_list(column)),
            dtype,
            dtype != pl.Null,
        )

    def field(self, name: str, role: str) -> ListColumn:
        """A column with the lists of one field of the structs."""
        (inner,) = (x.dtype for x in self.inner.fields if x.name == name)  # type: ignore[attr-defined]
        return ListColumn(
            self.name, role, self.given.list.eval(pl.element().struct.field(name)), inner
        )

    def cast(self, inner: pl.DataType) -> ListColumn:
        """The lists with elements of another type."""
        return (
            self
            if inner == self.inner
            else replace(self, given=self.given.cast(pl.List(inner)), inner=inner)
        )

    @property
    def lists(self) -> Any:
        """The lists in the plan."""
        return pl.col(f"#{self.role}").list

    @property
    def has_gaps(self) -> pl.Expr:
        """Whether a list holds null or NaN."""
        has_null: pl.Expr = self.lists.len() != self.lists.drop_nulls().list.len()
        return (
            has_null | self.lists.eval(pl.element().is_nan()).list.any()
            if self.inner.is_float()
            else has_null
        )


def documents(
    schema: pl.Schema, role: str, numbers: Sequence[str], roles: Mapping[str, str | None]
) -> Iterator[ListColumn]:
    """The lists of documents of a role, and those of their `numbers` that a column or a field has;
    refuse other types.
    """
    name = str(roles[role])
    ids = structs = ListColumn.of(schema, name, role, single=role == "relevant")
    fields = [x.name for x in structs.inner.fields] if isinstance(structs.inner, pl.Struct) else []
    if field := _field(fields, DOC_FIELDS):
        ids = structs.field(field, role)
    if ids.inner.is_nested() or ids.inner == pl.Object:
        raise InvalidData(
            f"column {name!r} for {role} holds lists of {ids.inner}; a document is a text or "
            "a number"
        )
    yield ids
    for number in numbers:
        column = _field(fields, NUMBER_FIELDS[number]) if roles[number] is None else roles[number]
        if column is None:
            continue
        single = not isinstance(schema[name], (pl.List, pl.Array))
        is_field = column in fields
        found = (
            structs.field(column, number)
            if is_field
            else ListColumn.of(schema, column, number, single=single)
        )
        if not (found.inner.is_numeric() or found.inner in (pl.Boolean, pl.Null)):
            raise InvalidData(
                f"column {found.name!r} for {number} holds lists of {found.inner}, not of numbers"
            )
        yield found


@dataclass(frozen=True)
class QueryLists:
    """The columns of a frame with one row per query.

    Attributes
    ----------
    query
        The columns that identify a query, and their names in the result; none if rows are numbered.
    carry
        Columns to repeat on each row of a query.
    lists
        The columns of lists by their roles; without ``relevant``, labels belong to the retrieved
        documents.
    """

    query: Mapping[str, str]
    carry: tuple[str, ...]
    lists: Mapping[str, ListColumn]
    schema: pl.Schema

    @classmethod
    def of(
        cls,
        schema: pl.Schema,
        query: tuple[str, ...],
        carry: tuple[str, ...],
        roles: Mapping[str, str | None],
    ) -> QueryLists:
        """Check the names and types of the columns."""
        for name in (*query, *carry):
            if name not in schema:
                raise missing(schema, name)
        parts = ONE_PART if roles["relevant"] is None else PARTS
        lists = {
            x.role: x
            for role, numbers in parts.items()
            for x in documents(schema, role, numbers, roles)
        }
        if "relevant" in lists:
            dtype = _one_type(lists["retrieved"], lists["relevant"])
            lists |= {role: lists[role].cast(dtype) for role in parts}
        queries = dict(zip(query, ["query_id"] if len(query) == 1 else query, strict=True))
        found = cls(queries, carry, lists, schema)
        if twice := [name for name in found.columns if found.columns.count(name) > 1]:
            raise InvalidOption(
                f"two columns of the result are named {twice[0]!r}; rename one of the frame"
            )
        return found

    @property
    def columns(self) -> list[str]:
        """The columns of the result."""
        label = ["label"] if {"relevant", "labels"} & self.lists.keys() else []
        return [*(self.query.values() or ["query_id"]), *self.carry, "doc_id", "score", *label]

    @property
    def parts(self) -> Iterator[tuple[ListColumn, list[ListColumn]]]:
        """The columns of documents, each with those of its numbers."""
        for role, numbers in (PARTS if "relevant" in self.lists else ONE_PART).items():
            yield (
                self.lists[role],
                [self.lists[number] for number in numbers if number in self.lists],
            )

    def rows(self, frame: pl.LazyFrame) -> pl.LazyFrame:
        """The rows with their number, and the lists under the plan's names."""
        query = [pl.col(name).alias(new) for name, new in self.query.items()]
        lists = [x.given.alias(f"#{role}") for role, x in self.lists.items()]
        rows = frame.select(*query, *self.carry, *lists).with_row_index(ROW)
        return rows if query else rows.with_columns(pl.col(ROW).cast(pl.Int64).alias("query_id"))

    def faults(self, repeated: Repeated) -> Iterator[tuple[pl.Expr, pl.Expr]]:
        """The faults that a row may have, each with its message."""
        named = [_text(pl.col(new), self.schema[name]) for name, new in self.query.items()]
        query = pl.concat_str(named or _text(pl.col("query_id"), pl.Int64()), separator=", ")
        if self.query:
            advice = (
                " has several rows; name all columns that identify it, as query=[..., "
                f"{[*self.query][-1]!r}]"
            )
            yield pl.struct(*self.query.values()).is_duplicated(), message("query ", query, advice)
        for ids, numbers in self.parts:
            at = f"the list in column {ids.name!r} of query "
            if ids.single and ids.inner == pl.String:
                text = ids.lists.first().str.contains(r"^\s*\[")
                yield text, message(at, query, " is text that looks like JSON; make a list of it")
            yield (
                ids.has_gaps,
                message(at, query, " holds null or NaN, which is no document; leave it out"),
            )
            if repeated == "error":
                twice = (
                    ids.lists.eval(pl.element().filter(pl.element().is_duplicated()))
                    .list.first()
                    .cast(pl.String)
                )
                parts = (
                    at,
                    query,
                    " holds ",
                    twice,
                    " twice; repeated='first' keeps its first place",
                )
                yield ids.lists.n_unique() != ids.lists.len(), message(*parts)
            for number in numbers:
                n, m = (x.lists.len().fill_null(0) for x in (ids, number))
                ours, theirs = (
                    f" documents in column {ids.name!r} and ",
                    f" {number.role} in column {number.name!r}",
                )
                yield (
                    n != m,
                    message(
                        "query ", query, " has ", n, ours, m, theirs, "; give one for each document"
                    ),
                )
                if number.role == "scores":
                    at = f"the scores in column {number.name!r} of query "
                    yield (
                        number.has_gaps,
                        message(at, query, " hold null or NaN; give each document a score"),
                    )

    def long(self, rows: pl.LazyFrame, repeated: Repeated) -> pl.LazyFrame:
        """The long table of the rows."""
        tables = []
        for (
            ids,
            numbers,
        ) in self.parts:  # one row per document, with its place in the list and its numbers
            places = pl.int_ranges(1, ids.lists.len().cast(pl.Int64) + 1)
            lists = {"doc_id": pl.col(f"#{ids.role}"), PLACE: places}
            lists |= {x.role.removesuffix("s"): pl.col(f"#{x.role}") for x in numbers}
            table = exploded(rows.filter(ids.lists.len() > 0).select(ROW, **lists), *lists)
            unique = table.unique([ROW, "doc_id"], keep="first", maintain_order=True)
            tables.append(table if repeated == "error" else unique)
        table = (
            tables[0] if "scores" in self.lists else tables[0].with_columns(score=1 / pl.col(PLACE))
        )
        if "relevant" in self.lists:
            label = pl.col("label") if "labels" in self.lists else pl.lit(1, pl.Int64)
            judged = tables[1].select(ROW, "doc_id", label=label)
            table = table.join(
                judged, on=[ROW, "doc_id"], how="full", coalesce=True, maintain_order="left_right"
            )
        # a query whose lists are empty keeps a row
        own = rows.select(
            ROW, *(name for name in self.columns if name not in ("doc_id", "score", "label"))
        )
        return own.join(table, on=ROW, how="left", maintain_order="left_right").select(self.columns)


def message(*parts: str | pl.Expr) -> pl.Expr:
    """A message of texts and expressions."""
    return pl.concat_str([pl.lit(x) if isinstance(x, str) else x for x in parts])


def _text(x: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    """The text of a query's id in a message."""
    if dtype.is_nested() or dtype == pl.Object:
        return pl.lit("...")
    text = x.cast(pl.String)
    return pl.coalesce(pl.format("'{}'", text) if dtype == pl.String else text, pl.lit("null"))


def _one_type(run: ListColumn, truth: ListColumn) -> pl.DataType:
    """The common type of the ids of both columns."""
    one, other = (
        pl.String() if x.inner in (pl.Categorical, pl.Enum) else x.inner for x in (run, truth)
    )
    if pl.Null in (one, other) or one == other:
        return other if one == pl.Null else one
    if one.is_integer() and other.is_integer():
        return pl.Int64()
    types = f"{run.inner} and column {truth.name!r} of {truth.inner}"
    raise InvalidData(f"column {run.name!r} holds lists of {types}; write ids of one type")


def _field(fields: Sequence[str], usual: Sequence[str]) -> str | None:
    return next((name for name in fields if name.lower() in usual), None)


def missing(schema: pl.Schema, name: str, more: str = "") -> MissingColumn:
    """The error for a missing column."""
    there = ", ".join(schema) or "no columns"
    return MissingColumn(
        f"no column {name!r}; the table has {there}{more}.{did_you_mean(name, schema)}"
    )


def is_pandas(given: object) -> bool:
    """Whether something is a pandas DataFrame; pandas is not imported for it."""
    return type(given).__module__.partition(".")[0] == "pandas" and hasattr(given, "columns")


def table_of(given: Any, names: Collection[str], what: str) -> pl.LazyFrame:
    """A table of Polars, pandas or Arrow, whose columns `names` the caller reads; `what` is the
    option that gave it.
    """
    if is_pandas(given):
        from .._lift.pandas_tables import Source

        return Source(given, names).polars.lazy()
    frame = given if isinstance(given, (pl.DataFrame, pl.LazyFrame)) else from_stream(given, names)
    if frame is None:
        kinds = "a DataFrame of Polars or pandas, or a table with the Arrow PyCapsule interface"
        raise InvalidData(f"{what}={shown(given)} is no table; give {kinds}")
    return frame.lazy()


def own_columns(given: Any, names: Collection[str], what: str) -> pl.DataFrame:
    """Those of the columns `names` that a table has."""
    table = table_of(given, names, what)
    return table.select(name for name in table.collect_schema() if name in names).collect()
