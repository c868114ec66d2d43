"""Expressions of Polars as trees of sqlglot, which writes them in each dialect."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, Literal, TypeAlias

import polars as pl
from sqlglot import exp

from .words import NoSql

Node: TypeAlias = Any
"""A node of an expression, as Polars writes it in JSON."""

Kind: TypeAlias = Literal["number", "truth", "text"]

HUGE = "1.7976931348623157e308"
"""The largest float, which stands for infinity: not all dialects can write that."""

SMALLEST_LOGARITHM = -700
"""The least exponent of e: below, a float is 0, which is an error in PostgreSQL."""


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
        Whether it is made of literals and whole numbers alone, which are no floats in most dialects.
    window
        Whether it contains a window.
    """

    tree: exp.Expression
    kind: Kind = "number"
    null: bool = True
    nan: exp.Expression | None = None
    low: float = -math.inf
    exact: bool = False
    window: bool = False

    @property
    def as_float(self) -> Sql:
        """The number, of a float's type."""
        number = numbered(self) if self.kind == "truth" else self
        if number.kind == "text" or not number.exact:
            return number
        return replace(number, tree=exp.cast(number.tree, "double"), exact=False)


def literal(value: object) -> Sql:
    """A constant."""
    if value is None:
        return Sql(exp.null(), exact=True)
    if isinstance(value, bool):
        return Sql(_is(value), "truth", null=False)
    if isinstance(value, str):
        return Sql(exp.Literal.string(value), "text", null=False)
    if not isinstance(value, (int, float)):
        raise NoSql(f"it holds {value!r}")
    number = float(value)
    if math.isnan(number):
        raise NoSql("it holds NaN")
    if math.isinf(number):
        text = HUGE
    else:
        text = str(int(number)) if number.is_integer() and abs(number) < 1e15 else repr(abs(number))
    text = text.removeprefix("-")
    tree: exp.Expression = exp.Literal.number(text)
    return Sql(exp.Neg(this=tree) if number < 0 else tree, null=False, low=number, exact=True)


def _is(value: bool) -> exp.Expression:
    """True or false, which not all dialects have as a value."""
    return exp.EQ(this=exp.Literal.number(1), expression=exp.Literal.number(int(value)))


def paren(tree: exp.Expression) -> exp.Expression:
    """The tree in parentheses, if an operator stands at its top."""
    return exp.Paren(this=tree) if isinstance(tree, (exp.Binary, exp.Neg, exp.Not, exp.Between)) else tree


def both(one: exp.Expression | None, other: exp.Expression | None) -> exp.Expression | None:
    """Either of two conditions; None for one that never holds."""
    if one is None or other is None:
        return one or other
    return one if one == other else exp.Or(this=paren(one), expression=paren(other))


def is_null(tree: exp.Expression) -> exp.Expression:
    """Whether a value is null."""
    return exp.Is(this=paren(tree), expression=exp.null())


def negated(tree: exp.Expression) -> exp.Expression:
    """The opposite of a condition."""
    if isinstance(tree, exp.Is) and isinstance(tree.expression, exp.Null):
        return exp.Is(this=tree.this, expression=exp.Not(this=exp.null()))
    return exp.Not(this=paren(tree))


def case(*branches: tuple[exp.Expression, exp.Expression], otherwise: exp.Expression | None) -> exp.Case:
    """CASE WHEN ... THEN ... ELSE ... END."""
    ifs = [exp.If(this=condition, true=value) for condition, value in branches]
    return exp.Case(ifs=ifs, default=otherwise)


def numbered(x: Sql) -> Sql:
    """1 for true, 0 for false, as a value that every dialect can keep."""
    one, zero = exp.Literal.number(1), exp.Literal.number(0)
    tree = (
        case((x.tree, one), (negated(x.tree), zero), otherwise=None) if x.null else case((x.tree, one), otherwise=zero)
    )
    return Sql(tree, null=x.null, low=0.0, exact=True, window=x.window)


def as_truth(x: Sql) -> exp.Expression:
    """The condition of a value."""
    if x.kind == "truth":
        return x.tree
    raise NoSql("a number stands where a condition is needed")


def _number(x: Sql) -> Sql:
    return numbered(x) if x.kind == "truth" else x


