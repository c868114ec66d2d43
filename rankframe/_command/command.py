"""The declaration of a command and its options.

Some options are shared by commands, others derived from the method that a command runs.
"""

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
from .._support.docstrings import entries, sections, summary
from .._table.conventions import CONVENTIONS
from .._table.name_presets import PRESETS, whole_name
from .._table.policies import Policies, declared
from .._table.roles import ROLES
from .._table.setup import Setup
from ..errors import MOST_LETTERS, InvalidOption, did_you_mean, nearest
from .output import ENDINGS, FORMATS, PICTURE, Answer

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
    "runs", "run", "qrels", "tables", "margin", "items", "interactions", "progress",
    "most_moved", "gate", "options", "sequential",
)  # fmt: skip
"""Parameters without an option: runs and other tables, which files give; a result of another verb;
a setting that changes nothing that is printed; a state, for which a command has an option of its
own."""

METAVARS = {
    "baseline": "RUN", "fail_on": "PROBLEM", "fusion": "METHOD", "title": "TEXT",
    "normalize": "NAME", "convention": "NAME", "dialect": "NAME", "table": "TABLE",
    "judgments": "TABLE",
}  # fmt: skip
"""The placeholders of text options that do not name a column."""


class Outcome(NamedTuple):
    """The answer of a command with an exit code of its own."""

    answer: Answer
    code: int


class Parser(argparse.ArgumentParser):
    """A parser that reports an error in one line."""

    def error(self, message: str) -> NoReturn:
        """Print the error, and leave with exit code 2."""
        if found := re.search(r"invalid choice: '(.*?)'( \(choose from (.*)\))", message):
            word = found[1]
            choices = found[2]
            near = did_you_mean(word, re.findall(r"[\w-]+", found[3]))
            if len(choices) > 2 * MOST_LETTERS:  # the help has them
                message = message.replace(choices, "")
            message += f".{near}"
        elif "arguments are required" in message and self.epilog:
            example = self.epilog.splitlines()[1]
            message += f", as in {example.strip()}"
        advice = f"{self.prog} --help shows what to write"
        self.exit(2, f"{self.prog}: error: {message.removesuffix('.')}; {advice}\n")

    def refuse(self, word: str) -> NoReturn:
        """Leave with exit code 2, for a word that no option or file takes."""
        if not word.startswith("-"):
            self.error(f"{word} is one word too many for '{self.usage}'")
        option = word.partition("=")[0]
        known = [name[2:] for name in self._option_string_actions if name.startswith("--")]
        near = nearest(option.strip("-").lower(), known)
        question = "" if near is None else f" (did you mean --{near}?)"
        self.error(f"there is no option {option}{question}")


Program: TypeAlias = Callable[[argparse.Namespace], Answer | Outcome]


OWN = re.compile(r"^(-.*?|[A-Z]+)  (.*(?:\n +.*)*)$", flags=re.MULTILINE)
"""An option in the docstring of a command, and its help, whose further lines are indented."""

EXAMPLE = re.compile(r"^\$ (.*)$", flags=re.MULTILINE)


