"""The first steps of a statement: the tables, joined if they are two, and the documents of each
query in rank order.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from sqlglot import Dialect as Dialects, ErrorLevel, exp

from .._table.columns import LAST_RANK, TEXTS
from .._table.policies import GREATEST
from .._table.runs import RUN_OF_TABLE
from .._table.setup import Setup
from ..errors import InvalidOption, option
from .expressions import Tree, case, filled, flag, is_null, literal, there
from .warehouses import WAREHOUSES, Warehouse
from .words import Dialect

GIVEN, GIVEN_JUDGMENTS = "rf_given_table", "rf_given_judgments"
"""What stands for the tables until the statement is written, as callers may name them by a
template."""

GIVEN_ALIAS = "rf_given"
"""The name of either table in its own SELECT, where columns need one."""

TWO_SLICES = "a query is in two slices"


@dataclass
class Step:
    """A common table expression, with its comment."""

    name: str
    says: str
    tree: Tree


@dataclass
class Ranks:
    """The rows of a table, or of a run and its judgments, in rank order.

    Attributes
    ----------
    setup, dialect
        The roles and policies, and the dialect.
    two
        Whether the judgments are a table of their own.
    runs
        The query columns that the judgments lack.
    scores
        The columns of the runs' scores, if the runs are columns; the run is then a query column
        that the table lacks.
    by
        The columns that slice the queries.
    numbers
        The columns of ids that hold numbers.
    keeps_judged, keeps_run
        Whether queries of the judgments alone, or of the run alone, count.
    carried
        Further columns of the table that formulas read, with their names in the steps.
    """

    setup: Setup
    dialect: Dialect
    two: bool = False
    runs: tuple[str, ...] = ()
    scores: tuple[str, ...] = ()
    by: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    keeps_judged: bool = True
    keeps_run: bool = False
    carried: Mapping[str, str] = field(default_factory=dict)
    messages: list[str] = field(default_factory=list)

    @property
    def warehouse(self) -> Warehouse:
        """What is particular in the dialect."""
        return WAREHOUSES[self.dialect]

    @cached_property
    def keys(self) -> list[str]:
        """The columns that name a query."""
        return [f"query_{i}" for i, _ in enumerate(self.setup.roles.query, 1)]

    @cached_property
    def doc(self) -> list[str]:
        """The column that names a document, if there is one."""
        return [] if self.setup.roles.doc_name is None else ["doc"]

    @cached_property
    def slice_keys(self) -> list[str]:
        """The columns of slices, which may be those of the query."""
        own = dict(zip(self.setup.roles.query, self.keys, strict=True))
        return [own.get(name, f"by_{i}") for i, name in enumerate(self.by, 1)]

    @property
    def given_grade(self) -> str:
        """The column of the labels of all documents, whatever the policies."""
        return "given_grade" if self.setup.policies.unretrieved == "drop" else "grade"

    @property
    def _slices(self) -> dict[str, str]:
        """The columns of slices that are not of the query, with the caller's names."""
        return {
            key: name
            for key, name in zip(self.slice_keys, self.by, strict=True)
            if key not in self.keys
        }

    def number(self, message: str) -> int:
        """The number of a fault, by its message."""
        if message not in self.messages:
            self.messages.append(message)
        return self.messages.index(message) + 1

    def message(self, fault: Tree) -> Tree:
        """The message of a fault, by its number."""
        texts = [
            (fault.eq(i), exp.Literal.string(f"rankframe: {text}"))
            for i, text in enumerate(self.messages, 1)
        ]
        return case(*texts, otherwise=None)

    def name(self, name: str) -> Tree:
        """A column of the caller's, in quotes if its name needs them."""
        if not name.strip() or "\0" in name:
            raise InvalidOption(f"{name!r} is no name of a column in a database; name the column")
        plain = (
            name.isidentifier()
            and name.isascii()
            and name.upper() not in RESERVED
            and not name.startswith("_")
        )
        quoted = name.upper() if self.warehouse.upper and name.isidentifier() else name
        of = exp.to_identifier(GIVEN_ALIAS) if self.warehouse.qualified else None
        return exp.Column(
            this=exp.to_identifier(name if plain else quoted, quoted=not plain), table=of
        )

    def given(self, table: str) -> Tree:
        """A table of the caller's."""
        return exp.to_table(table, alias=GIVEN_ALIAS if self.warehouse.qualified else None)

    def id(self, name: str) -> Tree:
        """An id, compared by its bytes if it is text."""
        bytewise = self.warehouse.bytewise
        return (
            self.name(name)
            if bytewise is None or name in self.numbers
            else bytewise(self.name(name))
        )

    def text_of(self, value: str) -> Tree:
        """A text of the caller's, compared by its bytes."""
        text: Tree = exp.cast(exp.Literal.string(value), self.warehouse.text)
        bytewise = self.warehouse.bytewise
        return text if bytewise is None else bytewise(text)

    def text(self, key: str) -> Tree:
        """The id of a query as text, empty for null."""
        x: Tree = filled(exp.cast(exp.column(key), self.warehouse.text), exp.Literal.string(""))
        bytewise = self.warehouse.bytewise
        return x if bytewise is None else bytewise(x)

    def shown(self, key: str, name: str) -> Tree:
        """A column of ids in the result, under the caller's name."""
        back = self.warehouse.shown
        x = exp.column(key) if back is None or name in self.numbers else back(exp.column(key))
        return exp.alias_(x, self.name(name).this)

    # ----------------------------------------------------------------------------------------------
    # -- the tables

    def steps(self) -> list[Step]:
        """The steps from the tables to the ranked rows."""
        return [*self._judged(), *self.placed(), self._ranked()]

    def _judged(self) -> list[Step]:
        scores = self.scores or (self.setup.roles.score,)
        if not self.two:
            rows = [
                exp.select(*named(self._row(score))).from_(self.given(GIVEN)) for score in scores
            ]
            says = "the documents of each query" + ", once for each run" * bool(self.scores)
            return [Step("rf_judged", f"{says}; + 0 refuses scores that are text", stacked(rows))]
        counts, no_grade = ("run_rows", "judged_rows"), exp.cast(exp.null(), "double")
        runs = [
            {**self._row(score), "grade": no_grade.copy(), **_ones(counts, 0)} for score in scores
        ]
        rows = [exp.select(*named(run)).from_(self.given(GIVEN)) for run in runs]
        rows += [
            self._judgments(score, counts) for score in (scores if self.scores else scores[:1])
        ]
        first = self._row(scores[0])
        group = [exp.column(name) for name in self._ids(scores[0])]
        figures: dict[str, Tree] = {
            name: exp.Max(this=exp.column(name))
            for name in first
            if name not in self._ids(scores[0])
        }
        figures |= {name: exp.Sum(this=exp.column(name)) for name in counts}
        joined = exp.select(*group, *named(figures)).from_("rf_both").group_by(*group)
        of_table = {
            "all_run_rows": exp.Sum(this=exp.column("run_rows")),
            "all_labels": exp.Count(this=exp.column("grade")),
        }
        windows = {name: _of_query(count, self.keys) for name, count in of_table.items()}
        own: list[Tree] = [exp.Star()]
        if self.keeps_run:  # a label below 0 makes a query count
            grade = case((exp.column("all_labels") > 0, exp.column("grade")), otherwise=-1)
            own = named(
                {
                    **{name: exp.column(name) for name in (*self._ids(scores[0]), *figures)},
                    "grade": grade,
                }
            )
        tests = [exp.column("all_labels") > 0] * (not self.keeps_run)
        tests += [exp.column("all_run_rows") > 0] * (not self.keeps_judged)
        counting = exp.select(exp.Star(), *named(windows)).from_("rf_joined")
        says = (
            "the run and its judgments, one under the other: a full join in which null ids are "
            "equal"
        )
        return [
            Step("rf_both", says, stacked(rows)),
            Step("rf_joined", "a row for each query and document", joined),
            Step("rf_counted", "how many rows of the run, and labels, its query has", counting),
            Step(
                "rf_judged",
                "the queries that count",
                exp.select(*own).from_("rf_counted").where(*tests),
            ),
        ]

    def _ids(self, score: str) -> dict[str, Tree]:
        """The ids of a row; the run is the name of its column of scores, if the runs are
        columns.
        """
        roles, ids = self.setup.roles, dict[str, Tree]()
        for key, name in zip(self.keys, roles.query, strict=True):
            ids[key] = (
                self.text_of(score) if self.scores and name == RUN_OF_TABLE else self.id(name)
            )
        return ids if roles.doc_name is None else {**ids, "doc": self.id(roles.doc_name)}

    def _row(self, score: str) -> dict[str, Tree]:
        """The columns of a row of the table, with the scores of a column."""
        label, no_number = self.name(self.setup.roles.label), self.warehouse.no_number
        grade: Tree = exp.cast(label, "double")
        row = {**self._ids(score), "score": self.name(score) + 0, "grade": grade}
        if no_number is not None:
            row["grade"] = case((no_number(label), literal(math.inf).tree), otherwise=grade)
        row |= {own: self.name(name) for name, own in self.carried.items()}
        row |= {own: self.id(name) for own, name in self._slices.items()}
        return row if no_number is None else {**row, "no_number": flag(no_number(self.name(score)))}

    def _judgments(self, score: str, counts: tuple[str, ...]) -> exp.Select:
        """The rows of the judgments, for a run if the runs are columns of scores, else for each run
        that they do not name.
        """
        row, ids = self._row(score), self._ids(score)
        judged = {name: x if name in ids else exp.null() for name, x in row.items()}
        judged |= {"grade": row["grade"], **_ones(counts, 1)}
        names = dict(zip(self.keys, self.setup.roles.query, strict=True))
        lacking = [key for key, name in names.items() if name in self.runs]
        if self.scores or not lacking:
            return exp.select(*named(judged)).from_(self.given(GIVEN_JUDGMENTS))
        of_runs = {key: ids[key] for key in lacking}
        runs = exp.select(*named(of_runs)).distinct().from_(self.given(GIVEN)).subquery("rf_runs")
        qrels = exp.select(*named(judged | {key: exp.column(key, "rf_runs") for key in of_runs}))
        return qrels.from_(self.given(GIVEN_JUDGMENTS)).join(runs, join_type="cross")

    # ---------------------------------------------------------------------------------------------
    # the rank order

    def placed(self) -> list[Step]:
        """The steps that give each document its place."""
        policies = self.setup.policies
        score: Tree = exp.column("score")
        if policies.scores == "float32":
            if self.warehouse.float32 is None:
                raise InvalidOption(
                    option(scores="float32"),
                    f": {self.dialect} has no floats of 32 bits; leave it out",
                )
            score = exp.cast(score, self.warehouse.float32)
        if policies.drops_first:
            score = case((exp.column("grade") >= 0, score), otherwise=None)
        says = "the score to rank by; null for a document that was not retrieved"
        steps = [Step("rf_scored", says, _more("rf_judged", rank_score=score))]
        scored = exp.column("rank_score")
        keys = [
            *_last(scored),
            exp.Ordered(this=scored, desc=not policies.ascending),
            *self._tie_keys(),
        ]
        place = exp.cast(_of_query(exp.RowNumber(), self.keys, keys), "double")
        says = "the place of each document, those that were not retrieved last"
        steps.append(
            Step(
                "rf_checked",
                "the number of what is wrong with a row",
                _more("rf_scored", fault=self._fault()),
            )
        )
        steps.append(Step("rf_placed", says, _more("rf_checked", first_place=place)))
        if policies.depth is not None:
            within: Tree = self._given_place <= policies.depth
            within = (
                exp.and_(within, exp.column("grade") >= 0) if policies.drops_after_cut else within
            )
            tree = _more("rf_placed", cut_score=case((within, scored), otherwise=None))
            steps.append(Step("rf_cut", f"the first {policies.depth} documents", tree))
        if policies.drops_after_cut:
            keys = [*_last(exp.column("cut_score")), exp.Ordered(this=exp.column("first_place"))]
            tree = _more(
                "rf_cut", new_place=exp.cast(_of_query(exp.RowNumber(), self.keys, keys), "double")
            )
            steps.append(
                Step("rf_kept", "the places without the documents that nobody judged", tree)
            )
        return steps

    @property
    def _given_place(self) -> Tree:
        """The place of each document, or its rank where ranks count as they are given."""
        if not self.setup.takes_ranks:
            return exp.column("first_place")
        rank = exp.cast(exp.column("rank_score"), "double")
        return case(
            (rank >= 1, rank), otherwise=None
        )  # a lower one is a fault, which a division by 0 would hide

    def _ranked(self) -> Step:
        policies = self.setup.policies
        of = (
            "rf_kept"
            if policies.drops_after_cut
            else "rf_placed"
            if policies.depth is None
            else "rf_cut"
        )
        score = exp.column("rank_score" if policies.depth is None else "cut_score")
        place = exp.column("new_place" if policies.drops_after_cut else "first_place")
        rank = place if policies.drops_after_cut else self._given_place
        if policies.tie_rule.shares and not self.setup.takes_ranks:
            rank = _of_query(exp.Max(this=place), [*self.keys, score.name])
        grade: Tree = exp.column("grade")
        grade = (
            case((there(score), grade), otherwise=None) if policies.unretrieved == "drop" else grade
        )
        columns = {
            **{
                name: exp.column(name)
                for name in (*self.keys, *self.doc, *self.carried.values(), *self._slices)
            },
            "place": place,
            "doc_rank": case((there(score), rank), otherwise=None),
            "score": score,
            self.given_grade: exp.column(
                "grade", of
            ),  # of the step before: ClickHouse reads the new grade otherwise
            "grade": grade,
            "label": case((grade > 0, grade), otherwise=exp.cast(exp.convert(0), "double")),
            "fault": exp.column("fault"),
        }
        says = (
            "rank from 1 on, the given label as grade, and the label that counts, 0 for a "
            "document that nobody judged"
        )
        return Step("rf_ranked", says, exp.select(*named(columns)).from_(of))

    def _tie_keys(self) -> list[Tree]:
        rule, found = self.setup.policies.tie_rule, list[Tree]()
        for key in rule.keys:
            if key.of == "label":
                found.append(
                    exp.Ordered(
                        this=filled(exp.column("grade"), literal(-10 * GREATEST).tree),
                        desc=key.falling,
                    )
                )
            elif self.doc:
                x: Tree = exp.column("doc")
                if rule.as_text:
                    as_text, bytewise = exp.cast(x, self.warehouse.text), self.warehouse.bytewise
                    x = as_text if bytewise is None else bytewise(as_text)
                found += [*_last(x), exp.Ordered(this=x, desc=key.falling)]
        return found

    # ----------------------------------------------------------------------------------------------
    # --- the faults

    def faults(self) -> dict[str, Tree]:
        """What leaves metrics undefined, by the kinds of `check`, as conditions on the scored
        rows.
        """
        found: dict[str, Tree] = {}
        grade, scored, weight = (
            exp.column("grade"),
            exp.column("rank_score"),
            self.setup.roles.weight,
        )
        no_numbers = (
            []
            if self.warehouse.nan is None
            else [self.warehouse.nan(exp.cast(exp.column("score"), "double"))]
        )
        no_numbers += [] if self.warehouse.no_number is None else [exp.column("no_number").eq(1)]
        if no_numbers:
            found["NaN score"] = exp.or_(*no_numbers)
        found["label not finite"] = exp.and_(
            there(grade), exp.not_(exp.Abs(this=grade) <= literal(GREATEST).tree)
        )
        if self.two:
            found["repeated document"] = exp.or_(
                exp.column("run_rows") > 1, exp.column("judged_rows") > 1
            )
        elif self.doc:
            found["repeated document"] = (
                _of_query(exp.Count(this=exp.Star()), [*self.keys, "doc"]) > 1
            )
        if weight is not None and weight in self.carried:
            x = exp.cast(exp.column(self.carried[weight]), "double")
            unfit: Tree = flag(exp.and_(x >= 0, x <= literal(GREATEST).tree)).neq(1)
            if self.warehouse.no_number is not None:
                unfit = exp.or_(unfit, self.warehouse.no_number(exp.column(self.carried[weight])))
            found["weight"] = exp.and_(grade >= 0, unfit)
        shared = _of_query(exp.Count(this=exp.Star()), [*self.keys, "rank_score"]) > 1
        if self.setup.takes_ranks:
            rank = exp.cast(scored, "double")
            whole = exp.and_(
                rank >= 1, rank <= literal(float(LAST_RANK)).tree, rank.eq(exp.Floor(this=rank))
            )
            found["no rank"] = exp.and_(there(scored), exp.not_(whole))
            found["shared rank"] = exp.and_(there(scored), shared)
        if self.setup.policies.tie_rule.refuses:
            found["forbidden tie"] = exp.and_(there(scored), shared)
        return found

    def _fault(self) -> Tree:
        """The number of the fault of a row; null for none."""
        facts = {
            kind: "".join(map(str, TEXTS[kind](self.setup)[:1])).partition(";")[0].strip()
            for kind in self.faults()
        }
        return case(
            *((test, self.number(facts[kind])) for kind, test in self.faults().items()),
            otherwise=None,
        )

    def slices(self) -> dict[str, Tree]:
        """The slices of a query, each with the number of its fault; names are new, as ClickHouse
        reads them in their step.
        """
        found: dict[str, Tree] = {}
        for name in self._slices:
            least, greatest = exp.Min(this=exp.column(name)), exp.Max(this=exp.column(name))
            differ = case((least.neq(greatest), self.number(TWO_SLICES)), otherwise=None)
            found |= {f"{name}_of": least, f"{name}_fault": differ}
        return found