@dataclass(frozen=True)
class Reader:
    """Reads expressions of Polars.

    Attributes
    ----------
    column
        The value of a column.
    partition
        The columns in SQL of a column that names groups.
    order
        The keys that order the rows of a window.
    lifted
        Makes a column of an earlier step of a value, since a window cannot stand within another one.
    underflows
        Whether a power too small for a float is an error.
    """

    column: Callable[[str], Sql]
    partition: Callable[[str], Sequence[exp.Expression]]
    order: Callable[[], exp.Expression]
    lifted: Callable[[Sql], Sql]
    underflows: bool = False

    def read(self, x: pl.Expr) -> Sql:
        """The expression in SQL."""
        return self.node(tree_of(x))

    def node(self, node: Node, window: Window | None = None) -> Sql:
        """A node in SQL; `window` holds the rows that it looks at, if these are several."""
        if isinstance(node, dict) and len(node) == 1:
            ((kind, of),) = node.items()
            if kind == "Column":
                return self.column(of)
            if kind == "Over":
                return self._over(of)
            if is_constant(node):
                return literal(value_of(node))
            read = getattr(self, f"_{kind.lower()}", None)
            if read is not None:
                found: Sql = read(of, window)
                return found
        raise unknown(node)

    # ---------------------------------------------------------------------------------------------- row by row

    def _alias(self, of: Node, window: Window | None) -> Sql:
        return self.node(of[0], window)

    def _cast(self, of: Node, window: Window | None) -> Sql:
        x, dtype = self.node(of["expr"], window), of["dtype"].get("Literal")
        if dtype in ("Float64", "Float32"):
            return x.as_float
        if dtype == "Boolean":
            return (
                x if x.kind == "truth" else Sql(_compared("NEQ", x, literal(0)), "truth", null=x.null, window=x.window)
            )
        if isinstance(dtype, str) and dtype.startswith(("Int", "UInt")) and x.kind != "text":
            x = _number(x)
            down, up = exp.Floor(this=x.tree), exp.Ceil(this=x.tree)
            cut = down if x.low >= 0 else case((_compared("LT", x, literal(0)), up), otherwise=down)
            return x if x.exact else replace(x, tree=cut)
        raise NoSql(f"it casts to {dtype}")

    def _binaryexpr(self, of: Node, window: Window | None) -> Sql:
        op, x, y = of["op"], self.node(of["left"], window), self.node(of["right"], window)
        if op in COMPARISONS:
            return self._comparison(op, x, y)
        null, seen = x.null or y.null, x.window or y.window
        if op in ("And", "Or", "LogicalAnd", "LogicalOr"):
            both_of = exp.And if op.endswith("And") else exp.Or
            return Sql(both_of(this=paren(as_truth(x)), expression=paren(as_truth(y))), "truth", null=null, window=seen)
        x, y = _number(x), _number(y)
        nan, exact = both(x.nan, y.nan), x.exact and y.exact
        if op in ("TrueDivide", "Divide", "FloorDivide", "Modulus"):
            found = divided(x, y)
            if op in ("TrueDivide", "Divide"):
                return found
            whole = replace(found, tree=exp.Floor(this=found.tree))
            if op == "FloorDivide":
                return whole
            times = exp.Mul(this=paren(y.tree), expression=paren(whole.tree))
            return replace(whole, tree=exp.Sub(this=paren(x.tree), expression=paren(times)), low=-math.inf)
        if op not in ARITHMETIC:
            raise NoSql(f"Polars' operator {op!r} is not known")
        kind, bound = ARITHMETIC[op]
        return Sql(kind(this=paren(x.tree), expression=paren(y.tree)), null=null, nan=nan, low=bound(x.low, y.low),
                   exact=exact, window=seen)  # fmt: skip

    def _comparison(self, op: str, x: Sql, y: Sql) -> Sql:
        if x.nan is not None or y.nan is not None:
            raise NoSql("it compares a quotient whose divisor may be 0")
        x, y = (_number(x), _number(y)) if x.kind != y.kind else (x, y)
        if x.kind == "truth":
            x, y = numbered(x), numbered(y)
        seen, null = x.window or y.window, x.null or y.null
        if op not in ("EqValidity", "NotEqValidity"):
            return Sql(_compared(COMPARISONS[op], x, y), "truth", null=null, window=seen)
        same = _compared("EQ", x, y)
        if null:
            neither = exp.And(this=is_null(x.tree), expression=is_null(y.tree))
            same = exp.EQ(this=case((exp.Or(this=paren(same), expression=paren(neither)), exp.Literal.number(1)),
                                    otherwise=exp.Literal.number(0)), expression=exp.Literal.number(1))  # fmt: skip
        return Sql(same if op == "EqValidity" else negated(same), "truth", null=False, window=seen)

    def _ternary(self, of: Node, window: Window | None) -> Sql:
        if (filled := self._filled(of, window)) is not None:
            return filled
        branches, rest = [], {"Ternary": of}
        while isinstance(rest, dict) and "Ternary" in rest:
            part = rest["Ternary"]
            branches.append((self.node(part["predicate"], window), self.node(part["truthy"], window)))
            rest = part["falsy"]
        values = [x for _, x in branches] + [self.node(rest, window)]
        if any(x.kind != values[0].kind for x in values if x.tree != exp.null()):
            values = [_number(x) for x in values]
        kind = next((x.kind for x in values if x.tree != exp.null()), "number")
        conditions = [as_truth(c) for c, _ in branches]
        floats = kind == "number" and not all(x.exact for x in values)
        if kind == "truth":
            values = [numbered(x) for x in values]
        trees = [x.tree for x in values]
        tree: exp.Expression = case(*zip(conditions, trees[:-1], strict=True), otherwise=trees[-1])
        nan = None
        if any(x.nan is not None for x in values):
            flags = [_flag(x.nan) for x in values]
            nan = exp.EQ(this=case(*zip(conditions, flags[:-1], strict=True), otherwise=flags[-1]),
                         expression=exp.Literal.number(1))  # fmt: skip
        seen = any(x.window for pair in branches for x in pair) or values[-1].window
        null = any(x.null for x in values)
        if kind == "truth":
            return Sql(exp.EQ(this=tree, expression=exp.Literal.number(1)), "truth", null=null, window=seen)
        low = min(math.inf if x.tree == exp.null() else x.low for x in values)
        return Sql(tree, kind, null=null, nan=nan, low=low, exact=not floats, window=seen)

    def _filled(self, of: Node, window: Window | None) -> Sql | None:
        """The value of `fill_nan`; None for another choice."""
        x = {"Function": {"input": [of["truthy"]], "function": {"Boolean": "IsNotNan"}}}
        y = {"Function": {"input": [of["truthy"]], "function": {"Boolean": "IsNull"}}}
        if of["predicate"] != {"BinaryExpr": {"left": x, "op": "Or", "right": y}}:
            return None
        found, other = self.node(of["truthy"], window), self.node(of["falsy"], window)
        if found.nan is None:
            return found
        if found.null:
            tree: exp.Expression = case((found.nan, other.tree), otherwise=found.tree)
        else:
            tree = exp.Coalesce(this=found.tree, expressions=[other.tree])
        if other.tree == exp.null():
            tree = found.tree
        return replace(found, tree=tree, nan=None, null=found.null or other.null, low=min(found.low, other.low))

    def _function(self, of: Node, window: Window | None) -> Sql:
        name, options = _named(of["function"])
        if name in WINDOWS:
            return self._window(name, options, of["input"], window)
        read = FUNCTIONS.get(name)
        if read is None:
            raise NoSql(f"Polars' function {name!r} is not known")
        if name == "Get":
            return read(self, [value_of(of["input"][0]), self.node(of["input"][1], window)], options)
        if name in ("IsIn", "ReplaceStrict"):
            constants = [value_of(x) if is_constant(x) else _not_constant(name) for x in of["input"][1:]]
            return read(self, [self.node(of["input"][0], window), *constants], options)
        return read(self, [self.node(x, window) for x in of["input"]], options)

    # ------------------------------------------------------------------------------------------------- windows

    def _over(self, of: Node) -> Sql:
        groups = [self.partition(key["Column"]) for key in of["partition_by"] if "Column" in key]
        if len(groups) != len(of["partition_by"]):
            raise NoSql("it groups by an expression")
        window = Window([x for some in groups for x in some], self.order() if of["order_by"] else None)
        return self.node(of["function"], window)

    def _agg(self, of: Node, window: Window | None) -> Sql:
        ((name, node),) = of.items()
        options, node = (node, node["input"]) if isinstance(node, dict) and "input" in node else ({}, node)
        return self._window(f"Agg{name}", options, [node], window)

    def _window(self, name: str, options: Node, inputs: Sequence[Node], window: Window | None) -> Sql:
        if window is None:
            raise NoSql("it looks at the rows of all queries")
        if isinstance(options, dict) and options.get("reverse"):
            raise NoSql(f"{name} goes up the rows")
        x = self.node(inputs[0], window)
        x = self.lifted(x) if x.window else x
        rest = [value_of(y) for y in inputs[1:]]
        found = WINDOWS[name](window, _number(x), options, rest)
        return replace(found, window=True)


