"""Spark tables have the values of the oracles, or of the same Polars frame, whatever the number of buckets."""

from __future__ import annotations

import datetime as dt
import decimal
import math
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from polars.testing import assert_frame_equal

import rankframe as rf
import rankframe.spark
from rankframe._lift.arrow_kernel import arrow_kernel, bound
from rankframe._lift.spark_tables import Guarded
from rankframe._verbs.measure.summary import Summary
from rankframe.errors import Advice, Code, InvalidData
from tests.scale.conftest import CONNECT
from tests.support.calls import ALL, POLICIES, assert_equal, expected, spell
from tests.support.diversity import TEXTS, hostile_table, rows_of
from tests.support.tables import BY_CHANCE, FRACTIONAL_LABELS, frame, random_table
from tests.support.two_runs import two_runs
from tests.support.undrawn import unpainted

pytestmark = [
    BY_CHANCE,
    pytest.mark.filterwarnings("ignore:.* judged queries are not in the run"),
    pytest.mark.scale,
    # of PySpark 4, which works all the same
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
    # sockets and processes that PySpark leaves to the garbage collector
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

TABLE = random_table(4, labels=FRACTIONAL_LABELS)
DF = frame(TABLE)
WITHOUT_ORDER = [policies for policies in POLICIES if policies.get("ties") != "order"]


def to_spark(spark: Any, df: pl.DataFrame) -> Any:
    return spark.createDataFrame(df.to_arrow(compat_level=pl.CompatLevel.oldest())).repartition(3)


def to_polars(sdf: Any) -> pl.DataFrame:
    return pl.DataFrame(sdf.toArrow())


def assert_same(found: Any, wanted: pl.DataFrame) -> None:
    found = found if isinstance(found, pl.DataFrame) else to_polars(found)
    assert found.columns == wanted.columns
    assert_frame_equal(found, wanted, check_row_order=False, check_dtypes=False, rel_tol=1e-12, abs_tol=1e-12)


@pytest.fixture(scope="module")
def sdf(spark: Any) -> Any:
    return to_spark(spark, DF).cache()


def test_every_metric_has_the_values_of_the_oracles(sdf: Any) -> None:
    found = to_polars(sdf.transform(rankframe.spark.evaluate, *(spell(*call) for call in ALL), buckets=3))
    for name, options in ALL:
        values = dict(found.select("query_id", spell(name, options)).iter_rows())
        assert_equal(values, expected(TABLE, name, options, {}), spell(name, options))


def test_the_rows_say_how_many_buckets_there_are(
    sdf: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(rankframe.spark, "ROWS_PER_BUCKET", 100)
    found = rankframe.spark.evaluate(sdf, "map")
    found.explain()
    said = re.findall(r"pmod\(xxhash64\([^()]*\), (\d+)\)", capsys.readouterr().out)
    assert {int(buckets) for buckets in said} == {math.ceil(len(DF) / 100)} != {1}
    assert_same(found, DF.rank.evaluate("map"))


@pytest.mark.parametrize("policies", WITHOUT_ORDER[1 :: 12 if CONNECT else 4], ids=str)  # the same workers read them
def test_policies_hold_as_on_a_polars_frame(sdf: Any, policies: Mapping[str, Any]) -> None:
    texts = ("ndcg@3", "map", "bpref", "err@5", "nerr", "sdcg@3", "rbp.95")
    assert_same(rankframe.spark.evaluate(sdf, *texts, buckets=5, **policies), DF.rank.on(**policies).evaluate(*texts))


@pytest.mark.parametrize(
    "policies",
    [
        {"unretrieved": "drop", "depth": 2},
        {"unretrieved": "drop", "depth": 2, "no_relevant": "null", "relevant": 3},
        {"unretrieved": "drop", "weight": None},
    ],
    ids=str,
)
def test_the_largest_label_is_that_of_the_documents_that_count(spark: Any, policies: Mapping[str, Any]) -> None:
    df = DF.with_columns(
        label=pl.when(pl.col("score") > 0).then(pl.col("label").clip(None, 2)).otherwise(pl.col("label"))
    )
    texts = ("err", "nerr@3", "pfound(max_label=None)")
    wanted = df.rank.on(**policies).evaluate(*texts)
    assert not wanted.equals(df.rank.on(**{**policies, "unretrieved": "missed"}).evaluate(*texts))
    assert_same(rankframe.spark.evaluate(to_spark(spark, df), *texts, buckets=4, **policies), wanted)


def test_conventions_and_bounds_look_at_the_whole_table(sdf: Any) -> None:
    catboost = {"convention": "catboost", "depth": 3}
    text = "pfound(max_label=None)"
    assert_same(rankframe.spark.evaluate(sdf, text, buckets=9, **catboost), DF.rank.on(**catboost).evaluate(text))
    whole = DF.rank.on(unjudged="bounds").evaluate("precision@3", "ndcg@3")
    assert_same(rankframe.spark.evaluate(sdf, "precision@3", "ndcg@3", buckets=9, unjudged="bounds"), whole)


def test_metrics_of_subtopics_expressions_and_own_metrics_go_along(spark: Any) -> None:
    df = rows_of(hostile_table(3))

    @rf.metric()
    def first_label(r: rf.Ranking) -> pl.Expr:
        return r.total(pl.when(r.rank == 1).then(r.label))

    try:
        requests = (*TEXTS, "relstring", "map", first_label, pl.len().alias("rows"))
        found = rankframe.spark.evaluate(to_spark(spark, df), *requests, subtopic="subtopic", buckets=3)
        assert dict(found.dtypes)["rows"] == "bigint"
        assert_same(found, df.rank.on(subtopic="subtopic").evaluate(*requests))
    finally:
        rf.unregister(first_label)


# -------------------------------------------------------------------------------------------------- two tables

RUN = DF.filter(pl.col("score").is_not_null()).drop("label")
QRELS = DF.filter(pl.col("label").is_not_null()).drop("score").with_columns(split=pl.lit("test"))


@pytest.mark.parametrize("judged_only", ["keep", "drop"])
@pytest.mark.parametrize("run_only", ["keep", "drop"])
def test_judgments_of_their_own_join_in_the_buckets(spark: Any, judged_only: Any, run_only: Any) -> None:
    run = RUN.filter(pl.col("query_id") != "q1").with_columns(split=pl.lit("run"))
    qrels = QRELS.filter(pl.col("query_id") != "q2")
    given: dict[str, Any] = {"judged_only": judged_only, "run_only": run_only}
    texts = ("ndcg@3", "map", "err", "recall", "num_relevant")
    found = rankframe.spark.evaluate(to_spark(spark, run), *texts, qrels=to_spark(spark, qrels), buckets=6, **given)
    assert_same(found, run.drop("split").rank.judge(qrels, **given).rank.evaluate(*texts))


def test_judgments_without_the_run_hold_for_every_run(spark: Any) -> None:
    runs = pl.concat(
        [RUN.with_columns(run=pl.lit("a")), RUN.filter(pl.col("query_id") < "q3").with_columns(run=pl.lit(None))]
    )
    query = ["run", "query_id"]
    found = rankframe.spark.evaluate(to_spark(spark, runs), "map", qrels=to_spark(spark, QRELS), query=query, buckets=8)
    judged = runs.rank.on(query=query).judge(QRELS, run_only="drop")
    assert_same(found, judged.rank.on(query=query).evaluate("map"))


def test_slices_of_a_run_are_those_of_its_queries(spark: Any) -> None:
    run = RUN.with_columns(market=pl.col("query_id").str.len_chars().cast(pl.Int64))
    found = to_polars(
        rankframe.spark.summarize(to_spark(spark, run), "map", qrels=to_spark(spark, QRELS), by="market", buckets=4)
    )
    markets = run.group_by("query_id").agg(pl.col("market").first())
    values = RUN.rank.judge(QRELS, run_only="drop").rank.evaluate("map").join(markets, on="query_id", how="left")
    wanted = values.group_by("market").agg(pl.col("map").mean().alias("mean"), pl.len().alias("n_queries"))
    assert found["market"].null_count() == 1  # of judged queries that the run lacks
    assert_same(found.select("market", "mean", "n_queries"), wanted)


def test_a_query_that_one_table_lacks_may_be_refused(spark: Any) -> None:
    run, qrels = to_spark(spark, RUN), to_spark(spark, QRELS.filter(pl.col("query_id") != "q2"))
    with pytest.raises(Exception, match="a query of the run has no judgments"):
        rankframe.spark.evaluate(run, "map", qrels=qrels, run_only="error").collect()
    with pytest.raises(rf.InvalidOption, match="judged_only='kep'"):
        rankframe.spark.evaluate(run, "map", qrels=qrels, judged_only="kep")  # type: ignore[arg-type]
    with pytest.raises(rf.InvalidData, match="cast one"):
        rankframe.spark.evaluate(run, "map", qrels=qrels.selectExpr("query_id", "1 AS doc_id", "label"))
    with pytest.raises(rf.MissingColumn, match="label='grade'"):
        rankframe.spark.evaluate(run, "map", qrels=qrels.withColumnRenamed("label", "grade"))


def test_every_row_of_judgments_without_labels_counts_1(spark: Any) -> None:
    truth = QRELS.filter(pl.col("label") > 0).select("query_id", "doc_id")
    found = rankframe.spark.evaluate(to_spark(spark, RUN), "map", "err", qrels=to_spark(spark, truth), buckets=4)
    assert_same(found, RUN.rank.judge(truth, run_only="drop").rank.evaluate("map", "err"))


# ------------------------------------------------------------------------------------------- rows and summaries


def test_rows_keep_all_their_columns(spark: Any) -> None:
    df = DF.with_columns(pl.col("score").alias("a.b `c`"), pl.struct("doc_id").alias("nested"))
    sdf = to_spark(spark, df).selectExpr(
        "*", "map('k', doc_id) AS m", "map('k', array(struct(timestamp '2020-01-01 00:00:00' AS t))) AS t"
    )
    found = rankframe.spark.with_metrics(sdf, "ndcg@3", "err", "rbp.95", buckets=5)
    assert found.dtypes == [*sdf.dtypes, *((name, "double") for name in ("ndcg@3", "err", "rbp(p=0.95)"))]
    assert_same(found.drop("m", "t"), df.rank.with_metrics("ndcg@3", "err", "rbp.95"))
    assert found.where("m['k'] = doc_id AND t['k'][0].t = '2020-01-01 00:00:00'").count() == len(df)
    with pytest.raises(rf.InvalidOption, match="second column 'rr'"):
        rankframe.spark.with_metrics(sdf.selectExpr("*", "1 AS rr"), "rr")


@pytest.mark.parametrize("by", [None, "slice", ["slice", "day"]])
def test_summaries_are_those_of_one_polars_frame_for_any_number_of_buckets(spark: Any, by: Any) -> None:
    df = DF.with_columns(slice=pl.col("query_id").str.slice(-1).replace("0", None), day=pl.lit(dt.date(2020, 1, 1)))
    sdf, texts = to_spark(spark, df), ("ndcg@10", "err", "gm_map")
    summary = Summary.of(bound({}, arrow_kernel), None, *texts, by=by, ci=0.95, seed=3, resamples=200)
    one = summary.merge(summary.part(df))
    polars = df.rank.summarize(*texts, by=by, ci=None)
    for buckets in (1, 4, 50):
        found = to_polars(rankframe.spark.summarize(sdf, *texts, by=by, seed=3, resamples=200, buckets=buckets))
        assert_same(found, one)
        assert_same(found.drop("ci_low", "ci_high", "interval"), polars)
    assert one["ci_low"].null_count() == 0


@pytest.mark.parametrize("by", [None, ["slice", "day"]])
def test_means_are_those_of_one_polars_frame_for_any_number_of_parts(spark: Any, by: Any) -> None:
    df = DF.with_columns(slice=pl.col("query_id").str.slice(-1).replace("0", None), day=pl.lit(3))
    texts = ("ndcg@10", "err", "gm_map", "num_ret")
    for parts in (1, 4):
        assert_same(
            rankframe.spark.mean(to_spark(spark, df), *texts, by=by, buckets=parts), df.rank.mean(*texts, by=by)
        )


@pytest.mark.parametrize("by", [None, "slice"])
def test_catalog_metrics_are_those_of_one_polars_frame_for_any_number_of_buckets(spark: Any, by: Any) -> None:
    df = DF.with_columns(slice=pl.col("query_id").str.slice(-1))
    past = DF.select("query_id", "doc_id").unique().sort("query_id", "doc_id").gather_every(5)
    texts = ("coverage@3", "gini@3", "personalization@3", "popularity_lift@3")
    known: dict[str, Any] = {"items": DF["doc_id"].unique(), "interactions": past}
    wanted = df.rank.items.catalog(*texts, by=by, ci=None, **known)
    for buckets in (1, 4):
        found = to_polars(rankframe.spark.catalog(to_spark(spark, df), *texts, by=by, buckets=buckets, **known))
        key = [*([by] if by else []), "metric"]
        found, expected = (x.select(wanted.columns).sort(key).cast(dict(wanted.schema)) for x in (found, wanted))
        assert_frame_equal(found, expected)


@pytest.mark.parametrize("by", [None, "slice"])
def test_weights_mean_what_they_mean_on_a_polars_frame(spark: Any, by: Any) -> None:
    df = DF.with_columns(
        slice=pl.col("query_id").str.slice(-1), asked=pl.col("query_id").str.len_chars().cast(pl.Int32)
    )
    df = df.with_columns(asked=pl.when(pl.col("slice") != "3").then("asked").otherwise(0))
    texts = ("ndcg@10", "err", "gm_map")
    wanted = df.rank.summarize(*texts, by=by, weights="asked", ci=None)
    summary = Summary.of(bound({}, arrow_kernel), None, *texts, by=by, ci=0.95, seed=3, resamples=200, weights="asked")
    for buckets in (1, 4, 50):
        found = to_polars(
            rankframe.spark.summarize(
                to_spark(spark, df), *texts, by=by, weights="asked", seed=3, resamples=200, buckets=buckets
            )
        )
        assert_same(found.drop("ci_low", "ci_high", "interval"), wanted)
        assert_same(found, summary.merge(summary.part(df)))


def test_a_query_of_the_judgments_alone_has_no_weight(spark: Any) -> None:
    run, qrels = to_spark(spark, RUN.filter(pl.col("query_id") != "q1").with_columns(w=2.0)), to_spark(spark, QRELS)
    with pytest.raises(Exception, match="a query's weight, 'w', is null"):
        rankframe.spark.summarize(run, "map", qrels=qrels, weights="w", buckets=2).collect()
    found = to_polars(rankframe.spark.summarize(run, "map", qrels=qrels, weights="w", judged_only="drop", buckets=2))
    wanted = (
        RUN.filter(pl.col("query_id") != "q1")
        .rank.judge(QRELS, judged_only="drop", run_only="drop")
        .rank.summarize("map", ci=None)
    )
    assert_same(found.select("mean", "std", "n_queries"), wanted.select("mean", "std", "n_queries"))
    with pytest.raises(rf.MissingColumn, match="no column 'wieght' for weights"):
        rankframe.spark.summarize(run, "map", weights="wieght")


# -------------------------------------------------------------------------------------------------- types


@pytest.mark.parametrize(
    ("type_", "ids"),
    [
        ("string", ["a", "b", None]),
        ("bigint", [1, -(2**63), None]),
        ("int", [1, 2, None]),
        ("decimal(20,3)", [decimal.Decimal("1.001"), decimal.Decimal("1.002"), None]),
        ("date", [dt.date(2020, 1, 1), dt.date(2020, 1, 2), None]),
        ("timestamp", [dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 2), None]),
        ("timestamp_ntz", [dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 2), None]),
        ("binary", [b"a", b"b", None]),
        ("boolean", [True, False, None]),
    ],
)
def test_ids_keep_their_type_and_null_is_a_query(spark: Any, type_: str, ids: list[Any]) -> None:
    rows = [(query, doc, float(score), 1) for query in ids for doc, score in (("a", 2), ("b", 1))]
    sdf = spark.createDataFrame(rows, f"q {type_}, d string, s double, l int")
    found = rankframe.spark.evaluate(sdf, "rr", "num_relevant", query="q", doc="d", score="s", label="l", buckets=3)
    assert found.dtypes == [("q", type_), ("rr", "double"), ("num_relevant", "double")]
    got = {row["q"] if type_ != "binary" or row["q"] is None else bytes(row["q"]) for row in found.collect()}
    assert got == set(ids)
    assert {row["num_relevant"] for row in found.collect()} == {2.0}
    docs = rankframe.spark.evaluate(
        sdf.where("q IS NOT NULL").selectExpr("1 AS query_id", "q AS doc_id", "s AS score", "l AS label").dropDuplicates(
            ["doc_id"]
        ), "hits",
    )  # fmt: skip
    assert docs.collect()[0]["hits"] == 2


