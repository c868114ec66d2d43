"""Preferences between documents: how many a ranking fulfils, and strengths that explain who wins.

They are counted as trec_eval counts them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, NamedTuple

from .._support.extras import load
from .._support.floats import Booleans, Floats, Integers, np


def preferred(levels: Floats) -> Booleans | None:
    """Which documents a judgment group prefers to which; None if it contradicts itself.

    A preference may come by way of other documents. `levels` are the levels of the documents, a row
    for each subgroup; NaN where a document is not judged. Only within a subgroup is a document with
    a higher level preferred.
    """
    several = len(levels) > 1
    over: Booleans = np.any(levels[:, :, None] > levels[:, None, :], axis=0)
    while several:
        steps = over.astype(np.float32)
        further = over | (steps @ steps > 0)
        if (further == over).all():
            break
        over = further
    is_zero = (levels == 0).any(axis=0)
    is_more = (levels > 0).any(axis=0)
    if several and (is_zero & is_more).any():
        return None
    return None if (over & over.T).any() else over


def in_order(x: Iterable[float]) -> float:
    """The sum from the first to the last, as C adds up.

    Python's own carries the rounding errors along.
    """
    sums = np.cumsum([0.0, *x])
    return float(sums[-1])


def fulfilled(
    groups: Sequence[Floats], relations: Sequence[Booleans], n_retrieved: int
) -> dict[str, float]:
    """trec_eval's measures of the preferences of all groups, by name.

    The documents of each group's levels, and of its relation (see `preferred`), are the judged ones
    in rank order; those after the first `n_retrieved` were not retrieved.
    """
    n_documents = groups[0].shape[1]
    retrieved = np.arange(n_documents) < n_retrieved
    ways = np.sum(relations, axis=0, dtype=np.int64)
    both_ways = ways + ways.T
    shares = ways / np.maximum(both_ways, 1)
    # The first of a pair is retrieved, and above the second.
    rows = np.repeat(retrieved[:, None], n_documents, axis=1)
    is_met = np.triu(rows, 1)
    pairs_seen = {
        "": np.ones_like(is_met),
        "_ret": np.logical_and.outer(retrieved, retrieved),
        "_imp": np.logical_or.outer(retrieved, retrieved),
    }
    measures: dict[str, float] = {}
    for which, is_seen in pairs_seen.items():
        n_met = [int((over & is_seen & is_met).sum()) for over in relations]
        n_possible = [int((over & is_seen).sum()) for over in relations]
        measures[f"prefs_simp{which}"] = sum(n_met) / max(sum(n_possible), 1)
        is_pair = np.triu(is_seen & (both_ways > 0), 1)
        blocks = []
        for columns in (retrieved, ~retrieved):
            block = shares[:n_retrieved, columns]
            blocks.append(block[is_pair[:n_retrieved, columns]])
        n_pairs = int(is_pair.sum())
        measures[f"prefs_pair{which}"] = in_order(np.concatenate(blocks)) / max(n_pairs, 1)
        counts = zip(n_met, n_possible, strict=True)
        share_met = in_order(met / max(possible, 1) for met, possible in counts)
        measures[f"prefs_avgjg{which}"] = share_met / len(groups)
        if which != "_imp":
            measures[f"prefs_num_prefs_ful{which}"] = sum(n_met)
            balanced = [
                _balanced(levels, over, is_seen, is_met, retrieved)
                for levels, over in zip(groups, relations, strict=True)
            ]
            ratios = in_order(balanced)
            mean = ratios / len(groups) if ratios > 0 else 0.0
            measures[f"prefs_avgjg_Rnonrel{which}"] = mean
        if which == "":
            measures["prefs_num_prefs_poss"] = sum(n_possible)
    return measures


def _balanced(
    levels: Floats, over: Booleans, is_seen: Booleans, is_met: Booleans, retrieved: Booleans
) -> float:
    """The share of a group's preferences fulfilled, were as many documents nonrelevant as relevant.

    NaN without a preference. Of more nonrelevant ones, the first in rank order count; lacking ones
    stand below all relevant documents. As in trec_eval, a group with one subgroup then counts all
    its documents against these nonrelevant ones, themselves too.
    """
    has_one_subgroup = len(levels) == 1
    judged = ~np.isnan(levels)
    is_relevant = (judged & (levels > 0)).any(axis=0)
    is_nonrelevant = levels <= 0 if has_one_subgroup else levels == 0
    is_other = (judged & is_nonrelevant).any(axis=0)
    # All documents, or those that were retrieved.
    counts = is_seen.diagonal()
    n_relevant = int((is_relevant & counts).sum())
    n_others = int((is_other & counts).sum())
    n_lacking = max(n_relevant - n_others, 0)
    if n_others > n_relevant and has_one_subgroup:
        is_last = levels[0] == np.nanmin(levels)
        is_among_first = is_last & (is_last.cumsum() <= n_relevant)
        against_first = np.logical_and.outer(judged[0], is_among_first)
        over = over & ~is_last | against_first
    elif n_others > n_relevant:
        is_surplus = is_other & (is_other.cumsum() > is_relevant.sum())
        over = over & np.logical_and.outer(~is_surplus, ~is_surplus)
    n_retrieved = int((is_relevant & retrieved).sum())
    n_met = int((over & is_seen & is_met).sum()) + n_retrieved * n_lacking
    n_possible = int((over & is_seen).sum()) + int(is_relevant.sum()) * n_lacking
    return n_met / n_possible if n_possible else np.nan


class Strengths(NamedTuple):
    """Who wins comparisons of two.

    Attributes
    ----------
    wins, ties, losses
        The number of comparisons of each one, by their outcome.
    rate, rate_ends
        The share that each one wins, ties by half, and the ends of its interval.
    strength, ends
        The logarithm of its strength, whose mean is 0, and the ends of its interval; NaN if an
        infinite strength explains the comparisons better than any other.
    tie
        The probability that two of equal strength tie; NaN likewise.
    """

    wins: Integers
    ties: Integers
    losses: Integers
    rate: Floats
    rate_ends: tuple[Floats, Floats]
    strength: Floats
    ends: tuple[Floats, Floats]
    tie: float


STEPS = 200
"""The most steps of Newton's method."""

