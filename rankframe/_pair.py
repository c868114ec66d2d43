"""What a measure of agreement sees: two rankings of one query's documents, as expressions."""

from __future__ import annotations

from copy import copy

import polars as pl

from ._wanted import Wanted

__all__ = ["Pair"]


class Pair:
    """Two rankings of the same documents, every one of which has both scores.

    Parameters
    ----------
    wanted
        Where to write down what is asked for.
    bits
        How many binary digits the number of a query's documents has at the most.
    """

    #: The two scores; every row has both.
    score = pl.col("#score")
    other = pl.col("#other")
    #: The ranks by the two scores, ties broken by the tie rule.
    rank = pl.col("#rank")
    other_rank = pl.col("#other_rank")

    def __init__(self, wanted: Wanted, bits: int) -> None:
        self.wanted = wanted
        self.bits = bits
        self.kept = self.score.is_not_null()  # which is every row

    def down_to(self, k: int | None) -> Pair:
        """The same pair with only the documents that the first ranking puts at `k` or above."""
        top = copy(self)
        if k is not None:
            top.kept = self.rank <= k
        return top

    @property
    def n(self) -> pl.Expr:
        """How many documents there are."""
        return self.wanted.sum(self.kept.cast(pl.Float64))

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
        return self.wanted.sum((self.wanted.column(pl.len().over(*self.wanted.key, *x)).cast(pl.Float64) - 1) / 2)

    def inversions(self, order: pl.Expr, value: pl.Expr) -> pl.Expr:
        """How many pairs of documents stand in one order by `order` and strictly in the other by `value`."""
        before = self.wanted.greater_before(order, value, self.bits, self.kept)
        return self.wanted.sum(pl.when(self.kept).then(before).otherwise(0.0))

    def correlation(self, x: pl.Expr, y: pl.Expr) -> pl.Expr:
        """Pearson's correlation of two columns; null where one of them does not vary."""
        dx, dy = (z - self.wanted.column(z.mean().over(self.wanted.key)) for z in (x, y))
        spread = (self.wanted.sum(dx * dx) * self.wanted.sum(dy * dy)).sqrt()
        return pl.when(spread > 0).then(self.wanted.sum(dx * dy) / spread)
