"""The report: one HTML file with the quality of a ranking and all settings that its numbers depend
on.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import os
import re
from collections.abc import Callable, Mapping, Sequence
from contextvars import copy_context
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timezone
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any, NamedTuple

import polars as pl

from .._catalog.call import Call
from .._catalog.registry import METRICS
from .._catalog.requests import Request, averaged
from .._plan.per_query import with_labels
from .._results.grid import (
    ALPHA,
    Cell,
    Grid,
    Record,
    estimated,
    in_words,
    intervals_of,
    numbers,
    plain,
    queries,
    records,
)
from .._results.markup import visible
from .._results.result import Result
from .._results.sentences import IN_HTML, direction, sentence, test_of, uncorrected
from .._statistics.estimators import INTERVALS
from .._support.extras import load, versions
from .._support.option_kinds import Column, ColumnNames, ReadInside
from .._support.option_values import Range
from .._support.statistical_options import Bound, Resamples, Seed
from .._support.whole_files import write_whole
from .._table.check import findings_of_table
from .._table.roles import carried, require
from .._table.runs import RUN, RUN_OF_TABLE, Runs, TheRuns, names_of
from .._table.setup import Roles, Setup
from .._table.table import OfPart, Parts, Table, in_memory
from .._verbs.audit.overlap import oracle, overlap
from .._verbs.call.declaration import call_of_verb, verb
from .._verbs.decide.compare import Comparison, compare
from .._verbs.decide.gate import Verdict
from .._verbs.decide.ranks import tied_for_top
from .._verbs.fuse.fitted import FusionMethod, text_of
from .._verbs.measure.evaluate import with_ranks
from .._verbs.measure.judge import Findings
from .._verbs.measure.paired_values import explained, in_order, rows_of_queries, with_own_rank
from .._verbs.measure.summary import Summary
from .._verbs.sample.resampling import Resampling
from .._verbs.sample.unequal_runs import unequal
from ..errors import InvalidOption, MissingExtra, RankframeError, once_each, option
from . import item_plots, plots
from .draw import GREY, altair, colour, dashes
from .figure import OF_PLOTS, RESAMPLED, SLICE, Figure, Measured, OfSeries

TOGETHER = 3
"""The most runs in one table, without the run that they are compared with."""
SHOWN = 10
"""The number of documents shown of a query, from the top."""
MISSED = 5
"""The number of relevant documents shown that were not retrieved."""
TOO_FEW = "too few"
"""The mark of a slice with too few queries."""


def shown(value: object) -> Cell:
    """The cell of a value of the user's table."""
    number = (
        value
        if isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
        else None
    )
    text = "" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)
    return Cell(text, number)


class RowOfRuns(NamedTuple):
    """A row of a table of runs: a metric or a slice, its summary per run, and the differences from
    the first run.
    """

    name: Cell
    means: Mapping[str, Record]
    differences: Mapping[str, Record]

    def mean(self, run: str) -> Cell:
        """A run's mean with its interval below."""
        return estimated(self.means[run], "mean") if run in self.means else Cell()

    def difference(self, run: str) -> Cell:
        """A run's difference with its interval below; bold if it is significant."""
        row = self.differences.get(run)
        return (
            Cell()
            if row is None
            else replace(estimated(row, "difference"), best=direction(row) != 0)
        )

    def queries(self, few: int) -> Cell:
        """The number of queries behind the means, a range where runs differ; below it a mark if
        they are too few.
        """
        n = sorted({row["n_queries"] for row in self.means.values()})
        text = f"{n[0]:,}" if len(n) == 1 else f"{n[0]:,} to {n[-1]:,}"
        return Cell(
            text,
            n[0],
            TOO_FEW * (n[0] < few and not any(map(direction, self.differences.values()))),
        )


def side_by_side(
    of: str, lines: Sequence[RowOfRuns], runs: Sequence[str], few: int = 0
) -> list[Grid]:
    """A row per metric or slice; a column per run, and one with its difference from the first run.

    Many runs make several tables, each with the first run; a single run has its standard deviation.
    """
    reference, *others = runs
    if not others:
        one = [
            (x.name, x.mean(reference), *numbers(x.means[reference], "std"), x.queries(few))
            for x in lines
        ]
        return [Grid((of,), ("mean", "std", "queries"), one)]
    found = []
    for start in range(0, len(others), TOGETHER):
        part = others[start : start + TOGETHER]
        figures = (reference, *(name for run in part for name in (run, "difference")), "queries")
        rows = [
            (
                x.name,
                x.mean(reference),
                *(y for run in part for y in (x.mean(run), x.difference(run))),
                x.queries(few),
            )
            for x in lines
        ]
        found.append(Grid((of,), figures, rows))
    return found


