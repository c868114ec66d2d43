"""What rankframe raises: every error says what was given, what is wrong and what to write instead."""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import wraps
from types import EllipsisType, NoneType, TracebackType
from typing import Any, TypeAlias, TypeVar, cast

__all__ = [
    "MOST_DIGITS",
    "Advice",
    "Code",
    "InvalidData",
    "InvalidOption",
    "MissingColumn",
    "MissingExtra",
    "OutOfSpace",
    "RankframeError",
    "RankframeWarning",
    "Spelling",
    "Text",
    "UnknownMetric",
    "Verbatim",
    "asked_as",
    "called_by_users",
    "did_you_mean",
    "judge",
    "nearest",
    "on",
    "option",
    "shown",
    "warn",
    "without_own_frames",
    "worded",
]

E = TypeVar("E", bound=BaseException)
F = TypeVar("F", bound=Callable[..., Any])

MOST_DIGITS = 38
"""How many digits a whole number may have: Polars computes with 128 bits."""

MOST_LETTERS = 100
"""How many letters an error repeats of what was given."""


class Verbatim(str):
    """A value in an advice that is written as it is, as code."""

    __repr__ = str.__str__
    __slots__ = ()


@dataclass(frozen=True)
class Advice:
    """A call to write, ``df.rank.on(label='rel')``, or options alone, ``ties='order'``; each front spells it its way.

    Attributes
    ----------
    method
        The method of ``df.rank``; empty for options alone.
    options
        The values of its options; ``...`` where the reader knows the column.
    of
        The code of its arguments that have no name.
    """

    method: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    of: tuple[str, ...] = ()

    def __str__(self) -> str:
        given = ", ".join([*self.of, *(f"{name}={_written(value)}" for name, value in self.options.items())])
        return f"df.rank.{self.method}({given})" if self.method else given


@dataclass(frozen=True)
class Code:
    """Other code in a sentence, and the same as each front spells it.

    Attributes
    ----------
    polars, pandas, command
        The code; that of pandas is the same where none is given, and the command line has none.
    phrase
        The words around it, left out with the code where a front has none.
    """

    polars: str
    pandas: str | None = None
    command: str = ""
    phrase: str = "{}"

    def __str__(self) -> str:
        return self.spelled(self.polars)

    def spelled(self, code: str) -> str:
        """The phrase with the code of a front."""
        return self.phrase.format(code) if code else ""


Text: TypeAlias = "str | Advice | Code | tuple[Text, ...]"
"""What is said: words, and between them what to write."""

Spelling: TypeAlias = Callable[[Advice | Code], str]
"""How a front spells what to write; `str` gives Python and Polars."""


def worded(text: Text, spelling: Spelling = str) -> str:
    """The sentence, with what to write as a front spells it; as it is written in Python and Polars without one."""
    if isinstance(text, str):
        return text
    return "".join(worded(part, spelling) for part in text) if isinstance(text, tuple) else spelling(text)


def on(**options: Any) -> Advice:
    """The advice to say columns or policies."""
    return Advice("on", _plain(options))


def option(**options: Any) -> Advice:
    """Options with their values, as they are given or to be given."""
    return Advice("", _plain(options))


def judge(**options: Any) -> Advice:
    """The advice to bring the judgments of another table."""
    return Advice("judge", _plain(options), ("qrels",))


def asked_as(example: str) -> Code:
    """The advice to name metrics, with a method's call as an example."""
    return Code(f"df.rank.{example}", command="-m ndcg")


