"""Answers of search engines are no runs: the error says what to write, and what it says works."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import Any

import pytest

import rankframe as rf

HITS = [{"_index": "films", "_id": "b", "_score": 2.0}, {"_index": "films", "_id": "a", "_score": 1.0}]
SEARCH = {"took": 3, "timed_out": False, "_shards": {"total": 1}, "hits": {"max_score": 2.0, "hits": HITS}}
SOLR = {
    "responseHeader": {"status": 0, "params": {"q": "star"}},
    "response": {"numFound": 2, "docs": [{"id": "b", "score": 2.0}, {"id": "a", "score": 1.0}]},
}
RANK_EVAL = {
    "metric_score": 1.0,
    "details": {"star": {"hits": [{"hit": hit, "rating": None} for hit in HITS], "unrated_docs": []}},
    "failures": {},
}
ONE = {"a search": SEARCH, "Solr": SOLR}
ROWS = [("star", "a", 1.0), ("star", "b", 2.0)]


def advised(error: pytest.ExceptionInfo[Any]) -> str:
    found = re.search(r"; write (.*?)(?:\. read_run reads a path, or an open file)?$", str(error.value))
    assert found is not None, str(error.value)
    return found[1]


def rows(code: str, **names: Any) -> list[Any]:
    made = eval(code, {"rf": rf, "io": io, "json": json, "query": "star", **names})
    table = made if hasattr(made, "columns") else rf.from_dicts(run=made)
    return sorted(table.select("query_id", "doc_id", "score").rows())


@pytest.mark.parametrize("kind", ONE)
def test_the_answer_to_one_query_becomes_a_run_as_advised(kind: str, tmp_path: Path) -> None:
    (path := tmp_path / "answer.json").write_text(json.dumps(ONE[kind]))
    for ask in (lambda: rf.from_dicts(run=ONE[kind]), lambda: rf.read_run(path), lambda: rf.read_run(ONE[kind])):  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="the answer to one query, which it does not name") as caught:
            ask()
        assert rows(advised(caught), answer=ONE[kind]) == ROWS


def test_an_answer_to_several_searches_becomes_a_run_as_advised(tmp_path: Path) -> None:
    answers = {"took": 3, "responses": [SEARCH]}
    (path := tmp_path / "answers.json").write_text(json.dumps(answers, indent=1))
    for ask in (lambda: rf.from_dicts(run=answers), lambda: rf.read_run(path)):  # type: ignore[arg-type]
        with pytest.raises(rf.InvalidData, match="the answer of _msearch, which does not name its queries") as caught:
            ask()
        assert rows(advised(caught), answers=answers, queries=["star"]) == ROWS


@pytest.mark.parametrize(
    "found", [SEARCH, SOLR, HITS, [("b", 2.0), ("a", 1.0)]], ids=["search", "Solr", "hits", "pairs"]
)
def test_an_answer_for_each_query_becomes_a_run_as_advised(found: Any) -> None:
    run = {"star": found}
    with pytest.raises(rf.InvalidData, match=r"run has no \{document: score\} for query 'star'") as caught:
        rf.from_dicts(run=run)
    assert rows(advised(caught), run=run) == ROWS


@pytest.mark.parametrize("ask", [rf.read_run, lambda found: rf.from_dicts(run=found)])
def test_an_answer_of_rank_eval_in_memory_is_read_as_advised(ask: Any) -> None:
    with pytest.raises(ValueError, match="the answer of _rank_eval") as caught:
        ask(RANK_EVAL)
    assert rows(advised(caught), answer=RANK_EVAL) == ROWS


def test_queries_called_like_members_of_answers_are_read(tmp_path: Path) -> None:
    run = {"hits": {"a": 1.0}, "response": {"docs": 2.0}, "took": {"hits": 3.0}}
    (path := tmp_path / "run.json").write_text(json.dumps(run))
    expected = [("hits", "a", 1.0), ("response", "docs", 2.0), ("took", "hits", 3.0)]
    assert sorted(rf.read_run(path).select("query_id", "doc_id", "score").rows()) == expected
    assert sorted(rf.from_dicts(run=run).rows()) == expected
