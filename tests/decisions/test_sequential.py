"""Comparisons and gates that are read at every look; expected figures by the array function, by hand, or by one look at all."""

from __future__ import annotations

import io
import itertools
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from statsmodels.stats.multitest import multipletests

import rankframe as rf
from rankframe._command import main
from rankframe._statistics.confidence_sequences import confidence_sequence
from rankframe._verbs.decide.sequential import price
from tests.support.each import each
from tests.support.runs import DF, RUNS, table, values

pytestmark = pytest.mark.filterwarnings(
    "ignore:every row has a score and a label", "ignore:documents with higher labels"
)

TWO: Any = {"runs": ["old", "new"], "baseline": "old"}
FAST: Any = {**TWO, "resamples": 199, "most_moved": 0}
LIMITS = np.array([-1.0]), np.array([1.0])


def day(i: int, queries: int = 30) -> pl.DataFrame:
    """New queries of a day, with their date."""
    df = table(queries, seed=i)
    return df.with_columns(query_id=pl.format("{}/{}", pl.lit(i), "query_id"), date=pl.lit(i))


DAYS = [day(i) for i in range(4)]
ALL = pl.concat(DAYS)


def nightly(days: list[pl.DataFrame], budgets: Any, **options: Any) -> list[rf.results.Verdict[pl.DataFrame]]:
    """The verdicts of each day, which continue from the state of the day before."""
    found: list[Any] = []
    for df in days:
        state = found[-1].state if found else True
        found.append(df.rank.gate(budgets, **{**FAST, **options}, sequential=state))
    return found


def test_queries_enter_in_the_order_of_the_table() -> None:
    found = DF.rank.compare("map", runs=RUNS, test="sequential", resamples=99)
    for row in found.table.rows(named=True):
        d = values(row["run"], "map") - values(row["baseline"], "map")
        low, high, p = confidence_sequence(d[:, None], LIMITS)
        assert (row["ci_low"], row["ci_high"], row["p_value"]) == pytest.approx((low[0, 0], high[0, 0], p[0, 0]))
        assert row["difference"] == pytest.approx(d.mean())
        assert row["interval"] == "betting"
    p = found.table["p_value"].to_numpy()
    assert found.table["p_adjusted"].to_numpy() == pytest.approx(multipletests(p, method="holm")[1])


def test_of_a_table_to_which_queries_are_appended_each_look_is_inside_the_one_before() -> None:
    ends = [
        pl.concat(DAYS[:n]).rank.compare("map", **TWO, test="sequential", resamples=99).table.row(0, named=True)
        for n in (1, 2, 3, 4)
    ]
    for before, after in itertools.pairwise(ends):
        assert before["ci_low"] <= after["ci_low"] < after["ci_high"] <= before["ci_high"]
        assert after["p_value"] <= before["p_value"]


def test_with_a_column_of_looks_the_order_of_rows_changes_nothing() -> None:
    options: Any = {**TWO, "test": "sequential", "look": "date", "resamples": 99}
    found = ALL.rank.compare("map", "rr", **options)
    shuffled = ALL.sample(fraction=1, shuffle=True, seed=2).rank.compare("map", "rr", **options)
    assert_frame_equal(found.table, shuffled.table)
    assert found.settings["sequential"]["looks"] == 4
    later = ALL.with_columns(date=3 - pl.col("date")).rank.compare("map", "rr", **options).table
    assert later["ci_low"].to_list() != found.table["ci_low"].to_list()
    assert later["difference"].to_list() == pytest.approx(found.table["difference"].to_list())


def test_queries_without_a_look_come_last_and_a_missing_column_is_named() -> None:
    some = ALL.with_columns(date=pl.when(pl.col("date") != 3).then("date"))
    for df in (some, ALL):
        found = df.rank.compare("map", **TWO, test="sequential", look="date", resamples=99).table
        assert found["ci_low"].item() == pytest.approx(
            nightly(DAYS, {"map": 0.1}, confidence=0.975)[-1].table["bound"].item()
        )
    with pytest.raises(rf.errors.MissingColumn, match="'week' for look"):
        ALL.rank.compare("map", **TWO, test="sequential", look="week")


