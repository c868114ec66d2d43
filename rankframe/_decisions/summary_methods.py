"""Figures over all queries, as methods of a ranker: means, and summaries with confidence intervals."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, TypeVar

from .._catalog.requests import Request
from .._support.option_kinds import Column, Columns
from .._table.setup import Setup
from ..errors import once_each
from . import mean as _mean
from . import mergeable_summary as _summary
from .resampling import SummaryInterval, SummaryResampling
from .runs import RunnerOfRuns, Runs, TheRuns, names_of

R = TypeVar("R")


class Summarizer(RunnerOfRuns[R], Protocol[R]):
    """A ranker as summaries see it: it also ranks other tables and columns, and joins results."""

    _setup: Setup

    def _of(self, runs: Runs, judgments: object = None) -> Summarizer[R]:
        """The ranker whose table has the runs, joined with `judgments` if any: itself, or one over another table."""
        ...

    def _with(self, setup: Setup) -> Summarizer[R]:
        """The ranker with another setup."""
        ...

    def _below(self, results: Mapping[str, R]) -> R:
        """Concatenate the results, with the name of each in a first column."""
        ...


def mean(
    ranker: Summarizer[R],
    *metrics: Request,
    runs: TheRuns | None = None,
    run: Column | None = None,
    by: Columns | None = None,
) -> R:
    """The mean of each metric over the queries, as papers print it: one row, or one per run and slice.

    Parameters
    ----------
    *metrics
        Texts and functions, as for :meth:`evaluate`.
    runs
        The columns of the runs' scores, or a table for each run, as for :meth:`compare`.
    run
        The column that names the run of each row, instead of `runs`.
    by
        The column, or columns, whose values slice the queries, as for :meth:`summarize`; also one of the query
        columns, such as that of the runs.

    Returns
    -------
    A frame with the run (the column ``run``, or the one that `run` names) if runs are named, the slice's columns, then one
    Float64 column per metric, in the order given: the mean over the
    queries whose value is not null; of ``gm_map`` and ``gm_bpref`` the geometric mean, of counts such as ``num_ret``
    the sum, as trec_eval prints them; null if no query has a value. An eager frame gives slices in the order of their
    first rows.

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
    >>> means = df.rank.mean("rr", "num_ret")
    >>> means["rr"].item(), means["num_retrieved"].item()
    (0.5, 2.0)

    >>> runs = pl.DataFrame({"run": list("aabb"), "query_id": [1, 2, 1, 2], "score": [1] * 4, "label": [1, 0, 1, 1]})
    >>> means = runs.rank.mean("rr", run="run")
    >>> means["run"].to_list(), means["rr"].to_list()
    (['a', 'b'], [0.5, 1.0])
    """
    return _of_runs(ranker, Runs.of(runs, run), names_of(by), _mean.mean, (), metrics)


def summarize(
    ranker: Summarizer[R],
    *metrics: Request,
    runs: TheRuns | None = None,
    run: Column | None = None,
    by: Columns | None = None,
    ci: float | None = 0.95,
    interval: SummaryInterval = "auto",
    weights: Column | None = None,
    resamples: int = 10_000,
    seed: int = 0,
    progress: bool = True,
) -> R:
    """The metrics summarized over the queries, with confidence intervals: one row per run, slice and metric.

    Parameters
    ----------
    *metrics
        Texts and functions, as for :meth:`evaluate`.
    runs, run
        As for :meth:`mean`. Each run is summarized by itself; :meth:`compare` tests their differences.
    by
        The column, or columns, whose values slice the queries, such as ``"market"``; the same in all rows of a query
        that have a value: a row that :meth:`judge` adds for a missed document has none. ``None`` for one slice with all
        queries.
    ci
        The confidence of the intervals; ``None`` for no intervals and no resampling.
    interval
        The kind of the intervals. ``"auto"`` takes ``"bounded"`` for fewer than 50 queries, and for more if fewer than 50
        of them differ, and ``"bca"`` otherwise; a metric without bounds, or of geometric means, has ``"t"`` for fewer than 10 queries, with a
        warning, and no interval if all values are equal. ``"bca"`` is the bootstrap corrected for bias and skewness;
        ``"percentile"``, the plain bootstrap; ``"t"``, Student's, which needs SciPy; ``"bounded"``, a wider one, valid for
        any number of queries and any values within the metric's bounds (or, if it has none, within the values found), for
        values of 0 and 1 that of Clopper and Pearson; ``"poisson"``, the bootstrap of tables in parts, which draws each
        query by a number derived from its id and the seed, so that the result does not depend on the number of parts.
        Spark and Dask always use it.
    weights
        The column of the queries' weights, 0 or more, such as their frequencies in a log; the same in all rows of a
        query. ``None`` weighs all queries equally.
    resamples
        The number of resamples of the queries of a slice; all metrics share the same draws.
    seed
        The seed of the draws. Equal seeds give equal intervals, on every machine and for any order of the rows.
    progress
        Whether long computations show a progress bar; only on a terminal, and only if ``rich`` is installed.

    Returns
    -------
    A frame with the run (the column ``run``, or the one that `run` names) if runs are named, the slice's columns,
    ``metric``, ``n_queries`` (UInt32, the queries whose value is not null), ``std`` (the standard deviation over the
    queries; null for fewer than two), ``total`` (of counts such as ``num_ret`` the sum, which trec_eval prints; null
    for other metrics), ``mean`` (for ``gm_map`` and ``gm_bpref``, as in trec_eval, the geometric mean), ``ci_low`` and
    ``ci_high`` (the interval of ``mean``), all Float64, and ``interval`` (String, its kind); the last three are null for
    fewer than two queries and left out with ``ci=None``.

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
    >>> found = df.rank.summarize("rr", by="day")
    >>> found["day"].to_list(), found["mean"].to_list(), found["n_queries"].to_list()
    (['mo', 'tu'], [0.5, 0.0], [2, 1])
    >>> found = df.rank.summarize("rr", interval="percentile")      # of 0 and 1 relevant
    >>> found["ci_low"].item(), found["ci_high"].item()
    (0.0, 1.0)
    """
    resampling = SummaryResampling(ci, interval, resamples, seed, progress)
    return _of_runs(ranker, Runs.of(runs, run), names_of(by), _summary.summarize, (weights, resampling), metrics)


def _of_runs(
    ranker: Summarizer[R],
    runs: Runs,
    by: tuple[str, ...],
    verb: Callable[..., object],
    args: tuple[object, ...],
    metrics: Sequence[Request],
) -> R:
    """The figures of each run: one table, in which the run is a slice or a column of its own."""
    ranker = ranker._of(runs)
    setups, by = runs.apart(ranker._setup, by)
    if not runs.columns:
        return ranker._run(verb, by, *args, *metrics)
    with once_each():
        found = {run: ranker._with(setup)._run(verb, by, *args, *metrics) for run, setup in setups.items()}
    return ranker._below(found) if runs.scores else found[""]
