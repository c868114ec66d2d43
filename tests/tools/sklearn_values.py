"""The values that scikit-learn prints for every query of a table, one query a call."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from sklearn import metrics

CUTOFFS: list[dict[str, Any]] = [{}, *({"k": k} for k in (1, 2, 5, 30))]
CALLS: list[tuple[str, dict[str, Any]]] = [
    *((name, cut) for name in ("dcg", "ndcg") for cut in CUTOFFS),
    *((name, {"ties": "undefined", **cut}) for name in ("dcg", "ndcg") for cut in CUTOFFS),
    *(
        (name, {})
        for name in (
            "average_precision", "label_ranking_average_precision", "label_ranking_loss", "coverage_error", "auc",
        )
    ),
]  # fmt: skip
WHOLE: dict[str, Callable[..., float]] = {
    "dcg": metrics.dcg_score,
    "ndcg": metrics.ndcg_score,
    "label_ranking_average_precision": metrics.label_ranking_average_precision_score,
    "label_ranking_loss": metrics.label_ranking_loss,
    "coverage_error": metrics.coverage_error,
}
ONE: dict[str, Callable[..., float]] = {
    "average_precision": metrics.average_precision_score,
    "auc": metrics.roc_auc_score,
}


def values(
    table: dict[Any, list[Any]], calls: Sequence[Any] = CALLS
) -> Iterator[tuple[Any, str, dict[str, Any], float]]:
    for query, rows in table.items():
        scores, labels = [row[1] for row in rows], [row[2] for row in rows]
        for name, options in calls:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # that there is one class only
                if name in ONE:
                    found = ONE[name](labels, scores)
                else:
                    asked = {"k": options["k"]} if "k" in options else {}
                    if "ties" in options:
                        asked["ignore_ties"] = True
                    found = WHOLE[name]([labels], [scores], **asked)
            yield query, name, options, float(found)
