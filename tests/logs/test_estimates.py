"""Metrics from clicks with propensities: against sums in plain Python, by hand, and in means, intervals and comparisons."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rankframe as rf
from rankframe._lift.arrow_kernel import arrow_kernel, bound
from rankframe._verbs.call.declaration import call_of_verb
from rankframe._verbs.items.summarize import summarize
from tests.metrics.oracles import evaluate
from tests.support.calls import ALL, CALLS, CANONICAL, assert_equal, spell, values
from tests.support.each import each
from tests.support.tables import BY_CHANCE, frame, random_table

pytestmark = [
    pytest.mark.filterwarnings("ignore:the interval of .* is Student's t:rankframe.RankframeWarning"),
    BY_CHANCE,
]

TABLE = random_table(17, queries=30, labels=(0, 0, 1, 1, None))
DOCS = sorted({row[0] for rows in TABLE.values() for row in rows})
P = dict(zip(DOCS, np.random.default_rng(5).choice([0.1, 0.25, 0.5, 1.0], len(DOCS)).tolist(), strict=True))
DF = frame(TABLE).with_columns(p=pl.col("doc_id").replace_strict(P))
RANKER = DF.rank.on(propensity="p")
WORKED = pl.DataFrame({"query_id": 1, "doc_id": ["a", "b"], "score": [1, 2], "clicked": [1, 1], "p": [1.0, 0.4]})


def how(name: str, options: Mapping[str, Any]) -> str | None:
    """The declared estimate of a call."""
    declared = rf.METRICS[CANONICAL[name]].from_clicks
    return declared(**options) if callable(declared) else declared


def worth(options: Mapping[str, Any]) -> bool:
    """Whether a document that was not clicked may have a gain, of which an estimate from clicks knows nothing."""
    gain = options.get("gain")
    assert "min_label" not in options or not isinstance(gain, Mapping)
    return isinstance(gain, Mapping) and gain[0] > 0


SUMS = [(name, options) for name, options in ALL if how(name, options) == "sum"]
SUMS = [call for call in SUMS if not {"min_label", "gain"} <= call[1].keys()]  # a click counts as label 0 there
CLICKED = {q: [row for row in rows if row[2]] for q, rows in TABLE.items()}


def alone(rows: Any, name: str, options: Any, doc: Any) -> float:
    """The oracle's value if this document alone was clicked, above the value without any click."""
    labels = [
        [(d, score, None if label is None else float(d == x)) for d, score, label in rows] for x in (doc, object())
    ]
    one, none = (evaluate(name, some, options, table_max=1.0) for some in labels)
    assert one is not None
    assert none is not None
    return one - none


def estimated(name: str, options: Any, weight: Any, *, normalised: bool = False) -> dict[Any, float | None]:
    """Each click's weight times what it adds alone; over the sum of the weights."""
    found: dict[Any, float | None] = {}
    for q, rows in TABLE.items():
        if all(label is None for _, _, label in rows):  # nothing is known of its clicks
            found[q] = None
            continue
        weights = {row[0]: weight(P[row[0]]) for row in CLICKED[q]}
        total = sum(w * alone(rows, name, options, doc) for doc, w in weights.items())
        share = 1.0
        if worth(options):  # what a click adds to the gain of a document without one, and all of its gain
            share = options["gain"][1] / (options["gain"][1] - options["gain"][0])
        divisor = sum(weights.values()) if normalised else 1.0
        found[q] = total * share / divisor if divisor else None
    return found


# ------------------------------------------------------------------------------------------------- values of queries


def test_the_worked_example_has_the_values_of_the_definition() -> None:
    ranker = WORKED.rank.on(label="clicked", propensity="p")
    found = ranker.evaluate("dcg@10", "recall@1")
    assert found["dcg@10"].item() == pytest.approx(1 / math.log2(3) + 2.5, rel=1e-12)  # 3.131
    assert found["recall@1"].item() == pytest.approx(2.5 / 3.5, rel=1e-12)
    snips = ranker.on(estimate="snips")
    assert snips.evaluate("dcg@10")["dcg@10"].item() == pytest.approx((1 / math.log2(3) + 2.5) / 3.5)  # .894
    assert ranker.on(estimate="clipped", clip=0.5).cg()["cg"].item() == 1 + 1 / 0.5
    table = snips.summarize("dcg@10", ci=None)
    assert table["effective_sample_size"].item() == pytest.approx(3.5**2 / (1 + 2.5**2))  # 1.69
    assert table["n_clicks"].item() == 2


