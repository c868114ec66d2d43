"""Readers who stop: ERR, PFound and rank-biased precision, which model a reader who goes down the
list.
"""

from __future__ import annotations

import polars as pl

from .._catalog.registry import FromClicks, Judging, metric
from .._words.ranking import (
    ChanceGain,
    MaxLabel,
    Persistence,
    Proportion,
    Ranking,
    ShareGain,
    is_number,
    zero_unless,
)

__all__ = ["err", "nerr", "pfound", "rbp"]


def _judging(
    k: int | None = None, gain: ChanceGain = "exponential", max_label: MaxLabel = None
) -> Judging:
    fixed = is_number(max_label) and isinstance(gain, str)
    return "monotone" if fixed else None  # else the top of the scale depends on the judgments


@metric("expected_reciprocal_rank", display="ERR", bounds=(0, 1), judging=_judging, gains_only=True)
def err(
    r: Ranking,
    k: int | None = None,
    *,
    gain: ChanceGain = "exponential",
    max_label: MaxLabel = None,
) -> pl.Expr:
    r"""Expected reciprocal rank: the mean of 1 / rank at which a reader is satisfied and stops.

    .. math:: \sum_{i=1}^{k} \frac{g_i}{i} \prod_{j=1}^{i-1} (1 - g_j)

    Here `g` is the probability that a document satisfies the reader.

    Parameters
    ----------
    k
        Ranks to count; ``None`` counts all.
    gain
        The probability that a document with label l satisfies: ``"exponential"`` (2^l - 1) /
        2^max_label, ``"linear"`` l / max_label, ``"binary"`` 1 if it is relevant, a mapping
        ``{label: probability}``, or a Polars expression over the table's columns.
    max_label
        The top of the label scale: a number, ``"query"`` for the largest label of each query, or
        ``None`` for the largest label of the table, with a warning that names it, since a query's
        value then depends on the others. Give a number to compare results of different tables, and
        in ``rf.expr``, which sees one query at a time. Used by ``"exponential"`` and ``"linear"``
        only.

    Returns
    -------
    One Float64 per query, from 0 to 1.

    References
    ----------
    Chapelle, Metzler, Zhang and Grinspan, Expected reciprocal rank for graded relevance, CIKM 2009;
    with ``gain="linear"`` and ``max_label=1``, CatBoost's ``ERR``.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame(
    ...     {"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2.0, 1.0], "label": [1, 2]}
    ... )
    >>> df.rank.err(max_label=2)["err(max_label=2)"].item()  # 1/4 + (1/2) (3/4) (1 - 1/4)
    0.53125
    >>> df.rank.err(gain={1: 0.5, 2: 1})["err(gain={1:0.5,2:1})"].item()  # 1/2 + (1/2) 1 (1 - 1/2)
    0.75
    """
    stops = r.stops(_satisfied(r, gain, max_label))
    return r.total(stops, k, over=r.rank)


@metric("normalized_err", "normalised_err", display="nERR", bounds=(0, 1), gains_only=True)
def nerr(
    r: Ranking,
    k: int | None = None,
    *,
    gain: ChanceGain = "exponential",
    max_label: MaxLabel = None,
) -> pl.Expr:
    r"""Normalised ERR: the ERR of the ranking over that of the best order of all judged documents.

    .. math:: \frac{\mathrm{ERR}@k}{\mathrm{ERR}^*@k}

    The star marks the best order.

    Parameters
    ----------
    k
        Ranks to count, in the ranking and in the best order; ``None`` counts all.
    gain
        The probability that a document satisfies, as for ``err``.
    max_label
        The top of the label scale, as for ``err``.

    Returns
    -------
    One Float64 per query, from 0 to 1.

    References
    ----------
    ``torch_nerr_at_k`` of PT-Ranking, but over all judged documents; NTCIREVAL's ``nERR`` with
    gains 2^l - 1, where a document satisfies with the probability of its gain over the largest gain
    + 1.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame(
    ...     {"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2.0, 1.0], "label": [0, 1]}
    ... )
    >>> df.rank.metrics.nerr(max_label=1)["nerr(max_label=1)"].item()  # (1/2) (1/2) over 1/2
    0.5
    """
    of_ranking = err(r, k, gain=gain, max_label=max_label)
    return of_ranking / err(r.ideal(gain), k, gain=gain, max_label=max_label)


def _pfound_judging(
    k: int | None = None, decay: float = 0.85, gain: ChanceGain = "linear", max_label: MaxLabel = 1
) -> Judging:
    return _judging(k, gain, max_label)


