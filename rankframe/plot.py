"""Plots of a ranker: one method for each question. Altair draws Polars frames, Matplotlib draws
pandas frames.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import wraps
from typing import (
    TYPE_CHECKING,
    Any,
    Concatenate,
    Generic,
    NoReturn,
    ParamSpec,
    Protocol,
    TypeVar,
    cast,
    overload,
)

from ._catalog.registry import METRICS, near_names
from ._pictures import item_plots, plots, sequential_plot
from ._pictures.draw import altair, background_of, matplotlib
from ._pictures.figure import Figure
from ._support.methods import Lifted, Owner, called_by_users
from ._support.option_kinds import check
from ._support.threads import use_polars
from ._table.table import Table
from ._verbs.call.declaration import verb_of
from .errors import InvalidOption, Verbatim

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["PLOTS", "Plots"]

P = ParamSpec("P")
Picture = TypeVar("Picture", covariant=True)


LIBRARIES = {
    "altair": (
        "altair.LayerChart",
        [("A chart or axes", "A chart, or Matplotlib axes if `ax` is given")],
    ),
    "matplotlib": (
        "matplotlib.axes.Axes",
        [
            ("A chart or axes", "The axes"),
            (".title.text", '.get_title("left").replace("\\n", " ")'),
        ],
    ),
}
"""By drawing library the type that it draws, and replacements in docstrings written for Altair."""


class Drawing(Protocol[P, Picture]):
    """A plot of a ranker as type checkers see it: a picture by the library of its frames, or the
    axes that are given.
    """

    @overload
    def __call__(self, *args: P.args, **options: P.kwargs) -> Picture: ...
    @overload
    def __call__(self, *args: Any, ax: Axes, **options: Any) -> Axes: ...


class Drawn(Protocol[P]):
    """A plot as a method, as type checkers see it."""

    def __get__(self, plots: Plots[Picture], owner: object) -> Drawing[P, Picture]: ...


def drawn(plot: Callable[Concatenate[Table[Any], P], Figure]) -> Drawn[P]:
    """A plot as a method, with the same options, over the table of a ranker: it draws the
    figure.
    """

    @wraps(plot)
    def call(plots: Plots[Any], /, *args: Any, **options: Any) -> object:
        use_polars()
        title = options.get("title")
        ax = options.get("ax")
        background = check("background", options.get("background"), str | None)
        if background is not None:
            background_of(background)  # refuse an unknown colour before the work
        figure: Figure = plots._ranker._lifted(verb_of(plot), args, options)
        if title is not None:
            figure = replace(figure, title=" ".join(title.split()))
            if not title.strip():
                figure = replace(figure, subtitle="", note="")
        if plots._library == "matplotlib" or ax is not None:
            return matplotlib(figure, ax, background)
        return altair(figure, background or "white")

    return cast("Drawn[P]", Lifted(lambda: (call, Picture)))


class Plots(Owner, Generic[Picture]):
    """The plots of a ranker, ``df.rank.plot``.

    Every method returns an Altair chart for a Polars frame, and Matplotlib axes for a pandas frame
    or if `ax` is given. A picture has at most a few thousand marks, for tables of any size. Of a
    LazyFrame, only values per query, or counts of documents, are held in memory; for metrics of a
    catalog, its lists down to the cutoff.
    """

    def __init__(self, ranker: Any, library: str) -> None:
        self._ranker = ranker
        self._library = library

    curve = drawn(plots.curve)
    precision_recall = drawn(plots.precision_recall)
    differences = drawn(plots.differences)
    distribution = drawn(plots.distribution)
    slices = drawn(plots.slices)
    over = drawn(plots.over)
    judged = drawn(plots.judged)
    contributions = drawn(plots.contributions)
    overlap = drawn(plots.overlap)
    propensities = drawn(plots.propensities)
    sequential = drawn(sequential_plot.sequential)
    exposure = drawn(item_plots.exposure)
    long_tail = drawn(item_plots.long_tail)
    catalog = drawn(item_plots.catalog)
    trade_off = drawn(item_plots.trade_off)

    @property
    def _kind(self) -> object:
        return Verbatim(LIBRARIES[self._library][0])

    @property
    def _examples(self) -> Sequence[tuple[str, str]]:  # type: ignore[override]
        return [*self._ranker._examples, *LIBRARIES[self._library][1]]

    @property
    def _spelled(self) -> str:
        return f"{self._ranker._spelled}.plot"

    if not TYPE_CHECKING:  # type checkers refuse both by themselves

        @called_by_users
        def __call__(self, *_: object, **__: object) -> NoReturn:
            """Refuse to draw what has no name."""
            names = f"{', '.join(PLOTS[:-1])} or {PLOTS[-1]}"
            raise InvalidOption(f"say which plot: {names}, as in df.rank.plot.curve('ndcg')")

        def __getattr__(self, name: str) -> NoReturn:
            named = {plot: repr(plot) for plot in PLOTS}
            near = near_names(name, METRICS, named) or f". It has {', '.join(PLOTS)}"
            message = f".rank.plot has no plot {name!r}{near}"
            # without an object, of which Python would offer names of its own
            raise AttributeError(message, name=name)

    def __repr__(self) -> str:
        return f".rank.plot by {self._library}: {', '.join(PLOTS)}"


PLOTS = [name for name in vars(Plots) if not name.startswith("_")]
"""The names of the plots."""
