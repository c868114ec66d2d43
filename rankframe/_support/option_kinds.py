"""The kinds of options: which values a type in a signature takes, and the reader of arguments."""

from __future__ import annotations

import collections.abc
import inspect
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
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

from ..errors import InvalidOption, Text, did_you_mean, nearest, on, option, shown
from . import option_values as values
from .option_values import Range
from .tried_options import instead_of


@dataclass(frozen=True)
class ValueOf:
    """A value of the column with a role, as declared by ``Annotated[str, ValueOf("group")]``."""

    role: str


ANY_NUMBER = Range()

CUTOFF = Range(least=1)
"""The whole numbers that an option called ``k`` takes, in every metric."""


class NameOfColumn:
    """A column's name, declared with an option's type; in pandas any label, read as its text."""


@dataclass(frozen=True, eq=False)
class OtherWords:
    """The words of other tools, declared with the words of an option.

    Attributes
    ----------
    read
        The word here that each means.
    refused
        Of words that mean none here: the word to write, and why, as the end of a sentence.
    """

    read: Mapping[str, str]
    refused: Mapping[str, tuple[str, str]]


class ReadInside:
    """Declared with the type of an option that the function itself reads, to say more of errors."""


Column: TypeAlias = Annotated[str, NameOfColumn]
"""The name of a column."""

ColumnNames: TypeAlias = Sequence[Column] | Column
"""The names of several columns, or of one."""


@dataclass(frozen=True)
class Alternative:
    """One alternative of a kind: its name in errors, its reader, and the word if it is one.

    `read` gives the value as formulas take it, and raises TypeError or ValueError for a value of
    another kind. Only options of verbs and functions take one that is not `of_metrics`. `replaces`
    has the words of other tools that it replaces, and why.
    """

    text: str
    read: Callable[[object], object]
    word: object = None
    of_metrics: bool = True
    replaces: Mapping[str, str] = field(default_factory=dict, compare=False)


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
        """The value of the option `name`, of the metric `of`, as formulas take it.

        Refused if no alternative accepts it.
        """
        try:
            return self.read(given)
        except TypeError:
            for one in self.alternatives:
                if isinstance(given, str) and given in one.replaces:
                    why = f" is not computed: {one.replaces[given]}; write "
                    instead = option(**{name: one.word})
                    raise InvalidOption(option(**{name: given}), why, instead) from None
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


NO_KINDS: Mapping[str, Kind] = {}
NO_OTHERS = OtherWords({}, {})


def check(name: str, given: object, annotation: object) -> Any:
    """`given` as formulas take it; refused if the annotation does not include it."""
    return cast("Kind", kind_of(annotation)).check(name, given)


@lru_cache(maxsize=512)
def names_columns(function: Callable[..., object], name: str) -> bool:
    """Whether a parameter of a function names columns, by its annotation."""
    original = inspect.unwrap(function)
    parameter = inspect.signature(original).parameters[name]
    return _has_column(annotation_of(name, parameter.annotation, original))


def _has_column(annotation: object) -> bool:
    return annotation == Column or any(map(_has_column, get_args(annotation)))


@lru_cache(maxsize=512)  # reading a signature takes 2% of the time of a small table
def kinds_of(function: Callable[..., object]) -> tuple[inspect.Signature, Mapping[str, Kind]]:
    """The signature of a function, and the kinds of all parameters that its annotations tell."""
    original = inspect.unwrap(function)
    signature = inspect.signature(function)
    kinds = {}
    for name, parameter in signature.parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        kind = kind_of(annotation_of(name, parameter.annotation, original))
        if kind is not None:
            kinds[name] = kind
    return signature, kinds


