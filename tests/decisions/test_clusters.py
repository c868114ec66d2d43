"""Decisions on clusters of queries: a cluster counts as one query with the weighted mean of its queries."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from scipy import stats as scipy_stats

import rankframe as rf
from rankframe._statistics.estimators import ESTIMATORS
from rankframe._statistics.sample import Limits, Sample
from tests.support.each import each
from tests.support.runs import LONG, RUNS, table

USERS = table(queries=60, seed=4).with_columns(odd=pl.col("odd").fill_null(0.0))
USERS = USERS.with_columns(user=(pl.col("query_id").str.slice(1).cast(pl.Int64) % 15).cast(pl.String).str.zfill(2))
TWO: Any = {"runs": ["old", "new"]}


def of_users(metric: str, weights: str | None) -> pl.DataFrame:
    """A row per run and user: the weighted mean of the user's queries as the column x, and the sum of their weights as w."""
    of_queries = USERS.unique("query_id", maintain_order=True).select(
        "query_id", "user", w=pl.lit(1) if weights is None else weights
    )
    parts = []
    for run in RUNS:
        values = USERS.rank.on(score=run).evaluate(metric).join(of_queries, on="query_id")
        mean = (pl.col(metric) * pl.col("w")).sum() / pl.col("w").sum()
        parts.append(values.group_by("user", maintain_order=True).agg(x=mean, w=pl.col("w").sum(), system=pl.lit(run)))
    return pl.concat(parts).select(pl.col("user").alias("query_id"), "system", "x", "w")


SAME = ["baseline_mean", "mean", "difference", "ci_low", "ci_high", "interval", "p_value", "p_adjusted"]


@each(
    "options",
    [{}, {"test": "t"}, {"test": "bootstrap"}, {"test": "tukey"}, {"interval": "bca"}, {"interval": "bounded"}],
)
@each("weights", [None, "asked"])
def test_a_comparison_of_clusters_is_that_of_their_weighted_means(options: Any, weights: str | None) -> None:
    given: Any = {"resamples": 499, **options}
    found = USERS.rank.compare("map", runs=RUNS, cluster="user", weights=weights, **given)
    value = rf.value("x", bounds=(0, 1))
    wanted = of_users("map", weights).rank.compare(value, run="system", weights="w", **given)
    assert_frame_equal(found.table.select(SAME), wanted.table.select(SAME), rel_tol=1e-9)
    ranks = ["run", "rank", "rank_low", "rank_high", "beats", "group"]
    assert_frame_equal(found.ranks.select(ranks), wanted.ranks.select(ranks))
    assert found.table["n_clusters"].to_list() == [15] * 3
    assert found.table["n_queries"].to_list() == [60] * 3


def test_the_t_test_of_clusters_is_that_of_scipy_on_their_means() -> None:
    x = of_users("map", None).pivot("system", index="query_id", values="x")
    wanted = scipy_stats.ttest_rel(x["new"], x["old"])  # users have four queries each
    comparison = USERS.rank.compare("map", **TWO, cluster="user", test="t")
    row = comparison.table.row(0, named=True)
    interval = wanted.confidence_interval(0.95)
    assert (row["ci_low"], row["ci_high"], row["p_value"]) == pytest.approx(
        (interval.low, interval.high, wanted.pvalue)
    )
    assert "over 60 queries in 15 clusters." in str(comparison)


@each("interval", ["bounded", "t"])
def test_a_gate_of_clusters_is_that_of_their_weighted_means(interval: Any) -> None:
    given: Any = {"baseline": "old", "interval": interval, "resamples": 499}
    found = USERS.rank.gate({"map": 0.05}, runs=RUNS, cluster="user", weights="asked", **given)
    value = rf.value("x", bounds=(0, 1))
    wanted = of_users("map", "asked").rank.gate({value: 0.05}, run="system", weights="w", **given)
    same = ["difference", "bound", "verdict", "passed", "queries_needed"]
    assert_frame_equal(found.table.select(same), wanted.table.select(same), rel_tol=1e-9)
    assert found.table.select("n_queries", "n_clusters").row(0) == (60, 15)


def test_a_gate_counts_the_clusters_that_it_needs() -> None:
    """A run that changes nothing on 100 queries of 20 users: a budget of 0.1 takes 29 users, as 0.9^28 > 0.05 > 0.9^29."""
    df = pl.DataFrame({"query_id": range(100), "label": 1, "old": 1.0, "new": 1.0}).with_columns(
        user=pl.col("query_id") // 5, person=pl.col("query_id") // 3
    )
    with pytest.warns(rf.RankframeWarning):
        verdict = df.rank.gate({"rr": 0.1}, **TWO, cluster="user")
    assert verdict.lines()[0].endswith("too few clusters to tell: 20, and a budget of 0.1 takes 29 or more")
    assert verdict.table["n_queries"].item() == 100
    with pytest.warns(rf.RankframeWarning):
        assert df.rank.gate({"rr": 0.1}, **TWO, cluster="person").lines()[0].endswith("(34 clusters)")


def test_power_takes_as_many_queries_in_each_cluster_as_there_are() -> None:
    """Each query of the table three times, as one user's: the test has as many units as before, of three queries each."""
    thrice = pl.concat([USERS.with_columns(query_id=f"{i}" + pl.col("query_id"), own="query_id") for i in range(3)])
    columns = ["std", "n_queries", "power", "queries_needed"]
    for weights in (None, "asked"):
        wanted = USERS.rank.power("map", **TWO, difference=0.05, weights=weights).select(columns).row(0)
        found = thrice.rank.power("map", **TWO, difference=0.05, cluster="own", weights=weights).select(columns).row(0)
        assert found == pytest.approx((wanted[0], 3 * wanted[1], wanted[2], 3 * wanted[3]), rel=1e-9)


