"""Tables in parts: the three methods of an engine, and how every verb runs on them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, Protocol, TypeVar

import polars as pl

from .._catalog.call import Call
from .._plan.per_query import (
    LARGEST,
    measure,
    needs_largest_label,
    setup_of_largest,
    takes_largest_label,
)
from .._table.check import names_of_figures
from .._table.run_and_judgments import Unmatched
from .._table.runs import RUN, Runs
from .._table.setup import Setup
from .._table.table import OfPart, Table, Whole, in_memory, unchanged
from .._table.ties import TIE_RULES
from .._verbs.call.declaration import Mergeable, VerbCall, call_of_verb
from .._verbs.call.top_grade import warn_of_top_grade
from .._verbs.measure.evaluate import evaluate
from .._verbs.measure.judge import judge
from ..errors import InvalidOption

F = TypeVar("F")


class Work(Protocol):
    """A task on a part of a table, and on the part of a second table with the same keys."""

    @abstractmethod
    def __call__(self, frame: pl.DataFrame, *others: pl.DataFrame) -> pl.DataFrame:
        """The result for the part."""

    @property
    @abstractmethod
    def kept(self) -> Mapping[str, str]:
        """The result's columns taken from the first table, by their names there.

        They keep their types.
        """


class Frames(Protocol[F]):
    """A worker's kind of frames."""

    @abstractmethod
    def run(self, call: VerbCall, frame: F, setup: Setup, whole: Whole) -> F:
        """Run a verb on a frame, a part of a table."""

    @abstractmethod
    def for_each(self, runs: pl.DataFrame, qrels: F, frame: F) -> F:
        """The judgments, repeated for each of the runs, which have the dtypes of the frame."""


class PolarsFrames:
    """Frames as the verbs take them."""

    def run(self, call: VerbCall, frame: pl.DataFrame, setup: Setup, whole: Whole) -> pl.DataFrame:
        """Run the verb."""
        result: pl.DataFrame = call.on(in_memory(frame, setup, whole))
        return result

    def for_each(
        self, runs: pl.DataFrame, qrels: pl.DataFrame, frame: pl.DataFrame
    ) -> pl.DataFrame:
        """A cross join."""
        return runs.join(qrels, how="cross")


@dataclass(frozen=True)
class OnQueries:
    """A verb that works query by query.

    Attributes
    ----------
    call, setup
        The call of the verb, and the setup.
    whole
        Facts of the whole table.
    judging
        The task that joins the part with its judgments before the verb runs.
    runs
        For a join: all runs of the whole table, if judgments hold for each.
    """

    call: VerbCall
    setup: Setup
    whole: Whole = Whole()  # noqa: RUF009 - frozen
    judging: OnQueries | None = None
    runs: pl.DataFrame | None = None

    def __call__(self, frame: pl.DataFrame, *others: pl.DataFrame) -> pl.DataFrame:
        return self.on(PolarsFrames(), frame, *others)

    def on(self, kind: Frames[F], frame: F, *others: F) -> F:
        """The result for frames of a kind; a join takes a second one."""
        if self.judging is not None:
            frame = self.judging.on(kind, frame, *others)
            others = ()
        call = self.call
        for qrels in others:
            if self.runs is not None:
                qrels = kind.for_each(self.runs, qrels, frame)
            call = call.changed(qrels=qrels)
        return kind.run(call, frame, self.setup, self.whole)

    @property
    def kept(self) -> Mapping[str, str]:
        """The run and query columns of a per-query result; of new rows, also document and label."""
        roles = self.setup.roles
        gives = self.call.verb.gives
        if gives not in ("query", "list"):
            return {}
        of_list = (roles.doc_name, roles.label) if gives == "list" else ()
        of_runs = () if self.call.verb.combines_runs else self.call.runs.key
        names = (*of_runs, *roles.query, *of_list)
        return {name: name for name in names if name is not None}


