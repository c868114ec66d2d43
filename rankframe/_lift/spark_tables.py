"""Columns of Spark tables and their types, as SQL and as Arrow, and work on buckets of their rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .._table.columns import fresh
from .engine import Work
from .spark_workers import Guarded, OnArrow

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame  # pyright: ignore[reportMissingImports]


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


def on_buckets(tables: Sequence[DataFrame], work: Work, key: Sequence[str] | None, buckets: int | None) -> DataFrame:
    """Run a function on every bucket of one table, or of two co-grouped tables.

    A worker returns an error message of ours in a column, and Spark raises it from there, without the worker's traceback.
    """
    from pyspark.sql.types import StringType, StructField, StructType  # pyright: ignore[reportMissingImports]

    df, kept, function = tables[0], work.kept, OnArrow(work)
    out = function(*(arrow_schema(table, table.columns).empty_table() for table in tables)).schema
    fields = [
        StructField(field.name, df.schema[kept[field.name]].dataType if field.name in kept else spark_type(field.type))
        for field in out
    ]
    fault = fresh("#fault", out.names)
    struct = StructType([*fields, StructField(fault, StringType())])
    new = [field for field in struct if field.name not in kept]
    given = seen(df, [f"CAST(NULL AS {field.dataType.simpleString()}) AS {quoted(field.name)}" for field in new])
    wide = df.sparkSession.conf.get("spark.sql.execution.arrow.useLargeVarTypes", "false") == "true"
    types = {field.name: large(field.type) if wide else field.type for field in given}
    guarded = Guarded(function, [table.columns for table in tables], types, fault)
    if key is None:
        result = numbered(df).mapInArrow(lambda batches: guarded.on_batches(batches), struct)
    else:
        bucket = f"pmod(xxhash64({', '.join(map(quoted, key))}), {buckets}L) AS bucket" if key else "0L AS bucket"
        groups = [numbered(table, bucket).groupBy("bucket") for table in tables]
        if len(groups) == 1:
            result = groups[0].applyInArrow(lambda table: guarded(table), struct)
        else:
            result = groups[0].cogroup(groups[1]).applyInArrow(lambda table, qrels: guarded(table, qrels), struct)
    at = quoted(fault)
    return result.where(f"CASE WHEN {at} IS NULL THEN true ELSE raise_error({at}) END").drop(fault)
