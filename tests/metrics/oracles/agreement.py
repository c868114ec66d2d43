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


def rbo(
    rows: Sequence[Pair], k: int | None = None, p: float = 0.9, ties: str = "doc_desc", tied: str = "order"
) -> float | None:
    """Equation 32; 0 if one of the rankings is empty."""
    if tied != "order":
        return Tied(rows, k, ties, tied).rbo(p)["ext"]
    S, L = sorted(rankings(rows, ties, k), key=len)  # noqa: N806
    s, l = len(S), len(L)  # noqa: E741
    if not s:
        return 0.0 if l else None
    seen = sum(X(S, L, d) / d * p**d for d in range(1, l + 1))
    unseen = sum(X(S, L, s) * (d - s) / (s * d) * p**d for d in range(s + 1, l + 1))
    return (1 - p) / p * (seen + unseen) + ((X(S, L, l) - X(S, L, s)) / l + X(S, L, s) / s) * p**l


def rbo_min(
    rows: Sequence[Pair], k: int | None = None, p: float = 0.9, ties: str = "doc_desc", tied: str = "order"
) -> float | None:
    """Equation 11 at the depth of the longer ranking."""
    if tied != "order":
        return Tied(rows, k, ties, tied).rbo(p)["min"]
    S, L = sorted(rankings(rows, ties, k), key=len)  # noqa: N806
    l = len(L)  # noqa: E741
    seen = sum((X(S, L, d) - X(S, L, l)) * p**d / d for d in range(1, l + 1))
    return (1 - p) / p * (seen - X(S, L, l) * math.log(1 - p)) if l else None


def rbo_residual(
    rows: Sequence[Pair], k: int | None = None, p: float = 0.9, ties: str = "doc_desc", tied: str = "order"
) -> float | None:
    """Equation 30."""
    if tied != "order":
        return Tied(rows, k, ties, tied).rbo(p)["res"]
    S, L = sorted(rankings(rows, ties, k), key=len)  # noqa: N806
    s, l = len(S), len(L)  # noqa: E741
    f = l + s - X(S, L, l)
    if not f:
        return None
    tail = X(S, L, l) * (math.log(1 / (1 - p)) - sum(p**d / d for d in range(1, f + 1)))
    short, long = (n * sum(p**d / d for d in range(n + 1, f + 1)) for n in (s, l))
    return p**s + p**l - p**f - (1 - p) / p * (short + long + tail)


class Tied:
    """Corsi and Urbano 2024: rankings whose tied documents share ranks, depth by depth."""

    def __init__(self, rows: Sequence[Pair], k: int | None, ties: str, variant: str) -> None:
        self.variant = variant
        scores = [{row[0]: row[column] for row in rows} for column in (1, 2)]
        listed = rankings(rows, ties, k)
        groups = [
            [[other for other in docs if of[other] == of[doc]] for doc in docs]
            for docs, of in zip(listed, scores, strict=True)
        ]
        spans = [
            {doc: (docs.index(group[0]) + 1, docs.index(group[-1]) + 1) for doc, group in zip(docs, of, strict=True)}
            for docs, of in zip(listed, groups, strict=True)
        ]
        self.S, self.L = sorted(spans, key=len)
        self.omega = [*self.S, *(doc for doc in self.L if doc not in self.S)]

    def share(self, of: dict[Any, tuple[int, int]], doc: Any, d: int) -> float:
        """How much of a document is in the top d."""
        if doc not in of or d < of[doc][0]:
            return 0.0
        top, bottom = of[doc]
        return 1.0 if self.variant == "w" or d >= bottom else (d - top + 1) / (bottom - top + 1)

    def rbo(self, p: float) -> dict[str, float | None]:
        s, l = len(self.S), len(self.L)  # noqa: E741
        if not l:
            return dict.fromkeys(("ext", "min", "res"))
        new = [doc for doc in self.L if doc not in self.S]
        at_s, totals, met = 0.0, dict.fromkeys(("ext", "min", "max"), 0.0), 0.0
        for d in range(1, l + 1):
            short = [self.share(self.S, doc, d) for doc in self.omega]
            long = [self.share(self.L, doc, d) for doc in self.omega]
            met = sum(a * b for a, b in zip(short, long, strict=True))
            sizes = [sum(a**2 for a in short) if d <= s else d, sum(b**2 for b in long)]
            over = {"w": sum(sizes) / 2, "a": d, "b": math.sqrt(math.prod(sizes))}[self.variant]
            if d == s:
                at_s = met / over
            left = [x for doc in new if (x := self.share(self.L, doc, d))]
            unseen = {"min": 0.0, "ext": 0.0, "max": 0.0}
            if d > s:
                unseen["ext"] = (d - s) * at_s * sum(left) / len(left)
                unseen["max"] = sum(self.share(self.L, doc, d) for doc in new[: d - s])
            for figure, more in unseen.items():
                totals[figure] += (1 - p) * p ** (d - 1) * (met + more) / over
        totals["ext"] += (met + (l - s) * at_s) / l * p**l
        # deep enough that less than 1e-18 follows: all documents met stay so, and every rank adds one at most
        deep = l + math.ceil(math.log(1e-18) / math.log(p)) + 2
        for d in range(l + 1, deep):
            totals["min"] += (1 - p) * p ** (d - 1) * met / d
            totals["max"] += (1 - p) * p ** (d - 1) * min(1.0, (2 * d - l - s + met) / d)
        return {"ext": totals["ext"], "min": totals["min"], "res": totals["max"] - totals["min"]}


