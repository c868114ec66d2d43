"""Catalog metrics: against plain Python, laws that hold for all of them, and tables that hurt."""

from __future__ import annotations

import math
import random
import re
from typing import Any

import pandas as pd
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rankframe as rf
from tests.support.each import each
from tests.support.errors_of_plans import raised_by_plan

from .oracles import ORACLES, group_exposure_ratio, popularity_lift

SEEDS = range(3)
METRICS = sorted(ORACLES)
CATALOG = [f"i{i}" for i in range(30)]


def drawn(seed: int, users: int = 12) -> tuple[pl.DataFrame, dict[object, list[str]]]:
    """Lists of random lengths, some of them empty, and the table of them, its rows in random order."""
    draw = random.Random(seed)
    lists: dict[object, list[str]] = {}
    rows: list[tuple[str, str, float | None]] = []
    for user in (f"u{i}" for i in range(users)):
        lists[user] = draw.sample(CATALOG[: draw.choice([5, 10, 25])], draw.randint(0, 5))
        rows += [(user, item, -float(place)) for place, item in enumerate(lists[user])]
        rows.append((user, "i29", None))  # an item that is not shown, as a judged one may be
    draw.shuffle(rows)
    return pl.DataFrame(rows, {"query_id": pl.String, "doc_id": pl.String, "score": pl.Float64}, orient="row"), lists


def values(frame: Any, *metrics: str, **options: Any) -> dict[str, float | None]:
    found = frame.rank.items.catalog(*metrics, **{"items": CATALOG, "ci": None, **options}).lazy().collect()
    return dict(zip(found["metric"], found["value"], strict=True))


def close(found: float | None, expected: float) -> bool:
    return found is None if math.isnan(expected) else found == pytest.approx(expected, rel=1e-12, abs=1e-12)


@each("seed", SEEDS)
@each("k", [None, 1, 3])
def test_the_values_are_those_of_plain_python(seed: int, k: int | None) -> None:
    frame, lists = drawn(seed)
    cut = {user: items[:k] for user, items in lists.items()}
    at = "" if k is None else f"@{k}"
    found = values(frame, *(name + at for name in METRICS))
    for name in METRICS:
        assert close(found[name + at], ORACLES[name](cut, CATALOG)), name


@each("seed", SEEDS)
def test_popularity_lift_is_that_of_plain_python(seed: int) -> None:
    frame, lists = drawn(seed)
    draw = random.Random(seed + 100)
    past = {f"u{i}": {*draw.sample(CATALOG[:12], draw.randint(1, 4))} for i in range(3, 20)}
    train = pl.DataFrame([(u, i) for u, items in past.items() for i in items] * 2, ["query_id", "doc_id"], orient="row")
    found = values(frame, "popularity_lift@3", interactions=train)["popularity_lift@3"]
    assert close(found, popularity_lift({u: items[:3] for u, items in lists.items()}, {**past}))


@each("seed", SEEDS)
def test_the_ratio_of_exposure_of_groups_is_that_of_plain_python_also_in_parts(seed: int) -> None:
    frame, lists = drawn(seed)
    draw = random.Random(seed)
    groups = {item: draw.choice(["x", "y", "z", None]) for item in CATALOG}
    items = pl.DataFrame({"doc_id": [*groups], "maker": [*groups.values()]})
    expected = group_exposure_ratio({user: shown[:3] for user, shown in lists.items()}, groups)
    ranker = frame.rank.on(items=items, group="maker")
    found = ranker.items.catalog("group_exposure_ratio@3", resamples=99).row(0, named=True)
    assert close(found["value"], expected)
    assert 0 <= found["ci_low"] <= expected <= found["ci_high"] <= 1
    users = pl.col("query_id").is_in([*lists][:5])
    days = [part.rank.on(items=items, group="maker") for part in (frame.filter(users), frame.filter(~users))]
    one, other = (day.items.counts("group_exposure_ratio@3") for day in days)
    assert close(one.merge(other).catalog()["value"].item(), expected)


