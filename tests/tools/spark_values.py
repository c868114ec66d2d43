"""The values that Spark's RankingMetrics and RankingEvaluator print for every query of a table, one query a call (needs Java 17)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

from pyspark.ml.evaluation import RankingEvaluator
from pyspark.mllib.evaluation import RankingMetrics
from pyspark.sql import SparkSession

NAMES = {
    "precision": "precisionAtK",
    "average_precision": "meanAveragePrecisionAtK",
    "recall": "recallAtK",
    "ndcg": "ndcgAtK",
}
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("average_precision", {}),
    *((name, {"k": k}) for name in NAMES for k in (1, 3, 10)),
]


@cache
def session() -> SparkSession:
    quiet = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.log.level": "ERROR"}
    local = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    return SparkSession.builder.master("local[1]").config(map={**quiet, **local}).getOrCreate()


def values(
    table: dict[Any, list[Any]], calls: Sequence[Any] = CALLS
) -> Iterator[tuple[Any, str, dict[str, Any], float]]:
    """Every query as a data set of its own, as Spark gives means only."""
    for query, rows in table.items():
        for name, options, found in means({query: rows}, calls):
            yield query, name, options, found


def means(table: dict[Any, list[Any]], calls: Sequence[Any] = CALLS) -> Iterator[tuple[str, dict[str, Any], float]]:
    """RankingEvaluator over the ranking and the relevant documents of every query, as a user of Spark lists them."""
    schema = "prediction array<double>, label array<double>"
    lists = session().createDataFrame([listed(rows)[:2] for rows in table.values()], schema)
    for name, options in calls:
        asked = NAMES[name] if "k" in options else "meanAveragePrecision"
        yield name, options, RankingEvaluator(metricName=asked, k=options.get("k", 10)).evaluate(lists)


def graded(table: dict[Any, list[Any]]) -> RankingMetrics[float]:
    """The same with the labels of the relevant documents beside them."""
    return RankingMetrics(session().sparkContext.parallelize([listed(rows) for rows in table.values()], 1))


def listed(rows: list[Any]) -> tuple[list[float], list[float], list[float]]:
    """The ranking, the relevant documents (best first) and their labels; documents go by number, as doubles."""
    numbered = [(float(number), *row[1:]) for number, row in enumerate(rows)]
    ranking = sorted((row for row in numbered if row[1] is not None), key=lambda row: -row[1])
    relevant = sorted((row for row in numbered if (row[2] or 0) >= 1), key=lambda row: -row[2])
    return [row[0] for row in ranking], [row[0] for row in relevant], [float(row[2]) for row in relevant]
