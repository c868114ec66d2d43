"""The report: one HTML file with the quality of a ranking and all settings that its numbers depend on."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timezone
from html import escape
from importlib.metadata import version
from pathlib import Path
from typing import Any

import polars as pl

from .._catalog.call import Call
from .._decisions.compare import Significance, compare
from .._decisions.resampling import Resampling
from .._decisions.runs import Design
from .._decisions.summary import FIGURES, calls_of, summarize
from .._support.extras import load
from .._table.roles import require
from .._table.setup import Setup
from .._text.markup import html
from .._text.result_table import Cell, Grid, grid_of, plain
from .._verbs import verbs
from ..errors import InvalidOption, MissingExtra, RankframeError
from . import plots
from .draw import GREY, altair
from .figure import RUN, Figure, Runs, values

__all__ = ["Contents", "write"]

SHOWN = 10
"""The number of documents shown of a query, from the top."""
MISSED = 5
"""The number of relevant documents shown that were not retrieved."""


@dataclass(frozen=True)
class Contents:
    """The contents of a report.

    Attributes
    ----------
    metrics
        Texts; plots and worst queries are those of the first.
    runs
        The runs of the table.
    baseline
        The run that the others are compared with; ``None`` compares all pairs.
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
    """

    metrics: tuple[str, ...]
    runs: Runs
    baseline: str | None
    by: tuple[str, ...]
    worst: int
    show: tuple[str, ...]
    title: str
    resamples: int
    seed: int

    @property
    def design(self) -> Design | None:
        """The settings of the comparison, if there are several runs."""
        if not self.runs.columns:
            return None
        return Design(self.runs.scores, self.runs.column, self.baseline, (), None, "error")

    @property
    def testing(self) -> Significance:
        """The test and its correction."""
        return Significance("permutation", "holm")

    @property
    def resampling(self) -> Resampling:
        """The settings of resampling for intervals."""
        return Resampling(0.95, "bca", self.resamples, self.seed, progress=True)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the table that the arguments name."""
        return (*self.runs.columns, *self.by, *self.show)


def write(frame: pl.DataFrame, setup: Setup, path: str | Path, contents: Contents) -> Path:
    """Write the report, and return its path."""
    design = contents.design
    for name in contents.show:
        require(frame.schema, name, "show")
    calls = calls_of(contents.metrics, "report('report.html', 'ndcg@10', 'map')")
    parts = [
        ("Summary", _summary(frame, setup, contents)),
        *((f"By {by}", _slices(frame, setup, contents, calls[0], by)) for by in contents.by),
        *([] if design is None else [("Comparison", _comparison(frame, setup, contents, design, calls[0]))]),
        ("Plots", _plots(frame, setup, contents, calls)),
        ("Worst queries", _worst(frame, setup, contents, calls[0])),
        ("Settings", _settings(frame, setup, contents, calls)),
    ]
    links = "".join(f'<a href="#{_anchor(name)}">{escape(name)}</a>' for name, _ in parts)
    body = "".join(
        f'<section id="{_anchor(name)}">\n<h2>{escape(name)}</h2>\n{text}</section>\n' for name, text in parts
    )
    head = f"<h1>{escape(contents.title)}</h1>\n<p>{_size(frame, setup)}</p>\n<nav>{links}</nav>\n"
    parts_of_page = {"TITLE": escape(contents.title), "STYLE": STYLE, "BODY": head + body}
    target = Path(path)
    target.write_text(re.sub("|".join(parts_of_page), lambda name: parts_of_page[name[0]], PAGE), encoding="utf-8")
    return target


def _summary(frame: pl.DataFrame, setup: Setup, contents: Contents) -> str:
    return html(grid_of(_summed(frame, setup, contents, ())))


