"""The declaration of a command, the options that commands share, and the options derived from the method that a command runs."""

from __future__ import annotations

import argparse
import inspect
import re
import textwrap
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from shutil import get_terminal_size
from types import MappingProxyType, NoneType
from typing import Any, Literal, NamedTuple, NoReturn, get_args, get_origin, get_type_hints

import polars as pl

import rankframe as rf

from .._catalog.parse import texts_of
from .._files.formats import SUFFIXES, Format
from .._files.sources import spelled, suffix_of
from .._lift.polars import PolarsRanker
from .._lift.ranker import FrameRanker
from .._support.docstrings import entries, sections
from .._table.conventions import CONVENTIONS
from .._table.name_presets import FLAT, PRESETS, roles_of
from .._table.policies import Policies, declared
from .._table.roles import ROLES
from .._table.setup import TABLES, Setup
from .._verbs.declaration import VerbCall
from ..errors import InvalidOption, did_you_mean, nearest
from .output import ENDINGS, FORMATS, OutputTable

EXIT_CODES = """\
exit codes:
  0  done
  1  done, but rankframe gate did not pass, or rankframe check found errors
  2  an error, described in one line on standard error
"""

DEFAULT_METRICS = ("ndcg@10", "map", "rr")
COLUMNS = ("query_id", "doc_id", "score", "label")
FILES = (
    "TREC text, .parquet, .csv, .tsv or .ndjson, or a file of BEIR, Quepid, _rank_eval or mteb, text also as .gz; - is "
)
FILES += "standard input"
LABELLED = "Without --qrels, a table with scores and labels"
ONE_RUN = f"the results of a system: {FILES}. {LABELLED}"
SEVERAL_RUNS = (
    f"the results of each system, in a file named after the run: {FILES}. Or one table of several runs. {LABELLED}"
)

COLUMN_OPTIONS = {
    **{column.removesuffix("_id"): f"default: {column}" for column in COLUMNS},
    "subtopic": f"{ROLES['subtopic'].says}, for metrics of diversity; for TREC text: iteration",
    **{name: role.says for name, role in ROLES.items() if name == "weight" or role.of_items},
    "features": f"{ROLES['features'].says}, separated by commas",
    "rank": "the column of ranks, 1 being the best, instead of scores",
}
"""The options that name columns, with their help."""

TABLES_OF_ITEMS = {
    "interactions": "past interactions, with the columns of users and items",
    "items": "the catalog, with a row for each item; or their number",
}

POLICIES = {"convention": declared(Setup)["convention"], **declared(Policies)}
"""The policies, by their declarations."""

ELSEWHERE = ("runs", "run", "qrels", "margin", "items", "interactions", "progress", "most_moved", "gate", "options")
"""Parameters without an option: runs and other tables, which files give; a result of another verb; a setting that changes
nothing that is printed."""

METAVARS = {"baseline": "RUN", "fusion": "METHOD", "title": "TEXT", "normalize": "NAME", "convention": "NAME"}
"""The placeholders of text options that do not name a column."""


class Outcome(NamedTuple):
    """The result of a command, to print or to write (None: nothing), and its exit code."""

    result: str | OutputTable | None
    code: int = 0


class Parser(argparse.ArgumentParser):
    """A parser that reports an error in one line."""

    def error(self, message: str) -> NoReturn:
        """Print the error, and leave with exit code 2."""
        if found := re.search(r"invalid choice: '(.*?)' \(choose from (.*)\)", message):
            message += "." + did_you_mean(found[1], re.findall(r"[\w-]+", found[2]))
        elif "arguments are required" in message and self.epilog:
            message += f", as in {self.epilog.splitlines()[1].strip()}"
        self.exit(2, f"{self.prog}: error: {message.removesuffix('.')}; {self.prog} --help shows what to write\n")

    def refuse(self, word: str) -> NoReturn:
        """Leave with exit code 2, for a word that no option or file takes."""
        if not word.startswith("-"):
            self.error(f"{word} is one word too many for '{self.usage}'")
        option = word.partition("=")[0]
        near = nearest(option.strip("-").lower(), [x[2:] for x in self._option_string_actions if x.startswith("--")])
        self.error(f"there is no option {option}{'' if near is None else f' (did you mean --{near}?)'}")


