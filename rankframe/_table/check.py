"""The findings of a check: errors and notes about a table, one row each."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

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

Run: TypeAlias = tuple[Any, ...]
"""The name of a run, by the columns that name it; empty in a table without runs."""

WITHOUT_ID = "document without id"

FIGURE = re.compile(r"\{((?:such|all|unjudged) queries)\}")
"""A figure that a sentence names."""


class Listed(NamedTuple):
    """A finding as it is listed: it is listed once for each of its rows.

    Attributes
    ----------
    problem
        Its name, which says how severe it is.
    rows
        Its places under `carried` names, their number of `rows`, and figures; ``problem`` and
        ``advice`` if they are columns, too.
    sentence
        The advice; figures in braces are filled in.
    """

    problem: str
    rows: pl.LazyFrame
    sentence: Text = ""

    def listed(self, spelling: Spelling) -> pl.LazyFrame:
        """The rows of the result, with the advice in a front's spelling."""
        sentence = worded(self.sentence, spelling)
        texts = {
            "severity": pl.lit("error" if self.problem in ERRORS else "note"),
            "problem": pl.lit(self.problem),
            "advice": _with_figures(sentence),
        }
        lacking = texts.keys() - self.rows.collect_schema().keys()
        new = {name: texts[name] for name in lacking}
        n_rows = pl.col("rows").cast(pl.UInt32)
        rows = self.rows.with_columns(n_rows, **new)
        return rows.select(*COLUMNS[:2], cs.starts_with(carried("")), *COLUMNS[2:])

    def of_part(self) -> pl.LazyFrame:
        """The rows of a part of a table, whose sentences no front has to spell yet."""
        return self.listed(str)


def _with_figures(sentence: str) -> pl.Expr:
    """A sentence in which figures in braces are filled in from the columns of their names."""
    parts = FIGURE.split(sentence)
    texts = [pl.lit(part) for part in parts]
    texts[1::2] = [pl.col(name).cast(pl.String) for name in parts[1::2]]
    return pl.concat_str(texts)


class NoteOnRows(NamedTuple):
    """A note on rows, or on queries: its problem, the columns it needs, the rows, the sentence."""

    problem: str
    reads: str
    flag: Callable[[Columns], pl.Expr]
    says: Callable[[Setup], Text]


NOTES = (
    NoteOnRows(
        "query without id", "id",
        lambda x: pl.any_horizontal(pl.col(x.setup.roles.query).is_null()),
        lambda _: "rows whose query is null form a query of their own",
    ),
    NoteOnRows(
        "query without judgments", "label", lambda x: ~(x.label >= 0).any(),
        lambda _: (
            "no document of the query is judged; it has no value if no label is there, and "
            "counts if one is below 0"
        ),
    ),
    NoteOnRows(
        "nothing retrieved", "score", lambda x: x.score.is_null().all(),
        lambda _: "no document of the query has a score; its metrics count nothing found",
    ),
)  # fmt: skip
"""The notes on rows and queries."""


ERRORS = frozenset(
    {*TEXTS, "table", "types differ", "no labels", "no common query", "repeated judgment"}
)
"""The names of the problems without whose repair there is no number; the others are notes."""

OF_COLUMNS = ("documents not named", "document without score", "ids alike")
"""The names of notes on what columns, or a run and its judgments, seem to hold."""

PROBLEMS = tuple(
    sorted({*ERRORS, *OF_COLUMNS, *(x.problem for x in NOTES), *(x.name for x in FINDINGS)})
)
"""The names of all problems."""


def check(
    frame: pl.LazyFrame, setup: Setup, qrels: pl.LazyFrame | None, spelling: Spelling
) -> pl.LazyFrame:
    """One row per finding: severity, problem, place, number of rows, and advice in a spelling."""
    rows = findings(frame, setup, qrels, spelling)
    places = [name for name in rows.collect_schema() if name not in COLUMNS]
    names = {name: name.removeprefix(carried("")) for name in places}
    for name in {*names.values()}.intersection(COLUMNS):
        says = (
            f"check has a column {name!r} of its own, as the table has for its ids; rename that "
            "of the table"
        )
        raise InvalidOption(says, renamed({name: "..."}))
    return rows.rename(names)


