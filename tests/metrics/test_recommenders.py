"""Recommenders' metrics of single queries: worked values, options, hostile tables, and the roles that they read."""

from __future__ import annotations

import math
import pickle
import random
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rankframe as rf
from rankframe._command import main
from rankframe._pictures import item_plots
from tests.support.each import each
from tests.support.tables import BY_CHANCE

pytestmark = BY_CHANCE

RECS = pl.DataFrame(
    {
        "query_id": ["u1"] * 3 + ["u2"] * 3 + ["u3"] * 3,
        "doc_id": [*"cde", *"bdf", *"cde"],
        "score": [3.0, 2.0, 1.0] * 3,
    }
)
RELEVANT = {("u1", "d"), ("u2", "b"), ("u3", "e"), ("u3", "f")}
JUDGED = pl.concat(
    [
        RECS.with_columns(
            label=pl.Series(
                [int(pair in RELEVANT) for pair in RECS.select("query_id", "doc_id").rows()], dtype=pl.Int64
            )
        ),
        pl.DataFrame(
            {"query_id": ["u3"], "doc_id": ["f"], "score": [None], "label": [1]}, schema_overrides={"score": pl.Float64}
        ),
    ]
)
TRAIN = pl.DataFrame({"query_id": ["u1", "u1", "u2", "u2", "u3", "u3", "u4", "u4"], "doc_id": [*"abacabad"]})
"""Popularity: a 4, b 2, c 1, d 1; four users, eight interactions."""


def values(df: pl.DataFrame, text: str, **roles: Any) -> list[float | None]:
    found: pl.DataFrame = df.rank.on(**roles).evaluate(text)
    return found.sort("query_id")[text].to_list()


WORKED: list[tuple[str, list[float]]] = [
    ("mean_popularity@3", [2 / 3, 1.0, 2 / 3]),
    ("mean_popularity(normalize=True)@3", [2 / 24, 1 / 8, 2 / 24]),
    ("novelty@3", [2.0, 5 / 3, 2.0]),
    ("novelty(base=interactions,unseen_items=zero)@3", [2.0, 5 / 3, 2.0]),
    ("novelty(base=interactions,unseen_items=skip)@3", [3.0, 2.5, 3.0]),
    ("surprisal@3", [1.0, 5 / 6, 1.0]),
    ("unseen@3", [1.0, 1.0, 1.0]),
    ("efd(relevance=False)@3", [3.0, 2.530721, 3.0]),
]
"""RecTools', recommenders', RePlay's and Elliot's values of the example."""


@each(("text", "wanted"), WORKED)
def test_the_worked_example_has_the_values_of_the_tools(text: str, wanted: list[float]) -> None:
    assert values(RECS, text, interactions=TRAIN) == pytest.approx(wanted, abs=1e-6)
    assert values(JUDGED, text, interactions=TRAIN) == pytest.approx(wanted, abs=1e-6)


@each(("text", "wanted"), [("efd@3", [0.888246, 0.938557, 0.703918]), ("epc@3", [0.222061, 0.234639, 0.234639])])
def test_discovery_of_the_worked_example_has_elliots_values(text: str, wanted: list[float]) -> None:
    assert values(JUDGED, text, interactions=TRAIN) == pytest.approx(wanted, abs=1e-6)


def test_the_mean_over_the_users_of_the_worked_example_is_the_tools_mean() -> None:
    mean = RECS.rank.on(interactions=TRAIN).mean("mean_popularity@3", "novelty@3", "surprisal@3")
    assert mean.row(0)[-3:] == pytest.approx((0.777778, 1.888889, 0.944444), abs=1e-6)


def test_a_depth_cuts_the_ranking_without_the_instruction_too() -> None:
    """Down to rank 2, of the documents that an instruction rules out b falls from 2 to below, and d stays below: 1 - 2/3, and 0."""
    rows = {"query_id": 1, "doc_id": [*"abcd"], "score": [4, 2, 3, 1], "base": [4, 3, 2, 1], "label": [0, 1, 0, 1]}
    df = pl.DataFrame(rows)
    assert df.rank.on(base="base", depth=2).evaluate("p_mrr")["p_mrr"].item() == pytest.approx((1 / 3 + 0) / 2)
    assert df.select(rf.expr.on(base="base", depth=2).p_mrr()).item() == pytest.approx(1 / 6)
    assert df.rank.on(base="base").evaluate("p_mrr")["p_mrr"].item() == pytest.approx((1 / 3 + 0) / 2)
    assert df.rank.on(base="base", depth=1).evaluate("p_mrr")["p_mrr"].item() == 0


