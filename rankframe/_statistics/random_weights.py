"""Means of very many units under random weights: quantiles from exact moments, without draws."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

from .._support.floats import Booleans, Floats, np

LEAST_UNITS = 1_000
"""The number of units above which moments are asked before any draw."""

MOST_SKEWED = 0.1
"""The largest skewness of a mean whose quantiles its first three moments tell.

They tell these to a thousandth of its standard deviation."""


@dataclass(frozen=True)
class RandomMeans:
    """The distribution of the mean of each column under random weights.

    The weights are Dirichlet(1, ..., 1) of all units.

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
    def with_one_more(cls, values: Floats, further: Floats) -> RandomMeans:
        """The random means of values, and of one further unit with a value per column.

        The values are units by columns, NaN for none.
        """
        n = (~np.isnan(values)).sum(axis=0) + 1
        mean = (np.nansum(values, axis=0) + further) / n
        # Values may be equal, and limits infinite.
        with np.errstate(divide="ignore", invalid="ignore"):
            away = values - mean
            last = further - mean
            squares = np.nansum(away**2, axis=0) + last**2
            cubes = np.nansum(away**3, axis=0) + last**3
            variance = squares / (n * (n + 1))
            third = 2 * cubes / (n * (n + 1) * (n + 2))
            skewness = third / variance**1.5
            return cls(mean, np.sqrt(variance), skewness)

    @property
    def is_near_normal(self) -> Booleans:
        """Whether three moments tell the quantiles."""
        # The skewness of equal values is NaN.
        is_near: Booleans = np.abs(self.skewness) <= MOST_SKEWED
        return is_near

    def quantile(self, share: float) -> Floats:
        """The value that the mean is at most with this probability, after Cornish and Fisher."""
        z = NormalDist().inv_cdf(share)
        x = z + (z**2 - 1) * self.skewness / 6
        return self.mean + self.error * x

    def share_to_zero(self) -> Floats:
        """The probability that the mean is at most 0: the inverse of `quantile`."""
        with np.errstate(divide="ignore", invalid="ignore"):
            t = self.skewness / 6 - self.mean / self.error
            square = np.maximum(1 + 2 / 3 * self.skewness * t, 0)
            z = 2 * t / (1 + np.sqrt(square))
        return np.array([NormalDist().cdf(x) for x in z])
