"""`.rank` on pandas frames gives what `.rank` on Polars frames gives, as a pandas user expects it."""

from __future__ import annotations

import datetime as dt
import decimal
import pickle
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import Phase, given, settings, strategies as st
from pandas.testing import assert_frame_equal, assert_index_equal

import rankframe as rf
from rankframe._command.output import in_options
from rankframe._lift.pandas_tables import spelled
from rankframe.errors import worded
from tests.support.calls import ALL, POLICIES, SOME, Options, spell
from tests.support.each import each
from tests.support.tables import BY_CHANCE, FRACTIONAL_LABELS, Table, frame, random_table, tables

pytestmark = BY_CHANCE

TEXTS = [spell(*call) for call in ALL]
SOME_TEXTS = [spell(*call) for call in SOME]
SUMS = ["dcg", "err(max_label=4)", "hits", "map", "ndcg(gain=exponential)", "precision", "rbp"]


def with_numpy(df: pl.DataFrame) -> pd.DataFrame:
    """Texts as objects, missing numbers as NaN."""
    return pd.DataFrame({x.name: pd.Series(x.to_list(), dtype=object if x.dtype == pl.String else float) for x in df})


def with_texts_as(dtype: str) -> Callable[[pl.DataFrame], pd.DataFrame]:
    return lambda df: with_numpy(df).astype({x.name: dtype for x in df if x.dtype == pl.String})


def with_arrow(df: pl.DataFrame) -> pd.DataFrame:
    return pd.DataFrame({x.name: pd.Series(x.to_arrow(), dtype=pd.ArrowDtype(x.to_arrow().type)) for x in df})


def with_nullable(df: pl.DataFrame) -> pd.DataFrame:
    """pd.NA for what is missing, in whole and fractional numbers."""
    return with_numpy(df).astype({"query_id": "string"}).convert_dtypes()


KINDS: dict[str, Callable[[pl.DataFrame], pd.DataFrame]] = {
    "numpy": with_numpy,
    "nullable": with_nullable,
    "Arrow": with_arrow,
    "str": with_texts_as("str"),
    "string[python]": with_texts_as("string[python]"),
    "string[pyarrow]": with_texts_as("string[pyarrow]"),
    "category": with_texts_as("category"),
}
every_kind = each("kind", KINDS.values(), ids=KINDS)
law = settings(deadline=None, derandomize=True, max_examples=5, phases=[Phase.generate])


def assert_same_values(found: pd.DataFrame, wanted: pl.DataFrame) -> None:
    """One row per query, in the same order, to 1e-12; NaN is null."""
    assert found.index.tolist() == wanted["query_id"].to_list()
    assert found.index.name == "query_id"
    assert found.columns.tolist() == wanted.columns[1:]
    assert set(found.dtypes) <= {np.dtype(float)}
    values = wanted.drop("query_id").to_numpy()
    np.testing.assert_allclose(found.to_numpy(), values, rtol=1e-12, atol=1e-12, equal_nan=True)


@every_kind
@each("policies", POLICIES, ids=str, sample=12)
def test_every_metric_has_the_values_it_has_on_polars(kind: Any, policies: Options) -> None:
    # every two of metric, policy and kind together, not all three: a kind is converted before a metric is asked
    texts = TEXTS[(list(KINDS.values()).index(kind) + POLICIES.index(policies)) % 14 :: 14]
    df = frame(random_table(7, queries=25, labels=FRACTIONAL_LABELS))
    pandas = kind(df)
    assert isinstance(pandas, pd.DataFrame)
    assert_same_values(pandas.rank.on(**policies).evaluate(*texts), df.rank.on(**policies).evaluate(*texts))


@each("kind", KINDS.values(), ids=KINDS, sample=3)
@law
@given(table=tables(FRACTIONAL_LABELS), policies=st.sampled_from(POLICIES), turn=st.integers(0, 8))
def test_any_table_has_the_values_it_has_on_polars(kind: Any, table: Table, policies: Options, turn: int) -> None:
    df, texts = frame(table), SOME_TEXTS[turn::9]
    found = kind(df).rank.on(**policies).evaluate(*texts)
    assert_same_values(found, df.rank.on(**policies).evaluate(*texts))


@every_kind
def test_a_metrics_method_gives_its_column(kind: Any) -> None:
    df = frame(random_table(1))
    assert_same_values(kind(df).rank.ndcg(k=5, gain="exponential"), df.rank.ndcg(k=5, gain="exponential"))
    assert_same_values(kind(df).rank.on(no_relevant="null").auc(), df.rank.on(no_relevant="null").auc())


@every_kind
def test_agreement_is_that_of_polars(kind: Any) -> None:
    df = frame(random_table(2))
    measures = ("kendall_tau", "spearman", "kendall_distance@3", "tau_ap", "overlap@3", "rbo", "rbo_residual")
    wanted = df.rank.agreement("label", *measures)
    assert_same_values(kind(df).rank.agreement("label", *measures), wanted)


