"""How two rankings of the same documents agree: Kendall's and Spearman's measures."""

from __future__ import annotations

import polars as pl

from .._pair import Pair
from .._registry import agreement

__all__ = ["kendall_distance", "kendall_tau", "spearman"]


@agreement(bounds=(0, 1))
def kendall_distance(p: Pair, k: int | None = None) -> pl.Expr:
    """Kendall's tau distance: the share of pairs of the top `k` documents that the other ranking orders otherwise.

    Parameters
    ----------
    k
        How many documents to compare: those that the ranker's own score puts on top. ``None`` compares all.

    Returns
    -------
    One Float64 per query, 0 for the same order, 1 for the reverse; null with fewer than two documents. Tied
    scores are ordered by the tie rule, in both rankings.

    References
    ----------
    Kendall, A new measure of rank correlation, Biometrika 30, 1938; divided by m (m - 1) / 2 for m documents.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({"query_id": [1] * 3, "doc_id": ["a", "b", "c"], "score": [3, 2, 1], "other": [3, 1, 2]})
    >>> df.rank.agreement("other", "kendall_distance").row(0)     # 1 of 3 pairs
    (1, 0.3333333333333333)
    """
    top = p.down_to(k)
    pairs = top.n * (top.n - 1) / 2
    return pl.when(pairs > 0).then(top.inversions(top.rank, top.other_rank) / pairs)


@agreement("tau", "tau_b", "kendalltau", bounds=(-1, 1))
def kendall_tau(p: Pair) -> pl.Expr:
    """Kendall's tau-b: concordant less discordant pairs, over what ties leave of all pairs.

    Returns
    -------
    One Float64 per query, from -1 to 1; null where either score is the same for all documents of the query.

    References
    ----------
    Kendall, The treatment of ties in ranking problems, Biometrika 33, 1945; SciPy's ``kendalltau``.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({"query_id": [1] * 3, "doc_id": ["a", "b", "c"], "score": [3, 2, 1], "other": [3, 1, 2]})
    >>> df.rank.agreement("other", "kendall_tau").row(0)          # (2 - 1) / 3
    (1, 0.3333333333333333)
    """
    pairs = p.n * (p.n - 1) / 2
    tied, other_tied, both_tied = p.tied_pairs(p.score), p.tied_pairs(p.other), p.tied_pairs(p.score, p.other)
    discordant = p.inversions(p.rising, p.other_level)
    untied = ((pairs - tied) * (pairs - other_tied)).sqrt()
    return pl.when(untied > 0).then((pairs - tied - other_tied + both_tied - 2 * discordant) / untied)


@agreement("rho", "spearmanr", bounds=(-1, 1))
def spearman(p: Pair) -> pl.Expr:
    """Spearman's rho: the correlation of the two rankings' ranks, tied documents sharing the mean of theirs.

    Returns
    -------
    One Float64 per query, from -1 to 1; null where either score is the same for all documents of the query.

    References
    ----------
    Spearman, The proof and measurement of association between two things, 1904; SciPy's ``spearmanr``.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({"query_id": [1] * 3, "doc_id": ["a", "b", "c"], "score": [3, 2, 1], "other": [3, 1, 2]})
    >>> df.rank.agreement("other", "spearman").row(0)
    (1, 0.5)
    """
    return p.correlation(p.mean_rank(p.score), p.mean_rank(p.other))
