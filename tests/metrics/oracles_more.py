"""More metrics in plain Python, straight from their papers: C/W/L, compatibility, diversity, judgments.

As in `oracles`: a `Query` holds ranked rows (doc, score, label). For diversity a row's label is a dict
{subtopic: label}, empty for a document that nobody judged.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tests.metrics.oracles import ORACLES, Query, Row, gain_of, is_judged, ratio, top_label

# C/W/L: Moffat, Bailey, Scholer and Thomas 2017; Azzopardi, Thomas and Moffat 2019 ---------------------------
#
# A reader who stands at rank i goes on with probability C(i). From that follow the chance V(i) to see rank i, the
# chance L(i) to stop there, and what the reader is expected to gain and to spend; every document costs 1.

REPORTS = ("EU", "ETU", "EC", "ETC", "ED")
Continuation = Callable[[Sequence[float]], list[float]]


def gains_of(q: Query, depth: int, max_label: float | str | None, gain: Mapping[float, float] | None) -> list[Any]:
    """What each rank down to `depth` is worth, from 0 to 1; None where nobody judged, or nothing was retrieved."""
    top = top_label(q, max_label)
    worth = []
    for row in q.ranking[:depth]:
        if not is_judged(row):
            worth.append(None)
        elif gain is None:
            worth.append(ratio(row[2], top))
        else:
            worth.append(gain_of(row, gain))
    return worth + [None] * (depth - len(worth))


def browse(gains: Sequence[float], goes_on: Continuation) -> dict[str, float]:
    c = goes_on(gains)
    sees = [1.0]
    for probability in c[:-1]:
        sees.append(sees[-1] * probability)
    stops = [v * (1 - c) for v, c in zip(sees, c, strict=True)]
    items = math.fsum(sees)
    total_gain, gained = 0.0, 0.0
    for rank, gain in enumerate(gains):
        gained += gain
        total_gain += stops[rank] * gained
    return {
        "EU": math.fsum(v * g for v, g in zip(sees, gains, strict=True)) / items,
        "ETU": total_gain,
        "EC": math.fsum(sees) / items,
        "ETC": math.fsum(stop * rank for rank, stop in enumerate(stops, 1)),
        "ED": items,
    }


def cwl(
    q: Query,
    goes_on: Continuation,
    depth: int,
    report: str,
    residual: bool,
    max_label: float | str | None,
    gain: Mapping[float, float] | None,
) -> float:
    """What is reported when unjudged documents are worth nothing; `residual`: how much more if worth 1."""
    gains = gains_of(q, depth, max_label, gain)
    worst = browse([0.0 if g is None else g for g in gains], goes_on)[report]
    if not residual:
        return worst
    return browse([1.0 if g is None else g for g in gains], goes_on)[report] - worst


def model(continuation: Callable[..., Continuation], *, cutoff: bool) -> Callable[..., float]:
    """An oracle of the reader that `continuation` describes; with `cutoff` its first option is the last rank."""

    def oracle(
        q: Query,
        k: int | None = None,
        *,
        depth: int = 1000,
        report: str = "EU",
        residual: bool = False,
        max_label: float | str | None = None,
        gain: Mapping[float, float] | None = None,
        **options: float,
    ) -> float:
        goes_on = continuation(k, **options) if cutoff else continuation(**options)
        last = min(int(k), depth) if cutoff and k is not None else depth  # nobody reads on
        return cwl(q, goes_on, last, report, residual, max_label, gain)

    return oracle


def cut(c: Callable[[int, float], float], k: int | None) -> Continuation:
    """C(i) from the rank and the gain there; nobody reads past rank `k`."""
    return lambda gains: [c(i, g) if k is None or i < k else 0.0 for i, g in enumerate(gains, 1)]


def precision_reader(k: int) -> Continuation:
    return cut(lambda i, g: 1.0, k)


def rbp_reader(p: float = 0.8) -> Continuation:
    """Moffat and Zobel 2008."""
    return cut(lambda i, g: p, None)


def sdcg_reader(k: int) -> Continuation:
    """Järvelin and Kekäläinen's discount as the chance to see a rank."""
    return cut(lambda i, g: math.log2(i + 1) / math.log2(i + 2), k)


