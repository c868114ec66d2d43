"""A statement as steps, one common table expression each: judged, ranked, columns, sums, and the values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import polars as pl
from sqlglot import Dialect as Dialects, ErrorLevel, exp

from .._catalog.call import Call
from .._table.columns import TEXTS
from .._table.policies import GREATEST
from .._table.setup import Setup
from .._words.columns_needed import Needed
from .._words.ranking import Ranking
from ..errors import InvalidOption
from .expressions import (
    Reader,
    Sql,
    case,
    is_null,
    literal,
    negated,
    numbered,
    paren,
    tree_of,
)
from .warehouses import WAREHOUSES, Dialect, Warehouse
from .words import NoSql, WindowRows

if TYPE_CHECKING:
    from .expressions import Node

ZERO, ONE = exp.Literal.number(0), exp.Literal.number(1)

OWN = ""
"""The order of the ranking, among the orders in which columns stand."""


@dataclass
class Step:
    """A common table expression."""

    name: str
    says: str
    tree: exp.Expression


@dataclass
class Entry:
    """A column of a plan in SQL; `order` is that of its rows: own, the key of a sorted one, or None if all rows have one value."""

    value: Sql
    order: str | None = OWN


@dataclass
class Tables:
    """The tables of a statement: whether the judgments are a table of their own, and columns of the first."""

    two: bool = False
    runs: tuple[str, ...] = ()
    by: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    keeps_judged: bool = True
    keeps_run: bool = False


@dataclass
class Plan:
    """The steps of a statement, from the columns and sums that formulas need."""

    setup: Setup
    dialect: Dialect
    tables: Tables
    calls: Sequence[Call]
    per_row: bool = False
    levels: list[dict[str, exp.Expression]] = field(default_factory=list)
    sums: dict[str, exp.Expression] = field(default_factory=dict)
    joins: dict[int, dict[str, dict[str, exp.Expression]]] = field(default_factory=dict)
    _level: dict[str, int] = field(default_factory=dict)
    _entries: dict[str, Entry] = field(default_factory=dict)
    _keys: dict[str, str] = field(default_factory=dict)
    _lifted: dict[str, str] = field(default_factory=dict)
    _order: str = OWN
    _kinds: Sequence[str] = ()

    def __post_init__(self) -> None:
        self.needed = self._run()
        self.columns = self._columns_of_table()
        place = Sql(exp.column("place"), null=False, low=1.0)
        self._entries = {
            "#position": Entry(place, None),
            "#rank": Entry(Sql(exp.column("doc_rank"), low=1.0)),
            "#label": Entry(Sql(exp.column("label"), null=False, low=0.0)),
            "#raw": Entry(Sql(exp.column("grade"))),
            "#score": Entry(Sql(exp.column("score"))),
            "#largest": Entry(Sql(exp.column("top"), null=False, low=0.0), None),
            **{name: Entry(Sql(exp.column(own))) for name, own in self.columns.items()},
        }

    @property
    def warehouse(self) -> Warehouse:
        """What is particular in the dialect."""
        return WAREHOUSES[self.dialect]

    @cached_property
    def keys(self) -> list[str]:
        """The columns that name a query."""
        return [f"query_{i}" for i, _ in enumerate(self.setup.roles.query, 1)]

    # ------------------------------------------------------------------------------------- the formulas

    def _run(self) -> Needed:
        """Run the formulas, to collect the columns and sums that they need."""
        needed = Needed(["#query"])
        ranking = Ranking(WindowRows(needed), self.setup)
        for call in self.calls:
            try:
                needed.values[call.text] = call.value(ranking, self.setup.policies.no_relevant)
            except NoSql as error:
                raise self.without_sql(call.text, error) from None
        needed.settle()
        return needed

    def without_sql(self, text: str, error: NoSql) -> InvalidOption:
        """The error for a metric that has no SQL."""
        return InvalidOption(f"{text} has no SQL for {self.dialect}: {error}; evaluate it on a frame")

    def _columns_of_table(self) -> dict[str, str]:
        """The columns that formulas read, besides query, document, score and label, with their names in the steps."""
        needed = self.needed
        names = [name for x in needed.source.values() for name in x.meta.root_names()]
        return {name: f"x_{i}" for i, name in enumerate(dict.fromkeys(names), 1)}

    def translated(self) -> dict[str, exp.Expression]:
        """The columns, sums and values of the formulas in SQL; returns the values by text."""
        needed = self.needed
        columns = {**needed.source, **{name: x for layer in (needed.early, *needed.late) for name, x in layer.items()}}
        for name, x in columns.items():
            self._in(name, lambda name=name, x=x: self._column(name, x))
        for i, fault in enumerate(needed.refused.values()):
            self._in(f"#refused {i}", lambda i=i, fault=fault: self._fault(FIRST_REFUSAL + i, fault.rows))
        for name, x in needed.sums.items():
            self._in(name, lambda name=name, x=x: self._total(name, x, "sum"))
        for name, x in needed.maxima.items():
            self._in(name, lambda name=name, x=x: self._total(name, x, "max"))
        for name in needed.constant:
            if name in self._entries:
                self._in(name, lambda name=name: self._constant(name))
        found = {}
        for text, value in needed.values.items():
            try:
                sql = self._reader.read(value)
            except NoSql as error:
                raise self.without_sql(text, error) from None
            found[text] = sql.as_float.tree if sql.kind != "text" else sql.tree
        return found

    def _in(self, name: str, work: object) -> None:
        """Do work for a column; an error names the first metric that is made of it."""
        try:
            work()  # type: ignore[operator]
        except NoSql as error:
            text = next((text for text, value in self.needed.values.items() if self._reads(value, name)), name)
            raise self.without_sql(text, error) from None

    def _reads(self, x: pl.Expr, name: str) -> bool:
        """Whether an expression is made of a column."""
        needed = self.needed
        made = {k: v for columns in (needed.source, needed.early, *needed.late, needed.sums, needed.maxima)
                for k, v in columns.items()}  # fmt: skip
        roots = x.meta.root_names()
        return name in roots or any(self._reads(made[root], name) for root in roots if root in made)

    @property
    def _reader(self) -> Reader:
        return Reader(self._found, self._partition, self._place, self._lift, underflows=self.warehouse.underflows)

    def _partition(self, name: str) -> list[exp.Expression]:
        if name == "#query":
            return [exp.column(key) for key in self.keys]
        return [self._found(name).tree]

    def _place(self) -> exp.Expression:
        return exp.column(self._order or "place")

    def _found(self, name: str) -> Sql:
        """A column, in the order of the rows that the present expression has."""
        if name not in self._entries:
            raise NoSql(f"it reads a column {name!r}")
        entry = self._entries[name]
        if name == "#position" and self._order:
            return Sql(exp.column(self._order), null=False, low=1.0)
        if entry.order and entry.order != self._order:
            return self._at_own_place(entry.value, entry.order)
        return entry.value

    def _at_own_place(self, x: Sql, key: str) -> Sql:
        """The value of the row whose place in the order of `key` is the place of this row."""
        x = self._plain(x)
        if x.kind == "truth":
            raise NoSql("it looks up a condition in the ideal ranking")
        level = max(self._level.get(name, -1) for name in (x.tree.name, key)) + 1
        while len(self.levels) <= level:
            self.levels.append({})
        known = f"{x.tree.name} at {key}"
        if known not in self._lifted:
            name = f"at{sum(map(len, self.levels)) + 1}"
            self._lifted[known], self._level[name] = name, level
            self.levels[level][name] = exp.column(name, f"by_{key}")
            self.joins.setdefault(level, {}).setdefault(key, {})[name] = x.tree
        return replace(x, tree=exp.column(self._lifted[known]), null=True)

    def _joined(self, of: str, select: exp.Select, joins: Mapping[str, Mapping[str, exp.Expression]]) -> exp.Select:
        """A step with the values of rows in other orders."""
        for key, columns in joins.items():
            ids = {f"{name}_of_{key}": self._joinable(name) for name in self.keys}
            nulls = {f"{name}_null_{key}": nulls_last(exp.column(name)) for name in self.keys}
            rows = (
                exp.select(*named({**ids, **nulls, f"place_{key}": exp.column(key), **columns}))
                .from_(of)
                .subquery(f"by_{key}")
            )
            same = [exp.EQ(this=x, expression=exp.column(name)) for name, x in ids.items()]
            same += [exp.EQ(this=x, expression=exp.column(name)) for name, x in nulls.items()]
            same.append(exp.EQ(this=exp.column("place"), expression=exp.column(f"place_{key}")))
            select = select.join(rows, on=exp.and_(*same), join_type="left")
        return select

    def _joinable(self, key: str) -> exp.Expression:
        """An id as a text that is not null."""
        x: exp.Expression = exp.Coalesce(
            this=exp.cast(exp.column(key), self.warehouse.text), expressions=[exp.Literal.string("")]
        )
        text = self.setup.roles.query[self.keys.index(key)] not in self.tables.numbers
        return self.warehouse.bytewise(x) if text and self.warehouse.bytewise is not None else x

    def _with_order(self, x: pl.Expr) -> str:
        """The order in which the rows of an expression stand, from the columns that it reads."""
        orders = {self._entries[name].order for name in x.meta.root_names() if name in self._entries} - {None}
        return next(iter(orders)) if len(orders) == 1 else OWN

    def _read(self, x: pl.Expr) -> Sql:
        before, self._order = self._order, self._with_order(x)
        try:
            return self._reader.read(x)
        finally:
            self._order = before

    def _column(self, name: str, x: pl.Expr) -> None:
        """Note a column of the rows."""
        same = name in self.needed._same
        if (sort := _sorting(tree_of(x))) is not None:
            value, by, falling = sort
            by_sql, value_sql = (self._plain(self._reader.node(node)) for node in (by, value))
            if any(self._entries[n].order for n in x.meta.root_names() if n in self._entries):
                raise NoSql("it sorts rows that are sorted")
            self._entries[name] = Entry(value_sql, self._key(by_sql, falling=falling))
            return
        order = self._with_order(x)
        value = self._plain(self._read(x))
        self._entries[name] = Entry(value, None if same else order)

    def _key(self, by: Sql, *, falling: bool) -> str:
        """The column with the place of each row, if rows are sorted by a value."""
        known = f"{by.tree.sql()} {falling}"
        if known not in self._keys:
            keys = [exp.Ordered(this=by.tree, desc=falling), exp.Ordered(this=exp.column("place"))]
            number = exp.Window(
                this=exp.RowNumber(), partition_by=self._partition("#query"), order=exp.Order(expressions=keys)
            )
            self._keys[known] = self._add("by", exp.cast(number, "double"))
        return self._keys[known]

    def _plain(self, x: Sql) -> Sql:
        """The value as a column of an earlier step."""
        if isinstance(x.tree, exp.Column) and x.nan is None:
            return x
        return self._lift(x)

    def _lift(self, x: Sql) -> Sql:
        value = numbered(x).as_float if x.kind == "truth" else x.as_float
        column = exp.column(self._add("c", value.tree))
        nan = None
        if x.nan is not None:
            flag = exp.column(self._add("c", exp.cast(case((x.nan, ONE.copy()), otherwise=ZERO.copy()), "double")))
            nan = exp.EQ(this=flag, expression=ONE.copy())
        if x.kind == "truth":
            return Sql(exp.EQ(this=column, expression=ONE.copy()), "truth", null=x.null)
        return Sql(column, x.kind, null=x.null, nan=nan, low=x.low)

    def _add(self, prefix: str, tree: exp.Expression) -> str:
        """Add a column, once, to the first step that has all that it reads."""
        known = tree.sql()
        if known not in self._lifted:
            level = max((self._level.get(x.name, -1) + 1 for x in tree.find_all(exp.Column)), default=0)
            while len(self.levels) <= level:
                self.levels.append({})
            name = f"{prefix}{sum(map(len, self.levels)) + 1}"
            self.levels[level][name], self._level[name] = tree, level
            self._lifted[known] = name
        return self._lifted[known]

    def _aggregate(self, function: exp.Expression) -> exp.Expression:
        """A sum over a query: of a group, or on each of its rows."""
        if not self.per_row:
            return function
        return exp.Window(this=function, partition_by=[exp.column(key) for key in self.keys])

    def _total(self, name: str, x: pl.Expr, how: str) -> None:
        value = self._read(x)
        value = self._lift(value) if value.window else value
        number = value.as_float
        own = f"s{len(self.sums) + 1}"
        if how == "sum":
            tree = self._aggregate(exp.Sum(this=number.tree))
            if value.null or value.nan is not None:
                tree = exp.Coalesce(this=tree, expressions=[ZERO.copy()])
        else:
            tree = self._aggregate(exp.Max(this=number.tree))
        self._once(name, own, tree, value, null=how == "max" and value.null)

    def _constant(self, name: str) -> None:
        value = self._entries[name].value
        self._once(
            name, f"s{len(self.sums) + 1}", self._aggregate(exp.Max(this=value.as_float.tree)), value, null=value.null
        )

    def _once(self, name: str, own: str, tree: exp.Expression, value: Sql, *, null: bool) -> None:
        nan = None
        self.sums[own] = tree
        if value.nan is not None:
            flag = case((value.nan, ONE.copy()), otherwise=ZERO.copy())
            self.sums[f"{own}_nan"] = self._aggregate(exp.Max(this=flag))
            nan = exp.EQ(this=exp.column(f"{own}_nan"), expression=ONE.copy())
        low = value.low if value.low == 0 or value.low > 0 else float("-inf")
        self._entries[name] = Entry(Sql(exp.column(own), null=null, nan=nan, low=min(low, value.low)), None)

    def _fault(self, number: int, rows: pl.Expr) -> None:
        bad = self._read(rows)
        flag = case((bad.tree, exp.Literal.number(number)), otherwise=None)
        self.sums[f"f{number}"] = self._aggregate(exp.Max(this=flag))

    # ------------------------------------------------------------------------------------- the steps

    def ranked(self) -> list[Step]:
        """The steps that rank the documents."""
        return [*self._judged(), *self._ranked()]

    def steps(self) -> tuple[list[Step], dict[str, exp.Expression]]:
        """All steps but the last, and the values by text, over the last of them."""
        values = self.translated()
        steps = self.ranked()
        if self.needed.reads(pl.col("#largest")):
            self._top(steps)
        for i, columns in enumerate(self.levels, 1):
            of = steps[-1].name
            name = "rf_columns" if len(self.levels) == 1 else f"rf_columns_{i}"
            says = "what the formulas read on each row" + ("" if i == 1 else ", made of the columns above")
            steps.append(Step(name, says, self._joined(of, self.more(of, columns), self.joins.get(i - 1, {}))))
        return [*steps, self._summed(steps[-1].name)], values

    def more(self, of: str, columns: Mapping[str, exp.Expression]) -> exp.Select:
        """All columns of a step, and more."""
        return exp.select(exp.Column(this=exp.Star(), table=exp.to_identifier(of)), *named(columns)).from_(of)

    def _identifier(self, name: str) -> exp.Expression:
        return column(name, self.warehouse)

    def _id(self, name: str) -> exp.Expression:
        """An id, compared by its bytes if it is text."""
        x = self._identifier(name)
        return x if name in self.tables.numbers or self.warehouse.bytewise is None else self.warehouse.bytewise(x)

    def shown(self, key: str, name: str) -> exp.Expression:
        """A column of ids in the result, under the caller's name."""
        x, back = exp.column(key), self.warehouse.shown
        x = x if back is None or name in self.tables.numbers else back(x)
        return exp.alias_(x, self._identifier(name).this)

    def _judged(self) -> list[Step]:
        roles, tables = self.setup.roles, self.tables
        keys = {key: self._id(name) for key, name in zip(self.keys, roles.query, strict=True)}
        doc = {} if roles.doc_name is None else {"doc": self._id(roles.doc_name)}
        score = {"score": exp.Add(this=self._identifier(roles.score), expression=ZERO.copy())}
        label = {"grade": exp.cast(self._identifier(roles.label), "double")}
        others = {own: self._identifier(name) for name, own in self.columns.items()}
        others |= {f"by_{i}": self._id(name) for i, name in enumerate(tables.by, 1)}
        source = exp.to_table("rf_given_table")
        if not tables.two:
            says = "the documents of each query; + 0 refuses scores that are text"
            return [
                Step("rf_judged", says, exp.select(*named({**keys, **doc, **score, **label, **others})).from_(source))
            ]
        of_run, of_judgments = (
            {"of_run": ONE.copy(), "of_judgments": ZERO.copy()},
            {"of_run": ZERO.copy(), "of_judgments": ONE.copy()},
        )
        nulls = {name: exp.null() for name in others}
        run = exp.select(
            *named({**keys, **doc, **score, "grade": exp.cast(exp.null(), "double"), **others, **of_run})
        ).from_(source)
        judged = {**keys, **doc, "score": exp.null(), **label, **nulls, **of_judgments}
        if tables.runs:
            of_runs = [key for key, name in zip(self.keys, roles.query, strict=True) if name in tables.runs]
            judged |= {key: exp.column(key, "all_runs") for key in of_runs}
            runs = exp.select(*named({key: keys[key] for key in of_runs})).distinct().from_(source.copy())
            qrels = (
                exp.select(*named(judged))
                .from_(exp.to_table("rf_given_judgments"))
                .join(runs.subquery("all_runs"), join_type="cross")
            )
        else:
            qrels = exp.select(*named(judged)).from_(exp.to_table("rf_given_judgments"))
        both = exp.union(run, qrels, distinct=False)
        group = [exp.column(name) for name in (*self.keys, *doc)]
        kept = {**{name: exp.column(name) for name in (*self.keys, *doc)},
                **{name: exp.Max(this=exp.column(name)) for name in ("score", "grade", *others)},
                **{name: exp.Sum(this=exp.column(name)) for name in ("of_run", "of_judgments")}}  # fmt: skip
        joined = exp.select(*named(kept)).from_("rf_both_tables").group_by(*group)
        counts = {f"{name}_rows": exp.Window(this=exp.Sum(this=exp.column(name)), partition_by=[exp.column(key) for key in self.keys])
                  for name in ("of_run", "of_judgments")}  # fmt: skip
        counted = self.more("rf_joined", counts)
        says = "the run and its judgments, one under the other: a full join that takes null for an id"
        steps = [Step("rf_both_tables", says, both), Step("rf_joined", "a row for each query and document", joined),
                 Step("rf_counted", "how many rows of its query each table has", counted)]  # fmt: skip
        tests = [] if tables.keeps_run else [exp.column("of_judgments_rows") > 0]
        tests += [] if tables.keeps_judged else [exp.column("of_run_rows") > 0]
        kept_rows = exp.select(exp.Column(this=exp.Star(), table=exp.to_identifier("rf_counted"))).from_("rf_counted")
        for test in tests:
            kept_rows = kept_rows.where(test)
        return [*steps, Step("rf_judged", "the queries that count", kept_rows)]

    def _ranked(self) -> list[Step]:
        policies, warehouse = self.setup.policies, self.warehouse
        score: exp.Expression = exp.column("score")
        if policies.scores == "float32":
            if warehouse.float32 is None:
                raise InvalidOption(f"{self.dialect} has no floats of 32 bits; leave scores='float32' out")
            score = exp.cast(score, warehouse.float32)
        if policies.drops_first:
            score = case((exp.column("grade") >= 0, score), otherwise=None)
        query = [exp.column(key) for key in self.keys]
        keys = [exp.Ordered(this=nulls_last(exp.column("rank_score"))),
                exp.Ordered(this=exp.column("rank_score"), desc=not policies.ascending), *self._tie_keys()]  # fmt: skip
        place = exp.Window(this=exp.RowNumber(), partition_by=query, order=exp.Order(expressions=keys))
        steps = [
            Step(
                "rf_scored",
                "the score to rank by; null for a document that was not retrieved",
                self.more("rf_judged", {"rank_score": score}),
            )
        ]
        faults = self._faults(query)
        says = "the place of each document, those that were not retrieved last"
        steps.append(
            Step("rf_placed", says, self.more("rf_scored", {"full_place": exp.cast(place, "double"), "fault": faults}))
        )
        score, at = exp.column("rank_score"), exp.column("full_place")
        if policies.depth is not None:
            within: exp.Expression = exp.LTE(this=at, expression=exp.Literal.number(policies.depth))
            if policies.drops_after_cut:
                within = exp.And(this=within, expression=exp.column("grade") >= 0)
            steps.append(
                Step(
                    "rf_cut",
                    f"the first {policies.depth} documents",
                    self.more("rf_placed", {"cut_score": case((within, score), otherwise=None)}),
                )
            )
            score = exp.column("cut_score")
            if policies.drops_after_cut:
                order = exp.Order(expressions=[exp.Ordered(this=nulls_last(score)), exp.Ordered(this=at)])
                again = exp.Window(this=exp.RowNumber(), partition_by=query, order=order)
                steps.append(
                    Step(
                        "rf_placed_again",
                        "without the documents that nobody judged",
                        self.more("rf_cut", {"new_place": exp.cast(again, "double")}),
                    )
                )
                at = exp.column("new_place")
        retrieved = negated(is_null(score))
        grade: exp.Expression = exp.column("grade")
        if policies.unretrieved == "drop":
            grade = case((retrieved, grade), otherwise=None)
        positive = exp.GT(this=paren(grade) if not isinstance(grade, exp.Case) else grade, expression=ZERO.copy())
        chosen = {
            **{key: exp.column(key) for key in self.keys},
            **{name: exp.column(name) for name in self._kept},
            "place": at,
            "doc_rank": case((retrieved, at), otherwise=None),
            "score": score,
            "grade": grade,
            "label": case((positive, grade), otherwise=exp.cast(ZERO.copy(), "double")),
            "fault": exp.column("fault"),
        }
        says = (
            "rank from 1 on, the given label as grade, and the label that counts, 0 for a document that nobody judged"
        )
        return [*steps, Step("rf_ranked", says, exp.select(*named(chosen)).from_(steps[-1].name))]

    @property
    def _kept(self) -> list[str]:
        """Further columns of the rows."""
        doc = [] if self.setup.roles.doc_name is None else ["doc"]
        return [*doc, *self.columns.values(), *(f"by_{i}" for i, _ in enumerate(self.tables.by, 1))]

    def _tie_keys(self) -> list[exp.Ordered]:
        rule, roles = self.setup.policies.tie_rule, self.setup.roles
        found = []
        for key in rule.keys:
            if key.of == "label":
                x: exp.Expression = exp.Coalesce(this=exp.column("grade"), expressions=[literal(-GREATEST * 10).tree])
                found.append(exp.Ordered(this=x, desc=key.falling))
            elif roles.doc_name is not None:
                x = exp.column("doc")
                if rule.as_text:
                    x = exp.cast(x, self.warehouse.text)
                    x = x if self.warehouse.bytewise is None else self.warehouse.bytewise(x)
                found += [exp.Ordered(this=nulls_last(x)), exp.Ordered(this=x, desc=key.falling)]
        return found

    def _faults(self, query: Sequence[exp.Expression]) -> exp.Expression:
        """The number of the fault of a row, null for none."""
        found: list[tuple[str, exp.Expression]] = []
        grade = exp.column("grade")
        if self.warehouse.nan is not None:
            found.append(("NaN score", self.warehouse.nan(exp.cast(exp.column("score"), "double"))))
        unfit = negated(exp.LTE(this=exp.Abs(this=grade), expression=literal(GREATEST).tree))
        found.append(("label not finite", exp.And(this=negated(is_null(grade)), expression=unfit)))
        if self.tables.two:
            found.append(
                ("repeated document", exp.Or(this=exp.column("of_run") > 1, expression=exp.column("of_judgments") > 1))
            )
        elif self.setup.roles.doc_name is not None:
            rows = exp.Window(this=exp.Count(this=exp.Star()), partition_by=[*query, exp.column("doc")])
            found.append(("repeated document", exp.GT(this=rows, expression=ONE.copy())))
        if (weight := self.setup.roles.weight) is not None:
            x = exp.cast(exp.column(self.columns.get(weight, weight)), "double")
            fit = exp.And(
                this=exp.GTE(this=x, expression=ZERO.copy()),
                expression=exp.LTE(this=x.copy(), expression=literal(GREATEST).tree),
            )
            unfit = exp.EQ(this=case((fit, ZERO.copy()), otherwise=ONE.copy()), expression=ONE.copy())
            if weight in self.columns:
                found.append(("weight", exp.And(this=grade >= 0, expression=unfit)))
        if self.setup.policies.tie_rule.refuses:
            rows = exp.Window(this=exp.Count(this=exp.Star()), partition_by=[*query, exp.column("rank_score")])
            tied = exp.And(
                this=negated(is_null(exp.column("rank_score"))), expression=exp.GT(this=rows, expression=ONE.copy())
            )
            found.append(("forbidden tie", tied))
        self._kinds = [kind for kind, _ in found] + ["two slices"] * bool(self.tables.by)
        numbers = [(test, exp.Literal.number(KINDS.index(kind) + 1)) for kind, test in found]
        return case(*numbers, otherwise=None)

    def _top(self, steps: list[Step]) -> None:
        """Add the largest label of the table to the ranked rows."""
        largest = exp.select(exp.Max(this=exp.column("label"))).from_("rf_ranked").subquery()
        steps.append(Step("rf_topped", "the largest label of the table", self.more("rf_ranked", {"top": largest})))

    def _summed(self, of: str) -> Step:
        kept = {key: exp.column(key) for key in self.keys}
        by = {f"by_{i}": exp.column(f"by_{i}") for i, _ in enumerate(self.tables.by, 1)}
        faults = {"fault": self._aggregate(exp.Max(this=exp.column("fault")))}
        if self.per_row:
            return Step(
                "rf_sums",
                "the sums of each query, on its rows",
                self.more(of, {**self.sums, "query_fault": faults["fault"]}),
            )
        slices = {}
        for name, x in by.items():
            slices[name] = exp.Min(this=x)
            differ = exp.NEQ(this=exp.Min(this=x.copy()), expression=exp.Max(this=x.copy()))
            number = exp.Literal.number(KINDS.index("two slices") + 1)
            slices[f"{name}_fault"] = case((differ, number), otherwise=None)
        tree = exp.select(*named({**kept, **slices, **self.sums, "query_fault": faults["fault"]})).from_(of)
        return Step("rf_sums", "the sums of each query", tree.group_by(*kept.values()))

    @property
    def fault(self) -> exp.Expression:
        """The number of the fault of a query; null for none."""
        numbers = [exp.column("query_fault"), *(exp.column(name) for name in self.sums if name.startswith("f"))]
        if not self.per_row:
            numbers += [exp.column(f"by_{i}_fault") for i, _ in enumerate(self.tables.by, 1)]
        return numbers[0] if len(numbers) == 1 else exp.Coalesce(this=numbers[0], expressions=numbers[1:])

    def message(self, fault: exp.Expression) -> exp.Expression:
        """The message of a fault."""
        texts = [(exp.EQ(this=fault.copy(), expression=exp.Literal.number(i)), exp.Literal.string(f"rankframe: {text}"))
                 for i, text in self.messages.items()]  # fmt: skip
        return case(*texts, otherwise=None)

    @cached_property
    def messages(self) -> dict[int, str]:
        """The messages of faults by number."""
        found = {KINDS.index(kind) + 1: fact_of(kind, self.setup) for kind in self._kinds}
        return found | {FIRST_REFUSAL + i: fault.message for i, fault in enumerate(self.needed.refused.values())}


