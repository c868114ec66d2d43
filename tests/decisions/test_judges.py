"""How far judges agree, by hand, by scikit-learn and by plain Python; and the order of the runs under each."""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from scipy.stats import kendalltau
from sklearn.metrics import cohen_kappa_score, recall_score

import rankframe as rf
from tests.support.each import each

DF = pl.DataFrame(
    {
        "query_id": [1, 1, 1, 2, 2, 2, 2, 3],
        "doc_id": [*"abcabcd", "a"],
        "score": [3.0, 2, 1, 4, 3, 2, None, 1],
        "people": [2, 1, 0, 0, 1, 0, 1, None],
        "llm": [2, 0, 0, 1, 1, 0, None, 1],
    }
)
"""Six documents have both labels: 2-2, 1-0, 0-0, 0-1, 1-1, 0-0."""


def of(found: Any, measure: str, judge: str | None = "people", other: str | None = "llm") -> Any:
    """The row of a measure of two judges."""
    same = pl.col("judge").eq_missing(pl.lit(judge)) & pl.col("other").eq_missing(pl.lit(other))
    return pl.DataFrame(found.table).filter(same, measure=measure).row(0, named=True)


def random_judges(seed: int, queries: int = 30, documents: int = 8) -> pl.DataFrame:
    """Three runs, labels of people, of a model that is often right, and of one that guesses."""
    rng = np.random.default_rng(seed)
    shape = queries, documents
    truth = rng.integers(0, 3, shape)
    model = np.where(rng.random(shape) < 0.6, truth, rng.integers(0, 3, shape))
    columns = {
        "query_id": np.arange(queries).repeat(documents),
        "doc_id": np.tile([f"d{i}" for i in range(documents)], queries),
        **{
            name: (truth + rng.normal(0, spread, shape)).ravel()
            for name, spread in (("a", 0.8), ("b", 1.0), ("c", 1.2))
        },
        "people": truth.ravel(),
        "llm": model.ravel(),
        "coin": rng.integers(0, 3, shape).ravel(),
    }
    return pl.DataFrame(columns)


def test_measures_of_six_documents_are_those_by_hand() -> None:
    found = DF.rank.collection.label_agreement("people", "llm", resamples=99)
    wanted = {
        "agreement": 4 / 6,
        "bias": 0 / 6,
        "sensitivity": 2 / 3,  # of a relevant one in 1, b and one in 2: two of three
        "specificity": 2 / 3,
        "relevant": 4 / 7,
        "relevant_corrected": (4 / 7 + 2 / 3 - 1) / (1 / 3),
    }
    for measure, value in wanted.items():
        row = of(found, measure)
        assert (row["n_documents"], row["n_queries"]) == (6, 2)
        assert row["value"] == pytest.approx(value), measure
    both = [(2, 2), (1, 0), (0, 0), (0, 1), (1, 1), (0, 0)]
    counts = {row[2:4]: row[4] for row in found.confusion.rows()}
    assert counts == {(a, b): both.count((a, b)) for a in (0, 1, 2) for b in (0, 1, 2)}


@each("seed", range(3))
def test_kappas_and_sensitivity_are_those_of_scikit_learn(seed: int) -> None:
    df = random_judges(seed)
    found = df.rank.collection.label_agreement("people", "llm", "coin", resamples=99)
    for one, other in combinations(("people", "llm", "coin"), 2):
        for measure, weights in (("kappa", None), ("kappa_linear", "linear"), ("kappa_quadratic", "quadratic")):
            row = of(found, measure, one, other)
            assert row["value"] == pytest.approx(cohen_kappa_score(df[one], df[other], weights=weights))
            assert row["ci_low"] < row["value"] < row["ci_high"]
        relevant = [df[name].to_numpy() >= 1 for name in (one, other)]
        assert of(found, "sensitivity", one, other)["value"] == pytest.approx(recall_score(*relevant))
        assert of(found, "specificity", one, other)["value"] == pytest.approx(recall_score(*relevant, pos_label=False))
        assert of(found, "bias", one, other)["value"] == pytest.approx((df[other] - df[one]).mean())
    assert of(found, "alpha", None, None)["n_documents"] == 240
    strict = df.rank.on(relevant=2).collection.label_agreement("people", "llm", resamples=99)
    assert of(strict, "relevant")["value"] == pytest.approx((df["llm"] == 2).mean())


