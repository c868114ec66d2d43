"""trec_eval's own measures: measures that no other tool has, as its source code defines them."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

import polars as pl

from .._catalog.registry import metric
from .._words.ranking import Gain, Persistence, Range, Ranking, zero_unless
from .gain import dcg
from .order import average_precision, bpref

__all__ = [
    "bin_g",
    "g",
    "gm_bpref",
    "gm_map",
    "ideal_dcg",
    "ndcg_rel",
    "num_nonrel_judged_ret",
    "r_precision_multiple",
    "rbp_resid",
    "relstring",
    "rndcg",
    "unjudged",
    "utility",
    "yaap",
]

SMALLEST = 1e-5
"""The least value that enters a geometric mean."""

GEOMETRIC: Any = {
    "bounds": (SMALLEST, 1),
    "summary": "geometric mean",
    "adds_up": False,
    "judging": "threshold",
    "gains_only": True,
}

Utility: TypeAlias = Annotated[float, Range(least=-1e100, most=1e100)]


@metric(summary="sum", higher_is_better=False, judging="monotone", gains_only=True)
def num_nonrel_judged_ret(r: Ranking) -> pl.Expr:
    r"""The number of retrieved documents that were judged non-relevant; summed over the queries.

    .. math:: \sum_{i=1}^{n} (1 - r_i) (1 - u_i)

    Returns
    -------
    One Float64 per query, a whole number from 0 on.

    References
    ----------
    trec_eval's ``num_nonrel_judged_ret``.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame(
    ...     {
    ...         "query_id": [1] * 3,
    ...         "doc_id": ["a", "b", "c"],
    ...         "score": [3, 2, 1],
    ...         "label": [0, None, 1],
    ...     }
    ... )
    >>> df.rank.metrics.num_nonrel_judged_ret()["num_nonrel_judged_ret"].item()
    1.0
    """
    return r.count(r.retrieved & r.nonrelevant)


@metric(
    "unj",
    text="unj",
    display="Unjudged",
    bounds=(0, 1),
    higher_is_better=False,
    judging="monotone",
    from_clicks="same",
)
def unjudged(r: Ranking, k: int | None = None) -> pl.Expr:
    r"""The share of unjudged documents in the top `k`; the divisor is `k` even where fewer were
    retrieved.

    .. math:: \frac{1}{k} \sum_{i=1}^{k} u_i

    Parameters
    ----------
    k
        Ranks to count; ``None`` counts all that were retrieved, and divides by their number.

    Returns
    -------
    One Float64 per query, from 0 to 1.

    References
    ----------
    trec_eval 10's ``unj``.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame(
    ...     {"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2, 1], "label": [0, None]}
    ... )
    >>> df.rank.evaluate("unj@5")["unj@5"].item()
    0.2
    """
    return r.total(r.unjudged, k) / r.depth(k)


@metric("Rprec_mult", display="Rprec mult", bounds=(0, 1), judging="threshold", gains_only=True)
def r_precision_multiple(r: Ranking, multiple: Annotated[float, Range(above=0)]) -> pl.Expr:
    r"""Precision at a multiple of R: at rank floor(multiple x R + 0.9), where R documents are
    relevant.

    .. math:: \frac{h_m}{m}, \quad m = \lfloor \mathrm{multiple} \cdot R + 0.9 \rfloor

    Parameters
    ----------
    multiple
        The factor of R, above 0.

    Returns
    -------
    One Float64 per query, from 0 to 1; 0 where that rank is 0.

    References
    ----------
    trec_eval's ``Rprec_mult``.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame(
    ...     {"query_id": [1] * 3, "doc_id": ["a", "b", "c"], "score": [3, 2, 1], "label": [1, 0, 1]}
    ... )
    >>> df.rank.evaluate("Rprec_mult_0.50")[
    ...     "r_precision_multiple@0.5"
    ... ].item()  # at rank floor(0.5 x 2 + 0.9) = 1
    1.0
    """
    rank = (multiple * r.n_relevant + 0.9).floor()
    return r.total(r.relevant, rank) / rank


@metric(
    display="Utility",
    bounds=(None, None),
    dot="relevant_retrieved,nonrelevant_retrieved,relevant_missed,nonrelevant_missed",
    judging="threshold",
)
def utility(
    r: Ranking,
    *,
    relevant_retrieved: Utility = 1,
    nonrelevant_retrieved: Utility = -1,
    relevant_missed: Utility = 0,
    nonrelevant_missed: Utility = 0,
) -> pl.Expr:
    r"""Utility: the sum of the values that you give to each retrieved and missed document.

    .. math:: a \, h_n + b \, (n - h_n) + c \, (R - h_n) + d \, (M - n - R + h_n)

    `a` to `d` are the four options in their order, `M` is `collection_size`.

    Parameters
    ----------
    relevant_retrieved
        The worth of each relevant document that was retrieved; like the others from -1e100 to
        1e100.
    nonrelevant_retrieved
        The worth of each other document that was retrieved, judged or not.
    relevant_missed
        The worth of each relevant document that was not retrieved.
    nonrelevant_missed
        The worth of each other document of the collection that was not retrieved;
        ``on(collection_size=...)`` sets the size of the collection; without it the size is 0, as in
        trec_eval.

    Returns
    -------
    One Float64 per query, of any sign.

    References
    ----------
    trec_eval's ``utility``, whose ``-m utility.1,-1,0,0`` gives the four in this order.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame(
    ...     {"query_id": [1] * 3, "doc_id": ["a", "b", "c"], "score": [3, 2, 1], "label": [1, 0, 1]}
    ... )
    >>> found = df.rank.evaluate("utility", "utility.2,-1,0,0")
    >>> found["utility"].item(), found["utility(relevant_retrieved=2)"].item()
    (1.0, 3.0)
    """
    hits = r.whole(zero_unless(r.retrieved, r.relevant))
    missed = r.n_relevant - hits
    nonrelevant = r.n_retrieved - hits
    rest = (r.collection_size or 0) + hits - r.n_retrieved - r.n_relevant
    of_retrieved = relevant_retrieved * hits + nonrelevant_retrieved * nonrelevant
    return of_retrieved + relevant_missed * missed + nonrelevant_missed * rest


@metric(bounds=(None, None), adds_up=False, judging="threshold", gains_only=True)
def yaap(r: Ranking) -> pl.Expr:
    r"""Yet another average precision: ln((1 + S) / (1 + R - S)), S the sum of the precisions at
    relevant documents.

    .. math:: \ln \frac{1 + S}{1 + R - S}, \quad S = \sum_{i=1}^{n} r_i \frac{h_i}{i}

    Returns
    -------
    One Float64 per query, of any sign; 0 where no document is relevant.

    References
    ----------
    Robertson, On smoothing average precision, ECIR 2012; trec_eval's ``yaap``.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame(
    ...     {"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2, 1], "label": [1, 0]}
    ... )
    >>> round(df.rank.metrics.yaap()["yaap"].item(), 4)  # ln(2 / 1)
    0.6931
    """
    s = r.total(r.hits_at_relevant, over=r.rank)
    return ((1 + s) / (1 + r.n_relevant - s)).log()


@metric(bounds=(0, 1), dot="p", higher_is_better=False, judging="monotone", from_clicks="same")
def rbp_resid(r: Ranking, *, p: Persistence = 0.9) -> pl.Expr:
    r"""The most that judging the unjudged documents, and all below the ranking, could add to
    rank-biased precision.

    It is 0 if every retrieved document is judged, although further documents could follow.

    .. math:: (1 - p) \sum_{i=1}^{n} p^{\,i-1} u_i + p^{\,n}

    Parameters
    ----------
    p
        The reader's persistence, between 0 and 1.

    Returns
    -------
    One Float64 per query, from 0 to 1.

    References
    ----------
    trec_eval 10's ``rbp_resid``.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame(
    ...     {"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2, 1], "label": [1, None]}
    ... )
    >>> df.rank.metrics.rbp_resid(p=0.5)["rbp_resid(p=0.5)"].item()  # 1/4 at rank 2, 1/4 below
    0.5
    """
    r.need_every_rank()
    below = pl.lit(float(p)) ** r.n_retrieved
    weight = p ** (r.rank - 1)
    unknown = r.whole(zero_unless(r.retrieved, r.unjudged * weight))
    residual = below + (1 - p) * unknown
    n_unjudged = r.count(r.retrieved & ~r.judged)
    return zero_unless(n_unjudged > 0, residual.clip(upper_bound=1.0))


@metric("gmap", display="GM-MAP", **GEOMETRIC)
def gm_map(r: Ranking) -> pl.Expr:
    r"""Average precision, but at least 0.00001, so that its geometric mean over the queries is
    above 0.

    .. math:: \max(\mathrm{AP}, 0.00001)

    Returns
    -------
    One Float64 per query, from 0.00001 to 1, of which ``summarize`` takes the geometric mean;
    pytrec_eval returns the logarithm.

    References
    ----------
    Robertson, On GMAP, CIKM 2006; trec_eval's ``gm_map``.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame(
    ...     {"query_id": [1, 2], "doc_id": ["a", "a"], "score": [1, 1], "label": [1, 0]}
    ... )
    >>> round(df.rank.mean("gm_map")["gm_map"].item(), 6)  # the root of 1 x 0.00001
    0.003162
    """
    value = average_precision(r).fill_nan(0.0)
    return pl.max_horizontal(value, SMALLEST)


@metric(display="GM-bpref", **GEOMETRIC)
def gm_bpref(r: Ranking) -> pl.Expr:
    r"""bpref, but at least 0.00001, so that its geometric mean over the queries is above 0.

    .. math:: \max(\mathrm{bpref}, 0.00001)

    Returns
    -------
    One Float64 per query, from 0.00001 to 1; ``summarize`` takes the geometric mean.

    References
    ----------
    trec_eval's ``gm_bpref``.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({"query_id": [1], "doc_id": ["a"], "score": [1], "label": [0]})
    >>> df.rank.metrics.gm_bpref()["gm_bpref"].item()
    1e-05
    """
    value = bpref(r).fill_nan(0.0)
    return pl.max_horizontal(value, SMALLEST)


@metric(bounds=(None, None), dtype=pl.String())
def relstring(r: Ranking, k: Annotated[int, Range(least=1, most=1000)] = 10) -> pl.Expr:
    """The labels of the top `k` as one letter each, in rank order.

    A digit is the label, ``>`` a label above 9, ``-`` a document without a label, ``.`` one with a
    negative label.

    Parameters
    ----------
    k
        Ranks to show, at most 1000.

    Returns
    -------
    One String per query, `k` letters long, or as many as there are ranks.

    References
    ----------
    trec_eval's ``relstring``.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame(
    ...     {
    ...         "query_id": [1] * 3,
    ...         "doc_id": ["a", "b", "c"],
    ...         "score": [3, 2, 1],
    ...         "label": [1, None, 12],
    ...     }
    ... )
    >>> df.rank.metrics.relstring()["relstring"].item()
    '1->'
    """
    # Thirteen letters at a time are digits of one float until there is one per query, as texts are
    # slow.
    digit = pl.when(r.raw > 9).then(10.0).otherwise(r.label.floor())
    unjudged = pl.when(r.raw.is_null()).then(12.0).when(r.raw < 0).then(11.0)
    number = 1 + unjudged.otherwise(digit)
    place = pl.when(r.retrieved).then(r.rows.place)  # tied documents may have one rank
    letters = []
    for first in range(1, k + 1, 13):
        last = min(first + 12, k)
        is_here = place.is_between(first, last)
        digits = r.whole(zero_unless(is_here, number * (16.0 ** (last - place))))
        for rank in range(first, last + 1):
            shifted = (digits / 16.0 ** (last - rank)).floor()
            letters.append(_letter((shifted % 16).cast(pl.Int64)))
    return pl.concat_str(letters, ignore_nulls=True)


def _letter(number: pl.Expr) -> pl.Expr:
    """The letter of a number from 1 on, null for 0."""
    letter = pl.lit("0123456789>.-").str.slice(number - 1, 1)
    return pl.when(number > 0).then(letter)


@metric("binG", display="binG", bounds=(0, 1), judging="threshold", gains_only=True)
def bin_g(r: Ranking) -> pl.Expr:
    r"""binG: the mean over the relevant documents of 1 / log2(2 + documents above that are not
    relevant).

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
    >>> df = pl.DataFrame(
    ...     {"query_id": [1] * 3, "doc_id": ["a", "b", "c"], "score": [3, 2, 1], "label": [0, 0, 1]}
    ... )
    >>> df.rank.metrics.bin_g()["bin_g"].item()  # 1 / log2(2 + 2)
    0.5
    """
    discounted = r.total(r.relevant, over=(2 + r.misses).log(2))
    return discounted / r.n_relevant


@metric(display="G")
def g(r: Ranking, *, gain: Gain = "linear") -> pl.Expr:
    r"""G: each gain discounted by the gain that was missed down to its rank.

    The gain at rank i is divided by log2(2 + cost - gain), with cost and gain summed down to i; the
    cost of a rank is the ideal ranking's gain there, but at least 1. The sum over the ranks is
    divided by the ideal ranking's gain.

    .. math:: \frac{1}{\sum_i g^*_i} \sum_{i=1}^{n} \frac{g_i}{\log_2\left(2 + \sum_{j=1}^{i}
       (\max(g^*_j, 1) - g_j)\right)}

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
    >>> df = pl.DataFrame(
    ...     {"query_id": [1] * 3, "doc_id": ["a", "b", "c"], "score": [3, 2, 1], "label": [0, 0, 2]}
    ... )
    >>> round(df.rank.metrics.g()["g"].item(), 4)  # 1 / log2(2 + (2 + 1 + 1) - 2)
    0.5
    """
    best = r.ideal(gain)
    worth = r.gain(gain)
    best_worth = pl.max_horizontal(best.gain(gain), 1.0)
    missed = r.so_far(best_worth - worth)
    discounted = r.total(worth, over=(2 + missed).log(2))
    return discounted / r.whole(worth)


@metric("ndcg_rel", display="nDCG-rel", bounds=(0, 1))
def ndcg_rel(r: Ranking, *, gain: Gain = "linear") -> pl.Expr:
    r"""NDCG averaged over the ranks of the documents with gain; those not retrieved count as at the
    last rank.

    .. math:: \frac{1}{m} \left(\sum_{i=1}^{n} [g_i > 0] \, \mathrm{nDCG}@i + (m - m_n) \,
       \mathrm{nDCG}\right)

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
    >>> df = pl.DataFrame(
    ...     {"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2.0, None], "label": [1, 1]}
    ... )
    >>> round(
    ...     df.rank.metrics.ndcg_rel()["ndcg_rel"].item(), 4
    ... )  # 1 at rank 1, 1 / (1 + 1 / log2(3)) at the end
    0.8066
    """
    ndcg, last = _down_the_ranks(r, gain)
    has_gain = r.gain(gain) > 0
    is_found = has_gain & r.retrieved
    m = r.whole(has_gain.cast(pl.Float64))
    missing = m - r.whole(is_found.cast(pl.Float64))
    at_gains = r.whole(zero_unless(is_found, ndcg))
    return (at_gains + missing * last) / m


@metric("Rndcg", display="RnDCG", bounds=(0, 1))
def rndcg(r: Ranking, *, gain: Gain = "linear") -> pl.Expr:
    r"""Rndcg: nDCG averaged over the ranks at which the ideal ranking's gain falls.

    If the ranking goes on for more than one document after the ideal ranking's last gain, its end
    counts as well.

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
    >>> df = pl.DataFrame(
    ...     {"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2, 1], "label": [1, 2]}
    ... )
    >>> round(
    ...     df.rank.metrics.rndcg()["rndcg"].item(), 4
    ... )  # 1 / 2 at rank 1, 2.2619 / 2.6309 at rank 2
    0.6799
    """
    ndcg, last = _down_the_ranks(r, gain)
    level = r.ideal(gain).gain(gain)
    falls = level > r.below(level, 0.0)
    at_falls = r.whole(zero_unless(falls, ndcg))
    n_falls = r.whole(falls.cast(pl.Float64))
    n_gains = r.whole((r.gain(gain) > 0).cast(pl.Float64))
    is_longer = r.n_retrieved > n_gains + 1
    total = at_falls + zero_unless(is_longer, last)
    mean = total / (n_falls + is_longer.cast(pl.Float64))
    return zero_unless(r.n_relevant > 0, mean)


def _down_the_ranks(r: Ranking, gain: Gain) -> tuple[pl.Expr, pl.Expr]:
    """The nDCG down to each rank, and at the end."""
    r.need_every_rank()
    best = r.ideal(gain)
    discounted = zero_unless(r.retrieved, r.gain(gain) / (r.rank + 1).log(2))
    ideal = best.gain(gain) / (best.rank + 1).log(2)
    so_far = r.so_far(discounted) / r.so_far(ideal)
    at_end = r.whole(discounted) / r.whole(ideal)
    return so_far, at_end


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
    >>> df = pl.DataFrame(
    ...     {"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2.0, None], "label": [0, 3]}
    ... )
    >>> df.rank.metrics.ideal_dcg()["ideal_dcg"].item()
    3.0
    """
    return dcg(r.ideal(gain), k, gain=gain)
