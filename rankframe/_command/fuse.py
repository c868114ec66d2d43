"""``rankframe fuse`` and ``rankframe tune``: fuse several runs into one, and tune the weights."""

from __future__ import annotations

import argparse
from io import BytesIO

import polars as pl

import rankframe as rf

from .._catalog.fusions import FUSIONS
from .._rankers.polars import PolarsRanker
from .._support.progress import Busy
from .command import Answer, Command, Parser
from .options import add_files, add_format, columns_read, ranker
from .output import FORMATS, Table
from .parameters import add_parameters, values_of
from .reading import judged, runs_of

OF_FUSE = (
    "rankframe fuse bm25.run dense.run --method rrf -o fused.run",
    "rankframe fuse bm25.run dense.run --method 'wsum(weights=[0.7,0.3])' --normalize min_max --depth 100 -o fused.run",
    "rankframe fuse table.parquet --runs bm25,ltr --method comb_mnz --normalize min_max -o fused.parquet",
    "rankframe fuse bm25.run dense.run --qrels qrels.txt --format csv > fused.csv",
)
OF_TUNE = (
    "rankframe tune bm25.run dense.run --qrels qrels.txt --method wsum --normalize min_max -m ndcg@10 --folds 2",
    "rankframe tune table.parquet --runs bm25,ltr --method rrf --method comb_mnz --normalize min_max --folds 2 --format csv",
)
TREC = {".run": "trec", ".trec": "trec", ".txt": "trec", ".gz": "trec"}
"""The endings of files that hold a run."""


def options_of_fuse(sub: Parser) -> None:
    """The runs to fuse, the method, and the output."""
    add_files(sub)
    sub.add_argument(
        "--method",
        default="rrf",
        metavar="METHOD",
        help=f"one of {', '.join(FUSIONS)}, with its options, as 'rrf(k=10)'; default: rrf",
    )
    add_parameters(sub, PolarsRanker.fuse, without=("depth", "weights"))
    sub.add_argument(
        "--weights", type=numbers, metavar="NUMBER,NUMBER", help="a weight for each run, in the order of the runs"
    )
    add_format(sub, (*FORMATS, "trec"), endings=TREC)


def options_of_tune(sub: Parser) -> None:
    """The runs, the methods to tune, and the metric."""
    add_files(sub)
    sub.add_argument(
        "--method",
        action="append",
        required=True,
        metavar="METHOD",
        help="the method whose open weights and options are tuned; may be repeated, to choose one of several",
    )
    sub.add_argument("-m", "--metric", default="ndcg@10", metavar="METRIC", help="the metric; default: ndcg@10")
    add_parameters(sub, PolarsRanker.tune, without=("metric", "options"))
    sub.set_defaults(options=None)
    add_format(sub)


def numbers(text: str) -> list[float]:
    """Numbers separated by commas."""
    try:
        return [float(number) for number in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no list of numbers; write 0.7,0.3") from None


def fuse(arguments: argparse.Namespace) -> Answer:
    """A row per document of a query, with its fused score."""
    settings = values_of(arguments, PolarsRanker.fuse)
    named = {"runs": arguments.runs} if arguments.runs else {"run": arguments.run or "run"}
    found = runs_of(arguments, columns_read(arguments, lambda ranker: ranker.fuse(arguments.method, **named)))
    with Busy("fusing"):
        fused = ranker(found.table, arguments).fuse(arguments.method, runs=found.runs, run=found.run, **settings)
    if arguments.format != "trec":
        order = pl.col("row").min().over("query_id"), "score", "doc_id"
        best_first = fused.with_row_index("row").sort(*order, descending=[False, True, True], nulls_last=True)
        return Answer(Table(best_first.drop("row")))
    if arguments.target is not None:
        rf.write_run(fused, arguments.target, run="fused")
        return Answer(None)
    text = BytesIO()
    rf.write_run(fused, text, run="fused")
    return Answer(text.getvalue().decode())


def tune(arguments: argparse.Namespace) -> Answer:
    """The tuned method, and its gain on queries that were not used to choose it."""
    settings = values_of(arguments, PolarsRanker.tune)
    reads = columns_read(arguments, lambda ranker: ranker.evaluate(arguments.metric))
    found = judged(arguments, {*reads, *(arguments.runs or ()), *filter(None, [arguments.run])})
    methods = arguments.method[0] if len(arguments.method) == 1 else arguments.method
    tuned = ranker(found.table, arguments).tune(methods, runs=found.runs, run=found.run, **settings)
    if arguments.format == "table":
        return Answer(repr(tuned))
    return Answer(Table(tuned.table, [f"chosen: {tuned.text}"]))


FUSE = Command(
    "fuse",
    "[options] RUN [RUN ...]",
    "merge several runs into one, with a fused score per document",
    OF_FUSE,
    options_of_fuse,
    fuse,
    other_names=("merge", "combine"),
)
TUNE = Command(
    "tune",
    "[options] RUN [RUN ...]",
    "choose the weights of a fusion by cross-validation over the queries",
    OF_TUNE,
    options_of_tune,
    tune,
)
