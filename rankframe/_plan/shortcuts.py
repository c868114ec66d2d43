"""Shortcuts of a plan: skip rows that need no rank, look up functions of labels.

No value depends on them. docs/performance.md says what each saves.
"""

from __future__ import annotations

import polars as pl

from .._table.table import Table
from .._words.columns_needed import Needed

__all__ = ["ROWS_OF_SMALL_TABLE", "fewer_rows", "largest_whole_label"]

ROWS_OF_SMALL_TABLE = 2**16
"""The most rows for which one unoptimized plan for all metrics is the fastest."""

LOOKED_UP_LABELS = 256
"""Labels below this number, if all are whole, have their functions looked up."""

SHARE_OF_TOP = 1 / 2
"""The largest share of rows down to a cutoff for which leaving out the others pays."""


def largest_whole_label(frame: pl.DataFrame, table: Table) -> int | None:
    """The largest label, at least 0, if labels are whole numbers small enough for look-ups; else None."""
    label = frame[table.setup.roles.label]
    if not label.dtype.is_integer() and (not label.dtype.is_float() or (label - label.floor() != 0).any()):
        return None
    top = max(float(label.max() or 0), 0)  # type: ignore[arg-type]
    return int(top) if top < LOOKED_UP_LABELS else None


def fewer_rows(needed: Needed, queries: int, rows: int) -> Needed:
    """The same values from fewer rows, where that pays."""
    top = needed.of_top
    if top is not None and isinstance(top.kept, int) and top.kept * queries < SHARE_OF_TOP * rows:
        return top
    return needed.of_gains if needed.of_gains and rows > ROWS_OF_SMALL_TABLE else needed
