"""nERR8 to nERR11: variants of ERR in the C/W/L framework, where a document satisfies with probability equal to its gain."""

from __future__ import annotations

import polars as pl

from .._catalog.registry import metric
from .._words.ranking import Cutoff, ListedCutoff, Persistence, Ranking
from .cwl_user_models import (
    BEYOND,
    Report,
    Share,
    Target,
    TopLabel,
    by_rank,
    insq_weights,
    reported,
    running,
    table,
    without_residual,
)

__all__ = ["nerr8", "nerr9", "nerr10", "nerr11"]


@metric(display="nERR8", bounds=(0, 1), beyond=BEYOND, gains_only=without_residual)
def nerr8(
    r: Ranking,
    k: ListedCutoff,
    *,
    max_label: TopLabel = None,
    gain: Share = None,
    report: Report = "EU",
    residual: bool = False,
) -> pl.Expr:
    r"""NERR by equation 8: the gain per document of a reader who stops at a document with probability equal to its gain.

    .. math:: \frac{\sum_{i=1}^{k} V_i \, g_i}{\sum_{i=1}^{k} V_i}, \quad V_i = \prod_{j=1}^{i-1} (1 - g_j)

    Parameters
    ----------
    k
        The last rank that is read, at most 1,000,000.
    max_label, gain, report, residual
        As for :func:`rankframe.metrics.cwl.sdcg`.

    Returns
    -------
    One Float64 per query; EU is from 0 to 1.

    References
    ----------
    Azzopardi, Mackenzie and Moffat, ERR is not C/W/L: exploring the relationship between expected reciprocal rank and
    other metrics, ICTIR 2021.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2.0, 1.0], "label": [0, 1]})
    >>> df.rank.evaluate("nerr8@3")["nerr8@3"].item()             # a gain of 1 from two documents
    0.5
    """
    reader = by_rank(lambda i: 1.0, lambda i: i, stops=True, cascade=True)
    return reported(r, reader, k, report, residual, max_label, gain)


@metric(display="nERR9", bounds=(0, 1), beyond=BEYOND, gains_only=without_residual)
def nerr9(
    r: Ranking,
    k: ListedCutoff,
    *,
    max_label: TopLabel = None,
    gain: Share = None,
    report: Report = "EU",
    residual: bool = False,
) -> pl.Expr:
    r"""NERR by equation 9: as :func:`nerr8`, but a reader not satisfied at rank i gives up with probability 1 / (i + 1).

    .. math:: \frac{\sum_{i=1}^{k} V_i \, g_i}{\sum_{i=1}^{k} V_i}, \quad V_i = \frac{1}{i} \prod_{j=1}^{i-1} (1 - g_j)

    Parameters
    ----------
    k
        The last rank that is read, at most 1,000,000.
    max_label, gain, report, residual
        As for :func:`rankframe.metrics.cwl.sdcg`.

    Returns
    -------
    One Float64 per query; EU is from 0 to 1.

    References
    ----------
    Azzopardi, Mackenzie and Moffat, ERR is not C/W/L, ICTIR 2021.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2.0, 1.0], "label": [0, 1]})
    >>> round(df.rank.evaluate("nerr9@3")["nerr9@3"].item(), 4)   # 1/2 over 1 + 1/2
    0.3333
    """
    chances = [1 / i for i in range(1, k + 1)]
    reader = by_rank(table([0.0, *chances]), table(running(chances)), stops=True, cascade=True)
    return reported(r, reader, k, report, residual, max_label, gain)


@metric(display="nERR10", bounds=(0, 1), beyond=BEYOND, gains_only=without_residual)
def nerr10(
    r: Ranking,
    depth: Cutoff = 1000,
    *,
    p: Persistence = 0.9,
    max_label: TopLabel = None,
    gain: Share = None,
    report: Report = "EU",
    residual: bool = False,
) -> pl.Expr:
    r"""NERR by equation 10: as :func:`nerr8`, but a reader who is not satisfied goes on with probability `p`.

    .. math:: \frac{\sum_i V_i \, g_i}{\sum_i V_i}, \quad V_i = p^{\,i-1} \prod_{j=1}^{i-1} (1 - g_j)

    The sums go down to `depth`.

    Parameters
    ----------
    depth
        The last rank that is read, by default 1000, as in cwl_eval, even if fewer documents were retrieved.
    p
        The reader's persistence, between 0 and 1.
    max_label, gain, report, residual
        As for :func:`rankframe.metrics.cwl.sdcg`.

    Returns
    -------
    One Float64 per query; EU is from 0 to 1.

    References
    ----------
    Azzopardi, Mackenzie and Moffat, ERR is not C/W/L, ICTIR 2021.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2.0, 1.0], "label": [0, 1]})
    >>> round(df.rank.evaluate("nerr10(p=0.5)")["nerr10(p=0.5)"].item(), 4)     # 1/2 over 1 + 1/2
    0.3333
    """
    reader = by_rank(lambda i: p ** (i - 1), lambda i: (1 - p**i) / (1 - p), stops=False, cascade=True)
    return reported(r, reader, depth, report, residual, max_label, gain)


@metric(display="nERR11", bounds=(0, 1), beyond=BEYOND, gains_only=without_residual)
def nerr11(
    r: Ranking,
    depth: Cutoff = 1000,
    *,
    target: Target = 1.0,
    max_label: TopLabel = None,
    gain: Share = None,
    report: Report = "EU",
    residual: bool = False,
) -> pl.Expr:
    r"""NERR by equation 11: as :func:`nerr8`, but a reader who is not satisfied goes on as in :func:`rankframe.metrics.cwl.insq`.

    .. math:: \frac{\sum_i V_i \, g_i}{\sum_i V_i}, \quad V_i = \left(\frac{2T}{2T + i - 1}\right)^2 \prod_{j=1}^{i-1} (1 - g_j)

    `T` is `target`; the sums go down to `depth`.

    Parameters
    ----------
    depth
        The last rank that is read, by default 1000, as in cwl_eval, even if fewer documents were retrieved.
    target
        The gain that the reader needs, above 0 and up to 1,000,000.
    max_label, gain, report, residual
        As for :func:`rankframe.metrics.cwl.sdcg`.

    Returns
    -------
    One Float64 per query; EU is from 0 to 1.

    References
    ----------
    Azzopardi, Mackenzie and Moffat, ERR is not C/W/L, ICTIR 2021.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2.0, 1.0], "label": [0, 1]})
    >>> round(df.rank.evaluate("nerr11")["nerr11"].item(), 4)     # 4/9 over 1 + 4/9
    0.3077
    """
    reader = by_rank(*insq_weights(target, depth), stops=False, cascade=True)
    return reported(r, reader, depth, report, residual, max_label, gain)
