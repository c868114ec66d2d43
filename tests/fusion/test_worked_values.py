"""Fused scores and normalised scores of one small example, worked by hand."""

from __future__ import annotations

import math
from typing import Any

import polars as pl
import pytest

import rankframe as rf
from tests.support.each import each

ENTRIES = [
    *(("A", "q", doc, score) for doc, score in (("d1", 9.0), ("d2", 7.0), ("d3", 6.0), ("d4", 2.0))),
    *(("B", "q", doc, score) for doc, score in (("d3", 0.8), ("d5", 0.6), ("d1", 0.5))),
    ("C", "q", "d2", 3.0),
]
LONG = pl.DataFrame(ENTRIES, schema=["run", "query_id", "doc_id", "score"], orient="row")
WIDE = LONG.pivot("run", index=["query_id", "doc_id"], values="score")
WEIGHTS = {"weights": [0.5, 0.3, 0.2]}

# d1 to d5: ranks 1 3 -, 2 - 1, 3 1 -, 4 - -, - 2 -
CASES: list[tuple[str, dict[str, Any], list[float | None]]] = [
    ("comb_sum", {}, [9.5, 10, 6.8, 2, 0.6]),
    ("comb_min", {}, [0.5, 3, 0.8, 2, 0.6]),
    ("comb_max", {}, [9, 7, 6, 2, 0.6]),
    ("comb_med", {}, [4.75, 5, 3.4, 2, 0.6]),
    ("comb_anz", {}, [4.75, 5, 3.4, 2, 0.6]),
    ("comb_mnz", {}, [19, 20, 13.6, 2, 0.6]),
    ("comb_gmnz(gamma=0.5)", {}, [9.5 * 2**0.5, 10 * 2**0.5, 6.8 * 2**0.5, 2, 0.6]),
    ("wsum", WEIGHTS, [4.65, 4.1, 3.24, 1, 0.18]),
    ("wsum", {}, [9.5, 10, 6.8, 2, 0.6]),
    ("wsum", {"weights": [2, 0.5, 1]}, [18.25, 17, 12.4, 4, 0.3]),
    ("mixed", {}, [9.5 * 2**0.5, 10 * 2**0.5, 6.8 * 2**0.5, 2, 0.6]),
    ("wmnz", {}, [19, 20, 13.6, 2, 0.6]),
    ("mixed", WEIGHTS, [4.65 * 2**0.5, 4.1 * 2**0.5, 3.24 * 2**0.5, 1, 0.18]),
    ("wmnz", WEIGHTS, [7.6, 7, 5.44, 1, 0.18]),
    ("rrf", {}, [1 / 61 + 1 / 63, 1 / 62 + 1 / 61, 1 / 63 + 1 / 61, 1 / 64, 1 / 62]),
    ("rrf(k=0)", WEIGHTS, [0.5 + 0.3 / 3, 0.25 + 0.2, 0.5 / 3 + 0.3, 0.125, 0.15]),
    ("isr", {}, [2 * (1 + 1 / 9), 2 * (1 / 4 + 1), 2 * (1 / 9 + 1), 1 / 16, 1 / 4]),
    ("log_isr", {}, [math.log(2) * 10 / 9, math.log(2) * 1.25, math.log(2) * 10 / 9, 0, 0]),
    ("logn_isr", {}, [math.log(2.01) * 10 / 9, math.log(2.01) * 1.25, math.log(2.01) * 10 / 9,
                      math.log(1.01) / 16, math.log(1.01) / 4]),
    ("rbc", {}, [0.328, 0.36, 0.328, 0.1024, 0.16]),
    ("borda", {}, [10.5, 10.5, 10.5, 6, 7.5]),
    ("borda", WEIGHTS, [3.9, 3.45, 3.5, 1.95, 2.2]),
    ("condorcet", {}, [3, 3, 2.5, 0.5, 1]),
    ("condorcet", WEIGHTS, [4, 3, 2, 1, 0]),
    ("elasticsearch_rrf", {}, [1 / 61 + 1 / 63, 1 / 62 + 1 / 61, 1 / 63 + 1 / 61, 1 / 64, 1 / 62]),
    ("elasticsearch_rrf(rank_constant=1,rank_window_size=2)", WEIGHTS, [0.5 / 2, 0.5 / 3 + 0.2 / 2, 0.3 / 2, None, 0.3 / 3]),
    ("elasticsearch_linear", WEIGHTS, [4.65, 4.1, 3.24, 1, 0.18]),
    ("elasticsearch_linear(normalizer=minmax)", {}, [1, 5 / 7 + 3, 4 / 7 + 1, 0, 1 / 3]),
    ("elasticsearch_linear(normalizer=l2_norm)", {}, [9 / 170**0.5 + 0.5 / 1.25**0.5, 7 / 170**0.5 + 1,
                                                       6 / 170**0.5 + 0.8 / 1.25**0.5, 2 / 170**0.5, 0.6 / 1.25**0.5]),
    ("opensearch_hybrid", {}, [1.001 / 2, (5 / 7 + 1) / 2, (4 / 7 + 1) / 2, 0.001, 1 / 3]),
    ("opensearch_hybrid", WEIGHTS, [(0.5 + 0.0003) / 0.8, (0.5 * 5 / 7 + 0.2) / 0.7, (0.5 * 4 / 7 + 0.3) / 0.8, 0.001, 1 / 3]),
    ("opensearch_hybrid(combination=geometric_mean)", WEIGHTS,
     [0.001 ** (3 / 8), (5 / 7) ** (5 / 7), (4 / 7) ** (5 / 8), 0.001, 1 / 3]),
    ("opensearch_hybrid(combination=harmonic_mean)", {}, [2 / 1001, 2 / (7 / 5 + 1), 2 / (7 / 4 + 1), 0.001, 1 / 3]),
    ("opensearch_hybrid(normalization=l2)", {}, [(9 / 170**0.5 + 0.5 / 1.25**0.5) / 2, (7 / 170**0.5 + 1) / 2,
                                                (6 / 170**0.5 + 0.8 / 1.25**0.5) / 2, 2 / 170**0.5, 0.6 / 1.25**0.5]),
    # 6 is the mean of A, and becomes its greatest score, 9, as the only score of C stays as it is.
    ("opensearch_hybrid(normalization=z_score)", {}, [(3 / (26 / 3) ** 0.5 + 0.001) / 2, (1 / (26 / 3) ** 0.5 + 3) / 2,
                                                     (9 + (0.5 / 3) / (0.14 / 6) ** 0.5) / 2, 0.001, 0.001]),
    ("opensearch_rrf", {}, [0.0163934426 + 0.0158730159, 0.0161290323 + 0.0163934426, 0.0158730159 + 0.0163934426,
                            0.015625, 0.0161290323]),
    ("qdrant_rrf", {}, [1 / 2 + 1 / 4, 1 / 3 + 1 / 2, 1 / 4 + 1 / 2, 1 / 5, 1 / 3]),
    ("qdrant_rrf(k=1)", {"weights": [0.5, 2, 0]}, [1 / 2 + 2 / 3, 1 / 4, 1 / 6 + 2, 1 / 8, 1]),
    ("qdrant_dbsf", {}, [0.5 + 3 / 6 / (26 / 3) ** 0.5 + 0.5 - (0.4 / 3) / 6 / (0.14 / 6) ** 0.5,
                         0.5 + 1 / 6 / (26 / 3) ** 0.5 + 0.5, 0.5 + 0.5 + (0.5 / 3) / 6 / (0.14 / 6) ** 0.5,
                         0.5 - 4 / 6 / (26 / 3) ** 0.5, 0.5 - (0.1 / 3) / 6 / (0.14 / 6) ** 0.5]),
    ("langchain", {}, [(1 / 61 + 1 / 63) / 3, (1 / 62 + 1 / 61) / 3, (1 / 63 + 1 / 61) / 3, 1 / 64 / 3, 1 / 62 / 3]),
    ("langchain(c=0)", WEIGHTS, [0.5 + 0.3 / 3, 0.25 + 0.2, 0.5 / 3 + 0.3, 0.125, 0.15]),
    ("llamaindex", {}, [9, 7, 6, 2, 0.6]),
    ("llamaindex(mode=reciprocal_rerank)", {}, [1 / 60 + 1 / 62, 1 / 61 + 1 / 60, 1 / 62 + 1 / 60, 1 / 63, 1 / 61]),
    ("llamaindex(mode=relative_score)", {"weights": [5, 3, 2]}, [0.5, 2.5 / 7 + 0.2, 2 / 7 + 0.3, 0, 0.1]),
    ("llamaindex(mode=dist_based_score)", {},
     [(0.5 + 3 / 6 / 6.5**0.5 + 0.5 - (0.4 / 3) / 6 / (0.14 / 9) ** 0.5) / 3, (0.5 + 1 / 6 / 6.5**0.5 + 1) / 3,
      (0.5 + 0.5 + (0.5 / 3) / 6 / (0.14 / 9) ** 0.5) / 3, (0.5 - 4 / 6 / 6.5**0.5) / 3,
      (0.5 - (0.1 / 3) / 6 / (0.14 / 9) ** 0.5) / 3]),
    ("haystack", {}, [9, 7, 6, 2, 0.6]),
    ("haystack(join_mode=merge)", {"weights": [5, 3, 2]}, [4.65, 4.1, 3.24, 1, 0.18]),
    ("haystack(join_mode=reciprocal_rank_fusion)", {}, [(1 + 61 / 63) / 3, (61 / 62 + 1) / 3, (61 / 63 + 1) / 3,
                                                       61 / 64 / 3, 61 / 62 / 3]),
    ("haystack(join_mode=distribution_based_rank_fusion)", {},
     [0.5 + 3 / 6 / 6.5**0.5, 3, 0.5 + (0.5 / 3) / 6 / (0.14 / 9) ** 0.5, 0.5 - 4 / 6 / 6.5**0.5,
      0.5 - (0.1 / 3) / 6 / (0.14 / 9) ** 0.5]),
]  # fmt: skip