def test_unexpectedness_of_the_worked_example_has_replays_values() -> None:
    base = pl.when(pl.col("doc_id").is_in(["a", "b", "c"])).then(1.0)
    assert values(RECS.with_columns(base=base), "unexpectedness@3", base="base") == pytest.approx([2 / 3] * 3)


ORDERS = ["doc_desc", "doc_asc", "order", "best", "worst", "trec_eval"]


def two_rankings(seed: int) -> pl.DataFrame:
    """Queries with ties in both rankings, documents that one of them lacks, and ids that compare as text in another order."""
    rng = random.Random(seed)
    rows = [
        (query, doc, rng.choice([None, 1.0, 2.0, 3.0]), rng.choice([None, 1, 2]), rng.choice([None, 0, 1, 2]))
        for query in range(6)
        for doc in rng.sample(range(8, 14), rng.randint(1, 6))
    ]
    return pl.DataFrame(rows, ["query_id", "doc_id", "score", "base", "label"], orient="row")


def of_ranks(now: dict[int, int], before: dict[int, int], marked: set[int], k: int) -> tuple[float | None, ...]:
    """P-MRR, LIP and unexpectedness at `k` by their formulas, of the ranks of the documents that each ranking has."""
    lost_now, lost_before = len(now) + 1, len(before) + 1
    falls = []
    for doc in marked:
        a, b = before.get(doc, lost_before), now.get(doc, lost_now)
        falls.append(1 - a / b if b > a else b / a - 1)
    top = [doc for doc, rank in now.items() if rank <= k]
    deepest = max([k, *(before.get(doc, 0) for doc in top)]) - k
    common = sum(before.get(doc, k + 1) <= k for doc in top)
    return (
        sum(falls) / len(falls) if falls else None,
        deepest if now and before else None,
        1 - common / len(top) if top else None,
    )


@each("seed", range(4), sample=12)
@each("ties", ORDERS)
@each("ascending", [False, True])
def test_metrics_of_another_ranking_are_those_of_the_ranks_that_with_ranks_gives_both(
    ties: str, ascending: bool, seed: int
) -> None:
    texts = ["p_mrr", "least_item_promoted@2", "unexpectedness@2"]
    df = two_rankings(seed)
    options: dict[str, Any] = {"ties": ties, "ascending": ascending}
    ranks = df.rank.on(**options).with_ranks("now").rank.on(score="base", **options).with_ranks("before")
    wanted = {}
    for (query,), rows in ranks.group_by("query_id"):
        now, before = (dict(rows.drop_nulls(x).select("doc_id", x).iter_rows()) for x in ("now", "before"))
        wanted[query] = of_ranks(now, before, {*rows.filter(pl.col("label") >= 1)["doc_id"]}, 2)
    asked, within = df.rank.on(base="base", **options), rf.expr.on(base="base", **options)
    of_groups = [within.p_mrr(), within.least_item_promoted(k=2), within.unexpectedness(k=2)]
    forms = [asked.evaluate(*texts), df.group_by("query_id").agg(of_groups)]
    if ties != "order":
        forms.append(df.lazy().rank.on(base="base", **options).evaluate(*texts).collect())
    for form in forms:
        found = {row[0]: row[1:] for row in form.select("query_id", *texts).iter_rows()}
        assert found.keys() == wanted.keys()
        for query, values_of_query in wanted.items():
            assert found[query] == pytest.approx(values_of_query, abs=1e-12), query


def test_the_rank_without_an_instruction_does_not_depend_on_the_scores_with_it() -> None:
    """By base, b stands before a, as ids fall; by score it is second: 1 - 1 / 2."""
    df = pl.DataFrame({"query_id": 1, "doc_id": ["a", "b"], "score": [2.0, 1.0], "base": [1.0, 1.0], "label": [0, 1]})
    assert df.rank.on(base="base").evaluate("p_mrr")["p_mrr"].item() == 0.5
    # both at the last of the tied places: from 2 to 2; as the rows are given: from 2 to 2
    for ties in ("last", "order"):
        assert df.rank.on(base="base", ties=ties).evaluate("p_mrr")["p_mrr"].item() == 0


def test_ties_of_another_ranking_are_refused_where_ties_are() -> None:
    df = pl.DataFrame({"query_id": 1, "doc_id": ["a", "b"], "score": [2.0, 1.0], "base": [1.0, 1.0], "label": [0, 1]})
    with pytest.raises(rf.InvalidData, match=r"share another score, and the rule for ties forbids it"):
        df.rank.on(base="base", ties="error").evaluate("p_mrr")


