"""Names of result columns that SQL takes without quotes, as ``ndcg_at_10`` for ``ndcg@10``."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ..errors import InvalidOption, option

RESERVED = frozenset({"precision"})
"""Names of metrics that are keywords of SQL."""


def flat_name(text: str) -> str:
    """A metric's text in lower case, of letters, digits and underscores."""
    spelled = re.sub(r"-(?=[\d.])", "minus_", text.replace("@", "_at_"))
    name = re.sub(r"[^0-9a-z]+", "_", spelled.lower()).rstrip("_")
    return f"{name}_" if name in RESERVED else name


def flat_names(texts: Iterable[str]) -> dict[str, str]:
    """The flat name of each text; refuse two texts with the same one."""
    found: dict[str, str] = {}  # by flat name
    for text in texts:
        name = flat_name(text)
        if name in found:
            both = f" would name two columns {name!r}, those of {found[name]!r} and {text!r}; ask for each by itself"
            raise InvalidOption(option(names="flat"), both)
        found[name] = text
    return {text: name for name, text in found.items()}
