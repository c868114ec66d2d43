"""From numbers to decisions: summaries over all queries, comparisons of runs, power and gates as methods."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar, cast

from .._decisions import compare, gate, mean, mergeable_summary
from .._decisions import power as _power
from .._decisions.compare import Comparison, Significance
from .._decisions.gate import Verdict
from .._decisions.paired_values import Design, Lacking
from .._decisions.resampling import Resampling, SummaryMethod, SummaryResampling
from .._decisions.runs import Runs
from .._support.tests_and_intervals import Correction, Method, Test
from .._verbs import verbs
from .metric_methods import Ranker
from .misplaced_options import asks_for_metrics

__all__ = ["DecidingRanker"]

R = TypeVar("R")


class DecidingRanker(Ranker[R]):
    """Summaries with intervals, comparisons of runs, and gates."""

    @abstractmethod
    def _run(self, verb: Callable[..., Any], *args: Any) -> R:
        """The verb's result as the caller's kind of frame, or an object with several such frames."""

    @asks_for_metrics
    def mean(self, *metrics: verbs.Request, by: str | Sequence[str] | None = None) -> R:
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
        return self._run(mean.mean, _names(by), *metrics)

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
        """Compare two or more runs on the same queries, by paired tests.

        Parameters
        ----------
        *metrics
            Texts and functions, as for :meth:`evaluate`.
        runs
            The columns of the runs' scores, in a table with a row per document; null where a run does not retrieve it.
        run
            Instead: the column that names the run of each row, in a table with a row per run and document.
        baseline
            The run that the others are compared with; ``None`` compares all pairs.
        test
            The two-sided test of the differences per query. ``"permutation"`` flips their signs: in all ways if at most
            twenty queries differ, else at random, with p = (b + 1) / (resamples + 1), so never 0. ``"t"`` is the paired
            t-test (SciPy), ``"bootstrap"`` resamples the differences minus their mean. ``"tukey"`` is the randomised
            honestly significant difference, whose p-values hold for all pairs of a metric and slice at once.
        correction
            The correction over all rows of the table: ``"holm"`` bounds the chance of any false alarm, ``"bh"`` and
            ``"by"`` (Benjamini-Hochberg, -Yekutieli) their share among the alarms; ``None`` for none. Tukey's test has its own.
        by
            The columns whose values slice the queries, as for :meth:`summarize`.
        ci, method
            The confidence and the kind of the interval of each difference, as for :meth:`summarize`.
        weights
            The column of the queries' weights, as for :meth:`summarize`.
        missing
            With `run`, queries that a run lacks: ``"error"`` refuses them, ``"drop"`` leaves them out for all runs,
            ``"zero"`` counts them 0. With `runs`, nothing was retrieved for a query without scores.
        resamples, seed, progress
            As for :meth:`summarize`; all metrics and runs share the same draws.

        Returns
        -------
        A :class:`rankframe.Comparison`, whose ``table``, ``per_query`` and ``per_query_delta`` are frames of the caller's
        kind. A LazyFrame is collected first.

        Raises
        ------
        InvalidOption
            If there are fewer than two runs, or no such baseline.
        InvalidData
            If a run lacks queries and `missing` is ``"error"``.

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
        design = Design(Runs.of(runs, run), baseline, _names(by), weights, missing)
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
        """The number of queries needed to detect a difference, from the spread of the runs' differences per query.

        Parameters
        ----------
        *metrics
            Texts and functions, as for :meth:`evaluate`.
        difference
            The difference of the means to detect, above 0; or several.
        power
            The required probability of detecting it.
        alpha
            The level of the two-sided paired t-test.
        runs, run, baseline, by, missing
            As for :meth:`compare`.

        Returns
        -------
        A frame with the slice's columns, ``metric``, ``baseline``, ``run``, ``std`` (of the differences per query) and
        ``difference`` (Float64), ``n_queries`` (UInt32, the table's), ``power`` (Float64, with so many queries) and
        ``queries_needed`` (Int64; null if all differences are equal). A LazyFrame is collected first.
        Needs SciPy.

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
        design = Design(Runs.of(runs, run), baseline, _names(by), None, missing)
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
        """Gate a release: pass only if no metric may have fallen by more than its budget, in any slice.

        A run passes if the confidence bound of its difference from the baseline, on the worse side, is within the
        budget. With too few queries it does not pass: if nothing changes, a budget of 0.01 needs 299 queries, one of
        0.05 needs 59. All metrics, slices and runs have to pass, so no correction is needed.

        Parameters
        ----------
        budgets
            How much worse the mean of each metric may be, 0 or more, as ``{"ndcg@10": 0.01, "map": 0.02}``.
        runs, run, baseline, by, weights, missing
            As for :meth:`compare`; the default baseline is the first of `runs`.
        confidence
            The confidence of the one-sided bound: a run that is worse by the whole budget passes with a probability of
            at most 1 minus it, for any distribution of its losses, if the queries are a random draw.
        method
            The method of the bound, as for :meth:`summarize`. Only ``"bounded"`` guarantees that probability; the
            others need 50 queries and pass more runs: more that are no worse, and more whose losses are rare but large.
        most_moved
            The number of queries to show per metric and run, those that moved most.
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
        design = Design(Runs.of(runs, run), baseline, _names(by), weights, missing)
        rules = gate.Gate(budgets, confidence, most_moved)
        resampling = Resampling(rules.ci, method, resamples, seed, progress)
        return cast("Verdict[R]", self._run(gate.gate, design, rules, resampling))

    @asks_for_metrics
    def noninferior(
        self, *metrics: verbs.Request, margin: float, baseline: str | None = None, **options: Any
    ) -> Verdict[R]:
        """Gate runs by one margin for all metrics: :meth:`gate` with equal budgets.

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
