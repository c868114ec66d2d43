"""Tables with one row per query and lists of documents: their checks, and the long table of
them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar, overload

import polars as pl

from .._plan.per_query import collect
from .._support.arrow_stream import from_stream
from .._support.methods import called_by_users
from .._support.polars_versions import exploded
from .._support.threads import use_polars
from .._table.columns import failing
from .._table.roles import USUAL_NAMES
from .._table.setup import Setup
from ..errors import InvalidData, InvalidOption, MissingColumn, did_you_mean, option, shown

if TYPE_CHECKING:
    import pandas as pd

F = TypeVar("F", "pl.DataFrame", "pl.LazyFrame", "pd.DataFrame")
Repeated: TypeAlias = Literal["error", "first"]

DOC_FIELDS = (*USUAL_NAMES["doc"], "id", "_id", "doc_uri")
NUMBER_FIELDS = {"scores": (*USUAL_NAMES["score"], "_score"), "labels": USUAL_NAMES["label"]}
"""The usual names of the fields of structs."""

ROW, PLACE = "#row", "#place"
"""The plan's columns for the number of a query's row, and the place of a document in its list."""


@overload
def from_lists(
    frame: Sequence[Mapping[str, Any]],
    query: str | Sequence[str] | None = ...,
    retrieved: str | Sequence[str] | None = ...,
    relevant: str | None = ...,
    scores: str | Sequence[str] | None = ...,
    labels: str | None = ...,
    *,
    carry: Sequence[str] = ...,
    repeated: Repeated = ...,
) -> pl.DataFrame: ...
@overload
def from_lists(
    frame: F,
    query: str | Sequence[str] | None = ...,
    retrieved: str | Sequence[str] | None = ...,
    relevant: str | None = ...,
    scores: str | Sequence[str] | None = ...,
    labels: str | None = ...,
    *,
    carry: Sequence[str] = ...,
    repeated: Repeated = ...,
) -> F: ...
@called_by_users
def from_lists(
    frame: Any,
    query: str | Sequence[str] | None = "query_id",
    retrieved: str | Sequence[str] | None = "retrieved",
    relevant: str | None = "relevant",
    scores: str | Sequence[str] | None = None,
    labels: str | None = None,
    *,
    carry: Sequence[str] = (),
    repeated: Repeated = "error",
) -> Any:
    """The long table of a frame with one row per query and lists of documents.

    MLflow, ragas, LlamaIndex, Haystack, deepeval and Spark hold rankings as such lists.

    Parameters
    ----------
    frame
        A Polars DataFrame or LazyFrame, a table with the Arrow PyCapsule interface, or a pandas
        DataFrame whose cells are lists, tuples, sets, arrays or dictionaries ``{document:
        number}``. Or a list of dictionaries, one for each query, with the names of columns as keys.
    query
        The column, or columns, that identify a query; ``None`` numbers the rows from 0. Of
        dictionaries without ``query_id``, it may be ``query`` or the like.
    retrieved
        The column with the list of retrieved documents, best first. The elements may be structs
        (dicts) with a field ``id``, ``doc_id``, ``doc_uri`` or the like for the document, and
        ``score`` or the like for its score. Several columns, ``["bm25", "dense"]``, are several
        runs. ``None`` numbers the documents of lists of `scores` and `labels` from 0.
    relevant
        The column with the list of relevant documents, or with a single document. The elements may
        be structs, whose field ``label`` or the like is the label. ``None`` if there is no such
        column; then `labels`, if given, are the labels of the retrieved documents.
    scores
        The column with the scores of the retrieved documents, one for each; or the field of their
        structs; of several runs, one for each run. Default: 1 / rank, which keeps the order of the
        list.
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
    A frame of the caller's kind (Polars for dictionaries) with the query (named ``query_id``;
    several columns keep their names), the columns of `carry`, ``doc_id``, ``score`` (null for a
    relevant document that was not retrieved; of several runs, a column of scores for each, named as
    that of its lists) and ``label`` (null for a retrieved document that is not among the relevant
    ones; no such column if both `relevant` and `labels` are None). Default scores are Float64,
    default labels Int64. Queries come in the order of the frame, each with its retrieved documents
    in the order of the list, then with the others. A query whose lists are empty or null has one
    row, without a document or a label; as nobody judged it, it has no value.

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
    >>> lists = {"retrieved": [["x", "y"], ["z"]], "relevant": [["y", "w"], ["z"]]}
    >>> df = pl.DataFrame({"query_id": ["a", "b"], **lists})
    >>> rf.from_lists(df).rows()
    [('a', 'x', 1.0, None), ('a', 'y', 0.5, 1), ('a', 'w', None, 1), ('b', 'z', 1.0, 1)]
    >>> rf.from_lists(df).rank.evaluate("rr", "recall").rows()
    [('a', 0.5, 0.5), ('b', 1.0, 1.0)]

    Two runs, a column of scores each:

    >>> two = {"old": [["x", "y"]], "new": [["y"]], "relevant": [["y"]]}
    >>> df = pl.DataFrame({"query_id": ["a"], **two})
    >>> rf.from_lists(df, retrieved=["old", "new"]).rows()
    [('a', 'x', 1.0, None, None), ('a', 'y', 0.5, 1.0, 1)]
    """
    use_polars()
    names = Names.of(query, retrieved, relevant, scores, labels, carry)
    given: Any = frame
    if holds_dictionaries(frame):
        names = names.of_dictionaries(given)
        given = columns_of(given, names)
    if is_pandas(given):
        table = crossed_to_polars(given, names).lazy()
    else:
        table = table_of(given, (), "frame")
    lists: QueryLists = QueryLists.of(table.collect_schema(), names)
    rows = lists.rows(table).filter(failing([*lists.faults(repeated)]).is_null())
    if isinstance(given, pl.LazyFrame):
        return lists.long(rows, repeated)
    checked = collect(rows, table.collect(), Setup()).lazy()
    long = lists.long(checked, repeated).collect()
    if not is_pandas(frame):
        return long
    from .._lift.pandas_tables import as_pandas

    return as_pandas(long)


def crossed_to_polars(frame: pd.DataFrame, names: Names) -> pl.DataFrame:
    """The columns of a pandas frame that the names name, in Polars."""
    from .pandas_lists import crossed

    return crossed(frame, (*names.query, *names.carry), names.roles)


def holds_dictionaries(frame: object) -> bool:
    """Whether the rows of queries are dictionaries in a list."""
    if not isinstance(frame, list) or not frame:
        return False
    return all(isinstance(row, Mapping) for row in frame)


def columns_of(rows: Sequence[Mapping[str, Any]], names: Names) -> pd.DataFrame:
    """Dictionaries as a frame of pandas, whose cells may hold what theirs do."""
    import pandas as pd

    first = [str(key) for key in rows[0]]
    needed = [name for name in names.columns if name in first]
    for place, row in enumerate(rows):
        for name in needed:
            if name not in row:
                says = f"the dictionary at place {place} has no {name!r}, as the first one has"
                raise InvalidData(f"{says}; write {name!r}: [] if there is nothing")
    # an array for each column, since Pandas would make columns of lists of equal length
    columns = {name: pd.Series([row[name] for row in rows]) for name in needed}
    others = {name: pd.Series([None] * len(rows)) for name in first if name not in needed}
    return pd.DataFrame({**columns, **others})


@dataclass(frozen=True)
class Names:
    """The names of columns that a call gives.

    Attributes
    ----------
    query, carry
        The columns that identify a query; and those to repeat on each of its rows.
    retrieved
        The columns with the lists of runs, by the names of their scores in the result.
    scores
        The columns or fields of their scores, by the same names.
    relevant, labels
        The columns of the judged documents and their labels.
    numbered
        Whether the documents are numbered.
    """

    query: tuple[str, ...]
    carry: tuple[str, ...]
    retrieved: Mapping[str, str]
    scores: Mapping[str, str | None]
    relevant: str | None
    labels: str | None
    numbered: bool = False

    @classmethod
    def of(
        cls,
        query: str | Sequence[str] | None,
        retrieved: str | Sequence[str] | None,
        relevant: str | None,
        scores: str | Sequence[str] | None,
        labels: str | None,
        carry: Sequence[str],
    ) -> Names:
        """Check that runs and scores are as many."""
        queries = (query,) if isinstance(query, str) else tuple(query or ())
        carried = (carry,) if isinstance(carry, str) else tuple(carry)
        if retrieved is None:
            if relevant is not None or not isinstance(scores, str):
                says = " numbers the documents of lists of scores, which no list names; write "
                needed = option(relevant=None, scores="scores", labels="labels")
                raise InvalidOption(option(retrieved=None), says, needed)
            by_score: dict[str, str | None] = {"score": scores}
            return cls(queries, carried, {"score": scores}, by_score, None, labels, numbered=True)
        if isinstance(retrieved, str):
            if not (scores is None or isinstance(scores, str)):
                says = " lists columns for the one column "
                raise InvalidOption(option(scores=[*scores]), says, option(retrieved=retrieved))
            return cls(queries, carried, {"score": retrieved}, {"score": scores}, relevant, labels)
        runs = [*retrieved]
        if not runs:
            raise InvalidOption(option(retrieved=runs), " names no column; name at least one")
        if len(set(runs)) < len(runs):
            raise InvalidOption(option(retrieved=runs), " names a column twice; name each once")
        if scores is None:
            of_runs: list[str | None] = [None] * len(runs)
        elif isinstance(scores, str) or len(scores) != len(runs):
            says = ": write a list with a column or a field for each of "
            given = scores if isinstance(scores, str) else [*scores]
            raise InvalidOption(option(scores=given), says, option(retrieved=runs))
        else:
            of_runs = [*scores]
        if relevant is None and labels is not None:
            says = " are the labels of one run's documents; name "
            raise InvalidOption(option(labels=labels), says, option(relevant="relevant"))
        by_run = dict(zip(runs, of_runs, strict=True))
        return cls(queries, carried, {run: run for run in runs}, by_run, relevant, labels)

    def of_dictionaries(self, rows: Sequence[Mapping[str, Any]]) -> Names:
        """The names, with that of the query in dictionaries if it is a usual one."""
        if self.query != ("query_id",) or "query_id" in rows[0]:
            return self
        usual = [name for name in USUAL_NAMES["query"] if name in rows[0]]
        return replace(self, query=(usual[0],)) if len(usual) == 1 else self

    @property
    def roles(self) -> dict[str, str]:
        """The roles of columns of lists, by their names."""
        roles = dict.fromkeys(self.retrieved.values(), "retrieved")
        roles |= {name: "scores" for name in self.scores.values() if name is not None}
        if self.relevant is not None:
            roles[self.relevant] = "relevant"
        if self.labels is not None:
            roles[self.labels] = "labels"
        return roles

    @property
    def columns(self) -> list[str]:
        """All names, of which some may be those of fields."""
        return [*dict.fromkeys((*self.query, *self.carry, *self.roles))]


@dataclass(frozen=True)
class ListColumn:
    """A column of lists, or of `single` values.

    Attributes
    ----------
    name
        The column of the frame.
    role
        What its lists are: retrieved or relevant documents, their scores or labels.
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
        return pl.col(self.in_plan).list

    @property
    def in_plan(self) -> str:
        """The name of the lists as a column of the plan; structs have those of several roles."""
        return f"#{self.role} {self.name}"

    def refuse_others_than_numbers(self) -> None:
        """Refuse lists of other elements than numbers."""
        if not (self.inner.is_numeric() or self.inner in (pl.Boolean, pl.Null)):
            says = f"column {self.name!r} for {self.role} holds lists of {self.inner}"
            raise InvalidData(f"{says}, not of numbers")

    @property
    def has_gaps(self) -> pl.Expr:
        """Whether a list holds null or NaN."""
        has_null: pl.Expr = self.lists.len() != self.lists.drop_nulls().list.len()
        return (
            has_null | self.lists.eval(pl.element().is_nan()).list.any()
            if self.inner.is_float()
            else has_null
        )


