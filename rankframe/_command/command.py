"""The declaration of a command: its name, options, examples and function."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn

from ..errors import nearest
from .output import Table

__all__ = ["EXIT_CODES", "Answer", "Command", "Parser", "epilog"]

EXIT_CODES = """\
exit codes:
  0  done
  1  done, but a gate failed, or a check found errors
  2  an error, described in one line on standard error
"""


class Answer(NamedTuple):
    """The result of a command, to print or to write (None: nothing), and its exit code."""

    result: str | Table | None
    code: int = 0


@dataclass(frozen=True)
class Command:
    """A command of the command line.

    Attributes
    ----------
    name
        The name to type.
    usage
        The arguments after the name.
    help
        A line of help.
    examples
        Command lines for its help.
    options
        Adds the options to a parser.
    run
        Runs the command with parsed options.
    description
        A longer help, if one line is not enough.
    abbreviated
        Whether options may be abbreviated, which can break scripts when new options are added.
    """

    name: str
    usage: str
    help: str
    examples: tuple[str, ...]
    options: Callable[[Parser], object]
    run: Callable[[argparse.Namespace], Answer]
    description: str | None = None
    abbreviated: bool = False

    def add_to(self, commands: Any) -> None:
        """Add the command to a parser."""
        sub = commands.add_parser(
            self.name,
            usage=f"rankframe {self.name} {self.usage}".rstrip(),
            help=self.help,
            description=self.description or f"{self.help[0].upper()}{self.help[1:]}.",
            epilog=epilog(self.examples),
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=self.abbreviated,
        )
        self.options(sub)
        sub.set_defaults(command=self.run, parser=sub)


class Parser(argparse.ArgumentParser):
    """A parser that reports an error in one line."""

    limit = ""
    """The advice for a word too many."""

    def error(self, message: str) -> NoReturn:
        """Leave with exit code 2."""
        if found := re.search(r"invalid choice: '(.*?)' \(choose from (.*)\)", message):
            near = nearest(found[1], re.findall(r"[\w-]+", found[2]))
            message += "" if near is None else f". Did you mean {near!r}?"
        self.exit(
            2,
            f"{self.prog}: error: {message}{' ' if message.endswith('?') else '; '}{self.prog} --help shows what to write\n",
        )

    def refuse(self, words: Sequence[str]) -> NoReturn:
        """Leave with exit code 2, for the first of `words` that no option or file takes."""
        option = words[0].partition("=")[0]
        if option.startswith("-"):
            near = nearest(f"--{option.lstrip('-')}", self._option_string_actions)
            self.error(f"there is no option {option}{'' if near is None else f' (did you mean {near}?)'}")
        listed = (
            "; names are joined by commas, as in --runs bm25,ltr" if "--runs" in self._option_string_actions else ""
        )
        self.error(f"{words[0]} is one word too many for '{self.usage}'{self.limit or listed}")


def epilog(examples: tuple[str, ...]) -> str:
    """The end of a help: examples and exit codes."""
    return "\n".join(["examples:", *(f"  {example}" for example in examples), "", EXIT_CODES])
