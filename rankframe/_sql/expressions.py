"""Expressions of Polars as trees of sqlglot, which writes them in each dialect."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import polars as pl
from sqlglot import exp

from .functions import CONSTANTS, FUNCTIONS, Arguments
from .trees import (
    ARITHMETIC,
    COMPARISONS,
    SAME,
    Kind,
    Sql,
    Tree,
    case,
    compared,
    derived,
    filled,
    flag,
    literal,
)
from .windows import WINDOWS, Window
from .words import NoSql

Node: TypeAlias = Any
"""A node of an expression, as Polars writes it in JSON."""

CONNECTORS = {"And": exp.and_, "LogicalAnd": exp.and_, "Or": exp.or_, "LogicalOr": exp.or_}


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
        kind, content = parts_of(node)
        if kind == "Column":
            return self.column(content)
        if is_constant(node):
            return literal(value_of(node))
        if kind == "AnonymousFunction":
            raise NoSql("it calls a function of Python")
        if kind not in NODES:
            raise NoSql(f"Polars' node {kind!r} is not known")
        return NODES[kind](self, content, window)


# --------------------------------------------------------------------------------------------------
# nodes


def _alias(reader: Reader, node: Node, window: Window | None) -> Sql:
    return reader.node(node[0], window)


def _cast(reader: Reader, node: Node, window: Window | None) -> Sql:
    x = reader.node(node["expr"], window)
    dtype = str(node["dtype"].get("Literal"))
    if dtype in ("Float64", "Float32"):
        return x.as_float
    if dtype == "Boolean":
        return x if x.kind == "truth" else derived(x.tree.neq(0), x, kind="truth")
    is_whole = dtype.startswith(("Int", "UInt"))
    if x.kind == "text" or not is_whole:
        raise NoSql(f"it casts to {dtype}")
    return _cut(x.number)


def _cut(x: Sql) -> Sql:
    """The whole number towards zero."""
    down = exp.Floor(this=x.tree)
    if x.low >= 0:
        return replace(x, tree=down)
    up = exp.Ceil(this=x.tree)
    return replace(x, tree=case((x.tree < 0, up), otherwise=down))


def _binary(reader: Reader, node: Node, window: Window | None) -> Sql:
    operator = node["op"]
    x = reader.node(node["left"], window)
    y = reader.node(node["right"], window)
    if operator in CONNECTORS:
        connect = CONNECTORS[operator]
        return derived(connect(x.truth, y.truth), x, y, kind="truth")
    if operator in COMPARISONS or operator in SAME:
        return compared(operator, x, y)
    if operator not in ARITHMETIC:
        raise NoSql(f"Polars' operator {operator!r} is not known")
    return ARITHMETIC[operator](x.number, y.number)


def _ternary(reader: Reader, node: Node, window: Window | None) -> Sql:
    if node["predicate"] == _is_no_nan(node["truthy"]):
        return _nan_filled(reader, node, window)
    choices = [*_choices(node)]
    conditions = [reader.node(choice["predicate"], window) for choice in choices]
    values = [reader.node(choice["truthy"], window) for choice in choices]
    values.append(reader.node(choices[-1]["falsy"], window))
    tests = [x.truth for x in conditions]
    kinds: set[Kind] = {x.kind for x in values if x.tree != exp.null()}
    kind: Kind = kinds.pop() if len(kinds) == 1 else "number"
    if kind != "text":
        values = [x.number for x in values]
    tree = _chosen(tests, [x.tree for x in values])
    nan = None
    if any(x.nan is not None for x in values):
        flags = [flag(x.nan) for x in values]
        nan = _chosen(tests, flags).eq(1)
    has_window = any(x.window for x in (*conditions, *values))
    if kind == "truth":
        return derived(tree.eq(1), *values, kind="truth", window=has_window)
    low = min((x.low for x in values if x.tree != exp.null()), default=0.0)
    return derived(tree, *values, kind=kind, low=low, nan=nan, window=has_window)


def _choices(node: Node) -> Iterator[Node]:
    """The choices of a chain of when and then, from the first on."""
    kind = "Ternary"
    while kind == "Ternary":
        yield node
        kind, node = parts_of(node["falsy"])


def _chosen(tests: Sequence[Tree], trees: Sequence[Tree]) -> Tree:
    """The tree of the first test that holds; the last tree if none does."""
    *branches, otherwise = trees
    return case(*zip(tests, branches, strict=True), otherwise=otherwise)


def _is_no_nan(x: Node) -> Node:
    """The condition by which `fill_nan` keeps a value."""
    is_not_nan, is_null = (
        {"Function": {"input": [x], "function": {"Boolean": name}}}
        for name in ("IsNotNan", "IsNull")
    )
    return {"BinaryExpr": {"left": is_not_nan, "op": "Or", "right": is_null}}


def _nan_filled(reader: Reader, node: Node, window: Window | None) -> Sql:
    """The value of `fill_nan`."""
    x = reader.node(node["truthy"], window)
    other = reader.node(node["falsy"], window)
    if x.nan is None:
        return x
    tree = x.tree
    if other.tree != exp.null():
        # A null that is no NaN stays, so that the condition has to tell the two.
        tree = case((x.nan, other.tree), otherwise=tree) if x.null else filled(tree, other.tree)
    low = min(x.low, other.low)
    return replace(x, tree=tree, nan=None, null=x.null or other.null, low=low)


def _function(reader: Reader, node: Node, window: Window | None) -> Sql:
    name, options = _named(node["function"])
    inputs = node["input"]
    if name in WINDOWS:
        return _of_rows(reader, name, options, inputs, window)
    if name == "StructExpr":
        raise NoSql("it packs its values into a structure")
    if name not in FUNCTIONS:
        raise NoSql(f"Polars' function {name!r} is not known")
    constants = CONSTANTS.get(name, ())
    values: list[Any] = []
    for i, x in enumerate(inputs):
        is_plain = i in constants
        values.append(value_of(x) if is_plain else reader.node(x, window))
    return FUNCTIONS[name](Arguments(values, options, reader.underflows))


def _over(reader: Reader, node: Node, _: Window | None) -> Sql:
    keys = node["partition_by"]
    if not all("Column" in key for key in keys):
        raise NoSql("it groups by an expression")
    groups: list[Tree] = []
    for key in keys:
        groups += reader.partition(key["Column"])
    order = reader.order() if node["order_by"] else None
    return reader.node(node["function"], Window(groups, order))


def _aggregate(reader: Reader, node: Node, window: Window | None) -> Sql:
    name, content = parts_of(node)
    x = content.get("input", content)
    return _of_rows(reader, f"Agg{name}", {}, [x], window)


def _of_rows(
    reader: Reader, name: str, options: Node, inputs: Sequence[Node], window: Window | None
) -> Sql:
    """A function that looks at several rows."""
    if window is None:
        raise NoSql("it looks at the rows of all queries")
    if name not in WINDOWS:
        raise NoSql(f"Polars' {name} is not known")
    if isinstance(options, dict) and options.get("reverse"):
        raise NoSql(f"Polars' {name} is not known up the rows")
    x = reader.node(inputs[0], window)
    if x.window:
        x = reader.lifted(x)
    constants = [value_of(constant) for constant in inputs[1:]]
    given = Arguments([x.number, *constants], options)
    value = WINDOWS[name](window, given)
    return replace(value, window=True)


NODES: Mapping[str, Callable[[Reader, Node, Window | None], Sql]] = {
    "Agg": _aggregate,
    "Alias": _alias,
    "BinaryExpr": _binary,
    "Cast": _cast,
    "Function": _function,
    "Over": _over,
    "Ternary": _ternary,
}
"""The nodes of expressions, by their names in Polars."""

# --------------------------------------------------------------------------------------------------
# what nodes are made of

PARTS: Mapping[str, tuple[Any, ...]] = {
    "Alias": (0,),
    "BinaryExpr": ("left", "right"),
    "Cast": ("expr",),
    "Ternary": ("predicate", "truthy", "falsy"),
}
"""The places of the nodes that a node of each kind is made of."""


def tree_of(x: pl.Expr) -> Node:
    """The expression as Polars writes it."""
    return json.loads(x.meta.serialize(format="json"))


def parts_of(node: Node) -> tuple[str, Any]:
    """The kind of a node, and what it is made of."""
    if not isinstance(node, dict):
        return str(node), None
    return next(iter(node.items()))


def is_constant(node: Node) -> bool:
    """Whether a node is made of literals alone."""
    kind, content = parts_of(node)
    if kind == "Literal":
        return True
    if kind == "Function":
        return all(is_constant(x) for x in content["input"])
    places = PARTS.get(kind, ())
    return bool(places) and all(is_constant(content[place]) for place in places)


def value_of(node: Node) -> Any:
    """The value of a node that is made of literals."""
    if not is_constant(node):
        raise NoSql("an option of a function is no constant")
    plain = node.get("Literal")
    if plain == {"Dyn": {"Float": None}}:
        # JSON has no infinity; NaN stands in no formula.
        return math.inf
    if isinstance(plain, dict) and "Dyn" in plain:
        return next(iter(plain["Dyn"].values()))
    text = io.StringIO(json.dumps(node))
    expression = pl.Expr.deserialize(text, format="json")
    values = pl.select(expression).to_series()
    if len(values) != 1:
        raise NoSql(f"it looks up one of {len(values):,} numbers")
    value = values.item()
    return value.to_list() if isinstance(value, pl.Series) else value


def _named(function: Node) -> tuple[str, Node]:
    """The name of a function, and its options."""
    if not isinstance(function, dict):
        return function, {}
    name, options = parts_of(function)
    if name == "Pow":
        return f"Pow{options}", {}
    if name in ("Boolean", "StringExpr", "ListExpr"):
        return _named(options)
    return name, options