@each("estimate", ["ips", "snips", "clipped"])
def test_a_query_whose_clicks_are_all_missed_has_0(estimate: str) -> None:
    df = pl.DataFrame({"query_id": 1, "doc_id": ["a", "b"], "score": [None, None], "label": [1, 0], "p": 0.5})
    ranker = df.with_columns(pl.col("score").cast(pl.Float64)).rank.on(propensity="p", estimate=estimate)
    assert ranker.evaluate("precision", "mean_label", "precision(divisor='min(k,n)')@3", "recall").row(0) == (
        1,
        0,
        0,
        0,
        0,
    )


@each(("name", "options"), SUMS, sample=25)
@each("estimate", ["ips", "snips", "clipped"])
def test_an_estimate_is_the_sum_of_what_each_click_adds_alone(name: str, options: Any, estimate: str) -> None:
    weight = {"ips": lambda p: 1 / p, "snips": lambda p: 1 / p, "clipped": lambda p: 1 / max(p, 0.2)}[estimate]
    wanted = estimated(name, options, weight, normalised=estimate == "snips")
    ranker, text = RANKER.on(estimate=estimate, clip=0.2), spell(name, options)
    assert_equal(values(ranker.evaluate(text), text), wanted, text)
    lazy = DF.lazy().rank.on(propensity="p", estimate=estimate, clip=0.2).evaluate(text).collect()
    assert_equal(values(lazy, text), wanted, text)
    x = getattr(rf.expr.on(propensity="p", estimate=estimate, clip=0.2), name)(**options)
    assert_equal(values(DF.group_by("query_id").agg(x), text), wanted, text)


@each(("name", "options"), SUMS, sample=25)
def test_what_is_declared_a_sum_adds_up_over_clicked_documents(name: str, options: Any) -> None:
    for rows in TABLE.values():
        if all(label is None for _, _, label in rows):
            continue
        whole = evaluate(name, rows, options, table_max=1.0)
        none = evaluate(name, [(d, s, None if x is None else 0.0) for d, s, x in rows], options, table_max=1.0)
        assert whole is not None
        assert none is not None
        clicked = [row[0] for row in rows if row[2]]
        assert whole - none == pytest.approx(sum(alone(rows, name, options, doc) for doc in clicked), abs=1e-12)


@each("estimate", ["ips", "snips", "clipped"])
@each("k", [None, 1, 3])
def test_recall_is_the_share_of_the_weights_of_clicks_in_the_top(estimate: str, k: int | None) -> None:
    text = "recall" if k is None else f"recall@{k}"
    least = 0.1 if estimate == "clipped" else 0.0  # the default of clip
    wanted: dict[Any, float | None] = {}
    for q, rows in TABLE.items():
        ranking = sorted((row for row in rows if row[1] is not None), key=lambda row: (row[1], row[0]), reverse=True)
        top = sum(1 / max(P[row[0]], least) for row in ranking[:k] if row[2])
        every = sum(1 / max(P[row[0]], least) for row in CLICKED[q])
        wanted[q] = top / every if every else None
    assert_equal(values(RANKER.on(estimate=estimate).evaluate(text), text), wanted, text)


SAME = [(name, options) for name, options in ALL if how(name, options) == "same"]


@each(("name", "options"), SAME)
def test_what_is_declared_to_depend_on_no_click_is_as_without_propensities(name: str, options: Any) -> None:
    text = spell(name, options)
    unclicked = DF.with_columns(label=pl.when(pl.col("label") >= 0).then(0))
    assert RANKER.evaluate(text).equals(DF.rank.evaluate(text))
    assert RANKER.evaluate(text).equals(unclicked.rank.evaluate(text))


def test_metrics_that_read_no_label_are_as_without_propensities() -> None:
    of_groups = DF.with_columns(group=pl.col("doc_id").cast(pl.String))
    wanted = of_groups.rank.on(group="group").evaluate("ndkl")
    assert of_groups.rank.on(group="group", propensity="p").evaluate("ndkl").equals(wanted)


NO_SUMS = [name for name in CALLS if rf.METRICS[CANONICAL[name]].labels is True and how(name, CALLS[name][0]) is None]


@each("name", NO_SUMS)
def test_any_other_metric_is_refused_with_the_reason(name: str) -> None:
    with pytest.raises(
        rf.InvalidOption, match=r"no unbiased estimate.* worse of two systems first \(Jeunen et al\. 2023\)"
    ):
        RANKER.evaluate(spell(name, CALLS[name][0]))


