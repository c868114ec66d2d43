"""The kinds of options: which values a type in a signature takes, and the one reader of arguments
that checks them.
"""

from __future__ import annotations

import collections.abc
import inspect
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache, partial
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

from ..errors import InvalidOption, did_you_mean, nearest, on, option, shown
from . import option_values as values
from .option_values import Range


@dataclass(frozen=True)
class ValueOf:
    """A value of the column with a role, declared with an option's type: ``Annotated[str,
    ValueOf("group")]``.
    """

    role: str


ANY_NUMBER = Range()

CUTOFF = Range(least=1)
"""The whole numbers that an option called ``k`` takes, in every metric."""


class NameOfColumn:
    """A column's name, declared with an option's type; in pandas any label, read as its text."""


class ReadInside:
    """Declared with an option's type if the function itself reads the option, and has more to say
    of a wrong value.
    """


Column: TypeAlias = Annotated[str, NameOfColumn]
"""The name of a column."""

ColumnNames: TypeAlias = Sequence[Column] | Column
"""The names of several columns, or of one."""


@dataclass(frozen=True)
class Alternative:
    """One alternative of a kind: its name in errors, the function that reads a value, and the word
    if it is one.

    `read` gives the value as formulas take it, and raises TypeError or ValueError for a value of
    another kind. Only options of verbs and functions take one that is not `of_metrics`.
    """

    text: str
    read: Callable[[object], object]
    word: object = None
    of_metrics: bool = True


@dataclass(frozen=True)
class Kind:
    """The values that an option takes."""

    alternatives: tuple[Alternative, ...]

    def read(self, given: object) -> Any:
        """The value as formulas take it; TypeError if no alternative accepts it."""
        for one in self.alternatives:
            with suppress(TypeError, ValueError):
                return one.read(given)
        raise TypeError

    def check(self, name: str, given: object, of: str | None = None) -> Any:
        """The value of the option `name`, of the metric `of`, as formulas take it; refused if no
        alternative accepts it.
        """
        try:
            return self.read(given)
        except TypeError:
            hint = did_you_mean(given, self.words) if isinstance(given, str) else ""
            where = option(**{name: given}) if of is None else f"{of}({name}={shown(given)})"
            raise InvalidOption(where, f": write {self}.{hint}") from None

    @property
    def of_metrics(self) -> bool:
        """Whether options of metrics take all of it."""
        return all(one.of_metrics for one in self.alternatives)

    @property
    def words(self) -> list[str]:
        """The values that are words."""
        return [one.word for one in self.alternatives if isinstance(one.word, str)]

    def __str__(self) -> str:
        texts = [one.text for one in self.alternatives]
        if len(self.words) == len(texts) > 1:
            return f"one of {', '.join(texts)}"
        return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} or {texts[-1]}"


def check(name: str, given: object, annotation: object) -> Any:
    """`given` as formulas take it; refused if the annotation does not include it."""
    return cast("Kind", kind_of(annotation)).check(name, given)


@lru_cache(maxsize=512)
def names_columns(function: Callable[..., object], name: str) -> bool:
    """Whether a parameter of a function names columns, by its annotation."""
    original = inspect.unwrap(function)
    return _has_column(
        annotation_of(name, inspect.signature(original).parameters[name].annotation, original)
    )


def _has_column(annotation: object) -> bool:
    return annotation == Column or any(map(_has_column, get_args(annotation)))


@lru_cache(maxsize=512)  # reading a signature takes 2% of the time of a small table
def kinds_of(function: Callable[..., object]) -> tuple[inspect.Signature, Mapping[str, Kind]]:
    """The signature of a function, and the kinds of all parameters that its annotations tell."""
    original = inspect.unwrap(function)
    signature = inspect.signature(function)
    named = [
        x for x in signature.parameters.values() if x.kind not in (x.VAR_POSITIONAL, x.VAR_KEYWORD)
    ]
    kinds = {x.name: kind_of(annotation_of(x.name, x.annotation, original)) for x in named}
    return signature, {name: kind for name, kind in kinds.items() if kind is not None}


