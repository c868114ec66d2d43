"""Estimators of two groups that share no unit: the difference and the ratio of their means.

Both have intervals, and the difference a p-value. As for one sample, p < alpha exactly where the
interval at the confidence 1 - alpha leaves out 0, and that of the ratio 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import chain, combinations

from .._support.draws import Step, affordable, of_blocks, parts, product, words
from .._support.extras import load
from .._support.floats import Floats, np
from .estimators import ENOUGH, ENUMERATED, inverted, with_one_more
from .sample import Sample
from .weighted_means import NOISE, by_column, only_where, over


@dataclass(frozen=True)
class Contrast:
    """What an estimator tells of the second group's mean against the first's, for each column.

    Attributes
    ----------
    low, high
        The ends of the interval of the difference, the second mean less the first; NaN without one.
    ratio_low, ratio_high
        Those of the ratio, the second mean over the first.
    p
        The two-sided p-value of a difference of 0; NaN without a value in both groups.
    """

    low: Floats
    high: Floats
    ratio_low: Floats
    ratio_high: Floats
    p: Floats

    @classmethod
    def empty(cls, columns: int) -> Contrast:
        """One without a figure, to be filled in."""
        return cls(*np.full((5, columns), np.nan))

    def put(self, at: object, other: Contrast) -> None:
        """Fill in the figures of some columns."""
        for name, figures in vars(other).items():
            getattr(self, name)[at] = figures


def automatic(a: Sample, b: Sample) -> list[str]:
    """The estimator of each column of two groups.

    Welch's needs `ENOUGH` units of each group that differ from the group's commonest value. Fewer
    have the bounded one or, without limits of the values, Welch's; where all are equal, the
    permutation of groups.
    """
    names = []
    numbers = zip(a.number_differing(), b.number_differing(), strict=True)
    for differing, declared in zip(numbers, a.limits.declared, strict=True):
        if min(differing) >= ENOUGH * (1 - NOISE):
            names.append("t")
        elif declared:
            names.append("bounded")
        else:
            names.append("t" if max(differing) > 0 else "permutation")
    return names


def contrasted(
    a: Sample,
    b: Sample,
    name: str,
    ci: float | None,
    resamples: int,
    seed: int,
    step: Step | None = None,
) -> tuple[Contrast, list[str]]:
    """The contrast of each column by the named estimator, and the estimator's name.

    ``"auto"`` is the `automatic` one of each column. A group of one unit does not tell how far
    units vary: no interval, and p is 1.
    """
    alpha = math.nan if ci is None else round(1 - ci, 12)
    names = automatic(a, b) if name == "auto" else [name] * a.columns
    contrast = Contrast.empty(a.columns)
    fewest = np.minimum(a.number, b.number)
    for each in dict.fromkeys(names):
        is_each = np.array([x == each for x in names])
        at = is_each & (fewest > 1)
        if at.any():
            estimator = OF_TWO_GROUPS[each]
            contrast.put(at, estimator(a.at(at), b.at(at), alpha, resamples, seed, step))
    contrast.p[(fewest > 0) & (fewest <= 1)] = 1.0
    return contrast, names


def welch(
    a: Sample, b: Sample, alpha: float, resamples: int, seed: int, step: Step | None
) -> Contrast:
    """Welch's test and interval, and Fieller's interval of the ratio.

    Weights that differ count as fewer units. The ratio rho is tested by the mean of B less rho
    times that of A, with the degrees of freedom of rho = 1.

    References
    ----------
    B. L. Welch (1947), The generalization of Student's problem, Biometrika 34. E. C. Fieller
    (1954), Some problems in interval estimation, JRSS B 16.
    """
    special = load("scipy.special", "stats")
    mean_a = a.mean
    mean_b = b.mean
    variance_a = a.error**2
    variance_b = b.error**2
    variance = variance_a + variance_b
    n_a = a.number
    n_b = b.number
    spread = variance_a**2 / (n_a - 1) + variance_b**2 / (n_b - 1)
    freedom = over(variance**2, spread)
    freedom = np.where(np.isfinite(freedom), freedom, n_a + n_b - 2)
    difference = mean_b - mean_a
    error = np.sqrt(variance)
    larger = np.maximum(np.abs(mean_a), np.abs(mean_b))
    is_equal = np.abs(difference) <= NOISE * larger
    p = 2 * special.stdtr(freedom, -np.abs(over(difference, error)))
    p = np.where(is_equal, 1.0, p)
    t = special.stdtrit(freedom, 1 - alpha / 2)
    half = t * error
    # The roots rho of (mean_b - rho mean_a)^2 = t^2 (variance_b + rho^2 variance_a), that is of
    # c_2 rho^2 - 2 c_1 rho + c_0 = 0.
    c_2 = mean_a**2 - t**2 * variance_a
    c_1 = mean_a * mean_b
    c_0 = mean_b**2 - t**2 * variance_b
    root = np.sqrt(np.maximum(c_1**2 - c_2 * c_0, 0.0))
    is_bounded = c_2 > 0
    low = only_where(is_bounded, over(c_1 - root, c_2))
    high = only_where(is_bounded, over(c_1 + root, c_2))
    return Contrast(difference - half, difference + half, low, high, p)


def permutation(
    a: Sample, b: Sample, alpha: float, resamples: int, seed: int, step: Step | None
) -> Contrast:
    """The test that assigns units to groups at random, and its inversion.

    An assignment gives a difference as large as the observed one, after delta is taken from the
    units of B, exactly if its typical value is at most delta. With equal weights that is the mean
    of the units that leave B less the mean of those that leave A, and the ratio of the two for the
    ratio. So the typical values of all assignments, or of random ones, give p, as the share of
    those on the other side of 0, and as their quantiles the interval. Weights that differ give no
    interval of the ratio.
    """
    contrast = Contrast.empty(a.columns)
    for i in range(a.columns):
        at = np.arange(a.columns) == i
        contrast.put(at, _permuted(a.at(at), b.at(at), alpha, resamples, seed, step))
    return contrast


def _permuted(
    a: Sample, b: Sample, alpha: float, resamples: int, seed: int, step: Step | None
) -> Contrast:
    """The contrast of one column."""
    values_a, weights_a = _units(a)
    values_b, weights_b = _units(b)
    n_a = len(values_a)
    n_b = len(values_b)
    in_b = np.arange(n_a + n_b) >= n_a
    weights = np.concatenate([weights_a, weights_b])
    worth = np.concatenate([values_a, values_b]) * weights
    columns = np.stack([worth * ~in_b, worth * in_b, weights * ~in_b, weights * in_b], axis=1)
    total_a, total_b, weight_a, weight_b = columns.sum(axis=0)
    new_b = assigned(columns, n_b, resamples, seed, step)
    sum_a, sum_b, weight_of_a, weight_of_b = new_b.T
    weight_new_b = weight_of_a + weight_of_b
    weight_new_a = weight_a + weight_b - weight_new_b
    left_b = total_b / weight_b - sum_b / weight_new_b + (total_b - sum_b) / weight_new_a
    left_a = total_a / weight_a + sum_a / weight_new_b - (total_a - sum_a) / weight_new_a
    moved = 1 - weight_of_b / weight_new_b + (weight_b - weight_of_b) / weight_new_a
    tells = moved > NOISE
    left_a = left_a[tells]
    left_b = left_b[tells]
    total = len(tells) + 1
    certain = total - int(np.count_nonzero(tells))
    noise = NOISE * np.abs(worth).sum() / weights.mean()
    is_equal = np.abs(left_b - left_a) <= noise
    typical = np.where(is_equal, 0.0, (left_b - left_a) / moved[tells])
    low, high, p = inverted(typical, typical, certain, total, alpha)
    span = math.nan
    if a.limits.declared[0]:
        span = float(a.limits.greatest[0] - a.limits.least[0])
    low = -span if math.isinf(low) else low
    high = span if math.isinf(high) else high
    ratio_low, ratio_high = math.nan, math.nan
    if worth.min() >= 0 and weights.min() == weights.max():
        beyond = np.where(is_equal, 0.0, over(left_b, left_a) - 1)
        ratio_low, ratio_high = _ratio(beyond, beyond, certain, total, alpha)
    return Contrast(*np.array([[low], [high], [ratio_low], [ratio_high], [p]]))


def _ratio(
    below: Floats, above: Floats, certain: int, total: int, alpha: float
) -> tuple[float, float]:
    """The ends of the ratio's interval, from draws of the ratio less 1 for either end."""
    low, high, _ = inverted(below, above, certain, total, alpha)
    return max(1 + low, 0.0), 1 + high


