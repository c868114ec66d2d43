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
    """The seconds of a call in each round, by the clock and of the processor."""

    rounds: tuple[float, ...]
    processor: tuple[float, ...] = ()

    @property
    def median(self) -> float:
        return statistics.median(self.rounds)

    @property
    def least(self) -> float:
        return min(self.rounds)

    @property
    def most(self) -> float:
        return max(self.rounds)


def clocked(call: Callable[[], Any]) -> tuple[float, float, Any]:
    """The seconds that a call takes by the clock and of the processor, and its result; memory is
    cleared before."""
    gc.collect()
    gc.disable()
    try:
        start, used = time.perf_counter(), time.process_time()
        result = call()
        return time.perf_counter() - start, time.process_time() - used, result
    finally:
        gc.enable()


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    """The seconds that a call takes by the clock, and its result."""
    seconds, _, result = clocked(call)
    return seconds, result


def warm(call: Callable[[], Any]) -> tuple[float, Any]:
    """As `timed`; of a second call where the first took below half a second, since the call before
    it left its own data in the caches."""
    first = timed(call)
    return timed(call) if first[0] < 0.5 else first


def interleaved(rounds: int, calls: Mapping[str, Callable[[], Any]]) -> dict[str, Seconds]:
    """The seconds of each call, all of them run once per round, after one round that does not
    count."""
    clock: dict[str, list[float]] = {name: [] for name in calls}
    processor: dict[str, list[float]] = {name: [] for name in calls}
    for turn in range(rounds + 1):
        for name, call in calls.items():
            seconds, used, _ = clocked(call)
            if turn:
                clock[name].append(seconds)
                processor[name].append(used)
    return {name: Seconds(tuple(clock[name]), tuple(processor[name])) for name in calls}