INDEXES: dict[str, Callable[[int], Any]] = {
    "range": lambda n: pd.RangeIndex(n),
    "reversed": lambda n: pd.RangeIndex(n, 0, -1),
    "repeated labels": lambda n: pd.Index([i % 3 for i in range(n)], name="i"),
    "dates": lambda n: pd.date_range("2020-01-01", periods=n, freq="D", tz="Europe/Paris"),
    "levels": lambda n: pd.MultiIndex.from_arrays([range(n), [i // 2 for i in range(n)]], names=["a", None]),
    "texts": lambda n: pd.Index([f"row {-i}" for i in range(n)]),
    "missing labels": lambda n: pd.Index([None, 1.5] * n)[:n],
}


@every_kind
@each("index", INDEXES.values(), ids=INDEXES, sample=14)
def test_rows_keep_their_order_index_and_columns(kind: Any, index: Any) -> None:
    df = frame(random_table(3))
    pandas = kind(df).set_axis(index(len(df)))
    ranks = pandas.rank.with_ranks("place")
    assert_frame_equal(ranks.drop(columns="place"), pandas)
    assert ranks["place"].dtype == "Int64"
    assert [None if pd.isna(x) else x for x in ranks["place"]] == df.rank.with_ranks("place")["place"].to_list()
    values = pandas.rank.with_metrics("map", "auc")
    assert_frame_equal(values[pandas.columns.to_list()], pandas)
    wanted = df.rank.with_metrics("map", "auc")
    np.testing.assert_allclose(values["map"], wanted["map"], rtol=1e-12)
    np.testing.assert_allclose(values["auc"], wanted["auc"].to_numpy(), rtol=1e-12)


@each("verb", ["curve", "explain"])
@every_kind
@each("index", INDEXES.values(), ids=INDEXES, sample=14)
def test_rows_by_rank_carry_the_callers_own_labels_and_values(kind: Any, index: Any, verb: str) -> None:
    df = frame(random_table(4))
    pandas = kind(df).set_axis(index(len(df)))
    found = getattr(pandas.rank, verb)(*SUMS)
    wanted = getattr(df.with_row_index("#i").rank, verb)(*SUMS)
    assert found.columns.tolist() == wanted.columns
    rows = wanted.join(df.with_row_index("i"), on=["query_id", "doc_id"], how="left", maintain_order="left")["i"]
    own = [name for name in wanted.columns if name in df.columns]
    assert_frame_equal(found[own], pandas[own].iloc[rows.to_numpy()])
    assert [None if pd.isna(x) else x for x in found["rank"]] == wanted["rank"].to_list()
    np.testing.assert_allclose(found[SUMS].to_numpy(), wanted[SUMS].to_numpy(), rtol=1e-12, atol=1e-12)


@every_kind
def test_curve_ends_at_the_metric_and_explain_sums_to_it(kind: Any) -> None:
    df = kind(frame(random_table(5)))
    values = df.rank.evaluate("map", "dcg")
    by_rank = df.rank.curve("dcg").groupby("query_id", sort=False, observed=True)["dcg"].last()
    parts = df.rank.explain("map").groupby("query_id", sort=False, observed=True)["map"].sum(min_count=1)
    wanted = values.astype(float)
    np.testing.assert_allclose(parts.loc[values.index].astype(float), wanted["map"], atol=1e-12)
    np.testing.assert_allclose(by_rank.astype(float), wanted["dcg"].loc[by_rank.index], atol=1e-12)


RUN = pd.DataFrame(
    {
        "query_id": ["a", "a", "b", "z"],
        "doc_id": [3, 1, 1, 9],
        "score": [2.0, 1.0, 5.0, 1.0],
        "note": [{}, "x", 1, None],
    },
    index=[9, 9, 2, 1],
)
QRELS = pd.DataFrame({"doc_id": [1, 2, 4], "label": [1, 2, 0], "query_id": ["a", "a", "c"], "who": ["p", "q", "r"]})
JUDGED = pd.DataFrame(
    {
        "query_id": ["a", "a", "b", "z", "a", "c"],
        "doc_id": [3, 1, 1, 9, 2, 4],
        "score": [2.0, 1.0, 5.0, 1.0, None, None],
        "note": [{}, "x", 1, None, None, None],
        "label": [None, 1.0, None, None, 2.0, 0.0],
        "who": [None, "p", None, None, "q", "r"],
    }
)


def test_judge_joins_as_a_merge_of_pandas_does() -> None:
    found = RUN.rank.judge(QRELS, run_only="keep", judged_only="keep")
    keys = ["query_id", "doc_id"]
    merged = RUN.merge(QRELS, on=keys, how="outer")
    order = pd.MultiIndex.from_frame(found[keys])
    assert_frame_equal(found.drop(columns=keys), merged.set_index(keys).loc[order].reset_index(drop=True))
    assert_frame_equal(found[[*keys, "score", "label"]], JUDGED[[*keys, "score", "label"]])
    assert found["who"].dropna().tolist() == ["p", "q", "r"]
    assert found["doc_id"].dtype == np.int64


def test_judge_follows_its_options() -> None:
    assert RUN.rank.judge(QRELS, run_only="drop", judged_only="keep")["query_id"].tolist() == ["a", "a", "a", "c"]
    judged = RUN.rank.judge(QRELS, judged_only="drop", run_only="drop")
    assert judged["query_id"].tolist() == ["a", "a", "a"]
    assert judged.rank.evaluate("map", "recall").loc["a"].tolist() == [0.25, 0.5]


@every_kind
def test_judged_runs_have_the_values_they_have_on_polars(kind: Any) -> None:
    df = frame(random_table(6))
    run, qrels = df.drop_nulls("score").drop("label"), df.drop_nulls("label").drop("score").sort("doc_id")
    found = kind(run.with_columns(label=0.0)).drop(columns="label").rank.judge(kind(qrels), judged_only="keep")
    wanted = run.rank.judge(qrels, judged_only="keep")
    assert_same_values(found.rank.evaluate("ndcg", "map"), wanted.rank.evaluate("ndcg", "map"))
    assert found["doc_id"].tolist() == wanted["doc_id"].to_list()


def test_judge_reads_polars_judgments() -> None:
    qrels = pl.DataFrame({"query_id": ["a", "a"], "doc_id": [1, 2], "label": [1, 2]})
    for judgments in (qrels, qrels.lazy()):
        assert RUN.rank.judge(judgments, run_only="drop").rank.recall()["recall"].tolist() == [0.5]
    with pytest.raises(rf.InvalidData, match="is no frame of judgments; give a pandas DataFrame"):
        RUN.rank.judge({"a": 1})


def test_judgments_hold_for_every_run_of_the_table() -> None:
    runs = pd.concat([RUN.assign(run="x"), RUN.assign(run="y")])
    found = runs.rank.on(query=["run", "query_id"]).judge(QRELS, run_only="keep", judged_only="keep")
    for name in ("x", "y"):
        part = found[found["run"] == name].drop(columns="run").sort_values(["query_id", "doc_id"], ignore_index=True)
        whole = RUN.rank.judge(QRELS, run_only="keep", judged_only="keep").sort_values(
            ["query_id", "doc_id"], ignore_index=True
        )
        assert_frame_equal(part, whole)


def test_ids_in_the_index_come_out_of_judge_as_columns() -> None:
    found = RUN.set_index(["query_id", "doc_id"]).rank.judge(
        QRELS.set_index("query_id"), run_only="drop", judged_only="keep"
    )
    assert_frame_equal(
        found[RUN.columns.to_list()], RUN.rank.judge(QRELS, run_only="drop", judged_only="keep")[RUN.columns.to_list()]
    )


def test_check_lists_what_is_wrong() -> None:
    df = pd.DataFrame(
        {"query_id": ["a", "a", "b"], "doc_id": [1, 1, 2], "score": [3.0, 1.0, None], "label": [1.0, 1.0, np.inf]}
    )
    found = df.rank.check().rows
    problems = dict(zip(found["problem"], found["rows"], strict=True))
    assert problems == {"label not finite": 1, "repeated document": 2, "nothing retrieved": 1}
    assert found.loc[found["problem"] == "repeated document", "doc_id"].tolist() == [1]
    assert found["rows"].dtype == "Int64"
    assert (
        "keep one row of each, or, if these are several rankings, name the column that says which: df.rank.on("
        in found.set_index("problem").loc["repeated document", "advice"]
    )
    both = RUN.rank.check(QRELS).rows
    assert set(zip(both["problem"], both["query_id"], strict=True)) >= {
        ("query without judgments", "b"), ("query without judgments", "z"), ("nothing retrieved", "c")
    }  # fmt: skip


def test_a_table_without_problems_has_an_empty_check() -> None:
    df = pd.DataFrame({"query_id": ["a", "a"], "doc_id": [1, 2], "score": [2.0, None], "label": [1.0, 1.0]})
    assert df.rank.check().rows.empty
    assert df.rank.check().rows.columns.tolist()[:2] == ["severity", "problem"]


SMALL = pd.DataFrame(
    {
        "query_id": ["a", "a", "b", "b"],
        "doc_id": ["x", "y", "x", "y"],
        "score": [1.0, 2.0, 3.0, 3.0],
        "label": [1, 0, 1, 0],
    }
)
BERLIN = [
    pd.Timestamp("2020-03-01 10:00:00.000000001", tz="Europe/Berlin"),
    pd.Timestamp("2020-03-02", tz="Europe/Berlin"),
]
UUIDS = [uuid.UUID(int=2**127 + 5), uuid.UUID(int=7)]
IDS: dict[str, Any] = {
    "objects": pd.Series(["a", "B"], dtype=object),
    "str": pd.Series(["a", "B"], dtype="str"),
    "string[python]": pd.Series(["a", None], dtype="string[python]"),
    "string[pyarrow]": pd.Series(["a", None], dtype="string[pyarrow]"),
    "texts and NaN": pd.Series(["a", np.nan], dtype=object),
    "texts and pd.NA": pd.Series([pd.NA, "a"], dtype=object),
    "subclass of str": pd.Series([np.str_("a"), np.str_("b")], dtype=object),
    "ordered categories": pd.Series(pd.Categorical(["b", "a"], categories=["b", "c", "a"], ordered=True)),
    "categories and NaN": pd.Series(pd.Categorical(["b", None])),
    "categories of numbers": pd.Series(pd.Categorical([10, 9])),
    "categories of UUIDs": pd.Series(pd.Categorical(UUIDS)),
    "uint64": pd.Series([2**64 - 1, 2**63], dtype="uint64"),
    "int8": pd.Series([1, -1], dtype="int8"),
    "float": pd.Series([1.5, np.nan]),
    "bool": pd.Series([True, False]),
    "UInt64": pd.Series([2**64 - 1, None], dtype="UInt64"),
    "boolean": pd.Series([True, None], dtype="boolean"),
    "integers as objects": pd.Series([2**63, 1], dtype=object),
    "integers and None": pd.Series([1, None], dtype=object),
    "UUIDs": pd.Series(UUIDS),
    "UUIDs and None": pd.Series([UUIDS[0], None]),
    "Decimals": pd.Series([decimal.Decimal("1.5"), decimal.Decimal("1.25")]),
    "dates": pd.Series([dt.date(2020, 1, 2), dt.date(2020, 1, 1)]),
    "datetimes": pd.Series([pd.Timestamp("2020-01-02"), pd.Timestamp("2020-01-01 00:00:00.000000001")]),
    "datetimes and NaT": pd.Series(pd.to_datetime(["2020-01-02", None])),
    "datetimes by the second": pd.Series(np.array(["2020-01-02", "2020-01-01"], dtype="M8[s]")),
    "datetimes with a time zone": pd.Series(BERLIN),
    "datetimes as objects": pd.Series([BERLIN[0], BERLIN[1]], dtype=object),
    "durations": pd.Series(pd.to_timedelta([1, 2], unit="h")),
    "bytes": pd.Series([b"a", b"\xff"]),
    "sparse": pd.Series(pd.arrays.SparseArray([0, 5])),
    "Arrow text": pd.Series(["a", None], dtype="string[pyarrow]").astype(pd.ArrowDtype(pa.string())),
    "Arrow integers": pd.Series([1, None], dtype="int32[pyarrow]"),
    "Arrow datetimes": pd.Series(pd.to_datetime(["2020-01-02", "2020-01-01"])).astype("timestamp[ns][pyarrow]"),
    "Arrow datetimes with a time zone": pd.Series(BERLIN).astype("timestamp[ns, Europe/Berlin][pyarrow]"),
    "Arrow Decimals": pd.Series([decimal.Decimal("1.5"), None]).astype(pd.ArrowDtype(pa.decimal128(5, 2))),
}
every_id = each("ids", IDS.values(), ids=IDS)


@every_id
def test_queries_come_back_as_they_were(ids: pd.Series[Any]) -> None:
    df = SMALL.assign(query_id=ids.take([0, 0, 1, 1]).reset_index(drop=True))
    found = df.rank.reciprocal_rank()
    assert found["rr"].tolist() == [0.5, 0.5]
    wanted = pd.Index(ids, dtype=ids.dtype, name="query_id")
    assert_index_equal(found.index, wanted)
    with_run = df.assign(run="r").rank.on(query=["run", "query_id"]).reciprocal_rank()
    assert with_run.index.names == ["run", "query_id"]
    assert_index_equal(with_run.index.get_level_values(1), pd.MultiIndex.from_arrays([wanted]).get_level_values(0))
    assert_frame_equal(df.rank.explain("rr")[["query_id"]], df[["query_id"]].iloc[[1, 0, 3, 2]])


@each("ids", {name: ids for name, ids in IDS.items() if not ids.isna().any()}.values())
def test_documents_of_any_type_tell_tied_rows_apart(ids: pd.Series[Any]) -> None:
    df = pd.DataFrame({"query_id": "q", "doc_id": ids, "score": 1, "label": [1, 0]})
    both = [df.rank.on(ties=ties).with_ranks()["rank"].tolist() for ties in ("doc_desc", "doc_asc")]
    assert both in ([[1, 2], [2, 1]], [[2, 1], [1, 2]])
    assert both == [df[::-1].rank.on(ties=t).with_ranks()["rank"].tolist()[::-1] for t in ("doc_desc", "doc_asc")]
    text = ids.dtype == "category" and ids.cat.categories.dtype.kind != "i"
    assert ids[both[0].index(1)] == max(ids, key=str if text else None)


def test_texts_of_categories_not_their_codes_order_documents() -> None:
    doc = pd.Categorical(["x", "y", "x", "y"], categories=["y", "x"], ordered=True)
    assert_frame_equal(SMALL.assign(doc_id=doc).rank.reciprocal_rank(), SMALL.rank.reciprocal_rank())


NUMBERS: dict[str, Any] = {
    "NaN": pd.Series([np.nan, 2.0, 3.0, np.nan]),
    "float32": pd.Series([np.nan, 2.0, 3.0, np.nan], dtype="float32"),
    "Int64": pd.Series([None, 2, 3, None], dtype="Int64"),
    "Float64": pd.Series([None, 2, 3, None], dtype="Float64"),
    "objects": pd.Series([None, 2, 3.0, pd.NA], dtype=object),
    "sparse": pd.Series(pd.arrays.SparseArray([np.nan, 2.0, 3.0, np.nan])),
    "Arrow": pd.Series([None, 2, 3, None], dtype="int64[pyarrow]"),
    "Arrow NaN": pd.Series([np.nan, 2, 3, None], dtype="double[pyarrow]"),
    "Decimals": pd.Series([None, decimal.Decimal(2), decimal.Decimal(3), None]),
}
every_number = each("numbers", NUMBERS.values(), ids=NUMBERS)


@every_number
def test_a_missing_score_is_a_document_that_was_not_retrieved(numbers: Any) -> None:
    found = SMALL.assign(score=numbers).rank
    assert [None if pd.isna(x) else x for x in found.with_ranks()["rank"]] == [None, 1, 1, None]
    assert found.evaluate("recall", "rr", "precision@1").to_numpy().tolist() == [[0, 0, 0], [1, 1, 1]]


@every_number
def test_a_missing_label_is_a_document_that_nobody_judged(numbers: Any) -> None:
    found = SMALL.assign(label=numbers).rank.on(unjudged="drop", ties="order").evaluate("precision", "dcg@1")
    assert found.to_numpy().tolist() == [[1, 2], [1, 3]]


def test_booleans_are_labels() -> None:
    for dtype in ("bool", "boolean", "bool[pyarrow]"):
        found = SMALL.assign(label=pd.Series([True, False, True, False], dtype=dtype)).rank.reciprocal_rank()
        assert found["rr"].tolist() == [0.5, 0.5]


def test_an_outer_merge_of_run_and_judgments_is_read_as_it_is() -> None:
    merged = RUN.merge(QRELS, on=["query_id", "doc_id"], how="outer")
    found = merged.rank.evaluate("map", "recall")
    wanted = RUN.rank.judge(QRELS, run_only="drop", judged_only="keep").rank.evaluate("map", "recall")
    assert_frame_equal(found.sort_index().dropna(), wanted.sort_index())  # without queries that nobody judged


def test_columns_may_be_named_by_numbers() -> None:
    df = SMALL.set_axis(range(4), axis=1)
    ranker = df.rank.on(query=0, doc=1, score=2, label=3)
    assert_frame_equal(ranker.evaluate("map"), SMALL.rank.evaluate("map").rename_axis(index=0))
    assert ranker.with_metrics("rr").columns.tolist() == [0, 1, 2, 3, "rr"]
    assert ranker.explain("rr").columns.tolist() == [0, 1, 2, 3, "rank", "rr"]
    assert ranker.agreement(3, "spearman").index.name == 0
    several = df.rank.on(query=[0, 1], doc=None, score=np.int64(2), label="3").reciprocal_rank()
    assert several.index.names == [0, 1]
    judged = df[[0, 1, 2]].rank.on(query=0, doc=1, score=2, label=3).judge(df[[0, 1, 3]])
    assert_frame_equal(judged, df)


def test_slices_and_weights_may_be_named_by_numbers(tmp_path: Path) -> None:
    named = SMALL.assign(day=[1, 1, 2, 2], new=SMALL["label"])
    df = named.set_axis(range(6), axis=1)
    on, by_name = df.rank.on(query=0, doc=1, score=2, label=3), named.rank

    def same(mine: pd.DataFrame, wanted: pd.DataFrame) -> None:
        texts = {"day": "4", "score": "2", "new": "5"}
        assert_frame_equal(mine, wanted.rename(columns=texts).replace(texts))

    same(on.mean("rr", by=4), by_name.mean("rr", by="day"))
    same(on.summarize("rr", by=[4], weights=4), by_name.summarize("rr", by=["day"], weights="day"))
    same(
        on.compare("rr", runs=[2, 5], baseline=5, by=4).table,
        by_name.compare("rr", runs=["score", "new"], baseline="new", by="day").table,
    )
    same(
        on.power("rr", difference=0.1, runs=[2, 5], by=4),
        by_name.power("rr", difference=0.1, runs=["score", "new"], by="day"),
    )
    page = on.report(tmp_path / "page.html", "rr", by=4, show=1).read_text(encoding="utf-8")
    assert "Worst queries" in page


def test_ids_may_stand_in_the_index() -> None:
    df = SMALL.set_index(["query_id", "doc_id"])
    assert_frame_equal(df.rank.evaluate("map", "ndcg"), SMALL.rank.evaluate("map", "ndcg"))
    assert_frame_equal(df.rank.with_metrics("map").drop(columns="map"), df)
    found = df.rank.explain("map")
    assert found.columns.tolist() == ["score", "label", "rank", "map"]
    assert found.index.tolist() == [("a", "y"), ("a", "x"), ("b", "y"), ("b", "x")]


def test_a_column_hides_an_index_level_of_its_name() -> None:
    df = SMALL.set_axis(pd.Index([1, 1, 1, 1], name="query_id"))
    assert df.rank.evaluate("map").index.tolist() == ["a", "b"]


def test_columns_that_are_not_needed_may_hold_anything() -> None:
    odd = pd.DataFrame(
        {"z": [1, "a", None, {}], "s": pd.arrays.SparseArray([0, 0, 1, 0]), "i": pd.interval_range(0, 4)}
    )
    df = pd.concat([odd, SMALL, odd], axis=1)
    assert_frame_equal(df.rank.evaluate("map", "ndcg"), SMALL.rank.evaluate("map", "ndcg"))
    assert_frame_equal(df.rank.with_metrics("map").iloc[:, :-1], df)
    assert_frame_equal(df.rank.with_ranks().iloc[:, :-1], df)
    assert_frame_equal(df.rank.explain("map"), SMALL.rank.explain("map"))
    judged = df.drop(columns="label").rank.judge(SMALL.drop(columns="score"))
    assert_frame_equal(judged, pd.concat([df.drop(columns="label"), df["label"]], axis=1))


def test_expressions_of_polars_see_the_columns_they_name() -> None:
    df = SMALL.assign(clicks=[1, 2, 3, 4], junk=[{}, 1, "a", None])
    found = df.rank.evaluate("rr", pl.col("clicks").sum(), pl.len().alias("n"), rf.expr.precision(k=1))
    assert found.columns.tolist() == ["rr", "clicks", "n", "precision@1"]
    assert found["clicks"].tolist() == [3, 7]
    assert df.rank.with_metrics(pl.col("clicks").max().alias("most"))["most"].tolist() == [2, 2, 4, 4]
    twice = (pl.selectors.by_name("clicks") * 2).sum().alias("twice")
    assert df.rank.evaluate(twice)["twice"].tolist() == [6, 14]
    assert df.rank.with_metrics(twice)["twice"].tolist() == [6, 6, 14, 14]
    texts = df.rank.evaluate(pl.col("doc_id").first(), (pl.col("clicks") > 2).any().alias("many"))
    assert texts["doc_id"].tolist() == ["x", "x"]
    assert texts["many"].tolist() == [False, True]


class Special(pd.DataFrame):  # type: ignore[misc]
    _metadata = ["unit"]  # noqa: RUF012 - as pandas has it

    @property
    def _constructor(self) -> Any:
        return Special


def test_rows_of_a_subclass_stay_in_the_subclass() -> None:
    df = Special(SMALL)
    df.unit, df.attrs = "m", {"from": "here"}
    for found in (df.rank.with_ranks(), df.rank.with_metrics("map"), df.rank.explain("map"), df.rank.curve("map")):
        assert type(found) is Special
        assert found.unit == "m"
        assert found.attrs == {"from": "here"}
    assert type(df.rank()) is Special
    assert df.rank.evaluate("map").equals(SMALL.rank.evaluate("map"))


RESULTS: dict[str, Callable[[pd.DataFrame], pd.DataFrame]] = {
    "evaluate": lambda df: df.rank.evaluate("map", "ndcg"),
    "two query columns": lambda df: df.assign(run=1).rank.on(query=["run", "query_id"]).evaluate("map"),
    "numbers as queries": lambda df: df.rank.on(query="label", doc=None, label="score").evaluate("hits"),
    "agreement": lambda df: df.rank.agreement("label", "spearman"),
    "with_ranks": lambda df: df.rank.with_ranks(),
    "with_metrics": lambda df: df.rank.with_metrics("map"),
    "curve": lambda df: df.rank.curve("map"),
    "explain": lambda df: df.rank.explain("map"),
    "judge": lambda df: df.drop(columns="label").rank.judge(df.drop(columns="score")),
    "check": lambda df: df.rank.on(relevant=3).check().rows,
}
MEMORY = {
    "numpy": lambda: SMALL.astype({"query_id": object, "doc_id": object}),
    "integers": lambda: SMALL.assign(query_id=[1, 1, 2, 2], doc_id=[1, 2, 1, 2], label=[1.0, 0.0, 1.0, 0.0]),
    "nullable": lambda: SMALL.convert_dtypes(),
    "category": lambda: SMALL.astype({"query_id": "category", "doc_id": "category"}),
    "Arrow": lambda: SMALL.convert_dtypes(dtype_backend="pyarrow"),
}


def arrays(df: pd.DataFrame) -> list[Any]:
    """The memory behind a frame that can be written to."""
    columns = [np.asarray(df.iloc[:, i].array) for i in range(df.shape[1])]
    levels = [np.asarray(df.index.get_level_values(i)) for i in range(df.index.nlevels)]
    return [x for x in [*columns, *levels] if x.flags.writeable]


@each("memory", MEMORY)
@each("result_of", RESULTS, sample=10)
def test_a_result_can_be_written_to_and_shares_nothing_with_the_callers_frame(memory: str, result_of: str) -> None:
    make, verb = MEMORY[memory], RESULTS[result_of]
    df = make().set_axis(pd.Index([5, 6, 7, 8]))
    before = df.copy(deep=True)
    result = verb(df)
    assert_frame_equal(df, before)
    for mine in arrays(result):
        assert not any(np.shares_memory(mine, theirs) for theirs in arrays(df))
    for place in range(result.shape[1]):
        result.isetitem(place, result.iloc[:, place].astype(object))
        result.iloc[0:1, place] = None
    for place, dtype in enumerate(verb(df).dtypes):
        if dtype.kind == "f":
            fresh = verb(df)
            fresh.iloc[0, place] = -1.0
            assert fresh.iloc[0, place] == -1
    assert_frame_equal(df, before)
    again = verb(df)
    for place in range(df.shape[1]):
        df.isetitem(place, df.iloc[::-1, place].array)
    df.iloc[0, df.columns.get_loc("score")] = 0
    df.index = df.index[::-1]
    assert_frame_equal(again, verb(before))


def test_the_frames_own_rank_is_pandas_and_a_ranker_with_names_cannot_be_called() -> None:
    numbers = SMALL[["score", "label"]]
    assert numbers.rank(ascending=False)["score"].tolist() == [4, 3, 1.5, 1.5]
    assert not callable(SMALL.rank.on(query="query_id"))
    assert not callable(rf.rank(SMALL))
    assert ".rank of a pandas DataFrame" in repr(rf.rank(SMALL))
    assert ".rank.evaluate('ndcg@10', 'map')" in repr(rf.rank(SMALL))
    assert {"ndcg", "evaluate", "on"} <= set(dir(SMALL.rank))
    assert SMALL.rank.__func__ is pd.DataFrame.rank
    with pytest.raises(AttributeError, match="has no attribute 'ndgc'") as caught:
        _ = SMALL.rank.ndgc
    assert caught.value.name == "ndgc"


def test_typed_code_says_rf_rank() -> None:
    assert_frame_equal(rf.rank(SMALL).ndcg(k=10), SMALL.rank.ndcg(k=10))


def test_empty_frames_have_empty_results() -> None:
    for df in (SMALL[:0], pd.DataFrame(columns=SMALL.columns)):
        assert df.rank.evaluate("map", "ndcg@5").shape == (0, 2)
        assert df.rank.with_ranks().shape == (0, 5)
        assert df.rank.explain("map").shape == (0, 6)
        assert df.rank.check().rows.empty
    with pytest.raises(
        rf.MissingColumn,
        match="no column 'query_id' for query, 'score' for score, 'label' for label; the table has no columns",
    ):
        pd.DataFrame().rank.evaluate("map")


@each(
    ("call", "error", "message"),
    [
        (lambda: SMALL.rename(columns={"query_id": "qid"}).rank.ndcg(), rf.MissingColumn,
         "no column 'query_id' for query; the table has qid, doc_id, score, label. Say df.rank.on(query='qid')"),
        (lambda: SMALL.set_axis(range(4), axis=1).rank.ndcg(), rf.MissingColumn, "the table has 0, 1, 2, 3"),
        (lambda: SMALL.rank.on(score=7).ndcg(), rf.MissingColumn, "no column '7' for score"),
        (lambda: SMALL.rank.on(score="doc_id", doc=None).ndcg(), rf.InvalidData, "cast it, as in df.astype({'doc_id': 'float64'})"),
        (lambda: SMALL.assign(subtopic="x", doc_id="x", score=1.0).rank.on(subtopic="subtopic").alpha_ndcg(), rf.InvalidData,
         "df.drop_duplicates(['query_id', 'doc_id', 'subtopic'])"),
        (lambda: SMALL.assign(label=np.inf).rank.ndcg(), rf.InvalidData, "infinite label"),
        (lambda: SMALL.assign(doc_id=[1, "x", 1, "x"]).rank.ndcg(), rf.InvalidData,
         "column 'doc_id' holds objects of type int (1) and str ('x'); make text of all, as df.astype({'doc_id': str}) does"),
        (lambda: SMALL.assign(score=[1j] * 4).rank.ndcg(), rf.InvalidData, "make real numbers of it, as numpy.real(df['score'])"),
        (lambda: SMALL.assign(doc_id=[(1, 2)] * 4).rank.ndcg(), rf.InvalidData, "objects of type tuple"),
        (lambda: SMALL.assign(doc_id=pd.period_range("2020", periods=4)).rank.ndcg(), rf.InvalidData, "Period"),
        (lambda: SMALL.assign(score=[1j, 2, 3, 4]).rank.ndcg(), rf.InvalidData, "column 'score' holds complex128"),
        (lambda: pd.concat([SMALL, SMALL[["score"]]], axis=1).rank.ndcg(), rf.InvalidData, "2 columns are named 'score'"),
        (lambda: pd.concat({"x": SMALL}, axis=1).rank.ndcg(), rf.InvalidData, "the columns have 2 levels"),
        (lambda: SMALL.assign(map=1).rank.with_metrics("map"), rf.InvalidOption, "second column 'map'"),
        (lambda: SMALL.rank.with_ranks("label"), rf.InvalidOption, "second column 'label'"),
        (lambda: SMALL.rank.evaluate("ndgc@10"), rf.UnknownMetric, "Did you mean 'ndcg'"),
        (lambda: SMALL.rank.judge(QRELS), rf.InvalidOption, "already has a column 'label'"),
        (lambda: RUN.rank.judge(QRELS.assign(doc_id="x")), rf.InvalidData, "cast one, as in df.astype({'doc_id': str})"),
        (lambda: RUN.rank.judge(QRELS.rename(columns={"label": "rel"})), rf.MissingColumn, "no column 'label' for label; qrels has doc_id, rel, query_id, who. Say df.rank.on(label='rel')"),
        (lambda: SMALL.drop(columns="label").rename(columns={"doc_id": "d"}).rank.on(query="qid").judge(QRELS), rf.MissingColumn,
         "no column 'qid' for query, 'doc_id' for doc; the table has query_id, d, score. Say df.rank.on("),
        (lambda: RUN.rank.judge(QRELS.rename(columns={"who": "note"})), rf.InvalidOption, "both have a column 'note'"),
    ],
)  # fmt: skip
def test_an_error_says_what_is_wrong_in_words_of_pandas(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error) as caught:
        call()
    assert message in str(caught.value)
    assert "pl." not in str(caught.value)
    assert caught.value.__suppress_context__


def test_values_of_the_user_are_no_code_to_spell() -> None:
    name = "df.unique(['a'])"
    with pytest.raises(rf.InvalidData) as caught:
        SMALL.assign(doc_id=name, subtopic="x", score=1.0).rank.on(subtopic="subtopic").alpha_ndcg()
    assert "drop_duplicates(['query_id', 'doc_id', 'subtopic'])" in str(caught.value)
    assert f"doc_id={name!r}" in str(caught.value)


def test_an_error_has_its_parts_and_its_kind_in_pandas_too() -> None:
    weighted = SMALL.assign(w=[1.0, None, 1.0, 1.0])
    found = []
    for df in (weighted, pl.from_pandas(weighted)):
        with pytest.raises(rf.InvalidData) as caught:
            df.rank.on(weight="w").dcg()
        found.append(pickle.loads(pickle.dumps(caught.value)))
    in_pandas, in_polars = found
    assert in_pandas.kind == in_polars.kind == "weight"
    assert in_options(in_pandas.parts) == in_options(in_polars.parts)
    assert worded(in_polars.parts, spelled) == str(in_pandas) != str(in_polars)


def test_results_hold_texts_as_pandas_does_by_default() -> None:
    default = pd.Series(["a"]).dtype  # str from pandas 3 on
    for df in (SMALL, SMALL.assign(label=0)):
        assert df.rank.check().rows.dtypes["advice"] == default
    assert SMALL.rank.evaluate("map").index.dtype == default


def test_slices_keep_their_zone_of_time_and_their_categories() -> None:
    # Midnight in Berlin is 23:00 of the day before in UTC.
    days = pd.to_datetime(["2024-01-01", "2024-01-01", None, None]).tz_localize("Europe/Berlin")
    versions = pd.Categorical(["new", "new", "old", "old"], categories=["old", "new"], ordered=True)
    df = pd.DataFrame(
        {"query_id": [1, 1, 2, 2], "doc_id": list("abab"), "label": [1, 0, 0, 1], "score": [2.0, 1.0] * 2}
    )
    df = df.assign(day=days, version=versions, other=df["score"])
    by_day = df.rank.summarize("rr", by="day")["day"]
    assert by_day.dtype == days.dtype
    assert [by_day[0].isoformat(), by_day[1]] == ["2024-01-01T00:00:00+01:00", pd.NaT]
    assert df.rank.mean("rr", by="version")["version"].dtype == versions.dtype
    compared = df.rank.compare("rr", runs=["score", "other"], by="version")
    assert list(compared.table["version"]) == ["new", "old"]
    assert compared.table["version"].dtype == compared.per_query["version"].dtype == versions.dtype
    # The names of runs are no values of a column that happens to be called run.
    runs = df.assign(run=versions).rank.mean("rr", runs=["score", "other"])
    assert list(runs["run"]) == ["score", "other"]
