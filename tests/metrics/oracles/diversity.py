"""Diversity: Clarke et al. 2008, 2009; Chapelle et al. 2009; Agrawal et al. 2009, as ndeval has them.

A row's label is a dict {subtopic: label}, empty for a document that nobody judged.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tests.metrics.oracles.query import Query, Row, ratio

Subtopics = Mapping[Any, float]


def meets(row: Row, relevant: float) -> list[Any]:
    """The subtopics that the document is relevant to."""
    return [subtopic for subtopic, label in row[2].items() if label >= relevant]


def subtopics_of(q: Query) -> set[Any]:
    return {subtopic for row in q.rows for subtopic in meets(row, q.relevant)}


def novelty(rows: Sequence[Row], alpha: float, relevant: float) -> list[float]:
    """The gain of each document: 1 for each of its subtopics, less the share `alpha` for each time it was met before."""
    left: dict[Any, float] = {}
    gains = []
    for row in rows:
        gains.append(math.fsum(left.get(subtopic, 1.0) for subtopic in meets(row, relevant)))
        for subtopic in meets(row, relevant):
            left[subtopic] = left.get(subtopic, 1.0) * (1 - alpha)
    return gains


def greedy(q: Query, alpha: float) -> list[Row]:
    """The judged documents, each time the one that adds most; equal ones by falling document id, bytewise.

    What a document adds is summed exactly, so that the order of its subtopics does not break ties.
    """
    judged = sorted((row for row in q.rows if row[2]), key=lambda row: str(row[0]).encode(), reverse=True)
    rest = [(row, meets(row, q.relevant)) for row in judged]
    left = dict.fromkeys(subtopics_of(q), 1.0)
    chosen: list[Row] = []
    while rest:
        best = max(range(len(rest)), key=lambda i: math.fsum([left[subtopic] for subtopic in rest[i][1]]))
        row, met = rest.pop(best)
        for subtopic in met:
            left[subtopic] *= 1 - alpha
        chosen.append(row)
    return chosen


def log_discount(rank: int) -> float:
    return 1 / math.log2(rank + 1)


def reciprocal(rank: int) -> float:
    return 1 / rank


def discounted_novelty(gains: Sequence[float], discount: Callable[[int], float], k: int | None) -> float:
    return sum(gain * discount(rank) for rank, gain in enumerate(gains[:k], 1))


def against_best_thinkable(q: Query, discount: Callable[[int], float], k: int, alpha: float) -> float:
    """The ranking's novelty over that of documents that each meet every subtopic of the query."""
    best = [len(subtopics_of(q)) * (1 - alpha) ** i for i in range(k)]
    return ratio(
        discounted_novelty(novelty(q.ranking, alpha, q.relevant), discount, k), discounted_novelty(best, discount, k)
    )


def against_greedy(q: Query, discount: Callable[[int], float], k: int | None, alpha: float) -> float:
    found, best = (
        discounted_novelty(novelty(rows, alpha, q.relevant), discount, k) for rows in (q.ranking, greedy(q, alpha))
    )
    return ratio(found, best)


def alpha_dcg(q: Query, k: int, *, alpha: float = 0.5) -> float:
    return against_best_thinkable(q, log_discount, k, alpha)


def alpha_ndcg(q: Query, k: int | None = None, *, alpha: float = 0.5) -> float:
    return against_greedy(q, log_discount, k, alpha)


def err_ia(q: Query, k: int, *, alpha: float = 0.5) -> float:
    return against_best_thinkable(q, reciprocal, k, alpha)


def nerr_ia(q: Query, k: int | None = None, *, alpha: float = 0.5) -> float:
    return against_greedy(q, reciprocal, k, alpha)


def nrbp(q: Query, *, alpha: float = 0.5, beta: float = 0.5) -> float:
    gains = novelty(q.ranking, alpha, q.relevant)
    total = discounted_novelty(gains, lambda rank: beta ** (rank - 1), None)
    return ratio((1 - (1 - alpha) * beta) * total, len(subtopics_of(q)))


def nnrbp(q: Query, *, alpha: float = 0.5, beta: float = 0.5) -> float:
    return against_greedy(q, lambda rank: beta ** (rank - 1), None, alpha)


def precision_ia(q: Query, k: int | None = None) -> float:
    k = q.n if k is None else k
    return ratio(sum(len(meets(row, q.relevant)) for row in q.ranking[:k]), k * len(subtopics_of(q)))


def subtopic_recall(q: Query, k: int | None = None) -> float:
    return ratio(len({s for row in q.ranking[:k] for s in meets(row, q.relevant)}), len(subtopics_of(q)))


def average_precision_ia(q: Query) -> float:
    """The mean, over the query's subtopics, of the average precision for each."""
    values = []
    for subtopic in subtopics_of(q):
        relevant = [subtopic in meets(row, q.relevant) for row in q.ranking]
        hits = [sum(relevant[:rank]) / rank for rank, yes in enumerate(relevant, 1) if yes]
        values.append(sum(hits) / sum(subtopic in meets(row, q.relevant) for row in q.rows))
    return ratio(sum(values), len(values))


DIVERSITY: dict[str, Callable[..., float]] = {
    oracle.__name__: oracle
    for oracle in (
        alpha_dcg, alpha_ndcg, err_ia, nerr_ia, nrbp, nnrbp, precision_ia, subtopic_recall, average_precision_ia,
    )
}  # fmt: skip
