"""Comparisons and verdicts as a terminal and a notebook show them: the sentence first, then the figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import Any, TypeVar

from .markup import WIDTH, html, markdown, markdown_text, text
from .result_parts import Compared, Fitted, Gated, Row, TableAndSettings, Tuned
from .result_table import (
    FINDING,
    Cell,
    Grid,
    grid_of,
    intervals_of,
    lazy_note,
    letters,
    name_of,
    number,
    queries_of,
    records,
    test_of,
)
from .sentences import IN_HTML, decimals, gap_sentence, headlines, interval, p_value, signed
from .user_text import visible

F = TypeVar("F")

MOST_ROWS = 30
"""How many rows of a table are shown."""


def comparison_text(of: TableAndSettings, most: int | None = MOST_ROWS) -> str:
    """A comparison as plain text: its sentences, and a row per metric, slice and pair of runs, all with `most=None`.

    If the names of the runs make the table wider than `WIDTH`, letters replace them, as in Markdown.
    """
    rows = records(of.table)
    lines = [visible(line) for line in headlines(rows, of.settings)]
    table = text(_of_pairs(of, rows, most))
    if _width(table) > WIDTH:
        letter = {run: letters(i) for i, run in enumerate(of.settings["runs"])}
        short = text(_of_pairs(of, [{**row, **{x: letter[row[x]] for x in ("run", "baseline")}} for row in rows], most))
        if _width(short) < _width(table):
            lines += ["", *(f"{letter[run]} = {visible(run)}" for run in letter)]
            table = short
    return "\n".join([*lines, *([""] if lines else []), table])


def comparison_markdown(of: TableAndSettings) -> str:
    """A comparison in GitHub's Markdown: its sentences, and a row per metric, slice and pair of runs."""
    rows = records(of.table)
    lines = "".join(f"**{markdown_text(visible(line))}**\n\n" for line in headlines(rows, of.settings, IN_HTML))
    return lines + markdown(_of_pairs(of, rows, None))


def comparison_html(of: TableAndSettings) -> str:
    """A comparison as HTML in the colours of the page; of more than two runs also a row per run, with letters."""
    rows = records(of.table)
    lines = "".join(
        f"<p><strong>{escape(visible(line))}</strong></p>\n" for line in headlines(rows, of.settings, IN_HTML)
    )
    by_run = html(grid_of(of)) if len(of.settings["runs"]) > 2 else ""
    return lines + html(_of_pairs(of, rows, MOST_ROWS)) + by_run


def _width(lines: str) -> int:
    return max(map(len, lines.splitlines()))


def _of_pairs(of: TableAndSettings, rows: Sequence[Row], most: int | None) -> Grid:
    """The figures of a comparison: means, difference, interval, p, and on how many queries a run is better."""
    settings = of.settings
    ci, by = f"{_percent(settings)} interval", settings["by"]
    head = (*by, "metric", "run", "baseline", "baseline mean", "mean", f"difference [{ci}]", "p", "wins-ties-losses")
    body = []
    for row in rows[:most]:
        figures = (
            *(number(row[name], 3) for name in ("baseline_mean", "mean")),
            _difference(row),
            _p(row),
            "-".join(f"{row[name]:,}" for name in ("wins", "ties", "losses")),
        )
        names = (*(row[name] for name in by), row["metric"], row["run"], row["baseline"])
        body.append((*(Cell(name_of(name)) for name in names), *map(Cell, figures)))
    tested = f"p by {test_of(rows, settings)}, over {queries_of(rows)}. Difference: mean less baseline mean. Interval: {intervals_of(row['interval'] for row in rows)}."
    return Grid(head, tuple(body), 5, (tested, *_left_out(of, rows, ".table, .per_query and .per_query_delta", most)))


def catalog_pairs(found: Any, settings: Mapping[str, Any]) -> dict[str, str]:
    """Runs compared by catalog metrics, in IPython and Jupyter; empty if the user has changed the columns."""
    names = (*settings["by"], "metric", "run", "baseline")
    values = ("baseline_value", "value")
    if not {*names, *values, "difference", "ci_low", "ci_high", "p_adjusted", "n_queries"} <= {*found.columns}:
        return {}
    rows, body = records(found), []
    for row in rows[:MOST_ROWS]:
        of_runs = ("" if row[name] is None else number(row[name], 3) for name in values)
        names_of_row = (Cell(name_of(row[name])) for name in names)
        body.append((*names_of_row, *map(Cell, (*of_runs, _difference(row), _p(row)))))
    test = test_of(rows, {**settings, "metrics": {row["metric"] for row in rows}})
    more = [f"The first {MOST_ROWS} of {len(rows):,} rows."] if len(rows) > MOST_ROWS else []
    tested = f"p by {test}, over {queries_of(rows)}. Difference: value less baseline value."
    head = (*names, "baseline value", "value", f"difference [{_percent(settings)} interval]", "p")
    grid = Grid(head, tuple(body), 4, (tested, *more))
    return {"text/plain": text(grid), "text/html": html(grid)}


