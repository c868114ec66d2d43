"""Two side tables of a ranker: past interactions of users, and the items of the catalog."""

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
from ..errors import Code, InvalidData, InvalidOption, Text, Verbatim, on, option, shown
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
        results = self._results
        if name not in results:
            results[name] = compute()
        result: T = results[name]
        return result

    def __getstate__(self) -> dict[str, object]:
        state = {**vars(self)}
        state.pop("_results", None)
        return state


@dataclass(frozen=True, eq=False)
class SideTable(Cached):
    """A table of a ranker besides its own, compared by identity."""

    frame: pl.DataFrame

    def __repr__(self) -> str:
        return f"<{self.frame.height:,} rows of {', '.join(self.frame.columns)}>"


class Interactions(SideTable):
    """Past interactions: a row for each user and item, or for each item, with its users as `n`."""

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
        for name in key:
            refuse_nameless(frame, name, "interactions", "user")
        refuse_nameless(frame, doc, "interactions", "item")
        if key:
            pairs = frame.select(*key, doc).unique(maintain_order=True)
            n_users = pl.len().cast(pl.Float64).alias(SIZE)
            counts = pairs.group_by(doc, maintain_order=True).agg(n_users)
            return cls(pairs, key, doc, counts)
        _refuse_other_numbers(frame[COUNT])
        if frame[doc].is_duplicated().any():
            raise InvalidData(
                f"interactions name an item of column {doc!r} twice; give one row for each item"
            )
        n_users = pl.col(COUNT).cast(pl.Float64).alias(SIZE)
        counts = frame.select(doc, n_users).filter(pl.col(SIZE) > 0)
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
            says = f"it needs {what}, which counts of items do not tell"
            give = "; give the rows of users and items, as "
            raise InvalidOption(says + give, on(interactions=Verbatim("train")))

    @cached_property
    def sizes(self) -> pl.Series:
        """The number of users of each item, ascending."""
        return self.counts[SIZE].sort()

    def percentiles(self) -> dict[float, float]:
        """The share of items that are at most as popular, by popularity.

        Equally popular items share their mean rank.
        """
        share = self.sizes.rank("average") / max(len(self.sizes), 1)
        return dict(zip(self.sizes.to_list(), share.to_list(), strict=True))

    def levels(self) -> dict[float, float]:
        """The rank by falling popularity, 1 for the most popular items.

        Equally popular items share one rank.
        """
        falling = self.sizes.unique().sort(descending=True)
        return dict(zip(falling.to_list(), itertools.count(1.0)))

    def in_tail(self, popularity: pl.Expr, head: float, tail: float | None) -> pl.Expr:
        """Whether an item of a popularity is in the long tail.

        With `tail`, the tail is that share of all items, at least one, the least popular. Otherwise
        it is below the head, the more popular items with the share `head` of interactions.
        """
        sizes = self.sizes
        if tail is not None:
            n_items = max(int(tail * len(sizes)), 1)
            most = float(sizes[n_items - 1]) if len(sizes) else 0.0
            return popularity <= most
        falling = sizes.reverse()
        reached = (falling.cum_sum() >= head * self.n_rows).arg_true()
        least = float(falling[reached[0]]) if len(reached) else 0.0
        return popularity < least

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
        item = self.place(self.pairs[self.doc])
        return pl.DataFrame({USER: user, ITEM: item})

    def codes(self, user: str, item: str) -> pl.Expr:
        """One number for a user and an item, given by columns of numbers."""
        n_items = self.counts.height
        user_number = pl.col(user).cast(pl.Int64)
        item_number = pl.col(item).cast(pl.Int64)
        return user_number * n_items + item_number

    @cached_property
    def known_codes(self) -> pl.Series:
        """The codes of the interactions, ascending."""
        return self.numbers.select(self.codes(USER, ITEM)).to_series().sort()

    @cached_property
    def similar_items(self) -> pl.DataFrame:
        """A row per pair of items that a user had: the cosine of the sets of their users."""
        had = self.numbers.lazy()
        other = had.rename({ITEM: "#other"})
        pairs = had.join(other, on=USER).group_by(ITEM, "#other")
        common = pairs.agg(pl.len().cast(pl.Float64).alias("#both"))
        sizes = pl.lit(self.counts[SIZE])
        norms = (sizes.gather(ITEM) * sizes.gather("#other")).sqrt()
        cosine = pl.col("#both") / norms
        return common.select(ITEM, "#other", cosine.alias("#cosine")).collect()

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
        code = self.codes("user", "item").fill_null(-1)
        codes = rows.select(code).to_series().to_numpy()
        place = np.searchsorted(known[:-1], codes)
        is_seen = known[place] == codes
        return pl.Series(is_seen.astype(np.float64))

    def co_occurring(self, rows: pl.DataFrame) -> pl.Series:
        """The mean cosine of each row's item and its user's items; null for a user without any."""
        pairs = rows.select(pl.col("user").alias(USER), pl.col("item").alias(ITEM))
        pairs = pairs.with_row_index("#row")
        had = self.numbers.rename({ITEM: "#other"})
        both = pairs.join(had, on=USER)
        both = both.join(self.similar_items, on=[ITEM, "#other"], how="left")
        # The last bit of a sum depends on the order of rows, and the optimizer drops a sort inside
        # the mean.
        cosine = pl.col("#cosine")
        terms = both.select("#row", cosine.fill_null(0.0)).sort("#row", "#cosine")
        means = terms.group_by("#row", maintain_order=True).agg(cosine.mean())
        means_of_rows = pairs.select("#row").join(
            means, on="#row", how="left", maintain_order="left"
        )
        return means_of_rows["#cosine"].alias("#mean")

    def similar_features(
        self, rows: pl.DataFrame, features: pl.DataFrame, profiles: pl.DataFrame
    ) -> pl.Series:
        """The mean cosine of the features of each row's item and of its user's items.

        `features` and `profiles` have a row for each item and user, by number; a missing item has
        the cosine 0, and the result is null without a user.
        """
        user = rows["user"]
        item_features = _rows_at(features, rows["item"])
        profile = _rows_at(profiles, user)
        products = [profile[name] * item_features[name] for name in features.columns]
        cosine = pl.when(user.is_not_null()).then(pl.sum_horizontal(pl.all()))
        return pl.DataFrame(products).select(cosine).to_series()

    # profiles of users

    def categories(self, items: pl.DataFrame) -> pl.DataFrame:
        """A row per user and category: the share of the category in the user's items.

        Each item is divided evenly among its categories. `items` has a row for each item, with its
        category or a list of them.
        """
        categories = looked_up(self.pairs.select(self.doc), items, [self.doc])
        lists = pl.DataFrame([self.numbers[USER], in_lists(categories).alias("kind")])
        n_kinds = pl.col("kind").list.len()
        lists = lists.filter(n_kinds > 0).with_columns(share=1 / n_kinds)
        kinds = exploded(lists, "kind").group_by(USER, "kind", maintain_order=True)
        share = pl.col("share")
        shares = kinds.agg(share.sum())
        return shares.with_columns(share / share.sum().over(USER))

    def features(self, ids: pl.Series, features: pl.DataFrame) -> pl.DataFrame:
        """A row per user, in the order of their numbers: the mean features of the user's items.

        `ids` names the rows of `features`.
        """
        place = place_in(ids, self.pairs[self.doc])
        had = _rows_at(features, place).with_columns(self.numbers[USER])
        means = had.group_by(USER).agg(pl.col(features.columns).mean())
        return means.sort(USER).drop(USER)


