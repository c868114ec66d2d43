"""``rankframe check``: everything that is wrong with a run and its judgments, or worth knowing."""

from __future__ import annotations

import argparse
import warnings

import polars as pl

import rankframe as rf

from .._rankers.ranker import FrameRanker
from .._table.table import in_memory
from .._text.result_table import by_kind
from .._verbs import verbs
from ..errors import RankframeWarning
from .command import Answer, Command, Parser
from .options import add_file, add_format, ranker
from .output import Table
from .reading import (
    join,
    only_one_input,
    others_of,
    refuse_strangers,
    require,
    runs_and_judgments,
    table_of,
)
from .words import spelled

EXAMPLES = (
    "rankframe check bm25.run --qrels qrels.txt",
    "rankframe check table.parquet --format json",
    "rankframe check clicks.csv --query session --doc item --label clicks --format csv > findings.csv",
)
OF_BOTH_FILES = ("run only", "judged only", "repeated judgment")


def options(sub: Parser) -> None:
    """The files to check, and the format of the findings."""
    add_file(sub)
    add_format(sub)


def check(arguments: argparse.Namespace) -> Answer:
    """A row per finding, in formats for people one per kind; the exit code is 1 if a finding is an error."""
    found = findings(arguments).sort("severity", maintain_order=True)
    code = int("error" in found["severity"])
    if arguments.format in ("table", "markdown", "latex", "html"):
        if found.is_empty():
            return Answer("nothing found")
        found = pl.DataFrame(by_kind(found.to_dicts()))
    if arguments.format == "table":  # the advice is printed below, so that rows fit a terminal
        advice = [f"{problem}: {text}" for problem, text in found.select("problem", "advice").rows()]
        return Answer(Table(found.drop("advice"), advice), code)
    return Answer(Table(found), code)


def _found(ranker: FrameRanker[pl.DataFrame], qrels: pl.DataFrame | None = None) -> pl.DataFrame:
    return verbs.check(in_memory(ranker._frame, ranker._setup, spelling=spelled), qrels)


def findings(arguments: argparse.Namespace) -> pl.DataFrame:
    """The findings of a table, or of a run and its judgments, each alone and joined."""
    only_one_input({"RUN": arguments.files, "--qrels": [arguments.qrels]})
    path, others = arguments.files[0], others_of(arguments)
    if arguments.qrels is None:
        table = table_of(arguments, path)
        require([table], others.items())
        return _found(ranker(table, arguments))
    run, qrels = runs_and_judgments(arguments)
    require([run, qrels], others.items())
    refuse_strangers(run, qrels, path, arguments.qrels)
    unlabelled = rf.rank(run.drop("label", strict=False)).on(subtopic=arguments.subtopic)
    alone = _found(unlabelled, qrels)
    pair = alone.filter(pl.col("problem").is_in(OF_BOTH_FILES))
    if alone["problem"].is_in(("repeated document", "repeated judgment")).any():
        return alone  # the files cannot be joined
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RankframeWarning)  # the findings include these warnings
        joined = join(run, qrels, ("score",), others, arguments.subtopic)
        found = _found(ranker(joined, arguments))
    known = pair.select("query_id", problem=pl.lit("nothing retrieved"))  # reported as "judged only"
    found = found.join(known, on=["query_id", "problem"], how="anti", maintain_order="left")
    found = found.filter(pl.col("problem") != "nothing missed")  # always true after a join that keeps missed documents
    return pl.concat([pair, found], how="diagonal_relaxed")


COMMAND = Command(
    "check",
    "[options] RUN",
    "what is wrong with a run and its judgments, or worth knowing",
    EXAMPLES,
    options,
    check,
    "Prints a row per kind of finding, with the places of the first few; as CSV and JSON a row per finding. An error stops "
    "every metric, and check exits with 1; a note does not.",
    other_names=("validate",),
)
