"""The plan for metrics of diversity: rank the documents, then use only their relevant subtopics."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl
from polars import selectors as cs

from .._catalog.call import Call
from .._support.polars_versions import exploded
from .._table.columns import Columns
from .._table.roles import ROW
from .._table.setup import Setup
from .._table.steps import one_kept
from .._words.expected_ties import NoExpectation, OneRank
from .._words.sorted_rows import HAS_LABELS, Needed
from .._words.subtopics import Topics
from ..errors import InvalidOption, on, option
from .plan import values_of_groups
from .rank_order import numbered


def evaluate(
    frame: pl.DataFrame, docs: pl.DataFrame, rank: pl.Series, table: Columns, calls: Sequence[Call]
) -> pl.DataFrame:
    """A row per query with a column per call, in the order in which queries first appear; of a part
    also the column `ROW`.

    `docs` are the documents of the frame, in the order in which they first appear, and `rank` their
    ranks.
    """
    setup = table.setup
    _refuse_ties(setup, calls[0])
    needed = Needed(["#query"])
    topics = Topics(needed, None if table.lists_subtopics else setup.policies.relevant, setup)
    needed.values = {call.text: call.value(topics, setup.policies.no_relevant) for call in calls}
    queries = numbered(docs[list(setup.roles.query)])
    query = pl.Series("#query", queries.number)
    float_rank = rank.cast(pl.Float64).alias("#rank")
    documents = pl.DataFrame([query, float_rank, _names(docs, table)])
    # a list of subtopics is a label
    judgment = table.subtopic if table.lists_subtopics else pl.col(setup.roles.label)
    is_labelled = judgment.is_not_null().alias(HAS_LABELS.meta.output_name())
    by_query = documents.hstack(docs.select(is_labelled)).group_by("#query", maintain_order=True)
    n_retrieved = pl.col("#rank").count().cast(pl.Float64).alias("#n_retrieved")
    of_query = by_query.agg(n_retrieved, HAS_LABELS.any())
    relevant = _relevant(frame, documents, docs, table, _least_label(setup, calls))
    values = values_of_groups(relevant, needed, of_query, empty=0.0)
    keys = docs.select(*setup.roles.query, cs.by_name(ROW, require_all=False))
    first_rows = pl.Series(queries.first)
    return keys[first_rows].hstack(values)


def _least_label(setup: Setup, calls: Sequence[Call]) -> float:
    """The least label of a row that any of the metrics looks at."""
    if not all(call.gains_only(setup) for call in calls):
        return 0.0
    thresholds = [call.relevant for call in calls if call.relevant is not None]
    return min([setup.policies.relevant, *thresholds])


def _names(docs: pl.DataFrame, table: Columns) -> pl.Series:
    """The ids of documents as they are compared; without ids, numbers of which the first is the
    largest.
    """
    name = table.setup.roles.doc_name
    doc = -pl.int_range(pl.len()) if name is None else table.compared(pl.col(name))
    return docs.select(doc.alias("#doc")).to_series()


def _relevant(
    frame: pl.DataFrame, documents: pl.DataFrame, docs: pl.DataFrame, table: Columns, least: float
) -> pl.LazyFrame:
    """A row for each document and subtopic with a label from `least` on, with the columns of
    `documents`.
    """
    subtopic = table.subtopic.alias("#subtopic")
    if table.lists_subtopics:
        rows = documents.lazy().with_columns(docs.select(subtopic).to_series())
        has_subtopics = pl.col("#subtopic").list.len() > 0
        rows = exploded(rows.filter(has_subtopics), "#subtopic")
        is_relevant = pl.col("#subtopic").is_not_null()
    else:
        columns = [subtopic, table.label.alias("#label")]
        weight = table.setup.roles.subtopic_weight
        if weight is not None:
            columns.append(pl.col(weight).cast(pl.Float64).alias("#subtopic weight"))
        subtopics = frame.select(columns)
        document = pl.Series(numbered(frame[table.key_of_documents]).number)
        rows = documents[document].lazy().with_columns(*subtopics)
        is_relevant = pl.col("#subtopic").is_not_null() & (pl.col("#label") >= least)
    if table.setup.policies.unretrieved == "drop":
        is_relevant &= pl.col("#rank").is_not_null()
    return rows.filter(is_relevant)


def _refuse_ties(setup: Setup, call: Call) -> None:
    rule = setup.policies.tie_rule
    if rule.by_label:
        says = (
            " orders tied documents by label, which does not say what a document adds to those "
            "above it; say another rule for ties, as in "
        )
        given = option(ties=setup.policies.ties)
        raise InvalidOption(f"{call.text}: ", given, says, on(ties="doc_desc"))
    if rule.averages or rule.shares:
        error = NoExpectation() if rule.averages else OneRank()
        raise InvalidOption(f"{call.text}: ", error.parts)


def without_subtopics(call: Call) -> InvalidOption:
    """The error for a metric of diversity without a column of subtopics."""
    says = f"{call.text} looks at the subtopics of each document; name the column that holds them: "
    return InvalidOption(says, on(subtopic="subtopic"))


def refuse_by_document(setup: Setup, calls: Sequence[Call]) -> None:
    """Refuse to show metrics of diversity, and values of queries, document by document."""
    for call in calls:
        if call.metric.over == "subtopics" and setup.roles.subtopic is None:
            raise without_subtopics(call)
        if call.metric.over != "documents":
            raise InvalidOption(
                f"{call.text} is one value per query, not shown by document; use evaluate"
            )


def refuse_agreement(table: Columns) -> None:
    """Refuse to compare documents that have several rows."""
    if table.setup.roles.subtopic is not None and not table.lists_subtopics:
        key = table.key_of_documents
        says = "agreement compares rows, of which a document has several here; keep one of each: "
        raise InvalidOption(says, one_kept(key, then=".rank"))
