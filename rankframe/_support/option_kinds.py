"""The kinds of options: which values a type in a signature takes, and the error for any other value."""

from __future__ import annotations

import collections.abc
import inspect
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from types import NoneType, SimpleNamespace, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    TypeAlias,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

import polars as pl

from ..errors import InvalidOption, nearest, option
from .option_values import (
    MappingOf,
    Number,
    OfType,
    Range,
    Several,
    Whole,
    Word,
    column,
    columns,
    function,
    text,
)  # fmt: skip
from .statistical_options import OTHER_WORDS


@dataclass(frozen=True)
class ValueOf:
    """A value of the column with a role, declared with an option's type: ``Annotated[str, ValueOf("group")]``."""

    role: str


ANY_NUMBER = Range()

CUTOFF = Range(least=1)
"""The whole numbers that an option called ``k`` takes, in every metric."""


class NameOfColumn:
    """A column's name, declared with an option's type; in pandas any label, read as its text."""


class ReadInside:
    """Declared with an option's type if the function itself reads the option, and has more to say of a wrong value."""


Column: TypeAlias = Annotated[str, NameOfColumn]
"""The name of a column."""

Columns: TypeAlias = Sequence[Column] | Column
"""The names of several columns, or of one."""


@dataclass(frozen=True)
class Part:
    """One alternative of a kind: its name in errors, the function that reads a value, and an example.

    `read` gives the value as formulas take it, and raises TypeError or ValueError for a value of another kind.
    Only options of verbs and functions take a part that is not `of_metrics`.
    """

    text: str
    read: Callable[[object], object]
    example: object = None
    of_metrics: bool = True


@dataclass(frozen=True)
class Kind:
    """The values that an option takes."""

    parts: tuple[Part, ...]

    def read(self, given: object) -> Any:
        """The value as formulas take it; TypeError if no alternative accepts it."""
        for part in self.parts:
            with suppress(TypeError, ValueError):
                return part.read(given)
        raise TypeError

    def check(self, name: str, given: object) -> Any:
        """The value of the option `name` as formulas take it; refused if no alternative accepts it."""
        try:
            return self.read(given)
        except TypeError:
            raise InvalidOption(option(**{name: given}), f": write {self}.{self.hint(given)}") from None

    def fits(self, given: object) -> bool:
        """Whether `given` is a value of this kind."""
        try:
            self.read(given)
        except TypeError:
            return False
        return True

    @property
    def of_metrics(self) -> bool:
        """Whether options of metrics take all of it."""
        return all(part.of_metrics for part in self.parts)

    def __str__(self) -> str:
        texts = [part.text for part in self.parts]
        if len(self.words) == len(texts) > 1:
            return f"one of {', '.join(texts)}"
        return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} or {texts[-1]}"

    @property
    def example(self) -> object:
        """An example that can be written in a text; None if there is none."""
        return next((part.example for part in self.parts if part.example is not None), None)

    @property
    def words(self) -> list[str]:
        """The values that are words."""
        return [part.example for part in self.parts if isinstance(part.example, str)]

    def near(self, given: object) -> str | None:
        """The word nearest to a misspelt one."""
        if any(part.read is column for part in self.parts):
            name = given.meta.output_name() if isinstance(given, pl.Expr) and given.meta.is_column() else None
            return name or getattr(given, "name", None)  # a Series has one
        if not isinstance(given, str):
            return None
        other = OTHER_WORDS.get(given.lower().replace("-", "_"))
        return other if other in self.words else nearest(given, self.words)

    def hint(self, given: object) -> str:
        """The word nearest to a misspelt one, as a question."""
        near = self.near(given)
        return "" if near is None else f" Did you mean {near!r}?"


def check(name: str, given: object, annotation: object) -> Any:
    """`given` as formulas take it; refused if the annotation does not include it."""
    return cast("Kind", kind_of(annotation)).check(name, given)


@lru_cache(maxsize=512)
def kinds_of(function: Callable[..., object]) -> tuple[tuple[str, ...], Mapping[str, Kind]]:
    """The names of a function's parameters by place, and the kinds of all that its annotations tell."""
    original = inspect.unwrap(function)
    parameters = inspect.signature(original).parameters.values()
    named = [x for x in parameters if x.kind not in (x.VAR_POSITIONAL, x.VAR_KEYWORD)]
    kinds = {x.name: kind_of(annotation_of(x.name, x.annotation, original)) for x in named}
    places = tuple(x.name for x in named if x.kind is not x.KEYWORD_ONLY)
    return places, {name: kind for name, kind in kinds.items() if kind is not None}


def read_arguments(
    function: Callable[..., object], args: Sequence[object], options: Mapping[str, object]
) -> tuple[tuple[object, ...], dict[str, object]]:
    """The arguments of a call, each read by its annotation in the function's signature, or refused."""
    places, kinds = kinds_of(function)

    def read(name: str, given: object) -> object:
        return kinds[name].check(name, given) if name in kinds else given

    named = [read(name, given) for name, given in zip(places, args, strict=False)]
    return (*named, *args[len(places) :]), {name: read(name, given) for name, given in options.items()}


