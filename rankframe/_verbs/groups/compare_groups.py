"""Groups that share no query or user, as of an A/B test: differences and ratios of means."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations
from typing import TYPE_CHECKING, Any

import polars as pl

from ..._catalog.call import Call
from ..._catalog.means import Mean, scaled, unscaled
from ..._catalog.registry import METRICS
from ..._catalog.requests import Request, averaged
from ..._results.columns import Shows, grid, schema, table_in
from ..._results.grid import (
    Cell,
    Grid,
    Record,
    decimals,
    interval,
    left_out,
    name_of,
    number,
    records,
)
from ..._results.result import MOST_ROWS, R_co, Result
from ..._results.sentences import IN_TEXT, Quotes, gap_sentence, group_sentence
from ..._statistics.sample import Limits, Sample, difference_of_logarithms
from ..._statistics.two_groups import contrasted
from ..._statistics.weighted_means import by_column, means
from ..._support.floats import Floats, np
from ..._support.option_kinds import Column, ColumnNames
from ..._support.progress import Progress
from ..._support.statistical_options import (
    CORRECTIONS,
    OF_GROUPS,
    VERY_FEW,
    Correction,
    OfGroups,
)
from ..._table.run_and_judgments import runs_in
from ..._table.runs import Runs, names_of
from ..._table.setup import refuse_bounds
from ..._table.shared_options import IntervalsOfGroups
from ..._table.table import R, Table, refuse_names
from ...errors import InvalidData, InvalidOption, did_you_mean, option, warn
from ..call.declaration import verb
from ..decide.compare import adjusted
from ..measure.summary import Summary
from ..sample.resampling import CLUSTER, Resampling, limits, numbers_in
from ..sample.slices import keys, names_by_key
from .spread_of_groups import TABLE as SPREAD, Spread, means_of_groups

if TYPE_CHECKING:
    from typing import Unpack

TABLE = schema(
    "metric baseline group baseline_mean mean difference ci_low ci_high ratio ratio_low "
    "ratio_high interval p_value p_adjusted n_baseline n_group"
)


@dataclass(frozen=True, repr=False)
class GroupComparison(Result[R_co]):
    """The comparison of groups of queries or users that share none.

    Attributes
    ----------
    table
        A row per metric and pair of groups: ``metric``, ``baseline`` and ``group`` (the groups as
        text), ``baseline_mean`` and ``mean``, ``difference`` (``mean`` less ``baseline_mean``) and
        its interval from ``ci_low`` to ``ci_high``, ``ratio`` (``mean`` over ``baseline_mean``) and
        its interval from ``ratio_low`` to ``ratio_high``, ``p_value`` and ``p_adjusted`` (all
        Float64), ``interval`` (String, the estimator of both intervals and of p: ``"t"``,
        ``"bounded"`` or ``"permutation"``), ``n_baseline`` and ``n_group`` (UInt32: queries with a
        value, or clusters of them).
    spread
        For three groups or more, a row per metric and figure: ``metric``, ``gap``
        (``"difference"``, the best group's mean less the worst group's, ``"ratio"``, the smallest
        mean over the largest, ``"relative_std"``, the standard deviation of the groups' means over
        their mean, ``"mean_difference"``, the mean difference of two groups), ``value``, its
        interval from ``ci_low`` to ``ci_high``, ``p_value`` and ``p_adjusted`` (all Float64), the
        kind of the ``interval`` (String, as of :meth:`summarize`), ``best`` and ``worst`` (the
        groups as text), ``best_mean`` and ``worst_mean`` (Float64), ``n_groups`` and ``n_queries``
        (UInt32: groups, and queries, with a value).
    groups
        A row per metric and group: ``metric``, the group's columns, ``mean`` (Float64) and
        ``n_queries`` (UInt32), the best group first.
    settings
        How it was computed: the metrics, the columns of groups, the test, the correction, the
        resamples, the seed, the policies, the versions.
    """

    table: R_co
    spread: R_co
    groups: R_co
    settings: Mapping[str, Any]

    def sentences(self, quotes: Quotes = IN_TEXT) -> list[str]:
        """The sentence of each metric's two groups, or of the best and the worst of several."""
        spread = records(self.spread)
        if not spread:
            return [group_sentence(row, self.settings) for row in records(self.table)]
        differences = [row for row in spread if row["gap"] == "difference"]
        return [gap_sentence(row, self.settings) for row in differences]

    def grids(self, most: int | None = MOST_ROWS) -> list[Grid]:
        """A row per metric and pair of groups; and one per metric and figure of the spread."""
        grids = [self._pairs(most)]
        if len(records(self.spread)):
            grids.append(self._spread(most))
        return grids

    def _pairs(self, most: int | None) -> Grid:
        """The grid of differences, ratios and p-values of pairs of groups."""
        rows = records(self.table)
        estimators = {row["interval"] for row in rows}
        tests = " and ".join(text for name, text in OF_GROUPS.items() if name in estimators)
        notes = left_out(self, rows, most)
        if tests:
            corrected = _corrected(self.settings, len(rows))
            notes = [f"Intervals and p by {tests}{corrected}.", *notes]
        cells: dict[str, Shows] = {
            "mean": _mean,
            "baseline_mean": _mean,
            "difference": _estimate,
            "ratio": _estimate,
        }
        named = "metric", "group", "baseline"
        figures = "mean baseline_mean difference ratio p_adjusted"
        heads = {"baseline_mean": "baseline's"}
        return grid(self, rows, named, figures, notes, most, heads=heads, cells=cells)

    def _spread(self, most: int | None) -> Grid:
        """The grid of the figures of the spread."""
        rows = records(self.spread)
        settings = self.settings
        corrected = _corrected(settings, len(settings["metrics"]), "metrics")
        groups = " and ".join(settings["by"])
        note = f"Intervals and p by resampling inside the groups of {groups}{corrected}."
        notes = (note, *left_out(self, rows, most))
        cells: dict[str, Shows] = {"best": _one_group, "worst": _one_group, "value": _spread}
        named = "metric", "best", "worst", "gap"
        return grid(self, rows, named, "value p_adjusted", notes, most, cells=cells)


