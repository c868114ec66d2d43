"""Decisions between runs, as methods of a ranker: comparisons, their power, and gates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, TypeAlias, TypeVar, cast

from .._catalog.requests import Request, averaged
from .._support.option_kinds import Column, Columns, ReadInside
from .._support.option_values import Range
from .._support.statistical_options import Bound, Correction, Family, Interval, Test
from . import compare as _compare
from . import gate as _gate
from . import power as _power
from .compare import Comparison, Significance
from .gate import Verdict
from .paired_values import Design, Lacking
from .resampling import Resampling
from .runs import RunnerOfRuns, Runs, TheRuns, names_of

R = TypeVar("R")

Difference: TypeAlias = Annotated[float, Range(above=0)]
Most: TypeAlias = Annotated[int, Range(least=0, most=10**9)]
Chance: TypeAlias = Annotated[float, Range(above=0, below=1)]


def compare(
    ranker: RunnerOfRuns[R],
    *metrics: Request,
    runs: TheRuns | None = None,
    run: Column | None = None,
    baseline: Column | None = None,
    test: Test = "permutation",
    correction: Correction | None = "holm",
    family: Family = "all",
    by: Columns | None = None,
    ci: float = 0.95,
    interval: Interval = "auto",
    weights: Column | None = None,
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
        The columns of the runs' scores, in a table with a row per document; null where a run does not retrieve it. Or a
        table with labels for each run, including the table of `.rank`: ``{"old": df_old, "new": df_new}``. Other
        arguments can only name columns that all tables have.
    run
        The column that names the run of each row, in a table with a row per run and document; instead of `runs`.
    baseline
        The run that the others are compared with; ``None`` compares all pairs.
    test
        The two-sided test of the differences per query. ``"permutation"`` flips their signs: in all ways if at most
        twenty queries differ, else at random, with p = (b + 1) / (resamples + 1), so never 0. ``"t"`` is the paired
        t-test (SciPy), ``"bootstrap"`` resamples the differences minus their mean. ``"tukey"`` is the randomised
        honestly significant difference, whose p-values hold for all pairs of a metric and slice at once.
    correction
        The correction for several comparisons: ``"holm"`` bounds the chance of any false alarm, ``"bh"`` and
        ``"by"`` (Benjamini-Hochberg, -Yekutieli) the share of false alarms among all alarms; ``None`` for no correction.
        Tukey's test corrects by itself.
    family
        The rows of the table that are corrected together: ``"all"`` corrects all metrics and slices together, ``"metric"``
        corrects each metric separately, which bounds the false alarms per metric and not over all metrics.
    by
        The columns whose values slice the queries, as for :meth:`summarize`.
    ci
        The confidence of the interval of each difference.
    interval
        The kind of that interval, as for :meth:`summarize`. The differences of a metric have bounds if the metric has.
    weights
        The column of the queries' weights, as for :meth:`summarize`.
    missing
        With `run`, queries that a run lacks: ``"error"`` refuses them, ``"drop"`` leaves them out for all runs,
        ``"zero"`` counts them as 0. With `runs`, a run retrieves nothing for a query without scores.
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
    The new run is better on all six queries: of the 64 ways to flip signs, two give a sum as far from 0.

    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({"query_id": [1, 2, 3, 4, 5, 6] * 2, "doc_id": ["a"] * 6 + ["b"] * 6, "label": [1] * 6 + [0] * 6,
    ...     "old": [0] * 6 + [1] * 6, "new": [1] * 6 + [0] * 6})
    >>> table = df.rank.compare("rr", runs=["old", "new"]).table
    >>> float(table["difference"][0]), float(table["p_value"][0]), int(table["wins"][0])
    (0.5, 0.03125, 6)
    """
    design = Design(Runs.of(runs, run), baseline, names_of(by), weights, missing)
    resampling = Resampling(ci, interval, resamples, seed, progress)
    testing = Significance(test, correction, family)
    return cast("Comparison[R]", ranker._of(design.runs)._run(_compare.compare, design, testing, resampling, *metrics))


