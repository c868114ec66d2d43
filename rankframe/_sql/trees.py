"""Values in SQL: trees of sqlglot, with what is known of each value, and arithmetic of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, Literal, TypeAlias

from sqlglot import exp

from .words import NoSql

Tree: TypeAlias = exp.Expr
Kind: TypeAlias = Literal["number", "truth", "text"]

HUGE = "1.7976931348623157e308"
"""The largest float, which stands for infinity: not all dialects can write that."""

COMPARISONS = {
    "Eq": exp.EQ,
    "NotEq": exp.NEQ,
    "Lt": exp.LT,
    "LtEq": exp.LTE,
    "Gt": exp.GT,
    "GtEq": exp.GTE,
}
SAME = ("EqValidity", "NotEqValidity")


@dataclass(frozen=True)
class Sql:
    """An expression in SQL.

    Attributes
    ----------
    tree
        The expression.
    kind
        Whether it is a number, a truth value or text.
    null
        Whether it may be null for another reason than `nan`.
    nan
        A condition under which Polars has NaN, and `tree` is null; None for never.
    low
        A lower bound.
    exact
        Whether it is made of literals, whole numbers and columns of the caller's alone, which may
        be no floats.
    window
        Whether it contains a window.
    """

    tree: Tree
    kind: Kind = "number"
    null: bool = True
    nan: Tree | None = None
    low: float = -math.inf
    exact: bool = False
    window: bool = False

    @property
    def number(self) -> Sql:
        """The value as a number: 1 for true, 0 for false, which every dialect can keep."""
        if self.kind != "truth":
            return self
        tree = flag(self.tree)
        if self.null:
            is_false = exp.not_(self.tree)
            tree = case((self.tree, 1), (is_false, 0), otherwise=None)
        return replace(self, tree=tree, kind="number", low=0.0, exact=True)

    @property
    def as_float(self) -> Sql:
        """The number, of a float's type."""
        x = self.number
        if x.kind == "text" or not x.exact:
            return x
        tree = as_double(x.tree)
        return replace(x, tree=tree, exact=False)

    @property
    def truth(self) -> Tree:
        """The condition."""
        if self.kind != "truth":
            raise NoSql("a number stands where a condition is needed")
        return self.tree

    @property
    def may_be_null(self) -> bool:
        """Whether the tree may be null, for whatever reason."""
        return self.null or self.nan is not None


def derived(
    tree: Tree, *sources: Sql, kind: Kind = "number", low: float = -math.inf, **facts: Any
) -> Sql:
    """A value computed from others: null, NaN, exact and windowed as these are, but for `facts`."""
    null = any(x.null for x in sources)
    nan = reduce(either, [x.nan for x in sources], None)
    exact = kind == "number" and all(x.exact for x in sources)
    window = any(x.window for x in sources)
    value = Sql(tree, kind, null, nan, low, exact, window)
    return replace(value, **facts)


def literal(value: object) -> Sql:
    """A constant."""
    if value is None:
        return Sql(exp.null(), exact=True)
    if isinstance(value, bool):
        # Not all dialects have true and false as values.
        condition = exp.convert(1).eq(int(value))
        return Sql(condition, "truth", null=False)
    if isinstance(value, str):
        text = exp.Literal.string(value)
        return Sql(text, "text", null=False)
    if not isinstance(value, (int, float)) or math.isnan(value):
        raise NoSql(f"it holds {value!r}")
    number = float(value)
    tree: Tree = exp.Literal.number(_digits(abs(number)))
    if number < 0:
        tree = exp.Neg(this=tree)
    return Sql(tree, null=False, low=number, exact=True)


def _digits(size: float) -> str:
    if math.isinf(size):
        return HUGE
    if size.is_integer() and size < 1e15:
        return str(int(size))
    return repr(size)


def either(one: Tree | None, other: Tree | None) -> Tree | None:
    """Either of two conditions; None for one that never holds."""
    if one is None:
        return other
    if other is None or one == other:
        return one
    return exp.or_(one, other)


def column(name: str, step: str | None = None) -> Tree:
    """A column of an earlier step."""
    return exp.column(name, step)


def columns(names: Iterable[str]) -> list[Tree]:
    """Columns of an earlier step."""
    return [column(name) for name in names]


def as_double(x: Tree) -> Tree:
    """The value, of a float's type."""
    return exp.cast(x, "double")


def is_null(tree: Tree) -> Tree:
    """Whether a value is null."""
    return tree.is_(exp.null())


