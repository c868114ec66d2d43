"""The result of a comparison, or a gap, in one sentence of plain text.

Names of runs and slices are not escaped.
"""

from __future__ import annotations

import math
from collections import defaultdict
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
    """The sentence of one row of a comparison's table.

    It says which run is better, by how much, and how sure that is.

    `comparisons` is the number of rows of the table. The difference and its interval are those of
    the winner; without a significant difference, those of the run less the baseline.
    """
    is_nan = {name: isinstance(x, float) and math.isnan(x) for name, x in row.items()}
    row = {name: None if is_nan[name] else x for name, x in row.items()}
    metric = metric_of(row, settings)
    run, baseline = (quoted(row[name], quotes) for name in ("run", "baseline"))
    n = row["n_queries"]
    difference = row["difference"]
    if n == 0:
        return f"No query has a value of {metric} for both {run} and {baseline}"
    if difference is None:
        return f"The difference of {run} from {baseline} on {metric} is undefined on {queries(n)}"
    if n == 1:
        too_few = f"Too few queries to tell {run} from {baseline} on {metric}"
        return f"{too_few}: a difference of {signed(difference)} on 1 query"
    if row["wins"] == row["losses"] == 0:
        return f"{run} equals {baseline} on {metric} on each of {queries(n)}"
    is_corrected = comparisons > 1 and correction_of(settings, comparisons) is not None
    is_adjusted = row["p_adjusted"] != row["p_value"] or is_corrected
    if direction(row):
        is_better = (difference > 0) == higher_is_better(row["metric"])
        verb = "beats" if is_better else "loses to"
        figures = _figures_of_difference(row, is_adjusted, is_better)
        return f"{run} {verb} {baseline} on {metric} by {figures}"
    ends = interval(row["ci_low"], row["ci_high"], decimals(difference))
    by = f"{signed(difference)}{ends}"
    counts = f"better on {row['wins']:,} and worse on {row['losses']:,} of {queries(n)}"
    if row["p_adjusted"] is None:
        untested = f"No test of {run} against {baseline} on {metric}"
        return f"{untested}: a difference of {by}, no p-value, {counts}"
    tested = p_beside(row, is_adjusted)
    none = f"No significant difference of {run} from {baseline} on {metric}"
    return f"{none}: {by}, {tested}, {counts}"


def _figures_of_difference(row: Record, is_adjusted: bool, is_better: bool) -> str:
    """The difference of the winner, with interval and p, and on how many queries it wins."""
    difference = row["difference"]
    low = row["ci_low"]
    high = row["ci_high"]
    if difference < 0 and None not in (low, high):
        low, high = -high, -low
    digits = decimals(difference)
    by = f"{abs(difference):.{digits}f}{interval(low, high, digits)}"
    counts = {"better": row["wins"], "worse": row["losses"]}
    first, second = counts if is_better else reversed(counts)
    count = f"{first} on {counts[first]:,}"
    if counts[second] >= counts[first]:
        count += f" and {second} on {counts[second]:,}"
    return f"{by}, {p_beside(row, is_adjusted)}, {count} of {queries(row['n_queries'])}"


def headlines(
    rows: Sequence[Record], settings: Mapping[str, Any], quotes: Quotes = IN_TEXT
) -> list[str]:
    """The sentences on top of a comparison: one for each row.

    More rows are counted; then there is a sentence for each pair of runs if those are few, else for
    each metric and slice.
    """
    if len(rows) <= SENTENCES:
        return [sentence(row, settings, len(rows), quotes) for row in rows]
    n = sum(bool(direction(row)) for row in rows)
    are = "is" if n == 1 else "are"
    count = f"{n:,} of {len(rows):,} differences {are} significant (p < {ALPHA:g})"
    write = _of_pair
    groups = _by(rows, "run", "baseline")
    if len(groups) > SENTENCES:
        write = _of_metric
        groups = _by(rows, "metric", *settings["by"])
    lines = [write(group, settings, quotes) for group in groups]
    return [count, *filter(None, lines[:OF_SEVERAL])]


def chances_of(
    rows: Sequence[Record], settings: Mapping[str, Any], quotes: Quotes = IN_TEXT
) -> list[str]:
    """How probable it is that a run is better than the baseline, equivalent and worse.

    There is a sentence for each of the first rows.
    """
    sentences = []
    for row in rows[:OF_SEVERAL]:
        if row["p_better"] is not None:
            run, baseline = (quoted(row[name], quotes) for name in ("run", "baseline"))
            better = f"{run} is better than {baseline} on {metric_of(row, settings)}"
            equivalent = f"equivalent (within {settings['rope']:g})"
            sentences.append(
                f"{better} with a probability of {chance(row['p_better'])}, "
                f"{equivalent} with {chance(row['p_equivalent'])} and "
                f"worse with {chance(row['p_worse'])}, over {queries(row['n_queries'])}"
            )
    return sentences


