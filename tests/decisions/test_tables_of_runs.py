"""Runs given as tables, one for each: the same decisions as from one table with a column that names the run."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest

import rankframe as rf
from rankframe._lift.callers_frames import stacked
from rankframe._table.runs import Runs
from rankframe._table.setup import Setup
from tests.support.each import each

# The relevant document of two is first, then second: the reciprocal rank is 1 in the old run, and 1/2 in the new one.
OLD = pl.DataFrame(
    {"query_id": [1, 1, 2, 2], "doc_id": list("abab"), "score": [2.0, 1.0, 2.0, 1.0], "label": [1, 0, 1, 0]}
)
NEW = OLD.with_columns(score=pl.Series([1.0, 2.0, 1.0, 2.0]))
PER_QUERY = [(1, -0.5), (2, -0.5)]

FRAMES: list[Callable[[pl.DataFrame], Any]] = [
    lambda df: df,
    lambda df: df.lazy(),
    lambda df: pd.DataFrame(df.to_dict(as_series=False)),
    lambda df: pd.DataFrame(df.to_dict(as_series=False)).set_index("query_id"),
]
KINDS = each("kind", FRAMES, ids=["polars", "lazy", "pandas", "pandas by query"])


def rows(frame: Any, *names: str) -> list[tuple[Any, ...]]:
    if isinstance(frame, pd.DataFrame):
        frame = pl.DataFrame(frame.reset_index().to_dict("list"))
    return list(frame.lazy().select(*names).collect().rows())


@KINDS
def test_tables_are_compared_as_runs(kind: Callable[[pl.DataFrame], Any]) -> None:
    old, new = kind(OLD), kind(NEW)
    found = old.rank.compare("rr", runs={"old": old, "new": new})
    assert rows(found.table, "baseline", "run", "baseline_mean", "mean", "difference") == [
        ("old", "new", 1.0, 0.5, -0.5)
    ]
    assert rows(found.per_query_delta, "query_id", "rr") == PER_QUERY
    assert type(found.table) is type(old)


@KINDS
def test_a_gate_of_tables_measures_against_the_first(kind: Callable[[pl.DataFrame], Any]) -> None:
    old, new = kind(OLD), kind(NEW)
    verdict = old.rank.gate({"rr": 0.25}, runs={"new": new, "old": old})
    assert rows(verdict.table, "baseline", "run", "difference") == [("new", "old", 0.5)]


def test_tables_are_planned_for_and_held_to_one_margin() -> None:
    other = OLD.with_columns(score=pl.Series([2.0, 1.0, 1.0, 2.0]))  # differences 0 and -1/2: their spread is 1/√8
    found = OLD.rank.power("rr", runs={"old": OLD, "other": other}, difference=0.1)
    assert rows(found, "std") == [(pytest.approx(8**-0.5),)]
    assert not OLD.rank.gate("rr", margin=0.1, runs={"old": OLD, "new": NEW})


@each("plot", ["curve", "precision_recall", "differences", "distribution"])
def test_tables_are_drawn_as_runs(plot: str) -> None:
    stacked = pl.concat([OLD.with_columns(run=pl.lit("old")), NEW.with_columns(run=pl.lit("new"))])
    metrics = [] if plot == "precision_recall" else ["ndcg"] if plot == "curve" else ["rr"]
    drawn = getattr(OLD.rank.plot, plot)(*metrics, runs={"old": OLD, "new": NEW})
    assert json.loads(drawn.to_json()) == json.loads(getattr(stacked.rank.plot, plot)(*metrics, run="run").to_json())


def test_tables_are_reported_as_runs(tmp_path: Path) -> None:
    page = OLD.rank.report(tmp_path / "report.html", "rr", runs={"old": OLD, "new": NEW}, resamples=99).read_text()
    assert "8 rows, 2 queries" in page
    assert "of “new” from “old” on rr: -0.500" in page


def test_columns_and_policies_of_the_ranker_hold_for_all_tables() -> None:
    names = {"query_id": "user", "doc_id": "item", "score": "sim", "label": "stars"}
    old, new = OLD.rename(names), NEW.rename(names)
    ranker = old.rank.on(query="user", doc="item", score="sim", label="stars")
    assert rows(ranker.compare("rr", runs={"old": old, "new": new}).per_query_delta, "user", "rr") == PER_QUERY


def test_what_each_table_misses_counts_for_its_run_alone() -> None:
    qrels = pl.DataFrame({"query_id": [1, 1], "doc_id": ["a", "z"], "label": [1, 1]})
    one, both = (
        pl.DataFrame({"query_id": [1] * len(docs), "doc_id": docs}).with_columns(score=1.0)
        for docs in (["a"], ["a", "z"])
    )
    judged = {"one": one.rank.judge(qrels), "both": both.rank.judge(qrels)}
    found = judged["one"].rank.compare("recall", runs=judged)
    assert rows(found.table, "baseline_mean", "mean") == [(0.5, 1.0)]


def test_a_column_of_runs_in_a_table_gives_way_to_the_name_of_the_table() -> None:
    old, new = OLD.with_columns(run=pl.lit("x")), NEW.with_columns(run=pl.lit("x"))
    found = old.rank.compare("rr", runs={"old": old, "new": new})
    assert rows(found.table, "baseline", "run") == [("old", "new")]


def test_the_tables_stay_as_they_are() -> None:
    old, new = (pd.DataFrame(x.to_dict(as_series=False)) for x in (OLD, NEW))
    before = old.copy(), new.copy()
    old.rank.compare("rr", runs={"old": old, "new": new})
    pd.testing.assert_frame_equal(old, before[0])
    pd.testing.assert_frame_equal(new, before[1])


def test_slices_and_further_columns_are_those_that_all_tables_have() -> None:
    old = OLD.with_columns(market=pl.Series(["x", "x", "y", "y"]), note=pl.lit("n"))
    new = NEW.select("label", "score", "doc_id", "query_id", market=old["market"])
    found = old.rank.compare("rr", runs={"old": old, "new": new}, by="market")
    assert rows(found.table, "market", "difference") == [("x", -0.5), ("y", -0.5)]
    with pytest.raises(rf.errors.MissingColumn, match="no column 'note' for by"):
        old.rank.compare("rr", runs={"old": old, "new": new}, by="note")


def test_labels_and_scores_may_be_whole_in_one_table_and_not_in_the_other() -> None:
    new = NEW.with_columns(pl.col("score").cast(pl.Int64), pl.col("label").cast(pl.Float64))
    assert rows(OLD.rank.compare("rr", runs={"old": OLD, "new": new}).table, "difference") == [(-0.5,)]


class Other:
    columns = ()


TABLES = {"old": OLD, "new": NEW}
TEXT_IDS = NEW.with_columns(pl.col("query_id").cast(pl.String))
BY_RUN = {name: table.rename({"doc_id": "run"}) for name, table in TABLES.items()}
PANDAS = {"old": FRAMES[2](OLD), "new": FRAMES[2](TEXT_IDS)}
TOLD = r"column 'query_id' holds Int64 in the table of 'old' and String in the table of 'new'; cast one of them"


@each(
    ("call", "error", "said"),
    [
        (lambda: OLD.rank.compare("rr", runs={"old": OLD, "new": TEXT_IDS}), rf.InvalidData, TOLD),
        (lambda: PANDAS["old"].rank.compare("rr", runs=PANDAS), rf.InvalidData, "'query_id'"),
        (lambda: OLD.clone().rank.compare("rr", runs=TABLES), rf.InvalidOption, r"the table of \.rank is none of them"),
        (lambda: OLD.rank.compare("rr", runs={"old": OLD, "new": OLD.lazy()}), rf.InvalidOption, r"'new' is a\w* LazyFrame"),
        (lambda: OLD.rank.compare("rr", runs={"old": OLD, "new": FRAMES[2](OLD)}), rf.InvalidOption, r"'new' is a\w* pandas Data"),
        (lambda: OLD.rank.compare("rr", runs={"old": OLD, "new": "score"}), rf.InvalidOption, r"'new' is a\w* str"),
        (lambda: OLD.rank.compare("rr", runs={"old": OLD}), rf.InvalidOption, "there is one run to compare"),
        (lambda: OLD.rank.compare("rr", runs={}), rf.InvalidOption, "name the runs"),
        (lambda: stacked(Other(), Setup(), Runs.of({"a": OLD, "b": NEW}, None)), rf.InvalidOption,
         r"each of runs is a table of Polars or pandas, like that of .rank, a Other"),
        (lambda: OLD.rank.compare("rr", runs=TABLES, run="run"), rf.InvalidOption, "leave it out"),
        (lambda: BY_RUN["old"].rank.on(doc="run").compare("rr", runs=BY_RUN), rf.InvalidOption, "'run'"),
    ],
)  # fmt: skip
def test_tables_that_are_no_runs_are_refused(call: Callable[[], Any], error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        call()