@dataclass(frozen=True)
class Window:
    """The rows that a function looks at."""

    partition: Sequence[exp.Expression]
    order: exp.Expression | None

    def over(self, function: exp.Expression, frame: str = "", keys: Sequence[exp.Expression] = ()) -> exp.Expression:
        """The function over the rows, in an order if it has `keys` or a `frame`, which is ``"so far"`` or ``"all"``."""
        order = [*keys, *([exp.Ordered(this=self.order.copy())] if self.order is not None and (frame or keys) else [])]
        spec = None
        if frame:
            end = {"end": "CURRENT ROW"} if frame == "so far" else {"end": "UNBOUNDED", "end_side": "FOLLOWING"}
            spec = exp.WindowSpec(kind="ROWS", start="UNBOUNDED", start_side="PRECEDING", **end)
        return exp.Window(
            this=function,
            partition_by=[x.copy() for x in self.partition],
            order=exp.Order(expressions=order) if order else None,
            spec=spec if order else None,
        )

    def flagged(self, x: Sql, frame: str) -> exp.Expression | None:
        """Whether one of the rows is NaN."""
        if x.nan is None:
            return None
        return exp.EQ(this=self.over(exp.Max(this=_flag(x.nan)), frame), expression=exp.Literal.number(1))


def tree_of(x: pl.Expr) -> Node:
    """The expression as Polars writes it."""
    try:
        return json.loads(x.meta.serialize(format="json"))
    except (pl.exceptions.ComputeError, ValueError):
        raise NoSql("it calls a function of Python") from None


