"""Summaries of the values of all queries: one row per slice and metric."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import polars as pl

from .._catalog.call import Call
from .._catalog.means import Mean, added, by_metric, sums_of
from .._catalog.requests import Request, averaged
from .._plan.per_query import Frame, measure, refuse_names, table_of
from .._table.columns import NO_WEIGHT, failing, is_weight
from .._table.roles import require, require_number
from .._table.setup import Setup, refuse_bounds
from ..errors import InvalidOption
from .resampling import Resampling, intervals_of, warn_of_t


def summarize(
    frame: Frame,
    setup: Setup,
    by: Sequence[str],
    weights: str | None,
    resampling: Resampling,
    *requests: Request | Call,
) -> Frame:
    """One row per slice and metric: mean, standard deviation, interval, number of queries that count, and total."""
    calls = averaged(requests, "summarize('ndcg@10', 'map')")
    refuse_bounds(setup)
    refuse_names(("metric", *FIGURES), by, "by")
    eager = isinstance(frame, pl.DataFrame)
    order: Literal["left", "none"] = "left" if eager else "none"
    values = measure(frame, setup, *calls).lazy()
    if by or weights is not None:
        slices = by_query(frame, setup.roles.query, by, weights)
        values = values.join(slices, on=setup.roles.query, nulls_equal=True, maintain_order=order)
    else:
        values = values.with_columns(pl.lit(1.0).alias("#weight"))
    if resampling.ci is None:
        return table_of(frame, _summed(values, calls, by, ordered=eager), setup, "summarize")

    def with_intervals(per_query: pl.DataFrame) -> pl.DataFrame:
        summed = _summed(per_query.lazy(), calls, by, ordered=True).collect(engine="in-memory")
        found = intervals_of(in_slices(per_query, by), setup.roles.query, calls, resampling)
        table = summed.with_columns(found).select(*by, "metric", *FIGURES)
        warn_of_t(table, resampling)
        return table

    of_slices = {name: frame.collect_schema()[name] for name in by}
    schema = {**of_slices, "metric": pl.String, **FIGURES}
    return table_of(frame, values, setup, "summarize", with_intervals, schema)


FIGURES = {
    "n_queries": pl.UInt32,
    "std": pl.Float64,
    "total": pl.Float64,
    "mean": pl.Float64,
    "ci_low": pl.Float64,
    "ci_high": pl.Float64,
    "interval": pl.String,
}
"""The columns beside the slices and the metric: mean and interval last, since a wide frame prints its first and last columns."""


OWN = ("#weight", "#row", "#there")
"""The plans' names of other columns beside the query columns."""


def keys(by: Sequence[str]) -> list[str]:
    """The plans' names of the slices' columns, which no other column has."""
    return [f"#by{i}" for i in range(len(by))]


def by_query(frame: Frame, query: Sequence[str], by: Sequence[str], weights: str | None) -> pl.LazyFrame:
    """One row per query: the query, its slices, and its weight; a query with several values of either is an error.

    Nulls are ignored, since `judge` adds missed documents without these values.
    """
    schema = frame.collect_schema()
    for name in query:
        if name in (*keys(by), *OWN):
            raise InvalidOption(f"column {name!r} has a name of the plan's own; rename it")
    for name in by:
        require(schema, name, "by")
    if weights is not None:
        require(schema, weights, "weights")
        require_number(schema, weights, "weights")
    named = [*by, *([] if weights is None else [weights])]
    one = {name: pl.col(name).drop_nulls() for name in named}
    grouped = frame.lazy().group_by(query, maintain_order=isinstance(frame, pl.DataFrame))
    found = grouped.agg(  # plain aggregations stream; faults are derived below
        *(one[name].first().alias(at) for name, at in zip(by, keys(by), strict=True)),
        *(x.n_unique().alias(f"#different {name}") for name, x in one.items()),
        *([] if weights is None else [one[weights].first().alias("#weight")]),
    )
    several = "a query has several values of {!r}; name a column that has one value in all rows of a query"
    faults = [(pl.col(f"#different {name}") > 1, several.format(name)) for name in one]
    weight = pl.lit(1.0)
    if weights is not None:
        weight = pl.col("#weight").cast(pl.Float64)
        faults.append((~is_weight(weight), f"a query's weight, {weights!r}, is {NO_WEIGHT}"))
    weight = pl.coalesce(failing(faults), weight) if faults else weight
    return found.select(*query, *keys(by), weight.alias("#weight"))


def in_slices(per_query: pl.DataFrame, by: Sequence[str]) -> list[pl.DataFrame]:
    """The queries of each slice, slices in order of appearance."""
    return per_query.partition_by(keys(by), maintain_order=True) if by else [per_query]


def _summed(values: pl.LazyFrame, calls: Sequence[Call], by: Sequence[str], *, ordered: bool) -> pl.LazyFrame:
    """The figures per slice, from plain sums, which stream."""
    slices = keys(by)
    sums = added(values, calls, slices, ordered=ordered)
    figures = [Mean.of(call).value(sums_of(call)) for call in calls]
    rows = by_metric(sums, figures, calls, slices, ordered=ordered)
    return rows.rename(dict(zip(slices, by, strict=True)))
