"""Two side tables of a ranker: past interactions of users with their profiles, and the items of the
catalog.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from typing import Annotated, Any, TypeVar

import polars as pl

from .._support.arrow_stream import from_stream
from .._support.floats import np
from .._support.option_kinds import check
from .._support.option_values import Range
from .._support.polars_versions import exploded
from ..errors import Code, InvalidData, InvalidOption, Verbatim, on, option, shown
from .roles import require, require_all
from .steps import WORDS, of_one_type

T = TypeVar("T")

COUNT = "n"
"""The column of counts, if interactions are given as counts of items."""

SIZE = "#n"
"""The column of an item's number of users in `History.counts`."""

USER, ITEM = "#user", "#item"
"""Columns: a user's number, by first interaction; an item's number, that of its row in
`History.counts`."""

LISTED = "#item"
"""The column of ids that were given as a list."""


class Cached:
    """Computes results once, at their first use; pickling leaves them out."""

    @cached_property
    def _results(self) -> dict[object, Any]:
        return {}

    def once(self, name: object, compute: Callable[[], T]) -> T:
        """The result of a name."""
        if name not in self._results:
            self._results[name] = compute()
        found: T = self._results[name]
        return found

    def __getstate__(self) -> dict[str, object]:
        return {name: value for name, value in vars(self).items() if name != "_results"}


@dataclass(frozen=True, eq=False)
class SideTable(Cached):
    """A table of a ranker besides its own, compared by identity."""

    frame: pl.DataFrame

    def __repr__(self) -> str:
        return f"<{self.frame.height:,} rows of {', '.join(self.frame.columns)}>"


class Interactions(SideTable):
    """Past interactions: a row for each user and item; or a row for each item, with the number of
    its users as `n`.
    """

    def named(self, query: Sequence[str], doc: str) -> History:
        """The interactions, with the names of their columns of users and items."""
        return self.once((tuple(query), doc), lambda: History.of(self.frame, query, doc))


