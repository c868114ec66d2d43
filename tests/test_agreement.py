"""Two score columns held against each other: the oracles, SciPy, and the laws of the measures."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import polars as pl
import pytest
from calls import assert_equal, values
from foreign import scipy
from oracles import AGREEMENT, Pair
from tables import frame, random_pairs

import rankframe as rf

CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    **{f"kendall_distance@{k}": ("kendall_distance", {"k": k}) for k in (1, 2, 3, 5, 10, 100)},
    "kendall_tau": ("kendall_tau", {}),
    "spearman": ("spearman", {}),
}
TIES = ["doc_desc", "doc_asc", "order", "best", "worst", "trec_eval"]


def pairs_frame(table: dict[str, list[Pair]], seed: int | None = None) -> pl.DataFrame:
    return frame(table, columns=("doc_id", "score", "other", "label"), seed=seed)


def wanted(table: dict[str, list[Pair]], text: str, ties: str) -> dict[str, float | None]:
    name, options = CALLS[text]
    policy = {"ties": ties} if name == "kendall_distance" else {}
    return {query: AGREEMENT[name](rows, **options, **policy) for query, rows in table.items()}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("ties", TIES)
def test_values_are_the_oracles(ties: str, seed: int) -> None:
    table = random_pairs(seed)
    found = pairs_frame(table).rank.on(ties=ties).agreement("other", *CALLS)
    assert found.columns == ["query_id", *CALLS]
    assert found["query_id"].to_list() == list(table)
    for text in CALLS:
        assert_equal(values(found, text), wanted(table, text, ties), text)


@pytest.mark.parametrize("ties", [True, False])
def test_values_are_scipys(ties: bool) -> None:
    table = random_pairs(31, queries=200, ties=ties)
    found = pairs_frame(table, seed=1).rank.agreement("other", *CALLS)
    foreign: dict[str, dict[Any, float | None]] = defaultdict(dict)
    for query, name, options, value in scipy(table):
        foreign[f"{name}@{options['k']}" if options else name][query] = value
    assert set(foreign) == set(CALLS) - {"kendall_distance@1", "kendall_distance@10"}
    for text, column in foreign.items():
        of_query = values(found, text)
        assert_equal({query: of_query[query] for query in column}, column, text)


def test_without_a_document_column_ties_keep_the_rows_order() -> None:
    table = random_pairs(32)
    numbered = {q: [(i, *row[1:]) for i, row in enumerate(rows)] for q, rows in table.items()}
    found = pairs_frame(table).drop("doc_id").rank.agreement("other", *CALLS)
    for text in CALLS:
        assert_equal(values(found, text), wanted(numbered, text, "order"), text)


def test_dropping_unjudged_documents_leaves_only_judged_ones_to_compare() -> None:
    table = random_pairs(37)
    judged = {query: [row for row in rows if row[3] is not None and row[3] >= 0] for query, rows in table.items()}
    found = pairs_frame(table).rank.on(unjudged="drop").agreement("other", *CALLS)
    for text in CALLS:
        assert_equal(values(found, text), wanted(judged, text, "doc_desc"), text)


def test_a_table_without_labels_is_enough() -> None:
    table = random_pairs(33)
    found = pairs_frame(table).drop("label").rank.agreement("other", *CALLS)
    for text in CALLS:
        assert_equal(values(found, text), wanted(table, text, "doc_desc"), text)


@pytest.mark.parametrize("engine", ["in-memory", "streaming"])
def test_lazy_is_eager(engine: Any) -> None:
    df = pairs_frame(random_pairs(34), seed=2)
    eager = df.rank.agreement("other", *CALLS)
    lazy = df.lazy().rank.agreement("other", *CALLS).collect(engine=engine)
    assert lazy.columns == eager.columns
    for text in CALLS:
        assert_equal(values(lazy, text), values(eager, text), text)


def test_a_ranking_agrees_with_itself_and_is_opposed_to_its_reverse() -> None:
    df = frame(random_pairs(35, ties=False), columns=("doc_id", "score", "other", "label"))
    df = df.with_columns(same=pl.col("score"), reverse=-pl.col("score"))
    same, reverse = (df.rank.agreement(other, *CALLS) for other in ("same", "reverse"))
    for text in CALLS:
        distance = text.startswith("kendall_distance")
        assert set(same[text].drop_nulls().round(12)) == {0.0 if distance else 1.0} or text.endswith("@1")
        assert set(reverse[text].drop_nulls().round(12)) == {1.0 if distance else -1.0} or text.endswith("@1")


@pytest.mark.parametrize("measure", ["kendall", "kendall_distance@0", "spearman@3", "ndcg"])
def test_an_unknown_measure_is_an_error(measure: str) -> None:
    with pytest.raises(rf.RankframeError):
        pairs_frame(random_pairs(36)).rank.agreement("other", measure)


def test_an_empty_table_gives_an_empty_result() -> None:
    df = pl.DataFrame(schema={"query_id": pl.Int64, "doc_id": pl.String, "score": pl.Float64, "other": pl.Float64})
    found = df.rank.agreement("other", "kendall_tau", "kendall_distance@2")
    assert found.schema == {"query_id": pl.Int64, "kendall_tau": pl.Float64, "kendall_distance@2": pl.Float64}
