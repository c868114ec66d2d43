"""Estimators: one function from a sample to each column's mean, its interval and its p-value.

p is the smallest level at which the test rejects a mean of 0, and the interval has the means that
it does not reject: p < alpha exactly where the interval at the confidence 1 - alpha leaves out 0.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import chain
from statistics import NormalDist

from .._support.draws import (
    Step,
    affordable,
    exponentials,
    of_blocks,
    parts,
    product,
    resampled,
    words,
)
from .._support.floats import Booleans, Floats, np
from .._support.statistical_options import PLANNED, OfDifferences, Planned, Resamples, Rope, Seed
from .bayes import CHANCES, signed_rank
from .confidence_sequences import confidence_sequence, method_for, values_needed
from .estimate import Estimate, Estimator
from .poisson import means_of_draws, sums_of_draws
from .prediction_powered import OF_JUDGED, estimates
from .random_weights import LEAST_UNITS, RandomMeans
from .sample import Sample, given
from .student import quantiles, upper_tail
from .tukey import honest_differences
from .weighted_means import NOISE, acceleration, by_column, ends, only_where, over, weighed

ENUMERATED = 16
"""The most values other than 0 for which all sign flips are enumerated: 65,536 sums."""

MANY = 5_000
"""The number of values other than 0 above which sums of random signs are as good as normal."""

TUNED_AND_MEAN = 2
"""The judged units that a mean and a tuned weight take; more tell how sure they are."""

ENOUGH = 6
"""The fewest units that differ from the commonest difference, for sign flips.

