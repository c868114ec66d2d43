"""The parts of a plot (axes and marks), and the data of all plots: runs, means with their intervals."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import polars as pl

from .._catalog.call import Call
from .._catalog.means import Mean
from .._catalog.requests import averaged
from .._decisions.runs import RUN
from .._text.user_text import rewritten
from ..errors import InvalidOption, asked_as

__all__ = [
    "LINES",
    "ROWS",
    "Axis",
    "Figure",
    "Mark",
    "banded",
    "count",
    "legible",
    "lines_of",
    "means",
    "named",
    "one_call",
]

LINES = 12
"""The most lines that can be told apart: six colours, each solid and dashed."""
ROWS = 40
"""The most rows in one plot: slices, runs or ranks."""

Kind: TypeAlias = Literal["line", "band", "bar", "point", "interval", "tick", "rule", "divider", "cell"]


@dataclass(frozen=True)
class Axis:
    """An axis: title, scale and grid; the library chooses `ticks` and `limits` that are None."""

    title: str
    log: bool = False
    ticks: tuple[tuple[float, str], ...] | None = None
    limits: tuple[float, float] | None = None
    whole: bool = False
    grid: bool = True

    def written(self, how: Callable[[str], str]) -> Axis:
        """The axis with `how` applied to each of its texts."""
        ticks = None if self.ticks is None else tuple((place, how(name)) for place, name in self.ticks)
        return replace(self, title=how(self.title), ticks=ticks)


@dataclass(frozen=True)
class Mark:
    """Marks of one kind, a row each: `x`, `y`, `series`, and optionally `x2`, `y2`, `size` and `label`.

    The opacity of a cell grows with its `size`, from 0 to 1; its `label` is in its middle.

    Altair shows further columns in tooltips.
    """

    kind: Kind
    rows: pl.DataFrame

    def written(self, how: Callable[[str], str]) -> Mark:
        """The marks with `how` applied to each of their texts."""
        return replace(self, rows=rewritten(self.rows, how))


@dataclass(frozen=True)
class Figure:
    """A picture before it is drawn; ``series`` differ in colour."""

    title: str
    subtitle: str
    x: Axis
    y: Axis
    marks: tuple[Mark, ...]
    series: tuple[str, ...]
    legend: bool = True
    height: int = 300

    def written(self, how: Callable[[str], str]) -> Figure:
        """The figure with `how` applied to each of its texts."""
        return replace(
            self,
            title=how(self.title),
            subtitle=how(self.subtitle),
            x=self.x.written(how),
            y=self.y.written(how),
            marks=tuple(mark.written(how) for mark in self.marks),
            series=tuple(map(how, self.series)),
        )


def means(found: pl.DataFrame, key: Sequence[str], call: Call, name: str | None = None) -> pl.DataFrame:
    """The mean of a metric per key as `y`, its 95% interval by Student's t as `low` and `high`, and `queries`.

    Intervals are cut at the metric's bounds.
    """
    from ..stats import reach  # numpy comes with it

    value, mean = pl.col(name or call.text), Mean.of(call)
    on_scale = mean.scaled(value)
    summed = found.group_by(key, maintain_order=True).agg(
        y=mean.unweighted(value),
        center=on_scale.mean(),
        error=on_scale.std() / value.count().sqrt(),
        queries=value.count(),
    )
    far = pl.Series(reach(summed["error"].fill_null(math.nan).to_numpy(), summed["queries"].to_numpy(), 0.95))
    ends = {"low": pl.col("center") - far, "high": pl.col("center") + far}
    drawn = {end: mean.unscaled(x).fill_nan(None).clip(*call.bounds) for end, x in ends.items()}
    return summed.with_columns(**drawn).drop("center", "error").drop_nulls("y")


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
    """The name of a line: its metric, its run, or both, whichever distinguishes it."""
    if not runs:
        return pl.lit(metric)
    return pl.concat_str(pl.lit(f"{metric}, "), pl.col(RUN)) if metrics else pl.col(RUN)


def count(found: pl.DataFrame) -> str:
    """The number of queries in a picture, as text; for several runs, the largest number."""
    n = max(found[RUN].value_counts()["count"], default=0) if RUN in found.columns else len(found)
    return f"{n:,} {'query' if n == 1 else 'queries'}"


def one_call(metric: str, example: str) -> Call:
    calls = averaged([metric], f"plot.{example}")
    if len(calls) > 1:
        raise InvalidOption(f"{metric!r} names {len(calls)} metrics; ask for one, as in ", asked_as(f"plot.{example}"))
    return calls[0]