def test_decimal_scores_rank_by_their_exact_value_and_labels_may_be_any_number(spark: Any) -> None:
    rows = [
        ("q", "a", decimal.Decimal("0.10000000000000000001"), 0),
        ("q", "b", decimal.Decimal("0.10000000000000000002"), 1),
    ]
    sdf = spark.createDataFrame(rows, "query_id string, doc_id string, score decimal(30,20), label int")
    for label in ("int", "bigint", "float", "decimal(5,1)", "boolean", "tinyint"):
        found = rankframe.spark.evaluate(sdf.withColumn("label", sdf["label"].cast(label)), "rr", "err").collect()[0]
        assert (found["rr"], found["err"]) == (1.0, 0.5), label
    as_double = sdf.withColumn(
        "score", sdf["score"].cast("double")
    )  # which ties them, so that b stands first by its id
    assert rankframe.spark.evaluate(as_double, "rr", ties="doc_asc").collect()[0]["rr"] == 0.5


def test_large_texts_are_asked_for_by_a_setting(spark: Any, sdf: Any) -> None:
    spark.conf.set("spark.sql.execution.arrow.useLargeVarTypes", "true")
    try:
        assert_same(rankframe.spark.evaluate(sdf, "map", "relstring", buckets=2), DF.rank.evaluate("map", "relstring"))
    finally:
        spark.conf.unset("spark.sql.execution.arrow.useLargeVarTypes")


