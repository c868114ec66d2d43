"""The call of a number says once what changes it: a ranking upside down, a join that lost rows, labels left out."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import rankframe as rf
from rankframe.__main__ import main
from rankframe._table.figures import Figures
from rankframe._table.findings import ENOUGH_QUERIES, LEAST_AUC, STANDARD_ERRORS
from rankframe._table.setup import Setup
from tests.support.each import each

QUIET = {"progress": False, "resamples": 99}
FORMS: dict[str, Callable[[pl.DataFrame], Any]] = {
    "polars": lambda df: df.rank,
    "pandas": lambda df: df.to_pandas().rank,
    "lazy": lambda df: df.lazy().rank,
}
IN_PARTS: dict[str, Callable[[pl.DataFrame], Any]] = {
    "spilled": lambda df: df.lazy().rank.on(memory_limit=9_000),  # of 14,000 bytes
    "grouped": lambda df: df.lazy().rank.on(grouped=True, memory_limit=9_000),
}
ALL_FORMS = FORMS | IN_PARTS


def warned(ask: Callable[[], Any]) -> list[str]:
    """The warnings of a call, a lazy result collected; each shows a line of this file."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = ask()
        if isinstance(found, pl.LazyFrame):
            found.collect()
    assert {warning.filename for warning in caught} <= {__file__}
    return [str(warning.message) for warning in caught]


def table(queries: int = 40, docs: int = 10, *, seed: int = 0, lift: float = 3.0, share: float = 0.3) -> pl.DataFrame:
    """Queries with binary labels, and scores that are higher by `lift` for relevant documents."""
    rng = np.random.default_rng(seed)
    label = (rng.random(queries * docs) < share).astype(int)
    return pl.DataFrame(
        {
            "query_id": np.repeat(np.arange(queries), docs),
            "doc_id": [f"d{i}" for i in range(queries * docs)],
            "score": rng.normal(size=queries * docs) + lift * label,
            "label": label,
        }
    )


GOOD = table()
ALL_METRICS = ("ndcg@10", "map", "rr", "precision@5", "recall@5", "hit_rate@1")


# ------------------------------------------------------------------------------------------------- a ranking upside down


@each("form", ALL_FORMS)
def test_labels_that_clearly_fall_as_scores_rise_are_a_warning_with_the_line_to_write(form: str) -> None:
    upside_down = GOOD.with_columns(-pl.col("score"))
    (said,) = warned(lambda: ALL_FORMS[form](upside_down).evaluate(*ALL_METRICS))
    assert said.startswith("documents with higher labels stand lower (mean AUC 0.0")
    assert "say df.rank.on(ascending=True) (it concerns ndcg@10)" in said
    assert not warned(lambda: ALL_FORMS[form](upside_down).on(score="score", ascending=True).evaluate(*ALL_METRICS))
    (said,) = warned(lambda: ALL_FORMS[form](GOOD).on(ascending=True).evaluate("rr"))
    assert "say df.rank.on(ascending=False)" in said


@each("name", ["rank", "position", "distance", "l2_distance", "Dist", "bm25 rank"])
def test_a_score_called_a_rank_or_a_distance_whose_greatest_is_the_best_is_a_warning(name: str) -> None:
    ranks = pl.DataFrame({"query_id": [1] * 3, "doc_id": list("abc"), name: [1.5, 2, 3], "label": [1, 0, 0]})
    (said,) = warned(lambda: ranks.rank.on(score=name).mean("map"))
    turned = f"rank={name!r}" if "ank" in name or name == "position" else f"score={name!r}, ascending=True"
    assert f"say df.rank.on({turned})" in said
    option = {"rank": name} if "ank" in name or name == "position" else {"score": name, "ascending": True}
    assert not warned(lambda: ranks.rank.on(**option).mean("map"))
    assert not warned(lambda: ranks.rank.on(score=name, ascending=False).mean("map"))
    whole = ranks.with_columns(pl.col(name).floor())
    (said,) = warned(lambda: whole.rank.on(score=name).mean("map"))
    assert said.startswith("the scores of each query are 1, 2 and so on")


def test_a_rank_or_a_distance_that_was_negated_and_a_score_of_another_name_are_none() -> None:
    for name, scores in (("distance", [-0.5, -0.2]), ("page_rank", [0.25, 0.75]), ("rank_score", [1.0, 2.0])):
        df = pl.DataFrame({"query_id": [1, 1], "doc_id": ["a", "b"], name: scores, "label": [1, 0]})
        assert not warned(lambda df=df, name=name: df.rank.on(score=name).mean("map"))  # type: ignore[misc]


def test_a_number_that_the_direction_does_not_change_comes_without_a_warning() -> None:
    upside_down = GOOD.with_columns(-pl.col("score"))
    assert not warned(lambda: upside_down.rank.evaluate("num_relevant", "recall", "precision"))
    assert not warned(lambda: upside_down.with_columns(other=pl.col("score")).rank.agreement("other", "tau"))


def test_the_mean_auc_of_a_check_is_the_share_of_pairs_in_order() -> None:
    """By hand over all pairs of a document of a higher and one of a lower label; a tie counts one half."""
    rng = np.random.default_rng(5)
    df = pl.DataFrame({"query_id": np.repeat([1, 2, 3], 7), "doc_id": range(21), "score": rng.integers(0, 4, 21)})
    df = df.with_columns(label=pl.Series(rng.integers(0, 2, 21)))
    shares = []
    for _, query in df.group_by("query_id"):
        high, low = query.filter(label=1)["score"], query.filter(label=0)["score"]
        shares.append(np.mean([1.0 if x > y else 0.5 if x == y else 0.0 for x in high for y in low]))
    found = Figures(df, Setup())
    assert found["auc"] / found["ordered"] == pytest.approx(np.mean(shares), rel=1e-12)


