"""Novelty of recommendations: how little the recommended items were known before, to all users or
to one.
"""

from __future__ import annotations

import math
from typing import Annotated, Literal

import polars as pl

from .._catalog.registry import metric
from .._words.ranking import ListDivisor, Range, Ranking, UnseenItems, zero_unless
from .popularity import known, length, mean_of

__all__ = ["efd", "epc", "least_item_promoted", "novelty", "surprisal", "unexpectedness", "unseen"]


@metric(
    "miuf",
    "MeanInvUserFreq",
    "mean_self_information",
    display="Novelty",
    labels=False,
    needs=("interactions",),
    spellings={"NoveltyMetric": {"unseen_items": "skip"}},
)
def novelty(
    r: Ranking,
    k: int | None = None,
    *,
    base: Literal["users", "interactions"] = "users",
    unseen_items: UnseenItems = "rarest",
    divisor: ListDivisor = "list",
) -> pl.Expr:
    r"""Novelty: the mean self-information of the recommended items, in bits.

    .. math:: \frac{1}{n} \sum_{i=1}^{k} -\log_2 \frac{p_i}{U}

    Parameters
    ----------
    k
        Ranks to count; ``None`` counts all.
    base
        The divisor of an item's popularity: ``"users"``, the number of users in the interactions
        (RecTools, recmetrics), or ``"interactions"``, the number of interactions (recommenders).
    unseen_items
        As for ``mean_popularity``; ``"rarest"`` counts like an item that one user had.
    divisor
        As for ``mean_popularity``.

    Returns
    -------
    One Float64 per query, from 0 on; null for an empty list. ``on(interactions=...)`` gives the
    interactions.

    References
    ----------
    Zhou et al., Solving the apparent diversity-accuracy dilemma of recommender systems, PNAS
    107(10), 2010; RecTools' ``MeanInvUserFreq``.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> train = pl.DataFrame({"query_id": [1, 2, 3, 4], "doc_id": ["a", "a", "b", "c"]})
    >>> df = pl.DataFrame({"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2.0, 1.0]})
    >>> df.rank.on(interactions=train).metrics.novelty()["novelty"].item()  # a: 1 bit, b: 2 bits
    1.5
    """
    information, most = bits(r, base)
    return mean_of(r, information, most, k, unseen_items, divisor)


def bits(r: Ranking, base: Literal["users", "interactions"]) -> tuple[pl.Expr, float]:
    """The self-information of each document, and that of an item that one user had."""
    n = r.n_users if base == "users" else r.n_interactions
    return (n / r.popularity).log(2), math.log2(n)


@metric(display="Surprisal", bounds=(0, 1), labels=False, needs=("interactions",))
def surprisal(
    r: Ranking,
    k: int | None = None,
    *,
    unseen_items: UnseenItems = "rarest",
    divisor: ListDivisor = "list",
) -> pl.Expr:
    r"""Surprisal: the mean self-information of the recommended items, over that of an item that one
    user had.

    .. math:: \frac{1}{n} \sum_{i=1}^{k} \frac{\log_2 (U / p_i)}{\log_2 U}

    Parameters
    ----------
    k
        Ranks to count; ``None`` counts all.
    unseen_items
        As for ``mean_popularity``; ``"rarest"`` counts 1, like an item that one user had.
    divisor
        As for ``mean_popularity``; RePlay divides by `k`.

    Returns
    -------
    One Float64 per query, from 0 to 1; null for an empty list. With a single user in
    ``on(interactions=...)``, items of that user count 0.

    References
    ----------
    RePlay's ``Surprisal``.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> train = pl.DataFrame({"query_id": [1, 2, 3, 4], "doc_id": ["a", "a", "b", "c"]})
    >>> df = pl.DataFrame({"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2.0, 1.0]})
    >>> df.rank.on(interactions=train).metrics.surprisal()[
    ...     "surprisal"
    ... ].item()  # (1 + 2) / 2 bits, over 2 bits
    0.75
    """
    information, most = bits(r, "users")
    share = information / max(most, 1e-300)
    return mean_of(r, share, 1.0, k, unseen_items, divisor)


