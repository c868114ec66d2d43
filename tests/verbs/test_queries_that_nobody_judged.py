"""A query that nobody judged has no value, in every verb and form, and the call says how many there are."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import duckdb
import polars as pl
import pytest

import rankframe as rf
from tests.support.each import each
from tests.support.tables import BY_CHANCE

# Of three queries, nobody judged b; of c somebody put a document into the pool, and judged none.
ROWS = [
    ("a", "x", 2.0, 0), ("a", "y", 1.0, 1), ("b", "x", 2.0, None), ("b", "y", 1.0, None), ("c", "x", 2.0, -1),
    ("c", "y", 1.0, None),
]  # fmt: skip
DF = pl.DataFrame(ROWS, schema=["query_id", "doc_id", "score", "label"], orient="row").with_columns(
    other=-pl.col("score")
)
RR = {"a": 0.5, "b": None, "c": 0.0}
SAYS = "1 of 3 queries have no judgments: they have no value, and means leave them out"


def warned(ask: Callable[[], object]) -> list[str]:
    """What a call says of queries without judgments, a lazy result collected; each warning shows a line of this file."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = ask()
        if isinstance(found, pl.LazyFrame):
            found.collect()
    assert {warning.filename for warning in caught} <= {__file__}
    return [str(warning.message) for warning in caught if "no judgments" in str(warning.message)]


FORMS: dict[str, Callable[[], pl.DataFrame]] = {
    "evaluate": lambda: DF.rank.evaluate("rr"),
    "one method": lambda: DF.rank.reciprocal_rank(),
    "lazy": lambda: DF.lazy().rank.evaluate("rr").collect(),
    "grouped": lambda: DF.lazy().rank.on(grouped=True).evaluate("rr").collect(),
    "pandas": lambda: pl.from_pandas(DF.to_pandas().rank.evaluate("rr").reset_index()).fill_nan(None),
    "with_metrics": lambda: DF.rank.with_metrics("rr").select("query_id", "rr").unique(),
    "curve": lambda: DF.rank.curve("rr").group_by("query_id").agg(pl.col("rr").last()),
    "explain": lambda: DF.rank.explain("rr").group_by("query_id").agg(pl.when(pl.col("rr").count() > 0).then(pl.sum("rr"))),
    "agg": lambda: DF.group_by("query_id").agg(rf.expr.reciprocal_rank()),
    "over": lambda: DF.select("query_id", rf.expr.reciprocal_rank().over("query_id")).unique(),
    "arrow": lambda: pl.DataFrame(rf.arrow_kernel("rr")(DF.to_arrow())),
    "condensed": lambda: DF.rank.on(unjudged="drop").evaluate("rr"),
    "own list": lambda: DF.rank.on(unretrieved="drop").evaluate("rr"),
    "expected ties": lambda: DF.rank.on(ties="expected").evaluate("rr"),
    "by a convention": lambda: DF.rank.on(convention="trec_eval").evaluate("rr"),
    "counted as 1": lambda: DF.rank.on(no_relevant="one").evaluate("rr").with_columns(
        rr=pl.when(query_id="c").then(pl.col("rr") - 1).otherwise("rr")
    ),
    "sql": lambda: duckdb.sql(rf.sql("rr", table="DF", dialect="duckdb")).pl(),
}  # fmt: skip


@BY_CHANCE
@each("form", FORMS)
def test_a_query_without_labels_has_no_value_and_one_with_a_pooled_document_counts(form: str) -> None:
    found = FORMS[form]()
    assert dict(found.select("query_id", found.columns[-1]).rows()) == RR


@BY_CHANCE
@each("lazy", [False, True])
def test_a_metric_that_reads_no_label_has_a_value_for_it(lazy: bool) -> None:
    found = (DF.lazy() if lazy else DF).rank.evaluate("num_ret", "map", rf.value(pl.len().alias("n")))
    b = found.lazy().collect().filter(query_id="b")
    assert b.select("num_retrieved", "map", "value:n").row(0) == (2, None, 2)
    assert DF.rank.agreement("other", "kendall_tau")["kendall_tau"].to_list() == [-1, -1, -1]
    assert DF.rank.agreement("other", "rpp")["rpp"].to_list() == [-1, None, 0]


