"""Every tool's ranking metrics: the tool's choices, as data.

`CONVENTIONS[tool]` holds the choices that a tool makes for all its metrics and, under "metrics", what a metric adds or
has otherwise. `value` reads the choices and nothing else, so that a test which finds it equal to the tool proves them.

The choices:

ties          order of rows with equal scores: "doc_desc", "doc_asc", "order" (as given), "reverse order",
              "worst" (least label first), "averaged" (each row gets the mean over the tied places), "last" (each row
              stands on the last of the tied places), "half" (a tied pair is half right), "wrong" (a tied pair is
              wrong), or "undefined" (random, or left to a sort that is not stable: compare without ties)
scores        "float64" or "float32": scores that differ by less are tied
values        "float64", or "float32" with the tolerance that implies
unretrieved   rows without a score: "counted" as relevant documents that were missed, or "unseen" by the tool
unjudged      rows without a label: "nonrelevant", or "refused": the caller has to put a number there
negative      labels below 0: "nonrelevant", "unjudged" (in the pool, not judged), "unseen" (left out), "refused"
labels        the labels it takes: least, greatest, whether only integers
relevant      which labels are relevant: (">=", 1) or (">", 0.5)
rows          the fewest rows that it takes
no_relevant   the value where there is nothing to divide by (no relevant row, an ideal of 0)
gain          "linear" (the label), "exponential" (2**label - 1), the same "of the relevant" only ("label of the
              relevant", "exponential of the relevant"), or "binary" (1 if relevant)
discount      "log2" (1 / log2(rank + 1)), "original" (1 / log2(rank), and 1 at rank 1), "position" (1 / rank)
over          what average precision divides by: "R", "min(k,R)", "min(n,R)" (n retrieved, at most k), "hits" (in the top
              k) or "ideal gain" (the sum of the k largest labels); what precision divides by: "k", "min(k,n)"; what
              recall divides by: "R" or "min(k,R)"
beyond        the value at a cutoff past the last row: None (that of the whole list) or a number
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tests.tools.products import PRODUCTS

Row = tuple[Any, float | None, float | None]

ANY_LABEL = (-math.inf, math.inf, False)
GRADES = (0, math.inf, True)
BINARY = (0, 1, True)

DEFAULTS: dict[str, Any] = {
    "ties": "order", "scores": "float64", "values": "float64", "tolerance": 1e-12,
    "unretrieved": "unseen", "unjudged": "refused", "negative": "refused", "labels": (0, math.inf, False),
    "relevant": (">=", 1), "rows": 1, "no_relevant": 0.0,
    "gain": "linear", "discount": "log2", "over": None, "beyond": None, "ideal": "judged",
}  # fmt: skip

TREC_EVAL: dict[str, Any] = {
    "ties": "doc_desc", "unretrieved": "counted", "unjudged": "nonrelevant", "negative": "unjudged",
    "labels": (-math.inf, math.inf, True),
    "metrics": {
        "average_precision": {"over": "R"},
        "precision": {"over": "k"},
        "relative_precision": {},
        "recall": {},
        "hit_rate": {},
        "f1": {},
        "r_precision": {},
        "reciprocal_rank": {},
        "bpref": {},
        "ndcg": {"gain": "linear"},
        "interpolated_precision": {"recall_level": "nearest", "nothing_retrieved": math.nan},
        "eleven_point_average": {"recall_level": "nearest", "nothing_retrieved": math.nan},
    },
}  # fmt: skip

CONVENTIONS: dict[str, dict[str, Any]] = {
    # Version 10: scores are doubles, and the number of relevant documents that a recall level asks for is rounded.
    "trec_eval": TREC_EVAL,
    # Version 9, and pytrec_eval with it: scores are floats, and that number is rounded up (from .1 on).
    "trec_eval9": {
        **TREC_EVAL,
        "scores": "float32",
        "metrics": {
            **TREC_EVAL["metrics"],
            "interpolated_precision": {"recall_level": "up", "nothing_retrieved": math.nan},
            "eleven_point_average": {"recall_level": "up", "nothing_retrieved": math.nan},
        },
    },
    # Ties keep the order given up to 15 rows; from 16 on the sort is not stable. Qrels cuts labels to integers, a plain
    # dict keeps them. A query without a relevant document stops bpref: the queries after it get 0 as well.
    "ranx": {
        "ties": "undefined", "unretrieved": "counted", "unjudged": "nonrelevant", "negative": "nonrelevant",
        "labels": (-math.inf, math.inf, True),
        "metrics": {
            "hits": {},
            "hit_rate": {},
            "precision": {"over": "k"},
            "recall": {},
            "f1": {},
            "r_precision": {},
            "bpref": {"no_nonrelevant": math.nan},
            "rbp": {"gain": "label of the relevant"},
            "reciprocal_rank": {},
            "average_precision": {"over": "R"},
            "dcg": {"gain": "label of the relevant"},
            "ndcg": {"gain": "label of the relevant"},
        },
    },
    "sklearn": {
        "labels": (0, math.inf, False),
        "metrics": {
            "dcg": {"ties": "averaged", "labels": ANY_LABEL, "negative": "taken", "rows": 2},
            "ndcg": {"ties": "averaged", "rows": 2},
            "average_precision": {"ties": "last", "labels": BINARY, "over": "R"},
            "label_ranking_average_precision": {"ties": "last", "labels": BINARY, "no_relevant": 1.0},
            "label_ranking_loss": {"ties": "wrong", "labels": BINARY, "rows": 2},
            "coverage_error": {"ties": "last", "labels": BINARY, "rows": 2},
            "auc": {"ties": "half", "labels": BINARY, "no_relevant": math.nan, "no_nonrelevant": math.nan},
        },
    },
    # Of the relevant, "positive" metrics see only those scored above 0. AUC takes the logistic function of the scores
    # if one is outside [0, 1], in floats: those above some 17 are tied.
    "torchmetrics": {
        "ties": "undefined", "scores": "float32", "values": "float32", "tolerance": 1e-6, "labels": BINARY,
        "metrics": {
            "average_precision": {"over": "hits", "relevant_scores": "positive"},
            "reciprocal_rank": {"relevant_scores": "positive"},
            "precision": {"over": "k", "relevant_scores": "positive"},
            "recall": {"relevant_scores": "positive"},
            "hit_rate": {},
            "fall_out": {},
            "r_precision": {},
            "ndcg": {"ties": "averaged", "labels": (0, math.inf, False)},
            "auc": {"ties": "half", "no_relevant": 0.0, "no_nonrelevant": 0.0, "squashed": True},
        },
    },
    "lightgbm": {
        "labels": (0, 30, True), "relevant": (">", 0.5), "no_relevant": 1.0,
        "metrics": {
            "ndcg": {"gain": "exponential"},
            "average_precision": {"over": "min(k,R)"},
        },
    },
    # Without @k, XGBoost means @32. With a minus after the cutoff, a query without a relevant row counts 0.
    "xgboost": {
        "scores": "float32", "labels": BINARY, "no_relevant": 1.0, "default_k": 32,
        "metrics": {
            "ndcg": {"gain": "exponential", "labels": (0, 31, True)},
            "average_precision": {"over": "min(k,R)"},
            "precision": {"over": "min(k,n)", "no_relevant": 0.0},
        },
    },
    # Labels are rounded to floats.
    "catboost": {
        "ties": "worst", "relevant": (">", 0.5), "tolerance": 1e-7,
        "metrics": {
            "dcg": {},
            "ndcg": {"no_relevant": 1.0},
            "average_precision": {"over": "min(k,R)"},
            "reciprocal_rank": {},
            "precision": {"over": "min(k,n)"},
            "recall": {"no_relevant": 1.0},
            "err": {"labels": (0, 1, False), "satisfied": "label"},
            "pfound": {"labels": (0, 1, False)},
            "mean_label": {},
            "auc": {"ties": "half", "labels": BINARY, "no_relevant": 0.0, "no_nonrelevant": 0.0},
            "ordered_pairs": {"ties": "half"},
        },
    },
    # It takes lists of documents, never scores: the ranking in its order, and the relevant ones. RankingMetrics takes
    # grades too, but from Python they change nothing (4.3); from Scala, nDCG has the exponential gain of the relevant.
    "spark": {
        "unretrieved": "counted", "unjudged": "nonrelevant", "negative": "nonrelevant", "labels": ANY_LABEL,
        "metrics": {
            "precision": {"over": "k"},
            "average_precision": {"over": "min(k,R)"},
            "ndcg": {"gain": "binary"},
            "recall": {},
        },
    },
    # Rows with a label below 0 are left out.
    "tf_ranking": {
        "ties": "undefined", "scores": "float32", "values": "float32", "tolerance": 2e-6, "negative": "unseen",
        "labels": ANY_LABEL,
        "metrics": {
            "reciprocal_rank": {},
            "hit_rate": {},
            "precision": {"over": "min(k,n)"},
            "recall": {},
            "average_precision": {"over": "R"},
            "dcg": {"gain": "exponential"},
            "ndcg": {"gain": "exponential"},
            "bpref": {},
            "mean_position": {},
            "ordered_pairs": {"ties": "wrong"},
            "weighted_average": {},
        },
    },
    # A cutoff past the list is 0 in its functions for many cutoffs, which its own evaluation calls.
    "ptranking": {
        "ties": "undefined", "scores": "float32", "values": "float32", "tolerance": 2e-6, "no_relevant": math.nan,
        "beyond": 0.0,
        "metrics": {
            "precision": {"over": "k", "relevant": "share", "no_relevant": 0.0},
            "average_precision": {"over": "ideal gain", "relevant": "share"},
            "ndcg": {"gain": "exponential"},
            "nerr": {},
        },
    },
    **PRODUCTS,
}  # fmt: skip


def choices(tool: str, metric: str) -> dict[str, Any]:
    """All choices behind one metric of a tool."""
    convention = CONVENTIONS[tool]
    of_tool = {name: choice for name, choice in convention.items() if name != "metrics"}
    return {**DEFAULTS, **of_tool, **convention["metrics"][metric]}


def seen(tool: str, rows: Sequence[Row]) -> list[Row]:
    """The rows that a caller can pass to the tool."""
    chosen = {**DEFAULTS, **CONVENTIONS[tool]}
    return [
        row
        for row in rows
        if (row[1] is not None or chosen["unretrieved"] == "counted")
        and (row[2] is not None or chosen["unjudged"] != "refused")
    ]


def takes(tool: str, metric: str, labels: Sequence[float | None]) -> bool:
    """Whether the tool takes all these labels for a metric."""
    least, greatest, integers = choices(tool, metric)["labels"]
    given = [label for label in labels if label is not None]
    return all(least <= label <= greatest and (not integers or label == int(label)) for label in given)
