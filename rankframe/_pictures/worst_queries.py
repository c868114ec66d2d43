"""The worst queries of a report, each with the documents that it was shown or missed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from .._catalog.call import Call
from .._plan.per_query import with_labels
from .._results.grid import Cell, Grid
from .._table.runs import RUN, Runs
from .._table.setup import Setup
from .._table.table import OfPart, Parts, Table, in_memory
from .._verbs.measure.evaluate import with_ranks
from .._verbs.measure.paired_values import explained, in_order, rows_of_queries, with_own_rank
from .._verbs.measure.summary import Summary
from ..errors import InvalidOption
from .figure import OfSeries

SHOWN = 10
"""The number of documents shown of a query, from the top."""
MISSED = 5
"""The number of relevant documents shown that were not retrieved."""
TO_FIND = "#to_find"
"""The column of whether a query has a relevant document."""


@dataclass(frozen=True)
class Query:
    """A query: its value of the metric, how many documents are relevant, and these or its rows."""

    name: str
    value: float
    relevant: int | None
    documents: Grid


def shown(value: object) -> Cell:
    """The cell of a value of the user's table."""
    if value is None:
        return Cell()
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return Cell(str(value))
    text = f"{value:.4g}" if isinstance(value, float) else str(value)
    return Cell(text, value if math.isfinite(value) else None)


@dataclass(frozen=True)
class WithLabels:
    """A function of a part of a table, which has labels: all null where it has none."""

    work: OfPart
    calls: Sequence[Call]

    def __call__(self, part: Table[Any]) -> pl.DataFrame:
        rows = with_labels(part.rows, part.setup, self.calls)
        return self.work(replace(part, rows=rows))


@dataclass(frozen=True)
class LabelledParts:
    """The parts of a table, with labels."""

    parts: Parts
    calls: Sequence[Call]

    @property
    def ordered(self) -> bool:
        """Whether the rows of the table have an order."""
        return self.parts.ordered

    def each(self, work: OfPart) -> pl.DataFrame:
        """The results of the function of each part."""
        return self.parts.each(WithLabels(work, self.calls))

    def of_queries(self, queries: pl.DataFrame) -> Table[Any]:
        """The rows of the queries."""
        table = self.parts.of_queries(queries)
        return replace(table, rows=with_labels(table.rows, table.setup, self.calls))


def labelled(table: Table[Any], calls: Sequence[Call]) -> Table[pl.DataFrame]:
    """The table, with labels that are all null if it has none and no metric reads them.

    Results are Polars frames.
    """
    rows = with_labels(table.rows, table.setup, calls)
    parts = None if table.parts is None else LabelledParts(table.parts, calls)
    return Table(rows, table.setup, parts=parts)


def has_rankings(frame: pl.DataFrame, setup: Setup, runs: Runs) -> bool:
    """Whether a table has documents to rank, and not only values of queries."""
    return bool(runs.scores) or setup.roles.score in frame.columns


def values_of_runs(
    table: Table[Any], runs: Runs, calls: Sequence[Call], by: tuple[str, ...] = (), **options: Any
) -> tuple[Summary, pl.DataFrame]:
    """The summary of every run, and the values of its queries in the order of the table."""
    summary = Summary.of(table.setup, None, *calls, runs=runs, by=by, **options)
    per_query = table.by_parts(OfSeries(summary))
    return summary, in_order(per_query, table, runs)


@dataclass(frozen=True)
class QueriesToFind:
    """The queries of a part, and whether one of their documents is relevant to a metric."""

    query: tuple[str, ...]
    call: Call

    def __call__(self, part: Table[Any]) -> pl.DataFrame:
        setup = part.setup
        least = self.call.relevant
        if least is None:
            least = setup.policies.relevant
        is_relevant = pl.col(setup.roles.label) >= max(least, 0)
        to_find = is_relevant.any() if self.call.labels else pl.lit(True)
        return part.rows.group_by(self.query).agg(to_find.alias(TO_FIND))


