"""Rank order as one sort key: an expression over a table's columns that needs no schema."""

from __future__ import annotations

import polars as pl
import polars.selectors as cs

from .._table.columns import refuse_without_document
from .._table.setup import Setup


def place_among_ties(setup: Setup) -> pl.Expr:
    """The place of each row, from 0 on, if all had the same score.

    Documents with equal scores stand in this order.
    """
    label = pl.lit(None, pl.Float64)
    if setup.policies.tie_rule.by_label:
        label = pl.col(setup.roles.label).cast(pl.Float64)
    equal_score = pl.lit(0.0)
    key, descending = rank_key(setup, equal_score, label)
    return pl.int_range(pl.len()).sort_by(key, descending=descending).arg_sort()


def columns_of(setup: Setup) -> cs.Selector:
    """The document column.

    There is none if none was named, the table lacks the default and no tie rule needs it.
    """
    roles = setup.roles
    if roles.doc_name is None:
        refuse_without_document(setup)
        return cs.by_name()
    is_needed = roles.doc is not ... or setup.policies.tie_rule.needs_document
    return cs.by_name(roles.doc_name, require_all=is_needed)


def rank_key(setup: Setup, score: pl.Expr, label: pl.Expr) -> tuple[pl.Expr, bool]:
    """One sort key that puts the rows of a query in rank order, and whether it descends.

    It fits any dtype.
    """
    rule = setup.policies.tie_rule
    # a struct has one direction: that of the ids, which may be of any type
    falling = all(key.falling for key in rule.keys if key.of == "document")
    retrieved = score.is_not_null()
    first_retrieved = retrieved if falling else ~retrieved
    by_score = _turned(score, not falling)
    fields = [first_retrieved.alias("#retrieved"), by_score.alias("#score")]
    graded = label.fill_null(-float("inf"))
    ids = _ids(setup)
    for i, key in enumerate(rule.keys):
        compared = [graded] if key.of == "label" else ids
        values = [key.value(x) for x in compared]
        if not falling:
            fields += [x.is_null().name.prefix(f"#null {i} ") for x in values]
        turned = [_turned(x, key.falling != falling) for x in values]
        fields += [x.name.prefix(f"#key {i} ") for x in turned]
    row = pl.int_range(pl.len()).alias("#row")  # a sort by a struct is not stable
    return pl.struct(*fields, -row if falling else row), falling


def _ids(setup: Setup) -> list[pl.Expr]:
    """The documents' ids as they are compared: the column as it is, or as text."""
    doc = columns_of(setup)
    if setup.policies.tie_rule.as_text:
        return [(doc - cs.nested()).cast(pl.String)]
    named = doc & (cs.enum() | cs.categorical())
    return [(doc - named).as_expr(), named.cast(pl.String)]


def _turned(x: pl.Expr, turned: bool) -> pl.Expr:
    """`x`, or if `turned` numbers that sort the other way round."""
    return x.rank("dense", descending=True) if turned else x
