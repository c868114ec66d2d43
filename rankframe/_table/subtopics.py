"""Tables with subtopics: one row per document, and faults of a document's subtopics."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from ..errors import InvalidOption, option
from .columns import Columns, Fault, failing, is_weight, message_of
from .roles import ROW


def documents(
    lf: pl.LazyFrame,
    table: Columns,
    *,
    ordered: bool,
    carry: Sequence[str] = (),
    check: bool = True,
) -> pl.LazyFrame:
    """One row per document, with its largest label; unchanged rows of lists of subtopics.

    If `ordered`, documents keep the order of first appearance. Columns of `carry` come from the row
    of the largest label. With `check`, rows of one document that contradict or repeat each other
    fail.
    """
    setup = table.setup
    if setup.roles.subtopic is None or table.lists_subtopics:
        return lf
    score = pl.col(setup.roles.score)
    columns = _of_largest_label(table, carry)
    if ROW in table.schema:
        columns[ROW] = pl.col(ROW).first()
    if setup.roles.label in table.schema:
        columns[setup.roles.label] = _largest_label(table)
    flags = {}
    if check:
        flags = {
            "#repeated subtopic": table.subtopic.n_unique() < pl.len(),
            "#two scores": score.n_unique() > 1,
        }
    keep_order = ordered or table.needs_row
    groups = lf.group_by(table.key_of_documents, maintain_order=keep_order)
    rows = groups.agg(score.first(), **columns, **flags)
    if not check:
        return rows
    failure = failing([(pl.col(name), message_of(name[1:], setup)) for name in flags])
    return rows.filter(failure.is_null()).drop(list(flags))


def _of_largest_label(table: Columns, carry: Sequence[str]) -> dict[str, pl.Expr]:
    """The columns of a document that come from the row of its largest label."""
    roles = table.setup.roles
    weights = (roles.weight, roles.propensity, roles.stratum, roles.inclusion)
    properties = [name for name in roles.properties if name in table.schema]
    known = (None, *table.key_of_documents, roles.score, roles.label)
    best = pl.col(roles.label).fill_null(-float("inf")).arg_max()
    columns = {}
    for name in (*carry, *weights, *properties):
        if name not in known:
            columns[str(name)] = pl.col(str(name)).get(best)
    return columns


def _largest_label(table: Columns) -> pl.Expr:
    """The largest label of a document, NaN where one is not finite."""
    label = table.setup.roles.label
    largest = pl.col(label).max()
    if table.schema[label].is_float():
        are_finite = table.label.is_finite().all()
        return pl.when(are_finite).then(largest).otherwise(float("nan"))
    return largest


def row_faults(table: Columns) -> list[Fault]:
    """The faults of a document's subtopics, as flags on the caller's rows."""
    setup = table.setup
    subtopic = setup.roles.subtopic
    if subtopic is None:
        return []
    if table.lists_subtopics:
        lists = table.subtopic.list
        repeats = (lists.n_unique() < lists.len()).fill_null(False)
        return [Fault("subtopic listed twice", subtopic, repeats, setup)]
    key = table.key_of_documents
    score = setup.roles.score
    repeats = pl.len().over(*key, subtopic) > 1
    differ = pl.col(score).n_unique().over(*key) > 1
    return [
        Fault("repeated subtopic", subtopic, repeats, setup),
        Fault("two scores", score, differ, setup),
        *weight_faults(table),
    ]


def weight_faults(table: Columns) -> list[Fault]:
    """The faults of the subtopics' weights."""
    setup = table.setup
    name = setup.roles.subtopic_weight
    if name is None:
        return []
    if table.lists_subtopics:
        says = ": a list of subtopics has no weights; give a row for each subtopic of a document"
        raise InvalidOption(option(subtopic_weight=name), says)
    weight = pl.col(name)
    has_subtopic = table.subtopic.is_not_null()
    n_weights = weight.n_unique().over(*setup.roles.query, table.subtopic)
    unfit = has_subtopic & ~is_weight(weight)
    differ = has_subtopic & (n_weights > 1)
    return [
        Fault("subtopic weight", name, unfit, setup),
        Fault("two weights", name, differ, setup),
    ]
