"""Several rankings of one query's documents as expressions: the words in which methods of fusion
are written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import accumulate
from typing import Literal, TypeAlias

import polars as pl

from .._support.floats import NDArray, np
from ..errors import InvalidOption, option
from .sorted_rows import Needed

Missing: TypeAlias = Literal["skip", "zero", "min"]
Votes: TypeAlias = "NDArray[np.float32]"
How: TypeAlias = Literal["sum", "min", "max", "median", "first"]
Normalization: TypeAlias = Callable[["Scores"], pl.Expr]

LIST = "#list"
"""The column with the number of a row's ranking; every run has one ranking of each query, which may
be empty."""

GREATEST = 1e150
"""The greatest size of a score whose square can be added up; the least spread of scores is 1 over
it."""

RUN = pl.col("#run")
"""The number of the row's run, from 0 on, in the order in which the caller names the runs."""

PAIRS = 4_000_000
"""The number of pairs compared at a time."""

DRAWN = 1e-12
"""The share of all weights up to which a difference between votes is one of rounding."""


class OneRanking:
    """The words for the ranking that a row belongs to."""

    needed: Needed
    expected: bool

    #: The rank of the document, from 1 on; null in a ranking that lacks it.
    rank = pl.col("#rank")

    @property
    def length(self) -> pl.Expr:
        """The number of documents in the ranking."""
        return self.within_ranking(self.rank.count().cast(pl.Float64))

    def by_rank(self, x: pl.Expr) -> pl.Expr:
        """`x`, a function of the rank; documents with equal scores share its mean if ties count by
        expectation.
        """
        return self.needed.column(x.mean().over(LIST, "#score")) if self.expected else x

    def within_ranking(self, x: pl.Expr) -> pl.Expr:
        """An aggregate of the rows of the ranking, on each of its rows."""
        return self.needed.column(x.over(LIST))

    def refuse(self, bad: pl.Expr, message: str) -> None:
        """Fail with `message` where `bad` holds for a row."""
        self.needed.refuse(bad, message)


@dataclass
class Rankings(OneRanking):
    """The rankings of a query's documents by several runs.

    Every row is a document in one ranking; a method that looks at absent documents has a row for
    these, too, without rank and score. A value of a row is summed up per document by `total`,
    `least`, `greatest` or `median`.

    Attributes
    ----------
    needed
        Where columns and refusals are noted.
    n_rankings
        The number of runs, each of which has a ranking of every query.
    normalize
        The normalisation of each ranking's scores; ``None`` for scores as they are.
    missing
        The score of a document in a ranking that lacks it: none, 0, or the least of that ranking's.
    expected
        Whether documents with equal scores in a ranking share the mean of what their ranks are
        worth.
    values
        For a trained method: of each run, the values that training found at the places 1, 2 and so
        on.
    """

    needed: Needed
    n_rankings: int
    normalize: Normalization | None = None
    missing: Missing = "skip"
    expected: bool = False
    values: Sequence[Sequence[float]] = ()
    of_documents: dict[str, tuple[How, pl.Expr]] = field(default_factory=dict)
    totals: dict[str, pl.Expr] = field(default_factory=dict)

    @property
    def listed(self) -> pl.Expr:
        """Whether the ranking has the document."""
        return self.rank.is_not_null()

    def normalized(self, normalize: Normalization | None) -> pl.Expr:
        """The scores as a normalisation gives them; null for a document that the ranking lacks."""
        scores = Scores(self.needed, self.expected)
        says = (
            f"a score is infinite or beyond {GREATEST:g}, and fusion by scores adds up their "
            "squares; give smaller scores"
        )
        self.refuse(scores.score.abs() > GREATEST, f"{says}, or fuse by ranks, as with 'rrf'")
        return scores.score if normalize is None else self.needed.column(normalize(scores))

    @property
    def score(self) -> pl.Expr:
        """The normalised score; for a document that the ranking lacks, null or the score that
        `missing` gives.
        """
        score = self.normalized(self.normalize)
        if self.missing == "zero":
            return score.fill_null(0.0)
        if self.missing == "min":
            return pl.when(self.listed).then(score).otherwise(self.within_ranking(score.min()))
        return score

    @property
    def n_candidates(self) -> pl.Expr:
        """The number of documents in any of the query's rankings; for methods declared with
        ``absent=True``.
        """
        return pl.col("#candidates")

    @property
    def n_listing(self) -> pl.Expr:
        """The number of rankings that have the document, one number per document."""
        return self._per_document("sum", self.listed)

    def weight(self, weights: Sequence[float] | None) -> pl.Expr:
        """The weight of the row's ranking; 1 for each if there are no weights."""
        if weights is None or not self.n_rankings:  # an empty table names no runs
            return pl.lit(1.0)
        if len(weights) != self.n_rankings:
            says = (
                f": the runs are {self.n_rankings}, the weights {len(weights)}; give one weight "
                "for each run, in their order"
            )
            raise InvalidOption(option(weights=list(weights)), says)
        return RUN.replace_strict(
            range(self.n_rankings), [float(x) for x in weights], return_dtype=pl.Float64
        )

    def learned(self, place: pl.Expr) -> pl.Expr:
        """The value that training found for the run at a place, from 1 on; 0 beyond the last, and
        for a document not listed.
        """
        last = len(self.values[0])
        return self._looked_up(
            [(*x, 0.0) for x in self.values], pl.when(place <= last).then(place - 1).otherwise(last)
        )

    def learned_sum(self, first: pl.Expr, last: pl.Expr) -> pl.Expr:
        """The sum of the learned values at the places from `first` to `last`."""
        sums = [(0.0, *accumulate(x)) for x in self.values]
        most = len(self.values[0])
        return self._looked_up(sums, last.clip(0, most)) - self._looked_up(
            sums, (first - 1).clip(0, most)
        )

    def _looked_up(self, values: Sequence[Sequence[float]], at: pl.Expr) -> pl.Expr:
        """The value of the row's run at a position, from 0 on; 0 for a document that the ranking
        lacks.
        """
        width = len(values[0])
        flat = pl.lit(pl.Series([x for of_run in values for x in of_run], dtype=pl.Float64))
        place = pl.when(self.listed).then(RUN * width + at.cast(pl.Int64))
        return self.needed.column(flat.gather(place).fill_null(0.0))

    def total(self, x: pl.Expr) -> pl.Expr:
        """The sum of `x` over the rankings, one number per document.

        ``df.rank.fusion.explain`` shows the terms of the first total of which a formula's value is
        a multiple.
        """
        total = self._per_document("sum", x)
        self.totals[total.meta.output_name()] = x
        return total

    def least(self, x: pl.Expr) -> pl.Expr:
        """The least `x` of the rankings that have one."""
        return self._per_document("min", x)

    def greatest(self, x: pl.Expr) -> pl.Expr:
        """The greatest `x`."""
        return self._per_document("max", x)

    def median(self, x: pl.Expr) -> pl.Expr:
        """The median of `x`; of an even number, the mean of the two in the middle."""
        return self._per_document("median", x)

    def duels(self, weights: Sequence[float] | None) -> pl.Expr:
        """The duels that a document wins against the query's other documents, and half of those
        that are drawn.

        A ranking votes for the document that it has further up, and for one that it has over one
        that it lacks; it casts no vote between two that it lacks, or that it holds to be equal. The
        method must be declared with ``absent=True``.
        """
        self.weight(weights)  # one for each run
        place = self.by_rank(self.rank).fill_null(self.n_candidates + 1)
        columns = [pl.col("#document"), pl.col(LIST), RUN, place]
        won = pl.map_batches(
            columns, partial(_duels, n_rankings=self.n_rankings, weights=weights), pl.Float64
        )
        column = self.needed.column(won, known_by=b"duels" + repr(weights).encode())
        return self._per_document("first", column)

    def _per_document(self, how: How, x: pl.Expr) -> pl.Expr:
        name = f"#of document {len(self.of_documents)}"
        self.of_documents[name] = how, x
        return pl.col(name)


