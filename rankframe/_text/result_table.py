"""Comparisons and summaries as grids of cells, the same for every markup."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, TypeAlias

from .._catalog.parse import parse
from .._support.option_values import Range
from .._support.statistical_options import CORRECTIONS, INTERVALS, TESTS
from ..errors import InvalidOption, UnknownMetric

Record: TypeAlias = Mapping[str, Any]
"""A row of a table, its values by column, as Polars types it."""

NAMES = {"metric": "metric", "mean": "mean", "std": "std", "total": "total", "n_queries": "queries"}
INTERVAL = ("ci_low", "ci_high")
FINDING = ("severity", "problem", "rows", "tied_fraction", "advice")
"""The columns of findings beside the place."""
KINDS = ("severity", "problem", "findings", "rows", "where", "advice")
PLACES = 3  # shown of each kind of finding
Digits: TypeAlias = Annotated[int, Range(least=0, most=17)]  # a float has no more
Level: TypeAlias = Annotated[float, Range(above=0, below=1)]
COMPARED = {
    *(
        "metric",
        "baseline",
        "run",
        "baseline_mean",
        "mean",
        "difference",
        *INTERVAL,
        "interval",
        "p_value",
        "p_adjusted",
    ),
    *("effect_size", "wins", "ties", "losses", "n_queries"),
}
"""The columns of a comparison beside its slices."""


@dataclass(frozen=True)
class Cell:
    """A text and what a table says with it.

    Attributes
    ----------
    text
        The text.
    number
        The number that a reader sorts it by.
    below
        A second line.
    best
        Whether it is the best of its row or column, and bold.
    marks
        The letters of the runs that it is significantly better than.
    """

    text: str = ""
    number: float | None = None
    below: str = ""
    best: bool = False
    marks: tuple[str, ...] = ()

    @property
    def line(self) -> str:
        """Both lines in one."""
        return f"{self.text} {self.below}" if self.below else self.text

    @property
    def raised(self) -> str:
        """The letters as one text, separated by commas if any has two letters."""
        return (",\u2009" if any(len(mark) > 1 for mark in self.marks) else "").join(self.marks)


@dataclass(frozen=True)
class Grid:
    """Rows of cells under a head; the last `numbers` columns hold numbers. The notes come below."""

    head: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    numbers: int
    notes: tuple[str, ...] = ()


def lazy_note(table: object, names: str) -> list[str]:
    """A line with the code that collects the tables of a LazyFrame's result; none for other results."""
    return [f"{names} are LazyFrames; .table.collect() gives a DataFrame."] if hasattr(table, "collect") else []