def test_another_ranking_of_text_is_refused() -> None:
    df = pl.DataFrame({"query_id": 1, "doc_id": ["a", "b"], "score": [2, 1], "base": ["x", "y"], "label": [0, 1]})
    with pytest.raises(rf.InvalidData, match=r"^column 'base' for base holds String, not numbers"):
        df.rank.on(base="base").evaluate("p_mrr")
    with pytest.raises(rf.InvalidData, match=r"^column 'base' for base holds String, not numbers"):
        df.drop("base").rank.on(base="base", items=df.select("doc_id", "base")).evaluate("p_mrr")


@each("depth", [1, 2, 3])
def test_a_depth_cuts_the_ranking_that_is_expected_too(depth: int) -> None:
    """The first documents are a, b, c and c, a, b: none, one and all of them are in both."""
    df = pl.DataFrame({"query_id": 1, "doc_id": [*"abc"], "score": [3, 2, 1], "base": [2, 1, 3]})
    cut, at_rank = f"unexpectedness@{depth}", df.rank.on(base="base", depth=depth)
    wanted = [1, 0.5, 0][depth - 1]
    assert at_rank.evaluate("unexpectedness")["unexpectedness"].item() == wanted
    assert at_rank.evaluate("unexpectedness@9")["unexpectedness@9"].item() == wanted
    assert df.rank.on(base="base").evaluate(cut)[cut].item() == wanted


def test_the_percentile_of_popularity_is_the_mean_rank_over_the_number_of_items() -> None:
    # c and d share ranks 1 and 2 of 4 items, b has rank 3; e and f, in no interaction, count 0
    assert values(RECS, "popularity_percentile", interactions=TRAIN) == pytest.approx(
        [(1.5 + 1.5) / 12, (3 + 1.5) / 12, (1.5 + 1.5) / 12]
    )


def test_the_tail_starts_below_the_item_with_which_the_head_reaches_its_share() -> None:
    # a and b have 6 of 8 interactions, c and d are equally popular: with them 80% are reached
    assert values(RECS, "tail_share", interactions=TRAIN) == pytest.approx([1 / 3, 1 / 3, 1 / 3])  # e, f, e
    assert values(RECS, "tail_share(head=0.75)", interactions=TRAIN) == pytest.approx([1, 2 / 3, 1])  # all but a and b
    assert values(RECS, "tail_share(tail=0.5)", interactions=TRAIN) == pytest.approx([1, 2 / 3, 1])
    assert str(rf.parse("APLT@3")[0]) == "tail_share(unseen_items=zero)@3"


CATALOG = pl.DataFrame(
    {
        "doc_id": [*"abcdef"],
        "x": [1, 1, 0, 0, 0, 1],
        "y": [0, 0, 1, 1, 0, 1],
        "z": [1, 0, 0, 1, 1, 0],
    }
)


@each(
    ("text", "wanted"),
    [
        ("ild@3", [0.528595, 0.597631, 0.528595]),
        ("ild(distance=hamming)@3", [4 / 3, 2.0, 4 / 3]),
        ("serendipity@3", [0.0555556, 0.0555556, 0.2222222]),
        ("serendipity(against=co_occurrence,relevance=False)@3", [0.833333, 0.798816, 0.833333]),
        ("serendipity(against=features)@3", [0.75, 0.646447, 0.646447]),
    ],
)
def test_diversity_and_serendipity_of_the_worked_example_have_the_values_of_the_tools(
    text: str, wanted: list[float]
) -> None:
    roles = {"interactions": TRAIN, "items": CATALOG, "features": ["x", "y", "z"]}
    assert values(JUDGED, text, **roles) == pytest.approx(wanted, abs=1e-6)


def test_evidentlys_diversity_divides_by_the_number_of_items() -> None:
    found = values(RECS, "ild(divisor=list)@2", items=CATALOG, features=["x", "y", "z"])
    assert found == pytest.approx([(1 - 0.5**0.5) / 2, 0.5, (1 - 0.5**0.5) / 2])  # one pair of two items


def test_calibration_of_the_worked_example_is_stecks() -> None:
    train = pl.DataFrame({"query_id": [1] * 10, "doc_id": [f"i{i}" for i in range(10)]})
    items = pl.DataFrame({"doc_id": [*train["doc_id"], "new"], "genre": ["A"] * 7 + ["B"] * 3 + ["A"]})
    df = pl.DataFrame({"query_id": [1], "doc_id": ["new"], "score": [1.0]})
    ranker = df.rank.on(interactions=train, items=items, category="genre")
    assert ranker.metrics.calibration()["calibration"].to_list() == pytest.approx([1.133982], abs=1e-6)
    assert ranker.metrics.calibration(unit="bits").to_series(1).to_list() == pytest.approx([1.635990], abs=1e-6)


