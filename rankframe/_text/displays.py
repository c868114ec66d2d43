"""Results as a terminal and a notebook show them: the sentences first, then the figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import Any, NamedTuple, TypeVar

from .markup import WIDTH, html, markdown, markdown_text, text, visible
from .result_table import (
    FINDING,
    Cell,
    Grid,
    Record,
    grid_of,
    higher_is_better,
    intervals_of,
    lazy_note,
    letters,
    name_of,
    number,
    queries_of,
    records,
    test_of,
)
from .sentences import IN_HTML, IN_TEXT, decimals, gap_sentence, headlines, interval, p_value, queries, quoted, signed

F = TypeVar("F")

MOST_ROWS = 30
"""How many rows of a table are shown."""


class Display(NamedTuple):
    """The sentences of a result, and the tables below them."""

    lines: Sequence[str]
    grids: Sequence[Grid]

    def text(self) -> str:
        """Plain text for a terminal."""
        lines = ["\n".join(map(visible, self.lines))] if self.lines else []
        return "\n\n".join([*lines, *map(text, self.grids)])

    def html(self) -> str:
        """HTML in the colours of the page."""
        lines = (f"<p><strong>{escape(visible(line))}</strong></p>\n" for line in self.lines)
        return "".join([*lines, *map(html, self.grids)])


def comparison(of: Any, most: int | None = MOST_ROWS) -> Display:
    """The sentences of a comparison, and a row per metric, slice and pair of runs, all with `most=None`.

    If the names of the runs make the table wider than `WIDTH`, letters replace them, as in Markdown.
    """
    rows = records(of.table)
    lines, grid = headlines(rows, of.settings), _of_pairs(of, rows, most)
    if _width(grid) > WIDTH:
        letter = {run: letters(i) for i, run in enumerate(of.settings["runs"])}
        renamed = [{**row, **{x: letter[row[x]] for x in ("run", "baseline")}} for row in rows]
        short = _of_pairs(of, renamed, most)
        if _width(short) < _width(grid):
            return Display([*lines, "", *(f"{letter[run]} = {run}" for run in letter)], [short])
    return Display(lines, [grid])


def comparison_markdown(of: Any) -> str:
    """A comparison in GitHub's Markdown: its sentences, and a row per metric, slice and pair of runs."""
    rows = records(of.table)
    lines = "".join(f"**{markdown_text(visible(line))}**\n\n" for line in headlines(rows, of.settings, IN_HTML))
    return lines + markdown(_of_pairs(of, rows, None))


def comparison_html(of: Any) -> str:
    """A comparison as HTML in the colours of the page; of more than two runs also a row per run, with letters."""
    rows = records(of.table)
    by_run = [grid_of(of)] if len(of.settings["runs"]) > 2 else []
    return Display(headlines(rows, of.settings, IN_HTML), [_of_pairs(of, rows, MOST_ROWS), *by_run]).html()


def _width(grid: Grid) -> int:
    return max(map(len, text(grid).splitlines()))


def _of_pairs(of: Any, rows: Sequence[Record], most: int | None) -> Grid:
    """The figures of a comparison: means, difference, interval, p, and on how many queries a run is better."""
    settings = of.settings
    names = (*settings["by"], "metric", "run", "baseline")
    figures = ("baseline mean", "mean", f"difference [{_percent(settings)} interval]", "p", "wins-ties-losses")
    body = [
        (
            *_names(row, *names),
            *_numbers(row, "baseline_mean", "mean"),
            _estimated(row, "difference"),
            *map(Cell, (_p(row), "-".join(f"{row[name]:,}" for name in ("wins", "ties", "losses")))),
        )
        for row in rows[:most]
    ]
    kinds = intervals_of(row["interval"] for row in rows)
    tested = f"p by {test_of(rows, settings)}, over {queries_of(rows)}. Difference: mean less baseline mean. Interval: {kinds}."
    notes = (tested, *_left_out(of, rows, ".table, .per_query and .per_query_delta", most))
    return Grid((*names, *figures), tuple(body), 5, notes)