def test_an_empty_table_has_no_row_and_the_same_columns(sdf: Any) -> None:
    nothing = rankframe.spark.evaluate(sdf.where("false"), "ndcg@10", "err")
    assert nothing.columns == ["query_id", "ndcg@10", "err"]
    assert nothing.count() == 0
    assert rankframe.spark.summarize(sdf.where("false"), "map").count() == 0


# -------------------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("CASE WHEN doc_id = 'a' THEN double('NaN') ELSE score END AS score, label", "column 'score' holds NaN"),
        ("score, double('infinity') AS label", "column 'label' holds NaN or an infinite label"),
    ],
)
def test_what_is_wrong_with_rows_fails_the_job_with_our_message_once(sdf: Any, change: str, message: str) -> None:
    bad = rankframe.spark.evaluate(sdf.selectExpr("query_id", "doc_id", *_columns(change)), "map", buckets=4)
    for act in (bad.collect, bad.count, lambda: bad.select("query_id").collect()):
        with pytest.raises(Exception, match="holds NaN") as caught:
            act()
        said = caught.value.getMessage()
        assert type(caught.value).__name__ == "SparkRuntimeException"
        assert said.count(message) == 1
        first, *trace = said.splitlines()
        assert first.startswith("[USER_RAISED_EXCEPTION] column")
        assert "query_id=" in first
        assert CONNECT or not trace  # a server adds that of its own side
        assert not any(".py" in line for line in trace)