class Scores(OneRanking):
    """The scores of one ranking: the words in which normalisations are written."""

    def __init__(self, needed: Needed, expected: bool) -> None:
        self.needed, self.expected, self.score = needed, expected, pl.col("#score")

    @property
    def least(self) -> pl.Expr:
        """The least score of the ranking."""
        return self.within_ranking(self.score.min())

    @property
    def greatest(self) -> pl.Expr:
        """The greatest score."""
        return self.within_ranking(self.score.max())

    def total(self, x: pl.Expr) -> pl.Expr:
        """The sum of `x` over the ranking."""
        return self.within_ranking(x.sum())

    @property
    def mean(self) -> pl.Expr:
        """Their mean."""
        return self.within_ranking(self.score.mean())

    @property
    def deviation(self) -> pl.Expr:
        """Their standard deviation, divided by the number of scores; exactly 0 if they are all
        equal.
        """
        return self._spread(0)

    @property
    def sample_deviation(self) -> pl.Expr:
        """Their standard deviation, divided by the number of scores less 1; exactly 0 if they are
        all equal.
        """
        return self._spread(1)

    @property
    def norm(self) -> pl.Expr:
        """Their Euclidean norm."""
        norm = self.total(self.score**2).sqrt()
        self._refuse_lost(norm, self.score != 0)
        return norm

    def _spread(self, ddof: int) -> pl.Expr:
        spread, differ = self.within_ranking(self.score.std(ddof=ddof)), self.greatest > self.least
        self._refuse_lost(spread, differ)
        return pl.when(differ).then(spread).otherwise(0.0)

    def _refuse_lost(self, size: pl.Expr, some: pl.Expr) -> None:
        """Refuse scores so near each other, or 0, that their squares are lost."""
        says = (
            f"scores differ by less than {1 / GREATEST:g}, so that squares of the differences are "
            "0; multiply them"
        )
        self.refuse(some & (size < 1 / GREATEST), f"{says}, as by 1e200, or give their logarithms")


