"""The ranks of compared runs: how far each may be off, and which may be the best."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from ... import stats
from ..._catalog.means import scaled, unscaled
from ..._results.columns import schema
from ..._results.grid import ALPHA, Record
from ..._results.sentences import NAMED, Quotes, metric_of, quoted
from ..._statistics.order import Order
from ..._support.draws import affordable
from ..._support.floats import Booleans, Floats, Integers, np
from ..._support.statistical_options import Bound
from ..measure.paired_values import Design, PairedValues, Pairs
from ..sample.resampling import Resampling
from ..sample.slices import table_of
from .slice_of_pairs import by_people, directions, in_order_of

TABLE = {
    **schema("metric run mean rank"),
    **dict.fromkeys(("rank_low", "rank_high", "beats", "beaten_by", "group"), pl.UInt32()),
}

LEAST = -1e300
"""The logarithm of 0, so that a sum without it is not NaN."""


def ranks_of(
    values: PairedValues, figures: pl.DataFrame, design: Design, resampling: Resampling
) -> pl.DataFrame:
    """A row per metric, slice and run.

    `figures` has the corrected tests, by metric, slice and pair.
    """
    calls = values.calls
    pairs = design.pairs(values.runs)
    shape = (len(calls), -1, len(pairs))
    level = ALPHA if resampling.ci is None else 1 - resampling.ci
    difference = figures["difference"].fill_null(np.nan).to_numpy().reshape(shape)
    p = figures["p_adjusted"].fill_null(np.nan).to_numpy().reshape(shape)
    direction = directions(calls)
    gain_of_second = np.sign(difference * direction[:, None, None])
    winner = np.where(p < level, gain_of_second, 0.0)
    rows: list[tuple[object, ...]] = []
    for j, part in enumerate(values.slices):
        where = [ids.item() for ids in values.of_slices(part[:1].tolist())]
        means, draws = _means_and_draws(values, part, resampling)
        for i, call in enumerate(calls):
            beats = _beats(winner[i, j], pairs, len(values.runs))
            order = Order(means[:, i], draws[..., i], beats)
            has_groups = design.baseline is None and not np.isnan(p[i, j]).all()
            within = None if resampling.ci is None else level
            numbers = order.numbers(within, groups=has_groups)
            shown = unscaled(means[:, [i]] * direction[i], [call])[:, 0]
            for run in np.argsort(order.ranks, kind="stable"):
                names = (*where, call.text, values.runs[run])
                rows.append((*names, float(shown[run]), *numbers[run]))
    table = table_of(rows, design.by, values.queries.schema, TABLE)
    return in_order_of(calls, table)


def _means_and_draws(
    values: PairedValues, part: Integers, resampling: Resampling
) -> tuple[Floats, Floats]:
    """The means of a slice, runs by metrics, where more is better; and those of resamples.

    Queries count on which all runs have a value; without intervals, the means are the one resample.
    """
    n_runs = len(values.runs)
    n_metrics = len(values.calls)
    on_scale = scaled(values.values[:, part], values.calls) * directions(values.calls)
    has_all = ~np.isnan(on_scale).any(axis=0)
    of_all = np.where(has_all, on_scale, np.nan)
    by_query = of_all.swapaxes(0, 1).reshape(len(part), n_runs * n_metrics)
    by_query[~by_people(values, part)] = np.nan
    finite = np.nan_to_num(by_query, nan=np.nan, neginf=LEAST)
    sample = values.sample(part, finite)
    means = stats.means(sample.values, sample.weights)
    draws = means[None]
    if len(part) and resampling.ci is not None:
        resamples = affordable(resampling.resamples, len(part))
        kinds: list[Bound | None] = ["percentile"] * len(means)
        how = (kinds, (means, means), resamples, resampling.seed)
        draws, _ = stats.replicates(sample.values, sample.weights, *how)
    return means.reshape(n_runs, n_metrics), draws.reshape(-1, n_runs, n_metrics)


def _beats(winner: Floats, pairs: Pairs, runs: int) -> Booleans:
    """Which run (a row) beats which, by the winner of each pair."""
    beats = np.zeros((runs, runs), dtype=bool)
    for (first, second), won in zip(pairs, winner, strict=True):
        beats[second, first] = won > 0
        beats[first, second] = won < 0
    return beats


def tied_for_top(rows: Sequence[Record], settings: Mapping[str, Any], quotes: Quotes) -> list[str]:
    """How many of several runs the test cannot tell from the best, with the names of a few."""
    n_runs = len(settings["runs"])
    tops = _tops(rows, settings)
    if n_runs < 3 or not tops:
        return []
    if len(tops) > 1:
        return [f"At the top of {n_runs:,} runs: {_of_many_tops(tops, quotes)}"]
    ((metric, top),) = tops.items()
    if len(top) == 1:
        return [f"{quoted(top[0], quotes)} is alone at the top of {n_runs:,} runs on {metric}"]
    names = ""
    if len(top) <= NAMED:
        names = f": {', '.join(quoted(run, quotes) for run in top)}"
    return [f"{len(top):,} of {n_runs:,} runs are tied for the top on {metric}{names}"]


def _tops(rows: Sequence[Record], settings: Mapping[str, Any]) -> dict[str, list[Any]]:
    """The runs that none beats, by metric and slice in words."""
    by_slice: dict[tuple[object, ...], list[Record]] = {}
    for row in rows:
        if row["group"] is not None:
            where = tuple(row[name] for name in ("metric", *settings["by"]))
            by_slice.setdefault(where, []).append(row)
    tops = {}
    for of_slice in by_slice.values():
        name = metric_of(of_slice[0], settings)
        tops[name] = [row["run"] for row in of_slice if row["group"] == 1]
    return tops


def _of_many_tops(tops: Mapping[str, list[Any]], quotes: Quotes) -> str:
    """How many runs are tied on each metric and slice, or over all if they are many."""
    if len(tops) <= NAMED:
        tied = []
        for metric, top in tops.items():
            runs = f"{quoted(top[0], quotes)} alone" if len(top) == 1 else f"{len(top):,} tied"
            tied.append(f"{runs} on {metric}")
        return ", ".join(tied)
    sizes = [len(top) for top in tops.values()]
    ends = sorted({min(sizes), max(sizes)})
    span = " to ".join(f"{size:,}" for size in ends)
    return f"{span} tied, over {len(tops):,} metrics and slices"
