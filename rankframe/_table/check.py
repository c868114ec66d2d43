"""The findings of a check: errors and notes about a table, one row each."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import polars as pl
from polars import selectors as cs

from ..errors import (
    Code,
    InvalidData,
    InvalidOption,
    RankframeError,
    Spelling,
    Text,
    on,
    option,
    worded,
)
from .columns import TEXTS, Columns, nameless
from .figures import Figures, as_json, like, together, usual_runs
from .findings import FINDINGS, findings_of
from .roles import ROW, carried, require
from .run_and_judgments import (
    CHECK,
    NO_COMMON_QUERY,
    UNMATCHED,
    Tables,
    found_in,
    is_usual,
    runs_in,
)
from .setup import Setup
from .steps import renamed
from .subtopics import documents, row_faults
from .table import Table

COLUMNS = ("severity", "problem", "rows", "advice")
"""The columns of a finding, without its place."""

FIGURE = re.compile(r"\{((?:such|all|unjudged) queries)\}")
"""A figure that a sentence names."""


class Listed(NamedTuple):
    """A finding as it is listed: it is listed once for each of its rows.

    Attributes
    ----------
    severity
        ``error`` or ``note``.
    problem
        Its name.
    rows
        Its places under `carried` names, their number of `rows`, and figures; ``problem`` and
        ``advice`` if they are columns, too.
    sentence
        The advice; figures in braces are filled in.
    """

    severity: str
    problem: str
    rows: pl.LazyFrame
    sentence: Text = ""

    def listed(self, spelling: Spelling) -> pl.LazyFrame:
        """The rows of the result, with the advice in a front's spelling."""
        parts = enumerate(FIGURE.split(worded(self.sentence, spelling)))
        advice = pl.concat_str(
            pl.col(part).cast(pl.String) if i % 2 else pl.lit(part) for i, part in parts
        )
        others = {
            "severity": pl.lit(self.severity),
            "problem": pl.lit(self.problem),
            "advice": advice,
        }
        lacking = others.keys() - self.rows.collect_schema().keys()
        rows = self.rows.with_columns(
            pl.col("rows").cast(pl.UInt32), **{x: others[x] for x in lacking}
        )
        return rows.select(*COLUMNS[:2], cs.starts_with(carried("")), *COLUMNS[2:])


class NoteOnRows(NamedTuple):
    """A note on rows, or on queries: its problem, the columns that it needs, the rows, and the
    sentence.
    """

    problem: str
    reads: str
    flag: Callable[[Columns], pl.Expr]
    says: Callable[[Setup], Text]


NOTES = (
    NoteOnRows(
        "query without id", "id", lambda x: pl.any_horizontal(pl.col(name).is_null() for name in x.setup.roles.query),
        lambda _: "rows whose query is null form a query of their own",
    ),
    NoteOnRows(
        "query without judgments", "label", lambda x: ~(x.label >= 0).any(),
        lambda _: "no document of the query is judged; it has no value if no label is there, and " "counts if one is below 0",
    ),
    NoteOnRows(
        "nothing retrieved", "score", lambda x: x.score.is_null().all(),
        lambda _: "no document of the query has a score; its metrics count nothing found",
    ),
)  # fmt: skip
"""The notes on rows and queries."""


OTHERS = (
    "table", "types differ", "no labels", "no common query", "repeated judgment", "document without score", "ids alike",
    "documents not named", "no retrieved document judged",
)  # fmt: skip
PROBLEMS = tuple(
    sorted({*OTHERS, *TEXTS, *(note.problem for note in NOTES), *(x.name for x in FINDINGS)})
)
"""The names of all problems."""


def check(
    frame: pl.LazyFrame, setup: Setup, qrels: pl.LazyFrame | None, spelling: Spelling
) -> pl.LazyFrame:
    """One row per finding: severity, problem, place, number of rows, and advice, as `spelling`
    writes it.
    """
    found = findings(frame, setup, qrels, spelling)
    where = {
        name: name.removeprefix(carried(""))
        for name in found.collect_schema()
        if name not in COLUMNS
    }
    for name in {*where.values()}.intersection(COLUMNS):
        says = (
            f"check has a column {name!r} of its own, as the table has for its ids; rename that "
            "of the table"
        )
        raise InvalidOption(says, renamed({name: "..."}))
    return found.rename(where)


def findings(
    frame: pl.LazyFrame, setup: Setup, qrels: pl.LazyFrame | None, spelling: Spelling
) -> pl.LazyFrame:
    """The findings, with the caller's columns under `carried` names."""
    return pl.concat(
        [found.listed(spelling) for found in _found(frame, setup, qrels)], how="diagonal"
    )


