"""The settings of intervals and p-values, and the intervals of a table with a row per query."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias, cast

import polars as pl

from .._catalog.call import Call
from .._catalog.means import scaled, unscaled
from .._support.progress import Progress
from .._support.statistical_options import Method
from .._table.policies import check_word, is_number
from ..errors import InvalidOption, option

if TYPE_CHECKING:
    from .._support.floats import Floats

__all__ = ["Resampling", "SummaryMethod", "SummaryResampling", "arrays", "intervals_of", "limits"]

SummaryMethod: TypeAlias = Literal["bca", "percentile", "t", "bounded", "poisson"]

MOST_RESAMPLES = 10_000_000


@dataclass(frozen=True)
class Resampling:
    """The confidence and the method of an interval, the number of resamples, and the seed."""

    ci: float | None
    method: SummaryMethod
    resamples: int
    seed: int
    progress: bool

    methods: ClassVar[object] = Method

    def __post_init__(self) -> None:
        if self.ci is not None and not (is_number(self.ci) and 0 < self.ci < 1):
            raise InvalidOption(
                option(ci=self.ci), " is no confidence; write a number between 0 and 1, as ", option(ci=0.95)
            )
        check_word("method", self.method, self.methods)
        takes = f", as an interval of {self.ci:g} takes" if self.least > 1 else ""
        for name, least, why in (("resamples", self.least, takes), ("seed", 0, "")):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
                raise InvalidOption(option(**{name: value}), f": write a whole number from {least} on{why}")
        if self.resamples > MOST_RESAMPLES:
            raise InvalidOption(option(resamples=self.resamples), f": write at most {MOST_RESAMPLES:,}")

    @property
    def least(self) -> int:
        """The least number of resamples: one is expected beyond each end of the interval."""
        return 1 if self.ci is None or self.method == "t" else math.ceil(round(2 / (1 - self.ci), 6)) - 1

    def intervals(
        self, values: Floats, weights: Floats, limits: tuple[Floats, Floats], progress: Progress
    ) -> tuple[Floats, Floats]:
        """The interval of each column's mean, for values within `limits`; NaN with ``ci=None``."""
        from .. import stats  # imports numpy

        ci = math.nan if self.ci is None else self.ci
        method = cast("Method", self.method)  # mergeable_summary computes the Poisson bootstrap
        return stats.intervals(values, weights, ci, method, self.resamples, self.seed, progress, limits)


@dataclass(frozen=True)
class SummaryResampling(Resampling):
    """The settings for a summary, which may also use the Poisson bootstrap."""

    methods: ClassVar[object] = SummaryMethod


def arrays(per_query: pl.DataFrame, query: Sequence[str], names: Sequence[str]) -> tuple[Floats, Floats]:
    """The columns as an array, NaN for null, and the queries' weights, in the order of the queries.

    Sorting makes draws independent of the order of rows.
    """
    ordered = per_query.sort(query)
    return ordered.select(pl.col(names).fill_null(math.nan)).to_numpy(), ordered["#weight"].to_numpy()


def limits(values: Floats, calls: Sequence[Call]) -> tuple[Floats, Floats]:
    """The least and the greatest value of each metric: its declared bounds, or else the range of its values."""
    import numpy as np

    bounds = [[math.nan if end is None else end for end in call.bounds] for call in calls]
    on_scale = scaled(np.vstack([np.array(bounds, dtype=float).T, values.reshape(-1, len(calls))]), calls)
    on_scale[~np.isfinite(on_scale)] = math.nan
    return np.fmin.reduce(np.delete(on_scale, 1, axis=0)), np.fmax.reduce(on_scale[1:])


def intervals_of(
    slices: Sequence[pl.DataFrame], query: Sequence[str], calls: Sequence[Call], resampling: Resampling
) -> dict[str, list[float]]:
    """The intervals of the metrics' means, by metric and then slice."""
    import numpy as np

    bounds = np.empty((2, len(calls), len(slices)))
    parts = [arrays(part, query, [call.text for call in calls]) for part in slices]
    ends = limits(np.vstack([np.empty((0, len(calls))), *(values for values, _ in parts)]), calls)
    with Progress("resampling queries", resampling.progress) as progress:
        for i, (values, weights) in enumerate(parts):
            found = resampling.intervals(scaled(values, calls), weights, ends, progress)
            bounds[:, :, i] = unscaled(np.stack(found), calls)
    return {name: x.ravel().tolist() for name, x in zip(("ci_low", "ci_high"), bounds, strict=True)}
