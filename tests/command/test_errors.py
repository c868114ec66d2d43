"""Every mistake on the command line is told in one line, in the command line's own words, with exit code 2."""

from __future__ import annotations

import argparse
import ast
import io
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import polars as pl
import pytest

import rankframe
from rankframe._command import main, parser
from tests.support.each import each

PACKAGE = Path(rankframe.__file__).parent


def options(of: argparse.ArgumentParser) -> Iterator[str]:
    """The options of the command line and of all its commands, as Python names them."""
    for action in of._actions:
        yield from (name[2:].replace("-", "_") for name in action.option_strings if name.startswith("--"))
        for command in action.choices.values() if isinstance(action, argparse._SubParsersAction) else ():
            yield from options(command)


OPTIONS = {*options(parser())}
NAMED = "|".join(sorted(OPTIONS))
PYTHON = re.compile(rf"\b(df|rf|pl|qrels)\.\w+[.(]|(?<![\w(,.])({NAMED})=(?!=)|\bjudge\b")
"""What somebody at a prompt cannot type: calls, and keywords other than those in a metric's brackets."""

NOT_HERE = (
    # engines, frames and expressions that no command meets
    *(
        "spark",
        "dask",
        "hook",
        "_lift/engine",
        "_lift/arrow_kernel",
        "_lift/spark_tables",
        "_lift/tried_names",
        "_support/tried_options",
        "_lift/pandas",
        "_lift/polars",
        "_words/group_rows",
        "_lift/pandas_columns",
        "_lift/pandas_tables",
        "_table/steps",
    ),
    *(
        "_table/conventions",
        "_table/trec_eval",
        "_catalog/names",
    ),  # metrics' texts as data, and notes, which name options of tools
    *("_results/grid", "_results/columns", "plot", "report", "__init__"),
    *("_lift/ranker", "_lift/method", "_lift/display"),
    *("_shapes", "_trainers"),  # calls of Python alone
    *("_command", "_pictures/draw", "_lift/partial_sums"),  # its own words; code of charts
)
UNREACHED = (
    *(
        "compare('ndcg@10'",
        "gate({'ndcg@10'",
        "power('ndcg@10'",
        "reliability('ndcg@10'",
        "leave_one_run_out('map'",
        "sequential('ndcg@10'",
        "differences('ndcg@10'",
        "catalog('coverage@10'",
        "items.compare('coverage@10'",
        "compare_groups('ndcg@10'",
        "slices('ndcg@10'",
        "over('ndcg@10'",
        "plot.catalog('coverage'",
        "trade_off('novelty@10'",
        "oracle('ndcg@10'",
        "tune('wsum'",
        "rf.sql('ndcg@10'",
        "label_agreement('label'",
        "reproduces('ndcg@10'",
    ),  # which `asked_as` takes
    *("write title=", "as in label='tab:runs'"),  # options of pages and tables, which commands fill in
    *("write an expression for each", "which takes more than one step"),  # expressions
    "judge joins by document",  # which every run has
    "is no name of a metric",
    *("which its declaration does not tell", "which is 0; write the value there"),  # metrics of one's own
    "io.BytesIO(content)",
    "io.StringIO(text)",
    "rf.rank(table)",
    "there is no method to tune",  # the command line requires --method
    "name each file in one list",
    "a pattern stands alone",
    "reads labels, which it does not declare",  # a metric of one's own
    ".fill_null(False).all().over(",  # code for a frame, which a command cannot run
    "rf.from_dicts(",
)


PUT_IN = {"role": "label"}


def filled(part: ast.FormattedValue) -> str:
    return PUT_IN.get(ast.unparse(part.value), "'x'" if part.conversion == ord("r") else "x")


