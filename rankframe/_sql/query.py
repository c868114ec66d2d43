"""The columns and sums that formulas need, in SQL.

Columns come in the order in which they are made of each other, then sums.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import polars as pl
from sqlglot import exp

from .._catalog.call import Call
from .._words.ranking import Ranking
from .._words.sorted_rows import LARGEST_LABEL, Needed, in_layers
from ..errors import InvalidOption, warn
from .expressions import Node, Reader, parts_of, tree_of
from .ranked import Ranks, Step, more, named, over
from .trees import Sql, Tree, as_double, case, column, columns, filled, flag
from .words import NO_SQL, NoSql, WindowRows

OWN = ""
"""The order of the ranking among the orders of rows; the others are keys of sorted rows."""


@dataclass
class Entry:
    """A column of a plan in SQL.

    `order` is that of its rows; None if all rows of a query have one value.
    """

    value: Sql
    order: str | None = OWN


@dataclass
class Query:
    """The steps from ranked rows to sums.

    Attributes
    ----------
    ranks
        The steps before: the rows in rank order.
    calls
        The metrics.
    per_row
        Whether sums stand on each row of the query, not once per query.
    """

    ranks: Ranks
    calls: Sequence[Call]
    per_row: bool = False
    levels: list[dict[str, Tree]] = field(default_factory=list)
    joins: dict[int, dict[str, dict[str, Tree]]] = field(default_factory=dict)
    sums: dict[str, Tree] = field(default_factory=dict)
    refused: dict[str, Tree] = field(default_factory=dict)
    _columns: dict[str, pl.Expr] = field(default_factory=dict)
    _level: dict[str, int] = field(default_factory=dict)
    _names: dict[str, str] = field(default_factory=dict)
    _windows: dict[int, set[str]] = field(default_factory=dict)
    _order: str = OWN

    def __post_init__(self) -> None:
        needed = Needed(["#query"])
        self.needed = needed
        self._run_formulas()
        self._columns |= {**needed.source, **needed.early}
        for layer in in_layers(needed.late):
            self._columns |= layer
        carried: dict[str, str] = {}
        for x in needed.source.values():
            for name in x.meta.root_names():
                carried.setdefault(name, f"x_{len(carried) + 1}")
        self.ranks.carried = carried
        self._entries = _ranked_entries(self.ranks.given_grade)
        for name, shown in carried.items():
            value = Sql(column(shown), exact=True)
            self._entries[name] = Entry(value)
        self._reader = Reader(
            self._value_of,
            self._partition,
            lambda: column(self._order or "place"),
            self._lift,
            self.ranks.warehouse.underflows,
        )

    def _run_formulas(self) -> None:
        """Run the formulas, to collect the columns and sums that they need."""
        needed = self.needed
        setup = self.ranks.setup
        ranking = Ranking(WindowRows(needed), setup)
        no_relevant = setup.policies.no_relevant
        for call in self.calls:
            with self._translating(call.text):
                refuse_roles(call)
                needed.values[call.text] = call.value(ranking, no_relevant)
        needed.settle()

    def values(self) -> dict[str, Tree]:
        """The values by text, over the last of the `steps`."""
        needed = self.needed
        for name, x in self._columns.items():
            with self._translating(name):
                self._column(name, x)
        for name, x in needed.sums.items():
            with self._translating(name):
                self._total(name, x)
        constants = {name: pl.col(name) for name in needed.constant}
        for name, x in (needed.maxima | constants).items():
            with self._translating(name):
                self._largest(name, x)
        for message, fault in needed.refused.items():
            with self._translating(""):
                self._refuse(message, fault.rows)
        values = {}
        for text, value in needed.values.items():
            with self._translating(text):
                values[text] = self._reader.read(value).as_float.tree
        return values

    @contextmanager
    def _translating(self, name: str) -> Iterator[None]:
        """Name the metric that reads a column or a sum in the error for what has no SQL."""
        try:
            yield
        except NoSql as error:
            raise InvalidOption(
                f"{self.made_of(name)} has no SQL for {self.ranks.dialect}: {error}; "
                "evaluate it on a frame"
            ) from None

    def made_of(self, name: str) -> str:
        """The text of the first metric that is made of a column or a sum; else the name itself."""
        needed = self.needed
        expressions = {**self._columns, **needed.sums, **needed.maxima}

        def reads(x: pl.Expr) -> bool:
            roots = x.meta.root_names()
            known = [expressions[root] for root in roots if root in expressions]
            return name in roots or any(map(reads, known))

        return next((text for text, value in needed.values.items() if reads(value)), name)

    # ----------------------------------------------------------------------------------------------
    # columns

    def _partition(self, name: str) -> list[Tree]:
        if name == "#query":
            return columns(self.ranks.keys)
        return [self._value_of(name).tree]

    def _value_of(self, name: str) -> Sql:
        """A column, in the order of rows that the present expression has."""
        if name not in self._entries:
            raise NoSql(f"it reads a column {name!r}")
        entry = self._entries[name]
        if name == "#position" and self._order:
            return replace(entry.value, tree=column(self._order))
        if entry.order and entry.order != self._order:
            return self._at_own_place(entry.value, entry.order)
        return entry.value

    def _order_of(self, x: pl.Expr) -> str:
        """The order of an expression's rows: the one of all its columns, else the ranking's own."""
        names = x.meta.root_names()
        entries = [self._entries[name] for name in names if name in self._entries]
        orders = {entry.order for entry in entries if entry.order is not None}
        return orders.pop() if len(orders) == 1 else OWN

    def _read(self, x: pl.Expr) -> Sql:
        before = self._order
        self._order = self._order_of(x)
        try:
            return self._reader.read(x)
        finally:
            self._order = before

    def _column(self, name: str, x: pl.Expr) -> None:
        """Note a column of the rows.

        One that is sorted within its query stays where it is, under the key of that order.
        """
        sort = _sorting(tree_of(x))
        if sort is None:
            order = None if name in self.needed.same else self._order_of(x)
            value = self._plain(self._read(x))
        elif self._order_of(x):
            raise NoSql("it sorts rows that are sorted")
        else:
            value = self._plain(self._reader.node(sort.value))
            order = self._sorted_by(sort)
        self._entries[name] = Entry(value, order)

    def _sorted_by(self, sort: Sorting) -> str:
        """The column that has each row's place in the order of a key."""
        by = self._plain(self._reader.node(sort.key))
        key = exp.Ordered(this=by.tree, desc=sort.falling)
        then = exp.Ordered(this=column("place"))
        place = over(exp.RowNumber(), self.ranks.keys, [key, then])
        return self._add(as_double(place), "by")

    def _plain(self, x: Sql) -> Sql:
        """The value as a column."""
        is_column = isinstance(x.tree, exp.Column) and x.nan is None
        return x if is_column else self._lift(x)

    def _lift(self, x: Sql) -> Sql:
        """The value as a column of an earlier step."""
        tree: Tree = column(self._add(x.as_float.tree))
        nan = x.nan
        if x.kind == "truth":
            tree = tree.eq(1)
        elif x.nan is not None:
            is_nan = as_double(flag(x.nan))
            nan = column(self._add(is_nan)).eq(1)
        return replace(x, tree=tree, nan=nan, exact=False, window=False)

    def _add(self, tree: Tree, prefix: str = "c") -> str:
        """Add a column, once, to the first step that has all that it reads."""
        text = tree.sql()
        if text not in self._names:
            reads = [x.name for x in tree.find_all(exp.Column)]
            level = self._without_other_windows(tree, self._level_after(reads))
            self._put(tree, text, prefix, level)
        return self._names[text]

    def _put(self, tree: Tree, text: str, prefix: str, level: int) -> str:
        """Add a column to a step under a new name, by which its text is known."""
        name = f"{prefix}{len(self._names) + 1}"
        while level >= len(self.levels):
            self.levels.append({})
        self.levels[level][name] = tree
        self._level[name] = level
        self._names[text] = name
        return name

    def _level_after(self, names: Iterable[str]) -> int:
        """The first level above those of some columns."""
        return 1 + max((self._level.get(name, -1) for name in names), default=-1)

    def _without_other_windows(self, tree: Tree, level: int) -> int:
        """The first level from one on whose windows have the partition and order of this tree's."""
        if not self.ranks.warehouse.one_window:
            return level
        windows = {str(_rows_of(window)) for window in tree.find_all(exp.Window)}
        while windows and self._windows.setdefault(level, windows) != windows:
            level += 1
        return level

    def _at_own_place(self, x: Sql, key: str) -> Sql:
        """The value of the row whose place in the order of `key` is this row's own, by a join."""
        x = self._plain(x)
        if x.kind == "truth" or x.nan is not None:
            raise NoSql("it looks up a condition or a quotient in the ideal ranking")
        text = f"{x.tree.name} at {key}"
        if text not in self._names:
            level = self._level_after([x.tree.name, key])
            name = self._put(exp.null(), text, "at", level)
            self.levels[level][name] = column(name, f"by_{key}")
            joins = self.joins.setdefault(level, {})
            joins.setdefault(key, {})[name] = x.tree
        return replace(x, tree=column(self._names[text]), null=True)

    def _joined(
        self, step: str, select: exp.Select, key: str, values: Mapping[str, Tree]
    ) -> exp.Select:
        """A step with values of rows whose place in the order of a key is that of its own rows."""
        ids: dict[str, Tree] = {}
        for name in self.ranks.keys:
            # Null ids are equal here.
            ids[f"{name}_text"] = self.ranks.text(name)
            ids[f"{name}_null"] = flag(column(name).is_(exp.null()))
        place_by_key = {"place": column(key), **ids}
        shown = {f"{name}_{key}": x for name, x in place_by_key.items()}
        rows = exp.select(*named({**shown, **values})).from_(step)
        own_place = {"place": column("place"), **ids}
        tests = [x.eq(column(f"{name}_{key}")) for name, x in own_place.items()]
        return select.join(rows.subquery(f"by_{key}"), on=exp.and_(*tests), join_type="left")

    # ----------------------------------------------------------------------------------------------
    # sums

    def _aggregate(self, function: Tree) -> Tree:
        """A figure of a query: of a group, or on each of its rows."""
        return over(function, self.ranks.keys) if self.per_row else function

    def _total(self, name: str, x: pl.Expr) -> None:
        value = self._read(x)
        # The sum of no row is 0.
        low = min(value.low, 0.0) if value.may_be_null else value.low
        tree, nan = self._sum(exp.Sum, value)
        self._entries[name] = Entry(Sql(tree, null=False, nan=nan, low=low), None)

    def _largest(self, name: str, x: pl.Expr) -> None:
        value = self._read(x)
        tree, nan = self._sum(exp.Max, value)
        largest = Sql(tree, null=value.null, nan=nan, low=value.low)
        self._entries[name] = Entry(largest, None)

    def _sum(self, function: type[exp.AggFunc], x: Sql) -> tuple[Tree, Tree | None]:
        """The column of a sum, and whether it is NaN."""
        x = self._lift(x) if x.window else x
        name = f"s{len(self.sums) + 1}"
        total = self._aggregate(function(this=x.as_float.tree))
        if function is exp.Sum and x.may_be_null:
            total = filled(total, 0)
        self.sums[name] = total
        if x.nan is None:
            return column(name), None
        is_nan = exp.Max(this=flag(x.nan))
        self.sums[f"{name}_nan"] = self._aggregate(is_nan)
        return column(name), column(f"{name}_nan").eq(1)

    def _refuse(self, message: str, rows: pl.Expr) -> None:
        test = self._read(rows).truth
        number = self.ranks.number(message)
        fault = case((test, number), otherwise=None)
        self.refused[message] = self._aggregate(exp.Max(this=fault))

    # ----------------------------------------------------------------------------------------------
    # steps

    def steps(self) -> list[Step]:
        """All steps, once the values are translated."""
        steps = self.ranks.steps()
        if self.needed.reads(LARGEST_LABEL):
            steps.append(self._topped())
        for level in range(len(self.levels)):
            steps.append(self._columns_of(level, steps[-1].name))
        steps.append(self._sums_of(steps[-1].name))
        return steps

    def _topped(self) -> Step:
        """The step that takes the largest label of the table as the top grade."""
        text = self.made_of(LARGEST_LABEL.meta.output_name())
        warn(
            f"{text} takes the largest label of the table as the top grade; say its "
            "number, as in max_label=4"
        )
        label = exp.Max(this=column("label"))
        top = exp.select(label).from_("rf_ranked").subquery()
        return Step("rf_topped", "the largest label of the table", more("rf_ranked", {"top": top}))

    def _columns_of(self, level: int, before: str) -> Step:
        """The step with the columns of a level."""
        says = "what the formulas read on each row"
        if level > 0:
            says += ", made of the columns above"
        name = f"rf_columns_{level + 1}" if len(self.levels) > 1 else "rf_columns"
        select = more(before, self.levels[level])
        for key, values in self.joins.get(level, {}).items():
            select = self._joined(before, select, key, values)
        return Step(name, says, select)

    def _sums_of(self, before: str) -> Step:
        """The step with the sums, and the faults, of each query."""
        faults = {f"f{i}": x for i, x in enumerate(self.refused.values(), 1)}
        sums = {**self.sums, **faults}
        fault = exp.Max(this=column("fault"))
        if self.per_row:
            sums["query_fault"] = self._aggregate(fault)
            tree = more(before, sums)
            return Step("rf_sums", "the sums of each query, on its rows", tree)
        sums = {"fault": fault, **self.ranks.slices(), **sums}
        keys = columns(self.ranks.keys)
        tree = exp.select(*keys, *named(sums)).from_(before)
        return Step("rf_sums", "the sums of each query", tree.group_by(*keys))

    @property
    def fault(self) -> Tree:
        """The number of the fault of a query; null for none."""
        names = ["query_fault"]
        if not self.per_row:
            of_slices = [name for name in self.ranks.slices() if name.endswith("_fault")]
            names = ["fault", *of_slices]
        names += [f"f{i}" for i, _ in enumerate(self.refused, 1)]
        first, *others = columns(names)
        return exp.Coalesce(this=first, expressions=others) if others else first