def test_the_interval_is_that_of_resampled_queries() -> None:
    """Of two queries, one agrees on all its documents and one on none: a resample has 0, a half or 1."""
    df = pl.DataFrame({"query_id": [1, 1, 2, 2], "doc_id": [*"abab"], "people": [1, 0, 1, 0], "llm": [1, 0, 0, 1]})
    row = of(df.rank.collection.label_agreement("people", "llm"), "agreement")
    assert (row["value"], row["ci_low"], row["ci_high"]) == (0.5, 0, 1)
    one = of(df.filter(query_id=1).rank.collection.label_agreement("people", "llm"), "agreement")
    assert (one["value"], one["ci_low"], one["ci_high"]) == (1, None, None)


def test_equal_seeds_give_equal_intervals_for_any_order_of_the_rows() -> None:
    df, options = random_judges(7), {"runs": ["a", "b", "c"], "metric": "map", "resamples": 99}
    wanted = df.rank.collection.label_agreement("people", "llm", "coin", **options)
    found = df.sample(fraction=1, shuffle=True, seed=1).rank.collection.label_agreement(
        "people", "llm", "coin", **options
    )
    for name in ("table", "bias"):
        assert_frame_equal(getattr(found, name), getattr(wanted, name))


def test_judges_as_columns_tables_and_rows_give_the_same() -> None:
    wanted = DF.rank.collection.label_agreement("people", "llm", resamples=99)
    people, llm = (DF.select("query_id", "doc_id", label=name).drop_nulls() for name in ("people", "llm"))
    tables = people.rank.collection.label_agreement(tables={"people": people, "llm": llm}, resamples=99)
    rows = pl.concat([x.with_columns(who=pl.lit(name)) for name, x in (("people", people), ("llm", llm))])
    by_row = rows.rank.collection.label_agreement(judge="who", resamples=99)
    for found in (tables, by_row):
        assert_frame_equal(found.table, wanted.table)
        assert_frame_equal(found.confusion, wanted.confusion)
        assert found.bias.height == found.runs.height == 0
    lazy = people.lazy()
    assert_frame_equal(
        lazy.rank.collection.label_agreement(tables={"people": lazy, "llm": llm.lazy()}, resamples=99).table.collect(),
        wanted.table,
    )
    frame = people.to_pandas()
    of_pandas = frame.rank.collection.label_agreement(tables={"people": frame, "llm": llm.to_pandas()}, resamples=99)
    assert isinstance(of_pandas.table, pd.DataFrame)
    assert of_pandas.table["value"].tolist() == pytest.approx(wanted.table["value"].to_list())


def test_labels_that_are_null_or_negative_are_none_and_types_do_not_matter() -> None:
    wanted = DF.rank.collection.label_agreement("people", "llm", resamples=99).table
    below = DF.with_columns(pl.col("people").fill_null(-1), pl.col("llm").cast(pl.Float64).fill_null(-2.0))
    assert_frame_equal(below.rank.collection.label_agreement("people", "llm", resamples=99).table, wanted)


def test_bias_is_by_run_and_part_of_the_ranking() -> None:
    found = DF.rank.collection.label_agreement("people", "llm", resamples=99).bias
    rows = {row["ranks"]: (row["run"], row["bias"], row["n_documents"]) for row in found.iter_rows(named=True)}
    assert rows == {  # ranks 1: 2-2 and 0-1; ranks 2 and 3: 1-0, 0-0, 1-1, 0-0
        "1": ("score", 0.5, 2),
        "2-5": ("score", -0.25, 4),
        "all": ("score", 0, 6),
    }
    runs = DF.with_columns(other=-pl.col("score")).rank.collection.label_agreement(
        "people", "llm", runs=["score", "other"], metric="rr", resamples=99
    )
    turned = runs.bias.filter(run="other", ranks="1")
    assert turned["bias"].item() == 0  # 0-0 and 0-0
    long = DF.rename({"score": "s"}).with_columns(a=pl.col("s"), b=-pl.col("s")).drop("s")
    long = long.unpivot(
        ["a", "b"], index=["query_id", "doc_id", "people", "llm"], variable_name="run", value_name="score"
    )
    by_column = long.rank.collection.label_agreement("people", "llm", run="run", metric="rr", resamples=99)
    assert by_column.bias["bias"].to_list() == runs.bias["bias"].to_list()
    assert_frame_equal(by_column.table, runs.table)


