"""Gates, their annotations, and how many queries it takes; expected figures by hand, by SciPy or by statsmodels."""

from __future__ import annotations

import math
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from scipy import stats as scipy_stats
from test_compare import DF, LONG, RUNS, values

import rankframe as rf
from rankframe.__main__ import main

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from statsmodels.stats.power import TTestPower

# The first of two documents is the relevant one; the new run turns the second query around: 1, 1 becomes 1, 1/2.
TINY = pl.DataFrame(
    {"query_id": [1, 1, 2, 2], "doc_id": list("abab"), "label": [1, 0, 1, 0], "market": ["a: b, 100%"] * 4}
)
TINY = TINY.with_columns(old=pl.Series([2.0, 1.0, 2.0, 1.0]), new=pl.Series([2.0, 1.0, 1.0, 2.0]))
TWO: Any = {"runs": ["old", "new"], "baseline": "old"}


def test_a_run_passes_where_the_bound_is_within_the_budget() -> None:
    a, b = values("old", "map"), values("odd", "map")
    bound = scipy_stats.ttest_rel(b, a, alternative="greater").confidence_interval(0.9).low
    for budget in (-bound + 1e-6, -bound - 1e-6):
        verdict = DF.rank.gate({"map": budget}, runs=["old", "odd"], baseline="old", confidence=0.9, method="t")
        assert bool(verdict) is verdict.passed is bool(budget > -bound)
        row = verdict.table.row(0, named=True)
        assert (row["bound"], row["difference"]) == pytest.approx((bound, (b - a).mean()))
        assert (row["mean"], row["budget"], row["passed"]) == (pytest.approx(b.mean()), budget, verdict.passed)
        assert verdict.failures.rows() == ([] if verdict else verdict.table.rows())


def test_worse_is_more_where_less_is_better() -> None:
    better = DF.with_columns(good=pl.col("label"), bad=-pl.col("label"))
    assert better.rank.gate({"arp": 0}, runs=["bad", "good"], baseline="bad")
    verdict = better.rank.gate({"arp": 0}, runs=["bad", "good"], baseline="good")
    assert not verdict
    assert verdict.table["bound"].item() > verdict.table["difference"].item() > 0


def test_every_metric_slice_and_run_has_to_pass() -> None:
    verdict = DF.rank.gate({"map": 1, "ndcg_cut.5,10": 0.0}, runs=RUNS, baseline="odd", by="day")
    assert verdict.table.columns[:4] == ["day", "metric", "baseline", "run"]
    assert verdict.table["metric"].unique(maintain_order=True).to_list() == ["map", "ndcg@5", "ndcg@10"]
    assert len(verdict.table) == 3 * 2 * 2
    assert verdict.table.filter(metric="map")["passed"].all()
    for day in ("mo", "tu"):
        alone = DF.filter(day=day).rank.gate({"map": 1, "ndcg_cut.5,10": 0.0}, runs=RUNS, baseline="odd")
        assert_frame_equal(verdict.table.filter(day=day).drop("day"), alone.table)


def test_too_few_queries_to_tell_are_no_pass_unless_nothing_changed() -> None:
    one = TINY.filter(query_id=2)
    assert one.rank.gate({"rr": 1}, **TWO).table.select("bound", "passed").row(0) == (None, False)
    assert "too few queries to tell" in repr(one.rank.gate({"rr": 1}, **TWO))
    assert TINY.filter(query_id=1).rank.gate({"rr": 0}, **TWO)
    nothing = TINY.clear().rank.gate({"rr": 1}, **TWO)
    assert not nothing
    assert "no difference against old" in repr(nothing)


def test_one_margin_for_all_metrics_is_the_gate_with_equal_budgets() -> None:
    @rf.metric()
    def top(r: rf.Ranking) -> pl.Expr:
        return r.total(r.relevant, 1)

    one = DF.rank.noninferior("map", top, margin=0.1, runs=["old", "new"], baseline="old", by="day")
    other = DF.rank.gate({"map": 0.1, "top": 0.1}, runs=["old", "new"], baseline="old", by="day")
    rf.unregister(top)
    assert_frame_equal(one.table, other.table)
    assert one.passed == other.passed


def test_the_queries_that_moved_most_come_with_their_documents() -> None:
    moved = TINY.rank.gate({"rr": 1, "map": 1}, **TWO, by="market").moved
    columns = ["query_id", "market", "metric", "baseline", "run", "difference", "doc_id", "label"]
    assert moved.columns == [*columns, "baseline_rank", "rank", "baseline_contribution", "contribution"]
    assert moved.drop("market").rows() == [
        (2, metric, "old", "new", -0.5, "a", 1, 1, 2, 1.0, 0.5) for metric in ("rr", "map")
    ]


