"""Warnings of tables whose numbers are not what is meant: looked for in the rows that a call reads, and issued once per call."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import polars as pl

from .._catalog.call import Call
from .._table.figures import figures, totals
from .._table.setup import Setup
from .._table.suspicions import NEARLY_ALL, Suspicion, filled, is_called_rank, suspicions_of
from .._table.table import Table
from ..errors import Place, RankframeError, warn

__all__ = ["Watch"]

ROWS_OF_SAMPLE = 2**12
"""The first rows, in which a suspicion must hold before all rows are looked at, since that takes as long as a metric."""

QUERIES_IN_ORDER = 64
"""The fewest queries of the sample, if their rows stand together and are many."""

QUERIES_OF_SAMPLE = 400
ROWS_NEAR = 2**15
"""If the rows of a query do not stand together: the queries of the sample, and the first rows in which theirs are looked for."""

Values = Callable[[pl.DataFrame, Setup, Call], pl.Series]
"""The values of a metric, in any order."""


class Watch:
    """The suspicions about a table, or about the parts of one, with whole queries, that change the value of a metric."""

    def __init__(self, setup: Setup, calls: Sequence[Call], values: Values, at: Place | None) -> None:
        self.setup, self.calls, self.values, self.at = setup, calls, values, at
        self.resolved = setup
        self.found: list[pl.DataFrame] = []
        self.last: tuple[list[Suspicion], dict[str, Any]] = [], {}
        self.samples: list[pl.DataFrame] = []
        self.clear = False  # the rows seen are enough, and raise no suspicion

    def see(self, rows: pl.DataFrame) -> None:
        """Look at a table, or at a part of one."""
        if (
            self.clear or not self.calls or not rows.height or self.setup.policies.unjudged == "bounds"
        ):  # bounds show what is unknown
            return
        # the policies that a convention has for the first metric; without a document column, None for it
        resolved, _ = self.setup.resolve(self.calls[0])
        self.resolved = resolved.changed(doc=resolved.roles.doc_in(rows.columns))
        sample = _sample(rows, list(self.setup.roles.query))
        found = self._figures(sample)
        self.last = self._suspected(found)
        if sample is not rows and self.last[0]:
            found = self._figures(rows)
            self.last = self._suspected(found)
        self.found.append(found)
        self.clear = not self.last[0] and rows.height >= ROWS_OF_SAMPLE
        if sum(map(len, self.samples)) < ROWS_OF_SAMPLE:
            # a slice would keep all rows in memory
            self.samples.append(sample if sample is rows else sample.select(pl.all().gather(pl.int_range(pl.len()))))

    def warn(self) -> None:
        """Warn of each suspicion that holds of all parts together."""
        if self.clear or not self.found:
            return
        suspected, values = (
            self.last if len(self.found) == 1 else self._suspected(_together(pl.concat(self.found).lazy()))
        )
        sample = pl.concat(self.samples)
        for suspicion in suspected:
            changed = next((call.text for call in self.calls if self._changes(suspicion, call, sample, values)), None)
            if changed is not None:
                said = filled(suspicion.says(self.resolved), values)
                warn(said, f" (it concerns {changed})", kind=suspicion.problem, at=self.at)

    def _figures(self, rows: pl.DataFrame) -> pl.DataFrame:
        label = self.setup.roles.label in rows.columns
        query = self.setup.roles.query
        alone = len(query) == 1 and rows[query[0]].n_unique() >= NEARLY_ALL * rows.height  # true of few tables
        table = Table.of(self.resolved, rows.schema, label=label)
        return _together(
            figures(rows.lazy(), table, label=label, documented=alone, ranked=is_called_rank(self.resolved))
        )

    def _suspected(self, found: pl.DataFrame) -> tuple[list[Suspicion], dict[str, Any]]:
        """The suspicions with which a number warns, and the figures of all parts together."""
        setup = self.resolved
        values = {name: math.nan if x is None else x for name, x in found.row(0, named=True).items()}
        return [x for x in suspicions_of(setup) if x.holds(setup, values) and x.warns(setup, values)], values

    def _changes(self, suspicion: Suspicion, call: Call, rows: pl.DataFrame, found: dict[str, Any]) -> bool:
        """Whether a suspicion that holds changes the value of a metric."""
        if suspicion.labels and not (call.labels and call.metric.over == "documents"):
            return False
        if suspicion.role is not None:
            return suspicion.role in call.metric.needs or (suspicion.role, call.metric.over) == (
                "subtopic",
                "subtopics",
            )
        try:
            if suspicion.zero:
                return bool((self.values(rows, self.setup, call) == 0).all())
            setups = suspicion.differs(self.setup, found)
            if setups is None:
                return True
            one, other = (_rounded(self.values(rows, x, call)) for x in setups)
        except RankframeError:  # the metric is not defined for the other setup
            return False
        return not one.equals(other)


def _sample(rows: pl.DataFrame, query: list[str]) -> pl.DataFrame:
    """Rows of the first queries: the first rows, some rows of each long query, or rows that stand apart."""
    if rows.height <= ROWS_OF_SAMPLE:
        return rows
    first = rows.head(ROWS_OF_SAMPLE)
    key = pl.struct(query) if len(query) > 1 else pl.col(query)
    runs, queries = first.select(key.rle_id().max() + 1, queries=key.n_unique()).row(0)
    if runs == queries:
        length = ROWS_OF_SAMPLE // queries  # of long queries, some rows each, as a few queries show no direction
        return rows.head(max(QUERIES_IN_ORDER * length, ROWS_OF_SAMPLE)).gather_every(
            max(length // QUERIES_IN_ORDER, 1)
        )
    chosen = first.select(query).unique(maintain_order=True).head(QUERIES_OF_SAMPLE)
    return rows.head(ROWS_NEAR).join(chosen, on=query, how="semi", nulls_equal=True).head(2 * ROWS_OF_SAMPLE)


def _together(parts: pl.LazyFrame) -> pl.DataFrame:
    return totals(parts).collect(engine="in-memory", optimizations=pl.QueryOptFlags.none())


def _rounded(values: pl.Series) -> pl.Series:
    """The values in a fixed order, without the last digits, which depend on the order of a sum."""
    return values.sort().round(9) if values.dtype.is_float() else values.sort()
