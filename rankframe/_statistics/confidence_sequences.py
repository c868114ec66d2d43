"""Confidence sequences for the means of bounded values: intervals that hold at all looks at once.

They have p-values to match. A column of values, in the order in which they came, is a bet against
each possible mean, with stakes that depend on earlier values only. If the mean is m, the capital of
the bet against m is a martingale that starts at 1, so that it ever reaches 1 / a with a probability
of at most a (Ville, 1939). The interval has the means whose bet never did. This needs values whose
mean, given the values before them, is the same throughout: an order that does not depend on the
values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from .._support.floats import Booleans, Floats, np
from ..errors import InvalidOption

Method: TypeAlias = Literal["betting", "empirical_bernstein"]

STAKES: dict[Method, float] = {"betting": 0.75, "empirical_bernstein": 0.5}
"""The largest stake, as a share of the stake that a single value could lose all by.

Waudby-Smith and Ramdas name both."""

MANY = 10_000
"""From so many planned values on, empirical Bernstein gives the shorter interval.

That holds for a standard deviation of 0.1 of the range."""

NOISE = 1e-9
"""By how much of its range a value may be beyond the bounds by rounding."""

TINY = 1e-300
"""A mean of 0, by which nothing can be divided."""

HALVINGS = 45
"""How often the search for an end is halved: to 3e-14 of the range."""


def method_for(planned: int) -> Method:
    """The method whose intervals are shorter at the planned number of values.

    It has to be chosen before any value is seen.
    """
    return "betting" if planned < MANY else "empirical_bernstein"


@dataclass(frozen=True)
class Bets:
    """Bets that each column's mean is larger than it is.

    The values lie between 0 and 1, with rows in the order in which they came.

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
    def on_values(cls, values: Floats, ci: float, method: Method) -> Bets:
        """The predictable plug-in stakes, with one imagined value of mean 1/2 and variance 1/4."""
        there: Booleans = ~np.isnan(values)
        x = np.where(there, values, 0.0)
        t = there.cumsum(axis=0)
        mu = (0.5 + x.cumsum(axis=0)) / (t + 1)
        squares = np.where(there, (x - mu) ** 2, 0.0)
        sigma2 = (0.25 + squares.cumsum(axis=0)) / (t + 1)
        mu_before = _shifted(mu, 0.5)
        sigma2_before = _shifted(sigma2, 0.25)
        t = np.maximum(t, 1)
        stakes = np.sqrt(2 * np.log(2 / (1 - ci)) / (sigma2_before * t * np.log1p(t)))
        return cls(x, np.where(there, stakes, 0.0), mu_before, method)

    def capital(self, mean: Floats) -> Floats:
        """The logarithm of the capital after each value, from bets against each column's `mean`."""
        c = STAKES[self.method]
        away = self.values - mean
        if self.method == "betting":
            stakes = np.minimum(self.stakes, c / np.maximum(mean, TINY))
            gains = np.log1p(stakes * away)
        else:
            stakes = np.minimum(self.stakes, c)
            psi = np.log1p(-stakes) + stakes
            gains = stakes * away + psi * (self.values - self.before) ** 2
        return np.asarray(gains.cumsum(axis=0))

    def first(self, n: int) -> Bets:
        """The bets on the first n values."""
        return Bets(self.values[:n], self.stakes[:n], self.before[:n], self.method)

    def most(self, mean: Floats) -> Floats:
        """The logarithm of the largest capital that there ever was."""
        return np.asarray(self.capital(mean).max(axis=0, initial=0.0))

    def lower(self, ci: float) -> Floats:
        """The largest mean of each column against which a bet won; 0 if none did.

        A larger mean makes each bet win less.
        """
        columns = self.values.shape[1]
        low = np.zeros(columns)
        high = np.ones(columns)
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            has_won = self.most(middle) >= _threshold(ci)
            low = np.where(has_won, middle, low)
            high = np.where(has_won, high, middle)
        return low


def _shifted(estimates: Floats, first: float) -> Floats:
    """The estimate before each value: `first`, then that after the value before."""
    start = np.full((1, estimates.shape[1]), first)
    return np.vstack([start, estimates[:-1]])


def _threshold(ci: float) -> float:
    """The logarithm of the capital at which a bet wins: half of alpha is for either end."""
    return float(np.log(2 / (1 - ci)))


def confidence_sequence(
    values: Floats,
    limits: tuple[Floats, Floats],
    ci: float = 0.95,
    method: Method = "betting",
    looks: Sequence[int] | None = None,
) -> tuple[Floats, Floats, Floats]:
    """The confidence sequence of each column's mean.

    Its intervals all hold, with probability `ci`, at every row at once.

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
    >>> limits = np.array([-1.0]), np.array([1.0])
    >>> low, high, p = confidence_sequence(np.zeros((40, 1)), limits, looks=[10, 40])
    >>> high.round(2).tolist(), p.tolist()
    ([[0.37], [0.11]], [[1.0], [1.0]])
    """
    least, greatest = limits
    span = greatest - least
    x = (values - least) / span
    if ((x < -NOISE) | (x > 1 + NOISE)).any():
        raise InvalidOption(
            "a value is beyond the bounds of its metric, and no confidence sequence holds; "
            "correct the bounds"
        )
    x = np.clip(x, 0, 1)
    at = [len(x)] if looks is None else looks
    above = Bets.on_values(x, ci, method)
    below = Bets.on_values(1 - x, ci, method)
    low = np.array([above.first(n).lower(ci) for n in at])
    high = 1 - np.array([below.first(n).lower(ci) for n in at])
    win = np.array([above.first(n).most(-least / span) for n in at])
    loss = np.array([below.first(n).most(1 + least / span) for n in at])
    p = np.minimum(1.0, 2 * np.exp(-np.maximum(win, loss)))
    p = np.where(np.isnan(values).all(axis=0), np.nan, p)
    return least + span * low, least + span * high, p


def values_needed(loss: float, ci: float, method: Method) -> int:
    """After how many values in the middle of their range the interval's reach is at most `loss`.

    A loss of 1 is the whole range. 2**20 stands for more values.
    """
    mean = np.array([0.5 - loss])
    for n in (2**10, 2**15, 2**20):
        values = np.full((n, 1), 0.5)
        bets = Bets.on_values(values, ci, method)
        has_won = bets.capital(mean) >= _threshold(ci)
        if has_won.any():
            return int(has_won.argmax()) + 1
    return n
