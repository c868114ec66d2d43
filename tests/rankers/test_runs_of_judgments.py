"""After `judge` has joined the judgments of several runs, the verbs of runs know the column that names them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rankframe as rf
from tests.support.each import each

RUNS = pl.DataFrame(
    {
        "system": ["a", "a", "b", "b"] * 6,
        "query_id": [q for q in range(6) for _ in range(4)],
        "doc_id": ["x", "y", "x", "y"] * 6,
        "score": [2.0, 1.0, 1.0, 2.0] * 6,
    }
)
QRELS = pl.DataFrame({"query_id": range(6), "doc_id": ["y"] * 6, "label": [1] * 6})
KINDS: dict[str, Any] = {"Polars": lambda x: x, "pandas": lambda x: x.to_pandas(), "lazy": lambda x: x.lazy()}


def collected(found: Any) -> pl.DataFrame:
    return pl.from_pandas(found) if isinstance(found, pd.DataFrame) else found.lazy().collect()


@each("named", [True, False])
@each("kind", KINDS)
def test_verbs_of_runs_need_no_name_of_their_column(kind: str, named: bool) -> None:
    if kind == "lazy" and not named:
        return  # a plan does not look at its rows for the column of its runs
    judged = KINDS[kind](RUNS).rank.judge(KINDS[kind](QRELS), **({"run": "system"} if named else {})).rank
    assert collected(judged.mean("rr")).sort("system").rows() == [("a", 0.5), ("b", 1.0)]
    summary = collected(judged.summarize("rr", ci=None)).sort("system")
    assert summary.select("system", "mean", "n_queries").rows() == [("a", 0.5, 6), ("b", 1.0, 6)]
    table = collected(judged.compare("rr", test="permutation", baseline="a").table)  # the rows of a plan have no order
    assert table.select("baseline", "run", "difference", "p_value").rows() == [("a", "b", 0.5, 0.03125)]
    verdict = judged.gate({"rr": 0.2}, baseline="a")
    assert collected(verdict.table).select("baseline", "run", "difference").rows() == [("a", "b", 0.5)]
    assert judged.plot.distribution("rr") is not None


def test_another_name_takes_its_place() -> None:
    table = RUNS.with_columns(team=pl.lit("t") + pl.col("system"), other=-pl.col("score"))
    judged = table.rank.judge(QRELS, run="system").rank
    assert judged.mean("rr", run="team")["team"].to_list() == ["ta", "tb"]
    alone = RUNS.filter(system="a").with_columns(other=-pl.col("score")).rank.judge(QRELS, run="system").rank
    assert alone.mean("rr", runs=["score", "other"]).rows() == [("score", 0.5), ("other", 1.0)]


def test_a_key_with_the_runs_stays_one() -> None:
    judged = RUNS.rank.on(query=["system", "query_id"]).judge(QRELS).rank
    assert judged.mean("rr").item() == 0.75
    assert judged.mean("rr", by="system").rows() == [("a", 0.5), ("b", 1.0)]


def test_options_of_on_leave_the_runs_known() -> None:
    judged = RUNS.rank.judge(QRELS, run="system").rank.on(relevant=1, convention="trec_eval")
    assert judged.mean("rr").rows() == [("a", 0.5), ("b", 1.0)]


def test_a_table_without_the_column_has_one_run() -> None:
    judged = RUNS.filter(system="a").rank.judge(QRELS, run="system")
    assert judged.drop("system").rank.mean("rr").item() == 0.5
    pandas = RUNS.filter(system="a").to_pandas().rank.judge(QRELS.to_pandas(), run="system")
    assert pandas.drop(columns="system").rank.mean("rr")["rr"].item() == 0.5  # whose attrs still name it


def test_a_run_by_itself_has_no_column_of_runs() -> None:
    judged = RUNS.filter(system="a").rank.judge(QRELS).rank
    assert judged.mean("rr").columns == ["rr"]


def test_options_in_pandas_that_are_none_are_left_out() -> None:
    frame = RUNS.filter(system="a").to_pandas()
    frame.attrs["rankframe"] = {"run": 7}
    assert frame.rank.judge(QRELS.to_pandas()).rank.mean("rr")["rr"].item() == 0.5


def test_several_files_are_evaluated_run_by_run(tmp_path: Path) -> None:
    for name, (one, other) in (("a", "xy"), ("b", "yx")):
        (tmp_path / f"{name}.run").write_text(f"q Q0 {one} 1 2 {name}\nq Q0 {other} 2 1 {name}\n")
    found = rf.evaluate([tmp_path / "a.run", tmp_path / "b.run"], {"q": ["y"]}, "rr")
    assert found.sort("run").rows() == [("a", "q", 0.5), ("b", "q", 1.0)]
    assert rf.evaluate(str(tmp_path / "*.run"), {"q": ["y"]}, "rr").height == 2


def test_a_fusion_takes_the_runs() -> None:
    judged = RUNS.rank.judge(QRELS, run="system")
    assert_frame_equal(judged.rank.fuse("rrf"), judged.rank.fuse("rrf", run="system"))


def test_repeated_documents_of_a_verb_without_runs_are_still_refused() -> None:
    with pytest.raises(rf.InvalidData, match="a query holds the same 'doc_id' twice"):
        RUNS.rank.judge(QRELS, run="system").rank.evaluate("rr")