def _joined(judging: OnQueries | None, frame: pl.DataFrame, *others: pl.DataFrame) -> pl.DataFrame:
    return frame if judging is None else judging(frame, *others)


@dataclass(frozen=True)
class OnPart:
    """A function of a part of a table, whose results together are few enough to be collected.

    Attributes
    ----------
    work
        The function.
    setup, whole, judging
        As for `OnQueries`.
    """

    work: OfPart
    setup: Setup
    whole: Whole
    judging: OnQueries | None = None

    def __call__(self, frame: pl.DataFrame, *others: pl.DataFrame) -> pl.DataFrame:
        rows = _joined(self.judging, frame, *others)
        return self.work(Table(rows, self.setup, self.whole))

    @property
    def kept(self) -> Mapping[str, str]:
        """The query columns."""
        return {name: name for name in self.setup.roles.query}


@dataclass(frozen=True)
class RowsOf:
    """The rows of some queries in a part of a table."""

    queries: pl.DataFrame

    def __call__(self, part: Table[Any]) -> pl.DataFrame:
        rows = part.rows
        names = self.queries.columns
        queries = self.queries.cast({name: rows.schema[name] for name in names})
        return rows.join(queries, on=names, how="semi", nulls_equal=True, maintain_order="left")


@dataclass(frozen=True)
class Partial:
    """The figures of a part, which holds whole queries."""

    figures: Mergeable
    judging: OnQueries | None = None

    def __call__(self, frame: pl.DataFrame, *others: pl.DataFrame) -> pl.DataFrame:
        return self.figures.part(_joined(self.judging, frame, *others))

    @property
    def kept(self) -> Mapping[str, str]:
        """The slices that are columns of the table, under internal names."""
        return {at: name for at, name in self.figures.slices.items() if at != RUN}


@dataclass(frozen=True)
class Merged:
    """Merge the figures of parts."""

    figures: Mergeable

    def __call__(self, frame: pl.DataFrame, *others: pl.DataFrame) -> pl.DataFrame:
        return self.figures.merge(frame)

    @property
    def kept(self) -> Mapping[str, str]:
        """The slices, under the caller's names."""
        return {name: at for at, name in self.figures.slices.items()}


@dataclass(frozen=True)
class LargestLabel:
    """The largest label of a part.

    It is that of its rows, or of the documents that count in a ranking of whole queries.
    """

    setup: Setup
    ranked: bool
    judging: OnQueries | None = None

    def __call__(self, frame: pl.DataFrame, *others: pl.DataFrame) -> pl.DataFrame:
        label = pl.col(self.setup.roles.label)
        if self.ranked:
            rows = _joined(self.judging, frame, *others)
            frame = measure(rows, self.setup, LARGEST)
            label = pl.col(LARGEST.text)
        label = label.cast(pl.Float64)
        largest = label.filter(label.is_finite()).max()
        return frame.select(largest.alias("largest_label"))

    @property
    def kept(self) -> Mapping[str, str]:
        """No column of the table."""
        return {}


@dataclass(frozen=True)
class Distinct:
    """The distinct values of columns in a part."""

    names: tuple[str, ...]

    def __call__(self, frame: pl.DataFrame, *others: pl.DataFrame) -> pl.DataFrame:
        return frame.select(self.names).unique(maintain_order=True)

    @property
    def kept(self) -> Mapping[str, str]:
        """All columns."""
        return {name: name for name in self.names}


T = TypeVar("T")


@dataclass(frozen=True)
class Side(Generic[T]):
    """A table in parts, and its columns that workers need."""

    table: T
    names: Sequence[str]

    def only(self, needed: Collection[str]) -> Side[T]:
        """The table with the needed columns only."""
        return Side(self.table, [name for name in self.names if name in needed])


