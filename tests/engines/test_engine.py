"""An engine is three methods: one of lists of Polars frames has every verb, with the values of the frame in one."""

from __future__ import annotations

import inspect
import pickle
from collections.abc import Collection, Mapping, Sequence
from typing import Any, TypeAlias

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rankframe as rf
from rankframe._lift.arrow_kernel import arrow_kernel, bound
from rankframe._lift.engine import Side, Work, run
from rankframe._lift.polars import PolarsRanker
from rankframe._support.option_kinds import Column
from rankframe._table.table import Table
from rankframe._verbs.audit import tool_comparison
from rankframe._verbs.call.declaration import call_of_verb, verb
from rankframe._verbs.fuse.fuse import fuse
from rankframe._verbs.items.expected_exposure import expected_exposure
from rankframe._verbs.items.summarize import summarize
from rankframe._verbs.measure import evaluate as verbs, judge
from rankframe._verbs.measure.summary import mean
from tests.support.calls import POLICIES
from tests.support.each import each
from tests.support.tables import BY_CHANCE, FRACTIONAL_LABELS, frame, random_table

pytestmark = BY_CHANCE

Parts: TypeAlias = list[pl.DataFrame]

DF = frame(random_table(6, queries=30, labels=FRACTIONAL_LABELS))
RUN = DF.filter(pl.col("score").is_not_null()).drop("label")
QRELS = DF.filter(pl.col("label").is_not_null()).drop("score")
WITHOUT_ORDER = [policies for policies in POLICIES if policies.get("ties") != "order"]


class Lists:
    """Tables as lists of frames; a part has the rows whose keys have one hash."""

    name = "list"
    advice = "concatenate it"

    def __init__(self) -> None:
        self.worked: list[tuple[Work, Sequence[str] | None]] = []

    def schema(self, table: Parts, read: Collection[str] | None) -> pl.DataFrame:
        return (
            table[0].clear().select(x if read is None or x in read else pl.lit(None).alias(x) for x in table[0].columns)
        )

    def by_key(self, work: Work, key: Sequence[str] | None, *sides: Side[Parts]) -> Parts:
        self.worked.append((work, key))
        work = pickle.loads(pickle.dumps(work))
        tables = [[part.select(side.names) for part in side.table] for side in sides]
        if key is not None:
            wholes = [pl.concat(parts) for parts in tables]
            if not key:  # all rows have its values
                return [work(*wholes)]
            tables = [[x.filter(x.select(key).hash_rows() % 5 == part) for part in range(5)] for x in wholes]
        return [work(*parts) for parts in zip(*tables, strict=True)]

    def collect(self, table: Parts) -> pl.DataFrame:
        return pl.concat(table)


def parted(df: pl.DataFrame, n: int = 3) -> Parts:
    """The rows dealt out to parts, so that queries lie in several."""
    return [df.gather_every(n, i) for i in range(n)]


def asked(
    df: pl.DataFrame, function: Any, *args: Any, on: Mapping[str, Any] = {}, two: Mapping[str, Any] = {}, **options: Any
) -> pl.DataFrame:
    call = call_of_verb(function, *args, **options)
    return pl.concat(run(Lists(), parted(df), bound(on, arrow_kernel), call, **two))


def assert_same(found: pl.DataFrame, wanted: pl.DataFrame) -> None:
    assert_frame_equal(found, wanted, check_row_order=False, check_dtypes=False, rel_tol=1e-12, abs_tol=1e-12)


@each("policies", WITHOUT_ORDER, ids=str, sample=8)
def test_values_are_those_of_the_frame_in_one(policies: Mapping[str, Any]) -> None:
    texts = ("ndcg@3", "map", "bpref", "err@5", "nerr", "sdcg@3")
    assert_same(asked(DF, verbs.evaluate, *texts, on=policies), DF.rank.on(**policies).evaluate(*texts))


@each(
    ("function", "args"),
    [
        (verbs.with_metrics, ["ndcg@3", "err"]),
        (verbs.with_ranks, ["rank"]),
        (verbs.curve, ["precision", "err"]),
        (verbs.explain, ["err"]),
        (verbs.agreement, ["other", "kendall_tau", "rbo"]),
        (verbs.evaluate, ["err", pl.len().alias("rows"), pl.col("^sco.*$").max()]),
    ],
    ids=lambda x: x.__name__ if callable(x) else "",
)
def test_every_verb_within_queries_runs_on_the_three_methods(function: Any, args: list[Any]) -> None:
    df = DF.with_columns(other=pl.col("label").shuffle(seed=1))
    assert_same(asked(df, function, *args), getattr(df.rank, function.__name__)(*args))


