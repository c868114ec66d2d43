"""Rows of a table in rank order: each operation becomes a column or a sum of a plan, computed
once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, Literal

import polars as pl

from .._support.polars_versions import is_by_row
from .._table.columns import Fault
from ..errors import InvalidOption
from .in_arrays import (
    Axis,
    Word,
    count_so_far,
    falling_labels,
    places,
    product_before,
    sum_of_query,
)
from .pairs import lower_labelled
from .rows import Answer, Cut, PairCounts, Rows, name_of, on_rows

QUERY = pl.col("#query")
"""The number of a row's query; the next query has the next number."""

POSITION = pl.col("#position")
"""A row's place in its query; documents that were not retrieved come last."""

SCORE = pl.col("#score")
"""A document's score; null for one that was not retrieved."""

STARTS = (POSITION == 1) | SCORE.ne_missing(SCORE.shift(1))
"""Where a group of tied documents starts; documents that were not retrieved form one group."""

FIRST_ROW = (POSITION == 1).arg_true().gather(QUERY - QUERY.first())
"""The number of the row at which a row's query starts."""

LARGEST_LABEL = pl.col("#largest")
"""The largest label of the whole table."""

HAS_LABELS = pl.col("#has_labels")
"""Whether a document of the query has a label: a column that the plan adds to the sums of queries,
or to rows."""

RANK, LABEL, RAW = (pl.col(f"#{x}") for x in ("rank", "label", "raw"))

OF_LABEL = "label"
"""The kind of a refusal that names the label found."""


def at_first_tied(x: pl.Expr) -> pl.Expr:
    """`x` at the first of each group of tied documents."""
    return pl.when(STARTS).then(x).forward_fill()


def at_last_tied(x: pl.Expr) -> pl.Expr:
    """`x` at the last of each group of tied documents."""
    return pl.when(STARTS.shift(-1, fill_value=True)).then(x).backward_fill()


def listed(tied: bool) -> pl.Expr:
    """The rows with gain, and the first row of each query; if `tied`, all rows that tie with one of
    them.
    """
    listed = (RAW > 0).fill_null(False) | (POSITION == 1)
    if not tied:
        return listed
    # each tied document may be at any rank of its group, or all are at the last
    return at_last_tied(listed.cum_sum()) > at_first_tied(listed.cum_sum() - listed)


def roots(of: Iterable[pl.Expr | Word]) -> set[str]:
    """The columns that expressions and words read."""
    return {name for x in of for name in read_by(x)}


def read_by(x: pl.Expr | Word) -> Sequence[str]:
    """The columns that an expression or a word reads."""
    return x.of if isinstance(x, Word) else x.meta.root_names()


