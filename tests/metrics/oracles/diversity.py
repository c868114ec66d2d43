"""Diversity: Clarke et al. 2008, 2009; Chapelle et al. 2009; Agrawal et al. 2009, as ndeval has them.

A row's label is a dict {subtopic: label}, empty for a document that nobody judged.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tests.metrics.oracles.query import Query, Row, ratio

Subtopics = Mapping[Any, float]


WEIGHT = {f"s{i}": weight for i, weight in enumerate((1.0, 0.0, 0.25, 3.0, 0.5, 1.0, 0.125, 2.0))}
"""Weights of subtopics, for the oracles that take them."""


def meets(row: Row, relevant: float) -> list[Any]:
    """The subtopics that the document is relevant to."""
    return [subtopic for subtopic, label in row[2].items() if label >= relevant]


def subtopics_of(q: Query) -> set[Any]:
    return {subtopic for row in q.rows for subtopic in meets(row, q.relevant)}


def weight_of(q: Query, subtopic: Any) -> float:
    return WEIGHT[subtopic] if q.weighted else 1.0


def total_weight(q: Query) -> float:
    return math.fsum(weight_of(q, subtopic) for subtopic in subtopics_of(q))


def novelty(
    rows: Sequence[Row], alpha: float, relevant: float, weight: Callable[[Any], float] = lambda _: 1.0
) -> list[float]:
    """The gain of each document: 1 for each of its subtopics, less the share `alpha` for each time it was met before."""
    left: dict[Any, float] = {}
    gains = []
    for row in rows:
        gains.append(math.fsum(left.get(subtopic, weight(subtopic)) for subtopic in meets(row, relevant)))
        for subtopic in meets(row, relevant):
            left[subtopic] = left.get(subtopic, weight(subtopic)) * (1 - alpha)
    return gains


def novelty_of(q: Query, rows: Sequence[Row], alpha: float) -> list[float]:
    return novelty(rows, alpha, q.relevant, lambda subtopic: weight_of(q, subtopic))


def greedy(q: Query, alpha: float) -> list[Row]:
    """The judged documents, each time the one that adds most; equal ones by falling document id, bytewise.

    What a document adds is summed exactly, so that the order of its subtopics does not break ties.
    """
    judged = sorted((row for row in q.rows if row[2]), key=lambda row: str(row[0]).encode(), reverse=True)
    rest = [(row, meets(row, q.relevant)) for row in judged]
    left = {subtopic: weight_of(q, subtopic) for subtopic in subtopics_of(q)}
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
    best = [total_weight(q) * (1 - alpha) ** i for i in range(k)]
    return ratio(
        discounted_novelty(novelty_of(q, q.ranking, alpha), discount, k), discounted_novelty(best, discount, k)
    )


def against_greedy(q: Query, discount: Callable[[int], float], k: int | None, alpha: float) -> float:
    found, best = (
        discounted_novelty(novelty_of(q, rows, alpha), discount, k) for rows in (q.ranking, greedy(q, alpha))
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
    gains = novelty_of(q, q.ranking, alpha)
    total = discounted_novelty(gains, lambda rank: beta ** (rank - 1), None)
    return ratio((1 - (1 - alpha) * beta) * total, total_weight(q))


def nnrbp(q: Query, *, alpha: float = 0.5, beta: float = 0.5) -> float:
    return against_greedy(q, lambda rank: beta ** (rank - 1), None, alpha)


def precision_ia(q: Query, k: int | None = None) -> float:
    k = q.n if k is None else k
    return ratio(sum(weight_of(q, s) for row in q.ranking[:k] for s in meets(row, q.relevant)), k * total_weight(q))


def subtopic_recall(q: Query, k: int | None = None) -> float:
    met = {s for row in q.ranking[:k] for s in meets(row, q.relevant)}
    return ratio(sum(weight_of(q, s) for s in met), total_weight(q))


def nugget_recall(q: Query, k: int | None = None, *, partial: float = 0.5) -> float:
    """TREC RAG 2024: the best support of each nugget that has a judgment, by weight."""
    nuggets = {subtopic for row in q.rows for subtopic, label in row[2].items() if label >= 0}
    found = 0.0
    for nugget in nuggets:
        support = max([0.0, *(row[2].get(nugget, 0) for row in q.ranking[:k])])
        found += weight_of(q, nugget) * (1.0 if support >= 2 else partial if support >= 1 else 0.0)
    return ratio(found, sum(weight_of(q, nugget) for nugget in nuggets))


def d_ndcg(q: Query, k: int | None = None, *, gain: str = "linear") -> float:
    """Sakai and Song 2011, by the global gain of each document."""
    worth = {"linear": lambda x: x, "exponential": lambda x: 2**x - 1, "binary": lambda x: 1.0}[gain]

    def global_gain(row: Row) -> float:
        return sum(weight_of(q, subtopic) * worth(row[2][subtopic]) for subtopic in meets(row, q.relevant))

    found, best = [global_gain(row) for row in q.ranking], sorted(map(global_gain, q.rows), reverse=True)
    return ratio(discounted_novelty(found, log_discount, k), discounted_novelty(best, log_discount, k))


def d_sharp_ndcg(q: Query, k: int | None = None, *, recall: float = 0.5, gain: str = "linear") -> float:
    covered = subtopic_recall(replace(q, weighted=False), k)
    return recall * covered + (1 - recall) * d_ndcg(q, k, gain=gain)


def average_precision_ia(q: Query) -> float:
    """The mean, over the query's subtopics, of the average precision for each."""
    values = []
    for subtopic in subtopics_of(q):
        relevant = [subtopic in meets(row, q.relevant) for row in q.ranking]
        hits = [sum(relevant[:rank]) / rank for rank, yes in enumerate(relevant, 1) if yes]
        precision = sum(hits) / sum(subtopic in meets(row, q.relevant) for row in q.rows)
        values.append(weight_of(q, subtopic) * precision)
    return ratio(sum(values), total_weight(q))


DIVERSITY: dict[str, Callable[..., float]] = {
    oracle.__name__: oracle
    for oracle in (
        alpha_dcg, alpha_ndcg, err_ia, nerr_ia, nrbp, nnrbp, precision_ia, subtopic_recall, average_precision_ia,
        nugget_recall, d_ndcg, d_sharp_ndcg,
    )
}  # fmt: skip