@each("query", ["query_id", ["system", "query_id"]])
def test_a_part_has_the_rows_of_all_runs_of_a_query_where_these_are_brought_together(query: Any) -> None:
    df = pl.concat(DF.with_columns(pl.col("score") * (i - 1), system=pl.lit(f"s{i}")) for i in range(3))
    found = asked(df, expected_exposure, run="system", on={"query": query})
    assert_same(found, df.rank.items.expected_exposure(run="system"))


def test_a_new_verb_runs_on_an_engine_by_its_declaration() -> None:
    assert_same(
        asked(DF, greatest, "score").sort("query_id"),
        DF.group_by("query_id").agg(pl.col("score").max()).sort("query_id"),
    )
    with pytest.raises(
        rf.InvalidOption, match="number needs the whole table in one piece, which a list is not; concatenate it"
    ):
        asked(DF, number)
    with pytest.raises(TypeError, match="undeclared is not declared as a verb"):
        asked(DF, undeclared)


@verb(gives="query", labels=False)
def greatest(table: Table[Any], of: Column) -> Any:
    return table.rows.group_by(table.setup.roles.query).agg(pl.col(of).max())


@verb(gives="table")
def number(table: Table[Any]) -> Any:
    return table.rows.select(pl.len())


def undeclared(table: Table[Any]) -> Any:
    return table.rows


@each(("function", "args"), [(judge.check, []), (tool_comparison.conventions, ["ndcg"])])
def test_verbs_of_the_whole_table_are_refused(function: Any, args: list[str]) -> None:
    with pytest.raises(rf.InvalidOption, match=f"{function.__name__} needs the whole table in one piece"):
        asked(DF, function, *args)


@each(
    ("policies", "metric", "shown"),
    [
        ({}, "err", True),
        ({"unretrieved": "drop"}, "err", False),
        ({"unretrieved": "drop", "depth": 1, "no_relevant": "null"}, "err", False),
        ({"unjudged": "bounds"}, "precision@1", True),
        ({"convention": "catboost", "depth": 1}, "pfound(max_label=None)", False),
    ],
    ids=str,
)
def test_the_largest_label_is_that_of_the_documents_that_count(
    policies: dict[str, Any], metric: str, shown: bool
) -> None:
    df = DF.with_columns(
        label=pl.when(pl.col("score") > 0).then(pl.col("label").clip(None, 2)).otherwise(pl.col("label"))
    )
    engine = Lists()
    found = pl.concat(run(engine, parted(df), bound(policies, arrow_kernel), call_of_verb(verbs.evaluate, metric)))
    assert_same(found, df.rank.on(**policies).evaluate(metric))
    (_, key), _ = engine.worked
    assert (key is None) is shown  # rows that show it need not come together


def test_a_part_without_a_label_has_no_largest_one() -> None:
    unjudged = DF.filter(pl.col("query_id") == "q1").with_columns(query_id=pl.lit("new"), label=None).cast(DF.schema)
    call = call_of_verb(verbs.evaluate, "err")
    found = pl.concat(run(Lists(), [unjudged, DF], bound({}, arrow_kernel), call))
    assert_same(found, pl.concat([unjudged, DF]).rank.evaluate("err"))


def test_labels_that_nobody_asks_the_largest_of_are_read_once() -> None:
    engine = Lists()
    run(engine, parted(DF), bound({}, arrow_kernel), call_of_verb(verbs.evaluate, "map"))
    assert len(engine.worked) == 1


# -------------------------------------------------------------------------------------------------- two tables


@each("judged_only", ["keep", "drop"])
@each("run_only", ["keep", "drop"])
def test_judgments_of_their_own_join_within_queries(judged_only: Any, run_only: Any) -> None:
    one = RUN.filter(pl.col("query_id") != "q1").with_columns(split=pl.lit("run"))
    qrels = QRELS.filter(pl.col("query_id") != "q2").with_columns(split=pl.lit("qrels"))
    given = {"judged_only": judged_only, "run_only": run_only}
    texts = ("ndcg@3", "map", "err", "recall")
    wanted = one.drop("split").rank.judge(qrels, **given)
    assert_same(asked(one, verbs.evaluate, *texts, two={"qrels": parted(qrels), **given}), wanted.rank.evaluate(*texts))
    joined = asked(one.drop("split"), judge.judge, parted(qrels), **given)
    assert_same(joined, wanted)


