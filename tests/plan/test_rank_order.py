"""The order of an eager frame's rows, against Python's own sort: few ties, many and none, by every rule."""

from __future__ import annotations

import itertools
import math
import os
import random
import subprocess
import sys
from datetime import date
from decimal import Decimal
from typing import Any
from unittest.mock import patch

import polars as pl
import pyarrow as pa
import pytest

import rankframe  # noqa: F401 - registers .rank
from rankframe._plan.rank_order import hash_of
from tests.support.each import each

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


LEVELS = {"many ties": 3, "few ties": 3_000, "no ties": 10**9}
DIGITS = {"room": 64, "little room": 16, "no room": 12}


@each("room", DIGITS, sample=24)
@each("many", LEVELS)
@each("missing", [0, 0.2])
@each(("document", "rule"), list(itertools.product(DOCUMENTS, RULES)))
def test_rows_stand_in_the_order_that_the_rule_says(
    room: str, many: str, missing: float, document: str, rule: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    levels, digits = LEVELS[many], DIGITS[room]
    monkeypatch.setattr("rankframe._support.sorts.CODE_BITS", digits)  # 264 rows take 9, and 4 queries 3
    monkeypatch.setattr("rankframe._plan.parts.ROWS_OF_THREAD", 1 if digits == 64 else 2**17)
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


def test_queries_whose_ids_leave_no_room_beside_the_row_numbers_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rankframe._support.sorts.CODE_BITS", 12)  # 264 rows take 9, and ids up to 900 take 10
    rows = [(300 * query, *others) for query, *others in rows_of(3_000, 0.2, "integers")]
    frame = pl.DataFrame(rows, schema=["query_id", "doc_id", "score", "label"], orient="row")
    found, wanted = frame.rank.dcg(), expected(rows, "doc_desc")
    assert found["query_id"].to_list() == list(wanted)
    assert found["dcg"].to_list() == pytest.approx(list(wanted.values()), rel=1e-12)


SCORES: dict[str, tuple[Any, list[Any]]] = {
    "floats": (pl.Float64, [math.inf, 1e308, 2.5, 5e-324, 0.0, -5e-324, -2.5, -1e308, -math.inf, None]),
    "the other zero": (pl.Float64, [1.0, -0.0, -1.0]),
    "neighbours": (pl.Float64, [1 + 2**-51, 1 + 2**-52, 1.0, 1 - 2**-53, 0.5]),
    "below zero": (pl.Float64, [-1.0, -1 - 2**-52, -2.0, -math.inf]),
    "float32": (pl.Float32, [2.5, 1.0, -0.5, None]),
    "beyond floats": (pl.Int64, [2**63 - 1, 2**63 - 2, 2**53 + 1, 2**53, 0, -(2**53), -(2**53) - 1, -(2**63), None]),
    "unsigned": (pl.UInt64, [2**64 - 1, 2**64 - 2, 2**63, 1, 0]),
    "bytes": (pl.Int8, [127, 1, 0, -1, -128, None]),
    "128 digits": (pl.Int128, [2**127 - 1, 2**127 - 2, 5, -(2**127)]),
    "decimals": (pl.Decimal(38, 2), [Decimal("9007199254740993.02"), Decimal("9007199254740993.01"), Decimal("-1.5")]),
    "booleans": (pl.Boolean, [True, False, None]),
}


@each("ties", ["doc_desc", "doc_asc", "order"])
@each("kind", SCORES)
def test_scores_of_any_kind_are_told_apart(kind: str, ties: str) -> None:
    dtype, falling = SCORES[kind]
    rows = [(q, i, score) for q in (5, 3) for i, score in enumerate(falling)]
    random.Random(kind).shuffle(rows)
    frame = pl.DataFrame(rows, schema={"query_id": pl.Int64, "doc_id": pl.Int64, "score": dtype}, orient="row")
    for alone in (False, True):  # a query with others, or one of which only some are there
        df = frame.filter(query_id=3) if alone else frame
        found = df.with_columns(label=pl.lit(1)).rank.on(ties=ties).curve("hits")
        for (query,), docs in found.group_by("query_id"):
            scores = frame.filter(query_id=query).sort("doc_id")["score"].gather(docs.sort("rank")["doc_id"]).to_list()
            assert scores == [x for x in falling if x is not None]
            assert docs["rank"].sort().to_list() == list(range(1, len(scores) + 1))


def test_zeros_of_either_sign_are_tied() -> None:
    frame = pl.DataFrame({"query_id": 1, "doc_id": [1, 2, 3], "score": [0.0, -0.0, 0.0], "label": 1})
    assert frame.rank.on(ties="doc_asc").curve("hits").sort("rank")["doc_id"].to_list() == [1, 2, 3]
    assert frame.rank.on(ties="doc_desc").curve("hits").sort("rank")["doc_id"].to_list() == [3, 2, 1]


IDS: dict[str, tuple[Any, list[Any]]] = {
    "a few": (pl.Int64, [7, -3, 0]),
    "far apart": (pl.Int64, [2**63 - 1, -(2**63), 0]),
    "bytes": (pl.Int8, [127, -128, 0]),
    "unsigned": (pl.UInt64, [2**64 - 1, 0, 2**63]),
    "unsigned and near": (pl.UInt64, [2**64 - 1, 2**64 - 3, 2**64 - 2]),
    "128 digits": (pl.Int128, [2**100, 2**100 + 1, 0]),
    "missing": (pl.Int64, [None, 1, 0]),
    "all missing": (pl.Null, [None]),
    "texts": (pl.String, ["b", None, ""]),
    "floats": (pl.Float64, [math.nan, None, 0.0, -1.5]),
    "booleans": (pl.Boolean, [True, None, False]),
    "days": (pl.Date, [date(2020, 1, 2), date(2020, 1, 1), None]),
    "days near": (pl.Date, [date(2020, 1, 2), date(2020, 1, 1)]),
    "categories": (pl.Categorical, ["b", "a", "c"]),
    "enum": (pl.Enum(["a", "b"]), ["b", "a"]),
    "decimals": (pl.Decimal(10, 2), [Decimal("1.50"), Decimal("-1.00")]),
    "lists": (pl.List(pl.Int64), [[1], [], [1, 2]]),
    "structs": (pl.Struct({"a": pl.Int64}), [{"a": 1}, {"a": None}]),
}


def give_all_one_hash(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pl.DataFrame, "hash_rows", lambda self: pl.Series([7] * self.height, dtype=pl.UInt64))
    monkeypatch.setattr(pl.Series, "hash", lambda self: pl.Series([7] * len(self), dtype=pl.UInt64))


def test_nested_ids_that_are_the_same_have_one_hash_whatever_stands_behind_a_null() -> None:
    """Parts of a table take their queries by the hash; Arrow may keep values where a struct, list or array is null."""
    null, values = pa.array([True, True, False]), pa.array([1, 2, 3])
    pairs, ends = pa.array([1, 2, 3, 4, 5, 6]), pa.array([0, 2, 4, 6])
    structs = pa.StructArray.from_arrays([values], ["a"], mask=null)
    nested = [
        structs,
        pa.ListArray.from_arrays(ends, pairs, mask=null),
        pa.FixedSizeListArray.from_arrays(pairs, 2, mask=null),
        pa.ListArray.from_arrays(pa.array([0, 1, 2, 3]), structs),
        pa.array([[0.0], [-0.0], [1.0]]),
        pa.array([{"a": 0.0}, {"a": -0.0}, {"a": math.nan}]),
    ]
    for ids in nested:
        frame = pl.DataFrame({"id": pl.from_arrow(ids)})
        for keys in (frame, frame.with_columns(other=pl.lit(1)), pl.concat([frame, frame])):
            first, second, third = hash_of(keys)[:3]
            assert first == second != third, ids.type
            assert (hash_of(keys[1:]) == hash_of(keys)[1:]).all(), ids.type


@each("same_hash", [False, True])
@each("kind", IDS)
def test_queries_of_any_kind_are_told_apart(kind: str, same_hash: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    dtype, ids = IDS[kind]
    rows = [(nth, doc) for nth in range(len(ids)) for doc in range(nth + 2)]
    random.Random(kind).shuffle(rows)
    id_of = pl.Series(ids, dtype=dtype)
    nth = pl.Series([nth for nth, _ in rows])
    frame = pl.DataFrame({"query": id_of.gather(nth), "nth": nth, "doc_id": [doc for _, doc in rows]})
    frame = frame.with_columns(label=(pl.col("doc_id") == 0).cast(pl.Int64), score=pl.col("doc_id"))
    if same_hash:
        give_all_one_hash(monkeypatch)
    seen = list(dict.fromkeys(nth))
    for query in ("query", ["query", "nth"], ["nth", "query"]):
        found = frame.rank.on(query=query).evaluate("rr", "num_retrieved")
        assert found["rr"].to_list() == pytest.approx([1 / (n + 2) for n in seen])  # document 0 is the last of n + 2
        assert found["num_retrieved"].to_list() == [n + 2 for n in seen]
        assert found["query"].equals(id_of.gather(seen).alias("query"))


def test_zeros_of_either_sign_are_one_query() -> None:
    frame = pl.DataFrame({"query_id": [0.0, -0.0, 1.0], "doc_id": [1, 2, 1], "score": [1, 2, 3], "label": [1, 0, 1]})
    assert frame.rank.evaluate("rr").rows() == [(0.0, 0.5), (1.0, 1.0)]


def test_few_and_many_ties_are_what_they_are_called() -> None:
    share = {}
    for levels in (3, 3_000, 10**9):
        seen = [(q, score) for q, _, score, _ in rows_of(levels, 0, "text")]
        share[levels] = sum(seen.count(x) > 1 for x in seen) / len(seen)
    assert share[10**9] == 0 < share[3_000] < 1 / 8 < share[3]


@each("column", ["#row", "#group", "#0", "#tied", "#score"])
def test_no_name_of_a_column_is_in_the_way(column: str) -> None:
    rows = rows_of(3_000, 0, "text")
    frame = pl.DataFrame(rows, schema=["query_id", column, "score", "label"], orient="row")
    found = frame.rank.on(doc=column).dcg()
    assert found["dcg"].to_list() == pytest.approx(list(expected(rows, "doc_desc").values()), rel=1e-12)


def test_equal_hashes_are_looked_at_again(monkeypatch: pytest.MonkeyPatch) -> None:
    give_all_one_hash(monkeypatch)
    frame = pl.DataFrame({"query_id": [1, 1, 2], "doc_id": ["a", "b", "a"], "score": [2, 1, 1], "label": [1, 0, 1]})
    assert frame.rank.evaluate("rr")["rr"].to_list() == [1.0, 1.0]
    with pytest.raises(ValueError, match="holds the same 'doc_id' twice"):
        pl.concat([frame, frame.head(1)]).rank.evaluate("rr")


def test_ties_stand_by_the_rule_in_queries_whose_ids_have_one_hash(monkeypatch: pytest.MonkeyPatch) -> None:
    give_all_one_hash(monkeypatch)
    rows = [("p", 1, 2.0, 0), ("q", 1, 2.0, 0), ("p", 2, 2.0, 1), ("q", 3, 5.0, 0), ("q", 2, 2.0, 1)]
    frame = pl.DataFrame(rows, schema=["query_id", "doc_id", "score", "label"], orient="row")
    assert frame.rank.evaluate("rr").rows() == [("p", 1.0), ("q", 0.5)]  # the larger document of a tie is first
    assert frame.rank.on(ties="doc_asc").evaluate("rr").rows() == [("p", 0.5), ("q", 1 / 3)]


IDS_OF_DOCUMENTS: dict[str, pl.Expr] = {
    "small": pl.col("doc_id"),
    "far apart": pl.col("doc_id") * 10**6 - 10**7,
    "too far apart for codes of query and document": pl.col("doc_id") * 2**57 - 2**61,
    "text": pl.col("doc_id").cast(pl.String),
}


@each("ids", IDS_OF_DOCUMENTS)
def test_any_repeated_document_is_found(ids: str) -> None:
    docs = pl.DataFrame({"query_id": 1, "doc_id": range(50), "score": range(50), "label": [1] * 40 + [0] * 10})
    docs = docs.with_columns(IDS_OF_DOCUMENTS[ids])
    both = pl.concat([docs, docs.with_columns(query_id=pl.lit(2, pl.Int32))])  # each has all documents
    assert both.rank.evaluate("rr")["rr"].to_list() == [1 / 11, 1 / 11]
    for row in range(0, 100, 9):
        with pytest.raises(ValueError, match="holds the same 'doc_id' twice"):
            pl.concat([both, both[row : row + 1]]).rank.evaluate("rr")


def test_two_and_two_point_nought_are_one_option() -> None:
    frame = pl.DataFrame({"query_id": [1], "doc_id": ["a"], "score": [2], "label": [1]})
    assert frame.rank.metrics.f_beta(beta=1).columns == ["query_id", "f_beta"]
    for beta in (2, 2.0):
        assert frame.rank.metrics.f_beta(beta=beta).columns == ["query_id", "f_beta(beta=2)"]


def test_scores_tie_as_the_policy_reads_them() -> None:
    frame = pl.DataFrame({"query_id": [1, 1], "doc_id": ["a", "b"], "score": [1.0, 1.0 + 1e-12], "label": [0, 1]})
    assert frame.rank.on(ties="error").evaluate("rr")["rr"].item() == 1.0
    with pytest.raises(ValueError, match="ties='error' forbids it"):
        frame.rank.on(ties="error", scores="float32").evaluate("rr")


@each("ids", [[None, 7, 3], [-1, None, 2**62], ["", None, "q"], [0.5, None, -0.0]], ids=str)
@each("name", ["query_id", "#row"])
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
        with patch("rankframe._plan.per_query.ROWS_OF_SMALL_TABLE", row_limit):
            found = frame.rank.on(query=name).evaluate("rr", "ndcg@1", "hits@3")
        assert found.rows() == [(ids[0], 0, 0, 0), (ids[1], 1 / 3, 0, 1), (ids[2], 0, 0, 0)]


LABELS: dict[str, tuple[Any, list[Any]]] = {
    "no type": (pl.Null, [None] * 4),
    "booleans": (pl.Boolean, [False, None, True, False]),
    "bytes": (pl.Int8, [-128, None, 1, 0]),
    "unsigned": (pl.UInt64, [0, None, 1, 0]),
    "128 digits": (pl.Int128, [-(2**100), None, 1, 0]),
    "unsigned 128 digits": (pl.UInt128, [0, None, 1, 0]),
    "decimals": (pl.Decimal(10, 2), [Decimal("-1.00"), None, Decimal("1.00"), Decimal("0.00")]),
    "float32": (pl.Float32, [-1.0, None, 1.0, -0.0]),
    "floats": (pl.Float64, [-1e280, None, 1.0, -0.0]),
    "fractions": (pl.Float64, [-0.5, None, 1.0, 0.5]),
}


@each("row_limit", [0, 2**16])
@each("kind", LABELS)
def test_labels_of_any_kind_are_read_in_tables_of_any_size(
    kind: str, row_limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rankframe._plan.per_query.ROWS_OF_SMALL_TABLE", row_limit)
    dtype, labels = LABELS[kind]
    frame = pl.DataFrame({"query_id": [2, 1, 2, 1], "doc_id": [1, 2, 3, 4], "score": [4, 3, 2, 1]})
    found = (
        frame.with_columns(label=pl.Series(labels, dtype=dtype)).rank.on(no_relevant="null").evaluate("rr", "hits@2")
    )
    gain = None if kind == "no type" else 0.5
    assert found.rows() == [(2, gain, gain and 1.0), (1, None, None)]


@each("label", [1, 1.5])  # labels that are looked up, and those that are looked at
@each("row_limit", [0, 2**16])
def test_a_value_that_is_the_same_for_all_queries_stands_by_each_of_them(
    label: float, row_limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rankframe._plan.per_query.ROWS_OF_SMALL_TABLE", row_limit)
    frame = pl.DataFrame({"query_id": [1, 1, 2], "doc_id": [1, 2, 1], "score": [2, 1, 1], "label": [label, 0, 2]})
    found = frame.rank.metrics.insq(target=0.5, gain={label: 0.5, 2: 1}, report="ETC", depth=2)
    assert found.to_series(1).to_list() == pytest.approx(
        [1 + 1 / 4 - 2 / 9] * 2
    )  # V(i) is 1 / i^2: V(1) + V(2) - 2 V(3)


CALLED_BY_POLARS = """
import polars as pl
import rankframe._plan.parts

rankframe._plan.parts.ROWS_OF_THREAD = 1
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
