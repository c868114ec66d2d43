"""Means by few known values, agreement of judges and the Bayesian test: arrays in, arrays out, against worked values and scikit-learn."""

from __future__ import annotations

import math
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from scipy import stats as scipy_stats
from sklearn.metrics import cohen_kappa_score

from rankframe._statistics.agreement import (
    PENALTIES,
    alpha,
    coincidences,
    corrected_share,
    kappa,
    kendall,
    kendall_union,
)
from rankframe._statistics.bayes import shares, signed_rank
from rankframe._statistics.prediction_powered import Estimates, estimates
from tests.support.each import each

Y, YH, YU = [0.5, 0.8, 0.2, 0.9], [0.6, 0.9, 0.2, 1.0], [0.7, 0.4, 0.9, 0.8, 0.6, 0.5]


def estimated(
    y: Any, yh: Any, yu: Any, weights: Any = None, *, within: bool = True, mean: float | None = None
) -> Estimates:
    """The estimate of one column; the values of other queries are not known."""
    n = len(y) + len(yu)
    values, other = np.full((n, 1), np.nan), np.concatenate([yh, yu])[:, None]
    values[: len(y), 0] = y
    w = np.ones(n) if weights is None else np.asarray(weights, dtype=float)
    return estimates(values, other, np.arange(n) < len(y), w, within=within, mean=mean)


def normal(found: Estimates) -> list[float]:
    """The mean and its normal interval of 95%, as ppi_py has it: variances over n, no degrees of freedom."""
    half = 1.959964 * math.sqrt(found.of_known[0] + found.of_others[0])
    return [found.mean[0], found.mean[0] - half, found.mean[0] + half]


def test_the_worked_example_of_a_tuned_weight_has_its_mean_and_interval() -> None:
    found = estimated(Y, YH, YU)
    assert found.weight[0] == pytest.approx(0.8138, abs=5e-5)
    assert normal(found) == pytest.approx([0.5797, 0.465, 0.694], abs=5e-4)


def test_a_model_that_says_the_same_of_each_query_leaves_the_interval_of_people_alone() -> None:
    found = estimated(Y, [1.0] * 4, [1.0] * 6)
    assert normal(found) == pytest.approx([0.6, 0.332, 0.868], abs=5e-4)
    assert (found.weight[0], found.saved[0], found.to_halve[0]) == (0, pytest.approx(0), 16)
    t = scipy_stats.t.interval(0.95, 3, 0.6, scipy_stats.sem(Y))
    assert [found.mean[0] - found.reach(0.95)[0], found.mean[0] + found.reach(0.95)[0]] == pytest.approx(t)
    assert found.p_values()[0] == pytest.approx(scipy_stats.ttest_1samp(Y, 0).pvalue)


def test_a_model_that_is_wrong_the_other_way_round_counts_nothing() -> None:
    found = estimated(Y, [1 - x for x in Y], YU)
    assert (found.weight[0], found.mean[0]) == (0, pytest.approx(0.6))
    assert estimated(Y, [1 - x for x in Y], YU, within=False).weight[0] < 0


def test_without_other_queries_the_mean_is_that_of_people() -> None:
    found = estimated(Y, YH, [])
    assert (found.weight[0], found.mean[0], found.of_others[0]) == (0, pytest.approx(0.6), 0)


def plain(y: list[float], h: list[float], u: list[float], w: list[float], v: list[float]) -> tuple[float, float, float]:
    """The weighted mean, weight of the model and variance, written out."""
    n, m = len(y), len(u)
    w, v = [x * n / sum(w) for x in w], [x * m / sum(v) for x in v]
    mean_y, mean_h = (sum(a * b for a, b in zip(w, x, strict=True)) / n for x in (y, h))
    mean_u = sum(a * b for a, b in zip(v, u, strict=True)) / m
    together = (n * mean_h + m * mean_u) / (n + m)
    both = [a * (b - together) for a, b in zip(w + v, h + u, strict=True)]
    spread = sum((x - sum(both) / (n + m)) ** 2 for x in both) / (n + m - 1)
    covariance = sum(a * (b - mean_y) * a * (c - mean_h) for a, b, c in zip(w, y, h, strict=True)) / n
    weight = min(max(covariance / ((1 + n / m) * spread), 0), 1)
    rest = [a * (b - mean_y - weight * (c - mean_h)) for a, b, c in zip(w, y, h, strict=True)]
    variance = (
        sum(x**2 for x in rest) / n**2
        + weight**2 * sum((a * (b - mean_u)) ** 2 for a, b in zip(v, u, strict=True)) / m**2
    )
    return mean_y + weight * (mean_u - mean_h), weight, variance


