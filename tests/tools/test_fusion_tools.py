"""Fusion of random runs by other tools: their values are ours, and where theirs are unsound, both are shown.

ranx and trectools: `pip install -r tests/tools/requirements-light.txt`; the others: tests/tools/requirements-products.txt.
"""

from __future__ import annotations

import importlib
import math
import os
import random
import statistics
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
    return by_query(rows_of(runs).rank.on(ties="order").fuse(method, run="run", **options))


def rows_of(runs: Sequence[Scores]) -> pl.DataFrame:
    """A row per run, query and document."""
    rows = [
        (f"run{i}", q, doc, x) for i, run in enumerate(runs) for q, scores in run.items() for doc, x in scores.items()
    ]
    return pl.DataFrame(rows, schema=["run", "query_id", "doc_id", "score"], orient="row")


def by_query(fused: pl.DataFrame) -> Scores:
    """The fused scores."""
    found: Scores = {}
    for query, doc, score in fused.iter_rows():
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


@pytest.mark.nightly
@pytest.mark.parametrize(("method", "options"), BY_RANKS)
def test_a_method_by_ranks_gives_the_values_of_ranx(method: str, options: dict[str, Any]) -> None:
    for seed in range(3):
        runs = runs_of(seed)
        check(ours(method, runs, **options), of_ranx(runs, method, None, **options))


@pytest.mark.nightly
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


@pytest.mark.nightly
@pytest.mark.parametrize(("norm", "method"), [("borda", "rrf"), (None, "condorcet")])
def test_an_order_of_ranx_depends_on_the_hashes_of_text_and_ours_does_not(norm: str | None, method: str) -> None:
    orders = {tuple(order_of_ranx(seed, norm, method)) for seed in range(1, 5)}
    assert len(orders) > 1
    if method == "condorcet":
        assert ours("condorcet", ONE_QUERY)["q"] == {"d1": 3, "d2": 3, "d3": 2.5, "d4": 0.5, "d5": 1}
    else:
        with pytest.raises(rf.errors.InvalidOption, match="normalize"):
            ours("comb_sum", ONE_QUERY, normalize="borda")


@pytest.mark.nightly
def test_condorcet_of_ranx_sets_a_document_that_loses_its_duels_above_others() -> None:
    assert any(order_of_ranx(seed, None, "condorcet").index("d4") < 4 for seed in range(1, 5))


@pytest.mark.nightly
def test_a_list_of_one_document_counts_0_in_ranx_after_most_normalisations_and_1_here() -> None:
    runs = [{"q": {"a": 5.0}}, {"q": {"b": 3.0, "c": 1.0}}]
    for norm, own in (("min-max", 1), ("sum", 1), ("zmuv", 0), ("max", 1), ("rank", 1)):
        assert of_ranx(runs, "sum", norm)["q"]["a"] == (1 if norm in ("max", "rank") else 0)
        assert ours("comb_sum", runs, normalize=norm)["q"]["a"] == own


@pytest.mark.nightly
def test_after_zmuv_an_absent_document_counts_as_the_mean_in_both_unless_told_to_count_as_the_least() -> None:
    runs = [{"q": {"a": 5.0, "b": 1.0}}, {"q": {"c": 2.0}}]
    assert of_ranx(runs, "sum", "zmuv")["q"] == {"a": 1, "c": 0, "b": -1}
    assert ours("comb_sum", runs, normalize="zmuv")["q"] == {"a": 1, "c": 0, "b": -1}
    assert ours("comb_sum", runs, normalize="zmuv", missing="min")["q"] == {"a": 1, "c": -1, "b": -1}


@pytest.mark.nightly
def test_ranx_divides_scores_of_0_and_less_by_a_billionth_and_we_refuse_them() -> None:
    runs = [{"q": {"a": 0.0, "b": -1.0}}, {"q": {"a": 1.0}}]
    assert of_ranx(runs, "min", "max")["q"]["b"] == pytest.approx(-1e9)
    with pytest.raises(rf.errors.InvalidData, match="a score is negative; write 'min_max'"):
        ours("comb_min", runs, normalize="max")


