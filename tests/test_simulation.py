"""How often intervals hold the mean, and how often tests see a difference where there is none, by simulation.

Populations of reciprocal ranks and of graded gains, skewed and with many ties, as metrics have them. The figures that
docs/decisions.md gives are those that this prints with `pytest -m simulation -s`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rankframe import stats

pytestmark = pytest.mark.simulation

TIMES, RESAMPLES = 1000, 999


def reciprocal_ranks(rng: np.random.Generator, *shape: int) -> Any:
    """1 / rank of the first relevant document, geometric with 0.4; 0 beyond rank 10."""
    rank = rng.geometric(0.4, shape)
    return np.where(rank <= 10, 1 / rank, 0.0)


def skewed(rng: np.random.Generator, *shape: int) -> Any:
    """Mostly near 0, some near 1."""
    return rng.beta(0.4, 1.2, shape)


POPULATIONS = {"reciprocal ranks": reciprocal_ranks, "skewed": skewed}
MEANS = {
    "reciprocal ranks": sum(0.4 * 0.6 ** (rank - 1) / rank for rank in range(1, 11)),
    "skewed": 0.4 / 1.6,
}
LEAST = {("bca", 20): 0.89, ("percentile", 20): 0.88, ("t", 20): 0.89}


@pytest.mark.parametrize("population", POPULATIONS)
@pytest.mark.parametrize("n", [20, 50, 200])
@pytest.mark.parametrize("method", ["bca", "percentile", "t"])
def test_intervals_of_95_percent_hold_the_mean_about_as_often(population: str, n: int, method: Any) -> None:
    rng = np.random.default_rng(n)
    values = POPULATIONS[population](rng, n, TIMES)  # a column per experiment
    low, high = stats.intervals(values, np.ones(n), 0.95, method, RESAMPLES, 0)
    share = float(np.mean((low <= MEANS[population]) & (high >= MEANS[population])))
    print(f"coverage {method:>10} {population:>16} n={n:<3} {share:.3f}")
    assert LEAST.get((method, n), 0.92) <= share <= 0.98


@pytest.mark.parametrize("population", POPULATIONS)
@pytest.mark.parametrize("n", [10, 25, 50])
@pytest.mark.parametrize("test", ["permutation", "t", "bootstrap"])
def test_one_in_twenty_tests_sees_a_difference_where_there_is_none(population: str, n: int, test: Any) -> None:
    rng = np.random.default_rng(n)
    a, b = POPULATIONS[population](rng, 2, n, TIMES)
    p, _ = stats.paired_test(b - a, np.ones(n), test, RESAMPLES, 0)
    share = float(np.mean(p <= 0.05))
    print(f"false alarms {test:>11} {population:>16} n={n:<3} {share:.3f}")
    assert 0.02 <= share <= (0.08 if test == "bootstrap" and n == 10 else 0.07)


@pytest.mark.parametrize("population", POPULATIONS)
def test_one_in_twenty_families_of_equal_runs_has_any_alarm_by_tukey_and_by_holm(population: str) -> None:
    rng = np.random.default_rng(3)
    tukey = holm = 0
    for seed in range(300):
        values = POPULATIONS[population](rng, 30, 5)
        pairs = [values[:, j] - values[:, i] for i in range(5) for j in range(i + 1, 5)]
        p, _ = stats.paired_test(np.column_stack(pairs), np.ones(30), "permutation", RESAMPLES, seed)
        holm += stats.adjust(p, "holm").min() <= 0.05
        tukey += stats.tukey(values, np.ones(30), RESAMPLES, seed)[np.triu_indices(5, 1)].min() <= 0.05
    print(f"any false alarm of ten, {population}: tukey {tukey / 300:.3f}, holm {holm / 300:.3f}")
    assert tukey / 300 <= 0.08
    assert holm / 300 <= 0.08
