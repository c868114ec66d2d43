"""Fusion by what judged rankings teach of each run and rank."""

from __future__ import annotations

from typing import Annotated

import polars as pl

from .._catalog.fusions import trained
from .._words.ranking import Range
from .._words.rankings import JudgedRankings, Learned, Rankings

__all__ = ["bayesfuse", "mapfuse", "posfuse", "probfuse", "segfuse", "slidefuse"]

SEGMENTS = (5, 15, 35, 75, 155, 315, 635, 1275, 2555, 5115)
"""The last ranks of SegFuse's segments: each is twice as long as the one before."""

CLASSES = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
"""The last ranks of BayesFuse's classes, the cutoffs of trec_eval."""

RARE = 0.001
"""BayesFuse's probability where no relevant document, or no other one, was found."""


def mean_average_precision(t: JudgedRankings) -> Learned:
    """The mean average precision of each run."""
    return t.mean("map")


def by_rank(t: JudgedRankings) -> Learned:
    """The share of relevant documents at each rank, of the queries whose ranking reaches it."""
    probability = t.relevant.mean()
    return t.by_place(rank=t.rank, probability=probability)


def by_share_of_length(t: JudgedRankings, x: int) -> Learned:
    """The mean over the queries of the share of relevant documents in each of `x` parts."""
    size = (t.length / x).ceil()
    part = ((t.rank - 1) / size).floor() + 1
    left = t.length - (part - 1) * size
    share = t.relevant / pl.min_horizontal(size, left)
    probability = share.sum() / t.n_queries
    return t.by_place(segment=part, probability=probability)


def by_segment(t: JudgedRankings) -> Learned:
    """The mean over the queries of the relevant documents in each segment, over its length."""
    return _between(t, SEGMENTS)


def by_class(t: JudgedRankings) -> Learned:
    """The mean over the queries of the relevant documents in each class, over its width."""
    return _between(t, CLASSES)


def _between(t: JudgedRankings, last: tuple[int, ...]) -> Learned:
    widths = [end - start for start, end in zip((0, *last), last, strict=False)]
    is_within = t.rank <= last[-1]
    segment = pl.when(is_within).then(_place(t.rank, last))
    numbers = range(1, len(last) + 1)
    width = segment.first().replace_strict(numbers, widths, return_dtype=pl.Float64)
    probability = t.relevant.sum() / (width * t.n_queries)
    return t.by_place(segment=segment, probability=probability)


def _place(rank: pl.Expr, last: tuple[int, ...]) -> pl.Expr:
    """The number of the segment that a rank stands in, from 1 on.

    It is one more than there are for a rank beyond the last.
    """
    is_beyond = [(rank > end).cast(pl.Float64) for end in last]
    return 1 + pl.sum_horizontal(is_beyond)


@trained(mean_average_precision, of="ranks")
def mapfuse(r: Rankings) -> pl.Expr:
    r"""MAPFuse: the sum of the run's mean average precision over the rank.

    .. math:: \sum_j \frac{\mathrm{MAP}_j}{r_j(d)}

    References
    ----------
    Lillis, Zhang, Toolan, Collier, Leonard and Dunnion, Estimating probabilities for effective data
    fusion, SIGIR 2010; ranx' ``mapfuse``.
    """
    precision = r.learned(pl.lit(1))
    credit = r.by_rank(precision / r.rank)
    return r.total(credit)


@trained(by_rank, of="ranks")
def posfuse(r: Rankings) -> pl.Expr:
    r"""PosFuse: the sum of the probabilities of relevance at the ranks; 0 beyond the ranks seen in
    training.

    .. math:: \sum_j p_j(r_j(d))

    A rank's probability is the share of relevant documents there, of the training queries whose
    ranking reaches it.

    References
    ----------
    Lillis, Zhang, Toolan, Collier, Leonard and Dunnion, Estimating probabilities for effective data
    fusion, SIGIR 2010; ranx' ``posfuse``.
    """
    probability = r.learned(r.rank)
    return r.total(r.by_rank(probability))


