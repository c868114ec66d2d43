"""Agreement of two rankings: correlations over the documents of both, overlaps over the documents
of either.
"""

from __future__ import annotations

import math
from typing import Literal, TypeAlias

import polars as pl

from .._catalog.registry import agreement
from .._words.ranking import Persistence, quotient
from .._words.two_rankings import Pair

__all__ = [
    "footrule",
    "jaccard_index",
    "kendall_distance",
    "kendall_tau",
    "ndpm",
    "overlap",
    "rbo",
    "rbo_min",
    "rbo_residual",
    "rpp",
    "spearman",
    "tau_ap",
    "weighted_tau",
]

Tied: TypeAlias = Literal["order", "w", "a", "b"]


@agreement(bounds=(0, 1))
def kendall_distance(pair: Pair, k: int | None = None) -> pl.Expr:
    r"""Kendall's tau distance: the share of pairs of the top `k` documents that the other ranking
    orders differently.

    .. math:: \frac{D}{m (m - 1) / 2}

    `D` of the pairs of `m` documents are ordered differently.

    Parameters
    ----------
    k
        The number of documents to compare, the top `k` by the ranker's own score. ``None`` compares
        all.

    Returns
    -------
    One Float64 per query, 0 for the same order, 1 for the reverse; null with fewer than two
    documents. Tied scores are ordered by the tie rule, in both rankings.

    References
    ----------
    Kendall, A new measure of rank correlation, Biometrika 30, 1938; divided by m (m - 1) / 2 for m
    documents.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame(
    ...     {"query_id": [1] * 3, "doc_id": ["a", "b", "c"], "score": [3, 2, 1], "other": [3, 1, 2]}
    ... )
    >>> df.rank.agreement("other", "kendall_distance").row(0)  # 1 of 3 pairs
    (1, 0.3333333333333333)
    """
    top = pair.common.top(k)
    pairs = top.n * (top.n - 1) / 2
    discordant = top.total(top.greater_before(top.rank, top.other_rank))
    return quotient(discordant, pairs)


@agreement("tau", "tau_b", "kendalltau", bounds=(-1, 1))
def kendall_tau(pair: Pair) -> pl.Expr:
    r"""Kendall's tau-b: concordant minus discordant pairs, over the pairs corrected for ties.

    .. math:: \frac{C - D}{\sqrt{(P - T_x) (P - T_y)}}

    Of `P` pairs `C` are concordant, `D` discordant, and `T` tied by either score.

    Returns
    -------
    One Float64 per query, from -1 to 1; null where either score is the same for all documents of
    the query.

    References
    ----------
    Kendall, The treatment of ties in ranking problems, Biometrika 33, 1945; SciPy's ``kendalltau``.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame(
    ...     {"query_id": [1] * 3, "doc_id": ["a", "b", "c"], "score": [3, 2, 1], "other": [3, 1, 2]}
    ... )
    >>> df.rank.agreement("other", "kendall_tau").row(0)  # (2 - 1) / 3
    (1, 0.3333333333333333)
    """
    both = pair.common
    pairs = both.n * (both.n - 1) / 2
    tied = both.tied
    other_tied = both.other_tied
    both_tied = both.both_tied
    discordant = both.discordant
    untied = ((pairs - tied) * (pairs - other_tied)).sqrt()
    difference = pairs - tied - other_tied + both_tied - 2 * discordant
    return quotient(difference, untied)


@agreement("rho", "spearmanr", bounds=(-1, 1))
def spearman(pair: Pair) -> pl.Expr:
    r"""Spearman's rho: the correlation of the two rankings' ranks, where tied documents share their
    mean rank.

    .. math:: \frac{\sum_d x_d \, y_d}{\sqrt{\sum_d x_d^2 \sum_d y_d^2}}

    `x` and `y` are the ranks of a document by either score, minus their means.

    Returns
    -------
    One Float64 per query, from -1 to 1; null where either score is the same for all documents of
    the query.

    References
    ----------
    Spearman, The proof and measurement of association between two things, 1904; SciPy's
    ``spearmanr``.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame(
    ...     {"query_id": [1] * 3, "doc_id": ["a", "b", "c"], "score": [3, 2, 1], "other": [3, 1, 2]}
    ... )
    >>> df.rank.agreement("other", "spearman").row(0)
    (1, 0.5)
    """
    both = pair.common
    rank = both.mean_rank(both.score)
    other_rank = both.mean_rank(both.other)
    return both.correlation(rank, other_rank)