def unknown(node: Node) -> NoSql:
    """The error for a node that has no SQL."""
    name = next(iter(node)) if isinstance(node, dict) else node
    return NoSql(f"Polars' node {name!r} is not known")


def is_constant(node: Node) -> bool:
    """Whether a node is made of literals alone."""
    if isinstance(node, dict):
        ((kind, of),) = node.items() if len(node) == 1 else ((None, None),)
        if kind == "Literal":
            return True
        if kind in ("BinaryExpr", "Function", "Cast", "Alias", "Ternary"):
            parts = {"BinaryExpr": ("left", "right"), "Cast": ("expr",), "Ternary": ("predicate", "truthy", "falsy")}
            of_kind = parts.get(kind)
            children = (
                of["input"] if kind == "Function" else of[:1] if kind == "Alias" else [of[x] for x in of_kind or ()]
            )
            return bool(children) and all(map(is_constant, children))
    return False


def value_of(node: Node) -> Any:
    """The value of a node that is made of literals."""
    if not is_constant(node):
        raise NoSql("an option of a function is no constant")
    plain = node.get("Literal", {})
    if plain == {"Dyn": {"Float": None}}:
        return math.inf  # JSON has no infinity; NaN stands in no formula
    if isinstance(plain, dict) and "Dyn" in plain:
        return next(iter(plain["Dyn"].values()))
    found = pl.select(pl.Expr.deserialize(io.StringIO(json.dumps(node)), format="json")).to_series()
    if len(found) != 1:
        raise NoSql(f"it looks up one of {len(found):,} numbers")
    value = found.item()
    return value.to_list() if isinstance(value, pl.Series) else value


def _not_constant(name: str) -> Any:
    raise NoSql(f"{name} reads values that are no constants")


def _named(function: Node) -> tuple[str, Node]:
    """The name of a function, and its options."""
    while isinstance(function, dict):
        ((name, options),) = function.items()
        if name not in ("Boolean", "Pow", "StringExpr", "ListExpr"):
            return name, options
        function = options if isinstance(options, dict) else f"{name}{options}" if name == "Pow" else options
    return function, {}


def _flag(nan: exp.Expression | None) -> exp.Expression:
    """1 where a condition holds, else 0."""
    one, zero = exp.Literal.number(1), exp.Literal.number(0)
    return zero if nan is None else case((nan, one), otherwise=zero)


def _compared(name: str, x: Sql, y: Sql) -> exp.Expression:
    kind: type[exp.Binary] = getattr(exp, name)
    return kind(this=paren(x.tree), expression=paren(y.tree))


def divided(x: Sql, y: Sql) -> Sql:
    """X / y, null where y is 0 and Polars has NaN."""
    x = x.as_float if x.exact and y.exact else x
    sure = y.low > 0
    over = y.tree if sure else exp.Nullif(this=y.tree, expression=exp.Literal.number(0))
    tree = exp.Div(this=paren(x.tree), expression=paren(over), typed=True, safe=False)
    nan = both(x.nan, y.nan)
    if not sure:
        nan = both(nan, _compared("EQ", y, literal(0)))
    low = 0.0 if x.low >= 0 and y.low >= 0 else -math.inf
    return Sql(tree, null=x.null or y.null, nan=nan, low=low, window=x.window or y.window)


def _sum_low(x: float, y: float) -> float:
    return x + y


def _product_low(x: float, y: float) -> float:
    return (x * y if math.isfinite(x) and math.isfinite(y) else 0.0) if x >= 0 and y >= 0 else -math.inf


COMPARISONS = {"Eq": "EQ", "NotEq": "NEQ", "Lt": "LT", "LtEq": "LTE", "Gt": "GT", "GtEq": "GTE",
               "EqValidity": "", "NotEqValidity": ""}  # fmt: skip

ARITHMETIC: Mapping[str, tuple[type[exp.Binary], Callable[[float, float], float]]] = {
    "Plus": (exp.Add, _sum_low),
    "Minus": (exp.Sub, lambda x, y: -math.inf),
    "Multiply": (exp.Mul, _product_low),
}

# ------------------------------------------------------------------------------------------- functions, row by row

Arguments: TypeAlias = Sequence[Any]


def _made(
    kind: Callable[..., exp.Expression], low: Callable[[float], float]
) -> Callable[[Reader, Arguments, Node], Sql]:
    """A function of one number that is never null for a number."""

    def read(_: Reader, given: Arguments, __: Node) -> Sql:
        x = _number(given[0])
        return replace(x, tree=kind(this=x.tree), low=low(x.low))

    return read


