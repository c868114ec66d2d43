"""The parts of results that displays and reports read: tables, settings, and what stands beside them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

Row: TypeAlias = Mapping[str, Any]
"""A row of a table, its values by column, as Polars types it."""


class TableAndSettings(Protocol):
    """A table and the settings that made it. Tables are frames of any library."""

    @property
    def table(self) -> object: ...

    @property
    def settings(self) -> Mapping[str, Any]: ...


@dataclass(frozen=True)
class Compared:
    """A comparison that is a part of another result."""

    table: object
    settings: Mapping[str, Any]


class Gated(TableAndSettings, Protocol):
    """The verdict of a gate."""

    @abstractmethod
    def lines(self) -> list[str]: ...


class Overlapping(TableAndSettings, Protocol):
    """The overlap of runs."""

    @property
    def runs(self) -> object: ...


class Fitted(Protocol):
    """A trained method of fusion."""

    @property
    def method(self) -> str: ...

    @property
    def runs(self) -> Sequence[str]: ...

    @property
    def learned(self) -> object: ...

    @property
    def settings(self) -> Mapping[str, Any]: ...


class Tuned(TableAndSettings, Protocol):
    """A tuned fusion."""

    @property
    def text(self) -> str: ...

    @property
    def comparison(self) -> object: ...

    @property
    def folds(self) -> object: ...

    @property
    def candidates(self) -> object: ...
