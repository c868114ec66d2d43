"""A table with three runs as columns, the same as rows, and the values of a run."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl


def table(queries: int = 40, seed: int = 1) -> pl.DataFrame:
    """Ten documents a query, three score columns, one of them null throughout for a query."""
    rng = np.random.default_rng(seed)
    n = 10 * queries
    label = rng.integers(0, 3, n)
    df = pl.DataFrame(
        {
            "query_id": np.repeat([f"q{i}" for i in range(queries)], 10),
            "doc_id": np.tile([f"d{i}" for i in range(10)], queries),
            "label": label,
            "day": np.repeat(rng.choice(["mo", "tu"], queries), 10),
            "asked": np.repeat(rng.integers(1, 9, queries), 10),
            "old": label + rng.normal(0, 2.0, n),
            "new": label + rng.normal(0, 1.5, n),
            "odd": rng.normal(0, 1.0, n),
        }
    )
    return df.with_columns(odd=pl.when(pl.col("query_id") != "q3").then("odd"))


DF = table()
RUNS = ["old", "new", "odd"]
LONG = pl.concat(
    [DF.select("query_id", "doc_id", "label", "day", "asked", score=run, system=pl.lit(run)) for run in RUNS]
)


def values(run: str, metric: str, df: pl.DataFrame = DF) -> Any:
    return df.rank.on(score=run).evaluate(metric)[metric].to_numpy()