def _difference(row: Row) -> str:
    """The difference of a row, with its interval."""
    difference = row["difference"]
    shown = "" if difference is None else signed(difference)
    return f"{shown}{interval(row['ci_low'], row['ci_high'], decimals(difference))}"


def _p(row: Row) -> str:
    return "" if row["p_adjusted"] is None else p_value(row["p_adjusted"])


def _percent(settings: Mapping[str, Any]) -> str:
    """The confidence of the intervals."""
    return f"{100 * settings['ci']:.6g}%"


def gaps_text(of: TableAndSettings) -> str:
    """Gaps as plain text: a sentence per metric, and a row per metric and figure."""
    rows = records(of.table)
    return "\n".join([*map(visible, gap_lines(of)), "", text(_of_gaps(of, rows))])


def gaps_html(of: TableAndSettings) -> str:
    """Gaps as HTML in the colours of the page."""
    rows = records(of.table)
    lines = "".join(f"<p><strong>{escape(visible(line))}</strong></p>\n" for line in gap_lines(of))
    return lines + html(_of_gaps(of, rows))


def gap_lines(of: TableAndSettings) -> list[str]:
    """The sentence of each metric's gap."""
    return [gap_sentence(row, of.settings) for row in records(of.table) if row["gap"] == "difference"]


def _of_gaps(of: TableAndSettings, rows: Sequence[Row]) -> Grid:
    """The figures of gaps between groups: value, interval and p."""
    head = ("metric", "best", "worst", "gap", f"value [{_percent(of.settings)} interval]", "p")
    body = []
    for row in rows[:MOST_ROWS]:
        value = row["value"]
        ends = interval(row["ci_low"], row["ci_high"], decimals(value))
        shown = "" if value is None else f"{number(value, decimals(value))}{ends}"
        names = (row["metric"], *(row[name] or "" for name in ("best", "worst")), row["gap"])
        body.append((*(Cell(name_of(name)) for name in names), Cell(shown), Cell(_p(row))))
    note = f"p by permutation of the groups of {' and '.join(of.settings['by'])} among users."
    return Grid(head, tuple(body), 2, (note, *_left_out(of, rows, ".table and .groups", MOST_ROWS)))


def verdict_text(of: Gated) -> str:
    """A verdict as plain text: how many rows pass, and a line for each."""
    rows, lines = records(of.table), [visible(line) for line in of.lines()]
    return "\n".join(
        [*([] if len(lines) == 1 else [passing(rows)]), *lines, *lazy_note(of.table, ".table, .failures and .moved")]
    )


def passing(rows: Sequence[Row]) -> str:
    """How many rows of a verdict pass, and how many have another verdict."""
    counted = Counter(str(row["verdict"]) for row in rows if not row["passed"])
    passed = len(rows) - counted.total()
    others = "".join(f", {n:,} {verdict}" for verdict, n in counted.items())
    return f"{'NOT PASSED' if counted else 'passed'}: {passed:,} of {len(rows):,} within the budget{others}"


def verdict_html(of: TableAndSettings) -> str:
    """A verdict as HTML in the colours of the page: rows that did not pass come first."""
    return f"<p><strong>{escape(passing(records(of.table)))}</strong></p>\n{html(verdict_grid(of, MOST_ROWS))}"


def verdict_grid(of: TableAndSettings, most: int | None = None) -> Grid:
    """The figures of a verdict: rows that did not pass come first."""
    rows = sorted(records(of.table), key=lambda row: bool(row["passed"]))
    by = of.settings["by"]
    head = ("verdict", *by, "metric", "run", "baseline", "baseline mean", "mean", "difference", "at worst", "budget")
    body = []
    for row in rows[:most]:
        verdict = Cell(row["verdict"], best=not row["passed"])
        names = (*(row[name] for name in by), row["metric"], row["run"], row["baseline"])
        signed = ("" if row[name] is None else f"{row[name]:+.4f}" for name in ("difference", "bound"))
        figures = (*(number(row[name], 4) for name in ("baseline_mean", "mean")), *signed, f"{row['budget']:g}")
        counted = f"{row['n_queries']:,}", f"{row['queries_needed']:,}"
        body.append((verdict, *(Cell(name_of(name)) for name in names), *map(Cell, (*figures, *counted))))
    note = f"At worst: the bound of the difference, mean less baseline mean, with {100 * of.settings['confidence']:.6g}% confidence."
    notes = (note, *_left_out(of, rows, ".table, .failures and .moved", most))
    return Grid((*head, "queries", "needed"), tuple(body), 7, notes)


def with_display(found: F, show: Callable[[F], Mapping[str, str]]) -> F:
    """Give a frame a display in notebooks, where its library's own would cut long texts.

    Only this object has the display: print, and frames made from it, are as usual.
    """
    if hasattr(type(found), "columns") and not hasattr(found, "collect"):  # a ranker may give other results than frames
        vars(found)["_repr_mimebundle_"] = lambda include=None, exclude=None: show(found)
    return found


