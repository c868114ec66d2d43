"""Groups that share no query: figures against SciPy and plain Python, intervals and tests, what is shown and refused."""

from __future__ import annotations

import itertools
import math
import re
import statistics
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
import pytest
import scipy.stats

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

VALUE, BOUNDED = rf.value("value"), rf.value("value", bounds=(0, 1))
VALUES: dict[str, Any] = {"by": "group"}


def of_values(x: Sequence[float], y: Sequence[float]) -> pl.DataFrame:
    """A query with a value for each of the numbers of two groups."""
    values = [*map(float, x), *map(float, y)]
    return pl.DataFrame({"query_id": range(len(values)), "value": values, "group": ["x"] * len(x) + ["y"] * len(y)})


def figures(frame: pl.DataFrame, **options: Any) -> dict[str, Any]:
    table = frame.rank.compare_groups("rr", **{**OPTIONS, **options}).spread
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
    row = THREE.rank.compare_groups("rr", **OPTIONS).spread.row(0, named=True)
    assert {name: row[name] for name in ("best", "worst", "best_mean", "worst_mean", "n_groups", "n_queries")} == {
        "best": "x", "worst": "y", "best_mean": 0.75, "worst_mean": 0.5, "n_groups": 3, "n_queries": 12,
    }  # fmt: skip


def test_the_best_group_of_a_metric_whose_lower_value_is_better_is_the_lowest() -> None:
    row = THREE.rank.compare_groups("fall_out", **OPTIONS).spread.row(0, named=True)
    assert not rf.METRICS["fall_out"].higher_is_better
    assert row["best_mean"] <= row["worst_mean"]


def test_groups_stand_with_their_means_the_best_first() -> None:
    groups = THREE.rank.compare_groups("rr", **OPTIONS).groups
    assert groups.rows() == [("rr", "x", 0.75, 4), ("rr", "z", 0.625, 4), ("rr", "y", 0.5, 4)]


def test_users_without_a_value_do_not_count() -> None:
    frame = users({"x": [1.0, None, 1.0], "y": [0.5, 0.5, None]})
    table = frame.rank.on(no_relevant="null").compare_groups("rr", **OPTIONS).table
    assert table.select("difference", "n_baseline", "n_group").row(0) == (-0.5, 2, 2)


def test_null_is_a_group() -> None:
    frame = users({"x": [1.0, 1.0], None: [0.5, 0.5]})
    assert frame.rank.compare_groups("rr", **OPTIONS).table["group"].to_list() == ["null"]


def test_several_columns_make_groups_of_their_combinations() -> None:
    frame = THREE.with_columns(parity=pl.col("query_id") % 2)
    found = frame.rank.compare_groups("rr", by=["group", "parity"], resamples=99)
    assert found.spread["n_groups"][0] == 6
    assert found.groups.columns == ["metric", "group", "parity", "mean", "n_queries"]


def test_a_gap_that_every_assignment_of_users_has_is_chance() -> None:
    frame = users({"x": [1.0] * 3, "y": [1.0] * 3})
    table = frame.rank.compare_groups("rr", **OPTIONS).table
    assert table.select("difference", "ratio", "p_value").row(0) == (0.0, 1.0, 1.0)


def test_a_permutation_is_that_of_scipy_and_its_interval_has_the_shifts_that_it_does_not_reject() -> None:
    """All 126 ways to take four of nine; p is twice the smaller side, and so is that of every shift of group y."""
    x, y = [3.0, 5.0, 4.0, 9.0, 7.0], [6.0, 11.0, 12.0, 8.5]
    row = of_values(x, y).rank.compare_groups(VALUE, **VALUES, test="permutation", ci=0.9).table.row(0, named=True)

    def p(shift: float) -> float:
        difference = lambda b, a, axis: b.mean(axis=axis) - a.mean(axis=axis)  # noqa: E731
        shifted = np.array(y) - shift
        found = scipy.stats.permutation_test((shifted, x), difference, n_resamples=np.inf, vectorized=True)
        return float(found.pvalue)

    assert row["p_value"] == pytest.approx(p(0.0), rel=1e-12)
    for end, inside in ((row["ci_low"], 1e-6), (row["ci_high"], -1e-6)):
        assert p(end + inside) >= 0.1 > p(end - inside)
    ratio = row["ratio_low"], row["ratio_high"]
    scaled = [of_values(x, [v / end for v in y]) for end in (ratio[0] * 1.0001, ratio[0] * 0.9999)]
    found = [frame.rank.compare_groups(VALUE, **VALUES, test="permutation").table["p_value"][0] for frame in scaled]
    assert found[0] >= 0.1 > found[1]


