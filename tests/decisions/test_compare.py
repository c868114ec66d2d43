"""Runs compared on the same queries; expected figures by hand, by NumPy over the values, or by SciPy and statsmodels."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from scipy import stats as scipy_stats

import rankframe as rf
from rankframe._results.grid import records
from tests.support.each import each
from tests.support.runs import DF, LONG, RUNS, values

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from statsmodels.stats.multitest import multipletests

COLUMNS = ["metric", "baseline", "run", "baseline_mean", "mean", "difference", "ci_low", "ci_high", "interval"]
COLUMNS += ["p_value", "p_adjusted", "effect_size", "wins", "ties", "losses", "n_queries"]


def test_the_table_is_what_the_values_say() -> None:
    found = DF.rank.compare("ndcg@5", "map", runs=RUNS, test="t", interval="t", ci=0.9).table
    assert found.columns == COLUMNS
    assert found.select("metric", "baseline", "run").rows() == [
        (metric, *pair) for metric in ("ndcg@5", "map") for pair in (("old", "new"), ("old", "odd"), ("new", "odd"))
    ]
    for row in found.rows(named=True):
        a, b = (values(row[run], row["metric"]) for run in ("baseline", "run"))
        test = scipy_stats.ttest_rel(b, a)
        interval = test.confidence_interval(0.9)
        assert (row["baseline_mean"], row["mean"]) == pytest.approx((a.mean(), b.mean()))
        assert row["difference"] == pytest.approx(b.mean() - a.mean())
        assert (row["ci_low"], row["ci_high"]) == pytest.approx((interval.low, interval.high))
        assert row["p_value"] == pytest.approx(test.pvalue)
        assert row["effect_size"] == pytest.approx((b - a).mean() / np.std(b - a, ddof=1))
        assert (row["wins"], row["ties"], row["losses"]) == ((b > a).sum(), (b == a).sum(), (b < a).sum())
        assert row["n_queries"] == 40
    p = found["p_value"].to_numpy()
    assert found["p_adjusted"].to_numpy() == pytest.approx(multipletests(p, method="holm")[1])


@each("kind", ["polars", "lazy", "pandas"])
def test_one_of_several_columns_of_the_query_may_slice_the_queries(kind: str) -> None:
    # By hand: on Monday the new run is better on both queries, 1 instead of 1/2, on Tuesday on neither.
    df: Any = pl.DataFrame(
        {
            "day": ["mo"] * 4 + ["tu"] * 4,
            "query_id": [1, 1, 2, 2] * 2,
            "doc_id": list("ab") * 4,
            "label": [1, 0] * 4,
            "old": [1, 2] * 2 + [2, 1] * 2,
            "new": [2, 1] * 4,
        }
    )
    frame = {"polars": df, "lazy": df.lazy(), "pandas": df.to_pandas()}[kind]
    ranker = rf.rank(frame).on(query=["day", "query_id"])
    found = ranker.compare("rr", runs=["old", "new"], by="day", resamples=39)
    rows = [(row["day"], row["difference"], row["n_queries"]) for row in records(found.table)]
    assert rows == [("mo", 0.5, 2), ("tu", 0.0, 2)]
    deltas, moved = found.per_query_delta, ranker.gate({"rr": 0.1}, runs=["old", "new"], by="day").moved
    if kind == "pandas":
        deltas, moved = deltas.reset_index(), moved.reset_index()
    by_query = sorted((row["day"], row["query_id"], row["rr"]) for row in records(deltas))
    assert by_query == [("mo", 1, 0.5), ("mo", 2, 0.5), ("tu", 1, 0.0), ("tu", 2, 0.0)]
    assert {row["day"] for row in records(moved)} == {"mo"}
    with pytest.raises(rf.InvalidOption, match=r"by=\['day', 'query_id'\] tells queries apart"):
        ranker.compare("rr", runs=["old", "new"], by=["day", "query_id"])


def test_values_and_differences_come_query_by_query() -> None:
    found = DF.rank.compare("ndcg@5", "rr", runs=RUNS, by="day", resamples=40)
    assert found.per_query.columns == ["query_id", "day", "run", "ndcg@5", "rr"]
    assert found.per_query_delta.columns == ["query_id", "day", "baseline", "run", "ndcg@5", "rr"]
    for run in RUNS:
        wanted = DF.rank.on(score=run).evaluate("ndcg@5", "rr")
        assert_frame_equal(found.per_query.filter(run=run).select(wanted.columns), wanted)
    delta = found.per_query_delta.filter(baseline="new", run="odd")["rr"].to_numpy()
    assert delta == pytest.approx(values("odd", "rr") - values("new", "rr"))


def test_a_run_column_says_the_same_as_score_columns() -> None:
    one = DF.rank.compare("ndcg@5", "map", runs=RUNS, by="day", weights="asked", baseline="new")
    other = LONG.rank.compare("ndcg@5", "map", run="system", by="day", weights="asked", baseline="new")
    assert one.table.select("baseline", "run").unique(maintain_order=True).rows() == [("new", "old"), ("new", "odd")]
    assert_frame_equal(one.table, other.table)
    assert_frame_equal(one.per_query, other.per_query)
    assert_frame_equal(one.per_query_delta, other.per_query_delta)
    named = LONG.rank.on(query=["system", "query_id"])
    assert_frame_equal(named.compare("map", run="system").table, DF.rank.compare("map", runs=RUNS).table)


def test_the_order_of_rows_changes_nothing() -> None:
    found = DF.rank.compare("ndcg@5", runs=RUNS, test="tukey").table
    shuffled = DF.sample(fraction=1, shuffle=True, seed=3).rank.compare("ndcg@5", runs=RUNS, test="tukey").table
    assert_frame_equal(found, shuffled, rel_tol=1e-12)


@each("test", ["permutation", "bootstrap", "tukey"])
def test_equal_seeds_give_equal_numbers_and_others_do_not(test: Any) -> None:
    one, same, other = (
        DF.rank.compare("map", runs=RUNS, test=test, resamples=500, seed=seed).table for seed in (1, 1, 2)
    )
    assert_frame_equal(one, same)
    assert one["ci_low"].to_list() != other["ci_low"].to_list()


def test_lazy_and_pandas_frames_get_their_own_kind() -> None:
    wanted = LONG.rank.compare("map", run="system", by="day")
    lazy = LONG.lazy().rank.compare("map", run="system", by="day")
    frame = LONG.to_pandas().rank.compare("map", run="system", by="day")
    for name in ("table", "per_query", "per_query_delta"):
        assert isinstance(getattr(lazy, name), pl.LazyFrame)
        assert_frame_equal(getattr(lazy, name).collect(), getattr(wanted, name))
        pandas = getattr(frame, name)
        assert isinstance(pandas, pd.DataFrame)
        back = pl.from_pandas(pandas.reset_index() if name != "table" else pandas)
        assert_frame_equal(back, getattr(wanted, name), check_dtypes=False)
    assert frame.per_query.index.name == "query_id"
    wide = DF.to_pandas().rename(columns={"old": 0, "new": 1})
    numbered = wide.rank.compare("map", runs=[0, 1])
    assert numbered.table["p_value"].item() == DF.rank.compare("map", runs=["old", "new"]).table["p_value"].item()
    with pytest.raises(rf.InvalidOption, match="none of the runs"):
        wide.rank.compare("map", runs=[0, 1], baseline=7)


def test_slices_are_those_of_the_filtered_table() -> None:
    found = DF.rank.compare("map", "rr", runs=RUNS, by="day", correction=None)
    assert found.table.columns == ["day", *COLUMNS]
    first = DF["day"][0]
    assert found.table["day"].to_list()[:3] == [first] * 3
    for day in ("mo", "tu"):
        alone = DF.filter(day=day).rank.compare("map", "rr", runs=RUNS, correction=None)
        assert_frame_equal(found.table.filter(day=day).drop("day"), alone.table)


@each(("correction", "theirs"), [("bh", "fdr_bh"), ("by", "fdr_by")])
def test_p_values_are_corrected_over_all_rows(correction: Any, theirs: str) -> None:
    found = DF.rank.compare("map", "rr", runs=RUNS, by="day", correction=correction, test="t").table
    wanted = multipletests(found["p_value"].to_numpy(), method=theirs)[1]
    assert found["p_adjusted"].to_numpy() == pytest.approx(wanted)


def test_the_p_values_of_each_metric_may_be_a_family_of_their_own() -> None:
    found = DF.rank.compare("map", "rr", runs=RUNS, by="day", family="metric", test="t")
    assert found.settings["family"] == "metric"
    table = found.table
    for metric in ("map", "rr"):
        of_metric = table.filter(metric=metric)
        wanted = multipletests(of_metric["p_value"].to_numpy(), method="holm")[1]
        assert of_metric["p_adjusted"].to_numpy() == pytest.approx(wanted)
    pairs = len(table) // 2
    assert f"after Holm's correction for {pairs} comparisons of each metric." in found.to_markdown()
    together = DF.rank.compare("map", "rr", runs=RUNS, by="day", test="t")
    assert f"after Holm's correction for {2 * pairs} comparisons of all metrics together." in together.to_markdown()


def test_tukeys_test_has_its_own_correction() -> None:
    found = DF.rank.compare("map", "rr", runs=RUNS, test="tukey", resamples=2000)
    assert found.table["p_adjusted"].to_list() == found.table["p_value"].to_list()
    assert found.settings["correction"] == "tukey"
    # With two runs there is one range, that of the permutation test.
    tukey, signs = (
        DF.rank.compare("map", runs=RUNS[:2], test=test, resamples=20_000).table["p_value"].item()  # type: ignore[arg-type]
        for test in ("tukey", "permutation")
    )
    assert tukey == pytest.approx(signs, abs=4 * (2 * 0.25 / 20_000) ** 0.5)


# Reciprocal ranks of a: 1, 1/2, 1/2; of b: 1/2, 1, and nothing for query 3.
MISSING = pl.DataFrame(
    {
        "query_id": [1, 1, 2, 2, 3, 3, 1, 1, 2, 2],
        "doc_id": list("xyxyxyxyxy"),
        "label": [1, 0] * 5,
        "score": [2, 1, 1, 2, 1, 2, 1, 2, 2, 1],
        "system": ["a"] * 6 + ["b"] * 4,
    }
)


def test_queries_that_a_run_lacks_follow_the_policy() -> None:
    with pytest.raises(
        rf.InvalidData, match=r"run 'b' lacks 1 of 3 queries that another run has \(3\); missing='zero'"
    ):
        MISSING.rank.compare("rr", run="system")
    dropped = MISSING.rank.compare("rr", run="system", missing="drop")
    assert dropped.table.select("baseline_mean", "mean", "difference", "n_queries").row(0) == (0.75, 0.75, 0.0, 2)
    assert dropped.per_query["query_id"].to_list() == [1, 2, 1, 2]
    zero = MISSING.rank.compare("rr", run="system", missing="zero").table
    assert zero.select("mean", "difference", "wins", "losses", "n_queries").row(0) == (
        0.5,
        pytest.approx(-1 / 6),
        1,
        2,
        3,
    )
    for text in ("gm_map", "average_relevance_position"):
        with pytest.raises(rf.InvalidOption, match="is not 0; say missing='drop'"):
            MISSING.rank.compare(text, run="system", missing="zero")


ARMS = pl.DataFrame({"user": range(400), "arm": ["a", "b"] * 200, "clicked": [*[0, 1, 0, 1] * 50, *[1, 1, 0, 0] * 50]})
"""Users of either arm: of a, 50 of 200 click, and of b, 150."""


@each("options", [{}, {"missing": "zero"}, {"missing": "drop"}])
@each("verb", ["compare", "gate"])
def test_two_groups_of_queries_are_refused_as_runs_and_compared_by_their_gap(
    verb: str, options: dict[str, Any]
) -> None:
    clicked = rf.value("clicked", bounds=(0, 1))
    ranker = ARMS.rank.on(query="user")
    asks = (clicked,) if verb == "compare" else ({clicked: 0.1},)
    says = (
        r"^two runs have no query in common \(run 'a' has 0, 2, 4 \.\.\.; run 'b' has 1, 3, 5 \.\.\.\); write their ids"
    )
    with pytest.raises(rf.InvalidData, match=says) as error:
        getattr(ranker, verb)(*asks, run="arm", baseline="a", **options)
    assert "missing" not in str(error.value)  # counting 0 for the other arm's users: 0.125 and 0.375
    assert str(error.value).endswith("df.rank.compare_groups(..., by='arm')")
    assert ranker.compare_groups(clicked, by="arm").table["difference"].to_list() == [0.75 - 0.25]


def test_runs_with_hardly_a_query_in_common_are_two_groups_too_unless_a_rule_is_given() -> None:
    def shared(n: int) -> Any:
        queries = {"a": range(20), "b": range(20 - n, 40 - n)}
        rows = [(q, "x", run, 1.0, 1) for run, of_run in queries.items() for q in of_run]
        return pl.DataFrame(rows, ["query_id", "doc_id", "system", "score", "label"], orient="row").rank.on()

    with pytest.raises(rf.InvalidData, match="two runs have 1 of 39 queries in common"):
        shared(1).compare("ndcg@1", run="system")
    with pytest.raises(rf.InvalidData, match="lacks 18 of 38 queries that another run has"):  # a tenth of 20
        shared(2).compare("ndcg@1", run="system")
    with pytest.warns(rf.RankframeWarning, match="every row has a score"):
        assert shared(1).compare("ndcg@1", run="system", missing="drop").table["n_queries"].to_list() == [1]


def test_a_query_without_scores_is_one_where_nothing_was_retrieved() -> None:
    assert DF.rank.compare("map", runs=RUNS).per_query.filter(query_id="q3", run="odd")["map"].item() == 0.0


def test_queries_without_a_value_do_not_count() -> None:
    df = DF.with_columns(label=pl.when(pl.col("query_id") != "q5").then("label").otherwise(0))
    for test in ("permutation", "t", "bootstrap", "tukey"):
        found = df.rank.on(no_relevant="null").compare("map", runs=RUNS, test=test, resamples=200)  # type: ignore[arg-type]
        assert found.table["n_queries"].to_list() == [39] * 3
        without = df.filter(pl.col("query_id") != "q5").rank.compare("map", runs=RUNS, test=test, resamples=200)  # type: ignore[arg-type]
        columns = ["mean", "difference", "effect_size", *([] if test in ("permutation", "bootstrap") else ["p_value"])]
        assert_frame_equal(found.table.select(columns), without.table.select(columns))


def test_queries_weigh_what_their_column_says() -> None:
    found = DF.rank.compare("map", runs=["old", "new"], weights="asked").table.row(0, named=True)
    asked = DF.group_by("query_id", maintain_order=True).agg(pl.col("asked").first())["asked"].to_numpy()
    a, b = values("old", "map"), values("new", "map")
    assert found["baseline_mean"] == pytest.approx(np.average(a, weights=asked))
    assert found["mean"] == pytest.approx(np.average(b, weights=asked))
    assert found["difference"] == pytest.approx(np.average(b - a, weights=asked))
    assert found["ci_low"] < found["difference"] < found["ci_high"]


def test_a_metric_of_geometric_means_is_compared_by_logarithms() -> None:
    found = DF.rank.compare("gm_map", "map", runs=["old", "new"], test="t").table
    a, b = values("old", "gm_map"), values("new", "gm_map")
    row = found.row(0, named=True)
    assert row["baseline_mean"] == pytest.approx(np.exp(np.log(a).mean()))
    assert row["mean"] == pytest.approx(np.exp(np.log(b).mean()))
    assert row["difference"] == pytest.approx(np.exp(np.log(b).mean()) - np.exp(np.log(a).mean()))
    of_logarithms = scipy_stats.ttest_rel(np.log(b), np.log(a))
    assert row["p_value"] == pytest.approx(of_logarithms.pvalue)
    root = (row["baseline_mean"] * row["mean"]) ** 0.5
    ends = [root * (np.exp(x / 2) - np.exp(-x / 2)) for x in of_logarithms.confidence_interval(0.95)]
    assert (row["ci_low"], row["ci_high"]) == pytest.approx(tuple(ends))
    drawn = np.random.default_rng(0).integers(0, 40, (4000, 40))
    means = np.exp(np.log(b)[drawn].mean(axis=1)) - np.exp(np.log(a)[drawn].mean(axis=1))
    wanted = np.quantile(means, [0.025, 0.975])
    assert (row["ci_low"], row["ci_high"]) == pytest.approx(tuple(wanted), abs=0.2 * np.ptp(wanted))
    arithmetic = DF.rank.compare("map", runs=["old", "new"], test="t").table
    assert_frame_equal(found[1:].drop("p_adjusted"), arithmetic.drop("p_adjusted"))


def test_a_value_of_0_leaves_a_geometric_mean_without_a_test() -> None:
    @rf.metric(summary="geometric mean")
    def first_hit(r: rf.Ranking) -> pl.Expr:
        return r.total(r.first_relevant, over=r.rank)

    found = [
        DF.rank.compare("first_hit", runs=["old", "odd"], test=test, resamples=40).table.row(0, named=True)  # type: ignore[arg-type]
        for test in ("permutation", "t", "bootstrap", "tukey")
    ]
    rf.unregister(first_hit)
    for row in found:
        assert (row["mean"], row["n_queries"]) == (0.0, 40)
        assert row["p_value"] is row["ci_low"] is row["difference"] is row["effect_size"] is None


@pytest.mark.filterwarnings("ignore:documents with higher labels stand lower:rankframe.RankframeWarning")
def test_the_better_run_wins_where_less_is_better() -> None:
    better = DF.with_columns(good=pl.col("label"), bad=-pl.col("label"))
    found = better.rank.compare("average_relevance_position", "map", runs=["bad", "good"]).table
    assert found["difference"][0] < 0 < found["difference"][1]
    assert found["wins"][0] == 40
    assert found["losses"].to_list() == [0, 0]


def test_own_metrics_conventions_and_subtopics_are_compared() -> None:
    @rf.metric()
    def top(r: rf.Ranking) -> pl.Expr:
        return r.total(r.relevant, 1)

    mine, theirs = (DF.rank.compare(x, runs=["old", "new"], test="t").table for x in (top, "precision@1"))
    rf.unregister(top)
    assert mine["p_value"].item() == theirs["p_value"].item()
    found = DF.rank.on(convention="lightgbm").compare("ndcg@5", runs=["old", "new"]).per_query
    wanted = DF.rank.on(convention="lightgbm", score="new").evaluate("ndcg@5")
    assert found.filter(run="new")["ndcg@5"].to_list() == wanted["ndcg@5"].to_list()
    topics = DF.with_columns(subtopic=pl.lit("s")).rank.on(subtopic="subtopic").compare("strec@1", runs=["old", "new"])
    assert topics.per_query.filter(run="new")["subtopic_recall@1"].to_list() == values("new", "precision@1").tolist()


def test_rounding_makes_no_difference() -> None:
    @rf.metric()
    def nearly(r: rf.Ranking) -> pl.Expr:
        return r.total(r.relevant * 0.1 + r.rank * 1e-16, 1)

    df = pl.DataFrame({"query_id": [1, 1], "doc_id": ["a", "b"], "label": [1, 1], "x": [2, 1], "y": [1, 2]})
    found = df.rank.compare("nearly", runs=["x", "y"]).table
    rf.unregister(nearly)
    assert found.select("ties", "difference", "p_value", "effect_size").row(0) == (1, 0.0, 1.0, None)


def test_the_settings_say_how_it_was_done() -> None:
    few = DF.filter(pl.col("query_id").is_in(["q0", "q1", "q2"]))
    found = few.rank.on(relevant=2).compare("map", runs=["old", "new"], seed=4)
    settings = {name: found.settings[name] for name in ("runs", "test", "correction", "resamples", "seed", "missing")}
    assert settings == {
        "runs": ["old", "new"],
        "test": "auto",
        "correction": "holm",
        "resamples": 10_000,
        "seed": 4,
        "missing": "error",
    }
    assert found.settings["enumerated"] == 0
    assert found.settings["policies"]["relevant"] == 2
    assert found.settings["policies"]["doc"] == "doc_id"
    assert found.settings["versions"]["polars"] == pl.__version__
    assert "\np by the bounded interval, over 3 queries." in repr(found)


@each(
    ("options", "message"),
    [
        ({}, "name the runs"),
        ({"runs": ["old", "new"], "run": "day"}, "not both"),
        ({"runs": ["old", "old"]}, "names a column twice"),
        ({"runs": ["old"]}, "there is one run to compare, 'old'"),
        ({"runs": ["old", "new"], "baseline": "odd"}, "baseline='odd' is none of the runs, which are old, new"),
        ({"runs": ["old", "new"], "test": "wilcoxon"}, "test='wilcoxon': write one of 'auto', 'permutation'"),
        (
            {"runs": ["old", "new"], "correction": "bonferroni"},
            "correction='bonferroni' is not computed: .*; write correction='holm'",
        ),
        ({"runs": ["old", "new"], "family": "run"}, "family='run': write one of 'all', 'metric'"),
        ({"runs": ["old", "new"], "missing": "mean"}, "missing='mean': write one of 'error'"),
        ({"runs": ["old", "new"], "ci": 95}, "ci=95(\\.0)?: write a number between 0 and 1"),
        ({"runs": ["old", "new"], "interval": "normal"}, "interval='normal': write one of 'auto'"),
        ({"runs": ["old", "new"], "resamples": 0}, "resamples=0: write a whole number from 1 "),
        ({"runs": ["old", "new"], "resamples": 38}, "resamples=38: write a whole number from 39 on"),
        ({"runs": ["old", "new"], "seed": -1}, "seed=-1: write a whole number from 0 on"),
        ({"runs": ["old", "new"], "seed": True}, "seed=True"),
        ({"run": "query_id"}, "is the only query column"),
        ({"runs": "old"}, "runs='old': write a list of columns' names"),
    ],
)
def test_what_cannot_be_compared_says_why(options: Any, message: str) -> None:
    with pytest.raises(rf.InvalidOption, match=message):
        DF.rank.compare("map", **options)


def test_tables_that_cannot_be_compared_say_why() -> None:
    with pytest.raises(rf.MissingColumn, match=r"no column 'nwe' for runs.*Did you mean 'new'"):
        DF.rank.compare("map", runs=["old", "nwe"])
    with pytest.raises(rf.MissingColumn, match="no column 'sytem' for run"):
        LONG.rank.compare("map", run="sytem")
    nameless = LONG.with_columns(system=pl.lit(None))
    with pytest.raises(
        rf.InvalidData, match=r"null on .* no run counts what it missed.* df.rank.judge\(qrels, run='system'\)"
    ):
        nameless.rank.compare("map", run="system")
    with pytest.raises(rf.InvalidData, match=r"is null on (\d+) of \1; name the run there, too"):
        nameless.drop_nulls("score").rank.compare("map", run="system")
    with pytest.raises(rf.InvalidOption, match="no row"):
        LONG.clear().rank.compare("map", run="system")
    with pytest.raises(rf.InvalidOption, match="two columns"):
        DF.rank.on(unjudged="bounds").compare("map", runs=RUNS)
    with pytest.raises(rf.InvalidOption, match="second column 'run'"):
        DF.rename({"day": "run"}).rank.compare("map", runs=RUNS, by="run")
    with pytest.raises(rf.InvalidOption, match="by='query_id' tells queries apart; name a column that several"):
        DF.rank.compare("map", runs=RUNS, by="query_id")
    with pytest.raises(rf.InvalidOption, match="second column 'mean'"):
        DF.rename({"day": "mean"}).rank.summarize("map", by="mean")
    with pytest.raises(rf.InvalidData, match="several values of 'label'"):
        DF.rank.compare("map", runs=RUNS, by="label")
    with pytest.raises(rf.InvalidData, match="holds NaN"):
        DF.with_columns(old=float("nan")).rank.compare("map", runs=RUNS)
    with pytest.raises(rf.InvalidOption, match="no metric given"):
        DF.rank.compare(runs=RUNS)


def test_a_table_without_queries_has_no_figures() -> None:
    found = DF.clear().rank.compare("map", runs=["old", "new"])
    assert found.table.select("mean", "p_value", "n_queries").rows() == [(None, None, 0)]
    assert DF.clear().rank.compare("map", runs=["old", "new"], by="day").table.is_empty()


@each("least", [-0.5, 5])
def test_a_bounded_interval_depends_on_the_width_of_the_bounds_not_on_their_place(least: float) -> None:
    @rf.metric(bounds=(least, least + 1))
    def placed(r: rf.Ranking, k: int | None = None) -> pl.Expr:
        return r.total(r.relevant, k) / 3 + least

    options: Any = {"runs": ["old", "new"], "interval": "bounded", "ci": 0.9}
    ends = ["difference", "ci_low", "ci_high"]
    try:
        (found, expected) = (DF.rank.compare(x, **options).table for x in ("placed@3", "precision@3"))
    finally:
        rf.unregister(placed)
    assert found.select(ends).row(0) == pytest.approx(expected.select(ends).row(0))


def test_more_than_eight_runs_are_ranked_by_the_first_metric() -> None:
    """By hits at 1 run 0 is the best; by recall at 2 it has none of two relevant documents more than the others."""
    docs = [f"d{i}" for i in range(12)]
    runs = {f"r{i}": [1.0 if doc == f"d{i}" else 0.0 for doc in docs] for i in range(9)}
    label = [9 - i if i < 9 else 0 for i in range(12)]
    df = pl.DataFrame(
        {
            "query_id": ["q"] * 12 + ["p"] * 12,
            "doc_id": docs * 2,
            "label": label * 2,
            **{n: x * 2 for n, x in runs.items()},
        }
    )
    found = df.rank.compare("mean_label@1", "fall_out@2", runs=[*runs], test="t", interval="t")
    ranking = found.shown("text")[1]
    assert [row[0].text for row in ranking.rows] == [f"r{i}" for i in range(9)]


def test_p_values_of_tukey_are_not_counted_as_exact() -> None:
    df = pl.DataFrame({"query_id": [1, 2], "doc_id": ["a"] * 2, "label": [1, 1], "x": [1, 1], "y": [1, 2], "z": [2, 1]})
    assert df.rank.compare("rr", runs=["x", "y", "z"], test="tukey").settings["enumerated"] == 0


@each("options", [{}, {"test": "t"}, {"test": "tukey"}, {"interval": "bca", "baseline": "old"}])
def test_without_a_confidence_there_is_no_interval_and_all_else_is_the_same(options: Any) -> None:
    given: Any = {"runs": RUNS, "resamples": 199, **options}
    found, wanted = (DF.rank.compare("map", **given, ci=ci) for ci in (None, 0.95))
    none = ["ci_low", "ci_high", "interval"]
    assert_frame_equal(found.table.drop(none), wanted.table.drop(none))
    assert found.table.select(none).null_count().row(0) == (found.table.height,) * 3
    assert_frame_equal(found.ranks.drop("rank_low", "rank_high"), wanted.ranks.drop("rank_low", "rank_high"))
    assert found.ranks["rank_low"].null_count() == found.ranks["rank_high"].null_count() == 3
    assert "[" not in str(found)
    with pytest.raises(rf.InvalidOption, match=r"test='sequential' needs an interval; write ci=0\.95"):
        DF.rank.compare("map", runs=RUNS, test="sequential", ci=None)