def _mean(row: Record, name: str) -> Cell:
    """A mean, with as many decimals as the difference."""
    return Cell(number(row[name], decimals(row["difference"])))


ENDS = {"difference": ("ci_low", "ci_high"), "ratio": ("ratio_low", "ratio_high")}
"""The columns of the intervals of difference and ratio."""


def _estimate(row: Record, name: str) -> Cell:
    """The difference or the ratio of two groups, and its interval."""
    low, high = ENDS[name]
    digits = decimals(row["difference"])
    return Cell(f"{number(row[name], digits)}{interval(row[low], row[high], digits)}")


def _one_group(row: Record, name: str) -> Cell:
    """A group; empty if there is none."""
    return Cell(name_of(row[name] or ""))


def _spread(row: Record, name: str) -> Cell:
    """A figure of the spread, and its interval; empty if there is none."""
    value = row[name]
    if value is None:
        return Cell("")
    digits = decimals(value)
    return Cell(f"{number(value, digits)}{interval(row['ci_low'], row['ci_high'], digits)}")


def _corrected(settings: Mapping[str, Any], n: int, noun: str = "comparisons") -> str:
    """The correction of the p-values of several metrics or comparisons, in words."""
    correction = settings["correction"]
    return f", p after {CORRECTIONS[correction]} for {n} {noun}" if correction and n > 1 else ""


