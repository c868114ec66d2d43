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

import rankframe as rf
from rankframe._command import main
from tests.support.each import each
from tests.support.runs import DF, LONG, RUNS, table, values

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from statsmodels.stats.power import TTestPower

pytestmark = pytest.mark.filterwarnings(
    "ignore:every row has a score and a label", "ignore:documents with higher labels"
)
"""Tables here are made for their losses; `test_suspicions` has those that a gate warns of."""

# The first of two documents is the relevant one; the new run turns the second query around: 1, 1 becomes 1, 1/2.
TINY = pl.DataFrame(
    {"query_id": [1, 1, 2, 2], "doc_id": list("abab"), "label": [1, 0, 1, 0], "market": ["a: b, 100%"] * 4}
)
TINY = TINY.with_columns(old=pl.Series([2.0, 1.0, 2.0, 1.0]), new=pl.Series([2.0, 1.0, 1.0, 2.0]))
TWO: Any = {"runs": ["old", "new"], "baseline": "old"}


MANY = table(queries=60, seed=2)  # queries enough for every method


def differing(n: int, losses: int = 0) -> pl.DataFrame:
    """Queries of one document, relevant and first in both runs; the new run misses it on some."""
    new = pl.when(pl.col("query_id") >= losses).then(1.0)
    df = pl.DataFrame({"query_id": range(n)}).with_columns(doc_id=pl.lit("a"), label=pl.lit(1), old=pl.lit(1.0))
    return df.with_columns(new=new)


def test_the_printed_table_says_how_many_queries_are_needed_where_they_are_too_few() -> None:
    """Of 40 queries that change nothing, a budget of 0.1 takes 29 and one of 0.05 takes 59."""
    verdict = differing(40).rank.gate({"rr": 0.1, "map": 0.05}, **TWO)
    (grid,) = verdict.grids()
    cells = [(row[0].text, row[-2].text, row[-1].text) for row in grid.rows]
    assert cells == [("too few queries", "40", "59"), ("passed", "40", "")]
    failed = differing(80, losses=60).rank.gate({"rr": 0.1}, **TWO).grids()[0].rows[0]
    assert (failed[0].text, failed[-1].text) == ("failed", "")


def test_a_run_passes_where_the_bound_is_within_the_budget() -> None:
    a, b = values("old", "map", MANY), values("odd", "map", MANY)
    bound = scipy_stats.ttest_rel(b, a, alternative="greater").confidence_interval(0.9).low
    for budget in (-bound + 1e-6, -bound - 1e-6):
        verdict = MANY.rank.gate({"map": budget}, runs=["old", "odd"], baseline="old", confidence=0.9, interval="t")
        assert bool(verdict) is verdict.passed is bool(budget > -bound)
        row = verdict.table.row(0, named=True)
        assert (row["bound"], row["difference"]) == pytest.approx((bound, (b - a).mean()))
        assert (row["mean"], row["budget"], row["passed"]) == (pytest.approx(b.mean()), budget, verdict.passed)
        assert row["verdict"] == ("passed" if verdict else "failed")
        assert verdict.failures.rows() == ([] if verdict else verdict.table.rows())


def test_worse_is_more_where_less_is_better() -> None:
    better = DF.with_columns(good=pl.col("label"), bad=-pl.col("label"))
    assert better.rank.gate({"average_relevance_position": 0}, runs=["bad", "good"], baseline="bad")
    verdict = better.rank.gate({"average_relevance_position": 0}, runs=["bad", "good"], baseline="good")
    assert not verdict
    assert verdict.table["bound"].item() > verdict.table["difference"].item() > 0


def test_every_metric_slice_and_run_has_to_pass() -> None:
    verdict = DF.rank.gate({"map": 0.25, "ndcg_cut.5,10": 0.0}, runs=RUNS, baseline="odd", by="day")
    assert verdict.table.columns[:4] == ["day", "metric", "baseline", "run"]
    assert verdict.table["metric"].unique(maintain_order=True).to_list() == ["map", "ndcg@5", "ndcg@10"]
    assert len(verdict.table) == 3 * 2 * 2
    assert verdict.table.filter(metric="map")["passed"].all()
    for day in ("mo", "tu"):
        alone = DF.filter(day=day).rank.gate({"map": 0.25, "ndcg_cut.5,10": 0.0}, runs=RUNS, baseline="odd")
        assert_frame_equal(verdict.table.filter(day=day).drop("day"), alone.table)