def _columns(text: str) -> list[str]:
    score, label = text.rsplit(", ", 1)
    return [score, label]


def test_a_document_twice_and_a_slice_twice_are_errors(sdf: Any) -> None:
    with pytest.raises(Exception, match="the same 'doc_id' twice"):
        rankframe.spark.evaluate(sdf.union(sdf), "map").collect()
    with pytest.raises(Exception, match="several values of 'doc_id'"):
        rankframe.spark.summarize(sdf, "map", by="doc_id").collect()


def test_mistakes_in_the_call_are_told_at_once(spark: Any, sdf: Any) -> None:
    evaluate = rankframe.spark.evaluate
    with pytest.raises(rf.UnknownMetric, match="Did you mean 'ndcg'"):
        evaluate(sdf, "ndgc")
    with pytest.raises(rf.MissingColumn, match="the table has qid, doc_id, score, label"):
        evaluate(sdf.withColumnRenamed("query_id", "qid"), "ndcg")
    with pytest.raises(rf.MissingColumn, match="no column 'market' for by"):
        rankframe.spark.summarize(sdf, "ndcg", by="market")
    with pytest.raises(rf.InvalidData, match="holds String, not numbers"):
        evaluate(sdf, "ndcg", label="doc_id", doc=None, ties="error")
    with pytest.raises(rf.InvalidData, match="DataFrame is no Spark table"):
        evaluate(DF, "ndcg")  # type: ignore[arg-type]
    with pytest.raises(rf.InvalidOption, match="buckets=0: write a whole number"):
        evaluate(sdf, "ndcg", buckets=0)
    with pytest.raises(rf.InvalidOption, match=r"evaluate has no option 'tie'\. Did you mean 'ties'"):
        evaluate(sdf, "ndcg", tie="order")
    with pytest.raises(rf.InvalidData, match=r"write rankframe\.spark\.evaluate"):
        rf.rank(sdf)