def catalog_pairs(found: Any, settings: Mapping[str, Any]) -> dict[str, str]:
    """Runs compared by catalog metrics, in IPython and Jupyter; empty if the user has changed the columns."""
    names = (*settings["by"], "metric", "run", "baseline")
    values = ("baseline_value", "value")
    if not {*names, *values, "difference", "ci_low", "ci_high", "p_adjusted", "n_queries"} <= {*found.columns}:
        return {}
    rows = records(found)
    body = [
        (*_names(row, *names), *_numbers(row, *values), _estimated(row, "difference"), Cell(_p(row)))
        for row in rows[:MOST_ROWS]
    ]
    test = test_of(rows, {**settings, "metrics": {row["metric"] for row in rows}})
    more = [f"The first {MOST_ROWS} of {len(rows):,} rows."] if len(rows) > MOST_ROWS else []
    tested = f"p by {test}, over {queries_of(rows)}. Difference: value less baseline value."
    head = (*names, "baseline value", "value", f"difference [{_percent(settings)} interval]", "p")
    grid = Grid(head, tuple(body), 4, (tested, *more))
    return _bundle(grid, grid)


def _bundle(short: Grid, full: Grid) -> dict[str, str]:
    """What IPython prints, and what Jupyter shows."""
    return {"text/plain": text(short), "text/html": html(full)}


def gaps(of: Any) -> Display:
    """A sentence per metric, and a row per metric and figure: value, interval and p."""
    rows = records(of.table)
    body = []
    for row in rows[:MOST_ROWS]:
        value = row["value"]
        ends = interval(row["ci_low"], row["ci_high"], decimals(value))
        shown = "" if value is None else f"{number(value, decimals(value))}{ends}"
        groups = (Cell(name_of(row[name] or "")) for name in ("best", "worst"))
        body.append((*_names(row, "metric"), *groups, *_names(row, "gap"), Cell(shown), Cell(_p(row))))
    head = ("metric", "best", "worst", "gap", f"value [{_percent(of.settings)} interval]", "p")
    note = f"p by permutation of the groups of {' and '.join(of.settings['by'])} among users."
    notes = (note, *_left_out(of, rows, ".table and .groups", MOST_ROWS))
    return Display(gap_lines(of), [Grid(head, tuple(body), 2, notes)])


def gap_lines(of: Any) -> list[str]:
    """The sentence of each metric's gap."""
    return [gap_sentence(row, of.settings) for row in records(of.table) if row["gap"] == "difference"]


def verdict_text(of: Any) -> str:
    """A verdict as plain text: how many rows pass, and a line for each."""
    rows, lines = records(of.table), [visible(line) for line in of.lines()]
    return "\n".join(
        [*([] if len(lines) == 1 else [passing(rows)]), *lines, *lazy_note(of.table, ".table, .failures and .moved")]
    )


def passing(rows: Sequence[Record]) -> str:
    """How many rows of a verdict pass, and how many have another verdict."""
    counted = Counter(str(row["verdict"]) for row in rows if not row["passed"])
    passed = len(rows) - counted.total()
    others = "".join(f", {n:,} {verdict}" for verdict, n in counted.items())
    return f"{'NOT PASSED' if counted else 'passed'}: {passed:,} of {len(rows):,} within the budget{others}"


def verdict_html(of: Any) -> str:
    """A verdict as HTML in the colours of the page: rows that did not pass come first."""
    return Display([passing(records(of.table))], [verdict_grid(of, MOST_ROWS)]).html()


def verdict_grid(of: Any, most: int | None = None) -> Grid:
    """The figures of a verdict: rows that did not pass come first."""
    rows = sorted(records(of.table), key=lambda row: bool(row["passed"]))
    names = (*of.settings["by"], "metric", "run", "baseline")
    body = []
    for row in rows[:most]:
        verdict = Cell(row["verdict"], best=not row["passed"])
        differences = ("" if row[name] is None else f"{row[name]:+.4f}" for name in ("difference", "bound"))
        figures = (*differences, f"{row['budget']:g}", f"{row['n_queries']:,}", f"{row['queries_needed']:,}")
        body.append(
            (verdict, *_names(row, *names), *_numbers(row, "baseline_mean", "mean", digits=4), *map(Cell, figures))
        )
    head = ("verdict", *names, "baseline mean", "mean", "difference", "at worst", "budget", "queries", "needed")
    note = f"At worst: the bound of the difference, mean less baseline mean, with {100 * of.settings['confidence']:.6g}% confidence."
    return Grid(head, tuple(body), 7, (note, *_left_out(of, rows, ".table, .failures and .moved", most)))


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
    figures = [name for name in ("value", "difference") if name in found.columns]
    rows = records(found)
    cells = [(Cell(row["tool"]), *_numbers(row, *figures, digits=4), Cell(row["says"] or "")) for row in rows]
    says = [row["says"] if "difference" in figures else f"{row['tool']}: {row['says']}" for row in rows if row["says"]]
    notes = tuple(dict.fromkeys(map(visible, says)))
    short = Grid(("tool", *figures), tuple(row[:-1] for row in cells), len(figures), notes)
    return _bundle(short, Grid(("tool", *figures, "says"), tuple(cells), 0))


