"""Predictors of query performance from scores: against NumPy in every form, and their correlations against SciPy."""

from __future__ import annotations

import math
import random
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import pairwise
from statistics import fmean
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from scipy import stats

import rankframe as rf
from tests.support.calls import values
from tests.support.each import each
from tests.support.tables import BY_CHANCE, FRACTIONAL_LABELS, frame, random_table

pytestmark = BY_CHANCE

TABLE = random_table(23, queries=40, labels=FRACTIONAL_LABELS)
DF = frame(TABLE).with_columns(
    c=pl.col("query_id").str.len_chars() / 7, n=pl.col("query_id").str.len_chars(), score=pl.col("score") * 1e3 + 1e6
)


def scores(rows: Any) -> list[float]:
    return sorted((row[1] * 1e3 + 1e6 for row in rows if row[1] is not None), reverse=True)


def deviation(x: list[float]) -> float:
    return float(np.std(np.array(x) - x[0]))


def predicted(name: str, query: str, rows: Any, k: int | None, *, own: bool = False) -> float | None:
    x = scores(rows)
    if not x:
        return None
    top, collection, terms = x[:k], len(query) / 7 if own else float(np.mean(x)), len(query) if own else 1
    if name == "nqc":
        return deviation(top) / abs(collection) if collection else None
    if name == "wig":
        return (float(np.mean(top)) - collection) / math.sqrt(terms) if terms else None
    return max(deviation(top[:m]) for m in range(1, len(top) + 1))


@each("k", [None, 1, 3], sample=6)
@each("name", ["nqc", "wig", "sigma_max"])
def test_predictors_are_those_of_plain_python_in_every_form(name: str, k: int | None) -> None:
    text = name if k is None else f"{name}@{k}"
    wanted = {query: predicted(name, query, rows, k) for query, rows in TABLE.items()}
    unlabelled = DF.drop("label")
    found = [
        unlabelled.rank.evaluate(text),
        unlabelled.lazy().rank.evaluate(text).collect(),
        unlabelled.group_by("query_id").agg(getattr(rf.expr, name)(k=k)),
        pl.from_pandas(unlabelled.to_pandas().rank.evaluate(text).reset_index()).with_columns(
            pl.col(text).fill_nan(None)
        ),
        unlabelled.with_columns(score=-pl.col("score")).rank.on(ascending=True).evaluate(text),
    ]
    for form in found:
        of_query = values(form, text)
        assert of_query.keys() == wanted.keys()
        for query, value in wanted.items():
            assert of_query[query] == (None if value is None else pytest.approx(value, rel=1e-9, abs=1e-6)), (
                query,
                text,
            )


@each("name", ["nqc", "wig"])
def test_the_score_of_the_collection_may_be_a_column(name: str) -> None:
    options = {"collection": pl.col("c"), **({"terms": pl.col("n")} if name == "wig" else {})}
    found = getattr(DF.rank.metrics, name)(k=3, **options)
    wanted = {query: predicted(name, query, rows, 3, own=True) for query, rows in TABLE.items() if query}
    of_query = {query: x for query, x in values(found, found.columns[-1]).items() if query}
    assert of_query.keys() == wanted.keys()
    for query, value in wanted.items():
        assert of_query[query] == (None if value is None else pytest.approx(value, rel=1e-9)), query


def test_a_collection_with_score_0_has_no_commitment_and_depth_cuts_rankings() -> None:
    df = pl.DataFrame({"query_id": 1, "doc_id": list("abc"), "score": [1.0, -1.0, None]})
    assert df.rank.evaluate("nqc", "wig", "sigma_max").row(0) == (1, None, 0.0, 1.0)
    assert df.rank.on(depth=1).evaluate("nqc", "wig", "sigma_max").row(0) == (1, 0.0, 0.0, 0.0)


MASKS = [-1e9, -1e12, -3.4028234663852886e38, -math.inf, math.inf, 1e300, -0.0, 5e-324]
"""Scores of documents that a ranker has left out, and others of a size that takes the digits of a sum."""


def exactly(name: str, given: list[float], k: int | None) -> Decimal | None:
    """A predictor by its definition, without rounding before the root; None where a score that is read is infinite."""
    x = sorted(given, reverse=True)[: k if name == "sigma_max" else None]
    if any(map(math.isinf, x)):
        return None
    exact = [Fraction(score) for score in x]
    top = exact[:k]
    if name == "wig":
        return decimal(sum(top) / len(top) - sum(exact) / len(exact))
    deviations = [decimal(variance(top[:m])).sqrt() for m in range(1, len(top) + 1)]
    if name == "sigma_max":
        return max(deviations)
    mean = sum(exact) / len(exact)
    return deviations[-1] / decimal(abs(mean)) if mean else None


def variance(x: list[Fraction]) -> Fraction:
    mean = sum(x) / len(x)
    return sum((score - mean) ** 2 for score in x) / len(x)


def decimal(x: Fraction | int) -> Decimal:
    return Decimal(x.numerator) / Decimal(x.denominator)


