"""Ranking metrics of Spark tables: Python workers evaluate buckets of Arrow rows, all rows of a query in one bucket.

    import rankframe.spark
    metrics = df.transform(rankframe.spark.evaluate, "ndcg@10", "map")

Sessions may be classic or Connect. A result is a Spark table, which Spark computes lazily. Without ``buckets``, the
call itself runs a job that counts the rows, to choose the number of buckets.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import reduce
from numbers import Integral
from typing import TYPE_CHECKING, Any

import polars as pl

from ._catalog.requests import Request
from ._decisions.mean import mean as mean_verb
from ._decisions.mergeable_summary import summarize as summarize_verb
from ._decisions.resampling import Resampling, SummaryInterval, SummaryResampling
from ._decisions.runs import RUN_OF_TABLE, Runs, names_of
from ._engines.arrow_kernel import bound, seen
from ._engines.engine import Side
from ._engines.engine import run as run_on
from ._engines.spark_tables import arrow_schema as _arrow_schema
from ._engines.spark_tables import on_buckets as _on_buckets
from ._engines.spark_tables import only as _only
from ._engines.spark_tables import quoted as _quoted
from ._engines.tasks import Work
from ._fusion.explain import explain_fusion as explain_fusion_verb
from ._fusion.fitted import FittedFusion, runs_for
from ._fusion.fuse import fuse as fuse_verb
from ._items.catalog import catalog as catalog_verb
from ._items.catalog_and_past import Unknown
from ._plan.per_query import refuse_names
from ._support.extras import load
from ._table.columns import fresh
from ._table.run_and_judgments import Missing as Unmatched
from ._table.setup import Setup
from ._verbs import verbs
from ._words.rankings import Missing
from .errors import InvalidData, InvalidOption

if TYPE_CHECKING:
    from pyspark.sql import DataFrame  # pyright: ignore[reportMissingImports]

__all__ = ["catalog", "evaluate", "explain_fusion", "fuse", "mean", "summarize", "with_metrics"]

ROWS_PER_BUCKET = 100_000
"""The default number of rows per bucket: few enough to use all workers, many enough to pay for a bucket's fixed cost."""


def evaluate(
    df: DataFrame,
    *metrics: Request,
    qrels: DataFrame | None = None,
    judged_only: Unmatched = "keep",
    run_only: Unmatched = "drop",
    buckets: int | None = None,
    **options: object,
) -> DataFrame:
    """Many metrics in one pass: one row per query.

    Parameters
    ----------
    df
        A table with a row per query and document.
    *metrics
        Texts, functions and Polars aggregations, as for ``df.rank.evaluate``.
    qrels
        The judgments, if they are a separate table: query, document and label. `df` then is the run, and
        documents that were judged but not retrieved count, as with ``run.rank.judge(qrels)``.
    judged_only, run_only
        Whether queries that only one of the two tables has are kept, dropped or refused, as for ``run.rank.judge(qrels)``.
    buckets
        The number of buckets that the queries are hashed to; a Python worker holds one bucket in memory at a time.
        ``None`` counts the rows and makes one bucket for every 100,000.
    **options
        Column names and policies, as for ``df.rank.on``. Rows of a Spark table have no order, so ``ties="order"`` is
        refused, and a table without a document column needs ``ties="best"``, ``"worst"``, ``"expected"`` or ``"error"``.

    Returns
    -------
    A Spark table: the query columns in their own types, then a double per metric. Its rows have no defined order.

    Raises
    ------
    UnknownMetric, InvalidOption, MissingColumn, InvalidData
        During the call, if a metric, an option, a column or its type is wrong. Errors in the rows (a NaN score, a repeated
        document) fail the Spark job, with the library's message in Spark's ``SparkRuntimeException``.
    """
    setup, engine = bound(options, evaluate), SparkEngine(buckets)
    return run_on(engine, df, setup, verbs.evaluate, *metrics, qrels=qrels, judged_only=judged_only, run_only=run_only)


