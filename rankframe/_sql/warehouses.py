"""The dialects of SQL, a row each: what differs beyond the spelling that sqlglot knows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sqlglot import exp

from .trees import Tree, as_double, is_null, there
from .words import Dialect


def _same(x: Tree) -> Tree:
    return x


def _called(name: str) -> Callable[[Tree], Tree]:
    return lambda x: exp.Anonymous(this=name, expressions=[x])


def _collated(name: str, *, quoted: bool = False) -> Callable[[Tree], Tree]:
    collation = exp.to_identifier(name, quoted=quoted)
    return lambda x: exp.Collate(this=x, expression=collation.copy())


def _of_bytes(x: Tree) -> Tree:
    """A text of any character set, as its bytes in UTF-8.

    Collations of texts take no heed of blanks at the end.
    """
    binary = exp.DataType.build("BINARY", dialect="mysql")
    return exp.cast(_of_utf8(x), binary)


def _of_utf8(x: Tree) -> Tree:
    text = exp.DataType.build("CHAR CHARACTER SET utf8mb4", dialect="mysql")
    return exp.cast(x, text)


def _thrown(message: Tree) -> Tree:
    """ClickHouse takes a constant message alone: one call for each branch of the choice."""
    calls = []
    for branch in message.args["ifs"]:
        arguments = [branch.this, branch.args["true"]]
        calls.append(exp.Anonymous(this="throwIf", expressions=arguments))
    return exp.Greatest(this=calls[0], expressions=calls[1:])


def _of_text(x: Tree) -> Tree:
    return exp.func("TYPEOF", x).isin("text", "blob")


def _of_no_number(x: Tree) -> Tree:
    """A text that arithmetic would read up to its first letter, or as 0."""
    number = exp.Literal.string("^[-+]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][-+]?[0-9]+)?$")
    return exp.Anonymous(this="REGEXP_INSTR", expressions=[x, number]).eq(0)


def _of_null(x: Tree) -> Tree:
    """A text of which a cast makes null."""
    is_lost = is_null(as_double(x.copy()))
    return exp.and_(there(x), is_lost)


def _is_text_nan(x: Tree) -> Tree:
    """NaN is equal to itself in these dialects."""
    nan = as_double(exp.Literal.string("NaN"))
    return exp.EQ(this=x, expression=nan)


def _is_nan(x: Tree) -> Tree:
    return exp.Is(this=x, expression=exp.Var(this="NAN"))


@dataclass(frozen=True)
class Warehouse:
    """What is particular in a dialect.

    Attributes
    ----------
    bytewise
        Has an id of text compared by its bytes; the id itself where it is.
    shown
        Turns such an id into text again; the id itself where it is text.
    fails
        An expression that fails with a text, as its cast to a number, whose error quotes it; None
        where a query cannot fail.
    nan
        Whether a number is NaN; None where a number cannot be NaN.
    float32
        The type of floats of 32 bits; None where there is none.
    no_number
        Whether a value is text of which a cast makes a number, or null, without a word; None where
        it fails.
    qualified
        Whether columns need the name of their table: otherwise ClickHouse takes one for an alias of
        the same SELECT, and SQLite takes a name in quotes that no column has for a text.
    text
        The type of a text that can be sorted.
    underflows
        Whether a number too small for a float is an error.
    longest
        The most letters of a column's name; a longer one may be cut without a word.
    one_window
        Whether a step has windows of one partition and order alone: MariaDB sorts once for several,
        and gives wrong values.
    upper
        Whether names without quotes are in upper case, which names in quotes have to follow.
    """

    bytewise: Callable[[Tree], Tree] = _same
    shown: Callable[[Tree], Tree] = _same
    fails: Callable[[Tree], Tree] | None = None
    nan: Callable[[Tree], Tree] | None = None
    float32: str | None = None
    no_number: Callable[[Tree], Tree] | None = None
    qualified: bool = False
    text: str = "text"
    underflows: bool = False
    longest: int = 127
    one_window: bool = False
    upper: bool = False


WAREHOUSES: dict[Dialect, Warehouse] = {
    "bigquery": Warehouse(fails=_called("ERROR"), nan=_called("IS_NAN")),
    "clickhouse": Warehouse(
        fails=_thrown, nan=_called("isNaN"), float32="float", no_number=_of_null, qualified=True
    ),
    "databricks": Warehouse(
        fails=_called("RAISE_ERROR"), nan=_called("ISNAN"), float32="float", no_number=_of_null
    ),
    "duckdb": Warehouse(fails=_called("ERROR"), nan=_called("ISNAN"), float32="float"),
    "mysql": Warehouse(
        bytewise=_of_bytes,
        shown=_of_utf8,
        float32="float",
        no_number=_of_no_number,
        longest=64,
        one_window=True,
    ),
    "oracle": Warehouse(
        bytewise=_collated("BINARY"),
        fails=as_double,
        nan=_is_nan,
        text="varchar2(4000)",
        upper=True,
    ),
    "postgres": Warehouse(
        bytewise=_collated("C", quoted=True),
        fails=as_double,
        nan=_is_text_nan,
        float32="float",
        underflows=True,
        longest=63,
    ),
    "redshift": Warehouse(fails=as_double, nan=_is_text_nan, float32="float", underflows=True),
    "snowflake": Warehouse(fails=as_double, nan=_is_text_nan, upper=True),
    "spark": Warehouse(
        fails=_called("RAISE_ERROR"), nan=_called("ISNAN"), float32="float", no_number=_of_null
    ),
    "sqlite": Warehouse(bytewise=_collated("BINARY"), no_number=_of_text, qualified=True),
    "trino": Warehouse(fails=_called("FAIL"), nan=_called("IS_NAN"), float32="float"),
    "tsql": Warehouse(
        bytewise=_collated("Latin1_General_100_BIN2"), fails=as_double, text="nvarchar(4000)"
    ),
}
"""The dialects by their names in sqlglot."""
