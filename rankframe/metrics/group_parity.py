"""Parity of exposure: what a group of documents gets, over what all others get, as the logarithm of the ratio."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import polars as pl

from .._catalog.registry import metric
from .._words.ranking import Gain, Range, Ranking, RankWeight
from .group_exposure import GroupName, in_group

__all__ = ["demographic_parity", "exposed_utility_ratio", "realized_utility_ratio"]

Smoothing: TypeAlias = Annotated[float, Range(least=0)]


def _is_ratio(absolute: bool = False, **_: object) -> bool:
    return not absolute


def _log_ratio(r: Ranking, group: GroupName, x: pl.Expr, over: pl.Expr, smoothing: float, absolute: bool) -> pl.Expr:
    """The log of the group's sum of `x` over its sum of `over`, less that of all others; null where it is not finite."""
    within = in_group(r, group)

    def of(member: pl.Expr) -> pl.Expr:
        divisor = r.whole((over * member).fill_null(0.0))
        return r.whole((x * member).fill_null(0.0)) / pl.when(divisor > 0).then(divisor) + smoothing

    one, other = of(within), of(1 - within)
    value = pl.when((one > 0) & (other > 0)).then(one.log() - other.log())
    return value.abs() if absolute else value


def _attention(r: Ranking, k: int | None, weight: RankWeight) -> pl.Expr:
    """The weight of each document's rank, 0.0 below `k` and for a document that was not retrieved."""
    return pl.when(r.listed(k)).then(r.weight_of_rank(weight)).otherwise(0.0)


@metric(
    "logDP",
    display="Demographic parity",
    bounds=(None, None),
    labels=False,
    needs=("group",),
    higher_is_better=_is_ratio,
    adds_up=False,
)
def demographic_parity(
    r: Ranking,
    k: int | None = None,
    *,
    group: GroupName,
    weight: RankWeight = "log2",
    smoothing: Smoothing = 0.0,
    absolute: bool = False,
) -> pl.Expr:
    r"""Demographic parity: how much more attention a document of a group gets than one of the others, as a log ratio.

    .. math:: \ln \frac{\frac{1}{|g|} \sum_{d \in g} w_d}{\frac{1}{|h|} \sum_{d \in h} w_d}

    The group g, often a minority, and all other documents with a group, h, are those of ``on(group=...)``, retrieved or
    not. The weight w of a document is that of its rank, 0 for one without a rank. 0 is parity, above 0 g gets more than h,
    at ln 2 twice as much; swapping g and h changes the sign.

    Parameters
    ----------
    k
        Ranks to count; ``None`` counts all. Documents below rank k get no attention.
    group
        The group g, by the text of its name, which the column must hold.
    weight
        As for ``group_exposure``.
    smoothing
        A number added to the numerator and to the denominator, as 0.000001, so that a group without attention has a value.
    absolute
        True for the distance from parity, whichever group gets more; lower values are better then. By default a higher
        value is better, for the group.

    Returns
    -------
    One Float64 per query, of any sign; null if g or h has no document, or if either gets no attention and `smoothing` is 0.

    References
    ----------
    Singh and Joachims, Fairness of exposure in rankings, KDD 2018; as logDP: Raj and Ekstrand, Measuring fairness in ranked
    results, SIGIR 2022, whose code adds 0.000001, divides by the weights and sums up a group's attention in place of its mean.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2, 1], "by": ["M", "F"]})
    >>> ranker = df.rank.on(group="by")
    >>> round(ranker.metrics.demographic_parity(group="F", weight=0.5)["demographic_parity(group=F,weight=0.5)"].item(), 6)   # ln 1/2
    -0.693147
    """
    return _log_ratio(r, group, _attention(r, k, weight), pl.lit(1.0), smoothing, absolute)


@metric(
    "logEUR",
    display="Exposed utility ratio",
    bounds=(None, None),
    needs=("group",),
    higher_is_better=_is_ratio,
    adds_up=False,
)
def exposed_utility_ratio(
    r: Ranking,
    k: int | None = None,
    *,
    group: GroupName,
    weight: RankWeight = "log2",
    gain: Gain = "linear",
    smoothing: Smoothing = 0.0,
    absolute: bool = False,
) -> pl.Expr:
    r"""Exposed utility ratio: how much more attention per utility a group of documents gets than the others, as a log ratio.

    .. math:: \ln \frac{\sum_{d \in g} w_d / \sum_{d \in g} u_d}{\sum_{d \in h} w_d / \sum_{d \in h} u_d}

    The groups g and h and the weight w are those of ``demographic_parity``. The utility of a group is the mean gain u of
    its documents; the numbers of documents cancel out. 0 is equal treatment: attention is in proportion to utility.

    Parameters
    ----------
    k, group, weight, absolute
        As for ``demographic_parity``.
    gain
        The utility of a document, as for ``cg``; by default its label.
    smoothing
        As for ``demographic_parity``; added to the quotient of each group.

    Returns
    -------
    One Float64 per query, of any sign; null if g or h has no utility, or if either gets no attention and `smoothing` is 0.

    References
    ----------
    Singh and Joachims, Fairness of exposure in rankings, KDD 2018, the logarithm of their disparate treatment ratio; as
    logEUR: Raj and Ekstrand, Measuring fairness in ranked results, SIGIR 2022.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame(
    ...     {"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2, 1], "label": [2, 1], "by": ["M", "F"]}
    ... )
    >>> ranker = df.rank.on(group="by")                                # half of the attention for half of the utility
    >>> ranker.metrics.exposed_utility_ratio(group="F", weight=0.5)["exposed_utility_ratio(group=F,weight=0.5)"].item()
    0.0
    """
    return _log_ratio(r, group, _attention(r, k, weight), r.gain(gain), smoothing, absolute)


@metric(
    "logRUR",
    display="Realized utility ratio",
    bounds=(None, None),
    needs=("group",),
    higher_is_better=_is_ratio,
    adds_up=False,
)
def realized_utility_ratio(
    r: Ranking,
    k: int | None = None,
    *,
    group: GroupName,
    weight: RankWeight = "log2",
    gain: Gain = "linear",
    smoothing: Smoothing = 0.0,
    absolute: bool = False,
) -> pl.Expr:
    r"""Realized utility ratio: how much more of its utility reaches readers for a group than for the others, as a log ratio.

    .. math:: \ln \frac{\sum_{d \in g} w_d u_d / \sum_{d \in g} u_d}{\sum_{d \in h} w_d u_d / \sum_{d \in h} u_d}

    The groups g and h, the weight w and the utility u are those of ``exposed_utility_ratio``. If readers click by attention
    and utility, w u is the expected number of clicks. 0 is equal impact: clicks are in proportion to utility.

    Parameters
    ----------
    k, group, weight, gain, smoothing, absolute
        As for ``exposed_utility_ratio``.

    Returns
    -------
    One Float64 per query, of any sign; null if g or h has no utility, or if no utility of either gets attention and
    `smoothing` is 0.

    References
    ----------
    Singh and Joachims, Fairness of exposure in rankings, KDD 2018, the logarithm of their disparate impact ratio; as
    logRUR: Raj and Ekstrand, Measuring fairness in ranked results, SIGIR 2022.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame(
    ...     {"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2, 1], "label": [2, 1], "by": ["M", "F"]}
    ... )
    >>> found = df.rank.on(group="by").metrics.realized_utility_ratio(group="F", weight="equal")        # all get all attention
    >>> found["realized_utility_ratio(group=F,weight=equal)"].item()
    0.0
    """
    utility = r.gain(gain)
    return _log_ratio(r, group, _attention(r, k, weight) * utility, utility, smoothing, absolute)
