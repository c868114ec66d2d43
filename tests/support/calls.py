"""The calls of each metric that the tests make."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any, TypeVar

import polars as pl

import rankframe as rf
from tests.metrics.oracles import ORACLES, evaluate
from tests.metrics.oracles.query import Row, prepare
from tests.support.tables import max_label
from tests.support.untraced import untraced

Options = dict[str, Any]
T = TypeVar("T")

# Gains far from the labels' order, and a gain above 0 for label 0.
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
    {"ideal": "as_many"},
    {"ideal": "as_many", "gain": "exponential", "k": 3},
    {"ideal": "all"},
    {"ideal": "all", "gain": "exponential", "k": 3},
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


def readers(plain: Options, other: Options) -> list[Options]:
    """Calls of a C/W/L metric; its other figures at a small depth, as the oracles go down rank by rank."""
    small = other if "k" in other else {**other, "depth": 12}
    return [
        {**plain, "max_label": 4},
        other,
        {**small, "max_label": "query", "report": "ETU"},
        {**small, "max_label": 5.5, "report": "ED", "residual": True},
        {**small, "gain": SHARE, "report": "ETC"},
        {**small, "max_label": 4, "report": "EC"},
        {**small, "gain": SHARE, "residual": True},
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
    "q_measure": [*cutoffs, {"beta": 0}, {"beta": 10, "gain": "exponential"}, {"gain": GAIN, "k": 3}],
    "graded_average_precision": [*cutoffs, {"thresholds": {0.5: 0.2, 2: 0.8}}, {"thresholds": {3: 1}, "k": 3}],
    "mean_label": cutoffs,
    "average_relevance_position": [*gains, {"gain": "binary"}],
    "fall_out": cutoffs,
    "ordered_pair_accuracy": [{}, {"tied": 0.5}, {"tied": 1, "no_pairs": "one"}, {"no_pairs": "zero"}],
    "ranking_loss": [{}, {"tied": 0.5}, {"no_pairs": "zero"}],
    "precision": every([{}, {"divisor": "min(k,n)"}, {"divisor": "min(k,R)"}], cutoffs),
    "recall": [*cutoffs, {"divisor": "min(k,R)"}, {"divisor": "min(k,R)", "k": 3}],
    **dict.fromkeys(("false_positives", "false_negatives", "true_negatives", "jaccard"), cutoffs),
    "mcc": [*every([{}, {"shown": "k"}], cutoffs)],
    "f1": cutoffs,
    "hits": cutoffs,
    "hit_rate": cutoffs,
    "r_precision": cutoffs,
    "average_precision": every(
        [{}, *({"divisor": divisor} for divisor in ("min(k,R)", "min(n,R)", "hits", "k"))], cutoffs
    ),
    "average_recall": every([{}, {"at": "relevant"}], cutoffs),
    "reciprocal_rank": cutoffs,
    **{name: [{}] for name in ("first_rank", "mean_rank", "median_rank", "last_rank")},
    "mean_percentile_rank": [{}, {"gain": "binary"}, {"gain": GAIN, "divisor": "N"}],
    "bpref": [{}],
    "rbp": every([{}, {"p": 0.5}, {"p": 0.95}, {"gain": SHARE}, {"gain": "linear"}, {"gain": "scaled"}], cutoffs),
    "interpolated_precision": [
        *({"recall": r} for r in (0, 0.1, 0.3, 0.5, 0.7, 1)),
        *({"recall": r, "rounding": "up"} for r in (0, 0.3, 0.7)),
    ],
    "eleven_point_average": [{}, {"rounding": "up"}],
    "num_nonrel_judged_ret": [{}],
    "unjudged": cutoffs,
    "r_precision_multiple": [{"multiple": x} for x in (0.2, 0.5, 1, 1.4)],
    "utility": [
        {},
        {"relevant_retrieved": 2, "nonrelevant_retrieved": -0.5},
        {"relevant_missed": -1, "nonrelevant_missed": 0.25},
    ],
    "yaap": [{}],
    "bin_g": [{}],
    "g": [{}, {"gain": "exponential"}, {"gain": "binary"}],
    "ndcg_rel": [{}, {"gain": "exponential"}, {"gain": GAIN}],
    "rndcg": [{}, {"gain": "exponential"}, {"gain": GAIN}],
    "ideal_dcg": [{}, {"k": 3}, {"gain": "exponential"}, {"gain": GAIN, "k": 1}],
    "rbp_resid": [{}, {"p": 0.5}],
    "gm_map": [{}],
    "gm_bpref": [{}],
    "auc": [
        {"no_pairs": "zero"},
        {"no_pairs": "one", "k": 3},
        {},
        {"k": 3},
        {"max_fpr": 0.3},
        {"k": 10},
        {"max_fpr": 0.1},
        {"max_fpr": 0.5, "k": 5},
        {"max_fpr": 1, "k": 1},
        {"max_fpr": 1},
    ],
    "partial_auc": [{"negatives": 1}, {"negatives": 3}, {"negatives": 2, "capped": True}],
    "f_beta": every([{}, {"beta": 0.5}, {"beta": 2}], [{}, {"k": 3}]),
    "set_average_precision": cutoffs,
    "num_retrieved": [{}],
    "num_relevant": [{}],
    "judged": cutoffs,
    "pairwise_accuracy": cutoffs,
    "inferred_ap": [{}],
    "compatibility": [{}, {"p": 0.5}, {"p": 0.8, "normalize": False}],
    "rbp_residual": [*cutoffs, {"k": 3, "p": 0.5}],
    "sdcg": readers({"k": 3}, {"k": 10}),
    "bpm": readers({"k": 5}, {"k": 10, "target": 0.5}),
    "insq": readers({}, {"depth": 5, "target": 0.4}),
    "inst": readers({}, {"depth": 5, "target": 2.5}),
    "nerr8": readers({"k": 3}, {"k": 10}),
    "nerr9": readers({"k": 3}, {"k": 10}),
    "nerr10": readers({}, {"depth": 5, "p": 0.5}),
    "nerr11": readers({}, {"depth": 5, "target": 0.4}),
}
POLICIES: list[Options] = [
    {},
    *({"relevant": level} for level in (0, 0.5, 2, 2.5, 9)),
    *({"ties": ties} for ties in ("doc_asc", "order", "best", "worst", "trec_eval")),
    {"unjudged": "drop"},
    *({"no_relevant": value} for value in ("null", "one")),
    {"nothing_retrieved": "null"},
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


def share(items: Sequence[T], turn: int, of: int) -> list[T]:
    """Every n-th item, another one with each turn: all of them after so many turns."""
    return list(items[turn % of :: of])


CANONICAL = {metric.formula.__name__: name for name, metric in rf.METRICS.items()}


def spell(name: str, options: Options) -> str:
    """The canonical text of a call: the cutoff (or the recall level) after an @, other options in brackets."""
    parameters = rf.METRICS[CANONICAL[name]].parameters
    at = rf.METRICS[CANONICAL[name]].first
    order = [*parameters, "relevant"]
    inside = ",".join(f"{key}={literal(options[key])}" for key in order if key in options and key != at)
    return CANONICAL[name] + (f"({inside})" if inside else "") + (f"@{literal(options[at])}" if at in options else "")


def literal(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{key}:{literal(item)}" for key, item in value.items()) + "}"
    if isinstance(value, str):
        return value if value.isidentifier() else repr(value)
    return str(value) if value is None or isinstance(value, bool) or value != int(value) else str(int(value))


def needs_table(name: str, options: Options) -> bool:
    """Whether the largest label of the table counts, so that a query's value depends on the others."""
    top = rf.METRICS[CANONICAL[name]].parameters.get("max_label")
    return (
        top is not None
        and options.get("max_label", top.default) is None
        and not isinstance(options.get("gain"), Mapping)
    )


