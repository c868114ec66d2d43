"""The attention that documents get from several rankings of a query, compared with the share that their labels call for."""

from __future__ import annotations

from typing import Literal, TypeAlias

import polars as pl
from polars import selectors as cs

from .._decisions.runs import Runs
from .._lazy.node import source
from .._plan.parts import in_parts
from .._plan.per_query import Frame, refuse_faults, refuse_names
from .._table.columns import Columns
from .._table.roles import ROW
from .._table.setup import Setup, refuse_bounds
from .._verbs.declaration import verb
from .entries import Entries, entries_of, names_of_runs
from .fuse import LISTED, Names, per_document

Judgments: TypeAlias = Literal["complete", "incomplete"]

FIGURES = {"ee_d": pl.Float64, "ee_r": pl.Float64, "ee_l": pl.Float64, "n_rankings": pl.UInt32}
"""The columns of the result after the query columns."""

QUERY, LEVEL, N = "#query", "#level", "#n"
"""The number of the query, the label that counts (null for a document that does not), and the number of rankings."""


@verb(gives="query", reads=["runs"])
def expected_exposure(
    frame: Frame,
    setup: Setup,
    runs: Runs,
    k: int | None,
    persistence: float,
    judgments: Judgments,
    *,
    names: Names | None = None,
) -> Frame:
    """One row per query: the disparity, relevance and loss of the expected exposure; `names` as in `fuse`."""
    refuse_bounds(setup)
    runs = runs if runs.columns else Runs((setup.roles.score,))
    of_query = runs.queries(setup)
    refuse_names([*FIGURES], of_query.roles.query, "the query")

    reads = [*runs.columns, setup.roles.label]

    def of_part(part: pl.DataFrame) -> pl.DataFrame:
        return _figures(_entries(part, setup, runs, names), of_query, k, persistence, judgments)

    def run(rows: pl.DataFrame, *_: object) -> pl.DataFrame:
        return in_parts(rows, of_query, reads, of_part)

    if isinstance(frame, pl.DataFrame):
        return run(frame)
    return source(frame, of_query, run, "expected_exposure", reads=reads)


def _entries(frame: pl.DataFrame, setup: Setup, runs: Runs, names: Names | None) -> Entries:
    """The entries of all rankings, without unjudged documents if the policy drops them."""
    runs.require(frame, setup)
    of_run = setup.changed(query=(*runs.key, *runs.queries(setup).roles.query))
    of_run = of_run.changed(score=runs.scores[0]) if runs.scores else of_run
    refuse_faults(frame, of_run, Columns.of(of_run, frame.schema), documents=False)
    known = names_of_runs(frame, runs) if names is None else sorted(names)
    entries = entries_of(frame, setup, runs, known, depth=setup.policies.depth, absent=False)
    if setup.policies.unjudged != "drop":
        return entries
    judged = entries.documents.select(_judged(setup)).to_series()
    rows = entries.rows.filter(pl.lit(judged).gather(pl.col("#document")))
    place = pl.col("#rank").rank("ordinal").over("#list").cast(pl.Float64)
    return Entries(entries.documents, entries.query, rows.with_columns(place.alias("#rank")), entries.n_runs)


def _judged(setup: Setup) -> pl.Expr:
    return (pl.col(setup.roles.label) >= 0).fill_null(False)


def _figures(entries: Entries, setup: Setup, k: int | None, persistence: float, judgments: Judgments) -> pl.DataFrame:
    """A row per query, in the order of the documents."""
    label = pl.col(setup.roles.label).cast(pl.Float64)
    judged, counted = _judged(setup), pl.lit(True)
    if setup.policies.unjudged == "drop":
        counted &= judged
    if setup.policies.unretrieved == "drop":
        counted &= pl.col(LISTED)
    documents = _with_exposure(entries, setup, k, persistence)
    documents = documents.with_columns(pl.when(counted).then(pl.when(judged).then(label).otherwise(0.0)).alias(LEVEL))
    documents = documents.with_columns(_target(k, persistence, judgments).alias("#t"))
    level, t, n = pl.col(LEVEL), pl.col("#t"), pl.col(N).first().fill_null(0)
    e = pl.when(level.is_not_null()).then("#e")
    defined = n > 0
    if setup.policies.no_relevant == "null":
        defined &= (judged & level.is_not_null() & (label >= setup.policies.relevant)).any()
    sums = {"ee_d": e**2, "ee_r": e * t, "ee_l": (e - t) ** 2}
    found = documents.group_by(QUERY, maintain_order=True).agg(
        cs.by_name(*setup.roles.query, ROW, require_all=False).first(),
        **{name: pl.when(defined).then(x.sum()) for name, x in sums.items()},
        n_rankings=n,
    )
    kept = cs.by_name(*setup.roles.query, ROW, require_all=False)
    return found.select(kept, *(pl.col(name).cast(dtype) for name, dtype in FIGURES.items()))


def _with_exposure(entries: Entries, setup: Setup, k: int | None, persistence: float) -> pl.DataFrame:
    """The documents with their mean attention over the query's rankings, ``#e``, and the number of these."""
    rank = pl.col("#rank")
    attention = persistence ** (rank - 1)
    if k is not None:
        attention = pl.when(rank <= k).then(attention).otherwise(0.0)
    if setup.policies.tie_rule.averages:
        attention = attention.mean().over("#list", "#score")
    rows = entries.rows.with_columns(attention.alias("#e")).collect(engine="in-memory")
    totals = per_document(rows, {"#e": ("sum", pl.col("#e"))}, entries.documents.height)
    rankings = rows.select((pl.col("#list") // max(entries.n_runs, 1)).alias(QUERY), "#list").unique()
    numbers = rankings.group_by(QUERY).agg(pl.len().alias(N))
    query = pl.Series(QUERY, entries.query, pl.Int64)
    documents = entries.documents.with_columns(query, *totals).join(numbers, QUERY, "left", maintain_order="left")
    return documents.with_columns(pl.col("#e") / pl.col(N))


def _target(k: int | None, persistence: float, judgments: Judgments) -> pl.Expr:
    """The target: documents with one label share the attention of the ranks that an ideal ranking gives to the label."""
    first, n = pl.col(LEVEL).rank("min", descending=True).over(QUERY) - 1.0, pl.len().over(QUERY, LEVEL)
    last = first + n
    if k is not None:
        first, last = first.clip(upper_bound=k), last.clip(upper_bound=k)
    share = (persistence**first - persistence**last) / ((1 - persistence) * n)
    return share if judgments == "complete" else pl.when(pl.col(LEVEL) > 0).then(share).otherwise(0.0)
