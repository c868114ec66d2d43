"""A column `rank` in the table stops no verb that makes one: the new column is `new_rank`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rankframe as rf
from tests.support.each import each

DF = pl.DataFrame(
    {
        "query_id": [1, 1, 1, 2],
        "doc_id": list("abca"),
        "score": [1.0, 3.0, 2.0, 1.0],
        "rank": [30, 10, 20, 5],
        "label": [1, 0, 1, 1],
    }
)
KINDS: dict[str, Any] = {"eager": lambda df: df, "lazy": lambda df: df.lazy(), "pandas": lambda df: df.to_pandas()}


def polars(found: Any) -> pl.DataFrame:
    found = found.collect() if isinstance(found, pl.LazyFrame) else found
    return found if isinstance(found, pl.DataFrame) else pl.from_pandas(found)


@each("kind", KINDS)
def test_ranks_stand_beside_a_column_of_that_name(kind: str) -> None:
    df = KINDS[kind](DF)
    found = polars(df.rank.with_ranks())
    assert found["new_rank"].to_list() == [3, 1, 2, 1]
    assert found["rank"].to_list() == DF["rank"].to_list()
    assert polars(df.rank.with_ranks("place"))["place"].to_list() == [3, 1, 2, 1]
    without = KINDS[kind](DF.drop("rank"))
    assert polars(without.rank.with_ranks())["rank"].to_list() == [3, 1, 2, 1]


@each("kind", KINDS)
def test_ranks_that_are_the_scores_may_be_counted_anew_and_explained(kind: str) -> None:
    ranker = KINDS[kind](DF).rank.on(rank="rank", ranks="order")
    assert polars(ranker.with_ranks())["new_rank"].to_list() == [3, 1, 2, 1]
    explained = polars(ranker.explain("map")).sort("query_id", "new_rank")
    assert explained.select("rank", "new_rank", "map").rows()[:3] == [
        (10, 1, 0.0),
        (20, 2, 0.25),
        (30, 3, pytest.approx(1 / 3)),
    ]


def test_a_name_that_is_taken_is_refused_with_the_option_that_names_another() -> None:
    with pytest.raises(rf.InvalidOption, match=r"a second column 'label', .*with_ranks\(name='place'\)"):
        DF.rank.with_ranks("label")
    with pytest.raises(rf.InvalidOption, match="a second column 'new_rank'"):
        DF.with_columns(new_rank=1).rank.with_ranks()


def test_a_gate_shows_the_ranks_of_the_runs_and_not_a_column_of_the_table() -> None:
    runs = pl.concat([DF.with_columns(run=pl.lit("old")), DF.with_columns(run=pl.lit("new"), rank=40 - pl.col("rank"))])
    moved = runs.rank.on(rank="rank", ranks="order").gate({"map": 0.1}, run="run", baseline="old").moved
    assert moved.filter(query_id=1, doc_id="a").select("baseline_rank", "rank").rows() == [(3, 1)]


@each("metric", ["map", "auc"])  # the second is no sum over documents
def test_a_report_shows_documents_by_rank_and_not_by_a_column_of_that_name(tmp_path: Path, metric: str) -> None:
    DF.rank.on(rank="rank").report(tmp_path / "page.html", metric, worst=2)
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert '><span class="whole">rank</span></th>' in page
    assert re.search(r">1</td>\s*<td[^>]*>b</td>", page)
    assert not re.search(r">10</td>\s*<td[^>]*>b</td>", page)
    assert "new_rank" not in page
