"""``rankframe evaluate`` with several runs: a row per run and metric, each run named after its file."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import polars as pl
import pytest

from rankframe._command import main

Rows: TypeAlias = Callable[[str], list[dict[str, Any]]]
Out: TypeAlias = Callable[[str], str]

# The relevant document of q1 is first for a, second for b; that of q2 second for a, and missing in b.
A = "q1 Q0 x 0 2 t\nq1 Q0 y 0 1 t\nq2 Q0 y 0 2 t\nq2 Q0 x 0 1 t\n"
B = "q1 Q0 y 0 2 t\nq1 Q0 x 0 1 t\nq2 Q0 y 0 2 t\n"


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("b.run").write_text(B)
    Path("a.run").write_text(A)
    Path("qrels.csv").write_text("query_id,doc_id,label,day\nq1,x,1,tue\nq2,x,1,mon\n")


@pytest.fixture
def out(capsys: pytest.CaptureFixture[str]) -> Out:
    def run(line: str) -> str:
        assert main(["evaluate", *line.split()]) == 0
        return capsys.readouterr().out

    return run


@pytest.fixture
def rows(out: Out) -> Rows:
    return lambda line: json.loads(out(f"{line} --format json"))


FILES = "b.run a.run --qrels qrels.csv -m rr,precision@1"
MEANS = [("b", "rr", 0.25), ("b", "precision@1", 0.0), ("a", "rr", 0.75), ("a", "precision@1", 0.5)]


def test_programs_get_a_row_per_run_and_metric(rows: Rows) -> None:
    assert rows(FILES) == [{"run": run, "metric": name, "mean": mean, "queries": 2} for run, name, mean in MEANS]


def test_people_get_a_row_per_run_with_a_column_per_metric(out: Out) -> None:
    assert out(FILES) == (
        "run      rr  precision@1\nb    0.2500       0.0000\na    0.7500       0.5000\n\nMeans over 2 queries.\n"
    )
    assert out(f"{FILES} --format latex").splitlines()[4:8:3] == [
        r"run & rr & precision@1 \\",
        r"a & 0.7500 & 0.5000 \\",
    ]


def test_queries_stand_beside_the_name_of_their_run(rows: Rows) -> None:
    found = rows(f"{FILES} --per-query")
    assert [(row["run"], row["query_id"], row["rr"]) for row in found] == [
        ("b", "q1", 0.5),
        ("b", "q2", 0),
        ("a", "q1", 1),
        ("a", "q2", 0.5),
    ]


def test_slices_are_those_of_each_run(rows: Rows) -> None:
    found = rows(f"{FILES} --by day")
    assert [tuple(row.values()) for row in found] == [
        ("b", "mon", 1, 0, 0),
        ("b", "tue", 1, 0.5, 0),
        ("a", "mon", 1, 0.5, 0),
        ("a", "tue", 1, 1, 1),
    ]
    assert list(found[0]) == ["run", "day", "queries", "rr", "precision@1"]
    by_query = rows(f"{FILES} --by day --per-query")
    assert list(by_query[0].values()) == ["b", "q1", "tue", 0.5, 0]


def test_runs_of_one_table_are_named_by_their_columns(rows: Rows) -> None:
    pl.DataFrame(
        {"query_id": ["q1", "q1"], "doc_id": ["x", "y"], "old": [1.0, 2.0], "new": [2.0, 1.0], "label": [1, 0]}
    ).write_parquet("t.parquet")
    assert [(row["run"], row["mean"]) for row in rows("t.parquet --runs old,new -m rr")] == [("old", 0.5), ("new", 1.0)]


def test_runs_of_one_table_are_named_by_the_column_of_each_row(rows: Rows) -> None:
    Path("t.csv").write_text("system,query_id,doc_id,score,label\nm,q1,x,1,1\nm,q1,y,2,0\nn,q1,x,2,1\n")
    assert [(row["run"], row["mean"]) for row in rows("t.csv --run system -m rr")] == [("m", 0.5), ("n", 1.0)]
    Path("j.csv").write_text("query_id,doc_id,label\nq1,x,0\nq1,y,1\n")
    assert [(row["run"], row["mean"]) for row in rows("t.csv --run system -m rr --qrels j.csv")] == [("m", 1), ("n", 0)]


def test_a_mean_counts_the_queries_of_its_run(out: Out, rows: Rows) -> None:
    Path("c.run").write_text("q1 Q0 x 0 1 t\n")
    line = "a.run c.run --qrels qrels.csv -m rr --judged-only drop"
    assert [(row["run"], row["mean"], row["queries"]) for row in rows(line)] == [("a", 0.75, 2), ("c", 1, 1)]
    assert out(line).endswith("\nMeans over 1 to 2 queries.\n")
    assert [row["mean"] for row in rows("a.run c.run --qrels qrels.csv -m rr")] == [0.75, 0.5]


def test_a_column_of_slices_cannot_be_named_as_that_of_the_runs(capsys: pytest.CaptureFixture[str]) -> None:
    Path("t.csv").write_text("system,query_id,doc_id,score,label,run\nm,q1,x,1,1,k\nn,q1,x,2,1,k\n")
    assert main(["evaluate", "t.csv", "--run", "system", "-m", "rr", "--by", "run"]) == 2
    assert "a second column 'run', which --by has" in capsys.readouterr().err


def test_bounds_and_names_for_sql_are_columns_of_several_runs_too(rows: Rows) -> None:
    found = rows("a.run b.run --qrels qrels.csv -m precision@1 --unjudged bounds")
    assert [(row["run"], row["metric"], row["mean"]) for row in found] == [
        ("a", "precision@1 least", 0.5),
        ("a", "precision@1 greatest", 1.0),
        ("b", "precision@1 least", 0.0),
        ("b", "precision@1 greatest", 1.0),
    ]
    assert [row["metric"] for row in rows("a.run b.run --qrels qrels.csv -m precision@1 --names flat")] == [
        "precision_at_1"
    ] * 2


def test_csv_of_several_runs_is_a_table_with_their_names(out: Out) -> None:
    assert pl.read_csv(io.StringIO(out(f"{FILES} --format csv"))).columns == ["run", "metric", "mean", "queries"]
