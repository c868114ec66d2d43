"""Catalog metrics in plain Python, from their definitions: over pairs of users and all items of the catalog."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
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
