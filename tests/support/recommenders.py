"""Calls of recommenders' metrics, the roles that they read, and their expected values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

import rankframe as rf
from tests.metrics.oracles.background import CATALOG, TRAIN
from tests.metrics.oracles.query import Row, prepare
from tests.metrics.oracles.recommenders import ORACLES
from tests.support.calls import GAIN, SHARE, Options, cutoffs, every, spell
from tests.support.untraced import untraced

INTERACTIONS = pl.DataFrame(
    [(user, item) for user, items in TRAIN.items() for item in [*items, *items[:2]]],  # some pairs twice
    schema={"query_id": pl.String, "doc_id": pl.String},
    orient="row",
)
ITEMS = pl.DataFrame(
    [
        {"doc_id": item, **{f"feature_{i}": x for i, x in enumerate(has["features"])}, **has}
        for item, has in CATALOG.items()
    ]
)
FEATURES = [f"feature_{i}" for i in range(3)]
ROLES: Options = {
    "interactions": INTERACTIONS, "items": ITEMS, "category": "genre", "group": "provider", "features": FEATURES, "base": "sold", "cost": "minutes",
}  # fmt: skip

cold: list[Options] = [{}, *({"unseen_items": x} for x in ("skip", "zero"))]
by_k: list[Options] = [{"divisor": "k", "k": 3}]
weights: list[Options] = [{"weight": "log2"}, {"weight": 0.85, "k": 3}]
ratios: list[Options] = [
    {"group": "M", **options}
    for options in ({}, {"weight": 0.85, "k": 3, "absolute": True}, {"weight": "equal", "k": 10, "smoothing": 1e-6})
]
others: list[Options] = [{"weight": "equal"}, {"weight": 0.85, "k": 3}]
# By the formula's name, as in ORACLES.
CALLS: dict[str, list[Options]] = {
    "mean_popularity": [
        *every(cold, cutoffs),
        {"normalize": True},
        *by_k,
        {"unseen_items": "skip", "divisor": "k", "k": 3},
    ],
    "popularity_percentile": [*every(cold, cutoffs), *by_k],
    "novelty": [
        *every(cold, cutoffs),
        {"base": "interactions"},
        {"base": "interactions", "unseen_items": "skip"},
        *by_k,
    ],
    "surprisal": [*every(cold, cutoffs), *by_k],
    "unseen": [*cutoffs, *by_k],
    "unexpectedness": [*cutoffs, *by_k],
    "least_item_promoted": [{}, {"k": 3}, {"first_rank": 0, "k": 1}],
    "tail_share": [*every(cold, cutoffs), {"head": 0.3}, {"tail": 0.3}, {"tail": 0.01, "k": 3}, *by_k],
    "efd": [*every(cold, cutoffs, [{}, {"relevance": False}])],
    "epc": [*every(cold, cutoffs, [{}, {"relevance": False}])],
    "ild": [
        *cutoffs,
        *every([{"distance": "hamming"}, {"distance": "euclidean"}, {"divisor": "list"}], [{}, {"k": 3}]),
        *every([{"no_pairs": "zero"}, {"no_pairs": "one"}], [{}, {"k": 1}]),
    ],
    "category_diversity": [*cutoffs, *by_k],
    "category_entropy": [*cutoffs, *weights],
    "serendipity": every(
        [{}, {"against": "co_occurrence"}, {"against": "features"}],
        [{}, {"relevance": False}],
        [{}, {"k": 3}, {"k": 3, "divisor": "k"}],
    ),
    "calibration": [*cutoffs, {"alpha": 0.3}, {"unit": "bits"}, *weights],
    "group_exposure": [{"group": "M", **options} for options in [*cutoffs, *others]],
    "awrf": [
        *(
            {"group": "M", **options}
            for options in [*cutoffs, *others, {"target": 0.3}, {"target": "equal"}, {"distance": "jsd"}]
        ),
        *({"distance": "jsd", **options} for options in [*cutoffs, *others, {"target": "equal"}]),
        {},
        {"target": "equal", "k": 3},
        {"group": "F", "distance": "jsd", "target": "equal"},
        {"group": "F", "distance": "jsd", "target": 0.2},
        {"group": "F", "distance": "jsd", "target": 0},
    ],
    "ndkl": [
        *cutoffs,
        {"target": "equal"},
        {"group": "M"},
        {"group": "M", "target": 0.3, "k": 3},
        {"group": "F", "target": "equal"},
    ],
    "rnd": [{"group": "M", "step": 2}, {"group": "F"}],
    "rkl": [{"group": "M", "step": 2}, {"group": "F", "step": 3}],
    "rrd": [{"group": "M", "step": 2}, {"group": "F", "step": 3}],
    "demographic_parity": ratios,
    "exposed_utility_ratio": every(ratios[:2], [{"gain": GAIN}]) + ratios[2:],
    "realized_utility_ratio": every(ratios[1:], [{"gain": "binary"}]) + ratios[:1],
}
CALLS |= {
    "hole": cutoffs,
    "p_mrr": [{}],
    "time_biased_gain": [
        {"half_life": 2, "max_label": 4},
        {"gain": SHARE, "depth": 3},
        {"half_life": 5.5, "max_label": "query", "report": "EU", "depth": 12},
        {"half_life": 2, "max_label": 5.5, "report": "ETC", "residual": True, "depth": 12},
        {"half_life": 2, "max_label": 4, "report": "EC", "depth": 12},
    ],
    "u_measure": [
        {"length": 4, "max_label": 4},
        {"length": 2.5, "gain": SHARE, "depth": 5},
        {"length": 9, "max_label": "query", "report": "ED", "depth": 12},
        {"length": 9, "max_label": 5.5, "report": "EU", "residual": True, "depth": 12},
        {"length": 9, "gain": SHARE, "report": "ETC", "depth": 3},
    ],
    "ift": [
        {"max_label": 4, "depth": 12},
        {"max_label": "query", "rate": None, "goal_slope": 1, "depth": 5},
        {"max_label": 4, "target": None, "rate": 0.5, "rate_intercept": 2, "rate_slope": 3, "depth": 12},
        {"gain": SHARE, "goal_intercept": 0.3, "report": "ETU", "depth": 12},
        {"max_label": 4, "rate_slope": 0, "report": "EC", "residual": True, "depth": 12},
        {"max_label": 4, "target": 1, "report": "ETC", "depth": 12},
    ],
}
ALL = [(name, options) for name, calls in CALLS.items() for options in calls]
TEXTS = [spell(*call) for call in ALL]


def reads_labels(name: str, options: Options) -> bool:
    judging = (
        "p_mrr",
        "time_biased_gain",
        "u_measure",
        "ift",
        "efd",
        "epc",
        "serendipity",
        "exposed_utility_ratio",
        "realized_utility_ratio",
    )
    return name in judging and bool(options.get("relevance", True))


@untraced
def expected(table: Mapping[Any, Sequence[Row]], call: tuple[str, Options], **policies: Any) -> dict[Any, float | None]:
    """The oracle's value of every query; a metric that reads no label has no relevant documents to lack."""
    name, options = call
    no_relevant = policies.pop("no_relevant", "zero") if reads_labels(*call) else "zero"
    policies.pop("no_relevant", None)
    found: dict[Any, float | None] = {}
    for query, rows in table.items():
        q = prepare(rows, user=query, **policies)
        found[query] = ORACLES[name](q, **options)
        if reads_labels(*call) and not q.has_labels:  # nobody judged the query
            found[query] = None
            continue
        if q.R == 0 and no_relevant == "null":
            found[query] = None
        if q.R == 0 and no_relevant == "one" and rf.parse(spell(*call))[0].bounds == (0, 1):
            found[query] = 1.0
    return found
