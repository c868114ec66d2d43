"""Names in other tools whose number is that of no single metric here, or of another mean: rows of data."""

from __future__ import annotations

import re
from collections.abc import Mapping

UNCLEAR: Mapping[str, Mapping[str, str]] = {
    "accuracy": {"sentence-transformers": "hit_rate", "ir_measures": "pairwise_accuracy"},
    "arp": {"TF-Ranking": "average_relevance_position", "RecTools and RecBole": "mean_popularity"},
    "context_recall": {"Ragas, which counts claims of a reference in place of documents": "recall"},
    "diversity": {"Evidently": "ild", "RePlay": "category_diversity", "TREC's diversity tasks": "alpha_ndcg"},
    "gauc": {
        "online advertising, whose mean weighs a user by the number of candidates, num_ret": "auc",
        "RecBole, whose mean weighs a user by the number of relevant items, num_rel": "auc",
    },
    "label_ranking_average_precision_score": {"scikit-learn, which gives a query without relevant documents 1": "map"},
    "mar": {
        "recmetrics and rexmex": "map",
        "Elliot": "average_recall",
        "Evidently, with at=relevant": "average_recall",
    },
    "Novelty": {"Evidently": "novelty", "RePlay": "unseen"},
    "sDCG": {"cwl-eval": "sdcg", "TREC's session tracks": ""},
    "top_k_accuracy": {"scikit-learn and Keras, which cut lists at 2 and at 5": "hit_rate"},
    "top_k_accuracy_score": {"scikit-learn, which cuts lists at 2": "hit_rate"},
}
"""Names that are refused: the tools that use each, with the metric here that is it or is nearest, if there is one.

A name with capitals is refused as it is written there: in small letters it is the name of one metric here.
"""

ENDING = re.compile(r"(?:_at)?_?(?:\d+|(?<=_)k)$")
"""The end of a name with a cutoff, as of ``ndcg_at_10``, ``ndcg10`` and ``ndcg_at_k``."""


def unclear(name: str) -> str | None:
    """What tools mean by a name of `UNCLEAR`; None for any other name."""
    meant = UNCLEAR.get(name) or UNCLEAR.get(name.lower())
    if meant is None:
        return None
    tools = (f"{metric or 'another gain, which is no metric here,'} in {tool}" for tool, metric in meant.items())
    return f"{name!r} is {' and '.join(tools)}".rstrip(",")