def test_ties_do_not_stand_by_an_order_that_rows_do_not_have(sdf: Any) -> None:
    for frame_, options in ((sdf, {"ties": "order"}), (sdf.drop("doc_id"), {}), (sdf, {"convention": "ranx"})):
        with pytest.raises(rf.InvalidOption, match="the rows of a Spark table have no order"):
            rankframe.spark.evaluate(frame_, "map", **options)
    for ties in ("best", "worst", "expected"):
        wanted = DF.drop("doc_id").rank.on(ties=ties).evaluate("map")
        assert_same(rankframe.spark.evaluate(sdf.drop("doc_id"), "map", ties=ties, buckets=3), wanted)


def test_nothing_runs_before_spark_is_asked_where_buckets_are_said(sdf: Any) -> None:
    failing = sdf.selectExpr(
        "query_id", "doc_id", "score", "CASE WHEN raise_error('ran') IS NULL THEN label END AS label"
    )
    failing = failing.selectExpr("*")
    planned = rankframe.spark.evaluate(failing, "map", buckets=2)
    with pytest.raises(Exception, match="ran"):
        planned.collect()


def test_spark_tables_get_no_accessor(sdf: Any) -> None:
    assert not any("rank" in vars(kind) for kind in type(sdf).__mro__)


def test_means_of_several_runs_are_those_of_a_polars_frame(spark: Any) -> None:
    df = RUN.rank.judge(QRELS, run_only="drop").with_columns(new=pl.col("score") * -1)
    of_scores = rankframe.spark.mean(to_spark(spark, df), "map", runs=["score", "new"], buckets=3)
    assert_same(of_scores, df.rank.mean("map", runs=["score", "new"]))
    values_of_scores = rankframe.spark.evaluate(to_spark(spark, df), "map", runs=["score", "new"], buckets=3)
    assert_same(values_of_scores, df.rank.evaluate("map", runs=["score", "new"]))
    stacked = pl.concat([df.with_columns(run=pl.lit(name)) for name in "ab"])
    assert_same(
        rankframe.spark.summarize(to_spark(spark, stacked), "map", run="run", ci=None, buckets=3),
        stacked.rank.summarize("map", run="run", ci=None),
    )
    values_by_name = rankframe.spark.evaluate(to_spark(spark, stacked), "map", run="run", buckets=3)
    assert_same(values_by_name, stacked.rank.evaluate("map", run="run"))


