"""The other oracles against ir_measures and the tools behind it, or a second definition."""

from __future__ import annotations

import math

import pytest

from tests.metrics.oracles import ORACLES, evaluate
from tests.metrics.oracles.binary import relative_precision
from tests.metrics.oracles.cwl import CWL, REPORTS
from tests.metrics.oracles.diversity import DIVERSITY
from tests.metrics.oracles.query import prepare
from tests.support.diversity import diverse_table
from tests.support.each import each
from tests.support.ir_measures_and_ndeval import accuracy, cwl_eval, gdeval, ir_measures, measures, ndeval
from tests.support.tables import DOCS, random_table
from tests.support.untraced import untraced

SEEDS = range(4)

MORE = {**ORACLES, **CWL, "relative_precision": relative_precision}
"""Also what the tools have under other names than the library."""


@each("size", [(20, 120), (2, 1000), (60, 7)], ids=str, sample=1)
@untraced
def test_readers_agree_with_cwl_eval_in_every_report_and_residual(size: tuple[int, int]) -> None:
    queries, depth = size
    table = random_table(depth, queries=queries)
    checked = set()
    for query, name, options, expected in cwl_eval(table, depth=depth):
        found = CWL[name](prepare(table[query]), **options)
        assert found == pytest.approx(expected, rel=1e-11, abs=1e-11), (name, options, table[query])
        checked.add((name, options["report"], options["residual"]))
    assert len(checked) == len(CWL) * len(REPORTS) * 2


@each("seed", SEEDS, sample=1)
@untraced
def test_oracles_agree_with_ir_measures(seed: int) -> None:
    table = random_table(seed, ties=False, docs=[doc for doc in DOCS if doc])  # cwl-eval does not see the id ""
    checked = set()
    for query, name, options, expected in ir_measures(table):
        found = MORE[name](prepare(table[query]), **options)
        assert found == pytest.approx(expected, rel=1e-11, abs=1e-11), (name, options, table[query])
        checked.add(name)
    assert checked == {name for _, name, _ in measures()}


@each("seed", SEEDS, sample=2)
@untraced
def test_accuracy_agrees_with_ir_measures(seed: int) -> None:
    table = random_table(seed)
    values = list(accuracy(table))
    assert len(values) > 30
    for query, name, options, expected in values:
        assert MORE[name](prepare(table[query], ties="order"), **options) == pytest.approx(expected, abs=1e-12)


@pytest.mark.tools
@pytest.mark.parametrize("seed", SEEDS)
def test_graded_gain_and_cascade_agree_with_gdeval(seed: int) -> None:
    table = random_table(seed, ties=False)
    values = list(gdeval(table))
    assert len(values) > 100
    for query, name, options, expected in values:
        assert evaluate(name, table[query], options) == pytest.approx(expected, abs=5.1e-6), (name, options)


@pytest.mark.tools
@pytest.mark.parametrize(
    ("relevant", "alpha", "beta"), [(1, 0.5, 0.5), (2, 0.5, 0.9), (1, 0.25, 0.75), (1, 0, 0.5), (1, 1, 0.5)]
)
@pytest.mark.parametrize("seed", SEEDS)
def test_diversity_agrees_with_ndeval(seed: int, relevant: int, alpha: float, beta: float) -> None:
    table = diverse_table(seed)
    values = list(ndeval(table, relevant=relevant, alpha=alpha, beta=beta))
    others = {"nugget_recall", "d_ndcg", "d_sharp_ndcg"}  # of TREC RAG and NTCIR, which ndeval does not compute
    assert {name for _, name, _, _ in values} == set(DIVERSITY) - others
    for query, name, options, expected in values:
        q = prepare(table[query], ties="doc_asc", relevant=relevant)
        assert DIVERSITY[name](q, **options) == pytest.approx(expected, abs=1e-12), (name, options, table[query])


@pytest.mark.tools
def test_ndeval_leaves_rank_1_undivided() -> None:
    import pyndeval

    qrels = [("q", "s1", "a", 1), ("q", "s2", "b", 1)]
    found = pyndeval.ndeval(qrels, [("q", "a", 1.0)], ["ERR-IA@1", "alpha-DCG@1"])["q"]
    assert found == {"ERR-IA@1": 1.0, "alpha-DCG@1": 1.0}
    q = prepare([("a", 1.0, {"s1": 1}), ("b", None, {"s2": 1})])
    assert DIVERSITY["err_ia"](q, 1) == DIVERSITY["alpha_dcg"](q, 1) == 0.5


def test_rbp_residual_is_what_the_best_labels_could_add() -> None:
    """Judging all unjudged documents relevant, and retrieving relevant ones for ever below."""
    for rows in random_table(3).values():
        q = prepare(rows)
        labels = [label if label is not None and label >= 0 else 1 for _, _, label in q.ranking] + [1] * 200
        best = [(i, -float(i), label) for i, label in enumerate(labels)]
        for p in (0.5, 0.8):
            added = (evaluate("rbp", best, {"p": p}) or 0) - (evaluate("rbp", rows, {"p": p}) or 0)
            assert MORE["rbp_residual"](q, p=p) == pytest.approx(added, abs=1e-12)


def test_compatibility_is_the_mean_overlap_at_the_depth_where_a_reader_stops() -> None:
    """Clarke, Vtyurina and Smucker's worked formula: weights p^(i-1) on |top i of both| / i, over the ideal's own."""
    q = prepare([("a", 3.0, 1), ("b", 2.0, 0), ("c", 1.0, 2)])  # ideal: c, a
    p = 0.5
    tail = [(p**i) / (i + 1) for i in range(200)]
    overlap, best = 1 * tail[1] + 2 * sum(tail[2:]), 1 * tail[0] + 2 * sum(tail[1:])
    assert MORE["compatibility"](q, p=p) == pytest.approx(overlap / best, abs=1e-12)
    assert MORE["compatibility"](q, p=p, normalize=False) == pytest.approx(overlap * (1 - p), abs=1e-12)
    assert math.isclose(MORE["compatibility"](q, 3, p=p, normalize=False), (tail[1] + 2 * tail[2]) / (1 + p + p**2))