def calls(tree: ast.AST, *names: str) -> Iterator[ast.Call]:
    """The calls of functions of these names."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names:
            yield node


def code(tree: ast.AST) -> Iterator[ast.AST]:
    """Names of columns, and code of Polars and pandas, which a front without it leaves out or has other words for."""
    for call in calls(tree, "schema"):
        yield from call.args
    for call in calls(tree, "Code"):
        yield from (*call.args, *(keyword.value for keyword in call.keywords if keyword.arg == "pandas"))


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def texts(path: Path) -> Iterator[str]:
    """The texts of a module that are no documentation and no code, with something in the place of what is put in."""
    tree = tree_of(path)
    nodes = [*ast.walk(tree)]
    passed = [node.value for node in nodes if isinstance(node, ast.Expr)]
    left_out = {id(part) for node in (*passed, *code(tree)) for part in ast.walk(node) if isinstance(part, TEXTS)}
    left_out |= {
        id(part)
        for node in nodes
        if isinstance(node, ast.JoinedStr)
        for part in ast.walk(node)
        if isinstance(part, TEXTS) and part is not node
    }
    for node in nodes:
        if id(node) in left_out:
            continue
        if isinstance(node, ast.JoinedStr):
            yield "".join(
                str(part.value) if isinstance(part, ast.Constant) else filled(part)
                for part in node.values
                if isinstance(part, (ast.Constant, ast.FormattedValue))
            )
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


TEXTS = (ast.Constant, ast.JoinedStr)
HERE = [
    path
    for path in sorted(PACKAGE.rglob("*.py"))
    for at in [path.relative_to(PACKAGE).with_suffix("").parts]
    if not {"/".join(at[:1]), "/".join(at)} & set(NOT_HERE)
]
"""The modules whose errors may reach the command line."""


def test_what_the_library_says_has_words_for_the_command_line() -> None:
    said = {(path.stem, text) for path in HERE for text in texts(path) if " " in text and len(text) > 20}
    assert len(said) > 250
    left = [(at, text) for at, text in said if PYTHON.search(text) and not any(part in text for part in UNREACHED)]
    assert left == []


def test_every_option_that_the_library_advises_is_one_of_the_command_line() -> None:
    advised = [
        (path.stem, keyword.arg)
        for path in HERE
        for call in calls(tree_of(path), "on", "option", "judge")
        for keyword in call.keywords
    ]
    assert len(advised) > 60
    of_no_command = {
        None,
        "memory_limit",
        "weights",
        "k",
        "normalization",
        "of",
        "like",
        "name",
    }  # rows beyond memory, weights of queries, a verb's own cutoff, a method's own option, verbs' without a command, another ranker, a new column; None of one that was given
    assert [(at, name) for at, name in advised if name not in OPTIONS | of_no_command] == []


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files of all commands here, most of which fail before they write one."""
    with pytest.MonkeyPatch.context() as patches:
        patches.chdir(made := tmp_path_factory.mktemp("files"))
        write_files()
    return made


@pytest.fixture(autouse=True)
def _in_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)


def write_files() -> None:
    Path("a.run").write_text("q1 Q0 d1 1 3 t\nq1 Q0 d2 2 2 t\n")
    Path("b.run").write_text("q1 Q0 d2 1 3 t\n")
    Path("other.run").write_text("7 Q0 d2 1 3 t\n")
    Path("empty.run").write_text("")
    Path("latin.run").write_bytes("q1 Q0 d\xe9 1 3 t\n".encode("latin1"))
    Path("qrels.txt").write_text("q1 0 d2 1\n")
    Path("twice.txt").write_text("# comment\nq1 0 d2 1\nq1 0 d1 1\n\nq1 0 d2 0\nq1 0 d1 0\n")
    Path("double.txt").write_text("q1 0 d2 1\nq1 0 d2 1\n")
    Path("own.csv").write_text("Topic,docno,sim,rel\nq1,d1,3,1\n")
    Path("scored.csv").write_text("qid,doc,score,rel\nq1,d1,3,1\n")
    Path("double.run").write_text("q1 Q0 d1 1 3 t\nq1 Q0 d2 2 2 t\nq1 Q0 d1 3 1 t\n")
    pl.DataFrame({"query_id": ["q1"] * 2, "doc_id": ["d2"] * 2, "label": [1, 1]}).write_parquet("twice.parquet")
    Path("q9.txt").write_text("q1 0 d2 1\nq9 0 d2 1\n")
    Path("empty.txt").write_text("")
    Path("semicolons.csv").write_text("query_id;doc_id;score;label\nq1;a;2;0\n")
    Path("five.txt").write_text("q1\n")
    nan = {"query_id": ["q1", "q1"], "doc_id": ["d1", "d2"], "score": [1.0, float("nan")], "label": [float("nan"), 1.0]}
    pl.DataFrame(nan).write_parquet("nan.parquet")
    Path("t.csv").write_text("query_id,doc_id,score,label,lang\nq1,a,2,0,en\nq1,b,1,1,en\nq2,a,2,1,fr\n")
    Path("varied.csv").write_text("query_id,doc_id,score,label,lang\nq1,a,2,0,en\nq1,b,1,1,fr\n")
    Path("nodoc.csv").write_text("query_id,score,label\nq1,2,1\nq1,2,0\n")
    Path("tied.csv").write_text("query_id,doc_id,score,label\nq1,a,2,1\nq1,b,2,0\n")
    Path("nan.csv").write_text("query_id,doc_id,score,label\nq1,a,nan,1\n")
    Path("twice.csv").write_text("query_id,doc_id,score,label\nq1,a,2,1\nq1,a,1,1\n")
    Path("words.ndjson").write_text('{"query_id": 1, "doc_id": "a", "score": "high", "label": 1}\n')
    Path("broken.ndjson").write_text('{"query_id": 1\n')
    Path("broken.parquet").write_text("not a table")
    Path("broken.run.gz").write_bytes(b"\x1f\x8b\x08\x00")
    Path("long.csv").write_text("system,query_id,doc_id,score,label\nx,q1,a,2,1\ny,q1,a,2,1\ny,q2,a,2,1\n")
    Path("nameless.csv").write_text("system,query_id,doc_id,score,label\nx,q1,a,2,1\ny,q1,b,2,1\n,q1,c,,1\n")
    Path("sliced.csv").write_text("query_id,doc_id,score,label,queries,map\nq1,a,2,1,x,y\n")
    Path("other.csv").write_text("qid,doc_id,score,rel\nq1,a,2,1\n")
    Path("weighted.csv").write_text("query_id,doc_id,score,label,w\nq1,a,2,1,-1\n")
    Path("folder").mkdir()