@each("kind", ["polars", "lazy", "pandas"])
@each("by", [None, "day"])
def test_a_gate_read_every_day_is_the_gate_of_all_days(kind: str, by: Any) -> None:
    """With the state in JSON between days, in each kind of frame."""
    state: Any = True
    for df in DAYS:
        frame: Any = {"polars": df, "lazy": df.lazy(), "pandas": df.to_pandas()}[kind]
        verdict = frame.rank.gate({"map": 0.05, "rr": 0.1}, **FAST, by=by, sequential=state)
        if kind == "pandas":
            state = pd.read_json(
                io.StringIO(verdict.state.reset_index().to_json(orient="records", double_precision=15))
            )
        elif kind == "lazy":
            assert isinstance(verdict.state, pl.LazyFrame)
            state = pl.read_json(io.StringIO(verdict.state.collect().write_json())).lazy()
        else:
            state = pl.read_json(io.StringIO(verdict.state.write_json()))
    found = verdict.table.collect() if kind == "lazy" else pl.DataFrame(verdict.table)
    at_once = ALL.rank.compare("map", "rr", **TWO, by=by, test="sequential", look="date", ci=0.9, resamples=99).table
    on = [*([] if by is None else [by]), "metric"]
    both = found.join(at_once, on=on, suffix="_once").select(
        "bound", "ci_low", "difference", "difference_once", "n_queries", "n_queries_once"
    )
    assert len(both) == len(at_once)
    for row in both.rows():
        assert row[0::2] == pytest.approx(row[1::2], rel=1e-9)


def test_bounds_only_get_better_and_the_first_pass_stays_one() -> None:
    verdicts = nightly(DAYS, {"map": 0.05})
    bounds = [x.table["bound"].item() for x in verdicts]
    assert bounds == sorted(bounds)
    passed = [x.passed for x in verdicts]
    assert passed == sorted(passed)
    assert passed[-1]
    assert [x.table["n_queries"].item() for x in verdicts] == [30, 60, 90, 120]
    assert verdicts[-1].state is not None
    assert verdicts[-1].state["look"].unique(maintain_order=True).to_list() == [1, 2, 3, 4]


def test_a_run_that_loses_fails_at_the_first_look_that_shows_it_and_is_undecided_before() -> None:
    loses = [df.with_columns(new=-pl.col("label")) for df in DAYS]
    said = [x.table["verdict"].item() for x in nightly(loses, {"map": 0.05})]
    assert said == sorted(said, reverse=True)  # too few queries, then failed
    assert said[-1] == "failed"
    undecided = nightly([table(6)], {"map": 0.02})[0]
    assert undecided.table["verdict"].item() == "too few queries"
    assert "too few queries to tell: 6, and a budget of 0.02 takes 198 or more" in repr(undecided)


def unchanged(n: int) -> pl.DataFrame:
    """Queries of one document, relevant and first in both runs."""
    return pl.DataFrame({"query_id": range(n)}).with_columns(doc_id=pl.lit("a"), label=1, old=1.0, new=1.0)


def test_a_run_that_changes_nothing_passes_from_the_number_of_queries_on_that_the_table_names() -> None:
    verdict = unchanged(50).rank.gate({"rr": 0.1}, **FAST, sequential=True)
    needed = verdict.table["queries_needed"].item()
    assert needed == 38
    for n, passes in ((needed - 1, False), (needed, True)):
        assert unchanged(n).rank.gate({"rr": 0.1}, **FAST, sequential=True).passed is passes
    never = unchanged(50).rank.gate({"rr": 0.0}, **FAST, sequential=True).table
    assert never.select("verdict", "queries_needed").row(0) == ("too few queries", 2**20)


def test_beyond_that_number_an_undecided_run_shows_its_bound() -> None:
    """400 queries, of which 10 are lost: no pass for a loss of 0.025 at most, as 0.025 was lost."""
    lost = pl.when(pl.col("query_id") % 40 > 0).then(1.0)
    verdict = unchanged(400).with_columns(new=lost).rank.gate({"rr": 0.025}, **FAST, sequential=True)
    assert verdict.table["verdict"].item() == "too few queries"
    assert verdict.table["queries_needed"].item() < 400
    assert verdict.lines()[0].endswith(
        f"too few queries to tell: 400, and at worst {verdict.table['bound'].item():+.4f}"
    )


