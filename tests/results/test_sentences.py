"""Sentences about the rows of a comparison, all written by hand."""

from itertools import combinations
from typing import Any

from rankframe._results.sentences import IN_HTML, SENTENCES, headlines, sentence
from rankframe._verbs.decide.power import power_sentences
from tests.support.each import each

SETTINGS = {"by": (), "test": "permutation", "ci": 0.95, "correction": None, "metrics": ["ndcg@10"]}


def row(**changed: Any) -> dict[str, Any]:
    """Sixty queries, on 44 of which the new run is better."""
    return {
        "metric": "ndcg@10",
        "baseline": "old",
        "run": "new",
        "baseline_mean": 0.5,
        "mean": 0.615,
        "difference": 0.115,
        "ci_low": 0.074,
        "ci_high": 0.158,
        "p_value": 0.0002,
        "p_adjusted": 0.0002,
        "effect_size": 0.7,
        "wins": 44,
        "ties": 6,
        "losses": 10,
        "n_queries": 60,
        **changed,
    }


def test_a_significant_difference_names_the_winner_its_gain_its_interval_and_its_queries() -> None:
    assert sentence(row(), SETTINGS) == (
        "`new` beats `old` on ndcg@10 by 0.115 [0.074, 0.158], p = 0.0002, better on 44 of 60 queries"
    )


def test_a_run_beats_another_only_where_its_corrected_p_value_and_its_interval_agree() -> None:
    """At 99% the interval may hold 0 though p is below 0.05; after a correction p may be above it though the interval does not."""
    wide = row(ci_low=-0.01, p_value=0.03, p_adjusted=0.03)
    assert sentence(wide, {**SETTINGS, "ci": 0.99}).startswith(
        "No significant difference of `new` from `old` on ndcg@10: "
    )
    corrected = row(ci_low=0.003, p_value=0.04, p_adjusted=0.12)
    assert sentence(corrected, SETTINGS) == (
        "No significant difference of `new` from `old` on ndcg@10: +0.115 [0.003, 0.158], adjusted p = 0.12 (p = 0.04), "
        "better on 44 and worse on 10 of 60 queries"
    )


def test_a_loss_is_told_as_its_size_with_the_interval_of_that() -> None:
    lost = row(difference=-0.115, ci_low=-0.158, ci_high=-0.074, wins=10, losses=44)
    assert sentence(lost, SETTINGS) == (
        "`new` loses to `old` on ndcg@10 by 0.115 [0.074, 0.158], p = 0.0002, worse on 44 of 60 queries"
    )


def test_where_lower_is_better_the_lower_run_wins() -> None:
    lower = row(metric="average_relevance_position", difference=-1.5, ci_low=-2.25, ci_high=-0.5)
    assert sentence(lower, SETTINGS) == (
        "`new` beats `old` on average_relevance_position (lower is better) by 1.500 [0.500, 2.250], p = 0.0002, "
        "better on 44 of 60 queries"
    )
    higher = row(metric="average_relevance_position", difference=1.5, ci_low=0.5, ci_high=2.25, wins=10, losses=44)
    assert sentence(higher, SETTINGS) == (
        "`new` loses to `old` on average_relevance_position (lower is better) by 1.500 [0.500, 2.250], p = 0.0002, "
        "worse on 44 of 60 queries"
    )


def test_a_winner_that_is_worse_on_most_queries_has_both_numbers() -> None:
    assert sentence(row(wins=10, losses=44), SETTINGS).endswith("better on 10 and worse on 44 of 60 queries")
    assert sentence(row(wins=27, losses=27), SETTINGS).endswith("better on 27 and worse on 27 of 60 queries")


def test_a_difference_that_may_be_chance_is_called_not_significant() -> None:
    unsure = row(difference=-0.02, ci_low=-0.061, ci_high=0.01, p_value=0.3077, p_adjusted=0.3077)
    assert sentence(unsure, SETTINGS) == (
        "No significant difference of `new` from `old` on ndcg@10: -0.020 [-0.061, 0.010], p = 0.31, "
        "better on 44 and worse on 10 of 60 queries"
    )


def test_the_corrected_p_decides_and_is_called_adjusted() -> None:
    assert "adjusted p = 0.031" in sentence(row(p_value=0.0155, p_adjusted=0.031), SETTINGS)
    assert sentence(row(p_value=0.04, p_adjusted=0.08), SETTINGS).startswith("No significant difference")


