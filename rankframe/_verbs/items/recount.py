"""The sums that formulas of catalog metrics need, counted for any weights of the users."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import polars as pl

from ..._catalog.call import Call
from ..._support.draws import counts, each
from ..._support.floats import Floats, Integers, np
from ..._support.progress import Progress
from ..._words.exposure import PAST, TABLE, UNSEEN, Counted, Depth, Exposure, Sum
from ..._words.pairs import starts_of
from ...errors import InvalidOption
from ..sample.resampling import Resampling
from .item_tables import ITEM, RANK, CatalogAndPast

USER, PLACE, LENGTH = "#user", "#place", "#length"


@dataclass(frozen=True)
class ItemMetrics:
    """The requested metrics, with the catalog and the past.

    Attributes
    ----------
    calls
        The metrics.
    known
        The catalog and the past.
    relevant
        The least label that is relevant, for metrics without a threshold of their own.
    """

    calls: tuple[Call, ...]
    known: CatalogAndPast
    relevant: float

    @property
    def size(self) -> int | None:
        """The number of items in the catalog, if it is known."""
        return self.known.size

    def formulas(self, figures: Mapping[str, float] | None = None) -> tuple[list[pl.Expr], Counted]:
        """The values as expressions over the items' sums, and the sums that they need; `figures`
        are the sums over users.
        """
        counted, values = Counted(), []
        for call in self.calls:
            relevant = self.relevant if call.relevant is None else call.relevant
            counted.threshold = False
            exposure = Exposure(
                call.text, counted, self.known, figures or {}, call.labels, relevant
            )
            value = call.metric.formula(exposure, **call.arguments)
            if call.relevant is not None and not counted.threshold:
                raise InvalidOption(
                    f"{call.text} takes no threshold of relevance; leave the option relevant out"
                )
            values.append(value.cast(pl.Float64).alias(call.text))
        return values, counted

    @cached_property
    def counted(self) -> Counted:
        """The sums that the formulas need; raises the error of a formula that lacks a table or a
        column.
        """
        return self.formulas()[1]

    @property
    def depths(self) -> set[Depth]:
        """How deep the sums look into the lists."""
        sums = (*self.counted.items.values(), *self.counted.users.values())
        return {x.depth for x in sums if not x.by_user}

    @property
    def columns(self) -> Set[str]:
        """The columns of lists that the sums read, beside users, items and ranks."""
        return self.counted.columns - {UNSEEN}

    def item_type(self, lists: pl.DataFrame) -> pl.DataType:
        """The type of items in the sums: that of the lists, or a common one if items of the past
        count.
        """
        past, sums = self.known.past, self.counted.items.values()
        counts_past = past is not None and any(x.depth == PAST for x in sums)
        return (
            past.type_of(lists.schema[ITEM])
            if past is not None and counts_past
            else lists.schema[ITEM]
        )


class CountedRows(NamedTuple):
    """CountedRows of users and items, sorted by item: the user of each, and where the rows of each
    item start.
    """

    user: Integers
    starts: Integers
    items: Integers


def users_of(lists: pl.DataFrame, query: Sequence[str]) -> pl.DataFrame:
    """The users of lists in the order of their ids, so that draws do not depend on the order of
    rows.
    """
    return lists.select(query).unique().sort(query)


class Recount:
    """The lists of some users, ready to be counted with any weights.

    Parameters
    ----------
    lists
        A row per user and item.
    query
        The columns of users.
    users
        The users; a weight is that of the user in the same row.
    metrics
        The metrics whose sums are counted.
    """

    def __init__(
        self, lists: pl.DataFrame, query: Sequence[str], users: pl.DataFrame, metrics: ItemMetrics
    ) -> None:
        self.n, self.metrics = users.height, metrics
        counted, known = metrics.counted, metrics.known
        of_users = users.with_row_index(USER)
        depths = metrics.depths
        rows, past = rows_of(lists, query, of_users, metrics, depths)
        items = (
            pl.concat([rows.select(ITEM), past.select(ITEM)])
            .unique()
            .sort(ITEM)
            .with_row_index(PLACE)
        )
        items = known.described(items)
        by_item = pl.col(PLACE).cast(pl.UInt64) * self.n + pl.col(
            USER
        )  # one number sorts faster than two columns
        rows, past = (x.join(items, on=ITEM).sort(by_item) for x in (rows, past))
        if known.past is not None:
            of_users = of_users.with_columns(known.past.mean_of(of_users).alias("#past"))
        self.items = items
        self.rows: dict[Depth, CountedRows] = {}
        self.added: dict[str, tuple[Depth, Floats | float]] = {}
        frames: dict[Depth, pl.DataFrame] = {}
        for depth in depths:
            down = past if depth == PAST else down_to(rows, depth)
            user, place = down[USER].to_numpy().astype(np.int64), down[PLACE].to_numpy()
            lengths = np.bincount(user, minlength=self.n).astype(np.uint32)
            frames[depth] = down.with_columns(pl.Series(LENGTH, lengths[user]))
            starts = starts_of(place)
            self.rows[depth] = CountedRows(user, starts, place[starts].astype(np.int64))
        for name, x in counted.items.items():
            column = (
                frames[x.depth].with_columns(x.of.cast(pl.Float64).alias("#x"))["#x"].to_numpy()
            )
            constant = (
                column.size and (column == column[0]).all()
            )  # as if all lists have one length
            self.added[name] = x.depth, float(column[0]) if constant else column
        self.per_user = self._of_users(counted.users, frames, of_users)
        self._formulas: tuple[dict[str, float], list[pl.Expr]] | None = None

    def _of_users(
        self, sums: Mapping[str, Sum], frames: Mapping[Depth, pl.DataFrame], users: pl.DataFrame
    ) -> dict[str, tuple[Floats, bool]]:
        """The summand of each user, 0 for one without, and whether the weight is squared."""
        summands = {name: x.of.cast(pl.Float64).fill_null(0.0) for name, x in sums.items()}
        found = users.select(
            USER, **{name: summands[name] for name, x in sums.items() if x.by_user}
        )
        for depth, rows in frames.items():
            of_rows = {
                name: summands[name]
                for name, x in sums.items()
                if x.depth == depth and not x.by_user
            }
            if of_rows:
                values = rows.group_by(USER).agg(**of_rows)
                found = found.join(values, on=USER, how="left", maintain_order="left")
        return {
            name: (found[name].fill_null(0.0).to_numpy(), x.squared) for name, x in sums.items()
        }

    def numbers(self, weights: Floats) -> dict[str, float]:
        """The sums over users."""
        return {
            name: float((weights**2 if squared else weights) @ x)
            for name, (x, squared) in self.per_user.items()
        }

    def table(self, weights: Floats) -> pl.DataFrame:
        """The items that were shown, with their sums."""
        drawn: dict[Depth, Floats] = {
            depth: weights[rows.user] for depth, rows in self.rows.items()
        }
        counted: dict[Depth, Floats] = {
            depth: self._by_item(depth, x) for depth, x in drawn.items()
        }
        columns = []
        for name, (depth, x) in self.added.items():
            found = (
                counted[depth] * x
                if isinstance(x, float)
                else self._by_item(depth, drawn[depth] * x)
            )
            columns.append(pl.Series(name, found))
        return self.items.hstack(columns)

    def _by_item(self, depth: Depth, x: Floats) -> Floats:
        """The sums of the rows of a depth, item by item."""
        rows, found = self.rows[depth], np.zeros(self.items.height)
        if len(rows.starts):
            found[rows.items] = np.add.reduceat(x, rows.starts)
        return found

    def plain(self) -> list[float]:
        """The values of the metrics, each user counting once."""
        return self.values(np.ones(self.n), check=True)

    def values(self, weights: Floats, *, check: bool = False) -> list[float]:
        """The values of the metrics, NaN if undefined."""
        numbers = self.numbers(weights)
        if (
            self._formulas is None or self._formulas[0] != numbers
        ):  # the number of users is the same in all resamples
            self._formulas = numbers, self.metrics.formulas(numbers)[0]
        return evaluated(self.metrics, self.table(weights), self._formulas[1], check=check)


def rows_of(
    lists: pl.DataFrame,
    query: Sequence[str],
    users: pl.DataFrame,
    metrics: ItemMetrics,
    depths: Set[Depth],
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The rows of the table and of the past that any depth includes, with the numbers of users."""
    past, of_type = metrics.known.past, pl.col(ITEM).cast(metrics.item_type(lists))
    rows = lists if TABLE in depths else down_to(lists, deepest(depths))
    rows = rows.join(users, on=query, nulls_equal=True)
    if past is not None and UNSEEN in metrics.counted.columns:
        rows = rows.with_columns(past.unseen(rows).alias(UNSEEN))
    had = rows.select(USER, ITEM).clear()
    if past is not None and PAST in depths:
        had = past.of(users, USER)
        had = had.filter(metrics.known.catalog.has(had[ITEM]))
    return rows.with_columns(of_type), had.with_columns(of_type)


