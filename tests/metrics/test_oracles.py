"""The oracles against other people's code, or a second definition where nobody else has the metric."""

from __future__ import annotations

import itertools
import math

import pytest

from tests.metrics.oracles import DECLARED, ORACLES, evaluate
from tests.metrics.oracles.agreement import AGREEMENT, rankings
from tests.metrics.oracles.cascade import cascade, rbp
from tests.metrics.oracles.query import prepare
from tests.support.each import each
from tests.support.tables import FRACTIONAL_LABELS, INTEGER_LABELS, Table, random_pairs, random_table
from tests.support.trec_eval_and_scipy import Value, scikit_learn, scipy, trec_eval
from tests.support.untraced import untraced

SEEDS = range(8)


def assert_same(table: Table, values: list[Value], **policies: object) -> None:
    for query, name, options, expected in values:
        found = evaluate(name, table[query], options, **policies)
        if math.isnan(expected):
            expected = 0.0  # trec_eval divides 0 by 0 for an empty ranking
            assert not prepare(table[query], **policies).n
        assert found is not None
        assert abs(found - expected) <= 1e-12, (name, options, policies, table[query])


@each("seed", SEEDS, sample=8)
@each("unjudged", ["nonrelevant", "drop"])
@each("relevant", [1, 2, 3])
@untraced
def test_oracles_agree_with_trec_eval(relevant: int, unjudged: str, seed: int) -> None:
    table = random_table(seed)
    values = list(trec_eval(table, relevant=relevant, judged_only=unjudged == "drop"))
    assert len(values) > 1500
    assert_same(table, values, relevant=relevant, unjudged=unjudged)


@each("seed", SEEDS, sample=1)
@untraced
def test_oracles_agree_with_scikit_learn(seed: int) -> None:
    labels = [label for label in FRACTIONAL_LABELS if label is not None and label >= 0]
    for table in (random_table(seed), random_table(seed, ties=False, labels=labels)):
        values = list(scikit_learn(table))
        assert {name for _, name, _, _ in values} >= {"auc"}
        assert_same(table, values)
    assert {name for _, name, _, _ in values} == {"auc", "dcg", "ndcg", "average_precision"}


@each("ties", [True, False], sample=4)
@each("seed", SEEDS)
@untraced
def test_agreement_oracles_agree_with_scipy(seed: int, ties: bool) -> None:
    table = random_pairs(seed, ties=ties)
    values = list(scipy(table))
    assert {name for _, name, _, _ in values} == {
        "kendall_distance",
        "kendall_tau",
        "spearman",
        "tau_ap",
        "weighted_tau",
    }
    for query, name, options, expected in values:
        assert AGREEMENT[name](table[query], **options) == pytest.approx(expected, abs=1e-12), (
            name,
            options,
            table[query],
        )


@each("p", [0.1, 0.5, 0.9], sample=3)
@each("seed", SEEDS)
@untraced
def test_rank_biased_overlap_is_the_mean_agreement_of_rankings_that_go_on(seed: int, p: float) -> None:
    """The paper's equation 7 down to depth 400, below which less than 1e-18 follows, over what may follow."""
    for rows in random_pairs(seed, queries=20).values():
        short, long = sorted(rankings(rows, "doc_desc"), key=len)
        found = [AGREEMENT[name](rows, p=p) for name in ("rbo", "rbo_min", "rbo_residual")]
        if not long:
            assert found == [None] * 3
            continue
        new = [("new", i) for i in range(400)]
        missing = [doc for doc in long if doc not in short], [doc for doc in short if doc not in long]
        worst = agreements(short + [("one", *x) for x in new], long + [("two", *x) for x in new])
        # the shorter takes first what the longer has already shown, so that each of its documents counts at once
        best = agreements(short + missing[0] + new, long + missing[1] + new)
        least, most = mean_agreement(worst, p), mean_agreement(best, p)
        assert found[1:] == [pytest.approx(least, abs=1e-12), pytest.approx(most - least, abs=1e-12)]
        s, length = len(short), len(long)
        at_s = worst[s - 1] if s else 0.0
        # the unseen documents of the shorter ranking agree as often as the seen ones, and so does what follows
        on = [worst[d - 1] + (at_s * (d - s) / d if d > s else 0) for d in range(1, length + 1)]
        assert found[0] == pytest.approx(mean_agreement(on + [on[-1]] * (400 - length), p), abs=1e-12)


