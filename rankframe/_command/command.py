"""The declaration of a command, the options that commands share, and the options derived from the method that a command runs."""

from __future__ import annotations

import argparse
import inspect
import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from shutil import get_terminal_size
from types import NoneType
from typing import (
    Any,
    Literal,
    NamedTuple,
    NoReturn,
    TypeAlias,
    TypeVar,
    get_args,
    get_origin,
    get_type_hints,
)

import polars as pl

from .._files.formats import FORMATS as TABLE_FORMATS, SUFFIXES, FormatName
from .._files.sources import spelled, suffix_of
from .._lift.polars import PolarsRanker
from .._support.docstrings import entries, sections
from .._table.conventions import CONVENTIONS
from .._table.name_presets import PRESETS, whole_name
from .._table.policies import Policies, declared
from .._table.roles import ROLES
from .._table.setup import Setup
from ..errors import MOST_LETTERS, InvalidOption, did_you_mean, nearest
from .output import ENDINGS, FORMATS, PICTURE, OutputTable

X = TypeVar("X")

EXIT_CODES = """\
exit codes:
  0  done
  1  done, but rankframe gate did not pass, or rankframe check found errors
  2  an error, described in one line on standard error
"""

DEFAULT_METRICS = ("ndcg@10", "map", "rr")
COLUMNS = ("query_id", "doc_id", "score", "label")
FILES = (
    ": TREC text, .parquet, .csv, .tsv or .ndjson, or a file of BEIR, Quepid, _rank_eval or "
    "mteb, text also as .gz; - is "
    "standard input. {}Without --qrels, a table with scores and labels"
)
ONE_RUN = "the results of a system" + FILES.format("")
RUNS = "the results of each system, in a file named after the run" + FILES.format(
    "Or one table of several runs. "
)

COLUMN_OPTIONS = {
    **{
        name: f"{role.says}{', separated by commas' * role.several}" for name, role in ROLES.items()
    },
    **{column.removesuffix("_id"): f"default: {column}" for column in COLUMNS},
    "subtopic": f"{ROLES['subtopic'].says}, for metrics of diversity; for TREC text: iteration",
    "rank": "the column of ranks, 1 being the best, instead of scores",
}
"""The options that name columns, with their help."""

TABLES_OF_ITEMS = {
    "interactions": "past interactions, with the columns of users and items",
    "items": "the catalog, with a row for each item; or their number",
}

POLICIES = {"convention": declared(Setup)["convention"], **declared(Policies)}
"""The policies, by their declarations."""

ELSEWHERE = (
    "runs", "run", "qrels", "tables", "margin", "items", "interactions", "progress", "most_moved", "gate", "options", "sequential",
)  # fmt: skip
"""Parameters without an option: runs and other tables, which files give; a result of another verb; a setting that changes
nothing that is printed; a state, for which a command has an option of its own."""

METAVARS = {
    "baseline": "RUN", "fail_on": "PROBLEM", "fusion": "METHOD", "title": "TEXT", "normalize": "NAME", "convention": "NAME",
    "dialect": "NAME", "table": "TABLE", "judgments": "TABLE",
}  # fmt: skip
"""The placeholders of text options that do not name a column."""


class Outcome(NamedTuple):
    """The result of a command, to print or to write (None: nothing), and its exit code."""

    result: str | OutputTable | None
    code: int = 0


class Parser(argparse.ArgumentParser):
    """A parser that reports an error in one line."""

    def error(self, message: str) -> NoReturn:
        """Print the error, and leave with exit code 2."""
        if found := re.search(r"invalid choice: '(.*?)'( \(choose from (.*)\))", message):
            near = did_you_mean(found[1], re.findall(r"[\w-]+", found[3]))
            if len(found[2]) > 2 * MOST_LETTERS:  # the help has them
                message = message.replace(found[2], "")
            message += f".{near}"
        elif "arguments are required" in message and self.epilog:
            message += f", as in {self.epilog.splitlines()[1].strip()}"
        self.exit(
            2,
            f"{self.prog}: error: {message.removesuffix('.')}; {self.prog} --help shows what "
            "to write\n",
        )

    def refuse(self, word: str) -> NoReturn:
        """Leave with exit code 2, for a word that no option or file takes."""
        if not word.startswith("-"):
            self.error(f"{word} is one word too many for '{self.usage}'")
        option = word.partition("=")[0]
        near = nearest(
            option.strip("-").lower(),
            [x[2:] for x in self._option_string_actions if x.startswith("--")],
        )
        self.error(
            f"there is no option {option}{'' if near is None else f' (did you mean --{near}?)'}"
        )