@verb(gives="whole", among=METRICS, watched=True, by_parts=True, usual={"resamples": 10_000})
def compare_groups(
    table: Table[R],
    *metrics: Request,
    by: ColumnNames,
    baseline: Column | None = None,
    test: OfGroups = "auto",
    correction: Correction | None = "holm",
    **options: Unpack[IntervalsOfGroups],
) -> GroupComparison[R]:
    """Compare groups that share no query, such as the arms of an A/B test or users by age: the
    unpaired (two-sample) test.

    Parameters
    ----------
    *metrics
        Texts, functions, values and expressions, as for :meth:`evaluate`.
    by
        The column, or columns, whose values tell the groups apart, as for :meth:`summarize`; null
        is a group, too.
    baseline
        The group, as text, that others are compared with, such as ``"control"``; of several
        columns, their values with ``", "`` between them. ``None`` compares all pairs, each with the
        group that is first in the order of values.
    test
        What gives p and both intervals. ``"t"`` is Welch's t-test, for groups of unequal size and
        spread, which needs SciPy; ``"permutation"`` assigns queries to groups at random, for groups
        that spread alike; ``"bounded"`` is valid for few and skewed values within the metric's
        bounds. ``"auto"`` takes ``"t"``; but where fewer than six queries of a group differ from
        its commonest value, ``"bounded"`` for a metric with bounds, and for any other
        ``"permutation"`` if all values of each group are equal.
    correction
        The correction of the p-values of several metrics and pairs of groups together, as for
        :meth:`compare`.
    cluster
        The column of the users, or of other clusters of queries that are not independent, if they
        and not queries were assigned to groups. Each cluster counts as one unit, with the weighted
        mean of its queries and the sum of their weights.
    resamples
        The number of draws of ``"permutation"`` and ``"bounded"``, and of the spread of three
        groups or more.

    Returns
    -------
    A :class:`rankframe.results.GroupComparison`, whose ``table``, ``spread`` and ``groups`` are
    frames of the caller's kind. Of a LazyFrame only the values per query are held in memory.
    Queries without a value do not count. A group of a single query has no interval. An interval
    leaves out 0, and that of the ratio 1, exactly where ``p_value`` is below 1 - `ci`; the ratio
    has none where the baseline's mean may be 0, or values may be negative.

    Raises
    ------
    InvalidData
        If all queries are in one group, a query has several values of `by`, or a cluster is in
        several groups.

    References
    ----------
    B. L. Welch (1947), The generalization of Student's problem, Biometrika 34. E. C. Fieller
    (1954), Some problems in interval estimation, JRSS B 16, for the ratio. Of the spread: Ekstrand,
    Tian, Azpiazu, Ekstrand, Anuyah, McNeill, Pera, All the cool kids, how do they fit in?, FAT*
    2018; Deldjoo, Anelli, Zamani, Bellogin, Di Noia, A flexible framework for evaluating user and
    item fairness in recommender systems, UMUAI 31, 2021.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({"query_id": [*range(8)], "score": [1] * 8, "label": [1] * 5 + [0] * 3,
    ...     "age": ["old"] * 4 + ["young"] * 4})
    >>> table = df.rank.compare_groups("rr", by="age").table               # of the means 1 and 1/4
    >>> table["group"][0], table["difference"].to_list(), table["ratio"].to_list()
    ('young', [-0.75], [0.25])
    """
    columns = names_of(by)
    setup = table.setup
    resampling = Resampling.of(options, "auto")
    calls = averaged(metrics, "compare_groups('ndcg@10', by='age')", setup)
    refuse_bounds(setup)
    refuse_names(["metric", "mean", "n_queries"], columns, "by")
    weights = options.get("weights")
    cluster = options.get("cluster")
    summary = Summary(tuple(calls), setup, Runs(), columns, weights, resampling, cluster=cluster)
    users = table.by_parts(summary.of_part)
    for name in runs_in(setup):
        if users[name].n_unique() > 1:
            says = f"column {name!r} names runs, and each query counts once for each run"
            warn(f"{says}, which makes differences look surer; keep one run")
    groups = Groups.of(users, columns, summary)
    pairs = groups.pairs(baseline)
    with Progress("resampling queries", resampling.progress) as bar:
        of_pairs = groups.table(pairs, test, bar)
        spread = groups.spread(bar)
    if test == "auto":
        warn_of_few(of_pairs, calls)
    return GroupComparison(
        table.give(adjusted(of_pairs, correction, [])),
        table.give(adjusted(spread, correction, ["gap"])),
        table.give(groups.means_by_group()),
        {"interval": resampling.interval},
    )


