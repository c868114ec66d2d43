"""Two tables beside the ranker's own: past interactions of users, and the items of the catalog."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from numbers import Integral
from typing import Annotated, Any

import polars as pl

from .._support.arrow_stream import from_stream
from .._support.option_kinds import check
from .._support.option_values import Range
from ..errors import Code, InvalidData, InvalidOption, Verbatim, on, option, shown
from .roles import require, require_all
from .steps import of_one_type

COUNT = "n"
"""The column of counts, if interactions are given as counts of items."""

SIZE = "#n"
"""The column of an item's number of users in `History.counts`."""

LISTED = "#item"
"""The column of ids that were given as a list."""


@dataclass(frozen=True, eq=False)
class Side:
    """A table beside the ranker's own, compared by identity; it caches what is computed from it.

    Attributes
    ----------
    frame
        Its rows.
    kept
        Cached results by their arguments; pickling leaves them out.
    """

    frame: pl.DataFrame
    kept: dict[Any, Any] = field(default_factory=dict, repr=False)

    def __getstate__(self) -> dict[str, object]:
        return {"frame": self.frame, "kept": {}}

    def __setstate__(self, state: dict[str, object]) -> None:
        for name, value in state.items():
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        return f"<{self.frame.height:,} rows of {', '.join(self.frame.columns)}>"


class Interactions(Side):
    """Past interactions: a row for each user and item; or a row for each item, with the number of its users as `n`."""

    @classmethod
    def of(cls, given: object) -> Interactions:
        """The interactions in a Polars frame."""
        if isinstance(given, Interactions):
            return given
        return cls(_rows(given, "interactions", "of users and items, or of items with their counts as n").collect())

    def named(self, query: Sequence[str], doc: str) -> History:
        """The interactions, with the names of their columns of users and items."""
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
        Further cached frames, by name.
    """

    pairs: pl.DataFrame
    key: tuple[str, ...]
    doc: str
    counts: pl.DataFrame
    kept: dict[Any, pl.DataFrame] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, frame: pl.DataFrame, query: Sequence[str], doc: str) -> History:
        """Check the columns, and count."""
        key = _key(frame.schema, query, doc, "interactions", counts=True)
        if not frame.height:
            raise InvalidData("interactions have no row; give the rows of users and items of the past")
        for name in (*key, doc):
            refuse_nameless(frame, name, "interactions", "item" if name == doc else "user")
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
        """Refuse counts of items where a metric needs users."""
        if not self.key:
            raise InvalidOption(
                f"it needs {what}, which counts of items do not tell; give the rows of users and items, as ",
                on(interactions=Verbatim("train")),
            )

    @cached_property
    def sizes(self) -> pl.Series:
        """The number of users of each item, ascending."""
        return self.counts[SIZE].sort()

    def percentiles(self) -> dict[float, float]:
        """The share of items that are at most as popular, by popularity; equally popular items share their mean rank."""
        rank = self.sizes.rank("average") / max(len(self.sizes), 1)
        return dict(zip(self.sizes.to_list(), rank.to_list(), strict=True))

    def levels(self) -> dict[float, float]:
        """The rank by falling popularity, 1 for the most popular items; equally popular items share one rank."""
        return dict(zip(self.sizes.unique().sort(descending=True).to_list(), itertools.count(1.0)))

    def tail_below(self, head: float) -> float:
        """The popularity below which items are in the long tail: the more popular ones have the share `head` of interactions."""
        falling = self.sizes.reverse()
        reached = (falling.cum_sum() >= head * self.n_rows).arg_true()
        return float(falling[reached[0]]) if len(reached) else 0.0

    def least_popular(self, tail: float) -> float:
        """The largest popularity in the long tail, if that is the share `tail` of all items, at least one."""
        return float(self.sizes[max(int(tail * len(self.sizes)), 1) - 1]) if len(self.sizes) else 0.0

    def in_tail(self, popularity: pl.Expr, head: float, tail: float | None) -> pl.Expr:
        """Whether an item of a popularity is in the long tail: below the head, or, with `tail`, among the least popular."""
        return popularity < self.tail_below(head) if tail is None else popularity <= self.least_popular(tail)

    def place(self, docs: pl.Series) -> pl.Series:
        """The number of each item's row in `counts`; null for an item without interactions."""
        return place_in(self.counts[self.doc], docs)

    def popularity(self, docs: pl.Series) -> pl.Series:
        """The number of users of each item; null for an item without interactions."""
        return self.counts[SIZE].gather(self.place(docs))


