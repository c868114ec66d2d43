"""Answers of search engines are no runs: none is read as one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import rankframe as rf
from tests.support.each import each

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
ANSWERS: dict[str, Any] = {
    "a search": SEARCH,
    "Solr": SOLR,
    "Solr without parameters": {**SOLR, "responseHeader": {"status": 0}},
    "several searches": {"took": 3, "responses": [SEARCH]},
    "_rank_eval": RANK_EVAL,
}


@each("kind", ANSWERS)
def test_an_answer_of_a_search_engine_is_never_read_as_a_run(kind: str, tmp_path: Path) -> None:
    (path := tmp_path / "answer.json").write_text(json.dumps(ANSWERS[kind]))
    for ask in (
        lambda: rf.from_dicts(run=ANSWERS[kind]),
        lambda: rf.from_dicts(run={"star": ANSWERS[kind]}),
        lambda: rf.read_run(ANSWERS[kind]),
        *([] if kind == "_rank_eval" else [lambda: rf.read_run(path)]),  # a file of that format is read
    ):
        with pytest.raises(rf.RankframeError):
            ask()


@each("found", [HITS, [("b", 2.0), ("a", 1.0)]], ids=["hits", "pairs"])
def test_hits_and_pairs_in_the_place_of_documents_are_refused(found: Any) -> None:
    with pytest.raises(rf.InvalidData, match=r"not all texts or all whole numbers: found .* of query 'star'"):
        rf.from_dicts(run={"star": found})


def test_queries_called_like_members_of_answers_are_read(tmp_path: Path) -> None:
    run = {"hits": {"a": 1.0}, "response": {"docs": 2.0}, "took": {"hits": 3.0}}
    (path := tmp_path / "run.json").write_text(json.dumps(run))
    expected = [("hits", "a", 1.0), ("response", "docs", 2.0), ("took", "hits", 3.0)]
    assert sorted(rf.read_run(path).select("query_id", "doc_id", "score").rows()) == expected
    assert sorted(rf.from_dicts(run=run).rows()) == expected
