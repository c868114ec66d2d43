"""Repeated documents of a query: find the columns that tell their rows apart, and advise to name them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import combinations
from typing import TypeAlias

import polars as pl

from ..errors import Code, InvalidData, Text, judge, on, option
from .columns import one_of, repeated
from .roles import USUAL_NAMES
from .setup import Setup
from .steps import best_kept

Apart: TypeAlias = Sequence[tuple[str, ...]]
"""Sets of one or two columns, each of which tells the rows apart."""

SAMPLE = 1_000
"""The number of repeated keys on which a column is tried before it is tried on all rows."""

TOGETHER = 2
"""The most columns that are tried together, if none tells the rows apart alone."""


Advise: TypeAlias = Callable[..., tuple[Text, ...]]
"""Makes the message from the columns that tell rows apart; if there are none, from columns of which one may."""


def repeats(key: Sequence[str], setup: Setup, advise: Advise, apart: Apart, found: Text) -> InvalidData:
    """The error for rows with the same values of `key`, with the advice for the columns known to tell them apart."""
    error = InvalidData(*advise(apart), found, kind="repeated document")
    error._advise = partial(_repeats_among, key, setup, advise, found)
    return error


def _repeats_among(
    key: Sequence[str], setup: Setup, advise: Advise, found: Text, frame: pl.DataFrame | pl.LazyFrame
) -> InvalidData | None:
    apart: Apart
    if isinstance(frame, pl.LazyFrame):  # whose rows are not read again
        schema = frame.collect_schema()
        apart, possible = usual_runs(schema.names(), key), possible_runs(schema, key, setup)
    else:
        apart, possible = telling_apart(frame.lazy(), key, setup), []
    return InvalidData(*advise(apart, possible), found, kind="repeated document") if apart or possible else None


def usual_runs(names: Sequence[str], key: Sequence[str]) -> list[tuple[str, ...]]:
    """The columns with a usual name for runs, except columns of `key`."""
    return [(name,) for name in names if name.lower() in USUAL_NAMES["run"] and name not in key]


def possible_runs(schema: pl.Schema, key: Sequence[str], setup: Setup) -> list[str]:
    """The columns whose type may name runs; those with a role and those of `key` left out."""
    taken = {*setup.roles.names, *key}
    return [name for name, dtype in schema.items() if name not in taken and _may_name(dtype, usual=False)]


def repeated_document(setup: Setup, apart: Apart, possible: Sequence[str] = ()) -> tuple[Text, ...]:
    """The message for a table of metrics in which a query holds a document twice."""
    if not apart:
        return repeated(setup, possible)
    first, key = apart[0], [*setup.roles.query, str(setup.roles.doc_name)]
    of_runs: tuple[Text, ...] = (", or compare them as runs, with ", option(run=first[0])) if len(first) == 1 else ()
    values = f"value of column {first[0]!r}" if of_runs else f"pair of values of columns {_listed(first)}"
    return (
        f"a query holds the same {key[-1]!r} twice; if each {values} has a ranking of its own, say ",
        on(query=[*first, *setup.roles.query]),
        *of_runs,
        "; otherwise keep the best row of each",
        best_kept(setup.roles.score, key, ", as with {}", ascending=setup.policies.ascending),
    )


def repeated_in_plan(schema: pl.Schema, setup: Setup) -> tuple[Text, ...]:
    """The same message for a table of which only the columns are known."""
    key = [*setup.roles.query, str(setup.roles.doc_name)]
    return repeated_document(setup, usual_runs(schema.names(), key), possible_runs(schema, key, setup))


def repeated_in_run(
    setup: Setup, key: Sequence[str], named: str | None, apart: Apart, possible: Sequence[str] = ()
) -> tuple[Text, ...]:
    """The message for a run, with `named` as the column that names runs, that judgments cannot join.

    Most often it is several runs.
    """
    cures = " or ".join(str(judge(run=names[0])) for names in apart if len(names) == 1)
    query = [*(apart[0] if apart else [...]), *setup.roles.query]
    if named is not None:
        several: tuple[Text, ...] = (f"If more columns than {named!r} tell runs apart, name all: ", on(query=query))
    elif apart and not cures:
        several = (f"If columns {_listed(apart[0])} together name the run, name both: ", on(query=query))
    else:
        if not cures and possible:
            cures = f"{judge(run=possible[0] if len(possible) == 1 else ...)}"
        one = f"name the column that tells them apart{one_of(possible)}{f': {cures}' if cures else f', or add one: {judge(run=...)}'}"
        several = ("If these are several runs, ", Code(one, command="give each a file of its own"))
    return (
        "the run holds a document of a query more than once. ",
        *several,
        ". If it is one run, keep one row of each, such as the best",
        best_kept(setup.roles.score, key, ": {}", ascending=setup.policies.ascending),
    )


def telling_apart(rows: pl.LazyFrame, key: Sequence[str], setup: Setup) -> Apart:
    """The columns that, added to `key`, leave no two rows alike: each alone, else two together; none if no row repeats.

    Columns with a usual name for runs come first, then columns with few values. A column that numbers the rows of a query,
    so that each would be a ranking of its own, is left out.
    """
    schema = rows.collect_schema()
    usual = {name for (name,) in usual_runs(schema.names(), key)}
    others = {name: dtype for name, dtype in schema.items() if name not in {*setup.roles.names, *key}}
    names = [name for name, dtype in others.items() if _may_name(dtype, usual=name in usual)]
    if not names or not {*key} <= {*schema}:
        return []
    repeated = rows.select(key).filter(pl.struct(key).is_duplicated()).unique().head(SAMPLE).collect()
    if repeated.is_empty():
        return []
    sample = rows.join(repeated.lazy(), on=key, how="semi", nulls_equal=True).select(*key, *names).collect().lazy()
    for size in range(1, TOGETHER + 1):
        sets = list(combinations(names, size))
        for part in (sample, rows):
            height = _height(part)
            sets = [each for each, n in zip(sets, _distinct(part, key, sets), strict=True) if n == height]
        rankings, values = (_distinct(rows, of, sets) for of in (setup.roles.query, ()))
        found = [
            (not usual.issuperset(each), n, each)
            for each, n, of_query in zip(sets, values, rankings, strict=True)
            if usual.issuperset(each) or of_query < height
        ]
        if found:
            return [each for *_, each in sorted(found, key=lambda one: one[:2])]
    return []


def _may_name(dtype: pl.DataType, *, usual: bool) -> bool:
    """Whether values of the type may name runs, folds or days; under a usual name for runs, any type but objects may."""
    return dtype != pl.Object and (
        usual or not (dtype.is_nested() or dtype.is_float() or dtype.is_decimal() or dtype == pl.Null)
    )


def _distinct(rows: pl.LazyFrame, key: Sequence[str], sets: Apart) -> Sequence[int]:
    """The number of distinct values of `key` with each of the sets of columns."""
    if not sets:
        return []
    counts = (pl.struct(*key, *each).n_unique().alias(str(i)) for i, each in enumerate(sets))
    return rows.select(counts).collect().row(0)


def _height(rows: pl.LazyFrame) -> int:
    return int(rows.select(pl.len()).collect().item())


def _listed(names: Sequence[str]) -> str:
    return " and ".join(map(repr, names))
