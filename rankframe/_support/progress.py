"""Progress of long computations, shown on a terminal if rich is installed."""

from __future__ import annotations

import sys
from threading import Lock, Timer
from time import monotonic
from typing import Protocol

from ..errors import MissingExtra
from .extras import load

PATIENCE = 1.0
"""Seconds before anything is shown."""
SCREEN = Lock()
"""Held by the bar or spinner that is shown, since a screen has room for one."""


class ShownProgress(Protocol):
    """A display of rich, shown until it is stopped."""

    def start(self) -> None: ...
    def stop(self) -> None: ...


class Bar(ShownProgress, Protocol):
    """A progress bar of rich for one task."""

    task_ids: list[int]

    def add_task(self, description: str, *, total: float | None) -> int: ...
    def update(self, task_id: int, *, completed: float, total: float) -> None: ...


class Progress:
    """A bar, called with the work done and the total; shows nothing in scripts, or without rich."""

    def __init__(self, what: str, show: bool) -> None:
        self._what = what
        self._since = monotonic()
        self._bar: Bar | None = None
        self._wanted = show and sys.stderr is not None and sys.stderr.isatty()

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.stop()
            SCREEN.release()

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
        if not SCREEN.acquire(blocking=False):
            return
        bar: Bar = bars.Progress(console=consoles.Console(file=sys.stderr), transient=True)
        bar.add_task(self._what, total=None)
        bar.start()
        self._bar = bar


class Busy:
    """A spinner for work of unknown length; shows nothing in scripts, or without rich."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._shown: ShownProgress | None = None
        self._later = Timer(PATIENCE, self._show)
        self._later.daemon = True

    def __enter__(self) -> Busy:
        if sys.stderr is not None and sys.stderr.isatty():
            self._later.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._later.cancel()
        if self._later.ident is not None:
            self._later.join()
        if self._shown is not None:
            self._shown.stop()
            SCREEN.release()

    def _show(self) -> None:
        try:
            consoles, texts = load("rich.console", "stats"), load("rich.text", "stats")
        except MissingExtra:
            return
        if not SCREEN.acquire(blocking=False):
            return
        shown: ShownProgress = consoles.Console(file=sys.stderr).status(texts.Text(self._what))
        shown.start()
        self._shown = shown