def read_arguments(
    function: Callable[..., object],
    args: Sequence[object],
    options: Mapping[str, object],
    *,
    hidden: int = 0,
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a call, bound to the function's signature and each read by its annotation,
    or refused.

    The first `hidden` parameters are left out of the signature that an error shows: they are the
    object of a method.
    """
    signature, kinds = kinds_of(function)
    given = bind(function.__name__, signature, args, options, hidden=hidden)
    for name in given.arguments.keys() & kinds.keys():
        given.arguments[name] = kinds[name].check(name, given.arguments[name])
    return given.args, given.kwargs


def bind(
    name: str,
    signature: inspect.Signature,
    args: Sequence[object],
    options: Mapping[str, object],
    *,
    hidden: int = 0,
    of_on: Collection[str] = (),
) -> inspect.BoundArguments:
    """Bind the arguments of a call; an error shows the signature, or advises `on` for one of its
    options, `of_on`.
    """
    try:
        return signature.bind(*args, **options)
    except TypeError as error:
        unknown = [other for other in options if other not in signature.parameters]
        for other in unknown:
            says = f"{name} has no option {other!r}"
            if other in of_on:
                raise InvalidOption(f"{says}; write ", on(**{other: ...})) from None
            if near := did_you_mean(other, signature.parameters):
                raise InvalidOption(f"{says}.{near}") from None
            if policy := nearest(other, of_on):
                raise InvalidOption(f"{says}. Did you mean ", on(**{policy: ...}), "?") from None
        own = signature.replace(parameters=[*signature.parameters.values()][hidden:])
        says = f"{name}: {error}; its signature is {name}"
        raise InvalidOption(says + first_parameters_of(own, most=TWO_LINES - len(says))) from None


TWO_LINES = 200
"""The most letters of an error about the arguments of a call."""


def first_parameters_of(signature: inspect.Signature, most: int) -> str:
    """The parameters with their defaults as far as `most` letters go, and ``...`` for the
    others.
    """
    whole = parameters_of(signature)
    if len(whole) <= most:
        return whole
    fitting = "(...)"
    parameters = [*signature.parameters.values()]
    for number in range(1, len(parameters)):
        first = parameters_of(inspect.Signature(parameters[:number])).removesuffix(")") + ", ...)"
        if len(first) > most:
            break
        fitting = first
    return fitting


def parameters_of(signature: inspect.Signature) -> str:
    """The parameters with their defaults, without types."""
    plain = [x.replace(annotation=x.empty) for x in signature.parameters.values()]
    return str(inspect.Signature(plain)).replace("=Ellipsis", "=...")


def annotation_of(name: str, annotation: object, formula: Callable[..., object]) -> object:
    """The annotation of a formula's option; text is resolved in the formula's module, or ``Any`` if
    that fails.
    """
    holder = SimpleNamespace(__annotations__={name: annotation})
    try:
        aliases = getattr(formula, "aliases", None)  # of options that other functions have, too
        found: object = get_type_hints(
            holder, getattr(formula, "__globals__", {}), aliases, include_extras=True
        )[name]
        hash(found)
    except Exception:  # an annotation may be any expression
        return Any
    return found


def role_of(annotation: object) -> str | None:
    """The role of the column of which an option names a value, by the option's annotation; None for
    any other option.
    """
    if get_origin(annotation) in (Union, UnionType):
        return next(
            (role for arg in get_args(annotation) if (role := role_of(arg)) is not None), None
        )
    return next(
        (x.role for x in getattr(annotation, "__metadata__", ()) if isinstance(x, ValueOf)), None
    )


@lru_cache(maxsize=512)
def kind_of(annotation: object, within: Range = ANY_NUMBER) -> Kind | None:
    """The kind of an annotation; None, for no check, if it has types that options do not have.

    `within` is the range of numbers if the annotation has none.
    """
    alternatives = _alternatives(annotation, within)
    return None if alternatives is None else Kind(alternatives)


def words(of: Iterable[object]) -> Kind:
    """The kind of some words."""
    return Kind(tuple(Alternative(repr(word), partial(values.word, word), word) for word in of))


NONE = Alternative("None", partial(values.word, None))
SIMPLE: Mapping[object, Alternative] = {
    Column: Alternative("a column's name", values.column),
    Sequence[Column]: Alternative("a list of columns' names", values.columns),
    collections.abc.Callable: Alternative("a function", values.function),
    None: NONE,
    NoneType: NONE,
    bool: Alternative("True or False", partial(values.of_type, bool)),
    str: Alternative("text", values.text),
    pl.Expr: Alternative("a Polars expression", partial(values.of_type, pl.Expr)),
    object: Alternative("anything", lambda given: given, of_metrics=False),
}
"""The types that are one alternative."""


OF_NUMBERS = Alternative("a mapping of numbers", partial(values.of_type, Mapping))
PLAIN = map(SIMPLE.__getitem__, (str, bool, None, pl.Expr, collections.abc.Callable))
ANY_OPTION = Kind((Alternative("a number", values.real), *PLAIN, OF_NUMBERS))
"""The values of a metric's option whose annotation says nothing."""


def _alternatives(annotation: object, within: Range) -> tuple[Alternative, ...] | None:
    origin, args = get_origin(annotation), get_args(annotation)
    if origin in (Union, UnionType):
        each = [_alternatives(arg, within) for arg in args]
        return None if None in each else tuple(one for some in each for one in some or ())
    if annotation in (Any, inspect.Parameter.empty) or (origin is Annotated and ReadInside in args):
        return None
    if simple := SIMPLE.get(annotation, SIMPLE.get(origin) if origin else None):
        return (simple,)
    if origin is Annotated:
        if own := next((x for x in args[1:] if isinstance(x, Kind)), None):
            return own.alternatives
        return _alternatives(args[0], next((x for x in args[1:] if isinstance(x, Range)), within))
    if origin is Literal:
        return words(args).alternatives
    if annotation is int:
        return (Alternative(f"a whole number {within}".strip(), partial(values.whole, within)),)
    if annotation is float:
        text = f"a {'' if within.is_bounded else 'finite '}number {within}".strip()
        return (Alternative(text, partial(values.number, within)),)
    if origin in (dict, collections.abc.Mapping, collections.abc.Sequence) and args:
        kinds = [x for arg in args if (x := kind_of(arg, within)) is not None]
        if len(kinds) < len(args):
            return None
        numeric = all(float in (arg, *get_args(arg)) for arg in args)
        reads: list[Callable[[object], Any]] = [x.read for x in kinds]
        if len(kinds) == 1:
            return (
                Alternative(
                    f"a list (each {kinds[0]})", partial(values.several, *reads), of_metrics=numeric
                ),
            )
        text = f"a mapping (each key {kinds[0]}, each value {kinds[1]})"
        return (Alternative(text, partial(values.mapping, *reads), of_metrics=numeric),)
    kind = origin or annotation
    plain = getattr(kind, "__module__", "") in ("builtins", "typing") or getattr(
        kind, "_is_protocol", False
    )
    if isinstance(kind, type) and not plain:
        return (Alternative(f"a {kind.__name__}", partial(values.of_type, kind), of_metrics=False),)
    return None
