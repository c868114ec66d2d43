"""The probability that users examine a rank, from clicks on documents that were shown at several
ranks.

All functions take an array whose last two axes are ranks: the clicks at rank i on the documents
that were shown at ranks i and j, equally often at both. They give the probability at each rank over
that at rank 1; NaN where the clicks do not determine it.
"""

from __future__ import annotations

from .._support.floats import Booleans, Floats, np

STEPS = 200
"""The most steps towards the largest likelihood; ten or so are usual."""

NEAR = 1e-10
"""The relative change of a probability at which it is found."""


def swapped(clicks: Floats) -> Floats:
    """The ratio of clicks on documents that were shown at a rank and at rank 1."""
    found = _over(clicks[..., :, 0], clicks[..., 0, :])
    found[..., 0] = 1.0
    return found


def chained(clicks: Floats) -> Floats:
    """The product of the ratios of clicks on documents that were shown at each two adjacent
    ranks.
    """
    ranks = np.arange(clicks.shape[-1] - 1)
    ratios = _over(clicks[..., ranks + 1, ranks], clicks[..., ranks, ranks + 1])
    ratios = np.where(
        ratios > 0, ratios, np.nan
    )  # without clicks nothing is known of the ranks below
    found: Floats = np.concatenate([np.ones_like(clicks[..., :1, 0]), ratios], axis=-1).cumprod(
        axis=-1
    )
    return found


def harvested(clicks: Floats) -> Floats:
    """The probabilities under which the clicks on the documents of all pairs of ranks are the most
    likely.

    A click on a document of ranks i and j is at rank i with probability p_i / (p_i + p_j), whatever
    its relevance: the model of Bradley and Terry. Newton's steps in log p, shortened so that each
    raises the likelihood (Sun and Tran-Dinh, Mathematical Programming 178, 2019), reach the largest
    one also where few documents connect the ranks.
    """
    known = _bounded(clicks > 0)
    above_0 = known & _bounded(np.swapaxes(clicks, -1, -2) > 0)
    clicks = clicks * (above_0[..., :, None] & above_0[..., None, :])
    own, both = clicks.sum(axis=-1), clicks + np.swapaxes(clicks, -1, -2)
    free, diagonal = above_0 & (np.arange(own.shape[-1]) > 0), np.eye(own.shape[-1])
    log_p = np.zeros_like(own)
    for _ in range(STEPS):
        share = 1 / (1 + np.exp(log_p[..., None, :] - log_p[..., :, None]))
        slope, curve = own - (both * share).sum(axis=-1), both * share * (1 - share)
        curve = diagonal * curve.sum(axis=-1)[..., None] - curve
        curve = np.where(free[..., :, None] & free[..., None, :], curve, diagonal)
        step = np.linalg.solve(curve, np.where(free, slope, 0.0)[..., None])[..., 0]
        size = np.ptp(step, axis=-1, keepdims=True)
        step *= np.divide(np.log1p(size), size, out=np.ones_like(size), where=size > 0)
        log_p += step
        if (np.abs(step) <= NEAR).all():
            break
    return np.where(known, np.where(above_0, np.exp(log_p), 0.0), np.nan)


def _bounded(clicked: Booleans) -> Booleans:
    """Whether the likelihood has a finite probability of each rank, over that of the first rank.

    It has if a document that was shown at this rank was clicked at the first one, or at another
    rank of which this holds.
    """
    found: Booleans = np.zeros(clicked.shape[:-1], dtype=bool)
    found[..., 0] = True
    for _ in range(clicked.shape[-1] - 1):
        found |= (found[..., :, None] & clicked).any(axis=-2)
    return found


def _over(x: Floats, y: Floats) -> Floats:
    """The quotient; NaN where it is no number."""
    with np.errstate(divide="ignore", invalid="ignore"):
        found = x / y
    return np.where(np.isfinite(found), found, np.nan)
