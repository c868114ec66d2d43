"""Counts of relevant documents: precision, recall and related metrics."""

from __future__ import annotations

from typing import Annotated, Any

import polars as pl

from .._catalog.registry import FromClicks, Judging, metric
from .._words.ranking import PrecisionDivisor, Range, Ranking

__all__ = [
    "f1", "f_beta", "fall_out", "hit_rate", "hits", "precision", "r_precision", "recall", "set_average_precision",
]  # fmt: skip

FIRST_FOUND: Any = {"bounds": (0, 1), "judging": "monotone", "gains_only": True}
"""The declaration of a metric from 0 to 1 that no further relevant document lowers."""

SHARE: Any = {**FIRST_FOUND, "judging": "threshold"}
"""The declaration of a metric from 0 to 1 of relevant documents over all that are relevant."""


def _judging(k: int | None = None, divisor: PrecisionDivisor = "k") -> Judging:
    return "threshold" if divisor == "min(k,R)" else "monotone"


def _from_clicks(k: int | None = None, divisor: PrecisionDivisor = "k") -> FromClicks:
    return None if divisor == "min(k,R)" else "sum"


@metric(
    "p",
    "set_p",
    "setp",
    "retrieval_precision",
    display="P",
    bounds=(0, 1),
    judging=_judging,
    spellings={name: {"divisor": "min(k,R)"} for name in ("relative_P", "set_relative_P", "SetRelP")},
    gains_only=True,
    from_clicks=_from_clicks,
)
def precision(r: Ranking, k: int | None = None, *, divisor: PrecisionDivisor = "k") -> pl.Expr:
    r"""Precision: the share of the top `k` that is relevant; the divisor is `k` even where fewer were retrieved.

    .. math:: \frac{1}{k} \sum_{i=1}^{k} r_i

    Parameters
    ----------
    k
        Ranks to count; ``None`` counts all that were retrieved, and divides by their number.
    divisor
        ``"k"``; ``"min(k,n)"`` for n retrieved documents; ``"min(k,R)"`` for R relevant documents, the most hits
        possible (trec_eval's ``relative_P``, ``set_relative_P``).

    Returns
    -------
    One Float64 per query, from 0 to 1; 0 where nothing was retrieved.

    References
    ----------
    trec_eval's ``P`` (with `k`) and ``set_P`` (without).

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2.0, 1.0], "label": [0, 1]})
    >>> found = df.rank.evaluate("precision@5", "precision")
    >>> found["precision@5"].item(), found["precision"].item()
    (0.2, 0.5)
    """
    most = {"k": [], "min(k,n)": [r.n_retrieved], "min(k,R)": [r.n_relevant]}[divisor]
    return r.total(r.weighed(r.relevant), k) / pl.min_horizontal(r.depth(k), *most)


@metric("r", "set_recall", "setr", "retrieval_recall", display="Recall", from_clicks="ratio", **SHARE)
def recall(r: Ranking, k: int | None = None) -> pl.Expr:
    r"""Recall: the share of the query's relevant documents that are in the top `k`.

    .. math:: \frac{1}{R} \sum_{i=1}^{k} r_i

    Parameters
    ----------
    k
        Ranks to count; ``None`` counts all that were retrieved.

    Returns
    -------
    One Float64 per query, from 0 to 1. Relevant documents that were not retrieved (score null) count as missed.

    References
    ----------
    trec_eval's ``recall`` (with `k`) and ``set_recall`` (without).

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2.0, None], "label": [1, 1]})
    >>> df.rank.recall(k=5)["recall@5"].item()
    0.5
    """
    relevant = r.weighed(r.relevant)
    return r.total(relevant, k) / r.whole(relevant)


@metric("f1_score", display="F1", **SHARE)
def f1(r: Ranking, k: int | None = None) -> pl.Expr:
    r"""F1: the harmonic mean of precision and recall in the top `k`, which is 2 hits / (k + relevant documents).

    .. math:: \frac{2 h_k}{k + R}

    Parameters
    ----------
    k
        Ranks to count; ``None`` counts all that were retrieved.

    Returns
    -------
    One Float64 per query, from 0 to 1; 0 where nothing relevant was found.

    References
    ----------
    van Rijsbergen, Information Retrieval, 1979; ranx's ``f1`` and, without `k`, trec_eval's ``set_F``.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2.0, 1.0], "label": [1, 0]})
    >>> df.rank.f1(k=3)["f1@3"].item()                          # precision 1/3, recall 1
    0.5
    """
    return f_beta(r, k)


@metric("set_F", "SetF", "f_measure", "f-measure", "fbeta_score", display="F-beta", dot="beta", **SHARE)
def f_beta(r: Ranking, k: int | None = None, *, beta: Annotated[float, Range(least=0, most=1e100)] = 1.0) -> pl.Expr:
    r"""F-beta: a mean of precision and recall in the top `k`, in which recall counts `beta` times as much.

    .. math:: \frac{(1 + \beta^2) \, h_k}{k + \beta^2 R}

    Parameters
    ----------
    k
        Ranks to count; ``None`` counts all that were retrieved.
    beta
        From 0 to 1e100: 0 is precision, 1 is ``f1``. The number after trec_eval's ``set_F.`` is its square.

    Returns
    -------
    One Float64 per query, from 0 to 1; 0 where nothing relevant was found.

    References
    ----------
    van Rijsbergen, Information Retrieval, 1979; without `k`, trec_eval's ``set_F``.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2.0, 1.0], "label": [1, 0]})
    >>> df.rank.metrics.f_beta(beta=2)["f_beta(beta=2)"].item()         # 5 of 2 + 4
    0.8333333333333334
    """
    return (1 + beta**2) * r.total(r.relevant, k) / (r.depth(k) + beta**2 * r.n_relevant)


