"""Catalog metrics in plain Python, from their definitions: over pairs of users and all items of the catalog."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations

Lists = Mapping[object, Sequence[object]]


def counts(lists: Lists) -> Counter[object]:
    return Counter(item for items in lists.values() for item in items)


def coverage(lists: Lists, catalog: Sequence[object]) -> float:
    return len({item for items in lists.values() for item in items} & {*catalog}) / len(catalog)


def aggregate_diversity(lists: Lists, catalog: Sequence[object]) -> float:
    return len(counts(lists))


def user_coverage(lists: Lists, catalog: Sequence[object]) -> float:
    return sum(bool(items) for items in lists.values()) / len(lists)


def gini_of(values: Sequence[float]) -> float:
    """Half the mean difference of all ordered pairs, over the mean."""
    n, total = len(values), math.fsum(values)
    return math.fsum(abs(a - b) for a in values for b in values) / (2 * n * total) if total else math.nan


def gini(lists: Lists, catalog: Sequence[object]) -> float:
    counted = counts(lists)
    return gini_of([counted[item] for item in catalog])


def exposure_gini(lists: Lists, catalog: Sequence[object]) -> float:
    seen = dict.fromkeys(catalog, 0.0)
    for items in lists.values():
        for place, item in enumerate(items):
            seen[item] += 1 / math.log2(place + 2)
    return gini_of([*seen.values()])


def entropy(lists: Lists, catalog: Sequence[object]) -> float:
    counted = counts(lists)
    total = counted.total()
    return -math.fsum(c / total * math.log2(c / total) for c in counted.values()) if total else math.nan


def hhi(lists: Lists, catalog: Sequence[object]) -> float:
    counted = counts(lists)
    total = counted.total()
    return math.fsum((c / total) ** 2 for c in counted.values()) if total else math.nan


def simpson(lists: Lists, catalog: Sequence[object]) -> float:
    return 1 - hhi(lists, catalog)


def personalization(lists: Lists, catalog: Sequence[object]) -> float:
    sets = [{*items} for items in lists.values() if items]
    cosines = [len(a & b) / math.sqrt(len(a) * len(b)) for a, b in combinations(sets, 2)]
    return 1 - math.fsum(cosines) / len(cosines) if cosines else math.nan


def popularity_lift(lists: Lists, past: Mapping[object, set[object]]) -> float:
    have = Counter(item for items in past.values() for item in items)
    shown = [math.fsum(have[i] / len(past) for i in items) / len(items) for items in lists.values() if items]
    before = [math.fsum(have[i] / len(past) for i in past[u]) / len(past[u]) for u in lists if past.get(u)]
    if not shown or not before:
        return math.nan
    return (math.fsum(shown) / len(shown)) / (math.fsum(before) / len(before)) - 1


def group_exposure_ratio(lists: Lists, groups: Mapping[object, str | None]) -> float:
    each = dict.fromkeys({group for group in groups.values() if group is not None}, 0.0)
    for items in lists.values():
        for place, item in enumerate(items):
            group = groups[item]
            if group is not None:
                each[group] += 1 / math.log2(place + 2)
    sizes = Counter(groups.values())
    shares = [x / sizes[group] for group, x in each.items()]
    return min(shares) / max(shares) if max(shares) else math.nan


Groups = Mapping[object, str | None]
Past = Mapping[object, set[object]]


def by_group(values: Mapping[object, float], groups: Groups) -> dict[str, float]:
    """The sum of the items' values in each group."""
    found = dict.fromkeys(sorted({group for group in groups.values() if group is not None}), 0.0)
    for item, value in values.items():
        group = groups.get(item)
        if group is not None:
            found[group] += value
    return found


def head_and_tail(past: Past, catalog: Sequence[object], head: float = 0.8, tail: float | None = None) -> Groups:
    """The group of each item by its number of users."""
    have = Counter(item for items in past.values() for item in items)
    falling = sorted(have.values(), reverse=True)
    if tail is not None:
        limit = falling[::-1][max(int(tail * len(falling)), 1) - 1]
        return {item: "tail" if have[item] <= limit else "head" for item in catalog}
    reached = 0
    for limit in falling:
        reached += limit
        if reached >= head * have.total():
            break
    return {item: "tail" if have[item] < limit else "head" for item in catalog}


