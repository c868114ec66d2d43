"""Estimators of two groups that share no unit: the difference and the ratio of their means, with
intervals and a p-value.

As for one sample, p < alpha exactly where the interval at the confidence 1 - alpha leaves out 0,
and that of the ratio 1.
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
from .weighted_means import NOISE, by_column, effective_number, errors, means, over, weighed


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
    for differing_a, differing_b, declared in zip(
        a.number_differing(), b.number_differing(), a.limits.declared, strict=True
    ):
        if min(differing_a, differing_b) >= ENOUGH * (1 - NOISE):
            names.append("t")
        elif declared:
            names.append("bounded")
        else:
            names.append("t" if max(differing_a, differing_b) > 0 else "permutation")
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
    """The contrast of each column by the named estimator or, as ``"auto"``, by its `automatic` one;
    and their names.

    A group of one unit does not tell how far units vary: no interval, and p is 1.
    """
    alpha = math.nan if ci is None else round(1 - ci, 12)
    names = automatic(a, b) if name == "auto" else [name] * a.columns
    contrast = Contrast.empty(a.columns)
    fewest = np.minimum(*(effective_number(weighed(x.values, x.weights)[1]) for x in (a, b)))
    for each in dict.fromkeys(names):
        at = (fewest > 1) & np.array([x == each for x in names])
        if at.any():
            contrast.put(at, OF_TWO_GROUPS[each](a.at(at), b.at(at), alpha, resamples, seed, step))
    contrast.p[(fewest > 0) & (fewest <= 1)] = 1.0
    return contrast, names


def welch(
    a: Sample, b: Sample, alpha: float, resamples: int, seed: int, step: Step | None
) -> Contrast:
    """Welch's test and interval; weights that differ count as fewer units. The ratio's interval is
    Fieller's.

    The ratio rho is tested by the mean of B less rho times that of A, with the degrees of freedom
    of rho = 1.

    References
    ----------
    B. L. Welch (1947), The generalization of Student's problem, Biometrika 34. E. C. Fieller
    (1954), Some problems in interval estimation, JRSS B 16.
    """
    special = load("scipy.special", "stats")
    mean_a, mean_b = (means(x.values, x.weights) for x in (a, b))
    variance_a, variance_b = (errors(x.values, x.weights) ** 2 for x in (a, b))
    number_a, number_b = (effective_number(weighed(x.values, x.weights)[1]) for x in (a, b))
    variance = variance_a + variance_b
    freedom = over(variance**2, variance_a**2 / (number_a - 1) + variance_b**2 / (number_b - 1))
    freedom = np.where(np.isfinite(freedom), freedom, number_a + number_b - 2)
    difference = mean_b - mean_a
    equal = np.abs(difference) <= NOISE * np.maximum(np.abs(mean_a), np.abs(mean_b))
    p = np.where(
        equal, 1.0, 2 * special.stdtr(freedom, -np.abs(over(difference, np.sqrt(variance))))
    )
    t = special.stdtrit(freedom, 1 - alpha / 2)
    half = t * np.sqrt(variance)
    # the roots rho of (mean_b - rho mean_a)^2 = t^2 (variance_b + rho^2 variance_a)
    leading = mean_a**2 - t**2 * variance_a
    product_of_means = mean_a * mean_b
    root = np.sqrt(np.maximum(product_of_means**2 - leading * (mean_b**2 - t**2 * variance_b), 0.0))
    bounded_above = leading > 0
    low = np.where(bounded_above, over(product_of_means - root, leading), np.nan)
    high = np.where(bounded_above, over(product_of_means + root, leading), np.nan)
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
        column = np.arange(a.columns) == i
        contrast.put(column, _permuted(a.at(column), b.at(column), alpha, resamples, seed, step))
    return contrast


def _permuted(
    a: Sample, b: Sample, alpha: float, resamples: int, seed: int, step: Step | None
) -> Contrast:
    """The contrast of one column."""
    (values_a, weights_a), (values_b, weights_b) = _units(a), _units(b)
    n_a, n_b = len(values_a), len(values_b)
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
    left_a, left_b, moved = left_a[tells], left_b[tells], moved[tells]
    certain = 1 + int(np.count_nonzero(~tells))
    total = len(tells) + 1
    noise = NOISE * np.abs(worth).sum() / weights.mean()
    same = np.abs(left_b - left_a) <= noise
    typical = np.where(same, 0.0, (left_b - left_a) / moved)
    low, high, p = inverted(typical, typical, certain, total, alpha)
    span = float(a.limits.greatest[0] - a.limits.least[0]) if a.limits.declared[0] else math.nan
    low, high = (math.copysign(span, x) if math.isinf(x) else x for x in (low, high))
    ratio_low, ratio_high = math.nan, math.nan
    if worth.min() >= 0 and weights.min() == weights.max():
        beyond = np.where(same, 0.0, over(left_b, left_a) - 1)
        ratio_low, ratio_high, _ = inverted(beyond, beyond, certain, total, alpha)
        ratio_low, ratio_high = max(1 + ratio_low, 0.0), 1 + ratio_high
    return Contrast(*(np.array([x]) for x in (low, high, ratio_low, ratio_high, p)))


def _units(sample: Sample) -> tuple[Floats, Floats]:
    """The values of one column and their weights, without those that do not count."""
    values, weights = sample.values[:, 0], by_column(sample.weights)[:, 0]
    there = ~np.isnan(values) & (weights > 0)
    return values[there], weights[there]


def assigned(columns: Floats, n_b: int, resamples: int, seed: int, step: Step | None) -> Floats:
    """The sums of the columns over `n_b` of the units, which are assigned to B: in all other ways,
    if they are few, else at random.
    """
    n = len(columns)
    if math.comb(n, n_b) <= 2**ENUMERATED:
        chosen = np.fromiter(
            chain.from_iterable(combinations(range(n), n_b)), dtype=np.int64
        ).reshape(-1, n_b)
        observed = np.arange(n - n_b, n)
        return np.asarray(columns[chosen[(chosen != observed).any(axis=1)]].sum(axis=1))

    def of_block(stream: np.random.PCG64, size: int) -> Floats:
        sums = []
        for rows in parts(size, n):
            order = np.argpartition(words(stream, rows, n, "<u8"), n_b - 1, axis=1)
            drawn = np.zeros((rows, n))
            np.put_along_axis(drawn, order[:, :n_b], 1.0, axis=1)
            sums.append(product(drawn, columns))
        return np.vstack(sums)

    return np.vstack(of_blocks(of_block, affordable(resamples, n), n, seed, step))


def bounded(
    a: Sample, b: Sample, alpha: float, resamples: int, seed: int, step: Step | None
) -> Contrast:
    """The difference and the ratio of the two groups' means, each as `estimators.bounded` draws
    them.

    For the lower end, the least means of B against the greatest of A; for the upper end, the other
    way round.
    """
    resamples = affordable(resamples, len(a.values) + len(b.values))
    seeds = np.random.SeedSequence(seed).generate_state(2, np.uint64).tolist()
    (below_a, above_a), (below_b, above_b) = (
        with_one_more(x, resamples, own, step) for x, own in zip((a, b), seeds, strict=True)
    )
    span = a.limits.greatest - a.limits.least
    contrast = Contrast.empty(a.columns)
    for i in range(a.columns):
        under, upper = below_b[:, i] - above_a[:, i], above_b[:, i] - below_a[:, i]
        low, high, p = inverted(under, upper, 1, resamples + 1, alpha)
        low, high = max(low, -span[i]), min(high, span[i])
        ratio_low, ratio_high = math.nan, math.nan
        if a.limits.least[i] >= 0:
            under, upper = (
                over(below_b[:, i], above_a[:, i]) - 1,
                over(above_b[:, i], below_a[:, i]) - 1,
            )
            ratio_low, ratio_high, _ = inverted(under, upper, 1, resamples + 1, alpha)
            ratio_low, ratio_high = max(1 + ratio_low, 0.0), 1 + ratio_high
        contrast.put(i, Contrast(*np.array([low, high, ratio_low, ratio_high, p])))
    return contrast


OF_TWO_GROUPS: Mapping[str, Callable[[Sample, Sample, float, int, int, Step | None], Contrast]] = {
    "t": welch, "permutation": permutation, "bounded": bounded,
}  # fmt: skip
"""The estimators of two groups by their names."""
