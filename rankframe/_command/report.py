"""``rankframe report``: one HTML file that says how good runs are."""

from __future__ import annotations

import argparse

from .._files.read import spelled
from .._support.progress import Busy
from .command import Answer, Command, Parser
from .decide import add_draws
from .evaluate import asked
from .options import add_files, add_metrics, at_least, ranker
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
    sub.add_argument(
        "--baseline", type=spelled, metavar="RUN", help="compare the others with this run; default: every two"
    )
    sub.add_argument("--by", metavar="COLUMN", help="a part on the slices of the queries by this column")
    sub.add_argument(
        "--worst", type=at_least(0), default=5, metavar="NUMBER", help="of queries shown with documents; default: 5"
    )
    sub.add_argument("--show", action="append", metavar="COLUMN", help="a column to show beside these; may be repeated")
    sub.add_argument("--title", type=spelled, default="Ranking report", help="of the report")
    add_draws(sub)


def report(arguments: argparse.Namespace) -> Answer:
    """Write the report; nothing is printed."""
    target = writable(arguments.output, "-o", (".html", ".htm"))
    found, metrics = judged(arguments), asked(arguments)
    with Busy("writing the report"):
        ranker(found.table, arguments).report(
            target,
            *metrics,
            by=arguments.by,
            runs=found.runs,
            run=found.run,
            baseline=arguments.baseline,
            worst=arguments.worst,
            show=arguments.show or (),
            title=arguments.title,
            resamples=arguments.resamples,
            seed=arguments.seed,
        )
    return Answer(None)


COMMAND = Command(
    "report",
    "[options] -o FILE RUN [RUN ...]",
    "write one HTML file that says how good runs are",
    EXAMPLES,
    options,
    report,
)
