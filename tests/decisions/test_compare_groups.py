"""Gaps between groups of users: figures against plain Python, intervals and tests, what is shown, and what is refused."""

from __future__ import annotations

import itertools
import math
import random
import re
import statistics
from typing import Any

import polars as pl
import pytest

import rankframe as rf
from tests.support.each import each


def users(values: dict[str | None, list[float | None]], **more: Any) -> pl.DataFrame:
    """Lists whose reciprocal rank is each value: 1, 0.5 or 0; null for a user without a relevant item."""
    rows: list[tuple[int, str, float, int, str | None]] = []
    number = itertools.count()
    for group, of_group in values.items():
        for value in of_group:
            user = next(number)
            labels = {1.0: (1, 0), 0.5: (0, 1), None: (0, 0)}[value]
            rows += [
                (user, doc, score, label, group) for doc, score, label in zip("ab", (2.0, 1.0), labels, strict=True)
            ]
    return pl.DataFrame(rows, ["query_id", "doc_id", "score", "label", "group"], orient="row")


THREE = users({"x": [1.0, 1.0, 0.5, 0.5], "y": [0.5] * 4, "z": [1.0, 0.5, 0.5, 0.5]})
OPTIONS: dict[str, Any] = {"by": "group", "resamples": 199}


def figures(frame: pl.DataFrame, **options: Any) -> dict[str, Any]:
    table = frame.rank.compare_groups("rr", **{**OPTIONS, **options}).table
    return dict(table.select("gap", "value").iter_rows())


def test_the_figures_are_those_of_the_groups_means() -> None:
    means = [0.75, 0.5, 0.625]
    pairs = [abs(a - b) for a, b in itertools.combinations(means, 2)]
    assert figures(THREE) == pytest.approx(
        {
            "difference": 0.25,
            "ratio": 0.5 / 0.75,
            "relative_std": statistics.pstdev(means) / statistics.mean(means),
            "mean_difference": statistics.mean(pairs),
        }
    )


def test_the_best_and_the_worst_group_are_named_with_their_means() -> None:
    row = THREE.rank.compare_groups("rr", **OPTIONS).table.row(0, named=True)
    assert {name: row[name] for name in ("best", "worst", "best_mean", "worst_mean", "n_groups", "n_queries")} == {
        "best": "x", "worst": "y", "best_mean": 0.75, "worst_mean": 0.5, "n_groups": 3, "n_queries": 12,
    }  # fmt: skip


def test_the_best_group_of_a_metric_whose_lower_value_is_better_is_the_lowest() -> None:
    row = THREE.rank.compare_groups("fall_out", **OPTIONS).table.row(0, named=True)
    assert not rf.METRICS["fall_out"].higher_is_better
    assert row["best_mean"] <= row["worst_mean"]


def test_groups_stand_with_their_means_the_best_first() -> None:
    groups = THREE.rank.compare_groups("rr", **OPTIONS).groups
    assert groups.rows() == [("rr", "x", 0.75, 4), ("rr", "z", 0.625, 4), ("rr", "y", 0.5, 4)]


def test_users_without_a_value_do_not_count() -> None:
    frame = users({"x": [1.0, None, 1.0], "y": [0.5, 0.5, None]})
    table = frame.rank.on(no_relevant="null").compare_groups("rr", **OPTIONS).table
    assert table["value"][0] == 0.5
    assert table["n_queries"][0] == 4


def test_null_is_a_group() -> None:
    frame = users({"x": [1.0, 1.0], None: [0.5, 0.5]})
    assert frame.rank.compare_groups("rr", **OPTIONS).table["worst"][0] == "null"


def test_several_columns_make_groups_of_their_combinations() -> None:
    frame = THREE.with_columns(parity=pl.col("query_id") % 2)
    found = frame.rank.compare_groups("rr", by=["group", "parity"], resamples=99)
    assert found.table["n_groups"][0] == 6
    assert found.groups.columns == ["metric", "group", "parity", "mean", "n_queries"]


def test_a_gap_that_every_assignment_of_users_has_is_chance() -> None:
    frame = users({"x": [1.0] * 3, "y": [1.0] * 3})
    table = frame.rank.compare_groups("rr", **OPTIONS).table
    assert table["value"].to_list() == [0.0, 1.0, 0.0, 0.0]
    assert table["p_value"].to_list() == [1.0] * 4


def test_the_p_value_is_near_that_of_all_assignments() -> None:
    values = {"x": [1.0, 1.0, 1.0, 0.5], "y": [0.5, 0.5, 0.5, 1.0]}
    everyone = [x for of_group in values.values() for x in of_group]
    gaps = []
    for chosen in itertools.combinations(range(8), 4):
        inside = [everyone[i] for i in chosen]
        outside = [everyone[i] for i in range(8) if i not in chosen]
        gaps.append(abs(statistics.mean(inside) - statistics.mean(outside)))
    exact = sum(gap >= 0.25 - 1e-9 for gap in gaps) / len(gaps)
    p = users(values).rank.compare_groups("rr", by="group", resamples=4_000).table["p_value"][0]
    assert p == pytest.approx(exact, abs=4 * math.sqrt(exact * (1 - exact) / 4_000))