def insq_reader(target: float = 1.0) -> Continuation:
    """Moffat, Scholer and Thomas 2012."""
    return cut(lambda i, g: ((i + 2 * target - 1) / (i + 2 * target)) ** 2, None)


def inst_reader(target: float = 1.0) -> Continuation:
    """Bailey, Moffat, Scholer and Thomas 2015: as INSQ, by the gain that is still wanted."""

    def goes_on(gains: Sequence[float]) -> list[float]:
        c, wanted = [], target
        for i, gain in enumerate(gains, 1):
            wanted -= gain
            c.append(((i + target + wanted - 1) / (i + target + wanted)) ** 2)
        return c

    return goes_on


def bpm_reader(k: int, target: float = 1.0) -> Continuation:
    """Zhang et al. 2017, static: reads until the gain or the number of documents is enough."""

    def goes_on(gains: Sequence[float]) -> list[float]:
        c, gained = [], 0.0
        for i, gain in enumerate(gains, 1):
            gained += gain
            c.append(float(gained < target and i < k))
        return c

    return goes_on


def nerr8_reader(k: int) -> Continuation:
    """Azzopardi, Mackenzie and Moffat 2021, equation 8; the next three likewise."""
    return cut(lambda i, g: 1 - g, k)


def nerr9_reader(k: int) -> Continuation:
    return cut(lambda i, g: i / (i + 1) * (1 - g), k)


def nerr10_reader(p: float = 0.9) -> Continuation:
    return cut(lambda i, g: p * (1 - g), None)


def nerr11_reader(target: float = 1.0) -> Continuation:
    return cut(lambda i, g: ((i + 2 * target - 1) / (i + 2 * target)) ** 2 * (1 - g), None)


CWL: dict[str, Callable[..., float]] = {
    "graded_precision": model(precision_reader, cutoff=True),
    "cwl_rbp": model(rbp_reader, cutoff=False),
    "sdcg": model(sdcg_reader, cutoff=True),
    "bpm": model(bpm_reader, cutoff=True),
    "insq": model(insq_reader, cutoff=False),
    "inst": model(inst_reader, cutoff=False),
    "nerr8": model(nerr8_reader, cutoff=True),
    "nerr9": model(nerr9_reader, cutoff=True),
    "nerr10": model(nerr10_reader, cutoff=False),
    "nerr11": model(nerr11_reader, cutoff=False),
}


def rbp_residual(q: Query, k: int | None = None, *, p: float = 0.8) -> float:
    """Moffat and Zobel 2008: what unjudged documents, and all ranks below the last, could add to RBP."""
    shown = q.ranking[:k]
    unjudged = sum(p**i for i, row in enumerate(shown) if not is_judged(row))
    return (1 - p) * unjudged + p ** len(shown)


# Compatibility: Clarke, Vtyurina and Smucker 2021 ------------------------------------------------------------


def compatibility(
    q: Query, k: int | str | None = None, *, p: float = 0.95, normalize: bool = True, by_score: bool = False
) -> float:
    """Rank-biased overlap with the ideal ranking that is nearest: by falling label, tied labels as ranked.

    ``k="longest"`` stops where both lists have ended; ``by_score`` breaks ties of the ideal by score, a document
    that was not retrieved counting as scored 0, and then by the rows' order.
    """
    ranking = [row[0] for row in q.ranking]
    wanted = [row for row in q.rows if is_judged(row) and row[2] > 0]
    if by_score:
        wanted.sort(key=lambda row: row[1] or 0.0, reverse=True)
    ideal = [row[0] for row in sorted(wanted, key=lambda row: -row[2])]
    # Far enough that the weights below add nothing that a float could hold.
    depth = {None: math.ceil(-18 / math.log10(p)), "longest": max(len(ranking), len(ideal))}.get(k, k)

    def overlap(one: Sequence[Any], other: Sequence[Any]) -> float:
        both, seen, total = 0, set(), 0.0
        for i in range(int(depth)):
            for items in (one, other):
                if i < len(items):
                    both += items[i] in seen
                    seen.add(items[i])
            total += p**i * both / (i + 1)
        return total

    if normalize:
        return ratio(overlap(ranking, ideal), overlap(ideal, ideal) if ideal else 0.0)
    return overlap(ranking, ideal) / math.fsum(p**i for i in range(int(depth)))