def test_normalised_metrics_are_refused() -> None:
    for text in ("ndcg@10", "map", "r_precision", "f1@3", "precision(divisor='min(k,R)')@3", "rbp(gain=scaled)"):
        with pytest.raises(rf.InvalidOption, match="Evaluate a sum"):
            RANKER.evaluate(text)


def test_metrics_of_subtopics_are_refused() -> None:
    df = WORKED.with_columns(subtopic=pl.Series(["x", "y"]))
    with pytest.raises(rf.InvalidOption, match="alpha_ndcg has no unbiased estimate"):
        df.rank.on(label="clicked", propensity="p", subtopic="subtopic").alpha_ndcg()


def test_a_metric_of_ones_own_says_that_it_is_a_sum_and_weighs_documents() -> None:
    @rf.metric(from_clicks="sum")
    def squares(r: rf.Ranking) -> pl.Expr:
        return r.total(r.weighed(r.relevant), over=r.rank**2)

    @rf.metric(from_clicks="sum")
    def unweighed(r: rf.Ranking) -> pl.Expr:
        return r.total(r.relevant)

    try:
        ranker = WORKED.rank.on(label="clicked", propensity="p")
        assert ranker.evaluate("squares")["squares"].item() == 2.5 + 1 / 4
        assert ranker.on(estimate="snips").evaluate("squares")["squares"].item() == (2.5 + 1 / 4) / 3.5
        with pytest.raises(rf.InvalidOption, match=r"unweighed does not weigh documents.*propensity"):
            ranker.evaluate("unweighed")
    finally:
        rf.unregister("squares")
        rf.unregister("unweighed")


def test_contributions_and_curves_add_up_to_the_estimate() -> None:
    for estimate in ("ips", "snips"):
        ranker = RANKER.on(estimate=estimate)
        wanted = ranker.evaluate("dcg").sort("query_id").fill_null(0.0)
        parts = ranker.explain("dcg").group_by("query_id").agg(pl.col("dcg").sum()).sort("query_id")
        assert_frame_equal(parts, wanted, rel_tol=1e-12, abs_tol=1e-12)
        last = (
            ranker.curve("dcg")
            .group_by("query_id")
            .agg(pl.col("dcg").sort_by("rank").last())
            .sort("query_id")
            .fill_null(0.0)
        )
        assert_frame_equal(last, wanted.join(last, on="query_id", how="semi"), rel_tol=1e-12, abs_tol=1e-12)


def test_the_mean_over_orders_of_tied_documents_weights_clicks() -> None:
    df = pl.DataFrame({"query_id": 1, "doc_id": ["a", "b"], "score": [1, 1], "label": [1, 0], "p": [0.5, None]})
    found = df.rank.on(propensity="p", ties="expected").dcg()["dcg"].item()
    assert found == pytest.approx(2 * (1 + 1 / math.log2(3)) / 2, rel=1e-12)


def test_a_propensity_counts_where_a_document_was_clicked_alone() -> None:
    df = pl.DataFrame(
        {"query_id": 1, "doc_id": list("abc"), "score": [3, 2, 1], "label": [1, 0, None], "p": [0.5, None, 7]}
    )
    for table in (df, df.lazy(), df.to_pandas()):
        found = table.rank.on(propensity="p").cg()
        found = found.collect() if isinstance(found, pl.LazyFrame) else found
        assert list(found["cg"]) == [2.0]


def test_a_gain_of_its_own_counts_for_clicks_alone() -> None:
    df = WORKED.with_columns(price=pl.Series([3, 5]), clicked=pl.Series([1, 0]))
    found = df.rank.on(label="clicked", propensity="p").cg(gain=pl.col("price"))
    assert found.to_series(-1).item() == 3.0


# ------------------------------------------------------------------------------------------------------------- errors


