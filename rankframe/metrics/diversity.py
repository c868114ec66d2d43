"""Novelty and diversity: how early a ranking covers a query's subtopics, and with how little
repetition.
"""

from __future__ import annotations

from typing import Literal, TypeAlias, TypeVar

import polars as pl

from .._catalog.registry import metric
from .._words.ranking import ListedCutoff, Persistence, Proportion
from .._words.subtopics import Topics

__all__ = [
    "alpha_dcg",
    "alpha_ndcg",
    "average_precision_ia",
    "d_ndcg",
    "d_sharp_ndcg",
    "err_ia",
    "nerr_ia",
    "nnrbp",
    "nrbp",
    "nugget_recall",
    "precision_ia",
    "subtopic_recall",
]

T = TypeVar("T", pl.Expr, pl.Series)
GlobalGain: TypeAlias = Literal["linear", "exponential", "binary"]


@metric("alpha-dcg", display="alpha-DCG", bounds=(0, 1), over="subtopics", gains_only=True)
def alpha_dcg(t: Topics, k: ListedCutoff, *, alpha: Proportion = 0.5) -> pl.Expr:
    r"""Alpha-DCG: the discounted novelty of the top `k`, over that of `k` documents that have every
    subtopic.

    A document gains (1 - alpha)^n for each of its subtopics, where n documents above it have that
    subtopic; gains are divided by log2(rank + 1).

    .. math:: \frac{\sum_{i=1}^{k} \nu_i / \log_2(i + 1)}{S \sum_{i=1}^{k} (1 - \alpha)^{i-1} /
       \log_2(i + 1)}

    Parameters
    ----------
    k
        Ranks to count, at most 1,000,000.
    alpha
        The share of its gain that a subtopic loses each time it is met, from 0 to 1.

    Returns
    -------
    One Float64 per query, from 0 to 1. ndeval leaves ``alpha-DCG@1`` undivided.

    References
    ----------
    Clarke, Kolla, Cormack, Vechtomova, Ashkan, Büttcher and MacKinnon, Novelty and diversity in
    information retrieval evaluation, SIGIR 2008; divided as ndeval does.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame(
    ...     {
    ...         "query_id": [1, 1],
    ...         "doc_id": ["a", "b"],
    ...         "score": [2, 1],
    ...         "subtopic": [["x"], ["x", "y"]],
    ...     }
    ... )
    >>> df.rank.on(subtopic="subtopic").metrics.alpha_dcg(k=1)[
    ...     "alpha_dcg@1"
    ... ].item()  # 1 of 2 subtopics
    0.5
    """
    rank = _ranks(k)
    worth = (1 - alpha) ** (rank - 1)
    most = (worth / _log2(rank)).sum()
    return _dcg(t, k, alpha) / (t.n_subtopics * most)


@metric("alpha-ndcg", display="alpha-nDCG", over="subtopics", gains_only=True)
def alpha_ndcg(t: Topics, k: int | None = None, *, alpha: Proportion = 0.5) -> pl.Expr:
    r"""Alpha-nDCG: the discounted novelty of the top `k`, over that of the greedy ranking of all
    judged documents.

    The greedy ranking takes for each rank the document that adds most, and of equal ones the one
    with the larger id.

    .. math:: \frac{\sum_{i=1}^{k} \nu_i / \log_2(i + 1)}{\sum_{i=1}^{k} \nu^*_i / \log_2(i + 1)}

    Parameters
    ----------
    k
        Ranks to count, in the ranking and in the greedy one; ``None`` counts all.
    alpha
        The share of its gain that a subtopic loses each time it is met, from 0 to 1.

    Returns
    -------
    One Float64 per query, from 0 on; 1 for the greedy ranking. Values a little above 1 are
    possible, as the greedy ranking is not always the best.

    References
    ----------
    Clarke et al., SIGIR 2008; ndeval's ``alpha-nDCG``.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame(
    ...     {
    ...         "query_id": [1, 1],
    ...         "doc_id": ["a", "b"],
    ...         "score": [2, 1],
    ...         "subtopic": [["x"], ["x", "y"]],
    ...     }
    ... )
    >>> df.rank.on(subtopic="subtopic").alpha_ndcg(k=1)["alpha_ndcg@1"].item()  # 1 over the 2 of b
    0.5
    """
    best = t.greedy(alpha, k)
    return _dcg(t, k, alpha) / _dcg(best, k, alpha)


