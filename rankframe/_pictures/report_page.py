"""The report: one HTML file with the quality of a ranking and all settings that its numbers depend on."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timezone
from importlib.resources import files
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any, NamedTuple

import polars as pl

from .._catalog.call import Call
from .._catalog.registry import METRICS
from .._catalog.requests import averaged
from .._plan.per_query import with_labels
from .._results.grid import Cell, Grid, Record, decimals, interval, intervals_of, p_value, plain
from .._results.markup import visible
from .._results.sentences import IN_HTML, sentence
from .._support.extras import load, versions
from .._support.option_kinds import Column, ColumnNames, ReadInside
from .._support.option_values import Range
from .._support.statistical_options import CORRECTIONS, TESTS, Resamples, Seed
from .._table.check import findings
from .._table.roles import carried, require
from .._table.runs import RUN, Runs, TheRuns, names_of
from .._table.setup import Setup
from .._table.table import Table, in_memory
from .._verbs.compare import Comparison, Significance, compare, compared
from .._verbs.declaration import verb
from .._verbs.evaluate import with_ranks
from .._verbs.fitted import FusionMethod, text_of
from .._verbs.gate import Verdict
from .._verbs.judge import by_kind
from .._verbs.overlap import oracle, overlap
from .._verbs.paired_values import Design, explained, values, with_own_rank
from .._verbs.resampling import Resampling
from .._verbs.summary import summarize
from ..errors import InvalidOption, MissingExtra, RankframeError, option
from . import item_plots, plots
from .draw import GREY, altair, colour, dashes
from .figure import Figure, Measured

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
        return [Grid((of,), ("mean", "std", "queries"), one)]
    found = []
    for start in range(0, len(others), TOGETHER):
        part = others[start : start + TOGETHER]
        figures = (reference, *(name for run in part for name in (run, "difference")), "queries")
        rows: list[tuple[Cell, ...]] = []
        for line in lines:
            pairs = [(line.mean(run), estimate(line.differences.get(run), "difference")) for run in part]
            rows.append((line.name, line.mean(reference), *(cell for pair in pairs for cell in pair), line.queries))
        found.append(Grid((of,), figures, rows))
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
    figures = ("difference", "p", "adjusted p", "better on", "equal on", "worse on")
    adjusted = f", adjusted by {CORRECTIONS[settings['correction']]} for {len(table)} comparisons"
    note = (
        f"p by {TESTS[settings['test']]}{adjusted if len(table) > 1 else ''}. Brackets: {settings['ci']:.0%} interval of "
        f"the mean difference ({intervals_of(row['interval'] for row in table)}). Better, equal and worse: on how many queries."
    )
    return Grid(("metric", "runs"), figures, rows, (note,))


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
    figures = [name for name in names if name in numbers and name in own.columns and name != "rank"]
    words = [name for name in names if name in own.columns and name not in figures]
    rows = [
        tuple(shown(row[name]) for name in (*words, *figures))
        for row in (*ranked.head(SHOWN).to_dicts(), *missed.head(MISSED).to_dicts())
    ]
    notes = []
    if len(ranked) > SHOWN:
        notes.append(f"The first {SHOWN} of {len(ranked):,} documents.")
    if len(missed):
        some = f"; {MISSED} of them are shown" if len(missed) > MISSED else ""
        notes.append(f"{len(missed):,} of {len(relevant):,} relevant documents not retrieved{some}.")
    name = ", ".join(shown(query[name]).text for name in roles.query)
    table = Grid(tuple(words), tuple(figures), rows, notes)
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


ENDINGS = (".html", ".htm")
"""The endings of report files."""
SENTENCES = 10
"""The number of comparisons shown at the top; further ones are folded away."""
SLICE = "#slice"
"""The column of the slices' names as text."""
COVERED = (1, 2, 5, 10, 20)
"""The cutoffs of the plot of coverage: few, because each counts the lists again."""
RANKS = 10
"""The number of ranks whose documents are compared and whose contributions are drawn."""


