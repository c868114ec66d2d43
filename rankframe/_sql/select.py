"""The last steps of a statement: values per query, on each row, per slice, mergeable sums, or findings; and its text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from textwrap import indent, wrap

from sqlglot import exp

from .._catalog.call import Call
from .._table.setup import Setup
from .expressions import case, is_null, negated
from .query import KINDS, ONE, ZERO, Plan, Step, Tables, column, named, written
from .warehouses import Dialect


@dataclass(frozen=True)
class Wanted:
    """The statement that is asked for, see `rankframe.sql`."""

    dialect: Dialect
    table: str
    judgments: str | None = None
    run: str | None = None
    keeps_judged: bool = True
    keeps_run: bool = False
    by: tuple[str, ...] | None = None
    rows: bool = False
    partial: bool = False
    checks: bool = False
    numbers: tuple[str, ...] = ()

    @property
    def tables(self) -> Tables:
        """The tables and their columns."""
        return Tables(
            two=self.judgments is not None,
            runs=() if self.run is None else (self.run,),
            by=self.by or (),
            numbers=self.numbers,
            keeps_judged=self.keeps_judged or self.checks,
            keeps_run=self.keeps_run or self.checks,
        )


def statement(setup: Setup, calls: Sequence[Call], names: Mapping[str, str], wanted: Wanted, *, quoted: bool) -> str:
    """The text of a statement; `names` are those of the columns of calls, by text."""
    plan = Plan(setup, wanted.dialect, wanted.tables, calls, per_row=wanted.rows)
    if wanted.checks:
        steps, last, says = *_checked(plan), "a row per finding: what is wrong in the table"
    else:
        says = ", ".join(call.text for call in calls)
        steps, last = _of_values(plan, calls, names, wanted, quoted=quoted)
    return _text(says, steps, last, wanted)


def _of_values(
    plan: Plan, calls: Sequence[Call], names: Mapping[str, str], wanted: Wanted, *, quoted: bool
) -> tuple[list[Step], exp.Expression]:
    steps, values = plan.steps()
    fault, fails = plan.fault, plan.warehouse.fails
    sure = is_null(fault)
    if fails is None:  # then a query with a fault has no value
        values = {text: case((sure, x), otherwise=None) for text, x in values.items()}

    def guarded(select: exp.Select) -> exp.Select:
        """The statement, which fails with the sentence of a fault."""
        if fails is None:
            return select
        guard = case((sure, ONE.copy()), otherwise=fails(plan.message(fault)))
        return select.where(exp.EQ(this=guard, expression=ONE.copy()))

    def identifier(name: str) -> exp.Expression:
        return exp.to_identifier(name, quoted=quoted)

    query = dict(zip(plan.keys, plan.setup.roles.query, strict=True))
    if wanted.by is None:
        keys = [plan.shown(key, name) for key, name in query.items()]
        if wanted.rows:
            roles = plan.setup.roles
            keys += [] if roles.doc_name is None else [plan.shown("doc", roles.doc_name)]
            numbers = {roles.score: "score", roles.label: "grade"}
            keys += [exp.alias_(exp.column(x), _own(name, plan)) for name, x in numbers.items()]
        columns = [exp.alias_(x, identifier(names[text])) for text, x in values.items()]
        return steps, guarded(exp.select(*keys, *columns).from_("rf_sums"))
    slices = [f"by_{i}" for i, _ in enumerate(wanted.by, 1)]
    own = {text: f"v{i}" for i, text in enumerate(values, 1)}
    per_query = guarded(exp.select(*slices, *named({own[text]: x for text, x in values.items()})).from_("rf_sums"))
    steps.append(Step("rf_per_query", "the metrics of each query", per_query))
    shown_slices = [plan.shown(x, name) for x, name in zip(slices, wanted.by, strict=True)]
    count = exp.cast(exp.Count(this=exp.Star()), "double")
    if not wanted.partial:
        means = [exp.alias_(_mean(call, exp.column(own[call.text])), identifier(names[call.text])) for call in calls]
        return steps, _grouped(
            exp.select(*shown_slices, exp.alias_(count, "queries"), *means).from_("rf_per_query"), slices
        )
    groups = [exp.column(x) for x in slices]
    means_of = {
        f"m{i}": exp.Window(this=exp.Avg(this=exp.column(x)), partition_by=groups)
        for i, x in enumerate(own.values(), 1)
    }
    steps.append(
        Step(
            "rf_centered",
            "with the means, for the squares of the differences from them",
            plan.more("rf_per_query", means_of),
        )
    )
    sums: list[exp.Expression] = []
    for i, (text, x) in enumerate(own.items(), 1):
        value, away = exp.column(x), exp.Paren(this=exp.Sub(this=exp.column(x), expression=exp.column(f"m{i}")))
        of = {
            "n": exp.cast(exp.Count(this=value), "double"),
            "mean": exp.Avg(this=value.copy()),
            "m2": exp.Sum(this=exp.Mul(this=away, expression=away.copy())),
            "min": exp.Min(this=value.copy()),
            "max": exp.Max(this=value.copy()),
        }
        sums += [exp.alias_(tree, identifier(f"{names[text]}__{part}")) for part, tree in of.items()]
    return steps, _grouped(exp.select(*shown_slices, exp.alias_(count, "queries"), *sums).from_("rf_centered"), slices)


def _grouped(select: exp.Select, keys: Sequence[str]) -> exp.Select:
    return select.group_by(*map(exp.column, keys)) if keys else select


def _own(name: str, plan: Plan) -> exp.Expression:
    """The caller's name of a column, as an alias."""
    found: exp.Expression = column(name, plan.warehouse).this
    return found