def test_chance_turns_no_ranking_upside_down() -> None:
    """Fewer than one random ranker in 1,000 warns, by NumPy; of one of them, the figures are those of the package."""
    rng, tables = np.random.default_rng(2), 5_000
    for queries, docs in ((10, 5), (10, 20), (20, 10), (40, 2)):
        label = rng.random((tables, queries, docs)) < 0.3
        rank = rng.random(label.shape).argsort(axis=-1).argsort(axis=-1) + 1
        best = label.sum(axis=-1)
        with np.errstate(all="ignore"):
            auc = ((rank * label).sum(axis=-1) - best * (best + 1) / 2) / (best * (docs - best))
            chance = np.where(np.isfinite(auc), (docs + 1) / (12 * best * (docs - best)), 0).sum(axis=-1)
            n, mean = np.isfinite(auc).sum(axis=-1), np.nanmean(auc, axis=-1)
            error = np.sqrt(np.maximum(np.nanvar(auc, axis=-1, ddof=1) * n, chance)) / n
        alarms = (n >= ENOUGH_QUERIES) & (mean < LEAST_AUC) & (mean + STANDARD_ERRORS * error < 0.5)
        assert alarms.sum() < tables / 1_000
        first = {"query_id": np.repeat(np.arange(queries), docs), "score": rank[0].ravel(), "label": label[0].ravel()}
        df = pl.DataFrame(first).with_columns(pl.col("label").cast(pl.Int64))
        found = Figures(df, Setup())
        assert (found["ordered"], found["auc"] / found["ordered"]) == (n[0], pytest.approx(mean[0]))
        assert found["standard error"] == pytest.approx(error[0])


# --------------------------------------------------------------------------------------------------- joins and labels


@each("form", FORMS)
def test_an_inner_join_with_the_positives_is_a_warning(form: str) -> None:
    positives = GOOD.filter(label=1)
    (said,) = warned(lambda: FORMS[form](positives).evaluate(*ALL_METRICS))
    assert said.startswith("every row has a score and a label of 1 or more")
    assert "as after an inner join; df.rank.judge(qrels) keeps the other documents (it concerns" in said
    run, qrels = GOOD.drop("label"), positives.select("query_id", "doc_id", "label")
    assert not warned(lambda: run.rank.judge(qrels, run_only="drop").rank.evaluate(*ALL_METRICS))


def test_ratings_that_are_all_relevant_are_a_warning_of_the_threshold_where_it_counts() -> None:
    ratings = GOOD.with_columns(label=1 + pl.col("label") * 4)
    (said,) = warned(lambda: ratings.rank.mean("ndcg@10", "map"))
    assert said.startswith("every row has a score and a label of 1 or more")
    assert "if labels are ratings, say the least that is relevant, as df.rank.on(relevant=5) (it" in said
    assert "concerns map" in said
    assert not warned(lambda: ratings.rank.mean("ndcg@10", "dcg"))
    assert not warned(lambda: ratings.rank.on(relevant=4).mean("map"))
    assert not warned(lambda: ratings.rank.on(relevant=0).mean("map"))  # as was said


@each("form", ALL_FORMS)
def test_labels_that_are_all_null_are_a_warning_when_the_plan_runs(form: str) -> None:
    unjudged = GOOD.with_columns(label=pl.lit(None, pl.Int64))
    asked = ALL_FORMS[form](unjudged)
    (said,) = warned(lambda: asked.evaluate("map", "ndcg@10"))
    assert said.startswith("nobody judged a document: column 'label' is null in all 400 rows")
    some = unjudged.with_columns(label=pl.when(pl.col("doc_id") == "d399").then(1))
    (said,) = warned(lambda: ALL_FORMS[form](some).evaluate("map"))
    assert said.startswith("39 of 40 queries have no judgments")


@each("form", FORMS)
def test_labels_between_0_and_1_of_which_most_are_left_out_are_a_warning(form: str) -> None:
    grades = GOOD.with_columns(label=pl.col("label") * 0.6 + 0.2)
    (said,) = warned(lambda: FORMS[form](grades).evaluate("ndcg@10", "map"))
    assert said.startswith("labels between 0 and 1 are not relevant under relevant=1; say the least")
    assert "as df.rank.on(relevant=0.5) (it concerns map)" in said
    assert not warned(lambda: FORMS[form](grades).evaluate("ndcg@10", "dcg@5", "precision(relevant=0.5)@5"))
    assert not warned(lambda: FORMS[form](grades).on(relevant=0.5).evaluate("map"))
    few = grades.with_columns(label=pl.when(pl.col("label") > 0.5).then(1.0).otherwise(0.0))
    few = few.with_columns(label=pl.when(pl.col("doc_id") == "d0").then(0.5).otherwise("label"))
    assert not warned(lambda: FORMS[form](few).evaluate("map"))


@each("form", FORMS)
def test_scores_that_are_all_equal_are_a_warning_where_a_rule_for_ties_decides(form: str) -> None:
    constant = GOOD.with_columns(score=pl.lit(math.inf))
    (said,) = warned(lambda: FORMS[form](constant).evaluate("ndcg@10"))
    assert said.startswith("all values of column 'score' are equal")
    assert "df.rank.on(ties='expected')" in said
    for ties in ("expected", "order", "best", "worst"):
        assert not warned(lambda ties=ties: FORMS[form](constant).on(ties=ties).evaluate("ndcg@10"))  # type: ignore[misc]
    assert not warned(lambda: FORMS[form](constant).evaluate("num_relevant"))
    assert not warned(lambda: FORMS[form](GOOD.with_columns(score=pl.col("score").round(1))).evaluate("ndcg@10"))