def test_judgments_without_labels_count_1_each_in_the_largest_label_too() -> None:
    qrels = QRELS.select("query_id", "doc_id")
    wanted = RUN.rank.judge(qrels, judged_only="keep", run_only="drop").rank.evaluate("err")
    assert_same(asked(RUN, verbs.evaluate, "err", two={"qrels": parted(qrels)}), wanted)


def test_judgments_without_the_run_hold_for_every_run_of_the_table() -> None:
    runs = pl.concat(
        [RUN.with_columns(run=pl.lit("a")), RUN.filter(pl.col("query_id") < "q3").with_columns(run=pl.lit(None))]
    )
    on = {"query": ["run", "query_id"]}
    wanted = runs.rank.on(**on).judge(QRELS, judged_only="keep", run_only="drop")
    assert_same(
        asked(runs, verbs.evaluate, "map", on=on, two={"qrels": parted(QRELS)}), wanted.rank.on(**on).evaluate("map")
    )
    named = asked(runs.drop_nulls("run"), judge.judge, parted(QRELS), run="run", judged_only="keep", run_only="drop")
    assert_same(named, runs.drop_nulls("run").rank.judge(QRELS, run="run", judged_only="keep", run_only="drop"))


def test_what_is_wrong_with_judgments_is_told_before_anything_runs() -> None:
    engine = Lists()
    columns, call = bound({}, arrow_kernel), call_of_verb(verbs.evaluate, "map")
    with pytest.raises(rf.MissingColumn, match=r"no column 'label' for label; qrels has .*on\(label='grade'\)"):
        run(engine, parted(RUN), columns, call, qrels=parted(QRELS.rename({"label": "grade"})))
    with pytest.raises(rf.InvalidOption, match="judged_only='kep'"):
        run(engine, parted(RUN), columns, call, qrels=parted(QRELS), judged_only="kep")  # type: ignore[arg-type]
    with pytest.raises(rf.UnknownMetric, match="Did you mean 'ndcg'"):
        run(engine, parted(RUN), columns, call_of_verb(verbs.evaluate, "ndgc"))
    assert engine.worked == []


# -------------------------------------------------------------------------------------------------- summaries


@each("by", [(), ("slice",)], sample=4)
@each("weights", [None, "asked"])
@each("ci", [None, 0.9])
def test_a_summary_is_that_of_the_frame_in_one(by: tuple[str, ...], weights: str | None, ci: float | None) -> None:
    df = DF.with_columns(
        slice=pl.col("query_id").str.slice(-1), asked=pl.col("query_id").str.len_chars().cast(pl.Int32)
    )
    texts = ("ndcg@10", "err", "gm_map")
    given: dict[str, Any] = {"by": by, "weights": weights, "ci": ci, "resamples": 60, "seed": 3}
    found = asked(df, summarize, *texts, interval="poisson", **given)
    wanted = df.rank.summarize(*texts, interval="poisson", **given)
    assert ci is None or found["interval"].unique().to_list() == ["poisson"]
    assert found.schema == wanted.schema
    assert_same(found, wanted)
    lazy = df.lazy().rank.summarize(*texts, interval="poisson", **given)
    assert lazy.collect_schema() == wanted.schema
    assert_same(lazy.collect(), wanted)


def test_slices_of_a_run_are_those_of_its_queries() -> None:
    one = RUN.with_columns(market=pl.col("query_id").str.len_chars())
    found = asked(one, summarize, "map", by="market", ci=None, two={"qrels": parted(QRELS)})
    markets = one.group_by("query_id").agg(pl.col("market").first())
    values = (
        RUN.rank.judge(QRELS, judged_only="keep", run_only="drop")
        .rank.evaluate("map")
        .join(markets, on="query_id", how="left")
    )
    wanted = values.group_by("market").agg(pl.col("map").mean().alias("mean"), pl.len().alias("n_queries"))
    assert_same(found.select("market", "mean", "n_queries"), wanted)


def test_a_comparison_has_no_poisson_bootstrap() -> None:
    with pytest.raises(rf.InvalidOption, match="interval='poisson'"):
        DF.rank.compare("rr", runs=["score", "label"], interval="poisson")


