"""The ranks of compared runs and the groups that the test cannot tell apart; by hand, or by NumPy over the tests."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rankframe as rf
from rankframe._command import main
from tests.support.each import each
from tests.support.runs import DF, LONG, RUNS, table, values

pytestmark = pytest.mark.filterwarnings(
    "ignore:every row has a score and a label", "ignore:documents with higher labels"
)

QUERIES = 12
# Of three documents the first is relevant: its rank is 1 in a and b, 2 in c, 3 in d.
STEPS = pl.DataFrame(
    {
        "query_id": np.repeat(range(QUERIES), 3),
        "doc_id": list("xyz") * QUERIES,
        "label": [1, 0, 0] * QUERIES,
        "a": [3, 2, 1] * QUERIES,
        "b": [3, 1, 2] * QUERIES,
        "c": [2, 3, 1] * QUERIES,
        "d": [1, 2, 3] * QUERIES,
    }
)
FOUR = ["c", "a", "d", "b"]
FLIPS: Any = {"test": "permutation"}
COLUMNS = ["metric", "run", "mean", "rank", "rank_low", "rank_high", "beats", "beaten_by", "group"]


def test_equal_runs_share_a_rank_and_a_group_and_the_interval_of_their_ranks() -> None:
    found = STEPS.rank.compare("rr", runs=FOUR, resamples=99, **FLIPS).ranks
    assert found.columns == COLUMNS
    third = pytest.approx(1 / 3)
    assert found.drop("metric").rows() == [
        ("a", 1.0, 1, 1, 2, 2, 0, 1),
        ("b", 1.0, 1, 1, 2, 2, 0, 1),
        ("c", 0.5, 3, 3, 3, 1, 2, 2),
        ("d", third, 4, 4, 4, 0, 3, 3),
    ]


def test_where_less_is_better_the_least_mean_has_rank_1() -> None:
    found = STEPS.rank.compare("average_relevance_position", runs=FOUR, resamples=99).ranks
    assert found.select("run", "mean", "rank", "group").rows() == [
        ("a", 1.0, 1, 1),
        ("b", 1.0, 1, 1),
        ("c", 2.0, 3, 2),
        ("d", 3.0, 4, 3),
    ]


@each("options", [{}, {"test": "tukey"}, {"test": "sequential"}, {"correction": None}, {"ci": 0.8}])
def test_runs_are_counted_that_the_corrected_test_tells_apart(options: Any) -> None:
    df = table(200, seed=4).with_columns(
        odd=pl.col("odd") + 0.4 * pl.col("label"), best=3 * pl.col("label") + pl.col("new")
    )
    runs = [*RUNS, "best"]
    found = df.rank.compare("map", "rr", runs=runs, by="day", resamples=399, **options)
    level = 1 - options.get("ci", 0.95)
    better = found.table.filter(pl.col("p_adjusted") < level).with_columns(
        winner=pl.when(pl.col("difference") > 0).then("run").otherwise("baseline"),
        loser=pl.when(pl.col("difference") > 0).then("baseline").otherwise("run"),
    )
    assert len(better) > 2
    for row in found.ranks.rows(named=True):
        of = better.filter(day=row["day"], metric=row["metric"])
        beaten_by, beats = of.filter(loser=row["run"]), of.filter(winner=row["run"])
        assert (row["beats"], row["beaten_by"]) == (len(beats), len(beaten_by))
        assert row["rank_low"] <= row["beaten_by"] + 1
        assert row["rank_high"] >= len(runs) - row["beats"]
        assert row["rank_low"] <= row["rank"] <= row["rank_high"]
        groups = dict(found.ranks.filter(day=row["day"], metric=row["metric"]).select("run", "group").rows())
        assert row["group"] == 1 + max((groups[x] for x in beaten_by["winner"]), default=0)


@pytest.mark.filterwarnings("ignore:the interval of differences")
def test_a_run_that_another_beats_is_not_tied_for_the_top_although_judged_queries_rank_it_first() -> None:
    """Of the few queries that people judged run c has the best mean; with the model's labels of all, b is better."""
    rng = np.random.default_rng(32)
    label = rng.integers(0, 2, (300, 6))
    scores = {run: (worth * label + rng.normal(0, 1, (300, 6))).ravel() for run, worth in zip("abc", (1, 1.35, 1.2), strict=True)}  # fmt: skip
    df = pl.DataFrame(
        {"query_id": np.arange(300).repeat(6), "doc_id": [*"uvwxyz"] * 300, "model": label.ravel(), **scores}
    )
    few = df.with_columns(label=pl.when(pl.col("query_id") < 30).then("model"))
    found = few.rank.compare("map", runs=[*"abc"], model_labels="model")
    best = found.ranks.row(0, named=True)
    assert (best["run"], best["beaten_by"]) == ("c", 1)
    assert dict(found.ranks.select("run", "group").rows()) == {"c": 2, "b": 1, "a": 3}
    assert found.sentences()[0] == "`b` is alone at the top of 3 runs on map"