def _summed(frame: pl.DataFrame, setup: Setup, contents: Contents, by: tuple[str, ...]) -> pl.DataFrame:
    """The summary of every run."""
    runs, resampling = contents.runs, contents.resampling
    if runs.column is not None:
        query = tuple(dict.fromkeys((runs.column, *setup.roles.query)))
        policies = setup.changed(query=query)
        return _eager(summarize(frame, policies, (runs.column, *by), None, resampling, *contents.metrics))
    each = [
        _eager(summarize(frame, setup.changed(score=score), by, None, resampling, *contents.metrics)).select(
            pl.lit(score).alias("run"), pl.all()
        )
        for score in runs.scores
    ]
    return pl.concat(each) if each else _eager(summarize(frame, setup, by, None, resampling, *contents.metrics))


def _slices(frame: pl.DataFrame, setup: Setup, contents: Contents, call: Call, by: str) -> str:
    picture = _picture(plots.slices, frame, setup, contents.runs, call.text, by)
    return picture + html(_wide(_summed(frame, setup, contents, (by,)).to_dicts()))


def _wide(summed: Sequence[Mapping[str, Any]]) -> Grid:
    """A summary with a row per slice and run, and a column per metric."""
    key = [name for name in (summed[0] if summed else ()) if name not in ("metric", *FIGURES)]
    rows: dict[tuple[Any, ...], dict[str, str]] = {}
    for row in summed:
        mean, low, high = ("" if row[name] is None else f"{row[name]:.3f}" for name in ("mean", "ci_low", "ci_high"))
        cells = rows.setdefault(tuple(row[name] for name in key), {"queries": f"{row['n_queries']:,}"})
        cells[row["metric"]] = f"{mean} [{low}, {high}]" if low else mean
    head = list(dict.fromkeys(name for cells in rows.values() for name in cells))
    body = [
        (*(Cell("null" if value is None else str(value)) for value in at), *(Cell(cells[name]) for name in head))
        for at, cells in rows.items()
    ]
    note = "Means, with their 95% intervals in brackets."
    return Grid((*key, *head), tuple(body), len(head), (note,))


def _comparison(frame: pl.DataFrame, setup: Setup, contents: Contents, design: Design, call: Call) -> str:
    found = compare(frame, setup, design, contents.testing, contents.resampling, *contents.metrics)
    rows = [
        [
            Cell(str(row["metric"])),
            Cell(f"{row['run']} against {row['baseline']}"),
            *(Cell("" if row[name] is None else f"{row[name]:+.3f}") for name in ("difference", "ci_low", "ci_high")),
            *(Cell("" if row[name] is None else f"{row[name]:.4f}") for name in ("p_value", "p_adjusted")),
            *(Cell(f"{row[name]:,}") for name in ("wins", "ties", "losses")),
        ]
        for row in found.table.to_dicts()
    ]
    head = ("metric", "runs", "difference", "from", "to", "p", "p adjusted", "better on", "equal on", "worse on")
    note = f"From, to: {contents.resampling.ci:.0%} interval of the difference. Better, equal and worse on how many queries."
    tests = html(Grid(head, tuple(map(tuple, rows)), 8, (note,)))
    differences = _picture(plots.differences, frame, setup, contents.runs, call.text, contents.baseline)
    return html(grid_of(found)) + tests + differences


def _plots(frame: pl.DataFrame, setup: Setup, contents: Contents, calls: Sequence[Call]) -> str:
    runs, first = contents.runs, calls[0]
    curves = list(dict.fromkeys(_without_cutoff(call) for call in calls if "k" in call.metric.parameters))
    if runs.columns:
        curves = curves[:1]
    return "".join(
        [
            _picture(plots.curve, frame, setup, runs, curves, None) if curves else "",
            _picture(plots.precision_recall, frame, setup, runs),
            _picture(plots.distribution, frame, setup, runs, first.text),
            _picture(plots.judged, frame, setup, first.text) if not runs.columns else "",
        ]
    )


def _without_cutoff(call: Call) -> str:
    return replace(call, options=tuple((name, value) for name, value in call.options if name != "k")).text