def findings(
    frame: pl.LazyFrame, setup: Setup, qrels: pl.LazyFrame | None, spelling: Spelling
) -> pl.LazyFrame:
    """The findings, with the caller's columns under `carried` names."""
    tables = [finding.listed(spelling) for finding in _findings(frame, setup, qrels)]
    return pl.concat(tables, how="diagonal")


def fault_in(frame: pl.DataFrame | pl.LazyFrame, setup: Setup, kind: str) -> InvalidData:
    """The error for a fault, with the number of its rows and the first few."""
    kinds = {kind, WITHOUT_ID} if kind == "repeated document" else {kind}
    table = frame.lazy().drop(ROW, strict=False)
    every = _findings(table, setup, None)
    tables = [finding.listed(str) for finding in every if finding.problem in kinds]
    if not tables:
        return InvalidData(*TEXTS[kind](setup), kind=kind)
    faults = pl.concat(tables, how="diagonal").collect(engine="in-memory")
    if faults.is_empty():
        return InvalidData(*TEXTS[kind](setup), kind=kind)
    kind = faults["problem"][0]
    faults = faults.filter(problem=kind)
    n_rows = int(faults["rows"].sum())
    at = cs.starts_with(carried(""))
    places = faults.select(at.name.map(lambda name: name.removeprefix(carried(""))))
    says = nameless(setup, n_rows) if kind == WITHOUT_ID else TEXTS[kind](setup)
    return InvalidData(*says, found_in(places, n_rows, CHECK), kind=kind)


def _findings(
    frame: pl.LazyFrame, setup: Setup, qrels: pl.LazyFrame | None
) -> Iterator[Listed | NotesOnTable]:
    """The findings in their order."""
    schema = frame.collect_schema()
    given = setup
    if qrels is not None and setup.roles.subtopic not in schema:  # the judgments usually have it
        setup = setup.changed(subtopic=None, subtopic_weight=None)
    has_label = setup.roles.label in schema
    try:
        table = Columns.of(setup, schema, label=has_label)
    except RankframeError as error:
        ids = (*setup.roles.query, setup.roles.doc_name)
        there = [name for name in ids if name is not None and name in schema]
        yield Listed("table", _nowhere(schema, there), error.parts)
        return
    setup = table.setup
    if setup.roles.subtopic is not None:
        yield from _on_subtopics(frame, table, qrels)
        return
    yield from _faults(frame, table, has_label=has_label)
    if given.roles.doc is ...:
        yield from _on_names_of_documents(table)
    if qrels is not None:
        yield from _against(frame, qrels, given.changed(doc=setup.roles.doc))
    elif not has_label:
        try:
            require(schema, setup.roles.label, "label")
        except RankframeError as error:
            nowhere = _nowhere(schema, table.key_of_documents)
            yield Listed("no labels", nowhere, error.parts)
    yield from _notes(frame, table, has_label=has_label)
    columns: Sequence[list[str]] = (["score"], ["label"])
    if not has_label:
        columns = [["score"]]
    elif qrels is None:
        columns = [["score", "label"]]
    yield NotesOnTable(frame, setup, columns)


def _on_subtopics(
    frame: pl.LazyFrame, table: Columns, qrels: pl.LazyFrame | None
) -> Iterator[Listed | NotesOnTable]:
    """The findings on subtopics, then those on documents, each with one row."""
    setup = table.setup
    for fault in row_faults(table):
        places = _places(frame.filter(fault.rows), table.key_of_documents)
        yield Listed(fault.kind, places, TEXTS[fault.kind](setup))
    docs = documents(frame, table, ordered=True, check=False)
    of_docs = setup.changed(subtopic=None, subtopic_weight=None)
    for finding in _findings(docs, of_docs, qrels):
        # listed subtopics are the relevant ones
        if not table.lists_subtopics or finding.problem != "no labels":
            yield finding
    yield NotesOnTable(frame, setup.changed(category=None), [[]])


