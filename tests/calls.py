"""Which calls of each metric the tests make, and how to make them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl
from oracles import ORACLES, Row, evaluate
from tables import max_label

import rankframe as rf

Options = dict[str, Any]

# By far not in the labels' order, and label 0 is worth something.
GAIN = {0: 0.5, 0.25: 2, 0.5: 1.5, 1: 3, 1.5: 0, 2: 1, 2.75: 7, 3: 4.5, 4: 2}
SHARE = {label: gain / 7 for label, gain in GAIN.items()}

cutoffs: list[Options] = [{}, {"k": 1}, {"k": 3}, {"k": 10}]
gains: list[Options] = [{}, {"gain": "exponential"}, {"gain": GAIN}]
levels: list[Options] = [
    {"gain": "binary"},
    {"gain": "binary", "k": 3},
    {"min_label": 2},
    {"min_label": 0.5, "k": 3},
    {"gain": GAIN, "min_label": 2},
]
discounts: list[Options] = [{}, {"discount": "original"}]
other_discounts: list[Options] = [
    {"discount": "rank"},
    {"discount": 3, "k": 10},
    {"discount": 10, "gain": "exponential"},
]
ideals: list[Options] = [
    {"ideal": "retrieved"},
    {"ideal": "retrieved", "gain": GAIN, "k": 3},
    {"ideal": "perfect", "k": 3},
    {"ideal": "perfect", "k": 30, "gain": GAIN, "discount": "rank"},
]
top_labels: list[Options] = [{}, {"max_label": "query"}, {"max_label": 4}, {"max_label": 5.5}]

chances: list[Options] = [
    {"gain": "linear"},
    {"gain": SHARE},
    {"gain": "linear", "max_label": 4, "k": 3},
    {"gain": SHARE, "k": 10},
    {"gain": "linear", "max_label": "query"},
    {"gain": "binary", "max_label": 4},
]


def every(*axes: Iterable[Options]) -> list[Options]:
    return [
        {name: value for options in choice for name, value in options.items()} for choice in itertools.product(*axes)
    ]


# By the formula's Python name, as in ORACLES.
CALLS: dict[str, list[Options]] = {
    "cg": [*every(gains, cutoffs), *levels],
    "dcg": [*every(gains, discounts, cutoffs), *other_discounts, *levels],
    "ndcg": [*every(gains, discounts, cutoffs), *other_discounts, *ideals, *levels],
    "err": [*every(top_labels, cutoffs), *chances],
    "nerr": [*every(top_labels, cutoffs), *chances],
    "pfound": [
        {"max_label": 4},
        {"max_label": 5.5, "k": 3},
        {"max_label": "query", "decay": 0.5},
        {"max_label": None, "k": 10},
        {"gain": SHARE, "k": 3},
        {"gain": "exponential", "max_label": 4, "decay": 1},
        {"gain": SHARE, "decay": 0},
    ],
    "mean_label": cutoffs,
    "average_relevance_position": [*gains, {"gain": "binary"}],
    "fall_out": cutoffs,
    "ordered_pair_accuracy": [{}, {"tied": 0.5}, {"tied": 1}],
    "precision": every([{}, {"divisor": "min(k,n)"}, {"divisor": "min(k,R)"}], cutoffs),
    "recall": cutoffs,
    "f1": cutoffs,
    "hits": cutoffs,
    "hit_rate": cutoffs,
    "r_precision": [{}],
    "average_precision": every(
        [{}, *({"divisor": divisor} for divisor in ("min(k,R)", "min(n,R)", "hits", "k"))], cutoffs
    ),
    "reciprocal_rank": cutoffs,
    "bpref": [{}],
    "rbp": every([{}, {"p": 0.5}, {"p": 0.95}, {"gain": SHARE}, {"gain": "linear"}], cutoffs),
    "interpolated_precision": [
        *({"recall": r} for r in (0, 0.1, 0.3, 0.5, 0.7, 1)),
        *({"recall": r, "rounding": "up"} for r in (0, 0.3, 0.7)),
    ],
    "eleven_point_average": [{}, {"rounding": "up"}],
    "auc": [
        {},
        {"k": 3},
        {"max_fpr": 0.3},
        {"k": 10},
        {"max_fpr": 0.1},
        {"max_fpr": 0.5, "k": 5},
        {"max_fpr": 1, "k": 1},
        {"max_fpr": 1},
    ],
}
POLICIES: list[Options] = [
    {},
    *({"relevant": level} for level in (0, 0.5, 2, 2.5, 9)),
    *({"ties": ties} for ties in ("doc_asc", "order", "best", "worst", "trec_eval")),
    {"unjudged": "drop"},
    *({"no_relevant": value} for value in ("null", "one")),
    {"relevant": 2, "ties": "worst", "unjudged": "drop", "no_relevant": "one"},
    {"relevant": 3, "ties": "best", "unjudged": "drop", "no_relevant": "null"},
    {"relevant": 0, "ties": "order", "unjudged": "drop"},
    *({"relevant": 0, "ties": ties} for ties in ("best", "worst")),
    *({"depth": depth} for depth in (1, 3)),
    {"depth": 4, "unjudged": "drop"},
    {"depth": 2, "unjudged": "drop", "ties": "best", "relevant": 2},
    {"unretrieved": "drop"},
    {"unretrieved": "drop", "depth": 3, "ties": "doc_asc"},
    {"unretrieved": "drop", "unjudged": "drop", "relevant": 0},
]


def needs_table(name: str, options: Options) -> bool:
    """Whether the largest label of the table counts, so that a query's value depends on the others."""
    if name not in ("err", "nerr", "pfound") or isinstance(options.get("gain"), Mapping):
        return False
    return options.get("max_label", 1 if name == "pfound" else None) is None


