"""Calls of the metrics of diversity, and tables of subtopics, with a row for each subtopic or a list of them."""

from __future__ import annotations

import numpy as np
import polars as pl

import rankframe as rf
from tests.metrics.oracles.diversity import meets
from tests.metrics.oracles.query import Row
from tests.support.calls import Options, every
from tests.support.tables import Table

FORMULAS = {m.formula.__name__: m for m in rf.METRICS.values() if m.over == "subtopics"}
alphas: list[Options] = [{}, {"alpha": 0}, {"alpha": 0.3}, {"alpha": 1}]
betas: list[Options] = [{}, {"beta": 0.9}]
top: list[Options] = [{"k": 1}, {"k": 3}, {"k": 20}]
CALLS: dict[str, list[Options]] = {
    "alpha_dcg": every(top, alphas),
    "alpha_ndcg": every([{}, *top], alphas),
    "err_ia": every(top, alphas),
    "nerr_ia": every([{}, *top], alphas),
    "nrbp": every(alphas, betas),
    "nnrbp": every(alphas, betas),
    "precision_ia": [{}, *top],
    "average_precision_ia": [{}],
    "subtopic_recall": [{}, *top],
    "nugget_recall": every([{}, *top], [{}, {"partial": 0}]),
    "d_ndcg": every([{}, *top], [{}, {"gain": "exponential"}, {"gain": "binary"}]),
    "d_sharp_ndcg": [{}, {"k": 3}, {"recall": 0.25, "k": 3}, {"recall": 1, "gain": "binary"}],
}
GRADED = ("nugget_recall", "d_ndcg", "d_sharp_ndcg")
"""Metrics that read labels, which lists of subtopics lack."""
ALL = [(name, options) for name, calls in CALLS.items() for options in calls]


def spell(name: str, options: Options) -> str:
    inside = ",".join(f"{key}={value}" for key, value in options.items() if key != "k")
    return FORMULAS[name].name + (f"({inside})" if inside else "") + (f"@{options['k']}" if "k" in options else "")


TEXTS = [spell(*call) for call in ALL]


def diverse_table(seed: int, *, queries: int = 40, subtopics: int = 5, ties: bool = True) -> Table:
    """Queries whose rows are (doc, score, {subtopic: label}), some unjudged, not retrieved, or of one subtopic."""
    rng = np.random.default_rng(seed)
    table: dict[str, list[Row]] = {}
    for query in range(queries):
        size = int(rng.choice([1, 2, 5, 12, 40]))
        count = int(rng.integers(1, subtopics + 1))
        share = rng.choice([0, 0.1, 0.4, 0.9])
        scores = rng.integers(0, 4 if ties else 10**9, size)
        docs = [f"d{i}" for i in rng.permutation(100)[:size]]
        table[f"q{query}"] = [
            (
                doc,
                None if rng.random() < 0.2 else float(score),
                {
                    f"s{s}": int(rng.integers(1, 3)) * (rng.random() < share)
                    for s in range(count)
                    if rng.random() < (0 if rng.random() < 0.2 else 0.8)
                },
            )
            for doc, score in zip(docs, scores, strict=True)
        ]
    return table


def hostile_table(seed: int) -> Table:
    """A random table with labels below 0: -1 as a label, -2 for a row whose label is null."""
    table = diverse_table(seed)
    return {
        query: [
            (doc, score, {s: x or (int(s[1:]) + i) % 3 - 2 for s, x in labels.items()})
            for i, (doc, score, labels) in enumerate(rows)
        ]
        for query, rows in table.items()
    }


def best_label(row: Row) -> float | None:
    return max(row[2].values(), default=None)


def rows_of(table: Table) -> pl.DataFrame:
    """A row for each judged subtopic of a document; one without subtopic for a document that nobody judged."""
    rows = [
        (query, doc, score, subtopic, label)
        for query, documents in table.items()
        for doc, score, labels in documents
        for subtopic, label in (labels or {None: None}).items()
    ]
    schema = {"query_id": pl.String, "doc_id": pl.String, "score": pl.Float64, "subtopic": pl.String, "label": pl.Int64}
    return pl.DataFrame(rows, schema=schema, orient="row").with_columns(pl.col("label").replace(-2, None))


def lists_of(table: Table, relevant: float = 1) -> pl.DataFrame:
    """A row for each document, with the list of the subtopics that it is relevant to, or null."""
    rows = [
        (query, row[0], row[1], meets(row, relevant) if row[2] else None, best_label(row))
        for query, documents in table.items()
        for row in documents
    ]
    types = {"doc_id": pl.String, "score": pl.Float64, "subtopic": pl.List(pl.String), "label": pl.Int64}
    return pl.DataFrame(rows, schema={"query_id": pl.String, **types}, orient="row")
