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
        """The settings that a call names, with a kind of interval; `ci` is for options that have
        none.
        """
        given: Mapping[str, Any] = {"ci": ci, **options}
        return cls(given["ci"], interval, given["resamples"], given["seed"], given["progress"])

    def __post_init__(self) -> None:
        if self.resamples < self.least:
            takes = f", as an interval of {self.ci:g} takes"
            raise InvalidOption(
                option(resamples=self.resamples),
                f": write a whole number from {self.least} on{takes}",
            )

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
        """The interval of each column's mean, for values within `limits`, and its kind; NaN and
        None with ``ci=None``.
        """
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
        return (
            ends[0],
            ends[1],
            [kind if has else None for kind, has in zip(kinds, there, strict=True)],
        )


UNITS = "#units"

CLUSTER = "#cluster"
"""The column of the clusters of queries."""


def samples(
    per_query: pl.DataFrame, key: Sequence[str], calls: Sequence[Call]
) -> Iterator[tuple[list[int], Floats, Floats]]:
    """The metrics that share weights, by their numbers, with the values and the weights of what has
    the key.

    A row for each query, NaN for null; or for each cluster, whose value is the weighted mean of its
    queries. Sorting makes draws independent of the order of rows.
    """
    rows = per_query.sort(key).with_columns(
        lifted(pl.col(name), pl.col(name).max())
        for name in dict.fromkeys(call.weights for call in calls)
    )
    for weights in dict.fromkeys(call.weights for call in calls):
        at = [i for i, call in enumerate(calls) if call.weights == weights]
        if CLUSTER not in key:
            values = rows.select(pl.col([calls[i].text for i in at]).fill_null(math.nan))
            yield at, values.to_numpy(), rows[weights].to_numpy()
            continue
        for i in at:  # a query without a value takes its weight from the cluster
            mean, value = Mean.of(calls[i]), pl.col(calls[i].text)
            weight = pl.col(weights).filter(value.is_not_null(), pl.col(weights) > 0)
            center = (
                mean.scaled(value).filter(value.is_not_null(), pl.col(weights) > 0) * weight
            ).sum() / weight.sum()
            of = rows.group_by(key, maintain_order=True).agg(
                value=mean.unscaled(center), weight=weight.sum()
            )
            yield [i], of.select("value").to_numpy(), of["weight"].to_numpy()


def limits(values: Floats, calls: Sequence[Call]) -> Limits:
    """The declared bounds of each metric, or else the range of its values."""
    declared = np.array(
        [[math.nan if end is None else end for end in call.bounds] for call in calls], dtype=float
    ).T
    on_scale = scaled(np.vstack([declared, values.reshape(-1, len(calls))]), calls)
    on_scale[~np.isfinite(on_scale)] = math.nan
    both: Booleans = np.isfinite(on_scale[0]) & np.isfinite(on_scale[1])
    both &= [
        not Mean.of(call).is_geometric for call in calls
    ]  # the least logarithm is a floor, far from other values
    return Limits(
        np.fmin.reduce(np.delete(on_scale, 1, axis=0)), np.fmax.reduce(on_scale[1:]), both
    )


def intervals_of(
    per_query: pl.DataFrame,
    slices: Sequence[pl.DataFrame],
    key: Sequence[str],
    calls: Sequence[Call],
    resampling: Resampling,
) -> pl.DataFrame:
    """The intervals of the metrics' means and their kinds, by metric and then slice; what has a key
    is resampled.

    The column `UNITS` has how many queries or clusters of equal weight those of a mean are worth.
    """
    ends, kinds = (
        np.empty((2, len(calls), len(slices))),
        np.empty((len(calls), len(slices)), dtype=object),
    )
    numbers = np.empty((len(calls), len(slices)))
    with Progress("resampling queries", resampling.progress) as progress:
        for i, part in enumerate(slices):
            for at, values, weights in samples(part, key, calls):
                some = [calls[j] for j in at]
                every = per_query.select(
                    pl.col([call.text for call in some]).fill_null(math.nan)
                ).to_numpy()
                within = limits(every, some)
                low, high, kinds[at, i] = resampling.intervals(
                    scaled(values, some), weights, within, progress
                )
                ends[:, at, i] = unscaled(np.stack([low, high]), some)
                numbers[at, i] = effective_number(weighed(values, weights)[1])
    if resampling.interval == "auto":  # Student's may leave the bounds
        for of_call, call in zip(ends.swapaxes(0, 1), calls, strict=True):
            least, greatest = call.bounds
            np.clip(of_call, -np.inf if least is None else least, greatest, out=of_call)
    columns = {
        "ci_low": ends[0].ravel(),
        "ci_high": ends[1].ravel(),
        "interval": kinds.ravel().tolist(),
    }
    table = pl.DataFrame(columns, schema_overrides={"interval": pl.String}).fill_nan(None)
    return table.with_columns(pl.Series(UNITS, numbers.ravel()))


def warn_of_t(table: pl.DataFrame, resampling: Resampling) -> None:
    """Warn of intervals of few values without bounds."""
    found = table.filter(interval="t") if resampling.interval == "auto" else table.clear()
    if not found.is_empty():
        row = found.row(0, named=True)
        warn(
            f"the interval of {row['metric']} over {row['n_queries']} queries is Student's t, "
            "too short for skewed values; more "
            "queries, or a metric with bounds, have a safer one"
        )