@dataclass(frozen=True)
class Learned:
    """The values that a trained method has learned.

    Attributes
    ----------
    table
        A row per run and place: the number of the run (``#run``), the place, and the value. A
        method that learns one value for each run has no column for the place.
    place, value
        The names of the columns of the place and the value.
    """

    table: pl.DataFrame
    place: str | None
    value: str


@dataclass(frozen=True)
class JudgedRankings:
    """The rankings of the training queries by several runs, with judgments.

    Attributes
    ----------
    rows
        A row per document and ranking that has it: ``#run``, ``#rank``, ``#length`` and
        ``#relevant``.
    n_queries
        The number of training queries.
    means
        A function from a metric's text to the mean of each run over the training queries.
    """

    rows: pl.LazyFrame
    n_queries: int
    means: Callable[[str], Sequence[float]]

    #: The rank of the document, from 1 on.
    rank = pl.col("#rank")

    #: The number of documents in the ranking.
    length = pl.col("#length")

    # : 1 for a relevant document, 0 for another one; with ties by expectation, the mean of the
    # documents with the same score.
    relevant = pl.col("#relevant")

    def mean(self, metric: str) -> Learned:
        """The mean of a metric over the training queries, of each run."""
        means = pl.Series(metric, self.means(metric), dtype=pl.Float64)
        return Learned(
            pl.DataFrame([pl.int_range(len(means), eager=True).alias("#run"), means]), None, metric
        )

    def by_place(self, **values: pl.Expr) -> Learned:
        """An aggregate of the rows of each run at each place; the place, then the aggregate, under
        their names.

        Rows whose place is null are left out.
        """
        (place, at), (value, x) = values.items()
        rows = self.rows.with_columns(at.cast(pl.Int64).alias(place)).drop_nulls(place)
        found = rows.group_by(RUN, place).agg(x.alias(value)).sort("#run", place)
        return Learned(found.collect(engine="in-memory"), place, value)


# --------------------------------------------------------------------------------------------------
# ------------ duels


def _duels(
    columns: Sequence[pl.Series], n_rankings: int, weights: Sequence[float] | None
) -> pl.Series:
    """The duels that the document of each row wins."""
    document, ranking, run, place = (column.to_numpy() for column in columns)
    seen, number = np.unique(document, return_inverse=True)
    places = np.zeros((len(seen), n_rankings), dtype=np.float32)
    query = np.zeros(len(seen), dtype=np.int64)
    places[number, run], query[number] = place, ranking // max(n_rankings, 1)
    return pl.Series(duels_won(places, query, weights)[number])


def duels_won(
    place: Votes, query: NDArray[np.int64], weights: Sequence[float] | None
) -> NDArray[np.float64]:
    """The number of duels that each document wins against the others of its query, plus half a duel
    for each draw.

    `place` has a row per document and a column per ranking, which votes for the document of lower
    place. Queries are compared in blocks of similar size, padded to the largest with documents that
    draw every duel.
    """
    by_query = np.argsort(query, kind="stable")
    _, starts, sizes = np.unique(query[by_query], return_index=True, return_counts=True)
    by_size = np.argsort(sizes, kind="stable")
    starts, sizes = starts[by_size], sizes[by_size]
    won = np.zeros(len(place))
    for some in _blocks(sizes):
        most = int(sizes[some][-1])
        slots = np.arange(most)
        held = slots < sizes[some][:, None]
        rows = by_query[np.where(held, starts[some][:, None] + slots, 0)]
        places = np.where(held[..., None], place[rows], np.float32(np.nan))
        step = max(1, PAIRS // (most * len(rows)))
        parts = [
            _won(places[:, first : first + step], places, weights) for first in range(0, most, step)
        ]
        of_none = (
            most - sizes[some][:, None] + 1
        ) / 2  # the draws against the padding and against itself
        won[rows[held]] = (np.concatenate(parts, axis=1) - of_none)[held]
    return won


def _won(left: Votes, right: Votes, weights: Sequence[float] | None) -> NDArray[np.float64]:
    """The duels that documents of each query win against all of that query."""
    votes = np.zeros(
        (*left.shape[:2], right.shape[1]), dtype=np.int32 if weights is None else np.float64
    )
    for ranking in range(left.shape[2]):
        own, other = left[:, :, None, ranking], right[:, None, :, ranking]
        vote = (own < other).view(np.int8) - (own > other).view(np.int8)
        votes += vote if weights is None else weights[ranking] * vote
    least = 0.0 if weights is None else DRAWN * sum(map(abs, weights))
    won: NDArray[np.float64] = ((votes > least).sum(axis=2) + (votes >= -least).sum(axis=2)) / 2
    return won


def _blocks(sizes: NDArray[np.int64]) -> Iterator[slice]:
    """Slices of queries, which are sorted by size, with at most `PAIRS` pairs; a query with more is
    one by itself.
    """
    start = 0
    while start < len(sizes):
        pairs = np.arange(1, len(sizes) - start + 1) * sizes[start:] ** 2
        stop = start + max(1, int(np.searchsorted(pairs, PAIRS, side="right")))
        yield slice(start, stop)
        start = stop
