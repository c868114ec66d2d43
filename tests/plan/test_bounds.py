"""The bounds of unjudged="bounds" against every way to judge, by brute force."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rankframe as rf
from tests.metrics.oracles import value_of
from tests.metrics.oracles.query import Row, is_judged, prepare
from tests.support.calls import (
    ALL,
    SOME,
    Options,
    close,
    expected,
    has_bounds,
    share,
    spell,
)
from tests.support.each import each
from tests.support.tables import BY_CHANCE, FRACTIONAL_LABELS, INTEGER_LABELS, Table, frame, random_table
from tests.support.untraced import untraced

pytestmark = [
    BY_CHANCE,
    # most tables here take the greatest label of unjudged documents from their own labels
    pytest.mark.filterwarnings("ignore:the bounds of .* take:rankframe.RankframeWarning"),
]

# Rises with the label, not everywhere; label 0 is worth something, and fractions break the order.
RISING = {0: 0.5, 0.25: 3, 0.5: 0.2, 1: 1, 1.5: 0, 2: 4, 2.75: 4.5, 3: 4, 4: 7}
SHARE = {label: gain / 7 for label, gain in RISING.items()}
MORE: list[tuple[str, Options]] = [
    *(
        ("ndcg", {"gain": RISING, **more})
        for more in ({}, {"k": 2}, {"ideal": "retrieved"}, {"ideal": "perfect", "k": 2})
    ),
    *(("ndcg", {"min_label": level, "gain": gain}) for level in (1, 2, 2.5) for gain in ("exponential", RISING)),
    ("dcg", {"gain": RISING, "k": 2}),
    ("cg", {"gain": RISING, "min_label": 2}),
    ("rbp", {"gain": SHARE}),
]


def bounded(turn: int = 0, of: int = 1) -> list[tuple[str, Options]]:
    """The calls of a turn whose bounds the library knows, whatever the labels from 0 to 4."""
    return [call for call in share([*ALL, *MORE], turn, of) if has_bounds(spell(*call))]


@cache
def few() -> list[tuple[str, Options]]:
    return [call for call in [*SOME, *MORE] if has_bounds(spell(*call))]


@pytest.mark.nightly
def test_no_call_loses_its_bounds() -> None:
    assert len(bounded()) >= 227  # more as metrics come, never fewer


POLICIES: list[Options] = [
    {},
    *({"relevant": level} for level in (0, 0.5, 2, 2.5, 9)),
    *({"ties": ties} for ties in ("doc_asc", "order", "trec_eval")),
    *({"no_relevant": value, "relevant": level} for value in ("null", "one") for level in (1, 2, 3)),
    *({"depth": depth} for depth in (1, 3)),
    {"unretrieved": "drop"},
    {"unretrieved": "drop", "no_relevant": "null", "depth": 3, "relevant": 2},
    {"depth": 2, "no_relevant": "one", "relevant": 2, "ties": "doc_asc"},
]
RANGES = [(0, 2), (0, 1), (1, 3), (0, 3), (2, 2), (1, 2)]


def small_table(seed: int, *, labels: Sequence[float | None] = INTEGER_LABELS, queries: int = 25) -> Table:
    """Queries of up to seven documents, up to four of them unjudged."""
    table = random_table(seed, labels=labels, sizes=(1, 2, 3, 4, 5, 6, 7), queries=queries)
    rng = np.random.default_rng(seed)
    found = {}
    for query, rows in table.items():
        share = rng.choice([0.2, 0.5, 1])
        hidden = [is_judged(row) and rng.random() < share for row in rows]
        opened = [(doc, score, None if hide else label) for (doc, score, label), hide in zip(rows, hidden, strict=True)]
        kept = itertools.accumulate(not is_judged(row) for row in opened)
        found[query] = [
            row if n <= 4 or is_judged(row) else (row[0], row[1], 0.0) for row, n in zip(opened, kept, strict=True)
        ]
    return found


def judgments(rows: Sequence[Row], least: int, greatest: int) -> list[list[Row]]:
    """The rows under every way to judge those that nobody judged."""
    unjudged = [i for i, row in enumerate(rows) if not is_judged(row)]
    ways = []
    for labels in itertools.product(range(least, greatest + 1), repeat=len(unjudged)):
        judged = dict(zip(unjudged, map(float, labels), strict=True))
        ways.append([(doc, score, judged.get(i, label)) for i, (doc, score, label) in enumerate(rows)])
    return ways


def extremes(values: Sequence[float | None]) -> tuple[float | None, float | None]:
    known = [value for value in values if value is not None]
    return (min(known), max(known)) if known else (None, None)


@untraced
def assert_bounds(found: pl.DataFrame, table: Table, calls: Any, labels: tuple[int, int], policies: Options) -> None:
    conventions = {key: value for key, value in policies.items() if key == "no_relevant"}
    orders = {key: value for key, value in policies.items() if key != "no_relevant"}
    by_query = {row["query_id"]: row for row in found.iter_rows(named=True)}
    assert by_query.keys() == table.keys()
    for query, rows in table.items():
        ways = [prepare(way, **orders) for way in judgments(rows, *labels)]
        for name, options in calls:
            wanted = extremes([value_of(name, way, options, **conventions) for way in ways])
            text = spell(name, options)
            got = by_query[query][f"{text} least"], by_query[query][f"{text} greatest"]
            assert all(map(close, got, wanted)), (query, rows, text, got, wanted)


@each("labels", [FRACTIONAL_LABELS, INTEGER_LABELS], ids=["fractions", "integers"], sample=12)
@each("turn", range(24))
@each("policies", POLICIES, ids=str)
def test_bounds_are_those_of_all_ways_to_judge(policies: Options, turn: int, labels: list[float | None]) -> None:
    seed = POLICIES.index(policies)
    between = RANGES[seed % len(RANGES)]
    table = small_table(seed, labels=labels, queries=4)
    calls = bounded(turn, 24)
    ranker = frame(table, seed=None).rank.on(unjudged="bounds", unjudged_labels=between, **policies)
    assert_bounds(ranker.evaluate(*(spell(*call) for call in calls)), table, calls, between, policies)


def test_a_relevant_document_that_is_left_out_of_everything_gives_its_query_no_value() -> None:
    table: Table = {"q": [("a", 2.0, 1), ("b", 1.0, None), ("c", 0.0, None), ("d", None, 4)]}
    policies = {"unretrieved": "drop", "no_relevant": "null", "relevant": 2}
    found = frame(table).rank.on(unjudged="bounds", unjudged_labels=(0, 2), **policies)
    assert_bounds(found.evaluate(*(spell(*call) for call in few())), table, few(), (0, 2), policies)


def test_the_one_relevant_document_of_a_query_may_be_one_that_was_retrieved() -> None:
    # a alone, b alone or both may be relevant: of these a alone misses nothing, and leaves b as a true negative
    found = frame({"q": [("a", 1.0, None), ("b", None, None)]}).rank.on(unjudged="bounds", no_relevant="null")
    values = found.evaluate("false_negatives", "true_negatives")
    assert values.row(0)[1:] == (0, 1, 0, 1)


OWN_THRESHOLDS = list(itertools.product(["zero", "null", "one"], [0.5, 2, 3]))


@each("case", OWN_THRESHOLDS, ids=str, sample=3)
def test_a_threshold_of_its_own_counts_in_the_bounds_of_a_column(case: tuple[Any, float]) -> None:
    no_relevant, relevant = case
    table = small_table(31, labels=FRACTIONAL_LABELS, queries=12)
    calls = [
        (name, options) for name, options in few() if name in ("ndcg", "precision", "average_precision", "rbp", "dcg")
    ]
    found = frame(table, seed=None).rank.on(unjudged="bounds", unjudged_labels=(0, 2), no_relevant=no_relevant)
    own = [(name, {**options, "relevant": relevant}) for name, options in calls]
    both = found.evaluate(*(spell(*call) for call in own))
    for query, rows in table.items():
        ways = [prepare(way, relevant=relevant) for way in judgments(rows, 0, 2)]
        for (name, options), call in zip(calls, own, strict=True):
            wanted = extremes([value_of(name, way, options, no_relevant=no_relevant) for way in ways])
            row = both.row(by_predicate=pl.col("query_id") == query, named=True)
            got = row[f"{spell(*call)} least"], row[f"{spell(*call)} greatest"]
            assert all(map(close, got, wanted)), (query, spell(*call), got, wanted)


def test_the_greatest_ndcg_may_need_labels_between_the_least_and_the_greatest() -> None:
    # any label of b from 0 to 3 fits the best order somewhere: with label 1 the order a b c is the best one
    rows: list[Row] = [("a", 3.0, 2.0), ("b", 2.0, None), ("c", 1.0, 1.0)]
    df = frame({"q": rows})
    found = df.rank.on(unjudged="bounds", unjudged_labels=(0, 3)).ndcg()
    assert found["ndcg greatest"].item() == 1
    extreme = df.with_columns(label=pl.col("label").fill_null(3)).rank.ndcg()["ndcg"].item()
    assert extreme < 1
    assert found["ndcg least"].item() == min(extreme, df.rank.ndcg()["ndcg"].item())


def test_labels_go_up_to_the_largest_of_the_table_unless_they_are_said() -> None:
    rows: list[Row] = [("a", 2.0, 3.0), ("b", 1.0, None)]
    df = frame({"q": rows})
    assert df.rank.on(unjudged="bounds").cg()["cg greatest"].item() == 6
    assert df.rank.on(unjudged="bounds", relevant=4).cg()["cg greatest"].item() == 7
    assert df.rank.on(unjudged="bounds", unjudged_labels=(1, 2)).cg().row(0) == ("q", 4.0, 5.0)
    assert df.with_columns(label=pl.lit(None)).rank.on(unjudged="bounds").cg().row(0) == ("q", 0.0, 2.0)
    assert df.with_columns(label=pl.col("label") - 0.5).rank.on(unjudged="bounds").cg()["cg greatest"].item() == 4.5


def test_a_pooled_document_that_nobody_judged_or_retrieved_may_turn_out_relevant() -> None:
    rows: list[Row] = [("a", 2.0, 1.0), ("b", None, -1.0)]
    assert frame({"q": rows}).rank.on(unjudged="bounds").recall().row(0) == ("q", 0.5, 1.0)


def ordinary(turn: int, of: int) -> list[tuple[str, Options]]:
    """The calls of a turn of which the oracles have the same value if a document that nobody judged has label 0."""
    table = random_table(41, queries=15, labels=FRACTIONAL_LABELS)
    table = {q: rows for q, rows in table.items() if any(label is not None for _, _, label in rows)}
    judged = {q: [row if is_judged(row) else (*row[:2], 0.0) for row in rows] for q, rows in table.items()}
    calls = bounded(turn, of)
    pairs = ((call, *(expected(rows, *call, {}).values() for rows in (table, judged))) for call in calls)
    found = [call for call, values, others in pairs if all(map(close, values, others))]
    assert len(found) > 0.7 * len(calls)
    return found


@each("turn", range(8), sample=3)
@each("no_relevant", ["zero", "null", "one"])
def test_the_value_where_unjudged_documents_are_nonrelevant_lies_between_the_bounds(
    no_relevant: Any, turn: int
) -> None:
    df = frame(random_table(41, queries=15, labels=FRACTIONAL_LABELS))
    df = df.filter(pl.col("label").count().over("query_id") > 0)  # else there are bounds, and no value
    texts = [spell(*call) for call in ordinary(turn, 8)]
    ranker = df.rank.on(no_relevant=no_relevant)
    value, both = ranker.evaluate(*texts), ranker.on(unjudged="bounds").evaluate(*texts)
    assert both.columns == ["query_id", *(f"{text} {end}" for text in texts for end in ("least", "greatest"))]
    for text in texts:
        between = (both[f"{text} least"] <= value[text] + 1e-12) & (value[text] <= both[f"{text} greatest"] + 1e-12)
        assert between.fill_null(True).all(), text
        assert value.filter(both[f"{text} least"].is_null())[text].null_count() == both[f"{text} least"].null_count()


@each("turn", range(8), sample=8)
@each("policies", POLICIES, ids=str)
def test_a_table_that_is_judged_throughout_has_its_value_as_both_bounds(policies: Options, turn: int) -> None:
    judged = [label for label in FRACTIONAL_LABELS if label is not None and label >= 0]
    df = frame(random_table(42, queries=40, labels=judged))
    texts = [spell(*call) for call in share(few(), turn, 8)]
    value = df.rank.on(**policies).evaluate(*texts)
    both = df.rank.on(unjudged="bounds", unjudged_labels=(0, 4), **policies).evaluate(*texts)
    for end in ("least", "greatest"):
        assert_frame_equal(both.select("query_id", *(pl.col(f"{text} {end}").alias(text) for text in texts)), value)


def test_bounds_are_the_same_in_small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    df = frame(random_table(43, queries=40, labels=FRACTIONAL_LABELS))
    ranker, texts = df.rank.on(unjudged="bounds"), ["map", "auc", "ndcg@3", "ndcg(gain=exponential)"]
    whole = ranker.evaluate(*texts)
    monkeypatch.setattr("rankframe._plan.bounds.ROWS_AT_ONCE", 50)
    monkeypatch.setattr("rankframe._plan.bounds.CELLS_OF_ARRAY", 50)
    assert_frame_equal(ranker.evaluate(*texts), whole)


LAZY = [
    "cg@3",
    "dcg(gain=exponential)",
    "precision@5",
    "rr",
    "err(max_label=4)",
    "ndcg(ideal=perfect)@3",
    "map",
    "ndcg",
]


@each("limit", [None, 1], sample=2)
@each("labels", [None, (0, 4)])
@each("no_relevant", ["zero", "one"])
def test_lazy_frames_have_the_same_bounds(limit: int | None, labels: Any, no_relevant: str) -> None:
    df = frame(random_table(44, queries=8))
    on = {"unjudged": "bounds", "unjudged_labels": labels, "no_relevant": no_relevant, "memory_limit": limit}
    found = df.lazy().rank.on(**on).evaluate(*LAZY)
    assert isinstance(found, pl.LazyFrame)
    wanted = df.rank.on(**on).evaluate(*LAZY)
    assert_frame_equal(found.collect(), wanted, check_row_order=False, rel_tol=1e-12)
    renamed = df.lazy().rename({"query_id": "place"}).rank.on(query="place", **on).evaluate(*LAZY)
    assert_frame_equal(renamed.collect(), wanted.rename({"query_id": "place"}), check_row_order=False, rel_tol=1e-12)


def test_all_ways_to_ask_give_the_same_bounds() -> None:
    df = frame(random_table(45, queries=20)).with_columns(run=pl.lit(None, dtype=pl.String))
    ranker = df.rank.on(unjudged="bounds", query=["run", "query_id"])
    wanted = ranker.evaluate("ndcg@3", "map")
    assert wanted.columns[2:] == ["ndcg@3 least", "ndcg@3 greatest", "map least", "map greatest"]
    assert_frame_equal(ranker.ndcg(k=3), wanted.select("run", "query_id", "ndcg@3 least", "ndcg@3 greatest"))
    rows = pl.len().alias("rows")
    assert_frame_equal(ranker.evaluate("ndcg@3", rows, "map").drop("rows"), wanted)
    joined = df.join(wanted, on=["run", "query_id"], nulls_equal=True, maintain_order="left")
    assert_frame_equal(ranker.with_metrics("ndcg@3", "map"), joined)
    in_pandas = (
        pd.DataFrame(df.drop("run").to_dict(as_series=False)).rank.on(unjudged="bounds").evaluate("ndcg@3", "map")
    )
    assert in_pandas.columns.to_list() == wanted.columns[2:]
    assert in_pandas.index.to_list() == wanted["query_id"].to_list()
    np.testing.assert_array_equal(in_pandas.to_numpy(), wanted[:, 2:].to_numpy())


def test_a_column_of_labels_may_be_the_score_as_well() -> None:
    df = pl.DataFrame({"query_id": [1, 1, 1], "doc_id": ["a", "b", "c"], "label": [1, 2, None]})
    assert df.rank.on(score="label", unjudged="bounds").ndcg().row(0)[2] == 1


OK = pl.DataFrame({"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2.0, 1.0], "label": [1, None]})
BOUNDS = OK.rank.on(unjudged="bounds")


def test_the_first_of_a_column_of_ranks_is_the_best() -> None:
    """The relevant document is first, however the second one is judged."""
    df = pl.DataFrame({"query_id": 1, "doc_id": ["a", "b", "c"], "rank": [1, 2, 3], "label": [1, None, 0]})
    found = df.rank.on(rank="rank", unjudged="bounds").evaluate("recall@1", "map", "ndcg@1", "ndcg(ideal=perfect)@1")
    assert found.row(0)[1:] == (0.5, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0)


@each("turn", range(4), sample=2)
def test_bounds_are_the_same_whichever_end_of_the_scores_is_the_best(turn: int) -> None:
    df, texts = frame(small_table(turn)), [spell(*call) for call in bounded(turn, 4)]
    ranker = df.rank.on(unjudged="bounds", unjudged_labels=(0, 3), no_relevant="null")
    turned = df.with_columns(-pl.col("score")).rank.on(ascending=True, unjudged="bounds", unjudged_labels=(0, 3))
    assert_frame_equal(turned.on(no_relevant="null").evaluate(*texts), ranker.evaluate(*texts), rel_tol=1e-12)


def test_columns_and_tables_that_no_metric_reads_do_not_matter() -> None:
    df = OK.with_columns(seconds=3, genre=pl.lit("x"))
    past = pl.DataFrame({"query_id": [1], "doc_id": ["a"]})
    found = df.rank.on(cost="seconds", category="genre", interactions=past, unjudged="bounds").evaluate("map", "ndcg")
    assert_frame_equal(found, BOUNDS.evaluate("map", "ndcg"))


REFUSED: dict[str, tuple[Any, str]] = {
    "no proof": (lambda: BOUNDS.metrics.nerr(), "no bounds are known for 'nerr': the top of its label scale"),
    "a best order without a form": (
        lambda: BOUNDS.metrics.nerr(max_label=4),
        "its value follows the judgments in no way",
    ),
    "a scale that moves": (lambda: BOUNDS.err(k=5), "no bounds are known for 'err@5': the top of its label scale"),
    "a gain that falls": (
        lambda: BOUNDS.on(unjudged_labels=(0, 2)).dcg(gain={1: 3, 2: 1}),
        "its gain does not rise with the label, from 0 to 2",
    ),
    "a gain with a gap": (
        lambda: BOUNDS.on(unjudged_labels=(0, 2)).ndcg(gain={1: 3}),
        "may turn out to have label 2, which its gain leaves out",
    ),
    "a gain of no label": (lambda: BOUNDS.ndcg(gain=pl.col("score")), "whatever the label"),
    "a discount of one's own": (lambda: BOUNDS.ndcg(discount=lambda rank: rank), "name one, as discount='log2'"),
    "too many labels": (
        lambda: BOUNDS.on(unjudged_labels=(0, 10**6)).ndcg(),
        "say fewer: df.rank.on(unjudged_labels=(0, 4))",
    ),
    "ties by label": (lambda: BOUNDS.on(ties="best"), "ties='best' goes by labels"),
    "ties in all orders": (lambda: BOUNDS.on(ties="expected"), "ties='expected' goes by labels"),
    "weights": (lambda: BOUNDS.on(weight="score"), "weight='score': no bounds are known"),
    "a curve": (lambda: BOUNDS.curve("dcg"), "gives each metric two columns"),
    "contributions": (lambda: BOUNDS.explain("dcg"), "gives each metric two columns"),
    "an expression": (lambda: rf.expr.on(unjudged="bounds").ndcg(), "an expression gives one value, not two"),
    "a range that falls": (lambda: BOUNDS.on(unjudged_labels=(3, 1)), "unjudged_labels=(3, 1)"),
    "a range below 0": (lambda: BOUNDS.on(unjudged_labels=(-1, 1)), "whole number from 0 to"),
    "a range of fractions": (lambda: BOUNDS.on(unjudged_labels=(0, 1.5)), "whole number from 0 to"),  # type: ignore[arg-type]
    "half a range": (lambda: BOUNDS.on(unjudged_labels=(1,)), "unjudged_labels=(1,)"),  # type: ignore[arg-type]
}


@each("case", REFUSED)
def test_what_has_no_bounds_is_refused_with_the_reason(case: str) -> None:
    call, message = REFUSED[case]
    with pytest.raises(rf.InvalidOption) as error:
        call()
    assert message in str(error.value)


def test_faults_of_the_data_are_named_in_the_columns_of_the_caller() -> None:
    twice = OK.with_columns(doc_id=pl.lit("a"))
    with pytest.raises(rf.InvalidData, match=r"same 'doc_id' twice.*query_id=1, doc_id='a'"):
        twice.rank.on(unjudged="bounds").evaluate("map", "ndcg")
    endless = OK.with_columns(label=pl.Series([1.0, -float("inf")]))
    with pytest.raises(rf.InvalidData, match="column 'label' holds NaN or an infinite label"):
        endless.rank.on(unjudged="bounds").evaluate("map", "ndcg")


def test_a_metric_of_ones_own_has_bounds_once_it_says_how_it_is_judged() -> None:
    @rf.metric(bounds=(0, 1), judging="monotone")
    def top_hit(r: rf.Ranking) -> pl.Expr:
        """Whether the first document is relevant."""
        return r.total(r.relevant, 1)

    try:
        assert OK.sort("doc_id").with_columns(score=pl.Series([1.0, 2.0])).rank.on(unjudged="bounds").evaluate(
            top_hit
        ).row(0) == (1, 0.0, 1.0)
    finally:
        rf.unregister(top_hit)


def test_every_metric_but_those_without_proof_has_bounds() -> None:
    metrics = [metric for metric in rf.METRICS.values() if metric.over == "documents" and not metric.needs]
    found = {metric.formula.__name__ for metric in metrics if metric.judging is None}
    assert found == {
        "nerr", "ordered_pair_accuracy", "ranking_loss", "mean_percentile_rank", "q_measure", "graded_average_precision", "g", "ndcg_rel", "rndcg", "inferred_ap", "compatibility",
        "bpm", "inst", "nerr8", "nerr9", "nerr10", "nerr11", "relstring",
    }  # fmt: skip
    assert [call for call in ALL if call[0] in found and has_bounds(spell(*call))] == []
