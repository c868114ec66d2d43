"""The plan: rows in rank order, the columns that formulas need, and their sums per query."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import pairwise
from typing import Any, TypeAlias

import polars as pl

from .._catalog.call import Call
from .._support.floats import Booleans, Floats, Integers, NDArray, np
from .._table.background import NO_TABLES
from .._table.columns import Columns, failed, failing, naming
from .._table.setup import Setup
from .._words.expected_ties import Expectation
from .._words.group_rows import GroupRows
from .._words.in_arrays import Runs
from .._words.pairs import starts_of
from .._words.ranking import Ranking
from .._words.rows import Answer
from .._words.sorted_rows import (
    HAS_LABELS,
    LARGEST_LABEL,
    OF_LABEL,
    POSITION,
    QUERY,
    RANK,
    RAW,
    SCORE,
    Needed,
    SortedRows,
    listed,
    roots,
)
from ..errors import InvalidData, InvalidOption, on, option
from .rank_order import RankOrder, column_of, with_gain
from .sheet import Column, Places, Sheet, are_whole, places_among
from .steps import LABELS, RANKS

Rows: TypeAlias = "NDArray[np.uint32]"

ROWS_OF_BLOCK = 2**18
"""The most rows whose columns are computed together, unless one query has more: few enough to stay
in the processor's memory."""

# ------------------------------------------------------------------------------------------------
# rows in rank order


