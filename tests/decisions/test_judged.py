"""Few queries that people judged and many that a model judged, or of which a column was known before: summarize, compare, gate, power."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from scipy import stats

import rankframe as rf
from rankframe._lift.arrow_kernel import arrow_kernel, bound
from rankframe._statistics.bayes import shares
from rankframe._statistics.prediction_powered import estimates
from rankframe._verbs.call.declaration import call_of_verb
from rankframe._verbs.items.summarize import summarize
from tests.engines.test_engine import asked, assert_same
from tests.support.each import each
from tests.support.tables import BY_CHANCE

pytestmark = BY_CHANCE

ADDED = ["n_judged", "tuned_weight", "variance_saved", "queries_to_halve"]


def table(n: int = 120, people: int = 40, right: float = 0.8, seed: int = 0) -> pl.DataFrame:
    """Queries of six documents with scores of two runs, a model's labels of all, and people's of the first queries."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, (n, 6))
    said = np.where(rng.random((n, 6)) < right, truth, rng.integers(0, 2, (n, 6)))
    query = np.arange(n).repeat(6)
    columns = {
        "query_id": query,
        "doc_id": np.tile([*"abcdef"], n),
        "old": (truth + rng.normal(0, 1, (n, 6))).ravel(),
        "new": (1.5 * truth + rng.normal(0, 1, (n, 6))).ravel(),
        "label": [int(x) if q < people else None for x, q in zip(truth.ravel(), query, strict=True)],
        "llm": said.ravel(),
        "known": truth.sum(axis=1).repeat(6) + 0.5,
        "market": np.array([*"xy"])[query % 2],
    }
    return pl.DataFrame(columns).with_columns(score=pl.col("old"), w=1.0 + pl.col("query_id") % 3)


DF = table()
RUNS: Any = {"runs": ["old", "new"]}
SAVED = re.compile(
    r"People judged 40 queries; llm saves \d+% of the variance; an interval half as long takes [\d,]+ judged"
)


def by_hand(y: Any, yh: Any, yu: Any) -> tuple[float, float, float]:
    """The mean, its weight and half of its interval of 95%, as the definition has them."""
    n, m = len(y), len(yu)
    weight = np.cov(y, yh, ddof=0)[0, 1] / ((1 + n / m) * np.var([*yh, *yu], ddof=1))
    weight = min(max(weight, 0), 1)
    mean = np.mean(y) + weight * (np.mean(yu) - np.mean(yh))
    error = math.sqrt(weight**2 * np.var(yu) / m + np.var(y - weight * yh) / (n - 2))
    return mean, weight, stats.t.ppf(0.975, n - 2) * error


def values(df: pl.DataFrame, metric: str, score: str = "score", people: int = 40) -> tuple[Any, Any, Any]:
    """The values by people, by the model on their queries, and by the model on others."""
    yes, no = df.filter(pl.col("query_id") < people), df.filter(pl.col("query_id") >= people)
    found = ((yes, "label"), (yes, "llm"), (no, "llm"))
    y, yh, yu = (rows.rank.on(score=score, label=label).evaluate(metric)[metric].to_numpy() for rows, label in found)
    return y, yh, yu


# summarize


def test_the_mean_is_that_of_people_moved_by_the_model_and_its_interval_is_students() -> None:
    for metric in ("ndcg@3", "map", "num_relevant"):
        row = DF.rank.summarize(metric, model_labels="llm").row(0, named=True)
        y, yh, yu = values(DF, metric)
        mean, weight, half = by_hand(y, yh, yu)
        assert (row["n_queries"], row["n_judged"], row["interval"]) == (120, 40, "prediction_powered")
        assert [row["mean"], row["tuned_weight"], row["std"]] == pytest.approx([mean, weight, np.std(y, ddof=1)])
        assert row["ci_high"] == pytest.approx(min(mean + half, 1) if metric != "num_relevant" else mean + half)
        assert row["total"] is None


def test_a_slice_is_summarized_as_the_table_of_its_queries() -> None:
    df = table(n=200, people=80)
    found = df.rank.summarize("map", "ndcg@3", model_labels="llm", by="market")
    assert found.select("market", "metric").rows() == [("x", "map"), ("y", "map"), ("x", "ndcg@3"), ("y", "ndcg@3")]
    for market in "xy":
        alone = df.filter(market=market).rank.summarize("map", "ndcg@3", model_labels="llm")
        assert_frame_equal(found.filter(market=market).drop("market"), alone)