def test_a_query_that_comes_again_counts_once() -> None:
    first = DAYS[0].rank.gate({"map": 0.05}, **FAST, sequential=True)
    again = pl.concat(DAYS[:2]).rank.gate({"map": 0.05}, **FAST, sequential=first.state)
    alone = DAYS[1].rank.gate({"map": 0.05}, **FAST, sequential=first.state)
    assert_frame_equal(again.table, alone.table)
    assert again.state is not None
    assert_frame_equal(again.state, alone.state)
    assert again.settings["sequential"]["repeated"] == 30
    assert "30 queries came again and count once, with the first values." in repr(again)
    assert "came again" not in repr(alone)
    nothing_new = DAYS[0].rank.gate({"map": 0.05}, **FAST, sequential=first.state)
    assert_frame_equal(nothing_new.table, first.table)
    assert_frame_equal(nothing_new.state, first.state)


def test_a_query_that_comes_again_with_another_value_warns_and_the_first_one_counts() -> None:
    first = DAYS[0].rank.gate({"map": 0.05}, **FAST, sequential=True)
    other = DAYS[0].with_columns(new=pl.when(pl.col("query_id") == "0/q0").then(-pl.col("label")).otherwise("new"))
    with pytest.warns(
        rf.RankframeWarning, match=r"1 query of an earlier look came again with other values, .* sequential=True"
    ):
        again = other.rank.gate({"map": 0.05}, **FAST, sequential=first.state)
    assert_frame_equal(again.table, first.table)


def test_a_run_that_is_new_has_no_value_for_earlier_queries() -> None:
    first = DAYS[0].rank.gate({"map": 0.05}, **FAST, sequential=True)
    options: Any = {**FAST, "runs": RUNS}
    second = DAYS[1].rank.gate({"map": 0.05}, **options, sequential=first.state).table
    assert dict(second.select("run", "n_queries").rows()) == {"new": 60, "odd": 30}
    with pytest.raises(rf.InvalidData, match="run 'new' of the state is none of old, odd"):
        DAYS[1].rank.gate({"map": 0.05}, runs=["old", "odd"], sequential=first.state)


def test_ids_of_another_type_in_the_state_are_those_of_the_table() -> None:
    dated = [unchanged(3).with_columns(query_id=pl.date(2024, i, pl.col("query_id") + 1)) for i in (1, 2)]
    first = dated[0].rank.gate({"rr": 0.1}, **FAST, sequential=True)
    assert first.state is not None
    state = pl.read_json(io.StringIO(first.state.write_json()))
    assert state.schema["query_id"] == pl.String
    verdict = pl.concat(dated).rank.gate({"rr": 0.1}, **FAST, sequential=state)
    assert verdict.table["n_queries"].item() == 6
    in_days = state.with_columns(query_id=pl.lit(19_000))
    for wrong, df in ((state, unchanged(3)), (in_days, dated[0])):
        with pytest.raises(rf.InvalidData, match="the state has values of another kind than the table: "):
            df.rank.gate({"rr": 0.1}, **FAST, sequential=wrong)


def test_a_plan_does_not_change_between_looks() -> None:
    state = DAYS[0].rank.gate({"map": 0.05}, **FAST, sequential=True, planned=20_000).state
    for options in ({"planned": 500}, {"confidence": 0.9}):
        (name,) = options
        with pytest.raises(rf.InvalidOption, match=rf"{name}=\S+ is not the .* of the first look, .*sequential=True"):
            DAYS[1].rank.gate({"map": 0.05}, **FAST, **options, sequential=state)  # type: ignore[arg-type]
    found = DAYS[1].rank.gate({"map": 0.05}, **FAST, sequential=state)
    assert found.settings["sequential"]["planned"] == 20_000
    assert found.settings["sequential"]["method"] == "empirical_bernstein"
    assert "by empirical Bernstein, for 20,000 planned queries." in repr(found)