def _log(_: Reader, given: Arguments, __: Node) -> Sql:
    x, base = (_number(y).as_float if i == 0 else _number(y) for i, y in enumerate(given))
    if not isinstance(base.tree, exp.Literal):
        raise NoSql("the base of a logarithm is no constant")
    by = math.log(float(base.tree.this))
    nan, tree = x.nan, x.tree
    if x.low <= 0:
        positive = _compared("GT", x, literal(0))
        tree, nan = case((positive, tree), otherwise=None), both(nan, negated(positive))
    tree = exp.Ln(this=tree)
    tree = tree if by == 1 else exp.Div(this=tree, expression=exp.Literal.number(repr(by)), typed=True, safe=False)
    return replace(x, tree=tree, nan=nan, low=math.log(x.low) / by if x.low > 0 and by > 0 else -math.inf)


def _power(reader: Reader, given: Arguments, _: Node) -> Sql:
    base, x = (_number(y).as_float if i == 0 else _number(y) for i, y in enumerate(given))
    low = base.low**x.low if base.low >= 1 and 0 <= x.low < 1000 else math.ulp(0) if base.low > 0 else -math.inf
    if x.tree == exp.Literal.number(2):
        return replace(base, tree=exp.Mul(this=paren(base.tree), expression=paren(base.tree.copy())), low=0.0)
    tree: exp.Expression = exp.Pow(this=base.tree, expression=x.tree)
    if reader.underflows and 0 < base.low < 1:
        most = math.floor(SMALLEST_LOGARITHM / math.log(base.low))
        tree = case((_compared("GT", x, literal(most)), exp.Literal.number(0)), otherwise=tree)
        low = min(low, 0.0)
    return Sql(tree, null=base.null or x.null, nan=both(base.nan, x.nan), low=low, window=base.window or x.window)


def _root(_: Reader, given: Arguments, __: Node) -> Sql:
    x = _number(given[0]).as_float
    return replace(x, tree=exp.Sqrt(this=x.tree), low=math.sqrt(x.low) if x.low > 0 else 0.0)


def _clip(_: Reader, given: Arguments, options: Node) -> Sql:
    x, *bounds = (_number(y) for y in given)
    low, high = options["has_min"], options["has_max"]
    found = x
    if low:
        found = _extreme([found, bounds[0]], "GT") if not found.null else _kept(found, bounds[0], "LT")
    if high:
        found = _extreme([found, bounds[-1]], "LT") if not found.null else _kept(found, bounds[-1], "GT")
    nan = x.nan
    at_least = max(x.low, bounds[0].low) if low else x.low
    return replace(found, null=x.null, nan=nan, low=min(at_least, bounds[-1].low) if high else at_least)


def _kept(x: Sql, bound: Sql, beyond: str) -> Sql:
    """`x`, or the bound where `x` is beyond it; null stays null."""
    return replace(
        x, tree=case((_compared(beyond, x, bound), bound.tree), otherwise=x.tree), exact=x.exact and bound.exact
    )


def _extreme(given: Sequence[Sql], better: str) -> Sql:
    """The least or the greatest, without nulls."""

    def choose(x: Sql, y: Sql) -> Sql:
        if HUGE in (str(x.tree), str(y.tree)):  # infinity
            x, y = (y, x) if str(x.tree) == HUGE else (x, y)
            return x if better == "LT" else y
        chosen = _compared(better, x, y)
        chosen = exp.Or(this=paren(is_null(y.tree)), expression=chosen) if y.null or y.nan is not None else chosen
        null = x.null and y.null
        low = min(x.low, y.low) if better == "LT" else max(x.low, y.low)
        nan = exp.And(this=paren(x.nan), expression=paren(y.nan)) if x.nan is not None and y.nan is not None else None
        return Sql(case((chosen, x.tree), otherwise=y.tree), null=null, nan=nan, low=low, exact=x.exact and y.exact,
                   window=x.window or y.window)  # fmt: skip

    numbers = sorted((_number(x) for x in given), key=lambda x: x.null or x.nan is not None)
    return reduce(choose, numbers)


def _coalesce(_: Reader, given: Arguments, __: Node) -> Sql:
    found = given[0]
    for other in given[1:]:
        if not found.null:
            break
        if found.kind != other.kind and exp.null() not in (found.tree, other.tree):
            found, other = _number(found), _number(other)
        if found.kind == "truth":
            x, y = numbered(found), numbered(other)
            tree: exp.Expression = exp.EQ(
                this=exp.Coalesce(this=x.tree, expressions=[y.tree]), expression=exp.Literal.number(1)
            )
        else:
            tree = exp.Coalesce(this=found.tree, expressions=[other.tree])
        if found.nan is not None:  # NaN is a value: it is not filled
            tree = case((found.nan, exp.null()), otherwise=tree)
        found = replace(found, tree=tree, null=other.null, low=min(found.low, other.low),
                        exact=found.exact and other.exact, window=found.window or other.window)  # fmt: skip
    return found