@each("size", [1.0, 1e-300, 1e150], sample=3)
@each("k", [None, 1, 3])
def test_no_mask_and_no_size_of_scores_takes_digits_of_a_predictor(k: int | None, size: float) -> None:
    rng = random.Random(f"{k} {size}")
    lists = {
        query: [rng.gauss(rng.choice([0, 7, 1e6]), 1) * size for _ in range(rng.randint(1, 6))]
        + rng.sample(MASKS, rng.randint(0, 2))
        for query in range(25)
    }
    rows = [(query, doc, score) for query, x in lists.items() for doc, score in enumerate(x)]
    df = pl.DataFrame(rows, ["query_id", "doc_id", "score"], orient="row")
    names = ["nqc", "wig", "sigma_max"]
    texts = [name if k is None else f"{name}@{k}" for name in names]
    of_groups = df.group_by("query_id").agg(getattr(rf.expr, name)(k=k) for name in names)
    for form in (df.rank.evaluate(*texts), of_groups):
        for row in form.iter_rows(named=True):
            given = lists[row["query_id"]]
            read = [abs(x) for x in given if math.isfinite(x)]
            for name, text in zip(names, texts, strict=True):
                with localcontext(prec=80, Emin=-5000, Emax=5000):
                    wanted = exactly(name, given, k)
                if wanted is None:
                    assert row[text] is None, (given, text)
                elif name == "wig":
                    assert row[text] == pytest.approx(float(wanted), rel=1e-12, abs=1e-15 * max(read)), (given, text)
                elif name == "sigma_max" or well_conditioned(given):
                    assert row[text] == pytest.approx(float(wanted), rel=1e-11, abs=5e-324), (given, text)


def well_conditioned(x: list[float]) -> bool:
    """Whether a mean of these scores is not almost 0, which would magnify the rounding of a double."""
    return abs(sum(map(Fraction, x))) * 1000 > sum(abs(Fraction(score)) for score in x)


def test_a_masked_document_below_the_top_leaves_sigma_max_as_without_it() -> None:
    """Of 12.3, 11.9 and 11.1 the mean is 35.3 / 3, and the mean of squared distances 0.248889."""
    for mask in (-1e9, -3.4028234663852886e38, -math.inf):
        df = pl.DataFrame({"query_id": 1, "doc_id": [*"abcd"], "score": [12.3, 11.9, 11.1, mask]})
        assert df.rank.evaluate("sigma_max@3")["sigma_max@3"].item() == pytest.approx(0.498888, abs=1e-6)


def test_a_query_with_an_infinite_score_is_left_out_of_means() -> None:
    df = pl.DataFrame({"query_id": [1, 1, 2, 2], "doc_id": [*"abab"], "score": [3.0, 1.0, 1.0, -math.inf]})
    found = df.rank.summarize("nqc", "wig@1", "sigma_max", ci=None)
    assert found["n_queries"].to_list() == [1, 1, 1]
    assert found["mean"].to_list() == [0.5, 1.0, 1.0]


def test_a_column_that_is_not_finite_gives_no_prediction() -> None:
    df = pl.DataFrame({"query_id": 1, "doc_id": [*"ab"], "score": [3.0, 1.0]})
    for amiss in (math.nan, math.inf, None):
        of = pl.lit(amiss, pl.Float64)
        found = df.rank.evaluate(rf.expr.nqc(collection=of), rf.expr.wig(collection=of), rf.expr.wig(terms=of))
        assert found.row(0)[1:] == (None, None, None)
    for none in (0, -1):
        assert df.rank.metrics.wig(1, terms=pl.lit(none)).item(0, 1) is None


def test_predictors_have_no_curve_and_no_sql() -> None:
    with pytest.raises(rf.InvalidOption, match="is no sum of what each rank contributes"):
        DF.rank.curve("sigma_max")
    with pytest.raises(rf.InvalidOption, match="no SQL"):
        rf.sql("nqc", dialect="duckdb", table="runs")


SCORED = DF.filter(pl.col("query_id") != "")


def abstained(predicted: list[float], metric: list[float]) -> float:
    """The normalised area under the curve of abstention, in plain Python."""

    def area(by: list[float]) -> float:
        order = sorted(range(len(by)), key=by.__getitem__)
        worth = [fmean(m for b, m in zip(by, metric, strict=True) if b == by[i]) for i in order]
        kept = [fmean(worth[min(round(share / 10 * len(by)), len(by) - 1) :]) for share in range(10)]
        return sum((a + b) / 20 for a, b in pairwise(kept))

    flat = 0.9 * fmean(metric)
    return (area(predicted) - flat) / (area(metric) - flat)


def nauc(predicted: list[float], metric: list[float]) -> float | None:
    df = pl.DataFrame({"query_id": range(len(metric)), "score": 1.0, "label": 1, "x": predicted, "y": metric})
    found = df.rank.collection.difficulty("value:x", of="value:y", resamples=99).filter(correlation="nauc")
    value: float | None = found["value"].item()
    return value


