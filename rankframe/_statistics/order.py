"""The order of runs by their means: ranks, how far each may be off, and groups that a test cannot
tell apart.
"""

from __future__ import annotations

from dataclasses import dataclass

from .._support.floats import Booleans, Floats, Integers, np
from .weighted_means import NOISE


@dataclass(frozen=True)
class Order:
    """The order of runs by a metric: their means, those of resamples, and which run beats which."""

    means: Floats
    drawn: Floats
    beats: Booleans

    @property
    def ranks(self) -> Integers:
        """The ranks of the means."""
        return _ranks(self.means)

    @property
    def groups(self) -> Integers:
        """1 for runs that none beats; n + 1 for those that a run of group n beats, and none of a
        later group.
        """
        group = np.zeros(len(self.means), dtype=np.int64)
        for (
            _
        ) in self.means:  # as many steps as the longest chain of runs of which each beats the next
            group = 1 + (self.beats * group[:, None]).max(axis=0)
        return group

    def ends(self, level: float) -> tuple[Floats, Floats]:
        """The interval of each rank: percentiles over resamples, and every rank that the test
        leaves open.
        """
        ranks = _ranks(self.drawn)
        low = np.quantile(ranks, level / 2, axis=0, method="lower")
        high = np.quantile(ranks, 1 - level / 2, axis=0, method="higher")
        beaten_by, beats = self.beats.sum(axis=0), self.beats.sum(axis=1)
        return np.minimum(low, 1 + beaten_by), np.maximum(high, len(ranks[0]) - beats)

    def numbers(self, level: float | None, *, groups: bool) -> list[list[int | None]]:
        """For each run its rank, the ends of its interval, how many it beats, how many beat it, and
        its group; null without a mean.
        """
        unknown = np.full(len(self.means), np.nan)
        low, high = (unknown, unknown) if level is None else self.ends(level)
        group = self.groups if groups else unknown
        counts = (self.ranks, low, high, self.beats.sum(axis=1), self.beats.sum(axis=0), group)
        columns = np.stack(counts, axis=1).astype(np.float64)
        columns[np.isnan(self.means)] = np.nan
        return [[None if np.isnan(x) else int(x) for x in row] for row in columns]


def _ranks(means: Floats) -> Integers:
    """The rank of each mean in the last axis, 1 for the largest; equal ones share the best rank."""
    above = [
        (means > (x + NOISE * np.abs(x))[..., None]).sum(axis=-1) for x in np.moveaxis(means, -1, 0)
    ]
    return 1 + np.stack(above, axis=-1)
