"""Two rankings of one query's documents as expressions: the words of measures of agreement."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import partial
from typing import Any

import polars as pl

from .._support.extras import load
from .._support.floats import Floats, Integers, NDArray, np
from .pairs import greater_before, starts_of
from .rows import quotient
from .score_pairs import FIELDS, counts_of_pairs
from .sorted_rows import QUERY, Needed
from .within_queries import WithinQueries


class _TwoRankings(WithinQueries):
    def __init__(self, needed: Needed, complete: bool) -> None:
        self.needed = needed
        self.complete = complete


class Pair(_TwoRankings):
    """Two rankings of a query; every row is a document of at least one of them.

    Parameters
    ----------
    needed
        Where columns and sums are noted.
    complete
        Whether both rankings are known to have every document.
    """

    #: The ranks by the two scores, ties broken by the tie rule; null where that ranking lacks the
    #: document.
    rank = pl.col("#rank")
    other_rank = pl.col("#other_rank")
    #: The two scores; null where that ranking lacks the document.
    own_score = pl.col("#own score")
    other_score = pl.col("#other score")

    @property
    def common(self) -> Common:
        """The documents of both rankings, ranked among themselves."""
        return Common(self.needed, self.complete)

    def down_to(self, k: int | None) -> Pair:
        """Both rankings down to rank `k`."""
        if k is None:
            return self
        top = copy(self)
        top.rank = pl.when(self.rank <= k).then(self.rank)
        top.other_rank = pl.when(self.other_rank <= k).then(self.other_rank)
        return top

    def summed(self, weight: Callable[[pl.Expr], pl.Expr]) -> Pair:
        """The same pair with the sum of `weight`, which is above 0, down to a depth in place of
        that depth.
        """
        sums = copy(self)
        sums.rank = self.so_far(weight(self.rank), self.rank)
        sums.other_rank = self.so_far(weight(self.other_rank), self.other_rank)
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
        sums = x.cast(pl.Float64).cum_sum()
        return self._within(sums, order_by=order)

    @property
    def n_relevant(self) -> pl.Expr:
        """The number of relevant documents of the query, whether a ranking has them or not."""
        return self.needed.max(pl.col("#n_relevant"))

    def of_relevant(self, rank: pl.Expr) -> pl.Expr:
        """The ranks of the relevant documents that a ranking has, the best first, then nulls."""
        ranks = pl.when(pl.col("#relevant")).then(rank)
        return self._within(ranks.sort(nulls_last=True))

    def total(self, x: pl.Expr) -> pl.Expr:
        """The sum of `x` over the documents."""
        return self.needed.sum(x.cast(pl.Float64))

    def largest(self, x: pl.Expr) -> pl.Expr:
        """The largest `x` of the documents."""
        return self.needed.max(x)

    def overlap_of_ties(self, figure: str, tied: str, p: float) -> pl.Expr:
        """The rank-biased overlap of two rankings with ties, by its variant: extrapolated, the
        least or the greatest.
        """
        ends = self._ends("own", self.rank, self.own_score)
        other_ends = self._ends("other", self.other_rank, self.other_score)
        rows = pl.struct([QUERY.alias("query"), *ends, *other_ends])
        overlaps = partial(overlaps_of_ties, figure=figure, tied=tied, p=p)
        return self.largest(self._mapped(overlaps, rows, f"{figure} {tied} {p} "))

    def _ends(self, name: str, rank: pl.Expr, score: pl.Expr) -> list[pl.Expr]:
        """The first and the last rank of a ranking's documents with the same score."""
        of_ties = [*self.needed.key, pl.when(rank.is_not_null()).then(score)]
        first = rank.min().over(of_ties)
        last = rank.max().over(of_ties)
        return [first.alias(f"{name} min"), last.alias(f"{name} max")]

    def _last(self, rank: pl.Expr) -> pl.Expr:
        return self._within(rank.max())


