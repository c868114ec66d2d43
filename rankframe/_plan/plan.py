"""The way through the data: rows in rank order, the columns that formulas ask for, and their sums by query.

Formulas are run first, against a `FrameRanking` that writes down what they ask for; then the plan computes every
column asked for once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from typing import Literal

import polars as pl

from .._catalog.call import Call
from .._table.policies import Columns
from .._table.table import Fault, Table, failing, naming
from .._words.frame_ranking import LABEL, RANK, RAW, FrameRanking, RowRanking
from .._words.requested_columns import POSITION, QUERY, SCORE, Labels, Wanted, at_first_tied, at_last_tied
from ..errors import InvalidOption
from .sort import starts_of

__all__ = [
    "ask",
    "ask_apart",
    "ask_rows",
    "guarded",
    "per_row",
    "position",
    "ranked_in_memory",
    "ranks",
    "source_of",
    "sums_in_memory",
    "values_of_sums",
    "with_row",
]

# ------------------------------------------------------------------------------------------------ rows in rank order


def with_row(lf: pl.LazyFrame, table: Table) -> pl.LazyFrame:
    """The rows, numbered where their own order is what tells tied ones apart."""
    return lf.with_row_index(table.row) if table.needs_row else lf


def position(table: Table) -> pl.Expr:
    """Each row's place in its query, by a window over rows that `with_row` has numbered."""
    keys, descending = table.order(pl.col(table.row) if table.needs_row else None)
    place = pl.int_range(1, pl.len() + 1, dtype=pl.Int64)
    return place.over(table.columns.query, order_by=keys, descending=descending, nulls_last=True)


def _with_rank(rows: pl.LazyFrame, table: Table, *, complete: bool) -> pl.LazyFrame:
    """The rows with the rank that their position and the policies give them, still in rank order."""
    if complete and table.columns.depth is None and not table.columns.drops_after_cut:
        return rows.with_columns(POSITION.cast(pl.Float64).alias("#rank"))  # without a look at the scores
    if table.columns.depth is not None:
        rows = rows.with_columns(pl.when(_kept(table, POSITION, SCORE, RAW)).then(SCORE).alias("#score"))
    if table.columns.drops_after_cut:
        place = pl.int_range(1, pl.len() + 1, dtype=pl.Int64)
        rows = rows.with_columns(place.over(QUERY, order_by=[SCORE.is_null(), POSITION]).alias("#position"))
        rows = rows.sort(QUERY, POSITION)
    rows = rows.with_columns(pl.when(SCORE.is_not_null()).then(POSITION).cast(pl.Float64).alias("#rank"))
    if table.columns.unretrieved == "missed":
        return rows
    return rows.with_columns(pl.when(RANK.is_not_null()).then(RAW).alias("#raw"))


def ranks(lf: pl.LazyFrame, table: Table) -> tuple[pl.LazyFrame, pl.Expr]:
    """The rows, numbered and placed, and their rank as an expression over them; null where they have none."""
    rows, place = with_row(lf, table).with_columns(position(table).alias(table.place)), pl.col(table.place)
    kept = _kept(table, place, table.score, pl.col(table.columns.label))
    rank = kept.cum_sum().over(table.columns.query, order_by=place) if table.columns.drops_after_cut else place
    return rows, pl.when(kept).then(rank).cast(pl.UInt32)


def _kept(table: Table, place: pl.Expr, score: pl.Expr, raw: pl.Expr) -> pl.Expr:
    """Which rows in rank order are retrieved documents, as far as ``depth`` goes."""
    kept = score.is_not_null()
    if table.columns.depth is not None:
        kept &= place <= table.columns.depth
    if table.columns.drops_after_cut:
        kept &= (raw >= 0).fill_null(False)
    return kept


def ranked_in_memory(rows: pl.LazyFrame, table: Table, source: pl.DataFrame, *, complete: bool) -> pl.LazyFrame:
    """Rows in rank order, as `in_rank_order` gives them, with columns of the `source` in the order of the frame."""
    along = {column.name: pl.lit(column).gather("#row") for column in source}
    rows = rows.with_columns(**{**along, "#raw": along["#raw"].cast(pl.Float64)}).drop("#row")
    return _with_rank(rows, table, complete=complete)