def runs_of_three(*, absent: bool = True) -> pl.DataFrame:
    """A row per run, query and document of three runs, one of which lacks a query."""
    long = pl.concat(DF.select("query_id", "doc_id", "label", score=pl.col("score") * n, system=pl.lit(name)) for n, name in
                     ((1, "a"), (-1, "b"), (3, "c")))  # fmt: skip
    return long.filter((pl.col("system") != "c") | (pl.col("query_id") != DF["query_id"][0])) if absent else long


@pytest.mark.parametrize("buckets", [1, 4])
@pytest.mark.parametrize("method", ["rrf", "borda", "comb_mnz(normalize=min_max)"])
@pytest.mark.parametrize("verb", ["fuse", "explain_fusion"])
def test_a_bucket_holds_the_rows_of_all_runs_of_a_query(spark: Any, verb: str, method: str, buckets: int) -> None:
    df = runs_of_three()
    found = getattr(rankframe.spark, verb)(to_spark(spark, df), method, run="system", buckets=buckets)
    assert_same(found, getattr(df.rank.fusion, verb.removesuffix("_fusion"))(method, run="system"))


@pytest.mark.parametrize("verb", ["fuse", "explain_fusion"])
def test_a_trained_fusion_is_applied_to_the_runs_of_its_training(spark: Any, verb: str) -> None:
    df = runs_of_three()
    fitted = df.rank.fusion.fit("bayesfuse", run="system")
    found = getattr(rankframe.spark, verb)(to_spark(spark, df), fitted, buckets=3)
    assert_same(found, getattr(df.rank.fusion, verb.removesuffix("_fusion"))(fitted))


def test_figures_of_an_explained_fusion_are_longs_and_doubles(spark: Any) -> None:
    df = DF.with_columns(other=-pl.col("score"))
    found = rankframe.spark.explain_fusion(to_spark(spark, df), "rrf", runs=["score", "other"])
    kinds = dict(found.dtypes)
    assert [kinds[name] for name in ("run", "rank", "score", "normalized", "contribution", "fused", "fused_rank")] == [
        "string", "bigint", "double", "double", "double", "double", "bigint",
    ]  # fmt: skip


def test_score_columns_are_fused_and_the_result_evaluated(spark: Any) -> None:
    df = DF.with_columns(other=-pl.col("score"))
    options: dict[str, Any] = {"runs": ["score", "other"], "weights": [0.7, 0.3]}
    fused = rankframe.spark.fuse(to_spark(spark, df), "wsum(normalize=rank)", **options, buckets=3)
    wanted = df.rank.fuse("wsum(normalize=rank)", **options)
    assert_same(fused, wanted)
    assert_same(fused.transform(rankframe.spark.evaluate, "ndcg@5"), wanted.rank.evaluate("ndcg@5"))


