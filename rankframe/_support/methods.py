"""Functions for users, also as methods: calls enter the package here, and errors leave it."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Sequence
from functools import cached_property, partial, wraps
from textwrap import indent
from typing import Any, TypeVar, cast

from ..errors import RankframeError, without_own_frames
from .option_kinds import annotation_of, kinds_of, parameters_of, read_arguments

F = TypeVar("F", bound=Callable[..., object])

RETURNS = re.compile(r"(?ms)^Returns\n-+\n(.*?)(?=\n\n|\Z)")


class Owner:
    """An object whose methods are lifted functions."""

    _gives = ""
    """The sentence on the result of a metric, for the help of its method."""
    _examples: Sequence[tuple[str, str]] = ()
    """Texts of help written for Polars, each with its replacement for this object."""

    @property
    def _kind(self) -> Any:
        """The type of the results."""

    @property
    def _spelled(self) -> str:
        """The object as Python spells it."""
        raise NotImplementedError


def with_short_traceback(function: F) -> F:
    """Wrap a function that users call: the traceback of an error ends at the caller's line."""

    @wraps(function)
    def call(*args: object, **options: object) -> object:
        try:
            return function(*args, **options)
        except (RankframeError, FileNotFoundError) as error:
            raise without_own_frames(error) from error.__cause__

    return cast(F, call)


class Lifted:
    """A function as a method: the function itself on the class, a `Method` on an object.

    `make` gives the function and the type of its results; it is called at the first use.
    """

    def __init__(self, make: Callable[[], tuple[Callable[..., object], object]]) -> None:
        self._make = make

    @cached_property
    def _made(self) -> tuple[Callable[..., object], object]:
        return self._make()

    @property
    def function(self) -> Callable[..., object]:
        """The function."""
        return self._made[0]

    @property
    def __wrapped__(self) -> Callable[..., object]:  # doctest finds the examples
        return self.function

    def __get__(self, ranker: Owner | None, owner: type | None = None) -> object:
        function, returns = self._made
        return function if ranker is None else Method(function, returns, ranker)


class Method:
    """A method of one object, whose signature and help have the object's type of results."""

    def __init__(self, function: Callable[..., object], returns: object, ranker: Owner) -> None:
        self.__func__ = function
        self.__self__ = ranker
        self._declared = returns
        self.__name__ = function.__name__
        self.__qualname__ = function.__qualname__
        self.__module__ = function.__module__

    @cached_property
    def _returns(self) -> Any:
        """The type of the result for this object."""
        returns: Any = self._declared
        if isinstance(returns, TypeVar):
            return type(self.__self__) if returns.__bound__ else self.__self__._kind
        if getattr(returns, "__parameters__", ()):
            return returns[self.__self__._kind]
        return returns

    @property
    def __annotations__(self) -> dict[str, object]:  # type: ignore[override]
        return {**self.__func__.__annotations__, "return": self._returns}

    @property
    def __call__(self) -> Callable[..., object]:
        """The call, with the method's own signature.

        IPython shows the signature of `__call__`, too, if it differs.
        """
        return _Entrance(_enter, self)

    def __get__(self, instance: object, owner: type | None = None) -> Method:
        return self  # makes `inspect` and `help` treat it as a routine

    @property
    def __signature__(self) -> inspect.Signature:
        _, *parameters = kinds_of(self.__func__)[0].parameters.values()
        return inspect.Signature(parameters, return_annotation=self._returns)

    @property
    def __doc__(self) -> str:  # type: ignore[override]
        text = inspect.getdoc(self.__func__) or ""
        for polars, spelled in self.__self__._examples:
            text = text.replace(polars, spelled)
        kind = inspect.formatannotation(self._returns)
        kind = re.sub(r"\brankframe\._verbs\.\w+\.\w+\.", "rankframe.results.", kind)
        kind = re.sub(r"\b(polars|pandas|dask|rankframe)\.(?!results)[\w.]*\b(\w+)", r"\1.\2", kind)
        about = self.__self__._gives if hasattr(self.__func__, "formula") else ""
        returns = RETURNS.search(text)
        if returns is None:
            return f"{text}\n\nReturns\n-------\n{kind}\n    {about}"
        before = text[: returns.start(1)]
        after = text[returns.end() :]
        lines = "\n".join(filter(None, [about, returns[1]]))
        return f"{before}{kind}\n{indent(lines, ' ' * 4)}{after}"

    def __repr__(self) -> str:
        return f"{self.__self__._spelled}.{self.__name__}{parameters_of(self.__signature__)}"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Method):
            return False
        theirs = (other.__self__, other.__func__)
        return (self.__self__, self.__func__) == theirs

    def __hash__(self) -> int:
        return hash((id(self.__self__), self.__func__))

    def __reduce__(self) -> tuple[object, ...]:
        return getattr, (self.__self__, self.__name__)


@with_short_traceback
def _enter(method: Method, /, *args: object, **options: object) -> object:
    return method.__func__(method.__self__, *args, **options)


class _Entrance(partial[object]):
    """The call of a method, where the traceback of an error ends at the caller's line."""

    @property
    def __signature__(self) -> inspect.Signature:
        return cast("Method", self.args[0]).__signature__


# the name of Python's own methods; completion then uses the declared return type
Method.__name__ = "method"


def function_as_method(function: F) -> F:
    """A documented function of a ranker as its method."""
    original = inspect.unwrap(function)
    returns = inspect.signature(original).return_annotation
    made = function, annotation_of("return", returns, original)
    method = Lifted(lambda: made)
    method.__module__ = function.__module__
    method.__doc__ = function.__doc__  # doctest finds the examples
    return cast(F, method)


def called_by_users(function: F) -> F:
    """Wrap a public function: it reads its arguments by its signature.

    Errors show the caller's line.
    """
    hidden = int("self" in inspect.signature(function).parameters)

    @wraps(function)
    def call(*args: object, **options: object) -> object:
        args, options = read_arguments(function, args, options, hidden=hidden)
        return function(*args, **options)

    return with_short_traceback(cast(F, call))
