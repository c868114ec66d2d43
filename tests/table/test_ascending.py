"""Scores whose lowest value is the best: the same as their negatives, in every form and of every type."""

from __future__ import annotations

from typing import Any

import polars as pl

import rankframe as rf
from tests.support.each import each
from tests.support.tables import BY_CHANCE, frame, random_table

pytestmark = BY_CHANCE

METRICS = ["ndcg@3", "map", "rr", "bpref", "err(max_label=4)", "num_retrieved", "inferred_ap"]
FORMS = {"eager": lambda df: df, "lazy": lambda df: df.lazy(), "pandas": lambda df: df.to_pandas()}


def table(dtype: pl.DataType) -> pl.DataFrame:
    """A random table with ties and documents that were not retrieved; scores from 0 on, of a type."""
    rows = frame(random_table(7, queries=40))
    return rows.with_columns((pl.col("score").rank("dense") % 7).cast(dtype))


def polars(result: Any) -> pl.DataFrame:
    if isinstance(result, (pl.DataFrame, pl.LazyFrame)):
        return result.lazy().collect().sort("query_id")
    return pl.DataFrame(result.reset_index()).sort("query_id")


TYPES = [pl.UInt8(), pl.UInt64(), pl.Int64(), pl.Float32(), pl.Float64()]


TIES = ["doc_desc", "doc_asc", "order", "best", "worst", "expected"]


@each("form", FORMS.values(), ids=FORMS, sample=12)
@each("dtype", TYPES, ids=str)
@each("ties", TIES)
def test_ascending_scores_count_as_their_negatives(form: Any, dtype: pl.DataType, ties: Any) -> None:
    df = table(dtype)
    metrics = [name for name in METRICS if ties != "expected" or name not in ("bpref", "inferred_ap")]
    negated = df.with_columns(-pl.col("score").cast(pl.Float64))
    expected = polars(negated.rank.on(ties=ties).evaluate(*metrics))
    found = polars(form(df).rank.on(ties=ties, ascending=True).evaluate(*metrics))
    assert found.select(metrics).equals(expected.select(metrics))


@each("dtype", TYPES, ids=str)
def test_expressions_rank_ascending_scores_alike(dtype: pl.DataType) -> None:
    df = table(dtype)
    by_verb = df.rank.on(ascending=True).evaluate("ndcg@3", "rr")
    on = rf.expr.on(ascending=True)
    by_group = df.group_by("query_id", maintain_order=True).agg(on.ndcg(k=3), on.reciprocal_rank())
    assert by_group.equals(by_verb)


def test_a_column_of_ranks_is_short_for_an_ascending_score() -> None:
    df = table(pl.UInt32()).rename({"score": "position"})
    by_rank = df.rank.on(rank="position")
    assert by_rank.evaluate("map").equals(df.rank.on(score="position", ascending=True).evaluate("map"))
    ranked = by_rank.with_ranks("again").filter(pl.col("again").is_not_null())
    order = ranked.sort("query_id", "again").group_by("query_id").agg(pl.col("position").diff().min())
    assert (order["position"].drop_nulls() >= 0).all()


def test_explain_shows_ascending_scores_as_they_are() -> None:
    df = pl.DataFrame({"query_id": [1, 1], "doc_id": ["a", "b"], "distance": [0.5, 0.25], "label": [1, 0]})
    explained = df.rank.on(score="distance", ascending=True).explain("rr")
    assert explained.select("doc_id", "distance", "rank").rows() == [("b", 0.25, 1), ("a", 0.5, 2)]


def test_runs_are_compared_by_their_ascending_scores() -> None:
    df = pl.DataFrame({"query_id": [1, 1, 2, 2], "doc_id": list("abab"), "label": [1, 0, 1, 0]})
    df = df.with_columns(near=pl.Series([0.1, 0.9, 0.2, 0.3]), far=pl.Series([0.9, 0.1, 0.2, 0.3]))
    compared = df.rank.on(ascending=True).compare("rr", runs=["near", "far"])
    assert compared.table.select("baseline_mean", "mean").row(0) == (1.0, 0.75)


@each(
    ("ranks", "problems"),
    [
        ([1, 2, 3], {}),
        ([1, 2, 4], {"gaps in ranks": 3}),
        ([1, 1, 2], {}),
        ([1, 1, 3], {"gaps in ranks": 3}),
        ([0.5, 2.0, 7.0], {}),
    ],
    ids=str,
)
def test_check_notes_ranks_that_leave_numbers_out(ranks: list[float], problems: dict[str, int]) -> None:
    rows = {"query_id": [1, 1, 1, 1], "doc_id": list("abcd"), "rank": [*ranks, None], "label": [1, 0, 0, 1]}
    found = pl.DataFrame(rows).rank.on(rank="rank").check().rows
    assert dict(found.select("problem", "rows").iter_rows()) == problems


@each("name", ["pyterrier", "rectools", "microsoft_recommenders"])
def test_a_preset_names_the_columns_of_a_tool(name: str) -> None:
    from rankframe._table.name_presets import PRESETS

    roles = PRESETS[name]
    own = {"query": "query_id", "doc": "doc_id", "score": "score", "label": "label"}
    df = table(pl.Float64()).select(*own.values())
    foreign = df.rename({own[role]: column for role, column in roles.items()})
    expected = df.rank.evaluate("map", "ndcg@3")
    assert foreign.rank.on(names=name).evaluate("map", "ndcg@3").rename({roles["query"]: "query_id"}).equals(expected)


def test_a_name_beside_a_preset_takes_precedence() -> None:
    df = pl.DataFrame({"qid": [1], "docno": ["a"], "bm25": [1.0], "label": [1]})
    assert df.rank.on(names="pyterrier", score="bm25").evaluate("rr").rows() == [(1, 1.0)]
