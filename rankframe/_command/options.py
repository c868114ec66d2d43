"""Options that commands share: files, names of columns, policies, and the format of what is printed."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import Any, get_args

import rankframe as rf

from .._files.read import Format
from .._table.conventions import CONVENTIONS
from .._table.policies import Policies, declared
from .._table.setup import Setup
from .._verbs.verbs import Missing
from .command import Parser

__all__ = [
    "COLUMNS",
    "DEFAULT_METRICS",
    "add_file",
    "add_files",
    "add_format",
    "add_metrics",
    "add_table",
    "at_least",
    "ranker",
]

DEFAULT_METRICS = ("ndcg@10", "map", "rr")
COLUMNS = ("query_id", "doc_id", "score", "label")
FORMATS = ("table", "csv", "safe-csv", "json", "markdown")
FILES = (
    "TREC text, .parquet, .csv, .tsv or .ndjson, or a file of BEIR, Quepid, _rank_eval or mteb, text also as .gz; - is "
    "standard input"
)

POLICIES = {"convention": declared(Setup)["convention"], **declared(Policies)}
"""The policies, by their declarations."""


def ranker(table: Any, arguments: argparse.Namespace) -> Any:
    """The table's ranker, with the policies that were said."""
    said = {name: getattr(arguments, name) for name in (*POLICIES, "subtopic", "weight")}
    return rf.rank(table).on(**{name: value for name, value in said.items() if value is not None})


def add_file(sub: Parser, nargs: str | None = None) -> None:
    """One run, and its judgments."""
    sub.add_argument(
        "files",
        metavar="RUN",
        nargs=nargs or 1,
        help=f"what a system returned: {FILES}. Without --qrels, a table that has labels too",
    )
    sub.set_defaults(runs=None, run=None)
    add_table(sub)


def add_files(sub: Parser) -> None:
    """One run or several, and their judgments."""
    sub.add_argument(
        "files",
        metavar="RUN",
        nargs="+",
        help=f"what a system returned, a file each, which names the run: {FILES}. Or one table of several runs",
    )
    runs = sub.add_mutually_exclusive_group()
    runs.add_argument(
        "--runs", type=_texts, metavar="COLUMN,COLUMN", help="the columns of the runs' scores, in one table"
    )
    runs.add_argument("--run", metavar="COLUMN", help="the column that names the run of each row, in one table")
    add_table(sub)


def add_table(sub: Parser) -> None:
    """The judgments, the formats of the files, what counts as what, and the names of columns."""
    sub.add_argument(
        "--qrels", metavar="QRELS", help="the judgments, in any of these formats; labels in RUN are ignored"
    )
    for name, default, what in (
        ("judged_only", "keep", "judged queries that RUN lacks: keep (default; nothing was retrieved), drop or error"),
        ("run_only", "drop", "queries of RUN that nobody judged: drop (default), keep (nothing is relevant) or error"),
    ):
        sub.add_argument(_option(name), choices=get_args(Missing), default=default, help=what)
    sub.add_argument("--input", choices=get_args(Format), help="the format of RUN, whatever its name says")
    sub.add_argument("--qrels-input", choices=get_args(Format), help="the format of QRELS, whatever its name says")

    policies = sub.add_argument_group("what counts as what")
    for name, option in POLICIES.items():
        words = tuple(CONVENTIONS) if name == "convention" else option.words
        kind = str if words else option.kinds[0] if option.kinds[0] in (int, float) else _pair
        said = option.says + (f": {', '.join(words)}" if words else "")
        default = "" if option.default is None else f"; default: {option.default}"
        metavar = (
            "NAME" if name == "convention" else "RULE" if words else "NUMBER" if kind is not _pair else "LEAST,MOST"
        )
        policies.add_argument(_option(name), type=kind, metavar=metavar, help=said + default)

    names = sub.add_argument_group("names of the columns, where a file has named ones")
    for column in COLUMNS:
        names.add_argument(_option(column.removesuffix("_id")), metavar="COLUMN", help=f"default: {column}")
    names.add_argument(
        "--subtopic", metavar="COLUMN", help="of subtopics, for metrics of diversity; iteration in TREC text"
    )
    names.add_argument("--weight", metavar="COLUMN", help="of the documents' weights")


def add_metrics(sub: Parser, default: Sequence[str] = DEFAULT_METRICS) -> None:
    """The metrics."""
    sub.add_argument(
        "-m",
        "--metric",
        dest="metrics",
        action="append",
        metavar="METRIC",
        help=f"may be repeated; default: {', '.join(default)}. 'rankframe metrics' lists them",
    )


def add_format(sub: Parser, formats: Sequence[str] = FORMATS) -> None:
    """The format of what is printed."""
    sub.add_argument(
        "--format",
        choices=formats,
        default="table",
        help="of the output; csv and json have all digits, safe-csv is for spreadsheets: no text in it is a formula",
    )


def at_least(least: int) -> Callable[[str], int]:
    """A type of options: whole numbers from one on."""

    def number(text: str) -> int:
        if not text.isdecimal() or int(text) < least:
            raise argparse.ArgumentTypeError(f"{text!r} is no whole number from {least} on")
        return int(text)

    return number


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _pair(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(number) for number in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no pair of labels; write the least and the greatest, as 0,3"
        ) from None


def _texts(text: str) -> list[str]:
    return text.split(",")