@agreement("tauap", "ap_correlation", bounds=(-1, 1))
def tau_ap(pair: Pair) -> pl.Expr:
    r"""AP correlation: Kendall's tau with more weight for pairs of documents nearer to the top.

    Take each document of the *other* ranking except the first: of the documents above it, a share
    is above it in the ranker's own ranking, too. The value is twice the mean of these shares, minus
    1. So the ranker's own ranking is the reference, and exchanging the two changes the value.

    .. math:: \frac{2}{m - 1} \sum_{i=2}^{m} \frac{c_i}{i - 1} - 1

    Of the documents above rank i of the other ranking, `c` are above the document at rank i in the
    ranker's own, too.

    Returns
    -------
    One Float64 per query, 1 for the same order, -1 for the reverse; null with fewer than two
    documents. Tied scores are ordered by the tie rule, in both rankings.

    References
    ----------
    Yilmaz, Aslam, Robertson, A new rank correlation coefficient for information retrieval, SIGIR
    2008.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame(
    ...     {"query_id": [1] * 3, "doc_id": ["a", "b", "c"], "score": [3, 2, 1], "other": [3, 1, 2]}
    ... )
    >>> df.rank.agreement("other", "tau_ap").row(0)  # c: 1 of 1 above it, b: 1 of 2; 2 * 0.75 - 1
    (1, 0.5)
    """
    both = pair.common
    n_above = both.other_rank - 1
    n_wrong = both.greater_before(both.other_rank, both.rank)
    wrong = quotient(n_wrong, n_above)
    mean = both.total(wrong) / (both.n - 1)
    return pl.when(both.n > 1).then(1 - 2 * mean)


@agreement("weightedtau", bounds=(-1, 1))
def weighted_tau(pair: Pair) -> pl.Expr:
    r"""Weighted tau: Kendall's tau with the weight 1 / (a + 1) + 1 / (b + 1) for a pair at the
    ranks a and b from 0 on.

    Ranks are those of either ranking, by falling score, with ties in the order of the other score;
    the value is the mean of both. A tie counts as in tau-b. It needs SciPy (extra ``stats``).

    .. math:: \frac{\langle x, y \rangle}{\sqrt{\langle x, x \rangle \langle y, y \rangle}}, \quad
       \langle x, y \rangle = \sum_{d < e} \mathrm{sgn}(x_d - x_e) \, \mathrm{sgn}(y_d - y_e)
       \, w_{d,e}

    Returns
    -------
    One Float64 per query, from -1 to 1; null where either score is the same for all documents of
    the query.

    References
    ----------
    Vigna, A weighted correlation index for rankings with ties, WWW 2015; SciPy's ``weightedtau``.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame(
    ...     {"query_id": [1] * 3, "doc_id": ["a", "b", "c"], "score": [3, 2, 1], "other": [3, 1, 2]}
    ... )
    >>> round(
    ...     df.rank.agreement("other", "weighted_tau").item(0, 1), 4
    ... )  # (3/2 + 4/3 - 5/6) / (3/2 + 4/3 + 5/6)
    0.5455
    """
    return pair.common.weighted_tau()


@agreement("spearman_footrule", bounds=(0, 1))
def footrule(pair: Pair, k: int | None = None) -> pl.Expr:
    r"""Spearman's footrule: the sum of the differences of the two ranks of each document, over the
    most it can be.

    .. math:: \frac{\sum_d |i_d - j_d|}{\lfloor m^2 / 2 \rfloor} \quad \text{or, of the top } k,
       \quad \frac{\sum_d |i_d - j_d|}{k (k + 1)}

    Here `i` and `j` are the ranks of document d.

    Parameters
    ----------
    k
        Ranks to compare: of the documents in the top `k` of either ranking, one that is not in the
        other's has rank k + 1 there. ``None`` compares the `m` documents of both, ranked among
        themselves.

    Returns
    -------
    One Float64 per query, 0 for the same order and 1 for the reverse, or for a top `k` without a
    common document; null with fewer than two documents, or where neither ranking has one. Tied
    scores are ordered by the tie rule, in both rankings.

    References
    ----------
    Diaconis and Graham, Spearman's footrule as a measure of disarray, JRSS B 39(2), 1977; with `k`,
    Fagin, Kumar and Sivakumar, Comparing top k lists, SIAM Journal on Discrete Mathematics 17(1),
    2003.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame(
    ...     {"query_id": [1] * 3, "doc_id": ["a", "b", "c"], "score": [3, 2, 1], "other": [3, 1, 2]}
    ... )
    >>> df.rank.agreement("other", "footrule", "footrule@2").row(
    ...     0
    ... )  # (0 + 1 + 1) / 4; (0 + 1 + 1) / 6
    (1, 0.5, 0.3333333333333333)
    """
    if k is None:
        both = pair.common
        moved = both.total((both.rank - both.other_rank).abs())
        most = (both.n**2 / 2).floor()
        return pl.when(both.n > 1).then(moved / most)
    top = pair.down_to(k)
    below = k + 1
    rank = top.rank.fill_null(below)
    other_rank = top.other_rank.fill_null(below)
    moved = top.total((rank - other_rank).abs())
    n_seen = top.total(top.seen_from.is_not_null())
    return pl.when(n_seen > 0).then(moved / (k * below))