KINDS = ("NaN score", "label not finite", "repeated document", "weight", "forbidden tie", "two slices")
"""The faults that leave the metrics of a query undefined; their number is the place here, from 1 on."""

FIRST_REFUSAL = len(KINDS) + 1
"""The number of the first fault that a formula refuses."""


def fact_of(kind: str, setup: Setup) -> str:
    """The first clause of the message of a fault."""
    if kind == "two slices":
        return "a query is in two slices"
    return "".join(x for x in TEXTS[kind](setup)[:1] if isinstance(x, str)).split(";")[0].strip()


def named(columns: Mapping[str, exp.Expression]) -> list[exp.Expression]:
    """Columns under their names."""
    return [
        x if isinstance(x, exp.Column) and x.name == name and not x.table else exp.alias_(x, name)
        for name, x in columns.items()
    ]


def nulls_last(x: exp.Expression) -> exp.Expression:
    """1 for null, else 0: a sort key that puts nulls last in every dialect."""
    return case((is_null(x), ONE.copy()), otherwise=ZERO.copy())


def _sorting(node: Node) -> tuple[Node, Node, bool] | None:
    """The value, the key and the direction of rows that are sorted within their query; None for another node."""
    inner = node.get("Over", {}).get("function", {}) if isinstance(node, dict) else {}
    if "Sort" in inner:
        return inner["Sort"]["expr"], inner["Sort"]["expr"], inner["Sort"]["options"]["descending"]
    if "SortBy" in inner and len(inner["SortBy"]["by"]) == 1:
        return inner["SortBy"]["expr"], inner["SortBy"]["by"][0], inner["SortBy"]["sort_options"]["descending"][0]
    return None


