"""The parts of a report: means and differences of the runs, on all queries and by slice, tests, plots, findings."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from .._catalog.call import Call
from .._decisions.compare import Comparison, Significance, compared
from .._decisions.gate import Verdict
from .._decisions.paired_values import Design
from .._decisions.resampling import Resampling
from .._decisions.summary import summarize
from .._fusion.fitted import FittedFusion
from .._support.extras import load
from .._table.check import findings
from .._table.roles import carried
from .._table.runs import RUN, Runs
from .._table.setup import Setup
from .._table.table import in_memory
from .._text.result_parts import Row
from .._text.result_table import by_kind
from ..errors import MissingExtra, RankframeError
from . import item_figures, plots
from .colours import GREY
from .draw import altair, colour, dashes
from .figure import Figure
from .report_tables import Cell, Line, Table, of_tests, one_run, shown, side_by_side

SLICE = "#slice"
"""The column of the slices' names as text."""
COVERED = (1, 2, 5, 10, 20)
"""The cutoffs of the plot of coverage: few, because each counts the lists again."""


@dataclass(frozen=True)
class Contents:
    """The contents of a report.

    Attributes
    ----------
    metrics
        Texts; the first is shown in plots and worst queries.
    runs
        The runs of the table.
    baseline
        The run that the others are compared with; ``None`` compares all pairs.
    gate
        The verdict of a gate to show.
    by
        The columns of slices, each with its own section.
    worst
        The number of worst queries shown with their documents, per run.
    show
        Further columns of the table to show beside the documents.
    title
        The report's title.
    resamples, seed
        The number of resamples for intervals and tests, and the seed of the draws.
    fusion
        The method of fusion whose section is shown.
    """

    metrics: tuple[str, ...]
    runs: Runs
    baseline: str | None
    gate: Verdict[object] | None
    by: tuple[str, ...]
    worst: int
    show: tuple[str, ...]
    title: str
    resamples: int
    seed: int
    fusion: str | FittedFusion[object] | None = None

    @property
    def design(self) -> Design | None:
        """The settings of the comparison, if there are several runs."""
        if not self.runs.columns and self.baseline is None:
            return None
        return Design(self.runs, self.baseline, (), None, "error")

    @property
    def resampling(self) -> Resampling:
        """The settings of resampling for intervals."""
        return Resampling(0.95, "auto", self.resamples, self.seed, progress=True)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the table that the arguments name."""
        return (*self.runs.columns, *self.by, *self.show)

    @property
    def testing(self) -> Significance:
        """The test and its correction."""
        return Significance("permutation", "holm")


@dataclass(frozen=True)
class Picture:
    """A plot: title, subtitle, name, colour and dashes of each series, and the drawing; without one the subtitle tells why."""

    title: str
    subtitle: str
    legend: tuple[tuple[str, str, str], ...] = ()
    svg: str = ""


@dataclass(frozen=True)
class Part:
    """Tables under a heading of their own or none, with plots beside them."""

    heading: str
    tables: tuple[Table, ...]
    pictures: tuple[Picture, ...] = ()


def overall(
    calls: Sequence[Call], means: pl.DataFrame, found: Comparison[pl.DataFrame] | None, runs: Sequence[str]
) -> Part:
    """The means of all queries, and the differences from the first run."""
    of_means = _by_run(means, RUN, "metric")
    of_pairs = {} if found is None else _by_run(found.table.filter(pl.col("baseline") == runs[0]), "run", "metric")
    lines = [Line(Cell(call.text), call, of_means[call.text,], of_pairs.get((call.text,), {})) for call in calls]
    return Part("", _tables("metric", lines, runs))


def summed(frame: pl.DataFrame, setup: Setup, contents: Contents, by: tuple[str, ...] = ()) -> pl.DataFrame:
    """The summary of every run."""
    slices, metrics, n, seed = (*contents.runs.key, *by), contents.metrics, contents.resamples, contents.seed

    def of_run(one: Setup) -> pl.DataFrame:
        return summarize(in_memory(frame, one), *metrics, by=slices, resamples=n, seed=seed)

    return contents.runs.each(frame, setup, of_run)


def by_slice(
    frame: pl.DataFrame, setup: Setup, contents: Contents, calls: Sequence[Call], runs: Sequence[str], by: str
) -> list[Part]:
    """The means of each slice, and the differences from the first run: the slices that lose most come first."""
    name = pl.col(by).cast(pl.String).fill_null("null").alias(SLICE)
    means = summed(frame, setup, contents, (by,)).with_columns(name)
    of_means, of_pairs = _by_run(means, RUN, "metric", SLICE), {}
    if contents.design is not None:
        design = replace(contents.design, baseline=runs[0], by=(by,))
        pairs = compared(frame, setup, calls, design, None, contents.resampling)[1]
        of_pairs = _by_run(pairs.with_columns(name), "run", "metric", SLICE)
    cells = {
        text: Cell(text) if value is None else shown(value)
        for text, value in means.select(SLICE, by).unique(maintain_order=True).iter_rows()
    }
    order: list[str] = []
    parts: list[Part] = []
    for call in calls:
        lines = {
            text: Line(cell, call, of_means[call.text, text], of_pairs.get((call.text, text), {}))
            for text, cell in cells.items()
        }
        order = order or sorted(lines, key=lambda text: lines[text].urgency)
        heading = call.text if len(calls) > 1 else ""
        drawn = (
            ()
            if parts
            else (picture(plots.slices, frame, setup, contents.runs, call.text, by, order, contents.resampling),)
        )
        parts.append(Part(heading, _tables(by, [lines[text] for text in order], runs), drawn))
    return parts


def _by_run(rows: pl.DataFrame, run: str, *key: str) -> dict[tuple[object, ...], dict[str, Row]]:
    """The rows that agree in the key, by their run."""
    found: dict[tuple[object, ...], dict[str, Row]] = {}
    for row in rows.iter_rows(named=True):
        found.setdefault(tuple(row[name] for name in key), {})[row[run]] = row
    return found


def _tables(of: str, lines: Sequence[Line], runs: Sequence[str]) -> tuple[Table, ...]:
    return tuple(side_by_side(of, lines, runs[0], runs[1:])) if len(runs) > 1 else (one_run(of, lines),)


def comparison(
    frame: pl.DataFrame, setup: Setup, contents: Contents, call: Call, found: Comparison[pl.DataFrame]
) -> Part:
    """The tests of all pairs, and the differences of the queries."""
    drawn = picture(plots.differences, frame, setup, contents.runs, call.text, contents.baseline)
    return Part("", (of_tests(found.table.to_dicts(), found.settings),), (drawn,))


def pictures(frame: pl.DataFrame, setup: Setup, contents: Contents, calls: Sequence[Call]) -> list[Picture]:
    """The plots of the whole table."""
    runs, first = contents.runs, calls[0]
    curves = list(dict.fromkeys(_without_cutoff(call) for call in calls if "k" in call.metric.parameters))
    if runs.columns:
        curves = curves[:1]
    return [
        *([picture(plots.curve, frame, setup, runs, curves, None)] if curves else []),
        picture(plots.precision_recall, frame, setup, runs),
        picture(plots.distribution, frame, setup, runs, first.text),
        *([] if runs.columns else [picture(plots.judged, frame, setup, first.text)]),
        *of_items(frame, setup, runs, first),
    ]


def of_items(frame: pl.DataFrame, setup: Setup, runs: Runs, call: Call) -> list[Picture]:
    """The plots of the items that all users are shown, down to the metric's cutoff, if the roles for them are given."""
    beside, k = setup.background, call.arguments.get("k")
    drawn = []
    if beside.items is not None:
        cutoffs = [x for x in COVERED if x <= plots.deepest(frame, setup, runs)]
        drawn.append(picture(item_figures.lorenz_curve, frame, setup, runs, k, "count"))
        drawn.append(picture(item_figures.catalog, frame, setup, runs, ["coverage"], cutoffs))
    if beside.interactions is not None:
        drawn.append(picture(item_figures.long_tail, frame, setup, runs, k, "count"))
        if runs.columns and call.metric.name != "novelty":
            novelty = "novelty" if k is None else f"novelty@{k}"
            drawn.append(picture(item_figures.trade_off, frame, setup, runs, novelty, call.text))
    return drawn