@metric(display="Unseen", bounds=(0, 1), labels=False, needs=("interactions",))
def unseen(r: Ranking, k: int | None = None, *, divisor: ListDivisor = "list") -> pl.Expr:
    r"""Unseen: the share of the recommended items that the user did not have before.

    .. math:: \frac{1}{n} \sum_{i=1}^{k} [i \text{ is not in the user's interactions}]

    Parameters
    ----------
    k
        Ranks to count; ``None`` counts all.
    divisor
        As for ``mean_popularity``.

    Returns
    -------
    One Float64 per query, from 0 to 1; 1 for a user without interactions, null for an empty list.
    ``on(interactions=...)`` gives the interactions.

    References
    ----------
    RePlay's ``Novelty``.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> train = pl.DataFrame({"query_id": [1, 2], "doc_id": ["a", "b"]})
    >>> df = pl.DataFrame({"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2.0, 1.0]})
    >>> df.rank.on(interactions=train).metrics.unseen()["unseen"].item()
    0.5
    """
    n_new = r.total(1 - r.seen, k)
    return n_new / length(r, k, divisor)


@metric(display="Unexpectedness", bounds=(0, 1), labels=False, needs=("base",), adds_up=False)
def unexpectedness(r: Ranking, k: int | None = None, *, divisor: ListDivisor = "list") -> pl.Expr:
    r"""Unexpectedness: the share of the recommended items that another ranking does not recommend.

    .. math:: 1 - \frac{|L \cap B|}{n}

    L and B are the first `k` items of the ranking and of the other one, whose scores
    ``on(base=...)`` names; the other ranking is ordered like this one, equal scores as
    ``on(ties=...)`` says.

    Parameters
    ----------
    k
        Ranks to count of both rankings; ``None`` counts all, or those down to ``on(depth=...)``.
    divisor
        As for ``mean_popularity``; RePlay divides by `k`.

    Returns
    -------
    One Float64 per query, from 0 to 1; null for an empty list.

    References
    ----------
    Adamopoulos and Tuzhilin, On unexpectedness in recommender systems, TIST 5(4), 2014; RePlay's
    ``Unexpectedness``.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame(
    ...     {"query_id": [1] * 3, "doc_id": ["a", "b", "c"], "score": [3, 2, 1], "sold": [5, 1, 9]}
    ... )
    >>> df.rank.on(base="sold").metrics.unexpectedness(k=2)[
    ...     "unexpectedness@2"
    ... ].item()  # a, b against c, a
    0.5
    """
    base = r.base_rank
    depth = r.setup.policies.depth
    of_base = k if depth is None else min(k or depth, depth)
    is_expected = base.is_not_null() if of_base is None else base <= of_base
    n_expected = r.total(is_expected.fill_null(False).cast(pl.Float64), k)
    return 1 - n_expected / length(r, k, divisor)


@metric("lip", display="LIP", labels=False, needs=("base",), adds_up=False)
def least_item_promoted(
    r: Ranking, k: int | None = None, *, first_rank: Annotated[int, Range(least=0, most=1)] = 1
) -> pl.Expr:
    r"""Least item promoted (LIP): how far below rank k another ranking has an item that is in the
    first k of this one.

    .. math:: \max(k, \max_{i \le k} b_i) - k

    The other ranking, as a reranker's input, has the item at rank i of this one at rank b_i;
    ``on(base=...)`` names its scores, as for ``unexpectedness``. Items that it lacks do not count.

    Parameters
    ----------
    k
        The cutoff; ``None`` is the length of the list.
    first_rank
        The number of the other ranking's first rank: 1, or 0, by which values above 0 come out one
        too small (LensKit).

    Returns
    -------
    One Float64 per query, a whole number from 0 on, 0 for the same first k items; null for an empty
    list, or if the other ranking has no item. A higher value is further from the other ranking.

    References
    ----------
    Wang et al.; LensKit's ``least_item_promoted``.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame(
    ...     {"query_id": [1] * 4, "doc_id": [*"abcd"], "score": [4, 3, 2, 1], "input": [4, 1, 3, 2]}
    ... )
    >>> df.rank.on(base="input").metrics.least_item_promoted(k=2)[
    ...     "least_item_promoted@2"
    ... ].item()  # b comes from rank 4
    2.0
    """
    base = r.base_rank
    n = r.depth(k)
    lowest = r.largest(zero_unless(r.listed(k), base))
    place = lowest + (first_rank - 1)
    promoted = pl.max_horizontal(place, n) - n
    n_of_base = r.count(base.is_not_null())
    has_both = (r.n_retrieved > 0) & (n_of_base > 0)
    return pl.when(has_both).then(promoted)


