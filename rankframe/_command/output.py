"""Output: tables as text, notes on standard error."""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import polars as pl

from .. import report
from .._decisions.compare import Comparison
from .._text.displays import comparison_markdown, comparison_text
from .._text.markup import html, latex, markdown_text
from .._text.result_table import Cell, Grid
from .._text.user_text import CONTROL, rewritten, visible
from ..errors import InvalidOption, RankframeWarning
from .words import in_options

__all__ = ["FOR_PEOPLE", "Table", "formatted", "note", "trec_lines", "warnings_as_notes"]

FOR_PEOPLE = ("table", "markdown", "latex", "html")
"""The formats for people: numbers are rounded, and notes are printed below the table."""

FORMULA = re.compile(r"[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")
"""The characters that begin a formula in a spreadsheet: four signs, their wide forms, and characters that hide them."""


def note(text: str) -> None:
    """Print a note on standard error."""
    print(f"rankframe: note: {visible(text)}", file=sys.stderr)


@contextmanager
def warnings_as_notes(of: str = "") -> Iterator[None]:
    """Print the library's warnings as notes, beginning with `of`, such as a run's name."""
    show = warnings.showwarning

    def as_note(message: Warning | str, category: type[Warning], *where: Any, **others: Any) -> None:
        if isinstance(message, RankframeWarning):
            note(of + in_options(message.said))
        else:
            show(message, category, *where, **others)

    with warnings.catch_warnings():
        warnings.simplefilter("always", RankframeWarning)
        warnings.showwarning = as_note
        yield


@dataclass(frozen=True)
class Table:
    """A table to print or to write.

    Attributes
    ----------
    frame
        The table.
    notes
        Lines below it in the formats for people.
    comparison
        The comparison behind the table, which formats for people print in a form of its own.
    """

    frame: pl.DataFrame
    notes: Sequence[str] = ()
    comparison: Comparison[pl.DataFrame] | None = None


def formatted(table: Table, format: str) -> str:
    """The table as text: four decimals for people, all digits for programs."""
    if format == "table" and table.comparison is not None:
        return comparison_text(table.comparison, most=None)
    if format == "markdown" and table.comparison is not None:
        return comparison_markdown(table.comparison)
    if format == "latex":
        return report.latex(table.comparison) if table.comparison is not None else latex(_grid(table))
    if format == "html":
        found = report.notebook(table.comparison) if table.comparison is not None else html(_grid(table))
        return found.encode("ascii", "xmlcharrefreplace").decode()  # a fragment names no encoding
    shown = _shown(table.frame, format)
    return "\n".join([shown, "", *map(visible, table.notes)]) if table.notes and format in FOR_PEOPLE else shown


def _grid(table: Table) -> Grid:
    """The table as a grid of cells, the last columns of numbers aligned right."""
    dtypes = table.frame.dtypes
    numbers = next((i for i, dtype in enumerate(reversed(dtypes)) if not dtype.is_numeric()), len(dtypes))
    rows = tuple(tuple(Cell(_cell(value)) for value in row) for row in table.frame.iter_rows())
    return Grid(tuple(table.frame.columns), rows, numbers, tuple(table.notes))


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.4f}"
    return "" if value is None else visible(str(value))


def _shown(frame: pl.DataFrame, format: str) -> str:
    if format == "csv":
        return frame.write_csv().removesuffix("\n")
    if format == "safe-csv":
        return _all_written(frame, _no_formula).write_csv(quote_style="non_numeric").removesuffix("\n")
    if format == "json":
        return CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", frame.write_json())
    frame = _all_written(frame, _in_markdown if format == "markdown" else visible)
    with pl.Config(
        tbl_formatting="MARKDOWN" if format == "markdown" else "NOTHING",
        tbl_hide_column_data_types=True,
        tbl_hide_dataframe_shape=True,
        tbl_cell_numeric_alignment="RIGHT",
        tbl_rows=-1,
        tbl_cols=-1,
        tbl_width_chars=65_535,
        fmt_str_lengths=100_000,
        float_precision=4,
    ):
        lines = str(frame).splitlines()
    return "\n".join(lines if format == "markdown" else (line[1:].rstrip() for line in lines))


def _all_written(frame: pl.DataFrame, how: Callable[[str], str]) -> pl.DataFrame:
    """The table with `how` applied to every text and every column name."""
    return rewritten(frame, how).rename(how)


def _in_markdown(text: str) -> str:
    return markdown_text(visible(text))


def _no_formula(text: str) -> str:
    return f"'{text}" if FORMULA.match(text) else text


def trec_lines(
    scores: pl.DataFrame, of_all: Mapping[str, object], counts: Sequence[str], *, queries: bool
) -> Iterator[str]:
    """The lines of trec_eval -q: measure, query and value; the queries sorted by name, then the line for all."""
    if queries:
        for query in scores["query_id"].cast(pl.String).drop_nulls():
            if CONTROL.search(query):
                raise InvalidOption(
                    f"query_id {query!r} has a line break, a tab or the like, for which --format trec has no place; "
                    "write --format csv or --format json"
                )
        for row in scores.sort(pl.col("query_id").cast(pl.String)).iter_rows(named=True):
            query = row.pop("query_id")
            yield from (_line(name, query, value, whole=name in counts) for name, value in row.items())
    yield from (_line(name, "all", value, whole=name in counts) for name, value in of_all.items())


def _line(name: str, query: object, value: object, *, whole: bool) -> str:
    if isinstance(value, float):
        shown = f"{value:.0f}" if whole else f"{value:6.4f}"
    else:
        shown = "nan" if value is None else str(value)
    return f"{name:<22}\t{query}\t{shown}"