@each("interval", ["bounded", "bca", "percentile", "t"])
@each("n", [2, 5, 20])
def test_few_queries_are_no_pass_though_nothing_changed_on_them(n: int, interval: Any) -> None:
    verdict = differing(n).rank.gate({"rr": 0.05, "ndcg@10": 0.01}, **TWO, interval=interval)
    assert not verdict
    assert verdict.table.select("difference", "verdict", "passed").unique().rows() == [(0.0, "too few queries", False)]
    assert len(verdict.failures) == 2


@each(("budget", "needed"), [(0.01, 299), (0.02, 149), (0.05, 59), (0.1, 29)])
def test_as_many_queries_are_needed_as_show_one_that_loses_all(budget: float, needed: int) -> None:
    """(1 - budget)^n, the chance that n queries show no loss, is 5% there: log 0.05 / log (1 - budget), rounded up."""
    verdict = differing(needed * 9 // 10).rank.gate({"rr": budget}, **TWO)
    assert verdict.table.select("verdict", "queries_needed").row(0) == ("too few queries", needed)
    assert f"a budget of {budget:g} takes {needed} or more" in repr(verdict)
    assert differing(needed * 11 // 10).rank.gate({"rr": budget}, **TWO)


@each(("n", "losses", "budget"), [(100, 0, 0.04), (100, 4, 0.08), (300, 5, 0.05)])
def test_the_bound_of_a_share_of_queries_lost_is_the_exact_one(n: int, losses: int, budget: float) -> None:
    row = differing(n, losses).rank.gate({"rr": budget}, **TWO).table.row(0, named=True)
    exact = scipy_stats.binomtest(losses, n, alternative="less").proportion_ci(0.95, method="exact").high
    assert row["bound"] == pytest.approx(-exact, rel=0.03)
    assert row["passed"] is (exact <= budget)


@pytest.mark.filterwarnings("ignore:every row has a score:rankframe.RankframeWarning")
def test_a_run_that_loses_rarely_but_all_passes_once_in_twenty_times() -> None:
    """150 experiments of 20 queries, one in ten of which is lost: their mean falls by the budget."""
    lost = pl.Series(np.random.default_rng(8).random(150 * 20) < 0.1)
    df = differing(150 * 20).with_columns(experiment=pl.col("query_id") // 20, new=pl.when(~lost).then(1.0))
    options: Any = {**TWO, "by": "experiment", "most_moved": 0, "resamples": 199}
    rate = df.rank.gate({"rr": 0.1}, **options).table["passed"].mean()
    assert rate <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 150)
    assert (
        df.rank.compare("rr", runs=["old", "new"], by="experiment", ci=0.9, interval="bca", resamples=199)
        .table.select((pl.col("ci_low") > -0.1).mean())
        .item()
        > 0.1
    )  # the bootstrap sees no loss where none was drawn


def test_many_queries_let_a_run_pass_that_changed_little() -> None:
    assert differing(400).rank.gate({"rr": 0.01, "ndcg@10": 0.01}, **TWO)
    assert differing(1000, 5).rank.gate({"rr": 0.02}, **TWO)


def test_few_queries_are_enough_to_pass_a_run_that_gains_and_to_fail_one_that_loses() -> None:
    """30 queries for a budget of 0.01, where 299 are needed of a run that changes nothing."""
    gains = differing(30, 20).rename({"old": "new", "new": "old"})
    assert gains.rank.gate({"rr": 0.01}, **TWO)
    verdict = differing(30, 20).rank.gate({"rr": 0.01}, **TWO)
    assert verdict.table["verdict"].item() == "failed"
    assert verdict.lines()[0].startswith("FAILED: rr of new: -0.6667 against old, at worst -0.8")


def test_a_metric_without_bounds_is_bounded_by_the_values_found() -> None:
    """From 0 to the 4 that are found: 0.4 are a tenth of it, which 29 queries show."""
    ranks = pl.DataFrame({"query_id": np.repeat(range(30), 4), "doc_id": list("abcd") * 30})
    ranks = ranks.with_columns(label=pl.Series([1, 0, 0, 0, 0, 0, 0, 1] * 15), old=pl.Series([4, 3, 2, 1] * 30))
    ranks = ranks.with_columns(new="old")
    row = ranks.rank.gate({"average_relevance_position": 0.4}, **TWO).table.row(0, named=True)
    assert (row["difference"], row["queries_needed"]) == (0.0, 29)
    assert row["bound"] == pytest.approx(4 * (1 - 0.05 ** (1 / 30)), rel=0.03)


def test_what_no_bound_is_known_of_is_no_pass() -> None:
    weightless = differing(60).with_columns(weight=pl.lit(0.0)).rank.gate({"rr": 0.1}, **TWO, weights="weight")
    assert not weightless
    assert "no bound known" in repr(weightless)


@each("interval", ["t", "bca", "percentile"])
def test_queries_whose_weights_differ_count_as_fewer(interval: Any) -> None:
    """60 queries that change nothing: with weights of 1 and 4 they are worth (30 + 120)^2 / (30 + 480) = 44 of equal weight."""
    df = MANY.with_columns(new=pl.col("old"), even=pl.lit(2.0), odd=1 + 3.0 * pl.col("query_id").rank("dense").mod(2))
    for weights, verdict in (("even", "passed"), ("odd", "too few queries")):
        table = df.rank.gate({"map": 0.1}, **TWO, interval=interval, weights=weights).table
        assert table.select("verdict", "n_queries", "queries_needed").row(0) == (verdict, 60, 50)


def test_a_gate_whose_looks_contradict_each_other_shows_that_no_bound_is_known() -> None:
    better = differing(100).with_columns(old=None)  # the new run alone finds the document
    worse = differing(500, losses=500).filter(pl.col("query_id") >= 100)
    state = better.rank.gate({"rr": 0.1}, **TWO, sequential=True).state
    with pytest.warns(rf.RankframeWarning, match="no mean of rr of new less old agrees with all looks"):
        verdict = worse.rank.gate({"rr": 0.1}, **TWO, sequential=state)
    assert not verdict
    assert "too few queries to tell: 500, and no bound known" in repr(verdict)


def test_too_few_queries_to_tell_are_no_pass() -> None:
    one = TINY.filter(query_id=2)
    assert one.rank.gate({"rr": 0.25}, **TWO).table.select("bound", "passed").row(0) == (None, False)
    assert "too few queries to tell: 1, and a budget of 0.25 takes 11 or more" in repr(
        one.rank.gate({"rr": 0.25}, **TWO)
    )
    assert not TINY.filter(query_id=1).rank.gate({"rr": 0}, **TWO)
    nothing = TINY.clear().rank.gate({"rr": 0.25}, **TWO)
    assert not nothing
    assert "no difference against old" in repr(nothing)


def test_without_a_baseline_the_first_run_is_the_one_to_replace() -> None:
    found = DF.rank.gate({"map": 0.1}, runs=RUNS)
    assert_frame_equal(found.table, DF.rank.gate({"map": 0.1}, runs=RUNS, baseline="old").table)
    assert found.settings["baseline"] == "old"
    assert DF.rank.gate("map", margin=0.1, runs=RUNS).table.equals(found.table)
    with pytest.raises(rf.InvalidOption, match="may replace: write baseline='base'"):
        LONG.rank.gate({"map": 0.1}, run="system")


def test_one_margin_for_all_metrics_is_the_gate_with_equal_budgets() -> None:
    @rf.metric()
    def top(r: rf.Ranking) -> pl.Expr:
        return r.total(r.relevant, 1)

    one = DF.rank.gate("map", top, margin=0.1, runs=["old", "new"], baseline="old", by="day")
    other = DF.rank.gate({"map": 0.1, "top": 0.1}, runs=["old", "new"], baseline="old", by="day")
    rf.unregister(top)
    assert_frame_equal(one.table, other.table)
    assert one.passed == other.passed


def test_the_queries_that_moved_most_come_with_their_documents() -> None:
    moved = TINY.rank.gate({"rr": 0.25, "map": 0.25}, **TWO, by="market").moved
    columns = ["query_id", "market", "metric", "baseline", "run", "difference", "doc_id", "label"]
    assert moved.columns == [*columns, "baseline_rank", "rank", "baseline_contribution", "contribution"]
    assert moved.drop("market").rows() == [
        (2, metric, "old", "new", -0.5, "a", 1, 1, 2, 1.0, 0.5) for metric in ("rr", "map")
    ]


@each("metric", ["ndcg@5", "map"])
def test_what_the_documents_contributed_makes_up_the_difference(metric: str) -> None:
    by_column = DF.rank.gate({metric: 0.25}, runs=RUNS, baseline="old", most_moved=4).moved
    by_run = LONG.rank.gate({metric: 0.25}, run="system", baseline="old", most_moved=4).moved
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
        moved = df.rank.gate({metric: 0.2}, runs=["old", "new"], baseline="old", most_moved=3).moved
        assert len(moved) == 3
        assert (
            moved.select("label", "baseline_rank", "rank", "baseline_contribution", "contribution").null_count().row(0)
            == (3,) * 5
        )
    assert DF.rank.gate({"map": 0.25}, runs=["old", "new"], baseline="old", most_moved=0).moved.is_empty()


def test_lazy_and_pandas_frames_get_verdicts_of_their_own_kind() -> None:
    options: Any = {"runs": ["old", "new"], "baseline": "old", "by": "day"}
    wanted = DF.rank.gate({"map": 0.01}, **options)
    lazy = DF.lazy().rank.gate({"map": 0.01}, **options)
    frame = DF.to_pandas().rank.gate({"map": 0.01}, **options)
    assert repr(frame) == repr(wanted)
    collect = ".table, .failures and .moved are LazyFrames; .table.collect() gives a DataFrame."
    assert repr(lazy) == f"{wanted!r}\n{collect}"
    for name in ("table", "failures", "moved"):
        assert_frame_equal(getattr(lazy, name).collect(), getattr(wanted, name))
        back = getattr(frame, name)
        back = pl.from_pandas(back.reset_index() if name == "moved" else back)
        assert_frame_equal(back, getattr(wanted, name), check_dtypes=False)
    assert wanted.settings["budgets"] == {"map": 0.01}
    one = TINY.filter(query_id=2).to_pandas().rank.gate({"rr": 0.25}, **TWO)
    assert "too few queries to tell" in repr(one)


def test_annotations_are_escaped_as_github_wants_it() -> None:
    verdict = TINY.rank.gate({"rr": 0.25}, **TWO, by="market")
    said = "-0.2500 against old, too few queries to tell: 2, and a budget of 0.25 takes 11 or more"
    assert verdict.lines() == [f"TOO FEW QUERIES: rr of new, market a: b, 100%: {said}"]
    assert verdict.lines("github") == [f"::error title=rr of new%2C market a%3A b%2C 100%25::{said}"]
    (passed,) = differing(60).rank.gate({"rr": 0.25}, **TWO).lines("github")
    assert passed.startswith("::notice title=rr of new::+0.0000 against old, at worst -0.04")
    assert passed.endswith(", within the budget of 0.25 (60 queries)")
    (failed,) = differing(60, 20).rank.gate({"rr": 0.1}, **TWO).lines("github")
    assert failed.startswith("::error title=rr of new::-0.3333 against old, at worst -0.4")
    assert failed.endswith(", beyond the budget of 0.1 (60 queries)")
    with pytest.raises(rf.InvalidOption, match="format='gitlab'"):
        verdict.lines("gitlab")  # type: ignore[arg-type]


@each(
    ("budgets", "options", "message"),
    [
        ({}, {}, "no metric given"),
        (
            ["map"],
            {},
            r"^'map' has no budget; give how much worse its mean may be, as df.rank.gate\({'ndcg@10': 0.01}",
        ),
        ("map", {}, "'map' has no budget"),
        (None, {}, "None has no budget"),
        ({"map": 0.25}, {"resamples": 1}, "resamples=1: write a whole number from 19 on, as an interval of 0.9 takes"),
        ({"map": -1}, {}, "the budget of 'map' is -1"),
        ({"map": "1%"}, {}, "the budget of 'map' is '1%'"),
        ({"map": 0.25}, {"confidence": 0.5}, "confidence=0.5"),
        ({"map": 0.25}, {"most_moved": -1}, "most_moved=-1"),
        ({"map": 0.25}, {"most_moved": True}, "most_moved=True"),
    ],
)
def test_a_gate_that_means_nothing_says_why(budgets: Any, options: Any, message: str) -> None:
    with pytest.raises(rf.InvalidOption, match=message):
        TINY.rank.gate(budgets, **TWO, **options)


@each("name", ["bound", "budget", "verdict", "passed", "queries_needed"])
def test_a_slice_or_a_document_column_with_the_name_of_a_figure_is_refused(name: str) -> None:
    with pytest.raises(rf.InvalidOption, match=f"second column '{name}'"):
        DF.rename({"day": name}).rank.gate({"rr": 0.25}, runs=RUNS, by=name)
    with pytest.raises(rf.InvalidOption, match="second column 'contribution'"):
        TINY.rename({"doc_id": "contribution"}).rank.on(doc="contribution").gate({"rr": 0.25}, **TWO)


def test_the_labels_themselves_may_be_a_run() -> None:
    assert TINY.rank.on(score="label").explain("rr").columns.count("label") == 1
    verdict = differing(60).rank.gate({"rr": 0.25}, runs=["old", "label"], baseline="old")
    assert bool(verdict)
    assert verdict.table["mean"].to_list() == [1.0]


def test_queries_needed_are_those_of_statsmodels() -> None:
    found = DF.rank.power("map", "rr", difference=[0.02, 0.1], power=0.9, alpha=0.01, runs=["old", "new"], by="day")
    assert found.columns[:5] == ["day", "metric", "baseline", "run", "std"]
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


@each(
    ("metric", "options", "message"),
    [
        ("map", {"difference": 0}, "difference=0: write"),
        ("map", {"difference": [0.1, None]}, r"difference=\[0.1, None\]: write a finite number above 0 or a list"),
        ("map", {"difference": None}, "difference=None: write"),
        ("map", {"difference": "0.1"}, "difference='0.1': write"),
        (
            "map",
            {"difference": 1e-10},
            r"an effect of 6.39335e-10 standard deviations takes more than 2\*\*53 queries to see",
        ),
        ("map", {"difference": 1e-300}, "an effect of 6.39335e-300 standard deviations"),
        ("map", {"difference": 0.1, "power": 80}, "power=80: write a number between 0 and 1"),
        ("map", {"difference": 0.1, "alpha": 0}, "alpha=0: write"),
        ("gm_map", {"difference": 0.1}, "ask for map"),
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
    assert main([*GATE, "rr=0.25"]) == 1
    too_few = (
        "TOO FEW QUERIES: rr of new: -0.2500 against old, too few queries to tell: 2, and a budget of 0.25 takes 11"
    )
    assert capsys.readouterr().out == f"{too_few} or more\n"
    gains = [
        "gate",
        "table.parquet",
        "--runs",
        "old,label",
        "--baseline",
        "old",
        "--budget",
        "average_relevance_position=5",
    ]
    assert main(gains) == 0
    assert capsys.readouterr().out.startswith("passed: average_relevance_position of label: +0.0000")
    assert main([*GATE, "average_relevance_position=5", "--budget", "rbp(p=0.5)=0.01", "--format", "github"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("::notice title=average_relevance_position of new::")
    assert lines[1].startswith("::error title=rbp(p=0.5) of new::")
    assert main([*GATE, "rr"]) == 2
    assert "--budget rr: write a metric and a number" in capsys.readouterr().err


@pytest.mark.usefixtures("files")
def test_the_command_compare_prints_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--run", "system", "--baseline", "old", "-m", "map", "--by", "day", "--correction", "none"]
    assert main(["compare", "long.csv", *options, "--test", "t", "--format", "csv"]) == 0
    found = pl.read_csv(capsys.readouterr().out.encode())
    wanted = LONG.rank.compare("map", run="system", baseline="old", by="day", correction=None, test="t").table
    assert_frame_equal(found, wanted, check_dtypes=False)
    assert main(["compare", "table.parquet", "--runs", "old,new", "--ties", "order"]) == 0
    sentences, table = capsys.readouterr().out.split("\n\n")
    assert len(sentences.splitlines()) == 3
    lines, notes = table.splitlines()[:4], table.splitlines()[4:]
    assert [line.split()[0] for line in lines] == ["metric", "ndcg@10", "map", "rr"]
    assert "after Holm's correction for 3 comparisons of all metrics together" in " ".join(notes)
    LONG.drop("label").write_csv("unlabelled.csv")
    assert main(["compare", "unlabelled.csv", "--run", "system"]) == 2
    assert "Bring the judgments of another table: --qrels QRELS" in capsys.readouterr().err


def test_a_metric_has_one_budget() -> None:
    with pytest.raises(rf.InvalidOption, match="'RR' has two budgets, as 'rr' was given before"):
        TINY.rank.gate({"rr": 0.0, "RR": 0.1}, **TWO)


BEYOND = r"^a budget of 1 allows any loss, as rr goes from 0 to 1; 1% is 0.01"
FAR = r"^a budget of 0.3 is more than a quarter of the range of rr, 0 to 1; 0.3% is 0.003"


def test_a_budget_of_a_metrics_whole_range_is_refused_and_one_above_a_quarter_warns() -> None:
    """No run loses more than the range, so that a gate with such a budget passes whatever happens."""
    with pytest.raises(rf.InvalidOption, match=BEYOND):
        TINY.rank.gate({"rr": 1}, **TWO)
    with pytest.raises(rf.InvalidOption, match=BEYOND):
        TINY.rank.gate("rr", margin=1, **TWO)
    with pytest.raises(
        rf.InvalidOption, match=r"^a budget of 5 allows any loss, as ndcg@10 goes from 0 to 1; 5% is 0.05"
    ):
        TINY.rank.gate({"ndcg@10": 5}, **TWO)
    with pytest.warns(rf.RankframeWarning, match=FAR):
        TINY.rank.gate({"rr": 0.3}, **TWO)
    assert differing(60).rank.gate({"rr": 0.25, "average_relevance_position": 5}, **TWO)  # ranks have no greatest value
    assert differing(60).with_columns(w=2).rank.on(weight="w").gate({"hits@1": 5, "precision@1": 5}, **TWO)


def test_a_name_cannot_write_a_line_of_a_verdict() -> None:
    evil = "x\npassed: map of evil: +1.0000\x1b[2J"
    table = TINY.rename({"new": evil})
    runs = {"runs": ["old", evil], "baseline": "old"}
    for style in ("text", "github"):
        (line,) = table.rank.gate({"rr": 0.1}, **runs).lines(style)  # type: ignore[arg-type]
        assert not {"\n", "\x1b"} & {*line}
    assert r"x\npassed: map of evil: +1.0000\x1b[2J" in table.rank.gate({"rr": 0.1}, **runs).lines()[0]


def test_a_loss_of_exactly_the_budget_passes_and_is_not_beyond_it() -> None:
    """Each of the queries loses 1/4, so that both ends of the interval are the loss; 50 queries are needed to tell."""
    value, verdicts = rf.value("v", bounds=(0, 1)), {}
    for n in (60, 5):
        rows = {"run": ["a"] * n + ["b"] * n, "q": [*range(n)] * 2, "v": [0.5] * n + [0.25] * n}
        found = (
            pl.DataFrame(rows)
            .rank.on(query="q")
            .gate({value: 0.25}, run="run", baseline="a", interval="percentile", resamples=99)
        )
        verdicts[n] = found.table["verdict"].item()
    assert verdicts == {60: "passed", 5: "too few queries"}
