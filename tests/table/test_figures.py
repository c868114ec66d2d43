"""The figures of a table are those of plain Python, those of a sample raise each suspicion, and good tables need no others."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from typing import Any

import numpy as np
import polars as pl
import pytest

import rankframe as rf
from rankframe._table.columns import Columns
from rankframe._table.figures import Figures, together
from rankframe._table.findings import findings_of
from rankframe._table.setup import Setup
from rankframe._verbs.call import running as watch

CATEGORIES = ["Action|Comedy", "Comedy|Drama", "Drama", "War|Drama", "Horror, War"]
POLICIES: list[dict[str, Any]] = [
    {},
    {"ascending": True},
    {"unjudged": "drop"},
    {"unjudged": "drop", "depth": 5},
    {"unretrieved": "drop"},
    {"scores": "float32"},
    {"relevant": 2},
    {"relevant": 0},
    {"ties": "order"},
    {"no_relevant": "null"},
]
SAMPLES = 250


def some_table(rng: np.random.Generator) -> tuple[pl.DataFrame, dict[str, Any]]:
    """A table with ties, nulls, one or many queries, and ids and scores of any type; and options for it."""
    queries, docs = int(rng.choice([1, 9, 10, 40, 300])), int(rng.choice([1, 2, 8, 30]))
    n, kinds = queries * docs, int(rng.integers(1, 6))
    label = rng.integers(0, rng.choice([2, 5]), n) * rng.choice([1, 0.5, 0.1])
    lift, digits = rng.choice([-3, -1, -0.3, 0, 2]), int(rng.choice([-1, 0, 1, 9]))
    score = np.round(rng.normal(size=n) + lift * label, digits)
    df = pl.DataFrame(
        {
            "query_id": np.repeat(np.arange(queries), docs) % rng.choice([queries, 10**6]),
            "doc_id": rng.permutation(n) if rng.random() < 0.5 else np.tile(np.arange(docs), queries),
            "score": score,
            "label": label,
            "genre": [CATEGORIES[i % kinds] for i in range(n)],
        }
    )
    shapes: list[Any] = [
        lambda x: x,
        lambda x: x.sample(fraction=1, shuffle=True, seed=1),
        lambda x: x.with_columns(pl.col("query_id", "doc_id").cast(pl.String)),
        lambda x: x.with_columns(query_id=pl.when(pl.col("query_id") > 0).then("query_id")),
        lambda x: x.with_columns(score=pl.when(pl.col("doc_id") % 3 > 0).then("score")),
        lambda x: x.with_columns(label=pl.when(pl.col("doc_id") % 3 > 0).then("label")),
        lambda x: x.with_columns(score=pl.col("score").round().cast(pl.Int64) + 2**60),
        lambda x: x.with_columns(pl.col("score").round().cast(pl.Int128) + 2**60),
        lambda x: x.with_columns(pl.col("score") > 0),
        lambda x: x.with_columns(pl.col("score").rank("ordinal", descending=True).over("query_id")),
        lambda x: x.with_columns(score=pl.lit(1.5)),
        lambda x: x.with_columns(label=pl.lit(None, pl.Int64)),
        lambda x: x.with_columns(pl.col("label").ceil() + 1),
        lambda x: x.with_columns(doc_id="query_id", query_id=pl.int_range(pl.len())),
    ]
    df = shapes[rng.integers(len(shapes))](df)
    options: dict[str, Any] = {**POLICIES[rng.integers(len(POLICIES))], "category": "genre"}
    name = str(rng.choice(["score", "rank", "distance"], p=[0.6, 0.2, 0.2]))
    options |= {"score": name}
    if rng.random() < 0.2:
        options |= {"subtopic": "genre", "category": None}
    if rng.random() < 0.2:
        df, options["query"] = df.with_columns(day=pl.col("score").is_null()), ["day", "query_id"]
    return df.rename({"score": name}), options


def raised(setup: Setup, found: Any) -> list[str]:
    """The suspicions that figures raise, of those with which a number warns."""
    return [x.name for x in findings_of(setup) if x.warns_of(setup, found)]


def oracle(df: pl.DataFrame, setup: Setup) -> dict[str, Any]:
    """The figures in plain Python: pairs are counted one by one."""
    roles, policies = setup.roles, setup.policies
    rows = df.with_columns(pl.col(roles.score).cast(pl.Float32) if policies.scores == "float32" else roles.score)
    labels = rows[roles.label].cast(pl.Float64)
    scores = [
        None if policies.drops_first and not (label is not None and label >= 0) else score
        for score, label in zip(rows[roles.score], labels, strict=True)
    ]
    queries: dict[Any, list[tuple[Any, float]]] = {}
    labels_of: dict[Any, list[float | None]] = {}
    for key, score, label in zip(df.select(roles.query).rows(), scores, labels, strict=True):
        queries.setdefault(key, []).append((score, max(label or 0, 0)))
        if score is not None:
            labels_of.setdefault(key, []).append(label)
    labels_of_lists, relevant = list(labels_of.values()), max(policies.relevant, 0)
    aucs, chance, ranks = [], 0.0, 0
    lists = [[(s, gain) for s, gain in rows if s is not None] for rows in queries.values()]
    lists = [rows for rows in lists if rows]
    for rows_of_query in lists:
        n, mean = len(rows_of_query), statistics.fmean(gain for _, gain in rows_of_query)
        high = [s for s, gain in rows_of_query if gain > mean * (1 + 1e-9)]
        low = [s for s, gain in rows_of_query if not gain > mean * (1 + 1e-9)]
        ranks += not policies.ascending and sorted(s for s, _ in rows_of_query) == [*range(1, n + 1)]
        if high and low:
            auc = statistics.fmean(1.0 if x > y else 0.5 if x == y else 0.0 for x in high for y in low)
            aucs.append(1 - auc if policies.ascending else auc)
            chance += (n + 1) / (12 * len(high) * len(low))
    ties = [ties_of(rows) for rows in lists]
    values = Counter(score for groups in ties for score, gains in groups.items() for _ in gains)
    most = max(values.values(), default=0)
    value = min((score for score, n in values.items() if n == most), default=math.nan)
    there = [x for x in labels if x is not None]
    spread = statistics.variance(aucs) * len(aucs) if len(aucs) > 1 else 0
    return {
        "rows": df.height,
        "labelled": len(there),
        "judged": sum(x >= 0 for x in there),
        "both": sum(s is not None and x is not None and x >= 0 for s, x in zip(scores, labels, strict=True)),
        "relevant": sum(x >= policies.relevant for x in there),
        "between 0 and 1": sum(0 < x < 1 for x in there),
        "positive": sum(x > 0 for x in there),
        "least label": min(there, default=math.nan),
        "most label": max(there, default=math.nan),
        "retrieved": sum(s is not None for s in scores),
        "queries": len(queries),
        "retrieving": len(lists),
        "several": sum(len(rows) > 1 for rows in lists),
        "ranks": ranks,
        "gaps": sum(map(left_out, lists)) if policies.ascending else 0,
        "tied": sum(values.values()),
        "tied with other labels": sum(len(gains) for groups in ties for gains in groups.values() if len({*gains}) > 1),
        "the value": math.nan if isinstance(value, bool) else value,
        "of the value": most,
        "queries of the value": sum(value in groups for groups in ties),
        "lists without relevant": sum(
            not any(x is not None and x >= relevant for x in labels) for labels in labels_of_lists
        ),
        "longest": [len(x) for x in lists].count(max(map(len, lists), default=0)),
        "unjudged of judged lists": sum(
            labels.count(None) for labels in labels_of_lists if any(x is not None for x in labels)
        ),
        "ordered": len(aucs),
        "mean": statistics.fmean(aucs) if aucs else math.nan,
        "standard error": math.sqrt(max(spread, chance)) / len(aucs) if aucs else 0,
    }


def left_out(rows: list[tuple[Any, float]]) -> int:
    """The number of documents, if their scores are whole numbers from 1 on of which some are left out."""
    ranks = {float(score) for score, _ in rows}
    whole = all(rank >= 1 and rank.is_integer() for rank in ranks)
    return len(rows) if whole and max(ranks) > len(ranks) else 0


def ties_of(rows: list[tuple[Any, float]]) -> dict[Any, list[float]]:
    """The gains of the documents of each score that several have."""
    groups: dict[Any, list[float]] = {}
    for score, gain in rows:
        groups.setdefault(score, []).append(gain)
    return {score: gains for score, gains in groups.items() if len(gains) > 1}


def is_near(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-9) or (math.isnan(one) and math.isnan(other))


def test_the_figures_are_those_of_plain_python_and_a_sample_raises_every_suspicion_that_they_raise() -> None:
    rng, seen = np.random.default_rng(0), set[str]()
    for _ in range(SAMPLES):
        df, options = some_table(rng)
        setup = Columns.of(Setup().on(**options), df.schema).setup
        figures = Figures(df, setup)
        if setup.roles.subtopic is None:
            for name, wanted in oracle(df, setup).items():
                assert is_near(figures[name], wanted), (name, df, options)
        found, held = raised(setup, figures), raised(setup, Figures(df, setup, sample=True))
        assert {*found} <= {*held}, (df, options)
        assert all(problem.endswith("separators") for problem in {*held} - {*found})  # some texts with one are enough
        seen.update(found)
    assert len(seen) == 14, seen  # all that warn


def test_the_figures_of_parts_are_put_together() -> None:
    rng = np.random.default_rng(3)
    for _ in range(20):
        df, options = some_table(rng)
        setup = Columns.of(Setup().on(**options), df.schema).setup
        query = [pl.struct(setup.roles.query).rank("dense") % 3 == i for i in range(3)]
        parts = [part for part in (df.filter(of) for of in query) if part.height]
        found, whole = together([Figures(part, setup) for part in parts]), Figures(df, setup)
        for name in found:
            of_parts = name in ("docs", "alike", "longest") or name.endswith("the value")  # of what several parts have
            if not of_parts and not isinstance(found[name], str):
                assert is_near(found[name], whole[name]), (name, df, options)


ORDINARY = {
    "integers": lambda x: x,
    "texts": lambda x: x.with_columns(pl.col("query_id", "doc_id").cast(pl.String)),
    "shuffled": lambda x: x.sample(fraction=1, shuffle=True, seed=1),
    "ties": lambda x: x.with_columns(pl.col("score").round(2)),
    "nulls": lambda x: x.with_columns(score=pl.when(pl.col("doc_id") % 7 > 0).then("score")),
    "one query": lambda x: x.filter(query_id=0),
    "categories": lambda x: x.with_columns(genre=pl.lit("Drama")),
}


def test_the_exact_figures_of_ordinary_tables_are_not_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    computed: list[object] = []
    monkeypatch.setattr(watch, "together", lambda *x, **_: computed.append(x))
    rng = np.random.default_rng(1)
    for queries in (1, 50, 300):
        label = (rng.random(queries * 20) < 0.3).astype(int)
        df = pl.DataFrame(
            {
                "query_id": np.repeat(np.arange(queries), 20),
                "doc_id": np.tile(np.arange(20), queries),
                "score": rng.normal(size=len(label)) + label,
                "label": label,
            }
        )
        for change in ORDINARY.values():
            ordinary = change(df)
            ranked = ordinary.rank.on(category="genre") if "genre" in ordinary.columns else ordinary.rank
            ranked.evaluate("ndcg@10", "category_diversity@5" if "genre" in ordinary.columns else "map")
    df.lazy().rank.on(memory_limit=100_000).evaluate("map").collect()
    assert not computed


def test_parts_with_few_rows_are_looked_at_together() -> None:
    """Nine queries in a part raise no suspicion; those of all parts do."""
    df = pl.DataFrame(
        {"query_id": np.repeat(np.arange(90), 4), "doc_id": np.arange(360), "score": np.arange(360) % 4 * 1.0}
    ).with_columns(label=(pl.col("score") == 0).cast(pl.Int64))
    calls = rf.parse("map")
    watching = watch.Watch(Setup(), calls)
    for part in range(10):
        watching.see(df.filter(pl.col("query_id") // 9 == part))
    assert not watching.found
    watching._look()
    assert [x.name for x in watching.last] == ["labels fall as scores rise"]