def test_each_run_is_summarized_by_itself() -> None:
    found = DF.rank.summarize("map", model_labels="llm", **RUNS)
    long = DF.drop("score").unpivot(
        ["old", "new"], index=["query_id", "doc_id", "label", "llm"], variable_name="run", value_name="score"
    )
    assert_frame_equal(long.rank.summarize("map", model_labels="llm", run="run"), found)
    for run in ("old", "new"):
        assert_frame_equal(
            found.filter(run=run).drop("run"), DF.rank.on(score=run).summarize("map", model_labels="llm")
        )


def test_a_model_that_knows_nothing_leaves_the_interval_of_people() -> None:
    df = DF.with_columns(llm=pl.lit(1))
    row = df.rank.summarize("map", model_labels="llm").row(0, named=True)
    alone = DF.filter(pl.col("query_id") < 40).rank.summarize("map", interval="t").row(0, named=True)
    assert row["tuned_weight"] == row["variance_saved"] == 0
    assert [row[x] for x in ("mean", "ci_low", "ci_high")] == pytest.approx(
        [alone[x] for x in ("mean", "ci_low", "ci_high")]
    )
    assert row["queries_to_halve"] == 160


def test_a_model_that_is_always_right_makes_nearly_the_interval_of_all_queries() -> None:
    df = table(right=1.0)
    row = df.rank.summarize("map", model_labels="llm").row(0, named=True)
    assert row["mean"] == pytest.approx(df.rank.on(label="llm").mean("map")["map"].item(), abs=0.02)
    assert row["variance_saved"] == pytest.approx(80 / 120, abs=0.05)
    assert row["queries_to_halve"] > 120


def test_no_interval_has_no_columns_of_one() -> None:
    found = DF.rank.summarize("map", model_labels="llm", ci=None)
    assert found.columns == ["metric", "n_queries", *ADDED, "std", "total", "mean"]
    assert found["mean"].item() == DF.rank.summarize("map", model_labels="llm")["mean"].item()


def test_lazy_pandas_and_any_order_of_rows_give_the_same() -> None:
    wanted = DF.rank.summarize("map", "ndcg@3", model_labels="llm", weights="w")
    shuffled = DF.sample(fraction=1.0, shuffle=True, seed=3)
    lazy = shuffled.lazy().rank.summarize("map", "ndcg@3", model_labels="llm", weights="w")
    assert lazy.collect_schema() == wanted.schema
    assert_frame_equal(lazy.collect(), wanted, check_row_order=False)
    assert_frame_equal(shuffled.rank.summarize("map", "ndcg@3", model_labels="llm", weights="w"), wanted)
    of_pandas = DF.to_pandas().rank.summarize("map", "ndcg@3", model_labels="llm", weights="w")
    assert isinstance(of_pandas, pd.DataFrame)
    assert of_pandas["ci_low"].tolist() == pytest.approx(wanted["ci_low"].to_list())


def test_parts_of_whole_queries_merge_to_the_summary_of_the_table() -> None:
    call = call_of_verb(summarize, "map", "ndcg@3", model_labels="llm", by="market")
    df = table(n=160, people=80)
    summary = call.mergeable(bound({}, arrow_kernel))
    assert summary is not None
    for parts in (1, 7):
        split = df.with_columns(part=pl.col("query_id") % parts).partition_by("part", include_key=False)
        merged = summary.merge(pl.concat([summary.part(part) for part in split]))
        assert_frame_equal(
            merged, df.rank.summarize("map", "ndcg@3", model_labels="llm", by="market"), check_row_order=False
        )


def test_engines_of_tables_in_parts_give_the_same_and_refuse_the_same() -> None:
    df = table(n=160, people=80)
    for options in ({}, {"by": "market"}, {"runs": ["old", "new"]}, {"weights": "w"}):
        wanted = df.rank.summarize("ndcg@3", "map", model_labels="llm", **options)
        assert_same(asked(df, summarize, "ndcg@3", "map", model_labels="llm", **options), wanted)
    with pytest.raises(rf.InvalidOption, match="leave out interval='poisson'"):
        asked(df, summarize, "map", model_labels="llm", interval="poisson")
    with pytest.raises(
        rf.InvalidData, match=r"judged; .* label \d+ more, or take the labels of the model alone: .*on\(label='llm'\)"
    ):
        asked(df.filter(pl.col("query_id") > 60), summarize, "map", model_labels="llm")


