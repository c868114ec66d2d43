"""Several runs, other formats and policies on the command line, and what ``curve``, ``check`` and the others print."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import math
import os
import re
import sys
import threading
import time
import warnings
from collections.abc import Callable
from inspect import signature
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rankframe as rf
from rankframe._command import main
from rankframe._command.command import COLUMNS, POLICIES
from rankframe._command.output import in_options, warnings_as_notes
from rankframe._support import progress
from rankframe._table.conventions import CONVENTIONS
from rankframe.errors import Advice, Code, Text, judge, on, option
from tests.support.each import each

A = "q1 Q0 d1 1 3 t\nq1 Q0 d2 2 2 t\nq1 Q0 d3 3 1 t\nq2 Q0 d4 1 5 t\nq2 Q0 d5 2 4 t\n"
B = "q1 Q0 d2 1 3 u\nq1 Q0 d1 2 2 u\nq2 Q0 d5 1 5 u\nq2 Q0 d4 2 4 u\n"
QRELS = "q1 0 d2 1\nq1 0 d3 0\nq1 0 d9 2\nq2 0 d4 1\n"
# Reciprocal ranks by hand: a has 1/2 and 1, b has 1 and 1/2.
WIDE = """\
query_id,doc_id,a,b,label,lang
q1,d1,3,2,0,en
q1,d2,2,3,1,en
q2,d4,5,4,1,fr
q2,d5,4,5,0,fr
"""

Out = Callable[..., Any]


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.run").write_text(A)
    Path("b.run").write_text(B)
    Path("qrels.txt").write_text(QRELS)
    Path("wide.csv").write_text(WIDE)
    Path("b.run.gz").write_bytes(gzip.compress(B.encode()))


@pytest.fixture
def rows(out: Out) -> Out:
    """Runs a command and gives the rows that it printed as JSON."""
    return lambda command, *more, code=0: json.loads(out(f"{command} --format json", *more, code=code))


# formats


def test_trec_text_has_a_line_per_metric_and_all(out: Out) -> None:
    assert out("evaluate a.run --qrels qrels.txt -m rr -m num_ret --format trec") == (
        f"{'rr':<22}\tall\t0.7500\n{'num_retrieved':<22}\tall\t5\n"
    )


def test_trec_text_of_queries_is_what_trec_eval_prints(out: Out) -> None:
    asked = "-m map -m P_5 -m gm_map -m num_rel_ret"
    ours = out(f"evaluate a.run --qrels qrels.txt {asked} --format trec --per-query").splitlines()
    theirs = out("trec_eval -q -m map -m P.5 -m gm_map -m num_rel_ret qrels.txt a.run").splitlines()
    named = {"hits": "num_rel_ret", "precision@5": "P_5"}
    split = [line.split("\t") for line in ours]
    found = {f"{named.get(name.strip(), name.strip()):<22}\t{query}\t{value}" for name, query, value in split}
    assert set(theirs) <= found
    assert len(found) == len(ours) == len(theirs) + 2  # trec_eval has no gm_map of a query


def test_trec_text_of_a_null_and_of_a_text(out: Out) -> None:
    Path("none.txt").write_text("q1 0 d1 0\nq1 0 d2 1\nq2 0 d4 0\n")
    text = out("evaluate a.run --qrels none.txt -m rr -m relstring --no-relevant null --format trec --per-query")
    assert text.splitlines() == [
        f"{'rr':<22}\tq1\t0.5000",
        f"{'relstring':<22}\tq1\t01-",
        f"{'rr':<22}\tq2\tnan",
        f"{'relstring':<22}\tq2\t0-",
        f"{'rr':<22}\tall\t0.5000",
        f"{'relstring':<22}\tall\tnan",
    ]


def test_the_mean_of_a_geometric_metric_is_geometric(rows: Out) -> None:
    found = rows("evaluate a.run --qrels qrels.txt -m gm_map")  # average precision of 1/4 and 1
    assert found[0]["mean"] == pytest.approx(0.5)


def test_bounds_of_the_unjudged_are_two_metrics(rows: Out) -> None:
    found = rows("evaluate a.run --qrels qrels.txt -m rr --unjudged bounds --unjudged-labels 0,1")
    assert [(row["metric"], row["mean"]) for row in found] == [("rr least", 0.75), ("rr greatest", 1.0)]


# policies


def test_every_policy_of_on_is_an_option_with_its_words(capsys: pytest.CaptureFixture[str]) -> None:
    of_no_command = {"memory_limit", "grouped", "like"}  # of LazyFrames, and of rankers in Python
    policies = signature(rf.rank(pl.DataFrame()).on).parameters.keys() - of_no_command
    columns = {*(column.removesuffix("_id") for column in COLUMNS), "subtopic", "weight", "rank", "names"}
    columns |= {"interactions", "items", "category", "group", "features", "base", "propensity", "stratum", "inclusion"}
    columns |= {"subtopic_weight", "cost"}
    assert policies == POLICIES.keys() | columns
    with pytest.raises(SystemExit):
        main(["evaluate", "--help"])
    said = " ".join(capsys.readouterr().out.split())
    assert all(f"--{name.replace('_', '-')} " in said for name in policies)
    assert "trec_eval; default: doc_desc" in said
    assert ", ".join(CONVENTIONS) in said


@each(
    ("asked", "said"),
    [
        ("--relevant 2", {"relevant": 2}),
        ("--ties doc_asc", {"ties": "doc_asc"}),
        ("--unjudged drop", {"unjudged": "drop"}),
        ("--unretrieved drop", {"unretrieved": "drop"}),
        ("--no-relevant one --relevant 3", {"no_relevant": "one", "relevant": 3}),
        ("--depth 1", {"depth": 1}),
        ("--collection-size 50", {"collection_size": 50}),
        ("--scores float32", {"scores": "float32"}),
        ("--convention ranx --relevant 2", {"convention": "ranx", "relevant": 2}),
    ],
)
def test_a_policy_is_that_of_on(asked: str, said: dict[str, Any], rows: Out) -> None:
    found = rows("evaluate a.run --qrels qrels.txt --per-query -m ndcg@5 -m map -m precision@1", *asked.split())
    judged = rf.read_run("a.run").drop("run").rank.judge(rf.read_qrels("qrels.txt"))  # type: ignore[attr-defined]
    assert found == judged.rank.on(**said).evaluate("ndcg@5", "map", "precision@1").to_dicts()


def test_the_best_rank_is_the_best_under_a_convention_too(rows: Out) -> None:
    pl.DataFrame({"query_id": 1, "doc_id": ["a", "b"], "place": [1, 2], "label": [1, 0]}).write_csv("places.csv")
    assert rows("evaluate places.csv --rank place --convention ranx -m rr")[0]["mean"] == 1.0


def test_the_size_of_the_collection_and_ties_as_floats_change_numbers(rows: Out) -> None:
    sizes = [rows(f"evaluate a.run --qrels qrels.txt -m fall_out@5 --collection-size {n}")[0]["mean"] for n in (10, 20)]
    assert sizes[0] > sizes[1] > 0
    Path("near.run").write_text("q1 Q0 d2 1 1.00000001 t\nq1 Q0 d3 2 1.0 t\n")
    first = [
        rows(f"evaluate near.run --qrels qrels.txt --judged-only drop -m precision@1 {scores}")[0]["mean"]
        for scores in ("", "--scores float32")
    ]
    assert first == [1, 0]  # of equal scores, d3 comes first


def test_a_tool_without_the_usual_metrics_gets_those_that_it_has(rows: Out) -> None:
    found = rows("evaluate a.run --qrels qrels.txt --convention lightgbm")
    assert [row["metric"] for row in found] == ["ndcg@10", "map"]
    # of the only relevant document that was retrieved: at rank 2 of q1, at rank 1 of q2
    assert found[0]["mean"] == pytest.approx((1 / math.log2(3) + 1) / 2)


def test_subtopics_and_weights_are_columns_of_either_file(rows: Out) -> None:
    Path("diversity.txt").write_text("q1 s1 d1 1\nq1 s2 d2 1\nq1 s2 d3 0\n")
    found = rows("evaluate a.run --qrels diversity.txt --subtopic iteration -m subtopic_recall@1 -m subtopic_recall@2")
    assert [row["mean"] for row in found] == [0.5, 1.0]
    Path("weights.csv").write_text("query_id,doc_id,label,w\nq1,d1,1,2\nq1,d2,1,1\n")
    found = rows("evaluate a.run --qrels weights.csv --weight w -m cg@1")
    assert found[0]["mean"] == 2.0
    pl.read_csv("wide.csv").with_columns(w=pl.lit(4)).write_parquet("run.parquet")
    found = rows("evaluate run.parquet --score a --weight w -m cg@2")
    assert found[0]["mean"] == 4.0


# files


def test_runs_are_named_by_their_files(rows: Out) -> None:
    found = rows("compare a.run b.run.gz --qrels qrels.txt -m rr -m precision@1 --baseline b")
    assert [(row["metric"], row["baseline"], row["run"], row["mean"], row["difference"]) for row in found] == [
        ("rr", "b", "a", 0.75, 0.0),
        ("precision@1", "b", "a", 0.5, 0.0),
    ]


def test_runs_of_one_name_are_told_apart_by_as_much_as_it_takes(rows: Out) -> None:
    for name in ("input.x", "input.y", "x/a.run"):
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(B)
    of_suffix = rows("compare input.x input.y --qrels qrels.txt -m rr")
    assert [(row["baseline"], row["run"]) for row in of_suffix] == [("input.x", "input.y")]
    of_folder = rows("compare a.run x/a.run --qrels qrels.txt -m rr")
    assert [(row["baseline"], row["run"]) for row in of_folder] == [("a.run", str(Path("x/a.run")))]


def test_one_table_of_several_runs_meets_judgments_too(rows: Out) -> None:
    wanted = [{"run": "b", "mean": 0.75}]
    said = "--qrels qrels.txt -m rr --baseline a"
    Path("long.txt").write_text(A.replace(" t\n", " a\n") + B.replace(" u\n", " b\n"))
    found = [
        rows(f"compare wide.csv --runs a,b {said}"),
        rows(f"compare long.txt --run run {said}"),
        rows("compare wide.csv --runs a,b -m rr --baseline a"),
        rows(f"compare a.run b.run {said}"),
    ]
    assert [[{name: row[name] for name in ("run", "mean")} for row in of_one] for of_one in found] == [wanted] * 4


def test_a_run_may_come_from_standard_input_compressed_or_not(rows: Out, monkeypatch: pytest.MonkeyPatch) -> None:
    for content in (B.encode(), gzip.compress(B.encode())):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
        found = rows("compare a.run - --qrels qrels.txt -m rr")
        assert [row["run"] for row in found] == ["stdin"]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(WIDE.encode())))
    found = rows("evaluate - --input csv --score a --qrels qrels.txt -m rr")  # the judgments stay TREC text
    assert found[0]["mean"] == 0.75


def test_judgments_have_a_format_of_their_own(rows: Out) -> None:
    Path("judged").write_text("query_id,doc_id,label\nq1,d2,1\nq2,d4,1\n")
    assert rows("evaluate a.run --qrels judged --qrels-input csv -m rr")[0]["mean"] == 0.75


@pytest.mark.skipif(sys.platform == "win32", reason="named pipes are Unix's")
def test_a_pipe_of_the_shell_is_read(rows: Out, tmp_path: Path) -> None:
    os.mkfifo("pipe")
    writer = threading.Thread(target=lambda: Path("pipe").write_text(A))
    writer.start()
    assert rows("evaluate pipe --qrels qrels.txt -m rr")[0]["mean"] == 0.75
    writer.join()


def test_queries_of_one_file_alone_count_as_said(rows: Out, capsys: pytest.CaptureFixture[str]) -> None:
    Path("more.txt").write_text(f"{QRELS}q3 0 d7 1\n")
    Path("more.run").write_text(f"{A}q8 Q0 d1 1 2 t\n")
    values = {}
    for policies in ("", "--judged-only drop", "--run-only keep", "--judged-only drop --run-only keep"):
        values[policies] = rows(f"evaluate more.run --qrels more.txt -m rr {policies}")[0]["mean"]
    assert list(values.values()) == [0.5, 0.75, 1.5 / 4, 0.5]
    asked = ["more.run", "b.run", "--qrels", "more.txt", "-m", "rr", "--run-only", "keep", "--missing"]
    assert main(["compare", *asked, "error"]) == 2
    assert "run 'b' lacks 1 of 4 queries that another run has ('q8'); --missing zero counts" in capsys.readouterr().err
    assert main(["compare", *asked, "zero"]) == 0
    notes = capsys.readouterr().err.splitlines()
    assert [note.partition(" and ")[0] for note in notes] == [
        f"rankframe: note: {run}: 1 of 3 judged queries are not in the run" for run in ("more", "b")
    ]


def test_queries_that_a_run_lacks_are_left_out_where_that_is_said(rows: Out) -> None:
    Path("half.run").write_text(A[: A.index("q2")])
    asked = "compare half.run b.run --qrels qrels.txt -m rr --judged-only drop --missing"
    assert [(row["n_queries"], row["difference"]) for row in rows(f"{asked} drop")] == [(1, 0.5)]
    assert [(row["n_queries"], row["difference"]) for row in rows(f"{asked} zero")] == [(2, 0.5)]


def test_slices_may_stand_in_the_judgments(rows: Out) -> None:
    Path("sliced.csv").write_text("query_id,doc_id,label,lang\nq1,d2,1,en\nq2,d4,1,fr\n")
    found = rows("compare a.run b.run --qrels sliced.csv -m rr --by lang")
    assert [(row["lang"], row["difference"]) for row in found] == [("en", 0.5), ("fr", -0.5)]


# curve


def test_a_curve_has_the_mean_at_every_rank(rows: Out) -> None:
    found = rows("curve a.run --qrels qrels.txt -m precision -m recall")
    # q1 finds d2 at rank 2, one of two; q2 finds its only one at rank 1
    assert [(row["rank"], row["precision"], row["recall"]) for row in found] == [
        (1, 0.5, 0.5),
        (2, pytest.approx((1 / 2 + 1 / 2) / 2), 0.75),
        (3, pytest.approx((1 / 3 + 1 / 3) / 2), 0.75),
    ]


def test_a_curve_of_queries_and_runs_goes_as_far_as_said(rows: Out) -> None:
    found = rows("curve a.run b.run --qrels qrels.txt -m rr --to 2 --per-query")
    assert [tuple(row.values()) for row in found] == [
        ("a", "q1", 1, 0.0),
        ("a", "q1", 2, 0.5),
        ("a", "q2", 1, 1.0),
        ("a", "q2", 2, 1.0),
        ("b", "q1", 1, 1.0),
        ("b", "q1", 2, 1.0),
        ("b", "q2", 1, 0.0),
        ("b", "q2", 2, 0.5),
    ]
    wide = rows("curve wide.csv --runs a,b -m rr -m recip_rank --to 2")  # one metric by two names
    assert [tuple(row.values()) for row in wide] == [("a", 1, 0.5), ("a", 2, 0.75), ("b", 1, 0.5), ("b", 2, 0.75)]


def test_without_a_last_rank_a_curve_stops_at_twenty(rows: Out) -> None:
    Path("deep.run").write_text("".join(f"q1 Q0 d{i} {i} {100 - i} t\n" for i in range(30)))
    assert len(rows("curve deep.run --qrels qrels.txt")) == 20
    assert rows("curve deep.run --qrels qrels.txt --to 30")[-1]["rank"] == 30


def test_a_curve_is_drawn_where_a_file_is_named(out: Out) -> None:
    for name, start in {"c.svg": b"<svg", "c.png": b"\x89png"}.items():
        assert out(f"curve a.run b.run --qrels qrels.txt -m ndcg --to 2 -o {name}") == ""
        assert Path(name).read_bytes().strip().lower().startswith(start)
    both = Path("c.svg").read_text()
    assert "nDCG at every cutoff" in both
    out("curve a.run --qrels qrels.txt -m ndcg --to 2 -o c.svg")
    assert Path("c.svg").read_text() != both


@pytest.mark.nightly
def test_a_curve_is_drawn_on_a_page_of_its_own(out: Out) -> None:
    out("curve a.run b.run --qrels qrels.txt -m ndcg --to 2 -o c.html")
    page = Path("c.html").read_text()
    assert page.strip().lower().startswith("<!doctype html>")
    assert "nDCG at every cutoff" in page


# check


def test_a_check_that_finds_nothing_says_so(out: Out) -> None:
    assert out("check b.run --qrels qrels.txt") == "Nothing found\n"
    assert json.loads(out("check b.run --qrels qrels.txt --format json")) == []


def test_a_check_prints_no_notes_on_what_it_finds(out: Out, capsys: pytest.CaptureFixture[str]) -> None:
    Path("more.txt").write_text(f"{QRELS}q3 0 d7 0\n")
    assert main(["check", "a.run", "--qrels", "more.txt", "--judged-only", "error"]) == 0
    assert capsys.readouterr().err == ""


def test_a_check_exits_with_one_if_a_named_problem_is_found(out: Out, capsys: pytest.CaptureFixture[str]) -> None:
    Path("more.txt").write_text(f"{QRELS}q3 0 d7 0\n")
    line = ["check", "a.run", "--qrels", "more.txt"]
    for problems, code in (([], 0), (["note"], 1), (["tied scores"], 0), (["tied scores", "nothing retrieved"], 1)):
        assert main([*line, *(x for name in problems for x in ("--fail-on", name))]) == code
    capsys.readouterr()
    assert main([*line, "--fail-on", "nothing"]) == 2
    assert "did you mean" in capsys.readouterr().err.lower()


def test_notes_leave_the_exit_code_and_errors_make_it_one(rows: Out) -> None:
    Path("more.txt").write_text(f"{QRELS}q3 0 d7 0\n")
    Path("more.run").write_text(f"{A}q1 Q0 d8 4 1 t\nq8 Q0 d1 1 2 t\n")
    found = rows("check more.run --qrels more.txt")
    assert [(row["severity"], row["problem"], row["query_id"]) for row in found] == [
        ("note", "query without judgments", "q8"),
        ("note", "nothing retrieved", "q3"),
    ]
    assert found[1]["advice"] == "the run has nothing for the query; it counts, or is left out with --judged-only drop"
    Path("twice.txt").write_text(f"{QRELS}q1 0 d2 1\n")
    found = rows("check b.run --qrels twice.txt", code=1)
    assert [(row["severity"], row["problem"], row["doc_id"]) for row in found[:1]] == [
        ("error", "repeated judgment", "d2")
    ]


def test_files_that_hold_a_document_twice_are_checked_each_by_itself(rows: Out) -> None:
    Path("twice.run").write_text(f"{A}q1 Q0 d1 9 9 t\n")
    found = rows("check twice.run --qrels qrels.txt", code=1)
    assert [(row["problem"], row["query_id"], row["doc_id"]) for row in found] == [("repeated document", "q1", "d1")]


def test_judgments_of_subtopics_are_no_repeated_ones_whatever_their_column_is_called(rows: Out) -> None:
    Path("themes.csv").write_text("query_id,doc_id,theme,label\nq1,d2,s,1\nq1,d2,t,1\nq2,d9,s,1\n")
    assert (
        rows("evaluate a.run --qrels themes.csv --subtopic theme -m strec@2")[0]["mean"] == 0.5
    )  # of q1 all, of q2 none
    found = rows("check a.run --qrels themes.csv --subtopic theme")
    assert "repeated judgment" not in [row["problem"] for row in found]


def test_ids_that_are_written_in_two_ways_are_noted(out: Out, capsys: pytest.CaptureFixture[str]) -> None:
    Path("upper.txt").write_text(QRELS.replace("d", "D"))
    assert main(["compare", "a.run", "b.run", "--qrels", "upper.txt", "-m", "rr"]) == 0
    notes = capsys.readouterr().err.splitlines()
    assert [note.partition("; ")[0] for note in notes] == [
        f"rankframe: note: {name}: no retrieved document is judged" for name in ("a", "b")
    ]
    assert main(["trec_eval", "upper.txt", "a.run"]) == 0
    assert capsys.readouterr().err.startswith("rankframe: note: no retrieved document is judged; write the ids alike")
    found = json.loads(out("check a.run --qrels upper.txt --format json"))
    assert [row["problem"] for row in found][-1] == "no retrieved document judged"
    assert capsys.readouterr().err == ""


def test_a_warning_of_another_library_is_shown_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.warns(UserWarning, match="of another"), warnings_as_notes():
        warnings.warn("of another", UserWarning, stacklevel=1)
    assert capsys.readouterr().err == ""


def test_a_table_in_which_all_was_judged_is_checked_without_a_note(rows: Out) -> None:
    Path("inner.csv").write_text("query_id,doc_id,score,label\nq1,d1,3,1\nq1,d2,1,0\n")
    assert rows("check inner.csv") == []
    assert rows("check inner.csv --qrels inner.csv") == []


def test_a_gate_of_nothing_that_was_measured_exits_with_two(out: Out, capsys: pytest.CaptureFixture[str]) -> None:
    for label, says in (
        ("0", "no document of any query is relevant: no label is above 0"),
        ("", "nobody judged a document: column 'label' is null in all 40 rows"),
        ("0.2", "no document of any query is relevant: labels go from 0.2 to 0.2 and --relevant 1"),
    ):
        lines = [f"q{i},d{j},{i + j},{i - j},{label}" for i in range(20) for j in range(2)]
        Path("low.csv").write_text("\n".join(["query_id,doc_id,old,new,label", *lines]))
        assert main(["gate", "low.csv", "--runs", "old,new", "--budget", "map=0.2"]) == 2
        assert capsys.readouterr().err.startswith(f"rankframe: error: {says}")


def test_a_table_is_checked_by_itself(rows: Out) -> None:
    bad = {"query_id": ["q1", "q1"], "doc_id": ["a", "b"], "score": [math.nan, 1.0], "label": [1, 1]}
    pl.DataFrame(bad).write_parquet("bad.parquet")
    assert [row["problem"] for row in rows("check bad.parquet", code=1)] == ["NaN score"]
    found = rows("check a.run", code=1)
    assert found[0]["problem"] == "no labels"
    assert found[0]["advice"].endswith("--qrels QRELS")


# conventions


def test_notes_and_advice_stand_below_the_table_on_a_terminal(rows: Out, out: Out) -> None:
    for line, name, text in (
        ("conventions a.run --qrels qrels.txt -m rr", "tool", "note"),
        ("check a.run --qrels twice.txt", "problem", "advice"),
    ):
        Path("twice.txt").write_text("q1 0 d1 1\nq1 0 d1 1\nq2 0 d4 1\n")
        code = int(line.startswith("check"))
        *_, table, below = out(line, code=code).split("\n\n")
        said = {f"{row[name]}: {row[text]}" for row in rows(line, code=code) if row[text]}
        assert said
        lines = re.split(r"\n(?=[\w ]+: )", below)
        assert {" ".join(line.split()) for line in lines} == {" ".join(text.split()) for text in said}
        assert text not in table.splitlines()[0]
        assert max(map(len, table.splitlines())) <= 120


def test_conventions_say_what_each_tool_sets(rows: Out, out: Out) -> None:
    found = rows("conventions")
    assert {row["tool"] for row in found} == set(CONVENTIONS)
    said = {(row["tool"], name): row for row in found for name in row["metrics"].split()}
    assert {name for tool, name in said if tool == "lightgbm"} == set(CONVENTIONS["lightgbm"].metrics)
    assert said["lightgbm", "map"]["options"] == "divisor=min(k,R)"
    assert said["lightgbm", "map"]["policies"] == ("unretrieved=drop, ties=order, relevant=above 0.5, no_relevant=one")
    assert said["lightgbm", "ndcg"]["policies"].endswith("relevant=above 0, no_relevant=one")
    assert "\nxgboost: with a minus after the cutoff" in out("conventions")


def test_a_run_is_counted_as_each_tool_counts(rows: Out) -> None:
    found = rows("conventions wide.csv --score a -m map -m rr")
    assert {row["metric"] for row in found if row["tool"] == "rankframe"} == {"map", "rr"}
    assert "says" not in found[0]
    assert {row["tool"] for row in found if row["metric"] is None} == {
        "elliot"
    }  # whose MAP is another measure, of lists cut at k
    assert {row["value"] for row in found if row["metric"]} == {
        0.75
    }  # one relevant document a query, all retrieved, no ties
    assert {row["tool"] for row in found if str(row["metric"]).partition("@")[0] == "rr"} == {
        "rankframe",
        *(tool for tool, convention in CONVENTIONS.items() if "rr" in convention.metrics),
    }


def test_a_metric_is_explained_in_words_tool_by_tool(rows: Out, out: Out) -> None:
    found = {row["tool"]: row for row in rows("conventions --explain ndcg@10")}
    assert [*found] == ["rankframe", *(tool for tool in CONVENTIONS if "ndcg" in CONVENTIONS[tool].metrics)]
    assert "value" not in found["mlflow"]
    assert found["mlflow"]["metric"] == "ndcg(gain=binary,ideal=as_many)@10"
    assert found["mlflow"]["says"].endswith("its ideal has no more documents than were retrieved")
    printed = out("conventions --explain ndcg@10")
    assert "\nspark: documents with equal scores stay in the order given; a relevant document gains 1" in printed
    assert "\nmlflow: version 3" in printed


def test_a_number_that_was_seen_is_found_for_a_run(rows: Out, out: Out) -> None:
    found = rows("conventions wide.csv --score a --explain rr --observed 0.75")
    assert [row["difference"] for row in found] == [0] * len(found)
    asked = "conventions wide.csv --score a --explain precision@3 --observed"
    assert "\n0.33 is what the definition says\n" in out(f"{asked} 0.33")
    assert "\nno tool here prints 0.9, and no single choice gives it; the definition says 0.3\n" in out(f"{asked} 0.9")


# metrics, report


def test_metrics_are_listed_for_programs(rows: Out) -> None:
    assert [row["metric"] for row in rows("metrics")] == [*rf.METRICS, *rf.CATALOG_METRICS, *rf.AGREEMENTS]


def test_a_report_is_written_of_files(out: Out) -> None:
    asked = "--qrels qrels.txt -m ndcg@10 -m rr --baseline a --resamples 50 --seed 3 --worst 1 --title Ours"
    assert out(f"report a.run b.run {asked} -o r.html") == "r.html\n"
    page = Path("r.html").read_text(encoding="utf-8")
    assert "<h1>Ours</h1>" in page
    assert "<td>b</td><td>a</td>" in page  # the run, and the baseline
    assert "&#34;seed&#34;: 3" in page


def test_a_report_of_files_shows_the_verdict_of_a_gate(out: Out) -> None:
    asked = "a.run b.run --qrels qrels.txt --baseline a --budget rr=0.9 --budget ndcg=0.01 --resamples 50"
    assert out(f"report {asked} -m rr -o r.html") == "r.html\n"
    page = Path("r.html").read_text(encoding="utf-8")
    assert "Gate: not passed" in page
    *lines, of_runs = out(f"gate {asked}", code=1).splitlines()
    assert [f"<li>{line}</li>" in page for line in lines] == [True, True]
    assert of_runs == "The runs differ in documents per query: 2.5 (a) and 2 (b)."
    assert of_runs in page


def test_a_baseline_may_be_named_by_its_file(out: Out) -> None:
    Path("x").mkdir()
    Path("x/b.run.gz").write_bytes(Path("b.run.gz").read_bytes())
    for verb in ("compare", "gate --budget rr=0.9"):
        asked = f"{verb} a.run x/b.run.gz --qrels qrels.txt {'-m rr ' * (verb == 'compare')}--resamples 50 --baseline"
        found = {out(f"{asked} {name}") for name in ("b", "b.run", "b.run.gz", "x/b.run", "x/b.run.gz")}
        assert len(found) == 1
        assert "b" in found.pop()


def test_a_baseline_that_is_the_name_of_two_files_is_refused(out: Out, capsys: pytest.CaptureFixture[str]) -> None:
    Path("x").mkdir()
    Path("x/a.run").write_bytes(Path("a.run").read_bytes())
    assert main(["compare", "x/a.run", "b.run.gz", "a.run", "--qrels", "qrels.txt", "-m", "rr", "--baseline", "a"]) == 2
    assert "--baseline a is none of the runs" in capsys.readouterr().err
    assert "`b.run.gz`" in out("compare x/a.run b.run.gz a.run --qrels qrels.txt -m rr --baseline a.run")


def test_a_gate_without_a_baseline_holds_the_others_against_the_first_run(out: Out) -> None:
    budgets = "--budget rr=0.1 --resamples 50"
    for runs in ("b.run a.run --qrels qrels.txt", "wide.csv --runs b,a"):
        assert out(f"gate {runs} {budgets}", code=1) == out(f"gate {runs} --baseline b {budgets}", code=1)
        assert "rr of a: " in out(f"gate {runs} {budgets}", code=1)
    out(f"report b.run a.run --qrels qrels.txt -m rr {budgets} -o r.html")
    assert "rr of a: " in Path("r.html").read_text(encoding="utf-8")


def test_budgets_stand_in_one_option_with_commas_too(out: Out) -> None:
    gate = "gate a.run b.run --qrels qrels.txt"
    apart = out(f"{gate} --budget rr=0.9 --budget ndcg@1=0.2 --budget err(max_label=4)@2=0.2", code=1)
    assert out(f"{gate} --budget rr=0.9,ndcg@1=0.2,err(max_label=4)@2=0.2", code=1) == apart
    assert len(apart.splitlines()) == 3 + 1  # and a line on the depth of the runs


def test_a_report_shows_columns_of_the_files(out: Out) -> None:
    Path("titled.csv").write_text("query_id,doc_id,score,title\nq1,d1,2,Alpha\nq1,d2,1,Beta\nq2,d4,1,Gamma\n")
    assert out("report titled.csv --qrels qrels.txt --show title --by lang -o r.html", code=2) == ""
    Path("sliced.csv").write_text("query_id,doc_id,label,lang\nq1,d2,1,en\nq2,d4,1,fr\n")
    out("report titled.csv --qrels sliced.csv -m rr --show title --by lang -o r.html --resamples 50")
    page = Path("r.html").read_text(encoding="utf-8")
    assert "Alpha" in page
    assert "By lang" in page


# progress and the reader


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def until(holds: Callable[[], bool]) -> None:
    """Wait, at most some seconds, for another thread."""
    for _ in range(500):
        if holds():
            return
        time.sleep(0.01)
    raise AssertionError


def test_long_work_says_what_it_does_on_a_terminal(out: Out, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    monkeypatch.setenv("TERM", "xterm")
    with progress.Progress("reading [a.run]") as first:
        until(lambda: first._bar is not None)
        with progress.Progress("a second one") as second:
            until(lambda: not second._thread.is_alive())
            second(1, 2)
    assert "reading [a.run]" in screen.getvalue()
    assert "second" not in screen.getvalue()
    assert not progress.SCREEN.locked()
    out("evaluate a.run --qrels qrels.txt")
    assert not progress.SCREEN.locked()


def test_without_rich_long_work_is_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    monkeypatch.setitem(sys.modules, "rich.console", None)
    with progress.Progress("reading a.run") as first:
        until(lambda: not first._thread.is_alive())
    assert screen.getvalue() == ""


def test_an_interrupt_ends_the_command_quietly(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(rf, "rank", interrupt)
    assert main(["evaluate", "a.run", "--qrels", "qrels.txt"]) == 130
    assert capsys.readouterr() == ("", "")


def test_a_closed_pipe_ends_the_command_quietly(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w") as closed:
        monkeypatch.setattr(sys, "stdout", closed)
        assert main(["metrics"]) == 141
        monkeypatch.undo()
    assert capfd.readouterr().err == ""


def test_output_may_go_to_any_object_that_is_written_to() -> None:
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        assert main(["evaluate", "a.run", "--qrels", "qrels.txt", "-m", "rr", "--format", "csv"]) == 0
    assert printed.getvalue() == "metric,mean,queries\nrr,0.75,2\n"


def test_output_is_utf_8_whatever_the_locale(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("u.csv").write_text("query_id,doc_id,score,label\nÄpfel,文,1,1\n", encoding="utf-8")
    printed = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(printed, encoding="ascii"))
    assert main(["evaluate", "u.csv", "-m", "rr", "--per-query", "--format", "csv"]) == 0
    assert printed.getvalue().decode("utf-8").splitlines() == ["query_id,rr", "Äpfel,1.0"]


@each(
    ("said", "words"),
    [
        (("say ", on(label="rel")), "say --label rel"),
        (("say ", on(query=...), ", too"), "say --query COLUMN, too"),
        (("name all: ", on(query=[...])), "name all: --query COLUMN"),
        (
            ("as in ", on(unjudged="bounds", unjudged_labels=(0, 1))),
            "as in --unjudged bounds --unjudged-labels 0,1",
        ),
        ((option(runs=["a b", "c"]), " names a column twice"), "--runs 'a b',c names a column twice"),
        ((option(baseline="it's"), " is none"), "--baseline 'it'\"'\"'s' is none"),
        (("'precision(relevant=2)@5' has ", option(relevant=math.nan)), "'precision(relevant=2)@5' has --relevant nan"),
        (("start from ", judge(run="system")), "start from --qrels QRELS --run system"),
        (("all listed by ", Advice("check", of=("qrels",))), "all listed by rankframe check"),
        (("cast it", Code("df.cast()", "df.astype()", phrase=", as in {}"), ", or not"), "cast it, or not"),
        ((Code("judge counts it", command="it counts"), "; not"), "it counts; not"),
        (("nested ", ("twice ", (on(doc=...),))), "nested twice --doc COLUMN"),
        ("two\n lines", "two lines"),
    ],
)
def test_what_is_said_is_put_in_the_words_of_the_command_line(said: Text, words: str) -> None:
    assert in_options(said) == words


@each(
    ("command", "message"),
    [
        ("evaluate wide.csv -m rr --score ltr", "no column 'ltr' for score in wide.csv; it has query_id, doc_id, a, b"),
        ("evaluate wide.csv -m rr --score a --query nope", "no column 'nope' for query_id in wide.csv"),
        ("evaluate wide.csv -m rr --score a --label a", "column 'a' is named for two roles"),
        ("compare a.run ./a.run --qrels qrels.txt -m rr", "a.run is given twice"),
        ("gate wide.csv --runs a,b --baseline a --budget rr=0 --budget rr=1", "--budget rr is given twice"),
        ("curve wide.csv --score a -m ndcg --unjudged bounds", "bounds have no curve"),
        ("curve wide.csv --score a -m relstring", "relstring is no number"),
    ],
)
def test_what_is_misspelt_or_said_twice_is_no_other_thing(
    command: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(command.split()) == 2
    assert message in capsys.readouterr().err


def test_the_runs_of_a_curve_share_the_largest_label(out: Out) -> None:
    Path("runs.csv").write_text("query_id,doc_id,score,label,run\n1,a,2,1,A\n1,b,1,0,A\n1,a,1,1,B\n1,c,2,2,B\n")
    found = pl.read_csv(io.StringIO(out("curve runs.csv --run run -m err --to 1 --format csv")))
    assert found.rows() == [("A", 1, 0.25), ("B", 1, 0.75)]  # (2^label - 1) / 2^2


def test_values_of_the_user_are_not_options(capsys: pytest.CaptureFixture[str]) -> None:
    name = "as df.fill_nan(None) score=3 df.rank.check()"
    table = pl.DataFrame({"query_id": ["1"], "doc_id": [name], "score": [math.nan], "label": [1]})
    table.write_parquet("nan.parquet")
    assert main(["evaluate", "nan.parquet"]) == 2
    assert capsys.readouterr().err.endswith(f"not retrieved (found in 1 row: query_id='1', doc_id={name!r})\n")


def test_the_bounds_of_a_geometric_mean_are_geometric_means(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "t.csv").write_text("query_id,doc_id,score,label\n1,a,1,1\n2,a,1,0\n")  # all is judged: 1 and 0.00001
    command = ["evaluate", str(tmp_path / "t.csv"), "-m", "gm_map", "--unjudged", "bounds", "--format", "json"]
    assert main(command) == 0
    means = [row["mean"] for row in json.loads(capsys.readouterr().out)]
    assert means == pytest.approx([math.sqrt(1 * 0.00001)] * 2, rel=1e-9)
