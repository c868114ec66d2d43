"""The values of all queries summed up: one row per slice of the queries, and per metric."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import polars as pl

from .._catalog.call import Call, call_of
from .._catalog.parse import parse
from .._catalog.registry import of
from .._plan.per_query import Frame, like, measure, refuse_names, refuse_texts
from .._table.roles import require, require_number
from .._table.setup import Setup
from .._table.table import NO_WEIGHT, failing, is_weight
from .._verbs import verbs
from ..errors import InvalidOption, asked_as, option
from .resampling import Resampling, intervals_of

__all__ = ["by_query", "calls_of", "in_slices", "keys", "refuse_bounds", "summarize"]


def summarize(
    frame: Frame,
    setup: Setup,
    by: Sequence[str],
    weights: str | None,
    resampling: Resampling,
    *requests: verbs.Request,
) -> Frame:
    """One row per slice and metric: mean, standard deviation, interval, number of queries that count, and total."""
    calls = calls_of(requests, "summarize('ndcg@10', 'map')")
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
        return like(frame, _summed(values, calls, by, ordered=eager), setup)

    def with_intervals(per_query: pl.DataFrame) -> pl.DataFrame:
        summed = _summed(per_query.lazy(), calls, by, ordered=True).collect(engine="in-memory")
        found = intervals_of(in_slices(per_query, by), setup.roles.query, calls, resampling)
        bounds = [pl.Series(name, x, pl.Float64).fill_nan(None) for name, x in found.items()]
        return summed.with_columns(bounds).select(*by, "metric", *FIGURES)

    per_query = like(frame, values, setup)
    if isinstance(per_query, pl.DataFrame):
        return with_intervals(per_query)
    of_slices = {name: frame.collect_schema()[name] for name in by}
    return per_query.map_batches(
        with_intervals,
        predicate_pushdown=False,
        projection_pushdown=False,
        slice_pushdown=False,
        schema={**of_slices, "metric": pl.String, **FIGURES},
    )


FIGURES = {
    "mean": pl.Float64,
    "std": pl.Float64,
    "ci_low": pl.Float64,
    "ci_high": pl.Float64,
    "n_queries": pl.UInt32,
    "total": pl.Float64,
}


OWN = ("#weight", "#row", "#there")
"""The plans' names of columns that stand beside those of the query."""


def keys(by: Sequence[str]) -> list[str]:
    """The plans' names of the slices' columns, which no other column has."""
    return [f"#by{i}" for i in range(len(by))]


def by_query(
    frame: Frame, query: Sequence[str], by: Sequence[str], weights: str | None, *, missing: bool = False
) -> pl.LazyFrame:
    """One row per query: the query, its slices, and its weight; a query that has several of either is an error.

    With `missing`, rows may lack what other rows of their query have.
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
    one = {name: pl.col(name).drop_nulls() if missing else pl.col(name) for name in named}
    grouped = frame.lazy().group_by(query, maintain_order=isinstance(frame, pl.DataFrame))
    found = grouped.agg(  # plain aggregations, which stream; what they say comes after
        *(one[name].first().alias(at) for name, at in zip(by, keys(by), strict=True)),
        *(x.n_unique().alias(f"#different {name}") for name, x in one.items()),
        *([] if weights is None else [one[weights].first().alias("#weight")]),
    )
    several = "a query has several values of {!r}, which is to be one for all its rows"
    faults = [(pl.col(f"#different {name}") > 1, several.format(name)) for name in one]
    weight = pl.lit(1.0)
    if weights is not None:
        weight = pl.col("#weight").cast(pl.Float64)
        faults.append((~is_weight(weight), f"a query's weight, {weights!r}, is {NO_WEIGHT}"))
    weight = pl.coalesce(failing(faults), weight) if faults else weight
    return found.select(*query, *keys(by), weight.alias("#weight"))


def in_slices(per_query: pl.DataFrame, by: Sequence[str]) -> list[pl.DataFrame]:
    """The queries of each slice, slices as first seen."""
    return per_query.partition_by(keys(by), maintain_order=True) if by else [per_query]


def _summed(values: pl.LazyFrame, calls: Sequence[Call], by: Sequence[str], *, ordered: bool) -> pl.LazyFrame:
    """The figures by slice, in steps of plain sums, which stream: weights, means, and then the distances from them."""
    slices = keys(by)
    for step in (_weights, _centers):
        values = values.with_columns(
            **{name: x.over(slices) if by else x for call in calls for name, x in step(call).items()}
        )
    sums = {f"{name} {call.text}": x for call in calls for name, x in _sums(call).items()}
    summed = values.group_by(slices, maintain_order=ordered).agg(**sums) if by else values.select(**sums)
    figures = [_figures(call) for call in calls]
    lists = {name: pl.concat_list(x[name] for x in figures) for name in figures[0]}
    named = pl.LazyFrame({"metric": [call.text for call in calls], "#call": range(len(calls))})
    order: Literal["left_right", "none"] = "left_right" if ordered else "none"
    rows = named.join(summed.select(*slices, **lists), how="cross", maintain_order=order)  # however many, one plan
    of_slices = (pl.col(at).alias(name) for name, at in zip(by, slices, strict=True))
    return rows.select(*of_slices, "metric", *(pl.col(name).list.get("#call") for name in lists))


def _weight(call: Call) -> pl.Expr:
    """A query's weight; null where its value is, so that it does not count."""
    return pl.when(pl.col(call.text).is_not_null()).then(pl.col("#weight"))


