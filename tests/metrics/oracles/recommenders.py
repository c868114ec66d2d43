"""Recommenders: popularity, novelty, diversity of lists, a user's past, and exposure of groups."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from tests.metrics.oracles.background import CATALOG, N_INTERACTIONS, N_USERS, POPULARITY, TRAIN
from tests.metrics.oracles.costs import ift, time_biased_gain, u_measure
from tests.metrics.oracles.gain import Gain, gain_of
from tests.metrics.oracles.query import Query, Row, ranked

Values = Sequence[float | None]


def listed(q: Query, k: int | None) -> list[Any]:
    return [row[0] for row in q.ranking[:k]]


def divided(values: Values, k: int | None, unseen_items: str, rarest: float, divisor: str) -> float | None:
    """The mean of values; None for items without users."""
    n = k if divisor == "k" and k is not None else len(values)
    if unseen_items == "skip" and divisor == "list":
        n = sum(x is not None for x in values)
    if not values or not n:
        return None
    return math.fsum(x if x is not None else rarest if unseen_items == "rarest" else 0.0 for x in values) / n


def mean_popularity(
    q: Query, k: int | None = None, normalize: bool = False, unseen_items: str = "rarest", divisor: str = "list"
) -> float | None:
    of = N_INTERACTIONS if normalize else 1
    return divided([popularity(doc, lambda n: n / of) for doc in listed(q, k)], k, unseen_items, 0.0, divisor)


def popularity(doc: Any, value: Callable[[int], float]) -> float | None:
    return value(POPULARITY[doc]) if doc in POPULARITY else None


def popularity_percentile(
    q: Query, k: int | None = None, unseen_items: str = "rarest", divisor: str = "list"
) -> float | None:
    def percentile(n: int) -> float:
        below = sum(other < n for other in POPULARITY.values())
        equal = sum(other == n for other in POPULARITY.values())
        return (below + (equal + 1) / 2) / len(POPULARITY)

    return divided([popularity(doc, percentile) for doc in listed(q, k)], k, unseen_items, 0.0, divisor)


def novelty(
    q: Query, k: int | None = None, base: str = "users", unseen_items: str = "rarest", divisor: str = "list"
) -> float | None:
    of = N_USERS if base == "users" else N_INTERACTIONS
    values = [popularity(doc, lambda n: -math.log2(n / of)) for doc in listed(q, k)]
    return divided(values, k, unseen_items, math.log2(of), divisor)


def surprisal(q: Query, k: int | None = None, unseen_items: str = "rarest", divisor: str = "list") -> float | None:
    values = [popularity(doc, lambda n: math.log2(N_USERS / n) / math.log2(N_USERS)) for doc in listed(q, k)]
    return divided(values, k, unseen_items, 1.0, divisor)


def unseen(q: Query, k: int | None = None, divisor: str = "list") -> float | None:
    return divided([float(doc not in TRAIN.get(q.user, ())) for doc in listed(q, k)], k, "zero", 0.0, divisor)


def by_sales(q: Query) -> list[Any]:
    """The other ranking, in which the tie rule orders equal ones, too."""
    counted = {row[0] for row in q.documents}
    rows = [(doc, CATALOG[doc]["sold"], label) for doc, _, label in q.given if doc in counted]
    return [row[0] for row in ranked(rows, q.ties)]


def unexpectedness(q: Query, k: int | None = None, divisor: str = "list") -> float | None:
    sold = by_sales(q)[: q.depth][:k]
    common = divided([float(doc in sold) for doc in listed(q, k)], k, "zero", 0.0, divisor)
    return None if common is None else 1 - common


def least_item_promoted(q: Query, k: int | None = None, first_rank: int = 1) -> float | None:
    ours, other = listed(q, k), by_sales(q)
    if not ours or not other:
        return None
    n = len(ours) if k is None else k
    return float(max(n, *(rank for rank, doc in enumerate(other, first_rank) if doc in ours), 0) - n)


def tail_share(
    q: Query,
    k: int | None = None,
    head: float = 0.8,
    tail: float | None = None,
    unseen_items: str = "rarest",
    divisor: str = "list",
) -> float | None:
    falling = sorted(POPULARITY.values(), reverse=True)
    if tail is None:
        reached = next(i for i, total in enumerate(itertools.accumulate(falling)) if total >= head * N_INTERACTIONS)
        values = [popularity(doc, lambda n: float(n < falling[reached])) for doc in listed(q, k)]
    else:
        most = falling[::-1][max(int(tail * len(falling)), 1) - 1]
        values = [popularity(doc, lambda n: float(n <= most)) for doc in listed(q, k)]
    return divided(values, k, unseen_items, 1.0, divisor)


def discounted(
    q: Query, k: int | None, relevance: bool, unseen_items: str, rarest: float, value: Callable[[int], float]
) -> float | None:
    total, discounts = 0.0, 0.0
    for rank, row in enumerate(q.ranking[:k], 1):
        x = popularity(row[0], value)
        if x is None and unseen_items == "skip":
            continue
        x = x if x is not None else rarest if unseen_items == "rarest" else 0.0
        discounts += 1 / math.log2(rank + 1)
        total += x * (q.is_relevant(row) or not relevance) / math.log2(rank + 1)
    return total / discounts if discounts else None


def efd(q: Query, k: int | None = None, relevance: bool = True, unseen_items: str = "rarest") -> float | None:
    rarest = math.log2(N_INTERACTIONS)
    return discounted(q, k, relevance, unseen_items, rarest, lambda n: -math.log2(n / N_INTERACTIONS))


def epc(q: Query, k: int | None = None, relevance: bool = True, unseen_items: str = "rarest") -> float | None:
    return discounted(q, k, relevance, unseen_items, 1.0, lambda n: 1 - n / N_USERS)


# Diversity of lists -------------------------------------------------------------------------------------------------


def cosine(a: Sequence[float], b: Sequence[float]) -> float:
    norms = math.hypot(*a) * math.hypot(*b)
    return sum(x * y for x, y in zip(a, b, strict=True)) / norms if norms else 0.0


DISTANCES: dict[str, Callable[[Sequence[float], Sequence[float]], float]] = {
    "cosine": lambda a, b: 1 - cosine(a, b),
    "hamming": lambda a, b: sum(x != y for x, y in zip(a, b, strict=True)),
    "euclidean": math.dist,
}


def ild(
    q: Query, k: int | None = None, distance: str = "cosine", divisor: str = "pairs", no_pairs: str = "null"
) -> float | None:
    vectors = [CATALOG[doc]["features"] for doc in listed(q, k)]
    if len(vectors) == 1:
        return {"null": None, "zero": 0.0, "one": 1.0}[no_pairs]
    pairs = [DISTANCES[distance](a, b) for a, b in itertools.combinations(vectors, 2)]
    return math.fsum(pairs) / (len(pairs) if divisor == "pairs" else len(vectors)) if pairs else None


def genres(doc: Any) -> set[str]:
    return set(CATALOG.get(doc, {}).get("genre") or ())


def category_diversity(q: Query, k: int | None = None, divisor: str = "list") -> float | None:
    docs = listed(q, k)
    n = k if divisor == "k" and k is not None else len(docs)
    return len(set().union(*map(genres, docs))) / n if docs else None


def weight_of(rank: int, weight: str | float) -> float:
    if weight == "log2":
        return 1 / math.log2(rank + 1)
    return 1.0 if isinstance(weight, str) else weight ** (rank - 1)


def shares(docs: Sequence[Any], weight: str | float) -> dict[str, float]:
    held: Counter[str] = Counter()
    for rank, doc in enumerate(docs, 1):
        for genre in genres(doc):
            held[genre] += weight_of(rank, weight) / len(genres(doc))  # type: ignore[assignment]
    total = math.fsum(held.values())
    return {genre: x / total for genre, x in held.items()}


def category_entropy(q: Query, k: int | None = None, weight: str | float = "equal") -> float | None:
    found = shares(listed(q, k), weight)
    return -math.fsum(x * math.log2(x) for x in found.values()) if found else None


# The user's past ----------------------------------------------------------------------------------------------------


def serendipity(
    q: Query, k: int | None = None, against: str = "popularity", relevance: bool = True, divisor: str = "list"
) -> float | None:
    had = TRAIN.get(q.user)
    rows = q.ranking[:k]
    if not rows or (against != "popularity" and not had):
        return None
    counted = [float(q.is_relevant(row) or not relevance) for row in rows]
    if against == "features":
        sums = (
            cosine(CATALOG[row[0]]["features"], CATALOG[j]["features"]) * x
            for row, x in zip(rows, counted, strict=True)
            for j in had or ()
        )
        return 1 - math.fsum(sums) / len(had or ())
    if against == "co_occurrence":
        values = [1 - math.fsum(by_users(row[0], j) for j in had or ()) / len(had or ()) for row in rows]
    else:
        n, levels = len(CATALOG), sorted(set(POPULARITY.values()), reverse=True)
        popular = [popularity(row[0], lambda count: (n + 1 - (levels.index(count) + 1)) / n) or 0.0 for row in rows]
        values = [max((n + 1 - rank) / n - x, 0.0) for rank, x in enumerate(popular, 1)]
    return divided([x * y for x, y in zip(values, counted, strict=True)], k, "zero", 0.0, divisor)


def by_users(i: Any, j: Any) -> float:
    one, other = ({user for user, items in TRAIN.items() if item in items} for item in (i, j))
    return len(one & other) / math.sqrt(len(one) * len(other)) if one and other else 0.0


def calibration(
    q: Query, k: int | None = None, alpha: float = 0.01, weight: str | float = "equal", unit: str = "nats"
) -> float | None:
    p, found = shares(TRAIN.get(q.user, []), "equal"), shares(listed(q, k), weight)
    if not p or not found:
        return None
    error = math.fsum(x * math.log(x / ((1 - alpha) * found.get(genre, 0.0) + alpha * x)) for genre, x in p.items())
    return max(error, 0.0) / (math.log(2) if unit == "bits" else 1)


# Exposure of groups -------------------------------------------------------------------------------------------------


def group_of(doc: Any, group: str | None = None) -> str | None:
    provider: str | None = CATALOG[doc]["provider"]
    return provider if group is None or provider is None or provider == group else "others"


def exposures(q: Query, k: int | None, weight: str | float, group: str | None) -> dict[str | None, float]:
    found: dict[str | None, float] = {}
    for rank, doc in enumerate(listed(q, k), 1):
        name = group_of(doc, group)
        found[name] = found.get(name, 0.0) + weight_of(rank, weight)
    return found


def group_exposure(q: Query, k: int | None = None, *, group: str, weight: str | float = "log2") -> float | None:
    found = exposures(q, k, weight, group)
    return found.get(group, 0.0) / math.fsum(found.values()) if found else None


def targets(q: Query, group: str | None, target: str | float) -> dict[str, float]:
    counts = Counter(name for row in q.documents if (name := group_of(row[0], group)) is not None)
    names = {group, "others"} if group is not None else set(counts)
    if target == "documents":
        return {str(name): counts[name] / max(sum(counts.values()), 1) for name in names if name is not None}
    if target == "equal":
        return {str(name): 1 / len(names) for name in names}
    return {str(name): float(target) if name == group else 1 - float(target) for name in names}


def awrf(
    q: Query,
    k: int | None = None,
    group: str | None = None,
    target: str | float = "documents",
    distance: str = "abs",
    weight: str | float = "log2",
) -> float | None:
    found = {name: x for name, x in exposures(q, k, weight, group).items() if name is not None}
    if not found:
        return None
    total, wanted = math.fsum(found.values()), targets(q, group, target)
    if distance == "abs":
        return math.fsum(abs(found.get(name, 0.0) / total - wanted[name]) for name in wanted) / 2
    p = {name: found.get(name, 0.0) / total for name in wanted}
    halves = [(x[name], (p[name] + wanted[name]) / 2) for x in (p, wanted) for name in wanted]
    return 1 - math.fsum(x * math.log2(x / m) for x, m in halves if x > 0) / 2


def ndkl(q: Query, k: int | None = None, group: str | None = None, target: str | float = "documents") -> float | None:
    wanted, seen = targets(q, group, target), Counter[str]()
    total, discounts = 0.0, 0.0
    for rank, doc in enumerate(listed(q, k), 1):
        name = group_of(doc, group)
        seen.update([name] if name is not None else [])
        n = sum(seen.values())
        kl = math.fsum(count / n * math.log(count / n / wanted[name]) for name, count in seen.items())
        total += kl / math.log2(rank + 1)
        discounts += 1 / math.log2(rank + 1)
    return total / discounts if discounts else None


def of_cut_points(q: Query, group: str, step: int, distance: Callable[[int, int, int, int], float]) -> float | None:
    flags = [int(group_of(doc) == group) for doc in listed(q, None)]
    n, protected = len(flags), sum(flags)

    def total(order: list[int]) -> float:
        cuts = range(step, n + 1, step)
        return math.fsum(distance(sum(order[:i]), i, protected, n) / math.log2(i) for i in cuts)

    first, last = ([*([1] * protected), *([0] * (n - protected))][::way] for way in (1, -1))
    most = max(total(first), total(last))
    return total(flags) / most if most > 0 else None


def rnd(q: Query, group: str, step: int = 10) -> float | None:
    return of_cut_points(q, group, step, lambda s, i, protected, n: abs(s / i - protected / n))


def rkl(q: Query, group: str, step: int = 10) -> float | None:
    def kl(s: int, i: int, protected: int, n: int) -> float:
        pairs = [(s / i, protected / n), (1 - s / i, 1 - protected / n)]
        return sum(x * math.log2(x / y) for x, y in pairs if x > 0)

    return of_cut_points(q, group, step, kl)


def rrd(q: Query, group: str, step: int = 10) -> float | None:
    def ratio(s: int, i: int, protected: int, n: int) -> float:
        return abs(s / (i - s) - protected / (n - protected)) if i > s and n > protected else 0.0

    return of_cut_points(q, group, step, ratio)


# Ratios of two groups, by the means of Singh and Joachims's section 4 ------------------------------------------------


def log_ratio(
    q: Query, group: str, of: Callable[[list[tuple[Row, float]]], float | None], k: int | None, weight: str | float,
    smoothing: float, absolute: bool,
) -> float | None:  # fmt: skip
    """The log of what `of` gives for the group over what it gives for the others; a document comes with its exposure."""
    exposure = {row[0]: weight_of(rank, weight) for rank, row in enumerate(q.ranking[:k], 1)}
    sides: dict[str | None, list[tuple[Row, float]]] = {group: [], "others": []}
    for row in q.documents:
        sides.setdefault(group_of(row[0], group), []).append((row, exposure.get(row[0], 0.0)))
    values = [of(sides[name]) for name in (group, "others")]
    if any(x is None or x + smoothing <= 0 for x in values):
        return None
    found = math.log(values[0] + smoothing) - math.log(values[1] + smoothing)  # type: ignore[operator]
    return abs(found) if absolute else found


def mean(values: Values) -> float:
    return math.fsum(x or 0.0 for x in values) / len(values)


def demographic_parity(
    q: Query, k: int | None = None, *, group: str, weight: str | float = "log2", smoothing: float = 0.0,
    absolute: bool = False,
) -> float | None:  # fmt: skip
    def of(rows: list[tuple[Row, float]]) -> float | None:
        return mean([exposure for _, exposure in rows]) if rows else None

    return log_ratio(q, group, of, k, weight, smoothing, absolute)


def exposed_utility_ratio(
    q: Query, k: int | None = None, *, group: str, weight: str | float = "log2", gain: Gain = "linear",
    smoothing: float = 0.0, absolute: bool = False,
) -> float | None:  # fmt: skip
    def of(rows: list[tuple[Row, float]]) -> float | None:
        utility = mean([gain_of(row, gain, 0, q.relevant) for row, _ in rows]) if rows else 0.0
        return mean([exposure for _, exposure in rows]) / utility if utility else None

    return log_ratio(q, group, of, k, weight, smoothing, absolute)


def realized_utility_ratio(
    q: Query, k: int | None = None, *, group: str, weight: str | float = "log2", gain: Gain = "linear",
    smoothing: float = 0.0, absolute: bool = False,
) -> float | None:  # fmt: skip
    def of(rows: list[tuple[Row, float]]) -> float | None:
        gains = [gain_of(row, gain, 0, q.relevant) for row, _ in rows]
        if not any(gains):
            return None
        return mean([x * exposure for x, (_, exposure) in zip(gains, rows, strict=True)]) / mean(gains)

    return log_ratio(q, group, of, k, weight, smoothing, absolute)


def hole(q: Query, k: int | None = None) -> float:
    """BEIR's: the documents without an entry in the list of those that were judged, here the catalog."""
    unknown = sum(doc not in CATALOG for doc in listed(q, k))
    return unknown / (q.n if k is None else k) if unknown else 0.0


def p_mrr(q: Query) -> float | None:
    """FollowIR's, by the reciprocal ranks before and after; what a ranking lacks is below it."""
    before, after = by_sales(q)[: q.depth], listed(q, None)
    changes = []
    for row in q.rows:
        if q.is_relevant(row):
            old, new = (1 / ((docs.index(row[0]) if row[0] in docs else len(docs)) + 1) for docs in (before, after))
            changes.append(old / new - 1 if old <= new else 1 - new / old)
    return sum(changes) / len(changes) if changes else None


ORACLES: dict[str, Callable[..., float | None]] = {
    oracle.__name__: oracle
    for oracle in (
        mean_popularity, popularity_percentile, novelty, surprisal, unseen, unexpectedness, tail_share, efd, epc,
        ild, category_diversity, category_entropy, serendipity, calibration,
        group_exposure, awrf, ndkl, rnd, rkl, rrd, least_item_promoted,
        demographic_parity, exposed_utility_ratio, realized_utility_ratio,
        time_biased_gain, u_measure, ift, hole, p_mrr,
    )
}  # fmt: skip
