"""A sample: units by columns, of which estimators tell a mean, an interval and a p-value."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

from .._support.floats import Booleans, Floats, Integers, np
from .weighted_means import NOISE, by_column, over, weighed


class Limits(NamedTuple):
    """The least and the greatest value of each column, and whether its metric declares both for an arithmetic mean."""

    least: Floats
    greatest: Floats
    declared: Booleans

    def repeated(self, times: int) -> Limits:
        """Those of as many columns for each."""
        return Limits(self.least.repeat(times), self.greatest.repeat(times), self.declared.repeat(times))

    def at(self, columns: Booleans) -> Limits:
        """Those of some columns."""
        return Limits(self.least[columns], self.greatest[columns], self.declared[columns])


@dataclass(frozen=True)
class Sample:
    """What a decision looks at: a value of each unit in each column.

    Attributes
    ----------
    values
        Units (queries, users, clusters) by columns (a metric of a run, or of a pair of runs); NaN for none.
    weights
        The weight of each unit, or of each unit in each column.
    limits
        The limits of each column's values.
    """

    values: Floats
    weights: Floats
    limits: Limits

    @property
    def columns(self) -> int:
        """The number of columns."""
        return int(self.values.shape[1])

    def at(self, columns: Booleans) -> Sample:
        """The sample of some of the columns."""
        weights = self.weights[:, columns] if self.weights.ndim == 2 else self.weights
        return Sample(self.values[:, columns], weights, self.limits.at(columns))

    def of_clusters(self, cluster: Integers) -> Sample:
        """The sample whose units are clusters: the weighted mean of each one's units, and the sum of their weights.

        `cluster` has the number of each unit's cluster, from 0 on.
        """
        worth, weights = weighed(self.values, self.weights)
        total, size, of_weights = np.zeros((3, int(cluster.max(initial=-1)) + 1, self.columns))
        np.add.at(total, cluster, worth)
        np.add.at(size, cluster, np.abs(worth))
        np.add.at(of_weights, cluster, weights)
        total[(np.abs(total) <= NOISE * size) & np.isfinite(size)] = 0.0  # values that cancel out but for rounding
        return replace(self, values=over(total, of_weights), weights=of_weights)

    def number_differing(self) -> Floats:
        """How many units of equal weight those are worth whose value is not the commonest one of their column."""
        numbers = np.zeros(self.columns)
        weights = np.broadcast_to(by_column(self.weights), self.values.shape)
        for i, (column, weight) in enumerate(zip(self.values.T, weights.T, strict=True)):
            there = ~np.isnan(column) & (weight > 0)
            x, w = column[there], weight[there]
            if len(x):
                digits = np.round(over(x, np.abs(x).max()), 11)
                distinct, group, counts = np.unique(digits, return_inverse=True, return_counts=True)
                numbers[i] = _kish(w[group != counts.argmax()]) if len(distinct) > 1 else 0.0
        return numbers


def _kish(weights: Floats) -> float:
    """The effective number of some weights; a whole number where they are equal."""
    shares = weights / weights.max()
    return float(shares.sum() ** 2 / (shares**2).sum())


def difference_of_logarithms(ratio: Floats, mean_a: Floats, mean_b: Floats) -> Floats:
    """The difference of two geometric means, given the logarithm of their ratio and the means of the logarithms.

    Their product is taken as known: with g its root, the difference is g (exp(ratio / 2) - exp(-ratio / 2)). So it is 0 where
    the ratio is 1, and exactly that of the means at their own ratio.
    """
    with np.errstate(invalid="ignore", over="ignore"):
        return np.asarray(2 * np.exp((mean_a + mean_b) / 2) * np.sinh(ratio / 2))
