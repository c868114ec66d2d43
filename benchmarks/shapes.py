"""The tables that are measured: sizes, ids, relevance, order of the rows and ties."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd
import polars as pl

Order = Literal["shuffled", "grouped", "ranked"]


@dataclass(frozen=True)
class Table:
    """A table of queries, documents, scores and labels, in the forms that tools ask for."""

    name: str
    frame: pl.DataFrame
    ties: bool = False

    @cached_property
    def pandas(self) -> pd.DataFrame:
        """The same rows; numbers are NumPy's, texts are pandas' own."""
        frame = self.frame
        columns = {
            name: frame[name].to_list()
            if frame[name].dtype == pl.String
            else frame[name].to_numpy(writable=True)
            for name in frame.columns
        }
        return pd.DataFrame(columns)

    @cached_property
    def objects(self) -> pd.DataFrame:
        """The same rows with ids as Python texts, which is what ranx takes."""
        frame = self.frame.with_columns(pl.col("query_id", "doc_id").cast(pl.String))
        ids = {
            name: np.array(frame[name].to_list(), dtype=object) for name in ("query_id", "doc_id")
        }
        ids = {name: pd.Series(values, dtype=object) for name, values in ids.items()}
        return pd.DataFrame(
            {
                **ids,
                "score": self.frame["score"].to_numpy(),
                "label": self.frame["label"].to_numpy(),
            }
        )

    @cached_property
    def parquet(self) -> Path:
        """A Parquet file of the same rows, which goes away with the table."""
        folder = tempfile.mkdtemp(prefix="benchmark-")
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        path = Path(folder, "table.parquet")
        self.frame.write_parquet(path)
        return path

    def part(self, rows: int) -> Table:
        """About so many of the rows: whole queries, or the first rows of the one that there is."""
        queries = self.frame["query_id"].unique(maintain_order=True)
        if len(queries) == 1:
            return Table(self.name, self.frame.head(rows), self.ties)
        share = queries.head(max(1, rows * len(queries) // self.frame.height))
        return Table(
            self.name, self.frame.filter(pl.col("query_id").is_in(share.implode())), self.ties
        )


@dataclass(frozen=True)
class Shape:
    """How a table is made; `python benchmarks/suite.py --shapes NAME` asks for it by name."""

    queries: int
    per_query: int
    text: bool = False
    relevant: float = 0.4
    order: Order = "shuffled"
    levels: int | None = None

    @property
    def rows(self) -> int:
        return self.queries * self.per_query

    def smaller(self, by: int) -> Shape:
        """The same shape with so many times fewer rows, but no fewer than 1,000."""
        by = max(1, min(by, self.rows // 1_000))
        if self.queries > 1:
            return replace(self, queries=max(1, self.queries // by))
        return replace(self, per_query=self.per_query // by)

    def table(self, name: str = "", seed: int = 0) -> Table:
        """Labels from 0 to 4; scores above 0, exact as 32-bit floats, and without ties unless
        `levels` says how many."""
        rng = np.random.default_rng(seed)
        queries, n = self.queries, self.per_query
        shape = (queries, n)
        if self.levels is None:
            steps = (
                2**23 // n
            )  # a place of its own for each document of a query, and chance within the place
            places = rng.random(shape).argsort(axis=1)
            score = (places * steps + rng.integers(1, steps + 1, shape)) / 2**23
        else:
            score = rng.integers(1, self.levels + 1, shape) / 8
        doc = (rng.integers(0, 5_000, queries)[:, None] + np.arange(n) * 7) % max(100_000, 7 * n)
        label = np.where(rng.random(shape) < self.relevant, rng.integers(1, 5, shape), 0)
        frame = pl.DataFrame(
            {
                "query_id": np.repeat(np.arange(queries), n),
                "doc_id": doc.ravel(),
                "score": score.ravel(),
                "label": label.ravel(),
            }
        )
        if self.text:
            frame = frame.with_columns(
                pl.format("query-{}", "query_id").alias("query_id"),
                pl.format("d{}", "doc_id").alias("doc_id"),
            )
        if self.order == "shuffled":
            frame = frame[rng.permutation(frame.height)]
        elif self.order == "ranked":
            frame = frame.sort("query_id", "score", "doc_id", descending=[False, True, True])
        return Table(name, frame, ties=self.levels is not None)


USUAL = "10,000 x 100, text ids"
"""The shape that the chart shows."""

SHAPES: dict[str, Shape] = {
    USUAL: Shape(10_000, 100, text=True),
    "10,000 x 100, integer ids": Shape(10_000, 100),
    "10,000 x 100, text ids, 0.1% relevant": Shape(10_000, 100, text=True, relevant=0.001),
    "10,000 x 100, integer ids, 0.1% relevant": Shape(10_000, 100, relevant=0.001),
    "10,000 x 100, integer ids, grouped": Shape(10_000, 100, order="grouped"),
    "10,000 x 100, integer ids, ranked": Shape(10_000, 100, order="ranked"),
    "10,000 x 100, text ids, heavy ties": Shape(10_000, 100, text=True, levels=5),
    "7,000 x 1,000, integer ids": Shape(7_000, 1_000),
    "1,000,000 x 10, integer ids": Shape(1_000_000, 10),
    "1 x 5,000,000, integer ids": Shape(1, 5_000_000),
    "10 x 100, text ids": Shape(10, 100, text=True),
}


def chosen(words: list[str]) -> dict[str, Shape]:
    """The shapes that are named, or whose names contain one of the words; all of them where no word
    is given."""
    found = {name: shape for name, shape in SHAPES.items() if name in words}
    found = found or {
        name: shape
        for name, shape in SHAPES.items()
        if not words or any(word in name for word in words)
    }
    if not found:
        raise SystemExit(f"no shape is named like {words}; there are:\n  " + "\n  ".join(SHAPES))
    return found
