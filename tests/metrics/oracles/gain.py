"""Graded gain: Järvelin and Kekäläinen 2002, Burges et al. 2005; and the variants of learning libraries."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from tests.metrics.oracles.query import Query, Row, is_judged, ratio, top

Gain = str | Mapping[float, float] | None


def gain_of(row: Row, gain: Gain, min_label: float = 0, relevant: float = 1) -> float:
    if not is_judged(row):
        return 0.0
    label = row[2] if row[2] >= min_label else 0
    if gain == "binary":
        return float(label >= relevant)
    if gain == "linear":
        return label
    if gain == "exponential":
        return 2**label - 1
    return gain[label] if label > 0 else gain.get(label, 0.0)


def discounted(gains: Sequence[float], k: int | None, discount: str | float) -> float:
    return sum(gain / divisor(rank, discount) for rank, gain in top(gains, k))


def divisor(rank: int, discount: str | float) -> float:
    if discount == "log2":
        return math.log2(rank + 1)
    if discount == "rank":
        return rank
    base = 2 if discount == "original" else float(discount)
    return 1 if rank < base else math.log(rank) / math.log(base)


def cg(q: Query, k: int | None = None, gain: Gain = "linear", min_label: float = 0) -> float:
    return sum(gain_of(row, gain, min_label, q.relevant) for _, row in top(q.ranking, k))


def dcg(
    q: Query, k: int | None = None, gain: Gain = "linear", discount: str | float = "log2", min_label: float = 0
) -> float:
    return discounted([gain_of(row, gain, min_label, q.relevant) for row in q.ranking], k, discount)


def ndcg(
    q: Query,
    k: int | None = None,
    gain: Gain = "linear",
    discount: str | float = "log2",
    ideal: str = "judged",
    min_label: float = 0,
) -> float:
    of = q.ranking if ideal == "retrieved" else q.rows
    best = sorted((gain_of(row, gain, min_label, q.relevant) for row in of if is_judged(row)), reverse=True)
    if ideal == "perfect":
        assert k is not None
        best = [max(best, default=0.0)] * k
    if ideal == "as_many":
        best = best[: q.n]
    return ratio(dcg(q, k, gain, discount, min_label), discounted(best, None if ideal == "all" else k, discount))


def mean_label(q: Query, k: int | None = None) -> float:
    return ratio(cg(q, k), min(q.n, q.n if k is None else k))


def average_relevance_position(q: Query, gain: Gain = "linear") -> float:
    worths = [gain_of(row, gain, relevant=q.relevant) for row in q.ranking]
    return ratio(sum(worth * rank for rank, worth in enumerate(worths, 1)), sum(worths))


def q_measure(q: Query, k: int | None = None, beta: float = 1.0, gain: Gain = "linear") -> float:
    """Sakai 2007: the blended ratio at each relevant document."""
    found = [gain_of(row, gain, relevant=q.relevant) for row in q.ranking]
    best = sorted((gain_of(row, gain, relevant=q.relevant) for row in q.rows), reverse=True)
    ratios = [
        (q.hits(rank) + beta * sum(found[:rank])) / (rank + beta * sum(best[:rank]))
        for rank in q.relevant_ranks
        if k is None or rank <= k
    ]
    return ratio(sum(ratios), q.R)


def graded_average_precision(q: Query, k: int | None = None, thresholds: Mapping[float, float] | None = None) -> float:
    """Robertson et al. 2010, by pairs of documents: a reader counts the upper one if both reach the reader's threshold."""
    thresholds = dict.fromkeys((1, 2, 3, 4), 1.0) if thresholds is None else thresholds

    def readers(*rows: Row) -> float:
        return sum(p for least, p in thresholds.items() if all(is_judged(row) and row[2] >= least for row in rows))

    found = sum(sum(readers(other, row) for other in q.ranking[:rank]) / rank for rank, row in top(q.ranking, k))
    return ratio(found, sum(readers(row) for row in q.rows))


ORACLES: dict[str, Callable[..., float | None]] = {
    oracle.__name__: oracle
    for oracle in (
        cg,
        dcg,
        ndcg,
        mean_label,
        average_relevance_position,
        q_measure,
        graded_average_precision,
    )
}
