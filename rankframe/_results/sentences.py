"""The result of a comparison, or a gap, in one sentence of plain text; names of runs and slices are
not escaped.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from .._statistics.estimators import ESTIMATORS, TESTS
from .._support.statistical_options import CORRECTIONS
from .grid import (
    ALPHA,
    Record,
    decimals,
    higher_is_better,
    in_words,
    interval,
    name_of,
    p_value,
    queries,
    signed,
)

SENTENCES = 3
"""The most rows that have a sentence each; more are counted, with a sentence per pair of runs or
per metric."""

OF_SEVERAL = 5
"""The most sentences on several rows."""

NAMED = 4
"""The most metrics or slices that such a sentence names; more are counted."""

Quotes: TypeAlias = tuple[str, str]

IN_TEXT: Quotes = ("`", "`")
"""The quotation marks before and after the name of a run."""

IN_HTML: Quotes = ("“", "”")
"""The same for HTML, which would show a backtick as it is."""


def sentence(
    row: Record, settings: Mapping[str, Any], comparisons: int = 1, quotes: Quotes = IN_TEXT
) -> str:
    """The sentence of one row of a comparison's table: which run is better, by how much, and how
    sure that is.

    `comparisons` is the number of rows of the table. The difference and its interval are those of
    the winner; without a significant difference, those of the run less the baseline.
    """
    row = {name: None if isinstance(x, float) and math.isnan(x) else x for name, x in row.items()}
    better_if_higher = higher_is_better(row["metric"])
    metric = metric_of(row, settings)
    run, base = (quoted(row[name], quotes) for name in ("run", "baseline"))
    n, wins, losses, difference = row["n_queries"], row["wins"], row["losses"], row["difference"]
    if n == 0:
        return f"No query has a value of {metric} for both {run} and {base}"
    if difference is None:
        return f"The difference of {run} from {base} on {metric} is undefined on {queries(n)}"
    ends = row["ci_low"], row["ci_high"]
    if n == 1:
        return (
            f"Too few queries to tell {run} from {base} on {metric}: a difference of "
            f"{signed(difference)} on 1 query"
        )
    if wins == losses == 0:
        return f"{run} equals {base} on {metric} on each of {queries(n)}"
    p = row["p_adjusted"]
    adjusted = p != row["p_value"] or (
        comparisons > 1 and correction_of(settings, comparisons) is not None
    )
    if not direction(row):
        shown = f"{signed(difference)}{interval(*ends, decimals(difference))}"
        counted = f"better on {wins:,} and worse on {losses:,} of {queries(n)}"
        if p is None:
            return (
                f"No test of {run} against {base} on {metric}: a difference of {shown}, no "
                f"p-value, {counted}"
            )
        tested = p_beside(row, adjusted)
        return (
            f"No significant difference of {run} from {base} on {metric}: {shown}, {tested}, "
            f"{counted}"
        )
    better = (difference > 0) == better_if_higher
    wins_, losses_ = (wins, losses) if better else (losses, wins)
    word, other, verb = ("better", "worse", "beats") if better else ("worse", "better", "loses to")
    low, high = ends if difference > 0 or None in ends else (-ends[1], -ends[0])
    by = f"{abs(difference):.{decimals(difference)}f}{interval(low, high, decimals(difference))}"
    counted = f"{word} on {wins_:,}" + (f" and {other} on {losses_:,}" if losses_ >= wins_ else "")
    return (
        f"{run} {verb} {base} on {metric} by {by}, {p_beside(row, adjusted)}, {counted} of "
        f"{queries(n)}"
    )


def headlines(
    rows: Sequence[Record], settings: Mapping[str, Any], quotes: Quotes = IN_TEXT
) -> list[str]:
    """The sentences on top of a comparison: one for each row.

    More rows are counted; then there is a sentence for each pair of runs if those are few, else for
    each metric and slice.
    """
    if len(rows) <= SENTENCES:
        return [sentence(row, settings, len(rows), quotes) for row in rows]
    found = sum(bool(direction(row)) for row in rows)
    counted = (
        f"{found:,} of {len(rows):,} differences {'is' if found == 1 else 'are'} significant (p < "
        f"{ALPHA:g})"
    )
    of_pairs, of_metrics = (
        _by(rows, *key) for key in (("run", "baseline"), ("metric", *settings["by"]))
    )
    write, groups = (_of_pair, of_pairs) if len(of_pairs) <= SENTENCES else (_of_metric, of_metrics)
    lines = [write(group, settings, quotes) for group in groups]
    return [counted, *filter(None, lines[:OF_SEVERAL])]


def chances_of(
    rows: Sequence[Record], settings: Mapping[str, Any], quotes: Quotes = IN_TEXT
) -> list[str]:
    """How probable it is that a run is better than the baseline, equivalent and worse: a sentence
    for each of the first rows.
    """
    return [
        f"{quoted(row['run'], quotes)} is better than {quoted(row['baseline'], quotes)} on "
        f"{metric_of(row, settings)} with a "
        f"probability of {chance(row['p_better'])}, equivalent (within {settings['rope']:g}) "
        f"with {chance(row['p_equivalent'])} "
        f"and worse with {chance(row['p_worse'])}, over {queries(row['n_queries'])}"
        for row in rows[:OF_SEVERAL]
        if row["p_better"] is not None
    ]


def chance(p: float) -> str:
    """A probability as people read it; one near 0 or 1 is not called so, as resamples do not show
    it.
    """
    return "< 0.01" if p < 0.01 else "> 0.99" if p > 0.99 else f"{p:.2f}"


def chances_in(row: Record) -> str:
    """The probabilities of a row in a cell."""
    chances = [row[name] for name in ("p_better", "p_equivalent", "p_worse")]
    return "" if None in chances else " / ".join(map(chance, chances))


def _of_pair(rows: Sequence[Record], settings: Mapping[str, Any], quotes: Quotes) -> str:
    """On which metrics and slices a run is better than the baseline, on which it is worse."""
    run, base = (quoted(rows[0][name], quotes) for name in ("run", "baseline"))
    several = len({row["metric"] for row in rows}) > 1
    unit = " and ".join(["metrics"] * several + ["slices"] * bool(settings["by"]))
    parts = []
    for sign, words in (
        (1, "significantly better"),
        (-1, "significantly worse"),
        (0, "no significant difference"),
    ):
        there = [row for row in rows if direction(row) == sign]
        names = ", ".join(metric_of(row, settings) for row in there)
        where = names if len(there) <= NAMED else f"{len(there):,} of {len(rows):,} {unit}"
        parts += [f"{words} on {where}"] * bool(there)
    return f"{run} against {base}: {'; '.join(parts)}"


def _of_metric(rows: Sequence[Record], settings: Mapping[str, Any], quotes: Quotes) -> str:
    """The run with the best mean of a metric in a slice, and how many of the others it is
    significantly better than.
    """
    ends = [
        (row[name], row[mean])
        for row in rows
        for name, mean in (("baseline", "baseline_mean"), ("run", "mean"))
    ]
    means = {name: mean for name, mean in ends if mean is not None and math.isfinite(mean)}
    if not means:
        return ""
    top = (max if higher_is_better(rows[0]["metric"]) else min)(means.values())
    best = [name for name, mean in means.items() if mean == top]
    of = f"the best mean of {metric_of(rows[0], settings)}, {top:.{decimals(top)}f}"
    if len(best) > 1:
        named = (
            " and ".join(quoted(name, quotes) for name in best)
            if len(best) <= NAMED
            else f"{len(best):,} runs"
        )
        return f"{named} have {of}"
    others = {row["baseline"]: direction(row) for row in rows if row["run"] == best[0]}
    others |= {row["run"]: -direction(row) for row in rows if row["baseline"] == best[0]}
    beaten = sum(sign > 0 for sign in others.values())
    some = (
        f"{beaten:,} of {len(others):,} other runs"
        if beaten < len(others) > 1
        else f"all {beaten:,} other runs"
    )
    than = (
        quoted(next(iter(others)), quotes)
        if len(others) == 1
        else some
        if beaten
        else "any other run"
    )
    return (
        f"{quoted(best[0], quotes)} has {of}, {'' if beaten else 'not '}significantly better than "
        f"{than}"
    )


def best_of(rows: Sequence[Record]) -> Record:
    """The row of a metric with the best mean."""
    return (max if higher_is_better(rows[0]["metric"]) else min)(
        rows, key=lambda row: float(row["mean"])
    )


def quoted(run: str, quotes: Quotes) -> str:
    before, after = quotes
    return f"{before}{run}{after}"


def _by(rows: Sequence[Record], *names: str) -> list[list[Record]]:
    """The rows in groups that agree in these columns."""
    groups: dict[tuple[object, ...], list[Record]] = {}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in names), []).append(row)
    return [*groups.values()]


def direction(row: Record) -> int:
    """1 if the run is significantly better than the baseline, -1 if it is significantly worse,
    otherwise 0.

    Significant is a difference with a small corrected p-value whose interval, at its own
    confidence, leaves out 0.
    """
    p, difference, low, high = (
        row[name] for name in ("p_adjusted", "difference", "ci_low", "ci_high")
    )
    if p is None or not p < ALPHA or not difference:
        return 0
    if low is not None and low <= 0 <= high:
        return 0
    return 1 if (difference > 0) == higher_is_better(row["metric"]) else -1


def metric_of(row: Record, settings: Mapping[str, Any]) -> str:
    """The metric of a row, with its slice, and with a word on metrics whose lower values are
    better.
    """
    details = [*([] if higher_is_better(row["metric"]) else ["lower is better"])]
    details += [f"{name} {name_of(row[name])}" for name in settings["by"]]
    return in_words(row["metric"]) + (f" ({'; '.join(details)})" if details else "")


def p_of(p: float, adjusted: bool) -> str:
    """The corrected p-value; called adjusted where it is one of several that were corrected
    together.
    """
    text = p_value(p)
    return ("adjusted p " if adjusted else "p ") + (text if text.startswith("<") else f"= {text}")


def p_beside(row: Record, adjusted: bool) -> str:
    """The corrected p-value, and beside it the plain one, with which the interval agrees, where it
    reads otherwise.
    """
    plain = row.get("p_value", row["p_adjusted"])
    beside = (
        f" ({p_of(plain, adjusted=False)})" if p_value(plain) != p_value(row["p_adjusted"]) else ""
    )
    return p_of(row["p_adjusted"], adjusted) + beside


def test_of(table: Sequence[Record], settings: Mapping[str, Any]) -> str:
    """The test of a comparison, and how its p-values are corrected."""
    corrected, kinds = (
        correction_of(settings, len(table)),
        {row.get("interval") for row in table} & {*TESTS},
    )
    used = kinds if settings["test"] == "auto" and kinds else {settings["test"]}
    tests = " and ".join(text for name, text in TESTS.items() if name in used)
    return f"{tests}{f', after {corrected}' if corrected else ''}"


def corrects_itself(settings: Mapping[str, Any]) -> bool:
    """Whether the p-values of a comparison hold for all of its pairs at once."""
    row = ESTIMATORS.get(settings["test"])
    return row is not None and row.corrected


def correction_of(settings: Mapping[str, Any], comparisons: int) -> str | None:
    """The correction of a comparison's p-values and the family that it is for; None where nothing
    is corrected.
    """
    correction, metrics = settings["correction"], len(settings["metrics"])
    if correction is None or corrects_itself(settings):
        return None
    by_metric = settings.get("family") == "metric" and metrics > 1
    n = comparisons // metrics if by_metric else comparisons
    family = " of each metric" if by_metric else " of all metrics together" if metrics > 1 else ""
    return f"{CORRECTIONS[correction]} for {n} comparisons{family}" if n > 1 else None


def uncorrected(settings: Mapping[str, Any], comparisons: int) -> str:
    """The end of a note on intervals beside corrected p-values."""
    if corrects_itself(settings) and len(settings["runs"]) > 2:
        return (
            " p holds for all pairs at once."
            if settings["ci"] is None
            else " Intervals and p hold for all pairs at once."
        )
    corrected = correction_of(settings, comparisons) is not None and settings["ci"] is not None
    return " Intervals agree with p, not with adjusted p." if corrected else ""


def group_sentence(row: Record, settings: Mapping[str, Any]) -> str:
    """The sentence of two groups: which one is better, by how much, and how sure that is."""
    metric, of = in_words(row["metric"]), " and ".join(settings["by"])
    group, baseline = name_of(row["group"]), name_of(row["baseline"])
    difference = row["difference"]
    if difference is None:
        return (
            f"No difference of {metric} between {of} {group} and {baseline}: one of them has no "
            "value"
        )
    digits = decimals(difference)
    counted = f"{row['n_group']:,} and {row['n_baseline']:,} queries"
    tested = p_beside(row, row["p_adjusted"] != row["p_value"])
    if not direction(row):
        shown = f"{signed(difference)}{interval(row['ci_low'], row['ci_high'], digits)}"
        return (
            f"No significant difference of {metric} of {of} {group} from {baseline}: {shown}, "
            f"{tested}, {counted}"
        )
    word = "better" if direction(row) > 0 else "worse"
    by = f"{signed(difference)}{interval(row['ci_low'], row['ci_high'], digits)}"
    means = f"{row['mean']:.{digits}f} against {row['baseline_mean']:.{digits}f}"
    return (
        f"{metric} is {word} for {of} {group} than for {baseline}, {means}: {by}, {tested}, "
        f"{counted}"
    )


def gap_sentence(row: Record, settings: Mapping[str, Any]) -> str:
    """The sentence of one metric's gap between groups: the best and the worst group, and how sure
    the gap is.
    """
    metric, of = in_words(row["metric"]), " and ".join(settings["by"])
    value, p, groups = row["value"], row["p_adjusted"], row["n_groups"]
    if value is None:
        return f"No gap of {metric} between groups of {of}: fewer than two groups have a value"
    ends = row["ci_low"], row["ci_high"]
    by = f"{abs(value):.{decimals(value)}f}{interval(*ends, decimals(value))}"
    counted = f"{groups:,} groups of {queries(row['n_queries'])}"
    means = " and ".join(f"{row[name]:.{decimals(value)}f}" for name in ("best_mean", "worst_mean"))
    adjusted = p != row["p_value"]
    if p >= ALPHA:
        return (
            f"No significant gap of {metric} between groups of {of}: {by}, {p_of(p, adjusted)}, "
            f"{counted}"
        )
    best, worst = name_of(row["best"]), name_of(row["worst"])
    return (
        f"{metric} is best for {of} {best} and worst for {worst}, {means}: a gap of {by}, "
        f"{p_of(p, adjusted)}, {counted}"
    )
