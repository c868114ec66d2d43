"""Builds rankframe/data/digits.parquet, the judged table that rankframe.load_example() returns.

Run ``python scripts/build_example.py [PATH]`` with scikit-learn installed;
rankframe/data/PROVENANCE.md describes the table.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics.pairwise import cosine_similarity, euclidean_distances
from sklearn.model_selection import train_test_split

PATH = Path(__file__).parents[1] / "rankframe" / "data" / "digits.parquet"
SEED = 0
TRAINING, QUERIES = 600, 120  # images; the rest of the 1,797 are the documents
RETRIEVED, JUDGED = 50, 30  # documents per query and scorer: returned, and shown to the judge


def nearest_digit(pixels: Any, digits: Any) -> Any:
    """For each digit the one that looks most like it: whose average image is nearest to its own."""
    averages = np.stack([pixels[digits == digit].mean(axis=0) for digit in range(10)])
    distances = euclidean_distances(averages)
    np.fill_diagonal(distances, np.inf)
    return distances.argmin(axis=1)


def top(scores: Any, n: int) -> Any:
    """Whether each document is among the first n of its row, equal scores in the order of the
    columns."""
    return np.argsort(np.argsort(-scores, axis=1, kind="stable"), axis=1, kind="stable") < n


def build() -> pl.DataFrame:
    """The table, query by query and document by document."""
    pixels, digits = load_digits(return_X_y=True)
    split = {"stratify": digits, "random_state": SEED}
    training, rest = train_test_split(np.arange(len(digits)), train_size=TRAINING, **split)
    queries, documents = train_test_split(
        rest, train_size=QUERIES, **split | {"stratify": digits[rest]}
    )
    queries, documents = np.sort(queries), np.sort(documents)
    asked, seen = digits[queries][:, None], digits[documents][None, :]

    pca = PCA(6, svd_solver="full").fit(pixels[training])
    forest = RandomForestClassifier(50, random_state=SEED).fit(pixels[training], digits[training])
    taken_for = forest.predict(pixels[queries])
    scores = {
        "score": cosine_similarity(pixels[queries], pixels[documents]).round(6),
        "score_pca": -euclidean_distances(
            *map(pca.transform, (pixels[queries], pixels[documents]))
        ).round(4),
        "score_forest": forest.predict_proba(pixels[documents])[:, taken_for].T.round(6),
    }
    judged = np.any([top(values, JUDGED) for values in scores.values()], axis=0)
    near_miss = nearest_digit(pixels[training], digits[training])[asked] == seen
    for values in scores.values():
        values[~top(values, RETRIEVED)] = np.nan

    q, d = np.nonzero(np.any([~np.isnan(values) for values in scores.values()], axis=0))
    image = np.array([f"image{i:04}" for i in range(len(digits))])
    table = pl.DataFrame(
        {
            "query_id": image[queries[q]],
            "doc_id": image[documents[d]],
            "digit": asked[q, 0].astype(np.int8),
            "doc_digit": seen[0, d].astype(np.int8),
            **{name: values[q, d] for name, values in scores.items()},
            "label": (2 * (asked == seen) + near_miss)[q, d],
        }
    )
    seen_by_judge = pl.lit(pl.Series(judged[q, d]))
    return table.with_columns(
        pl.col(*scores).fill_nan(None), pl.when(seen_by_judge).then(pl.col("doc_digit", "label"))
    )


if __name__ == "__main__":
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else PATH
    build().write_parquet(path, compression="zstd", compression_level=19)
    print(f"{path}: {path.stat().st_size:,} bytes")
