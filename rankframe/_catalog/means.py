"""A metric's mean over the queries: plain or geometric, weighted or not, at once or in parts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import polars as pl

from .call import Call
from .registry import MeanOf

if TYPE_CHECKING:
    from .._support.floats import Floats

SUMS = {
    "n": pl.Int64(),
    "weight": pl.Float64(),
    "total": pl.Float64(),
    "mean": pl.Float64(),
    "spread": pl.Float64(),
    "center": pl.Float64(),
    "least": pl.Float64(),
    "greatest": pl.Float64(),
}
"""The sums of a part of the queries: number, weight and weighted sum of the values; their mean and
variance (`spread`); on the scale of `Mean`, their mean (`center`), and the least and greatest value
with a positive weight."""


TINY, LIFT = 2.0**-900, 2.0**600
"""Weights of which none is larger lose digits, and 1 over their sum is infinite; times a power of
two they keep their ratios."""


def lifted(weight: pl.Expr, largest: pl.Expr) -> pl.Expr:
    """The weights, times a power of two if the largest of them, or their sum, is tiny."""
    return weight * pl.when(largest < TINY).then(LIFT).otherwise(1.0)


@dataclass(frozen=True)
class Mean:
    """The mean of a metric's values over the queries, as its declaration says.

    Values are added up on a scale: as they are or, for a geometric mean, as their logarithms.
    Queries may come in parts: `add` makes the sums of a part, `merge` combines those of several
    parts, and `value` computes the mean and the standard deviation from the sums. `add` and `merge`
    share their steps, since a query is a part with one value.
    """

    summary: MeanOf

    @classmethod
    def of(cls, call: Call) -> Mean:
        """The mean of the metric; a count that clicks normalise is a share, which has no total."""
        return cls("mean" if call.weighed == "ratio" else call.metric.summary)

    @property
    def is_geometric(self) -> bool:
        """Whether values are added up as their logarithms."""
        return self.summary == "geometric mean"

    @property
    def figure(self) -> Literal["mean", "total"]:
        """The one figure that trec_eval prints for a run: the total of a count, else the mean."""
        return "total" if self.summary == "sum" else "mean"

    def scaled(self, x: pl.Expr) -> pl.Expr:
        """Values on the scale on which they are added up."""
        return x.log() if self.is_geometric else x

    def unscaled(self, x: pl.Expr) -> pl.Expr:
        """A mean on the scale, turned back into a value."""
        return x.exp() if self.is_geometric else x

    def unweighted(self, value: pl.Expr) -> pl.Expr:
        """The mean of a column with equal weights, never beyond its values by rounding."""
        x = self.scaled(value)
        mean = x.mean().clip(x.min(), x.max())
        return self.unscaled(mean)

    def over_run(self, value: pl.Expr) -> pl.Expr:
        """The one number that trec_eval prints for a column: the sum of a count, else the mean."""
        return value.sum() if self.figure == "total" else self.unweighted(value)

    def add(self, name: str, weight: pl.Expr) -> Addends:
        """The queries of a part, each with a value and a weight; a null value does not count."""
        value = pl.col(name)
        weight = pl.when(value.is_not_null()).then(weight)
        total = value * weight
        return Addends(name, value.count(), weight, total, value, None, self.scaled(value))

    @staticmethod
    def merge(name: str) -> Addends:
        """Several parts, one row of sums each."""
        n, weight, total, mean, spread, center, least, greatest = map(pl.col, SUMS)
        return Addends(name, n.sum(), weight, total, mean, spread, center, least, greatest)

    def value(self, sums: Mapping[str, pl.Expr]) -> dict[str, pl.Expr]:
        """The figures of a metric; only counts have a total.

        Null if no value has a weight, `std` also for fewer than two.
        """
        n = sums["n"]
        has_weight = sums["weight"] > 0
        variance = sums["spread"] * n / (n - 1)
        mean = self.unscaled(sums["center"])
        no_total = pl.lit(None, pl.Float64)
        return {
            "n_queries": n,
            "std": pl.when(has_weight & (n > 1)).then(variance.sqrt()),
            "total": sums["total"] if self.figure == "total" else no_total,
            "mean": pl.when(has_weight).then(mean),
        }


@dataclass(frozen=True)
class Addends:
    """Expressions over rows, queries or parts, from which `SUMS` are made in steps of plain sums.

    Plain sums stream; nested aggregations do not.
    """

    name: str
    n: pl.Expr
    weight: pl.Expr
    total: pl.Expr
    mean: pl.Expr
    spread: pl.Expr | None
    center: pl.Expr
    least: pl.Expr | None = None
    greatest: pl.Expr | None = None

    def steps(self) -> Iterator[dict[str, pl.Expr]]:
        """Columns to add: sums over the row's slice; each step uses the step before."""
        yield {f"#weights {self.name}": self.weight.sum()}
        yield {f"#mean {self.name}": self._average(self.mean)}

    def sums(self) -> dict[str, pl.Expr]:
        """The sums of a slice."""
        deviation = self.mean - pl.col(f"#mean {self.name}")
        spread = deviation**2
        if self.spread is not None:
            spread = self.spread + spread
        least = self.center if self.least is None else self.least
        greatest = self.center if self.greatest is None else self.greatest
        return {
            "n": self.n,
            "weight": self.weight.sum(),
            "total": self.total.sum(),
            "mean": self._average(self.mean),
            "spread": (self._weighing(spread) * self._share).sum(),
            "center": self._average(self.center),
            "least": self._weighing(least).min(),
            "greatest": self._weighing(greatest).max(),
        }

    @property
    def _share(self) -> pl.Expr:
        of_all = pl.col(f"#weights {self.name}")
        return lifted(self.weight, of_all) / lifted(of_all, of_all)

    def _weighing(self, x: pl.Expr) -> pl.Expr:
        """`x` in rows with a positive weight, since log 0 may have weight 0."""
        return pl.when(self.weight > 0).then(x)

    def _average(self, x: pl.Expr) -> pl.Expr:
        """The weighted mean, never beyond the values by rounding."""
        values = self._weighing(x)
        mean = (values * self._share).sum()
        return mean.clip(values.min(), values.max())