@dataclass
class Needed:
    """The columns, sums, values and refusals that formulas need of a table's rows, each once.

    Attributes
    ----------
    key
        The columns that name a query.
    gains_only
        Whether rows whose label is 0, negative or null add nothing and are dropped before sums.
    source, early, late
        Columns in order of computation: before ranking, on all rows in rank order, and on rows left
        after the drop. A late column reads those before it; some are words that NumPy computes.
    sums, maxima
        Expressions whose sum, or maximum, is taken per query.
    undefined
        By message, where a value that is made of these is not defined.
    values
        The value of each call by its text, made of these.
    kept
        What was found out about these while they were computed, and is the same for other rows.
    """

    key: list[str]
    gains_only: bool = False
    source: dict[str, pl.Expr] = field(default_factory=dict)
    early: dict[str, pl.Expr] = field(default_factory=dict)
    late: dict[str, pl.Expr | Word] = field(default_factory=dict)
    sums: dict[str, pl.Expr] = field(default_factory=dict)
    maxima: dict[str, pl.Expr] = field(default_factory=dict)
    refused: dict[str, Fault] = field(default_factory=dict)
    undefined: dict[str, pl.Expr] = field(default_factory=dict)
    values: dict[str, pl.Expr] = field(default_factory=dict)
    _names: dict[tuple[Any, ...], str] = field(default_factory=dict)
    same: set[str] = field(default_factory=set)
    kept: dict[Any, Any] = field(default_factory=dict)
    _of_queries: dict[str, tuple[Literal["sum", "max"], pl.Expr]] = field(default_factory=dict)

    def from_table(self, x: pl.Expr, known_by: bytes = b"") -> pl.Expr:
        """A column of the table, computed before rows are ranked; `known_by` identifies one that
        calls Python.
        """
        return self._once("source", x, self.source, known_by)

    def before_drop(self, x: pl.Expr) -> pl.Expr:
        """A column that needs every row of the query."""
        return self._once("early", x, self.early) if self.gains_only else self.column(x)

    def column(self, x: pl.Expr, known_by: bytes = b"") -> pl.Expr:
        """A column of rows left after the drop; `known_by` identifies an expression that calls
        Python.
        """
        return self._once("late", x, self.late, known_by)

    def word(
        self, function: Callable[..., Any], *of: pl.Expr, nothing: float = 0.0, axis: Axis = ""
    ) -> pl.Expr:
        """A column that a function of the rows' arrays computes from columns, of which null counts
        as `nothing`.
        """
        names = tuple(x.meta.output_name() for x in of)
        key = function.__name__, *names
        if key not in self._names:
            self._names[key] = f"#{len(self._names)}"
            self.late[self._names[key]] = Word(function, names, nothing, axis)
        return pl.col(self._names[key])

    def same_for_query(self, column: pl.Expr) -> pl.Expr:
        """Note that the column has one value on all rows of a query."""
        self.same.add(column.meta.output_name())
        return column

    def of_query(
        self, x: pl.Expr, how: Literal["sum", "max"], on_rows: pl.Expr | None = None
    ) -> pl.Expr:
        """The sum or the maximum of `x` over the query: on its rows, or once where no row needs it
        (see `settle`).
        """
        if on_rows is None:
            on_rows = self.column(getattr(x, how)().over(self.key))
        self._of_queries[on_rows.meta.output_name()] = how, x
        return self.same_for_query(on_rows)

    def sum(self, x: pl.Expr) -> pl.Expr:
        """The sum of `x` per query."""
        return self._once("sum", x, self.sums)

    def max(self, x: pl.Expr) -> pl.Expr:
        """The largest `x` per query."""
        return self._once("max", x, self.maxima)

    def refuse(self, bad: pl.Expr, message: str, *, of_label: bool = True) -> None:
        """Fail with `message` where `bad` holds; it names the label found, if the fault is one
        `of_label`.
        """
        kind = f"{OF_LABEL if of_label else 'document'} {len(self.refused)}"
        self.refused.setdefault(message, Fault(kind, "", bad, message))

    def refuse_value(self, bad: pl.Expr, message: str) -> None:
        """Fail with `message` where `bad`, which is made of sums, holds for a query."""
        self.undefined[message] = bad

    def settle(self) -> None:
        """Refuse values that are not one number per query; take sums per query unless a row needs
        them.
        """
        for text, value in self.values.items():
            if not self._has_one_value(value):
                says = f"{text}: its formula gives {value}, which is no one number for a query"
                raise InvalidOption(
                    f"{says}; add up what each document is worth, as in r.total(x, k) or r.whole(x)"
                )
        totals = [*self.sums.values(), *self.maxima.values()]
        read_by_rows = roots([*totals, *self.late.values(), *self._bad])
        for name, (how, x) in self._of_queries.items():  # in one order, which SQL shows
            if name in read_by_rows:
                continue
            into = self.sums if how == "sum" else self.maxima
            into[name] = x
            self.late.pop(name, None)
        self._leave_out_unused()

    def _leave_out_unused(self) -> None:
        """Leave out columns and sums of which neither a value nor a refusal is made."""
        used = roots([*self.values.values(), *self._bad])
        several: list[dict[str, Any]] = [self.sums, self.maxima, self.late, self.early, self.source]
        for columns in several:
            for name in reversed([*columns]):  # a column reads those before it
                if name in used:
                    used.update(read_by(columns[name]))
                else:
                    del columns[name]

    @property
    def _bad(self) -> list[pl.Expr]:
        """The flags of refused rows."""
        return [fault.rows for fault in self.refused.values()]

    def reads(self, column: pl.Expr) -> bool:
        """Whether a column, a sum or a refusal is made of `column`."""
        return column.meta.output_name() in self._read

    @cached_property
    def _read(self) -> set[str]:
        columns: list[Mapping[str, Any]] = [
            self.source, self.early, self.late, self.sums, self.maxima, self.values,
        ]  # fmt: skip
        return roots([*self._bad, *(x for named in columns for x in named.values())])

    @cached_property
    def constant(self) -> list[str]:
        """The columns used by values that are constant within a query, without that of the plan."""
        own = {*self.sums, *self.maxima, HAS_LABELS.meta.output_name()}
        return sorted(roots(self.values.values()) - own)

    @cached_property
    def flags(self) -> dict[str, pl.Expr]:
        """A column per refusal: the refused label, null on all other rows."""
        return {
            fault.column: pl.when(fault.rows).then(pl.col("#label"))
            for fault in self.refused.values()
        }

    def _has_one_value(self, x: pl.Expr) -> bool:
        """Whether `x` has one value per query, or may have."""
        ones = (self.same, self.sums, self.maxima)
        made_of = [name for name in x.meta.root_names() if not any(name in names for names in ones)]
        if is_by_row(x) is False or not all(name in self.late for name in made_of):
            return False
        return all(self._column_has_one(self.late[name]) for name in made_of)

    def _column_has_one(self, x: pl.Expr | Word) -> bool:
        return not isinstance(x, Word) and self._has_one_value(x)

    def compute(self, rows: pl.LazyFrame) -> pl.LazyFrame:
        """The rows with the late columns, none of which is a word."""
        for columns in in_layers(self.late):
            rows = rows.with_columns_seq(**columns)
        return rows

    def _once(self, kind: str, x: pl.Expr, into: dict[str, Any], known_by: bytes = b"") -> pl.Expr:
        key = kind, known_by or x.meta.serialize()
        if key not in self._names:
            self._names[key] = f"#{len(self._names)}"
            into[self._names[key]] = x
        return pl.col(self._names[key])