def _null(_: Reader, given: Arguments, __: Node) -> Sql:
    x = given[0]
    tree = is_null(x.tree) if x.null else _is(False)
    if x.null and x.nan is not None:
        tree = exp.And(this=tree, expression=negated(x.nan))
    return Sql(tree, "truth", null=False, window=x.window)


def _not(_: Reader, given: Arguments, __: Node) -> Sql:
    x = given[0]
    return replace(x, tree=negated(as_truth(x)))


def _between(reader: Reader, given: Arguments, options: Node) -> Sql:
    x, low, high = given
    closed = options["closed"]
    above = reader._comparison("GtEq" if closed in ("Left", "Both") else "Gt", x, low)
    below = reader._comparison("LtEq" if closed in ("Right", "Both") else "Lt", x, high)
    return replace(above, tree=exp.And(this=above.tree, expression=below.tree), null=above.null or below.null)


def _in(_: Reader, given: Arguments, __: Node) -> Sql:
    x, values = given
    if not values:
        return literal(False)
    return Sql(
        exp.In(this=paren(x.tree), expressions=[literal(y).tree for y in values]), "truth", null=x.null, window=x.window
    )


def _replaced(_: Reader, given: Arguments, __: Node) -> Sql:
    x, old, new, *default = given
    if not default:
        raise NoSql("replace_strict has no default")
    known = [(_compared("EQ", x, literal(was)), literal(now).tree) for was, now in zip(old, new, strict=True)]
    rest = literal(default[0])
    tree = case(*known, otherwise=rest.tree) if known else rest.tree
    low = min([rest.low, *new])
    return Sql(tree, null=rest.null, low=low, exact=True, window=x.window)


def _all(kind: type[exp.Connector]) -> Callable[[Reader, Arguments, Node], Sql]:
    def read(_: Reader, given: Arguments, __: Node) -> Sql:
        tree = reduce(lambda x, y: kind(this=paren(x), expression=paren(y)), map(as_truth, given))
        return Sql(tree, "truth", null=any(x.null for x in given), window=any(x.window for x in given))

    return read


def _horizontal_sum(_: Reader, given: Arguments, __: Node) -> Sql:
    filled = [_coalesce(_, [_number(x), literal(0)], {}) for x in given]
    tree = reduce(lambda x, y: exp.Add(this=x, expression=paren(y)), [paren(x.tree) for x in filled])
    return Sql(tree, null=False, nan=reduce(both, [x.nan for x in filled]), low=sum(x.low for x in filled),
               exact=all(x.exact for x in filled), window=any(x.window for x in filled))  # fmt: skip


def _negated(_: Reader, given: Arguments, __: Node) -> Sql:
    x = _number(given[0])
    return replace(x, tree=exp.Neg(this=paren(x.tree)), low=-math.inf)


def _sliced(_: Reader, given: Arguments, __: Node) -> Sql:
    text, start, length = given
    begin = exp.Add(this=paren(exp.cast(start.tree, "int")), expression=exp.Literal.number(1))
    return replace(text, tree=exp.Substring(this=text.tree, start=begin, length=length.tree), null=text.null or start.null,
                   window=start.window)  # fmt: skip


def _joined(_: Reader, given: Arguments, options: Node) -> Sql:
    if options["delimiter"] or not options["ignore_nulls"]:
        raise NoSql("it joins texts with a delimiter or with nulls")
    empty = exp.Literal.string("")
    parts = [exp.Coalesce(this=x.tree, expressions=[empty.copy()]) for x in given]
    tree = parts[0] if len(parts) == 1 else exp.Concat(expressions=parts, safe=False, coalesce=False)
    return Sql(tree, "text", null=False, window=any(x.window for x in given))


def _rounded(_: Reader, given: Arguments, options: Node) -> Sql:
    """A whole number; dialects round halves in different ways, so it is made of floors."""
    if options["decimals"] != 0 or options["mode"] not in ("HalfToEven", "HalfAwayFromZero"):
        raise NoSql(f"it rounds to {options['decimals']} decimals, by {options['mode']}")
    x = _number(given[0])
    if options["mode"] == "HalfAwayFromZero" and x.low < 0:
        raise NoSql("it rounds numbers that may be negative away from zero")
    down = exp.Floor(this=x.tree)
    rest, half = exp.Sub(this=paren(x.tree), expression=down), exp.Literal.number("0.5")
    up = exp.Add(this=down.copy(), expression=exp.Literal.number(1))
    two = exp.Literal.number("2.0")
    middle = exp.Paren(this=exp.Div(this=exp.Paren(this=up.copy()), expression=two, typed=True, safe=False))
    even = (
        up.copy()
        if options["mode"] == "HalfAwayFromZero"
        else exp.Mul(this=two.copy(), expression=exp.Floor(this=middle.this))
    )
    tree = case((exp.LT(this=rest, expression=half), down.copy()), (exp.GT(this=rest.copy(), expression=half.copy()), up),
                otherwise=even)  # fmt: skip
    tree = case((negated(is_null(x.tree)), tree), otherwise=None) if x.null or x.nan is not None else tree
    return replace(x, tree=tree, low=math.floor(x.low) if math.isfinite(x.low) else x.low)


