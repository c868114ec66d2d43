"""The method `report`, and the base class of objects with plots."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeVar, cast

from .._catalog.registry import METRICS
from .._decisions.gate import Verdict
from .._fusion.fitted import FusionMethod
from .._support.forks import use_polars
from .._support.methods import Lifted, Owner
from .._support.option_kinds import Column, Columns, ReadInside, read_arguments
from .._support.option_values import Range
from .._support.statistical_options import Resamples, Seed
from .._table.runs import Runs, TheRuns, names_of
from .._table.setup import OPTIONS
from .._table.table import Table
from .._verbs.declaration import verb
from ..errors import InvalidOption, Verbatim

T = TypeVar("T")
Picture = TypeVar("Picture")
F = TypeVar("F", bound=Callable[..., object])

ENDINGS = (".html", ".htm")
"""The endings of report files."""


class Drawn(NamedTuple):
    """The type that a library draws, and replacements in docstrings written for Altair."""

    kind: str
    examples: Sequence[tuple[str, str]]


DRAWN = {
    "altair": Drawn("altair.LayerChart", [("A chart or axes", "A chart, or Matplotlib axes if `ax` is given")]),
    "matplotlib": Drawn(
        "matplotlib.axes.Axes",
        [
            ("A chart or axes", "The axes"),
            (".title.text", '.get_title("left").replace("\\n", " ")'),
        ],
    ),
}
"""The drawing libraries by name."""


class Drawing(Owner):
    """Base of objects with plots; their docstrings name the type that the library draws."""

    _ranker: Any
    _library: str

    @property
    def _kind(self) -> object:
        return Verbatim(DRAWN[self._library].kind)

    @property
    def _examples(self) -> Sequence[tuple[str, str]]:  # type: ignore[override]
        return [*self._ranker._examples, *DRAWN[self._library].examples]

    @property
    def _spelled(self) -> str:
        return f"{self._ranker._spelled}.plot"


def drawing(plot: F) -> F:
    """Make a plot read its options by their annotations, and refuse unknown and missing ones."""

    @wraps(plot)
    def call(plots: object, /, *args: object, **options: object) -> object:
        use_polars()
        args, options = read_arguments(plot, (plots, *args), options, hidden=1, of_on=OPTIONS)
        return plot(*args, **options)

    return cast(F, Lifted(call, Picture))


@verb(gives="whole", among=METRICS)
def report(
    table: Table[Any],
    path: Annotated[str | Path, ReadInside],
    *metrics: str,
    by: Columns | None = None,
    runs: TheRuns | None = None,
    run: Column | None = None,
    baseline: Column | None = None,
    worst: Annotated[int, Range(least=0, most=10**9)] = 5,
    show: Columns = (),
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
    from .report_page import write
    from .report_parts import Contents

    if not isinstance(path, (str, os.PathLike)) or "\0" in os.fspath(path) or not os.fspath(path):
        raise InvalidOption(f"path={path!r}: write the name of the file to make, as report('report.html', 'ndcg@10')")
    if Path(path).suffix.lower() not in ENDINGS:
        ends = " or ".join(ENDINGS)
        raise InvalidOption(
            f"path={str(path)!r} does not end in {ends}; write it first, as report('report.html', 'ndcg@10')"
        )
    chosen = Runs.of(runs, run)
    contents = Contents(
        metrics, chosen, baseline, gate, names_of(by), int(worst), names_of(show), title, resamples, seed, fusion
    )
    return write(table.rows, table.setup, path, contents)
