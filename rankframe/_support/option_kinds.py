"""The kinds of options: which values a type in a signature takes, and the error for any other value."""

from __future__ import annotations

import collections.abc
import math
import operator
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from numbers import Integral, Real
from types import NoneType, SimpleNamespace, UnionType
from typing import Annotated, Any, Literal, TypeGuard, Union, cast, get_args, get_origin, get_type_hints

import polars as pl

from ..errors import MOST_DIGITS, InvalidOption, did_you_mean, nearest, option

__all__ = ["CUTOFF", "Kind", "Range", "annotation_of", "as_number", "check", "fits", "is_number", "kind_of"]


@dataclass(frozen=True)
class Range:
    """The range of an option's numbers, declared with its type: ``Annotated[float, Range(above=0, below=1)]``.

    `least` and `most` belong to the range, `above` and `below` do not.
    """

    least: float | None = None
    most: float | None = None
    above: float | None = None
    below: float | None = None

    def __contains__(self, x: float) -> bool:
        return (
            (self.least is None or x >= self.least)
            and (self.most is None or x <= self.most)
            and (self.above is None or x > self.above)
            and (self.below is None or x < self.below)
        )

    def __str__(self) -> str:
        ends = [(self.least, "from"), (self.above, "above"), (self.most, "up to"), (self.below, "below")]
        texts = [f"{word} {end:,}" for end, word in ends if end is not None]
        if self.least is not None:
            return f"{texts[0]} on" if len(texts) == 1 else f"{texts[0]} to {texts[1].removeprefix('up to ')}"
        return " and ".join(texts)

    @property
    def is_bounded(self) -> bool:
        """Whether the range has two ends."""
        return (self.least, self.above) != (None, None) != (self.most, self.below)

    @property
    def example(self) -> float:
        """An example of a number in the range."""
        ends = [x for x in (self.least, self.most, self.above, self.below) if x is not None]
        middle = sum(ends) / max(1, len(ends))
        return next(x for x in (0.5 if 1 in ends else 1, *ends, middle, middle + 1, middle - 1) if x in self)


CUTOFF = Range(least=1)
"""The whole numbers that an option called ``k`` takes, in every metric."""


@dataclass(frozen=True)
class Part:
    """One alternative of a kind: its name in errors, the function that reads a value, and an example.

    `read` gives the value as formulas take it, and raises TypeError or ValueError for a value of another kind.
    """

    text: str
    read: Callable[[Any], Any]
    example: Any = None


@dataclass(frozen=True)
class Kind:
    """The values that an option takes."""

    parts: tuple[Part, ...]

    def read(self, given: Any) -> Any:
        """The value as formulas take it; TypeError if no alternative accepts it."""
        for part in self.parts:
            with suppress(TypeError, ValueError):
                return part.read(given)
        raise TypeError

    def fits(self, given: Any) -> bool:
        """Whether `given` is a value of this kind."""
        try:
            self.read(given)
        except TypeError:
            return False
        return True

    def __str__(self) -> str:
        texts = [part.text for part in self.parts]
        if len(self.words) == len(texts) > 1:
            return f"one of {', '.join(texts)}"
        return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} or {texts[-1]}"

    @property
    def example(self) -> Any:
        """An example that can be written in a text; None if there is none."""
        return next((part.example for part in self.parts if part.example is not None), None)

    @property
    def words(self) -> list[str]:
        """The values that are words."""
        return [part.example for part in self.parts if isinstance(part.example, str)]

    def near(self, given: object) -> str | None:
        """The word nearest to a misspelt one."""
        return nearest(given, self.words) if isinstance(given, str) else None

    def hint(self, given: object) -> str:
        """The word nearest to a misspelt one, as a question."""
        return did_you_mean(given, self.words) if isinstance(given, str) else ""


def check(name: str, given: Any, annotation: object) -> Any:
    """`given` as formulas take it; refused if the annotation does not include it."""
    kind = cast("Kind", kind_of(annotation))
    try:
        return kind.read(given)
    except TypeError:
        raise InvalidOption(option(**{name: given}), f": write {kind}.{kind.hint(given)}") from None


def fits(given: object, annotation: object) -> bool:
    """Whether the annotation includes `given`."""
    return cast("Kind", kind_of(annotation)).fits(given)


