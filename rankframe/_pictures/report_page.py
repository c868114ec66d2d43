"""The report: one HTML file with the quality of a ranking and the settings of its numbers."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import os
import re
from collections import defaultdict
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
from .._table.setup import Roles
from .._table.table import Table
from .._verbs.audit.overlap import oracle, overlap
from .._verbs.call.declaration import call_of_verb, verb
from .._verbs.decide.compare import Comparison, compare
from .._verbs.decide.gate import Verdict
from .._verbs.decide.ranks import tied_for_top
from .._verbs.fuse.fitted import FusionMethod, text_of
from .._verbs.measure.judge import Findings
from .._verbs.sample.resampling import Resampling
from .._verbs.sample.unequal_runs import unequal
from ..errors import InvalidOption, MissingExtra, RankframeError, once_each, option
from . import item_plots, plots
from .draw import GREY, altair, colour, dashes
from .explored_queries import ExploredQueries
from .figure import OF_PLOTS, RESAMPLED, SLICE, Figure, Measured
from .worst_queries import WorstQueries, has_rankings, labelled, shown, values_of_runs

TOGETHER = 3
"""The most runs in one table, without the run that they are compared with."""
TOO_FEW = "too few"
"""The mark of a slice with too few queries."""


class RowOfRuns(NamedTuple):
    """A row of a table of runs.

    It has a metric or a slice, its summary per run, and the differences from the first run.
    """

    name: Cell
    means: Mapping[str, Record]
    differences: Mapping[str, Record]

    def mean(self, run: str) -> Cell:
        """A run's mean with its interval below."""
        if run not in self.means:
            return Cell()
        return estimated(self.means[run], "mean")

    def difference(self, run: str) -> Cell:
        """A run's difference with its interval below; bold if it is significant."""
        if run not in self.differences:
            return Cell()
        row = self.differences[run]
        cell = estimated(row, "difference")
        return replace(cell, best=direction(row) != 0)

    def queries(self, few: int) -> Cell:
        """The number of queries behind the means, a range where runs differ.

        Below it stands a mark if they are too few.
        """
        counts = sorted({row["n_queries"] for row in self.means.values()})
        fewest = counts[0]
        most = counts[-1]
        text = f"{fewest:,}" if fewest == most else f"{fewest:,} to {most:,}"
        is_significant = any(map(direction, self.differences.values()))
        mark = TOO_FEW if fewest < few and not is_significant else ""
        return Cell(text, fewest, mark)


def side_by_side(
    what: str, lines: Sequence[RowOfRuns], runs: Sequence[str], few: int = 0
) -> list[Grid]:
    """A row per metric or slice; a column per run, and one with its difference from the first run.

    Many runs make several tables, each with the first run; a single run has its standard deviation.
    """
    reference, *others = runs
    if not others:
        return [_of_one_run(what, lines, reference, few)]
    grids = []
    for start in range(0, len(others), TOGETHER):
        together = others[start : start + TOGETHER]
        grids.append(_of_runs(what, lines, reference, together, few))
    return grids


def _of_one_run(what: str, lines: Sequence[RowOfRuns], run: str, few: int) -> Grid:
    rows = []
    for line in lines:
        deviation = numbers(line.means[run], "std")
        rows.append((line.name, line.mean(run), *deviation, line.queries(few)))
    return Grid((what,), ("mean", "std", "queries"), rows)


def _of_runs(
    what: str, lines: Sequence[RowOfRuns], reference: str, others: Sequence[str], few: int
) -> Grid:
    figures = [reference]
    for run in others:
        figures += [run, "difference"]
    rows = []
    for line in lines:
        cells = [line.name, line.mean(reference)]
        for run in others:
            cells += [line.mean(run), line.difference(run)]
        rows.append((*cells, line.queries(few)))
    return Grid((what,), (*figures, "queries"), rows)


def of_settings(settings: Mapping[str, object]) -> list[tuple[str, list[tuple[str, str]]]]:
    """Groups of settings and their values, without unset ones."""
    groups: dict[str, list[tuple[str, str]]] = {}
    for name, value in plain(settings).items():
        is_group = isinstance(value, dict)
        items = value if is_group else {name: value}
        rows = groups.setdefault(name if is_group else "report", [])
        given = {key: x for key, x in items.items() if x is not None and x != []}
        rows += [(key, _written(x)) for key, x in given.items()]
    return [(name, rows) for name, rows in groups.items() if rows]


