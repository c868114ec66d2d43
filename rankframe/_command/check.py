"""``rankframe check`` and ``rankframe conventions``: what is wrong with files, and how other tools would count them."""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

import rankframe as rf

from .._catalog.requests import calls_of
from .._lift.polars import PolarsRanker
from .._lift.ranker import FrameRanker
from .._table.conventions import CONVENTIONS, Convention
from .._table.table import in_memory
from .._verbs.judge import by_kind, check as check_rows
from .._verbs.tool_comparison import conventions as compared, explained, short
from ..errors import InvalidOption, RankframeWarning
from .command import Command, Outcome, Parser, Reading, columns_read, metrics_of, ranker
from .output import FOR_PEOPLE, OutputTable, spelled
from .reading import answered, join, of_file, runs_and_judgments, shown_path

OF_BOTH_FILES = ("run only", "judged only", "repeated judgment")


def check(arguments: argparse.Namespace) -> Outcome:
    """A row per finding, in formats for people one per kind; the exit code is 1 if a finding is an error."""
    found = findings(arguments).sort("severity", maintain_order=True)
    code = int("error" in found["severity"])
    if arguments.format in FOR_PEOPLE:
        if found.is_empty():
            return Outcome("nothing found")
        found = pl.DataFrame(by_kind(found.to_dicts()))
    if arguments.format == "table":  # the advice is printed below, so that rows fit a terminal
        advice = [f"{problem}: {text}" for problem, text in found.select("problem", "advice").rows()]
        return Outcome(OutputTable(found.drop("advice"), advice), code)
    return Outcome(OutputTable(found), code)


def _found(ranker: FrameRanker[pl.DataFrame], qrels: pl.DataFrame | None = None) -> pl.DataFrame:
    return check_rows(in_memory(ranker._frame, ranker._setup, spelling=spelled), qrels).rows


def findings(arguments: argparse.Namespace) -> pl.DataFrame:
    """The findings of a table, or of a run and its judgments, each alone and joined."""
    (run,), qrels = runs_and_judgments(arguments, None, once=False)
    if qrels is None:
        return _found(ranker(run, arguments))
    alone = _found(rf.rank(run.drop("label", strict=False)).on(subtopic=arguments.subtopic), qrels)
    pair = alone.filter(pl.col("problem").is_in(OF_BOTH_FILES))
    if alone["problem"].is_in(("repeated document", "repeated judgment")).any():
        return alone  # the files cannot be joined
    with warnings.catch_warnings(), of_file(shown_path(arguments.files[0])):
        warnings.simplefilter("ignore", RankframeWarning)  # the findings include these warnings
        reads = columns_read(arguments, lambda ranker: ranker.evaluate())
        joined = join(arguments, run, qrels, reads, judged_only="keep", run_only="drop")
        found = _found(ranker(joined, arguments))
    known = pair.select("query_id", problem=pl.lit("nothing retrieved"))  # reported as "judged only"
    found = found.join(known, on=["query_id", "problem"], how="anti", maintain_order="left")
    found = found.filter(pl.col("problem") != "nothing missed")  # always true after a join that keeps missed documents
    return pl.concat([pair, found], how="diagonal_relaxed")


def options_of_conventions(sub: Parser) -> None:
    """The metric to explain, and the number to find."""
    sub.add_argument("--explain", metavar="METRIC", help="one metric, and how each tool counts it, in words")
    text = "with RUN and --explain: a value of the metric that you saw elsewhere; names the tools that print it"
    sub.add_argument("--observed", metavar="NUMBER", help=text)


