"""Progress of long computations, shown on a terminal if rich is installed."""

from __future__ import annotations

import sys
from abc import abstractmethod
from threading import Lock, Timer
from time import monotonic
from typing import TYPE_CHECKING, Any

from ..errors import MissingExtra
from .extras import load

if TYPE_CHECKING:
    from typing import Self

PATIENCE = 1.0
"""Seconds before anything is shown."""
SCREEN = Lock()
"""Held by the bar or spinner that is shown, since a screen has room for one."""


class OnTerminal:
    """What a terminal shows during a computation; nothing in scripts, or without rich."""

    def __init__(self, what: str, show: bool = True) -> None:
        self._what = what
        self._shown: Any = None
        self._wanted = show and sys.stderr is not None and sys.stderr.isatty()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self._shown is not None:
            self._shown.stop()
            SCREEN.release()

    def _start(self) -> None:
        try:
            shown = self._drawn(load("rich.console", "stats").Console(file=sys.stderr))
        except MissingExtra:
            self._wanted = False
            return
        if SCREEN.acquire(blocking=False):
            shown.start()
            self._shown = shown

    @abstractmethod
    def _drawn(self, console: Any) -> Any:
        """What rich shows."""


class Progress(OnTerminal):
    """A bar, called with the work done and the total."""

    def __init__(self, what: str, show: bool) -> None:
        super().__init__(what, show)
        self._since = monotonic()

    def __call__(self, done: int, total: int) -> None:
        if self._wanted and self._shown is None and monotonic() - self._since > PATIENCE:
            self._start()
        if self._shown is not None:
            self._shown.update(self._shown.task_ids[0], completed=done, total=total)

    def _drawn(self, console: Any) -> Any:
        bar = load("rich.progress", "stats").Progress(console=console, transient=True)
        bar.add_task(self._what, total=None)
        return bar


class Busy(OnTerminal):
    """A spinner for work of unknown length."""

    def __enter__(self) -> Self:
        self._later = Timer(PATIENCE, self._start)
        self._later.daemon = True
        if self._wanted:
            self._later.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._later.cancel()
        if self._wanted:
            self._later.join()
        super().__exit__(*error)

    def _drawn(self, console: Any) -> Any:
        return console.status(load("rich.text", "stats").Text(self._what))
