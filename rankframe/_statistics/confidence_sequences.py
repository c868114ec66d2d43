"""Confidence sequences for the means of bounded values: intervals that hold at all looks at once,
and p-values to match.

A column of values, in the order in which they came, is a bet against each possible mean, with
stakes that depend on earlier values only. If the mean is m, the capital of the bet against m is a
martingale that starts at 1, so that it ever reaches 1 / a with a probability of at most a (Ville,
1939). The interval has the means whose bet never did. This needs values whose mean, given the
values before them, is the same throughout: an order that does not depend on the values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from .._support.floats import Booleans, Floats, np
from ..errors import InvalidOption

Method: TypeAlias = Literal["betting", "empirical_bernstein"]

STAKES: dict[Method, float] = {"betting": 0.75, "empirical_bernstein": 0.5}
"""The largest stake, as a share of the stake that a single value could lose all by; Waudby-Smith
and Ramdas name both."""

MANY = 10_000
"""From so many planned values on, empirical Bernstein gives the shorter interval, for a standard
deviation of 0.1 of the range."""

NOISE = 1e-9
"""By how much of its range a value may be beyond the bounds by rounding."""

TINY = 1e-300
"""A mean of 0, by which nothing can be divided."""

HALVINGS = 45
"""How often the search for an end is halved: to 3e-14 of the range."""


def method_for(planned: int) -> Method:
    """The method whose intervals are shorter at the planned number of values; it has to be chosen
    before any value is seen.
    """
    return "betting" if planned < MANY else "empirical_bernstein"


@dataclass(frozen=True)
class Bets:
    """Bets that each column's mean is larger than it is, from values between 0 and 1, rows in the
    order in which they came.

    Attributes
    ----------
    values
        The values; 0 where one is missing.
    stakes
        The stakes before their limit; 0 where a value is missing.
    before
        An estimate of the mean from the values before.
    method
        How a bet pays.
    """

    values: Floats
    stakes: Floats
    before: Floats
    method: Method

    @classmethod
    def of(cls, values: Floats, ci: float, method: Method) -> Bets:
        """The predictable plug-in stakes, with one imagined value of mean 1/2 and variance 1/4
        first.
        """
        there: Booleans = ~np.isnan(values)
        x, n = np.where(there, values, 0.0), there.cumsum(axis=0)
        mean = (0.5 + x.cumsum(axis=0)) / (n + 1)
        variance = (0.25 + np.where(there, (x - mean) ** 2, 0.0).cumsum(axis=0)) / (n + 1)
        before, spread = (
            np.vstack([np.full((1, x.shape[1]), first), of[:-1]])
            for first, of in ((0.5, mean), (0.25, variance))
        )
        n = np.maximum(n, 1)
        stakes = np.where(
            there, np.sqrt(2 * np.log(2 / (1 - ci)) / (spread * n * np.log1p(n))), 0.0
        )
        return cls(x, stakes, before, method)

    def capital(self, mean: Floats) -> Floats:
        """The logarithm of the capital after each value, from bets against each column's `mean`."""
        most = STAKES[self.method]
        if self.method == "betting":
            gains = np.log1p(
                np.minimum(self.stakes, most / np.maximum(mean, TINY)) * (self.values - mean)
            )
        else:
            stakes = np.minimum(self.stakes, most)
            gains = (
                stakes * (self.values - mean)
                + (np.log1p(-stakes) + stakes) * (self.values - self.before) ** 2
            )
        found: Floats = gains.cumsum(axis=0)
        return found

    def first(self, n: int) -> Bets:
        """The bets on the first n values."""
        return Bets(self.values[:n], self.stakes[:n], self.before[:n], self.method)

    def most(self, mean: Floats) -> Floats:
        """The logarithm of the largest capital that there ever was."""
        found: Floats = self.capital(mean).max(axis=0, initial=0.0)
        return found

    def lower(self, ci: float) -> Floats:
        """The largest mean of each column against which a bet won; 0 if none did. A larger mean
        makes each bet win less.
        """
        low, high = np.zeros(self.values.shape[1]), np.ones(self.values.shape[1])
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            won = self.most(middle) >= np.log(2 / (1 - ci))
            low, high = np.where(won, middle, low), np.where(won, high, middle)
        return low


