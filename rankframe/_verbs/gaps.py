"""Gaps between groups of users: the differences of the groups' means of a metric, with intervals and a test."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import polars as pl

from .._catalog.call import Call
from .._catalog.means import scaled, unscaled
from .._catalog.registry import METRICS
from .._catalog.requests import Request, averaged
from .._plan.per_query import collect, measure
from .._results.grid import (
    ALPHA,
    Cell,
    Grid,
    Record,
    decimals,
    interval,
    left_out,
    name_of,
    named,
    number,
    p_cell,
    percent,
    queries,
    records,
)
from .._results.result import MOST_ROWS, Result
from .._results.sentences import IN_TEXT, Quotes, p_of
from .._support.option_kinds import ColumnNames
from .._support.progress import Progress
from .._support.statistical_options import Confidence, Correction, Resamples, Seed
from .._table.runs import names_of
from .._table.setup import refuse_bounds
from .._table.table import Table, refuse_names
from .._words.pairs import starts_of
from ..errors import InvalidData, InvalidOption, option
from .compare import settings_of
from .declaration import verb
from .resampling import Limits, Resampling, limits, warn_of_t
from .summary import by_query, keys

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from .._support.floats import Floats

R = TypeVar("R")

R_co = TypeVar("R_co", covariant=True)

FIGURES = ("difference", "ratio", "relative_std", "mean_difference")
"""The figures of a gap, in the order of rows."""

LEAST = 1e-12
"""The least mean in logarithms, in place of 0."""

TABLE = {
    "metric": pl.String, "gap": pl.String, "value": pl.Float64, "ci_low": pl.Float64, "ci_high": pl.Float64,
    "interval": pl.String, "p_value": pl.Float64, "p_adjusted": pl.Float64, "best": pl.String, "worst": pl.String,
    "best_mean": pl.Float64, "worst_mean": pl.Float64, "n_groups": pl.UInt32, "n_queries": pl.UInt32,
}  # fmt: skip


@dataclass(frozen=True)
class Groups:
    """The groups of users to compare, and the correction of the p-values of several metrics."""

    by: tuple[str, ...]
    correction: Correction | None

    def __post_init__(self) -> None:
        if not self.by:
            raise InvalidOption("say which column tells the groups of users apart, as ", option(by="age"))


@dataclass(frozen=True, repr=False)
class Gaps(Result[R_co]):
    """The gap between the means of groups of users.

    Attributes
    ----------
    table
        A row per metric and figure: ``metric``, ``gap`` (``"difference"``, the best group's mean less the worst
        group's, ``"ratio"``, the smallest mean over the largest, ``"relative_std"``, the standard deviation of the
        groups' means over their mean, ``"mean_difference"``, the mean difference of two groups), ``value``, its
        interval from ``ci_low`` to ``ci_high``, ``p_value`` and ``p_adjusted`` (all Float64), the kind of the ``interval``
        (String, as of :meth:`summarize`: ``"bounded"`` if few users of a group differ), ``best`` and ``worst`` (the groups as text), ``best_mean`` and ``worst_mean`` (Float64), ``n_groups`` and ``n_queries`` (UInt32:
        groups, and users, with a value).
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
        note = f"p by permutation of the groups of {' and '.join(self.settings['by'])} among users."
        notes = (note, *left_out(self, rows, most))
        return [Grid(("metric", "best", "worst", "gap"), figures, body, notes)]


@verb(gives="whole", among=METRICS)
def gaps(
    table: Table[R],
    *metrics: Request,
    by: ColumnNames,
    correction: Correction | None = "holm",
    ci: Confidence = 0.95,
    resamples: Resamples = 1_000,
    seed: Seed = 0,
    progress: bool = True,
) -> Gaps[R]:
    """Gaps between groups of users: how far the groups' means of each metric are apart, and whether that may be chance.

    Parameters
    ----------
    *metrics
        Texts and functions, as for :meth:`evaluate`.
    by
        The column, or columns, whose values tell the groups apart, as for :meth:`summarize`; null is a group, too.
    correction
        The correction of the p-values of several metrics, as for :meth:`compare`.
    ci
        The confidence of the intervals, for which users are resampled inside their groups. The intervals take into
        account that the data determine the best and the worst group.
    resamples
        The number of resamples, and of random assignments of users to groups in the permutation test.
    seed
        The seed of the draws. Equal seeds give equal results, for any order of the rows.
    progress
        Whether long computations show a progress bar; only on a terminal, and only if ``rich`` is installed.

    Returns
    -------
    A :class:`rankframe.results.Gaps`, whose ``table`` and ``groups`` are frames of the caller's kind. A LazyFrame is collected
    first. Users without a value do not count. No interval if a group has a single user.

    The p-values of a metric's four figures test the same hypothesis, that groups do not differ: choose one figure
    before you look at the results.

    Raises
    ------
    InvalidData
        If all users are in one group, or a user has several values of `by`.

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
    >>> table = df.rank.gaps("rr", by="age").table               # of the means 1 and 1/4
    >>> table["gap"].to_list()[:2], table["value"].to_list()[:2], table["best"][0]
    (['difference', 'ratio'], [0.75, 0.25], 'old')
    """
    eager, setup, groups = table.rows, table.setup, Groups(names_of(by), correction)
    resampling = Resampling(ci, "auto", resamples, seed, progress)
    calls = averaged(metrics, "gaps('ndcg@10', by='age')")
    refuse_bounds(setup)
    refuse_names([*TABLE, "mean"], groups.by, "by")
    query = setup.roles.query
    values = measure(eager, setup, *calls).lazy()
    slices = by_query(eager, query, groups.by, None)
    users = collect(values.join(slices, on=query, nulls_equal=True, maintain_order="left"), eager, setup).sort(query)
    found = users.select(keys(groups.by)).unique(maintain_order=True).sort(keys(groups.by), nulls_last=True)
    if found.height < 2:
        raise InvalidData(
            f"all users are in one group, as {', '.join(map(repr, groups.by))} has one value; give the column that tells "
            "groups apart"
        )
    found = found.with_row_index("#group")
    users = users.join(found, on=keys(groups.by), nulls_equal=True, maintain_order="left").sort(
        "#group", maintain_order=True
    )
    starts = starts_of(users["#group"].to_numpy())
    values_found = users.select(pl.col([call.text for call in calls]).fill_null(float("nan"))).to_numpy()
    array, within = scaled(values_found, calls), limits(values_found, calls)
    names = found.select(
        pl.concat_str([pl.col(key).cast(pl.String).fill_null("null") for key in keys(groups.by)], separator=", ")
    ).to_series()
    with Progress("resampling users", resampling.progress) as bar:
        found_gaps = _table(array, starts, names, calls, within, resampling, bar)
    warn_of_t(found_gaps, resampling)
    found_gaps = _adjusted(found_gaps, groups.correction)
    of_groups = _of_groups(array, starts, found, groups, calls)
    settings = {
        "metrics": [call.text for call in calls],
        "by": list(groups.by),
        "correction": groups.correction,
        **asdict(resampling),
        **settings_of(setup, eager),
    }
    return Gaps(table.give(found_gaps), table.give(of_groups), settings)


def _means(values: Floats, starts: npt.NDArray[np.int64], calls: Sequence[Call]) -> tuple[Floats, Floats]:
    """The means of the groups, groups by metrics, NaN without a value, and how many values each has.

    Users are sorted by group; `starts` are the first of each group.
    """
    import numpy as np

    there = ~np.isnan(values)
    sums, counts = (np.add.reduceat(x, starts, axis=0) for x in (np.where(there, values, 0.0), there.astype(float)))
    with np.errstate(invalid="ignore", divide="ignore"):
        return unscaled(sums / counts, calls), counts


def figures(means: Floats) -> Floats:
    """The figures of `FIGURES` from the means of groups in the first axis; groups without a mean do not count."""
    import numpy as np

    n = (~np.isnan(means)).sum(axis=0)
    difference, deviation, mean_difference = apart(means)
    with np.errstate(invalid="ignore", divide="ignore"):
        most = np.fmax.reduce(means, axis=0)
        ratio = np.where(most > 0, np.fmin.reduce(means, axis=0) / most, np.nan)
        relative = deviation / np.abs(np.nansum(means, axis=0) / n)
    return np.where(n > 1, np.stack([difference, ratio, relative, mean_difference]), np.nan)


def apart(x: Floats) -> Floats:
    """The spread of numbers along the first axis: range, standard deviation and mean difference; NaN does not count."""
    import numpy as np

    x = np.sort(x, axis=0)  # NaN last
    n = (~np.isnan(x)).sum(axis=0)
    place = np.arange(1, len(x) + 1).reshape(-1, *[1] * (x.ndim - 1))
    with np.errstate(invalid="ignore", divide="ignore"):
        deviation = np.sqrt(np.nansum((x - np.nansum(x, axis=0) / n) ** 2, axis=0) / n)
        mean_difference = np.nansum((2 * place - n - 1) * x, axis=0) / (n * (n - 1) / 2)
        return np.stack([np.fmax.reduce(x, axis=0) - x[0], deviation, mean_difference])


def _table(
    values: Floats,
    starts: npt.NDArray[np.int64],
    names: pl.Series,
    calls: Sequence[Call],
    within: Limits,
    resampling: Resampling,
    progress: Progress,
) -> pl.DataFrame:
    """A row per metric and figure."""
    import numpy as np

    means, counts = _means(values, starts, calls)
    value = figures(means)
    low, high, kinds = _intervals(values, starts, calls, value, within, resampling, progress)
    low[:, ((counts > 0) & (counts < 2)).any(axis=0)] = np.nan  # a group of one user does not spread
    high[np.isnan(low)] = np.nan
    p = _p_values(values, starts, calls, value, resampling, progress)
    rows = []
    for i, call in enumerate(calls):
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


def _intervals(
    values: Floats,
    starts: npt.NDArray[np.int64],
    calls: Sequence[Call],
    value: Floats,
    within: Limits,
    resampling: Resampling,
    progress: Progress,
) -> tuple[Floats, Floats, list[str]]:
    """The intervals of the figures, and the kind of each metric's: users are resampled inside their groups.

    The spread of observed means differs from that of the true means by at most the spread of the errors; so the interval is
    the observed figure plus or minus a quantile of the same figure of the errors, for the ratio on the logarithms. It holds
    although the best and the worst group are chosen after the fact.
    """
    import numpy as np

    from .. import stats

    of_groups, kinds = [], []
    for group, part in enumerate(np.split(values, starts[1:])):
        seed = int(np.random.SeedSequence([resampling.seed, group]).generate_state(1, np.uint64)[0])
        weights = np.ones(len(part))
        there: npt.NDArray[np.bool_] = np.count_nonzero(~np.isnan(part), axis=0) > 0
        automatic = zip(stats.automatic(part, weights, within.declared), there, strict=True)
        kinds.append(["percentile" if x == "bca" or not has else x for x, has in automatic])
        ends = within.least, within.greatest
        drawn = stats.replicates(part, weights, kinds[-1], ends, resampling.resamples, seed)
        of_groups.append([unscaled(x, calls) for x in drawn])
        progress(group + 1, len(starts))
    below, above = np.stack(of_groups, axis=1)
    means_found = _means(values, starts, calls)[0][:, None]
    ci = 0.0 if resampling.ci is None else resampling.ci
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


def _largest(below: Floats, above: Floats) -> Floats:
    """The largest spreads of errors of which each is the one below or the one above: some are above, the others below."""
    import numpy as np

    order = np.argsort(below + above, axis=0)
    below, above = (np.take_along_axis(x, order, axis=0) for x in (below, above))
    found = apart(below)
    for first in range(1, len(below) if (below != above).any() else 1):
        found = np.fmax(found, apart(np.concatenate([below[:first], above[first:]])))
    return found


def _p_values(
    values: Floats,
    starts: npt.NDArray[np.int64],
    calls: Sequence[Call],
    value: Floats,
    resampling: Resampling,
    progress: Progress,
) -> Floats:
    """The share of random assignments of users to groups, the observed one included, with gaps as large as observed."""
    import numpy as np

    from .._support.draws import parts, streams, words

    noise = 1e-12
    ratio = FIGURES.index("ratio")
    as_large = np.zeros(value.shape)
    for stream, size, done in streams(resampling.resamples, resampling.seed):
        for rows in parts(size, len(values)):
            for drawn in words(stream, rows, len(values), "<u8"):
                means, _ = _means(values[np.argsort(drawn, kind="stable")], starts, calls)
                found = figures(means)
                large = found >= value * (1 - noise)
                large[ratio] = found[ratio] <= value[ratio] * (1 + noise)
                as_large += large
        progress(done, resampling.resamples)
    return np.where(np.isnan(value), np.nan, (as_large + 1) / (resampling.resamples + 1))


def _adjusted(table: pl.DataFrame, correction: Correction | None) -> pl.DataFrame:
    """The table with p-values corrected for the number of metrics, figure by figure."""
    from .. import stats

    p = [float("nan")] * table.height
    for gap in FIGURES:
        of_gap = [i for i, x in enumerate(table["gap"]) if x == gap]
        adjusted = stats.adjust(table["p_value"].fill_null(float("nan")).to_numpy()[of_gap], correction)
        for i, x in zip(of_gap, adjusted, strict=True):
            p[i] = float(x)
    return table.with_columns(pl.Series("p_adjusted", p, pl.Float64).fill_nan(None))


def _of_groups(
    values: Floats, starts: npt.NDArray[np.int64], found: pl.DataFrame, groups: Groups, calls: Sequence[Call]
) -> pl.DataFrame:
    """A row per metric and group, the best group of each metric first."""
    means, counts = _means(values, starts, calls)
    named = [pl.col(key).alias(name) for name, key in zip(groups.by, keys(groups.by), strict=True)]
    return pl.concat(
        found.select(
            pl.lit(call.text).alias("metric"),
            *named,
            pl.Series("mean", means[:, i]).fill_nan(None),
            pl.Series("n_queries", counts[:, i]).cast(pl.UInt32),
        ).sort("mean", descending=call.higher_is_better, nulls_last=True, maintain_order=True)
        for i, call in enumerate(calls)
    )


def gap_sentence(row: Record, settings: Mapping[str, Any]) -> str:
    """The sentence of one metric's gap between groups: the best and the worst group, and how sure the gap is."""
    metric, of = row["metric"], " and ".join(settings["by"])
    value, p, groups = row["value"], row["p_adjusted"], row["n_groups"]
    if value is None:
        return f"No gap of {metric} between groups of {of}: fewer than two groups have a value"
    ends = row["ci_low"], row["ci_high"]
    by = f"{abs(value):.{decimals(value)}f}{interval(*ends, decimals(value))}"
    counted = f"{groups:,} groups of {queries(row['n_queries'])}"
    means = " and ".join(f"{row[name]:.{decimals(value)}f}" for name in ("best_mean", "worst_mean"))
    adjusted = p != row["p_value"]
    if p >= ALPHA:
        return f"No significant gap of {metric} between groups of {of}: {by}, {p_of(p, adjusted)}, {counted}"
    best, worst = name_of(row["best"]), name_of(row["worst"])
    return f"{metric} is best for {of} {best} and worst for {worst}, {means}: a gap of {by}, {p_of(p, adjusted)}, {counted}"
