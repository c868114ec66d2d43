"""ties="expected" against brute force: the mean over every order of the tied documents."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import Phase, given, settings, strategies as st
from polars.testing import assert_frame_equal

import rankframe as rf
from tests.metrics.oracles import evaluate
from tests.metrics.oracles.query import Row
from tests.support.calls import ALL, assert_equal, has_expectation, share, spell, values
from tests.support.each import each
from tests.support.tables import BY_CHANCE, DOCS, FRACTIONAL_LABELS, Table, frame, max_label
from tests.support.untraced import untraced

pytestmark = BY_CHANCE


@cache
def expected_calls() -> list[tuple[str, dict[str, Any]]]:
    """The calls whose mean over all orders of tied documents the library knows."""
    found = [call for call in ALL if has_expectation(spell(*call))]
    assert len(found) >= 257  # more as metrics come, never fewer
    return found


row = st.tuples(
    st.sampled_from(DOCS), st.sampled_from([None, 1.0, 1.0, 2.0, -0.0, 0.0]), st.sampled_from(FRACTIONAL_LABELS)
)
rows = st.lists(row, min_size=1, max_size=5, unique_by=lambda row: row[0])
tied_tables = st.dictionaries(st.sampled_from(["q", "é", "1"]), rows, max_size=3)


def orders(rows: Sequence[Row]) -> Iterator[list[Row]]:
    """Every order of the rows in which only those of equal score change places."""
    groups = [[row for row in rows if row[1] == score] for score in dict.fromkeys(row[1] for row in rows)]
    choices = [[group] if group[0][1] is None else list(itertools.permutations(group)) for group in groups]
    for choice in itertools.product(*choices):
        yield [row for group in choice for row in group]


@untraced
def mean_over_orders(table: Table, name: str, options: dict[str, Any], **policies: Any) -> dict[Any, float | None]:
    found: dict[Any, float | None] = {}
    for query, rows in table.items():
        every = [
            evaluate(name, order, options, table_max=max_label(table), ties="order", **policies)
            for order in orders(rows)
        ]
        found[query] = None if every[0] is None else math.fsum(x for x in every if x is not None) / len(every)
    return found


def assert_means(table: Table, calls: Sequence[tuple[str, dict[str, Any]]], **policies: Any) -> None:
    """The expected values are the means over all orders, eager and lazy."""
    df = frame(table, seed=None)
    texts = [spell(*call) for call in calls]
    found = df.rank.on(ties="expected", **policies).evaluate(*texts)
    lazy = df.lazy().rank.on(ties="expected", **policies).evaluate(*texts).collect()
    assert_frame_equal(found, lazy, check_row_order=False, rel_tol=1e-12, abs_tol=1e-12)
    for name, options in calls:
        text = spell(name, options)
        assert_equal(values(found, text), mean_over_orders(table, name, options, **policies), text)


@each("shift", range(16), sample=1)
@settings(deadline=None, derandomize=True, max_examples=5, phases=[Phase.generate])
@given(
    table=tied_tables,
    relevant=st.sampled_from([1, 0, 2]),
    unjudged=st.sampled_from(["nonrelevant", "drop"]),
    turn=st.integers(0, 15),
)
def test_expected_values_are_the_mean_over_all_orders(
    shift: int, table: Table, relevant: float, unjudged: str, turn: int
) -> None:
    assert_means(table, share(expected_calls(), turn + shift, 16), relevant=relevant, unjudged=unjudged)


NO_GAIN = [None, -1, 0]


def table_with_edges(seed: int) -> Table:
    """Queries whose first and last documents in rank order are tied, and have no gain of every kind."""
    chance = random.Random(seed)
    table: Table = {}
    for query in range(2):
        size = chance.choice([2, 3, 4])
        scores = [2.0] * size if chance.random() < 0.5 else [3.0, 3.0, *[1.0] * (size - 2)]
        labels = [chance.choice(FRACTIONAL_LABELS) for _ in range(size)]
        labels[0], labels[-1] = chance.choice(NO_GAIN), chance.choice(NO_GAIN)
        missed: list[Row] = [(f"m{i}", None, chance.choice([*NO_GAIN, 1])) for i in range(chance.choice([0, 0, 1, 2]))]
        table[f"q{query}"] = [(f"d{9 - i}", *row) for i, row in enumerate(zip(scores, labels, strict=True))] + missed
    return table


@pytest.fixture
def in_parts_of_a_query() -> Iterator[None]:
    with (
        patch("rankframe._plan.parts.ROWS_OF_PART", 1),
        patch("rankframe._plan.parts.ROWS_OF_THREAD", 1),
        patch("rankframe._plan.per_query.ROWS_OF_SMALL_TABLE", 0),
    ):
        yield


@pytest.mark.usefixtures("in_parts_of_a_query")
@pytest.mark.filterwarnings("ignore:labels between 0 and 1 are not relevant")
@each("turn", range(12), sample=6)
@each("seed", range(30))
def test_expected_values_hold_where_the_edges_of_parts_are_tied_and_without_gain(seed: int, turn: int) -> None:
    unjudged = "drop" if seed % 5 == 0 else "nonrelevant"
    calls = share(expected_calls(), turn, 12)
    assert_means(table_with_edges(seed), calls, relevant=[1, 0, 2][seed % 3], unjudged=unjudged)


@each("label", [None, -1, 0])
@each("missed", [False, True])
def test_an_expectation_lies_between_worst_and_best_where_a_frame_begins_or_ends_without_gain(
    label: float | None, missed: bool
) -> None:
    last: list[Row] = [("d", None, label)] if missed else []
    rows: list[Row] = [("a", 2.0, 0), ("b", 1.0, label), ("c", 1.0, 2), *last]
    found = frame({"q": rows}, seed=None).rank.on(ties="expected").evaluate("rr", "ndcg", "map", "recall@2")
    half = (1 / math.log2(3) + 1 / math.log2(4)) / 2
    assert found.row(0)[1:] == pytest.approx(((1 / 2 + 1 / 3) / 2, half, (1 / 2 + 1 / 3) / 2, 1 / 2), rel=1e-12)
    tail = frame({"q": rows[1:]}, seed=None).rank.on(ties="expected").evaluate("rr")
    assert tail.item(0, 1) == pytest.approx(3 / 4, rel=1e-12)


def test_a_metric_without_a_closed_form_says_so() -> None:
    df = frame({"q": [("a", 1.0, 1)]})
    without = {name: spell(name, options) for name, options in ALL if not has_expectation(spell(name, options))}
    assert without
    for text in without.values():
        for verb in (df.rank.on(ties="expected").evaluate, df.lazy().rank.on(ties="expected").curve):
            with pytest.raises(rf.InvalidOption, match=r"closed form|curve"):
                verb(text)


def test_average_precision_over_the_hits_has_no_closed_form() -> None:
    with pytest.raises(rf.RankframeError, match="closed form"):
        frame({"q": [("a", 1.0, 1)]}).rank.on(ties="expected").average_precision(divisor="hits")


def test_which_documents_are_in_the_top_of_auc_is_no_matter_of_an_expectation() -> None:
    with pytest.raises(rf.RankframeError, match="closed form"):
        frame({"q": [("a", 1.0, 1), ("b", 1.0, 0)]}).rank.on(ties="expected").auc(k=1)


def test_depth_and_expectation_exclude_each_other() -> None:
    with pytest.raises(rf.RankframeError, match="cutoff"):
        frame({"q": [("a", 1.0, 1)]}).rank.on(ties="expected", depth=3)


def test_many_tied_documents_have_the_closed_forms_value() -> None:
    """1000 documents of one score: 1 / rank of the first of r relevant ones, and a cascade of one satisfying one."""
    rows: list[Row] = [(str(i), 1.0, 2 if i == 7 else 0) for i in range(1000)]
    df = frame({"one": rows})
    harmonic = sum(1 / rank for rank in range(1, 1001)) / 1000
    found = df.rank.on(ties="expected").evaluate("rr", "err(max_label=2)", "map", "hit_rate@10")
    assert found.row(0)[1:] == pytest.approx((harmonic, 0.75 * harmonic, harmonic, 0.01), rel=1e-12)


def test_graded_err_of_a_large_group_is_the_mean_over_where_each_document_stands() -> None:
    """Two satisfying documents among 40: all pairs of ranks, weighed alike."""
    rows: list[Row] = [(str(i), 1.0, {3: 3, 17: 1}.get(i, 0)) for i in range(40)]
    high, low = 7 / 8, 1 / 8
    total = 0.0
    for a, b in itertools.permutations(range(1, 41), 2):
        first, second = sorted([(a, high), (b, low)])
        total += first[1] / first[0] + (1 - first[1]) * second[1] / second[0]
    found = frame({"q": rows}).rank.on(ties="expected").err(max_label=3)
    assert found.item(0, 1) == pytest.approx(total / (40 * 39), rel=1e-12)


def test_the_curve_at_k_is_the_expectation_at_k() -> None:
    df = frame({"q": [("a", 1.0, 1), ("b", 1.0, 0), ("c", 1.0, 3), ("d", 0.0, 1), ("e", 0.0, 0), ("f", None, 2)]})
    ranker = df.rank.on(ties="expected")
    texts = ["ndcg", "map", "rr", "err(max_label=3)", "recall"]
    curve = ranker.curve(*texts)
    for k in range(1, 6):
        at_k = ranker.evaluate(*(f"{text}@{k}" for text in texts))
        assert curve.filter(rank=k).row(0)[3:] == pytest.approx(at_k.row(0)[1:], rel=1e-12)


def test_what_speaks_of_single_documents_or_of_one_order_refuses() -> None:
    df = frame({"q": [("a", 1.0, 1), ("b", 1.0, 0)]})
    with pytest.raises(rf.RankframeError, match="explain"):
        df.rank.on(ties="expected").explain("ndcg")
    with pytest.raises(rf.RankframeError, match="with_ranks"):
        df.rank.on(ties="expected").with_ranks()
    with pytest.raises(rf.RankframeError, match=r"df\.rank\.on"):
        rf.expr.on(ties="expected").ndcg()


def test_pandas_gives_the_same_expectations() -> None:
    df = frame({"q": [("a", 1.0, 1), ("b", 1.0, 0), ("c", 1.0, 3)], "p": [("a", 1.0, 0)]})
    wanted = df.rank.on(ties="expected").evaluate("ndcg", "err", "map")
    found = df.to_pandas().rank.on(ties="expected").evaluate("ndcg", "err", "map")
    assert found.reset_index().to_dict("list") == wanted.to_dict(as_series=False)
