"""What a worker takes for a skewed table: the peak memory of Spark's Python workers, or of Dask's,
in ten metrics.

python benchmarks/skewed.py spark --rows 5e6
python benchmarks/skewed.py dask --rows 5e6

One query has a fifth of all rows, which stand in no order in Parquet files. The values have to be
those of one Polars frame. A run over a small table comes first and says what a worker takes with
all that it loads; what the skewed table takes on top of that is put against the rows of its largest
bucket. Spark's JVM has 1 GB for two tasks, a worker of Dask 1 GB.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

os.environ["POLARS_MAX_THREADS"] = "1"  # as where every core has a worker; workers inherit it
os.environ["PYSPARK_PYTHON"] = sys.executable

import numpy as np
import polars as pl
import pyarrow as pa
from polars.testing import assert_frame_equal

import rankframe  # noqa: F401 - registers .rank

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
ROWS_PER_BUCKET = 100_000
"""Spark's buckets have as many if nobody says another number; the files of the table do, too."""


def table(rows: int, texts: bool) -> pl.DataFrame:
    """A table in which query 0 has a fifth of all rows, and others have about 100."""
    rng = np.random.default_rng(0)
    big = rows // 5
    df = pl.DataFrame(
        {
            "query_id": np.r_[
                np.zeros(big, np.int64), rng.integers(1, max(2, rows // 100), rows - big)
            ],
            "doc_id": rng.permutation(rows),
            "score": rng.random(rows),
            "label": (rng.random(rows) < 0.4) * rng.integers(1, 5, rows),
        }
    ).sample(fraction=1, shuffle=True, seed=0)
    named = (
        pl.format("query-{}", "query_id"),
        pl.format("document-{}", pl.col("doc_id") + 10**9).alias("doc_id"),
    )
    return df.with_columns(*named) if texts else df


def peak() -> int:
    """The most memory that this process ever had, in bytes; `ru_maxrss` may be that of the process
    that started it."""
    status = Path("/proc/self/status")
    if status.exists():
        (line,) = [line for line in status.read_text().splitlines() if line.startswith("VmHWM")]
        return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (
        1 if sys.platform == "darwin" else 1024
    )


def same(found: pl.DataFrame, df: pl.DataFrame) -> None:
    wanted = df.rank.evaluate(*TEN)
    assert_frame_equal(
        found, wanted, check_row_order=False, check_dtypes=False, rel_tol=1e-12, abs_tol=1e-12
    )


def on_spark(folder: Path, small: pl.DataFrame, df: pl.DataFrame) -> tuple[int, int, int, float]:
    """What a worker has loaded and its peak, in bytes; the rows of the largest bucket; seconds."""
    from pyspark.sql import SparkSession

    import rankframe.spark

    def peaks(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            time.sleep(0.05)  # so that both workers get tasks
            yield pa.RecordBatch.from_pydict({"bytes": [peak()]})

    def most() -> int:
        found = (
            spark.range(0, 16, 1, 16)
            .mapInArrow(lambda batches: peaks(batches), "bytes long")
            .toArrow()
        )
        return max(found["bytes"].to_pylist())

    options = {
        "driver.memory": "1g",
        "ui.enabled": "false",
        "log.level": "ERROR",
        "sql.shuffle.partitions": "8",
    }
    options |= {
        "driver.host": "127.0.0.1",
        "driver.bindAddress": "127.0.0.1",
        "ui.showConsoleProgress": "false",
    }
    builder = SparkSession.builder.master("local[2]")
    for name, value in options.items():
        builder = builder.config(f"spark.{name}", value)
    spark = builder.getOrCreate()
    try:
        same(
            pl.DataFrame(
                rankframe.spark.evaluate(spark.read.parquet(f"{folder}/small"), *TEN).toArrow()
            ),
            small,
        )
        loaded, start = most(), time.perf_counter()
        sdf, buckets = spark.read.parquet(f"{folder}/table"), math.ceil(len(df) / ROWS_PER_BUCKET)
        found = pl.DataFrame(rankframe.spark.evaluate(sdf, *TEN, buckets=buckets).toArrow())
        seconds = time.perf_counter() - start
        sizes = (
            sdf.selectExpr(f"pmod(xxhash64(query_id), {buckets}L) AS bucket")
            .groupBy("bucket")
            .count()
        )
        rows = max(size["count"] for size in sizes.collect())
        same(found, df)
        return loaded, most(), rows, seconds
    finally:
        spark.stop()


def on_dask(folder: Path, small: pl.DataFrame, df: pl.DataFrame) -> tuple[int, int, int, float]:
    """The same of a worker of Dask's, whose buckets are the partitions of a shuffle."""
    import dask.dataframe as dd
    from distributed import Client, LocalCluster

    import rankframe.dask  # noqa: F401 - registers ddf.rank

    def evaluate(name: str) -> pl.DataFrame:
        return pl.from_pandas(
            dd.read_parquet(folder / name).rank.evaluate(*TEN).compute().reset_index()
        )

    settings: dict[str, Any] = {"n_workers": 2, "threads_per_worker": 1, "memory_limit": "1GB"}
    with (
        LocalCluster(**settings, dashboard_address=None, silence_logs=50) as cluster,
        Client(cluster) as client,
    ):
        workers = set(client.run(os.getpid).values())
        same(evaluate("small"), small)
        loaded, start = max(client.run(peak).values()), time.perf_counter()
        found = evaluate("table")
        seconds, most = time.perf_counter() - start, max(client.run(peak).values())
        if workers != set(client.run(os.getpid).values()):
            raise MemoryError("Dask put an end to a worker")
        ddf = dd.read_parquet(folder / "table", columns=["query_id"])
        rows = max(
            ddf.shuffle(on="query_id", npartitions=ddf.npartitions).map_partitions(len).compute()
        )
    same(found, df)
    return loaded, most, rows, seconds


def write(df: pl.DataFrame, folder: Path) -> None:
    folder.mkdir()
    for number, part in enumerate(df.iter_slices(ROWS_PER_BUCKET)):
        part.write_parquet(folder / f"{number:05}.parquet")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("engine", choices=["spark", "dask"])
    parser.add_argument("--rows", type=float, default=5e6)
    parser.add_argument(
        "--texts", action="store_true", help="ids that are texts, of 7 to 19 letters"
    )
    given = parser.parse_args()
    small, df = table(10_000, given.texts), table(int(given.rows), given.texts)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(small, folder / "small")
        write(df, folder / "table")
        engine = on_spark if given.engine == "spark" else on_dask
        loaded, most, rows, seconds = engine(folder, small, df)
    found = {
        "loaded MB": loaded / 1e6,
        "peak MB": most / 1e6,
        "rows of the largest bucket": rows,
        "seconds": seconds,
    }
    found["bytes a row"] = (most - loaded) / rows
    print(json.dumps({key: round(value) for key, value in found.items()}))


if __name__ == "__main__":
    main()
