"""Verbs that are asked for metrics: what to write instead of an option that they do not have."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from .._catalog.parse import parse
from .._table.roles import refuse_tables
from .._table.setup import OPTIONS
from ..errors import InvalidOption, did_you_mean, shown

__all__ = ["asks_for_metrics"]

P = ParamSpec("P")
R = TypeVar("R")

OTHER_NAMES = {"cutoff": "k", "at": "k", "top_k": "k"}
"""Names that options of metrics have elsewhere."""


def asks_for_metrics(verb: Callable[P, R]) -> Callable[P, R]:
    """The method of a ranker, which refuses tables among its metrics, and options that it does not have."""
    _, *parameters = inspect.signature(verb).parameters.values()  # without the ranker
    passes_on = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters)
    known = [parameter.name for parameter in parameters if parameter.kind is not parameter.VAR_POSITIONAL]

    @wraps(verb)
    def method(*args: P.args, **options: P.kwargs) -> R:
        ranker, *metrics = args
        refuse_tables(metrics)
        for name, value in options.items():
            if name not in known and not passes_on:
                advice = _instead(verb.__name__, ranker, metrics, name, value)
                advice = advice or f"its options are: {', '.join(known) or 'none'}.{did_you_mean(name, known)}"
                raise InvalidOption(f"{verb.__name__} has no option {name!r}; {advice}")
        return verb(*args, **options)

    return method


def _instead(verb: str, ranker: Any, metrics: list[Any], name: str, value: object) -> str | None:
    """What to write for an option that belongs elsewhere."""
    asked = ", ".join(repr(metric) if isinstance(metric, (str, Mapping)) else "..." for metric in metrics)
    if name in ("metric", "metrics"):
        given = value if isinstance(value, (list, tuple)) else [value]
        return f"metrics are given without a name, as in df.rank.{verb}({', '.join(map(shown, given))})"
    if name in OPTIONS:
        return f"columns and policies belong to `on`: df.rank.on({name}={shown(value)}).{verb}({asked})"
    if name == "run":
        query = [str(value), *ranker._setup.roles.query]
        by = f", by={value!r}" if verb in ("mean", "summarize") else ""
        return f"where a column names the run, it is part of the query: df.rank.on(query={query}).{verb}({asked}{by})"
    if name == "runs":
        return f"compare looks at several: df.rank.compare({asked}, runs={shown(value)})"
    calls = [call for metric in metrics if isinstance(metric, str) for call in parse(metric)]
    option = OTHER_NAMES.get(name, name)
    if any(option in call.metric.parameters for call in calls):
        texts = [
            (call.with_defaults({option: value}) if option in call.metric.parameters else call).text for call in calls
        ]
        return f"an option of a metric stands in its text: df.rank.{verb}({', '.join(map(repr, texts))})"
    return None