def down_to(rows: pl.DataFrame, depth: Depth) -> pl.DataFrame:
    """The rows of lists down to a depth, or all rows of the table."""
    if depth == TABLE:
        return rows
    return rows.filter(pl.col(RANK).is_not_null() if depth is None else pl.col(RANK) <= depth)


def deepest(depths: Set[Depth]) -> int | None:
    """The depth of lists that holds all others."""
    return None if None in depths else max((k for k in depths if isinstance(k, int)), default=0)


def evaluated(
    metrics: ItemMetrics, table: pl.DataFrame, formulas: list[pl.Expr], *, check: bool = False
) -> list[float]:
    """The values of the metrics from their formulas and the sums of items, NaN if undefined.

    With `check`, a formula that gives a value for each item is refused.
    """
    if check:
        for call, value in zip(metrics.calls, formulas, strict=True):
            if (n := table.select(value).height) != 1:
                says = f"{call.text} gives {n} values, one for each item"
                raise InvalidOption(f"{says}; a catalog metric gives one, as of x.sum()")
    return [float("nan") if x is None else x for x in table.select(formulas).row(0)]


def resamples_of(recount: Recount, resampling: Resampling, progress: Progress) -> Floats:
    """The values of each resample of the users, a row per resample; none of fewer than two
    users.
    """
    if recount.n < 2:
        return np.empty((0, len(recount.metrics.calls)))
    drawn = each(counts, resampling.resamples, resampling.seed, recount.n, progress)
    return np.array([recount.values(weights) for weights in drawn])


def about(
    value: Sequence[float], found: Floats, ci: float, calls: Sequence[Call] | None
) -> tuple[Floats, Floats]:
    """The interval about each value: the spread of the resamples' values about their mean, cut at a
    metric's bounds.
    """
    ends = np.full((2, len(value)), np.nan)
    tails = (1 - ci) / 2, (1 + ci) / 2
    for i, x in enumerate(value):
        of_metric = found[:, i][np.isfinite(found[:, i])]
        if len(of_metric) and np.isfinite(x):
            ends[:, i] = x + np.quantile(of_metric, tails) - of_metric.mean()
    if calls is not None:
        low, high = zip(*(call.bounds for call in calls), strict=True)
        ends = np.clip(
            ends,
            [-np.inf if x is None else x for x in low],
            [np.inf if x is None else x for x in high],
        )
    return ends[0], ends[1]