TRAINED: dict[str, dict[str, int]] = {
    "mapfuse": {}, "posfuse": {}, "slidefuse": {"w": 2}, "probfuse": {"x": 3}, "segfuse": {}, "bayesfuse": {},
}  # fmt: skip


@pytest.mark.nightly
def test_ranx_needs_the_same_queries_in_all_runs_and_we_fuse_what_there_is() -> None:
    runs = [{"p": {"a": 2.0}, "q": {"a": 2.0}}, {"q": {"b": 1.0}}, {"q": {"c": 1.0}}]
    with pytest.raises(AssertionError, match="Runs 0 and 0 query ids do not match"):
        of_ranx(runs, "rrf", None)
    assert ours("rrf(k=0)", runs) == {"p": {"a": 1}, "q": {"a": 1, "b": 1, "c": 1}}


@pytest.mark.nightly
def test_ranx_has_a_default_method_without_default_weights_and_ours_is_rrf() -> None:
    from ranx import Run, fuse

    with pytest.raises(TypeError, match="weights"):
        fuse([Run(run) for run in ONE_QUERY])
    tables = [rows_of([run]).drop("run") for run in ONE_QUERY]
    assert by_query(rf.fuse(tables))["q"] == pytest.approx(ours("rrf", ONE_QUERY)["q"])


@pytest.mark.nightly
def test_after_borda_ranx_counts_absent_documents_as_found_and_we_have_borda_as_a_method() -> None:
    found = of_ranx(ONE_QUERY, "mnz", "borda")["q"]
    assert found["d4"] == pytest.approx(3 * of_ranx(ONE_QUERY, "sum", "borda")["q"]["d4"])  # d4 is in one of three runs
    assert ours("comb_mnz", ONE_QUERY)["q"]["d4"] == 2
    assert ours("borda", ONE_QUERY)["q"] == pytest.approx(of_ranx(ONE_QUERY, "bordafuse", None)["q"])


@pytest.mark.nightly
def test_equal_scores_have_ranks_of_their_own_in_ranx_and_may_share_them_here() -> None:
    runs = [{"q": dict.fromkeys([f"d{i:02}" for i in range(40)], 1.0)}, {"q": {"e": 1.0}}]
    theirs = of_ranx(runs, "rrf", None)["q"]
    assert len({theirs[doc] for doc in runs[0]["q"]}) == 40
    shared = by_query(rows_of(runs).rank.on(ties="expected").fuse("rrf", run="run"))["q"]
    assert [shared[doc] for doc in runs[0]["q"]] == pytest.approx([sum(1 / (60 + r) for r in range(1, 41)) / 40] * 40)


LEARNED = {"mapfuse": "map_scores", "bayesfuse": "log_odds"}
"""ranx' names of what a method learns; by default ``probs``."""


def judgments(seed: int, runs: Sequence[Scores]) -> dict[str, dict[str, int]]:
    """Some documents of every query, at least one of which is relevant."""
    draw = random.Random(seed)
    docs = sorted({doc for run in runs for scores in run.values() for doc in scores})
    return {q: dict.fromkeys(draw.sample(docs, 4), 1) for q in runs[0]}


def trained_by_ranx(
    method: str, train: Sequence[Scores], qrels: Mapping[str, Mapping[str, int]], test: Sequence[Scores], **options: int
) -> Scores:
    from ranx import Qrels, Run
    from ranx.fusion import fusion_switch

    module = importlib.import_module(f"ranx.fusion.{method}")
    segments = {"n_segments": options["x"]} if "x" in options else {}
    learned = getattr(module, f"{method}_train")(Qrels(dict(qrels)), [Run(run) for run in train], **segments)
    given = {LEARNED.get(method, "probs"): learned, **({"w": options["w"]} if "w" in options else {})}
    fused = fusion_switch(method)([Run(run) for run in test], **given)
    return {query: dict(scores) for query, scores in fused.to_dict().items()}