def added(values: pl.LazyFrame, calls: Sequence[Call], slices: Sequence[str]) -> pl.LazyFrame:
    """The sums of each slice of the queries, a column per sum and metric, named `sum metric`."""
    parts = {}
    for call in calls:
        weights = pl.col(call.weights)
        parts[f" {call.text}"] = Mean.of(call).add(call.text, weights)
    return _summed(values, parts, slices)


def merged(parts: pl.LazyFrame, slices: Sequence[str]) -> pl.LazyFrame:
    """Merge the parts' sums per slice, and per metric if that is one of `slices`."""
    return _summed(parts, {"": Mean.merge("#part")}, slices)


def _summed(
    rows: pl.LazyFrame, parts: Mapping[str, Addends], slices: Sequence[str]
) -> pl.LazyFrame:
    for step in zip(*(part.steps() for part in parts.values()), strict=True):
        columns = {}
        for of_part in step:
            for name, x in of_part.items():
                columns[name] = x.over(slices) if slices else x
        rows = rows.with_columns(**columns)
    sums: dict[str, pl.Expr] = {}
    for ending, part in parts.items():
        sums |= {f"{name}{ending}": x for name, x in part.sums().items()}
    if not slices:
        return rows.select(**sums)
    return rows.group_by(slices, maintain_order=True).agg(**sums)


def sums_of(call: Call) -> dict[str, pl.Expr]:
    """The columns that `added` makes for a metric."""
    return {name: pl.col(f"{name} {call.text}") for name in SUMS}


def by_metric(
    sums: pl.LazyFrame,
    columns: Sequence[Mapping[str, pl.Expr]],
    calls: Sequence[Call],
    slices: Sequence[str],
) -> pl.LazyFrame:
    """Turn a row per slice into a row per metric and slice.

    `columns` holds each metric's expressions.
    """
    cells: dict[str, pl.Expr] = {}
    for i, of_call in enumerate(columns):
        cells |= {f"#{name} {i}": x for name, x in of_call.items()}
    lists = {}
    for name in columns[0]:
        cells_of_calls = [f"#{name} {i}" for i in range(len(columns))]
        lists[name] = pl.concat_list(cells_of_calls)
    # a constant has as many rows as there are slices
    of_slices = sums.with_columns(**cells).select(*slices, **lists)
    texts = [call.text for call in calls]
    metrics = pl.LazyFrame({"metric": texts, "#call": range(len(calls))})
    # one plan for all calls
    rows = metrics.join(of_slices, how="cross", maintain_order="left_right")
    values = [pl.col(name).list.get("#call") for name in lists]
    return rows.select(*slices, "metric", *values)


def scaled(values: Floats, calls: Sequence[Call]) -> Floats:
    """The values of an array, a column per metric, on the scales of their means."""
    return _of_geometric("log", values, 1.0, calls)


def unscaled(means: Floats, calls: Sequence[Call]) -> Floats:
    """Means on the scales of an array's columns, turned back into values."""
    return _of_geometric("exp", means, 0.0, calls)


def _of_geometric(
    change: Literal["log", "exp"], x: Floats, neutral: float, calls: Sequence[Call]
) -> Floats:
    """`x` with the columns of geometric means changed."""
    import numpy as np

    is_geometric = [Mean.of(call).is_geometric for call in calls]
    changing = np.where(is_geometric, x, neutral)
    with np.errstate(divide="ignore"):
        changed = getattr(np, change)(changing)
    return np.where(is_geometric, changed, x)