class Engine(Protocol[T]):
    """A library that holds tables in parts; these methods let every verb run on them."""

    name: str
    """The name of a table."""
    advice: str
    """Advice if a verb needs the whole table."""

    @abstractmethod
    def schema(self, table: T, read: Collection[str] | None) -> pl.DataFrame:
        """An empty frame with the table's columns.

        Columns that are not read may have any type; ``None`` reads all.
        """

    @abstractmethod
    def by_key(self, work: Work, key: Sequence[str] | None, *sides: Side[T]) -> T:
        """Run the work on parts of one or two tables.

        All rows with the same values of the key come to one part, all rows if it has no columns;
        without a key, rows are in any part. The result is a
        table that is computed when the caller asks for it.
        """

    @abstractmethod
    def collect(self, table: T) -> pl.DataFrame:
        """The rows of a small result, computed now."""


@dataclass(frozen=True)
class PartsOfEngine(Generic[T]):
    """A table of an engine as parts of a table: their results are collected.

    Attributes
    ----------
    engine, sides, key
        The engine, the table, with its judgments if they are apart, and the key that brings rows of
        a query together.
    setup, whole, judging
        As for `OnQueries`.
    """

    engine: Engine[T]
    sides: Sequence[Side[T]]
    key: Sequence[str]
    setup: Setup
    whole: Whole
    judging: OnQueries | None = None

    ordered: bool = False

    def each(self, work: OfPart) -> pl.DataFrame:
        """The results of the function of each part."""
        on_part = OnPart(work, self.setup, self.whole, self.judging)
        results = self.engine.by_key(on_part, self.key, *self.sides)
        return self.engine.collect(results)

    def of_queries(self, queries: pl.DataFrame) -> Table[Any]:
        """The rows of the queries, collected."""
        rows = self.each(RowsOf(queries))
        return Table(rows, self.setup, self.whole)


def run(
    engine: Engine[T],
    table: T,
    setup: Setup,
    call: VerbCall,
    *,
    qrels: T | None = None,
    judged_only: Unmatched = "keep",
    run_only: Unmatched = "drop",
    give: Callable[[pl.DataFrame], Any] = unchanged,
) -> Any:
    """Run a verb on a table in parts; with `qrels`, on the table joined with its judgments.

    The result is such a table; of a verb that takes values per query together, what it makes of
    them in memory, whose frames `give` turns into the caller's kind.
    """
    verb = call.verb
    if verb.gives == "join":
        return _join(engine, table, setup, call)
    by_parts = verb.by_parts and verb.merges is None
    _refuse_whole(call, engine)
    given = setup
    if call.runs.key:  # a part holds the rows of a query of all runs
        setup = call.runs.queries(setup)
    sides, empties = _sides(engine, table, qrels, setup, call)
    setups = [*call.runs.apart(setup, ())[0].values()]
    judging = None
    key = [*setup.roles.query]
    if qrels is not None:
        joining = call_of_verb(judge, None, judged_only=judged_only, run_only=run_only)
        judging, key = _joining(engine, sides, setups[0], empties, joining)
    shape = None
    if not by_parts:  # refuses wrong columns before anything runs
        no_runs = Whole({}, frozenset() if call.runs.key else None)
        shape = _work(call, setup, judging, no_runs)(*empties)
    joined = empties[0] if judging is None else judging(*empties)
    calls = call.calls if call.reads_labels and verb.labels is True else []
    # without scores the table has values of queries
    has_scores = call.runs.scores or setup.roles.score in joined.columns
    of_rankings = [x for x in calls if x.of_ranking]
    if has_scores and (of_rankings or not calls):
        refuse_row_order(setup, of_rankings, joined.columns, engine.name)
    parts = PartsOfEngine(engine, sides, key, setup, Whole(), judging)
    labels = _largest_labels(parts, setups, call, calls, joined.schema, judged_only)
    runs = None
    if verb.combines_runs:
        runs = _names_of_runs(engine, sides[0], call.runs)
    whole = Whole(labels, runs)
    if shape is None:
        parts = replace(parts, whole=whole)
        return call.on(Table(joined.clear(), given, parts=parts, give=give))
    result = engine.by_key(_work(call, setup, judging, whole), key, *sides)
    figures = call.mergeable(setup, labels)
    if figures is None:
        return result
    return engine.by_key(Merged(figures), figures.key, Side(result, shape.columns))


