"""Ranking metrics written by hand over data frames and in SQL, and those of polars_ds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
from shapes import Table
from tool import ERR, EXPONENTIAL, LINEAR, RBP


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
    norms = pd.DataFrame({LINEAR: best["label"] * ideal, EXPONENTIAL: best_gain * ideal}).groupby(best["query"]).sum()
    values = parts.groupby(df["query"]).sum()
    values[[LINEAR, EXPONENTIAL]] /= norms
    values = values.reindex(range(len(queries)), fill_value=0.0)
    return values.set_index(pd.Index(queries, name="query_id"))


SQL = """
WITH ranked AS (
    SELECT query_id, label, row_number() OVER (PARTITION BY query_id ORDER BY score DESC, doc_id DESC) AS r FROM judged
), relevant AS (
    SELECT *, 2.0 ** label - 1 AS gain,
        row_number() OVER in_order AS hits,
        row_number() OVER (PARTITION BY query_id ORDER BY label DESC) AS best,
        count(*) OVER (PARTITION BY query_id) AS total,
        coalesce(exp(sum(ln(1 - (2.0 ** label - 1) / 16)) OVER
            (PARTITION BY query_id ORDER BY r ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)), 1) AS goes_on
    FROM ranked WHERE label > 0 WINDOW in_order AS (PARTITION BY query_id ORDER BY r)
), found AS (
    SELECT query_id,
        sum(label / log2(r + 1)) FILTER (r <= 10) / sum(label / log2(best + 1)) FILTER (best <= 10) AS "ndcg@10",
        sum(gain / log2(r + 1)) FILTER (r <= 10) / sum(gain / log2(best + 1)) FILTER (best <= 10) AS exponential,
        sum(hits / r) / any_value(total) AS map,
        1 / min(r) AS rr,
        count(*) FILTER (r <= 10) / 10 AS "precision@10",
        count(*) FILTER (r <= 100) / any_value(total) AS "recall@100",
        (min(r) <= 10)::INT AS "hit_rate@10",
        count(*) FILTER (r <= total) / any_value(total) AS r_precision,
        sum(0.05 * pow(0.95::DOUBLE, r - 1)) AS rbp,
        sum(gain / 16 * goes_on / r) AS err
    FROM relevant GROUP BY query_id
)
SELECT query_id, coalesce(COLUMNS(* EXCLUDE query_id), 0)::DOUBLE
FROM (SELECT DISTINCT query_id FROM judged) LEFT JOIN found USING (query_id)
"""
NAMES = {"exponential": EXPONENTIAL, "rbp": RBP, "err": ERR}


def sql_of_frame(frame: pl.DataFrame) -> pl.DataFrame:
    import duckdb

    with duckdb.connect() as connection:
        connection.register("judged", frame.to_arrow())
        return connection.sql(SQL).pl()


def sql_prepare(table: Table) -> Any:
    import duckdb

    connection = duckdb.connect()
    arrow = table.frame.to_arrow()
    connection.register("arrow", arrow)
    connection.execute("CREATE TABLE judged AS FROM arrow")
    return connection


def sql_values(table: Table, ready: Any, given: pl.DataFrame) -> pl.DataFrame:
    return given.rename(NAMES)
