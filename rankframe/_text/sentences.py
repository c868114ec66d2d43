"""The result of a comparison in one sentence of plain text; names of runs and slices stand there as the user wrote them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from .result_table import correction_of, higher_is_better, name_of

__all__ = ["ALPHA", "decimals", "gap_sentence", "headlines", "interval", "p_value", "sentence", "signed"]

ALPHA = 0.05
"""A difference is called significant if its corrected p-value is below this."""

LEAST_P = 0.0001
"""Smaller p-values are shown as smaller than this."""

SENTENCES = 3
"""How many rows have a sentence each; more have one that counts them."""


def sentence(row: Mapping[str, Any], settings: Mapping[str, Any], comparisons: int = 1) -> str:
    """The sentence of one row of a comparison's table: which run is better, by how much, and how sure that is.

    `comparisons` are the rows of the table. The difference and its interval are those of the winner; without a significant difference, those of the run less the
    baseline.
    """
    row = {name: None if isinstance(x, float) and math.isnan(x) else x for name, x in row.items()}
    better_if_higher = higher_is_better(row["metric"])
    details = [*([] if better_if_higher else ["lower is better"])]
    details += [f"{name} {name_of(row[name])}" for name in settings["by"]]
    metric = row["metric"] + (f" ({'; '.join(details)})" if details else "")
    run, base = f"`{row['run']}`", f"`{row['baseline']}`"
    n, wins, losses, difference = row["n_queries"], row["wins"], row["losses"], row["difference"]
    if n == 0:
        return f"No query has a value of {metric} for both {run} and {base}"
    if difference is None:
        return f"The difference of {run} from {base} on {metric} is undefined on {_queries(n)}"
    ends = row["ci_low"], row["ci_high"]
    if n == 1:
        return f"Too few queries to tell {run} from {base} on {metric}: a difference of {signed(difference)} on 1 query"
    if wins == losses == 0:
        return f"{run} equals {base} on {metric} on each of {_queries(n)}"
    p = row["p_adjusted"]
    adjusted = p != row["p_value"] or (comparisons > 1 and correction_of(settings, comparisons) is not None)
    if p is None or p >= ALPHA or difference == 0:
        shown = f"{signed(difference)}{interval(*ends, decimals(difference))}"
        counted = f"better on {wins:,} and worse on {losses:,} of {_queries(n)}"
        if p is None:
            return f"No test of {run} against {base} on {metric}: a difference of {shown}, no p-value, {counted}"
        return f"No significant difference of {run} from {base} on {metric}: {shown}, {_p(p, adjusted)}, {counted}"
    wins_, losses_, word, verb = (
        (wins, losses, "better", "beats")
        if (difference > 0) == better_if_higher
        else (losses, wins, "worse", "loses to")
    )
    low, high = ends if difference > 0 or None in ends else (-ends[1], -ends[0])
    by = f"{abs(difference):.{decimals(difference)}f}{interval(low, high, decimals(difference))}"
    other = "worse" if word == "better" else "better"
    counted = f"{word} on {wins_:,}" + (f" and {other} on {losses_:,}" if losses_ >= wins_ else "")
    return f"{run} {verb} {base} on {metric} by {by}, {_p(p, adjusted)}, {counted} of {_queries(n)}"


def headlines(rows: Sequence[Mapping[str, Any]], settings: Mapping[str, Any]) -> list[str]:
    """The sentences on top of a comparison: one for each row, or one that counts the significant differences."""
    if len(rows) <= SENTENCES:
        return [sentence(row, settings, len(rows)) for row in rows]
    found = sum(row["p_adjusted"] is not None and row["p_adjusted"] < ALPHA for row in rows)
    return [f"{found:,} of {len(rows):,} differences {'is' if found == 1 else 'are'} significant (p < {ALPHA:g})"]


def gap_sentence(row: Mapping[str, Any], settings: Mapping[str, Any]) -> str:
    """The sentence of one metric's gap between groups: the best and the worst group, and how sure the gap is."""
    metric, of = row["metric"], " and ".join(settings["by"])
    value, p, groups = row["value"], row["p_adjusted"], row["n_groups"]
    if value is None:
        return f"No gap of {metric} between groups of {of}: fewer than two groups have a value"
    ends = row["ci_low"], row["ci_high"]
    by = f"{abs(value):.{decimals(value)}f}{interval(*ends, decimals(value))}"
    counted = f"{groups:,} groups of {_queries(row['n_queries'])}"
    means = " and ".join(f"{row[name]:.{decimals(value)}f}" for name in ("best_mean", "worst_mean"))
    adjusted = p != row["p_value"]
    if p >= ALPHA:
        return f"No significant gap of {metric} between groups of {of}: {by}, {_p(p, adjusted)}, {counted}"
    best, worst = name_of(row["best"]), name_of(row["worst"])
    return (
        f"{metric} is best for {of} {best} and worst for {worst}, {means}: a gap of {by}, {_p(p, adjusted)}, {counted}"
    )


def p_value(p: float) -> str:
    """A p-value with two significant digits, or as many as tell on which side of `ALPHA` it is."""
    if p < LEAST_P:
        return f"< {LEAST_P:.4f}"
    texts = (f"{p:.{digits}g}" for digits in range(2, 18))
    return next(text for text in texts if (float(text) < ALPHA) == (p < ALPHA))


def interval(low: float | None, high: float | None, digits: int) -> str:
    """An interval in brackets after a space; nothing where there is none."""
    return "" if low is None or high is None else f" [{low:.{digits}f}, {high:.{digits}f}]"


def decimals(difference: float | None, least: int = 3) -> int:
    """How many decimals show two digits of a difference, at least three."""
    if not difference or not math.isfinite(difference):
        return least
    return max(least, 1 - math.floor(math.log10(abs(difference))))


def _p(p: float, adjusted: bool) -> str:
    """The corrected p-value; called adjusted where it is one of several that were corrected together."""
    text = p_value(p)
    return ("adjusted p " if adjusted else "p ") + (text if text.startswith("<") else f"= {text}")


def signed(difference: float) -> str:
    """A difference with its sign; 0 has none."""
    return f"{difference:+.{decimals(difference)}f}" if difference else f"{0:.{decimals(0)}f}"


def _queries(n: int) -> str:
    return "1 query" if n == 1 else f"{n:,} queries"
