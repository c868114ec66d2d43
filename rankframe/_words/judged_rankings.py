"""The judged rankings of several runs: the words in which it is written what a trained method of fusion learns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import polars as pl

from .rankings import RUN


@dataclass(frozen=True)
class Learned:
    """The values that a trained method has learned.

    Attributes
    ----------
    table
        A row per run and place: the number of the run (``#run``), the place, and the value. A method that learns one value
        for each run has no column for the place.
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
        A row per document and ranking that has it: ``#run``, ``#rank``, ``#length`` and ``#relevant``.
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

    #: 1 for a relevant document, 0 for another one; with ties by expectation, the mean of the documents with the same score.
    relevant = pl.col("#relevant")

    def mean(self, metric: str) -> Learned:
        """The mean of a metric over the training queries, of each run."""
        means = pl.Series(metric, self.means(metric), dtype=pl.Float64)
        return Learned(pl.DataFrame([pl.int_range(len(means), eager=True).alias("#run"), means]), None, metric)

    def by_place(self, **values: pl.Expr) -> Learned:
        """An aggregate of the rows of each run at each place; the place, then the aggregate, under their names.

        Rows whose place is null are left out.
        """
        (place, at), (value, x) = values.items()
        rows = self.rows.with_columns(at.cast(pl.Int64).alias(place)).drop_nulls(place)
        found = rows.group_by(RUN, place).agg(x.alias(value)).sort("#run", place)
        return Learned(found.collect(engine="in-memory"), place, value)
