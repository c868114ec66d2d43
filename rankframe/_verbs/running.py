"""How a call of a verb runs: on rows in memory, or as a node of a lazy plan."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import polars as pl

from .._catalog.call import Call
from .._plan.node import Give, node, source
from .._plan.per_query import LARGEST, largest_in, measure, needs_largest_label, setup_of_largest
from .._plan.watch import Watch, watch_slices
from .._table.background import Items
from .._table.runs import Runs
from .._table.setup import Setup
from .._table.table import Table, Whole
from ..errors import InvalidOption, MissingColumn, calling_line, did_you_mean, once_each, shown
from .declaration import VerbCall

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


def refuse_absent_values(frame: pl.DataFrame | pl.LazyFrame, setup: Setup, calls: Sequence[Call]) -> None:
    """Refuse a call with an option that names a value which no row of the table has."""
    refuse = absent_values(setup, calls)
    if refuse is not None:
        refuse(frame.lazy())


def _values(rows: pl.LazyFrame, setup: Setup, name: str) -> list[str]:
    """The values of a column as text, of the table or of the items that have it."""
    items = setup.background.items
    if setup.background.has(name) and isinstance(items, Items):
        rows = items.frame.lazy()
    found = rows.select(pl.col(name).cast(pl.String).drop_nulls().unique().sort()).collect(engine="streaming")
    return found.to_series().to_list()


def _refuse(call: Call, option: str, value: str, name: str, there: Sequence[str]) -> None:
    if value in there or not there:  # a table without values has nothing to name
        return
    more = f" and {len(there) - MOST_VALUES} more" if len(there) > MOST_VALUES else ""
    raise InvalidOption(
        f"{call.text}: column {name!r} nowhere holds {shown(value)}; write one of its values for {option}: "
        f"{', '.join(map(repr, there[:MOST_VALUES]))}{more}.{did_you_mean(value, there)}"
    )


def on_rows(call: VerbCall, table: Table[Any]) -> Any:
    """The result for rows in memory; a whole table is refused or warned of where its parts may differ from it."""
    result = call.on(table)
    if table.whole is not None or call.reads_labels is not True:
        return result
    if table.setup.roles.group is not None:
        refuse_absent_values(table.rows, table.setup, call.calls)
    if call.verb.watched:
        by = call.arguments.get("by") or ()
        watch_runs(table.rows, table.setup, call, [by] if isinstance(by, str) else by)
    return result


def watch_runs(frame: pl.DataFrame, setup: Setup, call: VerbCall, by: Sequence[str]) -> None:
    """Warn of runs, or slices of queries, whose numbers are not what is meant, once for all."""
    with once_each():
        for of_run in call.runs.apart(setup, ())[0].values():
            slices = [*call.runs.key, *(name for name in by if name in setup.roles.query)]
            watch_slices(frame, of_run, call.calls, list(dict.fromkeys(slices)))


def plan_of(frame: pl.LazyFrame, setup: Setup, call: VerbCall) -> Any:
    """The result for a LazyFrame: a plan that computes it when it runs; a verb of the whole table collects it now."""
    verb = call.verb
    if verb.lazily is not None:
        return verb.lazily(frame, setup, call)
    if verb.within_queries:
        return _by_query(frame, call.runs.queries(setup), call)
    if verb.gives == "whole":
        rows = _read(frame, setup, call).collect(engine="streaming")
        try:
            return on_rows(call, Table(rows, setup, give=lambda found: found.lazy()))
        except MissingColumn:
            call.on(Table(frame.collect_schema().to_frame(), setup))  # names all columns of the table in its error
            raise
    schema = call.on(
        Table(frame.collect_schema().to_frame(), setup)
    ).schema  # errors of columns and options at the call
    kept = None if verb.keeps is None else _by_query(frame, call.runs.queries(setup), call, keeps=True)

    def work(give: Give, *_: object) -> None:
        rows = frame.collect_schema().to_frame()
        if kept is None:
            rows = _read(frame, setup, call).collect(engine="streaming")
        give(call.on(Table(rows, setup, kept=None if kept is None else kept.collect(engine="streaming"))))

    return node(work, frame, schema, verb.name)


def _read(frame: pl.LazyFrame, setup: Setup, call: VerbCall) -> pl.LazyFrame:
    """The columns that the call reads."""
    read = call.columns(setup)
    return frame if call.reads_any else frame.select(name for name in frame.collect_schema() if name in read)


def _by_query(frame: pl.LazyFrame, setup: Setup, call: VerbCall, *, keeps: bool = False) -> pl.LazyFrame:
    """A node that runs the verb, or the function that makes what the verb keeps, on batches of whole queries."""
    verb, schema = call.verb, frame.collect_schema()

    def run(rows: pl.DataFrame, whole: Whole | None, names: Sequence[str] | None) -> pl.DataFrame:
        table = Table[pl.DataFrame](rows, setup, whole)
        found: pl.DataFrame = call.kept(table) if keeps else call.only(names, setup).on(table)
        return found

    calls = call.calls if call.reads_labels else []
    setups = [*call.runs.apart(setup, ())[0].values()]
    needing = [x for x in setups if calls and needs_largest_label(x, schema, calls)]
    named = call.runs if verb.gives in ("list", "query") else Runs()

    def facts(rows: pl.LazyFrame) -> Whole:
        labels = {x.roles.score: _largest_label(rows, x, calls) for x in needing}
        return Whole(labels, named.names(rows) if named.key else None)

    def watch() -> Watches:
        return Watches([Watch(x, calls, at) for x in setups])

    read, at = call.columns(setup), calling_line()
    return source(
        frame,
        setup,
        run,
        verb.name,
        reads=[name for name in schema if call.reads_any or name in read],
        carries=verb.gives == "row",
        whole=facts if needing or named.key else None,
        check=absent_values(setup, calls),
        watch=watch if verb.watched else None,
    )


def _largest_label(rows: pl.LazyFrame, setup: Setup, calls: Sequence[Call]) -> float:
    """The largest label of a table, which may be larger than memory."""
    ranked, is_plain = setup_of_largest(setup, rows.collect_schema(), calls)
    if not is_plain:  # policies may leave labels out: rank each query first
        rows = source(
            rows, ranked, lambda rows, *_: measure(rows, ranked, LARGEST), "largest_label", reads=ranked.roles.names
        )
    return largest_in(rows.select(ranked.roles.label if is_plain else LARGEST.text))


class Watches:
    """The watches of several runs over the same rows."""

    def __init__(self, watches: Sequence[Watch]) -> None:
        self.watches = watches

    def see(self, rows: pl.DataFrame) -> None:
        """Look at a part of the table."""
        for watch in self.watches:
            watch.see(rows)

    def warn(self) -> None:
        """Warn of each suspicion, once for all runs."""
        with once_each():
            for watch in self.watches:
                watch.warn()
