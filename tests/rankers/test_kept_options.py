"""The frame that `judge` returns keeps the ranker's options, so that its own `.rank` starts with them."""

from __future__ import annotations

import copy
import io
import math
import pickle
from typing import Any

import pandas as pd
import polars as pl
import pytest

import rankframe as rf
from rankframe._table.setup import Setup
from tests.support.each import each

RUN = pl.DataFrame({"qid": [1, 1, 1], "pid": ["a", "b", "c"], "sim": [3.0, 2.0, 1.0]})
QRELS = pl.DataFrame({"qid": [1, 1, 1], "pid": ["a", "b", "d"], "rel": [1, 2, 2]})
NAMES: dict[str, Any] = {"query": "qid", "doc": "pid", "score": "sim", "label": "rel"}
KINDS: dict[str, Any] = {"eager": lambda df: df, "lazy": lambda df: df.lazy(), "pandas": lambda df: df.to_pandas()}


def value(found: Any, name: str) -> float:
    frame = found.collect() if isinstance(found, pl.LazyFrame) else found
    return float(next(iter(frame[name])))


@each("kind", KINDS)
def test_the_judged_frame_is_ranked_by_the_options_that_it_was_judged_with(kind: str) -> None:
    judged = KINDS[kind](RUN).rank.on(**NAMES, relevant=2).judge(KINDS[kind](QRELS))
    assert value(judged.rank.evaluate("rr"), "rr") == 0.5  # b is the first with a label of 2
    assert value(judged.rank.recall(), "recall") == 0.5  # d was not retrieved
    assert value(rf.rank(judged).evaluate("rr"), "rr") == 0.5
    assert "relevant=2" in repr(judged.rank)


@each("kind", KINDS)
def test_further_options_are_added_to_those_that_the_frame_keeps(kind: str) -> None:
    judged = KINDS[kind](RUN).rank.on(**NAMES, relevant=2).judge(KINDS[kind](QRELS))
    assert value(judged.rank.on(unretrieved="drop").recall(), "recall") == 1
    assert value(judged.rank.on(relevant=1).evaluate("rr"), "rr") == 1


@each("kind", KINDS)
def test_a_convention_is_kept_with_what_was_given_beside_it(kind: str) -> None:
    ranker = KINDS[kind](RUN).rank.on(**NAMES, convention="lightgbm", no_relevant="zero")
    judged = ranker.judge(KINDS[kind](QRELS))
    gain, second = [2**label - 1 for label in (1, 2)], math.log2(3)  # of a and b; LightGBM does not see d
    expected = (gain[0] + gain[1] / second) / (gain[1] + gain[0] / second)
    assert value(judged.rank.ndcg(k=2), "ndcg@2") == pytest.approx(expected, abs=1e-15)
    assert judged.rank._setup == ranker._setup


def test_a_frame_made_from_it_asks_for_the_names_again_in_polars_and_keeps_them_in_pandas() -> None:
    judged = RUN.rank.on(**NAMES, relevant=2).judge(QRELS)
    with pytest.raises(rf.MissingColumn, match=r"Say df.rank.on\(query='qid', score='sim', label='rel', doc='pid'\)"):
        judged.filter(pl.col("qid") == 1).rank.evaluate("rr")
    of_pandas = RUN.to_pandas().rank.on(**NAMES, relevant=2).judge(QRELS.to_pandas())
    for derived in (of_pandas[of_pandas["qid"] == 1], of_pandas.copy(), copy.copy(of_pandas), of_pandas.head(3)):
        assert value(derived.rank.evaluate("rr"), "rr") == 0.5


def test_what_pandas_hands_on_is_plain_and_can_be_written_to_a_file() -> None:
    df = RUN.to_pandas()
    judged = df.rank.on(**NAMES, unjudged="bounds", unjudged_labels=(0, 3)).judge(QRELS.to_pandas())
    assert judged.attrs["rankframe"] == {
        "query": ["qid"], "doc": "pid", "score": "sim", "label": "rel", "unjudged": "bounds", "unjudged_labels": [0, 3],
    }  # fmt: skip
    judged.to_parquet(file := io.BytesIO())
    assert pd.read_parquet(file).rank._setup == judged.rank._setup
    assert pickle.loads(pickle.dumps(judged)).rank._setup == judged.rank._setup
    assert df.attrs == {}


def test_the_tables_that_are_judged_keep_nothing() -> None:
    run, qrels = RUN.clone(), QRELS.clone()
    run.rank.on(**NAMES, relevant=2).judge(qrels)
    assert run.rank._setup == qrels.rank._setup == Setup()


def test_defaults_leave_no_trace_in_pandas() -> None:
    run = pd.DataFrame({"query_id": [1], "doc_id": ["a"], "score": [1.0]})
    assert run.rank.judge(pd.DataFrame({"query_id": [1], "doc_id": ["a"], "label": [1]})).attrs == {}


def test_attributes_that_are_no_options_leave_pandas_own_rank_alone() -> None:
    for attribute in ({"relevant": "no"}, {"unknown": 1}, "text", None):
        df = pd.DataFrame({"query_id": [1, 2]})
        df.attrs["rankframe"] = attribute
        assert df.rank()["query_id"].tolist() == [1.0, 2.0]


@each(
    "options",
    [
        {},
        {"query": ["run", "q"], "doc": None, "rank": "rank"},
        {"convention": "ranx"},
        {"convention": "lightgbm", "no_relevant": "one", "relevant": 1, "query": "q"},
        {"unjudged": "bounds", "unjudged_labels": (0, 2), "memory_limit": "1GB", "grouped": True},
        {"names": "pyterrier", "weight": "w", "subtopic": "s", "depth": 10},
    ],
)
def test_the_options_of_a_setup_make_it_again(options: dict[str, Any]) -> None:
    setup = Setup().on(**options)
    assert Setup().on(**setup.options) == setup