@dataclass(frozen=True)
class Documents:
    """The lists of a run's documents, or of the judged ones.

    Attributes
    ----------
    ids
        The lists of documents.
    numbers
        Those of their scores and labels, as far as a column or a field has them.
    """

    ids: ListColumn
    numbers: tuple[ListColumn, ...]

    @classmethod
    def of(
        cls, schema: pl.Schema, name: str, role: str, numbers: Mapping[str, str | None]
    ) -> Documents:
        """Read a column of lists, or of structs, and find its `numbers`; refuse other types."""
        ids = structs = ListColumn.of(schema, name, role, single=role == "relevant")
        fields: list[str] = []
        if isinstance(structs.inner, pl.Struct):
            fields = [x.name for x in structs.inner.fields]
        if field := _field(fields, DOC_FIELDS):
            ids = structs.field(field, role)
        if ids.inner.is_nested() or ids.inner == pl.Object:
            says = f"column {name!r} for {role} holds lists of {ids.inner}"
            raise InvalidData(f"{says}; a document is a text or a number")
        single = not isinstance(schema[name], (pl.List, pl.Array))
        found = []
        for number, given in numbers.items():
            column = _field(fields, NUMBER_FIELDS[number]) if given is None else given
            if column in fields:
                found.append(structs.field(str(column), number))
            elif column is not None:
                found.append(ListColumn.of(schema, column, number, single=single))
        for column_of_numbers in found:
            column_of_numbers.refuse_others_than_numbers()
        return cls(ids, tuple(found))

    @classmethod
    def numbered(cls, schema: pl.Schema, name: str, numbers: Mapping[str, str | None]) -> Documents:
        """The places of a column of lists as documents, with the lists of their `numbers`."""
        found = []
        for number, column in numbers.items():
            if column is not None:
                found.append(ListColumn.of(schema, column, number))
        for lists in found:
            lists.refuse_others_than_numbers()
        n_documents = found[0].given.list.len().cast(pl.Int64)
        places = pl.int_ranges(0, n_documents)
        return cls(ListColumn(name, "retrieved", places, pl.Int64()), tuple(found))

    def number(self, role: str) -> ListColumn | None:
        """The lists of the scores or labels, if there are any."""
        return next((x for x in self.numbers if x.role == role), None)

    def long(self, rows: pl.LazyFrame, repeated: Repeated) -> pl.LazyFrame:
        """One row per document, with its place in the list and its numbers."""
        n_documents = self.ids.lists.len()
        lists = {
            "doc_id": pl.col(self.ids.in_plan),
            PLACE: pl.int_ranges(1, n_documents.cast(pl.Int64) + 1),
        }
        lists |= {f"#{x.role}": pl.col(x.in_plan) for x in self.numbers}
        table = exploded(rows.filter(n_documents > 0).select(ROW, **lists), *lists)
        if repeated == "error":
            return table
        return table.unique([ROW, "doc_id"], keep="first", maintain_order=True)