@agreement("normalized_distance_based_performance_measure", bounds=(0, 1))
def ndpm(pair: Pair) -> pl.Expr:
    r"""NDPM: of the pairs that the ranker's own ranking orders, the share that the other one orders
    differently.

    A pair that the other ranking ties counts one half. The ranker's own ranking is the reference.

    .. math:: \frac{D + \frac{1}{2} T}{P}

    Of `P` pairs that the reference does not tie, `D` are discordant and `T` tied by the other
    score.

    Returns
    -------
    One Float64 per query, 0 for the same order, 1 for the reverse; null where the reference ties
    all documents.

    References
    ----------
    Yao, Measuring retrieval effectiveness based on user preference of documents, JASIS 46(2), 1995;
    rexmex's function of this name.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame(
    ...     {"query_id": [1] * 3, "doc_id": ["a", "b", "c"], "score": [3, 2, 1], "other": [3, 1, 2]}
    ... )
    >>> df.rank.agreement("other", "ndpm").row(0)  # 1 of 3 pairs
    (1, 0.3333333333333333)
    """
    both = pair.common
    tied = both.tied
    ordered = both.n * (both.n - 1) / 2 - tied
    half = (both.other_tied - both.both_tied) / 2
    return quotient(both.discordant + half, ordered)


@agreement("jaccard", bounds=(0, 1))
def jaccard_index(pair: Pair, k: int | None = None) -> pl.Expr:
    r"""Jaccard index: the number of documents in the top `k` of both rankings, over those in the
    top `k` of either.

    .. math:: \frac{X_k}{|U_k|}

    `X` is the number of documents in the top `k` of both, `U` those in the top `k` of either.

    Parameters
    ----------
    k
        Ranks to compare; ``None`` compares all.

    Returns
    -------
    One Float64 per query, from 0 to 1; null where neither ranking has a document.

    References
    ----------
    Jaccard, The distribution of the flora in the alpine zone, New Phytologist 11(2), 1912.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame(
    ...     {"query_id": [1] * 3, "doc_id": ["a", "b", "c"], "score": [3, 2, 1], "other": [3, 1, 2]}
    ... )
    >>> df.rank.agreement("other", "jaccard@2").row(0)  # a of a, b and c
    (1, 0.3333333333333333)
    """
    top = pair.down_to(k)
    n_either = top.total(top.seen_from.is_not_null())
    n_both = top.total(top.shared_from.is_not_null())
    return quotient(n_both, n_either)


@agreement(bounds=(0, 1))
def overlap(pair: Pair, k: int | None = None) -> pl.Expr:
    r"""Overlap: the number of documents in the top `k` of both rankings, over `k`.

    .. math:: \frac{X_k}{k}

    `X` is the number of documents in the top `k` of both.

    Parameters
    ----------
    k
        Ranks to compare, and the divisor even if fewer documents were retrieved. ``None`` takes the
        length of the longer ranking.

    Returns
    -------
    One Float64 per query, from 0 to 1; null where neither ranking has a document.

    References
    ----------
    The agreement at depth k of Webber, Moffat, Zobel, A similarity measure for indefinite rankings,
    ACM TOIS 28(4), 2010.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame(
    ...     {"query_id": [1] * 3, "doc_id": ["a", "b", "c"], "score": [3, 2, 1], "other": [3, 1, 2]}
    ... )
    >>> df.rank.agreement("other", "overlap@2", "overlap@3").row(0)  # a; a, b and c
    (1, 0.5, 1.0)
    """
    top = pair.down_to(k)
    n_both = top.total(top.shared_from.is_not_null())
    if k is not None:
        return n_both / pl.lit(float(k))
    return n_both / top.largest(pl.max_horizontal(top.rank, top.other_rank))