def _faults(frame: pl.LazyFrame, table: Columns, *, has_label: bool) -> Iterator[Listed]:
    """The errors on rows."""
    setup = table.setup
    where = table.key_of_documents
    for fault in table.faults(label=has_label):
        kind = fault.kind
        rows = _flagged(frame, fault.rows.over(setup.roles.query))
        if kind == "repeated document":
            has_id = pl.col(str(setup.roles.doc_name)).is_not_null()
            places = _places(rows.filter(~has_id), where)
            yield Listed(WITHOUT_ID, places, TEXTS[WITHOUT_ID](setup))
            rows = rows.filter(has_id)
        yield Listed(kind, _places(rows, where), TEXTS[kind](setup))


def _on_names_of_documents(table: Columns) -> Iterator[Listed]:
    """A note on a column that seems to name documents, where none does."""
    roles = table.setup.roles
    usual = [name for name in table.schema if is_usual(name, "doc") and name not in roles.query]
    if roles.doc_name is not None or not usual:
        return
    says = f"column {usual[0]!r} seems to name documents; say "
    otherwise = ", otherwise ties keep the order of the rows and repeated documents are not seen"
    nowhere = _nowhere(table.schema, roles.query)
    yield Listed("documents not named", nowhere, (says, on(doc=usual[0]), otherwise))


def _notes(frame: pl.LazyFrame, table: Columns, *, has_label: bool) -> Iterator[Listed]:
    """The notes on rows and queries."""
    query = table.setup.roles.query
    for note in NOTES:
        if note.reads == "label" and not has_label:
            continue
        flag = note.flag(table)
        where: Sequence[str] = table.key_of_documents
        if note.reads != "id":
            flag = flag.over(query)
            where = query
        places = _places(_flagged(frame, flag), where)
        yield Listed(note.problem, places, note.says(table.setup))