@dataclass(frozen=True)
class QueryLists:
    """The columns of a frame with one row per query.

    Attributes
    ----------
    query
        The columns that identify a query, and their names in the result; none if rows are numbered.
    carry
        Columns to repeat on each row of a query.
    runs
        The retrieved documents of each run, by the name of its scores in the result.
    judged
        The relevant documents; without them, labels belong to the retrieved ones.
    """

    query: Mapping[str, str]
    carry: tuple[str, ...]
    runs: Mapping[str, Documents]
    judged: Documents | None
    schema: pl.Schema

    @classmethod
    def of(cls, schema: pl.Schema, names: Names) -> QueryLists:
        """Check the names and types of the columns."""
        for name in (*names.query, *names.carry):
            if name not in schema:
                raise missing(schema, name)
        runs: dict[str, Documents] = {}
        for score, column in names.retrieved.items():
            numbers = {"scores": names.scores[score]}
            if names.relevant is None:
                numbers["labels"] = names.labels
            if names.numbered:
                runs[score] = Documents.numbered(schema, column, numbers)
            else:
                runs[score] = Documents.of(schema, column, "retrieved", numbers)
        judged = None
        if names.relevant is not None:
            judged = Documents.of(schema, names.relevant, "relevant", {"labels": names.labels})
        every = [*runs.values()] if judged is None else [*runs.values(), judged]
        dtype = _one_type([x.ids for x in every])
        runs = {name: replace(x, ids=x.ids.cast(dtype)) for name, x in runs.items()}
        if judged is not None:
            judged = replace(judged, ids=judged.ids.cast(dtype))
        of_result = ["query_id"] if len(names.query) == 1 else names.query
        queries = dict(zip(names.query, of_result, strict=True))
        lists = cls(queries, names.carry, runs, judged, schema)
        if twice := [name for name in lists.columns if lists.columns.count(name) > 1]:
            says = f"two columns of the result are named {twice[0]!r}"
            raise InvalidOption(f"{says}; rename one of the frame")
        return lists

    @property
    def of_query(self) -> list[str]:
        """The columns of the result that are those of the query."""
        return [*(self.query.values() or ["query_id"]), *self.carry]

    @property
    def columns(self) -> list[str]:
        """The columns of the result."""
        has_labels = any(x.number("labels") for x in self.every)
        label = ["label"] if has_labels or self.judged is not None else []
        return [*self.of_query, "doc_id", *self.runs, *label]

    @property
    def every(self) -> list[Documents]:
        """The documents of the runs, and the judged ones."""
        judged = [] if self.judged is None else [self.judged]
        return [*self.runs.values(), *judged]

    def rows(self, frame: pl.LazyFrame) -> pl.LazyFrame:
        """The rows with their number, and the lists under the plan's names."""
        query = [pl.col(name).alias(new) for name, new in self.query.items()]
        lists: dict[str, pl.Expr] = {}
        for documents in self.every:
            lists |= {x.in_plan: x.given for x in (documents.ids, *documents.numbers)}
        rows = frame.select(*query, *self.carry, **lists).with_row_index(ROW)
        return rows if query else rows.with_columns(pl.col(ROW).cast(pl.Int64).alias("query_id"))

    def faults(self, repeated: Repeated) -> Iterator[tuple[pl.Expr, pl.Expr]]:
        """The faults that a row may have, each with its message."""
        named = [_text(pl.col(new), self.schema[name]) for name, new in self.query.items()]
        query = pl.concat_str(named or _text(pl.col("query_id"), pl.Int64()), separator=", ")
        if self.query:
            last = [*self.query][-1]
            advice = (
                f" has several rows; name all columns that identify it, as query=[..., {last!r}]"
            )
            is_repeated = pl.struct(*self.query.values()).is_duplicated()
            yield is_repeated, message("query ", query, advice)
        for documents in self.every:
            yield from _faults_of_documents(documents.ids, query, repeated)
            for number in documents.numbers:
                yield from _faults_of_numbers(documents.ids, number, query)

    def long(self, rows: pl.LazyFrame, repeated: Repeated) -> pl.LazyFrame:
        """The long table of the rows."""
        tables = []
        for score, documents in self.runs.items():
            of_run = documents.long(rows, repeated)
            value = 1 / pl.col(PLACE) if documents.number("scores") is None else pl.col("#scores")
            columns = {score: value}
            if documents.number("labels") is not None:
                columns["label"] = pl.col("#labels")
            tables.append(of_run.select(ROW, "doc_id", **columns))
        if self.judged is not None:
            judged = self.judged.long(rows, repeated)
            label = pl.col("#labels") if self.judged.numbers else pl.lit(1, pl.Int64)
            tables.append(judged.select(ROW, "doc_id", label=label))
        table = reduce(_both, tables)
        # a query whose lists are empty keeps a row
        own = rows.select(ROW, *self.of_query)
        return own.join(table, on=ROW, how="left", maintain_order="left_right").select(self.columns)


