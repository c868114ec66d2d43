"""How far the means of three groups or more spread: the best against the worst, ratio, deviation,
with intervals and p-values.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from ... import stats
from ..._catalog.call import Call
from ..._catalog.means import unscaled
from ..._results.columns import schema
from ..._statistics.sample import Limits, Sample
from ..._statistics.weighted_means import by_column, means
from ..._support.draws import affordable
from ..._support.floats import Floats, np
from ..._support.progress import Progress
from ..sample.resampling import Resampling

FIGURES = ("difference", "ratio", "relative_std", "mean_difference")
"""The figures of a spread, in the order of rows."""

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
        """A row per metric and figure, given how many queries with a value each group has of each
        metric.
        """
        found = np.stack([unscaled(means(x.values, x.weights), self.calls) for x in self.samples])
        value = figures_of(found)
        low, high, p, kinds = self._tested(value, found, progress)
        single = ((numbers > 0) & (numbers < 2)).any(axis=0)  # a group of one user does not spread
        low[:, single], high[:, single], p[:, single] = np.nan, np.nan, 1.0
        p[np.isnan(value)] = np.nan
        rows = []
        for i, call in enumerate(self.calls):
            there = np.flatnonzero(~np.isnan(found[:, i]))
            order = there[np.argsort(found[there, i], kind="stable")]
            order = order if call.higher_is_better else order[::-1]
            best, worst = (None if len(order) == 0 else int(order[end]) for end in (-1, 0))
            named = (None if g is None else names[g] for g in (best, worst))
            ends = (*named, *(None if g is None else float(found[g, i]) for g in (best, worst)))
            counted = len(there), int(numbers[:, i].sum())
            for j, gap in enumerate(FIGURES):
                figures = (float(x[j, i]) for x in (value, low, high))
                kind = None if math.isnan(low[j, i]) else kinds[i]
                rows.append(
                    (
                        call.text,
                        gap,
                        *figures,
                        kind,
                        float(p[j, i]),
                        float(p[j, i]),
                        *ends,
                        *counted,
                    )
                )
        return pl.DataFrame(rows, TABLE, orient="row").with_columns(
            pl.col(pl.Float64).fill_nan(None)
        )

    def _tested(
        self, value: Floats, found: Floats, progress: Progress
    ) -> tuple[Floats, Floats, Floats, list[str]]:
        """The intervals of the figures and their p-values, and the kind of each metric's: units are
        resampled inside groups.

        The spread of observed means differs from that of the true means by at most the spread of
        the errors. So the interval is the observed figure plus or minus a quantile of the same
        figure of the errors, for the ratio on the logarithms; and p is the share of draws, the
        observed one included, whose errors spread as far as the means. Both hold although the best
        and the worst group are chosen after the fact.
        """
        below, above, kinds = self._drawn(progress)
        with np.errstate(invalid="ignore", divide="ignore"):
            errors = np.nan_to_num(_largest(below - found[:, None], above - found[:, None]))
            logarithm = np.log(np.maximum(found, LEAST))[:, None]
            below, above = (np.log(np.maximum(x, LEAST)) for x in (below, above))
            of_logarithms = np.nan_to_num(_largest(below - logarithm, above - logarithm)[0])
            center = np.abs(np.nansum(found, axis=0) / (~np.isnan(found)).sum(axis=0))
            spreads = np.stack([errors[0], of_logarithms, errors[1] / center, errors[2]])
            ratio = FIGURES.index("ratio")
            size = value.copy()
            size[ratio] = -np.log(np.maximum(value[ratio], LEAST))
            p, wide = self._compared(size, spreads)
            low, high = np.maximum(value - wide, 0.0), value + wide
            factor = np.exp(wide[ratio])
            low[ratio], high[ratio] = (
                value[ratio] / factor,
                np.minimum(np.maximum(value[ratio], LEAST) * factor, 1.0),
            )
        low[:, [kind is None for kind in kinds]] = np.nan
        high[np.isnan(low)] = np.nan
        return low, high, p, [kind or "percentile" for kind in kinds]

    def _compared(self, size: Floats, spreads: Floats) -> tuple[Floats, Floats]:
        """The p-value of each figure, and how far its interval reaches, from the spreads of errors:
        figures by draws by metrics.
        """
        total = spreads.shape[1] + 1
        p = (1 + (spreads >= size[:, None] * (1 - 1e-12)).sum(axis=1)) / total
        ci = self.resampling.ci
        nth = 0 if ci is None else math.ceil(round((1 - ci) * total, 6)) - 1
        if nth < 1:
            return p, np.full(size.shape, np.nan)
        return p, np.partition(spreads, total - 1 - nth, axis=1)[:, total - 1 - nth]

    def _drawn(self, progress: Progress) -> tuple[Floats, Floats, list[str | None]]:
        """Means that groups might have had, for the lower and the upper end: groups by draws by
        metrics; and the kinds.
        """
        resamples = affordable(self.resampling.resamples, max(len(x.values) for x in self.samples))
        drawn = np.empty((2, len(self.samples), resamples, len(self.calls)))
        of_groups: list[list[str | None]] = []
        limits = self.within.least, self.within.greatest
        for group, sample in enumerate(self.samples):
            seed = int(
                np.random.SeedSequence([self.resampling.seed, group]).generate_state(1, np.uint64)[
                    0
                ]
            )
            weights = np.broadcast_to(by_column(sample.weights), sample.values.shape)
            kinds: list[str | None] = []
            for i in range(len(self.calls)):
                column, weight = sample.values[:, [i]], weights[:, i]
                (kind,) = stats.automatic(column, weight, self.within.declared[[i]])
                kinds.append(None if kind is None and not np.isnan(column).all() else kind or "bca")
                resampled = "percentile" if kinds[-1] == "bca" else kinds[-1]
                ends = limits[0][[i]], limits[1][[i]]
                both = stats.replicates(column, weight, [resampled], ends, resamples, seed)  # type: ignore[list-item]
                drawn[:, group, :, i] = [unscaled(x, [self.calls[i]])[:, 0] for x in both]
            of_groups.append(kinds)
            progress(group + 1, len(self.samples))
        return drawn[0], drawn[1], [_kind_of(kinds) for kinds in zip(*of_groups, strict=True)]


def _kind_of(kinds: Sequence[str | None]) -> str | None:
    """The kind of a metric's interval, whose groups have these."""
    if None in kinds:
        return None
    return next((kind for kind in ("t", "bounded") if kind in kinds), "percentile")