# Diversity: Clarke et al. 2008, 2009; Chapelle et al. 2009; Agrawal et al. 2009, as ndeval has them -----------

Subtopics = Mapping[Any, float]


def meets(row: Row, relevant: float) -> list[Any]:
    """The subtopics that the document is relevant to."""
    return [subtopic for subtopic, label in row[2].items() if label >= relevant]


def subtopics_of(q: Query) -> set[Any]:
    return {subtopic for row in q.rows for subtopic in meets(row, q.relevant)}


def novelty(rows: Sequence[Row], alpha: float, relevant: float) -> list[float]:
    """What each document adds: 1 for each of its subtopics, less the share `alpha` for each time it was met before."""
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
    rest = sorted((row for row in q.rows if row[2]), key=lambda row: str(row[0]).encode(), reverse=True)
    left = dict.fromkeys(subtopics_of(q), 1.0)
    chosen: list[Row] = []
    while rest:
        best = max(rest, key=lambda row: math.fsum(left[subtopic] for subtopic in meets(row, q.relevant)))
        for subtopic in meets(best, q.relevant):
            left[subtopic] *= 1 - alpha
        rest.remove(best)
        chosen.append(best)
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


# Judgments, sets and pairs -----------------------------------------------------------------------------------


def judged(q: Query, k: int | None = None) -> float:
    """The share of the retrieved documents that somebody judged; a shorter ranking is divided by its length."""
    shown = q.ranking[:k]
    return ratio(sum(map(is_judged, shown)), len(shown))


def pairwise_accuracy(q: Query, k: int | None = None) -> float | None:
    """Of the pairs of a relevant and another retrieved document, the share that has the relevant one above."""
    flags = [q.is_relevant(row) for row in q.ranking[:k]]
    pairs = sum(flags) * (len(flags) - sum(flags))
    if not any(flags):
        return 0.0
    if not pairs:
        return None
    return sum(sum(not other for other in flags[i:]) for i, relevant in enumerate(flags) if relevant) / pairs


def inferred_ap(q: Query) -> float:
    """Yilmaz and Aslam 2006 as trec_eval has it; a negative label is in the pool but not judged."""
    epsilon, total = 0.00001, 0.0
    for rank in q.relevant_ranks:
        above = q.ranking[: rank - 1]
        relevant = sum(q.is_relevant(row) for row in above)
        others = sum(q.is_nonrelevant(row) for row in above)
        pooled = sum(row[2] is not None for row in above)
        if not above:
            total += 1
            continue
        below_this = pooled / len(above) * (relevant + epsilon) / (relevant + others + 2 * epsilon)
        total += 1 / rank + len(above) / rank * below_this
    return ratio(total, q.R)


def num_retrieved(q: Query) -> float:
    return q.n


def num_relevant(q: Query) -> float:
    return q.R


def relative_precision(q: Query) -> float:
    """Relevant documents retrieved, over the most that so many documents could hold."""
    return ratio(q.hits(None), min(q.n, q.R))


def set_average_precision(q: Query, k: int | None = None) -> float:
    return ratio(q.hits(k), q.n if k is None else k) * ratio(q.hits(k), q.R)


def f_beta(q: Query, k: int | None = None, *, beta: float = 1.0) -> float:
    """van Rijsbergen 1979: recall counts beta times as much as precision."""
    p, r = ratio(q.hits(k), q.n if k is None else k), ratio(q.hits(k), q.R)
    return ratio((1 + beta**2) * p * r, beta**2 * p + r)


MORE: dict[str, Callable[..., float | None]] = {
    **CWL,
    **{
        oracle.__name__: oracle
        for oracle in (
            rbp_residual, compatibility, judged, pairwise_accuracy, inferred_ap, num_retrieved, num_relevant,
            relative_precision, set_average_precision, f_beta,
        )
    },
}  # fmt: skip

# What the tools have and the library has under other names, or not at all.
OF_TOOLS = ("graded_precision", "cwl_rbp", "relative_precision")
ORACLES.update({name: oracle for name, oracle in MORE.items() if name not in OF_TOOLS})
