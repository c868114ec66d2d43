"""Figures of parts add up to those of the table: by hand, by NumPy, and by a bootstrap in plain Python."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from scipy import stats

import rankframe as rf
from rankframe._lift.arrow_kernel import arrow_kernel, bound
from rankframe._statistics.poisson import times_drawn
from rankframe._support.draws import seeds_of
from rankframe._verbs.call.declaration import call_of_verb
from rankframe._verbs.items.summarize import summarize
from rankframe._verbs.measure.summary import Summary
from tests.support.each import each
from tests.support.tables import BY_CHANCE, frame, random_table

pytestmark = BY_CHANCE

TABLE = random_table(11, queries=90)
DF = frame(TABLE).with_columns(slice=pl.col("query_id").str.slice(-1).str.to_integer() % 3)
METRICS = ("ndcg@10", "map", "gm_map", "hits")
JUDGED = {query for query, rows in TABLE.items() if any(label is not None for *_, label in rows)}
"""The queries that have values."""


def summed(df: pl.DataFrame, parts: int, *metrics: Any, by: Any = None, **given: Any) -> pl.DataFrame:
    """The merged figures of parts, for the options that a call of `summarize` takes."""
    setup = bound(given.pop("on", {}), arrow_kernel)
    call = call_of_verb(summarize, *(metrics or METRICS), by=by, **{"interval": "poisson", "resamples": 199, **given})
    summary = call.mergeable(setup)
    split = df.with_columns(part=pl.col("query_id").rank("dense") % parts).partition_by("part", include_key=False)
    return summary.merge(pl.concat(summary.part(part) for part in split))


def test_means_and_deviations_are_those_of_all_values() -> None:
    values = DF.rank.evaluate(*METRICS)
    for parts in (1, 7, 30):
        for row in summed(DF, parts, resamples=39).iter_rows(named=True):
            x = values[row["metric"]].drop_nulls().to_numpy()
            mean = stats.gmean(x) if row["metric"] == "gm_map" else np.mean(x)
            assert row["mean"] == pytest.approx(mean, rel=1e-12)
            assert row["std"] == pytest.approx(np.std(x, ddof=1), rel=1e-12)
            assert row["n_queries"] == len(x) == len(JUDGED) > 80


@each("parts", [1, 3, 10])
def test_the_mean_of_equal_values_is_that_value(parts: int) -> None:
    df = pl.DataFrame([(q, d) for q in range(10) for d in "abc"], schema=["query_id", "doc_id"], orient="row")
    df = df.with_columns(score=pl.lit(1.0), label=(pl.col("doc_id") == "a").cast(pl.Int64), w=pl.col("query_id") / 7)
    for weights in (None, "w"):
        row = summed(df, parts, "rr", weights=weights, resamples=100).row(0, named=True)
        assert [row["mean"], row["ci_low"], row["ci_high"], row["std"]] == [1 / 3, 1 / 3, 1 / 3, 0.0]


@each("by", [["slice", "even"], None, "slice"], sample=1)
def test_figures_are_those_of_a_frame_in_one_for_any_number_of_parts(by: Any) -> None:
    df = DF.with_columns(even=pl.col("query_id").str.len_chars() % 2 == 0)
    one = summed(df, 1, by=by)
    for parts in (2, 7):
        assert_frame_equal(summed(df, parts, by=by), one, check_row_order=False, rel_tol=1e-12, abs_tol=1e-12)
    keys = [*([by] if isinstance(by, str) else by or []), "metric"]
    polars = df.rank.summarize(*METRICS, by=by, ci=None)
    found = one.drop("ci_low", "ci_high", "interval").sort(keys)
    assert_frame_equal(found, polars.sort(keys), check_dtypes=False, check_column_order=False, rel_tol=1e-12)


@each("by", [None, "slice"])
def test_weights_mean_what_they_mean_on_a_frame_for_any_number_of_parts(by: Any) -> None:
    df = DF.with_columns(asked=pl.col("query_id").str.slice(-1).str.to_integer() % 4)  # some queries weigh nothing
    df = df.with_columns(asked=pl.when(pl.col("slice") != 2).then("asked").otherwise(0))
    keys = [*([by] if by else []), "metric"]
    wanted = df.rank.summarize(*METRICS, by=by, weights="asked", ci=None).sort(keys)
    one = summed(df, 1, by=by, weights="asked", seed=5)
    assert by is None or wanted.filter(slice=2)["mean"].null_count() == len(METRICS)
    found = summed(df, 7, by=by, weights="asked", seed=5)
    assert_frame_equal(found, one, check_row_order=False, rel_tol=1e-12, abs_tol=1e-12)
    for of_all in (one, found):
        of_all = of_all.drop("ci_low", "ci_high", "interval").sort(keys)
        assert_frame_equal(of_all, wanted, check_dtypes=False, check_column_order=False, rel_tol=1e-12)


def test_a_query_that_weighs_twice_draws_twice() -> None:
    df = DF.with_columns(one=pl.lit(1), two=pl.lit(2.5))
    wanted = summed(df, 3, seed=2).drop("total")
    for weights in ("one", "two"):
        assert_frame_equal(summed(df, 3, seed=2, weights=weights).drop("total"), wanted, rel_tol=1e-12)
    zero = pl.DataFrame({"query_id": [1, 2, 3], "score": 1.0, "label": [1, 0, 1], "w": [1.0, 0.0, 3.0]})
    (row,) = summed(zero, 2, "gm_map", weights="w").iter_rows(named=True)  # the one with a 0 does not count
    assert (row["mean"], row["ci_low"], row["n_queries"]) == (1.0, 1.0, 3)
    (row,) = summed(zero, 2, "rr", weights="w").iter_rows(named=True)
    assert (row["mean"], row["std"]) == (1.0, 0.0)


def test_weights_are_checked() -> None:
    with pytest.raises(rf.InvalidData, match="weight, 'label', is null, negative"):
        summed(DF.with_columns(label=-1.0), 1, "map", weights="label")
    with pytest.raises(rf.InvalidData, match="several values of 'number'"):
        summed(DF.with_row_index("number"), 1, "map", weights="number")
    with pytest.raises(rf.InvalidData, match="'doc_id' for weights holds String, not numbers"):
        summed(DF, 1, "map", weights="doc_id")
    with pytest.raises(rf.MissingColumn, match="no column 'asked' for weights"):
        summed(DF, 1, "map", weights="asked")


def poisson(seed: int) -> int:
    """Knuth's product of uniform numbers has no counter; so the inverse of the distribution, term by term."""
    uniform, k, term = (seed >> 11) / 2**53, 0, math.exp(-1)
    below = term
    while uniform >= below:
        k += 1
        term /= k
        below += term
    return k


