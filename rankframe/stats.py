"""Intervals, paired tests and corrections on arrays: a row per query, a column per quantity, NaN for a missing value.

Random numbers come from PCG64 streams, one for every `BLOCK` resamples, so that results depend on the seed only.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import NormalDist
from typing import Any, TypeAlias

from ._support.draws import Step, exponentials, parts, resampled, streams, words
from ._support.extras import load
from ._support.floats import Booleans, Floats, np
from ._support.statistical_options import FEW, VERY_FEW, Bound, Correction, PairedTest, Test
from .errors import InvalidOption, option

__all__ = [
    "Bound", "Correction", "Test", "adjust", "automatic", "effective_number", "intervals", "means", "paired_test", "power",
    "queries_needed", "reach", "replicates", "sign_test", "spreads", "tukey",
]  # fmt: skip


TwoEnds: TypeAlias = tuple[Floats, Floats]
"""The lower and the upper ends of columns."""

ENUMERATED = 20
"""The most differences for which all sign flips are enumerated: a million sums."""

NOISE = 1e-12
"""The relative rounding error by which two equal sums may differ."""

COUNTABLE = 2**53
"""The largest number of queries: up to it a float holds every whole number."""


def means(values: Floats, weights: Floats) -> Floats:
    """The weighted mean of each column, clipped to the range of its values; NaN without a value of positive weight."""
    x, w = _weighed(values, weights)
    return np.clip(_over(x.sum(axis=0), w.sum(axis=0)), *_ends(values, weights))


def spreads(values: Floats, weights: Floats) -> Floats:
    """The standard deviation of each column over the queries; NaN for fewer than two, 0 if they differ by rounding only."""
    x, w = _weighed((values - means(values, weights)) ** 2, weights)
    n = np.count_nonzero(w, axis=0)
    found = np.sqrt(_over(_over(x.sum(axis=0), w.sum(axis=0)) * n, n - 1))
    return np.where(found <= NOISE * np.abs(_ends(values, weights)).max(axis=0), 0.0, found)


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
    """The confidence interval of each column's weighted mean; NaN for fewer than two values of positive weight.

    Parameters
    ----------
    values, weights
        The values, and the queries' weights; a query is resampled together with its weight.
    ci
        The confidence, such as 0.95.
    interval
        ``"bca"`` is the bootstrap interval corrected for bias and skewness (the acceleration by the jackknife, which a
        mean has in closed form), ``"percentile"`` the uncorrected one, ``"t"`` Student's, which needs SciPy and
        counts weights that differ as fewer queries (Kish's effective number).
        ``"bounded"`` is valid for few and skewed values: for each end it adds one query, with the limit of the values
        and the largest weight, and gives all queries random weights (the Bayesian bootstrap). For values of 0 and 1 it
        is the exact interval of Clopper and Pearson.
    resamples, seed
        The number of resamples of the queries, the same for all columns; and the seed of the draws.
    step
        Called with the number of resamples done and their total.
    limits
        For ``"bounded"``: the least and the greatest value that a query of each column can have.

    References
    ----------
    B. Efron (1987), Better bootstrap confidence intervals, JASA 82. E. Learned-Miller, P. S. Thomas (2019), A new
    confidence interval for the mean of a bounded random variable, arXiv:1905.06208.
    """
    mean = means(values, weights)
    low, high = (1 - ci) / 2, (1 + ci) / 2
    number = effective_number(_weighed(values, weights)[1])
    fit = (number > 1) & np.isfinite(mean)
    if interval == "t":
        half = np.where(fit, reach(_errors(np.where(fit, values, np.nan), weights), number, ci), np.nan)
        return mean - half, mean + half
    bounds = np.full((2, values.shape[1]), np.nan)
    if interval == "bounded" and fit.any():
        if limits is None:
            raise InvalidOption(option(interval=interval), " takes limits, the least and the greatest values")
        ends = [limit[fit] for limit in limits]
        below, above = _with_one_more(values[:, fit], weights, ends, resamples, seed, step)
        bounds[:, fit] = np.quantile(below, low, axis=0), np.quantile(above, high, axis=0)
    elif fit.any():
        values = values[:, fit]
        drawn = resampled(lambda sums: _over(*sums), _sums(values, weights), resamples, seed, step)
        skew = _acceleration(values, weights) if interval == "bca" else np.zeros(fit.sum())
        for at, column, center, a in zip(np.flatnonzero(fit), drawn.T, mean[fit], skew, strict=True):
            there = column[~np.isnan(column)]
            levels = _levels(there, center, a, low, high) if interval == "bca" else (low, high)
            bounds[:, at] = np.quantile(there, levels)
        bounds[:, fit] = np.clip(bounds[:, fit], *_ends(values, weights))
    return bounds[0], bounds[1]


def automatic(values: Floats, weights: Floats, bounded: Booleans) -> list[Bound | None]:
    """The kind of interval for each column: the shortest that holds for so many values and such a spread.

    Where values have bounds, ``"bounded"`` for fewer than `FEW` values, of which those equal to their median count once; and
    ``"bca"`` for more. Where they have none, ``"t"`` for fewer than `VERY_FEW` values and ``"bca"`` for more; none if all
    are equal. Weights that differ count as fewer values (Kish's effective number).
    """
    found: list[Bound | None] = []
    for column, has_bounds in zip(values.T, bounded, strict=True):
        there = ~np.isnan(column) & (weights > 0)
        x, w = column[there], weights[there]
        if not has_bounds:
            few: Bound = "t" if effective_number(w) < VERY_FEW else "bca"
            found.append(few if len(x) and np.ptp(x) > NOISE * np.abs(x).max() else None)
        else:
            differing = x != np.partition(x, len(x) // 2)[len(x) // 2] if len(x) else there[:0]
            found.append("bounded" if 1 + effective_number(w[differing]) < FEW else "bca")
    return found


def effective_number(weights: Floats) -> Floats:
    """The number of equal weights whose mean varies as much as one with these weights (Kish, Survey Sampling, 1965)."""
    shares = _over(weights, weights.max(axis=0, initial=0.0))  # their squares neither overflow nor vanish
    return np.nan_to_num(_over(shares.sum(axis=0) ** 2, (shares**2).sum(axis=0)))


def replicates(
    values: Floats, weights: Floats, kinds: Sequence[Bound | None], limits: TwoEnds, resamples: int, seed: int
) -> TwoEnds:
    """Means of each column that it might have had: for the lower end and for the upper end of intervals of these kinds.

    A row per resample; both are the same but for ``"bounded"``. NaN for None.
    """
    n = effective_number(_weighed(values, weights)[1])
    below = np.full((resamples, len(kinds)), np.nan)
    above = below.copy()
    for kind in {*kinds} - {None}:
        at = np.array([x == kind for x in kinds])
        if kind == "bounded":
            of_kind = _with_one_more(values[:, at], weights, [limit[at] for limit in limits], resamples, seed, None)
        elif kind == "t":
            deviates = np.random.default_rng(seed).standard_t(np.maximum(n[at] - 1, 1), (resamples, at.sum()))
            of_kind = (means(values[:, at], weights) + _errors(values[:, at], weights) * deviates,) * 2
        else:
            of_kind = (resampled(lambda sums: _over(*sums), _sums(values[:, at], weights), resamples, seed, None),) * 2
        below[:, at], above[:, at] = of_kind
    return below, above


def reach(errors: Floats, n: Floats, ci: float) -> Floats:
    """Half the width of Student's interval for means of `n` values (more than one) with these standard errors."""
    half: Floats = load("scipy.special", "stats").stdtrit(np.maximum(n - 1, 1), (1 + ci) / 2) * errors
    return half


def paired_test(
    differences: Floats, weights: Floats, test: PairedTest, resamples: int, seed: int, step: Step | None = None
) -> tuple[Floats, Booleans]:
    """The two-sided p-value of each column's mean difference, and whether all signs were enumerated for it.

    ``"permutation"`` flips the signs of the queries' differences. If few differences are not 0, it flips them in all
    ways; else in B random ways, the same for all columns. If b of these give a sum as large as the observed one, then p
    = (b + 1) / (B + 1). ``"bootstrap"`` resamples the differences minus their mean and compares Student's statistic.
    ``"t"`` is the paired t-test, in which weights that differ count as fewer queries (Kish's effective number). NaN if
    there is no difference to test, as for fewer than two queries with t and bootstrap.

    References
    ----------
    M. D. Smucker, J. Allan, B. Carterette (2007), A comparison of statistical significance tests for information
    retrieval evaluation, CIKM. T. Sakai (2006), Evaluating evaluation metrics based on the bootstrap, SIGIR.
    """
    n = effective_number(_weighed(differences, weights)[1])
    none = np.zeros(differences.shape[1], dtype=bool)
    if test == "permutation":
        p, enumerated = _signs(differences, weights, resamples, seed, step)
        return np.where(n > 0, p, np.nan), enumerated
    size = np.nansum(np.abs(differences[weights > 0]), axis=0)
    if test == "t":
        found = _over(means(differences, weights), _errors(differences, weights))
        p = 2 * load("scipy.special", "stats").stdtr(np.maximum(n - 1, 1), -np.abs(found))
    else:
        found = _student([x.sum(axis=0) for x in _sums(differences, weights, squares=True)])
        centered = differences - means(differences, weights)
        centered[np.abs(centered) <= NOISE * size] = 0.0
        drawn = resampled(_student, _sums(centered, weights, squares=True), resamples, seed, step)
        p = ((np.abs(drawn) >= np.abs(found) * (1 - NOISE)).sum(axis=0) + 1) / (resamples + 1)
    return np.where(n > 1, np.where(size == 0, 1.0, p), np.nan), none


def sign_test(wins: int, losses: int) -> float:
    """The two-sided p-value of the exact sign test, of so many wins and losses; ties do not count. Needs SciPy."""
    return min(1.0, 2 * float(load("scipy.stats", "stats").binom.cdf(min(wins, losses), wins + losses, 0.5)))


def tukey(values: Floats, weights: Floats, resamples: int, seed: int, step: Step | None = None) -> Floats:
    """The p-value of every two columns' difference of means, by the randomised honestly significant difference.

    Each query's values are permuted among the runs (the columns). p is the share of permutations in which the largest
    mean exceeds the smallest by at least the difference of the two means, so p is corrected for all pairs. Only queries
    for which all runs have a value count.

    References
    ----------
    B. Carterette (2012), Multiple testing in statistical analysis of systems-based information retrieval experiments,
    ACM TOIS 30.
    """
    whole = ~np.isnan(values).any(axis=1)
    runs = values.shape[1]
    if np.isinf(values).any() or not whole.any():
        return np.full((runs, runs), np.nan)
    worth = values[whole] * weights[whole, None]
    sums = worth.sum(axis=0)
    gaps = np.abs(sums[:, None] - sums)
    noise = NOISE * np.abs(worth).sum()
    worth = worth[np.ptp(worth, axis=1) > 0]
    exceeded = np.zeros((runs, runs), dtype=np.int64)
    for stream, size, done in streams(resamples, seed):
        for rows in parts(size, worth.size):
            keys = stream.random_raw(rows * worth.size).reshape(rows, *worth.shape)
            dealt = np.take_along_axis(worth[None], np.argsort(keys, axis=2), axis=2).sum(axis=1)
            ranges = np.ptp(dealt, axis=1) + noise
            exceeded += (ranges[:, None, None] >= gaps).sum(axis=0)
        if step is not None:
            step(done, resamples)
    return (exceeded + 1) / (resamples + 1)


def adjust(p: Floats, correction: Correction | None) -> Floats:
    """P-values corrected for multiple tests: Holm, Benjamini-Hochberg or Benjamini-Yekutieli; NaN does not count."""
    adjusted, there = p.copy(), ~np.isnan(p)
    if correction is None or not there.any():
        return adjusted
    given = p[there]
    down = np.argsort(-given, kind="stable")
    ranks = np.arange(len(given), 0, -1)  # ranks by increasing p-value, from the largest down
    if correction == "holm":
        stepped = np.maximum.accumulate((given[down] * ranks[::-1])[::-1])[::-1]
    else:
        among = len(given) * ((1 / ranks).sum() if correction == "by" else 1)
        stepped = np.minimum.accumulate(given[down] * among / ranks)
    adjusted[there] = np.minimum(stepped, 1)[np.argsort(down, kind="stable")]
    return adjusted


def power(effect: float, n: int, alpha: float) -> float:
    """The power of a two-sided paired t-test for a mean of `effect` standard deviations with n queries."""
    stats = load("scipy.stats", "stats")
    if n < 2:
        return 0.0
    shift, critical = abs(effect) * n**0.5, stats.t.isf(alpha / 2, n - 1)
    above, below = stats.nct.sf(critical, n - 1, shift), stats.nct.cdf(-critical, n - 1, shift)
    return float(np.nan_to_num(above, nan=1.0) + np.nan_to_num(below))  # NaN far from 0: power 1


def queries_needed(effect: float, power_wanted: float, alpha: float) -> int:
    """The least number of queries that give a paired t-test the wanted power for a mean of `effect` standard deviations."""
    most = 2
    while power(effect, most, alpha) < power_wanted:
        most *= 2
        if most > COUNTABLE:
            raise InvalidOption(f"an effect of {effect:g} standard deviations takes more than 2**53 queries to see")
    least = most // 2
    while most - least > 1:
        middle = (least + most) // 2
        least, most = (middle, most) if power(effect, middle, alpha) < power_wanted else (least, middle)
    return most


# sums, weights and errors


def _weighed(values: Floats, weights: Floats) -> TwoEnds:
    """The values times their weights, and the weights; both 0 if the value is missing or the weight is 0."""
    there = ~np.isnan(values) & (weights[:, None] > 0)  # a weight of 0 also removes log 0
    w = there * weights[:, None]
    return np.where(there, values, 0.0) * w, w


def _ends(values: Floats, weights: Floats) -> TwoEnds:
    """The least and the greatest value of positive weight in each column; NaN without one."""
    weighing = np.where(weights[:, None] > 0, values, np.nan)
    return np.fmin.reduce(weighing, initial=np.nan), np.fmax.reduce(weighing, initial=np.nan)


def _over(x: Any, y: Any) -> Floats:
    """The quotient; a divisor of 0 gives NaN or an infinity, without a warning."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.divide(x, y), dtype=np.float64)


def _errors(values: Floats, weights: Floats) -> Floats:
    """The standard error of each column's weighted mean (the usual one where weights are equal)."""
    x, w = _weighed(values - means(values, weights), weights)
    n = effective_number(w)
    return _over(np.sqrt(_over((x**2).sum(axis=0) * n, n - 1)), w.sum(axis=0))


def _acceleration(values: Floats, weights: Floats) -> Floats:
    """The acceleration of BCa: a sixth of the skewness of the jackknife means."""
    x, w = _weighed(values - means(values, weights), weights)
    there = ~np.isnan(values)
    left = np.where(there, _over(-x, w.sum(axis=0) - w), 0.0)  # the mean without the query, minus the mean
    left = np.where(np.isfinite(left), left, 0.0)
    n = np.count_nonzero(there, axis=0)
    inner = np.where(there, left.sum(axis=0) / n - left, 0.0)
    squares = (inner**2).sum(axis=0)
    return np.where(squares > 0, _over((inner**3).sum(axis=0), 6 * squares**1.5), 0.0)


def _levels(drawn: Floats, center: float, a: float, low: float, high: float) -> tuple[float, ...]:
    """The levels of the quantiles that bound the BCa interval."""
    normal = NormalDist()
    noise = NOISE * float(np.abs(drawn).max())
    below = (np.count_nonzero(drawn < center - noise) + np.count_nonzero(drawn <= center + noise)) / (2 * len(drawn))
    z = normal.inv_cdf(min(max(below, 0.5 / len(drawn)), 1 - 0.5 / len(drawn)))
    shifted = (z + normal.inv_cdf(level) for level in (low, high))
    return tuple(normal.cdf(z + x / (1 - a * x)) for x in shifted)


# resampling


def _with_one_more(
    values: Floats, weights: Floats, limits: Sequence[Floats], resamples: int, seed: int, step: Step | None
) -> TwoEnds:
    """Randomly weighted means, with one more query at the least and at the greatest value."""
    both = np.hstack([np.vstack([values, limit]) for limit in limits])
    sums = _sums(both, np.append(weights, weights.max()))
    drawn = resampled(lambda sums: _over(*sums), sums, resamples, seed, step, exponentials)
    below, above = np.split(drawn, 2, axis=1)
    return below, above


def _sums(values: Floats, weights: Floats, *, squares: bool = False) -> list[Floats]:
    """The columns whose sums over a resample make up its statistic."""
    x, w = _weighed(values, weights)
    if not squares and (w == w[:, :1]).all():
        w = w[:, :1]
    return [x, w, x**2, x * w, w**2] if squares else [x, w]


def _student(sums: list[Floats]) -> Floats:
    """Student's statistic of each resample, up to a common factor."""
    x, w, xx, xw, ww = sums
    mean = _over(x, w)
    error = np.sqrt(np.maximum(xx - 2 * mean * xw + mean**2 * ww, 0))
    return _over(mean * w, error)


def _signs(
    differences: Floats, weights: Floats, resamples: int, seed: int, step: Step | None
) -> tuple[Floats, Booleans]:
    """The p-value of each column's sum among those with other signs, and whether all signs were enumerated."""
    worth = _weighed(differences, weights)[0]
    differing = worth != 0
    enumerated = differing.sum(axis=0) <= ENUMERATED
    found, noise = np.abs(worth.sum(axis=0)), NOISE * np.abs(worth).sum(axis=0)
    p = np.empty(worth.shape[1])
    for at in np.flatnonzero(enumerated):
        p[at] = (np.abs(_all_sums(worth[differing[:, at], at])) >= found[at] - noise[at]).mean()
    drawn = np.flatnonzero(~enumerated)
    if len(drawn):
        worth, n = worth[:, drawn], len(worth)
        total, least = worth.sum(axis=0), found[drawn] - noise[drawn]
        b = np.zeros(len(drawn), dtype=np.int64)
        for stream, size, done in streams(resamples, seed):
            for rows in parts(size, n):
                octets = words(stream, rows, -(-n // 8), "u1")
                kept = np.unpackbits(octets, axis=1, count=n, bitorder="little").astype(np.float64)
                b += (np.abs(2 * (kept @ worth) - total) >= least).sum(axis=0)
            if step is not None:
                step(done, resamples)
        p[drawn] = (b + 1) / (resamples + 1)
    return p, enumerated


def _all_sums(x: Floats) -> Floats:
    """The sums of the numbers with all combinations of signs, except that the first number keeps its sign."""
    sums = x[:1] if len(x) else np.zeros(1)
    for number in x[1:]:
        sums = np.concatenate([sums + number, sums - number])
    return sums
