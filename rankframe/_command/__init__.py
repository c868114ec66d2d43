"""The command line, ``rankframe`` or ``python -m rankframe``: commands in modules.

It uses argparse, since Typer or Click would be a fifth package that everyone installs.
"""

from __future__ import annotations

import argparse
import errno
import os
import sys
from collections.abc import Sequence
from functools import partial
from io import TextIOWrapper

import polars as pl

import rankframe as rf

from .._results.markup import visible
from ..errors import RankframeError
from . import about, preferences, trec_eval, verbs
from .command import Command, Outcome, Parser, epilog
from .output import Answer, in_options, in_table, prepare, text_of, warnings_as_notes, write
from .reading import naming_file, with_baseline, with_names

MODULES = (verbs, preferences, about, trec_eval)
COMMANDS = tuple(x for module in MODULES for x in vars(module).values() if isinstance(x, Command))

CLOSED_PIPE = 141
INTERRUPTED = 130
"""The exit codes of programs that these signals ended, as shells report them."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line, and give its exit code."""
    if sys.stderr is None:  # closed, as by 2>&-; its messages must not go elsewhere
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115 - until the end
    try:
        return run(sys.argv[1:] if argv is None else list(argv))
    except BrokenPipeError:
        # Python flushes the buffer at exit, which must not fail again.
        if sys.stdout is not None:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return CLOSED_PIPE
    except KeyboardInterrupt:
        return INTERRUPTED
    except (RankframeError, pl.exceptions.PolarsError, OSError, UnicodeEncodeError) as error:
        print(f"rankframe: error: {visible(in_one_line(error))}", file=sys.stderr)
        return 2


def run(words: list[str]) -> int:
    """Run a command, and print or write its answer."""
    if words[:1] == ["help"]:
        words = [*words[1:2], "--help"]
    arguments, others = parser(words).parse_known_args(words)
    if others:
        arguments.parser.refuse(others[0])
    prepare(arguments)
    arguments = with_baseline(with_names(arguments))
    with warnings_as_notes(), naming_file(arguments):
        answer = arguments.command(arguments)
    code = 0
    if isinstance(answer, Outcome):
        answer, code = answer
    if not isinstance(answer, str | None):
        answer = in_table(answer)
    if answer is not None and arguments.target is not None:
        write(arguments.target, answer, arguments.format)
    elif answer is not None:
        if sys.stdout is None:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF), "standard output")
        if isinstance(sys.stdout, TextIOWrapper):
            sys.stdout.reconfigure(encoding="utf-8")  # as in files, whatever the locale
        print(text_of(answer, vars(arguments).get("format", "table")))
        sys.stdout.flush()
    return code


def in_one_line(error: Exception) -> str:
    """An error in one line, with advice for the command line."""
    if isinstance(error, OSError) and error.strerror is not None:
        return f"{error.filename or 'standard output'}: {error.strerror}"
    if isinstance(error, UnicodeEncodeError):  # bytes of an argument, such as a column's name
        wrong = error.object[error.start : error.end]
        return f"{wrong!r} in an argument is no UTF-8 text; convert it"
    if isinstance(error, pl.exceptions.PolarsError):  # the further lines are for programmers
        return str(error).partition("\n")[0]
    return in_options(error.parts if isinstance(error, RankframeError) else str(error))


FIRST = (verbs.evaluate, verbs.compare, verbs.check)
"""The commands shown without arguments."""


HELP_COLUMN = 16
"""Where the help of a command begins; a longer name stands in a line of its own."""


def start(arguments: argparse.Namespace) -> Answer:
    """Show the commands to begin with."""
    lines = []
    for command in FIRST:
        lines += [command.examples[0], f"    {command.help}", ""]
    more = "'rankframe --help' lists all commands, 'rankframe COMMAND --help' its options."
    return "\n".join([*lines, more])


def parser(words: Sequence[str] | None = None) -> argparse.ArgumentParser:
    """The parser of all commands, or of the command that is the first of `words`.

    If the first word is no command, all commands are there without their options, whose help takes
    longest to build.
    """
    about = "Ranking metrics of a table, or of runs and their judgments."
    first = words[0] if words else None
    asked = [command for command in COMMANDS if command.name == first]
    top = Parser(
        prog="rankframe",
        description=f"{about}\n'rankframe COMMAND --help' tells more.",
        epilog=epilog([command.examples[0] for command in asked or COMMANDS]),
        formatter_class=partial(
            argparse.RawDescriptionHelpFormatter, max_help_position=HELP_COLUMN
        ),
    )
    top.set_defaults(command=start, parser=top)
    top.add_argument("--version", action="version", version=f"rankframe {rf.__version__}")
    commands = top.add_subparsers(title="commands", metavar="COMMAND")
    for command in asked or COMMANDS:
        command.add_to(commands, with_options=words is None or bool(asked))
    return top
