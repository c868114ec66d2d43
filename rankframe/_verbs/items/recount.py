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
        """The values as expressions over the items' sums, and the sums that they need.

        `figures` are the sums over users.
        """
        needed = Counted()
        values = []
        for call in self.calls:
            relevant = self.relevant if call.relevant is None else call.relevant
            needed.threshold = False
            exposure = Exposure(call.text, needed, self.known, figures or {}, call.labels, relevant)
            value = call.metric.formula(exposure, **call.arguments)
            if call.relevant is not None and not needed.threshold:
                says = "takes no threshold of relevance; leave the option relevant out"
                raise InvalidOption(f"{call.text} {says}")
            values.append(value.cast(pl.Float64).alias(call.text))
        return values, needed

    @cached_property
    def counted(self) -> Counted:
        """The sums that the formulas need; a formula that lacks a table or a column is refused."""
        return self.formulas()[1]

    @property
    def depths(self) -> set[Depth]:
        """How deep the sums look into the lists."""
        needed = self.counted
        sums = (*needed.items.values(), *needed.users.values())
        return {x.depth for x in sums if not x.by_user}

    @property
    def columns(self) -> Set[str]:
        """The columns of lists that the sums read, beside users, items and ranks."""
        return self.counted.columns - {UNSEEN}

    def item_type(self, lists: pl.DataFrame) -> pl.DataType:
        """The type of items: that of the lists, or a common one if items of the past count."""
        past = self.known.past
        of_lists = lists.schema[ITEM]
        sums = self.counted.items.values()
        counts_past = any(x.depth == PAST for x in sums)
        if past is None or not counts_past:
            return of_lists
        return past.type_of(of_lists)


class CountedRows(NamedTuple):
    """Rows by item: the user of each row, where the rows of each item start, and the items."""

    user: Integers
    starts: Integers
    items: Integers


def users_of(lists: pl.DataFrame, query: Sequence[str]) -> pl.DataFrame:
    """The users of lists, sorted, so that draws do not depend on the order of rows."""
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
        self.n = users.height
        self.metrics = metrics
        needed = metrics.counted
        known = metrics.known
        of_users = users.with_row_index(USER)
        depths = metrics.depths
        shown, had = rows_of(lists, query, of_users, metrics, depths)
        every_item = pl.concat([shown.select(ITEM), had.select(ITEM)])
        items = every_item.unique().sort(ITEM)
        self.items = known.described(items.with_row_index(PLACE))
        # One number sorts faster than two columns.
        place = pl.col(PLACE).cast(pl.UInt64)
        by_item = place * self.n + pl.col(USER)
        items = self.items
        shown = shown.join(items, on=ITEM).sort(by_item)
        had = had.join(items, on=ITEM).sort(by_item)
        self.rows: dict[Depth, CountedRows] = {}
        frames: dict[Depth, pl.DataFrame] = {}
        for depth in depths:
            rows = had if depth == PAST else down_to(shown, depth)
            user = rows[USER].to_numpy().astype(np.int64)
            lengths = np.bincount(user, minlength=self.n).astype(np.uint32)
            length = pl.Series(LENGTH, lengths[user])
            frames[depth] = rows.with_columns(length)
            places = rows[PLACE].to_numpy()
            starts = starts_of(places)
            items_of_rows = places[starts].astype(np.int64)
            self.rows[depth] = CountedRows(user, starts, items_of_rows)
        self.added: dict[str, tuple[Depth, Floats | float]] = {}
        for name, x in needed.items.items():
            self.added[name] = x.depth, _summands(x, frames[x.depth])
        if known.past is not None:
            popularity = known.past.mean_of(of_users)
            of_users = of_users.with_columns(popularity.alias("#past"))
        self.per_user = self._of_users(needed.users, frames, of_users)
        self._formulas: tuple[dict[str, float], list[pl.Expr]] | None = None

    def _of_users(
        self, sums: Mapping[str, Sum], frames: Mapping[Depth, pl.DataFrame], users: pl.DataFrame
    ) -> dict[str, tuple[Floats, bool]]:
        """The summand of each user, 0 for one without, and whether the weight is squared."""
        summands = {name: x.of.cast(pl.Float64).fill_null(0.0) for name, x in sums.items()}
        by_user = {name: summands[name] for name, x in sums.items() if x.by_user}
        values = users.select(USER, **by_user)
        depths = {name: x.depth for name, x in sums.items() if not x.by_user}
        for depth, rows in frames.items():
            of_depth = {name: summands[name] for name in depths if depths[name] == depth}
            if of_depth:
                of_rows = rows.group_by(USER).agg(**of_depth)
                values = values.join(of_rows, on=USER, how="left", maintain_order="left")
        values = values.with_columns(pl.exclude(USER).fill_null(0.0))
        arrays = {name: values[name].to_numpy() for name in sums}
        return {name: (arrays[name], x.squared) for name, x in sums.items()}

    def numbers(self, weights: Floats) -> dict[str, float]:
        """The sums over users."""
        sums = {}
        for name, (summands, squared) in self.per_user.items():
            factors = weights**2 if squared else weights
            sums[name] = float(factors @ summands)
        return sums

    def table(self, weights: Floats) -> pl.DataFrame:
        """The items that were shown, with their sums."""
        of_rows: dict[Depth, Floats] = {
            depth: weights[rows.user] for depth, rows in self.rows.items()
        }
        of_items = {depth: self._by_item(depth, x) for depth, x in of_rows.items()}
        columns = []
        for name, (depth, x) in self.added.items():
            if isinstance(x, float):
                sums = of_items[depth] * x
            else:
                sums = self._by_item(depth, of_rows[depth] * x)
            columns.append(pl.Series(name, sums))
        return self.items.hstack(columns)

    def _by_item(self, depth: Depth, x: Floats) -> Floats:
        """The sums of the rows of a depth, item by item."""
        rows = self.rows[depth]
        sums = np.zeros(self.items.height)
        if len(rows.starts):
            sums[rows.items] = np.add.reduceat(x, rows.starts)
        return sums

    def plain(self) -> list[float]:
        """The values of the metrics, each user counting once."""
        once = np.ones(self.n)
        return self.values(once, check=True)

    def values(self, weights: Floats, *, check: bool = False) -> list[float]:
        """The values of the metrics, NaN if undefined."""
        numbers = self.numbers(weights)
        # The sums over users may be the same in all resamples, as the number of users is.
        if self._formulas is None or self._formulas[0] != numbers:
            formulas, _ = self.metrics.formulas(numbers)
            self._formulas = numbers, formulas
        _, formulas = self._formulas
        table = self.table(weights)
        return evaluated(self.metrics, table, formulas, check=check)