@dataclass(frozen=True)
class Query:
    """A query, its value of the metric, its number of relevant documents, and the table of its
    documents, or of its rows.
    """

    name: str
    value: float
    relevant: int | None
    documents: Grid


@dataclass(frozen=True)
class WithLabels:
    """A function of a part of a table, whose labels are all null if it has none and no metric reads
    them.
    """

    work: OfPart
    calls: Sequence[Call]

    def __call__(self, part: Table[Any]) -> pl.DataFrame:
        return self.work(replace(part, rows=with_labels(part.rows, part.setup, self.calls)))


@dataclass(frozen=True)
class LabelledParts:
    """The parts of a table, with labels."""

    parts: Parts
    calls: Sequence[Call]

    @property
    def ordered(self) -> bool:
        """Whether the rows of the table have an order."""
        return self.parts.ordered

    def each(self, work: OfPart) -> pl.DataFrame:
        """The results of the function of each part."""
        return self.parts.each(WithLabels(work, self.calls))

    def of_queries(self, queries: pl.DataFrame) -> Table[Any]:
        """The rows of the queries."""
        table = self.parts.of_queries(queries)
        return replace(table, rows=with_labels(table.rows, table.setup, self.calls))


def labelled(table: Table[Any], calls: Sequence[Call]) -> Table[pl.DataFrame]:
    """The table, with labels that are all null if it has none and no metric reads them; results are
    Polars frames.
    """
    parts = None if table.parts is None else LabelledParts(table.parts, calls)
    return Table(with_labels(table.rows, table.setup, calls), table.setup, parts=parts)


@dataclass(frozen=True)
class QueriesToFind:
    """The queries of a part, and whether one of their documents is relevant to a metric."""

    query: tuple[str, ...]
    call: Call

    def __call__(self, part: Table[Any]) -> pl.DataFrame:
        call, setup = self.call, part.setup
        least = setup.policies.relevant if call.relevant is None else call.relevant
        relevant = (
            (pl.col(setup.roles.label) >= max(least, 0)).any() if call.labels else pl.lit(True)
        )
        return part.rows.group_by(self.query).agg(relevant.alias(TO_FIND))


def worst_queries(
    table: Table[pl.DataFrame], runs: Runs, call: Call, most: int, show: Sequence[str]
) -> tuple[int, list[tuple[str, list[Query]]]]:
    """The queries with the worst values of each run, the worst first, and how many are left out as
    nothing is relevant.
    """
    setup, query = table.setup, runs.queries(table.setup).roles.query
    to_find = table.by_parts(QueriesToFind(query, call))
    found = values_of_runs(table, runs, [call])[1].drop_nulls(call.text)
    found = found.join(
        to_find.filter(TO_FIND), on=query, how="semi", nulls_equal=True, maintain_order="left"
    )
    worst_first = found.sort(call.text, descending=not call.higher_is_better, maintain_order=True)
    chosen = worst_first.filter(pl.int_range(pl.len()).over(RUN) < most)
    rows, worst = rows_of_queries(table, runs, [call], chosen.select(query).unique()), []
    for run in runs.named(found):
        own = chosen.filter(pl.col(RUN) == run)
        documents = _documents(rows, runs, run, call, own, show)
        policies = runs.queries(setup if runs.column else setup.changed(score=run))
        worst.append(
            (
                run,
                [_query(row, documents, policies, call, show) for row in own.iter_rows(named=True)],
            )
        )
    return len(to_find.filter(~pl.col(TO_FIND))), worst


def _documents(
    table: Table[Any], runs: Runs, run: str, call: Call, chosen: pl.DataFrame, show: Sequence[str]
) -> pl.DataFrame:
    """The documents of the chosen queries in a run, with the contribution of each if the metric is
    a sum over documents.
    """
    frame, setup, query = table.rows, table.setup, runs.queries(table.setup).roles.query
    if not has_rankings(frame, setup, runs):
        return runs.each(frame, setup, lambda _: frame, only=run).join(
            chosen, on=query, how="semi", nulls_equal=True
        )
    try:
        carry = [name for name in show if name not in query]
        rows = explained(frame, setup, runs, run, call, carry, table.whole)
    except InvalidOption:
        one_order = setup.changed(ties="doc_desc") if setup.policies.tie_rule.averages else setup
        ranked = runs.each(
            frame, one_order, lambda of_run: with_ranks(in_memory(frame, of_run)), only=run
        )
        rows = with_own_rank(ranked, ranked.columns[-1])
    return rows.join(chosen, on=query, how="semi", nulls_equal=True).sort("rank", nulls_last=True)


