"""Names of result columns that SQL takes without quotes, as ``ndcg_at_10`` for ``ndcg@10``, written
and read.
"""

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
    found: dict[str, str] = {}  # by flat name
    for text in texts:
        name = flat_name(text)
        if name in found:
            both = (
                f" would name two columns {name!r}, those of {found[name]!r} and {text!r}; ask "
                "for each by itself"
            )
            raise InvalidOption(option(names="flat"), both)
        found[name] = text
    return {text: name for name, text in found.items()}


def texts_behind(name: str, among: Mapping[str, Metric]) -> Iterator[str]:
    """The texts with options whose flat name may be `name`; the caller compares the flat name of
    each.
    """
    for entry in among.values():
        if not name.startswith(entry.name.lower()):
            continue
        known = [
            x for x in (*entry.parameters, "relevant") if x not in entry.named_values
        ]  # a flat name lacks capitals
        longer = {
            x: "".join(f"(?!{y.lower()[len(x) + 1 :]}_)" for y in known if y.startswith(f"{x}_"))
            for x in known
        }
        options = "".join(
            rf"(?:_{option.lower()}_{longer[option]}(?P<{option}>.+?))?" for option in known
        )
        found = re.fullmatch(rf"{entry.name.lower()}{options}(?:_at_(?P<_at>[\d_]+?))?_?", name)
        if found is None:
            continue
        read = {
            option: _value(x, entry.kinds.get(option))
            for option, x in found.groupdict().items()
            if x is not None
        }
        at = f"@{read.pop('_at')}" if "_at" in read else ""
        yield f"{entry.name}({','.join(f'{option}={value}' for option, value in read.items())}){at}"


def _value(flat: str, kind: Kind | None) -> str:
    """The value that a flat name holds as `flat`, as it stands in a text: a word, a truth value, or
    numbers.
    """
    if word := next((x for x in (kind.words if kind else ()) if flat_name(x) == flat), None):
        return repr(word)
    if flat in ("true", "false", "none"):
        return flat.capitalize()
    if re.fullmatch(
        r"\d+_to_\d+(_\d+_to_\d+)*", flat
    ):  # whole numbers only: where a decimal ends is ambiguous
        return "{" + re.sub(r"(\d+)_to_(\d+)_?", r"\1:\2,", flat) + "}"
    return flat.replace("minus_", "-").replace("_", ".")
