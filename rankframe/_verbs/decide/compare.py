"""Compare runs on the same queries: paired tests, intervals of the differences, effect sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

import polars as pl
import polars.selectors as cs

from ... import stats
from ..._catalog.call import Call
from ..._catalog.means import Mean, unscaled
from ..._catalog.registry import COMPARED
from ..._catalog.requests import Request, averaged
from ..._results.columns import schema
from ..._results.compared_runs import MeansOfRuns, gives_chances, of_pairs, pairs_shown
from ..._results.grid import (
    ALPHA,
    Grid,
    Record,
    left_out,
    records,
)
from ..._results.result import MOST_ROWS, Block, Format, Result, quotes_of
from ..._results.sentences import (
    IN_TEXT,
    Quotes,
    chances_of,
    headlines,
)
from ..._statistics.estimate import Estimate
from ..._statistics.sample import difference_of_logarithms
from ..._statistics.weighted_means import over, spreads
from ..._support.floats import Floats, Integers, np
from ..._support.option_kinds import Column
from ..._support.progress import Progress
from ..._support.statistical_options import (
    CORRECTIONS,
    PLANNED,
    Correction,
    Family,
    OfDifferences,
    Planned,
    Rope,
    Test,
)
from ..._table.runs import names_of
from ..._table.shared_options import OfComparison
from ..._table.table import Table, refuse_names
from ..call.declaration import verb
from ..measure.paired_values import Design, PairedValues, Pairs, differences, paired_values
from ..sample.judged import Help, sentences_of
from ..sample.resampling import CLUSTER, Resampling, warn_of_t
from ..sample.settings import settings_of
from ..sample.slices import in_slices
from ..sample.unequal_runs import unequal
from .estimation import Choice, Estimation
from .ranks import ranks_of, tied_for_top
from .sequential import Looks, price, warn_of_drift
from .slice_of_pairs import SliceOfPairs, directions, in_order_of

if TYPE_CHECKING:
    from typing import Unpack

R = TypeVar("R")

R_co = TypeVar("R_co", covariant=True)

TABLE = {
    **schema("metric baseline run baseline_mean mean difference ci_low ci_high interval"),
    **schema("p_value p_adjusted"),
    "effect_size": pl.Float64(),
    **schema("wins ties losses n_queries"),
}

OF_CLUSTERS: dict[str, Any] = {"n_clusters": pl.UInt32}
"""The column with `cluster`."""

HIDDEN = dict.fromkeys(("#number", "#exact", "#width_ratio", "#crossed"), pl.Float64)
"""Columns that settings and gates read: the queries counted with equal weights, whether p is exact,
and of looks the ratio of widths and whether a bound was crossed."""

MOST_RUNS = 8
"""The most runs whose pairs a terminal and a notebook show; of more they show the ranking."""


@dataclass(frozen=True, repr=False)
class Comparison(Result[R_co]):
    """Runs compared on the same queries.

    Attributes
    ----------
    table
        A row per metric, slice and pair of runs: the slice's columns, ``metric``, ``baseline``,
        ``run``, ``baseline_mean`` and ``mean`` (of the baseline and of the run, over the queries
        where both have a value), ``difference`` (``mean`` less ``baseline_mean``), its interval
        from ``ci_low`` to ``ci_high`` and the kind of that ``interval`` (String, such as
        ``"bounded"``), ``p_value``, ``p_adjusted``, ``effect_size`` (Cohen's d_z: the mean of the
        differences over their standard deviation; null where they do not spread), all Float64; and
        ``wins``, ``ties``, ``losses`` (UInt32: on how many queries the run is better than the
        baseline, equal, worse) and ``n_queries`` (UInt32: those where both have a value), with
        `cluster` also ``n_clusters`` (UInt32). With ``test="bayes"``, ``p_value`` is null, and
        ``p_better``, ``p_equivalent`` and ``p_worse`` (Float64, of the run) sum to 1. With
        `model_labels` or `adjust`, ``n_judged``, ``tuned_weight`` (of the model's labels, or the
        column's coefficient), ``variance_saved`` and ``queries_to_halve`` of the difference, as for
        `summarize`; with `model_labels`, each mean has a weight of its own, so that ``difference``
        is not exactly ``mean`` less ``baseline_mean``.
    per_query
        A row per run and query: the query, its slice, ``run``, and a column per metric.
    per_query_delta
        A row per pair of runs and query: the query, its slice, ``baseline``, ``run``, and the
        difference per metric.
    ranks
        A row per metric, slice and run, the best run first: the slice's columns, ``metric``,
        ``run``, ``mean`` (Float64, over the queries where all runs have a value), its ``rank``
        (UInt32: 1 is the best; equal means share the best rank), an interval of the true rank from
        ``rank_low`` to ``rank_high`` (UInt32: percentiles over resamples of the queries, and every
        rank that the corrected test leaves open), how many runs it ``beats`` and is ``beaten_by``
        (UInt32: by that test, at the level 1 - `ci`), and its ``group`` (UInt32: 1 has the runs
        tied for the top, which none beats; n + 1 those that are beaten by a run of group n, and by
        none of a later group; null without p-values, and with a `baseline`, as other pairs have no
        test). With `model_labels` or `adjust`, ``mean`` and ``rank`` are over the queries that
        people judged, and the tests those of ``table``. Where the correction is ``"holm"`` or the
        test Tukey's, the intervals of all runs hold at once.
    settings
        How it was computed: the runs, the test, the correction, the resamples, the seed, how many
        p-values are exact (``"enumerated"``), the policies, the versions; of a sequential test,
        ``"sequential"``, with the method, the looks and how many times as wide each row's interval
        is as that of a single look (``"width_ratio"``).
    """

    table: R_co
    per_query: R_co
    per_query_delta: R_co
    ranks: R_co
    settings: Mapping[str, Any]

    def sentences(self, quotes: Quotes = IN_TEXT) -> list[str]:
        """The runs tied for the top, of more than two; then the rows, one by one or together."""
        rows = records(self.table)
        settings = self.settings
        if gives_chances(settings):
            return chances_of(rows, settings, quotes)
        tied = tied_for_top(records(self.ranks), settings, quotes)
        return [*tied, *headlines(rows, settings, quotes), *sentences_of(rows, settings)]

    def grids(self, most: int | None = MOST_ROWS) -> list[Grid]:
        """A row per metric, slice and pair of runs."""
        rows = records(self.table)
        notes = self._notes(rows, most)
        return [of_pairs(rows, self.settings, most, notes)]

    def _notes(self, rows: Sequence[Record], most: int | None) -> list[str]:
        """What it takes to read the figures: unequal judgments, looks, rows left out."""
        return [*unequal(self.settings), *price(self.settings), *left_out(self, rows, most)]

    def grid(self, digits: int = 3, alpha: float = ALPHA) -> Grid:
        """A row per run and slice; letters name the runs that it is significantly better than."""
        means = MeansOfRuns.of(records(self.table), self.settings, alpha).by_run(digits)
        return replace(means, notes=(*means.notes, *unequal(self.settings)))

    def shown(self, how: Format, most: int | None = MOST_ROWS) -> list[Block]:
        """Of more than eight runs the ranking comes first; a notebook also has a row per run."""
        rows = records(self.table)
        n_runs = len(self.settings["runs"])
        notes = self._notes(rows, most)
        legend, pairs = pairs_shown(rows, self.settings, how, most, notes)
        sentences = self.sentences(quotes_of(how))
        means = MeansOfRuns.of(rows, self.settings, ALPHA)
        by_run = [means.by_run(3)] if how == "html" and n_runs > 2 else []
        if n_runs <= MOST_RUNS:
            return [[*sentences, *legend], pairs, *by_run]
        ranking = by_run or [means.ranking()]
        return [sentences, *ranking, legend, pairs]


@dataclass(frozen=True)
class Significance:
    """The test of a difference, and the correction for several tests in a family."""

    test: str
    correction: str | None
    family: Family = "all"

    def by(self, choice: Choice) -> Significance:
        """The test and the correction by the chosen estimator.

        It may be no test, may correct by itself or give no p-value.
        """
        row = choice.estimator
        test = self.test if choice.is_test else row.name
        correction = self.correction if row.gives_p else None
        return replace(self, test=test, correction=row.name if row.corrected else correction)

    def adjusted(self, table: pl.DataFrame) -> pl.DataFrame:
        """The table with its p-values corrected, family by family."""
        by_name: dict[str | None, Correction] = {name: name for name in CORRECTIONS}
        family = [] if self.family == "all" else ["metric"]
        return adjusted(table, by_name.get(self.correction), family)


def adjusted(
    table: pl.DataFrame, correction: Correction | None, family: Sequence[str]
) -> pl.DataFrame:
    """The table with corrected p-values; a family is equal in the columns `family`."""
    p_adjusted = np.full(table.height, np.nan)
    families = in_slices(table.with_row_index("#row"), family)
    for rows in families.values():
        at = rows["#row"].to_numpy()
        p = rows["p_value"].fill_null(np.nan).to_numpy()
        p_adjusted[at] = stats.adjust(p, correction)
    return table.with_columns(pl.Series("p_adjusted", p_adjusted).fill_nan(None))


@verb(gives="whole", among=COMPARED, watched=True, by_parts=True, usual={"resamples": 10_000})
def compare(
    table: Table[R],
    *metrics: Request,
    baseline: Column | None = None,
    test: Test = "auto",
    correction: Correction | None = "holm",
    family: Family = "all",
    interval: OfDifferences = "auto",
    rope: Rope = 0.0,
    model_labels: Column | None = None,
    adjust: Column | None = None,
    adjust_mean: float | None = None,
    look: Column | None = None,
    planned: Planned = PLANNED,
    **shared: Unpack[OfComparison],
) -> Comparison[R]:
    """Compare two or more runs on the same queries, by paired tests.

    Parameters
    ----------
    *metrics
        Texts, functions, values and expressions, as for :meth:`evaluate`; and ``"rpp"``,
        recall-paired preference, which has no value for one run: its difference is the mean over
        the queries of how far the run is ahead of the baseline, and its means are null.
    runs
        The columns of the runs' scores, in a table with a row per document; null where a run does
        not retrieve it. Or a table with labels for each run, including the table of `.rank`:
        ``{"old": df_old, "new": df_new}``. Other arguments can only name columns that all tables
        have.
    run
        The column that names the run of each row, in a table with a row per run and document;
        instead of `runs`.
    baseline
        The run that the others are compared with; ``None`` compares all pairs.
    test
        The two-sided test of the differences per query, which also gives their interval: p is below
        1 - `ci` exactly where the interval leaves out 0. ``"auto"`` takes ``"permutation"`` where
        six queries or more differ from the commonest difference, and elsewhere the interval
        ``"bounded"`` (Student's without bounds of the metric). ``"permutation"`` flips the signs of
        the differences: in all ways if at most sixteen queries differ, else at random, with p = (b
        + 1) / (resamples + 1), so never 0. ``"t"`` is the paired t-test, ``"bootstrap"`` resamples
        Student's statistic. ``"tukey"`` is the randomised honestly significant difference, whose
        p-values and intervals hold for all pairs of a metric and slice at once; it takes only the
        queries where all runs have a value. ``"bayes"`` is the Bayesian signed-rank test of
        baycomp, which gives probabilities that a run is better, equivalent and worse in place of
        p-values. ``"sequential"`` may be read at every look while queries come in: its intervals
        (confidence sequences) and p-values hold at all looks at once, and only shrink; metrics need
        bounds.
    correction
        The correction for several comparisons: ``"holm"`` bounds the chance of any false alarm,
        ``"bh"`` and ``"by"`` (Benjamini-Hochberg, -Yekutieli) the share of false alarms among all
        alarms; ``None`` for no correction. ``"fdr_bh"`` and ``"fdr_by"``, as statsmodels names
        them, are read, too. Tukey's test corrects by itself.
    family
        The rows of the table that are corrected together: ``"all"`` corrects all metrics and slices
        together, ``"metric"`` corrects each metric separately, which bounds the false alarms per
        metric and not over all metrics.
    by
        The columns whose values slice the queries, as for :meth:`summarize`.
    ci
        The confidence of the interval of each difference; ``None`` for no intervals, as for
        :meth:`summarize`: ``ci_low``, ``ci_high``, ``interval`` and the intervals of ranks are
        null, and runs beat each other at the level 0.05.
    interval
        Instead of a test, the interval that gives p, too: ``"bounded"``, ``"bca"``,
        ``"percentile"``, as for :meth:`summarize`, or a test by its name. The differences of a
        metric have bounds if the metric has.
    weights
        The column of the queries' weights, or a metric that is the same for all runs, such as
        ``"num_rel"``, as for :meth:`summarize`.
    cluster
        The column of the users, or of other clusters of queries that are not independent, as for
        :meth:`summarize`: the unit of tests and intervals is then the cluster, whose difference is
        the weighted mean of those of its queries, and whose sign is flipped as one. Figures such as
        ``wins`` and ``n_queries`` still count queries.
    missing
        With `run`, queries that a run lacks: ``"error"`` refuses them, ``"drop"`` leaves them out
        for all runs, ``"zero"`` counts them as 0. With `runs`, a run retrieves nothing for a query
        without scores.
    rope
        With ``test="bayes"``, the region of practical equivalence: the largest difference of two
        queries' mean that counts as none.
    model_labels
        The column of a model's labels, as for :meth:`summarize`: differences per query are those by
        people's labels. Interval and p-value are Student's. ``wins``, ``ties`` and ``losses`` count
        the model's labels where people judged nothing.
    adjust
        A column with one value per query that was known before, such as ``"score last month"``, or
        the text of a metric of the baseline that reads no labels: the differences are adjusted for
        it, by its mean over more queries than people judged (CUPED). Either some queries of the
        table have no label, or `adjust_mean` is given. Each slice needs 30 judged queries, drawn at
        random; needs SciPy. The estimate is unbiased up to the error of the coefficient; interval
        and p-value are Student's.
    adjust_mean
        The mean of `adjust` over all queries that the runs are for.
    look
        For the sequential test: the column that says when a query came, such as a day: values that
        sort, the same in all rows of a query. Queries of one look enter in an order derived from
        their ids; queries without a look come last, so give each one if you look again. ``None``:
        they enter in the order of the table, which must have nothing to do with their values;
        append later queries to its end.
    planned
        For the sequential test: about how many queries will come. It chooses the method, betting
        below 10,000 and empirical Bernstein from there on; keep it at all looks.
    resamples, seed, progress
        As for :meth:`summarize`; all metrics and runs share the same draws.

    Returns
    -------
    A :class:`rankframe.results.Comparison`, whose ``table``, ``per_query``, ``per_query_delta`` and
    ``ranks`` are frames of the caller's kind. Of a LazyFrame only the values per query are held in
    memory.

    Raises
    ------
    InvalidOption
        If there are fewer than two runs, or no such baseline; if a metric of a sequential test has
        no bounds.
    InvalidData
        If a run lacks queries and `missing` is ``"error"``.

    References
    ----------
    M. D. Smucker, J. Allan, B. Carterette (2007), A comparison of statistical significance tests
    for information retrieval evaluation, CIKM. J. A. Hartigan (1969), Using subsample values as
    typical values, JASA 64. F. Konietschke, M. Pauly (2014), Bootstrapping and permuting paired
    t-test type statistics, Statistics and Computing 24. B. Carterette (2012), Multiple testing in
    statistical analysis of systems-based information retrieval experiments, ACM TOIS 30. A.
    Benavoli, F. Mangili, G. Corani, M. Zaffalon, F. Ruggeri (2014), A Bayesian Wilcoxon signed-rank
    test based on the Dirichlet process, ICML. A. Deng, Y. Xu, R. Kohavi, T. Walker (2013),
    Improving the sensitivity of online controlled experiments by utilizing pre-experiment data,
    WSDM. I. Waudby-Smith, A. Ramdas (2024), Estimating means of bounded random variables by
    betting, JRSS B 86.

    Examples
    --------
    The new run is better on all six queries: of the 64 ways to flip signs, two give a sum as far
    from 0. As all six differ by the same, the default would take the bounded estimator.

    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({"query_id": [1, 2, 3, 4, 5, 6] * 2, "doc_id": ["a"] * 6 + ["b"] * 6,
    ...     "label": [1] * 6 + [0] * 6, "old": [0] * 6 + [1] * 6, "new": [1] * 6 + [0] * 6})
    >>> table = df.rank.compare("rr", runs=["old", "new"], test="permutation").table
    >>> float(table["difference"][0]), float(table["p_value"][0]), int(table["wins"][0])
    (0.5, 0.03125, 6)
    >>> table = df.rank.compare("rr", runs=["old", "new"], test="bayes", rope=0.1).table
    >>> table["p_better"].item() > 0.99
    True
    """
    known = Help(model_labels, adjust, adjust_mean).checked(names_of(shared.get("by")))
    ci = shared.get("ci")
    choice = Choice.of_test(test, interval, known).checked(
        ci,
        test=(test, "auto"),
        interval=(interval, "auto"),
        rope=(rope, 0.0),
        look=(look, None),
        planned=(planned, PLANNED),
        weights=(shared.get("weights"), None),
        cluster=(shared.get("cluster"), None),
        adjust_mean=(adjust_mean, None),
    )
    estimator = choice.estimator
    design = Design.of(shared, baseline, known)
    of_interval = interval if estimator.takes("interval") else estimator.name
    resampling = Resampling.of(shared, of_interval)
    example = "compare('ndcg@10', runs=['bm25', 'ltr'])"
    calls = averaged(metrics, example, table.setup, weighs=estimator.takes("weights"))
    choice.refuse_metrics(calls)
    looks = Looks.of(estimator, ci, planned, look).checked(calls, correction)
    of_bayes = {"rope": rope} if estimator.takes("rope") else {}
    options = {**of_bayes, **looks.options, "interval": interval, "adjust_mean": adjust_mean}
    estimation = Estimation(estimator, resampling, options)
    values, figures = compared(table, calls, design, estimation, looks)
    significance = Significance(test, correction, family).by(choice)
    figures = significance.adjusted(figures)
    warn_of_t(figures, resampling)
    settings = settings_of(
        table,
        calls,
        design.settings,
        asdict(significance),
        of_bayes,
        looks.settings(values, figures),
        asdict(resampling) | {"interval": interval},
        values.settings,
        runs=values.runs,
        enumerated=int(figures["#exact"].sum()),
    )
    figures = figures.drop(HIDDEN)
    ranks = ranks_of(values, figures, design, resampling)
    return Comparison(
        table.give(figures),
        table.give(values.long()),
        table.give(deltas(values, design)),
        table.give(ranks),
        settings,
    )


def deltas(values: PairedValues, design: Design) -> pl.DataFrame:
    """The differences of each pair of runs, query by query."""
    every_query = np.arange(len(values.queries))
    tables = []
    for first, second in design.pairs(values.runs):
        sides = values.sides([(first, second)], every_query)
        names = {"baseline": values.runs[first], "run": values.runs[second]}
        tables.append(values.rows(names, differences(*sides)))
    return pl.concat(tables)


def compared(
    table: Table[Any], calls: Sequence[Call], design: Design, estimation: Estimation, looks: Looks
) -> tuple[PairedValues, pl.DataFrame]:
    """The runs' values, and a row per metric, slice and pair of runs, with the columns `HIDDEN`."""
    clusters = OF_CLUSTERS if design.cluster is not None else {}
    dtypes = {**TABLE, **clusters, **estimation.estimator.columns, **HIDDEN}
    refuse_names([*dtypes], design.by, "by")
    values = paired_values(table, calls, design, sized=True)
    values = looks.arranged(values, table)
    pairs = design.pairs(values.runs)
    no_figures = pl.DataFrame(schema=dtypes)
    tables = [pl.DataFrame([*values.of_slices([]), *no_figures])]
    with Progress("comparing runs", estimation.resampling.progress) as progress:
        for rows in values.slices:
            part = SliceOfPairs.of(values, rows, pairs)
            figures = of_slice(part, estimation, progress)
            warn_of_drift(figures)
            where = values.of_slices(rows[:1].tolist() * figures.height)
            tables.append(pl.DataFrame([*where, *figures]))
    return values, in_order_of(calls, pl.concat(tables))


def compared_values(
    values: PairedValues, rows: Integers, pairs: Pairs, estimation: Estimation, progress: Progress
) -> pl.DataFrame:
    """The figures of a slice, by metric and then pair of runs."""
    part = SliceOfPairs.of(values, rows, pairs)
    return of_slice(part, estimation, progress).drop(HIDDEN)


def of_slice(part: SliceOfPairs, estimation: Estimation, progress: Progress) -> pl.DataFrame:
    """The figures of a slice, by metric and then pair of runs, with the columns `HIDDEN`."""
    part.refuse_unfit_judgments()
    sample = part.sample(estimation.estimator.needs)
    estimate = estimation.of(sample, progress)
    figures = names_of_pairs(part)
    figures |= means_and_intervals(part, estimate, estimation)
    figures |= counts(part)
    if CLUSTER in part.paired.queries:
        figures["n_clusters"] = (~np.isnan(sample.values)).sum(axis=0)
    further = estimation.estimator.columns
    figures |= {name: estimate.more[name] for name in further}
    figures |= hidden(part, estimate)
    dtypes = {**TABLE, **OF_CLUSTERS, **further, **HIDDEN}
    table = pl.DataFrame(figures).with_columns(cs.float().fill_nan(None))
    return table.cast({name: dtypes[name] for name in table.columns})


def names_of_pairs(part: SliceOfPairs) -> dict[str, Any]:
    """The metric, the baseline and the run of each column."""
    runs = part.paired.runs
    n_metrics = len(part.paired.calls)
    return {
        "metric": [call.text for call in part.calls],
        "baseline": [runs[first] for first, _ in part.pairs] * n_metrics,
        "run": [runs[second] for _, second in part.pairs] * n_metrics,
    }


def means_and_intervals(
    part: SliceOfPairs, estimate: Estimate, estimation: Estimation
) -> dict[str, Any]:
    """Means, difference, interval, p and effect size, on the metrics' own scales."""
    calls = part.calls
    of_both = np.array([call.of_pairs for call in calls])
    is_geometric = np.array([Mean.of(call).is_geometric for call in calls])
    mean_a = estimation.mean(part.first)
    mean_b = estimation.mean(part.second)

    def on_own_scale(x: Floats) -> Floats:
        return np.where(is_geometric, difference_of_logarithms(x, mean_a, mean_b), x)

    effect = over(estimate.value, spreads(part.tested, part.weights))
    return {
        "baseline_mean": np.where(of_both, np.nan, unscaled(mean_a, calls)),
        "mean": np.where(of_both, np.nan, unscaled(mean_b, calls)),
        "difference": on_own_scale(estimate.value),
        "ci_low": on_own_scale(estimate.low),
        "ci_high": on_own_scale(estimate.high),
        "interval": pl.Series([*estimate.kinds], dtype=pl.String),
        "p_value": estimate.p,
        "p_adjusted": estimate.p,
        "effect_size": np.where(np.isfinite(effect), effect, np.nan),
    }


def counts(part: SliceOfPairs) -> dict[str, Any]:
    """On how many queries the run is better, equal and worse, and of how many."""
    better_by = part.changes * directions(part.calls)
    return {
        "wins": (better_by > 0).sum(axis=0),
        "ties": (better_by == 0).sum(axis=0),
        "losses": (better_by < 0).sum(axis=0),
        "n_queries": (~np.isnan(better_by)).sum(axis=0),
    }


def hidden(part: SliceOfPairs, estimate: Estimate) -> dict[str, Floats]:
    """The columns `HIDDEN`."""
    unknown = np.full(len(part.calls), np.nan)
    of_estimator = {name: estimate.more.get(name.removeprefix("#"), unknown) for name in HIDDEN}
    return {**of_estimator, "#number": part.numbers}
