"""Metrics of the whole table: how the items of a catalog are shared out over the lists of all
users.
"""

from __future__ import annotations

import polars as pl

from .._catalog.registry import catalog_metric
from .._words.exposure import Exposure, Least, Persistence, Weight

__all__ = [
    "aggregate_diversity",
    "coverage",
    "entropy",
    "exposure_gini",
    "gini",
    "hhi",
    "personalization",
    "popularity_lift",
    "simpson",
    "user_coverage",
]


@catalog_metric(
    "catalog_coverage", "item_coverage", "prediction_coverage", display="Coverage", bounds=(0, 1)
)
def coverage(e: Exposure, k: int | None = None) -> pl.Expr:
    r"""The share of the catalog's items that at least one user is shown.

    .. math:: \frac{|\{i : c_i > 0\}|}{N}

    `c` is the number of users with item i in their top `k`, `N` the number of items in the catalog
    (``items=``).

    Parameters
    ----------
    k
        The depth of the lists. ``None`` takes whole lists.

    References
    ----------
    Herlocker, Konstan, Terveen, Riedl, Evaluating collaborative filtering recommender systems, ACM
    TOIS 22(1), 2004.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame(
    ...     {"query_id": [1, 1, 2, 2], "doc_id": list("abac"), "score": [2.0, 1, 2, 1]}
    ... )
    >>> df.rank.items.catalog("coverage@2", items=["a", "b", "c", "d"], ci=None)["value"].item()
    0.75
    """
    n_shown = (e.shown(k) > 0).sum()
    return n_shown / e.n_items


@catalog_metric("distinct_items", display="Aggregate diversity", bounds=(0, None))
def aggregate_diversity(e: Exposure, k: int | None = None) -> pl.Expr:
    """The number of items that at least one user is shown.

    Parameters
    ----------
    k
        The depth of the lists. ``None`` takes whole lists.

    References
    ----------
    Adomavicius, Kwon, Improving aggregate recommendation diversity using ranking-based techniques,
    IEEE TKDE 24(5), 2012.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame(
    ...     {"query_id": [1, 1, 2, 2], "doc_id": list("abac"), "score": [2.0, 1, 2, 1]}
    ... )
    >>> df.rank.items.catalog("aggregate_diversity@2", ci=None)["value"].item()
    3.0
    """
    return (e.shown(k) > 0).sum()


@catalog_metric(
    "user_space_coverage", "covered_users", "CoveredUsers", display="User coverage", bounds=(0, 1)
)
def user_coverage(e: Exposure, k: int | None = None, *, least: Least = 1) -> pl.Expr:
    """The share of the table's users who are shown at least `least` items.

    A user without a single recommendation is in the table by a row with a null score, as ``judge``
    adds them.

    Parameters
    ----------
    k
        The depth of the lists. ``None`` takes whole lists.
    least
        The number of items that a user needs to count.

    References
    ----------
    Ge, Delgado-Battenfeld, Jannach, Beyond accuracy: evaluating recommender systems by coverage and
    serendipity, RecSys 2010.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({"query_id": [1, 1, 2], "doc_id": list("aba"), "score": [2.0, 1, None]})
    >>> df.rank.items.catalog("user_coverage@2", ci=None)["value"].item()
    0.5
    """
    return e.n_with(least, k) / e.n_users


def _gini(x: pl.Expr, n: pl.Expr, normalized: bool) -> pl.Expr:
    """The Gini index of what items have.

    Items without a row have 0, so the rows are the last of `n`.
    """
    x = x.sort()
    place = n - pl.len() + pl.int_range(1, pl.len() + 1)
    weighted = ((2 * place - n - 1) * x).sum()
    index = weighted / (n * x.sum())
    return index * n / (n - 1) if normalized else index


