"""Expressions of Polars as trees of sqlglot, which writes them in each dialect."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import Any, Literal, TypeAlias

import polars as pl
from sqlglot import exp

from .words import NoSql

Node: TypeAlias = Any
"""A node of an expression, as Polars writes it in JSON."""

Tree: TypeAlias = exp.Expr
Kind: TypeAlias = Literal["number", "truth", "text"]

HUGE = "1.7976931348623157e308"
"""The largest float, which stands for infinity: not all dialects can write that."""

SMALLEST_LOGARITHM = -700
"""The least exponent of e: below, a float is 0, which is an error in PostgreSQL."""

MOST_LISTED = 200
"""The longest list of numbers that a statement spells out."""

COMPARISONS = {
    "Eq": exp.EQ,
    "NotEq": exp.NEQ,
    "Lt": exp.LT,
    "LtEq": exp.LTE,
    "Gt": exp.GT,
    "GtEq": exp.GTE,
}
SAME = ("EqValidity", "NotEqValidity")
CONNECTORS = {"And": exp.and_, "LogicalAnd": exp.and_, "Or": exp.or_, "LogicalOr": exp.or_}


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
        false = [(exp.not_(self.tree), 0)] if self.null else []
        tree = case((self.tree, 1), *false, otherwise=None if self.null else 0)
        return replace(self, tree=tree, kind="number", low=0.0, exact=True)

    @property
    def as_float(self) -> Sql:
        """The number, of a float's type."""
        x = self.number
        return (
            replace(x, tree=exp.cast(x.tree, "double"), exact=False)
            if x.exact and x.kind == "number"
            else x
        )

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


def made(tree: Tree, *of: Sql, kind: Kind = "number", low: float = -math.inf, **others: Any) -> Sql:
    """A value made of others: null, NaN, exact and windowed as they are, if not given otherwise."""
    own = {
        "null": any(x.null for x in of),
        "nan": reduce(either, [x.nan for x in of], None),
        "exact": kind == "number" and all(x.exact for x in of),
        "window": any(x.window for x in of),
    }
    return Sql(tree, kind, low=low, **{**own, **others})


def literal(value: object) -> Sql:
    """A constant."""
    if value is None:
        return Sql(exp.null(), exact=True)
    if isinstance(value, bool):  # which not all dialects have as a value
        return Sql(exp.convert(1).eq(int(value)), "truth", null=False)
    if isinstance(value, str):
        return Sql(exp.Literal.string(value), "text", null=False)
    if not isinstance(value, (int, float)) or math.isnan(value):
        raise NoSql(f"it holds {value!r}")
    size = abs(float(value))
    text = (
        HUGE
        if math.isinf(size)
        else str(int(size))
        if size.is_integer() and size < 1e15
        else repr(size)
    )
    tree = exp.Literal.number(text)
    return Sql(exp.Neg(this=tree) if value < 0 else tree, null=False, low=float(value), exact=True)


def either(one: Tree | None, other: Tree | None) -> Tree | None:
    """Either of two conditions; None for one that never holds."""
    return (
        one or other
        if one is None or other is None
        else one
        if one == other
        else exp.or_(one, other)
    )


def is_null(tree: Tree) -> Tree:
    """Whether a value is null."""
    return tree.is_(exp.null())


def there(tree: Tree) -> Tree:
    """Whether a value is not null."""
    return exp.Is(this=is_null(tree).this, expression=exp.Not(this=exp.null()))


def case(*branches: tuple[Tree, object], otherwise: object) -> exp.Case:
    """CASE WHEN ... THEN ... ELSE ... END."""
    ifs = [
        exp.If(this=condition.copy(), true=exp.convert(value, copy=True))
        for condition, value in branches
    ]
    return exp.Case(
        ifs=ifs, default=None if otherwise is None else exp.convert(otherwise, copy=True)
    )


def flag(condition: Tree | None) -> Tree:
    """1 where a condition holds, else 0."""
    return exp.convert(0) if condition is None else case((condition, 1), otherwise=0)