def _both(table: pl.LazyFrame, other: pl.LazyFrame) -> pl.LazyFrame:
    """The documents of two tables, those of the first one first."""
    return table.join(
        other, on=[ROW, "doc_id"], how="full", coalesce=True, maintain_order="left_right"
    )


def _faults_of_documents(
    ids: ListColumn, query: pl.Expr, repeated: Repeated
) -> Iterator[tuple[pl.Expr, pl.Expr]]:
    """The faults of a list of documents."""
    at = f"the list in column {ids.name!r} of query "
    if ids.single and ids.inner == pl.String:
        is_json = ids.lists.first().str.contains(r"^\s*\[")
        yield is_json, message(at, query, " is text that looks like JSON; make a list of it")
    gaps = message(at, query, " holds null or NaN, which is no document; leave it out")
    yield ids.has_gaps, gaps
    if repeated == "error":
        duplicates = pl.element().filter(pl.element().is_duplicated())
        twice = ids.lists.eval(duplicates).list.first().cast(pl.String)
        advice = " twice; repeated='first' keeps its first place"
        is_repeated = ids.lists.n_unique() != ids.lists.len()
        yield is_repeated, message(at, query, " holds ", twice, advice)


def _faults_of_numbers(
    ids: ListColumn, number: ListColumn, query: pl.Expr
) -> Iterator[tuple[pl.Expr, pl.Expr]]:
    """The faults of the scores or labels of a list of documents."""
    n_documents = ids.lists.len().fill_null(0)
    n_numbers = number.lists.len().fill_null(0)
    documents = f" documents in column {ids.name!r} and "
    numbers = f" {number.role} in column {number.name!r}; give one for each document"
    counts = message("query ", query, " has ", n_documents, documents, n_numbers, numbers)
    yield n_documents != n_numbers, counts
    if number.role == "scores":
        at = f"the scores in column {number.name!r} of query "
        gaps = message(at, query, " hold null or NaN; give each document a score")
        yield number.has_gaps, gaps


