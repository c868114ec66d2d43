"""Tables that hurt: a seeded generator, hypothesis strategies, and the ways into Polars.

A table is a dict {query: rows} with rows as the oracles take them, (doc, score, label).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import strategies as st

from tests.metrics.oracles.agreement import Pair
from tests.metrics.oracles.background import ITEMS
from tests.metrics.oracles.query import Row

Table = dict[Any, list[Row]]

DOCS = ITEMS
INTEGER_LABELS = [None, -2, -1, 0, 0, 0, 1, 1, 2, 3, 4]
FRACTIONAL_LABELS = [*INTEGER_LABELS, 0.5, 0.25, 1.5, 2.75]
SCORES = [None, -1.0, 0.0, -0.0, 1.0, 1.0, 2.0, 3.0]

BY_CHANCE = pytest.mark.filterwarnings(
    "ignore:nobody judged a document:rankframe.RankframeWarning",
    "ignore:no document of any query is relevant:rankframe.RankframeWarning",
    "ignore:all values of column .score. are equal:rankframe.RankframeWarning",
    "ignore:.* of documents are tied with one of another label:rankframe.RankframeWarning",
    "ignore:.* of values of column .score. are .*. null means not retrieved:rankframe.RankframeWarning",
    "ignore:.* queries have no judgments:rankframe.RankframeWarning",
    "ignore:.* takes? .*, the largest label of this table:rankframe.RankframeWarning",
    "ignore:.* takes the largest label of the table:rankframe.RankframeWarning",
)
"""Random tables may have many ties, queries that nobody judged or no judgment at all, and any top grade."""

ANY_TOP_GRADE = pytest.mark.filterwarnings(
    "ignore:.* takes? .*, the largest label of this table:rankframe.RankframeWarning"
)
"""Metrics are asked for without options, also those whose top grade is by default the largest label of the table."""


def random_table(
    seed: int,
    *,
    queries: int = 60,
    labels: Sequence[float | None] = INTEGER_LABELS,
    ties: bool = True,
    docs: Sequence[Any] = DOCS,
    sizes: Sequence[int] = (1, 2, 3, 5, 8, 20),
) -> Table:
    """Queries of all sizes, each hostile in its own way; scores are small integers, exact as float32."""
    rng = np.random.default_rng(seed)
    table: Table = {}
    for query in range(queries):
        size = int(min(len(docs), rng.choice(sizes)))
        chosen = [docs[i] for i in rng.permutation(len(docs))[:size]]
        levels = int(rng.choice([1, 2, 4, 50]))
        scores = [float(s) for s in (rng.integers(-levels, levels, size) if ties else rng.permutation(size) - 3)]
        allowed = list(labels) if rng.random() < 0.7 else [labels[i] for i in rng.integers(len(labels), size=2)]
        retrieved = rng.random(size) < rng.choice([0, 0.5, 0.8, 1, 1])
        table[f"q{query}"] = [
            (doc, score if here else None, allowed[int(rng.integers(len(allowed)))])
            for doc, score, here in zip(chosen, scores, retrieved, strict=True)
        ]
    return table


def random_pairs(seed: int, *, queries: int = 60, ties: bool = True) -> dict[str, list[Pair]]:
    """A random table with a second score beside the first."""
    first, second = (random_table(seed, queries=queries, ties=ties) for _ in range(2))
    rng = np.random.default_rng(seed + 1)
    pairs = {}
    for query, rows in first.items():
        others = [rows_[1] for rows_ in second[query]]
        others = [others[i] for i in rng.permutation(len(others))]
        pairs[query] = [(doc, score, other, label) for (doc, score, label), other in zip(rows, others, strict=True)]
    return pairs


def frame(
    table: Mapping[Any, Sequence[tuple[Any, ...]]],
    *,
    columns: Sequence[str] = ("doc_id", "score", "label"),
    seed: int | None = 0,
) -> pl.DataFrame:
    """The table as one frame, with the rows of all queries shuffled (`seed=None`: in table order)."""
    rows = [(query, *row) for query, rows in table.items() for row in rows]
    if seed is not None:
        rows = [rows[i] for i in np.random.default_rng(seed).permutation(len(rows))]
    docs = pl.Series("doc_id", [row[1] for row in rows])
    dtypes = {"query_id": pl.String, "doc_id": docs.dtype if rows else pl.String}
    names = ("query_id", *columns)
    schema = {name: dtypes.get(name, pl.Float64) for name in names}
    return pl.DataFrame({name: [row[i] for row in rows] for i, name in enumerate(names)}, schema=schema)


def max_label(table: Mapping[Any, Iterable[Row]]) -> float:
    return max([0.0] + [row[2] for rows in table.values() for row in rows if row[2] is not None])


def tables(labels: Sequence[float | None] = INTEGER_LABELS, *, min_queries: int = 0) -> st.SearchStrategy[Table]:
    row = st.tuples(st.sampled_from(DOCS), st.sampled_from(SCORES), st.sampled_from(labels))
    rows = st.lists(row, min_size=1, max_size=8, unique_by=lambda row: row[0])
    queries = st.sampled_from(["q", "Q", "é", "1", "", *map("q{}".format, range(15))])
    return st.dictionaries(queries, rows, min_size=min_queries, max_size=12)
