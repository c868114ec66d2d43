"""Plots of a ranker: one method for each question. Altair draws Polars frames, Matplotlib draws pandas frames."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ._decisions.runs import Runs
from ._pictures import plots
from ._pictures.draw import altair, matplotlib
from ._pictures.figure import Figure

__all__ = ["Plots"]


class Plots:
    """What ``df.rank.plot`` is.

    Every method gives an Altair chart for a Polars frame, and Matplotlib axes for a pandas frame or wherever `ax` is
    given. Tables of any size make a picture of a few thousand marks at most. A LazyFrame is collected first.
    """

    def __init__(self, work: Callable[..., Any], library: str) -> None:
        self._work = work
        self._library = library

    def curve(
        self,
        *metrics: str,
        cutoffs: Sequence[int] | None = None,
        runs: Sequence[str] | None = None,
        run: str | None = None,
        ax: Any = None,
    ) -> Any:
        """The mean of metrics at every cutoff, each with a band: where in the ranking does a run gain.

        Parameters
        ----------
        *metrics
            Texts without a cutoff, of metrics that may have one, as ``"ndcg"`` or ``"recall"``.
        cutoffs
            The cutoffs to show; at first every one to 20, then some up to the longest ranking, at equal ratios.
        runs, run
            Score columns of the same rows, or the column that tells runs apart; at first the ranker's score alone.
        ax
            Matplotlib axes to draw on.

        Returns
        -------
        A chart or axes. The bands are 95% intervals of the mean over the queries, by Student's t.

        Raises
        ------
        InvalidOption
            If a metric takes no cutoff or names one, or if there are more than 12 lines.
        MissingExtra
            If the plotting library is not installed.

        Examples
        --------
        >>> import polars as pl, rankframe as rf
        >>> df = pl.DataFrame({"query_id": [1, 1, 2], "score": [2.0, 1.0, 1.0], "label": [0, 1, 1]})
        >>> df.rank.plot.curve("precision", "recall").title.text
        'precision, recall at every cutoff'
        """
        chosen = Runs.of(runs, run)
        return self._draw(ax, plots.curve, chosen.columns, chosen, metrics, cutoffs)

    def precision_recall(self, *, runs: Sequence[str] | None = None, run: str | None = None, ax: Any = None) -> Any:
        """Interpolated precision at eleven levels of recall: what does finding more cost.

        Parameters
        ----------
        runs, run, ax
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
        return self._draw(ax, plots.precision_recall, chosen.columns, chosen)

    def differences(
        self,
        metric: str,
        *,
        runs: Sequence[str] | None = None,
        run: str | None = None,
        baseline: str | None = None,
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
            The run that the others are held against; at first the first one.
        ax
            As for :meth:`curve`.

        Returns
        -------
        A chart or axes: bars for one run against the baseline, a line for each of several. Beyond 400 queries,
        neighbours in the order are put together in 400 bars of their mean.

        Examples
        --------
        >>> import polars as pl, rankframe as rf
        >>> df = pl.DataFrame({"query_id": [1, 1, 2], "bm25": [2, 1, 1], "ltr": [1, 2, 1], "label": [0, 1, 1]})
        >>> df.rank.plot.differences("rr", runs=["bm25", "ltr"]).title.subtitle
        ['ltr: 1 better, 0 worse, 1 equal, +0.250 on average']
        """
        chosen = Runs.of(runs, run)
        return self._draw(ax, plots.differences, chosen.columns, chosen, metric, baseline)

    def distribution(
        self, metric: str, *, runs: Sequence[str] | None = None, run: str | None = None, ax: Any = None
    ) -> Any:
        """How a metric is spread over the queries, per run: is the mean made of equals, or of zeros and ones.

        Parameters
        ----------
        metric, runs, run, ax
            As for :meth:`differences`.

        Returns
        -------
        A chart or axes: a histogram per run, to one scale, with mean and median.

        Examples
        --------
        >>> import polars as pl, rankframe as rf
        >>> df = pl.DataFrame({"query_id": [1, 1, 2], "score": [2.0, 1.0, 1.0], "label": [0, 1, 1]})
        >>> df.rank.plot.distribution("rr").title.text
        'How rr is spread over the queries'
        """
        chosen = Runs.of(runs, run)
        return self._draw(ax, plots.distribution, chosen.columns, chosen, metric)

    def slices(
        self,
        metric: str,
        *,
        by: str,
        runs: Sequence[str] | None = None,
        run: str | None = None,
        ax: Any = None,
    ) -> Any:
        """A metric in each slice of the queries, with its interval: where is it better or worse than over all.

        Parameters
        ----------
        metric, runs, run, ax
            As for :meth:`differences`.
        by
            The column whose values slice the queries, such as ``"market"``; the same in all rows of a query.

        Returns
        -------
        A chart or axes: a row for each slice, the best above; of more than 40, the 40 that have most queries.

        Examples
        --------
        >>> import polars as pl, rankframe as rf
        >>> df = pl.DataFrame({"query_id": [1, 2, 3], "score": [1, 1, 1], "label": [1, 0, 0], "day": ["mo", "mo", "tu"]})
        >>> df.rank.plot.slices("rr", by="day").title.text
        'rr by day'
        """
        chosen = Runs.of(runs, run)
        return self._draw(ax, plots.slices, (*chosen.columns, str(by)), chosen, metric, str(by))

    def judged(self, metric: str, *, ax: Any = None) -> Any:
        """A metric against the number of judged documents: does the number speak of the ranking or of the judging.

        Parameters
        ----------
        metric, ax
            As for :meth:`differences`.

        Returns
        -------
        A chart or axes: the queries as dots, put together where they are many, and the mean of queries with like
        numbers of judged documents. A negative label counts as unjudged.

        Examples
        --------
        >>> import polars as pl, rankframe as rf
        >>> df = pl.DataFrame({"query_id": [1, 1, 2], "score": [2.0, 1.0, 1.0], "label": [0, 1, 1]})
        >>> df.rank.plot.judged("rr").title.text
        'rr against the number of judged documents'
        """
        return self._draw(ax, plots.judged, (), metric)

    def _draw(self, ax: Any, figure: Callable[..., Figure], names: Sequence[str], *args: Any) -> Any:
        made = self._work(figure, names, *args)
        return matplotlib(made, ax) if self._library == "matplotlib" or ax is not None else altair(made)

    def __repr__(self) -> str:
        return f".rank.plot by {self._library}: curve, precision_recall, differences, distribution, slices, judged"