@verb(gives="whole", among=METRICS)
def report(
    table: Table[Any],
    path: Annotated[str | Path, ReadInside],
    *metrics: str,
    by: ColumnNames | None = None,
    runs: TheRuns | None = None,
    run: Column | None = None,
    baseline: Column | None = None,
    worst: Annotated[int, Range(least=0, most=10**9)] = 5,
    show: ColumnNames = (),
    title: str = "Ranking report",
    gate: Verdict[object] | None = None,
    fusion: FusionMethod | None = None,
    resamples: Resamples = 10_000,
    seed: Seed = 0,
) -> Path:
    """Write one self-contained HTML file: how good the ranking is, and all settings that its numbers depend on.

    Parameters
    ----------
    path
        Where to write it, a file that ends in ``.html`` or ``.htm``.
    *metrics
        Texts, as for :meth:`summarize`; the first is shown in plots and worst queries.
    by
        The columns whose values slice the queries; each column gets its own section.
    runs, run
        The runs to compare, as for :meth:`compare`: score columns of the same rows, a table for each run, or the column
        that names the run of each row; default: the ranker's score only.
    baseline
        As for :meth:`compare`.
    worst
        The number of worst queries to show with their documents, per run.
    show
        Further columns to show beside these documents, such as titles.
    title
        The report's title.
    gate
        The verdict to show, of :meth:`gate` on the same table: ``gate=df.rank.gate({"ndcg@10": 0.01}, runs=...)``.
    fusion
        A method of fusion of the runs, as for :meth:`fuse`, also a trained one: its section shows the fused run beside the
        runs, the gain of the best run of each query, and the documents that the runs have in common.
    resamples
        The number of resamples for intervals and tests; a thousand is enough for hundreds of thousands of queries.
    seed
        As for :meth:`summarize`.

    Returns
    -------
    The path. The file begins with a sentence for each comparison, the verdict of the gate, the means of the runs with
    their differences, and the findings of :meth:`check`. Sections follow: one per column of slices, with the slices
    that lose most first; the tests; the fusion; plots; the worst queries with the contribution of each document; and
    the settings: policies, versions, seeds, numbers of rows. It follows the reader's choice of light or dark mode, and
    loads no other file.

    Raises
    ------
    MissingExtra
        If Altair, vl-convert or Jinja is not installed.
    InvalidOption
        If `path` is not a path of such a file, `title` not a text, `gate` not a verdict, or `worst` not a whole number
        from 0 on, and if there is a `baseline` or a `fusion` without runs.

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
        raise InvalidOption(f"path={path!r}: write the name of the file to make, as report('report.html', 'ndcg@10')")
    if Path(path).suffix.lower() not in ENDINGS:
        ends = " or ".join(ENDINGS)
        raise InvalidOption(
            f"path={str(path)!r} does not end in {ends}; write it first, as report('report.html', 'ndcg@10')"
        )
    chosen, slices, columns = Runs.of(runs, run), names_of(by), names_of(show)
    jinja = load("jinja2", "report")
    if not (folder := Path(path).parent).is_dir():  # found out before the work, not after it
        raise FileNotFoundError(
            f"there is no folder {str(folder)!r} for the report; make it, as with Path({str(folder)!r}).mkdir(parents=True)"
        )
    for name in columns:
        require(table.rows.schema, name, "show")
    calls = averaged(metrics, "report('report.html', 'ndcg@10', 'map')")
    frame, resampling = with_labels(table.rows, table.setup, calls), Resampling(0.95, "auto", resamples, seed, True)
    found = ReportPage(in_memory(frame, table.setup), calls, chosen, baseline, resampling)
    means, pairs = found.means(), found.compared()
    names = list(means[RUN].unique(maintain_order=True))
    names.sort(key=lambda run: baseline not in (run, None))
    settings = found.settings(slices, gate, fusion)
    sentences = (
        []
        if pairs is None
        else [sentence(row, pairs.settings, len(pairs.table), IN_HTML) for row in pairs.table.to_dicts()]
    )
    page = {
        "title": title,
        "size": found.size(),
        "answers": sentences,
        "sentences_at_once": SENTENCES,
        "gate": gate,
        "findings": found.findings(),
        "reference": names[0],
        "summary": found.overall(means, pairs, names),
        "slices": {name: found.by_slice(names, name) for name in slices},
        "comparison": None if pairs is None else found.comparison(pairs),
        "fusion": None if fusion is None else found.fusion(fusion),
        "pictures": found.pictures(),
        "worst": list(worst_queries(frame, table.setup, chosen, calls[0], int(worst), columns)),
        "metric": calls[0].text,
        "higher_is_better": calls[0].higher_is_better,
        "settings": of_settings(settings),
        "raw": json.dumps(plain(settings), indent=2, ensure_ascii=False),
    }
    target = Path(path)
    target.write_text(_rendered(jinja, page), encoding="utf-8")
    return target


@dataclass(frozen=True)
class Picture:
    """A plot: title, subtitle, name, colour and dashes of each series, and the drawing; without one the subtitle tells why."""

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

    @property
    def named(self) -> dict[str, Any]:
        """The runs as options of verbs and plots."""
        return {"runs": self.runs.scores or None, "run": self.runs.column}

    @property
    def draws(self) -> dict[str, Any]:
        """The draws as options of verbs."""
        return {"resamples": self.resampling.resamples, "seed": self.resampling.seed}

    @property
    def design(self) -> Design | None:
        """The settings of the comparison, if there are several runs."""
        if not self.runs.columns and self.baseline is None:
            return None
        return Design(self.runs, self.baseline, (), None, "error")

    def means(self, by: tuple[str, ...] = ()) -> pl.DataFrame:
        """The summary of every run."""
        slices = (*self.runs.key, *by)
        return self.runs.each(
            self.table.rows,
            self.table.setup,
            lambda one: summarize(in_memory(self.table.rows, one), *self.calls, by=slices, **self.draws),
        )

    def compared(self) -> Comparison[pl.DataFrame] | None:
        """The comparison of the runs, if there are several."""
        if self.design is None:
            return None
        return compare(self.table, *self.calls, **self.named, baseline=self.baseline, **self.draws)

    def overall(self, means: pl.DataFrame, found: Comparison[pl.DataFrame] | None, runs: Sequence[str]) -> Section:
        """The means of all queries, and the differences from the first run."""
        of_means = _by_run(means, RUN, "metric")
        of_pairs = {} if found is None else _by_run(found.table.filter(pl.col("baseline") == runs[0]), "run", "metric")
        lines = [
            Estimates(Cell(call.text), call, of_means[call.text,], of_pairs.get((call.text,), {}))
            for call in self.calls
        ]
        return Section("", of_runs("metric", lines, runs))

    def by_slice(self, runs: Sequence[str], by: str) -> list[Section]:
        """The means of each slice, and the differences from the first run: the slices that lose most come first."""
        name = pl.col(by).cast(pl.String).fill_null("null").alias(SLICE)
        means = self.means((by,)).with_columns(name)
        of_means, of_pairs = _by_run(means, RUN, "metric", SLICE), {}
        if self.design is not None:
            design = replace(self.design, baseline=runs[0], by=(by,))
            pairs = compared(self.table.rows, self.table.setup, self.calls, design, None, self.resampling)[1]
            of_pairs = _by_run(pairs.with_columns(name), "run", "metric", SLICE)
        cells = {
            text: Cell(text) if value is None else shown(value)
            for text, value in means.select(SLICE, by).unique(maintain_order=True).iter_rows()
        }
        order: list[str] = []
        parts: list[Section] = []
        for call in self.calls:
            lines = {
                text: Estimates(cell, call, of_means[call.text, text], of_pairs.get((call.text, text), {}))
                for text, cell in cells.items()
            }
            order = order or sorted(lines, key=lambda text: lines[text].urgency)
            drawn = []
            if not parts:
                measured = Measured(self.table, self.runs, [call], by, self.resampling)
                drawn = [picture("slices", plots.of_slices, measured, by, order)]
            heading = call.text if len(self.calls) > 1 else ""
            parts.append(Section(heading, of_runs(by, [lines[text] for text in order], runs), drawn))
        return parts

    def comparison(self, found: Comparison[pl.DataFrame]) -> Section:
        """The tests of all pairs, and the differences of the queries."""
        drawn = self.picture(plots.differences, self.calls[0].text, baseline=self.baseline)
        return Section("", [of_tests(found.table.to_dicts(), found.settings)], [drawn])

    def fusion(self, method: FusionMethod) -> dict[str, object]:
        """The fused run beside the runs, the gain of an oracle, and the overlap of the runs."""
        if not self.runs.columns:
            raise InvalidOption(
                option(fusion=text_of(method)), " fuses runs; name them, as ", option(runs=["bm25", "dense"])
            )
        best = oracle(self.table, *self.calls, **self.named, fusion=method, **self.draws)
        common = overlap(self.table, **self.named, k=RANKS)
        drawn = [self.picture(plots.contributions, method, k=RANKS), self.picture(plots.overlap, k=RANKS)]
        (gains,) = best.grids()
        narrow = tuple(name.partition(" [")[0] for name in gains.figures)  # a phone shows the whole intervals
        gains = replace(gains, figures=narrow, notes=(*gains.notes, "Brackets: 95% intervals."))
        part = Section("", [gains, *common.grids()], drawn)
        return {
            "method": text_of(method),
            "lines": [*best.sentences(IN_HTML), *common.sentences(IN_HTML)],
            "part": part,
        }

    def picture(self, plot: Callable[..., Figure], *args: object, **options: object) -> Picture:
        """A plot of the runs."""
        return picture(plot.__name__, plot, self.table, *args, **options, **self.named)

    def pictures(self) -> list[Picture]:
        """The plots of the whole table; those of the items that all users are shown, if the roles for them are given."""
        runs, first, context = self.runs, self.calls[0], self.table.setup.background
        k = first.arguments.get("k")
        curves = list(dict.fromkeys(_without_cutoff(call) for call in self.calls if "k" in call.metric.parameters))
        drawn = [self.picture(plots.curve, *(curves[:1] if runs.columns else curves))] if curves else []
        drawn.append(self.picture(plots.precision_recall))
        drawn.append(self.picture(plots.distribution, first.text))
        if not runs.columns:
            drawn.append(picture("judged", plots.judged, self.table, first.text))
        if context.items is not None:
            cutoffs = [x for x in COVERED if x <= plots.deepest(self.table.rows, self.table.setup, runs)]
            drawn.append(self.picture(item_plots.exposure, k))
            drawn.append(self.picture(item_plots.catalog, "coverage", cutoffs=cutoffs))
        if context.interactions is not None:
            drawn.append(self.picture(item_plots.long_tail, k))
            if runs.columns and first.metric.name != "novelty":
                novelty = "novelty" if k is None else f"novelty@{k}"
                drawn.append(self.picture(item_plots.trade_off, novelty, first.text))
        return drawn

    def findings(self) -> list[dict[str, Any]]:
        """The kinds of findings of the check, errors first, each with its runs unless all runs have it."""
        query = (*self.runs.key, *self.runs.queries(self.table.setup).roles.query)
        scores = self.runs.scores or (self.table.setup.roles.score,)
        found: dict[tuple[str, str], dict[str, Any]] = {}
        for score in scores:
            of_run = self.table.setup.changed(score=score, query=query)
            rows = findings(self.table.rows.lazy(), of_run, None, str).collect(engine="in-memory")
            places = {name: name.removeprefix(carried("")) for name in rows.columns}
            rows = rows.rename({name: place for name, place in places.items() if place == name or place not in places})
            for kind in by_kind(rows.to_dicts()):
                found.setdefault((kind["problem"], kind["advice"]), {**kind, "runs": []})["runs"].append(score)
        for kind in found.values():
            kind["runs"] = kind["runs"] if len(kind["runs"]) < len(scores) else []
        return sorted(found.values(), key=lambda kind: kind["severity"] != "error")

    def settings(
        self, by: Sequence[str], gate: Verdict[object] | None, fusion: FusionMethod | None
    ) -> dict[str, object]:
        """All settings that the numbers depend on."""
        frame, setup, design = self.table.rows, self.table.setup, self.design
        intervals = {name: value for name, value in asdict(self.resampling).items() if name != "progress"}
        tests = {} if design is None else {**design.settings, **asdict(Significance("permutation", "holm"))}
        settings: dict[str, object] = {
            "table": {"rows": len(frame), "queries": frame.select(setup.roles.query).n_unique()},
            "metrics": [call.text for call in self.calls],
            "runs": list(self.runs.scores) or self.runs.column or setup.roles.score,
            "policies": setup.followed(frame.columns),
            "intervals": intervals,
            **({"comparison": tests} if tests else {}),
            "slices": by,
            **({} if fusion is None else {"fusion": text_of(fusion)}),
            "versions": versions(),
            "written": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        }
        if gate is not None:  # the gate may have been made with other policies
            own = gate.settings.items()
            settings["gate"] = {name: x for name, x in own if name != "progress" and settings.get(name) != x}
        return settings

    def size(self) -> str:
        """The numbers of rows, queries and judgments."""
        judged = int(self.table.rows[self.table.setup.roles.label].count())
        queries = self.table.rows.select(self.table.setup.roles.query).n_unique()
        return f"{len(self.table.rows):,} rows, {queries:,} queries, {judged:,} judgments"


def picture(name: str, make: Callable[..., Figure], *args: object, **options: object) -> Picture:
    """A plot as SVG, with text in the page's colour; or the reason for its absence."""
    try:
        figure = make(*args, **options)
    except MissingExtra:
        raise
    except RankframeError as error:
        return Picture(f"No plot of {name.replace('_', ' ')}", str(error))
    chart = altair(replace(figure, legend=False)).to_dict(
        validate=False
    )  # validation takes half of a report's time; tests do it
    del chart["title"]  # the page has it
    svg = load("vl_convert", "plot").vegalite_to_svg(chart)
    svg = re.sub(r"<\?xml.*?\?>|<!DOCTYPE.*?>", "", svg, flags=re.DOTALL)
    svg = svg.replace(f'="{GREY}"', '="currentColor"')  # only attributes: a run's name may contain the colour
    lines = figure.series if figure.legend and len(figure.series) > 1 else ()
    legend = tuple((name, colour(figure, name), " ".join(map(str, dashes(figure, name)))) for name in lines)
    return Picture(figure.title, figure.subtitle, legend, svg)


def _by_run(rows: pl.DataFrame, run: str, *key: str) -> dict[tuple[object, ...], dict[str, Record]]:
    """The rows that agree in the key, by their run."""
    found: dict[tuple[object, ...], dict[str, Record]] = {}
    for row in rows.iter_rows(named=True):
        found.setdefault(tuple(row[name] for name in key), {})[row[run]] = row
    return found


def _without_cutoff(call: Call) -> str:
    return replace(call, options=tuple((name, value) for name, value in call.options if name != "k")).text


def _rendered(jinja: ModuleType, page: dict[str, object]) -> str:
    """Render the page from its template, which escapes all text."""
    html, style, script = (
        files("rankframe").joinpath("_pictures", "page", f"report.{kind}").read_text("utf-8")
        for kind in ("html", "css", "js")
    )
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    environment = jinja.Environment(
        autoescape=True, undefined=jinja.StrictUndefined, finalize=_legible, trim_blocks=True, lstrip_blocks=True
    )
    return str(environment.from_string(html).render(page, style=style, script=script, digest=digest))


def _legible(value: object) -> object:
    """A text with an escape for each control character but line breaks; anything else as it is."""
    return "\n".join(map(visible, value.split("\n"))) if type(value) is str else value
