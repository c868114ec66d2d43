"""``rankframe report``: one HTML file that says how good runs are."""

from __future__ import annotations

import argparse
from typing import Any

from .._rankers.polars import PolarsRanker
from .._support.progress import Busy
from .command import Answer, Command, Parser
from .evaluate import asked
from .options import add_files, add_metrics, columns_read, ranker
from .parameters import add_parameters, values_of
from .reading import judged
from .target import writable

__all__ = ["COMMAND"]

EXAMPLES = (
    "rankframe report bm25.run --qrels qrels.txt -o report.html",
    "rankframe report bm25.run dense.run --qrels qrels.txt -m ndcg@10 -m map --baseline bm25 -o report.html",
    "rankframe report table.parquet --runs bm25,ltr --by market --show title -o report.html",
)


def options(sub: Parser) -> None:
    """What the report tells of."""
    add_files(sub)
    sub.add_argument("-o", "--output", metavar="FILE", required=True, help="where to write it: .html")
    add_metrics(sub)
    add_parameters(sub, PolarsRanker.report)


def report(arguments: argparse.Namespace) -> Answer:
    """Write the report; nothing is printed."""
    target = writable(arguments.output, "-o", (".html", ".htm"))
    metrics, options = asked(arguments), values_of(arguments, PolarsRanker.report)

    def write(ranker: Any, **runs: Any) -> Any:
        return ranker.report(target, *metrics, **runs, **options)

    found = judged(arguments, columns_read(arguments, write, runs=arguments.runs, run=arguments.run))
    with Busy("writing the report"):
        write(ranker(found.table, arguments), runs=found.runs, run=found.run)
    return Answer(None)


COMMAND = Command(
    "report",
    "[options] -o FILE RUN [RUN ...]",
    "write one HTML file that says how good runs are",
    EXAMPLES,
    options,
    report,
)
