"""Spark tables: their columns and types, as SQL and as Arrow, and the functions that workers run on
buckets of rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import polars as pl

from .._table.columns import fresh
from ..errors import Advice, Code, RankframeError, worded
from .arrow_kernel import as_arrow
from .engine import Work
from .spark_python import refuse_workers_without_rankframe

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame  # pyright: ignore[reportMissingImports]


def quoted(name: str) -> str:
    """A column's name in SQL."""
    return "`" + name.replace("`", "``") + "`"


def only(df: DataFrame, names: Sequence[str]) -> DataFrame:
    return df.selectExpr(*map(quoted, names))


def numbered(df: DataFrame, *further: str) -> DataFrame:
    """Rename the columns to c0, c1 and so on.

    Spark's group functions would read dots in a name as fields.
    """
    names = [f"{quoted(name)} AS c{i}" for i, name in enumerate(df.columns)]
    return df.selectExpr(*names, *further)


def arrow_schema(df: DataFrame, read: Sequence[str]) -> pa.Schema:
    """The schema of a Spark table as workers see it.

    Columns that are not read have the null type.
    """
    import pyarrow as pa

    given = seen(df, [quoted(name) for name in dict.fromkeys(read)])
    known = {field.name: field for field in given}
    fields = [known.get(name, pa.field(name, pa.null())) for name in df.columns]
    return pa.schema(fields)


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
    """Strings with 64-bit offsets.

    A Connect session's schema does not show the setting of Spark that asks for them.
    """
    import pyarrow as pa

    return pa.large_string() if pa.types.is_string(x) else x


def on_buckets(
    tables: Sequence[DataFrame], work: Work, key: Sequence[str] | None, buckets: int | None
) -> DataFrame:
    """Run a function on every bucket of one table, or of two co-grouped tables.

    A worker returns an error message of ours in a column, and Spark raises it from there, without
    the worker's traceback.
    """
    from pyspark.sql.types import StringType, StructField, StructType  # pyright: ignore[reportMissingImports]

    refuse_workers_without_rankframe(tables[0].sparkSession)
    df = tables[0]
    names_in_table = work.kept
    function = OnArrow(work)
    empties = [arrow_schema(table, table.columns).empty_table() for table in tables]
    out = function(*empties).schema
    fields = []
    for x in out:
        of_spark = (
            df.schema[names_in_table[x.name]].dataType
            if x.name in names_in_table
            else spark_type(x.type)
        )
        fields.append(StructField(x.name, of_spark))
    fault = fresh("#fault", out.names)
    struct = StructType([*fields, StructField(fault, StringType())])
    types = _types_of_new(df, [field for field in struct if field.name not in names_in_table])
    guarded = Guarded(function, [table.columns for table in tables], types, fault)
    if key is None:
        result = numbered(df).mapInArrow(lambda batches: guarded.on_batches(batches), struct)
    else:
        hashed = f"pmod(xxhash64({', '.join(map(quoted, key))}), {buckets}L) AS bucket"
        bucket = hashed if key else "0L AS bucket"
        groups = [numbered(table, bucket).groupBy("bucket") for table in tables]
        if len(groups) == 1:
            result = groups[0].applyInArrow(lambda table: guarded(table), struct)
        else:
            both = groups[0].cogroup(groups[1])
            result = both.applyInArrow(lambda table, qrels: guarded(table, qrels), struct)
    at = quoted(fault)
    return result.where(f"CASE WHEN {at} IS NULL THEN true ELSE raise_error({at}) END").drop(fault)


def _types_of_new(df: DataFrame, new: Sequence[Any]) -> dict[str, pa.DataType]:
    """The Arrow types in which Spark expects the columns that are not of the table."""
    nulls = []
    for field in new:
        kind = field.dataType.simpleString()
        nulls.append(f"CAST(NULL AS {kind}) AS {quoted(field.name)}")
    given = seen(df, nulls)
    setting = "spark.sql.execution.arrow.useLargeVarTypes"
    is_wide = df.sparkSession.conf.get(setting, "false") == "true"
    return {field.name: large(field.type) if is_wide else field.type for field in given}


@dataclass(frozen=True)
class OnArrow:
    """Wrap a function of Polars frames for Arrow tables; columns keep their types."""

    work: Work

    def __call__(self, *tables: pa.Table) -> pa.Table:
        frames = [pl.DataFrame(table) for table in tables]
        result = self.work(*frames)
        given = tables[0].schema
        types = {}
        for name, at in self.work.kept.items():
            if name in result.columns:
                types[name] = given.field(at).type
        return as_arrow(result, types)


@dataclass(frozen=True)
class Guarded:
    """A function in a Spark worker that turns an error of ours into a row.

    The row has the message in a column of its own.

    Attributes
    ----------
    function
        The function.
    names
        The callers' names of each table's columns, which arrive as c0, c1 ...
    types
        The types of the new columns.
    fault
        The name of the message's column.
    """

    function: OnArrow
    names: list[list[str]]
    types: dict[str, pa.DataType]
    fault: str

    def on_batches(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Run the function on each batch of rows separately."""
        import pyarrow as pa

        for batch in batches:
            yield from self(pa.Table.from_batches([batch])).to_batches()

    def __call__(self, *tables: pa.Table) -> pa.Table:
        import pyarrow as pa

        parts = []
        for table, names in zip(tables, self.names, strict=True):
            parts.append(table.select(range(len(names))).rename_columns(names))
        message = None
        try:
            result = self.function(*parts)
        except RankframeError as error:
            message = worded(error.parts, _spelled)
            shape = self.function(*(part.schema.empty_table() for part in parts))
            result = pa.table({field.name: pa.nulls(1, field.type) for field in shape.schema})
        messages = pa.array([message] * result.num_rows, pa.string())
        result = result.append_column(self.fault, messages)
        fields = [(x.name, self.types.get(x.name, _in_utc(x.type))) for x in result.schema]
        return result.cast(pa.schema(fields))


def _spelled(advice: Advice | Code) -> str:
    """The spelling of advice for a Spark table.

    Options stand by their names, and there is no code for Polars or pandas.
    """
    if isinstance(advice, Code):
        return "" if advice.pandas is not None else str(advice)
    if advice.method == "on":
        advice = replace(advice, method="")
    return str(advice)


def _in_utc(x: pa.DataType) -> pa.DataType:
    """The type in which Spark expects a column back: timestamps in the session's time zone."""
    import pyarrow as pa

    if pa.types.is_timestamp(x) and x.tz is not None:
        return pa.timestamp(x.unit, "UTC")
    return x
