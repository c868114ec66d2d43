"""Messages of the library in the words of the command line: --label rel for df.rank.on(label='rel')."""

from __future__ import annotations

import re
import shlex

__all__ = ["in_options"]

NAMED = (
    "query|doc|score|label|subtopic|weight|relevant|ties|unjudged|unretrieved|no_relevant|depth|collection_size|"
    "unjudged_labels|scores|convention|runs|run|baseline|by|missing|method|seed|resamples|confidence|test|correction|"
    "judged_only|run_only|worst"
)
"""The arguments that are options here."""
VALUE = r"""'[^']*'|"[^"]*"|\([^()]*\)|\[[^\]]*\]|\.\.\.|-?\w+(?:\.\w+)?"""
NESTED = r"\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)"

ARGUMENT = re.compile(rf"(?<![\w(,.])({NAMED})=({VALUE})")  # not those inside of a metric's brackets
PYTHON = (
    (r", or name the columns that tell them apart, as query=\[.*?\]", ""),
    (r"df\.rank\.check\((?:qrels)?\)", "rankframe check"),
    (r"df\.rank\.judge\(qrels\)", "--qrels QRELS"),
    (r"judge counts it, or leaves it out with", "it counts, or is left out with"),
    (r"judge leaves it out, or keeps it with", "it is left out, or counts with"),
    (r"drop it before judge, or", "leave --qrels out to"),
    (r"\bas \((\d+), (\d+)\)", r"as \1,\2"),
    (r": invalid utf-?8.*", ": this is no UTF-8 text; convert it, as with iconv -f latin1 -t utf-8"),
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
    return " ".join(
        (ARGUMENT.sub(_option, message) + found + rows.replace("df.rank.check()", "rankframe check")).split()
    )


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