def jaccard_index(rows: Sequence[Pair], k: int | None = None, ties: str = "doc_desc") -> float | None:
    a, b = (set(docs) for docs in rankings(rows, ties, k))
    return len(a & b) / len(a | b) if a | b else None


def footrule(rows: Sequence[Pair], k: int | None = None, ties: str = "doc_desc") -> float | None:
    """Over the largest sum, that of the reverse order; of the top k, by Fagin, Kumar and Sivakumar 2003."""
    a, b = rankings(scored_twice(rows) if k is None else rows, ties, k)
    docs = {*a, *b}
    if len(docs) < (2 if k is None else 1):
        return None
    most = sum(abs(len(a) - 1 - 2 * i) for i in range(len(a))) if k is None else k * (k + 1)
    last = 0 if k is None else k
    places = [[docs_.index(doc) if doc in docs_ else last for doc in docs] for docs_ in (a, b)]
    return sum(abs(i - j) for i, j in zip(*places, strict=True)) / most


def ndpm(rows: Sequence[Pair]) -> float | None:
    """Yao 1995: a pair in the wrong order counts 2, one that only the second score ties 1, over twice the pairs."""
    both = scored_twice(rows)
    pairs = [(sign(a[1] - b[1]), sign(a[2] - b[2])) for i, a in enumerate(both) for b in both[i + 1 :]]
    ordered = [(x, y) for x, y in pairs if x]
    return sum({-1: 2, 0: 1, 1: 0}[x * y] for x, y in ordered) / (2 * len(ordered)) if ordered else None


def weighted_tau(rows: Sequence[Pair]) -> float | None:
    """Vigna 2015: the mean over the ranks by either score, ties in the order of the other one, of pairs with weights."""
    both = scored_twice(rows)
    values = []
    for first, second in ((1, 2), (2, 1)):
        by_rank = sorted(both, key=lambda row: (row[first], row[second]), reverse=True)
        x, y, xy = 0.0, 0.0, 0.0
        for i, a in enumerate(by_rank):
            for j, b in enumerate(by_rank[i + 1 :], i + 1):
                weight, sx, sy = 1 / (i + 1) + 1 / (j + 1), sign(a[1] - b[1]), sign(a[2] - b[2])
                x, y, xy = x + weight * sx**2, y + weight * sy**2, xy + weight * sx * sy
        if not x or not y:
            return None
        values.append(xy / math.sqrt(x * y))
    return sum(values) / 2


def rpp(rows: Sequence[Pair], k: int | None = None, ties: str = "doc_desc", null: bool = False) -> float | None:
    """Diaz and Ferraro 2022: the level of recall i is reached at the rank of the i-th relevant document."""
    if rows and all(label is None for *_, label in rows):  # nobody judged the query
        return None
    relevant = [doc for doc, _, _, label in rows if label is not None and label >= 1]
    own, other = (
        [rank for rank, doc in enumerate(ranking, 1) if doc in relevant] for ranking in rankings(rows, ties, k)
    )
    levels = itertools.zip_longest(own, other, fillvalue=math.inf)
    total = sum((x < y) - (x > y) for x, y in levels)
    return total / len(relevant) if relevant else None if null else 0.0


AGREEMENT: dict[str, Callable[..., float | None]] = {
    measure.__name__: measure
    for measure in (
        kendall_distance, kendall_tau, spearman, tau_ap, overlap, rbo, rbo_min, rbo_residual, jaccard_index, footrule, ndpm,
        weighted_tau, rpp,
    )
}  # fmt: skip
