"""Means, deviations and bootstrap intervals of a table in parts: the figures of each part, and how they merge.

A part holds whole queries. For each metric it gives the sums `means.SUMS` (among them weight, mean and spread), which merge
exactly (Chan, Golub, LeVeque, 1979); and for each bootstrap replicate the sum and the weight of its draws. Without weights,
each query weighs 1. The number of times that a replicate draws a query is Poisson(1) distributed and derived from the
query's id and the seed, so that it is the same in any part. A part with few different values also gives these, so that
the interval of few queries is one that holds for few.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import polars as pl

from .._catalog.call import Call
from .._catalog.means import SUMS, Mean, added, by_metric, merged, scaled, sums_of, unscaled
from .._catalog.requests import Request, averaged
from .._plan.per_query import Frame, collect, measure, refuse_names, table_of
from .._support.progress import Progress
from .._support.statistical_options import FEW
from .._table.roles import require
from .._table.setup import Setup, refuse_bounds
from .._verbs.declaration import verb
from .resampling import SummaryInterval, SummaryResampling, limits
from .summary import by_query, keys
from .summary import summarize as summarize_at_once

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LISTS = ("draws", "sums", "values", "weights", "counts")

PARTIAL = {"metric": pl.String(), **SUMS, **dict.fromkeys(LISTS, pl.List(pl.Float64))}
"""The figures of a part for a slice and a metric: its sums; per resample the weight and the sum of its draws; and its different
pairs of value and weight with their counts, null for more than `FEW`."""

FIGURES = {
    "metric": pl.String(),
    "n_queries": pl.UInt32(),
    "std": pl.Float64(),
    "total": pl.Float64(),
    "mean": pl.Float64(),
    "ci_low": pl.Float64(),
    "ci_high": pl.Float64(),
    "interval": pl.String(),
}
OF_INTERVALS = ("ci_low", "ci_high", "interval")
"""The figures that are left out with ``ci=None``."""

AT_ONCE = 4_000_000
"""The most draws in memory at a time."""

GOLDEN = 0x9E3779B97F4A7C15
"""The step of SplitMix64: 2^64 over the golden ratio, made odd."""


@dataclass(frozen=True)
class Summary:
    """A summary to compute in parts: its metrics, slices and bootstrap.

    Attributes
    ----------
    calls
        The metrics.
    setup
        The roles of columns, and the policies.
    by
        The columns whose values slice the queries.
    resampling
        The confidence, the resamples and the seed; ``"poisson"`` for the Poisson bootstrap also of few queries.
    weights
        The column of the queries' weights.
    largest_label
        The largest label of the whole table, if it is known.
    """

    calls: tuple[Call, ...]
    setup: Setup
    by: tuple[str, ...]
    resampling: SummaryResampling
    weights: str | None = None
    largest_label: float | None = None

    @property
    def slices(self) -> Mapping[str, str]:
        """The columns of the slices, by their names in the figures of parts."""
        return dict(zip(keys(self.by), self.by, strict=True))

    @property
    def names(self) -> set[str]:
        """The columns to read besides columns with a role."""
        named = [name for call in self.calls for name in call.columns]
        return {*named, *self.by, *([] if self.weights is None else [self.weights])}

    @property
    def key(self) -> list[str]:
        """The key columns by which the figures of parts merge."""
        return [*self.slices, "metric"]

    @property
    def figures(self) -> Mapping[str, pl.DataType]:
        """The columns of the summary without the slices."""
        return {
            name: dtype for name, dtype in FIGURES.items() if self.resampling.ci is not None or name not in OF_INTERVALS
        }

    def require(self, names: Iterable[str]) -> None:
        """Refuse a table that lacks the column of a slice or of the weights."""
        there = list(names)
        for name in self.by:
            require(there, name, "by")
        if self.weights is not None:
            require(there, self.weights, "weights")

    def part(self, frame: pl.DataFrame) -> pl.DataFrame:
        """The figures of a part of the table, which holds whole queries, per slice and metric."""
        return self._part(collect(self.per_query(frame), frame, self.setup))

    def per_query(self, frame: Frame) -> pl.LazyFrame:
        """The values of each query, its slices and its weight."""
        self.require(frame.collect_schema())
        values = measure(frame, self.setup, *self.calls, largest_label=self.largest_label).lazy()
        slices = by_query(frame, self.setup.roles.query, self.by, self.weights)
        return values.join(slices, on=self.setup.roles.query, nulls_equal=True, maintain_order="left")

    def at_once(self, per_query: pl.DataFrame) -> pl.DataFrame:
        """The summary, from the values of all queries."""
        return self.merge(self._part(per_query))

    def _part(self, per_query: pl.DataFrame) -> pl.DataFrame:
        slices = list(self.slices)
        sums = by_metric(
            added(per_query.lazy(), self.calls, slices, ordered=True),
            [sums_of(call) for call in self.calls],
            self.calls,
            slices,
            ordered=True,
        )
        draws = self._draws(per_query)
        found = draws.lazy().join(sums, on=self.key, nulls_equal=True, maintain_order="left")
        return found.select(*slices, *(pl.col(name).cast(dtype) for name, dtype in PARTIAL.items())).collect()

    def _draws(self, per_query: pl.DataFrame) -> pl.DataFrame:
        """A row per slice and metric: for each resample, the weight and the sum of its drawn queries; its different values."""
        slices = list(self.slices)
        dtypes = {at: per_query.schema[at] for at in slices} | {name: PARTIAL[name] for name in ("metric", *LISTS)}
        found = []
        for queries in per_query.partition_by(slices, maintain_order=True) if self.by else [per_query]:
            where = queries.select(slices).row(0) if self.by else ()
            drawn = [x.T.tolist() for x in self._drawn(queries)]
            found += [
                (*where, call.text, *row, *_different(queries, call.text))
                for call, *row in zip(self.calls, *drawn, strict=True)
            ]
        return pl.DataFrame(found, dtypes, orient="row")

    def _drawn(self, queries: pl.DataFrame) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The weights and the sums of the resamples of a slice: resamples by metrics."""
        import numpy as np

        values = queries.select(call.text for call in self.calls).to_numpy().astype(float)
        weights = queries["#weight"].to_numpy()[:, None]
        counts = ~np.isnan(values)
        on_scale = np.where(counts, scaled(values, self.calls), 0.0)
        weighed = np.where(weights > 0, on_scale, 0.0) * weights  # log 0 times the weight 0 would be NaN
        resamples = 0 if self.resampling.ci is None else self.resampling.resamples
        draws = np.zeros((resamples, len(self.calls)))
        sums = np.zeros_like(draws)
        seeds = _seeds(queries, self.setup.roles.query, self.resampling.seed)
        step = max(1, AT_ONCE // max(1, resamples))
        for start in range(0, len(queries), step):
            some = slice(start, start + step)
            drawn = _poisson(seeds[some], resamples)
            draws += drawn @ (counts * weights)[some]
            sums += _product(drawn, weighed[some])
        return draws, sums

    def merge(self, parts: pl.DataFrame) -> pl.DataFrame:
        """Merge the figures of parts: one row per slice and metric."""
        sums = merged(parts.lazy(), self.key).collect()
        calls = {call.text: call for call in self.calls}
        ends = [
            self._interval(calls[row["metric"]], row, found)
            for row, found in zip(sums.to_dicts(), parts.partition_by(self.key, maintain_order=True), strict=True)
        ]
        names = {name: pl.col(name) for name in SUMS}
        figures = [
            pl.when(metric=text).then(pl.struct([x.alias(name) for name, x in Mean.of(call).value(names).items()]))
            for text, call in calls.items()
        ]
        return (
            sums.with_columns(pl.DataFrame(ends, {name: FIGURES[name] for name in OF_INTERVALS}, orient="row"))
            .with_columns(pl.coalesce(figures).struct.unnest())
            .rename(dict(self.slices))
            .select(*self.by, *(pl.col(name).cast(dtype) for name, dtype in self.figures.items()))
        )

    def _interval(
        self, call: Call, sums: Mapping[str, Any], parts: pl.DataFrame
    ) -> tuple[float | None, float | None, str | None]:
        """The interval of the mean and its kind; none for fewer than two values, or without a weight."""
        import numpy as np

        ci = self.resampling.ci
        if ci is None or sums["n"] < 2 or not sums["weight"]:
            return None, None, None
        if self.resampling.interval != "poisson" and not parts["values"].has_nulls():
            low, high, kind = self._of_values(call, parts)
            if kind != "bca":
                return low, high, kind
        weights, totals = (np.sum(parts[name].to_list(), axis=0) for name in ("draws", "sums"))
        means = np.clip(totals[weights > 0] / weights[weights > 0], sums["least"], sums["greatest"])
        low, high = np.quantile(unscaled(means[:, None], [call])[:, 0], [(1 - ci) / 2, (1 + ci) / 2])
        return float(low), float(high), "poisson"

    def _of_values(self, call: Call, parts: pl.DataFrame) -> tuple[float | None, float | None, str | None]:
        """The interval that ``"auto"`` takes for values of which few differ, and its kind."""
        import numpy as np

        different = (
            parts.select("values", "weights", "counts")
            .explode("values", "weights", "counts")
            .drop_nulls()
            .sort(pl.all())
        )
        counts = different["counts"].to_numpy().astype(int)
        values, weights = (np.repeat(different[name].to_numpy(), counts) for name in ("values", "weights"))
        resampling, progress = replace(self.resampling, interval="auto"), Progress("", False)
        within = limits(values[:, None], [call])
        low, high, (kind,) = resampling.intervals(scaled(values[:, None], [call]), weights, within, progress)
        ends = unscaled(np.stack([low, high]), [call])[:, 0]
        return (None, None, None) if kind is None else (float(ends[0]), float(ends[1]), kind)


def _different(queries: pl.DataFrame, metric: str) -> tuple[list[float] | None, ...]:
    """The different pairs of value and weight, and the counts of both; None for more than `FEW`."""
    there = queries.select(values=metric, weights="#weight").drop_nulls().filter(pl.col("weights") > 0)
    found = there.cast(pl.Float64).group_by(pl.all()).agg(counts=pl.len())
    return tuple(x.to_list() if len(x) <= FEW else None for x in found)


def summary_of(
    setup: Setup,
    metrics: Sequence[Request | Call],
    by: str | Sequence[str] | None,
    *,
    ci: float | None = 0.95,
    interval: SummaryInterval = "auto",
    resamples: int = 10_000,
    seed: int = 0,
    weights: str | None = None,
    largest_label: float | None = None,
) -> Summary:
    """The summary of metrics under an existing setup, with its options checked."""
    calls = averaged(metrics, "summarize('ndcg@10', 'map')")
    refuse_bounds(setup)
    resampling = SummaryResampling(ci, interval, resamples, seed, progress=False)
    slices = (by,) if isinstance(by, str) else tuple(by or ())
    refuse_names(list(FIGURES), slices, "by")
    return Summary(tuple(calls), setup, slices, resampling, weights, largest_label)


def in_parts(
    setup: Setup,
    largest_label: float | None,
    by: Sequence[str],
    weights: str | None,
    resampling: SummaryResampling,
    *requests: Request | Call,
) -> Summary:
    """The summary of a call of `summarize`, to compute part by part."""
    given = {name: x for name, x in asdict(resampling).items() if name != "progress"}
    return summary_of(setup, requests, tuple(by), **given, weights=weights, largest_label=largest_label)


@verb(gives="table", reads=["by", "weights"], watched=True, in_parts=in_parts)
def summarize(
    frame: Frame,
    setup: Setup,
    by: Sequence[str],
    weights: str | None,
    resampling: SummaryResampling,
    *requests: Request | Call,
) -> Frame:
    """One row per slice and metric; `summary.summarize` computes all intervals but the Poisson bootstrap's."""
    if resampling.interval != "poisson" or resampling.ci is None:
        return summarize_at_once(frame, setup, by, weights, resampling, *requests)
    summary = in_parts(setup, None, by, weights, resampling, *requests)

    schema = {**{name: frame.collect_schema()[name] for name in by}, **FIGURES}
    return table_of(frame, summary.per_query(frame), setup, "summarize", summary.at_once, schema)


def _product(drawn: NDArray[Any], added: NDArray[Any]) -> NDArray[np.float64]:
    """The sums of each replicate; a query drawn 0 times adds 0, even if its value is log 0."""
    import numpy as np

    finite = np.isfinite(added)
    product: NDArray[np.float64] = drawn @ np.where(finite, added, 0.0)
    product[drawn @ ~finite > 0] = -np.inf
    return product


def _seeds(queries: pl.DataFrame, query: Sequence[str], seed: int) -> NDArray[np.uint64]:
    """A number for each query, derived from its id as text and the seed."""
    import numpy as np
    import pandas as pd

    texts = queries.select(
        pl.concat_str([pl.col(name).cast(pl.String).fill_null("\0") for name in query], separator="\x1f").alias("text")
    )["text"]
    hashed: NDArray[np.uint64] = pd.util.hash_array(texts.to_numpy().astype(object), categorize=False)
    return _mixed(hashed + np.uint64(GOLDEN * (seed + 1) % 2**64))


def _mixed(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finalizer of SplitMix64 (Steele, Lea, Flood, 2014)."""
    import numpy as np

    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def _poisson(seeds: NDArray[np.uint64], resamples: int) -> NDArray[np.float64]:
    """How often each replicate draws each query: a row per replicate."""
    import numpy as np

    steps = (np.arange(1, resamples + 1, dtype=np.uint64) * np.uint64(GOLDEN))[:, None]
    uniform = (_mixed(seeds + steps) >> np.uint64(11)) * 2.0**-53
    below = np.cumsum([math.exp(-1) / math.factorial(k) for k in range(18)])
    return np.searchsorted(below, uniform, side="right").astype(float)