def test_judged_queries_of_weight_0_are_none() -> None:
    """Three judged queries of weight 1 had an interval of one point, without a word."""
    df = DF.with_columns(w=pl.when(pl.col("query_id").is_between(3, 39)).then(0).otherwise(1))
    for ask in (
        lambda: df.rank.summarize("map", model_labels="llm", weights="w"),
        lambda: df.rank.compare("map", model_labels="llm", weights="w", **RUNS),
        lambda: df.rank.compare("map", adjust="known", weights="w", **RUNS),
    ):
        with pytest.raises(rf.InvalidData, match="takes 30 queries that people judged; 3 of 120 are and have a weight"):
            ask()
    half = DF.with_columns(w=pl.col("query_id") % 2).with_columns(pl.col("w").replace_strict({0: 0.0, 1: 2.0}))
    more = pl.concat(
        [half, table(seed=1).with_columns(pl.col("query_id") + 500, w=pl.lit(1.0))]
    )  # 20 and 40 judged ones
    kept = more.filter(pl.col("w") > 0)
    columns = ["mean", "ci_low", "ci_high", "n_judged"]
    found = more.rank.summarize("map", model_labels="llm", weights="w").select(columns)
    assert_frame_equal(found, kept.rank.summarize("map", model_labels="llm", weights="w").select(columns))
    heavy = DF.with_columns(w=pl.when(query_id=0).then(1e15).otherwise(1.0))  # one query is all the weight
    assert heavy.rank.summarize("map", model_labels="llm", weights="w").select("ci_low", "ci_high").row(0) == (
        None,
        None,
    )


def test_a_query_is_judged_by_people_if_each_of_its_documents_has_a_label_that_is_not_negative() -> None:
    wanted = DF.rank.summarize("map", model_labels="llm")
    below = DF.with_columns(label=pl.when(pl.col("query_id") >= 40).then(-1).otherwise("label"))
    assert_frame_equal(below.rank.summarize("map", model_labels="llm"), wanted)
    some = DF.with_columns(label=pl.when((pl.col("query_id") > 3) | (pl.col("doc_id") != "b")).then("label"))
    with pytest.raises(
        rf.InvalidData, match="people judged 4 queries in part, as 0; label all documents of a query or none"
    ):
        some.rank.summarize("map", model_labels="llm")


@each(
    ("change", "options", "message"),
    [
        (lambda df: df, {"model_labels": "gpt"}, "no column 'gpt' for model_labels"),
        (lambda df: df.drop("label"), {"model_labels": "llm"}, "no column 'label' for label"),
        (
            lambda df: df.with_columns(llm=pl.lit("yes")),
            {"model_labels": "llm"},
            "'llm' for model_labels holds String, not numbers",
        ),
        (
            lambda df: df.filter(pl.col("query_id") > 10),
            {"model_labels": "llm"},
            "takes 30 queries that people judged; 29 of 109 are",
        ),
        (lambda df: df, {"model_labels": "llm", "by": "market"}, "20 of 60 are of market x"),
        (
            lambda df: df.with_columns(llm=pl.when(pl.col("doc_id") != "a").then("llm")),
            {"model_labels": "llm"},
            "120 of 720 rows have no label",
        ),
        (
            lambda df: df,
            {"model_labels": "llm", "interval": "bca"},
            "model_labels='llm' takes no interval; leave out interval='bca'",
        ),
    ],
)
def test_what_gives_no_valid_interval_is_refused(change: Any, options: Any, message: str) -> None:
    with pytest.raises(rf.RankframeError, match=message):
        change(DF).rank.summarize("map", **options)


