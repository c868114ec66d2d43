"""The tables that metrics of items read: lists, the catalog, and past interactions."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeAlias

import polars as pl

from ..._plan.per_query import collect
from ..._support.joins import left_joined
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
from ..sample.slices import by_query, keys, typed

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
    """A row per user and item: slices, query columns, item and rank; label and score if asked for.

    Rows of items that are not shown to the user stay, with a null rank: a user may have no other.
    """
    schema = frame.schema
    query = setup.roles.query
    doc = item_column(setup, schema)
    names = sorted(columns)
    table = Columns.of(setup, schema, label=LABEL in columns)
    values = [_labels(setup, table) if name == LABEL else _scores(setup) for name in names]
    refuse_names([RANK], schema, "the table")
    ranked = frame.hstack(ranks_of(frame, setup, RANK))
    if ranked[doc].has_nulls():
        is_shown = pl.col(RANK).is_not_null()
        refuse_nameless(ranked.filter(is_shown), doc)
    item = pl.col(doc).alias(ITEM)
    lists = ranked.lazy().select(*query, item, RANK, *values)
    if by:
        slices = by_query(frame, query, by, None)
        one_slice = pl.col("#weight") == 1  # fails for a user with several values of a slice
        rank = pl.when(one_slice).then(RANK).alias(RANK)
        lists = left_joined(lists, slices, query).with_columns(rank)
    lists = lists.select(*keys(by), *query, ITEM, RANK, *names)
    return collect(lists, frame, setup)


def _labels(setup: Setup, table: Columns) -> pl.Expr:
    """The labels as numbers; labels that cannot be added up fail."""
    column = setup.roles.label
    labels = table.label
    if setup.policies.unretrieved == "drop":
        is_retrieved = pl.col(RANK).is_not_null()
        labels = pl.when(is_retrieved).then(labels)
    faults = [(fault.rows, fault.message) for fault in table.faults() if fault.at == column]
    return pl.coalesce(failing(faults), labels).alias(LABEL)


def _scores(setup: Setup) -> pl.Expr:
    """The scores as relevance; scores that cannot be added up fail."""
    column = setup.roles.score
    if setup.policies.ascending:
        says = (
            f"column {column!r} orders items by its lowest value, as ranks and distances do, and "
            "tells no relevance; write relevance=label, or name scores that grow with relevance: "
        )
        raise InvalidOption(says, on(score=..., ascending=False))
    scores = pl.col(column).cast(pl.Float64)
    is_fault = (scores < 0) | scores.is_infinite()
    faults = [(is_fault, NO_RELEVANCE.format(column))]
    return pl.coalesce(failing(faults), scores).alias(SCORE)


def _not_in(frame: pl.LazyFrame, setup: Setup, train: object) -> pl.LazyFrame:
    """The rows, in their order, whose pair of user and item is not in `train`."""
    schema = frame.collect_schema()
    query = setup.roles.query
    # Nothing is ranked, so no score is needed.
    require_all(schema, [(name, "query") for name in query])
    doc = item_column(setup, schema)
    refuse_objects(schema, [*query, doc])
    pairs, users = pairs_of(train, schema, query, doc, "train")
    others = pairs.collect_schema()
    names = [*users, doc]
    dtypes = {name: common_type(schema[name], others[name]) for name in names}
    key = typed(dtypes)
    return frame.join(pairs, on=key, how="anti", nulls_equal=True, maintain_order="left")


def _without_lazily(frame: pl.LazyFrame, setup: Setup, call: VerbCall) -> pl.LazyFrame:
    return _not_in(frame, setup, call.arguments["train"])


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
    rows = table.rows
    setup = table.setup
    others = _not_in(rows.lazy(), setup, train).collect()
    if 0 < rows.height == others.height:
        _warn_of_other_ids(rows, setup, train)
    return others


def _warn_of_other_ids(rows: pl.DataFrame, setup: Setup, train: object) -> None:
    """Warn of a column without a common id, most often because the tables write ids differently."""
    doc = item_column(setup, rows.columns)
    pairs, users = pairs_of(train, rows.schema, setup.roles.query, doc, "train")
    others = pairs.collect()
    if others.is_empty():
        return
    for name in (*users, doc):
        dtype = common_type(rows.schema[name], others.schema[name])
        ids = rows[name].cast(dtype)
        ids_of_train = others[name].cast(dtype)
        if not ids.is_in(ids_of_train.implode()).any():
            first = f"{shown(others[name].min())} and {shown(rows[name].min())}"
            warn(f"nothing is left out: no {name!r} of train is in the table, as {first}")
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
        dtype = common_type(items.dtype, self.ids.dtype)
        ids = self.ids.cast(dtype)
        return items.cast(dtype).is_in(ids.implode())

    @cached_property
    def by_column(self) -> Mapping[str, Group] | None:
        """The groups by name; None if the catalog has no groups."""
        if self.groups is None:
            return None
        sizes = self.groups["#group"].drop_nulls().value_counts().sort("#group")
        group = pl.col("#group")
        return {name: Group(group == name, n) for name, n in sizes.rows()}

    def refuse_more(self, n: int) -> None:
        """Refuse more shown items than the catalog has."""
        if self.size is not None and n > self.size:
            says = (
                f", but {n:,} different items are shown; write the number of all items that could "
                "be shown, or give them"
            )
            raise InvalidData(option(items=self.size), says)

    def within(self, lists: pl.DataFrame) -> pl.DataFrame:
        """The lists with items of the catalog only; others are refused, or no longer shown."""
        if self.size is None:
            return lists
        if self.ids is None:
            shown_items = lists.filter(pl.col(RANK).is_not_null())[ITEM]
            self.refuse_more(shown_items.n_unique())
            return lists
        unknown = ~self.has(lists[ITEM])
        if not unknown.any():
            return lists
        if not self.drops:
            is_shown = lists[RANK].is_not_null()
            refuse_unknown_items(lists.filter(unknown & is_shown))
        values = [name for name in (RANK, LABEL, SCORE) if name in lists.columns]
        only_known = pl.when(~unknown).then(pl.col(values))
        return lists.with_columns(only_known)


def refuse_unknown_items(rows: pl.DataFrame) -> None:
    """Refuse rows of lists that show items which the catalog lacks."""
    if rows.is_empty():
        return
    ids = rows[ITEM].unique().sort()
    examples = ", ".join(map(repr, ids.head(SHOWN)))
    more = " ..." if len(ids) > SHOWN else ""
    says = f"{rows.height:,} rows show {len(ids):,} items that the catalog lacks"
    give = f"{says} ({examples}{more}); give all items that could be shown, or say "
    raise InvalidData(give, option(unknown_items="drop"), " to count without them")


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
        """A row per user and item of the past: the user's value of `name`, and the item."""
        history = self.history
        key = [*self.history.key]
        named = users.select(*key, name)
        known, pairs = of_common_types(named, history.pairs, key)
        item = pl.col(history.doc).alias(ITEM)
        return known.join(pairs, on=key).select(name, item)

    def unseen(self, rows: pl.DataFrame) -> pl.Series:
        """1.0 for the rows of items that the user does not have, else 0.0."""
        history = self.history
        user = history.user_of(rows.select(history.key).to_struct())
        item = history.place(rows[ITEM])
        pairs = pl.DataFrame({"user": user, "item": item})
        return 1 - history.seen(pairs)

    def mean_of(self, users: pl.DataFrame) -> pl.Series:
        """The mean popularity of each user's own items; null for a user without a past."""
        history = self.history
        key = [*self.history.key]
        rows = history.pairs.join(history.counts, on=history.doc)
        popularity = pl.col(SIZE).mean() / history.n_users
        by_user = rows.group_by(key).agg(popularity)
        return looked_up(users, by_user, key)


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
        """The popular items and the others; None if the catalog does not name its items."""
        ids = self.catalog.ids
        past = self.past
        if ids is None or past is None:
            return None
        by_options = self._head_and_tail
        if (head, tail) not in by_options:  # every resample needs it
            in_tail = past.history.in_tail(pl.col("#users"), head, tail)
            popularity = past.popularity(ids).to_frame("#users")
            n_tail = int(popularity.select(in_tail.sum()).item())
            of_head = Group(~in_tail, len(ids) - n_tail)
            of_tail = Group(in_tail, n_tail)
            by_options[head, tail] = {"head": of_head, "tail": of_tail}
        groups = by_options[head, tail].items()
        return {name: group for name, group in groups if group.size}

    def described(self, items: pl.DataFrame) -> pl.DataFrame:
        """The items with the columns that groups and popularity read."""
        columns: dict[str, pl.Series] = {}
        if self.past is not None:
            n_users = self.past.history.n_users
            users = self.past.popularity(items[ITEM])
            columns |= {"#users": users, "#popularity": users / n_users}
        if self.catalog.groups is not None:
            ids = items.select(ITEM)
            columns["#group"] = looked_up(ids, self.catalog.groups, [ITEM])
        return items.with_columns(**columns)


def catalog_and_past(setup: Setup, schema: pl.Schema, unknown_items: Unknown) -> CatalogAndPast:
    """The catalog and the past; counts of items are no past, as they do not tell users apart."""
    doc = item_column(setup, schema)
    background = setup.background
    group = setup.roles.group
    past = None
    if background.interactions is not None:
        history = background.interactions.named(setup.roles.query, doc)
        past = Past(history) if history.key else None
    items = background.items
    if items is None or isinstance(items, int):
        return CatalogAndPast(Catalog(items), past)
    ids = items.ids(doc)
    groups = None
    if group is not None and background.has(group):
        groups = _groups(items.rows(doc), doc, group)
    catalog = Catalog(len(ids), ids, unknown_items == "drop", groups)
    return CatalogAndPast(catalog, past)


def _groups(items: pl.DataFrame, doc: str, group: str) -> pl.DataFrame:
    """The group of each item, as an Enum, since numbers compare faster than texts."""
    item = pl.col(doc).alias(ITEM)
    name = pl.col(group).cast(pl.String)
    groups = items.select(item, name.alias("#group"))
    names = groups["#group"].drop_nulls().unique().sort()
    group_as_number = pl.col("#group").cast(pl.Enum(names))
    return groups.with_columns(group_as_number)
