"""How often intervals of means hold where values have no bounds, or queries weights that differ, by simulation.

The figures of docs/tests_and_intervals.md are those of `pytest -n 0 -m nightly -s tests/decisions/test_simulation_without_bounds.py`.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from rankframe import stats
from rankframe._statistics.sample import Limits
from rankframe._support.progress import Progress
from rankframe._verbs.sample.resampling import Resampling
from tests.support.each import each

SIZES = [4, 8, 12, 20, 30, 50, 200]
DISCOUNTS = 1 / np.log2(np.arange(2, 12))
OF_TOPICS = pl.read_csv(Path(__file__).parents[1] / "data" / "robust03.csv").partition_by("metric", as_dict=True)
REAL = {str(metric): rows.drop("metric", "topic").to_numpy() for (metric,), rows in OF_TOPICS.items()}


def drawn(rng: np.random.Generator, name: str, n: int, times: int) -> tuple[Any, Any]:
    """Values, a column for each experiment, and their true means."""
    if name == "normal":
        return rng.normal(3, 1, (n, times)), np.full(times, 3.0)
    if name == "lognormal":
        return rng.lognormal(0, 1, (n, times)), np.full(times, math.exp(0.5))
    if name == "dcg@10":  # three of ten documents are relevant, with grades from 1 to 3
        gains = (rng.random((n, times, 10)) < 0.3) * rng.integers(1, 4, (n, times, 10))
        return gains @ DISCOUNTS, np.full(times, 0.3 * 2 * DISCOUNTS.sum())
    of_run = REAL[name][:, rng.integers(0, 8, times)]
    return np.take_along_axis(of_run, rng.integers(0, len(of_run), (n, times)), axis=0), of_run.mean(axis=0)


def held(name: str, n: int, times: int, *, weighed: bool = False, bounded: bool = False) -> tuple[float, float]:
    """The share of 95% intervals that hold the true mean, by default and by BCa."""
    rng = np.random.default_rng(n)
    values, mean = drawn(rng, name, n, times)
    weights = rng.integers(1, 9, n).astype(float) if weighed else np.ones(n)
    limits = Limits(np.zeros(times), np.ones(times), np.full(times, bounded))
    low, high, _ = Resampling(0.95, "auto", 999, 0, progress=False).intervals(
        values, weights, limits, Progress("", False)
    )
    bca = stats.intervals(values, weights, 0.95, "bca", 999, 0)
    return float(np.mean((low <= mean) & (mean <= high))), float(np.mean((bca[0] <= mean) & (mean <= bca[1])))


def test_the_default_interval_of_few_values_without_bounds_holds_where_bca_is_too_short() -> None:
    for name, weighed in (("normal", False), ("dcg@10", False), ("normal", True), ("dcg@10", True)):
        default, bca = held(name, 12, 400, weighed=weighed)
        assert default >= 0.93 - 2 * (0.93 * 0.07 / 400) ** 0.5
        assert bca < default


@pytest.mark.nightly
@each("weighed", [False, True])
@each("name", ["normal", "dcg@10", "lognormal"])
def test_intervals_of_values_without_bounds_hold_as_often_as_the_page_says(name: str, weighed: bool) -> None:
    shares = {n: held(name, n, 1_000, weighed=weighed) for n in SIZES}
    print(f"{name}, weights {weighed}:", {n: f"{100 * x:.1f} / {100 * y:.1f}" for n, (x, y) in shares.items()})
    assert min(x for x, _ in shares.values()) >= (0.80 if name == "lognormal" else 0.925)


@pytest.mark.nightly
@each("name", ["rr", "ndcg@10", "map"])
def test_intervals_of_weighted_means_within_bounds_hold(name: str) -> None:
    shares = {n: held(name, n, 1_000, weighed=True, bounded=True) for n in (20, 50, 100, 200)}
    print(f"{name}, weights, bounded:", {n: f"{100 * x:.1f} / {100 * y:.1f}" for n, (x, y) in shares.items()})
    assert min(x for x, _ in shares.values()) >= 0.925
