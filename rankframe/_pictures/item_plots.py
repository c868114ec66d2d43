"""The content of plots of items that all users are shown, and of trade-offs of metrics."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import polars as pl

from .._catalog.call import Call
from .._catalog.registry import CATALOG_METRICS
from .._catalog.requests import Request
from .._results.grid import queries, with_intervals
from .._table.background import place_in
from .._table.runs import RUN, Runs
from .._table.setup import Setup
from .._table.table import Table, unchanged
from .._verbs.call.declaration import merged_figures
from .._verbs.items.catalog import catalog as catalog_table, catalog_calls, reads_labels
from .._verbs.items.item_exposure import Exposures, Weighing
from .._verbs.items.item_tables import Unknown, catalog_and_past, item_column
from ..errors import InvalidOption, Verbatim, option
from .figure import (
    CI,
    ENDS,
    Axis,
    Estimated,
    Figure,
    Mark,
    Measured,
    Shared,
    at_cutoffs,
    at_each_cutoff,
    one_call,
    plot,
    unpacked,
)
from .plots import deepest, nice_cutoffs

if TYPE_CHECKING:
    from typing import Unpack

POINTS = 200
"""The most points of a Lorenz curve."""
STEP = 1.15
"""The ratio of the ranks at which bands of items begin; the items of a band make one point."""
SHALLOW = 20
"""The depth to which catalog metrics are drawn by default."""
EQUAL, PAST = "all items alike", "past interactions"
"""The names of the reference lines beside the lines of the runs."""
RESAMPLES = 1_000
"""The number of resamples of each interval."""


@plot(by_parts=True)
def exposure(
    table: Table[Any],
    k: int | None = None,
    *,
    weight: str = "count",
    items: object = None,
    unknown_items: Unknown = "error",
    **shared: Unpack[Estimated],
) -> Figure:
    """The Lorenz curve of the items' exposure, with its Gini index: it shows how few items get most
    of the places.

    Parameters
    ----------
    k, weight
        The depth of the lists and how much a rank exposes its item, as for
        ``df.rank.items.exposure``.
    items
        The catalog, as for ``df.rank.items.catalog``: items that nobody is shown are at the left
        end of the curve. Default: that of ``on(items=...)``.
    unknown_items
        How to treat items that are shown but missing from the catalog, as for
        ``df.rank.items.catalog``: ``"error"`` or ``"drop"``.

    Returns
    -------
    A chart or axes, of at most 11 runs. The subtitle gives the Gini indices, with intervals of
    resampled users.

    Raises
    ------
    InvalidOption
        If the catalog is not given, or no column names the items.
    InvalidData
        If an item is shown that the catalog lacks, unless ``unknown_items="drop"``.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({
    ...     "query_id": [1, 1, 2, 2], "doc_id": list("abac"), "score": [2.0, 1, 2, 1],
    ... })
    >>> df.rank.plot.exposure(k=2, items=4).title.text
    'Lorenz curve of exposure@2'
    """
    frame, setup, runs = unpacked(table, shared)
    weighing = Weighing.of(k, weight)
    shown = _exposed(table, runs, weighing)
    known = catalog_and_past(runs.queries(setup), frame.schema, unknown_items).catalog.ids
    if known is not None and unknown_items == "drop":
        items_shown = shown[item_column(setup, frame.columns)]
        shown = shown.filter(place_in(known, items_shown).is_not_null())
    at = "" if k is None else f"@{k}"
    of_weight = f"rbp,p={weighing.p:g}" if weighing.weight == "rbp" else weighing.weight
    gini = [f"exposure_gini(weight={of_weight}){at}"]
    measured = _measured(table, runs, gini, unknown_items, shared.get("ci", CI))
    n_items = max(measured["n_items"], default=0)
    names = runs.named(shown)
    curves = []
    for run in names:
        of_run = shown.filter(pl.col(RUN) == run)
        curve = _lorenz(of_run["exposure"], n_items)
        curves.append(curve.with_columns(series=pl.lit(run)))
    diagonal = pl.DataFrame({"x": [0.0, 1.0], "y": [0.0, 1.0]})
    curves.append(diagonal.with_columns(series=pl.lit(EQUAL)))
    texts = []
    for row in measured.drop_nulls("value").iter_rows(named=True):
        run = f"{row[RUN]}: " if len(names) > 1 else ""
        texts.append(f"{run}Gini {_with_ends(row)}")
    subtitle = "; ".join(texts) or "no item is shown"
    x = Axis("share of the catalog's items, the least shown first", limits=(0, 1))
    y = Axis("share of exposure", limits=(0, 1))
    lines = pl.concat(curves, how="diagonal")
    marks = (Mark("line", lines),)
    title = f"Lorenz curve of exposure{at}"
    return Figure(title, subtitle, x, y, marks, (*names, EQUAL))


def _lorenz(exposed: pl.Series, size: int) -> pl.DataFrame:
    """The corners of the curve of a run, thinned to `POINTS`.

    Items that are never shown count with exposure 0.
    """
    rising = exposed.rename("").sort()
    if size > len(exposed):
        never_shown = pl.zeros(size - len(exposed), pl.Float64, eager=True).rename("")
        rising = pl.concat([never_shown, rising])
    share = pl.Series([], dtype=pl.Float64)
    if len(exposed):
        shares = rising.cum_sum() / rising.sum()
        share = pl.concat([pl.Series([0.0]), shares])
    rows = pl.DataFrame({"y": share}).with_row_index("items")
    n = max(len(rows) - 1, 1)
    items = pl.col("items").cast(pl.Int64)
    point = items * POINTS // n
    begins = point.diff().fill_null(1) > 0
    corners = rows.filter(begins | (items == n))
    return corners.select(x=items / n, y="y", items=items)


@plot(by_parts=True)
def long_tail(
    table: Table[Any],
    k: int | None = None,
    *,
    interactions: object = None,
    weight: str = "count",
    **shared: Unpack[Shared],
) -> Figure:
    """Exposure against the rank by popularity: it shows whether a run prefers popular items more
    than users did before.

    Parameters
    ----------
    k, weight
        As for :meth:`exposure`.
    interactions
        The users' past choices, as for ``df.rank.items.catalog``; default: those of
        ``on(interactions=...)``.

    Returns
    -------
    A chart or axes: the mean share of exposure of the items of neighbouring ranks, in each of at
    most 11 runs, and their mean share of the interactions. Items without interactions come last.

    Raises
    ------
    InvalidOption
        If there are no interactions, or no column names the items.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({
    ...     "query_id": [1, 1, 2, 2], "doc_id": list("abac"), "score": [2.0, 1, 2, 1],
    ... })
    >>> df.rank.plot.long_tail(k=1, interactions=df).title.text
    'Exposure@1 of items by popularity'
    """
    frame, setup, runs = unpacked(table, shared)
    doc = item_column(setup, frame.columns)
    shown = _exposed(table, runs, Weighing.of(k, weight))
    counts = _popularity(frame, setup, runs)
    id_type = counts.schema[doc]
    shown = shown.with_columns(pl.col(doc).cast(id_type))
    every = pl.concat([counts.select(doc), shown.select(doc)]).unique()
    popular = every.join(counts, on=doc, how="left").with_columns(pl.col("users").fill_null(0))
    ranked = popular.sort("users", doc, descending=[True, False])
    ranked = ranked.with_row_index("rank", 1)
    names = runs.named(shown)
    shares = {}
    for run in names:
        shares[run] = shown.filter(pl.col(RUN) == run).select(doc, y="share")
    users = pl.col("users")
    shares[PAST] = counts.select(doc, y=users / users.sum())
    rows = []
    for series, share in shares.items():
        in_order = ranked.join(share, on=doc, how="left")
        bands = _bands(in_order)
        rows.append(bands.with_columns(series=pl.lit(series)))
    last = max(len(ranked), 2)
    at = "" if k is None else f"@{k}"
    most = f"rank 1 is the most popular of {len(ranked):,} items"
    subtitle = f"Mean share of an item; {most}. Neighbouring ranks are combined"
    ticks = tuple((float(n), f"{n:,}") for n in nice_cutoffs(last))
    x = Axis("rank by popularity", log=True, ticks=ticks, limits=(1, last))
    title = f"Exposure{at} of items by popularity"
    y = Axis("share of exposure")
    marks = (Mark("line", pl.concat(rows)),)
    return Figure(title, subtitle, x, y, marks, tuple(shares))


def _bands(ranked: pl.DataFrame) -> pl.DataFrame:
    """The means of bands of neighbouring ranks, each `STEP` times as deep as the one before."""
    band = pl.col("rank").log(STEP).floor().alias("band")
    n_items = pl.len().cast(pl.Int64)
    rank = pl.col("rank").mean()
    share = pl.col("y").fill_null(0.0).mean()
    of_bands = ranked.group_by(band, maintain_order=True)
    return of_bands.agg(x=rank, y=share, items=n_items).drop("band")


@plot(among=CATALOG_METRICS, labels=reads_labels, by_parts=True)
def catalog(
    table: Table[Any],
    *metrics: str,
    items: object = None,
    interactions: object = None,
    cutoffs: Sequence[int] | None = None,
    unknown_items: Unknown = "error",
    **shared: Unpack[Estimated],
) -> Figure:
    """Metrics of a catalog, such as coverage, at every cutoff: how much more of the catalog deeper
    lists show.

    Parameters
    ----------
    *metrics
        Texts without a cutoff of metrics in ``rf.CATALOG_METRICS``, as ``"coverage"`` or
        ``"gini"``.
    items, interactions
        As for ``df.rank.items.catalog``; default: those of ``on(items=..., interactions=...)``.
    cutoffs
        The cutoffs to show; default: every one up to 20, or to the longest list.
    unknown_items
        As for :meth:`exposure`.

    Returns
    -------
    A chart or axes. The bands are intervals of resampled users, as of ``df.rank.items.catalog``.

    Raises
    ------
    InvalidOption
        If a metric needs `items` or `interactions`, takes no cutoff or already has one.
    InvalidData
        If an item is shown that the catalog lacks, unless ``unknown_items="drop"``.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({
    ...     "query_id": [1, 1, 2, 2], "doc_id": list("abac"), "score": [2.0, 1, 2, 1],
    ... })
    >>> df.rank.plot.catalog("coverage", items=4).title.text
    'Coverage at every cutoff'
    """
    _, setup, runs = unpacked(table, shared)
    curves = catalog_calls(metrics, setup, "plot.catalog('coverage', items=...)")
    if not curves:
        raise InvalidOption("name a metric of the catalog, as plot.catalog('coverage', items=...)")
    for call in curves:
        if "k" not in call.metric.parameters or call.cutoff:
            says = "name a metric that takes a cutoff, without one, as 'coverage'"
            raise InvalidOption(f"{call.text!r} has no curve: {says}")
    if cutoffs is None:
        last = min(deepest(table, runs), SHALLOW)
        cutoffs = range(1, last + 1)
    calls = at_each_cutoff(curves, cutoffs)
    ci = shared.get("ci", CI)
    texts = [call.text for call in calls]
    measured = _measured(table, runs, texts, unknown_items, ci)
    rows = measured.select("metric", series=RUN, y="value", low="ci_low", high="ci_high")
    rows = rows.drop_nulls("y")
    n_users = max(measured["n_queries"], default=0)
    intervals = with_intervals(ci, "users resampled")
    subtitle = f"All lists of {n_users:,} users together{intervals}"
    several = measured[RUN].n_unique() > 1
    return at_cutoffs(rows, calls, subtitle, Axis("cutoff k", whole=True), "value", several=several)


@plot(by_parts=True)
def trade_off(table: Table[Any], x: Request, y: Request, **shared: Unpack[Estimated]) -> Figure:
    """Two metrics against each other, a point per run: it shows how much of one a run gives up for
    the other.

    Parameters
    ----------
    x, y
        Texts of the metrics of the two axes, as ``"novelty@10"`` and ``"ndcg@10"``.

    Returns
    -------
    A chart or axes: the means of each run, with intervals of both.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({
    ...     "query_id": [1, 1, 2], "old": [2, 1, 1], "new": [1, 2, 1], "label": [0, 1, 1],
    ... })
    >>> df.rank.plot.trade_off("precision@1", "rr", runs=["old", "new"]).title.text
    'RR against P@1'
    """
    example = "trade_off('novelty@10', 'ndcg@10', runs=['old', 'new'])"
    of_x = one_call(x, example)
    of_y = one_call(y, example)
    measured = Measured.from_options(table, list(dict.fromkeys([of_x, of_y])), shared)
    means = measured.means(RUN).rename({RUN: "series"})
    across = means.filter(metric=of_x.text).drop("metric").rename({"y": "x"})
    up = means.filter(metric=of_y.text).drop("metric")
    rows = across.join(up, on="series", suffix="2", maintain_order="left")
    figures = {of_x.text: "x", of_y.text: "y"}
    points = rows.select("series", "x", "y", run="series", **figures)
    wide = rows.drop_nulls("low").select("series", "y", x="low", x2="high")
    high = rows.drop_nulls("low2").select("series", "x", y="low2", y2="high2")
    n = max(rows["queries"], default=0)
    other = max(rows["queries2"], default=0)
    over = queries(n)
    if n != other:
        over += f" ({of_x.display}) and {other:,} ({of_y.display})"
    title = f"{of_y.display} against {of_x.display}"
    subtitle = f"Means over {over}{measured.intervals(means)}"
    marks = (Mark("interval", wide), Mark("interval", high), Mark("point", points))
    axes = Axis(_directed(of_x)), Axis(_directed(of_y))
    return Figure(title, subtitle, *axes, marks, tuple(measured.runs), note=measured.note)


def _directed(call: Call) -> str:
    return call.display if call.higher_is_better else f"{call.display} (less is better)"


def _exposed(table: Table[Any], runs: Runs, weighing: Weighing) -> pl.DataFrame:
    """The exposure of each item in each run."""

    def exposed(of_run: Setup) -> pl.DataFrame:
        return merged_figures(table, Exposures(of_run, weighing, runs.key))

    return runs.each(table.rows, table.setup, exposed)


def _measured(
    table: Table[Any], runs: Runs, texts: Sequence[str], unknown_items: Unknown, ci: float | None
) -> pl.DataFrame:
    """The catalog metrics of each run, with the ends of intervals, null with ``ci=None``."""
    options: dict[str, Any] = {"by": runs.key, "ci": ci, "resamples": RESAMPLES}

    def measured(of_run: Setup) -> pl.DataFrame:
        of_polars: Table[pl.DataFrame] = replace(table, setup=of_run, give=unchanged)
        return catalog_table(of_polars, *texts, unknown_items=unknown_items, **options)

    rows = runs.each(table.rows, table.setup, measured)
    missing = [end for end in ENDS if end not in rows.columns]
    return rows.with_columns(pl.lit(None, pl.Float64).alias(end) for end in missing)


def _popularity(frame: pl.DataFrame, setup: Setup, runs: Runs) -> pl.DataFrame:
    """A row per item of the interactions: the item, and the number of its users."""
    known = setup.background.interactions
    if known is None:
        says = "the popularity of items is that of past interactions; say "
        given = option(interactions=Verbatim("train"))
        raise InvalidOption(says, given, ", a frame with the columns of users and items")
    doc = item_column(setup, frame.columns)
    query = runs.queries(setup).roles.query
    counts = known.named(query, doc).counts
    return counts.select(doc, users=counts.columns[-1])


def _with_ends(row: dict[str, Any]) -> str:
    low = row["ci_low"]
    high = row["ci_high"]
    ends = "" if low is None or math.isnan(low) else f" [{low:.3f}, {high:.3f}]"
    return f"{row['value']:.3f}{ends}"