def findings(found: Any) -> dict[str, str]:
    """The findings of a check in IPython and Jupyter, a row for each kind; empty if the user has changed the columns."""
    if not {*FINDING} <= {*found.columns}:
        return {}
    grid = grid_of(found)
    advised = dict.fromkeys(f"{row[1].text}: {row[-1].text}" for row in grid.rows)
    notes = (*grid.notes, *map(visible, advised))
    return _bundle(Grid(grid.head[:-1], tuple(row[:-1] for row in grid.rows), 0, notes), grid)


def fitted(of: Any) -> Display:
    """A trained method of fusion: its training data, and a row per rank or segment with a column per run."""
    n = of.settings.get("n_queries")
    counted = "" if n is None else f" and {queries(n)}"
    return Display([f"{of.method}, trained on {', '.join(of.runs)}{counted}"], [_of_places(of)])


def _of_places(of: Any) -> Grid:
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


class Pairs(NamedTuple):
    """A comparison that is a part of another result."""

    table: object
    settings: Mapping[str, Any]


def tuned_text(of: Any) -> str:
    """A tuned fusion as plain text: the chosen method and its means, then the comparison with the other rankings."""
    return f"{_tuned(of).text()}\n\n{comparison(Pairs(of.comparison, of.settings)).text()}"


def tuned_html(of: Any) -> str:
    """The same as HTML in the colours of the page."""
    pairs = Pairs(of.comparison, of.settings)
    return _tuned(of).html() + html(_of_pairs(pairs, records(pairs.table), MOST_ROWS))


def _tuned(of: Any) -> Display:
    """The chosen method, its means out of fold and in sample, and a row per ranking with its mean."""
    rankings = records(of.table)
    out, within = rankings[:2]
    means = [number(row["mean"], 3) for row in (out, within)]
    ends = interval(out["ci_low"], out["ci_high"], 3)
    lines = [
        f"{of.text}, chosen among {len(records(of.candidates)):,} settings on {queries_of([out])}",
        f"{of.settings['metric']} out of fold {means[0]}{ends} ({of.settings['folds']} folds), in sample {means[1]}",
    ]
    body = []
    for row in rankings:
        mean = f"{number(row['mean'], 3)}{interval(row['ci_low'], row['ci_high'], 3)}"
        body.append((Cell(row["ranking"]), Cell(row["method"] or ""), Cell(mean)))
    chosen = (f"Fold {row['fold']}: {row['method']}" for row in records(of.folds))
    kinds = f"Interval: {intervals_of(row['interval'] for row in rankings)}."
    head = ("ranking", "method", f"mean [{_percent(of.settings)} interval]")
    return Display(lines, [Grid(head, tuple(body), 1, (kinds, *chosen))])


def overlap(of: Any, quotes: tuple[str, str] = IN_TEXT) -> Display:
    """The pairs of runs with the largest and the least overlap, the documents of each run alone, and all figures."""
    return Display(_overlap_lines(of, quotes), _overlap_grids(of))


def _overlap_lines(of: Any, quotes: tuple[str, str]) -> list[str]:
    pairs = [row for row in records(of.table) if row["jaccard"] is not None]
    if not pairs:
        return ["No run has a document"]
    most, least = (how(pairs, key=lambda row: float(row["jaccard"])) for how in (max, min))
    share = f"of the documents{_top(of)} of either"
    common = f"{_both(most, quotes)} have {_share(most)} {share} in common"
    if len(pairs) > 1:
        common = f"{_both(most, quotes)} have most in common, {_share(most)} {share}, and {_both(least, quotes)} least, {_share(least)}"
    runs = records(of.runs)
    judged = all(row["relevant"] is not None for row in runs)
    kind, counted = ("Relevant documents", "only_relevant") if judged else ("Documents", "only")
    alone = ", ".join(f"{quoted(row['run'], quotes)} {row[counted]:,}" for row in runs)
    return [common, f"{kind}{_top(of)} of one run only: {alone}"]