Program: TypeAlias = Callable[[argparse.Namespace], Outcome]


OWN = re.compile(r"^(-.*?|[A-Z]+)  (.*(?:\n +.*)*)$", flags=re.MULTILINE)
"""An option in the docstring of a command, and its help, whose further lines are indented."""

EXAMPLE = re.compile(r"^\$ (.*)$", flags=re.MULTILINE)


@dataclass(frozen=True)
class Command:
    """A command of the command line.

    Attributes
    ----------
    run
        Runs the command with parsed options. Its name is that of the command; its docstring is the help: a line, and more
        if one is not enough; then a line ``--option VALUE  help`` for each option of this command alone; then examples
        after ``$``.
    options
        Further settings of these options, as argparse takes them, by their names.
    files
        How many runs it takes, as argparse writes it: 1, ``"?"``, ``"+"`` or ``"*"``; ``None``: it reads no runs.
    metrics
        The default of its metrics; empty if it takes none.
    verb
        Gives the method of a ranker whose keywords are options; called for the command that runs.
    formats
        The formats of its table; empty if it prints none.
    pictures
        The endings of files that get a picture.
    endings
        Further endings of files, with their formats.
    usual_format
        The format without a file.
    about_formats
        Help on formats that few commands have.
    flattens
        Whether its table has columns of metrics.
    abbreviated
        Whether options may be abbreviated, which can break scripts when new options are added.
    """

    run: Program
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    files: int | str | None = None
    metrics: Sequence[str] = ()
    verb: Callable[[], Callable[..., Any]] | None = None
    formats: Sequence[str] = FORMATS
    pictures: Sequence[str] = ()
    endings: Mapping[str, str] = field(default_factory=dict)
    usual_format: str = "table"
    about_formats: str = ""
    flattens: bool = False
    abbreviated: bool = False

    @property
    def name(self) -> str:
        """The name to type."""
        return self.run.__name__

    @property
    def about(self) -> str:
        """The help, as a sentence and more."""
        return inspect.getdoc(self.run) or ""

    @property
    def help(self) -> str:
        """A line of help."""
        return re.sub(
            r"^.|\.$", lambda found: found[0].lower().strip("."), self.about.partition("\n")[0]
        )

    @property
    def examples(self) -> list[str]:
        """Command lines for its help."""
        return EXAMPLE.findall(self.about)

    def add_to(
        self, commands: argparse._SubParsersAction[Parser], *, with_options: bool = True
    ) -> None:
        """Add the command to a parser; without its options if no command is to run, as they take longest."""
        text = " ".join(EXAMPLE.sub("", OWN.sub("", self.about)).split())
        sub = commands.add_parser(
            self.name,
            help=self.help,
            description=textwrap.fill(text, get_terminal_size().columns - 2),
            epilog=epilog(self.examples),
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=self.abbreviated,
        )
        sub.set_defaults(command=self.run, parser=sub, verb=None, usual_metrics=self.metrics)
        if with_options:
            self._add_options(sub)

    def _add_options(self, sub: Parser) -> None:
        if self.files is not None:
            add_files(sub, self.files)
        elif self.verb is not None:
            add_columns(sub)
        if self.metrics or self.verb is not None:
            add_policies(sub)
        if self.metrics:
            text = (
                "a metric, or several with commas; may be repeated; default: "
                f"{','.join(self.metrics)}. 'rankframe metrics' "
            )
            text += "lists them"
            sub.add_argument(
                "-m", "--metric", dest="metrics", action="append", metavar="METRIC", help=text
            )
        add_declared(sub, self.run, self.options)
        if self.verb is not None:
            method = self.verb()
            sub.set_defaults(verb=method)
            add_parameters(sub, method)
        if self.formats:
            self._add_format(sub)
        must = [
            f"{x.option_strings[0]} {x.metavar}"
            for x in sub._actions
            if x.option_strings and x.required
        ]
        runs = {"?": "[RUN]", "*": "[RUN ...]", "+": "RUN [RUN ...]"}
        named = [
            runs.get(str(x.nargs), str(x.metavar)) for x in sub._actions if not x.option_strings
        ]
        options = ["[options]"] if len(sub._actions) > 1 else []  # --help is one
        sub.usage = " ".join(["rankframe", self.name, *options, *must, *named])

    def _add_format(self, sub: Parser) -> None:
        text = (
            f"the format of the output: {', '.join(self.formats)}; {self.about_formats}csv, tsv, "
            "json, ndjson, parquet and ipc "
        )
        text += (
            "have all digits, safe-csv is for spreadsheets: no text in it is a formula; default: "
            "by the ending of FILE, else "
        )
        text += self.usual_format
        sub.add_argument("--format", choices=self.formats, metavar="FORMAT", help=text)
        of_text = {**self.endings, **ENDINGS, **self.endings}.items()
        tables = {x: kind for x, kind in of_text if kind in self.formats and x not in self.pictures}
        drawn = (
            f"; draws a picture if FILE ends in {', '.join(self.pictures)}" if self.pictures else ""
        )
        text = f"write the table to this file: {', '.join(tables)}, text also with .gz{drawn}"
        sub.add_argument("-o", "--output", metavar="FILE", help=text)
        endings = {**dict.fromkeys(self.pictures, PICTURE), **tables}
        sub.set_defaults(endings=endings, usual_format=self.usual_format, flattens=self.flattens)