def named(columns: Mapping[str, Tree]) -> list[Tree]:
    """Columns under their names."""
    plain = {
        name
        for name, x in columns.items()
        if isinstance(x, exp.Column) and x.name == name and not x.table
    }
    return [x if name in plain else exp.alias_(x, name) for name, x in columns.items()]


def stacked(selects: Sequence[exp.Select]) -> Tree:
    """The rows of several SELECTs, one under the other."""
    union: Tree = selects[0]
    for select in selects[1:]:
        union = exp.union(union, select, distinct=False, copy=False)
    return union


UNEVEN = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]|rf_(given|text)")
"""A character that may break a line, or a word that stands for another text until the statement is
written."""


def protected(tree: Tree, dialect: Dialect, texts: dict[str, str]) -> Tree:
    """The tree with a word in place of each name and text that indenting lines would change;
    `texts` gets what it stands for.
    """
    for node in tree.find_all(exp.Identifier, exp.Literal):
        is_own = isinstance(node.parent, exp.Table)
        if is_own or not UNEVEN.search(node.name):
            continue
        exact = node.sql(dialect=dialect)
        node.set("this", f"rf_text_{len(texts) + 1}")
        texts[node.sql(dialect=dialect)] = exact
    return tree


def written(tree: Tree, dialect: Dialect) -> str:
    """A tree in a dialect; sort keys say nothing of nulls, as a key of its own puts these in their
    place.
    """
    nulls = Dialects.get_or_raise(dialect).NULL_ORDERING
    for key in tree.find_all(exp.Ordered):
        key.set(
            "nulls_first",
            nulls == ("nulls_are_large" if key.args.get("desc") else "nulls_are_small"),
        )
    return tree.sql(dialect=dialect, pretty=True, unsupported_level=ErrorLevel.IGNORE)


