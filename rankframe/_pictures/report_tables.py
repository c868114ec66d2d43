"""The tables of a report: runs side by side, tests of their differences, a fusion, worst queries, and the settings."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import polars as pl

from .._catalog.call import Call
from .._decisions.paired_values import explained, values, with_own_rank
from .._support.statistical_options import CORRECTIONS, TESTS
from .._table.runs import RUN, Runs
from .._table.setup import Setup
from .._table.table import in_memory
from .._text.result_table import Cell, Grid, Record, intervals_of, plain
from .._text.sentences import decimals, interval, p_value
from .._verbs.verbs import with_ranks
from ..errors import InvalidOption

TOGETHER = 3
"""The most runs in one table, without the run that they are compared with."""
DIGITS = 3
"""The number of decimals; more where a value that is not 0 would read as 0."""
SHOWN = 10
"""The number of documents shown of a query, from the top."""
MISSED = 5
"""The number of relevant documents shown that were not retrieved."""


class Estimates(NamedTuple):
    """A row of a table of runs: a metric or a slice of one, its summary per run, and the differences per run."""

    name: Cell
    call: Call
    means: Mapping[str, Record]
    differences: Mapping[str, Record]

    @property
    def queries(self) -> Cell:
        """The number of queries behind the means: one number, or a range where runs differ."""
        n = sorted({row["n_queries"] for row in self.means.values()})
        return counted(n[0]) if len(n) == 1 else Cell(f"{n[0]:,} to {n[-1]:,}", n[0])

    @property
    def urgency(self) -> tuple[bool, float, float, str]:
        """The sort key: the greatest loss first, for one run the worst mean; rows without a value last."""
        name, rows = ("difference", self.differences) if self.differences else ("mean", self.means)
        sign = 1 if self.call.higher_is_better else -1
        gains = [sign * row[name] for row in rows.values() if row[name] is not None]
        return not gains, min(gains, default=0.0), -(self.queries.number or 0), self.name.text

    def mean(self, run: str) -> Cell:
        """A run's mean with its interval, marked if no run has a better one."""
        means = [row["mean"] for row in self.means.values() if row["mean"] is not None]
        top = (max if self.call.higher_is_better else min)(means, default=None)
        found = estimate(self.means.get(run), "mean")
        best = len(self.means) > 1 and top is not None and found.text == f"{top:.{DIGITS}f}"
        return Cell(found.text, found.number, found.below, best)


def shown(value: object) -> Cell:
    """The cell of a value of the user's table."""
    number = value if isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value) else None
    text = "" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)
    return Cell(text, number)


def counted(n: int) -> Cell:
    return Cell(f"{n:,}", n)


def figure(value: float | None) -> Cell:
    return Cell() if value is None else Cell(f"{value:.{DIGITS}f}", value)


def estimate(row: Record | None, name: str) -> Cell:
    """A mean, a difference or a gain with its interval below; empty if it has no value."""
    if row is None or row[name] is None:
        return Cell()
    value, sign = row[name], "" if name == "mean" else "+"
    digits = decimals(value) if 0 < abs(value) < 0.5 * 10**-DIGITS else DIGITS
    number = float(f"{value:.12g}")  # further digits depend on the order of summation
    return Cell(f"{value:{sign}.{digits}f}", number, interval(row["ci_low"], row["ci_high"], digits).strip())


def of_runs(of: str, lines: Sequence[Estimates], runs: Sequence[str]) -> list[Grid]:
    """A row per metric or slice; a column per run, and one with its difference from the first run.

    Many runs make several tables, each with the first run; a single run has its standard deviation.
    """
    reference, *others = runs
    if not others:
        one = [(x.name, x.mean(reference), figure(x.means[reference]["std"]), x.queries) for x in lines]
        return [Grid((of, "mean", "std", "queries"), tuple(one), 3)]
    found = []
    for start in range(0, len(others), TOGETHER):
        part = others[start : start + TOGETHER]
        head = (of, reference, *(name for run in part for name in (run, "difference")), "queries")
        rows: list[tuple[Cell, ...]] = []
        for line in lines:
            pairs = [(line.mean(run), estimate(line.differences.get(run), "difference")) for run in part]
            rows.append((line.name, line.mean(reference), *(cell for pair in pairs for cell in pair), line.queries))
        found.append(Grid(head, tuple(rows), len(head) - 1))
    return found