def _picture(figure: Callable[..., Figure], *args: Any) -> str:
    """A plot as SVG in the page, with text in the page's colour; or the reason why there is none."""
    try:
        chart = altair(figure(*args))
    except MissingExtra:
        raise
    except RankframeError as error:
        return f"<p><small>No plot of {escape(figure.__name__.replace('_', ' '))}: {escape(str(error))}</small></p>\n"
    svg = load("vl_convert", "plot").vegalite_to_svg(chart.to_dict())
    svg = re.sub(r"<\?xml.*?\?>|<!DOCTYPE.*?>", "", svg, flags=re.DOTALL)
    svg = svg.replace(f'="{GREY}"', '="currentColor"')  # the attributes alone: names of runs may have that text
    return f"<figure>{svg}</figure>\n"


def _worst(frame: pl.DataFrame, setup: Setup, contents: Contents, call: Call) -> str:
    """The worst queries, and their documents."""
    found = values(frame, setup, contents.runs, [call]).drop_nulls(call.text)
    lower = call.metric.higher_is_better
    text = ""
    for name in found[RUN].unique(maintain_order=True):
        own = found.filter(pl.col(RUN) == name).sort(call.text, descending=not lower, maintain_order=True)
        chosen = own.head(contents.worst)
        rows, policies = _of_run(frame, setup, contents.runs, name)
        explained = _explained(rows, policies, call, chosen, contents.show)
        named = f"<h3>{escape(name)}</h3>\n" if contents.runs.columns else ""
        text += named + "".join(
            _query(query, explained, policies, call, contents.show, lead=i == 0)
            for i, query in enumerate(chosen.iter_rows(named=True))
        )
    what = "least" if lower else "greatest"
    return f"<p>The queries with the {what} {escape(call.text)}, and their documents.</p>\n{text}"


def _of_run(frame: pl.DataFrame, setup: Setup, runs: Runs, name: str) -> tuple[pl.DataFrame, Setup]:
    """The rows of one run, and the columns and policies that rank them."""
    if runs.column is None:
        return frame, setup.changed(score=name)
    query = tuple(x for x in setup.roles.query if x != runs.column)
    return frame.filter(pl.col(runs.column).cast(pl.String) == name), setup.changed(query=query)


def _explained(
    frame: pl.DataFrame, setup: Setup, call: Call, chosen: pl.DataFrame, show: Sequence[str]
) -> pl.DataFrame:
    """The documents of the chosen queries, with the contribution of each if the metric is a sum over ranks."""
    queries = chosen.lazy().select(setup.roles.query)
    kept = [name for name in show if name not in setup.roles.query]
    try:
        rows = verbs.explain(frame.lazy(), setup, call.text, carry=kept).lazy()
        rows = rows.join(queries, on=setup.roles.query, how="semi", nulls_equal=True)
        return rows.collect().sort("rank", nulls_last=True)
    except InvalidOption:
        own = frame.join(queries.collect(), on=setup.roles.query, how="semi", nulls_equal=True)
        one_order = setup if setup.policies.ties != "expected" else setup.changed(ties="doc_desc")
        return _eager(verbs.with_ranks(own, one_order, "rank")).sort("rank", nulls_last=True)


def _query(
    query: dict[str, Any], explained: pl.DataFrame, setup: Setup, call: Call, show: Sequence[str], *, lead: bool
) -> str:
    own = explained.filter(
        pl.all_horizontal(pl.col(name).eq_missing(pl.lit(query[name])) for name in setup.roles.query)
    )
    judged = own.filter(pl.col(setup.roles.label) >= setup.policies.relevant)
    ranked, missed = own.drop_nulls("rank"), judged.filter(pl.col("rank").is_null())
    doc = setup.roles.doc_in(own.columns)
    shown = ("rank", *([] if doc is None else [doc]), *show, setup.roles.score, setup.roles.label, call.text)
    texts = [name for name in dict.fromkeys(shown) if name in own.columns]
    left = sum(name not in (setup.roles.score, setup.roles.label, call.text) for name in texts)
    rows = [
        [Cell(_shown(row[name])) for name in texts]
        for row in (*ranked.head(SHOWN).to_dicts(), *missed.head(MISSED).to_dicts())
    ]
    notes = []
    if len(ranked) > SHOWN:
        notes.append(f"The first {SHOWN} of {len(ranked):,} documents.")
    if len(missed):
        some = f"; {MISSED} of them are shown" if len(missed) > MISSED else ""
        notes.append(f"{len(missed):,} of {len(judged):,} relevant documents not retrieved{some}.")
    name = ", ".join(_shown(query[name]) for name in setup.roles.query)
    value = f"{escape(call.text)} {query[call.text]:.3f}; {len(judged):,} relevant"
    table = html(Grid(tuple(texts), tuple(map(tuple, rows)), len(texts) - left, tuple(notes)))
    return f"<details{' open' * lead}><summary><strong>{escape(name)}</strong> <span>{value}</span></summary>\n{table}</details>\n"


