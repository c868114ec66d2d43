"""The commands that run a verb on files: what each prints of the result."""

from __future__ import annotations

import warnings
from argparse import Namespace
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from io import BytesIO
from typing import Any, get_args

import polars as pl

import rankframe as rf

from .. import _pictures
from .._catalog.call import Call
from .._catalog.flat_names import flat_names
from .._catalog.fusions import FUSIONS
from .._catalog.means import Mean
from .._catalog.parse import texts_of
from .._catalog.requests import Request, averaged, calls_of
from .._files.write import QrelsFormat, as_path
from .._lift.polars import PolarsRanker
from .._lift.ranker import ClickVerbs, CollectionVerbs, ItemVerbs, Ranker
from .._plan.per_query import names_of
from .._results.grid import queries_of, records
from .._results.markup import CONTROL
from .._results.result import Style
from .._support.extras import load
from .._support.progress import Progress
from .._support.whole_files import write_whole
from .._table.conventions import CONVENTIONS, Convention
from .._table.runs import RUN, RUN_OF_TABLE, Runs
from .._table.setup import Setup
from .._table.table import in_memory, refuse_names
from .._verbs import audit, decide, measure, sample
from ..errors import InvalidOption, RankframeWarning
from . import reading
from .command import COLUMNS, DEFAULT_METRICS, POSITIVE, Outcome, command, help_of
from .output import (
    FOR_PEOPLE,
    FORMATS,
    PICTURE,
    Answer,
    OutputTable,
    note,
    refuse,
    spelled,
    writable,
)

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


@command(files="+", metrics=DEFAULT_METRICS, formats=(*FORMATS, "trec"), flattens=True)
def evaluate(arguments: Namespace) -> Answer:
    """Metrics of runs, as means or query by query.

    --per-query  one row per query instead of the means
    --by COLUMN  the means for each value of a column

    $ rankframe evaluate bm25.run --qrels qrels.txt -m ndcg@10 -m map
    $ rankframe evaluate bm25.run dense.run --qrels qrels.txt -m ndcg@10,map
    $ rankframe evaluate bm25.run.gz --qrels qrels.txt -m ndcg_cut.5,10 --per-query \
        --format csv > scores.csv
    $ rankframe evaluate table.parquet -m 'err(max_label=4)@20' --by language
    $ rankframe evaluate clicks.csv --query session --doc item --label clicks -m rr \
        --format markdown
    $ rankframe evaluate bm25.run --qrels qrels.txt --convention ranx --per-query --format trec
    $ rankframe evaluate bm25.run --qrels diversity.txt --subtopic iteration -m alpha_ndcg@20
    $ zcat bm25.run.gz | rankframe evaluate - --qrels qrels.txt
    """
    by = arguments.by
    is_trec = arguments.format == "trec"
    says = "--format trec has no room for --by; write another format, as --format csv"
    refuse(is_trec and by is not None, says)
    metrics = reading.metrics_of(arguments)
    ranker, named = reading.ranked(arguments, PolarsRanker.evaluate, *metrics)
    table = ranker._frame
    setup = ranker._setup
    runs = Runs.of(**named)
    _refuse_ratios(arguments, setup, metrics)
    says = "--format trec has no room for the names of several runs; write another, as --format csv"
    refuse(is_trec and named, says)
    with Progress("evaluating"):
        scores = runs.each(table, setup, lambda of_run: ranker._with(of_run).evaluate(*metrics))
    calls = {name: call for call in calls_of(*metrics) for name in names_of(setup, call)}
    if arguments.flat:
        flat = flat_names(calls)
        scores = scores.rename(flat)
        calls = {flat[name]: call for name, call in calls.items()}
    if is_trec:
        lines = in_trec(scores.drop(RUN), calls, queries=arguments.per_query)
        return "\n".join(lines)
    key = [RUN_OF_TABLE] if named else []
    if by is not None:
        counts = [] if arguments.per_query else ["queries"]
        refuse_names(["query_id", *key, *counts, *calls], [by], "--by")
        slices = table.select("query_id", by).unique()
        scores = scores.join(slices, on="query_id", how="left", maintain_order="left")
        scores = scores.select(RUN, "query_id", by, pl.exclude(RUN, "query_id", by))
    if arguments.per_query:
        return scores.rename({RUN: RUN_OF_TABLE}) if key else scores.drop(RUN)
    rows = means_of_runs(scores, calls, key, by)
    if not key or by is not None or arguments.format not in FOR_PEOPLE:
        return rows
    n_queries = queries_of(rows.select(n_queries="queries").to_dicts())
    wide = rows.pivot("metric", index=key, values="mean")
    return OutputTable(wide, [f"Means over {n_queries}."])


def _refuse_ratios(arguments: Namespace, setup: Setup, metrics: Sequence[Request | Call]) -> None:
    """Refuse metrics whose mean over queries is none of their estimates from clicks."""
    if setup.roles.propensity is not None and not arguments.per_query:
        averaged(metrics, "", setup)


