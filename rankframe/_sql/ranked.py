"""The first steps of a statement: the tables, and the documents of each query in rank order."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from sqlglot import Dialect as Dialects, ErrorLevel, exp

from .._table.columns import LAST_RANK, TEXTS
from .._table.policies import GREATEST
from .._table.runs import RUN_OF_TABLE
from .._table.setup import Setup
from ..errors import InvalidOption, option
from .trees import Tree, as_double, case, column, columns, filled, flag, is_null, literal, there
from .warehouses import WAREHOUSES, Warehouse
from .words import Dialect

GIVEN, GIVEN_JUDGMENTS = "rf_given_table", "rf_given_judgments"
"""What stands for the tables until the statement is written: a caller may name a template."""

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
        keys = dict(zip(self.setup.roles.query, self.keys, strict=True))
        return [keys.get(name, f"by_{i}") for i, name in enumerate(self.by, 1)]

    @property
    def given_grade(self) -> str:
        """The column of the labels of all documents, whatever the policies."""
        return "given_grade" if self.setup.policies.unretrieved == "drop" else "grade"

    @property
    def _slices(self) -> dict[str, str]:
        """The columns of slices that are not of the query, with the caller's names."""
        slices = zip(self.slice_keys, self.by, strict=True)
        return {key: name for key, name in slices if key not in self.keys}

    def number(self, message: str) -> int:
        """The number of a fault, by its message."""
        if message not in self.messages:
            self.messages.append(message)
        return self.messages.index(message) + 1

    def message(self, fault: Tree) -> Tree:
        """The message of a fault, by its number."""
        branches = []
        for i, message in enumerate(self.messages, 1):
            text = exp.Literal.string(f"rankframe: {message}")
            branches.append((fault.eq(i), text))
        return case(*branches, otherwise=None)

    def name(self, name: str) -> Tree:
        """A column of the caller's, in quotes if its name needs them."""
        if not name.strip() or "\0" in name:
            raise InvalidOption(f"{name!r} is no name of a column in a database; name the column")
        is_ascii_word = name.isidentifier() and name.isascii()
        is_free = name.upper() not in RESERVED and not name.startswith("_")
        is_plain = is_ascii_word and is_free
        if self.warehouse.upper and name.isidentifier() and not is_plain:
            name = name.upper()
        identifier = exp.to_identifier(name, quoted=not is_plain)
        table = exp.to_identifier(GIVEN_ALIAS) if self.warehouse.qualified else None
        return exp.Column(this=identifier, table=table)

    def given(self, table: str) -> Tree:
        """A table of the caller's."""
        alias = GIVEN_ALIAS if self.warehouse.qualified else None
        return exp.to_table(table, alias=alias)

    def id(self, name: str) -> Tree:
        """An id, compared by its bytes if it is text."""
        x = self.name(name)
        return x if name in self.numbers else self.warehouse.bytewise(x)

    def text_of(self, value: str) -> Tree:
        """A text of the caller's, compared by its bytes."""
        text = exp.cast(exp.Literal.string(value), self.warehouse.text)
        return self.warehouse.bytewise(text)

    def text(self, key: str) -> Tree:
        """The id of a query as text, empty for null."""
        text = exp.cast(column(key), self.warehouse.text)
        empty = exp.Literal.string("")
        return self.warehouse.bytewise(filled(text, empty))

    def shown(self, key: str, name: str) -> Tree:
        """A column of ids in the result, under the caller's name."""
        x: Tree = column(key)
        if name not in self.numbers:
            x = self.warehouse.shown(x)
        return self.aliased(x, name)

    def aliased(self, x: Tree, name: str) -> Tree:
        """A value under a name of the caller's."""
        return exp.alias_(x, self.name(name).this)

    # ----------------------------------------------------------------------------------------------
    # the tables

    def steps(self) -> list[Step]:
        """The steps from the tables to the ranked rows."""
        judged = self._joined() if self.two else [self._judged()]
        return [*judged, *self._placed(), self._ranked()]

    @property
    def _scores(self) -> tuple[str, ...]:
        return self.scores or (self.setup.roles.score,)

    def _judged(self) -> Step:
        """The rows of the one table."""
        rows = [self._selected(self._row(score)) for score in self._scores]
        says = "the documents of each query"
        if self.scores:
            says += ", once for each run"
        return Step("rf_judged", f"{says}; + 0 refuses scores that are text", stacked(rows))

    def _selected(self, row: Mapping[str, Tree], table: str = GIVEN) -> exp.Select:
        """Columns of a table of the caller's."""
        return exp.select(*named(row)).from_(self.given(table))

    def _joined(self) -> list[Step]:
        """The steps that join a run and its judgments."""
        scores = self._scores
        rows = [self._run(score) for score in scores]
        judged = scores if self.scores else scores[:1]
        rows += [self._judgments(score) for score in judged]
        ids = [*self._ids(scores[0])]
        others = [name for name in self._row(scores[0]) if name not in ids]
        says = (
            "the run and its judgments, one under the other: a full join in which null ids are "
            "equal"
        )
        both = Step("rf_both", says, stacked(rows))
        return [both, _one_row_each(ids, others), self._counted(), self._counting(ids, others)]

    def _run(self, score: str) -> exp.Select:
        """The rows of a run, without a label."""
        no_grade = as_double(exp.null())
        row = {**self._row(score), "grade": no_grade, **_source(run=1, judged=0)}
        return self._selected(row)

    def _judgments(self, score: str) -> exp.Select:
        """The rows of the judgments.

        They are for a run if the runs are columns of scores, else for each run that they do not
        name.
        """
        ids = self._ids(score)
        row = self._row(score)
        for name in row.keys() - ids.keys() - {"grade"}:
            row[name] = exp.null()
        row |= _source(run=0, judged=1)
        roles = zip(self.keys, self.setup.roles.query, strict=True)
        of_runs = {key: ids[key] for key, name in roles if name in self.runs}
        if self.scores or not of_runs:
            return self._selected(row, GIVEN_JUDGMENTS)
        runs = self._selected(of_runs).distinct().subquery("rf_runs")
        row |= {key: column(key, "rf_runs") for key in of_runs}
        judgments = self._selected(row, GIVEN_JUDGMENTS)
        return judgments.join(runs, join_type="cross")

    def _counted(self) -> Step:
        """The step that counts the rows of each query."""
        n_run_rows = over(exp.Sum(this=column("run_rows")), self.keys)
        n_labels = over(exp.Count(this=column("grade")), self.keys)
        counts = named({"all_run_rows": n_run_rows, "all_labels": n_labels})
        tree = exp.select(exp.Star(), *counts).from_("rf_joined")
        return Step("rf_counted", "how many rows of the run, and labels, its query has", tree)

    def _counting(self, ids: Sequence[str], others: Sequence[str]) -> Step:
        """The step with the queries that count."""
        has_labels = column("all_labels") > 0
        has_rows = column("all_run_rows") > 0
        select = exp.select(exp.Star())
        if self.keeps_run:
            # A label below 0 makes a query count.
            grade = case((has_labels, column("grade")), otherwise=-1)
            row = {name: column(name) for name in (*ids, *others, *SOURCES)}
            select = exp.select(*named({**row, "grade": grade}))
        select = select.from_("rf_counted")
        if not self.keeps_run:
            select = select.where(has_labels)
        if not self.keeps_judged:
            select = select.where(has_rows)
        return Step("rf_judged", "the queries that count", select)

    def _ids(self, score: str) -> dict[str, Tree]:
        """The ids of a row; the run is named by its column of scores, if runs are columns."""
        roles = self.setup.roles
        ids: dict[str, Tree] = {}
        for key, name in zip(self.keys, roles.query, strict=True):
            is_run = self.scores and name == RUN_OF_TABLE
            ids[key] = self.text_of(score) if is_run else self.id(name)
        if roles.doc_name is not None:
            ids["doc"] = self.id(roles.doc_name)
        return ids

    def _row(self, score: str) -> dict[str, Tree]:
        """The columns of a row of the table, with the scores of a column."""
        row = self._ids(score)
        label = self.name(self.setup.roles.label)
        no_number = self.warehouse.no_number
        row["score"] = self.name(score) + 0
        row["grade"] = as_double(label)
        if no_number is not None:
            infinite = literal(math.inf).tree
            row["grade"] = case((no_number(label), infinite), otherwise=row["grade"])
        row |= {key: self.name(name) for name, key in self.carried.items()}
        row |= {key: self.id(name) for key, name in self._slices.items()}
        if no_number is not None:
            row["no_number"] = flag(no_number(self.name(score)))
        return row

    # ----------------------------------------------------------------------------------------------
    # the rank order

    def _placed(self) -> list[Step]:
        """The steps that give each document its place."""
        policies = self.setup.policies
        steps = [self._scored(), self._checked(), self._first_placed()]
        if policies.depth is not None:
            steps.append(self._cut(policies.depth))
        if policies.drops_after_cut:
            score = column("cut_score")
            by_place = exp.Ordered(this=column("first_place"))
            place = self._place([*_last(score), by_place])
            says = "the places without the documents that nobody judged"
            steps.append(Step("rf_kept", says, more("rf_cut", {"new_place": place})))
        return steps

    def _scored(self) -> Step:
        policies = self.setup.policies
        score = column("score")
        if policies.scores == "float32":
            float32 = self.warehouse.float32
            if float32 is None:
                advice = f": {self.dialect} has no floats of 32 bits; leave it out"
                raise InvalidOption(option(scores="float32"), advice)
            score = exp.cast(score, float32)
        if policies.drops_first:
            is_judged = column("grade") >= 0
            score = case((is_judged, score), otherwise=None)
        says = "the score to rank by; null for a document that was not retrieved"
        return Step("rf_scored", says, more("rf_judged", {"rank_score": score}))

    def _checked(self) -> Step:
        tree = more("rf_scored", {"fault": self._fault()})
        return Step("rf_checked", "the number of what is wrong with a row", tree)

    def _first_placed(self) -> Step:
        score = column("rank_score")
        by_score = exp.Ordered(this=score, desc=not self.setup.policies.ascending)
        place = self._place([*_last(score), by_score, *self._tie_keys()])
        says = "the place of each document, those that were not retrieved last"
        return Step("rf_placed", says, more("rf_checked", {"first_place": place}))

    def _place(self, order: Sequence[Tree]) -> Tree:
        """The place of each row within its query."""
        return as_double(over(exp.RowNumber(), self.keys, order))

    def _cut(self, depth: int) -> Step:
        is_kept: Tree = self._given_place <= depth
        if self.setup.policies.drops_after_cut:
            is_judged = column("grade") >= 0
            is_kept = exp.and_(is_kept, is_judged)
        score = case((is_kept, column("rank_score")), otherwise=None)
        tree = more("rf_placed", {"cut_score": score})
        return Step("rf_cut", f"the first {depth} documents", tree)

    @property
    def _given_place(self) -> Tree:
        """The place of each document, or its rank where ranks count as they are given."""
        if not self.setup.takes_ranks:
            return column("first_place")
        rank = as_double(column("rank_score"))
        # A rank below 1 is a fault, which a division by 0 would hide.
        return case((rank >= 1, rank), otherwise=None)

    def _ranked(self) -> Step:
        policies = self.setup.policies
        before = "rf_placed" if policies.depth is None else "rf_cut"
        score = column("rank_score" if policies.depth is None else "cut_score")
        place = column("first_place")
        rank = self._given_place
        if policies.drops_after_cut:
            before = "rf_kept"
            place = column("new_place")
            rank = place
        if policies.tie_rule.shares and not self.setup.takes_ranks:
            rank = over(exp.Max(this=place), [*self.keys, score.name])
        is_retrieved = there(score)
        grade = column("grade")
        if policies.unretrieved == "drop":
            grade = case((is_retrieved, grade), otherwise=None)
        zero = as_double(exp.convert(0))
        names = [*self.keys, *self.doc, *self.carried.values(), *self._slices]
        row: dict[str, Tree] = {name: column(name) for name in names}
        row["place"] = place
        row["doc_rank"] = case((is_retrieved, rank), otherwise=None)
        row["score"] = score
        # Without the name of the step before, ClickHouse reads the new grade.
        row[self.given_grade] = column("grade", before)
        row["grade"] = grade
        row["label"] = case((grade > 0, grade), otherwise=zero)
        row["fault"] = column("fault")
        says = (
            "rank from 1 on, the given label as grade, and the label that counts, 0 for a "
            "document that nobody judged"
        )
        return Step("rf_ranked", says, exp.select(*named(row)).from_(before))

    def _tie_keys(self) -> list[Tree]:
        rule = self.setup.policies.tie_rule
        doc = column("doc")
        if rule.as_text:
            text = exp.cast(doc, self.warehouse.text)
            doc = self.warehouse.bytewise(text)
        lowest = literal(-10 * GREATEST).tree
        order: list[Tree] = []
        for key in rule.keys:
            if key.of == "label":
                grade = filled(column("grade"), lowest)
                order.append(exp.Ordered(this=grade, desc=key.falling))
            elif self.doc:
                order += _last(doc)
                order.append(exp.Ordered(this=doc, desc=key.falling))
        return order

    # ----------------------------------------------------------------------------------------------
    # the faults

    def faults(self) -> dict[str, Tree]:
        """The tests on scored rows of what leaves metrics undefined, by the kinds of `check`."""
        tests: dict[str, Tree] = {}
        grade = column("grade")
        no_numbers = self._no_numbers()
        if no_numbers:
            tests["NaN score"] = exp.or_(*no_numbers)
        is_finite = exp.Abs(this=grade) <= literal(GREATEST).tree
        tests["label not finite"] = exp.and_(there(grade), exp.not_(is_finite))
        n_rows = exp.Count(this=exp.Star())
        if self.two:
            twice_run = column("run_rows") > 1
            twice_judged = column("judged_rows") > 1
            tests["repeated document"] = exp.or_(twice_run, twice_judged)
        elif self.doc:
            tests["repeated document"] = over(n_rows, [*self.keys, "doc"]) > 1
        weight = self.setup.roles.weight
        if weight is not None and weight in self.carried:
            no_weight = self._no_weight(column(self.carried[weight]))
            tests["weight"] = exp.and_(grade >= 0, no_weight)
        rank = as_double(column("rank_score"))
        is_retrieved = there(column("rank_score"))
        is_shared = over(n_rows, [*self.keys, "rank_score"]) > 1
        if self.setup.takes_ranks:
            is_whole = rank.eq(exp.Floor(this=rank))
            last = literal(float(LAST_RANK)).tree
            is_rank = exp.and_(rank >= 1, rank <= last, is_whole)
            tests["no rank"] = exp.and_(is_retrieved, exp.not_(is_rank))
            tests["shared rank"] = exp.and_(is_retrieved, is_shared)
        if self.setup.policies.tie_rule.refuses:
            tests["forbidden tie"] = exp.and_(is_retrieved, is_shared)
        return tests

    def _no_numbers(self) -> list[Tree]:
        """The tests of a score that is no number."""
        tests = []
        if self.warehouse.nan is not None:
            score = as_double(column("score"))
            tests.append(self.warehouse.nan(score))
        if self.warehouse.no_number is not None:
            tests.append(column("no_number").eq(1))
        return tests

    def _no_weight(self, x: Tree) -> Tree:
        """The test of a weight that is below 0, not finite or no number."""
        weight = as_double(x)
        is_weight = exp.and_(weight >= 0, weight <= literal(GREATEST).tree)
        test: Tree = flag(is_weight).neq(1)
        if self.warehouse.no_number is not None:
            test = exp.or_(test, self.warehouse.no_number(x))
        return test

    def _fault(self) -> Tree:
        """The number of the fault of a row; null for none."""
        branches = []
        for kind, test in self.faults().items():
            text = str(TEXTS[kind](self.setup)[0])
            fact, _, _ = text.partition(";")
            branches.append((test, self.number(fact.strip())))
        return case(*branches, otherwise=None)

    def slices(self) -> dict[str, Tree]:
        """The slices of a query, each with the number of its fault.

        Names are new, as ClickHouse reads them in their step.
        """
        slices: dict[str, Tree] = {}
        for name in self._slices:
            least = exp.Min(this=column(name))
            greatest = exp.Max(this=column(name))
            differ = least.neq(greatest)
            slices[f"{name}_of"] = least
            slices[f"{name}_fault"] = case((differ, self.number(TWO_SLICES)), otherwise=None)
        return slices