class Common(_TwoRankings):
    """The documents of a query that have both scores, in two orders.

    Rows of other documents remain, without scores, and are not counted.
    """

    #: The two scores; null unless a document has both.
    score = pl.col("#score")
    other = pl.col("#other")

    def __init__(self, needed: Needed, complete: bool) -> None:
        super().__init__(needed, complete)
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
        in_both = self.score.is_not_null()
        n_so_far = in_both.cum_sum().cast(pl.Int64)  # Polars counts unsigned, where 1 - 2 is not -1
        return pl.when(in_both).then(self._within(n_so_far, order_by=rank))

    @property
    def n(self) -> pl.Expr:
        """The number of documents."""
        return self.total(pl.lit(1.0))

    def total(self, x: pl.Expr) -> pl.Expr:
        """The sum of `x` over these documents."""
        of_these = pl.when(self.counted).then(x)
        return self.needed.sum(of_these.cast(pl.Float64))

    def mean_rank(self, x: pl.Expr) -> pl.Expr:
        """The ranks of `x`, tied documents sharing the mean of theirs."""
        return self._within(x.rank("average"))

    @property
    def tied(self) -> pl.Expr:
        """The number of pairs of documents with the same first score."""
        return self._counted_pairs("tied")

    @property
    def other_tied(self) -> pl.Expr:
        """The number of pairs of documents with the same second score."""
        return self._counted_pairs("other_tied")

    @property
    def both_tied(self) -> pl.Expr:
        """The number of pairs of documents that have both scores in common."""
        return self._counted_pairs("both_tied")

    @property
    def discordant(self) -> pl.Expr:
        """The number of pairs of documents that the two scores order differently, without ties."""
        return self._counted_pairs("discordant")

    def _counted_pairs(self, name: str) -> pl.Expr:
        rows = pl.struct(
            query=QUERY,
            rank=Pair.rank,
            score=self.score,
            other_rank=Pair.other_rank,
            other_score=self.other,
        )
        types = pl.Struct(dict.fromkeys(FIELDS, pl.Float64))
        counts = rows.map_batches(counts_of_pairs, return_dtype=types)
        pairs = self.needed.column(counts, b"pairs of scores" + rows.meta.serialize())
        return self.total(pairs.struct.field(name))

    def greater_before(self, order: pl.Expr, value: pl.Expr) -> pl.Expr:
        """For each of these documents, the number before it by `order` with a greater `value`; 0
        for other documents.
        """
        level = pl.when(self.counted).then(value.cast(pl.Int64))
        rows = pl.struct(query=QUERY, order=order, value=level)
        return self._mapped(greater_before, rows, "greater")

    def weighted_tau(self) -> pl.Expr:
        """Vigna's weighted tau of the two scores; null if one of them is constant."""
        rows = pl.struct(query=QUERY, score=self.score, other=self.other)
        return self.needed.max(self._mapped(weighted_taus, rows, "weighted tau"))

    def correlation(self, x: pl.Expr, y: pl.Expr) -> pl.Expr:
        """Pearson's correlation of two columns; null if one of them is constant."""
        dx = x - self._within(x.mean())
        dy = y - self._within(y.mean())
        product = self.needed.sum(dx * dx) * self.needed.sum(dy * dy)
        return quotient(self.needed.sum(dx * dy), product.sqrt())


def weighted_taus(rows: pl.Series) -> pl.Series:
    """The weighted tau of the ``score`` and the ``other`` score of each ``query``.

    It is that of its rows with both, or null.
    """
    every = rows.struct.unnest().with_row_index("row").drop_nulls().sort("query")
    row = every["row"].to_numpy()
    score = every["score"].cast(pl.Float64).to_numpy()
    other = every["other"].cast(pl.Float64).to_numpy()
    taus = np.full(len(rows), np.nan)
    for of_query in _places_by_query(every):
        x = score[of_query]
        y = other[of_query]
        if len(np.unique(x)) > 1 and len(np.unique(y)) > 1:
            weighted = load("scipy.stats", "stats").weightedtau(x, y)
            taus[row[of_query]] = weighted.statistic
    return pl.Series(rows.name, taus, nan_to_null=True)


def _places_by_query(rows: pl.DataFrame) -> list[Integers]:
    """The places of the rows of each query, which stand together."""
    starts = starts_of(rows["query"].to_numpy())
    return np.split(np.arange(rows.height), starts[1:])