def test_summarize_has_the_same_parameters_and_defaults_on_every_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    from rankframe import spark

    calls: list[Any] = []
    monkeypatch.setattr(spark, "run_on", lambda engine, table, setup, call, **two: calls.append((setup, call)))
    given: dict[str, Any] = {
        "runs": ["score", "label"], "run": None, "by": "slice", "ci": 0.9, "interval": "poisson", "weights": "asked",
        "resamples": 99, "seed": 3, "progress": False, "cluster": None, "model_labels": None,
    }  # fmt: skip
    assert {*given} == {*inspect.signature(PolarsRanker.summarize).parameters} - {"table", "metrics"}
    spark.summarize(None, "rr", **given, relevant=2)
    spark.summarize(None, "rr")
    wanted = [call_of_verb(summarize, "rr", **given), call_of_verb(summarize, "rr")]
    assert [call.arguments for _, call in calls] == [call.arguments for call in wanted]
    assert [setup.policies.relevant for setup, _ in calls] == [2, 1]


def test_an_order_of_rows_is_refused() -> None:
    with pytest.raises(rf.InvalidOption, match="the rows of a list have no order"):
        asked(DF, verbs.evaluate, "map", on={"ties": "order"})


def test_weights_of_score_columns_may_be_a_list() -> None:
    df, options = DF.with_columns(other=-pl.col("score")), {"runs": ["score", "other"], "weights": [0.7, 0.3]}
    assert_same(asked(df, fuse, "wsum(normalize=rank)", **options), df.rank.fuse("wsum(normalize=rank)", **options))


@each("by", [None, "slice"])
def test_means_of_parts_are_those_of_the_frame_in_one(by: str | None) -> None:
    df = DF.with_columns(slice=pl.col("query_id").str.slice(-1))
    assert_same(asked(df, mean, "ndcg@3", "num_ret", "err", by=by), df.rank.mean("ndcg@3", "num_ret", "err", by=by))


def test_a_weight_that_is_misspelt_is_named_before_other_columns_are_missed() -> None:
    with pytest.raises(rf.MissingColumn, match="no column 'wieght' for weights"):
        asked(RUN, summarize, "map", weights="wieght")


ANSWERS = pl.DataFrame(
    {
        "system": ["a", "b"] * 20,
        "question": [q // 2 for q in range(40)],
        "right": [i % 5 / 4 for i in range(40)],
        "ms": [*range(40)],
    }
)
RIGHT, MS = rf.value("right", bounds=(0, 1)), rf.value("ms", higher_is_better=False)


@each("policies", [{}, {"convention": "trec_eval"}, {"ties": "order"}], ids=str)
def test_values_of_a_table_in_parts_need_no_order_and_no_documents(policies: Mapping[str, Any]) -> None:
    on = {"query": ["system", "question"], **policies}
    longest = pl.col("ms").max()
    assert_same(asked(ANSWERS, verbs.evaluate, RIGHT, MS, on=on), ANSWERS.rank.on(**on).evaluate(RIGHT, MS))
    one = {"query": "question", **policies}
    assert_same(
        asked(ANSWERS, mean, RIGHT, MS, longest, run="system", on=one),
        ANSWERS.rank.on(**one).mean(RIGHT, MS, longest, run="system"),
    )
    assert_same(
        asked(ANSWERS, verbs.evaluate, RIGHT, MS, run="system", on=one),
        ANSWERS.rank.on(**one).evaluate(RIGHT, MS, run="system"),
    )


def test_values_and_metrics_of_a_table_in_parts_follow_the_convention_of_the_metrics() -> None:
    df = DF.with_columns(cost=pl.col("query_id").rank("dense"))
    on = {"convention": "trec_eval"}
    asked_for = ["ndcg@3", rf.value("cost")]
    assert_same(asked(df, verbs.evaluate, *asked_for, on=on), df.rank.on(**on).evaluate(*asked_for))


def test_a_metric_beside_a_value_still_needs_an_order() -> None:
    df = DF.drop("doc_id").with_columns(cost=pl.lit(1.0))
    assert asked(df, verbs.evaluate, rf.value("cost")).height == df["query_id"].n_unique()
    with pytest.raises(rf.InvalidOption, match="the rows of a list have no order"):
        asked(df, verbs.evaluate, rf.value("cost"), "rr")
