"""The ranks of compared runs: how far each may be off, and which runs the test cannot tell from the best."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from ... import stats
from ..._catalog.means import scaled, unscaled
from ..._results.grid import ALPHA, Record
from ..._results.sentences import NAMED, Quotes, metric_of, quoted
from ..._support.draws import affordable
from ..._support.floats import Floats, Integers, np
from ..._support.statistical_options import Bound
from ..measure.paired_values import Design, PairedValues
from ..sample.resampling import Resampling
from ..sample.slices import table_of
from .slice_of_pairs import by_people

TABLE = {
    "metric": pl.String, "run": pl.String, "mean": pl.Float64, "rank": pl.UInt32, "rank_low": pl.UInt32,
    "rank_high": pl.UInt32, "beats": pl.UInt32, "beaten_by": pl.UInt32, "group": pl.UInt32,
}  # fmt: skip

LEAST = -1e300
"""The logarithm of 0, so that a sum without it is not NaN."""


def ranks_of(found: PairedValues, figures: pl.DataFrame, design: Design, resampling: Resampling) -> pl.DataFrame:
    """A row per metric, slice and run; `figures` has the corrected tests, by metric, slice and pair."""
    calls, runs, pairs, slices = found.calls, found.runs, design.pairs(found.runs), found.slices
    level = ALPHA if resampling.ci is None else 1 - resampling.ci
    sign = np.array([1.0 if call.higher_is_better else -1.0 for call in calls])
    gains, p = (
        figures[name].fill_null(np.nan).to_numpy().reshape(len(calls), -1, len(pairs))
        for name in ("difference", "p_adjusted")
    )
    winner = np.where(p < level, np.sign(gains * sign[:, None, None]), 0.0)  # 1: the second of the pair
    rows: list[tuple[object, ...]] = []
    for j, part in enumerate(slices):
        where = [x.item() for x in found.of_slices(part[:1].tolist())]
        x = scaled(found.values[:, part], calls) * sign
        x = np.where(np.isnan(x).any(axis=0), np.nan, x).swapaxes(0, 1)  # queries by runs by metrics
        x[~by_people(found, part)] = np.nan
        kinds: list[Bound | None] = ["percentile"] * (len(runs) * len(calls))
        flat = np.nan_to_num(x.reshape(len(part), len(kinds)), nan=np.nan, neginf=LEAST)
        sample = found.sample(part, flat)
        means = stats.means(sample.values, sample.weights)
        drawn = means[None]
        if len(part) and resampling.ci is not None:
            resamples = affordable(resampling.resamples, len(part))
            drawn, _ = stats.replicates(
                sample.values, sample.weights, kinds, (means, means), resamples, resampling.seed
            )
        of_draws = drawn.reshape(-1, len(runs), len(calls))
        for i, call in enumerate(calls):
            mean = means.reshape(len(runs), len(calls))[:, i]
            rank, ranks = _ranks(mean), _ranks(of_draws[..., i])
            beats = np.zeros((len(runs), len(runs)), dtype=bool)
            for (a, b), won in zip(pairs, winner[i, j], strict=True):
                beats[b, a], beats[a, b] = won > 0, won < 0
            low = np.minimum(np.quantile(ranks, level / 2, axis=0, method="lower"), 1 + beats.sum(axis=0))
            high = np.maximum(np.quantile(ranks, 1 - level / 2, axis=0, method="higher"), len(runs) - beats.sum(axis=1))
            shown, group = unscaled(mean[:, None] * sign[i], [call])[:, 0], np.zeros(len(runs), dtype=int)
            for _ in runs:  # as many steps as the longest chain of runs of which each beats the next
                group = 1 + (beats * group[:, None]).max(axis=0)
            for at in np.argsort(rank, kind="stable"):
                counts = rank[at], low[at], high[at], beats[at].sum(), beats[:, at].sum(), group[at]
                numbers: list[int | None] = [None if np.isnan(mean[at]) else int(x) for x in counts]
                if resampling.ci is None:
                    numbers[1:3] = None, None
                numbers[-1] = numbers[-1] if design.baseline is None and not np.isnan(p[i, j]).all() else None
                rows.append((*where, call.text, runs[at], float(shown[at]), *numbers))
    by_metric = pl.col("metric").cast(pl.Enum([call.text for call in calls]))
    return table_of(rows, design.by, found.queries.schema, TABLE).sort(by_metric, maintain_order=True)


def _ranks(means: Floats) -> Integers:
    """The rank of each mean in the last axis, 1 for the largest; equal ones share the best rank."""
    above = [(means > (x + stats.NOISE * np.abs(x))[..., None]).sum(axis=-1) for x in np.moveaxis(means, -1, 0)]
    return 1 + np.stack(above, axis=-1)


def tied_for_top(rows: Sequence[Record], settings: Mapping[str, Any], quotes: Quotes) -> list[str]:
    """How many of several runs the test cannot tell from the best: a sentence, of one metric and slice with their names."""
    several: dict[tuple[object, ...], list[Record]] = {}
    for row in rows:
        if row["group"] is not None:
            several.setdefault(tuple(row[name] for name in ("metric", *settings["by"])), []).append(row)
    tops = {metric_of(of[0], settings): [row["run"] for row in of if row["group"] == 1] for of in several.values()}
    if len(settings["runs"]) < 3 or not tops:
        return []
    n, sizes = f"{len(settings['runs']):,}", [len(top) for top in tops.values()]
    if len(tops) > 1:
        counted = [
            f"{quoted(top[0], quotes)} alone" if len(top) == 1 else f"{len(top):,} tied" for top in tops.values()
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
