"""Rank order as one sort key: an expression over a table's columns that needs no schema."""

from __future__ import annotations

import polars as pl
import polars.selectors as cs

from .._table.columns import refuse_without_document
from .._table.setup import Setup


def place_among_ties(setup: Setup) -> pl.Expr:
    """The place of each row, from 0 on, if all had the same score: documents with equal scores
    stand in this order.
    """
    label = (
        pl.col(setup.roles.label).cast(pl.Float64)
        if setup.policies.tie_rule.by_label
        else pl.lit(None, pl.Float64)
    )
    key, descending = rank_key(setup, pl.lit(0.0), label)
    return pl.int_range(pl.len()).sort_by(key, descending=descending).arg_sort()


def columns_of(setup: Setup) -> cs.Selector:
    """The document column; none if none was named, the table lacks the default and no tie rule
    needs it.
    """
    if setup.roles.doc_name is None:
        refuse_without_document(setup)
        return cs.by_name()
    needed = setup.roles.doc is not ... or setup.policies.tie_rule.needs_document
    return cs.by_name(setup.roles.doc_name, require_all=needed)


def rank_key(setup: Setup, score: pl.Expr, label: pl.Expr) -> tuple[pl.Expr, bool]:
    """One sort key that puts the rows of a query in rank order, and whether it descends; it fits
    any dtype.
    """
    rule, doc = setup.policies.tie_rule, columns_of(setup)
    named = doc & (cs.enum() | cs.categorical())
    ids = (
        [(doc - cs.nested()).cast(pl.String)]
        if rule.as_text
        else [(doc - named).as_expr(), named.cast(pl.String)]
    )
    retrieved, graded = score.is_not_null(), label.fill_null(-float("inf"))
    row = pl.int_range(pl.len()).alias("#row")  # a sort by a struct is not stable
    # a struct has one direction: that of the ids, which may be of any type
    falling = all(key.falling for key in rule.keys if key.of == "document")
    fields = [
        (retrieved if falling else ~retrieved).alias("#retrieved"),
        _turned(score, not falling).alias("#score"),
    ]
    for i, key in enumerate(rule.keys):
        values = [key.value(x) for x in ([graded] if key.of == "label" else ids)]
        if not falling:
            fields += [x.is_null().name.prefix(f"#null {i} ") for x in values]
        fields += [_turned(x, key.falling != falling).name.prefix(f"#key {i} ") for x in values]
    return pl.struct(*fields, -row if falling else row), falling


def _turned(x: pl.Expr, turned: bool) -> pl.Expr:
    """`x`, or if `turned` numbers that sort the other way round."""
    return x.rank("dense", descending=True) if turned else x
