"""The contributions of the runs to a fused score."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import polars as pl

from .._catalog.call import Call
from .._plan.rank_order import in_rank_order
from .._table.columns import Columns
from .._table.roles import ROW
from .._table.runs import RUN_OF_TABLE, Runs, TheRuns
from .._table.setup import Setup
from .._table.table import Table
from .._words.rankings import Rankings
from .declaration import verb, with_options_of
from .entries import entries_of
from .fitted import FusionMethod, runs_for
from .fuse import SCORE, formulated, fuse, needs, over_runs, per_document, scored

R = TypeVar("R")

FIGURES = {
    RUN_OF_TABLE: pl.String, "rank": pl.UInt32, SCORE: pl.Float64, "normalized": pl.Float64,
    "contribution": pl.Float64, "fused": pl.Float64, "fused_rank": pl.UInt32,
}  # fmt: skip
"""The columns between the document and the label."""


@verb(gives="list", runs=runs_for)
@with_options_of(fuse)
def explain(
    table: Table[R], method: FusionMethod, runs: TheRuns | None = None, run: str | None = None, **options: Any
) -> R:
    """The contribution of each run to the fused score of each document.

    Parameters
    ----------
    method, runs, run, normalize, weights, missing, depth
        As for :meth:`fuse`.

    Returns
    -------
    A frame of the caller's kind with a row per document of a query and run that has it:

    - the query columns, the document, and ``run`` (String);
    - ``rank`` (UInt32) and ``score`` (Float64), of the document in the run;
    - ``normalized`` (Float64), the score after `normalize`; null for methods that go by ranks alone;
    - ``contribution`` (Float64): the term of the run in the sum, times the factor of the document if the method has one,
      as the number of runs in ``comb_mnz``. Contributions of a document add up to its fused score. Null for methods that
      are no sum, as ``comb_min``, ``comb_max``, ``comb_med`` and ``condorcet``;
    - ``fused`` (Float64) and ``fused_rank`` (UInt32), the same in all rows of a document;
    - the label, if the table has one.

    If the method counts absent documents (``borda``, and ``missing="zero"`` or ``"min"``), a run that lacks a document
    has a row, too, whose rank and score are null. Eager frames come query by query, by fused rank, and of each document
    in the order of the runs; lazy frames have no defined order. Documents that no run has are left out.

    Raises
    ------
    InvalidOption, MissingColumn, InvalidData
        As for :meth:`fuse`.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({"query_id": [1, 1], "doc_id": ["a", "b"], "bm25": [9.0, 7], "dense": [None, 0.8]})
    >>> found = df.rank.fusion.explain("rrf(k=1)", runs=["bm25", "dense"])
    >>> found["doc_id"].to_list(), found["run"].to_list(), found["rank"].to_list()
    (['b', 'b', 'a'], ['bm25', 'dense', 'bm25'], [2, 1, 1])
    >>> found["contribution"].to_list(), found["fused_rank"].to_list()
    ([0.3333333333333333, 0.5, 0.5], [1, 1, 2])
    """
    return table.give(over_runs(_explained, table, method, runs_for(method, runs, run), options, [*FIGURES]))


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
