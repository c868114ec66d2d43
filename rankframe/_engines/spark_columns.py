"""Columns of Spark tables and their types, as SQL and as Arrow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame  # pyright: ignore[reportMissingImports]

__all__ = ["arrow_schema", "large", "numbered", "only", "quoted", "seen", "spark_type"]


def quoted(name: str) -> str:
    """A column's name in SQL."""
    return "`" + name.replace("`", "``") + "`"


def only(df: DataFrame, names: Sequence[str]) -> DataFrame:
    return df.selectExpr(*map(quoted, names))


def numbered(df: DataFrame, *further: str) -> DataFrame:
    """Rename the columns to c0, c1 ...: Spark's group functions would read dots in a name as fields."""
    return df.selectExpr(*(f"{quoted(name)} AS c{i}" for i, name in enumerate(df.columns)), *further)


def arrow_schema(df: DataFrame, read: Sequence[str]) -> pa.Schema:
    """The schema of a Spark table as workers see it; columns that are not read have the null type."""
    import pyarrow as pa

    given = seen(df, [quoted(name) for name in dict.fromkeys(read)])
    return pa.schema([given.field(name) if name in read else pa.field(name, pa.null()) for name in df.columns])


def seen(df: DataFrame, expressions: Sequence[str]) -> pa.Schema:
    """The Arrow types that Spark gives its columns, read from a query of 0 rows."""
    return df.limit(0).selectExpr(*expressions).toArrow().schema


def spark_type(x: pa.DataType) -> Any:
    """The Spark type for an Arrow type; unsigned integers widen, because Spark has none."""
    import pyarrow as pa
    from pyspark.sql.pandas.types import from_arrow_type  # pyright: ignore[reportMissingImports]

    wider = {
        pa.uint8(): pa.int16(),
        pa.uint16(): pa.int32(),
        pa.uint32(): pa.int64(),
        pa.uint64(): pa.decimal128(20, 0),
    }
    return from_arrow_type(wider.get(x, x))


def large(x: pa.DataType) -> pa.DataType:
    """Strings with 64-bit offsets, for the Spark setting that a Connect session's schema does not show."""
    import pyarrow as pa

    return pa.large_string() if pa.types.is_string(x) else x
