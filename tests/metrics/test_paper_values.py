"""Values worked out in print or by hand, each held against the oracle and against the library."""

from __future__ import annotations

import math
from collections.abc import Sequence
from math import log2
from typing import Any

import polars as pl
import pytest

import rankframe as rf
from tests.metrics.oracles import ORACLES, evaluate
from tests.metrics.oracles.agreement import AGREEMENT
from tests.support.each import each
from tests.support.tables import ANY_TOP_GRADE

# Järvelin and Kekäläinen 2002, section 2 (last digits cut off in print): a ranking's gains, what it missed.
JK_GAINS = [3, 2, 3, 0, 0, 1, 2, 2, 3, 0]
JK_MISSED = [1, 1, 1]
JK_CG = [3, 5, 8, 8, 8, 9, 11, 13, 16, 16]
JK_DCG = [3, 5, 6.89, 6.89, 6.89, 7.28, 7.99, 8.66, 9.61, 9.61]
JK_IDEAL = sorted(JK_GAINS + JK_MISSED, reverse=True)
JK_IDEAL_DCG = [3, 6, 7.89, 8.89, 9.75, 10.52, 10.88, 11.21, 11.53, 11.83]
JK_NDCG = [1, 0.83, 0.87, 0.78, 0.71, 0.69, 0.73, 0.77, 0.83, 0.81]
# Manning, Raghavan and Schütze 2008, exercise 8.8: RRNNN NNNRN RNNNR NNNNR, eight relevant documents in all.
MRS = [1, 1, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 1]

CATS, DOGS = [1] * 6 + [0], [1] * 2 + [0] * 3

original = {"discount": "original"}
exponential = {"gain": "exponential"}