@each("bad", [None, 0.0, -0.1, 1.0000001, math.nan, math.inf])
def test_a_click_without_a_fit_propensity_is_an_error(bad: float | None) -> None:
    unfit = WORKED.with_columns(p=pl.Series([0.5, bad], dtype=pl.Float64))
    on: dict[str, Any] = {"label": "clicked", "propensity": "p"}
    with pytest.raises(rf.InvalidData, match=r"column 'p' holds a propensity .*doc_id='b'"):
        unfit.rank.on(**on).dcg()
    assert unfit.with_columns(clicked=pl.Series([1, 0])).rank.on(**on).cg()["cg"].item() == 2.0
    late = (unfit.lazy().rank.on(**on).cg(), unfit.lazy().group_by("query_id").agg(rf.expr.on(**on).cg()))
    for plan in late:
        with pytest.raises((rf.InvalidData, pl.exceptions.InvalidOperationError), match="holds a propensity"):
            plan.collect()
    found = unfit.rank.on(**on).check().rows
    assert found.filter(severity="error")["problem"].to_list() == ["propensity"]


@each("bad", [2, 0.5, -1])
def test_a_label_that_is_no_click_is_an_error(bad: float) -> None:
    unfit = WORKED.with_columns(clicked=pl.Series([1.0, bad]))
    with pytest.raises(rf.InvalidData, match=r"column 'clicked' holds a label that is neither 0 nor 1"):
        unfit.rank.on(label="clicked", propensity="p").dcg()
    assert unfit.rank.on(label="clicked", propensity="p").check().rows["problem"][0] == "label is no click"


AGAINST: list[dict[str, Any]] = [
    {"weight": "p"}, {"convention": "ranx"}, {"ties": "best"}, {"ties": "worst"}, {"unjudged": "drop"}, {"unjudged": "bounds"},
    {"unretrieved": "drop"}, {"no_relevant": "null"}, {"no_relevant": "one"}, {"relevant": 0}, {"relevant": 2},
]  # fmt: skip


@each("given", AGAINST)
def test_a_rule_that_does_not_go_with_clicks_is_refused(given: dict[str, Any]) -> None:
    for ask in (lambda: RANKER.on(**given), lambda: DF.rank.on(**given).on(propensity="p")):
        with pytest.raises(rf.InvalidOption, match=rf"{next(iter(given))}=.* does not go with propensity='p'"):
            ask()


def test_an_estimate_takes_propensities() -> None:
    for estimate in ("snips", "clipped"):
        with pytest.raises(rf.InvalidOption, match=f"estimate='{estimate}' is of clicks with propensities"):
            DF.rank.on(estimate=estimate)
    with pytest.raises(rf.InvalidOption, match="clip=0: write a number above 0"):
        RANKER.on(estimate="clipped", clip=0)
    with pytest.raises(rf.MissingColumn, match="no column 'q' for propensity"):
        DF.rank.on(propensity="q").dcg()
    with pytest.raises(rf.InvalidOption, match="propensity has no SQL"):
        rf.sql("dcg", dialect="duckdb", table="log", propensity="p")


# ------------------------------------------------------------------------------------- means, intervals, comparisons


def weighted(text: str, rows: pl.DataFrame) -> float:
    """The ratio of sums: the queries' own ratios, weighted by the sums of their clicks' weights."""
    ranker = rows.rank.on(propensity="p", estimate="snips")
    sums = rows.group_by("query_id").agg(b=(pl.col("label").fill_null(0) / pl.col("p")).sum())
    both = ranker.evaluate(text).join(sums, on="query_id")
    return float((both[text] * both["b"]).sum() / both["b"].sum())


SLICED = DF.with_columns(slice=pl.col("query_id").str.slice(-1).str.to_integer() % 3)


def test_the_mean_of_a_ratio_is_the_ratio_of_the_sums() -> None:
    found = RANKER.mean("dcg@3", "recall@3").row(0, named=True)
    assert found["dcg@3"] == pytest.approx(RANKER.evaluate("dcg@3")["dcg@3"].mean(), rel=1e-12)
    assert found["recall@3"] == pytest.approx(weighted("recall@3", DF), rel=1e-12)
    snips = RANKER.on(estimate="snips").mean("dcg@3", "hits@3", "precision@3").row(0, named=True)
    assert snips["dcg@3"] == pytest.approx(weighted("dcg@3", DF), rel=1e-12)
    assert snips["precision@3"] == pytest.approx(found["recall@3"] / 3, rel=1e-12)
    for row in SLICED.rank.on(propensity="p").summarize("recall@3", by="slice", ci=None).iter_rows(named=True):
        assert row["mean"] == pytest.approx(weighted("recall@3", SLICED.filter(slice=row["slice"])), rel=1e-12)


