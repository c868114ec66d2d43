"""Conventions of tools for recommenders: what each prints for the worked example, which nobody needs to run for it."""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path

import pandas as pd
import polars as pl
import pytest

import rankframe as rf
from rankframe._verbs.audit.tool_comparison import explained
from tests.support.each import each

RECS = pl.DataFrame(
    {"query_id": ["u1"] * 3 + ["u2"] * 3 + ["u3"] * 3, "doc_id": list("cdebdfcde"), "score": [3.0, 2.0, 1.0] * 3}
)
TRAIN = pl.DataFrame({"query_id": ["u1", "u1", "u2", "u2", "u3", "u3", "u4", "u4"], "doc_id": list("abacabad")})
"""Popularity: a 4, b 2, c 1, d 1; four users, eight interactions."""
FEATURES = pl.DataFrame(
    {"doc_id": list("abcdef"), "x": [1, 1, 0, 0, 0, 1], "y": [0, 0, 1, 1, 0, 1], "z": [1, 0, 0, 1, 1, 0]}
)
BESIDE = {"interactions": TRAIN, "items": FEATURES}
LABELLED = RECS.with_columns(label=pl.Series([0, 1, 0, 1, 0, 0, 0, 0, 1]))

# Items shown: d three times, c and e twice, b and f once, a never; those of the interactions are a to d.
NATS = 3 * 3 / 9 / 3 * math.log(9 / 3) + 2 * 2 / 9 * math.log(9 / 2) + 2 / 9 * math.log(9)
PRINTED = {
    ("rectools", "coverage@3"): 5,
    ("rectools", "aggregate_diversity@3"): 5,
    ("rectools", "user_coverage@3"): 1,
    ("rectools", "mean_popularity@3"): 7 / 9,
    ("rectools", "novelty@3"): 17 / 9,
    ("rectools", "serendipity@3"): 1 / 9,
    ("rectools", "ild@3"): (4 / 3 + 2 + 4 / 3) / 3,
    ("recbole", "coverage@3"): 5 / 6,
    ("recbole", "gini@3"): 19 / 54,
    ("recbole", "entropy@3"): NATS / 5,
    ("recbole", "mean_popularity@3"): 7 / 9,
    ("replay", "coverage@3"): 3 / 4,
    ("replay", "novelty@3"): 1,
    ("replay", "unseen@3"): 1,
    ("replay", "surprisal@3"): 17 / 18,
    ("microsoft_recommenders", "coverage@3"): 5 / 4,
    ("microsoft_recommenders", "entropy@3"): NATS / math.log(2),
    ("microsoft_recommenders", "novelty@3"): 17 / 9,
    ("microsoft_recommenders", "serendipity@3"): (0.833333 + 0.798816 + 0.833333) / 3,
    ("recmetrics", "coverage@3"): 83.33,
    ("recmetrics", "personalization@3"): 4 / 9,
    ("recmetrics", "ild@3"): (0.471405 + 0.402369 + 0.471405) / 3,
    ("elliot", "map@3"): ((1 / 2 + 1 / 3) + (1 + 1 / 2 + 1 / 3) + 1 / 3) / 3 / 3,
    ("elliot", "map@5"): (5 / 6 + 11 / 6 + 1 / 3 + 3 * (1 / 4 + 1 / 5)) / 3 / 5,  # lists of three, cut off at five
    ("elliot", "coverage@3"): 5,
    ("elliot", "user_coverage@3"): 3,
    ("elliot", "gini@3"): 1 - 19 / 45,
    ("elliot", "entropy@3"): NATS / math.log(2),
    ("elliot", "efd@3"): (0.888246 + 0.938557 + 0.703918) / 3,
    ("elliot", "epc@3"): (0.222061 + 0.234639 + 0.234639) / 3,
    ("evidently", "f1@3"): 1 / 2,  # of a mean precision of 1/3 and a mean recall of 1
    ("evidently", "f_beta(beta=2)@3"): 5 / 7,
    ("evidently", "coverage@3"): 3 / 4,
    ("evidently", "gini@3"): 10 / 36,  # (-4 - 2 + 0 + 4 + 12) / (4 * 9) of 1, 1, 2, 2, 3
    ("evidently", "personalization@3"): 4 / 9,
    ("evidently", "novelty@3"): 11 / 6,  # c, d: 2 bits each; b, d: 1 and 2
    ("evidently", "mean_popularity@3"): 7 / 6,
    ("evidently", "serendipity@3"): (0.75 + 2 * 0.646447) / 3,
    ("evidently", "ild@3"): (0.528595 + 0.597631 + 0.528595) / 3,  # three pairs, three items
    ("lenskit", "gini@3"): 19 / 54,
}


