"""Names that people try lead to a call that works."""

from __future__ import annotations

import matplotlib as mpl
import polars as pl
import pytest

import rankframe as rf
from rankframe._lift.tried_names import PAGE, TRIED_NAMES

mpl.use("agg")
EXAMPLE = rf.load_example().group_by("query_id", maintain_order=True).head(8).head(8 * 60)
DF = EXAMPLE.with_columns(
    old="score", new="score_pca", bm25="score", dense="score_pca", a="score", b="score_pca", c="score_forest",
    other_score="score_pca", other_label="label", prediction="score", session="query_id", item="doc_id",
    market=pl.col("query_id").str.slice(-1), variant=pl.col("query_id").str.slice(-1).cast(pl.Int8) % 2,
    orders=pl.col("query_id").str.len_chars().cast(pl.Float64) + pl.col("query_id").hash(0) % 3,
)  # fmt: skip
QRELS = EXAMPLE.select("query_id", "doc_id", "label")


def test_each_name_that_people_try_is_told_the_call_to_write() -> None:
    for name, call in TRIED_NAMES.items():
        with pytest.raises(AttributeError, match="object has no attribute") as found:
            getattr(DF.rank, name)
        assert str(found.value).endswith(f"; write df.rank.{call}"), name


def test_the_calls_that_are_told_work() -> None:
    users = DF.group_by("query_id").first().sort("query_id")
    for call in {*TRIED_NAMES.values()} - {PAGE}:  # reports have tests of their own
        about = DF.drop("label") if call == "judge(qrels)" else users if "orders" in call else DF
        quick = call.replace("runs=", "resamples=100, runs=", 1) if call.startswith("compare(") else call
        assert eval(f"df.rank.{quick}", {"df": about, "rf": rf, "qrels": QRELS}) is not None, call


def test_no_name_that_is_there_is_among_the_tried_ones() -> None:
    assert [name for name in TRIED_NAMES if name in dir(DF.rank) or name in rf.METRICS] == []