def _ranked_entries(given_grade: str) -> dict[str, Entry]:
    """The columns of ranked rows."""
    place = Sql(column("place"), null=False, low=1.0)
    largest = Sql(column("top"), null=False, low=0.0)
    label = Sql(column("label"), null=False, low=0.0)
    return {
        "#position": Entry(place, None),
        "#largest": Entry(largest, None),
        "#rank": Entry(Sql(column("doc_rank"), low=1.0)),
        "#label": Entry(label),
        "#raw": Entry(Sql(column("grade"))),
        "#given": Entry(Sql(column(given_grade))),
        "#score": Entry(Sql(column("score"))),
    }


def refuse_roles(call: Call) -> None:
    """Refuse a metric that reads columns which a statement does not have."""
    roles = list(call.metric.needs)
    if call.metric.over == "subtopics":
        roles.insert(0, "subtopic")
    if roles:
        names = ", ".join(NO_SQL.get(role, role) for role in roles)
        raise NoSql(f"it reads {names}")


def _rows_of(window: exp.Window) -> exp.Window:
    """The partition and the order of a window, without its function."""
    rows = window.copy()
    rows.set("this", exp.null())
    return rows


class Sorting(NamedTuple):
    """The nodes of a value and a key by which rows are sorted within their query."""

    value: Node
    key: Node
    falling: bool


def _sorting(node: Node) -> Sorting | None:
    """How a node sorts rows; None for another node."""
    kind, content = parts_of(node)
    function = content["function"] if kind == "Over" else None
    kind, content = parts_of(function)
    if kind == "Sort":
        x = content["expr"]
        return Sorting(x, x, content["options"]["descending"])
    if kind == "SortBy" and len(content["by"]) == 1:
        (key,) = content["by"]
        (falling,) = content["sort_options"]["descending"]
        return Sorting(content["expr"], key, falling)
    return None