def figures_of(means: Floats) -> Floats:
    """The figures of `FIGURES` from the means of groups in the first axis; groups without a mean do
    not count.
    """
    n = (~np.isnan(means)).sum(axis=0)
    difference, deviation, mean_difference = spreads_of(means)
    with np.errstate(invalid="ignore", divide="ignore"):
        most = np.fmax.reduce(means, axis=0)
        ratio = np.where(most > 0, np.fmin.reduce(means, axis=0) / most, np.nan)
        relative = deviation / np.abs(np.nansum(means, axis=0) / n)
    return np.where(n > 1, np.stack([difference, ratio, relative, mean_difference]), np.nan)


def spreads_of(x: Floats) -> Floats:
    """The spread of numbers along the first axis: range, standard deviation and mean difference;
    NaN does not count.
    """
    x = np.sort(x, axis=0)  # NaN last
    n = (~np.isnan(x)).sum(axis=0)
    place = np.arange(1, len(x) + 1).reshape(-1, *[1] * (x.ndim - 1))
    with np.errstate(invalid="ignore", divide="ignore"):
        deviation = np.sqrt(np.nansum((x - np.nansum(x, axis=0) / n) ** 2, axis=0) / n)
        mean_difference = np.nansum((2 * place - n - 1) * x, axis=0) / (n * (n - 1) / 2)
        return np.stack([np.fmax.reduce(x, axis=0) - x[0], deviation, mean_difference])


def _largest(below: Floats, above: Floats) -> Floats:
    """The largest spreads of errors of which each is the one below or the one above: some are
    above, the others below.
    """
    order = np.argsort(below + above, axis=0)
    below, above = (np.take_along_axis(x, order, axis=0) for x in (below, above))
    found = spreads_of(below)
    for first in range(1, len(below) if (below != above).any() else 1):
        found = np.fmax(found, spreads_of(np.concatenate([below[:first], above[first:]])))
    return found