@catalog_metric("gini_index", "ListGini", display="Gini", bounds=(0, 1), higher_is_better=False)
def gini(e: Exposure, k: int | None = None, *, normalized: bool = False) -> pl.Expr:
    r"""The Gini index of how often each item of the catalog is shown: 0 if all are shown equally
    often.

    .. math:: \frac{\sum_{j=1}^{N} (2 j - N - 1) \, c_{(j)}}{N \sum_j c_{(j)}}

    The counts `c` of all `N` items of the catalog (``items=``), those of items that nobody is shown
    among them, stand in rising order.

    Parameters
    ----------
    k
        The depth of the lists. ``None`` takes whole lists.
    normalized
        True divides by (N - 1) / N, the value if one item takes all places.

    References
    ----------
    Gini, Measurement of inequality of incomes, The Economic Journal 31, 1921.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame(
    ...     {"query_id": [1, 1, 2, 2], "doc_id": list("abac"), "score": [2.0, 1, 2, 1]}
    ... )
    >>> df.rank.items.catalog("gini@2", items=4, ci=None)[
    ...     "value"
    ... ].item()  # (-1 * 1 + 1 * 1 + 3 * 2 - 3 * 0) / (4 * 4)
    0.375
    """
    return _gini(e.shown(k), e.n_items, normalized)


@catalog_metric("ExposureGini", display="Exposure Gini", bounds=(0, 1), higher_is_better=False)
def exposure_gini(
    e: Exposure,
    k: int | None = None,
    *,
    weight: Weight = "log2",
    p: Persistence = 0.8,
    normalized: bool = False,
) -> pl.Expr:
    """The Gini index of the exposure of the catalog's items: each time an item is shown counts by
    its rank.

    Parameters
    ----------
    k
        The depth of the lists. ``None`` takes whole lists.
    weight
        The exposure at a rank: ``"log2"``, 1 / log2(rank + 1), ``"rbp"``, (1 - p) p^(rank - 1), or
        ``"count"``, 1.
    p
        The probability that a user looks at the next rank, for ``"rbp"``.
    normalized
        As for ``gini``.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({"query_id": [1, 1], "doc_id": list("ab"), "score": [2.0, 1]})
    >>> df.rank.items.catalog("exposure_gini(weight=rbp,p=0.5)@2", items=2, ci=None)[
    ...     "value"
    ... ].item()  # (0.5 - 0.25) / 1.5
    0.16666666666666666
    """
    return _gini(e.exposure(weight, p, k), e.n_items, normalized)


@catalog_metric(
    "shannon_entropy", "distributional_coverage", "SEntropy", display="Entropy", bounds=(0, None)
)
def entropy(e: Exposure, k: int | None = None) -> pl.Expr:
    r"""The Shannon entropy, in bits, of the items' shares of all places: the higher, the more
    evenly items are shown.

    .. math:: -\sum_i p_i \log_2 p_i

    Parameters
    ----------
    k
        The depth of the lists. ``None`` takes whole lists.

    References
    ----------
    Shannon, A mathematical theory of communication, Bell System Technical Journal 27, 1948.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame(
    ...     {"query_id": [1, 1, 2, 2], "doc_id": list("abac"), "score": [2.0, 1, 2, 1]}
    ... )
    >>> df.rank.items.catalog("entropy@2", ci=None)["value"].item()  # 1/2 * 1 + 2 * 1/4 * 2
    1.5
    """
    shown = e.shown(k)
    total = shown.sum()
    terms = pl.when(shown > 0).then(shown * shown.log(2))
    return total.log(2) - terms.sum() / total


@catalog_metric("herfindahl", display="HHI", bounds=(0, 1), higher_is_better=False)
def hhi(e: Exposure, k: int | None = None) -> pl.Expr:
    r"""The Herfindahl-Hirschman index: the probability that two places, drawn with replacement,
    show the same item.

    .. math:: \sum_i p_i^2

    Parameters
    ----------
    k
        The depth of the lists. ``None`` takes whole lists.

    References
    ----------
    Hirschman, The paternity of an index, American Economic Review 54, 1964.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame(
    ...     {"query_id": [1, 1, 2, 2], "doc_id": list("abac"), "score": [2.0, 1, 2, 1]}
    ... )
    >>> df.rank.items.catalog("hhi@2", ci=None)["value"].item()  # 1/4 + 2 * 1/16
    0.375
    """
    shown = e.shown(k)
    return (shown**2).sum() / shown.sum() ** 2


