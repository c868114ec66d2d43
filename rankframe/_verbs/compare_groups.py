"""Gaps between groups of queries, such as users: the differences of the groups' means of a metric, with intervals and a test."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import polars as pl

from .. import stats
from .._catalog.call import Call
from .._catalog.means import scaled, unscaled
from .._catalog.registry import METRICS
from .._catalog.requests import Request, averaged
from .._results.grid import Cell, Grid, decimals, interval, left_out, name_of, named, number, p_cell, percent, records
from .._results.result import MOST_ROWS, R_co, Result
from .._results.sentences import IN_TEXT, Quotes, gap_sentence
from .._statistics.sample import Limits
from .._support.draws import each, words
from .._support.floats import Booleans, Floats, Integers, np
from .._support.option_kinds import ColumnNames
from .._support.progress import Progress
from .._support.statistical_options import CORRECTIONS, Confidence, Correction, Resamples, Seed
from .._table.run_and_judgments import runs_in
from .._table.runs import Runs, names_of
from .._table.setup import refuse_bounds
from .._table.table import R, Table, refuse_names
from .._words.pairs import starts_of
from ..errors import InvalidData, option, warn
from .compare import adjusted, settings_of
from .declaration import verb
from .resampling import Resampling, limits, warn_of_t
from .summary import Summary, keys

FIGURES = ("difference", "ratio", "relative_std", "mean_difference")
"""The figures of a gap, in the order of rows."""

LEAST = 1e-12
"""The least mean in logarithms, in place of 0."""

TABLE = {
    "metric": pl.String, "gap": pl.String, "value": pl.Float64, "ci_low": pl.Float64, "ci_high": pl.Float64,
    "interval": pl.String, "p_value": pl.Float64, "p_adjusted": pl.Float64, "best": pl.String, "worst": pl.String,
    "best_mean": pl.Float64, "worst_mean": pl.Float64, "n_groups": pl.UInt32, "n_queries": pl.UInt32,
}  # fmt: skip


@dataclass(frozen=True, repr=False)
class GroupComparison(Result[R_co]):
    """The gap between the means of groups of queries, such as users.

    Attributes
    ----------
    table
        A row per metric and figure: ``metric``, ``gap`` (``"difference"``, the best group's mean less the worst
        group's, ``"ratio"``, the smallest mean over the largest, ``"relative_std"``, the standard deviation of the
        groups' means over their mean, ``"mean_difference"``, the mean difference of two groups), ``value``, its
        interval from ``ci_low`` to ``ci_high``, ``p_value`` and ``p_adjusted`` (all Float64), the kind of the ``interval``
        (String, as of :meth:`summarize`: ``"bounded"`` if few queries of a group differ), ``best`` and ``worst`` (the groups
        as text), ``best_mean`` and ``worst_mean`` (Float64), ``n_groups`` and ``n_queries`` (UInt32: groups, and queries, with
        a value).
    groups
        A row per metric and group: ``metric``, the group's columns, ``mean`` (Float64) and ``n_queries`` (UInt32), the
        best group first.
    settings
        How it was computed: the metrics, the columns of groups, the correction, the resamples, the seed, the policies, the
        versions.
    """

    table: R_co
    groups: R_co
    settings: Mapping[str, Any]

    def sentences(self, quotes: Quotes = IN_TEXT) -> list[str]:
        """The sentence of each metric's gap."""
        rows = records(self.table)
        return [gap_sentence(row, self.settings) for row in rows if row["gap"] == "difference"]

    def grids(self, most: int | None = MOST_ROWS) -> list[Grid]:
        """A row per metric and figure: value, interval and p."""
        rows = records(self.table)
        body = []
        for row in rows[:most]:
            value = row["value"]
            ends = interval(row["ci_low"], row["ci_high"], decimals(value))
            shown = "" if value is None else f"{number(value, decimals(value))}{ends}"
            groups = (Cell(name_of(row[name] or "")) for name in ("best", "worst"))
            body.append((*named(row, "metric"), *groups, *named(row, "gap"), Cell(shown), Cell(p_cell(row))))
        figures = (f"value [{percent(self.settings)} interval]", "p")
        correction, n = self.settings["correction"], len(self.settings["metrics"])
        corrected = f", after {CORRECTIONS[correction]} for {n} metrics" if correction and n > 1 else ""
        note = f"p by permutation of the groups of {' and '.join(self.settings['by'])} among queries{corrected}."
        notes = (note, *left_out(self, rows, most))
        return [Grid(("metric", "best", "worst", "gap"), figures, body, notes)]


@verb(gives="whole", among=METRICS, watched=True)
def compare_groups(
    table: Table[R],
    *metrics: Request,
    by: ColumnNames,
    correction: Correction | None = "holm",
    ci: Confidence = 0.95,
    resamples: Resamples = 1_000,
    seed: Seed = 0,
    progress: bool = True,
) -> GroupComparison[R]:
    """Gaps between groups of queries, such as users: how far their means are apart, and whether that may be chance.

    Parameters
    ----------
    *metrics
        Texts, functions, values and expressions, as for :meth:`evaluate`.
    by
        The column, or columns, whose values tell the groups apart, as for :meth:`summarize`; null is a group, too.
    correction
        The correction of the p-values of several metrics, as for :meth:`compare`.
    ci
        The confidence of the intervals, for which queries are resampled inside their groups. The intervals take into
        account that the data determine the best and the worst group.
    resamples
        The number of resamples, and of random assignments of queries to groups in the permutation test.
    seed
        The seed of the draws. Equal seeds give equal results, for any order of the rows.
    progress
        Whether long computations show a progress bar; only on a terminal, and only if ``rich`` is installed.

    Returns
    -------
    A :class:`rankframe.results.GroupComparison`, whose ``table`` and ``groups`` are frames of the caller's kind. A LazyFrame is collected
    first. Queries without a value do not count. No interval if a group has a single query.

    The p-values of a metric's four figures test the same hypothesis, that groups do not differ: choose one figure
    before you look at the results.

    Raises
    ------
    InvalidData
        If all queries are in one group, or a query has several values of `by`.

    References
    ----------
    Ekstrand, Tian, Azpiazu, Ekstrand, Anuyah, McNeill, Pera, All the cool kids, how do they fit in?, FAT* 2018. The means
    of absolute differences are those of Deldjoo, Anelli, Zamani, Bellogin, Di Noia, A flexible framework for evaluating
    user and item fairness in recommender systems, UMUAI 31, 2021.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({"query_id": [*range(8)], "score": [1] * 8, "label": [1] * 5 + [0] * 3,
    ...     "age": ["old"] * 4 + ["young"] * 4})
    >>> table = df.rank.compare_groups("rr", by="age").table               # of the means 1 and 1/4
    >>> table["gap"].to_list()[:2], table["value"].to_list()[:2], table["best"][0]
    (['difference', 'ratio'], [0.75, 0.25], 'old')
    """
    of, resampling = names_of(by), Resampling(ci, "auto", resamples, seed, progress)
    calls = averaged(metrics, "compare_groups('ndcg@10', by='age')", table.setup)
    refuse_bounds(table.setup)
    refuse_names([*TABLE, "mean"], of, "by")
    for name in runs_in(table.setup):
        if table.rows[name].n_unique() > 1:
            says = f"column {name!r} names runs, and each query counts once for each run"
            warn(f"{says}, which makes gaps look surer; keep one run")
    users = Summary(tuple(calls), table.setup, Runs(), of, None, resampling).per_query(table.rows)
    found = users.select(keys(of)).unique(maintain_order=True).sort(keys(of), nulls_last=True).with_row_index("#group")
    if found.height < 2:
        says = "all queries are in one group; name the column, or columns, that tell groups apart, as "
        raise InvalidData(says, option(by="age"))
    users = users.join(found, on=keys(of), nulls_equal=True).sort("#group", *table.setup.roles.query)
    values = users.select(pl.col([call.text for call in calls]).fill_null(math.nan)).to_numpy()
    starts = starts_of(users["#group"].to_numpy())
    groups = Groups(scaled(values, calls), starts, calls, limits(values, calls), resampling)
    names = pl.concat_str([pl.col(key).cast(pl.String).fill_null("null") for key in keys(of)], separator=", ")
    with Progress("resampling queries", resampling.progress) as bar:
        figures = groups.table(found.select(names).to_series(), bar)
    warn_of_t(figures, resampling)
    settings = settings_of(table, calls, {"by": list(of), "correction": correction}, asdict(resampling))
    named = [pl.col(key).alias(name) for name, key in zip(of, keys(of), strict=True)]
    of_groups = groups.means_by_group(found.select(named))
    return GroupComparison(table.give(adjusted(figures, correction, ["gap"])), table.give(of_groups), settings)


def figures_of(means: Floats) -> Floats:
    """The figures of `FIGURES` from the means of groups in the first axis; groups without a mean do not count."""
    n = (~np.isnan(means)).sum(axis=0)
    difference, deviation, mean_difference = spreads_of(means)
    with np.errstate(invalid="ignore", divide="ignore"):
        most = np.fmax.reduce(means, axis=0)
        ratio = np.where(most > 0, np.fmin.reduce(means, axis=0) / most, np.nan)
        relative = deviation / np.abs(np.nansum(means, axis=0) / n)
    return np.where(n > 1, np.stack([difference, ratio, relative, mean_difference]), np.nan)


def spreads_of(x: Floats) -> Floats:
    """The spread of numbers along the first axis: range, standard deviation and mean difference; NaN does not count."""
    x = np.sort(x, axis=0)  # NaN last
    n = (~np.isnan(x)).sum(axis=0)
    place = np.arange(1, len(x) + 1).reshape(-1, *[1] * (x.ndim - 1))
    with np.errstate(invalid="ignore", divide="ignore"):
        deviation = np.sqrt(np.nansum((x - np.nansum(x, axis=0) / n) ** 2, axis=0) / n)
        mean_difference = np.nansum((2 * place - n - 1) * x, axis=0) / (n * (n - 1) / 2)
        return np.stack([np.fmax.reduce(x, axis=0) - x[0], deviation, mean_difference])


@dataclass(frozen=True)
class Groups:
    """Users in groups.

    Attributes
    ----------
    values
        Users by metrics, on the scales of their means; users are sorted by group.
    starts
        The first user of each group.
    calls, within
        The metrics, and their least and greatest values.
    resampling
        The interval, the resamples and the seed.
    """

    values: Floats
    starts: Integers
    calls: Sequence[Call]
    within: Limits
    resampling: Resampling

    def means(self, values: Floats) -> tuple[Floats, Floats]:
        """The means of the groups, groups by metrics, NaN without a value, and how many values each has."""
        there = ~np.isnan(values)
        each_sum = (np.where(there, values, 0.0), there.astype(float))
        sums, counts = (np.add.reduceat(x, self.starts, axis=0) for x in each_sum)
        with np.errstate(invalid="ignore", divide="ignore"):
            return unscaled(sums / counts, self.calls), counts

    def table(self, names: pl.Series, progress: Progress) -> pl.DataFrame:
        """A row per metric and figure."""
        means, counts = self.means(self.values)
        value = figures_of(means)
        low, high, kinds = self._intervals(value, progress)
        low[:, ((counts > 0) & (counts < 2)).any(axis=0)] = np.nan  # a group of one user does not spread
        high[np.isnan(low)] = np.nan
        p = self._p_values(value, progress)
        rows = []
        for i, call in enumerate(self.calls):
            there = np.flatnonzero(~np.isnan(means[:, i]))
            order = there[np.argsort(means[there, i], kind="stable")]
            order = order if call.higher_is_better else order[::-1]
            best, worst = (None if len(order) == 0 else int(order[end]) for end in (-1, 0))
            named = (None if g is None else names[g] for g in (best, worst))
            ends = (*named, *(None if g is None else float(means[g, i]) for g in (best, worst)))
            counted = len(there), int(counts[:, i].sum())
            for j, gap in enumerate(FIGURES):
                numbers = (float(x[j, i]) for x in (value, low, high))
                kind = None if math.isnan(low[j, i]) else kinds[i]
                rows.append((call.text, gap, *numbers, kind, float(p[j, i]), float(p[j, i]), *ends, *counted))
        return pl.DataFrame(rows, TABLE, orient="row").with_columns(pl.col(pl.Float64).fill_nan(None))

    def means_by_group(self, groups: pl.DataFrame) -> pl.DataFrame:
        """A row per metric and group, the best group of each metric first."""
        means, counts = self.means(self.values)
        parts = []
        for i, call in enumerate(self.calls):
            mean = pl.Series("mean", means[:, i]).fill_nan(None)
            size = pl.Series("n_queries", counts[:, i]).cast(pl.UInt32)
            part = groups.select(pl.lit(call.text).alias("metric"), pl.all(), mean, size)
            parts.append(part.sort("mean", descending=call.higher_is_better, nulls_last=True, maintain_order=True))
        return pl.concat(parts)

    def _intervals(self, value: Floats, progress: Progress) -> tuple[Floats, Floats, list[str]]:
        """The intervals of the figures, and the kind of each metric's: users are resampled inside their groups.

        The spread of observed means differs from that of the true means by at most the spread of the errors; so the interval is
        the observed figure plus or minus a quantile of the same figure of the errors, for the ratio on the logarithms. It holds
        although the best and the worst group are chosen after the fact.
        """
        of_groups, kinds = [], []
        for group, part in enumerate(np.split(self.values, self.starts[1:])):
            seed = int(np.random.SeedSequence([self.resampling.seed, group]).generate_state(1, np.uint64)[0])
            weights = np.ones(len(part))
            there: Booleans = np.count_nonzero(~np.isnan(part), axis=0) > 0
            automatic = zip(stats.automatic(part, weights, self.within.declared), there, strict=True)
            kinds.append(["percentile" if x == "bca" or not has else x for x, has in automatic])
            ends = self.within.least, self.within.greatest
            drawn = stats.replicates(part, weights, kinds[-1], ends, self.resampling.resamples, seed)
            of_groups.append([unscaled(x, self.calls) for x in drawn])
            progress(group + 1, len(self.starts))
        below, above = np.stack(of_groups, axis=1)
        means_found = self.means(self.values)[0][:, None]
        ci = 0.0 if self.resampling.ci is None else self.resampling.ci
        with np.errstate(invalid="ignore", divide="ignore"):
            errors = _largest(below - means_found, above - means_found)
            logarithm, below, above = (np.log(np.maximum(x, LEAST)) for x in (means_found, below, above))
            of_logarithms = _largest(below - logarithm, above - logarithm)[0]
            means_found = means_found[:, 0]
            difference, deviation, mean_difference = np.quantile(np.nan_to_num(errors), ci, axis=1)
            factor = np.exp(np.quantile(np.nan_to_num(of_logarithms), ci, axis=0))
            relative = deviation / np.abs(np.nansum(means_found, axis=0) / (~np.isnan(means_found)).sum(axis=0))
            wide = np.stack([difference, np.zeros_like(factor), relative, mean_difference])
        low, high = np.maximum(value - wide, 0.0), value + wide
        ratio = FIGURES.index("ratio")
        low[ratio], high[ratio] = value[ratio] / factor, np.minimum(np.maximum(value[ratio], LEAST) * factor, 1.0)
        of_metrics = [{*of_groups} for of_groups in zip(*kinds, strict=True)]
        low[:, [None in x for x in of_metrics]] = np.nan
        return low, high, [next((kind for kind in ("t", "bounded") if kind in x), "percentile") for x in of_metrics]

    def _p_values(self, value: Floats, progress: Progress) -> Floats:
        """The share of random assignments of users to groups, the observed one included, with gaps as large as observed."""
        noise = 1e-12
        ratio = FIGURES.index("ratio")
        as_large = np.zeros(value.shape)
        draws = self.resampling.resamples, self.resampling.seed, len(self.values), progress
        for drawn in each(partial(words, kind="<u8"), *draws):
            means, _ = self.means(self.values[np.argsort(drawn, kind="stable")])
            found = figures_of(means)
            large = found >= value * (1 - noise)
            large[ratio] = found[ratio] <= value[ratio] * (1 + noise)
            as_large += large
        return np.where(np.isnan(value), np.nan, (as_large + 1) / (self.resampling.resamples + 1))


def _largest(below: Floats, above: Floats) -> Floats:
    """The largest spreads of errors of which each is the one below or the one above: some are above, the others below."""
    order = np.argsort(below + above, axis=0)
    below, above = (np.take_along_axis(x, order, axis=0) for x in (below, above))
    found = spreads_of(below)
    for first in range(1, len(below) if (below != above).any() else 1):
        found = np.fmax(found, spreads_of(np.concatenate([below[:first], above[first:]])))
    return found
