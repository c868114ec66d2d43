"""The values of several runs, query by query: what comparisons and gates look at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Literal, TypeAlias

import polars as pl

from .._catalog.call import Call
from .._plan.per_query import collect, measure, refuse_names
from .._table.policies import check_word
from .._table.roles import require
from .._table.run_and_judgments import to_name
from .._table.setup import Setup
from ..errors import InvalidData, InvalidOption, Text, judge, on, option
from .summary import by_query, keys

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats: TypeAlias = npt.NDArray[np.float64]

__all__ = ["RUN", "Design", "Lacking", "Values", "named", "values_of"]

Lacking: TypeAlias = Literal["error", "drop", "zero"]


@dataclass(frozen=True)
class Design:
    """Which runs are compared on which queries.

    Attributes
    ----------
    runs
        The score columns; or empty.
    run
        The column that names the run of a row; or ``None``.
    baseline
        The run that the others are compared with; ``None`` for every two runs.
    by, weights
        The columns of the queries' slices and weights.
    missing
        What becomes of queries that a run lacks.
    """

    runs: tuple[str, ...]
    run: str | None
    baseline: str | None
    by: tuple[str, ...]
    weights: str | None
    missing: Lacking

    def __post_init__(self) -> None:
        if bool(self.runs) == (self.run is not None):
            raise InvalidOption(
                "say which runs to compare: ",
                option(runs=["bm25", "ltr"]),
                ", columns of scores, or ",
                option(run="system"),
                f", the column that names the run of each row{'; not both' if self.runs else ''}",
            )
        if len(set(self.runs)) < len(self.runs):
            raise InvalidOption(option(runs=list(self.runs)), " names a column twice; name each once")
        check_word("missing", self.missing, Lacking)

    @property
    def names(self) -> set[str]:
        """The columns that are looked at."""
        named = (self.run, self.weights)
        return {*self.runs, *self.by, *(name for name in named if name is not None)}

    def pairs(self, runs: Sequence[str]) -> list[tuple[int, int]]:
        """The pairs of baseline and run, by their numbers."""
        if self.baseline is None:
            return list(combinations(range(len(runs)), 2))
        if self.baseline not in runs:
            raise InvalidOption(option(baseline=self.baseline), f" is none of the runs, which are {', '.join(runs)}")
        first = runs.index(self.baseline)
        return [(first, other) for other in range(len(runs)) if other != first]


@dataclass(frozen=True)
class Values:
    """The values of all runs on the same queries.

    Attributes
    ----------
    runs
        The names of the runs.
    queries
        One row per query: the query, its slices and its weight.
    values
        Runs by queries by metrics; NaN where a metric has no value.
    """

    query: list[str]
    runs: list[str]
    queries: pl.DataFrame
    values: Floats

    def slices(self, by: Sequence[str]) -> list[npt.NDArray[np.int64]]:
        """The queries' numbers in each slice, slices as first seen, queries in their order."""
        numbered = self.queries.with_row_index("#row")
        parts = numbered.partition_by(keys(by), maintain_order=True) if by else [numbered]
        return [part.sort(self.query)["#row"].to_numpy() for part in parts]

    def long(self, by: Sequence[str], calls: Sequence[Call]) -> pl.DataFrame:
        """One row per run and query."""
        slices = [pl.col(at).alias(name) for name, at in zip(by, keys(by), strict=True)]
        return pl.concat(
            self.queries.select(*self.query, *slices, pl.lit(name).alias("run")).with_columns(columns(values, calls))
            for name, values in zip(self.runs, self.values, strict=True)
        )


def columns(values: Floats, calls: Sequence[Call]) -> list[pl.Series]:
    """The metrics' columns of an array, null for NaN."""
    return [
        pl.Series(call.text, x, dtype=pl.Float64).fill_nan(None) for call, x in zip(calls, values.T.copy(), strict=True)
    ]