MOST_LISTED = 200
"""The longest list of numbers that a statement spells out."""


def _listed(_: Reader, given: Arguments, __: Node) -> Sql:
    """The number of a list at a place, null beyond the end."""
    values, place = given
    if len(values) > MOST_LISTED:
        raise NoSql(f"it looks up one of {len(values):,} numbers")
    places = [(_compared("EQ", place, literal(i)), literal(value).tree) for i, value in enumerate(values)]
    return Sql(case(*places, otherwise=None), exact=True, low=min(values, default=0.0), window=place.window)


FUNCTIONS: Mapping[str, Callable[[Reader, Arguments, Node], Sql]] = {
    "Log": _log,
    "Exp": _made(exp.Exp, lambda low: 0.0),
    "PowGeneric": _power,
    "PowSqrt": _root,
    "Floor": _made(exp.Floor, lambda low: math.floor(low) if math.isfinite(low) else low),
    "Ceil": _made(exp.Ceil, lambda low: low),
    "Abs": _made(exp.Abs, lambda low: max(low, 0.0)),
    "Sign": _made(exp.Sign, lambda low: -1.0),
    "Round": _rounded,
    "Negate": _negated,
    "Clip": _clip,
    "FillNull": _coalesce,
    "Coalesce": _coalesce,
    "MinHorizontal": lambda _, given, __: _extreme(given, "LT"),
    "MaxHorizontal": lambda _, given, __: _extreme(given, "GT"),
    "SumHorizontal": _horizontal_sum,
    "IsNull": _null,
    "IsNotNull": lambda reader, given, options: _not(reader, [_null(reader, given, options)], options),
    "Not": _not,
    "IsBetween": _between,
    "IsIn": _in,
    "AllHorizontal": _all(exp.And),
    "AnyHorizontal": _all(exp.Or),
    "ReplaceStrict": _replaced,
    "Get": _listed,
    "Slice": _sliced,
    "ConcatHorizontal": _joined,
}
"""The functions that look at one row, by their names in Polars."""

# -------------------------------------------------------------------------------------------------- windows


def _total(frame: str) -> Callable[[Window, Sql, Node, Arguments], Sql]:
    def read(window: Window, x: Sql, _: Node, __: Arguments) -> Sql:
        tree = window.over(exp.Sum(this=x.as_float.tree), frame)
        if x.null or x.nan is not None:
            filled = exp.Coalesce(this=tree, expressions=[exp.Literal.number(0)])
            # a running sum is null on the row of a null
            tree = case((negated(is_null(x.tree)), tree), otherwise=None) if frame else filled
        return Sql(tree, null=bool(frame) and x.null, nan=window.flagged(x, frame), low=min(x.low, 0.0))

    return read


def _best(kind: type[exp.AggFunc], frame: str) -> Callable[[Window, Sql, Node, Arguments], Sql]:
    def read(window: Window, x: Sql, _: Node, __: Arguments) -> Sql:
        tree = window.over(kind(this=x.tree), frame)
        if frame and x.null:
            tree = case((negated(is_null(x.tree)), tree), otherwise=None)
        return replace(x, tree=tree, nan=None)

    return read


def _product(window: Window, x: Sql, _: Node, __: Arguments) -> Sql:
    """EXP(SUM(LN(x))), with zeros and signs counted apart."""
    one, zero = exp.Literal.number(1), exp.Literal.number(0)
    size = exp.Abs(this=x.tree) if x.low < 0 else x.tree
    logarithm = exp.Ln(this=case((_compared("NEQ", x, literal(0)), size), otherwise=None))
    summed = exp.Coalesce(this=window.over(exp.Sum(this=logarithm), "so far"), expressions=[zero.copy()])
    floor = literal(SMALLEST_LOGARITHM)
    bounded = case((exp.LT(this=summed, expression=floor.tree), floor.tree.copy()), otherwise=summed.copy())
    tree: exp.Expression = exp.Exp(this=bounded)
    if x.low < 0:
        negative = window.over(exp.Sum(this=case((_compared("LT", x, literal(0)), one), otherwise=zero)), "so far")
        half = exp.Div(this=paren(exp.Mul(this=negative, expression=one.copy())), expression=exp.Literal.number("2.0"),
                       typed=True, safe=False)  # fmt: skip
        odd = exp.NEQ(this=half, expression=exp.Floor(this=half.copy()))
        tree = case((odd, exp.Neg(this=tree)), otherwise=tree.copy())
    zeros = window.over(
        exp.Max(this=case((_compared("EQ", x, literal(0)), one.copy()), otherwise=zero.copy())), "so far"
    )
    tree = case((exp.EQ(this=zeros, expression=one.copy()), zero.copy()), otherwise=tree)
    if x.null:
        tree = case((negated(is_null(x.tree)), tree), otherwise=None)
    return Sql(tree, null=x.null, nan=window.flagged(x, "so far"), low=0.0 if x.low >= 0 else -math.inf)


