"""Laws that hold for every metric, whatever the table."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import polars as pl
import pytest
from hypothesis import Phase, given, settings, strategies as st
from polars.testing import assert_frame_equal

import rankframe as rf
from rankframe._support.polars_versions import WRAPS_ERRORS
from tests.support.calls import (
    ALL,
    CALLS,
    CANONICAL,
    POLICIES,
    SOME,
    Options,
    adds_up,
    is_beyond,
    needs_table,
    share,
    spell,
)
from tests.support.each import each
from tests.support.plans import assert_native
from tests.support.tables import BY_CHANCE, FRACTIONAL_LABELS, Table, frame, random_table, tables

pytestmark = BY_CHANCE

law = settings(deadline=None, derandomize=True, max_examples=6, phases=[Phase.generate])
hostile = tables(FRACTIONAL_LABELS)
policies = st.sampled_from(POLICIES)
turns = st.integers(0, 9)
every_share = each("shift", range(10), sample=1)
"""What is drawn for a table is a share of the calls; with the shifts, all of them."""

TEXTS = [spell(*call) for call in SOME]
SAID = [spell(name, {**options, "max_label": 4} if needs_table(name, options) else options) for name, options in SOME]
"""The calls, each with its top grade where it takes one: the labels go to 4."""


def evaluate(df: Any, *metrics: Any, **policies: Any) -> Any:
    return df.rank.on(**policies).evaluate(*(metrics or TEXTS))


def assert_same(found: pl.DataFrame, wanted: pl.DataFrame, **options: Any) -> None:
    """Equal to 1e-12, in whatever order the queries come."""
    found, wanted = (df.sort("query_id") for df in (found, wanted))
    assert_frame_equal(found, wanted, rel_tol=1e-12, abs_tol=1e-12, **options)


@every_share
@law
@given(table=hostile, policies=policies, turn=turns)
def test_every_value_is_within_its_metrics_bounds(shift: int, table: Table, policies: Options, turn: int) -> None:
    calls = share(SOME, turn + shift, 10)
    found = evaluate(frame(table), *(spell(*call) for call in calls), **policies)
    for name, options in calls:
        low, high = rf.parse(spell(name, options))[0].bounds
        values = found[spell(name, options)].drop_nulls()
        assert values.is_finite().all()
        assert low is None or (values >= low - 1e-12).all(), (name, options)
        assert high is None or (values <= high + 1e-12).all(), (name, options)


@every_share
@law
@given(
    table=hostile, policies=policies.filter(lambda policies: policies.get("ties") != "order"), seed=st.integers(1, 99)
)
def test_row_order_never_matters(shift: int, table: Table, policies: Options, seed: int) -> None:
    texts = share(TEXTS, seed + shift, 10)
    wanted = evaluate(frame(table, seed=None), *texts, **policies)
    assert_same(evaluate(frame(table, seed=seed), *texts, **policies), wanted)


@every_share
@settings(law, max_examples=3)
@given(table=hostile, policies=policies, size=st.integers(1, 20))
def test_a_frame_may_be_taken_in_parts(shift: int, table: Table, policies: Options, size: int) -> None:
    df, texts = frame(table), share(TEXTS, size + shift, 4)
    wanted, curves = evaluate(df, *texts, **policies), curves_of(df, **policies)
    with (
        patch("rankframe._plan.parts.ROWS_OF_PART", size),
        patch("rankframe._plan.parts.ROWS_OF_THREAD", 1),
        patch("rankframe._plan.per_query.ROWS_OF_SMALL_TABLE", 0),
    ):
        assert_frame_equal(evaluate(df, *texts, **policies), wanted, rel_tol=1e-12, abs_tol=1e-12)
        assert_frame_equal(curves_of(df, **policies), curves, rel_tol=1e-12, abs_tol=1e-12)
        # alone, a metric may do without the queries in which nothing is relevant
        for text in share(texts, (size + shift) // 2, 5):
            alone = wanted.select("query_id", text)
            assert_frame_equal(evaluate(df, text, **policies), alone, rel_tol=1e-12, abs_tol=1e-12)


def curves_of(df: pl.DataFrame, **policies: Any) -> pl.DataFrame:
    found: pl.DataFrame = df.rank.on(**policies).curve("ndcg", "precision")
    return found


@every_share
@law
@given(table=hostile, policies=policies, turn=st.integers(0, 11))
def test_a_frame_may_be_sorted_or_in_chunks(shift: int, table: Table, policies: Options, turn: int) -> None:
    df = frame(table)
    texts = share(TEXTS, turn + shift, 10)
    wanted = evaluate(df, *texts, **policies)
    by_query = df.sort("query_id", maintain_order=True)  # which Polars knows, and groups by another way
    chunks = pl.concat([df[:3], df[3:4], df[4:]], rechunk=False)
    for same in (by_query, chunks):
        assert_same(evaluate(same, *texts, **policies), wanted)
        assert_same(evaluate(same.lazy(), *texts, **policies).collect(), wanted)


@each("shift", range(5), sample=1)
def test_tables_of_many_morsels_stream_to_the_same_values(shift: int) -> None:
    texts = share(TEXTS, shift, 5)
    rng = np.random.default_rng(47)
    rows = 300_000
    df = pl.DataFrame(
        {
            "query_id": rng.integers(0, 15_000, rows),
            "doc_id": rng.permutation(rows),
            "score": rng.integers(0, 15, rows).astype(float),
            "label": rng.choice(np.array([-1, 0, 0, 0, 1, 2, 3]), rows),
        }
    ).with_columns(
        score=pl.when(pl.col("doc_id") % 11 > 0).then("score"), label=pl.when(pl.col("doc_id") % 7 > 0).then("label")
    )
    assert_same(evaluate(df.lazy(), *texts).collect(engine="streaming"), evaluate(df, *texts))
    assert df.rank.with_metrics("rr").drop("rr").equals(df)
    assert df.lazy().rank.with_metrics("rr").collect(engine="streaming").drop("rr").equals(df)


@every_share
@law
@given(table=hostile, policies=policies, turn=turns)
def test_only_the_order_of_the_scores_matters(shift: int, table: Table, policies: Options, turn: int) -> None:
    df, texts = frame(table), share(TEXTS, turn + shift, 10)
    mapped = df.with_columns(pl.col("score") ** 3 / 7 + 100)
    assert_same(evaluate(mapped, *texts, **policies), evaluate(df, *texts, **policies))


@every_share
@law
@given(table=hostile, more=hostile, policies=policies, turn=turns)
def test_adding_queries_leaves_the_others(shift: int, table: Table, more: Table, policies: Options, turn: int) -> None:
    both = frame({**table, **{f"another {query}": rows for query, rows in more.items()}}, seed=None)
    texts = share(SAID, turn + shift, 10)
    found = evaluate(both, *texts, **policies).filter(pl.col("query_id").is_in(list(table)))
    assert_same(found, evaluate(frame(table, seed=None), *texts, **policies))


@every_share
@law
@given(table=hostile, policies=policies, turn=turns)
def test_a_query_that_nobody_judged_has_no_value_in_a_table_and_is_left_out_by_judge(
    shift: int, table: Table, policies: Options, turn: int
) -> None:
    df, texts = frame({**table, "nobody judged": [("a", 2.0, None), ("b", 1.0, None)]}), share(SAID, turn + shift, 10)
    run, qrels = df.drop("label").drop_nulls("score"), df.drop("score").drop_nulls("label")
    if qrels.join(run, on="query_id", how="semi").is_empty():
        return  # judge refuses a run of which no query is judged
    judged = evaluate(run.rank.judge(qrels, run_only="drop", judged_only="keep"), *texts, **policies)
    long = evaluate(df, *texts, **policies)
    by_query = judged.select("query_id").with_columns(judged=True)
    long = long.join(by_query, on="query_id", how="left", maintain_order="left")
    assert_same(long.filter("judged").drop("judged"), judged)
    assert "nobody judged" not in judged["query_id"]
    read_labels = [text for text in texts if rf.parse(text)[0].labels]
    assert long.filter(pl.col("judged").is_null()).select((pl.col(read_labels).is_null()).all()).row(0) == (
        True,
    ) * len(read_labels)
    left = evaluate(run.join(qrels, on=["query_id", "doc_id"], how="left"), *read_labels, **policies)
    nobody = left.join(qrels, on="query_id", how="anti")
    assert nobody.drop("query_id").null_count().row(0) == (nobody.height,) * len(read_labels)
    assert nobody.height


@every_share
@law
@given(table=hostile, policies=policies, turn=turns)
def test_the_name_of_a_query_does_not_matter(shift: int, table: Table, policies: Options, turn: int) -> None:
    df, texts = frame(table), share(TEXTS, turn + shift, 10)
    renamed = df.with_columns(query_id="another " + pl.col("query_id"))
    found = evaluate(pl.concat([df, renamed]), *texts, **policies)
    wanted = evaluate(df, *texts, **policies)
    assert_same(found.head(len(wanted)), wanted)
    assert_same(found.tail(len(wanted)).with_columns(pl.col("query_id").str.strip_prefix("another ")), wanted)


@each("shift", range(20), sample=1)
@settings(law, max_examples=2)
@given(table=hostile, policies=policies)
def test_lazy_streaming_agg_and_over_give_the_eager_values(shift: int, table: Table, policies: Options) -> None:
    df = frame(table)
    calls = share(SOME, shift, 20)
    eager = evaluate(df, *(spell(*call) for call in calls), "map", **policies)
    lazy = evaluate(df.lazy(), *eager.columns[1:], **policies)
    assert isinstance(lazy, pl.LazyFrame)
    for engine in ("in-memory", "streaming"):
        assert_same(lazy.collect(engine=engine), eager)
    calls = [call for call in calls if not needs_table(*call)]
    expressions = {spell(name, options): getattr(rf.expr.on(**policies), name)(**options) for name, options in calls}
    alone = eager.select("query_id", *expressions)
    assert_same(df.group_by("query_id").agg(**expressions), alone)
    windows = df.with_columns(x.over("query_id").alias(text) for text, x in expressions.items())
    assert windows.select(df.columns).equals(df)
    assert_same(windows.select("query_id", *expressions).unique(), alone)
    few = [x.alias(text) for text, x in expressions.items() if text != "map"][::6]
    assert_same(
        evaluate(df, "map", *few, **policies), eager.select("query_id", "map", *(x.meta.output_name() for x in few))
    )


@every_share
@law
@given(table=hostile, policies=policies, turn=turns)
def test_metrics_evaluated_together_are_those_evaluated_alone(
    shift: int, table: Table, policies: Options, turn: int
) -> None:
    df, texts = frame(table), share(TEXTS, turn + shift, 10)
    together = evaluate(df, *texts, **policies)
    assert together.columns == ["query_id", *texts]
    for text in texts[:: 1 + len(texts) // 12]:
        assert_same(evaluate(df, text, **policies), together.select("query_id", text))


@every_share
@law
@given(table=hostile, turn=turns)
def test_best_is_at_least_and_worst_at_most_any_other_order_of_ties(shift: int, table: Table, turn: int) -> None:
    df = frame(table)
    monotone = [
        (name, options)
        for name, options in share(SOME, turn + shift, 10)
        if options.get("gain", "exponential") == "exponential"
        and not (name in ("auc", "pairwise_accuracy") and "k" in options)  # which documents are in the top, counts too
        and name not in ("g", "bpm")  # gains below 1 cost more than they bring; who has enough stops
        and not is_beyond(name, options)  # what a reader reads, or could yet gain, is no merit
    ]
    texts = [spell(*call) for call in monotone]
    signs = np.array([1 if rf.METRICS[CANONICAL[name]].higher_is_better else -1 for name, _ in monotone])

    def merits(ties: str) -> Any:
        return signs * evaluate(df, *texts, ties=ties).sort("query_id").select(texts).to_numpy()

    worst, best = merits("worst"), merits("best")
    for ties in ("doc_desc", "doc_asc", "order", "trec_eval"):
        between = merits(ties)
        wrong = (worst > between + 1e-12) | (between > best + 1e-12)
        assert not wrong.any(), ([texts[i] for i in np.flatnonzero(wrong.any(axis=0))], ties)


@every_share
@law
@given(table=hostile, policies=policies, turn=turns)
def test_contributions_sum_to_the_metric(shift: int, table: Table, policies: Options, turn: int) -> None:
    df = frame(table)
    texts = [text for text in TEXTS if adds_up(text)]
    assert len(texts) >= 106  # more as metrics come, never fewer
    texts = share(texts, turn + shift, 10)
    assert_contributions_sum_up(df, texts, policies)


def assert_contributions_sum_up(df: pl.DataFrame, texts: list[str], policies: Options) -> None:
    ranker = df.rank.on(**policies)
    explained = ranker.explain(*texts)
    assert explained.columns == ["query_id", "doc_id", "score", "label", "rank", *texts]
    contributions = pl.col(texts)
    undefined = contributions.is_null().all()
    totals = explained.group_by("query_id").agg(pl.when(~undefined).then(contributions.sum()))
    values = ranker.evaluate(*texts)
    if policies.get("no_relevant") == "one":  # nothing contributes to a 1 by convention
        none_relevant = df.rank.on(**{**policies, "no_relevant": "null"}).evaluate(*texts)
        ones = [text for text in texts for call in rf.parse(text) if call.bounds == (0, 1) and call.higher_is_better]
        without = (pl.when(none_relevant[text].is_not_null()).then(text).alias(text) for text in ones)
        values = values.with_columns(without)
    assert_same(totals, values)


def test_nothing_contributes_to_a_query_that_counts_one_by_convention() -> None:
    df = frame({"none": [("a", 1.0, 0), ("b", 2.0, None)], "some": [("a", 1.0, 1), ("b", 2.0, None)]})
    explained = df.rank.on(no_relevant="one").explain("map")
    assert explained.filter(query_id="none")["map"].to_list() == [None, None]
    assert explained.filter(query_id="some")["map"].to_list() == [0, 0.5]


@each("shift", range(3), sample=3)
@each("policy", ["zero", "null", "one"])
def test_contributions_sum_to_the_metric_of_a_query_with_labels_of_which_none_is_relevant(
    policy: str, shift: int
) -> None:
    df = frame({"none": [("a", 3.0, 1), ("b", 2.0, 0), ("c", 1.0, 1)], "some": [("a", 2.0, 2), ("b", None, 3)]})
    texts = share([text for text in TEXTS if adds_up(text)], shift, 3)
    assert_contributions_sum_up(df, texts, {"relevant": 2, "no_relevant": policy})


def test_documents_contribute_to_a_value_that_the_convention_does_not_set() -> None:
    df = frame({"none": [("a", 3.0, 1), ("b", 2.0, 0), ("c", 1.0, 1)]})
    for policy in ("zero", "one"):
        ranker = df.rank.on(relevant=2, no_relevant=policy)
        assert ranker.explain("fall_out@1")["fall_out@1"].to_list() == pytest.approx([1 / 3, 0, 0])
        assert ranker.explain("cg")["cg"].to_list() == [1, 0, 1]


@every_share
@law
@given(table=hostile, policies=policies, turn=turns)
def test_the_curve_at_rank_k_is_the_metric_at_k(shift: int, table: Table, policies: Options, turn: int) -> None:
    df = frame(table)
    ranker = df.rank.on(**policies)
    calls = [
        (name, options)
        for name, options in ALL
        if rf.METRICS[CANONICAL[name]].first == "k" and "k" not in options and adds_up(spell(name, options))
    ]
    calls = share(calls, turn + shift, 10)
    curve = ranker.curve(*(spell(*call) for call in calls))
    assert curve.columns == ["query_id", "doc_id", "rank", *(spell(*call) for call in calls)]
    ranks = ranker.with_ranks().filter(pl.col("rank").is_not_null()).select("query_id", "doc_id", "rank")
    assert_frame_equal(curve.select("query_id", "doc_id", "rank"), ranks, check_row_order=False, check_dtypes=False)
    for k in (1, 2, 3, 5, 8):
        at_k = ranker.evaluate(*(spell(name, {**options, "k": k}) for name, options in calls))
        at_k.columns = ["query_id", *(spell(*call) for call in calls)]
        found = curve.filter(pl.col("rank") == k).drop("doc_id", "rank")
        assert_same(found, at_k.join(found, on="query_id", how="semi"))


@law
@given(hostile, policies)
def test_ranks_count_the_retrieved_rows_of_each_query_from_one(table: Table, policies: Options) -> None:
    df = frame(table)
    ranked = df.rank.on(**policies).with_ranks("position")
    assert ranked.drop("position").equals(df)
    in_ranking = pl.col("score").is_not_null()
    if policies.get("unjudged") == "drop":
        in_ranking &= pl.col("label").fill_null(-1) >= 0
    if "depth" not in policies:
        assert ranked.filter(in_ranking == pl.col("position").is_null()).is_empty()
    best_first = ranked.filter(in_ranking, pl.col("position").is_not_null()).sort("query_id", "position")
    for _, rows in best_first.group_by("query_id"):
        assert rows["position"].to_list() == list(range(1, len(rows) + 1))
        assert rows["score"].is_sorted(descending=True)


@every_share
@law
@given(table=hostile, policies=policies, turn=turns)
def test_with_metrics_keeps_rows_order_and_values(shift: int, table: Table, policies: Options, turn: int) -> None:
    df, texts = frame(table).with_columns(extra=pl.int_range(pl.len())), share(TEXTS, turn + shift, 10)
    found = df.rank.on(**policies).with_metrics(*texts)
    assert found.columns == [*df.columns, *texts]
    assert found.select(df.columns).equals(df)
    per_query = found.select("query_id", *texts).unique()
    assert_same(per_query, evaluate(df, *texts, **policies))


@every_share
@law
@given(table=hostile, policies=policies, turn=turns)
def test_the_callers_frame_is_left_as_it_was(shift: int, table: Table, policies: Options, turn: int) -> None:
    df = frame(table)
    before, flags = df.clone(), df.flags
    ranker = df.rank.on(**policies)
    ranker.evaluate(*share(TEXTS, turn + shift, 10))
    ranker.with_metrics("ndcg")
    ranker.with_ranks()
    ranker.explain("ndcg")
    ranker.curve("ndcg")
    assert df.equals(before)
    assert df.schema == before.schema
    assert df.flags == flags


@every_share
@law
@given(table=hostile, policies=policies, turn=turns)
def test_eager_results_come_in_the_order_of_first_appearance_and_repeat_to_the_bit(
    shift: int, table: Table, policies: Options, turn: int
) -> None:
    df, texts = frame(table), share(TEXTS, turn + shift, 10)
    found = evaluate(df, *texts, **policies)
    assert found["query_id"].to_list() == df["query_id"].unique(maintain_order=True).to_list()
    assert found.equals(evaluate(df, *texts, **policies))


@each("text", [spell(*call) for call in ALL])
def test_canonical_text_reads_back_as_itself(text: str) -> None:
    assert [str(call) for call in rf.parse(text)] == [text]


@each("shift", range(3), sample=1)
def test_a_metric_that_is_no_sum_has_neither_contributions_nor_curve(shift: int) -> None:
    df = frame(random_table(42, queries=5))
    refused = [(name, options) for name, options in ALL if not adds_up(spell(name, options))]
    declared = {metric.formula.__name__ for metric in rf.METRICS.values() if not metric.adds_up}
    assert declared & set(CALLS) <= {name for name, _ in refused}
    for name, options in [*share(refused, shift, 3), *dict(refused).items()]:
        with pytest.raises(rf.InvalidOption, match="no contributions; use evaluate"):
            df.rank.explain(spell(name, options))
        if "k" not in options:  # a curve, which shows every rank, takes none
            with pytest.raises(rf.InvalidOption, match="so it has no curve; use evaluate"):
                df.rank.curve(spell(name, options))


OWN_NAMES = [
    "#row",
    "#failure",
    "#known",
    "#seen",
    "#score",
    "#rank",
    "#label",
    "#raw",
    "#position",
    "#query0",
    "#0",
    "#n",
]


@each("lazy", [False, True], sample=4)
@each("doc", ["doc_id", "#row", "#score", None])
def test_columns_of_the_caller_may_have_names_that_the_plans_have(doc: str | None, lazy: bool) -> None:
    df = frame(random_table(48, queries=8)).with_columns(other=-pl.col("score"))
    others = df.with_columns(pl.lit("x").alias(name) for name in OWN_NAMES if name != doc)
    if doc is None:
        df, others = df.drop("doc_id"), others.drop("doc_id")
    else:
        others = others.rename({"doc_id": doc})
    run, named_run = (x.drop("label") for x in (df, others))
    qrels = df.select("query_id", "label", *([] if doc is None else ["doc_id"]))

    def values(table: pl.DataFrame, name: str | None, run: pl.DataFrame) -> list[list[Any]]:
        ranker, run_ranker = ((x.lazy() if lazy else x).rank.on(doc=name) for x in (table, run))
        results = [
            (ranker.evaluate("ndcg", "map"), ["ndcg", "map"]),
            (ranker.with_metrics("map"), ["map"]),
            (ranker.with_ranks(), ["rank"]),
            (ranker.curve("precision"), ["rank", "precision"]),
            (ranker.explain("map"), ["rank", "map"]),
            (ranker.agreement("other", "kendall_tau"), ["kendall_tau"]),
            (ranker.check().rows, ["problem"]),
        ]
        if name is not None:
            judgments = qrels.rename({"doc_id": name})
            joined = run_ranker.judge(judgments, run_only="error", judged_only="error")
            results.append((joined, ["score", "label"]))
            results.append((table.group_by("query_id").agg(rf.expr.on(doc=name, ties="doc_asc").ndcg()), ["ndcg"]))
        return [sorted(found.lazy().select("query_id", *shown).collect().rows(), key=repr) for found, shown in results]

    for found, wanted in zip(values(others, doc, named_run), values(df, doc and "doc_id", run), strict=True):
        assert len(found) == len(wanted)
        for row, other in zip(found, wanted, strict=True):
            assert row == pytest.approx(other)


VERBS: dict[str, tuple[Any, ...]] = {
    "with_ranks": (),
    "with_metrics": ("ndcg", "map", "err", "rbp(p=0.5)"),
    "curve": ("ndcg", "map", "err", "rbp(p=0.5)"),
    "explain": ("ndcg", "map", "err", "rbp(p=0.5)"),
    "agreement": (
        "other",
        "kendall_distance@10",
        "kendall_tau",
        "spearman",
        "tau_ap",
        "overlap@10",
        "rbo",
        "rbo_residual@10",
    ),
    "check": (),
}


def test_a_lazy_check_finds_what_an_eager_one_finds() -> None:
    df = frame(random_table(45))
    eager = df.rank.check().rows
    key = [name for name in ("problem", "query_id", "doc_id") if name in eager]
    assert_frame_equal(df.lazy().rank.check().rows.collect().sort(key), eager.sort(key))


@each("judged_only", ["keep", "drop", "error"])
@each("run_only", ["keep", "drop", "error"])
def test_the_plan_of_a_join_with_judgments_is_native(judged_only: Any, run_only: Any) -> None:
    df = frame(random_table(45, queries=9))
    run, qrels = df.drop("label").filter(pl.col("score").is_not_null()), df.drop("score")
    run = run.filter(pl.col("query_id") != "q1") if judged_only != "error" else run
    qrels = qrels.filter(pl.col("query_id").is_in(run["query_id"])) if judged_only == "error" else qrels
    run = run.filter(pl.col("query_id").is_in(qrels["query_id"])) if run_only == "error" else run
    options = {"judged_only": judged_only, "run_only": run_only}
    eager = run.rank.judge(qrels, **options)
    assert_plan(run.lazy().rank.judge(qrels.lazy(), **options), eager, ["query_id", "doc_id"])
    missing = run.lazy().rank.check(qrels.lazy()).rows
    key = ["problem", "query_id"]
    assert_frame_equal(missing.collect().sort(key), run.rank.check(qrels).rows.sort(key))


def assert_plan(lazy: pl.LazyFrame, eager: pl.DataFrame, key: list[str]) -> None:
    """The plan is native, and gives what the eager call gave."""
    assert isinstance(lazy, pl.LazyFrame)
    assert_native(lazy)
    for engine in ("in-memory", "streaming"):
        assert_frame_equal(lazy.collect(engine=engine).sort(key), eager.sort(key), rel_tol=1e-12, abs_tol=1e-12)


@each("shift", range(3), sample=2)
@each("engine", ["in-memory", "streaming"])
def test_a_scanned_file_has_the_values_of_the_table_and_keeps_its_rows_order(
    engine: Any, shift: int, tmp_path: Path
) -> None:
    df, texts = frame(random_table(49)), share(TEXTS, shift, 3)
    df.write_parquet(tmp_path / "table.parquet", row_group_size=50)
    scan = pl.scan_parquet(tmp_path / "table.parquet")
    assert_same(evaluate(scan, *texts).collect(engine=engine), evaluate(df, *texts))
    found = scan.rank.with_metrics("ndcg", "map").collect(engine=engine)
    assert_frame_equal(found, df.rank.with_metrics("ndcg", "map"), rel_tol=1e-12, abs_tol=1e-12)
    assert scan.rank.with_ranks().collect(engine=engine).equals(df.rank.with_ranks())


def test_the_search_for_python_functions_finds_one() -> None:
    lazy = pl.LazyFrame({"a": [1]}).with_columns(pl.col("a").map_elements(lambda a: a, return_dtype=pl.Int64))
    with pytest.raises(AssertionError):
        assert_native(lazy)
    with pytest.raises(AssertionError):
        assert_native(pl.LazyFrame({"a": [1]}).map_batches(lambda df: df))


def test_err_inside_a_group_wants_its_largest_label_said() -> None:
    df = frame(random_table(46, queries=3))
    for name in ("err", "nerr", "pfound"):
        with pytest.raises(rf.RankframeError):
            df.group_by("query_id").agg(getattr(rf.expr, name)(max_label=None))
    assert math.isfinite(df.group_by("query_id").agg(rf.expr.err(max_label=4)).to_series(1).sum())


# Bad data ------------------------------------------------------------------------------------------------------

NAN, INF = float("nan"), float("inf")
OF_PLANS = (pl.exceptions.ComputeError,) if WRAPS_ERRORS else ()
ERRORS = (rf.InvalidData, pl.exceptions.InvalidOperationError, *OF_PLANS)
"""What bad data raises: our own error, but in a native plan that of Polars, with our message."""
GOOD: Table = {"p": [("a", 1.0, 1), ("b", None, 0)], "q": [("a", 2.0, 0), ("b", 1.0, 1), ("c", 0.5, 0), ("d", None, 0)]}
FAULTS: dict[str, tuple[Table, Options]] = {
    "NaN score": ({**GOOD, "r": [("a", 1.0, 1), ("b", NAN, 0)]}, {}),
    "NaN score of an unjudged document": ({**GOOD, "r": [("a", 1.0, 1), ("b", NAN, None)]}, {}),
    "NaN label": ({**GOOD, "r": [("a", 1.0, 1), ("b", 0.0, NAN)]}, {}),
    "infinite label": ({**GOOD, "r": [("a", 1.0, INF)]}, {}),
    "negative infinite label": ({**GOOD, "r": [("a", 1.0, 1), ("b", 0.0, -INF)]}, {"unjudged": "drop"}),
    "label whose sums overflow": ({**GOOD, "r": [("a", 1.0, 1.7e308), ("b", 0.0, 1.7e308)]}, {}),
    "infinite label not retrieved": ({**GOOD, "r": [("a", None, INF), ("b", 1.0, 0)]}, {}),
    "document twice": ({**GOOD, "r": [("a", 1.0, 1), ("b", 0.0, 0), ("b", -1.0, 0)]}, {}),
    "document twice, once retrieved": ({**GOOD, "r": [("a", 1.0, 0), ("a", None, 0)]}, {}),
    "tie": ({**GOOD, "r": [("a", 1.0, 1), ("b", 0.0, 0), ("c", 0.0, 0)]}, {"ties": "error"}),
}
WAYS: dict[str, Callable[[pl.DataFrame, Options, str], Any]] = {
    "evaluate": lambda df, policies, text: df.rank.on(**policies).evaluate(text),
    "one of two": lambda df, policies, text: df.rank.on(**policies).evaluate(text, "ndcg").select(text),
    "with_metrics": lambda df, policies, text: df.rank.on(**policies).with_metrics(text),
    "in-memory": lambda df, policies, text: df.lazy().rank.on(**policies).evaluate(text).collect(engine="in-memory"),
    "streaming": lambda df, policies, text: df.lazy().rank.on(**policies).evaluate(text).collect(engine="streaming"),
    "one of two, lazy": lambda df, policies, text: (
        df.lazy().rank.on(**policies).evaluate(text, "ndcg").select(text).collect()
    ),
    "lazy with_metrics": lambda df, policies, text: df.lazy().rank.on(**policies).with_metrics(text).collect(),
}


@each("way", WAYS)
@each("policies", [{}, {"unjudged": "drop"}, {"ties": "error"}], ids=str)
def test_good_data_gets_through(policies: Options, way: str) -> None:
    assert WAYS[way](frame(GOOD), policies, "map").height


@each("turn", range(8), sample=40)
@each(("fault", "way"), list(itertools.product(FAULTS, WAYS)))
def test_bad_data_never_gets_through(fault: str, way: str, turn: int) -> None:
    table, policies = FAULTS[fault]
    for name in share(list(CALLS)[::3], turn, 8):
        with pytest.raises(ERRORS):
            WAYS[way](frame(table), policies, spell(name, CALLS[name][-1]))


# with_ranks and agreement read no labels, but where ranks go by them; agreement reads no row without a score, which
# a document has not that is dropped because its label is negative
UNREAD = {
    (f, verb)
    for f, (_, policies) in FAULTS.items()
    if "label" in f and not policies
    for verb in ("with_ranks", "agreement")
} | {
    ("document twice, once retrieved", "agreement"),
    ("negative infinite label", "agreement"),
}
READ = [
    (fault, verb)
    for fault in FAULTS
    for verb in ("explain", "curve", "with_ranks", "agreement")
    if (fault, verb) not in UNREAD
]


@each("lazy", [False, True])
@each(("fault", "verb"), READ)
def test_no_verb_lets_bad_data_through(fault: str, verb: str, lazy: bool) -> None:
    table, policies = FAULTS[fault]
    arguments = {"with_ranks": (), "agreement": ("other", "kendall_tau")}.get(verb, ("ndcg",))

    def run(table: Table) -> pl.DataFrame:
        df = frame(table).with_columns(other="score")
        ranker = (df.lazy() if lazy else df).rank.on(**policies)
        return getattr(ranker, verb)(*arguments).lazy().collect()

    assert run(GOOD).height
    with pytest.raises(ERRORS):
        run(table)


@each("turn", range(16), sample=10)
@each("fault", FAULTS)
def test_no_expression_lets_bad_data_through(fault: str, turn: int) -> None:
    table, policies = FAULTS[fault]
    for name, calls in share(list(CALLS.items()), turn, 16):
        options = next(options for options in reversed(calls) if not needs_table(name, options))
        expression = getattr(rf.expr.on(**policies), name)(**options)
        with pytest.raises(pl.exceptions.InvalidOperationError):
            frame(table).group_by("query_id").agg(expression)
        with pytest.raises(pl.exceptions.InvalidOperationError):
            frame(table).with_columns(expression.over("query_id"))


@each("call", [("ndcg", {"gain": {1: 1}}), ("rbp", {"gain": {1: 1}}), ("err", {"max_label": 1})], ids=str)
def test_labels_without_a_meaning_never_get_through_lazily_or_in_expressions(call: tuple[str, Options]) -> None:
    name, options = call
    df = frame({**GOOD, "r": [("a", 1.0, 2)]})
    for bad in (
        lambda: df.lazy().rank.evaluate(spell(name, options)).collect(),
        lambda: df.lazy().rank.with_metrics(spell(name, options)).collect(),
        lambda: df.lazy().rank.explain(spell(name, options)).collect(),
        lambda: df.lazy().rank.curve(spell(name, options)).collect(),
        lambda: df.group_by("query_id").agg(getattr(rf.expr, name)(**options)),
    ):
        with pytest.raises(ERRORS, match=r"a label .* \(found: label 2\.0\)"):
            bad()
