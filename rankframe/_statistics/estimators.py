"""Estimators: one function from a sample to the mean of each column, its interval and its p-value, of one making.

p is the smallest level at which the test rejects a mean of 0, and the interval has the means that it does not reject: p < alpha
exactly where the interval at the confidence 1 - alpha leaves out 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from inspect import signature
from statistics import NormalDist

from .._support.draws import Step, affordable, exponentials, of_blocks, parts, product, resampled, words
from .._support.floats import Booleans, Floats, np
from .._support.statistical_options import Resamples, Seed
from .random_weights import LEAST_UNITS, RandomMeans
from .sample import Sample
from .student import quantiles, upper_tail
from .weighted_means import NOISE, acceleration, by_column, effective_number, ends, errors, means, over, weighed

ENUMERATED = 16
"""The most values other than 0 for which all sign flips are enumerated: 65,536 sums."""

MANY = 5_000
"""The number of values other than 0 above which sums of random signs are as good as normal."""

ENOUGH = 6
"""The fewest units that differ from the commonest difference for sign flips: of five, p is 2 / 2^5 or more."""


@dataclass(frozen=True)
class Estimate:
    """What an estimator tells of each column.

    Attributes
    ----------
    value
        The weighted mean.
    low, high
        The ends of the interval; NaN without one. Where the test can reject no mean, they are the limits of the values.
    p
        The two-sided p-value of a mean of 0; NaN without a value.
    more
        What else it tells, such as whether p is ``"exact"``.
    """

    value: Floats
    low: Floats
    high: Floats
    p: Floats
    more: Mapping[str, Floats] = field(default_factory=dict)


@dataclass(frozen=True)
class Estimator:
    """A way from a sample to an estimate.

    Attributes
    ----------
    name
        The name of its interval and, if a test is named otherwise, of that test.
    function
        Takes a sample and alpha, which is NaN without an interval, and its own options by name.
    bounded
        Whether it needs limits of the values.
    """

    name: str
    function: Callable[..., Estimate]
    bounded: bool = False

    @property
    def options(self) -> list[str]:
        """The names of its own options."""
        return [name for name, x in signature(self.function).parameters.items() if x.kind is x.KEYWORD_ONLY]

    def __call__(self, sample: Sample, ci: float | None, **options: object) -> Estimate:
        """The estimate, with those of some options that the estimator takes."""
        alpha = math.nan if ci is None else round(1 - ci, 12)
        own = {name: options[name] for name in self.options if name in options}
        return self.function(sample, alpha, **own)


def automatic(sample: Sample) -> list[str]:
    """The estimator of each column of differences.

    Sign flips need `ENOUGH` units that differ from the commonest difference; fewer have the bounded estimator, or Student's
    without limits of the values. Values that are all equal, without limits, have no interval.
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


def estimated(
    sample: Sample, name: str, ci: float | None, resamples: int, seed: int, step: Step | None = None
) -> tuple[Estimate, list[str]]:
    """The estimate of each column by the named estimator or, as ``"auto"``, by its `automatic` one; and their names."""
    names = automatic(sample) if name == "auto" else [name] * sample.columns
    value, low, high, p, exact = np.full((5, sample.columns), np.nan)
    for each in dict.fromkeys(names):
        at = np.array([x == each for x in names])
        found = ESTIMATORS[each](sample.at(at), ci, resamples=resamples, seed=seed, step=step)
        value[at], low[at], high[at], p[at] = found.value, found.low, found.high, found.p
        exact[at] = found.more.get("exact", 0.0)
    return Estimate(value, low, high, p, {"exact": exact}), names


# sign flips


