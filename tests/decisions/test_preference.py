"""Preferences by clicks: the figures by hand and by SciPy, clusters of users in plain Python, and what cannot be told."""

from __future__ import annotations

import re
from itertools import pairwise, product
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import stats

import rankframe as rf
from rankframe._statistics.confidence_sequences import confidence_sequence
from tests.support.each import each


def impressions(outcomes: dict[Any, int], **columns: Any) -> pl.DataFrame:
    """A list of a document of each team for each impression; new has a click if it wins or ties, old likewise."""
    rows = [(i, team, int(x * sign >= 0)) for i, x in outcomes.items() for team, sign in (("new", 1), ("old", -1))]
    df = pl.DataFrame(rows, schema=["query_id", "team", "label"], orient="row")
    return df.with_columns(pl.Series(name, [x for x in values for _ in (0, 1)]) for name, values in columns.items())


WORKED = dict(enumerate([1] * 40 + [-1] * 30 + [0] * 30))
"""40 wins, 30 losses, 30 ties."""


def test_the_delta_and_the_sign_test_of_40_wins_30_losses_and_30_ties() -> None:
    found = impressions(WORKED).rank.clicks.preference(baseline="old")
    row = found.table.row(0, named=True)
    assert (row["baseline"], row["run"], row["wins"], row["ties"], row["losses"]) == ("old", "new", 40, 30, 30)
    assert row["delta"] == pytest.approx((40 + 30 / 2) / 100 - 1 / 2)
    assert row["p_value"] == row["p_adjusted"] == pytest.approx(stats.binomtest(40, 70).pvalue)
    assert row["p_value"] == pytest.approx(0.282, abs=5e-4)
    assert (row["n_impressions"], row["n_users"]) == (100, None)
    assert row["ci_low"] < row["delta"] < row["ci_high"]
    other = impressions(WORKED).rank.clicks.preference(baseline="new").table.row(0, named=True)
    assert (other["run"], other["delta"], other["p_value"]) == ("old", -row["delta"], row["p_value"])
    assert impressions(WORKED).rank.clicks.preference().table["baseline"].item() == "new"  # the first by name


def test_the_impressions_needed_are_those_of_a_t_test() -> None:
    x = np.array([*WORKED.values()]) / 2
    row = (
        impressions(WORKED).rank.clicks.preference(baseline="old", difference=0.05, power=0.9).table.row(0, named=True)
    )
    effect = 0.05 / x.std(ddof=1)
    n = row["impressions_needed"]

    def power(n: int) -> float:
        at = stats.t.isf(0.025, n - 1)
        return float(stats.nct.sf(at, n - 1, effect * n**0.5) + stats.nct.cdf(-at, n - 1, effect * n**0.5))

    assert power(n) >= 0.9 > power(n - 1)
    assert row["power"] == pytest.approx(power(100))
    assert row["difference"] == 0.05


def test_an_impression_goes_to_the_team_with_more_clicks_and_to_none_without_or_with_as_many() -> None:
    rows = [
        *((1, f"d{i}", team, label) for i, (team, label) in enumerate([("a", 1), ("b", 0), ("a", 0), ("b", None)])),
        *((2, f"d{i}", team, label) for i, (team, label) in enumerate([("a", 1), ("b", 1), ("b", 2), (None, 1)])),
        *((3, f"d{i}", team, label) for i, (team, label) in enumerate([("a", 0), ("b", 0)])),
        *((4, f"d{i}", team, label) for i, (team, label) in enumerate([("a", 1), (None, 1), (None, 1), ("b", 1)])),
    ]
    df = pl.DataFrame(rows, schema=["query_id", "doc_id", "team", "label"], orient="row").sample(
        fraction=1, shuffle=True, seed=0
    )
    found = df.rank.clicks.preference(baseline="a").per_impression
    assert dict(found.select("query_id", "outcome").iter_rows()) == {1: -1, 2: 1, 3: 0, 4: 0}
    strict = df.rank.on(relevant=2).clicks.preference(baseline="a").per_impression
    assert dict(strict.select("query_id", "outcome").iter_rows()) == {1: 0, 2: 1, 3: 0, 4: 0}