@cache
def conventions_of(metric: str) -> pl.DataFrame:
    roles = {"features": ["x", "y", "z"]} if metric.startswith(("ild", "serendipity")) else {}
    found: pl.DataFrame = LABELLED.rank.on(**{**BESIDE, **roles}).conventions(metric).table
    return found


def row(tool: str, metric: str) -> dict[str, object]:
    return conventions_of(metric).filter(tool=tool).row(0, named=True)


@each(("tool", "metric"), PRINTED)
def test_a_tool_prints_its_number_for_the_worked_example(tool: str, metric: str) -> None:
    assert row(tool, metric)["value"] == pytest.approx(PRINTED[tool, metric], abs=1e-6)


def test_another_formula_has_words_and_no_options() -> None:
    of_replay = row("replay", "coverage@3")
    assert (of_replay["metric"], of_replay["differs_by"]) == (None, "")
    assert "number of items that are shown and are in the interactions" in str(of_replay["says"])


def test_a_number_that_somebody_saw_finds_the_tool_with_another_formula() -> None:
    found = RECS.rank.on(**BESIDE).conventions("coverage@3", observed=1.25).table
    assert found["tool"][0] == "microsoft_recommenders"
    assert found["says"][0].startswith("1.25 is what microsoft_recommenders prints: it divides")
    assert RECS.rank.on(**BESIDE).conventions("novelty@3", observed=99).table["tool"][0] is not None  # without labels


def test_what_a_formula_lacks_is_said_in_the_note() -> None:
    of_replay = next(
        x for x in RECS.rank.on(items=6).conventions("coverage@3").table.iter_rows(named=True) if x["tool"] == "replay"
    )
    assert of_replay["value"] is None
    assert "it reads past interactions" in of_replay["note"]
    assert row("recmetrics", "novelty@3")["value"] is None  # it raises KeyError for e and f
    assert row("microsoft_recommenders", "ild@3")["value"] is None
    assert "users they share" in str(row("microsoft_recommenders", "ild@3")["says"])
    nobody = RECS.with_columns(score=pl.lit(None, pl.Float64)).rank.on(**BESIDE).conventions("gini@3").table
    assert nobody["value"].to_list() == [None] * nobody.height


def test_conventions_of_catalog_metrics_are_told_without_a_table() -> None:
    told = {x["tool"]: x for x in explained("coverage@10").iter_rows(named=True)}
    assert set(told) == {"rankframe", "replay", "rectools", "recbole", "microsoft_recommenders", "recmetrics", "recpack", "elliot", "evidently"}  # fmt: skip
    assert "per cent" in told["recmetrics"]["says"]


def test_a_convention_sets_the_options_of_catalog_metrics() -> None:
    ranker = RECS.rank.on(convention="lenskit")
    assert (
        ranker.items.catalog("exposure_gini@3", items=6, ci=None).rows()
        == RECS.rank.items.catalog("exposure_gini(weight=rbp,p=0.85)@3", items=6, ci=None).rows()
    )
    stated = ranker.items.catalog("exposure_gini(p=0.5)@3", items=6, ci=None)
    assert stated["metric"].item() == "exposure_gini(weight=rbp,p=0.5)@3"
    assert RECS.rank.on(convention="recbole").items.counts("gini", items=6).catalog()["metric"].item() == "gini@10"


def test_a_convention_with_another_formula_is_refused_with_the_words() -> None:
    with pytest.raises(rf.InvalidOption, match="coverage of rectools is no option here: it is the number of different"):
        RECS.rank.on(convention="rectools").items.catalog("coverage@3", items=6)
    with pytest.raises(rf.InvalidOption, match="novelty of replay is no option here: it is the share of items"):
        RECS.rank.on(convention="replay", interactions=TRAIN).evaluate("novelty@3")


def test_numbers_of_all_fronts_are_those_of_polars() -> None:
    ours = RECS.rank.on(**BESIDE).conventions("coverage@3").table
    assert RECS.lazy().rank.on(**BESIDE).conventions("coverage@3").table.collect().equals(ours)
    by_pandas = (
        RECS.to_pandas().rank.on(interactions=TRAIN.to_pandas(), items=list("abcdef")).conventions("coverage@3").table
    )
    assert by_pandas["value"].to_list() == ours["value"].to_list()


OF_USERS = pl.DataFrame({"user_id": [1] * 3 + [2] * 3, "item_id": [1, 2, 3] * 2, "rank": [1, 2, 3] * 2})
RATED = pl.DataFrame({"user_id": [1, 1, 2], "item_id": [1, 3, 2], "weight": [0.5, 3.0, 1.0]})


