"""Errors and warnings: each shows the given value, names the problem, and says what to write
instead.
"""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from types import EllipsisType, FrameType, NoneType, TracebackType
from typing import NamedTuple, TypeAlias, TypeVar

__all__ = [
    "MOST_DIGITS", "Advice", "Code", "InvalidData", "InvalidOption", "MissingColumn",
    "MissingExtra", "OutOfSpace", "Place", "RankframeError", "RankframeWarning", "Spelling", "Text",
    "UnknownMetric", "Verbatim", "asked_as", "calling_line", "did_you_mean", "judge", "near_words",
    "nearest", "on", "once_each", "option", "shown", "warn", "with_code", "with_code_of",
    "without_own_frames", "worded",
]  # fmt: skip

E = TypeVar("E", bound=BaseException)
P = TypeVar("P", bound="_InParts")

MOST_DIGITS = 38
"""The most digits of a whole number: Polars computes with 128 bits."""

MOST_LETTERS = 100
"""The most letters of a given value that an error repeats."""


class Verbatim(str):
    """Code as a value in an advice, written without quotes."""

    __repr__ = str.__str__
    __slots__ = ()


@dataclass(frozen=True)
class Advice:
    """A call to write, ``df.rank.on(label='rel')``, or options alone, ``ties='order'``; each front
    has its own spelling.

    Attributes
    ----------
    method
        The method of ``df.rank``; empty for options alone.
    options
        The values of its options; ``...`` for a column that only the user knows.
    of
        The code of its positional arguments.
    ranker
        The code of the object with the method.
    """

    method: str = ""
    options: Mapping[str, object] = field(default_factory=dict)
    of: tuple[str, ...] = ()
    ranker: str = "df.rank"

    def __str__(self) -> str:
        options = [f"{name}={_written(value)}" for name, value in self.options.items()]
        given = ", ".join([*self.of, *options])
        return f"{self.ranker}.{self.method}({given})" if self.method else given


@dataclass(frozen=True)
class Code:
    """Other code in a sentence, in the spelling of each front.

    Attributes
    ----------
    polars, pandas, command, function
        The code for each front; default: for pandas and for functions of runs and judgments as for
        Polars, for the command line none.
    phrase
        The words around the code, left out for a front without code.
    """

    polars: str
    pandas: str | None = None
    command: str = ""
    phrase: str = "{}"
    function: str | None = None

    def __str__(self) -> str:
        return self.spelled(self.polars)

    def spelled(self, code: str) -> str:
        """The phrase with the code of a front."""
        return self.phrase.format(code) if code else ""


Text: TypeAlias = "str | Advice | Code | tuple[Text, ...]"
"""A message in parts: words, and between them code to write."""

Spelling: TypeAlias = Callable[[Advice | Code], str]
"""A front's spelling of code; `str` gives Python with Polars."""


def worded(text: Text, spelling: Spelling = str) -> str:
    """The sentence, with its code in a front's spelling; default: Python with Polars."""
    if isinstance(text, str):
        return text
    if isinstance(text, tuple):
        return "".join(worded(part, spelling) for part in text)
    return spelling(text)


Change: TypeAlias = Callable[[Advice | Code], Advice | Code]
"""A change of code to that of another front."""


def with_code(text: Text, change: Change) -> Text:
    """The message with every piece of code changed."""
    if isinstance(text, str):
        return text
    if isinstance(text, tuple):
        return tuple(with_code(part, change) for part in text)
    return change(text)


def on(**options: object) -> Advice:
    """The advice to set columns or policies."""
    return Advice("on", _plain(options))


def option(**options: object) -> Advice:
    """Options with their values, as the user gave them or should write them."""
    return Advice("", _plain(options))


def judge(**options: object) -> Advice:
    """The advice to join the judgments from another table."""
    return Advice("judge", _plain(options), ("qrels",))


def asked_as(example: str) -> Code:
    """The advice to name metrics, with a method's call as an example."""
    return Code(f"df.rank.{example}", command="-m ndcg")


def _plain(options: Mapping[str, object]) -> dict[str, object]:
    """The options with values that another process can read."""
    return {name: _readable(value) for name, value in options.items()}


