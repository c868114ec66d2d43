"""``python -m rankframe``."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

import rankframe as rf
from rankframe._command import main

Run = Callable[..., str]

RUN = "q1 Q0 d1 1 3 t\nq1 Q0 d2 2 2 t\nq1 Q0 d3 3 1 t\nq2 Q0 d4 1 5 t\nq2 Q0 d5 2 4 t\n"
QRELS = "q1 0 d2 1\nq1 0 d3 0\nq1 0 d9 2\nq2 0 d4 1\nq3 0 d7 0\n"
# By hand: q1 finds one of its two relevant documents, at rank 2; q2 has its only one at rank 1; q3 has none.
PER_QUERY = {"q1": {"rr": 1 / 2, "map": 1 / 4}, "q2": {"rr": 1.0, "map": 1.0}, "q3": {"rr": 0.0, "map": 0.0}}
TABLE = """\
query_id,doc_id,score,label,lang
q1,a,2,0,en
q1,b,1,1,en
q2,a,2,1,en
q3,a,2,0,fr
q3,b,1,0,fr
q3,c,0,1,fr
"""  # reciprocal ranks 1/2, 1 and 1/3


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.run").write_text(RUN)
    Path("a.qrels").write_text(QRELS)
    Path("t.csv").write_text(TABLE)
    Path("nodoc.csv").write_text("query_id,score,label\nq1,2,1\n")


@pytest.fixture
def out(capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs the command line and gives what it printed."""

    def run(*argv: str) -> str:
        assert main(argv) == 0
        return capsys.readouterr().out

    return run