RATES = table().with_columns(label=pl.col("label") * 0.25)  # such as shares of clicks


@each("form", ALL_FORMS)
def test_labels_none_of_which_reaches_the_threshold_are_a_warning(form: str) -> None:
    (said,) = warned(lambda: ALL_FORMS[form](RATES).evaluate("ndcg@10", "map"))
    assert said == (
        "no document of any query is relevant: labels go from 0 to 0.25 and relevant=1; say the least label that is relevant, "
        "as df.rank.on(relevant=0.12) (it concerns map)"
    )
    assert not warned(lambda: ALL_FORMS[form](RATES).evaluate("ndcg@10", "dcg", "precision(relevant=0.25)@5"))
    assert not warned(lambda: ALL_FORMS[form](RATES).on(relevant=0.12).evaluate("map"))
    one = RATES.with_columns(label=pl.when(pl.col("doc_id") == "d399").then(1.0).otherwise("label"))
    assert not warned(lambda: ALL_FORMS[form](one).evaluate("map"))


@each("labels", ["zero", "negated", "some null", "a high threshold"])
def test_labels_that_are_all_low_are_a_warning_under_each_policy(labels: str) -> None:
    tables = {
        "zero": pl.lit(0),
        "negated": -pl.col("label"),
        "some null": pl.when(~pl.col("doc_id").str.ends_with("9")).then(0),
        "a high threshold": pl.col("label") * 2,
    }
    low, relevant = GOOD.with_columns(label=tables[labels]), 3 if labels == "a high threshold" else 1
    says = "labels go from 0 to 2 and relevant=3" if relevant == 3 else "no label is above 0"
    assert not warned(lambda: low.rank.on(relevant=relevant, no_relevant="null").mean("map"))  # which is null
    for no_relevant in ("zero", "one"):
        ranker = low.rank.on(relevant=relevant, no_relevant=no_relevant)
        (said,) = warned(lambda ranker=ranker: ranker.mean("map", "hit_rate@5"))  # type: ignore[misc]
        assert said.startswith(f"no document of any query is relevant: {says}")
    gains = warned(lambda: low.rank.on(relevant=relevant).evaluate("ndcg@10"))
    assert len(gains) == (relevant == 1)
    few, more = (low.tail(n).rank.on(relevant=relevant) for n in (19, 20))
    assert not warned(lambda: few.mean("map"))  # these may well have no other labels
    assert len(warned(lambda: more.mean("map"))) == 1


@each("form", FORMS)
def test_a_gate_refuses_a_table_in_which_nothing_was_measured(form: str) -> None:
    two = {"runs": ["score", "other"], **QUIET}
    for label, says in (
        (pl.lit(0), "no document of any query is relevant: no label is above 0"),
        (pl.lit(None, pl.Float64), "nobody judged a document"),
        (pl.col("label") * 0.25, "no document of any query is relevant: labels go from 0 to 0.25"),
    ):
        low = GOOD.with_columns(label=label, other=-pl.col("score"))
        with pytest.raises(rf.InvalidData, match=says):
            FORMS[form](low).gate({"map": 0.1}, **two)
        with pytest.raises(rf.InvalidData, match=says):  # though no query has a value
            FORMS[form](low).on(no_relevant="null").gate({"map": 0.1}, **two)
        assert len(warned(lambda low=low: FORMS[form](low).compare("map", **two))) == 1  # type: ignore[misc]
        tuned = partial(FORMS[form](low).tune, ["comb_sum", "comb_mnz"], metric="map", folds=2, **two)
        assert any(says in text for text in warned(tuned))
    rates = GOOD.with_columns(label=pl.col("label") * 0.25, other=pl.col("score") * 2)
    assert not warned(lambda: FORMS[form](rates).gate({"ndcg@10": 0.1}, **two))  # its gains are the labels


@each("form", FORMS)
def test_a_gate_refuses_a_slice_in_which_nothing_was_measured(form: str) -> None:
    rows = GOOD.with_columns(other=pl.col("score") * 2, part=pl.col("query_id").cast(pl.String).str.tail(1) < "5")
    low = rows.with_columns(label=pl.when("part").then("label").otherwise(0))
    with pytest.raises(rf.InvalidData, match=r"no label is above 0 \(it concerns map of part False\)"):
        FORMS[form](low).gate({"map": 0.1}, runs=["score", "other"], by="part", **QUIET)
    assert not warned(lambda: FORMS[form](rows).gate({"map": 0.1}, runs=["score", "other"], by="part", **QUIET))


# ------------------------------------------------------------------------------------------------------------- equal scores


def pairs_tied(queries: int = 10, docs: int = 10, place: int = 1) -> pl.DataFrame:
    """Queries with one relevant document, which shares a score with another one; as many documents above them as are before `place`."""
    score = [docs - i for i in range(docs)]
    score[place] = score[place - 1]
    label = [int(i == place) for i in range(docs)]
    return pl.DataFrame(
        {
            "query_id": np.repeat(np.arange(queries), docs),
            "doc_id": [f"d{9999 - i}" for i in range(queries * docs)],
            "score": np.tile(score, queries) + 0.0,
            "label": label * queries,
        }
    )