SIX = pl.DataFrame({"query_id": [1] * 6, "doc_id": [*"abcdef"], "score": [6, 5, 4, 3, 2, 1], "by": [*"MMFMFF"]})


@each(
    ("text", "wanted"),
    [
        ("group_exposure(group=M)", 0.623847),
        ("group_exposure(group=F)", 0.376153),
        ("group_exposure(group=M,weight=0.85)", 0.593431),
        ("group_exposure(group=F,weight=0.85)", 0.406569),
        ("awrf(group=F,target=0.5)", 0.123847),
        ("awrf(group=F)", 0.123847),
        ("awrf", 0.123847),
        ("awrf(target=equal,distance=jsd)", 0.988733),
        ("awrf(group=F,target=0.5,distance=jsd)", 0.988733),
        ("ndkl", 0.370058),
        ("ndkl(group=F,target=0.5)", 0.370058),
    ],
)
def test_exposure_of_the_six_worked_documents_has_the_values_of_the_papers(text: str, wanted: float) -> None:
    assert values(SIX, text, group="by") == pytest.approx([wanted], abs=1e-6)


@each(("name", "wanted"), [("rnd", 0.4), ("rkl", 0.118709), ("rrd", 0.571429)])
def test_the_measures_of_yang_and_stoyanovich_have_their_worked_values(name: str, wanted: float) -> None:
    by = [0, 0, 1, 0, 0, 0, 1, 0, 1, 0, 1, 0, 1, 1, 0, 1, 0, 1, 1, 1]
    df = pl.DataFrame({"query_id": 1, "doc_id": range(20), "score": range(20, 0, -1), "by": by})
    assert values(df, f"{name}(group=1)", group="by") == pytest.approx([wanted], abs=1e-6)
    assert values(df.head(9), f"{name}(group=1)", group="by") == [None]  # shorter than the first cut point


MIXED = SIX.with_columns(label=pl.Series([0, 2, 1, 0, 1, 0]))
ONE_OF = [1 / math.log2(i + 1) for i in range(1, 7)]


@each(
    ("text", "wanted"),
    [
        # attention of M: ranks 1, 2 and 4, of F: ranks 3, 5 and 6; three documents each
        ("demographic_parity(group=F)", math.log(0.376153 / 0.623847)),
        ("demographic_parity(group=F,weight=0.85)", math.log(0.406569 / 0.593431)),
        ("demographic_parity(group=F,absolute=True)", -math.log(0.376153 / 0.623847)),
        ("demographic_parity(group=F,weight=equal)@3", math.log(1 / 2)),
        ("demographic_parity(group=F)@2", None),
        ("demographic_parity(group=F,smoothing=1e-06)@1", math.log(1e-6) - math.log(1 / 3 + 1e-6)),
        # both groups have the utility 2 in all
        ("exposed_utility_ratio(group=F)", math.log(0.376153 / 0.623847)),
        ("exposed_utility_ratio(group=F,gain=binary)", math.log(0.376153 / 2 / 0.623847)),
        # clicks of F: ranks 3 and 5, of M: twice at rank 2
        ("realized_utility_ratio(group=F)", math.log((ONE_OF[2] + ONE_OF[4]) / (2 * ONE_OF[1]))),
        ("realized_utility_ratio(group=F,weight=equal)", 0.0),
        ("realized_utility_ratio(group=M,gain=binary)", math.log(ONE_OF[1] / ((ONE_OF[2] + ONE_OF[4]) / 2))),
    ],
)
def test_ratios_of_six_worked_documents_are_those_of_singh_and_joachims(text: str, wanted: float | None) -> None:
    (found,) = values(MIXED, text, group="by")
    assert found == (wanted if wanted is None else pytest.approx(wanted, abs=1e-5))


@each("name", ["demographic_parity", "exposed_utility_ratio", "realized_utility_ratio"])
def test_a_ratio_of_two_groups_changes_its_sign_with_their_roles_and_goes_up_with_the_group(name: str) -> None:
    df = pl.concat([MIXED, MIXED.with_columns(query_id=2, score=-pl.col("score"))], how="vertical_relaxed")
    of_f, of_m = (values(df, f"{name}(group={group})", group="by") for group in "FM")
    assert of_f == pytest.approx([-x for x in of_m])
    assert of_f[0] < of_f[1]  # the other way round, F stands above M
    assert rf.parse(f"{name}(group=F)")[0].higher_is_better
    assert not rf.parse(f"{name}(group=F,absolute=True)")[0].higher_is_better


