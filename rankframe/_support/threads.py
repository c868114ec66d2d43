"""Tasks in as many threads as Polars has."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import polars as pl

T = TypeVar("T")

_here = threading.local()


def threads() -> int:
    """The number of tasks at once: one inside a task, and in a callback of Polars, which holds a thread that others may wait for."""
    in_callback = isinstance(threading.current_thread(), threading._DummyThread)
    return 1 if in_callback or getattr(_here, "in_task", False) else pl.thread_pool_size()


def at_once(tasks: Sequence[Callable[[], T]]) -> list[T]:
    """Run tasks in as many threads as Polars has; the results are in the order of the tasks."""
    n = min(threads(), len(tasks))
    if n == 1:
        return [task() for task in tasks]
    results: list[Any] = [None] * len(tasks)
    left, errors = iter(range(len(tasks))), list[BaseException]()

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
