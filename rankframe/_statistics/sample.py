"""A sample: units by columns, of which estimators tell a mean, an interval and a p-value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeVar

from .._support.floats import Booleans, Floats, Integers, Unsigned, np
from .weighted_means import NOISE, by_column, over, weighed

T = TypeVar("T")


class Limits(NamedTuple):
    """The least and the greatest value of each column, and whether its metric declares both for an
    arithmetic mean.
    """

    least: Floats
    greatest: Floats
    declared: Booleans

    def repeated(self, times: int) -> Limits:
        """Those of as many columns for each."""
        return Limits(
            self.least.repeat(times), self.greatest.repeat(times), self.declared.repeat(times)
        )

    def at(self, columns: Booleans) -> Limits:
        """Those of some columns."""
        return Limits(self.least[columns], self.greatest[columns], self.declared[columns])


class Known(NamedTuple):
    """What is known of all units, of which people judged some: a quantity in each column, and
    whether people judged each unit.
    """

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
    """What a decision looks at: a value of each unit in each column, and facts that some estimators
    need.

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

    def at(self, columns: Booleans) -> Sample:
        """The sample of some of the columns."""
        weights = self.weights[:, columns] if self.weights.ndim == 2 else self.weights
        return Sample(
            self.values[:, columns], weights, self.limits.at(columns)
        )  # for estimators that need no more

    def of_clusters(self, cluster: Integers) -> Sample:
        """The sample whose units are clusters: the weighted mean of each one's units, and the sum
        of their weights.

        `cluster` has the number of each unit's cluster, from 0 on.
        """
        worth, weights = weighed(self.values, self.weights)
        total, size, of_weights = np.zeros((3, int(cluster.max(initial=-1)) + 1, self.columns))
        np.add.at(total, cluster, worth)
        np.add.at(size, cluster, np.abs(worth))
        np.add.at(of_weights, cluster, weights)
        total[(np.abs(total) <= NOISE * size) & np.isfinite(size)] = (
            0.0  # values that cancel out but for rounding
        )
        runs = self.runs
        if runs is not None:
            runs = runs._replace(samples=[sample.of_clusters(cluster) for sample in runs.samples])
        return replace(self, values=over(total, of_weights), weights=of_weights, runs=runs)

    def number_differing(self) -> Floats:
        """How many units of equal weight those are worth whose value is not the commonest one of
        their column.
        """
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


def given(fact: T | None) -> T:
    """A fact of a sample that its estimator needs."""
    if fact is None:
        raise TypeError("the sample lacks a fact that its estimator needs")
    return fact


def _kish(weights: Floats) -> float:
    """The effective number of some weights; a whole number where they are equal."""
    shares = weights / weights.max()
    return float(shares.sum() ** 2 / (shares**2).sum())


def difference_of_logarithms(ratio: Floats, mean_a: Floats, mean_b: Floats) -> Floats:
    """The difference of two geometric means, given the logarithm of their ratio and the means of
    the logarithms.

    Their product is taken as known: with g its root, the difference is g (exp(ratio / 2) -
    exp(-ratio / 2)). So it is 0 where the ratio is 1, and exactly that of the means at their own
    ratio.
    """
    with np.errstate(invalid="ignore", over="ignore"):
        return np.asarray(2 * np.exp((mean_a + mean_b) / 2) * np.sinh(ratio / 2))