def test_a_group_without_documents_or_without_utility_has_no_ratio() -> None:
    texts = [f"{x}(group=F,smoothing=0.1)" for x in ("demographic_parity", "exposed_utility_ratio")]
    alone = MIXED.with_columns(by=pl.lit("M"))
    others = MIXED.with_columns(pl.col("query_id") + 1)
    assert [values(pl.concat([alone, others]), text, group="by")[0] for text in texts] == [None, None]
    useless = MIXED.with_columns(label=pl.when(pl.col("by") == "M").then("label"))
    assert values(useless, texts[1], group="by") == [None]
    assert values(useless, texts[0], group="by") != [None]


def test_documents_that_were_not_retrieved_belong_to_their_group_without_attention() -> None:
    missed = pl.DataFrame({"query_id": [1], "doc_id": ["g"], "score": [None], "by": ["F"], "label": [2]})
    df = pl.concat([MIXED, missed], how="vertical_relaxed")
    assert values(df, "demographic_parity(group=F)", group="by") == pytest.approx(
        [math.log((0.376153 / 4) / (0.623847 / 3))], abs=1e-5
    )
    assert values(df, "exposed_utility_ratio(group=F)", group="by") == pytest.approx(
        [math.log((0.376153 / 4) / (0.623847 / 2))], abs=1e-5
    )
    assert values(df, "demographic_parity(group=F)@6", group="by", unretrieved="drop") == pytest.approx(
        [math.log(0.376153 / 0.623847)], abs=1e-5
    )


@each(
    ("text", "wanted"),
    [
        ("least_item_promoted@1", 2),  # c, third of a b c d e
        ("least_item_promoted@2", 3),  # e, fifth
        ("least_item_promoted@3", 2),
        ("least_item_promoted", 1),  # as at 4, the length of the list
        ("least_item_promoted@10", 0),
        ("least_item_promoted(first_rank=0)@2", 2),
        ("least_item_promoted(first_rank=0)@1", 1),
    ],
)
def test_the_least_item_promoted_is_the_lowest_of_the_other_ranking(text: str, wanted: int) -> None:
    df = pl.DataFrame(
        {
            "query_id": [1] * 6,
            "doc_id": [*"cexabd"],
            "score": [9, 8, 7, 6, None, None],
            "input": [3, 1, None, 5, 4, 2],  # a b c d e
        }
    )
    assert values(df, text, base="input") == [wanted]


def test_names_of_the_papers_are_read() -> None:
    texts = ["LIP@3", "logDP(group=F)", "logEUR(group=F)", "logRUR(group=F)"]
    assert [str(rf.parse(text)[0]) for text in texts] == [
        "least_item_promoted@3",
        "demographic_parity(group=F)",
        "exposed_utility_ratio(group=F)",
        "realized_utility_ratio(group=F)",
    ]


def test_the_least_item_promoted_needs_items_of_both_rankings() -> None:
    nothing = SIX.with_columns(input=pl.lit(None, pl.Float64))
    assert values(nothing, "least_item_promoted@2", base="input") == [None]
    assert values(SIX.with_columns(input=-pl.col("score")), "least_item_promoted@2", base="input") == [4]
    assert values(SIX.with_columns(input="score"), "least_item_promoted@2", base="input") == [0]


# Hostile tables -----------------------------------------------------------------------------------------------------

ROLES: dict[str, Any] = {
    "interactions": TRAIN, "items": CATALOG.with_columns(genre=pl.lit("g"), by=pl.lit("M")), "features": ["x", "y", "z"],
    "category": "genre", "group": "by", "base": "x",
}  # fmt: skip
ONE_EACH = [
    "mean_popularity", "popularity_percentile", "novelty", "surprisal", "unseen", "unexpectedness", "tail_share", "efd", "epc",
    "ild", "category_diversity", "category_entropy", "serendipity", "serendipity(against=co_occurrence)",
    "serendipity(against=features)", "calibration", "group_exposure(group=M)", "awrf", "ndkl", "rnd(group=M)", "rkl(group=M)",
    "rrd(group=M)", "demographic_parity(group=M)", "exposed_utility_ratio(group=M)", "realized_utility_ratio(group=M)",
    "least_item_promoted",
]  # fmt: skip


@each("text", ONE_EACH)
def test_an_empty_list_has_no_value(text: str) -> None:
    df = JUDGED.with_columns(score=pl.when(pl.col("query_id") != "u1").then("score"))
    assert values(df, text, **ROLES)[0] is None
    assert values(df.clear(), text, **ROLES) == []
    assert df.clear().lazy().rank.on(**ROLES).evaluate(text).collect().is_empty()