def test_a_metric_may_be_the_weight_of_a_query_in_decisions() -> None:
    relevant = (pl.col("label") >= 1).sum().over("query_id")
    df, given = USERS.with_columns(relevant=relevant), {**TWO, "resamples": 199}
    for weighed in (lambda weights: df.rank.compare("map", **given, weights=weights).table,
                    lambda weights: df.rank.gate({"map": 0.1}, **given, weights=weights).table,
                    lambda weights: df.rank.power("map", **TWO, difference=0.1, weights=weights)):  # fmt: skip
        assert_frame_equal(weighed("num_rel"), weighed("relevant"))
    fewer = df.with_columns(new=pl.when(pl.col("doc_id") != "d0").then("new"))
    with pytest.raises(rf.InvalidOption, match="weights='num_retrieved' is another number for each run of a query"):
        fewer.rank.compare("map", **TWO, weights="num_ret")


def test_two_queries_of_two_runs_have_weights_of_queries_and_not_of_runs() -> None:
    """One query with one relevant document and one with two; their clicks weigh alike for both runs."""
    label = [1, 0, 0, 1, 1, 0]
    df = pl.DataFrame({"query_id": [1] * 3 + [2] * 3, "doc_id": list("abc") * 2, "label": label, "p": 0.5})
    df = df.with_columns(old=pl.Series([1.0, 2, 3, 3, 2, 1]), new=pl.Series([3.0, 2, 1, 1, 2, 3]))
    found = df.rank.compare("rr", **TWO, weights="num_rel").table.row(0, named=True)
    assert (found["baseline_mean"], found["mean"]) == pytest.approx(((1 / 3 + 2) / 3, (1 + 2 / 2) / 3))
    clicks = df.rank.on(propensity="p", estimate="snips").compare("precision@1", **TWO).table.row(0, named=True)
    assert (clicks["baseline_mean"], clicks["mean"]) == pytest.approx((1 / 3, 1 / 3))  # one of three clicks is first


def test_clusters_are_refused_where_all_queries_count_alike() -> None:
    for test in ("bayes", "sequential"):
        with pytest.raises(rf.InvalidOption, match=f"test='{test}' takes no cluster; leave out cluster='user'"):
            USERS.rank.compare("map", **TWO, test=test, cluster="user")
    with pytest.raises(rf.InvalidOption, match="a sequential gate takes no cluster; leave out cluster='user'"):
        USERS.rank.gate({"map": 0.1}, **TWO, sequential=True, cluster="user")
    with pytest.raises(rf.InvalidOption, match="leave out cluster='user'"):
        USERS.rank.compare("map", **TWO, adjust="asked", adjust_mean=4.0, cluster="user")
    with pytest.raises(rf.MissingColumn, match="no column 'nobody' for cluster"):
        LONG.rank.gate({"map": 0.1}, run="system", baseline="old", cluster="nobody")


ROBUST = pl.read_csv(Path(__file__).parents[1] / "data" / "robust03.csv").filter(metric="map").drop("metric", "topic")


def clustered(rng: np.random.Generator, times: int) -> tuple[Any, Any]:
    """Differences of no mean of 100 queries of 20 users, half of which is their user's: by 20 and 100 of real topics."""
    topics = ROBUST.to_numpy()
    first = rng.integers(0, 8, times)
    pairs = topics[:, first] - topics[:, (first + rng.integers(1, 8, times)) % 8]
    pairs -= pairs.mean(axis=0)
    own, of_user = (np.take_along_axis(pairs, rng.integers(0, len(pairs), (n, times)), axis=0) for n in (100, 20))
    return (own + of_user.repeat(5, axis=0)) / 2, rng.integers(1, 4, 100)


def alarms(d: Any, weights: Any) -> tuple[float, float]:
    """The share of p-values below 0.05, of users and of queries; no interval of users contradicts its p-value."""
    times = d.shape[1]
    of_queries = Sample(d, weights, Limits(np.full(times, -1.0), np.ones(times), np.ones(times, dtype=bool)))
    found = ESTIMATORS["auto"](of_queries.of_clusters(np.arange(100) // 5), 0.95, resamples=999)
    assert ((found.p < 0.05) == ((found.low > 0) | (found.high < 0))).all()
    alone = ESTIMATORS["t"](of_queries, 0.95)
    return float(np.mean(found.p < 0.05)), float(np.mean(alone.p < 0.05))


def test_one_in_twenty_tests_of_users_sees_a_difference_where_there_is_none() -> None:
    d, weights = clustered(np.random.default_rng(20), 400)
    of_users, of_queries = alarms(d, weights)
    assert of_users <= 0.06 + 2 * (0.06 * 0.94 / 400) ** 0.5
    assert of_queries >= 0.15


@pytest.mark.nightly
@each("weighed", [False, True])
def test_one_in_twenty_tests_of_many_experiments_with_users_sees_a_difference(weighed: bool) -> None:
    d, weights = clustered(np.random.default_rng(21), 4_000)
    of_users, of_queries = alarms(d, weights if weighed else np.ones(100))
    print(f"false alarms, weights {weighed}: 20 users {of_users:.1%}, their 100 queries alone {of_queries:.1%}")
    assert of_users <= 0.06
