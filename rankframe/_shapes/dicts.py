"""Convert dictionaries of runs and judgments into the long table."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from numbers import Integral, Real
from typing import Any, TypeAlias

import numpy as np
import polars as pl

from .._plan.per_query import refuse_faults
from .._support.methods import called_by_users
from .._support.threads import use_polars
from .._table.columns import Columns
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
    of_run = None if run is None else _table(run, "run", "score")
    of_qrels = None if qrels is None else _table(qrels, "qrels", "label")
    found, setup = of_run if of_qrels is None else of_qrels, Setup()
    if found is None:
        raise InvalidOption("there is neither a run nor qrels; give one of them")
    if of_run is not None and of_qrels is not None:
        joined = judge(in_memory(of_run, setup), of_qrels)
        found = joined.filter(pl.col("doc_id").is_not_null() | (pl.len().over("query_id") == 1))
    whole = pl.concat(
        [found, pl.DataFrame(schema={"score": pl.Float64, "label": pl.Int64})],
        how="diagonal_relaxed",
    )
    refuse_faults(whole, setup, Columns.of(setup, whole.schema))
    return found


def _table(given: object, name: str, number: str) -> pl.DataFrame:
    """The rows of one dictionary."""
    if not isinstance(given, Mapping):
        raise InvalidData(
            f"{name} is a {type(given).__name__}; write {{query: {{document: {number}}}}}"
        )
    docs: list[Any] = []
    numbers: list[Any] = []
    lengths: list[int] = []
    for query, documents in given.items():
        unordered = isinstance(documents, (set, frozenset))
        no_list = isinstance(documents, (str, bytes)) or not isinstance(documents, Collection)
        if no_list or (unordered and number == "score"):
            kinds = f"{{document: {number}}}, or a list of documents, best first"
            raise InvalidData(
                f"{name} has {shown(documents)} for query {shown(query)}; write {kinds}"
            )
        if unordered:
            documents = sorted(documents, key=lambda doc: (str(type(doc)), doc))
        docs.extend(documents)  # += would add an array to each
        lengths.append(len(documents))
        if isinstance(documents, Mapping):
            numbers.extend(documents.values())
        else:
            numbers += (
                [1] * lengths[-1]
                if number == "label"
                else [1 / (rank + 1) for rank in range(lengths[-1])]
            )
    at, of_row = [*given], np.repeat(np.arange(len(lengths)), np.array(lengths, dtype=np.int64))
    queries = _ids(at, f"the queries of {name}")
    values = _numbers(
        numbers, number, lambda i: f"document {shown(docs[i])} of query {shown(at[of_row[i]])}"
    )
    ids = _ids(docs, f"the documents of {name}", lambda i: f" of query {shown(at[of_row[i]])}")
    table = pl.DataFrame({"query_id": queries.gather(of_row), "doc_id": ids, number: values})
    empty = pl.DataFrame({"query_id": queries.gather(np.flatnonzero(np.array(lengths) == 0))})
    return table if empty.is_empty() else pl.concat([table, empty], how="diagonal")


FIELDS = ("query", "document", "number")
"""The first fields of the tuples of other tools."""


def from_rows(rows: Sequence[tuple[Any, ...]], name: str) -> pl.DataFrame:
    """The rows of a list of tuples with a query, a document, and its score or label first; further
    fields are left out.
    """
    number = "score" if name == "run" else "label"
    queries, docs, numbers = zip(*(row[: len(FIELDS)] for row in rows), strict=True)
    values = _numbers(
        numbers, number, lambda i: f"document {shown(docs[i])} of query {shown(queries[i])}"
    )
    ids = _ids(queries, f"the queries of {name}"), _ids(docs, f"the documents of {name}")
    return pl.DataFrame({"query_id": ids[0], "doc_id": ids[1], number: values})


def _ids(values: Sequence[Any], of: str, at: Callable[[int], str] = lambda i: "") -> pl.Series:
    """Ids of one type: texts, or whole numbers."""
    kinds = {*map(type, values)}
    whole = {
        kind
        for kind in kinds
        if issubclass(kind, Integral) and not issubclass(kind, (bool, np.bool_))
    }
    try:
        if all(issubclass(kind, str) for kind in kinds):
            return pl.Series(values, dtype=pl.String)
        if whole == kinds:
            return pl.Series([int(x) for x in values], dtype=pl.Int64)
    except (UnicodeEncodeError, TypeError, OverflowError):
        raise InvalidData(
            f"{of} hold half of a character, or a number of over 64 bits; write all as text"
        ) from None
    fits = {kind for kind in kinds if issubclass(kind, str)} or whole
    odd = next(i for i, x in enumerate(values) if type(x) not in fits)
    raise InvalidData(
        f"{of} are not all texts or all whole numbers: found {shown(values[odd])}{at(odd)}"
    )


def _numbers(values: Sequence[object], number: str, at: Callable[[int], str]) -> pl.Series:
    """Scores as floats; labels as whole numbers if all are."""
    kinds = {*map(type, values)}
    whole = number == "label" and all(issubclass(kind, (Integral, np.bool_)) for kind in kinds)
    if not all(issubclass(kind, (Real, np.bool_)) for kind in kinds):
        odd = next(i for i, x in enumerate(values) if not isinstance(x, (Real, np.bool_)))
        raise InvalidData(
            f"the {number} of {at(odd)} is {shown(values[odd])}, not a number; leave the "
            "document out"
        )
    return pl.Series(np.array(values, dtype=np.int64 if whole else np.float64))
