"""Plots as verbs that give figures.

Here are the options of every plot, the means that they show, axes and marks.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, TypedDict, cast

import polars as pl

from .._catalog.call import Call
from .._catalog.requests import Request, averaged
from .._results.grid import intervals_of as kinds_of, queries, with_intervals
from .._results.markup import rewritten
from .._support.methods import F
from .._support.option_groups import explain, group_of, help_of, show
from .._support.option_kinds import Column
from .._support.statistical_options import Confidence
from .._table.runs import RUN, Runs, TheRuns
from .._table.setup import Setup, refuse_bounds
from .._table.table import Table
from .._verbs.call.declaration import verb
from .._verbs.measure.paired_values import in_order, with_places
from .._verbs.measure.summary import Summary, averages
from .._verbs.sample.resampling import Resampling
from .._verbs.sample.slices import keys
from .._verbs.sample.unequal_runs import HELD, RunSizes, size_calls, unequal, with_facts
from ..errors import InvalidOption, asked_as

LINES = 12
"""The most lines that can be told apart: six colours, each solid and dashed."""
ROWS = 40
"""The most rows in one plot: slices, runs or ranks."""
LETTERS = 56
"""The letters that have room below a picture."""
CI = 0.95
"""The default confidence of the intervals."""
ENDS = ("ci_low", "ci_high")
"""The columns of intervals in the tables of verbs."""
SERIES, SLICE = "#series", "#slice"
"""The columns of the name of a query's line, and of its slice."""

OF_PLOTS = Resampling(CI, "auto", 1_000, 0, progress=False)
RESAMPLED = ContextVar("RESAMPLED", default=OF_PLOTS)
"""The intervals of a plot; a page sets its own for all of its plots."""

MarkKind: TypeAlias = Literal["line", "band", "bar", "point", "interval", "rule", "divider"]


class Shared(TypedDict, total=False):
    """The options of every plot; of those below, `ci` and `by` are for the plots that take them.

    runs, run
        Score columns of the same rows, a table for each run as for ``df.rank.compare``, or the
        column that names the run of each row; default: the ranker's score only.
    by
        The column whose values slice the queries, such as ``"market"``; the same in all rows of a
        query that have a value.
    ci
        The confidence of the intervals; ``None`` for none.
    title
        The title; default: a description of the plot. With ``""`` there is neither a title nor the
        line below it, which leaves room for ``ax.set_title`` of Matplotlib.
    background
        The colour behind the picture, with text in black or white, whichever contrasts more:
        ``"white"``, ``"black"`` or six hexadecimal digits, as ``"#1e1e1e"``. Default: white for
        Altair, the style's for Matplotlib.
    ax
        Matplotlib axes to draw on.
    """

    runs: TheRuns | None
    run: Column | None
    title: str | None
    background: str | None
    ax: None  # for type checkers, which find axes in an overload of the method


class Estimated(Shared, total=False):
    """The options of a plot of means, or of other estimates."""

    ci: Confidence | None


class SlicedOptions(Estimated, total=False):
    """The options of a plot of means whose lines may be slices."""

    by: Column | None


HELP = help_of(Shared)
"""The entry of each option in the help of a plot."""


def plot(**declared: Any) -> Callable[[F], F]:
    """Declare a function as a plot: a verb with the options that its keywords unpack."""

    def declare(function: F) -> F:
        given = group_of(function) or {}
        types = {name: given[name] for name in HELP if name in given} | {"ax": "Axes | None"}
        shared = {name: _option(name, annotation) for name, annotation in types.items()}
        show(function, shared, {"TheRuns": TheRuns, "Column": Column, "Confidence": Confidence})
        explain(function, HELP)
        return verb(gives="whole", **declared)(function)

    return declare


def _option(name: str, annotation: Any) -> inspect.Parameter:
    default = CI if name == "ci" else None
    keyword = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(name, keyword, default=default, annotation=annotation)


def unpacked(table: Table[Any], shared: Shared) -> tuple[pl.DataFrame, Setup, Runs]:
    """The rows, the setup and the runs of a call."""
    return table.rows, table.setup, Runs.of(shared.get("runs"), shared.get("run"))


