"""The metrics that the choices of `tests.tools.conventions` make, in plain Python over one query's rows."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.support.untraced import untraced
from tests.tools.conventions import Row, choices

Choices = Mapping[str, Any]


@untraced
def value(tool: str, metric: str, rows: Sequence[Row], **options: Any) -> float:
    """The value that the tool prints for one query. Options that are also choices (gain, over ...) replace its default."""
    chosen = choices(tool, metric)
    chosen.update({name: options.pop(name) for name in list(options) if name in chosen and name != "k"})
    k = options.get("k", chosen.get("default_k"))
    query = prepare(rows, chosen)
    if chosen["beyond"] is not None and k is not None and k > query.n:
        return float(chosen["beyond"])
    return float(METRICS[metric](query, **options | ({} if k is None else {"k": k})))


# One query, ranked -------------------------------------------------------------------------------------------


@dataclass
class Query:
    """One query's rows under the choices: the ranking, best first, and the rows that were not retrieved."""

    ranking: list[Row]
    unretrieved: list[Row]
    choice: Choices

    @property
    def rows(self) -> list[Row]:
        return self.ranking + self.unretrieved

    @property
    def n(self) -> int:
        return len(self.ranking)

    @property
    def R(self) -> float:  # noqa: N802
        return sum(self.relevance(row) for row in self.rows)

    @property
    def N(self) -> int:  # noqa: N802
        return sum(self.is_nonrelevant(row) for row in self.rows)

    def relevance(self, row: Row) -> float:
        """1 or 0; under "share", labels from 0 to 1 are what they are."""
        _, _, label = row
        if label is None or (label < 0 and self.choice["negative"] != "taken"):
            return 0
        if self.choice["relevant"] == "share":
            return min(max(label, 0), 1)
        sign, level = self.choice["relevant"]
        return int(label >= level if sign == ">=" else label > level)

    def is_nonrelevant(self, row: Row) -> bool:
        unjudged = row[2] is None or (row[2] < 0 and self.choice["negative"] == "unjudged")
        return not unjudged and not self.relevance(row)

    def found(self, row: Row) -> float:
        """Relevance as a hit: some metrics take a relevant row for one only if its score is positive."""
        positive = self.choice.get("relevant_scores") != "positive" or row[1] > 0
        return self.relevance(row) if positive else 0

    def hits(self, k: int | None) -> float:
        return sum(self.found(row) for row in self.ranking[:k])

    def gain(self, row: Row) -> float:
        label, kind = row[2] or 0, self.choice["gain"]
        if kind == "binary":
            return self.relevance(row)
        if label < 0 and self.choice["negative"] != "taken":
            label = 0
        if kind.endswith("of the relevant"):
            label *= self.relevance(row)
        return 2.0**label - 1 if kind.startswith("exponential") else label

    def discount(self, rank: int) -> float:
        divisors = {"log2": math.log2(rank + 1), "original": math.log2(max(rank, 2)), "position": rank}
        return 1 / divisors[self.choice["discount"]]

    def share(self, a: float, b: float) -> float:
        return a / b if b else self.choice["no_relevant"]

    @property
    def groups(self) -> Iterator[tuple[int, list[Row]]]:
        """Rows with one score, with the number of rows up to them."""
        start = 0
        for i in range(1, self.n + 1):
            if i == self.n or self.ranking[i][1] != self.ranking[start][1]:
                yield i, self.ranking[start:i]
                start = i


def prepare(rows: Sequence[Row], choice: Choices) -> Query:
    rows = [(doc, as_stored(score, choice["scores"]), label) for doc, score, label in rows]
    if choice["negative"] == "unseen":
        rows = [row for row in rows if row[2] is None or row[2] >= 0]
    ranking = [row for row in rows if row[1] is not None]
    ties = choice["ties"]
    if ties == "undefined":
        assert len({score for _, score, _ in ranking}) == len(ranking), "the tool leaves the order of ties open"
    elif ties in ("doc_desc", "doc_asc"):
        ranking.sort(key=lambda row: str(row[0]), reverse=ties == "doc_desc")
    elif ties == "worst":
        ranking.sort(key=lambda row: row[2])
    elif ties == "reverse order":
        ranking.reverse()
    ranking.sort(key=lambda row: -row[1])
    unretrieved = [row for row in rows if row[1] is None] if choice["unretrieved"] == "counted" else []
    return Query(ranking, unretrieved, choice)


def as_stored(score: float | None, how: str) -> float | None:
    if score is None or how == "float64":
        return score
    return float32(score)


def float32(number: float) -> float:
    return struct.unpack("f", struct.pack("f", number))[0]


# The metrics -------------------------------------------------------------------------------------------------