@dataclass(frozen=True, eq=False)
class History(Cached):
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
    """

    pairs: pl.DataFrame
    key: tuple[str, ...]
    doc: str
    counts: pl.DataFrame

    @classmethod
    def of(cls, frame: pl.DataFrame, query: Sequence[str], doc: str) -> History:
        """Check the columns, and count."""
        key = _key(frame.schema, query, doc, "interactions", counts=True)
        if not frame.height:
            raise InvalidData(
                "interactions have no row; give the rows of users and items of the past"
            )
        for name in (*key, doc):
            refuse_nameless(frame, name, "interactions", "item" if name == doc else "user")
        if key:
            pairs = frame.select(*key, doc).unique(maintain_order=True)
            counts = pairs.group_by(doc, maintain_order=True).agg(
                pl.len().cast(pl.Float64).alias(SIZE)
            )
            return cls(pairs, key, doc, counts)
        number = frame.schema[COUNT]
        if (
            not number.is_numeric()
            or not frame[COUNT].cast(pl.Float64).is_between(0, 1e15).fill_null(False).all()
        ):
            what = f"column {COUNT!r} of interactions holds {number} that are no counts"
            raise InvalidData(f"{what}; give each item the number of its users")
        if frame[doc].is_duplicated().any():
            raise InvalidData(
                f"interactions name an item of column {doc!r} twice; give one row for each item"
            )
        counts = frame.select(doc, pl.col(COUNT).cast(pl.Float64).alias(SIZE)).filter(
            pl.col(SIZE) > 0
        )
        return cls(counts, (), doc, counts)

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
        """Refuse counts of items where a metric needs users."""
        if not self.key:
            give = (
                f"it needs {what}, which counts of items do not tell; give the rows of users and "
                "items, as "
            )
            raise InvalidOption(give, on(interactions=Verbatim("train")))

    @cached_property
    def sizes(self) -> pl.Series:
        """The number of users of each item, ascending."""
        return self.counts[SIZE].sort()

    def percentiles(self) -> dict[float, float]:
        """The share of items that are at most as popular, by popularity; equally popular items
        share their mean rank.
        """
        rank = self.sizes.rank("average") / max(len(self.sizes), 1)
        return dict(zip(self.sizes.to_list(), rank.to_list(), strict=True))

    def levels(self) -> dict[float, float]:
        """The rank by falling popularity, 1 for the most popular items; equally popular items share
        one rank.
        """
        return dict(zip(self.sizes.unique().sort(descending=True).to_list(), itertools.count(1.0)))

    def in_tail(self, popularity: pl.Expr, head: float, tail: float | None) -> pl.Expr:
        """Whether an item of a popularity is in the long tail.

        With `tail`, the tail is that share of all items, at least one, the least popular. Otherwise
        it is below the head, the more popular items with the share `head` of interactions.
        """
        sizes = self.sizes
        if tail is not None:
            return popularity <= (
                float(sizes[max(int(tail * len(sizes)), 1) - 1]) if len(sizes) else 0.0
            )
        falling = sizes.reverse()
        reached = (falling.cum_sum() >= head * self.n_rows).arg_true()
        return popularity < (float(falling[reached[0]]) if len(reached) else 0.0)

    def user_of(self, rows: pl.Series) -> pl.Series:
        """The number of the user of each row; null for a user without interactions."""
        return looked_up(rows.struct.unnest(), self.users, self.key)

    @cached_property
    def users(self) -> pl.DataFrame:
        """A row per user: the key and the number."""
        keys = self.pairs.select(self.key).unique(maintain_order=True)
        return keys.with_row_index(USER).select(*self.key, USER)

    @cached_property
    def numbers(self) -> pl.DataFrame:
        """The interactions, in their order: the number of the user and that of the item."""
        user = looked_up(self.pairs, self.users, self.key)
        return pl.DataFrame({USER: user, ITEM: self.place(self.pairs[self.doc])})

    def codes(self, user: str, item: str) -> pl.Expr:
        """One number for a user and an item, given by columns of numbers."""
        return pl.col(user).cast(pl.Int64) * self.counts.height + pl.col(item).cast(pl.Int64)

    @cached_property
    def known_codes(self) -> pl.Series:
        """The codes of the interactions, ascending."""
        return self.numbers.select(self.codes(USER, ITEM)).to_series().sort()

    @cached_property
    def similar_items(self) -> pl.DataFrame:
        """A row per pair of items that a user had: the cosine of the sets of their users."""
        had = self.numbers.lazy()
        both = had.join(had.rename({ITEM: "#other"}), on=USER)
        sizes = pl.lit(self.counts[SIZE])
        cosine = pl.col("#both") / (sizes.gather(ITEM) * sizes.gather("#other")).sqrt()
        counts = both.group_by(ITEM, "#other").agg(pl.len().cast(pl.Float64).alias("#both"))
        return counts.select(ITEM, "#other", cosine.alias("#cosine")).collect()

    def place(self, docs: pl.Series) -> pl.Series:
        """The number of each item's row in `counts`; null for an item without interactions."""
        return place_in(self.counts[self.doc], docs)

    def popularity(self, docs: pl.Series) -> pl.Series:
        """The number of users of each item; null for an item without interactions."""
        return self.counts[SIZE].gather(self.place(docs))

    # functions of rows with the numbers of a `user` and an `item`

    def seen(self, rows: pl.DataFrame) -> pl.Series:
        """1.0 for a row whose user has interacted with its item, else 0.0."""
        known = self.known_codes.to_numpy()
        of_rows = rows.select(self.codes("user", "item").fill_null(-1)).to_series().to_numpy()
        return pl.Series(
            (known[np.searchsorted(known[:-1], of_rows)] == of_rows).astype(np.float64)
        )

    def co_occurring(self, rows: pl.DataFrame) -> pl.Series:
        """The mean cosine of each row's item and the items of the row's user; null for a user
        without any.
        """
        pairs = rows.select(pl.col("user").alias(USER), pl.col("item").alias(ITEM)).with_row_index(
            "#row"
        )
        had = self.numbers.rename({ITEM: "#other"})
        both = pairs.join(had, on=USER).join(self.similar_items, on=[ITEM, "#other"], how="left")
        # The last bit of a sum depends on the order of rows, and the optimizer drops a sort inside
        # the mean.
        terms = both.select("#row", pl.col("#cosine").fill_null(0.0)).sort("#row", "#cosine")
        sums = terms.group_by("#row", maintain_order=True).agg(
            pl.col("#cosine").mean().alias("#mean")
        )
        return pairs.select("#row").join(sums, on="#row", how="left", maintain_order="left")[
            "#mean"
        ]

    def similar_features(
        self, rows: pl.DataFrame, features: pl.DataFrame, profiles: pl.DataFrame
    ) -> pl.Series:
        """The mean cosine of the features of each row's item and of the items of its user, both by
        number; null: no user.

        `features` and `profiles` have a row for each item and user; a missing item has the cosine
        0.
        """
        own, profile = _rows_at(features, rows["item"]), _rows_at(profiles, rows["user"])
        products = pl.DataFrame([profile[name] * own[name] for name in features.columns])
        return products.select(
            pl.when(rows["user"].is_not_null()).then(pl.sum_horizontal(pl.all()))
        ).to_series()

    # profiles of users

    def categories(self, items: pl.DataFrame) -> pl.DataFrame:
        """A row per user and category: the share of the category in the user's items, each divided
        evenly among its categories.

        `items` has a row for each item, with its category or a list of them.
        """
        found = looked_up(self.pairs.select(self.doc), items, [self.doc])
        kinds = pl.DataFrame([self.numbers[USER], in_lists(found).alias("kind")]).filter(
            pl.col("kind").list.len() > 0
        )
        kinds = exploded(kinds.with_columns(share=1 / pl.col("kind").list.len()), "kind")
        shares = kinds.group_by(USER, "kind", maintain_order=True).agg(pl.col("share").sum())
        return shares.with_columns(pl.col("share") / pl.col("share").sum().over(USER))

    def features(self, ids: pl.Series, features: pl.DataFrame) -> pl.DataFrame:
        """A row per user, in the order of their numbers: the mean features of the user's items;
        `ids` names the rows of `features`.
        """
        had = _rows_at(features, place_in(ids, self.pairs[self.doc])).with_columns(
            self.numbers[USER]
        )
        return had.group_by(USER).agg(pl.col(features.columns).mean()).sort(USER).drop(USER)


