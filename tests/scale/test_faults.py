"""Workers that die in the middle, bad rows, a query with a fifth of all rows: the same table in the end, or our error.

A metric of the tests' own kills the process in which it is first asked for, if a file says so.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rankframe as rf
import rankframe.dask  # which registers the accessor
from tests.scale.conftest import java_home
from tests.support.tables import BY_CHANCE, frame, random_table

pytestmark = [BY_CHANCE, pytest.mark.scale]

PACKAGE = Path(rf.__file__).parents[1]
PAGE = PACKAGE / "docs" / "scale.md"
DF = frame(random_table(8, queries=200))


def deadly(order: Path, victim: Callable[[], int]) -> Callable[..., pl.Expr]:
    """Average precision by another name, whose formula kills a process where the file is, and takes the file away."""

    @rf.metric()
    def deadly_precision(r: rf.Ranking) -> pl.Expr:
        import contextlib
        import os

        with contextlib.suppress(FileNotFoundError):
            order.rename(f"{order}.done")
            os.kill(victim(), signal.SIGKILL)
        return r.total(r.relevant * r.hits, over=r.rank) / r.n_relevant

    return deadly_precision


def wanted() -> pl.DataFrame:
    return DF.rank.evaluate("map", "err").rename({"map": "deadly_precision"})


def assert_same(found: pl.DataFrame, wanted: pl.DataFrame) -> None:
    assert_frame_equal(found, wanted, check_row_order=False, check_dtypes=False, rel_tol=1e-12, abs_tol=1e-12)


# -------------------------------------------------------------------------------------------------- Dask


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, memory_limit="1GB", dashboard_address=None, silence_logs=50
        ) as started,
        Client(started),
    ):
        yield started


@pytest.mark.filterwarnings("ignore::ResourceWarning")  # sockets of a worker that was killed
def test_a_dask_worker_that_is_killed_changes_nothing(cluster: Any, tmp_path: Path) -> None:
    import dask.dataframe as dd

    order = tmp_path / "kill"
    metric = deadly(order, os.getpid)
    try:
        planned = dd.from_pandas(DF.to_pandas(), npartitions=6).rank.evaluate(metric, "err")
        order.touch()
        found = planned.compute()
    finally:
        rf.unregister(metric)
    assert Path(f"{order}.done").exists()
    assert_same(pl.from_pandas(found.reset_index()), wanted())


def test_dask_fails_fast_on_a_bad_table(cluster: Any) -> None:
    import dask.dataframe as dd

    ddf = dd.from_pandas(DF.to_pandas(), npartitions=8)
    with pytest.raises(rf.InvalidData, match="holds NaN or an infinite label"):
        ddf.assign(label=float("inf")).rank.evaluate("map").compute()


# -------------------------------------------------------------------------------------------------- Spark

SPARK = """
import sys
from pathlib import Path
from tests.scale.conftest import session
from tests.scale.test_faults import *
import rankframe.spark

def executor():  # the parent of the daemon that is the parent of this process
    parent = os.getppid()
    return int(Path(f"/proc/{parent}/stat").read_text().rsplit(")", 1)[1].split()[1])

def to_spark(df):
    return spark.createDataFrame(df.to_arrow(compat_level=pl.CompatLevel.oldest())).repartition(4)

def survive(victim):
    order = folder / "kill"
    planned = rankframe.spark.evaluate(to_spark(DF), deadly(order, victim), "err", buckets=6)
    order.touch()
    found = pl.DataFrame(planned.toArrow())
    assert Path(f"{order}.done").exists()
    assert_same(found, wanted())
    print("after a kill: the same table")

master, folder = sys.argv[1], Path(sys.argv[2])
paths = os.pathsep.join(sys.path)
spark = session(folder / "java", **{"spark.master": master, "spark.executorEnv.PYTHONPATH": paths})
if master.startswith("local-cluster"):
    survive(executor)
else:
    survive(os.getpid)
    try:
        rankframe.spark.evaluate(to_spark(DF.with_columns(score=float("nan"))), "map").collect()
    except Exception as error:
        print("bad:", type(error).__name__, error)
"""


def on_spark(master: str, folder: Path) -> list[str]:
    """What a session of its own prints."""
    (folder / "java").mkdir()
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(PACKAGE), str(Path(__file__).parents[2])])}
    command = [sys.executable, "-c", SPARK, master, str(folder)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout.splitlines()


@pytest.mark.nightly
def test_a_spark_executor_that_is_killed_changes_nothing(tmp_path: Path) -> None:
    assert on_spark("local-cluster[2,1,1024]", tmp_path) == ["after a kill: the same table"]


def test_spark_survives_a_killed_python_worker_and_fails_fast_on_a_bad_table(tmp_path: Path) -> None:
    killed, bad = on_spark("local[2,4]", tmp_path)
    assert killed == "after a kill: the same table"
    assert bad.startswith("bad: SparkRuntimeException [USER_RAISED_EXCEPTION] column 'score' holds NaN")
    assert len(bad) < 1000


# -------------------------------------------------------------------------------------------------- skew


@pytest.mark.parametrize("engine", ["spark", "dask"])
def test_a_query_with_a_fifth_of_all_rows_takes_the_memory_that_the_page_says(engine: str, tmp_path: Path) -> None:
    """The script compares the values with those of a Polars frame; Spark's JVM and Dask's workers have 1 GB."""
    script = PACKAGE / "benchmarks" / "skewed.py"
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE)}
    if "JAVA_HOME" not in environment and shutil.which("java") is None:
        environment["JAVA_HOME"] = java_home(tmp_path)
    command = [sys.executable, str(script), engine, "--rows", "1e6"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-4000:]
    found = json.loads(done.stdout.splitlines()[-1])
    said = re.search(rf"\| {engine.title()} \| (\d+) MB \| (\d+) bytes \|", PAGE.read_text())
    assert said is not None
    loaded, of_a_row = map(int, said.groups())
    rows = found["rows of the largest bucket"]
    assert rows > 1_000_000 / 5
    assert found["peak MB"] * 1e6 < loaded * 1e6 + rows * of_a_row
