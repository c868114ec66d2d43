"""What rankframe raises: every error says what was given, what is wrong and what to write instead."""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Iterable
from difflib import get_close_matches

__all__ = [
    "MOST_DIGITS",
    "InvalidData",
    "InvalidOption",
    "MissingColumn",
    "MissingExtra",
    "OutOfSpace",
    "RankframeError",
    "RankframeWarning",
    "UnknownMetric",
    "did_you_mean",
    "nearest",
    "shown",
    "warn",
]

MOST_DIGITS = 38
"""How many digits a whole number may have: Polars computes with 128 bits."""

MOST_LETTERS = 100
"""How many letters an error repeats of what was given."""


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
    """A text that names no metric, or one that names different metrics in different tools."""


class RankframeWarning(UserWarning):
    """The call has a result, of which something should be known before it is read."""


def warn(message: str) -> None:
    """Show a `RankframeWarning` at the line that called this package."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == __package__:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, RankframeWarning, stacklevel=level)


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
