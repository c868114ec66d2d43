"""Weighted means of columns, and what their intervals are made of: standard errors and the like.

A row per unit (a query, a user, a cluster), a column per quantity, NaN for a missing value. Weights
are one per unit, or one per unit and column.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from .._support.floats import Booleans, Floats, np

TwoEnds: TypeAlias = tuple[Floats, Floats]
"""The lower and the upper ends of columns."""

NOISE = 1e-12
"""The relative rounding error by which two equal sums may differ."""


def means(values: Floats, weights: Floats) -> Floats:
    """The weighted mean of each column, within the range of its values.

    NaN without a value of positive weight.
    """
    worth, w = weighed(values, weights)
    mean = over(worth.sum(axis=0), w.sum(axis=0))
    least, greatest = ends(values, weights)
    return np.clip(mean, least, greatest)


def spreads(values: Floats, weights: Floats) -> Floats:
    """The standard deviation of each column over the queries.

    NaN for fewer than two, 0 if they differ by rounding only.
    """
    squares = (values - means(values, weights)) ** 2
    worth, w = weighed(squares, weights)
    n = np.count_nonzero(w, axis=0)
    variance = over(worth.sum(axis=0), w.sum(axis=0))
    deviation = np.sqrt(over(variance * n, n - 1))
    largest = np.abs(ends(values, weights)).max(axis=0)
    return np.where(deviation <= NOISE * largest, 0.0, deviation)


def effective_number(weights: Floats) -> Floats:
    """The number of equal weights whose mean varies as much as one with these weights.

    References
    ----------
    L. Kish (1965), Survey sampling.
    """
    # The squares of shares neither overflow nor vanish.
    share = over(weights, weights.max(axis=0, initial=0.0))
    squares = (share**2).sum(axis=0)
    return np.nan_to_num(over(share.sum(axis=0) ** 2, squares))


def errors(values: Floats, weights: Floats) -> Floats:
    """The standard error of each column's weighted mean (the usual one where weights are equal)."""
    deviation = values - means(values, weights)
    worth, w = weighed(deviation, weights)
    n = effective_number(w)
    squares = (worth**2).sum(axis=0)
    size = np.sqrt(over(squares * n, n - 1))
    return over(size, w.sum(axis=0))


def acceleration(values: Floats, weights: Floats) -> Floats:
    """The acceleration a of BCa: a sixth of the skewness of the jackknife means."""
    deviation = values - means(values, weights)
    worth, w = weighed(deviation, weights)
    there = ~np.isnan(values)
    n = np.count_nonzero(there, axis=0)
    # The mean without the query, less the mean.
    change = over(-worth, w.sum(axis=0) - w)
    change = np.where(there & np.isfinite(change), change, 0.0)
    mean_change = change.sum(axis=0) / n
    u = np.where(there, mean_change - change, 0.0)
    squares = (u**2).sum(axis=0)
    cubes = (u**3).sum(axis=0)
    a = over(cubes, 6 * squares**1.5)
    return np.where(squares > 0, a, 0.0)


def weighed(values: Floats, weights: Floats) -> TwoEnds:
    """The values times their weights, and the weights.

    Both are 0 if the value is missing or the weight is 0.
    """
    of_column = by_column(weights)
    # A weight of 0 also removes log 0.
    there = ~np.isnan(values) & (of_column > 0)
    w = there * of_column
    return np.where(there, values, 0.0) * w, w


def by_column(weights: Floats) -> Floats:
    """The weights as columns: one for all quantities, or one for each."""
    return weights if weights.ndim == 2 else weights[:, None]


def ends(values: Floats, weights: Floats) -> TwoEnds:
    """The least and the greatest value of positive weight in each column; NaN without one."""
    weighing = only_where(by_column(weights) > 0, values)
    least = np.fmin.reduce(weighing, initial=np.nan)
    greatest = np.fmax.reduce(weighing, initial=np.nan)
    return least, greatest


def only_where(condition: Booleans, x: Any) -> Floats:
    """The values where a condition holds, else NaN."""
    return np.where(condition, x, np.nan)


def over(x: Any, y: Any) -> Floats:
    """The quotient; a divisor of 0 gives NaN or an infinity, without a warning."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.divide(x, y), dtype=np.float64)