def permutation(
    sample: Sample, alpha: float, *, resamples: Resamples = 10_000, seed: Seed = 0, step: Step | None = None
) -> Estimate:
    """The test that flips signs of differences, and its inversion.

    Flipping the signs of the units F makes the sum of the differences less delta as large as it is exactly if the mean of F
    is at most delta. So the means of the sets of units that are flipped give p, as the share of those on the other side of 0,
    and as their quantiles the interval (Hartigan's typical values). If few differences are not 0, their signs are flipped in
    all ways; else each random set counts with the set of the other units, and with all units and none.

    References
    ----------
    J. A. Hartigan (1969), Using subsample values as typical values, JASA 64. F. Konietschke, M. Pauly (2014), Bootstrapping
    and permuting paired t-test type statistics, Statistics and Computing 24.
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
    """Values times weights and weights of units, by columns, and the least and greatest value of each column."""

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
        rest = np.where(self.worth != 0, 0.0, self.weights)  # the weights of units without a difference
        some_rest = exact & (units > ENUMERATED)
        columns = np.hstack([self.worth[:, drawn], self.weights[:, drawn], rest[:, some_rest]])
        sums = np.empty((resamples, 0))
        if columns.shape[1]:
            sums = flipped(columns, resamples, seed, step)
        k = int(drawn.sum())
        of_drawn = [self._of_drawn(i, sums[:, j], sums[:, k + j]) for j, i in enumerate(np.flatnonzero(drawn).tolist())]
        of_rest = dict(zip(np.flatnonzero(some_rest).tolist(), sums[:, 2 * k :].T, strict=True))
        of_all = [self._of_all(i, of_rest.get(i)) for i in np.flatnonzero(exact).tolist()]
        numbers = [*np.flatnonzero(drawn).tolist(), *np.flatnonzero(exact).tolist()]
        return list(zip(numbers, of_drawn + of_all, strict=True))

    def _of_drawn(self, i: int, sums: Floats, weights: Floats) -> Subsets:
        """Those of random sets, each with the set of the other units; and of all units, and of none."""
        total, weight = self.worth[:, i].sum(), self.weights[:, i].sum()
        both = np.concatenate([sums, total - sums, [total]])
        return self._of_sums(i, both, np.concatenate([weights, weight - weights, [weight]]), 1)

    def _of_all(self, i: int, rest: Floats | None) -> Subsets:
        """Those of all sets of units; or of all sets of units with a difference, with random ones of the `rest`."""
        there = (self.weights[:, i] > 0) if rest is None else self.worth[:, i] != 0
        sums, weights = _all_sums(self.worth[there, i]), _all_sums(self.weights[there, i])
        if rest is not None:
            times = -(-len(rest) // len(sums))
            sums, weights = np.tile(sums, times), np.tile(weights, times)
            weights = weights + np.resize(rest, len(weights))
        return self._of_sums(i, sums[1:], weights[1:], 1)

    def _of_sums(self, i: int, sums: Floats, weights: Floats, empty: int) -> Subsets:
        """The means of sets, 0 where the sum is a rounding error; those without weight count as empty."""
        least, greatest = (end[i] for end in self.within)
        there = weights > NOISE * self.weights[:, i].sum()
        sums, weights, without = sums[there], weights[there], len(there) - int(np.count_nonzero(there))
        none = np.abs(sums) <= NOISE * np.abs(self.worth[:, i]).sum()
        found = np.where(none, 0.0, np.clip(sums / weights, least, greatest))
        return Subsets(found, empty + without, len(there) + empty)


def flipped(columns: Floats, resamples: int, seed: int, step: Step | None) -> Floats:
    """The sums of the columns over random sets of the units, each of which is in a set with probability 1/2: a row per set."""
    n = len(columns)
    place = {column.tobytes(): i for i, column in enumerate(columns.T)}  # weights are often the same for all
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
    sample: Sample, alpha: float, *, resamples: Resamples = 10_000, seed: Seed = 0, step: Step | None = None
) -> Estimate:
    """The bound that is valid for few and skewed values within limits, and the test that it makes.

    For each end it adds one unit, with the limit and the largest weight, and gives all units random weights. An end is the
    mean that this exceeds in a share alpha / 2 of draws, where one more draw counts against it: so the guarantee holds for any
    number of draws. Of very many units of equal weight, exact moments give the ends where the mean is near normal.

    References
    ----------
    E. Learned-Miller, P. S. Thomas (2019), A new confidence interval for the mean of a bounded random variable,
    arXiv:1905.06208.
    """
    value, number = means(sample.values, sample.weights), effective_number(weighed(sample.values, sample.weights)[1])
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


def without_draws(sample: Sample, alpha: float) -> tuple[Floats, Floats, Floats]:
    """The bounded interval and p of means of very many units of equal weight; NaN where their skewness asks for draws."""
    below, above = (RandomMeans.of(sample.values, x) for x in (sample.limits.least, sample.limits.greatest))
    near = below.is_near_normal & above.is_near_normal
    p = np.minimum(1.0, 2 * np.minimum(below.share_to_zero(), 1 - above.share_to_zero()))
    low, high = np.full((2, sample.columns), np.nan)
    if not math.isnan(alpha):
        low, high = below.quantile(alpha / 2), above.quantile(1 - alpha / 2)
    return np.where(near, low, np.nan), np.where(near, high, np.nan), np.where(near, p, np.nan)


def with_one_more(sample: Sample, resamples: int, seed: int, step: Step | None) -> tuple[Floats, Floats]:
    """Randomly weighted means, with one more unit at the least and at the greatest value."""
    limits = sample.limits.least, sample.limits.greatest
    both = np.hstack([np.vstack([sample.values, limit]) for limit in limits])
    weights = np.broadcast_to(by_column(sample.weights), sample.values.shape)
    weights = np.tile(np.vstack([weights, weights.max(axis=0)]), 2)
    sums = sums_of(both, weights)
    drawn = resampled(lambda sums: over(*sums), sums, resamples, seed, step, exponentials)
    drawn[np.abs(drawn) <= NOISE * np.abs(both).max(axis=0, initial=0.0, where=~np.isnan(both))] = 0.0
    below, above = np.split(drawn, 2, axis=1)
    return below, above


def inverted(below: Floats, above: Floats, certain: int, total: int, alpha: float) -> tuple[float, float, float]:
    """The ends of the interval and p, from draws of the mean for either end, out of a `total` with those that always count.

    The test of a mean delta rejects if fewer than alpha / 2 of all draws are at most delta, or at least delta.
    """
    up, down = (certain + int(np.count_nonzero(x)) for x in (below <= 0, above >= 0))
    p = min(1.0, 2 * min(up, down) / total)
    if math.isnan(alpha):
        return math.nan, math.nan, p
    nth = math.ceil(round(alpha * total / 2, 6)) - certain
    if nth < 1:
        return -math.inf, math.inf, p
    low, high = np.partition(below, nth - 1)[nth - 1], np.partition(above, len(above) - nth)[len(above) - nth]
    return float(low), float(high), p


def sums_of(values: Floats, weights: Floats, *, squares: bool = False) -> list[Floats]:
    """The columns whose sums over a resample make up its statistic."""
    x, w = weighed(values, weights)
    if not squares and (w == w[:, :1]).all():
        w = w[:, :1]
    return [x, w, x**2, x * w, w**2] if squares else [x, w]


def percentile(
    sample: Sample, alpha: float, *, resamples: Resamples = 10_000, seed: Seed = 0, step: Step | None = None
) -> Estimate:
    """The quantiles of resampled means, and the level at which they meet 0."""
    return _of_resamples(sample, alpha, resamples, seed, step, corrected=False)


def bca(
    sample: Sample, alpha: float, *, resamples: Resamples = 10_000, seed: Seed = 0, step: Step | None = None
) -> Estimate:
    """The quantiles of resampled means, corrected for bias and skewness, and the level at which they meet 0.

    References
    ----------
    B. Efron (1987), Better bootstrap confidence intervals, JASA 82.
    """
    return _of_resamples(sample, alpha, resamples, seed, step, corrected=True)


def _of_resamples(
    sample: Sample, alpha: float, resamples: int, seed: int, step: Step | None, corrected: bool
) -> Estimate:
    """The bootstrap's quantiles: as `corrected`, BCa's."""
    value, number = means(sample.values, sample.weights), effective_number(weighed(sample.values, sample.weights)[1])
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
            quantiles = Quantiles.of(column[~np.isnan(column)], value[i], a if corrected else None, of_column)
            low[i], high[i], p[i] = (*quantiles.interval(alpha), quantiles.p())
    return Estimate(value, low, high, np.where((number > 0) & ~fit, 1.0, p))


@dataclass(frozen=True)
class Quantiles:
    """Sorted resampled means, with BCa's bias correction z and acceleration a (None: not corrected)."""

    drawn: Floats
    z: float
    a: float | None

    @classmethod
    def of(cls, drawn: Floats, center: float, a: float | None, within: Floats) -> Quantiles:
        """Those of resampled means around the mean, which are clipped to the least and the greatest value."""
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
    """Student's interval and paired test; weights that differ count as fewer units (Kish's effective number)."""
    value, error = means(sample.values, sample.weights), errors(sample.values, sample.weights)
    number = effective_number(weighed(sample.values, sample.weights)[1])
    fit = (number > 1) & np.isfinite(value)
    freedom = np.maximum(number - 1, 1)
    half = np.where(fit, error * quantiles(alpha / 2, freedom), np.nan)
    p = 2 * upper_tail(np.abs(over(value, error)), freedom)
    p = np.where(number > 1, np.where(_all_zero(sample), 1.0, p), np.nan)
    return Estimate(value, value - half, value + half, p)


