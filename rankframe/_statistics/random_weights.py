"""Means of very many units under exponential random weights: their quantiles from exact moments,
without draws.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

from .._support.floats import Booleans, Floats, np

LEAST_UNITS = 1_000
"""The number of units above which moments are asked before any draw."""

MOST_SKEWED = 0.1
"""The largest skewness of a mean whose quantiles its first three moments tell, to a thousandth of
its standard deviation."""


@dataclass(frozen=True)
class RandomMeans:
    """The distribution of the mean of each column under random weights, which are Dirichlet(1, ...,
    1) of all units.

    Attributes
    ----------
    mean, error, skewness
        Its expectation, its standard deviation and its skewness, a number per column.

    References
    ----------
    D. B. Rubin (1981), The Bayesian bootstrap, Annals of Statistics 9. E. A. Cornish, R. A. Fisher
    (1938), Moments and cumulants in the specification of distributions, Revue de l'Institut
    International de Statistique 5.
    """

    mean: Floats
    error: Floats
    skewness: Floats

    @classmethod
    def of(cls, values: Floats, further: Floats) -> RandomMeans:
        """The random means of values (units by columns, NaN for none) and of one further unit with
        a value per column.
        """
        number = (~np.isnan(values)).sum(axis=0) + 1
        mean = (np.nansum(values, axis=0) + further) / number
        with np.errstate(
            divide="ignore", invalid="ignore"
        ):  # values may be equal, and limits infinite
            away, last = values - mean, further - mean
            squares = np.nansum(away**2, axis=0) + last**2
            cubes = np.nansum(away**3, axis=0) + last**3
            variance = squares / (number * (number + 1))
            third = 2 * cubes / (number * (number + 1) * (number + 2))
            return cls(mean, np.sqrt(variance), third / variance**1.5)

    @property
    def is_near_normal(self) -> Booleans:
        """Whether three moments tell the quantiles."""
        near: Booleans = np.abs(self.skewness) <= MOST_SKEWED  # NaN, of equal values, is not
        return near

    def quantile(self, share: float) -> Floats:
        """The value that the mean is at most with this probability, after Cornish and Fisher."""
        z = NormalDist().inv_cdf(share)
        return self.mean + self.error * (z + (z**2 - 1) * self.skewness / 6)

    def share_to_zero(self) -> Floats:
        """The probability that the mean is at most 0: the inverse of `quantile`."""
        with np.errstate(divide="ignore", invalid="ignore"):
            t = self.skewness / 6 - self.mean / self.error
            z = 2 * t / (1 + np.sqrt(np.maximum(1 + 2 / 3 * self.skewness * t, 0)))
        return np.array([NormalDist().cdf(x) for x in z])