@pytest.mark.parametrize("metric", ["ndcg@5", "map"])
def test_what_the_documents_contributed_makes_up_the_difference(metric: str) -> None:
    by_column = DF.rank.gate({metric: 1}, runs=RUNS, baseline="old", most_moved=4).moved
    by_run = LONG.rank.gate({metric: 1}, run="system", baseline="old", most_moved=4).moved
    assert_frame_equal(by_column, by_run)
    for run in ("new", "odd"):
        rows = by_column.filter(run=run)
        delta = dict(
            zip(DF["query_id"].unique(maintain_order=True), values(run, metric) - values("old", metric), strict=True)
        )
        most = sorted(delta, key=lambda query: (-abs(round(delta[query], 9)), query))[:4]
        assert rows["query_id"].unique(maintain_order=True).to_list() == most
        change = pl.col("contribution").fill_null(0) - pl.col("baseline_contribution").fill_null(0)
        sums = rows.group_by("query_id", "difference").agg(change.sum().alias("sum"))
        assert sums["sum"].to_list() == pytest.approx(sums["difference"].to_list())


def test_queries_without_an_explanation_have_a_row_of_nulls() -> None:
    for df, metric in ((DF, "gm_map"), (DF.drop("doc_id"), "map")):
        moved = df.rank.gate({metric: 1}, runs=["old", "new"], baseline="old", most_moved=3).moved
        assert len(moved) == 3
        assert (
            moved.select("label", "baseline_rank", "rank", "baseline_contribution", "contribution").null_count().row(0)
            == (3,) * 5
        )
    assert DF.rank.gate({"map": 1}, runs=["old", "new"], baseline="old", most_moved=0).moved.is_empty()


def test_lazy_and_pandas_frames_get_verdicts_of_their_own_kind() -> None:
    options: Any = {"runs": ["old", "new"], "baseline": "old", "by": "day"}
    wanted = DF.rank.gate({"map": 0.01}, **options)
    lazy = DF.lazy().rank.gate({"map": 0.01}, **options)
    frame = DF.to_pandas().rank.gate({"map": 0.01}, **options)
    assert repr(lazy) == repr(frame) == repr(wanted)
    for name in ("table", "failures", "moved"):
        assert_frame_equal(getattr(lazy, name).collect(), getattr(wanted, name))
        back = getattr(frame, name)
        back = pl.from_pandas(back.reset_index() if name == "moved" else back)
        assert_frame_equal(back, getattr(wanted, name), check_dtypes=False)
    assert wanted.settings["budgets"] == {"map": 0.01}
    one = TINY.filter(query_id=2).to_pandas().rank.gate({"rr": 1}, **TWO)
    assert "too few queries to tell" in repr(one)


def test_annotations_are_escaped_as_github_wants_it() -> None:
    verdict = TINY.rank.gate({"rr": 0.3}, **TWO, by="market")
    said = "-0.2500 against old, at worst -0.5000, beyond the budget of 0.3 (2 queries)"
    assert verdict.lines() == [f"FAILED: rr of new, market a: b, 100%: {said}"]
    assert verdict.lines("github") == [f"::error title=rr of new%2C market a%3A b%2C 100%25::{said}"]
    passed = TINY.rank.gate({"rr": 0.5}, **TWO).lines("github")
    assert passed == [
        "::notice title=rr of new::-0.2500 against old, at worst -0.5000, within the budget of 0.5 (2 queries)"
    ]
    with pytest.raises(rf.InvalidOption, match="format='gitlab'"):
        verdict.lines("gitlab")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("budgets", "options", "message"),
    [
        ({}, {}, "no metric given"),
        ({"map": -1}, {}, "the budget of 'map' is -1"),
        ({"map": "1%"}, {}, "the budget of 'map' is '1%'"),
        ({"map": 1}, {"confidence": 0.5}, "confidence=0.5"),
        ({"map": 1}, {"most_moved": -1}, "most_moved=-1"),
        ({"map": 1}, {"most_moved": True}, "most_moved=True"),
    ],
)
def test_a_gate_that_means_nothing_says_why(budgets: Any, options: Any, message: str) -> None:
    with pytest.raises(rf.InvalidOption, match=message):
        TINY.rank.gate(budgets, **TWO, **options)


def test_a_name_that_moved_has_too_is_refused() -> None:
    with pytest.raises(rf.InvalidOption, match="second column 'contribution'"):
        TINY.rename({"doc_id": "contribution"}).rank.on(doc="contribution").gate({"rr": 1}, **TWO)


