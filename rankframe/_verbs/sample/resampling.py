"""The settings of intervals and p-values, and the intervals of a table with a row per query."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from ... import stats
from ..._catalog.call import Call
from ..._catalog.means import Mean, lifted, scaled, unscaled
from ..._statistics.estimators import ESTIMATORS
from ..._statistics.sample import Limits
from ..._statistics.weighted_means import effective_number, weighed
from ..._support.floats import Booleans, Floats, np
from ..._support.progress import Progress
from ..._table.shared_options import Drawn
from ...errors import InvalidOption, option, warn


@dataclass(frozen=True)
class Resampling:
    """The confidence and the kind of an interval, the number of resamples, and the seed."""

    ci: float | None
    interval: str
    resamples: int
    seed: int
    progress: bool

    @classmethod
    def of(
        cls, options: Drawn, interval: str = "percentile", ci: float | None = None
    ) -> Resampling:
        """The settings that a call names, and a kind of interval; `ci` is for options without."""
        given: Mapping[str, Any] = {"ci": ci, **options}
        return cls(given["ci"], interval, given["resamples"], given["seed"], given["progress"])

    def __post_init__(self) -> None:
        if self.resamples < self.least:
            says = f": write a whole number from {self.least} on"
            why = f", as an interval of {self.ci:g} takes"
            raise InvalidOption(option(resamples=self.resamples), says + why)

    @property
    def ends(self) -> tuple[float, float]:
        """The shares of the draws that lie below the two ends of an interval; NaN without one."""
        ci = math.nan if self.ci is None else self.ci
        return (1 - ci) / 2, (1 + ci) / 2

    @property
    def least(self) -> int:
        """The least number of resamples: one is expected beyond each end of the interval."""
        if self.ci is None or "resamples" not in ESTIMATORS[self.interval].options:
            return 1
        return math.ceil(round(2 / (1 - self.ci), 6)) - 1

    @property
    def merges(self) -> bool:
        """Whether draws come from the queries' ids, so that figures of parts merge."""
        return "ids" in ESTIMATORS[self.interval].needs

    def intervals(
        self, values: Floats, weights: Floats, limits: Limits, progress: Progress
    ) -> tuple[Floats, Floats, list[str | None]]:
        """The interval of each column's mean, and its kind; NaN and None with ``ci=None``."""
        kinds: list[Any] = [self.interval] * values.shape[1]
        if self.ci is None:
            kinds = [None] * values.shape[1]
        elif self.interval == "auto":
            kinds = stats.automatic(values, weights, limits.declared)
        ends = np.full((2, len(kinds)), np.nan)
        for kind in {*kinds} - {None}:
            at = np.array([x == kind for x in kinds])
            how = self.ci or math.nan, kind, self.resamples, self.seed, progress
            within = limits.least[at], limits.greatest[at]
            ends[:, at] = stats.intervals(values[:, at], weights, *how, within)
        low, high = ends
        has_ends = ~np.isnan(low)
        known = [kind if has else None for kind, has in zip(kinds, has_ends, strict=True)]
        return low, high, known


UNITS = "#units"

CLUSTER = "#cluster"
"""The column of the clusters of queries."""


def numbers_in(rows: pl.DataFrame, calls: Sequence[Call]) -> Floats:
    """The values of metrics in an array, a column per metric; NaN for null."""
    metrics = pl.col(call.text for call in calls)
    return rows.select(metrics.fill_null(math.nan)).to_numpy()


def samples(
    per_query: pl.DataFrame, key: Sequence[str], calls: Sequence[Call]
) -> Iterator[tuple[list[int], Floats, Floats]]:
    """The metrics that share weights, by their numbers, with the values and weights of each key.

    A row for each query, NaN for null; or for each cluster, whose value is the weighted mean of its
    queries. Sorting makes draws independent of the order of rows.
    """
    by_weights: dict[str, list[int]] = {}
    for i, call in enumerate(calls):
        by_weights.setdefault(call.weights, []).append(i)
    columns = [pl.col(name) for name in by_weights]
    weights = [lifted(column, column.max()) for column in columns]
    rows = per_query.sort(key).with_columns(weights)
    for name, numbers in by_weights.items():
        if CLUSTER in key:
            for i in numbers:
                means = _means_of_clusters(rows, key, calls[i])
                values = means.select("value").to_numpy()
                yield [i], values, means["weight"].to_numpy()
        else:
            values = numbers_in(rows, [calls[i] for i in numbers])
            yield numbers, values, rows[name].to_numpy()


