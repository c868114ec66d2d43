"""The queries that a reader of a report explores: their values, and what each run ranked."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from .._catalog.call import Call
from .._results.grid import in_words
from .._results.markup import visible
from .._table.runs import RUN, Runs
from .._table.table import Table
from .plots import BARS
from .worst_queries import SHOWN, has_rankings, ranks_of_runs

RANKINGS = 120
"""The most rankings in a page: of many runs, fewer queries have theirs."""
SPREAD = "#spread"
"""The column of how much the values of a query differ."""
PLACE = "#place"
"""The column of a query's place in the plot of differences."""


@dataclass(frozen=True)
class ExploredQueries:
    """The queries whose values differ most between the runs; of one run, the worst ones.

    Attributes
    ----------
    table
        The table, with labels.
    runs
        Its runs.
    names
        The names of the runs, the one first that the others are compared with.
    call
        The metric.
    values
        The values of the metric, a row per run and query.
    slices
        The columns of the values that have slices, and the names of these slices.
    show
        The further columns to show beside the documents.
    """

    table: Table[pl.DataFrame]
    runs: Runs
    names: Sequence[str]
    call: Call
    values: pl.DataFrame
    slices: Mapping[str, str]
    show: Sequence[str]

    @property
    def query(self) -> tuple[str, ...]:
        """The columns that identify a query."""
        return self.runs.queries(self.table.setup).roles.query

    @property
    def doc(self) -> str | None:
        """The column of the documents' ids, if the table has rankings of documents."""
        rows = self.table.rows
        setup = self.table.setup
        return setup.roles.doc_in(rows.columns) if has_rankings(rows, setup, self.runs) else None

    @property
    def shown(self) -> list[str]:
        """The columns to show beside a document, but for those that stand there anyway."""
        there = (*self.query, self.doc, self.table.setup.roles.label, "rank")
        return [name for name in self.show if name not in there]

    @property
    def of_runs(self) -> list[str]:
        """The columns of the runs' values in a row per query."""
        return [f"#value{i}" for i in range(len(self.names))]

    def for_script(self) -> str:
        """What the script of the page reads: JSON without a letter that HTML could mistake."""
        queries = self._with_places()
        by_spread = queries.sort(SPREAD, descending=True, nulls_last=True, maintain_order=True)
        listed = by_spread.head(BARS)
        most = RANKINGS // max(2, len(self.names))
        ranked = listed.head(max(1, most))
        if len(self.names) > 1:
            ranked = ranked.filter(pl.col(SPREAD) != 0)
        documents = self._documents(ranked.select(self.query))
        entries = []
        for row in listed.iter_rows(named=True):
            key = tuple(row[name] for name in self.query)
            entries.append(self._entry(row, documents.get(key, [])))
        facts = self._facts()
        facts["ranked"] = len(documents)
        facts["n"] = len(queries)
        facts["paired"] = queries[PLACE].count()
        facts["queries"] = entries
        text = json.dumps(facts, ensure_ascii=False, separators=(",", ":"))
        return text.replace("<", "\\u003c").replace(">", "\\u003e")

    def _facts(self) -> dict[str, object]:
        """What holds for all queries: the metric, names, and what is shown of how many."""
        facts: dict[str, object] = {"metric": in_words(self.call.text)}
        facts["runs"] = [*map(visible, self.names)]
        facts["slices"] = [*map(visible, self.slices.values())]
        facts["show"] = [*map(visible, self.shown)]
        facts["relevant"] = self.table.setup.policies.relevant
        facts["shown"] = SHOWN
        facts["bars"] = BARS
        return facts

    def _with_places(self) -> pl.DataFrame:
        """A row per query: its slices, its values, their spread, its place among differences."""
        value = pl.col(self.call.text)
        values = []
        for name, column in zip(self.names, self.of_runs, strict=True):
            of_run = value.filter(pl.col(RUN) == name)
            values.append(of_run.first().alias(column))
        slices = [pl.col(column).drop_nulls().first() for column in self.slices]
        by_query = self.values.group_by(self.query, maintain_order=True)
        queries = by_query.agg(*slices, *values)
        first, *others = map(pl.col, self.of_runs)
        if not others:
            worst_first = -first if self.call.higher_is_better else first
            no_place = pl.lit(None, pl.UInt32)
            return queries.with_columns(worst_first.alias(SPREAD), no_place.alias(PLACE))
        differences = [other - first for other in others]
        spread = pl.max_horizontal(difference.abs() for difference in differences)
        place = differences[0].rank("ordinal", descending=True) - 1
        return queries.with_columns(spread.alias(SPREAD), place.alias(PLACE))

    def _entry(self, row: Mapping[str, Any], documents: list[list[object]]) -> list[object]:
        """A query as the script reads it: name, place, slices, values and documents."""
        name = ", ".join(_text(row[column]) for column in self.query)
        slices = [_text(row[column]) for column in self.slices]
        values = [_rounded(row[column]) for column in self.of_runs]
        return [name, row[PLACE], slices, values, documents]

    def _documents(self, queries: pl.DataFrame) -> dict[tuple[object, ...], list[list[object]]]:
        """The documents at the top of any run, by query: id, label, ranks and columns to show."""
        doc = self.doc
        if doc is None:
            return {}
        label = self.table.setup.roles.label
        facts = (label, *dict.fromkeys(self.shown))
        at_top = AtTop(queries, doc, facts, self.runs, tuple(self.names))
        by_query: dict[tuple[object, ...], list[list[object]]] = {}
        for row in self.table.by_parts(at_top).iter_rows(named=True):
            query = tuple(row[name] for name in self.query)
            ranks = [row[name] for name in at_top.ranks]
            shown = [_text(row[name]) for name in self.shown]
            entry = [_text(row[doc]), _rounded(row[label]), *ranks, *shown]
            by_query.setdefault(query, []).append(entry)
        return by_query


