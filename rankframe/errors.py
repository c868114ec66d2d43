"""What rankframe raises: every error says what was given, what is wrong and what to write instead."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

__all__ = [
    "InvalidData",
    "InvalidOption",
    "MissingColumn",
    "MissingExtra",
    "OutOfSpace",
    "RankframeError",
    "UnknownMetric",
    "did_you_mean",
    "nearest",
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


class OutOfSpace(OSError, RankframeError):
    """The disk has no room for rows that exceed the memory limit."""


class UnknownMetric(RankframeError):
    """A text that names no metric."""


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`` Did you mean 'ndcg'?`` for the known word nearest to `word`, or an empty text."""
    near = nearest(word, known)
    return "" if near is None else f" Did you mean {near!r}?"


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that `word` is likely to stand for, if there is one."""
    by_lower = {name.lower(): name for name in known}
    near = get_close_matches(word.lower(), by_lower, n=1, cutoff=0.6)
    return by_lower[near[0]] if near else None