def test_judged_queries_whose_weights_differ_leave_fewer_degrees_of_freedom() -> None:
    """Of a model that adds nothing, the interval is Student's; a judged query of weight 0 counts as if it were not there."""
    found = estimated([*Y, 5.0, 6.0], [1.0] * 6, [1.0] * 6, [2.0] * 4 + [0.0] * 2 + [1.0] * 6)
    t = scipy_stats.t.interval(0.95, 3, 0.6, scipy_stats.sem(Y))
    assert [found.mean[0] - found.reach(0.95)[0], found.mean[0] + found.reach(0.95)[0]] == pytest.approx(t)
    weights = np.array([1.0, 1.0, 2.0, 4.0])  # worth 64 / 22 of equal weight
    found = estimated(Y, [1.0] * 4, [1.0] * 6, [*weights, *[1.0] * 6])
    off, number = weights / 8 * (Y - weights @ np.array(Y) / 8), 64 / 22
    error = math.sqrt((off**2).sum() * number / (number - 1))
    assert found.reach(0.95)[0] == pytest.approx(scipy_stats.t.ppf(0.975, number - 1) * error)


@each("seed", range(8))
def test_the_estimate_is_that_of_plain_python_with_and_without_weights(seed: int) -> None:
    rng = np.random.default_rng(seed)
    y = rng.random(12)
    h, u = y + rng.normal(0, 0.3, 12), rng.random(30)
    w = np.ones(42) if seed % 2 else rng.random(42)
    found = estimated(y, h, u, 7 * w)  # any scale
    wanted = plain([*y], [*h], [*u], [*w[:12]], [*w[12:]])
    assert (found.mean[0], found.weight[0], found.of_known[0] + found.of_others[0]) == pytest.approx(wanted, rel=1e-10)


def test_a_query_of_weight_0_does_not_count() -> None:
    found, wanted = estimated([*Y, 9.0], [*YH, 9.0], YU, [1, 1, 1, 1, 0, *[1] * 6]), estimated(Y, YH, YU)
    assert (found.mean[0], found.weight[0], found.n) == pytest.approx((wanted.mean[0], wanted.weight[0], 4))


def test_a_known_mean_adjusts_by_the_slope_of_the_regression() -> None:
    rng = np.random.default_rng(1)
    x = rng.random(400)
    y = 2 * x + rng.normal(0, 0.1, 400)
    found = estimated(y, x, [], within=False, mean=0.3)
    assert found.weight[0] == pytest.approx(np.polyfit(x, y, 1)[0])
    assert found.mean[0] == pytest.approx(y.mean() + found.weight[0] * (0.3 - x.mean()))
    assert found.saved[0] == pytest.approx(np.corrcoef(x, y)[0, 1] ** 2, abs=1e-4)
    assert found.of_others[0] == 0


@each("seed", range(4))
def test_so_many_known_values_halve_the_interval(seed: int) -> None:
    """With values of the same spread and correlation: the variance is a quarter, or more by less than one value's worth."""
    rng = np.random.default_rng(seed)
    n, total = 200, 5000

    def error(known: int) -> float:
        """The standard error by the formula of the optimal weight, with the correlation r of the sample."""
        rest = max(total - known, 0)
        return math.sqrt((1 - r2 * rest / total) / known)

    y = rng.random(n)
    h, u = y + rng.normal(0, 0.2, n), rng.random(total - n)
    u = u + rng.normal(0, 0.2, total - n)
    spread = np.concatenate([h, u]).var(ddof=1)
    r2 = np.cov(y, h, ddof=0)[0, 1] ** 2 / (spread * y.var())
    wanted = int(estimated(y, h, u).to_halve[0])
    assert error(wanted) <= error(n) / 2 < error(wanted - 1)
    assert n < wanted < total or r2 < 0.3