def source_of(frame: pl.DataFrame, table: Table, columns: Mapping[str, pl.Expr]) -> pl.DataFrame:
    """What the rows of a frame bring along to their ranking: their labels as they are, and further columns."""
    return frame.select(pl.col(table.columns.label).alias("#raw"), **columns)


# ---------------------------------------------------------------------------------------------------------- the plans


def ask(calls: Sequence[Call], table: Table, labels: Labels) -> tuple[Wanted, dict[str, pl.Expr]]:
    """Run the formulas: what they want of the rows, and the value of each call over the sums of its query.

    The answer is kept, unless formulas ask for labels that are not a few whole numbers, or may read what changes: your
    own metrics and functions.
    """
    texts = tuple(call.text for call in calls)  # 1 and True are equal, but read differently
    if all(map(_is_constant, calls)):
        with suppress(_Depends):
            return _asked(tuple(calls), texts, table.columns, replace(labels, find=_depends))
    return _asked.__wrapped__(tuple(calls), texts, table.columns, labels)


def ask_apart(calls: Sequence[Call], table: Table, labels: Labels) -> list[tuple[Wanted, dict[str, pl.Expr]]]:
    """As `ask`, calls that look at gains only apart from those that look at all rows."""
    gains_only = [call for call in calls if call.gains_only(table.columns)]
    others = [call for call in calls if call not in gains_only]
    return [ask(some, table, labels) for some in (gains_only, others) if some]


def _is_constant(call: Call) -> bool:
    return call.metric.formula.__module__.startswith("rankframe.metrics.") and not any(
        callable(value) for _, value in call.options
    )


@lru_cache(maxsize=512)  # a third of the time that a small table takes
def _asked(
    calls: tuple[Call, ...],
    texts: tuple[str, ...],
    columns: Columns,
    labels: Labels,
) -> tuple[Wanted, dict[str, pl.Expr]]:
    wanted = Wanted(["#query"], gains_only=all(call.gains_only(columns) for call in calls), labels=labels)
    ranking = FrameRanking(wanted, columns)
    values = {text: call.value(ranking, columns.no_relevant) for text, call in zip(texts, calls, strict=True)}
    for text, value in values.items():
        if not wanted.has_one_value(value):
            raise InvalidOption(
                f"{text}: its formula gives {value}, which is no one number for a query; add up what each document is "
                "worth, as in r.total(x, k) or r.whole(x)"
            )
    wanted.settle()
    return wanted, values


class _Depends(Exception):
    """What formulas want depends on the table's labels, so that no other table can use it."""


def _depends() -> Sequence[float]:
    raise _Depends


def sums_in_memory(
    rows: pl.LazyFrame,
    wanted: Wanted,
    values: dict[str, pl.Expr],
    table: Table,
    last: int | None,
    run: Callable[[pl.LazyFrame], pl.DataFrame],
) -> pl.DataFrame:
    """What `values_of_sums` needs of each query, from rows in rank order; `last` is the largest rank, where it is known.

    The columns of the rows are `run` and added up by NumPy, for a fraction of what groups cost.
    """
    import numpy as np  # only here, so that nobody else waits for it

    flags, constant = _refused_labels(wanted), _constant(wanted, values)
    rows = _compute(rows, wanted, _listed(wanted, table), last)
    found = run(rows.select("#query", *constant, **wanted.sums, **wanted.largest, **flags))
    starts = starts_of(found["#query"].to_numpy())
    columns = []
    for names, add, nothing in ((wanted.sums, np.add, 0.0), ([*wanted.largest, *flags], np.fmax, math.nan)):
        for name in names:
            numbers = found[name].cast(pl.Float64)
            numbers = numbers.fill_null(nothing) if numbers.has_nulls() else numbers
            sums = add.reduceat(numbers.to_numpy(), starts)
            columns.append(pl.Series(name, sums, nan_to_null=add is np.fmax))
    return found[["#query", *constant]][pl.Series(starts)].hstack(columns)


def values_of_sums(sums: pl.DataFrame, wanted: Wanted, values: dict[str, pl.Expr]) -> pl.LazyFrame:
    """The values of each query."""
    return sums.lazy().select("#query", *guarded(values, [], wanted)).drop("#query")  # it says how many there are


