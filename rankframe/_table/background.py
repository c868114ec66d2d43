"""What recommendations are judged against, beside the table itself: past interactions of users, and the items."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import polars as pl

from ..errors import Code, InvalidData, InvalidOption, MissingColumn, Text, Verbatim, nearest, on, option, shown
from .steps import cast, renamed

__all__ = ["SIZE", "Background", "History", "Interactions", "Items", "looked_up"]

COUNT = "n"
"""The column of counts, where interactions are given as counts of items."""

SIZE = "#n"
"""The number of users of an item, in counts of our own."""


@dataclass(frozen=True, eq=False)
class Side:
    """A table beside the ranker's own, equal to itself alone; what is computed of it is kept.

    Attributes
    ----------
    frame
        Its rows.
    kept
        Results by their arguments; another process computes them anew.
    """

    frame: pl.DataFrame
    kept: dict[Any, Any] = field(default_factory=dict, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        return {"frame": self.frame, "kept": {}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        return f"<{self.frame.height:,} rows of {', '.join(self.frame.columns)}>"


class Interactions(Side):
    """Past interactions: a row for each user and item; or a row for each item, with the number of its users as `n`."""

    @classmethod
    def of(cls, given: object) -> Interactions:
        """The interactions in a Polars frame."""
        return given if isinstance(given, Interactions) else cls(_frame("interactions", given))

    def named(self, query: Sequence[str], doc: str) -> History:
        """The interactions by the names of the columns of users and items."""
        key = tuple(query), doc
        if key not in self.kept:
            self.kept[key] = History.of(self.frame, query, doc)
        found: History = self.kept[key]
        return found


@dataclass(frozen=True, eq=False)
class History:
    """Interactions whose columns are known: each pair of a user and an item counts once.

    Attributes
    ----------
    pairs
        The pairs; or a row per item, if only counts were given.
    key
        The columns of the user; empty for counts.
    doc
        The column of the item.
    counts
        A row per item: the item, and the number of its users.
    kept
        What else is computed of them, by name.
    """

    pairs: pl.DataFrame
    key: tuple[str, ...]
    doc: str
    counts: pl.DataFrame
    kept: dict[Any, pl.DataFrame] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, frame: pl.DataFrame, query: Sequence[str], doc: str) -> History:
        """Check the columns, and count."""
        key = tuple(name for name in query if name in frame.columns)
        if doc not in frame.columns or not (key or COUNT in frame.columns):
            lacking = [*([] if key or COUNT in frame.columns else query), *([] if doc in frame.columns else [doc])]
            raise MissingColumn(
                f"interactions have no column {', '.join(map(repr, lacking))}; they have {', '.join(frame.columns)}. Give "
                "them the table's names of users and items",
                _renamed(lacking, frame, "interactions"),
            )
        if not frame.height:
            raise InvalidData("interactions have no row; give the rows of users and items of the past")
        for name in (*key, doc):
            missing = frame[name].null_count()
            if missing:
                raise InvalidData(
                    f"interactions hold null in column {name!r}, in {missing:,} rows; leave those out, as with ",
                    Code(f"interactions.drop_nulls({name!r})", f"interactions.dropna(subset=[{name!r}])"),
                )
        if key:
            pairs = frame.select(*key, doc).unique(maintain_order=True)
            counts = pairs.group_by(doc, maintain_order=True).agg(pl.len().cast(pl.Float64).alias(SIZE))
            return cls(pairs, key, doc, counts)
        number = frame.schema[COUNT]
        if not number.is_numeric() or not (frame[COUNT].cast(pl.Float64).is_between(0, 1e15) == True).all():  # noqa: E712
            raise InvalidData(
                f"column {COUNT!r} of interactions holds {number} that are no counts; give each item the number of its users"
            )
        if frame[doc].is_duplicated().any():
            raise InvalidData(f"interactions name an item of column {doc!r} twice; give one row for each item")
        counts = frame.select(doc, pl.col(COUNT).cast(pl.Float64).alias(SIZE)).filter(pl.col(SIZE) > 0)
        return cls(counts, (), doc, counts)

    def once(self, name: object, compute: Callable[[], pl.DataFrame]) -> pl.DataFrame:
        """A frame that is computed at its first use."""
        if name not in self.kept:
            self.kept[name] = compute()
        return self.kept[name]

    @cached_property
    def n_rows(self) -> float:
        """The number of interactions."""
        return float(self.counts[SIZE].sum())

    @cached_property
    def n_users(self) -> float:
        """The number of users; refused where only counts were given."""
        self.need_users("the number of users")
        return float(self.pairs.select(self.key).n_unique())

    def need_users(self, what: str) -> None:
        """Refuse counts of items where users count."""
        if not self.key:
            raise InvalidOption(
                f"it needs {what}, which counts of items do not tell; give the rows of users and items, as ",
                on(interactions=Verbatim("train")),
            )

    @cached_property
    def sizes(self) -> pl.Series:
        """The numbers of users that items have, ascending, an item each."""
        return self.counts[SIZE].sort()

    def percentiles(self) -> dict[float, float]:
        """The share of items that are at most as popular, by popularity; equally popular items share their mean rank."""
        rank = self.sizes.rank("average") / max(len(self.sizes), 1)
        return dict(zip(self.sizes.to_list(), rank.to_list(), strict=True))

    def levels(self) -> dict[float, float]:
        """The rank by falling popularity, 1 for the most popular items; equally popular items share one rank."""
        return dict(zip(self.sizes.unique().sort(descending=True).to_list(), itertools.count(1.0)))

    def tail_below(self, head: float) -> float:
        """The popularity below which items are in the long tail: the most popular others have `head` of all interactions."""
        falling = self.sizes.reverse()
        reached = (falling.cum_sum() >= head * self.n_rows).arg_true()
        return float(falling[reached[0]]) if len(reached) else 0.0

    def least_popular(self, tail: float) -> float:
        """The popularity above which items are not among the `tail` of all items, at least one, that are the least popular."""
        return float(self.sizes[max(int(tail * len(self.sizes)), 1) - 1]) if len(self.sizes) else 0.0

    def popularity(self, docs: pl.Series) -> pl.Series:
        """The number of users of each item; null for one that is in no interaction."""
        return looked_up(docs.to_frame(self.doc), self.counts, [self.doc])

    def seen(self, pairs: pl.Series) -> pl.Series:
        """1.0 for a pair of a user and an item that is in the interactions, else 0.0."""
        known = self.pairs.with_columns(pl.lit(1.0).alias("#"))
        return looked_up(pairs.struct.unnest(), known, [*self.key, self.doc]).fill_null(0.0)


class Items(Side):
    """The catalog: a row for each item, with what is known of it."""

    @classmethod
    def of(cls, given: object) -> Items | int:
        """A frame, ids in a list or a Series, or the number of items alone."""
        if isinstance(given, Items):
            return given
        if isinstance(given, int) and not isinstance(given, bool) and given > 0:
            return given
        if isinstance(given, (list, tuple, set, frozenset)):
            given = pl.Series("#item", list(given))
        if isinstance(given, pl.Series):
            return cls(given.alias("#item").to_frame())
        return cls(_frame("items", given))

    def ids(self, doc: str) -> pl.Series:
        """The items, each once."""
        name = "#item" if self.frame.columns == ["#item"] else doc
        if name not in self.frame.columns:
            raise MissingColumn(
                f"items have no column {doc!r}; they have {', '.join(self.frame.columns)}. Give them the table's name of items",
                _renamed([doc], self.frame, "items"),
            )
        return self.frame[name].drop_nulls().unique(maintain_order=True)

    def column(self, name: str, doc: str) -> pl.DataFrame:
        """A row per item: the item and a property."""
        key = name, doc
        if key not in self.kept:
            self.ids(doc)
            if self.frame[doc].is_duplicated().any():
                raise InvalidData(f"items name an item of column {doc!r} twice; give one row for each item")
            self.kept[key] = self.frame.select(doc, pl.col(name))
        found: pl.DataFrame = self.kept[key]
        return found


@dataclass(frozen=True)
class Background:
    """The tables beside the ranker's own."""

    interactions: Interactions | None = None
    items: Items | int | None = None

    def __post_init__(self) -> None:
        if self.interactions is not None:
            object.__setattr__(self, "interactions", Interactions.of(self.interactions))
        if self.items is not None:
            object.__setattr__(self, "items", Items.of(self.items))

    def has(self, name: str) -> bool:
        """Whether a property of items is looked up in `items`."""
        return isinstance(self.items, Items) and name in self.items.frame.columns

    def check(self, schema: pl.Schema, query: Sequence[str], doc: str | None) -> None:
        """Refuse tables whose columns of users and items cannot be compared with those of the ranker's table."""
        if doc is None:
            return
        if self.interactions is not None:
            history = self.interactions.named(query, doc)
            for name in (*history.key, doc):
                _comparable(name, schema, history.pairs.schema, "interactions")
        if isinstance(self.items, Items) and doc in self.items.frame.columns:
            _comparable(doc, schema, self.items.frame.schema, "items")


