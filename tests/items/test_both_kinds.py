"""Metrics of queries and metrics of the whole table in one summary."""

from __future__ import annotations

from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rankframe as rf
from rankframe import spark
from rankframe._lift.engine import run as run_on_engine
from rankframe._lift.partial_sums import PartialSums
from rankframe._table.setup import Setup
from rankframe._verbs.call.declaration import call_of_verb, verb_of
from rankframe._verbs.items.summarize import summarize
from tests.support.each import each

USERS = 12
rng = np.random.default_rng(4)
RECS = pl.DataFrame(
    {
        "query_id": np.repeat(np.arange(USERS), 3),
        "doc_id": np.concatenate([rng.choice(9, 3, replace=False) for _ in range(USERS)]),
        "score": [3.0, 2.0, 1.0] * USERS,
        "other": [1.0, 2.0, 3.0] * USERS,
        "label": rng.integers(0, 2, 3 * USERS),
        "age": np.repeat(["old", "young"], 3 * USERS // 2),
    }
)
TRAIN = pl.DataFrame({"query_id": np.arange(USERS), "doc_id": rng.integers(0, 9, USERS)})
ITEMS = pl.DataFrame({"doc_id": range(10)})
ON: dict[str, Any] = {"interactions": TRAIN, "items": ITEMS}
ASKED = ("ndcg@2", "novelty@2", "coverage@2", "gini@2", "precision@1")


@pytest.mark.filterwarnings("ignore:the interval of novelty@2 over 12 queries is Student's t")
def test_both_kinds_have_the_figures_of_their_own_verbs_in_the_order_given() -> None:
    ranker = RECS.rank.on(**ON)
    found = ranker.summarize(*ASKED, resamples=500)
    assert found["metric"].to_list() == [*ASKED]
    whole = pl.col("metric").is_in(["coverage@2", "gini@2"])
    alone = ranker.summarize("ndcg@2", "novelty@2", "precision@1", resamples=500)
    assert_frame_equal(found.filter(~whole), alone)
    catalog = ranker.items.catalog("coverage@2", "gini@2", resamples=500)
    shown = found.filter(whole).select("metric", pl.col("mean").alias("value"), "ci_low", "ci_high", "n_queries")
    assert_frame_equal(shown, catalog.drop("n_items"))
    assert found.filter(whole).select("std", "total", "interval").rows() == [(None, None, "percentile")] * 2


def test_coverage_is_the_share_of_the_catalog_that_lists_show() -> None:
    top = RECS.filter(pl.col("score") > 1)
    found = RECS.rank.on(**ON).summarize("coverage@2", ci=None)
    assert found["mean"].item() == top["doc_id"].n_unique() / 10
    assert found.columns == ["metric", "n_queries", "std", "total", "mean"]


def test_intervals_take_at_most_a_thousand_resamples_of_users() -> None:
    ranker = RECS.rank.on(**ON)
    assert_frame_equal(ranker.summarize("coverage@2"), ranker.summarize("coverage@2", resamples=1_000))


def test_slices_and_runs_are_those_of_both() -> None:
    ranker = RECS.rank.on(**ON)
    by = ranker.summarize("rr", "coverage@2", by="age", ci=None)
    assert by.select("age", "metric", "n_queries").rows() == [
        ("old", "rr", 6), ("young", "rr", 6), ("old", "coverage@2", 6), ("young", "coverage@2", 6),
    ]  # fmt: skip
    runs = ranker.summarize("coverage@1", "rr", runs=["score", "other"], ci=None)
    assert runs.select("run", "metric").rows() == [
        ("score", "coverage@1"), ("score", "rr"), ("other", "coverage@1"), ("other", "rr"),
    ]  # fmt: skip
    for run in ("score", "other"):
        first = RECS.filter(pl.col(run) == 3)["doc_id"].n_unique() / 10
        assert runs.filter(run=run, metric="coverage@1")["mean"].item() == first
    long = pl.concat([RECS.with_columns(system=pl.lit("a")), RECS.with_columns(system=pl.lit("b"), score="other")])
    of_column = long.rank.on(**ON).summarize("coverage@1", "rr", run="system", by="age", ci=None)
    assert of_column.columns[:2] == ["system", "age"]
    assert of_column.height == 8


def test_a_single_user_has_no_interval() -> None:
    found = RECS.head(3).rank.on(**ON).summarize("coverage@2", "precision@1")
    assert found.select("ci_low", "ci_high", "interval").rows() == [(None, None, None)] * 2


def test_texts_functions_calls_and_lists_of_texts_name_both_kinds() -> None:
    @rf.catalog_metric(bounds=(0, None))
    def shown_items(e: rf.Exposure, k: int | None = None) -> pl.Expr:
        """How many items are shown."""
        return (e.shown(k) > 0).sum()

    ranker = RECS.rank.on(**ON)
    try:
        (call,) = rf.parse("gini@2", rf.CATALOG_METRICS)
        found = ranker.summarize("rr,coverage@2", call, shown_items, pl.col("label").sum(), rf.value(pl.len()), ci=None)
    finally:
        rf.unregister("shown_items")
    assert found["metric"].to_list() == ["rr", "coverage@2", "gini@2", "shown_items", "label", "value:len"]
    assert found.filter(metric="shown_items")["mean"].item() == RECS["doc_id"].n_unique()


@each("kind", ["lazy", "pandas"])
def test_other_frames_have_the_same_summary(kind: str) -> None:
    expected = RECS.rank.on(**ON).summarize(*ASKED, by="age", resamples=200, interval="percentile")
    frame: Any = RECS.lazy() if kind == "lazy" else RECS.to_pandas()
    found = frame.rank.on(**ON).summarize(*ASKED, by="age", resamples=200, interval="percentile")
    found = found.collect() if kind == "lazy" else pl.from_pandas(found)
    assert_frame_equal(found, expected, check_dtypes=kind == "lazy")


@each(
    ("ask", "said"),
    [
        (lambda x: x.summarize("coverage@2", weights="label"), "coverage@2 is no mean of queries .* weights='label'"),
        (lambda x: x.summarize("coverag@2"), "unknown metric 'coverag' in 'coverag@2'. Did you mean 'coverage'"),
        (lambda x: x.compare("coverage@2", runs=["score", "other"]), "unknown metric 'coverage'"),
        (lambda x: x.summarize("coverage@2", runs=["score", "none"]), "no column 'none' for runs"),
    ],
)
def test_what_no_summary_of_both_can_be_made_of_is_refused(ask: Any, said: str) -> None:
    with pytest.raises(rf.RankframeError, match=said):
        ask(RECS.rank.on(**ON))


def test_a_metric_that_lacks_the_catalog_says_so() -> None:
    with pytest.raises(rf.InvalidOption, match="say items=1000"):
        RECS.rank.summarize("rr", "coverage@2")


def test_a_table_in_parts_refuses_metrics_of_the_whole() -> None:
    engine: Any = type(
        "Engine", (), {"schema": lambda self, table, read: table.clear(), "name": "frame", "advice": ""}
    )()
    call = call_of_verb(summarize, "rr", "coverage@2")
    with pytest.raises(
        rf.InvalidOption, match="coverage@2 looks at the lists of all users, of which each worker has a part"
    ):
        run_on_engine(engine, RECS, Setup(), call)
    alone: Any = call_of_verb(summarize, "rr", ci=None).mergeable(Setup())
    assert [call.text for call in alone.calls] == ["rr"]


def test_every_front_reads_the_one_declaration_of_summarize() -> None:
    declared = {name: x.default for name, x in verb_of(summarize).parameters.items() if name not in ("runs", "run")}
    for front in (RECS.rank.summarize, RECS.to_pandas().rank.summarize, rf.summarize):
        there = signature(front).parameters
        assert {name: there[name].default for name in declared} == declared
    for name in ("by", "ci"):
        assert signature(PartialSums.summarize).parameters[name].default == declared[name]
    assert spark.summarize_verb is summarize
    assert "metrics of the whole table, such as" in " ".join(RECS.rank.summarize.__doc__.split())
    verbs = Path(rf.__file__).parent / "_verbs"
    assert [path.stem for path in verbs.rglob("*.py") if "def summarize(" in path.read_text("utf-8")] == ["summarize"]
