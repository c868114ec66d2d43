"""``rankframe report``: one HTML file on the quality of runs."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import polars as pl

from .._pictures.report_page import ENDINGS
from .._rankers.polars import PolarsRanker
from .._support.progress import Busy
from .command import Answer, Command, Parser
from .decide import add_budgets, gate_of
from .evaluate import metrics_of
from .options import add_files, add_metrics, columns_read, ranker
from .parameters import add_parameters, values_of
from .reading import judged
from .target import writable

EXAMPLES = (
    "rankframe report bm25.run --qrels qrels.txt -o report.html",
    "rankframe report bm25.run dense.run --qrels qrels.txt -m ndcg@10 -m map --baseline bm25 --budget map=0.01 -o report.html",
    "rankframe report table.parquet --runs bm25,ltr --by market --show title -o report.html",
)


def options(sub: Parser) -> None:
    """The files and the contents of the report."""
    add_files(sub)
    sub.add_argument("-o", "--output", metavar="FILE", required=True, help="where to write it: .html")
    add_metrics(sub)
    add_parameters(sub, PolarsRanker.report)
    add_budgets(sub, required=False)


def report(arguments: argparse.Namespace) -> Answer:
    """Write the report; nothing is printed."""
    target = writable(arguments.output, "-o", ENDINGS)
    metrics, options = metrics_of(arguments), values_of(arguments, PolarsRanker.report)

    def write(ranker: PolarsRanker[pl.DataFrame], **runs: Any) -> Path:
        return ranker.report(target, *metrics, **runs, **options)

    of_files = "run" if len(arguments.files) > 1 else None
    several: dict[str, Any] = {"runs": arguments.runs, "run": arguments.run or of_files}
    reads = columns_read(arguments, write, **several)
    of_gate: dict[str, Any] = {name: options[name] for name in ("baseline", "resamples", "seed") if name in options}
    verdict = gate_of(arguments, of_gate) if arguments.budgets else None
    if verdict is not None:
        reads |= columns_read(arguments, verdict, **several)
    found = judged(arguments, reads)
    several = {"runs": found.runs, "run": found.run}
    with Busy("writing the report"):
        table = ranker(found.table, arguments)
        write(table, **several, gate=None if verdict is None else verdict(table, **several))
    return Answer(None)


COMMAND = Command(
    "report",
    "[options] -o FILE RUN [RUN ...]",
    "write one HTML file that says how good runs are",
    EXAMPLES,
    options,
    report,
)