def trained_here(
    method: str, train: Sequence[Scores], qrels: Mapping[str, Mapping[str, int]], test: Sequence[Scores], **options: int
) -> Scores:
    text = f"{method}({','.join(f'{name}={x}' for name, x in options.items())})" if options else method
    judged = pl.DataFrame(
        [(q, doc, x) for q, of in qrels.items() for doc, x in of.items()],
        schema=["query_id", "doc_id", "label"],
        orient="row",
    )
    fitted = rf.fit_fusion(rows_of(train), text, run="run", qrels=judged)
    return by_query(rows_of(test).rank.fuse(fitted))


@pytest.mark.nightly
@pytest.mark.parametrize("method", TRAINED)
def test_a_trained_method_gives_the_values_of_ranx(method: str) -> None:
    train, test = runs_of(7), runs_of(8)
    qrels = judgments(7, train)
    expected = trained_by_ranx(method, train, qrels, test, **TRAINED[method])
    check(trained_here(method, train, qrels, test, **TRAINED[method]), expected)


@pytest.mark.nightly
def test_bayesfuse_of_ranx_reads_beyond_its_thousand_ranks_and_ours_counts_the_last_class() -> None:
    long = {"q": {f"d{rank:04}": 2000.0 - rank for rank in range(1, 1002)}}
    other, qrels = {"q": {"e": 1.0}}, {"q": {"d0001": 1}}
    theirs = trained_by_ranx("bayesfuse", [long, other], qrels, [long, other])["q"]
    own = trained_here("bayesfuse", [long, other], qrels, [long, other])["q"]
    assert {doc: own[doc] for doc in theirs if doc != "d1001"} == pytest.approx(
        {doc: x for doc, x in theirs.items() if doc != "d1001"}, abs=1e-9
    )
    absent = math.log(0.001 / 0.999)
    assert own["d1001"] == own["d1000"] == pytest.approx(2 * absent, abs=1e-9)
    assert theirs["d1001"] != pytest.approx(2 * absent, abs=1e-3)  # whatever stands there in memory


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


@pytest.mark.parametrize("strategy", ["sum", "max", "min", "anz", "mnz", "med"])
def test_a_strategy_of_trectools_is_none_for_three_runs_and_ours_is(strategy: str) -> None:
    runs = runs_of(0)
    with pytest.raises(ValueError, match="suffixes"):  # the scores of the third run have the name of the second's
        of_trectools("combos", runs, strategy=strategy)
    by_hand = {"sum": sum, "max": max, "min": min, "anz": statistics.fmean, "med": statistics.median,
               "mnz": lambda x: sum(x) * len(x)}[strategy]  # fmt: skip
    expected: Scores = {}
    for query in runs[0]:
        docs = {doc for run in runs for doc in run[query]}
        expected[query] = {doc: by_hand([run[query][doc] for run in runs if doc in run[query]]) for doc in docs}
    check(ours(f"combos(strategy={strategy})", runs), expected)


def test_trectools_leaves_out_what_stands_below_rank_1000_and_we_do_so_with_a_depth() -> None:
    long = {"q": {f"d{rank:04}": 2000.0 - rank for rank in range(1, 1003)}}
    other = {"q": {"e": 2.0, "d1002": 1.0}}
    theirs = of_trectools("reciprocal_rank_fusion", [long, other])["q"]
    own = ours("reciprocal_rank_fusion", [long, other])["q"]
    assert own["d1002"] == pytest.approx(1 / 1062 + 1 / 62, abs=1e-12)
    assert theirs["d1002"] == pytest.approx(1 / 62, abs=1e-12)
    cut = ours("reciprocal_rank_fusion", [long, other], depth=1000)["q"]
    assert cut["d1002"] == pytest.approx(theirs["d1002"], abs=1e-12)


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
