"""Metrics of the whole table that compare groups of items: their exposure, their relevance, and
what users chose before.
"""

from __future__ import annotations

from typing import Literal

import polars as pl

from .._catalog.registry import catalog_metric
from .._words.exposure import Exposure, Persistence, Weight, weight_of
from .._words.ranking import Proportion
from ..errors import InvalidOption, did_you_mean, shown

__all__ = [
    "attention_relevance_gap",
    "bias_disparity",
    "group_exposure_gap",
    "group_exposure_ratio",
    "reo",
    "rsp",
]


@catalog_metric(display="Group exposure ratio", bounds=(0, 1))
def group_exposure_ratio(
    e: Exposure,
    k: int | None = None,
    *,
    weight: Weight = "log2",
    p: Persistence = 0.8,
    head: Proportion | None = None,
    tail: Proportion | None = None,
) -> pl.Expr:
    r"""The exposure of an item of the least exposed group over that of an item of the most exposed
    one: 1 if they are equal.

    .. math:: \frac{\min_g E_g / |g|}{\max_g E_g / |g|}

    `E` is the exposure of the group's items, added up over all lists, and `|g|` the number of items
    of the group in the catalog: ``on(group="provider", items=catalog)``, a frame with that column.
    Items without a group do not count.

    Parameters
    ----------
    k
        The depth of the lists. ``None`` takes whole lists.
    weight, p
        The exposure at a rank, as for ``exposure_gini``.
    head, tail
        Either of them takes two groups by popularity, ``head`` and ``tail``, in place of those of
        the catalog, as for ``rsp``.

    Returns
    -------
    Null if no item of a group is shown.

    References
    ----------
    Singh, Joachims, Fairness of exposure in rankings, KDD 2018; FairRankTune, which divides by the
    sizes of groups, calls it MinMaxRatio.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({"query_id": [1, 1, 1], "doc_id": list("abc"), "score": [3.0, 2, 1]})
    >>> items = pl.DataFrame(
    ...     {"doc_id": list("abcd"), "provider": list("xyxy")}
    ... )  # shown: x 2 of 2, y 1 of 2
    >>> df.rank.on(group="provider", items=items).items.catalog(
    ...     "group_exposure_ratio(weight=count)", ci=None
    ... )["value"].item()
    0.5
    """
    of_groups = e.per_group(e.exposure(weight, p, k), head, tail)
    return of_groups.min() / of_groups.max()


Combination = Literal[
    "max_min_difference", "max_min_ratio", "max_deviation", "mean_deviation", "variance", "l2"
]


@catalog_metric(display="Group exposure gap", bounds=(0, None), higher_is_better=False)
def group_exposure_gap(
    e: Exposure,
    k: int | None = None,
    *,
    combine: Combination = "max_min_difference",
    weight: Weight = "log2",
    p: Persistence = 0.8,
    head: Proportion | None = None,
    tail: Proportion | None = None,
) -> pl.Expr:
    r"""How far groups are apart in the exposure of one of their items: 0 if they are equal.

    .. math:: \max_g x_g - \min_g x_g, \quad x_g = E_g / |g|

    `E` and `|g|` are those of ``group_exposure_ratio``. Exposure adds up over lists, so the value
    grows with the number of users: compare tables of the same users, or take the ratio.

    Parameters
    ----------
    k
        The depth of the lists. ``None`` takes whole lists.
    combine
        The number that is made of the groups' values x: ``"max_min_difference"``, the largest less
        the smallest; ``"max_min_ratio"``, the largest over the smallest, 1 if they are equal;
        ``"max_deviation"`` and ``"mean_deviation"``, the largest and the mean distance from their
        mean; ``"variance"``, the mean square of that distance; ``"l2"``, the root of the sum of
        squares, which is no gap, as it is not 0 for equal groups.
    weight, p
        The exposure at a rank, as for ``exposure_gini``.
    head, tail
        As for ``group_exposure_ratio``.

    Returns
    -------
    Null if no item of a group is shown; ``"max_min_ratio"`` is null if one of the groups is not
    shown.

    References
    ----------
    FairRankTune, whose MaxMinDiff, MaxMinRatio, MaxAbsDiff, MeanAbsDev, Variance and LTwo these
    are; Raj, Ekstrand, Measuring fairness in ranked results, SIGIR 2022.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({"query_id": [1, 1, 1], "doc_id": list("abc"), "score": [3.0, 2, 1]})
    >>> items = pl.DataFrame(
    ...     {"doc_id": list("abcd"), "provider": list("xyxy")}
    ... )  # shown: x 2 of 2, y 1 of 2
    >>> ranker = df.rank.on(group="provider", items=items)
    >>> ranker.items.catalog("group_exposure_gap(weight=count)", ci=None)["value"].item()
    0.5
    >>> ranker.items.catalog("group_exposure_gap(combine=variance,weight=count)", ci=None)[
    ...     "value"
    ... ].item()
    0.0625
    """
    of_groups = e.per_group(e.exposure(weight, p, k), head, tail)
    most = of_groups.max()
    gap = _combined(of_groups, combine)
    return pl.when(most > 0).then(gap)


