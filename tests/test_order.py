"""The order of an eager frame's rows, against Python's own sort: few ties, many and none, by every rule."""

from __future__ import annotations

import math
import os
import random
import subprocess
import sys
from typing import Any
from unittest.mock import patch

import polars as pl
import pytest

import rankframe  # noqa: F401 - registers .rank

RULES = ["doc_desc", "doc_asc", "trec_eval", "order", "best", "worst"]
DOCUMENTS = {"integers": lambda i: i, "text": lambda i: f"d{i}", "bytes": lambda i: f"d{i}".encode()}


def rows_of(levels: int, missing: float, document: str, seed: int = 0) -> list[tuple[int, Any, float | None, int]]:
    """Shuffled rows of four queries, whose labels tell nearly every order from every other; ties are few with many levels."""
    r = random.Random(seed)
    rows = []
    for query, size in enumerate((1, 3, 60, 200)):
        for i in r.sample(range(10 * size), size):
            score = None if r.random() < missing else r.randrange(levels) / 8 - 50
            rows.append((query, DOCUMENTS[document](i), score, r.randrange(1000)))
    r.shuffle(rows)
    return rows


def expected(rows: list[tuple[int, Any, float | None, int]], rule: str) -> dict[int, float]:
    """The DCG of each query, by definition."""
    keys = {
        "doc_desc": lambda i, doc, label: doc,
        "doc_asc": lambda i, doc, label: doc,
        "trec_eval": lambda i, doc, label: doc.decode() if isinstance(doc, bytes) else str(doc),
        "order": lambda i, doc, label: -i,
        "best": lambda i, doc, label: (label, doc),
        "worst": lambda i, doc, label: (-label, doc),
    }
    found: dict[int, float] = {}
    for query in dict.fromkeys(row[0] for row in rows):
        docs = [(score, keys[rule](i, doc, label), label) for i, (q, doc, score, label) in enumerate(rows)
                if q == query and score is not None]  # fmt: skip
        docs.sort(key=lambda row: row[1], reverse=rule != "doc_asc")
        docs.sort(key=lambda row: row[0], reverse=True)  # stable, so that ties stay as they are
        found[query] = math.fsum(label / math.log2(rank + 1) for rank, (_, _, label) in enumerate(docs, 1))
    return found


@pytest.mark.parametrize("missing", [0, 0.2])
@pytest.mark.parametrize("levels", [3, 3_000, 10**9], ids=["many ties", "few ties", "no ties"])
@pytest.mark.parametrize("document", DOCUMENTS)
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("least", [1, 2**17], ids=["by score", "by all keys"])
def test_rows_stand_in_the_order_that_the_rule_says(
    rule: str, document: str, levels: int, missing: float, least: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rankframe._threads.LEAST", least)
    rows = rows_of(levels, missing, document)
    for dtype in (pl.Float64, pl.Int64, pl.Decimal(20, 3)) if missing == 0 else (pl.Float64,):
        frame = pl.DataFrame(rows, schema=["query_id", "doc_id", "score", "label"], orient="row")
        frame = frame.with_columns((pl.col("score") * 8).round().cast(pl.Int64).cast(dtype))
        found = frame.rank.on(ties=rule).dcg()
        wanted = expected(rows, rule)
        assert found["query_id"].to_list() == list(wanted)  # as first seen
        assert found["dcg"].to_list() == pytest.approx(list(wanted.values()), rel=1e-12)
        lazy = frame.lazy().rank.on(ties=rule).dcg().sort("query_id").collect()
        assert lazy["dcg"].to_list() == pytest.approx([wanted[q] for q in range(4)], rel=1e-12)


def test_few_and_many_ties_are_what_they_are_called() -> None:
    share = {}
    for levels in (3, 3_000, 10**9):
        seen = [(q, score) for q, _, score, _ in rows_of(levels, 0, "text")]
        share[levels] = sum(seen.count(x) > 1 for x in seen) / len(seen)
    assert share[10**9] == 0 < share[3_000] < 1 / 8 < share[3]


@pytest.mark.parametrize("column", ["#row", "#group", "#0", "#tied", "#score"])
def test_no_name_of_a_column_is_in_the_way(column: str) -> None:
    rows = rows_of(3_000, 0, "text")
    frame = pl.DataFrame(rows, schema=["query_id", column, "score", "label"], orient="row")
    found = frame.rank.on(doc=column).dcg()
    assert found["dcg"].to_list() == pytest.approx(list(expected(rows, "doc_desc").values()), rel=1e-12)


def test_equal_hashes_are_looked_at_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pl.DataFrame, "hash_rows", lambda self: pl.Series([7] * self.height, dtype=pl.UInt64))
    frame = pl.DataFrame({"query_id": [1, 1, 2], "doc_id": ["a", "b", "a"], "score": [2, 1, 1], "label": [1, 0, 1]})
    assert frame.rank.evaluate("rr")["rr"].to_list() == [1.0, 1.0]
    with pytest.raises(ValueError, match="holds the same 'doc_id' twice"):
        pl.concat([frame, frame.head(1)]).rank.evaluate("rr")


