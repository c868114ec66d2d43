"""Two rankings shown as one list, and which of the two the clicks on it prefer: each method has its
way to credit clicks.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from itertools import chain
from typing import Literal, NamedTuple, TypeAlias

from .._support.floats import Booleans, Floats, Integers, np
from .weighted_means import NOISE

Method: TypeAlias = Literal["team_draft", "balanced", "probabilistic"]

FALL = 3
"""How fast the chance of a document falls with its rank in probabilistic interleaving: as 1 /
rank^3 (Hofmann et al., 2011)."""

NO_TEAM = -1

Pick: TypeAlias = tuple[int, int, float]
"""A document, its team (0 or 1, or `NO_TEAM`), and the probability that the document comes from
that team, given the list."""

Runs: TypeAlias = Sequence[Sequence[int]]
"""The documents of the two runs, the best first."""


def interleaved(method: Method, runs: Runs, draws: Floats) -> list[Pick]:
    """The list that `method` shows, from the top; `draws` are two numbers from 0 to below 1 for
    each of its ranks.

    Where one run has no document left, those of the other follow without a team, so that a longer
    run has no advantage.
    """
    shown: dict[int, Pick] = {}
    for pick in chain(
        PICKS[method](runs, draws, shown), ((doc, NO_TEAM, np.nan) for run in runs for doc in run)
    ):
        shown.setdefault(pick[0], pick)
        if 2 * len(shown) == len(draws):
            break
    return [*shown.values()]


def _team_draft(runs: Runs, draws: Floats, shown: Container[int]) -> Iterator[Pick]:
    """In each round a coin says which team picks first; each picks the best of its documents that
    is not shown yet.
    """
    runs = [run[: len(draws)] for run in runs]  # no pick goes deeper
    for coin in draws:
        first = int(coin < 0.5)
        for team in (first, 1 - first):
            fresh = [next((doc for doc in run if doc not in shown), None) for run in runs]
            if None in fresh:
                return
            yield fresh[team] or 0, team, 1.0


def _balanced(runs: Runs, draws: Floats, shown: Container[int]) -> Iterator[Pick]:
    """One coin says which team is first; the teams take turns down their rankings, and documents
    that are shown are skipped.
    """
    first = int(draws[0] < 0.5)
    for pair in zip(runs[first], runs[1 - first], strict=False):
        yield from ((doc, team, 1.0) for doc, team in zip(pair, (first, 1 - first), strict=True))


def _probabilistic(runs: Runs, draws: Floats, shown: Container[int]) -> Iterator[Pick]:
    """For each rank a coin says which team draws one of its documents, by chances that fall with
    their ranks.
    """
    docs = [*dict.fromkeys(chain(*runs))]
    place = {doc: i for i, doc in enumerate(docs)}
    chances = np.zeros((2, len(docs)))
    for team, run in enumerate(runs):
        chances[team, [place[doc] for doc in run]] = np.arange(1.0, len(run) + 1) ** -FALL
    for coin, at in draws.reshape(-1, 2):
        totals = chances.sum(axis=1)
        if not totals.all():
            return
        team = int(coin < 0.5)
        below = np.cumsum(chances[team])
        drawn = int(np.searchsorted(below, at * below[-1], side="right").clip(max=below.argmax()))
        shares = chances[:, drawn] / totals
        chances[:, drawn] = 0.0
        yield docs[drawn], team, float(shares[team] / shares.sum())


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
    """For each of `n` impressions 1 if team 1 wins, -1 if team 0 wins, 0 for a tie; or the expected
    value of that.

    ``"team_draft"``: the team with more clicks wins. ``"balanced"``: of the two rankings down to
    the least rank that the lowest of the clicked documents has in either, the one with more clicks
    wins. ``"probabilistic"``: the expected outcome over all ways to credit the clicks to teams that
    could have shown this list.
    """
    counted = clicks.team != NO_TEAM
    at, team = clicks.impression[counted], clicks.team[counted]
    won = np.where(team == 1, 1.0, -1.0)
    if method == "probabilistic":
        return _expected(
            at, np.where(team == 1, clicks.credit[counted], 1 - clicks.credit[counted]), n
        )
    if method == "balanced":
        depth, ranks = np.zeros(n), [rank[counted] for rank in (clicks.rank, clicks.other_rank)]
        np.maximum.at(depth, at, np.minimum(*ranks))
        within: list[Booleans] = [rank <= depth[at] for rank in ranks]
        won *= within[0].astype(float) - within[1]
    return np.sign(np.bincount(at, won, minlength=n))


def _expected(impression: Integers, chance: Floats, n: int) -> Floats:
    """The chance that more clicks belong to team 1 than to team 0, less the reverse; clicks are
    credited independently.
    """
    found, order = np.zeros(n), np.argsort(impression, kind="stable")
    ends = np.flatnonzero(np.diff(impression[order])) + 1
    for rows in np.split(order, ends) if len(order) else ():
        ways = np.ones(1)  # the chance of each number of clicks of team 1
        for p in chance[rows]:
            ways = np.convolve(ways, [1 - p, p])
        found[impression[rows[0]]] = ways @ np.sign(2 * np.arange(len(ways)) - len(rows))
    return np.where(np.abs(found) > NOISE, found, 0.0)


def clustered_mean(totals: Floats, counts: Floats) -> tuple[float, float]:
    """The mean of values that may vary together within clusters, by each one's total and count, and
    its standard error.

    The error is NaN for a single cluster.
    """
    mean, n = totals.sum() / counts.sum(), len(totals)
    beyond = totals - counts * mean
    return float(mean), float(
        np.sqrt(n / (n - 1) * (beyond @ beyond)) / counts.sum()
    ) if n > 1 else np.nan
