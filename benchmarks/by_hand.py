"""Ranking metrics that are written by hand, in Polars and in DuckDB's SQL, as tools to compare
with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import polars as pl
from by_frame import by_group, by_windows, sql_of_parquet
from shapes import Table
from ten import LINEAR, NDCG_BY_AGGREGATES, NDCG_BY_WINDOWS, TEN, TEN_BY_WINDOWS
from tool import Tool

UNCHECKED = "checks nothing: scores that are NaN or null, repeated documents"


def as_given(table: Table, ready: Any, given: Any) -> pl.DataFrame:
    """A result that is a frame already."""
    return given if isinstance(given, pl.DataFrame) else pl.from_pandas(given.reset_index())


def in_polars(name: str, way: Callable[[Any], Any]) -> list[Tool]:
    """nDCG@10 by a plan of Polars, of the frame and lazily from Parquet; ties are broken as they
    come."""
    eager = Tool(
        name, (LINEAR,), way, as_given, frame=lambda table: table.frame, ties=False, note=UNCHECKED
    )
    lazy = replace(
        eager,
        name=f"{name}, lazy",
        evaluate=lambda path: way(pl.scan_parquet(path)).collect(),
        frame=lambda table: table.parquet,
    )
    return [eager, lazy]


BY_HAND = (*in_polars("Polars group_by", by_group), *in_polars("Polars windows", by_windows))
"""By turns of the frame and from Parquet."""


def in_duckdb(name: str, metrics: tuple[str, ...], sql: str) -> Tool:
    """A query of DuckDB's, from Parquet."""
    return Tool(
        name,
        metrics,
        lambda path: sql_of_parquet(path, sql),
        as_given,
        frame=lambda table: table.parquet,
        needs=("duckdb",),
        note=UNCHECKED,
    )


DUCKDB = (
    in_duckdb("DuckDB SQL, windows", (LINEAR,), NDCG_BY_WINDOWS),
    in_duckdb("DuckDB SQL, aggregates", (LINEAR,), NDCG_BY_AGGREGATES),
    in_duckdb("DuckDB SQL, ten metrics", TEN, TEN_BY_WINDOWS),
)
"""From a Parquet file, for large tables."""