@metric("set_map", "SetAP", display="SetAP", **SHARE)
def set_average_precision(r: Ranking, k: int | None = None) -> pl.Expr:
    r"""Set average precision: precision times recall of the top `k`, as for a set without order.

    .. math:: \frac{h_k}{k} \cdot \frac{h_k}{R}

    Parameters
    ----------
    k
        Ranks to count; ``None`` counts all that were retrieved.

    Returns
    -------
    One Float64 per query, from 0 to 1.

    References
    ----------
    Without `k`, trec_eval's ``set_map``.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2.0, 1.0], "label": [1, 0]})
    >>> df.rank.metrics.set_average_precision()["set_average_precision"].item()     # 1/2 of 1
    0.5
    """
    return r.total(r.relevant, k) * r.hits_down_to(k) / (r.depth(k) * r.n_relevant)


@metric("fallout", "retrieval_fall_out", display="Fall-out", bounds=(0, 1), higher_is_better=False, judging="threshold")
def fall_out(r: Ranking, k: int | None = None) -> pl.Expr:
    r"""Fall-out: the share of the non-relevant documents that is in the top `k`; lower is better.

    .. math:: \frac{1}{N - R} \sum_{i=1}^{k} (1 - r_i)

    `N` documents were retrieved or judged, `R` of them relevant.

    Parameters
    ----------
    k
        Ranks to count; ``None`` counts all that were retrieved.

    Returns
    -------
    One Float64 per query, from 0 to 1; 0 where all documents are relevant. The divisor is the number of non-relevant
    documents: of the collection with ``on(collection_size=...)``, else of the documents retrieved or judged.

    References
    ----------
    van Rijsbergen, Information Retrieval, 1979; torchmetrics' ``retrieval_fall_out``.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({"query_id": [1] * 3, "doc_id": ["a", "b", "c"], "score": [3, 2, 1], "label": [0, 1, 0]})
    >>> df.rank.evaluate("fall_out@2")["fall_out@2"].item()     # a of a and c
    0.5
    >>> df.rank.on(collection_size=11).fall_out(k=2)["fall_out@2"].item()
    0.1
    """
    others = r.n_candidates - r.n_relevant
    if r.collection_size is not None:
        others = pl.max_horizontal(others, r.collection_size - r.n_relevant)
    return r.total(1 - r.relevant, k) / others


@metric(
    "num_rel_ret", "NumRelRet", display="Hits", summary="sum", judging="monotone", gains_only=True, from_clicks="sum"
)
def hits(r: Ranking, k: int | None = None) -> pl.Expr:
    r"""Hits: the number of relevant documents in the top `k`.

    .. math:: h_k = \sum_{i=1}^{k} r_i

    Parameters
    ----------
    k
        Ranks to count; ``None`` counts all that were retrieved (trec_eval's ``num_rel_ret``).

    Returns
    -------
    One Float64 per query, a whole number from 0 on.

    References
    ----------
    ranx's ``hits``.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2.0, 1.0], "label": [1, 2]})
    >>> df.rank.metrics.hits()["hits"].item()
    2.0
    """
    return r.total(r.weighed(r.relevant), k)


@metric("success", "hr", "hitrate", "hit_ratio", "retrieval_hit_rate", display="Hit rate", **FIRST_FOUND)
def hit_rate(r: Ranking, k: int | None = None) -> pl.Expr:
    r"""Hit rate, also called success: 1 if a relevant document is in the top `k`, else 0.

    .. math:: \min(1, h_k)

    Parameters
    ----------
    k
        Ranks to count; ``None`` counts all that were retrieved.

    Returns
    -------
    One Float64 per query, 0 or 1.

    References
    ----------
    trec_eval's ``success``, ranx's ``hit_rate``.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2.0, 1.0], "label": [0, 1]})
    >>> found = df.rank.evaluate("hit_rate@1", "hit_rate@2")
    >>> found["hit_rate@1"].item(), found["hit_rate@2"].item()
    (0.0, 1.0)
    """
    return r.total(r.first_relevant, k)


@metric("rprec", "r-precision", "retrieval_r_precision", display="R-precision", **SHARE)
def r_precision(r: Ranking) -> pl.Expr:
    r"""R-precision: precision at rank R, where R is the number of the query's relevant documents.

    .. math:: \frac{h_R}{R}

    Returns
    -------
    One Float64 per query, from 0 to 1. The divisor is R even where fewer documents were retrieved.

    References
    ----------
    trec_eval's ``Rprec``.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({"query_id": [1] * 3, "doc_id": ["a", "b", "c"], "score": [3, 2, 1], "label": [1, 0, 1]})
    >>> df.rank.r_precision()["r_precision"].item()             # 1 of the top 2
    0.5
    """
    return r.total(r.relevant, r.n_relevant) / r.n_relevant