@each("form", ALL_FORMS)
def test_ties_that_could_change_a_mean_are_a_warning_with_its_range(form: str) -> None:
    """By hand: the relevant document is the first or the second of its query."""
    (said,) = warned(lambda: ALL_FORMS[form](pairs_tied()).evaluate("precision@5", "rr"))
    assert said == (
        "20% of documents are tied with one of another label: rr is between 0.50 and 1.00 by their order; the mean over all "
        "orders is that of df.rank.on(ties='expected') (it concerns rr)"
    )
    assert not warned(lambda: ALL_FORMS[form](pairs_tied()).evaluate("precision@5", "recall", "num_relevant"))
    for ties in ("expected", "best", "worst", "doc_desc", "order", "last"):
        assert not warned(lambda ties=ties: ALL_FORMS[form](pairs_tied()).on(ties=ties).evaluate("rr"))  # type: ignore[misc]


def test_ties_under_a_depth_which_has_no_mean_over_all_orders_come_with_another_rule() -> None:
    (said,) = warned(lambda: pairs_tied().rank.on(depth=5).mean("rr"))
    assert "rr is between 0.50 and 1.00 by their order; say how they stand, as df.rank.on(ties='worst')" in said
    assert not warned(lambda: pairs_tied().rank.on(depth=5, ties="worst").mean("rr"))


def test_ties_that_are_few_or_change_little_come_without_a_warning() -> None:
    """Of 20 documents, two are a tenth; 1/6 - 1/7 is above 0.02, and 1/7 - 1/8 is below."""
    assert len(warned(lambda: pairs_tied(docs=20).rank.mean("rr"))) == 1
    assert not warned(lambda: pairs_tied(docs=21).rank.mean("rr"))
    assert len(warned(lambda: pairs_tied(place=6).rank.mean("rr"))) == 1
    assert not warned(lambda: pairs_tied(place=7).rank.mean("rr"))
    assert not warned(lambda: pairs_tied(queries=9).rank.mean("rr"))
    assert not warned(lambda: pairs_tied().rank.on(convention="sklearn").mean("ndcg"))  # the tool's rule, as was said


def test_the_range_of_many_rows_is_that_of_the_first_queries() -> None:
    many = pairs_tied(queries=4_000)
    (said,) = warned(lambda: many.rank.mean("rr"))
    assert "20% of documents are tied with one of another label: rr of the first 400 queries is between 0.50" in said


@each("form", FORMS)
def test_one_score_that_stands_for_null_is_a_warning(form: str) -> None:
    run = GOOD.with_columns(score=pl.when(pl.col("doc_id").str.contains("[1357]$")).then(None).otherwise("score"))
    filled = run.with_columns(pl.col("score").fill_null(0))
    assert not warned(lambda: FORMS[form](run).evaluate("map"))
    (said,) = warned(lambda: FORMS[form](filled).evaluate("precision@5", "map"))
    assert said.startswith("40% of values of column 'score' are 0: null means not retrieved; if these documents were")
    assert not warned(lambda: FORMS[form](filled).on(ties="expected").evaluate("map"))
    below = run.with_columns(pl.col("score").fill_null(-99))
    (said,) = warned(lambda: FORMS[form](below).evaluate("recall"))
    assert said.startswith("40% of values of column 'score' are -99: null means")
    few = GOOD.with_columns(score=pl.when(pl.col("doc_id").str.ends_with("7")).then(0.0).otherwise("score"))
    assert not warned(lambda: FORMS[form](few).evaluate("map"))  # one of each query, which is tied with none


def test_predictions_of_a_class_are_ties_and_not_one_value_for_null() -> None:
    classes = GOOD.with_columns(score=(pl.col("score") > 1).cast(pl.Int64))
    for column in (pl.col("score"), pl.col("score") == 1):
        (said,) = warned(lambda column=column: classes.with_columns(score=column).rank.mean("ndcg@5"))  # type: ignore[misc]
        assert "of documents are tied with one of another label: ndcg@5 is between" in said


# ------------------------------------------------------------------------------------------------- documents that a join lost


POOL = table(40, 30, seed=4, lift=1.0, share=0.2).with_columns(
    label=pl.when(pl.col("doc_id").str.contains("[0-5]$")).then("label")
)
POOLED_RUN = POOL.filter(pl.col("score").rank("ordinal", descending=True).over("query_id") <= 12).drop("label")
POOLED_QRELS = POOL.filter(pl.col("label").is_not_null()).drop("score")
KEY = ["query_id", "doc_id"]


@each("form", ALL_FORMS)
@each("metric", ["recall@5", "map", "r_precision", "bpref", "f1@5", "ndcg@5"], sample=max(len(ALL_FORMS), 6))
def test_a_left_join_is_a_warning_to_metrics_that_count_what_was_missed(form: str, metric: str) -> None:
    joined = POOLED_RUN.join(POOLED_QRELS, on=KEY, how="left")
    (said,) = warned(lambda: ALL_FORMS[form](joined).evaluate("precision@5", metric))
    assert "of labels are null and no row lacks a score, as after a left join" in said
    assert "recall is 1 by construction; cut the run first, and join by df.rank.judge(qrels)" in said
    assert said.endswith(f"(it concerns {metric})")
    assert not warned(lambda: ALL_FORMS[form](joined).evaluate("precision@5", "rr", "hit_rate@5", "dcg@5"))
    assert not warned(lambda: ALL_FORMS[form](joined).on(unretrieved="drop").evaluate("map"))  # as was said
    judged = POOLED_RUN.rank.judge(POOLED_QRELS).sort("query_id", maintain_order=True)
    assert not warned(lambda: ALL_FORMS[form](judged).evaluate("recall@5", "map"))
    cut = judged.sort("query_id", "score", descending=[False, True], nulls_last=True)
    cut = cut.group_by("query_id", maintain_order=True).head(8)
    assert len(warned(lambda: ALL_FORMS[form](cut).evaluate("recall@5"))) == 1