def is_beyond(name: str, options: Options) -> bool:
    """Whether an option takes the value out of the metric's bounds, as its declaration says."""
    given = {text for option, value in options.items() for text in (option, f"{option}={value}")}
    return not given.isdisjoint(rf.METRICS[CANONICAL[name]].beyond)


ONE_ROW = pl.LazyFrame({"query_id": ["q"], "doc_id": ["a"], "score": [1.0], "label": [1]})


@cache
def adds_up(text: str) -> bool:
    """Whether the library treats the value as a sum of contributions of ranks, so that it explains it."""
    return is_offered(lambda: ONE_ROW.rank.explain(text), "is no sum of what each rank contributes")


@cache
def has_expectation(text: str) -> bool:
    """Whether the library knows the mean of the value over all orders of tied documents."""
    return is_offered(lambda: ONE_ROW.rank.on(ties="expected").evaluate(text), "closed form")


@cache
def has_bounds(text: str) -> bool:
    """Whether the library knows the least and the greatest value that judging documents from 0 to 4 could give."""
    ranker = ONE_ROW.rank.on(unjudged="bounds", unjudged_labels=(0, 4))
    return is_offered(lambda: ranker.evaluate(text), "no bounds are known")


def is_offered(call: Callable[[], object], reason: str) -> bool:
    """Whether a call is made, and not refused for this reason; for another one it fails."""
    try:
        call()
    except rf.InvalidOption as error:
        if reason not in str(error):
            raise
        return False
    return True


def texts(name: str) -> list[str]:
    return [spell(name, options) for options in CALLS[name]]


ALL = [(name, options) for name, calls in CALLS.items() for options in calls]
# A few calls of every metric, for laws that are checked on many tables.
SOME = [
    call for name, calls in CALLS.items() for call in [(name, options) for options in calls][:: max(1, len(calls) // 3)]
]


@untraced
def expected(
    table: Mapping[Any, Sequence[Row]], name: str, options: Options, policies: Options
) -> dict[Any, float | None]:
    """The oracle's value of every query; the table's largest label is that of the documents that count."""
    kept = {key: value for key, value in policies.items() if key not in ("no_relevant", "nothing_retrieved")}
    dropping = policies.get("unretrieved") == "drop"
    largest = max_label({q: prepare(rows, **kept).ranking for q, rows in table.items()} if dropping else table)
    return {q: evaluate(name, rows, options, table_max=largest, **policies) for q, rows in table.items()}


def values(found: pl.DataFrame, column: str, query: str = "query_id") -> dict[Any, float | None]:
    assert found.schema[column] == pl.Float64
    by_query = dict(zip(found[query].to_list(), found[column].to_list(), strict=True))
    assert len(by_query) == len(found)
    return by_query


@untraced
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