@dataclass(frozen=True)
class Command:
    """A command of the command line.

    Attributes
    ----------
    run
        Runs the command with parsed options; its name is that of the command.
    help
        A line of help.
    examples
        Command lines for its help.
    options
        Adds the options of this command alone to a parser.
    files
        How many runs it takes, as argparse writes it: 1, ``"?"``, ``"+"`` or ``"*"``; ``None``: it reads no runs.
    metrics
        The default of its metrics; empty if it takes none.
    verb
        The method of a ranker whose keywords are options.
    formats
        The arguments of `add_format`; ``None``: it prints no table.
    description
        More help, if one line is not enough.
    abbreviated
        Whether options may be abbreviated, which can break scripts when new options are added.
    """

    run: Callable[[argparse.Namespace], Outcome]
    help: str
    examples: tuple[str, ...]
    options: Callable[[Parser], object] = lambda sub: None
    files: int | str | None = None
    metrics: Sequence[str] = ()
    verb: Callable[..., object] | None = None
    formats: Mapping[str, Any] | None = field(default_factory=dict)
    description: str = ""
    abbreviated: bool = False

    @property
    def name(self) -> str:
        """The name to type."""
        return self.run.__name__

    def add_to(self, commands: argparse._SubParsersAction[Parser], *, with_options: bool = True) -> None:
        """Add the command to a parser; without its options if another command is to run, as they take longest."""
        text = f"{self.help[0].upper()}{self.help[1:]}. {self.description}".strip()
        sub = commands.add_parser(
            self.name,
            help=self.help,
            description=textwrap.fill(text, get_terminal_size().columns - 2),
            epilog=epilog(self.examples),
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=self.abbreviated,
        )
        sub.set_defaults(command=self.run, parser=sub, verb=self.verb, usual_metrics=self.metrics)
        if with_options:
            self._add_options(sub)

    def _add_options(self, sub: Parser) -> None:
        if self.files is not None:
            add_files(sub, self.files)
        if self.metrics or self.verb is not None:
            add_policies(sub)
        if self.metrics:
            text = f"a metric, or several with commas; may be repeated; default: {','.join(self.metrics)}. 'rankframe metrics' "
            text += "lists them"
            sub.add_argument("-m", "--metric", dest="metrics", action="append", metavar="METRIC", help=text)
        self.options(sub)
        if self.verb is not None:
            add_parameters(sub, self.verb)
        if self.formats is not None:
            add_format(sub, **self.formats)
        must = [f"{x.option_strings[0]} {x.metavar}" for x in sub._actions if x.option_strings and x.required]
        runs = {"?": "[RUN]", "*": "[RUN ...]", "+": "RUN [RUN ...]"}
        named = [runs.get(str(x.nargs), str(x.metavar)) for x in sub._actions if not x.option_strings]
        options = ["[options]"] if len(sub._actions) > 1 else []  # --help is one
        sub.usage = " ".join(["rankframe", self.name, *options, *must, *named])


def epilog(examples: Sequence[str]) -> str:
    """The end of a help text: examples and exit codes."""
    return "\n".join(["examples:", *(f"  {example}" for example in examples), "", EXIT_CODES])


# options of files, columns and policies


def add_files(sub: Parser, nargs: int | str) -> None:
    """The runs, their judgments, and the names of columns."""
    one_run = nargs in (1, "?")
    several = "*" if nargs == "?" else nargs  # argparse makes a list of them
    sub.add_argument("files", metavar="RUN", nargs=several, help=ONE_RUN if one_run else SEVERAL_RUNS)
    sub.set_defaults(runs=None, run=None)
    if not one_run:
        runs, text = sub.add_mutually_exclusive_group(), "the columns of the runs' scores, in one table"
        runs.add_argument("--runs", type=_texts, metavar="COLUMN,COLUMN", help=text)
        runs.add_argument("--run", metavar="COLUMN", help="the column that names the run of each row, in one table")
    text = "the judgments, in any of these formats; labels in RUN are ignored"
    sub.add_argument("--qrels", metavar="QRELS", help=text)
    add_parameters(sub, PolarsRanker.judge)
    sub.add_argument("--input", choices=get_args(Format), help="the format of RUN; default: from its name")
    sub.add_argument("--qrels-input", choices=get_args(Format), help="the format of QRELS; default: from its name")
    names = sub.add_argument_group("names of the columns, for files with named columns")
    for role, what in COLUMN_OPTIONS.items():
        names.add_argument(f"--{role}", type=_texts if role == "features" else str, metavar="COLUMN", help=what)
    text = f"the names that the columns have in another tool's tables: {', '.join(PRESETS)}; flat: columns of metrics under "
    text += "names for SQL, as ndcg_at_10; may be repeated"
    names.add_argument("--names", choices=tuple(PRESETS), metavar="NAME", action="append", help=text)