def _query(
    query: dict[str, Any], documents: pl.DataFrame, setup: Setup, call: Call, show: Sequence[str]
) -> Query:
    roles = setup.roles
    own = documents.filter(
        pl.all_horizontal(pl.col(name).eq_missing(pl.lit(query[name])) for name in roles.query)
    )
    name = ", ".join(shown(query[name]).text for name in roles.query)
    if roles.score not in own.columns:  # a query is a row
        return Query(
            name,
            query[call.text],
            None,
            Grid(tuple(show), (), [tuple(map(shown, x)) for x in own.select(show).rows()]),
        )
    relevant = own.filter(pl.col(roles.label) >= setup.policies.relevant)
    ranked, missed = own.drop_nulls("rank"), relevant.filter(pl.col("rank").is_null())
    doc, numbers = roles.doc_in(own.columns), (roles.score, roles.label, call.text)
    names = dict.fromkeys(("rank", *([] if doc is None else [doc]), *show, *numbers))
    figures = [name for name in names if name in numbers and name in own.columns and name != "rank"]
    words = [name for name in names if name in own.columns and name not in figures]
    there = (*ranked.head(SHOWN).to_dicts(), *missed.head(MISSED).to_dicts())
    rows = [tuple(shown(row[name]) for name in (*words, *figures)) for row in there]
    notes = []
    if len(ranked) > SHOWN:
        notes.append(f"The first {SHOWN} of {len(ranked):,} documents.")
    if len(missed):
        some = f"; {MISSED} of them are shown" if len(missed) > MISSED else ""
        notes.append(
            f"{len(missed):,} of {len(relevant):,} relevant documents not retrieved{some}."
        )
    table = Grid(tuple(words), tuple(figures), rows, notes)
    return Query(name, query[call.text], len(relevant), table)


def has_rankings(frame: pl.DataFrame, setup: Setup, runs: Runs) -> bool:
    """Whether a table has documents to rank, and not only values of queries."""
    return bool(runs.scores) or setup.roles.score in frame.columns


def of_settings(settings: Mapping[str, object]) -> list[tuple[str, list[tuple[str, str]]]]:
    """Groups of settings and their values, without unset ones."""
    groups: dict[str, list[tuple[str, str]]] = {}
    for name, value in plain(settings).items():
        inner = value if isinstance(value, dict) else {name: value}
        group = groups.setdefault(name if isinstance(value, dict) else "report", [])
        group += [
            (key, _written(item)) for key, item in inner.items() if item is not None and item != []
        ]
    return [(name, rows) for name, rows in groups.items() if rows]


def _written(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(_written, value))
    if isinstance(value, dict):
        return ", ".join(
            f"{name}: {_written(item)}" for name, item in value.items() if item is not None
        )
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


ENDINGS = (".html", ".htm")
"""The endings of report files."""
SENTENCES = 10
"""The most comparisons that have a sentence each at the top; more are counted."""
TO_FIND = "#to_find"
"""The column of whether a query has a relevant document."""
COVERED = (1, 2, 5, 10, 20)
"""The cutoffs of the plot of coverage: few, because each counts the lists again."""
WIDE = (
    "valid for any number of queries, so that those of few are wide and may contain 0 where a "
    "test finds a difference"
)
"""The words on bounded intervals in a caption."""
RANKS = 10
"""The number of ranks whose documents are compared and whose contributions are drawn."""


