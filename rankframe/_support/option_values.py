"""The values of options: ranges of numbers, and readers, which raise TypeError or ValueError for a value of another kind."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from operator import ge, gt, index, le, lt
from typing import SupportsIndex, TypeGuard

import polars as pl

from ..errors import MOST_DIGITS


@dataclass(frozen=True)
class Range:
    """The range of an option's numbers, declared with its type: ``Annotated[float, Range(above=0, below=1)]``.

    `least` and `most` belong to the range, `above` and `below` do not.
    """

    least: float | None = None
    most: float | None = None
    above: float | None = None
    below: float | None = None

    @property
    def _ends(self) -> list[tuple[str, float, Callable[[float, float], bool]]]:
        of = {"from": (self.least, ge), "above": (self.above, gt), "up to": (self.most, le), "below": (self.below, lt)}
        return [(word, end, holds) for word, (end, holds) in of.items() if end is not None]

    def __contains__(self, x: float) -> bool:
        return all(holds(x, end) for _, end, holds in self._ends)

    def __str__(self) -> str:
        if self.above is not None and self.below is not None:
            return f"between {self.above:,} and {self.below:,}"
        texts = [f"{word} {end:,}" for word, end, _ in self._ends]
        if self.least is not None:
            return f"{texts[0]} on" if len(texts) == 1 else f"{texts[0]} to {texts[1].removeprefix('up to ')}"
        return " and ".join(texts)

    @property
    def is_bounded(self) -> bool:
        """Whether the range has two ends."""
        return (self.least, self.above) != (None, None) != (self.most, self.below)


def word(expected: object, given: object) -> object:
    same = isinstance(given, str) if isinstance(expected, str) else type(given) is type(expected)
    if not same or given != expected:
        raise ValueError
    return expected


def of_type(kind: type, given: object) -> object:
    if not isinstance(given, kind):
        raise TypeError
    return given


def whole(within: Range, given: object) -> int:
    if not isinstance(given, SupportsIndex) or isinstance(given, bool):
        raise TypeError
    number = index(given)
    if abs(number) >= 10**MOST_DIGITS or number not in within:
        raise ValueError
    return number


def real(given: object) -> float:
    if not is_number(given):
        raise TypeError
    return as_number(given)


def number(within: Range, given: object) -> float:
    found = real(given)
    if not math.isfinite(found) or found not in within:
        raise ValueError
    return found


def mapping(key: Callable[[object], object], value: Callable[[object], object], given: object) -> dict[object, object]:
    if not isinstance(given, Mapping):
        raise TypeError
    return {key(name): value(x) for name, x in given.items()}


def several(each: Callable[[object], object], given: object) -> tuple[object, ...]:
    if not isinstance(given, Iterable) or isinstance(given, (str, bytes, Mapping)) or hasattr(given, "columns"):
        raise TypeError
    return tuple(map(each, given))


def text(given: object) -> str:
    if not isinstance(given, str):
        raise TypeError
    given.encode()  # raises ValueError for half of a character
    return given


def column(given: object) -> str:
    is_list = isinstance(given, Iterable) and not isinstance(given, (str, tuple))
    if is_list or not isinstance(given, Hashable) or given is None or callable(given) or hasattr(given, "name"):
        raise TypeError
    return str(given).encode(errors="backslashreplace").decode()  # as pandas' labels are brought to Polars


def columns(given: object) -> tuple[object, ...]:
    if isinstance(given, pl.Series) or hasattr(given, "iloc"):
        raise TypeError
    return several(column, given)


def function(given: object) -> object:
    if not callable(given) or isinstance(given, type):
        raise TypeError
    return given


def is_number(given: object) -> TypeGuard[float]:
    """Whether something is a real number (Python's, NumPy's or a fraction) that a float can hold; not a bool."""
    if not isinstance(given, Real) or isinstance(given, bool):
        return False
    try:
        float(given)
    except OverflowError:
        return False
    return True


def as_number(given: float) -> float:
    """A number of any library as Python's own; a whole number stays an int if a float has all its digits."""
    return int(given) if isinstance(given, Integral) and abs(given) <= 2**53 else float(given)
