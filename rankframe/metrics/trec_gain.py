"""trec_eval's own measures of gain: the gain down to each rank, compared with the best possible ranking."""

from __future__ import annotations

import polars as pl

from .._catalog.registry import metric
from .._words.ranking import Gain, Ranking
from .gain import dcg

__all__ = ["bin_g", "g", "ideal_dcg", "ndcg_rel", "rndcg"]


@metric("binG", display="binG", bounds=(0, 1), judging="threshold", gains_only=True)
def bin_g(r: Ranking) -> pl.Expr:
    r"""binG: the mean over the relevant documents of 1 / log2(2 + documents above that are not relevant).

    .. math:: \frac{1}{R} \sum_{i=1}^{n} \frac{r_i}{\log_2(2 + i - h_i)}

    Returns
    -------
    One Float64 per query, from 0 to 1.

    References
    ----------
    trec_eval's ``binG``.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({"query_id": [1] * 3, "doc_id": ["a", "b", "c"], "score": [3, 2, 1], "label": [0, 0, 1]})
    >>> df.rank.metrics.bin_g()["bin_g"].item()                                # 1 / log2(2 + 2)
    0.5
    """
    return r.total(r.relevant, over=(2 + r.rank - r.hits).log(2)) / r.n_relevant


@metric(display="G")
def g(r: Ranking, *, gain: Gain = "linear") -> pl.Expr:
    r"""G: each gain discounted by the gain that was missed down to its rank.

    The gain at rank i is divided by log2(2 + cost - gain), with cost and gain summed down to i; the cost of a rank is
    the ideal ranking's gain there, but at least 1. The sum over the ranks is divided by the ideal ranking's gain.

    .. math:: \frac{1}{\sum_i g^*_i} \sum_{i=1}^{n} \frac{g_i}{\log_2\left(2 + \sum_{j=1}^{i} (\max(g^*_j, 1) - g_j)\right)}

    Parameters
    ----------
    gain
        The gain of a label, as for ``dcg``.

    Returns
    -------
    One Float64 per query, from 0 on; from 0 to 1 for gains of 1 and more.

    References
    ----------
    trec_eval's ``G``.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({"query_id": [1] * 3, "doc_id": ["a", "b", "c"], "score": [3, 2, 1], "label": [0, 0, 2]})
    >>> round(df.rank.metrics.g()["g"].item(), 4)                          # 1 / log2(2 + (2 + 1 + 1) - 2)
    0.5
    """
    best = r.ideal(gain)
    worth = r.gain(gain)
    missed = r.so_far(pl.max_horizontal(best.gain(gain), 1.0) - worth)
    return r.total(worth, over=(2 + missed).log(2)) / r.whole(worth)


@metric("ndcg_rel", display="nDCG-rel", bounds=(0, 1))
def ndcg_rel(r: Ranking, *, gain: Gain = "linear") -> pl.Expr:
    r"""NDCG averaged over the ranks of the documents with gain; those not retrieved count as at the last rank.

    .. math:: \frac{1}{m} \left(\sum_{i=1}^{n} [g_i > 0] \, \mathrm{nDCG}@i + (m - m_n) \, \mathrm{nDCG}\right)

    Of `m` documents with gain, `m_n` were retrieved.

    Parameters
    ----------
    gain
        The gain of a label, as for ``dcg``.

    Returns
    -------
    One Float64 per query, from 0 to 1.

    References
    ----------
    trec_eval's ``ndcg_rel``.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2.0, None], "label": [1, 1]})
    >>> round(df.rank.metrics.ndcg_rel()["ndcg_rel"].item(), 4)                   # 1 at rank 1, 1 / (1 + 1 / log2(3)) at the end
    0.8066
    """
    ndcg, last = _down_the_ranks(r, gain)
    has_gain = r.gain(gain) > 0
    found = has_gain & r.retrieved
    m, retrieved = r.whole(has_gain.cast(pl.Float64)), r.whole(found.cast(pl.Float64))
    at_gains = r.whole(pl.when(found).then(ndcg).otherwise(0.0))
    return (at_gains + (m - retrieved) * last) / m


@metric("Rndcg", display="RnDCG", bounds=(0, 1))
def rndcg(r: Ranking, *, gain: Gain = "linear") -> pl.Expr:
    r"""Rndcg: nDCG averaged over the ranks at which the ideal ranking's gain falls.

    If the ranking goes on for more than one document after the ideal ranking's last gain, its end counts as well.

    .. math:: \frac{1}{|F|} \sum_{i \in F} \mathrm{nDCG}@i, \quad F = \{i : g^*_i > g^*_{i+1}\}

    Parameters
    ----------
    gain
        The gain of a label, as for ``dcg``.

    Returns
    -------
    One Float64 per query, from 0 to 1; 0 where no document is relevant.

    References
    ----------
    trec_eval's ``Rndcg``.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2, 1], "label": [1, 2]})
    >>> round(df.rank.metrics.rndcg()["rndcg"].item(), 4)                      # 1 / 2 at rank 1, 2.2619 / 2.6309 at rank 2
    0.6799
    """
    ndcg, last = _down_the_ranks(r, gain)
    level = r.ideal(gain).gain(gain)
    falls = level > r.rows.next_to(level, -1, 0.0)  # compared with the next rank
    at_falls, n_falls = r.whole(pl.when(falls).then(ndcg).otherwise(0.0)), r.whole(falls.cast(pl.Float64))
    longer = r.n_retrieved > r.whole((r.gain(gain) > 0).cast(pl.Float64)) + 1
    mean = (at_falls + pl.when(longer).then(last).otherwise(0.0)) / (n_falls + longer.cast(pl.Float64))
    return pl.when(r.n_relevant > 0).then(mean).otherwise(0.0)


def _down_the_ranks(r: Ranking, gain: Gain) -> tuple[pl.Expr, pl.Expr]:
    """The nDCG down to each rank, and at the end."""
    best = r.ideal(gain)
    found = pl.when(r.retrieved).then(r.gain(gain) / (r.rank + 1).log(2)).otherwise(0.0)
    ideal = best.gain(gain) / (best.rank + 1).log(2)
    return r.so_far(found) / r.so_far(ideal), r.whole(found) / r.whole(ideal)


@metric(display="Ideal DCG", judging="monotone", gains_only=True)
def ideal_dcg(r: Ranking, k: int | None = None, *, gain: Gain = "linear") -> pl.Expr:
    r"""The DCG of the best order of all judged documents, the divisor of nDCG.

    .. math:: \sum_{i=1}^{k} \frac{g^*_i}{\log_2(i + 1)}

    Parameters
    ----------
    k
        Ranks to count; ``None`` counts all.
    gain
        The gain of a label, as for ``dcg``.

    Returns
    -------
    One Float64 per query, from 0 on.

    References
    ----------
    trec_eval's ``ideal_dcg``.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2.0, None], "label": [0, 3]})
    >>> df.rank.metrics.ideal_dcg()["ideal_dcg"].item()
    3.0
    """
    return dcg(r.ideal(gain), k, gain=gain)
