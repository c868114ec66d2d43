"""The convention of a tool: its policies and options, and the metrics that it defines differently."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

import polars as pl

Settings: TypeAlias = Mapping[str, Any]

LIST_ONLY: Settings = {"unretrieved": "drop"}
"""The policies of tools that see only the list they are given."""


class Values(Protocol):
    """The values of a table's metrics, under a tool's policies and at the call's cutoff."""

    @property
    def past_items(self) -> pl.Series:
        """The items of past interactions, each once."""
        ...

    @property
    def n_queries(self) -> int:
        """The number of users."""
        ...

    def of(self, text: str, items: object = None) -> float:
        """The value of a metric, named without a cutoff; NaN if it has none. `items` replaces the catalog.

        Shown items that this catalog lacks are left out.
        """
        ...


@dataclass(frozen=True)
class Otherwise:
    """A number that a tool prints under a metric's name, and that no option of our metric gives.

    Attributes
    ----------
    says
        Its definition, as a clause.
    value
        Computes it from other metrics; ``None`` if they do not determine it.
    """

    says: str
    value: Callable[[Values], float] | None = None


@dataclass(frozen=True)
class Convention:
    """The convention of a tool: its policies, and the options and policies of each of its metrics.

    Attributes
    ----------
    policies
        The policies that :meth:`on` sets for all of the tool's metrics.
    metrics
        The tool's metrics by canonical name, each with options and policies of its own.
    note
        Behaviour of the tool that no setting reproduces.
    also
        Other tools that count the same, and other names of the tool, for the hint in an error.
    otherwise
        The tool's numbers that no option gives, by our metrics' names.
    """

    policies: Settings = field(default_factory=dict)
    metrics: Mapping[str, Settings] = field(default_factory=dict)
    note: str = ""
    also: tuple[str, ...] = ()
    otherwise: Mapping[str, Otherwise] = field(default_factory=dict)
