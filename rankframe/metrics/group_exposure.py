"""Fairness of exposure: how the attention that a ranking gives to its documents is shared among
groups of them.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

import polars as pl

from .._catalog.registry import metric
from .._words.ranking import (
    Gain,
    Proportion,
    Range,
    Ranking,
    RankWeight,
    ValueOf,
    quotient,
    zero_unless,
)
from ..errors import InvalidOption

__all__ = [
    "awrf",
    "demographic_parity",
    "exposed_utility_ratio",
    "group_exposure",
    "ndkl",
    "realized_utility_ratio",
    "rkl",
    "rnd",
    "rrd",
]

GroupName: TypeAlias = Annotated[str | int, ValueOf("group")]
Inner: TypeAlias = Annotated[float, Range(above=0, below=1)]


def in_group(r: Ranking, group: GroupName) -> pl.Expr:
    """1.0 for a document of the group, 0.0 for one of another group, null for one without a
    group.
    """
    return (r.group == str(group)).cast(pl.Float64)


@metric(display="Group exposure", bounds=(0, 1), labels=False, needs=("group",))
def group_exposure(
    r: Ranking, k: int | None = None, *, group: GroupName, weight: RankWeight = "log2"
) -> pl.Expr:
    r"""Group exposure: the share of a group of documents in the attention that the ranks get.

    .. math:: \frac{\sum_{i=1}^{k} w_i [i \in g]}{\sum_{i=1}^{k} w_i}

    ``on(group=...)`` names the column of the documents' groups; a document without a group is in
    none.

    Parameters
    ----------
    k
        Ranks to count; ``None`` counts all.
    group
        The group, by the text of its name, which the column must hold.
    weight
        The weight w of rank i: ``"log2"``, 1 / log2(i + 1); ``"equal"``; or a number p between 0
        and 1, p^(i - 1).

    Returns
    -------
    One Float64 per query, from 0 to 1; null for an empty list.

    References
    ----------
    Singh and Joachims, Fairness of exposure in rankings, KDD 2018; Biega et al., Equity of
    attention, SIGIR 2018.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame(
    ...     {"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2, 1], "by": ["M", "F"]}
    ... )
    >>> df.rank.on(group="by").group_exposure(group="F", weight=0.5)[
    ...     "group_exposure(group=F,weight=0.5)"
    ... ].item()
    0.3333333333333333
    >>> df.rank.on(group="by").group_exposure(group="F", weight="equal")[
    ...     "group_exposure(group=F,weight=equal)"
    ... ].item()
    0.5
    """
    weights = r.weight_of_rank(weight)
    divisor = r.divided_by(pl.lit(1.0), k, over=1 / weights)
    within = in_group(r, group).fill_null(0.0)
    exposure = r.total(within, k, weight=weights)
    return exposure / pl.when(divisor > 0).then(divisor)


def _is_similarity(distance: str = "abs", **_: object) -> bool:
    return distance == "jsd"


@metric(
    display="AWRF",
    bounds=(0, 1),
    labels=False,
    needs=("group",),
    higher_is_better=_is_similarity,
    adds_up=False,
)
def awrf(
    r: Ranking,
    k: int | None = None,
    *,
    group: GroupName | None = None,
    target: Literal["documents", "equal"] | Proportion = "documents",
    distance: Literal["abs", "jsd"] = "abs",
    weight: RankWeight = "log2",
) -> pl.Expr:
    r"""Attention-weighted rank fairness: how far the groups' exposure is from a target.

    .. math:: \frac{1}{2} \sum_g |E_g - t_g|

    The exposure E is a group's share of the weights of all ranks whose documents have a group,
    which ``on(group=...)`` names.

    Parameters
    ----------
    k
        Ranks to count; ``None`` counts all.
    group
        The group to compare with all others, by the text of its name, which the column must hold;
        ``None`` takes each group by itself.
    target
        The share that a group should have: ``"documents"``, its share of the query's documents,
        retrieved or not; ``"equal"``, the same for each group of the query; or a number, for
        `group`.
    distance
        ``"abs"``, half the sum of the absolute differences, which is that of one group among two, 0
        at best; ``"jsd"``, 1 minus the Jensen-Shannon divergence in bits, 1 at best.
    weight
        As for ``group_exposure``.

    Returns
    -------
    One Float64 per query, from 0 to 1; null for a list in which no document has a group.

    References
    ----------
    Sapiezynski et al., Quantifying the impact of user attention on fair group representation in
    ranked lists, WWW 2019; Raj and Ekstrand, Measuring fairness in ranked results, SIGIR 2022;
    Ekstrand et al., Overview of the TREC 2022 fair ranking track.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame(
    ...     {"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2, 1], "by": ["M", "F"]}
    ... )
    >>> round(
    ...     df.rank.on(group="by").awrf(group="F", weight=0.5)["awrf(group=F,weight=0.5)"].item(), 6
    ... )  # 1/2 - 1/3
    0.166667
    """
    kind, wanted = kinds(r, group, target, "awrf")
    attention = _attention(r, k, weight)
    return r.largest(r.compared_shares(kind, attention, wanted, distance))


def kinds(
    r: Ranking, group: GroupName | None, target: str | float, metric: str
) -> tuple[pl.Expr, str | float]:
    """The groups that are compared, as text: each by itself, or whether a document is in the one
    named; and the target.
    """
    if group is not None:
        within = in_group(r, group).cast(pl.Boolean)
        return within.cast(pl.String), 0.5 if target == "equal" else target
    if isinstance(target, str):
        return r.group, target
    says = f"{metric}(target={target}): write the group whose share this is, as "
    raise InvalidOption(f"{says}{metric}(group=M,target={target})")


@metric(display="NDKL", labels=False, needs=("group",), higher_is_better=False)
def ndkl(
    r: Ranking,
    k: int | None = None,
    *,
    group: GroupName | None = None,
    target: Literal["documents", "equal"] | Inner = "documents",
) -> pl.Expr:
    r"""Normalized discounted KL divergence of the groups' shares in the first ranks from a target,
    in nats.

    .. math:: \frac{\sum_{i=1}^{k} \mathrm{KL}(s_i \| t) / \log_2 (i + 1)}{\sum_{i=1}^{k} 1 / \log_2
       (i + 1)}

    The shares s of the groups, which ``on(group=...)`` names, are those among the first i documents
    that have a group.

    Parameters
    ----------
    k
        Ranks to count; ``None`` counts all.
    group
        The group to compare with all others, by the text of its name, which the column must hold;
        ``None`` takes each group by itself.
    target
        As for ``awrf``; a number is above 0 and below 1.

    Returns
    -------
    One Float64 per query, from 0 on, 0 at best; null for an empty list.

    References
    ----------
    Geyik et al., Fairness-aware ranking in search and recommendation systems, KDD 2019.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame(
    ...     {"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2, 1], "by": ["M", "F"]}
    ... )
    >>> round(
    ...     df.rank.on(group="by").metrics.ndkl()["ndkl"].item(), 6
    ... )  # ln 2 at rank 1, 0 at rank 2
    0.425001
    """
    kind, wanted = kinds(r, group, target, "ndkl")
    over = (r.rank + 1).log(2)
    divisor = r.divided_by(pl.lit(1.0), k, over=over)
    total = r.total(r.divergence(kind, wanted), k, over=over)
    return total / pl.when(divisor > 0).then(divisor)


def _of_cut_points(
    r: Ranking, group: GroupName, step: int, kind: Literal["share", "ratio", "divergence"]
) -> pl.Expr:
    """The sum of the distances at the cut points, over the greatest one.

    That is of the order with the group first, or last.
    """
    r.need_every_rank()
    within = pl.when(r.retrieved).then(in_group(r, group)).fill_null(0.0)
    n = r.n_retrieved
    protected = r.whole(within)
    is_cut_point = (r.own_rank % step == 0).fill_null(False)

    def total(n_so_far: pl.Expr) -> pl.Expr:
        """The discounted sum for the numbers of documents of the group that are found down to each
        rank.
        """
        distance = _distance(n_so_far, r.rank, protected, n, kind)
        return r.whole(zero_unless(is_cut_point, distance / r.rank.log(2)))

    first = pl.min_horizontal(r.rank, protected)
    last = (r.rank - (n - protected)).clip(lower_bound=0.0)
    most = pl.max_horizontal(total(first), total(last))
    return quotient(total(r.so_far(within)), most)


def _distance(
    n_so_far: pl.Expr, rank: pl.Expr, protected: pl.Expr, n: pl.Expr, kind: str
) -> pl.Expr:
    share = n_so_far / rank
    of_all = protected / n
    if kind == "share":
        return (share - of_all).abs()
    if kind == "ratio":
        is_defined = (rank > n_so_far) & (n > protected)
        ratio = n_so_far / (rank - n_so_far)
        return zero_unless(is_defined, (ratio - protected / (n - protected)).abs())
    return _divergence_term(share, of_all) + _divergence_term(1 - share, 1 - of_all)


def _divergence_term(x: pl.Expr, y: pl.Expr) -> pl.Expr:
    """The value x log2(x / y) of a Kullback-Leibler divergence, 0 where x or y is 0."""
    return zero_unless((x > 0) & (y > 0), x * (x / y).log(2))


CutStep: TypeAlias = Annotated[int, Range(least=2)]


@metric(display="rND", labels=False, needs=("group",), higher_is_better=False, adds_up=False)
def rnd(r: Ranking, *, group: GroupName, step: CutStep = 10) -> pl.Expr:
    r"""Normalized discounted difference: how a group's share in the first ranks differs from its
    share in all.

    .. math:: \frac{1}{Z} \sum_{i = 10, 20, \ldots} \frac{1}{\log_2 i} \left| \frac{S_i}{i} -
       \frac{S}{n} \right|

    Of the n documents of the list S are of the group, of the first i documents S_i. Z is the
    greater value of the orders with the group first and with the group last.

    Parameters
    ----------
    group
        The protected group, by the text of its name, in the column of ``on(group=...)``; documents
        without a group are not in it.
    step
        The distance of the cut points.

    Returns
    -------
    One Float64 per query, from 0 on, 0 at best; null for a list shorter than `step`, or with
    documents of the group or of others alone.

    References
    ----------
    Yang and Stoyanovich, Measuring fairness in ranked outputs, SSDBM 2017.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame(
    ...     {"query_id": [1] * 4, "doc_id": [*"abcd"], "score": [4, 3, 2, 1], "by": [*"MMFF"]}
    ... )
    >>> df.rank.on(group="by").metrics.rnd(group="F", step=2)[
    ...     "rnd(group=F,step=2)"
    ... ].item()  # as far as can be
    1.0
    """
    return _of_cut_points(r, group, step, "share")


@metric(display="rKL", labels=False, needs=("group",), higher_is_better=False, adds_up=False)
def rkl(r: Ranking, *, group: GroupName, step: CutStep = 10) -> pl.Expr:
    r"""Normalized discounted KL divergence of a group's share in the first ranks from its share in
    all.

    .. math:: \frac{1}{Z} \sum_{i = 10, 20, \ldots} \frac{1}{\log_2 i}
       \mathrm{KL}\left(\frac{S_i}{i} \,\|\, \frac{S}{n}\right)

    Parameters
    ----------
    group, step
        As for ``rnd``.

    Returns
    -------
    One Float64 per query, as for ``rnd``.

    References
    ----------
    Yang and Stoyanovich, Measuring fairness in ranked outputs, SSDBM 2017.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame(
    ...     {"query_id": [1] * 4, "doc_id": [*"abcd"], "score": [4, 3, 2, 1], "by": [*"MFMF"]}
    ... )
    >>> df.rank.on(group="by").metrics.rkl(group="F", step=2)[
    ...     "rkl(group=F,step=2)"
    ... ].item()  # one of two, as two of four
    0.0
    """
    return _of_cut_points(r, group, step, "divergence")


@metric(display="rRD", labels=False, needs=("group",), higher_is_better=False, adds_up=False)
def rrd(r: Ranking, *, group: GroupName, step: CutStep = 10) -> pl.Expr:
    r"""Normalized discounted ratio difference: how a group's ratio to the others in the first ranks
    differs from that in all.

    .. math:: \frac{1}{Z} \sum_{i = 10, 20, \ldots} \frac{1}{\log_2 i} \left| \frac{S_i}{i - S_i} -
       \frac{S}{n - S} \right|

    A cut point at which a divisor is 0 adds 0.

    Parameters
    ----------
    group, step
        As for ``rnd``.

    Returns
    -------
    One Float64 per query, as for ``rnd``; above 1 for orders with a greater value than both extreme
    ones.

    References
    ----------
    Yang and Stoyanovich, Measuring fairness in ranked outputs, SSDBM 2017.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame(
    ...     {"query_id": [1] * 4, "doc_id": [*"abcd"], "score": [4, 3, 2, 1], "by": [*"MFMF"]}
    ... )
    >>> df.rank.on(group="by").metrics.rrd(group="F", step=2)[
    ...     "rrd(group=F,step=2)"
    ... ].item()  # one to one, as two to two
    0.0
    """
    return _of_cut_points(r, group, step, "ratio")


Smoothing: TypeAlias = Annotated[float, Range(least=0)]


def _is_ratio(absolute: bool = False, **_: object) -> bool:
    return not absolute


LOG_RATIO: Any = {
    "bounds": (None, None),
    "needs": ("group",),
    "higher_is_better": _is_ratio,
    "adds_up": False,
}
"""The declaration of a log ratio of one group to all others."""


def _log_ratio(
    r: Ranking, group: GroupName, x: pl.Expr, over: pl.Expr, smoothing: float, absolute: bool
) -> pl.Expr:
    """The log of the group's sum of `x` over its sum of `over`, less that of all others.

    It is null where it is not finite.
    """
    within = in_group(r, group)

    def ratio(member: pl.Expr) -> pl.Expr:
        total = r.whole((x * member).fill_null(0.0))
        divisor = r.whole((over * member).fill_null(0.0))
        return total / pl.when(divisor > 0).then(divisor) + smoothing

    of_group = ratio(within)
    of_others = ratio(1 - within)
    is_finite = (of_group > 0) & (of_others > 0)
    value = pl.when(is_finite).then(of_group.log() - of_others.log())
    return value.abs() if absolute else value


def _attention(r: Ranking, k: int | None, weight: RankWeight) -> pl.Expr:
    """The weight of each document's rank.

    It is 0.0 below `k` and for a document that was not retrieved.
    """
    return zero_unless(r.listed(k), r.weight_of_rank(weight))


@metric("logDP", display="Demographic parity", labels=False, **LOG_RATIO)
def demographic_parity(
    r: Ranking,
    k: int | None = None,
    *,
    group: GroupName,
    weight: RankWeight = "log2",
    smoothing: Smoothing = 0.0,
    absolute: bool = False,
) -> pl.Expr:
    r"""Demographic parity: how much more attention a document of a group gets than one of the
    others, as a log ratio.

    .. math:: \ln \frac{\frac{1}{|g|} \sum_{d \in g} w_d}{\frac{1}{|h|} \sum_{d \in h} w_d}

    The group g, often a minority, and all other documents with a group, h, are those of
    ``on(group=...)``, retrieved or not. The weight w of a document is that of its rank, 0 for one
    without a rank. 0 is parity, above 0 g gets more than h, at ln 2 twice as much; swapping g and h
    changes the sign.

    Parameters
    ----------
    k
        Ranks to count; ``None`` counts all. Documents below rank k get no attention.
    group
        The group g, by the text of its name, which the column must hold.
    weight
        As for ``group_exposure``.
    smoothing
        A number added to the numerator and to the denominator, as 0.000001, so that a group without
        attention has a value.
    absolute
        True for the distance from parity, whichever group gets more; lower values are better then.
        By default a higher value is better, for the group.

    Returns
    -------
    One Float64 per query, of any sign; null if g or h has no document, or if either gets no
    attention and `smoothing` is 0.

    References
    ----------
    Singh and Joachims, Fairness of exposure in rankings, KDD 2018; as logDP: Raj and Ekstrand,
    Measuring fairness in ranked results, SIGIR 2022, whose code adds 0.000001, divides by the
    weights and sums up a group's attention in place of its mean.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame(
    ...     {"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2, 1], "by": ["M", "F"]}
    ... )
    >>> ranker = df.rank.on(group="by")
    >>> round(
    ...     ranker.metrics.demographic_parity(group="F", weight=0.5)[
    ...         "demographic_parity(group=F,weight=0.5)"
    ...     ].item(),
    ...     6,
    ... )  # ln 1/2
    -0.693147
    """
    attention = _attention(r, k, weight)
    return _log_ratio(r, group, attention, pl.lit(1.0), smoothing, absolute)


@metric("logEUR", display="Exposed utility ratio", **LOG_RATIO)
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
    r"""Exposed utility ratio: how much more attention per utility a group of documents gets than
    the others, as a log ratio.

    .. math:: \ln \frac{\sum_{d \in g} w_d / \sum_{d \in g} u_d}{\sum_{d \in h} w_d / \sum_{d \in h}
       u_d}

    The groups g and h and the weight w are those of ``demographic_parity``. The utility of a group
    is the mean gain u of its documents; the numbers of documents cancel out. 0 is equal treatment:
    attention is in proportion to utility.

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
    One Float64 per query, of any sign; null if g or h has no utility, or if either gets no
    attention and `smoothing` is 0.

    References
    ----------
    Singh and Joachims, Fairness of exposure in rankings, KDD 2018, the logarithm of their disparate
    treatment ratio; as logEUR: Raj and Ekstrand, Measuring fairness in ranked results, SIGIR 2022.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame(
    ...     {
    ...         "query_id": [1, 1],
    ...         "doc_id": ["a", "b"],
    ...         "score": [2, 1],
    ...         "label": [2, 1],
    ...         "by": ["M", "F"],
    ...     }
    ... )
    >>> ranker = df.rank.on(group="by")  # half of the attention for half of the utility
    >>> ranker.metrics.exposed_utility_ratio(group="F", weight=0.5)[
    ...     "exposed_utility_ratio(group=F,weight=0.5)"
    ... ].item()
    0.0
    """
    attention = _attention(r, k, weight)
    return _log_ratio(r, group, attention, r.gain(gain), smoothing, absolute)


@metric("logRUR", display="Realized utility ratio", **LOG_RATIO)
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
    r"""Realized utility ratio: how much more of its utility reaches readers for a group than for
    the others, as a log ratio.

    .. math:: \ln \frac{\sum_{d \in g} w_d u_d / \sum_{d \in g} u_d}{\sum_{d \in h} w_d u_d /
       \sum_{d \in h} u_d}

    The groups g and h, the weight w and the utility u are those of ``exposed_utility_ratio``. If
    readers click by attention and utility, w u is the expected number of clicks. 0 is equal impact:
    clicks are in proportion to utility.

    Parameters
    ----------
    k, group, weight, gain, smoothing, absolute
        As for ``exposed_utility_ratio``.

    Returns
    -------
    One Float64 per query, of any sign; null if g or h has no utility, or if no utility of either
    gets attention and `smoothing` is 0.

    References
    ----------
    Singh and Joachims, Fairness of exposure in rankings, KDD 2018, the logarithm of their disparate
    impact ratio; as logRUR: Raj and Ekstrand, Measuring fairness in ranked results, SIGIR 2022.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame(
    ...     {
    ...         "query_id": [1, 1],
    ...         "doc_id": ["a", "b"],
    ...         "score": [2, 1],
    ...         "label": [2, 1],
    ...         "by": ["M", "F"],
    ...     }
    ... )
    >>> found = df.rank.on(group="by").metrics.realized_utility_ratio(
    ...     group="F", weight="equal"
    ... )  # all get all attention
    >>> found["realized_utility_ratio(group=F,weight=equal)"].item()
    0.0
    """
    utility = r.gain(gain)
    reached = _attention(r, k, weight) * utility
    return _log_ratio(r, group, reached, utility, smoothing, absolute)
