"""Judgments: the number of judged documents, and metrics for rankings with unjudged documents."""

from __future__ import annotations

from typing import Literal

import polars as pl

from .._catalog.registry import metric
from .._words.ranking import Ranking, zero_unless
from .binary import n_shown

__all__ = [
    "inferred_ap",
    "judged",
    "num_relevant",
    "num_retrieved",
    "pairwise_accuracy",
    "stat_ap",
    "xinf_ap",
]


@metric("judgment_rate", display="Judged", bounds=(0, 1), judging="monotone", from_clicks="same")
def judged(r: Ranking, k: int | None = None) -> pl.Expr:
    r"""The share of judged documents in the top `k`, or in the whole ranking if that is shorter.

    .. math:: \frac{1}{m} \sum_{i=1}^{m} (1 - u_i), \quad m = \min(k, n)

    Parameters
    ----------
    k
        Ranks to count; ``None`` counts all.

    Returns
    -------
    One Float64 per query, from 0 to 1; 0 where nothing was retrieved. A document with a negative
    label counts as unjudged.

    References
    ----------
    ir_measures' ``Judged``, which counts a negative label as a judgment.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame(
    ...     {"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2.0, 1.0], "label": [0, None]}
    ... )
    >>> df.rank.evaluate("judged")["judged"].item()
    0.5
    """
    n_judged = r.total(r.judged.cast(pl.Float64), k)
    return n_judged / n_shown(r, k)


@metric(display="Pairwise accuracy", bounds=(0, 1), judging="threshold", gains_only=True)
def pairwise_accuracy(r: Ranking, k: int | None = None) -> pl.Expr:
    r"""Pairwise accuracy: of the pairs of a relevant and another document in the top `k`, the share
    with the relevant first.

    Unlike ``auc`` it uses only retrieved documents, with ties ordered by ``ties``. It is 0 if no
    document in the top `k` is relevant, and null if all are.

    .. math:: \frac{1}{h_m (m - h_m)} \sum_{i=1}^{m} r_i \, (m - h_m - (i - h_i)), \quad m = \min(k,
       n)

    Parameters
    ----------
    k
        Ranks to look at; ``None`` looks at all.

    Returns
    -------
    One Float64 per query, from 0 to 1, or null.

    References
    ----------
    ir_measures' ``Accuracy``, which leaves out queries without a relevant document in the top `k`,
    and fails where all are relevant.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame(
    ...     {"query_id": [1, 1, 1], "doc_id": list("abc"), "score": [3, 2, 1], "label": [0, 1, 0]}
    ... )
    >>> df.rank.evaluate("pairwise_accuracy")["pairwise_accuracy"].item()  # above c, not above a
    0.5
    """
    n_relevant = r.hits_down_to(k)
    n_others = n_shown(r, k) - n_relevant
    # a relevant document wins against all non-relevant ones except those above it
    lost = r.total(r.relevant * r.misses, k)
    won = r.total(r.relevant, k) * n_others - lost
    accuracy = pl.when(n_relevant == 0).then(0.0)
    return accuracy.when(n_others > 0).then(won / (n_relevant * n_others))


@metric("infAP", display="infAP", bounds=(0, 1), gains_only=True)
def inferred_ap(r: Ranking) -> pl.Expr:
    r"""Inferred average precision: AP where only a sample of the pool was judged.

    A negative label marks a document of the pool that was not judged: it counts by the share of
    relevant documents among the judged ones above it. A null label marks a document outside the
    pool, which counts as non-relevant.

    .. math:: \frac{1}{R} \sum_{i=1}^{n} \frac{r_i}{i} \left(1 + c_i \frac{h_{i-1} +
       \epsilon}{h_{i-1} + b_i + 2 \epsilon}\right)

    Above rank i are `c` documents of the pool, `b` of them judged non-relevant; epsilon is 0.00001.

    Returns
    -------
    One Float64 per query, from 0 to 1; 0 without a relevant document. If all documents are judged
    it is below AP by a few 1e-6, as in trec_eval.

    References
    ----------
    Yilmaz and Aslam, Estimating average precision with incomplete and imperfect judgments, CIKM
    2006; as in trec_eval.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame(
    ...     {"query_id": [1, 1, 1], "doc_id": list("abc"), "score": [3, 2, 1], "label": [1, -1, 1]}
    ... )
    >>> round(
    ...     df.rank.evaluate("inferred_ap")["inferred_ap"].item(), 4
    ... )  # b is taken to be relevant, as a is
    1.0
    """
    epsilon = 0.00001
    relevant_above = r.hits - 1
    judged_above = relevant_above + r.nonrelevant_above
    pooled_above = judged_above + r.count_above(r.raw < 0)
    precision_above = (relevant_above + epsilon) / (judged_above + 2 * epsilon)
    precision = (1 + pooled_above * precision_above) / r.rank
    return r.total(r.relevant * precision) / r.n_relevant


