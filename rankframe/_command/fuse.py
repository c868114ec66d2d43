"""``rankframe fuse``: several runs brought to one, written as a run or as a table."""

from __future__ import annotations

import argparse
from io import BytesIO

import rankframe as rf

from .._catalog.fusions import FUSIONS
from .._rankers.polars import PolarsRanker
from .._support.progress import Busy
from .command import Answer, Command, Parser
from .options import FORMATS, add_files, add_format, columns_read, ranker
from .output import Table
from .parameters import add_parameters, values_of
from .reading import runs_of

__all__ = ["COMMAND"]

EXAMPLES = (
    "rankframe fuse bm25.run dense.run --method rrf -o fused.run",
    "rankframe fuse bm25.run dense.run --method 'wsum(weights=[0.7,0.3])' --normalize min_max --depth 100 -o fused.run",
    "rankframe fuse table.parquet --runs bm25,ltr --method comb_mnz --normalize min_max -o fused.parquet",
    "rankframe fuse bm25.run dense.run --qrels qrels.txt --format csv > fused.csv",
)
TREC = {".run": "trec", ".trec": "trec", ".gz": "trec"}
"""The endings of files that hold a run."""


def options(sub: Parser) -> None:
    """What is fused, and how it is written."""
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


def numbers(text: str) -> list[float]:
    """Numbers that are joined by commas."""
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
        return Answer(Table(fused))
    if arguments.target is not None:
        rf.write_run(fused, arguments.target, run="fused")
        return Answer(None)
    text = BytesIO()
    rf.write_run(fused, text, run="fused")
    return Answer(text.getvalue().decode())


COMMAND = Command(
    "fuse",
    "[options] RUN [RUN ...]",
    "bring several runs to one, with a fused score per document",
    EXAMPLES,
    options,
    fuse,
)
