"""The declaration of a command: its name, options, examples and function."""

from __future__ import annotations

import argparse
import os
import re
import shlex
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from shutil import get_terminal_size
from typing import NamedTuple, NoReturn

import rankframe as rf

from ..errors import InvalidOption, UnknownMetric, nearest
from .output import Table
from .target import ENDINGS

EXIT_CODES = """\
exit codes:
  0  done
  1  done, but rankframe gate did not pass, or rankframe check found errors
  2  an error, described in one line on standard error
"""


INSTEAD = {
    **dict.fromkeys(("q", "judgments", "judgements", "truth", "ground-truth"), ("--qrels",)),
    **dict.fromkeys(("k", "cutoff", "top-k"), ("--metric ndcg@10", "--method 'rrf(k=10)'")),
    "measure": ("--metric",),
    "csv": ("--format csv",),
    **{name: (f"--format {name}",) for name in ("json", "latex", "markdown", "html")},
    "level": ("--relevant",),
}
"""Other words for options, each with the options it may mean; similar names are found without it."""


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
        More help, if one line is not enough.
    other_names
        Other words for the command, unlike its name.
    abbreviated
        Whether options may be abbreviated, which can break scripts when new options are added.
    """

    name: str
    usage: str
    help: str
    examples: tuple[str, ...]
    options: Callable[[Parser], object]
    run: Callable[[argparse.Namespace], Answer]
    description: str = ""
    other_names: tuple[str, ...] = ()
    abbreviated: bool = False

    def add_to(self, commands: argparse._SubParsersAction[Parser], *, with_options: bool = True) -> None:
        """Add the command to a parser; without its options if another command is to run, as they take longest."""
        text = f"{self.help[0].upper()}{self.help[1:]}. {self.description}".strip()
        sub = commands.add_parser(
            self.name,
            usage=f"rankframe {self.name} {self.usage}".rstrip(),
            help=self.help,
            description=textwrap.fill(text, get_terminal_size().columns - 2),
            epilog=epilog(self.examples),
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=self.abbreviated,
        )
        if with_options:
            self.options(sub)
        sub.set_defaults(command=self.run, parser=sub)


class Parser(argparse.ArgumentParser):
    """A parser that reports an error in one line."""

    limit = ""
    """The advice for one word too many."""

    commands: Sequence[Command] = ()
    """All commands; set in the top parser only."""

    def error(self, message: str) -> NoReturn:
        """Print the error, and leave with exit code 2."""
        if found := re.search(r"invalid choice: '(.*?)' \(choose from (.*)\)", message):
            words = {name: x.name for x in self.commands for name in (x.name, *x.other_names)}
            known = words or re.findall(r"[\w-]+", found[2])
            near = ENDINGS.get(f".{found[1]}")
            near = near if near in known else nearest(found[1], known)
            if self.commands:
                near, message = words.get(near or "", near), f"there is no command {found[1]!r}"
                if os.path.isfile(found[1]):
                    near = f"evaluate {shlex.quote(found[1])} --qrels QRELS"
                elif near is None and f"--{found[1]}" in self._option_string_actions:
                    near = f"--{found[1]}"
            message += "" if near is None else f". Did you mean {near!r}?"
        elif "arguments are required" in message and self.epilog:
            message += f", as in {self.epilog.splitlines()[1].strip()}"
        self.exit(
            2,
            f"{self.prog}: error: {message}{' ' if message.endswith('?') else '; '}{self.prog} --help shows what to write\n",
        )

    def refuse(self, words: Sequence[str], arguments: argparse.Namespace) -> NoReturn:
        """Leave with exit code 2, for the first of `words` that no option or file takes."""
        option, word = words[0].partition("=")[0], words[0]
        if option.startswith("-"):
            self.error(f"there is no option {option}{self._instead(option.lstrip('-').lower())}")
        metrics, runs = (name in self._option_string_actions for name in ("--metric", "--runs"))
        advice = self.limit or ("; names are joined by commas, as in --runs bm25,ltr" if runs else "")
        if metrics and is_metric(word):
            advice = f"; metrics are joined by commas, as in -m ndcg@10,{word}"
        elif getattr(arguments, "qrels", "") is None:
            advice += f"; judgments are named with --qrels {word}"
        self.error(f"{word} is one word too many for '{self.usage}'{advice}")

    def _instead(self, word: str) -> str:
        """The option that a word means, in brackets; nothing if none is known."""
        names = [name[2:] for name in self._option_string_actions if name.startswith("--")]
        for meant in INSTEAD.get(word, ()):
            if meant[2:].partition(" ")[0] in names:
                return f" (did you mean {meant}?)"
        near = nearest(word, names)
        return "" if near is None else f" (did you mean --{near}?)"


def is_metric(text: str) -> bool:
    """Whether a text names metrics."""
    try:
        return bool(rf.parse(text))
    except (InvalidOption, UnknownMetric):
        return False


def epilog(examples: tuple[str, ...]) -> str:
    """The end of a help text: examples and exit codes."""
    return "\n".join(["examples:", *(f"  {example}" for example in examples), "", EXIT_CODES])
