"""Intervals, paired tests and corrections on arrays: a row per query, a column per quantity, NaN
for a missing value.

Random numbers come from PCG64 streams, one for every `BLOCK` resamples, so that results depend on
the seed only.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ._statistics.estimators import ESTIMATORS, sums_of, with_one_more
from ._statistics.sample import Limits, Sample
from ._statistics.student import quantiles
from ._statistics.tukey import honest_differences
from ._statistics.weighted_means import (
    NOISE,
    TwoEnds,
    effective_number,
    errors,
    means,
    over,
    spreads,
    weighed,
)
from ._support.draws import Step, resampled
from ._support.extras import load
from ._support.floats import Booleans, Floats, np
from ._support.statistical_options import FEW, Bound, Correction, PairedTest, Test
from .errors import InvalidOption, option

__all__ = [
    "NOISE", "Bound", "Correction", "Test", "adjust", "automatic", "effective_number", "intervals",
    "means", "paired_test", "power", "queries_needed", "reach", "replicates", "sign_test",
    "spreads", "tukey",
]  # fmt: skip


COUNTABLE = 2**53
"""The largest number of queries: up to it a float holds every whole number."""


def intervals(
    values: Floats,
    weights: Floats,
    ci: float,
    interval: Bound,
    resamples: int,
    seed: int,
    step: Step | None = None,
    limits: TwoEnds | None = None,
) -> TwoEnds:
    """The confidence interval of each column's weighted mean; NaN for fewer than two values of
    positive weight.

    Parameters
    ----------
    values, weights
        The values, and the queries' weights; a query is resampled together with its weight.
    ci
        The confidence, such as 0.95.
    interval
        ``"bca"`` is the bootstrap interval corrected for bias and skewness (the acceleration by the
        jackknife, which a mean has in closed form), ``"percentile"`` the uncorrected one, ``"t"``
        Student's, which counts weights that differ as fewer queries (Kish's effective number).
        ``"bounded"`` is valid for few and skewed values: for each end it adds one query, with the
        limit of the values and the largest weight, and gives all queries random weights (the
        Bayesian bootstrap). For values of 0 and 1 it is the exact interval of Clopper and Pearson.
    resamples, seed
        The number of resamples of the queries, the same for all columns; and the seed of the draws.
    step
        Called with the number of resamples done and their total.
    limits
        For ``"bounded"``: the least and the greatest value that a query of each column can have.

    References
    ----------
    B. Efron (1987), Better bootstrap confidence intervals, JASA 82. E. Learned-Miller, P. S. Thomas
    (2019), A new confidence interval for the mean of a bounded random variable, arXiv:1905.06208.
    """
    if interval == "bounded" and limits is None:
        raise InvalidOption(
            option(interval=interval), " takes limits, the least and the greatest values"
        )
    sample = _sample(values, weights, limits)
    estimate = ESTIMATORS[interval](sample, ci, resamples=resamples, seed=seed, step=step)
    return estimate.low, estimate.high


def _sample(values: Floats, weights: Floats, limits: TwoEnds | None = None) -> Sample:
    """The values and weights as a sample, with limits if there are any."""
    n_columns = values.shape[1]
    has_limits = np.full(n_columns, limits is not None)
    if limits is None:
        unknown = np.full(n_columns, np.nan)
        limits = (unknown, unknown)
    return Sample(values, weights, Limits(*limits, has_limits))


def automatic(values: Floats, weights: Floats, bounded: Booleans) -> list[Bound | None]:
    """The kind of interval for each column: the shortest that holds for so many values and such a
    spread.

    Where values have bounds, ``"bounded"`` for fewer than `FEW` values, of which those equal to
    their median count once. Where they have none, ``"t"`` for fewer than `FEW` values, and none if
    all are equal. ``"bca"`` for more values; or ``"t"`` if their weights differ, which count as
    fewer values (Kish's effective number).
    """
    kinds = []
    for column, has_bounds in zip(values.T, bounded, strict=True):
        there = ~np.isnan(column) & (weights > 0)
        kind_of = _kind_with_bounds if has_bounds else _kind_without_bounds
        kinds.append(kind_of(column[there], weights[there]))
    return kinds


def _kind_with_bounds(x: Floats, w: Floats) -> Bound:
    """The kind of interval for values x with weights w that have bounds."""
    differing = w
    if len(x):
        middle = len(x) // 2
        median = np.partition(x, middle)[middle]
        differing = w[x != median]
    n = 1 + effective_number(differing)
    return "bounded" if n < FEW else _kind_for_many(w)


def _kind_without_bounds(x: Floats, w: Floats) -> Bound | None:
    """The kind of interval for values x with weights w that may be any numbers."""
    varies = len(x) > 0 and np.ptp(x) > NOISE * np.abs(x).max()
    if not varies:
        return None
    return "t" if effective_number(w) < FEW else _kind_for_many(w)


def _kind_for_many(w: Floats) -> Bound:
    """The kind of interval for many values with weights w."""
    least = w.min(initial=np.inf)
    greatest = w.max(initial=0.0)
    return "bca" if greatest <= least * (1 + NOISE) else "t"


def replicates(
    values: Floats,
    weights: Floats,
    kinds: Sequence[Bound | None],
    limits: TwoEnds,
    resamples: int,
    seed: int,
) -> TwoEnds:
    """Means of each column that it might have had: for the lower end and for the upper end of
    intervals of these kinds.

    A row per resample; both are the same but for ``"bounded"``. NaN for None.
    """
    below = np.full((resamples, len(kinds)), np.nan)
    above = below.copy()
    n = effective_number(weighed(values, weights)[1])
    for kind in {*kinds} - {None}:
        at = np.array([x == kind for x in kinds])
        of_kind = values[:, at]
        if kind == "bounded":
            has_limits = np.ones(at.sum(), dtype=bool)
            bounds = Limits(limits[0][at], limits[1][at], has_limits)
            sample = Sample(of_kind, weights, bounds)
            low, high = with_one_more(sample, resamples, seed, None)
        elif kind == "t":
            low = high = _student_means(of_kind, weights, n[at], resamples, seed)
        else:
            sums = sums_of(of_kind, weights)
            low = high = resampled(_mean_of_sums, sums, resamples, seed, None)
        below[:, at] = low
        above[:, at] = high
    return below, above


def _student_means(values: Floats, weights: Floats, n: Floats, resamples: int, seed: int) -> Floats:
    """Means of each column of n values with Student's deviates for errors, a row per resample."""
    degrees = np.maximum(n - 1, 1)
    generator = np.random.default_rng(seed)
    deviates = generator.standard_t(degrees, (resamples, len(n)))
    return means(values, weights) + errors(values, weights) * deviates


def _mean_of_sums(sums: Sequence[Floats]) -> Floats:
    weighed_sum, weight = sums
    return over(weighed_sum, weight)


def reach(errors: Floats, n: Floats, ci: float) -> Floats:
    """Half the width of Student's interval for means of `n` values (more than one) with these
    standard errors.
    """
    return quantiles((1 - ci) / 2, np.maximum(n - 1, 1)) * errors


def paired_test(
    differences: Floats,
    weights: Floats,
    test: PairedTest,
    resamples: int,
    seed: int,
    step: Step | None = None,
) -> tuple[Floats, Booleans]:
    """The two-sided p-value of each column's mean difference, and whether all signs were enumerated
    for it.

    ``"permutation"`` flips the signs of the queries' differences. If few differences are not 0, it
    flips them in all ways; else in B random ways, the same for all columns. If b of these give a
    sum as large as the observed one, then p = (b + 1) / (B + 1). ``"bootstrap"`` resamples the
    differences minus their mean and compares Student's statistic. ``"t"`` is the paired t-test, in
    which weights that differ count as fewer queries (Kish's effective number). NaN if there is no
    difference to test, as for fewer than two queries with t and bootstrap.

    References
    ----------
    M. D. Smucker, J. Allan, B. Carterette (2007), A comparison of statistical significance tests
    for information retrieval evaluation, CIKM. T. Sakai (2006), Evaluating evaluation metrics based
    on the bootstrap, SIGIR.
    """
    sample = _sample(differences, weights)
    estimate = ESTIMATORS[test](sample, None, resamples=resamples, seed=seed, step=step)
    none = np.zeros(differences.shape[1])
    is_exact = estimate.more.get("exact", none) > 0
    return estimate.p, is_exact


def sign_test(wins: int, losses: int) -> float:
    """The two-sided p-value of the exact sign test, of so many wins and losses; ties do not count.
    Needs SciPy.
    """
    binomial = load("scipy.stats", "stats").binom
    n = wins + losses
    one_sided = float(binomial.cdf(min(wins, losses), n, 0.5))
    return min(1.0, 2 * one_sided)


def tukey(
    values: Floats,
    weights: Floats,
    resamples: int,
    seed: int,
    step: Step | None = None,
    ci: float | None = None,
) -> tuple[Floats, Floats, Floats]:
    """The ends of the interval and the p-value of every two columns' difference of means: the first
    less the second.

    By the randomised honestly significant difference. All intervals hold at once; they are NaN
    without a confidence.

    Each query's values are permuted among the runs (the columns). p is the share of permutations in
    which the largest mean exceeds the smallest by at least the difference of the two means, so p is
    corrected for all pairs. Only queries for which all runs have a value count.

    References
    ----------
    B. Carterette (2012), Multiple testing in statistical analysis of systems-based information
    retrieval experiments, ACM TOIS 30.
    """
    alpha = math.nan if ci is None else round(1 - ci, 12)
    return honest_differences(values, weights, alpha, resamples, seed, step)


def adjust(p: Floats, correction: Correction | None) -> Floats:
    """P-values corrected for multiple tests: Holm, Benjamini-Hochberg or Benjamini-Yekutieli; NaN
    does not count.
    """
    adjusted = p.copy()
    there = ~np.isnan(p)
    if correction is None or not there.any():
        return adjusted
    given = p[there]
    m = len(given)
    falling = np.argsort(-given, kind="stable")
    ranks = np.arange(m, 0, -1)  # by increasing p-value, from the largest p-value down
    if correction == "holm":
        times = (given[falling] * ranks[::-1])[::-1]
        stepped = np.maximum.accumulate(times)[::-1]
    else:
        among = m * (1 / ranks).sum() if correction == "by" else m * 1
        stepped = np.minimum.accumulate(given[falling] * among / ranks)
    back = np.argsort(falling, kind="stable")
    adjusted[there] = np.minimum(stepped, 1)[back]
    return adjusted


def power(effect: float, n: int, alpha: float) -> float:
    """The power of a two-sided paired t-test for a mean of `effect` standard deviations with n
    queries.
    """
    stats = load("scipy.stats", "stats")
    if n < 2:
        return 0.0
    shift = abs(effect) * n**0.5
    critical = stats.t.isf(alpha / 2, n - 1)
    above = stats.nct.sf(critical, n - 1, shift)
    below = stats.nct.cdf(-critical, n - 1, shift)
    # NaN far from 0, where the power is 1
    return float(np.nan_to_num(above, nan=1.0) + np.nan_to_num(below))


def queries_needed(effect: float, power_wanted: float, alpha: float) -> int:
    """The least number of queries that give a paired t-test the wanted power for a mean of `effect`
    standard deviations.
    """
    most = 2
    while power(effect, most, alpha) < power_wanted:
        most *= 2
        if most > COUNTABLE:
            raise InvalidOption(
                f"an effect of {effect:g} standard deviations takes more than 2**53 queries to see"
            )
    least = most // 2
    while most - least > 1:
        middle = (least + most) // 2
        if power(effect, middle, alpha) < power_wanted:
            least = middle
        else:
            most = middle
    return most