@verb(gives="whole", among=METRICS, by_parts=True, checks=True)
def report(
    table: Table[Any],
    path: Annotated[str | Path, ReadInside],
    *metrics: Request,
    by: ColumnNames | None = None,
    runs: TheRuns | None = None,
    run: Column | None = None,
    baseline: Column | None = None,
    worst: Annotated[int, Range(least=0, most=10**9)] = 5,
    show: ColumnNames = (),
    title: str = "Ranking report",
    gate: Verdict[object] | None = None,
    fusion: FusionMethod | None = None,
    interval: Bound = "bounded",
    resamples: Resamples = 10_000,
    seed: Seed = 0,
    progress: bool = True,
) -> Path:
    """Write one self-contained HTML file: how good the ranking is, and all settings that its
    numbers depend on.

    Parameters
    ----------
    path
        Where to write it, a file that ends in ``.html`` or ``.htm``.
    *metrics
        Texts, as for :meth:`summarize`; the first is shown in plots and worst queries.
    by
        The columns whose values slice the queries; each column gets its own section.
    runs, run
        The runs to compare, as for :meth:`compare`: score columns of the same rows, a table for
        each run, or the column that names the run of each row; default: the ranker's score only.
    baseline
        As for :meth:`compare`.
    worst
        The number of worst queries to show with their documents, per run.
    show
        Further columns to show beside these documents, such as titles.
    title
        The report's title.
    gate
        The verdict to show, of :meth:`gate` on the same table: ``gate=df.rank.gate({"ndcg@10":
        0.01}, runs=...)``.
    fusion
        A method of fusion of the runs, as for :meth:`fuse`, also a trained one: its section shows
        the fused run beside the runs, the gain of the best run of each query, and the documents
        that the runs have in common.
    interval
        The one kind of all intervals of means, in tables and plots, as for :meth:`summarize`;
        ``"bounded"`` holds for any number of queries, so that it suits the smallest slice.
        Differences of runs have the intervals of :meth:`compare`.
    resamples
        The number of resamples for intervals and tests; a thousand is enough for hundreds of
        thousands of queries.
    seed, progress
        As for :meth:`summarize`.

    Returns
    -------
    The path. The file begins with a sentence for each comparison, a summary of more than ten, and
    the ranking of more than eight runs; the verdict of the gate; the means of the runs with their
    differences, in bold where the corrected p-value is below 0.05; whether runs differ in depth or
    in judgments; and the findings of :meth:`check`. Sections follow: one per column of slices, the
    largest first, with a mark on those of too few queries for a significant difference; the tests;
    the fusion; plots; the worst queries that have a relevant document, with the contribution of
    each document; and the settings: policies, versions, seeds, numbers of rows. The file follows
    the reader's choice of light or dark mode, and loads no other file.

    Raises
    ------
    MissingExtra
        If Altair, vl-convert or Jinja is not installed.
    InvalidOption
        If `path` is not a path of such a file, `title` not a text, `gate` not a verdict, or `worst`
        not a whole number from 0 on, and if there is a `baseline` or a `fusion` without runs.

    Examples
    --------
    >>> import polars as pl, rankframe as rf, tempfile
    >>> df = pl.DataFrame({"query_id": [1, 2, 3], "score": [1, 1, 1], "label": [1, 0, 2]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = df.rank.report(f"{folder}/report.html", "rr").read_text(encoding="utf-8")
    >>> "3 rows, 3 queries, 3 judgments" in page
    True
    """
    if not isinstance(path, (str, os.PathLike)) or "\0" in os.fspath(path) or not os.fspath(path):
        raise InvalidOption(
            f"path={path!r}: write the name of the file to make, as report('report.html', "
            "'ndcg@10')"
        )
    if Path(path).suffix.lower() not in ENDINGS:
        ends = " or ".join(ENDINGS)
        example = "report('report.html', 'ndcg@10')"
        raise InvalidOption(
            f"path={str(path)!r} does not end in {ends}; write it first, as {example}"
        )
    chosen, slices, columns = Runs.of(runs, run), names_of(by), names_of(show)
    jinja = load("jinja2", "report")
    if not (folder := Path(path).parent).is_dir():  # found out before the work, not after it
        made = f"Path({str(folder)!r}).mkdir(parents=True)"
        raise FileNotFoundError(
            f"there is no folder {str(folder)!r} for the report; make it, as with {made}"
        )
    for name in columns:
        require(table.rows.schema, name, "show")
    calls = averaged(metrics, "report('report.html', 'ndcg@10', 'map')")
    resampling = Resampling(0.95, interval, resamples, seed, progress)
    found = ReportPage(labelled(table, calls), calls, chosen, baseline, resampling)
    with once_each():  # sections compare the same runs
        page = copy_context().run(found.page, slices, int(worst), columns, gate, fusion)
    target = Path(path)
    write_whole(target, _rendered(jinja, {"title": title, "gate": gate, **page}).encode())
    return target


@dataclass(frozen=True)
class Picture:
    """A plot: title, subtitle, name, colour and dashes of each series, and the drawing; without one
    the subtitle tells why.
    """

    title: str
    subtitle: str
    legend: tuple[tuple[str, str, str], ...] = ()
    svg: str = ""


@dataclass(frozen=True)
class Section:
    """Tables under a heading of their own or none, with plots beside them."""

    heading: str
    tables: Sequence[Grid]
    pictures: Sequence[Picture] = ()