@each("method", ["team_draft", "balanced", "probabilistic"])
def test_lists_that_were_interleaved_are_credited_by_their_method(method: Any) -> None:
    rng = np.random.default_rng(0)
    n, docs = 200, 8
    df = pl.DataFrame({
        "query_id": np.repeat(np.arange(n), docs), "doc_id": [*range(docs)] * n,
        "good": [-float(i) for i in range(docs)] * n, "bad": rng.random(n * docs), "gain": [int(i < 2) for i in range(docs)] * n,
    })  # fmt: skip
    lists = df.rank.clicks.interleave(runs=["good", "bad"], method=method, k=5).join(df, on=["query_id", "doc_id"])
    clicked = lists.with_columns(label="gain")
    found = clicked.rank.clicks.preference(method=method, baseline="bad")
    row = found.table.row(0, named=True)
    assert row["delta"] > 0.1
    assert row["p_value"] < 0.01
    own, other = (pl.col(x).fill_null(99) for x in ("team_rank", "other_rank"))
    depth = pl.min_horizontal(own, other).filter(pl.col("label") == 1).max()
    sign = pl.when(team="good").then(1).otherwise(-1)
    within = (own <= depth).cast(pl.Int8) - (other <= depth).cast(pl.Int8)
    wanted = {
        "team_draft": (sign * pl.col("label")).sum().sign(),
        "balanced": (sign * within * pl.col("label")).sum().sign(),
    }
    if method in wanted:
        by_hand = (
            clicked.filter(pl.col("team").is_not_null())
            .group_by("query_id")
            .agg(wanted[method].alias("x"))
            .sort("query_id")
        )
        assert by_hand["x"].to_list() == found.per_impression.sort("query_id")["outcome"].to_list()
    else:
        assert row["wins"] + row["ties"] + row["losses"] == n
        assert found.per_impression["outcome"].is_between(-1, 1).all()
        assert found.per_impression["outcome"].n_unique() > 20


def test_rounding_errors_of_credits_make_no_winner() -> None:
    """A click that is the new run's with a chance of 0.3, and one with 0.7: as often two of the old run as two of the new one."""
    clicks = {"team": ["new", "old"], "credit": [0.3, 0.3], "label": [1, 1]}
    shown = pl.DataFrame({"query_id": [1, 1], **clicks})
    found = shown.rank.clicks.preference(method="probabilistic").table.row(0, named=True)
    assert [found[name] for name in ("delta", "wins", "ties", "losses")] == [0.0, 0, 1, 0]


def clustered(found: pl.DataFrame, users: dict[Any, Any]) -> tuple[list[float], list[int]]:
    """The sum of the outcomes of each user, and how many there are."""
    of_user: dict[Any, list[float]] = {}
    for query, x in found.select("query_id", "outcome").iter_rows():
        of_user.setdefault(users[query], []).append(x)
    return [sum(x) for x in of_user.values()], [len(x) for x in of_user.values()]


