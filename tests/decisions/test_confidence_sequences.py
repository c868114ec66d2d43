"""Confidence sequences held against plain Python by the paper's formulas, and against values of the package confseq."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import rankframe as rf
from rankframe._statistics.confidence_sequences import STAKES, Bets, confidence_sequence, method_for, values_needed
from tests.support.each import each

METHODS = [*STAKES]
UNIT = np.zeros(1), np.ones(1)
X = [0.5, 0.75, 0.5, 1.0, 0.25, 0.5, 0.875, 0.5, 0.625, 0.5, 0.0, 0.75]
RNG = np.random.default_rng(4)
DRAWN = np.clip(RNG.normal(0.04, 0.2, (300, 6)), -1, 1)
BOTH = np.full(6, -1.0), np.full(6, 1.0)


def column(x: Any) -> Any:
    return np.array(x, dtype=float)[:, None]


def gains(x: list[float], mean: float, method: str, ci: float = 0.95) -> list[float]:
    """The logarithm of the capital against `mean` after each value, by theorems 2 and 3 of Waudby-Smith and Ramdas (2024)."""
    found, total, seen, squares = [], 0.0, 0.0, 0.0
    for t, value in enumerate(x, start=1):
        before, variance = (0.5 + seen) / t, (0.25 + squares) / t
        stake = math.sqrt(2 * math.log(2 / (1 - ci)) / (variance * t * math.log(t + 1)))
        if method == "betting":
            total += math.log(1 + min(stake, 0.75 / mean) * (value - mean))
        else:
            stake = min(stake, 0.5)
            total += stake * (value - mean) - 4 * (value - before) ** 2 * (-math.log(1 - stake) - stake) / 4
        found.append(total)
        seen += value
        squares += (value - (0.5 + seen) / (t + 1)) ** 2
    return found


@each("method", METHODS)
@each("mean", [0.1, 0.4, 0.5, 0.9])
def test_the_capital_of_a_bet_is_that_of_the_papers_formulas(method: Any, mean: float) -> None:
    found = Bets.on_values(column(X), 0.95, method).capital(np.array([mean]))[:, 0]
    assert found.tolist() == pytest.approx(gains(X, mean, method), rel=1e-12)


@each(
    ("mean", "after", "theirs"),
    [
        (0.2, (1, 2, 12), (1.0625, 3.25390625, 1014.9171080527348)),
        (0.4, (1, 2, 12), (0.59375, 0.9833984375, 3.2613639728965427)),
        (0.5, (1, 2, 12), (0.5, 0.6875, 0.47960877418518066)),
        (0.9, (1, 2, 12), (1.8049969311703213, 3.20825557435799, 828.5291156380098)),
    ],
)
def test_the_hedged_capital_is_confseqs(mean: float, after: Any, theirs: Any) -> None:
    """Of its version 0.0.11: betting_mart(X, mean, alpha=0.05, trunc_scale=0.75), half the larger capital of both sides."""
    up, down = (Bets.on_values(column(x), 0.95, "betting") for x in (X, [1 - x for x in X]))
    both = np.maximum(up.capital(np.array([mean])), down.capital(np.array([1 - mean])))[:, 0]
    assert [math.exp(both[n - 1]) / 2 for n in after] == pytest.approx(theirs, rel=1e-12)


def test_the_ends_of_betting_are_confseqs_within_the_steps_of_its_grid() -> None:
    """betting_cs(..., alpha=0.05, trunc_scale=0.75, breaks=20_000, running_intersection=True), version 0.0.11."""
    low, high, _ = confidence_sequence(column((X[:10]) * 20), UNIT, looks=[10, 50, 200])
    assert low[:, 0] == pytest.approx([0.3574, 0.5157, 0.55775], abs=1e-4)
    assert high[:, 0] == pytest.approx([0.82115, 0.6958, 0.6529], abs=1e-4)


@each("method", METHODS)
@each("n", [3, 40, 300])
def test_the_interval_has_the_means_whose_bets_never_won(method: Any, n: int) -> None:
    low, high, _ = confidence_sequence(DRAWN[:n], BOTH, 0.9, method)
    for column, lower, upper in zip(((DRAWN[:n] + 1) / 2).T, (low[0] + 1) / 2, (high[0] + 1) / 2, strict=True):
        for x, end in ((column.tolist(), lower), ((1 - column).tolist(), 1 - upper)):
            inside = max(gains(x, end + 1e-9, method, 0.9))
            assert inside < math.log(20)
            if end > 0:
                assert max(gains(x, end - 1e-9, method, 0.9)) >= math.log(20) - 1e-6


@each("method", METHODS)
def test_intervals_only_shrink_and_a_look_depends_on_the_values_before_it_alone(method: Any) -> None:
    looks = [1, 2, 10, 50, 299, 300]
    low, high, p = confidence_sequence(DRAWN, BOTH, 0.95, method, looks)
    for side in (low, -high, -p):
        assert (np.diff(side, axis=0) >= 0).all()
    for i, n in enumerate(looks):
        alone = confidence_sequence(DRAWN[:n], BOTH, 0.95, method)
        assert [x[0].tolist() for x in alone] == [x[i].tolist() for x in (low, high, p)]


@each("method", METHODS)
@each("ci", [0.9, 0.95, 0.99])
def test_a_p_value_is_below_the_level_where_0_is_outside_the_interval(method: Any, ci: float) -> None:
    d = np.clip(np.random.default_rng(1).normal(0, 0.2, (400, 60)) + np.linspace(-0.1, 0.1, 60), -1, 1)
    low, high, p = (x[0] for x in confidence_sequence(d, (np.full(60, -1.0), np.ones(60)), ci, method))
    outside = (low > 0) | (high < 0)
    assert 5 < outside.sum() < 55
    assert (outside == (p <= 1 - ci)).all()


@each("method", METHODS)
def test_a_missing_value_changes_nothing(method: Any) -> None:
    holes = np.full((320, 6), np.nan)
    kept = np.sort(np.random.default_rng(2).permutation(320)[:300])
    holes[kept] = DRAWN
    wanted, found = (confidence_sequence(x, BOTH, 0.95, method) for x in (DRAWN, holes))
    for one, other in zip(wanted, found, strict=True):
        assert other == pytest.approx(one, rel=1e-12)


def test_nothing_is_known_without_values() -> None:
    for d in (np.empty((0, 1)), np.full((3, 1), np.nan)):
        low, high, p = confidence_sequence(d, (np.array([-2.0]), np.array([2.0])))
        assert (low.item(), high.item(), math.isnan(p.item())) == (-2.0, 2.0, True)


def test_an_interval_goes_along_with_the_scale_and_the_sign_of_its_values() -> None:
    low, high, p = confidence_sequence(DRAWN, BOTH)
    larger = confidence_sequence(10 * DRAWN, (10 * BOTH[0], 10 * BOTH[1]))
    mirrored = confidence_sequence(-DRAWN, BOTH)
    assert larger[0] == pytest.approx(10 * low)
    assert mirrored[0] == pytest.approx(-high)
    for other in (larger, mirrored):
        assert other[2] == pytest.approx(p)


def test_a_value_beyond_the_bounds_is_refused_and_a_rounding_error_is_none() -> None:
    confidence_sequence(column([1.0 + 1e-12, 0.0]), UNIT)
    with pytest.raises(rf.InvalidOption, match="beyond the bounds"):
        confidence_sequence(column([1.1, 0.0]), UNIT)


@each("method", METHODS)
@each("loss", [0.05, 0.02, 0.01])
def test_so_many_values_rule_out_the_loss_and_one_less_do_not(method: Any, loss: float) -> None:
    n = values_needed(loss, 0.9, method)
    assert (
        max(gains([0.5] * n, 0.5 - loss, method, 0.9))
        >= math.log(20)
        > max(gains([0.5] * (n - 1), 0.5 - loss, method, 0.9))
    )


def test_no_number_of_values_rules_out_nothing() -> None:
    assert values_needed(0.0, 0.9, "betting") == 2**20


def test_the_method_is_chosen_by_the_plan_alone() -> None:
    assert [method_for(n) for n in (2, 9_999, 10_000, 10**9)] == [*["betting"] * 2, *["empirical_bernstein"] * 2]


def widths(n: int, method: Any, spread: float = 0.2) -> float:
    """How many times as wide as the normal interval, for differences in [-1, 1], the mean of twenty experiments."""
    d = np.clip(np.random.default_rng(0).normal(0, spread, (n, 20)), -1, 1)
    low, high, _ = confidence_sequence(d, (np.full(20, -1.0), np.ones(20)), method=method)
    return float((high - low).mean() / (2 * 1.96 * spread / n**0.5))


def test_the_price_is_that_of_the_worked_case_and_betting_is_cheaper() -> None:
    """Empirical Bernstein: about 4 times the width of a single look at 100 queries, 1.9 at 1,000."""
    assert widths(100, "empirical_bernstein") == pytest.approx(4.0, abs=0.15)
    assert widths(1_000, "empirical_bernstein") == pytest.approx(1.9, abs=0.15)
    assert widths(100, "betting") < 1.75
    assert widths(1_000, "betting") < 1.65