def test_all_p_of_a_corrected_family_are_called_adjusted() -> None:
    of_family = {**SETTINGS, "correction": "holm", "family": "all"}
    first, second = headlines([row(), row(p_value=0.0155, p_adjusted=0.031)], of_family)
    assert "adjusted p = 0.0002" in first
    assert "adjusted p = 0.031" in second
    assert ", p = 0.0002" in headlines([row()], of_family)[0]
    assert ", p = 0.0002" in headlines([row(), row()], {**of_family, "correction": None})[0]


@each(
    ("p", "shown"),
    [
        (1 / 10_001, "p < 0.0001"),  # none of 10,000 random flips
        (2**-19, "p < 0.0001"),
        (0.0001, "p = 0.0001"),
        (0.0497, "p = 0.0497"),  # 0.05 would be not significant
        (0.0502, "p = 0.05"),
        (0.001, "p = 0.001"),
        (0.5, "p = 0.5"),
        (1.0, "p = 1"),
    ],
)
def test_p_has_two_digits_and_stays_on_its_side_of_the_level(p: float, shown: str) -> None:
    assert f", {shown}, " in sentence(row(p_value=p, p_adjusted=p), SETTINGS)


def test_equal_runs_are_called_equal() -> None:
    same = row(difference=0.0, ci_low=0.0, ci_high=0.0, p_value=1.0, p_adjusted=1.0, wins=0, ties=60, losses=0)
    assert sentence(same, SETTINGS) == "`new` equals `old` on ndcg@10 on each of 60 queries"


def test_gains_that_cancel_out_are_no_significant_difference() -> None:
    level = row(difference=0.0, ci_low=-0.1, ci_high=0.1, p_value=1.0, p_adjusted=1.0, wins=30, ties=0, losses=30)
    assert sentence(level, SETTINGS) == (
        "No significant difference of `new` from `old` on ndcg@10: 0.000 [-0.100, 0.100], p = 1, "
        "better on 30 and worse on 30 of 60 queries"
    )


def test_one_query_is_too_few() -> None:
    one = row(difference=0.5, ci_low=None, ci_high=None, p_value=1.0, p_adjusted=1.0, wins=1, losses=0, n_queries=1)
    wanted = "Too few queries to tell `new` from `old` on ndcg@10: a difference of +0.500 on 1 query"
    assert sentence(one, SETTINGS) == wanted
    assert sentence({**one, "p_value": None, "p_adjusted": None}, SETTINGS) == wanted


def test_without_a_common_query_there_is_nothing_to_compare() -> None:
    nulls = dict.fromkeys(["mean", "difference", "ci_low", "ci_high", "p_value", "p_adjusted", "effect_size"])
    none = row(**nulls, wins=0, ties=0, losses=0, n_queries=0)
    assert sentence(none, SETTINGS) == "No query has a value of ndcg@10 for both `new` and `old`"
    undefined = row(**nulls, wins=1, ties=0, losses=1, n_queries=2)
    assert sentence(undefined, SETTINGS) == "The difference of `new` from `old` on ndcg@10 is undefined on 2 queries"


@each("p", [None, float("nan")])
def test_without_a_p_value_there_is_no_verdict(p: float | None) -> None:
    assert sentence(row(p_value=p, p_adjusted=p), SETTINGS) == (
        "No test of `new` against `old` on ndcg@10: a difference of +0.115 [0.074, 0.158], no p-value, "
        "better on 44 and worse on 10 of 60 queries"
    )


def test_small_differences_keep_two_digits() -> None:
    small = row(difference=0.00012, ci_low=0.00003, ci_high=0.00021)
    assert "by 0.00012 [0.00003, 0.00021], " in sentence(small, SETTINGS)


def test_an_infinite_difference_is_told() -> None:
    assert "by inf, p = 0.0002" in sentence(row(difference=float("inf"), ci_low=None, ci_high=None), SETTINGS)


def test_a_slice_is_named_with_its_column() -> None:
    sliced = {"market": "de", "day": None, **row(metric="average_relevance_position")}
    assert sentence(sliced, {**SETTINGS, "by": ("market", "day")}).startswith(
        "`new` loses to `old` on average_relevance_position (lower is better; market de; day null) by 0.115"
    )


def test_names_stand_as_the_user_wrote_them() -> None:
    assert sentence(row(run="<b>\n`", metric="ndcg@10"), SETTINGS).startswith("`<b>\n`` beats `old`")


def test_each_of_three_rows_has_its_sentence_and_more_rows_are_counted() -> None:
    unsure = row(p_value=0.3, p_adjusted=0.3)
    assert headlines([row(), unsure], SETTINGS) == [sentence(row(), SETTINGS), sentence(unsure, SETTINGS)]
    untested = row(p_value=None, p_adjusted=None)
    assert headlines([row(), row(), unsure, untested], SETTINGS)[0] == "2 of 4 differences are significant (p < 0.05)"
    assert headlines([row(), unsure, unsure, unsure], SETTINGS)[0] == "1 of 4 differences is significant (p < 0.05)"
    assert headlines([], SETTINGS) == []