@dataclass(frozen=True)
class NotesOnTable:
    """Notes on a whole table, or on each of its runs, that some of these columns show.

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

        def notes(rows: pl.DataFrame) -> pl.DataFrame:
            runs = [(name, Figures(run, self.setup)) for name, run in self._runs(rows)]
            return self._notes(runs, spelling)

        return self._of_batches(notes).listed(spelling)

    def of_part(self) -> pl.LazyFrame:
        """Of a part of the table, a row per run with its figures in place of the advice."""

        def figures(rows: pl.DataFrame) -> pl.DataFrame:
            texts = []
            for name, run in self._runs(rows) if rows.height else ():
                text = as_json(Figures(run, self.setup))
                texts.append(("", 0, text, *name))
            return pl.DataFrame(texts, self._schema, orient="row")

        return self._of_batches(figures).listed(str)

    def of_parts(self, figures: pl.DataFrame, spelling: Spelling) -> pl.LazyFrame:
        """The rows of the result, from the figures of all parts."""
        run = [carried(name) for name in runs_in(self.setup)]
        parts_of_run: dict[Run, list[Mapping[str, Any]]] = {}
        for text, *name in figures.select("advice", *run).iter_rows():
            parts = parts_of_run.setdefault(tuple(name), [])
            parts.append(json.loads(text))
        runs = [(name, together(parts)) for name, parts in parts_of_run.items()]
        notes = self._notes(runs, spelling)
        return Listed("", notes.lazy()).listed(spelling)

    def _notes(
        self, runs: Sequence[tuple[Run, Mapping[str, Any]]], spelling: Spelling
    ) -> pl.DataFrame:
        """The notes that hold of each run, by its name and its figures."""
        setup = self.setup
        shown = [x for x in findings_of(setup) if self._show(x.reads)]
        notes = []
        for name, figures in runs:
            for finding in shown:
                if finding.holds(setup, figures):
                    n_rows = figures[finding.rows]
                    advice = worded(finding.says(setup, figures), spelling)
                    notes.append((finding.name, n_rows, advice, *name))
        return pl.DataFrame(notes, self._schema, orient="row")

    def _show(self, columns: Collection[str]) -> bool:
        """Whether one group of columns has all of these."""
        return any({*columns}.issubset(group) for group in self.columns)

    def _of_batches(self, work: Callable[[pl.DataFrame], pl.DataFrame]) -> Listed:
        """The result of a function of the columns that figures read."""
        names = self.frame.collect_schema().names()
        read = {*self.setup.roles.names, *names_of_figures(names, self.setup)}
        rows = self.frame.select(name for name in names if name in read)
        rows = rows.map_batches(
            work, predicate_pushdown=False, projection_pushdown=False, schema=self._schema
        )
        return Listed("", rows)

    def _runs(self, rows: pl.DataFrame) -> list[tuple[Run, pl.DataFrame]]:
        """The rows of each run by its name; of a table without runs, all."""
        run = runs_in(self.setup)
        if not run:
            return [((), rows)]
        if not rows.height:
            return []
        return [(part.select(run).row(0), part) for part in rows.partition_by(run)]

    @property
    def _schema(self) -> pl.Schema:
        given = self.frame.collect_schema()
        schema = {"problem": pl.String(), "rows": pl.UInt32(), "advice": pl.String()}
        places = {carried(name): given[name] for name in runs_in(self.setup)}
        return pl.Schema(schema | places)


def names_of_figures(names: Sequence[str], setup: Setup) -> list[str]:
    """The columns without a role that notes on a table look at: names of runs, and ranks."""
    ranks = [name for name in names if like(name) == "rank"]
    return [*usual_runs(names, setup), *ranks]


@dataclass(frozen=True)
class FindingsOfPart:
    """The findings of a part of a table, and its figures, of which those of the table are made."""

    setup: Setup

    def __call__(self, part: Table[Any]) -> pl.DataFrame:
        rows = part.rows
        if part.places is not None:
            rows = rows.with_columns(part.places.alias(ROW))
        tables = []
        for number, finding in enumerate(_findings(rows.lazy(), self.setup, None)):
            listed = finding.of_part()
            tables.append(listed.with_columns(pl.lit(number).alias(LISTED)))
        return pl.concat(tables, how="diagonal").collect(engine="in-memory")


LISTED = "#listed"
"""The column of the number of a finding among the findings that a table could have."""


def findings_of_table(table: Table[Any], setup: Setup) -> pl.DataFrame:
    """The findings of a table, which may be in parts, with the caller's columns as `carried`."""
    empty = table.rows.lazy()
    if table.parts is None:
        return findings(empty, setup, None, str).collect(engine="in-memory")
    of_part = FindingsOfPart(setup)
    of_parts = table.by_parts(of_part)
    of_schema = of_part(table)
    tables = []
    for number, finding in enumerate(_findings(empty, setup, None)):
        has_number = pl.col(LISTED) == number
        rows = of_parts.filter(has_number)
        if isinstance(finding, NotesOnTable):
            tables.append(finding.of_parts(rows, str).collect())
            continue
        known = of_schema.filter(has_number)  # known without a row
        tables.append(_in_order(rows if known.is_empty() else known))
    return pl.concat(tables, how="diagonal")


