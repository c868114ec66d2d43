"""The catalog and the past interactions for catalog metrics: the items and their popularity."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias

import polars as pl

from .._table.background import SIZE, History, common_type, looked_up, of_common_types
from .._table.run_and_judgments import SHOWN
from .._table.setup import Setup
from .._words.exposure import LABEL, SCORE, Group
from ..errors import InvalidData, option
from .lists_of_users import ITEM, RANK, item_column

Unknown: TypeAlias = Literal["error", "drop"]
"""The treatment of shown items that the catalog lacks."""


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
        Whether shown items that the catalog lacks are left out of the lists instead of refused.
    groups
        The group of each item as text, under the names ``#item`` and ``#group``; ``None`` if the catalog has no groups.
    """

    size: int | None = None
    ids: pl.Series | None = None
    drops: bool = False
    groups: pl.DataFrame | None = None

    def has(self, items: pl.Series) -> pl.Series:
        """Whether items are in the catalog; true if only their number is known."""
        if self.ids is None:
            return pl.repeat(True, len(items), eager=True)
        one = common_type(items.dtype, self.ids.dtype)
        return items.cast(one).is_in(self.ids.cast(one).implode())

    @cached_property
    def by_column(self) -> Mapping[str, Group] | None:
        """The groups by name; None if the catalog has no groups."""
        if self.groups is None:
            return None
        sizes = self.groups["#group"].drop_nulls().value_counts().sort("#group").rows()
        return {name: Group(pl.col("#group") == name, n) for name, n in sizes}

    def refuse_more(self, n: int) -> None:
        """Refuse more shown items than the catalog has."""
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
        unknown = ~self.has(lists[ITEM])
        if not unknown.any():
            return lists
        strange = unknown & lists[RANK].is_not_null()
        if self.drops or not strange.any():
            values = [name for name in (RANK, LABEL, SCORE) if name in lists.columns]
            return lists.with_columns(pl.when(~unknown).then(pl.col(values)))
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
        """The number of users of each item; 0 for an item without users."""
        return self.history.popularity(items).fill_null(0.0)

    def type_of(self, items: pl.DataType) -> pl.DataType:
        """The type in which items of lists and of the past are compared."""
        return common_type(items, self.history.pairs.schema[self.history.doc])

    def of(self, users: pl.DataFrame, name: str) -> pl.DataFrame:
        """A row per user and item of the past: the column `name` of the user's row, and the item."""
        key, doc = [*self.history.key], self.history.doc
        known, pairs = of_common_types(users.select(*key, name), self.history.pairs, key)
        return known.join(pairs, on=key).select(name, pl.col(doc).alias(ITEM))

    def unseen(self, rows: pl.DataFrame) -> pl.Series:
        """1.0 for the rows of items that the user does not have, else 0.0."""
        user = self.history.user_of(rows.select(self.history.key).to_struct())
        return 1 - self.history.seen(pl.DataFrame({"user": user, "item": self.history.place(rows[ITEM])}))

    def mean_of(self, users: pl.DataFrame) -> pl.Series:
        """The mean popularity of each user's own items; null for a user without a past."""
        key = [*self.history.key]
        rows = self.history.pairs.join(self.history.counts, on=self.history.doc)
        return looked_up(users, rows.group_by(key).agg(pl.col(SIZE).mean() / self.history.n_users), key)


@dataclass(frozen=True)
class CatalogAndPast:
    """The catalog and the past interactions, as formulas read them."""

    catalog: Catalog
    past: Past | None

    @property
    def size(self) -> int | None:
        """The number of items in the catalog, if it is known."""
        return self.catalog.size

    @property
    def has_past(self) -> bool:
        """Whether past interactions are known."""
        return self.past is not None

    @property
    def groups(self) -> Mapping[str, Group] | None:
        """The groups of the catalog's items; None if no column names them."""
        return self.catalog.by_column

    @cached_property
    def _head_and_tail(self) -> dict[tuple[float, float | None], Mapping[str, Group]]:
        return {}

    def head_and_tail(self, head: float, tail: float | None) -> Mapping[str, Group] | None:
        """The popular items of the catalog and the others; None if the catalog does not name its items."""
        if self.catalog.ids is None or self.past is None:
            return None
        found = self._head_and_tail
        if (head, tail) not in found:  # every resample needs it
            in_tail = self.past.history.in_tail(pl.col("#users"), head, tail)
            popularity = self.past.popularity(self.catalog.ids).to_frame("#users")
            n = int(popularity.select(in_tail.sum()).item())
            found[head, tail] = {"head": Group(~in_tail, popularity.height - n), "tail": Group(in_tail, n)}
        return {name: group for name, group in found[head, tail].items() if group.size}

    def described(self, items: pl.DataFrame) -> pl.DataFrame:
        """The items with the columns that groups and popularity read."""
        columns: dict[str, pl.Series] = {}
        if self.past is not None:
            users = self.past.popularity(items[ITEM])
            columns |= {"#users": users, "#popularity": users / self.past.history.n_users}
        if self.catalog.groups is not None:
            columns["#group"] = looked_up(items.select(ITEM), self.catalog.groups, [ITEM])
        return items.with_columns(**columns)


def catalog_and_past(setup: Setup, schema: pl.Schema, unknown_items: Unknown) -> CatalogAndPast:
    """The catalog and the past; mere counts of items are no past, since they do not distinguish users."""
    doc = item_column(setup, schema)
    background = setup.background
    history = None if background.interactions is None else background.interactions.named(setup.roles.query, doc)
    past = Past(history) if history is not None and history.key else None
    if background.items is None or isinstance(background.items, int):
        return CatalogAndPast(Catalog(background.items), past)
    ids = background.items.ids(doc)
    group = setup.roles.group
    if group is None or not background.has(group):
        return CatalogAndPast(Catalog(len(ids), ids, unknown_items == "drop"), past)
    groups = background.items.rows(doc).select(pl.col(doc).alias(ITEM), pl.col(group).cast(pl.String).alias("#group"))
    names = groups["#group"].drop_nulls().unique().sort()
    groups = groups.with_columns(pl.col("#group").cast(pl.Enum(names)))  # numbers compare faster than texts
    return CatalogAndPast(Catalog(len(ids), ids, unknown_items == "drop", groups), past)
