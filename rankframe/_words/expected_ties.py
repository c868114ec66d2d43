"""Expectations over all orders of tied documents, by closed forms, for ``ties="expected"``.

A group of g tied documents starts after c others; its ranks are c + 1 to c + g, each order equally
likely. In a sum over ranks each gain is replaced by the mean of its group, for any weights of the
ranks. Two products of gain and order have closed forms of their own: the hits at relevant
documents, and the rank at which a reader stops.
"""

from __future__ import annotations

from typing import Any

import polars as pl

from .._support.floats import Floats, NDArray, np
from ..errors import InvalidOption, on
from .rows import zero_unless
from .sorted_rows import POSITION, STARTS, SortedRows


class NoExpectation(InvalidOption):
    """Raised by a formula that needs the order of tied documents in a way without a closed form."""

    says = (
        "its expectation over the orders of tied documents has no closed form; set another "
        "rule for ties, as in "
    )
    advice = on(ties="doc_desc")

    def __init__(self) -> None:
        super().__init__(self.says, self.advice)


class OneRank(NoExpectation):
    """Raised by a formula that goes through documents one by one, where tied ones have one rank."""

    says = (
        "it goes through documents one by one, and tied ones have one rank; set another rule "
        "for ties, as in "
    )


class LeavesRanksOut(NoExpectation):
    """Raised by a formula that counts along the ranks of a list, where these have gaps."""

    says = (
        "it counts along the list, and ranks as given may leave numbers out; take their "
        "order alone, as in "
    )
    advice = on(rank="rank", ranks="order")


class Expectation:
    """Expected values of the words of a ranking, over all orders of tied documents.

    Arguments are taken down the ranking: `hits` are sums, `product` is the product before each
    rank.
    """

    def __init__(self, rows: SortedRows) -> None:
        self.rows = rows
        self.by_rank: set[str] = set()  # columns that hold an expectation at each rank

    def at_rank(self, x: pl.Expr) -> pl.Expr:
        """The mean of `x` at each rank, or `x` if it is an expectation already.

        The rank itself has none.
        """
        roots = set(x.meta.root_names())
        if "#rank" in roots:
            raise NoExpectation
        if roots & self.by_rank:
            return x
        x = self.rows.each(x).cast(pl.Float64).fill_null(0.0)
        so_far = self.rows.so_far(x)
        to_last = self.rows.last_tied(so_far)
        before_first = self.rows.first_tied(so_far - x)
        return self._expected((to_last - before_first) / self._size)

    def hits_at(self, relevant: pl.Expr, hits: pl.Expr) -> pl.Expr:
        """The hits at a rank if its document is relevant, else 0.

        With r relevant ones in the group and R above it, the rank's document is one of them with
        probability r / g; of the t documents of the group above it, t (r - 1) / (g - 1) are
        relevant then.
        """
        above = self.rows.first_tied(hits - relevant)
        g = self._size
        t = self._above
        r = self.rows.last_tied(hits) - above
        others = zero_unless(g > 1, t * (r - 1) / (g - 1))
        return self._expected(r / g * (above + 1 + others))

    def miss(self, relevant: pl.Expr, hits: pl.Expr) -> pl.Expr:
        """The probability that the rank's document is not relevant, if none above it is.

        It is 1 - r / (g - t).
        """
        above = self.rows.first_tied(hits - relevant)
        r = self.rows.last_tied(hits) - above
        left = self._size - self._above
        return self._expected(((left - r) / left).clip(0.0, 1.0))

    def stops(self, x: pl.Expr, product: pl.Expr) -> pl.Expr:
        """The probability that a reader stops at the rank.

        Each document satisfies the reader with probability `x`.
        """
        group = STARTS.cum_sum()
        rows = pl.struct(group=group, above=self._above, size=self._size, x=x)
        stop = rows.map_batches(stop_in_group, return_dtype=pl.Float64, is_elementwise=False)
        stop = self.rows.needed.column(stop, b"stops" + rows.meta.serialize())
        reached = self.rows.first_tied(product)
        return self._expected(reached * stop)

    @property
    def _size(self) -> pl.Expr:
        return self.rows.once(self.rows.tied_to - self.rows.tied_from + 1)

    @property
    def _above(self) -> pl.Expr:
        """The number of documents of its group above a document, in the order of the rows."""
        return self.rows.once(POSITION - self.rows.tied_from)

    def _expected(self, x: pl.Expr) -> pl.Expr:
        column = self.rows.once(x)
        self.by_rank.add(column.meta.output_name())
        return column


def stop_in_group(rows: pl.Series) -> pl.Series:
    """The probability that a reader stops at the rank of each document of a group of tied ones.

    The reader has come to the group.

    Let M(t) be the mean, over all sets of t documents of the group, of the product of 1 - x; the
    reader stops at the group's rank t + 1 with probability M(t) - M(t + 1). M grows document by
    document: of s documents, the last one is in a set of t with probability t / s, so M(t) = M'(t)
    (1 - t / s) + (1 - x) M'(t - 1) t / s. Documents with x = 0 change nothing and need no step; all
    groups take a step together.
    """
    every = rows.struct.unnest().with_row_index("row")
    tied = every.filter(pl.col("size") > 1).sort("group", "above")
    if tied.is_empty():
        return every["x"]
    is_first = (tied["above"] == 0).to_numpy()
    is_step = (tied["x"] > 0).to_numpy()
    group = np.cumsum(is_first) - 1
    steps = np.bincount(group, weights=is_step)[group].astype(np.int64)
    # groups with further steps come before those that are done
    order = np.argsort(-steps, kind="stable")
    tied = tied[order]
    steps = steps[order]
    is_step = is_step[order]
    t = tied["above"].to_numpy()
    size = tied["size"].to_numpy()
    misses = 1 - tied["x"].to_numpy()[is_step]
    n_before = np.cumsum(is_step) - is_step
    begin = np.maximum.accumulate(np.where(t == 0, n_before, 0))
    mean = np.ones(len(t))  # M(t + 1)
    for step in range(steps[0]):
        n = np.count_nonzero(steps > step)
        n_documents = size[:n] - steps[:n] + step + 1
        share = np.clip((t[:n] + 1) / n_documents, 0, 1)
        miss = misses[begin[:n] + step]
        mean[:n] = mean[:n] * (1 - share) + miss * _before(mean[:n], t[:n]) * share
    result = every["x"].to_numpy().copy()
    result[tied["row"].to_numpy()] = _before(mean, t) - mean
    return pl.Series(result)


def _before(mean: Floats, t: NDArray[Any]) -> Floats:
    """M(t), from M(t + 1) in the rows of each group; M(0) is 1."""
    return np.where(t == 0, 1.0, np.roll(mean, 1))
