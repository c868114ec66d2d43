"""Recommendations without the items that users chose before."""

from __future__ import annotations

from typing import Any, Literal

import polars as pl

from .._plan.per_query import Frame, like
from .._table.setup import Setup
from .._table.table import Table
from .._verbs.declaration import verb
from .tables_beside import require_pairs

__all__ = ["without"]


@verb(gives="subset", labels=False)
def without(frame: Frame, setup: Setup, train: Any) -> Frame:
    """The rows, in their order, whose pair of user and item is not in `train`."""
    schema = frame.collect_schema()
    Table.of(setup, schema, label=False)
    pairs, users, doc = require_pairs(train, setup, schema, "train")
    order: Literal["left", "none"] = "left" if isinstance(frame, pl.DataFrame) else "none"
    rows = frame.lazy().join(pairs, on=[*users, doc], how="anti", nulls_equal=True, maintain_order=order)
    return like(frame, rows, setup)
