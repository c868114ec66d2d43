"""Intervals, tests and corrections held against SciPy, statsmodels, and plain Python over the same random numbers."""

from __future__ import annotations

import itertools
import math
import subprocess
import sys
import warnings
from collections.abc import Iterator
from statistics import NormalDist
from time import sleep
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import special as scipy_special, stats as scipy_stats

import rankframe as rf
from rankframe import stats
from rankframe._statistics.estimators import Quantiles
from rankframe._statistics.student import quantiles, upper_tail
from rankframe._support import draws as drawing, progress
from rankframe._support.progress import Progress
from tests.support.each import each

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from statsmodels.stats.multitest import multipletests
    from statsmodels.stats.power import TTestPower

RNG = np.random.default_rng(5)
ONES = np.ones(12)
VALUES = np.round(RNG.random((12, 3)) ** 2, 3)
WEIGHTS = RNG.integers(0, 5, 12).astype(float)
HOLES = VALUES.copy()
HOLES[[1, 4, 5], 1] = np.nan
HOLES[3, 2] = np.nan


def streams(resamples: int, seed: int) -> Iterator[tuple[np.random.PCG64, int]]:
    """One stream for every hundred resamples, as documented."""
    for i, child in enumerate(np.random.SeedSequence(seed).spawn(math.ceil(resamples / 100))):
        yield np.random.PCG64(child), min(100, resamples - 100 * i)


