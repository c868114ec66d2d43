"""The examination of ranks from logs: by hand, against another optimiser, and on logs of a known model."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from scipy.optimize import minimize

import rankframe as rf
from rankframe._statistics.examination import chained, harvested, swapped
from tests.logs.position_based import Array, World
from tests.support.each import each

K = 5
LOG = World(3, queries=40).log(0, sessions=1500)
RANKER = LOG.rank.on(query="session", rank="position", label="clicked")
OPTIONS: dict[str, Any] = {"k": K, "resamples": 199}


def lists(*shown: tuple[str, str, str], clicked: dict[tuple[str, str], int] | None = None) -> pl.DataFrame:
    """Lists as (ranker, query, documents); clicks on a document of a list by its ranker."""
    rows = [
        (ranker, query, doc, rank, (clicked or {}).get((ranker, doc), 0))
        for ranker, query, documents in shown
        for rank, doc in enumerate(documents, 1)
    ]
    return pl.DataFrame(rows, ["ranker", "query_id", "doc_id", "rank", "label"], orient="row")


def by_hand(log: pl.DataFrame, k: int) -> tuple[Array, Array]:
    """The clicks and impressions of each pair of ranks in plain Python: documents weigh n m / (n + m)."""
    shown: dict[Any, dict[int, list[int]]] = {}
    for query, doc, rank, label in log["query", "doc_id", "position", "clicked"].iter_rows():
        if rank <= k:
            shown.setdefault((query, doc), {}).setdefault(rank, []).append(label)
    clicks, seen = np.zeros((k, k)), np.zeros((k, k))
    for at in shown.values():
        for i, here in at.items():
            for j, there in at.items():
                if i != j:
                    weight = len(here) * len(there) / (len(here) + len(there))
                    clicks[i - 1, j - 1] += weight * sum(here) / len(here)
                    seen[i - 1, j - 1] += weight
    return clicks, seen


def most_likely(clicks: Array) -> Array:
    """The probabilities of Bradley and Terry, by SciPy."""

    def loss(x: Array) -> float:
        p = np.exp(np.append(0.0, x))
        return float(-(clicks * np.log(p[:, None] / (p[:, None] + p))).sum())

    return np.exp(np.append(0.0, minimize(loss, np.zeros(len(clicks) - 1)).x))


def all_pairs(clicks: Array, shown: Array) -> Array:
    """The estimator AllPairs of Agarwal et al. (2019), by SciPy: all p and r from 0 to 1."""
    k = len(clicks)
    pairs = np.triu_indices(k, 1)

    def loss(x: Array) -> float:
        p, r = 1 / (1 + np.exp(-x[:k])), np.zeros((k, k))
        r[pairs] = 1 / (1 + np.exp(-x[k:]))
        chance = np.clip(p[:, None] * (r + r.T), 1e-12, 1 - 1e-12)
        there = shown > 0
        return float(-(clicks * np.log(chance) + (shown - clicks) * np.log(1 - chance))[there].sum())

    found = minimize(loss, np.zeros(k + len(pairs[0])), method="L-BFGS-B", options={"maxfun": 10**6, "maxiter": 10**4})
    p = 1 / (1 + np.exp(-found.x[:k]))
    return np.asarray(p / p[0])


def test_one_swap_gives_the_ratio_of_clicks_by_every_method() -> None:
    both = [("a", str(q), "xy") for q in range(6)] + [("b", str(q), "yx") for q in range(6)]
    log = lists(*both).with_columns(
        label=pl.when(rank=1)
        .then(pl.col("query_id").cast(pl.Int64) < 4)
        .otherwise(pl.col("query_id") == "5")
        .cast(pl.Int64)
    )
    for method in ("harvest", "swap", "adjacent"):
        found = log.rank.on(rank="rank").clicks.propensities(run="ranker", method=method, k=2, resamples=99)
        assert found["propensity"].to_list() == pytest.approx([1.0, 0.25], rel=1e-9)  # 8 and 2 clicks
        assert found.select("n_documents", "n_clicks").rows() == [(12, 8), (12, 2)]
        assert found.schema == {
            "rank": pl.UInt32, "propensity": pl.Float64, "ci_low": pl.Float64, "ci_high": pl.Float64, "n_documents": pl.UInt32,
            "n_clicks": pl.UInt32,
        }  # fmt: skip


def test_documents_of_two_ranks_weigh_as_mantel_and_haenszel_have_it() -> None:
    clicks, shown = by_hand(LOG, K)
    for method, wanted in (
        ("swap", [1.0, *(clicks[i, 0] / clicks[0, i] for i in range(1, K))]),
        ("adjacent", np.cumprod([1.0, *(clicks[i + 1, i] / clicks[i, i + 1] for i in range(K - 1))]).tolist()),
        ("harvest", most_likely(clicks).tolist()),
    ):
        found = RANKER.clicks.propensities(context="query", method=method, **OPTIONS)["propensity"].to_list()
        assert found == pytest.approx(wanted, rel=1e-4 if method == "harvest" else 1e-9)
    # AllPairs, which also looks at documents without a click, sees much the same
    assert RANKER.clicks.propensities(context="query", **OPTIONS)["propensity"].to_list() == pytest.approx(
        all_pairs(clicks, shown), rel=0.05
    )


@each("seed", range(4))
def test_the_likelihood_of_all_pairs_is_the_largest(seed: int) -> None:
    rng, k = np.random.default_rng(seed), 3 + seed
    relevant = np.triu(rng.uniform(20, 500, (k, k)), 1)
    p = np.arange(1, k + 1) ** -0.7
    expected = p[:, None] * (relevant + relevant.T)
    assert harvested(expected) == pytest.approx(p, rel=1e-6)
    clicks = rng.poisson(expected).astype(float)
    found = harvested(clicks)
    assert found == pytest.approx(most_likely(clicks), rel=1e-4)
    assert harvested(np.stack([clicks, expected])) == pytest.approx(np.stack([found, p]), rel=1e-6)


def test_the_likelihood_is_the_largest_also_where_few_documents_connect_the_ranks() -> None:
    """Where the clicks are those that are expected, the probabilities are those of the model: here 1 over the rank."""
    p, rank = 1 / np.arange(1, 101), np.arange(100)
    neighbours = np.abs(rank[:, None] - rank) == 1
    halves = np.where((rank[:10, None] < 5) == (rank[:10] < 5), 1000.0, 0.01) * (1 - np.eye(10))
    for shown in (1000.0 * neighbours, halves):
        k = len(shown)
        assert harvested(p[:k, None] * shown) == pytest.approx(p[:k], rel=1e-6)


def test_a_rank_that_no_clicks_connect_with_the_first_has_no_propensity() -> None:
    clicks = np.zeros((4, 4))
    clicks[0, 1], clicks[1, 0], clicks[2, 3], clicks[3, 2] = 4, 2, 3, 1
    for estimate in (harvested, swapped, chained):
        found = estimate(clicks)
        assert found[:2] == pytest.approx([1, 0.5])
        assert np.isnan(found[2:]).all()
    clicks[2, 1], clicks[1, 2] = 2, 2
    for estimate in (harvested, chained):
        assert estimate(clicks) == pytest.approx([1, 0.5, 0.5, 0.5 / 3], rel=1e-6)
    assert np.isnan(swapped(clicks)[2:]).all()
    clicks[3, 2] = 0.0  # no click at rank 4
    assert harvested(clicks) == pytest.approx([1, 0.5, 0.5, 0])
    assert np.isnan(chained(clicks)[3])
    clicks[0, 1] = 0.0  # no click at rank 1
    for estimate in (harvested, swapped, chained):
        assert np.isnan(estimate(clicks)[1:]).all()


def test_a_rank_that_only_its_own_clicks_connect_with_the_first_has_no_propensity() -> None:
    clicks = np.zeros((4, 4))
    clicks[0, 1], clicks[1, 0], clicks[2, 3], clicks[3, 2] = 5, 3, 8, 2
    clicks[2, 1] = 5  # all at rank 3: the larger its probability, the more likely
    assert harvested(clicks) == pytest.approx([1, 0.6, np.nan, np.nan], rel=1e-6, nan_ok=True)
    clicks[1, 0] = 0.0  # none at rank 2: the probability of rank 3 does not matter
    assert harvested(clicks) == pytest.approx([1, 0, np.nan, np.nan], nan_ok=True)


def test_ranks_without_shared_documents_are_rows_without_values() -> None:
    log = lists(
        ("a", "1", "xyz"), ("b", "1", "yxw"), clicked={("a", "x"): 1, ("a", "y"): 1, ("b", "y"): 1, ("b", "x"): 1}
    )
    found = log.rank.on(rank="rank").clicks.propensities(run="ranker", k=4, resamples=99)
    assert found["propensity"].to_list() == [1.0, 1.0, None, None]
    assert found["n_documents"].to_list() == [2, 2, 0, 0]
    assert found["ci_low"].to_list() == [1.0, 1.0, None, None]


def test_lists_are_told_apart_by_their_ranker_or_their_session() -> None:
    of_sessions = RANKER.clicks.propensities(context="query", **OPTIONS)
    of_both = LOG.rank.on(query=["session", "query"], rank="position", label="clicked")
    assert_frame_equal(of_both.clicks.propensities(context="query", **OPTIONS), of_sessions)
    assert_frame_equal(of_both.clicks.propensities(context=["query"], run="ranker", **OPTIONS), of_sessions)
    few = LOG.unique(["query", "ranker", "doc_id"], maintain_order=True)
    by_ranker = few.rank.on(query="query", rank="position", label="clicked")
    named = few.rank.on(query=["ranker", "query"], rank="position", label="clicked")
    assert_frame_equal(
        by_ranker.clicks.propensities(run="ranker", **OPTIONS), named.clicks.propensities(run="ranker", **OPTIONS)
    )


def test_every_kind_of_frame_gives_the_same_table_and_the_order_of_rows_does_not_matter() -> None:
    wanted = RANKER.clicks.propensities(context="query", **OPTIONS)
    on: dict[str, Any] = {"query": "session", "rank": "position", "label": "clicked"}
    lazy = LOG.lazy().rank.on(**on).clicks.propensities(context="query", **OPTIONS)
    assert isinstance(lazy, pl.LazyFrame)
    assert_frame_equal(lazy.collect(), wanted)
    small = LOG.lazy().rank.on(**on, memory_limit="1MB").clicks.propensities(context="query", **OPTIONS).collect()
    assert_frame_equal(small, wanted, rel_tol=1e-8)
    frame = LOG.to_pandas().rank.on(**on).clicks.propensities(context="query", **OPTIONS)
    assert isinstance(frame, pd.DataFrame)
    assert frame["propensity"].tolist() == wanted["propensity"].to_list()
    shuffled = (
        LOG.sample(fraction=1.0, shuffle=True, seed=1).rank.on(**on).clicks.propensities(context="query", **OPTIONS)
    )
    assert_frame_equal(shuffled, wanted, rel_tol=1e-8)


def test_labels_are_clicks_and_null_is_a_document_that_was_not_logged() -> None:
    some = LOG.with_columns(clicked=pl.when(pl.col("ranker") == "a").then("clicked"))
    with pytest.raises(rf.InvalidData, match="no document of a query was shown at two of the first 5 ranks"):
        some.rank.on(query="session", rank="position", label="clicked").clicks.propensities(context="query", k=K)
    known = pl.Series(np.random.default_rng(0).random(LOG.height) < 0.7)
    few = LOG.with_columns(clicked=pl.when(known).then("clicked")).rank.on(
        query="session", rank="position", label="clicked"
    )
    clicks = by_hand(LOG.filter(known), K)[0]
    for ranker in (few, few.on(unjudged="drop")):  # the other documents keep their ranks
        found = ranker.clicks.propensities(context="query", method="swap", **OPTIONS)["propensity"].to_list()
        assert found[1:] == pytest.approx(clicks[1:, 0] / clicks[0, 1:], rel=1e-9)
    with pytest.raises(rf.InvalidData, match="neither 0 nor 1"):
        LOG.rank.on(query="session", rank="position", label="position").clicks.propensities(context="query")


def test_a_log_without_swaps_or_documents_is_refused_with_what_to_say() -> None:
    with pytest.raises(
        rf.InvalidData, match=r"as run='ranker', or of what sessions have in common, as context='query'"
    ):
        RANKER.clicks.propensities()
    with pytest.raises(rf.InvalidOption, match=r"known by their ids; say df\.rank\.on\(doc=\.\.\.\)"):
        LOG.rename({"doc_id": "item"}).rank.on(query="session", rank="position", label="clicked").clicks.propensities(
            context="query"
        )
    with pytest.raises(rf.MissingColumn, match="no column 'text' for context"):
        RANKER.clicks.propensities(context="text")
    with pytest.raises(rf.MissingColumn, match="no column 'system' for run"):
        RANKER.clicks.propensities(run="system")
    empty = (
        LOG.clear().rank.on(query="session", rank="position", label="clicked").clicks.propensities(context="query", k=2)
    )
    assert empty["propensity"].to_list() == [None, None]


def test_more_contexts_than_groups_share_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = RANKER.clicks.propensities(context="query", **OPTIONS)
    monkeypatch.setattr("rankframe._verbs.collections.propensities.CELLS", 10)
    monkeypatch.setattr("rankframe._verbs.collections.propensities.FEWEST_GROUPS", 10)
    found = RANKER.clicks.propensities(context="query", **OPTIONS)
    assert_frame_equal(found.drop("ci_low", "ci_high"), wanted.drop("ci_low", "ci_high"), rel_tol=1e-9)
    assert not found["ci_low"].equals(wanted["ci_low"])


def test_the_plot_draws_the_table_with_its_intervals() -> None:
    chart = RANKER.plot.propensities(context="query", k=K).to_dict()
    assert chart["title"]["text"] == "Examination of each rank"
    wanted = RANKER.clicks.propensities(context="query", k=K)
    rows = [row for rows in chart["datasets"].values() for row in rows]
    assert {round(row["y"], 9) for row in rows if "y2" not in row} == {round(x, 9) for x in wanted["propensity"]}
    assert {round(row["y2"], 9) for row in rows if "y2" in row} == {round(x, 9) for x in wanted["ci_high"]}
    without = RANKER.plot.propensities(context="query", k=K, ci=None).to_dict()
    assert not any("y2" in row and row["y2"] is not None for rows in without["datasets"].values() for row in rows)
    with pytest.raises(rf.InvalidOption, match="a log names the ranker of each list in a column"):
        RANKER.plot.propensities(runs=["score", "p"])


def test_estimated_propensities_join_the_log() -> None:
    found = RANKER.clicks.propensities(context="query", resamples=99)
    joined = LOG.drop("p").join(
        found.select(position="rank", p=pl.col("propensity").clip(0.01, 1)).cast({"position": pl.Int64}), on="position"
    )
    mean = joined.rank.on(query="session", label="clicked", propensity="p").mean("dcg@5")["dcg@5"].item()
    known = LOG.rank.on(query="session", label="clicked", propensity="p").mean("dcg@5")["dcg@5"].item()
    assert math.isclose(mean, known, rel_tol=0.2)