def test_p_values_of_several_metrics_are_corrected_figure_by_figure() -> None:
    table = THREE.rank.compare_groups("rr", "map", "ndcg@1", **OPTIONS).spread
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
    assert shuffled.spread.equals(found.spread)
    lazy = THREE.lazy().rank.compare_groups("rr", "map", **OPTIONS)
    assert lazy.table.collect().equals(found.table)
    pandas = THREE.to_pandas().rank.compare_groups("rr", "map", **OPTIONS)
    assert pandas.spread["value"].to_list() == found.spread["value"].to_list()
    assert pandas.groups["group"].to_list() == found.groups["group"].to_list()


def test_a_group_of_one_user_has_no_interval() -> None:
    frame = users({"x": [1.0], "y": [0.5, 1.0]})
    row = frame.rank.compare_groups("rr", **OPTIONS).table.row(0, named=True)
    assert [row[name] for name in ("difference", "ci_low", "ci_high", "p_value")] == [-0.25, None, None, 1.0]


def test_a_comparison_of_two_groups_is_welchs_as_scipy_has_it() -> None:
    x, y = np.random.default_rng(1).normal([[5.0], [6.0]], [[1.0], [3.0]], (2, 40))
    row = of_values(x[:15], y).rank.compare_groups(VALUE, **VALUES, ci=0.9).table.row(0, named=True)
    wanted = scipy.stats.ttest_ind(y, x[:15], equal_var=False)
    ends = wanted.confidence_interval(0.9)
    assert (row["p_value"], row["ci_low"], row["ci_high"]) == pytest.approx((wanted.pvalue, *ends), rel=1e-12)
    assert (row["baseline"], row["group"], row["interval"]) == ("x", "y", "t")
    assert row["ratio"] == pytest.approx(y.mean() / x[:15].mean(), rel=1e-12)
    t = scipy.stats.t.ppf(0.95, wanted.df)
    for ratio in (
        row["ratio_low"],
        row["ratio_high"],
    ):  # Fieller: the mean of y less ratio times that of x is t errors from 0
        error = math.sqrt(y.var(ddof=1) / 40 + ratio**2 * x[:15].var(ddof=1) / 15)
        assert abs(y.mean() - ratio * x[:15].mean()) == pytest.approx(t * error, rel=1e-9)