class Items(Side):
    """The catalog: a row for each item, with its properties."""

    @classmethod
    def of(cls, given: object) -> Items | int:
        """Read a catalog: a frame with a row per item; a list, an array or a Series of ids; or the number of items."""
        if isinstance(given, Items):
            return given
        if isinstance(given, Integral) and not isinstance(given, bool):
            size: int = check("items", given, Annotated[int, Range(least=1, most=10**15)])
            return size
        given = _frame(given)
        found = given.lazy().collect() if isinstance(given, (pl.DataFrame, pl.LazyFrame)) else _listed(given)
        if found.is_empty():
            raise InvalidOption(option(items=[]), " holds no item; give all items that could be shown, or their number")
        return cls(found)

    @property
    def listed(self) -> bool:
        """Whether the items came as ids in a list."""
        return self.frame.columns == [LISTED]

    def ids(self, doc: str) -> pl.Series:
        """The items, each once."""
        if (key := ("ids", doc)) not in self.kept:
            name = LISTED if self.listed else doc
            require(self.frame.schema, name, "doc", "items")
            refuse_nameless(self.frame.rename({name: doc}), doc, "items")
            self.kept[key] = self.frame[name].alias(doc).unique(maintain_order=True)
        return self.kept[key]  # type: ignore[no-any-return]

    def check(self, schema: pl.Schema, doc: str) -> None:
        """Refuse items whose ids cannot be compared with the ranker's table."""
        if not self.listed:
            if doc in self.frame.columns:
                _comparable(doc, schema, self.frame.schema, "items")
            return
        one, other = schema[doc], self.frame.schema[LISTED]
        if not _share(one, other):
            to = pl.String() if one in WORDS else one
            in_pandas = "str" if to == pl.String else repr(str(to).lower())
            raise InvalidData(
                f"column {doc!r} is {one} in the table and {other} in items; cast the latter",
                Code(
                    f"pl.Series(items).cast(pl.{to})",
                    f"pd.Series(items).astype({in_pandas})",
                    phrase=", as in items={}",
                ),
            )

    def rows(self, doc: str) -> pl.DataFrame:
        """The frame, after a check that each item has one row."""
        key = "rows", doc
        if key not in self.kept:
            self.ids(doc)
            if self.frame[doc].is_duplicated().any():
                raise InvalidData(f"items name an item of column {doc!r} twice; give one row for each item")
            self.kept[key] = self.frame
        return self.frame


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
        """Refuse tables whose columns of users and items cannot be compared with the ranker's table."""
        if doc is None:
            return
        if self.interactions is not None:
            history = self.interactions.named(query, doc)
            for name in (*history.key, doc):
                _comparable(name, schema, history.pairs.schema, "interactions")
        if isinstance(self.items, Items):
            self.items.check(schema, doc)


def looked_up(rows: pl.DataFrame, known: pl.DataFrame, key: Sequence[str]) -> pl.Series:
    """The last column of `known` for the key of each row; null for a missing key."""
    rows, known = of_common_types(rows, known, key)
    value = known.columns[-1]
    found = rows.select(key).join(known.rename({value: "#value"}), on=list(key), how="left", maintain_order="left")
    return found["#value"]