def _settings(frame: pl.DataFrame, setup: Setup, contents: Contents, calls: Iterable[Call]) -> str:
    """All settings that the numbers depend on, as JSON to read and to copy."""
    said = {
        "table": {"rows": len(frame), "queries": frame.select(setup.roles.query).n_unique()},
        "metrics": [call.text for call in calls],
        "runs": list(contents.runs.scores) or contents.runs.column or setup.roles.score,
        "policies": setup.followed(frame.columns),
        "intervals": {**_said(contents.resampling), "of plots": "Student's t"},
        **({} if contents.design is None else {"comparison": {**asdict(contents.design), **asdict(contents.testing)}}),
        "slices": contents.by,
        "versions": {name: version(name) for name in ("rankframe", "polars", "numpy")},
        "written": datetime.now(timezone.utc).isoformat(timespec="seconds"),
    }
    return f"<pre>{escape(json.dumps(plain(said), indent=2, ensure_ascii=False))}</pre>\n"


def _said(resampling: Resampling) -> dict[str, Any]:
    return {name: value for name, value in asdict(resampling).items() if name != "progress"}


def _size(frame: pl.DataFrame, setup: Setup) -> str:
    judged = int(frame[setup.roles.label].count())
    queries = frame.select(setup.roles.query).n_unique()
    return f"{len(frame):,} rows, {queries:,} queries, {judged:,} judgments"


def _eager(frame: pl.DataFrame | pl.LazyFrame) -> pl.DataFrame:
    return frame.lazy().collect()


def _shown(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _anchor(name: str) -> str:
    return re.sub(r"\W+", "-", name.lower())


PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>TITLE</title>
<style>STYLE</style>
</head>
<body>
BODY</body>
</html>
"""

STYLE = """
:root { --page: #ffffff; --ink: #1f2328; --faint: #59636e; --line: #d1d9e0; --shade: #f6f8fa; --link: #0059a3; }
@media (prefers-color-scheme: dark) {
  :root { --page: #121417; --ink: #e6e8eb; --faint: #a0a8b2; --line: #363c44; --shade: #1c2026; --link: #7cc0f5; }
}
body { background: var(--page); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; max-width: 76rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.7rem; margin-bottom: 0; }
h2 { font-size: 1.25rem; margin-top: 2.5rem; border-bottom: 1px solid var(--line); }
h3 { font-size: 1.05rem; }
td { overflow-wrap: break-word; }
p, small, span, h1 + p { color: var(--faint); }
nav { display: flex; flex-wrap: wrap; gap: 0.3rem 1.2rem; }
a { color: var(--link); }
section { overflow-x: auto; }
table { border-collapse: collapse; margin: 0.8rem 0; font-variant-numeric: tabular-nums; }
th, td { padding: 0.25rem 0.8rem; text-align: left; border-bottom: 1px solid var(--line); }
th { border-bottom-width: 2px; }
figure { display: inline-block; margin: 0.8rem 1rem 0.8rem 0; max-width: 100%; color: var(--ink); }
figure svg { max-width: 100%; height: auto; }
details { margin: 0.4rem 0; }
summary { cursor: pointer; }
pre { background: var(--shade); padding: 1rem; overflow-x: auto; font-size: 13px; }
"""
