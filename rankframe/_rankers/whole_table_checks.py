"""Refusals and warnings that need a caller's whole table: workers see parts, which may differ from it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from .._catalog.call import Call
from .._catalog.requests import calls_of
from .._plan.absent_values import refuse_absent_values
from .._plan.per_query import watch_slices
from .._table.setup import Setup
from .._verbs.declaration import Verb


def check_result(frame: object, setup: Setup, verb: Verb, args: Sequence[Any], result: object) -> None:
    """Refuse a result for a group that the table lacks, and warn of a table whose numbers are not what is meant.

    A lazy result does both when it runs.
    """
    if verb.labels is not True:
        return
    if (
        setup.roles.group is not None
        and isinstance(frame, (pl.DataFrame, pl.LazyFrame))
        and not isinstance(result, pl.LazyFrame)
    ):
        refuse_absent_values(frame, setup, _calls(verb, args))
    if isinstance(frame, pl.DataFrame) and verb.watched:
        by = args[verb.reads.index("by")] if "by" in verb.reads else ()
        watch_slices(frame, setup, _calls(verb, args), [name for name in by if name in setup.roles.query])


def _calls(verb: Verb, args: Sequence[Any]) -> list[Call]:
    """The metrics of a verb's call."""
    requests = [request for request in verb.requests(args) if not isinstance(request, pl.Expr)]
    return calls_of(*requests) if requests else []
