"""Options derived from the signature and documentation of the method that a command runs."""

from __future__ import annotations

import argparse
import inspect
import re
from collections.abc import Callable, Collection
from types import NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from .._files.sources import spelled
from .._rankers.polars import PolarsRanker
from .._support.docstrings import entries, sections
from .command import Parser

ELSEWHERE = ("runs", "run", "qrels", "margin", "items", "interactions", "progress", "most_moved", "gate")
"""Parameters without an option: runs and other tables, which files give; a result of another verb; a setting that changes
nothing that is printed."""

METAVARS = {"baseline": "RUN", "fusion": "METHOD", "title": "TEXT", "normalize": "NAME"}
"""The placeholders of text options that do not name a column."""


def add_parameters(
    sub: Parser,
    method: Callable[..., object],
    *,
    required: Collection[str] = (),
    without: Collection[str] = (),
    **defaults: object,
) -> None:
    """Add an option for each keyword of a ranker's method but those in `without`; `defaults` replace the method's."""
    hints = get_type_hints(method)
    for name, parameter in keywords(method).items():
        if name in without:
            continue
        kinds = parts(hints[name])
        words = [word for kind in kinds if get_origin(kind) is Literal for word in get_args(kind)]
        default = defaults.get(name, None if parameter.default is parameter.empty else parameter.default)
        if words and NoneType in kinds and parameter.default is not None:
            words.append("none")
        number = float if float in kinds else int if int in kinds else None
        several = any(get_origin(kind) not in (None, Literal) for kind in kinds)
        must = name in required or parameter.default is parameter.empty
        text = help_of(method, name).replace("None", "none" if "none" in words else "the default")
        text = re.sub("; the default .*", "", text) if must else text
        text += f"; may be repeated{', or separated by commas' if number else ''}" if several else ""
        settings: dict[str, Any] = {"choices": words} if words else {"type": number or spelled}
        action = "append" if several else "store"
        if several and number:
            settings["type"], action = _separated(number), "extend"
        if not words:
            settings["metavar"] = "NUMBER" if number else METAVARS.get(name, "COLUMN")
        sub.add_argument(
            f"--{name.replace('_', '-')}",
            action=action,
            required=must,
            default=None if several else default,
            help=(text if must or several or default is None else f"{text}; default: {default}").replace("%", "%%"),
            **settings,
        )


def _separated(number: type[float | int]) -> Callable[[str], list[float | int]]:
    """Read numbers that commas separate."""

    def read(text: str) -> list[float | int]:
        return [number(part) for part in text.split(",")]

    read.__name__ = number.__name__  # argparse names it in its error
    return read


def values_of(arguments: argparse.Namespace, method: Callable[..., object]) -> dict[str, Any]:
    """The given options of a method as its keyword arguments."""
    given = {name: getattr(arguments, name) for name in keywords(method)}
    return {name: None if value == "none" else value for name, value in given.items() if value is not None}


def keywords(method: Callable[..., object]) -> dict[str, inspect.Parameter]:
    """The keyword arguments that are options."""
    of = inspect.signature(method).parameters.items()
    return {name: x for name, x in of if x.kind is x.KEYWORD_ONLY and name not in ELSEWHERE}


def parts(annotation: object) -> list[object]:
    """The types of a union, or the single type."""
    return [annotation] if get_origin(annotation) in (Literal, None) else list(get_args(annotation))


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
            sentence = re.sub(r"`(\w+)`", lambda found: f"--{found[1].replace('_', '-')}", sentence)
            return sentence[0].lower() + sentence[1:]
    return ""