def test_a_cold_user_has_seen_nothing_and_is_not_measured_against_a_past() -> None:
    df = JUDGED.with_columns(query_id=pl.col("query_id").replace({"u1": "nobody"}))
    found = df.rank.on(**ROLES).evaluate(*ONE_EACH).filter(query_id="nobody").row(0, named=True)
    assert found["unseen"] == 1
    undefined = ["serendipity(against=co_occurrence)", "serendipity(against=features)", "calibration"]
    assert [found[text] for text in undefined] == [None] * 3
    assert found["novelty"] == 2  # novelty depends on the items alone, so all users have the same


def test_repeated_interactions_count_once() -> None:
    twice = pl.concat([TRAIN, TRAIN.head(3), TRAIN])
    texts = ["mean_popularity(normalize=True)", "novelty", "novelty(base=interactions)", "unseen", "tail_share"]
    wanted = RECS.rank.on(interactions=TRAIN).evaluate(*texts)
    assert RECS.rank.on(interactions=twice).evaluate(*texts).equals(wanted)


def test_counts_of_items_do_for_metrics_of_popularity() -> None:
    counts = pl.DataFrame({"doc_id": [*"abcdz"], "n": [4, 2, 1, 1, 0]})
    texts = ["mean_popularity", "mean_popularity(normalize=True)", "novelty(base=interactions)", "tail_share", "efd"]
    wanted = JUDGED.rank.on(interactions=TRAIN).evaluate(*texts)
    assert JUDGED.rank.on(interactions=counts).evaluate(*texts).equals(wanted)


def test_items_that_nobody_had_are_refused_if_the_option_says_so() -> None:
    for form in (RECS, RECS.lazy()):
        with pytest.raises(rf.InvalidData, match="a document is in no interaction; unseen_items='rarest'") as caught:
            form.rank.on(interactions=TRAIN).metrics.novelty(unseen_items="error").lazy().collect()
        assert "found: label" not in str(caught.value)
    # items below the cutoff are not asked for
    assert values(RECS, "novelty(unseen_items=error)@2", interactions=TRAIN) == pytest.approx([2, 1.5, 2])


@each("bad", [None, math.nan, math.inf])
def test_missing_features_of_a_listed_item_are_refused(bad: float | None) -> None:
    df = RECS.with_columns(x=pl.when(pl.col("doc_id") != "e").then(1.0).otherwise(bad))
    with pytest.raises(rf.InvalidData, match="the features of a document are null, NaN, infinite"):
        df.rank.on(features="x").ild()
    assert values(df, "ild@2", features="x") == [0, 0, 0]


def test_lists_of_several_lengths_are_no_features() -> None:
    df = RECS.with_columns(v=pl.when(pl.col("doc_id") == "c").then(pl.lit([1.0])).otherwise(pl.lit([1.0, 2.0])))
    with pytest.raises(rf.InvalidData, match="lists of several lengths"):
        df.rank.on(features="v").ild()


def test_a_ranker_of_another_catalog_reads_the_past_by_that_catalog() -> None:
    past = pl.DataFrame({"query_id": [1, 1, 2], "doc_id": [*"abc"]})
    df = pl.DataFrame({"query_id": [1, 1], "doc_id": [*"cd"], "score": [2.0, 1.0], "label": [1, 1]})
    one = pl.DataFrame({"doc_id": [*"abcd"], "genre": [*"xxyx"], "f": [1, 1, 0, 0], "g": [0, 0, 1, 1]})
    two = pl.DataFrame({"doc_id": [*"abcd"], "genre": [*"xyyx"], "f": [0, 0, 1, 0], "g": [1, 1, 0, 1]})
    ranker = df.rank.on(interactions=past, items=one, category="genre", features=["f", "g"])
    texts = "calibration", "serendipity(against=features)"
    # the past is of x alone in the one catalog, half of x and half of y in the other; lists are half of each
    assert ranker.evaluate(*texts).row(0)[1:] == pytest.approx((math.log(1 / (0.99 * 0.5 + 0.01)), 1.0))
    # d has the features of the past in the other catalog
    assert ranker.on(items=two).evaluate(*texts).row(0)[1:] == pytest.approx((0.0, 0.0))


def test_a_catalog_that_names_an_item_twice_is_refused_for_the_past_too() -> None:
    items = pl.DataFrame({"doc_id": [*"abcdefa"], "x": [1] * 7})
    ranker = JUDGED.rank.on(interactions=TRAIN, items=items, features="x")
    with pytest.raises(rf.InvalidData, match="items name an item of column 'doc_id' twice"):
        ranker.serendipity(against="features")


def test_an_item_without_features_other_than_0_is_at_distance_1_from_all_others() -> None:
    df = RECS.with_columns(x=(pl.col("doc_id") != "e").cast(pl.Int8))
    assert values(df, "ild", features="x") == pytest.approx([2 / 3, 0, 2 / 3])