def _combined(of_groups: pl.Expr, combine: Combination) -> pl.Expr:
    """How far the numbers of groups are apart."""
    if combine == "l2":
        return (of_groups**2).sum().sqrt()
    if combine in ("max_min_difference", "max_min_ratio"):
        most = of_groups.max()
        least = of_groups.min()
        ratio = most / pl.when(least > 0).then(least)
        return most - least if combine == "max_min_difference" else ratio
    distances = (of_groups - of_groups.mean()).abs()
    if combine == "variance":
        return (distances**2).mean()
    return distances.max() if combine == "max_deviation" else distances.mean()


def _relative_deviation(hits: pl.Expr, candidates: pl.Expr) -> pl.Expr:
    """The standard deviation of groups' rates over their mean.

    A group without candidates has no rate.
    """
    rates = hits / pl.when(candidates > 0).then(candidates)
    return rates.std(ddof=0) / rates.mean()


@catalog_metric(
    "ranking_based_statistical_parity",
    display="RSP",
    spellings={"PopRSP": {"head": 0.8}},
    higher_is_better=False,
)
def rsp(
    e: Exposure,
    k: int | None = None,
    *,
    head: Proportion | None = None,
    tail: Proportion | None = None,
) -> pl.Expr:
    r"""Ranking-based statistical parity: how differently likely groups of items are to be shown to
    users who lack them.

    .. math:: \frac{\mathrm{std}_g \, P_g}{\mathrm{mean}_g \, P_g}, \quad P_g = \frac{\sum_u |L_u
       \cap g \setminus H_u|}{\sum_u |g \setminus H_u|}

    `L` is a user's list, `H` the items that the user has in the past interactions
    (``interactions=``). The groups are those of the items of the catalog, ``on(group="provider",
    items=catalog)``; items without a group do not count. The deviation is that of the population.

    Parameters
    ----------
    k
        The depth of the lists. ``None`` takes whole lists.
    head
        A number takes two groups by popularity in place of those of the catalog: ``head``, the most
        popular items, until they have that share of all interactions, the item that reaches it
        included, and ``tail``, the others of the catalog; items that are equally popular are all in
        one of them (``tail_share``).
    tail
        A number takes the same two groups, ``tail`` being that share of the items of the
        interactions, at least one, the least popular, and whatever is no more popular; `head` is
        not used then.

    Returns
    -------
    0 if groups are equally likely to be shown. A group whose items all users have has no rate and
    does not count. Null if no item of a group is shown to a user who lacks it.

    References
    ----------
    Zhu, Wang, Caverlee, Measuring and mitigating item under-recommendation bias in personalized
    ranking systems, SIGIR 2020; Elliot's RSP, and, for groups by popularity, PopRSP.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame(
    ...     {"query_id": [1, 1, 1, 2], "doc_id": list("bcda"), "score": [3.0, 2, 1, 1]}
    ... )
    >>> train = pl.DataFrame({"query_id": [1], "doc_id": ["a"]})
    >>> items = pl.DataFrame(
    ...     {"doc_id": list("abcd"), "provider": list("xxyy")}
    ... )  # shown: x 2 of 3, y 2 of 4
    >>> ranker = df.rank.on(group="provider", items=items, interactions=train)
    >>> ranker.items.catalog("rsp", ci=None)["value"].round(6).item()  # (2/3 - 1/2) / (2/3 + 1/2)
    0.142857
    """
    shown = e.group_sums(e.summed(e.unseen, k), head, tail)
    had = e.group_sums(e.had, head, tail)
    lacking = e.n_users * e.group_sizes(head, tail) - had
    return _relative_deviation(shown, lacking)


