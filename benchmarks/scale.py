"""Figures to plan with: rows a second and core of the kernel, bytes a row that Spark shuffles, Spark's own RankingMetrics.

python benchmarks/scale.py --rows 1000000
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

TEN = ("ndcg@10", "ndcg(gain=exponential)@10", "map", "rr", "P@10", "R@100", "hit_rate@10", "r_precision", "rbp", "err")


def table(rows: int, per_query: int = 100) -> pl.DataFrame:
    rng = np.random.default_rng(0)
    queries = rows // per_query
    return pl.DataFrame(
        {
            "query_id": np.repeat(np.arange(queries), per_query),
            "doc_id": rng.integers(0, 2**40, rows),
            "score": rng.random(rows),
            "label": (rng.random(rows) < 0.4).astype(np.int32) * rng.integers(1, 5, rows).astype(np.int32),
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
    rows = parser.parse_args().rows
    df = table(rows)
    bucket = df.head(0).vstack(df.filter(pl.col("query_id") < 1000)).to_arrow()
    kernel = rf.arrow_kernel(*TEN, largest_label=4)
    seconds = timed(lambda: kernel(bucket), 7)
    print(
        f"kernel, ten metrics, a bucket of {bucket.num_rows} rows, one core: {bucket.num_rows / seconds / 1e6:.2f} million rows/s"
    )
    print(f"result: {kernel(bucket).nbytes / 1000:.0f} bytes a query in Arrow")
    with tempfile.TemporaryDirectory() as folder:
        pq.write_table(df.to_arrow(compat_level=pl.CompatLevel.oldest()), f"{folder}/table.parquet")
        spark = (
            SparkSession.builder.master("local[2]")
            .config("spark.ui.enabled", "false")
            .config("spark.log.level", "ERROR")
            .config("spark.sql.shuffle.partitions", "8")
            .getOrCreate()
        )
        sdf = spark.read.parquet(f"{folder}/table.parquet")

        def run(*metrics: str) -> Callable[[], None]:
            return lambda: rankframe.spark.evaluate(sdf, *metrics).write.format("noop").mode("overwrite").save()

        run("map")()
        print(
            f"Spark on two cores, ten metrics: {timed(run(*TEN)):.2f} s, shuffled {shuffled(spark, run(*TEN)) / rows:.1f} bytes a row"
        )
        print(f"Spark on two cores, ndcg@10 and map: {timed(run('ndcg@10', 'map')):.2f} s")
        print(
            f"Spark on two cores, summarize: {timed(lambda: rankframe.spark.summarize(sdf, 'ndcg@10', 'map').collect()):.2f} s"
        )
        print(f"Spark's RankingMetrics, ndcg@10 and map: {timed(lambda: ranking_metrics(sdf)):.2f} s")
        ours = {
            row["metric"]: row["mean"]
            for row in rankframe.spark.summarize(sdf, "ndcg(gain=binary)@10", "map").collect()
        }
        print("means, ours and RankingMetrics':", ours, ranking_metrics(sdf))
        spark.stop()


def ranking_metrics(sdf: Any) -> tuple[float, float]:
    """The same table as lists of documents, the way RankingMetrics takes it."""
    from pyspark.mllib.evaluation import RankingMetrics
    from pyspark.sql.functions import expr

    ranked = expr(
        "transform(reverse(array_sort(collect_list(struct(score, doc_id)))), x -> double(x.doc_id)) AS ranked"
    )
    relevant = expr("collect_list(double(doc_id)) FILTER (WHERE label >= 1) AS relevant")
    lists = sdf.groupBy("query_id").agg(ranked, relevant)
    metrics = RankingMetrics(lists.select("ranked", "relevant").rdd.map(tuple))
    return metrics.ndcgAt(10), metrics.meanAveragePrecision


if __name__ == "__main__":
    main()
