"""Student's distribution: its tail and its quantiles, for the core, where SciPy is optional."""

from __future__ import annotations

import math
from statistics import NormalDist

from .._support.floats import Floats, np

EXACT = 1e-15
"""The relative error at which a continued fraction stops.

Newton's method stops at a hundred times as much."""

NEWTON = 20
"""The most steps of Newton's method: it takes about six."""

SERIES = 30.0
"""The argument from which the series of a quotient of Gamma functions has all digits."""

STEPS = 10_000
"""The most steps of a continued fraction: it takes about the root of the degrees of freedom."""


def upper_tail(t: Floats, freedom: Floats) -> Floats:
    """The probability of a value of `t` or more, for t from 0 on."""
    t, freedom = np.broadcast_arrays(t, freedom)
    tail = np.where(np.isnan(t) | np.isnan(freedom), np.nan, 0.0)
    known = np.isfinite(t) & ~np.isnan(freedom)
    tail[known] = _tail(t[known], freedom[known])
    return tail


def quantiles(tail: float, freedom: Floats) -> Floats:
    """The value that is exceeded with a probability `tail` below 1/2, by degrees of freedom."""
    if math.isnan(tail):
        return np.full(np.shape(freedom), np.nan)
    v, place = np.unique(freedom, return_inverse=True)
    normal = -NormalDist().inv_cdf(tail)
    t = np.full(v.shape, normal)
    # The logarithm of the tail is a concave function of the logarithm of t.
    for _ in range(NEWTON):
        reached = _tail(t, v)
        slope = t * _density(t, v)
        step = np.log(reached / tail) * reached / slope
        t = t * np.exp(step)
        if (np.abs(step) <= 100 * EXACT).all():
            break
    return np.asarray(t[place].reshape(np.shape(freedom)))


def _density(t: Floats, v: Floats) -> Floats:
    """The density at t with v degrees of freedom."""
    at_0 = _gamma_quotient(v / 2) / np.sqrt(np.pi * v)
    exponent = -(v + 1) / 2 * np.log1p(t**2 / v)
    return np.asarray(at_0 * np.exp(exponent))


def _tail(t: Floats, v: Floats) -> Floats:
    """The tail, I_y(v/2, 1/2) / 2 with y = v / (v + t^2), or 1/2 less the rest of it.

    One of the two has a short fraction (DLMF 8.17.22).
    """
    is_outer = t**2 > 3 * v / (v + 2)
    half = np.full(v.shape, 0.5)
    a = np.where(is_outer, v / 2, half)
    b = np.where(is_outer, half, v / 2)
    x = np.where(is_outer, v, t**2) / (v + t**2)
    part = t * _density(t, v) / (2 * a) * _fraction(a, b, x)
    return np.asarray(np.where(is_outer, part, 0.5 - part))


def _fraction(a: Floats, b: Floats, x: Floats) -> Floats:
    """The continued fraction of the incomplete beta function, from its front (Lentz's method)."""
    value = np.ones(x.shape)
    above = np.ones(x.shape)
    below = np.zeros(x.shape)
    for step in range(1, STEPS):
        m = step // 2
        n = a + 2 * m
        if step % 2:
            term = -(a + m) * (a + b + m) * x / (n * (n + 1))
        else:
            term = m * (b - m) * x / ((n - 1) * n)
        below = 1 / (1 + term * below)
        above = 1 + term / above
        value = value * above * below
        if (np.abs(above * below - 1) <= EXACT).all():
            break
    return 1 / value


def _gamma_quotient(x: Floats) -> Floats:
    """Gamma(x + 1/2) / Gamma(x).

    For large x it is a series, where the difference of logarithms loses digits.
    """
    exact = []
    for small in np.minimum(x, SERIES).tolist():
        logarithm = math.lgamma(small + 0.5) - math.lgamma(small)
        exact.append(math.exp(logarithm))
    series = -1 / (8 * x) + 1 / (192 * x**3) - 1 / (640 * x**5) + 17 / (14_336 * x**7)
    approximate = np.sqrt(x) * np.exp(series)
    return np.where(x < SERIES, exact, approximate)