@catalog_metric(
    "ranking_based_equal_opportunity",
    display="REO",
    spellings={"PopREO": {"head": 0.8}},
    higher_is_better=False,
    labels=True,
)
def reo(
    e: Exposure,
    k: int | None = None,
    *,
    head: Proportion | None = None,
    tail: Proportion | None = None,
) -> pl.Expr:
    r"""Ranking-based equal opportunity: how differently likely groups are to be shown where they
    are relevant.

    .. math:: \frac{\mathrm{std}_g \, P_g}{\mathrm{mean}_g \, P_g}, \quad P_g = \frac{\sum_u |L_u
       \cap g \cap R_u \setminus H_u|}{\sum_u |g \cap R_u \setminus H_u|}

    `R` are the items that are relevant to the user: the rows of the table whose label is at or
    above ``relevant``, shown or not. The rest is that of ``rsp``.

    Parameters
    ----------
    k
        The depth of the lists. ``None`` takes whole lists.
    head, tail
        As for ``rsp``.

    Returns
    -------
    0 if groups are equally likely to be shown where they are relevant. A group of which nothing is
    relevant has no rate and does not count. Null if no relevant item of a group is shown.

    References
    ----------
    As for ``rsp``; Elliot's REO and PopREO.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame(
    ...     {
    ...         "query_id": 1,
    ...         "doc_id": list("abcd"),
    ...         "score": [3.0, 2, 1, None],
    ...         "label": [1, 0, 1, 1],
    ...     }
    ... )
    >>> train = pl.DataFrame({"query_id": [2], "doc_id": ["a"]})
    >>> items = pl.DataFrame(
    ...     {"doc_id": list("abcd"), "provider": list("xxyy")}
    ... )  # shown: x 1 of 1, y 1 of 2
    >>> ranker = df.rank.on(group="provider", items=items, interactions=train)
    >>> ranker.items.catalog("reo", ci=None)["value"].round(6).item()  # (1 - 1/2) / (1 + 1/2)
    0.333333
    """
    wanted = e.relevant * e.unseen
    shown = e.group_sums(e.summed(wanted, k), head, tail)
    relevant = e.group_sums(e.summed(wanted, over="table"), head, tail)
    return _relative_deviation(shown, relevant)


@catalog_metric(
    "BiasDisparityBD", display="Bias disparity", bounds=(-1, None), higher_is_better=False
)
def bias_disparity(
    e: Exposure,
    k: int | None = None,
    *,
    group: str | int,
    head: Proportion | None = None,
    tail: Proportion | None = None,
) -> pl.Expr:
    r"""How much larger a group of items is among the items that users are shown than among those
    that they chose before.

    .. math:: \frac{B_R - B_S}{B_S}, \quad B_R = \frac{n_g / n}{|g| / N}, \quad B_S = \frac{m_g /
       m}{|g| / N}

    Of the `n` items shown, counted for each user, `n_g` are of the group, and `m_g` of the `m`
    items that the same users have in the past interactions (``interactions=``). The groups are
    those of the items of the catalog, ``on(group="genre", items=catalog)``; items without a group
    do not count. ``catalog(..., by="age")`` gives a value for each group of users, and one text for
    each group of items gives the whole table.

    Parameters
    ----------
    k
        The depth of the lists. ``None`` takes whole lists.
    group
        The group, by the text of its name.
    head, tail
        Either of them takes two groups by popularity, ``head`` and ``tail``, as for ``rsp``.

    Returns
    -------
    0 if the share is the same, -1 if none of the group is shown, 1 if its share has doubled. Null
    if the users have no item of the group in the past, or are shown no item with a group.

    References
    ----------
    Tsintzou, Pitoura, Tsaparas, Bias disparity in recommendation systems, RMSE at RecSys 2019;
    Elliot's BiasDisparityBD, whose past is that of all users, also of those whom the table lacks.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame(
    ...     {"query_id": [1, 1, 2, 2], "doc_id": list("abac"), "score": [2.0, 1, 2, 1]}
    ... )
    >>> train = pl.DataFrame({"query_id": [1, 2, 2], "doc_id": list("bcd")})
    >>> items = pl.DataFrame(
    ...     {"doc_id": list("abcd"), "genre": list("xxyy")}
    ... )  # x: 1/3 of the past, 3/4 of the lists
    >>> ranker = df.rank.on(group="genre", items=items, interactions=train)
    >>> ranker.items.catalog("bias_disparity(group=x)@2", "bias_disparity(group=y)@2", ci=None)[
    ...     "value"
    ... ].to_list()
    [1.25, -0.625]
    """
    groups = e.groups(head, tail)
    name = str(group)
    if name not in groups:
        others = ", ".join(map(repr, groups))
        says = f"{e.text}: no item of the catalog is in the group {shown(group)}; write one of "
        raise InvalidOption(f"{says}{others}.{did_you_mean(name, [*groups])}")

    def share(x: pl.Expr) -> pl.Expr:
        total = e.group_sums(x, head, tail).sum()
        of_group = x.filter(groups[name].within).sum()
        return of_group / pl.when(total > 0).then(total)

    past = share(e.had)
    now = share(e.shown(k))
    return now / pl.when(past > 0).then(past) - 1


