"""The contributions of the runs to a fused score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from .._catalog.call import Call
from .._decisions.runs import RUN_OF_TABLE, Runs
from .._plan.per_query import Frame
from .._plan.rank_order import in_rank_order
from .._table.columns import Columns
from .._table.roles import ROW
from .._table.setup import Setup
from .._verbs.declaration import verb
from .._words.rankings import Rankings
from .entries import entries_of
from .fitted import FittedFusion
from .fuse import SCORE, Names, formulated, needs, over_runs, per_document, scored

FIGURES = {
    RUN_OF_TABLE: pl.String,
    "rank": pl.UInt32,
    SCORE: pl.Float64,
    "normalized": pl.Float64,
    "contribution": pl.Float64,
    "fused": pl.Float64,
    "fused_rank": pl.UInt32,
}
"""The columns between the document and the label."""


@verb(gives="list", reads=["runs"])
def explain_fusion(
    frame: Frame,
    setup: Setup,
    method: str | Call | FittedFusion[object],
    runs: Runs,
    normalize: str | None = None,
    weights: Sequence[float] | Mapping[str, float] | None = None,
    missing: str | None = None,
    depth: int | None = None,
    *,
    names: Names | None = None,
) -> Frame:
    """One row per document of a query and run: the run's contribution to the document's fused score."""
    options = {"normalize": normalize, "weights": weights, "missing": missing, "depth": depth}
    return over_runs(_explained, frame, setup, method, runs, options, [*FIGURES], names)


def _explained(frame: pl.DataFrame, setup: Setup, call: Call, runs: Runs, names: Sequence[str]) -> pl.DataFrame:
    """The rows, query by query: by fused rank, and of each document by run."""
    depth, absent = needs(call, setup)
    expected = setup.policies.tie_rule.averages
    entries = entries_of(frame, setup, runs, names, depth=depth, absent=absent)
    documents = _in_order(scored(entries, [call], expected=expected).rename({"#0": "#fused"}), setup)
    rankings, value = formulated(call, entries, expected=expected)
    term = _term(rankings, value)
    normalized = rankings.score if "normalize" in call.metric.parameters else pl.lit(None)
    columns = {name: x for name, (_, x) in rankings.of_documents.items()}
    rows = rankings.needed.compute(entries.rows).with_columns(normalized.alias("#normalized"), **columns).collect()
    totals = per_document(rows, rankings.of_documents, entries.documents.height).with_row_index("#document")
    others = totals.cast({"#document": pl.Int64}).select("#document", *(name for name in columns if name != term))
    figures = {
        RUN_OF_TABLE: pl.lit(pl.Series(names, dtype=pl.String)).gather(pl.col("#run")),
        "rank": rankings.rank,
        SCORE: pl.col("#score"),
        "normalized": pl.col("#normalized"),
        "contribution": pl.lit(None) if term is None else value.fill_null(0.0),
        "fused": pl.col("#fused"),
        "fused_rank": pl.col("#fused rank"),
    }
    of_rows = rows.drop(name for name in columns if name != term).lazy().join(others.lazy(), on="#document")
    last = [name for name in (setup.roles.label,) if name in documents.columns]
    of_document = [name for name in documents.columns if name not in (*last, *OWN)]
    wanted = [x.cast(FIGURES[name]).alias(name) for name, x in figures.items()]
    found = of_rows.join(documents.lazy(), on="#document").sort("#order", "#run")
    return found.select(*of_document, *wanted, *last).collect(engine="in-memory")


OWN = ("#document", "#order", "#fused", "#fused rank")


def _in_order(fused: pl.DataFrame, setup: Setup) -> pl.DataFrame:
    """The documents that a ranking has, with their numbers, by query and fused rank."""
    of_fused = setup.changed(score="#fused", ascending=False)
    order = in_rank_order(fused, Columns.of(of_fused, fused.schema, label=False))
    rank = order.rows().select("#query", "#row", pl.col("#position").alias("#fused rank"))
    named = pl.Series("#document", rank["#row"], pl.Int64), pl.int_range(rank.height, eager=True).alias("#order")
    of_query = [fused[ROW][order.first][rank["#query"]]] if ROW in fused.columns else []
    return fused[rank["#row"]].with_columns(*named, rank["#fused rank"], *of_query).drop_nulls("#fused")


def _term(rankings: Rankings, value: pl.Expr) -> str | None:
    """The column of the first total to which the value is proportional, or None.

    The factor may depend on the document's other columns; the value of a single term of the total is its contribution.
    """
    for name in rankings.totals:
        others = {other: 3.0 for other in rankings.of_documents if other != name}
        none, one, two = pl.DataFrame({name: [0.0, 1.0, 2.0]}).with_columns(**others).select(value).to_series()
        if none == 0 and two == 2 * one:
            return name
    return None