def overlaps_of_ties(rows: pl.Series, figure: str, tied: str, p: float) -> pl.Series:
    """The rank-biased overlap of the two rankings of each query, on its rows.

    A group of tied documents has the ranks ``min`` to ``max``, null where a ranking lacks the
    document. At depth d a document counts the share of its ranks down to d, or 1 from the first on
    in variant w; the agreement is the sum of the products of both shares over d in variant a, and
    over a mean of the numbers of documents or of the squared shares in w and b.
    """
    every = rows.struct.unnest().with_row_index("row").sort("query")
    row = every["row"].to_numpy()
    ends = every.select(pl.exclude("row", "query").cast(pl.Float64)).to_numpy()
    overlaps = np.full(len(rows), np.nan)
    for of_query in _places_by_query(every):
        rankings = _TiedRankings(ends[of_query], tied)
        if rankings.l:
            overlaps[row[of_query]] = rankings.overlap(figure, p)
    return pl.Series(rows.name, overlaps, nan_to_null=True)


class _TiedRankings:
    """Two rankings of a query at each depth d from 1 to l, in the symbols of the paper.

    Attributes
    ----------
    s, l
        The lengths of the shorter and of the longer ranking.
    depth
        The depths 1 to l.
    common
        X(d): the sum over documents of the product of both shares.
    over
        What X(d) is divided by for the agreement A(d).
    below_shorter
        The shares in the longer ranking of the documents that only it has, a row for each, the
        first first, at the depths below s.
    """

    def __init__(self, ends: Floats, tied: str) -> None:
        lengths = (~np.isnan(ends[:, ::2])).sum(axis=0)
        order = np.argsort(lengths, kind="stable")  # the shorter ranking first
        self.s, self.l = lengths[order].tolist()
        sides = ends.reshape(-1, 2, 2)[:, order]
        first, last = sides.transpose(2, 1, 0)[..., None]
        self.depth = np.arange(1, self.l + 1)
        size = 1 if tied == "w" else last - first + 1
        share = np.nan_to_num(np.clip((self.depth - first + 1) / size, 0, 1))
        self.common: Floats = share.prod(axis=0).sum(axis=0)
        self.over = _divisors(share, self.depth, self.s, tied)
        only_longer = np.flatnonzero(np.isnan(first[0]) & ~np.isnan(first[1]))
        by_rank = np.argsort(first[1, only_longer, 0], kind="stable")
        self.below_shorter = share[1, only_longer[by_rank], self.s :]

    def overlap(self, figure: str, p: float) -> float:
        """The overlap, from 0 to 1: the least, the extrapolated or the greatest."""
        common = self.common.copy()
        weight = (1 - p) * p ** (self.depth - 1.0)
        if figure == "min":
            everywhere = -(1 - p) / p * np.log1p(-p)
            beyond = common[-1] * (everywhere - (weight / self.depth).sum())
        elif figure == "ext":
            at_s = float(common[self.s - 1] / self.over[self.s - 1]) if self.s else 0.0
            beyond = (common[-1] + (self.l - self.s) * at_s) / self.l * p**self.l
            common[self.s :] += self._extrapolated(at_s)
        else:  # the shorter ranking goes on with what the longer one has already shown
            beyond = self._greatest_beyond(p)
            further = self.below_shorter[: self.l - self.s]
            common[self.s :] += np.triu(further).sum(axis=0)
        value = (common / self.over * weight).sum() + beyond
        return float(min(max(value, 0.0), 1.0))

    def _extrapolated(self, at_s: float) -> Floats:
        """What X grows by below the shorter ranking.

        Documents there are common as often as above.
        """
        further = self.depth[self.s :] - self.s
        n_shown = np.maximum((self.below_shorter > 0).sum(axis=0), 1)
        share = self.below_shorter.sum(axis=0)
        growth: Floats = further * at_s * share / n_shown
        return growth

    def _greatest_beyond(self, p: float) -> float:
        """The greatest weight of the depths below l: all documents are common from f on."""
        f = self.l + self.s - self.common[-1]
        depth = np.arange(self.l + 1, f + 0.5)
        agreement = (2 * depth - f) / depth
        weighted = agreement * (1 - p) * p ** (depth - 1)
        return float(weighted.sum() + p**f)


def _divisors(share: Floats, depth: Integers, s: int, tied: str) -> NDArray[Any]:
    """What the common documents at each depth are divided by, in a variant of the overlap."""
    if tied == "a":
        return depth
    sizes: Floats = (share**2).sum(axis=1)
    sizes[0, s:] = depth[s:]  # the shorter ranking goes on
    both: Floats = sizes.mean(axis=0) if tied == "w" else np.sqrt(sizes.prod(axis=0))
    return both
