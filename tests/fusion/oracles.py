"""Fusion of one query's rankings in plain Python, written from the definitions and the engines' sources."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Doc = Any


@dataclass
class Ranking:
    """The documents of a ranking, best first, with their scores and the values of a function of the rank."""

    docs: list[Doc]
    scores: list[float]
    expected: bool

    def by_rank(self, worth: Callable[[int], float]) -> list[float]:
        """The value of each document's rank; the mean over equal scores if ties are expected."""
        each = [worth(rank) for rank in range(1, len(self.docs) + 1)]
        if not self.expected:
            return each
        return [statistics.fmean(x for x, t in zip(each, self.scores, strict=True) if t == s) for s in self.scores]


def min_max(r: Ranking) -> list[float]:
    low, high = min(r.scores), max(r.scores)
    return [(s - low) / (high - low) if high > low else 1.0 for s in r.scores]


def min_max_inverted(r: Ranking) -> list[float]:
    low, high = min(r.scores), max(r.scores)
    return [(high - s) / (high - low) if high > low else 1.0 for s in r.scores]


def over_greatest(r: Ranking) -> list[float]:
    return [s / max(r.scores) if max(r.scores) > 0 else 1.0 for s in r.scores]


def over_sum(r: Ranking) -> list[float]:
    low, n = min(r.scores), len(r.scores)
    return [(s - low) / sum(t - low for t in r.scores) if max(r.scores) > low else 1 / n for s in r.scores]


def zmuv(r: Ranking) -> list[float]:
    spread = statistics.pstdev(r.scores)
    return [(s - statistics.fmean(r.scores)) / spread if spread else 0.0 for s in r.scores]


def rank(r: Ranking) -> list[float]:
    return r.by_rank(lambda place: 1 - (place - 1) / len(r.docs))


def l2(r: Ranking) -> list[float]:
    norm = math.hypot(*r.scores)
    return [s / norm if norm else 0.0 for s in r.scores]


def dbsf(r: Ranking) -> list[float]:
    spread = statistics.pstdev(r.scores)
    return [(s - statistics.fmean(r.scores) + 3 * spread) / (6 * spread) if spread else 0.5 for s in r.scores]


NORMALIZATIONS: dict[str, Callable[[Ranking], list[float]]] = {
    "min_max": min_max, "min_max_inverted": min_max_inverted, "max": over_greatest, "sum": over_sum, "zmuv": zmuv,
    "rank": rank, "l2": l2, "dbsf": dbsf,
}  # fmt: skip


@dataclass
class Query:
    """The rankings of a query, its documents, and the options that methods share."""

    rankings: list[Ranking]
    normalize: Callable[[Ranking], list[float]] | None = None
    missing: str = "skip"

    @property
    def docs(self) -> list[Doc]:
        return list(dict.fromkeys(doc for r in self.rankings for doc in r.docs))

    def listing(self, doc: Doc) -> list[int]:
        return [j for j, r in enumerate(self.rankings) if doc in r.docs]

    def terms(self, worth: Callable[[int], float]) -> list[dict[Doc, float]]:
        """The values of each ranking's ranks for its documents."""
        return [dict(zip(r.docs, r.by_rank(worth), strict=True)) for r in self.rankings]

    def scored(self, normalize: Callable[[Ranking], list[float]] | None = None) -> list[dict[Doc, float]]:
        """The normalised scores of each ranking, including absent documents if they have scores."""
        normalize = normalize or self.normalize or (lambda r: r.scores)
        found = [dict(zip(r.docs, normalize(r), strict=True)) if r.docs else {} for r in self.rankings]
        for scores in found:
            absent = {"skip": None, "zero": 0.0, "min": min(scores.values(), default=None)}[self.missing]
            if absent is not None:
                scores.update({doc: absent for doc in self.docs if doc not in scores})
        return found


def added(
    query: Query, parts: Sequence[Mapping[Doc, float]], weights: Sequence[float] | None = None
) -> dict[Doc, float]:
    """The weighted sum over the rankings."""
    given = [1.0] * len(parts) if weights is None else weights
    return {d: sum(w * part[d] for w, part in zip(given, parts, strict=True) if d in part) for d in query.docs}


def each(query: Query, how: Callable[[list[float]], float]) -> dict[Doc, float]:
    """A function of each document's scores."""
    return {doc: how([scores[doc] for scores in query.scored() if doc in scores]) for doc in query.docs}


