"""A result, or an error, is the same however its table is cut into parts of whole queries."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rankframe as rf
from rankframe._plan import parts
from rankframe._table.conventions import CONVENTIONS
from rankframe._table.roles import ROW
from tests.support.calls import share
from tests.support.each import each

pytestmark = pytest.mark.filterwarnings("ignore::rankframe.RankframeWarning")
"""Random tables may look like others than they are."""

Key = Callable[[int], tuple[Any, ...]]

KEYS: list[Key] = [
    lambda i: (i,),
    lambda i: (f"q{i}",),
    lambda i: (None if i == 3 else i * 10**12,),
    lambda i: (None if i % 7 == 3 else f"q{i % 7}", i // 7),
    lambda i: ([i, None],),
    lambda i: ({"site": i % 3, "topic": f"t{i}"},),
]
"""The ids of queries: of one or several columns, null among them, and nested."""

EVEN, SKEWED = [*range(1, 6)] * 4, [30, *[1] * 10, 15]
"""The number of documents of each query."""

POLICIES: list[dict[str, Any]] = [
    {},
    {"ties": "doc_asc"},
    {"ties": "order", "relevant": 2},
    {"ties": "best", "no_relevant": "null"},
    {"unjudged": "drop"},
    {"unjudged": "drop", "depth": 3},
    {"depth": 2, "unretrieved": "drop"},
]


def table(rng: random.Random, sizes: list[int]) -> tuple[pl.DataFrame, list[str]]:
    """A random table, shuffled or with the rows of each query together, and its query columns."""
    key, together = rng.choice(KEYS), rng.random() < 0.4
    rows = []
    for i, size in enumerate(rng.sample(sizes, len(sizes))):
        for j in rng.sample(range(2 * size), size):
            scores = [rng.choice([None, 0.0, 0.5, 1.0, 2.0]) for _ in range(3)]
            topics = rng.sample(["a", "b", "c", "d"], rng.randint(0, 3))
            rows.append((*key(i), f"d{j}", *scores, rng.choice([None, -1, 0, 0, 1, 2, 3]), topics))
    if not together:
        rng.shuffle(rows)
    query = [f"key {i}" for i in range(len(key(0)))]
    columns = [*query, "doc_id", "score", "other", "third", "label", "topics"]
    floats = dict.fromkeys(columns[-5:-2], pl.Float64)
    types = {**floats, "label": pl.Int64, "topics": pl.List(pl.String)}
    return pl.DataFrame(rows, columns, schema_overrides=types, orient="row"), query


def by_subtopic(df: pl.DataFrame) -> pl.DataFrame:
    """A row for each document and subtopic."""
    return df.explode("topics")


def by_run(df: pl.DataFrame) -> pl.DataFrame:
    """A row for each document and run that has a score for it, one run after the other or mixed as the rows are."""
    runs = ["score", "other", "third"]
    rows = pl.concat([df.drop(runs).with_columns(df[run].alias("score"), run=pl.lit(run)) for run in runs])
    return rows.filter(pl.col("score").is_not_null() | (pl.col("run") == "score"))


METRICS = ("ndcg@3", "map", "rr", "err", "bpref", "precision@2", "auc", "rbp", "num_relevant")
DIVERSITY = ("alpha_ndcg@5", "subtopic_recall@2", "nrbp", "average_precision_ia", "err_ia@4", "ndcg@3")
RUNS = {"runs": ["score", "other", "third"]}


def of_conventions(df: pl.DataFrame, query: list[str], policies: dict[str, Any]) -> pl.DataFrame:
    """NDCG and average precision under every third convention, if it has them, side by side."""
    found = []
    labelled = df.with_columns(pl.col("label").fill_null(0).clip(0, 1), pl.col("score").fill_null(-1.0))
    for convention, known in list(CONVENTIONS.items())[df.height % 3 :: 3]:
        for text in ("ndcg@3", "map"):
            if known.metrics.get(text.partition("@")[0], {"ties": "error"}).get("ties") != "error":
                values = labelled.rank.on(query=query, convention=convention).evaluate(text)
                found.append(values.select(pl.last().alias(f"{convention} {text}")))
    return pl.concat(found, how="horizontal")


ASKED: dict[str, Callable[[pl.DataFrame, list[str], dict[str, Any]], pl.DataFrame]] = {
    "evaluate": lambda df, query, on: df.rank.on(query=query, **on).evaluate(*METRICS),
    "expected ties": lambda df, query, on: df.rank.on(query=query, ties="expected").evaluate("ndcg@3", "map", "rr"),
    "bounds": lambda df, query, on: df.rank.on(query=query, unjudged="bounds").evaluate(
        "ndcg@3", "precision@2", "map", "cg"
    ),
    "subtopics": lambda df, query, on: df.rank.on(
        query=query, subtopic="topics", ties=tie(on), depth=on.get("depth")
    ).evaluate(*DIVERSITY),
    "rows of subtopics": lambda df, query, on: (
        by_subtopic(df)
        .rank.on(query=query, subtopic="topics", ties=tie(on), depth=on.get("depth"))
        .evaluate(*DIVERSITY)
    ),
    "with_ranks": lambda df, query, on: df.rank.on(query=query, **on).with_ranks(),
    "with_ranks of rows of subtopics": lambda df, query, on: (
        by_subtopic(df).rank.on(query=query, subtopic="topics", **on).with_ranks()
    ),
    "with_metrics": lambda df, query, on: df.rank.on(query=query, **on).with_metrics("ndcg", "err"),
    "curve": lambda df, query, on: df.rank.on(query=query, **on).curve("ndcg", "precision"),
    "explain": lambda df, query, on: df.rank.on(query=query, **on).explain("ndcg@3", "map", "err"),
    "agreement": lambda df, query, on: df.rank.on(query=query, **on).agreement(
        "other", "kendall_tau", "rbo", "overlap@2", "spearman", "tau_ap"
    ),
    "fuse": lambda df, query, on: df.rank.on(query=query, ties=tie(on)).fuse("combmnz", **RUNS, normalize="minmax"),
    "fuse a column of runs": lambda df, query, on: (
        by_run(df)
        .sample(fraction=1, shuffle=True, seed=0)
        .rank.on(query=query, ties=tie(on))
        .fuse("rrf", run="run", weights={"third": 0.5, "score": 1, "other": 2})
    ),
    "fuse a column of runs in its order": lambda df, query, on: (
        by_run(df).rank.on(query=query).fuse("wsum", run="run", weights=[0.5, 0.3, 0.2], missing="min")
    ),
    "explain_fusion": lambda df, query, on: df.rank.on(query=query, ties=tie(on)).fusion.explain("borda", **RUNS),
    "explain_fusion of a column of runs": lambda df, query, on: (
        by_run(df).rank.on(query=query, ties=tie(on)).fusion.explain("rrf", run="run")
    ),
    "expected_exposure": lambda df, query, on: df.rank.on(
        query=query, **{**on, "ties": tie(on)}
    ).items.expected_exposure(**RUNS),
    "expected_exposure of a column of runs": lambda df, query, on: (
        by_run(df)
        .sample(fraction=1, shuffle=True, seed=0)
        .rank.on(query=query, **{**on, "ties": tie(on)})
        .items.expected_exposure(run="run", k=2)
    ),
    "conventions": of_conventions,
}


def tie(policies: dict[str, Any]) -> str:
    """A rule for ties that does not go by labels."""
    rule = str(policies.get("ties", "doc_desc"))
    return "doc_desc" if rule == "best" else rule


@contextmanager
def cut(rows: int, *, collide: bool = False) -> Iterator[list[int]]:
    """Cut tables into parts of about so many rows; their heights are listed, -1 for one that fails.

    With `collide`, all rows have one hash.
    """
    heights: list[int] = []
    of_part = parts._of_part

    def seen(run: Any, part: Callable[[], pl.DataFrame]) -> pl.DataFrame:
        try:
            found = of_part(run, part)
        except rf.RankframeError:
            heights.append(-1)
            raise
        heights.append(part().height)
        return found

    def same(self: pl.DataFrame | pl.Series, *_: object) -> pl.Series:
        return pl.Series([2**63] * len(self), dtype=pl.UInt64)

    with (
        patch.object(parts, "ROWS_OF_PART", rows),
        patch.object(parts, "ROWS_OF_THREAD", max(rows, 16)),
        patch.object(parts, "_of_part", seen),
        patch.object(pl.DataFrame, "hash_rows", same if collide else pl.DataFrame.hash_rows),
        patch.object(pl.Series, "hash", same if collide else pl.Series.hash),
    ):
        yield heights


CUTS = [(20, SKEWED, False), (1, EVEN[:15], False), (15, [20], False), (5, EVEN[:15], True)]
"""The rows of a part, those of the queries, and whether all have one hash; one query is never cut."""


@each("turn", range(2), sample=len(ASKED))
@each("seed", range(3))
@each("asked", ASKED)
def test_a_result_does_not_depend_on_the_parts_of_its_table(asked: str, seed: int, turn: int) -> None:
    rng, several = random.Random(f"{asked} {seed}"), 0
    for rows, sizes, collide in share(CUTS, turn, 2):
        df, query = table(rng, sizes)
        policies = rng.choice(POLICIES)
        wanted = ASKED[asked](df, query, policies)
        with cut(rows, collide=collide) as heights:
            found = ASKED[asked](df, query, policies)
        several += len(heights) > 1
        assert -1 not in heights  # else the whole table would be computed in one part
        assert ROW not in found.columns
        exact = asked in ("evaluate", "conventions")
        assert_frame_equal(found, wanted, check_exact=exact, rel_tol=1e-12, abs_tol=1e-12)
    assert several


def broken(df: pl.DataFrame, of_query: dict[int, pl.Expr]) -> pl.DataFrame:
    """The table with columns changed in some of its queries."""
    for query, column in of_query.items():
        name = column.meta.output_name()
        df = df.with_columns(pl.when(pl.col("query_id") == query).then(column).otherwise(name).alias(name))
    return df


NAN_SCORE, NAN_LABEL = pl.lit(math.nan).alias("score"), pl.lit(math.nan).alias("label")
TWICE, NAN_OTHER = pl.lit("d").alias("doc_id"), pl.lit(math.nan).alias("other")

FAULTS: dict[str, tuple[dict[int, pl.Expr], Callable[[Any], object], str]] = {
    "one query": ({7: TWICE}, lambda r: r.evaluate("map"), "holds the same 'doc_id' twice"),
    "two queries": ({3: TWICE, 8: NAN_SCORE}, lambda r: r.evaluate("map"), "'score' holds NaN"),
    "several rows": ({3: NAN_LABEL, 8: NAN_LABEL}, lambda r: r.on(unjudged="bounds").evaluate("cg"), "found in 8 rows"),
    "ranks": ({3: TWICE, 8: NAN_SCORE}, lambda r: r.with_ranks(), "'score' holds NaN"),
    "tied": ({}, lambda r: r.on(ties="error").curve("precision"), "share a value of 'score'"),
    "refused label": ({2: pl.lit(9.0).alias("label")}, lambda r: r.ndcg(gain={0: 0, 1: 1}), "label 9"),
    "two refused": (
        {2: pl.lit(9.0).alias("label"), 5: pl.lit(7.0).alias("label")},
        lambda r: r.explain("ndcg(gain={0: 0, 1: 1})"),
        "label",
    ),
    "subtopic twice": (
        {4: pl.lit(["a", "a"]).alias("topics")},
        lambda r: r.on(subtopic="topics").evaluate("nrbp"),
        "names a subtopic twice",
    ),
    "agreement": ({2: NAN_OTHER, 9: TWICE}, lambda r: r.agreement("other", "rbo"), "twice"),
    "other score": ({2: NAN_OTHER}, lambda r: r.agreement("other", "rbo"), "'other' holds NaN"),
    "fuse": ({2: NAN_OTHER, 9: TWICE}, lambda r: r.fuse("rrf", runs=["score", "other"]), "twice"),
    "exposure": ({2: NAN_OTHER}, lambda r: r.items.expected_exposure(runs=["score", "other"]), "'other' holds NaN"),
}


@each(("together", "lazy"), [(False, False), (True, True)])
def test_an_error_does_not_depend_on_the_parts_of_its_table(*, together: bool, lazy: bool) -> None:
    whole = pl.DataFrame({"query_id": [i // 4 for i in range(40)], "doc_id": [f"d{i % 4}" for i in range(40)]})
    whole = whole.with_columns(score=-pl.int_range(40) % 5 / 2, label=pl.int_range(40) % 2 * 1.0)
    whole = whole.with_columns(other="score", topics=pl.concat_list(pl.lit("a"), "doc_id"))
    for name, (faults, asked, says) in FAULTS.items():
        df = broken(whole.with_columns(score=0.0) if name == "tied" else whole, faults)
        df = df if together else df.sample(fraction=1, shuffle=True, seed=5)
        said = set()
        for rows in (100, 20, 4):
            with cut(rows) as heights, pytest.raises(rf.InvalidData, match=says) as caught:
                asked(df.rank).lazy().collect() if not lazy else asked(df.lazy().rank).collect()  # type: ignore[attr-defined]
            said.add(str(caught.value))
            assert (len(heights) > 0) == (rows < df.height), name
        assert len(said) == 1, (name, said)


def test_the_time_of_many_metrics_grows_as_their_number() -> None:
    df = pl.DataFrame({"query_id": [1, 1, 2], "doc_id": [1, 2, 1], "score": [3.0, 2.0, 1.0], "label": [0, 1, 1]})

    def seconds(n: int) -> float:
        start = time.process_time()
        assert df.rank.evaluate(*(f"ndcg@{k}" for k in range(1, n + 1))).width == n + 1
        return time.process_time() - start

    few, many = ([seconds(n) for _ in range(2)] for n in (250, 1_500))
    assert many[1] < 15 * few[1]  # 36 times as long, if it grew as the square