@dataclass(frozen=True)
class ReportPage:
    """A table and its report: all parts of the page.

    Attributes
    ----------
    table
        The rows in memory, and the setup of the ranker.
    calls
        The metrics, each a `Call`; the first is shown in plots and worst queries.
    runs
        The runs of the table.
    baseline
        The run that the others are compared with; ``None`` compares all pairs.
    resampling
        The intervals and the draws.
    """

    table: Table[pl.DataFrame]
    calls: Sequence[Any]
    runs: Runs
    baseline: str | None
    resampling: Resampling

    def page(
        self,
        slices: Sequence[str],
        worst: int,
        show: Sequence[str],
        gate: Verdict[object] | None,
        fusion: FusionMethod | None,
    ) -> dict[str, object]:
        """What the template shows."""
        few = min(self.resampling.resamples, OF_PLOTS.resamples)  # a page would take twice as long
        RESAMPLED.set(replace(self.resampling, resamples=few, progress=False))
        means, pairs = self.means(self.calls, **self.draws), self.compared(self.baseline)
        names = sorted(self.runs.named(means), key=lambda run: self.baseline not in (run, None))
        settings = self.settings(slices, fusion, comparison=pairs, gate=gate)
        answers, ranking, comparison = ([], [], None) if pairs is None else self.comparison(pairs)
        kind = self.resampling.interval
        kinds = f"{INTERVALS[kind]} ({WIDE})" if kind == "bounded" else INTERVALS[kind]
        brackets = (
            f"Brackets, bars and bands: 95% intervals, of means all {kinds}{of_differences(pairs)}."
        )
        return {
            "size": self.size(),
            "answers": answers,
            "summary": Section("", [*ranking, *self.overall(means, pairs, names)]),
            "captions": [
                brackets + bold_of(pairs),
                *([] if pairs is None else unequal(pairs.settings)),
            ],
            "check": self.findings()
            if self.ranked
            else ("The table has values of queries, and no rankings to check.", Grid((), (), [])),
            "ranked": self.ranked,
            "show": show,
            "slices": {name: self.by_slice(names, name) for name in slices},
            "comparison": comparison,
            "fusion": None if fusion is None else self.fusion(fusion),
            "pictures": self.pictures(),
            "worst": worst_queries(self.table, self.runs, self.calls[0], worst, show),
            "metric": in_words(self.calls[0].text),
            "higher_is_better": self.calls[0].higher_is_better,
            "settings": of_settings(settings),
            "raw": json.dumps(plain(settings), indent=2, ensure_ascii=False),
        }

    @property
    def ranked(self) -> bool:
        """Whether the table has documents to rank, and not only values of queries."""
        return has_rankings(self.table.rows, self.table.setup, self.runs)

    @property
    def named(self) -> dict[str, Any]:
        """The runs as options of verbs and plots."""
        return {"runs": self.runs.scores or None, "run": self.runs.column}

    @property
    def draws(self) -> dict[str, Any]:
        """The intervals and draws as options of verbs."""
        return {
            name: getattr(self.resampling, name)
            for name in ("interval", "resamples", "seed", "progress")
        }

    def means(self, calls: Sequence[Any], by: tuple[str, ...] = (), **options: Any) -> pl.DataFrame:
        """The summary of every run."""
        summary, per_query = values_of_runs(
            self.table, self.runs, calls, by, ci=self.resampling.ci, **options
        )
        found = summary.table(per_query)
        if not self.runs.columns:
            return found.select(pl.lit(self.table.setup.roles.score).alias(RUN), pl.all())
        name = self.runs.column or RUN_OF_TABLE
        return found.select(pl.col(name).cast(pl.String).alias(RUN), pl.exclude(name))

    def compared(
        self, baseline: str | None, by: tuple[str, ...] = ()
    ) -> Comparison[pl.DataFrame] | None:
        """The comparison of the runs, if there are several."""
        if not self.runs.columns and self.baseline is None:
            return None
        draws = {**self.draws, "interval": "auto"}  # the figures of compare
        return compare(self.table, *self.calls, **self.named, baseline=baseline, by=by, **draws)

    def overall(
        self, means: pl.DataFrame, pairs: Comparison[pl.DataFrame] | None, runs: Sequence[str]
    ) -> list[Grid]:
        """The means of all queries, and the differences from the first run."""
        of_means = _by_run(means, RUN, "metric")
        of_pairs = (
            {} if pairs is None else _by_run(pairs.table.filter(baseline=runs[0]), "run", "metric")
        )
        lines = [
            RowOfRuns(Cell(in_words(x.text)), of_means[x.text,], of_pairs.get((x.text,), {}))
            for x in self.calls
        ]
        return side_by_side("metric", lines, runs)

    def by_slice(self, runs: Sequence[str], by: str) -> tuple[str, list[Section]]:
        """The means of each slice and the differences from the first run, the largest slices first;
        and the caption.
        """
        name = pl.col(by).cast(pl.String).fill_null("null").alias(SLICE)
        means = self.means(self.calls, (by,), **self.draws).with_columns(name)
        pairs = self.compared(runs[0], (by,))
        of_means = _by_run(means, RUN, "metric", SLICE)
        of_pairs = (
            {} if pairs is None else _by_run(pairs.table.with_columns(name), "run", "metric", SLICE)
        )
        sizes = (
            means.filter(metric=self.calls[0].text)
            .group_by(SLICE, by)
            .agg(pl.col("n_queries").max())
        )
        sizes = sizes.sort("n_queries", by, descending=[True, False], nulls_last=True)
        rows = {
            text: shown("null" if value is None else value)
            for text, value in sizes.select(SLICE, by).iter_rows()
        }
        tests = 1 if pairs is None else max(len(pairs.table), 1)
        few = 2 + math.floor(
            math.log2(tests / ALPHA)
        )  # n queries have a p-value of 2 / 2**n at least
        parts: list[Section] = []
        for call in self.calls:
            lines = [
                RowOfRuns(x, of_means[call.text, at], of_pairs.get((call.text, at), {}))
                for at, x in rows.items()
            ]
            parts.append(
                Section(
                    in_words(call.text) * (len(self.calls) > 1), side_by_side(by, lines, runs, few)
                )
            )
        measured = Measured(self.table, self.runs, self.calls[:1], by, self.resampling)
        drawn = [picture("slices", plots.of_slices, measured, by, [*rows])]
        parts[0] = replace(parts[0], pictures=drawn)
        mark = (
            f"“{TOO_FEW}”: of fewer than {few} queries, even gains on all of them are not "
            "significant."
        )
        marked = any(row[-1].below for part in parts for table in part.tables for row in table.rows)
        return (
            f"The slices with most queries come first.{f' {mark}' * marked}{bold_of(pairs)}",
            parts,
        )

    def comparison(self, pairs: Comparison[pl.DataFrame]) -> tuple[list[str], list[Grid], Section]:
        """The sentences, the ranking of many runs; the tests of all pairs, beside the differences
        of the queries.
        """
        rows, settings = records(pairs.table), pairs.settings
        answers = pairs.sentences(IN_HTML)
        if len(rows) <= SENTENCES:
            tied = tied_for_top(records(pairs.ranks), settings, IN_HTML)
            answers = [*tied, *(sentence(row, settings, len(rows), IN_HTML) for row in rows)]
        *ranking, tests = (
            block for block in pairs.shown("markdown", None) if isinstance(block, Grid)
        )
        caption = unequal(settings)  # the summary has it
        tests = replace(tests, notes=[note for note in tests.notes if note not in caption])
        drawn = self.picture(plots.differences, self.calls[0], baseline=self.baseline)
        return answers, ranking, Section("", [on_page(tests)], [drawn])

    def fusion(self, method: FusionMethod) -> dict[str, object]:
        """The fused run beside the runs, the gain of an oracle, and the overlap of the runs."""
        if not self.runs.columns:
            runs = option(runs=["bm25", "dense"])
            raise InvalidOption(option(fusion=text_of(method)), " fuses runs; name them, as ", runs)
        best = call_of_verb(oracle, *self.calls, **self.named, fusion=method, **self.draws).on(
            self.table
        )
        common = call_of_verb(overlap, **self.named, k=RANKS).on(self.table)
        drawn = [
            self.picture(plots.contributions, method, k=RANKS),
            self.picture(plots.overlap, k=RANKS),
        ]
        part = Section(
            "", [on_page(grid) for grid in (*best.grids(None), *common.grids(None))], drawn
        )
        lines = [*best.sentences(IN_HTML), *common.sentences(IN_HTML)]
        return {"method": text_of(method), "lines": lines, "part": part}

    def picture(self, plot: Callable[..., Figure], *args: object, **options: object) -> Picture:
        """A plot of the runs."""
        return picture(plot.__name__, plot, self.table, *args, **options, **self.named)

    def pictures(self) -> list[Picture]:
        """The plots of the whole table; those of the items that all users are shown, if the roles
        for them are given.
        """
        runs, first, context = self.runs, self.calls[0], self.table.setup.background
        if not self.ranked:
            return [self.picture(plots.distribution, first)]
        k = first.arguments.get("k")
        curves = list(
            dict.fromkeys(
                _without_cutoff(call) for call in self.calls if "k" in call.metric.parameters
            )
        )
        drawn = (
            [self.picture(plots.curve, *(curves[:1] if runs.columns else curves))] if curves else []
        )
        drawn.append(self.picture(plots.precision_recall))
        drawn.append(self.picture(plots.distribution, first))
        if not runs.columns:
            drawn.append(picture("judged", plots.judged, self.table, first))
        if context.items is not None:
            cutoffs = [x for x in COVERED if x <= plots.deepest(self.table, runs)]
            drawn.append(self.picture(item_plots.exposure, k))
            drawn.append(self.picture(item_plots.catalog, "coverage", cutoffs=cutoffs))
        if context.interactions is not None:
            drawn.append(self.picture(item_plots.long_tail, k))
            if runs.columns and first.metric.name != "novelty":
                novelty = "novelty" if k is None else f"novelty@{k}"
                drawn.append(self.picture(item_plots.trade_off, novelty, first.text))
        return drawn

    def findings(self) -> tuple[str, Grid]:
        """What the check found, in a sentence; and a row per kind, errors first, with its runs
        unless all runs have it.
        """
        setup, query = self.table.setup, self.runs.queries(self.table.setup).roles.query
        scores, key = self.runs.scores or [setup.roles.score], (*self.runs.key, *query)
        setups = [setup.changed(score=score, query=key) for score in scores]
        parts = (findings_of_table(self.table, of) for of in setups)
        named = [
            part.with_columns(pl.lit(of.roles.score).alias(RUN))
            for of, part in zip(setups, parts, strict=True)
        ]
        rows = pl.concat(named, how="diagonal").sort(
            "severity", maintain_order=True
        )  # errors first
        places = pl.struct(map(carried, query)).filter(pl.col(carried(query[-1])).is_not_null())
        some = pl.col("advice", RUN).unique(maintain_order=True), places.n_unique().alias("queries")
        facts = []
        for problem, advice, runs, n in (
            rows.group_by("problem", maintain_order=True).agg(*some).iter_rows()
        ):
            fact, counted, _ = advice[0].partition(";")[0].partition(", the first of which")
            if len(advice) > 1:
                fact = f"{problem} in {len(runs)} runs"
            elif n and not counted:
                fact = f"{problem} in {queries(n)}"
            facts.append(fact + f" (run {', '.join(runs)})" * (len(runs) < len(setups)))
        of_some = (
            pl.when(pl.len() < len(setups))
            .then(pl.col(RUN).str.join(", "))
            .alias(carried("in run"))
        )
        found = Findings.of(rows.group_by(pl.exclude(RUN), maintain_order=True).agg(of_some))
        what = f"{found.sentences()[0]}: {'; '.join(facts)}" if facts else "nothing"
        return f"The check of the table found {what}.", found.grids()[0]

    def settings(
        self, by: Sequence[str], fusion: FusionMethod | None, **of: Result[Any] | None
    ) -> dict[str, object]:
        """All settings that the numbers depend on, with those of results that differ."""
        rows, setup = self.table.rows, self.table.setup
        intervals = {
            name: value for name, value in asdict(self.resampling).items() if name != "progress"
        }
        settings: dict[str, object] = {
            "table": {"rows": self.sizes["rows"], "queries": self.sizes["queries"]},
            "metrics": [call.text for call in self.calls],
            "runs": list(self.runs.scores) or self.runs.column or setup.roles.score,
            "policies": setup.followed(rows.columns),
            "intervals": intervals,
            "slices": by,
            **({} if fusion is None else {"fusion": text_of(fusion)}),
            "versions": versions(),
            "written": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        }
        known = {**settings, **intervals, "progress": self.resampling.progress}
        for name, result in of.items():  # a gate may have been made with other policies
            if result is not None:
                settings[name] = {
                    key: x for key, x in result.settings.items() if known.get(key, ...) != x
                }
        return settings

    def size(self) -> str:
        """The numbers of rows, queries and judgments, each counted once for all runs."""
        found = f"{self.sizes['rows']:,} rows, {self.sizes['queries']:,} queries"
        return f"{found}, {self.sizes['judgments']:,} judgments" if self.ranked else found

    @cached_property
    def sizes(self) -> dict[str, int]:
        """The numbers of rows, queries and judgments."""
        return self.table.by_parts(SizesOfPart(self.table.setup.roles)).sum().row(0, named=True)