# metric, labels in rank order, labels judged but not retrieved, options, value, its error
X = 1 / math.log2(3)  # the discount of rank 2
CASES: list[tuple[str, Sequence[float | None], Sequence[float], dict[str, Any], float, float]] = [
    ("dcg", [2, 3, 3, 1, 2], [], {}, 2 + 3 / log2(3) + 3 / 2 + 1 / log2(5) + 2 / log2(6), 1e-12),
    ("dcg", [2, 3, 3, 1, 2], [], {}, 6.597, 5e-4),
    ("dcg", [3, 3, 2, 2, 1], [], {}, 7.141, 5e-4),
    ("cg", [3, 2, 3, 0, 1, 2], [3, 2], {"k": 6}, 11, 0),
    ("dcg", [3, 2, 3, 0, 1, 2], [3, 2], {"k": 6}, 6.861, 5e-4),
    ("ndcg", [3, 2, 3, 0, 1, 2], [3, 2], {"k": 6}, 0.785, 5e-4),
    ("dcg", [3, 3, 3, 2, 2, 2, 1, 0], [], {"k": 6}, 8.740, 5e-4),
    # From Elasticsearch's tests: 7 + 3/log2(3) + 7/2 + 0 + 1/log2(6) + 3/log2(7),
    # of at best 7 + 7/log2(3) + 3/2 + 3/log2(5) + 1/log2(6).
    ("dcg", [3, 2, 3, 0, 1, 2], [], exponential, 13.84826362927298, 1e-12),
    ("ndcg", [3, 2, 3, 0, 1, 2], [], exponential, 13.84826362927298 / 14.595390756454922, 1e-12),
    ("cg", [3, 1, None, -1], [], exponential, (8 - 1) + (2 - 1), 0),
    # a gain map: label 0 is worth 1 here, and label 2 less than label 1
    ("dcg", [1, 0, 2], [], {"gain": {0: 1, 1: 5, 2: 3}}, 5 + 1 / log2(3) + 3 / 2, 1e-12),
    ("ndcg", [1, 0, 2], [], {"gain": {0: 1, 1: 5, 2: 3}},
     (5 + 1 / log2(3) + 3 / 2) / (5 + 3 / log2(3) + 1 / 2),
     1e-12),
    ("ndcg", [1, 2], [], original, (1 + 2) / (2 + 1), 1e-12),
    ("dcg", [1, 2, 3, 4], [], {**original, "k": 3}, 1 + 2 / 1 + 3 / log2(3), 1e-12),
    # scikit-learn's example for ndcg_score
    ("dcg", [5, 1, 0, 0, 10], [], {}, 9.4995, 5e-5),
    ("ndcg", [5, 1, 0, 0, 10], [], {}, 0.6957, 5e-5),
    *[("cg", JK_GAINS, JK_MISSED, {"k": k}, value, 0) for k, value in enumerate(JK_CG, 1)],
    *[("dcg", JK_GAINS, JK_MISSED, {"k": k, **original}, value, 0.01) for k, value in enumerate(JK_DCG, 1)],
    *[("dcg", JK_IDEAL, [], {"k": k, **original}, value, 0.01) for k, value in enumerate(JK_IDEAL_DCG, 1)],
    *[("ndcg", JK_GAINS, JK_MISSED, {"k": k, **original}, value, 0.01) for k, value in enumerate(JK_NDCG, 1)],
    # ERR: 7/16 of the users stop at rank 1, 3/16 of the others at rank 2, 15/16 of the rest at rank 3
    ("err", [3, 2, 4], [], {}, 7 / 16 + 1 / 2 * 9 / 16 * 3 / 16 + 1 / 3 * 9 / 16 * 13 / 16 * 15 / 16, 1e-12),
    ("err", [3, 2, 4], [], {"k": 2}, 7 / 16 + 1 / 2 * 9 / 16 * 3 / 16, 1e-12),
    ("err", [3, 2, 0, 1], [], {"max_label": "query"}, 7 / 8 + 3 / 8 / 8 / 2 + 5 / 8 / 8 / 8 / 4, 1e-12),
    ("err", [1, None, -1, 1], [], {"max_label": 1}, 1 / 2 + 1 / 4 * 1 / 2 * 1 / 2, 1e-12),
    ("err", [1], [2], {"max_label": "query"}, 1 / 4, 1e-12),
    ("nerr", [1], [2], {"max_label": 2, "k": 1}, (1 / 4) / (3 / 4), 1e-12),
    ("nerr", [1], [2], {"max_label": 2}, (1 / 4) / (3 / 4 + 1 / 2 * 1 / 4 * 1 / 4), 1e-12),
    ("precision", MRS, [1, 1], {}, 6 / 20, 1e-12),
    ("precision", [1, 0], [], {"k": 5}, 1 / 5, 1e-12),
    ("recall", MRS, [1, 1], {}, 6 / 8, 1e-12),
    ("f1", MRS, [1, 1], {}, 3 / 7, 1e-12),
    ("f1", [1, 0, 1], [1], {"k": 2}, 2 * (1 / 2) * (1 / 3) / (1 / 2 + 1 / 3), 1e-12),
    ("hits", MRS, [1, 1], {"k": 10}, 3, 0),
    ("hit_rate", [0, None, 1], [], {"k": 2}, 0, 0),
    ("hit_rate", [0, None, 1], [], {"k": 3}, 1, 0),
    ("r_precision", MRS, [1, 1], {}, 2 / 8, 1e-12),
    ("r_precision", [1], [1], {}, 1 / 2, 1e-12),
    ("average_precision", MRS, [], {}, 0.555, 5e-4),
    ("average_precision", MRS, [1, 1], {}, 0.416, 5e-4),
    ("average_precision", MRS, [1, 1], {"k": 9}, (1 + 2 / 2 + 3 / 9) / 8, 1e-12),
    ("average_precision", [1, 0, 1, 0, 0], [1], {}, 0.5555556, 5e-8),
    ("interpolated_precision", MRS, [1, 1], {"recall": 0.33}, 4 / 11, 1e-12),
    # lround(0.4 * 3) = 1, lround(0.8 * 3) = 2, lround(3) = 3 of which two are found
    ("interpolated_precision", [1, 0, 1, 0, 0], [1], {"recall": 0.4}, 1, 1e-12),
    ("interpolated_precision", [1, 0, 1, 0, 0], [1], {"recall": 0.8}, 2 / 3, 1e-12),
    ("interpolated_precision", [1, 0, 1, 0, 0], [1], {"recall": 1.0}, 0, 0),
    ("interpolated_precision", [0, 1, 1], [], {"recall": 0.25}, 2 / 3, 1e-12),  # half a document is one
    ("interpolated_precision", [0, 1, 1], [], {"recall": 0.0}, 2 / 3, 1e-12),
    ("eleven_point_average", [1, 0, 1, 0, 0], [1], {}, (5 * 1 + 4 * 2 / 3 + 2 * 0) / 11, 1e-12),
    ("reciprocal_rank", [0, None, 1, 1], [], {}, 1 / 3, 1e-12),
    ("reciprocal_rank", [0, None, 1, 1], [], {"k": 2}, 0, 0),
    # bpref: 0, 1 and 2 of the two judged non-relevant documents stand above
    ("bpref", [1, 0, None, 1, 0, -1, 1], [], {}, (1 + (1 - 1 / 2) + (1 - 2 / 2)) / 3, 1e-12),
    ("bpref", [1, 0, None, 1, 0, -1, 1], [0, 0, -1], {}, (1 + (1 - 1 / 3) + (1 - 2 / 3)) / 3, 1e-12),
    ("bpref", [0, 0, 0, 1], [], {}, 1 - 1 / 1, 1e-12),
    ("rbp", [1, 0, 0, 0, 0, 3], [], {"p": 0.5}, 1 / 2 + 1 / 2 * 1 / 32, 1e-12),
    ("rbp", [1, None, 2], [], {"k": 2}, 0.2, 1e-12),
    ("rbp", [1, 0, 2], [], {"p": 0.5, "gain": {1: 0.25, 2: 1}}, 1 / 2 * (0.25 + 1 / 4), 1e-12),
    ("pfound", [0, 1], [], {}, 0.85, 1e-12),
    ("fall_out", [1, 0, 0, 1], [], {"k": 2}, 1 / 2, 1e-12),
    ("mean_label", [3, 0, 2], [], {"k": 2}, 3 / 2, 1e-12),
    ("average_relevance_position", [1, 0, 3], [], {}, (1 * 1 + 3 * 3) / 4, 1e-12),
    ("ordered_pair_accuracy", [2, 0, 1], [], {}, 2 / 3, 1e-12),
    ("num_nonrel_judged_ret", [0, None, 1, 0], [0], {}, 2, 0),
    ("unjudged", [0, None, -1], [], {"k": 5}, 2 / 5, 1e-12),
    ("r_precision_multiple", [1, 0, 1], [], {"multiple": 0.5}, 1, 1e-12),  # at rank 1 = floor(0.5 x 2 + 0.9)
    ("utility", [1, 0, 1], [1], {}, 2 - 1, 1e-12),
    ("yaap", [1, 0], [], {}, math.log(2 / 1), 1e-12),
    ("bin_g", [0, 0, 1], [], {}, 1 / 2, 1e-12),  # 1 / log2(2 + 2)
    ("g", [0, 0, 2], [], {}, 1 / 2, 1e-12),  # 1 / log2(2 + (2 + 1 + 1) - 2)
    ("ndcg_rel", [1], [1], {}, (1 + 1 / (1 + X)) / 2, 1e-12),
    ("rndcg", [1, 2], [], {}, (1 / 2 + (1 + 2 * X) / (2 + X)) / 2, 1e-12),
    ("ideal_dcg", [0, 1], [3], {}, 3 + X, 1e-12),
    ("rbp_resid", [1, None], [], {"p": 0.5}, 1 / 4 + 1 / 4, 1e-12),
    ("gm_map", [0], [], {}, 1e-5, 1e-17),
    ("gm_bpref", [0], [1], {}, 1e-5, 1e-17),
    ("f_beta", [1, 0], [], {"beta": 2}, 5 / (2 + 4), 1e-12),
    ("set_average_precision", [1, 0], [1], {}, 1 / 2 * 1 / 2, 1e-12),
    ("num_retrieved", [1, 0, None], [1], {}, 3, 0),
    ("num_relevant", [1, 0, None], [1], {}, 2, 0),
    ("judged", [0, None], [], {}, 1 / 2, 1e-12),
    ("pairwise_accuracy", [0, 1, 0], [], {}, 1 / 2, 1e-12),
    ("inferred_ap", [1], [1], {}, 1 / 2, 1e-12),
    ("compatibility", [2, 1], [], {}, 1, 1e-12),
    ("rbp_residual", [1, None], [], {"p": 0.5}, 1 / 4 + 1 / 4, 1e-12),
    # C/W/L: the gain per document read, of a reader who goes on after rank i with the chance C(i)
    ("sdcg", [1, 0], [], {"k": 2}, 1 / (1 + X), 1e-12),
    ("bpm", [0, 1, 0], [], {"k": 5}, 1 / 2, 1e-12),  # content after two
    ("insq", [1, 0], [], {"depth": 2}, (1 / 4) / (1 / 4 + 1 / 9), 1e-12),
    ("inst", [1, 0], [], {"depth": 2}, 1 / (1 + 1 / 4), 1e-12),  # C(1) = (1 / 2)^2, as T is reached
    ("nerr8", [1, 2], [], {"k": 2}, (1 / 2 + 1 / 2) / (1 + 1 / 2), 1e-12),
    ("nerr9", [1, 2], [], {"k": 2}, (1 / 2 + 1 / 4) / (1 + 1 / 4), 1e-12),
    ("nerr10", [1, 2], [], {"depth": 2}, (0.5 + 0.45) / (1 + 0.45), 1e-12),
    ("nerr11", [1, 2], [], {"depth": 2}, (1 / 2 + 2 / 9) / (1 + 2 / 9), 1e-12),
    # of 2 x 3 pairs, the unretrieved 1 loses all, the other beats 0 and null but not the 0 above it
    ("auc", [0, 1, 0, None], [1], {}, 2 / 6, 1e-12),
    ("auc", [1, 0], [0, -1, 1], {}, (2 + 1 / 2) / 4, 1e-12),
    # Wikipedia, Phi coefficient: 6 of 8 cats and 1 of 4 dogs are taken for cats
    *[(name, CATS, DOGS, {}, value, 0) for name, value in
      {"false_positives": 1, "false_negatives": 2, "true_negatives": 3, "jaccard": 6 / (6 + 2 + 1)}.items()],
    ("mcc", CATS, DOGS, {}, 0.478, 5e-4),
    # scikit-learn's examples for coverage_error and label_ranking_loss
    *[("last_rank", labels, [], {}, value, 0) for labels, value in (([0, 1, 0], 2), ([0, 0, 1], 3))],
    *[("ranking_loss", labels, [], {}, value, 0) for labels, value in (([0, 1, 0], 1 / 2), ([0, 0, 1], 1))],
    # the ranks 2 and 3, and 4 of the one that was not retrieved
    *[(name, [0, 1, 1], [1], {}, value, 0) for name, value in
      {"first_rank": 2, "mean_rank": 3, "median_rank": 3, "last_rank": 4}.items()],
    ("false_positives", [1, 0, 1], [1], {"k": 2}, 1, 0),
    ("false_negatives", [1, 0, 1], [1], {"k": 2}, 2, 0),
    ("true_negatives", [1, 0, 0], [], {"k": 1}, 2, 0),
    ("mcc", [1, 0, 0, 0], [], {"k": 2}, (1 * 2 - 1 * 0) / (2 * 1 * 3 * 2) ** 0.5, 1e-12),
    ("jaccard", [1, 0, 1], [], {"k": 2}, 1 / 3, 1e-12),
    ("average_recall", [0, 1, 0, 1], [], {}, (0 + 1 / 2 + 1 / 2 + 1) / 4, 1e-12),
    ("average_recall", [0, 1, 0, 1], [], {"at": "relevant"}, (1 / 2 + 1) / 2, 1e-12),
    ("partial_auc", [1, 0, 1, 0], [], {"negatives": 2}, (2 + 1) / (2 * 2), 1e-12),
    ("ranking_loss", [1, 0, 1], [], {}, 1 / 2, 1e-12),
    ("mean_percentile_rank", [3, 0, 1], [], {}, (3 * 0 + 1 * 1) / 4, 1e-12),
    ("q_measure", [0, 2], [], {}, (1 + 2) / (2 + 2), 1e-12),
    ("q_measure", [1, 2], [], {}, ((1 + 1) / (1 + 2) + (2 + 3) / (2 + 3)) / 2, 1e-12),
    ("graded_average_precision", [1, 2], [], {}, ((1 + 1) + 1 / 2) / (2 + 1), 1e-12),
]  # fmt: skip