def filled(tree: Tree, other: object) -> Tree:
    """The value, or another one for null."""
    return exp.Coalesce(this=tree.copy(), expressions=[exp.convert(other, copy=True)])


def operation(kind: type[exp.Binary], x: Tree, y: Tree) -> exp.Binary:
    """An operation, with operands in parentheses: sqlglot's own operators write a - (b - c) without
    them.
    """
    one, other = (
        exp.paren(z)
        if isinstance(z, (exp.Binary, exp.Unary)) and not isinstance(z, exp.Paren)
        else z.copy()
        for z in (x, y)
    )
    return kind(this=one, expression=other)


def quotient(x: Tree, y: Tree) -> Tree:
    """X / y, of floats."""
    found = operation(exp.Div, x, y)
    found.set("typed", True)
    return found


# --------------------------------------------------------------------------------------------------
# -- reading


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
        The key that orders the rows of a window.
    lifted
        Makes a column of an earlier step of a value, since a window cannot stand within another
        one.
    underflows
        Whether a power too small for a float is an error.
    """

    column: Callable[[str], Sql]
    partition: Callable[[str], Sequence[Tree]]
    order: Callable[[], Tree]
    lifted: Callable[[Sql], Sql]
    underflows: bool = False

    def read(self, x: pl.Expr) -> Sql:
        """The expression in SQL."""
        return self.node(tree_of(x))

    def node(self, node: Node, window: Window | None = None) -> Sql:
        """A node in SQL; `window` holds the rows that it looks at, if these are several."""
        kind, of = parts_of(node)
        if kind == "Column":
            return self.column(of)
        if is_constant(node):
            return literal(value_of(node))
        read = getattr(self, f"_{kind.lower()}", None)
        if read is None:
            python = kind == "AnonymousFunction"
            raise NoSql(
                "it calls a function of Python" if python else f"Polars' node {kind!r} is not known"
            )
        found: Sql = read(of, window)
        return found

    def _alias(self, of: Node, window: Window | None) -> Sql:
        return self.node(of[0], window)

    def _cast(self, of: Node, window: Window | None) -> Sql:
        x, dtype = self.node(of["expr"], window), str(of["dtype"].get("Literal"))
        if dtype in ("Float64", "Float32"):
            return x.as_float
        if dtype == "Boolean":
            return x if x.kind == "truth" else made(x.tree.neq(0), x, kind="truth")
        if not dtype.startswith(("Int", "UInt")) or x.kind == "text":
            raise NoSql(f"it casts to {dtype}")
        x = x.number
        down = exp.Floor(this=x.tree)
        cut = down if x.low >= 0 else case((x.tree < 0, exp.Ceil(this=x.tree)), otherwise=down)
        return replace(x, tree=cut)

    def _binaryexpr(self, of: Node, window: Window | None) -> Sql:
        op, x, y = of["op"], self.node(of["left"], window), self.node(of["right"], window)
        if op in CONNECTORS:
            return made(CONNECTORS[op](x.truth, y.truth), x, y, kind="truth")
        if op in COMPARISONS or op in SAME:
            return compared(op, x, y)
        x, y = x.number, y.number
        if op == "Plus":
            return made(operation(exp.Add, x.tree, y.tree), x, y, low=x.low + y.low)
        if op == "Minus":
            return made(operation(exp.Sub, x.tree, y.tree), x, y)
        if op == "Multiply":
            low = (
                x.low * y.low
                if min(x.low, y.low) >= 0 and math.isfinite(x.low * y.low)
                else -math.inf
            )
            return made(operation(exp.Mul, x.tree, y.tree), x, y, low=low)
        found = divided(x, y)
        if op in ("TrueDivide", "Divide"):
            return found
        whole = exp.Floor(this=found.tree)
        if op == "FloorDivide":
            return replace(found, tree=whole)
        if op == "Modulus":
            return replace(
                found,
                tree=operation(exp.Sub, x.tree, operation(exp.Mul, y.tree, whole)),
                low=-math.inf,
            )
        raise NoSql(f"Polars' operator {op!r} is not known")

    def _ternary(self, of: Node, window: Window | None) -> Sql:
        if (found := self._nan_filled(of, window)) is not None:
            return found
        conditions, values, rest = [], [], {"Ternary": of}
        while isinstance(rest, dict) and "Ternary" in rest:
            part = rest["Ternary"]
            conditions.append(self.node(part["predicate"], window))
            values.append(self.node(part["truthy"], window))
            rest = part["falsy"]
        values.append(self.node(rest, window))
        kinds = {x.kind for x in values if x.tree != exp.null()}
        kind = kinds.pop() if len(kinds) == 1 else "number"
        values = [x if kind == "text" else x.number for x in values]

        def chosen(trees: Sequence[Tree]) -> Tree:
            return case(
                *zip([x.truth for x in conditions], trees, strict=False), otherwise=trees[-1]
            )

        tree, nan = chosen([x.tree for x in values]), None
        if any(x.nan is not None for x in values):
            nan = chosen([flag(x.nan) for x in values]).eq(1)
        window_in = any(x.window for x in (*conditions, *values))
        if kind == "truth":
            return made(tree.eq(1), *values, kind="truth", window=window_in)
        low = min([x.low for x in values if x.tree != exp.null()], default=0.0)
        return made(tree, *values, kind=kind, low=low, nan=nan, window=window_in)

    def _nan_filled(self, of: Node, window: Window | None) -> Sql | None:
        """The value of `fill_nan`; None for another choice."""
        given = {"input": [of["truthy"]]}
        parts = [
            {"Function": {**given, "function": {"Boolean": name}}}
            for name in ("IsNotNan", "IsNull")
        ]
        if of["predicate"] != {"BinaryExpr": {"left": parts[0], "op": "Or", "right": parts[1]}}:
            return None
        x, other = self.node(of["truthy"], window), self.node(of["falsy"], window)
        if x.nan is None:
            return x
        tree = x.tree
        if other.tree != exp.null():
            tree = case((x.nan, other.tree), otherwise=tree) if x.null else filled(tree, other.tree)
        return replace(x, tree=tree, nan=None, null=x.null or other.null, low=min(x.low, other.low))

    def _function(self, of: Node, window: Window | None) -> Sql:
        name, options = _named(of["function"])
        if name in WINDOWS:
            return self._of_rows(name, options, of["input"], window)
        if name == "StructExpr":
            raise NoSql("it packs its values into a structure")
        if name not in FUNCTIONS:
            raise NoSql(f"Polars' function {name!r} is not known")
        constants = CONSTANTS.get(name, ())
        given = [
            value_of(x) if i in constants else self.node(x, window)
            for i, x in enumerate(of["input"])
        ]
        return FUNCTIONS[name](self, given, options)

    def _over(self, of: Node, _: Window | None) -> Sql:
        if not all("Column" in key for key in of["partition_by"]):
            raise NoSql("it groups by an expression")
        groups = [x for key in of["partition_by"] for x in self.partition(key["Column"])]
        return self.node(of["function"], Window(groups, self.order() if of["order_by"] else None))

    def _agg(self, of: Node, window: Window | None) -> Sql:
        name, node = next(iter(of.items()))
        return self._of_rows(f"Agg{name}", {}, [node.get("input", node)], window)

    def _of_rows(
        self, name: str, options: Node, inputs: Sequence[Node], window: Window | None
    ) -> Sql:
        """A function that looks at several rows."""
        if window is None:
            raise NoSql("it looks at the rows of all queries")
        if name not in WINDOWS or (isinstance(options, dict) and options.get("reverse")):
            raise NoSql(f"Polars' {name} is not known" + " up the rows" * (name in WINDOWS))
        x = self.node(inputs[0], window)
        found = WINDOWS[name](
            window,
            (self.lifted(x) if x.window else x).number,
            options,
            [*map(value_of, inputs[1:])],
        )
        return replace(found, window=True)


def tree_of(x: pl.Expr) -> Node:
    """The expression as Polars writes it."""
    return json.loads(x.meta.serialize(format="json"))


def parts_of(node: Node) -> tuple[str, Any]:
    """The kind of a node, and what it is made of."""
    return next(iter(node.items())) if isinstance(node, dict) else (str(node), None)


def is_constant(node: Node) -> bool:
    """Whether a node is made of literals alone."""
    kind, of = parts_of(node)
    if kind == "Function":
        return all(map(is_constant, of["input"]))
    parts = {
        "BinaryExpr": ("left", "right"),
        "Cast": ("expr",),
        "Ternary": ("predicate", "truthy", "falsy"),
        "Alias": (0,),
    }
    return kind == "Literal" or (
        kind in parts and all(is_constant(of[part]) for part in parts[kind])
    )


def value_of(node: Node) -> Any:
    """The value of a node that is made of literals."""
    if not is_constant(node):
        raise NoSql("an option of a function is no constant")
    plain = node.get("Literal")
    if plain == {"Dyn": {"Float": None}}:
        return math.inf  # JSON has no infinity; NaN stands in no formula
    if isinstance(plain, dict) and "Dyn" in plain:
        return next(iter(plain["Dyn"].values()))
    found = pl.select(pl.Expr.deserialize(io.StringIO(json.dumps(node)), format="json")).to_series()
    if len(found) != 1:
        raise NoSql(f"it looks up one of {len(found):,} numbers")
    value = found.item()
    return value.to_list() if isinstance(value, pl.Series) else value


def _named(function: Node) -> tuple[str, Node]:
    """The name of a function, and its options."""
    if not isinstance(function, dict):
        return function, {}
    name, options = next(iter(function.items()))
    if name == "Pow":
        return f"Pow{options}", {}
    return _named(options) if name in ("Boolean", "StringExpr", "ListExpr") else (name, options)


def compared(op: str, x: Sql, y: Sql) -> Sql:
    """Whether two values compare so."""
    if x.nan is not None or y.nan is not None:
        raise NoSql("it compares a quotient whose divisor may be 0")
    if x.kind != "text" or y.kind != "text":
        x, y = x.number, y.number
    if op in COMPARISONS:
        return made(operation(COMPARISONS[op], x.tree, y.tree), x, y, kind="truth")
    same = x.tree.eq(y.tree)
    if x.null or y.null:
        same = case((exp.or_(same, exp.and_(is_null(x.tree), is_null(y.tree))), 1), otherwise=0).eq(
            1
        )
    return made(same if op == "EqValidity" else exp.not_(same), x, y, kind="truth", null=False)


def divided(x: Sql, y: Sql) -> Sql:
    """X / y, null where y is 0 and Polars has NaN."""
    x = x.as_float if y.exact else x
    over = y.tree if y.low > 0 else exp.Nullif(this=y.tree, expression=exp.convert(0))
    found = made(
        quotient(x.tree, over), x, y, low=0.0 if min(x.low, y.low) >= 0 else -math.inf, exact=False
    )
    return found if y.low > 0 else replace(found, nan=either(found.nan, y.tree.eq(0)))


# -------------------------------------------------------------------------------------------
# functions, row by row

Arguments: TypeAlias = Sequence[Any]
OfRow: TypeAlias = Callable[[Reader, Arguments, Node], Sql]
Numbers: TypeAlias = Sequence[Sql]


def _made_by(kind: Callable[..., Tree], low: Callable[[float], float]) -> OfRow:
    """A function of one number."""
    return lambda _, given, __: replace(
        given[0].number, tree=kind(this=given[0].number.tree), low=low(given[0].low)
    )


def _log(_: Reader, given: Arguments, __: Node) -> Sql:
    x: Sql = given[0].as_float
    base = math.log(given[1])
    nan, tree = x.nan, x.tree
    if x.low <= 0:
        tree, nan = case((tree > 0, tree), otherwise=None), either(nan, tree <= 0)
    tree = exp.Ln(this=tree)
    tree = tree if base == 1 else quotient(tree, literal(base).tree)
    return replace(
        x, tree=tree, nan=nan, low=math.log(x.low) / base if x.low > 0 and base > 0 else -math.inf
    )


def _power(reader: Reader, given: Arguments, _: Node) -> Sql:
    base: Sql = given[0].as_float
    x: Sql = given[1].number
    if x.tree == exp.convert(2):
        return replace(base, tree=operation(exp.Mul, base.tree, base.tree), low=0.0)
    low = (
        base.low**x.low
        if base.low >= 1 and 0 <= x.low < 1000
        else math.ulp(0)
        if base.low > 0
        else -math.inf
    )
    tree: Tree = exp.Pow(this=base.tree, expression=x.tree)
    if reader.underflows and 0 < base.low < 1:
        most = math.floor(SMALLEST_LOGARITHM / math.log(base.low))
        tree, low = case((x.tree > most, 0), otherwise=tree), 0.0
    return made(tree, base, x, low=low)


def _clip(_: Reader, given: Numbers, options: Node) -> Sql:
    found, *bounds = [y.number for y in given]
    low = found.low
    for has, bound, beyond in zip(
        ("has_min", "has_max"), (bounds[0], bounds[-1]), (exp.LT, exp.GT), strict=True
    ):
        if options[has]:  # null stays null
            tree = case(
                (operation(beyond, found.tree, bound.tree), bound.tree), otherwise=found.tree
            )
            low = max(low, bound.low) if beyond is exp.LT else min(low, bound.low)
            found = made(tree, found, bound, low=low)
    return found


def _extreme(better: type[exp.Binary]) -> OfRow:
    """The least or the greatest, without nulls."""

    def choose(x: Sql, y: Sql) -> Sql:
        if HUGE in (str(x.tree), str(y.tree)):  # infinity
            x, y = (y, x) if str(x.tree) == HUGE else (x, y)
            return x if better is exp.LT else y
        chosen: Tree = operation(better, x.tree, y.tree)
        chosen = exp.or_(is_null(y.tree), chosen) if y.may_be_null else chosen
        low = min(x.low, y.low) if better is exp.LT else max(x.low, y.low)
        nan = None if x.nan is None or y.nan is None else exp.and_(x.nan, y.nan)
        return made(
            case((chosen, x.tree), otherwise=y.tree), x, y, low=low, null=x.null and y.null, nan=nan
        )

    return lambda _, given, __: reduce(
        choose, sorted((x.number for x in given), key=lambda x: x.may_be_null)
    )


def _coalesce(_: Reader, given: Numbers, __: Node) -> Sql:
    found, *others = (x if x.kind == "text" else x.number for x in given)
    for other in others:
        if found.null:
            tree = filled(found.tree, other.tree)
            tree = (
                tree if found.nan is None else case((found.nan, exp.null()), otherwise=tree)
            )  # NaN is a value
            low = min(found.low, other.low)
            found = made(
                tree, found, other, kind=found.kind, low=low, null=other.null, nan=found.nan
            )
    if given[0].kind == "truth" and given[-1].kind == "truth":
        return made(found.tree.eq(1), found, kind="truth")
    return found


def _null(_: Reader, given: Arguments, __: Node) -> Sql:
    x = given[0]
    tree = is_null(x.tree) if x.null else literal(False).tree
    tree = exp.and_(tree, exp.not_(x.nan)) if x.null and x.nan is not None else tree
    return made(tree, x, kind="truth", null=False, nan=None)


def _not(_: Reader, given: Numbers, __: Node) -> Sql:
    x = given[0]
    plain = isinstance(x.truth, exp.Is) and isinstance(x.tree.expression, exp.Null)
    return replace(x, tree=there(x.tree.this) if plain else exp.not_(x.tree))


def _between(_: Reader, given: Arguments, options: Node) -> Sql:
    x, low, high = given
    closed = options["closed"]
    above = compared("GtEq" if closed in ("Left", "Both") else "Gt", x, low)
    below = compared("LtEq" if closed in ("Right", "Both") else "Lt", x, high)
    return made(exp.and_(above.tree, below.tree), above, below, kind="truth")


def _in(_: Reader, given: Arguments, __: Node) -> Sql:
    x, values = given
    found = x.tree.isin(*(literal(y).tree for y in values)) if values else literal(False).tree
    return made(found, x, kind="truth")


def _replaced(_: Reader, given: Arguments, __: Node) -> Sql:
    x, old, new, *default = given
    if not default:
        raise NoSql("replace_strict has no default")
    known = [
        (x.tree.eq(literal(was).tree), literal(now).tree) for was, now in zip(old, new, strict=True)
    ]
    rest = literal(default[0])
    tree = case(*known, otherwise=rest.tree) if known else rest.tree
    return made(tree, x, rest, null=rest.null, low=min([rest.low, *new]), exact=True)


def _connected(connect: Callable[..., Tree]) -> OfRow:
    return lambda _, given, __: made(connect(*(x.truth for x in given)), *given, kind="truth")


def _horizontal_sum(reader: Reader, given: Arguments, _: Node) -> Sql:
    parts = [_coalesce(reader, [x.number, literal(0)], {}) for x in given]
    return made(
        reduce(partial(operation, exp.Add), [x.tree for x in parts]),
        *parts,
        low=sum(x.low for x in parts),
    )


def _rounded(_: Reader, given: Arguments, options: Node) -> Sql:
    """A whole number; dialects round halves in different ways, so it is made of floors."""
    x: Sql = given[0].number
    mode = options["mode"]
    if options["decimals"] != 0 or (mode != "HalfToEven" and x.low < 0):
        raise NoSql(f"it rounds by {mode} to {options['decimals']} decimals")
    down, half = exp.Floor(this=x.tree), literal(0.5).tree
    rest, up = operation(exp.Sub, x.tree, down), operation(exp.Add, down, exp.convert(1))
    even = exp.Floor(this=operation(exp.Mul, up, half)) * 2 if mode == "HalfToEven" else up
    tree = case((rest < half, down), (rest > half, up), otherwise=even)
    tree = case((there(x.tree), tree), otherwise=None) if x.may_be_null else tree
    return replace(x, tree=tree, low=math.floor(x.low) if math.isfinite(x.low) else x.low)


def _listed(_: Reader, given: Arguments, __: Node) -> Sql:
    """The number of a list at a place, null beyond the end."""
    values, place = given
    if len(values) > MOST_LISTED:
        raise NoSql(f"it looks up one of {len(values):,} numbers")
    places = [(place.tree.eq(i), literal(value).tree) for i, value in enumerate(values)]
    return made(
        case(*places, otherwise=None), place, null=True, exact=True, low=min(values, default=0.0)
    )


def _sliced(_: Reader, given: Arguments, __: Node) -> Sql:
    text, start, length = given
    tree = exp.Substring(this=text.tree, start=exp.cast(start.tree, "int") + 1, length=length.tree)
    return made(tree, text, start, kind="text")


def _joined(_: Reader, given: Arguments, options: Node) -> Sql:
    if options["delimiter"] or not options["ignore_nulls"]:
        raise NoSql("it joins texts with a delimiter or with nulls")
    parts = [filled(x.tree, exp.Literal.string("")) for x in given]
    tree = (
        parts[0] if len(parts) == 1 else exp.Concat(expressions=parts, safe=False, coalesce=False)
    )
    return made(tree, *given, kind="text", null=False)


CONSTANTS = {"Log": (1,), "IsIn": (1,), "ReplaceStrict": (1, 2, 3), "Get": (0,)}
"""The arguments of functions that are values, not expressions, by their places."""

FUNCTIONS: Mapping[str, OfRow] = {
    "Log": _log, "PowGeneric": _power, "Round": _rounded, "Clip": _clip, "FillNull": _coalesce, "Coalesce": _coalesce,
    "Exp": _made_by(exp.Exp, lambda low: 0.0), "Sign": _made_by(exp.Sign, lambda low: -1.0),
    "PowSqrt": lambda _, given, __: _made_by(exp.Sqrt, lambda low: max(low, 0.0) ** 0.5)(_, [given[0].as_float], __),
    "Floor": _made_by(exp.Floor, lambda low: math.floor(low) if math.isfinite(low) else low),
    "Ceil": _made_by(exp.Ceil, lambda low: low), "Abs": _made_by(exp.Abs, lambda low: max(low, 0.0)),
    "Negate": _made_by(lambda this: exp.Neg(this=exp.paren(this)), lambda low: -math.inf),
    "MinHorizontal": _extreme(exp.LT), "MaxHorizontal": _extreme(exp.GT), "SumHorizontal": _horizontal_sum,
    "AllHorizontal": _connected(exp.and_), "AnyHorizontal": _connected(exp.or_), "Not": _not, "IsNull": _null,
    "IsNotNull": lambda _, given, __: _not(_, [_null(_, given, __)], __), "IsBetween": _between, "IsIn": _in,
    "ReplaceStrict": _replaced, "Get": _listed, "Slice": _sliced, "ConcatHorizontal": _joined,
}  # fmt: skip
"""The functions that look at one row, by their names in Polars."""

# --------------------------------------------------------------------------------------------------
# windows


@dataclass(frozen=True)
class Window:
    """The rows that a function looks at, and the key by which they stand."""

    partition: Sequence[Tree]
    order: Tree | None

    def over(
        self, function: Tree, frame: str = "", keys: Sequence[Tree] = (), *, ordered: bool = False
    ) -> Tree:
        """The function over the rows; in their order with `keys`, if `ordered`, or with the `frame`
        ``"so far"``.
        """
        own = (
            [exp.Ordered(this=self.order)]
            if self.order is not None and (frame or keys or ordered)
            else []
        )
        spec = None
        if frame and own:
            spec = exp.WindowSpec(
                kind="ROWS", start="UNBOUNDED", start_side="PRECEDING", end="CURRENT ROW"
            )
        order = exp.Order(expressions=[*keys, *own]) if keys or own else None
        return exp.Window(
            this=function, partition_by=list(self.partition), order=order, spec=spec
        ).copy()

    def nan(self, x: Sql, frame: str) -> Tree | None:
        """Whether one of the rows is NaN."""
        return None if x.nan is None else self.over(exp.Max(this=flag(x.nan)), frame).eq(1)


OfRows: TypeAlias = Callable[[Window, Sql, Node, Arguments], Sql]


def _where_there(tree: Tree, x: Sql, frame: str) -> Tree:
    """A running value is null on the row of a null, as in Polars."""
    return case((there(x.tree), tree), otherwise=None) if frame and x.may_be_null else tree


def _total(frame: str) -> OfRows:
    def read(window: Window, x: Sql, _: Node, __: Arguments) -> Sql:
        tree = window.over(exp.Sum(this=x.as_float.tree), frame)
        tree = filled(tree, 0) if x.may_be_null and not frame else _where_there(tree, x, frame)
        return Sql(tree, null=bool(frame) and x.null, nan=window.nan(x, frame), low=min(x.low, 0.0))

    return read


def _best(kind: type[exp.AggFunc], frame: str) -> OfRows:
    def read(window: Window, x: Sql, _: Node, __: Arguments) -> Sql:
        return replace(
            x, tree=_where_there(window.over(kind(this=x.tree), frame), x, frame), nan=None
        )

    return read


def _product(window: Window, x: Sql, _: Node, __: Arguments) -> Sql:
    """EXP(SUM(LN(x))), with zeros and signs counted apart."""
    so_far = partial(window.over, frame="so far")
    size = exp.Abs(this=x.tree) if x.low < 0 else x.tree
    summed = filled(
        so_far(exp.Sum(this=exp.Ln(this=case((x.tree.neq(0), size), otherwise=None)))), 0
    )
    least = literal(SMALLEST_LOGARITHM).tree
    tree: Tree = exp.Exp(this=case((summed < least, least), otherwise=summed))
    if x.low < 0:
        half = so_far(exp.Sum(this=flag(x.tree < 0))) * literal(0.5).tree
        tree = case((half.neq(exp.Floor(this=half)), exp.Neg(this=tree)), otherwise=tree)
    tree = case((so_far(exp.Max(this=flag(x.tree.eq(0)))).eq(1), 0), otherwise=tree)
    nan = window.nan(x, "so far")
    return Sql(
        _where_there(tree, x, "so far"), null=x.null, nan=nan, low=0.0 if x.low >= 0 else -math.inf
    )


def _shifted(window: Window, x: Sql, _: Node, rest: Arguments) -> Sql:
    """The value of a row above or below; `end` beyond the last, which not all dialects take as an
    argument of LAG.
    """
    step, end = rest[0], literal(rest[1]).as_float if len(rest) > 1 else None
    kind = exp.Lag if step > 0 else exp.Lead

    def moved(
        tree: Tree,
    ) -> Tree:  # the cast lets it be null in ClickHouse, where it would be 0 beyond the last row
        function = kind(this=exp.cast(tree, "double"), offset=exp.convert(abs(int(step))))
        return window.over(function, ordered=True)

    tree = moved(x.tree)
    if end is not None:
        beyond = is_null(moved(exp.convert(1)))
        tree = case((beyond, end.tree), otherwise=tree) if x.may_be_null else filled(tree, end.tree)
    nan = None if x.nan is None else filled(moved(flag(x.nan)), 0).eq(1)
    return Sql(
        tree,
        null=x.null or end is None,
        nan=nan,
        low=-math.inf if end is None else min(x.low, end.low),
    )


def _ranked(window: Window, x: Sql, options: Node, _: Arguments) -> Sql:
    method, falling = options["options"]["method"], options["options"]["descending"]
    keys = [exp.Ordered(this=flag(is_null(x.tree)))] if x.null else []
    keys.append(exp.Ordered(this=x.tree, desc=falling))
    functions = {
        "Ordinal": exp.RowNumber(),
        "Dense": exp.Anonymous(this="DENSE_RANK"),
        "Min": exp.Anonymous(this="RANK"),
    }
    if method not in functions:
        raise NoSql(f"ranks of the kind {method!r} are not known")
    rows = window if method == "Ordinal" else replace(window, order=None)
    return Sql(
        _where_there(rows.over(functions[method], keys=keys), x, "so far"),
        null=x.null,
        low=1.0,
        exact=True,
    )


def _at_end(*, last: bool) -> OfRows:
    """The first value; the last one is the first from below, as MariaDB gives LAST_VALUE of another
    partition.
    """

    def read(window: Window, x: Sql, _: Node, __: Arguments) -> Sql:
        keys = [exp.Ordered(this=window.order, desc=last)]

        def first(tree: Tree) -> Tree:
            return replace(window, order=None).over(exp.FirstValue(this=tree), keys=keys)

        return replace(
            x, tree=first(x.tree), nan=None if x.nan is None else first(flag(x.nan)).eq(1)
        )

    return read


def _count(frame: str) -> OfRows:
    return lambda window, x, _, __: Sql(
        window.over(exp.Count(this=x.tree), frame), null=False, low=0.0, exact=True
    )


def _mean(window: Window, x: Sql, _: Node, __: Arguments) -> Sql:
    return Sql(window.over(exp.Avg(this=x.as_float.tree)), nan=window.nan(x, ""), low=x.low)


WINDOWS: Mapping[str, OfRows] = {
    "CumSum": _total("so far"), "CumProd": _product, "CumCount": _count("so far"), "CumMax": _best(exp.Max, "so far"),
    "CumMin": _best(exp.Min, "so far"), "Shift": _shifted, "ShiftAndFill": _shifted, "Rank": _ranked,
    "AggSum": _total(""), "AggMax": _best(exp.Max, ""), "AggMin": _best(exp.Min, ""), "AggMean": _mean,
    "AggFirst": _at_end(last=False), "AggLast": _at_end(last=True), "AggCount": _count(""),
}  # fmt: skip
"""The functions that look at several rows of a query, by their names in Polars."""