@dataclass(frozen=True)
class SizesOfPart:
    """The numbers of rows, queries and judgments in a part of a table."""

    roles: Roles

    def __call__(self, part: Table[Any]) -> pl.DataFrame:
        rows, query = part.rows, self.roles.query
        judged, doc = (
            rows.filter(pl.col(self.roles.label).is_not_null()),
            self.roles.doc_in(rows.columns),
        )
        judgments = judged.height if doc is None else judged.select(*query, doc).n_unique()
        return pl.DataFrame(
            {"rows": rows.height, "queries": rows.select(query).n_unique(), "judgments": judgments}
        )


def values_of_runs(
    table: Table[Any], runs: Runs, calls: Sequence[Call], by: tuple[str, ...] = (), **options: Any
) -> tuple[Summary, pl.DataFrame]:
    """The summary of every run, and the values of its queries, a row per run and query in the order
    of the table.
    """
    summary = Summary.of(table.setup, None, *calls, runs=runs, by=by, **options)
    per_query = table.by_parts(OfSeries(summary))
    return summary, in_order(per_query, table, runs)


def without_kind(text: str) -> str:
    """A text of a page without the kind of its intervals, which the page names once."""
    kind = INTERVALS[RESAMPLED.get().interval]
    return text.replace(f" Interval: {kind}.", "").replace(f" intervals ({kind})", " intervals")


