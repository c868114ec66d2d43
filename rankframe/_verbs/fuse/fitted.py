"""Methods of fusion trained on judged rankings: training, learned values, application."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, cast

import polars as pl

from ... import fusions  # noqa: F401 - fills the registry
from ..._catalog.call import Call
from ..._catalog.fusions import TRAINED_FUSIONS, Trained, fusion_of
from ..._catalog.parse import parse
from ..._plan.per_query import measure
from ..._results.grid import Cell, Grid, number, queries, records
from ..._results.result import MOST_ROWS, R_co, Result
from ..._results.sentences import IN_TEXT, Quotes
from ..._support.methods import called_by_users
from ..._support.option_kinds import ReadInside
from ..._table.policies import Cutoff
from ..._table.roles import require, require_number
from ..._table.runs import Runs
from ..._table.setup import Setup, refuse_bounds
from ..._table.shared_options import OfRuns, runs_of
from ..._table.table import R, Table
from ..._words.rankings import JudgedRankings, Learned, Missing, Rankings
from ...errors import InvalidData, InvalidOption, on, shown
from ..call.declaration import verb
from ..sample.entries import entries_of, of_run

if TYPE_CHECKING:
    from typing import Unpack

FORMAT = 1
"""The version of the JSON text."""

MEMBERS = {"rankframe_fusion": int, "method": str, "runs": list, "learned": dict, "settings": dict}
"""The members of the JSON text, and their types."""


@dataclass(frozen=True, repr=False)
class FittedFusion(Result[R_co]):
    """A trained method of fusion, and the figures that it has learned.

    Attributes
    ----------
    method
        The text of the method, as ``"slidefuse(w=2)"``.
    runs
        The names of the runs, as score columns or in the column that names the run.
    learned
        A row per run and place: ``run``, then ``rank`` or ``segment`` (Int64, from 1 on; mapfuse
        has none), then ``probability`` (Float64; of mapfuse ``map``). A rank or segment without a
        row counts 0.
    settings
        How it was trained: ``run``, the column that names the run of each row, or None; the number
        of queries; the policies and versions.
    """

    method: str
    runs: tuple[str, ...]
    learned: R_co
    settings: Mapping[str, Any] = field(default_factory=dict)

    def fuse(self, frame: Any, *, runs: Sequence[str] | None = None, run: str | None = None) -> Any:
        """Fuse the runs of another table: ``df.rank.fuse(fitted)``, with the table's columns named
        as in training.

        Parameters
        ----------
        frame
            A table with the same runs, of Polars or pandas.
        runs, run
            As for `fuse`; default: as in training.
        """
        return ranker_of(frame).fuse(self, runs=runs, run=run)

    @property
    def where(self) -> Runs:
        """The runs as the training table named them."""
        column = self.settings.get("run")
        return Runs(self.runs) if column is None else Runs(column=column)

    @property
    def call(self) -> Call:
        """The method, bound to the learned values of each run, in the order of `runs`."""
        call = fusion_of(self.method, TRAINED_FUSIONS)
        formula = call.metric.formula
        learned = self._by_place()

        def bound(rankings: Rankings, **options: object) -> pl.Expr:
            rankings.values = learned
            return formula(rankings, **options)

        metric = replace(call.metric, formula=bound)
        return replace(call, metric=metric)

    def _by_place(self) -> list[list[float]]:
        """The learned values of each run, place by place."""
        rows = records(self.learned)
        figures = [list(row.values()) for row in rows]
        places = [int(row[1]) if len(row) > 2 else 1 for row in figures]
        values_of = {run: [0.0] * max(places, default=0) for run in self.runs}
        for row, place, of_row in zip(rows, places, figures, strict=True):
            values_of[row["run"]][place - 1] = float(of_row[-1])
        return list(values_of.values())

    def in_order(self, runs: Runs) -> Runs:
        """Score columns in the order of training; other ones are refused."""
        if runs.column is not None:
            return runs
        return replace(runs, scores=self.matched(runs.scores, every=True))

    def matched(self, names: Sequence[str], *, every: bool = False) -> tuple[str, ...]:
        """The runs in the order of training; others are refused, or also a missing one."""
        is_missing = every and len(names) < len(self.runs)
        if is_missing or not {*names} <= {*self.runs}:
            trained = f"those on which {self.method} was trained, {', '.join(self.runs)}"
            raise InvalidOption(f"the runs {', '.join(names)} are other ones than {trained}")
        return self.runs

    def to_json(self) -> str:
        """The object as JSON, which `from_json` reads:
        ``Path("fitted.json").write_text(fitted.to_json())``.
        """
        rows = records(self.learned)
        names = list(rows[0]) if rows else ["run"]
        columns = {name: [row[name] for row in rows] for name in names}
        values = (FORMAT, self.method, list(self.runs), columns, dict(self.settings))
        members = dict(zip(MEMBERS, values, strict=True))
        return json.dumps(members, indent=1, allow_nan=False)

    @classmethod
    @called_by_users
    def from_json(cls, text: str) -> FittedFusion[pl.DataFrame]:
        """A trained method from its JSON text; ``learned`` is a Polars DataFrame."""
        members = _members(text)
        if members is None:
            raise InvalidData(
                f"{shown(text)} is no JSON of a trained method, as .to_json() of this release "
                "writes it"
            )
        _, method, runs, columns, settings = members
        fusion_of(method, TRAINED_FUSIONS)
        table = pl.DataFrame(columns, schema_overrides={"run": pl.String})
        return FittedFusion(method, tuple(runs), table, settings)

    def sentences(self, quotes: Quotes = IN_TEXT) -> list[str]:
        """What it was trained on."""
        n = self.settings.get("n_queries")
        of_queries = "" if n is None else f" and {queries(n)}"
        return [f"{self.method}, trained on {', '.join(self.runs)}{of_queries}"]

    def grids(self, most: int | None = MOST_ROWS) -> list[Grid]:
        """The learned values: a row per rank or segment and a column per run.

        Of one value per run there is a single row.
        """
        rows = records(self.learned)
        names = rows[0] if rows else ("run", "probability")
        *place, value = [name for name in names if name != "run"]
        values_at: dict[tuple[int, ...], dict[str, float]] = {}
        for row in rows:
            at = tuple(row[name] for name in place)
            values_at.setdefault(at, {})[row["run"]] = row[value]
        body = []
        for at in sorted(values_at)[:most]:
            figures = [values_at[at].get(run, 0.0) for run in self.runs]
            places = [Cell(str(x)) for x in at]
            cells = [Cell(number(figure, 4)) for figure in figures]
            body.append((*places, *cells))
        notes = [f"Figures: {value}."]
        if most is not None and len(values_at) > most:
            n = f"{len(values_at):,} {place[0]}s"
            notes.append(f"The first {most} of {n}; .learned has all.")
        return [Grid((), (*place, *self.runs), body, notes)]


def _members(text: str) -> list[Any] | None:
    """The members of the JSON text of a trained method; None for another text."""
    try:
        given = json.loads(text)
        members = [given[name] for name in MEMBERS]
        version, _, runs, columns, _ = members
        has_kinds = all(isinstance(given[name], kind) for name, kind in MEMBERS.items())
        has_lists = all(isinstance(values, list) for values in columns.values())
        is_known = version == FORMAT and {*columns["run"]} <= {*runs}
        lengths = {len(values) for values in columns.values()}
        return members if is_known and has_kinds and has_lists and len(lengths) == 1 else None
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError):
        return None


@verb(gives="whole")
def fit(
    table: Table[R],
    method: str,
    *,
    qrels: object = None,
    normalize: str | None = None,
    missing: Missing | None = None,
    depth: Cutoff | None = None,
    **options: Unpack[OfRuns],
) -> FittedFusion[R]:
    """Train a method of fusion on judged rankings.

    Every query of the table is a training query. A document is relevant if its label is at least
    `on(relevant=...)`; a document without a label is not relevant. Report the
    values of queries on which the method was not trained.

    Parameters
    ----------
    method
        ``"mapfuse"``, ``"posfuse"``, ``"slidefuse(w=5)"``, ``"probfuse(x=25)"``, ``"segfuse"`` or
        ``"bayesfuse"``; ``rf.TRAINED_FUSIONS`` lists them all.
    runs, run
        As for :meth:`fuse`.
    qrels
        The judgments of runs without labels, as for :meth:`tune`.
    normalize, missing
        For segfuse, which multiplies scores: as for :meth:`fuse`. They also hold when the method is
        applied.
    depth
        How many documents of each ranking count, in the training and when the method is applied;
        ``None`` counts all.

    Returns
    -------
    A :class:`rankframe.results.FittedFusion`, which ``df.rank.fuse(fitted)`` applies to a table
    with the same runs; its ``learned`` is a frame of the caller's kind. A LazyFrame is collected
    first.

    Raises
    ------
    InvalidOption
        If the method is unknown or needs no training, or an option is out of its range.
    MissingColumn, InvalidData
        If there are no labels, or no document is relevant; and as for :meth:`fuse` and, with
        `qrels`, :meth:`judge`.

    Examples
    --------
    The first ranking has its relevant documents at ranks 1 and 2, the second at rank 2 alone:

    >>> import polars as pl, rankframe as rf
    >>> train = pl.DataFrame({"query_id": [1, 1, 1], "doc_id": ["a", "b", "c"], "label": [1, 1, 0],
    ...                       "bm25": [9.0, 7, None], "dense": [None, 0.6, 0.8]})
    >>> fitted = train.rank.fusion.fit("posfuse", runs=["bm25", "dense"])
    >>> fitted
    posfuse, trained on bm25, dense and 1 query
    <BLANKLINE>
    rank    bm25   dense
       1  1.0000  0.0000
       2  1.0000  1.0000
    Figures: probability.
    >>> train.rank.fuse(fitted)["score"].to_list()
    [1.0, 2.0, 0.0]
    >>> rf.results.FittedFusion.from_json(fitted.to_json()).method
    'posfuse'
    """
    setup = table.setup
    rows = table.rows
    call = fusion_of(method, TRAINED_FUSIONS, normalize=normalize, missing=missing, depth=depth)
    refuse_bounds(setup)
    chosen = runs_of(options).required()
    names = chosen.names(rows)
    learned = _learned(rows, setup, chosen, names, call)
    numbers = range(len(names))
    run = pl.col("#run").replace_strict(numbers, names, return_dtype=pl.String)
    figures = [x for x in (learned.place, learned.value) if x is not None]
    values = learned.table.select(run.alias("run"), *figures)
    query = chosen.queries(setup).roles.query
    settings = {"n_queries": rows.select(query).n_unique()}
    return FittedFusion(call.text, tuple(names), table.give(values), settings)


def ranker_of(frame: Any) -> Any:
    """The ranker of a table to fuse."""
    ranker = getattr(frame, "rank", None)
    if not hasattr(ranker, "fuse"):
        raise InvalidOption(
            f"{shown(frame)} is no run; give a frame of Polars or pandas, or the path of a file"
        )
    return ranker


FusionMethod: TypeAlias = Annotated[str | FittedFusion[object], ReadInside]
"""A method of fusion: its text, or the result of its training."""


def text_of(method: str | FittedFusion[object]) -> str:
    """The text that names a method."""
    return method.method if isinstance(method, FittedFusion) else method


def runs_for(
    method: str | Call | FittedFusion[object],
    runs: Sequence[str] | Mapping[str, object] | None,
    run: str | None,
) -> Runs:
    """The runs that a caller names; default for a trained method: those of its training."""
    if isinstance(method, FittedFusion) and not runs and run is None:
        return method.where
    if not isinstance(method, (str, Call, FittedFusion)):
        # Anything else is refused here, before the runs are looked at.
        fusion_of(method)
    return Runs.of(runs, run)


def _learned(
    frame: pl.DataFrame, setup: Setup, runs: Runs, names: Sequence[str], call: Call
) -> Learned:
    label = setup.roles.label
    require(frame.schema, label, "label")
    require_number(frame.schema, label, "label")
    options = call.arguments
    depth = options.get("depth", setup.policies.depth)
    entries = entries_of(frame, setup, runs, names, depth=depth, absent=False)
    of_queries = runs.queries(setup)
    label_of_document = entries.documents[label].cast(pl.Float64)
    is_relevant = (label_of_document >= setup.policies.relevant).fill_null(False)
    if not is_relevant.any():
        says = (
            f"no document has a {label!r} of {setup.policies.relevant:g} or more, so there is "
            "nothing to learn; join the judgments, or set the least relevant label, "
        )
        raise InvalidData(says, on(relevant=...))
    of_documents = pl.lit(is_relevant.cast(pl.Float64))
    relevant = of_documents.gather(pl.col("#document"))
    if setup.policies.tie_rule.averages:
        relevant = relevant.mean().over("#list", "#score")
    length = pl.len().over("#list").cast(pl.Float64)
    rows = entries.rows.with_columns(relevant.alias("#relevant"), length.alias("#length"))
    ids = entries.documents.select(of_queries.roles.query)
    # With a label for every document, a query without labels counts, too.
    label_or_none = label_of_document.fill_null(-1)
    labelled = entries.documents.with_columns(label_or_none)
    every_query = replace(entries, documents=labelled)

    def means(metric: str) -> list[float]:
        (call_of_metric,) = parse(metric)
        mean = pl.col(metric).mean()
        columns = []
        for i in range(len(names)):
            table, of_scores = of_run(every_query, i, of_queries)
            values = measure(table, of_scores, call_of_metric).lazy()
            columns.append(values.select(mean))
        return pl.concat(columns).collect().to_series().fill_null(0.0).to_list()

    method = cast(Trained, call.metric)
    defaults = {name: x.default for name, x in method.parameters.items()}
    rankings = JudgedRankings(rows, ids.n_unique(), means)
    return method.learned(rankings, {**defaults, **options})