def test_nothing_is_lost_where_rankframe_joins_the_judgments_of_one_run_or_the_policy_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = POOLED_RUN.join(POOLED_QRELS, on=KEY)  # what people judged of this run alone
    qrels = own.drop("score")
    joined = POOLED_RUN.rank.judge(qrels)
    (said,) = warned(lambda: joined.rank.mean("recall@5"))  # the same rows as after a left join
    assert "recall is 1 by construction" in said
    assert not warned(lambda: joined.rank.on(unretrieved="missed").mean("recall@5"))
    other = POOLED_RUN.with_columns(score=pl.col("score").round(3))
    for run, of_run in (
        (POOLED_RUN, qrels),
        (POOLED_RUN.to_pandas(), qrels.to_pandas()),
        (POOLED_RUN.lazy(), qrels.lazy()),
    ):
        assert not warned(lambda run=run, of_run=of_run: rf.mean(run, of_run, "recall@5", "map"))  # type: ignore[misc]
    assert not warned(lambda: rf.compare([POOLED_RUN, other], qrels, "recall@5", progress=False))
    assert not warned(lambda: rf.mean(POOLED_RUN, qrels, "recall@5", ties="doc_asc", convention="trec_eval"))
    files = [str(tmp_path / name) for name in ("run.parquet", "qrels.parquet")]
    POOLED_RUN.write_parquet(files[0])
    qrels.write_parquet(files[1])
    assert not main(["evaluate", files[0], "--qrels", files[1], "-m", "recall@5"])
    assert not capsys.readouterr().err


@each("form", ALL_FORMS)
def test_a_left_join_is_a_warning_beside_that_of_queries_that_nobody_judged(form: str) -> None:
    some = POOLED_QRELS.filter(pl.col("query_id").is_in(POOLED_QRELS["query_id"].unique().sort()[:11].to_list()))
    joined = POOLED_RUN.join(some, on=KEY, how="left")
    of_these = joined.filter(pl.col("label").is_not_null().any().over("query_id"))
    said = warned(lambda: ALL_FORMS[form](joined).evaluate("map"))
    share = 100 * of_these["label"].null_count() / of_these.height
    assert sorted(x.partition(" of ")[0] for x in said) == sorted([f"{share:.3g}%", "29"])
    nine = joined.filter(
        pl.col("query_id").is_in(some["query_id"].unique().sort()[:9].to_list()) | pl.col("label").is_null()
    )
    (said,) = warned(lambda: ALL_FORMS[form](nine).evaluate("map"))  # too few to tell
    assert "queries have no judgments" in said


def test_a_left_join_with_what_is_relevant_loses_queries() -> None:
    positives = POOLED_QRELS.filter(label=1)
    one_each = positives.group_by("query_id", maintain_order=True).head(1)
    lost = POOLED_RUN.join(one_each, on=KEY, how="left")
    assert lost.filter(label=1)["query_id"].n_unique() < 36
    unjudged, said = warned(lambda: lost.rank.mean("recall@5"))
    assert "queries have no judgments" in unjudged
    assert "recall is 1 by construction" in said
    everywhere = lost.filter(pl.col("label").is_not_null().any().over("query_id"))  # as of a user's whole catalog
    assert not warned(lambda: everywhere.rank.mean("recall@5"))


def test_tables_that_lack_few_labels_or_are_small_come_without_a_warning() -> None:
    def unlabelled(one_in: int, queries: int = 40) -> pl.DataFrame:
        label = pl.when(pl.int_range(pl.len()) % one_in > 0).then("label")
        return table(queries, 10, share=0.4).with_columns(label=label)

    assert len(warned(lambda: unlabelled(10).rank.mean("map"))) == 1  # a tenth
    assert not warned(lambda: unlabelled(11).rank.mean("map"))
    assert len(warned(lambda: unlabelled(10, queries=10).rank.mean("map"))) == 1
    assert not warned(lambda: unlabelled(10, queries=9).rank.mean("map"))
    fused = unlabelled(10).filter(
        pl.col("query_id") >= pl.int_range(pl.len()).over("query_id") * 3
    )  # the longer, the fewer
    fused = fused.filter(pl.col("label").count().over("query_id") > 0)
    assert not warned(lambda: fused.rank.mean("map"))
    sampled = unlabelled(10).with_columns(drawn=pl.lit(1)).rank.on(stratum="drawn")
    assert not warned(lambda: sampled.mean("xinf_ap", "map"))
    by_query = GOOD.with_columns(label=pl.when(pl.col("query_id") % 2 > 0).then("label"))  # nobody judged the others
    (said,) = warned(lambda: by_query.rank.mean("map"))
    assert said.startswith("20 of 40 queries have no judgments")


def test_judged_queries_that_the_run_lacks_are_a_warning_with_their_number() -> None:
    qrels = GOOD.select("query_id", "doc_id", "label")
    run = GOOD.drop("label").filter(pl.col("query_id") < 10)
    (said,) = warned(lambda: run.rank.judge(qrels))
    assert said.startswith("30 of 40 judged queries are not in the run and count with nothing retrieved; say ")
    assert "judged_only='drop'" in said
    assert "query_id=10" in said
    for option in ("keep", "drop"):
        assert not warned(lambda option=option: run.rank.judge(qrels, judged_only=option))  # type: ignore[misc]
    assert not warned(lambda: GOOD.drop("label").rank.judge(qrels))
    (said,) = warned(lambda: run.to_pandas().rank.judge(qrels.to_pandas()))
    assert said.startswith("30 of 40 judged queries")
    runs = pl.concat([run.with_columns(run=pl.lit(name)) for name in "ab"]).filter(
        (pl.col("run") == "a") | (pl.col("query_id") < 5)
    )
    (said,) = warned(lambda: runs.rank.judge(qrels, run="run"))
    assert said.startswith("65 of 80 judged queries")  # 30 that a lacks, and 35 that b lacks


