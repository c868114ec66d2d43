"""A process that is forked after work of Polars lacks the threads of Polars' pool, and would wait for them for ever."""

from __future__ import annotations

import os
import threading

import polars as pl

from ..errors import RankframeError

_used = _forked = False


def use_polars() -> None:
    """Begin an evaluation, which starts the threads of Polars' pool unless they run.

    Refuse it in a process that was forked after another evaluation or, as far as the system tells, other work of Polars.
    """
    global _used, _forked
    if _forked:
        if _used or _lacks_threads():
            raise RankframeError(
                "this process was forked after an evaluation or other work of Polars, without the threads that it needs; "
                'start workers as multiprocessing.get_context("spawn") does'
            )
        _forked = False
    _used = True


def _lacks_threads() -> bool:
    """Whether the process has fewer threads than Python's and those of Polars' pool; false if it is not known."""
    in_pool = pl.thread_pool_size()  # starts the pool unless the process or one that it was forked from did
    try:
        threads = len(os.listdir("/proc/self/task"))
    except OSError:  # no Linux
        return False
    return threads - sum(not isinstance(x, threading._DummyThread) for x in threading.enumerate()) < in_pool


def _mark_child() -> None:
    global _forked
    _forked = True


def watch_forks() -> None:
    """Mark the processes that are forked from this one."""
    if hasattr(os, "register_at_fork"):  # Windows does not fork
        os.register_at_fork(after_in_child=_mark_child)
