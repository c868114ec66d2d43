"""Ten metrics, ties broken by document and input validated, against one bare sort of the same table.

Prints, for each shape of the table, the medians of interleaved rounds and their ratio: figures of one run on one
machine, so only the ratio means something elsewhere.

    python benchmarks/ten_metrics.py [--rows 1000000] [--rounds 9]
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import numpy as np
import polars as pl

import rankframe as rf

TEN = (
    "ndcg@10",
    "ndcg(gain=exponential)@10",
    "map",
    "rr",
    "precision@10",
    "recall@100",
    "hit_rate@10",
    "r_precision",
    "rbp(p=0.95)",
    "err(max_label=4)",
)


def table(rows: int, per_query: int = 100, relevant: float = 0.4, seed: int = 0) -> pl.DataFrame:
    """A shuffled table of `rows` rows with integer ids, scores with ties and labels from 0 to 4."""
    rng = np.random.default_rng(seed)
    queries = rows // per_query
    doc = (rng.integers(0, 5_000, queries)[:, None] + np.arange(per_query) * 7) % 100_000
    frame = pl.DataFrame(
        {
            "query_id": np.repeat(np.arange(queries), per_query),
            "doc_id": doc.ravel(),
            "score": rng.normal(size=queries * per_query).round(3),
            "label": np.where(rng.random(queries * per_query) < relevant, rng.integers(1, 5, queries * per_query), 0),
        }
    )
    return frame[rng.permutation(frame.height)]


def as_text(frame: pl.DataFrame) -> pl.DataFrame:
    """The same table with text ids."""
    return frame.with_columns(
        pl.format("query-{}", "query_id").alias("query_id"), pl.format("d{}", "doc_id").alias("doc_id")
    )


def interleaved(rounds: int, **calls: Callable[[], object]) -> dict[str, float]:
    """The median seconds of each call, all of them run once per round."""
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            seconds[name].append(time.perf_counter() - start)
    return {name: statistics.median(values) for name, values in seconds.items()}


def main() -> None:
    """Print one line per shape."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    integers = table(options.rows)
    shapes = {
        "integer ids": integers,
        "text ids": as_text(integers),
        "integer ids, grouped": integers.sort("query_id"),
        "integer ids, 0.1% relevant": table(options.rows, relevant=0.001),
    }
    print(f"{options.rows:,} rows, {options.rounds} rounds, Polars {pl.__version__}, {pl.thread_pool_size()} threads")
    print(f"{'table':28}{'sort':>9}{'eager':>9}{'ratio':>7}{'lazy':>9}{'ratio':>7}")
    for name, frame in shapes.items():
        rf.rank(frame).evaluate(*TEN)
        t = interleaved(
            options.rounds,
            sort=lambda frame=frame: frame.sort("query_id", "score"),
            eager=lambda frame=frame: frame.rank.evaluate(*TEN),
            lazy=lambda frame=frame: frame.lazy().rank.evaluate(*TEN).collect(engine="streaming"),
        )
        sort, eager, lazy = (t[n] * 1e3 for n in ("sort", "eager", "lazy"))
        print(f"{name:28}{sort:6.0f} ms{eager:6.0f} ms{eager / sort:7.2f}{lazy:6.0f} ms{lazy / sort:7.2f}")


if __name__ == "__main__":
    main()