def _weights(call: Call) -> dict[str, pl.Expr]:
    return {f"#weights {call.text}": _weight(call).sum()}


def _share(call: Call) -> pl.Expr:
    return _weight(call) / pl.col(f"#weights {call.text}")


def _mean(value: pl.Expr, call: Call) -> pl.Expr:
    """The weighted mean of the queries' values, never beyond them by rounding."""
    weighing = pl.when(_weight(call) > 0).then(value)  # the logarithm of 0 may weigh nothing
    return (weighing * _share(call)).sum().clip(weighing.min(), weighing.max())


def _centers(call: Call) -> dict[str, pl.Expr]:
    return {f"#center {call.text}": _mean(pl.col(call.text), call)}


def _sums(call: Call) -> dict[str, pl.Expr]:
    value, share = pl.col(call.text), _share(call)
    return {
        "weights": _weight(call).sum(),
        "mean": _mean(value.log() if call.metric.summary == "geometric mean" else value, call),
        "spread": ((value - pl.col(f"#center {call.text}")) ** 2 * share).sum(),
        "n_queries": value.count(),
        "total": (value * _weight(call)).sum(),
    }


def _figures(call: Call) -> dict[str, pl.Expr]:
    """What sums up a metric's column, made of its sums."""
    weights, mean, spread, n, total = (pl.col(f"{name} {call.text}") for name in _sums(call))
    mean = mean.exp() if call.metric.summary == "geometric mean" else mean
    return {
        "mean": pl.when(weights > 0).then(mean),
        "std": pl.when((weights > 0) & (n > 1)).then((spread * n / (n - 1)).sqrt()),
        "n_queries": n,
        "total": total,
    }


def calls_of(requests: Sequence[verbs.Request], example: str) -> list[Call]:
    """The metrics that were asked for, each once; all of them have a mean."""
    calls: list[Call] = []
    for request in requests:
        if isinstance(request, pl.Expr):
            raise InvalidOption("an expression has no name among the metrics; evaluate it, and sum its column up")
        calls += [call_of(of(request), (), {})] if callable(request) else parse(request)
    if not calls:
        raise InvalidOption("no metric given; name at least one, as in ", asked_as(example))
    refuse_texts(calls)
    return list(dict.fromkeys(calls))


def refuse_bounds(setup: Setup) -> None:
    """Refuse a policy that gives each metric two columns."""
    if setup.policies.unjudged == "bounds":
        raise InvalidOption(option(unjudged="bounds"), " gives each metric two columns; evaluate them, and sum up each")