def _written(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(_written, value))
    if isinstance(value, dict):
        given = {name: item for name, item in value.items() if item is not None}
        return ", ".join(f"{name}: {_written(item)}" for name, item in given.items())
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return f"{value:,}" if is_number else str(value)


ENDINGS = (".html", ".htm")
"""The endings of report files."""
SENTENCES = 10
"""The most comparisons that have a sentence each at the top; more are counted."""
COVERED = (1, 2, 5, 10, 20)
"""The cutoffs of the plot of coverage: few, because each counts the lists again."""
WIDE = (
    "valid for any number of queries, so that those of few are wide and may contain 0 where a "
    "test finds a difference"
)
"""The words on bounded intervals in a caption."""
PIECE = re.compile(r"(\([^()]{1,16}\)|(?<![^\s-])\S{1,13}(?:-|(?!\S)))")
"""A short word, or a short text in brackets such as the range of labels."""
PLACES = re.compile(r' (?:d|transform|x2?|y2?|width|height)="[^"]*"')
"""The attributes of a drawing that say where its marks stand."""
LONG_NUMBER = re.compile(r"-?\d+\.\d{3,}(?:e-\d+)?")
"""A number of more decimals than a drawing shows."""
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
    the queries, where a click shows the rankings of one side by side; the fusion; plots; the worst
    queries that have a relevant document, with the contribution of each document; and the settings:
    policies, versions, seeds, numbers of rows. The file follows the reader's choice of light or
    dark mode, and loads no other file.

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
    refuse_no_page(path)
    target = Path(path)
    columns = names_of(show)
    chosen = Runs.of(runs, run)
    slices = names_of(by)
    jinja = load("jinja2", "report")
    refuse_no_folder(target.parent)
    for name in columns:
        require(table.rows.schema, name, "show")
    calls = averaged(metrics, "report('report.html', 'ndcg@10', 'map')")
    resampling = Resampling(0.95, interval, resamples, seed, progress)
    rows = labelled(table, calls)
    page = ReportPage(rows, calls, chosen, baseline, resampling)
    with once_each():  # sections compare the same runs
        shown_there = copy_context().run(page.page, slices, int(worst), columns, gate, fusion)
    shown_there |= {"title": title, "gate": gate}
    html = _rendered(jinja, shown_there)
    write_whole(target, html.encode())
    return target


def refuse_no_page(path: object) -> None:
    """Refuse what is no name of an HTML file."""
    name = os.fspath(path) if isinstance(path, (str, os.PathLike)) else ""
    example = "as report('report.html', 'ndcg@10')"
    if not name or "\0" in name:
        raise InvalidOption(f"path={path!r}: write the name of the file to make, {example}")
    if Path(name).suffix.lower() not in ENDINGS:
        ends = " or ".join(ENDINGS)
        raise InvalidOption(f"path={str(path)!r} does not end in {ends}; write it first, {example}")


def refuse_no_folder(folder: Path) -> None:
    """Refuse a missing folder before the work, not after it."""
    if not folder.is_dir():
        made = f"Path({str(folder)!r}).mkdir(parents=True)"
        raise FileNotFoundError(
            f"there is no folder {str(folder)!r} for the report; make it, as with {made}"
        )


