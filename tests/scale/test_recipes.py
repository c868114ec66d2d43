"""What docs/scale.md writes for Spark, Dask, Ray and DuckDB runs as it stands there; Ibis tables are read."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from polars.testing import assert_frame_equal

import rankframe as rf
from tests.support.tables import BY_CHANCE, frame, random_table

pytestmark = [BY_CHANCE, pytest.mark.scale, pytest.mark.filterwarnings("ignore:.* judged queries are not in the run")]

PAGE = Path(__file__).parents[2] / "docs" / "scale.md"
DF = frame(random_table(9)).with_columns(market=pl.col("query_id").str.len_chars().cast(pl.Int64))
RUNS = DF.with_columns(bm25=pl.col("score"), dense=-pl.col("score"))
RANKINGS = ["bm25", "dense"]
RUN = DF.filter(pl.col("score").is_not_null()).drop("label")
SYSTEMS = pl.concat(
    DF.with_columns(pl.col("score") * factor, system=pl.lit(name)) for name, factor in (("A", 1), ("B", -1), ("C", 0))
)
QRELS = DF.filter(pl.col("label").is_not_null()).drop("score", "market")


def recipe(heading: str, **names: Any) -> dict[str, Any]:
    """What the code under a heading of the page leaves behind."""
    section = re.split(r"^## ", PAGE.read_text(), flags=re.MULTILINE)
    (text,) = [part for part in section if part.startswith(heading + "\n")]
    (code,) = [code for code in re.findall(r"```python\n(.*?)```", text, re.DOTALL) if ">>>" not in code]
    names |= {"rf": rf, "pl": pl, "pa": pa}
    exec(compile(code, str(PAGE), "exec"), names)
    return names


def assert_same(found: pl.DataFrame, wanted: pl.DataFrame) -> None:
    found = found.with_columns(pl.selectors.float().fill_nan(None))
    assert_frame_equal(
        found.select(wanted.columns), wanted, check_row_order=False, check_dtypes=False, rel_tol=1e-12, abs_tol=1e-12
    )


@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
@pytest.mark.filterwarnings("ignore::ResourceWarning")  # sockets that PySpark leaves to the garbage collector
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_the_lines_at_the_top_of_the_page_run(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import multiprocessing

    import dask.dataframe as dd
    import duckdb

    import rankframe.dask
    import rankframe.spark

    monkeypatch.chdir(tmp_path)
    Path("judged").mkdir()
    RUNS.write_parquet("judged/a.parquet")
    judged = RUNS.to_arrow(compat_level=pl.CompatLevel.oldest())
    with duckdb.connect() as connection:
        connection.register("judged", judged)
        names = {"rf": rf, "pl": pl, "rankframe": rankframe, "duckdb": connection, "multiprocessing": multiprocessing}
        names |= {"sdf": spark.createDataFrame(judged), "ddf": dd.from_pandas(RUNS.to_pandas(), npartitions=2)}
        comment, first, *lines = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)[0].splitlines()
        assert comment.startswith("# on one machine")
        exec(first, names)
        results = [eval(line, names) for line in lines if not line.startswith("#")]
        one, of_one, of_spark, gate_of_spark, of_dask, gate_of_dask, of_duckdb, kernel, pool = results
        gates = of_one, gate_of_spark, gate_of_dask
        assert one is None
        wanted = DF.rank.evaluate("ndcg@10", "map")
        pool.terminate()
        gate = RUNS.rank.gate({"ndcg@10": 0.01}, runs=RANKINGS)
        of_lazy, of_spark_table, of_dask_frame = [found.table for found in gates]
        for table in (of_lazy.collect(), of_spark_table, pl.from_pandas(of_dask_frame)):
            assert_same(table, gate.table)
        for found in (
            pl.read_parquet("metrics.parquet"),
            pl.DataFrame(of_spark.toArrow()),
            pl.from_pandas(of_dask.compute().reset_index()),
            of_duckdb,
            pl.DataFrame(kernel(judged)),
        ):
            assert_same(found, wanted)


SHARED = ("metrics", "rows", "means", "summary", "fused", "parts")


def assert_shared(found: dict[str, pl.DataFrame]) -> None:
    """The results that the pages of Spark and Dask both show."""
    assert_same(found["metrics"], DF.rank.on(relevant=2).evaluate("ndcg@10", "map"))
    assert_same(found["rows"], DF.rank.with_metrics("rr"))
    wanted = DF.rank.summarize("ndcg@10", "map", by="market").select("market", "metric", "mean", "std", "n_queries")
    assert_same(found["summary"], wanted)
    assert {"ci_low", "ci_high"} < set(found["summary"].columns)
    assert_same(found["means"], DF.rank.mean("ndcg@10", "map", by="market"))
    assert_same(found["fused"], RUNS.rank.fuse("rrf", runs=["bm25", "dense"]))
    assert_same(found["parts"], RUNS.rank.fusion.explain("rrf", runs=["bm25", "dense"]))


@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
@pytest.mark.filterwarnings("ignore::ResourceWarning")  # sockets that PySpark leaves to the garbage collector
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_spark(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    tables = {"df": RUNS, "systems": SYSTEMS, "run": RUN.drop("market"), "qrels": QRELS}
    names = {
        name: spark.createDataFrame(df.to_arrow(compat_level=pl.CompatLevel.oldest())) for name, df in tables.items()
    }
    done = recipe("Spark", **names, catalog=DF.select("doc_id").unique())
    found = {name: pl.DataFrame(done[name].toArrow()) for name in (*SHARED, "from_two_tables")}
    assert_shared(found)
    assert_same(done["compared"].table, RUNS.rank.compare("ndcg@10", "map", runs=RANKINGS, by="market").table)
    assert_same(done["verdict"].table, RUNS.rank.gate({"ndcg@10": 0.01}, runs=RANKINGS).table)
    assert_same(done["needed"], RUNS.rank.power("ndcg@10", runs=RANKINGS, difference=0.01))
    assert_same(done["how_sure"].table, SYSTEMS.rank.collection.reliability("ndcg@10", run="system").table)
    assert_same(found["from_two_tables"], RUN.rank.judge(QRELS, run_only="drop").rank.evaluate("ndcg@10", "map"))


def test_dask() -> None:
    import dask.dataframe as dd

    names = {"ddf": RUNS, "run": RUN, "qrels": QRELS}
    done = recipe("Dask", **{name: dd.from_pandas(df.to_pandas(), npartitions=3) for name, df in names.items()})
    found = {name: pl.from_pandas(done[name].compute().reset_index()) for name in (*SHARED, "judged")}
    assert_shared(found)
    assert_same(pl.DataFrame(done["verdict"].table), RUNS.rank.gate({"ndcg@10": 0.01}, runs=RANKINGS).table)
    assert_same(found["judged"], RUN.rank.judge(QRELS, run_only="drop"))


def test_duckdb() -> None:
    import duckdb

    con = duckdb.connect()
    con.register("judged", DF.to_arrow())
    found = recipe("DuckDB", con=con)
    wanted = DF.rank.evaluate("ndcg@10", "map")
    assert_same(found["metrics"], wanted)
    assert len(found["parts"]) == 8
    assert_same(found["by_buckets"], wanted)
    con.close()


def test_ibis() -> None:
    import ibis

    assert_same(rf.rank(ibis.memtable(DF.to_arrow())).evaluate("map"), DF.rank.evaluate("map"))


@pytest.mark.filterwarnings("ignore")  # Ray's own, of many kinds
def test_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_DATA_DISABLE_PROGRESS_BARS", "1")
    import ray

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, configure_logging=False)
    try:
        ds = ray.data.from_arrow(DF.to_arrow(compat_level=pl.CompatLevel.oldest()))
        found = pl.DataFrame(pa.Table.from_pandas(recipe("Ray Data", ds=ds)["metrics"].to_pandas()))
    finally:
        ray.shutdown()
    assert_same(found, DF.rank.evaluate("ndcg@10", "map"))
