"""Readers who spend: a document costs its minutes, and a rank without a document 1."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence

from tests.metrics.oracles.background import CATALOG
from tests.metrics.oracles.cwl import figure
from tests.metrics.oracles.query import Query

Sees = Callable[[Sequence[float], Sequence[float]], list[float]]
"""The probability to see each rank, and that to go on from the last one, from gains and costs."""


def figures(gains: Sequence[float], costs: Sequence[float], sees: Sequence[float]) -> dict[str, float]:
    stops = [a - b for a, b in itertools.pairwise(sees)]
    seen = list(sees[:-1])
    read = math.fsum(seen)
    totals = [(math.fsum(gains[:rank]), math.fsum(costs[:rank])) for rank in range(1, len(gains) + 1)]
    return {
        "EU": math.fsum(v * g for v, g in zip(seen, gains, strict=True)) / read,
        "EC": math.fsum(v * c for v, c in zip(seen, costs, strict=True)) / read,
        "ETU": math.fsum(stop * gained for stop, (gained, _) in zip(stops, totals, strict=True)),
        "ETC": math.fsum(stop * spent for stop, (_, spent) in zip(stops, totals, strict=True)),
        "ED": read,
    }


def spending(q: Query, sees: Sees, depth: int) -> Callable[[list[float]], dict[str, float]]:
    """The figures of a reader, by the gains of the ranks."""
    costs = [CATALOG[row[0]]["minutes"] for row in q.ranking[:depth]]
    costs += [1.0] * (depth - len(costs))
    return lambda gains: figures(gains, costs, sees(gains, costs))


def spent_above(costs: Sequence[float]) -> list[float]:
    return [math.fsum(costs[:i]) for i in range(len(costs))]


def time_biased_gain(
    q: Query, depth: int = 1000, *, half_life: float = 224.0, max_label: float | str | None = None,
    gain: Mapping[float, float] | None = None, report: str = "ETU", residual: bool = False,
) -> float:  # fmt: skip
    """Smucker and Clarke 2012: of readers, half are left after each half-life."""

    def sees(gains: Sequence[float], costs: Sequence[float]) -> list[float]:
        return [0.5 ** (spent / half_life) for spent in spent_above(costs)] + [0.0]

    return figure(q, spending(q, sees, depth), depth, report, residual, max_label, gain)


def u_measure(
    q: Query, depth: int = 1000, *, length: float = 132_000.0, max_label: float | str | None = None,
    gain: Mapping[float, float] | None = None, report: str = "ETU", residual: bool = False,
) -> float:  # fmt: skip
    """Sakai and Dou 2013: readers leave one by one down a text of a length."""

    def sees(gains: Sequence[float], costs: Sequence[float]) -> list[float]:
        return [max(0.0, 1 - spent / length) for spent in spent_above(costs)] + [0.0]

    return figure(q, spending(q, sees, depth), depth, report, residual, max_label, gain)


def ift(
    q: Query, depth: int = 1000, *, target: float | None = 2.0, rate: float | None = 0.2, goal_intercept: float = 0.9,
    goal_slope: float = 10.0, rate_intercept: float = 0.9, rate_slope: float = 10.0, max_label: float | str | None = None,
    gain: Mapping[float, float] | None = None, report: str = "EU", residual: bool = False,
) -> float:  # fmt: skip
    """Azzopardi, Thomas and Craswell 2018."""

    def goes_on(y: float, k: float) -> float:
        goal = least = 1.0
        if target is not None:
            goal = 1 - 1 / (1 + goal_intercept * math.exp((target - y) * goal_slope))
        if rate is not None:
            least = 1 / (1 + rate_intercept * math.exp((rate - y / k) * rate_slope))
        return goal * least

    def sees(gains: Sequence[float], costs: Sequence[float]) -> list[float]:
        chances, y, k = [1.0], 0.0, 0.0
        for g, c in zip(gains, costs, strict=True):
            y, k = y + g, k + c
            chances.append(chances[-1] * goes_on(y, k))
        return chances

    return figure(q, spending(q, sees, depth), depth, report, residual, max_label, gain)
