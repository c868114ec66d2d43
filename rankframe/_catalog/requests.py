"""The metrics that a caller asks for, as texts, functions or calls."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple, TypeAlias

import polars as pl

from .._table.setup import Setup
from ..errors import InvalidOption, RankframeError, UnknownMetric, asked_as
from .call import Call, call_of
from .parse import calls_in, texts_of
from .registry import CATALOG_METRICS, METRICS, Metric, Registry, metric_of
from .values import call_of_expression

Request: TypeAlias = str | pl.Expr | Call | Callable[..., pl.Expr] | Iterable[Any]
"""A metric as text, expression, call, function or object of ir_measures; or several of them in a
list or a set."""

_BOTH: Any = METRICS, CATALOG_METRICS
EITHER: Mapping[str, Metric] = ChainMap(*_BOTH)
"""The metrics of queries, and those of the whole table, whose calls are read as `OfItems`."""


class OfItems(NamedTuple):
    """A metric of the whole table, where a verb also takes metrics of queries."""

    call: Call


LONGEST = 500
"""The longest text, in letters, whose calls are kept."""

MOST_READ = 2**14
"""The most texts whose calls are kept, so that a loop reads its metrics once."""


def each_of(requests: Iterable[Any]) -> Iterator[Any]:
    """The requests one by one: those in lists, sets and generators, too.

    Objects of ir_measures become texts.
    """
    for request in requests:
        is_single = isinstance(request, (str, bytes, Mapping, Call, OfItems))
        if type(request).__module__.partition(".")[0] == "ir_measures":
            yield str(request)
        elif is_single or not isinstance(request, Iterable):
            yield request
        elif isinstance(request, (set, frozenset)):
            yield from each_of(sorted(request, key=str))  # a set has no order of its own
        else:
            yield from each_of(request)


def calls_of(
    *requests: Request | Call,
    example: str = "evaluate('ndcg@10')",
    among: Mapping[str, Metric] = METRICS,
) -> list[Call]:
    """The calls that texts and functions name, each once; calls are taken as they are.

    Errors show `example`.
    """
    calls: list[Call] = []
    for request in each_of(requests):
        if isinstance(request, pl.Expr):
            raise InvalidOption(
                "an expression has no name among the metrics; write text, as in ", asked_as(example)
            )
        if isinstance(request, Call):
            if among is not METRICS:
                only_of_rankings([request], example)
            calls.append(request)
        elif callable(request):
            calls.append(call_of(metric_of(request, among), (), {}))
        else:
            calls += _calls_in(request, among)
    if not calls:
        raise no_metric(example)
    return list(dict.fromkeys(calls))


def read_requests(requests: Sequence[Any], among: Mapping[str, Metric]) -> tuple[Any, ...]:
    """The requests with calls for texts and functions; expressions are taken as they are.

    Of `EITHER`, a metric of the whole table is an `OfItems`.
    """
    calls: list[Any] = []
    for request in each_of(requests):
        if isinstance(request, Call) and among is EITHER:
            of_items = request.metric.listed == CATALOG_METRICS.name
            calls.append(OfItems(request) if of_items else request)
        elif isinstance(request, (pl.Expr, Call, OfItems)):
            calls.append(request)
        elif among is EITHER:
            for one in texts_of(request) if isinstance(request, str) else [request]:
                calls += _of_either(one)
        else:
            calls += calls_of(request, among=among)
    return tuple(calls)


def _of_either(request: Any) -> Sequence[Call | OfItems]:
    """The calls of one metric of queries, or of the whole table."""
    try:
        return calls_of(request)
    except UnknownMetric as error:
        try:
            return [OfItems(call) for call in calls_of(request, among=CATALOG_METRICS)]
        except UnknownMetric:
            raise error from None


def _calls_in(text: str, among: Mapping[str, Metric]) -> Sequence[Call]:
    """The calls of one metric or of several; a text that was read before is a look-up."""
    if not isinstance(text, str):
        return calls_in(text, among)  # refuses it
    known = among.read if isinstance(among, Registry) else {}
    if text in known:
        return known[text]
    calls: list[Call] = []
    texts = texts_of(text)
    for one in texts:
        calls += calls_in(one, among) if len(texts) == 1 else _calls_in(one, among)
    if len(text) <= LONGEST:
        if len(known) >= MOST_READ:
            known.clear()
        known[text] = tuple(calls)
    return calls


def averaged(
    requests: Iterable[Request],
    example: str,
    setup: Setup | None = None,
    *,
    of_rankings: bool = False,
    weighs: bool = False,
) -> list[Call]:
    """The calls that requests name, under a setup if one is given.

    An expression is the call of its value. Refused are calls whose values are not numbers; with
    `of_rankings`, values that are not computed from a ranking; and ratios of sums over all queries,
    unless the caller `weighs` queries by their divisors.
    """
    each = list(each_of(requests))
    if not of_rankings:
        each = [_value(x) if isinstance(x, pl.Expr) else x for x in each]
    calls = calls_of(*each, example=example)
    if setup is not None:
        calls = [call.under(setup) for call in calls]
    if of_rankings:
        only_of_rankings(calls, example)
    if not weighs:
        refuse_ratios(calls)
    for call in calls:
        if call.metric.dtype != pl.Float64:
            raise InvalidOption(
                f"{call.text} is {call.metric.dtype}, which has no mean; evaluate it instead"
            )
    return calls


def refuse_ratios(calls: Sequence[Call]) -> None:
    """Refuse calls, under a setup, whose mean weighs queries by their clicks."""
    for call in calls:
        if call.weighed == "ratio":
            says = (
                "is a ratio of sums over all queries, and no mean of the queries' ratios; "
                "summarize it, or compare it by the"
            )
            raise InvalidOption(f"{call.text} {says} default test")


def refuse_geometric(calls: Sequence[Call]) -> Sequence[Call]:
    """The calls; refuse those with a geometric mean, for which plain means of values are wrong."""
    for call in calls:
        if call.metric.summary == "geometric mean":
            says = "is summed up by its geometric mean, and this takes plain means"
            raise InvalidOption(f"{call.text} {says}; ask for {call.text[3:]}")
    return calls


def only_of_rankings(calls: Sequence[Call], example: str) -> Sequence[Call]:
    """The calls; refuse values that are not a ranking's."""
    for call in calls:
        if not call.of_ranking:
            raise InvalidOption(
                f"{call.text} does not depend on a ranking; name a metric that does, as in ",
                asked_as(example),
            )
    return calls


def _value(x: pl.Expr) -> Call:
    """The value of an expression, with the direction and bounds of a metric that it is named like.

    Expressions of `rf.expr` are.
    """
    like: list[Call] = []
    with suppress(RankframeError):
        like = calls_in(x.meta.output_name(raise_if_undetermined=False) or "")
    return call_of_expression(x, *like[:1])


def no_metric(example: str) -> InvalidOption:
    """The error for an empty request."""
    return InvalidOption("no metric given; name at least one, as in ", asked_as(example))
