"""How often intervals by few people's and many of a model's labels, or by a column known before, hold the mean; by simulation.

Values of runs of TREC's Robust track of 2003 on its topics, their differences, and made-up ones. The figures that
docs/tests_and_intervals.md gives are those that this prints with `pytest -n 0 -m nightly -s tests/decisions/test_simulation_of_judges.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rankframe._statistics.prediction_powered import estimates
from rankframe._verbs.sample.judged import LEAST
from tests.decisions.test_simulation import MEANS, POPULATIONS, changes, topics

pytestmark = pytest.mark.nightly

TIMES, OTHERS = 1000, 1000
MODELS = {"good": 0.9, "fair": 0.5, "bad": 0.0}
"""The share of queries whose value by the model is the true one; of the others it is that of another query."""


def drawn(values: str, rng: np.random.Generator, n: int) -> tuple[Any, Any]:
    """Values of n queries, a column per experiment, and the true mean of each."""
    if values in POPULATIONS:
        return POPULATIONS[values](rng, n, TIMES), np.full(TIMES, MEANS[values])
    kind, metric = values.split()
    return (changes if kind == "difference" else topics)(rng, n, metric)


VALUES = [*POPULATIONS, "mean rr", "mean ndcg@10", "difference rr", "difference ndcg@10"]


def predicted(truth: Any, right: float, rng: np.random.Generator) -> Any:
    """What a model says: shrunk and moved, so that it is never right on average."""
    others = np.take_along_axis(truth, rng.integers(0, len(truth), truth.shape), axis=0)
    return 0.8 * np.where(rng.random(truth.shape) < right, truth, others) + 0.1


@pytest.mark.parametrize("values", VALUES)
@pytest.mark.parametrize("people", [LEAST, 50, 200])
def test_intervals_of_95_percent_with_a_model_hold_the_mean_in_91_of_100_experiments_or_more(
    values: str, people: int
) -> None:
    rng = np.random.default_rng(people)
    truth, mean = drawn(values, rng, people + OTHERS)
    known, weights = np.arange(people + OTHERS) < people, np.ones(people + OTHERS)
    alone = estimates(truth, np.zeros_like(truth), known, weights, within=True)
    for name, right in MODELS.items():
        found = estimates(truth, predicted(truth, right, rng), known, weights, within=True)
        held = float(np.mean(np.abs(found.mean - mean) <= found.reach(0.95)))
        plain = float(np.mean(np.abs(alone.mean - mean) <= alone.reach(0.95)))
        width = float(np.mean(found.reach(0.95)) / np.mean(alone.reach(0.95)))
        bias = float(np.mean(found.mean - mean) / np.mean(found.error))
        print(
            f"{values:>18} people={people:<3} {name}: held {held:.1%}, people alone {plain:.1%}, width {width:.2f}, bias {bias:+.2f}"
        )
        assert held >= 0.91
        assert width <= {"good": 0.65, "fair": 0.95, "bad": 1.05}[name]
        assert abs(bias) <= 0.3


@pytest.mark.parametrize("of_table", [True, False], ids=["mean of the table", "known mean"])
@pytest.mark.parametrize("values", ["difference rr", "difference ndcg@10"])
@pytest.mark.parametrize("people", [LEAST, 50, 200])
def test_adjusted_differences_have_no_bias_and_their_intervals_hold(values: str, people: int, of_table: bool) -> None:
    rng = np.random.default_rng(people)
    truth, mean = drawn(values, rng, people + OTHERS)
    before = -truth + rng.normal(0, 1, truth.shape) * truth.std(axis=0)  # of a correlation of 0.7
    n = people + (OTHERS if of_table else 0)
    columns = []
    for i in range(0, TIMES, 2):  # a known mean is one number for all columns of a call
        at = slice(i, i + 1)
        given = None if of_table else float(-mean[i])
        found = estimates(truth[:n, at], before[:n, at], np.arange(n) < people, np.ones(n), within=False, mean=given)
        plain = truth[:people, i].mean() - mean[i]  # centered at the judged queries' own mean, a column moves nothing
        columns.append((found.mean[0] - mean[i], plain, found.reach(0.95)[0], found.error[0], found.saved[0]))
    off, plain_off, reach, error, saved = np.transpose(columns)
    held, bias = float(np.mean(np.abs(off) <= reach)), float(np.mean(off) / np.mean(error))
    print(
        f"{values:>18} people={people:<3} adjusted, {of_table=}: held {held:.1%}, bias {bias:+.2f}, saved {saved.mean():.0%}; "
        f"by the judged queries' own mean, held {np.mean(np.abs(plain_off) <= reach):.1%}"
    )
    assert held >= 0.91
    assert abs(bias) <= 0.15
