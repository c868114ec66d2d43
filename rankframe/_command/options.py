"""Options that commands share: files, names of columns, policies, and the format of the output."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, get_args

import polars as pl

import rankframe as rf

from .._catalog.parse import texts_of
from .._files.formats import Format
from .._rankers.polars import PolarsRanker
from .._rankers.ranker import FrameRanker
from .._table.conventions import CONVENTIONS
from .._table.name_presets import FLAT, PRESETS, roles_of
from .._table.policies import Policies, declared
from .._table.roles import ROLES
from .._table.setup import TABLES, Setup
from .._verbs.declaration import VerbCall
from ..errors import InvalidOption
from ..errors import option as option_of
from .command import Parser
from .output import FORMATS
from .parameters import add_parameters
from .target import ENDINGS

DEFAULT_METRICS = ("ndcg@10", "map", "rr")
COLUMNS = ("query_id", "doc_id", "score", "label")
FILES = (
    "TREC text, .parquet, .csv, .tsv or .ndjson, or a file of BEIR, Quepid, _rank_eval or mteb, text also as .gz; - is "
    "standard input"
)

BESIDE = {name: role.says for name, role in ROLES.items() if role.of_items}
"""The roles of further columns, with their help."""

READERS: Mapping[str, Callable[[str], pl.DataFrame]] = {
    ".parquet": pl.read_parquet,
    ".csv": pl.read_csv,
    ".tsv": partial(pl.read_csv, separator="\t"),
    ".ndjson": pl.read_ndjson,
}
"""The functions that read other tables, by the endings of their files."""

POLICIES = {"convention": declared(Setup)["convention"], **declared(Policies)}
"""The policies, by their declarations."""


class Reading(FrameRanker[Any]):
    """A ranker without a table, whose verbs return the columns that they would read."""

    _frame = pl.DataFrame()

    def _with(self, setup: Setup) -> Reading:
        return Reading(setup)

    def _run(self, call: VerbCall) -> set[str]:
        return call.columns(self._setup)


def ranker(table: pl.DataFrame, arguments: argparse.Namespace) -> PolarsRanker[pl.DataFrame]:
    """The table's ranker, with the given policies."""
    options = _given(arguments)
    for name in TABLES:
        other = options.get(name)
        if isinstance(other, pl.DataFrame):  # ids of text files are text
            options[name] = other.cast({x: table.schema[x] for x in ("query_id", "doc_id") if x in other.columns})
    return rf.rank(table).on(**options)


def columns_read(arguments: argparse.Namespace, verb: Callable[..., Any], **runs: object) -> set[str]:
    """The columns of the files that `verb`, a function of a ranker, reads by its declaration."""
    found: set[str] = verb(Reading(Setup()).on(**_given(arguments)), **runs)
    return found


def _given(arguments: argparse.Namespace) -> dict[str, Any]:
    """The policies and columns given on the command line."""
    given = {name: getattr(arguments, name) for name in (*POLICIES, "subtopic", "weight", *BESIDE)}
    given |= {name: _with_our_names(getattr(arguments, name), arguments) for name in TABLES}
    return {name: value for name, value in given.items() if value is not None}


def _with_our_names(table: object, arguments: argparse.Namespace) -> object:
    """A table beside the runs, its users and items under the names that the library expects."""
    if not isinstance(table, pl.DataFrame):
        return table
    names = {getattr(arguments, ours.removesuffix("_id")): ours for ours in ("query_id", "doc_id")}
    return table.rename({name: ours for name, ours in names.items() if name in table.columns})


def add_file(sub: Parser, nargs: str | None = None) -> None:
    """One run, and its judgments."""
    sub.add_argument(
        "files",
        metavar="RUN",
        nargs=nargs or 1,
        help=f"the results of a system: {FILES}. Without --qrels, a table with scores and labels",
    )
    sub.set_defaults(runs=None, run=None)
    sub.limit = ", which takes one run; repeat the command for each"
    add_judgments(sub)
    add_policies(sub)
    add_columns(sub)


def add_files(sub: Parser) -> None:
    """One run or several, and their judgments."""
    add_runs(sub, "+")
    add_judgments(sub)
    add_policies(sub)
    add_columns(sub)


def add_runs(sub: Parser, nargs: str) -> None:
    """One run or several."""
    sub.add_argument(
        "files",
        metavar="RUN",
        nargs=nargs,
        help=f"the results of each system, in a file named after the run: {FILES}. Or one table of several runs. Without "
        "--qrels, a table with scores and labels",
    )
    runs = sub.add_mutually_exclusive_group()
    runs.add_argument(
        "--runs", type=_texts, metavar="COLUMN,COLUMN", help="the columns of the runs' scores, in one table"
    )
    runs.add_argument("--run", metavar="COLUMN", help="the column that names the run of each row, in one table")


def add_judgments(sub: Parser) -> None:
    """The options for judgments, and for the formats of files."""
    sub.add_argument(
        "--qrels", metavar="QRELS", help="the judgments, in any of these formats; labels in RUN are ignored"
    )
    add_parameters(sub, PolarsRanker.judge, judged_only="keep", run_only="drop")
    sub.add_argument("--input", choices=get_args(Format), help="the format of RUN; default: from its name")
    sub.add_argument("--qrels-input", choices=get_args(Format), help="the format of QRELS; default: from its name")