@lru_cache(maxsize=512)
def names_columns(function: Callable[..., object], name: str) -> bool:
    """Whether a parameter of a function names columns, by its annotation."""
    original = inspect.unwrap(function)
    return _has_column(annotation_of(name, inspect.signature(original).parameters[name].annotation, original))


def _has_column(annotation: object) -> bool:
    return annotation == Column or any(map(_has_column, get_args(annotation)))


def fits(given: object, annotation: object) -> bool:
    """Whether the annotation includes `given`."""
    return cast("Kind", kind_of(annotation)).fits(given)


def annotation_of(name: str, annotation: object, formula: Callable[..., object]) -> object:
    """The annotation of a formula's option; text is resolved in the formula's module, or ``Any`` if that fails."""
    holder = SimpleNamespace(__annotations__={name: annotation})
    try:
        aliases = getattr(formula, "aliases", None)  # of options that other functions have, too
        found: object = get_type_hints(holder, getattr(formula, "__globals__", {}), aliases, include_extras=True)[name]
        hash(found)
    except Exception:  # an annotation may be any expression
        return Any
    return found


def role_of(annotation: object) -> str | None:
    """The role of the column of which an option names a value, by the option's annotation; None for any other option."""
    if get_origin(annotation) in (Union, UnionType):
        return next((role for part in get_args(annotation) if (role := role_of(part)) is not None), None)
    return next((x.role for x in getattr(annotation, "__metadata__", ()) if isinstance(x, ValueOf)), None)


@lru_cache(maxsize=512)
def kind_of(annotation: object, within: Range = ANY_NUMBER) -> Kind | None:
    """The kind of an annotation; None, for no check, if it has types that options do not have.

    `within` is the range of numbers if the annotation has none.
    """
    parts = _parts(annotation, within)
    return None if parts is None else Kind(parts)


def _parts(annotation: object, within: Range) -> tuple[Part, ...] | None:
    origin, args = get_origin(annotation), get_args(annotation)
    if origin in (Union, UnionType):
        several = [_parts(arg, within) for arg in args]
        return None if None in several else tuple(part for parts in several for part in parts or ())
    if annotation in (Any, inspect.Parameter.empty):
        return None
    if origin is Annotated and ReadInside in args:
        return None
    if annotation == Column:
        return (Part("a column's name", column),)
    if annotation == Sequence[Column]:
        return (Part("a list of columns' names", columns),)
    if origin is Annotated:
        return _parts(args[0], next((x for x in args[1:] if isinstance(x, Range)), within))
    if origin is Literal:
        return tuple(Part(repr(word), Word(word), word) for word in args)
    if origin in (dict, collections.abc.Mapping) and len(args) == 2:
        return _mapping(*(_parts(arg, within) for arg in args))
    if origin is collections.abc.Sequence and args == (float,):
        return (
            Part(f"a list of finite numbers {within}".strip() + ", as [0.7, 0.3]", Several(Number(within)), (0.7, 0.3)),
        )
    if origin is collections.abc.Sequence:
        parts = _parts(args[0], within)
        return parts and (Part(f"a list (each {Kind(parts)})", Several(Kind(parts).read), of_metrics=False),)
    if collections.abc.Callable in (annotation, origin):
        return (Part("a function", function),)
    if annotation in (None, NoneType):
        return (Part("None", Word(None)),)
    if annotation is bool:
        return (Part("True or False", OfType(bool), True),)
    if annotation is int:
        return (Part(f"a whole number {within}".strip(), Whole(within), 10 if 10 in within else within.example),)
    if annotation is float:
        number = "a number" if within.is_bounded else "a finite number"
        return (Part(f"{number} {within}".strip(), Number(within), within.example),)
    if annotation is str:
        return (Part("text", text, "text"),)
    if annotation is pl.Expr:
        return (Part("a Polars expression", OfType(pl.Expr)),)
    if annotation is object:
        return (Part("anything", lambda given: given, of_metrics=False),)
    kind = origin or annotation
    if (
        isinstance(kind, type)
        and kind.__module__ not in ("builtins", "typing")
        and not getattr(kind, "_is_protocol", False)
    ):
        return (Part(f"a {kind.__name__}", OfType(kind), of_metrics=False),)
    return None


def _mapping(keys: tuple[Part, ...] | None, values: tuple[Part, ...] | None) -> tuple[Part, ...] | None:
    """A mapping; only one from numbers to numbers has an example, since no other can be written in a call's text."""
    if keys is None or values is None:
        return None
    sides = Kind(keys), Kind(values)
    read, each = MappingOf(*(side.read for side in sides)), f"(each key {sides[0]}, each value {sides[1]})"
    if not all(isinstance(parts[0].read, Number) for parts in (keys, values)):
        return (Part(f"a mapping {each}", read, of_metrics=False),)
    example = next(x for x in ({1: 3, 2: 7}, {1: 0.5, 2: 1}, {}) if Kind((Part("", read),)).fits(x))
    return (Part(f"a mapping, as {example} {each}", read, example),)
