"""``rankframe conventions``: the settings of other tools, and the value that each would print for a run."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

import polars as pl

import rankframe as rf

from .._catalog.requests import calls_of
from .._support.progress import Busy
from .._table.conventions import CONVENTIONS, Convention
from .._verbs.tool_comparison import conventions as compared
from .._verbs.tool_comparison import short
from ..errors import InvalidOption
from .command import Answer, Command, Parser
from .options import add_file, add_format, add_metrics, columns_read, ranker
from .output import FOR_PEOPLE, Table
from .reading import judged
from .words import spelled

__all__ = ["COMMAND"]

EXAMPLES = (
    "rankframe conventions",
    "rankframe conventions bm25.run --qrels qrels.txt -m ndcg@10",
    "rankframe conventions table.parquet -m map -m rr --format json",
)
DEFAULT = ("ndcg@10",)


def options(sub: Parser) -> None:
    """The run to evaluate, if any."""
    add_file(sub, "*")
    add_metrics(sub, DEFAULT)
    add_format(sub)


def conventions(arguments: argparse.Namespace) -> Answer:
    """The settings of each tool; given a run, the value that each tool would print."""
    if len(arguments.files) > 1:
        raise InvalidOption("conventions looks at one RUN. Leave the others out")
    if arguments.files:
        return Answer(with_notes_below(of_run(arguments), arguments.format))
    if arguments.qrels is not None or arguments.metrics is not None:
        raise InvalidOption("--qrels and -m go with a run. Write rankframe conventions RUN --qrels QRELS -m ndcg@10")
    table = pl.DataFrame(
        [row for tool, convention in CONVENTIONS.items() for row in said(tool, convention)],
        orient="row",
        schema=COLUMNS,
    )
    return Answer(with_notes_below(table, arguments.format))


def with_notes_below(table: pl.DataFrame, format: str) -> Table:
    """The table; for people, the note on each tool is a line below it, as the longest would fill the width of a screen."""
    if format not in FOR_PEOPLE:
        return Table(table)
    notes = table.unique("tool", maintain_order=True).filter(pl.col("note") != "")
    return Table(table.drop("note"), [f"{tool}: {note}" for tool, note in notes.select("tool", "note").rows()])


COLUMNS = ["tool", "policies", "options", "metrics", "note"]


def said(tool: str, convention: Convention) -> list[tuple[str, ...]]:
    """A row for each set of metrics that the tool counts by the same policies, and with the same options."""
    rows: dict[tuple[str, str], list[str]] = {}
    for name, settings in convention.metrics.items():
        of_metric = rf.METRICS[name].parameters
        policies = {**convention.policies, **{key: x for key, x in settings.items() if key not in of_metric}}
        options = {key: x for key, x in settings.items() if key in of_metric}
        rows.setdefault((listed(policies), listed(options)), []).append(name)
    return [(tool, *how, " ".join(names), convention.note) for how, names in rows.items()]


def listed(settings: Mapping[str, Any]) -> str:
    """Settings as text."""
    return ", ".join(f"{name}={short(value)}" for name, value in settings.items())


def of_run(arguments: argparse.Namespace) -> pl.DataFrame:
    """A row per metric and tool that has it: the value it prints, and the choices that cause the difference."""
    texts = [call.text for call in calls_of(*(arguments.metrics or DEFAULT))]
    table = ranker(
        judged(arguments, columns_read(arguments, lambda ranker: ranker.conventions(texts[0]))).table, arguments
    )
    with Busy("evaluating"):
        return pl.concat(table._run(compared, text, spelled) for text in texts)


COMMAND = Command(
    "conventions",
    "[options] [RUN]",
    "how other tools count, and what each would print for a run",
    EXAMPLES,
    options,
    conventions,
    "Prints what each tool's convention sets. Given a run, prints the metric as each tool counts it, side by side, and\n"
    "which of the tool's choices make the difference.",
)
