"""The metrics that a caller asks for, as texts, functions or calls."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import polars as pl

from ..errors import InvalidOption, asked_as
from .call import Call, call_of
from .parse import calls_in, texts_of
from .registry import METRICS, Metric, Registry, of

Request: TypeAlias = str | pl.Expr | Callable[..., pl.Expr]

LONGEST = 500
"""The longest text, in letters, whose calls are kept."""

MOST_READ = 2**14
"""The most texts whose calls are kept, so that a loop reads its metrics once."""


def calls_of(
    *requests: Request | Call, example: str = "evaluate('ndcg@10')", among: Mapping[str, Metric] = METRICS
) -> list[Call]:
    """The calls that texts and functions name, each once; calls are taken as they are. Errors show `example`."""
    calls: list[Call] = []
    for request in requests:
        if isinstance(request, pl.Expr):
            raise InvalidOption("an expression has no name among the metrics; write text, as in ", asked_as(example))
        if isinstance(request, Call):
            calls.append(request)
        elif callable(request):
            calls.append(call_of(of(request, among), (), {}))
        else:
            calls += _calls_in(request, among)
    if not calls:
        raise no_metric(example)
    return list(dict.fromkeys(calls))


def read_requests(requests: Sequence[Any], among: Mapping[str, Metric]) -> tuple[Call | pl.Expr, ...]:
    """The requests with calls for texts and functions; expressions are taken as they are."""
    found: list[Call | pl.Expr] = []
    for request in requests:
        found += [request] if isinstance(request, (pl.Expr, Call)) else calls_of(request, among=among)
    return tuple(found)


def _calls_in(text: str, among: Mapping[str, Metric]) -> Sequence[Call]:
    """The calls of one metric or of several; a text that was read before is a look-up."""
    if not isinstance(text, str):
        return calls_in(text, among)  # refuses it
    known = among.read if isinstance(among, Registry) else {}
    if text in known:
        return known[text]
    texts = texts_of(text)
    each = [calls_in(texts[0], among)] if len(texts) == 1 else [_calls_in(one, among) for one in texts]
    calls = tuple(call for some in each for call in some)
    if len(text) <= LONGEST:
        if len(known) >= MOST_READ:
            known.clear()
        known[text] = calls
    return calls


def averaged(requests: Iterable[Request | Call], example: str) -> list[Call]:
    """The named calls; refuse those without a mean."""
    calls = calls_of(*requests, example=example)
    for call in calls:
        if call.metric.dtype != pl.Float64:
            raise InvalidOption(f"{call.text} is {call.metric.dtype}, which has no mean; evaluate it instead")
    return calls


def no_metric(example: str) -> InvalidOption:
    """The error for an empty request."""
    return InvalidOption("no metric given; name at least one, as in ", asked_as(example))