def test_every_catalog_metric_has_an_oracle() -> None:
    of_groups = {
        "group_exposure_gap",
        "rsp",
        "reo",
        "bias_disparity",
        "attention_relevance_gap",
    }  # in test_item_groups.py
    assert {*ORACLES, "popularity_lift", "group_exposure_ratio", *of_groups} == {*rf.CATALOG_METRICS}


# laws


@each("seed", SEEDS)
def test_an_item_that_nobody_is_shown_lowers_coverage_and_raises_gini(seed: int) -> None:
    frame, _ = drawn(seed)
    names = ("coverage", "gini", "exposure_gini")
    before, after = (values(frame, *names, items=items) for items in (CATALOG, [*CATALOG, "new"]))
    assert after["coverage"] < before["coverage"]  # type: ignore[operator]
    assert after["gini"] > before["gini"]  # type: ignore[operator]
    assert after["exposure_gini"] > before["exposure_gini"]  # type: ignore[operator]


def test_lists_that_all_show_all_items_are_covered_equal_and_not_personal() -> None:
    frame = pl.DataFrame({"query_id": [1, 1, 2, 2], "doc_id": list("abba"), "score": [2, 1, 2, 1]})
    names = ("coverage", "gini", "entropy", "personalization")
    assert values(frame, *names, items=2) == pytest.approx(dict(zip(names, (1.0, 0.0, 1.0, 0.0), strict=True)))


def test_an_item_that_takes_all_places_has_a_normalized_gini_of_1() -> None:
    frame = pl.DataFrame({"query_id": [1, 2], "doc_id": ["a", "a"], "score": [1, 1]})
    assert values(frame, "gini(normalized=True)", items=7) == {"gini(normalized=True)": pytest.approx(1.0)}


@each("seed", SEEDS, sample=1)
def test_the_order_of_rows_changes_neither_values_nor_intervals(seed: int) -> None:
    frame, _ = drawn(seed)
    found, again = (
        x.rank.items.catalog(*METRICS, items=CATALOG, resamples=120)
        for x in (frame, frame.sample(fraction=1, shuffle=True, seed=seed))
    )
    assert_frame_equal(found, again, check_exact=True)


@each("seed", SEEDS)
def test_names_of_users_and_items_do_not_matter(seed: int) -> None:
    frame, _ = drawn(seed)
    numbered = frame.with_columns(
        (-pl.col("query_id").str.slice(1).cast(pl.Int64)).alias("query_id"),
        pl.col("doc_id").str.slice(1).cast(pl.Int32),
    )
    assert values(numbered, *METRICS, items=30) == pytest.approx(values(frame, *METRICS), nan_ok=True)


@each("seed", SEEDS, sample=1)
def test_one_slice_equals_the_table(seed: int) -> None:
    frame, _ = drawn(seed)
    table = frame.rank.items.catalog(*METRICS, items=CATALOG, resamples=39)
    sliced = frame.with_columns(day=pl.lit("mo")).rank.items.catalog(*METRICS, items=CATALOG, by="day", resamples=39)
    assert sliced.columns == ["day", *table.columns]
    assert_frame_equal(sliced.drop("day"), table, check_exact=True)


@each("seed", SEEDS, sample=1)
def test_each_slice_equals_a_table_of_its_own(seed: int) -> None:
    frame, _ = drawn(seed)
    frame = frame.with_columns(side=pl.col("query_id").str.slice(-1).is_in(["1", "2", "5"]))
    found = frame.rank.items.catalog(*METRICS, items=CATALOG, by="side", resamples=39)
    for (side,), part in frame.group_by("side"):
        alone = part.rank.items.catalog(*METRICS, items=CATALOG, resamples=39)
        assert_frame_equal(found.filter(pl.col("side") == side).drop("side"), alone, check_exact=True)


def test_the_runs_of_a_table_are_slices() -> None:
    frame, _ = drawn(1)
    runs = pl.concat([frame.with_columns(run=pl.lit("old")), frame.head(9).with_columns(run=pl.lit("new"))])
    found = runs.rank.on(query=["run", "query_id"]).items.catalog("coverage", items=CATALOG, by="run", ci=None)
    assert found["run"].to_list() == ["old", "new"]
    assert found["value"].to_list() == [values(x, "coverage")["coverage"] for x in (frame, frame.head(9))]