class Items(SideTable):
    """The catalog: a row for each item, with its properties; or the ids that came in a list."""

    @property
    def listed(self) -> bool:
        """Whether the items came as ids in a list."""
        return self.frame.columns == [LISTED]

    def ids(self, doc: str) -> pl.Series:
        """The items, each once."""

        def found() -> pl.Series:
            name = LISTED if self.listed else doc
            require(self.frame.schema, name, "doc", "items")
            refuse_nameless(self.frame.rename({name: doc}), doc, "items")
            return self.frame[name].alias(doc).unique(maintain_order=True)

        return self.once(("ids", doc), found)

    def rows(self, doc: str) -> pl.DataFrame:
        """The frame, after a check that each item has one row."""
        if len(self.ids(doc)) < self.frame.height:
            raise InvalidData(
                f"items name an item of column {doc!r} twice; give one row for each item"
            )
        return self.frame


@dataclass(frozen=True)
class Background:
    """The side tables of a ranker."""

    interactions: Interactions | None = None
    items: Items | int | None = None

    def __post_init__(self) -> None:
        past, items = self.interactions, self.items
        if past is not None and not isinstance(past, Interactions):
            wanted = "of users and items, or of items with their counts as n"
            object.__setattr__(
                self, "interactions", Interactions(_rows(past, "interactions", wanted).collect())
            )
        if items is not None and not isinstance(items, Items):
            object.__setattr__(self, "items", _items_in(items))

    def has(self, name: str) -> bool:
        """Whether a property of items is looked up in `items`."""
        return isinstance(self.items, Items) and name in self.items.frame.columns

    @property
    def schema_of_items(self) -> pl.Schema:
        """The columns of `items`; none if it is no table."""
        return self.items.frame.schema if isinstance(self.items, Items) else pl.Schema()

    def check(self, schema: pl.Schema, query: Sequence[str], doc: str | None) -> None:
        """Refuse tables whose columns of users and items cannot be compared with the ranker's
        table.
        """
        if doc is None:
            return
        if self.interactions is not None:
            history = self.interactions.named(query, doc)
            for name in (*history.key, doc):
                _comparable(name, schema[name], history.pairs.schema[name], "interactions")
        if isinstance(self.items, Items):
            name = LISTED if self.items.listed else doc
            if name in self.items.frame.columns:
                _comparable(
                    doc,
                    schema[doc],
                    self.items.frame.schema[name],
                    "items",
                    listed=self.items.listed,
                )