def add_policies(sub: Parser) -> None:
    """The policies, and the tables that they name."""
    policies = sub.add_argument_group("policies")
    for name, option in POLICIES.items():
        if option.kinds == (bool,):
            policies.add_argument(_option(name), action="store_const", const=True, help=option.says)
            continue
        words = tuple(CONVENTIONS) if name == "convention" else option.words
        kind = str if words else option.kinds[0] if option.kinds[0] in (int, float) else _pair
        text = option.says + (f": {', '.join(words)}" if words else "")
        default = "" if option.default is None else f"; default: {option.default}"
        metavar = (
            "NAME" if name == "convention" else "RULE" if words else "NUMBER" if kind is not _pair else "LEAST,MOST"
        )
        policies.add_argument(_option(name), type=kind, metavar=metavar, help=text + default)

    beside = sub.add_argument_group("other tables, for metrics of recommendations: .parquet, .csv, .tsv or .ndjson")
    beside.add_argument(
        "--interactions", type=_table, metavar="FILE", help="past interactions, with the columns of users and items"
    )
    beside.add_argument(
        "--items", type=_table_or_number, metavar="FILE", help="the catalog, with a row for each item; or their number"
    )


def add_columns(sub: Parser) -> None:
    """The names of columns."""
    names = sub.add_argument_group("names of the columns, for files with named columns")
    for column in COLUMNS:
        names.add_argument(_option(column.removesuffix("_id")), metavar="COLUMN", help=f"default: {column}")
    names.add_argument(
        "--subtopic",
        metavar="COLUMN",
        help="the column of subtopics, for metrics of diversity; for TREC text: iteration",
    )
    names.add_argument("--weight", metavar="COLUMN", help="the column of the documents' weights")
    for role, what in BESIDE.items():
        several = ROLES[role].several
        names.add_argument(
            f"--{role}", type=_texts if several else str, metavar="COLUMN,COLUMN" if several else "COLUMN", help=what
        )
    names.add_argument("--rank", metavar="COLUMN", help="the column of ranks, 1 being the best, instead of scores")
    names.add_argument(
        "--names",
        choices=tuple(PRESETS),
        metavar="NAME",
        action="append",
        help=f"the names that the columns have in another tool's tables: {', '.join(PRESETS)}; flat: columns of metrics "
        "under names for SQL, as ndcg_at_10; may be repeated",
    )


def with_names(arguments: argparse.Namespace) -> argparse.Namespace:
    """The arguments with the columns of a preset of names, or with a column of ranks as scores in ascending order."""
    given = dict(vars(arguments))
    names, rank = given.get("names"), given.get("rank")
    given["flat"] = FLAT in (names or ())
    if given["flat"] and not given.get("flattens"):
        raise InvalidOption("--names flat names columns of metrics, which this command does not print; leave it out")
    given |= {role: column for role, column in roles_of(names or []).items() if given[role] is None}
    if rank is not None:
        if arguments.score is not None:
            both = option_of(rank=rank), " and ", option_of(score=arguments.score)
            raise InvalidOption(*both, " both name the column to rank by; name one of them")
        given |= {"score": rank, "ascending": True}
    return argparse.Namespace(**given)


def add_metrics(sub: Parser, default: Sequence[str] = DEFAULT_METRICS) -> None:
    """The metrics."""
    sub.add_argument(
        "-m",
        "--metric",
        dest="metrics",
        action="extend",
        type=texts_of_metrics,
        metavar="METRIC",
        help=f"a metric, or several with commas; may be repeated; default: {','.join(default)}. 'rankframe metrics' lists "
        "them",
    )


def texts_of_metrics(text: str) -> list[str]:
    """The texts of the metrics that an argument names."""
    try:
        return texts_of(text)
    except InvalidOption as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def add_format(
    sub: Parser,
    formats: Sequence[str] = FORMATS,
    pictures: Sequence[str] = (),
    endings: Mapping[str, str] = MappingProxyType({}),
    default: str = "table",
    about: str = "",
) -> None:
    """Add the options for the format and the file of the table; a file with the ending of a picture gets a picture.

    `endings` are further endings of files, with their formats; `about` is help on formats that few commands have.
    """
    sub.add_argument(
        "--format",
        choices=formats,
        metavar="FORMAT",
        help=f"the format of the output: {', '.join(formats)}; {about}csv, tsv, json, ndjson, parquet and ipc have all digits, safe-csv is for spreadsheets: no text in "
        f"it is a formula; default: by the ending of --output, else {default}",
    )
    drawn = f"; draws a picture if FILE ends in {', '.join(pictures)}" if pictures else ""
    of_formats = {x: kind for x, kind in {**endings, **ENDINGS, **endings}.items() if kind in formats}
    others = ", ".join(ending for ending in of_formats if ending not in pictures)
    told = f"write the table to this file: {others}, text also with .gz{drawn}"
    sub.add_argument("-o", "--output", metavar="FILE", help=told)
    sub.set_defaults(pictures=pictures, endings=of_formats, usual_format=default)


def at_least(least: int) -> Callable[[str], int]:
    """The argument type for whole numbers from `least` on."""

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


def _table(path: str) -> pl.DataFrame:
    """The table in a file, by the ending of its name."""
    read = next((read for ending, read in READERS.items() if path.lower().endswith(ending)), None)
    if read is None:
        raise argparse.ArgumentTypeError(f"{path!r} ends in none of {', '.join(READERS)}; name a file that does")
    try:
        return read(path)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise argparse.ArgumentTypeError(f"{path!r} cannot be read: {str(error).splitlines()[0]}") from None


def _table_or_number(text: str) -> pl.DataFrame | int:
    return int(text) if text.isdecimal() else _table(text)
