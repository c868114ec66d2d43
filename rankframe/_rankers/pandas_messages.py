"""What the library says, with the code that it advises as pandas spells it."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from ..errors import Advice, Code, RankframeError, Text

__all__ = ["in_words_of_pandas", "spelled"]

E = TypeVar("E", bound=RankframeError)


def spelled(advice: Advice | Code) -> str:
    """What to write where the table is a pandas frame."""
    return advice.spelled(advice.pandas) if isinstance(advice, Code) and advice.pandas is not None else str(advice)


def in_words_of_pandas(error: E) -> E:
    """The error, which says in pandas what to write."""
    found = type(error)(*map(_respelled, error.said))
    found.kind = error.kind
    return found


def _respelled(text: Text) -> Text:
    if isinstance(text, tuple):
        return tuple(map(_respelled, text))
    return replace(text, polars=text.pandas) if isinstance(text, Code) and text.pandas is not None else text