def test_slices_count_their_clicks_and_the_effective_sample_size() -> None:
    found = SLICED.rank.on(propensity="p").summarize("dcg@3", "recall@3", by="slice", resamples=99)
    for row in found.iter_rows(named=True):
        w = [1 / P[doc] for doc, label in SLICED.filter(slice=row["slice"])["doc_id", "label"].iter_rows() if label]
        assert row["n_clicks"] == len(w)
        assert row["effective_sample_size"] == pytest.approx(sum(w) ** 2 / sum(x * x for x in w), rel=1e-12)
    assert "n_clicks" not in DF.rank.summarize("dcg@3", ci=None).columns


def test_no_click_has_no_effective_sample() -> None:
    none = DF.with_columns(label=pl.lit(0))
    found = none.rank.on(propensity="p").summarize("dcg@3", "recall@3", resamples=99)
    assert found["n_clicks"].to_list() == [0, 0]
    assert found["effective_sample_size"].to_list() == [0.0, 0.0]
    assert found["mean"].to_list() == [0.0, None]
    empty = DF.clear().rank.on(propensity="p", estimate="snips").summarize("dcg@3", resamples=99)
    assert empty.select("n_queries", "n_clicks", "mean").row(0) == (0, 0, None)


def test_weights_of_queries_multiply_those_of_clicks() -> None:
    weighing = SLICED.with_columns(times=pl.col("slice") + 1)
    copies = pl.concat(
        weighing.with_columns(query_id=f"{i} " + pl.col("query_id")).filter(pl.col("times") > i) for i in range(3)
    )
    for estimate in ("ips", "snips"):
        on: dict[str, Any] = {"propensity": "p", "estimate": estimate}
        found = weighing.rank.on(**on).summarize("dcg@3", "recall@3", weights="times", ci=None)
        wanted = copies.rank.on(**on).summarize("dcg@3", "recall@3", ci=None)
        assert_frame_equal(found.select("mean"), wanted.select("mean"), rel_tol=1e-12)
    row = weighing.rank.on(propensity="p").summarize("dcg@3", weights="times", ci=None).row(0, named=True)
    w = [t / P[doc] for doc, label, t in weighing["doc_id", "label", "times"].iter_rows() if label]
    assert row["effective_sample_size"] == pytest.approx(sum(w) ** 2 / sum(x * x for x in w), rel=1e-12)


def test_estimates_are_not_bounded_by_the_range_of_the_metric() -> None:
    kinds = RANKER.summarize("precision@3", "recall@3", "dcg@3", resamples=99)["interval"].to_list()
    assert kinds == ["t", "bounded", "t"]  # 29 queries have an estimate
    twice = pl.concat([DF, DF.with_columns(query_id="again " + pl.col("query_id"))])
    assert twice.rank.on(propensity="p").summarize("dcg@3", resamples=99)["interval"].item() == "bca"
    df = WORKED.rank.on(label="clicked", propensity="p", estimate="ips")
    assert df.evaluate("precision@1")["precision@1"].item() == 2.5
    few = DF.filter(pl.col("query_id").is_in(sorted(TABLE)[:5]))
    assert few.rank.on(propensity="p").summarize("precision@3", resamples=99)["interval"].item() == "t"


def test_documents_with_weights_are_not_bounded_either() -> None:
    weighed = DF.with_columns(w=1 / pl.col("p")).rank.on(weight="w")
    assert weighed.summarize("precision@3", "recall@3", resamples=99)["interval"].to_list() == ["t", "bounded"]


@each("interval", ["percentile", "bca", "t"])
def test_a_cluster_is_resampled_as_one_query_with_the_weight_of_its_queries(interval: Any) -> None:
    twice = pl.concat(
        [DF.with_columns(user="query_id"), DF.with_columns(user="query_id", query_id="again " + pl.col("query_id"))]
    )
    for on in ({}, {"propensity": "p"}, {"propensity": "p", "estimate": "snips"}):
        metrics = ["dcg@3", "recall@3", *(["gm_map"] if not on else [])]
        wanted = DF.rank.on(**on).summarize(*metrics, interval=interval, resamples=399)
        found = twice.rank.on(**on).summarize(*metrics, interval=interval, resamples=399, cluster="user")
        ends = ["ci_low", "ci_high", "interval"]
        assert_frame_equal(found.select(ends), wanted.select(ends), rel_tol=1e-9)
        wider = twice.rank.on(**on).summarize(*metrics, interval=interval, resamples=399)
        width = found["ci_high"] - found["ci_low"]
        assert (width > 1.2 * (wider["ci_high"] - wider["ci_low"])).all()


