"""Functions of Polars that look at one row, in SQL."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import Any, TypeAlias

from sqlglot import exp

from .trees import (
    HUGE,
    Sql,
    Tree,
    added,
    case,
    compared,
    derived,
    either,
    filled,
    is_null,
    literal,
    operation,
    quotient,
    there,
)
from .words import NoSql

SMALLEST_LOGARITHM = -700
"""The least exponent of e: below, a float is 0, which is an error in PostgreSQL."""

MOST_LISTED = 200
"""The longest list of numbers that a statement spells out."""


@dataclass(frozen=True)
class Arguments:
    """What a function is called with.

    Attributes
    ----------
    values
        Expressions in SQL; plain values at the places that `CONSTANTS` names.
    options
        The function's options, as Polars writes them.
    underflows
        Whether a power too small for a float is an error.
    """

    values: Sequence[Any]
    options: Any
    underflows: bool = False

    @property
    def first(self) -> Sql:
        """The first argument, as a number."""
        x: Sql = self.values[0]
        return x.number

    @property
    def numbers(self) -> list[Sql]:
        """All arguments, as numbers."""
        return [x.number for x in self.values]


OfRow: TypeAlias = Callable[[Arguments], Sql]


def _of_number(function: Callable[..., Tree], low: Callable[[float], float]) -> OfRow:
    """A function of one number; `low` has its lower bound from that of the number."""

    def read(given: Arguments) -> Sql:
        x = given.first
        return replace(x, tree=function(this=x.tree), low=low(x.low))

    return read


def _negative(this: Tree) -> Tree:
    return exp.Neg(this=exp.paren(this))


def _floor(low: float) -> float:
    return math.floor(low) if math.isfinite(low) else low


def _root(given: Arguments) -> Sql:
    x = given.first.as_float
    low = max(x.low, 0.0) ** 0.5
    return replace(x, tree=exp.Sqrt(this=x.tree), low=low)


def _log(given: Arguments) -> Sql:
    x = given.first.as_float
    base = math.log(given.values[1])
    tree = x.tree
    nan = x.nan
    if x.low <= 0:
        tree = case((x.tree > 0, x.tree), otherwise=None)
        nan = either(nan, x.tree <= 0)
    tree = exp.Ln(this=tree)
    if base != 1:
        tree = quotient(tree, literal(base).tree)
    low = -math.inf
    if x.low > 0 and base > 0:
        low = math.log(x.low) / base
    return replace(x, tree=tree, nan=nan, low=low)


def _power(given: Arguments) -> Sql:
    base = given.first.as_float
    exponent: Sql = given.values[1].number
    if exponent.tree == exp.convert(2):
        square = operation(exp.Mul, base.tree, base.tree)
        return replace(base, tree=square, low=0.0)
    low = _least_power(base.low, exponent.low)
    tree: Tree = exp.Pow(this=base.tree, expression=exponent.tree)
    if given.underflows and 0 < base.low < 1:
        most = math.floor(SMALLEST_LOGARITHM / math.log(base.low))
        tree = case((exponent.tree > most, 0), otherwise=tree)
        low = 0.0
    return derived(tree, base, exponent, low=low)


def _least_power(base: float, exponent: float) -> float:
    """A lower bound of powers, from those of the bases and of the exponents."""
    if base >= 1 and 0 <= exponent < 1000:
        return float(base**exponent)
    return math.ulp(0) if base > 0 else -math.inf


def _clip(given: Arguments) -> Sql:
    clipped, *bounds = given.numbers
    if given.options["has_min"]:
        clipped = _bounded(clipped, bounds[0], exp.LT)
    if given.options["has_max"]:
        clipped = _bounded(clipped, bounds[-1], exp.GT)
    return clipped


def _bounded(x: Sql, bound: Sql, beyond: type[exp.Binary]) -> Sql:
    """The value, or the bound where the value is beyond it; null stays null."""
    is_beyond = operation(beyond, x.tree, bound.tree)
    tree = case((is_beyond, bound.tree), otherwise=x.tree)
    tighter = max if beyond is exp.LT else min
    return derived(tree, x, bound, low=tighter(x.low, bound.low))


def _extreme(better: type[exp.Binary], given: Arguments) -> Sql:
    """The least or the greatest number, without nulls."""
    nulls_last = sorted(given.numbers, key=lambda x: x.may_be_null)
    return reduce(partial(_better_of, better), nulls_last)


def _better_of(better: type[exp.Binary], x: Sql, y: Sql) -> Sql:
    """The better of two numbers, or the one that is there."""
    for infinite, other in ((x, y), (y, x)):
        if str(infinite.tree) == HUGE:
            return other if better is exp.LT else infinite
    is_better: Tree = operation(better, x.tree, y.tree)
    if y.may_be_null:
        is_better = exp.or_(is_null(y.tree), is_better)
    tree = case((is_better, x.tree), otherwise=y.tree)
    extreme = min if better is exp.LT else max
    chosen = derived(tree, x, y, low=extreme(x.low, y.low))
    both_nan = None
    if x.nan is not None and y.nan is not None:
        both_nan = exp.and_(x.nan, y.nan)
    return replace(chosen, null=x.null and y.null, nan=both_nan)


def _coalesce(given: Arguments) -> Sql:
    return _first_there(given.values)


def _first_there(values: Sequence[Sql]) -> Sql:
    """The first of the values that is not null."""
    first, *others = (x if x.kind == "text" else x.number for x in values)
    for other in others:
        if first.null:
            first = _filled_by(first, other)
    if values[0].kind == "truth" and values[-1].kind == "truth":
        return derived(first.tree.eq(1), first, kind="truth")
    return first


def _filled_by(x: Sql, other: Sql) -> Sql:
    """The value, or another one for null; NaN is a value, and stays."""
    tree = filled(x.tree, other.tree)
    if x.nan is not None:
        tree = case((x.nan, exp.null()), otherwise=tree)
    low = min(x.low, other.low)
    value = derived(tree, x, other, kind=x.kind, low=low)
    return replace(value, null=other.null, nan=x.nan)


def _is_null(given: Arguments) -> Sql:
    x: Sql = given.values[0]
    test = is_null(x.tree) if x.null else literal(False).tree
    if x.null and x.nan is not None:
        test = exp.and_(test, exp.not_(x.nan))
    return derived(test, x, kind="truth", null=False, nan=None)


def _is_there(given: Arguments) -> Sql:
    return _negated(_is_null(given))


def _not(given: Arguments) -> Sql:
    return _negated(given.values[0])


def _negated(x: Sql) -> Sql:
    test = x.truth
    if isinstance(test, exp.Is) and isinstance(test.expression, exp.Null):
        return replace(x, tree=there(test.this))
    return replace(x, tree=exp.not_(test))


def _between(given: Arguments) -> Sql:
    x, low, high = given.values
    closed = given.options["closed"]
    above_low = "GtEq" if closed in ("Left", "Both") else "Gt"
    below_high = "LtEq" if closed in ("Right", "Both") else "Lt"
    above = compared(above_low, x, low)
    below = compared(below_high, x, high)
    test = exp.and_(above.tree, below.tree)
    return derived(test, above, below, kind="truth")


def _in(given: Arguments) -> Sql:
    x, values = given.values
    literals = [literal(value).tree for value in values]
    test = x.tree.isin(*literals) if literals else literal(False).tree
    return derived(test, x, kind="truth")


def _replaced(given: Arguments) -> Sql:
    x, old, new, *defaults = given.values
    if not defaults:
        raise NoSql("replace_strict has no default")
    branches = []
    for was, now in zip(old, new, strict=True):
        is_old = x.tree.eq(literal(was).tree)
        branches.append((is_old, literal(now).tree))
    default = literal(defaults[0])
    tree = case(*branches, otherwise=default.tree) if branches else default.tree
    low = min([default.low, *new])
    return derived(tree, x, default, null=default.null, low=low, exact=True)


def _connected(connect: Callable[..., Tree], given: Arguments) -> Sql:
    conditions = [x.truth for x in given.values]
    return derived(connect(*conditions), *given.values, kind="truth")


def _horizontal_sum(given: Arguments) -> Sql:
    zero = literal(0)
    parts = [_first_there([x, zero]) for x in given.numbers]
    return reduce(added, parts)


def _rounded(given: Arguments) -> Sql:
    """A whole number; dialects round halves in different ways, so it is made of floors."""
    x = given.first
    mode = given.options["mode"]
    decimals = given.options["decimals"]
    if decimals != 0 or (mode != "HalfToEven" and x.low < 0):
        raise NoSql(f"it rounds by {mode} to {decimals} decimals")
    half = literal(0.5).tree
    down = exp.Floor(this=x.tree)
    up = operation(exp.Add, down, exp.convert(1))
    rest = operation(exp.Sub, x.tree, down)
    of_half: Tree = up
    if mode == "HalfToEven":
        half_of_up = operation(exp.Mul, up, half)
        of_half = exp.Floor(this=half_of_up) * 2
    tree = case((rest < half, down), (rest > half, up), otherwise=of_half)
    if x.may_be_null:
        tree = case((there(x.tree), tree), otherwise=None)
    return replace(x, tree=tree, low=_floor(x.low))


def _listed(given: Arguments) -> Sql:
    """The number of a list at a place, null beyond the end."""
    values, place = given.values
    if len(values) > MOST_LISTED:
        raise NoSql(f"it looks up one of {len(values):,} numbers")
    branches = []
    for i, value in enumerate(values):
        is_here = place.tree.eq(i)
        branches.append((is_here, literal(value).tree))
    tree = case(*branches, otherwise=None)
    low = min(values, default=0.0)
    return derived(tree, place, null=True, exact=True, low=low)


def _sliced(given: Arguments) -> Sql:
    text, start, length = given.values
    from_1 = exp.cast(start.tree, "int") + 1
    tree = exp.Substring(this=text.tree, start=from_1, length=length.tree)
    return derived(tree, text, start, kind="text")


def _joined(given: Arguments) -> Sql:
    if given.options["delimiter"] or not given.options["ignore_nulls"]:
        raise NoSql("it joins texts with a delimiter or with nulls")
    empty = exp.Literal.string("")
    parts = [filled(x.tree, empty) for x in given.values]
    tree = parts[0]
    if len(parts) > 1:
        tree = exp.Concat(expressions=parts, safe=False, coalesce=False)
    return derived(tree, *given.values, kind="text", null=False)


CONSTANTS = {"Log": (1,), "IsIn": (1,), "ReplaceStrict": (1, 2, 3), "Get": (0,)}
"""The arguments of functions that are values, not expressions, by their places."""

FUNCTIONS: Mapping[str, OfRow] = {
    "Abs": _of_number(exp.Abs, lambda low: max(low, 0.0)),
    "AllHorizontal": partial(_connected, exp.and_),
    "AnyHorizontal": partial(_connected, exp.or_),
    "Ceil": _of_number(exp.Ceil, lambda low: low),
    "Clip": _clip,
    "Coalesce": _coalesce,
    "ConcatHorizontal": _joined,
    "Exp": _of_number(exp.Exp, lambda low: 0.0),
    "FillNull": _coalesce,
    "Floor": _of_number(exp.Floor, _floor),
    "Get": _listed,
    "IsBetween": _between,
    "IsIn": _in,
    "IsNotNull": _is_there,
    "IsNull": _is_null,
    "Log": _log,
    "MaxHorizontal": partial(_extreme, exp.GT),
    "MinHorizontal": partial(_extreme, exp.LT),
    "Negate": _of_number(_negative, lambda low: -math.inf),
    "Not": _not,
    "PowGeneric": _power,
    "PowSqrt": _root,
    "ReplaceStrict": _replaced,
    "Round": _rounded,
    "Sign": _of_number(exp.Sign, lambda low: -1.0),
    "Slice": _sliced,
    "SumHorizontal": _horizontal_sum,
}
"""The functions that look at one row, by their names in Polars."""
