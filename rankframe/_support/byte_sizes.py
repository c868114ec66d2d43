"""A number of bytes as people write it."""

from __future__ import annotations

import re

from ..errors import InvalidOption


def bytes_of(given: object, name: str) -> int:
    """A number of bytes, as ``2_000_000_000`` or ``"2GB"``."""
    size: float = 0
    if isinstance(given, str):
        size = _in_text(given)
    elif isinstance(given, int) and not isinstance(given, bool):
        size = given
    if size < 1:
        raise InvalidOption(
            f"{name}={given!r}: write a number of bytes from 1 on, or text as '2GB' or '500MB'"
        )
    return int(size)


def _in_text(text: str) -> float:
    """The number of bytes in a text; 0 if it holds none."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)(i?)B?\s*", text, re.IGNORECASE)
    if match is None:
        return 0
    number, prefix, binary = match.groups()
    base = 1024 if binary else 1000
    power = " KMGT".index(prefix.upper() or " ")
    size: float = float(number) * base**power
    return size
