"""A metric as one expression for `group_by().agg()` or `.over()`."""

from __future__ import annotations

import polars as pl

from .._catalog.call import Call
from .._catalog.conventions import under
from .._table.policies import Columns
from .._table.table import failing
from .._words.group_rows import GroupRows
from .._words.ranking import Ranking
from ..errors import InvalidOption

__all__ = ["aggregation"]


def aggregation(call: Call, columns: Columns) -> pl.Expr:
    """The metric as one aggregation, named by its canonical text."""
    if call.metric.over == "subtopics":
        raise InvalidOption(
            f"{call.text} ranks documents first and then looks at the subtopics of each, which takes more than one step; "
            f"write df.rank.on(subtopic='subtopic').evaluate({call.text!r})"
        )
    columns, meant = under(columns, call)
    rows = GroupRows(columns)
    value = meant.value(Ranking(rows, columns), columns.no_relevant)
    return pl.coalesce(failing(rows.faults).cast(call.metric.dtype), value).alias(call.text)
