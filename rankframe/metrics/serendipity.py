"""Serendipity and calibration: recommendations against what the user had before."""

from __future__ import annotations

import math
from typing import Annotated, Literal

import polars as pl

from .._catalog.registry import metric
from .._words.ranking import ListDivisor, Range, Ranking, RankWeight, zero_unless
from .popularity import length

__all__ = ["calibration", "serendipity"]


def _reads_labels(relevance: bool = True, **_: object) -> bool:
    return relevance


@metric(
    display="Serendipity",
    bounds=(None, 1),
    labels=_reads_labels,
    needs=("interactions", "items"),
    spellings={
        "SerendipityMetric": {"against": "features"},
        "user_serendipity": {"against": "co_occurrence", "relevance": False},
    },
)
def serendipity(
    r: Ranking,
    k: int | None = None,
    *,
    against: Literal["popularity", "co_occurrence", "features"] = "popularity",
    relevance: bool = True,
    divisor: ListDivisor = "list",
) -> pl.Expr:
    r"""Serendipity: how far the relevant items of the list are from what was to be expected.

    .. math:: \frac{1}{n} \sum_{i=1}^{k} r_i \max\left(\frac{N + 1 - i}{N} - \frac{N + 1 - m_i}{N},
       0\right)

    N is the number of items of the catalog, which ``on(items=...)`` gives, and m an item's rank by
    falling popularity, which equally popular items share.

    Parameters
    ----------
    k
        Ranks to count; ``None`` counts all.
    against
        ``"popularity"``, the formula above (RecTools): the second fraction is 0 for an item in no
        interaction. ``"co_occurrence"`` (recommenders): the mean of 1 minus the mean cosine of the
        item and those that the user had, by the sets of their users. ``"features"`` (Evidently): 1
        minus the sum over the list of that cosine by features, which may fall below 0; a frame
        ``on(items=...)`` gives the columns of ``on(features=...)``.
    relevance
        False to count all items of the list, whatever their labels.
    divisor
        ``"list"`` the length of the list, at most `k`; ``"k"``, also for a shorter list. Not used
        for ``"features"``.

    Returns
    -------
    One Float64 per query, up to 1; null for an empty list, and for a user without interactions
    unless against popularity. ``on(interactions=...)`` gives the interactions.

    References
    ----------
    RecTools' ``Serendipity``; recommenders' ``user_serendipity``; Evidently's
    ``SerendipityMetric``.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> train = pl.DataFrame({"query_id": [1, 2, 3], "doc_id": ["a", "a", "b"]})
    >>> df = pl.DataFrame(
    ...     {"query_id": [1, 1], "doc_id": ["b", "a"], "score": [2.0, 1.0], "label": [1, 1]}
    ... )
    >>> df.rank.on(interactions=train, items=4).serendipity()[
    ...     "serendipity"
    ... ].item()  # b: 4/4 - 3/4, a: 3/4 - 4/4
    0.125
    """
    relevant = r.relevant if relevance else pl.lit(1.0)
    if against == "features":
        similar = r.similar_by_features
        is_listed = r.listed(k)
        of_list = r.whole(zero_unless(is_listed, similar * relevant))
        n_known = r.count(is_listed & similar.is_not_null())
        return pl.when(n_known > 0).then(1 - of_list)
    if against == "co_occurrence":
        similar = r.similar_by_users
        n_known = r.count(r.retrieved & similar.is_not_null())
        surprise = r.total((1 - similar) * relevant, k)
        return pl.when(n_known > 0).then(surprise / length(r, k, divisor))
    n = r.n_items
    by_rank = (n + 1 - r.rank) / n
    by_popularity = (n + 1 - r.of_popularity(r.history.levels())) / n
    surprise = (by_rank - by_popularity.fill_null(0.0)).clip(lower_bound=0.0)
    return r.total(relevant, k, weight=surprise) / length(r, k, divisor)


@metric(
    display="Calibration",
    labels=False,
    needs=("interactions", "items", "category"),
    higher_is_better=False,
    adds_up=False,
)
def calibration(
    r: Ranking,
    k: int | None = None,
    *,
    alpha: Annotated[float, Range(above=0, below=1)] = 0.01,
    weight: RankWeight = "equal",
    unit: Literal["nats", "bits"] = "nats",
) -> pl.Expr:
    r"""Calibration error: how the categories of the list differ from those of the items that the
    user had.

    .. math:: \sum_c p_c \ln \frac{p_c}{(1 - \alpha) q_c + \alpha p_c}

    p and q are the shares of category c in the user's interactions and in the list; an item's
    categories share its weight. ``on(category=...)`` names the categories, which a frame
    ``on(items=...)`` has for the items of ``on(interactions=...)``.

    Parameters
    ----------
    k
        Ranks to count; ``None`` counts all.
    alpha
        The share of p that is mixed into q, so that a category that the list lacks gives no
        infinite value.
    weight
        The weight of rank i in q: ``"equal"``; ``"log2"``, 1 / log2(i + 1); or a number p between 0
        and 1, p^(i - 1).
    unit
        ``"nats"`` or ``"bits"``.

    Returns
    -------
    One Float64 per query, from 0 on, 0 at best; null for a list without categories, or a user
    without any.

    References
    ----------
    Steck, Calibrated recommendations, RecSys 2018.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> items = pl.DataFrame({"doc_id": ["a", "b", "c", "d"], "genre": ["x", "y", "x", "y"]})
    >>> train = pl.DataFrame({"query_id": [1, 1], "doc_id": ["a", "b"]})
    >>> df = pl.DataFrame({"query_id": [1, 1], "doc_id": ["c", "d"], "score": [2.0, 1.0]})
    >>> df.rank.on(interactions=train, items=items, category="genre").metrics.calibration()[
    ...     "calibration"
    ... ].item()
    0.0
    """
    attention = r.weight_of_rank(weight)
    error = r.largest(r.calibration_error(attention, k, alpha))
    nats_of_unit = math.log(2) if unit == "bits" else 1.0
    return error.clip(lower_bound=0.0) / nats_of_unit