def _numbers(
    calls: Mapping[str, Call], how: Callable[[Mean, pl.Expr], pl.Expr]
) -> dict[str, pl.Expr]:
    """An expression per metric that makes one number of its column, by `how`, a method of `Mean`.

    It is null for metrics that are texts.
    """
    numbers = {}
    for name, call in calls.items():
        numbers[name] = pl.lit(None, pl.Float64)
        if call.metric.dtype == pl.Float64:
            numbers[name] = how(Mean.of(call), pl.col(name))
    return numbers


def means_of_runs(
    scores: pl.DataFrame, calls: Mapping[str, Call], key: Sequence[str], by: str | None
) -> pl.DataFrame:
    """The means of each run, with its name in the columns of the key."""
    parts = []
    for (run,), of_run in scores.partition_by(RUN, maintain_order=True, as_dict=True).items():
        names = [pl.lit(run).alias(name) for name in key]
        parts.append(means(of_run, calls, by).select(*names, pl.all()))
    return pl.concat(parts)


def means(scores: pl.DataFrame, calls: Mapping[str, Call], by: str | None) -> pl.DataFrame:
    """One row per metric, or per value of `by`; a mean leaves out queries whose value is null."""
    numbers = _numbers(calls, Mean.unweighted)
    if by:
        of_slices = scores.group_by(by).agg(pl.len().alias("queries"), **numbers)
        return of_slices.sort(by, nulls_last=True)
    values = scores.select(**numbers).row(0)
    counts = scores.select(pl.col(*numbers).count()).row(0)
    schema = {"metric": pl.String, "mean": pl.Float64, "queries": pl.Int64}
    return pl.DataFrame((list(numbers), values, counts), schema=schema, orient="col")


def in_trec(scores: pl.DataFrame, calls: Mapping[str, Call], *, queries: bool) -> Iterator[str]:
    """The lines of trec_eval -q: measure, query and value.

    The queries are sorted by name; the line for all comes last.
    """
    sums = [name for name, call in calls.items() if call.metric.summary == "sum"]
    names = pl.col("query_id").cast(pl.String)
    if queries:
        for query in filter(CONTROL.search, scores.select(names.drop_nulls()).to_series()):
            what = "has a line break, a tab or the like, for which --format trec has no place"
            raise InvalidOption(f"query_id {query!r} {what}; write --format json")
        for row in scores.sort(names).iter_rows(named=True):
            query = row.pop("query_id")
            for name, value in row.items():
                yield trec_line(name, query, value, whole=name in sums)
    of_all = scores.select(**_numbers(calls, Mean.over_run)).row(0, named=True)
    for name, value in of_all.items():
        yield trec_line(name, "all", value, whole=name in sums)


def trec_line(name: str, query: object, value: object, *, whole: bool) -> str:
    """A line as trec_eval prints it; sums are whole numbers."""
    shown = "nan" if value is None else value
    if isinstance(value, float):
        shown = f"{value:.0f}" if whole else f"{value:6.4f}"
    return f"{name:<22}\t{query}\t{shown}"


@command(
    options={"--to": {"type": POSITIVE}},
    files="+",
    metrics=("ndcg",),
    pictures=PICTURES,
    flattens=True,
)
def curve(arguments: Namespace) -> Answer:
    """Metrics at every rank, as numbers or as a picture.

    --to RANK  the last rank; default: 20, or the length of the longest ranking if that is less; of
        pictures, that length
    --per-query  one row per query and rank instead of the means
    --background COLOUR  the picture's background: white (default), black or a colour such as
        '#1e1e1e'
    --title TEXT  the picture's title; default: what it shows

    $ rankframe curve bm25.run --qrels qrels.txt -m ndcg -m recall --to 10
    $ rankframe curve bm25.run dense.run --qrels qrels.txt -m precision --format csv > curve.csv
    $ rankframe curve bm25.run dense.run --qrels qrels.txt -m ndcg -o curve.svg
    """
    calls = calls_of(*reading.metrics_of(arguments))
    is_drawn = arguments.format == PICTURE
    for call in calls:
        refuse_no_curve(call)
    if is_drawn:
        refuse(arguments.per_query, "a picture shows means. Leave --per-query out, or -o")
    else:
        for name in ("background", "title"):
            of_pictures = f"--{name} is that of a picture. Name its file too: -o curve.png"
            refuse(getattr(arguments, name) is not None, of_pictures)
        of_bounds = "bounds have no curve; set another rule: --unjudged nonrelevant"
        refuse(arguments.unjudged == "bounds", of_bounds)
    texts = [call.text for call in calls]
    ranker, named = reading.ranked(arguments, PolarsRanker.evaluate, *texts)
    if is_drawn:
        with Progress("drawing"):
            write_whole(arguments.target, picture(ranker, named, texts, arguments))
        return None
    table = ranker._frame
    setup = ranker._setup
    runs = Runs.of(**named)
    _refuse_ratios(arguments, setup, calls)
    with Progress("evaluating"):
        last = arguments.to or min(RANKS, _pictures.plots.deepest(in_memory(table, setup), runs))
        rows = by_rank(table, setup, runs, calls, last)
    if not arguments.per_query:
        key = [name for name in ("run", "rank") if name in rows.columns]
        means = {call.text: Mean.of(call).unweighted(pl.col(call.text)) for call in calls}
        rows = rows.group_by(key, maintain_order=True).agg(**means)
    if arguments.flat:
        rows = rows.rename(flat_names(texts))
    return rows


