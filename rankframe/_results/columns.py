"""The columns of results: each has one type, one head and one way to show a cell."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import polars as pl
from polars import selectors as cs

from ..errors import InvalidOption
from .grid import (
    Cell,
    Grid,
    Record,
    estimated,
    intervals_of,
    named,
    number,
    numbers,
    p_cell,
    p_value,
    percent,
    records,
)

Shows: TypeAlias = Callable[[Record, str], Cell]
"""A function that shows the value of a column in a row."""


def words(row: Record, name: str) -> Cell:
    """A name, or another value as text."""
    return named(row, name)[0]


def figure(row: Record, name: str) -> Cell:
    """A number with three decimals, or a count in full."""
    return numbers(row, name)[0]


def plain_p(row: Record, name: str) -> Cell:
    """A p-value that nothing corrects."""
    p = row[name]
    return Cell("" if p is None else p_value(p), p)


def adjusted_p(row: Record, name: str) -> Cell:
    """A p-value after the correction."""
    return Cell(p_cell(row), row[name])


def both_ps(row: Record, name: str) -> Cell:
    """The p-value, with which the interval agrees, and that after the correction."""
    return Cell(p_cell(row, corrected=True), row[name])


@dataclass(frozen=True)
class ResultColumn:
    """A column of results.

    Attributes
    ----------
    dtype
        The type of its values.
    shows
        Shows a value.
    head
        Its head in a printed table; default: its name.
    """

    dtype: pl.DataType
    shows: Shows
    head: str | None = None

    def head_of(self, name: str, settings: Mapping[str, Any]) -> str:
        """The head of the column; of an estimate, with the confidence of its interval."""
        head = name.replace("_", " ") if self.head is None else self.head
        if self.shows is estimated:
            return f"{head} [{percent(settings)} interval]"
        return head


def _alike(names: str, dtype: pl.DataType, shows: Shows) -> dict[str, ResultColumn]:
    """Columns whose heads are their names."""
    column = ResultColumn(dtype, shows)
    return dict.fromkeys(names.split(), column)


NAMES = """
    metric run baseline original other judge group best worst gap ranking method measure ranks team
    figure predictor correlation interval tool differs_by note says severity problem where advice
"""
SHARES = """
    mean baseline_mean original_mean mean_without oracle best_mean worst_mean std total
    effective_sample_size overlap jaccard rbo baseline_value ratio_low ratio_high ci_low ci_high
    rate_low rate_high win_rate tie_rate strength power propensity credit score normalized
    contribution fused ee_d ee_r ee_l effect_ratio other_difference tuned_weight variance_saved
    label other_label
"""
COUNTS = """
    retrieved only relevant only_relevant rank rank_without fused_rank team_rank other_rank better
    wins ties losses n_unique n_unique_relevant findings rows