def command(**declared: Any) -> Callable[[Program], Command]:
    """Declare a function as a command; see :class:`Command`."""
    return lambda run: Command(run, **declared)


def epilog(examples: Sequence[str]) -> str:
    """The end of a help text: examples and exit codes."""
    return "\n".join(["examples:", *(f"  {example}" for example in examples), "", EXIT_CODES])


# options of files, columns and policies


def add_declared(
    sub: Parser, by: Callable[..., object], settings: Mapping[str, Mapping[str, Any]]
) -> None:
    """Add the options in the docstring of a function, with further settings as argparse takes
    them; a help may be a function that gives it.
    """
    for words, text in OWN.findall(inspect.getdoc(by) or ""):
        names = words.replace(", ", " ").split()
        value = None if names[-1].startswith("-") else names.pop()
        kind = {"action": "store_true"} if value is None else {"metavar": value}
        further = settings.get(names[-1] if names else str(value), {})
        help_text = further.get("help", " ".join(text.split()))
        if callable(help_text):
            help_text = help_text()
        sub.add_argument(*names, **{**kind, **further, "help": help_text})


def add_files(sub: Parser, nargs: int | str) -> None:
    """Add the runs, their judgments, and the names of columns; where there may be several runs, also their columns.

    --runs COLUMN,COLUMN  the columns of the runs' scores, in one table
    --run COLUMN  the column that names the run of each row, in one table
    """
    one_run = nargs in (1, "?")
    several = "*" if nargs == "?" else nargs  # argparse makes a list of them
    sub.add_argument("files", metavar="RUN", nargs=several, help=ONE_RUN if one_run else RUNS)
    sub.set_defaults(runs=None, run=None)
    if not one_run:
        add_declared(sub, add_files, {"--runs": {"type": _separated(str)}})
    text = "the judgments, in any of these formats; labels in RUN are ignored"
    sub.add_argument("--qrels", metavar="QRELS", help=text)
    add_parameters(sub, PolarsRanker.judge)
    for option, of in (("--input", "RUN"), ("--qrels-input", "QRELS")):
        kinds = get_args(FormatName)
        text = f"the format of {of}: {', '.join(kinds)}; default: from its name"
        sub.add_argument(option, choices=kinds, metavar="FORMAT", help=text)
    names = add_columns(sub)
    text = (
        f"the names that the columns have in another tool's tables: {', '.join(PRESETS)}; flat: "
        "columns of metrics under "
    )
    text += "names for SQL, as ndcg_at_10; may be repeated"
    names.add_argument(
        "--names",
        type=whole_name,
        choices=tuple(PRESETS),
        metavar="NAME",
        action="append",
        help=text,
    )


def add_columns(sub: Parser) -> argparse._ArgumentGroup:
    """The names of columns."""
    names = sub.add_argument_group("names of the columns, for files with named columns")
    for role, what in COLUMN_OPTIONS.items():
        several = (
            role in ROLES and ROLES[role].several and role != "query"
        )  # a file names a query by one column
        kind = _separated(str) if several else str
        names.add_argument(f"--{role.replace('_', '-')}", type=kind, metavar="COLUMN", help=what)
    return names