WORSE = {"difference": -0.1, "mean": 0.4}
UNSURE = {"p_adjusted": 0.3}


def test_more_rows_of_few_pairs_are_told_by_pair() -> None:
    rows = [row(), row(metric="map"), row(metric="rr", **WORSE), row(metric="bpref", **UNSURE)]
    assert headlines(rows, SETTINGS)[1:] == [
        "`new` against `old`: significantly better on ndcg@10, map; significantly worse on rr; no significant difference on bpref"
    ]
    lower = [row(metric="average_relevance_position", day=day) for day in (1, 2, 3)]
    rows = [row(day=day) for day in range(5)] + lower
    assert headlines(rows, {**SETTINGS, "by": ("day",)})[1:] == [
        "`new` against `old`: significantly better on 5 of 8 metrics and slices; significantly worse on "
        "average_relevance_position (lower is better; day 1), average_relevance_position (lower is better; day 2), "
        "average_relevance_position (lower is better; day 3)"
    ]
    slices = [row(day=day) for day in range(5)]
    assert headlines(slices, {**SETTINGS, "by": ("day",)}, IN_HTML)[1:] == [
        "“new” against “old”: significantly better on 5 of 5 slices"
    ]


def of_runs(means: dict[str, float | None], unsure: Any = (), **changed: Any) -> list[dict[str, Any]]:
    """All pairs of runs with these means; the pairs `unsure` differ by chance."""
    return [
        row(
            run=run, baseline=base, mean=means[run], baseline_mean=means[base],
            difference=None if None in (means[run], means[base]) else means[run] - means[base],
            **(UNSURE if (base, run) in unsure else {}) | changed,
        )
        for base, run in combinations(means, 2)
    ]  # fmt: skip


@each(
    ("rows", "told"),
    [
        (of_runs({"a": 0.5, "b": 0.25, "c": 0.75, "d": 0.1}), "`c` has the best mean of ndcg@10, 0.750, significantly better than all 3 other runs"),
        (of_runs({"a": 0.5, "b": 0.25, "c": 0.75, "d": 0.1}, [("a", "c")]), "`c` has the best mean of ndcg@10, 0.750, significantly better than 2 of 3 other runs"),
        (of_runs({"a": 0.5, "b": 0.25, "c": 0.2, "d": 0.1}, **UNSURE), "`a` has the best mean of ndcg@10, 0.500, not significantly better than any other run"),
        (of_runs({"a": 0.5, "b": 0.5, "c": 0.2, "d": 0.1}), "`a` and `b` have the best mean of ndcg@10, 0.500"),
        (of_runs(dict.fromkeys("abcde", 0.5)), "5 runs have the best mean of ndcg@10, 0.500"),
        (of_runs({"a": 3.0, "b": 2.5, "c": 4.0, "d": None}, metric="average_relevance_position"), "`b` has the best mean of average_relevance_position (lower is better), 2.500, significantly better than 2 of 3 other runs"),
        ([pair for pair in of_runs({"old": 0.1, "a": 0.3, "b": 0.5, "c": 0.4, "d": 0.2}) if pair["baseline"] == "old"], "`b` has the best mean of ndcg@10, 0.500, significantly better than `old`"),
        (of_runs(dict.fromkeys("abcd")), None),
    ],
)  # fmt: skip
def test_more_rows_of_many_pairs_are_told_by_the_best_run_of_each_metric(rows: Any, told: str | None) -> None:
    assert headlines(rows, SETTINGS)[1:] == ([] if told is None else [told])


def test_no_more_than_five_lines_tell_rows_together() -> None:
    rows = [pair for day in range(7) for pair in of_runs({"a": 0.5, "b": 0.25, "c": 0.75, "d": 0.1}, day=day)]
    told = headlines(rows, {**SETTINGS, "by": ("day",)})
    assert len(told) == 1 + 5
    assert told[1].startswith("`c` has the best mean of ndcg@10 (day 0), 0.750, significantly")


def test_as_many_rows_as_are_read_have_a_sentence_each() -> None:
    settings = {"power": 0.8, "alpha": 0.05, "by": ()}
    row = {"metric": "map", "difference": 0.1, "queries_needed": 9, "n_queries": 20, "std": 0.1, "power": 0.9}
    row |= {"baseline": "a", "run": "b"}
    assert len(power_sentences([row] * SENTENCES, settings)) == SENTENCES
    assert len(power_sentences([row] * (SENTENCES + 1), settings)) == 1