def _reads_labels(relevance: str = "label", **_: object) -> bool:
    return relevance == "label"


@catalog_metric(
    "IAA",
    "inequity_of_amortized_attention",
    display="Attention-relevance gap",
    bounds=(0, 2),
    higher_is_better=False,
    labels=_reads_labels,
)
def attention_relevance_gap(
    e: Exposure,
    k: int | None = None,
    *,
    across: Literal["groups", "items"] = "groups",
    relevance: Literal["label", "score"] = "label",
    shares: Literal["table", "list"] = "table",
    weight: Weight = "log2",
    p: Persistence = 0.8,
    head: Proportion | None = None,
    tail: Proportion | None = None,
) -> pl.Expr:
    r"""How far the shares of attention that groups of items get are from their shares of relevance.

    .. math:: \sum_g \left| \frac{A_g}{\sum_h A_h} - \frac{R_g}{\sum_h R_h} \right|

    `A` is the exposure of the group's items, `R` their relevance to users, each added up over all
    lists. All rows of the table count for relevance, shown or not; labels that are missing or
    negative count 0. The groups are those of the catalog, ``on(group="provider", items=catalog)``;
    items without a group do not count.

    Parameters
    ----------
    k
        The depth of the lists, for attention. ``None`` takes whole lists.
    across
        ``"groups"``, or ``"items"``, each of which is a group of its own then and needs no catalog:
        fairness to individuals.
    relevance
        ``"label"``, or ``"score"``, the relevance that the system itself expects, from 0 on.
    shares
        ``"table"`` adds up attention and relevance as they are; ``"list"`` first divides them by
        their sums over the user's rows, so that each user counts once.
    weight, p
        The attention at a rank, as for ``exposure_gini``.
    head, tail
        Either of them takes two groups by popularity, ``head`` and ``tail``, as for ``rsp``.

    Returns
    -------
    0 if attention follows relevance, 2 if all of it goes where none is. A group with nothing
    relevant has a share of 0. Null if nothing is shown, or nothing is relevant.

    References
    ----------
    Biega, Gummadi, Weikum, Equity of attention: amortizing individual fairness in rankings, SIGIR
    2018: ``across="items"`` and ``shares="list"``, whose sum over m rankings is m times this one;
    Raj, Ekstrand, Measuring fairness in ranked results, SIGIR 2022: groups, with scores for
    relevance.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame(
    ...     {"query_id": 1, "doc_id": list("abc"), "score": [3.0, 2, 1], "label": [1, 0, 3]}
    ... )
    >>> items = pl.DataFrame({"doc_id": list("abc"), "provider": list("xxy")})
    >>> ranker = df.rank.on(group="provider", items=items)
    >>> text = (
    ...     "attention_relevance_gap(weight=count)"  # attention 2/3 and 1/3, relevance 1/4 and 3/4
    ... )
    >>> ranker.items.catalog(text, ci=None)["value"].round(6).item()
    0.833333
    """
    attention = weight_of(weight, p)
    worth = e.label if relevance == "label" else e.score
    if shares == "list":
        attention = e.share_of_user(attention)
        worth = e.share_of_user(worth)
    given = e.summed(attention, k)
    due = e.summed(worth, over="table")
    if across == "groups":
        given = e.group_sums(given, head, tail)
        due = e.group_sums(due, head, tail)
    gaps = given / given.sum() - due / due.sum()
    return gaps.abs().sum()
