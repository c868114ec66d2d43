"""The worked values of catalog metrics and exposure: a small table whose numbers can be checked by hand."""

from __future__ import annotations

import polars as pl
import pytest

import rankframe as rf
from tests.support.each import each

LISTS = pl.DataFrame(
    {"query_id": ["u1"] * 3 + ["u2"] * 3 + ["u3"] * 3, "doc_id": list("cdebdfcde"), "score": [3.0, 2.0, 1.0] * 3}
)
TRAIN = pl.DataFrame({"query_id": ["u1", "u1", "u2", "u2", "u3", "u3", "u4", "u4"], "doc_id": list("abacabad")})
CATALOG = pl.DataFrame({"doc_id": list("abcdef"), "group": list("xyxyyx")})
JUDGED = pl.concat(
    [
        LISTS.with_columns(label=pl.Series([0, 1, 0, 1, 0, 0, 0, 0, 1])),
        pl.DataFrame(
            {"query_id": ["u3"], "doc_id": ["f"], "score": [None], "label": [1]}, LISTS.schema | {"label": pl.Int64}
        ),
    ]
)
"""The lists with the labels of users, of which one is of an item that is not shown."""

# counts of the six items: a 0, b 1, c 2, d 3, e 2, f 1
VALUES = {
    "coverage@3": 5 / 6,
    "user_coverage@3": 1.0,
    "user_coverage(least=4)@3": 0.0,
    "gini@3": 0.351852,
    "gini(normalized=True)@3": 0.422222,
    "entropy@3": 2.197160,
    "hhi@3": 0.234568,
    "simpson@3": 0.765432,
    "personalization@3": 0.444444,
    "aggregate_diversity@3": 5.0,
    "popularity_lift@3": -0.725490,
    # exposure by 1, 0.63093, 0.5: a 0, b 1, c 2, d 1.892789, e 1, f 0.5; in rising order 0 .5 1 1 1.892789 2
    "exposure_gini@3": (-5 * 0 - 3 * 0.5 - 1 + 1 + 3 * 3 * 0.6309297535714574 + 5 * 2) / (6 * (4.5 + 1.8927892607143721)),
    # exposure by .5, .25, .125: a 0, b .5, c 1, d .75, e .25, f .125
    "exposure_gini(weight=rbp,p=0.5)@3": (-3 * 0.125 - 0.25 + 0.5 + 3 * 0.75 + 5 * 1) / (6 * 2.625),
    "exposure_gini(weight=count)@3": 0.351852,
    # shown: x (a, c, f) 0 + 2 + 1, y (b, d, e) 1 + 3 + 2
    "group_exposure_ratio(weight=count)@3": 0.5,
    # an item of x is shown once, one of y twice
    "group_exposure_gap(weight=count)@3": 1.0,
    "group_exposure_gap(combine=max_min_ratio,weight=count)@3": 2.0,
    "group_exposure_gap(combine=max_deviation,weight=count)@3": 0.5,
    "group_exposure_gap(combine=mean_deviation,weight=count)@3": 0.5,
    "group_exposure_gap(combine=variance,weight=count)@3": 0.25,
    "group_exposure_gap(combine=l2,weight=count)@3": 5**0.5,
    # head (a, b, c, d) 0 + 1 + 2 + 3 of 4 items, tail (e, f) 2 + 1 of 2
    "group_exposure_gap(weight=count,head=0.8)@3": 0.0,
    # x is shown 3 times of 2 + 1 + 2 users' items that they lack, y 6 times of 2 + 3 + 2
    "rsp@3": (6 / 7 - 3 / 5) / (6 / 7 + 3 / 5),
    # six of eight interactions are of a and b, so c, and d with it, are in the head: shown 6 of 6, and the tail 3 of 6
    "rsp(head=0.8)@3": (1 - 1 / 2) / (1 + 1 / 2),
    # the least popular of four items has one user, as another has: a and b are the head, shown 1 of 1, the tail 8 of 11
    "rsp(tail=0.1)@3": (1 - 8 / 11) / (1 + 8 / 11),
    # relevant are d, b and e of y, all shown, and f of x, not shown; d and b of the head, e and f of the tail
    "reo@3": 1.0,
    "reo(head=0.8)@3": (1 - 1 / 2) / (1 + 1 / 2),
    # x has 3 of 9 places, and 4 of the 6 items that the three users had
    "bias_disparity(group=x)@3": (1 / 3 - 2 / 3) / (2 / 3),
    "bias_disparity(group=y)@3": (2 / 3 - 1 / 3) / (1 / 3),
    # attention x 3/9, y 6/9; relevance 1/4, 3/4
    "attention_relevance_gap(weight=count)@3": 2 * (1 / 3 - 1 / 4),
    # attention in ninths b 1, c 2, d 3, e 2, f 1; relevance a quarter each for b, d, e and f
    "attention_relevance_gap(across=items,weight=count)@3": (5 + 8 + 3 + 1 + 5) / 36,
    # relevance of users: d, b, and halves of e and f
    "attention_relevance_gap(shares=list,weight=count)@3": 2 * (1 / 3 - 1 / 6),
    # scores of c, f: 6 + 1 of 18
    "attention_relevance_gap(relevance=score,weight=count)@3": 2 * (7 / 18 - 6 / 18),
}  # fmt: skip


