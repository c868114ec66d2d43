"""What a measure of agreement sees: two rankings of one query's documents, as expressions."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy

import polars as pl

from .requested_columns import Wanted

__all__ = ["Common", "Pair"]


class Pair:
    """Two rankings of a query; every row is a document that at least one of them has.

    Parameters
    ----------
    wanted
        Where to write down what is asked for.
    bits
        How many binary digits the number of a query's documents has at the most.
    complete
        Whether both rankings are known to have every document.
    """

    #: The ranks by the two scores, ties broken by the tie rule; null where that ranking lacks the document.
    rank = pl.col("#rank")
    other_rank = pl.col("#other_rank")

    def __init__(self, wanted: Wanted, bits: int, complete: bool) -> None:
        self.wanted = wanted
        self.bits = bits
        self.complete = complete

    @property
    def common(self) -> Common:
        """The documents that both rankings have, ranked among themselves."""
        return Common(self.wanted, self.bits, self.complete)

    def down_to(self, k: int | None) -> Pair:
        """Both rankings down to rank `k`."""
        top = copy(self)
        if k is not None:
            top.rank, top.other_rank = (pl.when(rank <= k).then(rank) for rank in (self.rank, self.other_rank))
        return top

    def summed(self, weight: Callable[[pl.Expr], pl.Expr]) -> Pair:
        """The same pair with the sum of `weight`, which is above 0, down to a depth in place of that depth."""
        sums = copy(self)
        sums.rank, sums.other_rank = (self.so_far(weight(rank), rank) for rank in (self.rank, self.other_rank))
        return sums

    @property
    def shared_from(self) -> pl.Expr:
        """The depth from which on both rankings have the document; null if one of them lacks it."""
        in_both = self.rank.is_not_null() & self.other_rank.is_not_null()
        return pl.when(in_both).then(pl.max_horizontal(self.rank, self.other_rank))

    @property
    def seen_from(self) -> pl.Expr:
        """The depth from which on at least one ranking has the document."""
        return pl.min_horizontal(self.rank, self.other_rank)

    @property
    def shorter(self) -> pl.Expr:
        """The depth of the shorter ranking; of the longer one if the other is empty."""
        return pl.min_horizontal(self._last(self.rank), self._last(self.other_rank))

    @property
    def longer(self) -> pl.Expr:
        """The depth of the longer ranking."""
        return pl.max_horizontal(self._last(self.rank), self._last(self.other_rank))

    def so_far(self, x: pl.Expr, order: pl.Expr) -> pl.Expr:
        """The sum of `x` down to each document as `order` has them."""
        return self.wanted.column(x.cast(pl.Float64).cum_sum().over(self.wanted.key, order_by=order))

    def total(self, x: pl.Expr) -> pl.Expr:
        """The sum of `x` over the documents."""
        return self.wanted.sum(x.cast(pl.Float64))

    def largest(self, x: pl.Expr) -> pl.Expr:
        """The largest `x` of the documents."""
        return self.wanted.max(x)

    def _last(self, rank: pl.Expr) -> pl.Expr:
        return self.wanted.column(rank.max().over(self.wanted.key))


class Common:
    """The documents of a query that have both scores, in two orders.

    Rows of other documents are there, with no score; they count nowhere.
    """

    #: The two scores; null unless a document has both.
    score = pl.col("#score")
    other = pl.col("#other")

    def __init__(self, wanted: Wanted, bits: int, complete: bool) -> None:
        self.wanted = wanted
        self.bits = bits
        self.complete = complete
        self.kept = self.score.is_not_null()

    def top(self, k: int | None) -> Common:
        """Of these documents only those that the first ranking puts at `k` or above."""
        top = copy(self)
        if k is not None:
            top.kept = self.kept & (self.rank <= k)
        return top

    @property
    def rank(self) -> pl.Expr:
        """The rank by the first score among these documents, ties broken by the tie rule."""
        return self._recounted(Pair.rank)

    @property
    def other_rank(self) -> pl.Expr:
        """The rank by the second score."""
        return self._recounted(Pair.other_rank)

    def _recounted(self, rank: pl.Expr) -> pl.Expr:
        if self.complete:
            return rank
        both = self.score.is_not_null()
        counted = both.cum_sum().cast(pl.Int64)  # as Polars counts, unsigned, 1 - 2 is no -1
        return pl.when(both).then(self.wanted.column(counted.over(self.wanted.key, order_by=rank)))

    @property
    def n(self) -> pl.Expr:
        """How many documents there are."""
        return self.total(pl.lit(1.0))

    def total(self, x: pl.Expr) -> pl.Expr:
        """The sum of `x` over these documents."""
        return self.wanted.sum(pl.when(self.kept).then(x).cast(pl.Float64))

    @property
    def rising(self) -> pl.Expr:
        """Positions by rising first score, then rising second score."""
        return self.wanted.column(pl.int_range(pl.len()).over(self.wanted.key, order_by=[self.score, self.other]))

    @property
    def other_level(self) -> pl.Expr:
        """The second score as a whole number, equal for equal scores."""
        return self.wanted.column(self.other.rank("dense").over(self.wanted.key).cast(pl.Int64))

    def mean_rank(self, x: pl.Expr) -> pl.Expr:
        """The ranks of `x`, tied documents sharing the mean of theirs."""
        return self.wanted.column(x.rank("average").over(self.wanted.key))

    def tied_pairs(self, *x: pl.Expr) -> pl.Expr:
        """How many pairs of documents are equal in all of `x`."""
        return self.total((self.wanted.column(pl.len().over(*self.wanted.key, *x)).cast(pl.Float64) - 1) / 2)

    def greater_before(self, order: pl.Expr, value: pl.Expr) -> pl.Expr:
        """How many of these documents with a greater `value` stand before each by `order`; 0 for other documents."""
        before = self.wanted.greater_before(order, value, self.bits, self.kept)
        return pl.when(self.kept).then(before).otherwise(0.0)

    def correlation(self, x: pl.Expr, y: pl.Expr) -> pl.Expr:
        """Pearson's correlation of two columns; null where one of them does not vary."""
        dx, dy = (z - self.wanted.column(z.mean().over(self.wanted.key)) for z in (x, y))
        spread = (self.wanted.sum(dx * dx) * self.wanted.sum(dy * dy)).sqrt()
        return pl.when(spread > 0).then(self.wanted.sum(dx * dy) / spread)