@metric("err-ia", display="ERR-IA", bounds=(0, 1), over="subtopics", gains_only=True)
def err_ia(t: Topics, k: ListedCutoff, *, alpha: Proportion = 0.5) -> pl.Expr:
    r"""Intent-aware ERR: the novelty of the top `k` divided by rank, over that of `k` documents
    that have every subtopic.

    .. math:: \frac{\sum_{i=1}^{k} \nu_i / i}{S \sum_{i=1}^{k} (1 - \alpha)^{i-1} / i}

    Parameters
    ----------
    k
        Ranks to count, at most 1,000,000.
    alpha
        The share of its gain that a subtopic loses each time it is met, from 0 to 1: the
        probability that it satisfies a reader.

    Returns
    -------
    One Float64 per query, from 0 to 1. ndeval leaves ``ERR-IA@1`` undivided.

    References
    ----------
    Chapelle, Metzler, Zhang and Grinspan, CIKM 2009; divided as ndeval does.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame(
    ...     {
    ...         "query_id": [1, 1],
    ...         "doc_id": ["a", "b"],
    ...         "score": [2, 1],
    ...         "subtopic": [["x"], ["x", "y"]],
    ...     }
    ... )
    >>> df.rank.on(subtopic="subtopic").err_ia(k=2)[
    ...     "err_ia@2"
    ... ].item()  # 1 + (1/2 + 1) / 2, over 2 + 2 (1/2) / 2
    0.7
    """
    rank = _ranks(k)
    worth = (1 - alpha) ** (rank - 1)
    most = (worth / rank).sum()
    return _err(t, k, alpha) / (t.n_subtopics * most)


@metric("nerr-ia", display="nERR-IA", over="subtopics", gains_only=True)
def nerr_ia(t: Topics, k: int | None = None, *, alpha: Proportion = 0.5) -> pl.Expr:
    r"""Normalised intent-aware ERR: the novelty of the top `k` divided by rank, over that of the
    greedy ranking.

    .. math:: \frac{\sum_{i=1}^{k} \nu_i / i}{\sum_{i=1}^{k} \nu^*_i / i}

    Parameters
    ----------
    k
        Ranks to count, in the ranking and in the greedy one; ``None`` counts all.
    alpha
        The share of its gain that a subtopic loses each time it is met, from 0 to 1.

    Returns
    -------
    One Float64 per query, from 0 on; 1 for the greedy ranking.

    References
    ----------
    Chapelle et al., CIKM 2009; ndeval's ``nERR-IA``, whose greedy ranking is that of alpha-nDCG.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame(
    ...     {
    ...         "query_id": [1, 1],
    ...         "doc_id": ["a", "b"],
    ...         "score": [2, 1],
    ...         "subtopic": [["x"], ["x", "y"]],
    ...     }
    ... )
    >>> df.rank.on(subtopic="subtopic").metrics.nerr_ia()[
    ...     "nerr_ia"
    ... ].item()  # 1.75 over 2 + (1/2) / 2
    0.7777777777777778
    """
    best = t.greedy(alpha, k)
    return _err(t, k, alpha) / _err(best, k, alpha)


@metric(
    "novelty_rank_biased_precision",
    display="NRBP",
    bounds=(0, 1),
    over="subtopics",
    gains_only=True,
)
def nrbp(t: Topics, *, alpha: Proportion = 0.5, beta: Persistence = 0.5) -> pl.Expr:
    r"""Novelty- and rank-biased precision: the rate of novelty for a reader who goes on with
    probability `beta`.

    .. math:: \frac{1 - (1 - \alpha) \beta}{S} \sum_i \beta^{\,i-1} \nu_i

    Parameters
    ----------
    alpha
        The share of its gain that a subtopic loses each time it is met, from 0 to 1.
    beta
        The reader's patience, between 0 and 1.

    Returns
    -------
    One Float64 per query, from 0 to 1; 1 would need an endless ranking in which every document has
    every subtopic.

    References
    ----------
    Clarke, Kolla and Vechtomova, An effectiveness measure for ambiguous and underspecified queries,
    ICTIR 2009.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame(
    ...     {
    ...         "query_id": [1, 1],
    ...         "doc_id": ["a", "b"],
    ...         "score": [2, 1],
    ...         "subtopic": [["x"], ["x", "y"]],
    ...     }
    ... )
    >>> df.rank.on(subtopic="subtopic").metrics.nrbp()[
    ...     "nrbp"
    ... ].item()  # (1 - 1/4) (1 + (1/2) (1/2 + 1)) / 2
    0.65625
    """
    rate = _rbp(t, alpha, beta)
    without_novelty = 1 - (1 - alpha) * beta
    return rate * without_novelty / t.n_subtopics


