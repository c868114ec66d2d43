"""The gain of choosing the best run for each query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import polars as pl

from .._catalog.call import Call
from .._catalog.requests import Request, averaged
from .._decisions.compare import compared_values, settings_of
from .._decisions.paired_values import Design, PairedValues, paired_values
from .._decisions.resampling import Resampling, warn_of_t
from .._plan.per_query import F, as_given, measure
from .._support.progress import Progress
from .._table.setup import Setup
from .._text import fusion_displays
from .._verbs.declaration import verb
from ..errors import InvalidOption
from .fitted import FittedFusion, text_of
from .fuse import SCORE, fuse

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

R_co = TypeVar("R_co", covariant=True)

ORACLE = "oracle"
"""The name of the oracle among the runs."""

TABLE = {
    "metric": "metric",
    "run": "baseline",
    "mean": "baseline_mean",
    "oracle": "mean",
    "gain": "difference",
    "ci_low": "ci_low",
    "ci_high": "ci_high",
    "interval": "interval",
    "better": "wins",
    "n_queries": "n_queries",
}
"""The columns of the table, by the names that a comparison with each run as the baseline gives them."""


@dataclass(frozen=True)
class Oracle(Generic[R_co]):
    """The gain of choosing the best run for each query.

    Attributes
    ----------
    table
        A row per metric and run, the fusion last: ``metric``, ``run``, ``mean`` (of the run) and ``oracle`` (the mean of
        the best run of each query, over the queries where the run has a value), ``gain`` (the oracle less the run), its
        interval from ``ci_low`` to ``ci_high``, all Float64, and its kind, ``interval``; on how many queries the oracle is better, ``better``, and how
        many have a value, ``n_queries`` (UInt32).
    per_query
        A row per run and query, of the runs, the fusion and the oracle: the query, ``run``, and a column per metric.
    settings
        How it was computed: the metrics, the runs, the fusion, the interval, the policies, the versions.
    """

    table: R_co
    per_query: R_co
    settings: Mapping[str, Any]

    def __repr__(self) -> str:
        return fusion_displays.oracle_text(self)

    def _repr_html_(self) -> str:
        return fusion_displays.oracle_html(self)


@verb(gives="comparison", reads=["design"])
def oracle(
    frame: F,
    setup: Setup,
    design: Design,
    fusion: str | FittedFusion[object] | None,
    resampling: Resampling,
    *requests: Request,
) -> Oracle[F]:
    """The best run of each query beside each run and the fusion."""
    calls = averaged(requests, "oracle('ndcg@10', runs=['bm25', 'dense'])")
    eager = frame.lazy().collect()
    found = paired_values(eager, setup, calls, design)
    singles = found.runs
    best = _best(found.values, calls)
    if fusion is not None:
        found = _with(found, text_of(fusion), _of_fusion(eager, setup, design, fusion, found, calls))
    found = _with(found, ORACLE, best)
    pairs = [(run, len(found.runs) - 1) for run in range(len(found.runs) - 1)]
    (rows,) = found.slices(())
    with Progress("comparing runs", resampling.progress) as progress:
        table, _ = compared_values(found, calls, rows, pairs, None, resampling, progress)
    warn_of_t(table, resampling)
    table = table.select(pl.col(other).alias(name) for name, other in TABLE.items())
    per_query = found.long((), calls)
    settings = {
        "metrics": [call.text for call in calls],
        **design.settings,
        **asdict(resampling),
        "fusion": None if fusion is None else text_of(fusion),
        "runs": singles,
        **settings_of(setup, eager),
    }
    return Oracle(as_given(frame, table), as_given(frame, per_query), settings)


def _best(values: NDArray[np.float64], calls: Sequence[Call]) -> NDArray[np.float64]:
    """The best value of the runs for each query and metric; NaN where none has one."""
    import numpy as np

    sign = np.array([1.0 if call.metric.higher_is_better else -1.0 for call in calls])
    best: NDArray[np.float64] = sign * np.fmax.reduce(sign * values)
    return best


def _with(found: PairedValues, name: str, values: NDArray[np.float64]) -> PairedValues:
    """The values, with one more run."""
    import numpy as np

    if name in found.runs:
        raise InvalidOption(f"a run has the name {name!r}, which names a row of the result; rename the run")
    return PairedValues(found.query, [*found.runs, name], found.queries, np.concatenate([found.values, values[None]]))


def _of_fusion(
    frame: pl.DataFrame,
    setup: Setup,
    design: Design,
    fusion: str | FittedFusion[object],
    found: PairedValues,
    calls: Sequence[Call],
) -> NDArray[np.float64]:
    """The values of the fused run for the same queries; NaN where it has none."""
    fused = fuse(frame, setup, fusion, design.runs)
    of_fused = design.runs.queries(setup).changed(score=SCORE, ascending=False)
    values = measure(fused, of_fused, *calls).lazy().collect()
    names = [call.text for call in calls]
    own = found.queries.select(found.query).join(
        values, on=found.query, how="left", nulls_equal=True, maintain_order="left"
    )
    return own.select(pl.col(names).fill_null(float("nan"))).to_numpy()
