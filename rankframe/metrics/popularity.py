"""Popularity of recommendations: how many users had the recommended items before."""

from __future__ import annotations

import polars as pl

from .._catalog.registry import metric
from .._words.ranking import ListDivisor, Proportion, Ranking, UnseenItems

__all__ = ["known", "length", "mean_of", "mean_popularity", "popularity_percentile", "tail_share"]


def length(r: Ranking, k: int | None, divisor: ListDivisor = "list") -> pl.Expr:
    """The number of ranks of the list down to `k`; `k` itself, for the divisor "k"; null for an
    empty list.
    """
    n = r.n_retrieved_to(k)
    return pl.when(n > 0).then(r.depth(k) if divisor == "k" else n)


def known(
    r: Ranking, x: pl.Expr, k: int | None, unseen_items: UnseenItems, rarest: float
) -> pl.Expr:
    """`x` with a value for documents in no interaction, for which it is null."""
    if unseen_items == "error":
        says = (
            "a document is in no interaction; unseen_items='rarest', 'skip' or 'zero' says "
            "how such documents count"
        )
        r.refuse(r.listed(k) & x.is_null(), says, of_label=False)
    return x.fill_null(rarest if unseen_items == "rarest" else 0.0)


def mean_of(
    r: Ranking,
    x: pl.Expr,
    rarest: float,
    k: int | None,
    unseen_items: UnseenItems,
    divisor: ListDivisor,
) -> pl.Expr:
    """The mean of `x` over the list down to rank `k`."""
    n = length(r, k, divisor)
    if unseen_items == "skip" and divisor == "list":
        n_known = r.divided_by(x.is_not_null().cast(pl.Float64), k)
        n = pl.when(n_known > 0).then(n_known)
    x = known(r, x, k, unseen_items, rarest)
    return r.total(x, k) / n


@metric(
    "AvgRecPopularity",
    "averagepopularity",
    display="Mean popularity",
    labels=False,
    needs=("interactions",),
    higher_is_better=False,
)
def mean_popularity(
    r: Ranking,
    k: int | None = None,
    *,
    normalize: bool = False,
    unseen_items: UnseenItems = "rarest",
    divisor: ListDivisor = "list",
) -> pl.Expr:
    r"""Mean popularity (ARP): the mean number of users who had the recommended items before.

    .. math:: \frac{1}{n} \sum_{i=1}^{k} p_i

    Parameters
    ----------
    k
        Ranks to count; ``None`` counts all.
    normalize
        True to divide by the number of interactions.
    unseen_items
        How an item that is in no interaction counts: ``"rarest"`` like the least popular item there
        can be, which no user had; ``"skip"`` is left out; ``"zero"`` adds 0; ``"error"`` is
        refused.
    divisor
        ``"list"`` the length of the list, at most `k`; ``"k"``, also for a shorter list.

    Returns
    -------
    One Float64 per query, from 0 on; null for an empty list. ``on(interactions=...)`` gives the
    interactions.

    References
    ----------
    Yin et al., Challenging the long tail recommendation, PVLDB 5(9), 2012; RecTools' ``ARP``.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> train = pl.DataFrame({"query_id": [1, 2, 3], "doc_id": ["a", "a", "b"]})
    >>> df = pl.DataFrame({"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2.0, 1.0]})
    >>> df.rank.on(interactions=train).mean_popularity()["mean_popularity"].item()
    1.5
    """
    n_users = r.popularity
    if normalize:
        n_users = n_users / r.n_interactions
    return mean_of(r, n_users, 0.0, k, unseen_items, divisor)


@metric(
    "MeanPopRank",
    display="Popularity percentile",
    bounds=(0, 1),
    labels=False,
    needs=("interactions",),
    higher_is_better=False,
)
def popularity_percentile(
    r: Ranking,
    k: int | None = None,
    *,
    unseen_items: UnseenItems = "rarest",
    divisor: ListDivisor = "list",
) -> pl.Expr:
    r"""Popularity percentile: the mean share of all items that are at most as popular as the
    recommended ones.

    .. math:: \frac{1}{n} \sum_{i=1}^{k} \frac{\mathrm{rank}(p_i)}{M}

    The rank is that by rising popularity among the M items of the interactions; equally popular
    items share their mean rank.

    Parameters
    ----------
    k
        Ranks to count; ``None`` counts all.
    unseen_items
        As for ``mean_popularity``; ``"rarest"`` counts 0.
    divisor
        As for ``mean_popularity``.

    Returns
    -------
    One Float64 per query, from 0 to 1; null for an empty list. ``on(interactions=...)`` gives the
    interactions.

    References
    ----------
    LensKit's ``MeanPopRank``.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> train = pl.DataFrame({"query_id": [1, 2, 3], "doc_id": ["a", "a", "b"]})
    >>> df = pl.DataFrame({"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2.0, 1.0]})
    >>> df.rank.on(interactions=train).metrics.popularity_percentile()[
    ...     "popularity_percentile"
    ... ].item()
    0.75
    """
    x = r.of_popularity(r.history.percentiles())
    return mean_of(r, x, 0.0, k, unseen_items, divisor)


@metric(
    display="Tail share",
    bounds=(0, 1),
    labels=False,
    needs=("interactions",),
    spellings={
        "aplt": {"unseen_items": "zero"},
        "TailPercentage": {"tail": 0.1, "unseen_items": "zero", "divisor": "k"},
    },
)
def tail_share(
    r: Ranking,
    k: int | None = None,
    *,
    head: Proportion = 0.8,
    tail: Proportion | None = None,
    unseen_items: UnseenItems = "rarest",
    divisor: ListDivisor = "list",
) -> pl.Expr:
    r"""Tail share (APLT): the share of the recommended items that are in the long tail, where few
    interactions are.

    .. math:: \frac{1}{n} \sum_{i=1}^{k} [p_i < t]

    Items that are equally popular are all in the tail, or none of them is.

    Parameters
    ----------
    k
        Ranks to count; ``None`` counts all.
    head
        The share of all interactions that the most popular items reach before the tail starts; the
        item that reaches it is not in the tail.
    tail
        The share of all items, at least one, that make up the tail, the least popular ones; `head`
        is not used then (RecBole, with 0.1).
    unseen_items
        As for ``mean_popularity``; ``"rarest"`` is in the tail.
    divisor
        As for ``mean_popularity``.

    Returns
    -------
    One Float64 per query, from 0 to 1; null for an empty list. ``on(interactions=...)`` gives the
    interactions.

    References
    ----------
    Abdollahpouri et al., Managing popularity bias in recommender systems with personalized
    re-ranking, FLAIRS 2019; Elliot's ``APLT``, RecBole's ``TailPercentage``.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> train = pl.DataFrame({"query_id": [1, 2, 3, 4, 5], "doc_id": ["a", "a", "a", "a", "b"]})
    >>> df = pl.DataFrame({"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2.0, 1.0]})
    >>> df.rank.on(interactions=train).metrics.tail_share()[
    ...     "tail_share"
    ... ].item()  # a has 4 of 5 interactions
    0.5
    """
    in_tail = r.history.in_tail(r.popularity, head, tail)
    return mean_of(r, in_tail.cast(pl.Float64), 1.0, k, unseen_items, divisor)