def table(labels: Sequence[float | None], missed: Sequence[float]) -> pl.DataFrame:
    scores = [*map(float, range(len(labels), 0, -1)), *[None] * len(missed)]
    columns = {"query_id": 1, "doc_id": range(len(scores)), "score": scores, "label": [*labels, *missed]}
    return pl.DataFrame(columns, schema_overrides={"label": pl.Float64})


@ANY_TOP_GRADE
@each(("name", "labels", "missed", "options", "value", "error"), CASES)
def test_worked_value(
    name: str,
    labels: Sequence[float | None],
    missed: Sequence[float],
    options: dict[str, Any],
    value: float,
    error: float,
) -> None:
    df = table(labels, missed)
    rows = df.select("doc_id", "score", "label").rows()
    largest = max(label for label in (*labels, *missed) if label is not None)
    assert evaluate(name, rows, options, table_max=largest) == pytest.approx(value, rel=0, abs=error)
    result = getattr(df.rank.metrics, name)(**options)
    assert result.shape == (1, 2)
    assert result.item(0, 1) == pytest.approx(value, rel=0, abs=error)


@ANY_TOP_GRADE
@each("options", [{}, {"residual": True}, {"report": "ED"}], ids=str)
@each("name", ["insq", "nerr11"])
def test_a_reader_may_go_deeper_than_sums_are_listed(name: str, options: dict[str, Any]) -> None:
    options = {"target": 2.5, "depth": 20_000, **options}
    df = table([0, None, 2, 1, None], [1])
    oracle = evaluate(name, df.select("doc_id", "score", "label").rows(), options, table_max=2)
    for found in (
        getattr(df.rank.metrics, name)(**options),
        getattr(df.lazy().rank.metrics, name)(**options).collect(),
    ):
        assert found.item(0, 1) == pytest.approx(oracle, rel=1e-11)
    deep = df.filter(label=2).rank.metrics.insq(target=1, depth=10**9, max_label=2).item(0, 1)
    assert deep == pytest.approx(1 / (4 * (math.pi**2 / 6 - 1)), rel=1e-8)  # V(1) over the sum of all V


