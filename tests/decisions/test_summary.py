"""Values summed up over queries, by slices and with weights; expected figures by hand or by NumPy."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from scipy.stats import binom, binomtest, ttest_1samp

import rankframe as rf
from rankframe._command import main
from rankframe._results.grid import records
from tests.support.each import each
from tests.support.tables import BY_CHANCE, frame, random_table

# Reciprocal ranks 1, 1/2, 0 and, of a query without relevant documents, whatever the policy says.
DF = pl.DataFrame(
    {
        "query_id": [1, 1, 2, 2, 3, 4],
        "doc_id": list("ababaa"),
        "score": [2, 1, 2, 1, 1, 1],
        "label": [1, 0, 0, 1, 0, 0],
        "day": ["mo", "mo", "tu", "tu", "mo", "tu"],
        "asked": [3.0, 3.0, 1.0, 1.0, 0.0, 2.0],
    }
)

FIGURES = ("metric", "mean", "std", "n_queries", "total")
COLUMNS = ["metric", "n_queries", "std", "total", "interval", "mean", "ci_low", "ci_high"]
PLAIN = ["metric", "n_queries", "std", "total", "mean"]


def test_means_deviations_totals_and_counts() -> None:
    found = DF.rank.summarize("rr", "hits", interval="bca")
    assert found.columns == COLUMNS
    assert DF.rank.summarize("rr", ci=None).columns == PLAIN
    assert dict(found.schema) == dict(DF.lazy().rank.summarize("rr", "hits", interval="bca").collect_schema())
    assert found.schema["n_queries"] == pl.UInt32
    values = [1, 0.5, 0, 0]
    plain = found.select(FIGURES)
    assert plain.row(0) == ("rr", 0.375, pytest.approx(np.std(values, ddof=1)), 4, None)  # only counts add up
    assert plain.row(1) == ("hits", 0.5, pytest.approx(np.std([1, 1, 0, 0], ddof=1)), 4, 2.0)


def test_queries_without_a_value_do_not_count() -> None:
    found = DF.rank.on(no_relevant="null").summarize("rr", ci=None)
    assert found.select(FIGURES).row(0) == ("rr", 0.75, pytest.approx(0.5 / 2**0.5), 2, None)
    nothing = DF.filter(query_id=4).rank.on(no_relevant="null").summarize("rr")
    assert nothing.row(0) == ("rr", 0, None, None, None, None, None, None)


@pytest.mark.filterwarnings("ignore:all values of column .score. are equal:rankframe.RankframeWarning")
@each("lazy", [False, True])
def test_the_mean_of_equal_values_is_that_value(lazy: bool) -> None:
    """Ten queries of one third; shares of their weights add up to less than 1 in floats."""
    rows = [(query, doc) for query in range(10) for doc in "abc"]
    df = pl.DataFrame(rows, schema=["query_id", "doc_id"], orient="row").with_columns(score=pl.lit(1.0))
    df = df.with_columns(label=(pl.col("doc_id") == "a").cast(pl.Int64), w=pl.col("query_id") / 7)
    for weights in (None, "w"):
        ranker = (df.lazy() if lazy else df).rank
        metrics = "rr", "precision@3", "hit_rate@3", "gm_map"
        found = ranker.summarize(*metrics, weights=weights, interval="bca").lazy().collect()
        exact = found.filter(pl.col("metric") != "gm_map")
        assert exact["mean"].to_list() == exact["ci_low"].to_list() == exact["ci_high"].to_list() == [1 / 3, 1 / 3, 1.0]
        assert found["std"].to_list() == [0.0] * 4


def test_the_mean_of_equal_values_is_that_value_on_the_command_line_and_for_other_tools(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ten queries of 0.1, whose sum is 0.9999999999999999 in floats."""
    rows = pl.DataFrame({"query_id": range(10)}).with_columns(doc_id=pl.lit("a"), score=pl.lit(1.0), label=pl.lit(1))
    rows.write_csv(tmp_path / "t.csv")
    for command in ("evaluate -m precision@10", "evaluate -m precision@10 --by doc_id", "curve -m precision --to 10"):
        assert main([*command.split(), str(tmp_path / "t.csv"), "--format", "csv"]) == 0
        assert "0.1" in capsys.readouterr().out.strip().splitlines()[-1].split(",")
    assert rows.rank.conventions("precision@10").table.row(0)[:2] == ("rankframe", 0.1)