def of_common_types(one: pl.DataFrame, other: pl.DataFrame, key: Sequence[str]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Cast the key columns of two tables to common types."""
    for name in key:
        if one.schema[name] != other.schema[name]:
            both = common_type(one.schema[name], other.schema[name])
            one, other = (x.with_columns(pl.col(name).cast(both)) for x in (one, other))
    return one, other


def place_in(ids: pl.Series, given: pl.Series) -> pl.Series:
    """The place, from 0 on, of each given id among the distinct `ids`; null if missing."""
    known = pl.DataFrame({"#id": ids, "#place": pl.int_range(len(ids), dtype=pl.UInt32, eager=True)})
    return looked_up(given.to_frame("#id"), known, ["#id"])


WORDS = (pl.String, pl.Categorical, pl.Enum)


def common_type(one: pl.DataType, other: pl.DataType) -> pl.DataType:
    """The type in which ids of two tables are compared."""
    if pl.Null in (one, other):
        return other if one == pl.Null else one
    if one in WORDS and other in WORDS:
        return pl.String()
    if one.is_integer() and other.is_integer():
        return pl.Int128() if pl.UInt64 in (one, other) else pl.Int64()
    return one


def _share(one: pl.DataType, other: pl.DataType) -> bool:
    """Whether ids of the two types can be equal."""
    return common_type(one, other) == common_type(other, one)


def _comparable(name: str, schema: pl.Schema, others: pl.Schema, whose: str) -> None:
    one, other = schema[name], others[name]
    if not _share(one, other):
        raise InvalidData(
            f"column {name!r} is {one} in the table and {other} in {whose}; ",
            *of_one_type(name, {"df": one, whose: other}),
        )


NAMELESS = "column {!r} is null, so nobody knows which {} is meant; give every {} its id, or leave such rows out"


def refuse_nameless(rows: pl.DataFrame, name: str, frame: str = "df", of: str = "item") -> None:
    """Refuse rows that name no item, or no user."""
    if n := rows[name].null_count():
        code = Code(f"{frame}.drop_nulls({name!r})", f"{frame}.dropna(subset=[{name!r}])", phrase=", with {}")
        raise InvalidData(NAMELESS.format(name, of, of), code, f" (found in {n} row{'' if n == 1 else 's'})")


def pairs_of(
    given: object, schema: pl.Schema, query: Sequence[str], doc: str, whose: str
) -> tuple[pl.LazyFrame, list[str]]:
    """The pairs of user and item of another table, each once, with its columns of users.

    Query columns such as a run or a day may be missing there; its pairs then apply to every run or day.
    """
    rows = _rows(given, whose, "with a row per user and item")
    others = rows.collect_schema()
    users = _key(others, query, doc, whose)
    for name in (*users, doc):
        _comparable(name, schema, others, whose)
    return rows.select(*users, doc).unique(), [*users]


def _key(others: pl.Schema, query: Sequence[str], doc: str, whose: str, *, counts: bool = False) -> tuple[str, ...]:
    """The user columns of another table; it must have one (or, with `counts`, a column of counts) and the item column."""
    users = tuple(name for name in query if name in others)
    lacking = [] if users or (counts and COUNT in others) else [(query[-1], "query")]
    require_all(others, [*lacking, (doc, "doc")], whose)
    return users


def _frame(given: Any) -> object:
    """Turn a table with the Arrow PyCapsule interface into a Polars frame; return anything else unchanged."""
    table = None if isinstance(given, (pl.DataFrame, pl.LazyFrame)) else from_stream(given)
    return given if table is None else table


def _rows(given: object, whose: str, wanted: str) -> pl.LazyFrame:
    """The rows of a table beside the ranker's own."""
    found = _frame(given)
    if not isinstance(found, (pl.DataFrame, pl.LazyFrame)):
        raise InvalidOption(f"{whose}={shown(given)} is no frame; give one {wanted}")
    return found.lazy()


def _listed(given: Any) -> pl.DataFrame:
    """Ids in a Series, a list or an array as a column."""
    listed = given if isinstance(given, pl.Series) else given.tolist() if hasattr(given, "tolist") else given
    if isinstance(listed, (str, bytes)) or not isinstance(listed, (pl.Series, Collection)):
        raise InvalidOption(
            option(items=given),
            " is no catalog; give the number of items, a frame with a row for each item, or a list of ids",
        )
    try:
        column = listed.alias(LISTED) if isinstance(listed, pl.Series) else pl.Series(LISTED, list(listed))
    except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError):
        column = None
    if column is None or column.dtype == pl.Object:
        raise InvalidOption(option(items=given), " holds values that are no ids of one type; give all of one")
    return column.to_frame()
