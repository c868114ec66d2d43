"""Metrics of the whole table: one row per slice and metric, with intervals over users."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

import polars as pl

from .._catalog.call import Call
from .._catalog.registry import CATALOG_METRICS
from .._catalog.requests import Request, calls_of
from .._decisions.resampling import Resampling
from .._decisions.summary import in_slices, keys
from .._plan.per_query import Frame, refuse_names
from .._support.progress import Progress
from .._table.policies import check_word
from .._table.setup import Setup
from .._verbs.declaration import verb
from ..errors import InvalidOption
from .intervals import about, resamples_of
from .lists import lists_of
from .recount import Asked, Recount, users_of
from .tables_beside import Catalog, Past

__all__ = ["Unknown", "beside", "catalog", "catalog_calls"]

Unknown: TypeAlias = Literal["error", "drop"]

TABLE = {
    "metric": pl.String(),
    "value": pl.Float64(),
    "ci_low": pl.Float64(),
    "ci_high": pl.Float64(),
    "n_queries": pl.UInt32(),
    "n_items": pl.Int64(),
}


def beside(
    items: Any, interactions: Any, unknown_items: Unknown, setup: Setup, schema: pl.Schema
) -> tuple[Catalog, Past | None]:
    """The catalog and the past interactions that a caller gives beside the table, checked."""
    check_word("unknown_items", unknown_items, Unknown)
    return Catalog.of(items, unknown_items == "drop", setup, schema), Past.of(interactions, setup, schema)


def catalog_calls(requests: Sequence[Request | Call], example: str) -> list[Call]:
    """The catalog metrics that are named."""
    calls = calls_of(*requests, example=example, among=CATALOG_METRICS)
    for call in calls:
        if call.relevant is not None:
            raise InvalidOption(f"{call.text} looks at no labels; leave relevant= out")
    return calls


@verb(gives="table", reads=["by"], labels=False)
def catalog(
    frame: Frame,
    setup: Setup,
    by: Sequence[str],
    items: Any,
    interactions: Any,
    unknown_items: Unknown,
    resampling: Resampling,
    *requests: Request | Call,
) -> Frame:
    """One row per slice and metric: its value, an interval, and the numbers of users and of items in the catalog."""
    calls = catalog_calls(requests, "catalog('coverage@10', items=...)")
    refuse_names([*TABLE], by, "by")
    schema = frame.collect_schema()
    of_items, past = beside(items, interactions, unknown_items, setup, schema)
    asked = Asked(tuple(calls), of_items.size, past is not None)
    counted = asked.counted  # raises what a metric lacks before anything runs
    lists = lists_of(frame, setup, by)
    columns = {name: dtype for name, dtype in TABLE.items() if resampling.ci is not None or not name.startswith("ci_")}

    def measured(lists: pl.DataFrame) -> pl.DataFrame:
        rows: list[tuple[Any, ...]] = []
        slices = in_slices(of_items.within(lists), by)
        with Progress("resampling users", resampling.progress) as progress:
            for part in slices:
                users = users_of(part, setup.roles.query)
                recount = Recount(part, setup.roles.query, users, counted, past)
                values = recount.plain(asked)
                ends = _ends(recount, asked, values, resampling, progress)
                where = part.select(keys(by)).row(0) if by else ()
                rows += [
                    (*where, call.text, *figures, users.height, of_items.size)
                    for call, *figures in zip(calls, values, *ends, strict=True)
                ]
        of_slices = {name: lists.schema[at] for name, at in zip(by, keys(by), strict=True)}
        found = pl.DataFrame(rows, {**of_slices, **columns}, orient="row")
        return found.with_columns(pl.col(pl.Float64).fill_nan(None)) if rows else found

    if isinstance(lists, pl.DataFrame):
        return measured(lists)
    return lists.map_batches(
        measured,
        predicate_pushdown=False,
        projection_pushdown=False,
        slice_pushdown=False,
        schema={**{name: schema[name] for name in by}, **columns},
    )


def _ends(
    recount: Recount, asked: Asked, values: Sequence[float], resampling: Resampling, progress: Progress
) -> Sequence[Sequence[float]]:
    """The two ends of each interval; NaN for fewer than two users, nothing with ``ci=None``."""
    if resampling.ci is None:
        return ()
    if recount.n < 2:
        return [[float("nan")] * len(values)] * 2
    found = resamples_of(lambda weights: recount.values(asked, weights), recount.n, resampling, progress)
    return [ends.tolist() for ends in about(values, found, resampling.ci, asked.calls)]