def _listed(wanted: Wanted, table: Table) -> pl.Expr | None:
    """The rows that are added up, None for all; the first one stands for its query where nothing is relevant."""
    if not wanted.gains_only:
        return None
    listed = (RAW > 0).fill_null(False) | (POSITION == 1)  # the running sum of a null would lose its tied group
    # of tied documents each stands at each of their ranks
    return _with_tied(listed) if table.columns.ties == "expected" else listed


def _constant(wanted: Wanted, values: dict[str, pl.Expr]) -> list[str]:
    """The columns that are the same on all rows of a query and enter its values."""
    named = {name for value in values.values() for name in value.meta.root_names()}
    return sorted(named - wanted.sums.keys() - wanted.largest.keys())


def _with_tied(rows: pl.Expr) -> pl.Expr:
    """The `rows`, and those that are tied with one of them."""
    return at_last_tied(rows.cum_sum()) > at_first_tied(rows.cum_sum() - rows)


def ask_rows(
    calls: Sequence[Call], table: Table, labels: Labels, *, show: Literal["contribution", "curve"]
) -> tuple[Wanted, dict[str, pl.Expr]]:
    """Run the formulas as `ask` does, for values that stay on the rows."""
    policy = table.columns.no_relevant
    if show == "contribution" and table.columns.ties == "expected":
        raise InvalidOption(
            "ties='expected' is an average over orders, to which ranks contribute, not documents; say another rule for "
            "ties to explain, as in df.rank.on(ties='doc_desc')"
        )
    if show == "contribution" and policy == "one":
        policy = "null"  # nothing contributed to a 1 that stands by convention
    wanted = Wanted(["#query"], labels=labels)
    values = {}
    for call in calls:
        ranking = RowRanking(wanted, table.columns, show)
        values[call.text] = call.value(ranking, policy)
        if "total" not in ranking.asked or not call.metric.adds_up:
            what = "curve" if show == "curve" else "contributions"
            raise InvalidOption(
                f"{call.text} is no sum of what each rank contributes, so it has no {what}; use evaluate"
            )
    return wanted, values


def per_row(
    rows: pl.LazyFrame,
    wanted: Wanted,
    values: dict[str, pl.Expr],
    table: Table,
    *,
    show: Literal["contribution", "curve"],
    last: int | None = None,
) -> pl.LazyFrame:
    """The rows with a column per call: what each rank contributes, or the metric down to each rank."""
    flags = _refused_labels(wanted)
    rows = _compute(rows, wanted, None, last).with_columns(**flags)
    if show == "curve":  # a row with a refused label stays until it has failed
        rows = rows.filter(pl.any_horizontal(RANK.is_not_null(), *(pl.col(name).is_not_null() for name in flags)))
    return rows.with_columns(guarded(values, [], wanted))


def _compute(rows: pl.LazyFrame, wanted: Wanted, listed: pl.Expr | None, last: int | None = None) -> pl.LazyFrame:
    """The rows with all columns that formulas asked for, those that add nothing left out."""
    if wanted.early:
        rows = rows.with_columns(**wanted.early)
    if listed is not None:
        rows = rows.filter(listed)
    return wanted.with_columns(rows.with_columns(pl.when(RAW > 0).then(RAW).otherwise(0.0).alias("#label")), last)


def _refused_labels(wanted: Wanted) -> dict[str, pl.Expr]:
    """The labels that formulas refuse, each as a column that is null elsewhere."""
    return {fault.column: pl.when(fault.rows).then(LABEL) for fault in wanted.refused.values()}


def guarded(values: dict[str, pl.Expr], faults: list[Fault], wanted: Wanted) -> list[pl.Expr]:
    """The values, each of which fails with the message of a fault or a refused label where one is seen."""
    refused = [(pl.col(fault.column), fault.message) for fault in wanted.refused.values()]
    if not faults and not refused:
        return [value.alias(text) for text, value in values.items()]
    guard = failing(
        [
            *((label.is_not_null(), naming(message, label)) for label, message in refused),
            *((pl.col(fault.column), fault.message) for fault in faults),
        ]
    )
    return [pl.coalesce(guard, value).alias(text) for text, value in values.items()]
