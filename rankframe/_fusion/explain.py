"""A fused score taken apart: what each run contributes to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from .._catalog.call import Call
from .._decisions.runs import RUN_OF_TABLE, Runs
from .._plan.per_query import Frame
from .._plan.rank_order import in_rank_order
from .._table.setup import Setup
from .._table.table import Table
from .._verbs.declaration import verb
from .fuse import SCORE, Applied, Names, applied, over_runs

__all__ = ["explain_fusion"]

FIGURES = {
    RUN_OF_TABLE: pl.String,
    "rank": pl.UInt32,
    SCORE: pl.Float64,
    "normalized": pl.Float64,
    "contribution": pl.Float64,
    "fused": pl.Float64,
    "fused_rank": pl.UInt32,
}
"""The columns between those of the document and the label."""


@verb(gives="list", reads=["runs"])
def explain_fusion(
    frame: Frame,
    setup: Setup,
    method: str | Call,
    runs: Runs,
    normalize: str | None = None,
    weights: Sequence[float] | Mapping[str, float] | None = None,
    missing: str | None = None,
    depth: int | None = None,
    *,
    names: Names | None = None,
) -> Frame:
    """One row per document of a query and run: what the run contributes to the document's fused score."""
    options = {"normalize": normalize, "weights": weights, "missing": missing, "depth": depth}
    return over_runs(_explained, frame, setup, method, runs, options, [*FIGURES], names)


def _explained(frame: pl.DataFrame, setup: Setup, call: Call, runs: Runs, names: Sequence[str]) -> pl.DataFrame:
    """The rows, query by query: by fused rank, and of each document by run."""
    found = applied(frame, setup, call, runs, names)
    documents = _in_order(found.with_scores(setup.roles.label), setup)
    term = _term(found)
    figures = {
        RUN_OF_TABLE: pl.lit(pl.Series(names, dtype=pl.String)).gather(pl.col("#run")),
        "rank": found.rankings.rank,
        SCORE: pl.col("#score"),
        "normalized": found.rankings.score if "normalize" in call.metric.parameters else pl.lit(None),
        "contribution": found.value.fill_null(0.0) if term else pl.lit(None),
        "fused": pl.col("#fused"),
        "fused_rank": pl.col("#fused rank"),
    }
    others = found.of_each(*(pl.col(name) for name in found.rankings.of_documents if name not in term))
    rows = found.rows.with_columns(**term).join(others.lazy(), on="#document").join(documents.lazy(), on="#document")
    last = [name for name in (setup.roles.label,) if name in documents.columns]
    of_document = [name for name in documents.columns if name not in (*last, *OWN)]
    columns = [x.cast(FIGURES[name]).alias(name) for name, x in figures.items()]
    return rows.sort("#order", "#run").select(*of_document, *columns, *last).collect(engine="in-memory")


OWN = ("#document", "#order", "#fused", "#fused rank")


def _in_order(fused: pl.DataFrame, setup: Setup) -> pl.DataFrame:
    """The documents that a ranking has, with their numbers, by query and fused rank."""
    of_fused = setup.changed(score=SCORE, ascending=False)
    order = in_rank_order(fused, Table.of(of_fused, fused.schema, label=False), whole=True)
    (part,) = order.parts
    rank = part().select("#row", pl.col("#position").alias("#fused rank")).collect(engine="in-memory")
    named = pl.Series("#document", rank["#row"], pl.Int64), pl.int_range(rank.height, eager=True).alias("#order")
    found = fused.rename({SCORE: "#fused"})[rank["#row"]].with_columns(*named, rank["#fused rank"])
    return found.drop_nulls("#fused")


def _term(found: Applied) -> dict[str, pl.Expr]:
    """The first total's column, as the terms of which it is the sum; none if the value is no multiple of the total.

    The multiple is that of the columns of the document, so that the value of a term is what it adds to the value.
    """
    if not found.rankings.totals:
        return {}
    name, term = next(iter(found.rankings.totals.items()))
    others = {other: 3.0 for other in found.rankings.of_documents if other != name}
    none, one, two = pl.DataFrame({name: [0.0, 1.0, 2.0]}).with_columns(**others).select(found.value).to_series()
    return {name: term} if none == 0 and two == 2 * one else {}
