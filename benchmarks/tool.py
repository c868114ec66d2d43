"""A tool that computes ranking metrics: its preparation and its evaluation apart, and whether its
values are rankframe's.

A tool says by rankframe's texts which metrics it computes, so that rankframe can be asked for the
very same ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import polars as pl
from shapes import Table

import rankframe as rf


class Disagreement(AssertionError):
    """A tool's value is not rankframe's: there is nothing to time."""


@dataclass(frozen=True)
class Tool:
    """One way to compute some of the metrics.

    Attributes
    ----------
    metrics
        What it computes, in rankframe's texts.
    evaluate
        From what `prepare` gave to what the tool gives; timed by itself.
    values
        From the table, what was prepared and what was given: `query_id` and a column per metric.
        Not timed.
    prepare
        From the table to what `evaluate` takes; None where that is a frame as it is.
    needs
        The modules without which it is left out.
    ties
        Whether it breaks ties by document, descending.
    tolerance
        How far its values may be from rankframe's.
    note
        What the table says of it.
    """

    name: str
    metrics: tuple[str, ...]
    evaluate: Callable[[Any], Any]
    values: Callable[[Table, Any, Any], pl.DataFrame]
    prepare: Callable[[Table], Any] | None = None
    frame: Callable[[Table], Any] = lambda table: table
    needs: tuple[str, ...] = ()
    ties: bool = True
    tolerance: float = 1e-9
    note: str = ""

    def ready(self, table: Table) -> Any:
        """What `evaluate` takes."""
        return self.frame(table) if self.prepare is None else self.prepare(table)

    @property
    def missing(self) -> str | None:
        """The module that is not installed, if any."""
        return next((module for module in self.needs if find_spec(module) is None), None)


def check(tool: Tool, table: Table) -> float:
    """What `compare` says of an evaluation of its own."""
    ready = tool.ready(table)
    return compare(tool, table, ready, tool.evaluate(ready))


def compare(tool: Tool, table: Table, ready: Any, given: Any) -> float:
    """The largest difference from rankframe's values; Disagreement where one is beyond the tool's
    tolerance."""
    theirs = tool.values(table, ready, given).select(
        pl.col("query_id").cast(pl.String), *tool.metrics
    )
    ours = (
        rf.rank(table.frame)
        .evaluate(*tool.metrics)
        .with_columns(pl.col("query_id").cast(pl.String))
    )
    both = ours.join(theirs, on="query_id", how="full", suffix=" of theirs")
    largest = 0.0
    for metric in tool.metrics:
        mine, other = pl.col(metric), pl.col(f"{metric} of theirs").cast(pl.Float64)
        apart = both.select(
            "query_id", mine, other, difference=(mine - other).abs().fill_null(math.inf)
        )
        worst = apart.sort("difference").row(-1)
        if not worst[-1] <= tool.tolerance:  # NaN as well
            raise Disagreement(
                f"{table.name}: {metric} of query {worst[0]!r} is {worst[2]} by {tool.name} "
                f"and {worst[1]} by rankframe"
            )
        largest = max(largest, worst[-1])
    return largest