def _readable(value: object) -> object:
    if isinstance(value, (list, tuple)) and type(value) in (list, tuple):
        return type(value)(map(_readable, value))
    if isinstance(value, (str, int, float, NoneType, EllipsisType)):
        return value
    return Verbatim(shown(value))


def _written(value: object) -> str:
    """A value of an option in Python."""
    if isinstance(value, list) and ... in value:
        values = ", ".join(map(_written, value))
        return f"[{values}]"
    return "..." if value is ... else shown(value)


class _InParts(Exception):
    """An error or a warning whose message is parts, which each front spells."""

    parts: tuple[Text, ...] = ()
    kind: str | None = None

    def __init__(self, *parts: Text, kind: str | None = None) -> None:
        super().__init__(worded(parts))
        self.parts = parts
        self.kind = kind

    def with_code(self: P, change: Change) -> P:
        """The same message with every piece of code changed."""
        parts = [with_code(part, change) for part in self.parts]
        return type(self)(*parts, kind=self.kind)


class RankframeError(_InParts, ValueError):
    """The base of all errors of rankframe; a ``ValueError``.

    Attributes
    ----------
    parts
        The message in parts: words, and between them code to write. ``str(error)`` spells the code
        in Python.
    kind
        The fault of a table, named as in the column ``problem`` of a check; ``None`` for any other
        error.
    """


class MissingColumn(RankframeError):
    """A column that the call needs is not in the table."""


class InvalidData(RankframeError):
    """The table holds rows that no metric is defined for: a NaN score, a repeated document ..."""


class InvalidOption(RankframeError):
    """An argument is out of its range, or two arguments do not go together."""


class MissingExtra(RankframeError, ImportError):
    """An optional library that the call needs is not installed."""


class OutOfSpace(RankframeError, OSError):
    """The temporary folder cannot hold the rows that exceed the memory limit: the disk is full, or
    the folder is not there.
    """


class UnknownMetric(RankframeError):
    """A text that names no metric, or one that names different metrics in different tools."""


class RankframeWarning(_InParts, UserWarning):
    """The result of the call is valid, but may be surprising.

    Silence the warnings by a filter: ``warnings.simplefilter("ignore", rf.RankframeWarning)``.
    """


class Place(NamedTuple):
    """A line of a user's code, as a warning shows it."""

    filename: str
    lineno: int
    module: str | None
    registry: dict[str | tuple[str, type[Warning], int], int]


def calling_line() -> Place:
    """The line that called this package."""
    frame = sys._getframe(1)
    while frame.f_back is not None and _package_of(frame) == __package__:
        frame = frame.f_back
    seen = frame.f_globals.setdefault("__warningregistry__", {})
    # Python drops a warning of a module without a name.
    name = frame.f_globals.get("__name__") or "<unknown>"
    return Place(frame.f_code.co_filename, frame.f_lineno, name, seen)


def _package_of(frame: FrameType) -> str:
    """The package of the code that a frame runs, empty if its module has no name."""
    name: str = frame.f_globals.get("__name__", "")
    return name.partition(".")[0]


_issued: ContextVar[set[str] | None] = ContextVar("_issued", default=None)


@contextmanager
def once_each() -> Iterator[None]:
    """Inside, warnings of the same kind are issued once, as for the runs of one call."""
    issued = _issued.get()
    token = _issued.set(set() if issued is None else issued)
    try:
        yield
    finally:
        _issued.reset(token)


_front: ContextVar[Change | None] = ContextVar("_front", default=None)


@contextmanager
def with_code_of(front: Change) -> Iterator[None]:
    """Inside, errors and warnings show a front's code, as that of functions whose own keywords are
    the options.

    Within another front, that one changes the code last.
    """
    outer = _front.get()

    def both(code: Advice | Code) -> Advice | Code:
        inner = front(code)
        return inner if outer is None else outer(inner)

    token = _front.set(both)
    try:
        yield
    except RankframeError as error:
        raise error.with_code(front) from error.__cause__
    finally:
        _front.reset(token)


