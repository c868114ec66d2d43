"""The columns and sums that formulas need, in SQL: columns in the order in which they are made of
each other, then sums.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import polars as pl
from sqlglot import exp

from .._catalog.call import Call
from .._words.ranking import Ranking
from .._words.sorted_rows import LARGEST_LABEL, Needed, in_layers
from ..errors import InvalidOption, warn
from .expressions import Node, Reader, Sql, Tree, case, filled, flag, tree_of
from .ranked import Ranks, Step, named
from .words import NO_SQL, NoSql, WindowRows

OWN = ""
"""The order of the ranking, among the orders in which rows stand; the others are keys of sorted
rows."""


@dataclass
class Entry:
    """A column of a plan in SQL; `order` is that of its rows, None if all rows of a query have one
    value.
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
    _level: dict[str, int] = field(default_factory=dict)
    _made: dict[str, str] = field(default_factory=dict)
    _windows: dict[int, set[str]] = field(default_factory=dict)
    _order: str = OWN

    def __post_init__(self) -> None:
        self.needed = self._run()
        self._columns = {**self.needed.source, **self.needed.early}
        self._columns |= {
            name: x for layer in in_layers(self.needed.late) for name, x in layer.items()
        }
        reads = [name for x in self.needed.source.values() for name in x.meta.root_names()]
        self.ranks.carried = {name: f"x_{i}" for i, name in enumerate(dict.fromkeys(reads), 1)}
        self._entries = {
            "#position": Entry(Sql(exp.column("place"), null=False, low=1.0), None),
            "#rank": Entry(Sql(exp.column("doc_rank"), low=1.0)),
            "#label": Entry(Sql(exp.column("label"), null=False, low=0.0)),
            "#raw": Entry(Sql(exp.column("grade"))),
            "#given": Entry(Sql(exp.column(self.ranks.given_grade))),
            "#score": Entry(Sql(exp.column("score"))),
            "#largest": Entry(Sql(exp.column("top"), null=False, low=0.0), None),
            **{
                name: Entry(Sql(exp.column(own), exact=True))
                for name, own in self.ranks.carried.items()
            },
        }
        underflows = self.ranks.warehouse.underflows
        self._reader = Reader(
            self._found,
            self._partition,
            lambda: exp.column(self._order or "place"),
            self._lift,
            underflows,
        )

    def _run(self) -> Needed:
        """Run the formulas, to collect the columns and sums that they need."""
        needed = Needed(["#query"])
        ranking = Ranking(WindowRows(needed), self.ranks.setup)
        for call in self.calls:
            with _Refusing(self, call.text):
                if needs := ["subtopic"] * (call.metric.over == "subtopics") + [*call.metric.needs]:
                    raise NoSql(f"it reads {', '.join(NO_SQL.get(role, role) for role in needs)}")
                needed.values[call.text] = call.value(
                    ranking, self.ranks.setup.policies.no_relevant
                )
        needed.settle()
        return needed

    def values(self) -> dict[str, Tree]:
        """The values by text, over the last of the `steps`."""
        needed = self.needed
        work: list[tuple[str, Callable[[], None]]] = [
            (x, _bound(self._column, x, of)) for x, of in self._columns.items()
        ]
        work += [(x, _bound(self._total, x, of, exp.Sum)) for x, of in needed.sums.items()]
        work += [(x, _bound(self._total, x, of, exp.Max)) for x, of in needed.maxima.items()]
        work += [(x, _bound(self._total, x, pl.col(x), exp.Max)) for x in needed.constant]
        work += [
            ("", _bound(self._refuse, message, fault.rows))
            for message, fault in needed.refused.items()
        ]
        for name, translate in work:
            with _Refusing(self, name):
                translate()
        found = {}
        for text, value in needed.values.items():
            with _Refusing(self, text):
                found[text] = self._reader.read(value).as_float.tree
        return found

    def made_of(self, name: str) -> str:
        """The text of the first metric that is made of a column or a sum; the name itself, if it is
        one.
        """
        made = (
            {**self._columns, **self.needed.sums, **self.needed.maxima}
            if hasattr(self, "_columns")
            else {}
        )

        def reads(x: pl.Expr) -> bool:
            roots = x.meta.root_names()
            return name in roots or any(reads(made[root]) for root in roots if root in made)

        return (
            next((text for text, value in self.needed.values.items() if reads(value)), name)
            if made
            else name
        )

    # ----------------------------------------------------------------------------------------------
    # -- columns

    def _partition(self, name: str) -> list[Tree]:
        return (
            [exp.column(key) for key in self.ranks.keys]
            if name == "#query"
            else [self._found(name).tree]
        )

    def _found(self, name: str) -> Sql:
        """A column, in the order of rows that the present expression has."""
        if name not in self._entries:
            raise NoSql(f"it reads a column {name!r}")
        entry = self._entries[name]
        if name == "#position" and self._order:
            return replace(entry.value, tree=exp.column(self._order))
        return (
            self._at_own_place(entry.value, entry.order)
            if entry.order and entry.order != self._order
            else entry.value
        )

    def _order_of(self, x: pl.Expr) -> str:
        """The order of an expression's rows: that of its columns, if it is one; else the ranking's
        own.
        """
        orders = {
            self._entries[name].order for name in x.meta.root_names() if name in self._entries
        } - {None}
        return next(iter(orders)) or OWN if len(orders) == 1 else OWN

    def _read(self, x: pl.Expr) -> Sql:
        before, self._order = self._order, self._order_of(x)
        try:
            return self._reader.read(x)
        finally:
            self._order = before

    def _column(self, name: str, x: pl.Expr) -> None:
        """Note a column of the rows; one that is sorted within its query stays where it is, under
        the key of that order.
        """
        sort = _sorting(tree_of(x))
        if sort is None:
            order = None if name in self.needed.same else self._order_of(x)
            self._entries[name] = Entry(self._plain(self._read(x)), order)
            return
        if self._order_of(x):
            raise NoSql("it sorts rows that are sorted")
        value, by = (self._plain(self._reader.node(node)) for node in sort[:2])
        keys = [exp.Ordered(this=by.tree, desc=sort[2]), exp.Ordered(this=exp.column("place"))]
        place = exp.Window(
            this=exp.RowNumber(),
            partition_by=self._partition("#query"),
            order=exp.Order(expressions=keys),
        )
        self._entries[name] = Entry(value, self._add(exp.cast(place, "double"), "by"))

    def _plain(self, x: Sql) -> Sql:
        """The value as a column."""
        return x if isinstance(x.tree, exp.Column) and x.nan is None else self._lift(x)

    def _lift(self, x: Sql) -> Sql:
        """The value as a column of an earlier step."""
        own = exp.column(self._add(x.as_float.tree))
        if x.kind == "truth":
            return replace(x, tree=own.eq(1), exact=False, window=False)
        nan = (
            None if x.nan is None else exp.column(self._add(exp.cast(flag(x.nan), "double"))).eq(1)
        )
        return replace(x, tree=own, nan=nan, exact=False, window=False)

    def _add(self, tree: Tree, prefix: str = "c", level: int | None = None, known: str = "") -> str:
        """Add a column, once, to the first step that has all that it reads."""
        known = known or tree.sql()
        if known not in self._made:
            if level is None:
                level = max(
                    (self._level.get(x.name, -1) + 1 for x in tree.find_all(exp.Column)), default=0
                )
                level = self._without_other_windows(tree, level)
            self.levels += [{} for _ in range(level + 1 - len(self.levels))]
            name = f"{prefix}{len(self._made) + 1}"
            self.levels[level][name], self._level[name], self._made[known] = tree, level, name
        return self._made[known]

    def _without_other_windows(self, tree: Tree, level: int) -> int:
        """The first level from one on whose windows have the partition and order of this tree's."""
        own = {str(exp.Window(**{**x.args, "this": exp.null()})) for x in tree.find_all(exp.Window)}
        if self.ranks.warehouse.one_window and own:
            while self._windows.setdefault(level, own) != own:
                level += 1
        return level

    def _at_own_place(self, x: Sql, key: str) -> Sql:
        """The value of the row whose place in the order of `key` is the place of this row, by a
        join.
        """
        x = self._plain(x)
        if x.kind == "truth" or x.nan is not None:
            raise NoSql("it looks up a condition or a quotient in the ideal ranking")
        level = max(self._level.get(name, -1) for name in (x.tree.name, key)) + 1
        name = self._add(exp.null(), "at", level, f"{x.tree.name} at {key}")
        self.levels[level][name] = exp.column(name, f"by_{key}")
        self.joins.setdefault(level, {}).setdefault(key, {})[name] = x.tree
        return replace(x, tree=exp.column(name), null=True)

    def _joined(
        self, of: str, select: exp.Select, joins: Mapping[str, Mapping[str, Tree]]
    ) -> exp.Select:
        """A step with the values of rows in other orders; null ids are equal."""
        for key, columns in joins.items():
            same: dict[str, Tree] = {"place": exp.column(key)}
            for name in self.ranks.keys:
                same |= {
                    f"{name}_text": self.ranks.text(name),
                    f"{name}_null": flag(exp.column(name).is_(exp.null())),
                }
            own = {**same, "place": exp.column("place")}
            rows = exp.select(
                *named({f"{name}_{key}": x for name, x in same.items()} | dict(columns))
            ).from_(of)
            test = exp.and_(*(x.eq(exp.column(f"{name}_{key}")) for name, x in own.items()))
            select = select.join(rows.subquery(f"by_{key}"), on=test, join_type="left")
        return select

    # -------------------------------------------------------------------------------------------
    # sums and steps

    def aggregate(self, function: Tree) -> Tree:
        """A figure of a query: of a group, or on each of its rows."""
        return (
            exp.Window(this=function, partition_by=self._partition("#query"))
            if self.per_row
            else function
        )

    def _total(self, name: str, x: pl.Expr, how: type[exp.AggFunc]) -> None:
        value = self._read(x)
        value = self._lift(value) if value.window else value
        own, tree = f"s{len(self.sums) + 1}", self.aggregate(how(this=value.as_float.tree))
        self.sums[own] = filled(tree, 0) if how is exp.Sum and value.may_be_null else tree
        nan = None
        if value.nan is not None:
            self.sums[f"{own}_nan"] = self.aggregate(exp.Max(this=flag(value.nan)))
            nan = exp.column(f"{own}_nan").eq(1)
        low = (
            value.low
            if how is exp.Max
            else min(value.low, 0.0)
            if value.low < 0 or value.may_be_null
            else value.low
        )
        self._entries[name] = Entry(
            Sql(exp.column(own), null=how is exp.Max and value.null, nan=nan, low=low), None
        )

    def _refuse(self, message: str, rows: pl.Expr) -> None:
        test = self._read(rows)
        self.refused[message] = self.aggregate(
            exp.Max(this=case((test.truth, self.ranks.number(message)), otherwise=None))
        )

    def steps(self) -> list[Step]:
        """All steps, once the values are translated."""
        steps = self.ranks.steps()
        if self.needed.reads(LARGEST_LABEL):
            taking = self.made_of(LARGEST_LABEL.meta.output_name())
            warn(
                f"{taking} takes the largest label of the table as the top grade; say its "
                "number, as in max_label=4"
            )
            largest = exp.select(exp.Max(this=exp.column("label"))).from_("rf_ranked").subquery()
            steps.append(
                Step(
                    "rf_topped",
                    "the largest label of the table",
                    more("rf_ranked", {"top": largest}),
                )
            )
        for i, columns in enumerate(self.levels):
            of, number = steps[-1].name, f"_{i + 1}" if len(self.levels) > 1 else ""
            says = "what the formulas read on each row" + (
                ", made of the columns above" if i else ""
            )
            steps.append(
                Step(
                    f"rf_columns{number}",
                    says,
                    self._joined(of, more(of, columns), self.joins.get(i, {})),
                )
            )
        of, faults = (
            steps[-1].name,
            {"fault": exp.Max(this=exp.column("fault")), **self.ranks.slices()},
        )
        sums = {**self.sums, **{f"f{i}": x for i, x in enumerate(self.refused.values(), 1)}}
        if self.per_row:
            tree = more(
                of, {**sums, "query_fault": self.aggregate(exp.Max(this=exp.column("fault")))}
            )
        else:
            keys = [exp.column(key) for key in self.ranks.keys]
            tree = exp.select(*keys, *named({**faults, **sums})).from_(of).group_by(*keys)
        return [
            *steps,
            Step("rf_sums", "the sums of each query" + ", on its rows" * self.per_row, tree),
        ]

    @property
    def fault(self) -> Tree:
        """The number of the fault of a query; null for none."""
        names = (
            ["query_fault"]
            if self.per_row
            else ["fault", *(x for x in self.ranks.slices() if x.endswith("_fault"))]
        )
        first, *others = map(
            exp.column, [*names, *(f"f{i}" for i, _ in enumerate(self.refused, 1))]
        )
        return exp.Coalesce(this=first, expressions=others) if others else first


