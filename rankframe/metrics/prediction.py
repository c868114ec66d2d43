"""Query performance prediction: metrics that estimate the quality of a ranking from its scores, without judgments."""

from __future__ import annotations

from typing import Any

import polars as pl

from .._catalog.registry import metric
from .._words.ranking import Ranking

__all__ = ["nqc", "sigma_max", "wig"]

OF_SCORES: Any = {"labels": False, "adds_up": False, "needs": ("score",)}
"""The declaration of a metric of scores."""


def _top(r: Ranking, k: int | None) -> tuple[pl.Expr, pl.Expr]:
    """The mean of the scores of the top `k`, and their standard deviation."""
    score = pl.when(r.listed(k)).then(r.score)
    n = r.count(score.is_not_null())
    mean = r.whole(score) / n
    return mean, (r.whole((score - mean) ** 2) / n).sqrt()


def _of_collection(r: Ranking, collection: pl.Expr | None) -> pl.Expr:
    """The score of the collection as one document; without it, the mean of all scores."""
    return _top(r, None)[0] if collection is None else r.largest(r.column(collection).cast(pl.Float64))


@metric(display="NQC", **OF_SCORES)
def nqc(r: Ranking, k: int | None = None, *, collection: pl.Expr | None = None) -> pl.Expr:
    r"""Normalised query commitment: the standard deviation of the scores of the top `k` over the score of the collection.

    .. math:: \frac{1}{|s_C|} \sqrt{\frac{1}{k} \sum_{i=1}^{k} (s_i - \bar s)^2}

    Parameters
    ----------
    k
        Ranks to look at, usually 100; ``None`` looks at all.
    collection
        A column with the score of the collection as one document, the same in all rows of a query. ``None`` takes the mean of
        all scores of the ranking.

    Returns
    -------
    One Float64 per query, from 0 on; null if the collection's score is 0, or nothing was retrieved.

    References
    ----------
    Shtok, Kurland, Carmel, Raiber and Markovits, Predicting query performance by query-drift estimation, ACM TOIS 30(2), 2012.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({"query_id": [1, 1], "doc_id": ["a", "b"], "score": [3.0, 1.0]})
    >>> df.rank.evaluate("nqc")["nqc"].item()                                         # deviation 1, mean 2
    0.5
    """
    of_collection = _of_collection(r, collection).abs()
    return pl.when((of_collection > 0) & (r.n_retrieved > 0)).then(_top(r, k)[1] / of_collection)


@metric(display="WIG", bounds=(None, None), **OF_SCORES)
def wig(
    r: Ranking, k: int | None = None, *, collection: pl.Expr | None = None, terms: pl.Expr | None = None
) -> pl.Expr:
    r"""Weighted information gain: how far the scores of the top `k` are above that of the collection.

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
    One Float64 per query; null if nothing was retrieved.

    References
    ----------
    Zhou and Croft, Query performance prediction in web search environments, SIGIR 2007.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({"query_id": [1, 1], "doc_id": ["a", "b"], "score": [3.0, 1.0]})
    >>> df.rank.evaluate("wig@1")["wig@1"].item()                                     # 3 less the mean, 2
    1.0
    """
    found = _top(r, k)[0] - _of_collection(r, collection)
    found = found if terms is None else found / r.largest(r.column(terms).cast(pl.Float64)).sqrt()
    return pl.when(r.n_retrieved > 0).then(found)


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
    One Float64 per query, from 0 on; null if nothing was retrieved.

    References
    ----------
    Pérez-Iglesias and Araujo, Standard deviation as a query hardness estimator, SPIRE 2010.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({"query_id": [1] * 3, "doc_id": list("abc"), "score": [3.0, 1.0, 1.0]})
    >>> df.rank.evaluate("sigma_max")["sigma_max"].item()                             # of 3 and 1
    1.0
    """
    r.need_every_rank()
    centered = r.score - _top(r, None)[0]  # large scores with a small deviation would lose digits when squared
    mean, squares = r.so_far(centered) / r.rank, r.so_far(centered**2) / r.rank
    deviation = (squares - mean**2).clip(lower_bound=0.0).sqrt()
    return pl.when(r.n_retrieved > 0).then(r.largest(pl.when(r.listed(k)).then(deviation)))
