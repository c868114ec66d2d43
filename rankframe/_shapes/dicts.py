"""Convert dictionaries of runs and judgments into the long table."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from itertools import accumulate
from numbers import Integral, Real
from typing import Any, NamedTuple, TypeAlias, cast

import numpy as np
import polars as pl

from .._plan.per_query import refuse_faults
from .._support.methods import called_by_users
from .._support.threads import use_polars
from .._table.columns import Columns
from .._table.run_and_judgments import FIRST_ROWS
from .._table.setup import Setup
from .._table.table import in_memory
from .._verbs.measure.judge import judge
from ..errors import InvalidData, InvalidOption, shown

RunDict: TypeAlias = Mapping[Any, "Mapping[Any, float] | Sequence[Any]"]
"""The documents of each query with their scores; or the documents alone, best first."""

QrelsDict: TypeAlias = Mapping[Any, "Mapping[Any, float] | Collection[Any]"]
"""The documents of each query with their labels; or the relevant documents alone."""


@called_by_users
def from_dicts(*, run: RunDict | None = None, qrels: QrelsDict | None = None) -> pl.DataFrame:
    """The long table of dictionaries, as pytrec_eval, ranx, BEIR, mteb and sentence-transformers
    hold them.

    Both are keywords: other tools differ in the order of runs and judgments, and swapped ones give
    values that look right.

    Parameters
    ----------
    run
        ``{query: {document: score}}``, or ``{query: [document, ...]}``, best first, with scores 1 /
        rank. ``None`` for a table of judgments only.
    qrels
        ``{query: {document: label}}``, or ``{query: {document, ...}}`` with the relevant documents
        as a set or list, whose label is 1. ``None`` for a table of the run only.

    Returns
    -------
    pl.DataFrame
        ``query_id``, ``doc_id`` (String or Int64), ``score`` (Float64; null for a document that was
        not retrieved) and ``label`` (Int64, or Float64 if one is no whole number; null for a
        document that was not judged). With both arguments it is the run joined with its judgments,
        as by ``judge``: queries that nobody judged are left out, with a warning. A query without
        documents has one row, whose document is null; without a label, it has no value.

    Raises
    ------
    InvalidData
        If queries or documents are not all texts or all whole numbers; if a score or a label is no
        number, null or NaN, or a label infinite; if a list repeats a document; if no query of the
        run is judged. The message names the query.

    Examples
    --------
    >>> import rankframe as rf
    >>> run = {"q1": {"a": 0.5, "b": 0.25}, "q2": {"c": 1.0}}
    >>> rf.from_dicts(run=run, qrels={"q1": {"b": 2, "x": 1}, "q2": {"c": 1}}).rows()
    [('q1', 'a', 0.5, None), ('q1', 'b', 0.25, 2), ('q2', 'c', 1.0, 1), ('q1', 'x', None, 1)]
    >>> rf.from_dicts(run={"q1": ["a", "b"]}, qrels={"q1": {"b"}}).rank.evaluate("rr").row(0)
    ('q1', 0.5)
    """
    use_polars()
    if run is None and qrels is None:
        raise InvalidOption("there is neither a run nor qrels; give one of them")
    of_run = None if run is None else _rows(run, "run", "score")
    of_qrels = None if qrels is None else _rows(qrels, "qrels", "label")
    setup = Setup()
    if of_run is not None and of_qrels is not None:
        table = _joined(of_run, of_qrels, setup)
    else:
        table = (of_run or cast(Rows, of_qrels)).table()
    whole = table
    for name, dtype in (("score", pl.Float64), ("label", pl.Int64)):
        if name not in table.columns:
            no_number = pl.lit(None, dtype).alias(name)
            whole = whole.with_columns(no_number)
    may_repeat = any(rows is not None and rows.has_lists for rows in (of_run, of_qrels))
    columns = Columns.of(setup, whole.schema)
    refuse_faults(whole, setup, columns, documents=may_repeat)
    return table


class Rows(NamedTuple):
    """The rows of one dictionary, query by query.

    Attributes
    ----------
    name
        ``"run"`` or ``"qrels"``.
    number
        ``"score"`` or ``"label"``.
    given
        The dictionary.
    docs, numbers
        The document of each row, and its score or label.
    lengths
        The number of documents of each query.
    has_lists
        Whether the documents of a query are a list, which may hold one twice.
    """

    name: str
    number: str
    given: Mapping[Any, Any]
    docs: list[Any]
    numbers: list[Any]
    lengths: list[int]
    has_lists: bool

    def query_of(self, row: int) -> str:
        """The query of a row, as errors show it."""
        ends = list(accumulate(self.lengths))
        return shown([*self.given][bisect_right(ends, row)])

    def ids(self) -> tuple[pl.Series, pl.Series]:
        """The queries, and the document of each row."""
        queries = _ids([*self.given], f"the queries of {self.name}")
        docs = _ids(self.docs, f"the documents of {self.name}", self._of_query)
        return queries, docs

    def _of_query(self, row: int) -> str:
        return f" of query {self.query_of(row)}"

    def _document(self, row: int) -> str:
        return f"document {shown(self.docs[row])}{self._of_query(row)}"

    def values(self) -> pl.Series:
        """The scores or labels."""
        return _numbers(self.numbers, self.number, self._document)

    def table(self) -> pl.DataFrame:
        """The long table, in which a query without documents has a row of its own."""
        queries, docs = self.ids()
        values = self.values()
        lengths = np.array(self.lengths, dtype=np.int64)
        number_of_query = np.arange(len(lengths), dtype=np.uint32)
        query_of_row = queries.gather(np.repeat(number_of_query, lengths))
        table = pl.DataFrame({"query_id": query_of_row, "doc_id": docs, self.number: values})
        if lengths.all():
            return table
        without_documents = queries.gather(np.flatnonzero(lengths == 0))
        empty = pl.DataFrame({"query_id": without_documents})
        return pl.concat([table, empty], how="diagonal")


def _rows(given: object, name: str, number: str) -> Rows:
    """The rows of one dictionary."""
    if not isinstance(given, Mapping):
        kind = type(given).__name__
        raise InvalidData(f"{name} is a {kind}; write {{query: {{document: {number}}}}}")
    has_lists = not all(map(_is_dict, given.values()))
    rows = Rows(name, number, given, [], [], [], has_lists)
    for query, documents in given.items():
        is_set = isinstance(documents, (set, frozenset))
        is_text = isinstance(documents, (str, bytes))
        has_documents = isinstance(documents, Collection) and not is_text
        if not has_documents or (is_set and number == "score"):
            kinds = f"{{document: {number}}}, or a list of documents, best first"
            raise InvalidData(
                f"{name} has {shown(documents)} for query {shown(query)}; write {kinds}"
            )
        if is_set:
            documents = sorted(documents, key=lambda doc: (str(type(doc)), doc))
        rows.docs.extend(documents)  # += would add an array to each
        n_docs = len(documents)
        rows.lengths.append(n_docs)
        if isinstance(documents, Mapping):
            rows.numbers.extend(documents.values())
        elif number == "label":
            rows.numbers.extend([1] * n_docs)
        else:
            ranks = range(1, n_docs + 1)
            rows.numbers.extend(1 / rank for rank in ranks)
    return rows


def _is_dict(documents: object) -> bool:
    return isinstance(documents, dict)


def _joined(run: Rows, qrels: Rows, setup: Setup) -> pl.DataFrame:
    """The run with its judgments: looked up in the dictionaries if there is nothing to warn of,
    else by `judge`.
    """
    judged = _looked_up(run, qrels)
    if judged is not None:
        return judged
    joined = judge(in_memory(run.table(), setup), qrels.table())
    has_document = pl.col("doc_id").is_not_null()
    is_alone = pl.len().over("query_id") == 1
    return joined.filter(has_document | is_alone)


def _looked_up(run: Rows, qrels: Rows) -> pl.DataFrame | None:
    """The run with its judgments; None if `judge` may have to warn, or to refuse the join."""
    has_empty = not (all(run.lengths) and all(qrels.lengths))
    has_lists = run.has_lists or qrels.has_lists
    if has_empty or has_lists or run.given.keys() != qrels.given.keys():
        return None
    table = run.table()
    id_types = [ids.dtype for ids in qrels.ids()]
    if id_types != [table.schema["query_id"], table.schema["doc_id"]]:
        return None
    dtype = qrels.values().dtype
    labels: list[Any] = []
    for query, documents in run.given.items():
        label_of = qrels.given[query].get
        labels.extend(map(label_of, documents))
    n_matched = len(labels) - labels.count(None)
    if n_matched == 0 or (n_matched < len(labels) and _in_other_letters(run, qrels)):
        return None
    table = table.with_columns(label=_with_gaps(labels, dtype))
    if n_matched == len(qrels.docs):
        return table
    rest = _not_retrieved(run, qrels, id_types, dtype)
    return pl.concat([table, rest], how="diagonal")


def _not_retrieved(
    run: Rows, qrels: Rows, id_types: list[pl.DataType], dtype: pl.DataType
) -> pl.DataFrame:
    """The judgments of documents that the run has not."""
    queries = []
    docs = []
    labels = []
    for query, judgments in qrels.given.items():
        retrieved = run.given[query]
        for doc, label in judgments.items():
            if doc not in retrieved:
                queries.append(query)
                docs.append(doc)
                labels.append(label)
    of_query, of_doc = id_types
    return pl.DataFrame(
        {
            "query_id": _series(queries, of_query),
            "doc_id": _series(docs, of_doc),
            "label": _with_gaps(labels, dtype),
        }
    )


def _in_other_letters(run: Rows, qrels: Rows) -> bool:
    """Whether one of the first documents of the run is judged in other letters alone."""
    n_seen = 0
    for query, documents in run.given.items():
        judgments = qrels.given[query]
        unjudged = [doc for doc in documents if isinstance(doc, str) and doc not in judgments]
        if unjudged:
            folded = {doc.strip().lower() for doc in judgments}
            if any(doc.strip().lower() in folded for doc in unjudged):
                return True
        n_seen += len(documents)
        if n_seen >= FIRST_ROWS:
            return False
    return False


def _with_gaps(numbers: list[Any], dtype: pl.DataType) -> pl.Series:
    """Labels as a column, null where there is none."""
    kinds = {*map(type, numbers)} - {type(None)}
    if kinds <= {int} or kinds <= {float}:
        return pl.Series(numbers, dtype=dtype)
    as_type = int if dtype == pl.Int64 else float
    labels = [None if number is None else as_type(number) for number in numbers]
    return pl.Series(labels, dtype=dtype)


def _series(ids: list[Any], dtype: pl.DataType) -> pl.Series:
    """Ids of a type that is known to hold them."""
    if dtype == pl.String:
        return pl.Series(ids, dtype=dtype)
    return pl.Series([int(x) for x in ids], dtype=dtype)


FIELDS = ("query", "document", "number")
"""The first fields of the tuples of other tools."""


def from_rows(rows: Sequence[tuple[Any, ...]], name: str) -> pl.DataFrame:
    """The rows of a list of tuples with a query, a document, and its score or label first; further
    fields are left out.
    """
    number = "score" if name == "run" else "label"
    first_fields = (row[: len(FIELDS)] for row in rows)
    queries, docs, numbers = zip(*first_fields, strict=True)

    def document(i: int) -> str:
        return f"document {shown(docs[i])} of query {shown(queries[i])}"

    values = _numbers(numbers, number, document)
    query_id = _ids(queries, f"the queries of {name}")
    doc_id = _ids(docs, f"the documents of {name}")
    return pl.DataFrame({"query_id": query_id, "doc_id": doc_id, number: values})


def _ids(values: Sequence[Any], of: str, at: Callable[[int], str] = lambda i: "") -> pl.Series:
    """Ids of one type: texts, or whole numbers."""
    if len(values) and isinstance(values[0], str):
        with suppress(UnicodeEncodeError, TypeError):  # refused below
            texts = pl.Series(values, dtype=pl.String)
            if not texts.has_nulls():
                return texts
    kinds = {*map(type, values)}
    texts_of = {kind for kind in kinds if issubclass(kind, str)}
    whole = {kind for kind in kinds if _is_whole(kind)}
    try:
        if texts_of == kinds:
            return pl.Series(values, dtype=pl.String)
        if whole == kinds:
            return pl.Series([int(x) for x in values], dtype=pl.Int64)
    except (UnicodeEncodeError, TypeError, OverflowError):
        raise InvalidData(
            f"{of} hold half of a character, or a number of over 64 bits; write all as text"
        ) from None
    fits = texts_of or whole
    odd = next(i for i, x in enumerate(values) if type(x) not in fits)
    raise InvalidData(
        f"{of} are not all texts or all whole numbers: found {shown(values[odd])}{at(odd)}"
    )


def _is_whole(kind: type) -> bool:
    """Whether values of a type are whole numbers, and no truth values."""
    return issubclass(kind, Integral) and not issubclass(kind, (bool, np.bool_))


def _numbers(values: Sequence[object], number: str, at: Callable[[int], str]) -> pl.Series:
    """Scores as floats; labels as whole numbers if all are."""
    kinds = {*map(type, values)}
    is_whole = number == "label" and all(issubclass(kind, (Integral, np.bool_)) for kind in kinds)
    if not all(issubclass(kind, (Real, np.bool_)) for kind in kinds):
        odd = next(i for i, x in enumerate(values) if not isinstance(x, (Real, np.bool_)))
        raise InvalidData(
            f"the {number} of {at(odd)} is {shown(values[odd])}, not a number; leave the document "
            "out"
        )
    if kinds <= {float} or (is_whole and kinds <= {int}):
        with suppress(OverflowError):  # refused below
            return pl.Series(values, dtype=pl.Int64 if is_whole else pl.Float64)
    array = np.array(values, dtype=np.int64 if is_whole else np.float64)
    return pl.Series(array)
