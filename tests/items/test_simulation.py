"""How often intervals of catalog metrics and of gaps hold the true value, and tests see what is not there, by simulation.

`pytest -n 0 -m nightly -s tests/items/test_simulation.py` prints the figures of docs/catalog_metrics.md.
"""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest

import rankframe as rf  # noqa: F401 - registers .rank

pytestmark = pytest.mark.nightly

TABLES, EXPERIMENTS, RESAMPLES, DEPTH = 300, 200, 200, 10
METRICS = [f"{name}@{DEPTH}" for name in ("coverage", "gini", "entropy", "hhi", "personalization", "exposure_gini")]


def lists(rng: np.random.Generator, users: int, items: int) -> pl.DataFrame:
    """Lists of users with tastes of their own, from items whose popularity falls by the 0.8th power of their rank."""
    popularity = -0.8 * np.log(np.arange(1, items + 1))
    liking = popularity + rng.standard_normal((users, items)) + rng.gumbel(size=(users, items))
    shown = np.argsort(-liking, axis=1)[:, :DEPTH]
    return pl.DataFrame(
        {
            "query_id": np.repeat(np.arange(users), DEPTH),
            "doc_id": shown.ravel(),
            "score": np.tile(np.arange(DEPTH, 0.0, -1), users),
        }
    )


@pytest.mark.parametrize(("users", "items"), [(50, 1000), (200, 1000), (500, 1000)])
def test_intervals_of_catalog_metrics_hold_the_mean_over_tables_about_as_often_as_they_say(
    users: int, items: int
) -> None:
    rng = np.random.default_rng(users)
    plain = [
        lists(rng, users, items).rank.items.catalog(*METRICS, items=items, ci=None)["value"] for _ in range(TABLES)
    ]
    truth = np.mean([x.to_numpy() for x in plain], axis=0)
    held = np.zeros(len(METRICS))
    for seed in range(EXPERIMENTS):
        found = lists(rng, users, items).rank.items.catalog(*METRICS, items=items, resamples=RESAMPLES, seed=seed)
        held += (found["ci_low"].to_numpy() <= truth) & (truth <= found["ci_high"].to_numpy())
    rates = dict(zip(METRICS, held / EXPERIMENTS, strict=True))
    print(
        users,
        items,
        {name: (round(rate, 3), round(float(x), 3)) for (name, rate), x in zip(rates.items(), truth, strict=True)},
    )
    noise = 3 * math.sqrt(0.95 * 0.05 / EXPERIMENTS)
    assert all(rate >= 0.90 - noise for rate in rates.values())


@pytest.mark.parametrize("apart", [0.0, 0.5])
def test_exchanges_of_lists_see_a_difference_where_there_is_none_no_more_often_than_they_say(apart: float) -> None:
    rng = np.random.default_rng(7)
    names, alarms = METRICS[:4], np.zeros(4)
    for seed in range(100):
        both = [lists(rng, 60, 300), lists(rng, 60, 300 if not apart else 100)]
        runs = pl.concat(x.with_columns(run=pl.lit(run)) for run, x in zip(("a", "b"), both, strict=True))
        found = runs.rank.items.compare(
            *names, items=300, run="run", baseline="a", correction=None, resamples=39, seed=seed
        ).table
        alarms += found["p_value"].to_numpy() <= 0.05
    rates = dict(zip(names, (alarms / 100).round(3).tolist(), strict=True))
    print("differences seen", apart, rates)
    noise = 3 * math.sqrt(0.95 * 0.05 / 100)
    assert all(rate > 0.9 if apart else rate <= 0.05 + noise for rate in rates.values())


@pytest.mark.filterwarnings("ignore:every row has a score:rankframe.RankframeWarning")
@pytest.mark.parametrize("groups", [2, 5])
@pytest.mark.parametrize(("least", "step"), [(0.3, 0.0), (0.3, 0.1), (0.9, 0.02)])
@pytest.mark.parametrize("size", [4, 12, 100])
def test_intervals_of_gaps_hold_the_gap_and_tests_see_it(groups: int, size: int, least: float, step: float) -> None:
    rng = np.random.default_rng(groups)
    rates = least + step * np.arange(groups)
    figures = {"difference": step * (groups - 1), "ratio": rates[0] / rates[-1]}
    held, seen = dict.fromkeys(figures, 0), dict.fromkeys(figures, 0)
    for seed in range(EXPERIMENTS):
        group = np.arange(size * groups) % groups
        users = pl.DataFrame({"query_id": np.arange(size * groups), "score": 1.0, "group": group})
        users = users.with_columns(label=(rng.random(size * groups) < rates[group]).astype(int))
        found = users.rank.compare_groups("rr", by="group", resamples=RESAMPLES, seed=seed)
        table = found.spread
        if groups == 2:  # the second group less the first, and over it
            table = found.table.select(
                gap=pl.lit("difference"), value="difference", ci_low="ci_low", ci_high="ci_high", p_value="p_value"
            )
            ratios = found.table.select(
                gap=pl.lit("ratio"), value="ratio", ci_low="ratio_low", ci_high="ratio_high", p_value="p_value"
            )
            table = pl.concat([table, ratios])
            figures["ratio"] = rates[1] / rates[0]
        for row in table.filter(pl.col("gap").is_in([*figures])).iter_rows(named=True):
            if row["ci_low"] is None:  # a ratio to zeros
                row["ci_low"], row["ci_high"] = 0.0, math.inf
            held[row["gap"]] += row["ci_low"] <= figures[row["gap"]] <= row["ci_high"]
            seen[row["gap"]] += (row["p_value"] or 1.0) <= 0.05
    shares = {name: (held[name] / EXPERIMENTS, seen[name] / EXPERIMENTS) for name in figures}
    print("gaps", groups, size, least, step, "held, seen:", shares)
    noise = 3 * math.sqrt(0.95 * 0.05 / EXPERIMENTS)
    assert all(rate >= 0.90 - noise for rate, _ in shares.values())
    assert step > 0 or all(rate <= 0.05 + noise for _, rate in shares.values())
