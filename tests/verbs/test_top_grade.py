"""Where the largest label of the table is the top grade, the call says so: another day would change a query's value."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rankframe as rf
from rankframe._command import main
from tests.support.each import each

QUIET = {"progress": False}
DF = pl.DataFrame(
    {"query_id": [1, 1, 2, 2], "doc_id": list("abab"), "score": [2.0, 1, 2, 1], "label": [1, 4, 0, 2], "cost": [1.0] * 4}
).with_columns(other=-pl.col("score"))  # fmt: skip
DAY = DF.with_columns(
    query_id=pl.lit(3, pl.Int64),
    doc_id=pl.col("doc_id") + pl.col("query_id").cast(pl.String),
    label=pl.lit(7, pl.Int64),
)


def warned(ask: Callable[[], object]) -> list[str]:
    """The warnings of a call, a lazy result collected, without those about the direction of scores."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = ask()
        if isinstance(found, pl.LazyFrame):
            found.collect()
    return [str(warning.message) for warning in caught if "the largest label of th" in str(warning.message)]


OF_ERR = "err takes 4, the largest label of this table, as the top grade; say err(max_label=4)"
TABLES: dict[str, Callable[[], Any]] = {
    "polars": lambda: DF.rank, "pandas": lambda: DF.to_pandas().rank, "lazy": lambda: DF.lazy().rank,
    "grouped": lambda: DF.lazy().rank.on(grouped=True),
}  # fmt: skip
CALLS: dict[str, Callable[[Any], object]] = {
    "a method": lambda ranker: ranker.err(),
    "evaluate": lambda ranker: ranker.evaluate("err", "ndcg@10"),
    "with_metrics": lambda ranker: ranker.with_metrics("err"),
    "curve": lambda ranker: ranker.curve("err"),
    "explain": lambda ranker: ranker.explain("err"),
    "mean": lambda ranker: ranker.mean("err"),
    "summarize": lambda ranker: ranker.summarize("err", ci=None),
    "compare": lambda ranker: ranker.compare("err", runs=["score", "other"], **QUIET),
    "gate": lambda ranker: ranker.gate({"err": 0.5}, runs=["score", "other"], **QUIET),
}


@each("table", TABLES, sample=len(CALLS))
@each("call", CALLS)
def test_every_call_says_once_which_label_it_takes_and_what_to_write(call: str, table: str) -> None:
    ranker = TABLES[table]()
    assert warned(lambda: CALLS[call](ranker)) == [OF_ERR]


TAKING = [
    "err@10", "nerr", "pfound(max_label=None)", "sdcg@2", "bpm@2", "insq", "inst", "nerr8@2", "nerr9@2",
    "nerr10", "nerr11", "time_biased_gain(half_life=30)", "u_measure(length=5)", "ift(rate=1)@2",
]  # fmt: skip


@each("text", TAKING)
def test_the_warning_is_followed_and_the_value_then_depends_on_its_own_rows(text: str) -> None:
    ranker = DF.rank.on(cost="cost")
    (says,) = warned(lambda: ranker.evaluate(text))
    named = says.rpartition("; say ")[2].replace("max_label=4", "max_label=7")
    assert not warned(lambda: ranker.evaluate(named))
    longer = pl.concat([DF, DAY]).rank.on(cost="cost").evaluate(named)
    assert longer.filter(pl.col("query_id") < 3).equals(ranker.evaluate(named))
    same = says.rpartition("; say ")[2]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert ranker.evaluate(same)[same].equals(ranker.evaluate(text).to_series(1).alias(same))


def test_a_top_grade_that_is_named_or_not_read_comes_without_a_warning() -> None:
    texts = ["err(max_label=4)@10", "err(max_label=query)", "err(gain={1:0.2,2:0.5,4:0.9})", "err(gain=binary)", "pfound(max_label=4)",
             "ndcg(gain=exponential)", "rbp(gain=scaled)", "insq(max_label=5)"]  # fmt: skip
    assert not warned(lambda: DF.rank.evaluate(*texts))
    assert not warned(lambda: DF.with_columns(label=0).rank.evaluate("err"))
    assert not warned(lambda: DF.with_columns(label=pl.col("label") / 4).rank.on(convention="catboost").evaluate("err"))


def test_only_what_is_retrieved_counts_where_the_list_is_all() -> None:
    cut = DF.with_columns(score=pl.when(pl.col("label") < 4).then("score"))
    (says,) = warned(lambda: cut.rank.on(unretrieved="drop").evaluate("err"))
    assert says.startswith("err takes 2, the largest label")


def test_a_metric_of_ones_own_says_it_too() -> None:
    @rf.metric
    def share_of_top(r: rf.Ranking) -> pl.Expr:
        return r.largest_label / r.largest_label_of_table

    try:
        (says,) = warned(lambda: DF.rank.evaluate(share_of_top))
        assert says == "share_of_top takes 4, the largest label of this table, as the top grade; say it in the formula"
    finally:
        rf.unregister(share_of_top)


def test_an_option_that_aggregates_is_computed_within_each_query() -> None:
    gain = pl.col("label") / pl.col("label").max()
    found = DF.rank.dcg(gain=gain).to_series(1)
    assert found.to_list() == pytest.approx([1 / 4 + 1 / math.log2(3), 1 / math.log2(3)])
    assert (
        DF.group_by("query_id", maintain_order=True)
        .agg(rf.expr.dcg(gain=gain))
        .to_series(1)
        .equals(found, check_names=False)
    )
    lazy = DF.lazy().rank.dcg(gain=gain).collect().sort("query_id").to_series(1)
    assert lazy.equals(found)
    of_query = pl.col("label") / pl.col("label").max().over("query_id")
    assert DF.rank.dcg(gain=of_query).to_series(1).to_list() == found.to_list()


def test_bounds_say_it_where_the_greatest_label_matters() -> None:
    some = DF.with_columns(label=pl.when(pl.col("doc_id") != "a").then("label"))
    (says,) = warned(lambda: some.rank.on(unjudged="bounds").evaluate("precision@1", "dcg"))
    assert says.startswith(
        "the bounds of dcg take 4, the largest label of this table, as the greatest label of an unjudged"
    )
    assert says.endswith("say df.rank.on(unjudged_labels=(0, 4))")
    assert not warned(lambda: some.rank.on(unjudged="bounds").evaluate("precision@1", "rr"))
    assert not warned(lambda: some.rank.on(unjudged="bounds", unjudged_labels=(0, 4)).evaluate("dcg"))


def test_runs_and_judgments_trainers_sql_and_the_command_line_say_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, qrels = DF.select("query_id", "doc_id", "score"), DF.select("query_id", "doc_id", "label")
    assert warned(lambda: rf.evaluate(run, qrels, "err")) == [OF_ERR]

    def train() -> None:
        metrics = rf.Accumulator("err")
        metrics.update(DF["score"], DF["label"], DF["query_id"], doc=DF["doc_id"])
        metrics.compute()

    assert OF_ERR in warned(train)
    (says,) = warned(lambda: rf.sql("rr", "err@10", table="judged", dialect="duckdb"))
    assert says == "err@10 takes the largest label of the table as the top grade; say its number, as in max_label=4"
    DF.write_parquet(tmp_path / "judged.parquet")
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        assert main(["evaluate", str(tmp_path / "judged.parquet"), "-m", "err"]) == 0
    assert "err takes 4, the largest label of this table" in capsys.readouterr().err