def test_the_impressions_of_a_user_stand_or_fall_together() -> None:
    rng = np.random.default_rng(1)
    taste = rng.choice([-1, 0, 1], 14, p=[0.2, 0.3, 0.5])
    user = np.repeat(np.arange(14), rng.integers(1, 9, 14))
    x = {i: int(rng.choice([taste[u], 0])) for i, u in enumerate(user)}
    df = impressions(x, user_id=[f"u{u}" for u in user])
    alone, found = (df.rank.clicks.preference(baseline="old", user=name) for name in (None, "user_id"))
    row, lone = (of.table.row(0, named=True) for of in (found, alone))
    totals, counts = clustered(found.per_impression, {i: f"u{u}" for i, u in enumerate(user)})
    assert row["delta"] == lone["delta"] == pytest.approx(sum(x.values()) / len(x) / 2)
    assert row["n_users"] == 14
    flips = [abs(sum(s * t for s, t in zip(signs, totals, strict=True))) for signs in product((1, -1), repeat=14)]
    assert row["p_value"] == pytest.approx(np.mean([flip >= abs(sum(totals)) - 1e-9 for flip in flips]))
    assert row["p_value"] > lone["p_value"]
    assert row["ci_high"] - row["ci_low"] > lone["ci_high"] - lone["ci_low"]
    # the variance of a ratio of sums over clusters (Cochran, Sampling Techniques, 1977)
    z = [t / 2 - n * row["delta"] for t, n in zip(totals, counts, strict=True)]
    error = (14 / 13 * sum(a * a for a in z)) ** 0.5 / len(x)
    t = df.rank.clicks.preference(baseline="old", user="user_id", interval="t").table.row(0, named=True)
    number = sum(counts) ** 2 / sum(n * n for n in counts)  # users of different size count as fewer (Kish)
    half = stats.t.ppf(0.975, number - 1) * (number / (number - 1) * sum(a * a for a in z)) ** 0.5 / len(x)
    assert (t["ci_low"], t["ci_high"]) == pytest.approx((row["delta"] - half, row["delta"] + half))
    assert row["impressions_needed"] > 1.5 * lone["impressions_needed"]
    effect = 0.01 / (error * len(x) ** 0.5)
    assert row["impressions_needed"] == rf.stats.queries_needed(effect, 0.8, 0.05)


