"""Figures to plan with: rows a second and core of the kernel, bytes a row that Spark shuffles; ours
beside plain Spark.

python benchmarks/scale.py --rows 1000000

Plain Spark is nDCG@10 and MAP by window functions in SQL, and Spark's own RankingMetrics. All three
have to give the same values before any is timed.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

os.environ["POLARS_MAX_THREADS"] = "1"  # figures are per core; workers inherit it
os.environ["PYSPARK_PYTHON"] = sys.executable

import numpy as np
import polars as pl
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

import rankframe as rf
import rankframe.spark

TEN = (
    "ndcg@10",
    "ndcg(gain=exponential)@10",
    "map",
    "rr",
    "P@10",
    "R@100",
    "hit_rate@10",
    "r_precision",
    "rbp",
    "err",
)

WINDOWS = """
    SELECT query_id,
        coalesce(
            sum(CASE WHEN place <= 10 THEN label / log2(place + 1) END)
            / nullif(sum(CASE WHEN best <= 10 THEN label / log2(best + 1) END), 0), 0) AS ndcg,
        coalesce(sum(CASE WHEN label >= 1 THEN hits / place END) / nullif(count_if(label >= 1), 0),
        0) AS map
    FROM (
        SELECT query_id, label,
            row_number() OVER (PARTITION BY query_id ORDER BY score DESC, doc_id DESC) AS place,
            count_if(label >= 1) OVER (
                PARTITION BY query_id ORDER BY score DESC, doc_id DESC ROWS UNBOUNDED PRECEDING) AS
                hits,
            row_number() OVER (PARTITION BY query_id ORDER BY label DESC) AS best
        FROM judged)
    GROUP BY query_id
"""
"""What somebody who knows both metrics writes; the first two windows share a sort."""


def table(rows: int, per_query: int = 100) -> pl.DataFrame:
    rng = np.random.default_rng(0)
    queries = rows // per_query
    return pl.DataFrame(
        {
            "query_id": np.repeat(np.arange(queries), per_query),
            "doc_id": rng.integers(0, 2**40, rows),
            "score": rng.random(rows),
            "label": (rng.random(rows) < 0.4).astype(np.int32)
            * rng.integers(1, 5, rows).astype(np.int32),
        }
    ).sample(fraction=1, shuffle=True, seed=0)


def timed(work: Callable[[], Any], rounds: int = 3) -> float:
    found = []
    for _ in range(rounds):
        start = time.perf_counter()
        work()
        found.append(time.perf_counter() - start)
    return sorted(found)[rounds // 2]


def shuffled(spark: Any, work: Callable[[], Any]) -> int:
    """The bytes that all stages of some work wrote to be shuffled."""
    store, none = (
        spark.sparkContext._jsc.sc().statusStore(),
        spark.sparkContext._gateway.new_array(spark._jvm.double, 0),
    )

    def written() -> int:
        stages = store.stageList(None, False, False, none, None)
        return sum(stages.apply(i).shuffleWriteBytes() for i in range(stages.size()))

    before = written()
    work()
    return written() - before


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument(
        "--rounds", type=int, default=3, help="how often Spark's work is timed; the median counts"
    )
    parser.add_argument("--memory", default="2g", help="of Spark's driver, which runs all tasks")
    given = parser.parse_args()
    rows, rounds = given.rows, given.rounds
    df = table(rows)
    bucket = df.head(0).vstack(df.filter(pl.col("query_id") < 1000)).to_arrow()
    kernel = rf.arrow_kernel(*TEN, largest_label=4)
    seconds = timed(lambda: kernel(bucket), 7)
    print(
        f"kernel, ten metrics, a bucket of {bucket.num_rows} rows, one core: "
        f"{bucket.num_rows / seconds / 1e6:.2f} million rows/s"
    )
    print(f"result: {kernel(bucket).nbytes / 1000:.0f} bytes a query in Arrow")
    with tempfile.TemporaryDirectory() as folder:
        pq.write_table(df.to_arrow(compat_level=pl.CompatLevel.oldest()), f"{folder}/table.parquet")
        spark = (
            SparkSession.builder.master("local[2]")
            .config("spark.driver.memory", given.memory)
            .config("spark.ui.enabled", "false")
            .config("spark.log.level", "ERROR")
            .config("spark.sql.shuffle.partitions", "8")
            .getOrCreate()
        )
        sdf = spark.read.parquet(f"{folder}/table.parquet")

        def run(*metrics: str) -> Callable[[], None]:
            return lambda: nowhere(rankframe.spark.evaluate(sdf, *metrics))

        sdf.createOrReplaceTempView("judged")
        check(spark, sdf)

        def say(what: str, work: Callable[[], Any]) -> None:
            print(f"{what}: {timed(work, rounds):.2f} s", flush=True)

        shuffle = shuffled(spark, run(*TEN)) / rows
        print(f"Spark, ten metrics: shuffled {shuffle:.1f} bytes a row", flush=True)
        say("Spark on two cores, ten metrics", run(*TEN))
        say("Spark on two cores, ndcg@10 and map", run("ndcg@10", "map"))
        say("Spark's windows in SQL, ndcg@10 and map", lambda: nowhere(spark.sql(WINDOWS)))
        say("Spark's RankingMetrics, means of ndcg@10 and map", lambda: ranking_metrics(sdf))
        say(
            "Spark on two cores, summarize",
            lambda: rankframe.spark.summarize(sdf, "ndcg@10", "map", resamples=1000).collect(),
        )
        spark.stop()


def nowhere(result: Any) -> None:
    """Compute a Spark table, and throw it away."""
    result.write.format("noop").mode("overwrite").save()


def check(spark: Any, sdf: Any) -> None:
    """Ours are the values of SQL's windows, query by query, and the means of RankingMetrics, which
    has binary gains."""
    ours = rankframe.spark.evaluate(sdf, "ndcg@10", "map", "ndcg(gain=binary)@10")
    found = pl.DataFrame(
        ours.join(spark.sql(WINDOWS).toDF("query_id", "sql_ndcg", "sql_map"), "query_id").toArrow()
    )
    off = found.select(
        a=pl.col("ndcg@10") - pl.col("sql_ndcg"), b=pl.col("map") - pl.col("sql_map")
    )
    largest = max(abs(x) for column in off for x in (column.min(), column.max()))
    ndcg, mean_ap = ranking_metrics(sdf)
    largest = max(
        largest,
        abs(found["ndcg(gain=binary)@10"].mean() - ndcg),
        abs(found["map"].mean() - mean_ap),
    )
    print(
        f"{len(found)} queries; windows, RankingMetrics and ours differ by {largest:.0e}",
        flush=True,
    )
    if largest > 1e-12:
        raise ValueError("the values differ")


def ranking_metrics(sdf: Any) -> tuple[float, float]:
    """The same table as lists of documents, the way RankingMetrics takes it."""
    from pyspark.mllib.evaluation import RankingMetrics
    from pyspark.sql.functions import expr

    ranked = expr(
        "transform(reverse(array_sort(collect_list(struct(score, doc_id)))), x -> "
        "double(x.doc_id)) AS ranked"
    )
    relevant = expr("collect_list(double(doc_id)) FILTER (WHERE label >= 1) AS relevant")
    lists = sdf.groupBy("query_id").agg(ranked, relevant)
    metrics = RankingMetrics(lists.select("ranked", "relevant").rdd.map(tuple))
    return metrics.ndcgAt(10), metrics.meanAveragePrecision


if __name__ == "__main__":
    main()