def on_page(grid: Grid) -> Grid:
    """A result's table with narrow columns, as a phone shows whole intervals below the figures."""
    narrow = tuple(name.partition(" [")[0] for name in grid.figures)
    return replace(grid, figures=narrow, notes=[*map(without_kind, grid.notes)])


def of_differences(pairs: Comparison[pl.DataFrame] | None) -> str:
    """The part of a caption on the intervals of differences, which agree with their p-values."""
    if pairs is None or pairs.table.is_empty():
        return ""
    return f"; of differences {intervals_of(pairs.table['interval'])}, which agree with p"


def bold_of(pairs: Comparison[pl.DataFrame] | None) -> str:
    """The part of a caption on bold differences."""
    if pairs is None or pairs.table.is_empty():
        return ""
    rows, settings = records(pairs.table), pairs.settings
    bold = f"p < {ALPHA:g} by {test_of(rows, settings)}.{uncorrected(settings, len(rows))}"
    return f" Differences: from {rows[0]['baseline']}; bold: {bold}"


def picture(name: str, make: Callable[..., Figure], *args: object, **options: object) -> Picture:
    """A plot as SVG, with text in the page's colour; or the reason for its absence."""
    try:
        figure = make(*args, **options)
    except MissingExtra:
        raise
    except RankframeError as error:
        return Picture(f"No plot of {name.replace('_', ' ')}", str(error))
    # validation takes half of a report's time; tests do it
    chart = altair(replace(figure, legend=False)).to_dict(validate=False)
    del chart["title"]  # the page has it
    svg = load("vl_convert", "plot").vegalite_to_svg(chart)
    svg = re.sub(r"<\?xml.*?\?>|<!DOCTYPE.*?>", "", svg, flags=re.DOTALL)
    svg = svg.replace(
        f'="{GREY}"', '="currentColor"'
    )  # only attributes: a run's name may contain the colour
    lines = figure.series if figure.legend and len(figure.series) > 1 else ()
    legend = tuple(
        (name, colour(figure, name), " ".join(map(str, dashes(figure, name)))) for name in lines
    )
    return Picture(figure.title, without_kind(figure.subtitle), legend, svg)