def test_a_state_without_a_column_or_no_state_is_refused() -> None:
    state = DAYS[0].rank.gate({"map": 0.05}, **FAST, sequential=True).state
    with pytest.raises(rf.errors.MissingColumn, match="'rr' for sequential; the state has look, query_id, run, map"):
        DAYS[1].rank.gate({"rr": 0.05}, **FAST, sequential=state)
    with pytest.raises(rf.errors.MissingColumn, match="'planned' for sequential"):
        DAYS[1].rank.gate({"map": 0.05}, **FAST, sequential=DAYS[0])
    with pytest.raises(rf.InvalidOption, match=r"sequential=str is no state .*write sequential=True"):
        DAYS[1].rank.gate({"map": 0.05}, **FAST, sequential="state.json")
    with pytest.raises(rf.InvalidOption, match="second column 'look'"):
        DAYS[1].rename({"day": "look"}).rank.gate({"map": 0.05}, **FAST, by="look", sequential=True)


def test_states_of_several_looks_appended_to_each_other_are_refused() -> None:
    first = DAYS[0].rank.gate({"map": 0.05}, **FAST, sequential=True).state
    assert first is not None
    second = DAYS[1].rank.gate({"map": 0.05}, **FAST, sequential=first).state
    for wrong in (pl.concat([first, first]), pl.concat([first, second]), first.with_columns(query_id=pl.lit("0/q0"))):
        with pytest.raises(
            rf.InvalidData, match=r"run 'old', query_id '0/q0' more than once, .*state of the last look"
        ):
            DAYS[2].rank.gate({"map": 0.05}, **FAST, sequential=wrong)


@each(
    ("column", "value", "message"),
    [
        *(
            ("look", x, "as look, not a whole number from 1 on")
            for x in (None, "1", 0, 1.5, math.inf, True)
        ),
        *(
            ("planned", x, "as planned, not a whole number from 2 to 1,000,000,000")
            for x in (None, "many", -1, 1, 2.5, math.nan)
        ),
        *(("confidence", x, "as confidence, not a number between 0.5 and 1") for x in (None, "0.95", 0.5, 1, -1, 95)),
        *(("map", x, "for map, which is from 0 to 1") for x in (1e9, -1.0, math.inf, math.nan)),
    ],
)  # fmt: skip
def test_a_state_with_a_number_that_no_gate_gives_is_refused(column: str, value: Any, message: str) -> None:
    state = DAYS[0].rank.gate({"map": 0.05}, **FAST, sequential=True).state
    assert state is not None
    with pytest.raises(rf.InvalidData, match=rf"^the state has .* {message}; give the state of the last look alone"):
        DAYS[1].rank.gate({"map": 0.05}, **FAST, sequential=state.with_columns(pl.lit(value).alias(column)))


def test_a_state_of_two_plans_is_refused() -> None:
    state = DAYS[0].rank.gate({"map": 0.05}, **FAST, sequential=True).state
    assert state is not None
    for column, other in (("planned", 500), ("confidence", 0.9)):
        mixed = state.with_columns(pl.when(pl.col("run") == "new").then(other).otherwise(column).alias(column))
        with pytest.raises(rf.InvalidData, match=f"^the state has {other} and .* as {column}; give the state"):
            DAYS[1].rank.gate({"map": 0.05}, **FAST, sequential=mixed)


def test_a_null_is_an_id_of_a_query_also_in_a_state() -> None:
    df = unchanged(3).with_columns(query_id=pl.when(pl.col("query_id") != pl.col("query_id").min()).then("query_id"))
    first = df.rank.gate({"rr": 0.1}, **FAST, sequential=True)
    assert df.rank.gate({"rr": 0.1}, **FAST, sequential=first.state).table["n_queries"].item() == 3


