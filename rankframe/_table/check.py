"""The findings of a check: errors and notes about a table, one row each."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from typing import TypeAlias

import polars as pl

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
from .figures import figures as figures_of
from .figures import totals
from .policies import IN_WORDS
from .roles import USUAL_NAMES, carried, require
from .run_and_judgments import CHECK, STRANGERS, UNMATCHED, Tables, found_in
from .setup import Setup
from .steps import renamed, types_differ
from .subtopics import documents, row_faults
from .suspicions import FIGURE, suspicions_of
from .table import TEXTS, Table, nameless
from .telling_apart import repeated_document, repeated_in_plan, repeats, telling_apart, usual_runs

COLUMNS = ("severity", "problem", "rows", "tied_fraction", "advice")
"""The columns of a finding, without its place."""


def check(
    frame: pl.LazyFrame,
    setup: Setup,
    qrels: pl.LazyFrame | None = None,
    spelling: Spelling = str,
    *,
    in_memory: bool = False,
) -> pl.LazyFrame:
    """One row per finding: severity, problem, place, number of rows, and advice, as `spelling` writes it."""
    found = findings(frame, setup, qrels, spelling, in_memory=in_memory)
    where = {name: name.removeprefix(carried("")) for name in found.collect_schema() if name not in COLUMNS}
    for name in where.values():
        if name in COLUMNS:
            raise InvalidOption(
                f"check has a column {name!r} of its own, as the table has for its ids; rename that of the table",
                renamed({name: "..."}),
            )
    return found.rename(where)


def findings(
    frame: pl.LazyFrame, setup: Setup, qrels: pl.LazyFrame | None, spelling: Spelling, *, in_memory: bool = False
) -> pl.LazyFrame:
    """The findings, with the caller's columns under `carried` names.

    With `in_memory`, the rows are searched for columns that tell repeated documents apart, to name in the advice.
    """
    note, finding = partial(_note, spelling), partial(_finding, spelling)
    schema = frame.collect_schema()
    parts: list[pl.LazyFrame] = []
    given = setup
    if qrels is not None and setup.roles.subtopic not in schema:  # the judgments usually have it
        setup = setup.changed(subtopic=None)
    has_label = setup.roles.label in schema
    try:
        table = Table.of(setup, schema, label=has_label)
    except RankframeError as error:
        there = [name for name in (*setup.roles.query, setup.roles.doc_name) if name is not None and name in schema]
        return finding(frame, "error", "table", error.parts, there, one=True)
    setup = table.setup
    query = list(setup.roles.query)
    where = query if setup.roles.doc_name is None else [*query, setup.roles.doc_name]
    if setup.roles.subtopic is not None:
        parts += [
            finding(frame.filter(fault.rows), "error", fault.kind, TEXTS[fault.kind](setup), where)
            for fault in row_faults(table)
        ]
        of_docs = setup.changed(subtopic=None)
        rest = findings(
            documents(frame, table, ordered=True, check=False), of_docs, qrels, spelling, in_memory=in_memory
        )
        if table.lists_subtopics:  # a document's subtopics are the relevant ones
            rest = rest.filter(pl.col("problem") != "no labels")
        parts += [rest, *_suspected(frame, Table(setup.changed(category=None), schema), note, [], label=has_label)]
        return pl.concat(parts, how="diagonal")
    for fault in table.faults(label=has_label):
        # Polars 2.0 streams this window as a column, not as a filter
        rows = frame.with_columns(fault.rows.over(query).alias(fault.column)).filter(fault.column)
        if fault.kind == "repeated document":
            nameless = pl.col(str(setup.roles.doc_name)).is_null()
            kind = "document without id"
            parts.append(finding(rows.filter(nameless), "error", kind, TEXTS[kind](setup), where))
            rows = rows.filter(~nameless)
        parts.append(finding(rows, "error", fault.kind, _text_of(fault.kind, setup, frame, in_memory=in_memory), where))
    if setup.roles.doc_name is None and given.roles.doc_is_default:
        parts += [
            finding(
                frame, "note", "documents not named",
                (
                    f"column {name!r} seems to name documents; say ",
                    on(doc=name),
                    ", otherwise ties keep the order of the rows and repeated documents are not seen",
                ), query, one=True,
            )
            for name in [name for name in schema if name.lower() in USUAL_NAMES["doc"] and name not in query][:1]
        ]  # fmt: skip
    if qrels is not None:
        parts += _against(frame, qrels, given.changed(doc=setup.roles.doc), spelling)
    elif not has_label:
        parts.append(finding(frame, "error", "no labels", _message(schema, setup), where, one=True))
    parts.append(
        finding(
            frame.filter(pl.any_horizontal(pl.col(name).is_null() for name in query)),
            "note", "query without id", "rows whose query is null form a query of their own", where,
        )
    )  # fmt: skip
    if has_label:
        relevant = (table.label >= max(setup.policies.relevant, 0)).any().over(query)
        parts.append(
            finding(
                frame.filter(~relevant.fill_null(False)), "note", "no relevant document",
                (
                    "no label of the query reaches ",
                    option(relevant=setup.policies.relevant),
                    "; with ",
                    option(no_relevant=setup.policies.no_relevant),
                    f", {IN_WORDS['no_relevant'][setup.policies.no_relevant]}",
                ), query,
            )
        )  # fmt: skip
        judged = (table.label >= 0).any().over(query)
        parts.append(
            finding(
                frame.filter(~judged.fill_null(False)), "note", "query without judgments",
                "no document of the query is judged; it counts all the same", query,
            )
        )  # fmt: skip
    retrieved = table.score.is_not_null().any().over(query)
    parts.append(
        finding(
            frame.filter(~retrieved), "note", "nothing retrieved",
            "no document of the query has a score; its metrics count nothing found", query,
        )
    )  # fmt: skip
    parts += _of_scores(frame, table, note)
    shows = (["score"], ["label"]) if qrels is not None else (["score", "label"],)
    parts += _suspected(frame, table, note, *(shows if has_label else [["score"]]), label=has_label)
    return pl.concat(parts, how="diagonal")


def _of_scores(frame: pl.LazyFrame, table: Table, note: Note) -> Iterator[pl.LazyFrame]:
    """Notes on the scores of all queries: ties, gaps in ranks."""
    setup = table.setup
    at = [carried(name) for name in setup.roles.query]
    retrieved = frame.filter(table.score.is_not_null()).select(
        *(pl.col(name).alias(key) for name, key in zip(setup.roles.query, at, strict=True)),
        (pl.len().over(*setup.roles.query, table.score) > 1).alias("#tied"),
        table.score.cast(pl.Float64).alias("#score"),
        pl.col(setup.roles.score).cast(pl.Float64).alias("#given"),
    )
    whole = (pl.col("#score") == pl.col("#score").floor()).all()
    queries = retrieved.group_by(at, maintain_order=True).agg(
        pl.len().alias("#n"),
        pl.col("#tied").sum(),
        (whole & (pl.col("#given").min() >= 1)).alias("#whole"),
        (pl.col("#given").max() != pl.col("#given").n_unique()).alias("#gap"),
    )
    n, tied = pl.col("#n"), pl.col("#tied")
    if setup.policies.ties != "error":
        figures = queries.select(
            *(pl.col(key).filter(tied > 0).first() for key in at),
            (tied > 0).sum().alias("#queries"),
            pl.len().alias("#all"),
            tied.sum().alias("rows"),
            (tied.sum() / n.sum()).alias("tied_fraction"),
        )
        by_rows = setup.roles.doc_name is None and setup.policies.ties == "doc_desc"
        says: Text = (
            "documents share a score in {} of {} queries, the first of which is shown; with ",
            option(ties=setup.policies.ties),
            f", {IN_WORDS['ties']['order' if by_rows else setup.policies.ties]}",
        )
        yield note(
            figures.filter(pl.col("rows") > 0), "tied scores", says, *at, "tied_fraction", filled=("#queries", "#all")
        )
    if setup.policies.ascending:
        figures = queries.select(
            *(pl.col(key).filter("#gap").first() for key in at),
            pl.col("#gap").sum().alias("#queries"),
            pl.len().alias("#all"),
            n.filter("#gap").sum().alias("rows"),
            pl.col("#whole").all(),
        )
        says = "ranks leave numbers out in {} of {} queries, the first of which is shown; documents keep their order"
        found = figures.filter(pl.col("#whole") & (pl.col("#queries") > 0))
        yield note(found, "gaps in ranks", says, *at, filled=("#queries", "#all"))


def _suspected(
    frame: pl.LazyFrame, table: Table, note: Note, *columns: Collection[str], label: bool = True
) -> Iterator[pl.LazyFrame]:
    """Notes on the suspicions that some of these columns, of scores and of labels, show."""
    found = totals(figures_of(frame, table, label=label))
    names = {name: pl.col(name) for name in found.collect_schema()}
    for suspicion in suspicions_of(table.setup):
        if any(suspicion.reads <= {*some} for some in columns):
            shown = found.filter(suspicion.holds(table.setup, names)).with_columns(rows=suspicion.rows)
            yield note(shown, suspicion.problem, suspicion.says(table.setup))


def _against(frame: pl.LazyFrame, qrels: pl.LazyFrame, setup: Setup, spelling: Spelling) -> Iterator[pl.LazyFrame]:
    """Findings on a run and its separate judgments."""
    note, finding = partial(_note, spelling), partial(_finding, spelling)
    tables, schema, query = Tables(frame, qrels, setup), qrels.collect_schema(), list(setup.roles.query)
    try:
        tables = tables.labelled()
    except RankframeError as error:
        there = [name for name in query if name in frame.collect_schema()]
        yield finding(frame, "error", "no labels", error.parts, there, one=True)
    if not tables.query:
        require(schema, query[-1], "query", "qrels")
    keys = [name for name in tables.keys if name in schema and name in frame.collect_schema()]
    if differ := types_differ(frame.collect_schema(), schema, keys):
        yield finding(frame, "error", "types differ", differ, query, one=True)
        return
    strangers = frame.select(pl.len().alias("rows")).join(tables.strangers("drop").places, how="cross")
    yield note(strangers, "no common query", STRANGERS, severity="error")
    unjudged = (
        "nobody judged the query (unjudged queries of the run: {}); ",
        Code("judge leaves it out, or keeps it with ", command="it is left out, or counts with "),
        option(run_only="keep"),
    )
    yield finding(tables.run_only, "note", "run only", unjudged, query, filled=(pl.len(),))
    lacking = (
        "the run has nothing for the query; ",
        Code("judge counts it, or leaves it out with ", command="it counts, or is left out with "),
        option(judged_only="drop"),
    )
    yield finding(tables.judged_only, "note", "judged only", lacking, query)
    if keys != tables.query:
        message, places, *_ = tables.qrels_repeat()
        *key, _ = places.collect_schema().names()
        repeated = qrels.join(places, on=key, how="semi", nulls_equal=True, maintain_order="left")
        yield finding(repeated, "error", "repeated judgment", message, tables.keys)
        common = frame.join(qrels, on=tables.query, how="semi", nulls_equal=True).select(pl.len().alias("rows"))
        figures = common.join(tables.matched.select(pl.len().alias("#matched")), how="cross")
        none = (pl.col("rows") > 0) & (pl.col("#matched") == 0)
        yield note(figures.filter(none), "no retrieved document judged", UNMATCHED)
    if setup.roles.label in schema and setup.roles.label not in frame.collect_schema():
        # judgments alone have no scores, and all that is looked for are their labels
        alone = setup.changed(query=tuple(tables.query), doc=None, subtopic=None, category=None, ties="order")
        unscored = qrels.with_columns(pl.lit(None, pl.Float64).alias(setup.roles.score))
        yield from _suspected(unscored, Table(alone, unscored.collect_schema()), note, ["label"])


def fault_in(frame: pl.DataFrame | pl.LazyFrame, setup: Setup, kind: str) -> InvalidData:
    """The error for a fault, with the number of its rows and the first few."""
    kinds = ("document without id", kind) if kind == "repeated document" else (kind,)
    found = findings(frame.lazy(), setup, None, str).filter(pl.col("problem").is_in(kinds)).collect(engine="in-memory")
    kind = found["problem"][0] if found.height else kind
    found = found.filter(problem=kind)
    at: Text = ""
    if not found.is_empty():
        where = [name for name in found.columns if name not in COLUMNS]
        places = found.select(pl.col(name).alias(name.removeprefix(carried(""))) for name in where)
        at = found_in(places, int(found["rows"].sum()), CHECK)
    if kind == "document without id":
        return InvalidData(*nameless(setup, int(found["rows"].sum())), at, kind=kind)
    if kind != "repeated document":
        return InvalidData(*TEXTS[kind](setup), at, kind=kind)
    key = [*setup.roles.query, str(setup.roles.doc_name)]
    return repeats(key, setup, partial(repeated_document, setup), usual_runs(frame.collect_schema().names(), key), at)


def _text_of(kind: str, setup: Setup, frame: pl.LazyFrame, *, in_memory: bool) -> tuple[Text, ...]:
    """The message of a fault; for a repeated document, with the columns that tell its rows apart, if known."""
    if kind != "repeated document":
        return TEXTS[kind](setup)
    key = [*setup.roles.query, str(setup.roles.doc_name)]
    if in_memory:
        return repeated_document(setup, telling_apart(frame, key, setup))
    return repeated_in_plan(frame.collect_schema(), setup)


Note: TypeAlias = Callable[..., pl.LazyFrame]
"""`_note`, bound to a spelling."""


def _note(
    spelling: Spelling,
    figures: pl.LazyFrame,
    problem: str,
    advice: Text,
    *others: str,
    severity: str = "note",
    filled: Sequence[str] = (),
) -> pl.LazyFrame:
    """One finding on the whole table if `figures`, with a column `rows`, has a row."""
    named = [pl.lit(severity).alias("severity"), pl.lit(problem).alias("problem")]
    return figures.select(*named, *others, pl.col("rows").cast(pl.UInt32), _advice(advice, spelling, filled))


def _advice(advice: Text, spelling: Spelling, filled: Sequence[str | pl.Expr]) -> pl.Expr:
    """The column `advice`; values of the columns `filled` replace each ``{}``, and figures their names in braces."""
    sentence = worded(advice, spelling)
    if filled:
        return pl.format(sentence, *filled).alias("advice")
    parts = [pl.col(part).cast(pl.String) if i % 2 else pl.lit(part) for i, part in enumerate(FIGURE.split(sentence))]
    return pl.concat_str(parts).alias("advice")


def _finding(
    spelling: Spelling,
    rows: pl.LazyFrame,
    severity: str,
    problem: str,
    advice: Text,
    where: Sequence[str],
    *,
    one: bool = False,
    filled: Sequence[pl.Expr] = (),
) -> pl.LazyFrame:
    """One finding per distinct place among `rows`; with `one`, a single finding without a place."""
    at = [carried(name) for name in where]
    places = rows.select(pl.col(name).alias(key) for name, key in zip(where, at, strict=True))
    if one or not where:
        schema = pl.Schema({**places.collect_schema(), "rows": pl.UInt32()})
        counted = pl.LazyFrame({name: [None] for name in at} | {"rows": [0]}, schema=schema)
    else:
        counted = places.group_by(at, maintain_order=True).agg(pl.len().cast(pl.UInt32).alias("rows"))
    named = [pl.lit(severity).alias("severity"), pl.lit(problem).alias("problem")]
    share = pl.lit(None, dtype=pl.Float64).alias("tied_fraction")
    return counted.select(*named, *at, "rows", share, _advice(advice, spelling, filled))


def _message(schema: pl.Schema, setup: Setup) -> Text:
    try:
        require(schema, setup.roles.label, "label")
    except RankframeError as error:
        return error.parts
    return ""
