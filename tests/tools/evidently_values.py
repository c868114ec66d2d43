"""The values that Evidently prints for every query of a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd
from evidently.legacy import metrics
from evidently.legacy.base_metric import ColumnMapping
from evidently.legacy.report import Report

from tests.tools.lists import CUTOFFS, every

NAMES: dict[str, Any] = {
    "hit_rate": metrics.HitRateKMetric, "reciprocal_rank": metrics.MRRKMetric, "precision": metrics.PrecisionTopKMetric,
    "recall": metrics.RecallTopKMetric, "average_precision": metrics.MAPKMetric, "average_recall": metrics.MARKMetric,
    "ndcg": metrics.NDCGKMetric,
}  # fmt: skip
CALLS = every([*NAMES], CUTOFFS[1:])
MAPPING = ColumnMapping(
    recommendations_type="rank", target="label", prediction="rank", item_id="item", user_id="user"  # type: ignore[arg-type]
)  # fmt: skip


def values(
    table: dict[Any, list[Any]], calls: Sequence[Any] = CALLS
) -> Iterator[tuple[Any, str, dict[str, Any], float]]:
    """One user at a time, as it gives no other values than means, of each cutoff down to the end of the longest list."""
    for query, rows in table.items():
        best = sorted(rows, key=lambda row: -row[1])
        if not any(row[2] > 0 for row in rows):
            continue  # left out
        given = pd.DataFrame({"user": 1, "item": [row[0] for row in best], "label": [float(row[2]) for row in best]})
        asked = [(name, options) for name, options in calls if options["k"] <= len(rows)]
        of = {name: NAMES[name](k=len(rows)) for name in dict(asked)}
        report = Report([*of.values()])
        report.run(
            reference_data=None,
            current_data=given.assign(rank=range(1, len(rows) + 1)),
            column_mapping=MAPPING,
            additional_data={},
        )
        for name, options in asked:
            found = of[name].get_result().current  # by cutoff, from 1, or in their order
            yield query, name, options, float(found.iloc[options["k"] - 1])
