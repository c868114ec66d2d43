"""The lists that users are shown: a row per user and item, with its rank."""

from __future__ import annotations

from collections.abc import Collection, Sequence, Set
from typing import TypeVar

import polars as pl

from .._plan.per_query import collect
from .._table.background import common_type, pairs_of, refuse_nameless
from .._table.columns import Columns, failing, refuse_objects
from .._table.roles import require_all
from .._table.setup import Setup
from .._table.table import Table, refuse_names
from .._words.exposure import LABEL
from ..errors import InvalidOption, on
from .declaration import VerbCall, verb
from .evaluate import ranks_of
from .summary import by_query, keys

ITEM, RANK = "#item", "#rank"
"""The plans' names of an item, and of its rank, null if it is not shown."""

NO_RELEVANCE = "column {!r} holds a score below 0, or an infinite one, which tells no relevance; give scores from 0 on"


def item_column(setup: Setup, names: Collection[str]) -> str:
    """The column that names items, which a table of lists needs."""
    doc = setup.roles.doc_in(names)
    if doc is None:
        raise InvalidOption(
            f"no column names the items; the table has {', '.join(names)}. Say which one does: ", on(doc=...)
        )
    return doc


def lists_of(
    frame: pl.DataFrame, setup: Setup, by: Sequence[str] = (), columns: Set[str] = frozenset()
) -> pl.DataFrame:
    """A row per user and item: the user's slices, the query columns, the item, its rank; its label and score, if in `columns`.

    Rows of items that are not shown to the user stay, with a null rank: a user may have no other.
    """
    schema = frame.schema
    doc = item_column(setup, schema)
    beside = [_values(setup, Columns.of(setup, schema, label=LABEL in columns), name) for name in sorted(columns)]
    refuse_names([RANK], schema, "the table")
    ranked = frame.hstack(ranks_of(frame, setup, RANK))
    if ranked[doc].has_nulls():
        refuse_nameless(ranked.filter(pl.col(RANK).is_not_null()), doc)
    lists = ranked.lazy().select(*setup.roles.query, pl.col(doc).alias(ITEM), RANK, *beside)
    if by:
        slices = by_query(frame, setup.roles.query, by, None)
        lists = lists.join(slices, on=setup.roles.query, how="left", nulls_equal=True, maintain_order="left")
        one_slice = pl.col("#weight") == 1  # fails for a user with several values of a slice
        lists = lists.with_columns(pl.when(one_slice).then(RANK).alias(RANK))
    return collect(lists.select(*keys(by), *setup.roles.query, ITEM, RANK, *sorted(columns)), frame, setup)


def _values(setup: Setup, table: Columns, name: str) -> pl.Expr:
    """The labels, or the scores, as numbers; values that cannot be added up fail."""
    if name == LABEL:
        values, column = table.label, setup.roles.label
        faults = [(fault.rows, fault.message) for fault in table.faults() if fault.at == column]
        if setup.policies.unretrieved == "drop":
            values = pl.when(pl.col(RANK).is_not_null()).then(values)
    else:
        if setup.policies.ascending:
            raise InvalidOption(
                f"column {setup.roles.score!r} orders items by its lowest value, as ranks and distances do, and tells no "
                "relevance; write relevance=label, or name scores that grow with relevance: ",
                on(score=..., ascending=False),
            )
        values, column = pl.col(setup.roles.score).cast(pl.Float64), setup.roles.score
        faults = [((values < 0) | values.is_infinite(), NO_RELEVANCE.format(column))]
    return pl.coalesce(failing(faults), values).alias(name)


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
