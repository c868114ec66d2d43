"""Formulas and verbs as methods of rankers."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial, wraps
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, TypeVar, cast, overload

import polars as pl

from .._catalog.call import Call, calls_for
from .._catalog.registry import VERBS, metric_of
from .._support.methods import Lifted, Owner
from .._support.option_kinds import annotation_of
from .._support.threads import use_polars
from .._table.table import R, Table
from .._verbs.call.declaration import Verb, verb_of
from ..errors import Advice, Code, InvalidOption, with_code

P = ParamSpec("P")
X = TypeVar("X")
Found = TypeVar("Found", covariant=True)


class Metrics(Owner, ABC, Generic[R]):
    """An object whose methods are metrics of a ranker."""

    _root: str

    @abstractmethod
    def _measure(self, *calls: Call) -> R:
        """The values of a metric, at one cutoff or several."""


class Verbs(Owner, ABC, Generic[R]):
    """An object whose methods are verbs over the table of a ranker."""

    @abstractmethod
    def _lifted(self, verb: Verb, args: Sequence[object], options: Mapping[str, object]) -> Any:
        """The result of a verb with these arguments."""


class VerbMethod(Lifted):
    """A verb as a method, which stands in the list of verbs."""

    def __set_name__(self, owner: type, name: str) -> None:
        VERBS.put(name, self)


@overload
def lift(
    verb: Callable[[], Callable[Concatenate[Table[Any], P], pl.DataFrame]],
) -> Callable[Concatenate[Verbs[R], P], R]: ...
@overload
def lift(
    verb: Callable[[], Callable[Concatenate[Table[R], P], X]],
) -> Callable[Concatenate[Verbs[R], P], X]: ...
def lift(verb: Callable[[], Callable[..., Any]]) -> Any:
    """A verb as a method: the same options, over the table of a ranker of any kind of frame; its
    frame is of that kind.

    `verb` gives the verb's function. It is called at the first use, which imports the verb's
    module.
    """
    return VerbMethod(lambda: _as_method(verb()))


def _as_method(verb: Callable[..., Any]) -> tuple[Callable[..., object], object]:
    """The function of a method, and the type of its results."""
    declared = verb_of(verb)

    @wraps(verb)
    def call(owner: Verbs[Any], /, *args: Any, **options: Any) -> Any:
        use_polars()
        return owner._lifted(declared, args, options)

    original = inspect.unwrap(verb)
    returns = annotation_of("return", inspect.signature(original).return_annotation, original)
    return call, R if returns is pl.DataFrame else returns


class OfRanker(Protocol[P, Found]):
    """A metric of a ranker, as type checkers see it: the options of its formula, or several
    cutoffs.
    """

    @overload
    def __call__(self, *args: P.args, **options: P.kwargs) -> Found: ...
    @overload
    def __call__(self, k: Sequence[int], **options: Any) -> Found: ...


class MetricMethod(Protocol[P]):
    """A metric as a method, as type checkers see it."""

    def __get__(self, ranker: Metrics[R], owner: type | None = None, /) -> OfRanker[P, R]: ...


def formula_as_method(formula: Callable[Concatenate[X, P], pl.Expr]) -> MetricMethod[P]:
    """A formula as a method: the same options, and a result of the ranker's kind."""
    return cast("MetricMethod[P]", Lifted(lambda: _formula_as_method(formula)))


def _formula_as_method(
    formula: Callable[Concatenate[X, P], pl.Expr],
) -> tuple[Callable[..., object], object]:
    """The function of a method, and the type of its results."""

    @wraps(formula)
    def call(ranker: Metrics[Any], /, *args: P.args, **options: P.kwargs) -> Any:
        try:
            calls = calls_for(metric_of(formula), args, options)
        except InvalidOption as error:
            raise InvalidOption(
                *(with_code(part, partial(_called_on, ranker._root)) for part in error.parts)
            ) from None
        return ranker._measure(*calls)

    returns = annotation_of("return", "R", call)
    call.__annotations__ = {**formula.__annotations__, "return": returns}
    vars(call).update(
        formula=formula, __signature__=inspect.signature(formula).replace(return_annotation=returns)
    )
    return call, returns


def _called_on(ranker: str, code: Advice | Code) -> Advice | Code:
    """The code with its method called on a ranker."""
    return replace(code, ranker=ranker) if isinstance(code, Advice) else code
