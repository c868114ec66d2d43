"""How far the means of three groups or more spread, with intervals and p-values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from ... import stats
from ..._catalog.call import Call
from ..._catalog.means import unscaled
from ..._results.columns import schema, table_in
from ..._statistics.sample import Limits, Sample
from ..._statistics.weighted_means import by_column, means
from ..._support.draws import affordable
from ..._support.floats import Floats, np
from ..._support.progress import Progress
from ..sample.resampling import Resampling

FIGURES = ("difference", "ratio", "relative_std", "mean_difference")
"""The figures of a spread, in the order of rows."""

RATIO = FIGURES.index("ratio")

LEAST = 1e-12
"""The least mean in logarithms, in place of 0."""

TABLE = schema(
    "metric gap value ci_low ci_high interval p_value p_adjusted best worst best_mean "
    "worst_mean n_groups n_queries"
)


@dataclass(frozen=True)
class Spread:
    """The spread of the means of groups.

    Attributes
    ----------
    samples
        The values of each group, on the scales of the metrics' means.
    calls, within
        The metrics, and their least and greatest values.
    resampling
        The confidence, the resamples and the seed.
    """

    samples: Sequence[Sample]
    calls: Sequence[Call]
    within: Limits
    resampling: Resampling

    def table(self, names: Sequence[str], numbers: Floats, progress: Progress) -> pl.DataFrame:
        """A row per metric and figure, given how many queries of each group have a value."""
        group_means = means_of_groups(self.samples, self.calls)
        value = figures_of(group_means)
        low, high, p, kinds = self._tested(value, group_means, progress)
        # A group of one user does not spread.
        single = ((numbers > 0) & (numbers < 2)).any(axis=0)
        low[:, single] = np.nan
        high[:, single] = np.nan
        p[:, single] = 1.0
        p[np.isnan(value)] = np.nan
        figures = np.stack([value, low, high, p], axis=-1)
        rows = []
        for i, call in enumerate(self.calls):
            of_call = group_means[:, i]
            best_and_worst = _best_and_worst(of_call, names, descending=not call.higher_is_better)
            n_groups = int((~np.isnan(of_call)).sum())
            n_queries = int(numbers[:, i].sum())
            for gap, of_gap in zip(FIGURES, figures[:, i].tolist(), strict=True):
                *estimate, p_value = of_gap
                kind = None if math.isnan(estimate[1]) else kinds[i]
                tested = kind, p_value, p_value
                row = (call.text, gap, *estimate, *tested, *best_and_worst, n_groups, n_queries)
                rows.append(row)
        return table_in(rows, TABLE)

    def _tested(
        self, value: Floats, group_means: Floats, progress: Progress
    ) -> tuple[Floats, Floats, Floats, list[str]]:
        """The intervals and p-values of the figures, and the kind of each metric's intervals.

        Units are resampled inside the groups.

        The spread of observed means differs from that of the true means by at most the spread of
        the errors. So the interval is the observed figure plus or minus a quantile of the same
        figure of the errors, for the ratio on the logarithms; and p is the share of draws, the
        observed one included, whose errors spread as far as the means. Both hold although the best
        and the worst group are chosen after the fact.
        """
        below, above, kinds = self._drawn(progress)
        observed = group_means[:, None]
        with np.errstate(invalid="ignore", divide="ignore"):
            errors = _largest(below - observed, above - observed)
            range_of_errors, deviation, mean_difference = np.nan_to_num(errors)
            log = _log(observed)
            of_logarithms = _largest(_log(below) - log, _log(above) - log)
            range_of_logarithms = np.nan_to_num(of_logarithms[0])
            n_groups = (~np.isnan(group_means)).sum(axis=0)
            center = np.abs(np.nansum(group_means, axis=0) / n_groups)
            relative = deviation / center
            spreads = np.stack([range_of_errors, range_of_logarithms, relative, mean_difference])
            size = value.copy()
            size[RATIO] = -_log(value[RATIO])
            p, wide = self._compared(size, spreads)
            low = np.maximum(value - wide, 0.0)
            high = value + wide
            factor = np.exp(wide[RATIO])
            low[RATIO] = value[RATIO] / factor
            above_zero = np.maximum(value[RATIO], LEAST)
            high[RATIO] = np.minimum(above_zero * factor, 1.0)
        low[:, [kind is None for kind in kinds]] = np.nan
        high[np.isnan(low)] = np.nan
        return low, high, p, [kind or "percentile" for kind in kinds]

    def _compared(self, size: Floats, spreads: Floats) -> tuple[Floats, Floats]:
        """The p-value of each figure and the reach of its interval, from the spreads of errors.

        Spreads are figures by draws by metrics.
        """
        total = spreads.shape[1] + 1
        as_large = spreads >= size[:, None] * (1 - 1e-12)
        p = (1 + as_large.sum(axis=1)) / total
        ci = self.resampling.ci
        nth = 0 if ci is None else math.ceil(round((1 - ci) * total, 6)) - 1
        if nth < 1:
            return p, np.full(size.shape, np.nan)
        place = total - 1 - nth
        wide = np.partition(spreads, place, axis=1)[:, place]
        return p, wide

    def _drawn(self, progress: Progress) -> tuple[Floats, Floats, list[str | None]]:
        """Means that groups might have had, for the lower and the upper end, and the kinds.

        The means are groups by draws by metrics.
        """
        samples = self.samples
        most = max(len(sample.values) for sample in samples)
        resamples = affordable(self.resampling.resamples, most)
        below, above = np.empty((2, len(samples), resamples, len(self.calls)))
        of_groups: list[list[str | None]] = []
        for group, sample in enumerate(samples):
            entropy = np.random.SeedSequence([self.resampling.seed, group])
            seed = int(entropy.generate_state(1, np.uint64)[0])
            kinds: list[str | None] = []
            for i, call in enumerate(self.calls):
                kind, lower, upper = self._replicates(sample, i, resamples, seed)
                kinds.append(kind)
                below[group, :, i] = unscaled(lower, [call])[:, 0]
                above[group, :, i] = unscaled(upper, [call])[:, 0]
            of_groups.append(kinds)
            progress(group + 1, len(samples))
        return below, above, [_kind_of(kinds) for kinds in zip(*of_groups, strict=True)]

    def _replicates(
        self, sample: Sample, i: int, resamples: int, seed: int
    ) -> tuple[str | None, Floats, Floats]:
        """The kind of a group's interval of a metric, and the means of its draws for both ends."""
        values = sample.values[:, [i]]
        every_weight = np.broadcast_to(by_column(sample.weights), sample.values.shape)
        weights = every_weight[:, i]
        within = self.within
        (kind,) = stats.automatic(values, weights, within.declared[[i]])
        # A group without values leaves the kind to the others; None is for values that have none.
        if kind is not None or np.isnan(values).all():
            kind = kind or "bca"
        resampled: Any = "percentile" if kind == "bca" else kind
        ends = within.least[[i]], within.greatest[[i]]
        lower, upper = stats.replicates(values, weights, [resampled], ends, resamples, seed)
        return kind, lower, upper


