"""A number of bytes as people write it."""

from __future__ import annotations

import re

from ..errors import InvalidOption


def bytes_of(given: object, name: str) -> int:
    """A number of bytes, as ``2_000_000_000`` or ``"2GB"``."""
    size: float = given if isinstance(given, int) and not isinstance(given, bool) else 0
    pattern = r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)(i?)B?\s*"
    if isinstance(given, str) and (found := re.fullmatch(pattern, given, re.IGNORECASE)):
        size = float(found[1]) * (1024 if found[3] else 1000) ** " KMGT".index(
            found[2].upper() or " "
        )
    if size < 1:
        raise InvalidOption(
            f"{name}={given!r}: write a number of bytes from 1 on, or text as '2GB' or '500MB'"
        )
    return int(size)
