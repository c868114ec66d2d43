"""Items as all users were shown them: the words of catalog metrics, as expressions with a row per
item.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal, NamedTuple, Protocol, TypeAlias

import polars as pl

from .._support.option_values import Range
from .._support.polars_versions import exploded
from ..errors import Code, InvalidOption, Text, Verbatim, on, option
from .context import Persistence as Persistence

Weight: TypeAlias = Literal["count", "log2", "rbp"]
"""The exposure at a rank: 1 at every rank, 1 / log2(rank + 1), or (1 - p) p^(rank - 1)."""

Least: TypeAlias = Annotated[int, Range(least=1)]

TABLE: Literal["table"] = "table"
PAST: Literal["past"] = "past"
Depth: TypeAlias = int | Literal["table", "past"] | None
"""The rows that a sum is over: those of lists down to a rank, or of whole lists; all rows of the
table; the past."""

LABEL, SCORE, UNSEEN = "#label", "#score", "#unseen"
"""The plans' names of columns of rows that only some formulas read."""

RANK = pl.col("#rank")


class Sum(NamedTuple):
    """A sum over users that a formula asks for.

    Attributes
    ----------
    of
        The summand: of items an expression over rows, of users an aggregation of the rows of each.
    depth
        The rows.
    squared
        Whether each user counts with the square of its weight, as in a sum over pairs of users.
    by_user
        Whether the summand is an expression over the table of users, with or without a list, in
        place of their rows.
    """

    of: pl.Expr
    depth: Depth
    squared: bool = False
    by_user: bool = False


class Group(NamedTuple):
    """Items that belong together.

    Attributes
    ----------
    within
        Whether an item is one of them: an expression with a row per item.
    size
        The number of them in the catalog.
    """

    within: pl.Expr
    size: int


@dataclass
class Counted:
    """The sums that formulas ask for, by their names: those of each item, and those over all users.

    Attributes
    ----------
    items, users
        The sums.
    columns
        The columns of rows that they read, of those that not all lists have.
    threshold
        Whether a formula reads which rows are relevant.
    """

    items: dict[str, Sum] = field(default_factory=dict)
    users: dict[str, Sum] = field(default_factory=dict)
    columns: set[str] = field(default_factory=set)
    threshold: bool = False


def noted(sums: dict[str, Sum], name: str, x: Sum) -> str:
    """Note a sum, and return its name.

    It has a ' behind it if another sum has the name: texts leave out many options of Polars.
    """
    while name in sums and not sums[name].of.meta.eq(x.of):
        name += "'"
    sums[name] = x
    return name


class Known(Protocol):
    """The context of the lists: the catalog, and what users chose before."""

    #: The number of items in the catalog, if it is known.
    @property
    def size(self) -> int | None: ...

    #: Whether past interactions are known.
    @property
    def has_past(self) -> bool: ...

    #: The groups of the catalog's items; None if no column names them.
    @property
    def groups(self) -> Mapping[str, Group] | None: ...

    #: The popular items of the catalog and the others; None if the catalog does not name its items.
    def head_and_tail(self, head: float, tail: float | None) -> Mapping[str, Group] | None: ...


def weight_of(weight: Weight, p: float) -> pl.Expr:
    """The exposure that a rank gives, over the rows of lists."""
    if weight == "log2":
        return 1 / (RANK + 1).log(2)
    if weight == "count":
        return pl.lit(1.0)
    return (1 - p) * p ** (RANK - 1)


