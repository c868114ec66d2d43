"""Commands that read no table: the metrics as SQL, their declarations, and an example."""

from __future__ import annotations

import re
import textwrap
from argparse import Namespace
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from inspect import Parameter
from typing import Any

import polars as pl

import rankframe as rf

from .._catalog.names import UNCLEAR
from .._catalog.parse import texts_of
from .._catalog.registry import Metric, find
from .._support.docstrings import entries, sections, summary
from .._support.whole_files import write_whole
from ..errors import UnknownMetric
from . import reading
from .command import (
    COLUMN_OPTIONS,
    DEFAULT_METRICS,
    POLICIES,
    TABLES_OF_ITEMS,
    command,
    keywords,
)
from .output import FOR_PEOPLE, Answer, OutputTable, formatted, refuse, writable

USAGE = "A metric takes a cutoff and options: ndcg@10, 'ndcg(gain=exponential)@5', 'rbp(p=0.95)'."
ONLY = "Only rankframe catalog takes {}.", "No command takes {}; in Python df.rank.agreement does."
ELSEWHERE = tuple(zip((rf.CATALOG_METRICS, rf.AGREEMENTS), ONLY, strict=True))
"""The metrics that commands such as evaluate do not take, and what does."""

UNSET = {"default": None}
OF_SQL = {
    "--dialect": {"required": True},
    "--names": {"dest": "column_names", "action": "append"},
    "--runs": {"action": "append", **UNSET}, "--run": UNSET, "--baseline": UNSET,
}  # fmt: skip


@command(options=OF_SQL, metrics=DEFAULT_METRICS, verb=lambda: rf.sql, formats=())
def sql(arguments: Namespace) -> Answer:
    """Write metrics as one SELECT for a warehouse.

    --dialect DIALECT  bigquery, clickhouse, databricks, duckdb, mysql (MariaDB, too), oracle,
        postgres, redshift, snowflake, spark, sqlite, trino or tsql (SQL Server)
    --runs COLUMN  a column of scores of a run, of several side by side; repeat it for each
    --run COLUMN  the column that names the run of each row; judgments without it hold for each run
    --baseline RUN  with --partial, the run that the others are compared with
    --rows  a row per document, with the metrics of its query
    --partial  the sums of each metric that merge over days and slices
    --checks  a statement that lists what is wrong in the table
    --names NAME  text for the metrics' texts as names of columns, in quotes, or another tool's
        names of columns; may be repeated
    -o, --output FILE  the file to write; default: standard output

    No database is asked: the text is for you to run, or to keep as a model of dbt.

    $ rankframe sql -m ndcg@10 -m map --dialect bigquery --table analytics.judged --query session_id
    $ rankframe sql -m ndcg@10 --dialect snowflake --table "{{ ref('run') }}" \
        --judgments "{{ ref('qrels') }}" --by market -o m.sql
    $ rankframe sql --checks --dialect postgres --table judged
    """
    target = None if arguments.output is None else writable(arguments.output)
    asked = arguments.metrics is not None
    refuse(arguments.checks and asked, "--checks has no metrics. Leave -m out")
    metrics = [] if arguments.checks else reading.metrics_of(arguments)
    of_sql = [name for name in (*keywords(rf.sql), "run", "runs") if name != "names"]
    names = (*COLUMN_OPTIONS, *POLICIES, *TABLES_OF_ITEMS, *of_sql)
    given = {name: getattr(arguments, name) for name in names}
    if given["rank"] is not None:
        del given["score"], given["ascending"]  # which stand for the ranks
    if given["query"] is not None:
        given["query"] = given["query"].split(",")
    given = {name: value for name, value in given.items() if value is not None}
    text = rf.sql(*metrics, **given, names=arguments.column_names)
    if target is None:
        return text
    write_whole(target, text.encode())
    return None