def add_policies(sub: Parser) -> None:
    """The policies, and the tables that they name."""
    policies = sub.add_argument_group("policies")
    for name, option in POLICIES.items():
        if option.kinds == (bool,):
            policies.add_argument(_option(name), action="store_const", const=True, help=option.says)
            continue
        is_tool = name == "convention"
        words = tuple(CONVENTIONS) if is_tool else option.words
        kind = (
            str
            if words
            else option.kinds[0]
            if option.kinds[0] in (int, float)
            else _separated(int)
        )
        text = option.says + (f": {', '.join(words)}" if words else "")
        default = "" if option.default is None else f"; default: {option.default}"
        metavar = METAVARS.get(
            name, "RULE" if words else "NUMBER" if kind in (int, float) else "LEAST,MOST"
        )
        policies.add_argument(
            _option(name),
            type=whole_name if is_tool else kind,
            metavar=metavar,
            help=text + default,
        )
    others = sub.add_argument_group(
        "other tables, for metrics of recommendations: .parquet, .csv, .tsv or .ndjson"
    )
    for name, what in TABLES_OF_ITEMS.items():
        others.add_argument(f"--{name}", type=_table_or_number, metavar="FILE", help=what)


def whole_number(text: str, least: int = 0) -> int:
    """The argument type for whole numbers from `least` on."""
    if text.isdecimal() and int(text) >= least:
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r} is no whole number from {least} on")


POSITIVE = partial(whole_number, least=1)
"""The argument type for whole numbers from 1 on."""


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _separated(kind: Callable[[str], X]) -> Callable[[str], list[X]]:
    """The argument type for values that commas separate."""

    def read(text: str) -> list[X]:
        return [kind(part) for part in text.split(",")]

    read.__name__ = kind.__name__  # argparse names it in its error
    return read


def _table_or_number(text: str) -> Callable[[Sequence[str]], pl.DataFrame] | int:
    """What reads the table in a file, by the ending of its name, once the columns of ids are known; or a number."""
    if text.isdecimal():
        return int(text)
    if (kind := SUFFIXES.get(suffix_of(text))) is None:
        raise argparse.ArgumentTypeError(
            f"{text!r} cannot be read: it ends in none of {', '.join(SUFFIXES)}"
        )
    return partial(_table, text, kind)


def _table(path: str, kind: str, ids: Sequence[str]) -> pl.DataFrame:
    """The table in a file; ids in CSV are text, as in the files of runs."""
    options: Any = {"separator": mark} if (mark := TABLE_FORMATS[kind].separator) else {}
    options |= {"schema_overrides": dict.fromkeys(ids, pl.String)} if mark else {}
    try:
        table: pl.DataFrame = getattr(pl, f"read_{'csv' if mark else kind}")(path, **options)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise InvalidOption(f"{path!r} cannot be read: {str(error).splitlines()[0]}") from None
    return table


# options of methods


def add_parameters(sub: Parser, method: Callable[..., object]) -> None:
    """Add an option for each keyword of a ranker's method that has none yet."""
    original = inspect.unwrap(method)
    hints = get_type_hints(original, localns=getattr(original, "aliases", None))
    for name, parameter in keywords(method).items():
        if _option(name) in sub._option_string_actions:
            continue
        if parameter.default is False:
            sub.add_argument(
                _option(name), action="store_const", const=True, help=help_of(method, name)
            )
            continue
        kinds = (
            [hints[name]] if get_origin(hints[name]) in (Literal, None) else get_args(hints[name])
        )
        words = [word for kind in kinds if get_origin(kind) is Literal for word in get_args(kind)]
        must = parameter.default is parameter.empty
        default = None if must else parameter.default
        if words and NoneType in kinds and default is not None:
            words.append("none")
        of_several = [x for kind in kinds if get_origin(kind) is Sequence for x in get_args(kind)]
        number = (
            float
            if float in (*kinds, *of_several)
            else int
            if int in (*kinds, *of_several)
            else None
        )
        several = any(get_origin(kind) not in (None, Literal) for kind in kinds)
        text = help_of(method, name).replace("None", "none" if "none" in words else "the default")
        text = re.sub("; the default .*", "", text) if must else text
        text += (
            f"; may be repeated{', or separated by commas' if number else ''}" if several else ""
        )
        text += "" if must or several or default is None else f"; default: {default}"
        kind = _separated(number) if several and number else number or spelled
        metavar = "NUMBER" if number else METAVARS.get(name, "COLUMN")
        settings: dict[str, Any] = (
            {"choices": words} if words else {"type": kind, "metavar": metavar}
        )
        action = "store" if not several else "extend" if number else "append"
        default, text = None if several else default, text.replace("%", "%%")
        sub.add_argument(
            _option(name), action=action, required=must, default=default, help=text, **settings
        )


def keywords(method: Callable[..., object]) -> dict[str, inspect.Parameter]:
    """The keyword arguments that are options."""
    of = inspect.signature(method).parameters.items()
    return {name: x for name, x in of if x.kind is x.KEYWORD_ONLY and name not in ELSEWHERE}


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
