"""From numbers to decisions: what a ranker of a frame says of all queries at once, and of several runs."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar, cast

from .._decisions import compare, gate, mergeable_summary
from .._decisions import power as _power
from .._decisions.compare import Comparison, Correction, Significance, Test
from .._decisions.gate import Verdict
from .._decisions.resampling import Method, Resampling, SummaryMethod, SummaryResampling
from .._decisions.runs import Design, Lacking
from .._table.roles import score_columns
from .._verbs import verbs
from .metric_methods import Ranker
from .misplaced_options import asks_for_metrics

__all__ = ["DecidingRanker"]

R = TypeVar("R")


class DecidingRanker(Ranker[R]):
    """Summaries with intervals, comparisons of runs, and gates."""

    @abstractmethod
    def _run(self, verb: Callable[..., Any], *args: Any) -> R:
        """The verb's result as the caller's kind of frame, or what has several such."""

    @asks_for_metrics
    def summarize(
        self,
        *metrics: verbs.Request,
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
            The confidence of the intervals; ``None`` for none, which costs no resampling.
        method
            The interval of the mean: ``"bca"``, the bootstrap corrected for bias and skewness; ``"percentile"``, the
            plain bootstrap; ``"t"``, Student's, which needs SciPy; ``"bounded"``, which holds however few queries there
            are and however they spread, as long as values stay within the metric's bounds (or where it has none, within
            those found), and is wider; ``"poisson"``, the plain bootstrap of tables in parts, which draws each query by
            a number made of its id and the seed: the same for any number of parts. Spark and Dask have this one alone,
            and say so in a further column, ``ci_method``.
        weights
            The column of the queries' weights, 0 or more, such as how often each was asked; the same in all rows of a
            query. ``None`` weighs them alike.
        resamples
            How many times the queries of a slice are drawn anew; the same draws serve all metrics.
        seed
            Where the draws start. Equal seeds give equal intervals, on every machine and whatever the rows' order.
        progress
            Whether long work shows a bar, which it does on a terminal where ``rich`` is installed.

        Returns
        -------
        A frame with the slice's columns, ``metric``, ``mean`` (of the metrics that trec_eval sums up that way, the
        geometric mean), ``std`` (the standard deviation over the queries; null for fewer than two), ``ci_low`` and
        ``ci_high`` (the interval of ``mean``; null for fewer than two queries; left out with ``ci=None``), all Float64,
        ``n_queries`` (UInt32), those whose value is not null, and ``total`` (Float64; the sum, as trec_eval sums counts
        up).

        Raises
        ------
        InvalidData
            If a query has several values of a slice or a weight, or a weight is no number from 0 on.

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
        return self._run(mergeable_summary.summarize, _names(by), weights, resampling, *metrics)

    @asks_for_metrics
    def compare(
        self,
        *metrics: verbs.Request,
        runs: Sequence[str] | None = None,
        run: str | None = None,
        baseline: str | None = None,
        test: Test = "permutation",
        correction: Correction | None = "holm",
        by: str | Sequence[str] | None = None,
        ci: float = 0.95,
        method: Method = "bca",
        weights: str | None = None,
        missing: Lacking = "error",
        resamples: int = 10_000,
        seed: int = 0,
        progress: bool = True,
    ) -> Comparison[R]:
        """Two or more runs compared on the same queries, by paired tests.

        Parameters
        ----------
        *metrics
            Texts and functions, as for :meth:`evaluate`.
        runs
            The columns of the runs' scores, in a table with a row per document; null where a run does not retrieve it.
        run
            Instead: the column that names the run of each row, in a table with a row per run and document.
        baseline
            The run that the others are compared with; ``None`` compares every two.
        test
            Two-sided, of the differences per query. ``"permutation"`` gives them random signs; all there are where no
            more than twenty queries differ, else p is (b + 1) / (resamples + 1), so never 0. ``"t"`` is the paired
            t-test (SciPy), ``"bootstrap"`` resamples the differences less their mean. ``"tukey"`` is the randomised
            honestly significant difference, whose p-values hold for all pairs of a metric and slice at once.
        correction
            For how many rows the table has: ``"holm"`` bounds the chance of any false alarm, ``"bh"`` and ``"by"``
            (Benjamini-Hochberg, -Yekutieli) their share among the alarms; ``None`` for none. Tukey's test has its own.
        by
            The columns whose values slice the queries, as for :meth:`summarize`.
        ci, method
            The confidence and the kind of the interval of each difference, as for :meth:`summarize`.
        weights
            The column of the queries' weights, as for :meth:`summarize`.
        missing
            With `run`, queries that a run lacks: ``"error"`` refuses them, ``"drop"`` leaves them out for all runs,
            ``"zero"`` counts them 0. With `runs`, a query without scores is one where nothing was retrieved.
        resamples, seed, progress
            As for :meth:`summarize`; the same draws serve all metrics and runs.

        Returns
        -------
        A :class:`rankframe.Comparison`, whose ``table``, ``per_query`` and ``per_query_delta`` are frames of the caller's
        kind. A LazyFrame is collected first.

        Raises
        ------
        InvalidOption
            If there are no two runs, or no such baseline.
        InvalidData
            If a run lacks queries and nothing says what becomes of them.

        References
        ----------
        M. D. Smucker, J. Allan, B. Carterette (2007), A comparison of statistical significance tests for information
        retrieval evaluation, CIKM. B. Carterette (2012), Multiple testing in statistical analysis of systems-based
        information retrieval experiments, ACM TOIS 30.

        Examples
        --------
        Six queries, on all of which the new run is better: of the 64 ways to choose signs, two are as far from 0.

        >>> import polars as pl, rankframe as rf
        >>> df = pl.DataFrame({"query_id": list(range(6)) * 2, "doc_id": ["a"] * 6 + ["b"] * 6, "label": [1] * 6 + [0] * 6})
        >>> df = df.with_columns(old=1 - pl.col("label"), new=pl.col("label"))
        >>> df.rank.compare("rr", runs=["old", "new"]).table.select("difference", "p_value", "wins").row(0)
        (0.5, 0.03125, 6)
        """
        design = Design(score_columns(runs), run, baseline, _names(by), weights, missing)
        resampling = Resampling(ci, method, resamples, seed, progress)
        testing = Significance(test, correction)
        return cast("Comparison[R]", self._run(compare.compare, design, testing, resampling, *metrics))

    @asks_for_metrics
    def power(
        self,
        *metrics: verbs.Request,
        difference: float | Sequence[float],
        power: float = 0.8,
        alpha: float = 0.05,
        runs: Sequence[str] | None = None,
        run: str | None = None,
        baseline: str | None = None,
        by: str | Sequence[str] | None = None,
        missing: Lacking = "error",
    ) -> R:
        """How many queries it takes to see a difference, by how far the runs' differences spread over the queries.

        Parameters
        ----------
        *metrics
            Texts and functions, as for :meth:`evaluate`.
        difference
            The difference of the means to be seen, above 0; or several.
        power
            The chance to see it that is wanted.
        alpha
            The level of the two-sided paired t-test that is to see it.
        runs, run, baseline, by, missing
            As for :meth:`compare`.

        Returns
        -------
        A frame with the slice's columns, ``metric``, ``baseline``, ``run``, ``difference``, ``std`` (of the differences
        per query), ``power`` (the chance with the table's queries), all Float64, ``n_queries`` (UInt32, the table's)
        and ``queries_needed`` (Int64; null where the differences do not spread). A LazyFrame is collected first.
        SciPy is needed.

        Raises
        ------
        InvalidOption
            If a difference is not above 0, or a metric is summed up by its geometric mean.

        References
        ----------
        J. Cohen (1988), Statistical power analysis for the behavioral sciences, chapter 2.

        Examples
        --------
        >>> import polars as pl, rankframe as rf
        >>> df = pl.DataFrame({"query_id": [1, 1, 2, 2], "doc_id": list("abab"), "label": [1, 0, 1, 0]})
        >>> df = df.with_columns(old=pl.Series([1, 2, 2, 1]), new=pl.Series([2, 1, 1, 2]))  # differences of 1/2 and -1/2
        >>> df.rank.power("rr", runs=["old", "new"], difference=0.1).select("std", "queries_needed").rows()
        [(0.7071067811865476, 395)]
        """
        design = Design(score_columns(runs), run, baseline, _names(by), None, missing)
        return self._run(_power.power, design, _power.Effects(difference, power, alpha), *metrics)

    @asks_for_metrics
    def gate(
        self,
        budgets: Mapping[verbs.Request, float],
        *,
        baseline: str | None = None,
        runs: Sequence[str] | None = None,
        run: str | None = None,
        by: str | Sequence[str] | None = None,
        confidence: float = 0.95,
        method: Method = "bounded",
        weights: str | None = None,
        missing: Lacking = "error",
        most_moved: int = 10,
        resamples: int = 10_000,
        seed: int = 0,
        progress: bool = True,
    ) -> Verdict[R]:
        """Whether no metric may have fallen by more than its budget, in any slice: the gate before a release.

        A run passes where the confidence bound of its difference from the baseline, to the worse side, stays within the
        budget. Too few queries to tell is no pass: where nothing changes, a budget of 0.01 takes 299 queries, one of 0.05
        takes 59. All of metrics, slices and runs have to pass, so no correction is needed.

        Parameters
        ----------
        budgets
            How much worse the mean of each metric may be, 0 or more, as ``{"ndcg@10": 0.01, "map": 0.02}``.
        runs, run, baseline, by, weights, missing
            As for :meth:`compare`; without a baseline it is the first of `runs`.
        confidence
            That of the one-sided bound: a run that is worse by the whole budget passes with a chance of 1 less that at
            the most, however its losses spread over the queries, if the queries are a random draw.
        method
            Of the bound, as for :meth:`summarize`. Only ``"bounded"`` keeps that promise; the others take 50 queries,
            pass more runs that are no worse, and more that are where few queries lose much.
        most_moved
            How many of the queries that moved most are shown per metric and run.
        resamples, seed, progress
            As for :meth:`summarize`.

        Returns
        -------
        A :class:`rankframe.Verdict`, true if all pass, whose ``table``, ``failures`` and ``moved`` are frames of the
        caller's kind. A LazyFrame is collected first.

        Examples
        --------
        >>> import polars as pl, rankframe as rf
        >>> df = pl.DataFrame({"query_id": [1, 1, 2, 2], "doc_id": list("abab"), "label": [1, 0, 1, 0]})
        >>> df = df.with_columns(old=pl.Series([2, 1, 2, 1]), new=pl.Series([2, 1, 1, 2]))
        >>> verdict = df.rank.gate({"rr": 0.3}, runs=["old", "new"], baseline="old")
        >>> bool(verdict), verdict.failures.select("run", "difference", "verdict", "queries_needed").rows()
        (False, [('new', -0.25, 'too few queries', 9)])
        """
        design = Design(score_columns(runs), run, baseline, _names(by), weights, missing)
        rules = gate.Gate(budgets, confidence, most_moved)
        resampling = Resampling(rules.ci, method, resamples, seed, progress)
        return cast("Verdict[R]", self._run(gate.gate, design, rules, resampling))

    @asks_for_metrics
    def noninferior(
        self, *metrics: verbs.Request, margin: float, baseline: str | None = None, **options: Any
    ) -> Verdict[R]:
        """Whether runs are no worse than the baseline by more than one margin: :meth:`gate` with equal budgets.

        Parameters
        ----------
        *metrics
            Texts and functions, as for :meth:`evaluate`.
        margin
            How much worse the mean may be, 0 or more.
        baseline, **options
            As for :meth:`gate`.

        Returns
        -------
        A :class:`rankframe.Verdict`, as :meth:`gate` gives it.

        References
        ----------
        E. Walker, A. S. Nowacki (2011), Understanding equivalence and noninferiority testing, JGIM 26.

        Examples
        --------
        Thirty queries, on each of which the new run finds the document at once, and the old one second:

        >>> import polars as pl, rankframe as rf
        >>> df = pl.DataFrame({"query_id": list(range(30)) * 2, "doc_id": ["a"] * 30 + ["b"] * 30})
        >>> df = df.with_columns(label=pl.Series([1] * 30 + [0] * 30)).with_columns(old=1 - pl.col("label"), new="label")
        >>> bool(df.rank.noninferior("rr", "map", margin=0.01, runs=["old", "new"]))
        True
        """
        return self.gate(dict.fromkeys(metrics, margin), baseline=baseline, **options)


def _names(by: str | Sequence[str] | None) -> tuple[str, ...]:
    """The columns of the slices."""
    return (by,) if isinstance(by, str) else tuple(by or ())
