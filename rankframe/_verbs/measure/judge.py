"""The tables that one begins with: a run joined with its judgments, and the check of both."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from textwrap import wrap
from typing import Any

import polars as pl
import polars.selectors as cs

from ..._plan.per_query import collect
from ..._results.columns import schema
from ..._results.grid import Cell, Grid, Record, left_out, named, numbers, records
from ..._results.markup import WIDTH, visible
from ..._results.result import MOST_ROWS, Block, Format, R_co, Result
from ..._results.sentences import IN_TEXT, Quotes
from ..._support.option_kinds import Column
from ..._support.polars_versions import collected
from ..._table.check import COLUMNS, PROBLEMS, check as check_frame
from ..._table.roles import carried
from ..._table.run_and_judgments import Tables, Unmatched, unless
from ..._table.setup import Setup
from ..._table.table import R, Table
from ...errors import InvalidData, InvalidOption, did_you_mean, shown
from ..call.declaration import VerbCall, verb


def _judge_lazily(run: pl.LazyFrame, setup: Setup, call: VerbCall) -> pl.LazyFrame:
    """The join as a plan, which refuses what it must when it runs."""
    tables, missed, unjudged = _tables(run, setup, *call.arguments.values())
    tables = tables.of_judged_queries()
    refusals = [*tables.refusals(missed, unjudged), tables.no_common_query(unjudged)]
    return unless(tables.join(missed, unjudged, ordered=False), refusals)


def _tables(
    frame: pl.LazyFrame, setup: Setup, qrels: object, run: str | None, *unmatched: Unmatched | None
) -> tuple[Tables, Unmatched, Unmatched]:
    """The two tables, and the treatment of queries that only one of them has."""
    tables = Tables.of(frame, _frame_of(qrels).lazy(), setup)
    if run is not None:
        tables = tables.with_run(run)
    judged_only, run_only = unmatched
    return tables, judged_only or "keep", run_only or "drop"


@verb(gives="join", lazily=_judge_lazily)
def judge(
    table: Table[Any],
    qrels: object,
    *,
    run: Column | None = None,
    judged_only: Unmatched | None = None,
    run_only: Unmatched | None = None,
) -> pl.DataFrame:
    """The run with its judgments: the full outer join of two tables by query and document.

    Judged documents that the run lacks get a null score, documents that nobody judged a null label.
    If the judgments lack one of the query columns, they apply to each of its values.

    Parameters
    ----------
    qrels
        The judgments: a frame with the query, document and label columns. If it has no column
        ``label``, every row of it counts as label 1. It is an error if another of its columns may
        hold the labels, because it holds numbers or has a usual name of labels. With
        ``on(names=...)`` of a tool that names labels as the run's scores, the result has them under
        the name of the labels' role, as ``label``.
    run
        The column that names the run of each row, if the table holds several runs; judgments are
        then joined with each run. ``None`` for one run. If documents repeat in a query of an eager
        table, ``None`` uses the one column with a usual name (``run``, ``system``, ``model`` ...)
        that distinguishes the repeated rows.
    judged_only
        Judged queries that the run lacks: ``"keep"`` counts them, with nothing retrieved;
        ``"drop"`` leaves them out; ``"error"`` refuses them. ``None`` counts them with a warning
        that gives their number.
    run_only
        Queries of the run that nobody judged, of which all labels are null or there is none:
        ``"drop"`` leaves them out, ``"keep"`` counts them as having no relevant document, by labels
        of -1, ``"error"`` refuses them. ``check(qrels)`` lists them. ``None`` leaves them out with
        a warning that gives their number.

    Returns
    -------
    A frame with the columns of the run, the label, and any further columns of the judgments; one
    row per pair of query and document that either table has. It is its columns, and keeps none of
    this ranker's options: its own `.rank` starts with the defaults, ``judged.rank.on(like=mine)``
    with the columns and policies of the ranker ``mine``. Verbs of several runs are told their
    column by `run`.

    Raises
    ------
    MissingColumn, InvalidData, InvalidOption
        If a column is missing, types of the two tables differ, both have a column of the same name,
        a query is refused, no query of the run is judged, or one of the tables holds a document of
        a query more than once (the judgments may, for several subtopics). Errors in the rows of a
        LazyFrame are raised inside Polars' ``InvalidOperationError`` when it is collected.

    Warns
    -----
    RankframeWarning
        If queries of the run that nobody judged are left out, if judged queries that the run lacks
        count with nothing retrieved, or if no retrieved document is judged, or a tenth of the first
        thousand in other letters alone, as when the two tables write ids differently. A LazyFrame
        does not warn; ``check(qrels)`` reports the same.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> run = pl.DataFrame({"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2.0, 1.0]})
    >>> qrels = pl.DataFrame({"query_id": [1, 1], "doc_id": ["b", "c"], "label": [1, 1]})
    >>> judged = run.rank.judge(qrels)
    >>> judged["doc_id"].to_list(), judged.rank.evaluate("recall")["recall"].item()
    (['a', 'b', 'c'], 0.5)
    """
    rows = table.rows
    setup = table.setup
    tables, missed, unjudged = _tables(rows.lazy(), setup, qrels, run, judged_only, run_only)
    judgments = tables.qrels.collect()
    tables = replace(tables, qrels=judgments.lazy())
    labels = judgments.select(cs.by_name(setup.roles.label, require_all=False))
    if any(column.has_nulls() for column in labels):
        tables = tables.of_judged_queries()
    is_whole = table.whole is None
    repeats = True
    if is_whole:
        tables = tables.with_matches()
        tables.refuse_no_common_query(unjudged)
        tables, repeats = tables.with_usual_run()
    for refusal in tables.refusals(missed, unjudged, repeats=repeats):
        refusal.refuse()
    if is_whole:
        tables.warn(run_only=run_only is None, judged_only=judged_only is None)
    return collect(tables.join(missed, unjudged, ordered=True), rows, setup)


SEVERITIES = ("error", "note")
KINDS = ("severity", "problem", "findings", "rows", "where", "advice")
PLACES = 3
"""The most places that are shown of each kind of finding."""


@dataclass(frozen=True, repr=False)
class Findings(Result[R_co]):
    """The errors in a table, and notes on facts that may surprise in its metrics.

    Attributes
    ----------
    table
        A row per kind of finding, errors first: ``severity`` (``"error"`` stops every metric, or
        :meth:`judge`; ``"note"`` does not), ``problem``, ``findings`` (their number) and ``rows``
        (that of their rows, both UInt32), ``where`` (the first places as text) and ``advice``, what
        to write.
    rows
        A row per finding: ``severity``, ``problem``, the query and document it concerns (null for a
        finding in the whole table), ``rows`` (UInt32, their number) and ``advice``.
    settings
        The policies and versions.
    """

    table: R_co
    rows: R_co
    settings: Mapping[str, Any]

    @classmethod
    def of(
        cls, rows: pl.DataFrame, settings: Mapping[str, Any] | None = None
    ) -> Findings[pl.DataFrame]:
        """The findings in rows, also by kind."""
        kinds = by_kind(rows.to_dicts())
        table = pl.DataFrame(kinds, schema(" ".join(KINDS)), orient="row")
        return Findings(table, rows, settings or {})

    def sentences(self, quotes: Quotes = IN_TEXT) -> list[str]:
        """How many errors and notes there are."""
        by_severity = Counter(row["severity"] for row in records(self.table))
        counts = []
        for severity in SEVERITIES:
            n = by_severity[severity]
            if n:
                counts.append(f"{n} {severity}" if n == 1 else f"{n} {severity}s")
        return [" and ".join(counts) or "Nothing found"]

    def grids(self, most: int | None = MOST_ROWS) -> list[Grid]:
        """A row per kind of finding."""
        rows = []
        for row in records(self.table):
            severity = Cell(row["severity"], best=row["severity"] == "error")
            counts = numbers(row, "findings", "rows", digits=0)
            places = named(row, "where", "advice")
            problem = Cell(row["problem"])
            rows.append((severity, problem, *counts, *places))
        notes = left_out(self, [], None) if rows else ["Nothing found."]
        return [Grid(KINDS[:2], KINDS[2:4], rows, notes, KINDS[4:])]

    def shown(self, how: Format, most: int | None = MOST_ROWS) -> list[Block]:
        """In a terminal the advice stands below, so that rows fit."""
        (grid,) = self.grids(most)
        if not grid.rows:
            return [self.sentences()]
        if how != "text":
            return [self.sentences(), grid]
        advice = [visible(f"{row['problem']}: {row['advice']}") for row in records(self.table)]
        lines: list[str] = []
        for text in (*advice, *grid.notes):
            lines += wrap(text, WIDTH, break_long_words=False)
        without_advice = [row[:-1] for row in grid.rows]
        short = replace(grid, rows=without_advice, after=grid.after[:-1], notes=())
        return [self.sentences(), short, lines]


def _check_lazily(frame: pl.LazyFrame, setup: Setup, call: VerbCall) -> Findings[pl.LazyFrame]:
    """The findings of a table that need not fit into memory."""
    fail_on = call.arguments["fail_on"]
    refuse_unknown(fail_on)
    qrels = _lazy(call.arguments["qrels"])
    findings = collected(check_frame(frame, setup, qrels, str))
    empty = frame.collect_schema().to_frame()
    table = Table[pl.LazyFrame](empty, setup, give=lambda rows: rows.lazy())
    return _findings(findings, table, fail_on)


@verb(gives="table", every_column=True, lazily=_check_lazily)
def check(
    table: Table[R], qrels: object = None, *, fail_on: str | Sequence[str] | None = None
) -> Findings[R]:
    r"""Errors in the table, and notes on facts that may surprise in its metrics.

    Parameters
    ----------
    qrels
        Judgments that the table will be joined with: the check then also reports queries that only
        one of the two tables has, ids written differently and documents judged twice.
    fail_on
        What fails the check: ``"error"``, ``"note"`` for any finding, or the name of a problem. Or
        a list of these, as ``["error", "query without judgments"]``: a contract for the data of a
        pipeline. ``rf.results.PROBLEMS`` has all names.

    Returns
    -------
    A :class:`rankframe.results.Findings`. Its ``table`` has a row per kind of finding, its ``rows``
    one per finding; they are frames of the caller's kind. It prints the kinds with the advice on
    each. A LazyFrame is checked at the call, in streams.

    Notes on the whole table: scores are 1, 2, 3 ... in every query, like ranks; the column of
    scores is called a distance or a rank, and none is negative; many documents are tied with one of
    another label; all labels are relevant, or none is; labels between 0 and 1 are not relevant; no
    retrieved document is judged; what was not retrieved is not there, as after an inner or a left
    join.

    Raises
    ------
    InvalidData
        If there is a finding of `fail_on`.
    InvalidOption
        If `fail_on` names an unknown problem.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> rows = {"query_id": [1, 1], "doc_id": ["a", "a"], "score": [2.5, 1.0], "label": [1, None]}
    >>> df = pl.DataFrame(rows)
    >>> found = df.rank.check()
    >>> print(*repr(found).splitlines()[:4], sep="\n")
    1 error
    <BLANKLINE>
    severity  problem            findings  rows  where
    error     repeated document         1     2  query_id 1, doc_id a
    >>> found.rows["doc_id"].to_list(), found.rows["rows"].to_list()
    (['a'], [2])
    """
    refuse_unknown(fail_on)
    rows = table.rows
    findings = check_frame(rows.lazy(), table.setup, _lazy(qrels), table.spelling)
    return _findings(collect(findings, rows, table.setup), table, fail_on)


def _findings(
    rows: pl.DataFrame, table: Table[R], fail_on: str | Sequence[str] | None
) -> Findings[R]:
    """The findings by kind and in rows; raises if there is one of `fail_on`."""
    findings = Findings.of(rows)
    unwanted = failing(records(findings.table), fail_on)
    if unwanted:
        kinds = ", ".join(map(_kind_in_words, unwanted))
        raise InvalidData(f"check found {kinds}; {unwanted[0]['advice']}")
    return Findings(table.give(findings.table), table.give(rows), findings.settings)


def _kind_in_words(kind: Record) -> str:
    """A kind of finding with its number of rows, and the first places if it has some."""
    places = f": {kind['where']}" if kind["where"] else ""
    return f"{kind['problem']} ({kind['rows']:,} rows{places})"


def refuse_unknown(fail_on: str | Sequence[str] | None) -> None:
    """Refuse the name of a problem that no check finds."""
    known = ("error", "note", *PROBLEMS)
    for name in _names(fail_on):
        if name not in known:
            hint = did_you_mean(name, known)
            raise InvalidOption(f"fail_on: check has no problem {name!r}.{hint}")


def failing(kinds: Sequence[Record], fail_on: str | Sequence[str] | None) -> list[Record]:
    """The kinds of findings that `fail_on` names, by their severity or their problem."""
    names = _names(fail_on)
    if "note" in names:
        return list(kinds)
    return [kind for kind in kinds if kind["severity"] in names or kind["problem"] in names]


def _names(fail_on: str | Sequence[str] | None) -> Sequence[str]:
    """What fails a check, as a list."""
    if isinstance(fail_on, str):
        return [fail_on]
    return fail_on or ()


def by_kind(findings: Sequence[Record]) -> list[dict[str, Any]]:
    """A row per kind of finding, errors first: how many there are, and where the first few are."""
    kinds: dict[tuple[str, str, str], list[Record]] = {}
    for row in findings:
        kind = row["severity"], row["problem"], row["advice"]
        kinds.setdefault(kind, []).append(row)
    rows = []
    for kind in sorted(kinds, key=lambda kind: SEVERITIES.index(kind[0])):
        severity, problem, advice = kind
        findings = kinds[kind]
        places = filter(None, map(_place, findings[:PLACES]))
        more = " ..." if len(findings) > PLACES else ""
        rows.append(
            {
                "severity": severity,
                "problem": problem,
                "findings": len(findings),
                "rows": sum(row["rows"] for row in findings),
                "where": "; ".join(places) + more,
                "advice": advice,
            }
        )
    return rows


def _place(finding: Record) -> str:
    """The query and document that a finding concerns; nothing of one in the whole table."""
    places = []
    for name, value in finding.items():
        if name not in COLUMNS and value is not None:
            places.append(f"{name.removeprefix(carried(''))} {value}")
    return ", ".join(places)


def _lazy(qrels: object) -> pl.LazyFrame | None:
    if qrels is None:
        return None
    return _frame_of(qrels).lazy()


def _frame_of(qrels: object) -> pl.DataFrame | pl.LazyFrame:
    if isinstance(qrels, (pl.DataFrame, pl.LazyFrame)):
        return qrels
    says = f"{shown(qrels)} is no Polars frame of judgments"
    raise InvalidOption(f"{says}; give one, as pl.from_pandas or rf.read_qrels make it")
