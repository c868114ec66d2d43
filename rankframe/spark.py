"""Ranking metrics of Spark tables: Python workers evaluate buckets of Arrow rows, all rows of a
query in one bucket.

    import rankframe.spark
    metrics = df.transform(rankframe.spark.evaluate, "ndcg@10", "map")

Sessions may be classic or Connect. A result is a Spark table, which Spark computes lazily. Without
``buckets``, the call itself runs a job that counts the rows, to choose the number of buckets.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import polars as pl

from ._catalog.requests import Request
from ._lift import spark_tables as _tables
from ._lift.arrow_kernel import bound, seen
from ._lift.engine import Side, Work, run as run_on
from ._pictures.report_page import report as report_verb
from ._support.option_kinds import check
from ._support.option_values import Range
from ._table.columns import fresh
from ._table.run_and_judgments import Unmatched as Unmatched
from ._table.setup import TABLES
from ._table.table import refuse_names
from ._verbs.call.declaration import verb_of
from ._verbs.collections.reliability import Reliability, reliability as reliability_verb
from ._verbs.decide.compare import Comparison, compare as compare_verb
from ._verbs.decide.gate import Verdict, gate as gate_verb
from ._verbs.decide.power import power as power_verb
from ._verbs.fuse.fitted import FittedFusion
from ._verbs.fuse.fuse import explain as explain_fusion_verb, fuse as fuse_verb
from ._verbs.groups.compare_groups import GroupComparison, compare_groups as compare_groups_verb
from ._verbs.items.catalog import catalog as catalog_verb
from ._verbs.items.summarize import summarize as summarize_verb
from ._verbs.measure.evaluate import evaluate as evaluate_verb
from ._verbs.measure.summary import mean as mean_verb
from .errors import InvalidData, InvalidOption

if TYPE_CHECKING:
    from pyspark.sql import DataFrame  # pyright: ignore[reportMissingImports]

__all__ = [
    "catalog", "compare", "compare_groups", "evaluate", "explain_fusion", "fuse", "gate", "mean",
    "power", "reliability", "report", "summarize", "with_metrics",
]  # fmt: skip

Buckets: TypeAlias = Annotated[int, Range(least=1)] | None

ROWS_PER_BUCKET = 100_000
"""The default number of rows per bucket: few enough to use all workers, many enough to pay for a
bucket's fixed cost."""