@agreement("rbo_ext", "rank_biased_overlap", bounds=(0, 1))
def rbo(pair: Pair, k: int | None = None, *, p: Persistence = 0.9, tied: Tied = "order") -> pl.Expr:
    r"""Rank-biased overlap, extrapolated: the mean share of common documents for a reader who goes
    down both.

    The reader looks at the top d documents of both rankings and goes on to d + 1 with probability
    `p`. Below the end of the rankings the agreement is assumed to stay constant. A document of only
    one ranking lowers the agreement.

    .. math:: \frac{1 - p}{p} \left(\sum_{d=1}^{l} \frac{X_d}{d} \, p^d + \sum_{d=s+1}^{l} \frac{X_s
       (d - s)}{s \, d} \, p^d\right) + \left(\frac{X_l - X_s}{l} + \frac{X_s}{s}\right) p^l

    `X` is the number of documents in the top d of both; the shorter ranking has `s` documents, the
    longer `l`.

    Parameters
    ----------
    k
        Ranks to look at; ``None`` looks at all.
    p
        The reader's persistence, between 0 and 1: the first ten ranks have 86% of the weight at
        0.9.
    tied
        How documents with equal scores count: ``"order"`` by the tie rule; ``"w"`` all at the first
        of their ranks, for ties that mean equality; ``"a"`` the mean over all their orders, for
        ties of which the order is not known; ``"b"`` the same, corrected so that a ranking with
        ties has 1 with itself, as tau-b has. In the order of the tie rule, a cut at `k` may leave a
        part of a group.

    Returns
    -------
    One Float64 per query, 1 for the same ranking, 0 for nothing in common; null where neither
    ranking has a document.

    References
    ----------
    Webber, Moffat, Zobel, A similarity measure for indefinite rankings, ACM TOIS 28(4), 2010,
    equation 32; Corsi and Urbano, The treatment of ties in rank-biased overlap, SIGIR 2024.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame(
    ...     {"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2, 1], "other": [1, 2]}
    ... )
    >>> df.rank.agreement("other", "rbo(p=0.5)").row(0)  # at depth 1 none, from depth 2 on all
    (1, 0.5)
    >>> df.with_columns(other=1).rank.agreement("other", "rbo(p=0.5,tied=a)").row(
    ...     0
    ... )  # at depth 1 one half
    (1, 0.75)
    """
    if tied != "order":
        return pair.down_to(k).overlap_of_ties("ext", tied, p)
    seen, shares = _depths(pair, k, p)
    near = seen.shared_from <= seen.shorter
    last = pl.when(near).then(seen.shorter).otherwise(seen.longer)
    to_last = pl.when(near).then(shares.shorter).otherwise(shares.longer)
    weight = to_last - _above(seen.shared_from, shares.shared_from, p)
    return seen.total(weight + p**last / last).clip(0, 1)  # rounding may leave it


@agreement(bounds=(0, 1))
def rbo_min(
    pair: Pair, k: int | None = None, *, p: Persistence = 0.9, tied: Tied = "order"
) -> pl.Expr:
    r"""The least possible rank-biased overlap, reached if the rankings have nothing more in common
    further down.

    .. math:: \frac{1 - p}{p} \left(\sum_{d=1}^{l} (X_d - X_l) \frac{p^d}{d} - X_l \ln(1 - p)\right)

    `X` is the number of documents in the top d of both; the longer ranking has `l` documents.

    Parameters
    ----------
    k
        Ranks to look at; ``None`` looks at all.
    p
        The reader's persistence, between 0 and 1.
    tied
        How documents with equal scores count, as for :func:`rbo`.

    Returns
    -------
    One Float64 per query, from 0 to 1 (below 1, as further documents are unknown); null where
    neither ranking has a document.

    References
    ----------
    Webber, Moffat, Zobel, A similarity measure for indefinite rankings, ACM TOIS 28(4), 2010,
    equation 11, at the depth of the longer ranking.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({"query_id": [1], "doc_id": ["a"], "score": [1], "other": [1]})
    >>> df.rank.agreement("other", "rbo_min(p=0.5)").row(
    ...     0
    ... )  # 0.5 + 0.25 / 2 + 0.125 / 3 + ... = ln 2
    (1, 0.6931471805599453)
    """
    if tied != "order":
        return pair.down_to(k).overlap_of_ties("min", tied, p)
    seen, shares = _depths(pair, k, p)
    everywhere = -pl.lit(-p).log1p() * (1 - p) / p  # the sum of its shares at all depths
    above = _above(seen.shared_from, shares.shared_from, p)
    return seen.total(everywhere - above)


