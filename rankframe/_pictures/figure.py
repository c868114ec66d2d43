"""The parts of a plot, and the data of all plots: axes and marks, runs, means with their intervals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import polars as pl

from .._catalog.call import Call
from .._catalog.parse import parse
from .._plan.per_query import mean, measure, refuse_texts
from .._support.extras import load
from .._table.roles import require, score_columns
from .._table.setup import Setup
from .._text.user_text import rewritten
from ..errors import InvalidOption, asked_as, on, option

__all__ = [
    "LINES",
    "ROWS",
    "RUN",
    "Axis",
    "Figure",
    "Mark",
    "Runs",
    "banded",
    "calls_of",
    "count",
    "legible",
    "lines_of",
    "means",
    "named",
    "one_call",
    "values",
]

RUN = "#run"
LINES = 12
"""The largest number of lines that readers can tell apart: six colours, each solid and dashed."""
ROWS = 40
"""The largest number of slices or runs below each other."""

Kind: TypeAlias = Literal["line", "band", "bar", "point", "interval", "tick", "rule"]


@dataclass(frozen=True)
class Axis:
    """An axis: its title and scale, and its labels and ends if they are not left to the library."""

    title: str
    log: bool = False
    ticks: tuple[tuple[float, str], ...] | None = None
    limits: tuple[float, float] | None = None
    whole: bool = False

    def written(self, how: Callable[[str], str]) -> Axis:
        """The axis with every text as `how` writes it."""
        ticks = None if self.ticks is None else tuple((place, how(name)) for place, name in self.ticks)
        return replace(self, title=how(self.title), ticks=ticks)


@dataclass(frozen=True)
class Mark:
    """Marks of one kind, one row per mark: x, y, optionally x2, y2 and size, and its `series`.

    Further columns are shown in tooltips.
    """

    kind: Kind
    rows: pl.DataFrame

    def written(self, how: Callable[[str], str]) -> Mark:
        """The marks with every text as `how` writes it."""
        return replace(self, rows=rewritten(self.rows, how))


@dataclass(frozen=True)
class Figure:
    """A picture before it is drawn; ``series` are told apart by colour."""

    title: str
    subtitle: str
    x: Axis
    y: Axis
    marks: tuple[Mark, ...]
    series: tuple[str, ...]
    legend: bool = True
    height: int = 300

    def written(self, how: Callable[[str], str]) -> Figure:
        """The figure with every text as `how` writes it."""
        return replace(
            self,
            title=how(self.title),
            subtitle=how(self.subtitle),
            x=self.x.written(how),
            y=self.y.written(how),
            marks=tuple(mark.written(how) for mark in self.marks),
            series=tuple(map(how, self.series)),
        )


@dataclass(frozen=True)
class Runs:
    """Which runs the rows hold: in several score columns of the same rows, or told apart by a column."""

    scores: tuple[str, ...] = ()
    column: str | None = None

    @classmethod
    def of(cls, runs: Sequence[str] | None, run: str | None) -> Runs:
        """The runs from the caller's arguments."""
        if runs is not None and run is not None:
            raise InvalidOption("runs names score columns, run a column that tells runs apart; give one of them")
        return cls(
            tuple(map(str, score_columns(runs))), None if run is None else str(run)
        )  # labels of pandas may be numbers

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the table that the arguments name."""
        return (*self.scores, *([] if self.column is None else [self.column]))

    def names(self, found: pl.DataFrame) -> list[str]:
        """The runs' names, of which `values` made a column."""
        return list(self.scores or found[RUN].unique(maintain_order=True))


def require_runs(frame: pl.DataFrame, runs: Runs) -> None:
    """Refuse names of runs that are not columns of the table."""
    for name in runs.scores:
        require(frame.schema, name, "runs")
    if runs.column is not None:
        require(frame.schema, runs.column, "run")


def values(frame: pl.DataFrame, setup: Setup, runs: Runs, calls: Sequence[Call]) -> pl.DataFrame:
    """A row per run and query: the query columns, the run, and a column per metric."""
    if setup.policies.unjudged == "bounds":
        raise InvalidOption(
            option(unjudged="bounds"),
            " gives each metric two columns; plot with another rule: ",
            on(unjudged="nonrelevant"),
        )
    require_runs(frame, runs)
    if runs.column is not None:
        query = (runs.column, *(name for name in setup.roles.query if name != runs.column))
        found = measure(frame, setup.changed(query=query), *calls)
        return found.lazy().collect().rename({runs.column: RUN}).with_columns(pl.col(RUN).cast(pl.String))
    each = []
    for score in runs.scores or (setup.roles.score,):
        found = measure(frame, setup.changed(score=score), *calls).lazy().collect()
        each.append(found.with_columns(pl.lit(score).alias(RUN)))
    return pl.concat(each)


def means(found: pl.DataFrame, key: Sequence[str], call: Call, name: str | None = None) -> pl.DataFrame:
    """The mean of a metric per key as `y`, its 95% interval by Student's t as `low` and `high`, and `queries`.

    Intervals are cut off at the metric's bounds.
    """
    value = pl.col(name or call.text)
    summed = found.group_by(key, maintain_order=True).agg(
        y=mean(value), error=value.std() / value.count().sqrt(), queries=value.count()
    )
    student = load("scipy.stats", "plot").t
    far = {n: float(student.ppf(0.975, n - 1)) for n in summed["queries"].unique() if n > 1}
    reach = pl.col("error") * pl.col("queries").replace_strict(far, default=None, return_dtype=pl.Float64)
    ends = {"low": pl.col("y") - reach, "high": pl.col("y") + reach}
    return summed.with_columns(**{end: x.clip(*call.bounds) for end, x in ends.items()}).drop("error").drop_nulls("y")


def banded(rows: pl.DataFrame) -> tuple[Mark, ...]:
    """A line of means over the band of their intervals."""
    series = rows["series"].unique(maintain_order=True).to_list()
    legible(series, LINES, "lines")
    band = rows.drop_nulls("low").select("series", "x", y="low", y2="high")
    return (Mark("band", band), Mark("line", rows.drop("low", "high", RUN, strict=False)))


def lines_of(rows: pl.DataFrame) -> tuple[str, ...]:
    return tuple(rows["series"].unique(maintain_order=True))


def legible(names: Sequence[str], most: int, what: str) -> None:
    if len(names) > most:
        raise InvalidOption(f"{len(names)} {what} in one picture can't be told apart; plot {most} at most")


def named(metric: str, *, runs: bool, metrics: bool) -> pl.Expr:
    """The name of a line: its metric, its run, or both, as far as needed to distinguish it."""
    if not runs:
        return pl.lit(metric)
    return pl.concat_str(pl.lit(f"{metric}, "), pl.col(RUN)) if metrics else pl.col(RUN)


def count(found: pl.DataFrame) -> str:
    """The number of queries in a picture; a query of several runs counts once."""
    n = max(found[RUN].value_counts()["count"], default=0) if RUN in found.columns else len(found)
    return f"{n:,} {'query' if n == 1 else 'queries'}"


def calls_of(metrics: Sequence[str], example: str) -> list[Call]:
    for text in metrics:
        if not isinstance(text, str):
            raise InvalidOption(f"{text!r} is no text; write a metric as text, as in ", asked_as(f"plot.{example}"))
    calls = list(dict.fromkeys(call for text in metrics for call in parse(text)))
    if not calls:
        raise InvalidOption("no metric given; name at least one, as in ", asked_as(f"plot.{example}"))
    refuse_texts(calls)
    return calls


def one_call(metric: str, example: str) -> Call:
    calls = calls_of([metric], example)
    if len(calls) > 1:
        raise InvalidOption(f"{metric!r} names {len(calls)} metrics; ask for one, as in ", asked_as(f"plot.{example}"))
    return calls[0]