def _units(sample: Sample) -> tuple[Floats, Floats]:
    """The values of one column and their weights, without those that do not count."""
    values = sample.values[:, 0]
    weights = by_column(sample.weights)[:, 0]
    there = ~np.isnan(values) & (weights > 0)
    return values[there], weights[there]


def assigned(columns: Floats, n_b: int, resamples: int, seed: int, step: Step | None) -> Floats:
    """The sums of the columns over `n_b` of the units, which are assigned to B.

    They are assigned in all other ways, if they are few, else at random.
    """
    n = len(columns)
    if math.comb(n, n_b) <= 2**ENUMERATED:
        units = chain.from_iterable(combinations(range(n), n_b))
        ways = np.fromiter(units, dtype=np.int64).reshape(-1, n_b)
        observed = np.arange(n - n_b, n)
        is_other = (ways != observed).any(axis=1)
        return np.asarray(columns[ways[is_other]].sum(axis=1))

    def of_block(stream: np.random.PCG64, size: int) -> Floats:
        sums = []
        for rows in parts(size, n):
            keys = words(stream, rows, n, "<u8")
            order = np.argpartition(keys, n_b - 1, axis=1)
            in_b = np.zeros((rows, n))
            np.put_along_axis(in_b, order[:, :n_b], 1.0, axis=1)
            sums.append(product(in_b, columns))
        return np.vstack(sums)

    resamples = affordable(resamples, n)
    return np.vstack(of_blocks(of_block, resamples, n, seed, step))


