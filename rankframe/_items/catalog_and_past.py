"""The catalog and the past interactions as catalog metrics read them: the items there are, and their popularity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import polars as pl

from .._table.background import SIZE, History, common_type, looked_up
from .._table.policies import check_word
from .._table.run_and_judgments import SHOWN
from .._table.setup import Setup
from ..errors import InvalidData, option
from .lists import ITEM, RANK, item_column

__all__ = ["Catalog", "Past", "Unknown", "catalog_and_past"]

Unknown: TypeAlias = Literal["error", "drop"]
"""The treatment of items that are shown, but are not in the catalog."""


@dataclass(frozen=True)
class Catalog:
    """The items that could be shown.

    Attributes
    ----------
    size
        Their number; ``None`` if it is not known.
    ids
        The items; ``None`` if only their number is known.
    drops
        Whether items that are shown, but are not in the catalog, are left out of the lists, and not refused.
    groups
        The group of each item as text, under the names ``#item`` and ``#group``; ``None`` if the catalog has no groups.
    """

    size: int | None = None
    ids: pl.Series | None = None
    drops: bool = False
    groups: pl.DataFrame | None = None

    def refuse_more(self, n: int) -> None:
        """Refuse a number of items that are shown that is more than the catalog has."""
        if self.size is not None and n > self.size:
            raise InvalidData(
                option(items=self.size),
                f", but {n:,} different items are shown; write the number of all items that could be shown, or give them",
            )

    def within(self, lists: pl.DataFrame) -> pl.DataFrame:
        """The lists with items of the catalog only; items that it lacks are refused, or no longer count as shown."""
        if self.size is None:
            return lists
        if self.ids is None:
            self.refuse_more(lists.filter(pl.col(RANK).is_not_null())[ITEM].n_unique())
            return lists
        one = common_type(lists.schema[ITEM], self.ids.dtype)
        strange = ~lists[ITEM].cast(one).is_in(self.ids.cast(one).implode()) & lists[RANK].is_not_null()
        if not strange.any():
            return lists
        if self.drops:
            return lists.with_columns(pl.when(~strange).then(RANK).alias(RANK))
        ids = lists.filter(strange)[ITEM].unique().sort()
        raise InvalidData(
            f"{int(strange.sum()):,} rows show {len(ids):,} items that the catalog lacks ("
            f"{', '.join(map(repr, ids.head(SHOWN)))}{' ...' if len(ids) > SHOWN else ''}); give all items that could be "
            "shown, or say ",
            option(unknown_items="drop"),
            " to count without them",
        )


@dataclass(frozen=True)
class Past:
    """The past choices of users."""

    history: History

    def popularity(self, items: pl.Series) -> pl.Series:
        """The share of the users with a past who have an item, item by item; 0 for an item that nobody has."""
        return (self.history.popularity(items) / self.history.n_users).fill_null(0.0)

    def mean_of(self, users: pl.DataFrame) -> pl.Series:
        """The mean popularity of each user's own items; null for a user without a past."""
        key = [*self.history.key]
        rows = self.history.pairs.join(self.history.counts, on=self.history.doc)
        return looked_up(users, rows.group_by(key).agg(pl.col(SIZE).mean() / self.history.n_users), key)


def catalog_and_past(setup: Setup, schema: pl.Schema, unknown_items: Unknown) -> tuple[Catalog, Past | None]:
    """The catalog and the past; counts of items alone are no past, as they do not tell users apart."""
    check_word("unknown_items", unknown_items, Unknown)
    doc = item_column(setup, schema)
    background = setup.background
    history = None if background.interactions is None else background.interactions.named(setup.roles.query, doc)
    past = Past(history) if history is not None and history.key else None
    if background.items is None or isinstance(background.items, int):
        return Catalog(background.items), past
    ids = background.items.ids(doc)
    group = setup.roles.group
    if group is None or not background.has(group):
        return Catalog(len(ids), ids, unknown_items == "drop"), past
    groups = background.items.rows(doc).select(pl.col(doc).alias(ITEM), pl.col(group).cast(pl.String).alias("#group"))
    return Catalog(len(ids), ids, unknown_items == "drop", groups), past