@command(options={"NAME": {"dest": "texts", "nargs": "*"}})
def metrics(arguments: Namespace) -> Answer:
    """List the metrics and their other names, or tell all of one.

    NAME  a metric, as ndcg@10, which is described in full, or a part of names, as precis; default:
        all metrics

    With names, lists the metrics that have one of them in their names; of a single metric it prints
    the options, the range of the values and the source, too. csv, json and the like have these
    columns for every metric.

    $ rankframe metrics
    $ rankframe metrics ndcg@10
    $ rankframe metrics precision reciprocal
    $ rankframe metrics --format json > metrics.json
    """
    every = {**rf.METRICS, **rf.CATALOG_METRICS, **rf.AGREEMENTS}
    texts = [text for given in arguments.texts for text in texts_of(given)]
    listed = list(every.values())
    if texts:
        names = {metric.name for text in texts for metric in meant(text, every)}
        listed = [metric for name, metric in every.items() if name in names]
    if arguments.format not in FOR_PEOPLE:
        return table_of(listed)
    notes = []
    for elsewhere, note in ELSEWHERE:
        if there := [metric.name for metric in listed if metric.name in elsewhere]:
            notes.append(note.format(", ".join(there)))
    if len(listed) == 1:
        return page_of(listed[0], every, notes)
    table = table_of(listed)
    others = pl.format(" Also {}.", "other names")
    also = pl.when(pl.col("other names") != "").then(others).otherwise(pl.lit(""))
    # in two columns, which fit narrow terminals
    narrow = table.select("metric", pl.concat_str("what it is", also))
    return OutputTable(narrow, [USAGE, *notes], wraps=["what it is"])


def table_of(metrics: Iterable[Metric]) -> pl.DataFrame:
    """A row for each metric: all that is declared of it."""
    return pl.DataFrame([record(metric) for metric in metrics])


def page_of(metric: Metric, every: Mapping[str, Metric], notes: Sequence[str]) -> OutputTable:
    """All that is declared of a metric, in lines, and the metrics with its name in theirs."""
    name = metric.name
    others = [x.name for x in every.values() if x is not metric and f"_{name}_" in f"_{x.name}_"]
    rows = {key: text for key, text in record(metric).items() if text}
    for key in ("metric", "options"):
        rows.pop(key, None)
    for option, text in described(metric):
        rows[f"option {option}"] = text
    if others:
        notes = [*notes, f"Other metrics with {name!r} in their names: {', '.join(others)}."]
    table = pl.DataFrame({"metric": list(rows), name: list(rows.values())})
    return OutputTable(table, notes, wraps=[name])


def meant(text: str, every: Mapping[str, Metric]) -> list[Metric]:
    """The metric that a text names.

    Where it names none, all with the text in one of their names, in whatever case.
    """
    with suppress(UnknownMetric):  # a metric's own page needs no options, even required ones
        metric, *_ = find(text, text, every)
        return [metric]
    with suppress(UnknownMetric):
        return [call.metric for call in rf.parse(text, every)]
    part = plain(text)
    in_names = [x for x in every.values() if any(part in plain(name) for name in names_of(x))]
    in_tools = [every[name] for name in UNCLEAR.get(part, {}).values() if name]
    return [*in_names, *in_tools] or [call.metric for call in rf.parse(text)]


def plain(name: str) -> str:
    """A name as names are compared."""
    return re.sub(r"[\W_]+", "_", name.lower())


def names_of(metric: Metric) -> tuple[str, ...]:
    """All names of a metric, the one in its documentation among them."""
    title, colon, _ = summary(metric.doc).partition(":")
    shown = (metric.display or "", title if colon else "")
    return (metric.name, *metric.aliases, *metric.spellings, *shown)


def record(metric: Metric) -> dict[str, str]:
    """The declarations of a metric, each as text."""
    about, parts = sections(metric.doc)
    first, *more = about.split("\n\n")
    prose = " ".join(text for text in more if not text.startswith(".. math::"))
    low, high = metric.bounds
    ends = []
    if low is not None:
        ends.append(f"from {low:g}")
    if high is not None:
        ends.append(f"to {high:g}")
    others = [*metric.aliases]
    for name, given in metric.spellings.items():
        others.append(f"{name} ({options_of(given)})" if given else name)
    defaults = {name: parameter.default for name, parameter in metric.parameters.items()}
    texts = {"metric": metric.name, "other names": ", ".join(others)}
    texts |= {"what it is": in_words(first), "more": in_words(prose)}
    texts["options"] = options_of(defaults)
    texts["value"] = in_words(parts.get("Returns", "")) or " ".join(ends)
    texts["reads"] = ", ".join(f"--{name}" for name in metric.needs)
    texts["source"] = in_words(parts.get("References", ""))
    return texts


def options_of(values: Mapping[str, object]) -> str:
    """Options with their values, as in a text; one that has to be given has none."""
    texts = []
    for name, value in values.items():
        texts.append(name if value is Parameter.empty else f"{name}={value}")
    return ", ".join(texts)