@dataclass(frozen=True)
class Picture:
    """A plot as a page shows it; without a drawing the subtitle tells why.

    Its legend has the name, the colour and the dashes of each series.
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
        # with all resamples in its plots, a page would take twice as long
        resamples = min(self.resampling.resamples, OF_PLOTS.resamples)
        RESAMPLED.set(replace(self.resampling, resamples=resamples, progress=False))
        means = self.means(self.calls, **self.draws)
        pairs = self.compared(self.baseline)
        names = sorted(self.runs.named(means), key=lambda run: self.baseline not in (run, None))
        settings = self.settings(slices, fusion, comparison=pairs, gate=gate)
        page = self.summary(means, pairs, names)
        page["check"] = self.findings()
        page["slices"] = {name: self.by_slice(names, name) for name in slices}
        page["fusion"] = None if fusion is None else self.fusion(fusion)
        page["pictures"] = self.pictures()
        summary, values = values_of_runs(self.table, self.runs, [self.first], tuple(slices))
        of_runs = WorstQueries(self.table, self.runs, self.first, values, show)
        page["worst"] = of_runs.worst(worst)
        of_slices = {key: name for key, name in summary.slices.items() if name in slices}
        explored = ExploredQueries(
            self.table, self.runs, names, self.first, values, of_slices, show
        )
        page["explored"] = explored.for_script()
        page["settings"] = of_settings(settings)
        in_json = plain(settings)
        page["raw"] = json.dumps(in_json, indent=2, ensure_ascii=False)
        return page | {"show": show, "ranked": self.ranked, **self.metric()}

    @property
    def first(self) -> Any:
        """The metric of plots and worst queries."""
        return self.calls[0]

    def metric(self) -> dict[str, object]:
        """The name of the first metric, and whether its higher values are better."""
        call = self.first
        return {"metric": in_words(call.text), "higher_is_better": call.higher_is_better}

    def summary(
        self, means: pl.DataFrame, pairs: Comparison[pl.DataFrame] | None, runs: Sequence[str]
    ) -> dict[str, object]:
        """The answers, the means of the runs with their captions, and the section of the tests."""
        shown_there: dict[str, object] = {"size": self.size(), "answers": [], "comparison": None}
        shown_there["differences"] = None
        tables = self.overall(means, pairs, runs)
        captions = [f"{self.brackets(pairs)}{bold_of(pairs)}"]
        if pairs is not None:
            answers, ranking, tests = self.comparison(pairs)
            shown_there |= {"answers": answers, "comparison": Section("", [tests])}
            differences = self.picture(plots.differences, self.first, baseline=self.baseline)
            shown_there["differences"] = differences
            tables = [*ranking, *tables]
            captions += unequal(pairs.settings)
        return shown_there | {"summary": Section("", tables), "captions": captions}

    def brackets(self, pairs: Comparison[pl.DataFrame] | None) -> str:
        """The part of a caption on the intervals."""
        kind = self.resampling.interval
        kinds = f"{INTERVALS[kind]} ({WIDE})" if kind == "bounded" else INTERVALS[kind]
        intervals = f"95% intervals, of means all {kinds}{of_differences(pairs)}"
        return f"Brackets, bars and bands: {intervals}."

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
        names = ("interval", "resamples", "seed", "progress")
        return {name: getattr(self.resampling, name) for name in names}

    def means(self, calls: Sequence[Any], by: tuple[str, ...] = (), **options: Any) -> pl.DataFrame:
        """The summary of every run."""
        ci = self.resampling.ci
        summary, per_query = values_of_runs(self.table, self.runs, calls, by, ci=ci, **options)
        means = summary.table(per_query)
        if not self.runs.columns:
            run = pl.lit(self.table.setup.roles.score)
            return means.select(run.alias(RUN), pl.all())
        name = self.runs.column or RUN_OF_TABLE
        run = pl.col(name).cast(pl.String)
        return means.select(run.alias(RUN), pl.exclude(name))

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
        against_first = None if pairs is None else pairs.table.filter(baseline=runs[0])
        of_pairs = _by_run(against_first, "run", "metric")
        lines = []
        for call in self.calls:
            name = Cell(in_words(call.text))
            lines.append(RowOfRuns(name, of_means[call.text,], of_pairs[call.text,]))
        return side_by_side("metric", lines, runs)

    def by_slice(self, runs: Sequence[str], by: str) -> tuple[str, list[Section]]:
        """The means of each slice and the differences from the first run, the largest slices first.

        The caption comes before them.
        """
        name = pl.col(by).cast(pl.String).fill_null("null").alias(SLICE)
        means = self.means(self.calls, (by,), **self.draws).with_columns(name)
        pairs = self.compared(runs[0], (by,))
        few = _fewest_to_be_significant(pairs)
        of_means = _by_run(means, RUN, "metric", SLICE)
        differences = None if pairs is None else pairs.table.with_columns(name)
        of_pairs = _by_run(differences, "run", "metric", SLICE)
        of_first = means.filter(metric=self.first.text)
        slices = _largest_first(of_first, by)
        sections: list[Section] = []
        for call in self.calls:
            lines = []
            for text, cell in slices.items():
                key = (call.text, text)
                lines.append(RowOfRuns(cell, of_means[key], of_pairs[key]))
            heading = in_words(call.text) if len(self.calls) > 1 else ""
            tables = side_by_side(by, lines, runs, few)
            sections.append(Section(heading, tables))
        measured = Measured(self.table, self.runs, self.calls[:1], by, self.resampling)
        plot = picture("slices", plots.of_slices, measured, by, [*slices])
        sections[0] = replace(sections[0], pictures=[plot])
        caption = "The slices with most queries come first."
        if any(map(_has_marks, sections)):
            caption += (
                f" “{TOO_FEW}”: of fewer than {few} queries, even gains on all of them are not "
                "significant."
            )
        return f"{caption}{bold_of(pairs)}", sections

    def comparison(self, pairs: Comparison[pl.DataFrame]) -> tuple[list[str], list[Grid], Grid]:
        """The sentences, the ranking of many runs, and the tests of all pairs."""
        rows = records(pairs.table)
        answers = pairs.sentences(IN_HTML)
        if len(rows) <= SENTENCES:
            tied = tied_for_top(records(pairs.ranks), pairs.settings, IN_HTML)
            of_rows = (sentence(row, pairs.settings, len(rows), IN_HTML) for row in rows)
            answers = [*tied, *of_rows]
        blocks = pairs.shown("markdown", None)
        grids = [block for block in blocks if isinstance(block, Grid)]
        *ranking, tests = grids
        in_summary = unequal(pairs.settings)
        notes = [note for note in tests.notes if note not in in_summary]
        tests = answer_first(on_page(replace(tests, notes=notes)), pairs.settings["by"])
        return answers, ranking, tests

    def fusion(self, method: FusionMethod) -> dict[str, object]:
        """The fused run beside the runs, the gain of an oracle, and the overlap of the runs."""
        text = text_of(method)
        if not self.runs.columns:
            runs = option(runs=["bm25", "dense"])
            raise InvalidOption(option(fusion=text), " fuses runs; name them, as ", runs)
        best_of_each = call_of_verb(oracle, *self.calls, **self.named, fusion=method, **self.draws)
        gain = best_of_each.on(self.table)
        in_common = call_of_verb(overlap, **self.named, k=RANKS)
        common = in_common.on(self.table)
        grids = [*gain.grids(None), *common.grids(None)]
        drawings = [self.picture(plots.contributions, method, k=RANKS)]
        drawings.append(self.picture(plots.overlap, k=RANKS))
        lines = [*gain.sentences(IN_HTML), *common.sentences(IN_HTML)]
        section = Section("", [*map(on_page, grids)], drawings)
        return {"method": text, "lines": lines, "part": section}

    def picture(self, plot: Callable[..., Figure], *args: object, **options: object) -> Picture:
        """A plot of the runs."""
        return picture(plot.__name__, plot, self.table, *args, **options, **self.named)

    def pictures(self) -> list[Picture]:
        """The plots of the whole table.

        Those of the items that all users are shown follow if the roles for them are given.
        """
        first = self.first
        if not self.ranked:
            return [self.picture(plots.distribution, first)]
        pictures = self.curves()
        pictures.append(self.picture(plots.precision_recall))
        pictures.append(self.picture(plots.distribution, first))
        if not self.runs.columns:
            judged = picture("judged", plots.judged, self.table, first)
            pictures.append(judged)
        return [*pictures, *self.pictures_of_items()]

    def curves(self) -> list[Picture]:
        """The plot of the metrics that take a cutoff, of several runs of the first one."""
        deep = (call for call in self.calls if "k" in call.metric.parameters)
        curves = list(dict.fromkeys(map(_without_cutoff, deep)))
        if self.runs.columns:
            curves = curves[:1]
        return [self.picture(plots.curve, *curves)] if curves else []

    def pictures_of_items(self) -> list[Picture]:
        """The plots of the items that all users are shown, as far as their roles are given."""
        context = self.table.setup.background
        runs = self.runs
        k = self.first.arguments.get("k")
        pictures = []
        if context.items is not None:
            deepest = plots.deepest(self.table, runs)
            cutoffs = [cutoff for cutoff in COVERED if cutoff <= deepest]
            pictures.append(self.picture(item_plots.exposure, k))
            pictures.append(self.picture(item_plots.catalog, "coverage", cutoffs=cutoffs))
        if context.interactions is not None:
            pictures.append(self.picture(item_plots.long_tail, k))
            if runs.columns and self.first.metric.name != "novelty":
                novelty = "novelty" if k is None else f"novelty@{k}"
                pictures.append(self.picture(item_plots.trade_off, novelty, self.first.text))
        return pictures

    def findings(self) -> tuple[str, Grid]:
        """What the check found, in a sentence.

        A row per kind follows, errors first, with its runs unless all runs have it.
        """
        if not self.ranked:
            nothing = Grid((), (), [])
            return "The table has values of queries, and no rankings to check.", nothing
        setup = self.table.setup
        runs = self.runs
        query = runs.queries(setup).roles.query
        scores = runs.scores or [setup.roles.score]
        parts = []
        for score in scores:
            of_run = setup.changed(score=score, query=(*runs.key, *query))
            findings = findings_of_table(self.table, of_run)
            parts.append(findings.with_columns(pl.lit(of_run.roles.score).alias(RUN)))
        rows = pl.concat(parts, how="diagonal")
        errors_first = rows.sort("severity", maintain_order=True)
        facts = _facts(errors_first, query, len(scores))
        run = pl.col(RUN).str.join(", ")
        of_some = pl.when(pl.len() < len(scores)).then(run)
        kinds = errors_first.group_by(pl.exclude(RUN), maintain_order=True).agg(
            of_some.alias(carried("in run"))
        )
        findings_of_runs = Findings.of(kinds)
        what = "nothing"
        if facts:
            what = f"{findings_of_runs.sentences()[0]}: {'; '.join(facts)}"
        return f"The check of the table found {what}.", findings_of_runs.grids()[0]

    def settings(
        self,
        by: Sequence[str],
        fusion: FusionMethod | None,
        **results: Result[Any] | None,
    ) -> dict[str, object]:
        """All settings that the numbers depend on, with those of results that differ."""
        setup = self.table.setup
        intervals = asdict(self.resampling)
        progress = intervals.pop("progress")
        sizes = dict(self.sizes)
        del sizes["judgments"]
        settings: dict[str, object] = {"table": sizes}
        settings["metrics"] = [call.text for call in self.calls]
        settings["runs"] = list(self.runs.scores) or self.runs.column or setup.roles.score
        settings["policies"] = setup.followed(self.table.rows.columns)
        settings |= {"intervals": intervals, "slices": by}
        if fusion is not None:
            settings["fusion"] = text_of(fusion)
        settings["versions"] = versions()
        now = datetime.now(timezone.utc)
        settings["written"] = now.isoformat(timespec="seconds")
        known = {**settings, **intervals, "progress": progress}
        for name, result in results.items():  # a gate may have been made with other policies
            if result is not None:
                of_result = result.settings.items()
                settings[name] = {key: x for key, x in of_result if known.get(key, ...) != x}
        return settings

    def size(self) -> str:
        """The numbers of rows, queries and judgments, each counted once for all runs."""
        text = f"{self.sizes['rows']:,} rows, {self.sizes['queries']:,} queries"
        return f"{text}, {self.sizes['judgments']:,} judgments" if self.ranked else text

    @cached_property
    def sizes(self) -> dict[str, int]:
        """The numbers of rows, queries and judgments."""
        of_part = SizesOfPart(self.table.setup.roles)
        sizes = self.table.by_parts(of_part)
        return sizes.sum().row(0, named=True)


@dataclass(frozen=True)
class SizesOfPart:
    """The numbers of rows, queries and judgments in a part of a table."""

    roles: Roles

    def __call__(self, part: Table[Any]) -> pl.DataFrame:
        rows = part.rows
        query = self.roles.query
        label = pl.col(self.roles.label)
        judged = rows.filter(label.is_not_null())
        judgments = judged.height
        doc = self.roles.doc_in(rows.columns)
        if doc is not None:
            judgments = judged.select(*query, doc).n_unique()
        queries = rows.select(query).n_unique()
        sizes = {"rows": rows.height, "queries": queries, "judgments": judgments}
        return pl.DataFrame(sizes)


def without_kind(text: str) -> str:
    """A text of a page without the kind of its intervals, which the page names once."""
    kind = INTERVALS[RESAMPLED.get().interval]
    return text.replace(f" Interval: {kind}.", "").replace(f" intervals ({kind})", " intervals")


def on_page(grid: Grid) -> Grid:
    """A result's table with narrow columns, as a phone shows whole intervals below the figures."""
    narrow = tuple(name.partition(" [")[0] for name in grid.figures)
    notes = [*map(without_kind, grid.notes)]
    return replace(grid, figures=narrow, notes=notes)


