"""Run tasks in threads of their own, if that is faster than one after the other."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import polars as pl

__all__ = ["LEAST", "at_once", "in_threads", "side_by_side"]

LEAST = 2**17
"""The number of rows from which a thread of its own pays for a task."""

S = TypeVar("S")
T = TypeVar("T")


def at_once() -> int:
    """The number of plans to run at a time: with two for each of Polars' threads, one of them can always go on."""
    return 1 if pl.thread_pool_size() == 1 else 2 * pl.thread_pool_size()


def in_threads(works: Sequence[Callable[[], T]], rows: int) -> list[T]:
    """Run the tasks, `at_once` at a time if there are enough rows to pay for threads; return their results."""
    if len(works) == 1 or not _apart(rows):
        return [work() for work in works]
    with ThreadPoolExecutor(min(at_once(), len(works))) as pool:
        return list(pool.map(lambda work: work(), works))


def side_by_side(one: Callable[[], S], other: Callable[[], T], rows: int) -> tuple[S, T]:
    """Run two tasks, side by side if there are enough rows to pay for a thread; return both results."""
    if not _apart(rows):
        return one(), other()
    with ThreadPoolExecutor(1) as pool:
        aside = pool.submit(one)
        found = other()
        return aside.result(), found


def _apart(rows: int) -> bool:
    """Whether tasks get threads of their own.

    A function that Polars calls occupies one of Polars' threads, and must not wait there for tasks of other threads.
    """
    return rows > LEAST and at_once() > 1 and not isinstance(threading.current_thread(), threading._DummyThread)
