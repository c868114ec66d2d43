"""``rankframe compare``, ``gate``, ``power`` and ``report``: decisions between runs, on the same queries, and all of them on a page."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, get_args

from .._catalog.parse import texts_of
from .._lift.polars import PolarsRanker
from .._lift.ranker import ItemVerbs
from .._pictures.report_page import ENDINGS
from .._results.grid import records
from .._results.result import Format, Result, render
from .._verbs.gate import Style, passing
from .._verbs.power import power_sentences
from ..errors import InvalidOption
from .command import DEFAULT_METRICS, Command, Outcome, Parser, help_of, metrics_of, values_of
from .output import FORMATS, OutputTable, writable
from .reading import answered

LINES = get_args(Style)
"""The formats that have a line for each verdict."""


def add_budgets(sub: Parser, *, required: bool = False) -> None:
    """The budgets: how much worse a run may be."""
    text = f"{help_of(PolarsRanker.gate, 'budgets')}, one or several with commas; may be repeated"
    sub.add_argument("--budget", dest="budgets", action="append", required=required, metavar="METRIC=NUMBER", help=text)


def compare(arguments: argparse.Namespace) -> Outcome:
    """A row per metric, slice and pair of runs."""
    metrics, options = metrics_of(arguments), values_of(arguments)
    compared = answered(arguments, lambda ranker, **runs: ranker.compare(*metrics, **runs, **options), "comparing")
    return Outcome(OutputTable(compared.table, forms=forms_of(compared)))


def forms_of(found: Result[Any]) -> dict[str, Callable[[], str]]:
    """The result in each format for people."""
    names: dict[str, Format] = {"table": "text", "markdown": "markdown", "latex": "latex", "html": "html"}
    return {name: partial(render, found, how) for name, how in names.items()}


def gate(arguments: argparse.Namespace) -> Outcome:
    """A line per metric, slice and run; the exit code is 1 unless all of them pass; too few queries do not pass."""
    verdict = answered(arguments, partial(verdict_of, arguments, values_of(arguments)), "comparing")
    code = 0 if verdict else 1
    if arguments.format in LINES:
        return Outcome("\n".join(verdict.lines(arguments.format)), code)
    sentence = passing(records(verdict.table))
    return Outcome(OutputTable(verdict.table, sentences=[sentence], grid=verdict.grid()), code)


def power(arguments: argparse.Namespace) -> Outcome:
    """A row per metric, slice, pair of runs and difference."""
    metrics, options = metrics_of(arguments), values_of(arguments)
    found = answered(arguments, lambda ranker, **runs: ranker.power(*metrics, **runs, **options), "comparing")
    settings = {"power": arguments.power, "alpha": arguments.alpha, "by": arguments.by or ()}
    return Outcome(OutputTable(found, sentences=power_sentences(records(found), settings)))


def verdict_of(arguments: argparse.Namespace, options: Mapping[str, Any], ranker: Any, **runs: Any) -> Any:
    """The gate with the given budgets; for files, the baseline is the first unless it is named."""
    if len(arguments.files) > 1 and "run" in ranker._frame.columns:  # not on the empty frame of `columns_read`
        options = {"baseline": ranker._frame["run"][0], **options}
    return ranker.gate(budgets_of(arguments), **runs, **options)


def budgets_of(arguments: argparse.Namespace) -> dict[str, float]:
    """The budgets by their metric, split at the last =, since the metric's options may contain one."""
    budgets: dict[str, float] = {}
    for text in [text for given in arguments.budgets for text in texts_of(given)]:
        metric, _, number = text.rpartition("=")
        try:
            budget = float(number if metric else "")
        except ValueError:
            raise InvalidOption(f"--budget {text}: write a metric and a number, as --budget ndcg@10=0.01") from None
        if metric in budgets:
            raise InvalidOption(f"--budget {metric} is given twice; give each metric one budget")
        budgets[metric] = budget
    return budgets


def report(arguments: argparse.Namespace) -> Outcome:
    """Write the report; nothing is printed."""
    target = writable(arguments.output, ENDINGS)
    metrics, options = metrics_of(arguments), values_of(arguments)
    of_gate: dict[str, Any] = {name: options[name] for name in ("baseline", "resamples", "seed") if name in options}

    def write(ranker: Any, **runs: Any) -> Any:
        verdict = verdict_of(arguments, of_gate, ranker, **runs) if arguments.budgets else None
        if isinstance(verdict, set):  # of the columns that it reads
            return verdict | ranker.report(target, *metrics, **runs, **options)
        return ranker.report(target, *metrics, **runs, **options, gate=verdict)

    answered(arguments, write, "writing the report")
    return Outcome(None)