def test_bounded_intervals_are_those_of_shares() -> None:
    """One hit and three misses, by Clopper and Pearson; the default of a geometric mean lies within its bounds, too."""
    df = pl.DataFrame({"query_id": [1, 2, 3, 4], "doc_id": ["a"] * 4, "score": [1] * 4, "label": [1, 0, 0, 0]})
    low, high = df.rank.summarize("rr", interval="bounded").select("ci_low", "ci_high").row(0)
    wanted = binomtest(1, 4).proportion_ci(method="exact")
    assert (low, high) == pytest.approx((wanted.low, wanted.high), abs=0.01)
    low, mean, high = df.rank.summarize("gm_map", interval="bounded").select("ci_low", "mean", "ci_high").row(0)
    assert 1e-5 < low < mean < high < 1


@each(("resamples", "ci", "least"), [(1, 0.95, 39), (38, 0.95, 39), (18, 0.9, 19), (198, 0.99, 199)])
def test_fewer_resamples_than_an_interval_has_ends_for_are_refused(resamples: int, ci: float, least: int) -> None:
    with pytest.raises(
        rf.InvalidOption, match=f"={resamples}: write a whole number from {least} on, as an interval of {ci} takes"
    ):
        DF.rank.summarize("rr", ci=ci, resamples=resamples)
    DF.rank.summarize("rr", ci=ci, resamples=least)
    DF.rank.summarize("rr", ci=None, resamples=1)
    DF.rank.summarize("rr", interval="t", resamples=1)


def test_slices_come_as_first_seen_metric_by_metric() -> None:
    found = DF.rank.summarize("rr", "hits", by="day", ci=None)
    assert found.select("day", "metric", "mean", "n_queries").rows() == [
        ("mo", "rr", 0.5, 2),
        ("tu", "rr", 0.25, 2),
        ("mo", "hits", 0.5, 2),
        ("tu", "hits", 0.5, 2),
    ]
    two = DF.with_columns(market=pl.lit(None, dtype=pl.String)).rank.summarize("rr", by=["market", "day"])
    assert two.select("market", "day", "mean").rows() == [(None, "mo", 0.5), (None, "tu", 0.25)]


def test_queries_weigh_what_their_column_says() -> None:
    values, weights = np.array([1, 0.5, 0, 0]), np.array([3, 1, 0, 2])
    mean = np.average(values, weights=weights)
    spread = math.sqrt(np.average((values - mean) ** 2, weights=weights) * 4 / 3)
    found = DF.rank.summarize("rr", "hits", weights="asked", ci=None).select(FIGURES)
    assert found.row(0) == ("rr", pytest.approx(mean), pytest.approx(spread), 4, None)
    assert found["total"][1] == 3 * 1 + 1 * 1
    by_day = DF.rank.summarize("rr", by="day", weights="asked")
    assert by_day["mean"].to_list() == pytest.approx([1, 0.5 / 3])
    none = DF.filter(query_id=3).rank.summarize("rr", weights="asked")
    assert none.select("mean", "std").row(0) == (None, None)


def test_a_metric_of_geometric_means_is_summed_up_so() -> None:
    @rf.metric(summary="geometric mean")
    def floored(r: rf.Ranking) -> pl.Expr:
        return pl.max_horizontal(r.total(r.first_relevant, over=r.rank), pl.lit(0.25))

    found = DF.rank.summarize("floored", interval="t").row(0, named=True)
    rf.unregister(floored)
    assert found["mean"] == pytest.approx((1 * 0.5 * 0.25 * 0.25) ** 0.25)
    assert found["total"] is None
    low, high = ttest_1samp(np.log([1, 0.5, 0.25, 0.25]), 0).confidence_interval()
    assert (found["ci_low"], found["ci_high"]) == pytest.approx((math.exp(low), math.exp(high)))