def looked_up(rows: pl.DataFrame, known: pl.DataFrame, key: Sequence[str]) -> pl.Series:
    """The last column of `known` for the key of each row; null for a key that it does not have."""
    for name in key:
        if rows.schema[name] != known.schema[name]:
            one = common_type(rows.schema[name], known.schema[name])
            rows, known = (x.with_columns(pl.col(name).cast(one)) for x in (rows, known))
    value = known.columns[-1]
    found = rows.select(key).join(known.rename({value: "#value"}), on=list(key), how="left", maintain_order="left")
    return found["#value"]


WORDS = (pl.String, pl.Categorical, pl.Enum)


def common_type(one: pl.DataType, other: pl.DataType) -> pl.DataType:
    """The type in which ids of two tables are compared."""
    if one in WORDS and other in WORDS:
        return pl.String()
    if one.is_integer() and other.is_integer():
        return pl.Int128() if pl.UInt64 in (one, other) else pl.Int64()
    return one


def _comparable(name: str, schema: pl.Schema, others: pl.Schema, whose: str) -> None:
    one, other = schema[name], others[name]
    if common_type(one, other) == common_type(other, one) or pl.Null in (one, other):
        return
    raise InvalidData(
        f"column {name!r} holds {one} in the table and {other} in {whose}, so that no id is in both; cast it",
        replace(cast(name, one, frame=whose), phrase=", as in {}"),
    )


def _frame(role: str, given: object) -> pl.DataFrame:
    if isinstance(given, (pl.DataFrame, pl.LazyFrame)):
        return given.lazy().collect()
    wanted: Text = (
        "a frame of users and items, or of items with their counts as n"
        if role == "interactions"
        else "a frame with a row for each item, a list of their ids, or their number"
    )
    raise InvalidOption(option(**{role: given}), f": {shown(given)} is not read; give ", wanted)


def _renamed(lacking: Sequence[str], frame: pl.DataFrame, whose: str) -> Text:
    return renamed({nearest(name, frame.columns) or f"the column of {name}": name for name in lacking}, frame=whose)