def draws(n: int, resamples: int, seed: int) -> Iterator[list[int]]:
    """The queries of each resample: 32 bits of the stream each, times n, less the fraction."""
    for stream, size in streams(resamples, seed):
        for _ in range(size):
            words = [int(x) for x in stream.random_raw(math.ceil(n / 2))]
            halves = [half for x in words for half in (x % 2**32, x // 2**32)]
            yield [half * n // 2**32 for half in halves[:n]]


def mean(x: list[float], w: list[float]) -> float:
    there = [(a, b) for a, b in zip(x, w, strict=True) if not math.isnan(a)]
    total = sum(b for _, b in there)
    return sum(a * b for a, b in there) / total if total else math.nan


def resampled_means(column: Any, weights: Any, resamples: int, seed: int) -> np.ndarray[Any, Any]:
    x, w = column.tolist(), weights.tolist()
    return np.array([mean([x[i] for i in d], [w[i] for i in d]) for d in draws(len(x), resamples, seed)])


def test_the_streams_of_random_numbers_are_those_of_every_machine() -> None:
    first, second = (np.random.PCG64(child).random_raw(2).tolist() for child in np.random.SeedSequence(0).spawn(2))
    assert [first, second] == RECORDED
    counts = np.bincount([half * 4 // 2**32 for half in HALVES], minlength=4)
    assert drawing.counts(np.random.PCG64(np.random.SeedSequence(0).spawn(1)[0]), 1, 4).tolist() == [counts.tolist()]


RECORDED = [[17394127715520444142, 5835390491061343638], [12492077108140196533, 4482314363672241088]]
HALVES = [half for x in RECORDED[0] for half in (x % 2**32, x // 2**32)]


@each("interval", ["bca", "percentile"])
def test_bootstrap_intervals_are_scipys_over_the_same_resamples(interval: Any) -> None:
    low, high = stats.intervals(VALUES, ONES, 0.9, interval, 250, 3)
    for i, column in enumerate(VALUES.T):
        drawn = SimpleNamespace(bootstrap_distribution=resampled_means(column, ONES, 250, 3))
        wanted = scipy_stats.bootstrap(
            (column,), np.mean, n_resamples=0, confidence_level=0.9, method=interval, bootstrap_result=drawn
        ).confidence_interval
        assert (low[i], high[i]) == pytest.approx((wanted.low, wanted.high), rel=1e-12)


def test_a_default_interval_is_scipys_but_for_the_draws() -> None:
    values = np.random.default_rng(1).beta(0.5, 1, (80, 1))
    low, high = stats.intervals(values, np.ones(80), 0.95, "bca", 10_000, 0)
    wanted = scipy_stats.bootstrap((values[:, 0],), np.mean, method="BCa", rng=np.random.default_rng(0))
    error = 0.05 * values.std() / 80**0.5  # some three standard errors of such a quantile
    assert (low[0], high[0]) == pytest.approx(tuple(wanted.confidence_interval), abs=2 * error)


def test_nulls_and_weights_go_along_with_their_queries() -> None:
    low, high = stats.intervals(HOLES, WEIGHTS, 0.8, "percentile", 300, 7)
    for i, column in enumerate(HOLES.T):
        wanted = np.nanquantile(resampled_means(column, WEIGHTS, 300, 7), [0.1, 0.9])
        assert (low[i], high[i]) == pytest.approx(tuple(wanted), rel=1e-12)


def test_the_acceleration_is_the_jackknifes_with_weights_and_nulls_too() -> None:
    """The interval by Efron's formulas, spelled out in plain Python."""
    low, high = stats.intervals(HOLES, WEIGHTS, 0.8, "bca", 300, 7)
    normal = scipy_stats.norm
    for i, column in enumerate(HOLES.T):
        rows = [j for j in range(12) if not math.isnan(column[j])]
        left = [mean([column[k] for k in rows if k != j], [WEIGHTS[k] for k in rows if k != j]) for j in rows]
        apart = [sum(left) / len(left) - x for x in left]
        a = sum(x**3 for x in apart) / (6 * sum(x**2 for x in apart) ** 1.5)
        drawn = resampled_means(column, WEIGHTS, 300, 7)
        drawn = drawn[~np.isnan(drawn)]
        center = mean(column.tolist(), WEIGHTS.tolist())
        z0 = normal.ppf(np.mean(drawn < center - 1e-13) / 2 + np.mean(drawn <= center + 1e-13) / 2)
        shifted = [z0 + z for z in normal.ppf([0.1, 0.9])]
        wanted = np.quantile(drawn, normal.cdf([z0 + z / (1 - a * z) for z in shifted]))
        assert (low[i], high[i]) == pytest.approx(tuple(wanted), rel=1e-10)


def test_students_interval_is_scipys() -> None:
    low, high = stats.intervals(HOLES, ONES, 0.9, "t", 1, 0)
    for i, column in enumerate(HOLES.T):
        there = column[~np.isnan(column)]
        wanted = scipy_stats.ttest_1samp(there, 0).confidence_interval(0.9)
        assert (low[i], high[i]) == pytest.approx((wanted.low, wanted.high), rel=1e-12)


def test_queries_of_weight_0_leave_students_interval_and_test_as_if_they_were_not_there() -> None:
    few, many = DIFFERENCES[:5], np.append(DIFFERENCES[:5], np.full(95, 7.0))[:, None]
    weights = np.append(np.full(5, 3.0), np.zeros(95))
    wanted = scipy_stats.ttest_1samp(few, 0)
    low, high = stats.intervals(many, weights, 0.9, "t", 1, 0)
    assert (low[0], high[0]) == pytest.approx((*wanted.confidence_interval(0.9),), rel=1e-12)
    assert stats.paired_test(many, weights, "t", 1, 0)[0][0] == pytest.approx(wanted.pvalue, rel=1e-12)
    assert stats.spreads(many, weights)[0] == pytest.approx(few.std(ddof=1), rel=1e-12)
    drawn = stats.replicates(many, weights, ["t"], (low, high), 4_000, 0)[0]  # t has 4 degrees of freedom
    spread = few.std(ddof=1) / 5**0.5 * scipy_stats.t.ppf(0.975, 4)
    assert np.quantile(drawn, 0.975) - few.mean() == pytest.approx(spread, rel=0.1)


@each("interval", ["bca", "percentile", "t", "bounded"])
def test_one_query_with_a_weight_has_no_interval_whatever_queries_of_weight_0_there_are(interval: Any) -> None:
    """A bootstrap would draw this query alone, and give an interval of one point."""
    limits = np.zeros(1), np.ones(1)
    values = np.array([0.3, 0.5, 0.9])[:, None]
    for weights, known in (([1.0, 0.0, 0.0], False), ([1.0, 1.0, 0.0], True)):
        low, high = stats.intervals(values, np.array(weights), 0.9, interval, 200, 0, limits=limits)
        assert np.isfinite([low[0], high[0]]).tolist() == [known, known]


@each("spread", [0.5, 1.5, 2.5])
def test_students_interval_and_test_hold_where_weights_differ(spread: float) -> None:
    """Means of 0 of 20 queries, whose weights are as those of frequencies in a log; with 19 degrees of freedom 6 to 36% would miss."""
    rng = np.random.default_rng(3)
    missed, alarms = [], []
    for _ in range(20):
        weights, values = np.exp(spread * rng.normal(size=20)), rng.normal(size=(20, 100))
        low, high = stats.intervals(values, weights, 0.95, "t", 1, 0)
        missed += ((low > 0) | (high < 0)).tolist()
        alarms += (stats.paired_test(values, weights, "t", 1, 0)[0] < 0.05).tolist()
    assert missed == alarms
    assert 0.01 < np.mean(missed) < 0.08


@each(("n", "k"), [(2, 0), (5, 1), (20, 0), (20, 3), (50, 50), (300, 1)])
def test_the_bounded_interval_of_zeros_and_ones_is_the_exact_one(n: int, k: int) -> None:
    """Clopper and Pearson's, by SciPy."""
    values = np.repeat([1.0, 0.0], [k, n - k])[:, None]
    found = stats.intervals(values, np.ones(n), 0.9, "bounded", 40_000, 0, limits=(np.zeros(1), np.ones(1)))
    wanted = scipy_stats.binomtest(k, n).proportion_ci(0.9, method="exact")
    assert (found[0][0], found[1][0]) == pytest.approx((wanted.low, wanted.high), abs=0.01 * min(1, 10 / n))


def test_the_bounded_interval_weighs_all_queries_and_one_more_at_random() -> None:
    """By definition, in plain Python: exponential numbers from the streams' upper 53 bits, the largest weight for one more."""
    low, high = stats.intervals(HOLES, WEIGHTS, 0.8, "bounded", 250, 3, limits=(np.full(3, -0.5), np.full(3, 2.0)))
    drawn = [
        [-math.log1p(-(int(x) // 2**11) / 2**53) for x in stream.random_raw(13)]
        for stream, size in streams(250, 3)
        for _ in range(size)
    ]
    for i, column in enumerate(HOLES.T):
        for end, nth, found in ((-0.5, 25, low), (2.0, -25, high)):  # with one more draw, below 10% of 251 are 25
            x, w = [*column.tolist(), end], [*WEIGHTS.tolist(), WEIGHTS.max()]
            sampled = sorted(mean(x, [e * b for e, b in zip(each, w, strict=True)]) for each in drawn)
            assert found[i] == pytest.approx(sampled[nth - (nth > 0)], rel=1e-10)


def test_a_bounded_interval_takes_limits() -> None:
    with pytest.raises(rf.InvalidOption, match="interval='bounded' takes limits"):
        stats.intervals(VALUES, ONES, 0.9, "bounded", 100, 0)


def exponential_losses(n: int, times: int) -> Any:
    return 0.1 * (1 - np.random.default_rng(n).exponential(1, (n, times)))


def one_loss_in_twenty(n: int, times: int) -> Any:
    return 0.05 - 1.0 * (np.random.default_rng(n).random((n, times)) < 0.05)


@each("population", [exponential_losses, one_loss_in_twenty])
@each("n", [2, 5, 20, 60])
def test_a_bounded_interval_is_not_fooled_by_losses_it_has_not_seen(population: Any, n: int) -> None:
    """400 samples whose true mean is 0: about one in twenty, or fewer, has its lower bound above 0."""
    limits = np.full(400, -1.0), np.full(400, 1.0)
    low, _ = stats.intervals(population(n, 400), np.ones(n), 0.9, "bounded", 199, 0, limits=limits)
    assert np.mean(low > 0) <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 400)


@each("value", [0.1, 0.3, 1.0, 1 / 3, 1e-17])
@each("weights", [np.ones(10), np.full(10, 0.1), np.arange(10.0) / 7])
def test_the_mean_of_equal_values_is_that_value_and_they_do_not_spread(value: float, weights: Any) -> None:
    values = np.full((10, 1), value)
    assert stats.means(values, weights).tolist() == [value]
    assert stats.spreads(values, weights).tolist() == [0.0]
    for interval in ("bca", "percentile", "t"):
        low, high = stats.intervals(values, weights, 0.95, interval, 200, 0)  # type: ignore[arg-type]
        assert (low.tolist(), high.tolist()) == ([value], [value])


@each("interval", ["bca", "percentile", "t"])
def test_equal_values_have_an_interval_of_one_point_and_fewer_than_two_have_none(interval: Any) -> None:
    values = np.array([[0.3, 1.0, np.nan], [0.3, np.nan, np.nan], [0.3, np.nan, np.nan]])
    low, high = stats.intervals(values, np.ones(3), 0.95, interval, 200, 0)
    assert low[0] == pytest.approx(0.3)
    assert high[0] == pytest.approx(0.3)
    assert np.isnan([low[1:], high[1:]]).all()


def test_what_is_held_in_memory_at_a_time_changes_no_result(monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[tuple[int, int]] = []

    def all_of_them() -> list[Any]:
        differences = np.vstack([HOLES, VALUES, -HOLES[::-1]]) - 0.2
        weights = np.ones(len(differences))

        def step(done: int, total: int) -> None:
            steps.append((done, total))

        return [
            *stats.intervals(HOLES, WEIGHTS, 0.95, "bca", 250, 1, step),
            *stats.intervals(HOLES, WEIGHTS, 0.95, "bounded", 250, 1, step, (np.zeros(3), np.ones(3))),
            stats.paired_test(differences, weights, "permutation", 250, 1, step)[0],
            stats.paired_test(differences, weights, "bootstrap", 250, 1, step)[0],
            stats.tukey(VALUES, ONES, 250, 1, step)[2],
        ]

    whole = all_of_them()
    monkeypatch.setattr(drawing, "CHUNK", 100)
    for a, b in zip(whole, all_of_them(), strict=True):
        assert a == pytest.approx(b, rel=1e-12)
    assert steps == [(100, 250), (200, 250), (250, 250)] * 10


DIFFERENCES = np.array([0.5, 0.25, -0.25, 0.0, 1.0, 0.125, -0.5, 0.75, 0.25, 0.0])


@each("weights", [np.ones(10), np.arange(10.0)])
def test_few_differences_are_given_all_signs_as_by_scipy(weights: Any) -> None:
    p, enumerated = stats.paired_test(DIFFERENCES[:, None], weights, "permutation", 5, 0)
    wanted = scipy_stats.permutation_test(
        (DIFFERENCES * weights,), np.sum, permutation_type="samples", n_resamples=np.inf, vectorized=True
    )
    assert p[0] == pytest.approx(wanted.pvalue, rel=1e-12)
    assert enumerated.all()


def test_rounding_makes_no_equal_sums_differ() -> None:
    """Of 0.1, 0.2 and -0.3 every sum that is 0 counts as one at least as far from 0 as theirs, which is 5.6e-17."""
    p, _ = stats.paired_test(np.array([[0.1], [0.2], [-0.3]]), np.ones(3), "permutation", 5, 0)
    assert p[0] == 1.0


def test_many_differences_are_given_random_signs() -> None:
    d = np.round(np.random.default_rng(4).normal(0.3, 1, (30, 1)), 2)
    p, enumerated = stats.paired_test(d, np.ones(30), "permutation", 250, 9)
    found, b = abs(sum(d[:, 0])), 0
    for stream, size in streams(250, 9):
        for _ in range(size):
            bits = int(stream.random_raw(1)[0])  # 30 bits of 64
            b += abs(sum(x if bits >> i & 1 else -x for i, x in enumerate(d[:, 0]))) >= found - 1e-9
    assert p[0] == (b + 1) / 251
    assert not enumerated.any()
    close = scipy_stats.permutation_test((d[:, 0],), np.mean, permutation_type="samples", n_resamples=20_000, rng=1)
    p, _ = stats.paired_test(d, np.ones(30), "permutation", 20_000, 9)
    assert p[0] == pytest.approx(close.pvalue, abs=4 * math.sqrt(2 * close.pvalue / 20_000))


@each("test", ["permutation", "bootstrap"])
def test_random_p_values_are_never_0(test: Any) -> None:
    d = np.linspace(1, 2, 40)[:, None]
    assert stats.paired_test(d, np.ones(40), test, 99, 0)[0][0] == 1 / 100


def test_the_t_test_is_scipys_and_columns_may_lack_other_queries() -> None:
    p, _ = stats.paired_test(HOLES - 0.3, ONES, "t", 1, 0)
    wanted = [scipy_stats.ttest_1samp(x[~np.isnan(x)], 0.3).pvalue for x in HOLES.T]
    assert p == pytest.approx(wanted, rel=1e-12)
    for test in ("t", "bootstrap", "permutation"):
        same, _ = stats.paired_test(np.zeros((5, 1)), np.ones(5), test, 50, 0)  # type: ignore[arg-type]
        assert same[0] == 1.0
        none, _ = stats.paired_test(np.full((5, 1), np.nan), np.ones(5), test, 50, 0)  # type: ignore[arg-type]
        assert np.isnan(none[0])


@each("weights", [ONES, WEIGHTS])
def test_the_bootstrap_test_compares_students_statistic(weights: Any) -> None:
    """By definition: t of the differences, among t of resamples of the differences less their mean."""

    def t(x: list[float], w: list[float]) -> float:
        there = [(a, b) for a, b in zip(x, w, strict=True) if not math.isnan(a)]
        m = mean(x, w)
        spread = math.sqrt(sum((b * (a - m)) ** 2 for a, b in there))
        return sum(b for _, b in there) * m / spread if spread > 1e-12 else math.nan

    d = HOLES - 0.25
    p, _ = stats.paired_test(d, weights, "bootstrap", 150, 2)
    for i, column in enumerate(d.T):
        x, w = column.tolist(), weights.tolist()
        centered = [a - mean(x, w) for a in x]
        drawn = [t([centered[j] for j in q], [w[j] for j in q]) for q in draws(12, 150, 2)]
        b = sum(abs(value) >= abs(t(x, w)) for value in drawn if not math.isnan(value))
        assert p[i] == (b + 1) / 151


def test_a_constant_difference_is_beyond_every_resample() -> None:
    p, _ = stats.paired_test(np.full((30, 1), 0.1), np.ones(30), "bootstrap", 99, 0)
    assert p[0] == 1 / 100


def test_tukeys_ranges_are_those_of_every_deal() -> None:
    """All 6 ** 4 ways to deal four queries' values to three runs, against 20,000 random ones."""
    values = np.array([[0.1, 0.5, 0.9], [0.3, 0.3, 0.8], [0.0, 1.0, 0.7], [0.2, 0.4, 0.45]])
    deals = itertools.product(*(list(itertools.permutations(row)) for row in values.tolist()))
    sums = [[sum(column) for column in zip(*deal, strict=True)] for deal in deals]
    ranges = np.array([max(x) - min(x) for x in sums])
    found = stats.tukey(values, np.ones(4), 20_000, 0)[2]
    for a, b in itertools.combinations(range(3), 2):
        wanted = np.mean(ranges >= abs(values[:, a].sum() - values[:, b].sum()) - 1e-9)
        assert found[a, b] == found[b, a] == pytest.approx(wanted, abs=4 * math.sqrt(0.25 / 20_000))


def test_tukey_deals_by_the_order_of_the_streams_words() -> None:
    values = np.vstack([HOLES[:6], VALUES[6:]])
    whole = [row for row in values.tolist() if not any(map(math.isnan, row))]
    sums = [sum(column) for column in zip(*whole, strict=True)]
    exceeded = np.zeros((3, 3))
    for stream, size in streams(120, 4):
        for _ in range(size):
            keys = stream.random_raw(3 * len(whole)).reshape(-1, 3).tolist()
            dealt = [
                [row[i] for i in sorted(range(3), key=key.__getitem__)] for row, key in zip(whole, keys, strict=True)
            ]
            totals = [sum(column) for column in zip(*dealt, strict=True)]
            for a, b in itertools.product(range(3), repeat=2):
                exceeded[a, b] += max(totals) - min(totals) >= abs(sums[a] - sums[b]) - 1e-9
    assert stats.tukey(values, np.ones(12), 120, 4)[2].tolist() == ((exceeded + 1) / 121).tolist()
    assert np.isnan(stats.tukey(np.full((3, 2), np.nan), np.ones(3), 50, 0)).all()


@each(("correction", "theirs"), [("holm", "holm"), ("bh", "fdr_bh"), ("by", "fdr_by")])
@each("seed", range(2))
def test_corrections_are_those_of_statsmodels(correction: Any, theirs: str, seed: int) -> None:
    p = np.round(np.random.default_rng(seed).random(1 + 4 * seed) ** 3, 2)
    assert stats.adjust(p, correction) == pytest.approx(multipletests(p, method=theirs)[1], rel=1e-12)
    with_null = stats.adjust(np.append(p, np.nan), correction)
    assert with_null[:-1] == pytest.approx(multipletests(p, method=theirs)[1], rel=1e-12)
    assert np.isnan(with_null[-1])


def test_false_discovery_corrections_are_scipys_and_none_changes_nothing() -> None:
    p = np.array([0.03, 0.001, 0.2, 0.03, 0.9])
    for correction in ("bh", "by"):
        wanted = scipy_stats.false_discovery_control(p, method=correction)
        assert stats.adjust(p, correction) == pytest.approx(wanted, rel=1e-12)  # type: ignore[arg-type]
    assert stats.adjust(p, None).tolist() == p.tolist()
    assert np.isnan(stats.adjust(np.array([np.nan]), "holm")).all()


@each("effect", [0.05, 0.2, -0.5, 1.5])
def test_power_is_that_of_statsmodels(effect: float) -> None:
    for n in (2, 5, 12):
        assert stats.power(effect, n, 0.05) == pytest.approx(TTestPower().power(effect, n, 0.05), rel=1e-6)
    wanted = math.ceil(TTestPower().solve_power(abs(effect), alpha=0.01, power=0.9))
    assert stats.queries_needed(effect, 0.9, 0.01) == wanted
    assert stats.power(effect, 1, 0.05) == 0.0


@each("effect", [0.0, 1e-300, 1e-10])
def test_an_effect_that_no_number_of_queries_shows_is_refused(effect: float) -> None:
    with pytest.raises(rf.InvalidOption, match="takes more than 2"):
        stats.queries_needed(effect, 0.8, 0.05)


def test_a_great_effect_is_seen_for_certain() -> None:
    assert stats.power(3.0, 5000, 0.05) == 1.0
    assert stats.queries_needed(100.0, 0.8, 0.05) == 2


def test_without_scipy_all_intervals_are_there_and_power_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("scipy.special", "scipy.stats"):
        monkeypatch.setitem(sys.modules, module, None)
    for method in ("bca", "percentile", "t"):
        stats.intervals(VALUES, ONES, 0.95, method, 50, 0)  # type: ignore[arg-type]
    with pytest.raises(rf.MissingExtra, match=r"scipy\.stats is not installed; write pip install 'rankframe\[stats\]'"):
        stats.power(0.5, 10, 0.05)


def test_students_tails_and_quantiles_are_those_of_scipy() -> None:
    """Also for the fractional degrees of freedom of weights, and far from 0."""
    t = np.array([0.0, 0.01, 0.3, 1.0, 1.7, 1.74, 2.0, 5.0, 30.0, 1e3])
    for freedom in (1.0, 1.5, 2.0, 4.37, 29.0, 59.9, 60.1, 1e3, 1e5, 1e7):
        rel, v = 1e-12 if freedom < 1e4 else 1e-9, np.array([freedom])
        tails = scipy_special.stdtr(freedom, -t)
        tails[-1] = np.nan if freedom == 1 else tails[-1]  # SciPy's is off by 6e-10
        there = (tails > 1e-290) & ~np.isnan(tails)
        assert upper_tail(t, v)[there] == pytest.approx(tails[there], rel=rel, abs=0)
        for tail in (0.4999, 0.05, 0.025, 0.0005, 1e-9):
            found = quantiles(tail, v)
            assert scipy_special.stdtr(freedom, -found) == pytest.approx([tail], rel=rel)
    assert upper_tail(np.array([1e3]), np.ones(1)) == pytest.approx([math.atan(1e-3) / math.pi], rel=1e-14)
    assert upper_tail(np.array([np.inf, np.nan]), np.ones(2)).tolist() == pytest.approx([0.0, np.nan], nan_ok=True)
    assert np.isnan(quantiles(np.nan, np.ones(2))).all()


@pytest.mark.nightly  # a process that has not imported SciPy
def test_students_t_does_not_import_scipy() -> None:
    code = (
        "import sys, numpy as np, rankframe.stats as stats; d = np.array([[1.0], [2.0], [4.0]]); w = np.ones(3); "
        "stats.intervals(d, w, 0.95, 't', 1, 0), stats.paired_test(d, w, 't', 1, 0); "
        "assert not any(name.startswith('scipy') for name in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


class Terminal:
    """A standard error that somebody watches."""

    def __init__(self) -> None:
        self.text = ""

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self.text += text
        return len(text)

    def flush(self) -> None:
        pass


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    screen = Terminal()
    monkeypatch.setattr(progress, "sys", SimpleNamespace(stderr=screen))
    monkeypatch.setattr(progress, "PATIENCE", -1.0)
    monkeypatch.setenv("TERM", "xterm")
    return screen


def work(*, show: bool = True, seconds: float = 0.0) -> None:
    with Progress("resampling queries", show) as shown:
        shown(1, 2)
        sleep(seconds)
        shown(2, 2)


def test_long_work_shows_a_bar_on_a_terminal(terminal: Terminal) -> None:
    work(seconds=0.2)
    assert "resampling queries" in terminal.text


def test_elsewhere_long_work_writes_a_line_a_minute_to_the_log(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    assert progress.SECONDS_OF_LINE == 60
    monkeypatch.setattr(progress, "SECONDS_OF_LINE", 0.05)
    with caplog.at_level("INFO", logger="rankframe"):
        work(seconds=0.15)
    assert len(caplog.messages) >= 2
    assert caplog.messages[0] == "resampling queries: 1 of 2, 0 seconds so far"
    assert capfd.readouterr() == ("", "")  # the level of a log is WARNING unless somebody asks for more


def test_the_bar_can_be_turned_off_needs_rich_and_does_not_come_at_once(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    work(show=False, seconds=0.05)
    with monkeypatch.context() as patches:
        patches.setitem(sys.modules, "rich.progress", None)
        work(seconds=0.05)
    monkeypatch.setattr(progress, "PATIENCE", 60.0)
    work(seconds=0.05)
    assert terminal.text == ""


def test_scripts_see_no_bar(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "PATIENCE", -1.0)
    work()
    assert capfd.readouterr() == ("", "")


def kinds(values: Any, weights: Any = None, bounded: bool = True) -> list[str | None]:
    column = np.asarray(values, dtype=float)[:, None]
    weights = np.ones(len(column)) if weights is None else np.asarray(weights, dtype=float)
    return stats.automatic(column, weights, np.array([bounded]))


def test_the_default_interval_is_bounded_for_fewer_than_fifty_values_that_differ() -> None:
    spread = np.arange(100) / 100
    assert [kinds(spread[:n]) for n in (2, 49, 50, 100)] == [["bounded"], ["bounded"], ["bca"], ["bca"]]
    for differing, kind in ((0, "bounded"), (48, "bounded"), (49, "bca")):  # those equal to the median count once
        assert kinds([1.0] * 951 + [*spread[:differing]]) == [kind]
    missing = np.where(np.arange(100) < 49, spread, np.nan)
    assert kinds(missing) == ["bounded"]
    assert kinds(spread, np.arange(100) < 49) == ["bounded"]  # the others weigh nothing
    assert kinds([np.nan]) == ["bounded"]


def test_weights_that_differ_make_few_values_of_many() -> None:
    """Kish: ten of a weight that outweighs all others count about as ten."""
    spread, heavy = np.arange(1000) / 1000, np.where(np.arange(1000) < 10, 1e300, 1.0)
    assert kinds(spread, heavy) == ["bounded"]
    assert kinds(spread, np.where(heavy > 1, 1.5, 1.0)) == kinds(spread, heavy, bounded=False) == ["t"]
    assert kinds(spread, np.full(1000, 3.7)) == kinds(spread, np.full(1000, 3.7), bounded=False) == ["bca"]


def test_without_bounds_it_is_students_for_fewer_than_fifty_values_and_none_if_they_are_equal() -> None:
    assert [kinds(np.arange(n), bounded=False) for n in (2, 49, 50, 500)] == [["t"], ["t"], ["bca"], ["bca"]]
    assert kinds([3.0] * 500, bounded=False) == kinds([np.nan], bounded=False) == [None]


def test_replicates_lie_as_far_out_as_intervals_do() -> None:
    values = np.random.default_rng(1).random((8, 4))
    limits = np.zeros(4), np.ones(4)
    below, above = stats.replicates(values, np.ones(8), ["bounded", "percentile", "t", None], limits, 20_000, 0)
    low, high = np.quantile(below, 0.025, axis=0), np.quantile(above, 0.975, axis=0)
    for column, kind in enumerate(("bounded", "percentile", "t")):
        wanted = stats.intervals(values, np.ones(8), 0.95, kind, 20_000, 0, limits=limits)  # type: ignore[arg-type]
        assert (low[column], high[column]) == pytest.approx([end[column] for end in wanted], abs=0.02)
    assert np.isnan([low[3], high[3]]).all()


def test_draws_that_all_lie_on_one_side_count_half_a_draw_on_the_other() -> None:
    """Efron's z of a share of 1 or 0 would be infinite; here of 4 draws the share is 7/8 or 1/8."""
    drawn, normal = np.array([1.0, 2.0, 3.0, 4.0]), NormalDist()
    for center, share in ((9.0, 7 / 8), (0.5, 1 / 8)):
        z = normal.inv_cdf(share)
        wanted = [normal.cdf(2 * z + normal.inv_cdf(level)) for level in (0.025, 0.975)]
        found = Quantiles.around(drawn, center, 0.0, np.array([1.0, 4.0]))
        assert [found.level(share) for share in (0.025, 0.975)] == pytest.approx(wanted)
