"""Every metric once more: plain Python over one query's rows, straight from its paper.

Slow and simple on purpose. A row is (doc, score, label): score None = judged but not retrieved, label None =
retrieved but not judged, label below 0 = in the pool but not judged. Nothing here may import what it tests,
nor numpy, nor polars.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Row = tuple[Any, float | None, float | None]
Gain = str | Mapping[float, float] | None


@dataclass
class Query:
    """One query's rows, ranked under the policies."""

    ranking: list[Row]
    unretrieved: list[Row]
    relevant: float
    table_max: float
    collection_size: int | None = None

    def is_relevant(self, row: Row) -> bool:
        return is_judged(row) and row[2] >= self.relevant

    def is_nonrelevant(self, row: Row) -> bool:
        return is_judged(row) and row[2] < self.relevant

    @property
    def rows(self) -> list[Row]:
        return self.ranking + self.unretrieved

    @property
    def n(self) -> int:
        return len(self.ranking)

    @property
    def R(self) -> int:  # noqa: N802
        return sum(self.is_relevant(row) for row in self.rows)

    @property
    def N(self) -> int:  # noqa: N802
        return sum(self.is_nonrelevant(row) for row in self.rows)

    @property
    def relevant_ranks(self) -> list[int]:
        return [rank for rank, row in enumerate(self.ranking, 1) if self.is_relevant(row)]

    def hits(self, k: float | None) -> int:
        return sum(k is None or rank <= k for rank in self.relevant_ranks)

    def precision(self, rank: int) -> float:
        return self.hits(rank) / rank


def is_judged(row: Row) -> bool:
    return row[2] is not None and row[2] >= 0


def ranked(rows: Sequence[Row], ties: str) -> list[Row]:
    """Retrieved rows, best first. Python's sort is stable, so the last key sorted by counts most."""
    ranking = [row for row in rows if row[1] is not None]
    if ties == "trec_eval":
        ranking.sort(key=lambda row: str(row[0]), reverse=True)
    elif ties != "order" and all(row[0] is not None for row in ranking):
        ranking.sort(key=lambda row: row[0], reverse=ties != "doc_asc")
    if ties in ("best", "worst"):
        ranking.sort(key=lambda row: -math.inf if row[2] is None else row[2], reverse=ties == "best")
    ranking.sort(key=lambda row: row[1], reverse=True)
    return ranking


def prepare(
    rows: Sequence[Row],
    *,
    relevant: float = 1,
    ties: str = "doc_desc",
    unjudged: str = "nonrelevant",
    unretrieved: str = "missed",
    depth: int | None = None,
    collection_size: int | None = None,
    table_max: float = 0,
) -> Query:
    ranking = ranked(rows, ties)
    beyond: list[Row] = [] if depth is None else [(doc, None, label) for doc, _, label in ranking[depth:]]
    ranking = ranking[:depth]
    if unjudged == "drop":
        ranking = [row for row in ranking if is_judged(row)]
    others = [row for row in rows if row[1] is None] + beyond
    return Query(ranking, [] if unretrieved == "drop" else others, relevant, table_max, collection_size)


def ratio(a: float, b: float) -> float:
    return a / b if b else 0.0


def top(items: Sequence[Any], k: int | None) -> list[tuple[int, Any]]:
    return list(enumerate(items, 1))[:k]


# Graded gain: Järvelin and Kekäläinen 2002, Burges et al. 2005 ----------------------------------------------


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
    return ratio(dcg(q, k, gain, discount, min_label), discounted(best, k, discount))


# Cascade: Chapelle et al. 2009 ------------------------------------------------------------------------------


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
    """How likely each document satisfies."""
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


# Sets -------------------------------------------------------------------------------------------------------


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


# Binary rankings --------------------------------------------------------------------------------------------


def average_precision(q: Query, k: int | None = None, divisor: str = "R") -> float:
    depth = q.n if k is None else k
    most = {
        "R": q.R, "min(k,R)": q.R if k is None else min(k, q.R), "min(n,R)": min(depth, q.n, q.R), "hits": q.hits(k), "k": depth,
    }[divisor]  # fmt: skip
    return ratio(sum(q.precision(rank) for rank in q.relevant_ranks if k is None or rank <= k), most)


def reciprocal_rank(q: Query, k: int | None = None) -> float:
    first = min(q.relevant_ranks, default=math.inf)
    return 1 / first if k is None or first <= k else 0.0


def bpref(q: Query) -> float:
    """Buckley and Voorhees 2004 as trec_eval has it."""
    total = 0.0
    for rank in q.relevant_ranks:
        above = sum(q.is_nonrelevant(row) for row in q.ranking[: rank - 1])
        total += 1 - min(above, q.R) / min(q.N, q.R) if above else 1
    return ratio(total, q.R)


def rbp(q: Query, k: int | None = None, p: float = 0.8, gain: Mapping[float, float] | None = None) -> float:
    """Moffat and Zobel 2008."""
    if gain == "scaled":
        gain = {row[2]: row[2] / max(1, max_of(q.rows)) for row in q.rows if is_judged(row)}
    total = 0.0
    for rank, row in top(q.ranking, k):
        total += (q.is_relevant(row) if gain is None else gain_of(row, gain)) * p ** (rank - 1)
    return (1 - p) * total