def split_mix(x: int) -> int:
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    x = (x ^ x >> 27) * 0x94D049BB133111EB % 2**64
    return x ^ x >> 31


def test_the_interval_is_that_of_a_bootstrap_in_plain_python() -> None:
    golden = 0x9E3779B97F4A7C15
    values = {query: value for query, value in DF.rank.evaluate("map").iter_rows() if query in JUDGED}
    hashed = dict(zip(values, pd.util.hash_array(np.array(list(values), object), categorize=False), strict=True))
    means, replicates = [], []
    for replicate in range(1, 201):
        drawn = {
            query: poisson(
                split_mix((split_mix((int(hashed[query]) + golden * 8) % 2**64) + golden * replicate) % 2**64)
            )
            for query in values
        }
        means.append(sum(drawn[query] * values[query] for query in values) / sum(drawn.values()))
        replicates.append(drawn)
    (row,) = summed(DF, 4, "map", resamples=200, ci=0.9, seed=7).iter_rows(named=True)
    assert (row["ci_low"], row["ci_high"]) == pytest.approx(tuple(np.quantile(means, [0.05, 0.95])), rel=1e-12)
    assert summed(DF, 4, "map", resamples=200, seed=8).item(0, "ci_low") != row["ci_low"]
    weighs = {query: i % 3 for i, query in enumerate(values)}
    weighed = DF.with_columns(w=pl.col("query_id").replace_strict(weighs, default=1))
    (row,) = summed(weighed, 4, "map", resamples=200, ci=0.9, seed=7, weights="w").iter_rows(named=True)
    means = [
        sum(draws[query] * weighs[query] * values[query] for query in values)
        / sum(draws[query] * weighs[query] for query in values)
        for draws in replicates
    ]
    assert (row["ci_low"], row["ci_high"]) == pytest.approx(tuple(np.quantile(means, [0.05, 0.95])), rel=1e-12)


