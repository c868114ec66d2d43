"""Products that print ranking metrics beside their main purpose: their choices, as in `tests.tools.conventions`.

More choices:

ideal         the best order that nDCG divides by: "judged" (the best k), "as_many" (at most as many as were retrieved),
              "all" (whatever k), "perfect" (k documents of the best gain)
greatest      the top of the scale of labels
needs_k       whether a cutoff is always given
"""

from __future__ import annotations

import math
from typing import Any

ANY_LABEL = (-math.inf, math.inf, False)

# They take a list of documents and the relevant ones, in some form.
LISTS: dict[str, Any] = {
    "unretrieved": "counted", "unjudged": "nonrelevant", "negative": "nonrelevant", "labels": ANY_LABEL,
}  # fmt: skip

# Version 8 of Elasticsearch and version 1 of OpenSearch.
RANK_EVAL: dict[str, Any] = {
    **LISTS, "labels": (0, 4, True), "default_k": 10,
    "metrics": {
        "precision": {"over": "min(k,n)"},
        "recall": {},
        "reciprocal_rank": {},
        "dcg": {"gain": "exponential"},
        "ndcg": {"gain": "exponential", "ideal": "as_many"},
        "err": {"greatest": 4},
    },
}  # fmt: skip

PRODUCTS: dict[str, dict[str, Any]] = {
    "elasticsearch": RANK_EVAL,
    "opensearch": RANK_EVAL,
    # Rounded to two decimals. Relevance uses a threshold of each query, which is 1 if labels are 0 and 1.
    "opensearch_workbench": {
        **LISTS, "labels": (0, 1, True),
        "metrics": {
            "precision": {"over": "min(k,n)"},
            "recall": {},
            "average_precision": {"over": "R"},
            "reciprocal_rank": {},
            "dcg": {"gain": "exponential", "labels": (0, 4, True)},
            "ndcg": {"gain": "exponential", "labels": (0, 4, True)},
        },
    },
    "quepid": {
        **LISTS, "labels": (0, 4, True), "default_k": 10,
        "metrics": {
            "precision": {"over": "min(k,n)"},
            "average_precision": {"over": "R", "no_relevant": math.nan},
            "reciprocal_rank": {},
            "cg": {},
            "dcg": {"gain": "exponential"},
            "ndcg": {"gain": "exponential", "ideal": "all"},
            "err": {"greatest": 4},
        },
    },
    "mlflow": {
        **LISTS, "default_k": 3,
        "metrics": {
            "precision": {"over": "min(k,n)"},
            "recall": {},
            "ndcg": {"gain": "binary", "ideal": "as_many"},
        },
    },
    "llamaindex": {
        **LISTS, "no_relevant": math.nan,
        "metrics": {
            "hit_rate": {},
            "reciprocal_rank": {},
            "precision": {"over": "min(k,n)"},
            "recall": {},
            "average_precision": {"over": "R"},
            "ndcg": {"gain": "binary", "ideal": "all"},
        },
    },
    "haystack": {
        **LISTS,
        "metrics": {
            "hit_rate": {},
            "reciprocal_rank": {},
            "recall": {},
            "average_precision": {"over": "R"},
            "ndcg": {"ideal": "all"},
        },
    },
    # The divisor of average precision is 1e-10 more than the number of hits.
    "ragas": {
        **LISTS,
        "metrics": {
            "average_precision": {"over": "hits", "tolerance": 1e-9},
            "precision": {"over": "min(k,n)"},
            "recall": {"no_relevant": math.nan},
        },
    },
    "replay": {
        **LISTS, "ties": "doc_desc", "relevant": (">", 0), "no_relevant": math.nan, "needs_k": True,
        "metrics": {
            "hit_rate": {},
            "reciprocal_rank": {},
            "precision": {"over": "k"},
            "recall": {},
            "average_precision": {"over": "min(k,R)"},
            "ndcg": {"gain": "binary"},
            "auc": {"ties": "undefined", "unretrieved": "unseen", "no_relevant": 0.0, "no_nonrelevant": 1.0},
        },
    },
    "rectools": {
        **LISTS, "relevant": (">", 0), "no_relevant": math.nan, "needs_k": True,
        "metrics": {
            "hit_rate": {},
            "reciprocal_rank": {},
            "precision": {"over": "k"},
            "recall": {},
            "f1": {},
            "average_precision": {"over": "R"},
            "ndcg": {"gain": "binary", "ideal": "perfect"},
        },
    },
    "recbole": {
        **LISTS, "relevant": (">", 0), "ties": "undefined", "no_relevant": math.nan, "default_k": 10,
        "metrics": {
            "hit_rate": {},
            "reciprocal_rank": {},
            "precision": {"over": "k"},
            "recall": {},
            "average_precision": {"over": "min(k,R)"},
            "ndcg": {"gain": "binary"},
        },
    },
    # Of a list without any item, precision and average precision are NaN.
    "lenskit": {
        **LISTS, "relevant": (">", 0), "no_relevant": math.nan,
        "metrics": {
            "hit_rate": {},
            "reciprocal_rank": {},
            "precision": {"over": "min(k,n)", "no_relevant": 0.0},
            "recall": {"over": "min(k,R)"},
            "average_precision": {"over": "min(n,R)"},
            "dcg": {"gain": "binary", "discount": "original", "no_relevant": 0.0},
            "ndcg": {"gain": "binary", "discount": "original"},
            "rbp": {"gain": "binary"},
        },
    },
    # What it rounds, it rounds for each user. Its mark is average precision.
    "recmetrics": {
        **LISTS,
        "metrics": {
            "precision": {"over": "min(k,n)", "tolerance": 5.1e-5},
            "recall": {"tolerance": 5.1e-5},
            "average_precision": {"over": "R", "default_k": 10},
        },
    },
    "evidently": {
        "relevant": (">", 0), "no_relevant": math.nan, "needs_k": True,
        "metrics": {
            "hit_rate": {},
            "reciprocal_rank": {},
            "precision": {"over": "min(k,n)"},
            "recall": {},
            "average_precision": {"over": "R"},
            "average_recall": {"at": "relevant"},
            "ndcg": {},
        },
    },
    # Version 1.0, of December 2025, whose relevance threshold is 1 here.
    "elliot": {
        **LISTS, "no_relevant": math.nan, "needs_k": True,
        "metrics": {
            "hit_rate": {},
            "reciprocal_rank": {},
            "precision": {"over": "k"},
            "recall": {},
            "f1": {},
            "f_beta": {},
            "average_recall": {"at": "ranks"},
            "ndcg": {"gain": "exponential of the relevant"},
        },
    },
    "recpack": {
        **LISTS, "ties": "undefined", "no_relevant": math.nan, "needs_k": True,
        "metrics": {
            "hits": {},
            "reciprocal_rank": {},
            "precision": {"over": "k"},
            "recall": {},
            "dcg": {"gain": "binary"},
            "ndcg": {"gain": "binary"},
        },
    },
    "cornac": {
        **LISTS, "no_relevant": math.nan,
        "metrics": {
            "hit_rate": {},
            "reciprocal_rank": {},
            "precision": {"over": "k"},
            "recall": {},
            "f1": {},
            "average_precision": {"ties": "last", "over": "R", "unretrieved": "unseen"},
            "ndcg": {"gain": "binary"},
        },
    },
    "microsoft_recommenders": {
        **LISTS, "relevant": (">", 0), "no_relevant": math.nan, "default_k": 10,
        "metrics": {
            "precision": {"over": "k"},
            "recall": {},
            "average_precision": {"over": "min(k,R)"},
            "ndcg": {"gain": "binary"},
        },
    },
}  # fmt: skip