@metric("xinfAP", display="xinfAP", bounds=(0, 1), needs=("stratum",))
def xinf_ap(r: Ranking) -> pl.Expr:
    r"""Extended inferred average precision: AP where only samples of the strata of the pool were
    judged.

    ``on(stratum=...)`` names the column of the strata, such as the first ten ranks of any run and
    those below; null for a document outside the pool, which counts as non-relevant; a judged
    document without one is an error. Documents of a stratum that are not judged, with a negative
    label or none, count by the share of relevant documents among the judged ones of the stratum
    above them.

    .. math:: \frac{\sum_{i=1}^{n} r_i w_i \hat P_i}{\sum r w}, \quad \hat P_i = \frac{1}{i} \left(1
       + \sum_s c_{s,i} \frac{h_{s,i} + \epsilon}{m_{s,i} + 2 \epsilon}\right)

    Above rank i are `c` documents of stratum s, `m` of them judged and `h` relevant; `w` is the
    number of documents of the document's stratum over that of the judged ones; epsilon is 0.00001.
    With one stratum it is ``inferred_ap``.

    Returns
    -------
    One Float64 per query, from 0 to 1; 0 without a relevant document.

    References
    ----------
    Yilmaz, Kanoulas and Aslam, A simple and efficient sampling method for estimating AP and NDCG,
    SIGIR 2008.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame(
    ...     {
    ...         "query_id": [1, 1, 1],
    ...         "doc_id": list("abc"),
    ...         "score": [3, 2, 1],
    ...         "label": [0, -1, 1],
    ...         "pool": [1, 2, 2],
    ...     }
    ... )
    >>> round(
    ...     df.rank.on(stratum="pool").evaluate("xinf_ap")["xinf_ap"].item(), 4
    ... )  # half of b counts: (1 + 1/2) / 3
    0.5
    """
    is_outside = r.columns_of("stratum")[0].is_null()
    says = "a judged document has no stratum; give each of them its stratum"
    r.refuse(r.judged & is_outside, says, of_label=False)
    weight, precision = r.of_strata(r.judged, r.relevant)
    worth = zero_unless(r.relevant > 0, weight)
    return r.total(worth * precision) / r.whole(worth)


@metric("statAP", display="statAP", needs=("inclusion",), gains_only=True)
def stat_ap(r: Ranking, *, itself: Literal["drawn", "once"] = "drawn") -> pl.Expr:
    r"""Statistical average precision: AP where each document was drawn for judging with a known
    probability.

    ``on(inclusion=...)`` names the column of the probabilities. Each judged relevant document
    counts as 1 / probability relevant documents, in the precision at each rank and in the number of
    relevant documents.

    .. math:: \frac{1}{\hat R} \sum_{i=1}^{n} \frac{r_i}{\pi_i} \cdot \frac{1}{i} \sum_{j=1}^{i}
       \frac{r_j}{\pi_j}, \quad \hat R = \sum \frac{r}{\pi}

    Parameters
    ----------
    itself
        What a relevant document counts in the precision at its own rank: ``"drawn"``, 1 over its
        probability as above; ``"once"``, 1. If probabilities are small, ``"drawn"`` is too high on
        average, and ``"once"`` nearly right.

    Returns
    -------
    One Float64 per query, from 0 on: an estimate, which may be above 1; 0 without a relevant
    document.

    References
    ----------
    Aslam and Pavlu, A practical sampling strategy for efficient retrieval evaluation, 2007; the
    Million Query Track of TREC 2007 (Allan et al.).

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame(
    ...     {
    ...         "query_id": [1, 1, 1],
    ...         "doc_id": list("abc"),
    ...         "score": [3, 2, 1],
    ...         "label": [1, None, 1],
    ...         "pi": [1.0, None, 0.5],
    ...     }
    ... )
    >>> round(
    ...     df.rank.on(inclusion="pi").evaluate("stat_ap")["stat_ap"].item(), 4
    ... )  # (1 x 1/1 + 2 x 3/3) over 1 + 2
    1.0
    """
    is_fit = r.inclusion.is_between(0, 1, closed="right").fill_null(False)
    is_relevant = r.relevant > 0
    says = "a relevant document was judged with a probability that is null, 0, negative or above 1"
    r.refuse(is_relevant & ~is_fit, says)
    worth = zero_unless(is_relevant, 1 / r.inclusion)
    so_far = r.so_far(worth)
    if itself == "once":
        so_far = so_far - worth + 1
    return r.total(worth * so_far, over=r.rank) / r.whole(worth)


@metric(
    "num_ret",
    "NumRet",
    display="NumRet",
    summary="sum",
    judging="monotone",
    labels=False,
    from_clicks="same",
)
def num_retrieved(r: Ranking) -> pl.Expr:
    r"""The number of retrieved documents.

    .. math:: n

    Returns
    -------
    One Float64 per query, a whole number from 0 on. The sum over all queries is what trec_eval
    prints for ``all``.

    References
    ----------
    trec_eval's ``num_ret``.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame(
    ...     {"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2.0, None], "label": [0, 1]}
    ... )
    >>> df.rank.evaluate("num_retrieved")["num_retrieved"].item()
    1.0
    """
    return r.n_retrieved


@metric("num_rel", "NumRel", display="NumRel", summary="sum", judging="monotone", gains_only=True)
def num_relevant(r: Ranking) -> pl.Expr:
    r"""The number of the query's relevant documents, retrieved or not.

    .. math:: R

    Returns
    -------
    One Float64 per query, a whole number from 0 on. The sum over all queries is what trec_eval
    prints for ``all``.

    References
    ----------
    trec_eval's ``num_rel``.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame(
    ...     {"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2.0, None], "label": [0, 1]}
    ... )
    >>> df.rank.evaluate("num_relevant")["num_relevant"].item()
    1.0
    """
    return r.n_relevant


# what a comparison says of its runs: no metrics, as weights of documents leave them as they are


def judged_share(r: Ranking, k: int | None = None) -> pl.Expr:
    """The share of judged documents in the top `k`."""
    r.used.weight = True
    return judged(r, k)


def documents_held(r: Ranking) -> pl.Expr:
    """The number of retrieved documents."""
    r.used.weight = True
    return num_retrieved(r)
