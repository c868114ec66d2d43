"""Several rankings of one query's documents as expressions: the words in which methods of fusion are written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import polars as pl

from ..errors import InvalidOption, option
from .asked import Asked

__all__ = ["Missing", "Normalization", "Rankings", "Scores"]

Missing: TypeAlias = Literal["skip", "zero", "min"]
Normalization: TypeAlias = Callable[["Scores"], pl.Expr]

LIST = "#list"
"""The column with the number of a row's ranking; every run has one ranking of each query, which may be empty."""

RUN = pl.col("#run")
"""The number of the row's run, from 0 on, in the order in which the caller names the runs."""


@dataclass
class Rankings:
    """The rankings of a query's documents by several runs.

    Every row is a document in one ranking; a method that looks at absent documents has a row for these, too, without
    rank and score. A value of a row is summed up per document by `total`, `least`, `greatest` or `median`.

    Attributes
    ----------
    asked
        Where columns and refusals are noted.
    n_rankings
        The number of runs, each of which has a ranking of every query.
    normalize
        The normalisation of each ranking's scores; ``None`` for scores as they are.
    missing
        The score of a document in a ranking that lacks it: none, 0, or the least of that ranking's.
    expected
        Whether documents with equal scores in a ranking share the mean of what their ranks are worth.
    of_documents, totals
        The columns with one value per document, as aggregates of its rows; and the terms of those that are totals.
    """

    asked: Asked
    n_rankings: int
    normalize: Normalization | None = None
    missing: Missing = "skip"
    expected: bool = False
    of_documents: dict[str, pl.Expr] = field(default_factory=dict)
    totals: dict[str, pl.Expr] = field(default_factory=dict)

    #: The rank of the document, from 1 on; null in a ranking that lacks it.
    rank = pl.col("#rank")

    @property
    def listed(self) -> pl.Expr:
        """Whether the ranking has the document."""
        return self.rank.is_not_null()

    @property
    def score(self) -> pl.Expr:
        """The normalised score; for a document that the ranking lacks, null or the score that `missing` gives."""
        scores = Scores(self)
        score = scores.score if self.normalize is None else self.asked.column(self.normalize(scores))
        if self.missing == "zero":
            return score.fill_null(0.0)
        if self.missing == "min":
            return pl.when(self.listed).then(score).otherwise(self.within_ranking(score.min()))
        return score

    @property
    def length(self) -> pl.Expr:
        """The number of documents in the ranking."""
        return self.within_ranking(self.rank.count().cast(pl.Float64))

    @property
    def n_candidates(self) -> pl.Expr:
        """The number of documents in any of the query's rankings."""
        return pl.col("#candidates")

    @property
    def n_listing(self) -> pl.Expr:
        """The number of rankings that have the document, one number per document."""
        return self._per_document(self.listed.sum().cast(pl.Float64))

    def weight(self, weights: Sequence[float] | None) -> pl.Expr:
        """The weight of the row's ranking; 1 for each if there are no weights."""
        if weights is None or not self.n_rankings:  # an empty table names no runs
            return pl.lit(1.0)
        if len(weights) != self.n_rankings:
            raise InvalidOption(
                option(weights=list(weights)),
                f": the runs are {self.n_rankings}, the weights {len(weights)}; give one weight for each run, in their order",
            )
        return RUN.replace_strict(range(self.n_rankings), weights, return_dtype=pl.Float64)

    def by_rank(self, x: pl.Expr) -> pl.Expr:
        """`x`, a function of the rank; documents with equal scores share its mean if ties count by expectation."""
        return self.asked.column(x.mean().over(LIST, "#score")) if self.expected else x

    def within_ranking(self, x: pl.Expr) -> pl.Expr:
        """An aggregate of the rows of the ranking, on each of its rows."""
        return self.asked.column(x.over(LIST))

    def total(self, x: pl.Expr) -> pl.Expr:
        """The sum of `x` over the rankings, one number per document.

        `explain_fusion` shows the terms of a formula's first total, where its value is a multiple of that total.
        """
        total = self._per_document(x.sum())
        self.totals[total.meta.output_name()] = x
        return total

    def least(self, x: pl.Expr) -> pl.Expr:
        """The least `x` of the rankings that have one."""
        return self._per_document(x.min())

    def greatest(self, x: pl.Expr) -> pl.Expr:
        """The greatest `x`."""
        return self._per_document(x.max())

    def median(self, x: pl.Expr) -> pl.Expr:
        """The median of `x`; of an even number, the mean of the two in the middle."""
        return self._per_document(x.median())

    def refuse(self, bad: pl.Expr, message: str) -> None:
        """Fail with `message` where `bad` holds for a row."""
        self.asked.refuse(bad, message)

    def _per_document(self, x: pl.Expr) -> pl.Expr:
        name = f"#of document {len(self.of_documents)}"
        self.of_documents[name] = x
        return pl.col(name)


class Scores:
    """The scores of one ranking: the words in which normalisations are written."""

    def __init__(self, rankings: Rankings) -> None:
        self._rankings = rankings
        self.score = pl.col("#score")

    @property
    def least(self) -> pl.Expr:
        """The least score of the ranking."""
        return self._rankings.within_ranking(self.score.min())

    @property
    def greatest(self) -> pl.Expr:
        """The greatest score."""
        return self._rankings.within_ranking(self.score.max())

    @property
    def sum(self) -> pl.Expr:
        """The sum of the scores."""
        return self._rankings.within_ranking(self.score.sum())

    @property
    def mean(self) -> pl.Expr:
        """Their mean."""
        return self._rankings.within_ranking(self.score.mean())

    @property
    def deviation(self) -> pl.Expr:
        """Their standard deviation, divided by the number of scores; exactly 0 if they are all equal."""
        spread = self._rankings.within_ranking(self.score.std(ddof=0))
        return pl.when(self.greatest > self.least).then(spread).otherwise(0.0)

    @property
    def norm(self) -> pl.Expr:
        """Their Euclidean norm."""
        return self._rankings.within_ranking((self.score**2).sum()).sqrt()

    @property
    def length(self) -> pl.Expr:
        """Their number."""
        return self._rankings.length

    @property
    def rank(self) -> pl.Expr:
        """The rank of the document."""
        return self._rankings.rank

    def by_rank(self, x: pl.Expr) -> pl.Expr:
        """See `Rankings.by_rank`."""
        return self._rankings.by_rank(x)

    def refuse(self, bad: pl.Expr, message: str) -> None:
        """Fail with `message` where `bad` holds for a score."""
        self._rankings.refuse(bad, message)