def test_the_labels_themselves_may_be_a_run() -> None:
    assert TINY.rank.on(score="label").explain("rr").columns.count("label") == 1
    verdict = TINY.rank.gate({"rr": 0}, runs=["old", "label"], baseline="old")
    assert bool(verdict)
    assert verdict.table["mean"].to_list() == [1.0]


def test_queries_needed_are_those_of_statsmodels() -> None:
    found = DF.rank.power("map", "rr", difference=[0.02, 0.1], power=0.9, alpha=0.01, runs=["old", "new"], by="day")
    assert found.columns[:5] == ["day", "metric", "baseline", "run", "difference"]
    assert len(found) == 2 * 2 * 2
    for row in found.rows(named=True):
        part = DF.filter(day=row["day"])
        d = values("new", row["metric"], part) - values("old", row["metric"], part)
        std = np.std(d, ddof=1)
        assert (row["std"], row["n_queries"]) == (pytest.approx(std), len(d))
        effect = row["difference"] / std
        assert row["power"] == pytest.approx(TTestPower().power(effect, len(d), 0.01), rel=1e-6)
        assert row["queries_needed"] == math.ceil(TTestPower().solve_power(effect, alpha=0.01, power=0.9))


def test_where_nothing_differs_there_is_no_telling_how_many_queries_it_takes() -> None:
    same = TINY.with_columns(same="old").lazy().rank.power("rr", difference=0.1, runs=["old", "same"])
    assert isinstance(same, pl.LazyFrame)
    assert same.collect().select("std", "power", "queries_needed").row(0) == (0.0, None, None)
    frame = TINY.to_pandas().rank.power("rr", difference=0.1, runs=["old", "new"])
    assert frame["queries_needed"].tolist() == [
        math.ceil(TTestPower().solve_power(0.1 / 0.125**0.5, power=0.8, alpha=0.05))
    ]


@pytest.mark.parametrize(
    ("metric", "options", "message"),
    [
        ("map", {"difference": 0}, "difference=0: write"),
        ("map", {"difference": [0.1, None]}, "difference=None: write"),
        ("map", {"difference": 0.1, "power": 80}, "power=80: write a number between 0 and 1"),
        ("map", {"difference": 0.1, "alpha": 0}, "alpha=0: write"),
        ("gm_map", {"difference": 0.1}, "ask for the power of map"),
    ],
)
def test_power_that_means_nothing_says_why(metric: str, options: Any, message: str) -> None:
    with pytest.raises(rf.InvalidOption, match=message):
        DF.rank.power(metric, runs=["old", "new"], **options)


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    TINY.write_parquet("table.parquet")
    LONG.write_csv("long.csv")


GATE = ("gate", "table.parquet", "--runs", "old,new", "--baseline", "old", "--budget")


@pytest.mark.usefixtures("files")
def test_the_command_gate_exits_with_1_when_it_fails(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*GATE, "rr=0.5"]) == 0
    assert capsys.readouterr().out.startswith("passed: rr of new: -0.2500")
    assert main([*GATE, "rr=0.5", "--budget", "rbp(p=0.5)=0.01", "--format", "github"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("::notice title=rr of new::")
    assert lines[1].startswith("::error title=rbp(p=0.5) of new::")
    assert main([*GATE, "rr"]) == 2
    assert "write --budget ndcg@10=0.01" in capsys.readouterr().err


@pytest.mark.usefixtures("files")
def test_the_command_compare_prints_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--run", "system", "--baseline", "old", "-m", "map", "--by", "day", "--correction", "none"]
    assert main(["compare", "long.csv", *options, "--test", "t", "--format", "csv"]) == 0
    found = pl.read_csv(capsys.readouterr().out.encode())
    wanted = LONG.rank.compare("map", run="system", baseline="old", by="day", correction=None, test="t").table
    assert_frame_equal(found, wanted, check_dtypes=False)
    assert main(["compare", "table.parquet", "--runs", "old,new", "--ties", "order"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == ["metric", "ndcg@10", "map", "rr"]
    LONG.drop("label").write_csv("unlabelled.csv")
    assert main(["compare", "unlabelled.csv", "--run", "system"]) == 2
    assert "Say --qrels QRELS, or --label COLUMN if" in capsys.readouterr().err


def test_a_metric_has_one_budget() -> None:
    with pytest.raises(rf.InvalidOption, match="'RR' has two budgets, as 'rr' was given before"):
        TINY.rank.gate({"rr": 0.0, "RR": 0.9}, **TWO)