@dataclass(frozen=True)
class Part:
    """A table in rank order, or a part of one with whole queries, and what its plans need.

    Attributes
    ----------
    frame
        Its rows.
    table
        Its columns.
    order
        Its rows in rank order.
    labels
        The label of each row, 0 for one that adds nothing; its place among the `levels`, if there
        are few.
    levels
        The different labels, rising from 0; whole ones without a gap; none if they are many.
    largest
        The largest label of the whole table, if this is a part of it and its values depend on it;
        else None.
    run
        Computes a plan, and turns the errors of guards into our own.
    """

    frame: pl.DataFrame
    table: Columns
    order: RankOrder
    labels: NDArray[Any]
    levels: Floats
    largest: float | None
    run: Callable[..., pl.DataFrame]

    @property
    def top(self) -> int | None:
        """The largest label, if labels are few whole numbers; else None."""
        return len(self.levels) - 1 if are_whole(self.levels) else None

    @property
    def labelled(self) -> pl.Series | None:
        """Whether each query has a label; None if every row has one."""
        label = self.frame[self.table.setup.roles.label]
        if not label.has_nulls():
            return None
        return self.order.queries_with(label.is_not_null().to_numpy())

    @property
    def has_labels(self) -> pl.Series:
        """Whether each query has a label, as a column."""
        labelled = self.labelled
        if labelled is None:
            labelled = pl.Series(np.ones(len(self.order.first), dtype=np.bool_))
        return labelled.alias(HAS_LABELS.meta.output_name())

    def blocks(self, needed: Needed) -> Sequence[Part]:
        """The part in pieces of whole queries; in one if formulas look at more than their rows."""
        rows = len(self.order.row)
        reads_table = needed.source or self.table.given_rank is not None
        reads_all = self.largest is None and needed.reads(LARGEST_LABEL)
        if rows <= ROWS_OF_BLOCK or reads_table or reads_all:
            return [self]
        near = np.arange(0, rows, ROWS_OF_BLOCK)
        first_queries = np.unique(np.searchsorted(self.order.ends, near))
        last = len(self.order.first)
        limits = [*first_queries[first_queries < last].tolist(), last]
        return [replace(self, order=self.order.between(*limit)) for limit in pairwise(limits)]

    def sheet(self, needed: Needed, carry: Mapping[str, pl.Expr] | None = None) -> Sheet:
        """The rows that the formulas look at, in rank order, with further columns to `carry`.

        Where no policy changes ranks or labels after the sort, rows are arrays from the start.
        """
        policies = self.table.setup.policies
        every_row_counts = policies.depth is None and policies.unretrieved == "missed"
        every_row_counts = every_row_counts and not policies.drops_after_cut
        one_order = not (policies.tie_rule.averages or policies.tie_rule.shares)
        is_plain = every_row_counts and one_order and not needed.early
        make = self._plain if is_plain else self._by_policies
        return make(needed, {**(carry or {}), **needed.source})

    def _plain(self, needed: Needed, columns: Mapping[str, pl.Expr]) -> Sheet:
        """The rows, without those that add nothing, if the policies leave ranks and labels as they
        are.
        """
        order = self.order
        row = order.row
        label = self.labels.take(row)
        starts = order.ends[:-1]
        if needed.gains_only:
            place, starts = with_gain(label, starts)
            row = row.take(place)
            label = label.take(place)
            runs = Runs(starts, len(row))
            position = place + (1 - order.ends).take(runs.number)
        else:
            runs = Runs(starts, len(row))
            position = runs.place
        given: dict[str, Column] = {
            "#row": lambda: pl.Series(row),
            "#query": lambda: pl.Series(runs.number).set_sorted(),
            "#position": lambda: pl.Series(position),
            "#score": lambda: order.score[pl.Series(row)],
            "#rank": lambda: self._rank(row, position),
            "#label": lambda: pl.Series(self._worth(label)),
            "#largest": lambda: self._largest(self._worth(label)),
            "#raw": lambda: self._raw_labels(row),
        }
        given |= {name: partial(self._gathered, x, row) for name, x in columns.items()}
        places = {LABELS: label}
        if self.table.given_rank is None:
            places[RANKS] = position if order.complete else position * self._retrieved(row)
        return self._sheet(needed, runs, given, places)

    def _by_policies(self, needed: Needed, columns: Mapping[str, pl.Expr]) -> Sheet:
        """The rows where policies, or counts of all rows, go before ranks and labels."""
        rule = self.table.setup.policies.tie_rule
        lazy = with_rank(self.order, self.frame, self.table, columns)
        lazy = lazy.with_columns(**needed.early) if needed.early else lazy
        lazy = lazy.filter(listed(tied=rule.averages or rule.shares)) if needed.gains_only else lazy
        rows = self.run(lazy.with_columns(pl.when(RAW > 0).then(RAW).otherwise(0.0).alias(LABELS)))
        label = rows[LABELS].to_numpy()
        given: dict[str, Column] = {name: partial(rows.get_column, name) for name in rows.columns}
        given["#largest"] = lambda: self._largest(label)
        places: dict[str, Places] = {}
        if len(self.levels):
            places[LABELS] = places_among(self.levels, label)
        if self.table.given_rank is None:
            places[RANKS] = rows[RANKS].fill_null(0).to_numpy().astype(np.int64)
        return self._sheet(
            needed, Runs(starts_of(rows["#query"].to_numpy()), len(rows)), given, places
        )

    def _sheet(
        self, needed: Needed, runs: Runs, given: Mapping[str, Column], places: dict[str, Places]
    ) -> Sheet:
        if not len(self.levels):
            places.pop(LABELS, None)
        longest = int(np.diff(self.order.ends).max(initial=0))
        return Sheet(needed, runs, given, places, self.levels, longest, self.run)

    def _worth(self, label: NDArray[Any]) -> Floats:
        """The labels of places among the levels, or themselves."""
        return self.levels.take(label) if len(self.levels) else label.astype(np.float64)

    def _rank(self, row: Rows, position: Integers) -> pl.Series:
        """The rank of rows: as given, or their position."""
        if self.table.given_rank is not None:
            return column_of(self.frame, self.table.given_rank)[pl.Series(row)]
        rank = pl.Series(position.astype(np.float64))
        return rank if self.order.complete else rank.set(pl.Series(~self._retrieved(row)), None)

    def _retrieved(self, row: Rows) -> Booleans:
        """Whether the documents of rows were retrieved."""
        return self.order.score.is_not_null().to_numpy().take(row)

    def _largest(self, label: Floats) -> pl.Series:
        """The largest label of the table, on each row."""
        largest = label.max(initial=0) if self.largest is None else self.largest
        return pl.Series(np.full(len(label), largest, dtype=np.float64))

    def _raw_labels(self, row: Rows) -> pl.Series:
        """The unchanged labels of rows, as floats."""
        label = self.frame.select_seq(_raw(self.table)).to_series()
        return label[pl.Series(row)].cast(pl.Float64)

    def _gathered(self, x: pl.Expr, row: Rows) -> pl.Series:
        """An expression over the table's columns, or one value for all rows, at some rows."""
        return self.frame.with_columns_seq(x.alias("#"))["#"][pl.Series(row)]