def test_p_values_of_several_metrics_are_corrected_figure_by_figure() -> None:
    table = THREE.rank.compare_groups("rr", "map", "ndcg@1", **OPTIONS).table
    for gap in ("difference", "ratio"):
        rows = table.filter(gap=gap).sort("p_value")
        holm, least = [], 0.0
        for i, p in enumerate(rows["p_value"]):
            least = max(least, min(1.0, p * (3 - i)))
            holm.append(least)
        assert rows["p_adjusted"].to_list() == pytest.approx(holm)


def test_the_order_of_rows_and_the_kind_of_frame_change_nothing() -> None:
    found = THREE.rank.compare_groups("rr", "map", **OPTIONS)
    shuffled = THREE.sample(fraction=1, shuffle=True, seed=3).rank.compare_groups("rr", "map", **OPTIONS)
    assert shuffled.table.equals(found.table)
    lazy = THREE.lazy().rank.compare_groups("rr", "map", **OPTIONS)
    assert lazy.table.collect().equals(found.table)
    pandas = THREE.to_pandas().rank.compare_groups("rr", "map", **OPTIONS)
    assert pandas.table["value"].to_list() == found.table["value"].to_list()
    assert pandas.groups["group"].to_list() == found.groups["group"].to_list()


def test_a_group_of_one_user_has_no_interval() -> None:
    frame = users({"x": [1.0], "y": [0.5, 1.0]})
    row = frame.rank.compare_groups("rr", **OPTIONS).table.row(0, named=True)
    assert (row["value"], row["ci_low"], row["ci_high"]) == (0.25, None, None)


def test_an_interval_of_a_clear_gap_is_that_of_the_difference_of_two_means() -> None:
    draw = random.Random(1)
    values: dict[str | None, list[float | None]] = {
        "x": [draw.choice([1.0, 1.0, 1.0, 0.5]) for _ in range(400)],
        "y": [draw.choice([1.0, 0.5, 0.5, 0.5]) for _ in range(400)],
    }
    row = users(values).rank.compare_groups("rr", by="group", resamples=2_000).table.row(0, named=True)
    error = math.sqrt(sum(statistics.pvariance([x or 0 for x in of_group]) / 400 for of_group in values.values()))
    assert row["ci_low"] == pytest.approx(row["value"] - 1.96 * error, abs=0.2 * error)
    assert row["ci_high"] == pytest.approx(row["value"] + 1.96 * error, abs=0.2 * error)


def test_the_sentence_names_the_groups_the_gap_and_how_sure_it_is() -> None:
    frame = users({"old": [1.0] * 30, "young": [0.5] * 30})
    found = frame.rank.compare_groups("rr", **OPTIONS)
    first = repr(found).splitlines()[0]
    assert re.sub(r"\[0\.\d+, 0\.\d+\]", "[]", first) == (
        "rr is best for group old and worst for young, 1.000 and 0.500: a gap of 0.500 [], p = 0.005, 2 groups of 60 queries"
    )
    assert first in found._repr_html_()
    assert "p by permutation of the groups of group among queries." in str(found)
    of_two = str(frame.rank.compare_groups("rr", "map", **OPTIONS))
    assert "p by permutation of the groups of group among queries, after Holm's correction for 2 metrics." in of_two


def test_a_gap_that_may_be_chance_is_called_so() -> None:
    first = repr(THREE.rank.compare_groups("rr", **OPTIONS)).splitlines()[0]
    assert first.startswith("No significant gap of rr between groups of group: 0.250 [")


def test_no_value_at_all_is_said() -> None:
    frame = users({"x": [None, None], "y": [None, None]})
    found = frame.rank.on(no_relevant="null").compare_groups("rr", **OPTIONS)
    assert found.table["value"].to_list() == [None] * 4
    assert repr(found).startswith("No gap of rr between groups of group: fewer than two groups have a value")


@each(
    ("options", "message"),
    [
        ({"by": []}, "all queries are in one group; name the column, or columns, that tell groups apart, as by='age'"),
        ({"by": "group", "ci": None}, "ci=None: write a"),
        ({"by": "group", "correction": "bonferroni"}, "write 'holm', 'bh', 'by' or None"),
        ({"by": "grup"}, "Did you mean 'group'"),
        ({"by": "group", "resamples": 3}, "resamples"),
    ],
)
def test_options_out_of_their_range_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(rf.RankframeError, match=message):
        THREE.rank.compare_groups("rr", **options)


