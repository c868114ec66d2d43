"""The bounds of unjudged="bounds" against every way to judge, by brute force."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from calls import ALL, CALLS, SOME, Options, close, spell
from oracles import ORACLES, Row, evaluate, is_judged
from polars.testing import assert_frame_equal
from tables import FRACTIONAL_LABELS, INTEGER_LABELS, Table, frame, random_table

import rankframe as rf

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
FALLING = {"cg", "dcg", "ndcg", "rbp"}  # with the gains of the calls of all tests, which rise and fall


def has_bounds(name: str, options: Options) -> bool:
    if name in ("err", "nerr"):
        return name == "err" and isinstance(options.get("max_label"), (int, float))
    return not (isinstance(options.get("gain"), dict) and options["gain"] not in (RISING, SHARE))


BOUNDED = [call for call in [*ALL, *MORE] if has_bounds(*call)]
FEW = [call for call in [*SOME, *MORE] if has_bounds(*call)]
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


def assert_bounds(found: pl.DataFrame, table: Table, calls: Any, labels: tuple[int, int], policies: Options) -> None:
    by_query = {row["query_id"]: row for row in found.iter_rows(named=True)}
    assert by_query.keys() == table.keys()
    for query, rows in table.items():
        ways = judgments(rows, *labels)
        for name, options in calls:
            wanted = extremes([evaluate(name, way, options, **policies) for way in ways])
            text = spell(name, options)
            got = by_query[query][f"{text} least"], by_query[query][f"{text} greatest"]
            assert all(map(close, got, wanted)), (query, rows, text, got, wanted)


@pytest.mark.parametrize("labels", [INTEGER_LABELS, FRACTIONAL_LABELS], ids=["integers", "fractions"])
@pytest.mark.parametrize("policies", POLICIES, ids=str)
def test_bounds_are_those_of_all_ways_to_judge(policies: Options, labels: list[float | None]) -> None:
    seed = POLICIES.index(policies)
    between = RANGES[seed % len(RANGES)]
    table = small_table(seed, labels=labels, queries=12)
    calls = BOUNDED if not policies else FEW
    ranker = frame(table, seed=None).rank.on(unjudged="bounds", unjudged_labels=between, **policies)
    assert_bounds(ranker.evaluate(*(spell(*call) for call in calls)), table, calls, between, policies)
