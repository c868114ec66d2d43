"""A sample: units by columns, of which estimators tell a mean, an interval and a p-value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, TypeVar

from .._support.floats import Booleans, Floats, Integers, Unsigned, np
from .weighted_means import NOISE, by_column, effective_number, errors, means, over, weighed

T = TypeVar("T")


class Limits(NamedTuple):
    """The least and the greatest value of each column.

    They are declared where the metric is an arithmetic mean and names both.
    """

    least: Floats
    greatest: Floats
    declared: Booleans

    def repeated(self, times: int) -> Limits:
        """Those of as many columns for each."""
        least = self.least.repeat(times)
        greatest = self.greatest.repeat(times)
        return Limits(least, greatest, self.declared.repeat(times))

    def at(self, columns: Booleans) -> Limits:
        """Those of some columns."""
        least = self.least[columns]
        greatest = self.greatest[columns]
        return Limits(least, greatest, self.declared[columns])


class Known(NamedTuple):
    """What is known of all units: a quantity in each column, and whether people judged the unit."""

    values: Floats
    judged: Booleans


class RunsOfPairs(NamedTuple):
    """The runs whose differences the columns of a sample are, by metric and then pair.

    Attributes
    ----------
    samples
        Of each metric a sample with a column per run.
    first, second
        The numbers of the runs of each pair; a difference is the second less the first.
    """

    samples: Sequence[Sample]
    first: Integers
    second: Integers


@dataclass(frozen=True)
class Sample:
    """What a decision looks at: a value of each unit in each column, and facts of some estimators.

    Attributes
    ----------
    values
        Units (queries, users, clusters) by columns (a metric of a run, or of a pair of runs); NaN
        for none.
    weights
        The weight of each unit, or of each unit in each column.
    limits
        The limits of each column's values.
    directions
        1 for a column whose larger values are better, otherwise -1.
    order
        The numbers of the units in the order in which they came.
    ids
        A number for each unit, derived from its id and a seed.
    runs
        The runs whose differences the columns are.
    known
        What is known of all units, of which people judged some; others have no value.
    """

    values: Floats
    weights: Floats
    limits: Limits
    directions: Floats | None = None
    order: Integers | None = None
    ids: Unsigned | None = None
    runs: RunsOfPairs | None = None
    known: Known | None = None

    @property
    def columns(self) -> int:
        """The number of columns."""
        return int(self.values.shape[1])

    @cached_property
    def weighed(self) -> tuple[Floats, Floats]:
        """The values times their weights, and the weights; both 0 where a value is missing."""
        return weighed(self.values, self.weights)

    @cached_property
    def mean(self) -> Floats:
        """The weighted mean of each column."""
        return means(self.values, self.weights)

    @cached_property
    def error(self) -> Floats:
        """The standard error of each mean."""
        return errors(self.values, self.weights)

    @cached_property
    def number(self) -> Floats:
        """The effective number of the units that have a value, in each column."""
        _, weights = self.weighed
        return effective_number(weights)

    @property
    def unknown(self) -> Floats:
        """NaN for each column."""
        return np.full(self.columns, np.nan)

    @property
    def varies(self) -> Booleans:
        """Whether a column has a finite mean, and units that are worth more than one."""
        return (self.number > 1) & np.isfinite(self.mean)

    def at(self, columns: Booleans) -> Sample:
        """The sample of some of the columns, for estimators that need no further facts."""
        weights = self.weights
        if weights.ndim == 2:
            weights = weights[:, columns]
        return Sample(self.values[:, columns], weights, self.limits.at(columns))

    def of_clusters(self, cluster: Integers) -> Sample:
        """The sample whose units are clusters.

        A cluster has the weighted mean of its units, and the sum of their weights. `cluster` has
        the number of each unit's cluster, from 0 on.
        """
        worth, weights = self.weighed
        n_clusters = int(cluster.max(initial=-1)) + 1
        total, size, weight = np.zeros((3, n_clusters, self.columns))
        np.add.at(total, cluster, worth)
        np.add.at(size, cluster, np.abs(worth))
        np.add.at(weight, cluster, weights)
        # Values may cancel out but for rounding.
        cancel_out = (np.abs(total) <= NOISE * size) & np.isfinite(size)
        total[cancel_out] = 0.0
        runs = self.runs
        if runs is not None:
            samples = [sample.of_clusters(cluster) for sample in runs.samples]
            runs = runs._replace(samples=samples)
        return replace(self, values=over(total, weight), weights=weight, runs=runs)

    def number_differing(self) -> Floats:
        """How many units of equal weight those that differ from their column's commonest value
        are.
        """
        numbers = np.zeros(self.columns)
        weights = np.broadcast_to(by_column(self.weights), self.values.shape)
        for i in range(self.columns):
            x = self.values[:, i]
            w = weights[:, i]
            there = ~np.isnan(x) & (w > 0)
            if there.any():
                numbers[i] = _worth_of_differing(x[there], w[there])
        return numbers


def _worth_of_differing(x: Floats, w: Floats) -> float:
    """The effective number of the values that differ from the commonest one by more than noise."""
    digits = np.round(over(x, np.abs(x).max()), 11)
    _, group, sizes = np.unique(digits, return_inverse=True, return_counts=True)
    differs = group != sizes.argmax()
    if not differs.any():
        return 0.0
    share = w[differs] / w[differs].max()
    return float(share.sum() ** 2 / (share**2).sum())


def given(fact: T | None) -> T:
    """A fact of a sample that its estimator needs."""
    if fact is None:
        raise TypeError("the sample lacks a fact that its estimator needs")
    return fact


def difference_of_logarithms(ratio: Floats, mean_a: Floats, mean_b: Floats) -> Floats:
    """The difference of two geometric means, from the logarithm of their ratio.

    `mean_a` and `mean_b` are the means of the logarithms. The product of the geometric means is
    taken as known: with g its root, the difference is g (exp(ratio / 2) - exp(-ratio / 2)). So it
    is 0 where the ratio is 1, and exactly that of the means at their own ratio.
    """
    with np.errstate(invalid="ignore", over="ignore"):
        g = np.exp((mean_a + mean_b) / 2)
        return np.asarray(2 * g * np.sinh(ratio / 2))
