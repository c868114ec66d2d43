"""``rankframe compare`` and ``rankframe gate``: decisions between runs, on the same queries."""

from __future__ import annotations

import argparse
from typing import Any, get_args

from .._decisions.gate import Style
from .._decisions.paired_values import Lacking
from .._files.read import spelled
from .._support.tests_and_intervals import Correction, Method, Test
from .._text.user_text import visible
from ..errors import InvalidOption
from .command import Answer, Command, Parser
from .evaluate import asked
from .options import add_files, add_format, add_metrics, ranker
from .output import formatted
from .reading import Judged, judged

__all__ = ["COMPARE", "GATE", "add_budgets", "add_draws", "budgets_of"]

OF_COMPARE = (
    "rankframe compare bm25.run dense.run --qrels qrels.txt -m ndcg@10 --baseline bm25",
    "rankframe compare table.parquet --runs bm25,ltr -m ndcg@10 -m map",
    "rankframe compare runs.csv --run system --baseline bm25 --test tukey --by market",
)
OF_GATE = (
    "rankframe gate old.run new.run --qrels qrels.txt --baseline old --budget ndcg@10=0.01",
    "rankframe gate table.parquet --runs bm25,ltr --baseline bm25 --budget ndcg@10=0.01 --budget rr=0.02",
    "rankframe gate table.parquet --runs bm25,ltr --baseline bm25 --budget map=0.01 --by market --format github",
)


def options_of_compare(sub: Parser) -> None:
    """What is compared, and how it is tested."""
    add_files(sub)
    add_metrics(sub)
    sub.add_argument(
        "--baseline", type=spelled, metavar="RUN", help="compare the others with this run; default: every two"
    )
    sub.add_argument("--test", choices=get_args(Test), default="permutation", help="default: permutation")
    sub.add_argument("--correction", choices=[*get_args(Correction), "none"], default="holm", help="default: holm")
    _add_design(sub, "bca")
    add_format(sub)


def options_of_gate(sub: Parser) -> None:
    """What is compared, and how much worse it may be."""
    add_files(sub)
    sub.add_argument(
        "--baseline", type=spelled, metavar="RUN", required=True, help="the run that the others may replace"
    )
    add_budgets(sub, required=True)
    sub.add_argument("--confidence", type=float, default=0.95, help="of the one-sided bound; default: 0.95")
    _add_design(sub, "bounded")
    sub.add_argument("--format", choices=get_args(Style), default="text", help="github: annotations of a workflow run")


def add_budgets(sub: Parser, *, required: bool) -> None:
    """How much worse a run may be."""
    sub.add_argument(
        "--budget",
        dest="budgets",
        action="append",
        required=required,
        metavar="METRIC=NUMBER",
        help="how much worse the mean may be; may be repeated",
    )


def _add_design(sub: Parser, method: Method) -> None:
    sub.add_argument("--by", metavar="COLUMN", help="every slice of the queries apart")
    sub.add_argument(
        "--missing",
        choices=get_args(Lacking),
        default="error",
        help="queries that one run lacks and another has: error (default), drop or zero",
    )
    sub.add_argument("--method", choices=get_args(Method), default=method, help=f"of the intervals; default: {method}")
    add_draws(sub)


def add_draws(sub: Parser) -> None:
    """The draws of intervals and tests."""
    sub.add_argument("--resamples", type=int, default=10_000, metavar="NUMBER", help="of random draws; default: 10000")
    sub.add_argument("--seed", type=int, default=0, metavar="NUMBER", help="where random draws start; default: 0")


def compare(arguments: argparse.Namespace) -> Answer:
    """A row per metric, slice and pair of runs."""
    correction = None if arguments.correction == "none" else arguments.correction
    found, design = _judged(arguments)
    compared = ranker(found.table, arguments).compare(
        *asked(arguments), test=arguments.test, correction=correction, **design
    )
    return Answer(formatted(compared.table, arguments.format))


def gate(arguments: argparse.Namespace) -> Answer:
    """A line per metric, slice and run; the exit code is 1 unless all of them pass: too few queries to tell is no pass."""
    budgets = budgets_of(arguments)
    found, design = _judged(arguments)
    verdict = ranker(found.table, arguments).gate(budgets, confidence=arguments.confidence, **design)
    return Answer("\n".join(map(visible, verdict.lines(arguments.format))), 0 if verdict else 1)


def _judged(arguments: argparse.Namespace) -> tuple[Judged, dict[str, Any]]:
    """The files, and what both commands say of the runs."""
    found = judged(arguments)
    if found.runs is found.run is None:
        raise InvalidOption(
            "there is one run. Give a file for each and --qrels, or say which runs one table holds: --runs COLUMN,COLUMN "
            "or --run COLUMN"
        )
    said = {name: getattr(arguments, name) for name in ("baseline", "by", "missing", "method", "resamples", "seed")}
    return found, {**said, "runs": found.runs, "run": found.run}


def budgets_of(arguments: argparse.Namespace) -> dict[str, float]:
    """The budgets by their metric."""
    budgets: dict[str, float] = {}
    for metric, budget in map(_budget, arguments.budgets or ()):
        if metric in budgets:
            raise InvalidOption(f"--budget {metric} is given twice; give each metric one budget")
        budgets[metric] = budget
    return budgets


def _budget(text: str) -> tuple[str, float]:
    """A metric and its budget; the metric's own options may have an = too."""
    metric, _, number = text.rpartition("=")
    try:
        return metric, float(number)
    except ValueError:
        raise InvalidOption(f"--budget {text}: {number!r} is no number; write --budget ndcg@10=0.01") from None


COMPARE = Command(
    "compare",
    "[options] RUN [RUN ...]",
    "paired tests between runs, on the same queries",
    OF_COMPARE,
    options_of_compare,
    compare,
)
GATE = Command(
    "gate",
    "[options] --baseline RUN --budget METRIC=NUMBER RUN [RUN ...]",
    "exit with 1 unless no run is worse than the baseline by its budgets",
    OF_GATE,
    options_of_gate,
    gate,
)
