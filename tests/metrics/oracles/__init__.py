"""Every metric once more: plain Python over one query's rows, straight from its paper; a module for each family.

Slow and simple on purpose. Nothing here may compute with what it tests, nor with numpy or polars.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import rankframe as rf
from tests.metrics.oracles import binary, cascade, cwl, gain, judgments, order, preference, trec
from tests.metrics.oracles.query import Query, Row, prepare
from tests.support.untraced import untraced

ORACLES: dict[str, Callable[..., float | None]] = {
    name: oracle
    for family in (gain, cascade, binary, order, cwl, judgments, preference, trec)
    for name, oracle in family.ORACLES.items()
}
DECLARED = {metric.formula.__name__: metric for metric in rf.METRICS.values()}


def is_best_at_1(name: str, options: Mapping[str, Any]) -> bool:
    """Whether 1 is the best value, as the metric declares; the declarations are held against the oracles' values."""
    metric = DECLARED[name]
    given = {text for option, value in options.items() for text in (option, f"{option}={value}")}
    return metric.bounds == (0, 1) and metric.higher_is_better and given.isdisjoint(metric.beyond)


def reads_labels(name: str, options: Mapping[str, Any]) -> bool:
    """Whether a value depends on labels, as the metric declares."""
    labels = DECLARED[name].labels
    return labels(**options) if callable(labels) else labels


@untraced
def evaluate(
    name: str,
    rows: Sequence[Row],
    options: Mapping[str, Any],
    *,
    no_relevant: str = "zero",
    nothing_retrieved: str = "count",
    **policies: Any,
) -> float | None:
    """One metric of one query under all policies."""
    q = prepare(rows, **policies)
    if q.n == 0 and nothing_retrieved == "null":
        return None
    return value_of(name, q, options, no_relevant=no_relevant)


@untraced
def value_of(name: str, q: Query, options: Mapping[str, Any], *, no_relevant: str = "zero") -> float | None:
    """One metric of one query whose rows are ranked."""
    lacks_labels = not q.has_labels  # nobody judged the query
    lacks_relevant = q.R == 0 and no_relevant == "null"
    if reads_labels(name, options) and (lacks_labels or lacks_relevant):
        return None
    if q.R == 0 and no_relevant == "one" and is_best_at_1(name, options):
        return 1.0
    return ORACLES[name](q, **options)