def confidence_sequence(
    values: Floats,
    limits: tuple[Floats, Floats],
    ci: float = 0.95,
    method: Method = "betting",
    looks: Sequence[int] | None = None,
) -> tuple[Floats, Floats, Floats]:
    """The confidence sequence of each column's mean: intervals that all hold, with probability
    `ci`, at every row at once.

    Parameters
    ----------
    values
        The values in the order in which they came, a row each; NaN for a missing value. The order
        must not depend on the values: the mean of a value, given those before it, is the mean that
        the interval is for.
    limits
        The least and the greatest value that each column can have.
    ci
        The confidence, such as 0.95.
    method
        ``"betting"``, the hedged capital process, or ``"empirical_bernstein"``, the predictable
        plug-in empirical Bernstein sequence, shorter from about 10,000 values on. Choose it before
        you see any value.
    looks
        After how many values to give the interval, in ascending order; ``None`` for after the last.

    Returns
    -------
    The lower ends, the upper ends and the two-sided p-values against a mean of 0, looks by columns.
    An interval is the intersection of those up to its look, so that intervals only shrink; if the
    mean drifted, its lower end may be above the upper one. A p-value is at most 1 - `ci` where 0 is
    outside the interval, and, if the mean is 0, ever at most p with a probability of at most p,
    however often it is read; NaN without a value.

    References
    ----------
    I. Waudby-Smith, A. Ramdas (2024), Estimating means of bounded random variables by betting, JRSS
    B 86, theorems 2 and 3. S. R. Howard, A. Ramdas, J. McAuliffe, J. Sekhon (2021), Time-uniform,
    nonparametric, nonasymptotic confidence sequences, Annals of Statistics 49.

    Examples
    --------
    Forty values of 0, between -1 and 1, rule out means of about 0.1; ten rule out means of about
    0.4:

    >>> import numpy as np
    >>> from rankframe._statistics.confidence_sequences import confidence_sequence
    >>> low, high, p = confidence_sequence(np.zeros((40, 1)), (np.array([-1.0]), np.array([1.0])), looks=[10, 40])
    >>> high.round(2).tolist(), p.tolist()
    ([[0.37], [0.11]], [[1.0], [1.0]])
    """
    least, span = limits[0], limits[1] - limits[0]
    x = (values - least) / span
    if ((x < -NOISE) | (x > 1 + NOISE)).any():
        raise InvalidOption(
            "a value is beyond the bounds of its metric, and no confidence sequence holds; "
            "correct the bounds"
        )
    x, found = np.clip(x, 0, 1), []
    for side, against in ((x, -least / span), (1 - x, 1 + least / span)):
        bets = Bets.of(side, ci, method)
        of_looks = [bets.first(n) for n in ([len(x)] if looks is None else looks)]
        found.append(
            [[some.lower(ci) for some in of_looks], [some.most(against) for some in of_looks]]
        )
    (low, win), (high, lose) = np.array(found).reshape(2, 2, -1, x.shape[1])
    p = np.where(
        np.isnan(values).all(axis=0), np.nan, np.minimum(1.0, 2 * np.exp(-np.maximum(win, lose)))
    )
    return least + span * low, least + span * (1 - high), p


def values_needed(loss: float, ci: float, method: Method) -> int:
    """After how many values in the middle of their range the interval reaches at most `loss` ranges
    below it; 2**20 for more.
    """
    for n in (2**10, 2**15, 2**20):
        won = Bets.of(np.full((n, 1), 0.5), ci, method).capital(np.array([0.5 - loss])) >= np.log(
            2 / (1 - ci)
        )
        if won.any():
            return int(won.argmax()) + 1
    return n
