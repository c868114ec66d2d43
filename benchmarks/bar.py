"""A figure and the bar that it is held to."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Bar"]


@dataclass(frozen=True)
class Bar:
    """A figure by the clock and its bar: at most that many times the unit, or at least.

    `processor` is the same ratio of processor times, where both were measured in one process.
    `known` is what was measured at the guard's size where the bar is missed (docs/performance.md
    has more): a guard is to see what gets worse, and not to be silenced.
    """

    name: str
    figure: float
    bar: float
    unit: str = "bare sorts"
    at_most: bool = True
    known: float | None = None
    processor: float | None = None

    @property
    def excess(self) -> float:
        """How many times beyond the bar, or beyond what is known where that is more; 1 is on it."""
        if self.at_most:
            return self.figure / max(self.bar, self.known or 0)
        return min(self.bar, self.known or self.bar) / self.figure

    @property
    def holds(self) -> bool:
        return self.figure <= self.bar if self.at_most else self.figure >= self.bar

    def line(self) -> str:
        verdict = "holds" if self.holds else "beyond twice" if self.excess > 2 else "does not hold"
        sign = "<=" if self.at_most else ">="
        processor = "" if self.processor is None else f"{self.processor:.2f}"
        figures = f"{self.figure:7.2f}{processor:>7}  {sign}{self.bar:5.2f}"
        return f"{self.name:66}{figures} {self.unit:20} {verdict}"