def refuse_no_curve(call: Call) -> None:
    """Refuse a metric that takes no cutoff, that names its own, or that is no number."""
    other = "so it has no curve; take another metric, as -m ndcg"
    refuse("k" not in call.metric.parameters, f"{call.text} takes no cutoff, {other}")
    all_ranks = "and a curve shows all; give the last rank with --to"
    refuse(call.cutoff, f"{call.text!r} names a cutoff, {all_ranks}")
    refuse(call.metric.dtype != pl.Float64, f"{call.text} is no number, {other}")


def by_rank(
    table: pl.DataFrame, setup: Setup, runs: Runs, calls: Sequence[Call], last: int
) -> pl.DataFrame:
    """A row per run, query and rank, with a column per metric."""
    ranks = range(1, last + 1)
    at = {(k, call): call.with_defaults({"k": k}) for k in ranks for call in calls}
    per_query = measure.paired_values.values(table, setup, runs, list(dict.fromkeys(at.values())))
    per_query = per_query.with_row_index("#query")
    parts = []
    for k in ranks:
        columns = {call.text: pl.col(at[k, call].text) for call in calls}
        parts.append(per_query.select("#query", RUN, "query_id", rank=pl.lit(k), **columns))
    first_of_run = pl.col("#query").min().over(RUN)
    rows = pl.concat(parts).sort(first_of_run, "#query", "rank")
    run = [pl.col(RUN).alias("run")] if runs.columns else []
    return rows.select(*run, pl.exclude("#query", RUN))


def picture(
    ranked: Any, named: Mapping[str, Any], metrics: Sequence[str], arguments: Namespace
) -> bytes:
    """The curves as a file."""
    cutoffs = None if arguments.to is None else range(1, arguments.to + 1)
    background = _pictures.draw.background_of(
        "white" if arguments.background is None else arguments.background
    )
    look = {"title": arguments.title, "background": background}
    chart = ranked.plot.curve(*metrics, **named, **look, cutoffs=cutoffs)
    vl_convert = load("vl_convert", "plot")
    drawing = chart.to_dict()
    kind = arguments.target.suffix.lower()
    if kind == ".png":
        png: bytes = vl_convert.vegalite_to_png(drawing, scale=2)
        return png
    if kind == ".svg":
        return str(vl_convert.vegalite_to_svg(drawing)).encode()
    page: str = vl_convert.vegalite_to_html(drawing, bundle=True)
    return page.replace("<head>", HEAD.replace("BACKGROUND", background), 1).encode()


LINES = get_args(Style)
"""The formats that have a line for each verdict."""

TREC = {".run": "trec", ".trec": "trec", ".txt": "trec", ".gz": "trec"}
"""The endings of files that hold a run."""


def help_of_budgets() -> str:
    """The help of the option ``--budget``."""
    of_gate = help_of(PolarsRanker.gate, "budgets")
    return f"{of_gate}, one or several with commas; may be repeated"


BUDGET = {"dest": "budgets", "action": "append", "help": help_of_budgets}


@command(files="+", metrics=DEFAULT_METRICS, verb=lambda: PolarsRanker.summarize)
def summarize(arguments: Namespace) -> Any:
    """Means of metrics with intervals, for each run and slice.

    $ rankframe summarize bm25.run --qrels qrels.txt -m ndcg@10,map
    $ rankframe summarize table.parquet --runs bm25,ltr -m ndcg@10 --by market
    $ rankframe summarize log.csv --label clicked --propensity p --estimate snips \
        -m dcg@10,recall@10 --cluster user
    """
    return reading.answered(arguments, "resampling queries")


@command(files="+", metrics=DEFAULT_METRICS, verb=lambda: PolarsRanker.compare)
def compare(arguments: Namespace) -> Any:
    """Paired tests between runs, on the same queries.

    --rank-intervals  a row per run instead: its rank with an interval, and its group of tied runs

    $ rankframe compare bm25.run dense.run --qrels qrels.txt -m ndcg@10 --baseline bm25
    $ rankframe compare table.parquet --runs bm25,ltr -m ndcg@10 -m map
    $ rankframe compare runs.csv --run system --baseline bm25 --test tukey --by market
    """
    comparison = reading.answered(arguments, "comparing")
    if arguments.rank_intervals:
        return OutputTable(comparison.ranks, sentences=comparison.sentences())
    return comparison


