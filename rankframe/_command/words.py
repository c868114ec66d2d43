"""Messages of the library in the command line's spelling: --label rel for df.rank.on(label='rel')."""

from __future__ import annotations

import shlex
from typing import Any

from ..errors import Advice, Code, Text, Verbatim, shown, worded

__all__ = ["in_options", "spelled"]

METHODS = {"check": "rankframe check", "judge": "--qrels QRELS"}
"""What stands for a method; that of `on` are its options."""


def in_options(said: Text) -> str:
    """The text in one line, with the advice spelled as options of the command line."""
    return " ".join(worded(said, spelled).split())


def spelled(advice: Advice | Code) -> str:
    """What to write at a prompt."""
    if isinstance(advice, Code):
        return advice.spelled(advice.command)
    options = [f"--{name.replace('_', '-')} {_value(value)}" for name, value in advice.options.items()]
    return " ".join([*filter(None, [METHODS.get(advice.method)]), *options])


def _value(value: Any) -> str:
    if value is ...:
        return "COLUMN"
    if isinstance(value, (list, tuple)):
        return ",".join(map(_value, value))
    if isinstance(value, str) and not isinstance(value, Verbatim):
        return shlex.quote(value if shown(value) == repr(value) else shown(value))
    return shown(value)