def power(
    ranker: RunnerOfRuns[R],
    *metrics: Request,
    difference: Difference | Sequence[Difference],
    power: Chance = 0.8,
    alpha: Chance = 0.05,
    runs: TheRuns | None = None,
    run: Column | None = None,
    baseline: Column | None = None,
    by: Columns | None = None,
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
        The required probability of detecting that difference.
    alpha
        The level of the two-sided paired t-test.
    runs, run, baseline, by, missing
        As for :meth:`compare`.

    Returns
    -------
    A frame with the slice's columns, ``metric``, ``baseline``, ``run``, ``std`` (of the differences per query) and
    ``difference`` (Float64), ``n_queries`` (UInt32, in the table), ``power`` (Float64, with that number of queries) and
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
    >>> df = pl.DataFrame({"query_id": [1, 1, 2, 2], "doc_id": list("abab"), "label": [1, 0, 1, 0],
    ...     "old": [1, 2, 2, 1], "new": [2, 1, 1, 2]})                # differences of 1/2 and -1/2
    >>> found = df.rank.power("rr", runs=["old", "new"], difference=0.1)
    >>> found["std"].to_list(), found["queries_needed"].to_list()
    ([0.7071067811865476], [395])
    """
    design = Design(Runs.of(runs, run), baseline, names_of(by), None, missing)
    return ranker._of(design.runs)._run(_power.power, design, _power.Effects(difference, power, alpha), *metrics)


def gate(
    ranker: RunnerOfRuns[R],
    budgets: Annotated[Mapping[Request, float], ReadInside],
    *,
    baseline: Column | None = None,
    runs: TheRuns | None = None,
    run: Column | None = None,
    by: Columns | None = None,
    confidence: float = 0.95,
    interval: Bound = "bounded",
    weights: Column | None = None,
    missing: Lacking = "error",
    most_moved: Most = 10,
    resamples: int = 10_000,
    seed: int = 0,
    progress: bool = True,
) -> Verdict[R]:
    """Gate a release: pass only if the queries rule out that any metric fell by more than its budget, in any slice.

    A run passes if the one-sided confidence bound of its loss against the baseline is within the budget. A run with too
    few queries does not pass: if no query changes, a budget of 0.01 needs 299 queries, a budget of 0.05 needs 59. All
    metrics, slices and runs have to pass, so no correction is needed.

    Parameters
    ----------
    budgets
        How much worse the mean of each metric may be, 0 or more, as ``{"ndcg@10": 0.01, "map": 0.02}``: in units of the
        metric, less than its range, with a warning above a quarter of it.
    baseline
        The run that the others may replace; ``None`` is the first one. With `run`, name it.
    runs, run, by, weights, missing
        As for :meth:`compare`.
    confidence
        The confidence of the one-sided bound: if the queries are a random sample, a run that is worse by exactly the
        budget passes with a probability of at most 1 - `confidence`, for any distribution of its losses.
    interval
        The kind of the interval that has the bound, as for :meth:`summarize`. Only ``"bounded"`` guarantees that
        probability. The others need 50 queries and pass more runs: more runs that are no worse, but also more with rare, large losses.
    most_moved
        How many queries to show per metric and run, those whose values changed most first.
    resamples, seed, progress
        As for :meth:`summarize`.

    Returns
    -------
    A :class:`rankframe.Verdict`, true if all pass, whose ``table``, ``failures`` and ``moved`` are frames of the
    caller's kind. A LazyFrame is collected first.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({"query_id": [1, 1, 2, 2], "doc_id": list("abab"), "label": [1, 0, 1, 0],
    ...     "old": [2, 1, 2, 1], "new": [2, 1, 1, 2]})
    >>> verdict = df.rank.gate({"rr": 0.2}, runs=["old", "new"], baseline="old")
    >>> bool(verdict), verdict.failures["verdict"].to_list(), verdict.failures["queries_needed"].to_list()
    (False, ['too few queries'], [14])
    """
    design = Design(Runs.of(runs, run), baseline, names_of(by), weights, missing)
    rules = _gate.Gate(budgets, confidence, most_moved)
    resampling = Resampling(rules.ci, interval, resamples, seed, progress)
    return cast("Verdict[R]", ranker._of(design.runs)._run(_gate.gate, design, rules, resampling))


def noninferior(
    ranker: RunnerOfRuns[R],
    *metrics: Request,
    margin: Annotated[float, Range(least=0)],
    baseline: Column | None = None,
    runs: TheRuns | None = None,
    run: Column | None = None,
    by: Columns | None = None,
    confidence: float = 0.95,
    interval: Bound = "bounded",
    weights: Column | None = None,
    missing: Lacking = "error",
    most_moved: Most = 10,
    resamples: int = 10_000,
    seed: int = 0,
    progress: bool = True,
) -> Verdict[R]:
    """Gate runs by one margin for all metrics: :meth:`gate` with equal budgets.

    Parameters
    ----------
    *metrics
        Texts and functions, as for :meth:`evaluate`.
    margin
        How much worse the mean may be, as a budget of :meth:`gate`.
    baseline, runs, run, by, confidence, interval, weights, missing, most_moved, resamples, seed, progress
        As for :meth:`gate`.

    Returns
    -------
    A :class:`rankframe.Verdict`, as :meth:`gate` gives it.

    References
    ----------
    E. Walker, A. S. Nowacki (2011), Understanding equivalence and noninferiority testing, JGIM 26.

    Examples
    --------
    On each of thirty queries, the new run ranks the relevant document first and the old run ranks it second:

    >>> import polars as pl, rankframe as rf
    >>> first, second = [1] * 30 + [0] * 30, [0] * 30 + [1] * 30
    >>> df = pl.DataFrame({"query_id": [*range(30)] * 2, "doc_id": ["a"] * 30 + ["b"] * 30, "label": first,
    ...     "old": second, "new": first})
    >>> bool(df.rank.noninferior("rr", "map", margin=0.01, runs=["old", "new"]))
    True
    """
    return gate(
        ranker,
        {x.text: margin for x in averaged(metrics, "noninferior('ndcg@10', margin=0.01, runs=['bm25', 'ltr'])")},
        baseline=baseline,
        runs=runs,
        run=run,
        by=by,
        confidence=confidence,
        interval=interval,
        weights=weights,
        missing=missing,
        most_moved=most_moved,
        resamples=resamples,
        seed=seed,
        progress=progress,
    )