@dataclass(frozen=True)
class OfSeries:
    """The values of a part of a table, a row per run and query, with the run's name."""

    summary: Summary

    def __call__(self, part: Table[Any]) -> pl.DataFrame:
        runs = self.summary.runs
        setup = part.setup
        runs.require(part.rows, setup)
        values = self.summary.of_part(part)
        if runs.key:
            column = keys(runs.key)[0]
            run = pl.col(column).cast(pl.String)
        else:
            run = pl.col(RUN) if runs.scores else pl.lit(setup.roles.score)
        values = values.with_columns(run.alias(RUN))
        if HELD.text in values.columns:
            values = with_facts(values, part.rows, setup, runs)
        return with_places(values, part, runs)


class Measured:
    """The values of metrics by run, slice and query.

    Their means and intervals are computed as `summarize` does.

    Attributes
    ----------
    values
        A row per run and query: `RUN`, `SLICE` if there are slices, `SERIES`, the query, and a
        column per metric.
    query, key
        The columns of a query, without and with that of the runs.
    runs, series
        The names of the runs and of the series: runs, slices, or both.
    several
        Whether series need names.
    note
        What the picture says of runs that are judged or cut unequally.
    """

    def __init__(
        self,
        table: Table[Any],
        runs: Runs,
        calls: Sequence[Call],
        by: str | None,
        resampling: Resampling,
    ) -> None:
        setup = table.setup
        refuse_bounds(setup)
        self.calls = [call.under(setup) for call in calls]
        self.resampling = resampling
        self.query = runs.queries(setup).roles.query
        slices = runs.key
        if by is not None and by not in runs.key:
            slices = (*runs.key, str(by))
        sizes = size_calls(setup, self.calls) if runs.columns else []
        summary = Summary((*self.calls, *sizes), setup, runs, slices, None, resampling)
        self.key = summary.query
        of_parts = table.by_parts(OfSeries(summary))
        values = in_order(of_parts, table, runs)
        if by is not None:
            values = values.with_columns(pl.col(keys(slices)[-1]).alias(SLICE))
        self.note = ""
        if sizes:
            run_sizes = RunSizes.of(values, setup, runs, self.calls)
            run_sizes.warn()
            self.note = " ".join(unequal(run_sizes.settings))
        if by is not None and len(values):
            of_runs = values.partition_by(RUN, maintain_order=True)
            sorted_ = [part.sort(SLICE, nulls_last=True) for part in of_runs]
            values = pl.concat(sorted_)
        self.runs = runs.named(values)
        names = []
        if by is None or (len(self.runs) > 1 and by not in runs.key):
            names.append(pl.col(RUN))
        if by is not None:
            names.append(pl.col(SLICE).cast(pl.String).fill_null("null"))
        series = pl.concat_str(names, separator=", ").alias(SERIES)
        self.values = values.with_columns(series)
        self.several = by is not None or len(self.runs) > 1
        self.series = self.runs
        if by is not None:
            names_of_series = self.values[SERIES]
            self.series = list(names_of_series.unique(maintain_order=True))

    @classmethod
    def from_options(
        cls, table: Table[Any], calls: Sequence[Call], shared: Shared, by: str | None = None
    ) -> Measured:
        """The values that a call of a plot asks for."""
        options = cast("SlicedOptions", shared)
        ci = options.get("ci", CI)
        resampling = replace(RESAMPLED.get(), ci=ci)
        _, _, runs = unpacked(table, shared)
        by = by or options.get("by")
        return cls(table, runs, calls, by, resampling)

    def means(self, *key: str, values: pl.DataFrame | None = None) -> pl.DataFrame:
        """A row per key and metric: the mean `y`, its interval, and the number of queries."""
        if values is None:
            values = self.values
        rows = averages(values, self.key, self.calls, key, self.resampling)
        names = {SERIES: "series"}
        columns = [pl.col(name).alias(names.get(name, name)) for name in key]
        figures = {}
        for name, column in (("low", "ci_low"), ("high", "ci_high"), ("interval", "interval")):
            figures[name] = pl.lit(None, pl.Float64)
            if column in rows.columns:
                figures[name] = pl.col(column)
        rows = rows.select(*columns, "metric", y="mean", queries="n_queries", **figures)
        return rows.drop_nulls("y")

    @property
    def count(self) -> str:
        """The number of queries in the picture, as text; for several runs, the largest number."""
        return most_queries(self.values)

    def intervals(self, rows: pl.DataFrame) -> str:
        """The level and the kinds of the intervals of some means, as the end of a sentence."""
        kinds = kinds_of(rows["interval"])
        return with_intervals(self.resampling.ci, kinds)