def read_arguments(
    function: Callable[..., object],
    args: Sequence[object],
    options: Mapping[str, object],
    *,
    hidden: int = 0,
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a call, bound to the function's signature and read, or refused, by it.

    The first `hidden` parameters are left out of the signature that an error shows: they are the
    object of a method.
    """
    signature, kinds = kinds_of(function)
    bound = bind(function.__name__, signature, args, options, hidden=hidden, kinds=kinds)
    arguments = bound.arguments
    for name in arguments.keys() & kinds.keys():
        arguments[name] = kinds[name].check(name, arguments[name])
    return bound.args, bound.kwargs


def bind(
    name: str,
    signature: inspect.Signature,
    args: Sequence[object],
    options: Mapping[str, object],
    *,
    hidden: int = 0,
    of_on: Collection[str] = (),
    kinds: Mapping[str, Kind] = NO_KINDS,
) -> inspect.BoundArguments:
    """Bind the arguments of a call.

    An error shows the signature, or advises `on` for one of its options, `of_on`; or what to write
    instead of a keyword that people try, whose value is read by the `kinds` of options.
    """
    try:
        return signature.bind(*args, **options)
    except TypeError as error:
        for word, given in options.items():
            metrics = args[n_before_metrics(signature) :]
            parameters = dict([*signature.parameters.items()][hidden:])
            if answer := answer_to(word, given, metrics, parameters, of_on, kinds):
                raise InvalidOption(f"{name} has no option {word!r}", *answer) from None
        seen = signature.replace(parameters=[*signature.parameters.values()][hidden:])
        says = f"{name}: {error}; its signature is {name}"
        most = TWO_LINES - len(says)
        raise InvalidOption(says + first_parameters_of(seen, most)) from None


def answer_to(
    word: str,
    given: object,
    metrics: Sequence[object],
    parameters: Mapping[str, inspect.Parameter],
    of_on: Collection[str],
    kinds: Mapping[str, Kind],
) -> tuple[Text, ...]:
    """What to write instead of an unknown keyword; empty if it is known, or like no other word."""
    if word in parameters and parameters[word].kind is not inspect.Parameter.VAR_POSITIONAL:
        return ()
    if word in of_on:
        return "; write ", on(**{word: ...})
    if instead := instead_of(word, given, metrics, parameters, partial(_takes, kinds)):
        return "; ", *instead
    if near := did_you_mean(word, parameters):
        return f".{near}", ""
    if policy := nearest(word, of_on):
        return ". Did you mean ", on(**{policy: ...}), "?"
    return ()


def n_before_metrics(signature: inspect.Signature) -> int:
    """The number of arguments before those that have no names of their own."""
    return sum(x.kind is x.POSITIONAL_OR_KEYWORD for x in signature.parameters.values())


def _takes(kinds: Mapping[str, Kind], name: str, given: object) -> bool:
    """Whether an option takes a value, as far as its kind is known."""
    if name not in kinds:
        return True
    try:
        kinds[name].read(given)
    except TypeError:
        return False
    return True


TWO_LINES = 200
"""The most letters of an error about the arguments of a call."""


def first_parameters_of(signature: inspect.Signature, most: int) -> str:
    """The parameters with their defaults as far as `most` letters go, and ``...`` for others."""
    whole = parameters_of(signature)
    if len(whole) <= most:
        return whole
    fitting = "(...)"
    parameters = [*signature.parameters.values()]
    for number in range(1, len(parameters)):
        first = parameters_of(inspect.Signature(parameters[:number]))
        with_others = first.removesuffix(")") + ", ...)"
        if len(with_others) > most:
            break
        fitting = with_others
    return fitting


def parameters_of(signature: inspect.Signature) -> str:
    """The parameters with their defaults, without types."""
    plain = [x.replace(annotation=x.empty) for x in signature.parameters.values()]
    return str(inspect.Signature(plain)).replace("=Ellipsis", "=...")


def annotation_of(name: str, annotation: object, formula: Callable[..., object]) -> object:
    """The annotation of a formula's option; ``Any`` if it cannot be known.

    Text is resolved in the formula's module.
    """
    holder = SimpleNamespace(__annotations__={name: annotation})
    module = getattr(formula, "__globals__", {})
    aliases = getattr(formula, "aliases", None)  # of options that other functions have, too
    try:
        hints = get_type_hints(holder, module, aliases, include_extras=True)
        hash(hints[name])
    except Exception:  # an annotation may be any expression
        return Any
    resolved: object = hints[name]
    return resolved


def role_of(annotation: object) -> str | None:
    """The role of the column of which an option names a value; None for any other option."""
    if get_origin(annotation) in (Union, UnionType):
        roles = map(role_of, get_args(annotation))
        return next((role for role in roles if role is not None), None)
    for metadata in getattr(annotation, "__metadata__", ()):
        if isinstance(metadata, ValueOf):
            return metadata.role
    return None


@lru_cache(maxsize=512)
def kind_of(annotation: object, within: Range = ANY_NUMBER) -> Kind | None:
    """The kind of an annotation; None, for no check, if it has types that options do not have.

    `within` is the range of numbers if the annotation has none.
    """
    alternatives = _alternatives(annotation, within)
    return None if alternatives is None else Kind(alternatives)


def words(of: Iterable[object], others: OtherWords = NO_OTHERS) -> Kind:
    """The kind of some words, and of the words of other tools for them."""
    alternatives = []
    for word in of:
        spellings = [other for other, meant in others.read.items() if meant == word]
        read = partial(values.word, word)
        if spellings:
            read = partial(values.word_or_spelling, word, spellings)
        refused = others.refused.items()
        replaces = {other: why for other, (instead, why) in refused if instead == word}
        alternatives.append(Alternative(repr(word), read, word, replaces=replaces))
    return Kind(tuple(alternatives))


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
    origin = get_origin(annotation)
    args = get_args(annotation)
    if origin in (Union, UnionType):
        return _of_any(args, within)
    if annotation in (Any, inspect.Parameter.empty) or (origin is Annotated and ReadInside in args):
        return None
    simple = SIMPLE.get(annotation, SIMPLE.get(origin) if origin else None)
    if simple is not None:
        return (simple,)
    if origin is Annotated:
        return _of_annotated(args, within)
    if origin is Literal:
        return words(args).alternatives
    if annotation is int:
        text = f"a whole number {within}".strip()
        return (Alternative(text, partial(values.whole, within)),)
    if annotation is float:
        finite = "" if within.is_bounded else "finite "
        text = f"a {finite}number {within}".strip()
        return (Alternative(text, partial(values.number, within)),)
    if origin in (dict, collections.abc.Mapping, collections.abc.Sequence) and args:
        return _of_many(args, within)
    return _of_type(origin or annotation)


def _of_annotated(args: Sequence[Any], within: Range) -> tuple[Alternative, ...] | None:
    """The alternatives of a type with a kind, words of other tools or a range beside it."""
    annotated, *others = args
    for metadata in others:
        if isinstance(metadata, Kind):
            return metadata.alternatives
        if isinstance(metadata, OtherWords):
            return words(get_args(annotated), metadata).alternatives
    ranges = [metadata for metadata in others if isinstance(metadata, Range)]
    return _alternatives(annotated, ranges[0] if ranges else within)


def _of_any(args: Sequence[object], within: Range) -> tuple[Alternative, ...] | None:
    """The alternatives of a union; None if one of its types is not checked."""
    alternatives: list[Alternative] = []
    for arg in args:
        of_arg = _alternatives(arg, within)
        if of_arg is None:
            return None
        alternatives += of_arg
    return tuple(alternatives)


def _of_many(args: Sequence[object], within: Range) -> tuple[Alternative, ...] | None:
    """A list or a mapping; None if a type of its values is not checked."""
    kinds = [kind for kind in (kind_of(arg, within) for arg in args) if kind is not None]
    if len(kinds) < len(args):
        return None
    numeric = all(float in (arg, *get_args(arg)) for arg in args)
    readers: list[Callable[[object], Any]] = [kind.read for kind in kinds]
    if len(kinds) == 1:
        text = f"a list (each {kinds[0]})"
        read: Callable[[Any], object] = partial(values.several, *readers)
    else:
        text = f"a mapping (each key {kinds[0]}, each value {kinds[1]})"
        read = partial(values.mapping, *readers)
    return (Alternative(text, read, of_metrics=numeric),)


def _of_type(kind: Any) -> tuple[Alternative, ...] | None:
    """The objects of a class of a library; None for Python's own classes, which are not checked."""
    is_plain = getattr(kind, "__module__", "") in ("builtins", "typing")
    is_protocol = getattr(kind, "_is_protocol", False)
    if not isinstance(kind, type) or is_plain or is_protocol:
        return None
    text = f"a {kind.__name__}"
    return (Alternative(text, partial(values.of_type, kind), of_metrics=False),)
