"""Weighted means of columns, and what their intervals are made of: spreads, standard errors,
effective numbers.

A row per unit (a query, a user, a cluster), a column per quantity, NaN for a missing value. Weights
are one per unit, or one per unit and column.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from .._support.floats import Floats, np

TwoEnds: TypeAlias = tuple[Floats, Floats]
"""The lower and the upper ends of columns."""

NOISE = 1e-12
"""The relative rounding error by which two equal sums may differ."""


def means(values: Floats, weights: Floats) -> Floats:
    """The weighted mean of each column, clipped to the range of its values; NaN without a value of
    positive weight.
    """
    x, w = weighed(values, weights)
    return np.clip(over(x.sum(axis=0), w.sum(axis=0)), *ends(values, weights))


def spreads(values: Floats, weights: Floats) -> Floats:
    """The standard deviation of each column over the queries; NaN for fewer than two, 0 if they
    differ by rounding only.
    """
    x, w = weighed((values - means(values, weights)) ** 2, weights)
    n = np.count_nonzero(w, axis=0)
    deviations = np.sqrt(over(over(x.sum(axis=0), w.sum(axis=0)) * n, n - 1))
    return np.where(
        deviations <= NOISE * np.abs(ends(values, weights)).max(axis=0), 0.0, deviations
    )


def effective_number(weights: Floats) -> Floats:
    """The number of equal weights whose mean varies as much as one with these weights (Kish, Survey
    Sampling, 1965).
    """
    shares = over(
        weights, weights.max(axis=0, initial=0.0)
    )  # their squares neither overflow nor vanish
    return np.nan_to_num(over(shares.sum(axis=0) ** 2, (shares**2).sum(axis=0)))


def errors(values: Floats, weights: Floats) -> Floats:
    """The standard error of each column's weighted mean (the usual one where weights are equal)."""
    x, w = weighed(values - means(values, weights), weights)
    n = effective_number(w)
    return over(np.sqrt(over((x**2).sum(axis=0) * n, n - 1)), w.sum(axis=0))


def acceleration(values: Floats, weights: Floats) -> Floats:
    """The acceleration of BCa: a sixth of the skewness of the jackknife means."""
    x, w = weighed(values - means(values, weights), weights)
    there = ~np.isnan(values)
    left = np.where(
        there, over(-x, w.sum(axis=0) - w), 0.0
    )  # the mean without the query, minus the mean
    left = np.where(np.isfinite(left), left, 0.0)
    n = np.count_nonzero(there, axis=0)
    inner = np.where(there, left.sum(axis=0) / n - left, 0.0)
    squares = (inner**2).sum(axis=0)
    return np.where(squares > 0, over((inner**3).sum(axis=0), 6 * squares**1.5), 0.0)


def weighed(values: Floats, weights: Floats) -> TwoEnds:
    """The values times their weights, and the weights; both 0 if the value is missing or the weight
    is 0.
    """
    of_column = by_column(weights)
    there = ~np.isnan(values) & (of_column > 0)  # a weight of 0 also removes log 0
    w = there * of_column
    return np.where(there, values, 0.0) * w, w


def by_column(weights: Floats) -> Floats:
    """The weights as columns: one for all quantities, or one for each."""
    return weights if weights.ndim == 2 else weights[:, None]


def ends(values: Floats, weights: Floats) -> TwoEnds:
    """The least and the greatest value of positive weight in each column; NaN without one."""
    weighing = np.where(by_column(weights) > 0, values, np.nan)
    return np.fmin.reduce(weighing, initial=np.nan), np.fmax.reduce(weighing, initial=np.nan)


def over(x: Any, y: Any) -> Floats:
    """The quotient; a divisor of 0 gives NaN or an infinity, without a warning."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.divide(x, y), dtype=np.float64)
