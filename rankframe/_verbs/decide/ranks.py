"""The ranks of compared runs: how far each may be off, and which runs the test cannot tell from the
best.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from ... import stats
from ..._catalog.call import Call
from ..._catalog.means import scaled, unscaled
from ..._results.grid import ALPHA, Record
from ..._results.sentences import NAMED, Quotes, metric_of, quoted
from ..._statistics.order import Order
from ..._support.draws import affordable
from ..._support.floats import Booleans, Floats, Integers, np
from ..._support.statistical_options import Bound
from ..measure.paired_values import Design, PairedValues, Pairs
from ..sample.resampling import Resampling
from ..sample.slices import table_of
from .slice_of_pairs import by_people

TABLE = {
    "metric": pl.String, "run": pl.String, "mean": pl.Float64, "rank": pl.UInt32, "rank_low": pl.UInt32,
    "rank_high": pl.UInt32, "beats": pl.UInt32, "beaten_by": pl.UInt32, "group": pl.UInt32,
}  # fmt: skip

LEAST = -1e300
"""The logarithm of 0, so that a sum without it is not NaN."""


def ranks_of(
    found: PairedValues, figures: pl.DataFrame, design: Design, resampling: Resampling
) -> pl.DataFrame:
    """A row per metric, slice and run; `figures` has the corrected tests, by metric, slice and
    pair.
    """
    calls, pairs = found.calls, design.pairs(found.runs)
    level = ALPHA if resampling.ci is None else 1 - resampling.ci
    gains, p = (
        figures[name].fill_null(np.nan).to_numpy().reshape(len(calls), -1, len(pairs))
        for name in ("difference", "p_adjusted")
    )
    sign = _signs(calls)
    winner = np.where(
        p < level, np.sign(gains * sign[:, None, None]), 0.0
    )  # 1: the second of the pair
    rows: list[tuple[object, ...]] = []
    for j, part in enumerate(found.slices):
        where = [x.item() for x in found.of_slices(part[:1].tolist())]
        means, drawn = _means_and_draws(found, part, resampling)
        for i, call in enumerate(calls):
            beats = _beats(winner[i, j], pairs, len(found.runs))
            order = Order(means[:, i], drawn[..., i], beats)
            shown = unscaled(means[:, [i]] * sign[i], [call])[:, 0]
            groups = design.baseline is None and not np.isnan(p[i, j]).all()
            numbers = order.numbers(None if resampling.ci is None else level, groups=groups)
            names = [(*where, call.text, run) for run in found.runs]
            rows += [
                (*names[at], float(shown[at]), *numbers[at])
                for at in np.argsort(order.ranks, kind="stable")
            ]
    by_metric = pl.col("metric").cast(pl.Enum([call.text for call in calls]))
    return table_of(rows, design.by, found.queries.schema, TABLE).sort(
        by_metric, maintain_order=True
    )


def _signs(calls: Sequence[Call]) -> Floats:
    """1 for each metric whose larger values are better, otherwise -1."""
    return np.array([1.0 if call.higher_is_better else -1.0 for call in calls])


def _means_and_draws(
    found: PairedValues, part: Integers, resampling: Resampling
) -> tuple[Floats, Floats]:
    """The means of a slice, runs by metrics, on scales where more is better; and those of
    resamples, one after the other.

    Queries count on which all runs have a value; without intervals, the means are the one resample.
    """
    runs, calls = len(found.runs), found.calls
    values = scaled(found.values[:, part], calls) * _signs(calls)
    values = np.where(np.isnan(values).any(axis=0), np.nan, values)
    by_query = values.swapaxes(0, 1).reshape(len(part), runs * len(calls))
    by_query[~by_people(found, part)] = np.nan
    sample = found.sample(part, np.nan_to_num(by_query, nan=np.nan, neginf=LEAST))
    means = stats.means(sample.values, sample.weights)
    drawn = means[None]
    if len(part) and resampling.ci is not None:
        resamples = affordable(resampling.resamples, len(part))
        kinds: list[Bound | None] = ["percentile"] * len(means)
        limits = means, means
        drawn, _ = stats.replicates(
            sample.values, sample.weights, kinds, limits, resamples, resampling.seed
        )
    return means.reshape(runs, len(calls)), drawn.reshape(-1, runs, len(calls))


def _beats(winner: Floats, pairs: Pairs, runs: int) -> Booleans:
    """Which run (a row) beats which, by the winner of each pair."""
    beats = np.zeros((runs, runs), dtype=bool)
    for (first, second), won in zip(pairs, winner, strict=True):
        beats[second, first] = won > 0
        beats[first, second] = won < 0
    return beats


def tied_for_top(rows: Sequence[Record], settings: Mapping[str, Any], quotes: Quotes) -> list[str]:
    """How many of several runs the test cannot tell from the best: a sentence, of one metric and
    slice with their names.
    """
    several: dict[tuple[object, ...], list[Record]] = {}
    for row in rows:
        if row["group"] is not None:
            several.setdefault(tuple(row[name] for name in ("metric", *settings["by"])), []).append(
                row
            )
    tops = {
        metric_of(of[0], settings): [row["run"] for row in of if row["group"] == 1]
        for of in several.values()
    }
    if len(settings["runs"]) < 3 or not tops:
        return []
    n, sizes = f"{len(settings['runs']):,}", [len(top) for top in tops.values()]
    if len(tops) > 1:
        counted = [
            f"{quoted(top[0], quotes)} alone" if len(top) == 1 else f"{len(top):,} tied"
            for top in tops.values()
        ]
        each = ", ".join(f"{top} on {metric}" for top, metric in zip(counted, tops, strict=True))
        few = (
            " to ".join(f"{x:,}" for x in sorted({min(sizes), max(sizes)}))
            + f" tied, over {len(tops):,} metrics and slices"
        )
        return [f"At the top of {n} runs: {each if len(tops) <= NAMED else few}"]
    ((metric, top),) = tops.items()
    if len(top) == 1:
        return [f"{quoted(top[0], quotes)} is alone at the top of {n} runs on {metric}"]
    names = f": {', '.join(quoted(run, quotes) for run in top)}" if len(top) <= NAMED else ""
    return [f"{len(top):,} of {n} runs are tied for the top on {metric}{names}"]
