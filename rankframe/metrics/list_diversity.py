"""Diversity of recommendations: how the items of a list differ in their features, and in their
categories.
"""

from __future__ import annotations

from typing import Literal

import polars as pl

from .._catalog.registry import metric
from .._words.ranking import NO_PAIRS, ListDivisor, NoPairs, Ranking, RankWeight
from .popularity import length

__all__ = ["category_diversity", "category_entropy", "ild"]


@metric(
    "IntraListDiversity",
    "intra_list_diversity",
    display="ILD",
    labels=False,
    needs=("features",),
    spellings={"DiversityMetric": {"divisor": "list"}},
)
def ild(
    r: Ranking,
    k: int | None = None,
    *,
    distance: Literal["cosine", "hamming", "euclidean"] = "cosine",
    divisor: Literal["pairs", "list"] = "pairs",
    no_pairs: NoPairs = "null",
) -> pl.Expr:
    r"""Intra-list diversity: the mean distance of the pairs of recommended items.

    .. math:: \frac{2}{n (n - 1)} \sum_{i=1}^{k} \sum_{j < i} d(v_i, v_j)

    ``on(features=...)`` names the columns of the items' features v.

    Parameters
    ----------
    k
        Ranks to count; ``None`` counts all.
    distance
        ``"cosine"``, 1 minus the cosine, which is 0 with an item whose features are all 0;
        ``"hamming"``, the number of features that differ; ``"euclidean"``.
    divisor
        ``"pairs"``, or ``"list"`` for the number of items instead of that of pairs (Evidently).
    no_pairs
        The value of a list of one item: ``"null"``, none; ``"zero"`` (RecTools); ``"one"``.

    Returns
    -------
    One Float64 per query, from 0 on, up to 2 for the mean of cosine distances; null for an empty
    list, and for one item unless `no_pairs` gives it a value.

    References
    ----------
    Ziegler et al., Improving recommendation lists through topic diversification, WWW 2005;
    RecTools' ``IntraListDiversity``.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame(
    ...     {
    ...         "query_id": [1] * 3,
    ...         "doc_id": ["a", "b", "c"],
    ...         "score": [3, 2, 1],
    ...         "x": [1, 0, 1],
    ...         "y": [0, 1, 0],
    ...     }
    ... )
    >>> found = df.rank.on(features=["x", "y"]).evaluate("ild", "ild(distance=hamming)")
    >>> (
    ...     found["ild"].item(),
    ...     found["ild(distance=hamming)"].item(),
    ... )  # of three pairs two differ, in x and in y
    (0.6666666666666666, 1.3333333333333333)
    """
    distances = r.distances(k, distance)
    n = length(r, k)
    divided = n if divisor == "list" else n * (n - 1) / 2
    total = r.total(distances, k)
    mean = total / pl.when(n > 1).then(divided)
    return pl.when(n == 1).then(NO_PAIRS[no_pairs]).otherwise(mean)


@metric(
    display="Category diversity",
    labels=False,
    needs=("category",),
    spellings={"CategoricalDiversity": {"divisor": "k"}},
)
def category_diversity(
    r: Ranking, k: int | None = None, *, divisor: ListDivisor = "list"
) -> pl.Expr:
    r"""Category diversity: the number of different categories among the recommended items, per
    item.

    .. math:: \frac{|\bigcup_{i=1}^{k} C_i|}{n}

    ``on(category=...)`` names the column of the items' categories C: one, or a list of them, which
    may be empty or null.

    Parameters
    ----------
    k
        Ranks to count; ``None`` counts all.
    divisor
        ``"list"`` the length of the list, at most `k`; ``"k"``, also for a shorter list (RePlay).

    Returns
    -------
    One Float64 per query, from 0 on; null for an empty list.

    References
    ----------
    RePlay's ``CategoricalDiversity``.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame(
    ...     {
    ...         "query_id": [1] * 4,
    ...         "doc_id": [*"abcd"],
    ...         "score": [4, 3, 2, 1],
    ...         "genre": ["x", "x", "y", None],
    ...     }
    ... )
    >>> df.rank.on(category="genre").metrics.category_diversity()["category_diversity"].item()
    0.5
    """
    is_new = r.new_categories(k)
    return r.total(is_new, k) / length(r, k, divisor)


@metric(display="Category entropy", labels=False, needs=("category",), adds_up=False)
def category_entropy(r: Ranking, k: int | None = None, *, weight: RankWeight = "equal") -> pl.Expr:
    r"""Category entropy: the entropy of the categories of the recommended items, in bits.

    .. math:: -\sum_c q_c \log_2 q_c, \quad q_c \propto \sum_{i=1}^{k} w_i \frac{[c \in C_i]}{|C_i|}

    ``on(category=...)`` names the column of the items' categories C: one, or a list of them. Items
    without a category do not count.

    Parameters
    ----------
    k
        Ranks to count; ``None`` counts all.
    weight
        The weight w of rank i: ``"equal"``; ``"log2"``, 1 / log2(i + 1); or a number p between 0
        and 1, p^(i - 1).

    Returns
    -------
    One Float64 per query, from 0 on; null for a list without categories.

    References
    ----------
    LensKit's ``entropy`` and, with ``weight=0.85``, ``rank_biased_entropy``, which add 1e-6 to each
    category.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame(
    ...     {"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2, 1], "genre": ["x", "y"]}
    ... )
    >>> df.rank.on(category="genre").metrics.category_entropy()["category_entropy"].item()
    1.0
    """
    weights = r.weight_of_rank(weight)
    held = r.total(r.has_category(k), k, weight=weights)
    terms = r.total(r.category_terms(weights, k), k)
    value = held.log(2) - terms / held
    at_least_0 = value.clip(lower_bound=0.0)
    return pl.when(held > 0).then(at_least_0)
