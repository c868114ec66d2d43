"""Messages of the library in the words of the command line: --label rel for df.rank.on(label='rel')."""

from __future__ import annotations

import re
import shlex

from .._table.policies import Policies, declared
from .._table.setup import ROLES

__all__ = ["in_options"]

OF_VERBS = "runs|run|baseline|by|missing|method|seed|resamples|confidence|test|correction|judged_only|run_only|worst"
NAMED = "|".join([*ROLES, *declared(Policies), "convention", OF_VERBS])
"""The arguments that are options here."""
VALUE = r"""'[^']*'|"[^"]*"|\([^()]*\)|\[[^\]]*\]|\.\.\.|-?\w+(?:\.\w+)?"""
NESTED = r"\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)"

ARGUMENT = re.compile(rf"(?<![\w(,.])({NAMED})=({VALUE})")  # not those inside of a metric's brackets
CHECK = r"df\.rank\.check\((?:qrels)?\)"
PYTHON = (
    (r", or name the columns that tell them apart, as query=\[.*?\]", ""),
    (CHECK, "rankframe check"),
    (r"df\.rank\.judge\(qrels\)", "--qrels QRELS"),
    (
        r"name the column that tells them apart: df\.rank\.judge\(.*?\)(?: or df\.rank\.judge\(.*?\))*",
        "give each a file of its own",
    ),
    (r"df\.rank\.judge\(qrels, (run=[^)]*)\)", r"--qrels QRELS \1"),
    (r"judge counts it, or leaves it out with", "it counts, or is left out with"),
    (r"judge leaves it out, or keeps it with", "it is left out, or counts with"),
    (r"drop it before judge, or", "leave --qrels out to"),
    (r"\bas \((\d+), (\d+)\)", r"as \1,\2"),
    (r"(?:df\.rank\.(?:plot\.)?)\w+\('([^']*)'.*?\)", r"-m \1"),
    # what one does to a frame in Python has no other words here
    (rf"[,;:]?(?: for instance)?(?: as)?(?: with| in)? (?:df|qrels|pl)(?:\.[\w.]+{NESTED})+(?: does)?", ""),
)


def in_options(message: str) -> str:
    """The message, in one line, with options of the command line where it advises arguments of a call."""
    message, found, rows = message.partition(" (found in ")  # where the user's own values stand
    message = re.sub(r"df\.rank\.on\(((?:[^()]|\([^()]*\))*)\)", _of_call, message)
    for pattern, words in PYTHON:
        message = re.sub(pattern, words, message)
    return " ".join((ARGUMENT.sub(_option, message) + found + re.sub(CHECK, "rankframe check", rows)).split())


def _of_call(call: re.Match[str]) -> str:
    return " ".join(_option(found) for found in re.finditer(rf"({NAMED})=({VALUE})", call[1]))


def _option(argument: re.Match[str]) -> str:
    name, value = argument[1].replace("_", "-"), argument[2]
    if value == "...":
        value = "COLUMN"
    elif value[0] in "([":
        value = "".join(character for character in value if character not in "[]()'\" ")
    elif value[0] in "'\"":
        value = shlex.quote(value[1:-1])
    return f"--{name} {value}"
