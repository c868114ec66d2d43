"""`on(names="flat")`: columns of metrics under names that SQL takes without quotes, which are read as metrics, too."""

from __future__ import annotations

import re
import sqlite3
from contextlib import suppress
from time import process_time
from typing import Any

import polars as pl
import pytest

import rankframe as rf
from rankframe._catalog.call import Call
from rankframe._catalog.flat_names import flat_name, flat_names
from tests.support import calls, recommenders
from tests.support.each import each

DF = pl.DataFrame({"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2.0, 1.0], "new": [1.0, 2.0], "label": [0, 1]})
KINDS: dict[str, Any] = {"eager": lambda df: df, "lazy": lambda df: df.lazy(), "pandas": lambda df: df.to_pandas()}
FLAT = {
    "ndcg@10": "ndcg_at_10",
    "map": "map",
    "precision": "precision_",  # a word of SQL's own
    "rbp(p=0.95)": "rbp_p_0_95",
    "ndcg(gain=exponential)@5": "ndcg_gain_exponential_at_5",
    "ndcg(gain={1:3,2:7})@10": "ndcg_gain_1_to_3_2_to_7_at_10",
    "precision(divisor='min(k,n)')@3": "precision_divisor_min_k_n_at_3",
    "interpolated_precision@0.3": "interpolated_precision_at_0_3",
    "utility(relevant_missed=-1)": "utility_relevant_missed_minus_1",
    "ndcg(gain=binary,ideal=as_many)@3": "ndcg_gain_binary_ideal_as_many_at_3",
    "rbp(p=0.95,relevant=2)@7": "rbp_p_0_95_relevant_2_at_7",
}
RESERVED = {"precision", "rank", "row", "rows", "all", "left", "right", "in", "is", "on", "or", "and", "not", "value"}
"""Words of the standard's that metrics and their parts might be called."""


def columns(found: Any) -> list[str]:
    return [*(found.collect_schema() if isinstance(found, pl.LazyFrame) else found.columns)]


@each("kind", KINDS)
@each("text", FLAT)
def test_a_column_has_the_flat_name_and_the_same_values(kind: str, text: str) -> None:
    df = KINDS[kind](DF)
    plain, flat = df.rank.evaluate(text), df.rank.on(names="flat").evaluate(text)
    assert columns(flat)[-1] == FLAT[text]
    one, other = (x.collect() if isinstance(x, pl.LazyFrame) else x for x in (plain, flat))
    assert [*one[text]] == [*other[FLAT[text]]]


def test_every_metric_has_a_name_of_its_own_that_sqlite_takes_without_quotes() -> None:
    names = [flat_name(text) for name in rf.METRICS for text in (name, f"{name}@10")]
    assert len({*names}) == len(names)
    assert all(re.fullmatch(r"[a-z][a-z0-9_]*", name) for name in names)
    assert not RESERVED & {*names}
    with sqlite3.connect(":memory:") as database:
        database.execute(f"CREATE TABLE results ({', '.join(f'{name} REAL' for name in names)})")
        database.execute(f"SELECT {', '.join(names)} FROM results")


BY_VERB = {
    "with_metrics": (lambda ranker: ranker.with_metrics("ndcg@1", "rr"), ["ndcg_at_1", "rr"]),
    "curve": (lambda ranker: ranker.curve("ndcg", "rbp(p=0.5)"), ["ndcg", "rbp_p_0_5"]),
    "explain": (lambda ranker: ranker.explain("ndcg@1", "rr"), ["ndcg_at_1", "rr"]),
    "agreement": (lambda ranker: ranker.agreement("new", "overlap@1", "rbo(p=0.5)"), ["overlap_at_1", "rbo_p_0_5"]),
    "mean": (lambda ranker: ranker.mean("ndcg@1", "rr"), ["ndcg_at_1", "rr"]),
    "a method": (lambda ranker: ranker.ndcg(k=[1, 2]), ["ndcg_at_1", "ndcg_at_2"]),
    "bounds": (lambda ranker: ranker.on(unjudged="bounds").rr(), ["rr_least", "rr_greatest"]),
    "a convention": (lambda ranker: ranker.on(convention="ranx").evaluate("rr", "ndcg@1"), ["rr", "ndcg_at_1"]),
}


@each("kind", KINDS)
@each("verb", BY_VERB)
def test_every_verb_with_columns_of_metrics_names_them_so(verb: str, kind: str) -> None:
    run, names = BY_VERB[verb]
    assert columns(run(KINDS[kind](DF).rank.on(names="flat")))[-2:] == names


def test_an_expression_is_named_so_and_those_of_a_caller_keep_their_names() -> None:
    assert DF.group_by("query_id").agg(rf.expr.on(names="flat").ndcg(k=1)).columns[-1] == "ndcg_at_1"
    assert DF.rank.on(names="flat").evaluate("ndcg@1", pl.len().alias("n@1")).columns[1:] == ["ndcg_at_1", "n@1"]


def test_a_lazy_plan_selects_by_the_flat_name() -> None:
    plan = DF.lazy().rank.on(names="flat").evaluate("ndcg@1,2", "rr").select("ndcg_at_2")
    assert plan.collect().equals(DF.rank.evaluate("ndcg@2").select(ndcg_at_2="ndcg@2"))


def test_a_preset_of_a_tool_stands_beside_it_in_any_order() -> None:
    df = DF.rename({"query_id": "qid", "doc_id": "docno"})
    for ranker in (
        df.rank.on(names=["pyterrier", "flat"]),
        df.rank.on(names=("flat", "pyterrier")),
        df.rank.on(names="flat").on(names="pyterrier"),
    ):
        assert ranker.ndcg(k=1).columns == ["qid", "ndcg_at_1"]


def test_texts_of_one_flat_name_and_a_name_that_is_taken_are_refused() -> None:
    ranker, says = (
        DF.rank.on(names="flat"),
        r"two columns 'ndcg_gain_1_to_2_3_4_to_5_at_1', those of .*; ask for each by itself",
    )
    with pytest.raises(rf.InvalidOption, match=says):
        ranker.evaluate("ndcg(gain={1:2,3.4:5})@1", "ndcg(gain={1:2.3,4:5})@1")
    with pytest.raises(rf.InvalidOption, match="a second column 'ndcg_at_1'"):
        DF.with_columns(ndcg_at_1=1).rank.on(names="flat").with_metrics("ndcg@1")


def test_the_time_for_many_names_grows_with_their_number() -> None:
    start = process_time()
    flat_names(f"ndcg@{k}" for k in range(1, 30_001))
    assert process_time() - start < 2  # some hundredths; comparing each name with all others took 5


def test_tables_that_name_metrics_in_a_column_keep_their_texts() -> None:
    ranker = DF.rank.on(names="flat")
    assert ranker.summarize("ndcg@1", ci=None)["metric"].item() == "ndcg@1"
    assert ranker.gate({"ndcg@1": 0.25}, runs=["score", "new"]).moved["contribution"].to_list() == [1.0]


def test_an_unknown_preset_in_a_list_is_named() -> None:
    with pytest.raises(rf.InvalidOption, match=r"names='flatt': write one of .* Did you mean 'flat'\?"):
        DF.rank.on(names=["pyterrier", "flatt"])


def test_the_evaluation_of_a_model_is_a_table_of_requests_and_documents() -> None:
    df = DF.rename({"query_id": "request_id", "doc_id": "doc_uri"})
    assert df.rank.on(names="mlflow").rr().rows() == [(1, 0.5)]


@each("text", FLAT)
def test_a_flat_name_is_read_as_the_text_that_it_stands_for(text: str) -> None:
    assert [call.text for call in rf.parse(FLAT[text])] == [text]


CALLS = {call for name, options in calls.ALL for call in rf.parse(calls.spell(name, options))}
OF_TABLES = {call for text in recommenders.TEXTS for call in rf.parse(text)}


def read(name: str) -> list[Call]:
    """The calls that a name is read as; none if it is refused."""
    with suppress(rf.UnknownMetric):
        return rf.parse(name)
    return []


@each("turn", range(4), sample=1)
def test_the_flat_name_of_every_call_is_read_or_refused_but_never_another_metric(turn: int) -> None:
    asked = sorted(CALLS | OF_TABLES, key=lambda call: call.text)[turn::4]
    found = {call: read(flat_name(call.text)) for call in asked}
    assert all(calls == [call] for call, calls in found.items() if calls)
    # the fractions of a mapping have no mark where one number ends, and the name of a group loses its capitals
    refused = [call.text for call, calls in found.items() if not calls]
    assert [text for text in refused if not re.search(r"\{.*\..*\}|group=", text)] == []
    assert len(refused) < len(found) / 3


@each(
    "name",
    ["ndcg_gain_loud_at_3", "ndcg_k_3", "rbp_p_0_95_0_9", "rbp_p_", "ndcg_at_3_gain_binary", "map_at_1_5", "_at_3"],
)
def test_a_name_that_no_text_has_as_its_flat_one_is_no_metric(name: str) -> None:
    with pytest.raises(rf.UnknownMetric):
        rf.parse(name)


def test_the_flat_name_of_a_metric_of_the_whole_table_is_read_among_these() -> None:
    (call,) = rf.parse("gini_normalized_true_at_3", rf.CATALOG_METRICS)
    assert call.text == "gini(normalized=True)@3"