@catalog_metric("gini_simpson", display="Simpson", bounds=(0, 1))
def simpson(e: Exposure, k: int | None = None) -> pl.Expr:
    """The Gini-Simpson index: the probability that two places, drawn with replacement, show
    different items.

    Parameters
    ----------
    k
        The depth of the lists. ``None`` takes whole lists.

    References
    ----------
    Simpson, Measurement of diversity, Nature 163, 1949.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame(
    ...     {"query_id": [1, 1, 2, 2], "doc_id": list("abac"), "score": [2.0, 1, 2, 1]}
    ... )
    >>> df.rank.items.catalog("simpson@2", ci=None)["value"].item()
    0.625
    """
    return 1 - hhi(e, k)


@catalog_metric(
    "inter_user_diversity", "PersonalizationMetric", display="Personalization", bounds=(0, 1)
)
def personalization(e: Exposure, k: int | None = None) -> pl.Expr:
    r"""How different the lists of two users are: 1 less the mean cosine of their sets of items,
    over all pairs of users.

    .. math:: 1 - \frac{\sum_i \left( \sum_{u : i \in L_u} |L_u|^{-1/2} \right)^2 - U}{U (U - 1)}

    `L` are the lists of the `U` users with one. The sum over items takes the place of one over
    pairs of users, which it equals.

    Parameters
    ----------
    k
        The depth of the lists. ``None`` takes whole lists.

    Returns
    -------
    0 if all lists hold the same items, 1 if no two lists share one; null for fewer than two users
    with a list. In a resample, a user who is drawn twice makes no pair with itself.

    References
    ----------
    The definition of recmetrics; Zhou, Kuscsik, Liu, Medo, Wakeling, Zhang, Solving the apparent
    diversity-accuracy dilemma of recommender systems, PNAS 107(10), 2010, compares lists of one
    length.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame(
    ...     {"query_id": [1, 1, 2, 2], "doc_id": list("abac"), "score": [2.0, 1, 2, 1]}
    ... )
    >>> df.rank.items.catalog("personalization@2", ci=None)["value"].round(
    ...     6
    ... ).item()  # one of two items is shared
    0.5
    """
    same = e.n_same(k)
    pairs = e.n_with(1, k) ** 2
    places = e.summed(1 / e.length.sqrt(), k)
    products = (places**2).sum()
    cosine = (products - same) / (pairs - same)
    distance = (1 - cosine).clip(0, 1)  # rounding may leave it
    return pl.when(pairs > same).then(distance)


@catalog_metric("pop_lift", display="Popularity lift", bounds=(-1, None), higher_is_better=False)
def popularity_lift(e: Exposure, k: int | None = None) -> pl.Expr:
    r"""How much more popular the items shown are than those that the same users chose before.

    .. math:: \frac{GAP_{shown} - GAP_{past}}{GAP_{past}}

    `GAP` is the mean over users of the mean popularity of their items, the popularity of an item
    the share of the users of the past interactions (``interactions=``) who have it, 0 for an item
    without any. Users without a list, or without past interactions, are left out of the respective
    mean.

    Parameters
    ----------
    k
        The depth of the lists. ``None`` takes whole lists.

    Returns
    -------
    0 if lists are as popular as the users' past, above 0 if more so; null if no user has past
    interactions.

    References
    ----------
    Abdollahpouri, Mansoury, Burke, Mobasher, The unfairness of popularity bias in recommendation,
    RMSE at RecSys 2019.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({"query_id": [1, 2], "doc_id": ["a", "a"], "score": [1.0, 1]})
    >>> train = pl.DataFrame(
    ...     {"query_id": [1, 2, 2], "doc_id": ["a", "b", "a"]}
    ... )  # a: 2 of 2 users, b: 1 of 2
    >>> df.rank.items.catalog("popularity_lift", interactions=train, ci=None)["value"].round(
    ...     6
    ... ).item()  # (1 - 0.875) / 0.875
    0.142857
    """
    total = e.of_users(e.popularity.mean(), k)
    shown = total / e.n_with(1, k)
    return shown / e.past_popularity - 1
