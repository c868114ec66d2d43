"""How often intervals hold the mean, tests see a difference where there is none, and gates pass a run, by simulation.

Populations of reciprocal ranks and of graded gains, skewed and with many ties, as metrics have them, and of differences
between runs, made up and real. The figures that docs/decisions.md gives are those that this prints with
`pytest -n 0 -m nightly -s tests/decisions/test_simulation.py`.
"""

from __future__ import annotations

from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from rankframe import stats
from rankframe._statistics.estimators import ESTIMATORS
from rankframe._statistics.sample import Limits, Sample
from rankframe._support.progress import Progress
from rankframe._support.statistical_options import FEW
from rankframe._verbs.sample.resampling import Resampling

pytestmark = pytest.mark.nightly

OF_TOPICS = pl.read_csv(Path(__file__).parents[1] / "data" / "robust03.csv").partition_by("metric", as_dict=True)
REAL = {str(metric): rows.drop("metric", "topic").to_numpy() for (metric,), rows in OF_TOPICS.items()}
"""The values of eight runs of TREC's Robust track of 2003 on its hundred topics, a column each, by metric."""
REAL["hit_rate@1"] = (REAL["rr"] == 1).astype(float)
ROBUST = REAL["ndcg@10"]

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
@pytest.mark.parametrize("interval", ["bca", "percentile", "t"])
def test_intervals_of_95_percent_hold_the_mean_about_as_often(population: str, n: int, interval: Any) -> None:
    rng = np.random.default_rng(n)
    values = POPULATIONS[population](rng, n, TIMES)  # a column per experiment
    low, high = stats.intervals(values, np.ones(n), 0.95, interval, RESAMPLES, 0)
    share = float(np.mean((low <= MEANS[population]) & (high >= MEANS[population])))
    print(f"coverage {interval:>10} {population:>16} n={n:<3} {share:.3f}")
    assert LEAST.get((interval, n), 0.92) <= share <= 0.98


def share(rng: np.random.Generator, n: int, p: float) -> tuple[Any, Any]:
    return (rng.random((n, TIMES)) < p).astype(float), np.full(TIMES, p)


def topics(rng: np.random.Generator, n: int, metric: str) -> tuple[Any, Any]:
    """Topics drawn with replacement, of another run for each experiment."""
    of_run = REAL[metric][:, rng.integers(0, 8, TIMES)]
    return np.take_along_axis(of_run, rng.integers(0, len(of_run), (n, TIMES)), axis=0), of_run.mean(axis=0)


def changes(rng: np.random.Generator, n: int, metric: str) -> tuple[Any, Any]:
    """The same, of the difference of two runs."""
    first = rng.integers(0, 8, TIMES)
    of_pair = REAL[metric][:, first] - REAL[metric][:, (first + rng.integers(1, 8, TIMES)) % 8]
    return np.take_along_axis(of_pair, rng.integers(0, len(of_pair), (n, TIMES)), axis=0), of_pair.mean(axis=0)


VALUES: dict[str, tuple[Any, Any, float]] = {
    **{f"share {p}": (share, p, 0.0) for p in (0.5, 0.9, 0.99)},
    **{metric: (topics, metric, 0.0) for metric in ("rr", "ndcg@10", "map")},
}


@pytest.mark.parametrize("values", VALUES)
@pytest.mark.parametrize("n", [2, 4, 8, 12, 20, 50, 200])
def test_the_default_interval_holds_the_mean_in_93_of_100_experiments_or_more(values: str, n: int) -> None:
    draw, of, least = VALUES[values]
    drawn, mean = draw(np.random.default_rng(n), n, of)
    limits = Limits(np.full(TIMES, least), np.ones(TIMES), np.ones(TIMES, dtype=bool))
    resampling = Resampling(0.95, "auto", RESAMPLES, 0, progress=False)
    low, high, kinds = resampling.intervals(drawn, np.ones(n), limits, Progress("", False))
    held = float(np.mean((low <= mean + 1e-12) & (mean - 1e-12 <= high)))
    old = stats.intervals(drawn, np.ones(n), 0.95, "bca", RESAMPLES, 0)
    before = float(np.mean((old[0] <= mean + 1e-12) & (mean - 1e-12 <= old[1])))
    bounded = kinds.count("bounded") / TIMES
    print(
        f"coverage auto {values:>22} n={n:<3} {held:.1%}, bca {before:.1%}, bounded {bounded:.0%}, width {np.mean(high - low):.3f}"
    )
    assert held >= 0.93