def rows_of(
    lists: pl.DataFrame,
    query: Sequence[str],
    users: pl.DataFrame,
    metrics: ItemMetrics,
    depths: Set[Depth],
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The rows of the table and of the past that any depth includes, with the numbers of users."""
    past = metrics.known.past
    catalog = metrics.known.catalog
    rows = lists if TABLE in depths else down_to(lists, deepest(depths))
    rows = rows.join(users, on=query, nulls_equal=True)
    if past is not None and UNSEEN in metrics.counted.columns:
        unseen = past.unseen(rows)
        rows = rows.with_columns(unseen.alias(UNSEEN))
    had = rows.select(USER, ITEM).clear()
    if past is not None and PAST in depths:
        had = past.of(users, USER)
        had = had.filter(catalog.has(had[ITEM]))
    item = pl.col(ITEM).cast(metrics.item_type(lists))
    return rows.with_columns(item), had.with_columns(item)


def _summands(x: Sum, rows: pl.DataFrame) -> Floats | float:
    """What each row adds to a sum; one number if all add the same, as to counts."""
    summand = x.of.cast(pl.Float64)
    column = rows.select(summand.alias("#x"))["#x"].to_numpy()
    is_constant = column.size and (column == column[0]).all()
    return float(column[0]) if is_constant else column


def down_to(rows: pl.DataFrame, depth: Depth) -> pl.DataFrame:
    """The rows of lists down to a depth, or all rows of the table."""
    if depth == TABLE:
        return rows
    rank = pl.col(RANK)
    if depth is None:
        return rows.filter(rank.is_not_null())
    return rows.filter(rank <= depth)


def deepest(depths: Set[Depth]) -> int | None:
    """The depth of lists that holds all others."""
    if None in depths:
        return None
    cutoffs = [k for k in depths if isinstance(k, int)]
    return max(cutoffs, default=0)


def evaluated(
    metrics: ItemMetrics, table: pl.DataFrame, formulas: list[pl.Expr], *, check: bool = False
) -> list[float]:
    """The values of the metrics from their formulas and the sums of items, NaN if undefined.

    With `check`, a formula that gives a value for each item is refused.
    """
    if check:
        for call, formula in zip(metrics.calls, formulas, strict=True):
            n_values = table.select(formula).height
            if n_values != 1:
                says = f"{call.text} gives {n_values} values, one for each item"
                raise InvalidOption(f"{says}; a catalog metric gives one, as of x.sum()")
    values = table.select(formulas).row(0)
    return [float("nan") if x is None else x for x in values]


def resamples_of(recount: Recount, resampling: Resampling, progress: Progress) -> Floats:
    """The values of each resample of the users, a row per resample; none of a single user."""
    if recount.n < 2:
        return np.empty((0, len(recount.metrics.calls)))
    resamples = resampling.resamples
    seed = resampling.seed
    draws = each(counts, resamples, seed, recount.n, progress)
    return np.array([recount.values(weights) for weights in draws])


def about(
    value: Sequence[float], resamples: Floats, ci: float, calls: Sequence[Call] | None
) -> tuple[Floats, Floats]:
    """The interval about each value, from the resamples' values; cut at a metric's bounds.

    It is as far as the resamples' values spread about their mean.
    """
    ends = np.full((2, len(value)), np.nan)
    tails = (1 - ci) / 2, (1 + ci) / 2
    for i, x in enumerate(value):
        of_metric = resamples[:, i]
        of_metric = of_metric[np.isfinite(of_metric)]
        if len(of_metric) and np.isfinite(x):
            about_mean = x + np.quantile(of_metric, tails)
            ends[:, i] = about_mean - of_metric.mean()
    if calls is not None:
        bounds = [call.bounds for call in calls]
        least, greatest = np.array(bounds, dtype=float).T
        least[np.isnan(least)] = -np.inf
        greatest[np.isnan(greatest)] = np.inf
        ends = np.clip(ends, least, greatest)
    return ends[0], ends[1]
