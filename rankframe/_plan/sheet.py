"""Rows of whole queries in rank order, as arrays; each column is computed when it is read, and
once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

import polars as pl

from .._support.floats import Floats, NDArray, np
from .._words.in_arrays import Runs, numbers
from .._words.sorted_rows import Needed, in_layers
from .steps import LABELS, RANKS, Domain, LookedUp, Steps, Table, behind, steps_of

FEW_ENTRIES = 2**12
"""The most entries of a table that is made for few rows, and kept for further ones."""

ROWS_PER_ENTRY = 2
"""The fewest rows for each entry of a larger table."""

Column = Callable[[], pl.Series]
Places: TypeAlias = "NDArray[np.integer[Any]]"


def are_whole(levels: Floats) -> bool:
    """Whether the levels of labels are the whole numbers from 0 on, so that their number tells
    them.
    """
    return len(levels) > 0 and np.array_equal(levels, np.arange(len(levels)))


def places_among(levels: Floats, label: Floats) -> Places:
    """The place of each label among the levels."""
    return label.astype(np.int64) if are_whole(levels) else np.searchsorted(levels, label)


@dataclass
class Sheet:
    """The rows that formulas look at.

    Attributes
    ----------
    needed
        What the formulas need.
    runs
        The queries' rows.
    given
        The columns that are there before any is computed, each made when it is read.
    places
        The place of each row's label among the `levels`, if these are few, and its rank, 0 for a
        document that was not retrieved, if ranks are not given; by the column of which they are.
    levels
        The different labels, rising from 0.
    longest
        The number of documents of the longest query.
    run
        Computes a plan.
    """

    needed: Needed
    runs: Runs
    given: Mapping[str, Column]
    places: Mapping[str, Places]
    levels: Floats
    longest: int
    run: Callable[[pl.LazyFrame], pl.DataFrame]
    _columns: dict[str, pl.Series] = field(default_factory=dict)
    _words: dict[str, NDArray[Any]] = field(default_factory=dict)
    _entry_of_row: dict[Domain, Places] = field(default_factory=dict)
    _tables: dict[tuple[Domain, int], Table] = field(default_factory=dict)

    def add_up(self, name: str, nothing: float, add: np.ufunc) -> Floats:
        """The sum of a column over each query, or another total of it; null counts as `nothing`."""
        return self.runs.totals(self.numbers(name, nothing), add)

    def at_starts(self, names: Sequence[str]) -> list[pl.Series]:
        """Columns at the first row of each query."""
        if not names:
            return []
        first = pl.Series(self.runs.starts.astype(np.uint32))
        return [self.column(name)[first].alias(name) for name in names]

    def numbers(self, name: str, nothing: float) -> NDArray[Any]:
        """A column as an array, with a value for null."""
        domain = self._steps.domain.get(name)
        if domain is not None:
            return self._table(domain).numbers(name, nothing).take(self._entries(domain))
        return numbers(self.column(name), nothing)

    def column(self, name: str) -> pl.Series:
        """A column."""
        if name not in self._columns:
            self._make(name)
        return self._columns[name]

    def frame(self, names: Sequence[str]) -> pl.DataFrame:
        """Several columns."""
        return pl.DataFrame([self.column(name).alias(name) for name in names])

    # ----------------------------------------------------------------------------------------------
    # --- one column

    def _make(self, name: str) -> None:
        steps = self._steps
        if name in self.given:
            self._columns[name] = self.given[name]()
        elif name in steps.domain:
            domain = steps.domain[name]
            self._columns[name] = self._table(domain).column(name, self._entries(domain))
        elif name in steps.layer:
            self._make_layer(steps.layers[steps.layer[name]])
        else:
            self._columns[name] = pl.Series(self._word(name)).cast(pl.Float64)

    def _make_layer(self, expressions: Mapping[str, pl.Expr]) -> None:
        """Compute expressions on the rows."""
        read = {root for x in expressions.values() for root in x.meta.root_names()}
        rows = self.frame(sorted(read) or ["#position"])
        wanted = [x.alias(name) for name, x in expressions.items()]
        # the first column is there for expressions that are one value for all rows
        made = self.run(rows.lazy().select_seq(pl.first(), *wanted))
        for name in expressions:
            self._columns[name] = made[name]

    def _word(self, name: str) -> NDArray[Any]:
        """The array that a word computes; of labels that are looked up, their places among the
        levels.
        """
        if name not in self._words:
            word = self._steps.words[name]
            looked_up = word.axis == "label" and LABELS in self.places
            arrays = (
                self._label_places(x) if looked_up else self.numbers(x, word.nothing)
                for x in word.of
            )
            self._words[name] = word.function(self.runs, *arrays)
        return self._words[name]

    def _label_places(self, name: str) -> Places:
        """The places of a column of labels among the levels."""
        if name in self.places:
            return self.places[name]
        return places_among(self.levels, self.numbers(name, 0.0))

    # ----------------------------------------------------------------------------------------------
    # ---- look-ups

    @cached_property
    def depth(self) -> int:
        """The largest rank of tables: a power of 2 where tables are kept, so that further rows find
        the same ones.
        """
        if self.longest > FEW_ENTRIES:
            return self.longest
        return int(1 << max(self.longest - 1, 0).bit_length())

    @cached_property
    def _steps(self) -> Steps:
        most = max(FEW_ENTRIES, self.runs.rows // ROWS_PER_ENTRY)
        by_label = LABELS in self.places
        by_rank = RANKS in self.places and self.depth <= most
        by_pair = by_label and by_rank and self._size(Domain(LABELS, RANKS)) <= most
        return steps_of(self.needed, LookedUp(by_label, by_rank, by_pair))

    def _size(self, domain: Domain) -> int:
        """The number of entries of a table."""
        levels = 1 if domain.label is None else len(self.levels)
        return levels * (1 if domain.rank is None else self.depth + 1)

    def _entries(self, domain: Domain) -> Places:
        """The entry of each row in the table of a domain."""
        if domain not in self._entry_of_row:
            self._entry_of_row[domain] = self._new_entries(domain)
        return self._entry_of_row[domain]

    def _new_entries(self, domain: Domain) -> Places:
        axes = [axis for axis in (domain.label, domain.rank) if axis is not None]
        places = [self._place(axis).astype(np.intp, copy=False) for axis in axes]
        if len(places) == 1:
            return places[0]
        of_label, of_rank = places
        return of_label * (self.depth + 1) + of_rank

    def _place(self, axis: str) -> Places:
        """The place of each row's label or rank among all that there may be."""
        return self.places[axis] if axis in self.places else self._word(axis)

    def _table(self, domain: Domain) -> Table:
        """The table of a domain; one of few entries, which other rows have as well, is kept."""
        key = domain, self.depth
        is_known = domain.label is None or self._are_known
        is_small = self._size(domain) <= FEW_ENTRIES
        tables = self._steps.tables if is_known and is_small else self._tables
        if key not in tables:
            tables[key] = self._new_table(domain)
        return tables[key]

    @cached_property
    def _are_known(self) -> bool:
        """Whether formulas know the levels: by their number, as they are whole."""
        return are_whole(self.levels)

    def _new_table(self, domain: Domain) -> Table:
        """The values of columns for all labels, all ranks or all pairs of them, by their own
        expressions.
        """
        wanted = self._steps.wanted[domain]
        rows = self._axes(domain).lazy()
        for columns in in_layers(behind(wanted, self._steps)):
            rows = rows.with_columns_seq(**columns)
        return Table(self.run(rows.select(wanted)))

    def _axes(self, domain: Domain) -> pl.DataFrame:
        """The labels and ranks of a domain's entries."""
        levels = self.levels
        ranks = np.arange(self.depth + 1.0)
        if domain.label is not None and domain.rank is not None:
            levels = np.repeat(self.levels, len(ranks))
            ranks = np.tile(ranks, len(self.levels))
        columns = []
        if domain.label is not None:
            columns.append(pl.Series(domain.label, levels))
        if domain.rank is not None:
            rank = pl.Series(domain.rank, ranks)
            columns.append(rank.set(rank == 0, None))
        return pl.DataFrame(columns)