def with_rank(
    order: RankOrder, frame: pl.DataFrame, table: Columns, columns: Mapping[str, pl.Expr]
) -> pl.LazyFrame:
    """The rows in rank order with `columns` of the frame, the unchanged label, and the rank."""
    given = {} if table.given_rank is None else {"#given": table.given_rank}
    source = frame.select_seq(_raw(table), **columns, **given)
    in_order = order.rows().hstack(source[pl.Series(order.row)])
    rows = in_order.lazy().with_columns(RAW.cast(pl.Float64))
    policies = table.setup.policies
    place = pl.col("#given") if given else POSITION
    if policies.depth is not None:
        retrieved = place.le(policies.depth)
        if policies.drops_after_cut:
            retrieved &= (RAW >= 0).fill_null(False)
        rows = rows.with_columns(pl.when(retrieved).then(SCORE).alias("#score"))
    if policies.drops_after_cut:
        number = pl.int_range(1, pl.len() + 1, dtype=pl.Int64)
        new_place = number.over(QUERY, order_by=[SCORE.is_null(), POSITION])
        rows = rows.with_columns(new_place.alias("#position"))
        rows = rows.sort(QUERY, POSITION)
    if policies.tie_rule.shares and not given:
        place = POSITION.max().over(QUERY, SCORE)
    rank = pl.when(SCORE.is_not_null()).then(place).cast(pl.Float64)
    rows = rows.with_columns(rank.alias("#rank"))
    if policies.unretrieved == "missed":
        return rows
    return rows.with_columns(pl.when(RANK.is_not_null()).then(RAW).alias("#raw"))


def _raw(table: Columns) -> pl.Expr:
    """The unchanged label; null if the table has none."""
    label = table.setup.roles.label
    if label in table.schema:
        return pl.col(label).alias("#raw")
    return pl.repeat(None, pl.len(), dtype=pl.Float64).alias("#raw")


# --------------------------------------------------------------------------------------------------
# --- columns and sums


def run_formulas(
    calls: Sequence[Call], setup: Setup, top: int | None, answer: Answer = "query"
) -> Needed:
    """Run the formulas to collect the columns and sums they need; `top` is the largest of few whole
    labels, or None.

    The result is cached if all formulas are the library's own, without functions as options.
    """
    texts = tuple([call.text for call in calls])  # 1 and True are equal, but read differently
    alone = setup.background == NO_TABLES  # the cache would keep other tables in memory
    others = [call for call in calls if not call.is_constant]
    run = _cached_formulas if alone and not others else _run_formulas
    return run(tuple(calls), texts, setup, top, answer)


def _run_formulas(
    calls: tuple[Call, ...], texts: tuple[str, ...], setup: Setup, top: int | None, answer: Answer
) -> Needed:
    if answer == "document" and setup.policies.tie_rule.averages:
        says = (
            " averages over orders, in which a document has no single rank; set another rule for "
            "ties to explain"
        )
        raise InvalidOption(
            option(ties=setup.policies.ties), f"{says}, as in ", on(ties="doc_desc")
        )
    needed = Needed(["#query"], answer == "query" and all(call.gains_only(setup) for call in calls))
    rows = SortedRows(needed, answer, top)
    ranking = Ranking(rows, setup, Expectation(rows) if setup.policies.tie_rule.averages else None)
    for text, call in zip(texts, calls, strict=True):
        needed.values[text] = call.value(ranking, setup.policies.no_relevant)
    if answer == "query":
        needed.settle()
    return needed


_cached_formulas = lru_cache(maxsize=512)(
    _run_formulas
)  # saves a third of the time of a small table


def add_up(part: Part, needed: Needed, *, with_labelled: bool) -> pl.DataFrame:
    """The sums, maxima and constants of each query, and whether it has labels; NumPy adds up at a
    fraction of the cost of a group_by.
    """
    totals = [_totals_of(block, needed) for block in part.blocks(needed)]
    columns = totals[0]
    if len(totals) > 1:
        columns = [_joined(pieces) for pieces in zip(*totals, strict=True)]
    if with_labelled or not columns:
        columns.append(part.has_labels)
    return pl.DataFrame(columns)


