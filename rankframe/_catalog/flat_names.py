"""Names of result columns that SQL takes without quotes, as ``ndcg_at_10`` for ``ndcg@10``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from .._support.option_kinds import Kind
from ..errors import InvalidOption, option
from .registry import Metric

RESERVED = frozenset({"precision"})
"""Names of metrics that are keywords of SQL."""


def flat_name(text: str) -> str:
    """A metric's text in lower case, of letters, digits and underscores."""
    spelled = re.sub(r"(?<=\d):", "_to_", text.replace("@", "_at_"))  # of a mapping
    spelled = re.sub(r"-(?=[\d.])", "minus_", spelled)
    name = re.sub(r"[^0-9a-z]+", "_", spelled.lower()).rstrip("_")
    return f"{name}_" if name in RESERVED else name


def flat_names(texts: Iterable[str]) -> dict[str, str]:
    """The flat name of each text; refuse two texts with the same one."""
    text_by_name: dict[str, str] = {}
    for text in texts:
        name = flat_name(text)
        if name in text_by_name:
            says = (
                f" would name two columns {name!r}, those of {text_by_name[name]!r} and {text!r}; "
                "ask for each by itself"
            )
            raise InvalidOption(option(names="flat"), says)
        text_by_name[name] = text
    return {text: name for name, text in text_by_name.items()}


def texts_behind(name: str, among: Mapping[str, Metric]) -> Iterator[str]:
    """The texts with options whose flat name may be `name`; the caller compares each one's."""
    for entry in among.values():
        metric = entry.name.lower()
        if not name.startswith(metric):
            continue
        # a flat name lacks the capitals of a column
        options = [x for x in (*entry.parameters, "relevant") if x not in entry.named_values]
        pattern = "".join(_pattern(x, options) for x in options)
        match = re.fullmatch(rf"{metric}{pattern}(?:_at_(?P<_at>[\d_]+?))?_?", name)
        if match is None:
            continue
        values = {}
        for key, flat in match.groupdict().items():
            if flat is not None:
                values[key] = _value(flat, entry.kinds.get(key))
        at = f"@{values.pop('_at')}" if "_at" in values else ""
        inside = ",".join(f"{key}={value}" for key, value in values.items())
        yield f"{entry.name}({inside}){at}"


def _pattern(option: str, options: Iterable[str]) -> str:
    """The pattern of an option with its value, where no longer name of an option stands."""
    longer = ""
    for other in options:
        if other.startswith(f"{option}_"):
            ending = other.lower()[len(option) + 1 :]
            longer += f"(?!{ending}_)"
    return rf"(?:_{option.lower()}_{longer}(?P<{option}>.+?))?"


def _value(flat: str, kind: Kind | None) -> str:
    """The value that a flat name holds, as it stands in a text.

    It is a word, a truth value, or numbers.
    """
    for word in kind.words if kind else ():
        if flat_name(word) == flat:
            return repr(word)
    if flat in ("true", "false", "none"):
        return flat.capitalize()
    # whole numbers only: where a decimal ends is ambiguous
    if re.fullmatch(r"\d+_to_\d+(_\d+_to_\d+)*", flat):
        pairs = re.sub(r"(\d+)_to_(\d+)_?", r"\1:\2,", flat)
        return f"{{{pairs}}}"
    return flat.replace("minus_", "-").replace("_", ".")