@dataclass(eq=False)
class Exposure:
    """The lists of all users as catalog metrics see them: expressions with a row per item, and
    numbers.

    Items that nobody was shown count 0. Items of the catalog may have no row, so a formula takes
    the number of items from `n_items`, never from the number of rows. A list of depth `k` holds the
    items of ranks 1 to `k`; with ``None`` all items. For an interval, the formula runs once per
    resample, in which each user counts as often as the resample draws it.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> @rf.catalog_metric(bounds=(0, 1))
    ... def top_item_share(e: rf.Exposure, k: int | None = None) -> pl.Expr:
    ...     "The share of all places that the item shown most often takes."
    ...     return e.share(k).max()
    >>> df = pl.DataFrame(
    ...     {"query_id": [1, 1, 2, 2], "doc_id": list("abac"), "score": [2.0, 1, 2, 1]}
    ... )
    >>> df.rank.items.catalog("top_item_share@2", ci=None)["value"].item()
    0.5
    >>> rf.unregister(top_item_share)
    """

    #: The rank of each row of a list, from 1 on, and the number of items in the list: words for
    #: `summed` and `of_users`.
    rank = RANK
    length = pl.col("#length")

    # what the call that runs the formula gives
    text: str
    counted: Counted
    known: Known
    figures: Mapping[str, float] = field(default_factory=dict)
    labels: bool = False
    threshold: float = 1

    # rows, for `summed`

    @property
    def label(self) -> pl.Expr:
        """The label of the item for the user; 0 if it is missing or negative. The metric is
        declared with ``labels=True``.
        """
        return self._label.clip(lower_bound=0).fill_null(0.0)

    @property
    def relevant(self) -> pl.Expr:
        """1.0 for an item that is relevant to the user, else 0.0. The metric is declared with
        ``labels=True``.
        """
        self.counted.threshold = True
        return (self._label >= self.threshold).fill_null(False).cast(pl.Float64)

    @property
    def _label(self) -> pl.Expr:
        says = "reads labels, which it does not declare; write @rf.catalog_metric(labels=True)"
        self._refuse_unless(self.labels, says)
        self.counted.columns.add(LABEL)
        return pl.col(LABEL)

    @property
    def score(self) -> pl.Expr:
        """The score of the item for the user, from 0 on; 0 for an item without one."""
        self.counted.columns.add(SCORE)
        return pl.col(SCORE).fill_null(0.0)

    @property
    def unseen(self) -> pl.Expr:
        """1.0 for an item that the user does not have in the past interactions, else 0.0."""
        self._refuse_without_past()
        self.counted.columns.add(UNSEEN)
        return pl.col(UNSEEN)

    def share_of_user(self, x: pl.Expr) -> pl.Expr:
        """`x` as a share of its sum over the same user's rows; 0 where that is 0."""
        return (x / x.sum().over("#user")).fill_nan(0.0)

    # items

    def summed(
        self, x: pl.Expr, k: int | None = None, *, over: Literal["lists", "table", "past"] = "lists"
    ) -> pl.Expr:
        """The sum of `x`, an expression over rows of the item, over users.

        The rows are those of the lists of depth `k`; of the ``"table"``, which may have items that
        are judged but not shown; or of the ``"past"`` interactions of the table's users. Only lists
        have a `length`; the past has no `rank`.
        """
        if over == PAST:
            self._refuse_without_past()
        depth: Depth = k if over == "lists" else over
        name = noted(self.counted.items, f"#items {x}@{depth}", Sum(x, depth))
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
        """The share of the users of the past interactions who have the item, also for rows; 0 for
        an item without any.
        """
        self._refuse_without_past()
        return pl.col("#popularity")

    @property
    def had(self) -> pl.Expr:
        """The number of users of the table who have the item in the past interactions."""
        return self.summed(pl.lit(1.0), over=PAST)

    def groups(self, head: float | None = None, tail: float | None = None) -> dict[str, Group]:
        """The groups of the catalog's items by name: those of ``on(group=...)``, or ``head`` and
        ``tail`` by popularity.

        `head` is the share of all past interactions that the most popular items reach before the
        tail starts. `tail` is the least share of the items of the past that are in the tail, as for
        ``tail_share``.
        """
        by_column = head is None and tail is None
        items = Verbatim("catalog")
        if by_column:
            groups = self.known.groups
            advice = on(group="provider", items=items)
        else:
            self._refuse_without_past()
            groups = self.known.head_and_tail(0.8 if head is None else head, tail)
            advice = on(items=items)
        says = "compares groups of items; give the items of the catalog, as "
        self._refuse_unless(groups, says, advice)
        return {**(groups or {})}

    def group_sums(
        self, x: pl.Expr, head: float | None = None, tail: float | None = None
    ) -> pl.Expr:
        """The sum of `x`, an expression with a row per item, over the items of each group: a row
        per group, as in `groups`.
        """
        groups = self.groups(head, tail).values()
        sums = [x.filter(group.within).sum() for group in groups]
        return exploded(pl.concat_list(sums))

    def group_sizes(self, head: float | None = None, tail: float | None = None) -> pl.Expr:
        """The number of items of each group in the catalog: a row per group, as in `groups`."""
        groups = self.groups(head, tail).values()
        sizes = [float(group.size) for group in groups]
        return pl.lit(pl.Series(sizes))

    def per_group(
        self, x: pl.Expr, head: float | None = None, tail: float | None = None
    ) -> pl.Expr:
        """The sum of `x` over the items of each group, divided by the number of its items in the
        catalog: a row per group.
        """
        return self.group_sums(x, head, tail) / self.group_sizes(head, tail)

    # numbers

    @property
    def n_items(self) -> pl.Expr:
        """The number of items in the catalog."""
        size = self.known.size
        says = (
            "divides by the number of items in the catalog, which recommendations do not tell; say "
        )
        command = ", or a file with a row for each"
        frame = Code(", or a frame or a list of their ids", command=command)
        number = option(items=1000)
        self._refuse_unless(size is not None, says, number, ", their number", frame)
        return pl.lit(float(size or 0))

    def of_users(self, x: pl.Expr, k: int | None = None, *, squared: bool = False) -> pl.Expr:
        """The sum of `x`, an aggregation of the rows of a user's list of depth `k`, over the users
        with such a list.

        Null adds nothing. With `squared` each user counts with the square of its weight in a
        resample.
        """
        return self._number(f"#users {x}@{k} {squared}", Sum(x, k, squared))

    @property
    def n_users(self) -> pl.Expr:
        """The number of users in the table, including users without a list."""
        return self._number("#n", Sum(pl.lit(1.0), None, by_user=True))

    def n_with(self, least: int = 1, k: int | None = None) -> pl.Expr:
        """The number of users with at least `least` items in their list of depth `k`."""
        return self.of_users(pl.len() >= least, k)

    def n_same(self, k: int | None = None) -> pl.Expr:
        """The number of users with a list: a sum over all pairs of users counts each of them as a
        pair with itself.
        """
        return self.of_users(pl.len() >= 1, k, squared=True)

    @property
    def past_popularity(self) -> pl.Expr:
        """The mean popularity of a user's past items, averaged over the users who have any."""
        self._refuse_without_past()
        past = pl.col("#past")
        total = self._number("#past", Sum(past, None, by_user=True))
        has_past = Sum(past.is_not_null(), None, by_user=True)
        return total / self._number("#users with a past", has_past)

    def _number(self, name: str, x: Sum) -> pl.Expr:
        known_as = noted(self.counted.users, name, x)
        return pl.lit(self.figures.get(known_as, math.nan))

    def _refuse_without_past(self) -> None:
        says = "compares with what users chose before; say "
        past = option(interactions=Verbatim("train"))
        frame = ", a frame with a row per user and item"
        self._refuse_unless(self.known.has_past, says, past, frame)

    def _refuse_unless(self, known: object, *says: Text) -> None:
        if not known:
            raise InvalidOption(f"{self.text} ", *says)