@BY_CHANCE
def test_its_bounds_are_what_judging_could_give() -> None:
    found = DF.rank.on(unjudged="bounds", unjudged_labels=(0, 1)).evaluate("rr").filter(query_id="b")
    assert found.row(0)[1:] == (0, 1)


@BY_CHANCE
def test_means_and_comparisons_leave_it_out() -> None:
    assert DF.rank.mean("rr").item() == 0.25
    assert DF.lazy().rank.mean("rr").collect().item() == 0.25
    assert DF.rank.summarize("rr", interval="bounded").select("n_queries", "mean").row(0) == (2, 0.25)
    compared = DF.rank.compare("rr", runs=["score", "other"], progress=False)
    assert compared.table["n_queries"].to_list() == [2]
    sums = duckdb.sql(rf.sql("rr", table="DF", dialect="duckdb", partial=True)).pl()
    assert sums.select("rr__n", "rr__mean").row(0) == (2, 0.25)


@BY_CHANCE
def test_a_run_that_found_no_judged_document_counts_0_where_another_run_found_one() -> None:
    rows = [("x", "q", "a", 2.0, 1), ("x", "q", "b", 1.0, None), ("y", "q", "b", 2.0, None), ("x", "r", "a", 1.0, None),
            ("y", "r", "a", 1.0, None)]  # fmt: skip
    df = pl.DataFrame(rows, schema=["run", "query_id", "doc_id", "score", "label"], orient="row")
    assert df.rank.mean("rr", run="run").rows() == [("x", 1.0), ("y", 0.0)]
    assert df.lazy().rank.mean("rr", run="run").collect().sort("run").rows() == [("x", 1.0), ("y", 0.0)]
    per_query = df.rank.compare("rr", run="run", progress=False).per_query.sort("query_id", "run")
    assert per_query.select("query_id", "run", "rr").rows() == [
        ("q", "x", 1),
        ("q", "y", 0),
        ("r", "x", None),
        ("r", "y", None),
    ]
    for ask in (  # r alone, whatever the number of runs
        lambda: df.rank.mean("rr", run="run"),
        lambda: df.lazy().rank.mean("rr", run="run"),
        lambda: df.rank.compare("rr", run="run", progress=False),
    ):
        (says,) = warned(ask)
        assert says.startswith("1 of 2 queries have no judgments")


CALLS: dict[str, Callable[[Any], object]] = {
    "evaluate": lambda ranker: ranker.evaluate("rr", "map", "num_ret"),
    "a method": lambda ranker: ranker.ndcg(k=10),
    "with_metrics": lambda ranker: ranker.with_metrics("rr"),
    "curve": lambda ranker: ranker.curve("ndcg"),
    "explain": lambda ranker: ranker.explain("ndcg"),
    "mean": lambda ranker: ranker.mean("rr", runs=["score", "other"]),
    "summarize": lambda ranker: ranker.summarize("rr", ci=None),
}
WHOLE: dict[str, Callable[[Any], object]] = {
    "compare": lambda ranker: ranker.compare("rr", runs=["score", "other"], progress=False),
    "gate": lambda ranker: ranker.gate({"rr": 0.1}, runs=["score", "other"], progress=False),
}
TABLES: dict[str, Callable[[pl.DataFrame], Any]] = {
    "polars": lambda df: df.rank, "pandas": lambda df: df.to_pandas().rank, "lazy": lambda df: df.lazy().rank,
}  # fmt: skip


@each("of", TABLES)
@each("call", CALLS | WHOLE)
def test_the_call_says_once_how_many_there_are(call: str, of: str) -> None:
    ask = (CALLS | WHOLE)[call]
    (says,) = warned(lambda: ask(TABLES[of](DF)))
    assert says.startswith(SAYS)