def test_the_interval_has_the_percentiles_of_ranks_in_resamples_of_the_queries() -> None:
    """With the draws of a summary: by the interval of a difference, whose ends share their sign, a run is always better."""
    df = table(30, seed=1)
    found = df.rank.compare("map", runs=RUNS, correction=None, ci=0.5, interval="percentile", resamples=999)
    means = {run: values(run, "map", df) for run in RUNS}
    rng = np.random.default_rng(0)
    drawn = np.array([[means[run][rows].mean() for run in RUNS] for rows in rng.integers(0, 30, (4_000, 30))])
    ranks = (-drawn).argsort(axis=1).argsort(axis=1) + 1
    for run, low, high, beats, beaten_by in found.ranks.select(
        "run", "rank_low", "rank_high", "beats", "beaten_by"
    ).rows():
        of_run = np.quantile(ranks[:, RUNS.index(run)], [0.25, 0.75])
        assert (low, high) == (min(of_run[0], 1 + beaten_by), max(of_run[1], 3 - beats))


def test_ranks_are_those_of_the_filtered_table_and_of_any_order_of_rows() -> None:
    found = DF.rank.compare("map", "rr", runs=RUNS, by="day", correction=None, resamples=99).ranks
    assert found.columns == ["day", *COLUMNS]
    assert found["metric"].to_list() == ["map"] * 6 + ["rr"] * 6
    for day in ("mo", "tu"):
        alone = DF.filter(day=day).rank.compare("map", "rr", runs=RUNS, correction=None, resamples=99).ranks
        assert_frame_equal(found.filter(day=day).drop("day"), alone)
    shuffled = DF.sample(fraction=1, shuffle=True, seed=3).rank.compare("map", runs=RUNS, resamples=99).ranks
    assert_frame_equal(shuffled, DF.rank.compare("map", runs=RUNS, resamples=99).ranks)


def test_ranks_come_in_the_callers_kind_of_frame() -> None:
    wanted = LONG.rank.compare("map", run="system", resamples=99).ranks
    lazy = LONG.lazy().rank.compare("map", run="system", resamples=99).ranks
    assert isinstance(lazy, pl.LazyFrame)
    assert_frame_equal(lazy.collect(), wanted)
    frame = LONG.to_pandas().rank.compare("map", run="system", resamples=99).ranks
    assert isinstance(frame, pd.DataFrame)
    assert_frame_equal(pl.from_pandas(frame), wanted, check_dtypes=False)


def test_with_a_baseline_other_pairs_have_no_test_and_runs_no_group() -> None:
    found = STEPS.rank.compare("rr", runs=FOUR, baseline="a", resamples=99, **FLIPS)
    assert found.ranks.select("run", "rank_low", "rank_high", "group").rows() == [
        ("a", 1, 2, None),  # beats c and d
        ("b", 1, 4, None),
        ("c", 2, 4, None),
        ("d", 2, 4, None),
    ]
    assert "tied" not in repr(found)


def test_only_queries_on_which_all_runs_have_a_value_count() -> None:
    """Of b, the mean is 0.6 where a has a value, and 0.3 over both queries."""
    df = pl.DataFrame({"query_id": [1, 2] * 2, "run": list("aabb"), "x": [None, 0.5, 0.0, 0.6]})
    ranks = df.rank.compare(rf.value("x", bounds=(0, 1)), run="run", resamples=99).ranks
    assert ranks.select("run", "mean", "rank").rows() == [("b", 0.6, 1), ("a", 0.5, 2)]


def test_without_a_value_there_is_no_rank() -> None:
    found = STEPS.with_columns(label=0).rank.on(no_relevant="null").compare("rr", runs=FOUR, resamples=99)
    assert found.ranks.select("mean", "rank", "rank_low", "rank_high", "group").unique().rows() == [(None,) * 5]
    assert "tied" not in repr(found)
    assert STEPS.clear().rank.compare("rr", runs=FOUR, resamples=99).ranks["rank"].to_list() == [None] * 4