def looked_up(rows: pl.DataFrame, known: pl.DataFrame, key: Sequence[str]) -> pl.Series:
    """The last column of `known` for the key of each row; null for a missing key."""
    rows, known = of_common_types(rows, known, key)
    value = known.columns[-1]
    found = rows.select(key).join(
        known.rename({value: "#value"}), on=list(key), how="left", maintain_order="left"
    )
    return found["#value"]


def of_common_types(
    one: pl.DataFrame, other: pl.DataFrame, key: Sequence[str]
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Cast the key columns of two tables to common types."""
    types = ((name, one.schema[name], other.schema[name]) for name in key)
    both = [pl.col(name).cast(common_type(own, its)) for name, own, its in types if own != its]
    return one.with_columns(both), other.with_columns(both)


def place_in(ids: pl.Series, given: pl.Series) -> pl.Series:
    """The place, from 0 on, of each given id among the distinct `ids`; null if missing."""
    known = pl.DataFrame(
        {"#id": ids, "#place": pl.int_range(len(ids), dtype=pl.UInt32, eager=True)}
    )
    return looked_up(given.to_frame("#id"), known, ["#id"])


def common_type(one: pl.DataType, other: pl.DataType) -> pl.DataType:
    """The type in which ids of two tables are compared."""
    if one == pl.Null or (one in WORDS and other in WORDS):
        return other if one == pl.Null else pl.String()
    if one.is_integer() and other.is_integer():
        return pl.Int128() if pl.UInt64 in (one, other) else pl.Int64()
    return one


def _comparable(
    name: str, one: pl.DataType, other: pl.DataType, whose: str, *, listed: bool = False
) -> None:
    """Refuse ids of two types that cannot be equal."""
    if common_type(one, other) != common_type(other, one):
        advice = (
            ("give ids of one type",) if listed else of_one_type(name, {"df": one, whose: other})
        )
        raise InvalidData(
            f"column {name!r} is {one} in the table and {other} in {whose}; ", *advice
        )


def refuse_nameless(rows: pl.DataFrame, name: str, frame: str = "df", of: str = "item") -> None:
    """Refuse rows that name no item, or no user."""
    if n := rows[name].null_count():
        says = (
            f"column {name!r} is null, so nobody knows which {of} is meant; give every {of} its "
            "id, or leave such rows out"
        )
        code = Code(
            f"{frame}.drop_nulls({name!r})",
            f"{frame}.dropna(subset=[{name!r}])",
            phrase=", with {}",
        )
        raise InvalidData(says, code, f" (found in {n} row{'' if n == 1 else 's'})")


def pairs_of(
    given: object, schema: pl.Schema, query: Sequence[str], doc: str, whose: str
) -> tuple[pl.LazyFrame, list[str]]:
    """The pairs of user and item of another table, each once, with its columns of users.

    Query columns such as a run or a day may be missing there; its pairs then apply to every run or
    day.
    """
    rows = _rows(given, whose)
    others = rows.collect_schema()
    users = _key(others, query, doc, whose)
    for name in (*users, doc):
        _comparable(name, schema[name], others[name], whose)
    return rows.select(*users, doc).unique(), [*users]


def _key(
    others: pl.Schema, query: Sequence[str], doc: str, whose: str, *, counts: bool = False
) -> tuple[str, ...]:
    """The user columns of another table; it must have one (or, with `counts`, a column of counts)
    and the item column.
    """
    users = tuple(name for name in query if name in others)
    lacking = [] if users or (counts and COUNT in others) else [(query[-1], "query")]
    require_all(others, [*lacking, (doc, "doc")], whose)
    return users


def _frame(given: object) -> pl.LazyFrame | None:
    """The rows of a frame, or of a table with the Arrow PyCapsule interface; None of anything
    else.
    """
    found = given if isinstance(given, (pl.DataFrame, pl.LazyFrame)) else from_stream(given)
    return None if found is None else found.lazy()


def _rows(given: object, whose: str, wanted: str = "with a row per user and item") -> pl.LazyFrame:
    """The rows of a side table."""
    if (found := _frame(given)) is None:
        raise InvalidOption(f"{whose}={shown(given)} is no frame; give one {wanted}")
    return found


def _items_in(given: Any) -> Items | int:
    """A catalog: a frame with a row per item; a list, an array or a Series of ids; or the number of
    items.
    """
    if isinstance(given, Integral) and not isinstance(given, bool):
        size: int = check("items", given, Annotated[int, Range(least=1, most=10**15)])
        return size
    frame = _frame(given)
    found = _listed(given) if frame is None else frame.collect()
    if found.is_empty():
        raise InvalidOption(
            option(items=[]), " holds no item; give all items that could be shown, or their number"
        )
    return Items(found)


def _listed(given: Any) -> pl.DataFrame:
    """Ids in a Series, a list or an array as a column."""
    ids = given.tolist() if hasattr(given, "tolist") else given
    with suppress(TypeError, ValueError, OverflowError, pl.exceptions.PolarsError):
        if not isinstance(ids, (str, bytes)):
            column = (
                ids.alias(LISTED) if isinstance(ids, pl.Series) else pl.Series(LISTED, list(ids))
            )
            if column.dtype != pl.Object:
                return column.to_frame()
    wanted = (
        "give the number of items, a frame with a row for each item, or a list of ids of one type"
    )
    raise InvalidOption(option(items=given), f" is no catalog; {wanted}")


def in_lists(values: pl.Series) -> pl.Series:
    """Values as lists of different values without nulls; a single value is a list of one."""
    if isinstance(values.dtype, pl.Array):
        values = values.arr.to_list()
    frame = values.alias("#kinds").to_frame()
    lists = pl.col("#kinds") if isinstance(values.dtype, pl.List) else pl.concat_list("#kinds")
    return frame.select(lists.list.drop_nulls().list.unique(maintain_order=True)).to_series()


def features_of(frame: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame | None:
    """The features, a column of floats each; None if lists differ in length."""
    first = frame[names[0]]
    if isinstance(first.dtype, (pl.List, pl.Array)):
        lists = first.arr.to_list() if isinstance(first.dtype, pl.Array) else first
        sizes = lists.list.len().drop_nulls().unique()
        if len(sizes) != 1 or not sizes[0]:
            return None
        frame = lists.list.to_struct(fields=[f"#{i}" for i in range(sizes[0])]).struct.unnest()
    else:
        frame = frame.select(pl.col(name).alias(f"#{i}") for i, name in enumerate(names))
    return frame.cast(pl.Float64)


def units(names: Sequence[str]) -> list[pl.Expr]:
    """Vectors, given by the columns of their numbers, as vectors of length 1; a vector of zeros
    stays one.
    """
    norm = pl.sum_horizontal(*(pl.col(name) ** 2 for name in names)).sqrt()
    return [pl.when(norm > 0).then(pl.col(name) / norm).otherwise(0.0) for name in names]


def unit_features(items: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """A row per item: its features as a vector of length 1, a column of floats for each feature."""
    features = features_of(items, names)
    if (
        features is None
        or not features.select(
            pl.all_horizontal(pl.all().is_finite().fill_null(False).all())
        ).item()
    ):
        says = "items have features that are null, NaN, infinite, or lists of several lengths"
        raise InvalidData(f"{says}; give each all")
    return features.select(units(features.columns))


def _rows_at(values: pl.DataFrame, places: pl.Series) -> pl.DataFrame:
    """The rows at some places, 0 for null."""
    return values.select(pl.all().gather(places).fill_null(0.0))


NO_TABLES = Background()
