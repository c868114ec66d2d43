"""Sets: of the retrieved documents and of the relevant ones."""

from __future__ import annotations

from collections.abc import Callable

from tests.metrics.oracles.query import Query, candidates, ratio, top


def hits(q: Query, k: int | None = None) -> float:
    return q.hits(k)


def hit_rate(q: Query, k: int | None = None) -> float:
    return float(q.hits(k) > 0)


def precision(q: Query, k: int | None = None, divisor: str = "k") -> float:
    depth = q.n if k is None else k
    return ratio(q.hits(k), {"k": depth, "min(k,n)": min(depth, q.n), "min(k,R)": min(depth, q.R)}[divisor])


def recall(q: Query, k: int | None = None) -> float:
    return ratio(q.hits(k), q.R)


def f1(q: Query, k: int | None = None) -> float:
    p, r = precision(q, k), recall(q, k)
    return ratio(2 * p * r, p + r)


def r_precision(q: Query) -> float:
    return ratio(q.hits(q.R), q.R)


def fall_out(q: Query, k: int | None = None) -> float:
    others = sum(not q.is_relevant(row) for row in candidates(q))
    if q.collection_size is not None:
        others = max(others, q.collection_size - q.R)
    return ratio(sum(not q.is_relevant(row) for _, row in top(q.ranking, k)), others)


def relative_precision(q: Query) -> float:
    """Relevant documents retrieved, over the most that as many documents could hold."""
    return ratio(q.hits(None), min(q.n, q.R))


def set_average_precision(q: Query, k: int | None = None) -> float:
    return ratio(q.hits(k), q.n if k is None else k) * ratio(q.hits(k), q.R)


def f_beta(q: Query, k: int | None = None, *, beta: float = 1.0) -> float:
    """van Rijsbergen 1979: recall counts beta times as much as precision."""
    p, r = ratio(q.hits(k), q.n if k is None else k), ratio(q.hits(k), q.R)
    return ratio((1 + beta**2) * p * r, beta**2 * p + r)


ORACLES: dict[str, Callable[..., float | None]] = {
    oracle.__name__: oracle
    for oracle in (
        hits,
        hit_rate,
        precision,
        recall,
        f1,
        f_beta,
        r_precision,
        fall_out,
        set_average_precision,
    )
}