def test_null_groups_are_in_no_group() -> None:
    df = SIX.with_columns(by=pl.when(pl.col("doc_id") != "a").then("by"))
    weights = [1 / math.log2(i + 1) for i in range(1, 7)]
    in_m = weights[1] + weights[3]
    assert values(df, "group_exposure(group=M)", group="by") == pytest.approx([in_m / sum(weights)])
    assert values(df, "awrf(group=M)", group="by") == pytest.approx([abs(in_m / sum(weights[1:]) - 2 / 5)])
    nobody = SIX.with_columns(by=pl.lit(None, dtype=pl.String))
    assert values(nobody, "awrf", group="by") == [None]
    assert values(nobody, "ndkl", group="by") == [0]


def test_items_without_categories_have_none() -> None:
    df = RECS.with_columns(genre=pl.lit(None, dtype=pl.List(pl.String)))
    assert values(df, "category_diversity", category="genre") == [0, 0, 0]
    assert values(df, "category_entropy", category="genre") == [None, None, None]


def test_ids_of_other_whole_and_text_types_are_compared() -> None:
    df = RECS.with_columns(doc_id=pl.col("doc_id").cast(pl.Categorical))
    assert values(df, "novelty", interactions=TRAIN) == pytest.approx([2, 5 / 3, 2])
    number = {doc: i for i, doc in enumerate("abcdef")}
    ids = [x.with_columns(doc_id=pl.col("doc_id").replace_strict(number)) for x in (RECS, TRAIN)]
    for kind in (pl.UInt8, pl.Int32, pl.UInt64):
        assert values(ids[0], "unseen", interactions=ids[1].cast({"doc_id": kind})) == [1, 1, 1]
        assert values(ids[0], "novelty", interactions=ids[1].cast({"doc_id": kind})) == pytest.approx([2, 5 / 3, 2])


@each("name", [name for name, metric in rf.METRICS.items() if metric.needs and {*metric.needs} <= {*ROLES}])
def test_a_metric_needs_the_roles_that_it_declares(name: str) -> None:
    metric = rf.METRICS[name]
    options = {"group": "M"} if "group" in metric.parameters else {}
    needed = {role: ROLES[role] for role in metric.needs}
    for role in metric.needs:
        lacking = {other: x for other, x in ROLES.items() if other in metric.needs and other != role}
        lacking = {other: x for other, x in lacking.items() if other != "category" or "items" in lacking}
        with pytest.raises(rf.InvalidOption, match=rf"{name}.*: it needs .*; say df\.rank\.on\((\w+)="):
            getattr(JUDGED.rank.on(**lacking).metrics, name)(**options)
    df = JUDGED.with_columns(x=pl.lit(1.0), y=0, z=0, by=pl.lit("M"), genre=pl.lit("g"))
    assert getattr(df.rank.on(**needed).metrics, name)(**options).height == 3


def test_a_ranker_with_other_tables_is_pickled_with_them() -> None:
    setup = pickle.loads(pickle.dumps(RECS.rank.on(**ROLES)._setup))
    assert setup.background.interactions.frame.equals(TRAIN)
    assert (
        RECS.rank.on(interactions=setup.background.interactions)
        .metrics.novelty()
        .equals(RECS.rank.on(interactions=TRAIN).metrics.novelty())
    )


def test_the_catalog_may_be_a_number_or_ids() -> None:
    wanted = values(JUDGED, "serendipity@3", interactions=TRAIN, items=CATALOG)
    for items in (
        6,
        [*"abcdef"],
        pl.Series([*"abcdefa"]),
        CATALOG.select("doc_id").lazy(),
        CATALOG.to_pandas()["doc_id"],
    ):
        assert values(JUDGED, "serendipity@3", interactions=TRAIN, items=items) == wanted
    with pytest.raises(rf.InvalidOption, match=r"^items=0: write a whole number from 1 to 1,000,000,000,000,000"):
        JUDGED.rank.on(items=0)


@pytest.mark.filterwarnings("ignore:the interval of ")
def test_decisions_and_slices_work_on_tables_without_labels() -> None:
    df = RECS.with_columns(new=-pl.col("score"), part=pl.col("query_id").replace({"u3": "u1"}))
    ranker = df.rank.on(interactions=TRAIN)
    means = ranker.summarize("novelty@2", by="part", ci=None).sort("part")
    assert means["mean"].to_list() == pytest.approx([2.0, 1.5])
    table = ranker.compare("novelty@1", "unseen", runs=["score", "new"], resamples=99).table
    assert table["difference"].to_list() == pytest.approx([1 / 3, 0])
    verdict = ranker.gate({"novelty@1": 0.01}, runs=["score", "new"], baseline="score", resamples=99)
    assert verdict.table["difference"].to_list() == pytest.approx([1 / 3])
    assert verdict.moved["doc_id"].to_list() == ["b", "f"]  # in the second user's list the first item changes