def test_the_value_of_a_cluster_weighs_its_queries() -> None:
    columns = ["query_id", "user", "label", "w"]
    parts = pl.DataFrame([(1, "a", 1, 1), (2, "a", 0, 3), (3, "b", 1, 2), (4, "c", 0, 5)], columns, orient="row")
    whole = pl.DataFrame([(1, 0.25, 4), (2, 1.0, 2), (3, 0.0, 5)], ["query_id", "x", "w"], orient="row")
    found = parts.with_columns(score=1.0).rank.summarize("precision@1", weights="w", cluster="user", interval="t")
    wanted = whole.with_columns(score=1.0, label=1).rank.summarize(pl.col("x").first(), weights="w", interval="t")
    ends = ["mean", "ci_low", "ci_high"]
    assert_frame_equal(found.select(ends), wanted.select(ends), rel_tol=1e-12)


def test_queries_without_a_cluster_are_clusters_of_their_own() -> None:
    df = DF.with_columns(user=pl.lit(None, pl.Int64))
    wanted = DF.rank.summarize("dcg@3", interval="percentile", resamples=199)
    assert_frame_equal(df.rank.summarize("dcg@3", interval="percentile", resamples=199, cluster="user"), wanted)
    with pytest.raises(rf.MissingColumn, match="no column 'nobody' for cluster"):
        DF.rank.summarize("dcg@3", cluster="nobody")
    with pytest.raises(rf.InvalidData, match="a query has several values of 'p'"):
        DF.rank.summarize("dcg@3", cluster="p")


def test_a_query_without_a_value_takes_its_weight_from_its_cluster() -> None:
    df = pl.DataFrame({"query_id": [1, 2, 3, 4], "user": ["a", "a", "b", "c"], "score": 1, "label": [1, 0, 1, 1]})
    found = df.rank.on(no_relevant="null").summarize("rr", cluster="user", interval="percentile", resamples=99)
    assert found.select("n_queries", "mean", "ci_low", "ci_high").row(0) == (3, 1.0, 1.0, 1.0)


CLUSTERED = DF.with_columns(slice=SLICED["slice"], user=pl.col("query_id").str.slice(0, 2))


@each("cluster", [None, "user"])
@each("estimate", ["ips", "snips"])
def test_figures_of_parts_merge_to_those_of_the_table(cluster: str | None, estimate: str) -> None:
    options = {"by": "slice", "cluster": cluster, "interval": "poisson", "resamples": 199}
    setup = bound({"propensity": "p", "estimate": estimate}, arrow_kernel)
    summary = call_of_verb(summarize, "dcg@3", "recall@3", **options).mergeable(setup)
    assert summary is not None
    one = CLUSTERED.rank.on(propensity="p", estimate=estimate).summarize("dcg@3", "recall@3", **options)
    for parts in (1, 4):
        split = CLUSTERED.with_columns(part=pl.col("query_id").rank("dense") % parts).partition_by(
            "part", include_key=False
        )
        found = summary.merge(pl.concat(summary.part(part) for part in split))
        keys = ["slice", "metric"]
        assert_frame_equal(found.sort(keys), one.sort(keys), rel_tol=1e-12, abs_tol=1e-12)
    lazy = (
        CLUSTERED.lazy().rank.on(propensity="p", estimate=estimate).summarize("dcg@3", "recall@3", **options).collect()
    )
    assert_frame_equal(lazy, one, rel_tol=1e-12, check_row_order=False)


def test_the_kernel_of_engines_takes_estimates() -> None:
    kernel = arrow_kernel("dcg@3", "recall@3", "num_ret", propensity="p", estimate="snips")
    queries = DF.partition_by("query_id")
    found = pl.concat(pl.DataFrame(kernel(pl.concat(queries[i::3]).to_arrow())) for i in range(3))
    wanted = RANKER.on(estimate="snips").evaluate("dcg@3", "recall@3", "num_ret")
    assert_frame_equal(found.sort("query_id"), wanted.sort("query_id"), rel_tol=1e-12)


RUNS = DF.with_columns(new=pl.col("score").rank("ordinal", descending=True).cast(pl.Float64))


