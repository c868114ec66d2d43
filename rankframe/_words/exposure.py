"""Items as all users were shown them: the words of catalog metrics, as expressions with a row per item."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal, NamedTuple, TypeAlias

import polars as pl

from .._support.option_kinds import Range
from ..errors import Code, InvalidOption, Verbatim, on, option

__all__ = ["Counted", "Exposure", "Least", "Persistence", "Sum", "Weight", "weight_of"]

Weight: TypeAlias = Literal["count", "log2", "rbp"]
"""The exposure at a rank: 1 at every rank, 1 / log2(rank + 1), or (1 - p) p^(rank - 1)."""

Persistence: TypeAlias = Annotated[float, Range(above=0, below=1)]
Least: TypeAlias = Annotated[int, Range(least=1)]

RANK = pl.col("#rank")


class Sum(NamedTuple):
    """A sum over users that a formula asks for.

    Attributes
    ----------
    of
        The summand: of items an expression over rows, of users an aggregation of the rows of each.
    k
        The depth of the lists.
    squared
        Whether each user counts with the square of its weight, as in a sum over pairs of users.
    by_user
        Whether the summand is an expression over the table of users, with or without a list, in place of their rows.
    """

    of: pl.Expr
    k: int | None
    squared: bool = False
    by_user: bool = False


@dataclass
class Counted:
    """The sums that formulas ask for, by their names: those of each item, and those over all users."""

    items: dict[str, Sum] = field(default_factory=dict)
    users: dict[str, Sum] = field(default_factory=dict)


def weight_of(weight: Weight, p: float) -> pl.Expr:
    """The exposure that a rank gives, over the rows of lists."""
    if weight == "log2":
        return 1 / (RANK + 1).log(2)
    return pl.lit(1.0) if weight == "count" else (1 - p) * p ** (RANK - 1)


class Exposure:
    """The lists of all users as catalog metrics see them: expressions with a row per item, and numbers.

    Items that nobody was shown count 0; those of the catalog may have no row at all, so a formula takes the number of items
    from `n_items`, never from the number of rows. A list of depth `k` holds the items of ranks 1 to `k`; ``None`` is the
    whole list. When an interval is computed, the formula runs once per resample, in which each user counts as often as
    drawn.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> @rf.catalog_metric(bounds=(0, 1))
    ... def top_item_share(e: rf.Exposure, k: int | None = None) -> pl.Expr:
    ...     "The share of all places that the item shown most often takes."
    ...     return e.share(k).max()
    >>> df = pl.DataFrame({"query_id": [1, 1, 2, 2], "doc_id": list("abac"), "score": [2.0, 1, 2, 1]})
    >>> df.rank.catalog("top_item_share@2", ci=None)["value"].item()
    0.5
    >>> rf.unregister(top_item_share)
    """

    #: The rank of each row of a list, from 1 on, and the number of items in the list: words for `summed` and `of_users`.
    rank = RANK
    length = pl.col("#length")

    def __init__(
        self,
        text: str,
        counted: Counted,
        size: int | None,
        past: bool,
        figures: Mapping[str, float] | None = None,
        groups: Mapping[str, int] | None = None,
    ) -> None:
        self.text = text
        self.counted = counted
        self._size = size
        self._past = past
        self._figures = figures or {}
        self._groups = groups

    # items

    def summed(self, x: pl.Expr, k: int | None = None) -> pl.Expr:
        """The sum of `x`, an expression of `rank` and `length`, over the lists of depth `k` that hold the item."""
        name = f"#items {x}@{k}"
        self.counted.items[name] = Sum(x, k)
        return pl.col(name)

    def shown(self, k: int | None = None) -> pl.Expr:
        """The number of users who were shown the item."""
        return self.summed(pl.lit(1.0), k)

    def share(self, k: int | None = None) -> pl.Expr:
        """The share of all places in lists that the item takes; NaN where all lists are empty."""
        return self.shown(k) / self.shown(k).sum()

    def exposure(self, weight: Weight = "count", p: float = 0.8, k: int | None = None) -> pl.Expr:
        """The weights of the ranks at which the item was shown, added up over users."""
        return self.summed(weight_of(weight, p), k)

    @property
    def popularity(self) -> pl.Expr:
        """The share of the users of the past interactions who have the item, also for rows; 0 for an item without any."""
        self._require_past()
        return pl.col("#popularity")

    def per_group(self, x: pl.Expr) -> list[pl.Expr]:
        """The sum of `x` over the items of each group, divided by the number of items that the group has in the catalog."""
        if not self._groups:
            raise InvalidOption(
                f"{self.text} compares groups of items; name the column of groups in the catalog, as ",
                on(group="provider", items=Verbatim("catalog")),
            )
        group = pl.col("#group")
        return [x.filter(group == name).sum() / n for name, n in self._groups.items()]

    # numbers

    @property
    def n_items(self) -> pl.Expr:
        """The number of items in the catalog."""
        if self._size is None:
            raise InvalidOption(
                f"{self.text} divides by the number of items in the catalog, which recommendations do not tell; say ",
                option(items=1000),
                ", their number, or ",
                option(items=Verbatim("catalog")),
                Code(", a frame or a list of their ids", command=", a file with a row for each"),
            )
        return pl.lit(float(self._size))

    def of_users(self, x: pl.Expr, k: int | None = None, *, squared: bool = False) -> pl.Expr:
        """The sum of `x`, an aggregation of the rows of a user's list of depth `k`, over the users with such a list.

        Null adds nothing. With `squared` each user counts with the square of its weight in a resample.
        """
        return self._number(f"#users {x}@{k} {squared}", Sum(x, k, squared))

    @property
    def n_users(self) -> pl.Expr:
        """The number of users in the table, those without a list among them."""
        return self._number("#n", Sum(pl.lit(1.0), None, by_user=True))

    def n_with(self, least: int = 1, k: int | None = None) -> pl.Expr:
        """The number of users with at least so many items."""
        return self.of_users(pl.len() >= least, k)

    def n_same(self, k: int | None = None) -> pl.Expr:
        """The number of users with a list: a sum over all pairs of users counts each of them as a pair with itself."""
        return self.of_users(pl.len() >= 1, k, squared=True)

    @property
    def past_popularity(self) -> pl.Expr:
        """The mean popularity of a user's past items, averaged over the users who have any."""
        self._require_past()
        past = pl.col("#past")
        total = self._number("#past", Sum(past, None, by_user=True))
        return total / self._number("#users with a past", Sum(past.is_not_null(), None, by_user=True))

    def _number(self, name: str, x: Sum) -> pl.Expr:
        self.counted.users[name] = x
        return pl.lit(self._figures.get(name, math.nan))

    def _require_past(self) -> None:
        if not self._past:
            raise InvalidOption(
                f"{self.text} compares with what users chose before; say ",
                option(interactions=Verbatim("train")),
                ", a frame with a row per user and item",
            )