def chance(p: float) -> str:
    """A probability as people read it.

    One near 0 or 1 is not called so, as resamples do not show it.
    """
    if p < 0.01:
        return "< 0.01"
    return "> 0.99" if p > 0.99 else f"{p:.2f}"


def chances_in(row: Record) -> str:
    """The probabilities of a row in a cell."""
    chances = [row[name] for name in ("p_better", "p_equivalent", "p_worse")]
    return "" if None in chances else " / ".join(map(chance, chances))


def _of_pair(rows: Sequence[Record], settings: Mapping[str, Any], quotes: Quotes) -> str:
    """On which metrics and slices a run is better than the baseline, on which it is worse."""
    run, baseline = (quoted(rows[0][name], quotes) for name in ("run", "baseline"))
    units = []
    if len({row["metric"] for row in rows}) > 1:
        units.append("metrics")
    if settings["by"]:
        units.append("slices")
    unit = " and ".join(units)
    better = "significantly better"
    worse = "significantly worse"
    parts = []
    for sign, words in ((1, better), (-1, worse), (0, "no significant difference")):
        alike = [row for row in rows if direction(row) == sign]
        where = ", ".join(metric_of(row, settings) for row in alike)
        if len(alike) > NAMED:
            where = f"{len(alike):,} of {len(rows):,} {unit}"
        if alike:
            parts.append(f"{words} on {where}")
    return f"{run} against {baseline}: {'; '.join(parts)}"


def _of_metric(rows: Sequence[Record], settings: Mapping[str, Any], quotes: Quotes) -> str:
    """The run with the best mean of a metric, and how many others it is better than."""
    means = {}
    for row in rows:
        for name, mean in (("baseline", row["baseline_mean"]), ("run", row["mean"])):
            if mean is not None and math.isfinite(mean):
                means[row[name]] = mean
    if not means:
        return ""
    is_higher_better = higher_is_better(rows[0]["metric"])
    top = max(means.values()) if is_higher_better else min(means.values())
    best = [name for name, mean in means.items() if mean == top]
    best_mean = f"the best mean of {metric_of(rows[0], settings)}, {top:.{decimals(top)}f}"
    if len(best) > NAMED:
        return f"{len(best):,} runs have {best_mean}"
    if len(best) > 1:
        return f"{' and '.join(quoted(name, quotes) for name in best)} have {best_mean}"
    than = _beaten(rows, best[0], quotes)
    return f"{quoted(best[0], quotes)} has {best_mean}, {than}"


def _beaten(rows: Sequence[Record], best: str, quotes: Quotes) -> str:
    """How many other runs a run is significantly better than."""
    others = {row["baseline"]: direction(row) for row in rows if row["run"] == best}
    others |= {row["run"]: -direction(row) for row in rows if row["baseline"] == best}
    n_beaten = sum(sign > 0 for sign in others.values())
    if len(others) == 1:
        than = quoted(next(iter(others)), quotes)
    elif not n_beaten:
        than = "any other run"
    elif n_beaten < len(others):
        than = f"{n_beaten:,} of {len(others):,} other runs"
    else:
        than = f"all {n_beaten:,} other runs"
    return f"{'' if n_beaten else 'not '}significantly better than {than}"


def best_of(rows: Sequence[Record]) -> Record:
    """The row of a metric with the best mean."""
    best = max if higher_is_better(rows[0]["metric"]) else min
    return best(rows, key=lambda row: float(row["mean"]))


def quoted(run: str, quotes: Quotes) -> str:
    before, after = quotes
    return f"{before}{run}{after}"


def _by(rows: Sequence[Record], *names: str) -> list[list[Record]]:
    """The rows in groups that agree in these columns."""
    groups = defaultdict(list)
    for row in rows:
        groups[tuple(row[name] for name in names)].append(row)
    return [*groups.values()]


def direction(row: Record) -> int:
    """1 if a run is significantly better than the baseline, -1 if it is worse, otherwise 0.

    Significant is a difference with a small corrected p-value whose interval, at its own
    confidence, leaves out 0.
    """
    p = row["p_adjusted"]
    difference = row["difference"]
    low = row["ci_low"]
    if p is None or not p < ALPHA or not difference:
        return 0
    if low is not None and low <= 0 <= row["ci_high"]:
        return 0
    return 1 if (difference > 0) == higher_is_better(row["metric"]) else -1


def metric_of(row: Record, settings: Mapping[str, Any]) -> str:
    """The metric of a row, with its slice, and a word on it if its lower values are better."""
    details = [f"{name} {name_of(row[name])}" for name in settings["by"]]
    if not higher_is_better(row["metric"]):
        details.insert(0, "lower is better")
    metric = in_words(row["metric"])
    return f"{metric} ({'; '.join(details)})" if details else metric


