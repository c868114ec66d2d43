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
    """One row per document, with its largest label; unchanged rows if each holds a list of
    subtopics.

    If `ordered`, documents keep the order of first appearance. Columns of `carry` come from the row
    of the largest label. With `check`, rows of one document that contradict or repeat each other
    fail.
    """
    setup = table.setup
    if setup.roles.subtopic is None or table.lists_subtopics:
        return lf
    score, label = pl.col(setup.roles.score), pl.col(setup.roles.label)
    weights = [
        getattr(setup.roles, name) for name in ("weight", "propensity", "stratum", "inclusion")
    ]
    own = [*weights, *(name for name in setup.roles.properties if name in table.schema)]
    known = (*table.key_of_documents, setup.roles.score, setup.roles.label)
    best = label.fill_null(-float("inf")).arg_max()
    found = {
        name: pl.col(name).get(best)
        for name in (*carry, *own)
        if name is not None and name not in known
    }
    if ROW in table.schema:
        found[ROW] = pl.col(ROW).first()
    if setup.roles.label in table.schema:
        largest = label.max()
        if table.schema[setup.roles.label].is_float():
            largest = pl.when(table.label.is_finite().all()).then(largest).otherwise(float("nan"))
        found[setup.roles.label] = largest
    flags = {
        "#repeated subtopic": table.subtopic.n_unique() < pl.len(),
        "#two scores": score.n_unique() > 1,
    }
    found |= flags if check else {}
    groups = lf.group_by(table.key_of_documents, maintain_order=ordered or table.needs_row)
    rows = groups.agg(score.first(), **found)
    if not check:
        return rows
    failure = failing([(pl.col(name), message_of(name[1:], setup)) for name in flags])
    return rows.filter(failure.is_null()).drop(list(flags))


def row_faults(table: Columns) -> list[Fault]:
    """The faults of a document's subtopics, as flags on the caller's rows."""
    setup = table.setup
    if setup.roles.subtopic is None:
        return []
    if table.lists_subtopics:
        twice = (table.subtopic.list.n_unique() < table.subtopic.list.len()).fill_null(False)
        return [Fault("subtopic listed twice", setup.roles.subtopic, twice, setup)]
    key = table.key_of_documents
    twice = pl.len().over(*key, setup.roles.subtopic) > 1
    differ = pl.col(setup.roles.score).n_unique().over(*key) > 1
    two_scores = Fault("two scores", setup.roles.score, differ, setup)
    return [
        Fault("repeated subtopic", setup.roles.subtopic, twice, setup),
        two_scores,
        *weight_faults(table),
    ]


def weight_faults(table: Columns) -> list[Fault]:
    """The faults of the subtopics' weights."""
    setup, name = table.setup, table.setup.roles.subtopic_weight
    if name is None:
        return []
    if table.lists_subtopics:
        says = ": a list of subtopics has no weights; give a row for each subtopic of a document"
        raise InvalidOption(option(subtopic_weight=name), says)
    there = table.subtopic.is_not_null()
    differ = pl.col(name).n_unique().over(*setup.roles.query, table.subtopic) > 1
    unfit = Fault("subtopic weight", name, there & ~is_weight(pl.col(name)), setup)
    return [unfit, Fault("two weights", name, there & differ, setup)]
