"""The content of the plot of a difference as queries come in."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import polars as pl

from .._catalog.requests import Request
from .._results.grid import percent
from .._statistics.confidence_sequences import confidence_sequence
from .._statistics.estimators import INTERVALS
from .._support.floats import Floats, np
from .._support.option_kinds import Column
from .._support.statistical_options import PLANNED, Planned
from .._table.table import Table
from .._verbs.decide.sequential import Sequential, State
from .._verbs.measure.paired_values import Design, differences, paired_values
from .._verbs.sample.resampling import limits
from .figure import CI, Axis, Estimated, Figure, Mark, banded, lines_of, one_call, plot, unpacked
from .plots import spaced

if TYPE_CHECKING:
    from typing import Unpack

SINGLE = "interval of a single look"
"""The name of a series."""

SHOWN = 20
"""Looks at fewer queries than one in so many are left out, since their wide intervals would hide
the others."""


@plot(by_parts=True)
def sequential(
    table: Table[Any],
    metric: Request,
    *,
    baseline: Column | None = None,
    look: Column | None = None,
    planned: Planned = PLANNED,
    sequential: State | None = None,
    **shared: Unpack[Estimated],
) -> Figure:
    """The difference from the baseline as queries come in, with the interval that holds at every
    look: it shows when to stop.

    Parameters
    ----------
    metric
        A text, as ``"ndcg@10"``, of a metric with bounds.
    baseline
        The run that the others are compared with; default: the first one.
    look, planned
        As for ``df.rank.compare(..., test="sequential")``; without `look`, some looks at the order
        of the table are shown.
    sequential
        The ``state`` of a sequential gate, whose looks come first; it has its own confidence and
        plan.

    Returns
    -------
    A chart or axes: a line per run with the band of its confidence sequence, which only shrinks.
    For one run, a second band shows the interval of a single look (normal), which does not hold at
    several.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({
    ...     "query_id": [1, 1, 2], "bm25": [2, 1, 1], "ltr": [1, 2, 1], "label": [0, 1, 1],
    ... })
    >>> df.rank.plot.sequential("rr", runs=["bm25", "ltr"]).title.text
    'RR as queries come in: ltr minus bm25'
    """
    call = one_call(metric, "sequential('ndcg@10', runs=['old', 'new'])")
    _, setup, runs = unpacked(table, shared)
    if sequential is None:
        plan = Sequential(shared.get("ci") or CI, planned, look)
    else:
        plan = Sequential.of_state(sequential)
    values = paired_values(table, [call], Design(runs, None, (), None, "error"))
    design = Design(runs, baseline or values.runs[0], (), None, "error")
    values = plan.checked([call.under(setup)]).arranged(values, table)
    order = values.queries["#place"].to_numpy().argsort()
    n = len(order)
    if look is None and sequential is None:
        looks = [k for k in spaced(n) if k * SHOWN >= n]
    else:
        place = values.queries["#look"].to_numpy()[order]
        ends = np.flatnonzero(np.diff(place)) + 1
        looks = [*ends.tolist(), n]
    looks = [k for k in looks if k]
    pairs = design.pairs(values.runs)
    of_runs = [run[order, 0] for run in values.values]
    d = np.column_stack([differences(of_runs[a], of_runs[b]) for a, b in pairs])
    within = limits(values.values, [call])
    span = (within.greatest - within.least).repeat(len(pairs))
    low, high, _ = confidence_sequence(d, (-span, span), plan.ci, plan.method, looks)
    shape = len(looks), len(pairs)  # also of no looks
    low = low.reshape(shape)
    high = high.reshape(shape)
    names = [values.runs[b] for _, b in pairs]
    rows = _rows_of_looks(d, looks, names, low, high, plan.ci)
    *bands, line = banded(rows)
    # the mean of a single look is the run's
    is_run = pl.col("series").is_in(names)
    of_names = line.rows.filter(is_run)
    zero = Mark("rule", pl.DataFrame({"y": [0.0]}))
    marks = (zero, *bands, Mark("line", of_names))
    pair = f"{names[0] if len(names) == 1 else 'run'} minus {design.baseline}"
    ci = percent({"ci": plan.ci})
    band = f"band: {ci} at all looks together ({INTERVALS[plan.method]})"
    subtitle = f"Mean over the queries so far; {band}"
    x = Axis("queries", whole=True)
    y = Axis(f"{call.display}, {pair}")
    title = f"{call.display} as queries come in: {pair}"
    among = () if len(names) == 1 else tuple(values.runs)
    return Figure(title, subtitle, x, y, marks, lines_of(rows), among=among)


def _rows_of_looks(
    d: Floats, looks: Sequence[int], names: Sequence[str], low: Floats, high: Floats, ci: float
) -> pl.DataFrame:
    """The means of differences at each look, with their confidence sequence.

    One run also has the interval of a single look, the mean -+ z * s / sqrt(n).
    """
    last = np.array(looks, dtype=int) - 1
    x = np.nan_to_num(d)
    with np.errstate(all="ignore"):
        n = (~np.isnan(d)).cumsum(axis=0)[last]
        mean = x.cumsum(axis=0)[last] / n
        squares = (x**2).cumsum(axis=0)[last] / n
        variance = np.maximum(squares - mean**2, 0)
        z = NormalDist().inv_cdf((1 + ci) / 2)
        error = z * np.sqrt(variance / (n - 1))

    def rows(series: str, i: int, low: Floats, high: Floats) -> pl.DataFrame:
        ends = {"low": low[:, i], "high": high[:, i]}
        figures = {"x": last + 1.0, "y": mean[:, i], **ends, "queries": n[:, i]}
        return pl.DataFrame(figures).select(pl.lit(series).alias("series"), pl.all())

    parts = [rows(name, i, low, high) for i, name in enumerate(names)]
    if len(names) == 1:
        parts.append(rows(SINGLE, 0, mean - error, mean + error))
    return pl.concat(parts).fill_nan(None)