def test_rectools_counts_every_interaction_whatever_its_weight() -> None:
    """By hand: item 1 of items 1 and 3, and item 2, are in the first two; DCG is 1 and 1 / log2(3), over 1 + 1 / log2(3)."""
    judged = OF_USERS.rank.on(names="rectools", rank="rank").judge(RATED)
    ranker = judged.rank.on(names="rectools", rank="rank", convention="rectools")
    assert ranker.mean("Recall@2", "NDCG@2").row(0) == pytest.approx((0.75, 0.5))
    stated = judged.rank.on(names="rectools", rank="rank", convention="rectools", relevant=1)
    assert stated.mean("Recall@2").item() == 0.5  # item 3 alone is relevant to user 1


@each("tool", ["rectools", "lenskit", "replay", "recbole", "microsoft_recommenders"])
def test_a_rating_below_1_counts_and_a_label_of_0_does_not(tool: str) -> None:
    df = pl.DataFrame({"query_id": 1, "doc_id": ["a", "b", "c"], "score": [3, 2, 1], "label": [0.0, 0.25, None]})
    assert df.rank.on(convention=tool).evaluate("recall@1", "recall@2").row(0) == (1, 0.0, 1.0)


def test_elliot_names_its_recommendations_predictions_and_its_test_items_ratings(tmp_path: Path) -> None:
    """By hand: b of u is second, and c is missed; e of v is first. Its files have no header, and Proxy names the columns."""
    (tmp_path / "recs.tsv").write_text("u\ta\t3.5\nu\tb\t2.5\nv\te\t0.5\nv\tf\t0.25\n")
    (tmp_path / "test.tsv").write_text("u\tb\t5.0\t1\nu\tc\t4.0\t2\nv\te\t3.0\t3\n")
    names = ["userId", "itemId", "prediction", "timestamp"]
    recs = pd.read_csv(tmp_path / "recs.tsv", sep="\t", header=None, names=names)
    rated = pd.read_csv(tmp_path / "test.tsv", sep="\t", header=None, names=[*names[:2], "rating", "timestamp"])
    with pytest.raises(rf.InvalidOption, match="both have a column 'timestamp'; rename or drop one"):
        recs.rank.on(names="elliot").judge(rated)
    judged = recs.drop(columns="timestamp").rank.on(names="elliot").judge(rated)
    assert judged.rank.on(names="elliot").mean("rr", "recall").iloc[0].to_list() == [0.75, 0.75]


def test_recommenders_leaves_out_users_without_recommendations_but_for_ndcg() -> None:
    recs = pl.DataFrame({"userID": [1], "itemID": [7], "prediction": [1.0]})
    rated = pl.DataFrame({"userID": [1, 2], "itemID": [7, 8], "rating": [0.5, 4.0]})
    for tool in ("recommenders", "microsoft_recommenders"):
        judged = recs.rank.on(names=tool).judge(rated, judged_only="keep")
        ranker = judged.rank.on(names=tool, convention=tool)
        found = ranker.mean("precision@1", "recall@1", "map@1", "ndcg@1").row(0)
        assert found == (1.0, 1.0, 1.0, 0.5)


def test_rectools_counts_the_diversity_of_one_item_0_and_not_that_of_an_empty_list() -> None:
    """By hand: b and d differ in x, y and z (3); the list of c alone counts 0; u3 has no list."""
    recs = pl.DataFrame({"query_id": ["u1", "u1", "u2", "u3"], "doc_id": list("bdca"), "rank": [1, 2, 1, None]})
    mine = recs.rank.on(rank="rank", items=FEATURES, features=["x", "y", "z"])
    assert mine.on(convention="rectools").evaluate("IntraListDiversity@3").rows() == [
        ("u1", 3.0),
        ("u2", 0.0),
        ("u3", None),
    ]
    assert mine.evaluate("ild@3")["ild@3"].to_list()[1:] == [None, None]
    assert mine.evaluate("ild(no_pairs=one)@3").rows()[1:] == [("u2", 1.0), ("u3", None)]


def test_rectools_counts_a_short_list_as_full_in_mcc_and_has_partial_auc() -> None:
    """By hand, of RecTools' MCC@2 in a catalog of 5: TP 1, FP 1 for the empty place, FN 1, TN 2."""
    short = pl.DataFrame({"query_id": 1, "doc_id": ["a", "b"], "rank": [1, None], "label": [1.0, 1.0]})
    ranker = short.rank.on(rank="rank", convention="rectools", collection_size=5)
    assert ranker.mean("MCC@2").item() == pytest.approx((1 * 2 - 1 * 1) / math.sqrt(2 * 2 * 3 * 3))
    assert ranker.mean("PartialAUC@2", "PAP@1").row(0) == (0.5, 1.0)