SOURCES = ("run_rows", "judged_rows")
"""How many rows of the run, and of the judgments, a document has."""


def _source(*, run: int, judged: int) -> dict[str, Tree]:
    """Where a row of two tables comes from."""
    return {"run_rows": exp.convert(run), "judged_rows": exp.convert(judged)}


def _one_row_each(ids: Sequence[str], others: Sequence[str]) -> Step:
    """The step that joins the rows of a document."""
    keys = columns(ids)
    figures: dict[str, Tree] = {name: exp.Max(this=column(name)) for name in others}
    figures |= {name: exp.Sum(this=column(name)) for name in SOURCES}
    rows = exp.select(*keys, *named(figures)).from_("rf_both")
    return Step("rf_joined", "a row for each query and document", rows.group_by(*keys))


def named(row: Mapping[str, Tree]) -> list[Tree]:
    """Columns under their names."""
    shown = []
    for name, x in row.items():
        is_named = isinstance(x, exp.Column) and x.name == name and not x.table
        shown.append(x if is_named else exp.alias_(x, name))
    return shown


def more(step: str, row: Mapping[str, Tree]) -> exp.Select:
    """All columns of a step, and more."""
    every = exp.Column(this=exp.Star(), table=exp.to_identifier(step))
    return exp.select(every, *named(row)).from_(step)


def over(function: Tree, keys: Iterable[str], order: Sequence[Tree] = ()) -> Tree:
    """A function of the rows with the same keys."""
    by = exp.Order(expressions=[*order]) if order else None
    return exp.Window(this=function, partition_by=columns(keys), order=by)


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
    """The tree with a word in place of each name and text that indenting lines would change.

    `texts` gets what each word stands for.
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
    """A tree in a dialect.

    Sort keys say nothing of nulls, as a key of its own puts these in their place.
    """
    nulls = Dialects.get_or_raise(dialect).NULL_ORDERING
    for key in tree.find_all(exp.Ordered):
        usual = "nulls_are_large" if key.args.get("desc") else "nulls_are_small"
        key.set("nulls_first", nulls == usual)
    return tree.sql(dialect=dialect, pretty=True, unsupported_level=ErrorLevel.IGNORE)


def _last(x: Tree) -> list[Tree]:
    """The sort key that puts nulls last, in every dialect."""
    return [exp.Ordered(this=flag(is_null(x)))]


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
