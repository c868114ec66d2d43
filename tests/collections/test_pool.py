"""Pools of several runs, and runs without the judgments of their own: against plain Python."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rankframe as rf
from tests.support.each import each
from tests.support.tables import BY_CHANCE

pytestmark = BY_CHANCE

RUNS = ["x", "y", "z"]
RNG = np.random.default_rng(4)
DF = pl.DataFrame(
    {
        "query_id": np.repeat([f"q{i}" for i in range(15)], 12),
        "doc_id": np.tile(list("abcdefghijkl"), 15),
        "label": RNG.choice([None, -1, 0, 0, 1, 2], 180).tolist(),
        **{run: pl.Series(RNG.choice([None, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 180).tolist()) for run in RUNS},
    }
)
LONG = DF.unpivot(RUNS, index=["query_id", "doc_id", "label"], variable_name="run", value_name="score")


def ranks(run: str) -> dict[tuple[str, str], int]:
    """The rank of each document that a run retrieved."""
    found = {}
    for (query,), rows in DF.partition_by("query_id", as_dict=True).items():
        listed = [(score, doc) for score, doc in rows[run, "doc_id"].iter_rows() if score is not None]
        found |= {(query, doc): rank for rank, (_, doc) in enumerate(sorted(listed, reverse=True), 1)}
    return found


RANKS = {run: ranks(run) for run in RUNS}
JUDGED = {
    (q, d): label for q, d, label in DF["query_id", "doc_id", "label"].iter_rows() if label is not None and label >= 0
}


def pooled(depth: int | None, rbp: float | None) -> list[tuple[Any, ...]]:
    rows = []
    for query, doc in DF["query_id", "doc_id"].iter_rows():
        at = [RANKS[run][query, doc] for run in RUNS if RANKS[run].get((query, doc), 99) <= (depth or 12)]
        if at and (query, doc) not in JUDGED:
            attention = sum((1 - (rbp or 0)) * (rbp or 0) ** (rank - 1) for rank in at)
            rows.append((query, doc, min(at), len(at), *([attention] if rbp else [])))
    places = {query: i for i, query in enumerate(DF["query_id"].unique(maintain_order=True))}
    return sorted(rows, key=lambda x: (places[x[0]], *([-round(x[4], 12)] if rbp else []), x[2], -x[3], x[1]))


@each(("depth", "rbp"), [(1, None), (3, None), (12, None), (None, 0.8), (3, 0.5)])
def test_a_pool_has_the_documents_of_the_runs_in_the_order_to_judge_them(depth: int | None, rbp: float | None) -> None:
    options: dict[str, Any] = {"depth": depth, "rbp": rbp}
    found = DF.rank.collection.pool(**options, runs=RUNS)
    wanted = pooled(depth, rbp)
    assert found.drop("attention", strict=False).rows() == [row[:4] for row in wanted]
    if rbp:
        assert found["attention"].to_list() == pytest.approx([row[4] for row in wanted], rel=1e-12)
    assert found.schema["rank"] == found.schema["n_runs"] == pl.UInt32
    assert_frame_equal(LONG.rank.collection.pool(**options, run="run"), found, check_row_order=False)
    lazy = DF.lazy().rank.collection.pool(**options, runs=RUNS)
    assert_frame_equal(lazy.collect(), found, check_row_order=False)
    in_pandas = DF.to_pandas().rank.collection.pool(**options, runs=RUNS)
    assert isinstance(in_pandas, pd.DataFrame)
    assert in_pandas["doc_id"].tolist() == found["doc_id"].to_list()


def test_a_pool_may_be_cut_at_a_size_of_each_query() -> None:
    found = DF.rank.collection.pool(rbp=0.8, size=2, runs=RUNS)
    wanted = pooled(None, 0.8)
    assert found["doc_id"].to_list() == [
        row[1] for i, row in enumerate(wanted) if sum(x[0] == row[0] for x in wanted[:i]) < 2
    ]


def test_runs_without_judgments_are_pooled_and_one_run_is_a_pool() -> None:
    found = DF.drop("label").rank.collection.pool(depth=2, runs=RUNS)
    assert found.height == len({key for run in RUNS for key, rank in RANKS[run].items() if rank <= 2})
    alone = DF.drop("label").rank.on(score="x").collection.pool(depth=2)
    assert alone["n_runs"].unique().to_list() == [1]
    assert alone.height == sum(rank <= 2 for rank in RANKS["x"].values())
    assert DF.clear().rank.collection.pool(depth=2, runs=RUNS).columns == ["query_id", "doc_id", "rank", "n_runs"]


def test_a_document_that_was_judged_for_one_run_is_judged_for_all() -> None:
    once = pl.DataFrame({"run": ["a", "b"], "query_id": 1, "doc_id": "d", "score": 1, "label": [1, None]})
    assert once.rank.collection.pool(depth=5, run="run").is_empty()


def test_a_pool_takes_a_depth_or_a_persistence_and_ids() -> None:
    with pytest.raises(
        rf.InvalidOption, match=r"a pool takes a depth, depth=10, or the persistence of readers, rbp=0\.8"
    ):
        DF.rank.collection.pool(runs=RUNS)
    with pytest.raises(rf.InvalidOption, match="have the same id; say"):
        DF.drop("doc_id").rank.collection.pool(depth=3, runs=RUNS)
    with pytest.raises(rf.InvalidOption, match="second column 'rank'"):
        DF.rename({"query_id": "rank"}).rank.on(query="rank").collection.pool(depth=3, runs=RUNS)
    with pytest.raises(rf.InvalidOption, match="rbp=1"):
        DF.rank.collection.pool(rbp=1, runs=RUNS)


def test_documents_without_a_judgment_are_in_pools_and_have_ranks_whatever_the_policy() -> None:
    dropping = DF.rank.on(unjudged="drop")
    assert_frame_equal(dropping.collection.pool(depth=3, runs=RUNS), DF.rank.collection.pool(depth=3, runs=RUNS))
    found = dropping.collection.leave_one_run_out("map", runs=RUNS, depth=2)
    assert found["n_unique"].to_list() == [len(own(run, 2)) for run in RUNS]


def own(run: str, depth: int, teams: dict[str, str] | None = None) -> set[tuple[str, str]]:
    """The judged documents that only the run's team has so far up."""
    team = {name: (teams or {}).get(name, name) for name in RUNS}
    brought = {name: {key for key, rank in RANKS[name].items() if rank <= depth and key in JUDGED} for name in RUNS}
    mine = set().union(*(brought[name] for name in RUNS if team[name] == team[run]))
    return mine - set().union(*(brought[name] for name in RUNS if team[name] != team[run]))


