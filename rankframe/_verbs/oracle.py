"""The gain of choosing the best run for each query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import polars as pl

from .._catalog.call import Call
from .._catalog.registry import METRICS
from .._catalog.requests import Request, averaged
from .._plan.per_query import measure
from .._results.grid import (
    Cell,
    Grid,
    estimated,
    higher_is_better,
    intervals_of,
    left_out,
    named,
    numbers,
    percent,
    records,
)
from .._results.result import MOST_ROWS, Result
from .._results.sentences import IN_TEXT, Quotes, quoted
from .._support.option_kinds import Column
from .._support.progress import Progress
from .._support.statistical_options import Confidence, Interval, Resamples, Seed
from .._table.runs import Runs, TheRuns
from .._table.setup import Setup
from .._table.table import Table, in_memory
from ..errors import InvalidOption
from .compare import compared_values, settings_of
from .declaration import verb
from .fitted import FittedFusion, FusionMethod, text_of
from .fuse import SCORE, fuse
from .paired_values import Design, Lacking, PairedValues, paired_values
from .resampling import Resampling, warn_of_t

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

R = TypeVar("R")

R_co = TypeVar("R_co", covariant=True)

ORACLE = "oracle"
"""The name of the oracle among the runs."""

TABLE = {
    "metric": "metric", "run": "baseline", "mean": "baseline_mean", "oracle": "mean", "gain": "difference",
    "ci_low": "ci_low", "ci_high": "ci_high", "interval": "interval", "better": "wins", "n_queries": "n_queries",
}  # fmt: skip
"""The columns of the table, by the names that a comparison with each run as the baseline gives them."""


@dataclass(frozen=True, repr=False)
class Oracle(Result[R_co]):
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

    def sentences(self, quotes: Quotes = IN_TEXT) -> list[str]:
        """The gain of the best run of each query over the best single run and over the fusion: a sentence per metric."""
        rows, fusion = records(self.table), self.settings["fusion"]
        lines = []
        for metric in self.settings["metrics"]:
            own = [row for row in rows if row["metric"] == metric and row["mean"] is not None]
            single = [row for row in own if row["run"] != fusion]
            if not single:
                lines.append(f"No query has a value of {metric}")
                continue
            best = (max if higher_is_better(metric) else min)(single, key=lambda row: float(row["mean"]))
            over = [f"{estimated(best, 'gain').line} over {quoted(best['run'], quotes)}, the best single run"]
            over += [
                f"{estimated(row, 'gain').line} over the fusion {quoted(fusion, quotes)}"
                for row in own
                if row["run"] == fusion
            ]
            lines.append(
                f"{metric} would be {best['oracle']:.3f} with the best run of each query: {', and '.join(over)}"
            )
        return lines

    def grids(self, most: int | None = MOST_ROWS) -> list[Grid]:
        """A row per metric and run."""
        rows = records(self.table)
        body = [
            (
                *named(row, "metric", "run"),
                *numbers(row, "mean", "oracle"),
                estimated(row, "gain"),
                Cell(f"{row['better']:,} of {row['n_queries']:,}", row["better"]),
            )
            for row in rows[:most]
        ]
        note = "oracle: each query's best run, which only the labels tell; gain: the oracle less the run; better: on how many queries. "
        note += f"Interval: {intervals_of(row['interval'] for row in rows)}."
        figures = ("mean", "oracle", f"gain [{percent(self.settings)} interval]", "better")
        return [Grid(("metric", "run"), figures, body, (note, *left_out(self, rows, most)))]


@verb(gives="whole", among=METRICS)
def oracle(
    table: Table[R],
    *metrics: Request,
    runs: TheRuns | None = None,
    run: Column | None = None,
    fusion: FusionMethod | None = "rrf",
    ci: Confidence = 0.95,
    interval: Interval = "auto",
    weights: Column | None = None,
    missing: Lacking = "error",
    resamples: Resamples = 10_000,
    seed: Seed = 0,
    progress: bool = True,
) -> Oracle[R]:
    """The gain of choosing the best run for each query, over each single run and over a fusion.

    The oracle knows the labels, so no rule that chooses one run for each query has a higher mean. A fusion, which mixes
    the documents of the runs, may have a higher mean.

    Parameters
    ----------
    *metrics
        Texts and functions, as for :meth:`evaluate`.
    runs, run
        The runs, as for :meth:`fuse`.
    fusion
        The method that fuses them, with its options, or a trained one, as for :meth:`fuse`; ``None`` for no fusion.
    ci
        The confidence of the interval of each gain.
    interval, weights, resamples, seed, progress
        As for :meth:`summarize`.
    missing
        Queries that a run lacks, as for :meth:`compare`.

    Returns
    -------
    An object that shows the result in a sentence per metric and a table; its tables are frames of the caller's kind. A
    LazyFrame is collected first.

    - ``table`` has a row per metric and run, the fusion last: ``metric``, ``run``, ``mean`` (of the run) and ``oracle``
      (the mean of each query's best run, over the queries where the run has a value), ``gain`` (the oracle less the
      run; at most 0 for metrics where less is better, except over a fusion), its interval from ``ci_low`` to
      ``ci_high``, all Float64, and its kind, ``interval``; on how many queries the oracle is better, ``better``, and how many queries have a value,
      ``n_queries`` (UInt32).
    - ``per_query`` has a row per run and query, also of the fusion and of the ``"oracle"``: the query, ``run``, and a
      Float64 column per metric.
    - ``settings`` is a dictionary of how it was computed.

    The intervals are those of :meth:`compare`. There are no p-values: the oracle is never worse than a run that it
    chooses from.

    Raises
    ------
    InvalidOption
        If there are fewer than two runs, or a run has the name ``"oracle"`` or that of the fusion.
    InvalidData
        If a run lacks queries and `missing` is ``"error"``.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({"query_id": [1, 1, 2, 2], "doc_id": list("abab"), "label": [1, 0, 1, 0],
    ...                    "bm25": [2, 1, 1, 2], "dense": [1, 2, 2, 1]})                       # each is right once
    >>> found = df.rank.fusion.oracle("rr", runs=["bm25", "dense"], fusion=None).table
    >>> found["run"].to_list(), found["mean"].to_list(), found["gain"].to_list()
    (['bm25', 'dense'], [0.75, 0.75], [0.25, 0.25])
    """
    rows, setup = table.rows, table.setup
    design = Design(Runs.of(runs, run), None, (), None, missing)
    resampling = Resampling(ci, interval, resamples, seed, progress)
    calls = averaged(metrics, "oracle('ndcg@10', runs=['bm25', 'dense'])")
    found = paired_values(rows, setup, calls, design)
    singles = found.runs
    best = _best(found.values, calls)
    if fusion is not None:
        found = _with(found, text_of(fusion), _of_fusion(rows, setup, design, fusion, found, calls))
    found = _with(found, ORACLE, best)
    pairs = [(run, len(found.runs) - 1) for run in range(len(found.runs) - 1)]
    (of_all,) = found.slices(())
    with Progress("comparing runs", resampling.progress) as bar:
        figures, _ = compared_values(found, calls, of_all, pairs, None, resampling, bar)
    warn_of_t(figures, resampling)
    figures = figures.select(pl.col(other).alias(name) for name, other in TABLE.items())
    per_query = found.long((), calls)
    settings = {
        "metrics": [call.text for call in calls],
        **design.settings,
        **asdict(resampling),
        "fusion": None if fusion is None else text_of(fusion),
        "runs": singles,
        **settings_of(setup, rows),
    }
    return Oracle(table.give(figures), table.give(per_query), settings)


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
    fused = fuse(in_memory(frame, setup), fusion, runs=design.runs.scores or None, run=design.runs.column)
    of_fused = design.runs.queries(setup).changed(score=SCORE, ascending=False)
    values = measure(fused, of_fused, *calls)
    names = [call.text for call in calls]
    own = found.queries.select(found.query).join(
        values, on=found.query, how="left", nulls_equal=True, maintain_order="left"
    )
    return own.select(pl.col(names).fill_null(float("nan"))).to_numpy()
