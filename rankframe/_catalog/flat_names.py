"""Names of result columns that SQL takes without quotes, as ``ndcg_at_10`` for ``ndcg@10``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from ..errors import InvalidOption
from ..errors import option as option_of
from .registry import Metric

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
            raise InvalidOption(
                option_of(names="flat"),
                f" would name two columns {name!r}, those of {found[name]!r} and {text!r}; ask for each by itself",
            )
        found[name] = text
    return {text: name for name, text in found.items()}


def unflattened(name: str, among: Mapping[str, Metric]) -> Iterator[str]:
    """Candidate texts for a flat name; the caller keeps the one whose own flat name is equal."""
    for entry in among.values():
        if name == flat_name(entry.name):
            yield entry.name
        elif name.startswith(f"{entry.name.lower()}_"):
            rest, at, cutoff = name[len(entry.name) :].rpartition("_at_")
            behind = f"@{cutoff.replace('_', '.')}" if at else ""
            for options in _options(entry, rest if at else cutoff):
                yield entry.name + (f"({','.join(options)})" if options else "") + behind


def _options(entry: Metric, flat: str) -> Iterator[list[str]]:
    """The ways to read options of a metric from their part of a flat name, as in ``_p_0_95``."""
    if not flat:
        yield []
    for option in (*entry.parameters, "relevant"):
        if flat.startswith(f"_{option}_"):
            behind = flat[len(option) + 2 :]
            for end in (*(found.start() for found in re.finditer("_", behind)), len(behind)):
                for others in _options(entry, behind[end:]):
                    yield from ([f"{option}={value}", *others] for value in _values(entry, option, behind[:end]))


def _values(entry: Metric, option: str, flat: str) -> list[str]:
    """The values of an option that its part of a flat name may mean."""
    kind = entry.kinds.get(option)
    words = [repr(word) for word in ([] if kind is None else kind.words) if flat_name(word) == flat]
    numbers = flat.replace("minus_", "-").split("_")
    pairs = ",".join(map(":".join, zip(numbers[::2], numbers[1::2], strict=False)))
    return [*words, ".".join(numbers), f"{{{pairs}}}", flat.capitalize()]