WRONG = [
    # files
    ("evaluate none.run --qrels qrels.txt", "none.run: No such file or directory"),
    ("evaluate a.run --qrels none.txt", "none.txt: No such file or directory"),
    ("evaluate folder --qrels qrels.txt", "folder: "),
    ("evaluate empty.run --qrels qrels.txt", "empty.run holds no document"),
    ("evaluate - --qrels qrels.txt", "standard input holds no document"),
    ("evaluate - --qrels -", "two files cannot both be standard input; write one of them to a file"),
    ("evaluate a.run --qrels empty.txt", "empty.txt holds no judgment"),
    (
        "evaluate other.run --qrels qrels.txt",
        "other.run: no query of the run is judged; write the ids alike in both tables",
    ),
    (
        "evaluate latin.run --qrels qrels.txt",
        "latin.run, line 1: 'q1 Q0 d\ufffd 1 3 t' is no UTF-8; write the file in UTF-8",
    ),
    ("evaluate broken.ndjson", "broken.ndjson, line 1: '{\"query_id\": 1' is no JSON object"),
    ("evaluate broken.parquet", "broken.parquet: "),
    ("evaluate broken.run.gz --qrels qrels.txt", "broken.run.gz: "),
    ("evaluate a.run --qrels b.run", "b.run, line 1: 6 fields instead of 4"),
    (
        "evaluate qrels.txt --qrels a.run",
        "6 fields instead of 4 in 'q1 Q0 d1 1 3 t'. Write 'query_id iteration doc_id label', or name the format of a table",
    ),
    (
        "evaluate semicolons.csv --qrels qrels.txt",
        "no column 'query_id', 'doc_id', 'score' in semicolons.csv; it has query_id;doc_id;score;label",
    ),
    (
        "evaluate five.txt --qrels qrels.txt",
        "five.txt, line 1: 1 field instead of 6 in 'q1'. Write 'query_id Q0 doc_id",
    ),
    ("evaluate a.run --qrels t.csv --qrels-input trec", "or name the format of a table"),
    (
        "evaluate a.run --input csv --qrels qrels.txt",
        "Say --query 'its query column' --doc 'its doc column' --score 'its score column'",
    ),
    # columns
    (
        "evaluate own.csv --query Topic --score sim",
        "no column 'label' for label; the table has query_id, docno, score, rel",
    ),
    ("evaluate a.run --qrels scored.csv", "Say --query qid --doc doc --label rel"),
    (
        "evaluate a.run",
        "no column 'label' for label; the table has query_id, doc_id, score, run. "
        "Bring the judgments of another table: --qrels QRELS",
    ),
    ("evaluate t.csv --by market", "no column 'market' for by; the table has query_id, doc_id, score, label"),
    ("evaluate sliced.csv --by queries", "a second column 'queries', which --by has; rename that column"),
    ("evaluate sliced.csv -m map --by map --per-query", "a second column 'map', which --by has"),
    (
        "evaluate a.run --qrels qrels.txt --query qid",
        "no column 'qid' for --query; the table has query_id, doc_id, score",
    ),
    (
        "compare a.run b.run --qrels qrels.txt --doc item",
        "no column 'item' for --doc; the table has query_id, doc_id, score",
    ),
    (
        "evaluate a.run --qrels qrels.txt --label rel",
        "no column 'rel' for --label; the table has query_id, doc_id, score",
    ),
    ("check a.run --query qid", "no column 'qid' for --query; the table has query_id, doc_id, score, run"),
    (
        "evaluate other.csv --query qid",
        "no column 'label' for label; the table has query_id, doc_id, score, rel. Say --label rel",
    ),
    ("trec_eval -m ndcg.1=3,5 qrels.txt a.run", "'5' names no gain; write a label and its gain, as in ndcg.1=3,2=9"),
    ("trec_eval -m ndcg_cut.1=3 qrels.txt a.run", "ndcg_cut takes ranks or shares; write them as in ndcg_cut.5,10"),
    ("trec_eval -m P.-3 qrels.txt a.run", "P takes ranks or shares"),
    ("evaluate varied.csv --by lang", "a query has several values of 'lang'; name a column"),
    ("evaluate t.csv --subtopic s", "no column 's' for subtopic; the table has query_id, doc_id, score, label, lang"),
    ("report t.csv --show title -o r.html", "no column 'title' for show"),
    (
        "compare t.csv --runs score,dense",
        "no column 'dense' for runs; the table has query_id, doc_id, score, label, lang",
    ),
    ("compare t.csv --run system", "no column 'system' for run; the table has query_id, doc_id, score, label, lang"),
    ("evaluate words.ndjson", "holds String, not numbers; cast it"),
    ("evaluate nodoc.csv --ties doc_asc", "say --doc COLUMN, or --ties order to keep the order of the rows"),
    # what the table holds
    (
        "evaluate nan.csv",
        "nan.csv, row 1: score 'nan' is not a number",
    ),
    (
        "evaluate nan.parquet",
        "nan.parquet: column 'score' holds NaN; write null for a document that was not "
        "retrieved (found in 1 row: query_id='q1', doc_id='d2')",
    ),
    ("fuse nan.parquet --runs score,label", "nan.parquet: column 'score' holds NaN"),
    ("trec_eval qrels.txt nan.parquet", "nan.parquet: column 'score' holds NaN"),
    ("trec_eval nan.parquet a.run", "nan.parquet: column 'label' holds NaN"),
    ("evaluate a.run --qrels nan.parquet", "nan.parquet: column 'label' holds NaN"),
    ("evaluate double.run --qrels qrels.txt", "error: double.run: the run holds a document of a query more than once"),
    (
        "evaluate twice.csv",
        "twice.csv: a query holds the same 'doc_id' twice; keep one row of each, or, if these are several rankings, name the column that says which: --query COLUMN,query_id (found in 2 rows",
    ),
    (
        "evaluate a.run --qrels twice.txt",
        "twice.txt, line 5: query_id 'q1' and doc_id 'd2' also appear on line 2; keep one of them (the first of 2 such lines)",
    ),
    (
        "evaluate a.run --qrels twice.parquet",
        "twice.parquet, row 2: query_id 'q1' and doc_id 'd2' also appear on row 1",
    ),
    (
        "trec_eval twice.txt a.run",
        "twice.txt, line 5: query_id 'q1' and doc_id 'd2' also appear on line 2; keep one of them",
    ),
    ("trec_eval qrels.txt double.run", "double.run, line 3: query_id 'q1' and doc_id 'd1' also appear on line 1"),
    (
        "evaluate long.csv --qrels qrels.txt",
        "keep one row of each, or, if these are several runs, give each a file of its own (found in 2 rows: "
        "query_id='q1', doc_id='a')",
    ),
    (
        "compare a.run double.run --qrels qrels.txt",
        "double: the run holds a document of a query more than once; keep one row of each, or",
    ),
    (
        "compare nameless.csv --run system --qrels qrels.txt",
        "column 'system' names the run of each row, and is null on 1 of 3",
    ),
    ("compare nameless.csv --run system", "Start from that table, without labels: --qrels QRELS --run system"),
    ("evaluate tied.csv --ties error", "--ties error forbids it; choose how ties stand: doc_desc"),
    ("evaluate weighted.csv --weight w -m ndcg", "give each of them its weight (found in 1 row"),
    (
        "evaluate a.run --qrels q9.txt --judged-only error",
        "--judged-only keep counts it with nothing retrieved (found",
    ),
    (
        "compare long.csv --run system --qrels qrels.txt --run-only error",
        "--run-only drop leaves it out (found",
    ),
    # metrics
    ("evaluate t.csv -m ndgc@10", "unknown metric 'ndgc' in 'ndgc@10'. Did you mean 'ndcg'?"),
    ("evaluate t.csv -m rbp(p=2)", "rbp(p=2): write a number between 0 and 1"),
    ("evaluate t.csv -m ndcg@10,,map", "'ndcg@10,,map' has a comma without a metric"),
    ("evaluate t.csv -m nDCG(judged_only=True)@5", "judged_only is a policy of the table; say --unjudged drop"),
    ("evaluate t.csv -m alpha_ndcg@5", "name the column that holds them: --subtopic subtopic"),
    ("evaluate t.csv -m rr --weight score", "rr does not weigh documents; evaluate it separately, without --weight"),
    ("conventions -m ndcg@10", "--qrels and -m go with a run: rankframe conventions RUN --qrels QRELS -m ndcg@10"),
    ("catalog a.run -m coverage@10", "--items 1000, their number, or a file with a row for each"),
    ("catalog a.run -m popularity_lift@10", "say --interactions train.csv, "),
    ("conventions t.csv t.csv", "conventions looks at one RUN"),
    (
        "conventions --explain ndcg@10 --observed 0.8",
        "--observed goes with a run and a metric: RUN --qrels QRELS --explain ndcg@10",
    ),
    ("conventions t.csv --observed 0.8", "--observed goes with a run and a metric"),
    ("conventions t.csv --explain ndcg@10 -m map", "--explain names the metric. Leave -m out"),
    ("conventions t.csv --explain ndcg@10 --observed x", "is no number; give the one that was printed"),
    ("conventions --explain nothing", "unknown metric 'nothing'"),
    ("curve t.csv -m bpref", "bpref takes no cutoff, so it has no curve; take another metric, as -m ndcg"),
    ("curve t.csv -m ndcg@5", "'ndcg@5' names a cutoff, and a curve shows all; give the last rank with --to"),
    ("compare t.csv --runs score,label -m relstring", "relstring is String, which has no mean"),
    # policies
    ("evaluate t.csv --ties coin", "--ties coin: write one of 'doc_desc', "),
    ("evaluate t.csv --convention rankx", "--convention rankx: write one of 'trec_eval', "),
    ("evaluate t.csv --convention lightgbm -m rr", "lightgbm has no rr; it has ndcg, map"),
    ("evaluate t.csv --relevant=-1", "--relevant -1.0: write a number from 0"),
    ("evaluate t.csv --depth 0", "--depth 0: write a whole number from 1 on"),
    ("evaluate t.csv --unjudged-labels 3,0", "--unjudged-labels 3,0: write the least and the greatest label"),
    ("evaluate t.csv --unjudged bounds --ties best", "set another rule, as in --ties doc_desc"),
    ("evaluate t.csv --unjudged-labels 3", "write the least and the greatest label of unjudged documents, as 0,3"),
    ("evaluate t.csv --unjudged bounds --weight score -m dcg", "as --unjudged nonrelevant"),
    ("curve t.csv --unjudged bounds -o c.svg", "or set another rule: --unjudged nonrelevant"),
    ("compare t.csv --runs score,label --unjudged bounds", "--unjudged bounds gives each metric two columns"),
    ("evaluate t.csv --depth 5 --ties expected", "with --ties expected say a cutoff: ndcg@10"),
    ("evaluate t.csv --score query_id", "no column 'query_id' in t.csv"),
    ("metrics map ndgc@10", "unknown metric 'ndgc' in 'ndgc@10'. Did you mean 'ndcg'?"),
    # runs
    ("evaluate t.csv recall@50", "recall@50 is a metric, and no file; write -m recall@50"),
    ("evaluate t.csv a.run", "several runs are evaluated with one file of judgments; say --qrels QRELS"),
    (
        "evaluate a.run b.run --qrels qrels.txt --format trec",
        "no room for the names of several runs; write another, as --format csv",
    ),
    ("evaluate long.csv --run system -m rr --by run", "no column 'run' for by"),
    ("evaluate long.csv --run system -m rr --by query_id", "a second column 'query_id', which --by has"),
    ("convert", "name what to convert: a run, judgments as --qrels QRELS, or both"),
    ("convert a.run --qrels qrels.txt --format trec", "--format trec has no place for labels. Leave --qrels out"),
    (
        "convert a.run b.run --format trec",
        "the column 'run' has the runs 'a', 'b', and a file holds one",
    ),
    ("convert t.csv --runs score,label --format trec", "Name its column with --score instead of --runs"),
    ("convert a.run --format beir", "--format beir holds judgments alone. Name them with --qrels; leave RUN out"),
    ("convert --qrels qrels.txt --format rank_eval", "name the index of each document; say --index products"),
    (
        "convert --qrels qrels.txt --format trec --index i",
        "--index i is for ratings of _rank_eval; say --format rank_eval",
    ),
    (
        "evaluate a.run --qrels qrels.txt -m 'rr map@5'",
        "'rr map@5' is no metric; write a name, options and a cutoff",
    ),
    (
        "compare a.run --qrels qrels.txt",
        "name the runs: --runs bm25,ltr, columns of scores, or --run system, the column",
    ),
    ("compare a.run b.run --qrels qrels.txt --baseline c", "--baseline c is none of the runs, which are a, b"),
    ("compare a.run other.run --qrels qrels.txt", "other: no query of the run is judged"),
    ("compare t.csv --runs score,score", "--runs score,score names a column twice; name each once"),
    ("compare t.csv --runs score", "there is one run to compare"),
    (
        "compare t.csv --runs score,label --run lang",
        "--run system, the column that names the run of each row; not both",
    ),
    ("compare t.csv --runs score,label --qrels qrels.txt", "leave --qrels out to evaluate the table as it is"),
    (
        "compare long.csv --run system -m rr",
        "--missing zero counts them 0 for it, --missing drop leaves them out for all",
    ),
    ("compare long.csv --run system -m rr --resamples 0", "--resamples 0: write a whole number from 1 to 10,000,000"),
    (
        "compare long.csv --run system -m rr --resamples 5 --missing zero",
        "--resamples 5: write a whole number from 39 on",
    ),
    ("gate t.csv --runs score,label --budget rr", "--budget rr: write a metric and a number, as --budget ndcg@10=0.01"),
    ("gate t.csv --runs score,label --budget rr=3%", "--budget rr=3%: write a metric and a number"),
    (
        "gate long.csv --run system --budget rr=1",
        "--run system without a baseline, the run that the others may replace: write --baseline base",
    ),
    ("gate t.csv --runs score,label --baseline score --budget rr=-1", "the budget of 'rr' is -1"),
    (
        "gate t.csv --runs score,label --baseline score --budget rr=1 --confidence 0.3",
        "--confidence 0.3: write a number",
    ),
    # output
    (
        "evaluate t.csv --format trec --by lang",
        "--format trec has no room for --by; write another format, as --format csv",
    ),
    ("curve t.csv -o c.pdf", "-o c.pdf: write a file that ends in .svg or .png or .html"),
    (
        "evaluate t.csv -o t.pdf",
        "-o t.pdf: write a file that ends in .csv or .tsv or .ndjson or .jsonl or .parquet or .pq or .arrow or .feather or .ipc "
        "or .json or .md or .tex or .html or .htm or .txt",
    ),
    (
        "evaluate a.run --qrels qrels.txt -o ./qrels.txt",
        "-o ./qrels.txt: the command reads this file; write another one",
    ),
    ("report t.csv -o t.csv", "-o t.csv: the command reads this file; write another one"),
    ("evaluate t.csv -o t.parquet.gz", "-o t.parquet.gz: write a file that ends in .csv or"),
    ("evaluate t.csv -o t.csv.zst", ".zst is not written; write .gz, or compress the file afterwards"),
    ("fuse a.run b.run -o f.parquet.gz", "-o f.parquet.gz: write a file that ends in .run or"),
    ("check t.csv -o nowhere/c.csv", "-o nowhere/c.csv: there is no folder nowhere"),
    ("metrics -o folder --format csv", "folder: Is a directory"),
    ("evaluate t.csv --format parquet", "--format parquet is no text; name the file to write, as -o table.parquet"),
    ("curve t.csv -o c.svg --per-query", "a picture shows means. Leave --per-query out, or -o"),
    ("report t.csv -o folder", "-o folder: write a file that ends in .html or .htm"),
    ("report t.csv -o r.html --worst=-1", "--worst -1: write a whole number from 0 to 1,000,000,000"),
    ("power t.csv --runs score,label -m rr --difference 0", "--difference 0.0: write a finite number above 0"),
    (
        "power t.csv --runs score,label -m gm_map --difference 0.1",
        "gm_map is summed up by its geometric mean, and this takes plain means; ask for map",
    ),
    (
        "compare t.csv --runs score,label --ci 95",
        "--ci 95.0: write a number between 0 and 1",
    ),
    ("compare t.csv --runs score,label --weights lang", "'lang'"),
]


