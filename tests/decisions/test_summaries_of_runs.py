"""Values, means and summaries of several runs: columns of scores, a column that names the run, or a table for each."""

from __future__ import annotations

from typing import Any

import pandas as pd
import polars as pl
import pytest

import rankframe as rf
from tests.support.each import each

DF = pl.DataFrame(
    {
        "query_id": [1, 1, 2, 2],
        "doc_id": list("abab"),
        "old": [1.0, 2.0, 1.0, 2.0],
        "new": [2.0, 1.0, 1.0, 2.0],
        "label": [1, 0, 1, 0],
        "market": ["de", "de", "fr", "fr"],
    }
)
"""The old run has the relevant document second in both queries, the new one first in query 1."""
STACKED = pl.concat(
    [DF.select("query_id", "doc_id", "label", "market", score=run, system=pl.lit(run)) for run in ("old", "new")]
)
KINDS: dict[str, Any] = {"eager": lambda df: df, "lazy": lambda df: df.lazy(), "pandas": lambda df: df.to_pandas()}


def rows(found: Any, *columns: str) -> list[tuple[Any, ...]]:
    frame = found.collect() if isinstance(found, pl.LazyFrame) else found
    frame = frame if isinstance(frame, pl.DataFrame) else pl.from_pandas(frame)
    return sorted(frame.select(columns or pl.all()).rows())


@each("kind", KINDS)
def test_score_columns_have_a_row_per_run(kind: str) -> None:
    ranker = KINDS[kind](DF).rank
    assert rows(ranker.mean("rr", "P@1", runs=["old", "new"])) == [("new", 0.75, 0.5), ("old", 0.5, 0.0)]
    found = ranker.summarize("rr", runs=["old", "new"], ci=None)
    assert rows(found, "run", "metric", "n_queries", "mean") == [("new", "rr", 2, 0.75), ("old", "rr", 2, 0.5)]


@each("kind", KINDS)
def test_a_column_that_names_the_run_is_the_first_column_of_the_result(kind: str) -> None:
    ranker = KINDS[kind](STACKED).rank
    assert rows(ranker.mean("rr", run="system"), "system", "rr") == [("new", 0.75), ("old", 0.5)]
    assert rows(ranker.summarize("rr", run="system", ci=None), "system", "mean") == [("new", 0.75), ("old", 0.5)]
    query = ["system", "query_id"]  # the run may be a query column already
    assert rows(ranker.on(query=query).mean("rr", run="system"), "system", "rr") == [("new", 0.75), ("old", 0.5)]


def values(found: Any) -> list[tuple[Any, ...]]:
    """The rows of values per query, which pandas has in the index."""
    return rows(found.reset_index() if isinstance(found, pd.DataFrame) else found)


@each("kind", KINDS)
def test_values_have_a_row_per_run_and_query_in_each_form_of_runs(kind: str) -> None:
    wanted = [("new", 1, 1.0), ("new", 2, 0.5), ("old", 1, 0.5), ("old", 2, 0.5)]
    columns, stacked = KINDS[kind](DF).rank, KINDS[kind](STACKED).rank
    assert values(columns.evaluate("rr", runs=["old", "new"])) == wanted
    assert values(stacked.evaluate("rr", run="system")) == wanted
    assert values(stacked.on(query=["system", "query_id"]).evaluate("rr", run="system")) == wanted
    tables = {run: KINDS[kind](STACKED.filter(system=run).drop("system")) for run in ("old", "new")}
    assert values(tables["old"].rank.evaluate("rr", runs=tables)) == wanted


def test_the_run_is_the_first_column_of_values_and_the_first_level_of_their_index() -> None:
    assert DF.rank.evaluate("rr", runs=["old", "new"]).columns == ["run", "query_id", "rr"]
    assert STACKED.rank.evaluate("rr", run="system").columns == ["system", "query_id", "rr"]
    assert DF.to_pandas().rank.evaluate("rr", runs=["old", "new"]).index.names == ["run", "query_id"]
    assert STACKED.to_pandas().rank.evaluate("rr", run="system").index.names == ["system", "query_id"]


