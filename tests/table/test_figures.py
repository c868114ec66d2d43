"""The quick figures of a sample raise each suspicion that the exact figures of the same rows raise, and good tables need no others."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
import pytest

import rankframe as rf
from rankframe._plan import watch
from rankframe._table.columns import Columns
from rankframe._table.figures import QuickFigures, figures, totals
from rankframe._table.setup import Setup
from rankframe._table.suspicions import suspicions_of

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
    return [x.problem for x in suspicions_of(setup) if x.warns(setup, found) and x.holds(setup, found)]


def test_the_quick_figures_raise_every_suspicion_that_the_exact_ones_raise() -> None:
    rng, seen = np.random.default_rng(0), set[str]()
    for _ in range(SAMPLES):
        df, options = some_table(rng)
        setup = Setup().on(**options)
        table = Columns.of(setup, df.schema)
        (exact,) = totals(figures(df.lazy(), table)).collect().to_dicts()
        exact = {name: math.nan if x is None else x for name, x in exact.items()}
        quick = QuickFigures(df, table.setup, ranked=True)
        found, held = raised(table.setup, exact), raised(table.setup, quick)
        assert {*found} <= {*held}, (df, options)
        assert all(problem.endswith("separators") for problem in {*held} - {*found})  # some texts with one are enough
        seen.update(found)
        for name in ("rows", "labelled", "both", "relevant", "between", "positive", "retrieved", "queries", "several"):
            assert quick[name] == exact[name], (name, df, options)
        assert quick["ordered"] == exact["ordered"]
        if quick["ordered"] > 1:
            assert quick["mean"] == pytest.approx(exact["mean"], abs=2e-9)
            assert quick["mean"] < exact["mean"]
            assert quick["standard error"] == pytest.approx(exact["standard error"], abs=2e-8)
    assert len(seen) == 10, seen  # all that warn


ORDINARY = {
    "integers": lambda x: x,
    "texts": lambda x: x.with_columns(pl.col("query_id", "doc_id").cast(pl.String)),
    "shuffled": lambda x: x.sample(fraction=1, shuffle=True, seed=1),
    "ties": lambda x: x.with_columns(pl.col("score").round()),
    "nulls": lambda x: x.with_columns(score=pl.when(pl.col("doc_id") % 7 > 0).then("score")),
    "one query": lambda x: x.filter(query_id=0),
    "categories": lambda x: x.with_columns(genre=pl.lit("Drama")),
}


def test_the_exact_figures_of_ordinary_tables_are_not_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    computed: list[object] = []
    monkeypatch.setattr(watch, "figures", lambda *x, **_: computed.append(x))
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
    assert [x.problem for x in watching.last[0]] == ["labels fall as scores rise"]
