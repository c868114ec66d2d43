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


def count(frame: pl.DataFrame, setup: Setup, calls: Sequence[Call], values: pl.DataFrame, *, by_query: bool) -> None:
    """Count the queries of a frame, and those without any label, if the call warns of them.

    `values` are those of the calls: a row per query if `by_query`, else per document.
    """
    counted = _counted.get()
    if counted is not None:
        query = list(setup.roles.query)
        of = values.height if by_query else frame.select(query).n_unique()
        queries = _without_labels(frame, setup) if _may_lack_labels(frame, setup, calls, values) else 0
        counted.append(Unjudged(queries, of))


def _may_lack_labels(frame: pl.DataFrame, setup: Setup, calls: Sequence[Call], values: pl.DataFrame) -> bool:
    """Whether some labels are null, and some values of each metric that reads labels."""
    label, reading = setup.roles.label, [call.text for call in calls if call.of_ranking and call.labels]
    if label not in frame.columns or not frame[label].has_nulls():
        return False
    return bool(reading) and all(name in values.columns and values[name].has_nulls() for name in reading)


def _without_labels(frame: pl.DataFrame, setup: Setup) -> int:
    """The number of queries without any label."""
    query, label = list(setup.roles.query), setup.roles.label
    judged = frame.filter(pl.col(label).is_not_null())
    return frame.select(query).n_unique() - judged.select(query).n_unique()
