"""The lists that users are shown: a row per user and item, with its rank."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence, Set
from typing import Any, cast

import polars as pl

from .._decisions.summary import by_query, keys
from .._lazy.node import Give, node
from .._plan.per_query import Frame, collect
from .._table.background import refuse_nameless
from .._table.columns import Columns, failing
from .._table.setup import Setup
from .._verbs.declaration import verb_of
from .._verbs.verbs import with_ranks
from .._words.exposure import LABEL
from ..errors import InvalidOption, on

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


def at_once(verb: Callable[..., Frame], frame: pl.LazyFrame, setup: Setup, *args: Any) -> pl.LazyFrame:
    """The result of a verb that looks at all lists together, as a node that collects the columns that the verb reads."""
    declared, schema = verb_of(verb), frame.collect_schema()
    result = verb(schema.to_frame(), setup, *args).collect_schema()  # raises errors of columns and options at the call
    read = declared.columns(setup, args)

    def work(give: Give, *_: object) -> None:
        rows = frame.select(x for x in schema if x in read).collect(engine="streaming")
        give(cast("pl.DataFrame", verb(rows, setup, *args)))

    return node(work, frame, result, declared.name)


def lists_of(
    frame: pl.DataFrame, setup: Setup, by: Sequence[str] = (), columns: Set[str] = frozenset()
) -> pl.DataFrame:
    """A row per user and item: the user's slices, the query columns, the item, its rank; its label and score, if in `columns`.

    Rows of items that are not shown to the user stay, with a null rank: a user may have no other.
    """
    schema = frame.schema
    doc = item_column(setup, schema)
    beside = [_values(setup, Columns.of(setup, schema, label=LABEL in columns), name) for name in sorted(columns)]
    ranked = cast("pl.DataFrame", with_ranks(frame, setup, RANK))
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
