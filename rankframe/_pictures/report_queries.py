"""The worst queries of a report, and their documents."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from .._catalog.call import Call
from .._decisions.paired_values import explained, values, with_own_rank
from .._table.runs import RUN, Runs
from .._table.setup import Setup
from .._table.table import in_memory
from .._verbs.verbs import with_ranks
from ..errors import InvalidOption
from .report_tables import Table, shown

SHOWN = 10
"""The number of documents shown of a query, from the top."""
MISSED = 5
"""The number of relevant documents shown that were not retrieved."""


@dataclass(frozen=True)
class Query:
    """A query, its value of the metric, its number of relevant documents, and the table of its documents."""

    name: str
    value: float
    relevant: int
    documents: Table


def worst_queries(
    frame: pl.DataFrame, setup: Setup, runs: Runs, call: Call, most: int, show: Sequence[str]
) -> Iterator[tuple[str, list[Query]]]:
    """The queries with the worst values of each run, the worst first."""
    found = values(frame, setup, runs, [call]).drop_nulls(call.text)
    for run in found[RUN].unique(maintain_order=True):
        own = found.filter(pl.col(RUN) == run)
        chosen = own.sort(call.text, descending=not call.higher_is_better, maintain_order=True).head(most)
        documents = _documents(frame, setup, runs, run, call, chosen, show)
        policies = runs.queries(setup if runs.column else setup.changed(score=run))
        yield run, [_query(query, documents, policies, call, show) for query in chosen.iter_rows(named=True)]


def _documents(
    frame: pl.DataFrame, setup: Setup, runs: Runs, run: str, call: Call, chosen: pl.DataFrame, show: Sequence[str]
) -> pl.DataFrame:
    """The documents of the chosen queries in a run, with the contribution of each if the metric is a sum over documents."""
    query = runs.queries(setup).roles.query
    try:
        rows = explained(frame, setup, runs, run, call, carry=[name for name in show if name not in query])
    except InvalidOption:
        one_order = setup.changed(ties="doc_desc") if setup.policies.tie_rule.averages else setup
        ranked = runs.each(frame, one_order, lambda of_run: with_ranks(in_memory(frame, of_run)), only=run)
        rows = with_own_rank(ranked, ranked.columns[-1])
    return rows.join(chosen, on=query, how="semi", nulls_equal=True).sort("rank", nulls_last=True)


def _query(query: dict[str, Any], documents: pl.DataFrame, setup: Setup, call: Call, show: Sequence[str]) -> Query:
    roles = setup.roles
    own = documents.filter(pl.all_horizontal(pl.col(name).eq_missing(pl.lit(query[name])) for name in roles.query))
    relevant = own.filter(pl.col(roles.label) >= setup.policies.relevant)
    ranked, missed = own.drop_nulls("rank"), relevant.filter(pl.col("rank").is_null())
    doc = roles.doc_in(own.columns)
    numbers = (roles.score, roles.label, call.text)
    head = [
        name
        for name in dict.fromkeys(("rank", *([] if doc is None else [doc]), *show, *numbers))
        if name in own.columns
    ]
    rows = [
        tuple(shown(row[name]) for name in head)
        for row in (*ranked.head(SHOWN).to_dicts(), *missed.head(MISSED).to_dicts())
    ]
    notes = []
    if len(ranked) > SHOWN:
        notes.append(f"The first {SHOWN} of {len(ranked):,} documents.")
    if len(missed):
        some = f"; {MISSED} of them are shown" if len(missed) > MISSED else ""
        notes.append(f"{len(missed):,} of {len(relevant):,} relevant documents not retrieved{some}.")
    name = ", ".join(shown(query[name]).text for name in roles.query)
    table = Table(tuple(head), tuple(rows), sum(name in numbers for name in head), tuple(notes))
    return Query(name, query[call.text], len(relevant), table)
