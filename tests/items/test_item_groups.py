"""Metrics that compare groups of items: against plain Python, laws that hold for all of them, and tables that hurt."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rankframe as rf
from tests.support.each import each

from . import oracles

SEEDS = range(4)
ITEMS = [f"i{i:02}" for i in range(18)]
COMBINATIONS = ("max_min_difference", "max_min_ratio", "max_deviation", "mean_deviation", "variance", "l2")


class Table(NamedTuple):
    """Random lists with labels, what users had, and groups of items; and the same as frames."""

    lists: dict[object, list[object]]
    labels: dict[object, dict[object, float]]
    scores: dict[object, dict[object, float]]
    past: dict[object, set[object]]
    groups: dict[object, str | None]
    frame: pl.DataFrame

    @property
    def train(self) -> pl.DataFrame:
        pairs = [(user, item) for user, items in self.past.items() for item in sorted(map(str, items))]
        return pl.DataFrame(pairs, ["query_id", "doc_id"], orient="row")

    @property
    def items(self) -> pl.DataFrame:
        return pl.DataFrame({"doc_id": [*self.groups], "maker": [*self.groups.values()]})

    def ranker(self, frame: Any = None) -> Any:
        frame = self.frame if frame is None else frame
        return frame.rank.on(group="maker", items=self.items, interactions=self.train)

    def relevant(self, least: float) -> dict[object, set[object]]:
        return {user: {item for item, x in of_user.items() if x >= least} for user, of_user in self.labels.items()}


def drawn(seed: int, users: int = 10) -> Table:
    """Lists of random lengths, some empty; items without a group; users without a past, and one item only in the past."""
    draw = random.Random(seed)
    groups: dict[object, str | None] = {item: draw.choice(["x", "y", None]) for item in ITEMS}
    groups |= {ITEMS[0]: "x", ITEMS[1]: "y", ITEMS[17]: "z"}
    lists: dict[object, list[object]] = {}
    labels: dict[object, dict[object, float]] = {}
    scores: dict[object, dict[object, float]] = {}
    rows: list[tuple[object, object, float | None, int | None]] = []
    for user in (f"u{i}" for i in range(users)):
        shown: list[Any] = draw.sample(ITEMS, draw.choice([0, 3, 4, 6]))
        lists[user], scores[user], labels[user] = shown, {}, {}
        for place, item in enumerate(shown):
            scores[user][item] = float(10 - place) / 4
        for item in {*shown, *draw.sample(ITEMS, 3)}:
            label = draw.choice([None, 0, 0, 1, 2, -1])
            labels[user][item] = max(label or 0, 0)
            rows.append((user, item, scores[user].get(item), label))
        if all(row[0] != user for row in rows):
            rows.append((user, ITEMS[5], None, None))
    past: dict[object, set[object]] = {
        f"u{i}": {*draw.sample([*ITEMS[:12], "gone"], draw.randint(1, 5))} for i in range(2, users + 4)
    }
    draw.shuffle(rows)
    schema = {"query_id": pl.String, "doc_id": pl.String, "score": pl.Float64, "label": pl.Int64}
    return Table(lists, labels, scores, past, groups, pl.DataFrame(rows, schema, orient="row"))


def cut(table: Table, k: int | None) -> dict[object, list[object]]:
    return {user: items[:k] for user, items in table.lists.items()}


def log2(rank: int) -> float:
    return 1 / math.log2(rank + 1)


def gap(relevance: str, weight: Callable[[int], float] = log2, *, each: bool = False, items: bool = False) -> Any:
    def of_table(t: Table, k: int | None) -> float:
        groups = {item: str(item) for item in ITEMS} if items else t.groups
        return oracles.attention_relevance_gap(cut(t, k), groups, getattr(t, relevance), weight, each=each)

    return of_table


def by_popularity(t: Table, **options: Any) -> oracles.Groups:
    return oracles.head_and_tail(t.past, ITEMS, **options)


EXPECTED: dict[str, Callable[[Table, int | None], float]] = {
    **{
        f"group_exposure_gap(combine={name})" if name != COMBINATIONS[0] else "group_exposure_gap": (
            lambda t, k, name=name: oracles.group_exposure_gap(cut(t, k), t.groups, name)
        )
        for name in COMBINATIONS
    },
    "group_exposure_gap(tail=0.4)": lambda t, k: oracles.group_exposure_gap(
        cut(t, k), by_popularity(t, tail=0.4), COMBINATIONS[0]
    ),
    "group_exposure_ratio": lambda t, k: oracles.group_exposure_ratio(cut(t, k), t.groups),
    "rsp": lambda t, k: oracles.rsp(cut(t, k), t.groups, t.past),
    "rsp(head=0.6)": lambda t, k: oracles.rsp(cut(t, k), by_popularity(t, head=0.6), t.past),
    "rsp(tail=0.3)": lambda t, k: oracles.rsp(cut(t, k), by_popularity(t, tail=0.3), t.past),
    "reo": lambda t, k: oracles.reo(cut(t, k), t.groups, t.past, t.relevant(1)),
    "reo(relevant=2)": lambda t, k: oracles.reo(cut(t, k), t.groups, t.past, t.relevant(2)),
    "reo(head=0.6)": lambda t, k: oracles.reo(cut(t, k), by_popularity(t, head=0.6), t.past, t.relevant(1)),
    "bias_disparity(group=x)": lambda t, k: oracles.bias_disparity(cut(t, k), t.groups, t.past, "x"),
    "bias_disparity(group=z)": lambda t, k: oracles.bias_disparity(cut(t, k), t.groups, t.past, "z"),
    "bias_disparity(group=tail,head=0.6)": lambda t, k: oracles.bias_disparity(
        cut(t, k), by_popularity(t, head=0.6), t.past, "tail"
    ),
    "attention_relevance_gap": gap("labels"),
    "attention_relevance_gap(across=items)": gap("labels", items=True),
    "attention_relevance_gap(shares=list)": gap("labels", each=True),
    "attention_relevance_gap(relevance=score)": gap("scores"),
    "attention_relevance_gap(across=items,relevance=score,shares=list,weight=rbp,p=0.5)": gap(
        "scores", lambda rank: 0.5**rank, each=True, items=True
    ),
}
"""The plain-Python value of each text."""
TEXTS = [f"{text}{at}" for text in EXPECTED for at in ("", "@3")]
ONE_EACH = [
    "group_exposure_gap",
    "rsp(head=0.6)@3",
    "reo@3",
    "bias_disparity(group=x)",
    "attention_relevance_gap(across=items)@3",
]
"""A text of each metric, for what is computed many times."""


def close(found: float | None, expected: float) -> bool:
    return found is None if math.isnan(expected) else found == pytest.approx(expected, rel=1e-12, abs=1e-12)


def refused(found: Any) -> str:
    with pytest.raises(rf.RankframeError) as error:
        found()
    return str(error.value)


@each("seed", SEEDS)
@each("k", [None, 3])
def test_the_values_are_those_of_plain_python(seed: int, k: int | None) -> None:
    table, at = drawn(seed), "" if k is None else f"@{k}"
    found = table.ranker().items.catalog(*(text + at for text in EXPECTED), ci=None)
    for text, value in zip(EXPECTED, found["value"], strict=True):
        assert close(value, EXPECTED[text](table, k)), text


def test_the_texts_of_these_metrics_read_back_to_the_same_calls() -> None:
    assert [call.text for text in TEXTS for call in rf.parse(text, rf.CATALOG_METRICS)] == TEXTS


@each(
    ("name", "text"),
    [("PopRSP@10", "rsp(head=0.8)@10"), ("popreo", "reo(head=0.8)"), ("IAA@5", "attention_relevance_gap@5")],
)
def test_names_of_other_tools_are_read(name: str, text: str) -> None:
    assert [call.text for call in rf.parse(name, rf.CATALOG_METRICS)] == [text]


@each("seed", SEEDS, sample=2)
def test_merged_parts_have_the_values_of_the_whole_table(seed: int) -> None:
    table = drawn(seed)
    mine = pl.col("query_id").is_in(["u1", "u4", "u5", "u8"])
    one, other = (
        table.ranker(part).items.counts(*TEXTS) for part in (table.frame.filter(mine), table.frame.filter(~mine))
    )
    assert_frame_equal(other.merge(one).catalog(), table.ranker().items.catalog(*TEXTS, ci=None), rel_tol=1e-12)


def test_metrics_that_count_merge_to_the_bit() -> None:
    table = drawn(1)
    texts = [text for text in TEXTS if text.startswith(("rsp", "reo", "bias"))]
    parts = [table.ranker(part).items.counts(*texts) for part in table.frame.partition_by("query_id")]
    found = parts[0].merge(*parts[1:]).catalog()
    assert_frame_equal(found, table.ranker().items.catalog(*texts, ci=None), check_exact=True)


def test_slices_rows_in_any_order_and_kinds_of_frames_change_nothing() -> None:
    table = drawn(2)
    found = table.ranker().items.catalog(*ONE_EACH, resamples=39)
    shuffled = table.frame.sample(fraction=1, shuffle=True, seed=1)
    assert_frame_equal(table.ranker(shuffled).items.catalog(*ONE_EACH, resamples=39), found, check_exact=True)
    sliced = table.ranker(table.frame.with_columns(day=pl.lit("mo"))).items.catalog(*ONE_EACH, by="day", resamples=39)
    assert_frame_equal(sliced.drop("day"), found, check_exact=True)
    assert_frame_equal(
        table.ranker(table.frame.lazy()).items.catalog(*ONE_EACH, resamples=39).collect(), found, check_exact=True
    )
    pandas, values = table.ranker(table.frame.to_pandas()), table.ranker().items.catalog(*TEXTS, ci=None)["value"]
    assert pl.Series(pandas.items.catalog(*TEXTS, ci=None)["value"]).fill_nan(None).to_list() == pytest.approx(
        values.to_list()
    )
    assert pandas.items.counts(*TEXTS).catalog()["value"].to_list() == pytest.approx(values.to_list())


def test_a_slice_has_the_value_of_its_users_alone() -> None:
    table = drawn(3)
    frame = table.frame.with_columns(side=pl.col("query_id").is_in(["u1", "u4", "u5", "u8"]))
    found = table.ranker(frame).items.catalog(*TEXTS, by="side", ci=None)
    for (side,), part in frame.group_by("side"):
        alone = table.ranker(part).items.catalog(*TEXTS, ci=None)
        assert_frame_equal(found.filter(pl.col("side") == side).drop("side"), alone, check_exact=True)


def test_intervals_hold_the_values_within_the_bounds() -> None:
    table = drawn(0, users=15)
    for row in table.ranker().items.catalog(*TEXTS, resamples=39).drop_nulls("value").iter_rows(named=True):
        low, high = rf.parse(row["metric"], rf.CATALOG_METRICS)[0].bounds
        least, most = -math.inf if low is None else low, math.inf if high is None else high
        in_order = least, row["ci_low"], row["value"], row["ci_high"], most
        # libraries of other versions may round a value, and the resamples equal to it, in the last digit
        assert all(x <= y or math.isclose(x, y, rel_tol=1e-15) for x, y in pairwise(in_order)), row["metric"]


def test_every_user_drawn_twice_changes_no_share() -> None:
    table = drawn(1)
    again = table._replace(past=table.past | {f"{user}'": items for user, items in table.past.items()})
    both = pl.concat([table.frame, table.frame.with_columns(pl.col("query_id") + "'")])
    texts = [text for text in TEXTS if "gap(combine" not in text and not text.startswith("group_exposure_gap")]
    one, two = (x.items.catalog(*texts, ci=None) for x in (table.ranker(), again.ranker(both)))
    assert_frame_equal(one.drop("n_queries"), two.drop("n_queries"), rel_tol=1e-12)


def test_runs_are_compared_by_these_metrics_and_a_run_does_not_differ_from_itself() -> None:
    table = drawn(2)
    frame = table.frame.with_columns(other=-pl.col("score") + 9, same=pl.col("score"))
    ranker = table.ranker(frame)
    found = ranker.items.compare(*ONE_EACH, runs=["score", "other", "same"], baseline="score", resamples=39).table
    expected = table.ranker(frame.drop("score").rename({"other": "score"})).items.catalog(*ONE_EACH, ci=None)
    assert found.filter(run="other")["value"].to_list() == expected["value"].to_list()
    assert found.filter(run="same").drop_nulls("value").select("difference", "p_value").unique().rows() == [(0.0, 1.0)]


def test_lists_that_show_groups_as_users_lack_them_have_parity() -> None:
    frame = pl.DataFrame({"query_id": [1, 1, 2, 2], "doc_id": list("acbd"), "score": [2.0, 1, 2, 1], "label": 1})
    items = pl.DataFrame({"doc_id": list("abcd"), "maker": list("xxyy")})
    train = pl.DataFrame({"query_id": [1, 2, 1, 2], "doc_id": list("badc")})
    ranker = frame.rank.on(group="maker", items=items, interactions=train)
    texts = (
        "rsp",
        "reo",
        "bias_disparity(group=x)",
        "attention_relevance_gap(weight=count)",
        "group_exposure_gap(weight=count)",
    )
    assert ranker.items.catalog(*texts, ci=None)["value"].to_list() == [0.0] * 5


# tables that hurt


def small(**options: Any) -> Any:
    frame = pl.DataFrame({"query_id": [1, 1, 2], "doc_id": list("aba"), "score": [2.0, 1, 1], "label": [1, 0, 1]})
    items = pl.DataFrame({"doc_id": list("abcd"), "maker": ["x", "y", "y", None]})
    train = pl.DataFrame({"query_id": [1, 9], "doc_id": ["c", "a"]})
    return frame.rank.on(**{"group": "maker", "items": items, "interactions": train, **options})


def value_of(ranker: Any, text: str) -> float | None:
    value: float | None = ranker.items.catalog(text, ci=None)["value"].item()
    return value


@each(
    ("text", "value"),
    [
        ("reo", 0.0),  # nothing of y is relevant, so x alone has a rate
        ("bias_disparity(group=x)", None),  # nobody had x
        ("bias_disparity(group=y)@1", -1.0),  # y is not shown
        ("group_exposure_gap(combine=max_min_ratio)@1", None),
        ("group_exposure_gap@1", 2.0),
        ("rsp@1", 1.0),  # x 2 of 2, y 0 of 3
        ("attention_relevance_gap@1", 0.0),
    ],
)
def test_a_group_of_which_nothing_is_relevant_shown_or_chosen_has_a_stated_value(
    text: str, value: float | None
) -> None:
    assert value_of(small(), text) == value


def test_a_group_whose_items_all_users_have_does_not_count() -> None:
    train = pl.DataFrame({"query_id": [1, 2, 1], "doc_id": ["a", "a", "c"]})
    assert value_of(small(interactions=train), "rsp") == 0.0  # y alone is left


@each("text", ["rsp", "reo", "bias_disparity(group=x)", "attention_relevance_gap", "group_exposure_gap"])
def test_lists_without_an_item_of_a_group_have_no_value(text: str) -> None:
    items = pl.DataFrame({"doc_id": list("abcd"), "maker": [None, None, "x", "y"]})
    assert value_of(small(items=items), text) is None


def test_labels_that_are_all_0_have_no_shares() -> None:
    frame = pl.DataFrame({"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2.0, 1], "label": [0, -1]})
    assert value_of(frame.rank, "attention_relevance_gap(across=items)") is None


def test_an_item_that_the_catalog_lacks_counts_neither_as_shown_nor_as_relevant() -> None:
    frame = pl.DataFrame({"query_id": 1, "doc_id": list("abc"), "score": [3.0, 2, None], "label": [1, 1, 1]})
    text = "attention_relevance_gap(across=items)"
    with pytest.raises(rf.InvalidData, match="1 rows show 1 items that the catalog lacks"):
        frame.rank.items.catalog(text, items=["a"])
    assert frame.rank.items.catalog(text, items=["a"], unknown_items="drop", ci=None)["value"].item() == 0.0
    assert frame.filter(doc_id="b").rank.items.catalog(text, items=["b"], ci=None)["value"].item() == 0.0
    assert frame.filter(pl.col("doc_id") != "b").rank.items.catalog(text, items=["a"], ci=None)["value"].item() == 0.0


def test_judged_items_that_were_not_retrieved_count_as_the_policy_says() -> None:
    rows = {"query_id": [1, 1], "doc_id": ["a", "c"], "score": [1.0, None], "label": [1, 1]}
    frame = pl.DataFrame(rows)
    assert value_of(frame.rank, "attention_relevance_gap(across=items)") == 1.0
    assert value_of(frame.rank.on(unretrieved="drop"), "attention_relevance_gap(across=items)") == 0.0


def test_ids_of_other_widths_are_the_same_items() -> None:
    frame = pl.DataFrame({"query_id": [1, 1, 2], "doc_id": [1, 2, 1], "score": [2.0, 1, 1], "label": [1, 0, 1]})
    narrow = frame.with_columns(pl.col("doc_id").cast(pl.UInt8), pl.col("query_id").cast(pl.Int16))
    items = pl.DataFrame({"doc_id": [1, 2, 300], "maker": ["x", "y", "y"]})
    train = pl.DataFrame({"query_id": [1, 2, 1], "doc_id": [300, 300, 1]})
    texts = ("rsp", "reo", "bias_disparity(group=y)", "rsp(head=0.5)")
    one, other = (x.rank.on(group="maker", items=items, interactions=train) for x in (frame, narrow))
    assert (
        one.items.catalog(*texts, ci=None)["value"].to_list() == other.items.catalog(*texts, ci=None)["value"].to_list()
    )
    assert_frame_equal(other.items.counts(*texts).catalog(), other.items.catalog(*texts, ci=None))


def test_a_small_number_of_items_is_no_less_than_those_that_are_shown() -> None:
    frame = pl.DataFrame({"query_id": [1, 1, 1], "doc_id": list("abc"), "score": [1.0, None, None], "label": [1, 1, 1]})
    counts = frame.rank.items.counts("attention_relevance_gap(across=items)", "coverage", items=1)
    assert counts.catalog()["value"].to_list() == [pytest.approx(4 / 3), 1.0]


@each(
    ("options", "text", "message"),
    [
        (
            {"group": None},
            "rsp",
            "rsp compares groups of items; give the items .*, as df.rank.on.group='provider', items=catalog",
        ),
        (
            {"items": 4, "group": None},
            "rsp(head=0.5)",
            "give the items of the catalog, as df.rank.on.items=catalog",
        ),
        ({"interactions": None}, "rsp", "say interactions=train"),
        ({"interactions": None}, "reo(tail=0.5)", "say interactions=train"),
        ({"interactions": None}, "bias_disparity(group=x)", "say interactions=train"),
        ({}, "bias_disparity", "group"),
        ({}, "bias_disparity(group=xy)", r"no item of the catalog is in the group 'xy'; write one of 'x', 'y'"),
        ({}, "bias_disparity(group=x,head=0.5)", r"write one of 'head', 'tail'"),
        ({}, "rsp(head=2)", "from 0 to 1"),
        ({}, "rsp(relevant=2)", "takes no threshold of relevance"),
        ({}, "attention_relevance_gap(relevant=2)", "takes no threshold of relevance"),
        ({}, "attention_relevance_gap(relevance=rank)", "one of 'label', 'score'"),
        ({}, "group_exposure_gap(combine=max)", "Did you mean|one of 'max_min_difference'"),
        ({"label": "score2"}, "reo", "no column 'score2' for label"),
        ({"ascending": True}, "attention_relevance_gap(relevance=score)", "write relevance=label"),
        ({"rank": "score"}, "attention_relevance_gap(relevance=score)", "name scores that grow with relevance"),
    ],
)
def test_what_has_no_answer_is_refused_with_advice(options: dict[str, Any], text: str, message: str) -> None:
    with pytest.raises(rf.RankframeError, match=message):
        value_of(small(**options), text)


@each("score", [-1.0, math.inf])
def test_scores_that_are_no_relevance_are_refused(score: float) -> None:
    frame = pl.DataFrame({"query_id": [1, 1], "doc_id": ["a", "b"], "score": [score, 1.0]})
    text = "attention_relevance_gap(across=items,relevance=score)"
    assert "column 'score' holds a score below 0" in refused(lambda: frame.rank.items.catalog(text))
    with pytest.raises(rf.InvalidData, match="column 'score' holds a score below 0"):
        frame.lazy().rank.items.catalog(text).collect()


@each("label", [math.nan, math.inf])
def test_labels_that_cannot_be_added_up_are_refused(label: float) -> None:
    frame = pl.DataFrame({"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2.0, 1.0], "label": [label, 1.0]})
    assert "label" in refused(lambda: frame.rank.items.catalog("attention_relevance_gap(across=items)"))
    assert "label" in refused(lambda: frame.rank.items.exposure())


def test_the_frame_of_the_caller_stays_as_it_was() -> None:
    table = drawn(0)
    before = table.frame.clone()
    table.ranker().items.catalog(*TEXTS, ci=None)
    assert_frame_equal(table.frame, before)


def test_a_metric_of_ones_own_reads_labels_if_it_says_so() -> None:
    @rf.catalog_metric(labels=True)
    def found_share(e: rf.Exposure, k: int | None = None) -> pl.Expr:
        """The share of all relevant items that are shown."""
        return e.summed(e.relevant, k).sum() / e.summed(e.relevant, over="table").sum()

    try:
        frame = pl.DataFrame({"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2.0, None], "label": [1, 2]})
        found = frame.rank.items.catalog(found_share, "found_share(relevant=2)", ci=None)
        assert found["value"].to_list() == [0.5, 0.0]
        assert frame.to_pandas().rank.items.catalog(found_share, ci=None)["value"].to_list() == [0.5]
    finally:
        rf.unregister(found_share)