def times(query: Query, scores: Mapping[Doc, float], how: Callable[[int], float]) -> dict[Doc, float]:
    """The scores times a function of the number of rankings that have the document."""
    return {doc: score * how(len(query.listing(doc))) for doc, score in scores.items()}


def borda(query: Query, weights: Sequence[float] | None = None) -> dict[Doc, float]:
    c = len(query.docs)
    parts = query.terms(lambda place: c - place + 1)
    for r, points in zip(query.rankings, parts, strict=True):
        points.update({doc: (c - len(r.docs) + 1) / 2 for doc in query.docs if doc not in points})
    return added(query, parts, weights)


def condorcet(query: Query, weights: Sequence[float] | None = None) -> dict[Doc, float]:
    def won(doc: Doc, other: Doc) -> float:
        votes = 0.0
        for w, r in zip(weights or [1.0] * len(query.rankings), query.rankings, strict=True):
            places = dict(zip(r.docs, r.scores if r.expected else range(0, -len(r.docs), -1), strict=True))
            own, others = places.get(doc, -math.inf), places.get(other, -math.inf)
            votes += w * ((own > others) - (own < others))
        return 0.5 if abs(votes) < 1e-9 else float(votes > 0)

    return {doc: sum(won(doc, other) for other in query.docs if other != doc) for doc in query.docs}


def reciprocal(query: Query, k: float, weights: Sequence[float] | None = None) -> dict[Doc, float]:
    return added(query, query.terms(lambda place: 1 / (k + place)), weights)


def squares(query: Query) -> dict[Doc, float]:
    return added(query, query.terms(lambda place: 1 / place**2))


def elasticsearch_linear(
    query: Query, weights: Sequence[float] | None = None, normalizer: str = "none"
) -> dict[Doc, float]:
    def minmax(r: Ranking) -> list[float]:
        low, high = min(r.scores), max(0.0, *r.scores)
        return [low if abs(high - low) < 1e-6 else (s - low) / (high - low) for s in r.scores]

    def l2_norm(r: Ranking) -> list[float]:
        return [s if math.hypot(*r.scores) < 1e-6 else s / math.hypot(*r.scores) for s in r.scores]

    return added(query, query.scored({"none": None, "minmax": minmax, "l2_norm": l2_norm}[normalizer]), weights)


def opensearch_hybrid(
    query: Query,
    normalization: str = "min_max",
    combination: str = "arithmetic_mean",
    weights: Sequence[float] | None = None,
) -> dict[Doc, float]:
    def scaled(r: Ranking) -> list[float]:
        low, high = min(r.scores), max(2.0**-149, *r.scores)
        return [1.0 if low == high else (s - low) / (high - low) or 0.001 for s in r.scores]

    def z_score(r: Ranking) -> list[float]:
        mean = statistics.fmean(r.scores)
        spread = statistics.stdev(r.scores) if len(r.scores) > 1 else 0
        above = [max(r.scores) if math.isclose(s, mean, abs_tol=1e-9) else (s - mean) / spread for s in r.scores]
        return [
            x if math.isclose(s, mean, abs_tol=1e-9) else 0.001 if x <= 0 else x
            for s, x in zip(r.scores, above, strict=True)
        ]

    parts = query.scored({"min_max": scaled, "l2": l2, "z_score": z_score}[normalization])
    found = {}
    for doc in query.docs:
        pairs = [(w, p[doc]) for w, p in zip(weights or [1] * len(parts), parts, strict=True) if doc in p]
        pairs = [(w, s) for w, s in pairs if s > 0 or (s == 0 and combination == "arithmetic_mean")]
        all_weights = sum(w for w, _ in pairs)
        if not all_weights:
            found[doc] = 0.0
        elif combination == "arithmetic_mean":
            found[doc] = sum(w * s for w, s in pairs) / all_weights
        elif combination == "geometric_mean":
            found[doc] = math.prod(s ** (w / all_weights) for w, s in pairs)
        else:
            found[doc] = all_weights / sum(w / s for w, s in pairs)
    return found


def qdrant_rrf(query: Query, k: int = 2, weights: Sequence[float] | None = None) -> dict[Doc, float]:
    parts = []
    for w, r in zip(weights or [1.0] * len(query.rankings), query.rankings, strict=True):
        worth = r.by_rank(lambda place, w=w: 1 / (k + place / w - 1) if w > 0 else 0.0)  # type: ignore[misc]
        parts.append(dict(zip(r.docs, worth, strict=True)))
    return added(query, parts)


