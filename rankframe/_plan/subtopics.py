"""The plan for metrics of diversity: rank the documents, then use only their relevant subtopics."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from .._catalog.call import Call
from .._table.setup import Setup
from .._table.steps import one_kept
from .._table.subtopics import row_faults
from .._table.table import Table
from .._words.columns_needed import Needed
from .._words.subtopics import Topics
from ..errors import InvalidOption, on, option
from .plan import guarded, ranks

__all__ = ["evaluate", "refuse_agreement", "refuse_by_document", "refuse_without_subtopics"]


def evaluate(lf: pl.LazyFrame, docs: pl.LazyFrame, table: Table, calls: Sequence[Call]) -> pl.LazyFrame:
    """One row per query: the query columns and a column per call, from the caller's rows and their `documents`."""
    setup = table.setup
    _refuse_ties(setup.policies.ties, calls[0])
    needed = Needed(table.key)
    topics = Topics(needed, None if table.lists_subtopics else setup.policies.relevant, setup.roles.weight)
    needed.values = {call.text: call.value(topics, setup.policies.no_relevant) for call in calls}

    rows, rank = ranks(docs, table)
    ranked = rows.with_columns(rank.cast(pl.Float64).alias(table.place))
    faults = [fault for fault in table.faults(label=not table.lists_subtopics) if fault.kind != "repeated document"]
    if table.lists_subtopics:
        faults = [*table.faults(label=False), *row_faults(table)]
    queries = ranked.group_by(table.query, maintain_order=True).agg(
        pl.col(table.place).count().cast(pl.Float64).alias("#n_retrieved"),
        *(fault.rows.any().alias(fault.column) for fault in faults),
    )
    least = min([setup.policies.relevant, *(call.relevant for call in calls if call.relevant is not None)])
    sums = (
        needed.compute(_relevant(lf, ranked, table, least))
        .group_by(table.key)
        .agg(x.sum().alias(name) for name, x in needed.sums.items())
    )
    result = queries.join(sums, on=table.key, how="left", nulls_equal=True, maintain_order="left")
    result = result.with_columns(pl.col(list(needed.sums)).fill_null(0.0))
    names = dict(zip(table.key, setup.roles.query, strict=True))
    return result.select(*table.key, *guarded(needed, faults)).rename(names)


def _relevant(lf: pl.LazyFrame, ranked: pl.LazyFrame, table: Table, least: float) -> pl.LazyFrame:
    """A row for each document and subtopic with a label from `least` on: their keys, and the document's rank."""
    setup = table.setup
    rank = pl.col(table.place).alias("#rank")
    doc = -pl.col(table.row).cast(pl.Int64) if setup.roles.doc_name is None else pl.col(setup.roles.doc_name)
    identity = [*table.query, doc.alias("#doc")]
    if table.lists_subtopics:
        rows = ranked.filter(table.subtopic.list.len() > 0).select(*identity, rank, table.subtopic.alias("#subtopic"))
        rows = rows.explode("#subtopic").filter(pl.col("#subtopic").is_not_null())
    else:
        rows = lf.filter(table.subtopic.is_not_null() & (table.label >= least))
        rows = rows.select(*identity, table.subtopic.alias("#subtopic"), table.label.alias("#label"))
        rows = rows.join(ranked.select(*identity, rank), on=[*table.key, "#doc"], nulls_equal=True)
    if setup.policies.unretrieved == "drop":
        rows = rows.filter(pl.col("#rank").is_not_null())
    return rows.with_columns(table.compared(pl.col("#doc")))


def _refuse_ties(ties: str, call: Call) -> None:
    if ties in ("best", "worst"):
        raise InvalidOption(
            f"{call.text}: ",
            option(ties=ties),
            " orders tied documents by label, which does not say what a document adds to those above it; say another "
            "rule for ties, as in ",
            on(ties="doc_desc"),
        )
    if ties == "expected":
        raise InvalidOption(
            f"{call.text}: its expectation over the orders of tied documents has no closed form; set another rule for "
            "ties, as in ",
            on(ties="doc_desc"),
        )


def refuse_without_subtopics(calls: Sequence[Call]) -> None:
    """Refuse metrics of diversity without a column of subtopics."""
    for call in calls:
        raise InvalidOption(
            f"{call.text} looks at the subtopics of each document; name the column that holds them: ",
            on(subtopic="subtopic"),
        )


def refuse_by_document(setup: Setup, calls: Sequence[Call]) -> None:
    """Refuse to show metrics of diversity document by document."""
    of_subtopics = [call for call in calls if call.metric.over == "subtopics"]
    if setup.roles.subtopic is None:
        refuse_without_subtopics(of_subtopics)
    for call in of_subtopics:
        raise InvalidOption(f"{call.text} adds up subtopics, so it is not shown by document; use evaluate")


def refuse_agreement(table: Table) -> None:
    """Refuse to compare documents that have several rows."""
    if table.setup.roles.subtopic is not None and not table.lists_subtopics:
        key = table.key_of_documents
        raise InvalidOption(
            "agreement compares rows, of which a document has several here; keep one of each: ",
            one_kept(key, then=".rank"),
        )
