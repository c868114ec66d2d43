"""Rows of whole queries in rank order, as arrays; each column is computed when it is read, and once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import polars as pl

from .._support.floats import Floats, Integers, NDArray, np
from .._words.in_arrays import Runs, Word, numbers
from .._words.sorted_rows import Needed, in_layers
from .steps import LABELS, RANKS, Domain, LookedUp, Steps, Table, behind, steps_of

FEW_ENTRIES = 2**12
"""The most entries of a table that is made for few rows, and kept for further ones."""

ROWS_PER_ENTRY = 4
"""The fewest rows for each entry of a larger table."""

Column = Callable[[], pl.Series]


@dataclass(frozen=True)
class Labels:
    """The labels of rows by number: `levels` are all that there may be, rising from 0, and `codes` each row's place among them."""

    levels: Floats
    codes: NDArray[np.integer[Any]]

    @property
    def are_whole(self) -> bool:
        """Whether the levels are the whole numbers from 0 on, so that they are known by how many they are."""
        return bool(self.levels[-1] == len(self.levels) - 1)

    @staticmethod
    def of(levels: Floats, label: Floats) -> Labels:
        """Labels that are among some levels."""
        whole = levels[-1] == len(levels) - 1
        return Labels(levels, label.astype(np.int64) if whole else np.searchsorted(levels, label))


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
    labels
        The labels by number, if they are few.
    rank
        The rank of each row as a whole number, 0 for a document that was not retrieved; None if ranks are given.
    longest
        The largest rank, if ranks are not given.
    run
        Computes a plan.
    """

    needed: Needed
    runs: Runs
    given: Mapping[str, Column]
    labels: Labels | None
    rank: Integers | None
    longest: int
    run: Callable[[pl.LazyFrame], pl.DataFrame]
    _columns: dict[str, pl.Series] = field(default_factory=dict)
    _words: dict[str, NDArray[Any]] = field(default_factory=dict)
    _places: dict[Domain, Integers] = field(default_factory=dict)
    _tables: dict[Domain, Table] = field(default_factory=dict)

    def add_up(self, name: str, nothing: float, add: np.ufunc) -> NDArray[np.float64]:
        """The sum of a column over each query, or another total of it; null counts as `nothing`."""
        return add.reduceat(self.numbers(name, nothing), self.runs.starts, dtype=np.float64)

    def numbers(self, name: str, nothing: float) -> NDArray[Any]:
        """A column as an array, with a value for null."""
        domain = self._steps.domain.get(name)
        if domain is not None:
            return self._table(domain).numbers(name, nothing).take(self._place(domain))
        return numbers(self.column(name), nothing)

    def column(self, name: str) -> pl.Series:
        """A column."""
        if name not in self._columns:
            self._make(name)
        return self._columns[name]

    def frame(self, names: list[str]) -> pl.DataFrame:
        """Several columns."""
        return pl.DataFrame([self.column(name).alias(name) for name in names])

    # ------------------------------------------------------------------------------------------------- one column

    def _make(self, name: str) -> None:
        steps = self._steps
        if name in self.given:
            self._columns[name] = self.given[name]()
        elif name in steps.domain:
            domain = steps.domain[name]
            self._columns[name] = self._table(domain).column(name, self._place(domain))
        elif name in steps.layer:
            self._make_layer(steps.layers[steps.layer[name]])
        else:
            self._columns[name] = pl.Series(self._word(name)).cast(pl.Float64)

    def _make_layer(self, expressions: Mapping[str, pl.Expr]) -> None:
        """Compute expressions on the rows."""
        read = {root for x in expressions.values() for root in x.meta.root_names()}
        rows = self.frame(sorted(read) or ["#position"]).lazy()
        found = self.run(rows.with_columns_seq(**expressions).select(expressions.keys()))
        self._columns |= found.to_dict()

    def _word(self, name: str) -> NDArray[Any]:
        """The array that a word computes: the places of labels among all levels, if they are few."""
        if name not in self._words:
            word = self._steps.of[name]
            assert isinstance(word, Word)
            of = self._codes if word.axis == "label" and self.labels is not None else self._numbers_for(word)
            self._words[name] = word.function(self.runs, *(of(x) for x in word.of))
        return self._words[name]

    def _numbers_for(self, word: Word) -> Callable[[str], NDArray[Any]]:
        return lambda name: self.numbers(name, word.nothing)

    def _codes(self, name: str) -> NDArray[np.integer[Any]]:
        """The places of labels among all levels."""
        assert self.labels is not None
        return self.labels.codes if name == LABELS else Labels.of(self.labels.levels, self.numbers(name, 0.0)).codes

    # -------------------------------------------------------------------------------------------------- look-ups

    @cached_property
    def depth(self) -> int:
        """The largest rank of tables: a power of 2, so that further rows find the same tables."""
        return int(1 << max(self.longest - 1, 0).bit_length())

    @cached_property
    def _steps(self) -> Steps:
        most = max(FEW_ENTRIES, self.runs.rows // ROWS_PER_ENTRY)
        by_label, by_rank = self.labels is not None, self.rank is not None and self.depth <= most
        by_pair = by_label and by_rank and self._entries(Domain(LABELS, RANKS)) <= most
        return steps_of(self.needed, LookedUp(by_label, by_rank, by_pair))

    def _entries(self, domain: Domain) -> int:
        levels = 1 if domain.label is None or self.labels is None else len(self.labels.levels)
        return levels * (1 if domain.rank is None else self.depth + 1)

    def _place(self, domain: Domain) -> Integers:
        """The place of each row in the table of a domain."""
        if domain not in self._places:
            self._places[domain] = self._place_of(domain)
        return self._places[domain]

    def _place_of(self, domain: Domain) -> Integers:
        if domain.label is None:
            rank = self.rank if domain.rank == RANKS else self._word(str(domain.rank))
            assert rank is not None
            return rank
        if domain.rank is None:
            assert self.labels is not None
            codes = self.labels.codes if domain.label == LABELS else self._word(domain.label)
            return codes.astype(np.intp)
        return self._place(Domain(label=domain.label)) * (self.depth + 1) + self._place(Domain(rank=domain.rank))

    def _table(self, domain: Domain) -> Table:
        if domain not in self._tables:
            self._tables[domain] = self._kept_table(domain)
        return self._tables[domain]

    def _kept_table(self, domain: Domain) -> Table:
        """The table of a domain; one of few entries is kept."""
        kept, key = self._steps.tables, (domain, self.depth)
        few = (self.labels is None or self.labels.are_whole) and self._entries(domain) <= FEW_ENTRIES
        if not few:
            return self._new_table(domain)
        if key not in kept:
            kept[key] = self._new_table(domain)
        return kept[key]

    def _new_table(self, domain: Domain) -> Table:
        """The values of columns for all labels, all ranks or all pairs of them, by their own expressions."""
        rows, wanted = pl.LazyFrame(self._axes(domain)), self._steps.wanted[domain]
        for columns in in_layers(behind(wanted, self._steps)):
            rows = rows.with_columns_seq(**columns)
        return Table(self.run(rows.select(wanted)))

    def _axes(self, domain: Domain) -> dict[str, pl.Series]:
        """The labels and ranks of a domain's entries."""
        rank = pl.Series([None, *range(1, self.depth + 1)], dtype=pl.Float64)
        if domain.label is None or self.labels is None:
            return {str(domain.rank): rank}
        levels = self.labels.levels
        if domain.rank is None:
            return {domain.label: pl.Series(levels)}
        return {
            domain.label: pl.Series(np.repeat(levels, len(rank))),
            domain.rank: pl.concat([rank] * len(levels)),
        }