def add_policies(sub: Parser) -> None:
    """The policies, and the tables that they name."""
    policies = sub.add_argument_group("policies")
    for name, option in POLICIES.items():
        if option.kinds == (bool,):
            policies.add_argument(_option(name), action="store_const", const=True, help=option.says)
            continue
        words = tuple(CONVENTIONS) if name == "convention" else option.words
        kind = str if words else option.kinds[0] if option.kinds[0] in (int, float) else _separated(int)
        text = option.says + (f": {', '.join(words)}" if words else "")
        default = "" if option.default is None else f"; default: {option.default}"
        metavar = METAVARS.get(name, "RULE" if words else "NUMBER" if kind in (int, float) else "LEAST,MOST")
        policies.add_argument(_option(name), type=kind, metavar=metavar, help=text + default)
    others = sub.add_argument_group("other tables, for metrics of recommendations: .parquet, .csv, .tsv or .ndjson")
    for name, what in TABLES_OF_ITEMS.items():
        others.add_argument(f"--{name}", type=_table_or_number, metavar="FILE", help=what)


def add_format(
    sub: Parser,
    formats: Sequence[str] = FORMATS,
    pictures: Sequence[str] = (),
    endings: Mapping[str, str] = MappingProxyType({}),
    default: str = "table",
    about: str = "",
    *,
    flattens: bool = False,
) -> None:
    """Add the options for the format and the file of the table; a file with the ending of a picture gets a picture.

    `endings` are further endings of files, with their formats; `about` is help on formats that few commands have; `flattens`
    says whether the table has columns of metrics.
    """
    text = f"the format of the output: {', '.join(formats)}; {about}csv, tsv, json, ndjson, parquet and ipc have all digits, "
    text += f"safe-csv is for spreadsheets: no text in it is a formula; default: by the ending of FILE, else {default}"
    sub.add_argument("--format", choices=formats, metavar="FORMAT", help=text)
    drawn = f"; draws a picture if FILE ends in {', '.join(pictures)}" if pictures else ""
    of_formats = {x: kind for x, kind in {**endings, **ENDINGS, **endings}.items() if kind in formats}
    others = ", ".join(ending for ending in of_formats if ending not in pictures)
    text = f"write the table to this file: {others}, text also with .gz{drawn}"
    sub.add_argument("-o", "--output", metavar="FILE", help=text)
    sub.set_defaults(pictures=pictures, endings=of_formats, usual_format=default, flattens=flattens)


def at_least(least: int) -> Callable[[str], int]:
    """The argument type for whole numbers from `least` on."""

    def number(text: str) -> int:
        if not text.isdecimal() or int(text) < least:
            raise argparse.ArgumentTypeError(f"{text!r} is no whole number from {least} on")
        return int(text)

    return number


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _texts(text: str) -> list[str]:
    return text.split(",")


TABLE_READERS: Mapping[str, Callable[[str], pl.DataFrame]] = {
    "csv": pl.read_csv,
    "tsv": partial(pl.read_csv, separator="\t"),
    "ndjson": pl.read_ndjson,
    "parquet": pl.read_parquet,
    "ipc": pl.read_ipc,
}
"""The readers of side tables, by format."""


def _table_or_number(text: str) -> pl.DataFrame | int:
    """The table in a file, by the ending of its name; or a number."""
    if text.isdecimal():
        return int(text)
    kind = SUFFIXES.get(suffix_of(text))
    if kind is None:
        raise argparse.ArgumentTypeError(f"{text!r} ends in none of {', '.join(SUFFIXES)}; name a file that does")
    try:
        return TABLE_READERS[kind](text)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise argparse.ArgumentTypeError(f"{text!r} cannot be read: {str(error).splitlines()[0]}") from None


# options of methods


def add_parameters(sub: Parser, method: Callable[..., object]) -> None:
    """Add an option for each keyword of a ranker's method that has none yet."""
    hints = get_type_hints(method)
    for name, parameter in keywords(method).items():
        if _option(name) in sub._option_string_actions:
            continue
        kinds = _kinds(hints[name])
        words = [word for kind in kinds if get_origin(kind) is Literal for word in get_args(kind)]
        must = parameter.default is parameter.empty
        default = None if must else parameter.default
        if words and NoneType in kinds and default is not None:
            words.append("none")
        of_several = [x for kind in kinds if get_origin(kind) is Sequence for x in get_args(kind)]
        number = float if float in (*kinds, *of_several) else int if int in (*kinds, *of_several) else None
        several = any(get_origin(kind) not in (None, Literal) for kind in kinds)
        text = help_of(method, name).replace("None", "none" if "none" in words else "the default")
        text = re.sub("; the default .*", "", text) if must else text
        text += f"; may be repeated{', or separated by commas' if number else ''}" if several else ""
        text += "" if must or several or default is None else f"; default: {default}"
        kind = _separated(number) if several and number else number or spelled
        metavar = "NUMBER" if number else METAVARS.get(name, "COLUMN")
        settings: dict[str, Any] = {"choices": words} if words else {"type": kind, "metavar": metavar}
        action = "store" if not several else "extend" if number else "append"
        default, text = None if several else default, text.replace("%", "%%")
        sub.add_argument(_option(name), action=action, required=must, default=default, help=text, **settings)


