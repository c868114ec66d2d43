"""The Bayesian signed-rank test: how probable it is that differences are positive, practically
none, or negative.
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
    """The shares of pairs of queries whose mean difference is below -rope, between both, and above
    rope: a row per weighting.

    `differences` begin with the prior, 0; a query makes a pair with itself, too. A mean on the
    border counts half on either side.
    """
    order = np.argsort(differences, kind="stable")
    d, w = differences[order], weights[:, order]
    up_to = np.concatenate([np.zeros((len(w), 1)), w.cumsum(axis=1)], axis=1)

    def below(border: float) -> Floats:
        noise = NOISE * max(abs(border), np.abs(d).max())
        ends = (
            np.searchsorted(d, border - d - noise, "left"),
            np.searchsorted(d, border - d + noise, "right"),
        )
        less, more = ((w * up_to[:, at]).sum(axis=1) for at in ends)
        return np.asarray(less + more) / 2

    total = up_to[:, -1] ** 2
    left, right = below(-2 * rope), total - below(2 * rope)
    return np.stack([left, total - left - right, right], axis=1)


def _dirichlet(stream: np.random.PCG64, rows: int, n: int) -> Floats:
    """Weights of the prior and of n queries, which add up to 1."""
    drawn = exponentials(stream, rows, n + 2)
    drawn[:, 1] *= (
        np.cos(np.pi / 2 * np.exp(-drawn[:, 0])) ** 2
    )  # half of a squared normal deviate: Gamma(1/2)
    return np.asarray(drawn[:, 1:] / drawn[:, 1:].sum(axis=1, keepdims=True))


def signed_rank(
    differences: Floats, rope: float, resamples: int, seed: int, step: Step | None = None
) -> Floats:
    """The probabilities that the differences of a run are below -rope, within, and above rope: of
    each, the share of weightings.

    Queries get random weights (Dirichlet's distribution), with a prior difference of 0 that weighs
    half a query. A weighting counts for the region that has most pairs of queries, as `shares`
    counts them; for half of each if the two sides have the same. NaN without a difference.

    References
    ----------
    A. Benavoli, F. Mangili, G. Corani, M. Zaffalon, F. Ruggeri (2014), A Bayesian Wilcoxon
    signed-rank test based on the Dirichlet process, ICML. The package baycomp.
    """
    differences = differences[~np.isnan(differences)]
    if not len(differences):
        return np.full(3, np.nan)
    with_prior, found = np.append(0.0, differences), np.zeros(3)
    for stream, size, done in streams(resamples, seed):
        for rows in parts(size, len(with_prior)):
            of_pairs = shares(with_prior, rope, _dirichlet(stream, rows, len(differences)))
            most = of_pairs >= of_pairs.max(axis=1, keepdims=True) - NOISE
            found += (most / most.sum(axis=1, keepdims=True)).sum(axis=0)
        if step is not None:
            step(done, resamples)
    return found / resamples