def fault_in(frame: pl.DataFrame | pl.LazyFrame, setup: Setup, kind: str) -> InvalidData:
    """The error for a fault, with the number of its rows and the first few."""
    kinds = ("document without id", kind) if kind == "repeated document" else (kind,)
    table = frame.lazy().drop(ROW, strict=False)
    parts = [found.listed(str) for found in _found(table, setup, None) if found.problem in kinds]
    found = (
        pl.concat(parts, how="diagonal").collect(engine="in-memory") if parts else pl.DataFrame()
    )
    if found.is_empty():
        return InvalidData(*TEXTS[kind](setup), kind=kind)
    kind = found["problem"][0]
    found = found.filter(problem=kind)
    rows = int(found["rows"].sum())
    places = found.select(
        cs.starts_with(carried("")).name.map(lambda name: name.removeprefix(carried("")))
    )
    says = nameless(setup, rows) if kind == "document without id" else TEXTS[kind](setup)
    return InvalidData(*says, found_in(places, rows, CHECK), kind=kind)


def _found(
    frame: pl.LazyFrame, setup: Setup, qrels: pl.LazyFrame | None
) -> Iterator[Listed | NotesOnTable]:
    """The findings in their order."""
    schema, given = frame.collect_schema(), setup
    if qrels is not None and setup.roles.subtopic not in schema:  # the judgments usually have it
        setup = setup.changed(subtopic=None, subtopic_weight=None)
    has_label = setup.roles.label in schema
    try:
        table = Columns.of(setup, schema, label=has_label)
    except RankframeError as error:
        there = [
            name
            for name in (*setup.roles.query, setup.roles.doc_name)
            if name is not None and name in schema
        ]
        yield Listed("error", "table", _nowhere(schema, there), error.parts)
        return
    setup, query, where = table.setup, [*table.setup.roles.query], table.key_of_documents
    if setup.roles.subtopic is not None:
        for fault in row_faults(table):
            yield Listed(
                "error",
                fault.kind,
                _places(frame.filter(fault.rows), where),
                TEXTS[fault.kind](setup),
            )
        docs = documents(frame, table, ordered=True, check=False)
        of_documents = _found(docs, setup.changed(subtopic=None, subtopic_weight=None), qrels)
        # listed subtopics are the relevant ones
        yield from (
            x for x in of_documents if not table.lists_subtopics or x.problem != "no labels"
        )
        yield NotesOnTable(frame, setup.changed(category=None), [[]])
        return
    for fault in table.faults(label=has_label):
        rows = _flagged(frame, fault.rows.over(query))
        if fault.kind == "repeated document":
            unnamed = pl.col(str(setup.roles.doc_name)).is_null()
            of_unnamed = _places(rows.filter(unnamed), where)
            yield Listed(
                "error", "document without id", of_unnamed, TEXTS["document without id"](setup)
            )
            rows = rows.filter(~unnamed)
        yield Listed("error", fault.kind, _places(rows, where), TEXTS[fault.kind](setup))
    usual = [name for name in schema if is_usual(name, "doc") and name not in query]
    if setup.roles.doc_name is None and given.roles.doc is ... and usual:
        otherwise = (
            ", otherwise ties keep the order of the rows and repeated documents are not seen"
        )
        says: Text = (
            f"column {usual[0]!r} seems to name documents; say ",
            on(doc=usual[0]),
            otherwise,
        )
        yield Listed("note", "documents not named", _nowhere(schema, query), says)
    if qrels is not None:
        yield from _against(frame, qrels, given.changed(doc=setup.roles.doc))
    elif not has_label:
        try:
            require(schema, setup.roles.label, "label")
        except RankframeError as error:
            yield Listed("error", "no labels", _nowhere(schema, where), error.parts)
    for note in NOTES:
        if note.reads != "label" or has_label:
            by_row = note.reads == "id"
            rows = _flagged(frame, note.flag(table) if by_row else note.flag(table).over(query))
            yield Listed(
                "note", note.problem, _places(rows, where if by_row else query), note.says(setup)
            )
    shows = (["score"], ["label"]) if qrels is not None else (["score", "label"],)
    yield NotesOnTable(frame, setup, shows if has_label else [["score"]])


