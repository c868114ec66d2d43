"""A number of bytes as people write it."""

from __future__ import annotations

import re

from ..errors import InvalidOption

UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}


def bytes_of(given: object, name: str) -> int:
    """A number of bytes, as ``2_000_000_000`` or ``"2GB"``."""
    size: float = -1
    if isinstance(given, int) and not isinstance(given, bool):
        size = given
    elif isinstance(given, str):
        match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)(i?)B?\s*", given, re.IGNORECASE)
        if match is not None:
            unit = UNITS[match[2].upper()]
            size = float(match[1]) * (2 ** (10 * list(UNITS.values()).index(unit)) if match[3] else unit)
    if size < 1:
        raise InvalidOption(f"{name}={given!r}: write a number of bytes from 1 on, or text as '2GB' or '500MB'")
    return int(size)
