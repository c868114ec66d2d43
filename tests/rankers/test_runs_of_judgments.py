"""After `judge` has joined the judgments of several runs, the verbs of runs are told the column that names them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest

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
def test_verbs_of_runs_are_told_their_column(kind: str, named: bool) -> None:
    if kind == "lazy" and not named:
        return  # a plan does not look at its rows for the column of its runs
    judged = KINDS[kind](RUNS).rank.judge(KINDS[kind](QRELS), **({"run": "system"} if named else {})).rank
    assert collected(judged.mean("rr", run="system")).sort("system").rows() == [("a", 0.5), ("b", 1.0)]
    compared = judged.compare("rr", run="system", test="permutation", baseline="a")
    table = collected(compared.table)  # the rows of a plan have no order
    assert table.select("baseline", "run", "difference", "p_value").rows() == [("a", "b", 0.5, 0.03125)]
    verdict = judged.gate({"rr": 0.2}, run="system", baseline="a")
    assert collected(verdict.table).select("baseline", "run", "difference").rows() == [("a", "b", 0.5)]
    assert judged.plot.distribution("rr", run="system") is not None


@each("kind", KINDS)
def test_verbs_that_are_not_told_it_are_refused(kind: str) -> None:
    judged = KINDS[kind](RUNS).rank.judge(KINDS[kind](QRELS), run="system").rank
    for ask in (lambda: judged.mean("rr"), lambda: judged.evaluate("rr"), lambda: judged.summarize("rr")):
        with pytest.raises((rf.InvalidData, pl.exceptions.PolarsError), match="a query holds the same 'doc_id' twice"):
            collected(ask())
    with pytest.raises(rf.InvalidOption, match="name the runs"):
        judged.compare("rr")


def test_a_key_with_the_runs_makes_one_query_of_each() -> None:
    mine = RUNS.rank.on(query=["system", "query_id"])
    judged = mine.judge(QRELS).rank.on(like=mine)
    assert judged.mean("rr").item() == 0.75
    assert judged.mean("rr", by="system").rows() == [("a", 0.5), ("b", 1.0)]


def test_a_run_by_itself_has_no_column_of_runs() -> None:
    judged = RUNS.filter(system="a").rank.judge(QRELS).rank
    assert judged.mean("rr").columns == ["rr"]


def test_several_files_are_evaluated_run_by_run(tmp_path: Path) -> None:
    for name, (one, other) in (("a", "xy"), ("b", "yx")):
        (tmp_path / f"{name}.run").write_text(f"q Q0 {one} 1 2 {name}\nq Q0 {other} 2 1 {name}\n")
    found = rf.evaluate([tmp_path / "a.run", tmp_path / "b.run"], {"q": ["y"]}, "rr")
    assert found.sort("run").rows() == [("a", "q", 0.5), ("b", "q", 1.0)]
    assert rf.evaluate(str(tmp_path / "*.run"), {"q": ["y"]}, "rr").height == 2
