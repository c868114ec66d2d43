"""``rankframe conventions``: the settings of other tools, and the value that each would print for a run."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence

import polars as pl

import rankframe as rf

from .._audit.tool_comparison import conventions as compared
from .._audit.tool_comparison import explained, short
from .._catalog.requests import calls_of
from .._support.progress import Busy
from .._table.conventions import CONVENTIONS, Convention
from .._table.table import in_memory
from ..errors import InvalidOption
from .command import Answer, Command, Parser
from .options import add_file, add_format, add_metrics, columns_read, ranker
from .output import FOR_PEOPLE, Table
from .reading import judged
from .words import spelled

EXAMPLES = (
    "rankframe conventions",
    "rankframe conventions bm25.run --qrels qrels.txt -m ndcg@10",
    "rankframe conventions table.parquet -m map -m rr --format json",
    "rankframe conventions --explain ndcg@10",
    "rankframe conventions bm25.run --qrels qrels.txt --explain ndcg@10 --observed 0.81",
)
DEFAULT = ("ndcg@10",)


def options(sub: Parser) -> None:
    """The run to evaluate, if any."""
    add_file(sub, "*")
    add_metrics(sub, DEFAULT)
    sub.add_argument("--explain", metavar="METRIC", help="one metric, and how each tool counts it, in words")
    sub.add_argument(
        "--observed",
        metavar="NUMBER",
        help="with RUN and --explain: a value of the metric that you saw elsewhere; names the tools that print it",
    )
    add_format(sub)


def conventions(arguments: argparse.Namespace) -> Answer:
    """The settings of each tool; given a run, the value that each tool would print."""
    if len(arguments.files) > 1:
        raise InvalidOption("conventions looks at one RUN. Leave the others out")
    if arguments.observed is not None and not (arguments.files and arguments.explain):
        raise InvalidOption(
            "--observed goes with a run and a metric. Write rankframe conventions RUN --qrels QRELS --explain ndcg@10 "
            "--observed 0.81"
        )
    if arguments.explain is not None:
        if arguments.metrics is not None:
            raise InvalidOption("--explain names the metric. Leave -m out")
        found = of_run(arguments, [arguments.explain]) if arguments.files else explained(arguments.explain)
        return Answer(in_sentences(found, arguments.format))
    if arguments.files:
        metrics = [call.text for call in calls_of(*(arguments.metrics or DEFAULT))]
        return Answer(with_notes_below(of_run(arguments, metrics).drop("says"), arguments.format))
    if arguments.qrels is not None or arguments.metrics is not None:
        raise InvalidOption("--qrels and -m go with a run. Write rankframe conventions RUN --qrels QRELS -m ndcg@10")
    table = pl.DataFrame(
        [row for tool, convention in CONVENTIONS.items() for row in rows_of(tool, convention)],
        orient="row",
        schema=COLUMNS,
    )
    if arguments.format in FOR_PEOPLE:  # one column for both kinds of settings, so that rows fit 80 letters
        settings = (
            pl.concat_list("policies", "options").list.eval(pl.element().filter(pl.element() != "")).list.join(", ")
        )
        table = table.select("tool", settings.alias("settings"), "metrics", "note")
    return Answer(with_notes_below(table, arguments.format, ("settings", "metrics")))


def with_notes_below(table: pl.DataFrame, format: str, wraps: Sequence[str] = ()) -> Table:
    """The table; for people, with each tool's note on a line below, since the longest would fill a screen's width."""
    if format not in FOR_PEOPLE:
        return Table(table)
    notes = table.unique("tool", maintain_order=True).filter(pl.col("note") != "")
    below = [f"{tool}: {note}" for tool, note in notes.select("tool", "note").rows()]
    return Table(table.drop("note"), below, wraps=wraps)


COLUMNS = ["tool", "policies", "options", "metrics", "note"]


def rows_of(tool: str, convention: Convention) -> list[tuple[str, ...]]:
    """A row for each set of a tool's metrics with the same policies and options."""
    rows: dict[tuple[str, str], list[str]] = {}
    for name, settings in convention.metrics.items():
        of_metric = {**rf.METRICS, **rf.CATALOG_METRICS}[name].parameters
        policies = {**convention.policies, **{key: x for key, x in settings.items() if key not in of_metric}}
        options = {key: x for key, x in settings.items() if key in of_metric}
        rows.setdefault((listed(policies), listed(options)), []).append(name)
    return [(tool, *how, " ".join(names), convention.note) for how, names in rows.items()]


def listed(settings: Mapping[str, object]) -> str:
    """Settings as text."""
    return ", ".join(f"{name}={short(value)}" for name, value in settings.items())


def of_run(arguments: argparse.Namespace, metrics: Sequence[str]) -> pl.DataFrame:
    """A row per metric and tool that has it: the value it prints, and the choices that cause the difference."""
    table = ranker(
        judged(arguments, columns_read(arguments, lambda ranker: ranker.conventions(metrics[0]))).table, arguments
    )
    rows = in_memory(table._frame, table._setup, spelling=spelled)
    with Busy("evaluating"):
        found: pl.DataFrame = pl.concat(compared(rows, metric, arguments.observed) for metric in metrics)
    return found


def in_sentences(table: pl.DataFrame, form: str) -> Table:
    """The table; for people, with its sentences and notes below."""
    if form not in FOR_PEOPLE:
        return Table(table)
    told = table.select("tool", "says", "note").rows()
    sentences = [say if "difference" in table.columns else f"{tool}: {say}" for tool, say, _ in told if say]
    return Table(table.drop("says", "note"), [*sentences, "", *(f"{tool}: {note}" for tool, _, note in told if note)])


COMMAND = Command(
    "conventions",
    "[options] [RUN]",
    "how other tools count, and what each would print for a run",
    EXAMPLES,
    options,
    conventions,
    "Without a run, prints what each tool's convention sets. Given a run, prints the metric as each tool counts it, side by "
    "side, and which of the tool's choices make the difference; --observed names the tools that print a number.",
    other_names=("explain",),
)