Of five, p is 2 / 2^5 or more."""


def automatic(sample: Sample) -> list[str]:
    """The estimator of each column of differences.

    Sign flips need `ENOUGH` units that differ from the commonest difference; fewer have the bounded
    estimator, or Student's without limits of the values. Values that are all equal, without limits,
    have no interval.
    """
    names = []
    differing = sample.number_differing()
    is_single = sample.number <= 1
    for number, declared, single in zip(differing, sample.limits.declared, is_single, strict=True):
        if single or number >= ENOUGH * (1 - NOISE):
            names.append("permutation")
        elif declared:
            names.append("bounded")
        else:
            names.append("t" if number > 0 else "permutation")
    return names


def auto(
    sample: Sample,
    alpha: float,
    *,
    resamples: Resamples = 10_000,
    seed: Seed = 0,
    step: Step | None = None,
) -> Estimate:
    """Each column by its `automatic` estimator."""
    kinds = automatic(sample)
    figures = np.full((5, sample.columns), np.nan)
    for kind in dict.fromkeys(kinds):
        at = np.array([x == kind for x in kinds])
        estimate = ESTIMATORS[kind].at(
            sample.at(at), alpha, resamples=resamples, seed=seed, step=step
        )
        figures[:4, at] = estimate.value, estimate.low, estimate.high, estimate.p
        figures[4, at] = estimate.more.get("exact", 0.0)
    value, low, high, p, exact = figures
    return Estimate(value, low, high, p, {"exact": exact}, kinds)


# sign flips


def permutation(
    sample: Sample,
    alpha: float,
    *,
    resamples: Resamples = 10_000,
    seed: Seed = 0,
    step: Step | None = None,
) -> Estimate:
    """The test that flips signs of differences, and its inversion.

    Flipping the signs of the units F makes the sum of the differences less delta as large as it is
    exactly if the mean of F is at most delta. So the means of the sets of units that are flipped
    give p, as the share of those on the other side of 0, and as their quantiles the interval
    (Hartigan's typical values). If few differences are not 0, their signs are flipped in all ways;
    else each random set counts with the set of the other units, and with all units and none.

    References
    ----------
    J. A. Hartigan (1969), Using subsample values as typical values, JASA 64. F. Konietschke, M.
    Pauly (2014), Bootstrapping and permuting paired t-test type statistics, Statistics and
    Computing 24.
    """
    worth, weights = sample.weighed
    n_differing = np.count_nonzero(worth, axis=0)
    exact = n_differing <= ENUMERATED
    many = n_differing > MANY
    figures = np.full((3, sample.columns), np.nan)
    if many.any():
        figures[:, many] = _normal(sample.at(many), alpha)
    flips = _Flips(worth, weights, ends(sample.values, sample.weights))
    for i, subsets in flips.of_columns(exact, ~exact & ~many, resamples, seed, step):
        figures[:, i] = subsets.inverted(alpha)
    low, high, p = figures
    number = sample.number
    limits = sample.limits
    # A test that can reject no mean has the limits as its interval, if they are declared.
    is_limited = limits.declared & (number > 1)
    least = only_where(is_limited, limits.least)
    greatest = only_where(is_limited, limits.greatest)
    low = np.where(np.isinf(low), least, low)
    high = np.where(np.isinf(high), greatest, high)
    low = only_where(number > 1, low)
    high = only_where(number > 1, high)
    p = only_where(number > 0, p)
    return Estimate(sample.mean, low, high, p, {"exact": exact.astype(np.float64)})


@dataclass(frozen=True)
class Subsets:
    """Means of sets of units, a number of sets without a mean, and the number of all sets."""

    means: Floats
    empty: int
    total: int

    def inverted(self, alpha: float) -> tuple[float, float, float]:
        """The ends of the interval, and p."""
        return inverted(self.means, self.means, self.empty, self.total, alpha)


@dataclass(frozen=True)
class _Flips:
    """Values times weights, weights, and the least and greatest value of each column."""

    worth: Floats
    weights: Floats
    within: tuple[Floats, Floats]

    def of_columns(
        self, exact: Booleans, at_random: Booleans, resamples: int, seed: int, step: Step | None
    ) -> list[tuple[int, Subsets]]:
        """The subsets of each column: all of its values other than 0, or random ones."""
        n = len(self.worth)
        n_units = np.count_nonzero(self.weights, axis=0)
        resamples = affordable(resamples, n)
        # The weights of units without a difference.
        rest = np.where(self.worth != 0, 0.0, self.weights)
        has_rest = exact & (n_units > ENUMERATED)
        columns = np.hstack(
            [self.worth[:, at_random], self.weights[:, at_random], rest[:, has_rest]]
        )
        sums = np.empty((resamples, 0))
        if columns.shape[1]:
            sums = flipped(columns, resamples, seed, step)
        k = int(at_random.sum())
        subsets = []
        for j, i in enumerate(np.flatnonzero(at_random).tolist()):
            of_column = self._of_random(i, sums[:, j], sums[:, k + j])
            subsets.append((i, of_column))
        numbers = np.flatnonzero(has_rest).tolist()
        rest_of = dict(zip(numbers, sums[:, 2 * k :].T, strict=True))
        for i in np.flatnonzero(exact).tolist():
            of_column = self._of_all(i, rest_of.get(i))
            subsets.append((i, of_column))
        return subsets

    def _of_random(self, i: int, sums: Floats, weights: Floats) -> Subsets:
        """Those of random sets, each with the set of the other units; of all units, and of none."""
        total = self.worth[:, i].sum()
        weight = self.weights[:, i].sum()
        both = np.concatenate([sums, total - sums, [total]])
        both_weights = np.concatenate([weights, weight - weights, [weight]])
        return self._of_sums(i, both, both_weights)

    def _of_all(self, i: int, rest: Floats | None) -> Subsets:
        """Those of all sets of units; or of units with a difference, and random ones of the
        rest.
        """
        w = self.weights[:, i]
        worth = self.worth[:, i]
        there = w > 0 if rest is None else worth != 0
        sums = _all_sums(worth[there])
        weights = _all_sums(w[there])
        if rest is not None:
            times = -(-len(rest) // len(sums))
            sums = np.tile(sums, times)
            weights = np.tile(weights, times)
            weights = weights + np.resize(rest, len(weights))
        return self._of_sums(i, sums[1:], weights[1:])

    def _of_sums(self, i: int, sums: Floats, weights: Floats) -> Subsets:
        """The means of sets, 0 where the sum is a rounding error.

        The empty set, and those without weight, count as empty.
        """
        least, greatest = self.within
        there = weights > NOISE * self.weights[:, i].sum()
        sums = sums[there]
        noise = NOISE * np.abs(self.worth[:, i]).sum()
        means_of_sets = np.clip(sums / weights[there], least[i], greatest[i])
        means_of_sets = np.where(np.abs(sums) <= noise, 0.0, means_of_sets)
        total = len(there) + 1
        return Subsets(means_of_sets, total - len(sums), total)


def flipped(columns: Floats, resamples: int, seed: int, step: Step | None) -> Floats:
    """The sums of the columns over random sets of the units: a row per set.

    Each unit is in a set with probability 1/2.
    """
    n = len(columns)
    names = [column.tobytes() for column in columns.T]
    # Weights are often the same for all.
    last = {name: i for i, name in enumerate(names)}
    distinct = columns[:, [*last.values()]]
    place = {name: i for i, name in enumerate(last)}

    def of_block(stream: np.random.PCG64, size: int) -> Floats:
        sums = []
        for rows in parts(size, n):
            octets = words(stream, rows, -(-n // 8), "u1")
            in_set = np.unpackbits(octets, axis=1, count=n, bitorder="little")
            sums.append(product(in_set.astype(np.float64), distinct))
        return np.vstack(sums)

    sums = np.vstack(of_blocks(of_block, resamples, n, seed, step))
    return sums[:, [place[name] for name in names]]


def _all_sums(x: Floats) -> Floats:
    """The sums of all sets of the numbers, the empty one first."""
    sums = np.zeros(1)
    for number in x:
        sums = np.concatenate([sums, sums + number])
    return sums


def _normal(sample: Sample, alpha: float) -> tuple[Floats, Floats, Floats]:
    """The interval and p of means of very many values, which are normal."""
    normal = NormalDist()
    value = sample.mean
    error = sample.error
    half = sample.unknown
    if not math.isnan(alpha):
        half = error * normal.inv_cdf(1 - alpha / 2)
    statistic = np.abs(over(value, error))
    p = np.array([2 * normal.cdf(-x) for x in statistic])
    return value - half, value + half, p


# random weights and resamples


def bounded(
    sample: Sample,
    alpha: float,
    *,
    resamples: Resamples = 10_000,
    seed: Seed = 0,
    step: Step | None = None,
) -> Estimate:
    """The bound that is valid for few and skewed values within limits, and the test that it makes.

    For each end it adds one unit, with the limit and the largest weight, and gives all units random
    weights. An end is the mean that this exceeds in a share alpha / 2 of draws, where one more draw
    counts against it: so the guarantee holds for any number of draws. Of very many units of equal
    weight, exact moments give the ends where the mean is near normal.

    References
    ----------
    E. Learned-Miller, P. S. Thomas (2019), A new confidence interval for the mean of a bounded
    random variable, arXiv:1905.06208.
    """
    figures = np.full((3, sample.columns), np.nan)
    fit = sample.varies
    needs_draws = fit
    is_large = len(sample.values) > LEAST_UNITS
    if is_large and (sample.weights == sample.weights.flat[0]).all():
        figures = only_where(fit, without_draws(sample, alpha))
        needs_draws = fit & np.isnan(figures[2])
    low, high, p = figures
    if needs_draws.any():
        resamples = affordable(resamples, len(sample.values) + 1)
        below, above = with_one_more(sample.at(needs_draws), resamples, seed, step)
        total = resamples + 1
        for i, under, upper in zip(np.flatnonzero(needs_draws), below.T, above.T, strict=True):
            figures[:, i] = inverted(under, upper, 1, total, alpha)
        low = np.where(np.isinf(low), sample.limits.least, low)
        high = np.where(np.isinf(high), sample.limits.greatest, high)
    p = np.where((sample.number > 0) & ~fit, 1.0, p)
    return Estimate(sample.mean, low, high, p)


def enough_bounded(share: float, ci: float) -> int:
    """After how many units without a change the bounded interval rules out the loss.

    An interval takes two units. A loss of the whole range on a share of all units changes none of n
    with probability (1 - share)^n.
    """
    if share >= 1 or share < NOISE:
        return 2
    n = math.log((1 - ci) / 2) / math.log1p(-share)
    return max(2, math.ceil(n))


def without_draws(sample: Sample, alpha: float) -> tuple[Floats, Floats, Floats]:
    """The bounded interval and p of means of very many units of equal weight.

    NaN where their skewness asks for draws.
    """
    below = RandomMeans.with_one_more(sample.values, sample.limits.least)
    above = RandomMeans.with_one_more(sample.values, sample.limits.greatest)
    is_near = below.is_near_normal & above.is_near_normal
    one_sided = np.minimum(below.share_to_zero(), 1 - above.share_to_zero())
    p = only_where(is_near, np.minimum(1.0, 2 * one_sided))
    nothing = sample.unknown
    if math.isnan(alpha):
        return nothing, nothing, p
    low = only_where(is_near, below.quantile(alpha / 2))
    high = only_where(is_near, above.quantile(1 - alpha / 2))
    return low, high, p


def with_one_more(
    sample: Sample, resamples: int, seed: int, step: Step | None
) -> tuple[Floats, Floats]:
    """Randomly weighted means, with one more unit at the least and at the greatest value."""
    at_least = np.vstack([sample.values, sample.limits.least])
    at_greatest = np.vstack([sample.values, sample.limits.greatest])
    both = np.hstack([at_least, at_greatest])
    weights = np.broadcast_to(by_column(sample.weights), sample.values.shape)
    weights = np.vstack([weights, weights.max(axis=0)])
    sums = sums_of(both, np.tile(weights, 2))
    replicates = resampled(lambda sums: over(*sums), sums, resamples, seed, step, exponentials)
    largest = np.abs(both).max(axis=0, initial=0.0, where=~np.isnan(both))
    is_noise = np.abs(replicates) <= NOISE * largest
    replicates[is_noise] = 0.0
    below, above = np.split(replicates, 2, axis=1)
    return below, above


def inverted(
    below: Floats, above: Floats, certain: int, total: int, alpha: float
) -> tuple[float, float, float]:
    """The ends of the interval and p, from draws of the mean for either end.

    The draws are out of a `total` with those that always count. The test of a mean delta rejects if
    fewer than alpha / 2 of all draws are at most delta, or at least delta.
    """
    n_up = certain + int(np.count_nonzero(below <= 0))
    n_down = certain + int(np.count_nonzero(above >= 0))
    p = min(1.0, 2 * min(n_up, n_down) / total)
    if math.isnan(alpha):
        return math.nan, math.nan, p
    nth = math.ceil(round(alpha * total / 2, 6)) - certain
    if nth < 1:
        return -math.inf, math.inf, p
    from_last = len(above) - nth
    low = np.partition(below, nth - 1)[nth - 1]
    high = np.partition(above, from_last)[from_last]
    return float(low), float(high), p


def sums_of(values: Floats, weights: Floats, *, squares: bool = False) -> list[Floats]:
    """The columns whose sums over a resample make up its statistic."""
    x, w = weighed(values, weights)
    if not squares and (w == w[:, :1]).all():
        w = w[:, :1]
    return [x, w, x**2, x * w, w**2] if squares else [x, w]


def percentile(
    sample: Sample,
    alpha: float,
    *,
    resamples: Resamples = 10_000,
    seed: Seed = 0,
    step: Step | None = None,
) -> Estimate:
    """The quantiles of resampled means, and the level at which they meet 0."""
    return _of_resamples(sample, alpha, resamples, seed, step, corrected=False)


def bca(
    sample: Sample,
    alpha: float,
    *,
    resamples: Resamples = 10_000,
    seed: Seed = 0,
    step: Step | None = None,
) -> Estimate:
    """The quantiles of resampled means, corrected for bias and skewness, and their level at 0.

    References
    ----------
    B. Efron (1987), Better bootstrap confidence intervals, JASA 82.
    """
    return _of_resamples(sample, alpha, resamples, seed, step, corrected=True)


def _of_resamples(
    sample: Sample, alpha: float, resamples: int, seed: int, step: Step | None, corrected: bool
) -> Estimate:
    """The bootstrap's quantiles: as `corrected`, BCa's."""
    low, high, p = np.full((3, sample.columns), np.nan)
    fit = sample.varies
    if fit.any():
        of_fit = sample.at(fit)
        resamples = affordable(resamples, len(sample.values))
        sums = sums_of(of_fit.values, of_fit.weights)
        replicates = resampled(lambda sums: over(*sums), sums, resamples, seed, step)
        skew = acceleration(of_fit.values, of_fit.weights)
        within = np.transpose(ends(of_fit.values, of_fit.weights))
        for j, i in enumerate(np.flatnonzero(fit)):
            column = replicates[:, j]
            a = skew[j] if corrected else None
            there = ~np.isnan(column)
            center = sample.mean[i]
            quantiles = Quantiles.around(column[there], center, a, within[j])
            low[i], high[i] = quantiles.interval(alpha)
            p[i] = quantiles.p()
    p = np.where((sample.number > 0) & ~fit, 1.0, p)
    return Estimate(sample.mean, low, high, p)


def poisson(sample: Sample, alpha: float, *, resamples: Resamples = 10_000) -> Estimate:
    """The quantiles of means of random numbers of each unit, and the level at which they meet 0.

    The numbers come from the units' ids, so that sums over parts of a sample add up to those of the
    whole.
    """
    low, high, p = np.full((3, sample.columns), np.nan)
    ids = given(sample.ids)
    weights, sums = sums_of_draws(sample.values, sample.weights, ids, resamples)
    within = np.transpose(ends(sample.values, sample.weights))
    for i in np.flatnonzero(sample.varies):
        replicates = means_of_draws(weights[:, i], sums[:, i], *within[i])
        quantiles = Quantiles.around(replicates, sample.mean[i], None, within[i])
        low[i], high[i] = quantiles.interval(alpha)
        p[i] = quantiles.p()
    is_single = (sample.number > 0) & (sample.number <= 1)
    p = np.where(is_single, 1.0, p)
    return Estimate(sample.mean, low, high, p)


@dataclass(frozen=True)
class Quantiles:
    """Sorted resampled means, with BCa's bias correction z and acceleration a.

    An acceleration of None means that they are not corrected.
    """

    replicates: Floats
    z: float
    a: float | None

    @classmethod
    def around(
        cls, replicates: Floats, center: float, a: float | None, within: Floats
    ) -> Quantiles:
        """Those of resampled means around the mean, clipped to the least and greatest value."""
        noise = NOISE * float(np.abs(replicates).max())
        n_less = np.count_nonzero(replicates < center - noise)
        n_at_most = np.count_nonzero(replicates <= center + noise)
        z = normal_quantile((n_less + n_at_most) / 2, len(replicates))
        clipped = np.sort(np.clip(replicates, *within))
        clipped[np.abs(clipped) <= noise] = 0.0
        return cls(clipped, z, a)

    def level(self, tail: float) -> float:
        """The level of the quantile that has a share `tail` below it, after the correction."""
        if self.a is None:
            return tail
        normal = NormalDist()
        x = self.z + normal.inv_cdf(tail)
        corrected = self.z + x / (1 - self.a * x)
        return normal.cdf(corrected)

    def interval(self, alpha: float) -> tuple[float, float]:
        """The ends of the interval."""
        if math.isnan(alpha):
            return math.nan, math.nan
        levels = [self.level(alpha / 2), self.level(1 - alpha / 2)]
        low, high = np.quantile(self.replicates, levels)
        return float(low), float(high)

    def p(self) -> float:
        """The alpha above which the interval leaves out 0, never less than resamples can tell."""
        n_up = int(np.count_nonzero(self.replicates <= 0))
        n_down = int(np.count_nonzero(self.replicates < 0))
        below = self.tail(self._place(n_up))
        above = 1 - self.tail(self._place(n_down))
        least = 1 / (len(self.replicates) + 1)
        one_sided = max(least, min(below, above))
        return min(1.0, 2 * one_sided)

    def _place(self, count: int) -> float:
        """The level of the quantile that is 0, which lies after `count` of the draws."""
        x = self.replicates
        if count in (0, len(x)):
            return float(count > 0)
        last = x[count - 1]
        share = last / (x[count] - last)
        return float((count - 1 - share) / (len(x) - 1))

    def tail(self, level: float) -> float:
        """The share that `level` corrects: its inverse."""
        if self.a is None or level in (0.0, 1.0):
            return level
        normal = NormalDist()
        y = normal.inv_cdf(level) - self.z
        divisor = 1 + self.a * y
        if divisor <= 0:
            # No share has such a level.
            return float(y > 0)
        return normal.cdf(y / divisor - self.z)


def normal_quantile(count: float, total: int) -> float:
    """The normal quantile of a share of draws, within what so many draws can tell."""
    least = 0.5 / total
    share = max(count / total, least)
    return NormalDist().inv_cdf(min(share, 1 - least))


# Student's statistic


def t(sample: Sample, alpha: float) -> Estimate:
    """Student's interval and paired test.

    Weights that differ count as fewer units (Kish's effective number).
    """
    value = sample.mean
    error = sample.error
    freedom = np.maximum(sample.number - 1, 1)
    half = error * quantiles(alpha / 2, freedom)
    half = only_where(sample.varies, half)
    statistic = np.abs(over(value, error))
    p = 2 * upper_tail(statistic, freedom)
    p = np.where(_all_zero(sample), 1.0, p)
    p = only_where(sample.number > 1, p)
    return Estimate(value, value - half, value + half, p)


def bootstrap(
    sample: Sample,
    alpha: float,
    *,
    resamples: Resamples = 10_000,
    seed: Seed = 0,
    step: Step | None = None,
) -> Estimate:
    """The bootstrap of Student's statistic, of the differences less their mean, and its inversion.

    References
    ----------
    T. Sakai (2006), Evaluating evaluation metrics based on the bootstrap, SIGIR. P. Hall (1988), On
    symmetric bootstrap confidence intervals, JRSS B 50.
    """
    values = sample.values
    weights = sample.weights
    value = sample.mean
    columns = sums_of(values, weights, squares=True)
    observed, error = _student([x.sum(axis=0) for x in columns])
    centered = values - value
    largest_value = np.nanmax(np.abs(values), axis=0, initial=0.0)
    centered[np.abs(centered) <= NOISE * largest_value] = 0.0
    resamples = affordable(resamples, len(values))
    columns = sums_of(centered, weights, squares=True)
    sizes = np.abs(resampled(lambda sums: _student(sums)[0], columns, resamples, seed, step))
    sizes = np.where(np.isnan(sizes), -np.inf, sizes)
    total = resamples + 1
    is_as_large = sizes >= np.abs(observed) * (1 - NOISE)
    p = (is_as_large.sum(axis=0) + 1) / total
    half = sample.unknown
    nth = 0 if math.isnan(alpha) else math.ceil(round(alpha * total, 6)) - 1
    if nth > 0:
        from_last = resamples - nth
        largest = np.partition(sizes, from_last, axis=0)[from_last] / (1 - NOISE)
        half = np.where(error > 0, np.maximum(largest, 0) * error, 0.0)
    half = only_where(sample.varies, half)
    p = np.where(_all_zero(sample), 1.0, p)
    p = only_where(sample.number > 1, p)
    return Estimate(value, value - half, value + half, p)


def _student(sums: list[Floats]) -> tuple[Floats, Floats]:
    """Student's statistic of each resample, up to a common factor, and the error of the mean."""
    x, w, xx, xw, ww = sums
    mean = over(x, w)
    squares = xx - 2 * mean * xw + mean**2 * ww
    error = over(np.sqrt(np.maximum(squares, 0)), w)
    return over(mean, error), error


def _all_zero(sample: Sample) -> Booleans:
    """Whether no value of a column is other than 0."""
    worth, _ = sample.weighed
    return np.asarray((worth == 0).all(axis=0))


# several runs at once


def tukey(
    sample: Sample,
    alpha: float,
    *,
    resamples: Resamples = 10_000,
    seed: Seed = 0,
    step: Step | None = None,
) -> Estimate:
    """The randomised honestly significant difference, which holds for all pairs of a metric.

    Units count of which all runs have a value, also for the middle of the interval.
    """
    runs = given(sample.runs)
    figures = []
    for metric in runs.samples:
        # The weights are the same for all runs.
        weights = by_column(metric.weights)[:, 0]
        of_metric = honest_differences(metric.values, weights, alpha, resamples, seed, step)
        figures.append([figure[runs.second, runs.first] for figure in of_metric])
    low, high, p = np.concatenate(figures, axis=1)
    return Estimate(sample.mean, low, high, p)


# several looks


def sequential(
    sample: Sample,
    alpha: float,
    *,
    planned: Planned = PLANNED,
    single: OfDifferences = "auto",
    resamples: Resamples = 10_000,
    seed: Seed = 0,
    step: Step | None = None,
) -> Estimate:
    """The confidence sequence of values in the order in which they came, and its p.

    They hold at all looks at once. It tells how many times as wide it is as the interval of a
    single look, which `single` names, with `resamples` and `seed`; and where the looks contradict
    each other, so that there is no interval.
    """
    method = method_for(planned)
    limits = sample.limits.least, sample.limits.greatest
    values = sample.values[given(sample.order)]
    (low,), (high,), (p,) = confidence_sequence(values, limits, 1 - alpha, method)
    is_crossed = low > high
    low = np.where(is_crossed, np.nan, low)
    high = np.where(is_crossed, np.nan, high)
    alone = ESTIMATORS[single].at(sample, alpha, resamples=resamples, seed=seed, step=step)
    ratio = over(high - low, alone.high - alone.low)
    more = {"width_ratio": ratio, "crossed": is_crossed.astype(np.float64)}
    return Estimate(sample.mean, low, high, p, more, [method] * sample.columns)


def enough_looks(share: float, ci: float, *, planned: Planned = PLANNED) -> int:
    """After how many values of 0 a confidence sequence rules out the loss.

    Differences have twice the range of their values.
    """
    return values_needed(share / 2, ci, method_for(planned))


# few judged units


def prediction_powered(sample: Sample, alpha: float) -> Estimate:
    """The mean of judged units, moved by what a model says of the others (PPI++).

    It has Student's interval and test.
    """
    return _of_judged(sample, alpha, within=True)


def adjusted(sample: Sample, alpha: float, *, adjust_mean: float | None = None) -> Estimate:
    """The mean of judged units, adjusted for a quantity known before (CUPED).

    It has Student's interval and test. `adjust_mean` is the mean of that quantity over all units;
    None for that of the sample.
    """
    return _of_judged(sample, alpha, within=False, mean=adjust_mean)


def _of_judged(
    sample: Sample, alpha: float, *, within: bool, mean: float | None = None
) -> Estimate:
    """The mean of each column, with Student's interval and test.

    NaN for fewer than three judged units.
    """
    known = given(sample.known)
    judged = known.judged & (by_column(sample.weights)[:, 0] > 0)
    if np.count_nonzero(judged) <= TUNED_AND_MEAN:
        nothing = sample.unknown
        more = dict.fromkeys(OF_JUDGED, nothing)
        return Estimate(nothing, nothing, nothing, nothing, more)
    of_judged = estimates(
        sample.values, known.values, known.judged, sample.weights, within=within, mean=mean
    )
    value = of_judged.mean
    half = of_judged.reach(1 - alpha)
    p = np.where(np.isnan(value), np.nan, of_judged.p_values())
    return Estimate(value, value - half, value + half, p, of_judged.columns)


def _mean_predicted(sample: Sample) -> Floats:
    """The mean of each column alone."""
    return prediction_powered(sample, math.nan).value


def _mean_adjusted(sample: Sample, *, adjust_mean: float | None = None) -> Floats:
    """The mean of each column alone."""
    return adjusted(sample, math.nan, adjust_mean=adjust_mean).value


# chances


def bayes(
    sample: Sample,
    alpha: float,
    *,
    rope: Rope = 0.0,
    interval: OfDifferences = "auto",
    resamples: Resamples = 10_000,
    seed: Seed = 0,
    step: Step | None = None,
) -> Estimate:
    """The probabilities of the Bayesian signed-rank test, in place of p.

    The interval is that of another estimator.
    """
    other = ESTIMATORS[interval].at(sample, alpha, resamples=resamples, seed=seed, step=step)
    gains = (sample.values * given(sample.directions)).T
    chances = [signed_rank(x, rope, resamples, seed, step) for x in gains]
    worse, equivalent, better = np.transpose(chances)
    more = dict(zip(CHANCES, (better, equivalent, worse), strict=True))
    return replace(other, p=sample.unknown, more=more)


ESTIMATORS: Mapping[str, Estimator] = {
    each.name: each
    for each in (
        Estimator(
            "auto",
            auto,
            "the paired permutation test, or the bounded interval where fewer than six "
            "queries differ",
        ),
        Estimator("permutation", permutation, "the paired permutation test", "sign flips"),
        Estimator("bca", bca, "the BCa bootstrap", "BCa"),
        Estimator("percentile", percentile, "the percentile bootstrap", "percentile"),
        Estimator("t", t, "the paired t-test", "Student's t"),
        Estimator(
            "bounded",
            bounded,
            "the bounded interval",
            "bounded",
            needs=("limits",),
            holds_for_few=True,
            enough=enough_bounded,
        ),
        Estimator("poisson", poisson, "the Poisson bootstrap", "Poisson bootstrap", needs=("ids",)),
        Estimator(
            "prediction_powered",
            prediction_powered,
            "Student's test of the prediction-powered mean",
            "prediction-powered",
            needs=("known", "plain means"),
            units=("weights",),
            columns=OF_JUDGED,
            mean=_mean_predicted,
        ),
        Estimator(
            "adjusted",
            adjusted,
            "Student's test of the adjusted mean",
            "adjusted",
            needs=("known", "plain means"),
            units=("weights",),
            columns=OF_JUDGED,
            mean=_mean_adjusted,
        ),
        Estimator(
            "sequential",
            sequential,
            "the sequential test",
            {"betting": "betting", "empirical_bernstein": "empirical Bernstein"},
            needs=("bounds", "order", "confidence"),
            units=("look",),
            holds_for_few=True,
            enough=enough_looks,
        ),
        Estimator("bootstrap", bootstrap, "the paired bootstrap test", "bootstrap of Student's t"),
        Estimator(
            "tukey",
            tukey,
            "Tukey's test",
            "simultaneous, of Tukey's test",
            needs=("runs",),
            corrected=True,
        ),
        Estimator(
            "bayes",
            bayes,
            "the Bayesian signed-rank test",
            needs=("directions", "plain means"),
            units=(),
            columns=CHANCES,
            gives_p=False,
        ),
    )
}
"""The estimators by their names."""

TESTS: Mapping[str, str] = {row.name: row.test for row in ESTIMATORS.values()}
"""The tests in sentences."""

INTERVALS: Mapping[str, str] = dict(
    chain.from_iterable(row.intervals.items() for row in ESTIMATORS.values())
)
"""The kinds of interval in sentences."""