def _totals_of(block: Part, needed: Needed) -> list[pl.Series]:
    """The constants, sums and maxima of the queries of a block."""
    sheet = block.sheet(needed)
    columns = sheet.at_starts(needed.constant)
    for name in needed.sums:
        sums = sheet.add_up(name, 0.0, np.add)
        columns.append(pl.Series(name, sums))
    for name in [*needed.maxima, *needed.flags]:
        maxima = sheet.add_up(name, math.nan, np.fmax)
        columns.append(pl.Series(name, maxima, nan_to_null=True))
    return columns


def _joined(pieces: Sequence[pl.Series]) -> pl.Series:
    """The pieces of a column as one, which Polars divides as one, with the same last digits."""
    return pl.concat(pieces).rechunk()


def values_of_groups(
    rows: pl.LazyFrame, needed: Needed, queries: pl.DataFrame, empty: float | None
) -> pl.DataFrame:
    """The values of each of the `queries`, from rows in any order; the sums of a query without a
    row are `empty`.
    """
    sums = [x.sum().alias(name) for name, x in needed.sums.items()]
    sums += [x.max().alias(name) for name, x in needed.maxima.items()]
    found = needed.compute(rows).group_by("#query").agg(sums)
    found = queries.lazy().join(found, on="#query", how="left", maintain_order="left")
    found = (
        found if empty is None else found.with_columns(pl.col(list(needed.sums)).fill_null(empty))
    )
    try:
        return found.select(guarded(needed)).collect(engine="in-memory")
    except pl.exceptions.InvalidOperationError as error:
        if (fault := failed(error)) is None:
            raise
        raise InvalidData(fault[1]) from None


def by_row(
    part: Part, needed: Needed, answer: Answer, carry: Mapping[str, pl.Expr]
) -> pl.LazyFrame:
    """The rows with a column per call: the metric down to each rank, or the contribution of each
    document.
    """
    sheet = part.sheet(needed, carry)
    read = {
        *roots(needed.values.values()),
        *roots(needed.undefined.values()),
        *needed.flags,
        "#label",
    }
    own = HAS_LABELS.meta.output_name()
    names = ["#query", "#rank", *carry, *sorted(read - {own, "#query", "#rank", *carry})]
    rows = sheet.frame(names).lazy().with_columns(pl.lit(part.has_labels).gather(QUERY).alias(own))
    if answer == "rank":  # a row with a refused label is kept, so that it fails
        flagged = (pl.col(name).is_not_null() for name in needed.flags)
        rows = rows.filter(pl.any_horizontal(RANK.is_not_null(), *flagged))
    return rows.with_columns(guarded(needed))


def guarded(needed: Needed) -> list[pl.Expr]:
    """The values; each fails with the message of the first refused label, or undefined value,
    found.
    """
    if not (needed.refused or needed.undefined):
        return [value.alias(text) for text, value in needed.values.items()]
    found = [
        (pl.col(x.column), x.message, x.kind.startswith(OF_LABEL)) for x in needed.refused.values()
    ]
    labels = [
        (bad.is_not_null(), naming(message, bad) if label else message)
        for bad, message, label in found
    ]
    guard = failing([*labels, *((bad, message) for message, bad in needed.undefined.items())])
    return [pl.coalesce(guard, value).alias(text) for text, value in needed.values.items()]


def aggregation(call: Call, setup: Setup) -> pl.Expr:
    """The metric as one aggregation, named by its canonical text."""
    if call.metric.over == "subtopics":
        raise InvalidOption(
            f"{call.text} ranks documents first and then looks at the subtopics of each, "
            "which takes more than one step; "
            f"write df.rank.on(subtopic='subtopic').evaluate({call.text!r})"
        )
    setup, meant = setup.resolve(call)
    rows = GroupRows(setup, labels=meant.labels)
    value = meant.value(Ranking(rows, setup), setup.policies.no_relevant)
    return pl.coalesce(failing(rows.faults).cast(call.metric.dtype), value).alias(call.text)