def test_every_metric_and_measure_has_a_worked_value() -> None:
    metrics = {
        metric.formula.__name__
        for metric in rf.METRICS.values()
        if metric.over == "documents" and metric.dtype == pl.Float64 and not metric.needs
    }
    assert {case[0] for case in CASES} == set(ORACLES) == metrics
    assert {case[0] for case in AGREEMENT_CASES} == set(AGREEMENT) == set(rf.AGREEMENTS)


def test_mean_reciprocal_rank_of_ranks_3_1_5_and_none_is_0_383() -> None:
    queries = [[0, 0, 1], [1, 1], [0, 0, None, -1, 1], [0, 0]]
    df = pl.concat(table(labels, []).with_columns(query_id=i) for i, labels in enumerate(queries))
    assert df.rank.evaluate("mrr").to_series(1).to_list() == pytest.approx([1 / 3, 1, 1 / 5, 0])
    assert df.rank.evaluate("mrr").to_series(1).mean() == pytest.approx(0.383, abs=5e-4)


# Hours of television and intelligence of ten people (Wikipedia, Spearman's rank correlation coefficient).
IQ = [106, 100, 86, 101, 99, 103, 97, 113, 112, 110]
TV = [7, 27, 2, 50, 28, 29, 20, 12, 6, 17]
Scores = Sequence[float | None]
AGREEMENT_CASES: list[tuple[str, dict[str, Any], Scores, Scores, float | None]] = [
    ("spearman", {}, IQ, TV, -29 / 165),
    ("spearman", {}, [1, 2, 2, 4], [1, 2, 3, 4], 4.5 / (4.5 * 5) ** 0.5),  # ranks 1, 2.5, 2.5, 4
    ("kendall_tau", {}, [1, 2, 3, 4], [1, 3, 2, 4], (5 - 1) / 6),
    ("kendall_tau", {}, [1, 1, 2, 3], [1, 2, 3, 3], (4 - 0) / (5 * 5) ** 0.5),  # one pair tied in each
    ("kendall_tau", {}, [1, 1], [1, 2], None),
    ("kendall_distance", {"k": 10}, [4, 3, 2, 1], [4, 2, 3, 1], 1 / 6),
    ("kendall_distance", {"k": 2}, [4, 3, 2, 1], [1, 2, 3, 4], 1 / 1),
    ("kendall_distance", {"k": 3}, [4, 3, 2, 1], [3, 1, 2, 4], 1 / 3),  # the top three by the first
    ("kendall_distance", {"k": 3}, [4, 3, None, 1], [1, 2, 3, None], 1 / 1),  # only rows scored twice
    ("kendall_distance", {"k": 3}, [4, None], [1, 2], None),
    ("kendall_distance", {"k": 3}, [1, 1, 1], [3, 2, 1], 3 / 3),  # all tied: the greatest id first
    # By the other score each rank but the first has, of those above it, in order: 0 of 1, 1 of 2, 3 of 3, 4 of 4, 4 of 5.
    ("tau_ap", {}, [4, 6, 5, 3, 1, 2], [6, 5, 4, 3, 2, 1], 2 / 5 * (0 + 1 / 2 + 1 + 1 + 4 / 5) - 1),
    ("tau_ap", {}, [4, 3, 2, 1], [3, 4, 2, 1], 1 / 3),  # a swap at the top: 0, 1, 1
    ("tau_ap", {}, [4, 3, 2, 1], [4, 3, 1, 2], 7 / 9),  # and at the bottom: 1, 1, 2 of 3
    ("tau_ap", {}, [4, None], [1, 2], None),
    ("weighted_tau", {}, [3, 2, 1], [3, 1, 2], (3 / 2 + 4 / 3 - 5 / 6) / (3 / 2 + 4 / 3 + 5 / 6)),
    ("weighted_tau", {}, [12, 2, 1, 12, 2], [1, 4, 7, 1, 0], -0.56694968153682723),  # SciPy's example
    ("footrule", {"k": 1}, [2, 1], [1, 2], 1),  # each stands at rank 2 of the other list
    ("ndpm", {}, [3, 2, 1], [1, 1, 0], (1 / 2) / 3),
    ("footrule", {}, [3, 2, 1], [3, 1, 2], (0 + 1 + 1) / 4),  # the reverse order differs by 2 + 0 + 2
    ("ndpm", {}, [3, 2, 1], [3, 1, 2], 1 / 3),
    ("jaccard_index", {"k": 2}, [3, 2, 1], [3, 1, 2], 1 / 3),
    ("overlap", {"k": 2}, [4, 3, 2, None], [None, 4, 3, 2], 1 / 2),
    ("overlap", {"k": 10}, [2, 1], [1, 2], 2 / 10),
    ("overlap", {}, [3, 2, 1], [None, 1, None], 1 / 3),
    ("rbo", {}, [7, 6, 5, 4], [6, 7, 5, 4], 0.9),  # but at depth 1, which has a tenth of the weight, they agree
    ("rbo", {"p": 0.5}, [2, 1], [2, None], 1.0),  # all of the shorter one, at every depth
    ("rbo", {"p": 0.5}, [2, None], [None, 2], 0.0),
    ("rbo_min", {"p": 0.5}, [1], [2], math.log(2)),
    ("rbo_residual", {"p": 0.5}, [1], [2], 1 - math.log(2)),
    ("rbo_residual", {"p": 0.5}, [2, None], [None, 2], 1 / 2),  # nothing at depth 1, all from depth 2 on
    # The first, the fourth and the sixth are relevant: ranks 1, 4 and 6 against 2, 3 and 7.
    ("rpp", {}, [7, 6, 5, 4, 3, 2, 1], [6, 7, 4, 5, 3, 1, 2], 1 / 3),
    ("rpp", {"k": 3}, [7, 6, 5, 4, 3, 2, 1], [6, 7, 4, 5, 3, 1, 2], 0.0),  # 1, none and none against 2, 3 and none
    ("rpp", {}, [1, None, None, None, None, None], [None, None, None, 3, None, 2], -1 / 3),  # 1 against 1 and 2
]  # fmt: skip