def evaluate(
    df: DataFrame,
    *metrics: Request,
    qrels: DataFrame | None = None,
    judged_only: Unmatched = "keep",
    run_only: Unmatched = "drop",
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
        The judgments, if they are a separate table: query, document and label. `df` then is the
        run, and documents that were judged but not retrieved count, as with
        ``run.rank.judge(qrels)``.
    judged_only, run_only
        Whether queries that only one of the two tables has are kept, dropped or refused, as for
        ``run.rank.judge(qrels)``.
    buckets
        The number of buckets that the queries are hashed to; a Python worker holds one bucket in
        memory at a time. ``None`` counts the rows and makes one bucket for every 100,000.
    **options
        The options `runs` and `run` of ``df.rank.evaluate``, of which `runs` are columns of scores;
        and column names and policies, as for ``df.rank.on``. Rows of a Spark table have no order,
        so ``ties="order"`` is refused, and a table without a document column needs
        ``ties="best"``, ``"worst"``, ``"expected"`` or ``"error"``.

    Returns
    -------
    A Spark table: the run if runs are named, the query columns in their own types, then a double
    per metric. Its rows have no defined order.

    Raises
    ------
    UnknownMetric, InvalidOption, MissingColumn, InvalidData
        During the call, if a metric, an option, a column or its type is wrong. Errors in the rows
        (a NaN score, a repeated document) fail the Spark job, with the library's message in Spark's
        ``SparkRuntimeException``.
    """
    return _lifted(
        evaluate, evaluate_verb, df, metrics, options, buckets, qrels, judged_only, run_only
    )


def with_metrics(
    df: DataFrame, *metrics: Request, buckets: int | None = None, **options: Any
) -> DataFrame:
    """The rows of the table with the metrics of their query as further columns.

    Parameters
    ----------
    df, *metrics, buckets, **options
        As for :func:`evaluate`.

    Returns
    -------
    A Spark table with all columns of `df` in their own types, then a double per metric. Its rows
    have no defined order.

    Raises
    ------
    UnknownMetric, InvalidOption, MissingColumn, InvalidData
        As :func:`evaluate` does.
    """
    query = bound(options, with_metrics).roles.query
    values = evaluate(df, *metrics, buckets=buckets, **options)
    new = [name for name in values.columns if name not in query]
    refuse_names(new, df.columns, "the table")
    taken = [*df.columns, *new]
    keys = [fresh(f"#{name}", taken) for name in query]
    names = [_tables.quoted(name) for name in query]
    new_names = [_tables.quoted(key) for key in keys]
    pairs = [*zip(names, new_names, strict=True)]
    renamed = [f"{name} AS {key}" for name, key in pairs]
    values = values.selectExpr(*renamed, *map(_tables.quoted, new))
    same = [df[name].eqNullSafe(values[key]) for name, key in pairs]
    return df.join(values, same, "left").drop(*keys)


def summarize(
    df: DataFrame,
    *metrics: Request,
    qrels: DataFrame | None = None,
    judged_only: Unmatched = "keep",
    run_only: Unmatched = "drop",
    buckets: int | None = None,
    **options: Any,
) -> DataFrame:
    """The metrics summarized over the queries: one row per run, slice and metric.

    Every bucket sends the number of its values, their mean and their sum of squares, which merge
    exactly, and up to 50 different values. The interval is that of the Poisson bootstrap, which
    draws each query by a number derived from its id and the seed. So the interval does not depend
    on the number of buckets, and equals that of one frame with ``interval="poisson"``. For few
    queries, and for more if few of them differ, it is the interval that ``"auto"`` takes there.

    Parameters
    ----------
    df, *metrics, qrels, judged_only, run_only, buckets
        As for :func:`evaluate`, but no expressions.
    **options
        The options of ``df.rank.summarize``, and column names and policies as for :func:`evaluate`.
        Runs are columns of scores or named by a column. Of `interval`, only ``"poisson"`` has an
        effect: the Poisson bootstrap also of few queries. A query that occurs only in the judgments
        has no weight: with `weights`, write ``judged_only="drop"``. With `model_labels`, every
        bucket sends the values of its queries, and the interval is Student's, as in one frame.

    Returns
    -------
    A Spark table with the columns of ``df.rank.summarize``: the run and the slice's columns,
    ``metric``, ``n_queries`` (long, the queries whose value is not null), ``std``, ``total``,
    ``mean`` (for ``gm_map`` and ``gm_bpref`` the geometric mean), ``ci_low`` and ``ci_high``, all
    doubles, and ``interval`` (string, the kind of the interval); the last three are null for fewer
    than two queries and left out with ``ci=None``.

    Raises
    ------
    UnknownMetric, InvalidOption, MissingColumn, InvalidData
        As for :func:`evaluate`; and, when Spark runs, if a query has several values of a slice or a
        weight, or a weight is not a number from 0 on.
    """
    return _lifted(
        summarize, summarize_verb, df, metrics, options, buckets, qrels, judged_only, run_only
    )


def mean(
    df: DataFrame,
    *metrics: Request,
    qrels: DataFrame | None = None,
    judged_only: Unmatched = "keep",
    run_only: Unmatched = "drop",
    buckets: int | None = None,
    **options: Any,
) -> DataFrame:
    """The mean of each metric over the queries: one row, or one per slice, as ``df.rank.mean``
    gives it.

    Parameters
    ----------
    df, *metrics, qrels, judged_only, run_only, buckets
        As for :func:`summarize`.
    **options
        The options of ``df.rank.mean``, and column names and policies as for :func:`evaluate`.

    Returns
    -------
    A Spark table: the slice's columns, then a double per metric, in the order given: the mean over
    the queries whose value is not null; of ``gm_map`` and ``gm_bpref`` the geometric mean, of
    counts such as ``num_ret`` the sum.

    Raises
    ------
    UnknownMetric, InvalidOption, MissingColumn, InvalidData
        As for :func:`summarize`.
    """
    return _lifted(mean, mean_verb, df, metrics, options, buckets, qrels, judged_only, run_only)


def catalog(
    df: DataFrame, *metrics: Request, buckets: int | None = None, **options: Any
) -> DataFrame:
    """Metrics of the items that all users are shown, as ``df.rank.items.catalog`` with ``ci=None``
    gives them.

    Every bucket sends its counts of items, which are added up. Intervals are not computed, since
    they resample the users of all buckets together.

    Parameters
    ----------
    df, buckets
        As for :func:`evaluate`.
    *metrics
        As for ``df.rank.items.catalog``.
    **options
        The options `by` and `unknown_items` of ``df.rank.items.catalog``, and column names and
        policies as for :func:`evaluate`. ``items=`` and ``interactions=`` are Polars or pandas
        tables, a list or a number, as for ``df.rank.on``; Spark sends them to every worker.

    Returns
    -------
    A Spark table: the slice's columns, ``metric`` (string), ``value`` (double), ``n_queries`` and
    ``n_items`` (long). Its rows have no defined order.

    Raises
    ------
    UnknownMetric, InvalidOption, MissingColumn, InvalidData
        As for :func:`evaluate` and ``df.rank.items.catalog``.
    """
    return _lifted(catalog, catalog_verb, df, metrics, {"ci": None, **options}, buckets)


def fuse(
    df: DataFrame, method: str | FittedFusion[object], *, buckets: int | None = None, **options: Any
) -> DataFrame:
    """Merge the rankings of several runs into one, with one fused score per document, as
    ``df.rank.fuse`` does.

    Parameters
    ----------
    df
        A table with a row per query and document, or per run, query and document.
    method
        As for ``df.rank.fuse``.
    buckets
        As for :func:`evaluate`.
    **options
        The options of ``df.rank.fuse``, and column names and policies as for :func:`evaluate`.
        `runs` are columns of scores; of the column `run`, the call collects the names. With `run`,
        `weights` is a mapping by the runs' names, since rows of a Spark table have no order.

    Returns
    -------
    A Spark table: the query columns and the document in their own types, the fused score as
    ``score`` (double), and the label in its own type if the table has one. Its rows have no defined
    order.

    Raises
    ------
    InvalidOption, MissingColumn, InvalidData
        As for :func:`evaluate`.
    """
    return _lifted(fuse, fuse_verb, df, (method,), options, buckets)


def explain_fusion(
    df: DataFrame, method: str | FittedFusion[object], *, buckets: int | None = None, **options: Any
) -> DataFrame:
    """The contribution of each run to the fused score of each document, as
    ``df.rank.fusion.explain`` gives it.

    Parameters
    ----------
    df, method, buckets, **options
        As for :func:`fuse`.

    Returns
    -------
    A Spark table with a row per document of a query and run: the query columns and the document in
    their own types, ``run`` (string), ``rank`` (long), ``score``, ``normalized``, ``contribution``
    and ``fused`` (double), ``fused_rank`` (long), and the label in its own type if the table has
    one. Its rows have no defined order.

    Raises
    ------
    InvalidOption, MissingColumn, InvalidData
        As for :func:`evaluate`.
    """
    return _lifted(explain_fusion, explain_fusion_verb, df, (method,), options, buckets)


def compare(
    df: DataFrame,
    *metrics: Request,
    qrels: DataFrame | None = None,
    judged_only: Unmatched = "keep",
    run_only: Unmatched = "drop",
    buckets: int | None = None,
    **options: Any,
) -> Comparison[pl.DataFrame]:
    """Compare two or more runs on the same queries, by paired tests, as ``df.rank.compare`` does.

    The workers evaluate the metrics. The call collects their values, a row per run and query, and
    compares them in memory.

    Parameters
    ----------
    df, *metrics, qrels, judged_only, run_only, buckets
        As for :func:`evaluate`, but no expressions.
    **options
        The options of ``df.rank.compare``, and column names and policies as for :func:`evaluate`.
        Runs are columns of scores or named by a column.

    Returns
    -------
    A :class:`rankframe.results.Comparison`, whose frames are Polars frames in memory. Runs that a
    column names come in the order of their names.

    Raises
    ------
    UnknownMetric, InvalidOption, MissingColumn, InvalidData
        As for :func:`evaluate` and ``df.rank.compare``.
    """
    two = (qrels, judged_only, run_only)
    result: Comparison[pl.DataFrame] = _lifted(
        compare, compare_verb, df, metrics, options, buckets, *two
    )
    return result


def gate(
    df: DataFrame,
    *budgets: Mapping[Request, float] | Request,
    qrels: DataFrame | None = None,
    judged_only: Unmatched = "keep",
    run_only: Unmatched = "drop",
    buckets: int | None = None,
    **options: Any,
) -> Verdict[pl.DataFrame]:
    """Gate a release: pass only if the queries rule out that a metric fell by more than its budget,
    as ``df.rank.gate`` does.

    The workers evaluate the metrics. The call collects their values, a row per run and query, and
    in a second pass the rows of the queries that moved most.

    Parameters
    ----------
    df, qrels, judged_only, run_only, buckets
        As for :func:`evaluate`.
    *budgets
        As for ``df.rank.gate``.
    **options
        The options of ``df.rank.gate``, and column names and policies as for :func:`evaluate`, as
        for :func:`compare`.

    Returns
    -------
    A :class:`rankframe.results.Verdict`, true if all pass, whose frames are Polars frames in
    memory.

    Raises
    ------
    UnknownMetric, InvalidOption, MissingColumn, InvalidData
        As for :func:`evaluate` and ``df.rank.gate``.
    """
    two = (qrels, judged_only, run_only)
    result: Verdict[pl.DataFrame] = _lifted(gate, gate_verb, df, budgets, options, buckets, *two)
    return result


def power(
    df: DataFrame,
    *metrics: Request,
    qrels: DataFrame | None = None,
    judged_only: Unmatched = "keep",
    run_only: Unmatched = "drop",
    buckets: int | None = None,
    **options: Any,
) -> pl.DataFrame:
    """The number of queries needed to detect a difference, as ``df.rank.power`` gives it.

    Parameters
    ----------
    df, *metrics, qrels, judged_only, run_only, buckets
        As for :func:`compare`.
    **options
        The options of ``df.rank.power``, and column names and policies as for :func:`evaluate`, as
        for :func:`compare`.

    Returns
    -------
    The frame of ``df.rank.power``, a Polars frame in memory.

    Raises
    ------
    UnknownMetric, InvalidOption, MissingColumn, InvalidData
        As for :func:`evaluate` and ``df.rank.power``.
    """
    two = (qrels, judged_only, run_only)
    result: pl.DataFrame = _lifted(power, power_verb, df, metrics, options, buckets, *two)
    return result


def reliability(
    df: DataFrame,
    *metrics: Request,
    qrels: DataFrame | None = None,
    judged_only: Unmatched = "keep",
    run_only: Unmatched = "drop",
    buckets: int | None = None,
    **options: Any,
) -> Reliability[pl.DataFrame]:
    """How far the order of runs can be relied on, as ``df.rank.collection.reliability`` tells it.

    Parameters
    ----------
    df, *metrics, qrels, judged_only, run_only, buckets
        As for :func:`compare`.
    **options
        The options of ``df.rank.collection.reliability``, and column names and policies as for
        :func:`evaluate`, as for :func:`compare`.

    Returns
    -------
    A :class:`rankframe.results.Reliability`, whose table is a Polars frame in memory.

    Raises
    ------
    UnknownMetric, InvalidOption, MissingColumn, InvalidData
        As for :func:`evaluate` and ``df.rank.collection.reliability``.
    """
    two = (qrels, judged_only, run_only)
    result: Reliability[pl.DataFrame] = _lifted(
        reliability, reliability_verb, df, metrics, options, buckets, *two
    )
    return result


def compare_groups(
    df: DataFrame,
    *metrics: Request,
    qrels: DataFrame | None = None,
    judged_only: Unmatched = "keep",
    run_only: Unmatched = "drop",
    buckets: int | None = None,
    **options: Any,
) -> GroupComparison[pl.DataFrame]:
    """Compare groups of queries or users, such as the arms of an A/B test, as
    ``df.rank.compare_groups`` does.

    The workers evaluate the metrics. The call collects their values, a row per query, and compares
    them in memory.

    Parameters
    ----------
    df, *metrics, qrels, judged_only, run_only, buckets
        As for :func:`compare`.
    **options
        The options of ``df.rank.compare_groups``, and column names and policies as for
        :func:`evaluate`.

    Returns
    -------
    A :class:`rankframe.results.GroupComparison`, whose frames are Polars frames in memory.

    Raises
    ------
    UnknownMetric, InvalidOption, MissingColumn, InvalidData
        As for :func:`evaluate` and ``df.rank.compare_groups``.
    """
    two = (qrels, judged_only, run_only)
    result: GroupComparison[pl.DataFrame] = _lifted(
        compare_groups, compare_groups_verb, df, metrics, options, buckets, *two
    )
    return result


def report(
    df: DataFrame,
    path: str | Path,
    *metrics: Request,
    qrels: DataFrame | None = None,
    judged_only: Unmatched = "keep",
    run_only: Unmatched = "drop",
    buckets: int | None = None,
    **options: Any,
) -> Path:
    """Write one self-contained HTML file: how good the ranking is, and all settings that its
    numbers depend on.

    The workers evaluate the metrics and count what plots and the check show. The call collects
    values per query, and the rows of the worst queries. Each section takes a job of its own: call
    ``df.cache()`` first.

    Parameters
    ----------
    df, *metrics, qrels, judged_only, run_only, buckets
        As for :func:`compare`.
    path
        Where the driver writes it, a file that ends in ``.html`` or ``.htm``.
    **options
        The options of ``df.rank.report``, and column names and policies as for :func:`evaluate`, as
        for :func:`compare`.

    Returns
    -------
    The path.

    Raises
    ------
    UnknownMetric, InvalidOption, MissingColumn, InvalidData, MissingExtra
        As for :func:`evaluate` and ``df.rank.report``.
    """
    two = (qrels, judged_only, run_only)
    result: Path = _lifted(report, report_verb, df, (path, *metrics), options, buckets, *two)
    return result


def _lifted(
    caller: Callable[..., object],
    verb: Callable[..., object],
    df: DataFrame,
    args: Sequence[object],
    options: Mapping[str, Any],
    buckets: int | None,
    *two: Any,
) -> Any:
    """The result of a verb for its function of Spark tables; its options are told from those of
    `on` by its signature.
    """
    declared = verb_of(verb)
    names = {name for name in declared.parameters if name not in TABLES}
    of_verb = {name: value for name, value in options.items() if name in names}
    of_on = {name: value for name, value in options.items() if name not in names}
    setup = bound(of_on, caller)
    call = declared.bound(args, of_verb)
    if call.runs.tables:
        raise InvalidOption(
            "runs are columns of scores of one Spark table; put tables below each other and say "
            "run="
        )
    engine = SparkEngine(buckets)
    judged = dict(zip(("qrels", "judged_only", "run_only"), two, strict=False))
    return run_on(engine, df, setup, call, **judged)


class SparkEngine:
    """Spark as an engine: a part is a bucket of rows, chosen by the hash of their key."""

    name = "Spark table"
    advice = "collect a part of the table, as with pl.DataFrame(df.toArrow())"

    def __init__(self, buckets: int | None) -> None:
        self._buckets: int | None = check("buckets", buckets, Buckets)

    def schema(self, table: DataFrame, read: Collection[str] | None) -> pl.DataFrame:
        """The columns, in the types that workers receive."""
        if not type(table).__module__.startswith("pyspark."):
            kind = type(table).__name__
            raise InvalidData(
                f"{kind} is no Spark table; for other frames write rankframe.rank(frame)"
            )
        names = [name for name in table.columns if read is None or name in read]
        return seen(_tables.arrow_schema(table, names), names)

    def by_key(self, work: Work, key: Sequence[str] | None, *sides: Side[DataFrame]) -> DataFrame:
        """Run the work on every bucket; without a key, on every batch of rows that Spark sends."""
        tables = [_tables.only(side.table, side.names) for side in sides]
        if key is not None and self._buckets is None:
            n_rows = sum(side.table.count() for side in sides)
            self._buckets = math.ceil(max(n_rows, 1) / ROWS_PER_BUCKET)
        return _tables.on_buckets(tables, work, key, self._buckets)

    def collect(self, table: DataFrame) -> pl.DataFrame:
        """The rows, as Arrow."""
        return pl.DataFrame(table.toArrow())
