"""The table of conventions: one metric as each tool has it, with what its value differs by."""

from __future__ import annotations

import math

import polars as pl
import pytest

import rankframe as rf
from rankframe._table.conventions import CONVENTIONS
from tests.support.tables import frame, random_table

# Hand calculations: with x = 1 / log2(3), the first query's nDCG is (1 + 2x) / (2 + x) where gains are linear.
X = math.log(2) / math.log(3)
TWO = pl.DataFrame({"query_id": [1, 1, 2], "doc_id": list("aba"), "score": [3, 2, 1], "label": [1, 2, 0]})


def test_the_table_of_conventions_says_what_each_tool_prints_and_why() -> None:
    found = {row["tool"]: row for row in TWO.rank.conventions("ndcg@10").table.iter_rows(named=True)}
    assert set(found) == {"rankframe", *(tool for tool in CONVENTIONS if "ndcg" in CONVENTIONS[tool].metrics)}
    linear, exponential = (1 + 2 * X) / (2 + X), (1 + 3 * X) / (3 + X)
    for tool in ("rankframe", "trec_eval", "ranx", "sklearn"):
        assert found[tool]["value"] == pytest.approx(linear / 2)
        assert found[tool]["differs_by"] == ""
    assert found["lightgbm"]["value"] == pytest.approx((exponential + 1) / 2)
    assert found["lightgbm"]["differs_by"] == "no_relevant=one, gain=exponential"
    assert found["lightgbm"]["metric"] == "ndcg(gain=exponential)@10"
    assert found["ptranking"]["value"] == pytest.approx(exponential)
    assert found["ptranking"]["differs_by"] == "no_relevant=null, gain=exponential"
    assert found["catboost"]["differs_by"] == "no_relevant=one"
    assert found["spark"]["value"] == pytest.approx(0.5)


def test_the_table_of_conventions_names_thresholds_and_what_cannot_be_repeated() -> None:
    half = TWO.with_columns(label=pl.Series([0.75, 0, 0]))
    found = {row["tool"]: row for row in half.rank.conventions("rr").table.iter_rows(named=True)}
    assert (found["rankframe"]["value"], found["catboost"]["value"]) == (0, 0.5)
    assert found["catboost"]["differs_by"] == "relevant=above 0.5"
    rectools = (
        TWO.rank.conventions("ndcg").table.filter(tool="rectools").row(0, named=True)
    )  # which always takes a cutoff
    assert rectools["value"] is None
    assert "give their number" in rectools["note"]
    tied = pl.DataFrame({"query_id": 1, "doc_id": ["a", "b"], "score": 1, "label": [0, 1]})
    sklearn = tied.rank.conventions("map").table.filter(tool="sklearn").row(0, named=True)
    assert sklearn["value"] == 1 / 2  # the last of two places
    assert sklearn["differs_by"] == "ties=last"
    with pytest.raises(rf.InvalidOption, match="names 2 metrics"):
        TWO.rank.conventions("ndcg_cut.5,10")


def test_the_table_of_conventions_names_every_policy_that_makes_a_difference() -> None:
    # by hand: 10 documents of which 2 are relevant; of the others 1 of 8 stands above, or 1 of 1 that the list has
    df = pl.DataFrame({"query_id": 1, "doc_id": ["a", "b", "c"], "score": [3, 2, 1], "label": [1, 0, 1]})
    table = df.rank.on(collection_size=10).conventions("fall_out").table
    assert table.select("tool", "value", "differs_by").rows() == [
        ("rankframe", 0.125, ""), ("torchmetrics", 1.0, "unretrieved=drop"),
    ]  # fmt: skip


def test_the_table_of_conventions_counts_tools_whose_rules_do_not_go_with_ours() -> None:
    # by hand: the relevant document is the second of two; scikit-learn's mean over tied orders does not go with a depth
    df = pl.DataFrame({"query_id": 1, "doc_id": ["a", "b"], "score": [2, 1], "label": [0, 1]})
    table = df.rank.on(depth=1).conventions("ndcg").table
    sklearn = table.filter(pl.col("tool") == "sklearn").row(0, named=True)
    assert table["value"][0] == 0
    assert sklearn["value"] == pytest.approx(1 / math.log2(3))
    assert sklearn["differs_by"] == "depth=None"


def test_lazy_and_pandas_tables_give_the_same_table_of_conventions() -> None:
    df = frame(random_table(5, labels=[0, 0, 1, 2]), seed=None).filter(pl.col("score").is_not_null())
    wanted = df.rank.conventions("bpref").table
    assert df.lazy().rank.conventions("bpref").table.collect().equals(wanted)
    assert df.to_pandas().rank.conventions("bpref").table.fillna(-1).values.tolist() == [
        [-1 if x is None else x for x in row] for row in wanted.rows()
    ]


def test_the_table_of_conventions_has_the_geometric_mean_of_what_is_meant_for_one() -> None:
    df = pl.DataFrame({"query_id": [1, 2], "doc_id": ["a", "a"], "score": [1, 1], "label": [1, 0]})
    values = df.rank.conventions("gm_map").table.filter(pl.col("tool").is_in(["rankframe", "trec_eval"]))["value"]
    assert values.to_list() == pytest.approx([math.sqrt(1 * 0.00001)] * 2, rel=1e-12)