def _plain(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options with values that another process can read."""
    return {name: _readable(value) for name, value in options.items()}


def _readable(value: Any) -> Any:
    if type(value) in (list, tuple):
        return type(value)(map(_readable, value))
    return value if isinstance(value, (str, int, float, NoneType, EllipsisType)) else Verbatim(shown(value))


def _written(value: Any) -> str:
    """A value of an option in Python."""
    if isinstance(value, list) and value == [...]:
        return "[...]"
    return "..." if value is ... else shown(value)


class RankframeError(ValueError):
    """The base of all errors that rankframe raises itself; a ``ValueError``.

    Attributes
    ----------
    said
        What is said, in parts: words, and between them what to write. The text of the error has them in Python.
    kind
        What is wrong with a table, as the column ``problem`` of a check names it; ``None`` for any other error.
    """

    said: tuple[Text, ...] = ()
    kind: str | None = None

    def __init__(self, *said: Text, kind: str | None = None) -> None:
        super().__init__(worded(said))
        self.said, self.kind = said, kind


class MissingColumn(RankframeError):
    """A column that the call needs is not in the table."""


class InvalidData(RankframeError):
    """The table holds something no metric is defined for: a NaN score, a repeated document ..."""


class InvalidOption(RankframeError):
    """An argument is out of its range, or two arguments do not go together."""


class MissingExtra(ImportError, RankframeError):
    """An optional library that the call needs is not installed."""

    def __init__(self, *said: Text) -> None:
        ImportError.__init__(self, worded(said))
        self.said = said


class OutOfSpace(OSError, RankframeError):
    """The disk has no room for rows that exceed the memory limit."""

    def __init__(self, *said: Text) -> None:
        OSError.__init__(self, worded(said))
        self.said = said


class UnknownMetric(RankframeError):
    """A text that names no metric, or one that names different metrics in different tools."""


class RankframeWarning(UserWarning):
    """The call has a result, of which something should be known before it is read."""

    def __init__(self, *said: Text) -> None:
        super().__init__(worded(said))
        self.said = said


def warn(*said: Text) -> None:
    """Show a `RankframeWarning` at the line that called this package."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == __package__:
        frame, level = frame.f_back, level + 1
    warnings.warn(RankframeWarning(*said), stacklevel=level)


def without_own_frames(error: E) -> E:
    """The error, and its causes, with a traceback that holds no code of this package, to raise at the user's call."""
    at: BaseException | None = error
    while at is not None:
        at.__traceback__ = _others(at.__traceback__)
        at = at.__cause__
    return error


def _others(traceback: TracebackType | None) -> TracebackType | None:
    """The lines of a traceback that are not this package's: those of a user's function that it called stay."""
    if traceback is None:
        return None
    rest = _others(traceback.tb_next)
    if traceback.tb_frame.f_globals.get("__name__", "").partition(".")[0] == __package__:
        return rest
    traceback.tb_next = rest
    return traceback


def called_by_users(function: F) -> F:
    """A function whose errors show the line of the caller and one of this package."""

    @wraps(function)
    def call(*args: object, **options: object) -> object:
        try:
            return function(*args, **options)
        except RankframeError as error:
            raise without_own_frames(error) from error.__cause__

    return cast(F, call)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`` Did you mean 'ndcg'?`` for the known word nearest to `word`, or an empty text."""
    near = nearest(word, known)
    return "" if near is None else f" Did you mean {near!r}?"


def shown(given: object) -> str:
    """What was given, as an error repeats it: as Python writes it, without the middle if that is long.

    What takes several lines, as a table does, or has an address for a text, is named by its type.
    """
    kind = type(given).__name__
    if isinstance(given, int) and abs(given) >= 10**MOST_DIGITS:  # Python does not write out more than some thousands
        return f"<a whole number of {math.floor(math.log10(abs(given))) + 1:,} digits; {MOST_DIGITS} are the most>"
    try:
        text = repr(given)
    except Exception:  # of a list that holds such a number, or of a class that has no text
        return f"<{kind}>"
    if "\n" in text or " at 0x" in text:
        return f"a{'n' * kind.startswith(tuple('AEIOU'))} {kind}"
    if len(text) <= MOST_LETTERS:
        return text
    half = MOST_LETTERS // 2
    return f"{text[:half]} ... {text[-half:]} ({len(text):,} letters)"


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that `word` is likely to stand for, if there is one."""
    by_lower = {name.lower(): name for name in known}
    near = get_close_matches(word.lower(), by_lower, n=1, cutoff=0.6)
    return by_lower[near[0]] if near else None