def _in_order(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows of a finding of all parts, as those of a whole table."""
    order = [ROW]
    if ROW not in rows.columns:
        order = [name for name in rows.columns if name.startswith(carried(""))]
    rows = rows.sort(order).drop(LISTED, ROW, strict=False)
    return rows.with_columns(pl.col("rows").cast(pl.UInt32))  # engines may widen it


def _against(
    frame: pl.LazyFrame, qrels: pl.LazyFrame, setup: Setup
) -> Iterator[Listed | NotesOnTable]:
    """Findings on a run and its separate judgments."""
    tables = Tables(frame, qrels, setup).with_labels_named()
    qrels = tables.qrels
    schema = frame.collect_schema()
    others = qrels.collect_schema()
    query = [*setup.roles.query]
    try:
        tables = tables.labelled()
    except RankframeError as error:
        there = [name for name in query if name in schema]
        yield Listed("no labels", _nowhere(schema, there), error.parts)
    if not tables.query:
        require(others, query[-1], "query", "qrels")
    keys = [name for name in tables.keys if name in others and name in schema]
    if differ := tables.types_differ(keys):
        yield Listed("types differ", _nowhere(schema, query), differ)
        return
    yield from _on_queries(tables)
    if setup.roles.score in schema:
        without = frame.filter(pl.col(setup.roles.score).is_null())
        place = [*query, *keys[len(tables.query) :]]
        says = "the row has a document and no score, so it counts as not retrieved"
        yield Listed("document without score", _places(without, place), says)
    for name in keys:
        if schema[name] == pl.String:
            says = (
                f"the judgments write the id of {name!r} in other letters, so it does not match; "
                "write ids alike in both tables"
            )
            yield Listed("ids alike", tables.alike(name), says)
    if keys != tables.query:
        yield from _on_judged_documents(tables)
    label = setup.roles.label
    if label in others and label not in schema:
        # judgments alone have no scores, and all that is looked for are their labels
        alone = setup.changed(
            query=tuple(tables.query), doc=None, subtopic=None, category=None, ties="order"
        )
        no_score = pl.lit(None, pl.Float64).alias(setup.roles.score)
        yield NotesOnTable(qrels.with_columns(no_score), alone, [["label"]])


def _on_queries(tables: Tables) -> Iterator[Listed]:
    """Findings on queries that the run or its judgments lack."""
    query = [*tables.setup.roles.query]
    n_rows = tables.run.select(pl.len().alias("rows"))
    no_common = tables.no_common_query("drop").places
    rows = n_rows.join(no_common, how="cross")
    yield Listed("no common query", rows, NO_COMMON_QUERY)
    unjudged = _places(tables.of_judged_queries().run_only, query)
    unjudged = unjudged.with_columns(pl.len().alias("unjudged queries"))
    says = "nobody judged the query (unjudged queries of the run: {unjudged queries}); "
    so = Code("judge leaves it out, or keeps it with ", command="it is left out, or counts with ")
    advice = (says, so, option(run_only="keep"))
    yield Listed("query without judgments", unjudged, advice)
    missed = _places(tables.judged_only, query)
    so = Code("judge counts it, or leaves it out with ", command="it counts, or is left out with ")
    advice = ("the run has nothing for the query; ", so, option(judged_only="drop"))
    yield Listed("nothing retrieved", missed, advice)


def _on_judged_documents(tables: Tables) -> Iterator[Listed]:
    """Findings on the documents that judgments name."""
    frame = tables.run
    qrels = tables.qrels
    repeat = tables.qrels_repeat()
    *key, _ = repeat.places.collect_schema().names()
    repeated = qrels.join(
        repeat.places, on=key, how="semi", nulls_equal=True, maintain_order="left"
    )
    yield Listed("repeated judgment", _places(repeated, tables.keys), repeat.message)
    common = frame.join(qrels, on=tables.query, how="semi", nulls_equal=True)
    n_common = common.select(pl.len().alias("rows"))
    n_matched = tables.matched.select(pl.len().alias("#matched"))
    rows = n_common.join(n_matched, how="cross")
    rows = rows.filter(pl.col("rows") > 0, pl.col("#matched") == 0)
    yield Listed("no retrieved document judged", rows, UNMATCHED)


def _flagged(frame: pl.LazyFrame, flag: pl.Expr) -> pl.LazyFrame:
    """The rows with the flag; Polars 2.0 streams a window as a column, not as a filter."""
    return frame.with_columns(flag.fill_null(False).alias("#flag")).filter("#flag")


def _places(rows: pl.LazyFrame, where: Sequence[str]) -> pl.LazyFrame:
    """The distinct places of the rows, with their number of rows."""
    places = [pl.col(name).alias(carried(name)) for name in where]
    n_rows = pl.len().alias("rows")
    first = [pl.col(ROW).first()] if ROW in rows.collect_schema() else []
    return rows.group_by(places, maintain_order=True).agg(n_rows, *first)


def _nowhere(schema: pl.Schema, where: Sequence[str]) -> pl.LazyFrame:
    """A row without a place."""
    places = pl.DataFrame(schema={carried(name): schema[name] for name in where})
    n_rows = pl.lit(0, pl.UInt32).alias("rows")
    return places.clear(1).lazy().select(pl.all(), n_rows)