# ---------------------------------------------------------------------------------------------------------- columns


@each("form", FORMS)
def test_query_and_document_swapped_are_a_warning(form: str) -> None:
    (said,) = warned(lambda: FORMS[form](GOOD).on(query="doc_id", doc="query_id").evaluate("recall@5", "ndcg@10"))
    assert "say df.rank.on(query='query_id', doc='doc_id')" in said
    assert not warned(lambda: FORMS[form](GOOD).on(query="query_id", doc="doc_id").evaluate("recall@5"))


CATEGORIES = ["Action|Comedy", "Comedy|Drama", "Drama", "War|Drama", "Horror|War"]


@each("mark", ["|", ", "])
@each("form", FORMS)
def test_categories_that_share_a_separator_are_a_warning(form: str, mark: str) -> None:
    named = GOOD.with_columns(genres=pl.Series([CATEGORIES[i % 5].replace("|", mark) for i in range(400)]))
    (said,) = warned(lambda: FORMS[form](named).on(category="genres").evaluate("category_diversity@5", "ndcg@10"))
    assert f".str.split('{mark}')" in said
    assert "column 'genres'" in said
    assert "concerns category_diversity@5" in said
    assert not warned(lambda: FORMS[form](named).on(category="genres").evaluate("ndcg@10"))
    split = named.with_columns(pl.col("genres").str.split(mark))
    assert not warned(lambda: FORMS[form](split).on(category="genres").evaluate("category_diversity@5"))


def test_categories_of_items_and_subtopics_are_looked_at_too() -> None:
    items = pl.DataFrame({"doc_id": GOOD["doc_id"], "genres": [CATEGORIES[i % 5] for i in range(400)]})
    ranker = GOOD.rank.on(category="genres", items=items)
    (said,) = warned(lambda: ranker.metrics.category_diversity(k=5))
    assert ".str.split('|')" in said
    assert ranker.check().rows.filter(problem="category with separators").height == 1
    named = GOOD.with_columns(aspects=pl.Series([CATEGORIES[i % 5] for i in range(400)]))
    (said,) = warned(lambda: named.rank.on(subtopic="aspects").alpha_ndcg(k=5))
    assert "each counts as one subtopic" in said
    assert named.rank.on(subtopic="aspects").check().rows["problem"].to_list().count("subtopic with separators") == 1


def test_categories_of_which_few_have_a_separator_or_that_are_few_or_numbers_come_without_one() -> None:
    for values in (["Drama, War", "Comedy", "Action", "Horror"], ["a|b", "c|d"], [1, 2, 3]):
        named = GOOD.with_columns(genres=pl.Series([values[i % len(values)] for i in range(400)]))
        assert not warned(lambda named=named: named.rank.on(category="genres").metrics.category_diversity(k=5))  # type: ignore[misc]


# ------------------------------------------------------------------------------------------------------------ once


def test_one_warning_for_all_metrics_slices_runs_and_parts() -> None:
    upside_down = GOOD.with_columns(
        score=-pl.col("score"), other=-pl.col("score") * 2, day=pl.col("query_id") % 3, run=pl.lit("a")
    )
    two = pl.concat([upside_down, upside_down.with_columns(run=pl.lit("b"), score=pl.col("score") * 2)])
    asks: list[Callable[[], Any]] = [
        lambda: upside_down.rank.mean("map", "rr", by="day"),
        lambda: upside_down.rank.summarize("map", "rr", by="day", **QUIET),
        lambda: upside_down.rank.mean("map", runs=["score", "other"]),
        lambda: upside_down.rank.summarize("map", runs=["score", "other"], **QUIET),
        lambda: two.rank.mean("map", run="run"),
        lambda: upside_down.rank.compare("map", "rr", runs=["score", "other"], **QUIET),
        lambda: upside_down.lazy().rank.compare("map", runs=["score", "other"], **QUIET),
        lambda: upside_down.to_pandas().rank.compare("map", runs=["score", "other"], **QUIET),
        lambda: two.rank.compare("map", run="run", **QUIET),
        lambda: upside_down.rank.with_metrics("map"),
        lambda: upside_down.rank.on(convention="trec_eval9").evaluate("map", "ndcg"),
        lambda: upside_down.lazy().rank.on(memory_limit=9_000).mean("map"),
    ]
    for ask in asks:
        assert len(warned(ask)) == 1


def test_a_run_that_is_upside_down_is_seen_among_others_in_rows_of_their_own() -> None:
    bad = GOOD.with_columns(score=-pl.col("score"), run=pl.lit("bad"))
    runs = pl.concat([GOOD.with_columns(run=pl.lit("good")), bad])
    asks: list[Callable[[], Any]] = [
        lambda: runs.rank.mean("map", run="run"),
        lambda: runs.rank.on(query=["run", "query_id"]).summarize("map", by="run", **QUIET),
        lambda: runs.rank.compare("map", run="run", **QUIET),
    ]
    for ask in asks:
        (said,) = warned(ask)
        assert said.startswith("documents with higher labels stand lower")


