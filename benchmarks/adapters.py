"""The adapters of other shapes on a table of a million rows, in multiples of one sort of the long
table.

Prints, for each shape, the median of interleaved rounds and how many sorts (by query and score)
take as long. Columnar shapes are to take at most three sorts; dictionaries, whose values are
Python's, are printed without a limit.

    python benchmarks/adapters.py [--rows 1000000] [--rounds 5]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import polars as pl
from shapes import Shape
from timing import interleaved

import rankframe as rf

MOST = 3
"""The most sorts that a columnar shape may take."""

PER_QUERY = 100


def shapes_of(frame: pl.DataFrame) -> Mapping[str, Callable[[], Any]]:
    """The call of each adapter, on the shape that it takes, of the same rows."""
    lists = frame.group_by("query_id", maintain_order=True).agg(
        retrieved="doc_id",
        relevant=pl.col("doc_id").filter(pl.col("label") > 0),
        scores="score",
        labels="label",
    )
    judged = lists.with_columns(relevant="retrieved")
    structs = lists.select(
        "query_id",
        retrieved=frame.group_by("query_id", maintain_order=True).agg(
            pl.struct(id="doc_id", score="score")
        )["id"],
        relevant="relevant",
    )
    shape = (-1, PER_QUERY)
    scores, labels = (
        frame[name].to_numpy().astype(float).reshape(shape) for name in ("score", "label")
    )
    query, sizes = frame["query_id"].to_numpy(), np.full(len(scores), PER_QUERY)
    calls: dict[str, Callable[[], Any]] = {
        "lists": lambda: rf.from_lists(lists.drop("scores", "labels")),
        "lists with scores and labels": lambda: rf.from_lists(
            judged, scores="scores", labels="labels"
        ),
        "lists of structs": lambda: rf.from_lists(structs),
        "lists, lazy": lambda: rf.from_lists(lists.lazy().drop("scores", "labels")).collect(),
        "matrices": lambda: rf.from_arrays(scores=scores, labels=labels),
        "flat arrays with groups": lambda: rf.from_arrays(
            scores=scores.ravel(), labels=labels.ravel(), group=sizes
        ),
        "flat arrays with queries": lambda: rf.from_arrays(
            scores=scores.ravel(), labels=labels.ravel(), query=query
        ),
        "run and judgments": lambda: run.rank.judge(qrels),
    }
    run, qrels = frame.drop("label"), frame.drop("score")
    try:
        from scipy.sparse import csr_array
    except ImportError:
        return calls
    sparse = {"scores": csr_array(scores), "labels": csr_array(labels)}
    return {**calls, "sparse matrices": lambda: rf.from_arrays(**sparse)}


def dictionaries_of(frame: pl.DataFrame) -> Callable[[], Any]:
    """The call on dictionaries of the same rows."""
    run, qrels = (
        {
            query: dict(zip(docs, values, strict=True))
            for query, docs, values in frame.group_by("query_id").agg("doc_id", name).iter_rows()
        }
        for name in ("score", "label")
    )
    return lambda: rf.from_dicts(run=run, qrels=qrels)


def main() -> None:
    """Print one line per shape and kind of ids."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    print(f"{options.rows:,} rows, {options.rounds} rounds, Polars {pl.__version__}")
    beyond = []
    for ids, text in (("integers", False), ("texts", True)):
        frame = Shape(options.rows // PER_QUERY, PER_QUERY, text=text, order="ranked").table().frame
        shuffled = frame.sample(fraction=1, shuffle=True, seed=0)
        calls: dict[str, Callable[[], Any]] = {
            "one sort": lambda shuffled=shuffled: shuffled.sort("query_id", "score"),  # type: ignore[misc]
            **shapes_of(frame),
            "dictionaries": dictionaries_of(frame),
        }
        found = {
            name: seconds.median for name, seconds in interleaved(options.rounds, calls).items()
        }
        print(f"\n{'ids are ' + ids:32}{'time':>10}{'sorts':>8}")
        for name, seconds in found.items():
            sorts = seconds / found["one sort"]
            within = name == "dictionaries" or sorts <= MOST
            beyond += [] if within else [f"{name} ({ids})"]
            print(
                f"{name:32}{seconds * 1e3:7.0f} "
                f"ms{sorts:8.1f}{'' if within else '  above the limit'}"
            )
    if beyond:
        raise SystemExit(f"above {MOST} sorts: {', '.join(beyond)}")


if __name__ == "__main__":
    main()