@dataclass(frozen=True)
class Groups:
    """Units (queries, or clusters of them) in groups.

    Attributes
    ----------
    columns
        The values of the group's columns, a row per group.
    samples
        The units of each group, on the scales of the metrics' means.
    calls, within
        The metrics, and the limits of their values.
    resampling
        The confidence, the resamples and the seed.
    """

    columns: pl.DataFrame
    samples: Sequence[Sample]
    calls: Sequence[Call]
    within: Limits
    resampling: Resampling

    @classmethod
    def of(cls, per_query: pl.DataFrame, by: Sequence[str], summary: Summary) -> Groups:
        """The groups in the values of all queries."""
        key = keys(by)
        groups = per_query.select(key).unique(maintain_order=True)
        groups = groups.sort(key, nulls_last=True)
        if groups.height < 2:
            says = "name the column, or columns, that tell groups apart, as "
            raise InvalidData("all queries are in one group; ", says, option(by="age"))
        rows = per_query.join(groups.with_row_index("#group"), on=key, nulls_equal=True)
        rows = rows.sort("#group", *summary.setup.roles.query)
        samples = _samples(rows, summary)
        columns = groups.rename(names_by_key(by))
        return cls(columns, samples, summary.calls, samples[0].limits, summary.resampling)

    @property
    def names(self) -> list[str]:
        """The groups as text."""
        texts = [pl.col(name).cast(pl.String).fill_null("null") for name in self.columns.columns]
        names = self.columns.select(pl.concat_str(texts, separator=", "))
        return names.to_series().to_list()

    @property
    def numbers(self) -> Floats:
        """How many units of each group count for each metric."""
        return np.stack([_numbers(sample) for sample in self.samples])

    def pairs(self, baseline: str | None) -> list[tuple[int, int]]:
        """The pairs of groups, the baseline first."""
        names = self.names
        if baseline is None:
            return [*combinations(range(len(names)), 2)]
        if baseline not in names:
            hint = did_you_mean(baseline, names)
            says = f" is no group; the groups are {', '.join(names[:10])}.{hint}"
            raise InvalidOption(option(baseline=baseline), says)
        first = names.index(baseline)
        return [(first, i) for i in range(len(names)) if i != first]

    def table(
        self, pairs: Sequence[tuple[int, int]], test: OfGroups, progress: Progress
    ) -> pl.DataFrame:
        """A row per metric and pair of groups."""
        names = self.names
        numbers = self.numbers
        by_call: list[list[tuple[object, ...]]] = [[] for _ in self.calls]
        for done, (a, b) in enumerate(pairs, 1):
            contrast = self._contrast(self.samples[a], self.samples[b], test)
            for i, figures in enumerate(contrast):
                key = self.calls[i].text, names[a], names[b]
                by_call[i].append((*key, *figures, numbers[a, i], numbers[b, i]))
            progress(done, len(pairs))
        return table_in([*chain.from_iterable(by_call)], TABLE)

    def _contrast(self, a: Sample, b: Sample, test: OfGroups) -> Iterator[tuple[object, ...]]:
        """The figures of two groups, from the baseline's mean to p, metric by metric."""
        how = self.resampling
        calls = self.calls
        contrast, names = contrasted(a, b, test, how.ci, how.resamples, how.seed)
        center_a = means(a.values, a.weights)
        center_b = means(b.values, b.weights)
        mean_a = unscaled(center_a, calls).tolist()
        mean_b = unscaled(center_b, calls).tolist()
        of_columns = np.transpose([*vars(contrast).values()]).tolist()
        for i, (low, high, ratio_low, ratio_high, p) in enumerate(of_columns):
            if Mean.of(calls[i]).is_geometric:
                # The ratio of geometric means is a difference of logarithms.
                ends = np.array([low, high])
                ratio_low, ratio_high = np.exp(ends).tolist()
                low, high = difference_of_logarithms(ends, center_a[i], center_b[i]).tolist()
            if mean_a[i] > 0:
                ratio = mean_b[i] / mean_a[i]
            else:
                ratio = ratio_low = ratio_high = math.nan
            kind = None if math.isnan(low) else names[i]
            difference = mean_b[i] - mean_a[i]
            of_difference = mean_a[i], mean_b[i], difference, low, high
            yield (*of_difference, ratio, ratio_low, ratio_high, kind, p, p)

    def spread(self, progress: Progress) -> pl.DataFrame:
        """A row per metric and figure of three groups or more; of two, none."""
        if len(self.samples) < 3:
            return pl.DataFrame(schema=SPREAD)
        spread = Spread(self.samples, self.calls, self.within, self.resampling)
        return spread.table(self.names, self.numbers, progress)

    def means_by_group(self) -> pl.DataFrame:
        """A row per metric and group, the best group of each metric first."""
        group_means = means_of_groups(self.samples, self.calls)
        numbers = self.numbers
        tables = []
        for i, call in enumerate(self.calls):
            metric = pl.lit(call.text).alias("metric")
            mean = pl.Series("mean", group_means[:, i]).fill_nan(None)
            size = pl.Series("n_queries", numbers[:, i]).cast(pl.UInt32)
            table = self.columns.select(metric, pl.all(), mean, size)
            descending = call.higher_is_better
            table = table.sort("mean", descending=descending, nulls_last=True, maintain_order=True)
            tables.append(table)
        return pl.concat(tables)


