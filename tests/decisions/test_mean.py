"""Means in one call, a column per metric; expected values by hand."""

from __future__ import annotations

from typing import Any

import pandas as pd
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rankframe as rf
from rankframe._verbs.measure.summary import means_of
from tests.support.each import each

# Reciprocal ranks 1, 1/2, 0 and, of a query without relevant documents, whatever the policy says.
DF = pl.DataFrame(
    {
        "query_id": [1, 1, 2, 2, 3, 4],
        "doc_id": list("ababaa"),
        "score": [2, 1, 2, 1, 1, 1],
        "label": [1, 0, 0, 1, 0, 0],
        "day": ["tu", "tu", "mo", "mo", "tu", "mo"],
    }
)


def test_a_column_per_metric_holds_its_mean() -> None:
    found = DF.rank.mean("rr", "precision@2", "hit_rate@1")
    assert found.rows(named=True) == [{"rr": 0.375, "precision@2": 0.25, "hit_rate@1": 0.25}]
    assert set(found.dtypes) == {pl.Float64}


def test_slices_have_a_row_each_as_first_seen() -> None:
    assert DF.rank.mean("rr", "recall", by="day").rows() == [("tu", 0.5, 0.5), ("mo", 0.25, 0.5)]
    two = DF.with_columns(market=pl.lit(None, pl.String)).rank.mean("rr", by=["market", "day"])
    assert two.columns == ["market", "day", "rr"]
    assert two.rows() == [(None, "tu", 0.5), (None, "mo", 0.25)]


# Two of three pairs are in order among four candidates, the one pair of the other query is.
GROUPS = pl.DataFrame(
    {
        "query_id": [1, 1, 2, 2, 2, 2],
        "doc_id": list("ababcd"),
        "score": [2.0, 1, 4, 3, 2, 1],
        "label": [1, 0, 0, 1, 0, 0],
        "half": [0, 0, 1, 1, 1, 1],
    }
)


def test_queries_weigh_what_a_column_says_or_a_metric() -> None:
    """GAUC weighs by the candidates: (2 x 1 + 4 x 2/3) / 6."""
    gauc = pytest.approx((2 * 1 + 4 * 2 / 3) / 6)
    for form in (GROUPS, GROUPS.lazy(), GROUPS.to_pandas()):
        found = form.rank.mean("auc", "num_ret", weights="num_ret")
        found = pl.from_pandas(found) if not isinstance(found, pl.DataFrame | pl.LazyFrame) else found.lazy().collect()
        assert found.row(0) == (gauc, 2 * 2 + 4 * 4)
        summary = form.rank.summarize("auc", weights="num_ret", ci=None)
        assert (summary.lazy().collect() if isinstance(summary, pl.LazyFrame) else summary)["mean"][0] == gauc
    candidates = GROUPS.with_columns(w=pl.len().over("query_id"))
    assert candidates.rank.mean("auc", weights="w").item() == gauc
    assert GROUPS.rank.mean("auc", weights="num_rel").item() == pytest.approx((1 + 2 / 3) / 2)
    runs = GROUPS.with_columns(other=-pl.col("score")).rank.mean("auc", runs=["score", "other"], weights="num_ret")
    assert runs["auc"].to_list() == [gauc, pytest.approx(1 - (2 * 1 + 4 * 2 / 3) / 6)]


def test_slices_weigh_their_own_queries_and_a_query_without_a_weight_weighs_nothing() -> None:
    found = GROUPS.rank.mean("auc", by="half", weights="num_ret")
    assert found.rows() == [(0, 1.0), (1, pytest.approx(2 / 3))]
    only = pl.DataFrame({"query_id": [1, 2], "doc_id": ["a", "a"], "score": [1.0, 1.0], "label": [1, 0]})
    assert only.rank.mean("hits", "precision", weights="first_rank").row(0) == (1.0, 1.0)


@each("weights", ["mcc", "ndcg@5,10", "nothing"])
def test_a_weight_is_one_number_from_0_on(weights: str) -> None:
    with pytest.raises(rf.RankframeError, match="weights"):
        GROUPS.rank.mean("auc", weights=weights)


def test_each_metric_is_summed_up_as_it_declares() -> None:
    found = DF.filter(pl.col("query_id") < 3).rank.mean("gm_map", "num_ret", "num_rel_ret", "map")
    assert found.row(0) == (pytest.approx((1 * 0.5) ** 0.5), 4.0, 2.0, 0.75)