def conventions(arguments: argparse.Namespace) -> Outcome:
    """The settings of each tool; given a run, the value that each tool would print."""
    if len(arguments.files) > 1:
        raise InvalidOption("conventions looks at one RUN. Leave the others out")
    if arguments.observed is not None and not (arguments.files and arguments.explain):
        raise InvalidOption(
            "--observed goes with a run and a metric; write RUN --qrels QRELS --explain ndcg@10 --observed 0.81"
        )
    if arguments.explain is not None:
        if arguments.metrics is not None:
            raise InvalidOption("--explain names the metric. Leave -m out")
        found = of_run(arguments, [arguments.explain]) if arguments.files else explained(arguments.explain)
        if arguments.format not in FOR_PEOPLE:
            return Outcome(OutputTable(found))
        said = found.filter(pl.col("says") != "").select("tool", "says").rows()
        sentences = [text if "difference" in found.columns else f"{tool}: {text}" for tool, text in said]
        return Outcome(OutputTable(found.drop("says", "note"), [*sentences, "", *notes_of(found)]))
    if arguments.files:
        metrics = [call.text for call in calls_of(*metrics_of(arguments))]
        return Outcome(with_notes_below(of_run(arguments, metrics).drop("says"), arguments.format))
    if arguments.qrels is not None or arguments.metrics is not None:
        raise InvalidOption("--qrels and -m go with a run. Write rankframe conventions RUN --qrels QRELS -m ndcg@10")
    rows = [row for tool, convention in CONVENTIONS.items() for row in rows_of(tool, convention)]
    table = pl.DataFrame(rows, orient="row", schema=["tool", "policies", "options", "metrics", "note"])
    if arguments.format in FOR_PEOPLE:  # one column for both kinds of settings, so that rows fit 80 letters
        both = pl.concat_list("policies", "options").list.eval(pl.element().filter(pl.element() != ""))
        settings = both.list.join(", ")
        table = table.select("tool", settings.alias("settings"), "metrics", "note")
    return Outcome(with_notes_below(table, arguments.format, ("settings", "metrics")))


def with_notes_below(table: pl.DataFrame, format: str, wraps: Sequence[str] = ()) -> OutputTable:
    """The table; for people, with each tool's note on a line below, since the longest would fill a screen's width."""
    if format not in FOR_PEOPLE:
        return OutputTable(table)
    return OutputTable(table.drop("note"), notes_of(table), wraps=wraps)


def notes_of(table: pl.DataFrame) -> list[str]:
    """A line for each tool with a note."""
    notes = table.unique("tool", maintain_order=True).filter(pl.col("note") != "")
    return [f"{tool}: {note}" for tool, note in notes.select("tool", "note").rows()]


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


def of_run(arguments: argparse.Namespace, metrics: Sequence[str]) -> Any:
    """A row per metric and tool that has it: the value it prints, and the choices that cause the difference."""

    def of_each(ranker: Any) -> Any:
        if isinstance(ranker, Reading):
            return ranker.conventions(metrics[0])
        rows = in_memory(ranker._frame, ranker._setup, spelling=spelled)
        return pl.concat(compared(rows, metric, arguments.observed) for metric in metrics)

    return answered(arguments, of_each, "evaluating")


CHECK = Command(
    check,
    "what is wrong with a run and its judgments, or worth knowing",
    (
        "rankframe check bm25.run --qrels qrels.txt",
        "rankframe check table.parquet --format json",
        "rankframe check clicks.csv --query session --doc item --label clicks --format csv > findings.csv",
    ),
    files=1,
    verb=PolarsRanker.check,
    description="Prints a row per kind of finding, with the places of the first few; as CSV and JSON a row per finding. An "
    "error stops every metric, and check exits with 1; a note does not.",
)
OTHER_TOOLS = Command(
    conventions,
    "how other tools count, and what each would print for a run",
    (
        "rankframe conventions",
        "rankframe conventions bm25.run --qrels qrels.txt -m ndcg@10",
        "rankframe conventions table.parquet -m map -m rr --format json",
        "rankframe conventions --explain ndcg@10",
        "rankframe conventions bm25.run --qrels qrels.txt --explain ndcg@10 --observed 0.81",
    ),
    options_of_conventions,
    files="?",
    metrics=("ndcg@10",),
    description="Without a run, prints what each tool's convention sets. Given a run, prints the metric as each tool counts "
    "it, side by side, and which of the tool's choices make the difference; --observed names the tools that print a number.",
)
