"""What search engines print that no test can run, worked by hand from their sources: Elasticsearch, OpenSearch, Quepid.

`tests.tools.products` says what they and the other products do; tests/tools holds it against those that run.
"""

from __future__ import annotations

import math
from typing import Any

import polars as pl
import pytest

import rankframe as rf
from tests.support.each import each
from tests.tools import formulas
from tests.tools.conventions import Row

X2, X3, X4 = 1 / math.log2(3), 1 / math.log2(4), 1 / math.log2(5)

# Four documents of which the third was not judged, and one of label 2 that was not retrieved.
GRADED: list[Row] = [("a", 4, 0), ("b", 3, 3), ("c", 2, None), ("d", 1, 1), ("e", None, 2)]
BINARY: list[Row] = [("a", 4, 0), ("b", 3, 1), ("c", 2, None), ("d", 1, 1), ("e", None, 1)]
SHORT: list[Row] = [("a", 1, 1), ("b", None, 3)]
EMPTY: list[Row] = [("a", None, 2), ("b", None, 1)]
NONE_RELEVANT: list[Row] = [("a", 2, 0), ("b", 1, None)]
ELEVEN: list[Row] = [(f"d{i}", -i, 1) for i in range(11)]
TIED: list[Row] = [("a", 1, 0), ("b", 1, 1)]
DISCOUNTS = [1 / math.log2(rank + 1) for rank in range(1, 12)]

# The ideal of _rank_eval has no more documents than the list, that of Quepid's nDCG@10 all that were judged.
BY_HAND: list[tuple[str, str, list[Row], float]] = [
    ("elasticsearch", "precision", GRADED, 2 / 4),
    ("elasticsearch", "precision", SHORT, 1 / 1),
    ("elasticsearch", "precision", EMPTY, 0),
    ("elasticsearch", "precision", ELEVEN, 10 / 10),
    ("elasticsearch", "recall", GRADED, 2 / 3),
    ("elasticsearch", "recall", ELEVEN, 10 / 11),
    ("elasticsearch", "recall", NONE_RELEVANT, 0),
    ("elasticsearch", "reciprocal_rank", GRADED, 1 / 2),
    ("elasticsearch", "reciprocal_rank", TIED, 1 / 2),
    ("elasticsearch", "reciprocal_rank", EMPTY, 0),
    ("elasticsearch", "dcg", GRADED, 7 * X2 + X4),
    ("elasticsearch", "ndcg", GRADED, (7 * X2 + X4) / (7 + 3 * X2 + X3)),
    ("elasticsearch", "ndcg", SHORT, 1 / 7),
    ("elasticsearch", "ndcg", EMPTY, 0),
    ("elasticsearch", "ndcg", NONE_RELEVANT, 0),
    ("elasticsearch", "ndcg", ELEVEN, 1),
    ("elasticsearch", "err", GRADED, (7 / 8) / 2 + (1 / 8) * (1 / 8) / 4),
    ("opensearch_workbench", "precision", BINARY, 2 / 4),
    ("opensearch_workbench", "recall", BINARY, 2 / 3),
    ("opensearch_workbench", "average_precision", BINARY, (1 / 2 + 2 / 4) / 3),
    ("opensearch_workbench", "reciprocal_rank", BINARY, 1 / 2),
    ("opensearch_workbench", "dcg", GRADED, 7 * X2 + X4),
    ("opensearch_workbench", "ndcg", GRADED, (7 * X2 + X4) / (7 + 3 * X2 + X3)),
    ("opensearch_workbench", "ndcg", SHORT, 1 / (7 + X2)),
    ("opensearch_workbench", "ndcg", EMPTY, 0),
    ("quepid", "precision", GRADED, 2 / 4),
    ("quepid", "precision", SHORT, 1),
    ("quepid", "average_precision", GRADED, (1 / 2 + 2 / 4) / 3),
    ("quepid", "average_precision", ELEVEN, 10 / 11),
    ("quepid", "average_precision", NONE_RELEVANT, math.nan),
    ("quepid", "average_precision", EMPTY, 0),
    ("quepid", "reciprocal_rank", TIED, 1 / 2),
    ("quepid", "cg", GRADED, 4),
    ("quepid", "dcg", GRADED, 7 * X2 + X4),
    ("quepid", "ndcg", GRADED, (7 * X2 + X4) / (7 + 3 * X2 + X3)),
    ("quepid", "ndcg", SHORT, 1 / (7 + X2)),
    ("quepid", "ndcg", EMPTY, 0),
    ("quepid", "ndcg", ELEVEN, sum(DISCOUNTS[:10]) / sum(DISCOUNTS)),
    ("quepid", "err", GRADED, (7 / 8) / 2 + (1 / 8) * (1 / 8) / 4),
]
OURS = {"average_precision": "map", "reciprocal_rank": "rr"}
CASES = [*BY_HAND, *(("opensearch", *case[1:]) for case in BY_HAND if case[0] == "elasticsearch")]


def frame(rows: list[Row]) -> pl.DataFrame:
    schema = {"query_id": pl.Int64, "doc_id": pl.String, "score": pl.Float64, "label": pl.Int64}
    return pl.DataFrame([(1, *row) for row in rows], schema=schema, orient="row")


@each(("tool", "metric", "rows", "value"), CASES, ids=lambda x: x if isinstance(x, str) else "")
def test_a_search_engine_prints_what_its_source_makes_of_a_query(
    tool: str, metric: str, rows: list[Row], value: float
) -> None:
    name = OURS.get(metric, metric)
    text = f"{name}(max_label=3)" if metric == "err" else name
    text += "@10" if tool == "opensearch_workbench" else ""  # the others stop at rank 10 unless they are told
    found = rf.rank(frame(rows)).on(convention=tool).evaluate(text).item(0, 1)
    assert (math.nan if found is None else found) == pytest.approx(value, rel=1e-12, nan_ok=True)
    # the plain-Python choices, which random tables are compared with, make the same value
    options: dict[str, Any] = {"greatest": 3} if metric == "err" else {}
    if tool == "opensearch_workbench":
        options["k"] = 10
    assert formulas.value(tool, metric, rows, **options) == pytest.approx(value, rel=1e-12, nan_ok=True)


def test_the_ideal_of_rectools_has_a_relevant_item_at_every_rank() -> None:
    # RecTools' default: the ideal of a user with one relevant item has ten of them
    value = rf.rank(frame([("a", 1, 1)])).on(convention="rectools").evaluate("ndcg@10").item(0, 1)
    assert value == pytest.approx(1 / sum(DISCOUNTS[:10]))
