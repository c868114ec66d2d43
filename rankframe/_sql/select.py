"""The last steps of a statement, and its text.

Its rows are values per query, on each row or per slice, mergeable sums, or findings.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from textwrap import indent, wrap
from typing import Literal, NamedTuple, TypeAlias

from sqlglot import exp

from .._catalog.call import Call
from ..errors import InvalidOption
from ..stats import NOISE
from .query import Query
from .ranked import (
    GIVEN,
    GIVEN_JUDGMENTS,
    Ranks,
    Step,
    more,
    named,
    over,
    protected,
    stacked,
    written,
)
from .trees import Tree, case, column, columns, flag, is_null, literal, there
from .words import Dialect

SUMS = ("n", "mean", "m2", "min", "max")
"""The mergeable sums of a metric, as suffixes of its columns."""

OF_DIFFERENCES = ("diff_n", "diff_mean", "diff_m2", "wins", "losses")
"""Those of its differences from a baseline."""

COUNTS = ("n", "diff_n", "wins", "losses")
"""The sums that are whole numbers."""


Kind: TypeAlias = Literal["queries", "rows", "slices", "sums", "findings"]
"""What the rows of a statement stand for."""


def statement(
    ranks: Ranks,
    calls: Sequence[Call],
    names: Mapping[str, str],
    tables: tuple[str, str | None],
    kind: Kind,
    *,
    quoted: bool,
    compared: tuple[str, object] | None,
) -> str:
    """The text of a statement.

    Parameters
    ----------
    ranks, calls
        The tables' columns and policies, and the metrics.
    names
        The names of the metrics' columns, by text; all are in quotes if `quoted`, else those that
        need them.
    tables
        The table and the judgments, as the text names them.
    kind
        What its rows stand for.
    compared
        For sums: the column of runs, and the baseline.
    """
    if kind == "findings":
        says = "a row per finding: what is wrong in the table, or may surprise"
        steps, last = _checked(ranks)
    else:
        says = ", ".join(call.text for call in calls)
        identifiers = {text: ranks.name(name).this for text, name in names.items()}
        if quoted:
            identifiers = {x: exp.to_identifier(name, quoted=True) for x, name in names.items()}
        steps, last = _of_values(ranks, calls, identifiers, kind, compared)
    refuse_equal_names(last)
    if ranks.warehouse.qualified:
        _qualify(last)
    return _text(says, steps, last, ranks.dialect, tables)


def refuse_equal_names(select: Tree) -> None:
    """Refuse two columns of one name."""
    first = next(select.find_all(exp.Select))
    names = [x.alias_or_name.lower() for x in first.selects]
    for name in names:
        if names.count(name) > 1:
            raise InvalidOption(
                f"two columns of the result would be named {name!r}; give one of them another name"
            )


def _qualify(tree: Tree) -> None:
    """Put the name of the table before each column.

    An alias that the caller chooses may be the name of a column of ours.
    """
    for select in tree.find_all(exp.Select):
        table = next(select.find_all(exp.Table))
        name = exp.to_identifier(table.name)
        for x in select.find_all(exp.Column):
            x.set("table", name.copy())


def _text(
    says: str, steps: Sequence[Step], last: Tree, dialect: Dialect, tables: tuple[str, str | None]
) -> str:
    """The text of a statement, with its comments."""
    table, judgments = tables
    exact = {GIVEN: table, GIVEN_JUDGMENTS: str(judgments)}
    parts = []
    for step in steps:
        tree = protected(step.tree, dialect, exact)
        lines = indent(written(tree, dialect), "  ")
        parts.append(f"-- {step.says}\n{step.name} AS (\n{lines}\n)")
    head = "\n".join(f"-- {line}" for line in wrap(says, 110))
    end = written(protected(last, dialect, exact), dialect)
    text = f"{head}\nWITH\n" + ",\n".join(parts) + f"\n{end}\n"
    longest_first = sorted(exact, key=len, reverse=True)
    words = "|".join(map(re.escape, longest_first))
    return re.sub(words, lambda match: exact[match[0]], text)


# --------------------------------------------------------------------------------------------------
# values


def _of_values(
    ranks: Ranks,
    calls: Sequence[Call],
    names: Mapping[str, exp.Identifier],
    kind: Kind,
    compared: tuple[str, object] | None,
) -> tuple[list[Step], Tree]:
    query = Query(ranks, calls, per_row=kind == "rows")
    values = query.values()
    steps = query.steps()
    if ranks.warehouse.fails is None:
        # Then a query with a fault has no value.
        no_fault = is_null(query.fault)
        values = {text: case((no_fault, x), otherwise=None) for text, x in values.items()}
    if kind in ("queries", "rows"):
        shown = _ids(ranks, kind)
        shown += [exp.alias_(x, names[text]) for text, x in values.items()]
        select = exp.select(*shown).from_("rf_sums")
        return steps, _guarded(select, ranks, query.fault)
    metrics = [MetricColumn(call, f"v{i}", names[call.text]) for i, call in enumerate(calls, 1)]
    per_query = _per_query(ranks, [*values.values()])
    guarded = _guarded(per_query, ranks, query.fault)
    steps.append(Step("rf_per_query", "the metrics of each query", guarded))
    if kind == "sums":
        sums = _merging(ranks, metrics, compared, steps)
    else:
        sums = [exp.alias_(_mean(metric), metric.name) for metric in metrics]
    slices = zip(ranks.slice_keys, ranks.by, strict=True)
    shown = [ranks.shown(key, name) for key, name in slices]
    n_queries = exp.cast(exp.Count(this=exp.Star()), "bigint")
    shown.append(exp.alias_(n_queries, "queries"))
    last = exp.select(*shown, *sums).from_(steps[-1].name)
    groups = columns(ranks.slice_keys)
    return steps, last.group_by(*groups) if groups else last


@dataclass(frozen=True)
class MetricColumn:
    """A metric, the column of its values, and its name in the result."""

    call: Call
    column: str
    name: exp.Identifier

    @property
    def difference(self) -> str:
        """The column of the differences from the baseline."""
        return f"d{self.column[1:]}"


def _ids(ranks: Ranks, kind: Kind) -> list[Tree]:
    """The columns of the result that say what a row stands for."""
    roles = ranks.setup.roles
    shown = _query(ranks)
    if kind == "rows":
        shown += [ranks.shown("doc", str(roles.doc_name)) for _ in ranks.doc]
        for key, name in (("score", roles.score), ("grade", roles.label)):
            shown.append(ranks.aliased(column(key), name))
    return shown


def _query(ranks: Ranks) -> list[Tree]:
    """The columns of the result that name a query."""
    names = zip(ranks.keys, ranks.setup.roles.query, strict=True)
    return [ranks.shown(key, name) for key, name in names]


def _guarded(select: exp.Select, ranks: Ranks, fault: Tree) -> exp.Select:
    """The statement, which fails with the sentence of a fault."""
    fails = ranks.warehouse.fails
    if fails is None:
        return select
    failure = fails(ranks.message(fault))
    test = case((is_null(fault), 1), otherwise=failure).eq(1)
    return select.where(test)


def _per_query(ranks: Ranks, values: Sequence[Tree]) -> exp.Select:
    """The values of each query, with its slices."""
    row: dict[str, Tree] = {key: column(key) for key in ranks.keys}
    for key in ranks.slice_keys:
        row.setdefault(key, column(f"{key}_of"))
    row |= {f"v{i}": x for i, x in enumerate(values, 1)}
    return exp.select(*named(row)).from_("rf_sums")


def _mean(metric: MetricColumn) -> Tree:
    """The metric over several queries, as it is summed up."""
    x = column(metric.column)
    summary = metric.call.metric.summary
    if summary == "sum":
        return exp.Sum(this=x)
    if summary == "geometric mean":
        mean = exp.Avg(this=exp.Ln(this=x))
        return exp.Exp(this=mean)
    return exp.Avg(this=x)


# --------------------------------------------------------------------------------------------------
# mergeable sums


def _merging(
    ranks: Ranks,
    metrics: Sequence[MetricColumn],
    compared: tuple[str, object] | None,
    steps: list[Step],
) -> list[Tree]:
    """The mergeable sums; adds the steps that they need.

    The squares of the differences from the means need these means first.
    """
    if compared is not None:
        run, baseline = compared
        steps.append(_compared(ranks, metrics, run, baseline))
    means = {}
    sums: list[Tree] = []
    for metric in metrics:
        values = [metric.column]
        sums += _sums_of_values(metric)
        if compared is not None:
            values.append(metric.difference)
            sums += _sums_of_differences(metric)
        for value in values:
            mean = exp.Avg(this=column(value))
            means[f"m{value}"] = over(mean, ranks.slice_keys)
    says = "the means, for the squares of the differences from them"
    steps.append(Step("rf_centered", says, more(steps[-1].name, means)))
    return sums


def _compared(ranks: Ranks, metrics: Sequence[MetricColumn], run: str, baseline: object) -> Step:
    """The step with the differences of the runs from the baseline."""
    key = ranks.keys[ranks.setup.roles.query.index(run)]
    name = literal(baseline).tree
    if run not in ranks.numbers:
        name = ranks.warehouse.bytewise(name)
    is_baseline = column(key).eq(name)
    others = [other for other in ranks.keys if other != key]
    differences = {}
    for metric in metrics:
        value = column(metric.column)
        of_baseline = exp.Max(this=case((is_baseline, value), otherwise=None))
        difference = value - over(of_baseline, others)
        is_other = exp.not_(is_baseline)
        differences[metric.difference] = case((is_other, difference), otherwise=None)
    says = "the differences from the baseline, query by query"
    return Step("rf_compared", says, more("rf_per_query", differences))


def _sums_of_values(metric: MetricColumn) -> list[Tree]:
    value = column(metric.column)
    ends = [exp.Min(this=value), exp.Max(this=value)]
    return _sums(metric, SUMS, [*_moments(metric.column), *ends])


def _sums_of_differences(metric: MetricColumn) -> list[Tree]:
    """Those of the differences; a win or a loss is more than a rounding error."""
    value = column(metric.difference)
    noise = exp.Abs(this=column(metric.column)) * NOISE
    wins = exp.Sum(this=flag(value > noise))
    losses = exp.Sum(this=flag(value < -noise))
    return _sums(metric, OF_DIFFERENCES, [*_moments(metric.difference), wins, losses])


def _moments(name: str) -> list[Tree]:
    """The number of values, their mean, and the sum of the squares around it."""
    value = column(name)
    away = value - column(f"m{name}")
    return [exp.Count(this=value), exp.Avg(this=value), exp.Sum(this=away * away)]


def _sums(metric: MetricColumn, suffixes: Sequence[str], figures: Sequence[Tree]) -> list[Tree]:
    """Mergeable sums under the names of the result."""
    sums = []
    for suffix, figure in zip(suffixes, figures, strict=True):
        name = f"{metric.name.name}__{suffix}"
        identifier = exp.to_identifier(name, quoted=metric.name.quoted)
        number = exp.cast(figure, "bigint" if suffix in COUNTS else "double")
        sums.append(exp.alias_(number, identifier))
    return sums


# --------------------------------------------------------------------------------------------------
# findings


class Problem(NamedTuple):
    """What `check` finds: its severity and name, the test of rows, and whether documents have
    it.
    """

    severity: str
    name: str
    test: Tree
    by_document: bool


def _checked(ranks: Ranks) -> tuple[list[Step], Tree]:
    """The findings of `check` that SQL can make, errors first."""
    weight = ranks.setup.roles.weight
    ranks.carried = {} if weight is None else {weight: "x_1"}
    steps = ranks.steps()[:-1]
    score = column("rank_score")
    n_tied = over(exp.Count(this=score), [*ranks.keys, "rank_score"])
    says = "how many documents of its query share the score of a row"
    steps.append(Step("rf_tied", says, more(steps[-1].name, {"tied_in": n_tied})))
    is_judged = column("grade") >= 0
    n_judged = over(exp.Sum(this=flag(is_judged)), ranks.keys)
    n_scored = over(exp.Count(this=score), ranks.keys)
    row = {"judged_in": n_judged, "scored_in": n_scored}
    columns_of_kinds = {}
    for i, (kind, test) in enumerate(ranks.faults().items()):
        columns_of_kinds[kind] = f"is_{i}"
        row[f"is_{i}"] = flag(test)
    says = "how many rows of a query are judged and scored; and what is wrong with a row"
    steps.append(Step("rf_counted_rows", says, more("rf_tied", row)))
    problems = _problems(ranks, columns_of_kinds)
    return steps, stacked([_rows_with(problem, ranks) for problem in problems])


def _problems(ranks: Ranks, columns_of_kinds: Mapping[str, str]) -> Iterator[Problem]:
    """The problems, with tests on the last step."""
    doc = column("doc")
    for kind, name in columns_of_kinds.items():
        test: Tree = column(name).eq(1)
        if kind == "repeated document" and ranks.doc:
            nameless = exp.and_(test, is_null(doc))
            yield Problem("error", "document without id", nameless, True)
            test = exp.and_(test, there(doc))
        yield Problem("error", kind, test, True)
    no_id = exp.or_(*map(is_null, columns(ranks.keys)))
    yield Problem("note", "query without id", no_id, True)
    yield Problem("note", "query without judgments", column("judged_in").eq(0), False)
    yield Problem("note", "nothing retrieved", column("scored_in").eq(0), False)
    if "forbidden tie" not in columns_of_kinds:
        is_tied = column("tied_in") > 1
        test = exp.and_(there(column("rank_score")), is_tied)
        yield Problem("note", "tied scores", test, False)


def _rows_with(problem: Problem, ranks: Ranks) -> exp.Select:
    """The rows of a problem, by query, or by document."""
    severity = exp.Literal.string(problem.severity)
    name = exp.Literal.string(problem.name)
    shown = [*named({"severity": severity, "problem": name}), *_query(ranks)]
    groups = [*ranks.keys]
    if ranks.doc:
        doc_name = str(ranks.setup.roles.doc_name)
        no_doc = ranks.aliased(exp.null(), doc_name)
        shown.append(ranks.shown("doc", doc_name) if problem.by_document else no_doc)
    if problem.by_document:
        groups += ranks.doc
    n_rows = exp.alias_(exp.Count(this=exp.Star()), "n_rows")
    select = exp.select(*shown, n_rows).from_("rf_counted_rows")
    return select.where(problem.test).group_by(*columns(groups))