def _by_run(rows: pl.DataFrame, run: str, *key: str) -> dict[tuple[object, ...], dict[str, Record]]:
    """The rows that agree in the key, by their run."""
    found: dict[tuple[object, ...], dict[str, Record]] = {}
    for row in rows.iter_rows(named=True):
        found.setdefault(tuple(row[name] for name in key), {})[row[run]] = row
    return found


def _without_cutoff(call: Call) -> str:
    return replace(
        call, options=tuple((name, value) for name, value in call.options if name != "k")
    ).text


def _rendered(jinja: ModuleType, page: dict[str, object]) -> str:
    """Render the page from its template, which escapes all text."""
    page_of = files("rankframe").joinpath("_pictures", "page")
    html, style, script = (
        page_of.joinpath(f"report.{kind}").read_text("utf-8") for kind in ("html", "css", "js")
    )
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    blocks = {"trim_blocks": True, "lstrip_blocks": True, "undefined": jinja.StrictUndefined}
    environment = jinja.Environment(autoescape=True, finalize=_legible, **blocks)
    return str(
        environment.from_string(html).render(page, style=style, script=script, digest=digest)
    )


def _legible(value: object) -> object:
    """A text with an escape for each control character but line breaks; anything else as it is."""
    return "\n".join(map(visible, value.split("\n"))) if type(value) is str else value