@each(
    ("metric", "message"),
    [
        ("gm_map", "gm_map is summed up by its geometric mean, and this takes plain means; ask for map"),
        ("err@5", r"err@5 reads the largest label; say it, as err\(max_label=3\)"),
    ],
)
def test_means_that_people_and_model_have_on_other_scales_are_refused(metric: str, message: str) -> None:
    with pytest.raises(rf.InvalidOption, match=message):
        DF.rank.summarize(metric, model_labels="llm")
    assert DF.rank.summarize("err(max_label=3)@5", model_labels="llm")["n_judged"].item() == 40


@pytest.mark.filterwarnings("ignore:every row has a score and a label")
def test_a_geometric_mean_is_refused_where_plain_means_are_taken() -> None:
    known: Any = {**RUNS, "adjust": "known"}
    for ask in (
        lambda: DF.rank.compare("gm_map", model_labels="llm", **RUNS),
        lambda: DF.rank.compare("gm_map", **known),
        lambda: DF.rank.gate({"gm_map": 0.1}, **known),
        lambda: DF.rank.compare("gm_map", test="bayes", rope=0.1, **RUNS),
        lambda: DF.rank.collection.reproduces("gm_map", original={"new": "old"}),
        lambda: DF.rank.collection.label_agreement("label", "llm", metric="gm_map", **RUNS),
    ):
        with pytest.raises(rf.InvalidOption, match="gm_map is summed up by its geometric mean"):
            ask()


def test_a_weight_that_reads_labels_is_refused_and_one_that_reads_none_is_not() -> None:
    """Queries would weigh by people's labels or by the model's, so that the two parts are means of other things."""
    with pytest.raises(rf.InvalidOption, match="weights='num_rel' reads labels"):
        DF.rank.summarize("map", model_labels="llm", weights="num_rel")
    assert DF.rank.summarize("map", model_labels="llm", weights="num_ret")["n_judged"].item() == 40


def test_a_query_without_a_value_is_refused() -> None:
    df = DF.with_columns(label=pl.when(pl.col("query_id") == 0).then(0).otherwise("label"))
    with pytest.raises(rf.InvalidData, match="takes a value of map for each query"):
        df.rank.on(no_relevant="null").summarize("map", model_labels="llm")


def test_an_empty_table_has_a_row_of_nulls_and_with_slices_none() -> None:
    found = DF.clear().rank.summarize("map", model_labels="llm")
    assert found.row(0)[:4] == ("map", 0, 0, None)
    assert found.schema == DF.rank.summarize("map", model_labels="llm").schema
    assert DF.clear().rank.summarize("map", model_labels="llm", by="market").height == 0


def test_judged_queries_that_are_not_like_the_others_warn() -> None:
    easy = DF.with_columns(llm=pl.when(pl.col("query_id") < 40).then(pl.col("llm")).otherwise(0))
    with pytest.warns(
        rf.RankframeWarning, match="holds for judged queries that were drawn at random: judged queries have"
    ):
        easy.rank.summarize("num_relevant", model_labels="llm")


def test_values_of_which_few_differ_warn() -> None:
    df = DF.with_columns(label=pl.when(pl.col("query_id").is_between(5, 39)).then(0).otherwise("label"))
    with pytest.warns(
        rf.RankframeWarning, match="of rr is too short: [1-5] of the 40 judged queries differ from the median"
    ):
        df.rank.summarize("rr", model_labels="llm")


# compare


def test_a_difference_is_that_of_people_moved_by_the_model_and_means_are_those_of_summarize() -> None:
    found = DF.rank.compare("map", model_labels="llm", **RUNS)
    row = found.table.row(0, named=True)
    sides = [values(DF, "map", run) for run in ("old", "new")]
    d, dh, du = (b - a for a, b in zip(*sides, strict=True))
    mean, weight, half = by_hand(d, dh, du)
    assert [row["difference"], row["tuned_weight"]] == pytest.approx([mean, weight])
    assert [row["ci_low"], row["ci_high"]] == pytest.approx([mean - half, mean + half])
    t = mean / (half / stats.t.ppf(0.975, 38))
    assert row["p_value"] == row["p_adjusted"] == pytest.approx(2 * stats.t.sf(abs(t), 38))
    assert [row["baseline_mean"], row["mean"]] == pytest.approx(
        DF.rank.summarize("map", model_labels="llm", **RUNS)["mean"].to_list()
    )
    assert row["effect_size"] == pytest.approx(mean / np.std(d, ddof=1))
    both = np.append(d, du)  # by people where they judged, otherwise by the model
    assert (row["wins"], row["ties"], row["losses"]) == ((both > 0).sum(), (both == 0).sum(), (both < 0).sum())
    assert (row["n_queries"], row["n_judged"]) == (120, 40)
    assert found.per_query_delta["map"].to_numpy() == pytest.approx(both)
    assert found.settings["model_labels"] == "llm"
    assert found.settings["test"] == "prediction_powered"
    assert SAVED.match(found.sentences()[-1])
    assert "Student's test of the prediction-powered mean" in repr(found)


