"""The values that TensorFlow Ranking prints for every query of a table, by its Keras metrics over one query."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import tensorflow as tf
import tensorflow_ranking as tfr
from tensorflow_ranking.python import metrics_impl

NAMES = {
    "reciprocal_rank": tfr.keras.metrics.MRRMetric,
    "hit_rate": tfr.keras.metrics.HitsMetric,
    "precision": tfr.keras.metrics.PrecisionMetric,
    "recall": tfr.keras.metrics.RecallMetric,
    "average_precision": tfr.keras.metrics.MeanAveragePrecisionMetric,
    "dcg": tfr.keras.metrics.DCGMetric,
    "ndcg": tfr.keras.metrics.NDCGMetric,
    "mean_position": tfr.keras.metrics.ARPMetric,
    "ordered_pairs": tfr.keras.metrics.OPAMetric,
}
WITHOUT_KERAS = {"bpref": metrics_impl.BPrefMetric, "weighted_average": metrics_impl.PWAMetric}
CUTOFFS: list[dict[str, Any]] = [{}, *({"k": k} for k in (1, 3, 30))]
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("mean_position", {}),
    ("ordered_pairs", {}),
    *((name, cut) for name in WITHOUT_KERAS for cut in CUTOFFS),
    *((name, cut) for name in NAMES if name not in ("mean_position", "ordered_pairs") for cut in CUTOFFS),
]


def values(
    table: dict[Any, list[Any]], calls: Sequence[Any] = CALLS
) -> Iterator[tuple[Any, str, dict[str, Any], float]]:
    for query, rows in table.items():
        labels = tf.constant([[row[2] for row in rows]], tf.float32)
        scores = tf.constant([[row[1] for row in rows]], tf.float32)
        for name, options in calls:
            if name in WITHOUT_KERAS:
                found, _ = WITHOUT_KERAS[name](name, options.get("k")).compute(labels, scores)
                yield query, name, options, float(found)
                continue
            metric = NAMES[name](**({"topn": options["k"]} if "k" in options else {}))
            metric.update_state(labels, scores)
            yield query, name, options, float(metric.result())