def most_queries(per_query: pl.DataFrame) -> str:
    """The number of queries of the run that has the most, as text."""
    counts = per_query[RUN].value_counts()["count"]
    return queries(max(counts, default=0))


@dataclass(frozen=True)
class Axis:
    """An axis: title, scale and grid; the library chooses `ticks` and `limits` that are None."""

    title: str
    log: bool = False
    ticks: tuple[tuple[float, str], ...] | None = None
    limits: tuple[float, float] | None = None
    whole: bool = False
    grid: bool = True


@dataclass(frozen=True)
class Mark:
    """Marks of one kind, a row each: `x`, `y`, `series`; some have `x2`, `y2`, `size`, `label`.

    A mark without `series` has the colour of the text. The opacity of a bar grows with its `size`,
    from 0 to 1; its `label` is in its middle. The area of a point grows with its `size`. Altair
    shows further columns in tooltips.
    """

    kind: MarkKind
    rows: pl.DataFrame


@dataclass(frozen=True)
class Figure:
    """A picture before it is drawn.

    ``series`` differ in colour, in that of their place ``among`` all runs, if they are some.

    Below the subtitle stands a ``note``, which a page with several pictures of the same runs says
    once.
    """

    title: str
    subtitle: str
    x: Axis
    y: Axis
    marks: tuple[Mark, ...]
    series: tuple[str, ...]
    legend: bool = True
    height: int = 300
    among: tuple[str, ...] = ()
    note: str = ""

    def __post_init__(self) -> None:
        if self.legend:
            legible(self.series, LINES, "series")

    @property
    def below(self) -> str:
        """The texts below the title."""
        texts = filter(None, (self.subtitle, self.note))
        return ". ".join(texts)

    def written(self, how: Callable[[str], str]) -> Figure:
        """The figure with `how` applied to each of its texts."""
        figure: Figure = _written(self, how)
        return figure


def _written(part: Any, how: Callable[[str], str]) -> Any:
    if isinstance(part, str):
        return how(part)
    if isinstance(part, pl.DataFrame):
        return rewritten(part, how)
    if isinstance(part, tuple):
        return tuple(_written(x, how) for x in part)
    if isinstance(part, (Figure, Axis, Mark)):
        fields = {name: _written(value, how) for name, value in vars(part).items()}
        return replace(part, **fields)
    return part


def banded(rows: pl.DataFrame) -> tuple[Mark, ...]:
    """A line of means over the band of their intervals.

    The band has a gap where a mean has none, and a lone one is upright.
    """
    has_interval = pl.col("low").is_not_null()
    of_series = rows.filter(has_interval.any().over("series"))
    band = of_series.select("series", "x", y="low", y2="high", there=has_interval)
    there = pl.col("there")
    neighbour = there.shift(1) | there.shift(-1)
    has_neighbour = neighbour.fill_null(value=False).over("series")
    is_lone = there & ~has_neighbour
    lone = band.filter(is_lone).drop("there")
    upright = () if lone.is_empty() else (Mark("interval", lone),)
    line = rows.drop("low", "high", "interval", "metric", RUN, strict=False)
    return (Mark("band", band.drop("there")), *upright, Mark("line", line))


def lines_of(rows: pl.DataFrame) -> tuple[str, ...]:
    return tuple(rows["series"].unique(maintain_order=True))


def at_each_cutoff(curves: Sequence[Call], cutoffs: Iterable[int]) -> dict[Call, tuple[Call, int]]:
    """The metrics of curves at each cutoff, with the metric and the cutoff that they come from."""
    pairs = [(call, k) for call in curves for k in cutoffs]
    return {call.with_defaults({"k": k}): (call, k) for call, k in pairs}