def test_a_threshold_that_was_set_is_no_oversight() -> None:
    grades = GOOD.with_columns(label=pl.when(pl.col("doc_id") == "d0").then(1.0).otherwise(pl.col("label") * 0.7))
    assert warned(lambda: grades.rank.mean("map"))
    assert not warned(lambda: grades.rank.on(relevant=1).mean("map"))


def test_popular_answers_of_many_questions_are_no_swapped_columns() -> None:
    rng = np.random.default_rng(0)
    asked = pl.DataFrame({"query_id": [f"q{i}" for i in range(100)], "doc_id": [f"faq{i % 20}" for i in range(100)]})
    asked = asked.with_columns(score=pl.Series(rng.random(100)), label=pl.Series((rng.random(100) < 0.7).astype(int)))
    assert not warned(lambda: asked.rank.mean("hit_rate@1"))


def test_of_several_runs_the_one_that_is_upside_down_is_named() -> None:
    runs = GOOD.with_columns(bad=-pl.col("score"))
    for ask in (
        lambda: runs.rank.compare("map", runs=["score", "bad"], **QUIET),
        lambda: runs.rank.mean("map", runs=["score", "bad"]),
    ):
        (said,) = warned(ask)
        assert "score='bad'" in said


def test_a_suspicion_of_one_part_that_the_others_refute_is_no_warning() -> None:
    half = GOOD.with_columns(label=pl.when(pl.col("query_id") < 20).then("label"))
    for limits in ({"memory_limit": 9_000}, {"memory_limit": 9_000, "grouped": True}):
        (says,) = warned(lambda limits=limits: half.lazy().rank.on(**limits).evaluate("map"))  # type: ignore[misc]
        assert says.startswith("20 of 40 queries have no judgments")


def test_a_sample_that_the_whole_table_refutes_is_no_warning() -> None:
    many = table(2_000, 10)
    late = many.with_columns(label=pl.when(pl.col("query_id") >= 1_000).then("label"))  # beyond the first rows
    (says,) = warned(lambda: late.rank.evaluate("map"))
    assert says.startswith("1,000 of 2,000 queries have no judgments")
    shuffled = many.with_columns(-pl.col("score")).sample(fraction=1, shuffle=True, seed=1)
    assert len(warned(lambda: shuffled.rank.evaluate("map"))) == 1
    long = table(70, 1_000, share=0.02).with_columns(-pl.col("score"))
    assert len(warned(lambda: long.rank.evaluate("map"))) == 1
    two = shuffled.with_columns(day=pl.col("query_id") % 2)
    assert len(warned(lambda: two.rank.on(query=["day", "query_id"]).evaluate("map"))) == 1


def test_a_filter_silences_the_warnings() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", rf.RankframeWarning)
        GOOD.with_columns(-pl.col("score")).rank.evaluate("map")
    assert not caught


def test_a_warning_that_is_an_error_ends_a_lazy_plan() -> None:
    with pytest.raises(rf.RankframeWarning, match="stand lower"):
        GOOD.lazy().with_columns(-pl.col("score")).rank.evaluate("map").collect()


# ------------------------------------------------------------------------------------------------------- good tables


GOOD_TABLES: dict[str, pl.DataFrame] = {
    "learning to rank": table(share=1.0).with_columns(label=pl.Series(np.random.default_rng(1).integers(0, 5, 400))),
    "a weak ranker": table(lift=0.0),
    "a weak ranker of few queries": pl.DataFrame(
        {"query_id": [1, 1, 2, 2, 3, 3, 4, 4, 5, 5], "doc_id": range(10), "score": [1, 2] * 5, "label": [1, 0] * 5}
    ),
    "clicks": table(share=0.05),
    "one query": table(1, 200),
    "a document each": table(200, 1, share=0.7),
    "one relevant each": GOOD.with_columns(label=(pl.int_range(pl.len()) % 10 == 3).cast(pl.Int64)),
    "a popular item for everybody": GOOD.filter(pl.col("doc_id").str.ends_with("0")).with_columns(doc_id=pl.lit("hit")),
    "one of some items for each": pl.DataFrame(
        {
            "query_id": range(200),
            "doc_id": np.random.default_rng(3).zipf(1.5, 200) % 40,
            "score": np.random.default_rng(4).random(200),
            "label": np.random.default_rng(5).integers(0, 2, 200),
        }
    ),
    "a class for each": pl.DataFrame(
        {
            "query_id": range(200),
            "doc_id": np.random.default_rng(6).integers(0, 20, 200),
            "score": np.random.default_rng(7).random(200),
            "label": np.random.default_rng(8).integers(0, 2, 200),
        }
    ),
    "few rows, all relevant": pl.DataFrame(
        {"query_id": [1, 1, 2], "doc_id": ["a", "b", "a"], "score": [3, 2, 2], "label": [1, 1, 1]}
    ),
    "a perfect ranker": GOOD.with_columns(score=pl.col("label") + 0.0),
    "a run with missed and unjudged documents": GOOD.with_columns(
        score=pl.when(pl.col("doc_id").str.ends_with("7")).then(None).otherwise("score"),
        label=pl.when(pl.col("doc_id").str.ends_with("8")).then(None).otherwise("label"),
    ),
    "positives alone as judgments": GOOD.filter(pl.col("label").sum().over("query_id") > 0).with_columns(
        label=pl.when(pl.col("label") > 0).then("label")
    ),
    "no rows": GOOD.clear(),
    "a run and its pool, joined": POOLED_RUN.rank.judge(POOLED_QRELS),
    "scores of three digits": table(80, 30).with_columns(pl.col("score").round(3)),
    "one answer to each question": table(150, 10).with_columns(label=(pl.int_range(pl.len()) % 10 == 4).cast(pl.Int64)),
    "lists of 1 to 8 candidates": table(120, 8).filter(pl.int_range(pl.len()) % 8 <= pl.col("query_id") % 8),
    "points for places": GOOD.with_columns(score=pl.col("score").rank("ordinal").over("query_id")),
    "a few labels missing": table(80, 20).with_columns(label=pl.when(pl.int_range(pl.len()) % 25 > 0).then("label")),
    "one of 12 classes for each": pl.DataFrame(
        {
            "query_id": range(600),
            "doc_id": [f"class {i % 12}" for i in range(600)],
            "score": np.random.default_rng(9).random(600),
            "label": np.random.default_rng(10).integers(0, 2, 600),
        }
    ),
    "a catalog that a user knows in part": table(60, 50, share=0.1, seed=3).with_columns(
        label=pl.when((pl.col("label") > 0) | (pl.int_range(pl.len()) % 50 == 0)).then(1)
    ),
}


