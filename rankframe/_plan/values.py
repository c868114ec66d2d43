"""Values that are not computed from a ranking: one per query, made of its rows, or refused."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import polars as pl

from .._catalog.call import Call
from .._table.roles import require, require_all, require_number
from .._table.setup import Setup
from ..errors import Code, InvalidData, InvalidOption

ROUNDING = 1e-9
"""How far beyond its bounds a value may lie, since sums round."""


def values_of_rows(frame: pl.DataFrame, setup: Setup, calls: Sequence[Call]) -> pl.DataFrame:
    """A row per query with a Float64 column per call, in the order in which queries first appear.

    An expression that adds up rows gives a query's value. One with a value per row, such as a
    column, has to be one value: a query has one row, or, in a table of documents, the same value in
    all of its rows that are not null.
    """
    query, schema = list(setup.roles.query), frame.schema
    require_all(schema, [(name, "query") for name in query])
    of_documents = setup.roles.score in schema or setup.roles.doc_in(schema) is not None
    found: dict[str, pl.Expr] = {}
    for call in calls:
        for name in call.columns:
            require(schema, name, "a value")
        x = call.expressions[0]
        output_name(x, frame)
        dtype: Any = (
            pl.LazyFrame(schema=schema).group_by(query).agg(x.alias("#")).collect_schema()["#"]
        )
        n = pl.lit(1)
        if isinstance(dtype, pl.List):  # a value per row
            if x.meta.is_column():
                require_number(schema, call.columns[0], "a value")
            dtype, there = dtype.inner, x.drop_nulls()
            n, x = there.n_unique() if of_documents else x.len(), there.first()
        if not (dtype.is_numeric() or dtype in (pl.Boolean, pl.Null)):
            raise InvalidData(
                f"{call.text} is {dtype}, not a number; write an expression that makes one of "
                "each query"
            )
        found |= {call.text: x.cast(pl.Float64), f"#n {call.text}": n}
    values = (
        frame.lazy().group_by(query, maintain_order=True).agg(**found).collect(engine="in-memory")
    )
    for call in calls:
        _refuse(values, query, call, "values" if of_documents else "rows")
    return values.select(*query, *(call.text for call in calls))


def output_name(x: pl.Expr, frame: pl.DataFrame) -> str:
    """The name of an expression's column; refuse one that makes several."""
    if not x.meta.has_multiple_outputs():
        return x.meta.output_name()
    try:
        outputs = frame.lazy().select(x).collect_schema().names()
    except pl.exceptions.DuplicateError:  # several with one alias
        outputs = [x.meta.output_name()] * 2
    if len(outputs) == 1:
        return outputs[0]
    raise InvalidOption(
        f"an expression makes several columns ({', '.join(outputs)}); write an expression for "
        "each, as "
        "*(pl.col(name).mean() for name in names)"
    )


def _refuse(values: pl.DataFrame, query: Sequence[str], call: Call, what: str) -> None:
    """Refuse the first query with several values, or with one that is not a number within the
    bounds.
    """
    value, n = pl.col(call.text), pl.col(f"#n {call.text}")
    low, high = (
        end if x is None else x for x, end in zip(call.bounds, (-math.inf, math.inf), strict=True)
    )
    beyond = (value < low - ROUNDING * max(1, abs(low))) | (
        value > high + ROUNDING * max(1, abs(high))
    )
    for row in values.filter((n > 1) | ~value.is_finite() | beyond).head(1).iter_rows(named=True):
        whose, given = ", ".join(f"{name} {row[name]!r}" for name in query), row[call.text]
        if row[f"#n {call.text}"] > 1:
            raise InvalidData(
                f"{whose} has {row[f'#n {call.text}']} {what} for {call.text}; name the "
                "column that distinguishes them with the "
                "query or the run, or make one value of them by an expression",
                Code(f"pl.col({call.columns[0]!r}).mean()", phrase=", as {}")
                if call.expressions[0].meta.is_column()
                else "",
            )
        amiss = (
            ", which is beyond its bounds"
            if math.isfinite(given)
            else "; write null for a query without a value"
        )
        raise InvalidData(f"{whose} has {given:g} for {call.text}{amiss}")