def p_of(p: float, adjusted: bool) -> str:
    """The corrected p-value.

    It is called adjusted where it is one of several that were corrected together.
    """
    name = "adjusted p" if adjusted else "p"
    value = p_value(p)
    return f"{name} {value}" if value.startswith("<") else f"{name} = {value}"


def p_beside(row: Record, adjusted: bool) -> str:
    """The corrected p-value, and beside it the plain one where it reads otherwise.

    The interval agrees with the plain one.
    """
    corrected = row["p_adjusted"]
    plain = row.get("p_value", corrected)
    text = p_of(corrected, adjusted)
    if p_value(plain) == p_value(corrected):
        return text
    return f"{text} ({p_of(plain, adjusted=False)})"


def test_of(table: Sequence[Record], settings: Mapping[str, Any]) -> str:
    """The test of a comparison, and how its p-values are corrected."""
    used = {settings["test"]}
    if settings["test"] == "auto":
        used = {row.get("interval") for row in table} & {*TESTS} or used
    tests = " and ".join(text for name, text in TESTS.items() if name in used)
    corrected = correction_of(settings, len(table))
    return f"{tests}, after {corrected}" if corrected else tests


def corrects_itself(settings: Mapping[str, Any]) -> bool:
    """Whether the p-values of a comparison hold for all of its pairs at once."""
    row = ESTIMATORS.get(settings["test"])
    return row is not None and row.corrected


def correction_of(settings: Mapping[str, Any], comparisons: int) -> str | None:
    """The correction of a comparison's p-values and the family that it is for.

    There is none where nothing is corrected.
    """
    correction = settings["correction"]
    metrics = len(settings["metrics"])
    if correction is None or corrects_itself(settings):
        return None
    n = comparisons
    family = ""
    if metrics > 1:
        family = " of all metrics together"
        if settings.get("family") == "metric":
            n, family = n // metrics, " of each metric"
    return f"{CORRECTIONS[correction]} for {n} comparisons{family}" if n > 1 else None


def uncorrected(settings: Mapping[str, Any], comparisons: int) -> str:
    """The end of a note on intervals beside corrected p-values."""
    has_intervals = settings["ci"] is not None
    if corrects_itself(settings) and len(settings["runs"]) > 2:
        what = "Intervals and p hold" if has_intervals else "p holds"
        return f" {what} for all pairs at once."
    is_corrected = correction_of(settings, comparisons) is not None
    if is_corrected and has_intervals:
        return " Intervals agree with p, not with adjusted p."
    return ""


def group_sentence(row: Record, settings: Mapping[str, Any]) -> str:
    """The sentence of two groups: which one is better, by how much, and how sure that is."""
    metric = in_words(row["metric"])
    group = name_of(row["group"])
    baseline = name_of(row["baseline"])
    of_group = f"{' and '.join(settings['by'])} {group}"
    difference = row["difference"]
    if difference is None:
        none = f"No difference of {metric} between {of_group} and {baseline}"
        return f"{none}: one of them has no value"
    digits = decimals(difference)
    by = f"{signed(difference)}{interval(row['ci_low'], row['ci_high'], digits)}"
    tested = p_beside(row, row["p_adjusted"] != row["p_value"])
    count = f"{row['n_group']:,} and {row['n_baseline']:,} queries"
    figures = f"{by}, {tested}, {count}"
    if not direction(row):
        return f"No significant difference of {metric} of {of_group} from {baseline}: {figures}"
    word = "better" if direction(row) > 0 else "worse"
    means = f"{row['mean']:.{digits}f} against {row['baseline_mean']:.{digits}f}"
    return f"{metric} is {word} for {of_group} than for {baseline}, {means}: {figures}"


def gap_sentence(row: Record, settings: Mapping[str, Any]) -> str:
    """The sentence of one metric's gap between groups.

    It names the best and the worst group, and how sure the gap is.
    """
    metric = in_words(row["metric"])
    of_groups = " and ".join(settings["by"])
    value = row["value"]
    p = row["p_adjusted"]
    gap = f"gap of {metric} between groups of {of_groups}"
    if value is None:
        return f"No {gap}: fewer than two groups have a value"
    digits = decimals(value)
    by = f"{abs(value):.{digits}f}{interval(row['ci_low'], row['ci_high'], digits)}"
    tested = p_of(p, p != row["p_value"])
    count = f"{row['n_groups']:,} groups of {queries(row['n_queries'])}"
    if p >= ALPHA:
        return f"No significant {gap}: {by}, {tested}, {count}"
    best = name_of(row["best"])
    worst = name_of(row["worst"])
    means = f"{row['best_mean']:.{digits}f} and {row['worst_mean']:.{digits}f}"
    where = f"{metric} is best for {of_groups} {best} and worst for {worst}"
    return f"{where}, {means}: a gap of {by}, {tested}, {count}"
