"""Runs compared by catalog metrics: differences, intervals, and exchanges of users' lists."""

from __future__ import annotations

import itertools
import random
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rankframe as rf
from tests.support.each import each

from .oracles import ORACLES

METRICS = ("coverage@3", "gini@3", "entropy@3", "personalization@3")
CATALOG = [f"i{i}" for i in range(12)]


def drawn(seed: int, users: int = 6) -> tuple[pl.DataFrame, dict[str, dict[object, list[str]]]]:
    """The lists of two runs, and a table with a row per run, user and item."""
    draw = random.Random(seed)
    rows: list[tuple[str, int, str, float]] = []
    lists: dict[str, dict[object, list[str]]] = {"old": {}, "new": {}}
    for run, most in (("old", 5), ("new", 12)):
        for user in range(users):
            lists[run][user] = draw.sample(CATALOG[:most], 3)
            rows += [(run, user, item, -float(place)) for place, item in enumerate(lists[run][user])]
    draw.shuffle(rows)
    schema = {"run": pl.String, "query_id": pl.Int64, "doc_id": pl.String, "score": pl.Float64}
    return pl.DataFrame(rows, schema, orient="row"), lists


def compared(frame: Any, **options: Any) -> Any:
    return frame.rank.items.compare(
        *METRICS, **{"items": CATALOG, "run": "run", "baseline": "old", "resamples": 39, **options}
    ).table


@each("seed", range(4))
def test_values_and_the_p_value_of_all_exchanges_are_those_of_plain_python(seed: int) -> None:
    frame, lists = drawn(seed)
    found = compared(frame, correction=None, resamples=99)
    for row in found.iter_rows(named=True):
        oracle = ORACLES[row["metric"].removesuffix("@3")]
        old, new = (oracle(lists[run], CATALOG) for run in ("old", "new"))
        assert (row["baseline_value"], row["value"]) == pytest.approx((old, new))
        assert row["difference"] == pytest.approx(new - old)
        as_large = 0
        for kept in itertools.product([True, False], repeat=6):
            a = {user: lists["old" if keep else "new"][user] for user, keep in enumerate(kept)}
            b = {user: lists["new" if keep else "old"][user] for user, keep in enumerate(kept)}
            as_large += abs(oracle(b, CATALOG) - oracle(a, CATALOG)) >= abs(new - old) - 1e-9
        assert row["p_value"] == as_large / 64


def test_random_exchanges_give_nearly_the_p_value_of_all() -> None:
    frame, _ = drawn(2, users=8)
    exact = compared(frame, resamples=256)["p_value"]
    drawn_p = compared(frame, resamples=255)["p_value"]
    assert exact.to_list() == pytest.approx(drawn_p.to_list(), abs=0.1)
    assert (drawn_p > 0).all()


def test_runs_may_be_columns_of_scores_or_a_column_or_tables() -> None:
    frame, _ = drawn(3)
    by_column = compared(frame)
    tables = {run: frame.filter(run=run).drop("run").with_columns(label=pl.lit(0)) for run in ("old", "new")}
    by_tables = (
        tables["old"].rank.items.compare(*METRICS, items=CATALOG, runs=tables, baseline="old", resamples=39).table
    )
    assert_frame_equal(by_column, by_tables)
    wide = tables["old"].join(tables["new"], on=["query_id", "doc_id"], how="full", coalesce=True, suffix="_new")
    wide = wide.select("query_id", "doc_id", old="score", new="score_new")
    by_scores = wide.rank.items.compare(
        *METRICS, items=CATALOG, runs=["old", "new"], baseline="old", resamples=39
    ).table
    assert_frame_equal(by_column, by_scores)


def test_a_run_against_itself_does_not_differ() -> None:
    frame, _ = drawn(4)
    same = pl.concat([frame.filter(run="old"), frame.filter(run="old").with_columns(run=pl.lit("again"))])
    found = compared(same)
    assert found.select("difference", "ci_low", "ci_high", "p_value").unique().rows() == [(0.0, 0.0, 0.0, 1.0)]


def test_exchanging_the_baseline_turns_the_difference_round() -> None:
    frame, _ = drawn(5)
    there, back = compared(frame), compared(frame, baseline="new")
    assert back["difference"].to_list() == [-x for x in there["difference"]]
    assert back["p_value"].to_list() == there["p_value"].to_list()


def test_a_user_whom_a_run_shows_nothing_has_an_empty_list_there() -> None:
    frame, lists = drawn(6)
    partly = frame.filter((pl.col("run") == "old") | (pl.col("query_id") > 2))
    found = partly.rank.items.compare(
        "user_coverage", "coverage", items=CATALOG, run="run", baseline="old", resamples=99
    ).table
    assert found["n_queries"].to_list() == [6, 6]
    assert found["value"][0] == 0.5
    assert found["value"][1] == ORACLES["coverage"]({u: x for u, x in lists["new"].items() if int(str(u)) > 2}, CATALOG)


def test_slices_are_compared_apart() -> None:
    frame, _ = drawn(7, users=10)
    frame = frame.with_columns(side=pl.col("query_id") % 2)
    found = compared(frame, by="side")
    for side in (0, 1):
        alone = compared(frame.filter(side=side))
        columns = ["metric", "difference", "ci_low", "ci_high", "p_value"]
        assert_frame_equal(found.filter(side=side).select(columns), alone.select(columns), check_exact=True)


def test_p_values_are_corrected_for_all_rows() -> None:
    frame, _ = drawn(1)
    p = compared(frame).sort("p_value")
    least, holm = 0.0, []
    for i, x in enumerate(p["p_value"]):
        least = max(least, min(1.0, x * (len(METRICS) - i)))
        holm.append(least)
    assert p["p_adjusted"].to_list() == pytest.approx(holm)


def test_all_kinds_of_frames_give_the_same() -> None:
    frame, _ = drawn(8)
    found = compared(frame)
    assert_frame_equal(compared(frame.lazy(), items=pl.LazyFrame({"doc_id": CATALOG})).collect(), found)
    pandas = compared(frame.to_pandas(), items=pl.DataFrame({"doc_id": CATALOG}).to_pandas())
    assert pandas["p_value"].to_list() == found["p_value"].to_list()
    assert pandas["ci_low"].to_list() == pytest.approx(found["ci_low"].to_list())


@each(
    ("options", "message"),
    [
        ({"run": None}, "name the runs"),
        ({"baseline": "none"}, "is none of the runs"),
        ({"items": None}, "coverage@3 divides by the number of items"),
        ({"items": CATALOG[:3]}, "items that the catalog lacks"),
        ({"ci": None}, "ci=None: write a"),
        ({"by": "metric"}, "second column 'metric'"),
    ],
)
def test_what_cannot_be_compared_is_refused(options: dict[str, Any], message: str) -> None:
    frame, _ = drawn(0)
    with pytest.raises(rf.InvalidData if "lacks" in message else rf.InvalidOption, match=message):
        compared(frame, **options)
    with pytest.raises(rf.InvalidOption, match="there is one run to compare, 'old'"):
        compared(frame.filter(run="old"))