def qdrant_dbsf(query: Query) -> dict[Doc, float]:
    def scaled(r: Ranking) -> list[float]:
        if len(set(r.scores)) < 2:
            return [0.5] * len(r.scores)
        low, spread = statistics.fmean(r.scores) - 3 * statistics.stdev(r.scores), statistics.stdev(r.scores)
        return [(s - low) / (6 * spread) for s in r.scores]

    return added(query, query.scored(scaled))


def shares(query: Query, weights: Sequence[float] | None) -> list[float]:
    given = weights or [1.0] * len(query.rankings)
    return [w / sum(given) for w in given]


def best(query: Query, parts: Sequence[Mapping[Doc, float]]) -> dict[Doc, float]:
    return {doc: max(part[doc] for part in parts if doc in part) for doc in query.docs}


def llamaindex(query: Query, mode: str = "simple", weights: Sequence[float] | None = None) -> dict[Doc, float]:
    def scaled(r: Ranking) -> list[float]:
        if min(r.scores) == max(r.scores):
            return [float(s > 0) for s in r.scores]
        return min_max(r) if mode == "relative_score" else dbsf(r)

    if mode == "simple":
        return best(query, query.scored())
    if mode == "reciprocal_rerank":
        return reciprocal(query, 59)
    return added(query, query.scored(scaled), shares(query, weights))


def haystack(query: Query, join_mode: str = "concatenate", weights: Sequence[float] | None = None) -> dict[Doc, float]:
    def scaled(r: Ranking) -> list[float]:
        return r.scores if min(r.scores) == max(r.scores) else dbsf(r)

    if join_mode == "concatenate":
        return best(query, query.scored())
    if join_mode == "merge":
        return added(query, query.scored(), shares(query, weights))
    if join_mode == "reciprocal_rank_fusion":
        return {doc: 61 * x for doc, x in reciprocal(query, 60, shares(query, weights)).items()}
    return best(query, query.scored(scaled))


METHODS: dict[str, Callable[..., dict[Doc, float]]] = {
    "comb_sum": lambda q: each(q, sum),
    "comb_min": lambda q: each(q, min),
    "comb_max": lambda q: each(q, max),
    "comb_med": lambda q: each(q, statistics.median),
    "comb_anz": lambda q: times(q, each(q, sum), lambda h: 1 / h),
    "comb_mnz": lambda q: times(q, each(q, sum), lambda h: h),
    "comb_gmnz": lambda q, gamma=1.0: times(q, each(q, sum), lambda h: h**gamma),
    "wsum": lambda q, weights=None: added(q, q.scored(), weights),
    "mixed": lambda q, weights=None: times(q, added(q, q.scored(), weights), math.sqrt),
    "wmnz": lambda q, weights=None: {
        d: s * sum(1 if weights is None else weights[j] for j in q.listing(d)) for d, s in each(q, sum).items()
    },
    "rrf": lambda q, k=60, weights=None: reciprocal(q, k, weights),
    "isr": lambda q: times(q, squares(q), lambda h: h),
    "log_isr": lambda q: times(q, squares(q), math.log),
    "logn_isr": lambda q, sigma=0.01: times(q, squares(q), lambda h: math.log(h + sigma)),
    "rbc": lambda q, phi=0.8, weights=None: added(q, q.terms(lambda place: (1 - phi) * phi ** (place - 1)), weights),
    "borda": borda,
    "condorcet": condorcet,
    "elasticsearch_rrf": lambda q, rank_constant=60, weights=None: reciprocal(q, rank_constant, weights),
    "elasticsearch_linear": elasticsearch_linear,
    "opensearch_hybrid": opensearch_hybrid,
    "opensearch_rrf": lambda q, rank_constant=60, weights=None: added(
        q, q.terms(lambda place: round(1 / (rank_constant + place), 10)), weights
    ),
    "qdrant_rrf": qdrant_rrf,
    "qdrant_dbsf": qdrant_dbsf,
    "langchain": lambda q, c=60, weights=None: reciprocal(q, c, weights or [1 / len(q.rankings)] * len(q.rankings)),
    "llamaindex": llamaindex,
    "haystack": haystack,
}