def _ones(names: tuple[str, ...], which: int) -> dict[str, Tree]:
    return {name: exp.convert(int(i == which)) for i, name in enumerate(names)}


def _of_query(function: Tree, keys: list[str], order: list[Tree] | None = None) -> Tree:
    """A function of the rows with the same keys."""
    ordered = exp.Order(expressions=order) if order else None
    return exp.Window(this=function, partition_by=[exp.column(key) for key in keys], order=ordered)


def _last(x: Tree) -> list[Tree]:
    """The sort key that puts nulls last, in every dialect."""
    return [exp.Ordered(this=flag(is_null(x)))]


def _more(of: str, **columns: Tree) -> exp.Select:
    return exp.select(
        exp.Column(this=exp.Star(), table=exp.to_identifier(of)), *named(columns)
    ).from_(of)


RESERVED = frozenset(
    re.findall(
        r"\w+",
        "ALL ALTER AND ANY AS ASC AT BETWEEN BOTH BY CASE CAST CHECK COLLATE COLUMN "
        "CONSTRAINT CREATE CROSS CUBE CURRENT CURRENT_DATE CURRENT_TIME CURRENT_TIMESTAMP "
        "CURRENT_USER DATE "
        "DAY DEFAULT DELETE DENSE_RANK DESC DESCRIBE DISTINCT DROP ELSE END ESCAPE EXCEPT "
        "EXISTS EXTRACT FALSE FETCH FILTER FIRST "
        "FOR FOREIGN FROM FULL FUNCTION GROUP GROUPING GROUPS HAVING HOUR IF IN INDEX INNER "
        "INSERT INTERSECT INTERVAL INTO IS "
        "JOIN KEY LAG LAST LATERAL LEAD LEADING LEFT LEVEL LIKE LIMIT LOCALTIME "
        "LOCALTIMESTAMP LONG MINUTE MODE MONTH NATURAL NOT NTILE NULL NULLS NUMBER "
        "OF OFFSET ON OPTION OR ORDER OUTER OVER OVERLAPS PARTITION PRECISION PRIMARY "
        "QUALIFY RANGE RANK RECURSIVE REFERENCES "
        "RIGHT ROLLUP ROW ROWNUM ROWS ROW_NUMBER SECOND SELECT SESSION_USER SET SIZE SOME "
        "START SYSDATE SYSTEM TABLE THEN TIMESTAMP TO TOP TRAILING TRIM TRUE "
        "UID UNION UNIQUE UNNEST UPDATE USER USING VALUE VALUES VIEW WHEN WHERE WINDOW WITH YEAR",
    )
)
"""Names that a dialect may take for a word of its own."""
