"""Decisions about a LazyFrame have the figures of the table in memory, and hold values per query instead of its rows."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rankframe as rf
from rankframe._pictures import explored_queries
from rankframe._plan import node
from rankframe._verbs.call import running
from rankframe._verbs.measure.paired_values import ValuesOfRuns
from tests.support.each import each
from tests.support.undrawn import unpainted

QUERIES, DOCUMENTS = 64, 6
ROWS = QUERIES * DOCUMENTS


def of_two_runs() -> pl.DataFrame:
    """Rows in no order of their queries: labels by people and by a model, two runs, what is known of each query."""
    rng = np.random.default_rng(5)
    query = np.repeat(np.arange(QUERIES), DOCUMENTS)
    label = rng.integers(0, 3, ROWS)
    quality = rng.normal(size=QUERIES)[query]
    columns = {
        "query_id": pl.Series([f"q{i}" for i in query]),
        "doc_id": pl.Series([f"d{i % DOCUMENTS}" for i in range(ROWS)]),
        "label": pl.Series(label),
        "llm": pl.Series(np.clip(label + rng.integers(-1, 2, ROWS), 0, 2)),
        "old": pl.Series((label + 2 * quality * rng.normal(size=ROWS)).round(2)),
        "new": pl.Series((label + quality * rng.normal(size=ROWS)).round(2)),
        "other": pl.Series(rng.normal(size=ROWS).round(2)),
        "market": pl.Series([("fr", "de", None)[i % 3] for i in query]),
        "users": pl.Series(query % 5 + 1),
        "day": pl.Series(query % 4),
        "before": pl.Series(quality.round(3)),
    }
    return pl.DataFrame(columns).sample(fraction=1, shuffle=True, seed=2)


DF = of_two_runs().with_columns(clicked=(pl.col("label") > 0).cast(pl.Int64))
PARTLY = DF.with_columns(label=pl.when(pl.col("day") < 2).then("label"))
"""The same, where people judged half of the queries."""
LONG = pl.concat(
    DF.select("query_id", "doc_id", "label", "market", "day", score=name, system=pl.lit(name))
    for name in ("new", "old", "other")
).sample(fraction=1, shuffle=True, seed=3)  # fmt: skip
TWO: dict[str, Any] = {"runs": ["old", "new"], "resamples": 500, "progress": False}
NAMED: dict[str, Any] = {"run": "system", "resamples": 500, "progress": False}

DECISIONS: dict[str, tuple[pl.DataFrame, Callable[[Any], Any]]] = {
    "compare": (DF, lambda x: x.compare("ndcg@5", "map", "err(max_label=2)", by="market", **TWO)),
    "compare with weights": (DF, lambda x: x.compare("rr", "gm_map", weights="users", **TWO)),
    "compare runs of a column": (LONG, lambda x: x.compare("map", by="market", test="tukey", **NAMED)),
    "compare rankings": (DF, lambda x: x.compare("rpp", "rr", **TWO)),
    "compare by Bayes": (DF, lambda x: x.compare("map", test="bayes", rope=0.01, **TWO)),
    "compare at looks": (DF, lambda x: x.compare("map", test="sequential", look="day", **TWO)),
    "compare in the table's order": (DF, lambda x: x.compare("map", test="sequential", **TWO)),
    "compare, adjusted": (PARTLY, lambda x: x.compare("map", adjust="before", **TWO)),
    "compare by a model's labels": (PARTLY, lambda x: x.compare("map", model_labels="llm", **TWO)),
    "gate": (DF, lambda x: x.gate({"ndcg@5": 0.1, "err(max_label=2)": 0.05}, by="market", weights="users", **TWO)),
    "gate of a column of runs": (LONG, lambda x: x.gate("map", margin=0.1, baseline="old", **NAMED)),
    "gate at looks": (DF, lambda x: x.gate("map", margin=0.1, sequential=True, **TWO)),
    "power": (DF, lambda x: x.power("map", "rr", difference=[0.02, 0.1], by="market", runs=["old", "new"])),
    "compare_groups": (
        DF,
        lambda x: x.on(score="old").compare_groups("map", "rr", by="market", resamples=200, progress=False),
    ),
    "reliability": (
        DF,
        lambda x: x.collection.reliability("map", "rr", runs=["old", "new", "other"], halves=10, resamples=50),
    ),
}
A_THIRD = node.size_of(DF) // 3
"""The bytes of a third of the table."""
FRAMES = ("table", "per_query", "per_query_delta", "ranks", "failures", "moved", "state", "groups")
KINDS: dict[str, dict[str, Any]] = {"in memory": {}, "spilled": {"memory_limit": 1}, "grouped": {"grouped": True}}


@contextmanager
def in_small_batches(room: int = 0) -> Iterator[list[int]]:
    """Batches of any size, or of some bytes, are worth it; gives the number of rows of each that values come from."""
    sizes: list[int] = []
    measured = ValuesOfRuns.__call__

    def seen(work: ValuesOfRuns, part: Any) -> pl.DataFrame:
        sizes.append(part.rows.height)
        return measured(work, part)

    with patch.object(node, "LEAST_ROOM", room), patch.object(ValuesOfRuns, "__call__", seen):
        yield sizes


def frames_of(result: Any) -> dict[str, pl.DataFrame]:
    """The frames of a result by their names."""
    if isinstance(result, pl.DataFrame | pl.LazyFrame):
        return {"": result.lazy().collect()}
    found = {name: getattr(result, name, None) for name in FRAMES}
    return {name: frame.lazy().collect() for name, frame in found.items() if frame is not None}


@each("kind", KINDS)
@each("decision", DECISIONS, sample=len(DECISIONS))
def test_figures_and_their_order_are_those_of_the_table_in_memory(decision: str, kind: str) -> None:
    df, ask = DECISIONS[decision]
    df = df.sort("query_id", maintain_order=True) if kind == "grouped" else df
    wanted = ask(df.rank)
    with in_small_batches():
        found = ask(df.lazy().rank.on(**KINDS[kind]))
    assert frames_of(found).keys() == frames_of(wanted).keys()
    for name, frame in frames_of(wanted).items():
        assert_frame_equal(frames_of(found)[name], frame, check_exact=True)
    if kind == "in memory" and hasattr(wanted, "settings"):
        assert found.settings == wanted.settings
        assert found.sentences() == wanted.sentences()


def test_values_come_from_batches_and_documents_from_the_rows_of_queries_that_moved() -> None:
    read: list[int] = []
    rows_of = running.BatchesOfPlan.of_queries

    def seen(parts: running.BatchesOfPlan, queries: pl.DataFrame) -> Any:
        table = rows_of(parts, queries)
        read.append(table.rows.height)
        return table

    with in_small_batches() as sizes, patch.object(running.BatchesOfPlan, "of_queries", seen):
        verdict = DF.lazy().rank.on(memory_limit=1).gate("map", margin=0.1, most_moved=3, **TWO)
    assert max(sizes) < ROWS / 3  # of the table, in three buckets and more
    assert sum(sizes) == ROWS
    assert read == [3 * DOCUMENTS]
    assert verdict.moved.collect()["query_id"].n_unique() == 3


def test_the_largest_label_is_that_of_the_whole_table_also_for_documents_of_queries_that_moved() -> None:
    one = pl.col("query_id") == "q7"  # which does not move, so that the second pass does not see its labels
    label, new = (pl.when(one).then(x).otherwise(y) for x, y in ((2 * pl.col("label"), "label"), ("old", "new")))
    top = DF.with_columns(label=label, new=new)
    with in_small_batches(), pytest.warns(rf.errors.RankframeWarning, match="err takes 4, the largest label"):
        verdict = top.lazy().rank.on(memory_limit=1).gate("err", margin=0.1, most_moved=2, **TWO)
    wanted = top.rank.gate("err(max_label=4)", margin=0.1, most_moved=2, **TWO)
    assert_frame_equal(verdict.table.collect().drop("metric"), wanted.table.drop("metric"), check_exact=True)
    assert_frame_equal(verdict.moved.collect().drop("metric"), wanted.moved.drop("metric"), check_exact=True)


@each("limit", [None, 1])
def test_a_run_in_which_nothing_can_be_measured_is_refused_and_one_that_looks_wrong_warns(limit: int | None) -> None:
    reversed_run = LONG.with_columns(score=pl.when(pl.col("system") == "old").then(-pl.col("label")).otherwise("score"))
    unlabelled = DF.with_columns(label=pl.lit(0))
    with in_small_batches():
        for rows in (reversed_run, reversed_run.lazy()):
            with pytest.warns(rf.errors.RankframeWarning, match="of system 'old'"):
                rows.rank.on(memory_limit=limit).compare("ndcg@5", **NAMED)
        for rows in (unlabelled, unlabelled.lazy()):
            with pytest.raises(rf.InvalidData, match="no document of any query is relevant"):
                rows.rank.on(memory_limit=limit).gate("map", margin=0.1, **TWO)


def test_what_is_wrong_is_told_by_the_call_with_the_columns_of_the_table() -> None:
    with pytest.raises(rf.MissingColumn, match=r"no column 'older' .*llm"):
        DF.lazy().rank.compare("map", runs=["older", "new"])
    with pytest.raises(rf.InvalidData, match="column 'new' holds NaN"):
        DF.lazy().with_columns(new=pl.col("new") * float("nan")).rank.on(memory_limit=1).compare("map", **TWO)


PLOTS: dict[str, Callable[[Any], Any]] = {
    "differences": lambda x: x.plot.differences("map", runs=["old", "new"]),
    "distribution": lambda x: x.plot.distribution("map", runs=["old", "new"]),
    "slices": lambda x: x.plot.slices("map", by="market", runs=["old", "new"]),
    "over": lambda x: x.plot.over("map", by="day", runs=["old", "new"]),
    "precision_recall": lambda x: x.plot.precision_recall(runs=["old", "new"]),
    "sequential": lambda x: x.plot.sequential("err", runs=["old", "new"]),
    "curve": lambda x: x.plot.curve("err", "recall", runs=["old", "new"], by="market"),
    "judged": lambda x: x.on(score="old").plot.judged("err", by="market"),
    "overlap": lambda x: x.plot.overlap(runs=["old", "new", "other"], k=2),
    "contributions": lambda x: x.plot.contributions("rrf", runs=["old", "new"], k=3),
    "trade_off": lambda x: x.plot.trade_off("rr", "err", runs=["old", "new"]),
    "exposure": lambda x: x.plot.exposure(3, items=8, weight="log2", runs=["old", "new"]),
    "catalog": lambda x: x.plot.catalog("gini", items=8, cutoffs=[1, 2], runs=["old", "new"]),
    "long_tail": lambda x: x.plot.long_tail(3, interactions=DF.filter(pl.col("label") > 0), runs=["old", "new"]),
    "propensities": lambda x: x.on(score="old", label="clicked").plot.propensities(context="market", k=4),
}


@each("plot", PLOTS, sample=len(PLOTS) // 2)
def test_a_plot_is_that_of_the_table_in_memory_and_never_collects_its_rows(plot: str) -> None:
    with in_small_batches(A_THIRD), collecting() as heights:
        found = PLOTS[plot](DF.lazy().rank.on(memory_limit=1)).to_dict()
    assert max(heights) < DF.height
    assert rounded(found) == rounded(PLOTS[plot](DF.rank).to_dict())


def test_a_plot_of_runs_of_a_column_has_them_in_the_order_of_the_table() -> None:
    with in_small_batches():
        found = LONG.lazy().rank.on(memory_limit=1).plot.differences("map", run="system").to_dict()
    assert found == LONG.rank.plot.differences("map", run="system").to_dict()


def rounded(figure: Any) -> Any:
    """A picture without the last digits of its numbers, which depend on the order of sums, and without names made of them."""
    if isinstance(figure, dict):
        return {re.sub("[0-9a-f]{32}", "", name): rounded(value) for name, value in figure.items() if name != "name"}
    if isinstance(figure, list):
        return [rounded(value) for value in figure]
    return float(f"{figure:.12g}") if isinstance(figure, float) else figure


REPORTS: dict[str, tuple[pl.DataFrame, Callable[[Any, str], Any]]] = {
    "of a column of runs": (
        LONG,
        lambda x, path: x.report(path, "err", run="system", baseline="old", by="market", fusion="rrf", resamples=99),
    ),
    "of items": (
        DF.with_columns(label=pl.when(pl.col("day") > 0).then("label"), score="old"),
        lambda x, path: x.on(items=8, interactions=DF.head(99)).report(path, "precision@2", resamples=99, show="users"),
    ),
}


@contextmanager
def collecting() -> Iterator[list[int]]:
    """The heights of all frames that are collected from a plan."""
    heights: list[int] = []
    collect = pl.LazyFrame.collect

    def seen(plan: pl.LazyFrame, **how: Any) -> pl.DataFrame:
        found = collect(plan, **how)
        heights.append(found.height)
        return found

    with patch.object(pl.LazyFrame, "collect", seen):
        yield heights


def told(page: str) -> str:
    """A page without its time, its limit of memory, and the last digits of its numbers, which depend on the order of sums."""
    page = re.sub(r'data-number="([^"]+)"', lambda number: f"{float(number[1]):.12g}", page)
    for own in (r"\d{4}-\d\d-\d\dT[\d:]+\+00:00", "\n<tr><th.*>memory_limit<.*", "memory_limit&#34;: (1|null),"):
        page = re.sub(own, "", page)
    return page


@each("report", REPORTS)
def test_a_report_is_that_of_the_table_in_memory_and_never_collects_its_rows(report: str, tmp_path: Path) -> None:
    df, ask = REPORTS[report]
    # a page holds the rankings of few of a large table's queries, as here of 20 of 48
    with unpainted(), patch.object(explored_queries, "RANKINGS", 20):
        wanted = ask(df.rank, f"{tmp_path}/eager.html").read_text("utf-8")
        with in_small_batches(A_THIRD), collecting() as heights:
            found = ask(df.lazy().rank.on(memory_limit=1), f"{tmp_path}/lazy.html").read_text("utf-8")
    assert told(found) == told(wanted)
    assert max(heights) < df.height