CANONICAL = {metric.formula.__name__: name for name, metric in rf.METRICS.items()}


def spell(name: str, options: Options) -> str:
    """The canonical text of a call: the cutoff (or the recall level) after an @, other options in brackets."""
    parameters = rf.METRICS[CANONICAL[name]].parameters
    at = "recall" if name == "interpolated_precision" else "k"
    order = [*parameters, "relevant"]
    inside = ",".join(f"{key}={literal(options[key])}" for key in order if key in options and key != at)
    return CANONICAL[name] + (f"({inside})" if inside else "") + (f"@{literal(options[at])}" if at in options else "")


def literal(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{key}:{literal(item)}" for key, item in value.items()) + "}"
    if isinstance(value, str):
        return value if value.isidentifier() else repr(value)
    return str(value) if value is None or value != int(value) else str(int(value))


def texts(name: str) -> list[str]:
    return [spell(name, options) for options in CALLS[name]]


ALL = [(name, options) for name, calls in CALLS.items() for options in calls]
# A few calls of every metric, for laws that many tables are held against.
SOME = [
    call for name, calls in CALLS.items() for call in [(name, options) for options in calls][:: max(1, len(calls) // 4)]
]


def expected(
    table: Mapping[Any, Sequence[Row]], name: str, options: Options, policies: Options
) -> dict[Any, float | None]:
    """The oracle's value of every query."""
    largest = max_label(table)
    return {q: evaluate(name, rows, options, table_max=largest, **policies) for q, rows in table.items()}


def values(found: pl.DataFrame, column: str, query: str = "query_id") -> dict[Any, float | None]:
    assert found.schema[column] == pl.Float64
    assert found[query].n_unique() == len(found)
    return dict(found.select(query, column).iter_rows())


def assert_equal(found: Mapping[Any, float | None], wanted: Mapping[Any, float | None], about: object) -> None:
    assert found.keys() == wanted.keys(), about
    for query, value in wanted.items():
        assert close(found[query], value), (about, query, found[query], value)


def close(found: float | None, value: float | None) -> bool:
    """Equal to 1e-12, or both missing."""
    if found is None or value is None:
        return found is value
    return math.isclose(found, value, rel_tol=1e-12, abs_tol=1e-12)


assert set(CALLS) <= set(ORACLES)
