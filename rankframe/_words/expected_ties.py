"""Expectations over all orders of tied documents, by closed forms, for ``ties="expected"``.

A group of g tied documents starts after c others; its ranks are c + 1 to c + g, each order equally
likely. In a sum over ranks each gain is replaced by the mean of its group, for any weights of the
ranks. Two products of gain and order have closed forms of their own: the hits at relevant
documents, and the rank at which a reader stops.
"""

from __future__ import annotations

import polars as pl

from .._support.floats import np
from ..errors import InvalidOption, on
from .sorted_rows import POSITION, STARTS, SortedRows


class NoExpectation(InvalidOption):
    """Raised by a formula that needs the order of tied documents in a way without a closed form."""

    def __init__(self) -> None:
        says = (
            "its expectation over the orders of tied documents has no closed form; set another "
            "rule for ties, as in "
        )
        super().__init__(says, on(ties="doc_desc"))


class OneRank(NoExpectation):
    """Raised by a formula that goes through documents one by one, where tied ones have one rank."""

    def __init__(self) -> None:
        says = (
            "it goes through documents one by one, and tied ones have one rank; set another rule "
            "for ties, as in "
        )
        InvalidOption.__init__(self, says, on(ties="doc_desc"))


class LeavesRanksOut(NoExpectation):
    """Raised by a formula that counts along the ranks of a list, where these count as given and may
    leave numbers out.
    """

    def __init__(self) -> None:
        says = (
            "it counts along the list, and ranks as given may leave numbers out; take their "
            "order alone, as in "
        )
        InvalidOption.__init__(self, says, on(rank="rank", ranks="order"))


class Expectation:
    """Expected values of the words of a ranking, over all orders of tied documents.

    Arguments are taken down the ranking: `hits` are sums, `product` is the product before each
    rank.
    """

    def __init__(self, rows: SortedRows) -> None:
        self.rows = rows
        self.by_rank: set[str] = set()  # columns that hold an expectation at each rank

    def at_rank(self, x: pl.Expr) -> pl.Expr:
        """The mean of `x` at each rank, or `x` if it is an expectation already; the rank itself has
        none.
        """
        roots = set(x.meta.root_names())
        if "#rank" in roots:
            raise NoExpectation
        if roots & self.by_rank:
            return x
        x = self.rows.each(x).cast(pl.Float64).fill_null(0.0)
        so_far = self.rows.so_far(x)
        return self._expected(
            (self.rows.last_tied(so_far) - self.rows.first_tied(so_far - x)) / self._size
        )

    def hits_at(self, relevant: pl.Expr, hits: pl.Expr) -> pl.Expr:
        """The hits at a rank if its document is relevant, else 0.

        With r relevant ones in the group and R above it, the rank's document is one of them with
        probability r / g; of the t documents of the group above it, t (r - 1) / (g - 1) are
        relevant then.
        """
        above, g, t = self.rows.first_tied(hits - relevant), self._size, self._above
        r = self.rows.last_tied(hits) - above
        others = pl.when(g > 1).then(t * (r - 1) / (g - 1)).otherwise(0.0)
        return self._expected(r / g * (above + 1 + others))

    def miss(self, relevant: pl.Expr, hits: pl.Expr) -> pl.Expr:
        """The probability that the rank's document is not relevant, if none above it is: 1 - r / (g
        - t).
        """
        r = self.rows.last_tied(hits) - self.rows.first_tied(hits - relevant)
        left = self._size - self._above
        return self._expected(((left - r) / left).clip(0.0, 1.0))

    def stops(self, x: pl.Expr, product: pl.Expr) -> pl.Expr:
        """The probability that a reader stops at the rank, if each document satisfies with
        probability `x`.
        """
        rows = pl.struct(group=STARTS.cum_sum(), above=self._above, size=self._size, x=x)
        stop = rows.map_batches(stop_in_group, return_dtype=pl.Float64, is_elementwise=False)
        stop = self.rows.needed.column(stop, b"stops" + rows.meta.serialize())
        return self._expected(self.rows.first_tied(product) * stop)

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
    """For each document, the probability that a reader who comes to its group of tied ones stops at
    its rank.

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
    first = (tied["above"] == 0).to_numpy()
    positive = (tied["x"] > 0).to_numpy()
    group = np.cumsum(first) - 1
    steps = np.bincount(group, weights=positive)[group].astype(np.int64)
    order = np.argsort(
        -steps, kind="stable"
    )  # groups with further steps come before those that are done
    tied, steps, positive = tied[order], steps[order], positive[order]
    t, size, x = (tied[name].to_numpy() for name in ("above", "size", "x"))
    chance = x[positive]
    begin = np.maximum.accumulate(np.where(t == 0, np.cumsum(positive) - positive, 0))
    mean = np.ones(len(t))  # M(t + 1)
    for step in range(steps[0]):
        n = np.count_nonzero(steps > step)
        share = np.clip((t[:n] + 1) / (size[:n] - steps[:n] + step + 1), 0, 1)
        without = np.where(t[:n] == 0, 1.0, np.roll(mean[:n], 1))
        mean[:n] = mean[:n] * (1 - share) + (1 - chance[begin[:n] + step]) * without * share
    stop = np.where(t == 0, 1.0, np.roll(mean, 1)) - mean
    result = every["x"].to_numpy().copy()
    result[tied["row"].to_numpy()] = stop
    return pl.Series(result)
