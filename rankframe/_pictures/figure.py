"""Plots as verbs that give figures: the options of every plot, axes and marks, means with their intervals."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict, TypeVar

import polars as pl

from .._catalog.call import Call
from .._catalog.requests import averaged
from .._results.grid import intervals_of as kinds_of, queries
from .._results.markup import rewritten
from .._support.option_kinds import Column
from .._table.runs import RUN, Runs, TheRuns
from .._table.setup import Setup
from .._table.table import Table
from .._verbs.declaration import verb
from .._verbs.resampling import Resampling
from .._verbs.summary import averages
from ..errors import InvalidOption, asked_as

if TYPE_CHECKING:
    from matplotlib.axes import Axes

F = TypeVar("F", bound=Callable[..., object])

LINES = 12
"""The most lines that can be told apart: six colours, each solid and dashed."""
ROWS = 40
"""The most rows in one plot: slices, runs or ranks."""

OF_PLOTS = Resampling(0.95, "auto", 1_000, 0, progress=False)
RESAMPLED = ContextVar("RESAMPLED", default=OF_PLOTS)
"""The intervals of a plot; a page sets its own for all of its plots."""

MarkKind: TypeAlias = Literal["line", "band", "bar", "point", "interval", "tick", "rule", "divider", "cell"]


class Look(TypedDict, total=False):
    """The options of every plot.

    title
        The title; default: a description of the plot. With ``""`` there is neither a title nor the line below it,
        which leaves room for ``ax.set_title`` of Matplotlib.
    background
        The colour behind the picture, with text in black or white, whichever contrasts more: ``"white"``,
        ``"black"`` or six hexadecimal digits, as ``"#1e1e1e"``. Default: white for Altair, the style's for Matplotlib.
    ax
        Matplotlib axes to draw on.
    """

    title: str | None
    background: str | None
    ax: Axes | None


class Shared(Look, total=False):
    """The options of a plot of runs, beside those of every plot.

    runs, run
        Score columns of the same rows, a table for each run as for ``df.rank.compare``, or the column that names the run
        of each row; default: the ranker's score only.
    """

    runs: TheRuns | None
    run: Column | None


def plot(**declared: Any) -> Callable[[F], F]:
    """Declare a function as a plot: a verb whose signature and help have the options of :class:`Look` or :class:`Shared`.

    The function takes them as keywords that its annotation names.
    """

    def declare(function: F) -> F:
        signature = inspect.signature(function)
        *own, keywords = signature.parameters.values()
        names, text = (*Look.__annotations__,), _entries(Look)
        if keywords.annotation == "Unpack[Shared]":
            names, text = ("runs", "run", *names), f"{_entries(Shared)}\n{text}"
        by_name = inspect.Parameter.KEYWORD_ONLY
        shared = [
            inspect.Parameter(x, by_name, default=None, annotation=Shared.__annotations__[x].__forward_arg__)
            for x in names
        ]
        about, returns, rest = inspect.cleandoc(function.__doc__ or "").partition("\n\nReturns\n")
        head = "\n" if "\nParameters\n" in about else "\n\nParameters\n----------\n"
        function.__doc__ = f"{about}{head}{text}{returns}{rest}"
        function.__dict__["__signature__"] = signature.replace(parameters=[*own, *shared])
        function.__dict__["aliases"] = {"TheRuns": TheRuns, "Column": Column}
        return verb(gives="whole", **declared)(function)

    return declare


def _entries(options: type) -> str:
    """The entries of options in a help, from their docstring."""
    return inspect.cleandoc(options.__doc__ or "").partition("\n\n")[2]


def unpacked(table: Table[Any], shared: Shared) -> tuple[pl.DataFrame, Setup, Runs]:
    """The rows, the setup and the runs of a call."""
    return table.rows, table.setup, Runs.of(shared.get("runs"), shared.get("run"))


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
    """Marks of one kind, a row each: `x`, `y`, `series`, and optionally `x2`, `y2`, `size` and `label`.

    The opacity of a cell grows with its `size`, from 0 to 1; its `label` is in its middle.

    Altair shows further columns in tooltips.
    """

    kind: MarkKind
    rows: pl.DataFrame


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
        found: Figure = _written(self, how)
        return found


def _written(part: Any, how: Callable[[str], str]) -> Any:
    if isinstance(part, str):
        return how(part)
    if isinstance(part, pl.DataFrame):
        return rewritten(part, how)
    if isinstance(part, tuple):
        return tuple(_written(x, how) for x in part)
    if isinstance(part, (Figure, Axis, Mark)):
        return replace(part, **{x: _written(y, how) for x, y in vars(part).items()})
    return part


def means(found: pl.DataFrame, key: Sequence[str], calls: Sequence[Call]) -> pl.DataFrame:
    """A row per key and metric: the mean `y`, its 95% interval from `low` to `high`, its kind `interval`, and `queries`."""
    texts = {*key, *(call.text for call in calls)}
    query = [name for name in found.columns if name not in texts] or [call.text for call in calls]
    rows = averages(found.with_columns(pl.lit(1.0).alias("#weight")), query, calls, key, RESAMPLED.get())
    return rows.select(
        *key, "metric", "interval", y="mean", low="ci_low", high="ci_high", queries="n_queries"
    ).drop_nulls("y")


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


def at_cutoffs(
    rows: pl.DataFrame, calls: Mapping[Call, tuple[Call, int]], subtitle: str, x: Axis, together: str, *, several: bool
) -> Figure:
    """A figure of means or values at each cutoff, from the metrics there; `together` names the axis of several metrics."""
    drawn = list(dict.fromkeys(call for call, _ in calls.values()))
    lines = pl.concat(
        rows.filter(metric=at.text).with_columns(
            series=named(call.display, runs=several, metrics=len(drawn) > 1), x=pl.lit(float(k)), cutoff=pl.lit(k)
        )
        for at, (call, k) in calls.items()
    )
    title = f"{', '.join(call.display for call in drawn)} at every cutoff"
    y = Axis(f"{drawn[0].display}@k" if len(drawn) == 1 else together)
    return Figure(title, subtitle, x, y, banded(lines), lines_of(lines))


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
    return queries(n)


def one_call(metric: str, example: str) -> Call:
    calls = averaged([metric], f"plot.{example}")
    if len(calls) > 1:
        raise InvalidOption(f"{metric!r} names {len(calls)} metrics; ask for one, as in ", asked_as(f"plot.{example}"))
    return calls[0]