@pytest.mark.filterwarnings("ignore:err takes")
def test_values_of_runs_in_parts_are_those_of_the_whole_table() -> None:
    few_bytes = STACKED.lazy().rank.on(memory_limit=1)
    assert rows(few_bytes.evaluate("err", run="system")) == rows(STACKED.rank.evaluate("err", run="system"))
    few_bytes = DF.lazy().rank.on(memory_limit=1)
    assert rows(few_bytes.evaluate("err", runs=["old", "new"])) == rows(DF.rank.evaluate("err", runs=["old", "new"]))


def test_a_value_that_depends_on_no_score_is_refused_for_columns_of_scores() -> None:
    for request in ("value:old", pl.col("old").max()):
        with pytest.raises(rf.InvalidOption, match="is the same for all runs that are columns of scores"):
            DF.rank.evaluate(request, runs=["old", "new"])
    found = STACKED.rank.evaluate(pl.col("score").max(), run="system")
    assert rows(found) == [("new", 1, 2.0), ("new", 2, 2.0), ("old", 1, 2.0), ("old", 2, 2.0)]


def test_values_refuse_a_row_without_a_run_and_a_query_column_called_run() -> None:
    nameless = STACKED.with_columns(system=pl.when(pl.col("system") == "new").then("system"))
    with pytest.raises(rf.InvalidData, match="'system' names the run of each row, and is null"):
        nameless.rank.evaluate("rr", run="system")
    with pytest.raises(rf.InvalidOption, match="a second column 'run'"):
        DF.rename({"query_id": "run"}).rank.on(query="run").evaluate("rr", runs=["old", "new"])


@each("kind", KINDS)
def test_slices_come_after_the_run(kind: str) -> None:
    wanted = [("new", "de", 1.0), ("new", "fr", 0.5), ("old", "de", 0.5), ("old", "fr", 0.5)]
    assert rows(KINDS[kind](DF).rank.mean("rr", runs=["old", "new"], by="market")) == wanted
    assert rows(KINDS[kind](STACKED).rank.mean("rr", run="system", by="market")) == wanted


@each("kind", KINDS)
def test_a_table_for_each_run_is_taken_too(kind: str) -> None:
    old, new = (KINDS[kind](STACKED.filter(system=run).drop("system")) for run in ("old", "new"))
    assert rows(new.rank.mean("rr", runs={"old": old, "new": new})) == [("new", 0.75), ("old", 0.5)]


@each("interval", ["bca", "percentile", "poisson"])
def test_the_interval_of_a_run_is_that_of_the_run_alone(interval: Any) -> None:
    df, runs = rf.load_example(), ["score", "score_pca"]
    found = df.rank.summarize("ndcg@10", runs=runs, interval=interval, resamples=200)
    for run in runs:
        alone = df.rank.on(score=run).summarize("ndcg@10", interval=interval, resamples=200)
        assert found.filter(run=run).drop("run").equals(alone)


@each(
    ("options", "says"),
    [
        ({"runs": ["old", "new"], "run": "system"}, "not both"),
        ({"runs": ["old", "old"]}, "names a column twice"),
        ({"runs": "old"}, "write a list of columns' names"),
        ({"runs": ["old", "new"], "by": "run"}, "a second column 'run'"),
        ({"run": "query_id"}, "is the only query column"),
    ],
)
def test_runs_that_cannot_be_told_are_refused(options: dict[str, Any], says: str) -> None:
    for verb in (DF.rank.mean, DF.rank.summarize):
        with pytest.raises(rf.InvalidOption, match=says):
            verb("rr", **options)


def test_a_missing_column_of_scores_is_named_with_a_proposal() -> None:
    with pytest.raises(rf.MissingColumn, match="nwe"):
        DF.rank.mean("rr", runs=["old", "nwe"])
