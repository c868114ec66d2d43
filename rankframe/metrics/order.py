"""Order of relevant and other documents: average precision, bpref, AUC and related metrics."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import polars as pl

from .._catalog.registry import Judging, metric
from .._words.ranking import (
    NO_PAIRS,
    AverageDivisor,
    Cutoff,
    Gain,
    NoPairs,
    Proportion,
    Range,
    Ranking,
    Rounding,
    quotient,
    zero_unless,
)
from .binary import FIRST_FOUND, SHARE, n_documents, n_shown

__all__ = [
    "auc",
    "average_precision",
    "average_recall",
    "bpref",
    "eleven_point_average",
    "first_rank",
    "interpolated_precision",
    "last_rank",
    "mean_percentile_rank",
    "mean_rank",
    "median_rank",
    "ordered_pair_accuracy",
    "partial_auc",
    "ranking_loss",
    "reciprocal_rank",
]

A_RANK: Any = {
    "bounds": (1, None),
    "higher_is_better": False,
    "judging": "threshold",
    "gains_only": True,
}
"""The declaration of a rank of the relevant documents, null without any."""


@metric(
    "ap",
    "map_cut",
    "mean_average_precision",
    "average_precision_score",
    text="map",
    spellings={
        name: {"divisor": "hits"} for name in ("context_precision", "retrieval_average_precision")
    },
    display="MAP",
    **SHARE,
)
def average_precision(
    r: Ranking, k: int | None = None, *, divisor: AverageDivisor = "R"
) -> pl.Expr:
    r"""Average precision: the mean over the relevant documents of the precision at their ranks; its
    mean is MAP.

    Relevant documents that were not retrieved, or are below rank `k`, add 0.

    .. math:: \frac{1}{R} \sum_{i=1}^{k} r_i \frac{h_i}{i}

    Parameters
    ----------
    k
        Ranks to count; ``None`` counts all.
    divisor
        ``"R"`` the number of relevant documents, for any `k`; ``"min(k,R)"`` (Spark, LightGBM);
        ``"min(n,R)"`` for n retrieved documents, at most `k`; ``"hits"`` the relevant documents in
        the top `k` (torchmetrics); ``"k"``.

    Returns
    -------
    One Float64 per query, from 0 to 1.

    References
    ----------
    trec_eval's ``map`` and ``map_cut``.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame(
    ...     {
    ...         "query_id": [1] * 4,
    ...         "doc_id": list("abcd"),
    ...         "score": [4, 3, 2, 1],
    ...         "label": [1, 0, 0, 1],
    ...     }
    ... )
    >>> df.rank.average_precision()["map"].item()  # (1/1 + 2/4) / 2
    0.75
    """
    precisions = r.total(r.hits_at_relevant, k, over=r.rank)
    if divisor == "hits":
        return precisions / r.hits_down_to(k)
    if divisor == "k":
        return precisions / r.depth(k)
    if divisor == "R":
        return precisions / r.n_relevant
    depth = r.cutoff(k) if divisor == "min(k,R)" else r.n_retrieved_to(k)
    return precisions / pl.min_horizontal(depth, r.n_relevant)


@metric(display="Average recall", **SHARE)
def average_recall(
    r: Ranking, k: int | None = None, *, at: Literal["ranks", "relevant"] = "ranks"
) -> pl.Expr:
    r"""Average recall: the mean of the recall at the ranks 1 to `k`; its mean is called MAR.

    .. math:: \frac{1}{k} \sum_{i=1}^{k} \frac{h_i}{R}

    Parameters
    ----------
    k
        Ranks to take the mean over; below the last document the recall stays. ``None`` takes all
        that were retrieved.
    at
        ``"ranks"``, or ``"relevant"`` for the sum of the recall at the ranks of the relevant
        documents in the top `k`, over R, as average precision is one of the precision (Evidently).

    Returns
    -------
    One Float64 per query, from 0 to 1. What recmetrics and rexmex call MAR is ``map``.

    References
    ----------
    Elliot's ``MAR``: Anelli et al., Elliot: a comprehensive and rigorous framework for reproducible
    recommender systems evaluation, SIGIR 2021; Evidently's ``MARKMetric``.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame(
    ...     {
    ...         "query_id": [1] * 4,
    ...         "doc_id": list("abcd"),
    ...         "score": [4, 3, 2, 1],
    ...         "label": [0, 1, 0, 1],
    ...     }
    ... )
    >>> df.rank.evaluate("average_recall")["average_recall"].item()  # (0 + 1/2 + 1/2 + 1) / 4
    0.5
    >>> df.rank.evaluate("average_recall(at=relevant)")[
    ...     "average_recall(at=relevant)"
    ... ].item()  # (1/2 + 1) / 2
    0.75
    """
    if at == "relevant":
        hits = r.total(r.hits_at_relevant, k)
        return hits / r.n_relevant**2
    r.need_every_rank()
    depth = r.depth(k)  # a document at rank i counts at the ranks i to the depth
    ranks = r.total(r.relevant, k, weight=r.rank)
    counts = (depth + 1) * r.total(r.relevant, k) - ranks
    return counts / (depth * r.n_relevant)


@metric("mrr", "recip_rank", "retrieval_reciprocal_rank", text="rr", display="RR", **FIRST_FOUND)
def reciprocal_rank(r: Ranking, k: int | None = None) -> pl.Expr:
    r"""Reciprocal rank: 1 / rank of the first relevant document, 0 if there is none in the top `k`;
    its mean is MRR.

    .. math:: \max_{i \le k} \frac{r_i}{i}

    Parameters
    ----------
    k
        Ranks to look at; ``None`` looks at all.

    Returns
    -------
    One Float64 per query, from 0 to 1.

    References
    ----------
    Voorhees, The TREC-8 question answering track report, 1999; trec_eval's ``recip_rank``.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame(
    ...     {"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2.0, 1.0], "label": [0, 1]}
    ... )
    >>> df.rank.reciprocal_rank()["rr"].item()
    0.5
    """
    return r.total(r.first_relevant, k, over=r.rank)


def _place(r: Ranking, n: pl.Expr) -> pl.Expr:
    """The rank of each document.

    Those that were not retrieved share the mean of the ranks below, down to `n`.
    """
    r.need_every_rank()
    below = (r.n_retrieved + n + 1) / 2
    return pl.coalesce(r.rank, below)


@metric(display="First rank", **A_RANK)
def first_rank(r: Ranking) -> pl.Expr:
    r"""First rank: the rank of the first relevant document.

    Relevant documents that were not retrieved share the mean of the ranks below the ranking, as for
    :func:`mean_rank`.

    .. math:: \min \{i : r_i = 1\}

    Returns
    -------
    One Float64 per query, from 1 on; null where no document is relevant.

    References
    ----------
    Bordes, Usunier, Garcia-Durán, Weston and Yakhnenko, Translating embeddings for modeling
    multi-relational data, NeurIPS 2013, where each query has one answer, whose rank is averaged
    over the queries (MR).

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame(
    ...     {
    ...         "query_id": [1] * 4,
    ...         "doc_id": list("abcd"),
    ...         "score": [3, 2, 1, None],
    ...         "label": [0, 1, 1, 1],
    ...     }
    ... )
    >>> found = df.rank.evaluate("first_rank", "last_rank")  # ranks 2, 3 and, below the ranking, 4
    >>> found["first_rank"].item(), found["last_rank"].item()
    (2.0, 4.0)
    """
    place = _place(r, r.n_candidates)
    return -r.largest(pl.when(r.relevant > 0).then(-place))


@metric("mr", display="Mean rank", **A_RANK)
def mean_rank(r: Ranking) -> pl.Expr:
    r"""Mean rank: the mean of the ranks of the relevant documents.

    Judged documents that were not retrieved rank below all others; each has the mean of these
    ranks.

    .. math:: \frac{1}{R} \sum_i i \, r_i

    Returns
    -------
    One Float64 per query, from 1 on; null where no document is relevant. To count a cutoff as the
    end of the list, say ``on(depth=k)``.

    References
    ----------
    Bordes et al., NeurIPS 2013; rexmex's ``mean_rank``.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame(
    ...     {
    ...         "query_id": [1] * 4,
    ...         "doc_id": list("abcd"),
    ...         "score": [3, 2, None, None],
    ...         "label": [1, 0, 1, 0],
    ...     }
    ... )
    >>> df.rank.evaluate("mean_rank")[
    ...     "mean_rank"
    ... ].item()  # rank 1, and the mean of the ranks 3 and 4
    2.25
    """
    total = r.whole(r.relevant * _place(r, r.n_candidates))
    return quotient(total, r.n_relevant)


@metric("medr", display="Median rank", **A_RANK)
def median_rank(r: Ranking) -> pl.Expr:
    r"""Median rank: the median of the ranks of the relevant documents.

    Relevant documents that were not retrieved count as for :func:`mean_rank`.

    .. math:: \frac{1}{2} \left(i_{\lceil R / 2 \rceil} + i_{\lfloor R / 2 \rfloor + 1}\right)

    Here the relevant documents are at the ranks i in rising order.

    Returns
    -------
    One Float64 per query, from 1 on; null where no document is relevant.

    References
    ----------
    As the median over queries with one answer each: Kiros, Salakhutdinov and Zemel, Unifying
    visual-semantic embeddings with multimodal neural language models, 2014.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame(
    ...     {
    ...         "query_id": [1] * 4,
    ...         "doc_id": list("abcd"),
    ...         "score": [4, 3, 2, 1],
    ...         "label": [1, 0, 0, 1],
    ...     }
    ... )
    >>> df.rank.evaluate("median_rank")["median_rank"].item()  # between the ranks 1 and 4
    2.5
    """
    half = r.n_relevant / 2
    place = _place(r, r.n_candidates)

    def rank_of(nth: pl.Expr) -> pl.Expr:
        from_there = (r.relevant > 0) & (r.hits >= nth)
        return -r.largest(pl.when(from_there).then(-place))

    return (rank_of(half.ceil()) + rank_of(half.floor() + 1)) / 2


@metric("coverage_error", display="Last rank", **A_RANK)
def last_rank(r: Ranking) -> pl.Expr:
    r"""Last rank: how far one has to go down the ranking to find all relevant documents.

    Relevant documents that were not retrieved count as for :func:`mean_rank`.

    .. math:: \max \{i : r_i = 1\}

    Returns
    -------
    One Float64 per query, from 1 on; null where no document is relevant. With ``on(ties="last")``
    it is scikit-learn's coverage error, which is 0 where no document is relevant.

    References
    ----------
    Tsoumakas, Katakis and Vlahavas, Mining multi-label data, 2010; scikit-learn's
    ``coverage_error``.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame(
    ...     {"query_id": [1] * 3, "doc_id": ["a", "b", "c"], "score": [3, 2, 1], "label": [1, 1, 0]}
    ... )
    >>> df.rank.evaluate("coverage_error")["last_rank"].item()
    2.0
    """
    place = _place(r, r.n_candidates)
    return r.largest(pl.when(r.relevant > 0).then(place))


@metric(
    "mpr",
    "expected_percentile_ranking",
    display="MPR",
    bounds=(0, 1),
    higher_is_better=False,
    gains_only=True,
    spellings={"PercentileRanking": {"divisor": "N"}},
)
def mean_percentile_rank(
    r: Ranking, *, gain: Gain = "linear", divisor: Literal["N-1", "N"] = "N-1"
) -> pl.Expr:
    r"""Mean percentile rank: the mean place of the documents with gain, 0 at the top and 1 at the
    end, weighted by gain.

    Documents that were not retrieved share the mean of the places below the ranking.

    .. math:: \frac{\sum_i g_i \, (i - 1) / (N - 1)}{\sum_i g_i}

    `N` documents were retrieved or judged, or are in the collection.

    Parameters
    ----------
    gain
        The gain of a label, as for ``dcg``: ``"linear"`` the label itself, such as how often a user
        watched a show.
    divisor
        ``"N-1"``, so that the last place is 1 and a random order has 1/2; ``"N"`` (recpack, in per
        cent there).

    Returns
    -------
    One Float64 per query, from 0 to 1; null without a gain. ``N`` is that of
    ``on(collection_size=...)``, else the number of documents retrieved or judged. The paper takes
    one mean over all pairs of a user and an item: for labels 0 and 1 that is ``summarize("mpr",
    weights="num_rel")``.

    References
    ----------
    Hu, Koren and Volinsky, Collaborative filtering for implicit feedback datasets, ICDM 2008;
    recpack's ``PercentileRanking``.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame(
    ...     {"query_id": [1] * 3, "doc_id": ["a", "b", "c"], "score": [3, 2, 1], "label": [3, 0, 1]}
    ... )
    >>> df.rank.evaluate("mpr")["mean_percentile_rank"].item()  # (3 x 0 + 1 x 1) / 4
    0.25
    """
    n = n_documents(r)
    worth = r.gain(gain)
    total = r.whole(worth)
    places = r.whole(worth * (_place(r, n) - 1))
    share = places / (n - 1 if divisor == "N-1" else n)
    mean = (share / total).fill_nan(0.0)  # 0 / 0 for N = 1
    return pl.when(total > 0).then(mean)


@metric(**SHARE)
def bpref(r: Ranking) -> pl.Expr:
    r"""Binary preference: how rarely documents judged non-relevant rank above relevant ones,
    unjudged ones left out.

    Each retrieved relevant document adds 1 - min(non-relevant above, R) / min(B, R), or 1 if there
    is none above.

    .. math:: \frac{1}{R} \sum_{i=1}^{n} r_i \left(1 - \frac{\min(b_i, R)}{\min(B, R)}\right)

    Of all `B` documents judged non-relevant, `b` are above rank i.

    Returns
    -------
    One Float64 per query, from 0 to 1.

    References
    ----------
    Buckley and Voorhees, Retrieval evaluation with incomplete information, SIGIR 2004, as trec_eval
    computes it.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame(
    ...     {"query_id": [1] * 3, "doc_id": ["a", "b", "c"], "score": [3, 2, 1], "label": [1, 0, 1]}
    ... )
    >>> df.rank.bpref()["bpref"].item()  # a: 1, c: 1 - 1/1
    0.5
    """
    above = pl.min_horizontal(r.nonrelevant_above, r.n_relevant)
    n_nonrelevant = r.count(r.nonrelevant)
    most = pl.min_horizontal(n_nonrelevant, r.n_relevant).clip(lower_bound=1)
    preferred = r.total(r.relevant * (1 - above / most))
    return preferred / r.n_relevant


@metric(
    "iprec_at_recall",
    display="Interpolated precision",
    spellings={"IPrec": {"rounding": "up"}},
    **SHARE,
)
def interpolated_precision(
    r: Ranking, recall: Proportion, *, rounding: Rounding = "nearest"
) -> pl.Expr:
    r"""Interpolated precision: the best precision at any rank with a recall of at least `recall`; 0
    if there is none.

    .. math:: \max_{i \,:\, h_i \ge \lfloor \mathrm{recall} \cdot R + 1/2 \rfloor} \frac{h_i}{i}

    Parameters
    ----------
    recall
        The recall level, from 0 to 1: recall * R relevant documents, rounded to a whole number.
    rounding
        ``"nearest"`` rounds half up, as trec_eval 10 does; ``"up"`` rounds up from one tenth on, as
        earlier versions do, and with them pytrec_eval and ir_measures.

    Returns
    -------
    One Float64 per query, from 0 to 1.

    References
    ----------
    trec_eval 10's ``iprec_at_recall``; ir_measures' ``IPrec``, which implies ``rounding=up``.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame(
    ...     {"query_id": [1] * 3, "doc_id": ["a", "b", "c"], "score": [3, 2, 1], "label": [0, 1, 1]}
    ... )
    >>> df.rank.interpolated_precision(0.5)[
    ...     "interpolated_precision@0.5"
    ... ].item()  # the best of 1/2 and 2/3
    0.6666666666666666
    """
    wanted = recall * r.n_relevant
    if rounding == "nearest":
        n_wanted = wanted.round(mode="half_away_from_zero")
    else:
        n_wanted = (wanted + 0.9).floor()
    precision = r.hits / r.rank
    reached = r.retrieved & (r.hits >= n_wanted)
    return r.largest(zero_unless(reached, precision))


@metric("11pt_avg", display="11pt avg", **SHARE)
def eleven_point_average(r: Ranking, *, rounding: Rounding = "nearest") -> pl.Expr:
    r"""Eleven-point average: the mean of the interpolated precision at recall 0, 0.1, ... 1.

    .. math:: \frac{1}{11} \sum_{t=0}^{10} \mathrm{iprec}(t / 10)

    Parameters
    ----------
    rounding
        As for ``interpolated_precision``.

    Returns
    -------
    One Float64 per query, from 0 to 1.

    References
    ----------
    trec_eval 10's ``11pt_avg``.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame(
    ...     {"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2.0, 1.0], "label": [0, 1]}
    ... )
    >>> df.rank.evaluate("11pt_avg")["eleven_point_average"].item()
    0.5
    """
    recalls = [tenth / 10 for tenth in range(11)]
    levels = [interpolated_precision(r, recall, rounding=rounding) for recall in recalls]
    return pl.sum_horizontal(levels) / 11


def _auc_judging(
    k: int | None = None, max_fpr: float | None = None, no_pairs: NoPairs = "null"
) -> Judging:
    return "threshold" if k is None and max_fpr is None and no_pairs == "null" else None


@metric(
    "area_under_curve",
    "roc_auc_score",
    display="AUC",
    bounds=(0, 1),
    judging=_auc_judging,
    gains_only=True,
)
def auc(
    r: Ranking,
    k: int | None = None,
    *,
    max_fpr: Annotated[float, Range(least=1e-100, most=1)] | None = None,
    no_pairs: NoPairs = "null",
) -> pl.Expr:
    r"""AUC: the share of pairs of a relevant and a non-relevant document in which the relevant one
    scores higher.

    Tied pairs count one half, whatever ``ties`` says. Documents without a judgment are non-relevant
    (``unjudged="drop"`` leaves them out); judged documents that were not retrieved rank below all
    others, tied.

    .. math:: \frac{1}{R (N - R)} \sum_{a} \sum_{b} \left([x_a > x_b] + \frac{1}{2} [x_a =
       x_b]\right)

    The sums run over relevant documents a and others b; `x` is the score.

    Parameters
    ----------
    k
        Count only the documents in the top `k`, with ties ordered by the tie rule; ``None`` counts
        all.
    max_fpr
        The greatest share of non-relevant documents to pass, above 0 and up to 1: the area under
        the ROC curve up to there, scaled so that a random order has 1/2 and the best one 1.
        ``None`` for the whole curve.
    no_pairs
        The value where all documents that count are relevant: ``"null"`` (scikit-learn's NaN),
        ``"zero"`` (torchmetrics, CatBoost) or ``"one"`` (RePlay). Of a query without a relevant
        document, ``no_relevant`` sets the value.

    Returns
    -------
    One Float64 per query, from 0 to 1; null where all documents that count are relevant, unless
    `no_pairs` is a number.

    References
    ----------
    Hanley and McNeil, The meaning and use of the area under a ROC curve, Radiology 143, 1982;
    McClish, Analyzing a portion of the ROC curve, Medical Decision Making 9(3), 1989;
    scikit-learn's ``roc_auc_score``; with `k`, torchmetrics' ``retrieval_auroc``.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame(
    ...     {"query_id": [1] * 3, "doc_id": ["a", "b", "c"], "score": [3, 2, 2], "label": [0, 1, 0]}
    ... )
    >>> df.rank.auc()["auc"].item()  # b loses to a and ties with c
    0.25
    """
    top = r.relevant if k is None else zero_unless(r.rank <= k, r.relevant)
    relevant = r.whole(top)
    n = r.n_candidates if k is None else n_shown(r, k)
    others = n - relevant
    if k is None and max_fpr is None:
        first, last = _tied(r)
        lost = r.whole(top * (first + last) / 2) - relevant * (relevant + 1) / 2
        area = relevant * others - lost
    else:
        limit = others if max_fpr is None else max_fpr * others
        area = _area_to(r, top, limit, k)
    share = area / (relevant * others)
    if max_fpr is not None:
        least = max_fpr**2 / 2
        share = (1 + (share - least) / (max_fpr - least)) / 2
    has_pairs = (others > 0) | (relevant == 0)
    return pl.when(has_pairs).then(share).otherwise(NO_PAIRS[no_pairs])


def _area_to(r: Ranking, top: pl.Expr, limit: pl.Expr, k: int | None) -> pl.Expr:
    """The area under the curve of the relevant documents in the `top`, up to `limit` others."""
    first, last = _tied(r)
    so_far = r.rows.so_far(top)
    above = r.rows.first_tied(so_far - top)
    above_or_tied = r.rows.last_tied(so_far)
    if k is not None:
        last = pl.min_horizontal(last, pl.lit(float(k)))
    # a relevant document lifts the curve between the non-relevant ones above it and those above
    # or tied
    start = first - 1 - above
    end = last - above_or_tied
    within = (limit - start) ** 2 / (2 * (end - start))
    whole = pl.when(limit >= end).then(limit - (start + end) / 2)
    under = whole.when(limit > start).then(within).otherwise(0.0)
    return r.whole(top * under)


@metric(
    "pauc",
    "PartialAUC",
    display="pAUC",
    bounds=(0, 1),
    judging="threshold",
    gains_only=True,
    spellings={"PAP": {"capped": True}},
)
def partial_auc(r: Ranking, negatives: Cutoff, *, capped: bool = False) -> pl.Expr:
    r"""Partial AUC: the share of pairs of a relevant document and one of the first `negatives`
    others that are in order.

    Documents that were not retrieved are below all of these others. ``auc(max_fpr=...)`` is the
    area up to a share.

    .. math:: \frac{1}{R K} \sum_{i=1}^{n} r_i \max(0, K - (i - h_i))

    `K` is `negatives`.

    Parameters
    ----------
    negatives
        The number of non-relevant documents, the first of the ranking, to compare with; also the
        divisor where there are fewer. A document without a judgment is one of them.
    capped
        Compare only the first `negatives` relevant documents, and divide by as many at most, so
        that it is precision for many relevant ones (RecTools' ``PAP``).

    Returns
    -------
    One Float64 per query, from 0 to 1.

    References
    ----------
    Budhiraja et al., Rich-item recommendations for rich-users, 2020; RecTools' ``PartialAUC`` and
    ``PAP``.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame(
    ...     {
    ...         "query_id": [1] * 4,
    ...         "doc_id": list("abcd"),
    ...         "score": [4, 3, 2, 1],
    ...         "label": [1, 0, 1, 0],
    ...     }
    ... )
    >>> df.rank.evaluate("partial_auc@2")["partial_auc@2"].item()  # a before b and d, c before d
    0.75
    """
    # a rank that is left out holds one of the others
    before = (negatives - r.rank + r.hits).clip(lower_bound=0)
    if not capped:
        return r.total(r.relevant * before) / (r.n_relevant * negatives)
    first = zero_unless(r.hits <= negatives, r.relevant)
    n_first = pl.min_horizontal(r.n_relevant, pl.lit(float(negatives)))
    return r.total(first * before) / (n_first * negatives)


@metric("opa", display="OPA", bounds=(0, 1))
def ordered_pair_accuracy(
    r: Ranking, *, tied: Proportion = 0.0, no_pairs: NoPairs = "null"
) -> pl.Expr:
    r"""Ordered pair accuracy: the share of pairs with different labels whose higher label has the
    higher score.

    Documents without a judgment have label 0 (``unjudged="drop"`` leaves them out); judged
    documents that were not retrieved rank below all others, tied.

    .. math:: \frac{\sum_{l_a > l_b} \left([x_a > x_b] + \mathrm{tied} \cdot [x_a =
       x_b]\right)}{\sum_{l_a > l_b} 1}

    The sums run over pairs of documents a and b; `l` is the label, `x` the score.

    Parameters
    ----------
    tied
        The value of a pair with equal scores: 0 (TF-Ranking), or 1/2, so that a random order has
        1/2 (CatBoost).
    no_pairs
        The value where no two documents differ in their labels: ``"null"``, ``"zero"`` (TF-Ranking,
        CatBoost) or ``"one"``.

    Returns
    -------
    One Float64 per query, from 0 to 1; null where no two documents differ in their labels, unless
    `no_pairs` is a number. ``relevant`` is not used.

    References
    ----------
    TF-Ranking's ``OPAMetric``; with ``tied=0.5``, CatBoost's ``QueryAUC:type=Ranking``.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame(
    ...     {"query_id": [1] * 3, "doc_id": ["a", "b", "c"], "score": [3, 2, 2], "label": [2, 0, 2]}
    ... )
    >>> found = df.rank.evaluate("opa", "opa(tied=0.5)")  # a is above b, c tied with it
    >>> found["ordered_pair_accuracy"].item(), found["ordered_pair_accuracy(tied=0.5)"].item()
    (0.5, 0.75)
    """
    pairs = r.rows.pairs(r.label, r.retrieved | r.judged)
    lost = pairs.inverted + (1 - tied) * pairs.tied
    accuracy = 1 - lost / pairs.unequal
    return accuracy.fill_nan(NO_PAIRS[no_pairs])  # 0 / 0 without pairs of different labels


@metric(
    "label_ranking_loss",
    display="Ranking loss",
    bounds=(0, 1),
    higher_is_better=False,
    spellings={
        name: {"tied": 0.5} for name in ("ndpm", "normalized_distance_based_performance_measure")
    },
)
def ranking_loss(r: Ranking, *, tied: Proportion = 1.0, no_pairs: NoPairs = "null") -> pl.Expr:
    r"""Ranking loss: the share of pairs with different labels whose higher label does not have the
    higher score.

    With ``tied=0.5`` it is NDPM, the normalised distance-based performance measure. It is 1 less
    the accuracy of ordered pairs, by the same documents.

    .. math:: \frac{\sum_{l_a > l_b} \left([x_a < x_b] + \mathrm{tied} \cdot [x_a =
       x_b]\right)}{\sum_{l_a > l_b} 1}

    Parameters
    ----------
    tied
        The loss of a pair with equal scores: 1 (scikit-learn), or 1/2, so that a random order has
        1/2 (NDPM).
    no_pairs
        The value where no two documents differ in their labels: ``"null"``, ``"zero"``
        (scikit-learn) or ``"one"``.

    Returns
    -------
    One Float64 per query, from 0 to 1; null where no two documents differ in their labels, unless
    `no_pairs` is a number. ``relevant`` is not used.

    References
    ----------
    Yao, Measuring retrieval effectiveness based on user preference of documents, JASIS 46(2), 1995;
    scikit-learn's ``label_ranking_loss``, for labels 0 and 1.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame(
    ...     {"query_id": [1] * 3, "doc_id": ["a", "b", "c"], "score": [3, 2, 2], "label": [2, 0, 2]}
    ... )
    >>> found = df.rank.evaluate("ranking_loss", "ndpm")  # a is above b, c tied with it
    >>> found["ranking_loss"].item(), found["ranking_loss(tied=0.5)"].item()
    (0.5, 0.25)
    """
    accuracy = ordered_pair_accuracy(r, tied=1 - tied)
    return pl.coalesce(1 - accuracy, pl.lit(NO_PAIRS[no_pairs]))


def _tied(r: Ranking) -> tuple[pl.Expr, pl.Expr]:
    """The first and the last rank of a document's score.

    Documents that were not retrieved tie below all others.
    """
    last = pl.min_horizontal(r.rows.tied_to, r.n_candidates)
    return r.rows.tied_from, last
