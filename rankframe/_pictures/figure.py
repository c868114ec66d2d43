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
"""How many lines a reader tells apart: six colours, each whole and dashed."""
ROWS = 40
"""How many slices or runs stand under each other."""

Kind: TypeAlias = Literal["line", "band", "bar", "point", "interval", "tick", "rule", "divider", "cell"]


@dataclass(frozen=True)
class Axis:
    """An axis: its title and scale; the places of its labels, and its ends, if not left to the library; whether it has a grid."""

    title: str
    log: bool = False
    ticks: tuple[tuple[float, str], ...] | None = None
    limits: tuple[float, float] | None = None
    whole: bool = False
    grid: bool = True

    def written(self, how: Callable[[str], str]) -> Axis:
        """The axis with every text as `how` writes it."""
        ticks = None if self.ticks is None else tuple((place, how(name)) for place, name in self.ticks)
        return replace(self, title=how(self.title), ticks=ticks)


@dataclass(frozen=True)
class Mark:
    """Marks of one kind: a row each, with `x`, `y`, the `series` it belongs to, and optionally `x2`, `y2`, `size` and `label`.

    A cell is as strong as its `size`, from 0 to 1, and has the `label` in its middle.

    Further columns are told where a reader points at the mark.
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


def means(found: pl.DataFrame, key: Sequence[str], call: Call, name: str | None = None) -> pl.DataFrame:
    """The mean of a metric per key as `y`, its 95% interval by Student's t as `low` and `high`, and `queries`.

    An interval goes no further than the metric does.
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
    """What a line is called: by its metric, its run, or both, whatever tells it from the others."""
    if not runs:
        return pl.lit(metric)
    return pl.concat_str(pl.lit(f"{metric}, "), pl.col(RUN)) if metrics else pl.col(RUN)


def count(found: pl.DataFrame) -> str:
    """How many queries there are behind a picture, a query of several runs counted once."""
    n = max(found[RUN].value_counts()["count"], default=0) if RUN in found.columns else len(found)
    return f"{n:,} {'query' if n == 1 else 'queries'}"


def one_call(metric: str, example: str) -> Call:
    calls = averaged([metric], f"plot.{example}")
    if len(calls) > 1:
        raise InvalidOption(f"{metric!r} names {len(calls)} metrics; ask for one, as in ", asked_as(f"plot.{example}"))
    return calls[0]