@each(("method", "options", "expected"), CASES, sample=2 * len(CASES))
@each("form", ["long", "wide", "lazy", "pandas"])
def test_a_method_gives_the_worked_values(form: str, method: str, options: Any, expected: list[float | None]) -> None:
    match form:
        case "long":
            fused = LONG.rank.fuse(method, run="run", **options)
        case "wide":
            fused = WIDE.rank.fuse(method, runs=["A", "B", "C"], **options)
        case "lazy":
            fused = LONG.lazy().rank.fuse(method, run="run", **options).collect()
        case _:
            fused = pl.from_pandas(LONG.to_pandas().rank.fuse(method, run="run", **options))
    assert fused.columns == ["query_id", "doc_id", "score"]
    assert fused.sort("doc_id")["score"].to_list() == [
        x if x is None else pytest.approx(x, abs=1e-12) for x in expected
    ]


OF_NORMALIZATION = {
    "min_max": [[1, 5 / 7, 4 / 7, 0], [1, 1 / 3, 0], [1]],
    "min_max_inverted": [[0, 2 / 7, 3 / 7, 1], [0, 2 / 3, 1], [1]],
    "max": [[1, 7 / 9, 6 / 9, 2 / 9], [1, 0.75, 0.625], [1]],
    "sum": [[7 / 16, 5 / 16, 4 / 16, 0], [0.75, 0.25, 0], [1]],
    "zmuv": [[x / 6.5**0.5 for x in (3, 1, 0, -4)], [(x - 1.9 / 3) / (0.14 / 9) ** 0.5 for x in (0.8, 0.6, 0.5)], [0]],
    "rank": [[1, 0.75, 0.5, 0.25], [1, 2 / 3, 1 / 3], [1]],
    "l2": [[x / 170**0.5 for x in (9, 7, 6, 2)], [x / 1.25**0.5 for x in (0.8, 0.6, 0.5)], [1]],
    "dbsf": [[x / 6.5**0.5 / 6 + 0.5 for x in (3, 1, 0, -4)],
             [(x - 1.9 / 3) / (0.14 / 9) ** 0.5 / 6 + 0.5 for x in (0.8, 0.6, 0.5)], [0.5]],
}  # fmt: skip


@each("name", OF_NORMALIZATION)
def test_a_normalisation_gives_the_worked_values(name: str) -> None:
    for run, expected in zip("ABC", OF_NORMALIZATION[name], strict=True):
        fused = LONG.filter(pl.col("run") == run).rank.fuse("comb_sum", run="run", normalize=name)
        assert fused["score"].to_list() == pytest.approx(expected, abs=1e-12)


def test_every_method_and_normalisation_has_worked_values() -> None:
    from rankframe._catalog.fusions import NORMALIZATIONS

    assert {method.partition("(")[0] for method, _, _ in CASES} == set(rf.FUSIONS)
    assert set(OF_NORMALIZATION) == set(NORMALIZATIONS)
