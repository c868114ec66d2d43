"""Messages of the library with their advised code in pandas' spelling."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from ..errors import Advice, Code, RankframeError, with_code

E = TypeVar("E", bound=RankframeError)


def spelled(advice: Advice | Code) -> str:
    """The spelling of advice for a pandas frame."""
    return advice.spelled(advice.pandas) if isinstance(advice, Code) and advice.pandas is not None else str(advice)


def in_words_of_pandas(error: E) -> E:
    """The error, with its advice in pandas' spelling."""
    found = type(error)(*(with_code(part, _in_pandas) for part in error.parts))
    found.kind = error.kind
    return found


def _in_pandas(code: Advice | Code) -> Advice | Code:
    return replace(code, polars=code.pandas) if isinstance(code, Code) and code.pandas is not None else code
