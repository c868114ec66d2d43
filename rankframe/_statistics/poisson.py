"""The Poisson bootstrap, which merges: sums over parts of a sample add up.

Each unit's draws come from its own id.
"""

from __future__ import annotations

import math
from typing import Any

from .._support.draws import uniforms
from .._support.floats import Floats, Unsigned, np
from .weighted_means import by_column, over

AT_ONCE = 4_000_000
"""The most draws in memory at a time."""

MOST_DRAWN = 18
"""A unit is drawn so many times with a probability below 1e-16."""


def sums_of_draws(
    values: Floats, weights: Floats, ids: Unsigned, resamples: int
) -> tuple[Floats, Floats]:
    """The weight and the sum of the drawn units, resamples by columns; NaN has no weight."""
    there = ~np.isnan(values)
    weight = np.broadcast_to(by_column(weights), values.shape)
    # Log 0 times the weight 0 would be NaN.
    worth = np.where(there & (weight > 0), values, 0.0) * weight
    weight = there * weight
    drawn_weight, drawn_sum = np.zeros((2, resamples, values.shape[1]))
    step = max(1, AT_ONCE // max(1, resamples))
    for start in range(0, len(values), step):
        rows = slice(start, start + step)
        counts = times_drawn(ids[rows], resamples)
        drawn_weight += counts @ weight[rows]
        drawn_sum += _product(counts, worth[rows])
    return drawn_weight, drawn_sum


def times_drawn(ids: Unsigned, resamples: int) -> Floats:
    """How often each resample draws each unit, by Poisson's distribution with mean 1.

    There is a row per resample.
    """
    chances = [math.exp(-1) / math.factorial(k) for k in range(MOST_DRAWN)]
    at_most = np.cumsum(chances)
    draws = uniforms(ids, resamples)
    return np.searchsorted(at_most, draws, side="right").astype(float)


def _product(counts: np.ndarray[Any, Any], worth: np.ndarray[Any, Any]) -> Floats:
    """The sums of each resample; a unit drawn 0 times adds 0, even if its value is log 0."""
    finite = np.isfinite(worth)
    product: Floats = counts @ np.where(finite, worth, 0.0)
    n_infinite = counts @ ~finite
    product[n_infinite > 0] = -np.inf
    return product


def means_of_draws(weight: Floats, total: Floats, least: float, greatest: float) -> Floats:
    """The means of the resamples of one column that drew a unit of positive weight."""
    there = weight > 0
    mean = over(total[there], weight[there])
    return np.clip(mean, least, greatest)