@command(
    options={"--budget": {"required": True, **BUDGET}},
    files="+",
    verb=lambda: PolarsRanker.gate,
    formats=(*LINES, *FORMATS),
    endings={".txt": "text"},
    usual_format="text",
    about_formats="text has a line for each verdict, github annotations of a workflow run; ",
)
def gate(arguments: Namespace) -> Outcome:
    """Whether runs may replace the baseline; exits with 1 if not.

    --budget METRIC=NUMBER  how much worse the mean of a metric may be
    --sequential FILE  a gate that is read at every look while queries come in: the .json file of
        its state, which is read if it is there, and written

    $ rankframe gate old.run new.run --qrels qrels.txt --baseline old --budget ndcg@10=0.01
    $ rankframe gate table.parquet --runs bm25,ltr --baseline bm25 --budget ndcg@10=0.01 \
        --budget rr=0.02
    $ rankframe gate table.parquet --runs bm25,ltr --baseline bm25 --budget map=0.01 --by market \
        --format github
    $ rankframe gate table.parquet --runs bm25,ltr --baseline bm25 --budget ndcg@10=0.01 \
        --sequential state.json
    """
    path = arguments.sequential
    state = {}
    if path is not None:
        state["sequential"] = state_in(path)
    options = first_run(arguments) | state
    verdict = reading.answered(arguments, "comparing", budgets_of(arguments), **options)
    if state:
        write_whole(as_path(path), verdict.state.write_json().encode())
    code = 0 if verdict else 1
    if arguments.format in LINES:
        lines = verdict.lines(arguments.format)
        if arguments.format == "text":
            lines = [
                *lines,
                *sample.unequal_runs.unequal(verdict.settings),
                *decide.sequential.price(verdict.settings),
            ]
        return Outcome("\n".join(lines), code)
    sentences = [decide.gate.passing(records(verdict.table))]
    return Outcome(OutputTable(verdict.table, sentences=sentences, grid=verdict.grid()), code)


def state_in(path: str) -> Any:
    """The state of a gate that is read at every look; True at the first look."""
    is_there = as_path(path).is_file()
    return pl.read_json(path, infer_schema_length=None) if is_there else True


def first_run(arguments: Namespace) -> dict[str, Any]:
    """The baseline of a gate unless another one is named: of several files, the first."""
    if len(arguments.files) < 2:
        return {}
    return {"baseline": reading.names_of_runs(arguments.files)[0]}


def budgets_of(arguments: Namespace) -> dict[str, float]:
    """The budgets by their metric, whose options may contain an equals sign, too."""
    budgets: dict[str, float] = {}
    for text in [text for given in arguments.budgets for text in texts_of(given)]:
        metric, _, number = text.rpartition("=")
        try:
            budget = float(number if metric else "")
        except ValueError:
            as_this = "write a metric and a number, as --budget ndcg@10=0.01"
            raise InvalidOption(f"--budget {text}: {as_this}") from None
        twice = f"--budget {metric} is given twice; give each metric one budget"
        refuse(metric in budgets, twice)
        budgets[metric] = budget
    return budgets


@command(files="+", metrics=DEFAULT_METRICS, verb=lambda: PolarsRanker.power)
def power(arguments: Namespace) -> Answer:
    """How many queries it takes to detect a difference between runs.

    $ rankframe power bm25.run dense.run --qrels qrels.txt -m ndcg@10 --difference 0.01
    $ rankframe power table.parquet --runs bm25,ltr -m ndcg@10,map --difference 0.01 \
        --difference 0.02 --by market
    """
    table = reading.answered(arguments, "comparing")
    settings = {"power": arguments.power, "alpha": arguments.alpha, "by": arguments.by or ()}
    return OutputTable(table, sentences=decide.power.power_sentences(records(table), settings))


@command(files="+", metrics=DEFAULT_METRICS, verb=lambda: CollectionVerbs.reliability)
def reliability(arguments: Namespace) -> Any:
    """How far the order of runs can be relied on.

    Prints the discriminative power and the swap rate of each metric, and Kendall's tau of the
    orders by two metrics.

    $ rankframe reliability runs.parquet --run system -m ndcg@10,map
    $ rankframe reliability bm25.run dense.run ltr.run --qrels qrels.txt -m ndcg@10 -m rr \
        --difference 0.02 --format csv
    """
    return reading.answered(arguments, "comparing")


