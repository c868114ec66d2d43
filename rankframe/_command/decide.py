"""``rankframe compare`` and ``rankframe gate``: decisions between runs, on the same queries."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, get_args

from .._decisions.gate import Style
from .._rankers.polars import PolarsRanker
from .._text.displays import comparison, comparison_markdown, passing, verdict_grid
from .._text.result_table import records
from .._text.sentences import power_sentences
from ..errors import InvalidOption
from ..report import latex, notebook
from .command import Answer, Command, Parser
from .evaluate import metrics_of
from .options import add_files, add_format, add_metrics, columns_read, ranker, texts_of_metrics
from .output import FORMATS, Table
from .parameters import add_parameters, help_of, values_of
from .reading import judged

T = TypeVar("T")
LINES = get_args(Style)
"""The formats that have a line for each verdict."""

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
OF_POWER = (
    "rankframe power bm25.run dense.run --qrels qrels.txt -m ndcg@10 --difference 0.01",
    "rankframe power table.parquet --runs bm25,ltr -m ndcg@10,map --difference 0.01 --difference 0.02 --by market",
)


def options_of_compare(sub: Parser) -> None:
    """The runs and metrics to compare, and the test."""
    add_files(sub)
    add_metrics(sub)
    add_parameters(sub, PolarsRanker.compare)
    add_format(sub)


def options_of_gate(sub: Parser) -> None:
    """The runs to compare, and the budgets."""
    add_files(sub)
    add_budgets(sub, required=True)
    add_parameters(sub, PolarsRanker.gate)
    add_format(
        sub,
        (*LINES, *FORMATS),
        endings={".txt": "text"},
        default="text",
        about="text has a line for each verdict, github annotations of a workflow run; ",
    )


def add_budgets(sub: Parser, *, required: bool) -> None:
    """The budgets: how much worse a run may be."""
    sub.add_argument(
        "--budget",
        dest="budgets",
        action="extend",
        type=texts_of_metrics,
        required=required,
        metavar="METRIC=NUMBER",
        help=f"{help_of(PolarsRanker.gate, 'budgets')}, one or several with commas; may be repeated",
    )


def options_of_power(sub: Parser) -> None:
    """The runs, the metrics, and the difference to detect."""
    add_files(sub)
    add_metrics(sub)
    add_parameters(sub, PolarsRanker.power)
    add_format(sub)


def compare(arguments: argparse.Namespace) -> Answer:
    """A row per metric, slice and pair of runs."""
    options = values_of(arguments, PolarsRanker.compare)
    metrics = metrics_of(arguments)
    compared = _of_runs(arguments, lambda ranker, **runs: ranker.compare(*metrics, **runs, **options))
    forms = {
        "table": lambda: comparison(compared, most=None).text(),
        "markdown": lambda: comparison_markdown(compared),
        "latex": lambda: latex(compared),
        "html": lambda: notebook(compared),
    }
    return Answer(Table(compared.table, forms=forms))


def gate(arguments: argparse.Namespace) -> Answer:
    """A line per metric, slice and run; the exit code is 1 unless all of them pass; too few queries do not pass."""
    verdict = _of_runs(arguments, gate_of(arguments, values_of(arguments, PolarsRanker.gate)))
    code = 0 if verdict else 1
    if arguments.format in LINES:
        return Answer("\n".join(verdict.lines(arguments.format)), code)
    sentences = [passing(records(verdict.table))]
    return Answer(Table(verdict.table, sentences=sentences, grid=verdict_grid(verdict)), code)


def power(arguments: argparse.Namespace) -> Answer:
    """A row per metric, slice, pair of runs and difference."""
    options = values_of(arguments, PolarsRanker.power)
    metrics = metrics_of(arguments)
    found = _of_runs(arguments, lambda ranker, **runs: ranker.power(*metrics, **runs, **options))
    settings = {"power": arguments.power, "alpha": arguments.alpha, "by": arguments.by or ()}
    return Answer(Table(found, sentences=power_sentences(records(found), settings)))


def _of_runs(arguments: argparse.Namespace, verb: Callable[..., T]) -> T:
    """The result of a verb of several runs on the files."""
    named = arguments.runs is not None or arguments.run is not None
    reads = columns_read(arguments, verb, runs=arguments.runs, run=arguments.run if named else "run")
    found = judged(arguments, reads)
    if found.runs is found.run is None:
        raise InvalidOption(
            "there is one run. Give a file for each and --qrels, or say which runs one table holds: --runs COLUMN,COLUMN "
            "or --run COLUMN"
        )
    return verb(ranker(found.table, arguments), runs=found.runs, run=found.run)


def gate_of(arguments: argparse.Namespace, options: Mapping[str, object]) -> Callable[..., Any]:
    """The gate with the given budgets; for files, the baseline is the first unless it is named."""
    budgets = budgets_of(arguments)

    def gate(ranker: Any, **runs: object) -> Any:
        of_files = (
            len(arguments.files) > 1 and "run" in ranker._frame.columns
        )  # `columns_read` calls it on an empty frame
        first = {"baseline": ranker._frame["run"][0]} if of_files else {}
        return ranker.gate(budgets, **runs, **{**first, **options})

    return gate


def budgets_of(arguments: argparse.Namespace) -> dict[str, float]:
    """The budgets by their metric."""
    budgets: dict[str, float] = {}
    for metric, budget in map(_budget, arguments.budgets or ()):
        if metric in budgets:
            raise InvalidOption(f"--budget {metric} is given twice; give each metric one budget")
        budgets[metric] = budget
    return budgets


def _budget(text: str) -> tuple[str, float]:
    """A metric and its budget, split at the last =, since the metric's options may contain one."""
    metric, equals, number = text.rpartition("=")
    if not equals and (alone := re.fullmatch(r"(?:(.+):)?(\d*\.?\d+)", text)):
        lacks = "metric" if alone[1] is None else "'='"
        raise InvalidOption(f"--budget {text} has no {lacks}; write --budget {alone[1] or 'ndcg@10'}={alone[2]}")
    if not equals or text.endswith(")"):
        raise InvalidOption(f"--budget {text} has no number; write --budget {text}=0.01")
    try:
        return metric, float(number)
    except ValueError:
        raise InvalidOption(f"--budget {text}: {number!r} is no number; write --budget {metric}=0.01") from None


COMPARE = Command(
    "compare",
    "[options] RUN [RUN ...]",
    "paired tests between runs, on the same queries",
    OF_COMPARE,
    options_of_compare,
    compare,
    other_names=("diff", "significance", "test"),
)
GATE = Command(
    "gate",
    "[options] --budget METRIC=NUMBER RUN [RUN ...]",
    "whether runs may replace the baseline; exits with 1 if one may not",
    OF_GATE,
    options_of_gate,
    gate,
)
POWER = Command(
    "power",
    "[options] --difference NUMBER RUN [RUN ...]",
    "how many queries it takes to detect a difference between runs",
    OF_POWER,
    options_of_power,
    power,
)
