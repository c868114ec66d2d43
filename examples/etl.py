"""From Parquet to a table of metrics: python examples/etl.py run.parquet qrels.parquet
metrics.parquet [metric ...].

One row per query and metric, so that slices and comparisons can be made later. Without arguments it
writes the package's example table into a temporary folder and evaluates that.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import polars as pl

import rankframe as rf

METRICS = ["ndcg@10", "map", "recall@50", "judged@10"]


def main(run: Path, qrels: Path, to: Path, *metrics: str) -> None:
    """Evaluate the run and write the table; a run that cannot be evaluated stops here, with the
    reason."""
    scored, judged = rf.scan_run(run), rf.scan_qrels(qrels)
    try:
        scored.rank.check(judged, fail_on="error")
    except rf.InvalidData as error:
        raise SystemExit(f"{run}: {error}") from None
    per_query = scored.rank.judge(judged).rank.evaluate(*(metrics or METRICS))
    table = per_query.unpivot(index="query_id", variable_name="metric", value_name="value")
    table.sort("query_id", "metric").sink_parquet(to)
    written = (
        pl.scan_parquet(to)
        .group_by("metric")
        .agg(pl.col("value").mean().round(4), queries=pl.len())
    )
    print(written.sort("metric").collect())


def example(folder: Path) -> list[Path]:
    """The package's example as the two files that such a step is given."""
    df = rf.load_example()
    run, qrels = folder / "run.parquet", folder / "qrels.parquet"
    df.drop_nulls("score").select("query_id", "doc_id", "score").write_parquet(run)
    df.drop_nulls("label").select("query_id", "doc_id", "label").write_parquet(qrels)
    return [run, qrels, folder / "metrics.parquet"]


if __name__ == "__main__":
    if len(sys.argv) > 3:
        main(*map(Path, sys.argv[1:4]), *sys.argv[4:])
    else:
        with tempfile.TemporaryDirectory() as folder:
            main(*example(Path(folder)))
