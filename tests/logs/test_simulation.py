"""The bias of estimates from clicks, and how often their intervals hold the true value, on logs of a position-based model.

The figures that docs/logs.md gives are those that this prints with `pytest -n 0 -m nightly -s tests/logs/test_simulation.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import rankframe as rf
from tests.logs.position_based import World

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.filterwarnings("ignore:the interval of .* is Student's t:rankframe.RankframeWarning"),
]

TIMES, RESAMPLES, K = 300, 399, 5
WORLD = World(0)
TRUE = WORLD.truth(K)
ON: dict[str, Any] = {"query": "session", "label": "clicked"}


def simulated(sessions: int, per_user: int = 1, **options: Any) -> dict[str, dict[str, float]]:
    """The mean, the spread and the coverage of each estimate over the experiments, and the effective sample size."""
    found: dict[str, list[tuple[float, float, float, float]]] = {}
    for seed in range(TIMES):
        log = WORLD.log(seed + 1, sessions, rankers=1, per_user=per_user)
        asked: dict[str, tuple[dict[str, Any], str]] = {
            "clicks as labels": ({}, f"dcg@{K}"),
            "ips": ({"propensity": "p"}, f"dcg@{K}"),
            "clipped": ({"propensity": "p", "estimate": "clipped", "clip": 0.25}, f"dcg@{K}"),
            "snips": ({"propensity": "p", "estimate": "snips"}, f"dcg@{K}"),
            "recall": ({"propensity": "p"}, f"recall@{K}"),
        }
        for name, (on, metric) in asked.items():
            row = (
                log.rank.on(**ON, **on).summarize(metric, resamples=RESAMPLES, seed=seed, **options).row(0, named=True)
            )
            found.setdefault(name, []).append(
                (row["mean"], row["ci_low"], row["ci_high"], row.get("effective_sample_size", 0.0))
            )
    result = {}
    for name, rows in found.items():
        mean, low, high, size = np.array(rows, dtype=float).T
        true = TRUE.get(name, TRUE["dcg"])
        held = float(np.mean((low <= true) & (true <= high)))
        result[name] = {"true": true, "mean": mean.mean(), "std": mean.std(), "held": held, "size": size.mean()}
        figures = f"true {true:.3f} mean {mean.mean():.3f} ({mean.mean() / true - 1:+.1%}) std {mean.std():.3f}"
        print(
            f"n={sessions:<5} per user {per_user} {options} {name:>16} {figures} held {held:.1%} size {size.mean():.0f}"
        )
    return result


@pytest.mark.parametrize("sessions", [100, 400, 1600])
def test_ips_has_no_bias_and_its_intervals_hold_the_true_value(sessions: int) -> None:
    found = simulated(sessions)
    for name in ("ips", "snips", "recall"):
        error = found[name]["std"] / TIMES**0.5
        bias = abs(found[name]["mean"] - found[name]["true"])
        assert bias < 4 * error + (0 if name == "ips" else 0.05 * found[name]["true"] * 100 / sessions)
        assert found[name]["held"] >= (0.88 if sessions < 400 else 0.91)
    assert found["clipped"]["mean"] < 0.95 * found["ips"]["mean"]
    assert found["clipped"]["std"] < found["ips"]["std"]
    assert found["clicks as labels"]["mean"] < 0.7 * TRUE["dcg"]
    assert found["clicks as labels"]["held"] < 0.1


def test_intervals_of_users_hold_the_true_value_where_those_of_sessions_do_not() -> None:
    alone = simulated(1000, per_user=10)
    together = simulated(1000, per_user=10, cluster="user")
    assert alone["ips"]["held"] < 0.85
    assert together["ips"]["held"] >= 0.9
    assert together["snips"]["held"] >= 0.9


@pytest.mark.parametrize("method", ["harvest", "swap"])
def test_propensities_are_those_of_the_model_and_intervals_hold_them(method: Any) -> None:
    found, held = [], []
    for seed in range(TIMES):
        log = World(seed, queries=200).log(seed, sessions=6000)
        table = log.rank.on(query="session", rank="position", label="clicked").clicks.propensities(
            context="query", method=method, k=K, resamples=RESAMPLES, seed=seed
        )
        found.append(table["propensity"].to_numpy())
        held.append(((table["ci_low"] <= 1 / table["rank"]) & (1 / table["rank"] <= table["ci_high"])).to_numpy())
    true = 1 / np.arange(1, K + 1)
    error = np.std(found, axis=0) / TIMES**0.5
    for k in range(1, K):
        print(
            f"{method} rank {k + 1} true {true[k]:.3f} mean {np.mean(found, axis=0)[k]:.3f} std {np.std(found, axis=0)[k]:.3f} held {np.mean(held, axis=0)[k]:.1%}"
        )
    assert (np.abs(np.mean(found, axis=0) - true) <= 4 * error + 0.02 * true).all()
    assert (np.mean(held, axis=0)[1:] >= 0.9).all()


def test_normalised_clicks_put_the_worse_ranking_first_and_sums_do_not() -> None:
    """The logged order has the clicks that it caused; a better order loses by nDCG of clicks, and wins by estimates."""
    world = World(5, queries=300)
    world.new = world.relevance + np.random.default_rng(1).normal(0, 0.05, world.relevance.shape)  # much better
    log = world.log(0, sessions=4000, rankers=1).with_columns(old=-pl.col("position"))
    clicks, weighted = (log.rank.on(**ON, **on) for on in ({}, {"propensity": "p"}))
    assert clicks.mean("ndcg@5", runs=["old", "score"])["ndcg@5"].diff()[1] < 0
    for estimate in ("ips", "snips"):
        found = weighted.on(estimate=estimate).compare("dcg@5", runs=["old", "score"], resamples=RESAMPLES).table
        assert found["ci_low"].item() > 0
    with pytest.raises(rf.InvalidOption, match="worse of two systems first"):
        weighted.mean("ndcg@5", runs=["old", "score"])
