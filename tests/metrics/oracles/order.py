"""Binary rankings: the ranks of the relevant documents, and pairs of documents."""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Callable, Sequence

from tests.metrics.oracles.gain import Gain, gain_of
from tests.metrics.oracles.query import Query, Row, candidates, ratio


def average_precision(q: Query, k: int | None = None, divisor: str = "R") -> float:
    depth = q.n if k is None else k
    most = {
        "R": q.R, "min(k,R)": q.R if k is None else min(k, q.R), "min(n,R)": min(depth, q.n, q.R), "hits": q.hits(k), "k": depth,
    }[divisor]  # fmt: skip
    return ratio(sum(q.precision(rank) for rank in q.relevant_ranks if k is None or rank <= k), most)


def reciprocal_rank(q: Query, k: int | None = None) -> float:
    first = min(q.relevant_ranks, default=math.inf)
    return 1 / first if k is None or first <= k else 0.0


def average_recall(q: Query, k: int | None = None, at: str = "ranks") -> float:
    if at == "relevant":
        found = [rank for rank in q.relevant_ranks if k is None or rank <= k]
        return ratio(sum(ratio(q.hits(rank), q.R) for rank in found), q.R)
    depth = q.n if k is None else k
    down = [ratio(q.hits(rank), q.R) for rank in range(1, min(depth, q.n) + 1)]
    below = (depth - len(down)) * ratio(q.hits(None), q.R)
    return ratio(sum(down) + below, depth)


def places(q: Query, documents: int | None = None) -> list[tuple[float, Row]]:
    """The rank of each document; those that were not retrieved have the mean of the ranks below the ranking."""
    documents = len(candidates(q)) if documents is None else documents
    below = [float(rank) for rank in range(q.n + 1, documents + 1)]
    others = [(sum(below) / len(below), row) for row in candidates(q)[q.n :]]
    return [(float(rank), row) for rank, row in enumerate(q.ranking, 1)] + others


def relevant_places(q: Query) -> list[float]:
    return [place for place, row in places(q) if q.is_relevant(row)]


def first_rank(q: Query) -> float | None:
    return min(relevant_places(q), default=None)


def last_rank(q: Query) -> float | None:
    return max(relevant_places(q), default=None)


def mean_rank(q: Query) -> float | None:
    return statistics.fmean(relevant_places(q)) if q.R else None


def median_rank(q: Query) -> float | None:
    return statistics.median(relevant_places(q)) if q.R else None


def mean_percentile_rank(q: Query, gain: Gain = "linear", divisor: str = "N-1") -> float | None:
    n = max(len(candidates(q)), q.collection_size or 0)
    worth = [(gain_of(row, gain, relevant=q.relevant), place) for place, row in places(q, n)]
    total = sum(g for g, _ in worth)
    if not total:
        return None
    return ratio(sum(g * (place - 1) for g, place in worth), total * (n - 1 if divisor == "N-1" else n))


def bpref(q: Query) -> float:
    """Buckley and Voorhees 2004 as trec_eval has it."""
    total = 0.0
    for rank in q.relevant_ranks:
        above = sum(q.is_nonrelevant(row) for row in q.ranking[: rank - 1])
        total += 1 - min(above, q.R) / min(q.N, q.R) if above else 1
    return ratio(total, q.R)


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


NO_PAIRS = {"null": None, "zero": 0.0, "one": 1.0}


def auc(q: Query, k: int | None = None, max_fpr: float | None = None, no_pairs: str = "null") -> float | None:
    """P(a relevant document is scored above another), ties count a half; rows without a score tie, last."""
    rows = candidates(q) if k is None else q.ranking[:k]
    relevant = [row for row in rows if q.is_relevant(row)]
    others = [row for row in rows if not q.is_relevant(row)]
    if not relevant:
        return 0.0
    if not others:
        return NO_PAIRS[no_pairs]
    if max_fpr is None:
        return sum(won(a, b, 0.5) for a in relevant for b in others) / (len(relevant) * len(others))
    share = area(roc(rows, q), max_fpr * len(others)) / (len(relevant) * len(others))
    least = max_fpr**2 / 2  # McClish 1989: that of a random order; the most is max_fpr
    return (1 + (share - least) / (max_fpr - least)) / 2


def won(row: Row, other: Row, tied: float) -> float:
    """The value of a pair whose first row should score higher; rows without a score tie, last."""
    a, b = ((score is not None, score or 0.0) for _, score, _ in (row, other))
    return 1.0 if a > b else tied if a == b else 0.0


def ordered_pair_accuracy(q: Query, tied: float = 0.0, no_pairs: str = "null") -> float | None:
    rows = [(row, gain_of(row, "linear")) for row in candidates(q)]
    pairs = [(a, b) for a, label in rows for b, other in rows if label > other]
    return sum(won(a, b, tied) for a, b in pairs) / len(pairs) if pairs else NO_PAIRS[no_pairs]


def partial_auc(q: Query, negatives: int, capped: bool = False) -> float:
    """Pair by pair: each relevant document against each of the first others; what was not retrieved is below them."""
    relevant = q.relevant_ranks[:negatives] if capped else q.relevant_ranks
    others = [rank for rank in range(1, q.n + 1) if rank not in q.relevant_ranks][:negatives]
    others += [math.inf] * (negatives - len(others))
    pairs = (min(q.R, negatives) if capped else q.R) * negatives
    return ratio(sum(rank < other for rank in relevant for other in others), pairs)


def ranking_loss(q: Query, tied: float = 1.0, no_pairs: str = "null") -> float | None:
    accuracy = ordered_pair_accuracy(q, 1 - tied)
    return NO_PAIRS[no_pairs] if accuracy is None else 1 - accuracy


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
        average_precision,
        average_recall,
        reciprocal_rank,
        first_rank,
        mean_rank,
        median_rank,
        last_rank,
        mean_percentile_rank,
        bpref,
        interpolated_precision,
        eleven_point_average,
        auc,
        partial_auc,
        ordered_pair_accuracy,
        ranking_loss,
    )
}