def tools(found: Any) -> dict[str, str]:
    """The numbers of tools in IPython and Jupyter, each with the sentence on it; empty if the user has changed the columns."""
    if not {"tool", "value", "says"} <= {*found.columns}:
        return {}
    head = [name for name in ("tool", "value", "difference") if name in found.columns]
    rows = records(found)
    cells = [
        (
            *(Cell(row[x] if x == "tool" else "" if row[x] is None else number(row[x], 4)) for x in head),
            Cell(row["says"] or ""),
        )
        for row in rows
    ]
    told = [row["says"] if "difference" in head else f"{row['tool']}: {row['says']}" for row in rows if row["says"]]
    below = map(visible, told)
    short = Grid((*head,), tuple(row[:-1] for row in cells), len(head) - 1, tuple(dict.fromkeys(below)))
    return {"text/plain": text(short), "text/html": html(Grid((*head, "says"), tuple(cells), 0))}


def findings(found: Any) -> dict[str, str]:
    """The findings of a check in IPython and Jupyter, a row for each kind; empty if the user has changed the columns."""
    if not {*FINDING} <= {*found.columns}:
        return {}
    grid = grid_of(found)
    advised = dict.fromkeys(f"{row[1].text}: {row[-1].text}" for row in grid.rows)
    below = Grid(grid.head[:-1], tuple(row[:-1] for row in grid.rows), 0, (*grid.notes, *map(visible, advised)))
    return {"text/plain": text(below), "text/html": html(grid)}


def fitted_text(of: Fitted) -> str:
    """A trained method of fusion as plain text: its training data, and a row per rank or segment with a column per run."""
    return f"{visible(_trained(of))}\n{text(_of_places(of))}"


def fitted_html(of: Fitted) -> str:
    """The same as HTML in the colours of the page."""
    return f"<p><strong>{escape(visible(_trained(of)))}</strong></p>\n{html(_of_places(of))}"


def _trained(of: Fitted) -> str:
    n = of.settings.get("n_queries")
    return f"{of.method}, trained on {', '.join(of.runs)}" + (
        "" if n is None else f" and {n:,} {'query' if n == 1 else 'queries'}"
    )


def _of_places(of: Fitted) -> Grid:
    """The learned values: a row per place and a column per run; of one value per run, a single row."""
    rows = records(of.learned)
    *place, value = [name for name in (rows[0] if rows else ("run", "probability")) if name != "run"]
    found: dict[tuple[int, ...], dict[str, float]] = {}
    for row in rows:
        found.setdefault(tuple(row[name] for name in place), {})[row["run"]] = row[value]
    body = [
        (*(Cell(str(x)) for x in at), *(Cell(number(found[at].get(run, 0.0), 4)) for run in of.runs))
        for at in sorted(found)[:MOST_ROWS]
    ]
    more = [f"The first {MOST_ROWS} of {len(found):,} {place[0]}s; .learned has all."] if len(found) > MOST_ROWS else []
    return Grid((*place, *of.runs), tuple(body), len(of.runs) + len(place), (f"Figures: {value}.", *more))


def tuned_text(of: Tuned) -> str:
    """A tuned fusion as plain text: the chosen method and its means, then the comparison with the other rankings."""
    compared = Compared(of.comparison, of.settings)
    return "\n".join([*map(visible, _tuned(of)), "", text(_of_rankings(of)), "", comparison_text(compared)])


def tuned_html(of: Tuned) -> str:
    """The same as HTML in the colours of the page."""
    compared = Compared(of.comparison, of.settings)
    lines = "".join(f"<p><strong>{escape(visible(line))}</strong></p>\n" for line in _tuned(of))
    return lines + html(_of_rankings(of)) + html(_of_pairs(compared, records(of.comparison), MOST_ROWS))


def _tuned(of: Tuned) -> list[str]:
    """The chosen method, and the means out of fold and in sample."""
    out, within = records(of.table)[:2]
    folds, tried = of.settings["folds"], len(records(of.candidates))
    means = [number(row["mean"], 3) for row in (out, within)]
    ends = interval(out["ci_low"], out["ci_high"], 3)
    return [
        f"{of.text}, chosen among {tried:,} settings on {queries_of([out])}",
        f"{of.settings['metric']} out of fold {means[0]}{ends} ({folds} folds), in sample {means[1]}",
    ]


def _of_rankings(of: Tuned) -> Grid:
    """A row per ranking with its mean, then the method chosen for each fold."""
    ci = f"{_percent(of.settings)} interval"
    body = []
    for row in records(of.table):
        mean = f"{number(row['mean'], 3)}{interval(row['ci_low'], row['ci_high'], 3)}"
        body.append((Cell(row["ranking"]), Cell(row["method"] or ""), Cell(mean)))
    chosen = (f"Fold {row['fold']}: {row['method']}" for row in records(of.folds))
    kinds = f"Interval: {intervals_of(row['interval'] for row in records(of.table))}."
    return Grid(("ranking", "method", f"mean [{ci}]"), tuple(body), 1, (kinds, *chosen))


def _left_out(of: TableAndSettings, rows: Sequence[Row], tables: str, most: int | None) -> list[str]:
    """A line on the rows that are not shown, with the code that gives them."""
    more = [f"The first {most} of {len(rows):,} rows; .table has all."] if most is not None and len(rows) > most else []
    return more + lazy_note(of.table, tables)
