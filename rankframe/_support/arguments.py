"""Errors for missing and unknown arguments of a method, with the call to write instead."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from types import NoneType

from ..errors import InvalidOption, did_you_mean


@lru_cache(maxsize=512)  # reading a signature takes 2% of the time of a small table
def own_parameters(method: Callable[..., object]) -> tuple[inspect.Parameter, ...]:
    """The parameters of a method, without its object."""
    _, *parameters = inspect.signature(method).parameters.values()
    return tuple(parameters)


def refuse_unfit(
    spelled: str, function: Callable[..., object], args: Sequence[object], options: Mapping[str, object]
) -> None:
    """Refuse missing, unknown and surplus arguments of a method; advice spells its call as `spelled`."""
    parameters = own_parameters(function)
    places = [x.name for x in parameters if x.kind is x.POSITIONAL_OR_KEYWORD]
    several = any(x.kind is x.VAR_POSITIONAL for x in parameters)
    defaults = {x.name: x.default for x in parameters if x.kind is not x.VAR_POSITIONAL}
    known = list(defaults)
    for name in options:
        if name not in known:
            its = f"; its options are: {', '.join(known)}.{did_you_mean(name, known)}" if known else ", or any other"
            raise InvalidOption(f"{function.__name__} has no option {name!r}{its}")
    if twice := [name for name in places[: len(args)] if name in options]:
        first = [*map(written, [options[twice[0]], *args])] if several else []
        rest = [f"{name}={written(value)}" for name, value in options.items() if name != twice[0]]
        advice = f"write {spelled}({', '.join([*first, *rest])})" if several else "give it once"
        raise InvalidOption(f"{function.__name__} takes {twice[0]} first, and it is given by its name, too; {advice}")
    given = {*places[: len(args)], *options}
    over = list(args[len(places) :])
    if several:  # no metric is a number
        over = [x for x in over if isinstance(x, (int, float))]
    lacking = [name for name in known if defaults[name] is inspect.Parameter.empty and name not in given]
    if lacking:
        named = {name: over.pop(0) for name in lacking if over}
        call = [
            written(x) for x in (args if several else args[: len(places)]) if not any(x is y for y in named.values())
        ]
        call += [f"{name}={written(value)}" for name, value in {**options, **named}.items()]
        call += [f"{name}=..." for name in lacking if name not in named]
        needs = ", ".join(f"{name} ({_about(function, name)})" for name in lacking)
        raise InvalidOption(f"{function.__name__} needs {needs}; write {spelled}({', '.join(call)})")
    if over and not several:
        rest = [name for name in known if name not in given]
        takes = ", ".join(places) or "nothing"
        others = f", and by their names {', '.join(rest)}" if rest else ""
        raise InvalidOption(f"{function.__name__} has no place for {written(over[0])}; it takes {takes}{others}")


def _about(function: Callable[..., object], name: str) -> str:
    """The first sentence on a parameter in its function's docstring."""
    found = re.search(rf"(?ms)^{name}\n    (.*?)(?:\.\s|\.?\n(?=\S)|; |\Z)", inspect.getdoc(function) or "")
    text = " ".join(found[1].split()).rstrip(".").replace("``", "") if found else "which has no default"
    text = re.sub(r":\w+:`~?([^`]*)`", r"\1", text)
    return text[0].lower() + text[1:]


def written(value: object) -> str:
    """An argument as code; `...` if it is no plain value."""
    plain = isinstance(value, (str, int, float, list, tuple, Mapping, NoneType)) and "\n" not in repr(value)
    return repr(value) if plain else "..."