def answer_first(tests: Grid, by: Sequence[str]) -> Grid:
    """The tests of pairs with the difference, p and the counts before the names and the means.

    A phone shows the first columns. The names of runs that differ stand there, too.
    """
    n_words = len(tests.words)
    n_figures = len(tests.figures)
    metric, run, baseline = range(len(by), n_words)
    of_slice = [*range(len(by)), metric]
    baseline_mean, mean, *answer = range(n_words, n_words + n_figures)
    names = [run, baseline]
    differing = [name for name in names if len({row[name].text for row in tests.rows}) > 1]
    equal = [name for name in names if name not in differing]
    places = [*of_slice, *differing, *answer, *equal, mean, baseline_mean]
    heads = tuple(tests.head[place] for place in places)
    ends = tuple(place >= n_words for place in places)
    rows = [[_narrow(row[place]) for place in places] for row in tests.rows]
    return Grid(heads, (), rows, tests.notes, ends=ends)


def _narrow(cell: Cell) -> Cell:
    """A cell with its bracket, such as an adjusted p, on a second line."""
    text, bracket, rest = cell.text.partition(" (")
    is_number = cell.number is not None
    return replace(cell, text=text, below=f"({rest}") if bracket and is_number else cell


def of_differences(pairs: Comparison[pl.DataFrame] | None) -> str:
    """The part of a caption on the intervals of differences, which agree with their p-values."""
    if pairs is None or pairs.table.is_empty():
        return ""
    return f"; of differences {intervals_of(pairs.table['interval'])}, which agree with p"