@metric("normalized_nrbp", "normalised_nrbp", display="nNRBP", over="subtopics", gains_only=True)
def nnrbp(t: Topics, *, alpha: Proportion = 0.5, beta: Persistence = 0.5) -> pl.Expr:
    r"""Normalised NRBP: the NRBP of the ranking over that of the greedy ranking.

    .. math:: \frac{\sum_i \beta^{\,i-1} \nu_i}{\sum_i \beta^{\,i-1} \nu^*_i}

    Parameters
    ----------
    alpha
        The share of its gain that a subtopic loses each time it is met, from 0 to 1.
    beta
        The reader's patience, between 0 and 1.

    Returns
    -------
    One Float64 per query, from 0 on; 1 for the greedy ranking. ndeval's is NaN where nothing is
    relevant.

    References
    ----------
    Clarke et al., ICTIR 2009; ndeval's ``nNRBP``.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame(
    ...     {
    ...         "query_id": [1, 1],
    ...         "doc_id": ["a", "b"],
    ...         "score": [2, 1],
    ...         "subtopic": [["x"], ["x", "y"]],
    ...     }
    ... )
    >>> df.rank.on(subtopic="subtopic").metrics.nnrbp()["nnrbp"].item()  # 1.75 over 2 + (1/2) / 2
    0.7777777777777778
    """
    best = t.greedy(alpha, None)
    return _rbp(t, alpha, beta) / _rbp(best, alpha, beta)


@metric("p_ia", "p-ia", display="P-IA", bounds=(0, 1), over="subtopics", gains_only=True)
def precision_ia(t: Topics, k: int | None = None) -> pl.Expr:
    r"""Intent-aware precision: the mean, over the query's subtopics, of the precision for each.

    .. math:: \frac{1}{S} \sum_{s=1}^{S} \frac{1}{k} \sum_{i=1}^{k} r_{s,i}

    Parameters
    ----------
    k
        Ranks to count, and to divide by; ``None`` counts all that were retrieved.

    Returns
    -------
    One Float64 per query, from 0 to 1. The query's subtopics are those to which some document is
    relevant.

    References
    ----------
    Agrawal, Gollapudi, Halverson and Ieong, Diversifying search results, WSDM 2009; ndeval's
    ``P-IA``.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame(
    ...     {
    ...         "query_id": [1, 1],
    ...         "doc_id": ["a", "b"],
    ...         "score": [2, 1],
    ...         "subtopic": [["x"], ["x", "y"]],
    ...     }
    ... )
    >>> df.rank.on(subtopic="subtopic").metrics.precision_ia(k=2)[
    ...     "precision_ia@2"
    ... ].item()  # (2/2 + 1/2) / 2
    0.75
    """
    total = t.total(t.weighed(t.relevant), k)
    return total / (t.depth(k) * t.n_subtopics)


@metric(
    "ap_ia", "map_ia", "map-ia", display="AP-IA", bounds=(0, 1), over="subtopics", gains_only=True
)
def average_precision_ia(t: Topics) -> pl.Expr:
    r"""Intent-aware average precision: the mean, over the query's subtopics, of the average
    precision for each.

    .. math:: \frac{1}{S} \sum_{s=1}^{S} \frac{1}{R_s} \sum_{i=1}^{n} r_{s,i} \frac{h_{s,i}}{i}

    Returns
    -------
    One Float64 per query, from 0 to 1. The query's subtopics are those to which some document is
    relevant.

    References
    ----------
    Agrawal et al., WSDM 2009; ndeval's ``MAP-IA``.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame(
    ...     {
    ...         "query_id": [1, 1],
    ...         "doc_id": ["a", "b"],
    ...         "score": [2, 1],
    ...         "subtopic": [["x"], ["x", "y"]],
    ...     }
    ... )
    >>> df.rank.on(subtopic="subtopic").metrics.average_precision_ia()[
    ...     "average_precision_ia"
    ... ].item()  # (1 + 1/2) / 2
    0.75
    """
    recall = t.relevant * t.met / t.n_relevant_to_subtopic
    total = t.total(t.weighed(recall), over=t.rank)
    return total / t.n_subtopics


