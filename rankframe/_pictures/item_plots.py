"""Plots of the items that all users are shown, and of trade-offs: methods of ``df.rank.plot``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .._items.catalog_and_past import Unknown
from .._table.runs import Runs
from . import item_figures
from .figure import Figure
from .methods import Drawing, drawing

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class ItemPlots(Drawing, ABC):
    """The plots for recommenders."""

    @drawing
    def exposure(
        self,
        k: int | None = None,
        *,
        weight: str = "count",
        items: object = None,
        unknown_items: Unknown = "error",
        runs: Sequence[str] | Mapping[str, object] | None = None,
        run: str | None = None,
        title: str | None = None,
        background: str | None = None,
        ax: Axes | None = None,
    ) -> Any:
        """The Lorenz curve of the items' exposure, with its Gini index: it shows how few items get most of the places.

        Parameters
        ----------
        k, weight
            The depth of the lists and how much a rank exposes its item, as for ``df.rank.items.exposure``.
        items
            The catalog, as for ``df.rank.items.catalog``: items that nobody is shown are at the left end of the curve. Default: that
            of ``on(items=...)``.
        unknown_items
            How to treat items that are shown but missing from the catalog, as for ``df.rank.items.catalog``: ``"error"`` or
            ``"drop"``.
        runs, run, title, background, ax
            As for :meth:`Plots.curve`; at most 11 runs.

        Returns
        -------
        A chart or axes. The subtitle gives the Gini indices, with 95% intervals of resampled users.

        Raises
        ------
        InvalidOption
            If the catalog is not given, or no column names the items.
        InvalidData
            If an item is shown that the catalog lacks, unless ``unknown_items="drop"``.

        Examples
        --------
        >>> import polars as pl, rankframe as rf
        >>> df = pl.DataFrame({"query_id": [1, 1, 2, 2], "doc_id": list("abac"), "score": [2.0, 1, 2, 1]})
        >>> df.rank.plot.exposure(k=2, items=4).title.text
        'Lorenz curve of exposure@2'
        """
        chosen = Runs.of(runs, run)
        plots = self._beside(items=items)
        options = chosen, k, weight, unknown_items
        return plots._draw(title, background, ax, chosen, item_figures.lorenz_curve, chosen.columns, *options)

    @drawing
    def long_tail(
        self,
        k: int | None = None,
        *,
        interactions: object = None,
        weight: str = "count",
        runs: Sequence[str] | Mapping[str, object] | None = None,
        run: str | None = None,
        title: str | None = None,
        background: str | None = None,
        ax: Axes | None = None,
    ) -> Any:
        """Exposure against the rank by popularity: it shows whether a run prefers popular items more than users did before.

        Parameters
        ----------
        k, weight
            As for :meth:`exposure`.
        interactions
            The users' past choices, as for ``df.rank.items.catalog``; default: those of ``on(interactions=...)``.
        runs, run, title, background, ax
            As for :meth:`Plots.curve`; at most 11 runs.

        Returns
        -------
        A chart or axes: the mean share of exposure of the items of neighbouring ranks, in each run, and their mean share of the
        interactions. Items without interactions come last.

        Raises
        ------
        InvalidOption
            If there are no interactions, or no column names the items.

        Examples
        --------
        >>> import polars as pl, rankframe as rf
        >>> df = pl.DataFrame({"query_id": [1, 1, 2, 2], "doc_id": list("abac"), "score": [2.0, 1, 2, 1]})
        >>> df.rank.plot.long_tail(k=1, interactions=df).title.text
        'Exposure@1 of items by popularity'
        """
        chosen = Runs.of(runs, run)
        plots = self._beside(interactions=interactions)
        return plots._draw(title, background, ax, chosen, item_figures.long_tail, chosen.columns, chosen, k, weight)

    @drawing
    def catalog(
        self,
        *metrics: str,
        items: object = None,
        interactions: object = None,
        cutoffs: Sequence[int] | None = None,
        unknown_items: Unknown = "error",
        runs: Sequence[str] | Mapping[str, object] | None = None,
        run: str | None = None,
        title: str | None = None,
        background: str | None = None,
        ax: Axes | None = None,
    ) -> Any:
        """Metrics of a catalog, such as coverage, at every cutoff: how much more of the catalog deeper lists show.

        Parameters
        ----------
        *metrics
            Texts without a cutoff of metrics in ``rf.CATALOG_METRICS``, as ``"coverage"`` or ``"gini"``.
        items, interactions
            As for ``df.rank.items.catalog``; default: those of ``on(items=..., interactions=...)``.
        cutoffs
            The cutoffs to show; default: every one up to 20, or to the longest list.
        unknown_items
            As for :meth:`exposure`.
        runs, run, title, background, ax
            As for :meth:`Plots.curve`.

        Returns
        -------
        A chart or axes. The bands are 95% intervals of resampled users, as of ``df.rank.items.catalog``.

        Raises
        ------
        InvalidOption
            If a metric needs `items` or `interactions`, takes no cutoff or already has one.
        InvalidData
            If an item is shown that the catalog lacks, unless ``unknown_items="drop"``.

        Examples
        --------
        >>> import polars as pl, rankframe as rf
        >>> df = pl.DataFrame({"query_id": [1, 1, 2, 2], "doc_id": list("abac"), "score": [2.0, 1, 2, 1]})
        >>> df.rank.plot.catalog("coverage", items=4).title.text
        'Coverage at every cutoff'
        """
        chosen = Runs.of(runs, run)
        plots, named = self._beside(items=items, interactions=interactions), (chosen, metrics, cutoffs, unknown_items)
        return plots._draw(title, background, ax, chosen, item_figures.catalog, chosen.columns, *named)

    @drawing
    def trade_off(
        self,
        x: str,
        y: str,
        *,
        runs: Sequence[str] | Mapping[str, object] | None = None,
        run: str | None = None,
        title: str | None = None,
        background: str | None = None,
        ax: Axes | None = None,
    ) -> Any:
        """Two metrics against each other, a point per run: it shows how much of one a run gives up for the other.

        Parameters
        ----------
        x, y
            Texts of the metrics of the two axes, as ``"novelty@10"`` and ``"ndcg@10"``.
        runs, run, title, background, ax
            As for :meth:`Plots.curve`.

        Returns
        -------
        A chart or axes: the means of each run, with 95% intervals of both.

        Examples
        --------
        >>> import polars as pl, rankframe as rf
        >>> df = pl.DataFrame({"query_id": [1, 1, 2], "old": [2, 1, 1], "new": [1, 2, 1], "label": [0, 1, 1]})
        >>> df.rank.plot.trade_off("precision@1", "rr", runs=["old", "new"]).title.text
        'RR against P@1'
        """
        chosen = Runs.of(runs, run)
        return self._draw(title, background, ax, chosen, item_figures.trade_off, chosen.columns, chosen, x, y)

    @abstractmethod
    def _beside(self, **tables: object) -> ItemPlots:
        """The plots of the ranker with these tables; a table that is None stays as set by `on`."""

    @abstractmethod
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
        """Draw a figure of the ranker's table."""