def bold_of(pairs: Comparison[pl.DataFrame] | None) -> str:
    """The part of a caption on bold differences."""
    if pairs is None or pairs.table.is_empty():
        return ""
    rows = records(pairs.table)
    settings = pairs.settings
    test = test_of(rows, settings)
    bold = f"p < {ALPHA:g} by {test}.{uncorrected(settings, len(rows))}"
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
    bare = replace(figure, legend=False)
    chart = altair(bare).to_dict(validate=False)
    del chart["title"]  # the page has it
    svg = load("vl_convert", "plot").vegalite_to_svg(chart)
    svg = re.sub(r"<\?xml.*?\?>|<!DOCTYPE.*?>", "", svg, flags=re.DOTALL)
    # only in attributes, as a run's name may contain the colour
    svg = svg.replace(f'="{GREY}"', '="currentColor"')
    svg = PLACES.sub(_rounded_places, svg)
    # no reader reads out a path, and a thousand of them make a page larger
    svg = svg.replace('<path aria-hidden="true" ', "<path ")
    subtitle = without_kind(figure.subtitle)
    return Picture(figure.title, subtitle, _legend(figure), svg)


def _rounded_places(attribute: re.Match[str]) -> str:
    """An attribute of a drawing with its places to a hundredth of a pixel."""
    return LONG_NUMBER.sub(lambda number: f"{float(number[0]):.2f}", attribute[0])


