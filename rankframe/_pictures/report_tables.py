"""The tables of a report: runs side by side, tests of their differences, and the settings."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from .._catalog.call import Call
from .._support.statistical_options import CORRECTIONS, TESTS
from .._text.result_parts import Row
from .._text.result_table import intervals_of, plain
from .._text.sentences import decimals, interval, p_value

TOGETHER = 3
"""The most runs in one table, without the run that they are compared with."""
DIGITS = 3
"""The number of decimals; more where a value that is not 0 would read as 0."""


@dataclass(frozen=True)
class Cell:
    """A text, the number that it is sorted by, a second line, and whether it is the best of its row."""

    text: str = ""
    number: float | None = None
    below: str = ""
    best: bool = False


@dataclass(frozen=True)
class Table:
    """Rows of cells under a head; the last `numbers` columns hold numbers."""

    head: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    numbers: int
    notes: tuple[str, ...] = ()


class Line(NamedTuple):
    """A row of a table of runs: a metric or a slice of one, its summary per run, and the differences per run."""

    name: Cell
    call: Call
    means: Mapping[str, Row]
    differences: Mapping[str, Row]

    @property
    def queries(self) -> Cell:
        """The number of queries behind the means: one number, or a range where runs differ."""
        n = sorted({row["n_queries"] for row in self.means.values()})
        return counted(n[0]) if len(n) == 1 else Cell(f"{n[0]:,} to {n[-1]:,}", n[0])

    @property
    def urgency(self) -> tuple[bool, float, float, str]:
        """The sort key of a line: the greatest loss first, for one run the worst mean; lines without a value last."""
        rows = [(row, "difference") for row in self.differences.values()] or [
            (row, "mean") for row in self.means.values()
        ]
        gains = [row[name] * (1 if self.call.higher_is_better else -1) for row, name in rows if row[name] is not None]
        return not gains, min(gains, default=0.0), -(self.queries.number or 0), self.name.text

    def mean(self, run: str) -> Cell:
        """A run's mean with its interval, marked if no run has a better one."""
        means = [row["mean"] for row in self.means.values() if row["mean"] is not None]
        top = (max if self.call.higher_is_better else min)(means, default=None)
        found = estimate(self.means.get(run), "mean")
        best = len(self.means) > 1 and top is not None and found.text == f"{top:.{DIGITS}f}"
        return Cell(found.text, found.number, found.below, best)


def shown(value: object) -> Cell:
    """The cell of a value of the user's table."""
    number = value if isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value) else None
    text = "" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)
    return Cell(text, number)


def counted(n: int) -> Cell:
    return Cell(f"{n:,}", n)


def estimate(row: Row | None, name: str) -> Cell:
    """A mean or a difference with its interval below; empty if it has no value."""
    if row is None or row[name] is None:
        return Cell()
    value, sign = row[name], "+" if name == "difference" else ""
    digits = decimals(value) if 0 < abs(value) < 0.5 * 10**-DIGITS else DIGITS
    number = float(f"{value:.12g}")  # further digits depend on the order of summation
    return Cell(f"{value:{sign}.{digits}f}", number, interval(row["ci_low"], row["ci_high"], digits).strip())


def one_run(of: str, lines: Iterable[Line]) -> Table:
    """The summary of one run: a row per metric or slice."""
    rows = []
    for line in lines:
        ((run, row),) = line.means.items()
        std = Cell() if row["std"] is None else Cell(f"{row['std']:.{DIGITS}f}", row["std"])
        rows.append((line.name, line.mean(run), std, line.queries))
    return Table((of, "mean", "std", "queries"), tuple(rows), 3)


def side_by_side(of: str, lines: Sequence[Line], reference: str, others: Sequence[str]) -> Iterator[Table]:
    """A row per metric or slice; a column per run, and one with its difference from the reference.

    Many runs make several tables, each with the reference.
    """
    for start in range(0, len(others), TOGETHER):
        part = others[start : start + TOGETHER]
        head = (of, reference, *(name for run in part for name in (run, "difference")), "queries")
        rows = []
        for line in lines:
            pairs = [(line.mean(run), estimate(line.differences.get(run), "difference")) for run in part]
            rows.append((line.name, line.mean(reference), *(cell for pair in pairs for cell in pair), line.queries))
        yield Table(head, tuple(rows), len(head) - 1)


def of_tests(table: Sequence[Row], settings: Mapping[str, Any]) -> Table:
    """The tests: a row per metric and pair of runs."""
    rows = [
        (
            Cell(row["metric"]),
            Cell(f"{row['run']} against {row['baseline']}"),
            estimate(row, "difference"),
            *(
                Cell() if row[name] is None else Cell(p_value(row[name]), row[name])
                for name in ("p_value", "p_adjusted")
            ),
            *(counted(row[name]) for name in ("wins", "ties", "losses")),
        )
        for row in table
    ]
    head = ("metric", "runs", "difference", "p", "adjusted p", "better on", "equal on", "worse on")
    adjusted = f", adjusted by {CORRECTIONS[settings['correction']]} for {len(table)} comparisons"
    note = (
        f"p by {TESTS[settings['test']]}{adjusted if len(table) > 1 else ''}. Brackets: {settings['ci']:.0%} interval of "
        f"the mean difference ({intervals_of(row['interval'] for row in table)}). Better, equal and worse: on how many queries."
    )
    return Table(head, tuple(rows), 6, (note,))


def of_settings(settings: Mapping[str, object]) -> list[tuple[str, list[tuple[str, str]]]]:
    """Groups of settings and their values, without unset ones."""
    groups: dict[str, list[tuple[str, str]]] = {}
    for name, value in plain(settings).items():
        inner = value if isinstance(value, dict) else {name: value}
        group = groups.setdefault(name if isinstance(value, dict) else "report", [])
        group += [(key, written(item)) for key, item in inner.items() if item is not None and item != []]
    return [(name, rows) for name, rows in groups.items() if rows]


def written(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(written, value))
    if isinstance(value, dict):
        return ", ".join(f"{name}: {written(item)}" for name, item in value.items() if item is not None)
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
