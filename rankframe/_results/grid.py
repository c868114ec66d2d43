"""Figures as grids of cells, the same for every markup."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from string import ascii_lowercase
from typing import Annotated, Any, TypeAlias

from .._catalog.call import Call
from .._catalog.parse import parse
from .._statistics.estimators import INTERVALS
from .._support.option_values import Range
from ..errors import RankframeError

Record: TypeAlias = Mapping[str, Any]
"""A row of a table, its values by column, as Polars types it."""

Digits: TypeAlias = Annotated[int, Range(least=0, most=17)]  # a float has no more
Level: TypeAlias = Annotated[float, Range(above=0, below=1)]

ALPHA = 0.05
"""A difference is called significant if its corrected p-value is below this."""

LEAST_P = 0.0001
"""Smaller p-values are shown as smaller than this."""


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
        has_long = any(len(mark) > 1 for mark in self.marks)
        return (",\u2009" if has_long else "").join(self.marks)


@dataclass(frozen=True)
class Grid:
    """Rows of cells under the names of columns.

    Words come first, then figures, which end at the right, then words again.

    The notes come below.
    """

    words: tuple[str, ...]
    figures: tuple[str, ...]
    rows: Sequence[Sequence[Cell]]
    notes: Sequence[str] = ()
    after: tuple[str, ...] = ()
    ends: tuple[bool, ...] | None = None
    """Which columns end at the right, if words and figures alternate."""

    @property
    def head(self) -> tuple[str, ...]:
        """The names of all columns."""
        return self.words + self.figures + self.after

    @property
    def right(self) -> tuple[bool, ...]:
        """Whether a column ends at the right."""
        if self.ends is not None:
            return self.ends
        before = [False] * len(self.words)
        figures = [True] * len(self.figures)
        return (*before, *figures, *[False] * len(self.after))


def letters(i: int) -> str:
    """The name of the run of this number: a to z, then aa, ab and so on."""
    before = letters(i // 26 - 1) if i >= 26 else ""
    return before + ascii_lowercase[i % 26]


def intervals_of(kinds: Iterable[str | None]) -> str:
    """The kinds of the intervals of a table, in words."""
    in_table = {*kinds}
    texts = [text for kind, text in INTERVALS.items() if kind in in_table]
    return " and ".join(texts) or "none"


def queries_of(table: Sequence[Record]) -> str:
    """How many queries count in the rows of a table."""
    n = sorted({row["n_queries"] for row in table})
    if not n:
        return "no queries"
    return queries(n[0]) if len(n) == 1 else f"{n[0]:,} to {n[-1]:,} queries"


def records(frame: Any) -> list[dict[str, Any]]:
    """The rows of a frame of any library as dictionaries, with ``None`` for missing values."""
    if hasattr(frame, "to_dicts"):
        return list(frame.to_dicts())
    if hasattr(frame, "collect"):
        return list(frame.collect().to_dicts())
    names = [str(name) for name in frame.columns]
    columns = []
    for i in range(len(names)):  # by place, since names may repeat
        column = frame.iloc[:, i]
        columns.append(column.astype(object).where(column.notna(), None))
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def plain(value: Any) -> Any:
    """A setting converted for JSON."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, str):
        return [plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    is_plain = value is None or isinstance(value, (bool, int, float, str))
    return value if is_plain else str(value)


def is_setting(value: object) -> bool:
    """Whether an argument is written down with a result.

    It is a number, a text or several, and no table.
    """
    if isinstance(value, Mapping):
        return all(isinstance(key, str) and is_setting(x) for key, x in value.items())
    if isinstance(value, (list, tuple)):
        return all(map(is_setting, value))
    return value is None or isinstance(value, (bool, int, float, str))


def higher_is_better(metric: str) -> bool:
    return all(call.higher_is_better for call in _calls(metric))


def in_words(metric: str) -> str:
    """The name of a metric in a sentence or a printed table: of a value, its column's name."""
    names = (call.display for call in _calls(metric) if not call.of_ranking)
    return next(names, metric)


def _calls(metric: str) -> Sequence[Call]:
    """The call that a text names.

    There is none of an expression, or of a user's metric that was unregistered in the meantime.
    """
    try:
        return parse(metric)[:1]
    except RankframeError:
        return ()


def number(value: float | None, digits: int) -> str:
    """A figure with `digits` decimals; whole numbers in full, nothing for null."""
    if value is None:
        return ""
    return f"{value:,}" if isinstance(value, int) else f"{value:.{digits}f}"


def name_of(value: object) -> str:
    """The name of a slice or a run as text."""
    return "null" if value is None else str(value)


def named(row: Record, *columns: str) -> list[Cell]:
    cells = []
    for name in columns:
        value = in_words(row[name]) if name == "metric" else row[name]
        cells.append(Cell(name_of(value)))
    return cells


def numbers(row: Record, *columns: str, digits: int = 3) -> list[Cell]:
    return [Cell(number(row[name], digits), row[name]) for name in columns]


def estimated(row: Record, name: str) -> Cell:
    """A mean or a difference of a row, and its interval."""
    value: Any = row[name]
    digits = decimals(value)
    is_signed = value is not None and name not in ("mean", "value")
    text = signed(row[name]) if is_signed else number(value, digits)
    exact = value and float(f"{value:.12g}")  # further digits depend on the order of summation
    ends = interval(row["ci_low"], row["ci_high"], digits)
    return Cell(text, exact, ends.strip())


def p_cell(row: Record, corrected: bool = False) -> str:
    """The p-value.

    One that is `corrected` stands after the plain one, with which the interval agrees.
    """
    if row["p_adjusted"] is None:
        return ""
    adjusted = p_value(row["p_adjusted"])
    if corrected and "p_value" in row:
        return f"{p_value(row['p_value'])} ({adjusted})"
    return adjusted


def percent(settings: Mapping[str, Any]) -> str:
    """The confidence of the intervals."""
    return f"{100 * settings['ci']:.6g}%"


def with_intervals(ci: float | None, how: str) -> str:
    """The end of a sentence on values that have intervals."""
    return "" if ci is None else f", with {percent({'ci': ci})} intervals ({how})"


def left_out(result: Any, rows: Sequence[Record], most: int | None) -> list[str]:
    """A line on the rows that are not shown, and one on collecting a LazyFrame's tables."""
    first, *others = (f".{name}" for name in result.tables)
    lines = []
    if most is not None and len(rows) > most:
        lines.append(f"The first {most} of {len(rows):,} rows; {first} has all.")
    main = getattr(result, first[1:])
    if hasattr(main, "collect"):
        names = first
        if others:
            names = f"{', '.join([first, *others[:-1]])} and {others[-1]}"
        lines.append(f"{names} are LazyFrames; {first}.collect() gives a DataFrame.")
    return lines


def p_value(p: float) -> str:
    """A p-value with two significant digits, or as many as tell on which side of `ALPHA` it is."""
    if p < LEAST_P:
        return f"< {LEAST_P:.4f}"
    texts = (f"{p:.{digits}g}" for digits in range(2, 18))
    return next(text for text in texts if (float(text) < ALPHA) == (p < ALPHA))


def interval(low: float | None, high: float | None, digits: int) -> str:
    """An interval in brackets after a space; empty without an interval."""
    if low is None or high is None:
        return ""
    return f" [{low:.{digits}f}, {high:.{digits}f}]"


def decimals(difference: float | None, least: int = 3) -> int:
    """How many decimals show two digits of a difference, at least three."""
    if not difference or not math.isfinite(difference):
        return least
    return max(least, 1 - math.floor(math.log10(abs(difference))))


def signed(difference: float) -> str:
    """A difference with its sign; 0 has none."""
    return f"{difference:+.{decimals(difference)}f}" if difference else f"{0:.{decimals(0)}f}"


def queries(n: int) -> str:
    """A number of queries, with the word."""
    return "1 query" if n == 1 else f"{n:,} queries"
