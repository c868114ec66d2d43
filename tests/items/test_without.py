"""Recommendations without the items that users chose before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rankframe as rf
from tests.support.each import each

LISTS = pl.DataFrame(
    {
        "query_id": [2, 1, 1, 2, 3],
        "doc_id": ["b", "a", "b", "a", "c"],
        "score": [1.0, 2, 1, 2, 1],
        "note": list("vwxyz"),
    }
)
TRAIN = pl.DataFrame({"when": [1, 2, 3, 4], "query_id": [1, 1, 2, 9], "doc_id": ["a", "a", "b", "c"]})


def test_rows_whose_pair_was_seen_are_left_out_and_the_others_keep_their_order_and_columns() -> None:
    assert_frame_equal(LISTS.rank.items.without(TRAIN), LISTS[[2, 3, 4]])


def test_a_plan_leaves_out_the_same_rows() -> None:
    found = LISTS.lazy().rank.items.without(TRAIN.lazy()).collect()
    assert_frame_equal(found, LISTS[[2, 3, 4]], check_row_order=False)


def test_a_pandas_frame_keeps_its_index_and_all_its_columns() -> None:
    frame = LISTS.to_pandas().set_axis(list("pqrst"))
    found = frame.rank.items.without(TRAIN.to_pandas())
    pd.testing.assert_frame_equal(found, frame.loc[list("rst")])
    found["note"] = "changed"
    assert frame["note"].to_list() == list("vwxyz")


@each("form", [pl.DataFrame.lazy, pl.DataFrame.clone, pl.DataFrame.to_pandas])
def test_a_table_without_scores_has_its_seen_rows_left_out_too(form: Callable[[pl.DataFrame], Any]) -> None:
    found = form(LISTS.drop("score")).rank.items.without(form(TRAIN))
    rows = pl.DataFrame(found) if isinstance(found, pd.DataFrame) else found.lazy().collect()
    assert_frame_equal(rows, LISTS.drop("score")[[2, 3, 4]], check_row_order=False)


def test_pairs_without_a_run_hold_for_every_run() -> None:
    runs = pl.concat([LISTS.with_columns(run=pl.lit("old")), LISTS.with_columns(run=pl.lit("new"))])
    found = runs.rank.on(query=["run", "query_id"]).items.without(TRAIN)
    assert found["run"].to_list() == ["old"] * 3 + ["new"] * 3


def test_no_pair_seen_leaves_all_rows() -> None:
    assert_frame_equal(LISTS.rank.items.without(TRAIN.clear()), LISTS)


def test_ids_of_another_type_are_refused_with_the_cast_that_helps() -> None:
    texts = TRAIN.with_columns(pl.col("query_id").cast(pl.String))
    with pytest.raises(rf.InvalidData, match="is Int64 in the table and String in train") as caught:
        LISTS.rank.items.without(texts)
    assert "df.with_columns(pl.col('query_id').cast(pl.String))" in str(caught.value)


OBJECTS = LISTS.with_columns(doc_id=pl.Series([object()] * 5, dtype=pl.Object))


@each(
    ("table", "train", "error", "said"),
    [
        (LISTS.drop("query_id"), TRAIN, rf.MissingColumn, "no column 'query_id' for query"),
        (LISTS, TRAIN.rename({"doc_id": "item_id"}), rf.MissingColumn, r"train\.rename\(\{'item_id': 'doc_id'\}\)"),
        (OBJECTS, TRAIN, rf.InvalidData, "column 'doc_id' holds Python objects"),
        *((LISTS, given, rf.InvalidOption, "is no frame") for given in (None, "train", [("a", 1)])),
    ],
    ids=["no user", "other name", "objects", "None", "text", "list"],
)
def test_tables_that_name_no_pairs_are_refused(
    table: pl.DataFrame, train: Any, error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        table.rank.items.without(train)


@each("form", [lambda x: x, pl.DataFrame.to_pandas], ids=["polars", "pandas"])
@each(
    ("column", "says"),
    [("query_id", "'query_id' of train is in the table, as 101 and 1"), ("doc_id", "'doc_id' of train")],
)
def test_nothing_left_out_since_ids_differ_is_warned_of(form: Callable[..., Any], column: str, says: str) -> None:
    other = {"query_id": pl.col("query_id") + 100, "doc_id": pl.col("doc_id") + "!"}[column]
    with pytest.warns(rf.RankframeWarning, match=says):
        assert len(form(LISTS).rank.items.without(form(TRAIN.with_columns(other)))) == LISTS.height


def test_nothing_left_out_of_common_ids_is_no_warning() -> None:
    assert_frame_equal(LISTS.rank.items.without(TRAIN.filter(query_id=9)[:0]), LISTS)
    swapped = pl.DataFrame({"query_id": [1, 2], "doc_id": ["c", "c"]})
    assert_frame_equal(LISTS.rank.items.without(swapped), LISTS)