@metric(
    "strec",
    "strecall",
    "s_recall",
    "i_rec",
    "i-rec",
    display="Subtopic recall",
    bounds=(0, 1),
    over="subtopics",
    gains_only=True,
)
def subtopic_recall(t: Topics, k: int | None = None) -> pl.Expr:
    r"""Subtopic recall: the share of the query's subtopics that the top `k` covers.

    .. math:: \frac{1}{S} \sum_{s=1}^{S} \min(1, h_{s,k})

    Parameters
    ----------
    k
        Ranks to count; ``None`` counts all.

    Returns
    -------
    One Float64 per query, from 0 to 1. The query's subtopics are those to which some document is
    relevant.

    References
    ----------
    Zhai, Cohen and Lafferty, Beyond independent relevance, SIGIR 2003; ndeval's ``strec``,
    NTCIREVAL's ``I-rec``.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame(
    ...     {
    ...         "query_id": [1, 1],
    ...         "doc_id": ["a", "b"],
    ...         "score": [2, 1],
    ...         "subtopic": [["x"], ["x", "y"]],
    ...     }
    ... )
    >>> df.rank.on(subtopic="subtopic").subtopic_recall(k=1)["subtopic_recall@1"].item()
    0.5
    """
    covered = t.total(t.weighed(t.first_met), k)
    return covered / t.n_subtopics


@metric(display="Nugget recall", bounds=(0, 1), over="subtopics")
def nugget_recall(t: Topics, k: int | None = None, *, partial: Proportion = 0.5) -> pl.Expr:
    r"""Nugget recall: how many of the facts that a good answer has, its nuggets, the top `k`
    support, each by its weight.

    A nugget is a subtopic of the query, an answer or a passage a document, and its label for the
    nugget 2 if it supports the nugget, 1 if it does so in part, and 0 if not.
    ``on(subtopic_weight=...)`` weighs the nuggets.

    .. math:: \frac{\sum_s w_s \max_{i \le k} a_{s,i}}{\sum_s w_s}

    Here `a` is 1 for support and `partial` for partial support, and `w` the weight of a nugget.

    Parameters
    ----------
    k
        Ranks to count; ``None`` counts all, such as the one answer of a query.
    partial
        The worth of partial support, from 0 to 1: 0 is strict.

    Returns
    -------
    One Float64 per query, from 0 to 1. All nuggets that have a label from 0 on count, also ones
    that nothing supports.

    References
    ----------
    Pradeep, Thakur, Upadhyay, Campos, Craswell and Lin, Initial nugget evaluation results for the
    TREC 2024 RAG track with the AutoNuggetizer framework, 2024. There ``vital`` weighs vital
    nuggets 1 and okay ones 0, ``all`` weighs all 1, ``weighted`` okay ones 1/2, and ``strict`` has
    ``partial=0``.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame(
    ...     {
    ...         "query_id": [1] * 4,
    ...         "doc_id": ["answer"] * 4,
    ...         "score": [1] * 4,
    ...         "nugget": list("abcd"),
    ...         "label": [2, 1, 0, 2],
    ...         "vital": [1, 1, 1, 0],
    ...     }
    ... )
    >>> ranker = df.rank.on(subtopic="nugget")
    >>> found = ranker.evaluate("nugget_recall", "nugget_recall(partial=0)")
    >>> (
    ...     found["nugget_recall"].item(),
    ...     found["nugget_recall(partial=0)"].item(),
    ... )  # all of four: 2 + 1/2, and 2
    (0.625, 0.5)
    >>> vital = ranker.on(subtopic_weight="vital").evaluate(
    ...     "nugget_recall"
    ... )  # of the three vital ones: 1 + 1/2
    >>> vital["nugget_recall"].item()
    0.5
    """
    supported = pl.when(t.label >= 2).then(1.0)
    credit = supported.when(t.label >= 1).then(partial).otherwise(0.0)
    return t.best(credit, k)


