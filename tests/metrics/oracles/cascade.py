"""Readers who stop: Chapelle et al. 2009, Gulin et al. 2009, Moffat and Zobel 2008."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tests.metrics.oracles.gain import Gain, gain_of
from tests.metrics.oracles.query import Query, Row, is_judged, ratio, top


def cascade(labels: Sequence[float], k: int | None, top_label: float) -> float:
    """Expected 1/rank at which a user stops who is satisfied at each rank with probability R."""
    return stopping([(2**label - 1) / 2**top_label for label in labels], k)


def stopping(satisfied: Sequence[float], k: int | None) -> float:
    total, still_reading = 0.0, 1.0
    for rank, chance in top(satisfied, k):
        total += still_reading * chance / rank
        still_reading *= 1 - chance
    return total


def chances(q: Query, rows: Sequence[Row], gain: Gain, max_label: float | str | None) -> list[float]:
    """The probability that each document satisfies."""
    largest = top_label(q, max_label)
    if gain == "exponential":
        return [gain_of(row, gain) / 2**largest for row in rows]
    if gain == "linear":
        return [ratio(gain_of(row, gain), largest) for row in rows]
    return [gain_of(row, gain, relevant=q.relevant) for row in rows]


def top_label(q: Query, max_label: float | str | None) -> float:
    if max_label is None:
        return q.table_max
    return max_of(q.rows) if max_label == "query" else float(max_label)


def max_of(rows: Sequence[Row]) -> float:
    return max([0.0] + [row[2] for row in rows if row[2] is not None])


def err(q: Query, k: int | None = None, gain: Gain = "exponential", max_label: float | str | None = None) -> float:
    return stopping(chances(q, q.ranking, gain, max_label), k)


def nerr(q: Query, k: int | None = None, gain: Gain = "exponential", max_label: float | str | None = None) -> float:
    ideal = sorted(chances(q, [row for row in q.rows if is_judged(row)], gain, max_label), reverse=True)
    return ratio(err(q, k, gain, max_label), stopping(ideal, k))


def pfound(
    q: Query,
    k: int | None = None,
    decay: float = 0.85,
    gain: Gain = "linear",
    max_label: float | str | None = 1,
) -> float:
    """Gulin et al. 2009: P(look at i + 1) = P(look at i) (1 - P(satisfied at i)) decay."""
    total, looking = 0.0, 1.0
    for _, chance in top(chances(q, q.ranking, gain, max_label), k):
        total += looking * chance
        looking *= (1 - chance) * decay
    return total


def rbp(q: Query, k: int | None = None, p: float = 0.8, gain: Mapping[float, float] | None = None) -> float:
    """Moffat and Zobel 2008."""
    if gain == "scaled":
        gain = {row[2]: row[2] / max(1, max_of(q.rows)) for row in q.rows if is_judged(row)}
    total = 0.0
    for rank, row in top(q.ranking, k):
        total += (q.is_relevant(row) if gain is None else gain_of(row, gain)) * p ** (rank - 1)
    return (1 - p) * total


ORACLES: dict[str, Callable[..., float | None]] = {
    oracle.__name__: oracle
    for oracle in (
        err,
        nerr,
        pfound,
        rbp,
    )
}
