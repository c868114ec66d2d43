"""Messages of the library in the command line's spelling: --label rel for df.rank.on(label='rel')."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from .._table.setup import TABLES
from ..errors import Advice, Code, InvalidData, Text, Verbatim, shown, worded

METHODS = {"check": "rankframe check", "judge": "--qrels QRELS"}
"""The spelling of a method of the ranker; `on` has none, only its options."""


def in_options(said: Text) -> str:
    """The message in one line, with its advice spelled as options of the command line."""
    return " ".join(worded(said, spelled).split())


@contextmanager
def naming_file(arguments: argparse.Namespace) -> Iterator[None]:
    """Begin errors in rows with the name of their file; with several runs, they name the run."""
    try:
        yield
    except InvalidData as error:
        files: Sequence[str] = getattr(arguments, "files", ())
        qrels: str | None = getattr(arguments, "qrels", None)
        of_qrels = error.kind == "label not finite" and qrels is not None
        path = qrels if of_qrels else files[0] if len(files) == 1 else None
        if error.kind is None or path is None:  # an error of reading, which names its file
            raise
        raise InvalidData(f"{'standard input' if path == '-' else path}: ", *error.parts, kind=error.kind) from error


def spelled(advice: Advice | Code) -> str:
    """The spelling of advice at a prompt."""
    if isinstance(advice, Code):
        return advice.spelled(advice.command)
    options = [
        f"--{name.replace('_', '-')}{'' if value is True else ' ' + _file_or(name, value)}"
        for name, value in advice.options.items()
    ]
    return " ".join([*filter(None, [METHODS.get(advice.method)]), *options])


def _file_or(name: str, value: object) -> str:
    """An option's value; a Python variable with a table becomes a file name."""
    return f"{value}.csv" if name in TABLES and isinstance(value, Verbatim) else _value(value)


def _value(value: object) -> str:
    if value is ...:
        return "COLUMN"
    if isinstance(value, (list, tuple)):
        return ",".join(map(_value, value))
    if isinstance(value, str) and not isinstance(value, Verbatim):
        return shlex.quote(value if shown(value) == repr(value) else shown(value))
    return shown(value)