def test_draws_are_poisson_distributed_and_independent() -> None:
    queries = pl.DataFrame({"q": range(400)})
    drawn = times_drawn(seeds_of(queries, ["q"], 0), 500)
    counts = np.bincount(drawn.astype(int).ravel(), minlength=8)
    wanted = stats.poisson.pmf(np.arange(6), 1) * drawn.size
    assert stats.chisquare([*counts[:6], counts[6:].sum()], [*wanted, drawn.size - wanted.sum()]).pvalue > 1e-3
    assert abs(np.corrcoef(drawn, rowvar=False) - np.eye(400)).max() < 6 / math.sqrt(500)
    assert abs(np.corrcoef(drawn) - np.eye(500)).max() < 6 / math.sqrt(400)


def test_the_interval_is_about_that_of_students_t() -> None:
    values = np.random.default_rng(0).normal(size=2000)
    df = pl.DataFrame({"query_id": range(2000), "score": 1.0, "label": np.abs(values)})
    row = summed(df, 3, "cg", resamples=4000).row(0, named=True)
    x = np.abs(values)
    low, high = stats.t.interval(0.95, 1999, np.mean(x), stats.sem(x))
    assert row["ci_high"] - row["ci_low"] == pytest.approx(high - low, rel=0.05)
    assert (row["ci_low"], row["ci_high"]) == pytest.approx((low, high), abs=0.1 * (high - low))


def test_a_query_is_drawn_the_same_by_the_text_of_its_id() -> None:
    texts, numbers = pl.DataFrame({"q": ["1", "2", None]}), pl.DataFrame({"q": [1, 2, None]})
    assert (seeds_of(texts, ["q"], 3) == seeds_of(numbers, ["q"], 3)).all()
    two = pl.DataFrame({"a": ["x", "xy"], "b": ["yz", "z"]})
    assert len(set(seeds_of(two, ["a", "b"], 0))) == 2


def test_queries_without_a_value_do_not_count() -> None:
    df = pl.DataFrame({"query_id": [1, 2, 3, 3], "doc_id": list("aaab"), "score": [1, 1, 2, 1], "label": [1, 0, 0, 1]})
    null = {"no_relevant": "null"}
    (row,) = summed(df, 3, "rr", on=null).iter_rows(named=True)
    assert (row["mean"], row["std"], row["n_queries"]) == (0.75, pytest.approx(math.sqrt(0.125)), 2)
    assert 0.5 <= row["ci_low"] <= row["ci_high"] <= 1
    (one,) = summed(df.filter(query_id=1), 1, "rr").iter_rows(named=True)
    assert one == {
        "metric": "rr",
        "mean": 1.0,
        "std": None,
        "ci_low": None,
        "ci_high": None,
        "n_queries": 1,
        "total": None,
        "interval": None,
    }
    (none,) = summed(df.filter(query_id=2), 1, "rr", on=null).iter_rows(named=True)
    assert none == {
        "metric": "rr",
        "mean": None,
        "std": None,
        "ci_low": None,
        "ci_high": None,
        "n_queries": 0,
        "total": None,
        "interval": None,
    }


def test_a_geometric_mean_with_a_0_is_0() -> None:
    @rf.metric(summary="geometric mean")
    def geometric_hits(r: rf.Ranking) -> pl.Expr:
        return r.total(r.relevant)

    try:
        df = pl.DataFrame({"query_id": [1, 2], "score": 1.0, "label": [0, 1]})
        (row,) = summed(df, 2, geometric_hits, on={}).iter_rows(named=True)
    finally:
        rf.unregister(geometric_hits)
    assert (row["mean"], row["ci_low"], row["ci_high"]) == (0.0, 0.0, 1.0)