@agreement("rbo_res", bounds=(0, 1))
def rbo_residual(
    pair: Pair, k: int | None = None, *, p: Persistence = 0.9, tied: Tied = "order"
) -> pl.Expr:
    r"""Residual of rank-biased overlap: by how much documents below the end of the rankings could
    raise ``rbo_min``.

    .. math:: \mathrm{RBO}_{\max} - \mathrm{RBO}_{\min}

    Parameters
    ----------
    k
        Ranks to look at; ``None`` looks at all.
    p
        The reader's persistence, between 0 and 1.
    tied
        How documents with equal scores count, as for :func:`rbo`.

    Returns
    -------
    One Float64 per query, from 0 to 1: the largest value minus the least; null where neither
    ranking has a document.

    References
    ----------
    Webber, Moffat, Zobel, A similarity measure for indefinite rankings, ACM TOIS 28(4), 2010,
    equation 30.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({"query_id": [1], "doc_id": ["a"], "score": [1], "other": [1]})
    >>> df.rank.agreement("other", "rbo_residual(p=0.5)").row(0)  # 1 - ln 2
    (1, 0.3068528194400547)
    """
    if tied != "order":
        top = pair.down_to(k)
        greatest = top.overlap_of_ties("max", tied, p)
        least = top.overlap_of_ties("min", tied, p)
        return (greatest - least).clip(0, 1)
    seen, shares = _depths(pair, k, p)
    # Numbered as they are first seen, the first d documents may all be shared at depth d, and no
    # more.
    is_seen = seen.seen_from.is_not_null()
    so_far = seen.so_far(is_seen, seen.seen_from)
    number = pl.when(is_seen).then(so_far)
    to_number = seen.so_far(_share(number, p), number)
    above = _above(seen.seen_from, shares.seen_from, p)
    surplus = seen.total(_above(number, to_number, p) - above)
    residual = 1 - surplus - rbo_min(pair, k, p=p)
    return residual.clip(0, 1)  # rounding may leave it


def _depths(pair: Pair, k: int | None, p: float) -> tuple[Pair, Pair]:
    """The depths of the documents down to `k`, and the weight of a shared one down to there."""
    seen = pair.down_to(k)
    return seen, seen.summed(lambda depth: _share(depth, p))


def _share(depth: pl.Expr, p: float) -> pl.Expr:
    """The share of one common document at `depth`: the weight of the depth over the depth."""
    above = depth.cast(pl.Float64) - 1
    weight = (1 - p) * p**above
    return weight / depth


def _above(depth: pl.Expr, to_depth: pl.Expr, p: float) -> pl.Expr:
    """The weight of one shared document above `depth`, from that down to `depth`."""
    return to_depth - _share(depth, p)


@agreement("recall_paired_preference", bounds=(-1, 1), display="RPP", labels=True)
def rpp(pair: Pair, k: int | None = None) -> pl.Expr:
    r"""Recall-paired preference: at how many levels of recall the ranker's own ranking is ahead,
    less those where the other is.

    The i-th relevant document of one ranking is compared with the i-th of the other: the one with
    the smaller rank is ahead. :meth:`compare` takes it, too: the run is ahead of the baseline where
    it is above 0.

    .. math:: \frac{1}{R} \sum_{i=1}^{R} \operatorname{sign}(y_i - x_i)

    `x` is the rank of the i-th relevant document in the ranker's own ranking, `y` that in the
    other; infinite beyond the last.

    Parameters
    ----------
    k
        Ranks to look at; ``None`` looks at all.

    Returns
    -------
    One Float64 per query, from -1 to 1: 1 if the own ranking is ahead at all levels, 0 if both are
    alike or nothing is relevant (null with ``no_relevant="null"``). Tied scores are ordered by the
    tie rule, in both rankings.

    References
    ----------
    Diaz and Ferraro, Offline retrieval evaluation without evaluation metrics, SIGIR 2022.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame(
    ...     {
    ...         "query_id": [1] * 3,
    ...         "doc_id": ["a", "b", "c"],
    ...         "score": [3, 2, 1],
    ...         "other": [1, 2, 3],
    ...         "label": [1, 1, 0],
    ...     }
    ... )
    >>> df.rank.agreement("other", "rpp").row(0)  # ranks 1 and 2 against 2 and 3
    (1, 1.0)
    """
    top = pair.down_to(k)
    rank = top.of_relevant(top.rank).fill_null(math.inf)
    other_rank = top.of_relevant(top.other_rank).fill_null(math.inf)
    ahead = (rank < other_rank).cast(pl.Float64)
    behind = (rank > other_rank).cast(pl.Float64)
    lead = pair.total(ahead - behind)
    return quotient(lead, pair.n_relevant)
