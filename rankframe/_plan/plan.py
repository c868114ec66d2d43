"""The plan: rows in rank order, the columns that formulas need, and their sums per query."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

import polars as pl

from .._catalog.call import Call
from .._table.background import Background
from .._table.setup import Setup
from .._table.table import Table, failing, naming
from .._words.columns_needed import LABEL_REFUSED, POSITION, QUERY, SCORE, Needed, at_first_tied, at_last_tied
from .._words.expected_ties import Expectation
from .._words.pairs import starts_of
from .._words.ranking import Ranking
from .._words.rows import Answer
from .._words.sorted_rows import LABEL, RANK, RAW, SortedRows
from ..errors import InvalidOption, on, option

__all__ = [
    "add_up",
    "by_row",
    "in_frame_order",
    "run_formulas",
    "values_of",
    "values_of_groups",
    "with_rank",
]

# ------------------------------------------------------------------------------------------------ rows in rank order


def with_rank(rows: pl.LazyFrame, table: Table, source: pl.DataFrame, *, complete: bool) -> pl.LazyFrame:
    """Add the columns of `source`, which has the frame's row order, and the rank to rows in rank order.

    In a `complete` table every document has a score.
    """
    gathered = {column.name: pl.lit(column).gather("#row") for column in source}
    rows = rows.with_columns(**{**gathered, "#raw": gathered["#raw"].cast(pl.Float64)})
    policies = table.setup.policies
    if complete and policies.depth is None:
        return rows.with_columns(POSITION.cast(pl.Float64).alias("#rank"))  # no score is null
    if policies.depth is not None:
        retrieved = POSITION.le(policies.depth)
        if policies.drops_after_cut:
            retrieved &= (RAW >= 0).fill_null(False)
        rows = rows.with_columns(pl.when(retrieved).then(SCORE).alias("#score"))
    if policies.drops_after_cut:
        place = pl.int_range(1, pl.len() + 1, dtype=pl.Int64)
        rows = rows.with_columns(place.over(QUERY, order_by=[SCORE.is_null(), POSITION]).alias("#position"))
        rows = rows.sort(QUERY, POSITION)
    rows = rows.with_columns(pl.when(SCORE.is_not_null()).then(POSITION).cast(pl.Float64).alias("#rank"))
    if policies.unretrieved == "missed":
        return rows
    return rows.with_columns(pl.when(RANK.is_not_null()).then(RAW).alias("#raw"))


def in_frame_order(frame: pl.DataFrame, table: Table, columns: Mapping[str, pl.Expr]) -> pl.DataFrame:
    """The columns that `with_rank` brings into rank order: the unchanged labels, and `columns`."""
    label = frame[table.setup.roles.label].alias("#raw")
    return frame.select_seq(label, **columns) if columns else pl.DataFrame(label)


# ----------------------------------------------------------------------------------------------------- columns and sums


def run_formulas(
    calls: Sequence[Call],
    setup: Setup,
    top: int | None,
    answer: Answer = "query",
    *,
    largest_label: float | None = None,
) -> Needed:
    """Run the formulas to collect the columns and sums they need; `top` is the largest of few whole labels, or None.

    For a part of a table, `largest_label` is the largest of the whole table, if known.

    The result is cached if all formulas are the library's own, without functions as options.
    """
    texts = tuple(call.text for call in calls)  # 1 and True are equal, but read differently
    alone = setup.background == Background()  # the cache would keep other tables in memory
    run = _cached_formulas if alone and all(call.is_constant for call in calls) else _run_formulas
    return run(tuple(calls), texts, setup, top, answer, largest_label)


def _run_formulas(
    calls: tuple[Call, ...],
    texts: tuple[str, ...],
    setup: Setup,
    top: int | None,
    answer: Answer,
    largest: float | None,
) -> Needed:
    gains_only = answer == "query" and all(call.gains_only(setup) for call in calls)
    needed = Needed(["#query"], gains_only, top)
    if answer == "document" and setup.policies.ties == "expected":
        raise InvalidOption(
            option(ties="expected"),
            " averages over orders, in which a document has no single rank; set another rule for ties to "
            "explain, as in ",
            on(ties="doc_desc"),
        )
    if largest is None and setup.policies.unretrieved == "missed":  # no policy leaves a label out
        largest = top
    rows = SortedRows(needed, answer, largest)
    ranking = Ranking(rows, setup, Expectation(rows) if setup.policies.ties == "expected" else None)
    for text, call in zip(texts, calls, strict=True):
        needed.values[text] = call.value(ranking, setup.policies.no_relevant)
    if answer == "query":
        needed.settle()
        plain = setup.policies.unretrieved == "missed" and setup.policies.ties != "expected"
        if plain and not setup.policies.drops_after_cut:
            needed.leave_out()
    return needed


_cached_formulas = lru_cache(maxsize=512)(_run_formulas)  # saves a third of the time of a small table


def add_up(
    rows: pl.LazyFrame, needed: Needed, table: Table, run: Callable[[pl.LazyFrame], pl.DataFrame]
) -> pl.DataFrame:
    """The sums, maxima and constants of each query for `values_of`, from rows in rank order.

    `run` computes the columns; NumPy adds them up at a fraction of the cost of a group_by.
    """
    import numpy as np  # imported late, to keep other calls fast

    flags, constant = _refused_labels(needed), _constant(needed)
    found = run(_compute(rows, needed, table).select("#query", *constant, **needed.sums, **needed.maxima, **flags))
    number = found["#query"].to_numpy()
    starts = starts_of(number)
    columns = found[constant][pl.Series(starts.astype(np.uint32))].get_columns() if constant else []
    columns.append(pl.Series("#query", number[starts]))
    for names, add, nothing in ((needed.sums, np.add, 0.0), ([*needed.maxima, *flags], np.fmax, math.nan)):
        for name in names:
            numbers = found[name].cast(pl.Float64)
            numbers = numbers.fill_null(nothing) if numbers.has_nulls() else numbers
            sums = add.reduceat(numbers.to_numpy(), starts)
            columns.append(pl.Series(name, sums, nan_to_null=add is np.fmax))
    return pl.DataFrame(columns)


def values_of_groups(rows: pl.LazyFrame, needed: Needed, queries: pl.DataFrame, empty: float | None) -> pl.DataFrame:
    """The values of each of the `queries`, from rows in any order; the sums of a query without a row are `empty`."""
    sums = [x.sum().alias(name) for name, x in needed.sums.items()]
    sums += [x.max().alias(name) for name, x in needed.maxima.items()]
    found = needed.compute(rows).group_by("#query").agg(sums)
    found = queries.lazy().join(found, on="#query", how="left", maintain_order="left")
    found = found if empty is None else found.with_columns(pl.col(list(needed.sums)).fill_null(empty))
    return found.select(_guarded(needed)).collect(engine="in-memory")


def values_of(sums: pl.DataFrame, needed: Needed) -> pl.LazyFrame:
    """The values of each query, beside its number."""
    return sums.lazy().select("#query", *_guarded(needed))


def by_row(rows: pl.LazyFrame, needed: Needed, table: Table, answer: Answer) -> pl.LazyFrame:
    """Add a column per call: the metric down to each rank, or the contribution of each document."""
    flags = _refused_labels(needed)
    rows = _compute(rows, needed, table).with_columns(**flags)
    if answer == "rank":  # a row with a refused label is kept, so that it fails
        rows = rows.filter(pl.any_horizontal(RANK.is_not_null(), *(pl.col(name).is_not_null() for name in flags)))
    return rows.with_columns(_guarded(needed))


def _compute(rows: pl.LazyFrame, needed: Needed, table: Table) -> pl.LazyFrame:
    """Compute the columns that formulas need, and drop rows that add nothing."""
    rows = rows.with_columns(**needed.early) if needed.early else rows
    if needed.kept is not None and needed.top is not None:
        return needed.compute(rows)
    if needed.gains_only and needed.kept is None:
        # the first row represents a query without relevant documents
        listed = (RAW > 0).fill_null(False) | (POSITION == 1)
        if table.setup.policies.ties == "expected":  # each tied document may be at any rank of its group
            listed = at_last_tied(listed.cum_sum()) > at_first_tied(listed.cum_sum() - listed)
        rows = rows.filter(listed)
    return needed.compute(rows.with_columns(pl.when(RAW > 0).then(RAW).otherwise(0.0).alias("#label")))


def _constant(needed: Needed) -> list[str]:
    """The columns used by values that are constant within a query."""
    named = {name for value in needed.values.values() for name in value.meta.root_names()}
    return sorted(named - needed.sums.keys() - needed.maxima.keys())


def _refused_labels(needed: Needed) -> dict[str, pl.Expr]:
    """A column per refusal: the refused label, null on all other rows."""
    return {fault.column: pl.when(fault.rows).then(LABEL) for fault in needed.refused.values()}


def _guarded(needed: Needed) -> list[pl.Expr]:
    """The values; each fails with the message of the first refused label found."""
    if not needed.refused:
        return [value.alias(text) for text, value in needed.values.items()]
    found = [(pl.col(x.column), x.message, x.kind.startswith(LABEL_REFUSED)) for x in needed.refused.values()]
    guard = failing([(bad.is_not_null(), naming(message, bad) if label else message) for bad, message, label in found])
    return [pl.coalesce(guard, value).alias(text) for text, value in needed.values.items()]