def test_a_geometric_mean_of_0_is_the_last_rank() -> None:
    df = STEPS.with_columns(c=pl.when(pl.col("query_id") > 0).then("c"))
    found = df.rank.compare("gm_map", runs=["a", "c", "d"], resamples=99, **FLIPS).ranks
    assert found.select("run", "rank").rows()[0] == ("a", 1)
    assert found["mean"].to_list() == sorted(found["mean"].to_list(), reverse=True)


def test_the_first_sentence_names_the_runs_that_are_tied_for_the_top() -> None:
    found = STEPS.rank.compare("rr", runs=FOUR, resamples=99, **FLIPS)
    assert found.sentences()[0] == "2 of 4 runs are tied for the top on rr: `a`, `b`"
    assert "2 of 4 runs are tied for the top on rr: “a”, “b”" in found._repr_html_()
    alone = STEPS.rank.compare("rr", runs=["a", "c", "d"], resamples=99, **FLIPS)
    assert alone.sentences()[0] == "`a` is alone at the top of 3 runs on rr"
    of_two = STEPS.rank.compare("rr", "map", runs=["a", "c", "d"], resamples=99, **FLIPS)
    assert of_two.sentences()[0] == "At the top of 3 runs: `a` alone on rr, `a` alone on map"
    two = STEPS.rank.compare("rr", runs=["a", "b"], resamples=99, **FLIPS)
    assert "top" not in repr(two)
    many = STEPS.with_columns(pl.col("a").alias(f"a{i}") for i in range(5))
    runs = ["a", "d", *(f"a{i}" for i in range(5))]
    assert (
        many.rank.compare("rr", runs=runs, resamples=99, **FLIPS).sentences()[0]
        == "6 of 7 runs are tied for the top on rr"
    )
    metrics = STEPS.rank.compare("rr", "average_relevance_position", runs=FOUR, resamples=99, **FLIPS).sentences()[0]
    assert metrics == "At the top of 4 runs: 2 tied on rr, 2 tied on average_relevance_position (lower is better)"
    sliced = STEPS.with_columns(part=pl.col("query_id") % 6).rank.compare(
        "rr", runs=FOUR, by="part", resamples=99, **FLIPS
    )
    assert sliced.sentences()[0] == "At the top of 4 runs: 4 tied, over 6 metrics and slices"


def test_the_command_prints_ranks(tmp_path: Any, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.chdir(tmp_path)
    STEPS.write_parquet("steps.parquet")
    assert (
        main(
            [
                "compare",
                "steps.parquet",
                "--runs",
                "c,a,d,b",
                "-m",
                "rr",
                "--resamples",
                "99",
                "--test",
                "permutation",
                "--rank-intervals",
                "--format",
                "csv",
            ]
        )
        == 0
    )
    assert_frame_equal(
        pl.read_csv(capsys.readouterr().out.encode()),
        STEPS.rank.compare("rr", runs=FOUR, resamples=99, **FLIPS).ranks,
        check_dtypes=False,
    )
    main(
        [
            "compare",
            "steps.parquet",
            "--runs",
            "c,a,d,b",
            "-m",
            "rr",
            "--resamples",
            "99",
            "--test",
            "permutation",
            "--rank-intervals",
        ]
    )
    assert capsys.readouterr().out.splitlines()[0] == "2 of 4 runs are tied for the top on rr: `a`, `b`"


def test_without_p_values_there_are_no_groups() -> None:
    found = table(40).rank.compare("map", runs=RUNS, test="bayes", resamples=199)
    assert found.ranks["group"].to_list() == [None] * 3
    assert "tied for the top" not in repr(found)


@pytest.mark.filterwarnings("ignore:the interval of differences of rr is too short")
def test_with_labels_of_a_model_the_means_are_those_of_queries_that_people_judged() -> None:
    """The model calls the last document of each query relevant, which run d ranks first."""
    many = pl.concat([STEPS.with_columns(query_id=pl.col("query_id") + QUERIES * i) for i in range(6)])
    df = many.with_columns(model=1 - pl.col("label"), label=pl.when(pl.col("query_id") < 40).then("label"))
    df = df.with_columns(model=pl.when(pl.col("query_id") % 3 == 0).then("model").otherwise(1 - pl.col("model")))
    found = df.rank.compare("rr", runs=FOUR, model_labels="model").ranks
    assert dict(found.select("run", "mean").rows()) == {"a": 1.0, "b": 1.0, "c": 0.5, "d": pytest.approx(1 / 3)}