def options_of_report(sub: Parser) -> None:
    """The file, and the budgets of its gate."""
    sub.add_argument("-o", "--output", metavar="FILE", required=True, help="where to write it: .html")
    add_budgets(sub)


COMPARE = Command(
    compare,
    "paired tests between runs, on the same queries",
    (
        "rankframe compare bm25.run dense.run --qrels qrels.txt -m ndcg@10 --baseline bm25",
        "rankframe compare table.parquet --runs bm25,ltr -m ndcg@10 -m map",
        "rankframe compare runs.csv --run system --baseline bm25 --test tukey --by market",
    ),
    files="+",
    metrics=DEFAULT_METRICS,
    verb=PolarsRanker.compare,
)
GATE = Command(
    gate,
    "whether runs may replace the baseline; exits with 1 if one may not",
    (
        "rankframe gate old.run new.run --qrels qrels.txt --baseline old --budget ndcg@10=0.01",
        "rankframe gate table.parquet --runs bm25,ltr --baseline bm25 --budget ndcg@10=0.01 --budget rr=0.02",
        "rankframe gate table.parquet --runs bm25,ltr --baseline bm25 --budget map=0.01 --by market --format github",
    ),
    lambda sub: add_budgets(sub, required=True),
    files="+",
    verb=PolarsRanker.gate,
    formats={
        "formats": (*LINES, *FORMATS),
        "endings": {".txt": "text"},
        "default": "text",
        "about": "text has a line for each verdict, github annotations of a workflow run; ",
    },
)
POWER = Command(
    power,
    "how many queries it takes to detect a difference between runs",
    (
        "rankframe power bm25.run dense.run --qrels qrels.txt -m ndcg@10 --difference 0.01",
        "rankframe power table.parquet --runs bm25,ltr -m ndcg@10,map --difference 0.01 --difference 0.02 --by market",
    ),
    files="+",
    metrics=DEFAULT_METRICS,
    verb=PolarsRanker.power,
)
REPORT = Command(
    report,
    "write one HTML file that says how good runs are",
    (
        "rankframe report bm25.run --qrels qrels.txt -o report.html",
        "rankframe report bm25.run dense.run --qrels qrels.txt -m ndcg@10 -m map --baseline bm25 --budget map=0.01 -o report.html",
        "rankframe report table.parquet --runs bm25,ltr --by market --show title -o report.html",
    ),
    options_of_report,
    files="+",
    metrics=DEFAULT_METRICS,
    verb=PolarsRanker.report,
    formats=None,
)


def catalog(arguments: argparse.Namespace) -> Outcome:
    """A row per slice and metric."""
    metrics, options = metrics_of(arguments), values_of(arguments)
    found = answered(arguments, lambda ranker: ranker.items.catalog(*metrics, **options), "counting items")
    return Outcome(OutputTable(found))


def gaps(arguments: argparse.Namespace) -> Outcome:
    """A row per metric and figure."""
    metrics, options = metrics_of(arguments), values_of(arguments)
    found = answered(arguments, lambda ranker: ranker.gaps(*metrics, **options), "comparing groups")
    return Outcome(OutputTable(found.table, sentences=found.sentences()))


CATALOG = Command(
    catalog,
    "metrics of the items that all users are shown, such as coverage and Gini",
    (
        "rankframe catalog bm25.run -m coverage@10,gini@10 --items 1000",
        "rankframe catalog table.parquet --items catalog.csv --by market --format csv > catalog_metrics.csv",
        "rankframe catalog table.parquet -m popularity_lift@10 --interactions train.csv --score ltr",
    ),
    files=1,
    metrics=("coverage@10", "gini@10", "personalization@10"),
    verb=ItemVerbs.catalog,
)
GAPS = Command(
    gaps,
    "how far the means of groups of queries are apart, and whether that may be chance",
    (
        "rankframe gaps table.parquet -m ndcg@10 --by market",
        "rankframe gaps bm25.run --qrels market.parquet -m ndcg@10,rr --by market --format json",
    ),
    files=1,
    metrics=DEFAULT_METRICS,
    verb=PolarsRanker.gaps,
)