def values_of(frame: pl.DataFrame, setup: Setup, calls: Sequence[Call], design: Design) -> Values:
    """Every run's values on the same queries, those that a run lacks by the policy for them."""
    import numpy as np

    names = [call.text for call in calls]
    query = [name for name in setup.roles.query if name != design.run]
    if not query:
        raise InvalidOption(option(run=design.run), " is the only query column; say ", on(query=...), ", too")
    if alone := [name for name in design.by if name in query]:
        raise InvalidOption(option(by=alone[0]), " tells queries apart; name a column that several queries share")
    refuse_names([*RESERVED, *names], [*query, *design.by], "the query, or by,")
    for name in design.runs:
        require(frame.collect_schema(), name, "runs")
    if design.run is None:
        measured = {run: measure(frame, setup.changed(score=run), *calls) for run in design.runs}
    else:
        frame, setup = named(frame, setup, design.run, query)
        of_all = collect(measure(frame, setup, *calls).lazy(), frame, setup)
        measured = {str(part[RUN][0]): part for part in of_all.partition_by(RUN, maintain_order=True)}
    runs = list(measured)
    if len(runs) < 2:
        raise InvalidOption(
            f"there is one run to compare, {', '.join(map(repr, runs)) or 'and no row'}; give two or more"
        )
    queries = collect(by_query(frame, query, design.by, design.weights), frame, setup)
    values = np.empty((len(runs), len(queries), len(calls)))
    there = np.empty((len(runs), len(queries)), dtype=bool)
    for i, table in enumerate(measured.values()):
        per_query = queries.select(query).join(
            table.lazy().collect().with_columns(pl.lit(True).alias("#there")),
            on=query,
            how="left",
            nulls_equal=True,
            maintain_order="left",
        )
        values[i] = per_query.select(pl.col(names).fill_null(np.nan)).to_numpy()
        there[i] = per_query["#there"].fill_null(False).to_numpy()
    if not there.all():
        if design.missing == "error":
            raise InvalidData(_lacking(queries, query, runs, there))
        if design.missing == "drop":
            kept = np.flatnonzero(there.all(axis=0))
            queries, values = queries[kept.tolist()], values[:, kept]
        else:
            _refuse_zero(calls)
            values[~there] = 0.0
    return Values(query, runs, queries, values)


RUN = "#run"
RESERVED = ("metric", "baseline", "run")


def named(frame: pl.DataFrame, setup: Setup, run: str, query: Sequence[str]) -> tuple[pl.DataFrame, Setup]:
    """The frame with the run's name as a text, one of the columns that tell queries apart."""
    require(frame.collect_schema(), run, "run")
    if frame[run].has_nulls():
        raise InvalidData(_nameless(frame, setup, run))
    named = frame.with_columns(pl.col(run).cast(pl.String).alias(RUN))
    return named, setup.changed(query=(RUN, *query))


def _nameless(frame: pl.DataFrame, setup: Setup, run: str) -> Text:
    """Why rows have no run: documents that no run retrieved, or names that are missing."""
    rows = frame.filter(pl.col(run).is_null())
    missed = rows.height if setup.roles.score not in rows.columns else rows[setup.roles.score].null_count()
    null = f"column {run!r} names the run of each row, and is null on {rows.height} of {frame.height}"
    if missed:
        return (
            f"{null}, {missed} of them documents that were judged but not retrieved: judgments were joined to a table of "
            "runs as if it were one, and no run counts what it missed. Start from that table, without labels: ",
            judge(run=run),
        )
    return f"{null}; ", to_name(run, frame.schema[run])


def _lacking(queries: pl.DataFrame, query: Sequence[str], runs: Sequence[str], there: npt.NDArray[np.bool_]) -> Text:
    """Which run lacks how many queries, and what can be done about it."""
    lacking = next(i for i, has in enumerate(there) if not has.all())
    rows = queries.select(query).filter(pl.Series((~there[lacking]).tolist()))
    first = ", ".join(repr(row[0] if len(row) == 1 else row) for row in rows.head(3).rows())
    return (
        f"run {runs[lacking]!r} lacks {len(rows)} of {len(queries)} queries that another run has ({first}"
        f"{' ...' if len(rows) > 3 else ''}); ",
        option(missing="zero"),
        " counts them 0 for it, ",
        option(missing="drop"),
        " leaves them out for all",
    )


def _refuse_zero(calls: Sequence[Call]) -> None:
    for call in calls:
        if not call.metric.higher_is_better or (call.bounds[0] or 0) > 0:
            raise InvalidOption(
                f"{call.text} of a query that a run lacks is not 0; say ",
                option(missing="drop"),
                ", or compare it apart",
            )