def _legend(figure: Figure) -> tuple[tuple[str, str, str], ...]:
    """The name, the colour and the dashes of each series; empty if a figure needs no legend."""
    if not figure.legend or len(figure.series) < 2:
        return ()
    entries = []
    for name in figure.series:
        stroke = " ".join(map(str, dashes(figure, name)))
        entries.append((name, colour(figure, name), stroke))
    return tuple(entries)


def _by_run(
    rows: pl.DataFrame | None, run: str, *key: str
) -> Mapping[tuple[object, ...], dict[str, Record]]:
    """The rows that agree in the key, by their run; those of no key, and of no frame, are none."""
    by_key: defaultdict[tuple[object, ...], dict[str, Record]] = defaultdict(dict)
    if rows is not None:
        for row in rows.iter_rows(named=True):
            by_key[tuple(row[name] for name in key)][row[run]] = row
    return by_key


def _fewest_to_be_significant(pairs: Comparison[pl.DataFrame] | None) -> int:
    """The least number of queries of a slice in which gains on all of them can be significant."""
    tests = 0 if pairs is None else len(pairs.table)
    # n queries have a p-value of 2 / 2**n at least
    doublings = math.log2(max(tests, 1) / ALPHA)
    return 2 + math.floor(doublings)


def _largest_first(means: pl.DataFrame, by: str) -> dict[str, Cell]:
    """The cell of each slice by its text, those of most queries first."""
    sizes = means.group_by(SLICE, by).agg(pl.col("n_queries").max())
    sizes = sizes.sort("n_queries", by, descending=[True, False], nulls_last=True)
    cells = {}
    for text, value in sizes.select(SLICE, by).iter_rows():
        cells[text] = shown("null" if value is None else value)
    return cells


