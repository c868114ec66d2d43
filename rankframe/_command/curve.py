"""``rankframe curve``: metrics at every rank, as numbers or as a picture."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

import polars as pl

from .._catalog.call import Call
from .._catalog.flat_names import flat_names
from .._catalog.means import Mean
from .._catalog.requests import calls_of
from .._decisions.runs import values
from .._pictures.draw import background_of
from .._pictures.plots import deepest
from .._support.extras import load
from .._support.progress import Busy
from .._table.runs import RUN, Runs
from .._table.setup import Setup
from ..errors import InvalidOption
from .command import Answer, Command, Parser
from .options import add_files, add_format, add_metrics, at_least, columns_read, ranker
from .output import Table
from .reading import Judged, judged
from .target import PICTURE, write_bytes

EXAMPLES = (
    "rankframe curve bm25.run --qrels qrels.txt -m ndcg -m recall --to 10",
    "rankframe curve bm25.run dense.run --qrels qrels.txt -m precision --format csv > curve.csv",
    "rankframe curve bm25.run dense.run --qrels qrels.txt -m ndcg -o curve.svg",
)
DEFAULT = ("ndcg",)
RANKS = 20
PICTURES = (".svg", ".png", ".html")
HEAD = """<head>
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <style>
        body { background: BACKGROUND; }
        #vega-chart { padding: 0; }
        #vega-chart svg { max-width: 100%; height: auto; }
    </style>"""
"""Shrinks a page's picture to the width of the screen, where its text is still legible."""


def options(sub: Parser) -> None:
    """The ranks, and the form of the curve."""
    add_files(sub)
    add_metrics(sub, DEFAULT)
    sub.add_argument(
        "--to",
        type=at_least(1),
        metavar="RANK",
        help=f"the last rank; default: {RANKS}, or the length of the longest ranking if that is less; of pictures, that length",
    )
    sub.add_argument("--per-query", action="store_true", help="one row per query and rank instead of the means")
    sub.add_argument(
        "--background",
        metavar="COLOUR",
        help="the picture's background: white (default), black or a colour such as '#1e1e1e'",
    )
    sub.add_argument("--title", metavar="TEXT", help="the picture's title; default: what it shows")
    add_format(sub, pictures=PICTURES)
    sub.set_defaults(flattens=True)


def curve(arguments: argparse.Namespace) -> Answer:
    """The means of the metrics at every rank, or their values query by query; or a picture."""
    calls = calls_of(*(arguments.metrics or DEFAULT))
    for call in calls:
        if "k" not in call.metric.parameters:
            raise InvalidOption(f"{call.text} takes no cutoff, so it has no curve; take another metric, as -m ndcg")
        if call.cutoff:
            raise InvalidOption(f"{call.text!r} names a cutoff, and a curve shows all; give the last rank with --to")
    drawn = arguments.format == PICTURE
    for option in ("background", "title"):
        if not drawn and getattr(arguments, option) is not None:
            raise InvalidOption(f"--{option} is that of a picture. Name its file too: -o curve.png")
    if drawn and arguments.per_query:
        raise InvalidOption("a picture shows means. Leave --per-query out, or -o")
    if arguments.unjudged == "bounds" and not drawn:
        raise InvalidOption("bounds have no curve; set another rule: --unjudged nonrelevant")
    if texts := [call.text for call in calls if call.metric.dtype != pl.Float64]:
        raise InvalidOption(f"{texts[0]} is no number, so it has no curve; ask for another metric")
    reads = columns_read(arguments, lambda ranker: ranker.evaluate(*(call.text for call in calls)))
    found = judged(arguments, {*reads, *Runs.of(arguments.runs, arguments.run).columns})
    if drawn:
        with Busy("drawing"):
            write_bytes(arguments.target, picture(found, calls, arguments))
        return Answer(None)
    setup, runs = ranker(found.table, arguments)._setup, Runs.of(found.runs, found.run)
    last = arguments.to or min(RANKS, deepest(found.table, setup, runs))
    with Busy("evaluating"):
        rows = by_rank(found.table, setup, runs, calls, last)
    table = rows if arguments.per_query else means(rows, calls)
    return Answer(Table(table.rename(flat_names(call.text for call in calls)) if arguments.flat else table))


def by_rank(table: pl.DataFrame, setup: Setup, runs: Runs, calls: Sequence[Call], last: int) -> pl.DataFrame:
    """A row per run, query and rank, with a column per metric."""
    at = {(call, k): call.with_defaults({"k": k}) for k in range(1, last + 1) for call in calls}
    found = values(table, setup, runs, list(dict.fromkeys(at.values()))).with_row_index("#query")
    numbers = {name: number for number, name in enumerate(runs.named(found))}
    rows = pl.concat(
        found.select(
            pl.col(RUN).replace_strict(numbers, return_dtype=pl.Int64).alias("#number"),
            "#query",
            *([pl.col(RUN).alias("run")] if runs.columns else []),
            "query_id",
            pl.lit(k).alias("rank"),
            **{call.text: pl.col(at[call, k].text) for call in calls},
        )
        for k in range(1, last + 1)
    )
    return rows.sort("#number", "#query", "rank").drop("#number", "#query")


def means(rows: pl.DataFrame, calls: Sequence[Call]) -> pl.DataFrame:
    """A row per run and rank: the means over the queries."""
    key = [name for name in ("run", "rank") if name in rows.columns]
    averaged = {call.text: Mean.of(call).unweighted(pl.col(call.text)) for call in calls}
    return rows.group_by(key, maintain_order=True).agg(**averaged)


def picture(found: Judged, calls: list[Call], arguments: argparse.Namespace) -> bytes:
    """The curves as a file."""
    cutoffs = None if arguments.to is None else range(1, arguments.to + 1)
    texts = [call.text for call in calls]
    background = background_of("white" if arguments.background is None else arguments.background)
    chart: Any = ranker(found.table, arguments).plot.curve(
        *texts, cutoffs=cutoffs, runs=found.runs, run=found.run, title=arguments.title, background=background
    )
    vl_convert = load("vl_convert", "plot")
    kind = arguments.target.suffix.lower()
    if kind == ".png":
        drawn: bytes = vl_convert.vegalite_to_png(chart.to_dict(), scale=2)
        return drawn
    if kind == ".html":
        head = HEAD.replace("BACKGROUND", background)
        page: str = vl_convert.vegalite_to_html(chart.to_dict(), bundle=True).replace("<head>", head, 1)
    else:
        page = vl_convert.vegalite_to_svg(chart.to_dict())
    return page.encode()


COMMAND = Command(
    "curve",
    "[options] RUN [RUN ...]",
    "metrics at every rank, as numbers or as a picture",
    EXAMPLES,
    options,
    curve,
    other_names=("plot",),
)
