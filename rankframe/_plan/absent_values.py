"""Options of metrics that name a value of a column, as a group: a value that the whole table lacks is refused."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import polars as pl

from .._catalog.call import Call
from .._table.background import Items
from .._table.setup import Setup
from ..errors import InvalidOption, did_you_mean, shown

MOST_VALUES = 12
"""The most values of a column that an error lists."""


def absent_values(setup: Setup, calls: Sequence[Call]) -> Callable[[pl.LazyFrame], None] | None:
    """The check of a whole table for `calls`; None if no option of theirs names a value."""
    naming = [call for call in calls if not {*call.metric.named_values}.isdisjoint(call.arguments)]

    def refuse(rows: pl.LazyFrame) -> None:
        for call in naming:
            for option, role in call.metric.named_values.items():
                name, value = getattr(setup.roles, role), call.arguments.get(option)
                if name is not None and value is not None:
                    _refuse(call, option, str(value), name, _values(rows, setup, name))

    return refuse if naming else None


def refuse_absent_values(frame: pl.DataFrame | pl.LazyFrame, setup: Setup, calls: Sequence[Call]) -> None:
    """Refuse a call with an option that names a value which no row of the table has."""
    refuse = absent_values(setup, calls)
    if refuse is not None:
        refuse(frame.lazy())


def _values(rows: pl.LazyFrame, setup: Setup, name: str) -> list[str]:
    """The values of a column as text, of the table or of the items that have it."""
    items = setup.background.items
    if setup.background.has(name) and isinstance(items, Items):
        rows = items.frame.lazy()
    found = rows.select(pl.col(name).cast(pl.String).drop_nulls().unique().sort()).collect(engine="streaming")
    return found.to_series().to_list()


def _refuse(call: Call, option: str, value: str, name: str, there: Sequence[str]) -> None:
    if value in there or not there:  # a table without values has nothing to name
        return
    more = f" and {len(there) - MOST_VALUES} more" if len(there) > MOST_VALUES else ""
    raise InvalidOption(
        f"{call.text}: column {name!r} nowhere holds {shown(value)}; write one of its values for {option}: "
        f"{', '.join(map(repr, there[:MOST_VALUES]))}{more}.{did_you_mean(value, there)}"
    )