def _has_marks(section: Section) -> bool:
    """Whether a row of a section is marked as one of too few queries."""
    return any(row[-1].below for table in section.tables for row in table.rows)


def _facts(findings: pl.DataFrame, query: Sequence[str], n_runs: int) -> list[str]:
    """What each problem is, in how many queries, and in which runs unless all have it."""
    place = [carried(name) for name in query]
    has_place = pl.col(place[-1]).is_not_null()
    places = pl.struct(place).filter(has_place)
    texts = pl.col("advice", RUN).unique(maintain_order=True)
    n_queries = places.n_unique().alias("queries")
    of_problems = findings.group_by("problem", maintain_order=True)
    problems = of_problems.agg(texts, n_queries)
    facts = []
    for problem, advice, runs, n in problems.iter_rows():
        fact, is_counted, _ = advice[0].partition(";")[0].partition(", the first of which")
        if len(advice) > 1:
            fact = f"{problem} in {len(runs)} runs"
        elif n and not is_counted:
            fact = f"{problem} in {queries(n)}"
        if len(runs) < n_runs:
            fact += f" (run {', '.join(runs)})"
        facts.append(fact)
    return facts


def _without_cutoff(call: Call) -> str:
    options = tuple((name, value) for name, value in call.options if name != "k")
    return replace(call, options=options).text


def _rendered(jinja: ModuleType, page: dict[str, object]) -> str:
    """Render the page from its template, which escapes all text."""
    folder = files("rankframe").joinpath("_pictures", "page")

    def text(kind: str) -> str:
        return folder.joinpath(f"report.{kind}").read_text("utf-8")

    script = text("js")
    sha256 = hashlib.sha256(script.encode()).digest()
    digest = base64.b64encode(sha256).decode()
    blocks = {"trim_blocks": True, "lstrip_blocks": True, "undefined": jinja.StrictUndefined}
    environment = jinja.Environment(autoescape=True, finalize=_legible, **blocks)
    environment.filters["pieces"] = pieces
    template = environment.from_string(text("html"))
    return str(template.render(page, style=text("css"), script=script, digest=digest))


def pieces(name: str) -> list[tuple[str, bool]]:
    """The parts of a column's name, and whether each is short, so that no line breaks it."""
    parts = PIECE.split(name)
    return [(part, i % 2 == 1) for i, part in enumerate(parts) if part]


def _legible(value: object) -> object:
    """A text with an escape for each control character but line breaks; anything else as it is."""
    if type(value) is not str:
        return value
    return "\n".join(map(visible, value.split("\n")))
