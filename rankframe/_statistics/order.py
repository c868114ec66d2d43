"""The order of runs by their means: ranks, their intervals, and groups that no test tells apart."""

from __future__ import annotations

from dataclasses import dataclass

from .._support.floats import Booleans, Floats, Integers, np
from .weighted_means import NOISE


@dataclass(frozen=True)
class Order:
    """The order of runs by a metric: their means, those of resamples, and which run beats which."""

    means: Floats
    replicates: Floats
    beats: Booleans

    @property
    def ranks(self) -> Integers:
        """The ranks of the means."""
        return _ranks(self.means)

    @property
    def groups(self) -> Integers:
        """1 for runs that none beats; n + 1 for those that a run of group n beats, and none
        later.
        """
        n = len(self.means)
        group = np.zeros(n, dtype=np.int64)
        # A chain of runs of which each beats the next has at most n steps.
        for _ in range(n):
            group_of_winner = self.beats * group[:, None]
            group = 1 + group_of_winner.max(axis=0)
        return group

    def ends(self, level: float) -> tuple[Floats, Floats]:
        """The interval of each rank: percentiles over resamples, and what the test leaves open."""
        ranks = _ranks(self.replicates)
        low = np.quantile(ranks, level / 2, axis=0, method="lower")
        high = np.quantile(ranks, 1 - level / 2, axis=0, method="higher")
        first_open = 1 + self.beats.sum(axis=0)
        last_open = len(ranks[0]) - self.beats.sum(axis=1)
        return np.minimum(low, first_open), np.maximum(high, last_open)

    def numbers(self, level: float | None, *, groups: bool) -> list[list[int | None]]:
        """The figures of each run, null without a mean.

        They are its rank, the ends of its interval, how many it beats, how many beat it, and its
        group.
        """
        unknown = np.full(len(self.means), np.nan)
        low, high = (unknown, unknown) if level is None else self.ends(level)
        n_beaten = self.beats.sum(axis=1)
        n_beaten_by = self.beats.sum(axis=0)
        group = self.groups if groups else unknown
        figures = np.stack((self.ranks, low, high, n_beaten, n_beaten_by, group), axis=1)
        figures = figures.astype(np.float64)
        figures[np.isnan(self.means)] = np.nan
        return [_whole(row) for row in figures]


def _ranks(means: Floats) -> Integers:
    """The rank of each mean in the last axis, 1 for the largest; equal ones share the best rank."""
    n_above = []
    for x in np.moveaxis(means, -1, 0):
        border = x + NOISE * np.abs(x)
        is_above = means > border[..., None]
        n_above.append(is_above.sum(axis=-1))
    return 1 + np.stack(n_above, axis=-1)


def _whole(figures: Floats) -> list[int | None]:
    """Whole numbers, with null for NaN."""
    return [None if np.isnan(x) else int(x) for x in figures]