@dataclass(frozen=True)
class NotesOnTable:
    """Notes on a whole table, or on each of its runs, that some of these columns, of scores and of
    labels, show.

    Attributes
    ----------
    frame, setup
        The table.
    columns
        Groups of ``score`` and ``label``: a note needs the columns of one group.
    """

    frame: pl.LazyFrame
    setup: Setup
    columns: Sequence[Collection[str]]

    problem = ""

    def listed(self, spelling: Spelling) -> pl.LazyFrame:
        """The rows of the result, with the advice in a front's spelling."""

        def found(rows: pl.DataFrame) -> pl.DataFrame:
            return self.held(
                [(name, Figures(run, self.setup)) for name, run in self._runs(rows)], spelling
            )

        rows = self._read(self.frame)
        rows = rows.map_batches(
            found, predicate_pushdown=False, projection_pushdown=False, schema=self._schema
        )
        return Listed("note", "", rows).listed(spelling)

    def figures(self) -> pl.LazyFrame:
        """Of a part of the table, a row per run with its figures in place of the advice."""

        def found(rows: pl.DataFrame) -> pl.DataFrame:
            runs = self._runs(rows) if rows.height else []
            held = [("", 0, as_json(Figures(run, self.setup)), *name) for name, run in runs]
            return pl.DataFrame(held, self._schema, orient="row")

        rows = self._read(self.frame)
        rows = rows.map_batches(
            found, predicate_pushdown=False, projection_pushdown=False, schema=self._schema
        )
        return Listed("note", "", rows).listed(str)

    def of_parts(self, figures: pl.DataFrame, spelling: Spelling) -> pl.LazyFrame:
        """The rows of the result, from the figures of all parts."""
        runs = [carried(name) for name in runs_in(self.setup)]
        of_run: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
        for text, *name in figures.select("advice", *runs).iter_rows():
            of_run.setdefault(tuple(name), []).append(json.loads(text))
        held = self.held([(name, together(parts)) for name, parts in of_run.items()], spelling)
        return Listed("note", "", held.lazy()).listed(spelling)

    def held(
        self, runs: Sequence[tuple[tuple[Any, ...], Mapping[str, Any]]], spelling: Spelling
    ) -> pl.DataFrame:
        """The notes that hold of each run, by its name and its figures."""
        setup = self.setup
        asked = [
            x for x in findings_of(setup) if any({*x.reads} <= {*some} for some in self.columns)
        ]
        held = [
            (x.name, figures[x.rows], worded(x.says(setup, figures), spelling), *name)
            for name, figures in runs
            for x in asked
            if x.holds(setup, figures)
        ]
        return pl.DataFrame(held, self._schema, orient="row")

    def _read(self, frame: pl.LazyFrame) -> pl.LazyFrame:
        """The columns that figures read."""
        names = frame.collect_schema().names()
        read = {*self.setup.roles.names, *names_of_figures(names, self.setup)}
        return frame.select(name for name in names if name in read)

    def _runs(self, rows: pl.DataFrame) -> list[tuple[tuple[Any, ...], pl.DataFrame]]:
        """The rows of each run by its name; of a table without runs, all."""
        runs = runs_in(self.setup)
        parts = (
            [rows]
            if not runs
            else rows.partition_by(runs, maintain_order=True)
            if rows.height
            else []
        )
        return [(part.select(runs).row(0) if runs else (), part) for part in parts]

    @property
    def _schema(self) -> pl.Schema:
        given = self.frame.collect_schema()
        schema = {"problem": pl.String(), "rows": pl.UInt32(), "advice": pl.String()}
        return pl.Schema(schema | {carried(name): given[name] for name in runs_in(self.setup)})


def names_of_figures(names: Sequence[str], setup: Setup) -> list[str]:
    """The columns without a role that notes on a table look at: those that seem to name runs, and
    those of ranks.
    """
    return [*usual_runs(names, setup), *(name for name in names if like(name) == "rank")]


@dataclass(frozen=True)
class FindingsOfPart:
    """The findings of a part of a table, and its figures, from which the notes on the whole table
    follow.
    """

    setup: Setup

    def __call__(self, part: Table[Any]) -> pl.DataFrame:
        rows = part.rows if part.places is None else part.rows.with_columns(part.places.alias(ROW))
        found = []
        for i, x in enumerate(_found(rows.lazy(), self.setup, None)):
            listed = x.figures() if isinstance(x, NotesOnTable) else x.listed(str)
            found.append(listed.with_columns(pl.lit(i).alias(LISTED)))
        return pl.concat(found, how="diagonal").collect(engine="in-memory")


LISTED = "#listed"
"""The column of the number of a finding among the findings that a table could have."""


def findings_of_table(table: Table[Any], setup: Setup) -> pl.DataFrame:
    """The findings of a table, which may come in parts, with the caller's columns under `carried`
    names.
    """
    if table.parts is None:
        return findings(table.rows.lazy(), setup, None, str).collect(engine="in-memory")
    parts, found = table.by_parts(FindingsOfPart(setup)), []
    of_part = FindingsOfPart(setup)(table)
    for i, x in enumerate(_found(table.rows.lazy(), setup, None)):
        rows = parts.filter(pl.col(LISTED) == i)
        if isinstance(x, NotesOnTable):
            found.append(x.of_parts(rows, str).collect())
            continue
        if (of_part[LISTED] == i).any():  # known without a row
            rows = of_part.filter(pl.col(LISTED) == i)
        order = (
            [ROW]
            if ROW in rows.columns
            else [name for name in rows.columns if name.startswith(carried(""))]
        )
        rows = rows.sort(order).drop(LISTED, ROW, strict=False)
        found.append(rows.with_columns(pl.col("rows").cast(pl.UInt32)))  # engines may widen it
    return pl.concat(found, how="diagonal")


