"""Counts of relevant documents: precision, recall and related metrics."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import polars as pl

from .._catalog.registry import FromClicks, Judging, metric
from .._words.ranking import PrecisionDivisor, Range, Ranking, RecallDivisor

__all__ = [
    "f1",
    "f_beta",
    "fall_out",
    "false_negatives",
    "false_positives",
    "hit_rate",
    "hits",
    "jaccard",
    "mcc",
    "precision",
    "r_precision",
    "recall",
    "set_average_precision",
    "true_negatives",
]

FIRST_FOUND: Any = {"bounds": (0, 1), "judging": "monotone", "gains_only": True}
"""The declaration of a metric from 0 to 1 that no further relevant document lowers."""

SHARE: Any = {**FIRST_FOUND, "judging": "threshold"}
"""The declaration of a metric from 0 to 1 of relevant documents over all that are relevant."""


def _judging(k: int | None = None, divisor: PrecisionDivisor = "k") -> Judging:
    return "threshold" if divisor == "min(k,R)" else "monotone"


def _from_clicks(k: int | None = None, divisor: PrecisionDivisor = "k") -> FromClicks:
    return None if divisor == "min(k,R)" else "sum"


def _recall_from_clicks(k: int | None = None, divisor: RecallDivisor = "R") -> FromClicks:
    return "ratio" if divisor == "R" else None


@metric(
    "p",
    "set_p",
    "setp",
    "retrieval_precision",
    display="P",
    bounds=(0, 1),
    judging=_judging,
    spellings={
        name: {"divisor": "min(k,R)"} for name in ("relative_P", "set_relative_P", "SetRelP")
    },
    gains_only=True,
    from_clicks=_from_clicks,
)
def precision(r: Ranking, k: int | None = None, *, divisor: PrecisionDivisor = "k") -> pl.Expr:
    r"""Precision: the share of the top `k` that is relevant; the divisor is `k` even where fewer
    were retrieved.

    .. math:: \frac{1}{k} \sum_{i=1}^{k} r_i

    Parameters
    ----------
    k
        Ranks to count; ``None`` counts all that were retrieved, and divides by their number.
    divisor
        ``"k"``; ``"min(k,n)"`` for n retrieved documents; ``"min(k,R)"`` for R relevant documents,
        the most hits possible (trec_eval's ``relative_P``, ``set_relative_P``).

    Returns
    -------
    One Float64 per query, from 0 to 1; 0 where nothing was retrieved.

    References
    ----------
    trec_eval's ``P`` (with `k`) and ``set_P`` (without).

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame(
    ...     {"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2.0, 1.0], "label": [0, 1]}
    ... )
    >>> found = df.rank.evaluate("precision@5", "precision")
    >>> found["precision@5"].item(), found["precision"].item()
    (0.2, 0.5)
    """
    if divisor == "min(k,R)":  # R counts documents, not their weights
        return r.total(r.relevant, k) / pl.min_horizontal(r.depth(k), r.n_relevant)
    depth = r.depth(k)
    if divisor == "min(k,n)":
        depth = pl.min_horizontal(depth, r.n_retrieved_to(k))
    return r.total(r.weighed(r.relevant), k) / depth


@metric(
    "r",
    "set_recall",
    "setr",
    "retrieval_recall",
    display="Recall",
    spellings={
        name: {"divisor": "min(k,R)"}
        for name in ("recall_cap", "R_cap", "CalibratedRecall", "CalibratedRecallK")
    },
    from_clicks=_recall_from_clicks,
    **SHARE,
)
def recall(r: Ranking, k: int | None = None, *, divisor: RecallDivisor = "R") -> pl.Expr:
    r"""Recall: the share of the query's relevant documents that are in the top `k`.

    .. math:: \frac{1}{R} \sum_{i=1}^{k} r_i

    Parameters
    ----------
    k
        Ranks to count; ``None`` counts all that were retrieved.
    divisor
        ``"R"``, the number of relevant documents; ``"min(k,R)"``, the most of them that `k` ranks
        can hold, so that 1 can be reached where there are more (BEIR's ``R_cap``, recpack's
        ``CalibratedRecall``).

    Returns
    -------
    One Float64 per query, from 0 to 1. Relevant documents that were not retrieved (score null)
    count as missed.

    References
    ----------
    trec_eval's ``recall`` (with `k`) and ``set_recall`` (without); capped: Thakur, Reimers, Rücklé,
    Srivastava and Gurevych, BEIR: a heterogeneous benchmark for zero-shot evaluation of information
    retrieval models, NeurIPS 2021.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame(
    ...     {"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2.0, None], "label": [1, 1]}
    ... )
    >>> df.rank.recall(k=5)["recall@5"].item()
    0.5
    >>> df.rank.evaluate("R_cap@1")["recall(divisor='min(k,R)')@1"].item()
    1.0
    """
    if divisor == "min(k,R)":
        most = pl.min_horizontal(r.cutoff(k), r.n_relevant)
        return r.total(r.relevant, k) / most
    relevant = r.weighed(r.relevant)
    return r.total(relevant, k) / r.whole(relevant)


@metric("f1_score", display="F1", **SHARE)
def f1(r: Ranking, k: int | None = None) -> pl.Expr:
    r"""F1: the harmonic mean of precision and recall in the top `k`, which is 2 hits / (k +
    relevant documents).

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
    van Rijsbergen, Information Retrieval, 1979; ranx's ``f1`` and, without `k`, trec_eval's
    ``set_F``.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame(
    ...     {"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2.0, 1.0], "label": [1, 0]}
    ... )
    >>> df.rank.f1(k=3)["f1@3"].item()  # precision 1/3, recall 1
    0.5
    """
    return f_beta(r, k)


@metric(
    "set_F", "SetF", "f_measure", "f-measure", "fbeta_score", display="F-beta", dot="beta", **SHARE
)
def f_beta(
    r: Ranking, k: int | None = None, *, beta: Annotated[float, Range(least=0, most=1e100)] = 1.0
) -> pl.Expr:
    r"""F-beta: a mean of precision and recall in the top `k`, in which recall counts `beta` times
    as much.

    .. math:: \frac{(1 + \beta^2) \, h_k}{k + \beta^2 R}

    Parameters
    ----------
    k
        Ranks to count; ``None`` counts all that were retrieved.
    beta
        From 0 to 1e100: 0 is precision, 1 is ``f1``. The number after trec_eval's ``set_F.`` is its
        square.

    Returns
    -------
    One Float64 per query, from 0 to 1; 0 where nothing relevant was found.

    References
    ----------
    van Rijsbergen, Information Retrieval, 1979; without `k`, trec_eval's ``set_F``.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame(
    ...     {"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2.0, 1.0], "label": [1, 0]}
    ... )
    >>> df.rank.metrics.f_beta(beta=2)["f_beta(beta=2)"].item()  # 5 of 2 + 4
    0.8333333333333334
    """
    n_hits = r.total(r.relevant, k)
    divisor = r.depth(k) + beta**2 * r.n_relevant
    return (1 + beta**2) * n_hits / divisor


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
    >>> df = pl.DataFrame(
    ...     {"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2.0, 1.0], "label": [1, 0]}
    ... )
    >>> df.rank.metrics.set_average_precision()["set_average_precision"].item()  # 1/2 of 1
    0.5
    """
    n_hits = r.total(r.relevant, k)
    divisor = r.depth(k) * r.n_relevant
    return n_hits * r.hits_down_to(k) / divisor


@metric(
    "fallout",
    "retrieval_fall_out",
    display="Fall-out",
    bounds=(0, 1),
    higher_is_better=False,
    judging="threshold",
)
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
    One Float64 per query, from 0 to 1; 0 where all documents are relevant. The divisor is the
    number of non-relevant documents: of the collection with ``on(collection_size=...)``, else of
    the documents retrieved or judged.

    References
    ----------
    van Rijsbergen, Information Retrieval, 1979; torchmetrics' ``retrieval_fall_out``.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame(
    ...     {"query_id": [1] * 3, "doc_id": ["a", "b", "c"], "score": [3, 2, 1], "label": [0, 1, 0]}
    ... )
    >>> df.rank.evaluate("fall_out@2")["fall_out@2"].item()  # a of a and c
    0.5
    >>> df.rank.on(collection_size=11).fall_out(k=2)["fall_out@2"].item()
    0.1
    """
    n_nonrelevant = n_documents(r) - r.n_relevant
    return r.total(1 - r.relevant, k) / n_nonrelevant


def n_documents(r: Ranking, others: pl.Expr | None = None) -> pl.Expr:
    """The number of documents of the collection; if it is not known, of those retrieved or judged,
    and of some `others`.
    """
    seen = r.n_candidates if others is None else r.n_candidates + others
    known = r.collection_size
    if known is None:
        return seen
    return pl.max_horizontal(seen, pl.lit(float(known)))


def n_shown(r: Ranking, k: int | None) -> pl.Expr:
    """The number of documents in the top `k`, of which those that share a rank are all or none."""
    if k is not None and r.shares and r.answer != "rank":
        return r.count((r.rank <= k).fill_null(False))
    return r.n_retrieved_to(k)


@metric(
    "num_rel_ret",
    "NumRelRet",
    "tp",
    "true_positives",
    display="Hits",
    summary="sum",
    judging="monotone",
    gains_only=True,
    from_clicks="sum",
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
    >>> df = pl.DataFrame(
    ...     {"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2.0, 1.0], "label": [1, 2]}
    ... )
    >>> df.rank.metrics.hits()["hits"].item()
    2.0
    """
    return r.total(r.weighed(r.relevant), k)


@metric("fp", display="FP", summary="sum", higher_is_better=False, judging="monotone")
def false_positives(r: Ranking, k: int | None = None) -> pl.Expr:
    r"""False positives: the number of documents in the top `k` that are not relevant; an unjudged
    one is not.

    .. math:: \sum_{i=1}^{k} (1 - r_i)

    Parameters
    ----------
    k
        Ranks to count; ``None`` counts all that were retrieved.

    Returns
    -------
    One Float64 per query, a whole number from 0 on. The true positives are ``hits``. RecTools' FP
    is `k` less these, also where fewer than `k` documents were retrieved.

    References
    ----------
    The confusion matrix, as in van Rijsbergen, Information Retrieval, 1979.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame(
    ...     {"query_id": [1] * 3, "doc_id": ["a", "b", "c"], "score": [3, 2, 1], "label": [1, 0, 1]}
    ... )
    >>> found = df.rank.evaluate("fp@2", "fn@2")  # b; c
    >>> found["false_positives@2"].item(), found["false_negatives@2"].item()
    (1.0, 1.0)
    """
    return r.total(1 - r.relevant, k)


@metric(
    "fn", display="FN", summary="sum", higher_is_better=False, judging="threshold", gains_only=True
)
def false_negatives(r: Ranking, k: int | None = None) -> pl.Expr:
    r"""False negatives: the number of relevant documents that are not in the top `k`, retrieved or
    not.

    .. math:: R - h_k

    Parameters
    ----------
    k
        Ranks to count; ``None`` counts all that were retrieved.

    Returns
    -------
    One Float64 per query, a whole number from 0 on.

    References
    ----------
    The confusion matrix, as in van Rijsbergen, Information Retrieval, 1979.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame(
    ...     {"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2.0, None], "label": [1, 1]}
    ... )
    >>> df.rank.evaluate("fn")["false_negatives"].item()  # b
    1.0
    """
    return r.n_relevant - r.hits_down_to(k)


@metric("tn", display="TN", summary="sum", judging="threshold")
def true_negatives(r: Ranking, k: int | None = None) -> pl.Expr:
    r"""True negatives: the number of documents that are neither relevant nor in the top `k`.

    .. math:: N - R - \sum_{i=1}^{k} (1 - r_i)

    `N` documents were retrieved or judged, or are in the collection.

    Parameters
    ----------
    k
        Ranks to count; ``None`` counts all that were retrieved.

    Returns
    -------
    One Float64 per query, a whole number from 0 on: of the documents of the collection with
    ``on(collection_size=...)``, else of those retrieved or judged.

    References
    ----------
    The confusion matrix, as in van Rijsbergen, Information Retrieval, 1979.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame(
    ...     {"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2, 1], "label": [1, 0]}
    ... )
    >>> df.rank.evaluate("tn@1")["true_negatives@1"].item()  # b
    1.0
    >>> df.rank.on(collection_size=10).evaluate("tn@1")["true_negatives@1"].item()
    9.0
    """
    shown = r.divided_by(1 - r.relevant, k)
    return n_documents(r) - r.n_relevant - shown


@metric(
    "matthews_corrcoef",
    "phi_coefficient",
    display="MCC",
    bounds=(-1, 1),
    judging="threshold",
    gains_only=True,
)
def mcc(r: Ranking, k: int | None = None, *, shown: Literal["list", "k"] = "list") -> pl.Expr:
    r"""Matthews' correlation coefficient of two properties of documents: relevant, and in the top
    `k`.

    .. math:: \frac{N h_k - m R}{\sqrt{m (N - m) R (N - R)}}, \quad m = \min(k, n)

    `N` documents were retrieved or judged, or are in the collection. It is (TP TN - FP FN) over the
    root of (TP + FP) (TP + FN) (TN + FP) (TN + FN).

    Parameters
    ----------
    k
        Ranks to count; ``None`` counts all that were retrieved.
    shown
        How many documents are in the top `k`, `m` above: ``"list"``, those that were retrieved; or
        ``"k"``, as if other documents stood at the empty places of a short list (RecTools).

    Returns
    -------
    One Float64 per query, from -1 to 1; 0 where all documents, or none, are relevant or in the top
    `k`. ``N`` is that of ``on(collection_size=...)``, else the number of documents retrieved or
    judged.

    References
    ----------
    Matthews, Comparison of the predicted and observed secondary structure of T4 phage lysozyme,
    Biochimica et Biophysica Acta 405(2), 1975; scikit-learn's ``matthews_corrcoef``, RecTools'
    ``MCC``.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame(
    ...     {
    ...         "query_id": [1] * 4,
    ...         "doc_id": list("abcd"),
    ...         "score": [4, 3, 2, 1],
    ...         "label": [1, 0, 0, 0],
    ...     }
    ... )
    >>> round(
    ...     df.rank.evaluate("mcc@2")["mcc@2"].item(), 4
    ... )  # (1 x 2 - 1 x 0) / root of 2 x 1 x 3 x 2
    0.5774
    """
    m = n_shown(r, k)
    relevant = r.n_relevant
    empty = None
    if shown == "k" and k is not None:
        empty = r.depth(k) - m
        m = m + empty
    n = n_documents(r, empty)
    spread = m * (n - m) * relevant * (n - relevant)
    return (n * r.hits_down_to(k) - m * relevant) / spread.sqrt()


@metric("jaccard_score", display="Jaccard", **SHARE)
def jaccard(r: Ranking, k: int | None = None) -> pl.Expr:
    r"""Jaccard index of the top `k` and the relevant documents: how many are in both, over how many
    are in either.

    .. math:: \frac{h_k}{\min(k, n) + R - h_k}

    Parameters
    ----------
    k
        Ranks to count; ``None`` counts all that were retrieved.

    Returns
    -------
    One Float64 per query, from 0 to 1. That of two rankings is the agreement ``jaccard_index``.

    References
    ----------
    Jaccard, The distribution of the flora in the alpine zone, New Phytologist 11(2), 1912;
    scikit-learn's ``jaccard_score``.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame(
    ...     {"query_id": [1] * 3, "doc_id": ["a", "b", "c"], "score": [3, 2, 1], "label": [1, 0, 1]}
    ... )
    >>> round(df.rank.evaluate("jaccard@2")["jaccard@2"].item(), 4)  # a of a, b and c
    0.3333
    """
    n_either = n_shown(r, k) + r.n_relevant - r.hits_down_to(k)
    return r.total(r.relevant, k) / n_either


@metric(
    "success", "hr", "hitrate", "hit_ratio", "retrieval_hit_rate", display="Hit rate", **FIRST_FOUND
)
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
    >>> df = pl.DataFrame(
    ...     {"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2.0, 1.0], "label": [0, 1]}
    ... )
    >>> found = df.rank.evaluate("hit_rate@1", "hit_rate@2")
    >>> found["hit_rate@1"].item(), found["hit_rate@2"].item()
    (0.0, 1.0)
    """
    return r.total(r.first_relevant, k)


@metric("rprec", "r-precision", "retrieval_r_precision", display="R-precision", **SHARE)
def r_precision(r: Ranking, k: int | None = None) -> pl.Expr:
    r"""R-precision: precision at rank R, where R is the number of the query's relevant documents.

    .. math:: \frac{h_{\min(k, R)}}{R}

    Parameters
    ----------
    k
        Ranks to look at; ``None`` looks at all down to R. With `k` it is the share of the relevant
        documents in the top min(k, R); ``precision(divisor='min(k,R)')`` divides by min(k, R)
        instead.

    Returns
    -------
    One Float64 per query, from 0 to 1. The divisor is R even where fewer documents were retrieved.

    References
    ----------
    trec_eval's ``Rprec``; with `k`, ``r_precision_at_k`` of Microsoft's Recommenders.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame(
    ...     {"query_id": [1] * 3, "doc_id": ["a", "b", "c"], "score": [3, 2, 1], "label": [1, 0, 1]}
    ... )
    >>> df.rank.r_precision()["r_precision"].item()  # 1 of the top 2
    0.5
    """
    depth = r.n_relevant
    if k is not None:
        depth = pl.min_horizontal(depth, pl.lit(float(k)))
    return r.total(r.relevant, depth) / r.n_relevant
