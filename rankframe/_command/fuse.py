"""``rankframe fuse`` and ``rankframe tune``: fuse several runs into one, and tune the weights."""

from __future__ import annotations

import argparse
from io import BytesIO

import polars as pl

import rankframe as rf

from .._catalog.fusions import FUSIONS
from .._lift.polars import PolarsRanker
from .command import Command, Outcome, Parser, values_of
from .output import FORMATS, OutputTable
from .reading import answered

TREC = {".run": "trec", ".trec": "trec", ".txt": "trec", ".gz": "trec"}
"""The endings of files that hold a run."""


def options_of_fuse(sub: Parser) -> None:
    """The method."""
    text = f"one of {', '.join(FUSIONS)}, with its options, as 'rrf(k=10)'; default: rrf"
    sub.add_argument("--method", default="rrf", metavar="METHOD", help=text)


def options_of_tune(sub: Parser) -> None:
    """The methods to tune, and the metric."""
    text = "the method whose open weights and options are tuned; may be repeated, to choose one of several"
    sub.add_argument("--method", action="append", required=True, metavar="METHOD", help=text)
    sub.add_argument("-m", "--metric", default="ndcg@10", metavar="METRIC", help="the metric; default: ndcg@10")


def fuse(arguments: argparse.Namespace) -> Outcome:
    """A row per document of a query, with its fused score."""
    method, options = arguments.method, values_of(arguments)
    fused = answered(arguments, lambda ranker, **runs: ranker.fuse(method, **runs, **options), "fusing", labels=False)
    if arguments.format != "trec":
        order = pl.col("row").min().over("query_id"), "score", "doc_id"
        best_first = fused.with_row_index("row").sort(*order, descending=[False, True, True], nulls_last=True)
        return Outcome(OutputTable(best_first.drop("row")))
    text = BytesIO()
    rf.write_run(fused, arguments.target or text, run="fused")
    return Outcome(None if arguments.target else text.getvalue().decode())


def tune(arguments: argparse.Namespace) -> Outcome:
    """The tuned method, and its gain on queries that were not used to choose it."""
    options = values_of(arguments)
    methods = arguments.method[0] if len(arguments.method) == 1 else arguments.method
    tuned = answered(arguments, lambda ranker, **runs: ranker.tune(methods, **runs, **options), "tuning")
    if arguments.format == "table":
        return Outcome(repr(tuned))
    return Outcome(OutputTable(tuned.table, [f"chosen: {tuned.text}"]))


FUSE = Command(
    fuse,
    "merge several runs into one, with a fused score per document",
    (
        "rankframe fuse bm25.run dense.run --method rrf -o fused.run",
        "rankframe fuse bm25.run dense.run --method 'wsum(weights=[0.7,0.3])' --normalize min_max --depth 100 -o fused.run",
        "rankframe fuse table.parquet --runs bm25,ltr --method comb_mnz --normalize min_max -o fused.parquet",
        "rankframe fuse bm25.run dense.run --qrels qrels.txt --format csv > fused.csv",
    ),
    options_of_fuse,
    files="+",
    verb=PolarsRanker.fuse,
    formats={"formats": (*FORMATS, "trec"), "endings": TREC},
)
TUNE = Command(
    tune,
    "choose the weights of a fusion by cross-validation over the queries",
    (
        "rankframe tune bm25.run dense.run --qrels qrels.txt --method wsum --normalize min_max -m ndcg@10 --folds 2",
        "rankframe tune table.parquet --runs bm25,ltr --method rrf --method comb_mnz --normalize min_max --folds 2 --format csv",
    ),
    options_of_tune,
    files="+",
    verb=PolarsRanker.tune,
)
