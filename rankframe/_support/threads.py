"""Threads: tasks in as many as Polars has, and processes that were forked without its pool."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import polars as pl

from ..errors import RankframeError

_used = _forked = False

BY_SPAWN = 'multiprocessing.get_context("spawn")'
"""The code of processes that are not forked."""


def use_polars() -> None:
    """Begin an evaluation, which starts the threads of Polars' pool unless they run.

    Refuse it in a process that was forked after another evaluation or, as far as the system tells,
    other work of Polars.
    """
    global _used, _forked
    if _forked:
        if _used or _lacks_threads():
            executor = f"ProcessPoolExecutor(mp_context={BY_SPAWN})"
            why = (
                "this process was forked after an evaluation or other work of Polars, without "
                "the threads that it needs"
            )
            raise RankframeError(f"write {executor}, or {BY_SPAWN}.Pool(): {why}")
        _forked = False
    _used = True


def _lacks_threads() -> bool:
    """Whether the process lacks threads of Polars' pool beside Python's; false if not known."""
    # starts the pool unless the process or one that it was forked from did
    n_in_pool = pl.thread_pool_size()
    try:
        n_threads = len(os.listdir("/proc/self/task"))
    except OSError:  # no Linux
        return False
    n_of_python = sum(not isinstance(x, threading._DummyThread) for x in threading.enumerate())
    return n_threads - n_of_python < n_in_pool


def _mark_child() -> None:
    global _forked
    _forked = True


def watch_forks() -> None:
    """Mark the processes that are forked from this one."""
    if hasattr(os, "register_at_fork"):  # Windows does not fork
        os.register_at_fork(after_in_child=_mark_child)


T = TypeVar("T")

_here = threading.local()


def threads() -> int:
    """The number of tasks at once.

    It is one inside a task, and in a callback of Polars, which holds a thread that others may wait
    for.
    """
    in_callback = isinstance(threading.current_thread(), threading._DummyThread)
    if in_callback or getattr(_here, "in_task", False):
        return 1
    return pl.thread_pool_size()


def at_once(tasks: Sequence[Callable[[], T]]) -> list[T]:
    """Run tasks in as many threads as Polars has; the results are in the order of the tasks."""
    n = min(threads(), len(tasks))
    if n == 1:
        return [task() for task in tasks]
    results: list[Any] = [None] * len(tasks)
    errors: list[BaseException] = []
    left = iter(range(len(tasks)))

    def go() -> None:
        _here.in_task = True
        try:
            for i in left:  # `next` of a range's iterator is atomic
                if errors:
                    return
                results[i] = tasks[i]()
        except BaseException as error:
            errors.append(error)
        finally:
            _here.in_task = False

    # not of a pool, which takes no task once the main thread has ended
    others = [threading.Thread(target=go) for _ in range(n - 1)]
    for other in others:
        other.start()
    try:
        go()
        for other in others:
            other.join()
    except BaseException as error:  # an interrupt ends the other threads, too
        errors.append(error)
    if errors:
        raise errors[0]
    return results