def _separated(number: type[float | int]) -> Callable[[str], list[float | int]]:
    """Read numbers that commas separate."""

    def read(text: str) -> list[float | int]:
        return [number(part) for part in text.split(",")]

    read.__name__ = number.__name__  # argparse names it in its error
    return read


def keywords(method: Callable[..., object]) -> dict[str, inspect.Parameter]:
    """The keyword arguments that are options."""
    of = inspect.signature(method).parameters.items()
    return {name: x for name, x in of if x.kind is x.KEYWORD_ONLY and name not in ELSEWHERE}


def _kinds(annotation: object) -> list[object]:
    """The types of a union, or the single type."""
    return [annotation] if get_origin(annotation) in (Literal, None) else list(get_args(annotation))


def help_of(method: Callable[..., object], name: str) -> str:
    """The first sentence of a parameter in a method's docstring, spelled for the command line."""
    for names, text in entries(sections(inspect.getdoc(method) or "")[1].get("Parameters", "")):
        if name in names.replace("*", "").split(", "):
            if other := re.match(r"As for :meth:`(\w+)`", text.strip()):
                return help_of(getattr(PolarsRanker, other[1]), name)
            sentence = re.split(r"\.(?: |$)", " ".join(text.split()))[0]
            sentence = re.sub(r", as (for :meth:`\w+`|``\{.*?``)|; or several", "", sentence)
            sentence = re.sub(r":meth:`(\w+)`", r"rankframe \1", sentence)
            sentence = re.sub(r"``\"?(.*?)\"?``", r"\1", sentence)
            sentence = re.sub(r"`(\w+)`", lambda found: _option(found[1]), sentence)
            return sentence[0].lower() + sentence[1:]
    return ""


# what was given


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
            raise InvalidOption("--rank and --score both name the column to rank by; name one of them")
        given |= {"score": rank, "ascending": True}
    return argparse.Namespace(**given)


def metrics_of(arguments: argparse.Namespace) -> list[str]:
    """The given metrics; default: the command's, without those that the convention's tool lacks."""
    usual = arguments.usual_metrics
    if arguments.metrics is not None:
        return [text for given in arguments.metrics for text in texts_of(given)]
    if usual == DEFAULT_METRICS and arguments.convention in CONVENTIONS:
        has = CONVENTIONS[arguments.convention].metrics
        return [text for text in usual if rf.parse(text)[0].metric.name in has]
    return list(usual)


def values_of(arguments: argparse.Namespace, verb: Callable[..., object] | None = None) -> dict[str, Any]:
    """The given options of the command's verb, or another one, as its keyword arguments."""
    given = {name: getattr(arguments, name) for name in keywords(verb or arguments.verb)}
    return {name: None if value == "none" else value for name, value in given.items() if value is not None}


class Reading(FrameRanker[Any]):
    """A ranker without a table, whose verbs return the columns that they would read."""

    _frame = pl.DataFrame()

    def _with(self, setup: Setup) -> Reading:
        return Reading(setup)

    def _run(self, call: VerbCall) -> set[str]:
        return call.columns(self._setup)


def columns_read(arguments: argparse.Namespace, verb: Callable[..., Any], **runs: object) -> set[str]:
    """The columns of the files that `verb`, a function of a ranker, reads by its declaration."""
    found: set[str] = verb(Reading(Setup()).on(**_given(arguments)), **runs)
    return found


def ranker(table: pl.DataFrame, arguments: argparse.Namespace) -> PolarsRanker[pl.DataFrame]:
    """The table's ranker, with the given policies."""
    options = _given(arguments)
    for name in TABLES:
        other = options.get(name)
        if isinstance(other, pl.DataFrame):  # ids of text files are text
            options[name] = other.cast({x: table.schema[x] for x in ("query_id", "doc_id") if x in other.columns})
    return rf.rank(table).on(**options)


def _given(arguments: argparse.Namespace) -> dict[str, Any]:
    """The policies and columns given on the command line; other tables have the library's names of users and items."""
    renamed: Collection[str] = ("query", "doc", "score", "label", "rank")  # files are read under the library's names
    given = {name: getattr(arguments, name) for name in (*POLICIES, *COLUMN_OPTIONS, *TABLES) if name not in renamed}
    names = {getattr(arguments, ours.removesuffix("_id")): ours for ours in ("query_id", "doc_id")}
    for name in TABLES:
        if isinstance(table := given[name], pl.DataFrame):
            given[name] = table.rename({name: ours for name, ours in names.items() if name in table.columns})
    return {name: value for name, value in given.items() if value is not None}