def _reads_labels(relevance: bool = True, **_: object) -> bool:
    return relevance


@metric(display="EFD", labels=_reads_labels, needs=("interactions",))
def efd(
    r: Ranking,
    k: int | None = None,
    *,
    relevance: bool = True,
    unseen_items: UnseenItems = "rarest",
) -> pl.Expr:
    r"""Expected free discovery: the self-information of the relevant items, in bits, discounted by
    rank.

    .. math:: \frac{\sum_{i=1}^{k} r_i (-\log_2 (p_i / P)) / \log_2 (i + 1)}{\sum_{i=1}^{k} 1 /
       \log_2 (i + 1)}

    P is the number of interactions.

    Parameters
    ----------
    k
        Ranks to count; ``None`` counts all.
    relevance
        False to count all items of the list, whatever their labels.
    unseen_items
        As for ``mean_popularity``; ``"rarest"`` counts like an item that one user had.

    Returns
    -------
    One Float64 per query, from 0 on; null for an empty list. ``on(interactions=...)`` gives the
    interactions.

    References
    ----------
    Vargas and Castells, Rank and relevance in novelty and diversity metrics for recommender
    systems, RecSys 2011; Elliot's ``EFD``.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> train = pl.DataFrame({"query_id": [1, 2, 3, 4], "doc_id": ["a", "a", "b", "c"]})
    >>> df = pl.DataFrame({"query_id": [1], "doc_id": ["b"], "score": [2.0], "label": [1]})
    >>> df.rank.on(interactions=train).metrics.efd()["efd"].item()
    2.0
    """
    information, most = bits(r, "interactions")
    return _discounted(r, information, most, k, relevance, unseen_items)


@metric(display="EPC", bounds=(0, 1), labels=_reads_labels, needs=("interactions",))
def epc(
    r: Ranking,
    k: int | None = None,
    *,
    relevance: bool = True,
    unseen_items: UnseenItems = "rarest",
) -> pl.Expr:
    r"""Expected popularity complement: the share of users who did not have the relevant items,
    discounted by rank.

    .. math:: \frac{\sum_{i=1}^{k} r_i (1 - p_i / U) / \log_2 (i + 1)}{\sum_{i=1}^{k} 1 / \log_2 (i
       + 1)}

    Parameters
    ----------
    k
        Ranks to count; ``None`` counts all.
    relevance
        False to count all items of the list, whatever their labels.
    unseen_items
        As for ``mean_popularity``; ``"rarest"`` counts like an item that no user had.

    Returns
    -------
    One Float64 per query, from 0 to 1; null for an empty list. ``on(interactions=...)`` gives the
    interactions.

    References
    ----------
    Vargas and Castells, Rank and relevance in novelty and diversity metrics for recommender
    systems, RecSys 2011; Elliot's ``EPC``.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> train = pl.DataFrame({"query_id": [1, 2, 3, 4], "doc_id": ["a", "a", "b", "c"]})
    >>> df = pl.DataFrame({"query_id": [1], "doc_id": ["b"], "score": [2.0], "label": [1]})
    >>> df.rank.on(interactions=train).metrics.epc()["epc"].item()
    0.75
    """
    complement = 1 - r.popularity / r.n_users
    return _discounted(r, complement, 1.0, k, relevance, unseen_items)


def _discounted(
    r: Ranking, x: pl.Expr, rarest: float, k: int | None, relevance: bool, unseen_items: UnseenItems
) -> pl.Expr:
    """The mean of `x` over the list, its ranks weighing 1 / log2(rank + 1)."""
    over = (r.rank + 1).log(2)
    counts = pl.lit(1.0)
    if unseen_items == "skip":
        counts = x.is_not_null().cast(pl.Float64)
    divisor = r.divided_by(counts, k, over=over)
    x = known(r, x, k, unseen_items, rarest)
    if relevance:
        x = x * r.relevant
    total = r.total(x, k, over=over)
    return total / pl.when(divisor > 0).then(divisor)
