"""Plots of a ranker: one method for each question. Altair draws Polars frames, Matplotlib draws pandas frames."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

from ._catalog.registry import METRICS, near_names
from ._fusion.fitted import FusionMethod, require_runs, runs_for
from ._pictures import fusion_figures, plots
from ._pictures.colours import background_of
from ._pictures.draw import altair, matplotlib
from ._pictures.figure import ROWS, Figure
from ._pictures.item_plots import ItemPlots
from ._pictures.methods import drawing
from ._support.methods import called_by_users
from ._support.option_kinds import Column
from ._support.option_values import Range
from ._table.runs import Runs, TheRuns
from .errors import InvalidOption

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["PLOTS", "Plots"]


class Plots(ItemPlots):
    """The plots of a ranker, ``df.rank.plot``.

    Every method returns an Altair chart for a Polars frame, and Matplotlib axes for a pandas frame or if `ax` is given.
    A picture has at most a few thousand marks, for tables of any size. A LazyFrame is collected first.
    """

    def __init__(self, ranker: Any, library: str) -> None:
        self._ranker = ranker
        self._library = library

    @drawing
    def curve(
        self,
        *metrics: str,
        cutoffs: Sequence[int] | None = None,
        runs: TheRuns | None = None,
        run: Column | None = None,
        title: str | None = None,
        background: str | None = None,
        ax: Axes | None = None,
    ) -> Any:
        """The mean of metrics at every cutoff, with confidence bands: it shows at which ranks a run gains.

        Parameters
        ----------
        *metrics
            Texts without a cutoff, of metrics that accept one, as ``"ndcg"`` or ``"recall"``.
        cutoffs
            The cutoffs to show; default: every one up to 20, then some up to the longest ranking, at equal ratios.
        runs, run
            Score columns of the same rows, a table for each run as for ``df.rank.compare``, or the column that names the run
            of each row; default: the ranker's score only.
        title
            The title; default: a description of the plot. With ``""`` there is neither a title nor the line below it,
            which leaves room for ``ax.set_title`` of Matplotlib.
        background
            The colour behind the picture, with text in black or white, whichever contrasts more: ``"white"``,
            ``"black"`` or six hexadecimal digits, as ``"#1e1e1e"``. Default: white for Altair, the style's for Matplotlib.
        ax
            Matplotlib axes to draw on.

        Returns
        -------
        A chart or axes. The bands are 95% intervals of the mean over the queries, as of ``df.rank.summarize``.

        Raises
        ------
        InvalidOption
            If a metric accepts no cutoff or already has one, or if there are more than 12 lines.
        MissingExtra
            If the plotting library is not installed.

        Examples
        --------
        >>> import polars as pl, rankframe as rf
        >>> df = pl.DataFrame({"query_id": [1, 1, 2], "score": [2.0, 1.0, 1.0], "label": [0, 1, 1]})
        >>> df.rank.plot.curve("precision", "recall").title.text
        'P, Recall at every cutoff'
        """
        chosen = Runs.of(runs, run)
        return self._draw(title, background, ax, chosen, plots.curve, chosen.columns, chosen, metrics, cutoffs)

    @drawing
    def precision_recall(
        self,
        *,
        runs: TheRuns | None = None,
        run: Column | None = None,
        title: str | None = None,
        background: str | None = None,
        ax: Axes | None = None,
    ) -> Any:
        """Interpolated precision at eleven levels of recall: it shows how much precision more recall costs.

        Parameters
        ----------
        runs, run, title, background, ax
            As for :meth:`curve`.

        Returns
        -------
        A chart or axes, with bands as for :meth:`curve`.

        Examples
        --------
        >>> import polars as pl, rankframe as rf
        >>> df = pl.DataFrame({"query_id": [1, 1, 2], "score": [2.0, 1.0, 1.0], "label": [0, 1, 1]})
        >>> df.rank.plot.precision_recall().title.text
        'Interpolated precision at eleven levels of recall'
        """
        chosen = Runs.of(runs, run)
        return self._draw(title, background, ax, chosen, plots.precision_recall, chosen.columns, chosen)

    @drawing
    def differences(
        self,
        metric: str,
        *,
        runs: TheRuns | None = None,
        run: Column | None = None,
        baseline: Column | None = None,
        title: str | None = None,
        background: str | None = None,
        ax: Axes | None = None,
    ) -> Any:
        """Each query's difference from the baseline, sorted: how many queries gain, how many lose, and how much.

        Parameters
        ----------
        metric
            A text, as ``"ndcg@10"``.
        runs, run
            Score columns of the same rows, a table for each run as for ``df.rank.compare``, or the column that names the run
            of each row.
        baseline
            The run that the others are compared with; default: the first one.
        title, background, ax
            As for :meth:`curve`.

        Returns
        -------
        A chart or axes: bars for one run against the baseline, a line for each of several. Beyond 400 queries,
        neighbouring queries are combined into 400 bars of their mean.

        Examples
        --------
        >>> import polars as pl, rankframe as rf
        >>> df = pl.DataFrame({"query_id": [1, 1, 2], "bm25": [2, 1, 1], "ltr": [1, 2, 1], "label": [0, 1, 1]})
        >>> df.rank.plot.differences("rr", runs=["bm25", "ltr"]).title.text
        'RR of each query: ltr minus bm25'
        """
        chosen = Runs.of(runs, run)
        return self._draw(title, background, ax, chosen, plots.differences, chosen.columns, chosen, metric, baseline)

    @drawing
    def distribution(
        self,
        metric: str,
        *,
        runs: TheRuns | None = None,
        run: Column | None = None,
        title: str | None = None,
        background: str | None = None,
        ax: Axes | None = None,
    ) -> Any:
        """The distribution of a metric over the queries, per run: it shows whether values are similar, or mostly zeros and ones.

        Parameters
        ----------
        metric, runs, run, title, background, ax
            As for :meth:`differences`.

        Returns
        -------
        A chart or axes: a histogram per run, all on the same scale, with mean and median.

        Examples
        --------
        >>> import polars as pl, rankframe as rf
        >>> df = pl.DataFrame({"query_id": [1, 1, 2], "score": [2.0, 1.0, 1.0], "label": [0, 1, 1]})
        >>> df.rank.plot.distribution("rr").title.text
        'Distribution of RR over the queries'
        """
        chosen = Runs.of(runs, run)
        return self._draw(title, background, ax, chosen, plots.distribution, chosen.columns, chosen, metric)

    @drawing
    def slices(
        self,
        metric: str,
        *,
        by: Column,
        runs: TheRuns | None = None,
        run: Column | None = None,
        title: str | None = None,
        background: str | None = None,
        ax: Axes | None = None,
    ) -> Any:
        """A metric in each slice of the queries, with its interval: it shows which slices are better or worse than all queries.

        Parameters
        ----------
        metric, runs, run, title, background, ax
            As for :meth:`differences`.
        by
            The column whose values slice the queries, such as ``"market"``; the same in all rows of a query that
            have a value.

        Returns
        -------
        A chart or axes: a row for each slice, the best on top; at most the 40 slices with the most queries.

        Examples
        --------
        >>> import polars as pl, rankframe as rf
        >>> df = pl.DataFrame({"query_id": [1, 2, 3], "score": [1, 1, 1], "label": [1, 0, 0], "day": ["mo", "mo", "tu"]})
        >>> df.rank.plot.slices("rr", by="day").title.text
        'RR by day'
        """
        chosen = Runs.of(runs, run)
        return self._draw(title, background, ax, chosen, plots.slices, (*chosen.columns, by), chosen, metric, by)

    @drawing
    def judged(
        self, metric: str, *, title: str | None = None, background: str | None = None, ax: Axes | None = None
    ) -> Any:
        """A metric against the number of judged documents: it shows whether the value depends on how much was judged.

        Parameters
        ----------
        metric, title, background, ax
            As for :meth:`differences`.

        Returns
        -------
        A chart or axes: a dot per query, or per group of queries if there are many, and the mean of queries with similar
        numbers of judged documents. A negative label counts as unjudged.

        Examples
        --------
        >>> import polars as pl, rankframe as rf
        >>> df = pl.DataFrame({"query_id": [1, 1, 2], "score": [2.0, 1.0, 1.0], "label": [0, 1, 1]})
        >>> df.rank.plot.judged("rr").title.text
        'RR against the number of judged documents'
        """
        return self._draw(title, background, ax, Runs(), plots.judged, (), metric)

    @drawing
    def contributions(
        self,
        method: FusionMethod,
        *,
        runs: TheRuns | None = None,
        run: Column | None = None,
        k: Annotated[int, Range(least=1, most=ROWS)] = 10,
        title: str | None = None,
        background: str | None = None,
        ax: Axes | None = None,
    ) -> Any:
        """The contribution of each run to a fusion: it shows whether one run decides the top ranks, or whether runs agree.

        Parameters
        ----------
        method
            A method of fusion that is a sum, with its options, as for ``df.rank.fuse``: ``"rrf"``,
            ``"comb_sum(normalize=min_max)"``; or a trained one.
        runs, run
            The runs, as for ``df.rank.fuse``.
        k
            How many fused ranks to show, at most 40.
        title, background, ax
            As for :meth:`curve`.

        Returns
        -------
        A chart or axes: a row of stacked bars per fused rank, the mean contribution of each run over the queries. A table of
        one query has a row per document.

        Examples
        --------
        >>> import polars as pl, rankframe as rf
        >>> df = pl.DataFrame({"query_id": [1, 1], "doc_id": ["a", "b"], "bm25": [2.0, 1.0], "dense": [None, 1.0]})
        >>> df.rank.plot.contributions("rrf", runs=["bm25", "dense"]).title.text
        'What each run contributes to rrf'
        """
        chosen = runs_for(method, runs, run)
        require_runs(chosen, "plot.contributions")
        return self._draw(
            title, background, ax, chosen, fusion_figures.contributions, chosen.columns, chosen, method, k
        )

    @drawing
    def overlap(
        self,
        *,
        runs: TheRuns | None = None,
        run: Column | None = None,
        k: int | None = 10,
        title: str | None = None,
        background: str | None = None,
        ax: Axes | None = None,
    ) -> Any:
        """The share of documents that every two runs have in common: it shows which runs find documents that others miss.

        Parameters
        ----------
        runs, run, k
            As for ``df.rank.fusion.overlap``.
        title, background, ax
            As for :meth:`curve`.

        Returns
        -------
        A chart or axes: a cell for every two runs, the darker the more documents they share, with the mean Jaccard index of
        their top k.

        Examples
        --------
        >>> import polars as pl, rankframe as rf
        >>> df = pl.DataFrame({"query_id": [1, 1], "doc_id": ["a", "b"], "bm25": [2.0, 1.0], "dense": [None, 1.0]})
        >>> df.rank.plot.overlap(runs=["bm25", "dense"]).title.text
        'Documents that two runs have in common'
        """
        chosen = Runs.of(runs, run)
        return self._draw(title, background, ax, chosen, fusion_figures.overlap, chosen.columns, chosen, k)

    def _beside(self, **tables: object) -> Plots:
        return Plots(self._ranker._on(tables), self._library)

    def _draw(
        self,
        title: str | None,
        background: str | None,
        ax: Axes | None,
        runs: Runs,
        figure: Callable[..., Figure],
        names: Sequence[str],
        *args: object,
    ) -> Any:
        if background is not None:
            background_of(background)  # refuse an unknown colour before the work
        made = self._ranker._of(runs)._work(figure, names, *args)
        if title is not None:
            made = replace(made, title=" ".join(title.split()), subtitle=made.subtitle if title.strip() else "")
        if self._library == "matplotlib" or ax is not None:
            return matplotlib(made, ax, background)
        return altair(made, background or "white")

    if not TYPE_CHECKING:  # type checkers refuse both by themselves

        @called_by_users
        def __call__(self, *_: object, **__: object) -> NoReturn:
            """Refuse to draw what has no name."""
            names = f"{', '.join(PLOTS[:-1])} or {PLOTS[-1]}"
            raise InvalidOption(f"say which plot: {names}, as in df.rank.plot.curve('ndcg')")

        def __getattr__(self, name: str) -> NoReturn:
            near = near_names(name, METRICS, {plot: repr(plot) for plot in PLOTS}) or f". It has {', '.join(PLOTS)}"
            message = f".rank.plot has no plot {name!r}{near}"
            raise AttributeError(message, name=name)  # and no object, of which Python would offer names of its own

    def __repr__(self) -> str:
        return f".rank.plot by {self._library}: {', '.join(PLOTS)}"


PLOTS = [name for room in (Plots, ItemPlots) for name in vars(room) if not name.startswith("_")]
"""The names of the plots."""