def test_p_is_below_alpha_exactly_where_the_intervals_leave_out_0_and_1() -> None:
    rng = np.random.default_rng(3)
    seen = set()
    for trial in range(18):
        n = int(rng.integers(2, 30))
        shares = rng.choice([0.3, 0.9]), rng.choice([0.5, 0.95])
        values = [rng.random(n) if trial % 2 else (rng.random(n) < share).astype(float) for share in shares]
        frame = of_values(values[0], values[1] ** rng.choice([1.0, 0.4]))
        frame = frame.with_columns(
            w=pl.Series(rng.integers(1, 4, 2 * n)), c=pl.col("query_id") // 2 * 2 + (pl.col("group") == "y")
        )
        for test in ("t", "permutation", "bounded", "auto"):
            options = ({}, {"weights": "w"}, {"cluster": "c"})[trial // 6]
            alpha = (0.01, 0.05, 0.1)[trial % 3]
            given = {**VALUES, **options, "test": test, "ci": 1 - alpha, "resamples": 399}
            row = frame.rank.compare_groups(BOUNDED, **given).table.row(0, named=True)
            rejected = row["p_value"] < alpha
            seen.add((test, rejected))
            for low, high, none in (("ci_low", "ci_high", 0.0), ("ratio_low", "ratio_high", 1.0)):
                if row[low] is not None:
                    left_out = not row[low] - 1e-12 <= none <= row[high] + 1e-12
                    assert left_out == rejected, (trial, test, options, row)
    assert len(seen) == 8


def test_three_groups_that_the_interval_of_their_spread_tells_apart_have_a_small_p() -> None:
    rng = np.random.default_rng(4)
    seen = set()
    for _ in range(20):
        values = {
            name: [*rng.choice([1.0, 0.5], 20, p=[share, 1 - share])]
            for name, share in zip("xyz", 0.4 + 0.6 * rng.random(3), strict=True)
        }
        for row in users(values).rank.compare_groups("rr", **OPTIONS).spread.iter_rows(named=True):
            apart = row["ci_high"] < 1 if row["gap"] == "ratio" else row["ci_low"] > 0
            seen.add((row["p_value"] < 0.05, apart))
    assert seen == {(True, True), (False, False)}


def test_weights_that_are_all_equal_change_nothing_and_others_weigh_means() -> None:
    x, y = [1.0, 2.0, 4.0, 4.0, 9.0, 3.0] * 2, [3.0, 5.0, 9.0, 1.0, 2.0, 6.0] * 2
    frame = of_values(x, y).with_columns(two=pl.lit(2.0), w=pl.Series([1.0, 2.0] * 12))
    for test in ("t", "permutation"):
        plain, equal = (frame.rank.compare_groups(VALUE, **VALUES, test=test, weights=w).table for w in (None, "two"))
        assert equal.equals(plain)
    row = frame.rank.compare_groups(VALUE, **VALUES, weights="w").table.row(0, named=True)
    by_hand = [sum(v * w for v, w in zip(of, [1, 2] * 6, strict=True)) / 18 for of in (x, y)]
    assert (row["baseline_mean"], row["mean"]) == pytest.approx(by_hand)


def test_users_with_several_queries_count_once_if_they_are_the_cluster() -> None:
    rng = np.random.default_rng(5)
    x, y = rng.random(24), rng.random(24) + 0.2
    frame = of_values(x, y).with_columns(user=pl.col("query_id") // 2)
    row = frame.rank.compare_groups(VALUE, **VALUES, cluster="user").table.row(0, named=True)
    wanted = scipy.stats.ttest_ind(y.reshape(12, 2).mean(axis=1), x.reshape(12, 2).mean(axis=1), equal_var=False)
    assert row["p_value"] == pytest.approx(wanted.pvalue, rel=1e-9)
    assert (row["n_baseline"], row["n_group"]) == (12, 12)


def test_a_baseline_is_compared_with_each_other_group() -> None:
    found = THREE.rank.compare_groups("rr", **OPTIONS, baseline="z").table
    assert found.select("baseline", "group", "difference").rows() == [("z", "x", 0.125), ("z", "y", -0.125)]
    assert THREE.rank.compare_groups("rr", **OPTIONS).table.select("baseline", "group").rows() == [
        ("x", "y"), ("x", "z"), ("y", "z"),
    ]  # fmt: skip


def test_the_ratio_of_geometric_means_is_the_difference_of_their_logarithms() -> None:
    frame = users({"x": [1.0, 0.5, 0.5, 1.0, 0.5, 1.0, 0.5] * 3, "y": [0.5, 1.0, 0.5, 0.5, 0.5, 1.0, 0.5] * 3})
    row = frame.rank.compare_groups("gm_map", **OPTIONS, test="t").table.row(0, named=True)
    logs = [[math.log(v) for v in of] * 3 for of in ([1, 0.5, 0.5, 1, 0.5, 1, 0.5], [0.5, 1, 0.5, 0.5, 0.5, 1, 0.5])]
    wanted = scipy.stats.ttest_ind(logs[1], logs[0], equal_var=False)
    ends = [math.exp(end) for end in wanted.confidence_interval()]
    found = row["p_value"], row["ratio_low"], row["ratio_high"]
    assert found == pytest.approx((wanted.pvalue, *ends), rel=1e-9)
    assert row["ci_low"] < row["difference"] < row["ci_high"]


def test_the_sentence_names_the_groups_the_gap_and_how_sure_it_is() -> None:
    frame = users({"middle": [1.0, 0.5] * 15, "old": [1.0] * 30, "young": [0.5] * 30})
    found = frame.rank.compare_groups("rr", **OPTIONS)
    first = repr(found).splitlines()[0]
    assert re.sub(r"\[0\.\d+, 0\.\d+\]", "[]", first) == (
        "rr is best for group old and worst for young, 1.000 and 0.500: a gap of 0.500 [], p = 0.005, 3 groups of 90 queries"
    )
    assert first in found._repr_html_()
    assert "Intervals and p by resampling inside the groups of group." in str(found)
    of_two = str(frame.rank.compare_groups("rr", "map", **OPTIONS))
    assert (
        "Intervals and p by resampling inside the groups of group, p after Holm's correction for 2 metrics." in of_two
    )


def test_the_sentence_of_two_groups_says_which_is_better() -> None:
    """Deviations 0.25 and 0.2: Welch's error is sqrt((0.25^2 + 0.2^2) / 39) = 0.0513, and 1.99 times that 0.102."""
    frame = users({"A": [1.0, 0.5] * 20, "B": [1.0, *[0.5] * 4] * 8})
    found = frame.rank.compare_groups("rr", by="group")
    assert repr(found).splitlines()[0] == (
        "rr is worse for group B than for A, 0.600 against 0.750: -0.150 [-0.252, -0.048], p = 0.0046, 40 and 40 queries"
    )
    assert found.spread.height == 0


def test_a_gap_that_may_be_chance_is_called_so() -> None:
    first = repr(THREE.rank.compare_groups("rr", **OPTIONS)).splitlines()[0]
    assert first.startswith("No significant gap of rr between groups of group: 0.250 [")


def test_no_value_at_all_is_said() -> None:
    frame = users({"x": [None, None], "y": [None, None]})
    found = frame.rank.on(no_relevant="null").compare_groups("rr", **OPTIONS)
    assert found.table["difference"].to_list() == [None]
    assert repr(found).startswith("No difference of rr between group y and x: one of them has no value")


@each(
    ("options", "message"),
    [
        ({"by": []}, "all queries are in one group; name the column, or columns, that tell groups apart, as by='age'"),
        ({"by": "group", "ci": None}, "ci=None: write a"),
        ({"by": "group", "correction": "bonferroni"}, "is not computed: .*; write correction='holm'"),
        ({"by": "grup"}, "Did you mean 'group'"),
        ({"by": "group", "resamples": 3}, "resamples"),
        ({"by": "group", "baseline": "X"}, "baseline='X' is no group; the groups are x, y, z. Did you mean 'x'"),
        ({"by": "group", "cluster": "doc_id"}, "several values of 'doc_id'"),
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


def test_groups_of_few_users_have_a_difference_that_may_be_much_larger() -> None:
    """Four of four hits in both groups: one more value, 0, has the weight 1 - 0.05^(1/4) or less in 19 of 20 draws."""
    few = users({"old": [1.0] * 4, "young": [1.0] * 4})
    row = few.rank.compare_groups("rr", by="group", resamples=4_000).table.row(0, named=True)
    assert (row["difference"], row["p_value"], row["interval"]) == (0.0, 1.0, "bounded")
    # the upper end: young at 1, old with one more value at 0, of which 39 of 40 draws weigh less than 1 - 0.025^(1/4) = 0.60
    assert (row["ci_low"], row["ci_high"]) == pytest.approx((-0.60, 0.60), abs=0.04)
    many = users({"a": [1.0, 0.5] * 60, "b": [1.0, 0.5, 0.5] * 50, "c": [1.0, 0.5] * 60})
    assert set(many.rank.compare_groups("rr", **OPTIONS).spread["interval"]) == {"percentile"}


def test_a_ratio_to_a_group_without_hits_may_be_more_than_0() -> None:
    """None of four: a share of 0.52 shows that in one of twenty tables (0.48^4 = 0.05)."""
    frame = users({"old": [1.0] * 4, "young": [None] * 4})
    row = frame.rank.compare_groups("rr", **OPTIONS).table.row(0, named=True)
    assert (row["ratio"], row["ratio_low"]) == (0.0, 0.0)
    assert 0.5 < row["ratio_high"] <= 1.5
    without = users({"old": [None] * 4, "young": [1.0] * 4}).rank.compare_groups("rr", **OPTIONS).table
    assert without.select("ratio", "ratio_low", "ratio_high").row(0) == (None, None, None)


def of_labels(values: dict[str, list[int]]) -> pl.DataFrame:
    """A user with one document of that label for each value."""
    rows = [(f"{group}{i}", "a", 1.0, label, group) for group, of in values.items() for i, label in enumerate(of)]
    return pl.DataFrame(rows, ["query_id", "doc_id", "score", "label", "group"], orient="row")


def test_groups_of_a_metric_without_bounds_that_are_each_of_one_value_have_no_interval() -> None:
    """Of the 20 ways to take three of six, the observed one and its opposite are as far apart: p is 2 / 20."""
    equal = of_labels({"old": [2] * 3, "young": [3] * 3}).rank.compare_groups("cg", **OPTIONS).table
    assert equal.select("difference", "ci_low", "ci_high", "p_value").row(0) == (1.0, None, None, 0.1)
    spread = of_labels({"a": [2] * 3, "b": [3] * 3, "c": [5] * 3}).rank.compare_groups("cg", **OPTIONS).spread
    assert spread.select("value", "ci_low", "ci_high", "interval").row(0) == (3.0, None, None, None)


def test_users_of_several_runs_are_warned_of() -> None:
    runs = pl.concat([THREE.with_columns(system=pl.lit(name)) for name in ("old", "new")])
    ranker = runs.rank.on(query=["system", "query_id"])
    with pytest.warns(rf.RankframeWarning, match="column 'system' names runs, and each query counts once for each run"):
        ranker.compare_groups("rr", **OPTIONS)
    one = runs.filter(system="old").rank.on(query=["system", "query_id"]).compare_groups("rr", **OPTIONS).table
    assert one.equals(THREE.rank.compare_groups("rr", **OPTIONS).table)


def test_the_interval_of_a_ratio_stays_below_1_where_groups_are_far_apart() -> None:
    """One group always finds the document first, the others on a fifth of their queries."""
    rows = [(f"{group}{i}", "d", 1.0, float(group == "A" or i % 5 == 0), group) for group in "ABC" for i in range(60)]
    df = pl.DataFrame(rows, schema=["query_id", "doc_id", "score", "label", "g"], orient="row")
    (ratio,) = df.rank.compare_groups("rr", by="g").spread.filter(gap="ratio").to_dicts()
    assert ratio["value"] == pytest.approx(0.2)
    assert ratio["ci_low"] < 0.2 < ratio["ci_high"] < 0.5


def test_a_cluster_with_queries_in_both_groups_is_refused() -> None:
    frame = of_values([1, 2, 3], [4, 5, 6]).with_columns(user=pl.Series([1, 1, 2, 2, 3, 4]))
    with pytest.raises(rf.InvalidData, match="1 values of 'user' have queries in several groups, such as '2'"):
        frame.rank.compare_groups(VALUE, **VALUES, cluster="user")


def test_few_values_without_bounds_are_warned_of() -> None:
    with pytest.warns(
        rf.RankframeWarning, match=r"the interval of value:value over 3 and 4 queries is Welch's, too short"
    ):
        of_values([1, 2, 4], [3, 5, 9, 2]).rank.compare_groups(VALUE, **VALUES)
