"""Estimators: one function from a sample to the mean of each column, its interval and its p-value,
of one making.

p is the smallest level at which the test rejects a mean of 0, and the interval has the means that
it does not reject: p < alpha exactly where the interval at the confidence 1 - alpha leaves out 0.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
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
from .weighted_means import (
    NOISE,
    acceleration,
    by_column,
    effective_number,
    ends,
    errors,
    means,
    over,
    weighed,
)

ENUMERATED = 16
"""The most values other than 0 for which all sign flips are enumerated: 65,536 sums."""

MANY = 5_000
"""The number of values other than 0 above which sums of random signs are as good as normal."""

TUNED_AND_MEAN = 2
"""The judged units that a mean and a tuned weight take; more tell how sure they are."""

ENOUGH = 6
"""The fewest units that differ from the commonest difference for sign flips: of five, p is 2 / 2^5
or more."""


def automatic(sample: Sample) -> list[str]:
    """The estimator of each column of differences.

    Sign flips need `ENOUGH` units that differ from the commonest difference; fewer have the bounded
    estimator, or Student's without limits of the values. Values that are all equal, without limits,
    have no interval.
    """
    names = []
    differing = sample.number_differing()
    single = effective_number(weighed(sample.values, sample.weights)[1]) <= 1
    for number, declared, alone in zip(differing, sample.limits.declared, single, strict=True):
        if number >= ENOUGH * (1 - NOISE) or alone:
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
    value, low, high, p, exact = np.full((5, sample.columns), np.nan)
    for kind in dict.fromkeys(kinds):
        at = np.array([x == kind for x in kinds])
        found = ESTIMATORS[kind].at(sample.at(at), alpha, resamples=resamples, seed=seed, step=step)
        value[at], low[at], high[at], p[at] = found.value, found.low, found.high, found.p
        exact[at] = found.more.get("exact", 0.0)
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
    worth, weights = weighed(sample.values, sample.weights)
    value = means(sample.values, sample.weights)
    differing = np.count_nonzero(worth, axis=0)
    exact, many = differing <= ENUMERATED, differing > MANY
    low, high, p = np.full((3, sample.columns), np.nan)
    if many.any():
        low[many], high[many], p[many] = _normal(sample.at(many), alpha)
    flips = _Flips(worth, weights, ends(sample.values, sample.weights))
    for i, subsets in flips.of_columns(exact, ~exact & ~many, resamples, seed, step):
        low[i], high[i], p[i] = subsets.inverted(alpha)
    number, limits = effective_number(weights), sample.limits
    unbounded = np.where(limits.declared & (number > 1), 0.0, np.nan)
    low = np.where(np.isinf(low), limits.least + unbounded, low)
    high = np.where(np.isinf(high), limits.greatest + unbounded, high)
    low, high = (np.where(number > 1, end, np.nan) for end in (low, high))
    p = np.where(number > 0, p, np.nan)
    return Estimate(value, low, high, p, {"exact": exact.astype(np.float64)})


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
    """Values times weights and weights of units, by columns, and the least and greatest value of
    each column.
    """

    worth: Floats
    weights: Floats
    within: tuple[Floats, Floats]

    def of_columns(
        self, exact: Booleans, drawn: Booleans, resamples: int, seed: int, step: Step | None
    ) -> list[tuple[int, Subsets]]:
        """The subsets of each column: all of its values other than 0, or random ones."""
        n = len(self.worth)
        units = np.count_nonzero(self.weights, axis=0)
        resamples = affordable(resamples, n)
        rest = np.where(
            self.worth != 0, 0.0, self.weights
        )  # the weights of units without a difference
        some_rest = exact & (units > ENUMERATED)
        columns = np.hstack([self.worth[:, drawn], self.weights[:, drawn], rest[:, some_rest]])
        sums = np.empty((resamples, 0))
        if columns.shape[1]:
            sums = flipped(columns, resamples, seed, step)
        k = int(drawn.sum())
        of_drawn = [
            self._of_drawn(i, sums[:, j], sums[:, k + j])
            for j, i in enumerate(np.flatnonzero(drawn).tolist())
        ]
        of_rest = dict(zip(np.flatnonzero(some_rest).tolist(), sums[:, 2 * k :].T, strict=True))
        of_all = [self._of_all(i, of_rest.get(i)) for i in np.flatnonzero(exact).tolist()]
        numbers = [*np.flatnonzero(drawn).tolist(), *np.flatnonzero(exact).tolist()]
        return list(zip(numbers, of_drawn + of_all, strict=True))

    def _of_drawn(self, i: int, sums: Floats, weights: Floats) -> Subsets:
        """Those of random sets, each with the set of the other units; and of all units, and of
        none.
        """
        total, weight = self.worth[:, i].sum(), self.weights[:, i].sum()
        both = np.concatenate([sums, total - sums, [total]])
        return self._of_sums(i, both, np.concatenate([weights, weight - weights, [weight]]), 1)

    def _of_all(self, i: int, rest: Floats | None) -> Subsets:
        """Those of all sets of units; or of all sets of units with a difference, with random ones
        of the `rest`.
        """
        there = (self.weights[:, i] > 0) if rest is None else self.worth[:, i] != 0
        sums, weights = _all_sums(self.worth[there, i]), _all_sums(self.weights[there, i])
        if rest is not None:
            times = -(-len(rest) // len(sums))
            sums, weights = np.tile(sums, times), np.tile(weights, times)
            weights = weights + np.resize(rest, len(weights))
        return self._of_sums(i, sums[1:], weights[1:], 1)

    def _of_sums(self, i: int, sums: Floats, weights: Floats, empty: int) -> Subsets:
        """The means of sets, 0 where the sum is a rounding error; those without weight count as
        empty.
        """
        least, greatest = (end[i] for end in self.within)
        there = weights > NOISE * self.weights[:, i].sum()
        sums, weights, without = (
            sums[there],
            weights[there],
            len(there) - int(np.count_nonzero(there)),
        )
        none = np.abs(sums) <= NOISE * np.abs(self.worth[:, i]).sum()
        found = np.where(none, 0.0, np.clip(sums / weights, least, greatest))
        return Subsets(found, empty + without, len(there) + empty)


def flipped(columns: Floats, resamples: int, seed: int, step: Step | None) -> Floats:
    """The sums of the columns over random sets of the units, each of which is in a set with
    probability 1/2: a row per set.
    """
    n = len(columns)
    place = {
        column.tobytes(): i for i, column in enumerate(columns.T)
    }  # weights are often the same for all
    distinct = columns[:, [*place.values()]]
    at = {name: i for i, name in enumerate(place)}

    def of_block(stream: np.random.PCG64, size: int) -> Floats:
        sums = []
        for rows in parts(size, n):
            octets = words(stream, rows, -(-n // 8), "u1")
            kept = np.unpackbits(octets, axis=1, count=n, bitorder="little").astype(np.float64)
            sums.append(product(kept, distinct))
        return np.vstack(sums)

    sums = np.vstack(of_blocks(of_block, resamples, n, seed, step))
    return sums[:, [at[column.tobytes()] for column in columns.T]]


def _all_sums(x: Floats) -> Floats:
    """The sums of all sets of the numbers, the empty one first."""
    sums = np.zeros(1)
    for number in x:
        sums = np.concatenate([sums, sums + number])
    return sums


def _normal(sample: Sample, alpha: float) -> tuple[Floats, Floats, Floats]:
    """The interval and p of means of very many values, which are normal."""
    value, error = means(sample.values, sample.weights), errors(sample.values, sample.weights)
    normal = NormalDist()
    half = error * (math.nan if math.isnan(alpha) else normal.inv_cdf(1 - alpha / 2))
    p = np.array([2 * normal.cdf(-abs(x)) for x in over(value, error)])
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
    value, number = (
        means(sample.values, sample.weights),
        effective_number(weighed(sample.values, sample.weights)[1]),
    )
    low, high, p = np.full((3, sample.columns), np.nan)
    fit = (number > 1) & np.isfinite(value)
    drawn = fit
    if len(sample.values) > LEAST_UNITS and (sample.weights == sample.weights.flat[0]).all():
        low, high, p = (np.where(fit, x, np.nan) for x in without_draws(sample, alpha))
        drawn = fit & np.isnan(p)
    if drawn.any():
        resamples = affordable(resamples, len(sample.values) + 1)
        below, above = with_one_more(sample.at(drawn), resamples, seed, step)
        for i, under, upper in zip(np.flatnonzero(drawn), below.T, above.T, strict=True):
            low[i], high[i], p[i] = inverted(under, upper, 1, len(below) + 1, alpha)
        low = np.where(np.isinf(low), sample.limits.least, low)
        high = np.where(np.isinf(high), sample.limits.greatest, high)
    return Estimate(value, low, high, np.where((number > 0) & ~fit, 1.0, p))


def enough_bounded(share: float, ci: float) -> int:
    """After how many units without a change the bounded interval rules out the loss; an interval
    takes two units.

    A loss of the whole range on a share of all units changes none of n with probability (1 -
    share)^n.
    """
    if share >= 1 or share < NOISE:
        return 2
    return max(2, math.ceil(math.log((1 - ci) / 2) / math.log1p(-share)))


def without_draws(sample: Sample, alpha: float) -> tuple[Floats, Floats, Floats]:
    """The bounded interval and p of means of very many units of equal weight; NaN where their
    skewness asks for draws.
    """
    below, above = (
        RandomMeans.of(sample.values, x) for x in (sample.limits.least, sample.limits.greatest)
    )
    near = below.is_near_normal & above.is_near_normal
    p = np.minimum(1.0, 2 * np.minimum(below.share_to_zero(), 1 - above.share_to_zero()))
    low, high = np.full((2, sample.columns), np.nan)
    if not math.isnan(alpha):
        low, high = below.quantile(alpha / 2), above.quantile(1 - alpha / 2)
    return np.where(near, low, np.nan), np.where(near, high, np.nan), np.where(near, p, np.nan)


def with_one_more(
    sample: Sample, resamples: int, seed: int, step: Step | None
) -> tuple[Floats, Floats]:
    """Randomly weighted means, with one more unit at the least and at the greatest value."""
    limits = sample.limits.least, sample.limits.greatest
    both = np.hstack([np.vstack([sample.values, limit]) for limit in limits])
    weights = np.broadcast_to(by_column(sample.weights), sample.values.shape)
    weights = np.tile(np.vstack([weights, weights.max(axis=0)]), 2)
    sums = sums_of(both, weights)
    drawn = resampled(lambda sums: over(*sums), sums, resamples, seed, step, exponentials)
    drawn[np.abs(drawn) <= NOISE * np.abs(both).max(axis=0, initial=0.0, where=~np.isnan(both))] = (
        0.0
    )
    below, above = np.split(drawn, 2, axis=1)
    return below, above


def inverted(
    below: Floats, above: Floats, certain: int, total: int, alpha: float
) -> tuple[float, float, float]:
    """The ends of the interval and p, from draws of the mean for either end, out of a `total` with
    those that always count.

    The test of a mean delta rejects if fewer than alpha / 2 of all draws are at most delta, or at
    least delta.
    """
    up, down = (certain + int(np.count_nonzero(x)) for x in (below <= 0, above >= 0))
    p = min(1.0, 2 * min(up, down) / total)
    if math.isnan(alpha):
        return math.nan, math.nan, p
    nth = math.ceil(round(alpha * total / 2, 6)) - certain
    if nth < 1:
        return -math.inf, math.inf, p
    low, high = (
        np.partition(below, nth - 1)[nth - 1],
        np.partition(above, len(above) - nth)[len(above) - nth],
    )
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
    """The quantiles of resampled means, corrected for bias and skewness, and the level at which
    they meet 0.

    References
    ----------
    B. Efron (1987), Better bootstrap confidence intervals, JASA 82.
    """
    return _of_resamples(sample, alpha, resamples, seed, step, corrected=True)


def _of_resamples(
    sample: Sample, alpha: float, resamples: int, seed: int, step: Step | None, corrected: bool
) -> Estimate:
    """The bootstrap's quantiles: as `corrected`, BCa's."""
    value, number = (
        means(sample.values, sample.weights),
        effective_number(weighed(sample.values, sample.weights)[1]),
    )
    low, high, p = np.full((3, sample.columns), np.nan)
    fit = (number > 1) & np.isfinite(value)
    if fit.any():
        some = sample.at(fit)
        resamples = affordable(resamples, len(sample.values))
        columns = sums_of(some.values, some.weights)
        drawn = resampled(lambda sums: over(*sums), columns, resamples, seed, step)
        skew = acceleration(some.values, some.weights)
        within = np.transpose(ends(some.values, some.weights))
        for i, column, a, of_column in zip(np.flatnonzero(fit), drawn.T, skew, within, strict=True):
            quantiles = Quantiles.of(
                column[~np.isnan(column)], value[i], a if corrected else None, of_column
            )
            low[i], high[i], p[i] = (*quantiles.interval(alpha), quantiles.p())
    return Estimate(value, low, high, np.where((number > 0) & ~fit, 1.0, p))


def poisson(sample: Sample, alpha: float, *, resamples: Resamples = 10_000) -> Estimate:
    """The quantiles of means of random numbers of each unit, and the level at which they meet 0.

    The numbers come from the units' ids, so that sums over parts of a sample add up to those of the
    whole.
    """
    value, number = (
        means(sample.values, sample.weights),
        effective_number(weighed(sample.values, sample.weights)[1]),
    )
    low, high, p = np.full((3, sample.columns), np.nan)
    weights, sums = sums_of_draws(sample.values, sample.weights, given(sample.ids), resamples)
    within = np.transpose(ends(sample.values, sample.weights))
    for i in np.flatnonzero((number > 1) & np.isfinite(value)):
        drawn = means_of_draws(weights[:, i], sums[:, i], *within[i])
        quantiles = Quantiles.of(drawn, value[i], None, within[i])
        low[i], high[i], p[i] = (*quantiles.interval(alpha), quantiles.p())
    return Estimate(value, low, high, np.where((number > 0) & (number <= 1), 1.0, p))


@dataclass(frozen=True)
class Quantiles:
    """Sorted resampled means, with BCa's bias correction z and acceleration a (None: not
    corrected).
    """

    drawn: Floats
    z: float
    a: float | None

    @classmethod
    def of(cls, drawn: Floats, center: float, a: float | None, within: Floats) -> Quantiles:
        """Those of resampled means around the mean, which are clipped to the least and the greatest
        value.
        """
        noise = NOISE * float(np.abs(drawn).max())
        below = np.count_nonzero(drawn < center - noise) + np.count_nonzero(drawn <= center + noise)
        z = normal_quantile(below / 2, len(drawn))
        clipped = np.sort(np.clip(drawn, *within))
        clipped[np.abs(clipped) <= noise] = 0.0
        return cls(clipped, z, a)

    def level(self, tail: float) -> float:
        """The level of the quantile that has a share `tail` below it, after the correction."""
        if self.a is None:
            return tail
        normal = NormalDist()
        x = self.z + normal.inv_cdf(tail)
        return normal.cdf(self.z + x / (1 - self.a * x))

    def interval(self, alpha: float) -> tuple[float, float]:
        """The ends of the interval."""
        if math.isnan(alpha):
            return math.nan, math.nan
        low, high = np.quantile(self.drawn, [self.level(alpha / 2), self.level(1 - alpha / 2)])
        return float(low), float(high)

    def p(self) -> float:
        """The alpha above which the interval leaves out 0, never less than resamples can tell."""
        x, least = self.drawn, 1 / (len(self.drawn) + 1)
        up, down = int(np.count_nonzero(x <= 0)), int(np.count_nonzero(x < 0))
        below = self.tail(self._place(up))
        above = 1 - self.tail(self._place(down))
        return min(1.0, 2 * max(least, min(below, above)))

    def _place(self, count: int) -> float:
        """The level of the quantile that is 0, which lies after `count` of the draws."""
        x = self.drawn
        if count in (0, len(x)):
            return float(count > 0)
        return float((count - 1 - x[count - 1] / (x[count] - x[count - 1])) / (len(x) - 1))

    def tail(self, level: float) -> float:
        """The share that `level` corrects: its inverse."""
        if self.a is None or level in (0.0, 1.0):
            return level
        normal = NormalDist()
        y = normal.inv_cdf(level) - self.z
        if 1 + self.a * y <= 0:  # no share has such a level
            return float(y > 0)
        return normal.cdf(y / (1 + self.a * y) - self.z)


def normal_quantile(count: float, total: int) -> float:
    """The normal quantile of a share of draws, within what so many draws can tell."""
    return NormalDist().inv_cdf(min(max(count / total, 0.5 / total), 1 - 0.5 / total))


# Student's statistic


def t(sample: Sample, alpha: float) -> Estimate:
    """Student's interval and paired test; weights that differ count as fewer units (Kish's
    effective number).
    """
    value, error = means(sample.values, sample.weights), errors(sample.values, sample.weights)
    number = effective_number(weighed(sample.values, sample.weights)[1])
    fit = (number > 1) & np.isfinite(value)
    freedom = np.maximum(number - 1, 1)
    half = np.where(fit, error * quantiles(alpha / 2, freedom), np.nan)
    p = 2 * upper_tail(np.abs(over(value, error)), freedom)
    p = np.where(number > 1, np.where(_all_zero(sample), 1.0, p), np.nan)
    return Estimate(value, value - half, value + half, p)


def bootstrap(
    sample: Sample,
    alpha: float,
    *,
    resamples: Resamples = 10_000,
    seed: Seed = 0,
    step: Step | None = None,
) -> Estimate:
    """The bootstrap of Student's statistic: its size in resamples of the differences less their
    mean, and its inversion.

    References
    ----------
    T. Sakai (2006), Evaluating evaluation metrics based on the bootstrap, SIGIR. P. Hall (1988), On
    symmetric bootstrap confidence intervals, JRSS B 50.
    """
    values, weights = sample.values, sample.weights
    value, number = means(values, weights), effective_number(weighed(values, weights)[1])
    size = np.nansum(np.abs(weighed(values, weights)[0]), axis=0)
    observed, error = _student([x.sum(axis=0) for x in sums_of(values, weights, squares=True)])
    centered = values - value
    centered[np.abs(centered) <= NOISE * np.nanmax(np.abs(values), axis=0, initial=0.0)] = 0.0
    resamples = affordable(resamples, len(values))
    columns = sums_of(centered, weights, squares=True)
    drawn = np.abs(resampled(lambda sums: _student(sums)[0], columns, resamples, seed, step))
    drawn = np.where(np.isnan(drawn), -np.inf, drawn)
    total = resamples + 1
    p = ((drawn >= np.abs(observed) * (1 - NOISE)).sum(axis=0) + 1) / total
    half = np.full(sample.columns, np.nan)
    nth = 0 if math.isnan(alpha) else math.ceil(round(alpha * total, 6)) - 1
    if nth > 0:
        largest = np.partition(drawn, resamples - nth, axis=0)[resamples - nth] / (1 - NOISE)
        half = np.where(error > 0, np.maximum(largest, 0) * error, 0.0)
    half = np.where((number > 1) & np.isfinite(value), half, np.nan)
    p = np.where(number > 1, np.where(size == 0, 1.0, p), np.nan)
    return Estimate(value, value - half, value + half, p)


def _student(sums: list[Floats]) -> tuple[Floats, Floats]:
    """Student's statistic of each resample, up to a common factor, and the error that it divides
    the mean by.
    """
    x, w, xx, xw, ww = sums
    mean = over(x, w)
    error = over(np.sqrt(np.maximum(xx - 2 * mean * xw + mean**2 * ww, 0)), w)
    return over(mean, error), error


def _all_zero(sample: Sample) -> Booleans:
    """Whether no value of a column is other than 0."""
    return np.asarray(~(weighed(sample.values, sample.weights)[0] != 0).any(axis=0))


# several runs at once


def tukey(
    sample: Sample,
    alpha: float,
    *,
    resamples: Resamples = 10_000,
    seed: Seed = 0,
    step: Step | None = None,
) -> Estimate:
    """The randomised honestly significant difference, whose intervals and p hold for all pairs of a
    metric at once.

    Units count of which all runs have a value, also for the middle of the interval.
    """
    runs = given(sample.runs)
    ends = []
    for metric in runs.samples:
        weights = by_column(metric.weights)[:, 0]  # the same for all runs
        of_metric = honest_differences(metric.values, weights, alpha, resamples, seed, step)
        ends.append([end[runs.second, runs.first] for end in of_metric])
    low, high, p = np.concatenate(ends, axis=1)
    return Estimate(means(sample.values, sample.weights), low, high, p)


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
    """The confidence sequence of values in the order in which they came, and its p, which hold at
    all looks at once.

    It tells how many times as wide it is as the interval of a single look, which `single` names,
    with `resamples` and `seed`; and where the looks contradict each other, so that there is no
    interval.
    """
    method = method_for(planned)
    limits = sample.limits.least, sample.limits.greatest
    values = sample.values[given(sample.order)]
    (low,), (high,), (p,) = confidence_sequence(values, limits, 1 - alpha, method)
    crossed = low > high
    low, high = (np.where(crossed, np.nan, end) for end in (low, high))
    alone = ESTIMATORS[single].at(sample, alpha, resamples=resamples, seed=seed, step=step)
    more = {
        "width_ratio": over(high - low, alone.high - alone.low),
        "crossed": crossed.astype(np.float64),
    }
    return Estimate(
        means(sample.values, sample.weights), low, high, p, more, [method] * sample.columns
    )


def enough_looks(share: float, ci: float, *, planned: Planned = PLANNED) -> int:
    """After how many values of 0 a confidence sequence rules out the loss; differences have twice
    the range of their values.
    """
    return values_needed(share / 2, ci, method_for(planned))


# few judged units


def prediction_powered(sample: Sample, alpha: float) -> Estimate:
    """The mean of judged units, moved by what a model says of the others, with Student's interval
    and test (PPI++).
    """
    return _of_judged(sample, alpha, within=True)


def adjusted(sample: Sample, alpha: float, *, adjust_mean: float | None = None) -> Estimate:
    """The mean of judged units, adjusted for a quantity known before, with Student's interval and
    test (CUPED).

    `adjust_mean` is the mean of that quantity over all units; None for that of the sample.
    """
    return _of_judged(sample, alpha, within=False, mean=adjust_mean)


def _of_judged(
    sample: Sample, alpha: float, *, within: bool, mean: float | None = None
) -> Estimate:
    """The mean of each column, with Student's interval and test; NaN for fewer than three judged
    units.
    """
    known = given(sample.known)
    judged = known.judged & (by_column(sample.weights)[:, 0] > 0)
    if np.count_nonzero(judged) <= TUNED_AND_MEAN:
        nothing = np.full(sample.columns, np.nan)
        return Estimate(nothing, nothing, nothing, nothing, dict.fromkeys(OF_JUDGED, nothing))
    found = estimates(
        sample.values, known.values, known.judged, sample.weights, within=within, mean=mean
    )
    half = found.reach(1 - alpha)
    p = np.where(np.isnan(found.mean), np.nan, found.p_values())
    return Estimate(found.mean, found.mean - half, found.mean + half, p, found.columns)


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
    """The probabilities of the Bayesian signed-rank test, in place of p; the interval is that of
    another estimator.
    """
    other = ESTIMATORS[interval].at(sample, alpha, resamples=resamples, seed=seed, step=step)
    gains = (sample.values * given(sample.directions)).T
    worse, equivalent, better = np.transpose(
        [signed_rank(x, rope, resamples, seed, step) for x in gains]
    )
    more = dict(zip(CHANCES, (better, equivalent, worse), strict=True))
    return Estimate(
        other.value, other.low, other.high, np.full(sample.columns, np.nan), more, other.kinds
    )


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