@each("seed", SEEDS, sample=1)
def test_all_kinds_of_frames_give_the_same(seed: int) -> None:
    frame, _ = drawn(seed)
    found = frame.rank.items.catalog(*METRICS, items=CATALOG, resamples=39)
    lazy = frame.lazy().rank.items.catalog(*METRICS, items=pl.LazyFrame({"doc_id": CATALOG}), resamples=39)
    assert lazy.collect_schema() == found.schema
    assert_frame_equal(lazy.collect(), found, check_exact=True)
    pandas = frame.to_pandas()
    for items in (CATALOG, pd.Series(CATALOG), pd.DataFrame({"doc_id": CATALOG, "other": 1}), pl.Series(CATALOG)):
        of_pandas = pandas.rank.items.catalog(*METRICS, items=items, resamples=39)
        assert of_pandas["metric"].to_list() == found["metric"].to_list()
        for name in ("value", "ci_low", "ci_high"):
            assert of_pandas[name].to_list() == pytest.approx(found[name].fill_null(math.nan).to_list(), nan_ok=True)


@each("seed", SEEDS)
def test_values_and_ends_stay_within_the_bounds_and_the_interval_holds_the_value(seed: int) -> None:
    frame, _ = drawn(seed)
    found = frame.rank.items.catalog(*METRICS, items=CATALOG, resamples=99)
    for row in found.iter_rows(named=True):
        low, high = rf.CATALOG_METRICS[row["metric"]].bounds
        assert (low or 0) <= row["ci_low"] <= row["value"] <= row["ci_high"] <= (math.inf if high is None else high)


def test_equal_seeds_give_equal_intervals_and_others_do_not() -> None:
    frame, _ = drawn(0)
    ends = [frame.rank.items.catalog("entropy", resamples=150, seed=seed).row(0) for seed in (3, 3, 4)]
    assert ends[0] == ends[1] != ends[2]


def test_a_metric_of_ones_own_is_measured_with_an_interval() -> None:
    @rf.catalog_metric("most", bounds=(0, 1))
    def top_share(e: rf.Exposure, k: int | None = None) -> pl.Expr:
        """The share of the item shown most often."""
        return e.share(k).max()

    try:
        frame = pl.DataFrame({"query_id": [1, 1, 2, 2], "doc_id": list("abac"), "score": [2, 1, 2, 1]})
        assert values(frame, "most@2", items=None) == {"top_share@2": 0.5}
        found = frame.rank.items.catalog(top_share, resamples=99)
        assert found["metric"].to_list() == ["top_share"]
        assert found["ci_low"].item() is not None
    finally:
        rf.unregister(top_share)
    assert "top_share" not in rf.CATALOG_METRICS


# tables that hurt


def test_empty_lists_cover_nothing_and_have_no_shares() -> None:
    frame = pl.DataFrame({"query_id": [1, 2], "doc_id": ["a", "b"], "score": pl.Series([None, None], dtype=pl.Float64)})
    found = frame.rank.items.catalog(*METRICS, items=CATALOG, unknown_items="drop", resamples=50)
    by_name = dict(zip(found["metric"], found["value"], strict=True))
    assert by_name == {
        **dict.fromkeys(("coverage", "aggregate_diversity", "user_coverage"), 0.0),
        **dict.fromkeys(("gini", "exposure_gini", "entropy", "hhi", "simpson", "personalization"), None),
    }
    assert found["n_queries"].to_list() == [2] * len(METRICS)


