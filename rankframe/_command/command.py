"""What a command is: its options, its examples and what it does."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn

from ..errors import nearest
from .output import Table

__all__ = ["EXIT_CODES", "Answer", "Command", "Parser", "epilog"]

EXIT_CODES = """\
exit codes:
  0  done
  1  done, and what was asked about failed: a gate, or a check that found errors
  2  an error, which one line on standard error tells
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
        What is typed.
    usage
        What stands behind the name.
    help
        What it does, in a line.
    examples
        Lines that can be typed, for its help.
    options
        Adds its options to a parser.
    run
        What it does with them.
    description
        What it does, where a line is not enough.
    abbreviated
        Whether options may be abbreviated, which breaks scripts when others come to be.
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
        """Add the command to those of a parser."""
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
    """A parser that says in one line what is wrong."""

    def error(self, message: str) -> NoReturn:
        """Leave with exit code 2."""
        self.exit(2, f"{self.prog}: error: {message}; {self.prog} --help shows what to write\n")

    def refuse(self, words: Sequence[str]) -> NoReturn:
        """Leave with exit code 2, for the first of `words` that no option or file takes."""
        option = words[0].partition("=")[0]
        if option.startswith("-"):
            near = nearest(f"--{option.lstrip('-')}", self._option_string_actions)
            self.error(f"there is no option {option}{'' if near is None else f' (did you mean {near}?)'}")
        self.error(f"{words[0]} is one word too many for '{self.usage}'")


def epilog(examples: tuple[str, ...]) -> str:
    """The end of a help: examples and exit codes."""
    return "\n".join(["examples:", *(f"  {example}" for example in examples), "", EXIT_CODES])
