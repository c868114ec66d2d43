"""Dictionaries of runs and judgments: the table that pytrec_eval, ranx and BEIR would evaluate."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest
import pytrec_eval

import rankframe as rf
from tests.support.each import each


def random_dicts(seed: int) -> tuple[dict[str, dict[str, float]], dict[str, dict[str, int]]]:
    draw = random.Random(seed)
    run, qrels = {}, {}
    for i in range(30):
        docs = [f"d{x}" for x in draw.sample(range(40), draw.choice([1, 3, 20]))]
        run[f"q{i}"] = {doc: draw.random() for doc in docs}
        judged = [f"d{x}" for x in draw.sample(range(40), draw.choice([1, 10]))]
        qrels[f"q{i}"] = {doc: draw.randrange(4) for doc in judged}
    return run, qrels


@each("seed", range(3))
def test_metrics_of_dictionaries_are_those_of_pytrec_eval(seed: int) -> None:
    run, qrels = random_dicts(seed)
    theirs = pytrec_eval.RelevanceEvaluator(qrels, {"map", "ndcg_cut_10", "recip_rank", "recall_100"}).evaluate(run)
    table = (
        rf.from_dicts(run=run, qrels=qrels)
        .rank.on(convention="trec_eval9")
        .evaluate("map", "ndcg_cut_10", "recip_rank", "recall_100")
    )
    for query, *values in table.rows():
        names = ("map", "ndcg_cut_10", "recip_rank", "recall_100")
        assert values == pytest.approx([theirs[query][name] for name in names], abs=1e-12)


def test_lists_and_sets_are_runs_and_relevant_documents() -> None:
    table = rf.from_dicts(run={"a": ["x", "y"], "b": ["z"]}, qrels={"a": {"y", "w"}, "b": ["z"]})
    assert sorted(table.rows(), key=str) == sorted(
        [("a", "x", 1.0, None), ("a", "y", 0.5, 1), ("a", "w", None, 1), ("b", "z", 1.0, 1)], key=str
    )


def test_whole_numbers_and_scalars_of_numpy_are_ids_and_scores() -> None:
    table = rf.from_dicts(run={np.int64(1): {2: np.float32(0.5), 3: 1}}, qrels={1: {2: np.int8(1), 3: True}})
    assert table.rows() == [(1, 2, 0.5, 1), (1, 3, 1.0, 1)]


def test_a_query_without_documents_counts_if_it_was_judged() -> None:
    run, qrels = {"a": {}, "b": {"x": 1.0}, "c": []}, {"a": {"x": 1}, "b": {}, "c": {}}
    with pytest.warns(rf.RankframeWarning, match="2 of 3 queries of the run have no judgments and are left out"):
        table = rf.from_dicts(run=run, qrels=qrels)
    assert table.rows() == [("a", "x", None, 1)]
    assert table.rank.evaluate("map", "num_ret").rows() == [("a", 0.0, 0.0)]
    counted = rf.evaluate(run, qrels, "map", "num_ret", run_only="keep").sort("query_id")
    assert counted.rows() == [("a", 0.0, 0.0), ("b", 0.0, 1.0), ("c", 0.0, 0.0)]


def test_one_dictionary_alone_is_a_run_or_judgments() -> None:
    assert rf.from_dicts(run={"a": {"x": 1}}).rows() == [("a", "x", 1.0)]
    qrels = rf.from_dicts(qrels={"a": {"x": 0.5}})
    assert qrels.rows() == [("a", "x", 0.5)]
    assert rf.from_dicts(run={"a": {"x": 1}}).rank.judge(qrels).rows() == [("a", "x", 1.0, 0.5)]


def test_empty_dictionaries_give_empty_tables() -> None:
    assert rf.from_dicts(run={}).schema == {"query_id": pl.String, "doc_id": pl.String, "score": pl.Float64}


HOSTILE: dict[str, tuple[Any, Any, type[Exception], str]] = {
    "no score": ({"a": {"x": None}}, None, rf.InvalidData, "the score of document 'x' of query 'a' is None"),
    "a score that is NaN": (
        {"a": {"x": float("nan")}},
        None,
        rf.InvalidData,
        r"column 'score' holds NaN; .* \(found in 1 row: query_id='a', doc_id='x'\)",
    ),
    "a label that is infinite": (
        None,
        {"a": {"x": float("inf")}},
        rf.InvalidData,
        r"column 'label' holds NaN or an infinite label.* \(found in 1 row: query_id='a', doc_id='x'\)",
    ),
    "a text as label": (
        {"a": {"x": 1}},
        {"a": {"x": "1"}},
        rf.InvalidData,
        "the label of document 'x' of query 'a' is '1'",
    ),
    "a repeated document": (
        {"a": ["x", "x"]},
        None,
        rf.InvalidData,
        r"holds the same 'doc_id' twice; .* \(found in 2 rows: query_id='a', doc_id='x'\)",
    ),
    "a repeated relevant document": (
        {"a": ["x"]},
        {"a": ["x", "x"]},
        rf.InvalidData,
        r"hold a document of a query more than once; .* query_id='a', doc_id='x'\)",
    ),
    "a text for a list": ({"a": "xy"}, None, rf.InvalidData, "run has 'xy' for query 'a'"),
    "a number for a list": (None, {"a": 1}, rf.InvalidData, "qrels has 1 for query 'a'"),
    "a set for a ranking": (
        {"a": {"x"}},
        None,
        rf.InvalidData,
        "run has {'x'} for query 'a'; write {document: score}, or a list of documents, best first",
    ),
    "pairs": (
        {"a": [["x", 1]]},
        None,
        rf.InvalidData,
        r"not all texts or all whole numbers: found \['x', 1\] of query 'a'",
    ),
    "ids of two types": ({"a": {1: 1, "b": 2}}, None, rf.InvalidData, "found 1 of query 'a'"),
    "queries of two types": ({1: {}, "a": {}}, None, rf.InvalidData, "the queries of run are not all texts"),
    "a flag as id": ({"a": {True: 1}}, None, rf.InvalidData, "found True of query 'a'"),
    "a list": ([], None, rf.InvalidData, "run is a list"),
    "nothing": (None, None, rf.InvalidOption, "neither a run nor qrels"),
    "other queries": ({"a": {"x": 1}}, {"b": {"x": 1}}, rf.InvalidData, "no query of the run is judged"),
}


@each("name", HOSTILE)
def test_what_cannot_be_read_is_an_error_that_names_the_query(name: str) -> None:
    run, qrels, error, message = HOSTILE[name]
    with pytest.raises(error, match=message):
        rf.from_dicts(run=run, qrels=qrels)


def test_arrays_of_ids_are_lists_of_ids() -> None:
    lists = {"u1": ["a", "b"], "u2": ["b", "c"]}
    arrays = {user: np.array(items) for user, items in lists.items()}
    assert rf.from_dicts(run=arrays, qrels={"u1": np.array(["b"]), "u2": np.array(["c"])}).equals(
        rf.from_dicts(run=lists, qrels={"u1": ["b"], "u2": ["c"]})
    )
    whole = rf.from_dicts(run=dict(zip([1, 2], np.array([[7, 8], [8, 9]]), strict=True)))
    assert whole["doc_id"].to_list() == [7, 8, 8, 9]


LABELS: dict[str, tuple[Callable[[int], Any], pl.DataType]] = {
    "whole": (int, pl.Int64()),
    "floats": (lambda x: x / 2, pl.Float64()),
    "True and False": (lambda x: x > 0, pl.Int64()),
    "NumPy's": (np.int32, pl.Int64()),
    "of several types": (lambda x: 2**60 + 1 if x else False, pl.Int64()),
    "whole and not": (lambda x: x if x else 0.5, pl.Float64()),
}


@each("labels", LABELS)
@each("ids", [str, int, lambda i: np.int64(i)], ids=["texts", "whole numbers", "NumPy's"])
def test_runs_and_judgments_are_joined_as_in_plain_python(labels: str, ids: Callable[[int], Any]) -> None:
    (label_of, dtype), rng = LABELS[labels], random.Random(3)
    for _ in range(15):
        run, qrels = {}, {}
        for query in rng.sample(range(9), 3):
            run[ids(query)] = {ids(i): rng.random() for i in rng.sample(range(8), rng.randrange(1, 8))}
            qrels[ids(query)] = {ids(i): label_of(rng.randrange(3)) for i in rng.sample(range(8), rng.randrange(1, 8))}
            qrels[ids(query)][next(iter(run[ids(query)]))] = label_of(2)
        qrels = dict(sorted(qrels.items(), key=lambda _: rng.random()))
        wanted = [(q, d, x, qrels[q].get(d)) for q, docs in run.items() for d, x in docs.items()]
        wanted += [(q, d, None, y) for q, docs in qrels.items() for d, y in docs.items() if d not in run[q]]
        found = rf.from_dicts(run=run, qrels=qrels)
        assert found.rows() == wanted
        if dtype == pl.Int64 or any(isinstance(y, float) for docs in qrels.values() for y in docs.values()):
            assert found.schema["label"] == dtype


def test_a_document_that_is_judged_in_other_letters_alone_warns() -> None:
    with pytest.warns(rf.RankframeWarning, match="'D1' for 'd1'"):
        rf.from_dicts(run={"q": {"D1": 2.0, "d2": 1.0}}, qrels={"q": {"d1": 1, "d2": 1}})
