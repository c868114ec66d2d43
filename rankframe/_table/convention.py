"""The convention of a tool: what it sets, and what it prints by the names of metrics that it has otherwise."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

import polars as pl

__all__ = ["LIST_ONLY", "Convention", "Otherwise", "Settings", "Values"]

Settings: TypeAlias = Mapping[str, Any]

LIST_ONLY: Settings = {"unretrieved": "drop"}
"""Of tools that see nothing but the list they are given."""


class Values(Protocol):
    """The values of metrics for a table, by the policies of a tool and at the cutoff that was asked for."""

    @property
    def past_items(self) -> pl.Series:
        """The items of past interactions, each once."""
        ...

    @property
    def n_queries(self) -> int:
        """The number of users."""
        ...

    def of(self, text: str, items: object = None) -> float:
        """The value of a metric without cutoff in its text; NaN where there is none. With `items` that is the catalog.

        Of the items that are shown, those that such a catalog lacks are left out.
        """
        ...


@dataclass(frozen=True)
class Otherwise:
    """The number that a tool prints by the name of a metric, where no option of that metric gives it.

    Attributes
    ----------
    says
        What it is, as a clause.
    value
        Its value from those of other metrics; ``None`` if they do not tell it.
    """

    says: str
    value: Callable[[Values], float] | None = None


@dataclass(frozen=True)
class Convention:
    """The convention of a tool: its policies, and the options and policies of each of its metrics.

    Attributes
    ----------
    policies
        What :meth:`on` sets for all metrics of the tool.
    metrics
        The tool's metrics by canonical name, each with what it has otherwise: options of the metric, or policies.
    note
        What of the tool no setting can repeat.
    also
        Other tools that count the same, and other names of the tool, for the hint in an error.
    otherwise
        What the tool prints by the names of metrics that it has otherwise than any option says.
    """

    policies: Settings = field(default_factory=dict)
    metrics: Mapping[str, Settings] = field(default_factory=dict)
    note: str = ""
    also: tuple[str, ...] = ()
    otherwise: Mapping[str, Otherwise] = field(default_factory=dict)
