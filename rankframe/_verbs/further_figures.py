"""Figures that take the place of a paired test's: by a model's labels, by a column known before, or as probabilities."""

from __future__ import annotations

import polars as pl

from .. import stats
from .._statistics.agreement import quotient
from .._statistics.bayes import signed_rank
from .._support.floats import Integers, np
from .._support.progress import Progress
from .judged import KINDS, OF_JUDGED, in_addition
from .paired_values import PairedValues, Pairs, differences, sides
from .resampling import Resampling

MEANS = ("baseline_mean", "mean")
CHANCES = {"p_better": pl.Float64, "p_equivalent": pl.Float64, "p_worse": pl.Float64}
"""The columns of the Bayesian test."""


def helped(figures: pl.DataFrame, found: PairedValues, rows: Integers, pairs: Pairs, ci: float | None) -> pl.DataFrame:
    """The figures of a slice, with means, intervals and p-values that use what is known of all queries."""
    if found.control is None:
        return figures
    if not len(rows):
        return figures.with_columns(pl.lit(None, dtype).alias(name) for name, dtype in OF_JUDGED.items())
    control, weights = found.control.of_slice(rows), found.queries["#weight"].to_numpy()[rows]
    values = found.values[:, rows]
    own, known = sides(values, pairs), sides(np.broadcast_to(control.values, values.shape), pairs)
    d, e = differences(*own), differences(*known) if control.of == "judge" else known[0]
    where = "".join(f" of {x.name} {x.item()}" for x in found.of_slices(rows[:1].tolist()))
    name = f"differences of {', '.join(call.text for call in found.calls)}"
    difference = control.estimated(name, where, d, e, weights)
    mean, reach = difference.mean, difference.reach(np.nan if ci is None else ci)
    spread = stats.spreads(d[control.judged], weights[control.judged])
    columns = {name: control.estimates(x, y, weights).mean for name, x, y in zip(MEANS, own, known, strict=True)}
    columns |= {"difference": mean, "ci_low": mean - reach, "ci_high": mean + reach, "p_value": difference.p_values()}
    columns["p_adjusted"], columns["effect_size"] = columns["p_value"], quotient(mean, spread)
    nulls = {name: pl.Series(x).fill_nan(None) for name, x in columns.items()}
    return figures.with_columns(**nulls, interval=pl.lit(KINDS[control.of]), **in_addition(difference))


def with_chances(
    figures: pl.DataFrame,
    found: PairedValues,
    rows: Integers,
    pairs: Pairs,
    rope: float,
    draws: Resampling,
    step: Progress,
) -> pl.DataFrame:
    """The figures of a slice, with the probabilities that each run is better than the baseline, equivalent and worse."""
    signs = [1 if call.higher_is_better else -1 for call in found.calls for _ in pairs]
    gains = (differences(*found.sides(pairs, rows)) * signs).T
    worse, equivalent, better = np.transpose([signed_rank(x, rope, draws.resamples, draws.seed, step) for x in gains])
    named = zip(CHANCES, (better, equivalent, worse), strict=True)
    return figures.with_columns(pl.Series(name, x).fill_nan(None) for name, x in named)
