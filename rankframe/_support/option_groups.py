"""Options that many functions share, in groups: each is a TypedDict, taken by `Unpack`."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, cast

from .methods import F

ENTRY = re.compile(r"\n(?=\S)")
"""Where an entry of a docstring's list of parameters ends."""

PARAMETERS = "\n\nParameters\n----------\n"

UNPACKED = re.compile(r"Unpack\[(\w+)\]")


def help_of(*groups: type) -> dict[str, str]:
    """The entry of each option in the docstrings of groups, after their first paragraph."""
    entry_of: dict[str, str] = {}
    for group in groups:
        doc = inspect.cleandoc(group.__doc__ or "")
        _, _, entries = doc.partition("\n\n")
        for entry in ENTRY.split(entries):
            entry_of |= dict.fromkeys(named_in(entry), entry)
    return entry_of


def named_in(entry: str) -> list[str]:
    """The parameters that an entry of a docstring is about."""
    names, _, _ = entry.partition("\n")
    return names.replace("*", "").split(", ")


def group_of(function: Callable[..., object]) -> Mapping[str, Any] | None:
    """The options that a function unpacks, with annotations as text; None if it unpacks none."""
    *_, last = inspect.signature(function).parameters.values()
    unpacked = UNPACKED.fullmatch(str(last.annotation))
    if last.kind is not last.VAR_KEYWORD or unpacked is None:
        return None
    module = cast("Any", function).__globals__
    annotations = module[unpacked[1]].__annotations__
    return {name: annotation.__forward_arg__ for name, annotation in annotations.items()}


def show(
    function: Callable[..., object],
    options: Mapping[str, inspect.Parameter],
    known: Mapping[str, object],
    first: tuple[str, ...] = (),
) -> None:
    """Let the signature of a function have the options of its group, each by itself.

    Parameters
    ----------
    function
        The function, whose last parameter is `**options`.
    options
        The options of the group.
    known
        The types that their annotations name.
    first
        The names of options that stand before those of the function itself.
    """
    signature = inspect.signature(function)
    *parameters, _ = signature.parameters.values()
    of_position = [x for x in parameters if x.kind is not x.KEYWORD_ONLY]
    of_name = [x for x in parameters if x.kind is x.KEYWORD_ONLY]
    before = [options[name] for name in first if name in options]
    after = [x for name, x in options.items() if name not in first]
    every = [*of_position, *before, *of_name, *after]
    annotations = {x.name: x.annotation for x in every if x.annotation is not x.empty}
    annotations["return"] = signature.return_annotation
    shown = signature.replace(parameters=every)
    function.__annotations__ = annotations
    function.__dict__.update(__signature__=shown, aliases=known)


def explain(function: Callable[..., object], entries: Mapping[str, str]) -> None:
    """Add the entries of parameters of which the docstring of a function has none.

    All then stand in the order of the signature.
    """
    about, returns, rest = inspect.cleandoc(function.__doc__ or "").partition("\n\nReturns\n")
    summary, _, listed = about.partition(PARAMETERS)
    all_entries = ENTRY.split(listed) if listed else []
    documented = {name for entry in all_entries for name in named_in(entry)}
    places = {name: i for i, name in enumerate(inspect.signature(function).parameters)}
    for name, entry in entries.items():
        if name in places and name not in documented and entry not in all_entries:
            all_entries.append(entry)

    def place(entry: str) -> int:
        first, *_ = named_in(entry)
        return places.get(first, 0)

    listed = "\n".join(sorted(all_entries, key=place))
    function.__doc__ = f"{summary}{PARAMETERS}{listed}{returns}{rest}"


def with_defaults(function: F, options: Mapping[str, inspect.Parameter]) -> F:
    """The function with the defaults of the group's options that a call leaves out."""
    defaults = {name: x.default for name, x in options.items()}

    @wraps(function)
    def call(*args: object, **given: object) -> object:
        return function(*args, **{**defaults, **given})

    return cast(F, call)


def with_group(function: F, defaults: Mapping[str, object]) -> F:
    """The function with the signature and the defaults of the options of the group that it
    unpacks; its module knows the types that these name.
    """
    options = {}
    for name, annotation in (group_of(function) or {}).items():
        default = defaults[name]
        by_name = inspect.Parameter.KEYWORD_ONLY
        options[name] = inspect.Parameter(name, by_name, default=default, annotation=annotation)
    show(function, options, {})
    return with_defaults(function, options)
