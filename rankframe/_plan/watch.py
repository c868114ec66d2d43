"""Warnings of tables whose numbers are not what is meant: looked for in the rows that a call reads, and issued once per call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from .._catalog.call import Call
from .._table.figures import Figures, numbered, together
from .._table.setup import Setup
from .._table.suspicions import Suspicion, suspicions_of
from ..errors import Place, RankframeError, once_each, warn
from .per_query import measure

ROWS_OF_SAMPLE = 2**12
"""The first rows, in which a suspicion must hold before all rows are looked at, since that takes as long as a metric."""

QUERIES_IN_ORDER = 64
"""The fewest queries of the sample, if their rows stand together and are many."""

QUERIES_OF_SAMPLE = 400
ROWS_NEAR = 2**15
"""If the rows of a query do not stand together: the queries of the sample, and the first rows in which theirs are looked for."""


class Watch:
    """The suspicions about a table, or about the parts of one, with whole queries, that change the value of a metric."""

    def __init__(self, setup: Setup, calls: Sequence[Call], at: Place | None = None) -> None:
        self.setup, self.calls, self.at = setup, calls, at
        self.resolved = setup
        self.waiting: list[pl.DataFrame] = []  # parts that are looked at together, as few rows show little
        self.found: list[Mapping[str, Any]] = []
        self.last: list[Suspicion] = []
        self.samples: list[pl.DataFrame] = []
        self.clear = not calls or setup.policies.unjudged == "bounds"  # bounds show what is unknown

    def see(self, rows: pl.DataFrame) -> None:
        """Look at a table, or at a part of one."""
        if self.clear or not rows.height:
            return
        self.waiting.append(rows)
        if sum(map(len, self.waiting)) >= ROWS_OF_SAMPLE:
            self._look()

    def warn(self) -> None:
        """Warn of each suspicion that holds of all parts together."""
        if self.waiting:
            self._look()
        if self.clear or not self.found:
            return
        values, sample = together(self.found), pl.concat(self.samples)
        for suspicion in self._held(values):
            changed = next((call.text for call in self.calls if self._changes(suspicion, call, sample, values)), None)
            if changed is not None:
                says = suspicion.says(self.resolved, values)
                warn(says, f" (it concerns {changed})", kind=suspicion.problem, at=self.at)

    def _look(self) -> None:
        """Compute the figures of the waiting parts if a sample of them raises a suspicion; enough rows without one clear the table."""
        rows, self.waiting = pl.concat(self.waiting), []
        # the policies that a convention has for the first metric; without a document column, None for it
        resolved, _ = self.setup.resolve(self.calls[0])
        self.resolved = resolved.of_table(rows.columns)
        if rows.height > ROWS_OF_SAMPLE:
            read = {*self.setup.roles.names, *(name for call in self.calls for name in call.columns)}
            rows = rows[[name for name in rows.columns if name in read]]
        sample = _sample(rows, self.setup.roles.query)
        if not self._held(Figures(sample, self.resolved, sample=True)) and (
            rows.height >= ROWS_OF_SAMPLE or not self.found
        ):
            self.clear = True
            return
        found = together([Figures(rows, self.resolved)])
        self.last = self._held(found)
        self.found.append(found)
        self.clear = not self.last and rows.height >= ROWS_OF_SAMPLE
        if sum(map(len, self.samples)) < ROWS_OF_SAMPLE:
            self.samples.append(sample)

    def _held(self, values: Mapping[str, Any]) -> list[Suspicion]:
        """The suspicions that these figures raise, of those with which a number warns."""
        setup = self.resolved
        return [x for x in suspicions_of(setup) if x.warns(setup, values) and x.holds(setup, values)]

    def _changes(self, suspicion: Suspicion, call: Call, rows: pl.DataFrame, found: Mapping[str, Any]) -> bool:
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
                return bool((_values(rows, self.setup, call) == 0).all())
            setups = suspicion.differs(self.setup, found)
            if setups is None:
                return True
            one, other = (_rounded(_values(rows, x, call)) for x in setups)
        except RankframeError:  # the metric is not defined for the other setup
            return False
        return not one.equals(other)


def watch_slices(frame: pl.DataFrame, setup: Setup, calls: Sequence[Call], by: Sequence[str]) -> None:
    """Warn of a table whose numbers are not what is meant, or of one of its slices, such as runs; once for all."""
    if by:
        read = {*setup.roles.names, *by, *(name for call in calls for name in call.columns)}
        frame = frame[[name for name in frame.columns if name in read]]
    with once_each():
        for part in frame.partition_by(by, maintain_order=True) if by else [frame]:
            watching = Watch(setup, calls)
            watching.see(part)
            watching.warn()


def _values(rows: pl.DataFrame, setup: Setup, call: Call) -> pl.Series:
    return measure(rows, setup, call)[call.text]


def _sample(rows: pl.DataFrame, query: Sequence[str]) -> pl.DataFrame:
    """Rows of the first queries: the first rows, some rows of each long query, or rows that stand apart."""
    import numpy as np  # imported late, to keep other calls fast

    if rows.height <= ROWS_OF_SAMPLE:
        return rows
    near = numbered(rows.head(ROWS_NEAR), query)
    first = near[:ROWS_OF_SAMPLE]
    ids = np.sort(first)
    runs, queries = (int(np.count_nonzero(x[1:] != x[:-1])) + 1 for x in (first, ids))
    if runs == queries:
        length = ROWS_OF_SAMPLE // queries  # of long queries, some rows each, as a few queries show no direction
        end = min(max(QUERIES_IN_ORDER * length, ROWS_OF_SAMPLE), rows.height)
        return rows[np.arange(0, end, max(length // QUERIES_IN_ORDER, 1))]
    short = near.astype(np.uint16)  # a few more queries have the same last digits
    digits, places = np.unique(short[:ROWS_OF_SAMPLE], return_index=True)
    chosen = np.zeros(2**16, dtype=bool)
    chosen[digits[places.argsort()[:QUERIES_OF_SAMPLE]]] = True
    return rows[np.flatnonzero(chosen[short])[: 2 * ROWS_OF_SAMPLE]]


def _rounded(values: pl.Series) -> pl.Series:
    """The values in a fixed order, without the last digits, which depend on the order of a sum."""
    return values.sort().round(9) if values.dtype.is_float() else values.sort()
