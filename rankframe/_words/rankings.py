"""Several rankings of one query's documents as expressions: the words in which methods of fusion
are written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import accumulate, chain
from typing import Literal, TypeAlias

import polars as pl

from .._support.floats import Floats, Integers, NDArray, np
from ..errors import InvalidOption, option
from .rows import zero_unless
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
        if not self.expected:
            return x
        mean = x.mean().over(LIST, "#score")
        return self.needed.column(mean)

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
    of_documents
        What methods ask for of each document, computed once for all of them.
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
            "squares; give smaller scores, or fuse by ranks, as with 'rrf'"
        )
        self.refuse(scores.score.abs() > GREATEST, says)
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
            least = self.within_ranking(score.min())
            return pl.when(self.listed).then(score).otherwise(least)
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
        self._refuse_other_number(weights)
        runs = range(self.n_rankings)
        as_floats = [float(x) for x in weights]
        return RUN.replace_strict(runs, as_floats, return_dtype=pl.Float64)

    def _refuse_other_number(self, weights: Sequence[float] | None) -> None:
        """Refuse weights that are not one for each run."""
        if weights is None or not self.n_rankings or len(weights) == self.n_rankings:
            return
        says = (
            f": the runs are {self.n_rankings}, the weights {len(weights)}; give one weight "
            "for each run, in their order"
        )
        raise InvalidOption(option(weights=list(weights)), says)

    def learned(self, place: pl.Expr) -> pl.Expr:
        """The value that training found for the run at a place, from 1 on; 0 beyond the last, and
        for a document not listed.
        """
        last = len(self.values[0])
        values = [(*of_run, 0.0) for of_run in self.values]
        at = pl.when(place <= last).then(place - 1).otherwise(last)
        return self._looked_up(values, at)

    def learned_sum(self, first: pl.Expr, last: pl.Expr) -> pl.Expr:
        """The sum of the learned values at the places from `first` to `last`."""
        sums = [(0.0, *accumulate(of_run)) for of_run in self.values]
        most = len(self.values[0])
        to_last = self._looked_up(sums, last.clip(0, most))
        before_first = self._looked_up(sums, (first - 1).clip(0, most))
        return to_last - before_first

    def _looked_up(self, values: Sequence[Sequence[float]], at: pl.Expr) -> pl.Expr:
        """The value of the row's run at a position, from 0 on.

        It is 0 for a document that the ranking lacks.
        """
        width = len(values[0])
        flat = pl.Series(chain.from_iterable(values), dtype=pl.Float64)
        place = pl.when(self.listed).then(RUN * width + at.cast(pl.Int64))
        return self.needed.column(pl.lit(flat).gather(place).fill_null(0.0))

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
        self._refuse_other_number(weights)
        place = self.by_rank(self.rank).fill_null(self.n_candidates + 1)
        columns = [pl.col("#document"), pl.col(LIST), RUN, place]
        duels = partial(_duels, n_rankings=self.n_rankings, weights=weights)
        won = pl.map_batches(columns, duels, pl.Float64)
        key = b"duels" + repr(weights).encode()
        return self._per_document("first", self.needed.column(won, known_by=key))

    def _per_document(self, how: How, x: pl.Expr) -> pl.Expr:
        name = f"#of document {len(self.of_documents)}"
        self.of_documents[name] = how, x
        return pl.col(name)


class Scores(OneRanking):
    """The scores of one ranking: the words in which normalisations are written."""

    def __init__(self, needed: Needed, expected: bool) -> None:
        self.needed = needed
        self.expected = expected
        self.score = pl.col("#score")

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
        spread = self.within_ranking(self.score.std(ddof=ddof))
        differ = self.greatest > self.least
        self._refuse_lost(spread, differ)
        return zero_unless(differ, spread)

    def _refuse_lost(self, size: pl.Expr, differ: pl.Expr) -> None:
        """Refuse scores so near each other, or 0, that their squares are lost."""
        least = 1 / GREATEST
        says = (
            f"scores differ by less than {least:g}, so that squares of the differences are "
            "0; multiply them, as by 1e200, or give their logarithms"
        )
        self.refuse(differ & (size < least), says)


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

    #: 1 for a relevant document, 0 for another one; with ties by expectation, the mean of the
    #: documents with the same score.
    relevant = pl.col("#relevant")

    def mean(self, metric: str) -> Learned:
        """The mean of a metric over the training queries, of each run."""
        means = pl.Series(metric, self.means(metric), dtype=pl.Float64)
        runs = pl.int_range(len(means), eager=True).alias("#run")
        return Learned(pl.DataFrame([runs, means]), None, metric)

    def by_place(self, **values: pl.Expr) -> Learned:
        """An aggregate of the rows of each run at each place; the place, then the aggregate, under
        their names.

        Rows whose place is null are left out.
        """
        (place, at), (value, x) = values.items()
        number = at.cast(pl.Int64).alias(place)
        rows = self.rows.with_columns(number).drop_nulls(place)
        by_place = rows.group_by(RUN, place).agg(x.alias(value))
        learned = by_place.sort("#run", place).collect(engine="in-memory")
        return Learned(learned, place, value)


# ------------------------------------------------------------------------------------------ duels


def _duels(
    columns: Sequence[pl.Series], n_rankings: int, weights: Sequence[float] | None
) -> pl.Series:
    """The duels that the document of each row wins."""
    document, ranking, run, place = (column.to_numpy() for column in columns)
    documents, number = np.unique(document, return_inverse=True)
    places = np.zeros((len(documents), n_rankings), dtype=np.float32)
    places[number, run] = place
    query = np.zeros(len(documents), dtype=np.int64)
    query[number] = ranking // max(n_rankings, 1)
    return pl.Series(duels_won(places, query, weights)[number])


def duels_won(place: Votes, query: Integers, weights: Sequence[float] | None) -> Floats:
    """The number of duels that each document wins against the others of its query.

    Half a duel is added for each draw.

    `place` has a row per document and a column per ranking, which votes for the document of lower
    place. Queries are compared in blocks of similar size, padded to the largest with documents that
    draw every duel.
    """
    by_query = np.argsort(query, kind="stable")
    _, starts, sizes = np.unique(query[by_query], return_index=True, return_counts=True)
    by_size = np.argsort(sizes, kind="stable")
    starts = starts[by_size]
    sizes = sizes[by_size]
    won = np.zeros(len(place))
    for block in _blocks(sizes):
        size = sizes[block][:, None]
        start = starts[block][:, None]
        most = int(size[-1, 0])
        slots = np.arange(most)
        is_held = slots < size
        rows = by_query[np.where(is_held, start + slots, 0)]
        places = np.where(is_held[..., None], place[rows], np.float32(np.nan))
        step = max(1, PAIRS // (most * len(rows)))
        firsts = range(0, most, step)
        parts = [_won(places[:, first : first + step], places, weights) for first in firsts]
        of_block = np.concatenate(parts, axis=1)
        draws = (most - size + 1) / 2  # against the padding and against itself
        won[rows[is_held]] = (of_block - draws)[is_held]
    return won


def _won(left: Votes, right: Votes, weights: Sequence[float] | None) -> Floats:
    """The duels that documents of each query win against all of that query."""
    n_queries, n_left, n_rankings = left.shape
    dtype = np.int32 if weights is None else np.float64
    votes = np.zeros((n_queries, n_left, right.shape[1]), dtype=dtype)
    for ranking in range(n_rankings):
        one = left[:, :, None, ranking]
        other = right[:, None, :, ranking]
        vote = (one < other).view(np.int8) - (one > other).view(np.int8)
        votes += vote if weights is None else weights[ranking] * vote
    least = 0.0 if weights is None else DRAWN * sum(map(abs, weights))
    wins = (votes > least).sum(axis=2)
    wins_and_draws = (votes >= -least).sum(axis=2)
    won: Floats = (wins + wins_and_draws) / 2
    return won


def _blocks(sizes: Integers) -> Iterator[slice]:
    """Slices of queries, which are sorted by size, with at most `PAIRS` pairs.

    A query with more is one by itself.
    """
    start = 0
    while start < len(sizes):
        left = sizes[start:]
        pairs = np.arange(1, len(left) + 1) * left**2
        n_queries = int(np.searchsorted(pairs, PAIRS, side="right"))
        stop = start + max(1, n_queries)
        yield slice(start, stop)
        start = stop
