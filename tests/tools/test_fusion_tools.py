"""Fusion of random runs by other tools: their values are ours, and where theirs are unsound, both are shown.

ranx and trectools: `pip install -r tests/tools/requirements-light.txt`; the others: tests/tools/requirements-products.txt.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import polars as pl
import pytest

import rankframe as rf

pytestmark = [pytest.mark.tools, pytest.mark.filterwarnings("ignore")]

Scores: TypeAlias = dict[str, dict[str, float]]
"""The score of each document of each query."""

WEIGHTS = [0.5, 0.3, 0.2]


def runs_of(seed: int, *, shortest: int = 2, queries: int = 12, distinct: bool = True) -> list[Scores]:
    """Three runs of random lists of different lengths, in which every query occurs; no two scores of a list are equal."""
    draw = random.Random(seed)
    docs = [f"d{number:02}" for number in range(15)]
    found = []
    for _ in WEIGHTS:
        scores = [draw.uniform(0.1, 20) for _ in docs] if distinct else [1.0, 2.0, 5.0] * 5
        found.append(
            {
                f"q{i:02}": dict(zip(draw.sample(docs, draw.randint(shortest, 12)), scores, strict=False))
                for i in range(queries)
            }
        )
    return [{q: dict(sorted(ranking.items(), key=lambda x: -x[1])) for q, ranking in run.items()} for run in found]


def ours(method: str, runs: Sequence[Scores], **options: Any) -> Scores:
    """What we make of the runs."""
    own = {name: options.pop(name) for name in options.keys() - {"weights", "normalize"}}
    method += f"({','.join(f'{name}={x}' for name, x in own.items())})" if own else ""
    rows = [
        (f"run{i}", q, doc, x) for i, run in enumerate(runs) for q, scores in run.items() for doc, x in scores.items()
    ]
    table = pl.DataFrame(rows, schema=["run", "query_id", "doc_id", "score"], orient="row")
    found: Scores = {}
    for query, doc, score in table.rank.on(ties="order").fuse(method, run="run", **options).iter_rows():
        found.setdefault(query, {})[doc] = score
    return found


def check(found: Mapping[str, Mapping[str, float]], expected: Scores, tolerance: float = 1e-9) -> None:
    assert found.keys() == expected.keys()
    for query, scores in expected.items():
        assert found[query] == pytest.approx(scores, rel=tolerance, abs=tolerance)


# ranx


def of_ranx(runs: Sequence[Scores], method: str, norm: str | None, **params: Any) -> Scores:
    from ranx import Run, fuse

    fused = fuse([Run(run) for run in runs], norm=norm, method=method, params=params)
    return {query: dict(scores) for query, scores in fused.to_dict().items()}


BY_RANKS: list[tuple[str, dict[str, Any]]] = [
    ("rrf", {}), ("rrf", {"k": 3}), ("isr", {}), ("log_isr", {}), ("logn_isr", {"sigma": 0.3}), ("rbc", {"phi": 0.6}),
    ("bordafuse", {}), ("w_bordafuse", {"weights": WEIGHTS}),
]  # fmt: skip
BY_SCORES: list[tuple[str, dict[str, Any]]] = [
    *((name, {}) for name in ("min", "max", "med", "sum", "anz", "mnz")), ("gmnz", {"gamma": 0.4}),
    *((name, {"weights": WEIGHTS}) for name in ("wsum", "mixed", "wmnz")),
]  # fmt: skip


@pytest.mark.parametrize(("method", "options"), BY_RANKS)
def test_a_method_by_ranks_gives_the_values_of_ranx(method: str, options: dict[str, Any]) -> None:
    for seed in range(3):
        runs = runs_of(seed)
        check(ours(method, runs, **options), of_ranx(runs, method, None, **options))


@pytest.mark.parametrize("norm", [None, "min-max", "min-max-inverted", "max", "sum", "zmuv", "rank"])
@pytest.mark.parametrize(("method", "options"), BY_SCORES)
def test_a_method_by_scores_gives_the_values_of_ranx(method: str, options: dict[str, Any], norm: str | None) -> None:
    for seed in range(3):
        runs = runs_of(seed)
        check(ours(method, runs, normalize=norm, **options), of_ranx(runs, method, norm, **options))


ONE_QUERY = [
    {"q": {"d1": 9.0, "d2": 7, "d3": 6, "d4": 2}},
    {"q": {"d3": 0.8, "d5": 0.6, "d1": 0.5}},
    {"q": {"d2": 3.0}},
]


def order_of_ranx(seed: int, norm: str | None, method: str) -> list[str]:
    """The documents in the order in which a process whose text has these hashes fuses them."""
    code = (
        f"from ranx import Run, fuse; runs = [Run(run) for run in {ONE_QUERY!r}];"
        f"print(*fuse(runs, norm={norm!r}, method={method!r}).to_dict()['q'])"
    )
    environment = {**os.environ, "PYTHONHASHSEED": str(seed)}
    return subprocess.check_output([sys.executable, "-c", code], env=environment, text=True).split()[-5:]


@pytest.mark.parametrize(("norm", "method"), [("borda", "rrf"), (None, "condorcet")])
def test_an_order_of_ranx_depends_on_the_hashes_of_text_and_ours_does_not(norm: str | None, method: str) -> None:
    orders = {tuple(order_of_ranx(seed, norm, method)) for seed in range(1, 5)}
    assert len(orders) > 1
    if method == "condorcet":
        assert ours("condorcet", ONE_QUERY)["q"] == {"d1": 3, "d2": 3, "d3": 2.5, "d4": 0.5, "d5": 1}
    else:
        with pytest.raises(rf.errors.InvalidOption, match="normalize"):
            ours("comb_sum", ONE_QUERY, normalize="borda")


def test_condorcet_of_ranx_sets_a_document_that_loses_its_duels_above_others() -> None:
    assert any(order_of_ranx(seed, None, "condorcet").index("d4") < 4 for seed in range(1, 5))


def test_a_list_of_one_document_counts_0_in_ranx_after_most_normalisations_and_1_here() -> None:
    runs = [{"q": {"a": 5.0}}, {"q": {"b": 3.0, "c": 1.0}}]
    for norm, own in (("min-max", 1), ("sum", 1), ("zmuv", 0), ("max", 1), ("rank", 1)):
        assert of_ranx(runs, "sum", norm)["q"]["a"] == (1 if norm in ("max", "rank") else 0)
        assert ours("comb_sum", runs, normalize=norm)["q"]["a"] == own


def test_after_zmuv_an_absent_document_counts_as_the_mean_in_both_unless_told_to_count_as_the_least() -> None:
    runs = [{"q": {"a": 5.0, "b": 1.0}}, {"q": {"c": 2.0}}]
    assert of_ranx(runs, "sum", "zmuv")["q"] == {"a": 1, "c": 0, "b": -1}
    assert ours("comb_sum", runs, normalize="zmuv")["q"] == {"a": 1, "c": 0, "b": -1}
    assert ours("comb_sum", runs, normalize="zmuv", missing="min")["q"] == {"a": 1, "c": -1, "b": -1}


def test_ranx_divides_scores_of_0_and_less_by_a_billionth_and_we_refuse_them() -> None:
    runs = [{"q": {"a": 0.0, "b": -1.0}}, {"q": {"a": 1.0}}]
    assert of_ranx(runs, "min", "max")["q"]["b"] == pytest.approx(-1e9)
    with pytest.raises(rf.errors.InvalidData, match="a score is negative; write 'min_max'"):
        ours("comb_min", runs, normalize="max")


# trectools


def of_trectools(name: str, runs: Sequence[Scores], **options: Any) -> Scores:
    import pandas as pd
    from trectools import TrecRun, fusion

    given = []
    for run in runs:
        rows = [
            (q, "Q0", doc, i + 1, x, "run") for q, scores in run.items() for i, (doc, x) in enumerate(scores.items())
        ]
        given.append(TrecRun(None))
        given[-1].load_run_from_dataframe(
            pd.DataFrame(rows, columns=["query", "q0", "docid", "rank", "score", "system"])
        )
    fused = getattr(fusion, name)(given, **options).run_data
    found: Scores = {}
    for query, doc, score in fused[["query", "docid", "score"]].itertuples(index=False):
        found.setdefault(query, {})[doc] = score
    return found


@pytest.mark.parametrize("strategy", ["sum", "max", "min", "anz", "mnz", "med"])
def test_a_strategy_of_trectools_gives_our_values_for_two_runs(strategy: str) -> None:
    for seed in range(3):
        runs = runs_of(seed)[:2]
        check(ours(f"combos(strategy={strategy})", runs), of_trectools("combos", runs, strategy=strategy))


def test_rank_fusions_of_trectools_give_our_values() -> None:
    runs = runs_of(4)
    check(ours("reciprocal_rank_fusion(k=9)", runs), of_trectools("reciprocal_rank_fusion", runs, k=9))
    expected = of_trectools("rank_biased_precision_fusion", runs, p=0.7)
    check(ours("rank_biased_precision_fusion(p=0.7)", runs), expected)


# engines that run as Python


@pytest.mark.parametrize("weights", [None, [5, 3, 2]])
@pytest.mark.parametrize("mode", ["concatenate", "merge", "reciprocal_rank_fusion", "distribution_based_rank_fusion"])
@pytest.mark.parametrize("distinct", [True, False])
def test_a_joiner_of_haystack_gives_our_values(mode: str, weights: Any, *, distinct: bool) -> None:
    from haystack import Document
    from haystack.components.joiners import DocumentJoiner

    joiner = DocumentJoiner(join_mode=mode, weights=weights)
    for seed in range(3):
        runs = runs_of(seed, shortest=1, distinct=distinct)
        lists = {q: [[Document(id=doc, score=x) for doc, x in run[q].items()] for run in runs] for q in runs[0]}
        expected = {q: {x.id: x.score for x in joiner.run(documents=given)["documents"]} for q, given in lists.items()}
        check(ours("haystack", runs, weights=weights) if mode == "concatenate" else
              ours(f"haystack(join_mode={mode})", runs, weights=weights), expected)  # fmt: skip


@pytest.mark.parametrize("weights", [None, [5, 3, 2]])
@pytest.mark.parametrize("mode", ["simple", "reciprocal_rerank", "relative_score", "dist_based_score"])
def test_a_retriever_of_llamaindex_gives_our_values(mode: str, weights: Any) -> None:
    from llama_index.core import QueryBundle
    from llama_index.core.base.base_retriever import BaseRetriever
    from llama_index.core.llms import MockLLM
    from llama_index.core.retrievers import QueryFusionRetriever
    from llama_index.core.schema import NodeWithScore, TextNode

    class Held(BaseRetriever):
        def __init__(self, run: Scores) -> None:
            self.run = run
            super().__init__()

        def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
            scores = self.run[query_bundle.query_str]
            return [NodeWithScore(node=TextNode(id_=doc, text=doc), score=x) for doc, x in scores.items()]

    for seed in range(3):
        runs = runs_of(seed, shortest=1)
        retriever = QueryFusionRetriever(
            [Held(run) for run in runs], llm=MockLLM(), mode=mode, similarity_top_k=100, num_queries=1, use_async=False,
            retriever_weights=weights,
        )  # fmt: skip
        expected = {q: {x.node.id_: x.score for x in retriever.retrieve(q)} for q in runs[0]}
        check(ours(f"llamaindex(mode={mode})", runs, weights=weights), expected)


@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_an_ensemble_of_langchain_gives_the_order_of_our_values(weights: Any) -> None:
    from langchain_classic.retrievers import EnsembleRetriever
    from langchain_core.documents import Document
    from langchain_core.runnables import RunnableLambda

    for seed in range(3):
        runs = runs_of(seed, shortest=1)
        lookups = [RunnableLambda(lambda q, run=run: [Document(page_content=doc) for doc in run[q]]) for run in runs]
        retriever = EnsembleRetriever(retrievers=lookups, weights=weights)
        for query, scores in ours("langchain", runs, weights=weights).items():
            found = [doc.page_content for doc in retriever.invoke(query)]
            assert sorted(found) == sorted(scores)
            assert [scores[doc] for doc in found] == pytest.approx(sorted(scores.values(), reverse=True), abs=1e-15)


@pytest.mark.parametrize("shortest", [1, 2])
@pytest.mark.parametrize("method", ["qdrant_dbsf", "qdrant_rrf", "qdrant_rrf(k=7,weights=[3,1,0])"])
def test_the_fusion_of_qdrants_client_gives_our_values(method: str, shortest: int) -> None:
    from qdrant_client.http.models import ScoredPoint
    from qdrant_client.hybrid import fusion

    for seed in range(3):
        runs = runs_of(seed, shortest=shortest)
        expected = {}
        for query in runs[0]:
            points = [[ScoredPoint(id=doc, version=0, score=x) for doc, x in run[query].items()] for run in runs]
            if method == "qdrant_dbsf":
                fused = fusion.distribution_based_score_fusion(points, limit=100)
            else:
                given = {"ranking_constant_k": 7, "weights": [3, 1, 0]} if "k=7" in method else {}
                fused = fusion.reciprocal_rank_fusion(points, limit=100, **given)
            expected[query] = {point.id: point.score for point in fused}
        check(ours(method, runs), expected)
