"""Rows in memory with their setup: what verbs take, whatever frame the caller has."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

import polars as pl

from ..errors import InvalidData, InvalidOption, Spelling, Text
from .setup import Setup

R = TypeVar("R")


@dataclass(frozen=True)
class Whole:
    """Facts of a whole table that its parts do not show.

    The largest label, by the column of scores on whose ranking it may depend; and the runs, in a
    set if they have no order.
    """

    largest_labels: Mapping[str, float] | None = None
    runs: Sequence[str] | frozenset[str] | None = None


def unchanged(frame: pl.DataFrame) -> Any:
    """A Polars frame as it is."""
    return frame


OfPart: TypeAlias = "Callable[[Table[Any]], pl.DataFrame]"
"""A function of a part of a table, with whole queries; other processes need one to be pickled."""


class Parts(Protocol):
    """A table whose rows are not in memory: larger than it, or on other machines."""

    @property
    def ordered(self) -> bool:
        """Whether its rows have an order."""
        ...

    def each(self, work: OfPart) -> pl.DataFrame:
        """The results of the function of each part, together; they must fit in memory."""
        ...

    def of_queries(self, queries: pl.DataFrame) -> Table[Any]:
        """The table of the rows of some queries, in memory."""
        ...


@dataclass(frozen=True)
class Table(Generic[R]):
    """Rows in memory, and the setup of the ranker; `R` is the caller's kind of frame.

    Attributes
    ----------
    rows, setup
        The rows with the columns that the verb reads, and the roles and policies.
    whole
        If the rows are a part of a table, with whole queries: facts of this table.
    carry
        Columns of the rows to bring along in a result with a row per document.
    spelling
        How the caller's library spells code.
    give
        Turns a frame of the result into the caller's kind.
    parts
        If the table is not in memory, its parts; then `rows` has its columns and no rows.
    places
        If the rows are a part of an ordered table: the place of each row in that table.
    """

    rows: pl.DataFrame
    setup: Setup
    whole: Whole | None = None
    carry: Sequence[str] = ()
    spelling: Spelling = str
    give: Callable[[pl.DataFrame], R] = unchanged
    parts: Parts | None = None
    places: pl.Series | None = None

    @property
    def largest_label(self) -> float | None:
        """The largest label of the whole table, if the rows are a part of it and it is known."""
        if self.whole is None or self.whole.largest_labels is None:
            return None
        return self.whole.largest_labels.get(self.setup.roles.score)

    @property
    def ordered(self) -> bool:
        """Whether the rows of the whole table have an order."""
        return self.parts is None or self.parts.ordered

    def by_parts(self, work: OfPart) -> pl.DataFrame:
        """The result of a function of parts with whole queries, of all parts together."""
        return work(self) if self.parts is None else self.parts.each(work)


def in_memory(
    rows: pl.DataFrame, setup: Setup, whole: Whole | None = None, spelling: Spelling = str
) -> Table[pl.DataFrame]:
    """The table of Polars rows."""
    return Table(rows, setup, whole, spelling=spelling)


def refuse_same_name(name: str, n: int, where: str = "") -> None:
    """Refuse a column whose name `n` columns have."""
    if n > 1:
        raise InvalidData(f"{where}{n} columns are named {name!r}; give each a name of its own")


def refuse_names(
    names: Sequence[str], taken: Container[str], where: str, advice: Text = "rename that column"
) -> None:
    """Refuse a column of a result that would have the name of another one."""
    for name in names:
        if name in taken:
            says = f"the result would have a second column {name!r}, which {where} has; "
            raise InvalidOption(says, advice)
