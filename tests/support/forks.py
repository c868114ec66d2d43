"""Run by a test in a process of its own: what happens to calls in processes that it forks, one word for each."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor  # noqa: F401 - the error names it
from multiprocessing.pool import Pool

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

import rankframe as rf

COLUMNS = {"query_id": [1, 1, 2, 2], "doc_id": [1, 2, 1, 2], "score": [2.0, 1.0, 1.0, 2.0], "label": [1, 0, 1, 0]}
DF, PDF = pl.DataFrame(COLUMNS), pd.DataFrame(COLUMNS)
BOUND, KERNEL = DF.rank.on(relevant=1), rf.arrow_kernel("map")
SECONDS = 20


def polars(_: int = 0) -> float:
    return float(DF.rank.mean("map")["map"][0])


def pandas(_: int = 0) -> float:
    return float(PDF.rank.mean("map")["map"].iloc[0])


def calls() -> dict[str, Callable[[], object]]:
    lazy, batches = DF.lazy().rank.evaluate("map"), DF.lazy().rank.on(memory_limit=1).evaluate("map")
    metrics, accumulator = rf.lightgbm_metric("map"), rf.Accumulator("map")
    accumulator.update([1.0], [1], query=[1])
    run, qrels, table = DF.drop("label"), DF.drop("score"), pa.table(COLUMNS)
    arrays = (np.array([1, 0]), np.array([2.0, 1.0]), None, np.array([2]))
    metrics(*arrays)
    return {
        "evaluate": lambda: DF.rank.evaluate("map"),
        "metric": lambda: DF.rank.ndcg(k=2),
        "bound before": lambda: BOUND.evaluate("map"),
        "pandas": pandas,
        "pandas, metric": lambda: PDF.rank.ndcg(k=2),
        "lazy": lambda: DF.lazy().rank.evaluate("map").collect(),
        "lazy, planned before": lazy.collect,
        "streaming, planned before": lambda: lazy.collect(engine="streaming"),
        "spilled, planned before": batches.collect,
        "judge": lambda: run.rank.judge(qrels),
        "fuse": lambda: rf.fuse([DF, DF]),
        "compare tables": lambda: DF.rank.compare("map", runs={"one": DF, "other": DF}),
        "plot": lambda: DF.rank.plot.curve("ndcg"),
        "kernel": lambda: KERNEL(table),
        "trainer": lambda: metrics(*arrays),
        "accumulator": lambda: accumulator.update([1.0], [1], query=[1]),
        "accumulated": accumulator.compute,
        "example": rf.load_example,
        "dictionaries": lambda: rf.from_dicts(run={"q": {"a": 1.0}}, qrels={"q": {"a": 1}}),
        "arrays": lambda: rf.from_arrays(scores=[[1.0, 2.0]], labels=[[1, 0]]),
    }


def in_fork(call: Callable[[], object]) -> str:
    """``works``, ``refused``, ``hangs``, or another error, of a call in a forked process."""
    read, write = os.pipe()
    if child := os.fork():
        os.close(write)
        with os.fdopen(read) as said:
            answer = said.read()
        _, status = os.waitpid(child, 0)
        return "hangs" if os.WIFSIGNALED(status) else answer
    signal.alarm(SECONDS)
    try:
        call()
        answer = "works"
    except rf.RankframeError as error:
        answer = "refused" if 'multiprocessing.get_context("spawn")' in str(error) else repr(error)
    except BaseException as error:
        answer = repr(error)
    os.write(write, answer.encode())
    os._exit(0)


def forked_again() -> str:
    """A call in a process that was forked, evaluated, and forked again."""
    polars()
    if in_fork(polars) != "refused":
        raise AssertionError
    return "works"


def used_in_child() -> None:
    """A call in a process that was forked and used Polars, which therefore has its threads."""
    DF.sort("score")
    polars()


def in_pool(pool: Pool, call: Callable[[int], float]) -> str:
    """The values of a call in a pool of processes, or its error."""
    try:
        return str(pool.map(call, [0]))
    except rf.RankframeError as error:
        return f"{type(error).__name__} {error}"


def main(what: str) -> None:
    if what == "before":
        rf.parse("map")
        rf.expr.ndcg(k=10)
        works = {"polars": polars, "pandas": pandas, "again": forked_again, "used in the child": used_in_child}
        for name, call in works.items():
            print(name, in_fork(call), sep=": ")
        DF.sort("score")
        print("used by others", in_fork(polars), sep=": ")
    elif what == "after":
        for name, call in calls().items():
            print(name, in_fork(call), sep=": ")
    else:
        print(polars(), pandas())
        with multiprocessing.get_context("fork").Pool(1) as pool:
            refused = [in_pool(pool, call) for call in (polars, pandas)]
        print(*refused, sep="\n")
        lines = refused[0].partition(" write ")[2].partition(": ")[0]
        for line in lines.split(", or "):
            with eval(line) as workers:
                print(line, *([*workers.map(call, [0])] for call in (polars, pandas)))


if __name__ == "__main__":
    main(sys.argv[1])