@command(
    options={"--metric": {"default": "ndcg@10"}},
    files="*",
    verb=lambda: CollectionVerbs.label_agreement,
)
def label_agreement(arguments: Namespace) -> Any:
    """How far judges agree, and whether they put runs in one order.

    --labels COLUMN,COLUMN  the columns of the judges' labels in RUN, people's first
    --tables FILE,FILE  in place of RUN: the judgments of each judge, in a file named after the
        judge
    -m, --metric METRIC  the metric of the runs; default: ndcg@10

    $ rankframe label_agreement table.parquet --labels label,label_llm --runs bm25,ltr
    $ rankframe label_agreement table.parquet --labels label,label_llm,label_expert \
        --runs bm25,ltr -m map --format json
    $ rankframe label_agreement --tables people.txt,llm.txt
    """
    advice = "name the judges: --labels label,label_llm of a table, or --tables people.txt,llm.txt"
    refuse((arguments.labels is None) == (arguments.tables is None), advice)
    if arguments.tables is None:
        return reading.answered(arguments, "comparing judges", *arguments.labels.split(","))
    paths = arguments.tables.split(",")
    judgments = []
    for path in paths:
        of_judge = Namespace(**{**vars(arguments), "qrels": path})
        judgments.append(reading.judgments_of(of_judge).table)
    tables = dict(zip(reading.names_of_runs(paths), judgments, strict=True))
    collection = reading.ranker(judgments[0], arguments).collection
    return collection.label_agreement(tables=tables, **reading.values_of(arguments))


@command(
    options={"--original": {"action": "append", "required": True}},
    files="+",
    metrics=DEFAULT_METRICS,
    verb=lambda: CollectionVerbs.reproduces,
)
def reproduces(arguments: Namespace) -> Any:
    """How far runs reproduce original ones, as in repro_eval.

    --original RUN=ORIGINAL  a run and the one that it reproduces, the baseline first; may be
        repeated

    $ rankframe reproduces old.run new.run --qrels qrels.txt -m ndcg@10 --original new=old
    $ rankframe reproduces table.parquet -m map --original new_bm25=bm25 --original new_ltr=ltr
    """
    originals = {}
    for text in arguments.original:
        run, _, original = text.partition("=")
        refuse(not original, "--original names two runs, as --original new=old")
        originals[run] = original
    arguments.original = originals
    if len(arguments.files) == 1 and arguments.run is None:
        arguments.runs = list(dict.fromkeys([*originals.values(), *originals]))
    return reading.answered(arguments, "comparing")


@command(
    options={"--output": {"required": True}, "--budget": BUDGET},
    files="+",
    metrics=DEFAULT_METRICS,
    verb=lambda: PolarsRanker.report,
    formats=(),
)
def report(arguments: Namespace) -> Answer:
    """Write an HTML file that says how good runs are; print its path.

    -o, --output FILE  where to write it: .html
    --budget METRIC=NUMBER  how much worse the mean of a metric may be

    $ rankframe report bm25.run --qrels qrels.txt -o report.html
    $ rankframe report bm25.run dense.run --qrels qrels.txt -m ndcg@10 -m map --baseline bm25 \
        --budget map=0.01 -o report.html
    $ rankframe report table.parquet --runs bm25,ltr --by market --show title -o report.html
    """
    target = writable(arguments.output, _pictures.report_page.ENDINGS)
    metrics = reading.metrics_of(arguments)
    options = reading.values_of(arguments)
    of_gate = first_run(arguments)
    of_gate |= {x: options[x] for x in ("baseline", "resamples", "seed") if x in options}
    budgets: Any = budgets_of(arguments) if arguments.budgets else {}
    also = reading.reads_of(arguments, PolarsRanker.gate, budgets, **of_gate) if budgets else set()
    asked = (PolarsRanker.report, target, *metrics)
    ranker, runs = reading.ranked(arguments, *asked, also=also, **options)
    with Progress("writing the report"):
        verdict = ranker.gate(budgets, **runs, **of_gate) if budgets else None
        path = ranker.report(target, *metrics, **runs, **options, gate=verdict)
    return str(path)


@command(
    files=1,
    metrics=("coverage@10", "gini@10", "personalization@10"),
    verb=lambda: ItemVerbs.catalog,
)
def catalog(arguments: Namespace) -> Any:
    """Metrics of what all users are shown, such as coverage and Gini.

    $ rankframe catalog bm25.run -m coverage@10,gini@10 --items 1000
    $ rankframe catalog table.parquet --items catalog.csv --by market \
        --format csv > catalog_metrics.csv
    $ rankframe catalog table.parquet -m popularity_lift@10 --interactions train.csv --score ltr
    """
    return reading.answered(arguments, "counting items")


@command(files=1, metrics=DEFAULT_METRICS, verb=lambda: PolarsRanker.compare_groups)
def compare_groups(arguments: Namespace) -> Answer:
    """How far apart the means of groups are, and whether by chance.

    $ rankframe compare_groups table.parquet -m ndcg@10 --by market
    $ rankframe compare_groups bm25.run --qrels market.parquet -m ndcg@10,rr --by market \
        --format json
    """
    groups = reading.answered(arguments, "comparing groups")
    return OutputTable(groups.table, sentences=groups.sentences())