def _against(
    frame: pl.LazyFrame, qrels: pl.LazyFrame, setup: Setup
) -> Iterator[Listed | NotesOnTable]:
    """Findings on a run and its separate judgments."""
    tables = Tables(frame, qrels, setup).with_labels_named()
    qrels = tables.qrels
    schema, others = frame.collect_schema(), qrels.collect_schema()
    query = [*setup.roles.query]
    try:
        tables = tables.labelled()
    except RankframeError as error:
        yield Listed(
            "error",
            "no labels",
            _nowhere(schema, [name for name in query if name in schema]),
            error.parts,
        )
    if not tables.query:
        require(others, query[-1], "query", "qrels")
    keys = [name for name in tables.keys if name in others and name in schema]
    if differ := tables.types_differ(keys):
        yield Listed("error", "types differ", _nowhere(schema, query), differ)
        return
    rows = frame.select(pl.len().alias("rows")).join(
        tables.no_common_query("drop").places, how="cross"
    )
    yield Listed("error", "no common query", rows, NO_COMMON_QUERY)
    rows = _places(tables.of_judged_queries().run_only, query).with_columns(
        pl.len().alias("unjudged queries")
    )
    so = Code("judge leaves it out, or keeps it with ", command="it is left out, or counts with ")
    unjudged = "nobody judged the query (unjudged queries of the run: {unjudged queries}); "
    yield Listed("note", "query without judgments", rows, (unjudged, so, option(run_only="keep")))
    so = Code("judge counts it, or leaves it out with ", command="it counts, or is left out with ")
    missed = "the run has nothing for the query; ", so, option(judged_only="drop")
    yield Listed("note", "nothing retrieved", _places(tables.judged_only, query), missed)
    if setup.roles.score in schema:
        without = frame.filter(pl.col(setup.roles.score).is_null())
        says = "the row has a document and no score, so it counts as not retrieved"
        yield Listed(
            "note",
            "document without score",
            _places(without, [*query, *keys[len(tables.query) :]]),
            says,
        )
    for name in (name for name in keys if schema[name] == pl.String):
        says = (
            f"the judgments write the id of {name!r} in other letters, so it does not match; "
            "write ids alike in both tables"
        )
        yield Listed("note", "ids alike", tables.alike(name), says)
    if keys != tables.query:
        repeat = tables.qrels_repeat()
        *key, _ = repeat.places.collect_schema().names()
        repeated = qrels.join(
            repeat.places, on=key, how="semi", nulls_equal=True, maintain_order="left"
        )
        yield Listed("error", "repeated judgment", _places(repeated, tables.keys), repeat.message)
        common = frame.join(qrels, on=tables.query, how="semi", nulls_equal=True).select(
            pl.len().alias("rows")
        )
        rows = common.join(tables.matched.select(pl.len().alias("#matched")), how="cross")
        rows = rows.filter(pl.col("rows") > 0, pl.col("#matched") == 0)
        yield Listed("note", "no retrieved document judged", rows, UNMATCHED)
    if setup.roles.label in others and setup.roles.label not in schema:
        # judgments alone have no scores, and all that is looked for are their labels
        alone = setup.changed(
            query=tuple(tables.query), doc=None, subtopic=None, category=None, ties="order"
        )
        unscored = qrels.with_columns(pl.lit(None, pl.Float64).alias(setup.roles.score))
        yield NotesOnTable(unscored, alone, [["label"]])


def _flagged(frame: pl.LazyFrame, flag: pl.Expr) -> pl.LazyFrame:
    """The rows with the flag; Polars 2.0 streams a window as a column, not as a filter."""
    return frame.with_columns(flag.fill_null(False).alias("#flag")).filter("#flag")


def _places(rows: pl.LazyFrame, where: Sequence[str]) -> pl.LazyFrame:
    """The distinct places of the rows, with their number of rows."""
    places = [pl.col(name).alias(carried(name)) for name in where]
    first = [pl.col(ROW).first()] if ROW in rows.collect_schema() else []
    return rows.group_by(places, maintain_order=True).agg(pl.len().alias("rows"), *first)


def _nowhere(schema: pl.Schema, where: Sequence[str]) -> pl.LazyFrame:
    """A row without a place."""
    places = pl.DataFrame(schema={carried(name): schema[name] for name in where})
    return places.clear(1).lazy().select(pl.all(), pl.lit(0, pl.UInt32).alias("rows"))
