"""Preferences between documents: how many of them a ranking fulfils, as trec_eval counts; and
strengths that explain who wins.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import NormalDist
from typing import Any, NamedTuple

from .._support.extras import load
from .._support.floats import Booleans, Floats, Integers, np


def preferred(levels: Floats) -> Booleans | None:
    """Which documents a judgment group prefers to which, also by way of others; None if it
    contradicts itself.

    `levels` are the levels of the documents, a row for each subgroup; NaN where a document is not
    judged. Only within a subgroup is a document with a higher level preferred.
    """
    over: Booleans = np.any(levels[:, :, None] > levels[:, None, :], axis=0)
    while len(levels) > 1:
        further = over | (over.astype(np.float32) @ over.astype(np.float32) > 0)
        if (further == over).all():
            break
        over = further
    zero_and_more = len(levels) > 1 and ((levels == 0).any(axis=0) & (levels > 0).any(axis=0)).any()
    return None if zero_and_more or (over & over.T).any() else over


def in_order(x: Iterable[float]) -> float:
    """The sum from the first to the last, as C adds up; Python's own carries the rounding errors
    along.
    """
    return float(np.cumsum([0.0, *x])[-1])


def fulfilled(
    groups: Sequence[Floats], relations: Sequence[Booleans], n_retrieved: int
) -> dict[str, float]:
    """trec_eval's measures of the preferences of all groups, by name.

    The documents of each group's levels, and of its relation (see `preferred`), are the judged ones
    in rank order; those after the first `n_retrieved` were not retrieved.
    """
    retrieved = np.arange(groups[0].shape[1]) < n_retrieved
    # the first of a pair is retrieved, and above the second
    met = np.triu(np.repeat(retrieved[:, None], len(retrieved), axis=1), 1)
    counted = {
        "": np.ones_like(met),
        "_ret": np.logical_and.outer(retrieved, retrieved),
        "_imp": np.logical_or.outer(retrieved, retrieved),
    }
    found: dict[str, float] = {}
    ways = np.sum(relations, axis=0, dtype=np.int64)
    shares = ways / np.maximum(ways + ways.T, 1)
    for which, seen in counted.items():
        counts = [(int((over & seen & met).sum()), int((over & seen).sum())) for over in relations]
        of_all, possible = (sum(x) for x in zip(*counts, strict=True))
        found[f"prefs_simp{which}"] = of_all / max(possible, 1)
        pairs = np.triu(seen & (ways + ways.T > 0), 1)
        blocks = [
            shares[:n_retrieved, at][pairs[:n_retrieved, at]] for at in (retrieved, ~retrieved)
        ]
        found[f"prefs_pair{which}"] = in_order(np.concatenate(blocks)) / max(int(pairs.sum()), 1)
        found[f"prefs_avgjg{which}"] = in_order(f / max(p, 1) for f, p in counts) / len(groups)
        if which != "_imp":
            found[f"prefs_num_prefs_ful{which}"] = of_all
            ratios = in_order(
                _balanced(*x, seen, met, retrieved) for x in zip(groups, relations, strict=True)
            )
            found[f"prefs_avgjg_Rnonrel{which}"] = ratios / len(groups) if ratios > 0 else 0.0
        if which == "":
            found["prefs_num_prefs_poss"] = possible
    return found


def _balanced(
    levels: Floats, over: Booleans, seen: Booleans, met: Booleans, retrieved: Booleans
) -> float:
    """The share of a group's preferences fulfilled, were as many documents nonrelevant as relevant;
    NaN without a preference.

    Of more nonrelevant ones, the first in rank order count; lacking ones stand below all relevant
    documents. As in trec_eval, a group with one subgroup then counts all its documents against
    these nonrelevant ones, themselves too.
    """
    one, within = len(levels) == 1, seen.diagonal()  # all documents, or those that were retrieved
    relevant, others = (
        (x & ~np.isnan(levels)).any(axis=0)
        for x in (levels > 0, levels <= 0 if one else levels == 0)
    )
    r, n = int((relevant & within).sum()), int((others & within).sum())
    more = max(r - n, 0)
    if n > r and one:
        last = levels[0] == np.nanmin(levels)
        over = over & ~last | np.logical_and.outer(
            ~np.isnan(levels[0]), last & (last.cumsum() <= r)
        )
    elif n > r:
        kept = ~(others & (others.cumsum() > relevant.sum()))
        over = over & np.logical_and.outer(kept, kept)
    ful = int((over & seen & met).sum()) + int((relevant & retrieved).sum()) * more
    possible = int((over & seen).sum()) + int(relevant.sum()) * more
    return ful / possible if possible else np.nan


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
"""The curvature of a likelihood, in comparisons, below which it has no largest value: it rises for
ever."""


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
    """The strengths of `n` that are compared two at a time, by maximum likelihood under Davidson's
    model (JASA 65, 1970).

    Of two with strengths s and t, the first wins with odds s, the second with odds t, and they tie
    with odds nu sqrt(s t). An `outcome` of 0 means that the first wins, 1 a tie, 2 that the second
    wins. `prior` is a number of wins, of losses and, if anything ties, of ties that each one is
    given against another of mean strength. Comparisons of one cluster may resemble each other; with
    ``None`` all are independent.
    """
    # how often the strength of the first, that of the second, and nu are factors of the odds of a
    # win, a tie and a loss
    ways = np.array([[1.0, 0.0, 0.0], [0.5, 0.5, 1.0], [0.0, 1.0, 0.0]])
    pairs, pair = np.unique(np.stack([first, second]), axis=1, return_inverse=True)
    kinds, kind = 3 * pairs.shape[1], 3 * pair.ravel() + outcome
    counts = np.bincount(kind, minlength=kinds).reshape(-1, 3)
    tied = bool(counts[:, 1].any())
    given = np.vstack([counts, np.tile([prior, prior * tied, prior], (n, 1))])
    at = np.vstack([pairs.T, np.stack([np.arange(n), np.full(n, n)], axis=1)])
    at = np.column_stack(
        [at, np.full(len(at), n + 1)]
    )  # the parameters of a comparison: its two strengths, and nu
    total, free = (
        given.sum(axis=1)[:, None],
        np.delete(np.arange(n + 2), n),
    )  # the strength of the imagined one stays
    wins, ties, losses = (
        np.bincount(pairs[0], counts[:, x], n) + np.bincount(pairs[1], counts[:, 2 - x], n)
        for x in (0, 1, 2)
    )
    # one that wins, or loses, all of its comparisons has no strength
    steps = 1 if prior == 0 and (np.minimum(wins, losses) + ties == 0).any() else STEPS
    dimensions = n + bool(prior) - 1 + tied  # without a prior, only differences of strengths matter
    logs = np.zeros(n + 2)
    while True:
        odds = np.exp(logs[at] @ ways.T)
        odds[:, 1] *= tied
        chance = odds / odds.sum(axis=1, keepdims=True)
        mean = chance @ ways
        gradient, information = np.zeros(n + 2), np.zeros((n + 2, n + 2))
        np.add.at(gradient, at, given @ ways - total * mean)
        spread = (
            np.einsum("ko,ox,oy->kxy", chance, ways, ways) - mean[:, :, None] * mean[:, None, :]
        )
        np.add.at(information, (at[:, :, None], at[:, None, :]), total[:, :, None] * spread)
        curvature, axes = np.linalg.eigh(information[np.ix_(free, free)])
        curved = curvature > FLAT
        inverse = axes[:, curved] / curvature[curved] @ axes[:, curved].T
        step = inverse @ gradient[free]
        largest, steps = np.abs(step).max(), steps - 1
        logs[free] += step / max(1.0, largest)
        if largest < 1e-10 or curved.sum() < dimensions or not steps:
            break
    games = wins + ties + losses
    rate = (wins + ties / 2) / games
    effective, covariance, k, z = games, inverse, len(counts), NormalDist().inv_cdf((1 + ci) / 2)
    if clusters is not None:
        z = float(load("scipy.special", "stats").stdtrit(max(int(clusters.max()), 1), (1 + ci) / 2))
        together = _together(clusters, kind, kinds)
        expected = np.stack([rate[pairs[0]], 1 - rate[pairs[1]]], axis=1)[:, None, :]
        residual = np.array([1.0, 0.5, 0.0])[None, :, None] - expected
        spread = _spread(residual * [1.0, -1.0], at[:k, :2], n, together).diagonal()
        with np.errstate(divide="ignore", invalid="ignore"):
            effective = np.fmin(
                games, np.where(spread > 0, rate * (1 - rate) * games**2 / spread, games)
            )
        scores = _spread(ways - mean[:k, None, :], at[:k], n + 2, together)
        covariance = inverse @ scores[np.ix_(free, free)] @ inverse
    centered = np.eye(n) - 1 / n
    error = np.sqrt(np.maximum(np.diagonal(centered @ covariance[:n, :n] @ centered), 0))
    is_finite = largest < 1e-10 and curved.sum() == dimensions
    strength = centered @ logs[:n] if is_finite else np.full(n, np.nan)
    tie = np.exp(logs[-1]) / (2 + np.exp(logs[-1])) if tied else 0.0
    middle, scale = (
        (rate + z**2 / (2 * effective)) / (1 + z**2 / effective),
        z / (1 + z**2 / effective),
    )
    half = scale * np.sqrt(
        rate * (1 - rate) / effective + (z / (2 * effective)) ** 2
    )  # Wilson's interval
    return Strengths(
        *(wins, ties, losses, rate, (middle - half, middle + half)),
        *(
            strength,
            (strength - z * error, strength + z * error),
            float(tie) if is_finite else np.nan,
        ),
    )


def _together(clusters: Integers, kind: Integers, kinds: int) -> Any:
    """For each two kinds of comparison, how often they occur in the same cluster, summed over
    clusters, as a sparse array.
    """
    sparse, n = load("scipy.sparse", "stats"), int(clusters.max()) + 1
    member = sparse.csr_array((np.ones(len(kind)), (clusters, kind)), shape=(n, kinds))
    return member.T @ member * (n / (n - 1) if n > 1 else np.nan)


def _spread(values: Floats, columns: Integers, width: int, together: Any) -> Floats:
    """The sum of products of the sums of `values` over clusters, by column; a row for each kind of
    comparison of a pair.
    """
    sparse, rows = load("scipy.sparse", "stats"), together.shape[0]
    at = np.repeat(np.arange(rows), columns.shape[1]), np.repeat(columns, 3, axis=0).ravel()
    terms = sparse.csr_array((values.ravel(), at), shape=(rows, width))
    found: Floats = (terms.T @ together @ terms).toarray()
    return found
