"""Progress of long computations: a bar on a terminal, elsewhere a line a minute in a log."""

from __future__ import annotations

import sys
from logging import getLogger
from threading import Event, Lock, Thread
from time import monotonic
from typing import TYPE_CHECKING, Any

from ..errors import MissingExtra
from .extras import load

if TYPE_CHECKING:
    from typing import Self

PATIENCE = 1.0
"""Seconds before a terminal shows anything."""

SECONDS_OF_LINE = 60.0
"""Seconds between two lines of the log."""

SCREEN = Lock()
"""Held by the bar that is shown, since a screen has room for one."""

LOG = getLogger("rankframe")


class Progress:
    """The progress of a computation; called with the work done, and the total if it is known."""

    def __init__(self, what: str, show: bool = True) -> None:
        self._what = what
        self._done = 0
        self._total: int | None = None
        self._bar: Any = None
        self._ended = Event()
        self._thread = Thread(target=self._watch, daemon=True) if show else None

    def __enter__(self) -> Self:
        if self._thread is not None:
            self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._ended.set()
        if self._thread is not None:
            self._thread.join()

    def __call__(self, done: int, total: int | None = None) -> None:
        self._done = done
        self._total = total
        bar = self._bar  # the thread may end it
        if bar is not None:
            bar.update(bar.task_ids[0], completed=done, total=total)

    def _watch(self) -> None:
        """Show the bar, or write to the log, until the computation ends."""
        since = monotonic()
        on_terminal = sys.stderr is not None and sys.stderr.isatty()
        if self._ended.wait(PATIENCE if on_terminal else SECONDS_OF_LINE):
            return
        if on_terminal:
            self._show()
            return
        while True:
            of_total = "" if self._total is None else f" of {self._total:,}"
            done = f"{self._done:,}{of_total}, " if self._done else ""
            LOG.info("%s: %s%.0f seconds so far", self._what, done, monotonic() - since)
            if self._ended.wait(SECONDS_OF_LINE):
                return

    def _show(self) -> None:
        try:
            bars = load("rich.progress", "stats")
            consoles = load("rich.console", "stats")
            markup = load("rich.markup", "stats")
        except MissingExtra:
            return
        if not SCREEN.acquire(blocking=False):
            return
        console = consoles.Console(file=sys.stderr)
        title = markup.escape(self._what)
        try:
            with bars.Progress(console=console, transient=True) as bar:
                bar.add_task(title, completed=self._done, total=self._total)
                self._bar = bar
                self._ended.wait()
        finally:
            self._bar = None
            SCREEN.release()