def test_where_less_is_better_a_smaller_value_wins() -> None:
    found = DF.rank.on(no_relevant="zero").compare("average_relevance_position", model_labels="llm", **RUNS)
    d = found.per_query_delta["average_relevance_position"].to_numpy()
    row = found.table.row(0, named=True)
    assert (row["wins"], row["losses"]) == ((d < 0).sum(), (d > 0).sum())
    assert row["wins"] > row["losses"]  # the new run is better
    assert row["difference"] < 0


def test_slices_and_many_pairs_are_compared_as_each_by_itself() -> None:
    df = table(n=160, people=70).with_columns(third=pl.col("old") + pl.col("new") / 2)
    found = df.rank.compare("map", "ndcg@3", runs=["old", "new", "third"], model_labels="llm", by="market")
    assert found.table.height == 12
    assert (found.table["p_adjusted"] >= found.table["p_value"]).all()
    alone = df.filter(market="x").rank.compare("map", runs=["old", "third"], model_labels="llm").table
    row = found.table.filter(market="x", metric="map", baseline="old", run="third").drop("market", "p_adjusted")
    assert_frame_equal(row, alone.drop("p_adjusted"))
    assert "People judged 35 queries" in found.sentences()[-1]


@each("options", [{"model_labels": "llm"}, {"adjust": "known"}, {"test": "bayes", "resamples": 99}])
@each("by", [None, "market"])
def test_the_table_of_runs_has_a_row_per_run_and_slice(options: Any, by: Any) -> None:
    df = table(n=160, people=70).with_columns(third=pl.col("old") + pl.col("new") / 2)
    found = df.rank.compare("map", runs=["old", "new", "third"], by=by, **options)
    grid = found.grid()
    assert grid.words == (*([by] if by else []), "", "run")
    assert [row[-2].text for row in grid.rows] == ["old", "new", "third"] * (2 if by else 1)
    means = dict(found.table.select("run", "mean").rows()[:2])
    assert [row[-1].text for row in grid.rows[1:3]] == [f"{means[run]:.3f}" for run in ("new", "third")]


def test_queries_that_a_run_lacks_count_0_by_both_or_are_left_out() -> None:
    long = DF.drop("score").unpivot(
        ["old", "new"], index=["query_id", "doc_id", "label", "llm"], variable_name="run", value_name="score"
    )
    long = long.filter((pl.col("run") == "old") | (pl.col("query_id") != 50))
    with pytest.raises(rf.InvalidData, match="lacks 1 of 120 queries"):
        long.rank.compare("map", run="run", model_labels="llm")
    dropped = long.rank.compare("map", run="run", model_labels="llm", missing="drop").table
    wanted = DF.filter(pl.col("query_id") != 50).rank.compare("map", model_labels="llm", **RUNS).table
    assert_frame_equal(dropped, wanted)
    zero = long.rank.compare("map", run="run", model_labels="llm", missing="zero").table
    nothing = DF.with_columns(new=pl.when(pl.col("query_id") != 50).then("new"))
    assert_frame_equal(zero, nothing.rank.compare("map", model_labels="llm", **RUNS).table)


def test_equal_runs_have_no_difference_and_p_is_1() -> None:
    with pytest.warns(rf.RankframeWarning, match="the interval of differences of map is too short: 0 of the 40"):
        row = DF.with_columns(new="old").rank.compare("map", model_labels="llm", **RUNS).table.row(0, named=True)
    assert (row["difference"], row["p_value"], row["ties"], row["effect_size"]) == (0, 1, 120, None)


