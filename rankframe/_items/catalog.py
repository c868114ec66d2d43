"""Metrics of the whole table: one row per slice and metric, with intervals over users."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from .._catalog.call import Call
from .._catalog.registry import CATALOG_METRICS
from .._catalog.requests import Request, calls_of
from .._decisions.resampling import Resampling
from .._decisions.summary import in_slices, keys
from .._plan.per_query import Frame, refuse_names
from .._support.progress import Progress
from .._table.setup import Setup
from .._verbs.declaration import verb
from ..errors import InvalidOption, RankframeError, option
from .catalog_and_past import Unknown, catalog_and_past
from .intervals import about, resamples_of
from .lists import at_once, lists_of
from .parts import TABLE, WITHOUT_INTERVALS, ItemCounts, Parts
from .recount import ItemMetrics, Recount, users_of


def catalog_calls(requests: Sequence[Request | Call], setup: Setup, example: str) -> list[Call]:
    """The catalog metrics that are named, with the options of the convention."""
    calls = calls_of(*requests, example=example, among=CATALOG_METRICS)
    return list(dict.fromkeys(setup.resolve(call)[1] for call in calls))


def reads_labels(requests: Sequence[Request | Call]) -> bool:
    """Whether one of the catalog metrics reads labels; False for a request that names none, which is refused elsewhere."""
    try:
        return any(call.labels for call in calls_of(*requests, among=CATALOG_METRICS))
    except RankframeError:
        return False


def in_parts(
    setup: Setup,
    largest_label: float | None,
    by: Sequence[str],
    unknown_items: Unknown,
    resampling: Resampling,
    *requests: Request | Call,
) -> Parts:
    """The table of a call of `catalog`, to compute part by part."""
    if resampling.ci is not None:
        raise InvalidOption(
            "an interval draws users of the whole table, of which each worker has a part; say ", option(ci=None)
        )
    calls = catalog_calls(requests, setup, "catalog('coverage@10', items=...)")
    refuse_names([*TABLE], by, "by")
    return Parts(tuple(calls), setup, tuple(by), unknown_items)


@verb(gives="table", reads=["by"], labels=reads_labels, in_parts=in_parts)
def catalog(
    frame: Frame,
    setup: Setup,
    by: Sequence[str],
    unknown_items: Unknown,
    resampling: Resampling,
    *requests: Request | Call,
) -> Frame:
    """One row per slice and metric: its value, an interval, and the numbers of users and of items in the catalog."""
    if isinstance(frame, pl.LazyFrame):
        return at_once(catalog, frame, setup, by, unknown_items, resampling, *requests)
    calls = catalog_calls(requests, setup, "catalog('coverage@10', items=...)")
    refuse_names([*TABLE], by, "by")
    metrics = ItemMetrics(tuple(calls), catalog_and_past(setup, frame.schema, unknown_items), setup.policies.relevant)
    lists = lists_of(frame, setup, by, metrics.columns)  # refuses a metric that lacks a table before anything runs
    columns = WITHOUT_INTERVALS if resampling.ci is None else TABLE
    rows: list[tuple[object, ...]] = []
    slices = in_slices(metrics.known.catalog.within(lists), by)
    with Progress("resampling users", resampling.progress) as progress:
        for part in slices:
            users = users_of(part, setup.roles.query)
            recount = Recount(part, setup.roles.query, users, metrics)
            values = recount.plain(metrics)
            ends = _ends(recount, metrics, values, resampling, progress)
            where = part.select(keys(by)).row(0) if by else ()
            rows += [
                (*where, call.text, *figures, users.height, metrics.size)
                for call, *figures in zip(calls, values, *ends, strict=True)
            ]
    of_slices = {name: lists.schema[at] for name, at in zip(by, keys(by), strict=True)}
    found = pl.DataFrame(rows, {**of_slices, **columns}, orient="row")
    return found.with_columns(pl.col(pl.Float64).fill_nan(None)) if rows else found


def item_counts(
    frame: pl.DataFrame,
    setup: Setup,
    by: Sequence[str],
    unknown_items: Unknown,
    *requests: Request | Call,
) -> ItemCounts:
    """The sums of a part of a table, for catalog metrics of the whole."""
    calls = catalog_calls(requests, setup, "item_counts('coverage@10', items=...)")
    refuse_names([*TABLE], by, "by")
    parts = Parts(tuple(calls), setup, tuple(by), unknown_items)
    return ItemCounts(parts, parts.part(frame))


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
