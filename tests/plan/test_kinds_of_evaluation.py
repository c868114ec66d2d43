"""A value is the same, whatever its plan looks up, drops or sorts: tables of label and rank, rows, policies, and groups."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import cache
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rankframe  # noqa: F401 - registers .rank
from rankframe._catalog.requests import calls_of
from rankframe._plan import per_query, plan, rank_order, sheet
from rankframe._plan.plan import aggregation
from rankframe._support import sorts
from rankframe._table.setup import Setup
from tests.support.each import each

pytestmark = pytest.mark.filterwarnings("ignore::rankframe.RankframeWarning")
"""Random tables may look like others than they are."""

METRICS = (
    "ndcg@10", "ndcg(ideal=retrieved)@3", "ndcg(min_label=2)", "dcg(discount=rank)", "map", "map@5", "rr@2", "precision@2", "recall@100",
    "hit_rate@1", "r_precision", "rbp(p=0.95)", "rbp(gain=scaled)", "err(gain=binary)@20", "err(max_label=query)@4", "bpref", "q_measure",
    "nerr(gain=binary)", "average_recall@10", "median_rank", "mcc@3", "average_relevance_position", "auc", "num_relevant",
)  # fmt: skip

LABELS: dict[str, Callable[[random.Random], float | None]] = {
    "few whole numbers": lambda r: r.choice([0, 0, 0, 1, 2, 3]),
    "negative and null": lambda r: r.choice([None, -1, -2, 0, 1, 4]),
    "a few fractions": lambda r: r.choice([None, 0.0, 0.5, 1.0, 1.25, 3.5]),
    "as many fractions as whole numbers to the last": lambda r: r.choice([0.0, 0.5, 1.5, 3.0]),
    "many fractions": lambda r: r.choice([0.0, -0.0, r.random(), 1 + r.random(), 2 + 1e-12 * r.random()]),
    "huge": lambda r: r.choice([0, 1, 255, 256, 800]),
}

SIZES = {
    "one each": [1] * 9,
    "one or two": [1, 2, 2] * 4,
    "short": [1, 1, 2, 3, 5] * 3,
    "uneven": [1, 40, 2, 300, 7],
    "long": [3000, 1],
}


@cache
def table(labels: str, sizes: str) -> pl.DataFrame:
    """Shuffled rows with ties and documents that were not retrieved."""
    r = random.Random(f"{labels} {sizes}")
    rows = []
    for query, size in enumerate(SIZES[sizes]):
        for doc in r.sample(range(2 * size), size):
            score = r.choice([None, *([r.random()] * 8), *([r.randrange(5) / 4] * 3)])
            rows.append((query, f"d{doc}", score, LABELS[labels](r)))
    r.shuffle(rows)
    schema = {"query_id": pl.Int64, "doc_id": pl.String, "score": pl.Float64, "label": pl.Float64}
    return pl.DataFrame(rows, schema, orient="row")


@cache
def wanted(labels: str, sizes: str) -> pl.DataFrame:
    """The values of expressions, which sort for themselves inside each group."""
    groups = table(labels, sizes).group_by("query_id", maintain_order=True)
    return groups.agg(aggregation(call, Setup()) for call in calls_of(*METRICS))


KINDS: dict[str, tuple[dict[Any, dict[str, Any]], dict[str, Any]]] = {
    "looked up": ({sheet: {"FEW_ENTRIES": 2**20}}, {}),
    "by rows": ({sheet: {"FEW_ENTRIES": 0, "ROWS_PER_ENTRY": 2**40}}, {}),
    "without levels of labels": ({rank_order: {"LOOKED_UP_LABELS": 0}}, {}),
    "without rows of no gain": ({per_query: {"ROWS_OF_SMALL_TABLE": 0}}, {}),
    "without rows of no gain, by rows": (
        {per_query: {"ROWS_OF_SMALL_TABLE": 0}, sheet: {"FEW_ENTRIES": 0, "ROWS_PER_ENTRY": 2**40}},
        {},
    ),
    "by policies": ({}, {"depth": 10**6}),
    "sorted by Polars": ({sorts: {"FEW": 0, "polars_is_faster": lambda: True}}, {}),
    "sorted by NumPy": ({sorts: {"FEW": 0, "polars_is_faster": lambda: False}}, {}),
    "in blocks": ({plan: {"ROWS_OF_BLOCK": 2}}, {}),
    "with little room in codes": ({sorts: {"CODE_BITS": 28}}, {}),
}


@each("kind", KINDS, sample=10)
@each("labels", LABELS)
@each("sizes", SIZES)
def test_a_value_is_that_of_an_expression_of_the_group_in_every_kind_of_evaluation(
    kind: str, labels: str, sizes: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    values, (patches, policies) = wanted(labels, sizes), KINDS[kind]
    for module, constants in patches.items():
        for name, value in constants.items():
            monkeypatch.setattr(module, name, value)
    found = table(labels, sizes).rank.on(**policies).evaluate(*METRICS)
    assert_frame_equal(found, values, rel_tol=1e-12, abs_tol=1e-12)
