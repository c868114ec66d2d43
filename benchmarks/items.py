"""Catalog metrics of a large table of recommendations: `python benchmarks/items.py`.

1,000,000 rows (10,000 users x 100 items of 50,000), ten metrics, without intervals and with 1,000 resamples; and the
personalization of 1,000,000 users.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence

import numpy as np
import polars as pl

import rankframe as rf  # noqa: F401 - registers .rank

TEN = (
    *("coverage", "aggregate_diversity", "user_coverage", "gini", "gini(normalized=True)", "exposure_gini", "entropy"),
    *("hhi", "simpson", "personalization"),
)


def lists(users: int, length: int, items: int) -> pl.DataFrame:
    """A list per user of different items, the popular ones more often."""
    rng = np.random.default_rng(0)
    shown = (rng.beta(0.5, 3, (users, 2 * length)) * items).astype(np.int64)
    frame = pl.DataFrame({"query_id": np.repeat(np.arange(users), 2 * length), "doc_id": shown.ravel()})
    frame = frame.unique(maintain_order=True).filter(pl.int_range(pl.len()).over("query_id") < length)
    return frame.with_columns(pl.Series("score", rng.random(frame.height)))


def timed(name: str, work: Callable[[], object]) -> None:
    """Print how long the work takes, on the clock and of all processors."""
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    print(f"{name:<52}{time.perf_counter() - wall:7.2f} s{time.process_time() - cpu:9.2f} s of processors", flush=True)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--users", type=int, default=10_000)
    parser.add_argument("--length", type=int, default=100)
    parser.add_argument("--items", type=int, default=50_000)
    parser.add_argument("--resamples", type=int, default=1_000)
    given = parser.parse_args(arguments)
    frame = lists(given.users, given.length, given.items)
    items, resamples = given.items, given.resamples
    at_10 = [f"{name}@10" for name in TEN]
    print(f"{frame.height:,} rows, {given.users:,} users, {items:,} items, {resamples:,} resamples")
    timed("exposure(k=10)", lambda: frame.rank.exposure(k=10))
    timed("ten metrics", lambda: frame.rank.catalog(*TEN, items=items, ci=None))
    timed("ten metrics @10 with intervals", lambda: frame.rank.catalog(*at_10, items=items, resamples=resamples))
    timed("ten metrics with intervals", lambda: frame.rank.catalog(*TEN, items=items, resamples=resamples))
    many = lists(100 * given.users, 10, items)
    timed(
        f"personalization of {100 * given.users:,} users, {many.height:,} rows",
        lambda: many.rank.catalog("personalization", ci=None),
    )


if __name__ == "__main__":
    main()