def interpolated_precision(q: Query, recall: float, rounding: str = "nearest") -> float:
    """The best precision at or below the rank where recall is reached (trec_eval 10, or 9 where rounded up)."""
    wanted = recall * q.R
    count = math.floor(wanted) + (wanted - math.floor(wanted) >= 0.5)
    if rounding == "up":
        count = int(wanted + 0.9)
    if count > q.hits(None):
        return 0.0
    start = q.relevant_ranks[count - 1] if count else 1
    return max((q.precision(rank) for rank in range(start, q.n + 1)), default=0.0)


def eleven_point_average(q: Query, rounding: str = "nearest") -> float:
    return sum(interpolated_precision(q, tenth / 10, rounding) for tenth in range(11)) / 11


def auc(q: Query, k: int | None = None, max_fpr: float | None = None) -> float | None:
    """P(a relevant document is scored above another), ties count a half; rows without a score tie, last."""
    rows = candidates(q) if k is None else q.ranking[:k]
    relevant = [row for row in rows if q.is_relevant(row)]
    others = [row for row in rows if not q.is_relevant(row)]
    if not relevant:
        return 0.0
    if not others:
        return None
    if max_fpr is None:
        return sum(won(a, b, 0.5) for a in relevant for b in others) / (len(relevant) * len(others))
    share = area(roc(rows, q), max_fpr * len(others)) / (len(relevant) * len(others))
    least = max_fpr**2 / 2  # McClish 1989: that of a random order; the most is max_fpr
    return (1 + (share - least) / (max_fpr - least)) / 2


# What learning libraries have ----------------------------------------------------------------------------------


def mean_label(q: Query, k: int | None = None) -> float:
    return ratio(cg(q, k), min(q.n, q.n if k is None else k))


def average_relevance_position(q: Query, gain: Gain = "linear") -> float:
    worths = [gain_of(row, gain, relevant=q.relevant) for row in q.ranking]
    return ratio(sum(worth * rank for rank, worth in enumerate(worths, 1)), sum(worths))


def candidates(q: Query) -> list[Row]:
    return q.ranking + [row for row in q.unretrieved if is_judged(row)]


def fall_out(q: Query, k: int | None = None) -> float:
    others = sum(not q.is_relevant(row) for row in candidates(q))
    if q.collection_size is not None:
        others = max(others, q.collection_size - q.R)
    return ratio(sum(not q.is_relevant(row) for _, row in top(q.ranking, k)), others)


def won(row: Row, other: Row, tied: float) -> float:
    """What the pair counts if the first row should score higher; rows without a score tie, last."""
    a, b = ((score is not None, score or 0.0) for _, score, _ in (row, other))
    return 1.0 if a > b else tied if a == b else 0.0


def ordered_pair_accuracy(q: Query, tied: float = 0.0) -> float | None:
    rows = [(row, gain_of(row, "linear")) for row in candidates(q)]
    pairs = [(a, b) for a, label in rows for b, other in rows if label > other]
    return sum(won(a, b, tied) for a, b in pairs) / len(pairs) if pairs else None


def roc(rows: Sequence[Row], q: Query) -> list[tuple[float, float]]:
    """The curve of (others, relevant) passed, score by score from the highest on."""
    points = [(0.0, 0.0)]
    for level in sorted({(row[1] is not None, row[1] or 0.0) for row in rows}, reverse=True):
        passed = [row for row in rows if (row[1] is not None, row[1] or 0.0) >= level]
        found = sum(q.is_relevant(row) for row in passed)
        points.append((len(passed) - found, found))
    return points


def area(points: Sequence[tuple[float, float]], limit: float) -> float:
    """The area under a curve that rises, up to `limit`, by trapezoids."""
    total = 0.0
    for (x, y), (x1, y1) in itertools.pairwise(points):
        end = min(x1, limit)
        if end > x:
            total += (end - x) * (y + (y + (y1 - y) * (end - x) / (x1 - x))) / 2
    return total


ORACLES: dict[str, Callable[..., float | None]] = {
    oracle.__name__: oracle
    for oracle in (
        cg, dcg, ndcg, err, nerr, precision, recall, f1, hits, hit_rate, r_precision, average_precision,
        reciprocal_rank, bpref, rbp, interpolated_precision, eleven_point_average, auc, pfound, mean_label,
        average_relevance_position, fall_out, ordered_pair_accuracy,
    )
}  # fmt: skip
UNBOUNDED = {"cg", "dcg", "hits", "mean_label", "average_relevance_position", "num_retrieved", "num_relevant"}
LOWER_IS_BETTER = {"average_relevance_position", "fall_out", "rbp_residual"}
BEYOND = {"report", "residual"}  # options that make of a share something else


def evaluate(
    name: str, rows: Sequence[Row], options: Mapping[str, Any], *, no_relevant: str = "zero", **policies: Any
) -> float | None:
    """One metric of one query under all policies."""
    q = prepare(rows, **policies)
    if q.R == 0 and no_relevant == "null":
        return None
    if q.R == 0 and no_relevant == "one" and name not in UNBOUNDED | LOWER_IS_BETTER and not BEYOND & options.keys():
        return 1.0
    return ORACLES[name](q, **options)


# Agreement of two scores: rows are (doc, score, other, label) -----------------------------------------------

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
    """The documents by the first score and by the second, each without those that lack it."""
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
    """Equation 32; 0 where one of the rankings has nothing."""
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


AGREEMENT: dict[str, Callable[..., float | None]] = {
    measure.__name__: measure
    for measure in (kendall_distance, kendall_tau, spearman, tau_ap, overlap, rbo, rbo_min, rbo_residual)
}


from tests.metrics import oracles_more  # noqa: E402, F401 - which puts its own among ORACLES