def warn(*parts: Text, kind: str | None = None, at: Place | None = None) -> None:
    """Issue a `RankframeWarning` for the line that called this package, or for the line `at`."""
    issued = _issued.get()
    if issued is not None and kind is not None:
        if kind in issued:
            return
        issued.add(kind)
    filename, lineno, module, registry = at or calling_line()
    warning = RankframeWarning(*parts)
    front = _front.get()
    if front is not None:
        warning = warning.with_code(front)
    warnings.warn_explicit(warning, RankframeWarning, filename, lineno, module, registry)


LIBRARIES = frozenset(
    [__package__, "polars", "pandas", "numpy", "pyarrow", *sys.stdlib_module_names]
)
"""Modules whose lines say nothing about a mistake of the user's."""


def without_own_frames(error: E) -> E:
    """Remove the lines of this package, and of libraries that it calls, from the tracebacks of an
    error and its causes.
    """
    at: BaseException | None = error
    while at is not None:
        at.__traceback__ = _others(at.__traceback__)
        at = at.__cause__
    return error


def _others(traceback: TracebackType | None) -> TracebackType | None:
    """Remove the lines of `LIBRARIES` from a traceback; lines of a user's function that they called
    stay.
    """
    if traceback is None:
        return None
    rest = _others(traceback.tb_next)
    if _package_of(traceback.tb_frame) in LIBRARIES:
        return rest
    traceback.tb_next = rest
    return traceback


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`` Did you mean 'ndcg'?`` for the known word nearest to `word`, or an empty text."""
    near = nearest(word, known)
    return "" if near is None else f" Did you mean {near!r}?"


def shown(given: object) -> str:
    """The given value as an error repeats it: its `repr`, without the middle if it is long.

    A value whose `repr` has several lines, as a table, or a memory address is named by its type.
    """
    kind = type(given).__name__
    if isinstance(given, int) and abs(given) >= 10**MOST_DIGITS:
        # Python does not write out more than some thousands of digits.
        n_digits = math.floor(math.log10(abs(given))) + 1
        return f"<a whole number of {n_digits:,} digits; {MOST_DIGITS} are the most>"
    try:
        text = repr(given)
    except Exception:  # a list with such a number, or a class whose repr fails
        return f"<{kind}>"
    if "\n" in text or " at 0x" in text:
        article = "an" if kind.startswith(tuple("AEIOU")) else "a"
        return f"{article} {kind}"
    if len(text) <= MOST_LETTERS:
        return text
    half = MOST_LETTERS // 2
    return f"{text[:half]} ... {text[-half:]} ({len(text):,} letters)"


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word most similar to `word`, if any is similar enough."""
    near = near_words(word, {name: name for name in known}, 1)
    return near[0] if near else None


LEAST_LIKENESS = 0.61
"""The likeness of a word that may be meant: three of five letters in common is chance."""


def near_words(word: str, known: Mapping[str, str], most: int) -> list[str]:
    """What at most `most` of the known words mean: those most similar to `word`, in upper or lower
    case.
    """
    from difflib import SequenceMatcher, get_close_matches

    given = word.lower()
    by_lower = {name.lower(): meant for name, meant in known.items()}
    if given in by_lower:
        return [by_lower[given]]
    longer = _longer_words(given, by_lower, most)
    near = get_close_matches(given, by_lower, n=1, cutoff=LEAST_LIKENESS)
    if near and most > 1:  # the others are as similar, or nearly
        likeness = SequenceMatcher(None, near[0], given).ratio()
        near = get_close_matches(given, by_lower, n=most, cutoff=likeness - 0.05)
    meant = dict.fromkeys(by_lower[name] for name in (*longer, *near))
    return [*meant][:most]


def _longer_words(given: str, known: Iterable[str], most: int) -> list[str]:
    """The words that start with a word, the shortest first: hit is short for hits and hit_rate."""
    if len(given) <= 2:
        return []
    longer = sorted((name for name in known if name.startswith(given)), key=len)
    if most == 1 and not all(name.startswith(longer[0]) for name in longer):
        return []
    return longer