def bounded(
    a: Sample, b: Sample, alpha: float, resamples: int, seed: int, step: Step | None
) -> Contrast:
    """The difference and the ratio of the two groups' means, drawn as by `estimators.bounded`.

    For the lower end, the least means of B against the greatest of A; for the upper end, the other
    way round.
    """
    resamples = affordable(resamples, len(a.values) + len(b.values))
    seed_a, seed_b = np.random.SeedSequence(seed).generate_state(2, np.uint64).tolist()
    below_a, above_a = with_one_more(a, resamples, seed_a, step)
    below_b, above_b = with_one_more(b, resamples, seed_b, step)
    total = resamples + 1
    contrast = Contrast.empty(a.columns)
    for i in range(a.columns):
        under = below_b[:, i] - above_a[:, i]
        upper = above_b[:, i] - below_a[:, i]
        low, high, p = inverted(under, upper, 1, total, alpha)
        span = a.limits.greatest[i] - a.limits.least[i]
        low = max(low, -span)
        high = min(high, span)
        ratio_low, ratio_high = math.nan, math.nan
        if a.limits.least[i] >= 0:
            under = over(below_b[:, i], above_a[:, i]) - 1
            upper = over(above_b[:, i], below_a[:, i]) - 1
            ratio_low, ratio_high = _ratio(under, upper, 1, total, alpha)
        contrast.put(i, Contrast(*np.array([low, high, ratio_low, ratio_high, p])))
    return contrast


OF_TWO_GROUPS: Mapping[str, Callable[[Sample, Sample, float, int, int, Step | None], Contrast]] = {
    "t": welch, "permutation": permutation, "bounded": bounded,
}  # fmt: skip
"""The estimators of two groups by their names."""
