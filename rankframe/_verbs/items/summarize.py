"""Metrics of queries and metrics of the whole table in one summary."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from ..._catalog.call import Call
from ..._catalog.requests import EITHER, OfItems, Request, averaged
from ..._support.option_kinds import Column
from ..._support.statistical_options import SummaryInterval
from ..._table.runs import RUN_OF_TABLE, Runs, names_of
from ..._table.setup import Setup
from ..._table.shared_options import Summarized, runs_of
from ..._table.table import Table, in_memory
from ...errors import InvalidOption, option
from ..call.declaration import verb
from ..measure.judged_summary import JudgedSummary
from ..measure.summary import Summary, figures_of
from ..sample.slices import typed
from .catalog import catalog

if TYPE_CHECKING:
    from typing import Unpack

MOST_RESAMPLES = 1_000
"""The most resamples of users for the interval of a metric of the whole table: each counts all
lists again."""


def summary_of(
    setup: Setup, whole: Mapping[str, float] | None, *metrics: Any, **options: Any
) -> Summary:
    """The summary of metrics of queries, by labels of people or also of a model; also of parts."""
    for metric in metrics:
        if isinstance(metric, OfItems):
            says = "looks at the lists of all users, of which each worker has a part; take it from "
            raise InvalidOption(
                f"{metric.call.text} {says}", "items.catalog, with ", option(ci=None)
            )
    kind = Summary if options["model_labels"] is None else JudgedSummary
    return kind.of(setup, whole, *metrics, **options)


@verb(
    gives="table",
    among=EITHER,
    watched=True,
    by_parts=True,
    merges=summary_of,
    usual={"resamples": 10_000},
)
def summarize(
    table: Table[Any],
    *metrics: Request,
    interval: SummaryInterval = "auto",
    model_labels: Column | None = None,
    **options: Unpack[Summarized],
) -> pl.DataFrame:
    """The metrics summarized over the queries, with confidence intervals: one row per run, slice
    and metric.

    Parameters
    ----------
    *metrics
        Texts, functions, values and expressions, as for :meth:`evaluate`; and metrics of the whole
        table, such as ``"coverage@10"``, as for ``items.catalog``, with the tables that they need
        in ``on(items=..., interactions=...)``.
    runs, run
        As for :meth:`mean`. Each run is summarized by itself; :meth:`compare` tests their
        differences.
    by
        The column, or columns, whose values slice the queries, such as ``"market"``; the same in
        all rows of a query that have a value: a row that :meth:`judge` adds for a missed document
        has none. ``None`` for one slice with all queries.
    ci
        The confidence of the intervals; ``None`` for no intervals and no resampling, as for
        :meth:`compare`: the table has no ``ci_low``, ``ci_high`` and ``interval``.
    interval
        The kind of the intervals. ``"auto"`` takes ``"bounded"`` for fewer than 50 queries, and for
        more if fewer than 50 of them differ, and ``"bca"`` otherwise; a metric without bounds, or
        of geometric means, has ``"t"`` for fewer than 50 queries, with a warning, and no interval
        if all values are equal. Queries whose weights differ count as fewer, and have ``"t"`` in
        place of ``"bca"``. ``"bca"`` is the bootstrap corrected for bias and skewness;
        ``"percentile"``, the plain bootstrap; ``"t"``, Student's; ``"bounded"``, a wider one, valid
        for any number of queries and any values within the metric's bounds (or, if it has none,
        within the values found), for values of 0 and 1 that of Clopper and Pearson; ``"poisson"``,
        the bootstrap of tables in parts, which draws each query by a number derived from its id and
        the seed, so that the result does not depend on the number of parts. Spark and Dask always
        use it.
    weights
        The column of the queries' weights, 0 or more, such as their frequencies in a log; the same
        in all rows of a query. Or, where no column has the name, a metric whose value is a query's
        weight: ``summarize("auc", weights="num_ret")`` gives GAUC, the mean weighted by the number
        of candidates, and ``weights="num_rel"`` weighs by the number of relevant documents.
        ``None`` weighs all queries equally.
    cluster
        The column of the users, or of other clusters of queries that are not independent; the same
        in all rows of a query. Intervals then resample clusters, each with all its queries; a query
        without a value is a cluster of its own. ``None`` resamples queries.
    model_labels
        The column of a model's labels of every document, if people judged some queries only: all
        documents of these have a label, which is null or negative elsewhere. The mean is that of
        people over all queries (PPI++): moved by what the model says of the other queries, as far
        as both agree. It needs 30 queries that people judged in each slice, drawn at random, and
        SciPy; its interval is Student's. A model that adds nothing leaves that of people's queries.
        `weights` may not be a metric that reads labels.
    resamples
        The number of resamples of the queries of a slice; all metrics share the same draws.
    seed
        The seed of the draws. Equal seeds give equal intervals, on every machine and for any order
        of the rows.

    Returns
    -------
    A frame with the run (the column ``run``, or the one that `run` names) if runs are named, the
    slice's columns, ``metric``, ``n_queries`` (UInt32, the queries whose value is not null), with
    ``on(propensity=...)`` ``n_clicks`` (UInt32) and ``effective_sample_size`` (Float64, the number
    of clicks with equal weights whose mean would vary as much: the square of the sum of the clicks'
    weights over the sum of their squares), ``std`` (the standard deviation over the queries; null
    for fewer than two), ``total`` (of counts such as ``num_ret`` the sum, which trec_eval prints;
    null for other metrics), ``mean`` (for ``gm_map`` and ``gm_bpref``, as in trec_eval, the
    geometric mean), ``ci_low`` and ``ci_high`` (the interval of ``mean``), all Float64, and before
    these ``interval`` (String, its kind); interval and kind are null for fewer than two queries and
    left out with ``ci=None``. With `model_labels`, after ``n_queries``: ``n_judged`` (UInt32, those
    that people judged, of which ``std`` is), ``tuned_weight`` (Float64, of the model's labels: 0 to
    1), ``variance_saved`` (Float64, their share of the variance of the people's mean) and
    ``queries_to_halve`` (Int64, about how many queries people would judge for an interval half as
    long; more than ``n_queries`` takes further queries); ``total`` is null.

    Of a metric of the whole table, such as coverage, ``mean`` is its one value for the lists of all
    queries, ``std`` and ``total`` are null, and the interval is ``"percentile"``, from at most
    1,000 resamples of the queries, as of ``items.catalog``.

    Raises
    ------
    InvalidData
        If a query has several values of a slice or a weight, or a weight is not a number from 0 on.
        With `model_labels`, if people judged fewer than 30 queries of a slice or some query in
        part, or the model lacks a document.

    Warns
    -----
    RankframeWarning
        With `model_labels`, if fewer than 10 judged queries differ from their median, so that the
        interval is too short; or if, by the model, the judged queries are unlike the others.

    References
    ----------
    B. Efron (1987), Better bootstrap confidence intervals, JASA 82. E. Learned-Miller, P. S. Thomas
    (2019), A new confidence interval for the mean of a bounded random variable, arXiv:1905.06208.
    A. N. Angelopoulos, J. C. Duchi, T. Zrnic (2023), PPI++: Efficient prediction-powered inference,
    arXiv:2311.01453.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> rows = {"query_id": [1, 2, 3], "score": [1, 1, 1], "label": [1, 0, 0]}
    >>> df = pl.DataFrame({**rows, "day": ["mo", "mo", "tu"]})
    >>> found = df.rank.summarize("rr", by="day")
    >>> found["day"].to_list(), found["mean"].to_list(), found["n_queries"].to_list()
    (['mo', 'tu'], [0.5, 0.0], [2, 1])
    >>> found = df.rank.summarize("rr", interval="percentile")      # of 0 and 1 relevant
    >>> found["ci_low"].item(), found["ci_high"].item()
    (0.0, 1.0)

    A model judged 80 queries, 40 of which people judged, too. It is always right, and the other 40
    have as many relevant documents:

    >>> labels = {"llm": [0, 1] * 40, "label": [0, 1] * 20 + [None] * 40}
    >>> df = pl.DataFrame({"query_id": range(80), "score": 1, **labels})
    >>> found = df.rank.summarize("rr", model_labels="llm")
    >>> found["mean"].to_list(), found["n_judged"].to_list(), found["n_queries"].to_list()
    ([0.5], [40], [80])
    """
    setup = table.setup
    given: dict[str, Any] = {**options, "interval": interval, "model_labels": model_labels}
    of_queries = [metric for metric in metrics if not isinstance(metric, OfItems)]
    asked = [metric.call for metric in metrics if isinstance(metric, OfItems)]
    of_items = [setup.resolve(call)[1] for call in asked]
    if not of_items:
        summary = summary_of(setup, None, *of_queries, **given)
        return summary.table(table.by_parts(summary.of_part))
    for name in ("weights", "model_labels"):
        if given[name] is not None:
            says = "is no mean of queries that could be weighed; ask for it separately, without "
            raise InvalidOption(f"{of_items[0].text} {says}", option(**{name: given[name]}))
    chosen = runs_of(options)
    chosen.require(table.rows, setup)
    tables = []
    if of_queries:
        summary = summary_of(setup, None, *of_queries, **given)
        tables.append(summary.of_table(table.rows))
    tables += _of_items(table, of_items, chosen, given)
    texts = pl.Enum(_texts(metrics, of_items))
    order = [pl.col("metric").cast(texts)]
    if chosen.scores:
        names = pl.Enum(chosen.scores)
        order.insert(0, pl.col(RUN_OF_TABLE).cast(names))
    return pl.concat(tables).sort(order, maintain_order=True)


def _of_items(
    table: Table[Any], calls: Sequence[Call], runs: Runs, options: Mapping[str, Any]
) -> Iterator[pl.DataFrame]:
    """The summary of metrics of the whole table, a frame for each column of scores."""
    setups, by = runs.apart(table.setup, names_of(options["by"]))
    figures = figures_of(table.setup, options["ci"])
    how = {name: options[name] for name in ("ci", "seed", "progress")}
    how["resamples"] = min(options["resamples"], MOST_RESAMPLES)
    has_interval = pl.col("ci_low").is_not_null()
    kind = pl.when(has_interval).then(pl.lit("percentile"))
    slices = [RUN_OF_TABLE, *by] if runs.scores else [*by]
    for run, setup in setups.items():
        of_run = in_memory(table.rows, setup)
        values = catalog(of_run, *calls, by=by or None, **how)
        values = values.with_columns(mean="value")
        if options["ci"] is not None:
            values = values.with_columns(interval=kind)
        if runs.scores:
            name = pl.lit(run).alias(RUN_OF_TABLE)
            values = values.with_columns(name)
        lacking = [name for name in figures if name not in values.columns]
        values = values.with_columns(pl.lit(None).alias(name) for name in lacking)
        yield values.select(*slices, *typed(figures))


def _texts(metrics: Sequence[Any], of_items: Sequence[Call]) -> list[str]:
    """The texts of all metrics, each once, in the order in which they were asked for.

    `of_items` are the metrics of the whole table under the setup.
    """
    calls = iter(of_items)
    texts: list[str] = []
    for metric in metrics:
        of_table = isinstance(metric, OfItems)
        asked = [next(calls)] if of_table else averaged([metric], "")
        texts += [call.text for call in asked]
    return list(dict.fromkeys(texts))