def _refuse_other_numbers(counts: pl.Series) -> None:
    """Refuse a column of counts that holds something else."""
    if counts.dtype.is_numeric():
        is_count = counts.cast(pl.Float64).is_between(0, 1e15)
        if is_count.fill_null(False).all():
            return
    what = f"column {COUNT!r} of interactions holds {counts.dtype} that are no counts"
    raise InvalidData(f"{what}; give each item the number of its users")


class Items(SideTable):
    """The catalog: a row for each item, with its properties; or the ids that came in a list."""

    @property
    def listed(self) -> bool:
        """Whether the items came as ids in a list."""
        return self.frame.columns == [LISTED]

    def ids(self, doc: str) -> pl.Series:
        """The items, each once."""
        return self.once(("ids", doc), lambda: self._ids(doc))

    def _ids(self, doc: str) -> pl.Series:
        name = self.column_of_ids(doc)
        require(self.frame.schema, name, "doc", "items")
        ids = self.frame.select(pl.col(name).alias(doc))
        refuse_nameless(ids, doc, "items")
        return ids[doc].unique(maintain_order=True)

    def column_of_ids(self, doc: str) -> str:
        """The name of the column that names items, where the table names them in `doc`."""
        return LISTED if self.listed else doc

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
        past = self.interactions
        if past is not None and not isinstance(past, Interactions):
            wanted = "of users and items, or of items with their counts as n"
            rows = _rows(past, "interactions", wanted).collect()
            object.__setattr__(self, "interactions", Interactions(rows))
        items = self.items
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
        """Refuse tables whose users and items cannot be compared with the ranker's table."""
        if doc is None:
            return
        if self.interactions is not None:
            history = self.interactions.named(query, doc)
            others = history.pairs.schema
            for name in (*history.key, doc):
                refuse_other_type(name, schema[name], others[name], "interactions")
        items = self.items
        if isinstance(items, Items):
            ids = items.column_of_ids(doc)
            if self.has(ids):
                dtype = items.frame.schema[ids]
                refuse_other_type(doc, schema[doc], dtype, "items", listed=items.listed)