def letters(i: int) -> str:
    """The name of the run of this number: a to z, then aa, ab and so on."""
    return (letters(i // 26 - 1) if i >= 26 else "") + "abcdefghijklmnopqrstuvwxyz"[i % 26]


def grid_of(of: Any, digits: int = 3, alpha: float = 0.05) -> Grid:
    """A comparison, or a frame that `summarize` made, as a grid."""
    if hasattr(of, "settings"):
        return _of_comparison(records(of.table), of.settings, digits, alpha)
    if hasattr(of, "collect_schema") or hasattr(of, "columns"):
        names = of.collect_schema().names() if hasattr(of, "collect_schema") else of.columns
        return _of_findings(records(of)) if {*FINDING} <= {*names} else _of_summary(records(of), digits)
    raise InvalidOption(f"{type(of).__name__} is no table of rankframe's; give what compare, summarize or check made")


def _of_comparison(table: Sequence[Record], settings: Mapping[str, Any], digits: int, alpha: float) -> Grid:
    by = [name for name in (table[0] if table else ()) if name not in COMPARED]
    runs, metrics = list(settings["runs"]), list(settings["metrics"])
    letter = {run: letters(i) for i, run in enumerate(runs)}
    slices = list(dict.fromkeys(tuple(row[name] for name in by) for row in table))
    means: dict[tuple[object, ...], float | None] = {}
    beaten: dict[tuple[object, ...], list[str]] = {}
    for row in table:
        at = (tuple(row[name] for name in by), row["metric"])
        run, base, difference = row["run"], row["baseline"], row["difference"]
        means[(*at, run)] = row["mean"]
        if row["baseline_mean"] is not None:
            means.setdefault((*at, base), row["baseline_mean"])
        if row["p_adjusted"] is not None and row["p_adjusted"] < alpha and difference:
            better = (difference > 0) == higher_is_better(row["metric"])
            beaten.setdefault((*at, run if better else base), []).append(letter[base if better else run])
    rows = []
    for part in slices:
        cells = {}
        for metric in metrics:
            shown = {run: number(means.get((part, metric, run)), digits) for run in runs}
            there = [value for run in runs if (value := means.get((part, metric, run))) is not None]
            top = (max if higher_is_better(metric) else min)(there) if there else None
            best = None if top is None else number(top, digits)
            for run in runs:
                marks = sorted(beaten.get((part, metric, run), ()), key=lambda mark: (len(mark), mark))
                cells[run, metric] = Cell(shown[run], best=shown[run] == best, marks=tuple(marks))
        for run in runs:
            head = (*(Cell(name_of(value)) for value in part), Cell(letter[run]), Cell(run))
            rows.append((*head, *(cells[run, metric] for metric in metrics)))
    notes = (
        f"Letters name the runs that a run is significantly better than: p < {alpha:g} by {test_of(table, settings)}.",
        f"Bold: the best of its column. Means over {queries_of(table)}.",
    )
    return Grid((*by, "", "run", *metrics), tuple(rows), len(metrics), notes)


def test_of(table: Sequence[Record], settings: Mapping[str, Any]) -> str:
    """The test of a comparison, and how its p-values are corrected."""
    corrected = correction_of(settings, len(table))
    return f"{TESTS[settings['test']]}{f', after {corrected}' if corrected else ''}"


def intervals_of(kinds: Iterable[str | None]) -> str:
    """The kinds of the intervals of a table, in words."""
    there = {*kinds}
    return " and ".join(text for kind, text in INTERVALS.items() if kind in there) or "none"


def queries_of(table: Sequence[Record]) -> str:
    """How many queries count in the rows of a table."""
    n = sorted({row["n_queries"] for row in table})
    counted = f"{n[0]:,}" if len(n) == 1 else f"{n[0]:,} to {n[-1]:,}" if n else "no"
    return "1 query" if n == [1] else f"{counted} queries"


def correction_of(settings: Mapping[str, Any], comparisons: int) -> str | None:
    """The correction of a comparison's p-values and the family that it is for; None where nothing is corrected."""
    correction, metrics = settings["correction"], len(settings["metrics"])
    if correction is None or settings["test"] == "tukey":
        return None
    by_metric = settings.get("family") == "metric" and metrics > 1
    n = comparisons // metrics if by_metric else comparisons
    family = " of each metric" if by_metric else " of all metrics together" if metrics > 1 else ""
    return f"{CORRECTIONS[correction]} for {n} comparisons{family}" if n > 1 else None


def _of_summary(table: Sequence[Record], digits: int) -> Grid:
    names = list(table[0]) if table else []
    if not {"metric", "mean"} <= set(names):
        raise InvalidOption(
            f"the frame has columns {', '.join(names) or 'none'}, and is no summary; give what df.rank.summarize(...) made"
        )
    by = [name for name in names if name not in {*NAMES, *INTERVAL, "interval"}]
    with_interval = set(INTERVAL) <= set(names)
    figures = ["mean", *(["interval"] if with_interval else []), *(x for x in ("std", "n_queries") if x in names)]
    if any(row.get("total") is not None for row in table):
        figures.append("total")
    rows = []
    for row in table:
        cells = [Cell(name_of(row[name])) for name in (*by, "metric")]
        for figure in figures:
            if figure == "interval":
                ends = [number(row[end], digits) for end in INTERVAL]
                cells.append(Cell(f"[{ends[0]}, {ends[1]}]" if all(ends) else ""))
            else:
                cells.append(Cell(number(row[figure], digits)))
        rows.append(tuple(cells))
    head = (*by, "metric", *(NAMES.get(figure, figure) for figure in figures))
    notes = (f"Interval: {intervals_of(row['interval'] for row in table)}.",) if "interval" in names else ()
    return Grid(head, tuple(rows), len(figures), notes)


def by_kind(findings: Sequence[Record]) -> list[dict[str, Any]]:
    """The findings of a check, a row per kind, errors first: how many there are, and where the first few are."""
    kinds: dict[tuple[str, str, str], list[Record]] = {}
    for row in findings:
        kinds.setdefault((row["severity"], row["problem"], row["advice"]), []).append(row)
    return [
        {
            "severity": severity,
            "problem": problem,
            "findings": len(found),
            "rows": sum(row["rows"] for row in found),
            "where": "; ".join(filter(None, map(_place, found[:PLACES]))) + " ..." * (len(found) > PLACES),
            "advice": advice,
        }
        for (severity, problem, advice), found in sorted(kinds.items(), key=lambda kind: kind[0][0] != "error")
    ]


def _place(finding: Record) -> str:
    """The query and the document that a finding concerns; nothing if it concerns the whole table."""
    at = {name: value for name, value in finding.items() if name not in FINDING and value is not None}
    share = finding["tied_fraction"]
    tied = [] if share is None else [f"{100 * share:.3g}% of documents tied"]
    return ", ".join([*(f"{name} {value}" for name, value in at.items()), *tied])


def _of_findings(findings: Sequence[Record]) -> Grid:
    rows = tuple(
        tuple(Cell(number(x, 0) if isinstance(x, int) else x, best=x == "error") for x in row.values())
        for row in by_kind(findings)
    )
    return Grid(KINDS, rows, 0, () if rows else ("Nothing found.",))


def records(frame: Any) -> list[dict[str, Any]]:
    """The rows of a frame of any library as dictionaries, with ``None`` for missing values."""
    if hasattr(frame, "to_dicts"):
        return list(frame.to_dicts())
    if hasattr(frame, "collect"):
        return list(frame.collect().to_dicts())
    names = [str(name) for name in frame.columns]
    columns = [frame.iloc[:, i].astype(object).where(frame.iloc[:, i].notna(), None) for i in range(len(names))]
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def plain(value: Any) -> Any:
    """A setting converted for JSON."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, str):
        return [plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)


def higher_is_better(metric: str) -> bool:
    try:
        return parse(metric)[0].higher_is_better
    except UnknownMetric:  # a user's metric that was unregistered in the meantime
        return True


def number(value: float | None, digits: int) -> str:
    """A figure with `digits` decimals; whole numbers in full, nothing for null."""
    if value is None:
        return ""
    return f"{value:,}" if isinstance(value, int) else f"{value:.{digits}f}"


def name_of(value: object) -> str:
    """The name of a slice or a run as text."""
    return "null" if value is None else str(value)
