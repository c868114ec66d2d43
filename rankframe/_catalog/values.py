"""Values as metrics: a number per query of no ranking, such as an answer's faithfulness."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Annotated, Any, TypeAlias

import polars as pl

from .._support.methods import called_by_users
from .._support.option_kinds import ANY_NUMBER, NONE, Alternative, Column, Kind
from .._support.option_values import number
from ..errors import InvalidOption, shown
from .call import Call, Expression, call_of
from .registry import Metric

_QUOTED = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
_TEXT = re.compile(
    rf"\s*value\s*:\s*(?P<column>{_QUOTED}|.*?)\s*(?:\((?P<options>\s*\w+\s*=.*)\))?\s*",
    re.DOTALL | re.IGNORECASE,
)


def _ends(given: Any) -> tuple[float | None, ...]:
    """Two bounds in rising order, None for no limit; TypeError or ValueError for anything else."""
    if isinstance(given, (str, bytes, Mapping)):
        raise TypeError
    ends = tuple(None if x is None else number(ANY_NUMBER, x) for x in given)
    least, greatest = ends
    if least is None or greatest is None or 0 < greatest - least < math.inf:
        return ends
    raise ValueError


TWO_ENDS = (
    "the least and the greatest value, as (0, 1), whose difference is finite, or None for no "
    "limit, as (0, None),"
)
Ends: TypeAlias = Annotated[
    Sequence[float | None] | None, Kind((Alternative(TWO_ENDS, _ends), NONE))
]
"""The bounds of a value."""


@called_by_users
def value(of: pl.Expr | Column, *, bounds: Ends = None, higher_is_better: bool = True) -> Call:
    """A column with one value per query as a metric, alone or together with metrics of rankings.

    ``evaluate``, ``mean``, ``summarize``, ``compare``, ``gate``, ``power``, ``compare_groups``,
    plots and reports take it. A table of values needs no document, score or label. These verbs also
    take a Polars expression as it is, such as ``pl.col("latency").max()``: it then has the bounds
    and the direction of the metric that its column is named after, as ``rf.expr.ndcg(k=10)`` is;
    else no bounds, and higher values are better.

    Parameters
    ----------
    of
        The column, with numbers or truth values; or a Polars expression with one value per query,
        as ``pl.col("faithfulness").mean()``. Where a row is a query, or an answer of a run to a
        query, a query (of a run) has one row. In a table of documents, with a column of documents
        or scores, all rows of a query that are not null have the same value. An expression that
        adds up the rows of a query takes any rows.
    bounds
        The least and the greatest value that a query can have, as ``(0, 1)``; ``None`` for no
        limit, as ``(0, None)``. Intervals of few queries, and gates, are valid for any distribution
        of values within two bounds.
    higher_is_better
        False if lower values are better, as of a latency.

    Returns
    -------
    A metric. Its text, which names it in results, and which verbs and the command line read, is
    ``value:faithfulness`` or ``value:toxicity(bounds=[0,1],higher_is_better=False)``; a name with
    spaces or signs is quoted, ``value:'latency (s)'``.

    Raises
    ------
    InvalidOption
        If the bounds are not two numbers in rising order, or an expression makes several columns.
        The verbs raise InvalidData if a query has several values, or one that is NaN, infinite or
        beyond the bounds.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> answers = pl.DataFrame({"question": [1, 2, 3], "faithfulness": [1.0, 0.5, None]})
    >>> faithful = rf.value("faithfulness", bounds=(0, 1))
    >>> answers.rank.on(query="question").mean(faithful).item()   # the third has none
    0.75
    >>> print(rf.value("latency", higher_is_better=False))
    value:latency(higher_is_better=False)
    """
    return call_of_value(of, {"bounds": bounds, "higher_is_better": higher_is_better})


def _higher_is_better(*, bounds: object = None, higher_is_better: bool = True) -> bool:
    return higher_is_better


_formula: Any = value  # of no ranking
VALUE = Metric(
    "value",
    _formula,
    bounds=(None, None),
    higher_is_better=_higher_is_better,
    over="rows",
    labels=False,
    display="",
)
"""What values have in common; `value` has their options."""


def call_of_value(of: pl.Expr | str, options: Mapping[str, object]) -> Call:
    """The value of a column, or of an expression."""
    column = of if isinstance(of, pl.Expr) else pl.col(of)
    if column.meta.output_name(raise_if_undetermined=False) is None:
        raise InvalidOption(f"{shown(of)} may make several columns; write an expression for each")
    given = {name: x for name, x in options.items() if x is not None}
    call = call_of(VALUE, (), given)
    return replace(call, column=Expression(column))


def call_of_expression(x: pl.Expr, like: Call | None = None) -> Call:
    """The value of an expression as it is, called like its column.

    It has the bounds and the direction of a metric that it is `like`.
    """
    metric = replace(VALUE, name="")
    if like is not None:
        metric = replace(metric, bounds=like.bounds, higher_is_better=like.higher_is_better)
    return replace(call_of_value(x, {}), metric=metric)


def column_in(text: str) -> tuple[str, str] | None:
    """The column and the options in ``value:faithfulness(bounds=[0,1])``; None in other texts."""
    match = _TEXT.fullmatch(text)
    if match is None:
        return None
    column = match["column"]
    if column[:1] in ("'", '"'):
        with suppress(SyntaxError, ValueError):
            column = str(ast.literal_eval(column))
    if not column:
        raise InvalidOption(f"{shown(text)} names no column; write 'value:faithfulness'")
    return column, match["options"] or ""