def looked_up(rows: pl.DataFrame, known: pl.DataFrame, key: Sequence[str]) -> pl.Series:
    """The last column of `known` for the key of each row; null for a missing key."""
    rows, known = of_common_types(rows, known, key)
    known = known.rename({known.columns[-1]: "#value"})
    values = rows.select(key).join(known, on=list(key), how="left", maintain_order="left")
    return values["#value"]


def of_common_types(
    one: pl.DataFrame, other: pl.DataFrame, key: Sequence[str]
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Cast the key columns of two tables to common types."""
    casts = []
    for name in key:
        dtype = one.schema[name]
        its_dtype = other.schema[name]
        if dtype != its_dtype:
            casts.append(pl.col(name).cast(common_type(dtype, its_dtype)))
    return one.with_columns(casts), other.with_columns(casts)


def place_in(ids: pl.Series, given: pl.Series) -> pl.Series:
    """The place, from 0 on, of each given id among the distinct `ids`; null if missing."""
    places = pl.int_range(len(ids), dtype=pl.UInt32, eager=True)
    known = pl.DataFrame({"#id": ids, "#place": places})
    return looked_up(given.to_frame("#id"), known, ["#id"])


def common_type(one: pl.DataType, other: pl.DataType) -> pl.DataType:
    """The type in which ids of two tables are compared."""
    if one == pl.Null:
        return other
    if one in WORDS and other in WORDS:
        return pl.String()
    if one.is_integer() and other.is_integer():
        return pl.Int128() if pl.UInt64 in (one, other) else pl.Int64()
    return one


def refuse_other_type(
    name: str, one: pl.DataType, other: pl.DataType, whose: str, *, listed: bool = False
) -> None:
    """Refuse ids of two types that cannot be equal."""
    if common_type(one, other) == common_type(other, one):
        return
    advice: tuple[Text, ...] = ("give ids of one type",)
    if not listed:
        advice = of_one_type(name, {"df": one, whose: other})
    says = f"column {name!r} is {one} in the table and {other} in {whose}; "
    raise InvalidData(says, *advice)


def refuse_nameless(rows: pl.DataFrame, name: str, frame: str = "df", of: str = "item") -> None:
    """Refuse rows that name no item, or no user."""
    n_nameless = rows[name].null_count()
    if not n_nameless:
        return
    says = (
        f"column {name!r} is null, so nobody knows which {of} is meant; give every {of} its "
        "id, or leave such rows out"
    )
    polars = f"{frame}.drop_nulls({name!r})"
    pandas = f"{frame}.dropna(subset=[{name!r}])"
    ending = "" if n_nameless == 1 else "s"
    where = f" (found in {n_nameless} row{ending})"
    raise InvalidData(says, Code(polars, pandas, phrase=", with {}"), where)


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
        refuse_other_type(name, schema[name], others[name], whose)
    pairs = rows.select(*users, doc).unique()
    return pairs, [*users]


def _key(
    others: pl.Schema, query: Sequence[str], doc: str, whose: str, *, counts: bool = False
) -> tuple[str, ...]:
    """The user columns of another table, which must have one, and the item column.

    With `counts`, a column of counts may stand in place of users.
    """
    users = tuple(name for name in query if name in others)
    needed = [(doc, "doc")]
    if not users and not (counts and COUNT in others):
        needed = [(query[-1], "query"), *needed]
    require_all(others, needed, whose)
    return users


def _frame(given: object) -> pl.LazyFrame | None:
    """The rows of a frame, or of a table with the Arrow PyCapsule interface; else None."""
    if isinstance(given, (pl.DataFrame, pl.LazyFrame)):
        return given.lazy()
    frame = from_stream(given)
    return None if frame is None else frame.lazy()


def _rows(given: object, whose: str, wanted: str = "with a row per user and item") -> pl.LazyFrame:
    """The rows of a side table."""
    rows = _frame(given)
    if rows is None:
        raise InvalidOption(f"{whose}={shown(given)} is no frame; give one {wanted}")
    return rows


def _items_in(given: Any) -> Items | int:
    """A catalog: a frame with a row per item, ids in a list or a Series, or the number of items."""
    if isinstance(given, Integral) and not isinstance(given, bool):
        size: int = check("items", given, Annotated[int, Range(least=1, most=10**15)])
        return size
    frame = _frame(given)
    items = _listed(given) if frame is None else frame.collect()
    if items.is_empty():
        says = " holds no item; give all items that could be shown, or their number"
        raise InvalidOption(option(items=[]), says)
    return Items(items)


def _listed(given: Any) -> pl.DataFrame:
    """Ids in a Series, a list or an array as a column."""
    ids = given.tolist() if hasattr(given, "tolist") else given
    column = pl.Series(dtype=pl.Object)
    with suppress(TypeError, ValueError, OverflowError, pl.exceptions.PolarsError):
        if isinstance(ids, pl.Series):
            column = ids
        elif not isinstance(ids, (str, bytes)):
            column = pl.Series(list(ids))
    if column.dtype != pl.Object:
        return column.to_frame(LISTED)
    wanted = (
        "give the number of items, a frame with a row for each item, or a list of ids of one type"
    )
    raise InvalidOption(option(items=given), f" is no catalog; {wanted}")


def in_lists(values: pl.Series) -> pl.Series:
    """Values as lists of different values without nulls; a single value is a list of one."""
    if isinstance(values.dtype, pl.Array):
        values = values.arr.to_list()
    lists = pl.col("#kinds")
    if not isinstance(values.dtype, pl.List):
        lists = pl.concat_list(lists)
    different = lists.list.drop_nulls().list.unique(maintain_order=True)
    return values.to_frame("#kinds").select(different).to_series()


def features_of(frame: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame | None:
    """The features, a column of floats each; None if lists differ in length."""
    first = frame[names[0]]
    if isinstance(first.dtype, pl.Array):
        first = first.arr.to_list()
    if isinstance(first.dtype, pl.List):
        sizes = first.list.len().drop_nulls().unique()
        if len(sizes) != 1 or not sizes[0]:
            return None
        fields = [f"#{i}" for i in range(sizes[0])]
        features = first.list.to_struct(fields=fields).struct.unnest()
    else:
        features = frame.select(pl.col(name).alias(f"#{i}") for i, name in enumerate(names))
    return features.cast(pl.Float64)


def units(names: Sequence[str]) -> list[pl.Expr]:
    """Vectors, by the columns of their numbers, at length 1; a vector of zeros stays one."""
    squares = [pl.col(name) ** 2 for name in names]
    norm = pl.sum_horizontal(*squares).sqrt()
    return [pl.when(norm > 0).then(pl.col(name) / norm).otherwise(0.0) for name in names]


def unit_features(items: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """A row per item: its features as a vector of length 1, a column of floats for each feature."""
    features = features_of(items, names)
    if features is not None:
        are_finite = pl.all().is_finite().fill_null(False).all()
        if features.select(pl.all_horizontal(are_finite)).item():
            return features.select(units(features.columns))
    says = "items have features that are null, NaN, infinite, or lists of several lengths"
    raise InvalidData(f"{says}; give each all")


def _rows_at(values: pl.DataFrame, places: pl.Series) -> pl.DataFrame:
    """The rows at some places, 0 for null."""
    return values.select(pl.all().gather(places).fill_null(0.0))


NO_TABLES = Background()