def test_ratios_are_compared_by_the_sums_over_all_queries() -> None:
    on: dict[str, Any] = {"propensity": "p"}
    for estimate, text in (("ips", "recall@2"), ("snips", "dcg@3")):
        ranker = RUNS.rank.on(**on, estimate=estimate)
        row = ranker.compare(text, runs=["score", "new"], resamples=99).table.row(0, named=True)
        assert row["baseline_mean"] == pytest.approx(weighted(text, DF), rel=1e-12)
        assert row["mean"] == pytest.approx(weighted(text, DF.with_columns(score=RUNS["new"])), rel=1e-12)
        assert row["difference"] == pytest.approx(row["mean"] - row["baseline_mean"], rel=1e-9)
        long = RUNS.unpivot(
            ["score", "new"], index=["query_id", "doc_id", "label", "p"], variable_name="run", value_name="s"
        )
        of_column = long.rank.on(**on, estimate=estimate, score="s").compare(text, run="run", resamples=99)
        assert of_column.table.drop("interval").equals(
            ranker.compare(text, runs=["score", "new"], resamples=99).table.drop("interval")
        )


def test_a_ratio_is_not_compared_beside_a_sum_nor_averaged_query_by_query() -> None:
    with pytest.raises(rf.InvalidOption, match=r"recall@2 weighs queries by their clicks"):
        RUNS.rank.on(propensity="p").compare("recall@2", "dcg@2", runs=["score", "new"])
    with pytest.raises(rf.InvalidOption, match=r"recall@2 is a ratio of sums over all queries"):
        SLICED.rank.on(propensity="p").compare_groups("recall@2", by="slice")
    snips, runs = RUNS.rank.on(propensity="p", estimate="snips"), ["score", "new"]
    for ask in (
        lambda: snips.compare("dcg@3", runs=runs, test="bayes"),
        lambda: snips.compare("dcg@3", runs=runs, test="sequential"),
        lambda: snips.gate({"precision@3": 0.1}, runs=runs, sequential=True),
        lambda: snips.collection.reliability("dcg@3", runs=runs),
        lambda: snips.collection.reproduces("dcg@3", original={"new": "score"}),
        lambda: snips.collection.label_agreement("label", "label2", metric="dcg@3", runs=runs),
    ):
        with pytest.raises(rf.InvalidOption, match="is a ratio of sums over all queries"):
            ask()
    for ask in (
        lambda: RUNS.rank.on(propensity="p").compare("precision@3", runs=runs, test="sequential"),
        lambda: RUNS.rank.on(propensity="p").gate({"precision@3": 0.1}, runs=runs, sequential=True),
    ):  # a click of a small propensity counts more than 1
        with pytest.raises(rf.InvalidOption, match="precision@3 has no bounds, without which no interval holds"):
            ask()
    with pytest.warns(rf.RankframeWarning, match="of dcg@2 over 12 and 9 queries is Welch's"):
        found = SLICED.rank.on(propensity="p").compare_groups("dcg@2", by="slice", resamples=99)
    assert found.spread.height == 4


def test_runs_have_the_same_clicks_for_a_query() -> None:
    long = RUNS.unpivot(
        ["score", "new"], index=["query_id", "doc_id", "label", "p"], variable_name="run", value_name="s"
    )
    lost = long.filter((pl.col("run") == "score") | (pl.col("label") != 1) | (pl.col("doc_id") != DOCS[3]))
    assert lost.height < long.height
    ranker = lost.rank.on(propensity="p", score="s", estimate="snips")
    with pytest.raises(rf.InvalidData, match="runs have different clicks, or propensities, for a query"):
        ranker.compare("dcg@3", run="run")


def test_gate_power_and_plots_take_estimates() -> None:
    ranker = RUNS.rank.on(propensity="p", estimate="snips")
    verdict = ranker.gate({"dcg@3": 0.5}, runs=["score", "new"], resamples=99)
    wanted = ranker.compare("dcg@3", runs=["score", "new"], resamples=99).table
    assert verdict.table["difference"].item() == wanted["difference"].item()
    sums = RUNS.group_by("query_id").agg(clicks=(pl.col("label").fill_null(0) / pl.col("p")).sum())
    both = ranker.compare("dcg@3", runs=["score", "new"], resamples=99).per_query_delta.join(sums, on="query_id")
    d, w = both.drop_nulls("dcg@3").select("dcg@3", "clicks").to_numpy().T
    parts = w * (d - (w * d).sum() / w.sum()) / w.mean()  # their mean is nearly the error of the ratio
    power = ranker.power("dcg@3", runs=["score", "new"], difference=0.1)
    assert power["std"].item() == pytest.approx(np.std(parts, ddof=1), rel=1e-9)
    curve = ranker.plot.curve("dcg", cutoffs=[3]).to_dict()
    drawn = {row["y"] for rows in curve["datasets"].values() for row in rows if "y" in row}
    assert any(y == pytest.approx(weighted("dcg@3", DF), rel=1e-9) for y in drawn)


