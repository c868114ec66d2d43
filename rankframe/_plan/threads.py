"""Works side by side, where that is faster than one after the other."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import polars as pl

__all__ = ["LEAST", "at_once", "in_threads", "side_by_side"]

LEAST = 2**17
"""How many rows it takes for a thread of their own to be worth while."""

S = TypeVar("S")
T = TypeVar("T")


def at_once() -> int:
    """How many plans are run at a time: with two for each of Polars' threads there is always one that can go on."""
    return 1 if pl.thread_pool_size() == 1 else 2 * pl.thread_pool_size()


def in_threads(works: Sequence[Callable[[], T]], rows: int) -> list[T]:
    """What each of the works on so many rows gives, `at_once` of which keep Polars' threads busier than one by one."""
    if len(works) == 1 or not _apart(rows):
        return [work() for work in works]
    with ThreadPoolExecutor(min(at_once(), len(works))) as pool:
        return list(pool.map(lambda work: work(), works))


def side_by_side(one: Callable[[], S], other: Callable[[], T], rows: int) -> tuple[S, T]:
    """What two works on so many rows give."""
    if not _apart(rows):
        return one(), other()
    with ThreadPoolExecutor(1) as pool:
        aside = pool.submit(one)
        found = other()
        return aside.result(), found


def _apart(rows: int) -> bool:
    """Whether works get threads of their own.

    A function that Polars calls keeps one of its threads, so that it cannot wait there for others to do the work.
    """
    return rows > LEAST and at_once() > 1 and not isinstance(threading.current_thread(), threading._DummyThread)