def test_p_is_1_for_a_mean_of_0_without_an_error_and_0_for_another() -> None:
    assert estimated([0.0] * 4, [0.0] * 4, [0.0] * 5).p_values()[0] == 1
    assert estimated([0.1] * 4, [0.0] * 4, [0.0] * 5).p_values()[0] == 0


# agreement


def counted(a: Any, b: Any, n: int) -> Any:
    counts = np.zeros((n, n))
    np.add.at(counts, (a, b), 1)
    return counts


@each("seed", range(6))
def test_kappa_is_that_of_scikit_learn(seed: int) -> None:
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 4, 60)
    b = np.where(rng.random(60) < 0.5, a, rng.integers(0, 4, 60))
    for penalty in PENALTIES:
        wanted = cohen_kappa_score(a, b, weights=None if penalty == "plain" else penalty)
        assert kappa(counted(a, b, 4), penalty) == pytest.approx(wanted, rel=1e-12)


def test_kappa_of_cohens_table_of_two_readers_is_two_fifths() -> None:
    """20 grants that both approve, 15 that both refuse, 5 and 10 of which one approves (a worked table of Wikipedia)."""
    assert kappa(np.array([[20.0, 5], [10, 15]])) == pytest.approx(0.4)


def test_kappa_and_alpha_of_one_grade_are_undefined() -> None:
    assert np.isnan([kappa(np.array([[7.0]])), alpha(np.array([[7.0]]))]).all()
    assert np.isnan(kappa(np.zeros((2, 2))))


RELIABILITY = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3],
    [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None],
]
"""Four observers' grades of twelve units: K. Krippendorff (2011), Computing Krippendorff's alpha-reliability, section D."""


def test_alpha_of_four_observers_with_missing_grades_is_the_published_815() -> None:
    places = np.array([[math.nan if x is None else x - 1 for x in row] for row in RELIABILITY])
    assert alpha(coincidences(places, 5).sum(axis=0)) == pytest.approx(0.815, abs=5e-4)


def ordinal_alpha(pairs: list[tuple[int, int]]) -> float:
    """Krippendorff's alpha of two judges, pair by pair of values."""
    values = [x for pair in pairs for x in pair]
    count = {g: values.count(g) for g in sorted({*values})}

    def distance(a: int, b: int) -> float:
        a, b = sorted((a, b))
        return (sum(n for g, n in count.items() if a <= g <= b) - (count[a] + count[b]) / 2) ** 2

    observed = sum(distance(*pair) for pair in pairs) / len(pairs)
    expected = sum(distance(a, b) for a, b in combinations(values, 2)) / math.comb(len(values), 2)
    return 1 - observed / expected


@each("seed", range(5))
def test_alpha_of_two_judges_is_that_of_plain_python(seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, 4, (2, 25))
    b = np.where(rng.random(25) < 0.5, a, b)
    counts = counted(a, b, 4)
    assert alpha(counts + counts.T) == pytest.approx(ordinal_alpha([*zip(a.tolist(), b.tolist(), strict=True)]))
    assert alpha(coincidences(np.array([a, b], dtype=float), 4).sum(axis=0)) == pytest.approx(alpha(counts + counts.T))


def test_measures_of_several_tables_at_once_are_those_of_each() -> None:
    tables = np.random.default_rng(0).integers(1, 9, (5, 3, 3)).astype(float)
    for penalty in PENALTIES:
        assert kappa(tables, penalty) == pytest.approx([float(kappa(x, penalty)) for x in tables])
    assert alpha(tables) == pytest.approx([float(alpha(x)) for x in tables])


@each(
    ("share", "specificity", "sensitivity", "wanted"),
    [
        (0.6, 0.8, 0.9, 0.4 / 0.7),  # (p + q0 - 1) / (q0 + q1 - 1)
        (0.3, 1.0, 1.0, 0.3),  # a perfect judge
        (0.1, 0.8, 0.9, 0.0),  # fewer than the judge's false alarms
        (0.95, 0.8, 0.9, 1.0),
        (0.4, 0.5, 0.5, math.nan),  # a coin
    ],
)
def test_the_share_behind_a_judges_share(share: float, specificity: float, sensitivity: float, wanted: float) -> None:
    found = corrected_share(*(np.array([x]) for x in (share, specificity, sensitivity)))
    assert found[0] == pytest.approx(wanted, nan_ok=True)