@command(
    options={
        "--method": {
            "default": "rrf",
            "help": f"one of {', '.join(FUSIONS)}, with its options, as 'rrf(k=10)'; default: rrf",
        }
    },
    files="+",
    verb=lambda: PolarsRanker.fuse,
    formats=(*FORMATS, "trec"),
    endings=TREC,
)
def fuse(arguments: Namespace) -> Any:
    """Merge several runs into one, with a fused score per document.

    --method METHOD  the method

    $ rankframe fuse bm25.run dense.run --method rrf -o fused.run
    $ rankframe fuse bm25.run dense.run --method 'wsum(weights=[0.7,0.3])' --normalize min_max \
        --depth 100 -o fused.run
    $ rankframe fuse table.parquet --runs bm25,ltr --method comb_mnz --normalize min_max \
        -o fused.parquet
    $ rankframe fuse bm25.run dense.run --qrels qrels.txt --format csv > fused.csv
    """
    fused = reading.answered(arguments, "fusing", arguments.method, labels=False)
    if arguments.format == "trec":
        return as_lines(arguments, rf.write_run, fused, run="fused")
    rows = fused.with_row_index("row")
    first_of_query = pl.col("row").min().over("query_id")
    falling = [False, True, True]
    best_first = rows.sort(first_of_query, "score", "doc_id", descending=falling, nulls_last=True)
    return best_first.drop("row")


def as_lines(
    arguments: Namespace, write: Callable[..., None], table: pl.DataFrame, **options: Any
) -> Answer:
    """The lines that a function writes of a table, in the file if there is one."""
    text = BytesIO()
    write(table, arguments.target or text, **options)
    return None if arguments.target else text.getvalue().decode()


@command(
    options={
        "--method": {"action": "append", "required": True},
        "--metric": {"default": "ndcg@10"},
    },
    files="+",
    verb=lambda: PolarsRanker.tune,
)
def tune(arguments: Namespace) -> Any:
    """Choose weights of a fusion by cross-validation over queries.

    --method METHOD  the method whose open weights and options are tuned; may be repeated, to choose
        one of several
    -m, --metric METRIC  the metric; default: ndcg@10

    $ rankframe tune bm25.run dense.run --qrels qrels.txt --method wsum --normalize min_max \
        -m ndcg@10 --folds 2
    $ rankframe tune table.parquet --runs bm25,ltr --method rrf --method comb_mnz \
        --normalize min_max --folds 2 --format csv
    """
    methods = arguments.method[0] if len(arguments.method) == 1 else arguments.method
    return reading.answered(arguments, "tuning", methods)


OF_BOTH_FILES = (
    "query without judgments", "nothing retrieved", "repeated judgment",
    "document without score", "ids alike",
)  # fmt: skip
"""The problems that only a run and its judgments have together."""


@command(files="+", verb=lambda: CollectionVerbs.pool)
def pool(arguments: Namespace) -> Any:
    """The documents of several runs to judge, the most useful first.

    $ rankframe pool bm25.run dense.run --depth 10 -o to_judge.csv
    $ rankframe pool bm25.run dense.run --rbp 0.8 --size 20
    $ rankframe pool runs.parquet --run system --depth 100 --format ndjson
    """
    return reading.answered(arguments, "pooling", labels=False)


@command(files="+", verb=lambda: ClickVerbs.propensities)
def propensities(arguments: Namespace) -> Any:
    """How often users examine each rank, from a log of clicks.

    $ rankframe propensities log.csv --query session --doc item --rank position --label clicked \
        --context query
    $ rankframe propensities log.parquet --run ranker --rank position --label clicked \
        --method swap -o propensities.csv
    """
    return reading.answered(arguments, "counting clicks", labels=False)


@command(files=1, verb=lambda: PolarsRanker.check)
def check(arguments: Namespace) -> Outcome:
    """What is wrong with a run and its judgments, or worth knowing.

    Prints a row per kind of finding, with the places of the first few; as CSV and JSON a row per
    finding. An error stops every metric, and check exits with 1; a note does not, unless --fail-on
    names its problem.

    $ rankframe check bm25.run --qrels qrels.txt
    $ rankframe check table.parquet --format json
    $ rankframe check clicks.csv --query session --doc item --label clicks \
        --format csv > findings.csv
    """
    measure.judge.refuse_unknown(arguments.fail_on)
    rows = findings(arguments).sort("severity", maintain_order=True)
    kinds = measure.judge.Findings.of(rows)
    unwanted = measure.judge.failing(kinds.table.to_dicts(), ["error", *(arguments.fail_on or ())])
    return Outcome(OutputTable(kinds.rows, result=kinds), int(bool(unwanted)))


def _findings_in(ranker: Ranker[pl.DataFrame], qrels: pl.DataFrame | None = None) -> pl.DataFrame:
    table = in_memory(ranker._frame, ranker._setup, spelling=spelled)
    return measure.judge.check(table, qrels).rows


