"""``rankframe evaluate`` and ``rankframe curve``: the metrics of runs as means or query by query, at one cutoff or at every rank."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from .._catalog.call import Call
from .._catalog.flat_names import flat_names
from .._catalog.means import Mean
from .._catalog.requests import calls_of
from .._pictures.draw import background_of
from .._pictures.plots import deepest
from .._plan.per_query import names_of
from .._support.extras import load
from .._support.progress import Busy
from .._table.runs import RUN, RUN_OF_TABLE, Runs
from .._table.setup import Setup
from .._table.table import refuse_names
from .._text.markup import CONTROL
from .._text.result_table import queries_of
from .._verbs.compare import values
from ..errors import InvalidOption
from .command import DEFAULT_METRICS, Command, Outcome, Parser, at_least, columns_read, metrics_of, ranker
from .output import FOR_PEOPLE, FORMATS, PICTURE, OutputTable, write_bytes
from .reading import Judged, judged

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


def options_of_evaluate(sub: Parser) -> None:
    """The rows of the table."""
    sub.add_argument("--per-query", action="store_true", help="one row per query instead of the means")
    sub.add_argument("--by", metavar="COLUMN", help="the means for each value of a column")


def evaluate(arguments: argparse.Namespace) -> Outcome:
    """The means of the metrics, or their values query by query, in the chosen format."""
    by, metrics = arguments.by, metrics_of(arguments)
    if by is not None and arguments.format == "trec":
        raise InvalidOption("--format trec has no room for --by. Leave one of them out")
    table, named = _judged(arguments, metrics)
    runs, ranked = Runs.of(**named), ranker(table, arguments)
    if runs.columns and arguments.format == "trec":
        raise InvalidOption("--format trec has no room for the names of several runs. Give one run, or --format csv")
    with Busy("evaluating"):
        scores = runs.each(table, ranked._setup, lambda of_run: ranked._with(of_run).evaluate(*metrics))
    calls = {name: call for call in calls_of(*metrics) for name in names_of(ranked._setup, call)}
    if arguments.flat:
        flat = flat_names(calls)
        scores, calls = scores.rename(flat), {flat[name]: call for name, call in calls.items()}
    if arguments.format == "trec":
        of_all = scores.select(**_numbers(calls, Mean.over_run)).row(0, named=True)
        counts = [name for name, call in calls.items() if call.metric.summary == "sum"]
        return Outcome("\n".join(in_trec(scores.drop(RUN), of_all, counts, queries=arguments.per_query)))
    key = [RUN_OF_TABLE] if runs.columns else []
    if by is not None:
        refuse_names(["query_id", *key, *([] if arguments.per_query else ["queries"]), *calls], [by], "--by")
        slices = table.select("query_id", by).unique()
        scores = scores.join(slices, on="query_id", how="left", maintain_order="left")
        scores = scores.select(RUN, "query_id", by, pl.exclude(RUN, "query_id", by))
    if arguments.per_query:
        return Outcome(OutputTable(scores.rename({RUN: RUN_OF_TABLE}) if key else scores.drop(RUN)))
    of_runs = scores.partition_by(RUN, maintain_order=True, as_dict=True)
    averaged = pl.concat(
        means(part, calls, by).select(*(pl.lit(run).alias(name) for name in key), pl.all())
        for (run,), part in of_runs.items()
    )
    if not key or by is not None or arguments.format not in FOR_PEOPLE:
        return Outcome(OutputTable(averaged))
    counted = queries_of(averaged.select(n_queries="queries").to_dicts())
    return Outcome(OutputTable(averaged.pivot("metric", index=key, values="mean"), [f"Means over {counted}."]))


def _judged(arguments: argparse.Namespace, metrics: Sequence[str]) -> Judged:
    """The files, with the columns that metrics read."""
    named = Runs.of(arguments.runs, arguments.run).columns
    return judged(arguments, {*columns_read(arguments, lambda ranker: ranker.evaluate(*metrics)), *named})


def _numbers(calls: Mapping[str, Call], how: Callable[[Mean, pl.Expr], pl.Expr]) -> dict[str, pl.Expr]:
    """Each column as one number; null for texts, which have none."""
    return {
        name: how(Mean.of(call), pl.col(name)) if call.metric.dtype == pl.Float64 else pl.lit(None, pl.Float64)
        for name, call in calls.items()
    }


def means(scores: pl.DataFrame, calls: Mapping[str, Call], by: str | None) -> pl.DataFrame:
    """One row per metric, or per value of `by`; a mean leaves out queries whose value is null."""
    sums = _numbers(calls, Mean.unweighted)
    if by:
        return scores.group_by(by).agg(pl.len().alias("queries"), **sums).sort(by, nulls_last=True)
    columns = list(sums), scores.select(**sums).row(0), scores.select(pl.col(*sums).count()).row(0)
    return pl.DataFrame(columns, schema={"metric": pl.String, "mean": pl.Float64, "queries": pl.Int64}, orient="col")


def in_trec(
    scores: pl.DataFrame, of_all: Mapping[str, object], counts: Sequence[str], *, queries: bool
) -> Iterator[str]:
    """The lines of trec_eval -q: measure, query and value; the queries sorted by name, then the line for all."""
    if queries:
        for query in scores["query_id"].cast(pl.String).drop_nulls():
            if CONTROL.search(query):
                raise InvalidOption(
                    f"query_id {query!r} has a line break, a tab or the like, for which --format trec has no place; "
                    "write --format json"
                )
        for row in scores.sort(pl.col("query_id").cast(pl.String)).iter_rows(named=True):
            query = row.pop("query_id")
            yield from (trec_line(name, query, value, whole=name in counts) for name, value in row.items())
    yield from (trec_line(name, "all", value, whole=name in counts) for name, value in of_all.items())


def trec_line(name: str, query: object, value: object, *, whole: bool) -> str:
    """A line as trec_eval prints it; sums are whole numbers."""
    if isinstance(value, float):
        shown = f"{value:.0f}" if whole else f"{value:6.4f}"
    else:
        shown = "nan" if value is None else str(value)
    return f"{name:<22}\t{query}\t{shown}"


def options_of_curve(sub: Parser) -> None:
    """The ranks, and the form of the curve."""
    last = f"the last rank; default: {RANKS}, or the length of the longest ranking if that is less; of pictures, that length"
    sub.add_argument("--to", type=at_least(1), metavar="RANK", help=last)
    sub.add_argument("--per-query", action="store_true", help="one row per query and rank instead of the means")
    colour = "the picture's background: white (default), black or a colour such as '#1e1e1e'"
    sub.add_argument("--background", metavar="COLOUR", help=colour)
    sub.add_argument("--title", metavar="TEXT", help="the picture's title; default: what it shows")


def curve(arguments: argparse.Namespace) -> Outcome:
    """The means of the metrics at every rank, or their values query by query; or a picture."""
    calls = calls_of(*metrics_of(arguments))
    for call in calls:
        if "k" not in call.metric.parameters:
            raise InvalidOption(f"{call.text} takes no cutoff, so it has no curve; take another metric, as -m ndcg")
        if call.cutoff:
            raise InvalidOption(f"{call.text!r} names a cutoff, and a curve shows all; give the last rank with --to")
        if call.metric.dtype != pl.Float64:
            raise InvalidOption(f"{call.text} is no number, so it has no curve; ask for another metric")
    drawn = arguments.format == PICTURE
    for option in ("background", "title"):
        if not drawn and getattr(arguments, option) is not None:
            raise InvalidOption(f"--{option} is that of a picture. Name its file too: -o curve.png")
    if drawn and arguments.per_query:
        raise InvalidOption("a picture shows means. Leave --per-query out, or -o")
    if arguments.unjudged == "bounds" and not drawn:
        raise InvalidOption("bounds have no curve; set another rule: --unjudged nonrelevant")
    table, named = _judged(arguments, [call.text for call in calls])
    ranked, runs = ranker(table, arguments), Runs.of(**named)
    if drawn:
        with Busy("drawing"):
            write_bytes(arguments.target, picture(ranked, named, calls, arguments))
        return Outcome(None)
    last = arguments.to or min(RANKS, deepest(table, ranked._setup, runs))
    with Busy("evaluating"):
        table = by_rank(table, ranked._setup, runs, calls, last)
    if not arguments.per_query:
        key = [name for name in ("run", "rank") if name in table.columns]
        averaged = {call.text: Mean.of(call).unweighted(pl.col(call.text)) for call in calls}
        table = table.group_by(key, maintain_order=True).agg(**averaged)
    return Outcome(OutputTable(table.rename(flat_names(call.text for call in calls)) if arguments.flat else table))


def by_rank(table: pl.DataFrame, setup: Setup, runs: Runs, calls: Sequence[Call], last: int) -> pl.DataFrame:
    """A row per run, query and rank, with a column per metric."""
    at = {(call, k): call.with_defaults({"k": k}) for k in range(1, last + 1) for call in calls}
    found = values(table, setup, runs, list(dict.fromkeys(at.values()))).with_row_index("#query")
    numbers = {name: number for number, name in enumerate(runs.named(found))}
    key = [pl.col(RUN).replace_strict(numbers, return_dtype=pl.Int64).alias("#number"), pl.col("#query")]
    key += [*([pl.col(RUN).alias("run")] if runs.columns else []), pl.col("query_id")]
    rows = pl.concat(
        found.select(*key, rank=pl.lit(k), **{call.text: pl.col(at[call, k].text) for call in calls})
        for k in range(1, last + 1)
    )
    return rows.sort("#number", "#query", "rank").drop("#number", "#query")


def picture(ranked: Any, named: Mapping[str, Any], calls: Sequence[Call], arguments: argparse.Namespace) -> bytes:
    """The curves as a file."""
    cutoffs = None if arguments.to is None else range(1, arguments.to + 1)
    background = background_of("white" if arguments.background is None else arguments.background)
    options = {**named, "cutoffs": cutoffs, "title": arguments.title, "background": background}
    chart = ranked.plot.curve(*(call.text for call in calls), **options)
    vl_convert, drawing = load("vl_convert", "plot"), chart.to_dict()
    kind = arguments.target.suffix.lower()
    if kind == ".png":
        drawn: bytes = vl_convert.vegalite_to_png(drawing, scale=2)
        return drawn
    page: str = (
        vl_convert.vegalite_to_svg(drawing) if kind == ".svg" else vl_convert.vegalite_to_html(drawing, bundle=True)
    )
    return page.replace("<head>", HEAD.replace("BACKGROUND", background), 1).encode()


EVALUATE = Command(
    evaluate,
    "metrics of runs, as means or query by query",
    (
        "rankframe evaluate bm25.run --qrels qrels.txt -m ndcg@10 -m map",
        "rankframe evaluate bm25.run dense.run --qrels qrels.txt -m ndcg@10,map",
        "rankframe evaluate bm25.run.gz --qrels qrels.txt -m ndcg_cut.5,10 --per-query --format csv > scores.csv",
        "rankframe evaluate table.parquet -m 'err(max_label=4)@20' --by language",
        "rankframe evaluate clicks.csv --query session --doc item --label clicks -m rr --format markdown",
        "rankframe evaluate bm25.run --qrels qrels.txt --convention ranx --per-query --format trec",
        "rankframe evaluate bm25.run --qrels diversity.txt --subtopic iteration -m alpha_ndcg@20",
        "zcat bm25.run.gz | rankframe evaluate - --qrels qrels.txt",
    ),
    options_of_evaluate,
    files="+",
    metrics=DEFAULT_METRICS,
    formats={"formats": (*FORMATS, "trec"), "flattens": True},
)
CURVE = Command(
    curve,
    "metrics at every rank, as numbers or as a picture",
    (
        "rankframe curve bm25.run --qrels qrels.txt -m ndcg -m recall --to 10",
        "rankframe curve bm25.run dense.run --qrels qrels.txt -m precision --format csv > curve.csv",
        "rankframe curve bm25.run dense.run --qrels qrels.txt -m ndcg -o curve.svg",
    ),
    options_of_curve,
    files="+",
    metrics=("ndcg",),
    formats={"pictures": PICTURES, "flattens": True},
)