def test_kendall_tau_is_scipys_with_ties() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 4, (2, 20, 7)).astype(float)
    wanted = [scipy_stats.kendalltau(x, y).statistic for x, y in zip(a, b, strict=True)]
    assert kendall(a, b) == pytest.approx(wanted)
    assert np.isnan(kendall(np.ones((1, 3)), np.arange(3.0)[None]))


def test_kendalls_tau_union_of_the_papers_example_is_1() -> None:
    """d1, d2, d3 and d1, d2, d4 become ranks 1, 2, 3 and 1, 2, 4 of their union."""
    assert kendall_union([1, 2, 3], [1, 2, 4]) == 1
    assert kendall_union([1, 2, 3], [3, 2, 1]) == -1
    assert kendall_union([1, 2, 3, 4], [2, 1]) == -1  # the common ranks
    assert np.isnan([kendall_union([1], [1]), kendall_union([], [1, 2])]).all()


# the Bayesian test


def plain_shares(differences: list[float], rope: float, weights: list[float]) -> list[float]:
    """The weight of pairs by the region of their mean; half on the border."""
    found = [0.0, 0.0, 0.0]
    pairs = product(zip(differences, weights, strict=True), repeat=2)
    for (a, x), (b, y) in pairs:
        mean = (a + b) / 2
        side = 2 if mean > 0 else 0
        regions = [1, side] if abs(mean) == rope else [side if abs(mean) > rope else 1]
        for region in regions:
            found[region] += x * y / len(regions)
    return found


@each("rope", [0.1, 0.25])
def test_the_shares_of_pairs_are_those_of_plain_python_also_on_the_border(rope: float) -> None:
    rng = np.random.default_rng(0)
    d = np.append(0.0, rng.choice([-0.5, -0.25, 0.0, 0.1, 0.25, 0.5], 9))
    w = rng.dirichlet(np.ones(10), 6)
    assert shares(d, rope, w) == pytest.approx(np.array([plain_shares([*d], rope, [*x]) for x in w]))


def test_one_gain_beyond_the_rope_is_better_where_the_prior_weighs_less_than_the_root_of_a_half() -> None:
    """The pair of the prior with itself is equal, all others better; its weight is Beta(1/2, 1): sqrt(sqrt(1/2)) is below."""
    left, equal, right = signed_rank(np.array([1.0]), 0.1, 100_000, 0)
    assert left == 0
    assert right == pytest.approx(0.5**0.25, abs=0.004)
    assert left + equal + right == pytest.approx(1)


def test_probabilities_add_up_and_turn_round_with_the_differences() -> None:
    d = np.random.default_rng(1).normal(0.02, 0.1, 40)
    found = signed_rank(d, 0.02, 2000, 0)
    assert found.sum() == pytest.approx(1)
    assert signed_rank(-d, 0.02, 2000, 0) == pytest.approx(found[::-1])
    assert signed_rank(np.append(d, np.nan), 0.02, 2000, 0) == pytest.approx(found)


def test_runs_that_never_differ_are_equivalent_and_without_a_rope_neither_is_better() -> None:
    assert signed_rank(np.zeros(9), 0.01, 500, 0).tolist() == [0, 1, 0]
    assert signed_rank(np.zeros(9), 0.0, 500, 0).tolist() == [0.5, 0, 0.5]
    assert signed_rank(np.full(30, 0.5), 0.01, 500, 0).tolist() == [0, 0, 1]
    assert np.isnan(signed_rank(np.array([np.nan]), 0.01, 500, 0)).all()


def test_the_draws_are_the_same_for_any_number_at_once_and_others_for_another_seed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    d, steps = np.random.default_rng(1).normal(0.05, 0.1, 30), []
    found = signed_rank(d, 0.02, 300, 5, lambda done, total: steps.append((done, total)))
    assert steps == [(100, 300), (200, 300), (300, 300)]
    assert signed_rank(d, 0.02, 300, 6).tolist() != found.tolist()
    monkeypatch.setattr("rankframe._support.draws.CHUNK", 64)
    assert signed_rank(d, 0.02, 300, 5).tolist() == found.tolist()
