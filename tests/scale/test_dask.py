"""Dask frames have the values of the oracles, or of the same Polars frame, whatever the partitions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pandas as pd
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rankframe as rf
import rankframe.dask  # which registers the accessor
from rankframe._lift.arrow_kernel import arrow_kernel, bound
from rankframe._lift.engine import run as in_parts
from rankframe._lift.method import lift
from rankframe._support.option_kinds import Column
from rankframe._table.table import Table
from rankframe._verbs.call.declaration import call_of_verb, verb
from rankframe._verbs.measure import evaluate as verbs
from rankframe._verbs.measure.summary import Summary
from rankframe.dask import DaskEngine
from tests.support.calls import ALL, POLICIES, assert_equal, expected, spell
from tests.support.diversity import TEXTS, hostile_table, rows_of
from tests.support.tables import BY_CHANCE, FRACTIONAL_LABELS, frame, random_table
from tests.support.two_runs import two_runs
from tests.support.undrawn import unpainted

pytestmark = [BY_CHANCE, pytest.mark.scale, pytest.mark.filterwarnings("ignore:.* judged queries are not in the run")]

TABLE = random_table(6, labels=FRACTIONAL_LABELS)
DF = frame(TABLE)
WITHOUT_ORDER = [policies for policies in POLICIES if policies.get("ties") != "order"]


def to_dask(df: pl.DataFrame, partitions: int = 5) -> Any:
    import dask.dataframe as dd

    return dd.from_pandas(df.to_pandas(), npartitions=partitions)


def to_polars(ddf: Any) -> pl.DataFrame:
    found = ddf.compute()
    named = [name for name in found.index.names if name is not None]
    return pl.from_pandas(found.reset_index() if named else found)


def assert_same(found: Any, wanted: pl.DataFrame) -> None:
    found = found if isinstance(found, pl.DataFrame) else to_polars(found)
    assert set(found.columns) == set(wanted.columns)
    wanted = wanted.with_columns(pl.selectors.float().fill_null(float("nan")))
    found = found.with_columns(pl.selectors.float().fill_null(float("nan"))).select(wanted.columns)
    assert_frame_equal(found, wanted, check_row_order=False, check_dtypes=False, rel_tol=1e-12, abs_tol=1e-12)


def test_every_metric_has_the_values_of_the_oracles() -> None:
    found = to_dask(DF).rank.evaluate(*(spell(*call) for call in ALL)).compute()
    assert found.index.name == "query_id"
    for name, options in ALL:
        values = {query: None if value != value else value for query, value in found[spell(name, options)].items()}
        assert_equal(values, expected(TABLE, name, options, {}), spell(name, options))


def test_metrics_of_subtopics_and_texts_are_those_of_a_polars_frame() -> None:
    df = rows_of(hostile_table(3))
    wanted = df.rank.on(subtopic="subtopic").evaluate(*TEXTS, "relstring")
    assert_same(to_dask(df).rank.on(subtopic="subtopic").evaluate(*TEXTS, "relstring"), wanted)


@pytest.mark.parametrize("policies", WITHOUT_ORDER[1::3], ids=str)
def test_policies_hold_as_on_a_polars_frame(policies: Mapping[str, Any]) -> None:
    texts = ("ndcg@3", "map", "bpref", "err@5", "nerr", "sdcg@3")
    assert_same(to_dask(DF).rank.on(**policies).evaluate(*texts), DF.rank.on(**policies).evaluate(*texts))


def test_the_largest_label_is_that_of_the_documents_that_count() -> None:
    df = DF.with_columns(
        label=pl.when(pl.col("score") > 0).then(pl.col("label").clip(None, 2)).otherwise(pl.col("label"))
    )
    for policies in (
        {"unretrieved": "drop", "depth": 2},
        {"unretrieved": "drop", "depth": 2, "no_relevant": "null"},
        {},
    ):
        wanted = df.rank.on(**policies).evaluate("err", "nerr@3")
        assert_same(to_dask(df).rank.on(**policies).evaluate("err", "nerr@3"), wanted)
    bounds = df.rank.on(unjudged="bounds").evaluate("precision@3", "ndcg@3")
    assert_same(to_dask(df).rank.on(unjudged="bounds").evaluate("precision@3", "ndcg@3"), bounds)


def test_a_metric_is_a_method_and_texts_functions_and_expressions_mix() -> None:
    @rf.metric()
    def first_label(r: rf.Ranking) -> pl.Expr:
        return r.total(pl.when(r.rank == 1).then(r.label))

    try:
        wanted = DF.rank.evaluate(first_label, "map", pl.len().alias("rows"))
        assert_same(to_dask(DF).rank.evaluate(first_label, "map", pl.len().alias("rows")), wanted)
        assert_same(to_dask(DF).rank.first_label(), wanted.select("query_id", "first_label"))
    finally:
        rf.unregister(first_label)
    assert_same(to_dask(DF).rank.ndcg(k=3, gain="exponential"), DF.rank.ndcg(k=3, gain="exponential"))


def test_rows_keep_their_index_and_columns() -> None:
    df = DF.with_columns(other=pl.lit("x"))
    ddf = to_dask(df)
    found = ddf.rank.with_metrics("ndcg@3", "err").compute()
    assert found.index.sort_values().equals(pd.RangeIndex(len(df)))
    assert found["doc_id"].sort_index().tolist() == df["doc_id"].to_list()
    assert_same(pl.from_pandas(found), df.rank.with_metrics("ndcg@3", "err"))
    assert_same(pl.from_pandas(ddf.rank.with_ranks().compute()), df.rank.with_ranks())


def test_curves_contributions_and_agreement_are_those_of_a_polars_frame() -> None:
    df = DF.with_columns(other=pl.col("label").shuffle(seed=1))
    ranker = to_dask(df).rank
    assert_same(pl.from_pandas(ranker.curve("precision", "err").compute()), df.rank.curve("precision", "err"))
    assert_same(pl.from_pandas(ranker.explain("err").compute()), df.rank.explain("err"))
    assert_same(ranker.agreement("other", "kendall_tau", "rbo"), df.rank.agreement("other", "kendall_tau", "rbo"))


def test_a_run_and_its_judgments_join() -> None:
    import dask.dataframe as dd

    run = DF.filter(pl.col("score").is_not_null(), pl.col("query_id") != "q1").drop("label")
    qrels = DF.filter(pl.col("label").is_not_null(), pl.col("query_id") != "q2").drop("score")
    for given in ({}, {"judged_only": "drop"}, {"run_only": "keep"}):
        wanted = run.rank.judge(qrels, **{"run_only": "drop"} | given)
        assert_same(to_dask(run, 3).rank.judge(to_dask(qrels, 2), **given), wanted)
        assert_same(
            to_dask(run, 3).rank.judge(qrels.to_pandas(), **given).rank.evaluate("err"), wanted.rank.evaluate("err")
        )
    runs = pl.concat(
        [run.with_columns(run=pl.lit("a")), run.filter(pl.col("query_id") < "q3").with_columns(run=pl.lit("b"))]
    )
    query = ["run", "query_id"]
    judged = to_dask(runs).rank.on(query=query).judge(to_dask(qrels, 2))
    assert isinstance(judged, dd.DataFrame)
    assert_same(
        judged.rank.on(query=query).evaluate("map"),
        runs.rank.on(query=query).judge(qrels, run_only="drop").rank.on(query=query).evaluate("map"),
    )


def test_every_row_of_judgments_without_labels_counts_1_unless_a_column_may_hold_them() -> None:
    run = DF.filter(pl.col("score").is_not_null()).drop("label")
    truth = DF.filter(pl.col("label") > 0).select("query_id", "doc_id")
    wanted = run.rank.judge(truth, run_only="drop")
    judged = to_dask(run, 3).rank.judge(to_dask(truth, 2))
    assert_same(judged, wanted.with_columns(pl.col("label").cast(pl.Float64)))  # as pandas merges
    assert_same(judged.rank.evaluate("err"), wanted.rank.evaluate("err"))
    with pytest.raises(rf.MissingColumn, match=r"Say df.rank.on\(label='stars'\)"):
        to_dask(run, 3).rank.judge(to_dask(truth.with_columns(stars=2), 2))


def test_like_takes_the_columns_and_policies_of_a_ranker_of_another_frame() -> None:
    mine = DF.rank.on(relevant=2, ties="worst")
    assert_same(to_dask(DF, 3).rank.on(like=mine).evaluate("map"), mine.evaluate("map"))
    assert DF.rank.on(like=to_dask(DF).rank.on(depth=3))._setup.policies.depth == 3


def test_runs_of_one_table_are_judged_each_and_asked_for_where_documents_repeat() -> None:
    run = DF.filter(pl.col("score").is_not_null()).drop("label")
    qrels = DF.filter(pl.col("label").is_not_null()).drop("score")
    runs = pl.concat(
        [run.with_columns(run=pl.lit("a")), run.filter(pl.col("query_id") < "q3").with_columns(run=pl.lit("b"))]
    )
    query = ["run", "query_id"]
    judged = to_dask(runs, 3).rank.judge(to_dask(qrels, 2), run="run")
    wanted = runs.rank.on(query=query).judge(qrels, run_only="drop").rank.on(query=query).evaluate("map")
    assert_same(judged.rank.on(query=query).evaluate("map"), wanted)
    with pytest.raises(rf.InvalidData, match=r"more than once.*df.rank.judge\(qrels, run=\.\.\.\)"):
        to_dask(runs, 3).rank.judge(to_dask(qrels, 2)).compute()


@pytest.mark.parametrize(
    ("on", "metrics"),
    [
        ({}, ["ndcg@3", "err"]),
        ({"unjudged": "bounds"}, ["ndcg@3", "precision@2"]),
        ({"convention": "trec_eval"}, ["map", "bpref"]),
    ],
    ids=str,
)
@pytest.mark.parametrize("judged_only", ["keep", "drop"])
def test_judgments_of_their_own_join_before_a_verb_runs(on: Any, metrics: list[str], judged_only: Any) -> None:
    run = DF.filter(pl.col("score").is_not_null(), pl.col("query_id") != "q1").drop("label")
    qrels = DF.filter(pl.col("label").is_not_null(), pl.col("query_id") != "q2").drop("score")
    found = in_parts(
        DaskEngine(()), to_dask(run, 3), bound(on, arrow_kernel), call_of_verb(verbs.evaluate, *metrics),
        qrels=to_dask(qrels, 2), judged_only=judged_only,
    )  # fmt: skip
    judged = run.rank.judge(qrels, judged_only=judged_only, run_only="drop")
    wanted = judged.rank.on(**on).evaluate(*metrics)
    assert ("ndcg@3 least" in wanted.columns) == ("unjudged" in on)
    assert_same(found, wanted)


def test_judgments_of_their_own_hold_for_every_run_before_a_verb_runs() -> None:
    run = DF.filter(pl.col("score").is_not_null()).drop("label")
    qrels = DF.filter(pl.col("label").is_not_null()).drop("score")
    query = ["run", "query_id"]
    runs = pl.concat(
        [run.with_columns(run=pl.lit("a")), run.filter(pl.col("query_id") < "q3").with_columns(run=pl.lit("b"))]
    )
    setup = bound({"query": query}, arrow_kernel)
    found = in_parts(
        DaskEngine(()), to_dask(runs, 3), setup, call_of_verb(verbs.evaluate, "map"), qrels=to_dask(qrels, 2)
    )
    judged = runs.rank.on(query=query).judge(qrels, run_only="drop")
    assert_same(found, judged.rank.on(query=query).evaluate("map"))


@pytest.mark.parametrize("by", [None, "slice", ["slice", "day"]])
def test_summaries_are_those_of_one_polars_frame_for_any_number_of_partitions(by: Any) -> None:
    df = DF.with_columns(slice=pl.col("query_id").str.slice(-1).replace("0", None), day=pl.lit(3))
    texts = ("ndcg@10", "err", "gm_map")
    summary = Summary.of(bound({}, arrow_kernel), None, *texts, by=by, ci=0.95, seed=3, resamples=200)
    one, polars = summary.merge(summary.part(df)), df.rank.summarize(*texts, by=by, ci=None)
    for partitions in (1, 7, 30):
        found = to_polars(to_dask(df, partitions).rank.summarize(*texts, by=by, seed=3, resamples=200))
        assert_same(found, one)
        assert_same(found.drop("ci_low", "ci_high", "interval"), polars)


@pytest.mark.parametrize("by", [None, ["slice", "day"]])
def test_means_are_those_of_one_polars_frame_for_any_number_of_parts(by: Any) -> None:
    df = DF.with_columns(slice=pl.col("query_id").str.slice(-1).replace("0", None), day=pl.lit(3))
    texts = ("ndcg@10", "err", "gm_map", "num_ret")
    for parts in (1, 7):
        assert_same(to_dask(df, parts).rank.mean(*texts, by=by), df.rank.mean(*texts, by=by))


@pytest.mark.parametrize("by", [None, "slice"])
def test_weights_mean_what_they_mean_on_a_polars_frame(by: Any) -> None:
    df = DF.with_columns(
        slice=pl.col("query_id").str.slice(-1), asked=pl.col("query_id").str.len_chars().cast(pl.Int32)
    )
    df = df.with_columns(asked=pl.when(pl.col("slice") != "3").then("asked").otherwise(0))
    texts = ("ndcg@10", "err", "gm_map")
    wanted = df.rank.summarize(*texts, by=by, weights="asked", ci=None)
    summary = Summary.of(bound({}, arrow_kernel), None, *texts, by=by, ci=0.95, seed=3, resamples=200, weights="asked")
    for partitions in (1, 7):
        found = to_polars(to_dask(df, partitions).rank.summarize(*texts, by=by, weights="asked", seed=3, resamples=200))
        assert_same(found.drop("ci_low", "ci_high", "interval"), wanted)
        assert_same(found, summary.merge(summary.part(df)))
    with pytest.raises(rf.InvalidData, match="a query's weight, 'w', is null, negative"):
        to_dask(df.with_columns(w=-1)).rank.summarize("map", weights="w").compute()
    with pytest.raises(rf.MissingColumn, match="no column 'wieght' for weights"):
        to_dask(df).rank.summarize("map", weights="wieght")


@verb(gives="query", labels=False)
def greatest(table: Table[Any], of: Column) -> Any:
    return table.give(table.rows.group_by(table.setup.roles.query, maintain_order=True).agg(pl.col(of).max()))


@verb(gives="table")
def number(table: Table[Any]) -> Any:
    return table.give(table.rows.select(pl.len()))


def test_a_new_verb_runs_by_its_declaration() -> None:
    class Ranker(rankframe.dask.DaskRanker):
        greatest = lift(lambda: greatest)
        number = lift(lambda: number)

    found = Ranker(to_dask(DF)).greatest("score").compute()
    assert found.index.name == "query_id"
    wanted = DF.group_by("query_id").agg(pl.col("score").max())
    assert_same(pl.from_pandas(found.reset_index()), wanted)
    with pytest.raises(rf.InvalidOption, match="number needs the whole table in one piece"):
        Ranker(to_dask(DF)).number()


def test_a_summary_has_the_columns_and_the_types_of_one_pandas_frame() -> None:
    df = DF.with_columns(slice=pl.col("query_id").str.slice(-1))
    found = to_dask(df).rank.summarize("map", by="slice", interval="poisson", resamples=100, seed=2).compute()
    wanted = df.to_pandas().rank.summarize("map", by="slice", interval="poisson", resamples=100, seed=2)  # type: ignore[operator]
    wanted = wanted.set_index("slice").loc[found["slice"]].reset_index()
    pd.testing.assert_frame_equal(found.reset_index(drop=True), wanted, rtol=1e-12)


def test_the_index_may_name_the_query() -> None:
    import dask.dataframe as dd

    ddf = dd.from_pandas(DF.to_pandas().set_index("query_id"), npartitions=3, sort=False)
    assert_same(ddf.rank.evaluate("map", "err"), DF.rank.evaluate("map", "err"))
    assert_same(
        ddf.rank.summarize("map").compute().pipe(pl.from_pandas).select("mean"), DF.rank.summarize("map").select("mean")
    )


def test_what_all_users_are_shown_is_that_of_one_frame() -> None:
    ddf, texts = to_dask(DF, 3), ("coverage@3", "gini@3", "personalization@3")
    items = DF["doc_id"].unique()
    found = ddf.rank.on(items=items).items.catalog(*texts, ci=None).compute().set_index("metric")["value"]
    wanted = DF.rank.items.catalog(*texts, items=items, ci=None)
    assert found[list(texts)].tolist() == pytest.approx(wanted["value"].to_list(), rel=1e-12)
    shown = ddf.rank.items.exposure(k=3).compute().set_index("doc_id")["shown"]
    counted = DF.rank.items.exposure(k=3)
    assert shown[counted["doc_id"].to_list()].tolist() == counted["shown"].to_list()


@pytest.mark.parametrize("ids", [[1, 2, None], ["a", "b", None], [1.5, 2.5, None]], ids=str)
def test_ids_of_any_type_come_back_and_a_missing_one_is_a_query(ids: list[Any]) -> None:
    df = pl.DataFrame(
        {"query_id": ids * 2, "doc_id": list("aaabbb"), "score": [2, 2, 2, 1, 1, 1], "label": [0, 1, 1] * 2}
    )
    found = to_dask(df, 3).rank.evaluate("rr", "hits").compute()
    got = {None if pd.isna(query) else query: tuple(values) for query, *values in found.itertuples()}
    assert got == {query: tuple(values) for query, *values in df.rank.evaluate("rr", "hits").iter_rows()}


def test_what_is_wrong_is_told_in_words_of_pandas() -> None:
    import dask.dataframe as dd

    ddf = to_dask(DF)
    with pytest.raises(rf.InvalidData, match="a query holds the same 'doc_id' twice; keep one row of each"):
        dd.concat([ddf, ddf]).rank.evaluate("map").compute()
    with pytest.raises(rf.UnknownMetric, match="Did you mean 'ndcg'"):
        ddf.rank.evaluate("ndgc")
    with pytest.raises(rf.MissingColumn, match="the table has query_id, doc_id, score, label"):
        ddf.rank.on(label="rel").evaluate("map")
    with pytest.raises(rf.MissingColumn, match="no column 'market' for by"):
        ddf.rank.summarize("map", by="market")
    with pytest.raises(rf.InvalidOption, match=r"check needs the whole table in one piece"):
        ddf.rank.check()
    with pytest.raises(rf.InvalidOption, match=r"conventions needs the whole table in one piece"):
        ddf.rank.conventions("ndcg@10")
    with pytest.raises(rf.InvalidOption, match=r"tune needs the whole table in one piece"):
        ddf.rank.tune("wsum", runs=["score", "label"])
    for frame_, options in ((ddf, {"ties": "order"}), (ddf.drop(columns="doc_id"), {}), (ddf, {"convention": "ranx"})):
        with pytest.raises(rf.InvalidOption, match="the rows of a Dask frame have no order"):
            frame_.rank.on(**options).evaluate("map")


def test_rank_takes_dask_frames_and_says_what_it_is() -> None:
    ddf = to_dask(DF)
    assert_same(rf.rank(ddf).evaluate("map"), DF.rank.evaluate("map"))
    assert repr(ddf.rank).startswith(".rank of a Dask DataFrame: ")
    assert ".rank.evaluate('ndcg@10', 'map')" in repr(ddf.rank)
    assert rf.dask.DaskRanker is type(ddf.rank)


def test_values_of_several_runs_are_those_of_a_polars_frame() -> None:
    df = DF.with_columns(new=pl.col("score") * -1)
    found = to_dask(df).rank.evaluate("map", runs=["score", "new"])
    assert_same(found, df.rank.evaluate("map", runs=["score", "new"]))
    stacked = pl.concat([df.with_columns(run=pl.lit(name)) for name in "ab"])
    assert_same(to_dask(stacked).rank.evaluate("map", run="run"), stacked.rank.evaluate("map", run="run"))


def test_means_of_several_runs_are_those_of_a_polars_frame() -> None:
    df = DF.with_columns(new=pl.col("score") * -1)
    assert_same(to_dask(df).rank.mean("map", runs=["score", "new"]), df.rank.mean("map", runs=["score", "new"]))
    stacked = pl.concat([df.with_columns(run=pl.lit(name)) for name in "ab"])
    assert_same(to_dask(stacked).rank.mean("map", run="run"), stacked.rank.mean("map", run="run"))


def test_catalog_metrics_and_exposure_add_up_over_partitions() -> None:
    metrics = ("coverage@2", "gini@2", "entropy", "personalization@2", "user_coverage@2")
    options = {"items": 1000, "ci": None}
    assert_same(to_dask(DF).rank.items.catalog(*metrics, **options), DF.rank.items.catalog(*metrics, **options))
    assert_same(to_dask(DF).rank.items.exposure(k=2, weight="log2"), DF.rank.items.exposure(k=2, weight="log2"))


def test_intervals_of_catalog_metrics_need_the_whole_table() -> None:
    with pytest.raises(rf.InvalidOption, match="say ci=None"):
        to_dask(DF).rank.items.catalog("entropy")


def runs_of_three() -> pl.DataFrame:
    """A row per run, query and document of three runs, one of which lacks a query."""
    long = pl.concat(DF.select("query_id", "doc_id", "label", score=pl.col("score") * n, system=pl.lit(name)) for n, name in
                     ((1, "a"), (-1, "b"), (3, "c")))  # fmt: skip
    return long.filter((pl.col("system") != "c") | (pl.col("query_id") != DF["query_id"][0]))


@pytest.mark.parametrize("verb", ["fuse", "explain"])
@pytest.mark.parametrize("method", ["rrf", "borda", "comb_mnz(normalize=min_max)"])
def test_a_partition_holds_the_rows_of_all_runs_of_a_query(method: str, verb: str) -> None:
    df = runs_of_three()
    found = getattr(to_dask(df, 4).rank.fusion, verb)(method, run="system")
    assert_same(found, getattr(df.rank.fusion, verb)(method, run="system"))


def test_score_columns_are_fused_and_the_result_evaluated() -> None:
    df = DF.with_columns(other=-pl.col("score"))
    fused = to_dask(df).rank.fuse("wsum(normalize=rank)", runs=["score", "other"], weights=[0.7, 0.3])
    wanted = df.rank.fuse("wsum(normalize=rank)", runs=["score", "other"], weights=[0.7, 0.3])
    assert_same(fused, wanted)
    assert_same(fused.rank.evaluate("ndcg@5"), wanted.rank.evaluate("ndcg@5"))


@pytest.mark.parametrize("verb", ["fuse", "explain"])
def test_a_trained_fusion_is_applied_to_the_runs_of_its_training(verb: str) -> None:
    df = runs_of_three()
    fitted = df.rank.fusion.fit("bayesfuse", run="system")
    assert_same(getattr(to_dask(df, 4).rank.fusion, verb)(fitted), getattr(df.rank.fusion, verb)(fitted))


def test_weights_of_named_runs_are_named() -> None:
    df, weights = runs_of_three(), {"b": 0.5, "c": 0.2, "a": 0.3}
    assert_same(
        to_dask(df).rank.fuse("rrf", run="system", weights=weights), df.rank.fuse("rrf", run="system", weights=weights)
    )
    with pytest.raises(rf.InvalidOption, match="name the run of each weight"):
        to_dask(df).rank.fuse("rrf", run="system", weights=[0.3, 0.5, 0.2])


def test_the_overlap_of_runs_and_the_gain_of_the_best_of_each_query_are_those_of_one_pandas_frame() -> None:
    df, named = runs_of_three(), dict[str, Any](run="system")
    found, wanted = (x.rank.fusion.overlap(**named) for x in (to_dask(df), df.to_pandas()))
    pd.testing.assert_frame_equal(found.runs.sort_values("run", ignore_index=True), in_order(wanted.runs))
    assert in_order(found.table)["n_queries"].tolist() == in_order(wanted.table)["n_queries"].tolist()
    named |= {"missing": "zero", "progress": False}
    found, wanted = (x.rank.fusion.oracle("err", **named) for x in (to_dask(df), df.to_pandas()))
    for name in ("mean", "oracle", "gain"):
        assert in_order(found.table)[name].tolist() == pytest.approx(in_order(wanted.table)[name].tolist(), rel=1e-12)


def in_order(frame: pd.DataFrame) -> pd.DataFrame:
    """The rows in the order of their runs."""
    return frame.sort_values("run", ignore_index=True)


PLOTS: dict[str, Any] = {
    "curve": lambda x: x.plot.curve("ndcg", runs=["old", "new"]),
    "judged": lambda x: x.on(score="old").plot.judged("err(max_label=2)"),
    "slices": lambda x: x.plot.slices("rr", by="market", runs=["old", "new"]),
    "overlap": lambda x: x.plot.overlap(runs=["old", "new"], k=3),
    "contributions": lambda x: x.plot.contributions("rrf", runs=["old", "new"]),
    "exposure": lambda x: x.on(score="old").plot.exposure(3, items=12),
}


@pytest.mark.parametrize("plot", PLOTS)
def test_a_plot_is_that_of_one_pandas_frame(plot: str) -> None:
    df, drawn = two_runs(12), []
    made = {name: lambda figure, *_, **__: drawn.append(figure) for name in ("altair", "matplotlib")}
    with patch.multiple(rankframe.plot, **made):
        for x in (to_dask(df, 3), df.to_pandas()):
            PLOTS[plot](x.rank)
    found, wanted = drawn
    assert (found.title, found.subtitle, found.series) == (wanted.title, wanted.subtitle, wanted.series)
    for mark, other in zip(found.marks, wanted.marks, strict=True):
        assert_frame_equal(mark.rows, other.rows, check_row_order=False, rel_tol=1e-12)


def test_a_report_has_the_text_of_that_of_one_pandas_frame(tmp_path: Path) -> None:
    df, options = two_runs(10), {"runs": ["old", "new"], "by": "market", "resamples": 99, "progress": False}
    pages = []
    with unpainted():
        for kind, x in (("dask", to_dask(df, 3)), ("pandas", df.to_pandas())):
            pages.append(x.rank.report(tmp_path / f"{kind}.html", "ndcg@5", **options).read_text("utf-8"))
    assert "</html>" in pages[0]
    assert figures_of(pages[0]) == figures_of(pages[1])


def figures_of(page: str) -> list[str]:
    """The figures in the tables of a page, without their last digits."""
    return [f"{float(number):.10g}" for number in re.findall(r'data-number="([^"]+)"', page)]


def assert_same_frame(found: pd.DataFrame, wanted: pd.DataFrame) -> None:
    """Equal in all but the order of rows, and in the type of texts, which is Dask's own."""
    key = [*wanted.index.names] if wanted.index.names != [None] else []
    key += [name for name in ("metric", "market", "run", "doc_id") if name in wanted]
    found, wanted = (x.sort_values(key, ignore_index=key[0] == "metric") for x in (found, wanted))
    pd.testing.assert_frame_equal(found, wanted, check_index_type=False)


