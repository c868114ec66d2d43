"""``rankframe report``: one HTML file that says how good runs are."""

from __future__ import annotations

import argparse

from .._files.read import spelled
from .._support.progress import Busy
from .command import Answer, Command, Parser
from .decide import add_budgets, add_draws, budgets_of
from .evaluate import asked
from .options import add_files, add_metrics, at_least, ranker
from .output import writable
from .reading import judged

__all__ = ["COMMAND"]

EXAMPLES = (
    "rankframe report bm25.run --qrels qrels.txt -o report.html",
    "rankframe report bm25.run dense.run --qrels qrels.txt -m ndcg@10 -m map --baseline bm25 --budget map=0.01 -o report.html",
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
    add_budgets(sub, required=False)
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
        on_table = ranker(found.table, arguments)
        budgets = budgets_of(arguments)
        runs = {"runs": found.runs, "run": found.run, "baseline": arguments.baseline}
        draws = {"resamples": arguments.resamples, "seed": arguments.seed}
        on_table.report(
            target,
            *metrics,
            by=arguments.by,
            worst=arguments.worst,
            show=arguments.show or (),
            title=arguments.title,
            gate=on_table.gate(budgets, **runs, **draws) if budgets else None,
            **runs,
            **draws,
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