def test_abstention_is_worth_1_by_the_metric_itself_and_0_if_it_tells_nothing() -> None:
    metric = [0.1, 0.9, 0.4, 0.4, 1.0]
    assert nauc([x * 7 + 2 for x in metric], metric) == pytest.approx(1)
    assert nauc([1.0, 1.0, 2.0, 2.0], [0.0, 1.0, 0.0, 1.0]) == pytest.approx(
        0, abs=1e-12
    )  # each half has a mean of 1/2
    assert (nauc([-x for x in metric], metric) or 0) < 0
    # of two queries, the better one is left for 30 per cent on (0.25 x 2 is 0 by Python's rounding): 2 areas of 3/4
    assert nauc([1.0, 2.0], [1.0, 0.0]) == pytest.approx(-1)


def test_the_number_of_queries_that_are_left_out_is_rounded() -> None:
    """Of 9 queries, 0.1 to 0.9 of which are 0.9 to 8.1: 1, 2, 3, 4, 4, 5, 6, 7 and 8, and not one less of each."""
    predicted, metric = [3.0, 1.0, 4.0, 1.5, 5.0, 9.0, 2.0, 6.0, 7.0], [0.1, 0.7, 0.2, 0.9, 0.3, 0.8, 0.5, 0.4, 1.0]
    assert nauc(predicted, metric) == pytest.approx(abstained(predicted, metric), rel=1e-12)


def test_correlations_are_those_of_scipy() -> None:
    found = SCORED.rank.collection.difficulty("wig@3", "sigma_max", of="ndcg@5", resamples=199)
    per_query = SCORED.rank.evaluate("wig@3", "sigma_max", "ndcg@5").drop_nulls()
    functions = {"pearson": stats.pearsonr, "spearman": stats.spearmanr, "kendall": stats.kendalltau}
    assert found["predictor"].to_list() == ["wig@3"] * 4 + ["sigma_max"] * 4
    for row in found.iter_rows(named=True):
        if row["correlation"] == "nauc":
            wanted = abstained(per_query[row["predictor"]].to_list(), per_query["ndcg@5"].to_list()), None
            assert row["value"] == pytest.approx(wanted[0], rel=1e-9)
            assert row["p_value"] is None
            assert row["ci_low"] <= row["value"] <= row["ci_high"] <= 1
            continue
        wanted = functions[row["correlation"]](per_query[row["predictor"]], per_query["ndcg@5"])
        assert (row["value"], row["p_value"]) == pytest.approx((wanted[0], wanted[1]), rel=1e-9)
        assert row["ci_low"] <= row["value"] <= row["ci_high"]
        assert row["n_queries"] == len(per_query)
    shuffled = SCORED.sample(fraction=1.0, shuffle=True, seed=3).rank.collection.difficulty(
        "wig@3", "sigma_max", of="ndcg@5", resamples=199
    )
    assert_frame_equal(shuffled, found, rel_tol=1e-9)
    assert_frame_equal(
        SCORED.lazy().rank.collection.difficulty("wig@3", "sigma_max", of="ndcg@5", resamples=199).collect(),
        found,
        rel_tol=1e-9,
    )


def test_the_interval_of_a_linear_correlation_is_nearly_fishers() -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=200)
    df = pl.DataFrame(
        {"query_id": range(200), "score": 1.0, "label": 1, "x": x, "y": 0.6 * x + 0.8 * rng.normal(size=200)}
    )
    row = df.rank.collection.difficulty("value:x", of="value:y", resamples=499).row(0, named=True)
    ends = np.tanh(np.arctanh(row["value"]) + np.array([-1.96, 1.96]) / 197**0.5)
    assert [row["ci_low"], row["ci_high"]] == pytest.approx(ends, abs=0.03)


@pytest.mark.nightly
def test_intervals_hold_a_known_correlation() -> None:
    rng, held = np.random.default_rng(0), 0
    for seed in range(60):
        x = rng.normal(size=80)
        y = 0.6 * x + 0.8 * rng.normal(size=80)
        df = pl.DataFrame({"query_id": range(80), "score": 1.0, "label": 1, "x": x, "y": y})
        row = df.rank.collection.difficulty("value:x", of="value:y", resamples=199, seed=seed).row(0, named=True)
        held += row["ci_low"] <= 0.6 <= row["ci_high"]
    assert held >= 51


def test_equal_values_and_few_queries_have_no_correlation() -> None:
    one = DF.head(1).rank.collection.difficulty("wig", of="rr", resamples=9 + 90)
    assert one["value"].to_list() == one["ci_low"].to_list() == [None] * 4
    equal = SCORED.with_columns(label=1).rank.collection.difficulty("value:c", of="value:label", resamples=99)
    assert equal["value"].to_list() == [None] * 4


def test_one_metric_is_predicted() -> None:
    with pytest.raises(rf.InvalidOption, match="names 2 metrics; predict one of them"):
        SCORED.rank.collection.difficulty("wig", of="ndcg, map")
