"""Commands that read no table: the metrics as SQL, the metrics with all that is declared of them, and the example table, evaluated."""

from __future__ import annotations

import re
import textwrap
from argparse import Namespace
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import partial
from inspect import Parameter
from typing import Any

import polars as pl

import rankframe as rf

from .._catalog.names import UNCLEAR
from .._catalog.parse import texts_of
from .._catalog.registry import Metric, find
from .._support.docstrings import entries, sections
from .._support.whole_files import write_whole
from ..errors import UnknownMetric
from . import reading
from .command import (
    COLUMN_OPTIONS,
    DEFAULT_METRICS,
    POLICIES,
    TABLES_OF_ITEMS,
    Outcome,
    command,
    keywords,
)
from .output import FOR_PEOPLE, OutputTable, formatted, refuse, writable

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
def sql(arguments: Namespace) -> Outcome:
    """Write metrics as one SELECT for a warehouse.

    --dialect DIALECT  bigquery, clickhouse, databricks, duckdb, mysql (MariaDB, too), oracle, postgres, redshift, snowflake,
        spark, sqlite, trino or tsql (SQL Server)
    --runs COLUMN  a column of scores of a run, of several side by side; repeat it for each
    --run COLUMN  the column that names the run of each row; judgments without it hold for each run
    --baseline RUN  with --partial, the run that the others are compared with
    --rows  a row per document, with the metrics of its query
    --partial  the sums of each metric that merge over days and slices
    --checks  a statement that lists what is wrong in the table
    --names NAME  text for the metrics' texts as names of columns, in quotes, or another tool's names of columns; may be repeated
    -o, --output FILE  the file to write; default: standard output

    No database is asked: the text is for you to run, or to keep as a model of dbt.

    $ rankframe sql -m ndcg@10 -m map --dialect bigquery --table analytics.judged --query session_id
    $ rankframe sql -m ndcg@10 --dialect snowflake --table "{{ ref('run') }}" --judgments "{{ ref('qrels') }}" --by market -o m.sql
    $ rankframe sql --checks --dialect postgres --table judged
    """
    target = None if arguments.output is None else writable(arguments.output)
    refuse(
        (
            arguments.checks and arguments.metrics is not None,
            "--checks has no metrics. Leave -m out",
        )
    )
    metrics = [] if arguments.checks else reading.metrics_of(arguments)
    of_sql = [name for name in (*keywords(rf.sql), "run", "runs") if name != "names"]
    given = {
        name: getattr(arguments, name)
        for name in (*COLUMN_OPTIONS, *POLICIES, *TABLES_OF_ITEMS, *of_sql)
    }
    if given["rank"] is not None:
        del given["score"], given["ascending"]  # which stand for the ranks
    given["query"] = None if given["query"] is None else given["query"].split(",")
    given = {name: x for name, x in given.items() if x is not None}
    text = rf.sql(*metrics, **given, names=arguments.column_names)
    if target is None:
        return Outcome(text)
    write_whole(target, text.encode())
    return Outcome(None)


@command(options={"NAME": {"dest": "texts", "nargs": "*"}})
def metrics(arguments: Namespace) -> Outcome:
    """List the metrics and their other names, or tell all of one.

    NAME  a metric, as ndcg@10, which is described in full, or a part of names, as precis; default: all metrics

    With names, lists the metrics that have one of them in their names; of a single metric it prints the options, the range
    of the values and the source, too. csv, json and the like have these columns for every metric.

    $ rankframe metrics
    $ rankframe metrics ndcg@10
    $ rankframe metrics precision reciprocal
    $ rankframe metrics --format json > metrics.json
    """
    every = {**rf.METRICS, **rf.CATALOG_METRICS, **rf.AGREEMENTS}
    texts = [text for given in arguments.texts for text in texts_of(given)]
    names = {metric.name for text in texts for metric in meant(text, every)}
    found = [metric for name, metric in every.items() if name in names or not texts]
    table = pl.DataFrame([record(metric) for metric in found])
    if arguments.format not in FOR_PEOPLE:
        return Outcome(OutputTable(table))
    elsewhere = [([x.name for x in found if x.name in among], note) for among, note in ELSEWHERE]
    notes = [note.format(", ".join(there)) for there, note in elsewhere if there]
    if len(found) > 1:
        also = (
            pl.when(pl.col("other names") != "")
            .then(pl.format(" Also {}.", "other names"))
            .otherwise(pl.lit(""))
        )
        listed = table.select(
            "metric", pl.concat_str("what it is", also)
        )  # in two columns, which fit narrow terminals
        return Outcome(OutputTable(listed, [USAGE, *notes], wraps=["what it is"]))
    (metric,) = found
    others = [
        x.name for x in every.values() if x is not metric and f"_{metric.name}_" in f"_{x.name}_"
    ]
    notes += (
        [f"Other metrics with {metric.name!r} in their names: {', '.join(others)}."]
        if others
        else []
    )
    rows = {
        name: text
        for name, text in record(metric).items()
        if text and name not in ("metric", "options")
    }
    rows |= {f"option {name}": text for name, text in described(metric)}
    declared = pl.DataFrame({"metric": [*rows], metric.name: [*rows.values()]})
    return Outcome(OutputTable(declared, notes, wraps=[metric.name]))


def meant(text: str, every: Mapping[str, Metric]) -> list[Metric]:
    """The metric that a text names; or else all with the text in one of their names, in whatever case."""
    with suppress(UnknownMetric):
        return [
            find(text, text, every)[0]
        ]  # a metric's own page needs no options, even required ones
    with suppress(UnknownMetric):
        return [call.metric for call in rf.parse(text, every)]
    part = plain(text)
    in_names = [
        metric for metric in every.values() if any(part in plain(name) for name in names_of(metric))
    ]
    in_tools = [every[name] for name in UNCLEAR.get(part, {}).values() if name]
    return [*in_names, *in_tools] or [call.metric for call in rf.parse(text)]


