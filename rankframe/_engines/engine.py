"""Tables in parts: the three methods of an engine, and how every verb runs on them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, Protocol, TypeVar

import polars as pl

from .._catalog.call import Call
from .._catalog.requests import Request, calls_of
from .._decisions.runs import Runs
from .._plan.per_query import needs_largest_label, setup_of_largest
from .._table.policies import check_word
from .._table.run_and_judgments import Missing
from .._table.setup import Setup
from .._table.ties import TIE_RULES
from .._verbs import verbs
from .._verbs.declaration import Mergeable, Verb, verb_of
from ..errors import InvalidOption
from .tasks import Distinct, LargestLabel, Merged, OnQueries, Partial, Work

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
        """An empty frame with the table's columns; columns that are not read may have any type. ``None`` reads all."""

    @abstractmethod
    def by_key(self, work: Work, key: Sequence[str] | None, *sides: Side[T]) -> T:
        """Run the work on parts of one or two tables.

        All rows with the same values of the key come to one part; without a key, rows are in any part. The result is a
        table that is computed when the caller asks for it.
        """

    @abstractmethod
    def collect(self, table: T) -> pl.DataFrame:
        """The rows of a small result, computed now."""


@dataclass(frozen=True)
class VerbCall:
    """A call of a verb on a table in parts."""

    function: Callable[..., object]
    args: tuple[object, ...]

    @classmethod
    def of(cls, function: Callable[..., object], args: Sequence[object]) -> VerbCall:
        """The call with its metrics read, so that workers need not know them by name."""
        declared = verb_of(function)
        calls: list[Request | Call] = []
        for metric in declared.metrics(args):
            calls += [metric] if isinstance(metric, pl.Expr) or declared.in_parts else calls_of(metric)
        return cls(function, (*args[: len(declared.parameters)], *(calls or declared.requests(args))))

    @property
    def declared(self) -> Verb:
        """The verb's declaration."""
        return verb_of(self.function)

    def figures(self, setup: Setup, largest_label: float | None = None) -> Mergeable | None:
        """The object that computes the verb's table in parts; ``None`` for a verb that works query by query."""
        in_parts = self.declared.in_parts
        return None if in_parts is None else in_parts(setup, largest_label, *self.args)

    def calls(self, setup: Setup) -> list[Call]:
        """The metrics."""
        figures = self.figures(setup)
        metrics = self.declared.metrics(self.args) if figures is None else figures.calls
        return [metric for metric in metrics if isinstance(metric, Call)]

    def reads(self, setup: Setup) -> set[str] | None:
        """The columns that the call reads; ``None`` for any."""
        if self.declared.reads_any(self.args):
            return None
        figures = self.figures(setup)
        return self.declared.columns(setup, self.args) | (set() if figures is None else figures.names)

    @property
    def runs(self) -> Runs:
        """The runs whose rankings of a query the call combines; none for most verbs."""
        return next((x for x in self.args if isinstance(x, Runs) and self.declared.gives in ("list", "query")), Runs())

    def work(
        self, setup: Setup, judging: OnQueries | None, largest_label: float | None, names: frozenset[str] | None
    ) -> Work:
        """A worker's task, with the largest label and the names of the runs of the whole table."""
        figures = self.figures(setup, largest_label)
        if figures is None:
            facts = {"largest_label": largest_label, "names": names}
            known = {name: fact for name, fact in facts.items() if fact is not None}
            return OnQueries(self.function, setup, self.args, known, judging)
        return Partial(figures, judging)


def run(
    engine: Engine[T],
    table: T,
    setup: Setup,
    function: Callable[..., object],
    *args: object,
    qrels: T | None = None,
    judged_only: Missing = "keep",
    run_only: Missing = "drop",
) -> T:
    """Run a verb on a table in parts; with `qrels`, on the table joined with its judgments."""
    declared = verb_of(function)
    if declared.gives == "join":
        return _join(engine, table, setup, function, args)
    if not declared.within_queries and declared.in_parts is None:
        raise looks_at_whole(declared.name, engine)
    check_word("judged_only", judged_only, Missing)
    check_word("run_only", run_only, Missing)
    call = VerbCall.of(function, args)
    setup = call.runs.queries(setup)  # a part holds the rows of all runs of a query
    read = call.reads(setup)
    empties = [engine.schema(x, read) for x in ([table] if qrels is None else [table, qrels])]
    sides = [Side(table, empties[0].columns)]
    if declared.gives in ("query", "list", "table") and read is not None:  # the result has no other columns
        sides = [sides[0].only(read)]
    judging, key = None, [*setup.roles.query]
    if qrels is not None:
        sides.append(Side(qrels, [name for name in empties[1].columns if read is None or name in read]))
        empties[1] = empties[1].select(x for x in empties[1].columns if x in sides[1].names or x not in empties[0])
        judging, key = _joining(engine, sides, setup, empties, verbs.judge, (None, judged_only, run_only))
    calls = call.calls(setup)
    trial = call.work(setup, judging, 0.0 if calls else None, frozenset() if call.runs.key else None)
    shape = trial(*empties)  # refuses wrong columns before anything runs
    joined = empties[0] if judging is None else judging(*empties)
    refuse_row_order(setup, calls, joined.columns, engine.name)
    largest = None
    if calls and needs_largest_label(setup, joined.schema, calls):
        largest = _largest_label(engine, sides, key, setup, calls, joined.schema, judging, judged_only)
    found = engine.by_key(call.work(setup, judging, largest, _names_of_runs(engine, sides[0], call.runs)), key, *sides)
    figures = call.figures(setup)
    return found if figures is None else engine.by_key(Merged(figures), figures.key, Side(found, shape.columns))