@each(("command", "message"), WRONG, ids=[command for command, _ in WRONG])
def test_a_mistake_is_one_line_on_standard_error(
    command: str, message: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    code = main(shlex.split(command.replace("(", "'(").replace(")", ")'")))
    captured = capsys.readouterr()
    assert code == 2
    assert captured.out == ""
    *notes, error = captured.err.splitlines()
    assert all(note.startswith("rankframe: note: ") for note in notes)
    assert error.startswith("rankframe: error: ")
    assert message in error
    assert not PYTHON.search(error)


@each(
    ("command", "path", "run"),
    [("b.run --qrels nan.parquet", "nan.parquet: ", "a"), ("nan.parquet --qrels qrels.txt", "", "nan")],
)
def test_nan_of_several_runs_names_the_run_or_the_judgments(
    command: str, path: str, run: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", "a.run", *command.split(), "-m", "rr"]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"rankframe: error: {path}column ")
    assert f"run='{run}', query_id='q1'" in error


@each(
    ("command", "message"),
    [
        ("--zzz", "there is no option --zzz; rankframe --help shows"),
        (
            "evaluate",
            "the following arguments are required: RUN, as in rankframe evaluate bm25.run --qrels qrels.txt -m ndcg@10 -m map; ",
        ),
        ("evalute t.csv", "argument COMMAND: invalid choice: 'evalute'. Did you mean 'evaluate'?; rankframe --help"),
        ("mean t.csv", "argument COMMAND: invalid choice: 'mean'; rankframe --help shows what to write"),
        (
            "compare t.csv --runs a b -m rr",
            "b is one word too many for 'rankframe compare [options] RUN [RUN ...]'; ",
        ),
        ("evaluate t.csv --format xml", "argument --format: invalid choice: 'xml'"),
        (
            "power t.csv --runs score,label -m rr --difference 0.1,x",
            "argument --difference: invalid float value: '0.1,x'",
        ),
        ("curve t.csv --to 0", "argument --to: '0' is no whole number from 1 on"),
        (
            "evaluate t.csv --unjudged-labels a,b",
            "argument --unjudged-labels: invalid int value: 'a,b'",
        ),
        ("evaluate t.csv --lable rel", "there is no option --lable (did you mean --label?); rankframe evaluate --help"),
        ("evaluate t.csv --lable=rel", "there is no option --lable (did you mean --label?)"),
        ("evaluate a.run -qrels qrels.txt", "there is no option -qrels (did you mean --qrels?)"),
        ("evaluate t.csv --zzz", "there is no option --zzz; rankframe evaluate --help shows"),
        ("evaluate t.csv --lab label", "there is no option --lab (did you mean"),  # which may mean two things one day
        (
            "check a.run b.run --qrels qrels.txt",
            "b.run is one word too many for 'rankframe check [options] RUN'; ",
        ),
        ("compare a.run b.run --alpha 0.01", "there is no option --alpha; rankframe compare --help"),
        ("trec_eval --k 5 qrels.txt a.run", "there is no option --k; rankframe trec_eval --help"),
        ("evaluate t.csv --format jsn", "'trec'). Did you mean 'json'?"),
        ("help evalute", "Did you mean 'evaluate'?"),
        ("demo b.run", "b.run is one word too many for 'rankframe demo'"),
        (
            "gate t.csv --runs a,b",
            "are required: --budget, as in rankframe gate old.run new.run --qrels qrels.txt --baseline old --budget ndcg@10=0.01; ",
        ),
        ("report t.csv", "-o/--output"),
    ],
)
def test_a_line_that_cannot_be_read_is_one_line_too(
    command: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(command.split())
    assert caught.value.code == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert message in captured.err


def test_what_polars_cannot_do_is_told_without_its_plan(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise pl.exceptions.ComputeError("out of luck\n\nResolved plan until failure:\n\tSELECT")

    monkeypatch.setattr(rankframe, "rank", fail)
    assert main(["evaluate", "t.csv"]) == 2
    assert capsys.readouterr().err == "rankframe: error: out of luck\n"


def test_a_missing_extra_is_named(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "altair", None)
    assert main(["curve", "t.csv", "-o", "c.svg"]) == 2
    assert "pip install 'rankframe[plot]'" in capsys.readouterr().err
    assert not Path("c.svg").exists()
    assert main(["report", "t.csv", "-o", "r.html"]) == 2
    assert "pip install 'rankframe[" in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "scipy", None)
    monkeypatch.setitem(sys.modules, "scipy.special", None)
    monkeypatch.setitem(sys.modules, "scipy.stats", None)
    assert main(["power", "t.csv", "--runs", "score,label", "--difference", "0.1", "-m", "rr"]) == 2
    assert "pip install 'rankframe[stats]'" in capsys.readouterr().err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="Linux has a device that is always full")
def test_a_full_disk_is_told(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    with Path("/dev/full").open("w") as full:
        monkeypatch.setattr(sys, "stdout", full)
        assert main(["metrics"]) == 2
        monkeypatch.undo()
    assert capsys.readouterr().err == "rankframe: error: standard output: No space left on device\n"


CLOSED = """
import os, sys
code = "import sys; from rankframe._command import main; [main(line.split()) for line in sys.argv[2:]]; sys.exit(main(sys.argv[1].split()))"
os.close(int(sys.argv[1]))
os.execv(sys.executable, [sys.executable, "-c", code, *sys.argv[2:]])
"""


def run_closed(*commands: str, closed: int) -> subprocess.CompletedProcess[str]:
    """A process whose standard output (1) or error (2) is closed, as by >&- in a shell, and which ends with the first command."""
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE.parent)}
    return subprocess.run(
        [sys.executable, "-c", CLOSED, str(closed), *commands], capture_output=True, text=True, env=environment
    )


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such shell")
def test_a_closed_standard_output_is_told_by_what_prints() -> None:
    done = run_closed("metrics", "curve t.csv -o c.csv", "evaluate t.csv", "trec_eval qrels.txt a.run", closed=1)
    assert (done.returncode, done.stderr) == (2, "rankframe: error: standard output: Bad file descriptor\n" * 3)
    assert Path("c.csv").stat().st_size > 0


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such shell")
def test_nothing_goes_elsewhere_when_standard_error_is_closed() -> None:
    done = run_closed("evaluate none.run --qrels qrels.txt", "evaluate t.csv -m rr --format csv", closed=2)
    assert (done.returncode, done.stdout, done.stderr) == (2, "metric,mean,queries\nrr,0.75,2\n", "")


def test_streams_that_are_not_there(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as without:
        without.setattr(sys, "stdout", None)
        assert main(["metrics"]) == 2
        assert capsys.readouterr().err == "rankframe: error: standard output: Bad file descriptor\n"
        without.setattr(rankframe, "rank", lambda _: (_ for _ in ()).throw(BrokenPipeError))
        assert main(["evaluate", "t.csv"]) == 141
    with monkeypatch.context() as without:
        without.setattr(sys, "stderr", None)
        assert main(["evaluate", "none.run"]) == 2
        sys.stderr.close()
    assert capsys.readouterr() == ("", "")


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are bytes on Linux")
def test_a_file_may_have_a_name_that_is_no_text(capsys: pytest.CaptureFixture[str]) -> None:
    name = os.fsdecode(b"x\xe9.run")
    Path(name).write_text("q1 Q0 d1 1 3 t\nq1 Q0 d2 2 2 t\n")
    assert main(["evaluate", name, "--qrels", "qrels.txt", "-m", "rr", "--format", "csv"]) == 0
    assert capsys.readouterr().out == "metric,mean,queries\nrr,0.5,1\n"
    assert main(["trec_eval", "-m", "recip_rank", "qrels.txt", name]) == 0
    assert capsys.readouterr().out == "recip_rank            \tall\t0.5000\n"
    baseline = ["--baseline", name.removesuffix(".run")]
    assert main(["compare", name, "b.run", "--qrels", "qrels.txt", "-m", "rr", *baseline, "--format", "csv"]) == 0
    assert capsys.readouterr().out.splitlines()[1].startswith("rr,x\N{REPLACEMENT CHARACTER},b,0.5,1.0,0.5,")
    Path(name).write_text("q1 Q0\n")
    assert main(["evaluate", name, "--qrels", "qrels.txt"]) == 2
    assert capsys.readouterr().err.startswith("rankframe: error: x\N{REPLACEMENT CHARACTER}.run, line 1: 2 fields")
    assert main(["evaluate", "t.csv", "--query", name]) == 2
    assert capsys.readouterr().err == "rankframe: error: '\\udce9' in an argument is no UTF-8 text; convert it\n"


def test_windows_line_ends_and_marks_of_byte_order_are_passed_over(capsys: pytest.CaptureFixture[str]) -> None:
    Path("w.run").write_bytes(b"\xef\xbb\xbfq1 Q0 d1 1 3 t\r\nq1 Q0 d2 2 2 t\r\n")
    Path("w.txt").write_bytes(b"\xef\xbb\xbfq1 0 d2 1\r\n")
    Path("w.csv").write_bytes(b"\xef\xbb\xbfquery_id,doc_id,score,label\r\nq1,a,2,0\r\nq1,b,1,1\r\n")
    for command in ("evaluate w.run --qrels w.txt", "evaluate w.csv"):
        assert main([*command.split(), "-m", "rr", "--format", "csv"]) == 0
        assert capsys.readouterr().out == "metric,mean,queries\nrr,0.5,1\n"


@each(
    ("command", "text", "advice"),
    [
        (["evaluate"], "rsp(head=0.8)@10", "Did you mean 'rsp' (of catalog)?"),
        (["catalog", "--items", "4"], "novelty@10", "Did you mean 'novelty' (of evaluate)?"),
    ],
    ids=["of the whole table", "of one ranking"],
)
def test_a_metric_of_another_command_is_answered_by_that_command(
    command: list[str], text: str, advice: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run.csv"
    run.write_text("query_id,doc_id,score,label\n1,a,1.0,1\n")
    assert main([*command, str(run), "-m", text]) == 2
    assert advice in capsys.readouterr().err