@each(
    "options",
    [
        {"model_labels": "llm", "test": "t"},
        {"model_labels": "llm", "test": "bayes"},
        {"model_labels": "llm", "interval": "t"},
        {"adjust": "known", "test": "tukey"},
        {"model_labels": "llm", "adjust": "known"},
        {"adjust_mean": 3.0},
        {"adjust": "known", "adjust_mean": 3.0, "by": "market"},
        {"rope": 0.1},
        {"test": "bayes", "weights": "w"},
        {"by": "tuned_weight", "model_labels": "llm"},
    ],
)
def test_options_that_do_not_go_together_are_refused(options: Any) -> None:
    df = DF.with_columns(tuned_weight="market")
    with pytest.raises(rf.InvalidOption):
        df.rank.compare("map", **options, **RUNS)


# adjust


def test_a_column_known_before_adjusts_differences_by_its_mean_over_all_queries() -> None:
    row = DF.rank.compare("map", adjust="known", **RUNS).table.row(0, named=True)
    a, b = (values(DF, "map", run)[0] for run in ("old", "new"))
    x = DF.group_by("query_id", maintain_order=True).agg(pl.col("known").first())["known"].to_numpy()
    slope = np.cov(b - a, x[:40], ddof=0)[0, 1] / np.var(x[:40])
    assert row["tuned_weight"] == pytest.approx(slope * 80 / 120)
    assert row["difference"] == pytest.approx((b - a).mean() + slope * (x.mean() - x[:40].mean()))
    assert row["difference"] == pytest.approx(row["mean"] - row["baseline_mean"])
    assert (row["n_queries"], row["n_judged"], row["interval"]) == (40, 40, "adjusted")
    assert row["wins"] + row["ties"] + row["losses"] == 40


def test_a_skewed_column_adjusts_without_bias() -> None:
    """1,000 samples of 30 of 1,000 queries: the mean of 0.3 is missed by less than a tenth of a standard error on average."""
    found = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        column = rng.exponential(1, (1_000, 50)) - 1
        d = 0.7 * column + rng.normal(0.3, 0.7, column.shape)
        judged = np.arange(1_000) < 30
        found += estimates(
            np.where(judged[:, None], d, np.nan), column, judged, np.ones(1_000), within=False
        ).mean.tolist()
    assert abs(np.mean(found) - 0.3) <= 0.1 * np.std(found)


def test_a_known_mean_takes_the_place_of_other_queries() -> None:
    judged = DF.filter(pl.col("query_id") < 40)
    with pytest.raises(
        rf.InvalidOption, match="saves nothing, as people judged all 40 queries; say its mean over more, adjust_mean="
    ):
        judged.rank.compare("map", adjust="known", **RUNS)
    row = judged.rank.compare("map", adjust="known", adjust_mean=3.4, **RUNS).table.row(0, named=True)
    a, b = (values(DF, "map", run)[0] for run in ("old", "new"))
    x = judged.group_by("query_id", maintain_order=True).agg(pl.col("known").first())["known"].to_numpy()
    slope = np.cov(b - a, x, ddof=0)[0, 1] / np.var(x)
    assert row["difference"] == pytest.approx((b - a).mean() + slope * (3.4 - x.mean()))
    assert row["variance_saved"] == pytest.approx(np.corrcoef(b - a, x)[0, 1] ** 2, abs=0.001)
    with pytest.warns(rf.RankframeWarning, match="drawn at random"):
        judged.rank.compare("map", adjust="known", adjust_mean=30, **RUNS)


def test_a_metric_that_reads_no_labels_adjusts_as_its_column_for_the_baseline() -> None:
    shown = pl.DataFrame({"doc_id": [*"abcdef"], "n": [9, 7, 5, 3, 2, 1]})
    ranker = DF.rank.on(interactions=shown)
    found = ranker.compare("map", adjust="mean_popularity@2", baseline="new", **RUNS).table
    popular = ranker.on(score="new").evaluate("mean_popularity@2").rename({"mean_popularity@2": "p"})
    wanted = DF.join(popular, on="query_id").rank.compare("map", adjust="p", baseline="new", **RUNS).table
    assert_frame_equal(found, wanted)
    with pytest.raises(rf.InvalidOption, match="adjust='map' reads labels, which are not known before"):
        DF.rank.compare("map", adjust="map", **RUNS)
    with pytest.raises(rf.MissingColumn, match=r"no column 'knwon' for adjust.*Did you mean 'known'"):
        DF.rank.compare("map", adjust="knwon", **RUNS)


