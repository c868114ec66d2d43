"""Figures over all queries, as methods of a ranker: means, and summaries with confidence intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from .._catalog.requests import Request
from .._verbs.methods import Runner
from . import mean as _mean
from . import mergeable_summary as _summary
from .resampling import SummaryMethod, SummaryResampling
from .runs import names_of

__all__ = ["mean", "summarize"]

R = TypeVar("R")


def mean(ranker: Runner[R], *metrics: Request, by: str | Sequence[str] | None = None) -> R:
    """The mean of each metric over the queries, as papers print it: one row, or one per slice.

    Parameters
    ----------
    *metrics
        Texts and functions, as for :meth:`evaluate`.
    by
        The column, or columns, whose values slice the queries, as for :meth:`summarize`; also one of the query
        columns, such as that of the runs.

    Returns
    -------
    A frame with the slice's columns, then one Float64 column per metric, in the order asked: the mean over the
    queries whose value is not null; of ``gm_map`` and ``gm_bpref`` the geometric mean, of counts such as ``num_ret``
    the sum, as trec_eval prints them; null if no query has a value. Slices come as first seen in an eager frame.

    Raises
    ------
    InvalidData
        If a query has several values of a slice.

    See Also
    --------
    summarize : the same with standard deviation, confidence interval and number of queries.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({"query_id": [1, 2], "score": [1, 1], "label": [1, 0]})
    >>> df.rank.mean("rr", "num_ret").row(0, named=True)
    {'rr': 0.5, 'num_retrieved': 2.0}

    Runs that a column tells apart are slices, if the queries are those of each run:

    >>> runs = pl.concat([df.with_columns(run=pl.lit("a")), df.with_columns(run=pl.lit("b"), label=1)])
    >>> runs.rank.on(query=["run", "query_id"]).mean("rr", by="run").rows()
    [('a', 0.5), ('b', 1.0)]
    """
    return ranker._run(_mean.mean, names_of(by), *metrics)


def summarize(
    ranker: Runner[R],
    *metrics: Request,
    by: str | Sequence[str] | None = None,
    ci: float | None = 0.95,
    method: SummaryMethod = "bca",
    weights: str | None = None,
    resamples: int = 10_000,
    seed: int = 0,
    progress: bool = True,
) -> R:
    """The metrics summed up over the queries, with confidence intervals: one row per slice and metric.

    Parameters
    ----------
    *metrics
        Texts and functions, as for :meth:`evaluate`.
    by
        The column, or columns, whose values slice the queries, such as ``"market"``; the same in all rows of a
        query. ``None`` for all queries in one.
    ci
        The confidence of the intervals; ``None`` for no intervals and no resampling.
    method
        The interval of the mean: ``"bca"``, the bootstrap corrected for bias and skewness; ``"percentile"``, the
        plain bootstrap; ``"t"``, Student's, which needs SciPy; ``"bounded"``, a wider one, valid for few queries and
        any values within the metric's bounds (or, if it has none, within the values found);
        ``"poisson"``, the bootstrap of tables in parts, which draws each query by a number made of its id and the seed:
        the same for any number of parts. Spark and Dask have this one alone, and say so in a further column,
        ``ci_method``.
    weights
        The column of the queries' weights, 0 or more, such as how often each was asked; the same in all rows of a
        query. ``None`` weighs them alike.
    resamples
        The number of resamples of the queries of a slice; all metrics share the same draws.
    seed
        The seed of the draws. Equal seeds give equal intervals, on every machine and for any order of the rows.
    progress
        Whether long computations show a progress bar, on a terminal and if ``rich`` is installed.

    Returns
    -------
    A frame with the slice's columns, ``metric``, ``n_queries`` (UInt32, the queries whose value is not null), ``std``
    (the standard deviation over the queries; null for fewer than two), ``total`` (of counts such as ``num_ret`` the sum,
    which trec_eval prints; null for other metrics), ``mean`` (for ``gm_map`` and ``gm_bpref``, as in trec_eval, the
    geometric mean), ``ci_low`` and ``ci_high`` (the interval of ``mean``; null for fewer than two queries; left out with
    ``ci=None``), all Float64.

    Raises
    ------
    InvalidData
        If a query has several values of a slice or a weight, or a weight is not a number from 0 on.

    References
    ----------
    B. Efron (1987), Better bootstrap confidence intervals, JASA 82. E. Learned-Miller, P. S. Thomas (2019), A new
    confidence interval for the mean of a bounded random variable, arXiv:1905.06208.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({"query_id": [1, 2, 3], "score": [1, 1, 1], "label": [1, 0, 0], "day": ["mo", "mo", "tu"]})
    >>> df.rank.summarize("rr", by="day").select("day", "metric", "mean", "n_queries").rows()
    [('mo', 'rr', 0.5, 2), ('tu', 'rr', 0.0, 1)]
    >>> df.rank.summarize("rr", method="percentile").select("ci_low", "ci_high").row(0)  # of 0 and 1 relevant
    (0.0, 1.0)
    """
    resampling = SummaryResampling(ci, method, resamples, seed, progress)
    return ranker._run(_summary.summarize, names_of(by), weights, resampling, *metrics)