def test_what_holds_at_no_look_is_refused() -> None:
    for metric in ("dcg", "gm_map"):
        with pytest.raises(
            rf.InvalidOption, match=f"{metric} has no bounds, without which no interval holds at every look"
        ):
            DF.rank.compare(metric, **TWO, test="sequential")
    with pytest.raises(rf.InvalidOption, match="precision@3 has no bounds"):  # of weighted documents
        DF.with_columns(w=2).rank.on(weight="w").compare("precision@3", **TWO, test="sequential")
    with pytest.raises(rf.InvalidOption, match="test='sequential' takes no weights; leave out weights='asked'"):
        DF.rank.compare("map", **TWO, test="sequential", weights="asked")
    with pytest.raises(rf.InvalidOption, match="correction='by'"):
        DF.rank.compare("map", **TWO, test="sequential", correction="bh")
    with pytest.raises(rf.InvalidOption, match="look='day' is for test='sequential'"):
        DF.rank.compare("map", **TWO, look="day")
    with pytest.raises(rf.InvalidOption, match="dcg has no bounds"):
        DF.rank.gate({"dcg": 0.05}, **TWO, sequential=True)


def test_a_mean_that_drifts_has_no_interval_and_warns() -> None:
    """The new run gains everything on the first 200 queries and loses everything on the others."""
    first = pl.col("query_id") < 200
    df = unchanged(400).with_columns(old=pl.when(~first).then(1.0), new=pl.when(first).then(1.0))
    with pytest.warns(rf.RankframeWarning, match="no mean of rr of new less old agrees with all looks"):
        row = df.rank.compare("rr", **TWO, test="sequential", resamples=99).table.row(0, named=True)
    assert (row["ci_low"], row["ci_high"], row["interval"]) == (None, None, None)
    with pytest.warns(rf.RankframeWarning, match="agrees with all looks"):
        verdict = nightly([df.filter(first), df.filter(~first)], {"rr": 0.25})[-1]
    assert not verdict.passed


def test_a_look_that_is_sorted_by_its_values_does_no_harm() -> None:
    """The same table as one look: its queries enter in an order derived from their ids."""
    first = pl.col("query_id") < 200
    df = unchanged(400).with_columns(old=pl.when(~first).then(1.0), new=pl.when(first).then(1.0), day=pl.lit(1))
    row = df.rank.compare("rr", **TWO, test="sequential", look="day", resamples=99).table.row(0, named=True)
    assert row["ci_low"] < 0 < row["ci_high"]
    assert row["p_value"] > 0.05
    assert df.rank.gate({"rr": 0.25}, **FAST, sequential=True).table["bound"].item() < 0


def test_the_price_is_printed_and_in_the_settings() -> None:
    found = ALL.rank.compare("map", **TWO, test="sequential")
    once = ALL.rank.compare("map", **TWO).table
    (ratio,) = found.settings["sequential"]["width_ratio"]
    wide, narrow = (x.select(pl.col("ci_high") - pl.col("ci_low")).item() for x in (found.table, once))
    assert ratio == pytest.approx(wide / narrow)
    says = f"The interval holds at every look, whenever you stop, {ratio:.1f} times as wide as that of a single look; by betting"
    assert says in " ".join(repr(found).split())
    assert "p by the sequential test, over 120 queries." in repr(found)
    assert "holds at every look" not in repr(ALL.rank.compare("map", **TWO))
    several = ALL.rank.compare("map", "rr", runs=RUNS, test="sequential")
    ratios = several.settings["sequential"]["width_ratio"]
    assert f"{min(ratios):.1f} to {max(ratios):.1f} times as wide" in " ".join(repr(several).split())


def test_the_price_of_several_rows_goes_from_the_least_to_the_greatest_number() -> None:
    of = {"method": "betting", "planned": 99, "width_ratio": [6.2, None, 14.0, 9.8], "repeated": 0}
    assert ", 6.2 to 14.0 times as wide as that of a single look; " in price({"sequential": of})[0]


def test_no_price_is_known_without_an_interval_of_a_single_look() -> None:
    assert "whenever you stop; by betting" in " ".join(
        repr(unchanged(1).rank.compare("rr", **TWO, test="sequential")).split()
    )


def test_a_table_without_queries_has_no_figures() -> None:
    found = DF.clear().rank.compare("map", **TWO, test="sequential", look="day")
    assert found.table.select("difference", "p_value", "n_queries").row(0) == (None, None, 0)
    verdict = DF.clear().rank.gate({"map": 0.1}, **FAST, sequential=True)
    assert not verdict
    assert verdict.state is not None
    assert verdict.state.is_empty()
    assert DF.rank.gate({"map": 0.1}, **FAST, sequential=verdict.state).table["n_queries"].item() == 40


