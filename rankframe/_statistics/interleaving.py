"""Two rankings shown as one list, and which of the two the clicks on it prefer.

Each method has its way to credit clicks.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Literal, NamedTuple, TypeAlias

from .._support.floats import Floats, Integers, np
from .weighted_means import NOISE

Method: TypeAlias = Literal["team_draft", "balanced", "probabilistic"]

FALL = 3
"""How fast a document's chance falls in probabilistic interleaving: as 1 / rank^3.

See Hofmann et al. (2011)."""

NO_TEAM = -1

Pick: TypeAlias = tuple[int, int, float]
"""A document, its team (0, 1 or `NO_TEAM`), and the probability that it comes from that team."""

Runs: TypeAlias = Sequence[Sequence[int]]
"""The documents of the two runs, the best first."""


def interleaved(method: Method, runs: Runs, draws: Floats) -> list[Pick]:
    """The list that `method` shows, from the top.

    `draws` are two numbers from 0 to below 1 for each of its ranks. Where one run has no document
    left, those of the other follow without a team, so that a longer run has no advantage.
    """
    shown: dict[int, Pick] = {}
    by_teams = PICKS[method](runs, draws, shown)
    without_team = ((doc, NO_TEAM, np.nan) for doc in chain(*runs))
    for pick in chain(by_teams, without_team):
        doc, _, _ = pick
        shown.setdefault(doc, pick)
        if 2 * len(shown) == len(draws):
            break
    return [*shown.values()]


def _team_draft(runs: Runs, draws: Floats, shown: Container[int]) -> Iterator[Pick]:
    """In each round a coin says which team picks first; a pick is the best that is not shown."""
    # No pick goes deeper than there are draws.
    runs = [run[: len(draws)] for run in runs]
    for coin in draws:
        first = int(coin < 0.5)
        for team in (first, 1 - first):
            fresh = [next((doc for doc in run if doc not in shown), None) for run in runs]
            if None in fresh:
                return
            yield fresh[team] or 0, team, 1.0


def _balanced(runs: Runs, draws: Floats, shown: Container[int]) -> Iterator[Pick]:
    """One coin says which team is first; the teams take turns down their rankings.

    Documents that are shown are skipped.
    """
    first = int(draws[0] < 0.5)
    second = 1 - first
    for doc_of_first, doc_of_second in zip(runs[first], runs[second], strict=False):
        yield doc_of_first, first, 1.0
        yield doc_of_second, second, 1.0


def _probabilistic(runs: Runs, draws: Floats, shown: Container[int]) -> Iterator[Pick]:
    """For each rank a coin says which team draws, by chances that fall with documents' ranks."""
    docs = [*dict.fromkeys(chain(*runs))]
    place = {doc: i for i, doc in enumerate(docs)}
    chances = np.zeros((2, len(docs)))
    for team, run in enumerate(runs):
        places = [place[doc] for doc in run]
        rank = np.arange(1.0, len(run) + 1)
        chances[team, places] = rank**-FALL
    for coin, draw in draws.reshape(-1, 2):
        totals = chances.sum(axis=1)
        if not totals.all():
            return
        team = int(coin < 0.5)
        below = np.cumsum(chances[team])
        after = np.searchsorted(below, draw * below[-1], side="right")
        at = int(after.clip(max=below.argmax()))
        shares = chances[:, at] / totals
        chances[:, at] = 0.0
        yield docs[at], team, float(shares[team] / shares.sum())


PICKS: Mapping[Method, Callable[[Runs, Floats, Container[int]], Iterator[Pick]]] = {
    "team_draft": _team_draft, "balanced": _balanced, "probabilistic": _probabilistic,
}  # fmt: skip


class Clicks(NamedTuple):
    """The clicked documents of all impressions.

    Attributes
    ----------
    impression
        The number of the impression of each.
    team, credit
        As in `Pick`.
    rank, other_rank
        Its rank in the ranking of its team, and of the other; infinite if that one lacks it.
    """

    impression: Integers
    team: Integers
    credit: Floats
    rank: Floats
    other_rank: Floats


def outcomes(method: Method, clicks: Clicks, n: int) -> Floats:
    """For each of `n` impressions 1 if team 1 wins, -1 if team 0 wins, 0 for a tie.

    ``"team_draft"``: the team with more clicks wins. ``"balanced"``: each clicked document has the
    better of its two ranks, and the greatest of these is the depth; the ranking with more clicks
    down to it wins. ``"probabilistic"``: the expected outcome over all ways to credit the clicks to
    teams that could have shown this list.
    """
    has_team = clicks.team != NO_TEAM
    of_teams: Any = [figures[has_team] for figures in clicks]
    clicks = Clicks(*of_teams)
    of_team_1 = clicks.team == 1
    if method == "probabilistic":
        chance = np.where(of_team_1, clicks.credit, 1 - clicks.credit)
        return _expected(clicks.impression, chance, n)
    won = np.where(of_team_1, 1.0, -1.0)
    if method == "balanced":
        depth = np.zeros(n)
        best_rank = np.minimum(clicks.rank, clicks.other_rank)
        np.maximum.at(depth, clicks.impression, best_rank)
        depth_of_list = depth[clicks.impression]
        within_own = clicks.rank <= depth_of_list
        within_other = clicks.other_rank <= depth_of_list
        won *= within_own.astype(float) - within_other
    return np.sign(np.bincount(clicks.impression, won, minlength=n))


def _expected(impression: Integers, chance: Floats, n: int) -> Floats:
    """The chance that more clicks belong to team 1 than to team 0, less the reverse.

    Clicks are credited independently.
    """
    outcome = np.zeros(n)
    order = np.argsort(impression, kind="stable")
    starts = np.flatnonzero(np.diff(impression[order])) + 1
    for rows in np.split(order, starts):
        if not len(rows):
            continue
        # The chance of each number of clicks of team 1.
        ways = np.ones(1)
        for p in chance[rows]:
            ways = np.convolve(ways, [1 - p, p])
        lead = 2 * np.arange(len(ways)) - len(rows)
        outcome[impression[rows[0]]] = ways @ np.sign(lead)
    return np.where(np.abs(outcome) > NOISE, outcome, 0.0)


def clustered_mean(totals: Floats, counts: Floats) -> tuple[float, float]:
    """The mean of values that may vary together within clusters, and its standard error.

    Clusters are given by their totals and counts. The error is NaN for a single cluster.
    """
    n = len(totals)
    size = counts.sum()
    mean = totals.sum() / size
    if n < 2:
        return float(mean), np.nan
    residual = totals - counts * mean
    squares = n / (n - 1) * (residual @ residual)
    return float(mean), float(np.sqrt(squares) / size)
