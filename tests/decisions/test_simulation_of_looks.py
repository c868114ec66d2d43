"""How often intervals hold at all of many looks, what they cost, and how far ranks and reliability may be off, by simulation.

The figures that docs/tests_and_intervals.md gives are those that this prints with
`pytest -n 0 -m nightly -s tests/decisions/test_simulation_of_looks.py`.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats as scipy_stats

import rankframe as rf
from rankframe import stats
from rankframe._statistics.confidence_sequences import STAKES, Bets, confidence_sequence, method_for
from tests.decisions.test_simulation import REAL, ROBUST, few_touched, rare, real

pytestmark = pytest.mark.nightly

TIMES = 1000
MOST = 0.05 + 3 * (0.05 * 0.95 / TIMES) ** 0.5
"""A share of 5%, and three standard errors of so many experiments."""

ALL = np.full(TIMES, -1.0), np.ones(TIMES)
LOOKS = 30


def shares(p: float) -> Any:
    """Two runs that hit on a share of the queries each, on other ones."""

    def draw(rng: np.random.Generator, n: int, times: int) -> tuple[Any, Any]:
        one, other = (rng.random((2, n, times)) < p).astype(float)
        return other - one, np.zeros(times)

    return draw


def gained(rng: np.random.Generator, n: int, times: int) -> tuple[Any, Any]:
    """The run gains 1 on one query in ten and loses 0.1 on the others: the mean is 0.01."""
    return np.where(rng.random((n, times)) < 0.1, 1.0, -0.1), np.full(times, 0.01)


DIFFERENCES: dict[str, Any] = {
    "share 0.5": shares(0.5), "share 0.9": shares(0.9), "share 0.99": shares(0.99), "real": real,
    "few touched": few_touched, "rare": rare, "gained": gained,
}  # fmt: skip


def ever_out(d: Any, mean: Any, method: Any) -> float:
    """The share of experiments, a column each, whose true mean is outside the interval after any of the values."""
    x, m = (d + 1) / 2, (mean + 1) / 2
    won = [Bets.on_values(side, 0.95, method).most(against) for side, against in ((x, m), (1 - x, 1 - m))]
    return float(np.mean(np.maximum(*won) >= np.log(40)))


@pytest.mark.parametrize("population", DIFFERENCES)
@pytest.mark.parametrize("n", [4, 30, 100, 1_000, 10_000])
@pytest.mark.parametrize("method", STAKES)
def test_the_mean_is_in_the_interval_at_every_look_in_95_of_100_experiments(
    population: str, n: int, method: Any
) -> None:
    d, mean = DIFFERENCES[population](np.random.default_rng(n), n, TIMES if n < 10_000 else 300)
    out = ever_out(d, mean, method)
    print(f"ever outside, {method:>19} {population:>11} looks={n:<6} {out:.1%}")
    assert out <= 0.05 + 3 * (0.05 * 0.95 / d.shape[1]) ** 0.5


@pytest.mark.parametrize("population", ["share 0.5", "share 0.9", "real", "few touched"])
@pytest.mark.parametrize("per_night", [30, 100])
def test_a_test_that_is_read_nightly_alarms_in_29_of_100_months_and_a_sequential_one_in_5_at_most(
    population: str, per_night: int
) -> None:
    """Student's t after each of thirty nights, and the anytime-valid p-value, of runs without a difference."""
    d, mean = DIFFERENCES[population](np.random.default_rng(per_night), LOOKS * per_night, TIMES)
    d = (d - mean) / 2  # within the bounds
    looks = [per_night * (i + 1) for i in range(LOOKS)]
    last = np.array(looks)[:, None] - 1
    sums, squares = (x.cumsum(axis=0)[last[:, 0]] for x in (d, d**2))
    with np.errstate(divide="ignore", invalid="ignore"):
        error = np.sqrt((squares - sums**2 / (last + 1)) / last)
        t = np.abs(sums / (last + 1) ** 0.5 / error) >= scipy_stats.t.isf(0.025, last)
    _, _, p = confidence_sequence(d, ALL, looks=looks)
    fixed, once, ours = np.any(t, axis=0).mean(), t[-1].mean(), (p <= 0.05).any(axis=0).mean()
    print(
        f"alarms in {LOOKS} nights of {per_night:>3}, {population:>11}: t {fixed:.1%} (last night alone {once:.1%}), sequential {ours:.1%}"
    )
    assert ours <= MOST
    if population in ("real", "share 0.5"):
        assert 0.24 <= fixed <= 0.34


@pytest.mark.parametrize("population", ["real", "few touched", "rare", "share 0.9"])
@pytest.mark.parametrize("per_night", [30, 100])
def test_a_gate_that_is_read_nightly_passes_a_run_that_is_worse_by_the_budget_in_5_of_100_months_at_most(
    population: str, per_night: int
) -> None:
    """The bound of the default gate after each of thirty nights, and that of the sequential gate."""
    d, mean = DIFFERENCES[population](np.random.default_rng(per_night), LOOKS * per_night, 300)
    limits, looks = (np.full(300, -1.0), np.ones(300)), [per_night * (i + 1) for i in range(LOOKS)]
    bounds = [stats.intervals(d[:n], np.ones(n), 0.9, "bounded", 199, 0, limits=limits)[0] >= mean for n in looks]
    low, _, _ = confidence_sequence(d, limits, 0.9, looks=looks)
    fixed, ours = np.any(bounds, axis=0).mean(), (low >= mean).any(axis=0).mean()
    print(f"passed in {LOOKS} nights of {per_night:>3}, {population:>11}: fixed {fixed:.1%}, sequential {ours:.1%}")
    assert ours <= 0.05 + 3 * (0.05 * 0.95 / 300) ** 0.5


