"""A frame is its columns: a ranker's options are said again, by `on` or by `on(like=ranker)`."""

from __future__ import annotations

import inspect
from typing import Any

import pandas as pd
import polars as pl
import pytest

import rankframe as rf
from rankframe._lift.ranker import MetricRanker
from rankframe._table.setup import OPTIONS, Setup
from tests.support.each import each

RUN = pl.DataFrame({"qid": [1, 1, 1], "pid": ["a", "b", "c"], "sim": [3.0, 2.0, 1.0]})
QRELS = pl.DataFrame({"qid": [1, 1, 1], "pid": ["a", "b", "d"], "rel": [1, 2, 2]})
NAMES: dict[str, Any] = {"query": "qid", "doc": "pid", "score": "sim", "label": "rel"}
KINDS: dict[str, Any] = {"eager": lambda df: df, "lazy": lambda df: df.lazy(), "pandas": lambda df: df.to_pandas()}


def value(found: Any, name: str) -> float:
    frame = found.collect() if isinstance(found, pl.LazyFrame) else found
    return float(next(iter(frame[name])))


@each("kind", KINDS)
def test_the_judged_frame_starts_with_the_defaults(kind: str) -> None:
    mine = KINDS[kind](RUN.rename({"qid": "query_id"})).rank.on(doc="pid", score="sim", label="rel", relevant=2)
    judged = mine.judge(KINDS[kind](QRELS.rename({"qid": "query_id"})))
    assert judged.rank._setup == rf.rank(judged)._setup == Setup()
    same = judged.rank.on(doc="pid", score="sim", label="rel")
    assert value(same.evaluate("rr"), "rr") == 1  # a has label 1


@each("other", [*KINDS, "expressions"])
@each("kind", KINDS)
def test_like_takes_the_columns_and_rules_of_any_ranker(kind: str, other: str) -> None:
    options: dict[str, Any] = {**NAMES, "relevant": 2, "memory_limit": 10**9, "items": 7, "names": "flat"}
    mine = rf.expr.on(**options) if other == "expressions" else KINDS[other](RUN).rank.on(**options)
    judged = KINDS[kind](RUN).rank.on(like=mine).judge(KINDS[kind](QRELS))
    assert judged.rank.on(like=mine)._setup == mine._setup
    assert value(judged.rank.on(like=mine).evaluate("rr"), "rr") == 0.5  # b is the first with a label of 2
    assert value(judged.rank.on(like=mine).recall(), "recall") == 0.5  # d was not retrieved
    frame = judged.to_pandas() if isinstance(judged, pl.DataFrame) else judged
    assert value(rf.rank(frame).on(like=mine).evaluate("rr"), "rr") == 0.5


def test_expressions_take_them_too() -> None:
    judged = (mine := RUN.rank.on(**NAMES, relevant=2)).judge(QRELS)
    assert judged.group_by("qid").agg(rf.expr.on(like=mine).reciprocal_rank())["rr"].item() == 0.5


@each("kind", KINDS)
def test_options_of_the_same_call_take_precedence(kind: str) -> None:
    mine = KINDS[kind](RUN).rank.on(**NAMES, relevant=2)
    judged = mine.judge(KINDS[kind](QRELS))
    assert value(judged.rank.on(like=mine, unretrieved="drop").recall(), "recall") == 1
    assert value(judged.rank.on(relevant=1, like=mine).evaluate("rr"), "rr") == 1
    assert judged.rank.on(like=mine, depth=3, doc=None)._setup == mine.on(depth=3, doc=None)._setup
    with pytest.raises(rf.InvalidOption, match="trec_eval counts by relevant=1, not by relevant=2"):
        judged.rank.on(like=mine, convention="trec_eval")  # as mine.on(convention="trec_eval") is


def test_what_this_ranker_had_is_replaced() -> None:
    mine, other = RUN.rank.on(relevant=2), RUN.rank.on(query="qid", ties="worst")
    assert other.on(like=mine)._setup == mine._setup
    assert other.on(like=None)._setup == other._setup


def test_a_convention_is_taken_with_what_was_given_beside_it() -> None:
    mine = RUN.rank.on(**NAMES, convention="lightgbm", no_relevant="zero")
    assert QRELS.to_pandas().rank.on(like=mine)._setup == mine._setup


@each("given", [RUN, RUN.to_pandas(), RUN.rank.items, "ranx", 3, Setup, {"query": "qid"}])
def test_what_is_no_ranker_is_refused(given: object) -> None:
    for rank in (RUN.rank, RUN.to_pandas().rank, rf.expr):
        with pytest.raises(rf.InvalidOption, match=r"^like=.* is no ranker; give one, as mine = df.rank.on"):
            rank.on(like=given)  # type: ignore[arg-type]


def test_options_that_pandas_kept_in_a_file_of_an_earlier_version_change_nothing() -> None:
    df = pd.DataFrame({"query_id": [1, 1], "score": [2.0, 1.0], "label": [1, 2]})
    df.attrs["rankframe"] = {"relevant": 2}
    assert value(df.rank.evaluate("rr"), "rr") == 1
    assert df.attrs == {"rankframe": {"relevant": 2}}  # which are the caller's


def test_the_options_of_on_are_those_of_its_signature() -> None:
    assert {*OPTIONS} == {*inspect.signature(MetricRanker.on).parameters} - {"self"}