def bootstrap(
    sample: Sample, alpha: float, *, resamples: Resamples = 10_000, seed: Seed = 0, step: Step | None = None
) -> Estimate:
    """The bootstrap of Student's statistic: its size in resamples of the differences less their mean, and its inversion.

    References
    ----------
    T. Sakai (2006), Evaluating evaluation metrics based on the bootstrap, SIGIR. P. Hall (1988), On symmetric bootstrap
    confidence intervals, JRSS B 50.
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
    """Student's statistic of each resample, up to a common factor, and the error that it divides the mean by."""
    x, w, xx, xw, ww = sums
    mean = over(x, w)
    error = over(np.sqrt(np.maximum(xx - 2 * mean * xw + mean**2 * ww, 0)), w)
    return over(mean, error), error


def _all_zero(sample: Sample) -> Booleans:
    """Whether no value of a column is other than 0."""
    return np.asarray(~(weighed(sample.values, sample.weights)[0] != 0).any(axis=0))


ESTIMATORS: Mapping[str, Estimator] = {
    each.name: each
    for each in (
        Estimator("permutation", permutation),
        Estimator("bounded", bounded, bounded=True),
        Estimator("bca", bca),
        Estimator("percentile", percentile),
        Estimator("bootstrap", bootstrap),
        Estimator("t", t),
    )
}
"""The estimators by their names."""
