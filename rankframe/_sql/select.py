"""The last steps of a statement: values per query, on each row, per slice, mergeable sums, or
findings; and its text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from textwrap import indent, wrap
from typing import Literal, TypeAlias

from sqlglot import exp

from .._catalog.call import Call
from ..errors import InvalidOption
from ..stats import NOISE
from .expressions import Tree, case, flag, is_null, literal, there
from .query import Query, more
from .ranked import GIVEN, GIVEN_JUDGMENTS, Ranks, Step, named, protected, stacked, written

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
        says, (steps, last) = (
            "a row per finding: what is wrong in the table, or may surprise",
            _checked(ranks),
        )
    else:
        identifiers = {text: exp.to_identifier(name, quoted=True) for text, name in names.items()}
        if not quoted:
            identifiers = {text: ranks.name(name).this for text, name in names.items()}
        says, (steps, last) = (
            ", ".join(call.text for call in calls),
            _of_values(ranks, calls, identifiers, kind, compared),
        )
    shown = [x.alias_or_name.lower() for x in next(iter(last.find_all(exp.Select))).selects]
    if twice := [name for name in shown if shown.count(name) > 1]:
        raise InvalidOption(
            f"two columns of the result would be named {twice[0]!r}; give one of them another name"
        )
    if (
        ranks.warehouse.qualified
    ):  # an alias that the caller chooses may be the name of a column of ours
        for select in last.find_all(exp.Select):
            of = exp.to_identifier(next(iter(select.find_all(exp.Table))).name)
            for column in select.find_all(exp.Column):
                column.set("table", of.copy())
    exact = {GIVEN: tables[0], GIVEN_JUDGMENTS: str(tables[1])}
    parts = []
    for step in steps:
        tree = protected(step.tree, ranks.dialect, exact)
        parts.append(
            f"-- {step.says}\n{step.name} AS (\n{indent(written(tree, ranks.dialect), '  ')}\n)"
        )
    head = "\n".join(f"-- {line}" for line in wrap(says, 110))
    end = written(protected(last, ranks.dialect, exact), ranks.dialect)
    text = f"{head}\nWITH\n" + ",\n".join(parts) + f"\n{end}\n"
    words = "|".join(re.escape(word) for word in sorted(exact, key=len, reverse=True))
    return re.sub(words, lambda found: exact[found[0]], text)


def _of_values(
    ranks: Ranks,
    calls: Sequence[Call],
    names: Mapping[str, exp.Identifier],
    kind: Kind,
    compared: tuple[str, object] | None,
) -> tuple[list[Step], Tree]:
    query = Query(ranks, calls, per_row=kind == "rows")
    values = query.values()
    steps, fault, fails = query.steps(), query.fault, ranks.warehouse.fails
    if fails is None:  # then a query with a fault has no value
        values = {text: case((is_null(fault), x), otherwise=None) for text, x in values.items()}

    def guarded(select: exp.Select) -> exp.Select:
        """The statement, which fails with the sentence of a fault."""
        if fails is None:
            return select
        return select.where(case((is_null(fault), 1), otherwise=fails(ranks.message(fault))).eq(1))

    roles = ranks.setup.roles
    ids = {key: ranks.shown(key, name) for key, name in zip(ranks.keys, roles.query, strict=True)}
    if kind in ("queries", "rows"):
        shown = [
            *ids.values(),
            *(ranks.shown("doc", str(roles.doc_name)) for _ in ranks.doc if kind == "rows"),
        ]
        numbers = {"score": roles.score, "grade": roles.label} if kind == "rows" else {}
        shown += [
            exp.alias_(exp.column(own), ranks.name(name).this) for own, name in numbers.items()
        ]
        return steps, guarded(
            exp.select(*shown, *(exp.alias_(x, names[text]) for text, x in values.items())).from_(
                "rf_sums"
            )
        )
    own = {f"v{i}": x for i, x in enumerate(values.values(), 1)}
    ids_of = {key: exp.column(key) for key in ranks.keys}
    slices_of = {x: exp.column(f"{x}_of") for x in ranks.slice_keys if x not in ids_of}
    per_query = exp.select(*named({**ids_of, **slices_of, **own})).from_("rf_sums")
    steps.append(Step("rf_per_query", "the metrics of each query", guarded(per_query)))
    slices = [ranks.shown(x, name) for x, name in zip(ranks.slice_keys, ranks.by, strict=True)]
    slices.append(exp.alias_(exp.cast(exp.Count(this=exp.Star()), "bigint"), "queries"))
    if kind == "sums":
        of, sums = _merging(ranks, [*own], [names[text] for text in values], compared, steps)
    else:
        of = "rf_per_query"
        sums = [
            exp.alias_(_mean(call, exp.column(x)), names[call.text])
            for call, x in zip(calls, own, strict=True)
        ]
    group = [exp.column(x) for x in ranks.slice_keys]
    last = exp.select(*slices, *sums).from_(of)
    return steps, last.group_by(*group) if group else last


def _mean(call: Call, x: Tree) -> Tree:
    """The metric over several queries, as it is summed up."""
    how = call.metric.summary
    mean = exp.Avg(this=exp.Ln(this=x) if how == "geometric mean" else x)
    return (
        exp.Sum(this=x) if how == "sum" else exp.Exp(this=mean) if how == "geometric mean" else mean
    )


def _merging(
    ranks: Ranks,
    own: Sequence[str],
    names: Sequence[exp.Identifier],
    compared: tuple[str, object] | None,
    steps: list[Step],
) -> tuple[str, list[Tree]]:
    """The step with means over slices, for the squares of the differences from them; and the
    mergeable sums.
    """
    kinds, of = {"v": SUMS}, steps[-1].name
    if compared is not None:
        run = exp.column(ranks.keys[ranks.setup.roles.query.index(compared[0])])
        name, bytewise = literal(compared[1]).tree, ranks.warehouse.bytewise
        is_baseline = run.eq(
            name if bytewise is None or compared[0] in ranks.numbers else bytewise(name)
        )
        others = [exp.column(key) for key in ranks.keys if key != run.name]
        base = [exp.Max(this=case((is_baseline, exp.column(x)), otherwise=None)) for x in own]
        away = [
            exp.column(x) - exp.Window(this=x_base, partition_by=others)
            for x, x_base in zip(own, base, strict=True)
        ]
        differ = {
            f"d{x[1:]}": case((exp.not_(is_baseline), d), otherwise=None)
            for x, d in zip(own, away, strict=True)
        }
        steps.append(
            Step(
                "rf_compared", "the differences from the baseline, query by query", more(of, differ)
            )
        )
        kinds, of = {**kinds, "d": OF_DIFFERENCES}, "rf_compared"
    slices = [exp.column(x) for x in ranks.slice_keys]
    means = {
        f"m{kind}{x[1:]}": exp.Window(
            this=exp.Avg(this=exp.column(f"{kind}{x[1:]}")), partition_by=slices
        )
        for x in own
        for kind in kinds
    }
    says = "the means, for the squares of the differences from them"
    steps.append(Step("rf_centered", says, more(of, means)))
    sums = []
    for x, name in zip(own, names, strict=True):
        for kind, suffixes in kinds.items():
            value, away_from = (
                exp.column(f"{kind}{x[1:]}"),
                exp.column(f"{kind}{x[1:]}") - exp.column(f"m{kind}{x[1:]}"),
            )
            n, mean, m2 = (
                exp.Count(this=value),
                exp.Avg(this=value),
                exp.Sum(this=away_from * away_from),
            )
            two = [exp.Min(this=value), exp.Max(this=value)]
            if kind == "d":  # by more than rounding errors
                noise = exp.Abs(this=exp.column(x)) * NOISE
                two = [exp.Sum(this=flag(value > noise)), exp.Sum(this=flag(value < -noise))]
            figures = zip(suffixes, (n, mean, m2, *two), strict=True)
            for suffix, tree in figures:
                number = exp.cast(tree, "bigint" if suffix in COUNTS else "double")
                sums.append(
                    exp.alias_(
                        number, exp.to_identifier(f"{name.name}__{suffix}", quoted=name.quoted)
                    )
                )
    return "rf_centered", sums


# --------------------------------------------------------------------------------------------------
# ----- findings


def _checked(ranks: Ranks) -> tuple[list[Step], Tree]:
    """The findings of `check` that SQL can make, errors first."""
    weight = ranks.setup.roles.weight
    ranks.carried = {} if weight is None else {weight: "x_1"}
    steps = [*ranks.steps()[:-1]]
    grade, score, keys = (
        exp.column("grade"),
        exp.column("rank_score"),
        [exp.column(key) for key in ranks.keys],
    )
    counts: dict[str, Tree] = {
        "judged_in": exp.Sum(this=flag(grade >= 0)),
        "scored_in": exp.Count(this=score),
    }
    tied = exp.Window(this=exp.Count(this=score), partition_by=[*keys, score])
    steps.append(
        Step(
            "rf_tied",
            "how many documents of its query share the score of a row",
            more(steps[-1].name, {"tied_in": tied}),
        )
    )
    windows = {name: exp.Window(this=x, partition_by=keys) for name, x in counts.items()}
    tests = {kind: flag(test) for kind, test in ranks.faults().items()}
    own = {kind: f"is_{i}" for i, kind in enumerate(tests)}
    flags = {own[kind]: x for kind, x in tests.items()}
    says = "how many rows of a query are judged and scored; and what is wrong with a row"
    steps.append(Step("rf_counted_rows", says, more(steps[-1].name, {**windows, **flags})))
    return steps, stacked([_finding(ranks, *found) for found in _tests(ranks, own)])


def _tests(ranks: Ranks, own: Mapping[str, str]) -> Iterator[tuple[str, str, Tree, bool]]:
    """The severity and the problem of each finding, the test of its rows, and whether it concerns a
    document.
    """
    nameless = is_null(exp.column("doc")) if ranks.doc else None
    for kind, name in own.items():
        test: Tree = exp.column(name).eq(1)
        if kind == "repeated document" and nameless is not None:
            yield "error", "document without id", exp.and_(test, nameless), True
            test = exp.and_(test, there(exp.column("doc")))
        yield "error", kind, test, True
    yield (
        "note",
        "query without id",
        exp.or_(*(is_null(exp.column(key)) for key in ranks.keys)),
        True,
    )
    yield "note", "query without judgments", exp.column("judged_in").eq(0), False
    yield "note", "nothing retrieved", exp.column("scored_in").eq(0), False
    if "forbidden tie" not in own:
        yield (
            "note",
            "tied scores",
            exp.and_(there(exp.column("rank_score")), exp.column("tied_in") > 1),
            False,
        )


def _finding(
    ranks: Ranks, severity: str, problem: str, test: Tree, by_document: bool
) -> exp.Select:
    """The rows of a finding, by query, or by document."""
    roles = ranks.setup.roles
    columns = {"severity": exp.Literal.string(severity), "problem": exp.Literal.string(problem)}
    shown = [ranks.shown(key, name) for key, name in zip(ranks.keys, roles.query, strict=True)]
    if ranks.doc:
        name = str(roles.doc_name)
        shown.append(
            ranks.shown("doc", name)
            if by_document
            else exp.alias_(exp.null(), ranks.name(name).this)
        )
    group = [exp.column(key) for key in (*ranks.keys, *(ranks.doc if by_document else []))]
    select = exp.select(*named(columns), *shown, exp.alias_(exp.Count(this=exp.Star()), "n_rows"))
    return select.from_("rf_counted_rows").where(test).group_by(*group)