def _means_of_clusters(rows: pl.DataFrame, key: Sequence[str], call: Call) -> pl.DataFrame:
    """The weighted mean of each cluster, and its weight without queries that have no value."""
    mean = Mean.of(call)
    value = pl.col(call.text)
    weight = pl.col(call.weights)
    counts = value.is_not_null() & (weight > 0)
    weight = weight.filter(counts)
    on_scale = mean.scaled(value).filter(counts)
    total = (on_scale * weight).sum()
    center = total / weight.sum()
    clusters = rows.group_by(key, maintain_order=True)
    return clusters.agg(value=mean.unscaled(center), weight=weight.sum())


def limits(values: Floats, calls: Sequence[Call]) -> Limits:
    """The declared bounds of each metric, or else the range of its values."""
    bounds = [call.bounds for call in calls]
    declared = np.array(bounds, dtype=float).T
    rows = np.vstack([declared, values.reshape(-1, len(calls))])
    on_scale = scaled(rows, calls)
    on_scale[~np.isfinite(on_scale)] = math.nan
    least, greatest = on_scale[:2]
    has_bounds: Booleans = np.isfinite(least) & np.isfinite(greatest)
    # The least logarithm is a floor, far from other values.
    has_bounds &= [not Mean.of(call).is_geometric for call in calls]
    of_values = on_scale[2:]
    lowest = np.fmin.reduce(of_values, initial=math.nan)
    highest = np.fmax.reduce(of_values, initial=math.nan)
    low = np.fmin(least, lowest)
    high = np.fmax(greatest, highest)
    return Limits(low, high, has_bounds)


def intervals_of(
    per_query: pl.DataFrame,
    slices: Sequence[pl.DataFrame],
    key: Sequence[str],
    calls: Sequence[Call],
    resampling: Resampling,
) -> pl.DataFrame:
    """The intervals of the metrics' means and their kinds, by metric and then slice.

    What has a key is resampled. The column `UNITS` has how many queries or clusters of equal weight
    those of a mean are worth.
    """
    shape = len(calls), len(slices)
    low, high, numbers = np.empty((3, *shape))
    kinds = np.empty(shape, dtype=object)
    with Progress("resampling queries", resampling.progress) as progress:
        for i, part in enumerate(slices):
            for at, values, weights in samples(part, key, calls):
                alike = [calls[j] for j in at]
                on_scale = scaled(values, alike)
                within = limits(numbers_in(per_query, alike), alike)
                *ends, kinds[at, i] = resampling.intervals(on_scale, weights, within, progress)
                low[at, i], high[at, i] = unscaled(np.array(ends), alike)
                _, worth = weighed(values, weights)
                numbers[at, i] = effective_number(worth)
    if resampling.interval == "auto":  # Student's may leave the bounds
        for i, call in enumerate(calls):
            least, greatest = call.bounds
            bounds = -np.inf if least is None else least, greatest
            np.clip(low[i], *bounds, out=low[i])
            np.clip(high[i], *bounds, out=high[i])
    table = pl.DataFrame({"ci_low": low.ravel(), "ci_high": high.ravel()}).fill_nan(None)
    kind = pl.Series("interval", kinds.ravel().tolist(), pl.String)
    units = pl.Series(UNITS, numbers.ravel())
    return table.with_columns(kind, units)


def warn_of_t(table: pl.DataFrame, resampling: Resampling) -> None:
    """Warn of intervals of few values without bounds."""
    if resampling.interval != "auto":
        return
    of_t = table.filter(interval="t")
    if not of_t.is_empty():
        row = of_t.row(0, named=True)
        warn(
            f"the interval of {row['metric']} over {row['n_queries']} queries is Student's t, too "
            "short for skewed values; more queries, or a metric with bounds, have a safer one"
        )