def _kind_of(kinds: Sequence[str | None]) -> str | None:
    """The kind of a metric's interval, whose groups have these."""
    if None in kinds:
        return None
    several = [kind for kind in ("t", "bounded") if kind in kinds]
    return several[0] if several else "percentile"


def means_of_groups(samples: Sequence[Sample], calls: Sequence[Call]) -> Floats:
    """The mean of each metric in each group: groups by metrics."""
    return np.stack([unscaled(means(x.values, x.weights), calls) for x in samples])


def _best_and_worst(
    group_means: Floats, names: Sequence[str], *, descending: bool
) -> tuple[str | None, str | None, float | None, float | None]:
    """The names of the best and the worst group, and their means; None without a group."""
    there = np.flatnonzero(~np.isnan(group_means))
    if len(there) == 0:
        return None, None, None, None
    order = there[np.argsort(group_means[there], kind="stable")]
    worst = int(order[0])
    best = int(order[-1])
    if descending:
        worst, best = best, worst
    return names[best], names[worst], float(group_means[best]), float(group_means[worst])


def figures_of(means: Floats) -> Floats:
    """The figures of `FIGURES` from the means of groups in the first axis; NaN does not count."""
    n = (~np.isnan(means)).sum(axis=0)
    difference, deviation, mean_difference = spreads_of(means)
    with np.errstate(invalid="ignore", divide="ignore"):
        most = np.fmax.reduce(means, axis=0)
        least = np.fmin.reduce(means, axis=0)
        ratio = np.where(most > 0, least / most, np.nan)
        center = np.nansum(means, axis=0) / n
        relative = deviation / np.abs(center)
    figures = np.stack([difference, ratio, relative, mean_difference])
    return np.where(n > 1, figures, np.nan)


def spreads_of(x: Floats) -> Floats:
    """Range, standard deviation and mean difference along the first axis; NaN does not count."""
    x = np.sort(x, axis=0)  # NaN last
    n = (~np.isnan(x)).sum(axis=0)
    ones = [1] * (x.ndim - 1)
    place = np.arange(1, len(x) + 1).reshape(-1, *ones)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.nansum(x, axis=0) / n
        variance = np.nansum((x - mean) ** 2, axis=0) / n
        n_pairs = n * (n - 1) / 2
        mean_difference = np.nansum((2 * place - n - 1) * x, axis=0) / n_pairs
        width = np.fmax.reduce(x, axis=0) - x[0]
    return np.stack([width, np.sqrt(variance), mean_difference])


def _log(x: Floats) -> Floats:
    """The logarithm of means; 0 counts as `LEAST`."""
    return np.log(np.maximum(x, LEAST))


def _largest(below: Floats, above: Floats) -> Floats:
    """The largest spreads of errors, some of which are the ones above, the others those below."""
    order = np.argsort(below + above, axis=0)
    below = np.take_along_axis(below, order, axis=0)
    above = np.take_along_axis(above, order, axis=0)
    spreads = spreads_of(below)
    n_groups = len(below) if (below != above).any() else 1
    for first in range(1, n_groups):
        errors = np.concatenate([below[:first], above[first:]])
        spreads = np.fmax(spreads, spreads_of(errors))
    return spreads