@dataclass(frozen=True)
class Command:
    """A command of the command line.

    Attributes
    ----------
    run
        Runs the command with parsed options, and gives what to print or to write. Its name is that
        of the command; its docstring is the help: a line, and more if one is not enough; then a
        line ``--option VALUE  help`` for each option of this command alone; then examples after
        ``$``.
    options
        Further settings of these options, as argparse takes them, by their names.
    files
        How many runs it takes, as argparse writes it: 1, ``"?"``, ``"+"`` or ``"*"``; ``None``: it
        reads no runs.
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
        first = summary(self.about)
        return first[:1].lower() + first[1:].removesuffix(".")

    @property
    def examples(self) -> list[str]:
        """Command lines for its help, each in one line."""
        return [" ".join(line.split()) for line in EXAMPLE.findall(self.about)]

    def add_to(
        self, commands: argparse._SubParsersAction[Parser], *, with_options: bool = True
    ) -> None:
        """Add the command to a parser.

        Its options are left out if no command is to run, as they take longest.
        """
        about = " ".join(EXAMPLE.sub("", OWN.sub("", self.about)).split())
        sub = commands.add_parser(
            self.name,
            help=self.help,
            description=textwrap.fill(about, get_terminal_size().columns - 2),
            epilog=epilog(self.examples),
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=self.abbreviated,
        )
        sub.set_defaults(command=self.run, parser=sub, verb=None, usual_metrics=self.metrics)
        if with_options:
            self._add_options(sub)
            sub.usage = self._usage(sub)

    def _add_options(self, sub: Parser) -> None:
        if self.files is not None:
            add_files(sub, self.files)
        elif self.verb is not None:
            add_columns(sub)
        if self.metrics or self.verb is not None:
            add_policies(sub)
        if self.metrics:
            several = "a metric, or several with commas; may be repeated"
            usual = f"default: {','.join(self.metrics)}. 'rankframe metrics' lists them"
            settings: dict[str, Any] = {"dest": "metrics", "action": "append", "metavar": "METRIC"}
            sub.add_argument("-m", "--metric", **settings, help=f"{several}; {usual}")
        add_declared(sub, self.run, self.options)
        if self.verb is not None:
            method = self.verb()
            sub.set_defaults(verb=method)
            add_parameters(sub, method)
        if self.formats:
            self._add_format(sub)

    def _usage(self, sub: Parser) -> str:
        """The command with the options that it needs, and its runs."""
        words = ["rankframe", self.name]
        if len(sub._actions) > 1:  # --help is one
            words.append("[options]")
        files = []
        several = {"?": "[RUN]", "*": "[RUN ...]", "+": "RUN [RUN ...]"}
        for action in sub._actions:
            if not action.option_strings:
                files.append(several.get(str(action.nargs), str(action.metavar)))
            elif action.required:
                words.append(f"{action.option_strings[0]} {action.metavar}")
        return " ".join([*words, *files])

    def _add_format(self, sub: Parser) -> None:
        formats = f"the format of the output: {', '.join(self.formats)}; {self.about_formats}"
        digits = "csv, tsv, json, ndjson, parquet and ipc have all digits"
        safe = "safe-csv is for spreadsheets: no text in it is a formula"
        usual = f"default: by the ending of FILE, else {self.usual_format}"
        text = f"{formats}{digits}, {safe}; {usual}"
        sub.add_argument("--format", choices=self.formats, metavar="FORMAT", help=text)
        of_text = {**self.endings, **ENDINGS, **self.endings}.items()
        tables = {x: kind for x, kind in of_text if kind in self.formats and x not in self.pictures}
        text = f"write the table to this file: {', '.join(tables)}, text also with .gz"
        if self.pictures:
            text += f"; draws a picture if FILE ends in {', '.join(self.pictures)}"
        sub.add_argument("-o", "--output", metavar="FILE", help=text)
        endings = dict.fromkeys(self.pictures, PICTURE) | tables
        sub.set_defaults(endings=endings, usual_format=self.usual_format, flattens=self.flattens)


def command(**declared: Any) -> Callable[[Program], Command]:
    """Declare a function as a command; see :class:`Command`."""
    return lambda run: Command(run, **declared)


def epilog(examples: Sequence[str]) -> str:
    """The end of a help text: examples and exit codes."""
    lines = [f"  {example}" for example in examples]
    return "\n".join(["examples:", *lines, "", EXIT_CODES])


# options of files, columns and policies


def add_declared(
    sub: Parser, by: Callable[..., object], settings: Mapping[str, Mapping[str, Any]]
) -> None:
    """Add the options in the docstring of a function, with further settings for argparse.

    A help may be a function that gives it.
    """
    for words, text in OWN.findall(inspect.getdoc(by) or ""):
        names = words.replace(", ", " ").split()
        value = None if names[-1].startswith("-") else names.pop()
        given: dict[str, Any] = {"action": "store_true"} if value is None else {"metavar": value}
        given["help"] = " ".join(text.split())
        given |= settings.get(names[-1] if names else str(value), {})
        if callable(given["help"]):
            given["help"] = given["help"]()
        sub.add_argument(*names, **given)


def add_files(sub: Parser, nargs: int | str) -> None:
    """Add the runs, their judgments, and the names of columns.

    Where there may be several runs, their columns are added, too.

    --runs COLUMN,COLUMN  the columns of the runs' scores, in one table
    --run COLUMN  the column that names the run of each row, in one table
    """
    is_one_run = nargs in (1, "?")
    several = "*" if nargs == "?" else nargs  # argparse makes a list of them
    sub.add_argument("files", metavar="RUN", nargs=several, help=ONE_RUN if is_one_run else RUNS)
    sub.set_defaults(runs=None, run=None)
    if not is_one_run:
        add_declared(sub, add_files, {"--runs": {"type": _separated(str)}})
    text = "the judgments, in any of these formats; labels in RUN are ignored"
    sub.add_argument("--qrels", metavar="QRELS", help=text)
    add_parameters(sub, PolarsRanker.judge)
    kinds = get_args(FormatName)
    for option, what in (("--input", "RUN"), ("--qrels-input", "QRELS")):
        text = f"the format of {what}: {', '.join(kinds)}; default: from its name"
        sub.add_argument(option, choices=kinds, metavar="FORMAT", help=text)
    of_tools = f"the names that the columns have in another tool's tables: {', '.join(PRESETS)}"
    flat = "flat: columns of metrics under names for SQL, as ndcg_at_10"
    text = f"{of_tools}; {flat}; may be repeated"
    settings: dict[str, Any] = {"type": whole_name, "choices": tuple(PRESETS), "action": "append"}
    add_columns(sub).add_argument("--names", metavar="NAME", help=text, **settings)


def add_columns(sub: Parser) -> argparse._ArgumentGroup:
    """The names of columns."""
    group = sub.add_argument_group("names of the columns, for files with named columns")
    for name, what in COLUMN_OPTIONS.items():
        # a file names a query by one column
        is_several = name in ROLES and ROLES[name].several and name != "query"
        kind = _separated(str) if is_several else str
        group.add_argument(_option(name), type=kind, metavar="COLUMN", help=what)
    return group


def add_policies(sub: Parser) -> None:
    """The policies, and the tables that they name."""
    policies = sub.add_argument_group("policies")
    for name, option in POLICIES.items():
        if option.kinds == (bool,):
            policies.add_argument(_option(name), action="store_const", const=True, help=option.says)
            continue
        is_tool = name == "convention"
        words = tuple(CONVENTIONS) if is_tool else option.words
        text = option.says
        kind: Callable[[str], Any] = whole_name if is_tool else str
        if words:
            metavar, text = "RULE", f"{text}: {', '.join(words)}"
        elif option.kinds[0] in (int, float):
            metavar = "NUMBER"
            kind = option.kinds[0]
        else:
            metavar = "LEAST,MOST"
            kind = _separated(int)
        if option.default is not None:
            text += f"; default: {option.default}"
        metavar = METAVARS.get(name, metavar)
        policies.add_argument(_option(name), type=kind, metavar=metavar, help=text)
    others = "other tables, for metrics of recommendations: .parquet, .csv, .tsv or .ndjson"
    tables = sub.add_argument_group(others)
    for name, what in TABLES_OF_ITEMS.items():
        tables.add_argument(f"--{name}", type=_table_or_number, metavar="FILE", help=what)


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
    """A number; or what reads the table in a file once the columns of ids are known."""
    if text.isdecimal():
        return int(text)
    kind = SUFFIXES.get(suffix_of(text))
    if kind is None:
        endings = ", ".join(SUFFIXES)
        raise argparse.ArgumentTypeError(f"{text!r} cannot be read: it ends in none of {endings}")
    return partial(_table, text, kind)


def _table(path: str, kind: str, ids: Sequence[str]) -> pl.DataFrame:
    """The table in a file; ids in CSV are text, as in the files of runs."""
    mark = TABLE_FORMATS[kind].separator
    options: Any = {}
    if mark:
        options = {"separator": mark, "schema_overrides": dict.fromkeys(ids, pl.String)}
    read = getattr(pl, "read_csv" if mark else f"read_{kind}")
    try:
        table: pl.DataFrame = read(path, **options)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise InvalidOption(f"{path!r} cannot be read: {str(error).splitlines()[0]}") from None
    return table


# options of methods


def add_parameters(sub: Parser, method: Callable[..., object]) -> None:
    """Add an option for each keyword of a ranker's method that has none yet."""
    original = inspect.unwrap(method)
    hints = get_type_hints(original, localns=getattr(original, "aliases", None))
    for name, parameter in keywords(method).items():
        option = _option(name)
        if option not in sub._option_string_actions:
            text = help_of(method, name)
            sub.add_argument(option, **_settings(name, hints[name], parameter, text))


