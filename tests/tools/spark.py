"""What Spark's RankingMetrics and RankingEvaluator print for every query of a table, one query a call (needs Java 17)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

from pyspark.ml.evaluation import RankingEvaluator
from pyspark.mllib.evaluation import RankingMetrics
from pyspark.sql import SparkSession

CUTOFFS = (1, 3, 10)
NAMES = {
    "precision": "precisionAtK",
    "average_precision": "meanAveragePrecisionAtK",
    "recall": "recallAtK",
}
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("average_precision", {}),
    *((name, {"k": k}) for name in NAMES for k in CUTOFFS),
    *(("ndcg", {"gain": "share of the relevant", "k": k}) for k in CUTOFFS),
    *(("ndcg", {"k": k}) for k in CUTOFFS),
]


@cache
def session() -> SparkSession:
    quiet = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.log.level": "ERROR"}
    local = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    return SparkSession.builder.master("local[1]").config(map={**quiet, **local}).getOrCreate()


def values(
    table: dict[Any, list[Any]], calls: Sequence[Any] = CALLS
) -> Iterator[tuple[Any, str, dict[str, Any], float]]:
    """Ranking and relevant documents as a user of Spark lists them, the relevant ones by their label, best first."""
    spark = session()
    for query, rows in table.items():
        numbered = [(float(number), *row[1:]) for number, row in enumerate(rows)]  # the evaluator takes doubles only
        ranked = sorted((row for row in numbered if row[1] is not None), key=lambda row: -row[1])
        relevant = sorted((row for row in numbered if (row[2] or 0) >= 1), key=lambda row: -row[2])
        ranking, docs = [row[0] for row in ranked], [row[0] for row in relevant]
        lists = spark.createDataFrame([(ranking, docs)], "prediction array<double>, label array<double>")
        graded = None
        for name, options in calls:
            if name == "ndcg" and "gain" not in options:
                if not ranking or not docs:
                    continue  # the type of an empty list is not inferred
                graded = graded or RankingMetrics(
                    spark.sparkContext.parallelize([(ranking, docs, [float(row[2]) for row in relevant])])
                )
                found = graded.ndcgAt(options["k"])
            else:
                asked = "ndcgAtK" if name == "ndcg" else NAMES[name] if "k" in options else "meanAveragePrecision"
                found = RankingEvaluator(metricName=asked, k=options.get("k", 10)).evaluate(lists)
            yield query, name, options, float(found)
