"""Queries that nobody judged: a call that warns of them counts them while their values are
computed.
"""

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


class Counting(NamedTuple):
    """What was counted, and the columns that name the run of each row, which are of no query."""

    counted: list[Unjudged]
    runs: Sequence[str]


_counting: ContextVar[Counting | None] = ContextVar("_counting", default=None)


@contextmanager
def counting(runs: Sequence[str] = ()) -> Iterator[list[Unjudged]]:
    """Inside, `count` appends to the list; a query of several runs, which the columns `runs` tell
    apart, counts once.
    """
    counted: list[Unjudged] = []
    token = _counting.set(Counting(counted, runs))
    try:
        yield counted
    finally:
        _counting.reset(token)


def count(
    frame: pl.DataFrame,
    setup: Setup,
    calls: Sequence[Call],
    values: pl.DataFrame,
    *,
    by_query: bool,
) -> None:
    """Count the queries of a frame, and those without any label, if the call warns of them.

    `values` are those of the calls: a row per query if `by_query`, else per document.
    """
    current = _counting.get()
    if current is not None:
        query = [name for name in setup.roles.query if name not in current.runs]
        one_each = by_query and len(query) == len(setup.roles.query)
        of = values.height if one_each else frame.select(query).n_unique()
        lack = _may_lack_labels(frame, setup, calls, values)
        current.counted.append(
            Unjudged(_without_labels(frame, query, setup.roles.label) if lack else 0, of)
        )


def _may_lack_labels(
    frame: pl.DataFrame, setup: Setup, calls: Sequence[Call], values: pl.DataFrame
) -> bool:
    """Whether some labels are null, and some values of each metric that reads labels."""
    label, reading = (
        setup.roles.label,
        [call.text for call in calls if call.of_ranking and call.labels],
    )
    if label not in frame.columns or not frame[label].has_nulls():
        return False
    return bool(reading) and all(
        name in values.columns and values[name].has_nulls() for name in reading
    )


def _without_labels(frame: pl.DataFrame, query: Sequence[str], label: str) -> int:
    """The number of queries without any label."""
    judged = frame.filter(pl.col(label).is_not_null())
    return frame.select(query).n_unique() - judged.select(query).n_unique()