@pytest.mark.filterwarnings("ignore:the interval of ")
def test_a_report_of_a_table_without_labels_tells_of_the_other_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(item_plots, "RESAMPLES", 50)  # tests/items has the intervals themselves
    df = RECS.with_columns(new=-pl.col("score"))
    path = df.rank.on(interactions=TRAIN, items=6).report(tmp_path / "a.html", "novelty@2", runs=["score", "new"])
    page = Path(path).read_text(encoding="utf-8")
    assert "8 rows of query_id, doc_id" in page
    assert (
        df.rank.on(interactions=TRAIN)
        .compare("novelty", runs=["score", "new"], resamples=99)
        .settings["policies"]["interactions"]
    )


def test_the_command_line_reads_the_other_tables(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    number = {"u1": 1, "u2": 2, "u3": 3, "u4": 4}
    names = {"query_id": "user", "doc_id": "item"}
    for name, df in {"run": JUDGED, "train": TRAIN, "items": CATALOG.with_columns(genre=pl.lit("g"))}.items():
        if "query_id" in df.columns:  # ids of a text file are text there, and numbers in a table beside it
            df = df.with_columns(pl.col("query_id").replace_strict(number))
        df.rename(names, strict=False).write_csv(tmp_path / f"{name}.csv")
    asked = ["novelty@3", "unseen", "serendipity@3", "category_diversity", "ild@3"]
    arguments = ["--query", "user", "--doc", "item", "--interactions", str(tmp_path / "train.csv"), "--items"]
    arguments += [str(tmp_path / "items.csv"), "--category", "genre", "--features", "x,y,z", "--format", "csv"]
    assert main(["evaluate", str(tmp_path / "run.csv"), "-m", ",".join(asked), *arguments]) == 0
    rows = [line.split(",")[:2] for line in capsys.readouterr().out.splitlines()[1:]]
    found = {metric: float(mean) for metric, mean in rows}
    assert found["novelty@3"] == pytest.approx(1.888889, abs=1e-6)
    assert found["serendipity@3"] == pytest.approx((0.0555556 * 2 + 0.2222222) / 3, abs=1e-6)
    assert found["ild@3"] == pytest.approx((0.528595 * 2 + 0.597631) / 3, abs=1e-6)
    with pytest.raises(SystemExit):
        main(["evaluate", str(tmp_path / "run.csv"), "--interactions", "train.txt"])
    assert (
        "'train.txt' cannot be read: it ends in none of .csv, .tsv, .ndjson, .jsonl, .parquet"
        in capsys.readouterr().err
    )
    assert main(["evaluate", str(tmp_path / "run.csv"), "--items", str(tmp_path / "no.csv")]) == 2
    assert "no.csv' cannot be read" in capsys.readouterr().err


def test_ids_in_other_tables_of_the_command_line_are_text_as_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of two documents shown to user 007, who has seen 1e3, one is unseen; 3 of 4 items of the catalog are shown."""
    monkeypatch.chdir(tmp_path)
    Path("a.run").write_text("007 Q0 1e3 1 2 t\n007 Q0 12 2 1 t\n8 Q0 010 1 1 t\n")
    Path("train.csv").write_text("query_id,doc_id\n007,1e3\n")
    Path("items.tsv").write_text("item\n1e3\n12\n010\n099\n")
    assert (
        main(["evaluate", "a.run", "-m", "unseen", "--interactions", "train.csv", "--per-query", "--format", "csv"])
        == 0
    )
    assert capsys.readouterr().out == "query_id,unseen\n007,0.5\n8,1.0\n"
    asked = "-m coverage@10 --items items.tsv --doc item --resamples 99 --format csv"
    Path("t.csv").write_text("query_id,item,score\n007,1e3,2\n007,12,1\n8,010,1\n")
    assert main(["catalog", "t.csv", *asked.split()]) == 0
    assert capsys.readouterr().out.splitlines()[1].startswith("coverage@10,0.75,")


def test_fairness_of_a_list_without_documents_is_null_and_not_0() -> None:
    """Their groups are known, and no rank has a weight."""
    df = pl.DataFrame(
        {"query_id": [1, 1, 2], "doc_id": ["a", "b", "a"], "score": [None, None, 1.0], "by": ["M", "F", "M"]}
    )
    assert df.rank.on(group="by").evaluate("awrf(group=F,weight=0.5)").to_series(1).to_list() == [None, 0.0]
