"""Query performance prediction: metrics that estimate the quality of a ranking from its scores,
without judgments.
"""

from __future__ import annotations

from typing import Any

import polars as pl

from .._catalog.registry import metric
from .._words.ranking import Ranking

__all__ = ["nqc", "sigma_max", "wig"]

OF_SCORES: Any = {"labels": False, "adds_up": False, "needs": ("score",)}
"""The declaration of a metric of scores."""


class _Top:
    """The scores of the top `k` by how far they are below the greatest.

    So neither their size nor one mask takes digits.

    Attributes
    ----------
    first
        The greatest score.
    unit
        How far the least is below it; 1 if all are equal.
    below
        How far each score is below the greatest, in units: from 0 to 1.
    known
        Whether there is a score, and none is infinite.
    """

    def __init__(self, r: Ranking, k: int | None) -> None:
        score = pl.when(r.listed(k)).then(r.score)
        self.r = r
        self.n = r.count(score.is_not_null())
        self.first = r.largest(score)
        lowest = r.largest(self.first - score)
        self.unit = pl.when(lowest > 0).then(lowest).otherwise(1.0)
        self.below = (self.first - score) / self.unit
        is_finite = self.first.is_finite() & self.unit.is_finite()
        self.known = (self.n > 0) & is_finite

    @property
    def mean_below(self) -> pl.Expr:
        """How far the mean is below the greatest score, in units."""
        return self.r.whole(self.below) / self.n

    @property
    def mean(self) -> pl.Expr:
        """The mean of the scores."""
        return self.first - self.unit * self.mean_below

    @property
    def deviation(self) -> pl.Expr:
        """The standard deviation of the scores."""
        squares = (self.below - self.mean_below) ** 2
        variance = self.r.whole(squares) / self.n
        return self.unit * variance.sqrt()


def _column(r: Ranking, x: pl.Expr) -> pl.Expr:
    """The number that a column has for the query; null if it is not finite."""
    number = r.largest(r.column(x).cast(pl.Float64))
    return pl.when(number.is_finite()).then(number)


@metric(display="NQC", **OF_SCORES)
def nqc(r: Ranking, k: int | None = None, *, collection: pl.Expr | None = None) -> pl.Expr:
    r"""Normalised query commitment: the standard deviation of the scores of the top `k` over the
    score of the collection.

    .. math:: \frac{1}{|s_C|} \sqrt{\frac{1}{k} \sum_{i=1}^{k} (s_i - \bar s)^2}

    Parameters
    ----------
    k
        Ranks to look at, usually 100; ``None`` looks at all.
    collection
        A column with the score of the collection as one document, the same in all rows of a query.
        ``None`` takes the mean of all scores of the ranking.

    Returns
    -------
    One Float64 per query, from 0 on; null if the collection's score is 0, null or not finite,
    nothing was retrieved, or a score that is read is infinite: one of the top `k`, or any if the
    mean of all is the collection's.

    References
    ----------
    Shtok, Kurland, Carmel, Raiber and Markovits, Predicting query performance by query-drift
    estimation, ACM TOIS 30(2), 2012.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({"query_id": [1, 1], "doc_id": ["a", "b"], "score": [3.0, 1.0]})
    >>> df.rank.evaluate("nqc")["nqc"].item()  # deviation 1, mean 2
    0.5
    """
    top = _Top(r, k)
    of_collection: pl.Expr
    if collection is None:
        listed = _Top(r, None)
        of_collection = pl.when(listed.known).then(listed.mean)
    else:
        of_collection = _column(r, collection)
    is_defined = top.known & (of_collection != 0)
    return pl.when(is_defined).then(top.deviation / of_collection.abs())


@metric(display="WIG", bounds=(None, None), **OF_SCORES)
def wig(
    r: Ranking,
    k: int | None = None,
    *,
    collection: pl.Expr | None = None,
    terms: pl.Expr | None = None,
) -> pl.Expr:
    r"""Weighted information gain: how far the scores of the top `k` are above that of the
    collection.

    .. math:: \frac{1}{k \sqrt{|q|}} \sum_{i=1}^{k} (s_i - s_C)

    Parameters
    ----------
    k
        Ranks to look at, usually 5; ``None`` looks at all.
    collection
        As for :func:`nqc`.
    terms
        A column with the number of terms of the query, ``|q|`` above; ``None`` for 1.

    Returns
    -------
    One Float64 per query; null if nothing was retrieved, a score that is read is infinite, as for
    :func:`nqc`, or the number of terms is not above 0.

    References
    ----------
    Zhou and Croft, Query performance prediction in web search environments, SIGIR 2007.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({"query_id": [1, 1], "doc_id": ["a", "b"], "score": [3.0, 1.0]})
    >>> df.rank.evaluate("wig@1")["wig@1"].item()  # 3 less the mean, 2
    1.0
    """
    top = _Top(r, k)
    gain: pl.Expr
    if collection is None:
        listed = _Top(r, None)
        below_first = listed.unit * listed.mean_below - top.unit * top.mean_below
        gain = pl.when(listed.known).then(below_first)
    else:
        gain = top.mean - _column(r, collection)
    if terms is not None:
        length = _column(r, terms)
        gain = pl.when(length > 0).then(gain / length.sqrt())
    return pl.when(top.known).then(gain)


@metric(display="Sigma max", **OF_SCORES)
def sigma_max(r: Ranking, k: int | None = None) -> pl.Expr:
    r"""Sigma max: the largest standard deviation of the scores from the top down to any rank.

    .. math:: \max_{1 \le m \le k} \sqrt{\frac{1}{m} \sum_{i=1}^{m} (s_i - \bar s_m)^2}

    Parameters
    ----------
    k
        The last rank to look at; ``None`` looks at all.

    Returns
    -------
    One Float64 per query, from 0 on; null if nothing was retrieved, or a score of the top `k` is
    infinite.

    References
    ----------
    Pérez-Iglesias and Araujo, Standard deviation as a query hardness estimator, SPIRE 2010.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({"query_id": [1] * 3, "doc_id": list("abc"), "score": [3.0, 1.0, 1.0]})
    >>> df.rank.evaluate("sigma_max")["sigma_max"].item()  # of 3 and 1
    1.0
    """
    r.need_every_rank()
    top = _Top(r, k)
    mean = r.so_far(top.below) / r.rank
    squares = r.so_far(top.below**2) / r.rank
    variance = (squares - mean**2).clip(lower_bound=0.0)
    deviation = top.unit * variance.sqrt()
    largest = r.largest(pl.when(r.listed(k)).then(deviation))
    return pl.when(top.known).then(largest)
