"""How often preferences are found where there are none, how often where there are, and how often intervals hold, by simulation.

The figures that docs/interleaving.md gives are those that this prints with
`pytest -n 0 -m nightly -s tests/decisions/test_simulation_of_preferences.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import binom

import rankframe  # noqa: F401 - registers .rank
from rankframe import stats
from rankframe._statistics.confidence_sequences import confidence_sequence
from rankframe._statistics.interleaving import Method, clustered_mean
from rankframe._statistics.preferences import strengths

pytestmark = pytest.mark.nightly

TIMES = 1000
TIES = 0.3
ENDS = np.array([-0.5]), np.array([0.5])


def users(rng: np.random.Generator, n: int, spread: float, delta: float = 0.0) -> tuple[Any, Any, Any]:
    """The wins, the losses and the impressions of n users, 5 impressions on average; their taste varies by `spread`."""
    counts = 1 + rng.poisson(4, n)
    taste = np.clip(0.5 + delta / (1 - TIES) + spread * rng.choice([-1, 1], n), 0, 1)
    decided = rng.binomial(counts, 1 - TIES)
    wins = rng.binomial(decided, taste)
    return wins, decided - wins, counts.astype(float)


@pytest.mark.parametrize("n", [20, 200])
@pytest.mark.parametrize("spread", [0.0, 0.2, 0.4])
def test_a_test_that_knows_users_keeps_its_level_and_one_that_does_not_finds_too_many(n: int, spread: float) -> None:
    rng, found = np.random.default_rng(n), np.zeros(3)
    for _ in range(TIMES):
        wins, losses, counts = users(rng, n, spread)
        net = (wins - losses).astype(float)
        p = stats.paired_test(net[:, None], np.ones(n), "permutation", 999, 0)[0].item()
        low, high = stats.intervals((net / counts / 2)[:, None], counts, 0.95, "bca", 999, 0)
        found += stats.sign_test(wins.sum(), losses.sum()) < 0.05, p < 0.05, low.item() <= 0 <= high.item()
    alone, known, held = found / TIMES
    print(
        f"users={n:<3} taste varies by {spread}: false alarms {alone:.3f} without and {known:.3f} with users, interval {held:.3f}"
    )
    assert known < 0.07
    assert held > 0.9
    assert alone < 0.07 or spread > 0


@pytest.mark.parametrize("spread", [0.0, 0.3])
def test_with_the_impressions_needed_four_of_five_experiments_find_the_preference(spread: float) -> None:
    rng, delta = np.random.default_rng(1), 0.05
    wins, losses, counts = users(rng, 4000, spread)
    _, error = clustered_mean((wins - losses) / 2, counts)
    needed = stats.queries_needed(delta / (error * counts.sum() ** 0.5), 0.8, 0.05)
    n = round(needed / counts.mean())
    detected = 0
    for _ in range(TIMES):
        wins, losses, counts = users(rng, n, spread, delta)
        net = (wins - losses).astype(float)
        detected += stats.paired_test(net[:, None], np.ones(n), "permutation", 999, 0)[0].item() < 0.05
    print(
        f"taste varies by {spread}: {needed} impressions of {n} users detect a delta of {delta} in {detected / TIMES:.3f}"
    )
    assert abs(detected / TIMES - 0.8) < 0.05


@pytest.mark.parametrize("delta", [0.0, 0.02, 0.05])
def test_a_test_that_is_read_a_thousand_times_alarms_and_a_sequential_one_does_not(delta: float) -> None:
    rng, looks, times = np.random.default_rng(2), np.arange(10, 10_001, 10), 300
    x = rng.choice([1, 0, -1], (10_000, times), p=[0.35 + delta, TIES, 0.35 - delta])
    won, lost = ((x == sign).cumsum(axis=0)[looks - 1] for sign in (1, -1))
    fixed = 2 * binom.cdf(np.minimum(won, lost), won + lost, 0.5) < 0.05
    (low,), (high,), (p,) = confidence_sequence(
        x / 2, (ENDS[0].repeat(times), ENDS[1].repeat(times)), 0.95, "empirical_bernstein"
    )
    missed = ((low > delta) | (high < delta)).mean()  # at any look, as intervals only shrink
    print(
        f"delta={delta}: sign test at the end {fixed[-1].mean():.3f}, at any look {fixed.any(axis=0).mean():.3f}; "
        f"sequential at any look {(p < 0.05).mean():.3f}, its interval misses {missed:.3f}"
    )
    assert missed <= 0.05
    assert fixed.any(axis=0).mean() > 0.3
    assert (p < 0.05).mean() < 0.05 or delta > 0


def searched(rng: np.random.Generator, n: int, noise: dict[str, float]) -> pl.DataFrame:
    """Documents with scores of two runs, each as good as its noise is small; a label of 1 is worth a click."""
    label = (rng.random((n, 30)) < 0.15).astype(int)
    scores = {run: (label + noise[run] * rng.standard_normal((n, 30))).ravel() for run in noise}
    return pl.DataFrame(
        {"query_id": np.repeat(np.arange(n), 30), "doc_id": [*range(30)] * n, "label": label.ravel(), **scores}
    )


@pytest.mark.parametrize("method", ["team_draft", "balanced", "probabilistic"])
@pytest.mark.parametrize("better", [False, True])
def test_each_method_finds_the_better_run_and_prefers_no_equal_one(method: Method, better: bool) -> None:
    rng, found, deltas, times = np.random.default_rng(3), 0, [], 300
    for i in range(times):
        df = searched(rng, 300, {"new": 0.5 if better else 0.6, "old": 0.6})
        lists = df.rank.clicks.interleave(runs=["new", "old"], method=method, seed=i)
        clicked = rng.random(lists.height) < np.where(lists["label"] == 1, 0.7, 0.1) * 0.8 ** (
            lists["rank"].to_numpy() - 1
        )
        shown = lists.with_columns(label=pl.Series(clicked).cast(pl.Int8))
        row = shown.rank.clicks.preference(method=method, baseline="old", interval="t").table.row(0, named=True)
        found += row["p_value"] < 0.05
        deltas.append(row["delta"])
    print(
        f"{method:<13} new is {'better' if better else 'as good'}: found in {found / times:.3f}, delta {np.mean(deltas):+.3f}"
    )
    assert (found / times > 0.12) if better else (found / times < 0.08)


@pytest.mark.parametrize("spread", [0.0, 1.0])
def test_intervals_of_strengths_and_win_rates_hold_as_often_as_they_say(spread: float) -> None:
    """Four systems on 60 queries, each pair compared once a query; queries may favour systems by `spread`."""
    rng, times, held = np.random.default_rng(4), 400, np.zeros(4)
    first, second = (np.tile(x, 60) for x in np.triu_indices(4, 1))
    query, true = np.repeat(np.arange(60), 6), np.array([0.6, 0.2, -0.2, -0.6])

    def drawn(n: int) -> Any:
        own = true + spread * rng.standard_normal((n, 4))
        odds = np.exp(np.stack([own[:, first[:6]], (own[:, first[:6]] + own[:, second[:6]]) / 2, own[:, second[:6]]]))
        chance = odds / odds.sum(axis=0)
        return chance, (rng.random((n, 6)) > np.cumsum(chance, axis=0)).sum(axis=0)

    many, _ = drawn(200_000)
    share, counted = np.zeros(4), np.zeros((3, 6))
    for pair, (i, j) in enumerate(zip(first[:6], second[:6], strict=True)):
        counted[:, pair] = many[:, :, pair].mean(axis=1)
        share[i] += (counted[0, pair] + counted[1, pair] / 2) / 3
        share[j] += (counted[2, pair] + counted[1, pair] / 2) / 3
    scale = np.rint(counted * 100_000).astype(int)
    wanted = strengths(
        *(np.repeat(np.tile(x[:6], 3), scale.ravel()) for x in (first, second)), np.repeat(np.repeat([0, 1, 2], 6), scale.ravel()),
        4, prior=0.0, clusters=None, ci=0.95,
    ).strength  # fmt: skip
    for _ in range(times):
        outcome = drawn(60)[1].ravel()
        for at, clusters in enumerate((None, query)):
            x = strengths(first, second, outcome, 4, prior=0.0, clusters=clusters, ci=0.95)
            held[2 * at] += ((x.ends[0] <= wanted) & (wanted <= x.ends[1])).mean()
            held[2 * at + 1] += ((x.rate_ends[0] <= share) & (share <= x.rate_ends[1])).mean()
    strength, rate, pooled, pooled_rate = held / times
    print(
        f"queries vary by {spread}: strength {pooled:.3f}, win rate {pooled_rate:.3f}; as if independent {strength:.3f}, {rate:.3f}"
    )
    assert min(pooled, pooled_rate) > 0.92