@dataclass(frozen=True)
class AtTop:
    """The documents of a part at the top of any run, in some queries, with their ranks in all.

    Attributes
    ----------
    queries
        The queries.
    doc
        The column of the documents' ids.
    facts
        The further columns of a document.
    runs, names
        The runs, and their names.
    """

    queries: pl.DataFrame
    doc: str
    facts: tuple[str, ...]
    runs: Runs
    names: tuple[str, ...]

    @property
    def ranks(self) -> list[str]:
        """The columns of the ranks, one per run."""
        return [f"#rank{i}" for i in range(len(self.names))]

    def __call__(self, part: Table[Any]) -> pl.DataFrame:
        query = self.queries.columns
        same: Any = {"on": query, "how": "semi", "nulls_equal": True}
        rows = part.rows.join(self.queries, maintain_order="left", **same)
        rows = ranks_of_runs(rows, part.setup, self.runs)
        ranks = []
        for run, column in zip(self.names, self.ranks, strict=True):
            of_run = pl.col("rank").filter(pl.col(RUN) == run)
            ranks.append(of_run.drop_nulls().first().alias(column))
        facts = [pl.col(name).drop_nulls().first() for name in self.facts]
        of_documents = rows.group_by(*query, self.doc, maintain_order=True)
        documents = of_documents.agg(*facts, *ranks)
        is_at_top = pl.any_horizontal(pl.col(self.ranks) <= SHOWN)
        return documents.filter(is_at_top)


def _text(value: object) -> str:
    if value is None:
        return "null"
    # pandas has whole numbers as floats if one of them is missing
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return visible(str(value))


def _rounded(value: Any) -> float | int | None:
    """A number as JSON holds it, with six digits."""
    if value is None or not math.isfinite(value):
        return None
    rounded = float(f"{value:.6g}")
    return int(rounded) if rounded.is_integer() else rounded