def in_layers(columns: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The expressions in layers, each of which reads columns of those before it."""
    layers: list[dict[str, Any]] = []
    layer_of: dict[str, int] = {}
    for name, x in columns.items():
        layer = max((layer_of[root] + 1 for root in read_by(x) if root in layer_of), default=0)
        if layer == len(layers):
            layers.append({})
        layers[layer] = {**layers[layer], name: x}
        layer_of[name] = layer
    return layers


class SortedRows(Rows):
    """The rows of all queries, one query after the other; `needed` notes the columns and sums of a
    plan.

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
        needed.same_for_query(HAS_LABELS)
        self._labels = {"#label"}  # the columns of labels, from 0 to the top if that is known

    def column(self, x: pl.Expr, known_by: bytes = b"") -> pl.Expr:
        return self.needed.from_table(x, known_by)

    def within(self, x: pl.Expr, query: Sequence[str]) -> pl.Expr:
        if is_by_row(x) is not False or ".over(" in str(x):  # it names its groups itself
            return x
        return x.over(query)  # else the rows of other queries would change it

    def gathered(self, values: pl.Series, places: pl.Expr, known_by: bytes) -> pl.Expr:
        return self.needed.column(pl.lit(values).gather(places), known_by)

    def mapped(self, function: Callable[[pl.DataFrame], pl.Series], **columns: pl.Expr) -> pl.Expr:
        rows = pl.struct([QUERY.alias("query"), *(x.alias(name) for name, x in columns.items())])
        values = rows.map_batches(partial(on_rows, function), return_dtype=pl.Float64)
        return self.needed.column(values, name_of(function).encode() + rows.meta.serialize())

    def each(self, x: pl.Expr) -> pl.Expr:
        if is_by_row(x) is False:
            words = (
                "r.whole(x) for x.sum(), r.largest(x) for x.max() and r.so_far(x) for x.cum_sum()"
            )
            raise InvalidOption(
                f"a formula has the rows of all queries at once, so {x} would mix them; write "
                f"{words}"
            )
        return x if x.meta.root_names() else pl.when(POSITION > 0).then(x)

    def once(self, x: pl.Expr) -> pl.Expr:
        return x if x.meta.is_column() else self.needed.column(self.each(x))

    def along(self, x: pl.Expr) -> pl.Expr:
        return self.needed.column(
            x.over(self.needed.key, mapping_strategy="explode")
        )  # rows stay where they are

    def next_to(self, x: pl.Expr, step: Literal[1, -1], end: float) -> pl.Expr:
        at_end = (
            POSITION == 1 if step == 1 else POSITION.shift(-1, fill_value=1) == 1
        )  # a window would be slow
        return self.needed.column(pl.when(at_end).then(end).otherwise(self.once(x).shift(step)))

    def first_tied(self, x: pl.Expr) -> pl.Expr:
        return self.needed.column(at_first_tied(x))

    def last_tied(self, x: pl.Expr) -> pl.Expr:
        return self.needed.column(at_last_tied(x))

    @property
    def has_labels(self) -> pl.Expr:
        return HAS_LABELS

    @property
    def tied_from(self) -> pl.Expr:
        return self.needed.before_drop(at_first_tied(POSITION).cast(pl.Float64))

    @property
    def tied_to(self) -> pl.Expr:
        return self.needed.before_drop(at_last_tied(POSITION).cast(pl.Float64))

    @property
    def place(self) -> pl.Expr:
        return self.needed.word(places, axis="rank")

    def product_before(self, x: pl.Expr) -> pl.Expr:
        return self.needed.word(product_before, self.once(x), nothing=1.0)

    def whole(self, x: pl.Expr) -> pl.Expr:
        return self.needed.of_query(x, "sum", self.needed.word(sum_of_query, self.once(x)))

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
        return self.needed.same_for_query(
            self.needed.before_drop(rows.sum().over(self.needed.key).cast(pl.Float64))
        )

    def count_so_far(self, rows: pl.Expr, *, of_all: bool = False) -> pl.Expr:
        if not of_all or not self.needed.gains_only:
            return self.needed.word(count_so_far, self.once(rows))
        # a count over the table, minus that before the query, needs no window
        so_far = pl.when(rows).then(1).cum_count().cast(pl.Int64)
        return self.needed.before_drop(
            (so_far - (so_far - rows).gather(FIRST_ROW)).cast(pl.Float64)
        )

    def pairs(self, label: pl.Expr, among: pl.Expr) -> PairCounts:
        level = label if self.top is not None else self.along(label.rank("dense"))
        rows = pl.struct(
            query=QUERY, tied=STARTS.cum_sum(), level=pl.when(among).then(level.cast(pl.Int64))
        )
        counts = rows.map_batches(
            lower_labelled, return_dtype=pl.Struct(dict.fromkeys(PairCounts._fields, pl.Float64))
        )
        found = self.needed.column(counts, b"pairs" + rows.meta.serialize())
        return PairCounts(*(self.whole(found.struct.field(name)) for name in PairCounts._fields))

    def exponential(self, label: pl.Expr) -> pl.Expr:
        return self.once(super().exponential(label))

    @property
    def largest_label_of_table(self) -> pl.Expr:
        return LARGEST_LABEL

    @property
    def _all_labels(self) -> pl.Series:
        """All labels from 0 to the top."""
        return pl.int_range((self.top or 0) + 1, eager=True).cast(pl.Float64)

    def falling(self, label: pl.Expr) -> pl.Expr:
        falling = self.needed.word(falling_labels, self.once(label), axis="label")
        self._labels.add(falling.meta.output_name())
        return falling

    def refuse(self, bad: pl.Expr, message: str, *, of_label: bool = True) -> None:
        of = {*bad.meta.root_names()}
        known = self.top is not None and len(of) == 1 and of <= self._labels
        if not known or pl.select(self._all_labels.alias(*of)).select(bad.any()).item():
            self.needed.refuse(bad, message, of_label=of_label)

    def refuse_value(self, bad: pl.Expr, message: str) -> None:
        self.needed.refuse_value(bad, message)