@each(("name", "options", "first", "second", "value"), AGREEMENT_CASES)
def test_worked_agreement(
    name: str,
    options: dict[str, Any],
    first: Sequence[float | None],
    second: Sequence[float | None],
    value: float | None,
) -> None:
    labels = [int(i in (0, 3, 5)) for i in range(len(first))]
    rows = list(zip(range(len(first)), first, second, labels, strict=True))
    assert AGREEMENT[name](rows, **options) == (value if value is None else pytest.approx(value, abs=1e-12))
    columns = {"query_id": 1, "doc_id": range(len(rows)), "score": first, "other": second, "label": labels}
    result = pl.DataFrame(columns, schema_overrides={"score": pl.Float64, "other": pl.Float64})
    measure = name + (f"(p={options['p']})" if "p" in options else "") + (f"@{options['k']}" if "k" in options else "")
    found = result.rank.agreement("other", measure)
    assert found.columns == ["query_id", measure]
    assert found.item(0, 1) == (value if value is None else pytest.approx(value, abs=1e-12))


def ranked_lists(first: str, second: str) -> pl.DataFrame:
    """Two rankings of documents that are letters, best first."""
    docs = sorted({*first, *second})
    scores = ([-ranking.index(doc) if doc in ranking else None for doc in docs] for ranking in (first, second))
    return pl.DataFrame({"query_id": 1, "doc_id": docs, **dict(zip(("score", "other"), scores, strict=True))})


