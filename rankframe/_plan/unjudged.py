"""Queries that nobody judged: a call that warns of them counts them while their values are computed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple

import polars as pl

from .._catalog.call import Call
from .._table.setup import Setup


class Unjudged(NamedTuple):
    """The number of queries without any label, and of all queries."""

    queries: int
    of: int


_counted: ContextVar[list[Unjudged] | None] = ContextVar("_counted", default=None)


@contextmanager
def counting() -> Iterator[list[Unjudged]]:
    """Inside, `count` appends to the list."""
    counted: list[Unjudged] = []
    token = _counted.set(counted)
    try:
        yield counted
    finally:
        _counted.reset(token)


def count(frame: pl.DataFrame, setup: Setup, calls: Sequence[Call], found: pl.DataFrame) -> None:
    """Count the queries of a frame without any label, if their values are wanted; `found` are the values of the calls."""
    counted, label = _counted.get(), setup.roles.label
    if counted is None or label not in frame.columns or not frame[label].has_nulls():
        return
    values = [found[call.text] for call in calls if call.of_ranking and call.labels and call.text in found.columns]
    if not values or not all(value.has_nulls() for value in values):  # else each query has a value
        return
    query = list(setup.roles.query)
    of = frame.select(query).n_unique()
    queries = of - frame.select(*query, label).drop_nulls(label).select(query).n_unique()
    if queries:
        counted.append(Unjudged(queries, of))