def _settings(name: str, hint: Any, parameter: inspect.Parameter, text: str) -> dict[str, Any]:
    """The keywords of `add_argument` for an option of a method, by its type and its default."""
    default = parameter.default
    if default is False:
        return {"action": "store_const", "const": True, "help": text}
    is_required = default is parameter.empty
    if is_required:
        default = None
    # The members of a union; an option that takes a sequence also takes a single value.
    kinds = [hint] if get_origin(hint) in (Literal, None) else get_args(hint)
    words = [word for kind in kinds if get_origin(kind) is Literal for word in get_args(kind)]
    if words and NoneType in kinds and default is not None:
        words.append("none")
    number = _number_in(kinds)
    is_several = any(get_origin(kind) not in (None, Literal) for kind in kinds)
    text = text.replace("None", "none" if "none" in words else "the default")
    if is_required:
        text = re.sub("; the default .*", "", text)
    if is_several:
        text += "; may be repeated"
        text += ", or separated by commas" if number else ""
    elif default is not None:
        text += f"; default: {default}"
    settings: dict[str, Any] = {"help": text.replace("%", "%%"), "required": is_required}
    settings["action"] = "store"
    if is_several:
        settings["action"] = "extend" if number else "append"
    else:
        settings["default"] = default
    if words:
        return settings | {"choices": words}
    settings["type"] = number or spelled
    if is_several and number:
        settings["type"] = _separated(number)
    settings["metavar"] = "NUMBER" if number else METAVARS.get(name, "COLUMN")
    return settings


