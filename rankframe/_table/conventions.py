"""How other tools count: the policies and options that each of them has, as data."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from ..errors import InvalidOption, nearest, option
from .trec_eval import MEASURES

__all__ = ["CONVENTIONS", "Convention", "convention_of"]

Settings: TypeAlias = Mapping[str, Any]

ABOVE_HALF = math.nextafter(0.5, 1)
"""The least number that is above one half."""

ANY_GAIN: Settings = {"relevant": math.nextafter(0, 1)}
"""Of metrics that ask whether a query has any gain, not whether it has a relevant document."""


@dataclass(frozen=True)
class Convention:
    """The convention of a tool: its policies, and the options and policies of each of its metrics.

    Attributes
    ----------
    policies
        What :meth:`on` sets for all metrics of the tool.
    metrics
        The tool's metrics by canonical name, each with what it has otherwise: options of the metric, or policies.
    note
        What of the tool no setting can repeat.
    also
        Other tools that count the same, and other names of the tool, for the hint in an error.
    """

    policies: Settings = field(default_factory=dict)
    metrics: Mapping[str, Settings] = field(default_factory=dict)
    note: str = ""
    also: tuple[str, ...] = ()


LIST_ONLY: Settings = {"unretrieved": "drop"}
"""Of tools that see nothing but the list they are given."""

OF_TREC_EVAL: Mapping[str, Settings] = {
    **{measure.metric: {} for measure in MEASURES.values() if measure.metric},
    "f1": {},  # set_F with its default beta
    "rbp": {"p": 0.9, "gain": "scaled"},
}
"""The metrics of trec_eval, with the options that differ from our defaults."""

SINCE_10 = {measure.metric for measure in MEASURES.values() if measure.since == 10}
"""The metrics that trec_eval 9 lacks."""

CONVENTIONS: Mapping[str, Convention] = {
    "trec_eval": Convention({"ties": "trec_eval"}, OF_TREC_EVAL, "labels are cut to whole numbers"),
    "trec_eval9": Convention(
        {"ties": "trec_eval", "scores": "float32"},
        {
            **{name: settings for name, settings in OF_TREC_EVAL.items() if name not in SINCE_10},
            "interpolated_precision": {"rounding": "up"},
            "eleven_point_average": {"rounding": "up"},
        },
        "labels are cut to whole numbers; pytrec_eval is this version",
        ("pytrec_eval", "pytrec_eval_terrier"),
    ),
    "ranx": Convention(
        {"ties": "order"},
        {
            **{
                name: {}
                for name in ("hits", "hit_rate", "precision", "recall", "f1", "r_precision", "rr", "map", "dcg", "ndcg")
            },
            "bpref": {},
            "rbp": {"gain": "linear"},
        },
        "ties beyond 15 documents are left to an unstable sort; bpref is NaN where nothing is judged non-relevant",
    ),
    "sklearn": Convention(
        LIST_ONLY,
        {
            "dcg": {"ties": "expected"},
            "ndcg": {"ties": "expected"},
            "map": {"ties": "error"},
            "auc": {"no_relevant": "null"},
        },
        "average precision takes tied documents at their last place, which no rule here does",
        ("scikit-learn",),
    ),
    "torchmetrics": Convention(
        {**LIST_ONLY, "ties": "order", "scores": "float32"},
        {
            "map": {"divisor": "hits"},
            **{name: {} for name in ("rr", "precision", "recall", "hit_rate", "r_precision")},
            "ndcg": {"ties": "expected"},
            "fall_out": {},
            "auc": {},
        },
        "a relevant document whose score is not above 0 counts in some metrics as not relevant; AUC is 0 where all are "
        "relevant; ties are left to an unstable sort",
    ),
    "lightgbm": Convention(
        {**LIST_ONLY, "ties": "order", "relevant": ABOVE_HALF, "no_relevant": "one"},
        {"ndcg": {**ANY_GAIN, "gain": "exponential"}, "map": {"divisor": "min(k,R)"}},
    ),
    "xgboost": Convention(
        {**LIST_ONLY, "ties": "order", "scores": "float32", "no_relevant": "one"},
        {
            "ndcg": {**ANY_GAIN, "k": 32, "gain": "exponential"},
            "map": {"k": 32, "divisor": "min(k,R)"},
            "precision": {"k": 32, "divisor": "min(k,n)", "no_relevant": "zero"},
        },
        "with a minus after the cutoff, a query without a relevant document counts 0, as it does where the policy no_relevant is zero",
    ),
    "catboost": Convention(
        {**LIST_ONLY, "ties": "worst", "relevant": ABOVE_HALF},
        {
            "dcg": {},
            "ndcg": {**ANY_GAIN, "no_relevant": "one"},
            "map": {"divisor": "min(k,R)"},
            "rr": {},
            "precision": {"divisor": "min(k,n)"},
            "recall": {"no_relevant": "one"},
            "err": {"gain": "linear", "max_label": 1},
            "pfound": {},
            "mean_label": {},
            "auc": {},
            "ordered_pair_accuracy": {"tied": 0.5},
        },
        "labels are rounded to 32-bit floats; AUC is 0 where all are relevant, and pair accuracy where all labels are "
        "the same",
    ),
    "spark": Convention(
        {"ties": "order"},
        {
            "precision": {},
            "map": {"divisor": "min(k,R)"},
            "ndcg": {"gain": "binary"},
            "recall": {},
        },
        "given labels beside the relevant documents, nDCG is ndcg(gain=exponential,min_label=1) instead",
        ("pyspark",),
    ),
    "tf_ranking": Convention(
        {**LIST_ONLY, "ties": "order", "scores": "float32"},
        {
            **{name: {} for name in ("rr", "hit_rate", "recall", "map", "bpref")},
            "precision": {"divisor": "min(k,n)"},
            "dcg": {"gain": "exponential"},
            "ndcg": {"gain": "exponential"},
            "average_relevance_position": {},
            "ordered_pair_accuracy": {},
        },
        "ties are drawn at random; rows with a negative label are left out: filter them; results are 32-bit floats; "
        "pair accuracy is 0 where all labels are the same",
        ("tensorflow_ranking",),
    ),
    "ptranking": Convention(
        {**LIST_ONLY, "ties": "order", "scores": "float32", "no_relevant": "null"},
        {
            "precision": {"no_relevant": "zero"},
            "map": {"divisor": "min(k,R)"},
            "ndcg": {**ANY_GAIN, "gain": "exponential"},
            "nerr": {**ANY_GAIN, "max_label": "query"},
        },
        "a cutoff past the end of the list counts 0; precision and average precision take labels from 0 to 1 as shares",
    ),
}
"""Every tool's convention by its name."""


def convention_of(name: object) -> Convention:
    """The convention of a tool, by the tool's name."""
    if not isinstance(name, str) or name not in CONVENTIONS:
        known = {called: tool for tool, convention in CONVENTIONS.items() for called in (tool, *convention.also)}
        near = nearest(name, known) if isinstance(name, str) else None
        hint = "" if near is None else f" Did you mean {known[near]!r}?"
        raise InvalidOption(option(convention=name), f": write one of {', '.join(map(repr, CONVENTIONS))}.{hint}")
    return CONVENTIONS[name]