def there(tree: Tree) -> Tree:
    """Whether a value is not null."""
    not_null = exp.Not(this=exp.null())
    return exp.Is(this=is_null(tree).this, expression=not_null)


def case(*branches: tuple[Tree, object], otherwise: object) -> exp.Case:
    """CASE WHEN ... THEN ... ELSE ... END."""
    ifs = []
    for condition, value in branches:
        then = exp.convert(value, copy=True)
        ifs.append(exp.If(this=condition.copy(), true=then))
    default = None if otherwise is None else exp.convert(otherwise, copy=True)
    return exp.Case(ifs=ifs, default=default)


def flag(condition: Tree | None) -> Tree:
    """1 where a condition holds, else 0."""
    if condition is None:
        return exp.convert(0)
    return case((condition, 1), otherwise=0)


def filled(tree: Tree, other: object) -> Tree:
    """The value, or another one for null."""
    instead = exp.convert(other, copy=True)
    return exp.Coalesce(this=tree.copy(), expressions=[instead])


def operation(kind: type[exp.Binary], x: Tree, y: Tree) -> exp.Binary:
    """An operation of two trees, in parentheses where they are operations themselves.

    sqlglot's own operators write a - (b - c) without parentheses.
    """
    return kind(this=_operand(x), expression=_operand(y))


def _operand(x: Tree) -> Tree:
    is_operation = isinstance(x, (exp.Binary, exp.Unary)) and not isinstance(x, exp.Paren)
    return exp.paren(x) if is_operation else x.copy()


def quotient(x: Tree, y: Tree) -> Tree:
    """X / y, of floats."""
    division = operation(exp.Div, x, y)
    division.set("typed", True)
    return division


def compared(operator: str, x: Sql, y: Sql) -> Sql:
    """Whether two values compare so."""
    if x.nan is not None or y.nan is not None:
        raise NoSql("it compares a quotient whose divisor may be 0")
    if x.kind != "text" or y.kind != "text":
        x = x.number
        y = y.number
    if operator in COMPARISONS:
        test: Tree = operation(COMPARISONS[operator], x.tree, y.tree)
        return derived(test, x, y, kind="truth")
    test = x.tree.eq(y.tree)
    if x.null or y.null:
        both_null = exp.and_(is_null(x.tree), is_null(y.tree))
        is_same = exp.or_(test, both_null)
        test = flag(is_same).eq(1)
    if operator == "NotEqValidity":
        test = exp.not_(test)
    return derived(test, x, y, kind="truth", null=False)


def added(x: Sql, y: Sql) -> Sql:
    """X + y."""
    tree = operation(exp.Add, x.tree, y.tree)
    return derived(tree, x, y, low=x.low + y.low)


def _subtracted(x: Sql, y: Sql) -> Sql:
    return derived(operation(exp.Sub, x.tree, y.tree), x, y)


def _multiplied(x: Sql, y: Sql) -> Sql:
    low = -math.inf
    if min(x.low, y.low) >= 0 and math.isfinite(x.low * y.low):
        low = x.low * y.low
    tree = operation(exp.Mul, x.tree, y.tree)
    return derived(tree, x, y, low=low)


def _divided(x: Sql, y: Sql) -> Sql:
    """X / y, null where y is 0 and Polars has NaN."""
    x = x.as_float if y.exact else x
    never_zero = y.low > 0
    divisor = y.tree
    if not never_zero:
        divisor = exp.Nullif(this=y.tree, expression=exp.convert(0))
    tree = quotient(x.tree, divisor)
    low = 0.0 if min(x.low, y.low) >= 0 else -math.inf
    ratio = derived(tree, x, y, low=low, exact=False)
    if never_zero:
        return ratio
    nan = either(ratio.nan, y.tree.eq(0))
    return replace(ratio, nan=nan)


def _floor_divided(x: Sql, y: Sql) -> Sql:
    ratio = _divided(x, y)
    return replace(ratio, tree=exp.Floor(this=ratio.tree))


def _remainder(x: Sql, y: Sql) -> Sql:
    whole = _floor_divided(x, y)
    subtracted = operation(exp.Mul, y.tree, whole.tree)
    tree = operation(exp.Sub, x.tree, subtracted)
    return replace(whole, tree=tree, low=-math.inf)


ARITHMETIC: Mapping[str, Callable[[Sql, Sql], Sql]] = {
    "Plus": added,
    "Minus": _subtracted,
    "Multiply": _multiplied,
    "TrueDivide": _divided,
    "Divide": _divided,
    "FloorDivide": _floor_divided,
    "Modulus": _remainder,
}
"""The operations of two numbers, by their names in Polars."""
