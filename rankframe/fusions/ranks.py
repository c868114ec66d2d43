"""Fusion by ranks: what a document's ranks in the rankings add up to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import polars as pl

from .._catalog.fusions import fusion
from .._words.ranking import Range
from .._words.rankings import Rankings

__all__ = ["borda", "condorcet", "isr", "log_isr", "logn_isr", "rbc", "rrf"]


@fusion("reciprocal_rank_fusion", of="ranks")
def rrf(
    r: Rankings, k: Annotated[float, Range(least=0)] = 60, *, weights: Sequence[float] | None = None
) -> pl.Expr:
    r"""Reciprocal rank fusion: the sum of 1 over `k` plus the rank.

    .. math:: \sum_j \frac{w_j}{k + r_j(d)}

    Parameters
    ----------
    k
        The constant: the larger, the less the first ranks stand out.
    weights
        A weight for each run, in the order of the runs; ``None`` weighs all alike.

    References
    ----------
    Cormack, Clarke and Büttcher, Reciprocal rank fusion outperforms Condorcet, SIGIR 2009; ranx'
    and trectools' ``rrf``; with weights, LangChain's ``EnsembleRetriever``.
    """
    credit = 1 / (k + r.rank)
    weight = r.weight(weights)
    return r.total(r.by_rank(credit) * weight)


@fusion(of="ranks")
def isr(r: Rankings) -> pl.Expr:
    r"""Inverse square rank: the number `h` of rankings that have the document times the sum of 1
    over the squared rank.

    .. math:: h \sum_j \frac{1}{r_j(d)^2}

    References
    ----------
    Mourão, Martins and Magalhães, Multimodal medical information retrieval with unsupervised rank
    fusion, 2015; ranx' ``isr``.
    """
    return _inverse_squares(r) * r.n_listing


@fusion(of="ranks")
def log_isr(r: Rankings) -> pl.Expr:
    r"""Inverse square rank with the logarithm of the number of rankings; 0 for a document of one
    ranking only.

    .. math:: \ln(h) \sum_j \frac{1}{r_j(d)^2}

    References
    ----------
    Mourão, Martins and Magalhães, Multimodal medical information retrieval with unsupervised rank
    fusion, 2015; ranx' ``log_isr``.
    """
    return _inverse_squares(r) * r.n_listing.log()


@fusion(of="ranks")
def logn_isr(r: Rankings, sigma: Annotated[float, Range(least=0, most=1)] = 0.01) -> pl.Expr:
    r"""Inverse square rank with the logarithm of the number of rankings plus a constant.

    .. math:: \ln(h + \sigma) \sum_j \frac{1}{r_j(d)^2}

    Parameters
    ----------
    sigma
        The constant, which tells apart documents of one ranking only.

    References
    ----------
    Mourão, Martins and Magalhães, Multimodal medical information retrieval with unsupervised rank
    fusion, 2015; ranx' ``logn_isr``.
    """
    h = r.n_listing + sigma
    return _inverse_squares(r) * h.log()


def _inverse_squares(r: Rankings) -> pl.Expr:
    """The sum of 1 over the squared rank."""
    credit = r.by_rank(r.rank**-2.0)
    return r.total(credit)


@fusion("rbp", "rbp_fusion", "rank_biased_precision_fusion", of="ranks")
def rbc(
    r: Rankings,
    phi: Annotated[float, Range(above=0, below=1)] = 0.8,
    *,
    weights: Sequence[float] | None = None,
) -> pl.Expr:
    r"""Rank-biased centroids: the sum of what a reader with persistence `phi` gives to the ranks.

    .. math:: \sum_j w_j (1 - \phi) \phi^{r_j(d) - 1}

    Parameters
    ----------
    phi
        The probability of going on from a rank to the next one.
    weights
        A weight for each run, in the order of the runs; ``None`` weighs all alike.

    References
    ----------
    Bailey, Moffat, Scholer and Thomas, Retrieval consistency in the presence of query variations,
    SIGIR 2017; ranx' ``rbc``, trectools' fusion by RBP.
    """
    attention = (1 - phi) * phi ** (r.rank - 1)
    weight = r.weight(weights)
    return r.total(r.by_rank(attention) * weight)


@fusion("bordafuse", "w_bordafuse", "borda_count", of="ranks", absent=True)
def borda(r: Rankings, *, weights: Sequence[float] | None = None) -> pl.Expr:
    r"""Borda count: C points for the first of C candidates, one less at each next rank; absent ones
    share the rest.

    .. math:: \sum_j w_j \begin{cases} C - r_j(d) + 1 & d \in j \\ (C - n_j + 1) / 2 & \text{else}
       \end{cases}

    A query has `C` documents in all its rankings; ranking `j` has `n_j` of them.

    Parameters
    ----------
    weights
        A weight for each run, in the order of the runs; ``None`` weighs all alike.

    References
    ----------
    Aslam and Montague, Models for metasearch, SIGIR 2001; ranx' ``bordafuse`` and ``w_bordafuse``.
    """
    in_list = r.by_rank(r.n_candidates - r.rank + 1)
    absent = (r.n_candidates - r.length + 1) / 2
    points = pl.when(r.listed).then(in_list).otherwise(absent)
    weight = r.weight(weights)
    return r.total(points * weight)


@fusion("w_condorcet", "copeland", of="ranks", absent=True)
def condorcet(r: Rankings, *, weights: Sequence[float] | None = None) -> pl.Expr:
    r"""Condorcet fusion by Copeland's score: the number of duels that a document wins, and half of
    those that it draws.

    .. math:: \sum_{e \ne d} \begin{cases} 1 & v(d, e) > v(e, d) \\ 1/2 & v(d, e) = v(e, d) \\ 0 &
       \text{else} \end{cases}

    Two documents of a query meet in one duel, in which `v` adds up the weights of the rankings that
    vote for a document. A ranking votes for the one that it has further up, or for the only one
    that it has; it casts no vote if it lacks both. With ``ties="expected"`` it casts none between
    equal scores, either; otherwise these stand by the tie rule.

    Every document is compared with every other one of its query: time grows with the square of the
    number of documents that a query has in all its rankings. Memory does not: pairs are compared in
    blocks. ``depth`` bounds both.

    Parameters
    ----------
    weights
        A weight for each run, in the order of the runs; ``None`` weighs all alike.

    References
    ----------
    Copeland, A reasonable social welfare function, 1951; Montague and Aslam, Condorcet fusion for
    improved retrieval, CIKM 2002, who sort by duels, whose order is not defined where these form a
    circle.
    """
    return r.duels(weights)