@BY_CHANCE
def test_lazy_and_pandas_frames_give_the_same_summary() -> None:
    df = frame(random_table(8)).with_columns(
        day=pl.col("query_id").str.len_chars(), asked=pl.col("query_id").hash() % 5
    )
    wanted = df.rank.summarize("ndcg@5", "map", by="day", weights="asked")
    lazy = df.lazy().rank.summarize("ndcg@5", "map", by="day", weights="asked")
    assert isinstance(lazy, pl.LazyFrame)
    for engine in ("in-memory", "streaming"):
        assert_frame_equal(lazy.collect(engine=engine), wanted, check_row_order=False, rel_tol=1e-12)
    pandas = df.to_pandas().rank.summarize("ndcg@5", "map", by="day", weights="asked")
    assert pandas.columns.tolist() == wanted.columns
    assert_frame_equal(pl.from_pandas(pandas), wanted, check_dtypes=False)
    without = df.lazy().rank.summarize("ndcg@5", "map", by="day", weights="asked", ci=None)
    assert "map_batches" not in without.explain().lower()
    assert without.collect_schema().names() == ["day", *PLAIN]
    assert_frame_equal(
        without.collect(), wanted.drop("ci_low", "ci_high", "interval"), check_row_order=False, rel_tol=1e-12
    )


def test_a_query_in_two_slices_or_with_an_unfit_weight_is_an_error() -> None:
    torn = DF.with_columns(day=pl.Series(["mo", "tu", "mo", "mo", "mo", "mo"]))
    with pytest.raises(rf.InvalidData, match="several values of 'day'"):
        torn.rank.summarize("rr", by="day")
    with pytest.raises(rf.InvalidData, match="several values of 'score'"):
        DF.rank.summarize("rr", weights="score")
    for bad in (None, -1.0, math.nan):
        with pytest.raises(rf.InvalidData, match="weight, 'w', is null"):
            DF.with_columns(w=pl.lit(bad, dtype=pl.Float64)).rank.summarize("rr", weights="w")
    with pytest.raises(rf.MissingColumn, match="no column 'dya' for by"):
        DF.rank.summarize("rr", by="dya")


@each("options", [{"ci": None}, {"resamples": 99}, {"interval": "poisson", "resamples": 99}])
@each("engine", ["in-memory", "streaming"])
def test_a_lazy_summary_refuses_them_with_an_error_of_the_package(engine: Any, options: dict[str, Any]) -> None:
    df = pl.DataFrame({"query_id": [1, 1], "score": [2.0, 1.0], "label": [0, 1], "by": ["x", "y"], "w": [-1.0, -1.0]})
    sliced = df.lazy().rank.summarize("rr", by="by", progress=False, **options)
    with pytest.raises(rf.InvalidData, match=r"^a query has several values of 'by'; name a column that has one value"):
        sliced.collect(engine=engine)
    weighted = df.lazy().rank.summarize("rr", weights="w", progress=False, **options)
    with pytest.raises(rf.InvalidData, match=r"^a query's weight, 'w', is null, negative, NaN or beyond"):
        weighted.collect(engine=engine)


@each("kind", ["polars", "lazy", "pandas"])
def test_a_missed_document_that_judge_adds_has_the_slice_and_the_weight_of_its_query(kind: str) -> None:
    # By hand: a finds one of two, b one of one, and c, whose market is not known, the only one.
    run: Any = pl.DataFrame(
        {
            "query_id": ["a", "a", "b", "c"],
            "doc_id": list("xyxx"),
            "score": [2.0, 1.0, 2.0, 1.0],
            "market": ["de", "de", "fr", None],
            "w": [1, 1, 3, 1],
        }
    )
    qrels: Any = pl.DataFrame({"query_id": ["a", "a", "b", "c"], "doc_id": ["x", "z", "x", "x"], "label": [1] * 4})
    if kind == "lazy":
        run, qrels = run.lazy(), qrels.lazy()
    if kind == "pandas":
        run, qrels = run.to_pandas(), qrels.to_pandas()
    judged = rf.rank(run).judge(qrels)
    found = rf.rank(judged).mean("recall", by="market")
    rows = {row["market"]: row["recall"] for row in records(found)}
    assert rows == {"de": 0.5, "fr": 1.0, None: 1.0}
    weighed = records(rf.rank(judged).summarize("recall", weights="w", ci=None))
    assert weighed[0]["mean"] == pytest.approx((0.5 + 3 + 1) / 5, rel=1e-15)
    both = rf.rank(judged).on(score="score").compare("recall", runs=["score", "w"], by="market", resamples=39)
    markets = [row["market"] for row in records(both.table)]  # a lazy join has no order
    assert {*markets} == {"de", "fr", None} if kind == "lazy" else markets == ["de", "fr", None]