@each("name", GOOD_TABLES)
def test_good_tables_come_without_a_warning(name: str) -> None:
    df = GOOD_TABLES[name].with_columns(other=pl.col("score") * 2)
    assert not warned(lambda: df.rank.evaluate(*ALL_METRICS, "bpref", "auc", "err(max_label=4)", "rbp"))
    assert not warned(lambda: df.lazy().rank.evaluate(*ALL_METRICS))
    noted = {"query without judgments"} | ({"scores like ranks"} if "few queries" in name else set())  # both are so
    assert set(df.rank.check().rows["problem"]) <= noted
    if df["query_id"].n_unique() > 1:
        assert not warned(lambda: df.rank.compare("map", runs=["score", "other"], **QUIET))


# ------------------------------------------------------------------------------------------- null documents, keywords


NAMELESS = pl.DataFrame(
    {
        "query_id": [1, 1, 1, 2, 2],
        "doc_id": [None, None, "a", None, "a"],
        "score": [5.0, 4, 3, 2, 1],
        "label": [1, 0, 1, 1, 0],
    }
)


@each("form", FORMS)
def test_several_documents_without_an_id_are_named_as_such(form: str) -> None:
    with pytest.raises(
        rf.InvalidData, match=r"^column 'doc_id' is null in 2 rows, several of a query; give each document its id"
    ):
        warned(lambda: FORMS[form](NAMELESS).evaluate("map"))
    found = NAMELESS.rank.check().rows.filter(severity="error")
    assert found.select("problem", "rows").rows() == [("document without id", 2)]
    assert NAMELESS[1:].rank.evaluate("hits").rows() == [(1, 1.0), (2, 1.0)]  # one each is a document like any other


def test_a_run_or_judgments_with_several_documents_without_an_id_are_not_joined() -> None:
    other = pl.DataFrame({"query_id": [1, 2], "doc_id": ["a", "b"]})
    for run, qrels, where in (
        (NAMELESS.drop("label"), other.with_columns(label=1), "run"),
        (other.with_columns(score=1.0), NAMELESS.drop("score"), "judgments"),
    ):
        with pytest.raises(
            rf.InvalidData, match=rf"^column 'doc_id' of the {where} is null in several rows of a query"
        ):
            run.rank.judge(qrels)


def test_dictionaries_and_arrays_are_taken_by_their_names_alone() -> None:
    with pytest.raises(rf.InvalidOption, match=r"its signature is from_dicts\(\*, run=None, qrels=None\)$"):
        rf.from_dicts({"q": {"a": 1.0}}, {"q": {"a": 1}})  # type: ignore[misc]
    with pytest.raises(rf.InvalidOption, match=r"its signature is from_arrays\(\*, scores, labels"):
        rf.from_arrays([[1.0]], [[1]])  # type: ignore[misc]


def test_the_warnings_of_a_pandas_frame_name_its_columns() -> None:
    df = pd.DataFrame({"query_id": [1, 1], 0: ["a", "b"], "distance": [0.1, 0.9], "label": [1, 0]})
    (said,) = warned(lambda: df.rank.on(doc=0, score="distance").map())
    assert "low values of column 'distance' are the best" in said


@each("form", FORMS)
def test_a_run_that_is_upside_down_among_others_is_named_by_checks_and_decisions(form: str) -> None:
    runs = pl.concat([GOOD.with_columns(run=pl.lit("good")), GOOD.with_columns(-pl.col("score"), run=pl.lit("bad"))])
    ranker = FORMS[form](runs)
    whole = ranker.on(query=["run", "query_id"])
    rows = whole.check().rows
    found = (rows.collect() if form == "lazy" else pl.DataFrame(rows)).filter(problem="labels fall as scores rise")
    assert found["run"].to_list() == ["bad"]
    decisions = {
        "gate": lambda: ranker.gate({"map": 0.1}, run="run", baseline="bad", **QUIET),
        "compare": lambda: ranker.compare("map", run="run", **QUIET),
        "power": lambda: ranker.power("map", run="run", difference=0.1),
        "oracle": lambda: ranker.fusion.oracle("map", run="run", fusion=None, **QUIET),
        "evaluate": lambda: None if form == "lazy" else whole.evaluate("map"),
    }
    for verb, ask in decisions.items():
        if form != "lazy" or verb != "evaluate":
            (message,) = warned(ask)
            assert "documents with higher labels stand lower" in message, verb
            assert message.endswith("(it concerns map of run 'bad')"), verb