def findings(arguments: Namespace) -> pl.DataFrame:
    """The findings of a table, or of a run and its judgments, each alone and joined."""
    (run,), qrels = reading.runs_and_judgments(arguments, None, once=False)
    if qrels is None:
        return _findings_in(reading.ranker(run, arguments))
    unlabelled = rf.rank(run.drop("label", strict=False)).on(subtopic=arguments.subtopic)
    of_files = _findings_in(unlabelled, qrels)
    of_both = of_files.filter(pl.col("problem").is_in(OF_BOTH_FILES))
    if of_files["problem"].is_in(("repeated document", "repeated judgment")).any():
        return of_files  # the files cannot be joined
    with warnings.catch_warnings(), reading.of_file(reading.shown_path(arguments.files[0])):
        warnings.simplefilter("ignore", RankframeWarning)  # the findings include these warnings
        reads = reading.reads_of(arguments, PolarsRanker.evaluate)
        joined = reading.join(arguments, run, qrels, reads, judged_only="keep", run_only="drop")
        of_join = _findings_in(reading.ranker(joined, arguments))
    reported = of_both.select("query_id", problem=pl.lit("nothing retrieved"))
    key = ["query_id", "problem"]
    of_join = of_join.join(reported, on=key, how="anti", maintain_order="left")
    return pl.concat([of_both, of_join], how="diagonal_relaxed")


@command(files="?", metrics=("ndcg@10",))
def conventions(arguments: Namespace) -> Answer:
    """How other tools count, and what each would print for a run.

    --explain METRIC  one metric, and how each tool counts it, in words
    --observed NUMBER  with RUN and --explain: a value of the metric that you saw elsewhere; names
        the tools that print it

    Without a run, prints what each tool's convention sets. Given a run, prints the metric as each
    tool counts it, side by
    side, and which of the tool's choices make the difference; --observed names the tools that print
    a number.

    $ rankframe conventions
    $ rankframe conventions bm25.run --qrels qrels.txt -m ndcg@10
    $ rankframe conventions table.parquet -m map -m rr --format json
    $ rankframe conventions --explain ndcg@10
    $ rankframe conventions bm25.run --qrels qrels.txt --explain ndcg@10 --observed 0.81
    """
    run = arguments.files
    metric = arguments.explain
    _refuse_other_conventions(arguments)
    if metric is not None:
        return _explained(
            of_run(arguments, [metric]) if run else audit.tool_comparison.explained(metric),
            arguments,
        )
    is_for_people = arguments.format in FOR_PEOPLE
    if run:
        texts = [call.text for call in calls_of(*reading.metrics_of(arguments))]
        table = of_run(arguments, texts).drop("says")
    else:
        table = all_conventions(one_column=is_for_people)
    if not is_for_people:
        return table
    # each tool's note on a line below, since the longest would fill a screen's width
    return OutputTable(table.drop("note"), notes_of(table), wraps=("settings", "metrics"))


def _refuse_other_conventions(arguments: Namespace) -> None:
    """Refuse several runs, and options that go with a run or with a metric."""
    run = arguments.files
    is_explained = arguments.explain
    asked = arguments.metrics
    refuse(len(run) > 1, "conventions looks at one RUN. Leave the others out")
    incomplete = "--observed goes with a run and a metric: RUN --qrels QRELS --explain ndcg@10"
    refuse(arguments.observed is not None and not (run and is_explained), incomplete)
    refuse(is_explained and asked is not None, "--explain names the metric. Leave -m out")
    if not run and not is_explained:
        lone = "go with a run: rankframe conventions RUN --qrels QRELS -m ndcg@10"
        refuse((arguments.qrels, asked) != (None, None), f"--qrels and -m {lone}")


def _explained(table: pl.DataFrame, arguments: Namespace) -> Answer:
    """How each tool counts a metric; for people in sentences, each with its tool."""
    if arguments.format not in FOR_PEOPLE:
        return table
    rows = table.filter(pl.col("says") != "").select("tool", "says").rows()
    names_tools = "difference" in table.columns
    sentences = [text if names_tools else f"{tool}: {text}" for tool, text in rows]
    return OutputTable(table.drop("says", "note"), [*sentences, *notes_of(table)])


def all_conventions(*, one_column: bool) -> pl.DataFrame:
    """A row for each set of a tool's metrics that it counts alike.

    Both kinds of settings may be in one column, so that rows fit 80 letters.
    """
    rows = []
    for tool, convention in CONVENTIONS.items():
        rows += rows_of(tool, convention)
    columns = ["tool", "policies", "options", "metrics", "note"]
    table = pl.DataFrame(rows, orient="row", schema=columns)
    if not one_column:
        return table
    is_given = pl.element() != ""
    both = pl.concat_list("policies", "options").list.eval(pl.element().filter(is_given))
    return table.select("tool", both.list.join(", ").alias("settings"), "metrics", "note")