def _join(engine: Engine[T], table: T, setup: Setup, function: Callable[..., object], args: Sequence[Any]) -> T:
    """The rows of two tables, joined within queries."""
    other, *rest = args
    declared = verb_of(function)
    named = sorted(declared.named(args))
    setup = setup.changed(query=(*named, *(name for name in setup.roles.query if name not in named)))
    read = declared.columns(setup, args)
    empties = [engine.schema(x, read) for x in (table, other)]
    sides = [Side(x, empty.columns) for x, empty in zip((table, other), empties, strict=True)]
    joining, key = _joining(engine, sides, setup, empties, function, rest)
    return engine.by_key(joining, key, *sides)


def _joining(
    engine: Engine[T],
    sides: Sequence[Side[T]],
    setup: Setup,
    empties: Sequence[pl.DataFrame],
    function: Callable[..., object],
    args: Sequence[object],
) -> tuple[OnQueries, list[str]]:
    """The workers' join of a run and its judgments, and the key that brings their rows together."""
    joining, (run, qrels) = OnQueries(function, setup, tuple(args), {"part": True}), empties
    if setup.roles.label not in qrels.columns:  # any column may hold labels
        every = engine.schema(sides[1].table, None)
        qrels = every.select(name for name in every.columns if name in qrels.columns or name not in run.columns)
    joining(run, qrels)  # refuses wrong columns before anything runs
    runs, key = _runs(engine, sides[0], setup, empties[1].columns)
    return replace(joining, runs=runs), key


def _runs(
    engine: Engine[T], run: Side[T], setup: Setup, judged: Collection[str]
) -> tuple[pl.DataFrame | None, list[str]]:
    """All runs, if judgments do not name runs and hold for each, else None; and the key common to both."""
    names = [name for name in setup.roles.query if name not in judged]
    key = [name for name in setup.roles.query if name in judged]
    if not names or not key:
        return None, [*setup.roles.query]
    found = engine.collect(engine.by_key(Distinct(tuple(names)), None, run.only(names)))
    return found.unique(maintain_order=True), key


def _names_of_runs(engine: Engine[T], table: Side[T], runs: Runs) -> frozenset[str] | None:
    """The names of the runs of the whole table, if a column holds them."""
    if runs.column is None:
        return None
    found = engine.collect(engine.by_key(Distinct(runs.key), None, table.only(runs.key)))
    return frozenset(found[runs.column].cast(pl.String).drop_nulls())


def _largest_label(
    engine: Engine[T],
    sides: Sequence[Side[T]],
    key: Sequence[str],
    setup: Setup,
    calls: Sequence[Call],
    schema: pl.Schema,
    judging: OnQueries | None,
    judged_only: Missing,
) -> float:
    """The largest label of the table, among documents that count."""
    ranked, shown = setup_of_largest(setup, schema, calls)
    if judging is not None and setup.roles.label not in sides[-1].names:
        return 1.0  # every judgment counts 1
    if shown and (judging is None or judged_only != "drop"):
        found = engine.by_key(LargestLabel(setup, False), None, sides[-1].only([setup.roles.label]))
    else:  # rows are left out; only a ranking tells which
        needed = verb_of(verbs.evaluate).columns(ranked, ())
        found = engine.by_key(LargestLabel(ranked, True, judging), key, *(side.only(needed) for side in sides))
    return max(engine.collect(found)["largest_label"].drop_nulls().to_list(), default=0.0)


def looks_at_whole(what: str, engine: Engine[T]) -> InvalidOption:
    """The error for a verb that cannot run in parts."""
    return InvalidOption(f"{what} needs the whole table in one piece, which a {engine.name} is not; {engine.advice}")


def refuse_row_order(setup: Setup, calls: Sequence[Call], names: Collection[str], what: str) -> None:
    """Refuse to break ties by row order, which is undefined."""
    for policies in {setup.policies, *(setup.resolve(call)[0].policies for call in calls)}:
        rule = policies.tie_rule
        if rule.by_row(documents=setup.roles.doc_in(names) is not None):
            why = "tied rows would stand by, as no column names documents"
            raise InvalidOption(
                f"the rows of a {what} have no order, which {why if rule.by_document else f'ties={policies.ties!r} goes by'}; "
                "name the documents, as in doc='doc_id', ties='doc_desc', or say "
                f"ties={', '.join(repr(x) for x, other in TIE_RULES.items() if not other.by_row(documents=False))}"
            )