def message(*parts: str | pl.Expr) -> pl.Expr:
    """A message of texts and expressions."""
    return pl.concat_str([pl.lit(x) if isinstance(x, str) else x for x in parts])


def _text(x: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    """The text of a query's id in a message."""
    if dtype.is_nested() or dtype == pl.Object:
        return pl.lit("...")
    text = x.cast(pl.String)
    return pl.coalesce(pl.format("'{}'", text) if dtype == pl.String else text, pl.lit("null"))


def _one_type(columns: Sequence[ListColumn]) -> pl.DataType:
    """The common type of the ids of all columns."""
    first, *others = columns
    common = _plain(first)
    for other in others:
        dtype = _plain(other)
        if common == pl.Null or (common.is_integer() and dtype.is_integer() and common != dtype):
            common = dtype if common == pl.Null else pl.Int64()
        elif dtype not in (pl.Null, common) and not (common.is_integer() and dtype.is_integer()):
            types = f"{first.inner} and column {other.name!r} of {other.inner}"
            raise InvalidData(
                f"column {first.name!r} holds lists of {types}; write ids of one type"
            )
    return common


def _plain(column: ListColumn) -> pl.DataType:
    """The type of the ids of a column, where coded texts are texts."""
    return pl.String() if column.inner in (pl.Categorical, pl.Enum) else column.inner


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
