"""Catalog metrics of tables in parts: merging the counts of parts gives what the whole table gives."""

from __future__ import annotations

import random
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rankframe as rf
from rankframe._table.setup import Setup
from rankframe._verbs.items.item_exposure import Exposures, Weighing
from tests.support.each import each

from .oracles import ORACLES
from .test_catalog import CATALOG, SEEDS, drawn

METRICS = [f"{name}{at}" for name in sorted(ORACLES) for at in ("", "@2")]


def in_parts(frame: pl.DataFrame, parts: int, seed: int) -> list[pl.DataFrame]:
    """Parts with all rows of their users; some have none."""
    draw = random.Random(seed)
    part_of = {user: draw.randrange(parts) for user in sorted(set(frame["query_id"]))}
    numbers = [part_of[user] for user in frame["query_id"]]
    return [frame.filter(pl.Series([number == i for number in numbers])) for i in range(parts)]


def merged(frames: list[Any], **options: Any) -> pl.DataFrame:
    counts = [frame.rank.items.counts(*METRICS, **{"items": CATALOG, **options}) for frame in frames]
    return counts[0].merge(*counts[1:]).catalog()


@each("seed", SEEDS)
@each("parts", [1, 2, 5])
def test_merged_parts_have_the_values_of_the_whole_table(seed: int, parts: int) -> None:
    frame, _ = drawn(seed)
    whole = frame.rank.items.catalog(*METRICS, items=CATALOG, ci=None)
    assert_frame_equal(merged(in_parts(frame, parts, seed)), whole, rel_tol=1e-12)


@each("seed", SEEDS)
def test_counts_merge_to_the_bit_in_any_order_and_grouping(seed: int) -> None:
    frame, _ = drawn(seed)
    a, b, c = (x.rank.items.counts("coverage", "gini", "hhi", items=30) for x in in_parts(frame, 3, seed))
    left, right = a.merge(b).merge(c).catalog(), c.merge(b.merge(a)).catalog()
    assert_frame_equal(left, right, check_exact=True)
    assert_frame_equal(left, frame.rank.items.catalog("coverage", "gini", "hhi", items=30, ci=None), check_exact=True)


@each("seed", SEEDS)
def test_slices_merge_apart(seed: int) -> None:
    frame, _ = drawn(seed)
    frame = frame.with_columns(side=pl.col("query_id").str.slice(-1).is_in(["1", "2", "5"]))
    whole = frame.rank.items.catalog(*METRICS, items=CATALOG, by="side", ci=None)
    found = merged(in_parts(frame, 3, seed), by="side")
    assert_frame_equal(found, whole, rel_tol=1e-12, check_row_order=False)


@each("seed", SEEDS)
def test_popularity_lift_merges(seed: int) -> None:
    frame, _ = drawn(seed)
    draw = random.Random(seed)
    train = pl.DataFrame(
        {"query_id": [f"u{i}" for i in range(9)], "doc_id": [draw.choice(CATALOG[:6]) for _ in range(9)]}
    )
    counts = [x.rank.items.counts("popularity_lift@3", interactions=train) for x in in_parts(frame, 3, seed)]
    whole = frame.rank.items.catalog("popularity_lift@3", interactions=train, ci=None)
    assert_frame_equal(counts[0].merge(*counts[1:]).catalog(), whole, rel_tol=1e-12)


def test_all_kinds_of_frames_count_the_same() -> None:
    frame, _ = drawn(3)
    parts = in_parts(frame, 2, 3)
    found = merged(parts)
    assert_frame_equal(merged([parts[0].lazy(), parts[1].to_pandas()]), found)
    assert_frame_equal(merged(parts, items=pl.DataFrame({"doc_id": CATALOG}).to_pandas()), found)


def test_unknown_items_are_dropped_in_every_part() -> None:
    frame, _ = drawn(1)
    options = {"items": CATALOG[:6], "unknown_items": "drop"}
    whole = frame.rank.items.catalog(*METRICS, **options, ci=None)
    assert_frame_equal(merged(in_parts(frame, 3, 1), **options), whole, rel_tol=1e-12)


def test_parts_that_together_show_more_items_than_there_are_is_refused() -> None:
    a, b = (pl.DataFrame({"query_id": [1], "doc_id": [x], "score": [1.0]}) for x in "ab")
    both = a.rank.items.counts("coverage", items=1).merge(b.rank.items.counts("coverage", items=1))
    with pytest.raises(rf.InvalidData, match="items=1, but 2 different items are shown"):
        both.catalog()


@each(("metric", "items"), [("hhi", 9), ("coverage", 8)])
def test_counts_of_other_metrics_or_catalogs_do_not_merge(metric: str, items: int) -> None:
    frame = pl.DataFrame({"query_id": [1], "doc_id": ["a"], "score": [1.0]})
    counts = frame.rank.items.counts("coverage", items=9)
    with pytest.raises(rf.InvalidOption, match="do not merge"):
        counts.merge(frame.rank.items.counts(metric, items=items))


def test_counts_say_what_they_hold() -> None:
    frame = pl.DataFrame({"query_id": [1, 2], "doc_id": ["a", "a"], "score": [1.0, 1.0]})
    assert repr(frame.rank.items.counts("coverage@5", items=9)) == "<ItemCounts of coverage@5: 2 users, 1 of 9 items>"


@each("by", [None, "side"])
def test_the_exposure_of_parts_merges_by_addition(by: str | None) -> None:
    frame, _ = drawn(2)
    frame = frame.with_columns(side=pl.col("query_id").str.slice(-1).is_in(["1", "2", "5"]), label=pl.lit(1))
    exposures = Exposures(Setup(), Weighing.of(3, "log2"), () if by is None else (by,))
    found = exposures.merge(pl.concat(exposures.part(part) for part in in_parts(frame, 3, 2)))
    assert_frame_equal(
        found, frame.rank.items.exposure(k=3, weight="log2", by=by), check_row_order=False, rel_tol=1e-12
    )


@each("changed", [{"relevant": 2}, {"unretrieved": "drop"}, {"items": ["y", "x"]}], ids=str)
def test_counts_by_other_policies_or_groups_do_not_merge(changed: dict[str, Any]) -> None:
    frame = pl.DataFrame({"query_id": [1, 1], "doc_id": ["a", "b"], "score": [1.0, 0.5], "label": [2, 1]})
    train = pl.DataFrame({"query_id": [2], "doc_id": ["a"]})
    groups = {"items": changed.pop("items", ["x", "y"])}

    def counts(groups: list[str], **options: Any) -> rf.results.ItemCounts:
        items = pl.DataFrame({"doc_id": ["a", "b"], "provider": groups})
        return frame.rank.on(group="provider", items=items, interactions=train, **options).items.counts("reo")

    one = counts(["x", "y"])
    assert one.merge(counts(["x", "y"])).catalog()["n_queries"].item() == 2
    with pytest.raises(rf.InvalidOption, match="do not merge"):
        one.merge(counts(groups["items"], **changed))
