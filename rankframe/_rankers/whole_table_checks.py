"""Refusals and warnings that need a caller's whole table: workers and plans see parts, which may differ from it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from .._catalog.call import Call
from .._catalog.requests import calls_of
from .._plan.absent_values import refuse_absent_values
from .._table.setup import Setup
from .._verbs.declaration import Verb
from ..errors import judge, on, warn

__all__ = ["check_result"]


def check_result(frame: object, setup: Setup, verb: Verb, args: Sequence[Any], result: object) -> None:
    """Refuse a result for a group that the table lacks, and warn of one for a DataFrame in which nobody judged a document.

    A lazy result looks at the groups when it runs.
    """
    if verb.labels is not True:
        return
    if (
        setup.roles.group is not None
        and isinstance(frame, (pl.DataFrame, pl.LazyFrame))
        and not isinstance(result, pl.LazyFrame)
    ):
        refuse_absent_values(frame, setup, _calls(verb, args))
    label, policies = setup.roles.label, setup.policies
    if not isinstance(frame, pl.DataFrame) or label not in frame.columns or not frame.height:
        return
    if frame.get_column(label).null_count() < frame.height:  # a column knows its count
        return
    if policies.no_relevant == "null" or policies.unjudged == "bounds":  # which show that nothing is known
        return
    reading = [call.text for call in _calls(verb, args) if call.labels and call.metric.over == "documents"]
    empty = [text for text in reading if not _has_values(result, text)]
    if empty:
        warn(
            f"nobody judged a document: column {label!r} is null in all {frame.height:,} rows, and the values of {empty[0]} "
            "say nothing about the ranking. Join the judgments, ",
            judge(),
            ", name the column that holds them, ",
            on(label=...),
            ", or have null in place of such values, ",
            on(no_relevant="null"),
        )


def _calls(verb: Verb, args: Sequence[Any]) -> list[Call]:
    """The metrics of a verb's call."""
    requests = [request for request in verb.requests(args) if not isinstance(request, pl.Expr)]
    return calls_of(*requests) if requests else []


def _has_values(result: object, name: str) -> bool:
    """Whether a result has the column with a value other than 0."""
    if not isinstance(result, pl.DataFrame) or name not in result.columns:
        return False
    return bool((result[name] != 0).any()) if result.schema[name].is_numeric() else True