def value_of(frame: pl.DataFrame, metric: str, **options: object) -> float | None:
    found = frame.rank.on(group="group" if isinstance(options.get("items"), pl.DataFrame) else None).items.catalog(
        metric, ci=None, **options
    )
    assert found["metric"].to_list() == [metric]
    value: float | None = found["value"].item()
    return value


@each("metric", VALUES)
def test_a_catalog_metric_has_its_worked_value(metric: str) -> None:
    assert value_of(JUDGED, metric, items=CATALOG, interactions=TRAIN) == pytest.approx(VALUES[metric], abs=5e-7)


@each(
    ("metric", "ratio"),
    [("group_exposure_ratio", 0.602957), ("group_exposure_ratio(weight=rbp,p=0.9)", 0.782271)],
)
def test_two_groups_of_six_items_have_the_ratios_that_fairranktune_prints(metric: str, ratio: float) -> None:
    frame = pl.DataFrame({"query_id": [1] * 6, "doc_id": list("abcdef"), "score": [6.0, 5, 4, 3, 2, 1]})
    items = pl.DataFrame({"doc_id": list("abcdef"), "group": list("MMFMFF")})
    assert value_of(frame, metric, items=items) == pytest.approx(ratio, abs=5e-7)


OF_FAIRRANKTUNE = {
    "group_exposure_ratio": 0.6009084810458546,
    "group_exposure_gap": 0.5412507863194694,
    "group_exposure_gap(combine=max_min_ratio)": 1.6641469234375663,
    "group_exposure_gap(combine=max_deviation)": 0.3113439755424948,
    "group_exposure_gap(combine=mean_deviation)": 0.20756265036166302,
    "group_exposure_gap(combine=variance)": 0.05214140818443055,
    "group_exposure_gap(combine=l2)": 1.9904978868925403,
}
"""EXP of version 0.0.7: MinMaxRatio, MaxMinDiff, MaxMinRatio, MaxAbsDiff, MeanAbsDev, Variance, LTwo."""


@each("metric", OF_FAIRRANKTUNE)
def test_two_rankings_of_three_groups_have_the_numbers_that_fairranktune_prints(metric: str) -> None:
    lists = {"query_id": [1] * 6 + [2] * 6, "doc_id": list("abcdef" + "fdabce"), "score": [6.0, 5, 4, 3, 2, 1] * 2}
    items = pl.DataFrame({"doc_id": list("abcdef"), "group": list("MMFMFO")})
    assert value_of(pl.DataFrame(lists), metric, items=items) == pytest.approx(OF_FAIRRANKTUNE[metric], rel=1e-12)


def test_every_catalog_metric_has_a_worked_value() -> None:
    assert {rf.parse(text, rf.CATALOG_METRICS)[0].metric.name for text in VALUES} == set(rf.CATALOG_METRICS)


@each("metric", VALUES)
def test_the_text_of_a_catalog_metric_reads_back_to_the_same_call(metric: str) -> None:
    (call,) = rf.parse(metric, rf.CATALOG_METRICS)
    assert call.text == metric
    assert rf.parse(call.text, rf.CATALOG_METRICS) == [call]


def test_exposure_counts_adds_up_weights_and_shares_them() -> None:
    labels = LISTS.with_columns(label=pl.Series([0, 1, 0, 1, 0, 0, 0, 0, 1]))
    found = labels.rank.items.exposure(k=2, weight="rbp(p=0.5)")
    # ranks 1 and 2 count .5 and .25: c is twice first, d three times second, b once first
    assert found.rows() == [
        ("c", 2, 1.0, 1.0 / 2.25, 0),
        ("d", 3, 0.75, 0.75 / 2.25, 1),
        ("b", 1, 0.5, 0.5 / 2.25, 1),
    ]


def test_a_discount_by_the_logarithm_gives_rank_2_less_than_two_thirds() -> None:
    found = LISTS.rank.items.exposure(k=2, weight="log2")
    assert found["exposure"].to_list() == pytest.approx([2.0, 3 * 0.6309297535714574, 1.0])


def test_without_labels_nothing_is_known_of_relevance() -> None:
    assert LISTS.rank.items.exposure()["relevant_shown"].to_list() == [None] * 5


def test_a_depth_cuts_the_lists() -> None:
    # of the top 1: c twice, b once
    assert value_of(LISTS, "coverage@1", items=6) == pytest.approx(2 / 6)
    assert value_of(LISTS, "personalization@1") == pytest.approx(1 - 1 / 3)  # one of three pairs is alike


def test_one_item_is_the_least_that_covers_a_user() -> None:
    frame = pl.DataFrame({"query_id": [1, 2, 2], "doc_id": ["a", "a", "b"], "score": [1.0, 2.0, None]})
    assert frame.rank.items.catalog("user_coverage(least=1)", ci=None)["value"].item() == 1
    assert frame.rank.items.catalog("user_coverage(least=2)", ci=None)["value"].item() == 0
