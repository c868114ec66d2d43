"""The rows of an eager frame query by query in rank order, and what makes a frame unfit for it."""

from __future__ import annotations

from typing import Any

import polars as pl

from ._table import Fault, Table
from ._wanted import POSITION

__all__ = ["fault_of", "in_rank_order"]

SCORE = pl.col("#score")

FEW = 1 / 8
"""The share of tied rows up to which it is cheaper to sort by score alone and then put those in order."""


def fault_of(frame: pl.DataFrame, table: Table) -> Fault | None:
    """The first thing that no metric of the frame is defined for."""
    faults = table.faults()
    plain = [fault.rows.any().alias(fault.column) for fault in faults if fault.once is None]
    seen = frame.select(plain).row(0, named=True) if plain else {}
    for fault in faults:
        if seen[fault.column] if fault.once is None else _repeats(frame, table, fault.once, fault.rows):
            return fault
    return None


def _repeats(frame: pl.DataFrame, table: Table, value: pl.Expr, rows: pl.Expr) -> bool:
    """Whether a query holds a value twice: hashes that all differ say no, for less than it takes to compare rows."""
    if frame.select(*table.query, value.alias("#value")).hash_rows().n_unique() == frame.height:
        return False
    return bool(frame.select(rows.over(table.columns.query).any()).item())


def in_rank_order(frame: pl.DataFrame, table: Table, **columns: pl.Expr) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The queries in the order in which they are first seen, and the `columns` of their rows in rank order.

    The rows have the number of their query, from 0 on, their position in it, from 1 on, and their score.
    """
    keys, descending = table.order()
    # to sort nulls last takes a quarter longer, so only where there are any
    nulls = table.columns.drops_first or any(frame[name].null_count() for name in table.order_columns)
    how = {"descending": descending, "nulls_last": nulls, "maintain_order": table.needs_row}
    queries, rows = _sorted(frame, table, keys[:1], how)
    tied = rows["#tied"].arg_true() if len(keys) > 1 else rows["#row"].clear()
    if len(tied) > FEW * frame.height:
        queries, rows = _sorted(frame, table, keys, how)
    elif len(tied):
        among = rows.lazy().select(STARTS.cum_sum().alias("#group"), "#row").collect()[tied]
        ties = frame[among["#row"]].select(
            among["#group"], *(x.alias(f"#{i}") for i, x in enumerate(keys[1:])), among["#row"]
        )
        falling = [False, *[descending] * (len(keys) - 1)]
        ties = ties.sort(ties.columns[:-1], descending=falling, nulls_last=nulls, maintain_order=True)
        rows = rows.with_columns(rows["#row"].scatter(tied, ties["#row"]))
    rest = frame.select(**columns)[rows["#row"]]
    return queries, rows.drop("#row", "#tied").hstack(rest)


STARTS = (POSITION == 1) | SCORE.ne_missing(SCORE.shift(1))
"""Where rows in the order of their scores start a group of tied ones."""


def _sorted(
    frame: pl.DataFrame, table: Table, keys: list[pl.Expr], how: dict[str, Any]
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The queries, and the numbers of their rows, sorted inside each, with what tells ties."""
    queries = (
        frame.lazy()
        .with_row_index(table.row)
        .group_by(table.query, maintain_order=True)
        .agg(pl.col(table.row).sort_by(keys, **how).alias("#row"))
        .collect(engine="in-memory")
    )
    size = pl.col("#row").list.len().cast(pl.Int64)
    number = pl.int_range(pl.len(), dtype=pl.UInt32).set_sorted().alias("#query")
    position = pl.int_range(1, pl.len() + 1, dtype=pl.Int64) - pl.col("#start")
    score = pl.lit(frame.select(table.score).to_series()).gather("#row")
    rows = (
        queries.lazy()
        .select(number, (size.cum_sum() - size).alias("#start"), "#row")
        .explode("#row")
        .select("#query", "#row", position.alias("#position"), score.alias("#score"))
        .with_columns((~(STARTS & STARTS.shift(-1, fill_value=True))).alias("#tied"))
    )
    return queries.drop("#row"), rows.collect(engine="in-memory")
