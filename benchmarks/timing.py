"""Interleaved rounds: every call once per round, so that what slows the machine slows all of
them."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Seconds:
    """The seconds of a call in each round."""

    rounds: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.rounds)

    @property
    def least(self) -> float:
        return min(self.rounds)

    @property
    def most(self) -> float:
        return max(self.rounds)


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    """The seconds that a call takes, and what it gives; what came before is cleared away first."""
    gc.collect()
    gc.disable()
    try:
        start = time.perf_counter()
        given = call()
        return time.perf_counter() - start, given
    finally:
        gc.enable()


def warm(call: Callable[[], Any]) -> tuple[float, Any]:
    """As `timed`, of a second call where the first took below half a second: what ran before has
    left caches and memory to it."""
    first = timed(call)
    return timed(call) if first[0] < 0.5 else first


def interleaved(rounds: int, calls: Mapping[str, Callable[[], Any]]) -> dict[str, Seconds]:
    """The seconds of each call, all of them run once per round, after one round that does not
    count."""
    found: dict[str, list[float]] = {name: [] for name in calls}
    for turn in range(rounds + 1):
        for name, call in calls.items():
            seconds = timed(call)[0]
            if turn:
                found[name].append(seconds)
    return {name: Seconds(tuple(seconds)) for name, seconds in found.items()}
