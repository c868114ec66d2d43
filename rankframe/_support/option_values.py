"""The values of options: ranges of numbers, and readers, which raise TypeError or ValueError for a
value of another kind.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral, Real
from operator import ge, gt, index, le, lt
from typing import Any, SupportsIndex, TypeGuard

import polars as pl

from ..errors import MOST_DIGITS


@dataclass(frozen=True)
class Range:
    """The range of an option's numbers, declared with its type: ``Annotated[float, Range(above=0,
    below=1)]``.

    `least` and `most` belong to the range, `above` and `below` do not.
    """

    least: float | None = None
    most: float | None = None
    above: float | None = None
    below: float | None = None

    @cached_property  # options of each call are read
    def _ends(self) -> list[tuple[str, float, Callable[[float, float], bool]]]:
        of = {
            "from": (self.least, ge),
            "above": (self.above, gt),
            "up to": (self.most, le),
            "below": (self.below, lt),
        }
        return [(word, end, holds) for word, (end, holds) in of.items() if end is not None]

    def __contains__(self, x: float) -> bool:
        return all(holds(x, end) for _, end, holds in self._ends)

    def __str__(self) -> str:
        if self.above is not None and self.below is not None:
            return f"between {self.above:,} and {self.below:,}"
        texts = [f"{word} {end:,}" for word, end, _ in self._ends]
        if self.least is not None:
            return (
                f"{texts[0]} on"
                if len(texts) == 1
                else f"{texts[0]} to {texts[1].removeprefix('up to ')}"
            )
        return " and ".join(texts)

    @property
    def is_bounded(self) -> bool:
        """Whether the range has two ends."""
        return (self.least, self.above) != (None, None) != (self.most, self.below)


def must(hold: bool) -> None:
    """Tell `Kind` that a value is of another kind."""
    if not hold:
        raise TypeError


def word(expected: object, given: object) -> object:
    must(isinstance(given, str) if isinstance(expected, str) else type(given) is type(expected))
    must(given == expected)
    return expected


def of_type(kind: type, given: object) -> object:
    must(isinstance(given, kind))
    return given


def whole(within: Range, given: Any) -> int:
    must(isinstance(given, SupportsIndex) and not isinstance(given, bool))
    number = index(given)
    must(abs(number) < 10**MOST_DIGITS and number in within)
    return number


def real(given: Any) -> float:
    must(is_number(given))
    return as_number(given)


def number(within: Range, given: object) -> float:
    found = real(given)
    must(math.isfinite(found) and found in within)
    return found


def mapping(
    key: Callable[[object], object], value: Callable[[object], object], given: Any
) -> dict[object, object]:
    must(isinstance(given, Mapping))
    return {key(name): value(x) for name, x in given.items()}


def several(each: Callable[[object], object], given: Any) -> tuple[object, ...]:
    must(not isinstance(given, pl.Series) and not hasattr(given, "iloc"))
    must(
        isinstance(given, Iterable)
        and not isinstance(given, (str, bytes, Mapping))
        and not hasattr(given, "columns")
    )
    found = tuple(map(each, given))
    must(bool(found) or not isinstance(given, Iterator))  # one that was read before is empty
    return found


def text(given: Any) -> str:
    must(isinstance(given, str))
    given.encode()  # raises ValueError for half of a character
    return str(given)


def column(given: object) -> str:
    must(isinstance(given, (str, tuple)) or not isinstance(given, Iterable))
    must(
        isinstance(given, Hashable)
        and given is not None
        and not callable(given)
        and not hasattr(given, "name")
    )
    return (
        str(given).encode(errors="backslashreplace").decode()
    )  # as pandas' labels are brought to Polars


def columns(given: object) -> tuple[object, ...]:
    return several(column, given)


def function(given: object) -> object:
    must(callable(given) and not isinstance(given, type))
    return given


def is_number(given: object) -> TypeGuard[float]:
    """Whether something is a real number (Python's, NumPy's or a fraction) that a float can hold;
    not a bool.
    """
    if not isinstance(given, Real) or isinstance(given, bool):
        return False
    try:
        float(given)
    except OverflowError:
        return False
    return True


def as_number(given: float) -> float:
    """A number of any library as Python's own; a whole number stays an int if a float has all its
    digits.
    """
    return int(given) if isinstance(given, Integral) and abs(given) <= 2**53 else float(given)
