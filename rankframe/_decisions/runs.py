"""The values of several runs, query by query."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from .._catalog.call import Call
from .._plan.per_query import measure
from .._table.runs import RUN, Runs
from .._table.setup import Setup, refuse_bounds
from .._table.table import Table
from .._verbs.verbs import explain


def values(frame: pl.DataFrame, setup: Setup, runs: Runs, calls: Sequence[Call]) -> pl.DataFrame:
    """A row per run and query: the run, the query columns, and a column per metric."""
    refuse_bounds(setup)
    return runs.each(frame, setup, lambda of_run: measure(frame, of_run, *calls))


def explained(
    frame: pl.DataFrame, setup: Setup, runs: Runs, run: str, call: Call, carry: Sequence[str] = ()
) -> pl.DataFrame:
    """The contribution of each document in a run; see `explain`."""
    carried, setup = [name for name in carry if name not in runs.key], setup.changed(flat=False)
    rows = runs.each(
        frame,
        setup,
        lambda of_run: explain(Table[pl.DataFrame](frame, of_run, carry=carried), call.text),
        only=run,
    )
    return with_own_rank(rows.drop(RUN), rows.columns[-2])


def with_own_rank(rows: pl.DataFrame, rank: str) -> pl.DataFrame:
    """Rename the column `rank` to ``rank``, in place of the table's column of that name."""
    return rows if rank == "rank" else rows.drop("rank").rename({rank: "rank"})
