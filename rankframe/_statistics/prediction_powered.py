"""Means of few known values, made surer by another quantity that is known of many more queries.

The other quantity predicts the value, as by a model's labels (prediction-powered inference), or was known before, as an older score
(a control variate, CUPED). With the known values Y, the other quantity H of the same n queries, and U of N others, the mean is
mean(Y) + weight (mean(U) - mean(H)), with the weight that makes its variance least.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import polars as pl

from .._support.extras import load
from .._support.floats import Booleans, Floats, np
from .weighted_means import NOISE, effective_number

OF_JUDGED: Mapping[str, pl.DataType] = {
    "n_judged": pl.UInt32(), "tuned_weight": pl.Float64(), "variance_saved": pl.Float64(), "queries_to_halve": pl.Int64(),
}  # fmt: skip
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
        figures = (np.full(len(self.mean), float(self.n)), self.weight, self.saved, self.to_halve)
        return dict(zip(OF_JUDGED, figures, strict=True))

    @property
    def freedom(self) -> Floats:
        """The degrees of freedom: the known values less one for the mean and, where it is not 0, one for the tuned weight."""
        left = self.effective - np.where(self.weight != 0, 2.0, 1.0)
        return np.where(left > 0, left, np.nan)

    @property
    def error(self) -> Floats:
        """The standard errors."""
        return np.sqrt(self.of_known * self.effective / self.freedom + self.of_others)

    def reach(self, ci: float) -> Floats:
        """Half the widths of Student's intervals."""
        quantile: Floats = load("scipy.special", "stats").stdtrit(self.freedom, (1 + ci) / 2)
        return quantile * self.error

    def p_values(self) -> Floats:
        """The two-sided p-values of the means against 0; 1 if mean and error are 0."""
        with np.errstate(divide="ignore", invalid="ignore"):
            p: Floats = 2 * load("scipy.special", "stats").stdtr(self.freedom, -np.abs(self.mean) / self.error)
        return np.where(np.isnan(p), 1.0, p)


def estimates(
    values: Floats, other: Floats, known: Booleans, weights: Floats, *, within: bool, mean: float | None = None
) -> Estimates:
    """The mean of each column of `values`, of which few rows are known, with the help of another quantity.

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
        The mean of the other quantity over all queries, in place of the queries whose value is not known.

    References
    ----------
    A. N. Angelopoulos, J. C. Duchi, T. Zrnic (2023), PPI++: Efficient prediction-powered inference, arXiv:2311.01453, whose package
    ppi_py has the same means and weights. A. Deng, Y. Xu, R. Kohavi, T. Walker (2013), Improving the sensitivity of online controlled
    experiments by utilizing pre-experiment data, WSDM.
    """
    known, rest = known & (weights > 0), ~known & (weights > 0) & (mean is None)
    y, h, u, n = values[known], other[known], other[rest], int(known.sum())
    w, w_rest = (x[:, None] * len(x) / x.sum() for x in (weights[known], weights[rest]))
    n_rest = np.inf if mean is not None else float(rest.sum())
    both, w_both = np.vstack([h, u]), np.vstack([w, w_rest])
    of_y, of_h = (w * (x - (w * x).mean(axis=0)) for x in (y, h))
    spread = (w_both * (both - (w_both * both).mean(axis=0))).var(axis=0, ddof=1)
    if not within:  # least squares: of a skewed column, the variance of all queries would bias the mean
        spread = of_h.var(axis=0)
    helps = (spread > NOISE * (both**2).max(axis=0)) & (n_rest > 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        together = np.where(helps, (of_y * of_h).mean(axis=0) / spread, 0.0)
        weight = together / (1 + n / np.float64(n_rest))
        weight = np.clip(weight, 0, 1) if within else weight
        explained = np.where(weight != 0, np.clip(together**2 * spread / of_y.var(axis=0), 0, 1), 0.0)
        all_u = (w_rest * u).sum(axis=0) / n_rest if mean is None else mean
        gain = np.where(weight != 0, weight * (all_u - (w * h).mean(axis=0)), 0.0)
        of_rest = np.where(weight != 0, weight**2 * (w_rest * (u - all_u)).var(axis=0) / n_rest if len(u) else 0.0, 0.0)
        of_known = (of_y - weight * of_h).var(axis=0) / n
        saved = np.clip(np.nan_to_num(1 - (of_known + of_rest) * n / of_y.var(axis=0)), 0, 1)
    found, effective = (w * y).mean(axis=0) + gain, float(effective_number(weights[known]))
    return Estimates(found, weight, of_known, of_rest, saved, _to_halve(explained, n, n + n_rest), n, effective)


def _to_halve(explained: Floats, n: int, total: float) -> Floats:
    """How many known values of `total` halve the interval, if the other quantity explains this share of their variance.

    With m of them, the variance of the mean is (1 - explained) / m + explained / total times theirs; with more than all, 1 / m.
    """
    wanted = ((1 - explained) / n + explained / total) / 4
    left = wanted - explained / total
    found = np.divide(1 - explained, left, out=np.full(len(left), np.inf), where=left > 0)
    return np.ceil(np.where(found <= total, found, 1 / wanted) - NOISE)
