"""Intervals of metrics of a whole table: resample users, and count items again.

A resample has fewer different users than the table, so it shows fewer different items: coverage is lower in every resample,
concentration higher. The interval therefore takes the spread of the resamples' values about their mean, and centres it on
the value of the table.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from .._catalog.call import Call
from .._decisions.resampling import Resampling
from .._support.progress import Progress

if TYPE_CHECKING:
    from .._support.floats import Floats


def resamples_of(
    values: Callable[[Floats], Sequence[float]], n: int, resampling: Resampling, progress: Progress
) -> Floats:
    """The values of each resample, a row per resample, from the weights of its users."""
    import numpy as np

    from .._support.draws import counts, parts, streams

    found = []
    for stream, size, done in streams(resampling.resamples, resampling.seed):
        for rows in parts(size, n):
            found += [values(weights) for weights in counts(stream, rows, n)]
        progress(done, resampling.resamples)
    return np.array(found)


def about(value: Sequence[float], found: Floats, ci: float, calls: Sequence[Call] | None) -> tuple[Floats, Floats]:
    """The interval about each value: the spread of the resamples' values about their mean, cut at a metric's bounds."""
    import numpy as np

    ends = np.full((2, len(value)), np.nan)
    tails = (1 - ci) / 2, (1 + ci) / 2
    for i, x in enumerate(value):
        of_metric = found[:, i][np.isfinite(found[:, i])]
        if len(of_metric) and np.isfinite(x):
            ends[:, i] = x + np.quantile(of_metric, tails) - of_metric.mean()
    if calls is not None:
        low, high = zip(*(call.bounds for call in calls), strict=True)
        ends = np.clip(ends, [-np.inf if x is None else x for x in low], [np.inf if x is None else x for x in high])
    return ends[0], ends[1]
