"""The content of the plot of a difference as queries come in."""

from __future__ import annotations

from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import polars as pl

from .._catalog.requests import Request
from .._results.grid import percent
from .._statistics.confidence_sequences import confidence_sequence
from .._statistics.estimators import INTERVALS
from .._support.floats import np
from .._support.option_kinds import Column
from .._support.statistical_options import PLANNED, Planned
from .._table.table import Table
from .._verbs.decide.sequential import Sequential, State
from .._verbs.measure.paired_values import Design, differences, paired_values
from .._verbs.sample.resampling import limits
from .figure import CI, Axis, Estimated, Figure, Mark, banded, one_call, plot, unpacked
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
    >>> df = pl.DataFrame({"query_id": [1, 1, 2], "bm25": [2, 1, 1], "ltr": [1, 2, 1], "label": [0, 1, 1]})
    >>> df.rank.plot.sequential("rr", runs=["bm25", "ltr"]).title.text
    'RR as queries come in: ltr minus bm25'
    """
    call, (_, setup, runs) = (
        one_call(metric, "sequential('ndcg@10', runs=['old', 'new'])"),
        unpacked(table, shared),
    )
    of = Sequential(shared.get("ci") or CI, planned, look)
    of = of if sequential is None else Sequential.of_state(sequential)
    found = paired_values(table, [call], Design(runs, None, (), None, "error"))
    design = Design(runs, baseline or found.runs[0], (), None, "error")
    found = of.checked([call.under(setup)]).arranged(found, table)
    order, n = found.queries["#place"].to_numpy().argsort(), len(found.queries)
    at = found.queries["#look"].to_numpy()[order]
    own = look is not None or sequential is not None
    looks = (
        [*(np.flatnonzero(np.diff(at)) + 1).tolist(), n]
        if own
        else [k for k in spaced(n) if k * SHOWN >= n]
    )
    looks = [k for k in looks if k]
    pairs, last = design.pairs(found.runs), np.array(looks, dtype=int) - 1
    d = np.column_stack(
        [differences(found.values[a][order, 0], found.values[b][order, 0]) for a, b in pairs]
    )
    within = limits(found.values, [call])
    span = (within.greatest - within.least).repeat(len(pairs))
    low, high, _ = confidence_sequence(d, (-span, span), of.ci, of.method, looks)
    there, x = ~np.isnan(d), np.nan_to_num(d)
    with np.errstate(all="ignore"):
        counted = there.cumsum(axis=0)[last]
        mean, squares = (y.cumsum(axis=0)[last] / counted for y in (x, x**2))
        off = NormalDist().inv_cdf((1 + of.ci) / 2) * np.sqrt(
            np.maximum(squares - mean**2, 0) / (counted - 1)
        )
    names = [found.runs[b] for _, b in pairs]
    ends = [(name, low[:, i], high[:, i], i) for i, name in enumerate(names)]
    if len(names) == 1:
        ends.append((SINGLE, mean[:, 0] - off[:, 0], mean[:, 0] + off[:, 0], 0))
    rows = pl.concat(
        pl.DataFrame(
            {
                "series": name,
                "x": last + 1.0,
                "y": mean[:, i],
                "low": lower,
                "high": upper,
                "queries": counted[:, i],
            }
        )
        for name, lower, upper, i in ends
    ).fill_nan(None)
    pair = f"{names[0] if len(names) == 1 else 'run'} minus {design.baseline}"
    subtitle = (
        f"Mean over the queries so far; band: {percent({'ci': of.ci})} at all looks together "
        f"({INTERVALS[of.method]})"
    )
    *bands, line = banded(rows)
    line = Mark(
        "line", line.rows.filter(pl.col("series").is_in(names))
    )  # the mean of a single look is the run's
    marks = (Mark("rule", pl.DataFrame({"y": [0.0]})), *bands, line)
    axes = Axis("queries", whole=True), Axis(f"{call.display}, {pair}")
    return Figure(
        f"{call.display} as queries come in: {pair}",
        subtitle,
        *axes,
        marks,
        tuple(name for name, *_ in ends),
        among=() if len(names) == 1 else tuple(found.runs),
    )