def _refuse_whole(call: VerbCall, engine: Engine[T]) -> None:
    """Refuse a verb that cannot run in parts."""
    verb = call.verb
    if not (verb.within_queries or verb.by_parts or verb.merges is not None):
        raise looks_at_whole(verb.name, engine)


def _sides(
    engine: Engine[T], table: T, qrels: T | None, setup: Setup, call: VerbCall
) -> tuple[list[Side[T]], list[pl.DataFrame]]:
    """The table, and its judgments if they are apart; and both without rows.

    They have the columns that workers need.
    """
    verb = call.verb
    read = None if call.reads_any else call.columns(setup)
    if verb.checks and read is not None:
        columns = engine.schema(table, read).columns
        read = {*read, *names_of_figures(columns, setup)}
    of_table = engine.schema(table, read)
    of_qrels = None if qrels is None else engine.schema(qrels, read)
    rows = Side(table, of_table.columns)
    by_parts = verb.by_parts and verb.merges is None
    has_own_columns = by_parts or verb.gives in ("query", "list", "table")
    if has_own_columns and read is not None:
        rows = rows.only(read)
    if qrels is None or of_qrels is None:
        return [rows], [of_table]
    judgments = Side(qrels, of_qrels.columns)
    if read is not None:
        judgments = judgments.only(read)
    further = {*of_qrels.columns} - {*of_table.columns}
    known = [x for x in of_qrels.columns if x in judgments.names or x in further]
    return [rows, judgments], [of_table, of_qrels.select(known)]


def _largest_labels(
    parts: PartsOfEngine[T],
    setups: Sequence[Setup],
    call: VerbCall,
    calls: Sequence[Call],
    schema: pl.Schema,
    judged_only: Unmatched,
) -> dict[str, float]:
    """The largest label of the table, for each column of scores that a metric needs it for.

    A verb that is watched warns of it, and names it.
    """
    needing = [x for x in setups if calls and needs_largest_label(x, schema, calls)]
    labels = {}
    for of_run in needing:
        parts_of_run = replace(parts, setup=of_run)
        label = _largest_label(parts_of_run, calls, schema, judged_only)
        labels[of_run.roles.score] = label
    if call.verb.watched and needing:
        of_run = needing[0]
        label = labels[of_run.roles.score]
        taking = [x for x in calls if takes_largest_label(of_run, schema, x)]
        if taking and label > 0:
            warn_of_top_grade(of_run, taking, label)
    return labels


def _largest_label(
    parts: PartsOfEngine[T], calls: Sequence[Call], schema: pl.Schema, judged_only: Unmatched
) -> float:
    """The largest label of the table, among documents that count."""
    engine = parts.engine
    judging = parts.judging
    judgments = parts.sides[-1]
    name = parts.setup.roles.label
    setup, all_count = setup_of_largest(parts.setup, schema, calls)
    if judging is not None and name not in judgments.names:
        return 1.0  # every judgment counts 1
    if all_count and (judging is None or judged_only != "drop"):
        of_rows = LargestLabel(parts.setup, False)
        largest = engine.by_key(of_rows, None, judgments.only([name]))
    else:  # some rows are left out, and the rankings are needed to know which
        of_rankings = LargestLabel(setup, True, judging)
        needed = call_of_verb(evaluate).columns(setup)
        sides = [side.only(needed) for side in parts.sides]
        largest = engine.by_key(of_rankings, parts.key, *sides)
    labels = engine.collect(largest)["largest_label"].drop_nulls()
    return max(labels.to_list(), default=0.0)


