"""``rankframe convert``: what is written is what was read, in every format that can be read."""

from __future__ import annotations

import gzip
import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import polars as pl
import pytest

import rankframe as rf
from rankframe._command import main
from tests.support.each import each

Out: TypeAlias = Callable[..., str]

RUN = "q1 Q0 d1 1 9.1 t\nq1 Q0 d2 2 0.30000000000000004 t\nq2 Q0 d1 1 1e-07 t\n"
QRELS = "q1 0 d1 0\nq1 0 d3 2\nq2 0 d1 1\n"


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.run").write_text(RUN)
    Path("b.run").write_text("q1 Q0 d3 1 2 t\n")
    Path("qrels.txt").write_text(QRELS)


@pytest.fixture
def out(capsys: pytest.CaptureFixture[str]) -> Out:
    def run(line: str) -> str:
        assert main(["convert", *line.split()]) == 0
        return capsys.readouterr().out

    return run


@each(
    "name",
    ["r.csv", "r.tsv", "r.ndjson", "r.jsonl", "r.json", "r.parquet", "r.feather", "r.csv.gz", "r.run", "r.txt", "r.gz"],
)
def test_a_run_goes_to_a_format_and_back(name: str, out: Out) -> None:
    assert out(f"a.run -o {name}") == ""
    assert rf.read_run(name).select("query_id", "doc_id", "score", "run").rows() == [
        ("q1", "d1", 9.1, "t"),
        ("q1", "d2", 0.30000000000000004, "t"),
        ("q2", "d1", 1e-07, "t"),
    ]
    assert out(f"{name} -o back.run.gz") == ""
    assert gzip.decompress(Path("back.run.gz").read_bytes()).decode() == RUN.replace("1e-07", "1e-7")


@each("name", ["j.csv", "j.ndjson", "j.parquet", "j.qrels", "j.txt.gz"])
def test_judgments_go_to_a_format_and_back(name: str, out: Out) -> None:
    out(f"--qrels qrels.txt -o {name}")
    assert rf.read_qrels(name).select("query_id", "doc_id", "label").rows() == [
        ("q1", "d1", 0),
        ("q1", "d3", 2),
        ("q2", "d1", 1),
    ]
    assert out(f"--qrels {name} --format trec") == QRELS


@each(
    ("format", "text"),
    [
        ("beir", "query-id\tcorpus-id\tscore\nq1\td1\t0\nq1\td3\t2\nq2\td1\t1\n"),
        ("quepid", "query,docid,rating\nq1,d1,0\nq1,d3,2\nq2,d1,1\n"),
    ],
)
def test_judgments_are_written_for_other_tools(format: str, text: str, out: Out) -> None:
    assert out(f"--qrels qrels.txt --format {format}") == text
    out(f"--qrels qrels.txt --format {format} -o file")
    assert Path("file").read_text() == text


def test_ratings_name_their_index(out: Out) -> None:
    found = json.loads(out("--qrels qrels.txt --format rank_eval --index shop"))
    assert found["requests"][1] == {"id": "q2", "ratings": [{"_index": "shop", "_id": "d1", "rating": 1}]}


def test_a_run_and_its_judgments_become_one_table(out: Out) -> None:
    out("a.run --qrels qrels.txt -o judged.parquet")
    table = pl.read_parquet("judged.parquet")
    assert table.select("query_id", "doc_id", "score", "label", "run").sort("query_id", "doc_id").rows() == [
        ("q1", "d1", 9.1, 0, "t"),
        ("q1", "d2", 0.30000000000000004, None, "t"),
        ("q1", "d3", None, 2, "t"),
        ("q2", "d1", 1e-07, 1, "t"),
    ]
    assert table.schema["label"] == pl.Int64
    assert rf.rank(table).evaluate("map")["map"].to_list() == [0, 1]


def test_several_runs_become_one_table_with_their_names(out: Out) -> None:
    found = pl.read_csv(io.StringIO(out("a.run b.run")))
    assert found.select("run", "doc_id").rows() == [("a", "d1"), ("a", "d2"), ("a", "d1"), ("b", "d3")]
    judged = pl.read_csv(io.StringIO(out("a.run b.run --qrels qrels.txt --judged-only drop")))
    assert judged.filter(run="b").select("doc_id", "score", "label").rows() == [("d3", 2.0, 2), ("d1", None, 0)]


def test_columns_of_tables_are_kept_in_tables_and_noted_for_trec_text(
    out: Out, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("t.csv").write_text("user,item,pred,clicked,market\nu1,a,0.5,1,x\nu1,b,0.9,0,x\n")
    named = "t.csv --query user --doc item --score pred"
    out(f"{named} -o t.parquet")
    assert pl.read_parquet("t.parquet").columns == ["query_id", "doc_id", "score", "clicked", "market"]
    assert main(["convert", *named.split(), "--format", "trec"]) == 0
    printed = capsys.readouterr()
    assert printed.out == "u1 Q0 b 1 0.9 t\nu1 Q0 a 2 0.5 t\n"
    assert printed.err == "rankframe: note: columns that have no place in TREC text, left out: clicked, market\n"
    Path("more.csv").write_text("query_id,doc_id,label,grader\nu1,a,1.5,eve\n")
    found = pl.read_csv(io.StringIO(out(f"{named} --qrels more.csv")))
    assert found.select("doc_id", "label", "grader", "market").rows() == [
        ("a", 1.5, "eve", "x"),
        ("b", None, None, "x"),
    ]


def test_ranks_become_scores(out: Out) -> None:
    Path("r.csv").write_text("query_id,doc_id,position\nq1,a,2\nq1,b,1\n")
    assert out("r.csv --rank position --format trec") == "q1 Q0 b 1 1.0 r\nq1 Q0 a 2 0.5 r\n"


def test_one_column_of_scores_is_a_run_and_several_stay_a_table(out: Out) -> None:
    Path("t.csv").write_text("query_id,doc_id,bm25,ltr\nq1,a,1,4\nq1,b,2,3\n")
    assert out("t.csv --score ltr --format trec").splitlines() == ["q1 Q0 a 1 4.0 t", "q1 Q0 b 2 3.0 t"]
    assert pl.read_csv(io.StringIO(out("t.csv --runs bm25,ltr"))).columns == ["query_id", "doc_id", "bm25", "ltr"]


def test_a_pipe_is_converted(out: Out, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(RUN.encode())))
    assert out("- --format ndjson").splitlines()[0] == '{"query_id":"q1","doc_id":"d1","score":9.1,"run":"t"}'
