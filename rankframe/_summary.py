"""The values of all queries summed up: one row per slice of the queries, and per metric."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import polars as pl

from . import _verbs
from ._call import Call, call_of
from ._measure import Frame, like, measure
from ._parse import parse
from ._policies import Columns
from ._registry import of
from ._table import failing, require
from .errors import InvalidOption

__all__ = ["summarize"]


def summarize(
    frame: Frame, columns: Columns, by: Sequence[str], weights: str | None, *requests: _verbs.Request
) -> Frame:
    """One row per slice and metric: mean, standard deviation, total and number of queries that count."""
    calls = _calls(requests)
    if columns.unjudged == "bounds":
        raise InvalidOption("unjudged='bounds' gives each metric two columns; evaluate them, and sum up each")
    schema = frame.collect_schema()
    for name in by:
        require(schema, name, "by")
    if weights is not None:
        require(schema, weights, "weights")
    key = {name: f"#by{i}" for i, name in enumerate(by)}
    weight = pl.lit(1.0) if weights is None else pl.col(weights).cast(pl.Float64).first()
    faults = [
        (pl.col(name).n_unique() > 1, f"a query has several values of {name!r}, which is to be one for all its rows")
        for name in (*by, *([] if weights is None else [weights]))
    ]
    if weights is not None:
        fit = (weight.is_finite() & (weight >= 0)).fill_null(False)
        faults.append((~fit, f"a query's weight, {weights!r}, is null, negative, infinite or NaN"))
    if faults:
        weight = pl.coalesce(failing(faults), weight)
    slices = (
        frame.lazy()
        .group_by(columns.query)
        .agg(*(pl.col(name).first().alias(at) for name, at in key.items()), weight.alias("#weight"))
    )
    eager = isinstance(frame, pl.DataFrame)
    order: Literal["left", "none"] = "left" if eager else "none"
    values = measure(frame, columns, *calls).lazy()
    values = values.join(slices, on=columns.query, nulls_equal=True, maintain_order=order)
    figures = {f"{name} {call.text}": x for call in calls for name, x in _figures(call).items()}
    if by:
        summed = values.group_by(list(key.values()), maintain_order=eager).agg(**figures)
    else:
        summed = values.select(**figures)
    rows = [
        summed.select(
            *(pl.col(at).alias(name) for name, at in key.items()),
            pl.lit(call.text).alias("metric"),
            *(pl.col(f"{name} {call.text}").alias(name) for name in FIGURES),
        )
        for call in calls
    ]
    return like(frame, pl.concat(rows), columns)


FIGURES = ("mean", "std", "total", "n_queries")


def _figures(call: Call) -> dict[str, pl.Expr]:
    """What sums up a metric's column; queries whose value is null do not count."""
    value = pl.col(call.text)
    weight = pl.when(value.is_not_null()).then(pl.col("#weight"))
    share = weight / weight.sum()
    logarithmic = call.metric.summary == "geometric mean"
    mean = (value.log() * share).sum().exp() if logarithmic else (value * share).sum()
    n = value.count()
    spread = (((value - (value * share).sum()) ** 2 * share).sum() * n / (n - 1)).sqrt()
    return {
        "mean": pl.when(weight.sum() > 0).then(mean),
        "std": pl.when((weight.sum() > 0) & (n > 1)).then(spread),
        "total": (value * weight).sum(),
        "n_queries": n,
    }


def _calls(requests: Sequence[_verbs.Request]) -> list[Call]:
    calls: list[Call] = []
    for request in requests:
        if isinstance(request, pl.Expr):
            raise InvalidOption("an expression has no name among the metrics; evaluate it, and sum its column up")
        calls += [call_of(of(request), (), {})] if callable(request) else parse(request)
    if not calls:
        raise InvalidOption("no metric given; name at least one, as in df.rank.summarize('ndcg@10', 'map')")
    for call in calls:
        if call.metric.dtype != pl.Float64:
            raise InvalidOption(f"{call.text} is {call.metric.dtype}, which has no mean; evaluate it instead")
    return list(dict.fromkeys(calls))
