"""Fusion of 1,000,000 rows in three runs, in multiples of one sort of these rows by query and
score, and beside ranx.

Prints, for whole and for text ids, the processor time of each method over that of the sort (the
least of several rounds), for one thread of Polars and for all; and the time from a frame to a fused
frame, ranx' over ours. ranx is left out where it is not installed.

    python benchmarks/fusion.py [--queries 3333] [--docs 100] [--rounds 5]
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import polars as pl

import rankframe  # noqa: F401 - registers `.rank`

RUNS = 3
METHODS = ("rrf", "comb_sum(normalize=min_max)", "comb_mnz(normalize=zmuv)")
OF_RANX = {"rrf": {"norm": None, "method": "rrf"}, METHODS[1]: {"norm": "min-max", "method": "sum"}}


def table(queries: int, docs: int, *, text: bool) -> pl.DataFrame:
    """A row per run, query and document, run by run; each run has a random half of a query's
    documents."""
    draw = np.random.default_rng(0)
    parts = []
    for run in range(RUNS):
        found = draw.permuted(np.tile(np.arange(2 * docs), (queries, 1)), axis=1)[:, :docs]
        query, score = np.repeat(np.arange(queries), docs), draw.normal(size=queries * docs)
        parts.append(
            pl.DataFrame({"query_id": query, "doc_id": found.ravel(), "score": score}).with_columns(
                run=pl.lit(f"run{run}")
            )
        )
    rows = pl.concat(parts)
    if text:
        doc = pl.format("doc{}-{}", "doc_id", "query_id")
        rows = rows.with_columns(query_id=pl.format("q{}", "query_id"), doc_id=doc)
    return rows


def least(call: Callable[[], Any], rounds: int, clock: Callable[[], float]) -> float:
    """The least time of several rounds."""
    found = []
    for _ in range(rounds):
        start = clock()
        call()
        found.append(clock() - start)
    return min(found)


def print_sorts(queries: int, docs: int, rounds: int) -> None:
    """The processor time of each method, in sorts, with as many threads as Polars has."""
    for text in (False, True):
        rows = table(queries, docs, text=text)
        wide = rows.pivot("run", index=["query_id", "doc_id"], values="score")
        names = [f"run{i}" for i in range(RUNS)]
        sort = least(
            partial(rows.sort, "query_id", "score", descending=[False, True]),
            rounds,
            time.process_time,
        )
        for method in METHODS:
            long = least(partial(rows.rank.fuse, method, run="run"), rounds, time.process_time)
            columns = least(partial(wide.rank.fuse, method, runs=names), rounds, time.process_time)
            ids = "text" if text else "whole"
            print(
                f"  {ids:6} {method:30} {long / sort:5.2f} sorts, a column per run "
                f"{columns / sort:5.2f}"
            )


def print_beside_ranx(queries: int, docs: int) -> None:
    """The time from a frame to a fused frame, of ranx over ours; ranx takes text ids, and compiles
    in a first call."""
    from ranx import Run, fuse

    rows = table(queries, docs, text=True)
    small = rows.filter(pl.col("query_id") == "q0")

    def by_ranx(given: pl.DataFrame, options: dict[str, Any]) -> pl.DataFrame:
        names = {"q_id_col": "query_id", "doc_id_col": "doc_id", "score_col": "score"}
        parts = given.partition_by("run", include_key=False)
        frames = [part.to_pandas().astype({"query_id": object, "doc_id": object}) for part in parts]
        return pl.from_pandas(
            fuse([Run.from_df(frame, **names) for frame in frames], **options).to_dataframe()
        )

    for method, options in OF_RANX.items():
        by_ranx(small, options)
        theirs = least(partial(by_ranx, rows, options), 1, time.perf_counter)
        ours = least(partial(rows.rank.fuse, method, run="run"), 3, time.perf_counter)
        print(
            f"  {method:30} ranx {theirs:6.2f} s, rankframe {ours:6.2f} s: "
            f"{theirs / ours:5.1f} times"
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--queries", type=int, default=3333)
    parser.add_argument("--docs", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--sorts-alone", action="store_true", help="what this process can measure with its threads"
    )
    args = parser.parse_args()
    if args.sorts_alone:
        print_sorts(args.queries, args.docs, args.rounds)
        return
    print(f"{RUNS * args.queries * args.docs:,} rows in {RUNS} runs; processor time")
    for threads in ("1", None):
        print("one thread of Polars" if threads else "all threads", flush=True)
        environment = {**os.environ, **({"POLARS_MAX_THREADS": threads} if threads else {})}
        subprocess.run([sys.executable, *sys.argv, "--sorts-alone"], env=environment, check=True)
    if importlib.util.find_spec("ranx"):
        print("from a frame to a frame")
        print_beside_ranx(args.queries, args.docs)


if __name__ == "__main__":
    main()