FLAT = 1e-7
"""The curvature of a likelihood, in comparisons, below which it rises for ever."""

CONVERGED = 1e-10
"""The largest step at which the likelihood is taken as the largest one."""

WAYS = np.array([[1.0, 0.0, 0.0], [0.5, 0.5, 1.0], [0.0, 1.0, 0.0]])
"""How often the first's strength, the second's, and nu are factors of the odds of an outcome.

The outcomes are a win of the first, a tie, and a win of the second, a row each."""


def strengths(
    first: Integers,
    second: Integers,
    outcome: Integers,
    n: int,
    *,
    prior: float,
    clusters: Integers | None,
    ci: float,
) -> Strengths:
    """The strengths of `n` that are compared two at a time, under Davidson's model.

    They have the maximum likelihood (R. R. Davidson, JASA 65, 1970). Of two with strengths s and t,
    the first wins with odds s, the second with odds t, and they tie with odds nu sqrt(s t). An
    `outcome` of 0 means that the first wins, 1 a tie, 2 that the second wins. `prior` is a number
    of wins, of losses and, if anything ties, of ties that each one is given against another of mean
    strength. Comparisons of one cluster may resemble each other; with ``None`` all are independent.
    """
    pairs, pair = np.unique(np.stack([first, second]), axis=1, return_inverse=True)
    n_kinds = 3 * pairs.shape[1]
    kind = 3 * pair.ravel() + outcome
    counts = np.bincount(kind, minlength=n_kinds).reshape(-1, 3)
    has_ties = bool(counts[:, 1].any())
    wins, ties, losses = _tallies(pairs, counts, n)
    # One that wins, or loses, all of its comparisons has no strength.
    is_unbeaten = np.minimum(wins, losses) + ties == 0
    steps = 1 if prior == 0 and is_unbeaten.any() else STEPS
    model = Davidson(pairs.T, counts, n, prior, has_ties)
    fit = model.fitted(steps)
    games = wins + ties + losses
    rate = (wins + ties / 2) / games
    covariance = fit.inverse
    z = NormalDist().inv_cdf((1 + ci) / 2)
    effective = games
    if clusters is not None:
        special = load("scipy.special", "stats")
        freedom = max(int(clusters.max()), 1)
        z = float(special.stdtrit(freedom, (1 + ci) / 2))
        together = _together(clusters, kind, n_kinds)
        effective = _effective_games(rate, games, pairs, together)
        covariance = model.sandwich(fit, together)
    centered = np.eye(n) - 1 / n
    variance = np.diagonal(centered @ covariance[:n, :n] @ centered)
    error = np.sqrt(np.maximum(variance, 0))
    strength = np.full(n, np.nan)
    tie = 0.0
    if fit.is_finite:
        strength = centered @ fit.logs[:n]
    if has_ties:
        nu = np.exp(fit.logs[-1])
        tie = float(nu / (2 + nu))
    if not fit.is_finite:
        tie = np.nan
    ends = (strength - z * error, strength + z * error)
    rate_ends = _wilson(rate, effective, z)
    return Strengths(wins, ties, losses, rate, rate_ends, strength, ends, tie)


