"""Values per query on the command line: a column of a file as a metric."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rankframe._command import main

ANSWERS = "question,system,topic,right,ms\n" + "".join(
    f"{q},{run},{q % 2},{value},{ms}\n" for run, value, ms in (("old", 0.25, 200), ("new", 0.75, 300)) for q in range(6)
)
OF_RUNS = "answers.csv --query question --run system"


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("answers.csv").write_text(ANSWERS)


@pytest.fixture
def rows(out: Callable[..., str]) -> Callable[..., Any]:
    """Runs a command and gives the rows that it printed as JSON."""
    return lambda command, code=0: json.loads(out(f"{command} --format json", code=code))


def test_a_column_is_a_metric_of_a_table_without_scores(rows: Any) -> None:
    assert rows(f"evaluate {OF_RUNS} -m value:right,value:ms") == [
        {"run": "old", "metric": "value:right", "mean": 0.25, "queries": 6},
        {"run": "old", "metric": "value:ms", "mean": 200.0, "queries": 6},
        {"run": "new", "metric": "value:right", "mean": 0.75, "queries": 6},
        {"run": "new", "metric": "value:ms", "mean": 300.0, "queries": 6},
    ]
    found = rows(f"compare {OF_RUNS} -m value:ms(higher_is_better=False) --baseline old")
    assert [(x["difference"], x["p_value"], x["wins"], x["losses"]) for x in found] == [(100.0, 0.03125, 0, 6)]
    found = rows(f"gate {OF_RUNS} --budget value:right(bounds=[0,2])=0.49 --baseline old")
    assert [(x["verdict"], x["queries_needed"]) for x in found] == [
        ("passed", 11)
    ]  # ln 0.05 / ln (1 - 0.245), rounded up


def test_each_file_may_hold_the_values_of_a_run(rows: Any) -> None:
    head, *lines = ANSWERS.splitlines()
    for run in ("old", "new"):
        Path(f"{run}.csv").write_text("\n".join([head, *(x for x in lines if f",{run}," in x)]))
    found = rows("compare old.csv new.csv --query question -m value:right --by topic --interval bounded")
    assert [(x["topic"], x["run"], x["difference"]) for x in found] == [(0, "new", 0.5), (1, "new", 0.5)]


def test_values_and_rankings_of_one_table_are_evaluated_together(rows: Any, capsys: Any) -> None:
    Path("judged.csv").write_text("query_id,doc_id,score,label,cost\nq1,a,2,0,1.5\nq1,b,1,1,1.5\nq2,c,1,1,0.5\n")
    found = rows("evaluate judged.csv -m rr,value:cost")
    assert [(x["metric"], x["mean"]) for x in found] == [("rr", 0.75), ("value:cost", 1.0)]
    Path("judged.csv").write_text("query_id,doc_id,label,cost\nq1,a,0,1.5\nq1,b,1,1.5\nq2,c,1,0.5\n")
    assert [x["mean"] for x in rows("evaluate judged.csv -m value:cost")] == [1.0]
    assert main(["evaluate", "judged.csv", "-m", "rr,value:cost"]) == 2
    assert "no column 'score' in judged.csv" in capsys.readouterr().err


def test_a_blank_line_is_no_query_and_a_value_without_an_id_is_one(rows: Any) -> None:
    Path("answers.csv").write_text("question,right,odd\n,0.5,x\n\n,,\nq1,1,y\n")
    (found,) = rows("evaluate answers.csv --query question -m value:right")
    assert (found["mean"], found["queries"]) == (0.75, 2)


def test_a_report_of_values_is_written(out: Any) -> None:
    assert (
        out(f"report {OF_RUNS} -m value:right(bounds=[0,1]) --show ms --resamples 99 -o report.html") == "report.html\n"
    )
    assert "12 rows, 6 queries" in Path("report.html").read_text("utf-8")


def test_a_file_with_several_rows_of_a_query_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", "answers.csv", "--query", "question", "-m", "value:right"]) == 2
    said = (
        "query_id '0' has 2 rows for value:right; name the column that distinguishes them with the query or the run, or"
    )
    assert said in capsys.readouterr().err
