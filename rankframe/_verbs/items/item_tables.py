"""The tables that metrics of items read: the lists that users are shown, the catalog, and past
interactions.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeAlias

import polars as pl

from ..._plan.per_query import collect
from ..._table.background import (
    SIZE,
    History,
    common_type,
    looked_up,
    of_common_types,
    pairs_of,
    refuse_nameless,
)
from ..._table.columns import Columns, failing, refuse_objects
from ..._table.roles import require_all
from ..._table.run_and_judgments import SHOWN
from ..._table.setup import Setup
from ..._table.table import Table, refuse_names
from ..._words.exposure import LABEL, SCORE, Group
from ...errors import InvalidData, InvalidOption, on, option, shown, warn
from ..call.declaration import VerbCall, verb
from ..measure.evaluate import ranks_of
from ..sample.slices import by_query, keys

ITEM, RANK = "#item", "#rank"
"""The plans' names of an item, and of its rank, null if it is not shown."""

NO_RELEVANCE = (
    "column {!r} holds a score below 0, or an infinite one, which tells no relevance; give "
    "scores from 0 on"
)


def item_column(setup: Setup, names: Collection[str]) -> str:
    """The column that names items, which a table of lists needs."""
    doc = setup.roles.doc_in(names)
    if doc is None:
        there = f"no column names the items; the table has {', '.join(names)}"
        raise InvalidOption(f"{there}. Say which one does: ", on(doc=...))
    return doc


def lists_of(
    frame: pl.DataFrame, setup: Setup, by: Sequence[str] = (), columns: Set[str] = frozenset()
) -> pl.DataFrame:
    """A row per user and item: the user's slices, the query columns, the item, its rank; its label
    and score, if in `columns`.

    Rows of items that are not shown to the user stay, with a null rank: a user may have no other.
    """
    schema = frame.schema
    doc = item_column(setup, schema)
    values = [
        _values(setup, Columns.of(setup, schema, label=LABEL in columns), name)
        for name in sorted(columns)
    ]
    refuse_names([RANK], schema, "the table")
    ranked = frame.hstack(ranks_of(frame, setup, RANK))
    if ranked[doc].has_nulls():
        refuse_nameless(ranked.filter(pl.col(RANK).is_not_null()), doc)
    lists = ranked.lazy().select(*setup.roles.query, pl.col(doc).alias(ITEM), RANK, *values)
    if by:
        slices = by_query(frame, setup.roles.query, by, None)
        lists = lists.join(
            slices, on=setup.roles.query, how="left", nulls_equal=True, maintain_order="left"
        )
        one_slice = pl.col("#weight") == 1  # fails for a user with several values of a slice
        lists = lists.with_columns(pl.when(one_slice).then(RANK).alias(RANK))
    return collect(
        lists.select(*keys(by), *setup.roles.query, ITEM, RANK, *sorted(columns)), frame, setup
    )


def _values(setup: Setup, table: Columns, name: str) -> pl.Expr:
    """The labels, or the scores, as numbers; values that cannot be added up fail."""
    if name == LABEL:
        values, column = table.label, setup.roles.label
        faults = [(fault.rows, fault.message) for fault in table.faults() if fault.at == column]
        if setup.policies.unretrieved == "drop":
            values = pl.when(pl.col(RANK).is_not_null()).then(values)
    else:
        if setup.policies.ascending:
            says = (
                f"column {setup.roles.score!r} orders items by its lowest value, as ranks and "
                "distances do, and tells no "
            )
            so = "relevance; write relevance=label, or name scores that grow with relevance: "
            raise InvalidOption(says, so, on(score=..., ascending=False))
        values, column = pl.col(setup.roles.score).cast(pl.Float64), setup.roles.score
        faults = [((values < 0) | values.is_infinite(), NO_RELEVANCE.format(column))]
    return pl.coalesce(failing(faults), values).alias(name)


def _kept(frame: pl.LazyFrame, setup: Setup, train: object) -> pl.LazyFrame:
    """The rows, in their order, whose pair of user and item is not in `train`."""
    schema = frame.collect_schema()
    require_all(
        schema, [(name, "query") for name in setup.roles.query]
    )  # nothing is ranked, so no score is needed
    doc = item_column(setup, schema)
    refuse_objects(schema, [*setup.roles.query, doc])
    pairs, users = pairs_of(train, schema, setup.roles.query, doc, "train")
    others, names = pairs.collect_schema(), [*users, doc]
    key = [pl.col(name).cast(common_type(schema[name], others[name])) for name in names]
    return frame.join(
        pairs, left_on=key, right_on=key, how="anti", nulls_equal=True, maintain_order="left"
    )


def _without_lazily(frame: pl.LazyFrame, setup: Setup, call: VerbCall) -> pl.LazyFrame:
    return _kept(frame, setup, call.arguments["train"])


