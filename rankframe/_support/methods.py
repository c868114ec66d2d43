"""Functions for users, also as methods of objects: their calls enter the package here, and its errors leave it."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Sequence
from functools import wraps
from textwrap import indent
from typing import Any, TypeVar, cast

from ..errors import InvalidOption, RankframeError, Verbatim, did_you_mean, shown, without_own_frames
from .arguments import own_parameters
from .option_kinds import annotation_of, read_arguments

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


class Lifted:
    """A function as a method: the function itself on the class, a `Method` on an object."""

    def __init__(self, function: Callable[..., object], returns: object) -> None:
        self.function, self.returns = function, returns
        self.__wrapped__, self.__doc__ = function, function.__doc__  # doctest finds the examples
        self.__module__ = function.__module__

    def __get__(self, ranker: Owner | None, owner: type | None = None) -> object:
        return self.function if ranker is None else Method(self.function, self.returns, ranker)


class Method:
    """A method of one object: like Python's own, with the object's result type in its signature and help."""

    def __init__(self, function: Callable[..., object], returns: object, ranker: Owner) -> None:
        self.__func__, self.__self__ = function, ranker
        self.__name__, self.__qualname__ = function.__name__, function.__qualname__
        self.__module__ = function.__module__
        if isinstance(returns, TypeVar):
            returns = type(ranker) if returns.__bound__ else ranker._kind
        elif getattr(returns, "__parameters__", ()):
            returns = returns[ranker._kind]  # type: ignore[index]
        self._returns = returns
        self.__annotations__ = {**function.__annotations__, "return": returns}

    @property
    def __call__(self) -> Callable[..., object]:
        """The call, with the method's own signature: IPython shows that of `__call__` too if it differs."""

        def call(*args: object, **options: object) -> object:
            try:
                return self.__func__(self.__self__, *args, **options)
            except RankframeError as error:
                raise without_own_frames(error) from error.__cause__

        vars(call)["__signature__"] = self.__signature__
        return call

    def __get__(self, instance: object, owner: type | None = None) -> Method:
        return self  # makes `inspect` and `help` treat it as a routine

    @property
    def __signature__(self) -> inspect.Signature:
        return inspect.Signature(own_parameters(self.__func__), return_annotation=self._returns)

    @property
    def __doc__(self) -> str:  # type: ignore[override]
        text = inspect.getdoc(self.__func__) or ""
        for polars, own in self.__self__._examples:
            text = text.replace(polars, own)
        kind = inspect.formatannotation(self._returns)
        kind = re.sub(r"\b(polars|pandas|dask|rankframe)\.[\w.]*\b(\w+)", r"\1.\2", kind)
        about = self.__self__._gives if hasattr(self.__func__, "formula") else ""
        told = RETURNS.search(text)
        if told is None:
            return f"{text}\n\nReturns\n-------\n{kind}\n    {about}"
        lines = "\n".join(filter(None, [about, told.group(1)]))
        return f"{text[: told.start(1)]}{kind}\n{indent(lines, ' ' * 4)}{text[told.end() :]}"

    def __repr__(self) -> str:
        return f"{self.__self__._spelled}.{self.__name__}{parameters_of(self.__signature__)}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Method) and (self.__self__, self.__func__) == (other.__self__, other.__func__)

    def __hash__(self) -> int:
        return hash((id(self.__self__), self.__func__))

    def __reduce__(self) -> tuple[object, ...]:
        return getattr, (self.__self__, self.__name__)


Method.__name__ = "method"  # the name of Python's own methods; completion then uses the declared return type


def function_as_method(function: F) -> F:
    """A documented function of a ranker as its method."""
    original = inspect.unwrap(function)
    returns = inspect.signature(original).return_annotation
    return cast(F, Lifted(function, annotation_of("return", returns, original)))


def parameters_of(signature: inspect.Signature) -> str:
    """The parameters with their defaults, without types."""
    plain = [
        parameter.replace(
            annotation=parameter.empty, default=Verbatim("...") if parameter.default is ... else parameter.default
        )
        for parameter in signature.parameters.values()
    ]
    return str(inspect.Signature(plain))


def called_by_users(function: F) -> F:
    """Wrap a public function: it reads its options by their annotations, and errors show the caller's line."""
    parameters = inspect.signature(function).parameters
    kinds = {name: parameter.kind for name, parameter in parameters.items() if name != "self"}
    by_name = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    known = [name for name, kind in kinds.items() if kind in by_name]
    places = [x for x in parameters.values() if x.kind in (x.POSITIONAL_ONLY, x.POSITIONAL_OR_KEYWORD)]
    takes_more = inspect.Parameter.VAR_POSITIONAL in kinds.values()
    takes_any = inspect.Parameter.VAR_KEYWORD in kinds.values()

    @wraps(function)
    def call(*args: object, **options: object) -> object:
        try:
            for name in options:
                if name not in known and not takes_any:
                    said = f"{function.__name__} has no option {name!r}; its options are: {', '.join(known)}"
                    raise InvalidOption(f"{said}.{did_you_mean(name, known)}")
            if len(args) > len(places) and not takes_more:
                said = f"{function.__name__} has no place for {shown(args[len(places)])}; its options are"
                if not places:
                    said = f"{function.__name__} takes no argument without its name; write {known[0]}=..., {known[1]}=...; its options are"
                raise InvalidOption(f"{said}: {', '.join(known)}")
            args, options = read_arguments(function, args, options)
            return function(*args, **options)
        except (RankframeError, FileNotFoundError) as error:
            raise without_own_frames(error) from error.__cause__

    return cast(F, call)
