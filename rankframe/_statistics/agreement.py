"""Agreement of judges, from counts of documents by the two grades that they have; and of rankings
that share few documents.

Counts may have further axes before the two of grades, as one of resamples; results have these.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

from .._support.extras import load
from .._support.floats import Floats, np
from .weighted_means import NOISE

Penalty: TypeAlias = Literal["plain", "linear", "quadratic"]
"""How a disagreement weighs: each the same, or by the number of grades between the two, or by its
square."""

PENALTIES: dict[Penalty, int] = {"plain": 0, "linear": 1, "quadratic": 2}


def quotient(x: Floats, y: Floats) -> Floats:
    """The quotient; NaN where the divisor is 0."""
    found: Floats = np.divide(x, y, out=np.full(np.broadcast(x, y).shape, np.nan), where=y != 0)
    return found


def kappa(counts: Floats, penalty: Penalty = "plain") -> Floats:
    """Cohen's kappa: 1 less the disagreement over that of judges who grade at random, each with as
    many of every grade.

    1 for equal grades, 0 for chance; NaN if both have one grade only.

    References
    ----------
    J. Cohen (1960), A coefficient of agreement for nominal scales; (1968), Weighted kappa.
    scikit-learn's ``cohen_kappa_score``.
    """
    grades = np.arange(counts.shape[-1])
    steps = np.abs(grades[:, None] - grades)
    cost = (steps > 0) * steps ** float(PENALTIES[penalty])
    rows, columns = counts.sum(axis=-1, keepdims=True), counts.sum(axis=-2, keepdims=True)
    chance = quotient(rows * columns, counts.sum(axis=(-2, -1), keepdims=True))
    return 1 - quotient((counts * cost).sum(axis=(-2, -1)), (chance * cost).sum(axis=(-2, -1)))


def coincidences(grades: Floats, n_grades: int) -> Floats:
    """The pairs of grades that a document has from different judges, by document: for two judges,
    each pair in both orders.

    `grades` has a row per judge, with the number of each document's grade, NaN where there is none.
    A document with m of them has weight 1 / (m - 1), so that its pairs add up to m; one with fewer
    than two has none.
    """
    values = (grades[..., None] == np.arange(n_grades)).sum(axis=0).astype(float)
    given = values.sum(axis=1)[:, None, None]
    pairs: Floats = values[:, :, None] * values[:, None, :] - values[:, :, None] * np.eye(n_grades)
    pairs /= np.maximum(given - 1, 1)
    return pairs


def alpha(pairs: Floats) -> Floats:
    """Krippendorff's alpha for ordered grades, from the sums of `coincidences`; NaN if there is one
    grade only.

    The distance of two grades is the number of grades that were given between them, half of their
    own among these, squared.

    References
    ----------
    K. Krippendorff (2011), Computing Krippendorff's alpha-reliability. The package
    ``krippendorff``.
    """
    given = pairs.sum(axis=-1)
    middle = np.cumsum(given, axis=-1) - given / 2
    distance = (middle[..., :, None] - middle[..., None, :]) ** 2
    observed = (pairs * distance).sum(axis=(-2, -1)) * (given.sum(axis=-1) - 1)
    return 1 - quotient(
        observed, (given[..., :, None] * given[..., None, :] * distance).sum(axis=(-2, -1))
    )


def corrected_share(share: Floats, specificity: Floats, sensitivity: Floats) -> Floats:
    """The share of relevant documents behind the share that a judge calls relevant, from 0 to 1.

    `specificity` and `sensitivity` are the shares of nonrelevant and of relevant documents that the
    judge calls so. NaN for a judge who knows nothing, for whom both add up to 1.

    References
    ----------
    W. J. Rogan, B. Gladen (1978), Estimating prevalence from the results of a screening test,
    American Journal of Epidemiology.
    """
    return np.clip(quotient(share + specificity - 1, specificity + sensitivity - 1), 0, 1)


def kendall(a: Floats, b: Floats) -> Floats:
    """Kendall's tau-b of the last axes of two arrays; NaN if all values of one are equal, but for
    rounding errors.
    """
    first, second = np.triu_indices(a.shape[-1], 1)
    steps = ((z[..., first], z[..., first] - z[..., second]) for z in (a, b))
    x, y = (np.sign(np.where(np.abs(d) > NOISE * np.abs(z), d, 0)) for z, d in steps)
    return quotient((x * y).sum(axis=-1), np.sqrt((x**2).sum(axis=-1) * (y**2).sum(axis=-1)))


def kendall_union(original: Sequence[int], other: Sequence[int]) -> float:
    """Kendall's tau of two rankings, given by the numbers of their documents in the union of both;
    NaN for fewer than two.

    The number at each rank of one is compared with the number at that rank of the other, so that
    rankings may hold other documents. The end of a longer one does not count.

    References
    ----------
    T. Breuer et al. (2020), How to measure the reproducibility of system-oriented IR experiments,
    SIGIR. The package repro_eval.
    """
    n = min(len(original), len(other))
    return (
        float(load("scipy.stats", "stats").kendalltau(original[:n], other[:n]).statistic)
        if n > 1
        else np.nan
    )
