"""Means of few known values, made surer by another quantity that is known of many more queries.

The other quantity predicts the value, as by a model's labels (prediction-powered inference), or was
known before, as an older score (a control variate, CUPED). With the known values Y, the other
quantity H of the same n queries, and U of N others, the mean is mean(Y) + weight (mean(U) -
mean(H)), with the weight that makes its variance least.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import polars as pl

from .._support.extras import load
from .._support.floats import Booleans, Floats, np
from .weighted_means import NOISE, effective_number, only_where, over

OF_JUDGED: Mapping[str, pl.DataType] = {
    "n_judged": pl.UInt32(),
    "tuned_weight": pl.Float64(),
    "variance_saved": pl.Float64(),
    "queries_to_halve": pl.Int64(),
}
"""The columns that results have in addition."""


class Estimates(NamedTuple):
    """The means of columns, and what their intervals are made of.

    Attributes
    ----------
    mean, weight
        The means, and the weights of the other quantity; 0 where it adds nothing.
    of_known, of_others
        The variance of the mean: the parts of the known values, and of the other queries.
    saved
        The share of the variance that the other quantity saves.
    to_halve
        About how many known values an interval half as long takes.
    n, effective
        The number of known values, and how many of equal weight they are worth (Kish).
    """

    mean: Floats
    weight: Floats
    of_known: Floats
    of_others: Floats
    saved: Floats
    to_halve: Floats
    n: int
    effective: float

    @property
    def columns(self) -> dict[str, Floats]:
        """The figures of `OF_JUDGED`."""
        n = np.full(len(self.mean), float(self.n))
        figures = (n, self.weight, self.saved, self.to_halve)
        return dict(zip(OF_JUDGED, figures, strict=True))

    @property
    def freedom(self) -> Floats:
        """The degrees of freedom: the known values less one for the mean and one for the weight.

        A weight of 0 takes none.
        """
        n_estimated = np.where(self.weight != 0, 2.0, 1.0)
        left = self.effective - n_estimated
        return only_where(left > 0, left)

    @property
    def error(self) -> Floats:
        """The standard errors."""
        return np.sqrt(self.of_known * self.effective / self.freedom + self.of_others)

    def reach(self, ci: float) -> Floats:
        """Half the widths of Student's intervals."""
        special = load("scipy.special", "stats")
        t: Floats = special.stdtrit(self.freedom, (1 + ci) / 2)
        return t * self.error

    def p_values(self) -> Floats:
        """The two-sided p-values of the means against 0; 1 if mean and error are 0."""
        special = load("scipy.special", "stats")
        t = over(-np.abs(self.mean), self.error)
        p: Floats = 2 * special.stdtr(self.freedom, t)
        return np.where(np.isnan(p), 1.0, p)


def estimates(
    values: Floats,
    other: Floats,
    known: Booleans,
    weights: Floats,
    *,
    within: bool,
    mean: float | None = None,
) -> Estimates:
    """The mean of each column of `values`, of which few rows are known, by another quantity's help.

    In the symbols of PPI++, for n known values Y with predictions f and N predictions f~ of the
    others: theta = mean(Y) + lambda (mean(f~) - mean(f)), with lambda = Cov(Y, f) / ((1 + n / N)
    Var(f)), where Var is that of all n + N predictions. With a known mean of a control variate X
    (CUPED), N is infinite and lambda is theta = Cov(Y, X) / Var(X).

    Parameters
    ----------
    values, other
        The values, and the other quantity: a row per query, without NaN where they count.
    known
        Whether a query's value is known.
    weights
        The queries' weights, 0 or more.
    within
        Whether the weight of the other quantity is cut to 0 to 1, as for predictions.
    mean
        The mean of the other quantity over all queries, in place of the queries whose value is not
        known.

    References
    ----------
    A. N. Angelopoulos, J. C. Duchi, T. Zrnic (2023), PPI++: Efficient prediction-powered inference,
    arXiv:2311.01453, whose package ppi_py has the same means and weights. A. Deng, Y. Xu, R.
    Kohavi, T. Walker (2013), Improving the sensitivity of online controlled experiments by
    utilizing pre-experiment data, WSDM.
    """
    weighs = weights > 0
    rest = ~known & weighs & (mean is None)
    known = known & weighs
    y = values[known]
    f = other[known]
    f_rest = other[rest]
    w = _of_mean_1(weights[known])
    w_rest = _of_mean_1(weights[rest])
    n = len(y)
    n_rest = np.inf if mean is not None else float(len(f_rest))
    y_away = _away(y, w)
    f_away = _away(f, w)
    variance_y = y_away.var(axis=0)
    all_f = np.vstack([f, f_rest])
    # Of a skewed column, the variance of all queries would bias the mean of least squares.
    variance_f = f_away.var(axis=0)
    if within:
        variance_f = _variance(all_f, np.vstack([w, w_rest]))
    varies = variance_f > NOISE * (all_f**2).max(axis=0)
    covariance = (y_away * f_away).mean(axis=0)
    slope = np.where(varies & (n_rest > 0), over(covariance, variance_f), 0.0)
    weight = slope / (1 + over(n, n_rest))
    if within:
        weight = np.clip(weight, 0, 1)
    explained = over(slope**2 * variance_f, variance_y)
    mean_rest = over((w_rest * f_rest).sum(axis=0), n_rest) if mean is None else mean
    variance_rest = 0.0
    if len(f_rest):
        variance_rest = (w_rest * (f_rest - mean_rest)).var(axis=0) / n_rest
    # Where the weight is 0, the other quantity may have no finite mean.
    is_moved = weight != 0
    mean_f = (w * f).mean(axis=0)
    gain = np.where(is_moved, weight * (mean_rest - mean_f), 0.0)
    theta = (w * y).mean(axis=0) + gain
    of_rest = np.where(is_moved, weight**2 * variance_rest, 0.0)
    of_known = (y_away - weight * f_away).var(axis=0) / n
    left = over((of_known + of_rest) * n, variance_y)
    saved = np.clip(np.nan_to_num(1 - left), 0, 1)
    explained = np.where(is_moved, np.clip(explained, 0, 1), 0.0)
    to_halve = _to_halve(explained, n, n + n_rest)
    effective = float(effective_number(weights[known]))
    return Estimates(theta, weight, of_known, of_rest, saved, to_halve, n, effective)


def _of_mean_1(weights: Floats) -> Floats:
    """The weights times a number, so that their mean is 1, as a column."""
    return np.asarray(weights[:, None] * len(weights) / weights.sum())


def _away(values: Floats, weights: Floats) -> Floats:
    """How far values are from their weighted mean, times their weights of mean 1."""
    mean = (weights * values).mean(axis=0)
    return np.asarray(weights * (values - mean))


def _variance(values: Floats, weights: Floats) -> Floats:
    """The variance of each column, with weights of mean 1."""
    return np.asarray(_away(values, weights).var(axis=0, ddof=1))


def _to_halve(explained: Floats, n: int, total: float) -> Floats:
    """How many known values of `total` halve the interval.

    The other quantity explains the share `explained` of their variance. With m of them, the
    variance of the mean is (1 - explained) / m + explained / total times theirs; with more than
    all, 1 / m.
    """
    of_rest = explained / total
    wanted = ((1 - explained) / n + of_rest) / 4
    of_known = wanted - of_rest
    m = np.full(len(of_known), np.inf)
    np.divide(1 - explained, of_known, out=m, where=of_known > 0)
    m = np.where(m <= total, m, 1 / wanted)
    return np.ceil(m - NOISE)