@metric("d-ndcg", display="D-nDCG", bounds=(0, 1), over="subtopics", gains_only=True)
def d_ndcg(t: Topics, k: int | None = None, *, gain: GlobalGain = "linear") -> pl.Expr:
    r"""D-nDCG: nDCG whose gain is the sum of a document's gains for all subtopics, each by its
    weight.

    .. math:: \frac{\sum_{i=1}^{k} G_i / \log_2(i + 1)}{\sum_{i=1}^{k} G^*_i / \log_2(i + 1)}, \quad
       G_i = \sum_s w_s \, g_{s,i}

    The weights `w`, such as the probabilities of intents, are those of ``on(subtopic_weight=...)``,
    else 1.

    Parameters
    ----------
    k
        Ranks to count, in the ranking and in the best order; ``None`` counts all.
    gain
        The gain of a relevant document for a subtopic: ``"linear"`` the label, ``"exponential"``
        2^label - 1, or ``"binary"``
        1. For lists of subtopics it is 1.

    Returns
    -------
    One Float64 per query, from 0 to 1.

    References
    ----------
    Sakai and Song, Evaluating diversified search results using per-intent graded relevance, SIGIR
    2011; NTCIREVAL's ``D-nDCG``.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame(
    ...     {
    ...         "query_id": [1, 1],
    ...         "doc_id": ["a", "b"],
    ...         "score": [2, 1],
    ...         "subtopic": [["x"], ["x", "y"]],
    ...     }
    ... )
    >>> round(
    ...     df.rank.on(subtopic="subtopic").metrics.d_ndcg(k=1)["d_ndcg@1"].item(), 4
    ... )  # 1 over the 2 of b
    0.5
    """
    gains = t.weighed(t.gain(gain))
    best, of_documents = t.ideal(gains)
    dcg = t.total(gains, k, over=_log2(t.rank))
    ideal_dcg = best.total(of_documents, k, over=_log2(best.rank))
    return dcg / ideal_dcg


@metric(
    "d_sharp",
    "dsharp_ndcg",
    display="Dsharp-nDCG",
    bounds=(0, 1),
    over="subtopics",
    gains_only=True,
)
def d_sharp_ndcg(
    t: Topics, k: int | None = None, *, recall: Proportion = 0.5, gain: GlobalGain = "linear"
) -> pl.Expr:
    r"""D#-nDCG: a mean of the share of the subtopics that the top `k` covers, I-rec, and of its
    D-nDCG.

    .. math:: \gamma \, \mathrm{Irec}@k + (1 - \gamma) \, \mathrm{DnDCG}@k

    Parameters
    ----------
    k
        Ranks to count; ``None`` counts all.
    recall
        The weight of I-rec, gamma, from 0 to 1. Weights of subtopics count in D-nDCG alone.
    gain
        The gain of a document for a subtopic, as for :func:`d_ndcg`.

    Returns
    -------
    One Float64 per query, from 0 to 1.

    References
    ----------
    Sakai and Song, SIGIR 2011; NTCIREVAL's ``D#-nDCG``.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame(
    ...     {
    ...         "query_id": [1, 1],
    ...         "doc_id": ["a", "b"],
    ...         "score": [2, 1],
    ...         "subtopic": [["x"], ["x", "y"]],
    ...     }
    ... )
    >>> df.rank.on(subtopic="subtopic").metrics.d_sharp_ndcg(k=1)[
    ...     "d_sharp_ndcg@1"
    ... ].item()  # (1/2 + 1/2) / 2
    0.5
    """
    of_gains = d_ndcg(t, k, gain=gain)
    i_rec = subtopic_recall(t.unweighted(), k)
    of_gains = of_gains.fill_nan(0.0)  # 0 / 0 where all gains are 0
    return recall * i_rec + (1 - recall) * of_gains


def _log2(rank: T) -> T:
    """The divisor of the gain at a rank."""
    return (rank + 1).log(2)


def _dcg(t: Topics, k: int | None, alpha: float) -> pl.Expr:
    return t.total(t.novelty(alpha), k, over=_log2(t.rank))


def _err(t: Topics, k: int | None, alpha: float) -> pl.Expr:
    return t.total(t.novelty(alpha), k, over=t.rank)


def _rbp(t: Topics, alpha: float, beta: float) -> pl.Expr:
    weight = beta ** (t.rank - 1)
    return t.total(t.novelty(alpha), weight=weight)


def _ranks(k: int) -> pl.Series:
    return pl.int_range(1, k + 1, eager=True).cast(pl.Float64)
