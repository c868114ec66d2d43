"""The warning of values that take the largest label of the table as the top grade.

Such a value depends on other queries.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import polars as pl

from ..._catalog.call import Call
from ..._plan.per_query import largest_label, measure, names_of, takes_largest_label
from ..._table.setup import Setup
from ...errors import Place, RankframeError, Text, on, warn

KIND = "top grade"
"""The name of the warning, which a call issues once."""

QUERIES_OF_SAMPLE = 50
"""The queries whose bounds show whether the greatest label of unjudged documents matters."""


class TopGrade:
    """Looks at a table, or its parts, and warns of values that take the largest label of all."""

    def __init__(self, setup: Setup, calls: Sequence[Call], at: Place | None = None) -> None:
        self.setup = setup
        self.at = at
        self.calls = [call for call in calls if call.of_ranking and not call.of_pairs]
        self.largest = 0.0
        self.taking: dict[Call, None] = {}

    def see(self, rows: pl.DataFrame) -> None:
        """Look at a table, or at a part of one."""
        setup = self.setup
        calls = self.calls
        if setup.policies.unjudged == "bounds":
            taking = _with_other_bounds(rows, setup, calls)
        else:
            schema = rows.schema
            taking = [call for call in calls if takes_largest_label(setup, schema, call)]
        if taking:
            self.taking |= dict.fromkeys(taking)
            self.largest = max(self.largest, largest_label(rows, setup, taking))

    def warn(self) -> None:
        """Warn if a value depends on the largest label, and there is one above 0."""
        if self.taking and self.largest > 0:
            warn_of_top_grade(self.setup, [*self.taking], self.largest, self.at)


def warn_of_top_grade(
    setup: Setup, calls: Sequence[Call], largest: float, at: Place | None = None
) -> None:
    """Warn that calls take the largest label of the table, with what to write instead."""
    call, *others = calls
    top = int(largest) if largest.is_integer() else largest
    if setup.policies.unjudged == "bounds":
        names = f"the bounds of {call.text}"
        if others:
            names += " and of other metrics"
        what = "the greatest label of an unjudged document"
        take = "take"
        advice: Text = on(unjudged_labels=(0, int(largest)))
    else:
        names = f"{call.text} and other metrics" if others else call.text
        what = "the top grade"
        take = "take" if others else "takes"
        advice = "it in the formula"
        if "max_label" in call.metric.parameters:
            advice = call.changed(max_label=top).text
    says = f"{names} {take} {top}, the largest label of this table, as {what}; say "
    warn(says, advice, kind=KIND, at=at)


def _with_other_bounds(rows: pl.DataFrame, setup: Setup, calls: Sequence[Call]) -> list[Call]:
    """The calls whose bounds change with the greatest label that judging may give.

    Some queries show it.
    """
    if setup.policies.unjudged_labels is not None or not calls:
        return []
    query = setup.roles.query
    label = pl.col(setup.roles.label)
    is_open = label.is_null() | (label < 0)
    open_queries = rows.lazy().filter(is_open).select(query).unique(maintain_order=True)
    chosen = open_queries.head(QUERIES_OF_SAMPLE)
    in_sample = rows.lazy().join(chosen, on=query, how="semi", nulls_equal=True)
    sample = in_sample.collect(engine="in-memory")
    if sample.is_empty():
        return []
    most = math.ceil(max(largest_label(rows, setup, calls), setup.policies.relevant, 1))
    setups = [setup.changed(unjudged_labels=(0, label)) for label in (most, most + 1)]
    return [call for call in calls if _differs(sample, setups, call)]


def _differs(rows: pl.DataFrame, setups: Sequence[Setup], call: Call) -> bool:
    """Whether a call has other values under one of two setups, if it has values under both."""
    try:
        one, other = [measure(rows, setup, call)[names_of(setup, call)] for setup in setups]
    except RankframeError:  # a label above that of the scale
        return False
    return not one.equals(other)