def _without_cutoff(call: Call) -> str:
    return replace(call, options=tuple((name, value) for name, value in call.options if name != "k")).text


def picture(make: Callable[..., Figure], *args: object) -> Picture:
    """A plot as SVG, with text in the page's colour; or the reason for its absence."""
    try:
        figure = make(*args)
    except MissingExtra:
        raise
    except RankframeError as error:
        return Picture(f"No plot of {make.__name__.replace('_', ' ')}", str(error))
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


def found_by_check(frame: pl.DataFrame, setup: Setup, runs: Runs) -> list[dict[str, Any]]:
    """The kinds of findings of the check, errors first, each with its runs unless all runs have it."""
    query = (*runs.key, *runs.queries(setup).roles.query)
    scores = runs.scores or (setup.roles.score,)
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for score in scores:
        found_here = findings(frame.lazy(), setup.changed(score=score, query=query), None, str)
        rows = found_here.collect(engine="in-memory")
        places = {name: name.removeprefix(carried("")) for name in rows.columns}
        rows = rows.rename({name: place for name, place in places.items() if place == name or place not in places})
        for kind in by_kind(rows.to_dicts()):
            found.setdefault((kind["problem"], kind["advice"]), {**kind, "runs": []})["runs"].append(score)
    for kind in found.values():
        kind["runs"] = kind["runs"] if len(kind["runs"]) < len(scores) else []
    return sorted(found.values(), key=lambda kind: kind["severity"] != "error")