class _Refusing:
    """Names the metric, and the dialect, in the error for what has no SQL."""

    def __init__(self, query: Query, name: str) -> None:
        self.query, self.name = query, name

    def __enter__(self) -> None: ...

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if isinstance(error, NoSql):
            text = self.query.made_of(self.name)
            raise InvalidOption(
                f"{text} has no SQL for {self.query.ranks.dialect}: {error}; evaluate it on a frame"
            ) from None


def _bound(work: Callable[..., None], *args: object) -> Callable[[], None]:
    return lambda: work(*args)


def more(of: str, columns: Mapping[str, Tree]) -> exp.Select:
    """All columns of a step, and more."""
    return exp.select(
        exp.Column(this=exp.Star(), table=exp.to_identifier(of)), *named(columns)
    ).from_(of)


def _sorting(node: Node) -> tuple[Node, Node, bool] | None:
    """The value, the key and the direction of rows that are sorted within their query; None for
    another node.
    """
    inner = node.get("Over", {}).get("function", {}) if isinstance(node, dict) else {}
    if "Sort" in inner:
        return inner["Sort"]["expr"], inner["Sort"]["expr"], inner["Sort"]["options"]["descending"]
    if "SortBy" in inner and len(inner["SortBy"]["by"]) == 1:
        return (
            inner["SortBy"]["expr"],
            inner["SortBy"]["by"][0],
            inner["SortBy"]["sort_options"]["descending"][0],
        )
    return None
