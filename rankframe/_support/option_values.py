"""The values of options: ranges of numbers, and readers.

A reader raises TypeError or ValueError for a value of another kind, as `Kind` expects.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral, Real
from operator import ge, gt, index, le, lt
from typing import Any, SupportsIndex, TypeGuard

import polars as pl

from ..errors import MOST_DIGITS


@dataclass(frozen=True)
class Range:
    """The range of an option's numbers, as in ``Annotated[float, Range(above=0, below=1)]``.

    `least` and `most` belong to the range, `above` and `below` do not.
    """

    least: float | None = None
    most: float | None = None
    above: float | None = None
    below: float | None = None

    @cached_property  # options of each call are read
    def _ends(self) -> list[tuple[str, float, Callable[[float, float], bool]]]:
        ends = [
            ("from", self.least, ge),
            ("above", self.above, gt),
            ("up to", self.most, le),
            ("below", self.below, lt),
        ]
        return [(word, end, holds) for word, end, holds in ends if end is not None]

    def __contains__(self, x: float) -> bool:
        return all(holds(x, end) for _, end, holds in self._ends)

    def __str__(self) -> str:
        if self.above is not None and self.below is not None:
            return f"between {self.above:,} and {self.below:,}"
        texts = [f"{word} {end:,}" for word, end, _ in self._ends]
        if self.least is None:
            return " and ".join(texts)
        if len(texts) == 1:
            return f"{texts[0]} on"
        most = texts[1].removeprefix("up to ")
        return f"{texts[0]} to {most}"

    @property
    def is_bounded(self) -> bool:
        """Whether the range has two ends."""
        has_least = self.least is not None or self.above is not None
        has_most = self.most is not None or self.below is not None
        return has_least and has_most


def word(expected: object, given: object) -> object:
    alike = isinstance(given, str) if isinstance(expected, str) else type(given) is type(expected)
    if not alike or given != expected:
        raise TypeError
    return expected


def word_or_spelling(expected: object, spellings: Collection[str], given: object) -> object:
    return expected if isinstance(given, str) and given in spellings else word(expected, given)


def of_type(kind: type, given: object) -> object:
    if not isinstance(given, kind):
        raise TypeError
    return given


def whole(within: Range, given: Any) -> int:
    if not isinstance(given, SupportsIndex) or isinstance(given, bool):
        raise TypeError
    number = index(given)
    if abs(number) >= 10**MOST_DIGITS or number not in within:
        raise TypeError
    return number


def real(given: Any) -> float:
    if not is_number(given):
        raise TypeError
    return as_number(given)


def number(within: Range, given: object) -> float:
    value = real(given)
    if not math.isfinite(value) or value not in within:
        raise TypeError
    return value


def mapping(
    key: Callable[[object], object], value: Callable[[object], object], given: Any
) -> dict[object, object]:
    if not isinstance(given, Mapping):
        raise TypeError
    return {key(name): value(x) for name, x in given.items()}


def several(each: Callable[[object], object], given: Any) -> tuple[object, ...]:
    if isinstance(given, (pl.Series, str, bytes, Mapping)) or not isinstance(given, Iterable):
        raise TypeError
    if hasattr(given, "iloc") or hasattr(given, "columns"):
        raise TypeError
    values = tuple(map(each, given))
    if not values and isinstance(given, Iterator):  # one that was read before is empty
        raise TypeError
    return values


def text(given: Any) -> str:
    if not isinstance(given, str):
        raise TypeError
    given.encode()  # raises ValueError for half of a character
    return str(given)


def column(given: object) -> str:
    if isinstance(given, Iterable) and not isinstance(given, (str, tuple)):
        raise TypeError
    if not isinstance(given, Hashable) or given is None:
        raise TypeError
    if callable(given) or hasattr(given, "name"):
        raise TypeError
    # as pandas' labels are brought to Polars
    return str(given).encode(errors="backslashreplace").decode()


def columns(given: object) -> tuple[object, ...]:
    return several(column, given)


def function(given: object) -> object:
    if not callable(given) or isinstance(given, type):
        raise TypeError
    return given


def is_number(given: object) -> TypeGuard[float]:
    """Whether something is a real number that a float can hold; not a bool.

    It may be Python's, NumPy's or a fraction.
    """
    if not isinstance(given, Real) or isinstance(given, bool):
        return False
    try:
        float(given)
    except OverflowError:
        return False
    return True


def as_number(given: float) -> float:
    """A number of any library as Python's own.

    A whole number stays an int if a float has all its digits.
    """
    if isinstance(given, Integral) and abs(given) <= 2**53:
        return int(given)
    return float(given)
