"""Shortcuts of a plan: skip rows that need no rank, look up functions of labels, run parts in parallel.

No value depends on them. docs/performance.md says what each saves.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import polars as pl

from .._table.table import Table
from .._words.columns_needed import Needed

__all__ = [
    "ROWS_OF_SMALL_TABLE",
    "fewer_rows",
    "in_threads",
    "largest_whole_label",
    "parts_of",
    "side_by_side",
    "with_gain",
]

ROWS_OF_SMALL_TABLE = 2**16
"""The most rows for which one unoptimized plan for all metrics is the fastest."""

LOOKED_UP_LABELS = 256
"""Labels below this number, if all are whole, have their functions looked up."""

SHARE_WITH_GAIN = 1 / 64
"""The largest share of rows with a label above 0 for which dropping queries without one pays."""

SHARE_OF_TOP = 1 / 2
"""The largest share of rows down to a cutoff for which leaving out the others pays."""

ROWS_OF_PART = 3 * 2**16
"""The most rows of a part, so that memory for their columns does not grow with the table."""

ROWS_OF_THREAD = 2**17
"""The fewest rows worth a thread."""

S = TypeVar("S")
T = TypeVar("T")


def largest_whole_label(frame: pl.DataFrame, table: Table) -> int | None:
    """The largest label, at least 0, if labels are whole numbers small enough for look-ups; else None."""
    label = frame[table.setup.roles.label]
    if not label.dtype.is_integer() and (not label.dtype.is_float() or (label - label.floor() != 0).any()):
        return None
    top = max(float(label.max() or 0), 0)  # type: ignore[arg-type]
    return int(top) if top < LOOKED_UP_LABELS else None


def with_gain(frame: pl.DataFrame, table: Table) -> pl.DataFrame:
    """Keep all rows of queries that have a label above 0, and the first row of each other query.

    Returns the frame unchanged if few rows would go, or if query ids are slow to compare.
    """
    name, *others = table.setup.roles.query
    if others or not (frame.schema[name].is_integer() or frame.schema[name] == pl.String):
        return frame
    gains = frame.select(pl.col(table.setup.roles.label) > 0).to_series()
    if gains.sum() > SHARE_WITH_GAIN * frame.height:
        return frame
    query, relevant = pl.col(name), frame[name].filter(gains).unique()
    return frame.filter(query.is_first_distinct() | query.is_in(relevant.implode(), nulls_equal=True))


def fewer_rows(needed: Needed, queries: int, rows: int) -> Needed:
    """The same values from fewer rows, where that pays."""
    top = needed.of_top
    if top is not None and isinstance(top.kept, int) and top.kept * queries < SHARE_OF_TOP * rows:
        return top
    return needed.of_gains if needed.of_gains and rows > ROWS_OF_SMALL_TABLE else needed


def parts_of(rows: int) -> int:
    """The number of parts: each is small, and there are at least as many as run at once if threads pay."""
    return max(-(-rows // ROWS_OF_PART), min(_at_once(), rows // ROWS_OF_THREAD), 1)


def _at_once() -> int:
    """The number of concurrent plans: one more than Polars has threads, so that one runs while another waits."""
    return 1 if pl.thread_pool_size() == 1 else pl.thread_pool_size() + 1


def in_threads(tasks: Sequence[Callable[[], T]], rows: int) -> list[T]:
    """Run tasks that share `rows` rows, in parallel where that pays; results keep the order of tasks."""
    if len(tasks) == 1 or not _apart(rows):
        return [task() for task in tasks]
    with ThreadPoolExecutor(min(_at_once(), len(tasks))) as pool:
        return list(pool.map(lambda task: task(), tasks))


def side_by_side(one: Callable[[], S], other: Callable[[], T], rows: int) -> tuple[S, T]:
    """Run two tasks on `rows` rows, in two threads where that pays, and return both results."""
    if not _apart(rows):
        return one(), other()
    with ThreadPoolExecutor(1) as pool:
        aside = pool.submit(one)
        found = other()
        return aside.result(), found


def _apart(rows: int) -> bool:
    """Whether tasks run in new threads.

    Inside a callback of Polars they do not: it holds a Polars thread and must not wait for others.
    """
    in_callback = isinstance(threading.current_thread(), threading._DummyThread)
    return rows > ROWS_OF_THREAD and _at_once() > 1 and not in_callback