def _tallies(pairs: Integers, counts: Integers, n: int) -> list[Any]:
    """The wins, the ties and the losses of each of `n`."""
    tallies = []
    for outcome in (0, 1, 2):
        as_first = np.bincount(pairs[0], counts[:, outcome], n)
        as_second = np.bincount(pairs[1], counts[:, 2 - outcome], n)
        tallies.append(as_first + as_second)
    return tallies


class Fit(NamedTuple):
    """The largest likelihood.

    Attributes
    ----------
    logs
        The logarithms of the strengths, of that of the imagined one, which stays 0, and of nu.
    inverse
        The inverse of the information on them, without the imagined one.
    factors
        How often strengths and nu are factors of the odds of each pair, as expected.
    is_finite
        Whether the likelihood has a largest value.
    """

    logs: Floats
    inverse: Floats
    factors: Floats
    is_finite: bool


@dataclass(frozen=True)
class Davidson:
    """Counts of comparisons under Davidson's model, and those of the prior.

    Attributes
    ----------
    pairs
        The two that are compared, a row for each pair.
    counts
        How often the first wins, the two tie, and the second wins.
    n, prior, has_ties
        As in `strengths`.
    """

    pairs: Integers
    counts: Integers
    n: int
    prior: float
    has_ties: bool

    @property
    def _free(self) -> Integers:
        """The parameters that are estimated: the strength of the imagined one stays."""
        return np.delete(np.arange(self.n + 2), self.n)

    @property
    def _parameters(self) -> Integers:
        """The parameters of each pair, and of each prior: its two strengths, and nu."""
        n = self.n
        of_prior = np.stack([np.arange(n), np.full(n, n)], axis=1)
        strengths = np.vstack([self.pairs, of_prior])
        nu = np.full(len(strengths), n + 1)
        return np.column_stack([strengths, nu])

    def fitted(self, steps: int) -> Fit:
        """The largest likelihood, by so many of Newton's steps at most."""
        n = self.n
        free = self._free
        at = self._parameters
        of_prior = [self.prior, self.prior * self.has_ties, self.prior]
        counts = np.vstack([self.counts, np.tile(of_prior, (n, 1))])
        total = counts.sum(axis=1)[:, None]
        # Without a prior, only differences of strengths matter.
        dimensions = n + bool(self.prior) - 1 + self.has_ties
        logs = np.zeros(n + 2)
        for _ in range(steps):
            odds = np.exp(logs[at] @ WAYS.T)
            odds[:, 1] *= self.has_ties
            chance = odds / odds.sum(axis=1, keepdims=True)
            mean = chance @ WAYS
            gradient = np.zeros(n + 2)
            np.add.at(gradient, at, counts @ WAYS - total * mean)
            squares = np.einsum("ko,ox,oy->kxy", chance, WAYS, WAYS)
            spread = squares - mean[:, :, None] * mean[:, None, :]
            information = np.zeros((n + 2, n + 2))
            np.add.at(information, (at[:, :, None], at[:, None, :]), total[:, :, None] * spread)
            curvature, axes = np.linalg.eigh(information[np.ix_(free, free)])
            is_curved = curvature > FLAT
            axes = axes[:, is_curved]
            inverse = axes / curvature[is_curved] @ axes.T
            step = inverse @ gradient[free]
            largest = np.abs(step).max()
            logs[free] += step / max(1.0, largest)
            n_curved = is_curved.sum()
            is_finite = bool(largest < CONVERGED and n_curved == dimensions)
            fit = Fit(logs, inverse, mean[: len(self.counts)], is_finite)
            if largest < CONVERGED or n_curved < dimensions:
                break
        return fit  # pyright: ignore[reportPossiblyUnboundVariable] - there is at least one step

    def sandwich(self, fit: Fit, together: Any) -> Floats:
        """The covariance of the parameters where comparisons of one cluster resemble each other."""
        free = self._free
        at = self._parameters[: len(self.counts)]
        residual = WAYS - fit.factors[:, None, :]
        scores = _spread(residual, at, self.n + 2, together)
        return np.asarray(fit.inverse @ scores[np.ix_(free, free)] @ fit.inverse)


