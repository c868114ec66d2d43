"""The parts of a plot (axes and marks), and the data of all plots: runs, means with their intervals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import polars as pl

from .._catalog.call import Call
from .._catalog.means import Mean
from .._catalog.requests import averaged
from .._decisions.resampling import Resampling, intervals_of
from .._table.runs import RUN
from .._text.result_table import intervals_of as kinds_of
from .._text.user_text import rewritten
from ..errors import InvalidOption, asked_as

LINES = 12
"""The most lines that can be told apart: six colours, each solid and dashed."""
ROWS = 40
"""The most rows in one plot: slices, runs or ranks."""

RESAMPLED = Resampling(0.95, "auto", 1_000, 0, progress=False)
"""The intervals of a plot."""

MarkKind: TypeAlias = Literal["line", "band", "bar", "point", "interval", "tick", "rule", "divider", "cell"]


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

    kind: MarkKind
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


def means(
    found: pl.DataFrame, key: Sequence[str], calls: Sequence[Call], resampling: Resampling = RESAMPLED
) -> pl.DataFrame:
    """A row per key and metric: the mean `y`, its 95% interval from `low` to `high`, its kind `interval`, and `queries`."""
    texts = [call.text for call in calls]
    others = [name for name in found.columns if name not in {*key, *texts}]
    groups = found.with_columns(pl.lit(1.0).alias("#weight")).partition_by(key, maintain_order=True)
    ends = intervals_of(groups, others or texts, calls, resampling).rename({"ci_low": "low", "ci_high": "high"})
    by_key = found.group_by(key, maintain_order=True)
    rows = pl.concat(
        by_key.agg(
            metric=pl.lit(call.text), y=Mean.of(call).unweighted(pl.col(call.text)), queries=pl.col(call.text).count()
        )
        for call in calls
    )
    return pl.concat([rows, ends], how="horizontal").drop_nulls("y")


def of_intervals(rows: pl.DataFrame) -> str:
    """The level and the kinds of the intervals in a picture."""
    return f"95% intervals ({kinds_of(rows['interval'])})"


def banded(rows: pl.DataFrame) -> tuple[Mark, ...]:
    """A line of means over the band of their intervals."""
    series = rows["series"].unique(maintain_order=True).to_list()
    legible(series, LINES, "lines")
    band = rows.drop_nulls("low").select("series", "x", y="low", y2="high")
    return (Mark("band", band), Mark("line", rows.drop("low", "high", "interval", "metric", RUN, strict=False)))


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