@pytest.mark.parametrize("partitions", [1, 4])
def test_runs_are_compared_and_gated_as_those_of_one_pandas_frame(partitions: int) -> None:
    df, err = two_runs(), "err(max_label=2)"
    pandas, ddf = df.to_pandas(), to_dask(df, partitions)
    runs = {"runs": ["old", "new"], "progress": False}
    found, wanted = (x.rank.compare("ndcg@5", err, by="market", **runs) for x in (ddf, pandas))
    for name in ("table", "per_query", "per_query_delta", "ranks"):
        assert_same_frame(getattr(found, name), getattr(wanted, name))
    found, wanted = (x.rank.gate({"ndcg@5": 0.1}, **runs) for x in (ddf, pandas))
    assert bool(found) == bool(wanted)
    for name in ("table", "failures", "moved"):
        assert_same_frame(getattr(found, name), getattr(wanted, name))


def test_runs_of_a_column_and_groups_of_queries_are_compared_by_values_from_the_partitions() -> None:
    df = pl.concat(
        two_runs().select("query_id", "doc_id", "label", "market", score=name, system=pl.lit(name))
        for name in ("new", "old")
    )
    found = to_dask(df).rank.compare("map", run="system", progress=False)
    pd.testing.assert_frame_equal(found.table, df.to_pandas().rank.compare("map", run="system", progress=False).table)
    found = to_dask(df).rank.power("map", run="system", difference=0.1)
    pd.testing.assert_frame_equal(found, df.to_pandas().rank.power("map", run="system", difference=0.1))
    groups = {"by": "market", "resamples": 100, "progress": False}
    of_one = df.filter(pl.col("system") == "old")
    found, wanted = (
        to_dask(of_one).rank.compare_groups("map", **groups),
        of_one.to_pandas().rank.compare_groups("map", **groups),
    )
    pd.testing.assert_frame_equal(found.table, wanted.table)


def test_a_sequential_test_without_a_look_takes_rows_without_order_by_their_ids() -> None:
    df = two_runs()
    tables = [
        to_dask(x, n).rank.compare("map", runs=["old", "new"], test="sequential").table
        for x, n in ((df, 2), (df.reverse(), 3))
    ]
    pd.testing.assert_frame_equal(*tables)