def warn_of_few(table: pl.DataFrame, calls: Sequence[Call]) -> None:
    """Warn of intervals of few values without bounds."""
    unbounded = [call.text for call in calls if None in call.bounds]
    few = pl.min_horizontal("n_baseline", "n_group") < VERY_FEW
    of_few = table.filter(few, pl.col("metric").is_in(unbounded), interval="t")
    if not of_few.is_empty():
        row = of_few.row(0, named=True)
        warn(
            f"the interval of {row['metric']} over {row['n_baseline']} and {row['n_group']} "
            "queries is Welch's, too short for skewed values; more queries, or a metric with "
            "bounds, have a safer one"
        )


def refuse_clusters_of_several_groups(rows: pl.DataFrame, cluster: str) -> None:
    """Refuse a cluster whose queries are in several groups."""
    by_cluster = rows.group_by(CLUSTER, maintain_order=True)
    clusters = by_cluster.agg(pl.col("#group").n_unique())
    several = clusters.filter(pl.col("#group") > 1)
    if several.height:
        says = f"{several.height} values of {cluster!r} have queries in several groups"
        example = f"such as {several[CLUSTER][0]!r}"
        raise InvalidData(f"{says}, {example}; keep the queries of one group each")


def _samples(rows: pl.DataFrame, summary: Summary) -> list[Sample]:
    """The units of each group, from the values of queries with the number of their group."""
    calls = summary.calls
    values = numbers_in(rows, calls)
    on_scale = scaled(values, calls)
    weights = rows["#weight"].to_numpy()
    within = limits(values, calls)
    group = rows["#group"].to_numpy()
    of_groups = [group == i for i in range(group.max() + 1)]
    samples = [Sample(on_scale[there], weights[there], within) for there in of_groups]
    if summary.cluster is None:
        return samples
    refuse_clusters_of_several_groups(rows, summary.cluster)
    number = rows[CLUSTER].rank("dense").to_numpy()
    of_clusters = []
    for sample, there in zip(samples, of_groups, strict=True):
        _, cluster = np.unique(number[there], return_inverse=True)
        of_clusters.append(sample.of_clusters(cluster))
    return of_clusters


def _numbers(sample: Sample) -> Floats:
    """How many units count for each metric: those with a value and a weight."""
    has_weight = by_column(sample.weights) > 0
    counts = ~np.isnan(sample.values) & has_weight
    n: Floats = counts.sum(axis=0)
    return n
