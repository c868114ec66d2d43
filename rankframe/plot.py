"""Plots of a ranker: one method for each question. Altair draws Polars frames, Matplotlib draws pandas frames."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ._decisions.runs import Runs
from ._pictures import plots
from ._pictures.colours import background_of
from ._pictures.draw import altair, matplotlib
from ._pictures.figure import Figure
from .errors import called_by_users

__all__ = ["Plots"]


class Plots:
    """The plots of a ranker, ``df.rank.plot``.

    Every method returns an Altair chart for a Polars frame, and Matplotlib axes for a pandas frame or if `ax` is given.
    A picture has a few thousand marks at most, for tables of any size. A LazyFrame is collected first.
    """

    def __init__(self, work: Callable[..., Any], library: str) -> None:
        self._work = work
        self._library = library

    @called_by_users
    def curve(
        self,
        *metrics: str,
        cutoffs: Sequence[int] | None = None,
        runs: Sequence[str] | None = None,
        run: str | None = None,
        background: str | None = None,
        ax: Any = None,
    ) -> Any:
        """The mean of metrics at every cutoff, with a band for each: it shows at which ranks a run gains.

        Parameters
        ----------
        *metrics
            Texts without a cutoff, of metrics that accept one, as ``"ndcg"`` or ``"recall"``.
        cutoffs
            The cutoffs to show; default: every one up to 20, then some up to the longest ranking, at equal ratios.
        runs, run
            Score columns of the same rows, or the column that tells runs apart; default: the ranker's score only.
        background
            The colour behind the picture, with text in black or white, whichever contrasts more: ``"white"``,
            ``"black"`` or six hexadecimal digits, as ``"#1e1e1e"``. Default: white for Altair, the style's for Matplotlib.
        ax
            Matplotlib axes to draw on.

        Returns
        -------
        A chart or axes. The bands are 95% intervals of the mean over the queries, by Student's t.

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
        return self._draw(background, ax, plots.curve, chosen.columns, chosen, metrics, cutoffs)

    @called_by_users
    def precision_recall(
        self,
        *,
        runs: Sequence[str] | None = None,
        run: str | None = None,
        background: str | None = None,
        ax: Any = None,
    ) -> Any:
        """Interpolated precision at eleven levels of recall: it shows how much precision more recall costs.

        Parameters
        ----------
        runs, run, background, ax
            As for :meth:`curve`.

        Returns
        -------
        A chart or axes. Bands as for :meth:`curve`.

        Examples
        --------
        >>> import polars as pl, rankframe as rf
        >>> df = pl.DataFrame({"query_id": [1, 1, 2], "score": [2.0, 1.0, 1.0], "label": [0, 1, 1]})
        >>> df.rank.plot.precision_recall().title.text
        'Interpolated precision at eleven levels of recall'
        """
        chosen = Runs.of(runs, run)
        return self._draw(background, ax, plots.precision_recall, chosen.columns, chosen)

    @called_by_users
    def differences(
        self,
        metric: str,
        *,
        runs: Sequence[str] | None = None,
        run: str | None = None,
        baseline: str | None = None,
        background: str | None = None,
        ax: Any = None,
    ) -> Any:
        """Each query's difference from the baseline, sorted: how many queries gain, how many lose, and how much.

        Parameters
        ----------
        metric
            A text, as ``"ndcg@10"``.
        runs, run
            Score columns of the same rows, or the column that tells runs apart.
        baseline
            The run that the others are compared with; default: the first one.
        background, ax
            As for :meth:`curve`.

        Returns
        -------
        A chart or axes: bars for one run against the baseline, a line for each of several. Beyond 400 queries,
        neighbouring queries are combined into 400 bars of their mean.

        Examples
        --------
        >>> import polars as pl, rankframe as rf
        >>> df = pl.DataFrame({"query_id": [1, 1, 2], "bm25": [2, 1, 1], "ltr": [1, 2, 1], "label": [0, 1, 1]})
        >>> df.rank.plot.differences("rr", runs=["bm25", "ltr"]).title.subtitle
        ['ltr: 1 better, 0 worse, 1 equal, +0.250 on average']
        """
        chosen = Runs.of(runs, run)
        return self._draw(background, ax, plots.differences, chosen.columns, chosen, metric, baseline)

    @called_by_users
    def distribution(
        self,
        metric: str,
        *,
        runs: Sequence[str] | None = None,
        run: str | None = None,
        background: str | None = None,
        ax: Any = None,
    ) -> Any:
        """The distribution of a metric over the queries, per run: are the values alike, or mostly zeros and ones.

        Parameters
        ----------
        metric, runs, run, background, ax
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
        return self._draw(background, ax, plots.distribution, chosen.columns, chosen, metric)

    @called_by_users
    def slices(
        self,
        metric: str,
        *,
        by: str,
        runs: Sequence[str] | None = None,
        run: str | None = None,
        background: str | None = None,
        ax: Any = None,
    ) -> Any:
        """A metric in each slice of the queries, with its interval: which slices are better or worse than the whole.

        Parameters
        ----------
        metric, runs, run, background, ax
            As for :meth:`differences`.
        by
            The column whose values slice the queries, such as ``"market"``; the same in all rows of a query.

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
        return self._draw(background, ax, plots.slices, (*chosen.columns, str(by)), chosen, metric, str(by))

    @called_by_users
    def judged(self, metric: str, *, background: str | None = None, ax: Any = None) -> Any:
        """A metric against the number of judged documents: does it reflect the ranking, or just how much was judged.

        Parameters
        ----------
        metric, background, ax
            As for :meth:`differences`.

        Returns
        -------
        A chart or axes: the queries as dots, combined where they are many, and the mean of queries with similar
        numbers of judged documents. A negative label counts as unjudged.

        Examples
        --------
        >>> import polars as pl, rankframe as rf
        >>> df = pl.DataFrame({"query_id": [1, 1, 2], "score": [2.0, 1.0, 1.0], "label": [0, 1, 1]})
        >>> df.rank.plot.judged("rr").title.text
        'RR against the number of judged documents'
        """
        return self._draw(background, ax, plots.judged, (), metric)

    def _draw(
        self, background: str | None, ax: Any, figure: Callable[..., Figure], names: Sequence[str], *args: Any
    ) -> Any:
        if background is not None:
            background_of(background)  # refuse another one before the work
        made = self._work(figure, names, *args)
        if self._library == "matplotlib" or ax is not None:
            return matplotlib(made, ax, background)
        return altair(made, background or "white")

    def __repr__(self) -> str:
        return f".rank.plot by {self._library}: curve, precision_recall, differences, distribution, slices, judged"