def exposures(lists: Lists, weight: Callable[[int], float]) -> dict[object, float]:
    seen: dict[object, float] = {}
    for items in lists.values():
        for place, item in enumerate(items):
            seen[item] = seen.get(item, 0.0) + weight(place + 1)
    return seen


def group_exposure_gap(lists: Lists, groups: Groups, combine: str) -> float:
    sizes = Counter(groups.values())
    found = by_group(exposures(lists, lambda rank: 1 / math.log2(rank + 1)), groups)
    x = [value / sizes[group] for group, value in found.items()]
    mean = math.fsum(x) / len(x)
    if not max(x):
        return math.nan
    if combine == "max_min_ratio":
        return max(x) / min(x) if min(x) else math.nan
    return {
        "max_min_difference": max(x) - min(x),
        "max_deviation": max(abs(v - mean) for v in x),
        "mean_deviation": math.fsum(abs(v - mean) for v in x) / len(x),
        "variance": math.fsum((v - mean) ** 2 for v in x) / len(x),
        "l2": math.hypot(*x),
    }[combine]


def spread(shown: Mapping[str, float], candidates: Mapping[str, float]) -> float:
    """The population's standard deviation of the groups' rates over their mean."""
    rates = [shown[group] / n for group, n in candidates.items() if n]
    mean = math.fsum(rates) / len(rates) if rates else 0.0
    return math.sqrt(math.fsum((x - mean) ** 2 for x in rates) / len(rates)) / mean if mean else math.nan


def rsp(lists: Lists, groups: Groups, past: Past) -> float:
    shown = Counter(item for user, items in lists.items() for item in items if item not in past.get(user, ()))
    lacking = Counter(item for user in lists for item in groups if item not in past.get(user, ()))
    return spread(by_group(shown, groups), by_group(lacking, groups))


def reo(lists: Lists, groups: Groups, past: Past, relevant: Past) -> float:
    wanted = {user: relevant[user] - past.get(user, set()) for user in lists}
    shown = Counter(item for user, items in lists.items() for item in items if item in wanted[user])
    return spread(
        by_group(shown, groups), by_group(Counter(item for items in wanted.values() for item in items), groups)
    )


def bias_disparity(lists: Lists, groups: Groups, past: Past, group: str) -> float:
    shown = by_group(counts(lists), groups)
    before = by_group(Counter(item for user in lists for item in past.get(user, ())), groups)
    if not sum(shown.values()) or not before[group]:
        return math.nan
    return (shown[group] / sum(shown.values())) / (before[group] / sum(before.values())) - 1


def attention_relevance_gap(
    lists: Lists,
    groups: Groups,
    relevance: Mapping[object, Mapping[object, float]],
    weight: Callable[[int], float],
    *,
    each: bool,
) -> float:
    """The gap of groups, or with `groups` of one item each, of items; with `each`, users' lists are shares first."""
    attention: dict[object, float] = {}
    wanted: dict[object, float] = {}
    for user, items in lists.items():
        weights = [weight(place + 1) for place in range(len(items))]
        for item, x in zip(items, weights, strict=True):
            attention[item] = attention.get(item, 0.0) + x / (math.fsum(weights) if each else 1)
        total = math.fsum(relevance[user].values())
        for item, x in relevance[user].items():
            wanted[item] = wanted.get(item, 0.0) + (x / (total or 1) if each else x)
    a, r = by_group(attention, groups), by_group(wanted, groups)
    if not sum(a.values()) or not sum(r.values()):
        return math.nan
    return math.fsum(abs(a[g] / math.fsum(a.values()) - r[g] / math.fsum(r.values())) for g in a)


ORACLES = {
    "coverage": coverage,
    "aggregate_diversity": aggregate_diversity,
    "user_coverage": user_coverage,
    "gini": gini,
    "exposure_gini": exposure_gini,
    "entropy": entropy,
    "hhi": hhi,
    "simpson": simpson,
    "personalization": personalization,
}
"""The metrics that need lists and a catalog."""
