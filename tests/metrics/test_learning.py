"""The metrics that learning libraries have: their own numbers, SciPy's and scikit-learn's, and what they refuse."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from scipy import stats
from sklearn.metrics import roc_auc_score

import rankframe as rf
from tests.support.calls import GAIN, SHARE, assert_equal, expected, values
from tests.support.each import each
from tests.support.tables import BY_CHANCE, FRACTIONAL_LABELS, Table, frame, random_table

pytestmark = BY_CHANCE

PROBABILITIES = [None, -1, 0, 0, 0.25, 0.5, 1]
LABELS = [label for label in FRACTIONAL_LABELS if label is not None and label >= 0]


@each("unjudged", ["nonrelevant", "drop"])
def test_pfound_takes_labels_from_0_to_1_for_probabilities(unjudged: Any) -> None:
    table = random_table(61, labels=PROBABILITIES)
    for name, k in (("pfound", None), ("pfound", 3)):
        found = frame(table).rank.on(unjudged=unjudged).pfound(k=k)
        text = "pfound" if k is None else "pfound@3"
        assert_equal(values(found, text), expected(table, name, {"k": k}, {"unjudged": unjudged}), text)
    own = frame(table).group_by("query_id").agg(rf.expr.on(unjudged=unjudged).pfound())
    assert_equal(values(own, "pfound"), expected(table, "pfound", {}, {"unjudged": unjudged}), "expr")


def test_pfound_of_a_label_above_1_says_to_give_the_scale_or_the_probabilities() -> None:
    df = frame({"q": [("a", 1.0, 3)]})
    with pytest.raises(rf.InvalidData, match=r"max_label=4.*gain=\{1: 0.5, 2: 1\}"):
        df.rank.pfound()
    assert df.rank.pfound(max_label=4).item(0, 1) == 0.75
    assert df.rank.pfound(gain={3: 0.5}).item(0, 1) == 0.5


@each("name", ["err", "nerr", "pfound"])
def test_a_probability_above_1_is_an_error(name: str) -> None:
    df = frame({"q": [("a", 1.0, 3)]})
    for gain, says in (({3: 1.5}, "each value a number from 0 to 1\\)"), (pl.col("label"), "above 1")):
        with pytest.raises(rf.RankframeError, match=says):
            getattr(df.rank.metrics, name)(gain=gain)


@each("call", ["pfound(decay=1.5)", "auc(max_fpr=0)", "auc(max_fpr=2)", "opa(tied=-1)"])
def test_options_out_of_their_range_are_refused(call: str) -> None:
    with pytest.raises(rf.InvalidOption):
        frame({"q": [("a", 1.0, 1)]}).rank.evaluate(call)


def test_err_of_a_readers_probabilities_is_by_hand() -> None:
    """Ranks a, b, c satisfy with 0.5, 0, 1: 0.5 / 1 + 0.5 x 1 / 3."""
    df = frame({"q": [("a", 3.0, 0.5), ("b", 2.0, 0), ("c", 1.0, 1)]})
    found = df.rank.evaluate("err(gain=linear,max_label=1)", "nerr(gain=linear,max_label=1)").row(0)
    assert found[1:] == pytest.approx((2 / 3, 2 / 3), abs=1e-15)  # the best order stops at rank 1


@each("policies", [{}, {"unjudged": "drop"}, {"unretrieved": "drop"}, {"depth": 3}, {"relevant": 2}])
@each("size", [0, 5, 1000])
def test_fall_out_counts_what_a_collection_holds(size: int, policies: dict[str, Any]) -> None:
    table = random_table(62)
    policies = {**policies, "collection_size": size}
    found = frame(table).rank.on(**policies).evaluate("fall_out", "fall_out@3")
    for k, text in ((None, "fall_out"), (3, "fall_out@3")):
        assert_equal(values(found, text), expected(table, "fall_out", {"k": k}, policies), text)


def test_a_query_without_relevant_documents_has_no_fall_out_of_1_by_convention() -> None:
    df = frame({"q": [("a", 1.0, 0), ("b", None, 0)]})
    assert df.rank.on(no_relevant="one").evaluate("fall_out", "recall").row(0) == ("q", 0.5, 1.0)


@each("ties", [True, False])
def test_ordered_pair_accuracy_is_somers_d_of_the_scores_on_another_scale(ties: bool) -> None:
    table = random_table(63, queries=150, labels=LABELS, ties=ties)
    wanted = {}
    for query, rows in table.items():
        scores = [-99.0 if score is None else score for _, score, _ in rows]
        labels = [label for _, _, label in rows]
        if len(set(labels)) > 1 and len(set(scores)) > 1:  # SciPy's is nan where nothing varies
            wanted[query] = (1 + stats.somersd(labels, scores).statistic) / 2
    assert len(wanted) > 40
    found = values(frame(table).rank.metrics.ordered_pair_accuracy(tied=0.5), "ordered_pair_accuracy(tied=0.5)")
    assert_equal({query: found[query] for query in wanted}, wanted, "somers")


@each("max_fpr", [None, 0.3])
def test_auc_of_the_top_is_scikit_learns_of_the_documents_that_stand_there(max_fpr: float | None) -> None:
    table: Table = random_table(64, queries=120, labels=LABELS)
    wanted = {}
    for query, rows in table.items():
        ranked = sorted([row for row in rows if row[1] is not None], key=lambda row: (row[1], row[0]), reverse=True)
        truth, scores = [row[2] >= 1 for row in ranked[:5]], [row[1] for row in ranked[:5]]
        if len(set(truth)) == 2:
            wanted[query] = roc_auc_score(truth, scores, max_fpr=max_fpr)
    assert len(wanted) > 30
    found = frame(table).rank.auc(k=5, max_fpr=max_fpr).rename(lambda name: name if name == "query_id" else "auc")
    of_query = values(found, "auc")
    assert_equal({query: of_query[query] for query in wanted}, wanted, max_fpr)


def test_pairs_of_many_different_labels_are_counted_in_every_form() -> None:
    """As many labels as documents, so that every binary digit of their numbers counts."""
    table: Table = {"q": [(str(i), float(i * 37 % 100), float(i * 61 % 101)) for i in range(100)]}
    pairs = [(a, b) for a in table["q"] for b in table["q"] if a[2] > b[2]]  # type: ignore[operator]
    share = sum(a[1] > b[1] for a, b in pairs) / len(pairs)  # type: ignore[operator]
    df = frame(table)
    assert df.rank.metrics.ordered_pair_accuracy().item(0, 1) == pytest.approx(share, abs=1e-15)
    assert df.lazy().rank.metrics.ordered_pair_accuracy().collect().item(0, 1) == pytest.approx(share, abs=1e-15)
    assert df.select(rf.expr.ordered_pair_accuracy()).item() == pytest.approx(share, abs=1e-15)


# Gains and discounts of one's own ------------------------------------------------------------------------------


def of_column(column: str, worth: dict[float, float]) -> pl.Expr:
    """A column of what each label is worth, which nothing but the expression names."""
    gains = {float(label): float(gain) for label, gain in worth.items()}
    return pl.col("label").replace_strict(gains, default=0.0, return_dtype=pl.Float64).alias(column)


@each("policies", [{}, {"unjudged": "drop"}, {"ties": "best"}, {"depth": 3, "unretrieved": "drop"}], sample=8)
@each(
    ("name", "worth", "options"),
    [
        ("cg", GAIN, {"k": 3}),
        ("dcg", GAIN, {}),
        ("ndcg", GAIN, {"k": 3}),
        ("ndcg", GAIN, {"ideal": "retrieved"}),
        ("err", SHARE, {}),
        ("nerr", SHARE, {"k": 3}),
        ("rbp", SHARE, {"p": 0.5}),
        ("pfound", SHARE, {"decay": 0.5}),
    ],
)
def test_a_gain_may_be_an_expression_over_the_tables_columns(
    name: str, worth: dict[float, float], options: dict[str, Any], policies: dict[str, Any]
) -> None:
    if policies.get("ties") == "best" and worth is GAIN:
        policies = {"ties": "doc_asc"}  # best is by label, which these gains do not follow
    table = random_table(61, labels=FRACTIONAL_LABELS)
    df = frame(table, seed=None).with_columns(of_column("worth", worth))
    wanted = expected(table, name, {"gain": worth, **options}, policies)
    gain = pl.col("worth") / 2 * 2
    found = getattr(df.rank.on(**policies).metrics, name)(gain=gain, **options)
    text = found.columns[1]
    lazy = getattr(df.lazy().rank.on(**policies).metrics, name)(gain=gain, **options).collect()
    alone = df.group_by("query_id").agg(getattr(rf.expr.on(**policies), name)(gain=gain, **options).alias(text))
    for form in (found, lazy, alone):
        assert_equal(values(form, text), wanted, text)


@each(
    ("discount", "same"),
    [(lambda rank: (rank + 1).log(2), "log2"), (lambda rank: rank, "rank"), (lambda rank: 1, None)],
)
@each("name", ["dcg", "ndcg"])
def test_a_discount_may_be_a_function_of_the_rank(name: str, discount: Any, same: str | None) -> None:
    table = random_table(62, labels=FRACTIONAL_LABELS)
    df = frame(table, seed=None)
    if same is not None:
        wanted = expected(table, name, {"discount": same, "k": 5}, {})
    else:  # nothing is discounted: cumulative gain, over the largest that k documents have
        gained, best = (expected(table, "cg", {"k": 5}, {}), {})
        for query, rows in table.items():
            best[query] = sum(sorted((max(row[2] or 0, 0) for row in rows), reverse=True)[:5])
        wanted = gained
        if name == "ndcg":
            wanted = {q: x if x is None else x / (best[q] or 1) for q, x in gained.items()}
    found = getattr(df.rank.metrics, name)(k=5, discount=discount)
    lazy = getattr(df.lazy().rank.metrics, name)(k=5, discount=discount).collect()
    for form in (found, lazy):
        assert_equal(values(form, form.columns[1]), wanted, name)
