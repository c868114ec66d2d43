"""Ranking metrics of Spark tables: whole queries go to Python workers as Arrow, a bucket at a time.

    import rankframe.spark
    metrics = df.transform(rankframe.spark.evaluate, "ndcg@10", "map")

Sessions may be classic or Connect. A result is a Spark table, computed when Spark is asked for it; to choose the number of
buckets, though, the rows are counted at once, unless ``buckets`` says it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import TYPE_CHECKING, Any

import polars as pl

from ._engines.arrow_kernel import ArrowKernel, bound, kernel_of, largest_label
from ._engines.mergeable_summary import Summary, summary_of
from ._engines.workers import Guarded, Judging, Merge, OnBucket, Partial, Values, refuse_row_order
from ._plan.per_query import refuse_names
from ._table.policies import check_word
from ._table.table import fresh
from ._verbs import verbs
from .errors import InvalidData, InvalidOption

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame  # pyright: ignore[reportMissingImports]

__all__ = ["evaluate", "summarize", "with_metrics"]

ROWS_PER_BUCKET = 100_000
"""How many rows a bucket has where nobody says how many buckets there are: few enough to spread, many enough to pay."""


def evaluate(
    df: DataFrame,
    *metrics: verbs.Request,
    qrels: DataFrame | None = None,
    judged_only: verbs.Missing = "keep",
    run_only: verbs.Missing = "drop",
    buckets: int | None = None,
    **options: Any,
) -> DataFrame:
    """Many metrics in one pass: one row per query.

    Parameters
    ----------
    df
        A table with a row per query and document.
    *metrics
        Texts, functions and Polars aggregations, as for ``df.rank.evaluate``.
    qrels
        The judgments, where they are a table of their own: query, document and label. `df` then is the run, and
        documents that were judged but not retrieved count, as with ``run.rank.judge(qrels)``.
    judged_only, run_only
        What becomes of queries that only one of the two tables has, as for ``run.rank.judge(qrels)``.
    buckets
        How many buckets the queries are hashed to; a bucket is in the memory of one Python worker. ``None`` counts the
        rows, and makes a bucket of every 100,000.
    **options
        Column names and policies, as for ``df.rank.on``. Rows of a Spark table have no order, so ``ties="order"`` is
        refused, and a table without a document column wants ``ties="best"``, ``"worst"``, ``"expected"`` or ``"error"``.

    Returns
    -------
    A Spark table: the query columns in their own types, then a double per metric. No order of rows is promised.

    Raises
    ------
    UnknownMetric, InvalidOption, MissingColumn, InvalidData
        At once, if a metric, an option, a column or its type is wrong. What only the rows show (a NaN score, a document
        that stands twice) fails the Spark job, with the library's message in Spark's ``SparkRuntimeException``.
    """
    kernel = kernel_of(bound(options, evaluate), metrics)
    source = _source(df, kernel, qrels, judged_only, run_only)
    kernel, buckets = _settled(source, kernel, buckets)
    return _on_buckets(source, Values(kernel, source.judging), buckets)


def with_metrics(df: DataFrame, *metrics: verbs.Request, buckets: int | None = None, **options: Any) -> DataFrame:
    """The rows of the table with the metrics of their query as further columns.

    Parameters
    ----------
    df, *metrics, buckets, **options
        As for :func:`evaluate`.

    Returns
    -------
    A Spark table with all columns of `df` in their own types, then a double per metric. No order of rows is promised.

    Raises
    ------
    UnknownMetric, InvalidOption, MissingColumn, InvalidData
        As :func:`evaluate` does.
    """
    query = bound(options, with_metrics).roles.query
    values = evaluate(df, *metrics, buckets=buckets, **options)
    new = [name for name in values.columns if name not in query]
    refuse_names(new, df.columns, "the table")
    keys = [fresh(f"#{name}", [*df.columns, *new]) for name in query]
    named = [f"{_quoted(name)} AS {_quoted(key)}" for name, key in zip(query, keys, strict=True)]
    values = values.selectExpr(*named, *map(_quoted, new))
    same = [df[_quoted(name)].eqNullSafe(values[_quoted(key)]) for name, key in zip(query, keys, strict=True)]
    return df.join(values, same, "left").drop(*keys)


def summarize(
    df: DataFrame,
    *metrics: verbs.Request,
    by: str | Sequence[str] | None = None,
    ci: float = 0.95,
    weights: str | None = None,
    resamples: int = 1000,
    seed: int = 0,
    qrels: DataFrame | None = None,
    judged_only: verbs.Missing = "keep",
    run_only: verbs.Missing = "drop",
    buckets: int | None = None,
    **options: Any,
) -> DataFrame:
    """The metrics summed up over the queries: one row per slice and metric.

    Every bucket gives the number of its values, their mean and their spread, which merge exactly; the values themselves
    stay where they are. The interval is that of a bootstrap over queries, which draws each query by a number made of its
    id and the seed: the same for any number of buckets.

    Parameters
    ----------
    df, *metrics, qrels, judged_only, run_only, buckets, **options
        As for :func:`evaluate`, but no expressions.
    by
        The column, or columns, of `df` whose values slice the queries; the same in all rows of a query.
    ci
        The confidence of the intervals.
    weights
        The column of `df` that holds the queries' weights, 0 or more, the same in all rows of a query; ``None`` weighs
        them alike. A query that only the judgments hold has none: say ``judged_only="drop"``.
    resamples
        How many times the bootstrap draws.
    seed
        A whole number from 0 on; another one gives another bootstrap.

    Returns
    -------
    A Spark table: the slice's columns, ``metric``, ``mean`` (of the metrics that trec_eval sums up that way, the geometric
    mean), ``std``, ``ci_low`` and ``ci_high`` (null for fewer than two queries), doubles, and ``n_queries`` (long), those
    whose value is not null.

    Raises
    ------
    UnknownMetric, InvalidOption, MissingColumn, InvalidData
        As :func:`evaluate` does; and, when Spark runs, if a query has several values of a slice or a weight, or
        a weight is no number from 0 on.
    """
    setup = bound(options, summarize)
    given = {"ci": ci, "resamples": resamples, "seed": seed, "weights": weights}
    summary = summary_of(setup, metrics, by, **given, missing_slices=qrels is not None)  # type: ignore[arg-type]
    source = _source(df, ArrowKernel(summary.calls, setup), qrels, judged_only, run_only, summary)
    kernel, buckets = _settled(source, ArrowKernel(summary.calls, setup), buckets)
    summary = replace(summary, largest_label=kernel.largest_label)
    parts = _on_buckets(source, Partial(summary, source.judging), buckets)
    return _merged(parts, summary)


@dataclass(frozen=True)
class _Source:
    """A Spark table, and its judgments where they are another one, down to the columns that count."""

    tables: tuple[DataFrame, ...]
    schemas: tuple[pa.Schema, ...]
    judging: Judging | None
    joined: pl.Schema
    query: tuple[str, ...]


def _source(
    df: DataFrame,
    kernel: ArrowKernel,
    qrels: DataFrame | None = None,
    judged_only: verbs.Missing = "keep",
    run_only: verbs.Missing = "drop",
    summary: Summary | None = None,
) -> _Source:
    """The tables of a call, checked as far as their columns go."""
    for table in (df, *([] if qrels is None else [qrels])):
        if not type(table).__module__.startswith("pyspark."):
            raise InvalidData(f"{type(table).__name__} is no Spark table; for other frames write rankframe.rank(frame)")
    check_word("judged_only", judged_only, verbs.Missing)
    check_word("run_only", run_only, verbs.Missing)
    setup, names = kernel.setup, [*df.columns]
    if summary is not None:
        summary.require(names)
    if kernel.largest_label is None:
        kernel = replace(kernel, largest_label=0.0)  # found out when the columns are in order
    also: Sequence[str] = [] if summary is None else summary.also
    read = list(dict.fromkeys([*kernel.needed(names), *also]))
    given = _arrow_schema(df, read)
    if qrels is None:
        kernel.schema(given)
        refuse_row_order(setup, kernel.calls, names, "Spark table")
        return _Source((_only(df, read),), (_part(given, read),), None, kernel.seen(given).schema, setup.roles.query)
    judging = Judging(setup, judged_only, run_only)
    read_there = kernel.needed(qrels.columns)
    judged = _arrow_schema(qrels, read_there)
    others = [name for name in qrels.columns if name in names and name not in read_there]
    joined = judging(kernel.seen(given), kernel.seen(judged).drop(others))
    kernel(joined.to_arrow())
    refuse_row_order(setup, kernel.calls, joined.columns, "Spark table")
    runs = [name for name in setup.roles.query if name not in qrels.columns]
    tables, schemas = [_only(df, read), _only(qrels, read_there)], [_part(given, read), _part(judged, read_there)]
    if runs:  # judgments hold for every run of the table, not for those of a bucket alone
        tables[1] = _only(df, runs).distinct().crossJoin(tables[1])
        schemas[1] = _part(given, runs)
        for field in _part(judged, read_there):
            schemas[1] = schemas[1].append(field)
    return _Source(tuple(tables), tuple(schemas), judging, joined.schema, setup.roles.query)


def _settled(source: _Source, kernel: ArrowKernel, buckets: int | None) -> tuple[ArrowKernel, int]:
    """The kernel with what has to be known of the whole table, and the number of buckets."""
    if buckets is not None and (isinstance(buckets, bool) or not isinstance(buckets, Integral) or buckets < 1):
        raise InvalidOption(f"buckets={buckets!r}: write a whole number from 1 on, or leave it out")
    asked = kernel.needs_largest_label(source.joined)
    ranked, shown = largest_label(kernel, source.joined) if asked else (kernel, False)
    shown = shown and (source.judging is None or source.judging.judged_only != "drop")
    label = f"CAST({_quoted(kernel.setup.roles.label)} AS DOUBLE)"
    top = f"max(CASE WHEN {label} > 0 AND {label} < double('infinity') THEN {label} END) AS top"
    count = [] if buckets is not None else ["count(1) AS n"]
    rows, largest = 0, 0.0
    for table in source.tables:
        figures = [*count, *([top] if shown and table is source.tables[-1] else [])]
        if figures:
            found = table.selectExpr(*figures).collect()[0].asDict()
            rows, largest = rows + found.get("n", 0), found.get("top") or 0.0
    buckets = math.ceil(max(rows, 1) / ROWS_PER_BUCKET) if buckets is None else int(buckets)
    if asked and not shown:  # some labels do not count, and which ones takes a ranking to know
        values = _on_buckets(source, Values(ranked, source.judging), buckets)
        largest = values.selectExpr("max(largest_label) AS top").collect()[0]["top"] or 0.0
    if asked:
        kernel = replace(kernel, largest_label=largest)
    return kernel, buckets


def _on_buckets(source: _Source, function: OnBucket, buckets: int) -> DataFrame:
    """What a function makes of every bucket of whole queries."""
    keys = ", ".join(map(_quoted, source.query))
    bucket = f"pmod(xxhash64({keys}), {buckets}L) AS bucket"
    groups = [_numbered(table, bucket).groupBy("bucket") for table in source.tables]
    names = [schema.names for schema in source.schemas]
    out = function(*(schema.empty_table() for schema in source.schemas)).schema
    return _apply(source.tables[0], groups, names, function, out)


def _merged(parts: DataFrame, summary: Summary) -> DataFrame:
    """The summary of a table, from those of its buckets."""
    names = parts.columns
    schema = _arrow_schema(parts, names)
    keys = [f"c{names.index(name)}" for name in (*summary.slices, "metric")]
    function = Merge(summary)
    return _apply(parts, [_numbered(parts).groupBy(*keys)], [names], function, function(schema.empty_table()).schema)


def _apply(df: DataFrame, groups: list[Any], names: list[list[str]], function: OnBucket, out: pa.Schema) -> DataFrame:
    """What a function makes of every group of one table, or of two.

    A message of ours comes out of a worker in a column, from which Spark raises it: without a traceback of the worker.
    """
    from pyspark.sql.types import StringType, StructField, StructType  # pyright: ignore[reportMissingImports]

    kept = function.kept
    fields = [
        StructField(field.name, df.schema[kept[field.name]].dataType if field.name in kept else _spark_type(field.type))
        for field in out
    ]
    fault = fresh("#fault", out.names)
    struct = StructType([*fields, StructField(fault, StringType())])
    new = [field for field in struct if field.name not in kept]
    seen = _seen(df, [f"CAST(NULL AS {field.dataType.simpleString()}) AS {_quoted(field.name)}" for field in new])
    large = df.sparkSession.conf.get("spark.sql.execution.arrow.useLargeVarTypes", "false") == "true"
    types = {field.name: _large(field.type) if large else field.type for field in seen}
    work = Guarded(function, [list(x) for x in names], types, fault)
    if len(groups) == 1:
        result = groups[0].applyInArrow(lambda table: work(table), struct)
    else:
        result = groups[0].cogroup(groups[1]).applyInArrow(lambda table, qrels: work(table, qrels), struct)
    at = _quoted(fault)
    return result.where(f"CASE WHEN {at} IS NULL THEN true ELSE raise_error({at}) END").drop(fault)


# -------------------------------------------------------------------------------------------------- columns and types


def _quoted(name: str) -> str:
    """A column's name in SQL."""
    return "`" + name.replace("`", "``") + "`"