@each(
    ("frame", "message"),
    [
        (users({"x": [1.0, 0.5]}), "all queries are in one group"),
        (THREE.with_columns(group=pl.int_range(24) % 2), "a query has several values of 'group'"),
    ],
    ids=["one group", "a user in two"],
)
def test_tables_whose_users_are_not_in_groups_are_refused(frame: pl.DataFrame, message: str) -> None:
    with pytest.raises(rf.InvalidData, match=message):
        frame.rank.compare_groups("rr", **OPTIONS)


def test_groups_of_few_users_have_a_gap_that_may_be_much_larger() -> None:
    """Four of four hits in both groups: one more value, 0, has the weight 1 - 0.05^(1/4) or less in 19 of 20 draws."""
    few = users({"old": [1.0] * 4, "young": [1.0] * 4})
    row = few.rank.compare_groups("rr", **OPTIONS).table.filter(gap="difference").row(0, named=True)
    assert (row["value"], row["ci_low"], row["interval"]) == (0.0, 0.0, "bounded")
    # two groups draw one each, and the larger counts: 1 - (1 - 0.95^(1/2))^(1/4) = 0.60
    assert row["ci_high"] == pytest.approx(0.60, abs=0.08)
    many = users({"old": [1.0, 0.5] * 60, "young": [1.0, 0.5, 0.5] * 50})
    assert set(many.rank.compare_groups("rr", **OPTIONS).table["interval"]) == {"percentile"}


def test_a_ratio_to_a_group_without_hits_may_be_more_than_0() -> None:
    """None of four: a share of 0.52 shows that in one of twenty tables (0.48^4 = 0.05)."""
    row = (
        users({"old": [1.0] * 4, "young": [None] * 4})
        .rank.compare_groups("rr", **OPTIONS)
        .table.filter(gap="ratio")
        .row(0, named=True)
    )
    assert (row["value"], row["ci_low"]) == (0.0, 0.0)
    assert 0.3 < row["ci_high"] <= 1


def of_labels(values: dict[str, list[int]]) -> pl.DataFrame:
    """A user with one document of that label for each value."""
    rows = [(f"{group}{i}", "a", 1.0, label, group) for group, of in values.items() for i, label in enumerate(of)]
    return pl.DataFrame(rows, ["query_id", "doc_id", "score", "label", "group"], orient="row")


def test_gaps_of_a_metric_without_bounds_are_students_for_few_users_and_have_no_interval_if_all_are_equal() -> None:
    frame = of_labels({"old": [1, 2, 3], "young": [1, 1, 4]})
    with pytest.warns(rf.RankframeWarning, match="the interval of cg over 6 queries is Student"):
        found = frame.rank.compare_groups("cg", **OPTIONS).table
    assert found["interval"].to_list() == ["t"] * 4
    equal = of_labels({"old": [2] * 3, "young": [3] * 3}).rank.compare_groups("cg", **OPTIONS).table
    assert equal.select("value", "ci_low", "ci_high", "interval").row(0) == (1.0, None, None, None)


def test_users_of_several_runs_are_warned_of() -> None:
    runs = pl.concat([THREE.with_columns(system=pl.lit(name)) for name in ("old", "new")])
    ranker = runs.rank.on(query=["system", "query_id"])
    with pytest.warns(rf.RankframeWarning, match="column 'system' names runs, and each query counts once for each run"):
        ranker.compare_groups("rr", **OPTIONS)
    one = runs.filter(system="old").rank.on(query=["system", "query_id"]).compare_groups("rr", **OPTIONS).table
    assert one.equals(THREE.rank.compare_groups("rr", **OPTIONS).table)


def test_the_interval_of_a_ratio_stays_below_1_where_groups_are_far_apart() -> None:
    """One group always finds the document first, the other on a fifth of its queries."""
    rows = [(f"{group}{i}", "d", 1.0, float(group == "A" or i % 5 == 0), group) for group in "AB" for i in range(60)]
    df = pl.DataFrame(rows, schema=["query_id", "doc_id", "score", "label", "g"], orient="row")
    (ratio,) = df.rank.compare_groups("rr", by="g").table.filter(gap="ratio").to_dicts()
    assert ratio["value"] == pytest.approx(0.2)
    assert ratio["ci_low"] < 0.2 < ratio["ci_high"] < 0.5


def test_a_ratio_of_0_is_as_large_as_that_of_other_assignments_with_0() -> None:
    """Two queries of 1 and two of 0: of the six ways to make two groups of two, two give a group without any."""
    rows = [(i, "d", 1.0, float(i < 2), "AB"[i > 1]) for i in range(4)]
    df = pl.DataFrame(rows, schema=["query_id", "doc_id", "score", "label", "g"], orient="row")
    (ratio,) = df.rank.compare_groups("rr", by="g").table.filter(gap="ratio").to_dicts()
    assert ratio["value"] == 0
    assert ratio["p_value"] == pytest.approx(1 / 3, abs=0.03)
