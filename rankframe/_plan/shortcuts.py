"""Shortcuts of a plan: rows that need not be ranked, functions of labels that are looked up, parts that run side by side.

No value depends on them. docs/performance.md says what each saves.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import polars as pl

from .._table.table import Table

__all__ = ["SMALL", "in_threads", "largest_whole_label", "parts_of", "side_by_side", "with_gain"]

SMALL = 2**16
"""Up to how many rows one plan of all metrics on all rows, which Polars does not optimize, is the fastest."""

FEW = 256
"""How many labels are so few that functions of them are looked up."""

SPARSE = 1 / 64
"""The share of rows with a label above 0 up to which it is worth while to look for queries that have none."""

PART = 3 * 2**16
"""How many rows a plan has side by side with all their columns: memory for them does not grow with the table."""

LEAST = 2**17
"""From how many rows on a thread pays."""

S = TypeVar("S")
T = TypeVar("T")


def largest_whole_label(frame: pl.DataFrame, table: Table) -> int | None:
    """The largest label, at least 0, if all are whole numbers below `FEW`: functions of them can be looked up."""
    label = frame[table.setup.roles.label]
    if not label.dtype.is_integer() and (not label.dtype.is_float() or (label.floor() != label).any()):
        return None
    top = max(float(label.max() or 0), 0)  # type: ignore[arg-type]
    return int(top) if top < FEW else None


def with_gain(frame: pl.DataFrame, table: Table) -> pl.DataFrame:
    """The rows of queries that have a document with a label above 0, and the first row of each of the others.

    It is the frame itself where that is hardly less, or where queries have ids that take longer to tell apart.
    """
    name, *others = table.setup.roles.query
    if others or not (frame.schema[name].is_integer() or frame.schema[name] == pl.String):
        return frame
    gains = frame.select(table.label > 0).to_series()
    if gains.sum() > SPARSE * frame.height:
        return frame
    query, relevant = pl.col(name), frame[name].filter(gains).unique()
    return frame.filter(query.is_first_distinct() | query.is_in(relevant.implode(), nulls_equal=True))


def parts_of(rows: int) -> int:
    """The number of parts that rows are cut into: small ones, and at least as many as run at once if threads pay."""
    return max(-(-rows // PART), min(_at_once(), rows // LEAST), 1)


def _at_once() -> int:
    """How many plans run at a time: two for each of Polars' threads, so that one can go on while another waits."""
    return 1 if pl.thread_pool_size() == 1 else 2 * pl.thread_pool_size()


def in_threads(tasks: Sequence[Callable[[], T]], rows: int) -> list[T]:
    """Run tasks on so many rows in all, several at a time where that pays, and return their results in order."""
    if len(tasks) == 1 or not _apart(rows):
        return [task() for task in tasks]
    with ThreadPoolExecutor(min(_at_once(), len(tasks))) as pool:
        return list(pool.map(lambda task: task(), tasks))


def side_by_side(one: Callable[[], S], other: Callable[[], T], rows: int) -> tuple[S, T]:
    """Run two tasks on so many rows, in two threads where that pays, and return both results."""
    if not _apart(rows):
        return one(), other()
    with ThreadPoolExecutor(1) as pool:
        aside = pool.submit(one)
        found = other()
        return aside.result(), found


def _apart(rows: int) -> bool:
    """Whether tasks get threads of their own.

    A function that Polars calls holds one of Polars' threads, so that it must not wait for plans that need them.
    """
    return rows > LEAST and _at_once() > 1 and not isinstance(threading.current_thread(), threading._DummyThread)
