"""A simulated study: how much weights of a fusion seem to gain on the queries that they were tuned
on, and on others.

Four runs are equally good, so that equal weights are the best, and no tuning can gain anything.
Each repetition draws 20 judged queries, tunes the weights on them, and applies what was chosen to
200 new queries.

Run ``python examples/tuning_fusion.py [REPETITIONS]``.
"""

from __future__ import annotations

import sys

import numpy as np
import polars as pl

import rankframe as rf  # noqa: F401 - adds .rank

RUNS = ["lexical", "dense", "sparse", "graph"]
METRIC = "ndcg@10"
QUERIES, NEW_QUERIES, DOCUMENTS = 20, 200, 20


def simulated(queries: int, draw: np.random.Generator) -> pl.DataFrame:
    """Judged documents, one in five relevant, and runs whose scores are the label and noise of the
    same size in each run."""
    rows = queries * DOCUMENTS
    label = draw.random(rows) < 0.2
    return pl.DataFrame(
        {
            "query_id": np.repeat(np.arange(queries), DOCUMENTS),
            "doc_id": np.tile(np.arange(DOCUMENTS), queries),
            "label": label.astype(int),
            **{run: label + draw.normal(0, 1.5, rows) for run in RUNS},
        }
    )


def study(repetitions: int, seed: int = 0) -> pl.DataFrame:
    """The mean of each ranking less that of equal weights, over the repetitions, with its standard
    error."""
    gains = []
    for i in range(repetitions):
        draw = np.random.default_rng([seed, i])
        judged, new = simulated(QUERIES, draw), simulated(NEW_QUERIES, draw)
        tuned = judged.rank.tune(
            "wsum(normalize=zmuv)",
            metric=METRIC,
            runs=RUNS,
            step=0.2,
            search="grid",
            resamples=100,
            progress=False,
        )
        mean = dict(tuned.table.select("ranking", "mean").iter_rows())
        equal = new.rank.fuse("comb_sum(normalize=zmuv)", runs=RUNS).rank.mean(METRIC).item()
        gains.append(
            {
                "in sample": mean["tuned, in sample"] - mean["untuned"],
                "out of fold": mean["tuned, out of fold"] - mean["untuned"],
                "on new queries": tuned.fuse(new).rank.mean(METRIC).item() - equal,
            }
        )
    error = (pl.col("gain").std() / pl.len().sqrt()).alias("standard error")
    found = pl.DataFrame(gains).unpivot(variable_name="of the tuned weights", value_name="gain")
    return found.group_by("of the tuned weights", maintain_order=True).agg(
        pl.col("gain").mean(), error
    )


if __name__ == "__main__":
    with pl.Config(
        tbl_hide_dataframe_shape=True, tbl_hide_column_data_types=True, float_precision=3
    ):
        print(study(int(sys.argv[1]) if len(sys.argv) > 1 else 20))
