"""Rows of a table in rank order: each operation becomes a column of a plan, computed once."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from typing import Literal

import polars as pl

from ..errors import InvalidOption
from .columns_needed import (
    FIRST_ROW,
    LARGEST_LABEL,
    POSITION,
    QUERY,
    STARTS,
    Needed,
    at_first_tied,
    at_last_tied,
    is_by_row,
)
from .pairs import lower_labelled
from .rows import Answer, Cut, PairCounts, Rows, name_of, on_rows

RANK, LABEL, RAW = (pl.col(f"#{x}") for x in ("rank", "label", "raw"))


class SortedRows(Rows):
    """The rows of all queries, one query after the other; `needed` notes the columns and sums of a plan.

    Parameters
    ----------
    needed
        Collects columns and sums.
    answer
        The form of totals.
    top
        The largest label of a table whose labels are few whole numbers; else None.
    """

    rank, label, raw = RANK, LABEL, RAW

    def __init__(self, needed: Needed, answer: Answer = "query", top: int | None = None) -> None:
        self.needed, self.answer, self.top = needed, answer, top
        needed.same_for_query(LARGEST_LABEL)
        self._labels = {"#label"}  # the columns of labels, from 0 to the top if that is known

    def column(self, x: pl.Expr, known_by: bytes = b"") -> pl.Expr:
        return self.needed.from_table(x, known_by)

    def gathered(self, values: pl.Series, places: pl.Expr, known_by: bytes) -> pl.Expr:
        return self.needed.column(pl.lit(values).gather(places), known_by)

    def mapped(self, function: Callable[[pl.DataFrame], pl.Series], **columns: pl.Expr) -> pl.Expr:
        rows = pl.struct([QUERY.alias("query"), *(x.alias(name) for name, x in columns.items())])
        values = rows.map_batches(partial(on_rows, function), return_dtype=pl.Float64)
        return self.needed.column(values, name_of(function).encode() + rows.meta.serialize())

    def each(self, x: pl.Expr) -> pl.Expr:
        if is_by_row(x) is False:
            words = "r.whole(x) for x.sum(), r.largest(x) for x.max() and r.so_far(x) for x.cum_sum()"
            raise InvalidOption(f"a formula has the rows of all queries at once, so {x} would mix them; write {words}")
        return x if x.meta.root_names() else pl.when(POSITION > 0).then(x)

    def once(self, x: pl.Expr) -> pl.Expr:
        return x if x.meta.is_column() else self.needed.column(self.each(x))

    def along(self, x: pl.Expr) -> pl.Expr:
        return self.needed.column(x.over(self.needed.key, mapping_strategy="explode"))  # rows stay where they are

    def next_to(self, x: pl.Expr, step: Literal[1, -1], end: float) -> pl.Expr:
        at_end = POSITION == 1 if step == 1 else POSITION.shift(-1, fill_value=1) == 1  # a window would be slow
        return self.needed.column(pl.when(at_end).then(end).otherwise(self.once(x).shift(step)))

    def first_tied(self, x: pl.Expr) -> pl.Expr:
        return self.needed.column(at_first_tied(x))

    def last_tied(self, x: pl.Expr) -> pl.Expr:
        return self.needed.column(at_last_tied(x))

    @property
    def tied_from(self) -> pl.Expr:
        return self.needed.before_drop(at_first_tied(POSITION).cast(pl.Float64))

    @property
    def tied_to(self) -> pl.Expr:
        return self.needed.before_drop(at_last_tied(POSITION).cast(pl.Float64))

    @property
    def place(self) -> pl.Expr:
        return self.needed.column((pl.int_range(1, pl.len() + 1) - self._first_row).cast(pl.Float64))

    @cached_property
    def _first_row(self) -> pl.Expr:
        return self.needed.column(FIRST_ROW)

    def whole(self, x: pl.Expr) -> pl.Expr:
        return self.needed.of_query(x, "sum")

    def largest(self, x: pl.Expr) -> pl.Expr:
        return self.needed.of_query(x, "max")

    def total(self, x: pl.Expr, k: Cut, *, divisor: bool) -> pl.Expr:
        if self.answer == "query":
            return self.needed.sum(x)
        x = x.cast(pl.Float64).fill_null(0.0)
        if self.answer == "rank":
            return self.so_far(x)
        return self.whole(x) if divisor else x

    def count(self, rows: pl.Expr) -> pl.Expr:
        if not self.needed.gains_only:
            return self.whole(rows.cast(pl.Float64))
        return self.needed.same_for_query(self.needed.before_drop(rows.sum().over(self.needed.key).cast(pl.Float64)))

    def count_so_far(self, rows: pl.Expr, *, of_all: bool = False) -> pl.Expr:
        # a count over the table, minus that before the query, needs no window
        so_far, first = pl.when(rows).then(1).cum_count().cast(pl.Int64), FIRST_ROW if of_all else self._first_row
        count = (so_far - (so_far - rows).gather(first)).cast(pl.Float64)
        return self.needed.before_drop(count) if of_all else self.needed.column(count)

    def pairs(self, label: pl.Expr, among: pl.Expr) -> PairCounts:
        level = label if self.top is not None else self.along(label.rank("dense"))
        rows = pl.struct(query=QUERY, tied=STARTS.cum_sum(), level=pl.when(among).then(level.cast(pl.Int64)))
        counts = rows.map_batches(lower_labelled, return_dtype=pl.Struct(dict.fromkeys(PairCounts._fields, pl.Float64)))
        found = self.needed.column(counts, b"pairs" + rows.meta.serialize())
        return PairCounts(*(self.whole(found.struct.field(name)) for name in PairCounts._fields))

    def exponential(self, label: pl.Expr) -> pl.Expr:
        if self.top is None:
            return self.once(super().exponential(label))
        worth = pl.select(super().exponential(pl.lit(self._all_labels))).to_series()
        return self.needed.column(pl.lit(worth).gather(label.cast(pl.UInt32)))

    @property
    def largest_label_of_table(self) -> pl.Expr:
        return LARGEST_LABEL

    @property
    def _all_labels(self) -> pl.Series:
        """All labels from 0 to the top."""
        return pl.int_range((self.top or 0) + 1, eager=True).cast(pl.Float64)

    def falling(self, label: pl.Expr) -> pl.Expr:
        top = self.top
        if top is None:
            return super().falling(label)
        # sorting whole numbers of query and label takes half the time of a window, and less if queries are small
        numbers = QUERY.cast(pl.UInt64) * (top + 1) + (top - label).cast(pl.UInt64)
        falling = self.needed.column(top - (numbers.sort() % (top + 1)).cast(pl.Float64))
        self._labels.add(falling.meta.output_name())
        return falling

    def refuse(self, bad: pl.Expr, message: str, *, of_label: bool = True) -> None:
        of = {*bad.meta.root_names()}
        known = self.top is not None and len(of) == 1 and of <= self._labels
        if not known or pl.select(self._all_labels.alias(*of)).select(bad.any()).item():
            self.needed.refuse(bad, message, of_label=of_label)