def _number_in(kinds: Sequence[Any]) -> type[float] | None:
    """The type of the numbers of an option, also of those in a sequence; None if it has none."""
    every = [*kinds]
    for kind in kinds:
        if get_origin(kind) is Sequence:
            every += get_args(kind)
    if float in every:
        return float
    return int if int in every else None


def keywords(method: Callable[..., object]) -> dict[str, inspect.Parameter]:
    """The keyword arguments that are options."""
    every = inspect.signature(method).parameters.items()
    keyword = inspect.Parameter.KEYWORD_ONLY
    return {name: x for name, x in every if x.kind is keyword and name not in ELSEWHERE}


def help_of(method: Callable[..., object], name: str) -> str:
    """The first sentence of a parameter in a method's docstring, spelled for the command line."""
    parts = sections(inspect.getdoc(method) or "")[1].get("Parameters", "")
    for names, text in entries(parts):
        if name not in names.replace("*", "").split(", "):
            continue
        if other := re.match(r"As for :meth:`(\w+)`", text.strip()):
            return help_of(getattr(PolarsRanker, other[1]), name)
        sentence = re.split(r"\.(?: |$)", " ".join(text.split()))[0]
        sentence = re.sub(r", as (for :meth:`\w+`|``\{.*?``)|; or several", "", sentence)
        sentence = re.sub(r":meth:`(\w+)`", r"rankframe \1", sentence)
        sentence = re.sub(r"``\"?(.*?)\"?``", r"\1", sentence)
        sentence = re.sub(r"`(\w+)`", lambda found: _option(found[1]), sentence)
        return sentence[0].lower() + sentence[1:]
    return ""
