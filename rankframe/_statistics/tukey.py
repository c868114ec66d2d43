"""The randomised honestly significant difference: intervals of all pairs that hold at once."""

from __future__ import annotations

import math

from .._support.draws import Step, parts, streams
from .._support.floats import Floats, np
from .weighted_means import NOISE


def honest_differences(
    values: Floats, weights: Floats, alpha: float, resamples: int, seed: int, step: Step | None
) -> tuple[Floats, Floats, Floats]:
    """The ends of the interval and the p-value of every two columns' difference of means.

    It is the first mean less the second. Each unit's values are permuted among the columns. The
    largest mean less the smallest exceeds a difference of two means in a share p of all
    permutations, among which the observed one counts; the intervals reach as far as it does in a
    share alpha.

    References
    ----------
    B. Carterette (2012), Multiple testing in statistical analysis of systems-based information
    retrieval experiments, ACM TOIS 30.
    """
    complete = ~np.isnan(values).any(axis=1)
    columns = values.shape[1]
    if np.isinf(values).any() or not complete.any():
        low, high, p = np.full((3, columns, columns), np.nan)
        return low, high, p
    worth = values[complete] * weights[complete, None]
    total_weight = weights[complete].sum()
    sums = worth.sum(axis=0)
    differences = sums[:, None] - sums
    noise = NOISE * np.abs(worth).sum()
    differing = worth[np.ptp(worth, axis=1) > 0]
    ranges = np.sort(_ranges(differing, resamples, seed, step) + noise)
    exceeded = resamples - np.searchsorted(ranges, np.abs(differences))
    p = (exceeded + 1) / (resamples + 1)
    half = np.nan
    nth = 0
    if not math.isnan(alpha):
        nth = math.ceil(round(alpha * (resamples + 1), 6)) - 1
    if nth > 0 and complete.sum() > 1:
        widest = ranges[-nth]
        half = widest / total_weight if widest > 2 * noise else 0.0
    center = differences / total_weight
    return center - half, center + half, p


def _ranges(worth: Floats, resamples: int, seed: int, step: Step | None) -> Floats:
    """The largest less the smallest sum of the columns, in each permutation of units' values."""
    ranges = []
    for stream, size, done in streams(resamples, seed):
        for rows in parts(size, worth.size):
            keys = stream.random_raw(rows * worth.size)
            order = np.argsort(keys.reshape(rows, *worth.shape), axis=2)
            permuted = np.take_along_axis(worth[None], order, axis=2)
            sums = permuted.sum(axis=1)
            ranges.append(np.ptp(sums, axis=1))
        if step is not None:
            step(done, resamples)
    return np.concatenate(ranges)
