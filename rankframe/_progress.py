"""A progress bar for long work, where somebody watches: on a terminal, with rich installed."""

from __future__ import annotations

import sys
from time import monotonic
from typing import Any

from ._extras import load
from .errors import MissingExtra

__all__ = ["Progress"]

PATIENCE = 1.0
"""Seconds before a bar is shown."""


class Progress:
    """Called with what is done and what there is to do; shows nothing in scripts, or without rich."""

    def __init__(self, what: str, show: bool) -> None:
        self._what = what
        self._since = monotonic()
        self._bar: Any = None
        self._wanted = show and sys.stderr is not None and sys.stderr.isatty()

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, done: int, total: int) -> None:
        if self._wanted and self._bar is None and monotonic() - self._since > PATIENCE:
            self._start()
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], completed=done, total=total)

    def _start(self) -> None:
        try:
            bars, consoles = load("rich.progress", "stats"), load("rich.console", "stats")
        except MissingExtra:
            self._wanted = False
            return
        self._bar = bars.Progress(console=consoles.Console(file=sys.stderr), transient=True)
        self._bar.add_task(self._what, total=None)
        self._bar.start()