@trained(by_rank, of="ranks")
def slidefuse(r: Rankings, w: Annotated[int, Range(least=0)]) -> pl.Expr:
    r"""SlideFuse: the sum of the mean probabilities of relevance in a window around the ranks.

    .. math:: \sum_j \frac{1}{b - a + 1} \sum_{i=a}^{b} p_j(i), \quad a = \max(1, r_j(d) - w), \; b
       = \min(n_j, r_j(d) + w)

    A rank's probability is as for PosFuse; the ranking `j` has `n_j` documents.

    Parameters
    ----------
    w
        How many ranks the window reaches to each side.

    References
    ----------
    Lillis, Toolan, Collier and Dunnion, Extending probabilistic data fusion using sliding windows,
    ECIR 2008; ranx' ``slidefuse``.
    """
    a = pl.max_horizontal(1.0, r.rank - w)
    b = pl.min_horizontal(r.length, r.rank + w)
    n = b - a + 1
    mean = r.learned_sum(a, b) / n
    return r.total(r.by_rank(mean))


@trained(by_share_of_length, of="ranks")
def probfuse(r: Rankings, x: Annotated[int, Range(least=1)]) -> pl.Expr:
    r"""ProbFuse: each ranking is cut into `x` segments; the sum of a segment's probability of
    relevance over its number.

    .. math:: \sum_j \frac{p_j(k)}{k}, \quad k = \left\lceil \frac{r_j(d)}{\lceil n_j / x \rceil}
       \right\rceil

    A segment's probability is the mean over the training queries of the share of relevant documents
    in it.

    Parameters
    ----------
    x
        The number of segments.

    References
    ----------
    Lillis, Toolan, Collier and Dunnion, ProbFuse: a probabilistic approach to data fusion, SIGIR
    2006; ranx' ``probfuse``.
    """
    size = (r.length / x).ceil()
    k = ((r.rank - 1) / size).floor() + 1
    credit = r.learned(k) / k
    return r.total(r.by_rank(credit))


@trained(by_segment, of="scores")
def segfuse(r: Rankings) -> pl.Expr:
    r"""SegFuse: the sum of a segment's probability of relevance times the score plus 1.

    .. math:: \sum_j p_j(k) \, (s_j(d) + 1)

    Segments end at the ranks 5, 15, 35, 75 and so on to 5115, and count 0 beyond. A segment's
    probability is the mean over the training queries of the number of relevant documents in it,
    over its full length.

    References
    ----------
    Shokouhi, Segmentation of search engine results for effective data-fusion, ECIR 2007; ranx'
    ``segfuse``.
    """
    segment = _place(r.rank, SEGMENTS)
    probability = r.learned(segment)
    return r.total(r.by_rank(probability) * (r.score + 1))


@trained(by_class, of="ranks", absent=True)
def bayesfuse(r: Rankings) -> pl.Expr:
    r"""BayesFuse: the sum of the log odds of relevance in the classes of the ranks.

    .. math:: \sum_j \ln \frac{p_j(k)}{1 - p_j(k)}

    The classes end at the ranks 5, 10, 15, 20, 30, 100, 200, 500 and 1000; lower ranks count as the
    last class. A class's probability is the mean over the training queries of the number of
    relevant documents in it, over its width; 0.001 stands for 0, also of a ranking that lacks the
    document, and for 1 - p = 0.

    References
    ----------
    Aslam and Montague, Models for metasearch, SIGIR 2001; ranx' ``bayesfuse``, which reads beyond
    its ranks after 1000.
    """
    k = _place(r.rank, CLASSES[:-1])
    learned = r.learned(k)
    p = pl.when(learned > 0).then(learned).otherwise(RARE)
    q = pl.when(p < 1).then(1 - p).otherwise(RARE)
    log_odds = (p / q).log()
    term = pl.when(r.listed).then(r.by_rank(log_odds)).otherwise(log_odds)
    return r.total(term)