@each(
    ("column", "message"),
    [
        (pl.when(pl.col("query_id") != 7).then("known"), "adjust='x' has no finite value for 1 of 120 queries"),
        (pl.col("known") / (pl.col("query_id") != 7), "adjust='x' has no finite value for 1 of 120 queries"),
        (pl.col("doc_id").rank("dense"), "a query has several values of 'x'"),
        (pl.col("market"), "column 'x' for adjust holds String, not numbers"),
    ],
)
def test_a_column_without_one_number_per_query_is_refused(column: pl.Expr, message: str) -> None:
    with pytest.raises(rf.InvalidData, match=message):
        DF.with_columns(x=column).rank.compare("map", adjust="x", **RUNS)


def test_without_labels_every_query_is_judged() -> None:
    shown = pl.DataFrame({"doc_id": [*"abcdef"], "n": [9, 7, 5, 3, 2, 1]})
    ranker = DF.drop("label").rank.on(interactions=shown)
    found = ranker.compare("mean_popularity@2", adjust="known", adjust_mean=3.5, **RUNS).table
    assert found["n_judged"].item() == 120


# gate and power


def test_a_gate_goes_by_the_bound_of_the_difference_and_by_the_judged_queries() -> None:
    df = table(n=300, people=100)
    found = df.rank.gate({"map": 0.2}, model_labels="llm", **RUNS)
    compared = df.rank.compare("map", model_labels="llm", ci=0.9, **RUNS).table.row(0, named=True)
    row = found.table.row(0, named=True)
    assert [row["difference"], row["bound"]] == [compared["difference"], compared["ci_low"]]
    assert (row["n_queries"], row["queries_needed"], row["verdict"]) == (100, 50, "passed")
    few = DF.rank.gate({"map": 0.2}, model_labels="llm", **RUNS)
    assert few.table["verdict"].to_list() == ["too few queries"]
    assert "too few queries to tell: 40, and a budget of 0.2 takes 50 or more" in few.lines()[0]
    adjusted = df.rank.gate({"map": 0.2}, adjust="known", **RUNS).table.row(0, named=True)
    assert adjusted["bound"] == df.rank.compare("map", adjust="known", ci=0.9, **RUNS).table["ci_low"].item()
    with pytest.raises(rf.InvalidOption, match="leave out interval='bca'"):
        df.rank.gate({"map": 0.2}, model_labels="llm", interval="bca", **RUNS)


def test_the_queries_that_moved_show_the_labels_that_count() -> None:
    moved = DF.rank.gate({"ndcg@3": 0.2}, model_labels="llm", most_moved=100, **RUNS).moved
    merged = pl.when(pl.col("query_id") < 40).then("label").otherwise("llm")
    labels = DF.select("query_id", "doc_id", wanted=merged.cast(pl.Float64))
    both = moved.join(labels, on=["query_id", "doc_id"])
    assert both["label"].to_list() == both["wanted"].to_list()
    assert {*moved["query_id"].to_list()} & {*range(40, 120)}


def test_power_is_that_of_adjusted_differences() -> None:
    judged = DF.filter(pl.col("query_id") < 40)
    row = judged.rank.power("map", difference=0.05, adjust="known", **RUNS).row(0, named=True)
    a, b = (values(DF, "map", run)[0] for run in ("old", "new"))
    x = judged.group_by("query_id", maintain_order=True).agg(pl.col("known").first())["known"].to_numpy()
    saved = np.corrcoef(b - a, x)[0, 1] ** 2
    assert row["variance_saved"] == pytest.approx(saved, abs=1e-3)
    assert row["std"] == pytest.approx(np.std(b - a, ddof=1) * math.sqrt(1 - row["variance_saved"]))
    assert_frame_equal(
        DF.rank.power("map", difference=0.05, adjust="known", **RUNS).select("std", "n_queries", "variance_saved"),
        judged.rank.power("map", difference=0.05, adjust="known", **RUNS).select("std", "n_queries", "variance_saved"),
    )


# the Bayesian test