def annotation_of(name: str, annotation: object, formula: Callable[..., Any]) -> object:
    """The annotation of a formula's option; text is resolved in the formula's module, or ``Any`` if that fails."""
    holder = SimpleNamespace(__annotations__={name: annotation})
    try:
        found: object = get_type_hints(holder, getattr(formula, "__globals__", {}), include_extras=True)[name]
        hash(found)
    except Exception:  # an annotation may be any expression
        return Any
    return found


@lru_cache(maxsize=512)
def kind_of(annotation: object, within: Range = Range()) -> Kind | None:
    """The kind of an annotation; None, for no check, if it has types that options do not have.

    `within` is the range of numbers if the annotation has none.
    """
    parts = _parts(annotation, within)
    return None if parts is None else Kind(parts)


def _parts(annotation: Any, within: Range) -> tuple[Part, ...] | None:
    origin, args = get_origin(annotation), get_args(annotation)
    if origin in (Union, UnionType):
        several = [_parts(arg, within) for arg in args]
        return None if None in several else tuple(part for parts in several for part in parts or ())
    if origin is Annotated:
        return _parts(args[0], next((x for x in args[1:] if isinstance(x, Range)), within))
    if origin is Literal:
        return tuple(Part(repr(word), _Word(word), word) for word in args)
    if origin in (dict, collections.abc.Mapping) and len(args) == 2:
        return _mapping(*(_parts(arg, within) for arg in args))
    if origin is collections.abc.Sequence and args == (float,):
        return (Part(f"a list of finite numbers {within}".strip() + ", as [0.7, 0.3]", _Numbers(within), (0.7, 0.3)),)
    if collections.abc.Callable in (annotation, origin):
        return (Part("a function", _function),)
    if annotation in (None, NoneType):
        return (Part("None", _Word(None)),)
    if annotation is bool:
        return (Part("True or False", _OfType(bool), True),)
    if annotation is int:
        return (Part(f"a whole number {within}".strip(), _Whole(within), 10 if 10 in within else within.example),)
    if annotation is float:
        number = "a number" if within.is_bounded else "a finite number"
        return (Part(f"{number} {within}".strip(), _Number(within), within.example),)
    if annotation is str:
        return (Part("text", _OfType(str), "text"),)
    if annotation is pl.Expr:
        return (Part("a Polars expression", _OfType(pl.Expr)),)
    return None


def _mapping(keys: tuple[Part, ...] | None, values: tuple[Part, ...] | None) -> tuple[Part, ...] | None:
    """A mapping from numbers to numbers; no other mapping can be written in a call's text."""
    sides = [parts[0] for parts in (keys, values) if parts and isinstance(parts[0].read, _Number)]
    if len(sides) < 2:
        return None
    read = _Mapping(*(side.read for side in sides))
    example = next(x for x in ({1: 3, 2: 7}, {1: 0.5, 2: 1}, {}) if Kind((Part("", read),)).fits(x))
    return (Part(f"a mapping, as {example} (each key {sides[0].text}, each value {sides[1].text})", read, example),)


@dataclass(frozen=True)
class _Word:
    word: object

    def __call__(self, given: Any) -> Any:
        same = isinstance(given, str) if isinstance(self.word, str) else type(given) is type(self.word)
        if not same or given != self.word:
            raise ValueError
        return self.word


@dataclass(frozen=True)
class _OfType:
    type: type

    def __call__(self, given: Any) -> Any:
        if not isinstance(given, self.type):
            raise TypeError
        return given


@dataclass(frozen=True)
class _Whole:
    within: Range

    def __call__(self, given: Any) -> int:
        if isinstance(given, bool):
            raise TypeError
        whole = operator.index(given)
        if abs(whole) >= 10**MOST_DIGITS or whole not in self.within:
            raise ValueError
        return whole


@dataclass(frozen=True)
class _Number:
    within: Range

    def __call__(self, given: Any) -> float:
        if not is_number(given):
            raise TypeError
        number = as_number(given)
        if not math.isfinite(number) or number not in self.within:
            raise ValueError
        return number


@dataclass(frozen=True)
class _Mapping:
    key: Callable[[Any], Any]
    value: Callable[[Any], Any]

    def __call__(self, given: Any) -> dict[Any, Any]:
        if not isinstance(given, Mapping):
            raise TypeError
        return {self.key(key): self.value(value) for key, value in given.items()}


@dataclass(frozen=True)
class _Numbers:
    within: Range

    def __call__(self, given: Any) -> tuple[float, ...]:
        if isinstance(given, (str, bytes, Mapping)):
            raise TypeError
        return tuple(map(_Number(self.within), given))


def _function(given: Any) -> Any:
    if not callable(given):
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
