"""A metric as one expression for `group_by().agg()` or `.over()`."""

from __future__ import annotations

import polars as pl

from .._catalog.call import Call
from .._table.columns import failing
from .._table.setup import Setup
from .._words.group_rows import GroupRows
from .._words.ranking import Ranking
from ..errors import InvalidOption


def aggregation(call: Call, setup: Setup) -> pl.Expr:
    """The metric as one aggregation, named by its canonical text."""
    if call.metric.over == "subtopics":
        raise InvalidOption(
            f"{call.text} ranks documents first and then looks at the subtopics of each, which takes more than one step; "
            f"write df.rank.on(subtopic='subtopic').evaluate({call.text!r})"
        )
    setup, meant = setup.resolve(call)
    rows = GroupRows(setup, labels=meant.labels)
    value = meant.value(Ranking(rows, setup), setup.policies.no_relevant)
    return pl.coalesce(failing(rows.faults).cast(call.metric.dtype), value).alias(call.text)
