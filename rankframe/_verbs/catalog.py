"""Metrics of the whole table: one row per slice and metric, with intervals over users."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import polars as pl

from .._catalog.call import Call
from .._catalog.registry import CATALOG_METRICS
from .._catalog.requests import Request, calls_of
from .._support.option_kinds import ColumnNames
from .._support.progress import Progress
from .._support.statistical_options import Confidence, Resamples, Seed
from .._table.runs import names_of
from .._table.table import Table, refuse_names
from ..errors import RankframeError
from .catalog_and_past import Unknown, catalog_and_past
from .declaration import verb
from .item_counts import TABLE, WITHOUT_INTERVALS, ItemCounts, Parts, catalog_calls
from .lists_of_users import lists_of
from .recount import ItemMetrics, Recount, about, resamples_of, users_of
from .resampling import Resampling
from .summary import in_slices, keys

R = TypeVar("R")


def reads_labels(requests: Sequence[Request | Call]) -> bool:
    """Whether one of the catalog metrics reads labels; False for a request that names none, which is refused elsewhere."""
    try:
        return any(call.labels for call in calls_of(*requests, among=CATALOG_METRICS))
    except RankframeError:
        return False


@verb(gives="table", among=CATALOG_METRICS, labels=reads_labels, merges=Parts.of)
def catalog(
    table: Table[R],
    *metrics: Request,
    items: object = None,
    interactions: object = None,
    by: ColumnNames | None = None,
    ci: Confidence | None = 0.95,
    unknown_items: Unknown = "error",
    resamples: Resamples = 1_000,
    seed: Seed = 0,
    progress: bool = True,
) -> R:
    """Metrics of the items that all users are shown, as coverage and Gini: one row per slice and metric.

    Parameters
    ----------
    *metrics
        Texts, as ``"coverage@10"`` or ``"gini(normalized=True)@10"``, of the metrics in ``rf.CATALOG_METRICS``; functions
        declared with ``@rf.catalog_metric``.
    items
        The catalog, which coverage and Gini need: the number of its items, a frame with the column of items, or a list of
        their ids; for metrics of groups of items a frame, with the column that ``on(group=...)`` names. Default: that of
        ``on(items=...)``. It is never taken from the lists, which lack the items that nobody is shown.
    interactions
        The past choices of users, which ``popularity_lift``, ``rsp``, ``reo``, ``bias_disparity`` and the options `head` and
        `tail` need: a frame with the columns of users and items; repeated pairs count once. Default: that of
        ``on(interactions=...)``.
    by
        The column, or columns, whose values slice the users, as for :meth:`summarize`, such as that of the runs.
    ci
        The confidence of the intervals. ``None`` for no intervals and no resampling.
    unknown_items
        Items that are shown, but are not in the catalog: ``"error"`` refuses them, ``"drop"`` does not count them; the
        other items keep their ranks.
    resamples
        The number of resamples of the users of a slice; all metrics share the same draws.
    seed
        The seed of the draws. Equal seeds give equal intervals, for any order of the rows.
    progress
        Whether long computations show a progress bar; only on a terminal, and only if ``rich`` is installed.

    Returns
    -------
    A frame with the slice's columns, ``metric``, ``value`` (Float64; null where it is not defined, as the Gini index of
    empty lists), ``ci_low`` and ``ci_high`` (Float64; null for fewer than two users; left out with ``ci=None``),
    ``n_queries`` (UInt32, the users of the slice, including users who are shown nothing) and ``n_items`` (Int64, the
    items of the catalog; null if it is not known). Slices are in the order of their first rows.

    Raises
    ------
    InvalidOption
        If a metric needs `items`, `interactions` or groups of items, or no column names the items.
    MissingColumn
        If a metric reads labels, and the table has none.
    InvalidData
        If an item is shown that the catalog lacks, an item that is shown is null, ids of two tables have different types, a
        user has several values of a slice, or a metric reads a label that is NaN or infinite.

    See Also
    --------
    exposure : the table that these metrics are computed from.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({"query_id": [1, 1, 2, 2], "doc_id": list("abac"), "score": [2.0, 1, 2, 1]})
    >>> found = df.rank.items.catalog("coverage@1", "coverage@2", items=4)     # a; a, b and c
    >>> found["metric"].to_list(), found["value"].to_list()
    (['coverage@1', 'coverage@2'], [0.25, 0.75])
    """
    setup, slices = table.setup, names_of(by)
    resampling = Resampling(ci, "percentile", resamples, seed, progress)
    calls = catalog_calls(metrics, setup, "items.catalog('coverage@10', items=...)")
    refuse_names([*TABLE], slices, "by")
    measured = ItemMetrics(
        tuple(calls), catalog_and_past(setup, table.rows.schema, unknown_items), setup.policies.relevant
    )
    lists = lists_of(
        table.rows, setup, slices, measured.columns
    )  # refuses a metric that lacks a table before anything runs
    columns = WITHOUT_INTERVALS if resampling.ci is None else TABLE
    rows: list[tuple[object, ...]] = []
    parts = in_slices(measured.known.catalog.within(lists), keys(slices))
    with Progress("resampling users", resampling.progress) as bar:
        for part in parts:
            users = users_of(part, setup.roles.query)
            recount = Recount(part, setup.roles.query, users, measured)
            values = recount.plain(measured)
            ends = _ends(recount, measured, values, resampling, bar)
            where = part.select(keys(slices)).row(0) if slices else ()
            rows += [
                (*where, call.text, *figures, users.height, measured.size)
                for call, *figures in zip(calls, values, *ends, strict=True)
            ]
    of_slices = {name: lists.schema[at] for name, at in zip(slices, keys(slices), strict=True)}
    found = pl.DataFrame(rows, {**of_slices, **columns}, orient="row")
    return table.give(found.with_columns(pl.col(pl.Float64).fill_nan(None)) if rows else found)


@verb(gives="whole", among=CATALOG_METRICS, labels=reads_labels)
def counts(
    table: Table[R],
    *metrics: Request,
    items: object = None,
    interactions: object = None,
    by: ColumnNames | None = None,
    unknown_items: Unknown = "error",
) -> ItemCounts:
    """The counts of items of a part of a table, such as a day, which merge by addition to catalog metrics of the whole.

    Parameters
    ----------
    *metrics, items, interactions, by, unknown_items
        As for :meth:`catalog`; the same for all parts.

    Returns
    -------
    A :class:`rankframe.results.ItemCounts`. Its ``merge`` adds the counts of other parts. Its ``catalog()`` returns the table
    that :meth:`catalog` with ``ci=None`` returns for all parts together, if each part has all rows of its users. Users
    of different parts count as different users, whatever their ids. A LazyFrame is collected first.

    Raises
    ------
    InvalidOption, InvalidData
        As for :meth:`catalog`.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> monday = pl.DataFrame({"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2.0, 1]})
    >>> tuesday = pl.DataFrame({"query_id": [2, 2], "doc_id": ["a", "c"], "score": [2.0, 1]})
    >>> found = [day.rank.items.counts("coverage@2", "gini@2", items=4) for day in (monday, tuesday)]
    >>> found = found[0].merge(found[1]).catalog()
    >>> found["metric"].to_list(), found["value"].to_list()
    (['coverage@2', 'gini@2'], [0.75, 0.375])
    """
    parts = Parts.of(table.setup, None, *metrics, by=by, ci=None, unknown_items=unknown_items)
    return ItemCounts(parts, parts.part(table.rows))


def _ends(
    recount: Recount, metrics: ItemMetrics, values: Sequence[float], resampling: Resampling, progress: Progress
) -> Sequence[Sequence[float]]:
    """The two ends of each interval; NaN for fewer than two users, empty with ``ci=None``."""
    if resampling.ci is None:
        return ()
    if recount.n < 2:
        return [[float("nan")] * len(values)] * 2
    found = resamples_of(lambda weights: recount.values(metrics, weights), recount.n, resampling, progress)
    return [ends.tolist() for ends in about(values, found, resampling.ci, metrics.calls)]
