"""Formulas and verbs as methods of rankers."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace
from functools import partial, wraps
from typing import Concatenate, ParamSpec, Protocol, TypeVar, cast

import polars as pl

from .._catalog.call import Call, calls_for
from .._catalog.registry import of
from .._support.forks import use_polars
from .._support.methods import Documented, Lifted, function_as_method
from .._support.option_kinds import annotation_of, read_arguments
from .._table.setup import OPTIONS, Setup
from ..errors import Advice, Code, InvalidOption, with_code

F = TypeVar("F", bound=Callable[..., object])
P = ParamSpec("P")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)
X = TypeVar("X")


class Ranks(Documented, Protocol[R_co]):
    """A ranker as its methods see it."""

    _setup: Setup
    _root: str

    @property
    def _kind(self) -> type[R_co]: ...

    def _measure(self, *calls: Call) -> R_co:
        """The values of a metric, at one cutoff or several."""
        ...


def verb_as_method(verb: F) -> F:
    """A verb as a method, which reads its options by their annotations and refuses any that it does not have."""

    @wraps(verb)
    def call(ranker: Ranks[object], *args: object, **options: object) -> object:
        use_polars()
        args, options = read_arguments(verb, (ranker, *args), options, hidden=1, of_on=OPTIONS)
        return verb(*args, **options)

    return function_as_method(cast(F, call))


def formula_as_method(formula: Callable[Concatenate[X, P], pl.Expr]) -> Callable[Concatenate[Ranks[R], P], R]:
    """A formula as a method: the same options, and a result of the ranker's kind."""

    @wraps(formula)
    def call(ranker: Ranks[R], /, *args: P.args, **options: P.kwargs) -> R:
        try:
            calls = calls_for(of(formula), args, options)
        except InvalidOption as error:
            raise InvalidOption(*(with_code(part, partial(_called_on, ranker._root)) for part in error.parts)) from None
        return ranker._measure(*calls)

    returns = annotation_of("return", "R", call)
    call.__annotations__ = {**formula.__annotations__, "return": returns}
    vars(call).update(formula=formula, __signature__=inspect.signature(formula).replace(return_annotation=returns))
    return cast("Callable[Concatenate[Ranks[R], P], R]", Lifted(call, returns))


def _called_on(ranker: str, code: Advice | Code) -> Advice | Code:
    """The code with its method called on a ranker."""
    return replace(code, ranker=ranker) if isinstance(code, Advice) else code