@each("seed", range(3))
def test_the_order_of_the_runs_is_that_of_their_means_under_each_judge(seed: int) -> None:
    df, names = random_judges(seed), ["a", "b", "c"]
    found = df.rank.collection.label_agreement("people", "coin", runs=names, metric="map", resamples=199)
    means = {
        judge: [df.rank.on(score=run, label=judge).mean("map")["map"].item() for run in names]
        for judge in ("people", "coin")
    }
    assert found.runs["mean"].to_list() == pytest.approx([*means["people"], *means["coin"]])
    row = of(found, "kendall_tau", "people", "coin")
    assert row["value"] == pytest.approx(kendalltau(means["people"], means["coin"]).statistic)
    assert (row["n_documents"], row["n_queries"]) == (None, 30)
    assert row["ci_low"] <= row["value"] <= row["ci_high"]
    wanted = []
    for i, j in combinations(range(3), 2):
        gains = [means[judge][j] - means[judge][i] for judge in ("people", "coin")]
        if gains[0] * gains[1] < 0:
            wanted.append((names[i], names[j], *gains))
    assert found.flips.select("baseline", "run").rows() == [row[:2] for row in wanted]
    assert found.flips["difference"].to_list() == pytest.approx([row[2] for row in wanted])
    assert found.flips["other_difference"].to_list() == pytest.approx([row[3] for row in wanted])
    assert f"{len(wanted)} pairs of runs change their order" in found.sentences()[-1]


def test_runs_with_equal_means_do_not_flip() -> None:
    df = random_judges(0).with_columns(b="a")
    found = df.rank.collection.label_agreement("people", "coin", runs=["a", "b"], resamples=99)
    assert found.flips.height == 0
    assert of(found, "kendall_tau", "people", "coin")["value"] is None


def test_means_that_differ_by_rounding_errors_only_are_tied() -> None:
    """The relevant document of each query has the ranks 1, 3, 7, 6, 5 in run a, and the same in another order in run b."""
    ranks = {"a": [1, 3, 7, 6, 5], "b": [3, 7, 1, 6, 5]}
    sums = [sum(1 / rank for rank in of) for of in ranks.values()]
    assert sums[0] != sums[1]
    docs = pl.DataFrame({"query_id": np.arange(5).repeat(8), "doc_id": [*range(8)] * 5})
    docs = docs.with_columns(people=(pl.col("doc_id") == 0).cast(int), llm=(pl.col("doc_id") == 6).cast(int))
    for run, places in ranks.items():
        orders = [[*range(1, rank), 0, *range(rank, 8)] for rank in places]
        docs = docs.with_columns(pl.Series(run, [-order.index(doc) for order in orders for doc in range(8)]))
    found = docs.rank.collection.label_agreement("people", "llm", metric="rr", runs=["a", "b"], resamples=99)
    assert found.runs["mean"].to_list()[:2] == pytest.approx([sums[0] / 5] * 2)
    assert found.flips.height == 0
    assert of(found, "kendall_tau")["value"] is None


def test_the_order_is_on_queries_that_every_judge_judged() -> None:
    df = random_judges(0).with_columns(people=pl.when(pl.col("query_id") < 20).then("people"))
    found = df.rank.collection.label_agreement("people", "llm", runs=["a", "b"], resamples=99)
    assert found.runs["n_queries"].to_list() == [20] * 4
    nothing = df.with_columns(people=pl.lit(None, pl.Int64)).rank.collection.label_agreement(
        "people", "llm", runs=["a", "b"], resamples=99
    )
    assert nothing.runs.height == nothing.flips.height == 0
    assert nothing.sentences() == ["No document has labels of two judges"]
    assert of(nothing, "kappa")["value"] is None


def test_queries_without_a_value_do_not_count_in_the_order() -> None:
    df = random_judges(1).with_columns(people=pl.when(pl.col("query_id") < 5).then(0).otherwise("people"))
    found = df.rank.on(no_relevant="null").collection.label_agreement(
        "people", "llm", runs=["a", "b"], metric="rr", resamples=99
    )
    assert {*found.runs["n_queries"].to_list()} == {25}
    none = (
        df.with_columns(people=0)
        .rank.on(no_relevant="null")
        .collection.label_agreement("people", "llm", runs=["a", "b"], metric="rr", resamples=99)
    )
    assert none.runs["mean"].to_list() == [None] * 4
    assert of(none, "kendall_tau")["value"] is None