@dataclass(frozen=True)
class WorstQueries:
    """The queries with the worst values of a metric, in each run.

    Attributes
    ----------
    table
        The table, with labels.
    runs
        Its runs.
    call
        The metric.
    values
        The values of the metric, a row per run and query.
    show
        The further columns to show beside the documents.
    """

    table: Table[pl.DataFrame]
    runs: Runs
    call: Call
    values: pl.DataFrame
    show: Sequence[str]

    @property
    def query(self) -> tuple[str, ...]:
        """The columns that identify a query."""
        return self.runs.queries(self.table.setup).roles.query

    def worst(self, most: int) -> tuple[int, list[tuple[str, list[Query]]]]:
        """How many queries are left out as nothing is relevant.

        With it come so many queries of each run, the worst first.
        """
        call = self.call
        runs = self.runs
        to_find = self.table.by_parts(QueriesToFind(self.query, call))
        with_values = self.values.drop_nulls(call.text)
        values = self._of_queries(with_values, to_find.filter(TO_FIND))
        n_left_out = len(to_find.filter(~pl.col(TO_FIND)))
        falling = not call.higher_is_better
        worst_first = values.sort(call.text, descending=falling, maintain_order=True)
        is_worst = pl.int_range(pl.len()).over(RUN) < most
        worst = worst_first.filter(is_worst)
        queries = worst.select(self.query).unique()
        rows = rows_of_queries(self.table, runs, [call], queries)
        names = runs.named(values)
        return n_left_out, [(run, self._of_run(run, worst, rows)) for run in names]

    def _of_queries(self, rows: pl.DataFrame, queries: pl.DataFrame) -> pl.DataFrame:
        """The rows of these queries, in their order."""
        same: Any = {"on": self.query, "nulls_equal": True}
        return rows.join(queries, how="semi", maintain_order="left", **same)

    def _of_run(self, run: str, worst: pl.DataFrame, rows: Table[Any]) -> list[Query]:
        of_run = worst.filter(pl.col(RUN) == run)
        documents = self._documents(rows, run, of_run)
        setup = self.table.setup
        if not self.runs.column:
            setup = setup.changed(score=run)
        setup = self.runs.queries(setup)
        return [self._query(values, documents, setup) for values in of_run.iter_rows(named=True)]

    def _documents(self, table: Table[Any], run: str, queries: pl.DataFrame) -> pl.DataFrame:
        """The documents of the queries in a run.

        Each has its contribution if the metric is a sum over documents.
        """
        frame = table.rows
        setup = table.setup
        runs = self.runs
        if not has_rankings(frame, setup, runs):
            rows = runs.each(frame, setup, lambda _: frame, only=run)
            return self._of_queries(rows, queries)
        carry = [name for name in self.show if name not in self.query]
        try:
            rows = explained(frame, setup, runs, run, self.call, carry, table.whole)
        except InvalidOption:
            rows = ranks_of_runs(frame, setup, runs, run)
        rows = self._of_queries(rows, queries)
        return rows.sort("rank", nulls_last=True)

    def _query(self, values: dict[str, Any], documents: pl.DataFrame, setup: Setup) -> Query:
        roles = setup.roles
        same = (pl.col(name).eq_missing(pl.lit(values[name])) for name in roles.query)
        rows = documents.filter(pl.all_horizontal(same))
        value = values[self.call.text]
        name = ", ".join(shown(values[column]).text for column in roles.query)
        if roles.score not in rows.columns:  # a query is a row
            rows = rows.select(self.show)
            cells = [tuple(map(shown, row)) for row in rows.iter_rows()]
            return Query(name, value, None, Grid(tuple(self.show), (), cells))
        is_relevant = pl.col(roles.label) >= setup.policies.relevant
        relevant = rows.filter(is_relevant)
        table = self._table(rows, relevant, setup)
        return Query(name, value, len(relevant), table)

    def _table(self, rows: pl.DataFrame, relevant: pl.DataFrame, setup: Setup) -> Grid:
        """The first documents of a query, and the relevant ones that it missed."""
        ranked = rows.drop_nulls("rank")
        missed = relevant.filter(pl.col("rank").is_null())
        names = self._columns(rows, setup)
        documents = pl.concat([ranked.head(SHOWN), missed.head(MISSED)])
        doc = setup.roles.doc_in(rows.columns)
        is_figure = [name != doc and rows.schema[name].is_numeric() for name in names]
        cells = [tuple(map(shown, row)) for row in documents.select(names).iter_rows()]
        notes = []
        if len(ranked) > SHOWN:
            notes.append(f"The first {SHOWN} of {len(ranked):,} documents.")
        if len(missed):
            of_relevant = f"{len(missed):,} of {len(relevant):,} relevant documents"
            cut = f"; {MISSED} of them are shown" if len(missed) > MISSED else ""
            notes.append(f"{of_relevant} not retrieved{cut}.")
        return Grid(names, (), cells, notes, ends=tuple(is_figure))

    def _columns(self, rows: pl.DataFrame, setup: Setup) -> tuple[str, ...]:
        """The columns of a document: its rank, its id, those to show, and figures."""
        roles = setup.roles
        doc = roles.doc_in(rows.columns)
        ids = [] if doc is None else [doc]
        figures = [roles.score, roles.label, self.call.text]
        in_order = ("rank", *ids, *self.show, *figures)
        # a role's column that is also shown stands with the figures
        first = [name for name in in_order if name == "rank" or name not in figures]
        names = dict.fromkeys((*first, *figures))
        return tuple(name for name in names if name in rows.columns)


def ranks_of_runs(
    frame: pl.DataFrame, setup: Setup, runs: Runs, only: str | None = None
) -> pl.DataFrame:
    """The documents of each run, or of one, with their ranks: in one order where ties average."""
    one_order = setup.changed(ties="doc_desc") if setup.policies.tie_rule.averages else setup

    def ranked(of_run: Setup) -> pl.DataFrame:
        return with_ranks(in_memory(frame, of_run))

    rows = runs.each(frame, one_order, ranked, only)
    return with_own_rank(rows, rows.columns[-1])