@pytest.fixture
def error(capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command that must fail, and gives its one line of error."""

    def run(*argv: str) -> str:
        assert main(argv) == 2
        captured = capsys.readouterr()
        assert captured.out == ""
        assert captured.err.count("\n") == 1
        return captured.err

    return run


def test_evaluate_prints_the_mean_of_each_metric_and_over_how_many_queries(out: Run) -> None:
    assert out("evaluate", "a.run", "--qrels", "a.qrels", "-m", "rr", "-m", "map") == (
        "metric    mean  queries\nrr      0.5000        3\nmap     0.4167        3\n"
    )


def test_queries_where_the_metric_is_null_are_left_out_of_the_mean(out: Run) -> None:
    text = out("evaluate", "a.run", "--qrels", "a.qrels", "-m", "rr", "--no-relevant", "null", "--format", "json")
    assert json.loads(text) == [{"metric": "rr", "mean": 0.75, "queries": 2}]


def test_per_query_prints_a_row_for_each_query(out: Run) -> None:
    text = out("evaluate", "a.run", "--qrels", "a.qrels", "-m", "rr", "-m", "map", "--per-query", "--format", "json")
    assert {row.pop("query_id"): row for row in json.loads(text)} == PER_QUERY


def test_csv_has_all_digits(out: Run) -> None:
    text = out("evaluate", "t.csv", "-m", "rr", "--per-query", "--format", "csv")
    assert text == f"query_id,rr\nq1,0.5\nq2,1.0\nq3,{1 / 3}\n"


def test_markdown_is_a_pipe_table(out: Run) -> None:
    text = out("evaluate", "t.csv", "-m", "rr", "--format", "markdown")
    assert [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines()][::2] == [
        ["metric", "mean", "queries"],
        ["rr", "0.6111", "3"],
    ]
    assert set(text.splitlines()[1]) <= set("|-: ")


def test_by_prints_a_row_for_each_value_of_a_column(out: Run) -> None:
    assert out("evaluate", "t.csv", "-m", "rr", "--by", "lang") == (
        "lang  queries      rr\nen          2  0.7500\nfr          1  0.3333\n"
    )


def test_by_and_per_query_together_show_the_value_beside_the_query(out: Run) -> None:
    text = out("evaluate", "t.csv", "-m", "rr", "--by", "lang", "--per-query", "--format", "csv")
    assert text.splitlines()[:2] == ["query_id,lang,rr", "q1,en,0.5"]


def test_by_finds_its_column_in_the_judgments_too(out: Run) -> None:
    pl.DataFrame(
        {
            "query_id": ["q1", "q2", "q3"],
            "doc_id": ["d2", "d4", "d7"],
            "label": [1, 1, 0],
            "lang": ["en", "fr", "fr"],
        }
    ).write_parquet("q.parquet")
    text = out("evaluate", "a.run", "--qrels", "q.parquet", "-m", "rr", "--by", "lang", "--format", "json")
    assert json.loads(text) == [
        {"lang": "en", "queries": 1, "rr": 0.5},
        {"lang": "fr", "queries": 2, "rr": 0.5},
    ]


def test_by_refuses_a_column_that_varies_within_a_query(error: Run) -> None:
    assert error("evaluate", "t.csv", "-m", "rr", "--by", "doc_id") == (
        "rankframe: error: a query has several values of 'doc_id'; name a column that has one value in all rows of a query\n"
    )


def test_without_metrics_the_usual_ones_are_printed(out: Run) -> None:
    assert [line.split()[0] for line in out("evaluate", "t.csv").splitlines()] == [
        "metric",
        "ndcg@10",
        "map",
        "rr",
    ]


def test_the_threshold_of_relevance_is_an_option(out: Run) -> None:
    text = out("evaluate", "a.run", "--qrels", "a.qrels", "-m", "recall", "--relevant", "2", "--format", "json")
    assert json.loads(text)[0]["mean"] == 0.0  # the only document with label 2 was not retrieved


def test_unjudged_documents_can_be_dropped(out: Run) -> None:
    text = out("evaluate", "a.run", "--qrels", "a.qrels", "-m", "rr", "--unjudged", "drop", "--format", "json")
    assert json.loads(text)[0]["mean"] == 2 / 3  # d1 of q1 leaves the ranking


def test_ties_stand_as_said(out: Run) -> None:
    Path("tied.csv").write_text("query_id,doc_id,score,label\nq,a,1,1\nq,b,1,0\n")
    means = [
        json.loads(out("evaluate", "tied.csv", "-m", "rr", "--format", "json", *ties))[0]["mean"]
        for ties in ([], ["--ties", "doc_asc"], ["--ties", "worst"])
    ]
    assert means == [0.5, 1.0, 0.5]


def test_columns_of_other_names_are_named_by_options(out: Run) -> None:
    Path("o.csv").write_text("qid,doc,bm25,score,rel\n1,a,1,9,0\n1,b,2,8,1\n")
    options = ["--query", "qid", "--doc", "doc", "--score", "bm25", "--label", "rel"]
    assert json.loads(out("evaluate", "o.csv", "-m", "rr", "--format", "json", *options))[0]["mean"] == 1.0


def test_queries_that_only_one_file_has_are_told_of_on_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    Path("more.run").write_text(f"{RUN}q8 Q0 a 1 1 t\nq9 Q0 a 1 2 t\nq9 Q0 b 1 1 t\n")
    assert main(["evaluate", "more.run", "--qrels", "a.qrels", "-m", "rr"]) == 0
    unjudged, missed = capsys.readouterr().err.splitlines()
    assert unjudged.startswith(
        "rankframe: note: more.run: 2 of 4 queries of the run have no judgments and are left out; "
    )
    assert missed.startswith(
        "rankframe: note: more.run: 1 of 3 judged queries are not in the run and count with nothing "
    )
    assert (
        main(["evaluate", "more.run", "--qrels", "a.qrels", "-m", "rr", "--run-only", "drop", "--judged-only", "keep"])
        == 0
    )
    assert capsys.readouterr().err == ""


def test_nothing_is_said_where_both_files_have_the_same_queries(capsys: pytest.CaptureFixture[str]) -> None:
    Path("b.qrels").write_text("q1 0 d2 1\nq2 0 d4 1\n")
    assert main(["evaluate", "a.run", "--qrels", "b.qrels", "-m", "rr"]) == 0
    assert capsys.readouterr().err == ""


def test_names_of_columns_leave_trec_files_alone(out: Run) -> None:
    Path("q.csv").write_text("qid,doc_id,rel\nq1,d2,1\nq2,d4,1\nq3,d7,0\n")
    options = ["--qrels", "q.csv", "--query", "qid", "--label", "rel"]
    assert json.loads(out("evaluate", "a.run", "-m", "rr", "--format", "json", *options))[0]["mean"] == 0.5


def test_ids_that_are_numbers_in_one_file_and_text_in_the_other_meet(out: Run) -> None:
    Path("n.run").write_text("1 Q0 10 1 2 t\n1 Q0 20 2 1 t\n")
    pl.DataFrame({"query_id": [1], "doc_id": [20], "label": [1], "lang": ["en"]}).write_parquet("n.parquet")
    text = out("evaluate", "n.run", "--qrels", "n.parquet", "-m", "rr", "--by", "lang", "--format", "json")
    assert json.loads(text) == [{"lang": "en", "queries": 1, "rr": 0.5}]


def test_other_columns_of_run_and_judgments_do_not_get_in_each_others_way(out: Run) -> None:
    Path("r.csv").write_text("query_id,doc_id,score,label,lang\nq,a,2,9,en\nq,b,1,9,en\n")
    Path("q.csv").write_text("query_id,doc_id,score,label,lang\nq,b,7,1,en\n")
    text = out("evaluate", "r.csv", "--qrels", "q.csv", "-m", "rr", "--by", "lang", "--format", "json")
    assert json.loads(text) == [{"lang": "en", "queries": 1, "rr": 0.5}]


def test_a_slice_that_run_and_judgments_contradict_is_refused(error: Run) -> None:
    Path("r.csv").write_text("query_id,doc_id,score,lang\nq,a,2,en\nq,b,1,en\n")
    Path("q.csv").write_text("query_id,doc_id,label,lang\nq,b,1,fr\n")
    said = error("evaluate", "r.csv", "--qrels", "q.csv", "-m", "rr", "--by", "lang")
    assert "a query has several values of 'lang'" in said


def test_a_slice_that_one_run_names_is_that_of_the_others_too(out: Run) -> None:
    Path("r.csv").write_text("query_id,doc_id,score,lang\nq1,d2,2,en\nq2,d4,1,fr\n")
    text = out("evaluate", "r.csv", "a.run", "--qrels", "a.qrels", "-m", "rr", "--by", "lang", "--format", "json")
    assert {row["lang"] for row in json.loads(text) if row["run"] == "a"} >= {"en", "fr"}


def test_a_dash_reads_standard_input(out: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(RUN.encode())))
    assert json.loads(out("evaluate", "-", "--qrels", "a.qrels", "-m", "rr", "--format", "json"))[0]["mean"] == 0.5


def test_standard_input_may_be_of_any_format(out: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(TABLE.encode())))
    assert "0.6111" in out("evaluate", "-", "--input", "csv", "-m", "rr")


def test_a_missing_column_is_answered_with_the_option_that_names_it(error: Run) -> None:
    Path("o.csv").write_text("qid,doc no,sim\n1,a,1\n")
    assert error("evaluate", "o.csv", "--qrels", "a.qrels").endswith(
        "no column 'query_id', 'doc_id', 'score' in o.csv; it has qid, doc no, sim. "
        "Say --query qid --doc 'its doc column' --score sim\n"
    )
    assert error("evaluate", "o.csv", "--query", "qid").endswith(
        "no column 'score' in o.csv; it has qid, doc no, sim. Say --score sim\n"
    )
    Path("o.csv").write_text("qid,docno,sim\n1,a,1\n")
    assert error("evaluate", "o.csv", "--qrels", "a.qrels").endswith("Say --query qid --doc docno --score sim\n")


def test_help_shows_examples(capsys: pytest.CaptureFixture[str]) -> None:
    for argv in (["--help"], ["evaluate", "--help"]):
        with pytest.raises(SystemExit) as caught:
            main(argv)
        assert caught.value.code == 0
        assert "rankframe evaluate bm25.run --qrels qrels.txt -m ndcg@10 -m map" in capsys.readouterr().out


def test_every_metric_is_listed(out: Run) -> None:
    listed = {line.split()[0] for line in out("metrics").splitlines() if line}
    assert set(rf.METRICS) <= listed


def test_the_demo_shows_means_the_worst_queries_and_their_costs(out: Run) -> None:
    text = out("demo")
    df = rf.load_example()
    per_query = df.rank.evaluate("ndcg@10", "map")  # type: ignore[attr-defined]
    assert f"{per_query['map'].mean():.4f}" in text
    for query in per_query.bottom_k(3, by="ndcg@10")["query_id"]:
        returned = df.filter(query_id=query).sort("score", "doc_id", descending=True, nulls_last=True)
        wrong = returned.head(10).with_row_index("rank", 1).filter(pl.col("label") < 2).row(0, named=True)
        assert f"#{wrong['rank']} {wrong['doc_id']} (label {wrong['label']})" in text
        assert f"first ten        {' '.join(map(str, returned.head(10)['doc_digit']))}\n" in text


def test_the_python_that_the_demo_prints_runs(out: Run) -> None:
    lines = out("demo").partition("The same in Python\n")[2].partition("Your own files")[0]
    exec("\n".join(line.removeprefix("  ") for line in lines.splitlines()), {})


def test_python_m_rankframe_runs_and_reads_a_pipe() -> None:
    command = [sys.executable, "-m", "rankframe", "evaluate", "-", "--qrels", "a.qrels", "-m", "rr"]
    done = subprocess.run(command, input=RUN, capture_output=True, text=True, check=True)
    assert done.stdout == "metric    mean  queries\nrr      0.5000        3\n"


def test_a_reader_that_stops_early_causes_no_traceback() -> None:
    command = [sys.executable, "-m", "rankframe", "evaluate", "t.csv", "--per-query"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 141  # as shells tell of programs that a closed pipe ended