"""

COLUMNS: Mapping[str, ResultColumn] = {
    **_alike(NAMES, pl.String(), words),
    **_alike(SHARES, pl.Float64(), figure),
    **_alike(COUNTS, pl.UInt32(), figure),
    **_alike("value difference gain delta bias ratio", pl.Float64(), estimated),
    "ktu": ResultColumn(pl.Float64(), figure, "KTU"),
    "rmse": ResultColumn(pl.Float64(), figure, "RMSE"),
    "delta_relative_improvement": ResultColumn(pl.Float64(), figure, "delta RI"),
    "p_value": ResultColumn(pl.Float64(), plain_p, "p"),
    "p_adjusted": ResultColumn(pl.Float64(), adjusted_p, "p"),
    "n_queries": ResultColumn(pl.UInt32(), figure, "queries"),
    "n_judged": ResultColumn(pl.UInt32(), figure, "judged"),
    "n_documents": ResultColumn(pl.UInt32(), figure, "documents"),
    "n_clicks": ResultColumn(pl.UInt32(), figure, "clicks"),
    "n_rankings": ResultColumn(pl.UInt32(), figure, "rankings"),
    "n_impressions": ResultColumn(pl.UInt32(), figure, "impressions"),
    "n_users": ResultColumn(pl.UInt32(), figure, "users"),
    "n_pairs": ResultColumn(pl.UInt32(), figure, "pairs"),
    "n_groups": ResultColumn(pl.UInt32(), figure, "groups"),
    "n_baseline": ResultColumn(pl.UInt32(), figure, "baseline's queries"),
    "n_group": ResultColumn(pl.UInt32(), figure, "group's queries"),
    "n_items": ResultColumn(pl.Int64(), figure, "items"),
    "queries_to_halve": ResultColumn(pl.Int64(), figure),
    "impressions_needed": ResultColumn(pl.Int64(), figure, "needed"),
}
"""The columns of results, by name."""


def schema(names: str) -> dict[str, pl.DataType]:
    """The types of columns of a result, by their names in one text."""
    return {name: COLUMNS[name].dtype for name in names.split()}


def table_in(rows: Sequence[Sequence[object]], columns: Mapping[str, pl.DataType]) -> pl.DataFrame:
    """A table of a result from its rows, with null for NaN."""
    table = pl.DataFrame(rows, columns, orient="row")
    return table.with_columns(cs.float().fill_nan(None))


def grid(
    result: Any,
    rows: Sequence[Record],
    words_before: Sequence[str],
    figures: str,
    notes: Sequence[str],
    most: int | None,
    *,
    heads: Mapping[str, str] | None = None,
    cells: Mapping[str, Shows] | None = None,
) -> Grid:
    """Some columns of a table of a result, as people read them.

    Parameters
    ----------
    result
        The result.
    rows
        The rows of the table.
    words_before
        The columns of names, and of slices.
    figures
        The columns of figures, in one text.
    notes
        The lines below.
    most
        How many rows are shown.
    heads, cells
        What this grid shows otherwise than other ones, by column.
    """
    shown = figures.split()
    shows = {name: COLUMNS[name].shows for name in shown}
    shows |= cells or {}
    names = (*words_before, *shown)
    body = [tuple(shows.get(name, words)(row, name) for name in names) for row in rows[:most]]
    head = {name: COLUMNS[name].head_of(name, result.settings) for name in shown}
    head |= {name: text for name, text in (heads or {}).items() if name in head}
    return Grid(tuple(words_before), tuple(head.values()), body, notes)


INTERVAL = ("ci_low", "ci_high")

OF_SUMMARY = ("metric", "mean", "std", "total", "n_queries", "interval", *INTERVAL)
"""The columns of a summary that are no slices of it."""


def of_summary(frame: Any, digits: int) -> Grid:
    """A frame that `summarize` made."""
    refuse_other_tables(frame)
    table = records(frame)
    names = list(table[0]) if table else []
    refuse_no_summary(names)
    by = [name for name in names if name not in OF_SUMMARY]
    figures = ["mean"]
    if {*INTERVAL} <= {*names}:
        figures.append("interval")
    figures += [name for name in ("std", "n_queries") if name in names]
    if any(row.get("total") is not None for row in table):
        figures.append("total")
    rows = []
    for row in table:
        cells = named(row, *by, "metric")
        for figure in figures:
            text = _ends(row, digits) if figure == "interval" else number(row[figure], digits)
            cells.append(Cell(text))
        rows.append(tuple(cells))
    heads = tuple(COLUMNS[figure].head_of(figure, {}) for figure in figures)
    notes = []
    if "interval" in names:
        kinds = intervals_of(row["interval"] for row in table)
        notes.append(f"Interval: {kinds}.")
    return Grid((*by, "metric"), heads, rows, notes)


def refuse_other_tables(frame: object) -> None:
    """Refuse what has no columns."""
    if not (hasattr(frame, "collect_schema") or hasattr(frame, "columns")):
        says = "is no table of rankframe's; give what compare, summarize or check made"
        raise InvalidOption(f"{type(frame).__name__} {says}")


def refuse_no_summary(names: Sequence[str]) -> None:
    """Refuse columns that are not those of a summary."""
    if not {"metric", "mean"} <= {*names}:
        there = ", ".join(names) or "none"
        made = "give what df.rank.summarize(...) made"
        raise InvalidOption(f"the frame has columns {there}, and is no summary; {made}")


def _ends(row: Record, digits: int) -> str:
    """The interval of a mean in brackets; empty without one."""
    low, high = (number(row[end], digits) for end in INTERVAL)
    return f"[{low}, {high}]" if low and high else ""