def _effective_games(rate: Floats, games: Integers, pairs: Integers, together: Any) -> Floats:
    """How many independent games have a rate as sure as those in clusters."""
    expected = np.stack([rate[pairs[0]], 1 - rate[pairs[1]]], axis=1)
    points = np.array([1.0, 0.5, 0.0])
    residual = points[None, :, None] - expected[:, None, :]
    spread = _spread(residual * [1.0, -1.0], pairs.T, len(rate), together).diagonal()
    with np.errstate(divide="ignore", invalid="ignore"):
        independent = rate * (1 - rate) * games**2 / spread
        number = np.where(spread > 0, independent, games)
        return np.asarray(np.fmin(games, number))


def _wilson(rate: Floats, n: Floats, z: float) -> tuple[Floats, Floats]:
    """The ends of Wilson's interval of a rate."""
    shrink = 1 + z**2 / n
    middle = (rate + z**2 / (2 * n)) / shrink
    error = np.sqrt(rate * (1 - rate) / n + (z / (2 * n)) ** 2)
    half = z / shrink * error
    return middle - half, middle + half


def _together(clusters: Integers, kind: Integers, n_kinds: int) -> Any:
    """How often each two kinds of comparison occur in the same cluster, as a sparse array."""
    sparse = load("scipy.sparse", "stats")
    n = int(clusters.max()) + 1
    ones = np.ones(len(kind))
    member = sparse.csr_array((ones, (clusters, kind)), shape=(n, n_kinds))
    correction = n / (n - 1) if n > 1 else np.nan
    return member.T @ member * correction


def _spread(values: Floats, columns: Integers, width: int, together: Any) -> Floats:
    """The sum of products of the sums of `values` over clusters, by column.

    There is a row for each kind of comparison of a pair.
    """
    sparse = load("scipy.sparse", "stats")
    n_kinds = together.shape[0]
    row = np.repeat(np.arange(n_kinds), columns.shape[1])
    column = np.repeat(columns, 3, axis=0).ravel()
    terms = sparse.csr_array((values.ravel(), (row, column)), shape=(n_kinds, width))
    sums: Floats = (terms.T @ together @ terms).toarray()
    return sums