def dcg(q: Query, k: int | None = None) -> float:
    if q.choice["gain"] == "binary" and not q.R:
        return q.choice["no_relevant"]
    total = 0.0
    for end, group in q.groups:
        start = end - len(group)
        discounts = [q.discount(rank) for rank in range(start + 1, end + 1) if k is None or rank <= k]
        gains = [q.gain(row) for row in group]
        if q.choice["ties"] == "averaged":
            total += sum(gains) / len(gains) * sum(discounts)
        else:
            total += sum(gain * discount for gain, discount in zip(gains, discounts, strict=False))
    return total


def cg(q: Query, k: int | None = None) -> float:
    return sum(q.gain(row) for row in q.ranking[:k])


def ndcg(q: Query, k: int | None = None) -> float:
    best = sorted((q.gain(row) for row in q.rows), reverse=True)
    if q.choice["ideal"] == "perfect":
        assert k is not None
        best = [1.0] * k if best[0] else []
    elif q.choice["ideal"] != "all":
        best = best[:k]
    if q.choice["ideal"] == "as_many":
        best = best[: q.n]
    return q.share(dcg(q, k), sum(gain * q.discount(rank) for rank, gain in enumerate(best, 1)))


def precision(q: Query, k: int | None = None) -> float:
    if not q.R:
        return q.choice["no_relevant"]
    places = q.n if k is None else k if q.choice["over"] == "k" else min(k, q.n)
    return q.hits(k) / places if places else 0.0


def relative_precision(q: Query, k: int) -> float:
    return q.share(q.hits(k), min(k, q.R))


def recall(q: Query, k: int | None = None) -> float:
    return q.share(q.hits(k), min(k, q.R) if k is not None and q.choice["over"] == "min(k,R)" else q.R)


def f_beta(q: Query, k: int | None = None, beta: float = 1) -> float:
    p, r = q.hits(k) / (k or q.n or 1), recall(q, k)
    return r if math.isnan(r) else (1 + beta**2) * p * r / (beta**2 * p + r) if p + r else 0.0


def f1(q: Query, k: int | None = None) -> float:
    return f_beta(q, k)


def hits(q: Query, k: int | None = None) -> float:
    return q.hits(k) if q.R else q.choice["no_relevant"]


def hit_rate(q: Query, k: int | None = None) -> float:
    return float(q.hits(k) > 0) if q.R else q.choice["no_relevant"]


def fall_out(q: Query, k: int | None = None) -> float:
    """The share of the nonrelevant rows that are in the top k."""
    return q.share(sum(q.is_nonrelevant(row) for row in q.ranking[:k]), q.N)


def r_precision(q: Query) -> float:
    return q.share(q.hits(int(q.R)), q.R)


def average_precision(q: Query, k: int | None = None) -> float:
    total = 0.0
    for end, group in q.groups:
        for rank, row in enumerate(group, end - len(group) + 1):
            place = end if q.choice["ties"] == "last" else rank
            if k is None or rank <= k:
                total += q.found(row) * q.hits(place) / place
    over = q.choice["over"]
    if over == "hits":
        return q.share(total, q.hits(k))
    if over == "ideal gain":
        return q.share(total, sum(sorted((row[2] for row in q.rows), reverse=True)[:k]))
    if over == "min(n,R)":
        return q.share(total, min(q.n if k is None else min(k, q.n), q.R)) if q.n and q.R else q.share(0, q.R)
    return q.share(total, q.R if k is None or over == "R" else min(k, q.R))


def average_recall(q: Query, k: int) -> float:
    """The mean of recall at each rank down to k, or at the ranks of the relevant rows over R."""
    at = [rank for rank, row in enumerate(q.ranking[:k], 1) if q.relevance(row)]
    every = q.choice["at"] == "ranks"
    return q.share(
        sum(q.share(q.hits(i), q.R) for i in (range(1, k + 1) if every else at)), k if every and q.R else q.R
    )


def reciprocal_rank(q: Query, k: int | None = None) -> float:
    if not q.R:
        return q.choice["no_relevant"]
    return next((1 / rank for rank, row in enumerate(q.ranking[:k], 1) if q.found(row)), 0.0)


def bpref(q: Query, k: int | None = None) -> float:
    if q.R == 0:
        return q.choice["no_relevant"]
    if q.N == 0 and q.choice.get("no_nonrelevant") is not None:
        return q.choice["no_nonrelevant"] if q.hits(None) else 0.0
    total = above = 0.0
    for row in q.ranking[:k]:
        if q.relevance(row):
            total += 1 - min(above, q.R) / min(q.N, q.R) if above else 1
        above += q.is_nonrelevant(row)
    return total / q.R


