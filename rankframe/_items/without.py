"""Recommendations without the items that users chose before."""

from __future__ import annotations

from typing import Literal

import polars as pl

from .._plan.per_query import Frame, like
from .._table.background import common_type, pairs_of
from .._table.columns import refuse_objects
from .._table.roles import require_all
from .._table.setup import Setup
from .._verbs.declaration import verb
from .lists import item_column


@verb(gives="subset", labels=False)
def without(frame: Frame, setup: Setup, train: object) -> Frame:
    """The rows, in their order, whose pair of user and item is not in `train`."""
    schema = frame.collect_schema()
    require_all(schema, [(name, "query") for name in setup.roles.query])  # nothing is ranked, so no score is needed
    doc = item_column(setup, schema)
    refuse_objects(schema, [*setup.roles.query, doc])
    pairs, users = pairs_of(train, schema, setup.roles.query, doc, "train")
    others, names = pairs.collect_schema(), [*users, doc]
    key = [pl.col(name).cast(common_type(schema[name], others[name])) for name in names]
    order: Literal["left", "none"] = "left" if isinstance(frame, pl.DataFrame) else "none"
    rows = frame.lazy().join(pairs, left_on=key, right_on=key, how="anti", nulls_equal=True, maintain_order=order)
    return like(frame, rows, setup)