@pytest.mark.parametrize("threads", [1, 2, 3, 16])
def test_any_repeated_document_is_found_by_the_thread_of_its_hashes(
    threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rankframe._threads.LEAST", 1)
    monkeypatch.setattr(pl, "thread_pool_size", lambda: threads)
    docs = pl.DataFrame({"query_id": 1, "doc_id": range(50), "score": range(50), "label": 1})
    assert docs.rank.evaluate("rr")["rr"].to_list() == [1.0]
    for row in range(50):
        with pytest.raises(ValueError, match="holds the same 'doc_id' twice"):
            pl.concat([docs, docs[row : row + 1]]).rank.evaluate("rr")


def test_two_and_two_point_nought_are_one_option() -> None:
    frame = pl.DataFrame({"query_id": [1], "doc_id": ["a"], "score": [2], "label": [1]})
    assert frame.rank.f_beta(beta=1).columns == ["query_id", "f_beta"]
    for beta in (2, 2.0):
        assert frame.rank.f_beta(beta=beta).columns == ["query_id", "f_beta(beta=2)"]


def test_scores_tie_as_the_policy_reads_them() -> None:
    frame = pl.DataFrame({"query_id": [1, 1], "doc_id": ["a", "b"], "score": [1.0, 1.0 + 1e-12], "label": [0, 1]})
    assert frame.rank.on(ties="error").evaluate("rr")["rr"].item() == 1.0
    with pytest.raises(ValueError, match="ties='error' forbids it"):
        frame.rank.on(ties="error", scores="float32").evaluate("rr")


@pytest.mark.parametrize("ids", [[None, 7, 3], [-1, None, 2**62], ["", None, "q"], [0.5, None, -0.0]], ids=str)
@pytest.mark.parametrize("name", ["query_id", "#row"])
def test_queries_without_a_relevant_document_keep_their_place_and_value(ids: list[Any], name: str) -> None:
    rows = [
        (0, "a", 1.0, 0),
        (1, "a", 3.0, 0),
        (1, "b", 2.0, 1),
        (2, "a", None, 0),
        (0, "b", 1.0, -1),
        (1, "c", 9.0, 0),
    ]
    frame = pl.DataFrame(rows, schema=[name, "doc_id", "score", "label"], orient="row")
    frame = frame.with_columns(pl.Series(ids).gather(frame[name]).alias(name))
    for row_limit in (0, 2**16):  # as a table that is large, and as the small one that it is
        with patch("rankframe._order.SPARSE", 1), patch("rankframe._measure.SMALL", row_limit):
            found = frame.rank.on(query=name).evaluate("rr", "ndcg@1", "hits@3")
        assert found.rows() == [(ids[0], 0, 0, 0), (ids[1], 1 / 3, 0, 1), (ids[2], 0, 0, 0)]


CALLED_BY_POLARS = """
import polars as pl
import rankframe._threads

rankframe._threads.LEAST = 1
df = pl.DataFrame({"query_id": [1, 1, 2, 2], "doc_id": ["a", "b"] * 2, "score": [2, 1, 1, 2], "label": [0, 1, 1, 0]})
schema = {"query_id": pl.Int64, "rr": pl.Float64}
plans = [df.lazy().map_batches(lambda df: df.rank.evaluate("rr"), schema=schema) for _ in range(8)]
for engine in ("in-memory", "streaming"):
    print([found["rr"].sum() for found in pl.collect_all(plans, engine=engine)])
"""


def test_a_function_that_polars_calls_does_not_wait_for_the_threads_that_wait_for_it() -> None:
    done = subprocess.run(
        [sys.executable, "-c", CALLED_BY_POLARS],
        capture_output=True,
        text=True,
        timeout=100,
        env={**os.environ, "POLARS_MAX_THREADS": "2"},
        check=False,
    )
    assert (done.stdout.splitlines(), done.stderr) == ([str([1.0] * 8)] * 2, "")
