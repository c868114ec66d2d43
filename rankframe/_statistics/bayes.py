"""The Bayesian signed-rank test: the chances of positive, practically no and negative
differences.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from .._support.draws import Step, exponentials, parts, streams
from .._support.floats import Floats, np
from .weighted_means import NOISE

CHANCES: Mapping[str, pl.DataType] = dict.fromkeys(
    ("p_better", "p_equivalent", "p_worse"), pl.Float64()
)
"""The columns that results have in addition."""

PRIOR = 0.5
"""The weight of the prior, a difference of 0; each query weighs 1."""


def shares(differences: Floats, rope: float, weights: Floats) -> Floats:
    """The shares of pairs of queries whose mean difference is below -rope, between, and above rope.

    There is a row per weighting. `differences` begin with the prior, 0; a query makes a pair with
    itself, too. A mean on the border counts half on either side.
    """
    order = np.argsort(differences, kind="stable")
    d = differences[order]
    w = weights[:, order]
    start = np.zeros((len(w), 1))
    up_to = np.concatenate([start, w.cumsum(axis=1)], axis=1)

    def below(border: float) -> Floats:
        """The weight of the pairs whose sum is below a border."""
        noise = NOISE * max(abs(border), np.abs(d).max())
        partner = border - d
        n_less = np.searchsorted(d, partner - noise, "left")
        n_at_most = np.searchsorted(d, partner + noise, "right")
        less = (w * up_to[:, n_less]).sum(axis=1)
        at_most = (w * up_to[:, n_at_most]).sum(axis=1)
        return np.asarray(less + at_most) / 2

    total = up_to[:, -1] ** 2
    left = below(-2 * rope)
    right = total - below(2 * rope)
    middle = total - left - right
    return np.stack([left, middle, right], axis=1)


def _dirichlet(stream: np.random.PCG64, rows: int, n: int) -> Floats:
    """Weights of the prior and of n queries, which add up to 1."""
    gamma = exponentials(stream, rows, n + 2)
    # Half of a squared normal deviate has the distribution Gamma(1/2).
    uniform = np.exp(-gamma[:, 0])
    gamma[:, 1] *= np.cos(np.pi / 2 * uniform) ** 2
    weights = gamma[:, 1:]
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def signed_rank(
    differences: Floats, rope: float, resamples: int, seed: int, step: Step | None = None
) -> Floats:
    """The probabilities that a run's differences are below -rope, within, and above rope.

    Queries get random weights (Dirichlet's distribution), with a prior difference of 0 that weighs
    half a query. A weighting counts for the region that has most pairs of queries, as `shares`
    counts them; for half of each if the two sides have the same. NaN without a difference.

    References
    ----------
    A. Benavoli, F. Mangili, G. Corani, M. Zaffalon, F. Ruggeri (2014), A Bayesian Wilcoxon
    signed-rank test based on the Dirichlet process, ICML. The package baycomp.
    """
    z = differences[~np.isnan(differences)]
    n = len(z)
    if n == 0:
        return np.full(3, np.nan)
    with_prior = np.append(0.0, z)
    n_won = np.zeros(3)
    for stream, size, done in streams(resamples, seed):
        for rows in parts(size, n + 1):
            of_pairs = shares(with_prior, rope, _dirichlet(stream, rows, n))
            largest = of_pairs.max(axis=1, keepdims=True)
            is_largest = of_pairs >= largest - NOISE
            won = is_largest / is_largest.sum(axis=1, keepdims=True)
            n_won += won.sum(axis=0)
        if step is not None:
            step(done, resamples)
    return n_won / resamples
