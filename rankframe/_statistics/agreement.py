"""Agreement of judges, and of rankings that share few documents.

That of judges comes from counts of documents by the two grades that they have. Counts may have
further axes before the two of grades, as one of resamples; results have these.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

from .._support.extras import load
from .._support.floats import Floats, np
from .weighted_means import NOISE

Penalty: TypeAlias = Literal["plain", "linear", "quadratic"]
"""How a disagreement weighs: each the same, or by the grades between the two, or their square."""

PENALTIES: dict[Penalty, int] = {"plain": 0, "linear": 1, "quadratic": 2}


def quotient(x: Floats, y: Floats) -> Floats:
    """The quotient; NaN where the divisor is 0."""
    ratio = np.full(np.broadcast(x, y).shape, np.nan)
    np.divide(x, y, out=ratio, where=y != 0)
    return ratio


def kappa(counts: Floats, penalty: Penalty = "plain") -> Floats:
    """Cohen's kappa: 1 less the disagreement over that of judges who grade at random.

    The latter give as many of every grade. 1 for equal grades, 0 for chance; NaN if both have one
    grade only.

    References
    ----------
    J. Cohen (1960), A coefficient of agreement for nominal scales; (1968), Weighted kappa.
    scikit-learn's ``cohen_kappa_score``.
    """
    grades = np.arange(counts.shape[-1])
    steps = np.abs(grades[:, None] - grades)
    cost = (steps > 0) * steps ** float(PENALTIES[penalty])
    both = (-2, -1)
    of_first = counts.sum(axis=-1, keepdims=True)
    of_second = counts.sum(axis=-2, keepdims=True)
    n = counts.sum(axis=both, keepdims=True)
    by_chance = quotient(of_first * of_second, n)
    disagreement = (counts * cost).sum(axis=both)
    disagreement_by_chance = (by_chance * cost).sum(axis=both)
    return 1 - quotient(disagreement, disagreement_by_chance)


def coincidences(grades: Floats, n_grades: int) -> Floats:
    """The pairs of grades that a document has from different judges, by document.

    For two judges, each pair stands in both orders. `grades` has a row per judge, with the number
    of each document's grade, NaN where there is none. A document with m of them has weight 1 / (m -
    1), so that its pairs add up to m; one with fewer than two has none.
    """
    is_given = grades[..., None] == np.arange(n_grades)
    times = is_given.sum(axis=0).astype(float)
    of_first = times[:, :, None]
    of_second = times[:, None, :]
    with_itself = of_first * np.eye(n_grades)
    pairs: Floats = of_first * of_second - with_itself
    m = times.sum(axis=1)[:, None, None]
    pairs /= np.maximum(m - 1, 1)
    return pairs


def alpha(pairs: Floats) -> Floats:
    """Krippendorff's alpha for ordered grades, from the sums of `coincidences`.

    It is NaN if there is one grade only. The distance of two grades is the number of grades that
    were given between them, half of their own among these, squared.

    References
    ----------
    K. Krippendorff (2011), Computing Krippendorff's alpha-reliability. The package
    ``krippendorff``.
    """
    both = (-2, -1)
    times = pairs.sum(axis=-1)
    n = times.sum(axis=-1)
    middle = np.cumsum(times, axis=-1) - times / 2
    distance = (middle[..., :, None] - middle[..., None, :]) ** 2
    by_chance = times[..., :, None] * times[..., None, :]
    observed = (pairs * distance).sum(axis=both) * (n - 1)
    expected = (by_chance * distance).sum(axis=both)
    return 1 - quotient(observed, expected)


def corrected_share(share: Floats, specificity: Floats, sensitivity: Floats) -> Floats:
    """The share of relevant documents behind the share that a judge calls relevant, from 0 to 1.

    `specificity` and `sensitivity` are the shares of nonrelevant and of relevant documents that the
    judge calls so. NaN for a judge who knows nothing, for whom both add up to 1.

    References
    ----------
    W. J. Rogan, B. Gladen (1978), Estimating prevalence from the results of a screening test,
    American Journal of Epidemiology.
    """
    youden = specificity + sensitivity - 1
    corrected = quotient(share + specificity - 1, youden)
    return np.clip(corrected, 0, 1)


def kendall(a: Floats, b: Floats) -> Floats:
    """Kendall's tau-b of the last axes of two arrays.

    NaN if all values of one are equal, but for rounding errors.
    """
    x = _orders(a)
    y = _orders(b)
    agreement = (x * y).sum(axis=-1)
    n_untied = (x**2).sum(axis=-1) * (y**2).sum(axis=-1)
    return quotient(agreement, np.sqrt(n_untied))


def _orders(values: Floats) -> Floats:
    """For each pair of values, 1 if the first is larger, -1 if it is smaller, 0 for a tie."""
    first, second = np.triu_indices(values.shape[-1], 1)
    x = values[..., first]
    difference = x - values[..., second]
    differs = np.abs(difference) > NOISE * np.abs(x)
    return np.asarray(np.sign(np.where(differs, difference, 0)))


def kendall_union(original: Sequence[int], other: Sequence[int]) -> float:
    """Kendall's tau of two rankings that may hold different documents; NaN for fewer than two.

    They are given by the numbers of their documents in the union of both. The number at each rank
    of one is compared with the number at that rank of the other. The end of a longer one does not
    count.

    References
    ----------
    T. Breuer et al. (2020), How to measure the reproducibility of system-oriented IR experiments,
    SIGIR. The package repro_eval.
    """
    n = min(len(original), len(other))
    if n < 2:
        return np.nan
    stats = load("scipy.stats", "stats")
    tau = stats.kendalltau(original[:n], other[:n])
    return float(tau.statistic)