def test_the_queries_of_all_parts_are_counted() -> None:
    n = 3_000
    judged = pl.DataFrame({"query_id": range(n), "doc_id": "x", "score": 1.0}).join(
        pl.DataFrame({"doc_id": ["x", "y"]}), how="cross"
    )
    df = judged.select("query_id", pl.col("doc_id_right").alias("doc_id"), "score")
    df = df.with_columns(label=pl.when(pl.col("query_id") < 2_900).then(pl.col("query_id") % 2))
    lazy = df.lazy().rank.on(memory_limit=100_000)
    (says,) = warned(lambda: lazy.mean("ndcg"))
    assert says.startswith("100 of 3,000 queries have no judgments")


def test_a_metric_that_reads_no_label_says_nothing_of_it() -> None:
    assert not warned(lambda: DF.rank.evaluate("num_ret"))
    assert not warned(lambda: DF.rank.with_ranks())
    assert not warned(lambda: DF.filter(pl.col("query_id") != "b").rank.evaluate("rr"))


def test_the_warning_is_followed() -> None:
    (says,) = warned(lambda: DF.rank.mean("rr"))
    code = says.rpartition("say so by ")[2]
    kept = eval(code, {"df": DF, "pl": pl})
    assert not warned(lambda: kept.rank.mean("rr"))
    assert kept.rank.mean("rr").item() == 0.25
    df = DF.to_pandas()
    (says,) = warned(lambda: df.rank.mean("rr"))
    kept = eval(says.rpartition("say so by ")[2], {"df": df})
    assert not warned(lambda: kept.rank.mean("rr"))
    assert kept.rank.mean("rr")["rr"].item() == 0.25


def test_a_function_of_runs_and_judgments_names_no_table_that_its_caller_lacks() -> None:
    run, other, qrels = {"a": ["x"], "b": ["x"]}, {"a": ["y"], "b": ["y"]}, {"a": ["x"], "b": []}
    for ask in (
        lambda: rf.mean(run, qrels, "rr"),
        lambda: rf.compare([run, other], qrels, "rr", progress=False),
    ):
        assert warned(ask) == [
            "1 of 2 queries of the run have no judgments and are left out; say run_only='drop' to have it so, "
            "or run_only='keep' (found in the run: query_id='b')"
        ]


@BY_CHANCE
def test_it_counts_where_judge_is_told_to_keep_it() -> None:
    run, listed = DF.select("query_id", "doc_id", "score"), DF.select("query_id", "doc_id", "label")
    no_document = pl.DataFrame({"query_id": ["b"], "doc_id": [None], "label": [None]}, listed.schema)
    without = listed.drop_nulls("label")
    for qrels in (without, listed, pl.concat([without, no_document])):  # a query that is not there, or has no label
        kept = run.rank.judge(qrels, run_only="keep")
        assert kept.filter(query_id="b")["label"].to_list() == [-1, -1]
        assert dict(kept.rank.evaluate("rr").rows()) == {**RR, "b": 0}
        lazily = run.lazy().rank.judge(qrels.lazy(), run_only="keep").rank.evaluate("rr").collect()
        assert dict(lazily.rows()) == {**RR, "b": 0}
        text = rf.sql("rr", table="run", judgments="qrels", run_only="keep", dialect="duckdb")
        assert dict(duckdb.sql(text).pl().rows()) == {**RR, "b": 0}
        left = {"a": 0.5, "c": 0.0}
        assert dict(run.rank.judge(qrels, run_only="drop").rank.evaluate("rr").rows()) == left
        text = rf.sql("rr", table="run", judgments="qrels", dialect="duckdb")
        assert dict(duckdb.sql(text).pl().rows()) == left
        with pytest.raises(rf.InvalidData, match="a query of the run has no judgments"):
            run.rank.judge(qrels, run_only="error")
        found = run.rank.check(qrels).rows
        assert found.filter(problem="query without judgments")["query_id"].to_list() == ["b"]
