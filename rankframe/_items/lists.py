"""The lists that users are shown: a row per user and item, with its rank."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TypeVar

import polars as pl

from .._decisions.summary import by_query, keys
from .._plan.per_query import Frame, like
from .._table.background import NAMELESS, refuse_nameless
from .._table.setup import Setup
from .._table.table import failing
from .._verbs.verbs import with_ranks
from ..errors import InvalidOption, on

__all__ = ["ITEM", "RANK", "RELEVANT", "item_column", "lists_of"]

F = TypeVar("F", bound=Frame)

ITEM, RANK, RELEVANT = "#item", "#rank", "#relevant"
"""The plans' names of an item, its rank (null if it is not shown), and whether it is relevant."""


def item_column(setup: Setup, names: Collection[str]) -> str:
    """The column that names items, which a table of lists needs."""
    doc = setup.roles.doc_in(names)
    if doc is None:
        raise InvalidOption(
            f"no column names the items; the table has {', '.join(names)}. Say which one does: ", on(doc=...)
        )
    return doc


def lists_of(frame: F, setup: Setup, by: Sequence[str] = (), *, relevant: bool = False) -> F:
    """A row per user and item: the user's slices, the query columns, the item, its rank; with `relevant` whether it is so.

    Rows of items that are not shown to the user stay, with a null rank: a user may have no other.
    """
    schema = frame.collect_schema()
    doc = item_column(setup, schema)
    ranked = with_ranks(frame, setup, RANK)
    rank = pl.col(RANK)
    if isinstance(ranked, pl.LazyFrame):
        nameless = failing([(pl.col(doc).is_null() & rank.is_not_null(), NAMELESS.format(doc, "item", "item"))])
        rank = pl.coalesce(nameless.cast(pl.UInt32), rank)
    elif ranked[doc].has_nulls():
        refuse_nameless(ranked.filter(rank.is_not_null()), doc)
    lists = ranked.lazy().select(
        *setup.roles.query,
        pl.col(doc).alias(ITEM),
        rank.alias(RANK),
        *([(pl.col(setup.roles.label) >= setup.policies.relevant).fill_null(False).alias(RELEVANT)] * relevant),
    )
    if by:
        slices = by_query(frame, setup.roles.query, by, None)
        lists = lists.join(slices, on=setup.roles.query, how="left", nulls_equal=True, maintain_order="left")
        one_slice = pl.col("#weight") == 1  # fails for a user with several values of a slice
        lists = lists.with_columns(pl.when(one_slice).then(RANK).alias(RANK))
    return like(frame, lists.select(*keys(by), *setup.roles.query, ITEM, RANK, *[RELEVANT] * relevant), setup)
