"""What stands beside the lists: the catalog of all items, and the past interactions of users."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Literal, TypeAlias

import polars as pl

from .._table.policies import check_word
from .._table.roles import require, require_all
from .._table.run_and_judgments import SHOWN, typed
from .._table.setup import Setup
from .._table.steps import of_one_type
from ..errors import Code, InvalidData, InvalidOption, option, shown
from .lists import ITEM, RANK, item_column, refuse_nameless

__all__ = ["Beside", "Catalog", "Past", "Unknown", "require_pairs", "same_type"]

Unknown: TypeAlias = Literal["error", "drop"]
"""What becomes of items that are shown, but are not in the catalog."""


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
    """

    size: int | None = None
    ids: pl.Series | None = None
    drops: bool = False

    @classmethod
    def of(cls, items: Any, drops: bool, setup: Setup, schema: pl.Schema) -> Catalog:
        """The catalog as a caller gives it: a number, a frame with the column of items, or the items themselves."""
        if items is None:
            return cls()
        doc = item_column(setup, schema)
        if isinstance(items, Integral) and not isinstance(items, bool):
            if items < 1:
                raise InvalidOption(option(items=int(items)), " leaves no item to show; write their number, from 1 on")
            return cls(int(items))
        items = _frame(items)
        if isinstance(items, (pl.DataFrame, pl.LazyFrame)):
            require(items.collect_schema(), doc, "doc", "items")
            catalog = same_type(items.lazy().select(doc), schema, [doc], "items").collect()
        else:
            catalog = _column(items, doc, schema[doc]).to_frame()
        if catalog.is_empty():
            raise InvalidOption("items= holds no item; give all items that could be shown, or their number")
        refuse_nameless(catalog, doc, "items")
        ids = catalog[doc].unique(maintain_order=True)
        return cls(len(ids), _plain(ids), drops)

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
        strange = ~_plain(lists[ITEM]).is_in(self.ids.implode()) & lists[RANK].is_not_null()
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


def _frame(given: Any) -> Any:
    """A table of another library with the Arrow PyCapsule interface as a Polars frame; anything else as it is."""
    if isinstance(given, (pl.DataFrame, pl.LazyFrame)) or not hasattr(given, "__arrow_c_stream__"):
        return given
    return pl.DataFrame(given) if hasattr(given, "columns") else given


def _plain(ids: pl.Series) -> pl.Series:
    """Ids as they are compared: categories by their text."""
    return ids.cast(pl.String) if ids.dtype in (pl.Categorical, pl.Enum) else ids


def _column(items: Any, doc: str, dtype: pl.DataType) -> pl.Series:
    """Ids in a Series, list or array as a column of the table's type."""
    listed = items.tolist() if hasattr(items, "tolist") else items
    if isinstance(listed, (str, bytes)) or not isinstance(listed, (pl.Series, Collection)):
        raise InvalidOption(
            f"items={shown(items)} is no catalog; give the number of items, a frame with the column {doc!r}, or a list of ids"
        )
    try:
        column = listed.alias(doc) if isinstance(listed, pl.Series) else pl.Series(doc, list(listed))
        if column.dtype == pl.Null or (column.dtype.is_integer() and dtype.is_integer()):
            column = column.cast(dtype)
    except (TypeError, pl.exceptions.PolarsError):
        raise InvalidOption(f"items={shown(items)} holds values that are no ids of one type; give all of one") from None
    text = dtype in (pl.Categorical, pl.Enum)
    if _plain(column).dtype != (pl.String if text else dtype):
        to = pl.String() if text else dtype
        in_pandas = "str" if to == pl.String else repr(str(to).lower())
        raise InvalidData(
            f"column {doc!r} is {dtype} in the table and {column.dtype} in items; cast the latter",
            Code(f"pl.Series(items).cast(pl.{to})", f"pd.Series(items).astype({in_pandas})", phrase=", as in items={}"),
        )
    return column


def same_type(rows: pl.LazyFrame, schema: pl.Schema, names: Collection[str], called: str) -> pl.LazyFrame:
    """The rows of another table, whose ids must have the types that they have in the ranker's own."""
    rows = typed(rows, schema, [name for name in names if name in schema])
    other = rows.collect_schema()
    for name in names:
        if name in schema and other[name] != schema[name] and schema[name] != pl.Null:
            raise InvalidData(
                f"column {name!r} is {schema[name]} in the table and {other[name]} in {called}; ",
                *of_one_type(name, {"df": schema[name], called: other[name]}),
            )
    return rows


def require_pairs(rows: Any, setup: Setup, schema: pl.Schema, called: str) -> tuple[pl.LazyFrame, list[str], str]:
    """The pairs of user and item of another table, each once, with its columns of users and of items.

    Columns that only tell runs or days apart may be missing there: its pairs then hold for each of them.
    """
    rows = _frame(rows)
    if not isinstance(rows, (pl.DataFrame, pl.LazyFrame)):
        raise InvalidOption(f"{called}={shown(rows)} is no frame; give one with a row per user and item")
    doc = item_column(setup, schema)
    other = rows.collect_schema()
    users = [name for name in setup.roles.query if name in other]
    lacking = [] if users else [(setup.roles.query[-1], "query")]
    require_all(other, [*lacking, (doc, "doc")], called)
    return same_type(rows.lazy().select(*users, doc).unique(), schema, [*users, doc], called), users, doc


@dataclass(frozen=True)
class Past:
    """What users chose before.

    Attributes
    ----------
    users
        The columns of users.
    popularity
        The share of the users with a past who have an item, item by item.
    mean
        The mean popularity of each user's own items.
    """

    users: list[str]
    popularity: pl.DataFrame
    mean: pl.DataFrame

    @classmethod
    def of(cls, interactions: Any, setup: Setup, schema: pl.Schema) -> Past | None:
        """The past as a caller gives it: a frame with a row per user and item."""
        if interactions is None:
            return None
        lf, users, doc = require_pairs(interactions, setup, schema, "interactions")
        pairs = lf.collect()
        refuse_nameless(pairs, doc, "interactions")
        share = pl.len() / pairs.select(users).n_unique()
        popularity = pairs.group_by(pl.col(doc).alias(ITEM)).agg(share.alias("#popularity"))
        rows = pairs.join(popularity, left_on=doc, right_on=ITEM)
        return cls(users, popularity, rows.group_by(users).agg(pl.col("#popularity").mean().alias("#past")))


@dataclass(frozen=True)
class Beside:
    """What a caller gives beside the table: the catalog of items, past interactions, and what becomes of unknown items."""

    items: Any = None
    interactions: Any = None
    unknown_items: Unknown = "error"

    def __post_init__(self) -> None:
        check_word("unknown_items", self.unknown_items, Unknown)

    def read(self, setup: Setup, schema: pl.Schema) -> tuple[Catalog, Past | None]:
        """The catalog and the past, checked."""
        catalog = Catalog.of(self.items, self.unknown_items == "drop", setup, schema)
        return catalog, Past.of(self.interactions, setup, schema)
