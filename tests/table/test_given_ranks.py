"""Ranks that count as they are given: `on(rank=..., ranks="as_given")`."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

import rankframe as rf
from tests.support.calls import ALL, spell
from tests.support.each import each
from tests.support.tables import ANY_TOP_GRADE

pytestmark = pytest.mark.filterwarnings("ignore:1 of 30 queries have no judgments:rankframe.RankframeWarning")

ALONE = pl.DataFrame({"query_id": ["q"], "doc_id": ["a"], "rank": [9], "label": [1]})
GIVEN = {"rank": "rank", "ranks": "as_given"}


def with_gaps() -> pl.DataFrame:
    """Queries of which each rank from 1 to 12 has a document or not, and of which some relevant ones were not retrieved."""
    draws, rows = random.Random(5), []
    for query in range(30):
        ranks = draws.sample(range(1, 13), draws.randint(0, 7))
        labels = [draws.choice([0, 0, 1, 2, None]) for _ in ranks]
        rows += [(query, f"d{rank}", rank, label) for rank, label in zip(ranks, labels, strict=True)]
        rows += [(query, f"m{i}", None, draws.choice([0, 1, 2])) for i in range(draws.randint(not ranks, 2))]
    return pl.DataFrame(rows, ["query_id", "doc_id", "rank", "label"], orient="row")


GAPS = with_gaps()


def filled(df: pl.DataFrame) -> pl.DataFrame:
    """The rows, with a document that nobody judged at each rank that is left out above the last one."""
    there = df.group_by("query_id").agg(pl.int_ranges(1, pl.col("rank").max() + 1).alias("rank"))
    places = there.explode("rank").drop_nulls().select("query_id", "rank")
    others = places.join(df, on=["query_id", "rank"], how="anti").with_columns(doc_id=pl.format("x{}", "rank"))
    return pl.concat([df, others], how="diagonal_relaxed")


def cut(df: pl.DataFrame, k: int | None) -> pl.DataFrame:
    """The rows, where documents below rank k were not retrieved, and have the label 0 if nobody judged them, but the query."""
    if k is None:
        return df
    within = pl.col("rank") <= k
    is_judged = pl.col("label").count().over("query_id") > 0
    label = pl.when(within | ~is_judged).then("label").otherwise(pl.col("label").fill_null(0))
    return df.with_columns(label.alias("label"), pl.when(within).then("rank").alias("rank"))


def equal(found: list[Any], wanted: list[Any]) -> bool:
    """Whether two columns hold the same, up to rounding."""
    differing = [pair for pair in zip(found, wanted, strict=True) if pair[0] != pair[1]]
    return all(isinstance(x, float) and isinstance(y, float) and math.isclose(x, y, abs_tol=1e-9) for x, y in differing)


ALONG_THE_LIST = {
    "average_recall", "first_rank", "last_rank", "mean_rank", "median_rank", "mean_percentile_rank", "ndcg_rel", "rndcg",
    "q_measure", "rbp_residual", "rbp_resid", "sigma_max",
}  # fmt: skip
"""The metrics that take a rank for a number of documents."""
COUNTS = {
    "auc", "bin_g", "f1", "f_beta", "fall_out", "false_positives", "g", "jaccard", "judged", "mcc", "mean_label", "nqc",
    "num_retrieved", "ordered_pair_accuracy", "pairwise_accuracy", "precision", "ranking_loss", "relstring",
    "set_average_precision", "true_negatives", "unj", "utility", "wig",
}  # fmt: skip
"""The metrics of which a value may depend on the number of retrieved documents."""


DIVIDED_BY_COUNTS = ("as_many", "min(n,R)")
"""Divisors of sums over ranks that count the retrieved documents."""


def is_divided_by_a_count(options: dict[str, Any]) -> bool:
    """Whether ranks that are left out change the sum as documents do, and its divisor as none."""
    by_length = options.get("divisor") == "k" and "k" not in options
    return by_length or not {*DIVIDED_BY_COUNTS}.isdisjoint(map(str, options.values()))


def test_divisors_that_count_documents_count_those_of_the_list() -> None:
    two = pl.concat([ALONE, ALONE.with_columns(doc_id=pl.lit("b"), rank=None)])
    texts = ["ndcg(ideal=as_many)", "map(divisor='min(n,R)')", "map(divisor=k)", "precision"]
    assert two.rank.on(**GIVEN).evaluate(*texts).row(0)[1:] == pytest.approx((1 / math.log2(10), 1 / 9, 1 / 9, 1))


@ANY_TOP_GRADE
@each(("name", "options"), [call for call in ALL if not is_divided_by_a_count(call[1])])
def test_a_rank_that_is_left_out_counts_as_a_document_that_nobody_judged_or_none(
    name: str, options: dict[str, Any]
) -> None:
    text = spell(name, options)
    canonical = rf.parse(text)[0].metric.name

    def values(df: pl.DataFrame, **ranks: str) -> list[Any]:
        found = df.rank.on(rank="rank", **ranks).evaluate(text)
        return found.sort("query_id")[text].to_list()

    if (canonical in ALONG_THE_LIST and options.get("at") != "relevant") or options.get("residual"):
        with pytest.raises(rf.InvalidOption, match="ranks as given may leave numbers out"):
            values(GAPS, ranks="as_given")
        return
    found = values(GAPS, ranks="as_given")
    if equal(found, values(filled(GAPS))):
        return
    assert canonical in COUNTS
    assert equal(found, values(cut(GAPS, options.get("k")))), "the documents down to the cutoff"


def expressions(texts: list[str]) -> list[pl.Expr]:
    """The metrics as expressions."""
    ranker = rf.expr.on(**GIVEN)
    calls = [rf.parse(text)[0] for text in texts]
    return [getattr(ranker, call.metric.formula.__name__)(**call.arguments) for call in calls]


FORMS: dict[str, Callable[[pl.DataFrame, list[str]], Any]] = {
    "eager": lambda df, texts: df.rank.on(**GIVEN).evaluate(*texts),
    "lazy": lambda df, texts: df.lazy().rank.on(**GIVEN).evaluate(*texts).collect(),
    "on disk": lambda df, texts: df.lazy().rank.on(**GIVEN, memory_limit=1).evaluate(*texts).collect(),
    "pandas": lambda df, texts: pl.from_pandas(df.to_pandas().rank.on(**GIVEN).evaluate(*texts).reset_index()),
    "agg": lambda df, texts: df.group_by("query_id").agg(expressions(texts)),
    "over": lambda df, texts: df.select("query_id", *(x.over("query_id") for x in expressions(texts))).unique(),
}  # fmt: skip
TEXTS = ["rr", "rr@5", "precision@10", "map", "dcg@10"]


@each("form", FORMS)
def test_a_document_at_rank_9_is_at_rank_9_in_every_form(form: str) -> None:
    found = FORMS[form](ALONE, TEXTS).select(TEXTS).row(0)
    assert found == pytest.approx((1 / 9, 0, 1 / 10, 1 / 9, 1 / math.log2(10)))


@each("form", [form for form in FORMS if form != "eager"])
def test_all_forms_give_the_values_of_the_frame(form: str) -> None:
    texts = ["rr@5", "map", "ndcg@10", "precision(divisor='min(k,n)')@5", "partial_auc@3", "err(max_label=2)", "bpref"]
    columns = [rf.parse(text)[0].text for text in texts]
    found, wanted = (FORMS[x](GAPS, texts).sort("query_id").select("query_id", *columns) for x in (form, "eager"))
    for column in columns:
        assert found[column].to_list() == pytest.approx(wanted[column].to_list(), abs=1e-12), column


def test_ranks_are_shown_as_given_and_depth_cuts_at_them() -> None:
    df = pl.DataFrame({"query_id": 1, "doc_id": list("abc"), "rank": [7, 2, None], "label": [1, 0, 1]})
    ranker = df.rank.on(**GIVEN)
    assert ranker.with_ranks("place")["place"].to_list() == [7, 2, None]
    assert ranker.curve("precision").select("doc_id", "rank", "precision").rows() == [("b", 2, 0), ("a", 7, 1 / 7)]
    assert ranker.explain("rr").select("doc_id", "new_rank", "rr").rows() == [
        ("b", 2, 0),
        ("a", 7, 1 / 7),
        ("c", None, 0),
    ]
    assert ranker.on(depth=6).recall().row(0) == (1, 0.0)
    assert ranker.on(depth=7).recall().row(0) == (1, 0.5)


def test_the_order_is_the_default_and_comes_back_with_a_score() -> None:
    with pytest.warns(rf.RankframeWarning, match=r"leave numbers out.*on\(rank='rank', ranks='as_given'\)"):
        assert ALONE.rank.on(rank="rank").rr()["rr"].item() == 1
    assert ALONE.rank.on(rank="rank", ranks="order").rr()["rr"].item() == 1
    scored = ALONE.with_columns(score=0.25)
    assert scored.rank.on(**GIVEN).on(score="score").rr()["rr"].item() == 1


def test_rectools_takes_ranks_as_given_and_scores_in_their_order() -> None:
    assert ALONE.rank.on(rank="rank", convention="rectools").mean("MRR@10").item() == pytest.approx(1 / 9)
    scored = ALONE.with_columns(score=0.25)
    assert scored.rank.on(convention="rectools").mean("MRR@10").item() == 1
    assert ALONE.rank.on(rank="rank", convention="rectools", ranks="order").mean("MRR@10").item() == 1


def test_runs_that_are_fused_are_ranked_anew() -> None:
    df = pl.DataFrame({"query_id": 1, "doc_id": ["a", "b"], "one": [9, 4], "two": [8, 5], "label": [0, 1]})
    ranker = df.rank.on(rank="one", ranks="as_given")
    assert ranker.fuse("rrf", runs=["one", "two"]).rank.rr()["rr"].item() == 1
    assert ranker.agreement("two", "kendall_tau")["kendall_tau"].item() == 1


@each("form", [form for form in FORMS if form != "over"])
@each(
    ("ranks", "says"),
    [
        ([0, 1], "holds a rank that is no whole number from 1"),
        ([1.5, 1], "holds a rank that is no whole number from 1"),
        ([-3, 1], "holds a rank that is no whole number from 1"),
        ([2**32, 1], "holds a rank that is no whole number from 1"),
        ([2, 2], "share a rank in column 'rank'"),
    ],
)
def test_ranks_are_whole_from_1_on_and_differ_within_a_query(form: str, ranks: list[float], says: str) -> None:
    df = pl.DataFrame({"query_id": 1, "doc_id": ["a", "b"], "rank": ranks, "label": [1, 0]}, strict=False)
    errors = (rf.InvalidData, pl.exceptions.InvalidOperationError)
    with pytest.raises(errors, match=says):
        FORMS[form](df, ["rr"])


def test_queries_may_have_the_same_ranks() -> None:
    df = pl.concat([ALONE, ALONE.with_columns(query_id=pl.lit("p"))])
    assert df.rank.on(**GIVEN).rr()["rr"].to_list() == [1 / 9, 1 / 9]


@each(
    ("options", "says"),
    [
        ({"ranks": "as_given"}, "is of a column of ranks; name it, as in df.rank.on"),
        ({**GIVEN, "unjudged": "drop"}, "unjudged='drop' numbers the documents of a list anew"),
        ({**GIVEN, "unjudged": "bounds"}, "unjudged='bounds' numbers the documents of a list anew"),
        ({**GIVEN, "ties": "expected"}, "ties='expected' numbers the documents of a list anew"),
        ({"rank": "rank", "ranks": "gaps"}, "write one of 'order', 'as_given'"),
    ],
)
def test_policies_that_number_anew_are_refused(options: dict[str, Any], says: str) -> None:
    with pytest.raises(rf.InvalidOption, match=says):
        ALONE.rank.on(**options)