# --------------------------------------------------------------------------------------------------------- the finding


def shown(n: int = 60, seed: int = 0) -> pl.DataFrame:
    """Lists of five documents, of which users examine the one at rank r with probability 1 / r."""
    rng, at = np.random.default_rng(seed), np.tile(np.arange(1, 6), n)
    clicked = (rng.random(5 * n) < 0.6 / at).astype(int)
    rows = {"query_id": np.repeat(np.arange(n), 5), "doc_id": at, "score": -1.0 * at, "position": at, "label": clicked}
    return pl.DataFrame(rows)


PROBLEM = "clicks on the order shown"


def problems(table: Any, **on: Any) -> set[str]:
    return {*table.rank.on(**on).check().rows["problem"]}


def test_clicks_on_the_order_that_was_shown_are_found_with_what_to_do() -> None:
    log = shown()
    found = log.rank.check().rows.filter(problem=PROBLEM)
    assert found.select("severity", "rows").row(0) == ("note", 300)
    for part in (
        "column 'position' is the order",
        "df.rank.on(propensity=...)",
    ):
        assert part in found["advice"].item()
    assert PROBLEM in problems(log.to_pandas())
    clicked = log.drop("score").rename({"label": "clicked"})
    assert PROBLEM in problems(clicked, rank="position", label="clicked")
    assert PROBLEM in {*log.lazy().rank.check().rows.collect()["problem"]}


def test_other_labels_and_orders_are_not_taken_for_clicks_on_the_order_shown() -> None:
    log = shown()
    assert PROBLEM not in problems(log.with_columns(p=1 / pl.col("position")), propensity="p")
    assert PROBLEM not in problems(log.drop("position"))
    assert PROBLEM not in problems(log.with_columns(position=pl.col("position") + 1))
    assert PROBLEM not in problems(log.with_columns(position=6 - pl.col("position")))
    assert PROBLEM not in problems(log.with_columns(position=pl.col("position").cast(pl.String)))
    assert PROBLEM not in problems(log.with_columns(label=2 * pl.col("label")))
    assert PROBLEM not in problems(log.with_columns(label=pl.col("label") / 2))
    assert PROBLEM not in problems(log.with_columns(label=pl.when(pl.col("doc_id") < 5).then("label")))
    assert PROBLEM not in problems(log.with_columns(label=1 - pl.col("label")))
    assert PROBLEM not in problems(log.with_columns(label=pl.lit(1)))
    rng = np.random.default_rng(1)
    assert PROBLEM not in problems(log.with_columns(label=pl.Series(rng.integers(0, 2, log.height))))
    log.rank.mean("dcg@3")  # no warning: a good ranking with binary judgments looks alike


def test_normalised_hits_are_a_share_whose_mean_is_no_total() -> None:
    """Clicks weigh 1 / 0.5 and 1 / 0.2 in query 1, 1 in query 2; the first documents hold 5 + 1 of the 8: 3/4."""
    df = pl.DataFrame(
        {
            "query_id": [1, 1, 2, 2],
            "doc_id": [*"abab"],
            "score": [2, 1, 2, 1],
            "label": [1, 1, 1, 0],
            "p": [0.2, 0.5, 1.0, 0.5],
        }
    )
    snips = df.rank.on(propensity="p", estimate="snips")
    assert snips.evaluate("hits@1")["hits@1"].to_list() == pytest.approx([5 / 7, 1.0])
    assert snips.mean("hits@1", "precision@1", "cg@1").row(0) == pytest.approx((3 / 4, 3 / 4, 3 / 4))
    of_hits = snips.summarize("hits@1", ci=None)
    assert of_hits.select("mean", "total").row(0) == (pytest.approx(3 / 4), None)
    lazily = df.lazy().rank.on(propensity="p", estimate="snips").mean("hits@1").collect()
    assert lazily.item() == pytest.approx(3 / 4)
    ips = df.rank.on(propensity="p")
    assert ips.mean("hits@1").item() == ips.summarize("hits@1", ci=None)["total"].item() == pytest.approx(6)