def agreements(a: list[object], b: list[object]) -> list[float]:
    shared_from = [max(rank, b.index(doc)) + 1 for rank, doc in enumerate(a[:400]) if doc in b]
    return [sum(depth <= d for depth in shared_from) / d for d in range(1, 401)]


def mean_agreement(agreement: list[float], p: float) -> float:
    return math.fsum((1 - p) * p ** (d - 1) * x for d, x in enumerate(agreement, 1))


def test_err_is_the_mean_reciprocal_rank_at_which_the_cascade_stops() -> None:
    """Every way the user can stop or read on, weighed by its probability."""
    for labels in itertools.product([0, 0.5, 1, 3, 4], repeat=4):
        for k in (None, 1, 3):
            stops = [(2**label - 1) / 2**4 for label in labels][:k]
            expected = 0.0
            for satisfied in itertools.product([True, False], repeat=len(stops)):
                weight = math.prod(r if yes else 1 - r for r, yes in zip(stops, satisfied, strict=True))
                expected += weight / (satisfied.index(True) + 1) if any(satisfied) else 0.0
            assert cascade(labels, k, 4) == pytest.approx(expected, abs=1e-12)


def test_nerr_divides_by_the_best_of_all_orders() -> None:
    for labels in itertools.product([None, -1, 0, 1, 2], repeat=4):
        rows = [(str(i), float(-i), label) for i, label in enumerate(labels)]
        if not any(label is not None for label in labels):
            continue  # nobody judged the query
        for k in (None, 1, 3):
            orders = itertools.permutations([label for label in labels if label is not None and label >= 0])
            best = max(cascade(order, k, 2) for order in orders)
            expected = evaluate("err", rows, {"k": k, "max_label": 2}) / (best or 1)
            assert evaluate("nerr", rows, {"k": k, "max_label": 2}) == pytest.approx(expected, abs=1e-12)


@each("seed", SEEDS)
@untraced
def test_rbp_is_the_gain_per_document_read_of_a_user_who_reads_on_with_probability_p(seed: int) -> None:
    for rows in random_table(seed).values():
        q = prepare(rows)
        for p in (0.1, 0.5, 0.8, 0.95):
            found_by = [q.hits(depth) for depth in range(q.n + 1)]
            stopping_inside = sum((1 - p) * p ** (depth - 1) * found_by[depth] for depth in range(1, q.n + 1))
            gain = stopping_inside + p**q.n * found_by[q.n]
            documents_read = 1 / (1 - p)
            assert rbp(q, p=p) == pytest.approx(gain / documents_read, abs=1e-12)


@each("seed", SEEDS)
@untraced
def test_average_precision_is_precision_times_the_growth_of_recall(seed: int) -> None:
    for rows in random_table(seed).values():
        q = prepare(rows)
        steps = [(evaluate("recall", rows, {"k": i}) or 0) for i in range(1, q.n + 1)]
        growth = [b - a for a, b in zip([0.0, *steps], steps, strict=False)]
        expected = sum(q.precision(rank) * step for rank, step in enumerate(growth, 1)) if q.has_labels else None
        assert evaluate("average_precision", rows, {}) == pytest.approx(expected, abs=1e-12)


@untraced
def test_best_and_worst_are_the_extremes_over_all_orders_of_the_tied_rows() -> None:
    table = random_table(5, queries=10, labels=INTEGER_LABELS, docs=["a", "b", "c", "d", "e"])
    options = {
        "interpolated_precision": {"recall": 0.5},
        "pfound": {"max_label": 4},
        "r_precision_multiple": {"multiple": 1},
        "partial_auc": {"negatives": 2},
        **{name: {"k": 3} for name in ("sdcg", "bpm", "nerr8", "nerr9")},
        **{name: {"depth": 5} for name in ("insq", "inst", "nerr10", "nerr11")},
    }
    for rows, name in itertools.product(table.values(), ORACLES):
        args = (name, options.get(name, {}))
        every = [evaluate(args[0], order, args[1], ties="order", table_max=4) for order in itertools.permutations(rows)]
        bounds = [evaluate(args[0], rows, args[1], ties=ties, table_max=4) for ties in ("worst", "best")]
        if name in ("rbp_resid", "rbp_residual"):  # go by what is judged, not by what it is worth
            continue
        if name in ("auc", "ordered_pair_accuracy", "ranking_loss") or None in every:
            assert len({*every, *bounds}) == 1
        else:
            extremes = [min(every), max(every)]
            wanted = extremes if DECLARED[name].higher_is_better else extremes[::-1]
            assert bounds == pytest.approx(wanted, abs=1e-12), (name, rows)
