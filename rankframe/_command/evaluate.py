"""``rankframe evaluate``: the metrics of runs, as means or query by query."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping

import polars as pl

import rankframe as rf

from .._catalog.call import Call
from .._catalog.flat_names import flat_names
from .._catalog.means import Mean
from .._catalog.requests import calls_of
from .._plan.per_query import names_of
from .._support.progress import Busy
from .._table.conventions import CONVENTIONS
from .._table.runs import RUN, RUN_OF_TABLE, Runs
from .._table.table import refuse_names
from .._text.result_table import queries_of
from ..errors import InvalidOption
from .command import Answer, Command, Parser
from .options import DEFAULT_METRICS, add_files, add_format, add_metrics, columns_read, ranker
from .output import FOR_PEOPLE, FORMATS, Table, trec_lines
from .reading import judged

EXAMPLES = (
    "rankframe evaluate bm25.run --qrels qrels.txt -m ndcg@10 -m map",
    "rankframe evaluate bm25.run dense.run --qrels qrels.txt -m ndcg@10,map",
    "rankframe evaluate bm25.run.gz --qrels qrels.txt -m ndcg_cut.5,10 --per-query --format csv > scores.csv",
    "rankframe evaluate table.parquet -m 'err(max_label=4)@20' --by language",
    "rankframe evaluate clicks.csv --query session --doc item --label clicks -m rr --format markdown",
    "rankframe evaluate bm25.run --qrels qrels.txt --convention ranx --per-query --format trec",
    "rankframe evaluate bm25.run --qrels diversity.txt --subtopic iteration -m alpha_ndcg@20",
    "zcat bm25.run.gz | rankframe evaluate - --qrels qrels.txt",
)


def options(sub: Parser) -> None:
    """The files, the metrics, and the format of the values."""
    add_files(sub)
    add_metrics(sub)
    sub.add_argument("--per-query", action="store_true", help="one row per query instead of the means")
    sub.add_argument("--by", metavar="COLUMN", help="the means for each value of a column")
    add_format(sub, (*FORMATS, "trec"))
    sub.set_defaults(flattens=True)


def evaluate(arguments: argparse.Namespace) -> Answer:
    """The means of the metrics, or their values query by query, in the chosen format."""
    by: str | None = arguments.by
    if by is not None and arguments.format == "trec":
        raise InvalidOption("--format trec has no room for --by. Leave one of them out")
    metrics, named = metrics_of(arguments), Runs.of(arguments.runs, arguments.run)
    reads = columns_read(arguments, lambda ranker: ranker.evaluate(*metrics))
    found = judged(arguments, {*reads, *named.columns})
    runs, ranked = Runs.of(found.runs, found.run), ranker(found.table, arguments)
    if runs.columns and arguments.format == "trec":
        raise InvalidOption(
            "--format trec has no room for the names of several runs. Give one run, or write --format csv"
        )
    with Busy("evaluating"):
        scores = runs.each(found.table, ranked._setup, lambda of_run: ranked._with(of_run).evaluate(*metrics))
    calls = {name: call for call in calls_of(*metrics) for name in names_of(ranked._setup, call)}
    if arguments.flat:
        flat = flat_names(calls)
        scores, calls = scores.rename(flat), {flat[name]: call for name, call in calls.items()}
    if arguments.format == "trec":
        of_all = scores.select(**_numbers(calls, Mean.over_run)).row(0, named=True)
        counts = [name for name, call in calls.items() if call.metric.summary == "sum"]
        return Answer("\n".join(trec_lines(scores.drop(RUN), of_all, counts, queries=arguments.per_query)))
    key = [RUN_OF_TABLE] if runs.columns else []
    if by is not None:
        refuse_names([*key, *([] if arguments.per_query else ["queries"]), *calls], [by], "--by")
        slices = found.table.select("query_id", by).unique()
        scores = scores.join(slices, on="query_id", how="left", maintain_order="left")
        scores = scores.select(RUN, "query_id", by, pl.exclude(RUN, "query_id", by))
    if arguments.per_query:
        return Answer(Table(scores.rename({RUN: RUN_OF_TABLE}) if key else scores.drop(RUN)))
    of_runs = scores.partition_by(RUN, maintain_order=True, as_dict=True)
    table = pl.concat(
        means(part, calls, by).select(*(pl.lit(run).alias(name) for name in key), pl.all())
        for (run,), part in of_runs.items()
    )
    if not key or by is not None or arguments.format not in FOR_PEOPLE:
        return Answer(Table(table))
    counted = queries_of(table.select(n_queries="queries").to_dicts())
    return Answer(Table(table.pivot("metric", index=key, values="mean"), [f"Means over {counted}."]))


def metrics_of(arguments: argparse.Namespace) -> list[str]:
    """The given metrics; default: `DEFAULT_METRICS`, without those that the convention's tool lacks."""
    if arguments.metrics is not None or arguments.convention not in CONVENTIONS:
        return list(arguments.metrics or DEFAULT_METRICS)
    has = CONVENTIONS[arguments.convention].metrics
    return [text for text in DEFAULT_METRICS if rf.parse(text)[0].metric.name in has]


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
    return pl.DataFrame(
        {
            "metric": list(sums),
            "mean": scores.select(**sums).row(0),
            "queries": scores.select(pl.col(*sums).count()).row(0),
        },
        schema={"metric": pl.String, "mean": pl.Float64, "queries": pl.Int64},
    )


COMMAND = Command(
    "evaluate",
    "[options] RUN [RUN ...]",
    "metrics of runs, as means or query by query",
    EXAMPLES,
    options,
    evaluate,
    other_names=("mean", "score", "summarize"),
)
