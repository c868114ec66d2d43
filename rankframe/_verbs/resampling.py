"""The settings of intervals and p-values, and the intervals of a table with a row per query."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import polars as pl

from .. import stats
from .._catalog.call import Call
from .._catalog.means import Mean, scaled, unscaled
from .._support.floats import Booleans, Floats, np
from .._support.progress import Progress
from .._support.statistical_options import SummaryInterval
from ..errors import InvalidOption, option, warn


class Limits(NamedTuple):
    """The least and the greatest value of each column, and whether its metric declares both for an arithmetic mean."""

    least: Floats
    greatest: Floats
    declared: Booleans

    def repeated(self, times: int) -> Limits:
        """Those of as many columns for each."""
        return Limits(self.least.repeat(times), self.greatest.repeat(times), self.declared.repeat(times))


@dataclass(frozen=True)
class Resampling:
    """The confidence and the kind of an interval, the number of resamples, and the seed."""

    ci: float | None
    interval: SummaryInterval
    resamples: int
    seed: int
    progress: bool

    def __post_init__(self) -> None:
        if self.resamples < self.least:
            takes = f", as an interval of {self.ci:g} takes"
            raise InvalidOption(option(resamples=self.resamples), f": write a whole number from {self.least} on{takes}")

    @property
    def least(self) -> int:
        """The least number of resamples: one is expected beyond each end of the interval."""
        return 1 if self.ci is None or self.interval == "t" else math.ceil(round(2 / (1 - self.ci), 6)) - 1

    def intervals(
        self, values: Floats, weights: Floats, limits: Limits, progress: Progress
    ) -> tuple[Floats, Floats, list[str | None]]:
        """The interval of each column's mean, for values within `limits`, and its kind; NaN and None with ``ci=None``."""
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
        there = ~np.isnan(ends[0])
        return ends[0], ends[1], [kind if has else None for kind, has in zip(kinds, there, strict=True)]


def arrays(per_query: pl.DataFrame, query: Sequence[str], names: Sequence[str]) -> tuple[Floats, Floats]:
    """The columns as an array, NaN for null, and the queries' weights, in the order of the queries.

    Sorting makes draws independent of the order of rows.
    """
    ordered = per_query.sort(query)
    return ordered.select(pl.col(names).fill_null(math.nan)).to_numpy(), ordered["#weight"].to_numpy()


def limits(values: Floats, calls: Sequence[Call]) -> Limits:
    """The declared bounds of each metric, or else the range of its values."""
    declared = np.array([[math.nan if end is None else end for end in call.bounds] for call in calls], dtype=float).T
    on_scale = scaled(np.vstack([declared, values.reshape(-1, len(calls))]), calls)
    on_scale[~np.isfinite(on_scale)] = math.nan
    both: Booleans = np.isfinite(on_scale[0]) & np.isfinite(on_scale[1])
    both &= [not Mean.of(call).is_geometric for call in calls]  # the least logarithm is a floor, far from other values
    return Limits(np.fmin.reduce(np.delete(on_scale, 1, axis=0)), np.fmax.reduce(on_scale[1:]), both)


def intervals_of(
    slices: Sequence[pl.DataFrame], query: Sequence[str], calls: Sequence[Call], resampling: Resampling
) -> pl.DataFrame:
    """The intervals of the metrics' means and their kinds, by metric and then slice."""
    ends, kinds = np.empty((2, len(calls), len(slices))), np.empty((len(calls), len(slices)), dtype=object)
    parts = [arrays(part, query, [call.text for call in calls]) for part in slices]
    within = limits(np.vstack([np.empty((0, len(calls))), *(values for values, _ in parts)]), calls)
    with Progress("resampling queries", resampling.progress) as progress:
        for i, (values, weights) in enumerate(parts):
            low, high, kinds[:, i] = resampling.intervals(scaled(values, calls), weights, within, progress)
            ends[:, :, i] = unscaled(np.stack([low, high]), calls)
    if resampling.interval == "auto":  # Student's may leave the bounds
        for of_call, call in zip(ends.swapaxes(0, 1), calls, strict=True):
            least, greatest = call.bounds
            np.clip(of_call, -np.inf if least is None else least, greatest, out=of_call)
    columns = {"ci_low": ends[0].ravel(), "ci_high": ends[1].ravel(), "interval": kinds.ravel().tolist()}
    return pl.DataFrame(columns, schema_overrides={"interval": pl.String}).fill_nan(None)


def warn_of_t(table: pl.DataFrame, resampling: Resampling) -> None:
    """Warn of intervals of few values without bounds."""
    found = table.filter(interval="t") if resampling.interval == "auto" else table.clear()
    if not found.is_empty():
        row = found.row(0, named=True)
        warn(
            f"the interval of {row['metric']} over {row['n_queries']} queries is Student's t, too short for skewed values; more "
            "queries, or a metric with bounds, have a safer one"
        )