def _only(df: DataFrame, names: Sequence[str]) -> DataFrame:
    return df.selectExpr(*map(_quoted, names))


def _numbered(df: DataFrame, *further: str) -> DataFrame:
    """The table with plain names: dots in a name would mean fields to Spark's functions of groups."""
    return df.selectExpr(*(f"{_quoted(name)} AS c{i}" for i, name in enumerate(df.columns)), *further)


def _part(schema: pa.Schema, names: Sequence[str]) -> pa.Schema:
    import pyarrow as pa

    return pa.schema([schema.field(name) for name in names])


def _arrow_schema(df: DataFrame, read: Sequence[str]) -> pa.Schema:
    """The schema of a Spark table as workers see it; columns that are not read hold nothing."""
    import pyarrow as pa

    seen = _seen(df, [_quoted(name) for name in dict.fromkeys(read)])
    return pa.schema([seen.field(name) if name in read else pa.field(name, pa.null()) for name in df.columns])


def _seen(df: DataFrame, expressions: Sequence[str]) -> pa.Schema:
    """The types in which Spark itself gives its columns to Python; no row is touched."""
    return df.limit(0).selectExpr(*expressions).toArrow().schema


def _spark_type(x: pa.DataType) -> Any:
    """The type of a column that Polars made, in Spark, which has no unsigned numbers."""
    import pyarrow as pa
    from pyspark.sql.pandas.types import from_arrow_type  # pyright: ignore[reportMissingImports]

    wider = {
        pa.uint8(): pa.int16(),
        pa.uint16(): pa.int32(),
        pa.uint32(): pa.int64(),
        pa.uint64(): pa.decimal128(20, 0),
    }
    return from_arrow_type(wider.get(x, x))


def _large(x: pa.DataType) -> pa.DataType:
    """A type of texts with offsets of 64 bits, which a setting asks for and a Connect session does not show."""
    import pyarrow as pa

    return pa.large_string() if pa.types.is_string(x) else x