@pytest.mark.parametrize("population", DIFFERENCES)
@pytest.mark.parametrize("n", [30, 100, 300, 1_000, 3_000, 10_000, 30_000])
def test_the_chosen_method_is_the_cheaper_one_of_real_differences(population: str, n: int) -> None:
    times = 100 if n <= 3_000 else 10
    d, _ = DIFFERENCES[population](np.random.default_rng(n), n, times)
    limits = np.full(times, -1.0), np.ones(times)
    fixed = np.mean(2 * 1.96 * d.std(axis=0)) / n**0.5
    price = {}
    for method in STAKES:
        low, high, _ = confidence_sequence(d, limits, method=method)
        price[method] = float((high - low).mean() / fixed)
    print(f"times as wide, {population:>11} n={n:<6}", {name: f"{x:.2f}" for name, x in price.items()})
    if population == "real" and n != 10_000:
        assert price[method_for(n)] == min(price.values())


@pytest.mark.parametrize("n", [4, 12, 50, 100])
def test_the_true_ranks_of_all_runs_are_in_their_intervals_in_95_of_100_experiments(n: int) -> None:
    """The eight runs on topics drawn with replacement, and eight runs that are equal on average."""
    equal = 0.4 * np.random.default_rng(1).random((100, 8))
    for name, population in (("real", ROBUST), ("equal", equal - equal.mean(axis=0) + 0.5)):
        names = [f"run{i}" for i in range(8)]
        mean = population.mean(axis=0)
        first = 1 + (mean[:, None] < mean - 1e-9).sum(axis=1)
        last = 8 - (mean[:, None] > mean + 1e-9).sum(axis=1)
        all_in, top, wide, times = 0, [], [], 100
        for i in range(times):
            x = population[np.random.default_rng(i).integers(0, 100, n)]
            df = pl.DataFrame({"query_id": np.tile(range(n), 8), "run": np.repeat(names, n), "x": x.T.ravel()})
            found = df.rank.compare(rf.value("x", bounds=(0, 1)), run="run", resamples=1_999).ranks
            of = {
                run: (low, high, group)
                for run, low, high, group in found.select("run", "rank_low", "rank_high", "group").rows()
            }
            all_in += all(of[run][0] <= a and b <= of[run][1] for run, a, b in zip(names, first, last, strict=True))
            top.append(sum(x[2] == 1 for x in of.values()))
            wide.append(np.mean([high - low + 1 for low, high, _ in of.values()]))
        print(
            f"ranks of 8 runs, {name:>5} n={n:<3}: all in {all_in / times:.0%}, tied for the top {np.mean(top):.1f}, {np.mean(wide):.1f} ranks wide"
        )
        assert all_in / times >= 0.95 - 3 * (0.05 * 0.95 / times) ** 0.5


@pytest.mark.parametrize("n", [25, 50, 100])
def test_the_intervals_of_reliability_hold_in_about_95_of_100_experiments(n: int) -> None:
    """Of the figures' means over samples of so many topics; of tau, its value for all topics."""
    x, y = REAL["ndcg@10"], REAL["map"]
    names = [f"run{i}" for i in range(8)]
    pairs = [*combinations(range(8), 2)]

    def figures(rows: Any, rng: np.random.Generator) -> tuple[float, float]:
        one = x[rows]
        with np.errstate(invalid="ignore"):
            power = np.mean([scipy_stats.ttest_rel(one[:, a], one[:, b]).pvalue < 0.05 for a, b in pairs])
        half = rng.permutation(n)[: n // 2]
        first, second = one[half].mean(axis=0), np.delete(one, half, axis=0).mean(axis=0)
        return float(power), float(np.mean([(first[a] - first[b]) * (second[a] - second[b]) < 0 for a, b in pairs]))

    rng = np.random.default_rng(n)
    power, swap = np.mean([figures(rng.integers(0, 100, n), rng) for _ in range(1_000)], axis=0)
    wanted = {
        "discriminative_power": power,
        "swap_rate": swap,
        "tau": scipy_stats.kendalltau(x.mean(axis=0), y.mean(axis=0)).statistic,
    }
    held, times = dict.fromkeys(wanted, 0), 150
    for i in range(times):
        rows = np.random.default_rng(1_000 + i).integers(0, 100, n)
        df = pl.DataFrame(
            {
                "query_id": np.tile(range(n), 8),
                "run": np.repeat(names, n),
                "x": x[rows].T.ravel(),
                "y": y[rows].T.ravel(),
            }
        )
        metrics = [rf.value(name, bounds=(0, 1)) for name in "xy"]
        found = df.rank.collection.reliability(
            *metrics, run="run", difference=0.5, halves=20, resamples=199, test="t"
        ).table
        found = found.filter(pl.col("metric").str.starts_with("value:x") & (pl.col("difference").fill_null(0) == 0))
        for row in found.rows(named=True):
            held[row["figure"]] += row["ci_low"] - 1e-9 <= wanted[row["figure"]] <= row["ci_high"] + 1e-9
    print(f"reliability n={n:<3}", {name: f"{x / times:.0%}" for name, x in held.items()})
    assert min(held.values()) / times >= 0.88