@cache
def values_without(gone: frozenset[tuple[str, str]], run: str, metric: str) -> pl.Series:
    """A metric's values of a run, without the judgments of some documents."""
    is_gone = pl.Series([key in gone for key in DF["query_id", "doc_id"].iter_rows()])
    left = DF.with_columns(label=pl.when(~is_gone).then("label"))
    return left.rank.on(score=run).evaluate(metric).to_series(-1)


@each("teams", [None, {"x": "us", "z": "us"}], sample=4)
@each("depth", [1, 2, 100])
def test_a_run_is_evaluated_without_the_judgments_of_its_own(depth: int, teams: dict[str, str] | None) -> None:
    metrics = ["map", "err@5", "gm_map", "num_nonrel_judged_ret"]
    found = DF.rank.collection.leave_one_run_out(*metrics, runs=RUNS, depth=depth, teams=teams)
    full = {run: DF.rank.on(score=run).evaluate(*metrics).drop("query_id").mean().row(0, named=True) for run in RUNS}
    largest = max(x for x in DF["label"] if x is not None)
    for row in found.iter_rows(named=True):
        run, metric = row["run"], row["metric"]
        gone = own(run, depth, teams)
        text = f"err(max_label={largest})@5" if metric == "err@5" else metric
        values = (values_without(frozenset(gone), run, text), values_without(frozenset(), run, metric))
        if metric == "gm_map":
            wanted = [float(np.exp(np.log(x.to_numpy()).mean())) for x in values]
        else:
            wanted = [float(x.mean()) for x in values]
            assert wanted[1] == pytest.approx(full[run][metric], rel=1e-12)
        assert [row["mean_without"], row["mean"]] == pytest.approx(wanted, rel=1e-9)
        assert row["difference"] == pytest.approx(wanted[0] - wanted[1], abs=1e-9)
        assert (row["n_unique"], row["n_unique_relevant"]) == (len(gone), sum(JUDGED[key] >= 1 for key in gone))
    for metric in metrics:
        rows = {row["run"]: row for row in found.filter(metric=metric).iter_rows(named=True)}
        sign = -1 if metric == "num_nonrel_judged_ret" else 1
        for run, row in rows.items():
            others = [sign * x["mean"] for name, x in rows.items() if name != run]
            assert row["rank"] == 1 + sum(x > sign * row["mean"] for x in others)
            assert row["rank_without"] == 1 + sum(x > sign * row["mean_without"] for x in others)


def test_every_way_to_name_runs_gives_the_same_table() -> None:
    wanted = DF.rank.collection.leave_one_run_out("map", "ndcg@5", runs=RUNS, depth=2)
    long = LONG.rank.collection.leave_one_run_out("map", "ndcg@5", run="run", depth=2)
    assert_frame_equal(long, wanted, rel_tol=1e-12)
    lazy = DF.lazy().rank.collection.leave_one_run_out("map", "ndcg@5", runs=RUNS, depth=2)
    assert_frame_equal(lazy.collect(), wanted, rel_tol=1e-12)
    tables = {run: DF.select("query_id", "doc_id", "label", score=run) for run in RUNS}
    of_tables = tables["x"].rank.collection.leave_one_run_out("map", "ndcg@5", runs=tables, depth=2)
    assert_frame_equal(of_tables, wanted, rel_tol=1e-12)


def test_a_run_without_a_value_has_no_rank_and_judgments_are_needed() -> None:
    df = pl.DataFrame({"query_id": 1, "doc_id": ["a"], "label": [0], "x": [1.0], "y": [1.0]})
    found = df.rank.on(no_relevant="null").collection.leave_one_run_out("map", runs=["x", "y"])
    assert found.select("mean", "difference", "rank", "rank_without").row(0) == (None, None, None, None)
    with pytest.raises(rf.MissingColumn, match="no column 'label'"):
        DF.drop("label").rank.collection.leave_one_run_out("map", runs=RUNS)
    with pytest.raises(rf.InvalidOption, match="name the runs"):
        DF.rank.collection.leave_one_run_out("map")
    with pytest.raises(rf.InvalidOption, match="teams: 'Z' is none of the runs, which are x, y, z"):
        DF.rank.collection.leave_one_run_out("map", runs=RUNS, teams={"x": "us", "Z": "us"})
