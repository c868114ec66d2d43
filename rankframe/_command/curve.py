"""``rankframe curve``: metrics at every rank, as numbers or as a picture."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import polars as pl

import rankframe as rf

from .._catalog.call import Call
from .._pictures.figure import Runs
from .._pictures.plots import deepest
from .._plan.per_query import mean
from .._support.extras import load
from .._support.progress import Busy
from ..errors import InvalidOption
from .command import Answer, Command, Parser
from .options import add_files, add_format, add_metrics, at_least, ranker
from .output import formatted, writable
from .reading import Judged, judged

__all__ = ["COMMAND"]

EXAMPLES = (
    "rankframe curve bm25.run --qrels qrels.txt -m ndcg -m recall --to 10",
    "rankframe curve bm25.run dense.run --qrels qrels.txt -m precision --format csv > curve.csv",
    "rankframe curve bm25.run dense.run --qrels qrels.txt -m ndcg -o curve.svg",
)
DEFAULT = ("ndcg",)
RANKS = 20
PICTURES = (".svg", ".png", ".html")


def options(sub: Parser) -> None:
    """The ranks, and how the curve is shown."""
    add_files(sub)
    add_metrics(sub, DEFAULT)
    sub.add_argument(
        "--to",
        type=at_least(1),
        metavar="RANK",
        help=f"the last rank; default: {RANKS}, or the length of the longest ranking if that is less; of pictures, that length",
    )
    sub.add_argument("--per-query", action="store_true", help="one row per query and rank instead of the means")
    sub.add_argument("-o", "--output", metavar="FILE", help=f"draw a picture instead: {', '.join(PICTURES)}")
    add_format(sub)


def curve(arguments: argparse.Namespace) -> Answer:
    """The means of the metrics at every rank, or their values query by query; or a picture."""
    calls = list(dict.fromkeys(call for metric in arguments.metrics or DEFAULT for call in rf.parse(metric)))
    for call in calls:
        if "k" not in call.metric.parameters:
            raise InvalidOption(f"{call.text} takes no cutoff, so it has no curve; take another metric, as -m ndcg")
        if call.cutoff:
            raise InvalidOption(f"{call.text!r} names a cutoff, and a curve shows all; say how far with --to")
    target = None if arguments.output is None else writable(arguments.output, "-o", PICTURES)
    if target is not None and arguments.per_query:
        raise InvalidOption("a picture shows means. Leave --per-query out, or -o")
    if arguments.unjudged == "bounds" and target is None:
        raise InvalidOption("bounds have no curve; say another rule: --unjudged nonrelevant")
    if texts := [call.text for call in calls if call.metric.dtype != pl.Float64]:
        raise InvalidOption(f"{texts[0]} is no number, so it has no curve; ask for another metric")
    found = judged(arguments)
    if target is not None:
        with Busy("drawing"):
            draw(found, calls, arguments, target)
        return Answer(None)
    last = arguments.to or min(
        RANKS, deepest(found.table, ranker(found.table, arguments)._setup, Runs.of(found.runs, found.run))
    )
    with Busy("evaluating"):
        values = long(found, calls, last, arguments)
    return Answer(formatted(values if arguments.per_query else means(values), arguments.format))


def long(found: Judged, calls: list[Call], last: int, arguments: argparse.Namespace) -> pl.DataFrame:
    """A row per run, query and rank, with a column per metric."""
    at = {k: [call.with_defaults({"k": k}).text for call in calls] for k in range(1, last + 1)}
    texts = [text for of_rank in at.values() for text in of_rank]
    names = [call.text for call in calls]
    runs: dict[str | None, pl.DataFrame] = {}
    if found.run is not None:  # all runs at once, which share the largest label of the table
        every = ranker(found.table, arguments).on(query=[found.run, "query_id"]).evaluate(*texts)
        parts = every.partition_by(found.run, maintain_order=True, as_dict=True, include_key=False)
        runs = {str(run): part for (run,), part in parts.items()}
    for score in found.runs or ():
        runs[score] = ranker(found.table, arguments).on(score=score).evaluate(*texts)
    if not runs:
        runs[None] = ranker(found.table, arguments).evaluate(*texts)
    return pl.concat(of_run(values, run, at, names) for run, values in runs.items())


def of_run(values: pl.DataFrame, run: str | None, at: dict[int, list[str]], names: list[str]) -> pl.DataFrame:
    """A row per query and rank, of values with a column per rank and metric."""
    numbered = values.with_row_index("#query")
    rows = pl.concat(
        numbered.select(
            "#query",
            "query_id",
            pl.lit(k).alias("rank"),
            *(pl.col(text).alias(name) for text, name in zip(of_rank, names, strict=True)),
        )
        for k, of_rank in at.items()
    ).sort("#query", "rank")
    return rows.select(*([] if run is None else [pl.lit(run).alias("run")]), pl.exclude("#query"))


def means(values: pl.DataFrame) -> pl.DataFrame:
    """A row per run and rank: the means over the queries."""
    key = [name for name in ("run", "rank") if name in values.columns]
    return values.group_by(key, maintain_order=True).agg(mean(pl.exclude("query_id")))


def draw(found: Judged, calls: list[Call], arguments: argparse.Namespace, target: Path) -> None:
    """Draw the curves into a file."""
    cutoffs = None if arguments.to is None else range(1, arguments.to + 1)
    texts = [call.text for call in calls]
    chart: Any = ranker(found.table, arguments).plot.curve(*texts, cutoffs=cutoffs, runs=found.runs, run=found.run)
    vl_convert = load("vl_convert", "plot")
    kind = target.suffix.lower()
    if kind == ".html":
        target.write_text(vl_convert.vegalite_to_html(chart.to_dict(), bundle=True), encoding="utf-8")
    elif kind == ".svg":
        target.write_text(vl_convert.vegalite_to_svg(chart.to_dict()), encoding="utf-8")
    else:
        target.write_bytes(vl_convert.vegalite_to_png(chart.to_dict(), scale=2))


COMMAND = Command(
    "curve", "[options] RUN [RUN ...]", "metrics at every rank, as numbers or as a picture", EXAMPLES, options, curve
)