def of_tests(table: Sequence[Record], settings: Mapping[str, Any]) -> Grid:
    """The tests: a row per metric and pair of runs."""
    rows = [
        (
            Cell(row["metric"]),
            Cell(f"{row['run']} against {row['baseline']}"),
            estimate(row, "difference"),
            *(Cell() if p is None else Cell(p_value(p), p) for p in (row["p_value"], row["p_adjusted"])),
            *(counted(row[name]) for name in ("wins", "ties", "losses")),
        )
        for row in table
    ]
    head = ("metric", "runs", "difference", "p", "adjusted p", "better on", "equal on", "worse on")
    adjusted = f", adjusted by {CORRECTIONS[settings['correction']]} for {len(table)} comparisons"
    note = (
        f"p by {TESTS[settings['test']]}{adjusted if len(table) > 1 else ''}. Brackets: {settings['ci']:.0%} interval of "
        f"the mean difference ({intervals_of(row['interval'] for row in table)}). Better, equal and worse: on how many queries."
    )
    return Grid(head, tuple(rows), 6, (note,))


@dataclass(frozen=True)
class Query:
    """A query, its value of the metric, its number of relevant documents, and the table of its documents."""

    name: str
    value: float
    relevant: int
    documents: Grid


def worst_queries(
    frame: pl.DataFrame, setup: Setup, runs: Runs, call: Call, most: int, show: Sequence[str]
) -> Iterator[tuple[str, list[Query]]]:
    """The queries with the worst values of each run, the worst first."""
    found = values(frame, setup, runs, [call]).drop_nulls(call.text)
    for run in found[RUN].unique(maintain_order=True):
        own = found.filter(pl.col(RUN) == run)
        chosen = own.sort(call.text, descending=not call.higher_is_better, maintain_order=True).head(most)
        documents = _documents(frame, setup, runs, run, call, chosen, show)
        policies = runs.queries(setup if runs.column else setup.changed(score=run))
        yield run, [_query(query, documents, policies, call, show) for query in chosen.iter_rows(named=True)]


def _documents(
    frame: pl.DataFrame, setup: Setup, runs: Runs, run: str, call: Call, chosen: pl.DataFrame, show: Sequence[str]
) -> pl.DataFrame:
    """The documents of the chosen queries in a run, with the contribution of each if the metric is a sum over documents."""
    query = runs.queries(setup).roles.query
    try:
        rows = explained(frame, setup, runs, run, call, carry=[name for name in show if name not in query])
    except InvalidOption:
        one_order = setup.changed(ties="doc_desc") if setup.policies.tie_rule.averages else setup
        ranked = runs.each(frame, one_order, lambda of_run: with_ranks(in_memory(frame, of_run)), only=run)
        rows = with_own_rank(ranked, ranked.columns[-1])
    return rows.join(chosen, on=query, how="semi", nulls_equal=True).sort("rank", nulls_last=True)


def _query(query: dict[str, Any], documents: pl.DataFrame, setup: Setup, call: Call, show: Sequence[str]) -> Query:
    roles = setup.roles
    own = documents.filter(pl.all_horizontal(pl.col(name).eq_missing(pl.lit(query[name])) for name in roles.query))
    relevant = own.filter(pl.col(roles.label) >= setup.policies.relevant)
    ranked, missed = own.drop_nulls("rank"), relevant.filter(pl.col("rank").is_null())
    doc, numbers = roles.doc_in(own.columns), (roles.score, roles.label, call.text)
    names = dict.fromkeys(("rank", *([] if doc is None else [doc]), *show, *numbers))
    head = [name for name in names if name in own.columns]
    rows = [
        tuple(shown(row[name]) for name in head)
        for row in (*ranked.head(SHOWN).to_dicts(), *missed.head(MISSED).to_dicts())
    ]
    notes = []
    if len(ranked) > SHOWN:
        notes.append(f"The first {SHOWN} of {len(ranked):,} documents.")
    if len(missed):
        some = f"; {MISSED} of them are shown" if len(missed) > MISSED else ""
        notes.append(f"{len(missed):,} of {len(relevant):,} relevant documents not retrieved{some}.")
    name = ", ".join(shown(query[name]).text for name in roles.query)
    table = Grid(tuple(head), tuple(rows), sum(name in numbers for name in head), tuple(notes))
    return Query(name, query[call.text], len(relevant), table)


def of_settings(settings: Mapping[str, object]) -> list[tuple[str, list[tuple[str, str]]]]:
    """Groups of settings and their values, without unset ones."""
    groups: dict[str, list[tuple[str, str]]] = {}
    for name, value in plain(settings).items():
        inner = value if isinstance(value, dict) else {name: value}
        group = groups.setdefault(name if isinstance(value, dict) else "report", [])
        group += [(key, _written(item)) for key, item in inner.items() if item is not None and item != []]
    return [(name, rows) for name, rows in groups.items() if rows]


def _written(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(_written, value))
    if isinstance(value, dict):
        return ", ".join(f"{name}: {_written(item)}" for name, item in value.items() if item is not None)
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
