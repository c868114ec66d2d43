"""Tables with subtopics: one row per document, and faults of a document's subtopics."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from .columns import Columns, Fault, failing, message_of
from .roles import ROW


def documents(
    lf: pl.LazyFrame, table: Columns, *, ordered: bool, carry: Sequence[str] = (), check: bool = True
) -> pl.LazyFrame:
    """One row per document, with its largest label; unchanged rows if each holds a list of subtopics.

    If `ordered`, documents keep the order of first appearance. Columns of `carry` come from the row of the largest label.
    With `check`, rows of one document that contradict or repeat each other fail.
    """
    setup = table.setup
    if setup.roles.subtopic is None or table.lists_subtopics:
        return lf
    score, label = pl.col(setup.roles.score), pl.col(setup.roles.label)
    named = [*carry, *([] if setup.roles.weight is None else [setup.roles.weight])]
    named += [name for name in setup.roles.properties if name in table.schema]
    named = [name for name in dict.fromkeys(named) if name not in table.key_of_documents]
    named = [name for name in named if name not in (setup.roles.score, setup.roles.label)]
    found = {name: pl.col(name).get(label.fill_null(-float("inf")).arg_max()) for name in named}
    if ROW in table.schema:
        found[ROW] = pl.col(ROW).first()
    if setup.roles.label in table.schema:
        unfit = table.label.is_finite().all()
        largest = label.max()
        is_float = table.schema[setup.roles.label].is_float()
        found[setup.roles.label] = pl.when(unfit).then(largest).otherwise(float("nan")) if is_float else largest
    flags = (
        {"repeated subtopic": table.subtopic.n_unique() < pl.len(), "two scores": score.n_unique() > 1} if check else {}
    )
    flags = {f"#{problem}": flag for problem, flag in flags.items()}
    rows = lf.group_by(table.key_of_documents, maintain_order=ordered or table.needs_row).agg(
        score.first(), **found, **flags
    )
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
    return [
        Fault("repeated subtopic", setup.roles.subtopic, twice, setup),
        Fault("two scores", setup.roles.score, differ, setup),
    ]