def test_without_documents_each_row_is_one() -> None:
    found = DF.drop("doc_id").rank.collection.label_agreement("people", "llm", resamples=99)
    assert_frame_equal(found.table, DF.rank.collection.label_agreement("people", "llm", resamples=99).table)


def test_an_empty_table_has_rows_of_nulls() -> None:
    found = DF.clear().rank.collection.label_agreement("people", "llm", resamples=99)
    assert {*found.table["value"].to_list()} == {None}
    assert {*found.table["n_documents"].to_list()} == {0}
    three = DF.clear().with_columns(x="llm").rank.collection.label_agreement("people", "llm", "x", resamples=99)
    assert of(three, "alpha", None, None)["value"] is None


def test_the_result_shows_measures_bias_and_flips() -> None:
    df = random_judges(2)
    found = df.rank.collection.label_agreement("people", "llm", "coin", runs=["a", "b", "c"], resamples=99)
    text = repr(found)
    assert text.count("Labels of `coin` against those of `people`: kappa ") == 1
    assert "judge   other  measure" in text
    assert "bias: the label of the other less that of the first. Intervals of 95%" in text
    mean = (df["llm"] - df["people"]).mean()
    assert f", mean difference {mean:+.2f} [" in text
    assert "all     all    alpha" in text
    assert found.to_markdown().split()[1:6:2] == ["judge", "other", "measure"]
    assert found.settings["judges"] == ["people", "llm", "coin"]
    assert found.settings["runs"] == ["a", "b", "c"]
    assert ("Pairs of runs in another order" in text) == bool(found.flips.height)
    turned = df.with_columns(llm=2 - pl.col("people")).rank.collection.label_agreement(
        "people", "llm", runs=["a", "c"], resamples=99
    )
    assert turned.flips.height == 1
    assert "Pairs of runs in another order" in repr(turned)
    assert "2-5" in repr(turned)


@each(
    ("table", "call", "message"),
    [
        (DF, ("people",), "label_agreement compares two columns of labels or more"),
        (DF, ("people", "people"), "label_agreement compares two columns of labels or more"),
        (DF, ("people", "gpt"), "no column 'gpt' for label"),
        (DF.with_columns(llm=pl.lit("yes")), ("people", "llm"), "'llm' for label holds String, not numbers"),
        (DF.with_columns(llm=math.nan), ("people", "llm"), "column 'llm' holds a label that is NaN or infinite"),
        (DF.rename({"query_id": "qid"}), ("people", "llm"), "no column 'query_id' for query"),
        (
            pl.concat([DF, DF.with_columns(pl.col("llm") + 1)]),
            ("people", "llm"),
            "llm gives 7 documents several labels, as 1 a",
        ),
    ],
)
def test_what_is_no_comparison_of_judges_is_refused(table: pl.DataFrame, call: Any, message: str) -> None:
    with pytest.raises(rf.RankframeError, match=message):
        table.rank.collection.label_agreement(*call)


def test_repeated_equal_labels_count_once_and_scores_are_no_grades() -> None:
    assert_frame_equal(
        pl.concat([DF, DF]).drop("score").rank.collection.label_agreement("people", "llm", resamples=99).table,
        DF.drop("score").rank.collection.label_agreement("people", "llm", resamples=99).table,
    )
    many = pl.DataFrame({"query_id": range(99), "doc_id": "a", "x": np.arange(99) / 7, "y": np.arange(99) / 7})
    with pytest.raises(rf.InvalidOption, match="judges gave 99 different labels, which are no grades"):
        many.rank.collection.label_agreement("x", "y")


@each(
    "options",
    [{"tables": {"a": DF}, "runs": ["score"]}, {"tables": {"a": DF}, "judge": "x"}, {"judge": "x", "run": "y"}],
)
def test_judges_are_named_in_one_way(options: Any) -> None:
    with pytest.raises(rf.InvalidOption, match="name them in one way"):
        DF.rank.collection.label_agreement(**options)
