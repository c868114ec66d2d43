"""Metrics of a large table of recommendations: `python benchmarks/items.py`.

1,000,000 rows (10,000 users x 100 items of 50,000): ten metrics of each user, in bare sorts of the
table; ten of the whole table, without intervals and with 1,000 resamples; and the personalization
of 1,000,000 users.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import polars as pl
from timing import interleaved

import rankframe as rf

TEN = (
    *(
        "coverage",
        "aggregate_diversity",
        "user_coverage",
        "gini",
        "gini(normalized=True)",
        "exposure_gini",
        "entropy",
    ),
    *("hhi", "simpson", "personalization"),
)

ROLES: dict[str, Any] = {
    "category": "genre",
    "group": "provider",
    "features": [f"f{i}" for i in range(8)],
}
OF_POPULARITY = (
    "mean_popularity",
    "popularity_percentile",
    "novelty",
    "surprisal",
    "tail_share",
    "efd",
    "epc",
)
OF_USERS = {
    "popularity": (*OF_POPULARITY, "unseen", "serendipity", "calibration"),
    "items": (
        *(
            "mean_popularity",
            "novelty",
            "unseen",
            "tail_share",
            "serendipity",
            "ild",
            "category_diversity",
        ),
        *("category_entropy", "group_exposure(group='0')", "ndkl"),
    ),
    "past": (
        *(
            "mean_popularity",
            "novelty",
            "unseen",
            "tail_share",
            "epc",
            "ild",
            "category_diversity",
            "category_entropy",
        ),
        *("calibration", "serendipity(against=features)"),
    ),
}
"""Ten metrics of each user: those that read past interactions first of all, and those that read
properties of items."""


def lists(users: int, length: int, items: int) -> pl.DataFrame:
    """A list per user of different items, the popular ones more often."""
    rng = np.random.default_rng(0)
    shown = (rng.beta(0.5, 3, (users, 2 * length)) * items).astype(np.int64)
    frame = pl.DataFrame(
        {"query_id": np.repeat(np.arange(users), 2 * length), "doc_id": shown.ravel()}
    )
    frame = frame.unique(maintain_order=True).filter(
        pl.int_range(pl.len()).over("query_id") < length
    )
    return frame.with_columns(pl.Series("score", rng.random(frame.height)))


def ranker_of_users(
    users: int, length: int, items: int
) -> tuple[pl.DataFrame, rf.PolarsRanker[pl.DataFrame]]:
    """Shuffled lists with labels, and their ranker with half as many past interactions and a
    catalog of properties."""
    rng = np.random.default_rng(1)
    shown = lists(users, length, items)
    frame = shown.with_columns(label=pl.Series(rng.random(shown.height) < 0.1)).sample(
        fraction=1, shuffle=True, seed=1
    )
    kinds = {
        name: pl.Series(rng.integers(0, n, items)).cast(pl.String)
        for name, n in (("genre", 20), ("provider", 8))
    }
    catalog = pl.DataFrame(
        {
            "doc_id": np.arange(items),
            **kinds,
            **{name: rng.random(items) for name in ROLES["features"]},
        }
    )
    past = lists(users, length // 2, items).select("query_id", "doc_id")
    return frame, frame.rank.on(interactions=past, items=catalog, **ROLES)


def timed(name: str, work: Callable[[], object]) -> None:
    """Print how long the work takes, on the clock and of all processors."""
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    print(
        f"{name:<52}{time.perf_counter() - wall:7.2f} s{time.process_time() - cpu:9.2f} s of "
        "processors",
        flush=True,
    )


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
    rows, ranker = ranker_of_users(given.users, given.length, items)
    calls = {"sort": lambda: rows.sort("query_id", "score")}
    for name, ten in OF_USERS.items():
        calls[name] = partial(ranker.evaluate, *(f"{text}@10" for text in ten))
    seconds = interleaved(5, calls)
    for name in OF_USERS:
        print(
            f"{f'ten metrics @10 of each user, of {name}':<52}{seconds[name].median / seconds['sort'].median:7.2f} bare sorts"
        )
    timed("exposure(k=10)", lambda: frame.rank.items.exposure(k=10))
    timed("ten metrics", lambda: frame.rank.items.catalog(*TEN, items=items, ci=None))
    timed(
        "ten metrics @10 with intervals",
        lambda: frame.rank.items.catalog(*at_10, items=items, resamples=resamples),
    )
    timed(
        "ten metrics with intervals",
        lambda: frame.rank.items.catalog(*TEN, items=items, resamples=resamples),
    )
    many = lists(100 * given.users, 10, items)
    timed(
        f"personalization of {100 * given.users:,} users, {many.height:,} rows",
        lambda: many.rank.items.catalog("personalization", ci=None),
    )


if __name__ == "__main__":
    main()