def rbp(q: Query, p: float) -> float:
    if not q.R:
        return q.choice["no_relevant"]
    return (1 - p) * sum(q.gain(row) * p ** (rank - 1) for rank, row in enumerate(q.ranking, 1))


def interpolated_precision(q: Query, recall: float) -> float:
    wanted = recall * q.R
    count = math.floor(wanted + (0.9 if q.choice["recall_level"] == "up" else 0.5))
    if count > q.hits(None):
        return 0.0
    reached = [rank for rank in range(1, q.n + 1) if q.hits(rank) >= count]
    return max((q.hits(rank) / rank for rank in reached), default=q.choice["nothing_retrieved"])


def eleven_point_average(q: Query) -> float:
    return sum(interpolated_precision(q, tenth / 10) for tenth in range(11)) / 11


def cascade(q: Query, labels: Sequence[float], greatest: float, k: int | None) -> float:
    total, reading = 0.0, 1.0
    for rank, label in enumerate(labels[:k], 1):
        satisfied = label if q.choice.get("satisfied") == "label" else (2.0**label - 1) / 2.0**greatest
        total += reading * satisfied / rank
        reading *= 1 - satisfied
    return total


def err(q: Query, k: int | None = None) -> float:
    return cascade(q, [row[2] or 0 for row in q.ranking], q.choice.get("greatest", 0), k)


def nerr(q: Query, k: int | None = None) -> float:
    """The largest label is the query's own."""
    labels = [row[2] for row in q.ranking]
    best = sorted(labels, reverse=True)
    return q.share(cascade(q, labels, best[0], k), cascade(q, best, best[0], k))


def pfound(q: Query, k: int | None = None, decay: float = 0.85) -> float:
    """The probability to find a relevant row for a reader who goes on with probability `decay`."""
    total, reading = 0.0, 1.0
    for _, _, label in q.ranking[:k]:
        total += reading * label
        reading *= (1 - label) * decay
    return total


def mean_label(q: Query, k: int | None = None) -> float:
    top = q.ranking[:k]
    return sum(row[2] for row in top) / len(top)


def mean_position(q: Query) -> float:
    return q.share(sum(row[2] * rank for rank, row in enumerate(q.ranking, 1)), sum(row[2] for row in q.ranking))


def weighted_average(q: Query, k: int | None = None) -> float:
    """The mean label of the top k, rank i weighing 1 / i."""
    weights = [1 / rank for rank in range(1, q.n + 1)][:k]
    return q.share(sum(w * row[2] for w, row in zip(weights, q.ranking, strict=False)), sum(weights))


def ordered_pairs(q: Query) -> float:
    """The share of the pairs with two labels whose better row is scored higher."""
    tie = {"half": 0.5, "wrong": 0.0}[q.choice["ties"]]
    pairs = [(a[1], b[1]) for a in q.ranking for b in q.ranking if a[2] > b[2]]
    return q.share(sum(1.0 if a > b else tie if a == b else 0.0 for a, b in pairs), len(pairs))


def auc(q: Query, k: int | None = None) -> float:
    top = q.ranking[:k]
    if q.choice.get("squashed") and not all(0 <= row[1] <= 1 for row in top):
        top = [(doc, float32(1 / float32(1 + float32(math.exp(-score)))), label) for doc, score, label in top]
    relevant = [row[1] for row in top if q.relevance(row)]
    others = [row[1] for row in top if not q.relevance(row)]
    if not relevant or not others:
        return q.choice["no_nonrelevant" if relevant else "no_relevant"]
    return sum(1.0 if a > b else 0.5 if a == b else 0.0 for a in relevant for b in others) / len(relevant) / len(others)


def label_ranking_average_precision(q: Query) -> float:
    return q.share(average_precision(q) * q.R, q.R)


def label_ranking_loss(q: Query) -> float:
    """The share of the pairs of a relevant and another row that are not in the right order."""
    relevant = [row[1] for row in q.ranking if q.relevance(row)]
    others = [row[1] for row in q.ranking if not q.relevance(row)]
    return q.share(sum(a <= b for a in relevant for b in others), len(relevant) * len(others))


def coverage_error(q: Query) -> float:
    """How far down the list all the relevant rows are passed."""
    return max((end for end, group in q.groups if any(map(q.relevance, group))), default=0)


METRICS: dict[str, Callable[..., float]] = {
    metric.__name__: metric
    for metric in (
        cg, dcg, ndcg, precision, relative_precision, recall, f1, f_beta, hits, hit_rate, fall_out, r_precision, average_precision, average_recall,
        reciprocal_rank, bpref, rbp, interpolated_precision, eleven_point_average, err, nerr, pfound, mean_label,
        mean_position, weighted_average, ordered_pairs, auc, label_ranking_average_precision, label_ranking_loss,
        coverage_error,
    )
}  # fmt: skip