def test_the_order_of_rows_and_the_names_of_users_change_nothing_and_no_user_is_one_of_its_own() -> None:
    x = {i: [1, 1, -1, 0, 1][i % 5] for i in range(40)}
    df = impressions(x, u=[None if i % 8 == 0 else i // 3 for i in range(40)], m=[i % 2 for i in range(40)])
    wanted = df.rank.clicks.preference(user="u", by="m").table
    assert (
        df.sample(fraction=1, shuffle=True, seed=3)
        .rank.clicks.preference(user="u", by="m")
        .table.sort("m")
        .equals(wanted.sort("m"))
    )
    named = df.with_columns(u=pl.when(pl.col("u").is_null()).then(1000 + pl.col("query_id")).otherwise("u"))
    assert named.rank.clicks.preference(user="u").table["n_users"].item() == 5 + len(
        {i // 3 for i in range(40) if i % 8}
    )
    found, own = (of.rank.clicks.preference(user="u").table.row(0, named=True) for of in (df, named))
    assert (found["n_users"], found["p_value"]) == (own["n_users"], own["p_value"])
    assert found["ci_low"] == pytest.approx(own["ci_low"], abs=0.01)  # other users are drawn by the same numbers


def test_slices_have_a_row_each_and_p_values_that_are_corrected_together() -> None:
    df = impressions(WORKED, market=["x" if i < 60 else "y" for i in WORKED])
    found = df.rank.clicks.preference(baseline="old", by="market")
    x, y = found.table.to_dicts()
    assert (x["market"], x["wins"], x["losses"], x["ties"]) == ("x", 40, 20, 0)
    assert (y["market"], y["wins"], y["losses"], y["ties"]) == ("y", 0, 10, 30)
    p = [stats.binomtest(40, 60).pvalue, stats.binomtest(0, 10).pvalue]
    assert [x["p_value"], y["p_value"]] == pytest.approx(p)
    assert 2 * p[1] < p[0]
    assert [x["p_adjusted"], y["p_adjusted"]] == pytest.approx([p[0], 2 * p[1]])  # Holm's correction
    assert found.per_impression.columns == ["query_id", "market", "outcome"]
    assert [line.partition(" (")[0] for line in found.sentences()] == [
        "Users prefer `new` to `old`",
        "Users prefer `old` to `new`",
    ]
    assert "adjusted p" in str(found)
    assert "p by the sign test, after Holm's correction for 2 comparisons. needed" in str(found)
    plain = df.rank.clicks.preference(baseline="old", by="market", correction=None)
    assert plain.table["p_adjusted"].to_list() == [x["p_value"], y["p_value"]]
    assert "adjusted" not in str(plain)
    assert "p by the sign test. needed" in str(plain)


def test_the_print_says_who_is_preferred_how_sure_that_is_and_how_many_impressions_it_takes() -> None:
    found = impressions(WORKED, u=[i // 4 for i in WORKED]).rank.clicks.preference(
        baseline="old", user="u", difference=0.1
    )
    row = found.table.row(0, named=True)
    ends, p, needed = f"[{row['ci_low']:.3f}, {row['ci_high']:.3f}]", f"{row['p_value']:.2g}", row["impressions_needed"]
    sentence, figures = str(found).split("\n\n")
    assert sentence == (
        f"No significant preference between `new` and `old`: `new` has a delta of +0.050 {ends}, 40 wins and 30 losses in "
        f"100 impressions of 25 users; p = {p}"
    )
    head, line, note = figures.split("\n")
    assert re.split(" {2,}", head) == ["run", "baseline", "delta [95% interval]", "p", "wins-ties-losses", "needed"]
    assert line.split() == ["new", "old", "+0.050", *ends.split(), p, "40-30-30", str(needed)]
    needed = "impressions with which a t-test detects a delta of 0.1 with a probability of 0.8."
    assert note == f"p by the permutation test. needed: {needed}"  # of the users
    assert f"p by the sign test. needed: {needed}" in str(impressions(WORKED).rank.clicks.preference(difference=0.1))
    assert found.to_dict()["settings"]["user"] == "u"
    assert "| new | old      |" in found.to_markdown()
    nine = impressions(dict.fromkeys(range(9), 1))
    assert "Users prefer `new` to `old`: `new` has a delta of +0.500" in str(
        nine.rank.clicks.preference(baseline="old")
    )
    lost = str(nine.rank.clicks.preference(baseline="new"))
    assert "Users prefer `new` to `old`: `old` has a delta of -0.500" in lost
    assert "0 wins and 9 losses in" in lost


def test_equal_outcomes_and_a_single_user_have_no_spread_to_go_by() -> None:
    row = impressions(dict.fromkeys(range(8), 1)).rank.clicks.preference(baseline="old").table.row(0, named=True)
    assert (row["delta"], row["p_value"], row["power"], row["impressions_needed"]) == (0.5, 2 / 2**8, None, None)
    ties = impressions(dict.fromkeys(range(8), 0)).rank.clicks.preference().table.row(0, named=True)
    assert (ties["delta"], ties["p_value"]) == (0.0, 1.0)
    one = (
        impressions({0: 1, 1: -1, 2: 1}, u=[1, 1, 1])
        .rank.clicks.preference(baseline="old", user="u")
        .table.row(0, named=True)
    )
    assert (one["ci_low"], one["interval"], one["impressions_needed"], one["n_users"]) == (None, None, None, 1)
    assert one["delta"] == pytest.approx(1 / 6)


def test_many_impressions_take_students_interval() -> None:
    rng = np.random.default_rng(5)
    n = 10_001
    label = rng.integers(0, 2, 2 * n)
    df = pl.DataFrame({"query_id": np.repeat(np.arange(n), 2), "team": ["a", "b"] * n, "label": label})
    row = df.rank.clicks.preference().table.row(0, named=True)
    x = np.sign(label[1::2] - label[::2]) / 2
    ends = stats.t.interval(0.95, n - 1, x.mean(), stats.sem(x))
    assert (row["interval"], row["ci_low"], row["ci_high"]) == ("t", pytest.approx(ends[0]), pytest.approx(ends[1]))
    assert df.rank.clicks.preference(interval="bounded", resamples=50).table["interval"].item() == "bounded"


@each("form", ["pandas", "lazy"])
def test_results_are_frames_of_the_callers_kind(form: str) -> None:
    df = impressions(WORKED, u=[i // 4 for i in WORKED])
    wanted = df.rank.clicks.preference(user="u")
    if form == "lazy":
        found = df.lazy().rank.clicks.preference(user="u")
        assert found.table.collect().equals(wanted.table)
        assert found.per_impression.collect().equals(wanted.per_impression)
        return
    of_pandas = df.to_pandas().set_index(pd.Index(range(0, 2 * df.height, 2))).rank.clicks.preference(user="u")  # type: ignore[attr-defined]
    assert pl.from_pandas(of_pandas.table).equals(wanted.table.with_columns(pl.col("n_users")))


def test_impressions_are_told_apart_by_several_columns() -> None:
    df = (
        impressions(WORKED)
        .with_columns(query=pl.col("query_id") % 10, session=pl.col("query_id") // 10)
        .drop("query_id")
    )
    found = df.rank.on(query=["session", "query"]).clicks.preference(baseline="old")
    assert found.table["wins"].item() == 40
    assert found.per_impression.columns == ["session", "query", "outcome"]


SHOWN = impressions(WORKED, doc_id=range(100), u=[i // 4 for i in WORKED]).with_columns(doc_id=pl.int_range(pl.len()))


@each(
    ("call", "error", "message"),
    [
        (lambda: SHOWN.rank.clicks.preference(team="side"), rf.MissingColumn, "no column 'side' for team"),
        (lambda: SHOWN.drop("label").rank.clicks.preference(), rf.MissingColumn, "no column 'label' for label"),
        (lambda: SHOWN.rank.clicks.preference(user="who"), rf.MissingColumn, "no column 'who' for by"),
        (lambda: SHOWN.rank.clicks.preference(method="balanced"), rf.MissingColumn, "no column 'team_rank' for credit, 'other_rank' for credit"),
        (lambda: SHOWN.rank.clicks.preference(method="probabilistic"), rf.MissingColumn, "no column 'credit' for credit"),
        (lambda: SHOWN.with_columns(credit=1.5).rank.clicks.preference(method="probabilistic"), rf.InvalidData, "'credit': the credit of a click is a probability"),
        (lambda: SHOWN.with_columns(credit=pl.lit(None, pl.Float64)).rank.clicks.preference(method="probabilistic"), rf.InvalidData, "and never null"),
        (lambda: SHOWN.filter(team="new").rank.clicks.preference(), rf.InvalidData, "names 1 teams; a preference is between two: new"),
        (lambda: SHOWN.clear().rank.clicks.preference(), rf.InvalidData, "names 0 teams"),
        (lambda: SHOWN.rank.clicks.preference(baseline="nwe"), rf.InvalidOption, "'nwe' is none of the teams, which are new and old"),
        (lambda: SHOWN.with_columns(doc_id=pl.lit(1)).rank.clicks.preference(), rf.InvalidData, "holds the same 'doc_id' twice"),
        (lambda: SHOWN.rank.on(query="u").clicks.preference(user="query_id"), rf.InvalidData, "several values of 'query_id'"),
        (lambda: SHOWN.with_columns(label=pl.lit("yes")).rank.clicks.preference(), rf.InvalidData, "'label' for label holds String"),
        (lambda: SHOWN.rank.clicks.preference(by="team"), rf.InvalidData, "several values of 'team'"),
        (lambda: SHOWN.rename({"u": "delta"}).rank.clicks.preference(by="delta"), rf.InvalidOption, "a second column 'delta'"),
        (lambda: SHOWN.rank.clicks.preference(difference=0), rf.InvalidOption, "difference=0: write a finite number above 0"),
    ],
    ids=lambda x: x if isinstance(x, str) else None,
)  # fmt: skip
def test_what_tells_no_preference_says_why(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


# looks


def arriving(n: int, seed: int, better: float = 0.5) -> tuple[pl.DataFrame, list[int]]:
    """Impressions of 60 days, each won by new with this probability."""
    rng = np.random.default_rng(seed)
    x = [int(won) * 2 - 1 for won in rng.random(n) < better]
    return impressions(dict(enumerate(x)), day=[60 * i // n for i in range(n)]), x


def test_a_sequential_test_is_the_confidence_sequence_of_the_outcomes_in_their_order() -> None:
    df, x = arriving(400, 0, 0.7)
    found = df.rank.clicks.preference(baseline="old", test="sequential").table.row(0, named=True)
    values, ends = np.array(x)[:, None] / 2, (np.array([-0.5]), np.array([0.5]))
    (low,), (high,), (p,) = confidence_sequence(values, ends, 0.95, "empirical_bernstein")
    assert (found["ci_low"], found["ci_high"], found["p_value"]) == (low.item(), high.item(), p.item())
    assert (found["interval"], found["delta"]) == ("empirical_bernstein", pytest.approx(np.mean(x) / 2))
    assert found["p_value"] < 0.001
    fixed = df.rank.clicks.preference(baseline="old").table.row(0, named=True)
    assert found["ci_high"] - found["ci_low"] > fixed["ci_high"] - fixed["ci_low"]
    text = str(df.rank.clicks.preference(test="sequential"))
    assert "p by the sequential test." in text
    assert "Interval and p hold at every look, whenever you stop." in text


def test_intervals_only_shrink_from_day_to_day_whatever_the_order_of_the_rows_of_a_day() -> None:
    df, _ = arriving(300, 1, 0.6)
    ends = []
    for day in range(5, 60, 6):
        seen = df.filter(pl.col("day") <= day)
        row, other = (
            of.rank.clicks.preference(baseline="old", test="sequential", look="day").table.row(0, named=True)
            for of in (seen, seen.sample(fraction=1, shuffle=True, seed=day))
        )
        assert row == other
        ends.append((row["ci_low"], row["ci_high"]))
    assert all(a[0] <= b[0] and a[1] >= b[1] for a, b in pairwise(ends))


def test_a_user_who_comes_back_counts_by_the_first_look() -> None:
    x = {0: 1, 1: 1, 2: -1, 3: 1, 4: -1, 5: -1}
    df = impressions(x, day=[1, 1, 1, 2, 2, 2], u=["a", "a", "b", "a", "b", "c"])
    row = df.rank.clicks.preference(baseline="old", user="u", test="sequential", look="day").table.row(0, named=True)
    assert row["delta"] == pytest.approx((1 - 1 - 1) / 3 / 2)  # a won, b and c lost
    assert (row["n_users"], row["n_impressions"], row["wins"], row["losses"]) == (3, 4, 2, 2)
    alone = df.rank.clicks.preference(baseline="old", user="u", test="sequential").table.row(
        0, named=True
    )  # a row, a look
    assert (alone["n_impressions"], alone["delta"]) == (3, row["delta"])


def test_an_impression_without_a_look_comes_last_and_columns_may_have_any_names() -> None:
    x = {0: 1, 1: -1, 2: 1}
    df = impressions(x, day=[2, None, 1], u=["a", "a", "b"]).rename({"query_id": "n", "u": "total"})
    row = (
        df.rank.on(query="n")
        .clicks.preference(user="total", test="sequential", look="day", baseline="old")
        .table.row(0, named=True)
    )
    assert (row["n_impressions"], row["delta"]) == (2, 0.5)


def test_a_preference_that_turns_has_no_interval() -> None:
    df = impressions(dict(enumerate([1] * 300 + [-1] * 600)))
    row = df.rank.clicks.preference(baseline="old", test="sequential").table.row(0, named=True)
    assert (row["ci_low"], row["ci_high"]) == (None, None)


@each(
    ("options", "message"),
    [
        ({"look": "day"}, "look='day' is for test='sequential'"),
        ({"test": "sequential", "correction": "bh"}, "correction='bh' may not hold at a look that was chosen"),
        ({"test": "sequential", "look": "week"}, "no column 'week'"),
        ({"test": "fisher"}, "write one of 'sign', 'sequential'"),
    ],
)
def test_a_look_that_cannot_be_taken_says_why(options: Any, message: str) -> None:
    with pytest.raises(rf.RankframeError, match=message):
        arriving(20, 2)[0].rank.clicks.preference(**options)