@each("name", ["#call", "#by0", "#weight", "#row", "weights rr", "#different day"])
def test_slices_may_have_any_name(name: str) -> None:
    named = DF.rename({"day": name})
    for df in (named, named.lazy()):
        summed = df.rank.summarize("rr", "map", by=name).lazy().collect().sort(name, "metric")
        assert summed.select(name, "metric", "mean").rows() == [
            *(("mo", metric, 0.5) for metric in ("map", "rr")),  # 1 and 0
            *(("tu", metric, 0.25) for metric in ("map", "rr")),  # 1/2 and 0
        ]


@each("name", ["#by0", "#weight", "#row", "#there"])
def test_a_query_column_with_a_name_of_the_plan_is_refused(name: str) -> None:
    df = DF.rename({"query_id": name}).with_columns(new=pl.col("score") + 1)
    ranker = df.rank.on(query=name)
    with pytest.raises(rf.InvalidOption, match=f"column '{name}' has a name of the plan's own; rename it"):
        ranker.summarize("rr", by="day")
    with pytest.raises(rf.InvalidOption, match=f"column '{name}' has a name of the plan's own; rename it"):
        ranker.compare("rr", runs=["score", "new"], by="day")


def test_what_is_no_metric_is_refused() -> None:
    with pytest.raises(rf.InvalidOption, match="summarize"):
        DF.rank.summarize()
    with pytest.raises(rf.InvalidData, match="d is String, not a number"):
        DF.rank.summarize(pl.col("day").first().alias("d"))
    with pytest.raises(rf.InvalidOption, match="two columns"):
        DF.rank.on(unjudged="bounds").summarize("rr")


def test_a_query_that_weighs_nothing_takes_nothing_from_a_geometric_mean() -> None:
    @rf.metric(summary="geometric mean")
    def first(r: rf.Ranking) -> pl.Expr:
        """The reciprocal rank, for a geometric mean."""
        return r.total(r.first_relevant, over=r.rank)

    try:
        df = pl.DataFrame({"query_id": [1, 1, 2], "doc_id": ["a", "b", "a"], "score": [2, 1, 1], "label": [0, 1, 0]})
        df = df.with_columns(weight=pl.Series([1.0, 1.0, 0.0]))  # rr is 1/2 and 0
        assert df.rank.summarize("first", weights="weight", ci=None)["mean"].item() == pytest.approx(0.5, rel=1e-12)
        assert df.rank.summarize("first", weights="weight", resamples=200)["mean"].item() == pytest.approx(
            0.5, rel=1e-12
        )
    finally:
        rf.unregister("first")


def test_the_default_interval_of_a_share_holds_it_for_any_number_of_queries() -> None:
    """All outcomes of n queries, each a slice, with their binomial probabilities."""
    outcomes = [(n, k) for n in (2, 4, 8, 12, 20) for k in range(n + 1)]
    rows = [(f"{n} {k}", f"{n} {k} {i}", int(i < k)) for n, k in outcomes for i in range(n)]
    df = pl.DataFrame(rows, ["outcome", "query_id", "label"], orient="row").with_columns(score=1.0)
    found = df.rank.summarize("hit_rate@1", by="outcome", resamples=2000)
    assert set(found["interval"]) == {"bounded"}
    ends = dict(zip(outcomes, found.select("ci_low", "ci_high").rows(), strict=True))
    for n in (2, 4, 8, 12, 20):
        for share in (0.5, 0.9, 0.99):
            held = [binom.pmf(k, n, share) for k in range(n + 1) if ends[n, k][0] <= share <= ends[n, k][1]]
            assert sum(held) >= 0.93, (n, share)
            assert ends[n, n][0] < 1