def with_metrics(df: DataFrame, *metrics: Request, buckets: int | None = None, **options: Any) -> DataFrame:
    """The rows of the table with the metrics of their query as further columns.

    Parameters
    ----------
    df, *metrics, buckets, **options
        As for :func:`evaluate`.

    Returns
    -------
    A Spark table with all columns of `df` in their own types, then a double per metric. Its rows have no defined order.

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
    *metrics: Request,
    runs: Sequence[str] | None = None,
    run: str | None = None,
    by: str | Sequence[str] | None = None,
    ci: float | None = 0.95,
    interval: SummaryInterval = "auto",
    weights: str | None = None,
    resamples: int = 10_000,
    seed: int = 0,
    progress: bool = True,
    qrels: DataFrame | None = None,
    judged_only: Unmatched = "keep",
    run_only: Unmatched = "drop",
    buckets: int | None = None,
    **options: object,
) -> DataFrame:
    """The metrics summarized over the queries: one row per run, slice and metric.

    Parameters and defaults are those of ``df.rank.summarize``. Every bucket sends the number of its values, their mean
    and their sum of squares, which merge exactly, and up to 50 different values. The interval is that of the Poisson
    bootstrap, which draws each query by a number derived from its id and the seed. So the interval does not depend on
    the number of buckets, and equals that of one frame with ``interval="poisson"``. For few queries, and for more if few
    of them differ, it is the interval that ``"auto"`` takes there.

    Parameters
    ----------
    df, *metrics, qrels, judged_only, run_only, buckets, **options
        As for :func:`evaluate`, but no expressions.
    runs, run
        The columns of the runs' scores, or the column that names the run of each row; the first column of the result
        names the run, ``run`` or that column.
    by
        The column, or columns, of `df` whose values slice the queries; the same in all rows of a query.
    ci
        The confidence of the intervals; ``None`` for none.
    interval
        ``"poisson"`` for the Poisson bootstrap also of few queries; the other kinds have no effect.
    weights
        The column of `df` that holds the queries' weights, 0 or more, the same in all rows of a query; ``None`` weighs
        all queries equally. A query that occurs only in the judgments has no weight: write ``judged_only="drop"``.
    resamples
        The number of replicates of the bootstrap.
    seed
        The seed of the bootstrap, a whole number from 0 on.
    progress
        Without effect: Spark shows its own progress.

    Returns
    -------
    A Spark table with the columns of ``df.rank.summarize``: the slice's columns, ``metric``, ``n_queries`` (long, the queries
    whose value is not null), ``std``, ``total``, ``mean`` (for ``gm_map`` and ``gm_bpref`` the geometric mean), ``ci_low`` and
    ``ci_high``, all doubles, and ``interval`` (string, the kind of the interval); the last three are null for fewer than
    two queries and left out with ``ci=None``.

    Raises
    ------
    UnknownMetric, InvalidOption, MissingColumn, InvalidData
        As for :func:`evaluate`; and, when Spark runs, if a query has several values of a slice or a weight, or
        a weight is not a number from 0 on.
    """
    args = weights, SummaryResampling(ci, interval, resamples, seed, progress), *metrics
    two: dict[str, Any] = {"qrels": qrels, "judged_only": judged_only, "run_only": run_only}
    named = Runs.of(runs, run)
    return _of_runs(SparkEngine(buckets), df, bound(options, summarize), named, by, summarize_verb, args, two)


def mean(
    df: DataFrame,
    *metrics: Request,
    runs: Sequence[str] | None = None,
    run: str | None = None,
    by: str | Sequence[str] | None = None,
    qrels: DataFrame | None = None,
    judged_only: Unmatched = "keep",
    run_only: Unmatched = "drop",
    buckets: int | None = None,
    **options: object,
) -> DataFrame:
    """The mean of each metric over the queries: one row, or one per slice, as ``df.rank.mean`` gives it.

    Parameters
    ----------
    df, *metrics, runs, run, by, qrels, judged_only, run_only, buckets, **options
        As for :func:`summarize`.

    Returns
    -------
    A Spark table: the slice's columns, then a double per metric, in the order given: the mean over the queries whose value
    is not null; of ``gm_map`` and ``gm_bpref`` the geometric mean, of counts such as ``num_ret`` the sum.

    Raises
    ------
    UnknownMetric, InvalidOption, MissingColumn, InvalidData
        As for :func:`summarize`.
    """
    two: dict[str, Any] = {"qrels": qrels, "judged_only": judged_only, "run_only": run_only}
    return _of_runs(SparkEngine(buckets), df, bound(options, mean), Runs.of(runs, run), by, mean_verb, metrics, two)


def catalog(
    df: DataFrame,
    *metrics: Request,
    by: str | Sequence[str] | None = None,
    unknown_items: Unknown = "error",
    buckets: int | None = None,
    **options: object,
) -> DataFrame:
    """Metrics of the items that all users are shown, as ``df.rank.catalog`` with ``ci=None`` gives them.

    Every bucket sends its counts of items, which are added up. Intervals are not computed, since they resample the users of
    all buckets together.

    Parameters
    ----------
    df, buckets, **options
        As for :func:`evaluate`. ``items=`` and ``interactions=`` among the options are Polars or pandas tables, a list or a
        number, as for ``df.rank.on``; Spark sends them to every worker.
    *metrics, by, unknown_items
        As for ``df.rank.catalog``.

    Returns
    -------
    A Spark table: the slice's columns, ``metric`` (string), ``value`` (double), ``n_queries`` and ``n_items`` (long). Its rows
    have no defined order.

    Raises
    ------
    UnknownMetric, InvalidOption, MissingColumn, InvalidData
        As for :func:`evaluate` and ``df.rank.catalog``.
    """
    without_interval = Resampling(None, "percentile", 1, 0, False)
    args = names_of(by), unknown_items, without_interval, *metrics
    return run_on(SparkEngine(buckets), df, bound(options, catalog), catalog_verb, *args)


def _of_runs(
    engine: SparkEngine,
    df: DataFrame,
    setup: Setup,
    runs: Runs,
    by: str | Sequence[str] | None,
    verb: Callable[..., object],
    args: Sequence[object],
    two: Mapping[str, Any],
) -> DataFrame:
    """The figures of each run: one table, in which the run is a slice or a column of its own."""
    if runs.tables:
        raise InvalidOption(
            "runs are columns of scores of one Spark table; put several tables below each other, with a column that names "
            "the run of each row, and say run='run'"
        )
    setups, slices = runs.apart(setup, names_of(by))
    found = {name: run_on(engine, df, of_run, verb, slices, *args, **two) for name, of_run in setups.items()}
    if not runs.scores:
        return found[""]
    lit = load("pyspark.sql.functions", "spark").lit
    named = [table.select(lit(name).alias(RUN_OF_TABLE), "*") for name, table in found.items()]
    return reduce(lambda one, other: one.unionByName(other), named)


def fuse(
    df: DataFrame,
    method: str | FittedFusion[object],
    *,
    runs: Sequence[str] | None = None,
    run: str | None = None,
    normalize: str | None = None,
    weights: Sequence[float] | Mapping[str, float] | None = None,
    missing: Missing | None = None,
    depth: int | None = None,
    buckets: int | None = None,
    **options: object,
) -> DataFrame:
    """Merge the rankings of several runs into one, with one fused score per document, as ``df.rank.fuse`` does.

    Parameters
    ----------
    df
        A table with a row per query and document, or per run, query and document.
    method, normalize, missing, depth
        As for ``df.rank.fuse``.
    runs, run
        The columns of the runs' scores; or the column that names the run of each row, whose names the call collects.
    weights
        As for ``df.rank.fuse``; with `run`, a mapping by the runs' names, since rows of a Spark table have no order.
    buckets, **options
        As for :func:`evaluate`.

    Returns
    -------
    A Spark table: the query columns and the document in their own types, the fused score as ``score`` (double), and the
    label in its own type if the table has one. Its rows have no defined order.

    Raises
    ------
    InvalidOption, MissingColumn, InvalidData
        As for :func:`evaluate`.
    """
    setup, args = bound(options, fuse), (normalize, weights, missing, depth)
    return run_on(SparkEngine(buckets), df, setup, fuse_verb, method, runs_for(method, runs, run), *args)


def explain_fusion(
    df: DataFrame,
    method: str | FittedFusion[object],
    *,
    runs: Sequence[str] | None = None,
    run: str | None = None,
    normalize: str | None = None,
    weights: Sequence[float] | Mapping[str, float] | None = None,
    missing: Missing | None = None,
    depth: int | None = None,
    buckets: int | None = None,
    **options: object,
) -> DataFrame:
    """The contribution of each run to the fused score of each document, as ``df.rank.explain_fusion`` gives it.

    Parameters
    ----------
    df, method, runs, run, normalize, weights, missing, depth, buckets, **options
        As for :func:`fuse`.

    Returns
    -------
    A Spark table with a row per document of a query and run: the query columns and the document in their own types, ``run``
    (string), ``rank`` (long), ``score``, ``normalized``, ``contribution`` and ``fused`` (double), ``fused_rank`` (long), and
    the label in its own type if the table has one. Its rows have no defined order.

    Raises
    ------
    InvalidOption, MissingColumn, InvalidData
        As for :func:`evaluate`.
    """
    setup, args = bound(options, explain_fusion), (normalize, weights, missing, depth)
    return run_on(SparkEngine(buckets), df, setup, explain_fusion_verb, method, runs_for(method, runs, run), *args)


class SparkEngine:
    """Spark as an engine: a part is a bucket of rows, chosen by the hash of their key."""

    name = "Spark table"
    advice = "collect a part of the table, as with pl.DataFrame(df.toArrow())"

    def __init__(self, buckets: int | None) -> None:
        if buckets is not None and (isinstance(buckets, bool) or not isinstance(buckets, Integral) or buckets < 1):
            raise InvalidOption(f"buckets={buckets!r}: write a whole number from 1 on, or leave it out")
        self._buckets = None if buckets is None else int(buckets)

    def schema(self, table: DataFrame, read: Collection[str] | None) -> pl.DataFrame:
        """The columns, in the types that workers receive."""
        if not type(table).__module__.startswith("pyspark."):
            raise InvalidData(f"{type(table).__name__} is no Spark table; for other frames write rankframe.rank(frame)")
        names = [name for name in table.columns if read is None or name in read]
        return seen(_arrow_schema(table, names), names)

    def by_key(self, work: Work, key: Sequence[str] | None, *sides: Side[DataFrame]) -> DataFrame:
        """Run the work on every bucket; without a key, on every batch of rows that Spark sends."""
        tables = [_only(side.table, side.names) for side in sides]
        if key is not None and self._buckets is None:
            rows = sum(side.table.count() for side in sides)
            self._buckets = math.ceil(max(rows, 1) / ROWS_PER_BUCKET)
        return _on_buckets(tables, work, key, self._buckets)

    def collect(self, table: DataFrame) -> pl.DataFrame:
        """The rows, as Arrow."""
        return pl.DataFrame(table.toArrow())
