"""Ranking metrics written by hand over data frames and in SQL, and those of polars_ds."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pandas as pd
import polars as pl
from shapes import Table
from ten import ERR, EXPONENTIAL, LINEAR, RBP, TEN_BY_WINDOWS


def polars_ds(frame: pl.DataFrame) -> pl.DataFrame:
    import polars_ds as pds

    linear, exponential = pl.col("label").cast(pl.Float64), 2.0 ** pl.col("label") - 1
    return (
        frame.lazy()
        .group_by("query_id")
        .agg(
            pds.query_ndcg_score(gain, "score", k=10, ignore_ties=True).alias(name)
            for name, gain in ((LINEAR, linear), (EXPONENTIAL, exponential))
        )
        .collect()
    )


Rows = TypeVar("Rows", pl.DataFrame, pl.LazyFrame)


def by_group(rows: Rows) -> Rows:
    """nDCG@10 in Polars by one `group_by` of sorted labels, as people write it; it checks
    nothing."""
    label = pl.col("label")
    found, ideal = _dcg(label.sort_by("score", descending=True)), _dcg(label.sort(descending=True))
    return rows.group_by("query_id").agg((found / ideal).fill_nan(0.0).alias(LINEAR))


def _dcg(labels: pl.Expr) -> pl.Expr:
    places = pl.int_range(2, pl.len().clip(0, 10) + 2)
    return (labels.head(10) / places.log(2)).sum()


def by_windows(rows: Rows) -> Rows:
    """nDCG@10 in Polars by the ranks of scores and labels, as people write it; it checks
    nothing."""
    ranks = {
        by: pl.col(by).rank("ordinal", descending=True).over("query_id")
        for by in ("score", "label")
    }
    ranked = rows.with_columns(place=ranks["score"], best=ranks["label"])

    def gain(rank: str) -> pl.Expr:
        gains = pl.col("label") / (pl.col(rank) + 1).log(2)
        return gains.filter(pl.col(rank) <= 10).sum()

    return ranked.group_by("query_id").agg(
        (gain("place") / gain("best")).fill_nan(0.0).alias(LINEAR)
    )


def by_pandas(frame: pd.DataFrame) -> pd.DataFrame:
    codes, queries = pd.factorize(frame["query_id"])
    columns = {name: frame[name].array for name in ("doc_id", "score", "label")}
    df = pd.DataFrame({"query": codes, **columns})
    df = df.sort_values(["query", "score", "doc_id"], ascending=[True, False, False])
    df["rank"] = df.groupby("query").cumcount() + 1
    df = df[df["label"] > 0].reset_index(drop=True)  # the others add nothing from here on
    by_query = df.groupby("query")
    df["hits"] = by_query.cumcount() + 1
    df["total"] = by_query["rank"].transform("size")
    best = df.sort_values(["query", "label"], ascending=[True, False])
    best["rank"] = best.groupby("query").cumcount() + 1
    top, best = df["rank"] <= 10, best[best["rank"] <= 10]
    discount, ideal = 1 / np.log2(df["rank"] + 1), 1 / np.log2(best["rank"] + 1)
    gain, best_gain = 2.0 ** df["label"] - 1, 2.0 ** best["label"] - 1
    stops = gain / 16
    goes_on = (1 - stops).groupby(df["query"]).cumprod() / (1 - stops)
    parts = pd.DataFrame(
        {
            LINEAR: df["label"] * discount * top,
            EXPONENTIAL: gain * discount * top,
            "map": df["hits"] / df["rank"] / df["total"],
            "rr": (df["hits"] == 1) / df["rank"],
            "precision@10": top / 10,
            "recall@100": (df["rank"] <= 100) / df["total"],
            "hit_rate@10": (top & (df["hits"] == 1)).astype(float),
            "r_precision": (df["rank"] <= df["total"]) / df["total"],
            RBP: 0.05 * 0.95 ** (df["rank"] - 1),
            ERR: stops * goes_on / df["rank"],
        }
    )
    norms = (
        pd.DataFrame({LINEAR: best["label"] * ideal, EXPONENTIAL: best_gain * ideal})
        .groupby(best["query"])
        .sum()
    )
    values = parts.groupby(df["query"]).sum()
    values[[LINEAR, EXPONENTIAL]] /= norms
    values = values.reindex(range(len(queries)), fill_value=0.0)
    return values.set_index(pd.Index(queries, name="query_id"))


def sql_of_frame(frame: pl.DataFrame) -> pl.DataFrame:
    import duckdb

    with duckdb.connect() as connection:
        connection.register("judged", frame.to_arrow())
        return connection.sql(TEN_BY_WINDOWS).pl()


def sql_of_parquet(path: Path, sql: str) -> pl.DataFrame:
    """A query of `judged`, which is a Parquet file, on as many threads as Polars has."""
    import duckdb

    with duckdb.connect(config={"threads": pl.thread_pool_size()}) as connection:
        connection.read_parquet(str(path)).create_view("judged")
        return connection.sql(sql).pl()


def sql_prepare(table: Table) -> Any:
    import duckdb

    connection = duckdb.connect()
    arrow = table.frame.to_arrow()
    connection.register("arrow", arrow)
    connection.execute("CREATE TABLE judged AS FROM arrow")
    return connection