def notes_of(table: pl.DataFrame) -> list[str]:
    """A line for each tool with a note."""
    notes = table.unique("tool", maintain_order=True).filter(pl.col("note") != "")
    return [f"{tool}: {note}" for tool, note in notes.select("tool", "note").rows()]


def rows_of(tool: str, convention: Convention) -> list[tuple[str, ...]]:
    """A row for each set of a tool's metrics with the same policies and options."""
    names_by_settings = defaultdict(list)
    every = {**rf.METRICS, **rf.CATALOG_METRICS}
    for name, settings in convention.metrics.items():
        options: dict[str, object] = {}
        policies = dict(convention.policies)
        for key, value in settings.items():
            group = options if key in every[name].parameters else policies
            group[key] = value
        names_by_settings[listed(policies), listed(options)].append(name)
    note = convention.note
    return [(tool, *how, " ".join(names), note) for how, names in names_by_settings.items()]


def listed(settings: Mapping[str, object]) -> str:
    """Settings as text."""
    return ", ".join(
        f"{name}={audit.tool_comparison.short(value)}" for name, value in settings.items()
    )


def of_run(arguments: Namespace, metrics: Sequence[str]) -> pl.DataFrame:
    """A row per metric and tool that has it: the value it prints, and what makes the difference."""
    ranker, _ = reading.ranked(arguments, PolarsRanker.conventions, metrics[0])
    rows = in_memory(ranker._frame, ranker._setup, spelling=spelled)
    with Progress("evaluating"):
        return pl.concat(
            audit.tool_comparison.conventions(rows, metric, arguments.observed).table
            for metric in metrics
        )


OF_JUDGMENTS = get_args(QrelsFormat)


@command(
    files="*",
    formats=(*FORMATS, *OF_JUDGMENTS),
    endings={**TREC, ".qrels": "trec"},
    usual_format="csv",
    about_formats=(
        "trec is a run or, without RUN, judgments; beir, quepid and rank_eval are judgments; "
    ),
)
def convert(arguments: Namespace) -> Answer:
    """Write runs and judgments in another format.

    --index NAME  with --format rank_eval, the index that holds the documents

    Reads runs, judgments (--qrels alone), or both, joined to one table, from any format that the
    other commands read.
    Several runs become one table, whose column run names the run of each row.

    $ rankframe convert bm25.run -o bm25.parquet
    $ rankframe convert --qrels qrels.txt -o qrels.csv
    $ rankframe convert bm25.run dense.run --qrels qrels.txt -o judged.parquet
    $ rankframe convert table.parquet --score ltr -o ltr.run.gz
    $ rankframe convert --qrels table.parquet --format trec > judgments.txt
    $ rankframe convert --qrels qrels.txt --format beir > test.tsv
    """
    kind = arguments.format
    runs = arguments.files
    qrels = arguments.qrels
    nothing = "name what to convert: a run, judgments as --qrels QRELS, or both"
    refuse(not runs and qrels is None, nothing)
    if runs and kind == "trec":
        refuse(qrels, "--format trec has no place for labels. Leave --qrels out")
    elif runs and kind in OF_JUDGMENTS:
        alone = "holds judgments alone. Name them with --qrels; leave RUN out"
        refuse(True, f"--format {kind} {alone}")
    one_run = "--format trec holds one run. Name its column with --score instead of --runs"
    refuse(arguments.runs and kind == "trec", one_run)
    table = run_table(arguments) if runs else reading.judgments_of(arguments).table
    table = whole_labels(table)
    if kind not in OF_JUDGMENTS:
        return table
    if not runs:
        return as_lines(arguments, rf.write_qrels, table, format=kind, index=arguments.index)
    places = (*COLUMNS[:3], "run")
    if lost := [name for name in table.columns if name not in places]:
        note(f"columns that have no place in TREC text, left out: {', '.join(lost)}")
    run = None if "run" in table.columns else reading.names_of_runs(runs)[0]
    return as_lines(arguments, rf.write_run, table, run=run)


def run_table(arguments: Namespace) -> pl.DataFrame:
    """The runs with all their columns, joined with the judgments if they are given."""
    table, _ = reading.judged(arguments, None, labels=False)
    if arguments.rank is not None:  # --rank named a column of ranks in place of scores
        table = table.with_columns(score=1 / pl.col("score"))
    if "run" in table.columns:
        names = table["run"].drop_nulls().unique()
        if len(names) == 1:  # judged documents that the run missed have none
            table = table.with_columns(pl.col("run").fill_null(names[0]))
    return table


def whole_labels(table: pl.DataFrame) -> pl.DataFrame:
    """The table with labels as whole numbers, if all of them are."""
    if "label" not in table.columns or not table.schema["label"].is_float():
        return table
    labels = table["label"]
    whole = labels.cast(pl.Int64, strict=False)
    is_exact = whole.cast(pl.Float64).equals(labels)
    return table.with_columns(whole) if is_exact else table
