"""The commands that decide between runs: ``rankframe compare`` and ``rankframe gate``, on a table of scores and labels."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any, get_args

import polars as pl

from ._compare import Correction, Test
from ._gate import Format
from .errors import InvalidOption

__all__ = ["add_commands"]

COMPARE = """\
examples:
  rankframe compare table.parquet --runs bm25,ltr -m ndcg@10 -m map
  rankframe compare runs.csv --run system --baseline bm25 --test tukey --by market
"""

GATE = """\
examples:
  rankframe gate table.parquet --runs base,new --baseline base --budget ndcg@10=0.01
  rankframe gate table.parquet --runs base,new --baseline base --budget ndcg@10=0.01 --by market --format github
"""


def add_commands(
    commands: Any,
    shared: Callable[[argparse.ArgumentParser], None],
    ranker: Callable[[argparse.Namespace], Any],
    formatted: Callable[[pl.DataFrame, str], str],
) -> None:
    """Add both; `shared` adds the options that other commands have too, `ranker` reads the table by them."""
    sub = _command(commands, shared, "compare", "paired tests between runs, on the same queries", COMPARE)
    sub.set_defaults(command=lambda arguments: (_compare(arguments, ranker(arguments), formatted), 0))
    sub.add_argument("-m", "--metric", dest="metrics", action="append", metavar="METRIC", help="may be repeated")
    sub.add_argument("--baseline", metavar="RUN", help="compare the others with this run; default: every two")
    sub.add_argument("--test", choices=get_args(Test), default="permutation", help="default: permutation")
    sub.add_argument("--correction", choices=[*get_args(Correction), "none"], default="holm", help="default: holm")
    sub.add_argument("--format", choices=["table", "csv", "json", "markdown"], default="table", help="of the output")

    sub = _command(commands, shared, "gate", "exit with 1 if a run is worse than the baseline by its budgets", GATE)
    sub.set_defaults(command=lambda arguments: _gate(arguments, ranker(arguments)))
    sub.add_argument("--baseline", metavar="RUN", required=True, help="the run that the others may replace")
    sub.add_argument(
        "--budget",
        dest="budgets",
        action="append",
        required=True,
        metavar="METRIC=NUMBER",
        help="how much worse the mean may be; may be repeated",
    )
    sub.add_argument("--confidence", type=float, default=0.95, help="of the one-sided bound; default: 0.95")
    sub.add_argument("--format", choices=get_args(Format), default="text", help="github: annotations of a workflow run")


def _command(
    commands: Any, shared: Callable[[argparse.ArgumentParser], None], name: str, help: str, examples: str
) -> argparse.ArgumentParser:
    sub: argparse.ArgumentParser = commands.add_parser(
        name, help=help, epilog=examples, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    sub.add_argument("table", metavar="TABLE", help=".parquet, .csv, .tsv or .ndjson, with labels; - is standard input")
    runs = sub.add_mutually_exclusive_group(required=True)
    runs.add_argument("--runs", metavar="COLUMN,COLUMN", help="the columns of the runs' scores")
    runs.add_argument("--run", metavar="COLUMN", help="the column that names the run of each row")
    sub.add_argument("--by", metavar="COLUMN", help="every slice of the queries apart")
    sub.add_argument("--missing", metavar="RULE", help="queries that a run lacks: error (default), drop or zero")
    sub.add_argument("--method", metavar="RULE", default="bca", help="of the intervals: bca (default), percentile or t")
    sub.add_argument("--seed", type=int, default=0, metavar="NUMBER", help="where random draws start; default: 0")
    shared(sub)
    return sub


def _runs(arguments: argparse.Namespace) -> dict[str, Any]:
    """What both commands say of the runs."""
    return {
        "runs": None if arguments.runs is None else arguments.runs.split(","),
        "run": arguments.run,
        "baseline": arguments.baseline,
        "by": arguments.by,
        "missing": arguments.missing or "error",
        "method": arguments.method,
        "seed": arguments.seed,
    }


def _compare(arguments: argparse.Namespace, ranker: Any, formatted: Callable[[pl.DataFrame, str], str]) -> str:
    metrics = arguments.metrics or ["ndcg@10", "map", "rr"]
    correction = None if arguments.correction == "none" else arguments.correction
    found = ranker.compare(*metrics, test=arguments.test, correction=correction, **_runs(arguments))
    return formatted(found.table, arguments.format)


def _gate(arguments: argparse.Namespace, ranker: Any) -> tuple[str, int]:
    budgets = dict(_budget(text) for text in arguments.budgets)
    verdict = ranker.gate(budgets, confidence=arguments.confidence, **_runs(arguments))
    return "\n".join(verdict.lines(arguments.format)), 0 if verdict else 1


def _budget(text: str) -> tuple[str, float]:
    """A metric and its budget; the metric's own options may have an = too."""
    metric, _, number = text.rpartition("=")
    try:
        return metric, float(number)
    except ValueError:
        raise InvalidOption(f"--budget {text}: {number!r} is no number; write --budget ndcg@10=0.01") from None
