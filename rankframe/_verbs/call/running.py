"""How a call of a verb runs: on rows in memory, or as a node of a lazy plan."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple, Protocol, TypeAlias

import polars as pl

from ..._catalog.call import Call
from ..._catalog.requests import OfItems
from ..._plan.node import Give, node, source
from ..._plan.per_query import LARGEST, largest_in, measure, needs_largest_label, setup_of_largest
from ..._plan.rank_order import RankOrder, keeping_orders
from ..._plan.unjudged import Unjudged, counting
from ..._support.floats import np
from ..._support.polars_versions import collected
from ..._table.background import Items
from ..._table.check import names_of_figures
from ..._table.figures import (
    Figures,
    Ranked,
    begins_of,
    in_numpy,
    numbered,
    stacked_runs,
    together,
    usual_runs,
)
from ..._table.findings import Finding, Reading, findings_of
from ..._table.run_and_judgments import runs_in
from ..._table.runs import Runs
from ..._table.setup import Setup
from ..._table.table import OfPart, Table, Whole
from ...errors import (
    InvalidData,
    InvalidOption,
    MissingColumn,
    Place,
    RankframeError,
    calling_line,
    did_you_mean,
    once_each,
    shown,
    warn,
)
from .declaration import VerbCall
from .top_grade import TopGrade
from .unjudged_queries import UnjudgedQueries

MOST_VALUES = 12
"""The most values of a column that an error lists."""


def absent_values(setup: Setup, calls: Sequence[Call]) -> Callable[[pl.LazyFrame], None] | None:
    """The check of a whole table for `calls`; None if no option of theirs names a value."""
    naming = [call for call in calls if not {*call.metric.named_values}.isdisjoint(call.arguments)]

    def refuse(rows: pl.LazyFrame) -> None:
        for call in naming:
            for option, role in call.metric.named_values.items():
                name, value = getattr(setup.roles, role), call.arguments.get(option)
                if name is not None and value is not None:
                    _refuse(call, option, str(value), name, _values(rows, setup, name))

    return refuse if naming else None


def refuse_absent_values(
    frame: pl.DataFrame | pl.LazyFrame, setup: Setup, calls: Sequence[Call]
) -> None:
    """Refuse a call with an option that names a value which no row of the table has."""
    refuse = absent_values(setup, calls)
    if refuse is not None:
        refuse(frame.lazy())


def _values(rows: pl.LazyFrame, setup: Setup, name: str) -> list[str]:
    """The values of a column as text, of the table or of the items that have it."""
    items = setup.background.items
    if setup.background.has(name) and isinstance(items, Items):
        rows = items.frame.lazy()
    found = collected(rows.select(pl.col(name).cast(pl.String).drop_nulls().unique().sort()))
    return found.to_series().to_list()


def _refuse(call: Call, option: str, value: str, name: str, there: Sequence[str]) -> None:
    if value in there or not there:  # a table without values has nothing to name
        return
    more = f" and {len(there) - MOST_VALUES} more" if len(there) > MOST_VALUES else ""
    raise InvalidOption(
        f"{call.text}: column {name!r} nowhere holds {shown(value)}; write one of its values "
        f"for {option}: "
        f"{', '.join(map(repr, there[:MOST_VALUES]))}{more}.{did_you_mean(value, there)}"
    )


def on_rows(call: VerbCall, table: Table[Any]) -> Any:
    """The result for rows in memory; a whole table is refused or warned of where its parts may
    differ from it.
    """
    if table.whole is not None or call.reads_labels is not True:
        return call.on(table)
    if not call.verb.watched:
        result = call.on(table)
    else:
        unjudged = UnjudgedQueries(table.setup, call)
        with keeping_orders(ROWS_OF_SAMPLE) as kept, counting(call.runs.key) as counted:
            result = call.on(table)
        unjudged.count(counted)
        unjudged.warn()
        watch_runs(table.rows, table.setup, call, kept.of)
    if table.setup.roles.group is not None:
        refuse_absent_values(table.rows, table.setup, call.calls)
    return result


Kept: TypeAlias = Callable[[pl.DataFrame, Setup], RankOrder | None]
"""A function that finds the rank order of a frame under a setup, if it was kept."""


def slices_of(call: VerbCall, setup: Setup) -> list[str]:
    """The columns that cut the table into slices, each of which is watched by itself.

    They are the columns of runs, and those of `by` that belong to the query or to a gate.
    """
    query, by = setup.roles.query, call.arguments.get("by") or ()
    of_runs = runs_in(setup) if len(query) > 1 else ()
    sliced = [by] if isinstance(by, str) else by
    has_budgets = call.verb.refuses  # each slice of a gate has a budget
    watched = [name for name in sliced if has_budgets or name in query]
    return list(dict.fromkeys([*call.runs.key, *of_runs, *watched]))


def watch_runs(
    frame: pl.DataFrame, setup: Setup, call: VerbCall, kept: Kept = lambda *_: None
) -> None:
    """Warn of runs, or slices of queries, whose numbers are not what is meant, once for all."""
    slices = slices_of(call, setup)
    with once_each():
        for of_run in call.runs.apart(setup, ())[0].values():
            grades = TopGrade(of_run, call.calls)
            grades.see(frame)
            grades.warn()
            watch_slices(frame, of_run, call.calls, slices, kept, refuses=call.verb.refuses)


def plan_of(frame: pl.LazyFrame, setup: Setup, call: VerbCall) -> Any:
    """The result for a LazyFrame: a plan that computes it when it runs; a verb of the whole table
    collects it now.
    """
    verb = call.verb
    if verb.lazily is not None:
        return call.recorded(verb.lazily(frame, setup, call), setup, frame)
    if verb.within_queries:
        return _by_query(frame, call.runs.queries(setup), call)
    no_rows = frame.collect_schema().to_frame()
    of_items = any(isinstance(x, OfItems) for x in call.requests)  # counted over all rows
    parts = BatchesOfPlan(frame, setup, call) if verb.by_parts and not of_items else None
    if verb.gives == "whole" and parts is not None:
        return call.on(Table(no_rows, setup, parts=parts, give=lambda found: found.lazy()))
    if verb.gives == "whole":
        rows = collected(_read(frame, setup, call))
        try:
            return on_rows(call, Table(rows, setup, give=lambda found: found.lazy()))
        except MissingColumn:
            call.on(Table(no_rows, setup))  # names all columns of the table in its error
            raise
    schema = call.on(Table(no_rows, setup)).schema  # errors of columns and options come at the call

    def work(give: Give, *_: object) -> None:
        rows = no_rows if parts is not None else collected(_read(frame, setup, call))
        give(call.on(Table(rows, setup, parts=parts)))

    return node(work, frame, schema, verb.name)


def _read(frame: pl.LazyFrame, setup: Setup, call: VerbCall) -> pl.LazyFrame:
    """The columns that the call reads."""
    read = _names_read(frame, setup, call)
    return (
        frame
        if call.reads_any
        else frame.select(name for name in frame.collect_schema() if name in read)
    )


def _names_read(frame: pl.LazyFrame, setup: Setup, call: VerbCall) -> set[str]:
    """The columns that the call reads, and those that its watch or its findings look at."""
    names = frame.collect_schema().names()
    looked_at = usual_runs(names, setup) if call.verb.watched else []
    if call.verb.checks:
        looked_at = names_of_figures(names, setup)
    return {*call.columns(setup), *looked_at}


@dataclass
class BatchesOfPlan:
    """A LazyFrame as parts of a table: batches of whole queries, within the memory limit.

    Attributes
    ----------
    frame, setup, call
        The plan, the setup and the call of the verb.
    watched
        Whether the rows are yet to be watched for numbers that are not what is meant.
    at
        The line of the caller, which warnings name.
    """

    frame: pl.LazyFrame
    setup: Setup
    call: VerbCall
    watched: bool = True
    at: Place | None = field(default_factory=calling_line)

    ordered = True

    def each(self, work: OfPart) -> pl.DataFrame:
        """The results of the function of each batch, with the places of its rows."""

        def of_batch(table: Table[pl.DataFrame]) -> pl.DataFrame:
            places = table.rows[ROW_OF_PLAN]
            return work(replace(table, rows=table.rows.drop(ROW_OF_PLAN), places=places))

        setup, frame = self.call.runs.queries(self.setup), self.frame.with_row_index(ROW_OF_PLAN)
        found = _by_query(
            frame, setup, self.call, of_batch, watched=self.watched, reads=[ROW_OF_PLAN], at=self.at
        )
        result = collected(found)
        self.watched = False
        return result

    def of_queries(self, queries: pl.DataFrame) -> Table[Any]:
        """The rows of the queries, collected."""
        rows = _read(self.frame, self.setup, self.call)
        rows = rows.join(
            queries.lazy(), on=queries.columns, how="semi", nulls_equal=True, maintain_order="left"
        )
        setups, calls = _needing(self.frame, self.call.runs.queries(self.setup), self.call)
        labels = {x.roles.score: _largest_label(self.frame, x, calls) for x in setups}
        return Table(collected(rows), self.setup, Whole(labels))


ROW_OF_PLAN = "#row of plan"
"""The column that numbers the rows of a LazyFrame."""


def _needing(
    frame: pl.LazyFrame, setup: Setup, call: VerbCall
) -> tuple[list[Setup], Sequence[Call]]:
    """The setups of runs whose values need the largest label of the table, and the metrics of
    rankings.
    """
    calls = call.calls if call.reads_labels else []
    setups = call.runs.apart(setup, ())[0].values()
    schema = frame.collect_schema()
    return [x for x in setups if calls and needs_largest_label(x, schema, calls)], calls


def _by_query(
    frame: pl.LazyFrame,
    setup: Setup,
    call: VerbCall,
    work: OfPart | None = None,
    *,
    watched: bool = True,
    reads: Sequence[str] = (),
    at: Place | None = None,
) -> pl.LazyFrame:
    """A node that runs the verb, or a function in its place, on batches of whole queries."""
    verb, schema = call.verb, frame.collect_schema()

    def run(rows: pl.DataFrame, whole: Whole | None, names: Sequence[str] | None) -> pl.DataFrame:
        table = Table[pl.DataFrame](rows, setup, whole)
        found: pl.DataFrame = call.only(names, setup).on(table) if work is None else work(table)
        return found

    needing, calls = _needing(frame, setup, call)
    named = call.runs if verb.combines_runs else Runs()

    def facts(rows: pl.LazyFrame) -> Whole:
        labels = {x.roles.score: _largest_label(rows, x, calls) for x in needing}
        return Whole(labels, named.names(rows) if named.key else None)

    def watch() -> Watches:
        setups = call.runs.apart(setup, ())[0].values()
        slices = slices_of(call, setup) if verb.by_parts else ()
        watches: list[Watching] = []
        for x in setups:
            watches += [
                OfSlices(x, calls, slices, at, refuses=verb.refuses),
                TopGrade(x, calls, at),
            ]
        return Watches(watches, UnjudgedQueries(setup, call, at))

    read, at = _names_read(frame, setup, call), at or calling_line()
    return source(
        frame,
        setup,
        run,
        verb.name,
        reads=[name for name in schema if call.reads_any or name in read or name in reads],
        carries=verb.gives == "row",
        whole=facts if needing or named.key else None,
        check=absent_values(setup, calls) if watched else None,
        watch=watch if verb.watched and watched else None,
    )


def _largest_label(rows: pl.LazyFrame, setup: Setup, calls: Sequence[Call]) -> float:
    """The largest label of a table, which may be larger than memory."""
    ranked, is_plain = setup_of_largest(setup, rows.collect_schema(), calls)
    if not is_plain:  # policies may leave labels out: rank each query first
        names = ranked.roles.names
        rows = source(
            rows,
            ranked,
            lambda rows, *_: measure(rows, ranked, LARGEST),
            "largest_label",
            reads=names,
        )
    return largest_in(rows.select(ranked.roles.label if is_plain else LARGEST.text))


class Watching(Protocol):
    """Looks at the rows of a table, part by part, and warns of it."""

    def see(self, rows: pl.DataFrame) -> None: ...
    def warn(self) -> None: ...


class Watches:
    """The watches of several runs over the same rows."""

    def __init__(self, watches: Sequence[Watching], unjudged: UnjudgedQueries) -> None:
        self.watches, self.unjudged, self.runs = watches, unjudged, unjudged.runs

    def see(self, rows: pl.DataFrame) -> None:
        """Look at a part of the table."""
        for watch in self.watches:
            watch.see(rows)

    def count(self, counted: Sequence[Unjudged]) -> None:
        """Add the queries of a part that nobody judged."""
        self.unjudged.count(counted)

    def warn(self) -> None:
        """Warn of each finding, once for all runs."""
        with once_each():
            for watch in self.watches:
                watch.warn()
            self.unjudged.warn()


ROWS_OF_SAMPLE = 2**12
"""The first rows, in which a sign must show before all rows are looked at, since that takes as long
as a metric."""

QUERIES_IN_ORDER = 64
"""The fewest queries of the sample, if their rows stand together and are many."""

QUERIES_OF_SAMPLE = 400
ROWS_NEAR = 2**15
"""If the rows of a query do not stand together: the queries of the sample, and the first rows in
which theirs are looked for."""


class Concern(NamedTuple):
    """A metric that a finding concerns, and its means under two readings of the table, if that is
    how it is known.
    """

    metric: str
    low: float | None = None
    high: float | None = None


class Watch:
    """The findings about a table, or about the parts of one, with whole queries, that change the
    value of a metric.

    Attributes
    ----------
    setup, calls
        The ranker's setup, and the metrics of rankings among the calls.
    at
        The line of the caller, for a lazy plan.
    kept
        Finds the rank order of a frame, if it is known.
    refuses
        Whether findings that leave nothing measured are errors.
    """

    def __init__(
        self,
        setup: Setup,
        calls: Sequence[Call],
        at: Place | None = None,
        kept: Kept = lambda *_: None,
        *,
        refuses: bool = False,
    ) -> None:
        self.setup, self.calls, self.at, self.of = (
            setup,
            [x for x in calls if x.of_ranking and not x.of_pairs],
            at,
            "",
        )
        self.kept, self.refuses, self.resolved = kept, refuses, setup
        self.waiting: list[
            pl.DataFrame
        ] = []  # parts that are looked at together, as few rows show little
        self.found: list[Mapping[str, Any]] = []
        self.last: list[Finding] = []
        self.first_queries: pl.DataFrame | None = None
        self.all_queries = True  # whether these are all
        self.clear = (
            not self.calls or setup.policies.unjudged == "bounds"
        )  # bounds show what is unknown

    def see(self, rows: pl.DataFrame) -> None:
        """Look at a table, or at a part of one."""
        if self.clear or not rows.height:
            return
        self.waiting.append(rows)
        if sum(map(len, self.waiting)) >= ROWS_OF_SAMPLE:
            self._look()

    def warn(self) -> None:
        """Warn of each finding that holds of all parts together."""
        if self.waiting:
            self._look()
        if self.clear or self.first_queries is None:
            return
        values, of_some = (
            together(self.found),
            "" if self.all_queries else self._of_some(self.first_queries),
        )
        for finding in self._held(values):
            concern = self._concern(finding, self.first_queries, values)
            if concern is not None:
                self._say(finding, concern, values, of_some)

    def _of_some(self, rows: pl.DataFrame) -> str:
        return f" of the first {rows.select(self.setup.roles.query).n_unique():,} queries"

    def _say(
        self, finding: Finding, concern: Concern, values: Mapping[str, Any], among: str
    ) -> None:
        """Warn of a finding, or raise it as an error."""
        says = finding.says(self.resolved, {**values, **concern._asdict(), "among": among})
        concerns = f" (it concerns {concern.metric}{self.of})"
        if finding.stops and self.refuses:
            raise InvalidData(*says, concerns)
        warn(says, concerns, kind=finding.name, at=self.at)

    def _look(self) -> None:
        """Compute the figures of the waiting parts if a sample of them shows a sign; enough rows
        without one clear the table.
        """
        rows = sample = self.waiting[0] if len(self.waiting) == 1 else pl.concat(self.waiting)
        self.waiting = []
        # the policies that a convention has for the first metric; without a document column, None
        # for it
        resolved, _ = self.setup.resolve(self.calls[0])
        self.resolved = resolved.of_table(rows.columns)
        if rows.height > ROWS_OF_SAMPLE:
            read = {
                *self.setup.roles.names,
                *(name for call in self.calls for name in call.columns),
            }
            read |= {*usual_runs(rows.columns, self.resolved)}
            rows = rows[[name for name in rows.columns if name in read]]
            sample = _sample(rows, self.setup.roles.query)
        figures = Figures(sample, self.resolved, sample=True, ranked=self._ranked(sample))
        figures.update(stacked_runs(rows, self.resolved))  # the first rows may be those of one run
        raised = self._held(figures)
        if raised and rows.height > sample.height:
            raised = [x for x in raised if self._concern(x, sample, figures) is not None]
        if not raised and (rows.height >= ROWS_OF_SAMPLE or not self.found):
            self.clear = True
            return
        found = together([Figures(rows, self.resolved)])
        self.last = self._held(found)
        self.found.append(found)
        self.clear = not self.last and rows.height >= ROWS_OF_SAMPLE
        if self.first_queries is None:
            self.first_queries = _of_first_queries(rows, self.setup.roles.query)
        self.all_queries = len(self.found) == 1 and self.first_queries.height == rows.height

    def _ranked(self, rows: pl.DataFrame) -> Ranked | None:
        """The retrieved rows in the plan's order, if it is known, and is that of the scores as
        given.
        """
        order, policies = self.kept(rows, self.resolved), self.resolved.policies
        if (
            order is None
            or policies.ascending
            or policies.drops_first
            or not in_numpy(order.score.dtype)
        ):
            return None
        row, score, n_queries = (
            order.row[::-1],
            order.score,
            len(order.first),
        )  # from the worst row up
        if order.complete:
            return Ranked(row, len(row) - order.ends[:0:-1], score.to_numpy()[row], n_queries)
        row = row[score.is_not_null().to_numpy()[row]]
        first = begins_of(order.number[row]).nonzero()[0]
        return Ranked(row, first, score.fill_null(0).to_numpy()[row], n_queries)

    def _held(self, values: Mapping[str, Any]) -> list[Finding]:
        """The findings that these figures show, of those with which a number warns, or a gate
        refuses.
        """
        return [
            x
            for x in findings_of(self.resolved)
            if x.warns_of(self.resolved, values)
            or (self.refuses and x.stops and x.holds(self.resolved, values))
        ]

    def _concern(
        self, finding: Finding, rows: pl.DataFrame, found: Mapping[str, Any]
    ) -> Concern | None:
        """The first metric whose value a finding changes, if any."""
        calls = [call for call in self.calls if _may_concern(finding, call)]
        try:
            return self._first_of(finding, calls, rows, found)
        except RankframeError:  # a metric is not defined under another reading
            pass
        for call in calls:
            with suppress(RankframeError):
                concern = self._first_of(finding, [call], rows, found)
                if concern is not None:
                    return concern
        return None

    def _first_of(
        self, finding: Finding, calls: Sequence[Call], rows: pl.DataFrame, found: Mapping[str, Any]
    ) -> Concern | None:
        """The first of the calls whose value the finding changes, if any."""
        here = Reading(rows, self.setup)
        readings = finding.differs(here, found)
        if finding.nothing:
            empty = [0.0, 1.0] if self.resolved.policies.no_relevant == "one" else [0.0]
            values = measure(rows, self.setup, *calls)
            return next((Concern(x.text) for x in calls if values[x.text].is_in(empty).all()), None)
        if readings is None or not calls:
            return Concern(calls[0].text) if calls else None
        one, other = (measure(*reading, *calls) for reading in readings)
        for call in calls:
            low, high = one[call.text], other[call.text]
            if finding.by:
                means = [float(x.mean() or 0) for x in (low, high)]  # type: ignore[arg-type]
                if abs(means[1] - means[0]) > finding.by * max(1, abs(means[0])):
                    return Concern(call.text, min(means), max(means))
            elif not _rounded(low).equals(_rounded(high)):
                return Concern(call.text)
        return None


def _may_concern(finding: Finding, call: Call) -> bool:
    """Whether a metric reads the columns that a finding is about."""
    if finding.labels and not (call.labels and call.metric.over == "documents"):
        return False
    over_subtopics = finding.role == "subtopic" and call.metric.over == "subtopics"
    return finding.role is None or finding.role in call.metric.needs or over_subtopics


def watch_slices(
    frame: pl.DataFrame,
    setup: Setup,
    calls: Sequence[Call],
    by: Sequence[str],
    kept: Kept = lambda *_: None,
    *,
    refuses: bool = False,
) -> None:
    """Warn of a table whose numbers are not what is meant, or of one of its slices, such as
    runs.
    """
    watching = OfSlices(setup, calls, by, kept=kept, refuses=refuses)
    watching.see(frame)
    watching.warn()


class OfSlices:
    """A watch of each slice of a table, such as a run, which may come in parts."""

    def __init__(
        self,
        setup: Setup,
        calls: Sequence[Call],
        by: Sequence[str],
        at: Place | None = None,
        kept: Kept = lambda *_: None,
        *,
        refuses: bool = False,
    ) -> None:
        self.setup, self.calls, self.by = setup, calls, list(by)
        self.new = partial(Watch, setup, calls, at, kept, refuses=refuses)
        self.watches: dict[tuple[Any, ...], Watch] = {}

    def see(self, rows: pl.DataFrame) -> None:
        """Look at a table, or at a part of one."""
        if not self.by:
            self._watch(()).see(rows)
            return
        read = {
            *self.setup.roles.names,
            *self.by,
            *(name for call in self.calls for name in call.columns),
        }
        read |= {*usual_runs(rows.columns, self.setup)}
        rows = rows[[name for name in rows.columns if name in read]]
        for where, part in rows.partition_by(self.by, maintain_order=True, as_dict=True).items():
            self._watch(where).see(part)

    def _watch(self, where: tuple[Any, ...]) -> Watch:
        """The watch of a slice."""
        if where not in self.watches:
            self.watches[where] = self.new()
            self.watches[where].of = "".join(
                f" of {n} {x!r}" for n, x in zip(self.by, where, strict=True)
            )
        return self.watches[where]

    def warn(self) -> None:
        """Warn of each finding that holds of all parts of a slice together."""
        for watching in self.watches.values():
            watching.warn()


def _sample(rows: pl.DataFrame, query: Sequence[str]) -> pl.DataFrame:
    """Rows of the first queries of many rows: the first rows, some rows of each long query, or rows
    that stand apart.
    """
    near = numbered(rows.head(ROWS_NEAR), query)
    first = near[:ROWS_OF_SAMPLE]
    ids = np.sort(first)
    runs, queries = (int(np.count_nonzero(x[1:] != x[:-1])) + 1 for x in (first, ids))
    if runs == queries:
        length = (
            ROWS_OF_SAMPLE // queries
        )  # of long queries, some rows each, as a few queries show no direction
        end = min(max(QUERIES_IN_ORDER * length, ROWS_OF_SAMPLE), rows.height)
        return rows[np.arange(0, end, max(length // QUERIES_IN_ORDER, 1))]
    short = near.astype(np.uint16)  # a few more queries have the same last digits
    digits, places = np.unique(short[:ROWS_OF_SAMPLE], return_index=True)
    chosen = np.zeros(2**16, dtype=bool)
    chosen[digits[places.argsort()[:QUERIES_OF_SAMPLE]]] = True
    return rows[np.flatnonzero(chosen[short])[: 2 * ROWS_OF_SAMPLE]]


def _rounded(values: pl.Series) -> pl.Series:
    """The values in a fixed order, without the last digits, which depend on the order of a sum."""
    return values.sort().round(9) if values.dtype.is_float() else values.sort()


def _of_first_queries(rows: pl.DataFrame, query: Sequence[str]) -> pl.DataFrame:
    """All rows of the first queries; of a small table, all rows."""
    if rows.height <= ROWS_NEAR:
        return rows
    first = rows.head(ROWS_NEAR).select(query).unique(maintain_order=True).head(QUERIES_OF_SAMPLE)
    return rows.join(first, on=query, how="semi", nulls_equal=True, maintain_order="left")