def test_a_mean_of_two_queries_that_is_0_but_for_rounding_is_on_the_border() -> None:
    """0.1 + 0.2 is above 0.3 in the last digit; of the nine pairs of 0, 0.3 and -0.3, three means are 0, three above and three below."""
    (found,) = shares(np.array([0.0, 0.1 + 0.2, -0.3]), 0.0, np.full((1, 3), 1 / 3))
    assert found == pytest.approx([1 / 2, 0, 1 / 2])


def test_the_probabilities_are_those_of_the_signed_rank_test_and_turn_with_the_metric() -> None:
    found = DF.rank.compare("map", "ndcg@3", test="bayes", rope=0.05, resamples=500, **RUNS)
    chances = found.table.select("p_better", "p_equivalent", "p_worse")
    assert chances.sum_horizontal().to_list() == pytest.approx([1, 1])
    assert found.table["p_value"].null_count() == 2
    turned = DF.rank.compare("map", "ndcg@3", test="bayes", rope=0.05, resamples=500, baseline="new", **RUNS).table
    assert turned["p_better"].to_list() == pytest.approx(found.table["p_worse"].to_list())
    assert found.settings["rope"] == 0.05
    assert found.settings["correction"] is None
    assert "is better than `old` on map with a probability of" in found.sentences()[0]
    assert "better / equal / worse" in repr(found)
    assert "Probabilities by the Bayesian signed-rank test" in repr(found)


def test_a_run_that_always_gains_is_better_and_one_that_changes_nothing_equivalent() -> None:
    df = pl.DataFrame({"query_id": [*range(15)] * 2, "doc_id": ["a"] * 15 + ["b"] * 15, "label": [1] * 15 + [0] * 15})
    df = df.with_columns(old=pl.Series([0] * 15 + [1] * 15), new=pl.Series([1] * 15 + [0] * 15))
    row = df.rank.compare("rr", test="bayes", rope=0.1, resamples=500, **RUNS).table.row(0, named=True)
    assert (row["p_better"], row["p_equivalent"], row["p_worse"]) == (1, 0, 0)
    same = df.with_columns(new="old").rank.compare("rr", test="bayes", rope=0.1, resamples=500, **RUNS)
    assert same.table.select("p_better", "p_equivalent", "p_worse").row(0) == (0, 1, 0)
    assert same.sentences() == [
        "`new` is better than `old` on rr with a probability of < 0.01, equivalent (within 0.1) with > 0.99 and worse with "
        "< 0.01, over 15 queries"
    ]
    nothing = df.clear().rank.compare("rr", test="bayes", rope=0.1, resamples=500, **RUNS)
    assert nothing.table["p_better"].to_list() == [None]
    assert nothing.sentences() == []


def test_an_empty_table_compares_to_nulls() -> None:
    found = DF.clear().rank.compare("map", model_labels="llm", **RUNS).table
    assert found.schema == DF.rank.compare("map", model_labels="llm", **RUNS).table.schema
    assert found.select("difference", "n_judged", "tuned_weight").row(0) == (None, None, None)


def test_a_metric_that_gives_the_same_value_by_any_labels_needs_no_people() -> None:
    """Both columns hold the same labels, so that the mean is that of all queries."""
    df = DF.with_columns(label=pl.when(pl.col("query_id") < 40).then("llm"))
    row = df.rank.summarize("map", model_labels="llm").row(0, named=True)
    y = df.rank.on(label="llm").evaluate("map")["map"].to_numpy()
    assert row["mean"] == pytest.approx(by_hand(y[:40], y[:40], y[40:])[0])
    assert row["mean"] == pytest.approx(y.mean(), abs=0.002)


def test_a_known_mean_warns_from_four_standard_errors_on() -> None:
    judged = DF.filter(pl.col("query_id") < 40)
    x = judged.group_by("query_id").agg(pl.col("known").first())["known"].to_numpy()
    error = x.std() / math.sqrt(len(x))
    with pytest.warns(rf.RankframeWarning, match="drawn at random"):
        judged.rank.compare("map", adjust="known", adjust_mean=x.mean() + 4.5 * error, **RUNS)
    judged.rank.compare("map", adjust="known", adjust_mean=x.mean() + 3.5 * error, **RUNS)