def test_a_gate_that_is_read_once_has_no_state() -> None:
    assert DF.rank.gate({"map": 0.1}, **FAST).state is None


def test_the_command_keeps_the_state_in_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.chdir(tmp_path)
    for i, df in enumerate(DAYS[:2]):
        df.write_parquet(f"{i}.parquet")
        code = main(f"gate {i}.parquet --runs old,new --baseline old --budget map=0.25 --sequential state.json".split())
    said = capsys.readouterr().out.splitlines()
    assert code == 0
    assert said[2].startswith("passed: map of new")
    assert said[3].startswith("The interval holds at every look, whenever you stop, ")
    rows = json.loads(Path("state.json").read_text())
    assert {(row["look"], row["run"]) for row in rows} == {(look, run) for look in (1, 2) for run in ("old", "new")}
    assert len(rows) == 120
    wanted = nightly(DAYS[:2], {"map": 0.25})[-1]
    assert wanted.state is not None
    assert_frame_equal(pl.read_json("state.json"), wanted.state, check_dtypes=False)
    assert (
        said[2]
        == DAYS[1].rank.gate({"map": 0.25}, **TWO, sequential=nightly(DAYS[:1], {"map": 0.25})[0].state).lines()[0]
    )
    assert (
        main(
            [
                "gate",
                "1.parquet",
                "--runs",
                "old,new",
                "--baseline",
                "old",
                "--budget",
                "map=0.25",
                "--sequential",
                "state.json",
                "--planned",
                "9",
            ]
        )
        == 2
    )
    assert "begin again with another file of --sequential" in capsys.readouterr().err


def test_any_value_per_query_within_bounds_may_be_read_at_every_look() -> None:
    answers = pl.DataFrame({"question": [*range(60)] * 2, "system": ["a"] * 60 + ["b"] * 60})
    answers = answers.with_columns(score=pl.when(system="b").then(0.75).otherwise(0.25))
    metric, ranker = rf.value("score", bounds=(0, 1)), answers.rank.on(query="question")
    row = ranker.compare(metric, run="system", test="sequential").table.row(0, named=True)
    assert row["difference"] == 0.5
    assert row["ci_low"] > 0
    verdict = ranker.gate({metric: 0.1}, run="system", baseline="a", sequential=True)
    assert verdict.passed
    assert verdict.state is not None
    state = pl.read_json(io.StringIO(verdict.state.write_json()))
    assert (
        ranker.gate({metric: 0.1}, run="system", baseline="a", sequential=state).settings["sequential"]["repeated"]
        == 60
    )
    with pytest.raises(rf.InvalidOption, match="value:score has no bounds"):
        ranker.compare(rf.value("score"), run="system", test="sequential")


def test_a_sequential_test_does_not_go_with_labels_of_a_model_nor_with_a_column_known_before() -> None:
    for known in ({"model_labels": "label"}, {"adjust": "asked"}):
        with pytest.raises(rf.InvalidOption, match="leave out test='sequential'"):
            DF.rank.compare("map", **TWO, test="sequential", **known)
        with pytest.raises(rf.InvalidOption, match=r"leave out sequential=\.\.\."):
            DF.rank.gate({"map": 0.1}, **TWO, sequential=True, **known)


def test_a_query_without_an_id_came_when_its_column_says() -> None:
    n = 12  # each with two documents, of which the old run has the right one first, and the new one on the first days only
    df = pl.DataFrame(
        {"query_id": [f"q{i}" for i in range(n) for _ in "ab"], "doc_id": ["a", "b"] * n, "label": [1, 0] * n}
    )
    first = pl.int_range(pl.len()) < 8
    df = df.with_columns(date=pl.int_range(pl.len()) // 2, old=pl.lit(1.0) * (pl.col("doc_id") == "a"))
    df = df.with_columns(new=pl.when(first).then(1 - pl.col("old")).otherwise("old"))
    nameless = df.with_columns(pl.col("query_id").replace({"q0": None}))
    one, other = (x.rank.compare("rr", **TWO, test="sequential", look="date").table for x in (df, nameless))
    assert_frame_equal(one, other)
