"""Agreement of two scores: rows are (doc, score, other, label)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

from tests.metrics.oracles.query import ranked

Pair = tuple[Any, float | None, float | None, float | None]


def scored_twice(rows: Sequence[Pair]) -> list[Pair]:
    return [row for row in rows if row[1] is not None and row[2] is not None]


def sign(x: float) -> int:
    return (x > 0) - (x < 0)


def kendall_distance(rows: Sequence[Pair], k: int | None = None, ties: str = "doc_desc") -> float | None:
    """Share of discordant pairs among the first ranking's top k (Kendall 1938); documents must differ."""
    by_score, by_other = rankings(scored_twice(rows), ties)
    first = by_score[:k]
    second = [doc for doc in by_other if doc in first]
    pairs = [(a, b) for i, a in enumerate(first) for b in first[i + 1 :]]
    return sum(second.index(a) > second.index(b) for a, b in pairs) / len(pairs) if pairs else None


def kendall_tau(rows: Sequence[Pair]) -> float | None:
    """Tau-b: concordant less discordant pairs, over the mean number of untied ones (Kendall 1945)."""
    both = scored_twice(rows)
    pairs = [(sign(a[1] - b[1]), sign(a[2] - b[2])) for i, a in enumerate(both) for b in both[i + 1 :]]
    untied = sum(x != 0 for x, _ in pairs) * sum(y != 0 for _, y in pairs)
    return sum(x * y for x, y in pairs) / math.sqrt(untied) if untied else None


def spearman(rows: Sequence[Pair]) -> float | None:
    """Pearson's correlation of the ranks, tied values sharing the mean of theirs (Spearman 1904)."""
    both = scored_twice(rows)
    x, y = (mean_ranks([row[column] for row in both]) for column in (1, 2))
    mean = (len(both) + 1) / 2
    norm = math.sqrt(sum((a - mean) ** 2 for a in x) * sum((b - mean) ** 2 for b in y))
    return sum((a - mean) * (b - mean) for a, b in zip(x, y, strict=True)) / norm if norm else None


def mean_ranks(values: Sequence[float]) -> list[float]:
    return [sum(other < value for other in values) + (values.count(value) + 1) / 2 for value in values]


def tau_ap(rows: Sequence[Pair], ties: str = "doc_desc") -> float | None:
    """Yilmaz, Aslam and Robertson 2008: the first score gives the actual ranking, the second the one judged by it."""
    actual, judged = rankings(scored_twice(rows), ties)
    n = len(judged)
    if n < 2:
        return None
    total = 0.0
    for i in range(2, n + 1):
        doc = judged[i - 1]
        total += sum(actual.index(above) < actual.index(doc) for above in judged[: i - 1]) / (i - 1)
    return 2 / (n - 1) * total - 1


def rankings(rows: Sequence[Pair], ties: str, k: int | None = None) -> tuple[list[Any], list[Any]]:
    """The documents by the first score and by the second, without documents that lack it."""
    by_score = ranked([(doc, score, label) for doc, score, _, label in rows], ties)
    by_other = ranked([(doc, other, label) for doc, _, other, label in rows], ties)
    return [doc for doc, _, _ in by_score][:k], [doc for doc, _, _ in by_other][:k]


# Webber, Moffat and Zobel 2010, with the paper's own names: X_d is the size of the overlap at depth d.
def X(a: Sequence[Any], b: Sequence[Any], d: int) -> int:  # noqa: N802
    return len(set(a[:d]) & set(b[:d]))


def overlap(rows: Sequence[Pair], k: int | None = None, ties: str = "doc_desc") -> float | None:
    a, b = rankings(rows, ties)
    if not a and not b:
        return None
    depth = max(len(a), len(b)) if k is None else k
    return X(a, b, depth) / depth


def rbo(rows: Sequence[Pair], k: int | None = None, p: float = 0.9, ties: str = "doc_desc") -> float | None:
    """Equation 32; 0 if one of the rankings is empty."""
    S, L = sorted(rankings(rows, ties, k), key=len)  # noqa: N806
    s, l = len(S), len(L)  # noqa: E741
    if not s:
        return 0.0 if l else None
    seen = sum(X(S, L, d) / d * p**d for d in range(1, l + 1))
    unseen = sum(X(S, L, s) * (d - s) / (s * d) * p**d for d in range(s + 1, l + 1))
    return (1 - p) / p * (seen + unseen) + ((X(S, L, l) - X(S, L, s)) / l + X(S, L, s) / s) * p**l


def rbo_min(rows: Sequence[Pair], k: int | None = None, p: float = 0.9, ties: str = "doc_desc") -> float | None:
    """Equation 11 at the depth of the longer ranking."""
    S, L = sorted(rankings(rows, ties, k), key=len)  # noqa: N806
    l = len(L)  # noqa: E741
    seen = sum((X(S, L, d) - X(S, L, l)) * p**d / d for d in range(1, l + 1))
    return (1 - p) / p * (seen - X(S, L, l) * math.log(1 - p)) if l else None


def rbo_residual(rows: Sequence[Pair], k: int | None = None, p: float = 0.9, ties: str = "doc_desc") -> float | None:
    """Equation 30."""
    S, L = sorted(rankings(rows, ties, k), key=len)  # noqa: N806
    s, l = len(S), len(L)  # noqa: E741
    f = l + s - X(S, L, l)
    if not f:
        return None
    tail = X(S, L, l) * (math.log(1 / (1 - p)) - sum(p**d / d for d in range(1, f + 1)))
    short, long = (n * sum(p**d / d for d in range(n + 1, f + 1)) for n in (s, l))
    return p**s + p**l - p**f - (1 - p) / p * (short + long + tail)


def rpp(rows: Sequence[Pair], k: int | None = None, ties: str = "doc_desc", null: bool = False) -> float | None:
    """Diaz and Ferraro 2022: the level of recall i is reached at the rank of the i-th relevant document."""
    relevant = [doc for doc, _, _, label in rows if label is not None and label >= 1]
    own, other = (
        [rank for rank, doc in enumerate(ranking, 1) if doc in relevant] for ranking in rankings(rows, ties, k)
    )
    levels = itertools.zip_longest(own, other, fillvalue=math.inf)
    total = sum((x < y) - (x > y) for x, y in levels)
    return total / len(relevant) if relevant else None if null else 0.0


AGREEMENT: dict[str, Callable[..., float | None]] = {
    measure.__name__: measure
    for measure in (kendall_distance, kendall_tau, spearman, tau_ap, overlap, rbo, rbo_min, rbo_residual, rpp)
}