def plain(name: str) -> str:
    """A name as names are compared."""
    return re.sub(r"[\W_]+", "_", name.lower())


def names_of(metric: Metric) -> tuple[str, ...]:
    """All names of a metric, the one in its documentation among them."""
    title, colon, _ = metric.doc.partition("\n")[0].partition(":")
    return (
        metric.name,
        *metric.aliases,
        *metric.spellings,
        metric.display or "",
        title if colon else "",
    )


def record(metric: Metric) -> dict[str, str]:
    """The declarations of a metric, each as text."""
    about, parts = sections(metric.doc)
    first, *more = about.split("\n\n")
    low, high = metric.bounds
    ends = [
        *([] if low is None else [f"from {low:g}"]),
        *([] if high is None else [f"to {high:g}"]),
    ]
    implied = (
        f"{name} ({options_of(given)})" if given else name
        for name, given in metric.spellings.items()
    )
    return {
        "metric": metric.name,
        "other names": ", ".join((*metric.aliases, *implied)),
        "what it is": in_words(first),
        "more": in_words(" ".join(text for text in more if not text.startswith(".. math::"))),
        "options": options_of({name: x.default for name, x in metric.parameters.items()}),
        "value": in_words(parts.get("Returns", "")) or " ".join(ends),
        "reads": ", ".join(f"--{name}" for name in metric.needs),
        "source": in_words(parts.get("References", "")),
    }


def options_of(values: Mapping[str, object]) -> str:
    """Options with their values, as in a text; one that has to be given has none."""
    return ", ".join(name if x is Parameter.empty else f"{name}={x}" for name, x in values.items())


def described(metric: Metric) -> Iterator[tuple[str, str]]:
    """The options of a metric, each with its meaning and its default."""
    of_names = entries(sections(metric.doc)[1].get("Parameters", ""))
    about = {name: text for names, text in of_names for name in names.split(", ")}
    for name, parameter in metric.parameters.items():
        given = (
            "to be given"
            if parameter.default is parameter.empty
            else f"default: {parameter.default}"
        )
        yield name, f"{in_words(about.get(name, ''))} ({given})".strip()


def in_words(text: str) -> str:
    """A text of the documentation in one line, with a name in place of each link and without its marks of code."""
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
def demo(arguments: Namespace) -> Outcome:
    """Evaluate a small real table; show what cost the worst queries.

    $ rankframe demo
    """
    df = rf.load_example()
    per_query = rf.rank(df).evaluate(*DEMO_METRICS)
    worst = per_query.bottom_k(3, by="ndcg@10").sort("ndcg@10")
    costs = rf.rank(df.join(worst, on="query_id", how="semi")).explain("ndcg@10")
    costs = costs.join(
        df.select("query_id", "doc_id", "digit", "doc_digit"), on=["query_id", "doc_id"]
    )
    ranked = {
        name: rf.rank(df).on(score=name).evaluate(*DEMO_METRICS).drop("query_id")
        for name in SCORERS
    }
    table = pl.DataFrame(
        {"metric": DEMO_METRICS, **{name: found.mean().row(0) for name, found in ranked.items()}}
    )
    about = (
        f"{len(per_query)} images of handwritten digits, each a query for images of the same "
        "digit. "
        "Three scorers searched: the cosine of the pixels, a distance in six principal components, "
        f"and a random forest. {len(df):,} rows, {df['label'].count():,} of them judged: "
        "label 2 is "
        "the same digit, 1 the digit that looks most like it, 0 another one."
    )
    parts = [
        textwrap.fill(about, 90),
        "Means over the queries",
        indented(formatted(OutputTable(table), "table")),
    ]
    parts += ["The worst queries by ndcg@10 of `score`, and what cost them"]
    parts += [indented("\n".join(story(row, costs))) for row in worst.rows(named=True)]
    parts += ["The same in Python", indented(CODE), "Your own files: rankframe evaluate --help"]
    return Outcome("\n\n".join(parts))


indented = partial(textwrap.indent, prefix="  ")


def story(row: dict[str, Any], costs: pl.DataFrame) -> list[str]:
    """The first documents of a query, the documents ranked too high, and relevant ones ranked too low or not returned."""
    found = costs.filter(query_id=row["query_id"]).sort("rank", "doc_id", nulls_last=True)
    digit, top = found["digit"][0], found.filter(pl.col("rank") <= 10)
    same = found.filter(pl.col("label") == 2)
    wrong = top.filter(pl.col("label") < 2).select(
        pl.format("#{} {} (label {})", "rank", "doc_id", "label")
    )
    low = same.filter(pl.col("rank") > 10).select(pl.format("#{} {}", "rank", "doc_id"))
    return [
        f"{row['query_id']}, a handwritten {digit}: ndcg@10 = {row['ndcg@10']:.4f}",
        f"  first ten        {' '.join(map(str, top['doc_digit']))}",
        f"  ranked too high  {some(wrong)}",
        f"  ranked too low   {some(low)}",
        f"  never returned   {some(same.filter(pl.col('rank').is_null()).select('doc_id'))}",
    ]


def some(frame: pl.DataFrame, n: int = 3) -> str:
    """The first few values of a column, and the number of further ones."""
    values = frame.to_series()
    more = [f"{len(values) - n} more"] if len(values) > n else []
    return ", ".join([*values.head(n), *more]) or "none"