def _overlap_grids(of: Any) -> list[Grid]:
    """The figures of an overlap, of pairs of runs and of single runs."""
    pairs, runs, k = records(of.table), records(of.runs), of.settings["k"]
    figures = ("overlap", "jaccard", "rbo")
    body = [(*_names(row, "run", "other"), *_numbers(row, *figures)) for row in pairs]
    over = "the length of the longer ranking" if k is None else k
    note = f"Means over {queries_of(pairs)}. overlap: common documents over {over}; jaccard: over those of either run; rbo: rank-biased overlap of the whole rankings."
    names = ("retrieved", "only", "relevant", "only_relevant")
    counts = [name for name in names if any(row[name] is not None for row in runs)]
    of_runs = [(*_names(row, "run"), *(Cell(f"{row[name]:,}", row[name]) for name in counts)) for row in runs]
    own = f"Documents{_top(of)} over all queries; only: those that no other run has there."
    head = ("run", *(name.replace("_", " ") for name in counts))
    return [
        Grid(("run", "other", *figures), tuple(body), len(figures), (note,)),
        Grid(head, tuple(of_runs), len(counts), (own, *lazy_note(of.table, ".table and .runs"))),
    ]


def oracle(of: Any, quotes: tuple[str, str] = IN_TEXT) -> Display:
    """The gain of the best run of each query, and a row per metric and run."""
    rows = records(of.table)
    body = [
        (
            *_names(row, "metric", "run"),
            *_numbers(row, "mean", "oracle"),
            _estimated(row, "gain"),
            Cell(f"{row['better']:,} of {row['n_queries']:,}", row["better"]),
        )
        for row in rows
    ]
    note = "oracle: each query's best run, which only the labels tell; gain: the oracle less the run; better: on how many queries. "
    note += f"Interval: {intervals_of(row['interval'] for row in rows)}."
    head = ("metric", "run", "mean", "oracle", f"gain [{_percent(of.settings)} interval]", "better")
    grid = Grid(head, tuple(body), 4, (note, *lazy_note(of.table, ".table and .per_query")))
    return Display(_oracle_lines(of, quotes), [grid])


def _oracle_lines(of: Any, quotes: tuple[str, str]) -> list[str]:
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
        over = [f"{_estimated(best, 'gain').line} over {quoted(best['run'], quotes)}, the best single run"]
        over += [
            f"{_estimated(row, 'gain').line} over the fusion {quoted(fusion, quotes)}"
            for row in own
            if row["run"] == fusion
        ]
        lines.append(f"{metric} would be {best['oracle']:.3f} with the best run of each query: {', and '.join(over)}")
    return lines


def _names(row: Record, *columns: str) -> list[Cell]:
    return [Cell(name_of(row[name])) for name in columns]


def _numbers(row: Record, *columns: str, digits: int = 3) -> list[Cell]:
    return [Cell(number(row[name], digits), row[name]) for name in columns]


def _estimated(row: Record, name: str) -> Cell:
    """A difference of a row, and its interval."""
    value = row[name]
    ends = interval(row["ci_low"], row["ci_high"], decimals(value)).strip()
    return Cell("" if value is None else signed(value), value, ends)


def _p(row: Record) -> str:
    return "" if row["p_adjusted"] is None else p_value(row["p_adjusted"])


def _percent(settings: Mapping[str, Any]) -> str:
    """The confidence of the intervals."""
    return f"{100 * settings['ci']:.6g}%"


def _both(row: Record, quotes: tuple[str, str]) -> str:
    return " and ".join(quoted(row[name], quotes) for name in ("run", "other"))


def _share(row: Record) -> str:
    share = 100 * row["jaccard"]
    return f"{share:.{int(0 < share < 10)}f}%"


def _top(of: Any) -> str:
    k = of.settings["k"]
    return "" if k is None else f" in the top {k}"


def _left_out(of: Any, rows: Sequence[Record], tables: str, most: int | None) -> list[str]:
    """A line on the rows that are not shown, with the code that gives them."""
    more = [f"The first {most} of {len(rows):,} rows; .table has all."] if most is not None and len(rows) > most else []
    return more + lazy_note(of.table, tables)
