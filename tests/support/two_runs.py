"""A table of two runs, whose scores have hardly a tie."""

from __future__ import annotations

import numpy as np
import polars as pl


def two_runs(n: int = 60) -> pl.DataFrame:
    """Ten documents for each query, with the scores of two runs and the market of the query."""
    scores = np.random.default_rng(4).normal(size=(2, n * 10)).round(3)
    queries = [f"q{i // 10}" for i in range(n * 10)]
    labels, markets = [i * 7 % 11 % 3 for i in range(n * 10)], ["de" if i // 10 % 3 else "fr" for i in range(n * 10)]
    columns = {"query_id": queries, "doc_id": [f"d{i % 10}" for i in range(n * 10)], "label": labels, "market": markets}
    return pl.DataFrame({**columns, "old": scores[0], "new": scores[1]})
