"""Fusion as engines do it where they differ from the textbook: equal scores, one document, scores below 0, small windows.

Elasticsearch, OpenSearch and Qdrant do not run here: their values are worked by hand from their sources.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl
import pytest

import rankframe as rf
from tests.support.each import each


def scores(method: str, *rankings: Mapping[str, float]) -> dict[str, float | None]:
    """The fused scores of one query's rankings."""
    rows = [(f"run{i}", 1, doc, float(x)) for i, ranking in enumerate(rankings) for doc, x in ranking.items()]
    table = pl.DataFrame(rows, schema=["run", "query_id", "doc_id", "score"], orient="row")
    fused = table.rank.fuse(method, run="run")
    return dict(fused.select("doc_id", "score").iter_rows())


EQUAL, ONE, BELOW_0 = {"a": 3, "b": 3}, {"a": 3}, {"a": -1, "b": -2, "c": -5}
OF_RANKING: dict[str, list[tuple[Mapping[str, float], Sequence[float]]]] = {
    # Its greatest score is at least 2^-149, which is 0 beside these: from -5 up to 0.
    "elasticsearch_linear(normalizer=minmax)": [
        (EQUAL, [3, 3]), (ONE, [3]), (BELOW_0, [0.8, 0.6, 0]), ({"a": 1e-7, "b": 0}, [0, 0]), ({"a": -2, "b": -2}, [0, 0]),
    ],
    "elasticsearch_linear(normalizer=l2_norm)": [
        (EQUAL, [0.5**0.5, 0.5**0.5]), (ONE, [1]), ({"a": 0, "b": 0}, [0, 0]), ({"a": 6e-7, "b": 0}, [6e-7, 0]),
    ],
    # Of the arithmetic mean, a score of -2 below the least one, -2, is 0, which becomes .001.
    "opensearch_hybrid": [
        (EQUAL, [1, 1]), (ONE, [1]), (BELOW_0, [0.8, 0.6, 0.001]), ({"a": -2, "b": -2}, [0.001, 0.001]), ({"a": 0}, [0.001]),
    ],
    "opensearch_hybrid(normalization=l2)": [
        (EQUAL, [0.5**0.5, 0.5**0.5]), (ONE, [1]), ({"a": 0, "b": 0}, [0, 0]), ({"a": 3, "b": -4}, [0.6, 0]),
    ],
    "opensearch_hybrid(normalization=l2,combination=geometric_mean)": [
        ({"a": 0, "b": 0}, [0, 0]), ({"a": 3, "b": -4}, [0.6, 0]),
    ],
    "opensearch_hybrid(normalization=l2,combination=harmonic_mean)": [
        ({"a": 0, "b": 0}, [0, 0]), ({"a": 3, "b": -4}, [0.6, 0]),
    ],
    "opensearch_hybrid(normalization=z_score)": [
        (EQUAL, [3, 3]), (ONE, [3]), ({"a": -2}, [0]), ({"a": 5, "b": 3, "c": 1}, [1, 5, 0.001]),
    ],
    "qdrant_dbsf": [(EQUAL, [0.5, 0.5]), (ONE, [0.5]), ({"a": 3, "b": 1}, [0.5 + 2**0.5 / 12, 0.5 - 2**0.5 / 12])],
    "llamaindex(mode=relative_score)": [(EQUAL, [1, 1]), (ONE, [1]), ({"a": 0}, [0]), ({"a": -1, "b": -1}, [0, 0])],
    "llamaindex(mode=dist_based_score)": [(EQUAL, [1, 1]), (ONE, [1]), ({"a": 0}, [0]), ({"a": -1, "b": -1}, [0, 0])],
    "haystack(join_mode=distribution_based_rank_fusion)": [(EQUAL, [3, 3]), (ONE, [3]), ({"a": 0}, [0])],
}  # fmt: skip


@each(("method", "ranking", "expected"), [(name, *case) for name, cases in OF_RANKING.items() for case in cases])
def test_an_engine_gives_its_own_scores_to_a_ranking(
    method: str, ranking: Mapping[str, float], expected: Sequence[float]
) -> None:
    assert scores(method, ranking) == pytest.approx(dict(zip(ranking, expected, strict=True)), abs=1e-12)


def test_opensearch_leaves_lists_that_lack_a_document_out_of_the_weights() -> None:
    assert scores("opensearch_hybrid(weights=[0.9,0.1])", {"a": 2, "b": 1}, {"c": 5}) == {"a": 1, "b": 0.001, "c": 1}


def test_opensearch_rounds_reciprocal_ranks_to_ten_decimals() -> None:
    assert scores("opensearch_rrf", {"a": 1}) == {"a": 0.0163934426}


def test_a_run_without_weight_adds_nothing_to_qdrants_fusion_though_its_documents_stay() -> None:
    assert scores("qdrant_rrf(weights=[1,0])", {"a": 2}, {"b": 1}) == {"a": 0.5, "b": 0}


def test_elasticsearch_normalises_the_scores_of_its_window() -> None:
    ranking = {f"d{i}": 20 - i for i in range(12)}
    found = scores("elasticsearch_linear(normalizer=minmax)", ranking)
    assert [found[f"d{i}"] for i in (0, 8, 9, 10, 11)] == [1, pytest.approx(1 / 9), 0, None, None]


def test_all_documents_count_for_elasticsearch_with_a_window_of_none() -> None:
    ranking = {f"d{i}": 20 - i for i in range(12)}
    assert scores("elasticsearch_rrf(rank_window_size=None)", ranking)["d11"] == 1 / 72


def test_z_scores_of_opensearch_have_no_geometric_mean() -> None:
    with pytest.raises(rf.errors.InvalidOption, match="gives no geometric_mean, as OpenSearch refuses it"):
        scores("opensearch_hybrid(normalization=z_score,combination=geometric_mean)", ONE)


@each("weights", ["[0,0]", "[-1,2]"])
def test_weights_that_cannot_add_up_to_1_are_refused(weights: str) -> None:
    with pytest.raises(rf.errors.InvalidOption, match="cannot be brought to a sum of 1"):
        scores(f"haystack(weights={weights})", ONE, ONE)
