"""An eager frame in rank order, query by query, and the first fault of its rows."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import polars as pl

from .._table.table import Fault, Table
from .._words.columns_needed import Kept
from .._words.pairs import starts_of
from .shortcuts import parts_of
from .sort import differ, sort_rows

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["InOrder", "Part", "fault_of", "in_rank_order"]

Part: TypeAlias = Callable[..., pl.LazyFrame]
"""A function that returns the rows of some queries in rank order, as `PackedRows.of` does."""


def fault_of(frame: pl.DataFrame, table: Table, *, label: bool = True, documents: bool = True) -> Fault | None:
    """The first fault found in the frame, or None; without `label`, only faults that affect ranks.

    ``documents=False`` skips the check for repeated documents, which the caller has ruled out.
    """
    faults = [x for x in table.faults(label=label) if documents or x.kind != "repeated document"]
    plain = [fault.rows.any().alias(fault.column) for fault in faults if fault.repeated is None]
    seen = frame.select(plain).row(0, named=True) if plain else {}
    for fault in faults:
        if seen[fault.column] if fault.repeated is None else _repeats(frame, table, fault.repeated, fault.rows):
            return fault
    return None


def _repeats(frame: pl.DataFrame, table: Table, value: pl.Expr, rows: pl.Expr) -> bool:
    """Whether a query holds a value twice; hashes that all differ rule it out more cheaply than a window."""
    hashes = frame.select_seq(*table.query, value.alias("#value")).hash_rows()
    if differ(hashes):
        return False
    return bool(frame.select(rows.over(table.setup.roles.query).any()).item())


class InOrder(NamedTuple):
    """A frame's queries in the order in which they are first seen, and their rows in rank order.

    Attributes
    ----------
    queries
        The keys, a row per query.
    parts
        Parts of whole queries: query number and frame row number, from 0 on, position in the query, from 1 on, and
        score.
    complete
        Whether every document has a score.
    """

    queries: pl.DataFrame
    parts: list[Part]
    complete: bool


def in_rank_order(frame: pl.DataFrame, table: Table, *, whole: bool = False, labels: bool = False) -> InOrder:
    """The frame in rank order, in parts of whole queries; in a single part if `whole`.

    With `labels`, which are whole numbers up to 255, parts that leave out rows come with them (see `PackedRows.of`).
    """
    ordered = sort_rows(frame, table, labels=labels)
    score = pl.lit(ordered.score).gather("#row").alias("#score")

    def part(start: int, length: int, kept: Kept = None, *, falling: bool = False) -> pl.LazyFrame:
        return ordered.of(start, length, kept, falling=falling).lazy().with_columns(score)

    cuts = _cuts(ordered.ends, 1 if whole else parts_of(frame.height))
    return InOrder(ordered.queries, [partial(part, *cut) for cut in cuts], not ordered.score.has_nulls())


def _cuts(ends: NDArray[np.int64], parts: int) -> list[tuple[int, int]]:
    """The first query and the number of queries of each part; parts have about equally many rows."""
    queries = len(ends) - 1
    if parts == 1:
        return [(0, queries)]
    starts = starts_of((ends[1:] - 1) * parts // ends[-1]).tolist()
    return [(start, stop - start) for start, stop in pairwise([*starts, queries])]
