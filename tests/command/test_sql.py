"""``rankframe sql`` writes what `rf.sql` writes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

import rankframe as rf
from rankframe._command import main
from tests.support.each import each


@each(
    ("words", "metrics", "options"),
    [
        ("", ["ndcg@10", "map", "rr"], {}),
        (
            "-m ndcg@10,map --query session,day --label grade",
            ["ndcg@10", "map"],
            {"query": ["session", "day"], "label": "grade"},
        ),
        (
            "-m map --relevant 2 --ties best --unjudged drop",
            ["map"],
            {"relevant": 2, "ties": "best", "unjudged": "drop"},
        ),
        (
            "-m map --judgments qrels --run-only keep --run system",
            ["map"],
            {"judgments": "qrels", "run_only": "keep", "run": "system"},
        ),
        ("-m map --by market --by day --partial", ["map"], {"by": ["market", "day"], "partial": True}),
        (
            "-m map --run system --baseline bm25 --partial",
            ["map"],
            {"run": "system", "baseline": "bm25", "partial": True},
        ),
        ("-m map --runs bm25 --runs ltr --label grade", ["map"], {"runs": ["bm25", "ltr"], "label": "grade"}),
        ("-m map --rows --names text", ["map"], {"rows": True, "names": "text"}),
        ("-m map --names ranx --rank place", ["map"], {"names": "ranx", "rank": "place"}),
        ("-m map --numbers query_id --numbers doc_id", ["map"], {"numbers": ["query_id", "doc_id"]}),
        ("--checks", [], {"checks": True}),
    ],
)
def test_options_are_those_of_the_function(
    words: str, metrics: list[str], options: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sql", "--dialect", "duckdb", "--table", "judged", *words.split()]) == 0
    assert capsys.readouterr().out == rf.sql(*metrics, dialect="duckdb", table="judged", **options)


def test_a_file_gets_the_text_with_its_template(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "ndcg.sql"
    table = "{{ ref('judged') }}"
    assert main(["sql", "-m", "ndcg@10", "--dialect", "snowflake", "--table", table, "-o", str(file)]) == 0
    assert capsys.readouterr().out == ""
    assert file.read_text(encoding="utf-8") == rf.sql("ndcg@10", dialect="snowflake", table=table)


@each(
    ("words", "says"),
    [
        ("--dialect foxpro", "--dialect foxpro: write one of 'bigquery'"),
        (
            "--dialect duckdb --ties expected",
            "--ties expected is computed from all orders or labels, which are no windows",
        ),
        ("--dialect duckdb --checks -m map", "--checks has no metrics. Leave -m out"),
        ("--dialect duckdb --group seller", "group has no SQL: it is about groups"),
        ("--dialect duckdb -m alpha_ndcg@10", "alpha_ndcg@10 has no SQL for duckdb: it reads subtopics"),
    ],
)
def test_a_refusal_is_one_line_in_the_words_of_the_command_line(
    words: str, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sql", "--table", "judged", *words.split()]) == 2
    error = capsys.readouterr().err
    assert says in error
    assert error.count("\n") == 1


def test_without_sqlglot_the_error_names_the_extra(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "sqlglot", None)
    assert main(["sql", "--table", "judged", "--dialect", "duckdb"]) == 2
    assert "pip install 'rankframe[sql]'" in capsys.readouterr().err
