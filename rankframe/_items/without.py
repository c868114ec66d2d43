"""Recommendations without the items that users chose before."""

from __future__ import annotations

from typing import TypeVar

import polars as pl

from .._table.background import common_type, pairs_of
from .._table.columns import refuse_objects
from .._table.roles import require_all
from .._table.setup import Setup
from .._table.table import Table
from .._verbs.declaration import VerbCall, verb
from .lists import item_column

R = TypeVar("R")


def _kept(frame: pl.LazyFrame, setup: Setup, train: object) -> pl.LazyFrame:
    """The rows, in their order, whose pair of user and item is not in `train`."""
    schema = frame.collect_schema()
    require_all(schema, [(name, "query") for name in setup.roles.query])  # nothing is ranked, so no score is needed
    doc = item_column(setup, schema)
    refuse_objects(schema, [*setup.roles.query, doc])
    pairs, users = pairs_of(train, schema, setup.roles.query, doc, "train")
    others, names = pairs.collect_schema(), [*users, doc]
    key = [pl.col(name).cast(common_type(schema[name], others[name])) for name in names]
    return frame.join(pairs, left_on=key, right_on=key, how="anti", nulls_equal=True, maintain_order="left")


def _without_lazily(frame: pl.LazyFrame, setup: Setup, call: VerbCall) -> pl.LazyFrame:
    return _kept(frame, setup, call.arguments["train"])


@verb(gives="subset", labels=False, lazily=_without_lazily)
def without(table: Table[R], train: object) -> R:
    """The rows whose item the user did not choose before: recommendations without the items seen in training.

    Parameters
    ----------
    train
        A frame with the columns of users and items, under the table's names. If it lacks a query column, such as the
        column of runs, its pairs hold for all values of this column.

    Returns
    -------
    The caller's rows in their order, except the rows whose user and item are a pair in `train`. If all rows of a user
    are such pairs, no row of the user is left. The rows of a lazy frame have no defined order.

    Raises
    ------
    MissingColumn, InvalidData, InvalidOption
        If a column is missing, ids of the two tables have different types, or `train` is no frame.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({"query_id": [1, 1, 2], "doc_id": ["a", "b", "a"], "score": [2.0, 1, 1]})
    >>> unseen = df.rank.items.without(pl.DataFrame({"query_id": [1], "doc_id": ["a"]}))
    >>> unseen["query_id"].to_list(), unseen["doc_id"].to_list()
    ([1, 2], ['b', 'a'])
    """
    return table.give(_kept(table.rows.lazy(), table.setup, train).collect())
