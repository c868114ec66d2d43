"""Overlaps and oracles of runs as a terminal and a notebook show them: the sentence first, then the figures."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from .markup import html, text
from .result_parts import Overlapping, Row, TableAndSettings
from .result_table import Cell, Grid, higher_is_better, intervals_of, lazy_note, name_of, number, queries_of, records
from .sentences import IN_HTML, IN_TEXT, decimals, interval, quoted, signed
from .user_text import visible


def overlap_text(of: Overlapping) -> str:
    """An overlap as plain text."""
    return _as_text(overlap_lines(of), overlap_grids(of))


def overlap_html(of: Overlapping) -> str:
    """An overlap as HTML in the colours of the page."""
    return _as_html(overlap_lines(of, IN_HTML), overlap_grids(of))


def oracle_text(of: TableAndSettings) -> str:
    """An oracle as plain text."""
    return _as_text(oracle_lines(of), [oracle_grid(of)])


def oracle_html(of: TableAndSettings) -> str:
    """An oracle as HTML in the colours of the page."""
    return _as_html(oracle_lines(of, IN_HTML), [oracle_grid(of)])


def overlap_lines(of: Overlapping, quotes: tuple[str, str] = IN_TEXT) -> list[str]:
    """The pairs of runs with the largest and the least overlap, and the documents that each run finds alone: a sentence each."""
    pairs = [row for row in records(of.table) if row["jaccard"] is not None]
    if not pairs:
        return ["No run has a document"]
    most, least = (how(pairs, key=lambda row: float(row["jaccard"])) for how in (max, min))
    share = f"of the documents{_top(of)} of either"
    common = f"{_both(most, quotes)} have {_percent(most)} {share} in common"
    if len(pairs) > 1:
        common = f"{_both(most, quotes)} have most in common, {_percent(most)} {share}, and {_both(least, quotes)} least, {_percent(least)}"
    runs = records(of.runs)
    judged = all(row["relevant"] is not None for row in runs)
    kind, counted = ("Relevant documents", "only_relevant") if judged else ("Documents", "only")
    alone = ", ".join(f"{quoted(row['run'], quotes)} {row[counted]:,}" for row in runs)
    return [common, f"{kind}{_top(of)} of one run only: {alone}"]


def overlap_grids(of: Overlapping) -> list[Grid]:
    """The figures of an overlap, of pairs of runs and of single runs."""
    pairs, runs, k = records(of.table), records(of.runs), of.settings["k"]
    figures = ("overlap", "jaccard", "rbo")
    body = [(*_names(row, "run", "other"), *(Cell(number(row[name], 3)) for name in figures)) for row in pairs]
    over = "the length of the longer ranking" if k is None else k
    note = f"Means over {queries_of(pairs)}. overlap: common documents over {over}; jaccard: over those of either run."
    counts = [
        name
        for name in ("retrieved", "only", "relevant", "only_relevant")
        if any(row[name] is not None for row in runs)
    ]
    of_runs = [(*_names(row, "run"), *(Cell(f"{row[name]:,}") for name in counts)) for row in runs]
    own = f"Documents{_top(of)} over all queries; only: those that no other run has there."
    head = ("run", *(name.replace("_", " ") for name in counts))
    return [
        Grid(("run", "other", *figures), tuple(body), len(figures), (note,)),
        Grid(head, tuple(of_runs), len(counts), (own, *lazy_note(of.table, ".table and .runs"))),
    ]


def oracle_lines(of: TableAndSettings, quotes: tuple[str, str] = IN_TEXT) -> list[str]:
    """The gain of the best run of each query over the best single run and over the fusion: a sentence per metric."""
    rows, fusion = records(of.table), of.settings["fusion"]
    lines = []
    for metric in of.settings["metrics"]:
        own = [row for row in rows if row["metric"] == metric and row["mean"] is not None]
        single = [row for row in own if row["run"] != fusion]
        if not single:
            lines.append(f"No query has a value of {metric}")
            continue
        best = (max if higher_is_better(metric) else min)(single, key=lambda row: float(row["mean"]))
        over = [f"{_gain(best)} over {quoted(best['run'], quotes)}, the best single run"]
        over += [f"{_gain(row)} over the fusion {quoted(fusion, quotes)}" for row in own if row["run"] == fusion]
        lines.append(f"{metric} would be {best['oracle']:.3f} with the best run of each query: {', and '.join(over)}")
    return lines


def oracle_grid(of: TableAndSettings) -> Grid:
    """The figures of an oracle."""
    rows, ci = records(of.table), f"{100 * of.settings['ci']:.6g}% interval"
    body = [
        (
            *_names(row, "metric", "run"),
            *(Cell(number(row[name], 3)) for name in ("mean", "oracle")),
            Cell("" if row["gain"] is None else _gain(row)),
            Cell(f"{row['better']:,} of {row['n_queries']:,}"),
        )
        for row in rows
    ]
    note = "oracle: each query's best run, which only the labels tell; gain: the oracle less the run; better: on how many queries. "
    note += f"Interval: {intervals_of(row['interval'] for row in rows)}."
    head = ("metric", "run", "mean", "oracle", f"gain [{ci}]", "better")
    return Grid(head, tuple(body), 4, (note, *lazy_note(of.table, ".table and .per_query")))


def _as_text(lines: Sequence[str], grids: Sequence[Grid]) -> str:
    return "\n\n".join(["\n".join(map(visible, lines)), *map(text, grids)])


def _as_html(lines: Sequence[str], grids: Sequence[Grid]) -> str:
    return "".join(f"<p><strong>{escape(visible(line))}</strong></p>\n" for line in lines) + "".join(map(html, grids))


def _names(row: Row, *columns: str) -> list[Cell]:
    return [Cell(name_of(row[name])) for name in columns]


def _both(row: Row, quotes: tuple[str, str]) -> str:
    return " and ".join(quoted(row[name], quotes) for name in ("run", "other"))


def _percent(row: Row) -> str:
    share = 100 * row["jaccard"]
    return f"{share:.{int(0 < share < 10)}f}%"


def _top(of: TableAndSettings) -> str:
    k = of.settings["k"]
    return "" if k is None else f" in the top {k}"


def _gain(row: Row) -> str:
    """The gain with its interval."""
    return f"{signed(row['gain'])}{interval(row['ci_low'], row['ci_high'], decimals(row['gain']))}"
