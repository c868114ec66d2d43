"""Two rankings of one query's documents as expressions: the words of measures of agreement."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy

import polars as pl

from .pairs import greater_before
from .sorted_rows import QUERY, Needed


class Pair:
    """Two rankings of a query; every row is a document of at least one of them.

    Parameters
    ----------
    needed
        Where columns and sums are noted.
    complete
        Whether both rankings are known to have every document.
    """

    #: The ranks by the two scores, ties broken by the tie rule; null where that ranking lacks the document.
    rank = pl.col("#rank")
    other_rank = pl.col("#other_rank")

    def __init__(self, needed: Needed, complete: bool) -> None:
        self.needed = needed
        self.complete = complete

    @property
    def common(self) -> Common:
        """The documents of both rankings, ranked among themselves."""
        return Common(self.needed, self.complete)

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
        return self.needed.column(x.cast(pl.Float64).cum_sum().over(self.needed.key, order_by=order))

    @property
    def n_relevant(self) -> pl.Expr:
        """The number of relevant documents of the query, whether a ranking has them or not."""
        return self.needed.max(pl.col("#n_relevant"))

    def of_relevant(self, rank: pl.Expr) -> pl.Expr:
        """The ranks of the relevant documents that a ranking has, the best first, then nulls."""
        ranks = pl.when(pl.col("#relevant")).then(rank).sort(nulls_last=True)
        return self.needed.column(ranks.over(self.needed.key))

    def total(self, x: pl.Expr) -> pl.Expr:
        """The sum of `x` over the documents."""
        return self.needed.sum(x.cast(pl.Float64))

    def largest(self, x: pl.Expr) -> pl.Expr:
        """The largest `x` of the documents."""
        return self.needed.max(x)

    def _last(self, rank: pl.Expr) -> pl.Expr:
        return self.needed.column(rank.max().over(self.needed.key))


class Common:
    """The documents of a query that have both scores, in two orders.

    Rows of other documents remain, without scores, and are not counted.
    """

    #: The two scores; null unless a document has both.
    score = pl.col("#score")
    other = pl.col("#other")

    def __init__(self, needed: Needed, complete: bool) -> None:
        self.needed = needed
        self.complete = complete
        self.counted = self.score.is_not_null()

    def top(self, k: int | None) -> Common:
        """Only those of these documents that are in the top `k` of the first ranking."""
        top = copy(self)
        if k is not None:
            top.counted = self.counted & (self.rank <= k)
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
        counted = both.cum_sum().cast(pl.Int64)  # Polars counts unsigned, where 1 - 2 is not -1
        return pl.when(both).then(self.needed.column(counted.over(self.needed.key, order_by=rank)))

    @property
    def n(self) -> pl.Expr:
        """The number of documents."""
        return self.total(pl.lit(1.0))

    def total(self, x: pl.Expr) -> pl.Expr:
        """The sum of `x` over these documents."""
        return self.needed.sum(pl.when(self.counted).then(x).cast(pl.Float64))

    @property
    def rising(self) -> pl.Expr:
        """Positions by rising first score, then rising second score."""
        return self.needed.column(pl.int_range(pl.len()).over(self.needed.key, order_by=[self.score, self.other]))

    @property
    def other_level(self) -> pl.Expr:
        """The second score as a whole number, equal for equal scores."""
        return self.needed.column(self.other.rank("dense").over(self.needed.key).cast(pl.Int64))

    def mean_rank(self, x: pl.Expr) -> pl.Expr:
        """The ranks of `x`, tied documents sharing the mean of theirs."""
        return self.needed.column(x.rank("average").over(self.needed.key))

    def tied_pairs(self, *x: pl.Expr) -> pl.Expr:
        """The number of pairs of documents that are equal in all of `x`."""
        return self.total((self.needed.column(pl.len().over(*self.needed.key, *x)).cast(pl.Float64) - 1) / 2)

    def greater_before(self, order: pl.Expr, value: pl.Expr) -> pl.Expr:
        """For each of these documents, the number before it by `order` with a greater `value`; 0 for other documents."""
        rows = pl.struct(query=QUERY, order=order, value=pl.when(self.counted).then(value.cast(pl.Int64)))
        before = rows.map_batches(greater_before, return_dtype=pl.Float64)
        return self.needed.column(before, b"greater" + rows.meta.serialize())

    def correlation(self, x: pl.Expr, y: pl.Expr) -> pl.Expr:
        """Pearson's correlation of two columns; null if one of them is constant."""
        dx, dy = (z - self.needed.column(z.mean().over(self.needed.key)) for z in (x, y))
        spread = (self.needed.sum(dx * dx) * self.needed.sum(dy * dy)).sqrt()
        return pl.when(spread > 0).then(self.needed.sum(dx * dy) / spread)