def _mean(call: Call, x: exp.Expression) -> exp.Expression:
    """The metric over several queries, as it is summed up."""
    how = call.metric.summary
    if how == "sum":
        return exp.Sum(this=x)
    return exp.Exp(this=exp.Avg(this=exp.Ln(this=x))) if how == "geometric mean" else exp.Avg(this=x)


# ------------------------------------------------------------------------------------------------- findings


def _checked(plan: Plan) -> tuple[list[Step], exp.Expression]:
    """The findings of `check` that SQL can make, errors first."""
    setup, query = plan.setup, list(plan.keys)
    steps = plan.ranked()
    doc = [] if setup.roles.doc_name is None else ["doc"]
    grade, score, least = exp.column("grade"), exp.column("rank_score"), max(setup.policies.relevant, 0)
    flags = {
        "judged_rows": exp.Count(this=case((exp.GTE(this=grade, expression=ZERO.copy()), ONE.copy()), otherwise=None)),
        "relevant_rows": exp.Count(
            this=case((exp.GTE(this=grade.copy(), expression=exp.Literal.number(least)), ONE.copy()), otherwise=None)),
        "scored_rows": exp.Count(this=score),
    }  # fmt: skip
    keys = [exp.column(key) for key in query]
    windows = {name: exp.Window(this=x, partition_by=[k.copy() for k in keys]) for name, x in flags.items()}
    windows["tied_rows"] = exp.Window(
        this=exp.Count(this=score.copy()), partition_by=[*(k.copy() for k in keys), score.copy()]
    )
    steps.append(
        Step(
            "rf_counted_rows",
            "how many rows of its query are judged, relevant, scored, and share its score",
            plan.more("rf_placed", windows),
        )
    )
    missing = [("document without id", is_null(exp.column("doc")))] if doc else []
    errors = [
        (kind, exp.EQ(this=exp.column("fault"), expression=exp.Literal.number(KINDS.index(kind) + 1)), True)
        for kind in KINDS if kind != "two slices"
    ]  # fmt: skip
    one = ONE.copy()
    if missing:
        both = exp.And(this=errors[2][1], expression=negated(missing[0][1]))
        errors[2] = ("repeated document", both, True)
        nameless = exp.And(
            this=exp.EQ(this=exp.column("fault"), expression=exp.Literal.number(3)), expression=missing[0][1].copy()
        )
        errors.insert(2, ("document without id", nameless, True))
    unnamed = [is_null(k.copy()) for k in keys]
    notes = [
        ("query without id", exp.or_(*unnamed), True),
        ("no relevant document", exp.EQ(this=exp.column("relevant_rows"), expression=ZERO.copy()), False),
        ("query without judgments", exp.EQ(this=exp.column("judged_rows"), expression=ZERO.copy()), False),
        ("nothing retrieved", exp.EQ(this=exp.column("scored_rows"), expression=ZERO.copy()), False),
        ("tied scores", exp.And(this=negated(is_null(exp.column("rank_score"))),
                                expression=exp.GT(this=exp.column("tied_rows"), expression=one)), False),
    ]  # fmt: skip
    if setup.policies.tie_rule.refuses:
        notes.pop()
    selects = []
    for severity, found in (("error", errors), ("note", notes)):
        for problem, test, by_row in found:
            group = [*query, *(doc if by_row else [])]
            names = [plan.shown(key, name) for key, name in zip(query, setup.roles.query, strict=True)]
            if doc:
                name = str(setup.roles.doc_name)
                names.append(plan.shown("doc", name) if by_row else exp.alias_(exp.null(), _own(name, plan)))
            select = exp.select(
                exp.alias_(exp.Literal.string(severity), "severity"), exp.alias_(exp.Literal.string(problem), "problem"),
                *names, exp.alias_(exp.Count(this=exp.Star()), "n_rows"),
            ).from_("rf_counted_rows").where(test)  # fmt: skip
            selects.append(select.group_by(*map(exp.column, group)))
    union: exp.Expression = selects[0]
    for select in selects[1:]:
        union = exp.union(union, select, distinct=False, copy=False)
    return steps, union


# ---------------------------------------------------------------------------------------------------- text


def _text(says: str, steps: Sequence[Step], last: exp.Expression, wanted: Wanted) -> str:
    """The statement, a comment above each step."""
    dialect = wanted.dialect
    parts = [
        f"-- {line}\n{step.name} AS (\n{indent(written(step.tree, dialect), '  ')}\n)"
        for step in steps
        for line in [step.says]
    ]
    head = "\n".join(f"-- {line}" for line in wrap(says, 110))
    text = f"{head}\nWITH\n" + ",\n".join(parts) + f"\n{written(last, dialect)}\n"
    return text.replace("rf_given_judgments", str(wanted.judgments)).replace("rf_given_table", wanted.table)
