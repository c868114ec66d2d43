"""The values that trec_eval 9's C code prints for every query of a table, by pytrec_eval."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytrec_eval

CUTOFFS = (1, 2, 5, 30)
WITHOUT_CUTOFF = {
    "average_precision": "map", "r_precision": "Rprec", "reciprocal_rank": "recip_rank", "bpref": "bpref",
    "ndcg": "ndcg", "eleven_point_average": "11pt_avg", "precision": "set_P", "recall": "set_recall", "f1": "set_F",
}  # fmt: skip
WITH_CUTOFF = {
    "average_precision": "map_cut", "precision": "P", "recall": "recall", "hit_rate": "success", "ndcg": "ndcg_cut",
    "relative_precision": "relative_P",
}  # fmt: skip
CALLS: list[tuple[str, dict[str, Any]]] = [
    *((name, {}) for name in WITHOUT_CUTOFF),
    *((name, {"k": k}) for name in WITH_CUTOFF for k in CUTOFFS),
    *(("interpolated_precision", {"recall": tenth / 10}) for tenth in range(11)),
]


def spell(name: str, options: dict[str, Any], separator: str) -> str:
    if "recall" in options:
        return f"iprec_at_recall{separator}{options['recall']:.2f}"
    return f"{WITH_CUTOFF[name]}{separator}{options['k']}" if "k" in options else WITHOUT_CUTOFF[name]


def values(
    table: dict[Any, list[Any]], calls: Sequence[Any] = CALLS
) -> Iterator[tuple[Any, str, dict[str, Any], float]]:
    """Queries judged below 0 throughout stay out: the C code keeps the previous query's counts for them."""
    qrels = {q: {doc: int(label) for doc, _, label in rows if label is not None} for q, rows in table.items()}
    run = {q: {doc: score for doc, score, _ in rows if score is not None} for q, rows in table.items()}
    qrels = {q: labels for q, labels in qrels.items() if any(label >= 0 for label in labels.values())}
    asked: dict[str, set[str]] = {}
    for call in calls:
        measure, _, parameter = spell(*call, ".").partition(".")
        asked.setdefault(measure, set()).add(parameter)
    measures = {m + (f".{','.join(sorted(ps))}" if ps != {""} else "") for m, ps in asked.items()}
    for query, found in pytrec_eval.RelevanceEvaluator(qrels, measures).evaluate(run).items():
        for name, options in calls:
            yield query, name, options, found[spell(name, options, "_")]