def described(metric: Metric) -> Iterator[tuple[str, str]]:
    """The options of a metric, each with its meaning and its default."""
    parts = sections(metric.doc)[1].get("Parameters", "")
    about = {name: text for names, text in entries(parts) for name in names.split(", ")}
    for name, parameter in metric.parameters.items():
        usual = f"default: {parameter.default}"
        if parameter.default is parameter.empty:
            usual = "to be given"
        yield name, f"{in_words(about.get(name, ''))} ({usual})".strip()


def in_words(text: str) -> str:
    """A text of the documentation in one line, with names for links and without marks of code."""
    text = re.sub(r":\w+:`[~.\w]*?(\w+)`", r"`\1`", text)
    return " ".join(text.replace("``", "`").split())


SCORERS = ("score", "score_pca", "score_forest")
DEMO_METRICS = ("ndcg@10", "map", "precision@10", "recall@50")

CODE = """\
import polars as pl
import rankframe as rf

df = rf.load_example()
metrics = ["ndcg@10", "map", "precision@10", "recall@50"]
per_query = df.rank.evaluate(*metrics)                             # one row per query
per_query.drop("query_id").mean()                                  # the means of `score`
df.rank.on(score="score_pca").evaluate("ndcg@10")                  # another scorer
worst = per_query.bottom_k(3, by="ndcg@10")                        # the worst queries
df.join(worst, on="query_id", how="semi").rank.explain("ndcg@10")  # what each document contributed\
"""


@command(formats=())
def demo(arguments: Namespace) -> Answer:
    """Evaluate a small real table; show what cost the worst queries.

    $ rankframe demo
    """
    df = rf.load_example()
    per_query = rf.rank(df).evaluate(*DEMO_METRICS)
    columns: dict[str, Any] = {"metric": DEMO_METRICS}
    for scorer in SCORERS:
        values = rf.rank(df).on(score=scorer).evaluate(*DEMO_METRICS)
        columns[scorer] = values.drop("query_id").mean().row(0)
    means = formatted(OutputTable(pl.DataFrame(columns)), "table")
    worst = per_query.bottom_k(3, by="ndcg@10").sort("ndcg@10")
    costs = rf.rank(df.join(worst, on="query_id", how="semi")).explain("ndcg@10")
    digits = df.select("query_id", "doc_id", "digit", "doc_digit")
    costs = costs.join(digits, on=["query_id", "doc_id"])
    stories = [indented("\n".join(story(row, costs))) for row in worst.rows(named=True)]
    parts = [textwrap.fill(about_example(df, len(per_query)), 90)]
    parts += ["Means over the queries", indented(means)]
    parts += ["The worst queries by ndcg@10 of `score`, and what cost them", *stories]
    parts += ["The same in Python", indented(CODE), "Your own files: rankframe evaluate --help"]
    return "\n\n".join(parts)


def about_example(df: pl.DataFrame, n_queries: int) -> str:
    """What the example table holds."""
    return (
        f"{n_queries} images of handwritten digits, each a query for images of the same digit. "
        "Three scorers searched: the cosine of the pixels, a distance in six principal components, "
        f"and a random forest. {len(df):,} rows, {df['label'].count():,} of them judged: "
        "label 2 is the same digit, 1 the digit that looks most like it, 0 another one."
    )


indented = partial(textwrap.indent, prefix="  ")


def story(row: dict[str, Any], costs: pl.DataFrame) -> list[str]:
    """The first documents of a query, and those that were ranked too high, too low or nowhere."""
    documents = costs.filter(query_id=row["query_id"]).sort("rank", "doc_id", nulls_last=True)
    top = documents.filter(pl.col("rank") <= 10)
    same = documents.filter(pl.col("label") == 2)
    too_high = pl.format("#{} {} (label {})", "rank", "doc_id", "label")
    too_low = pl.format("#{} {}", "rank", "doc_id")
    wrong = top.filter(pl.col("label") < 2).select(too_high)
    low = same.filter(pl.col("rank") > 10).select(too_low)
    missed = same.filter(pl.col("rank").is_null()).select("doc_id")
    digit = documents["digit"][0]
    return [
        f"{row['query_id']}, a handwritten {digit}: ndcg@10 = {row['ndcg@10']:.4f}",
        f"  first ten        {' '.join(map(str, top['doc_digit']))}",
        f"  ranked too high  {first_of(wrong)}",
        f"  ranked too low   {first_of(low)}",
        f"  never returned   {first_of(missed)}",
    ]


def first_of(frame: pl.DataFrame, n: int = 3) -> str:
    """The first few values of a column, and the number of further ones."""
    values = frame.to_series()
    texts = [*values.head(n)]
    if len(values) > n:
        texts.append(f"{len(values) - n} more")
    return ", ".join(texts) or "none"