def test_queries_without_a_value_do_not_count() -> None:
    ranker = DF.rank.on(no_relevant="null")
    assert ranker.mean("rr", "num_ret").row(0) == (0.75, 6.0)  # of the queries 1 and 2; and of all, as no label is read
    assert DF.filter(pl.col("query_id") > 2).rank.on(no_relevant="null").mean("rr").row(0) == (None,)
    assert ranker.mean("rr", by="day").rows() == [("tu", 1.0), ("mo", 0.5)]


def test_an_empty_table_has_no_mean() -> None:
    assert DF.clear().rank.mean("rr", "map").rows() == [(None, None)]
    assert DF.clear().rank.mean("rr", by="day").is_empty()


def test_lazy_and_pandas_frames_give_the_same_means() -> None:
    wanted = DF.rank.mean("rr", "num_ret", by="day")
    lazy = DF.lazy().rank.mean("rr", "num_ret", by="day")
    assert isinstance(lazy, pl.LazyFrame)
    assert lazy.collect_schema() == wanted.schema
    assert_frame_equal(lazy.collect(), wanted, check_row_order=False)
    of_pandas = DF.to_pandas().rank.mean("rr", "num_ret", by="day")
    assert of_pandas.to_dict("list") == {"day": ["tu", "mo"], "rr": [0.5, 0.25], "num_retrieved": [3.0, 3.0]}
    assert DF.lazy().rank.mean("rr").collect().item() == DF.to_pandas().rank.mean("rr").loc[0, "rr"] == 0.375


def test_the_parts_of_a_table_give_the_means_of_the_whole() -> None:
    for by in ((), ("day",)):
        means = means_of(DF.rank._setup, None, "rr", "num_ret", by=by)
        parts = [means.part(DF.filter(pl.col("query_id").is_in(queries))) for queries in ([1, 4], [2], [3])]
        assert_frame_equal(means.merge(pl.concat(parts)), DF.rank.mean("rr", "num_ret", by=by))


def test_runs_are_slices_of_a_table_whose_queries_are_those_of_a_run() -> None:
    runs = pl.concat([DF.with_columns(run=pl.lit("a")), DF.with_columns(run=pl.lit("b"), score=-pl.col("score"))])
    found = runs.rank.on(query=["run", "query_id"]).mean("rr", by="run")
    assert found.rows() == [("a", 0.375), ("b", 0.375)]
    assert_frame_equal(runs.rank.mean("rr", run="run"), found)


@each(
    ("ask", "said"),
    [
        (lambda df: df.rank.mean(), r"mean\('ndcg@10', 'map'\)"),
        (lambda df: df.rank.mean(pl.col("day").first().alias("d")), "d is .*, not a number"),
        (lambda df: df.rank.on(unjudged="bounds").mean("rr"), "two columns"),
        (lambda df: df.rank.mean("rr", by="doc_id"), "several values of 'doc_id'"),
        (lambda df: df.rank.mean("rr", by="market"), "no column 'market' for by"),
        (lambda df: df.rename({"day": "rr"}).rank.mean("rr", by="rr"), "'rr'"),
    ],
)
def test_calls_without_a_mean_are_refused(ask: Any, said: str) -> None:
    with pytest.raises((rf.RankframeError, AttributeError), match=said):
        ask(DF)


def test_no_print_of_a_summary_hides_its_mean_or_its_interval() -> None:
    df = DF.with_columns(market=pl.lit("de"), hour=pl.lit(1))
    for by in (None, "day", ["day", "market"]):
        shown = str(df.rank.summarize("rr", by=by))
        pandas = repr(df.to_pandas().rank.summarize("rr", by=by))
        for name in ("mean", "ci_low", "ci_high"):
            assert f" {name} " in shown
            assert f" {name}" in pandas
    with pd.option_context("display.width", 80, "display.max_columns", 0):
        shown = str(rf.load_example().to_pandas().rank.summarize("ndcg@10", runs=["score", "score_pca"], resamples=99))
    assert shown.splitlines()[0].split() == ["run", "metric", "n_queries", "...", "mean", "ci_low", "ci_high"]


def test_no_print_of_a_power_hides_the_queries_that_it_takes() -> None:
    df = DF.with_columns(new=pl.Series([1, 2, 1, 2, 1, 1]))
    shown = str(df.rank.power("rr", runs=["score", "new"], difference=0.1, by="day"))
    assert all(f" {name} " in shown for name in ("run", "difference", "power", "queries_needed"))
