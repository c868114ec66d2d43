"""What rankframe raises: every error says what was given, what is wrong and what to write instead."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

__all__ = [
    "InvalidData",
    "InvalidOption",
    "MissingColumn",
    "MissingExtra",
    "RankframeError",
    "UnknownMetric",
    "did_you_mean",
    "nearest",
    "shown",
]


class RankframeError(ValueError):
    """The base of all errors that rankframe raises itself; a ``ValueError``."""


class MissingColumn(RankframeError):
    """A column that the call needs is not in the table."""


class InvalidData(RankframeError):
    """The table holds something no metric is defined for: a NaN score, a repeated document ..."""


class InvalidOption(RankframeError):
    """An argument is out of its range, or two arguments do not go together."""


class MissingExtra(ImportError, RankframeError):
    """An optional library that the call needs is not installed."""


class UnknownMetric(RankframeError):
    """A text that names no metric, or one that names different metrics in different tools."""


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`` Did you mean 'ndcg'?`` for the known word nearest to `word`, or an empty text."""
    near = nearest(word, known)
    return "" if near is None else f" Did you mean {near!r}?"


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that `word` is likely to stand for, if there is one."""
    by_lower = {name.lower(): name for name in known}
    near = get_close_matches(word.lower(), by_lower, n=1, cutoff=0.6)
    return by_lower[near[0]] if near else None


def shown(given: object) -> str:
    """What was given, as an error repeats it: by its type where it fills more than a line, as a table does."""
    text, kind = repr(given), type(given).__name__
    is_long = len(text) > 80 or "\n" in text or " at 0x" in text
    return f"a{'n' * kind.startswith(tuple('AEIOU'))} {kind}" if is_long else text