def test_a_query_column_that_names_runs_as_well_tells_no_queries_apart(spark: Any) -> None:
    df = runs_of_three()
    found = rankframe.spark.fuse(to_spark(spark, df), "rrf", run="system", query=["system", "query_id"], buckets=3)
    assert_same(found, df.rank.fuse("rrf", run="system"))


def test_ids_and_labels_keep_their_types_in_a_fusion(spark: Any) -> None:
    df = pl.DataFrame({"query_id": [1, 1], "doc_id": [7, 8], "x": [1.0, 2.0], "y": [2.0, 1.0], "label": [1, 0]})
    df = df.cast({"query_id": pl.Int16, "doc_id": pl.Int32, "label": pl.Int8})
    found = rankframe.spark.fuse(to_spark(spark, df), "rrf", runs=["x", "y"])
    assert [kind for _, kind in found.dtypes] == ["smallint", "int", "double", "tinyint"]


def test_weights_of_named_runs_are_named(spark: Any) -> None:
    df = runs_of_three()
    weights = {"b": 0.5, "c": 0.2, "a": 0.3}
    found = rankframe.spark.fuse(to_spark(spark, df), "rrf", run="system", weights=weights, buckets=3)
    assert_same(found, df.rank.fuse("rrf", run="system", weights=weights))
    for method, given in (("rrf", [0.3, 0.5, 0.2]), ("rrf(weights=[0.3,0.5,0.2])", None)):
        with pytest.raises(
            rf.InvalidOption, match=r"name the run of each weight: weights=\{'bm25': 0.7, 'dense': 0.3\}"
        ):
            rankframe.spark.fuse(to_spark(spark, df), method, run="system", weights=given)


def test_a_method_that_is_unknown_is_refused_by_the_call(spark: Any) -> None:
    with pytest.raises(rf.InvalidOption, match="unknown fusion method 'rff'"):
        rankframe.spark.fuse(to_spark(spark, DF), "rff", runs=["score"])


def test_a_worker_gives_back_the_callers_columns_and_an_error_as_a_row() -> None:
    berlin = pa.array([dt.datetime(2026, 1, 1)], pa.timestamp("us", "Europe/Berlin"))
    table = pa.table({"c0": ["q"], "c1": berlin, "bucket": [0]})

    def counted(part: pa.Table) -> pa.Table:
        if part.num_rows and part["query"][0].as_py() == "bad":
            raise InvalidData(
                "query bad has no rows; write ", Advice("on", {"label": "rel"}), Code("df.drop()", pandas="df.pop()")
            )
        return part.append_column("n", pa.array([part.num_rows] * part.num_rows, pa.int64()))

    guarded = Guarded(counted, [["query", "at"]], {"n": pa.int32()}, "#fault")
    found = guarded(table)
    assert found.schema.names == ["query", "at", "n", "#fault"]
    assert (found.schema.field("n").type, found.schema.field("at").type) == (pa.int32(), pa.timestamp("us", "UTC"))
    assert found.drop_columns("at").to_pylist() == [{"query": "q", "n": 1, "#fault": None}]
    batches = list(guarded.on_batches([*table.to_batches(), *table.to_batches()]))
    assert [batch.num_rows for batch in batches] == [1, 1]
    bad = guarded(table.set_column(0, "c0", pa.array(["bad"]))).to_pylist()
    assert [(row["query"], row["n"]) for row in bad] == [(None, None)]
    assert bad[0]["#fault"] == "query bad has no rows; write label='rel'"


def test_a_table_of_two_runs_is_compared_and_gated_in_one_call_as_a_polars_frame(spark: Any) -> None:
    df, err = two_runs(), "err(max_label=2)"
    sdf, runs = to_spark(spark, df), {"runs": ["old", "new"], "progress": False}
    found = rankframe.spark.compare(sdf, "ndcg@10", err, by="market", buckets=3, **runs)
    wanted = df.rank.compare("ndcg@10", err, by="market", **runs)
    for frame_of in ("table", "per_query", "per_query_delta", "ranks"):
        assert_same(getattr(found, frame_of), getattr(wanted, frame_of))
    assert found.settings == wanted.settings
    verdict = rankframe.spark.gate(sdf, {"ndcg@10": 0.2}, buckets=3, **runs)
    wanted = df.rank.gate({"ndcg@10": 0.2}, **runs)
    assert bool(verdict) == bool(wanted)
    for frame_of in ("table", "failures", "moved"):
        assert_same(getattr(verdict, frame_of), getattr(wanted, frame_of))