def test_one_user_has_no_personalization_and_no_interval() -> None:
    frame = pl.DataFrame({"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2.0, 1]})
    found = frame.rank.items.catalog("personalization", "coverage", items=4)
    assert found.select("value", "ci_low", "ci_high").rows() == [(None, None, None), (0.5, None, None)]


def test_a_table_without_rows_has_users_and_values_of_nothing() -> None:
    frame = pl.DataFrame(schema={"query_id": pl.Int64, "doc_id": pl.String, "score": pl.Float64})
    found = frame.rank.items.catalog("aggregate_diversity", "gini", items=4)
    assert found.select("value", "n_queries").rows() == [(0.0, 0), (None, 0)]


def test_a_null_user_is_a_user() -> None:
    frame = pl.DataFrame({"query_id": [1, None], "doc_id": ["a", "b"], "score": [2.0, 1]})
    found = frame.rank.items.catalog("personalization", "user_coverage", ci=None)
    assert found.select("value", "n_queries").rows() == [(1.0, 2), (1.0, 2)]


@each("kind", [pl.Categorical(), pl.Enum(CATALOG)])
def test_categories_are_compared_with_a_list_of_texts(kind: pl.DataType) -> None:
    frame, _ = drawn(2)
    as_categories = frame.with_columns(pl.col("doc_id").cast(kind))
    assert values(as_categories, *METRICS) == pytest.approx(values(frame, *METRICS))


def test_ties_follow_the_policy_of_the_table() -> None:
    frame = pl.DataFrame({"query_id": [1, 1], "doc_id": ["a", "b"], "score": [1.0, 1.0]})
    assert frame.rank.items.exposure(k=1)["doc_id"].to_list() == ["b"]
    assert frame.rank.on(ties="doc_asc").items.exposure(k=1)["doc_id"].to_list() == ["a"]


def test_unknown_items_are_left_out_if_asked_and_the_others_keep_their_ranks() -> None:
    frame = pl.DataFrame({"query_id": [1, 1, 2], "doc_id": ["strange", "a", "a"], "score": [2.0, 1, 1]})
    options = {"items": ["a", "b"], "unknown_items": "drop"}
    found = values(frame, "coverage@1", "coverage@2", "user_coverage@1", "user_coverage@2", **options)
    assert found == {"coverage@1": 0.5, "coverage@2": 0.5, "user_coverage@1": 0.5, "user_coverage@2": 1.0}


PAST = pl.DataFrame({"query_id": ["u0", "u1", "u1"], "doc_id": ["i0", "i0", "i1"]})


@each("seed", SEEDS)
def test_tables_that_on_names_are_those_of_arguments(seed: int) -> None:
    frame, _ = drawn(seed)
    asked = "coverage@3", "gini@3", "popularity_lift@3"
    expected = frame.rank.items.catalog(*asked, items=CATALOG, interactions=PAST, ci=None)
    bound: dict[str, Any] = {"items": CATALOG, "interactions": PAST}
    assert_frame_equal(frame.rank.on(**bound).items.catalog(*asked, ci=None), expected)
    assert_frame_equal(frame.lazy().rank.on(**bound).items.catalog(*asked, ci=None).collect(), expected)
    in_pandas: Any = frame.to_pandas().rank
    found = in_pandas.on(items=CATALOG, interactions=PAST.to_pandas()).items.catalog(*asked, ci=None)
    assert found["value"].to_list() == pytest.approx(expected["value"].to_list(), rel=1e-15, nan_ok=True)
    counted = frame.rank.on(items=CATALOG, interactions=PAST).items.counts(*asked).catalog()
    assert_frame_equal(counted, expected)


def test_a_table_that_is_an_argument_takes_precedence_over_that_of_on() -> None:
    frame, _ = drawn(0)
    bound = frame.rank.on(items=999, interactions=PAST.head(1))
    found = bound.items.catalog("coverage@3", "popularity_lift@3", items=CATALOG, interactions=PAST, ci=None)
    expected = frame.rank.items.catalog("coverage@3", "popularity_lift@3", items=CATALOG, interactions=PAST, ci=None)
    assert_frame_equal(found, expected)


def test_a_comparison_of_runs_takes_the_tables_of_on() -> None:
    frame = drawn(0)[0].with_columns(new=pl.col("score") * -1)
    asked = "coverage@1", "popularity_lift@1"
    found = (
        frame.rank.on(items=CATALOG, interactions=PAST).items.compare(*asked, runs=["score", "new"], resamples=99).table
    )
    expected = frame.rank.items.compare(
        *asked, items=CATALOG, interactions=PAST, runs=["score", "new"], resamples=99
    ).table
    assert_frame_equal(found, expected)


def test_one_table_of_interactions_serves_metrics_of_users_and_of_the_catalog() -> None:
    frame = pl.DataFrame({"query_id": ["u0", "u1"], "doc_id": ["i1", "i0"], "score": [1.0, 1.0]})
    ranker = frame.rank.on(items=["i0", "i1", "i2", "i3"], interactions=PAST)
    assert ranker.evaluate("mean_popularity")["mean_popularity"].to_list() == [1.0, 2.0]
    # of two users with a past one has i1, both have i0: lists 1/2 and 1; pasts 1 and 3/4
    found = ranker.items.catalog("coverage", "popularity_lift", ci=None)["value"].to_list()
    assert found == [0.5, pytest.approx((0.75 - 0.875) / 0.875)]


def test_counts_of_items_are_no_past_for_metrics_of_the_catalog() -> None:
    counts = pl.DataFrame({"doc_id": ["i0"], "n": [3]})
    ranker = drawn(0)[0].rank.on(interactions=counts)
    assert ranker.items.catalog("aggregate_diversity", ci=None).height == 1
    with pytest.raises(rf.InvalidOption, match="a frame with a row per user and item"):
        ranker.items.catalog("popularity_lift")


@each("narrow", [pl.Int32, pl.UInt8])
def test_whole_numbers_of_another_width_are_the_same_items_and_users(narrow: type[pl.DataType]) -> None:
    frame = pl.DataFrame({"query_id": [1, 1, 2], "doc_id": [1, 2, 1], "score": [2.0, 1, 1]})
    past = pl.DataFrame({"query_id": [1, 2], "doc_id": [1, 2]}, schema={"query_id": narrow, "doc_id": narrow})
    expected = values(frame, "coverage", "popularity_lift", items=[1, 2, 3], interactions=past.cast(pl.Int64))
    found = values(frame, "coverage", "popularity_lift", items=pl.Series([1, 2, 3], dtype=narrow), interactions=past)
    assert found == expected
    assert (
        frame.rank.items.without(past)["doc_id"].to_list()
        == frame.rank.items.without(past.cast(pl.Int64))["doc_id"].to_list()
        == [2, 1]
    )


LISTS = pl.DataFrame({"query_id": [1, 1, 2], "doc_id": ["a", "b", "a"], "score": [2.0, 1, 1], "group": ["x", "y", "x"]})


@each(
    ("asks", "message"),
    [
        (lambda r: r.items.catalog("coverage@10"), "coverage@10 divides by the number of items"),
        (lambda r: r.items.catalog("gini"), "say items=1000"),
        (lambda r: r.items.catalog("group_exposure_ratio", items=["a", "b"]), "give the items of the catalog, as"),
        (lambda r: r.on(group="group").items.catalog("group_exposure_ratio", items=2), "give the items of the catalog, as"),
        (lambda r: r.items.catalog("popularity_lift"), "say interactions=train"),
        (lambda r: r.items.catalog("coverage", items=1), "items=1, but 2 different items are shown"),
        (lambda r: r.items.catalog("coverage", items=0), "from 1 to"),
        (lambda r: r.items.catalog("coverage", items=True), "is no catalog"),
        (lambda r: r.items.catalog("coverage", items=2.5), "is no catalog"),
        (lambda r: r.items.catalog("coverage", items="abc"), "is no catalog"),
        (lambda r: r.items.catalog("coverage", items=[]), r"^items=\[\] holds no item"),
        (lambda r: r.items.catalog("coverage", items=["a", None]), "column 'doc_id' is null"),
        (lambda r: r.items.catalog("coverage", items=["a", 1]), "a list of ids of one type"),
        (lambda r: r.items.catalog("coverage", items=[1, 2]), "is String in the table and Int64 in items"),
        (lambda r: r.items.catalog("coverage", items=["a"]), r"1 rows show 1 items that the catalog lacks \('b'\)"),
        (lambda r: r.items.catalog("coverage", items=pl.DataFrame({"doc_id": [1]})), "is String in the table and Int64 in items"),
        (lambda r: r.items.catalog("coverage", items=pl.DataFrame({"item_id": ["a"]})), r"items\.rename\(\{'item_id': 'doc_id'\}\)"),
        (lambda r: r.items.catalog("popularity_lift", interactions=3), "is no frame"),
        (lambda r: r.items.catalog("popularity_lift", interactions=pl.DataFrame({"x": [1]})), "interactions has x"),
        (lambda r: r.items.catalog("ndcg@10"), r"Did you mean 'ndcg' \(of evaluate\)"),
        (lambda r: r.items.catalog("coverage(relevant=2)", items=9), "takes no threshold of relevance"),
        (lambda r: r.items.catalog("coverage@0", items=9), "a whole number from 1 on"),
        (lambda r: r.items.catalog("user_coverage(least=0)"), r"user_coverage\(least=0\): write a whole number from 1 on"),
        (lambda r: r.items.catalog("exposure_gini(weight=lg)", items=9), "one of 'count', 'log2', 'rbp'"),
        (lambda r: r.items.catalog(), "no metric given"),
        (lambda r: r.items.catalog("entropy", by="group"), "several values of 'group'"),
        (lambda r: r.items.catalog("entropy", by="grup"), "Did you mean 'group'"),
        (lambda r: r.items.catalog("entropy", ci=2), "between 0 and 1"),
        (lambda r: r.items.catalog("entropy", unknown_items="keep"), "write one of 'error', 'drop'"),
        (lambda r: r.items.exposure(k=0), "a whole number from 1 on"),
        (lambda r: r.items.exposure(weight="lg2"), r"Did you mean 'log2'\?"),
        (lambda r: r.items.exposure(weight="rbp(p=2)"), "p=2.0: write a number between 0 and 1"),
        (lambda r: r.items.exposure(weight="rbp(p=x)"), r"weight='rbp\(p=x\)': write one of 'count', 'log2', 'rbp'"),
        (lambda r: r.items.exposure(weight=2), "write one of"),
        (lambda r: r.on(ties="expected").items.exposure(), "with_ranks needs one"),
        (lambda r: r.on(doc=None).items.exposure(), "no column names the items"),
    ],
)  # fmt: skip
def test_what_has_no_answer_is_refused_with_advice(asks: Any, message: str) -> None:
    with pytest.raises(rf.RankframeError, match=message):
        asks(LISTS.rank)


def test_an_item_that_is_null_is_refused() -> None:
    frame = LISTS.with_columns(doc_id=pl.Series([None, "b", "a"]))
    with pytest.raises(rf.InvalidData, match=r"df\.drop_nulls\('doc_id'\) \(found in 1 row\)"):
        frame.rank.items.exposure()
    with pytest.raises(rf.InvalidData, match=r"df\.dropna\(subset=\['doc_id'\]\)"):
        frame.to_pandas().rank.items.exposure()
    with raised_by_plan(rf.InvalidData, match=r"df\.drop_nulls\('doc_id'\) \(found in 1 row\)"):
        frame.lazy().rank.items.exposure().collect()


JUDGED_LISTS = LISTS.with_columns(label=pl.Series([1.0, 0.0, 1.0]))
FAULTY = {
    "a score that is NaN": (
        JUDGED_LISTS.with_columns(score=pl.Series([math.nan, 1.0, 1.0])),
        "(found in 1 row: query_id=1, doc_id='a')",
    ),
    "an item twice": (
        JUDGED_LISTS.with_columns(query_id=pl.lit(1), doc_id=pl.lit("a")),
        "(found in 3 rows: query_id=1, doc_id='a')",
    ),
    "several values of a slice": (
        JUDGED_LISTS.with_columns(query_id=pl.lit(1), doc_id=pl.Series(["a", "b", "c"]), by=pl.Series([1, 2, 3])),
        "a query has several values of 'by'",
    ),
    "a label that is infinite": (
        LISTS.with_columns(label=pl.Series([math.inf, 1.0, 1.0])),
        "(found in 1 row: query_id=1, doc_id='a')",
    ),
}


@each("fault", FAULTY)
@each("verb", ["catalog", "exposure"])
@each("engine", ["in-memory", "streaming"])
def test_a_faulty_lazy_table_is_refused_with_its_rows_when_the_plan_runs(verb: str, fault: str, engine: Any) -> None:
    frame, said = FAULTY[fault]
    metrics = {"catalog": ["attention_relevance_gap(across=items)"], "exposure": []}[verb]
    lazy = getattr(frame.lazy().rank.items, verb)(*metrics, by="by" if "by" in frame.columns else None)
    with raised_by_plan(rf.InvalidData, match=re.escape(said)):
        lazy.collect(engine=engine)


def test_a_null_item_that_is_not_shown_does_not_matter() -> None:
    frame = LISTS.with_columns(doc_id=pl.Series([None, "b", "a"]), score=pl.Series([None, 1.0, 1.0]))
    assert frame.rank.items.exposure()["doc_id"].to_list() == ["a", "b"]


def test_a_formula_with_a_value_per_item_is_refused() -> None:
    @rf.catalog_metric
    def per_item(e: rf.Exposure) -> pl.Expr:
        return e.shown()

    try:
        with pytest.raises(rf.InvalidOption, match="per_item gives 2 values, one for each item"):
            LISTS.rank.items.catalog("per_item")
        with pytest.raises(rf.InvalidOption, match="per_item gives 2 values"):
            LISTS.rank.items.counts("per_item").catalog()
    finally:
        rf.unregister("per_item")


@each(
    "declare",
    [
        lambda: rf.catalog_metric("Coverage")(lambda e: e.n_items),
        lambda: rf.catalog_metric(3),
        lambda: rf.catalog_metric("x")(lambda e: e.n_items),
    ],
)
def test_a_declaration_that_clashes_is_refused(declare: Any) -> None:
    before = dict(rf.CATALOG_METRICS)
    with pytest.raises(rf.InvalidOption):
        declare()
    assert dict(rf.CATALOG_METRICS) == before


def test_the_librarys_own_catalog_metrics_stay() -> None:
    with pytest.raises(rf.InvalidOption, match="which stays"):
        rf.unregister("coverage")


@each("dtype", [pl.Int64, pl.UInt32, pl.String, pl.Categorical])
def test_popularity_lift_takes_items_of_any_type(dtype: pl.DataType) -> None:
    # by hand: items 1 and 2 are shown, 1 was chosen by 1 of 2 users, 2 by none; the users' own are as popular as 1/2
    recs = pl.DataFrame(
        {"query_id": [1, 1], "doc_id": pl.Series([1, 2]).cast(pl.String).cast(dtype), "score": [2.0, 1.0]}
    )
    train = pl.DataFrame({"query_id": [1, 2], "doc_id": pl.Series([1, 3]).cast(pl.String).cast(dtype)})
    assert recs.rank.items.catalog("popularity_lift@2", interactions=train, ci=None)["value"].item() == -0.5
    assert recs.rank.items.counts("popularity_lift@2", interactions=train).catalog()["value"].item() == -0.5


@each("length", range(1, 8))
def test_personalization_is_within_its_bounds_whatever_roots_add_up_to(length: int) -> None:
    users = pl.DataFrame({"query_id": [0, 1, 2]}).join(
        pl.DataFrame({"doc_id": range(length), "score": 1.0}), how="cross"
    )
    own = users.with_columns(pl.col("doc_id") + 100 * pl.col("query_id"))
    same, apart = (x.rank.items.catalog("personalization", ci=None)["value"].item() for x in (users, own))
    assert (same, apart) == (pytest.approx(0, abs=1e-12), pytest.approx(1))
    assert 0 <= same <= apart <= 1