@pytest.mark.parametrize("metric", ["rr", "ndcg@10", "map", "hit_rate@1"])
@pytest.mark.parametrize("n", [2, 4, 8, 12, 20, 50, 200])
def test_the_default_interval_of_a_difference_holds_it_and_agrees_with_p(metric: str, n: int) -> None:
    drawn, mean = changes(np.random.default_rng(n), n, metric)
    sample = Sample(drawn, np.ones(n), Limits(np.full(TIMES, -1.0), np.ones(TIMES), np.ones(TIMES, dtype=bool)))
    found = ESTIMATORS["auto"](sample, 0.95, resamples=RESAMPLES)
    student = ESTIMATORS["t"](sample, 0.95)
    held, by_t = (float(np.mean((x.low <= mean + 1e-12) & (mean - 1e-12 <= x.high))) for x in (found, student))
    flipped = np.array([kind == "permutation" for kind in found.kinds])
    widths = (found.high - found.low)[flipped].sum() / max((student.high - student.low)[flipped].sum(), 1e-9)
    print(
        f"coverage of differences {metric:>11} n={n:<3} {held:.1%}, t {by_t:.1%}, sign flips {flipped.mean():.0%}, width {widths:.2f}"
    )
    assert held >= 0.93
    assert ((found.p < 0.05) == ((found.low > 0) | (found.high < 0))).all()
    assert n < 12 or widths <= 1.15


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
        tukey += stats.tukey(values, np.ones(30), RESAMPLES, seed)[2][np.triu_indices(5, 1)].min() <= 0.05
    print(f"any false alarm of ten, {population}: tukey {tukey / 300:.3f}, holm {holm / 300:.3f}")
    assert tukey / 300 <= 0.08
    assert holm / 300 <= 0.08


def normal(rng: np.random.Generator, n: int, times: int) -> tuple[Any, Any]:
    return rng.normal(0, 0.15, (n, times)), np.zeros(times)


def losses(rng: np.random.Generator, n: int, times: int) -> tuple[Any, Any]:
    """An exponential tail of losses: most queries gain a little, few lose much."""
    return 0.1 * (1 - rng.exponential(1, (n, times))), np.zeros(times)


def rare(rng: np.random.Generator, n: int, times: int) -> tuple[Any, Any]:
    """One query in fifty loses everything, and nothing else changes."""
    return -1.0 * (rng.random((n, times)) < 0.02), np.full(times, -0.02)


def real(rng: np.random.Generator, n: int, times: int, touched: float = 1.0) -> tuple[Any, Any]:
    """The topics' differences between two runs, another two for each experiment, on a share of the queries."""
    pairs = list(permutations(range(ROBUST.shape[1]), 2))
    each = np.array([ROBUST[:, b] - ROBUST[:, a] for a, b in pairs])[rng.integers(0, len(pairs), times)]
    drawn = np.take_along_axis(each.T, rng.integers(0, len(ROBUST), (n, times)), axis=0)
    return np.where(rng.random((n, times)) < touched, drawn, 0.0), touched * each.mean(axis=1)


def few_touched(rng: np.random.Generator, n: int, times: int) -> tuple[Any, Any]:
    """The same on one query in five; the others rank as before."""
    return real(rng, n, times, 0.2)


DIFFERENCES = {"normal": normal, "losses": losses, "rare": rare, "real": real, "few touched": few_touched}
SIZES = [2, 3, 5, 10, 20, 50, 100, 200, 500, 1000]
LIMITS = np.full(1000, -1.0), np.full(1000, 1.0)


def passing(d: Any, budget: Any, interval: Any) -> float:
    """The share of experiments, a column each, whose one-sided bound of 95% is within the budget."""
    low, _ = stats.intervals(d, np.ones(len(d)), 0.9, interval, RESAMPLES, 0, limits=LIMITS)
    return float(np.mean(low >= -budget))


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("population", DIFFERENCES)
def test_a_run_that_is_worse_by_the_whole_budget_passes_once_in_twenty_times_or_less(population: str, n: int) -> None:
    d, mean = DIFFERENCES[population](np.random.default_rng(n), n, TIMES)
    shares = {method: passing(d, -mean, method) for method in ("bounded", "bca", "t")}
    print(f"passed though worse, {population:>11} n={n:<4}", {name: f"{share:.1%}" for name, share in shares.items()})
    assert shares["bounded"] <= 0.05 + 3 * (0.05 * 0.95 / TIMES) ** 0.5
    if n >= FEW and population != "rare":
        assert max(shares.values()) <= 0.12


ENOUGH = {("real", 100, 0.05): 0.35, ("real", 200, 0.05): 0.65, ("real", 1000, 0.02): 0.65, ("real", 1000, 0.05): 0.95}
ENOUGH |= {("few touched", 200, 0.02): 0.4, ("few touched", 500, 0.02): 0.85, ("few touched", 1000, 0.01): 0.65}


@pytest.mark.parametrize("n", [20, 50, 100, 200, 500, 1000])
@pytest.mark.parametrize("population", ["real", "few touched"])
def test_a_run_that_is_no_worse_passes_where_there_are_enough_queries(population: str, n: int) -> None:
    d, mean = DIFFERENCES[population](np.random.default_rng(n), n, TIMES)
    for budget in (0.01, 0.02, 0.05, 0.1):
        shares = {method: passing(d - mean, budget, method) for method in ("bounded", "bca", "t")}
        print(f"passed, {population:>11} n={n:<4} {budget}", {name: f"{share:.0%}" for name, share in shares.items()})
        assert shares["bounded"] >= ENOUGH.get((population, n, budget), 0.0)
