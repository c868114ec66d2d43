"""Cumulative gain: sums of the documents' gains, discounted by rank."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import polars as pl

from .._catalog.registry import Judging, metric
from .._words.ranking import (
    LISTED,
    Discount,
    Gain,
    Ideal,
    Label,
    Proportion,
    Ranking,
    Worth,
    is_number,
)
from ..errors import InvalidOption, shown

__all__ = [
    "average_relevance_position",
    "cg",
    "dcg",
    "divisor_at",
    "graded_average_precision",
    "mean_label",
    "ndcg",
    "q_measure",
]


@metric("cumulative_gain", display="CG", judging="monotone", gains_only=True, from_clicks="sum")
def cg(
    r: Ranking, k: int | None = None, *, gain: Gain = "linear", min_label: Label | None = None
) -> pl.Expr:
    r"""Cumulative gain: the sum of the gains of the top `k`; 0 for a query without any gain.

    .. math:: \sum_{i=1}^{k} g_i

    Parameters
    ----------
    k
        Ranks to count; ``None`` counts all.
    gain
        The gain of a label: ``"linear"`` the label itself, ``"exponential"`` 2^label - 1,
        ``"binary"`` 1 if it is relevant; a mapping ``{label: gain}``, where a null or negative
        label has gain 0; or a Polars expression over the table's columns, 0 or more, independent of
        the label, as ``pl.col("price")``.
    min_label
        The least label that counts; labels below it count as 0 (ranx's ``-l2``). ``None`` for all
        labels.

    Returns
    -------
    One Float64 per query, from 0 on.

    References
    ----------
    Järvelin and Kekäläinen, Cumulated gain-based evaluation of IR techniques, ACM TOIS 20(4), 2002.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame(
    ...     {
    ...         "query_id": [1, 1, 1],
    ...         "doc_id": ["a", "b", "c"],
    ...         "score": [3, 2, 1],
    ...         "label": [3, 0, 2],
    ...     }
    ... )
    >>> df.rank.cg(k=2)["cg@2"].item()
    3.0
    """
    gains = r.from_label(min_label).gain(gain)
    return r.total(r.weighed(gains), k)


@metric(
    "query_average", display="Mean label", judging="monotone", gains_only=True, from_clicks="sum"
)
def mean_label(r: Ranking, k: int | None = None) -> pl.Expr:
    r"""Mean label: the mean of the labels in the top `k`, or in the whole ranking if that is
    shorter.

    .. math:: \frac{1}{m} \sum_{i=1}^{m} l_i, \quad m = \min(k, n)

    Parameters
    ----------
    k
        Ranks to count; ``None`` counts all that were retrieved.

    Returns
    -------
    One Float64 per query, from 0 on; 0 where nothing was retrieved. A document that nobody judged
    has label 0.

    References
    ----------
    CatBoost's ``QueryAverage``.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame(
    ...     {
    ...         "query_id": [1, 1, 1],
    ...         "doc_id": ["a", "b", "c"],
    ...         "score": [3, 2, 1],
    ...         "label": [3, 0, 2],
    ...     }
    ... )
    >>> df.rank.metrics.mean_label(k=2)["mean_label@2"].item()
    1.5
    """
    total = r.total(r.weighed(r.label), k)
    return total / r.n_retrieved_to(k)


@metric(
    display="Average relevance position",
    higher_is_better=False,
    judging="threshold",
    gains_only=True,
)
def average_relevance_position(r: Ranking, *, gain: Gain = "linear") -> pl.Expr:
    r"""Average relevance position: the mean rank of the retrieved documents, weighted by their
    gains.

    Lower is better, except that 0 means that no document with gain was retrieved.

    .. math:: \frac{\sum_{i=1}^{n} i \, g_i}{\sum_{i=1}^{n} g_i}

    Parameters
    ----------
    gain
        The gain of a label: ``"linear"`` the label itself, ``"exponential"`` 2^label - 1, or a
        mapping ``{label: gain}``, or a Polars expression over the table's columns.

    Returns
    -------
    One Float64 per query, from 1 on, or 0.

    References
    ----------
    TF-Ranking's ``ARPMetric``.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame(
    ...     {
    ...         "query_id": [1, 1, 1],
    ...         "doc_id": ["a", "b", "c"],
    ...         "score": [3, 2, 1],
    ...         "label": [1, 0, 3],
    ...     }
    ... )
    >>> df.rank.metrics.average_relevance_position()[
    ...     "average_relevance_position"
    ... ].item()  # (1 x 1 + 3 x 3) / (1 + 3)
    2.5
    """
    r = r.retrieved_only()
    worth = r.gain(gain)
    return r.total(worth, weight=r.rank) / r.whole(worth)


@metric(
    "discounted_cumulative_gain",
    "dcg_score",
    display="DCG",
    judging="monotone",
    spellings={"dcg_burges": {"gain": "exponential"}},
    gains_only=True,
    from_clicks="sum",
)
def dcg(
    r: Ranking,
    k: int | None = None,
    *,
    gain: Gain = "linear",
    discount: Discount = "log2",
    min_label: Label | None = None,
) -> pl.Expr:
    r"""Discounted cumulative gain: the gains of the top `k`, each divided by the logarithm of its
    rank.

    .. math:: \sum_{i=1}^{k} \frac{g_i}{\log_2(i + 1)}

    Parameters
    ----------
    k
        Ranks to count; ``None`` counts all.
    gain
        The gain of a label: ``"linear"`` the label itself, ``"exponential"`` 2^label - 1,
        ``"binary"`` 1 if it is relevant; a mapping ``{label: gain}``; or a Polars expression over
        the table's columns.
    discount
        The divisor of the gain at a rank: ``"log2"`` log2(rank + 1); ``"original"`` log2(rank) from
        rank 2 on, with rank 1 undivided, as in the paper of 2002 with base 2; a number, another
        base of that logarithm, with ranks below the base undivided; ``"rank"`` the rank; or a
        function of the rank, as ``lambda rank: rank.sqrt()``.
    min_label
        The least label that counts; labels below it count as 0 (ranx's ``-l2``). ``None`` for all
        labels.

    Returns
    -------
    One Float64 per query, from 0 on.

    References
    ----------
    Järvelin and Kekäläinen, ACM TOIS 20(4), 2002; the exponential gain: Burges et al., Learning to
    rank using gradient descent, ICML 2005.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame(
    ...     {
    ...         "query_id": [1, 1, 1],
    ...         "doc_id": ["a", "b", "c"],
    ...         "score": [3, 2, 1],
    ...         "label": [3, 0, 2],
    ...     }
    ... )
    >>> df.rank.dcg()["dcg"].item()  # 3 / 1 + 0 + 2 / 2
    4.0
    """
    gains = r.from_label(min_label).gain(gain)
    divisor = divisor_at(r.rank, discount)
    return r.total(r.weighed(gains), k, over=divisor)


def _ndcg_judging(
    k: int | None = None,
    gain: Gain = "linear",
    discount: Discount = "log2",
    ideal: Ideal = "judged",
    min_label: Label | None = None,
) -> Judging:
    return None if ideal in ("as_many", "all") else "gain"


@metric(
    "normalized_dcg",
    "normalised_dcg",
    "ndcg_cut",
    "ndcg_score",
    "retrieval_normalized_dcg",
    display="nDCG",
    bounds=(0, 1),
    judging=_ndcg_judging,
    spellings={
        "ndcg_burges": {"gain": "exponential"},
        "ncrr": {"gain": "binary", "discount": "rank", "ideal": "as_many"},
    },
    gains_only=True,
)
def ndcg(
    r: Ranking,
    k: int | None = None,
    *,
    gain: Gain = "linear",
    discount: Discount = "log2",
    ideal: Ideal = "judged",
    min_label: Label | None = None,
) -> pl.Expr:
    r"""Normalised DCG: the DCG of the ranking over that of the best order of all judged documents.

    For a query whose documents have no gain the divisor is 0; ``no_relevant`` sets its value.

    .. math:: \frac{\sum_{i=1}^{k} g_i / \log_2(i + 1)}{\sum_{i=1}^{k} g^*_i / \log_2(i + 1)}

    Parameters
    ----------
    k
        Ranks to count, in the ranking and in the best order; ``None`` counts all.
    gain
        The gain of a label: ``"linear"`` the label itself, ``"exponential"`` 2^label - 1,
        ``"binary"`` 1 if it is relevant; a mapping ``{label: gain}``; or a Polars expression over
        the table's columns.
    discount
        The divisor of the gain at a rank, as for ``dcg``: ``"log2"`` log2(rank + 1), ``"original"``
        log2(rank) from rank 2 on, ``"rank"`` the rank, a number, or a function of the rank.
    ideal
        The documents of the best order: ``"judged"`` the best `k` of the judged ones; ``"as_many"``
        the best of them, as many as the ranking has, at most `k` (Elasticsearch, MLflow); ``"all"``
        all judged ones, whatever `k` (LlamaIndex, Haystack); ``"retrieved"`` those of the ranking;
        ``"perfect"`` `k` documents, at most 1,000,000, each with the gain of the query's best
        (RecTools).
    min_label
        The least label that counts; labels below it count as 0 (ranx's ``-l2``). ``None`` for all
        labels.

    Returns
    -------
    One Float64 per query, from 0 to 1.

    References
    ----------
    Järvelin and Kekäläinen, ACM TOIS 20(4), 2002; trec_eval's ``ndcg`` and ``ndcg_cut``.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame(
    ...     {"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2.0, 1.0], "label": [0, 1]}
    ... )
    >>> round(df.rank.ndcg(k=10)["ndcg@10"].item(), 6)  # 1 / log2(3) over 1 / log2(2)
    0.63093
    """
    r = r.from_label(min_label)
    of_ranking = dcg(r, k, gain=gain, discount=discount)
    if ideal == "perfect":
        best_gain = r.largest(r.weighed(r.gain(gain)))
        return of_ranking / (best_gain * _sum_of_discounts(k, discount))
    best = (r.retrieved_only() if ideal == "retrieved" else r).ideal(gain)
    gains = best.weighed(best.gain(gain))
    divisor = divisor_at(best.rank, discount)
    if ideal == "all":
        return of_ranking / best.whole(gains / divisor)
    depth = r.n_retrieved_to(k) if ideal == "as_many" else k
    return of_ranking / best.total(gains, depth, over=divisor)


def _sum_of_discounts(k: int | None, discount: Discount) -> float:
    """The sum of 1 / divisor over the ranks 1 to `k`, all of which a perfect ranking fills."""
    if k is None or k > LISTED:
        says = (
            "ndcg(ideal=perfect) fills k ranks with perfect documents; give their "
            f"number, up to {LISTED:,}, as in ndcg(ideal=perfect)@10"
        )
        raise InvalidOption(says)
    ranks = pl.int_range(1, k + 1, eager=True).cast(pl.Float64)
    discounts = 1 / pl.select(divisor_at(pl.lit(ranks), discount)).to_series()
    return float(discounts.sum())


@metric("q-measure", "qmeasure", display="Q-measure", bounds=(0, 1))
def q_measure(
    r: Ranking, k: int | None = None, *, beta: Worth = 1.0, gain: Gain = "linear"
) -> pl.Expr:
    r"""Q-measure: the mean over the relevant documents of the blended ratio at their ranks, a
    precision that sees gains.

    .. math:: \frac{1}{R} \sum_{i=1}^{k} r_i \, \frac{h_i + \beta \sum_{j \le i} g_j}{i + \beta
       \sum_{j \le i} g^*_j}

    Parameters
    ----------
    k
        Ranks to count; ``None`` counts all. The divisor is R for any `k`.
    beta
        The weight of the gains, from 0 on: 0 is average precision; the larger, the milder to
        relevant documents far down.
    gain
        The gain of a label, as for ``dcg``. Documents below the threshold ``relevant`` add their
        gain to the sums.

    Returns
    -------
    One Float64 per query, from 0 to 1.

    References
    ----------
    Sakai, On the reliability of information retrieval metrics based on graded relevance,
    Information Processing and Management 43(2), 2007; NTCIREVAL's ``Q-measure``.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame(
    ...     {"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2.0, 1.0], "label": [0, 2]}
    ... )
    >>> df.rank.evaluate("q_measure")["q_measure"].item()  # (1 + 2) / (2 + 2)
    0.75
    """
    r.need_every_rank()
    gained = r.so_far(r.gain(gain))
    best = r.so_far(r.ideal(gain).gain(gain))
    blended = r.relevant * (r.hits + beta * gained)
    total = r.total(blended, k, over=r.rank + beta * best)
    return total / r.n_relevant


@metric("gap", display="GAP", bounds=(0, 1), gains_only=True)
def graded_average_precision(
    r: Ranking, k: int | None = None, *, thresholds: Mapping[Label, Proportion] | None = None
) -> pl.Expr:
    r"""Graded average precision: average precision for readers who differ in the least label that
    is relevant to them.

    .. math:: \frac{\sum_t p_t \sum_{i=1}^{k} r_{t,i} \, h_{t,i} / i}{\sum_t p_t R_t}

    Here `r`, `h` and `R` are those of the threshold t, which a reader has with probability `p`.

    Parameters
    ----------
    k
        Ranks to count; ``None`` counts all.
    thresholds
        ``{label: probability}``: how many of the readers find documents from this label on
        relevant. ``None`` for the labels 1, 2, 3 and 4, each as often; labels that no document has
        change nothing.

    Returns
    -------
    One Float64 per query, from 0 to 1; ``map`` for labels 0 and 1. ``relevant`` is not used.

    References
    ----------
    Robertson, Kanoulas and Yilmaz, Extending average precision to graded relevance judgments, SIGIR
    2010; NTCIREVAL's ``GAP``.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame(
    ...     {"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2.0, 1.0], "label": [1, 2]}
    ... )
    >>> df.rank.evaluate("gap")[
    ...     "graded_average_precision"
    ... ].item()  # ((1 + 1) from label 1 on + 1/2 from 2 on) / (2 + 1)
    0.8333333333333334
    """
    if thresholds is None:
        says = (
            "a label is above 4; give the probabilities of thresholds, as thresholds={1: "
            "0.5, 5: 0.5}"
        )
        r.refuse(r.label > 4, says)
        thresholds = dict.fromkeys((1, 2, 3, 4), 0.25)
    hits = []
    n_relevant = []
    for label, share in thresholds.items():
        of_reader = r.with_threshold(label)
        hits.append(share * of_reader.hits_at_relevant)
        n_relevant.append(share * of_reader.n_relevant)
    gained = r.total(pl.sum_horizontal(hits), k, over=r.rank)
    return gained / pl.sum_horizontal(n_relevant)


def divisor_at(rank: pl.Expr, discount: Discount) -> pl.Expr:
    """The divisor of the gain at a rank."""
    if callable(discount):
        return _divisor_of(discount, rank)
    if discount == "log2":
        return (rank + 1).log(2)
    if discount == "rank":
        return rank
    base = 2 if isinstance(discount, str) else discount
    return rank.clip(lower_bound=base).log(base)


def _divisor_of(discount: Callable[[pl.Expr], object], rank: pl.Expr) -> pl.Expr:
    """The divisor that a function gives for a rank."""
    divisor = discount(rank)
    if is_number(divisor):
        return pl.lit(float(divisor))
    if not isinstance(divisor, pl.Expr):
        says = (
            f"discount={shown(discount)} gives {shown(divisor)}; let it make an "
            "expression of the rank, as discount=lambda rank: rank.sqrt()"
        )
        raise InvalidOption(says)
    return divisor