def _shifted(window: Window, x: Sql, _: Node, rest: Arguments) -> Sql:
    """The value of a row above or below; `end` beyond the last, which not all dialects take as an argument of LAG."""
    step, *end = rest
    kind, by = exp.Lag if step > 0 else exp.Lead, exp.Literal.number(abs(int(step)))

    def moved(tree: exp.Expression, beyond: exp.Expression | None, *, null: bool) -> exp.Expression:
        # the cast lets the value be null in ClickHouse, where it would be 0 beyond the last row
        found = _ordered(window, kind(this=exp.cast(tree, "double"), offset=by.copy()))
        if beyond is None:
            return found
        if not null:
            return exp.Coalesce(this=found, expressions=[beyond])
        there = _ordered(window, kind(this=exp.cast(exp.Literal.number(1), "double"), offset=by.copy()))
        return case((is_null(there), beyond), otherwise=found)

    fill = literal(end[0]).as_float if end else None
    nan = None
    if x.nan is not None:
        nan = exp.EQ(this=moved(_flag(x.nan), exp.Literal.number(0), null=False), expression=exp.Literal.number(1))
    tree = moved(x.as_float.tree, None if fill is None else fill.tree, null=x.null or x.nan is not None)
    low = -math.inf if fill is None else min(x.low, fill.low)
    return Sql(tree, null=x.null or fill is None, nan=nan, low=low)


def _ordered(window: Window, function: exp.Expression) -> exp.Expression:
    """A function of rows in their order, which takes no frame."""
    order = exp.Order(expressions=[exp.Ordered(this=window.order.copy())]) if window.order is not None else None
    return exp.Window(this=function, partition_by=[x.copy() for x in window.partition], order=order)


def _ranked(window: Window, x: Sql, options: Node, _: Arguments) -> Sql:
    method, falling = options["options"]["method"], options["options"]["descending"]
    key = exp.Ordered(this=x.tree, desc=falling)
    nulls = (
        [exp.Ordered(this=case((is_null(x.tree), exp.Literal.number(1)), otherwise=exp.Literal.number(0)))]
        if x.null
        else []
    )
    if method == "Ordinal":
        tree = window.over(exp.RowNumber(), keys=[*nulls, key])
    elif method in ("Dense", "Min"):
        function = exp.Anonymous(this="DENSE_RANK" if method == "Dense" else "RANK")
        tree = replace(window, order=None).over(function, keys=[*nulls, key])
    else:
        raise NoSql(f"ranks of the kind {method!r} are not known")
    tree = case((negated(is_null(x.tree)), tree), otherwise=None) if x.null else tree
    return Sql(tree, null=x.null, low=1.0, exact=True)


def _at(kind: type[exp.Expression]) -> Callable[[Window, Sql, Node, Arguments], Sql]:
    def read(window: Window, x: Sql, _: Node, __: Arguments) -> Sql:
        nan = None
        if x.nan is not None:
            nan = exp.EQ(this=window.over(kind(this=_flag(x.nan)), "all"), expression=exp.Literal.number(1))
        return replace(x, tree=window.over(kind(this=x.tree), "all"), nan=nan)

    return read


def _mean(window: Window, x: Sql, _: Node, __: Arguments) -> Sql:
    return Sql(window.over(exp.Avg(this=x.as_float.tree)), nan=window.flagged(x, ""), low=x.low)


def _count(window: Window, x: Sql, _: Node, __: Arguments) -> Sql:
    frame = "so far" if window.order is not None else ""
    return Sql(window.over(exp.Count(this=x.tree), frame), null=False, low=0.0, exact=True)


WINDOWS: Mapping[str, Callable[[Window, Sql, Node, Arguments], Sql]] = {
    "CumSum": _total("so far"),
    "CumProd": _product,
    "CumMax": _best(exp.Max, "so far"),
    "CumMin": _best(exp.Min, "so far"),
    "CumCount": _count,
    "Shift": _shifted,
    "ShiftAndFill": _shifted,
    "Rank": _ranked,
    "AggSum": _total(""),
    "AggMax": _best(exp.Max, ""),
    "AggMin": _best(exp.Min, ""),
    "AggMean": _mean,
    "AggFirst": _at(exp.FirstValue),
    "AggLast": _at(exp.LastValue),
    "AggCount": lambda window, x, _, __: replace(_count(replace(window, order=None), x, _, __)),
}
"""The functions that look at several rows of a query, by their names in Polars."""