def test_many_values_have_the_bootstraps_interval_and_a_slice_of_few_its_own() -> None:
    rng = np.random.default_rng(5)
    df = pl.DataFrame(
        {"query_id": np.repeat(np.arange(200), 5), "score": rng.random(1000), "label": rng.integers(0, 2, 1000)}
    )
    df = df.with_columns(few=pl.col("query_id") < 20)
    found = df.rank.summarize("ndcg", by="few", resamples=99)
    assert dict(found.select("few", "interval").rows()) == {True: "bounded", False: "bca"}
    alone = pl.concat(df.filter(few=few).rank.summarize("ndcg", resamples=99) for few in (True, False))
    assert_frame_equal(found.drop("few"), alone)


@each("lazy", [False, True])
def test_few_values_without_bounds_have_students_interval_and_a_warning(lazy: bool) -> None:
    df = DF.with_columns(label=pl.Series([3, 0, 1, 0, 2, 5]))
    with pytest.warns(rf.RankframeWarning, match=r"the interval of cg over 4 queries is Student") as said:
        found = (df.lazy() if lazy else df).rank.summarize("cg", "rr").lazy().collect()
    assert len(said) == 1
    assert found["interval"].to_list() == ["t", "bounded"]
    low, high = ttest_1samp([3, 1, 2, 5], 0).confidence_interval()
    assert (found["ci_low"][0], found["ci_high"][0]) == pytest.approx((max(low, 0), high))  # cg is at least 0
    equal = df.with_columns(label=pl.lit(2)).filter(doc_id="a").rank.summarize("cg")
    assert equal.select("mean", "ci_low", "ci_high", "interval").row(0) == (2, None, None, None)


def test_students_interval_does_not_leave_the_bound_that_a_metric_has() -> None:
    """Three gains of 0 and one of 9: their mean is 2.25, and so is its standard error; Student's takes it 3.18 times."""
    few = pl.DataFrame({"query_id": range(4), "score": 1.0, "label": [0, 0, 0, 9]})
    with pytest.warns(rf.RankframeWarning, match="Student"):
        row = few.rank.summarize("cg").row(0, named=True)
    assert (row["ci_low"], row["interval"]) == (0.0, "t")
    assert row["ci_high"] == pytest.approx(2.25 * (1 + 3.182446), rel=1e-6)


@each("size", [1e-300, 1e-310, 1e-320, 5e-324, 1e270])
def test_the_size_of_weights_changes_no_figure(size: float) -> None:
    """Average precision 1, 1/2 and 1 with weights 2, 1 and 1: 7/8; the table's other day has weights of 1."""
    rows = {"query_id": [1, 1, 2, 2, 3, 3], "doc_id": [*"ababab"], "score": [2, 1] * 3, "label": [1, 0, 0, 1, 1, 1]}
    df = pl.DataFrame(rows).with_columns(
        new=-pl.col("score"), one=pl.when(query_id=1).then(2.0).otherwise(1.0), day=pl.lit("x")
    )
    df = df.with_columns(w=pl.col("one") * size)
    options: Any = {"interval": "bca", "resamples": 999}
    wanted = df.rank.summarize("map", weights="one", **options)
    found = df.rank.summarize("map", weights="w", **options)
    assert found["mean"].item() == pytest.approx(7 / 8)
    assert_frame_equal(found, wanted, rel_tol=1e-9)
    assert df.rank.mean("map", weights="w").item() == pytest.approx(7 / 8)
    assert df.lazy().rank.mean("map", weights="w").collect().item() == pytest.approx(7 / 8)
    other = df.with_columns(day=pl.lit("y"), w=1.0, query_id=pl.col("query_id") + 3)
    of_days = pl.concat([df, other]).rank.mean("map", weights="w", by="day")
    assert dict(of_days.rows()) == {"x": pytest.approx(7 / 8), "y": pytest.approx(5 / 6)}
    compared = [df.rank.compare("map", runs=["score", "new"], weights=of, **options).table for of in ("one", "w")]
    assert_frame_equal(*compared, rel_tol=1e-9)
