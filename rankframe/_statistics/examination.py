"""The probability that users examine a rank, from clicks on documents of several ranks.

All functions take an array whose last two axes are ranks: the clicks at rank i on the documents
that were shown at ranks i and j, equally often at both. They give the probability at each rank over
that at rank 1; NaN where the clicks do not determine it.
"""

from __future__ import annotations

from .._support.floats import Booleans, Floats, np
from .weighted_means import only_where

STEPS = 200
"""The most steps towards the largest likelihood; ten or so are usual."""

NEAR = 1e-10
"""The relative change of a probability at which it is found."""


def swapped(clicks: Floats) -> Floats:
    """The ratio of clicks on documents that were shown at a rank and at rank 1."""
    at_rank = clicks[..., :, 0]
    at_first = clicks[..., 0, :]
    ratios = _over(at_rank, at_first)
    ratios[..., 0] = 1.0
    return ratios


def chained(clicks: Floats) -> Floats:
    """The product of the ratios of clicks on documents shown at each two adjacent ranks."""
    ranks = np.arange(clicks.shape[-1] - 1)
    below = clicks[..., ranks + 1, ranks]
    above = clicks[..., ranks, ranks + 1]
    ratios = _over(below, above)
    # Without clicks nothing is known of the ranks below.
    ratios = only_where(ratios > 0, ratios)
    at_first = np.ones_like(clicks[..., :1, 0])
    return np.asarray(np.concatenate([at_first, ratios], axis=-1).cumprod(axis=-1))


def harvested(clicks: Floats) -> Floats:
    """The probabilities under which the clicks on documents of all pairs of ranks are likeliest.

    A click on a document of ranks i and j is at rank i with probability p_i / (p_i + p_j), whatever
    its relevance: the model of Bradley and Terry. Newton's steps in log p, shortened so that each
    raises the likelihood (Sun and Tran-Dinh, Mathematical Programming 178, 2019), reach the largest
    one also where few documents connect the ranks.
    """
    was_clicked = clicks > 0
    known = _bounded(was_clicked)
    above_0 = known & _bounded(np.swapaxes(was_clicked, -1, -2))
    clicks = clicks * _pairs(above_0)
    at_rank = clicks.sum(axis=-1)
    at_either = clicks + np.swapaxes(clicks, -1, -2)
    n_ranks = clicks.shape[-1]
    free = above_0 & (np.arange(n_ranks) > 0)
    diagonal = np.eye(n_ranks)
    log_p = np.zeros_like(at_rank)
    for _ in range(STEPS):
        log_odds = log_p[..., None, :] - log_p[..., :, None]
        share = 1 / (1 + np.exp(log_odds))
        slope = at_rank - (at_either * share).sum(axis=-1)
        slope = np.where(free, slope, 0.0)
        curve = at_either * share * (1 - share)
        hessian = diagonal * curve.sum(axis=-1)[..., None] - curve
        hessian = np.where(_pairs(free), hessian, diagonal)
        step = np.linalg.solve(hessian, slope[..., None])[..., 0]
        size = np.ptp(step, axis=-1, keepdims=True)
        shorter = np.ones_like(size)
        np.divide(np.log1p(size), size, out=shorter, where=size > 0)
        step *= shorter
        log_p += step
        if (np.abs(step) <= NEAR).all():
            break
    p = np.where(above_0, np.exp(log_p), 0.0)
    return only_where(known, p)


def _pairs(ranks: Booleans) -> Booleans:
    """The pairs of which both ranks have a property."""
    both: Booleans = ranks[..., :, None] & ranks[..., None, :]
    return both


def _bounded(clicked: Booleans) -> Booleans:
    """Whether the likelihood has a finite probability of each rank, over that of the first rank.

    It has if a document that was shown at this rank was clicked at the first one, or at another
    rank of which this holds.
    """
    bounded: Booleans = np.zeros(clicked.shape[:-1], dtype=bool)
    bounded[..., 0] = True
    for _ in range(clicked.shape[-1] - 1):
        clicked_above = bounded[..., :, None] & clicked
        bounded |= clicked_above.any(axis=-2)
    return bounded


def _over(x: Floats, y: Floats) -> Floats:
    """The quotient; NaN where it is no number."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = x / y
    return only_where(np.isfinite(ratio), ratio)
