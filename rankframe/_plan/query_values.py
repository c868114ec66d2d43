"""The values of queries: expressions over their sums, but for steps that NumPy takes at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from .._support.floats import np
from .._words.sorted_rows import HAS_LABELS, Needed, roots
from .plan import Part, add_up, guarded


@dataclass(frozen=True)
class LastSteps:
    """How values are made of sums.

    Attributes
    ----------
    expressions
        The values by a plan, under their texts.
    without_nan
        The texts of values in which 0 stands for NaN, after the plan.
    judged_only
        The texts of values that are null for a query without labels, after the plan.
    reads_labelled
        Whether the plan reads which queries have labels.
    """

    expressions: Sequence[pl.Expr]
    without_nan: frozenset[str]
    judged_only: frozenset[str]
    reads_labelled: bool


def values_of_queries(part: Part, needed: Needed) -> dict[str, pl.Series]:
    """The values of a part's queries by their texts."""
    steps = _last_steps(needed)
    sums = add_up(part, needed, with_labelled=steps.reads_labelled)
    # the first sum is there for values that are one number for all queries
    plan = sums.lazy().select_seq(pl.first(), *steps.expressions)
    computed = part.run(plan, optimized=False)
    labelled = part.labelled if steps.judged_only else None
    values: dict[str, pl.Series] = {}
    for text in needed.values:
        value = computed[text]
        if text in steps.without_nan:
            value = _without_nan(value)
        if labelled is not None and text in steps.judged_only:
            value = value.zip_with(labelled, _nothing(value))
        values[text] = value
    return values


def _last_steps(needed: Needed) -> LastSteps:
    """The steps, kept with what is needed."""
    if LastSteps not in needed.kept:
        needed.kept[LastSteps] = _new_steps(needed)
    steps: LastSteps = needed.kept[LastSteps]
    return steps


def _new_steps(needed: Needed) -> LastSteps:
    if needed.refused or needed.undefined:
        expressions = guarded(needed)
        reads_labelled = needed.reads(HAS_LABELS)
        return LastSteps(expressions, frozenset(), frozenset(), reads_labelled)
    expressions = []
    without_nan, judged_only = set[str](), set[str]()
    for text, value in needed.values.items():
        of_judged = _where_labelled(value)
        if of_judged is not None:
            judged_only.add(text)
            value = of_judged
        filled = _before_zero_for_nan(value)
        if filled is not None:
            without_nan.add(text)
            value = filled
        expressions.append(value.alias(text))
    reads_labelled = HAS_LABELS.meta.output_name() in roots(expressions)
    return LastSteps(expressions, frozenset(without_nan), frozenset(judged_only), reads_labelled)


def _where_labelled(value: pl.Expr) -> pl.Expr | None:
    """What a value is for a query with labels, if it is null for one without."""
    for part in value.meta.pop():
        if value.meta.eq(pl.when(HAS_LABELS).then(part)):
            return part
    return None


def _before_zero_for_nan(value: pl.Expr) -> pl.Expr | None:
    """A value before 0 stands for NaN in it, if it does."""
    for part in value.meta.pop():
        if value.meta.eq(part.fill_nan(0.0)):
            return part
    return None


def _without_nan(value: pl.Series) -> pl.Series:
    """The values, 0 for NaN."""
    numbers = value.to_numpy()
    is_nan = np.isnan(numbers)
    if not is_nan.any():
        return value
    if value.has_nulls():  # NumPy has NaN for these, too
        return value.fill_nan(0.0)
    return pl.Series(value.name, np.where(is_nan, 0.0, numbers))


def _nothing(like: pl.Series) -> pl.Series:
    """A series of nulls."""
    return pl.Series(like.name, [None], dtype=like.dtype).new_from_index(0, len(like))
