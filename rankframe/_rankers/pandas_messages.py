"""Messages of the library with their advised code in pandas' spelling."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from ..errors import Advice, Code, RankframeError, Text

__all__ = ["in_words_of_pandas", "spelled"]

E = TypeVar("E", bound=RankframeError)


def spelled(advice: Advice | Code) -> str:
    """The spelling of advice for a pandas frame."""
    return advice.spelled(advice.pandas) if isinstance(advice, Code) and advice.pandas is not None else str(advice)


def in_words_of_pandas(error: E) -> E:
    """The error, with its advice in pandas' spelling."""
    found = type(error)(*map(_respelled, error.said))
    found.kind = error.kind
    return found


def _respelled(text: Text) -> Text:
    if isinstance(text, tuple):
        return tuple(map(_respelled, text))
    return replace(text, polars=text.pandas) if isinstance(text, Code) and text.pandas is not None else text
