"""Two rankings of one query's documents as expressions: the words of measures of agreement."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import partial

import polars as pl

from .._support.extras import load
from .._support.floats import np
from .pairs import greater_before, starts_of
from .score_pairs import FIELDS, counts_of_pairs
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

    # : The ranks by the two scores, ties broken by the tie rule; null where that ranking lacks the
    # document.
    rank = pl.col("#rank")
    other_rank = pl.col("#other_rank")
    #: The two scores; null where that ranking lacks the document.
    own_score = pl.col("#own score")
    other_score = pl.col("#other score")

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
            top.rank, top.other_rank = (
                pl.when(rank <= k).then(rank) for rank in (self.rank, self.other_rank)
            )
        return top

    def summed(self, weight: Callable[[pl.Expr], pl.Expr]) -> Pair:
        """The same pair with the sum of `weight`, which is above 0, down to a depth in place of
        that depth.
        """
        sums = copy(self)
        sums.rank, sums.other_rank = (
            self.so_far(weight(rank), rank) for rank in (self.rank, self.other_rank)
        )
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
        return self.needed.column(
            x.cast(pl.Float64).cum_sum().over(self.needed.key, order_by=order)
        )

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

    def overlap_of_ties(self, figure: str, tied: str, p: float) -> pl.Expr:
        """The rank-biased overlap of two rankings with ties, by its variant: extrapolated, the
        least or the greatest.
        """
        columns = [QUERY.alias("query")]
        for name, rank, score in (
            ("own", self.rank, self.own_score),
            ("other", self.other_rank, self.other_score),
        ):
            group = [*self.needed.key, pl.when(rank.is_not_null()).then(score)]
            columns += [
                getattr(rank, end)().over(group).alias(f"{name} {end}") for end in ("min", "max")
            ]
        struct = pl.struct(columns)
        found = struct.map_batches(
            partial(overlaps_of_ties, figure=figure, tied=tied, p=p), return_dtype=pl.Float64
        )
        return self.largest(
            self.needed.column(found, f"{figure} {tied} {p} ".encode() + struct.meta.serialize())
        )

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

    def mean_rank(self, x: pl.Expr) -> pl.Expr:
        """The ranks of `x`, tied documents sharing the mean of theirs."""
        return self.needed.column(x.rank("average").over(self.needed.key))

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
        found = self.needed.column(counts, b"pairs of scores" + rows.meta.serialize())
        return self.total(found.struct.field(name))

    def greater_before(self, order: pl.Expr, value: pl.Expr) -> pl.Expr:
        """For each of these documents, the number before it by `order` with a greater `value`; 0
        for other documents.
        """
        rows = pl.struct(
            query=QUERY, order=order, value=pl.when(self.counted).then(value.cast(pl.Int64))
        )
        before = rows.map_batches(greater_before, return_dtype=pl.Float64)
        return self.needed.column(before, b"greater" + rows.meta.serialize())

    def weighted_tau(self) -> pl.Expr:
        """Vigna's weighted tau of the two scores; null if one of them is constant."""
        rows = pl.struct(query=QUERY, score=self.score, other=self.other)
        found = rows.map_batches(weighted_taus, return_dtype=pl.Float64)
        return self.needed.max(self.needed.column(found, b"weighted tau" + rows.meta.serialize()))

    def correlation(self, x: pl.Expr, y: pl.Expr) -> pl.Expr:
        """Pearson's correlation of two columns; null if one of them is constant."""
        dx, dy = (z - self.needed.column(z.mean().over(self.needed.key)) for z in (x, y))
        spread = (self.needed.sum(dx * dx) * self.needed.sum(dy * dy)).sqrt()
        return pl.when(spread > 0).then(self.needed.sum(dx * dy) / spread)


def weighted_taus(rows: pl.Series) -> pl.Series:
    """The weighted tau of the ``score`` and the ``other`` score of each ``query``, on its rows with
    both; else null.
    """
    every = rows.struct.unnest().with_row_index("row").drop_nulls().sort("query")
    found, start = np.full(len(rows), np.nan), starts_of(every["query"].to_numpy())
    for some in np.split(np.arange(every.height), start[1:]):
        x, y = (every[name].cast(pl.Float64).to_numpy()[some] for name in ("score", "other"))
        if len(np.unique(x)) > 1 and len(np.unique(y)) > 1:
            found[every["row"].to_numpy()[some]] = (
                load("scipy.stats", "stats").weightedtau(x, y).statistic
            )
    return pl.Series(rows.name, found, nan_to_null=True)


def overlaps_of_ties(rows: pl.Series, figure: str, tied: str, p: float) -> pl.Series:
    """The rank-biased overlap of the two rankings of each query, on its rows.

    A group of tied documents has the ranks ``min`` to ``max``, null where a ranking lacks the
    document. At depth d a document counts the share of its ranks down to d, or 1 from the first on
    in variant w; the agreement is the sum of the products of both shares over d in variant a, and
    over a mean of the numbers of documents or of the squared shares in w and b.
    """
    every = rows.struct.unnest().with_row_index("row").sort("query")
    ends = every.select(pl.exclude("row", "query").cast(pl.Float64)).to_numpy()
    found, start = np.full(len(rows), np.nan), starts_of(every["query"].to_numpy())
    for some in np.split(np.arange(len(ends)), start[1:]):
        lengths, sides = (~np.isnan(ends[some][:, ::2])).sum(axis=0), ends[some].reshape(-1, 2, 2)
        order = np.argsort(lengths, kind="stable")  # the shorter ranking first
        (s, l), (first, last) = lengths[order], sides[:, order].transpose(2, 1, 0)[..., None]  # noqa: E741 - as in the paper
        if not l:
            continue
        depth = np.arange(1, l + 1)
        share = np.clip((depth - first + 1) / (1 if tied == "w" else last - first + 1), 0, 1)
        only = np.flatnonzero(np.isnan(first[0]) & ~np.isnan(first[1]))
        only = only[np.argsort(first[1, only, 0], kind="stable")]
        share = np.nan_to_num(share)
        both, sizes, left = (
            share.prod(axis=0).sum(axis=0),
            (share**2).sum(axis=1),
            share[1, only, s:],
        )
        sizes[0, s:] = depth[s:]  # the shorter ranking goes on
        of = {"w": sizes.mean(axis=0), "a": depth, "b": np.sqrt(sizes.prod(axis=0))}[tied]
        at_s, met, weight = (
            both[s - 1] / of[s - 1] if s else 0.0,
            both[-1],
            (1 - p) * p ** (depth - 1.0),
        )
        if figure == "min":
            beyond = met * (-(1 - p) / p * np.log1p(-p) - (weight / depth).sum())
        elif figure == "ext":  # the documents below it are common as often as those that it has
            both[s:] += (
                (depth[s:] - s) * at_s * left.sum(axis=0) / np.maximum((left > 0).sum(axis=0), 1)
            )
            beyond = (met + (l - s) * at_s) / l * p**l
        else:  # it goes on with what the longer one has already shown
            both[s:] += np.triu(left[: l - s]).sum(axis=0)
            end = l + s - met
            further = np.arange(l + 1, end + 0.5)
            beyond = ((2 * further - end) / further * (1 - p) * p ** (further - 1)).sum() + p**end
        found[every["row"].to_numpy()[some]] = min(
            max((both / of * weight).sum() + beyond, 0.0), 1.0
        )
    return pl.Series(rows.name, found, nan_to_null=True)