def column(name: str, warehouse: Warehouse) -> exp.Expression:
    """A column of the caller's, in quotes if its name needs them."""
    plain = name.isidentifier() and name.isascii() and name.upper() not in RESERVED and not name.startswith("_")
    quoted = name.upper() if warehouse.upper and name.isidentifier() else name
    return exp.Column(this=exp.to_identifier(name if plain else quoted, quoted=not plain))


def written(tree: exp.Expression, dialect: Dialect) -> str:
    """A tree in a dialect; sort keys say nothing of nulls, as a key of its own puts these in their place."""
    nulls = Dialects.get_or_raise(dialect).NULL_ORDERING
    for key in tree.find_all(exp.Ordered):
        key.set("nulls_first", nulls == ("nulls_are_large" if key.args.get("desc") else "nulls_are_small"))
    return tree.sql(dialect=dialect, pretty=True, unsupported_level=ErrorLevel.IGNORE)


RESERVED = frozenset(
    ["ALL", "ALTER", "AND", "ANY", "AS", "ASC", "AT", "BETWEEN", "BOTH", "BY", "CASE", "CAST", "CHECK", "COLLATE", "COLUMN", "CONSTRAINT", "CREATE", "CROSS", "CUBE", "CURRENT", "DATE", "DAY", "DEFAULT", "DELETE", "DENSE_RANK", "DESC", "DESCRIBE", "DISTINCT", "DROP", "ELSE", "END", "ESCAPE", "EXCEPT", "EXISTS", "EXTRACT", "FALSE", "FETCH", "FILTER", "FIRST", "FOR", "FOREIGN", "FROM", "FULL", "FUNCTION", "GROUP", "GROUPING", "GROUPS", "HAVING", "HOUR", "IF", "IN", "INDEX", "INNER", "INSERT", "INTERSECT", "INTERVAL", "INTO", "IS", "JOIN", "KEY", "LAG", "LAST", "LATERAL", "LEAD", "LEADING", "LEFT", "LEVEL", "LIKE", "LIMIT", "LONG", "MINUTE", "MODE", "MONTH", "NATURAL", "NOT", "NTILE", "NULL", "NULLS", "NUMBER", "OF", "OFFSET", "ON", "OPTION", "OR", "ORDER", "OUTER", "OVER", "OVERLAPS", "PARTITION", "PRECISION", "PRIMARY", "QUALIFY", "RANGE", "RANK", "RECURSIVE", "REFERENCES", "RIGHT", "ROLLUP", "ROW", "ROWS", "ROW_NUMBER", "SECOND", "SELECT", "SET", "SIZE", "SOME", "START", "SYSTEM", "TABLE", "THEN", "TIMESTAMP", "TO", "TOP", "TRAILING", "TRIM", "TRUE", "UID", "UNION", "UNIQUE", "UNNEST", "UPDATE", "USER", "USING", "VALUE", "VALUES", "VIEW", "WHEN", "WHERE", "WINDOW", "WITH", "YEAR"]
)
"""Names that a dialect may take for a word of its own."""