@verb(gives="subset", labels=False, lazily=_without_lazily)
def without(table: Table[Any], train: object) -> pl.DataFrame:
    """The rows whose item the user did not choose before: recommendations without the items seen in
    training.

    Parameters
    ----------
    train
        A frame with the columns of users and items, under the table's names. If it lacks a query
        column, such as the column of runs, its pairs hold for all values of this column.

    Returns
    -------
    The caller's rows in their order, except the rows whose user and item are a pair in `train`. If
    all rows of a user are such pairs, no row of the user is left. The rows of a lazy frame have no
    defined order.

    Raises
    ------
    MissingColumn, InvalidData, InvalidOption
        If a column is missing, ids of the two tables have different types, or `train` is no frame.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({"query_id": [1, 1, 2], "doc_id": ["a", "b", "a"], "score": [2.0, 1, 1]})
    >>> unseen = df.rank.items.without(pl.DataFrame({"query_id": [1], "doc_id": ["a"]}))
    >>> unseen["query_id"].to_list(), unseen["doc_id"].to_list()
    ([1, 2], ['b', 'a'])
    """
    rows, setup = table.rows, table.setup
    kept = _kept(rows.lazy(), setup, train).collect()
    if 0 < rows.height == kept.height:
        _warn_of_other_ids(rows, setup, train)
    return kept


def _warn_of_other_ids(rows: pl.DataFrame, setup: Setup, train: object) -> None:
    """Warn of a column without a common id, most often because the tables write ids differently."""
    doc = item_column(setup, rows.columns)
    pairs, users = pairs_of(train, rows.schema, setup.roles.query, doc, "train")
    others = pairs.collect()
    for name in (*users, doc):
        one = common_type(rows.schema[name], others.schema[name])
        if others.height and not rows[name].cast(one).is_in(others[name].cast(one).implode()).any():
            first = others[name].min(), rows[name].min()
            ids = " and ".join(map(shown, first))
            warn(f"nothing is left out: no {name!r} of train is in the table, as {ids}")
            return


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
        The group of each item as text, under the names ``#item`` and ``#group``; ``None`` if the
        catalog has no groups.
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
            says = (
                f", but {n:,} different items are shown; write the number of all items that could "
                "be shown, or give them"
            )
            raise InvalidData(option(items=self.size), says)

    def within(self, lists: pl.DataFrame) -> pl.DataFrame:
        """The lists with items of the catalog only; items that it lacks are refused, or no longer
        count as shown.
        """
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
        some = f"{', '.join(map(repr, ids.head(SHOWN)))}{' ...' * (len(ids) > SHOWN)}"
        says = (
            f"{int(strange.sum()):,} rows show {len(ids):,} items that the catalog lacks ({some})"
        )
        give = "; give all items that could be shown, or say "
        raise InvalidData(says, give, option(unknown_items="drop"), " to count without them")


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
        """A row per user and item of the past: the column `name` of the user's row, and the
        item.
        """
        key, doc = [*self.history.key], self.history.doc
        known, pairs = of_common_types(users.select(*key, name), self.history.pairs, key)
        return known.join(pairs, on=key).select(name, pl.col(doc).alias(ITEM))

    def unseen(self, rows: pl.DataFrame) -> pl.Series:
        """1.0 for the rows of items that the user does not have, else 0.0."""
        user = self.history.user_of(rows.select(self.history.key).to_struct())
        return 1 - self.history.seen(
            pl.DataFrame({"user": user, "item": self.history.place(rows[ITEM])})
        )

    def mean_of(self, users: pl.DataFrame) -> pl.Series:
        """The mean popularity of each user's own items; null for a user without a past."""
        key = [*self.history.key]
        rows = self.history.pairs.join(self.history.counts, on=self.history.doc)
        return looked_up(
            users, rows.group_by(key).agg(pl.col(SIZE).mean() / self.history.n_users), key
        )


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
        """The popular items of the catalog and the others; None if the catalog does not name its
        items.
        """
        if self.catalog.ids is None or self.past is None:
            return None
        found = self._head_and_tail
        if (head, tail) not in found:  # every resample needs it
            in_tail = self.past.history.in_tail(pl.col("#users"), head, tail)
            popularity = self.past.popularity(self.catalog.ids).to_frame("#users")
            n = int(popularity.select(in_tail.sum()).item())
            found[head, tail] = {
                "head": Group(~in_tail, popularity.height - n),
                "tail": Group(in_tail, n),
            }
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
    """The catalog and the past; mere counts of items are no past, since they do not distinguish
    users.
    """
    doc = item_column(setup, schema)
    background = setup.background
    history = (
        None
        if background.interactions is None
        else background.interactions.named(setup.roles.query, doc)
    )
    past = Past(history) if history is not None and history.key else None
    if background.items is None or isinstance(background.items, int):
        return CatalogAndPast(Catalog(background.items), past)
    ids = background.items.ids(doc)
    group = setup.roles.group
    if group is None or not background.has(group):
        return CatalogAndPast(Catalog(len(ids), ids, unknown_items == "drop"), past)
    groups = background.items.rows(doc).select(
        pl.col(doc).alias(ITEM), pl.col(group).cast(pl.String).alias("#group")
    )
    names = groups["#group"].drop_nulls().unique().sort()
    groups = groups.with_columns(
        pl.col("#group").cast(pl.Enum(names))
    )  # numbers compare faster than texts
    return CatalogAndPast(Catalog(len(ids), ids, unknown_items == "drop", groups), past)