@metric("PFound", display="pFound", bounds=(0, 1), judging=_pfound_judging, gains_only=True)
def pfound(
    r: Ranking,
    k: int | None = None,
    *,
    decay: Proportion = 0.85,
    gain: ChanceGain = "linear",
    max_label: MaxLabel = 1,
) -> pl.Expr:
    r"""PFound: the probability that a reader is satisfied, who until then goes on with probability
    `decay`.

    .. math:: \sum_{i=1}^{k} \mathrm{decay}^{\,i-1} \, g_i \prod_{j=1}^{i-1} (1 - g_j)

    Here `g` is the probability that a document satisfies the reader.

    Parameters
    ----------
    k
        Ranks to count; ``None`` counts all.
    decay
        The probability that a reader who is not yet satisfied looks at the next document, from 0 to
        1.
    gain
        The probability that a document with label l satisfies: ``"linear"`` l / max_label, which is
        the label itself if labels are probabilities; or as for ``err``.
    max_label
        The top of the label scale: a number, ``"query"`` for the largest label of each query, or
        ``None`` for the largest label of the table, with a warning that names it. Used by
        ``"linear"`` and ``"exponential"`` only.

    Returns
    -------
    One Float64 per query, from 0 to 1.

    References
    ----------
    Gulin, Karpovich, Raskovalov and Segalovich, Yandex at ROMIP'2009: optimization of ranking
    algorithms by machine learning methods, 2009; CatBoost's ``PFound``.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame(
    ...     {"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2.0, 1.0], "label": [0.5, 1]}
    ... )
    >>> df.rank.pfound(decay=0.8)["pfound(decay=0.8)"].item()  # 0.5 + (1 - 0.5) 0.8 x 1
    0.9
    """
    stops = r.stops(_satisfied(r, gain, max_label))
    return r.total(stops, k, weight=decay ** (r.rank - 1))


def _satisfied(r: Ranking, gain: ChanceGain, max_label: MaxLabel) -> pl.Expr:
    """The probability that each document satisfies the reader."""
    worth = r.gain(gain)
    if isinstance(gain, pl.Expr):
        says = (
            "a gain is above 1; here it is the probability that a document satisfies, from 0 to 1"
        )
        r.refuse(worth > 1, says)
    if not isinstance(gain, str) or gain == "binary":
        return worth
    top = _top_label(r, max_label)
    if gain == "exponential":
        return worth / 2.0**top
    return zero_unless(worth > 0, worth / top)


def _top_label(r: Ranking, max_label: MaxLabel) -> pl.Expr:
    """The top of the scale of labels; labels above one that is given are refused."""
    if max_label is None:
        return r.largest_label_of_table
    if max_label == "query":
        return r.largest_label
    says = (
        f"a label is above max_label={max_label}; give the top of the label scale, as "
        "max_label=4, or the probability of each label, as gain={1: 0.5, 2: 1}"
    )
    r.refuse(r.label > max_label, says)
    return pl.lit(float(max_label))


def _is_scaled(gain: ShareGain) -> bool:
    """Whether gains are shares of the largest label, which depend on the judgments."""
    return isinstance(gain, str) and gain == "scaled"


def _rbp_judging(k: int | None = None, p: float = 0.8, gain: ShareGain = None) -> Judging:
    return None if _is_scaled(gain) else "monotone"


def _rbp_from_clicks(k: int | None = None, p: float = 0.8, gain: ShareGain = None) -> FromClicks:
    return None if _is_scaled(gain) else "sum"


@metric(
    "rank_biased_precision",
    display="RBP",
    bounds=(0, 1),
    beyond=("gain=linear",),
    dot="p",
    judging=_rbp_judging,
    gains_only=True,
    from_clicks=_rbp_from_clicks,
)
def rbp(
    r: Ranking, k: int | None = None, *, p: Persistence = 0.8, gain: ShareGain = None
) -> pl.Expr:
    r"""Rank-biased precision: the rate at which a reader who goes on with probability `p` finds
    relevant documents.

    .. math:: (1 - p) \sum_{i=1}^{k} p^{\,i-1} g_i

    Parameters
    ----------
    k
        Ranks to count; ``None`` counts all.
    p
        The reader's persistence, between 0 and 1. The default, 0.8, is ir_measures'; trec_eval's is
        0.9.
    gain
        ``None`` for 1 if a document is relevant, else 0; ``{label: gain}`` or a Polars expression
        over the table's columns for gains from 0 to 1; ``"linear"`` for the label itself, as in
        ranx, so that labels above 1 give values beyond the range; ``"scaled"`` for the label over
        the query's largest if that is above 1, as in trec_eval 10.

    Returns
    -------
    One Float64 per query, from 0 to 1; it stays below 1, since ranks that were not retrieved count
    as 0.

    References
    ----------
    Moffat and Zobel, Rank-biased precision for measurement of retrieval effectiveness, ACM TOIS
    27(1), 2008.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame(
    ...     {"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2.0, 1.0], "label": [1, 1]}
    ... )
    >>> df.rank.rbp(p=0.5)["rbp(p=0.5)"].item()  # (1 - 0.5) (1 + 0.5)
    0.75
    """
    if isinstance(gain, pl.Expr):
        says = "a gain is above 1; rank-biased precision takes gains from 0 to 1"
        r.refuse(r.gain(gain) > 1, says)
    if gain is None:
        worth = r.weighed(r.relevant)
    elif isinstance(gain, str) and gain == "scaled":
        worth = r.label / pl.max_horizontal(r.largest_label, 1.0)
    else:
        worth = r.weighed(r.gain(gain))
    value = (1 - p) * r.total(worth, k, weight=p ** (r.rank - 1))
    may_exceed = r.weight is not None or (isinstance(gain, str) and gain == "linear")
    if may_exceed:
        return value
    return value.clip(upper_bound=1.0)  # rounding may give a little more than 1