def test_slices_are_one_for_all_rows_of_a_query() -> None:
    df = pl.DataFrame({"query_id": [1, 1], "doc_id": list("ab"), "score": 1.0, "label": 1, "day": ["mo", None]})
    with pytest.raises(rf.InvalidData, match="several values of 'day'; name a column that has one value in all rows"):
        summed(df.with_columns(day="doc_id"), 1, "rr", by="day")
    both = Summary.of(bound({}, arrow_kernel), None, "rr", by="day")
    assert both.merge(both.part(df)).row(0, named=True)["day"] == "mo"
    with pytest.raises(rf.MissingColumn, match="no column 'market' for by"):
        summed(df, 1, "rr", by="market")


@each(
    ("given", "message"),
    [
        ({"ci": 95}, "ci=95(\\.0)?: write a number between 0 and 1"),
        ({"ci": "0.9"}, "ci='0.9'"),
        ({"resamples": 0}, "resamples=0: write a whole number from 1 "),
        ({"resamples": 38}, "resamples=38: write a whole number from 39 on"),
        ({"resamples": 10.5}, "resamples=10.5"),
        ({"seed": -1}, "seed=-1: write a whole number from 0 on"),
        ({"seed": True}, "seed=True"),
        ({"by": "mean"}, "second column 'mean'"),
        ({"on": {"unjudged": "bounds"}}, "two columns"),
    ],
)
def test_options_out_of_range_are_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(rf.InvalidOption, match=message):
        summed(DF, 1, "map", **given)


def test_few_queries_in_parts_have_the_interval_of_few() -> None:
    """By hand: nine hits of ten, Clopper's and Pearson's; of labels without bounds, Student's."""
    df = pl.DataFrame({"query_id": range(10), "score": 1.0, "label": [1, 2, 3, 1, 2, 3, 1, 2, 3, 0]})
    for parts in (1, 4):
        hits, gains = summed(df, parts, "hit_rate@1", "cg", interval="auto", resamples=5000).iter_rows(named=True)
        wanted = stats.binomtest(9, 10).proportion_ci(method="exact")
        assert (hits["ci_low"], hits["ci_high"]) == pytest.approx((wanted.low, wanted.high), abs=0.01)
        assert (hits["interval"], gains["interval"]) == ("bounded", "t")
    few = df.filter(pl.col("query_id") < 9)
    (gains,) = summed(few, 3, "cg", interval="auto").iter_rows(named=True)
    low, high = stats.t.interval(0.95, 8, 2, stats.sem([1, 2, 3] * 3))
    assert (gains["ci_low"], gains["ci_high"], gains["interval"]) == (pytest.approx(low), pytest.approx(high), "t")
    (equal,) = summed(few.with_columns(label=2), 3, "cg", interval="auto").iter_rows(named=True)
    assert (equal["ci_low"], equal["ci_high"], equal["interval"]) == (None, None, None)


def test_many_queries_of_which_few_differ_have_the_interval_of_few_in_parts_too() -> None:
    df = pl.DataFrame({"query_id": range(400), "score": 1.0}).with_columns(w=1 + pl.col("query_id") % 2)
    for misses, kind in ((5, "bounded"), (100, "t")):
        of = df.with_columns(label=(pl.col("query_id") >= misses).cast(pl.Int64))
        whole = of.rank.summarize("hit_rate@1", weights="w", resamples=2000)
        for parts in (1, 7):
            (row,) = summed(of, parts, "hit_rate@1", interval="auto", weights="w", resamples=2000).iter_rows(named=True)
            assert row["interval"] == kind
            assert (row["ci_low"], row["ci_high"]) == pytest.approx(whole.select("ci_low", "ci_high").row(0), abs=0.01)


def test_values_that_are_not_few_are_not_sent() -> None:
    """A part sends up to fifty different values; the whole has the bootstrap's interval where one part has more."""
    df = pl.DataFrame({"query_id": range(120), "score": 1.0}).with_columns(label=pl.col("query_id") / 120)
    for parts in (3, 1):  # also where each part has few
        weighed = df.with_columns(w=1 + pl.col("query_id") % 2)
        (row,) = summed(weighed, parts, "cg", interval="auto", weights="w").iter_rows(named=True)
        assert row["interval"] == "poisson"
    part = Summary.of(bound({}, arrow_kernel), None, "cg", ci=0.95, resamples=39).part(df)
    assert part.select("values", "weights", "counts").row(0) == (None, None, None)
    (row,) = summed(df, 1, "cg", interval="auto").iter_rows(named=True)
    assert row["interval"] == "poisson"
