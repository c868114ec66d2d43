"""Values that are not computed from a ranking: one per query, made of its rows, or refused."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NoReturn

import polars as pl

from .._catalog.call import Call
from .._table.roles import require, require_all, require_number
from .._table.setup import Setup
from ..errors import Code, InvalidData, InvalidOption, Text

ROUNDING = 1e-9
"""How far beyond its bounds a value may lie, since sums round."""


def values_of_rows(frame: pl.DataFrame, setup: Setup, calls: Sequence[Call]) -> pl.DataFrame:
    """A row per query with a Float64 column per call, in the order in which queries first appear.

    An expression that adds up rows gives a query's value. One with a value per row, such as a
    column, has to be one value: a query has one row, or, in a table of documents, the same value in
    all of its rows that are not null.
    """
    query = list(setup.roles.query)
    schema = frame.schema
    require_all(schema, [(name, "query") for name in query])
    of_documents = setup.roles.score in schema or setup.roles.doc_in(schema) is not None
    columns: dict[str, pl.Expr] = {}
    for call in calls:
        value, n = _value_and_number(frame, query, call, of_documents=of_documents)
        columns[call.text] = value.cast(pl.Float64)
        columns[f"#n {call.text}"] = n
    by_query = frame.lazy().group_by(query, maintain_order=True)
    values = by_query.agg(**columns).collect(engine="in-memory")
    for call in calls:
        _refuse(values, query, call, "values" if of_documents else "rows")
    return values.select(*query, *(call.text for call in calls))


def _value_and_number(
    frame: pl.DataFrame, query: list[str], call: Call, *, of_documents: bool
) -> tuple[pl.Expr, pl.Expr]:
    """The value of a call in each query, and the number of values, of which there may be one."""
    schema = frame.schema
    for name in call.columns:
        require(schema, name, "a value")
    value = call.expressions[0]
    n = pl.lit(1)
    output_name(value, frame)
    no_rows = pl.LazyFrame(schema=schema)
    dtype: Any = no_rows.group_by(query).agg(value.alias("#")).collect_schema()["#"]
    if isinstance(dtype, pl.List):  # a value per row
        if value.meta.is_column():
            require_number(schema, call.columns[0], "a value")
        dtype = dtype.inner
        there = value.drop_nulls()
        n = there.n_unique() if of_documents else value.len()
        value = there.first()
    if not (dtype.is_numeric() or dtype in (pl.Boolean, pl.Null)):
        raise InvalidData(
            f"{call.text} is {dtype}, not a number; write an expression that makes one of each "
            "query"
        )
    return value, n


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
        "each, as *(pl.col(name).mean() for name in names)"
    )


def _refuse(values: pl.DataFrame, query: Sequence[str], call: Call, what: str) -> None:
    """Refuse the first query with several values, or with one that is not a number within the
    bounds.
    """
    value = pl.col(call.text)
    n = pl.col(f"#n {call.text}")
    low, high = call.bounds
    is_wrong = (n > 1) | ~value.is_finite()
    if low is not None:
        is_wrong |= value < low - ROUNDING * max(1, abs(low))
    if high is not None:
        is_wrong |= value > high + ROUNDING * max(1, abs(high))
    for row in values.filter(is_wrong).head(1).iter_rows(named=True):
        whose = ", ".join(f"{name} {row[name]!r}" for name in query)
        n_values = row[f"#n {call.text}"]
        if n_values > 1:
            _refuse_several(call, f"{whose} has {n_values} {what} for {call.text}")
        given = row[call.text]
        if math.isfinite(given):
            amiss = ", which is beyond its bounds"
        else:
            amiss = "; write null for a query without a value"
        raise InvalidData(f"{whose} has {given:g} for {call.text}{amiss}")


def _refuse_several(call: Call, has: str) -> NoReturn:
    """Refuse several values of a query, and say how to make one of them."""
    advice: Text = ""
    if call.expressions[0].meta.is_column():
        advice = Code(f"pl.col({call.columns[0]!r}).mean()", phrase=", as {}")
    raise InvalidData(
        f"{has}; name the column that distinguishes them with the query or the run, or make one "
        "value of them by an expression",
        advice,
    )