def _work(call: VerbCall, setup: Setup, judging: OnQueries | None, whole: Whole) -> Work:
    """A worker's task."""
    figures = call.mergeable(setup, whole.largest_labels)
    if figures is None:
        return OnQueries(call, setup, whole, judging)
    return Partial(figures, judging)


def _join(engine: Engine[T], table: T, setup: Setup, call: VerbCall) -> T:
    """The rows of two tables, joined within queries."""
    named = sorted(call.named)
    others = [name for name in setup.roles.query if name not in named]
    setup = setup.changed(query=(*named, *others))
    read = call.columns(setup)
    tables = (table, call.arguments["qrels"])
    empties = [engine.schema(x, read) for x in tables]
    sides = [Side(x, empty.columns) for x, empty in zip(tables, empties, strict=True)]
    joining, key = _joining(engine, sides, setup, empties, call.changed(qrels=None))
    return engine.by_key(joining, key, *sides)


def _joining(
    engine: Engine[T],
    sides: Sequence[Side[T]],
    setup: Setup,
    empties: Sequence[pl.DataFrame],
    call: VerbCall,
) -> tuple[OnQueries, list[str]]:
    """The workers' join of a run and its judgments, and the key that brings their rows together."""
    joining = OnQueries(call, setup)
    run, qrels = empties
    if setup.roles.label not in qrels.columns:  # any column may hold labels
        every = engine.schema(sides[1].table, None)
        of_run = {*run.columns} - {*qrels.columns}
        qrels = every.select(name for name in every.columns if name not in of_run)
    joining(run, qrels)  # refuses wrong columns before anything runs
    runs, key = _runs(engine, sides[0], setup, empties[1].columns)
    return replace(joining, runs=runs), key


def _runs(
    engine: Engine[T], run: Side[T], setup: Setup, judged: Collection[str]
) -> tuple[pl.DataFrame | None, list[str]]:
    """All runs, if judgments hold for each, else None; and the key common to both.

    Judgments that name runs hold for these alone.
    """
    names = [name for name in setup.roles.query if name not in judged]
    key = [name for name in setup.roles.query if name in judged]
    if not names or not key:
        return None, [*setup.roles.query]
    distinct = engine.by_key(Distinct(tuple(names)), None, run.only(names))
    return engine.collect(distinct).unique(maintain_order=True), key


def _names_of_runs(engine: Engine[T], table: Side[T], runs: Runs) -> frozenset[str] | None:
    """The names of the runs of the whole table, if a column holds them."""
    if runs.column is None:
        return None
    distinct = engine.by_key(Distinct(runs.key), None, table.only(runs.key))
    names = engine.collect(distinct)[runs.column]
    return frozenset(names.cast(pl.String).drop_nulls())


def looks_at_whole(what: str, engine: Engine[T]) -> InvalidOption:
    """The error for a verb that cannot run in parts."""
    says = f"{what} needs the whole table in one piece, which a {engine.name} is not"
    return InvalidOption(f"{says}; {engine.advice}")


def refuse_row_order(
    setup: Setup, calls: Sequence[Call], names: Collection[str], what: str
) -> None:
    """Refuse to break ties by row order, which is undefined."""
    has_documents = setup.roles.doc_in(names) is not None
    of_calls = {setup.resolve(call)[0].policies for call in calls}
    for policies in {setup.policies, *of_calls}:
        rule = policies.tie_rule
        if not rule.by_row(documents=has_documents):
            continue
        why = f"ties={policies.ties!r} goes by"
        if rule.by_document:
            why = "tied rows would stand by, as no column names documents"
        others = [x for x, other in TIE_RULES.items() if not other.by_row(documents=False)]
        raise InvalidOption(
            f"the rows of a {what} have no order, which {why}; "
            "name the documents, as in doc='doc_id', ties='doc_desc', or say "
            f"ties={', '.join(map(repr, others))}"
        )
