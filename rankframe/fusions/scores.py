"""Fusion by scores, and the normalisations that bring these to a common scale."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from .._catalog.fusions import fusion, normalization
from .._words.rankings import Rankings, Scores

__all__ = [
    "comb_anz",
    "comb_gmnz",
    "comb_max",
    "comb_med",
    "comb_min",
    "comb_mnz",
    "comb_sum",
    "mixed",
    "wmnz",
    "wsum",
]


@fusion("sum", of="scores")
def comb_sum(r: Rankings) -> pl.Expr:
    r"""CombSUM: the sum of the scores.

    .. math:: \sum_j s_j(d)

    References
    ----------
    Fox and Shaw, Combination of multiple searches, TREC-2, 1994; ranx' ``sum``.
    """
    return r.total(r.score)


@fusion("min", of="scores")
def comb_min(r: Rankings) -> pl.Expr:
    """CombMIN: the least score of the rankings that have the document.

    References
    ----------
    Fox and Shaw, Combination of multiple searches, TREC-2, 1994; ranx' ``min``.
    """
    return r.least(r.score)


@fusion("max", of="scores")
def comb_max(r: Rankings) -> pl.Expr:
    """CombMAX: the greatest score.

    References
    ----------
    Fox and Shaw, Combination of multiple searches, TREC-2, 1994; ranx' ``max``.
    """
    return r.greatest(r.score)


@fusion("med", "median", of="scores")
def comb_med(r: Rankings) -> pl.Expr:
    """CombMED: the median of the scores; of an even number of them, the mean of the two in the
    middle.

    References
    ----------
    Fox and Shaw, Combination of multiple searches, TREC-2, 1994; ranx' ``med``.
    """
    return r.median(r.score)


@fusion("anz", "mean", of="scores")
def comb_anz(r: Rankings) -> pl.Expr:
    r"""CombANZ: the sum of the scores over the number `h` of rankings that have the document.

    .. math:: \frac{1}{h} \sum_j s_j(d)

    References
    ----------
    Fox and Shaw, Combination of multiple searches, TREC-2, 1994; ranx' ``anz``, trectools'
    ``mean``.
    """
    return r.total(r.score) / r.n_listing


@fusion("mnz", of="scores")
def comb_mnz(r: Rankings) -> pl.Expr:
    r"""CombMNZ: the sum of the scores times the number `h` of rankings that have the document.

    .. math:: h \sum_j s_j(d)

    References
    ----------
    Fox and Shaw, Combination of multiple searches, TREC-2, 1994; ranx' ``mnz``.
    """
    return r.total(r.score) * r.n_listing


@fusion("gmnz", of="scores")
def comb_gmnz(r: Rankings, gamma: float = 1.0) -> pl.Expr:
    r"""CombGMNZ: the sum of the scores times a power of the number `h` of rankings that have the
    document.

    .. math:: h^\gamma \sum_j s_j(d)

    Parameters
    ----------
    gamma
        The exponent: 0 gives CombSUM, 1 CombMNZ, -1 CombANZ.

    References
    ----------
    Lee, Analyses of multiple evidence combination, SIGIR 1997; ranx' ``gmnz``.
    """
    factor = r.n_listing.pow(gamma)
    return r.total(r.score) * factor


@fusion("weighted_sum", "linear", of="scores")
def wsum(r: Rankings, weights: Sequence[float] | None = None) -> pl.Expr:
    r"""The weighted sum of the scores.

    .. math:: \sum_j w_j \, s_j(d)

    Parameters
    ----------
    weights
        A weight for each run, in the order of the runs; default: 1 for each.

    References
    ----------
    Vogt and Cottrell, Fusion via a linear combination of scores, Information Retrieval 1, 1999;
    ranx' ``wsum``.
    """
    return _weighted_sum(r, weights)


@fusion(of="scores")
def mixed(r: Rankings, weights: Sequence[float] | None = None) -> pl.Expr:
    r"""The weighted sum of the scores times the square root of the number `h` of rankings that have
    the document.

    .. math:: \sqrt{h} \sum_j w_j \, s_j(d)

    Parameters
    ----------
    weights
        A weight for each run, in the order of the runs; default: 1 for each.

    References
    ----------
    ranx' ``mixed``.
    """
    return _weighted_sum(r, weights) * r.n_listing.sqrt()


@fusion(of="scores")
def wmnz(r: Rankings, weights: Sequence[float] | None = None) -> pl.Expr:
    r"""The sum of the scores times the sum of the weights of the rankings that have the document.

    .. math:: \sum_j s_j(d) \sum_{j: d \in j} w_j

    Parameters
    ----------
    weights
        A weight for each run, in the order of the runs; default: 1 for each.

    References
    ----------
    Wu and Crestani, Data fusion with estimated weights, CIKM 2002; ranx' ``wmnz``.
    """
    total = r.total(r.score)
    weight = r.weight(weights)
    of_listed = pl.when(r.listed).then(weight)
    return total * r.total(of_listed)


def _weighted_sum(r: Rankings, weights: Sequence[float] | None) -> pl.Expr:
    weight = r.weight(weights)
    return r.total(r.score * weight)


@normalization("minmax", "min-max")
def min_max(r: Scores) -> pl.Expr:
    """From 0, the least score, to 1, the greatest; 1 for every document where all scores are
    equal.
    """
    return _on_span(r, r.score - r.least)


@normalization("min-max-inverted")
def min_max_inverted(r: Scores) -> pl.Expr:
    """From 1, the least score, to 0, the greatest: for distances; 1 for every document where all
    are equal.
    """
    return _on_span(r, r.greatest - r.score)


def _on_span(r: Scores, distance: pl.Expr) -> pl.Expr:
    """A distance over that of the greatest score from the least; 1 where all are equal."""
    share = distance / (r.greatest - r.least)
    return pl.when(r.greatest > r.least).then(share).otherwise(_one(r))


@normalization(text="max")
def over_greatest(r: Scores) -> pl.Expr:
    """The score over the greatest of the ranking."""
    r.refuse(
        r.score < 0,
        "normalize='max' divides by the greatest score, and a score is negative; write 'min_max'",
    )
    share = r.score / r.greatest
    return pl.when(r.greatest > 0).then(share).otherwise(_one(r))


@normalization(text="sum")
def over_sum(r: Scores) -> pl.Expr:
    """The score above the least, over the sum of these; 1 over the number of documents where all
    are equal.
    """
    above = r.score - r.least
    share = above / r.total(above)
    equal = _one(r) / r.length
    return pl.when(r.greatest > r.least).then(share).otherwise(equal)


@normalization("z_score", "z-score", "zscore")
def zmuv(r: Scores) -> pl.Expr:
    """Zero mean, unit variance: standard deviations above the mean; 0 where all scores are
    equal.
    """
    is_spread = r.deviation > 0
    deviations = (r.score - r.mean) / r.deviation
    return pl.when(is_spread).then(deviations).otherwise(_zero(r))


@normalization()
def rank(r: Scores) -> pl.Expr:
    """By the rank alone: 1 for the first of n documents, and 1/n less at each next rank."""
    return r.by_rank(1 - (r.rank - 1) / r.length)


@normalization()
def l2(r: Scores) -> pl.Expr:
    """The score over the Euclidean norm of the ranking's scores; 0 where that is 0."""
    share = r.score / r.norm
    return pl.when(r.norm > 0).then(share).otherwise(_zero(r))


@normalization("dist_based_score")
def dbsf(r: Scores) -> pl.Expr:
    """Distribution-based: from three standard deviations below the mean, 0, to three above, 1; 1/2
    where all are equal.
    """
    half = _one(r) / 2
    share = in_six_deviations(r, r.deviation)
    return pl.when(r.deviation > 0).then(share).otherwise(half)


def in_six_deviations(r: Scores, deviation: pl.Expr) -> pl.Expr:
    """The score on a scale from three standard deviations below the mean, 0, to three above, 1."""
    low = r.mean - 3 * deviation
    return (r.score - low) / (6 * deviation)


def _one(r: Scores) -> pl.Expr:
    """1 for each document that the ranking has."""
    return pl.when(r.rank.is_not_null()).then(1.0)


def _zero(r: Scores) -> pl.Expr:
    """0 for each document that the ranking has."""
    return _one(r) - 1
