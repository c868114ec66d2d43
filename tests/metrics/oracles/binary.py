"""Sets: of the retrieved documents and of the relevant ones."""

from __future__ import annotations

import math
from collections.abc import Callable

from tests.metrics.oracles.query import Query, candidates, ratio, top


def hits(q: Query, k: int | None = None) -> float:
    return q.hits(k)


def hit_rate(q: Query, k: int | None = None) -> float:
    return float(q.hits(k) > 0)


def precision(q: Query, k: int | None = None, divisor: str = "k") -> float:
    depth = q.n if k is None else k
    return ratio(q.hits(k), {"k": depth, "min(k,n)": min(depth, q.n), "min(k,R)": min(depth, q.R)}[divisor])


def recall(q: Query, k: int | None = None, divisor: str = "R") -> float:
    return ratio(q.hits(k), q.R if k is None or divisor == "R" else min(k, q.R))


def f1(q: Query, k: int | None = None) -> float:
    p, r = precision(q, k), recall(q, k)
    return ratio(2 * p * r, p + r)


def r_precision(q: Query, k: int | None = None) -> float:
    return ratio(q.hits(q.R if k is None else min(k, q.R)), q.R)


def confusion(q: Query, k: int | None) -> tuple[int, int, int, int]:
    """The true and false positives and negatives: positive is a document of the top k, negative every other one."""
    positive = [q.is_relevant(row) for _, row in top(q.ranking, k)]
    documents = len(candidates(q))
    if q.collection_size is not None:
        documents = max(documents, q.collection_size)
    tp, fp = sum(positive), len(positive) - sum(positive)
    return tp, fp, q.R - tp, documents - q.R - fp


def false_positives(q: Query, k: int | None = None) -> float:
    return confusion(q, k)[1]


def false_negatives(q: Query, k: int | None = None) -> float:
    return confusion(q, k)[2]


def true_negatives(q: Query, k: int | None = None) -> float:
    return confusion(q, k)[3]


def fall_out(q: Query, k: int | None = None) -> float:
    _, fp, _, tn = confusion(q, k)
    return ratio(fp, fp + tn)


def mcc(q: Query, k: int | None = None, shown: str = "list") -> float:
    tp, fp, fn, tn = confusion(q, k)
    if shown == "k" and k is not None:  # other documents stand at the empty places
        seen, others = len(candidates(q)), k - tp - fp
        fp += others
        tn = max(seen + others, q.collection_size or 0) - tp - fp - fn
    return ratio(tp * tn - fp * fn, math.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)))


def jaccard(q: Query, k: int | None = None) -> float:
    tp, fp, fn, _ = confusion(q, k)
    return ratio(tp, tp + fp + fn)


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
        false_positives,
        false_negatives,
        true_negatives,
        mcc,
        jaccard,
        set_average_precision,
    )
}