def test_a_run_in_a_column_and_judgments_of_their_own_are_compared_and_gated(spark: Any) -> None:
    df = two_runs()
    shared, run = df.select("query_id", "doc_id", "label"), {"run": "system", "baseline": "old", "progress": False}
    long = [
        df.select("query_id", "doc_id", score=name, system=pl.lit(name)).filter(pl.col("doc_id") != "d3")
        for name in ("old", "new")
    ]
    stacked, on = pl.concat(long), {"qrels": to_spark(spark, shared), "buckets": 2}
    judged = stacked.rank.judge(shared, run="system")
    found = rankframe.spark.compare(to_spark(spark, stacked), "map", **on, **run)
    assert_same(found.table, judged.rank.compare("map", **run).table)
    found = rankframe.spark.gate(to_spark(spark, stacked), "map", margin=0.2, **on, **run)
    assert_same(found.moved, judged.rank.gate("map", margin=0.2, **run).moved)


def test_power_and_reliability_take_values_per_query_from_the_buckets(spark: Any) -> None:
    df = two_runs().with_columns(third=pl.col("old") - pl.col("new"))
    sdf, runs = to_spark(spark, df), ["old", "new", "third"]
    found = rankframe.spark.power(sdf, "map", runs=runs, difference=0.05, buckets=2)
    assert_same(found, df.rank.power("map", runs=runs, difference=0.05))
    fast = {"halves": 10, "resamples": 50, "progress": False}
    found = rankframe.spark.reliability(sdf, "map", "rr", runs=runs, buckets=2, **fast)
    assert_same(found.table, df.rank.collection.reliability("map", "rr", runs=runs, **fast).table)


def test_groups_are_compared_and_a_report_is_written_by_values_from_the_buckets(spark: Any, tmp_path: Path) -> None:
    df = two_runs(10)
    sdf, asked = to_spark(spark, df), {"by": "market", "resamples": 100, "progress": False}
    found = rankframe.spark.compare_groups(sdf, "map", score="old", buckets=2, **asked)
    wanted = df.rank.on(score="old").compare_groups("map", **asked)
    for frame_of in ("table", "spread", "groups"):
        assert_same(getattr(found, frame_of), getattr(wanted, frame_of))
    asked |= {"runs": ["old", "new"]}
    with unpainted():
        page = rankframe.spark.report(sdf, tmp_path / "spark.html", "ndcg@5", buckets=2, **asked).read_text("utf-8")
        of_one = df.rank.report(tmp_path / "polars.html", "ndcg@5", **asked).read_text("utf-8")
    numbers, others = (re.findall(r'data-number="([^"]+)"', text) for text in (page, of_one))
    assert [f"{float(x):.10g}" for x in numbers] == [f"{float(x):.10g}" for x in others]
    assert "100 rows, 10 queries, 100 judgments" in page


def test_a_comparison_tells_at_once_what_is_wrong_and_of_rows_in_the_job(spark: Any) -> None:
    sdf = to_spark(spark, two_runs())
    with pytest.raises(rf.MissingColumn, match="older"):
        rankframe.spark.compare(sdf, "map", runs=["older", "new"], buckets=1)
    with pytest.raises(rf.InvalidOption, match="a budget of 2 allows any loss"):
        rankframe.spark.gate(sdf, {"map": 2.0}, runs=["old", "new"], buckets=1)
    nan = sdf.selectExpr("query_id", "doc_id", "label", "old", "if(doc_id = 'd1', double('NaN'), new) AS new")
    with pytest.raises(Exception, match="column 'new' holds NaN"):
        rankframe.spark.compare(nan, "map", runs=["old", "new"], buckets=1)


def test_workers_whose_python_lacks_rankframe_are_refused_before_a_job_begins(
    spark: Any, sdf: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if CONNECT:
        return  # a Connect session does not tell its Python
    python = tmp_path / "python3"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} -I -S "$@"\n')
    python.chmod(0o755)
    monkeypatch.setattr(spark.sparkContext, "pythonExec", str(python))
    with pytest.raises(rf.RankframeError, match=r"which has no rankframe; set os\.environ"):
        rankframe.spark.evaluate(sdf, "rr")
