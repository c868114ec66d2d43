"""Metrics by their names, as a mapping that shows its names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, ValuesView
from textwrap import fill
from typing import Any, TypeVar

from ..errors import nearest, shown

T = TypeVar("T")


class ByName(Mapping[str, T]):
    """A view of a dictionary; its `repr` says what its entries are, and lists their names.

    Attributes
    ----------
    read
        The meanings of texts that were read before; none after a change by `put` or `drop`.
    """

    def __init__(self, entries: dict[str, T], kind: str) -> None:
        self._entries, self._kind = entries, kind
        self.read: dict[str, tuple[Any, ...]] = {}

    def put(self, name: str, entry: T) -> None:
        """Add an entry, or replace that of the same name."""
        self._entries[name] = entry
        self.read = {}  # a thread that reads at this moment fills the old one

    def drop(self, name: str) -> None:
        """Remove an entry."""
        del self._entries[name]
        self.read = {}

    def __getitem__(self, name: str) -> T:
        if name not in self._entries:
            raise KeyError(self._unknown(name))
        return self._entries[name]

    def _unknown(self, name: object) -> str:
        """The message for a name that is no key: the key of the entry with a similar name, or all keys."""
        keys = {other: key for key, entry in self.items() for other in (*getattr(entry, "names", ()), key)}
        near = nearest(name, keys) if isinstance(name, str) else None
        advice = f"Known names: {', '.join(self)}" if near is None else f"Did you mean {keys[near]!r}?"
        return f"{shown(name)} is no name in this list of {self._kind}. {advice}"

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def values(self) -> ValuesView[T]:
        return self._entries.values()  # without a look-up by name for each

    def __repr__(self) -> str:
        return f"{len(self)} {self._kind} by name:\n{fill(', '.join(self), 118)}"