def test_overlaps_of_the_paper_s_two_rankings() -> None:
    """Webber, Moffat, Zobel 2010, figure 5: the agreement at each depth, and its mean over the depths so far."""
    found = ranked_lists("abcdefg", "zcavwxy").rank.agreement("other", *(f"overlap@{d}" for d in range(1, 8)))
    overlaps = found.row(0)[1:]
    assert overlaps == pytest.approx([0.000, 0.000, 0.667, 0.500, 0.400, 0.333, 0.286], abs=5e-4)
    means = [sum(overlaps[:d]) / d for d in range(1, 8)]
    assert means == pytest.approx([0.000, 0.000, 0.222, 0.292, 0.313, 0.317, 0.312], abs=6e-4)


def test_the_first_ten_ranks_have_86_percent_of_the_weight() -> None:
    """Webber, Moffat, Zobel 2010, after equation 21: what is sure of two rankings that are the same down to there."""
    found = ranked_lists("abcdefghij", "abcdefghij").rank.agreement("other", "rbo_min(p=0.9)")
    assert found.item(0, 1) == pytest.approx(0.86, abs=5e-3)


def test_graded_average_precision_is_refused_from_the_first_label_above_its_thresholds_on() -> None:
    for label in (4.5, 5):
        df = pl.DataFrame({"query_id": [1], "doc_id": ["a"], "score": [1.0], "label": [label]})
        with pytest.raises(rf.InvalidData, match="a label is above 4; give the probabilities of thresholds"):
            df.rank.evaluate("graded_average_precision")