def at_cutoffs(
    rows: pl.DataFrame,
    calls: Mapping[Call, tuple[Call, int]],
    subtitle: str,
    x: Axis,
    together: str,
    *,
    several: bool,
    note: str = "",
) -> Figure:
    """A figure of means or values at each cutoff, from the metrics there.

    `together` names the axis of several metrics.
    """
    of_curves = (call for call, _ in calls.values())
    metrics = list(dict.fromkeys(of_curves))
    names: dict[str, str] = {}
    cutoffs: dict[str, int] = {}
    for at_k, (call, cutoff) in calls.items():
        names[at_k.text] = call.display
        cutoffs[at_k.text] = cutoff
    k = pl.col("metric").replace_strict(cutoffs, return_dtype=pl.Int64)
    parts = []
    if len(metrics) > 1 or not several:
        parts.append(pl.col("metric").replace_strict(names))
    if several:
        parts.append(pl.col("series"))
    series = pl.concat_str(parts, separator=", ")
    lines = rows.with_columns(series=series, x=k.cast(pl.Float64), cutoff=k)
    title = f"{', '.join(call.display for call in metrics)} at every cutoff"
    y = Axis(f"{metrics[0].display}@k" if len(metrics) == 1 else together)
    return Figure(title, subtitle, x, y, banded(lines), lines_of(lines), note=note)


def placed(values: pl.Series) -> pl.DataFrame:
    """The places of values on an axis, and their texts.

    Numbers and times stand at their distances, others one after another.
    """
    values = values.drop_nulls().sort()
    if values.dtype.is_numeric() or values.dtype.is_temporal():
        place = values.to_physical()
    else:
        if values.dtype != pl.Enum:
            values = _versions_in_order(values)
        place = pl.Series(range(len(values)), dtype=pl.Int64)
    x = place.cast(pl.Float64)
    places = pl.DataFrame({SLICE: values, "text": as_texts(values), "x": x})
    return places.filter(pl.col("x").is_finite())


def _versions_in_order(values: pl.Series) -> pl.Series:
    """The values sorted as texts, with their whole numbers by size: v10 after v9."""
    texts = values.cast(pl.String)

    def parts(place: int) -> list[int | str]:
        words = re.split(r"(\d+)", texts[place])
        return [int(word) if i % 2 else word for i, word in enumerate(words)]

    order = sorted(range(len(values)), key=parts)
    return values[order]


def as_texts(values: pl.Series) -> pl.Series:
    """The values as texts; times without seconds, or hours, that are zero in all."""
    if not values.dtype.is_temporal():
        return values.cast(pl.String)
    if isinstance(values.dtype, pl.Datetime):
        values = values.dt.replace_time_zone(None)
    texts = values.dt.to_string()
    for zeros in (r"\.0+$", ":00$", " 00:00$"):
        if texts.str.contains(zeros).all():
            texts = texts.str.replace(zeros, "")
    return texts


def thinned(places: pl.DataFrame) -> tuple[tuple[float, str], ...]:
    """The ticks of an axis whose texts do not run into each other."""
    ticks: list[tuple[float, str]] = []
    if places.is_empty():
        return ()
    x = places["x"]
    width = x[-1] - x[0]
    longest = max(map(len, places["text"]))
    room = width * (longest + 2) / LETTERS
    for place, text in places.select("x", "text").iter_rows():
        if not ticks or place - ticks[-1][0] >= room:
            ticks.append((place, text))
    return tuple(ticks)


def at_places(column: str, places: Mapping[str, float]) -> pl.Expr:
    """The place of each text of a column on an axis."""
    return pl.col(column).replace_strict(places, default=None, return_dtype=pl.Float64)


def legible(names: Sequence[str] | pl.Series, most: int, what: str) -> None:
    if len(names) > most:
        raise InvalidOption(
            f"{len(names)} {what} in one picture can't be told apart; plot {most} at most"
        )


def one_call(metric: Request, example: str) -> Call:
    calls = averaged([metric], f"plot.{example}")
    if len(calls) > 1:
        raise InvalidOption(
            f"{metric!r} names {len(calls)} metrics; ask for one, as in ",
            asked_as(f"plot.{example}"),
        )
    return calls[0]
