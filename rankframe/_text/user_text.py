"""Text from the user's tables, made safe to show."""

from __future__ import annotations

import re
from collections.abc import Callable

import polars as pl
import polars.selectors as cs

CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")
"""Characters that control a terminal, break a line or change its direction, or are not allowed in XML."""


def visible(text: str) -> str:
    r"""The text in one line, with an escape such as ``\n`` or ``\x1b`` for each control character."""
    return CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)


def rewritten(frame: pl.DataFrame, how: Callable[[str], str]) -> pl.DataFrame:
    """The frame with `how` applied to every text; lists, bytes and the like become texts."""
    texts = frame.select(~(cs.numeric() | cs.boolean() | cs.temporal())).iter_columns()
    return frame.with_columns(
        pl.Series(text.name, [None if value is None else how(str(value)) for value in text.to_list()], dtype=pl.String)
        for text in texts
    )
